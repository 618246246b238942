//! Every pair of triangles that meet, of two meshes or of one with itself.

use super::SoftMesh;
use super::boxes::Boxed;
use super::cut::{Cutter, Search};
use super::refit::{Fitting, Tree};
use super::tri_tri::triangles_meet;
use crate::par;
use glam::Vec4;

/// Candidates that are tested by one task.
const CHUNK: usize = 1024;

/// How pairs are looked for. All find the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Whichever takes fewer operations, as far as can be foreseen; not by time, so that it is the same every time.
    #[default]
    Auto,
    /// Lists are cut to where they can meet and split, again and again: nothing is kept, nothing has to be fitted.
    Cut,
    /// Boxes of boxes, fitted to where the vertices are.
    Refit,
}

/// How [`Soft::pairs`] looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftParams {
    /// By cuts, by boxes, or as it is best.
    pub method: Method,
    /// Triangles of a list that is not split any more, by cuts; at least 1. Larger: more pairs to test. Smaller: more lists.
    pub leaf: usize,
    /// A list is cut where at most this part of its extent overlaps the other's [1]; 1: always (T_max of `hatab06`, which finds that best; 0.85 was
    /// up to a fifth faster here).
    pub cut_threshold: f64,
}

impl Default for SoftParams {
    fn default() -> Self {
        Self { method: Method::Auto, leaf: 32, cut_threshold: 1.0 }
    }
}

/// What a search did. Counts do not depend on the machine, nor on the number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// What was used: never [`Method::Auto`].
    pub method: Method,
    /// Vertices that were projected on a direction.
    pub projected: usize,
    /// Triangles that a cut or a split looked at.
    pub cut: usize,
    /// Triangles a tree was built of: 0 unless the list of triangles has changed.
    pub built: usize,
    /// Vertices and boxes that were read to fit trees.
    pub fitted: usize,
    /// Pairs of nodes of trees.
    pub visits: usize,
    /// Pairs of eights of triangles.
    pub leaves: usize,
    /// Pairs of triangles that were tested exactly.
    pub tested: usize,
}

/// The pairs that were found.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Numbers of a triangle of A and one of B, sorted; of one mesh with itself the smaller first.
    pub list: Vec<[u32; 2]>,
    /// What it took.
    pub stats: Stats,
}

/// The memory of questions about soft meshes: keep it, and questions after the first do not allocate.
#[derive(Debug)]
pub struct Soft {
    pairs: Pairs,
    candidates: Vec<[u32; 2]>,
    pub(super) cutter: Cutter,
    boxed: Boxed,
    /// Whether the last question found pairs.
    pub(super) met: bool,
    /// How much more cuts have taken than trees would have, while there were none.
    pub(super) lost: f64,
    /// How many times that has to be what a tree takes before it is built: at least 1.
    pub(super) patience: f64,
    /// What [`Soft::distance`] has left to look at, and the triangles it found last.
    pub(super) nodes: super::distance::Nodes,
    pub(super) near: super::distance::NearPairs,
    pub(super) nearest: Option<[u32; 2]>,
    /// Of searches along motions.
    pub(super) sweep: super::first_contact::Sweep,
}

impl Default for Soft {
    fn default() -> Self {
        Self {
            pairs: Pairs::default(),
            candidates: Vec::new(),
            cutter: Cutter::default(),
            boxed: Boxed::default(),
            met: false,
            lost: 0.0,
            patience: 1.0,
            nodes: Vec::new(),
            near: Vec::new(),
            nearest: None,
            sweep: Default::default(),
        }
    }
}

const NONE: u32 = u32::MAX;

impl Soft {
    /// Memory for any meshes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every pair of a triangle of A and one of B that have a point in common, with the vertices where they are now.
    ///
    /// Exactly those, and none besides: touching counts, coplanar and degenerate triangles too. All of triangles that take part
    /// ([`SoftMesh::takes_part`]). About 2 ns a triangle and 0.3 µs a pair once there are
    /// trees; building them takes some 0.2 µs a triangle, once for each list.
    pub fn pairs(&mut self, a: &SoftMesh, b: &SoftMesh, params: &SoftParams) -> &Pairs {
        self.search(a, b, false, params)
    }

    /// Every pair of triangles of one mesh that have a point in common and no vertex.
    ///
    /// As [`Soft::pairs`]; each pair once. Triangles that share a vertex always meet, and are left out.
    pub fn own_pairs(&mut self, mesh: &SoftMesh, params: &SoftParams) -> &Pairs {
        self.search(mesh, mesh, true, params)
    }

    /// What the last question found.
    pub fn last(&self) -> &Pairs {
        &self.pairs
    }

    fn search(&mut self, a: &SoftMesh, b: &SoftMesh, own: bool, params: &SoftParams) -> &Pairs {
        self.pairs.list.clear();
        self.candidates.clear();
        let (shift, slack) = between(a, b);
        let far = farthest(a, b, shift);
        let search = Search {
            a,
            b,
            shift,
            slack,
            far,
            leaf: params.leaf.max(1),
            threshold: params.cut_threshold as f32,
            own,
        };
        let mut stats = Stats::default();
        let method = match params.method {
            Method::Auto => self.choose(&search, &mut stats),
            chosen => Some(chosen),
        };
        match method {
            Some(Method::Refit) => self.boxed.run(&search, &mut self.candidates, &mut stats),
            Some(_) => self.cutter.run(&search, &mut self.candidates, &mut stats),
            None => {}
        }
        // Where a look was enough, it was one of cuts.
        stats.method = method.unwrap_or(Method::Cut);
        stats.tested = self.candidates.len();
        self.pairs.stats = stats;
        self.decide(a, b, own);
        self.met = !self.pairs.list.is_empty();
        &self.pairs
    }

    /// Keeps the candidates that do meet, sorted.
    fn decide(&mut self, a: &SoftMesh, b: &SoftMesh, own: bool) {
        let meets = |[x, y]: [u32; 2]| {
            if own {
                let (s, t) = (a.triangles()[x as usize], a.triangles()[y as usize]);
                if s.iter().any(|v| t.contains(v)) {
                    return false;
                }
            }
            match (a.corners(x), b.corners(y)) {
                (Some(x), Some(y)) => triangles_meet(&x, &y),
                _ => false,
            }
        };
        let sorted = |[x, y]: [u32; 2]| if own && y < x { [y, x] } else { [x, y] };
        let Self { candidates, pairs, .. } = self;
        if candidates.len() > 4 * CHUNK && par::threads() > 1 {
            // Those that do not meet are marked, in chunks.
            par::chunks_mut(candidates, CHUNK, |_, chunk| {
                for pair in chunk {
                    if !meets(*pair) {
                        *pair = [NONE; 2];
                    }
                }
            });
            pairs.list.extend(candidates.iter().filter(|p| **p != [NONE; 2]).map(|p| sorted(*p)));
        } else {
            pairs.list.extend(candidates.iter().filter(|p| meets(**p)).map(|p| sorted(*p)));
        }
        par::sort_unstable(&mut pairs.list);
    }
}

/// From A's packed positions to B's, and how far a corner of either can be off along an axis [m].
pub(super) fn between(a: &SoftMesh, b: &SoftMesh) -> (Vec4, f32) {
    let shift = (a.origin() - b.origin()).as_vec3().extend(0.0);
    // Positions, the shift and their sum are rounded.
    (shift, a.slack().max(b.slack()) + 2.0 * f32::EPSILON * farthest(a, b, shift))
}

/// The largest coordinate there can be.
fn farthest(a: &SoftMesh, b: &SoftMesh, shift: Vec4) -> f32 {
    let reach = |m: &SoftMesh| m.bounds()[0].abs().max(m.bounds()[1].abs()).max_element();
    reach(a).max(reach(b)) + shift.abs().max_element()
}

/// Calls `f` with the trees of two meshes, fitted to where they are, and what that took.
pub(super) fn with_trees(a: &SoftMesh, b: &SoftMesh, f: impl FnOnce(&Tree, &Tree, Fitting)) {
    let (one, fitting) = a.tree();
    if core::ptr::eq(a, b) {
        return f(&one, &one, fitting);
    }
    let (other, more) = b.tree();
    let sum = Fitting { built: fitting.built + more.built, fitted: fitting.fitted + more.fitted };
    f(&one, &other, sum);
}
