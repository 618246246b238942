//! GJK with cut: lists of triangles that shrink to where they can meet.
//!
//! Based on: Hatab, Kheddar, 2006, GJK for deformable object collision detection, algorithms 3.1, 4.1, 4.2 and 5.1 [hatab06].
//! Differs: the direction is updated by line 15 of algorithm 4.2 alone (line 10 updates it too), and the search ends where support
//! vertices coincide; the second list is cut by what lies after, not before; both lists are split before it is decided which to check;
//! cuts are widened by what rounding can do, so that no pair that touches is lost. The first cut projects each vertex once; the lists it
//! leaves hold the corners themselves, eight triangles are projected and kept at once, and nothing is looked up (twice as fast as
//! lists of shared vertices, which have to be made anew with every cut).

use super::SoftMesh;
use super::leaf::{Eight, Which, candidates};
use super::pairs::Stats;
use super::project::{Extent, Triangle, beyond, extent, middle, project};
use super::split::split;
use crate::simd::LANES;
use core::ops::Range;
use glam::{Vec3, Vec4, Vec4Swizzles};

/// Cuts along one direction after another, at most. More: lists that do not shrink are looked at again and again.
const CUTS: usize = 6;
/// Cuts go on while they take at least one triangle of so many. Larger: more cuts that take little. Smaller: larger lists are split.
const LITTLE: usize = 8;
/// Lists are split at most so often: halves of what can be numbered are empty long before.
const DEPTH: usize = 64;

/// A part of the lists.
pub(super) type Part = Range<usize>;

/// The memory of a search by cuts.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    /// Triangles of lists, used like a stack; those of A moved to B's place.
    triangles: Vec<Triangle>,
    /// What a cut leaves, or the halves of a list.
    kept: Vec<Triangle>,
    other: Vec<Triangle>,
    keys: Vec<f32>,
    /// Of leaves.
    eights: Vec<Eight>,
    /// Of the vertices along a direction.
    dots: [Vec<f32>; 2],
}

/// What a search by cuts is about.
pub(super) struct Search<'a> {
    pub(super) a: &'a SoftMesh,
    pub(super) b: &'a SoftMesh,
    /// From A's packed positions to B's, and how far off a corner can be along an axis [m].
    pub(super) shift: Vec4,
    pub(super) slack: f32,
    /// The largest coordinate there is [m].
    pub(super) far: f32,
    /// Triangles of a leaf, at most.
    pub(super) leaf: usize,
    /// A list is cut where the part of its extent that overlaps is at most this [1].
    pub(super) threshold: f32,
    /// Whether it is one mesh.
    pub(super) own: bool,
}

impl Search<'_> {
    /// How far a projection along a unit direction can be off [m].
    fn doubt(&self) -> f32 {
        // Two corners along three axes, and the rounding of products and sums.
        4.0 * self.slack + 8.0 * f32::EPSILON * self.far
    }
}

/// What a look at two lists says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A direction parts their hulls.
    Apart,
    /// None was found.
    Open,
}

/// Sets eights, from `first` on, to all triangles of a list; how many.
fn set_all(eights: &mut Vec<Eight>, triangles: &[Triangle], first: usize, slack: f32) -> usize {
    let count = triangles.len().div_ceil(LANES);
    if eights.len() < first + count {
        eights.resize(first + count, Eight::EMPTY);
    }
    let parts = eights[first..].iter_mut().zip(triangles.chunks(LANES));
    parts.for_each(|(eight, part)| eight.set_list(part, slack));
    count
}

impl Cutter {
    /// A few steps of GJK on all vertices, without cuts: whether a direction parts the hulls.
    pub(super) fn look(&mut self, search: &Search<'_>, steps: usize, stats: &mut Stats) -> Look {
        let [a, b] = [search.a.packed(), search.b.packed()];
        let Some(mut direction) = first_direction(search) else { return Look::Apart };
        for _ in 0..steps {
            let by = search.shift.xyz().dot(direction);
            let of_a = project(a, direction, &mut self.dots[0]);
            let of_b = project(b, direction, &mut self.dots[1]);
            stats.projected += a.len() + b.len();
            if of_a.high + by < of_b.low - search.doubt() {
                return Look::Apart;
            }
            let (p, q) = (a.get(of_a.highest as usize), b.get(of_b.lowest as usize));
            let (Some(p), Some(q)) = (p, q) else { break };
            let Some(next) = reflected(direction, (*p + search.shift).xyz(), q.xyz()) else { break };
            direction = next;
        }
        Look::Open
    }

    /// Every pair of triangles that may meet.
    pub(super) fn run(&mut self, search: &Search<'_>, out: &mut Vec<[u32; 2]>, stats: &mut Stats) {
        self.triangles.clear();
        if search.own {
            let all = self.take(search.a, Vec4::ZERO, |_| true);
            self.own(search, all, 0, out, stats);
            return;
        }
        let Some(direction) = first_direction(search) else { return };
        if let Some(parts) = self.first_cut(search, direction, stats) {
            self.check(search, parts, direction, 0, out, stats);
        }
    }

    /// Those triangles of a mesh that take part and for which `keep` holds, as a part, moved by `shift`.
    fn take(&mut self, mesh: &SoftMesh, shift: Vec4, keep: impl Fn(&[u32; 3]) -> bool) -> Part {
        let packed = mesh.packed();
        let from = self.triangles.len();
        for ((i, t), usable) in (0..).zip(mesh.triangles()).zip(mesh.usable()) {
            if *usable && keep(t) {
                let at = |i: usize| packed.get(t[i] as usize).copied().unwrap_or(Vec4::ZERO) + shift;
                self.triangles.push(Triangle::new([at(0), at(1), at(2)], i));
            }
        }
        from..self.triangles.len()
    }

    /// The first cut, from the meshes themselves; none if it leaves nothing.
    fn first_cut(&mut self, search: &Search<'_>, direction: Vec3, stats: &mut Stats) -> Option<[Part; 2]> {
        let (a, b) = (search.a, search.b);
        let by = search.shift.xyz().dot(direction);
        let dots = core::mem::take(&mut self.dots);
        let [mut dots_a, mut dots_b] = dots;
        let of_a = project(a.packed(), direction, &mut dots_a);
        let of_b = project(b.packed(), direction, &mut dots_b);
        stats.projected += a.packed().len() + b.packed().len();
        if of_a.high + by < of_b.low - search.doubt() {
            self.dots = [dots_a, dots_b];
            return None;
        }
        stats.cut += a.triangles().len() + b.triangles().len();
        let from = if cuts(search, &of_a, of_b.low - by, of_a.high) { of_b.low - by } else { of_a.low };
        let to = if cuts(search, &of_b, of_b.low, of_a.high + by) { of_a.high + by } else { of_b.high };
        let (from, to) = (from - search.doubt(), to + search.doubt());
        let reaches = |dots: &[f32], t: &[u32; 3], within: &dyn Fn(f32) -> bool| {
            t.iter().any(|v| dots.get(*v as usize).is_none_or(|d| within(*d)))
        };
        let part_a = self.take(a, search.shift, |t| reaches(&dots_a, t, &|d| d >= from));
        let part_b = if part_a.is_empty() {
            part_a.clone()
        } else {
            self.take(b, Vec4::ZERO, |t| reaches(&dots_b, t, &|d| d <= to))
        };
        self.dots = [dots_a, dots_b];
        (!part_a.is_empty() && !part_b.is_empty()).then_some([part_a, part_b])
    }

    /// Cuts two parts along directions until they do not shrink, then splits them and checks the halves.
    fn check(
        &mut self,
        search: &Search<'_>,
        [mut a, mut b]: [Part; 2],
        mut direction: Vec3,
        depth: usize,
        out: &mut Vec<[u32; 2]>,
        stats: &mut Stats,
    ) {
        let top = self.triangles.len();
        let doubt = search.doubt();
        for _ in 0..CUTS {
            if a.len() <= search.leaf && b.len() <= search.leaf {
                break;
            }
            let of_a = extent(&self.triangles[a.clone()], direction);
            let of_b = extent(&self.triangles[b.clone()], direction);
            stats.projected += a.len() + b.len();
            if of_a.high < of_b.low - doubt {
                self.triangles.truncate(top);
                return;
            }
            let p = self.triangles[a.start + of_a.highest as usize].support(direction);
            let q = self.triangles[b.start + of_b.lowest as usize].support(-direction);
            let before = a.len() + b.len();
            if cuts(search, &of_a, of_b.low, of_a.high) && of_a.low < of_b.low - doubt {
                stats.cut += a.len();
                a = self.keep(a, direction, of_b.low - doubt);
            }
            if cuts(search, &of_b, of_b.low, of_a.high) && of_b.high > of_a.high + doubt {
                stats.cut += b.len();
                b = self.keep(b, -direction, -(of_a.high + doubt));
            }
            if a.is_empty() || b.is_empty() {
                self.triangles.truncate(top);
                return;
            }
            // Lists that shrink little are better split.
            if LITTLE * (a.len() + b.len()) > (LITTLE - 1) * before {
                break;
            }
            let Some(next) = reflected(direction, p, q) else { break };
            direction = next;
        }
        self.halves(search, [a, b], direction, depth, out, stats);
        self.triangles.truncate(top);
    }

    /// What of a part reaches beyond a place along a direction, as a part of its own.
    fn keep(&mut self, part: Part, direction: Vec3, from: f32) -> Part {
        self.kept.clear();
        beyond(&self.triangles[part.clone()], direction, from, &mut self.kept);
        if self.kept.len() == part.len() {
            return part;
        }
        let start = self.triangles.len();
        self.triangles.extend_from_slice(&self.kept);
        start..self.triangles.len()
    }

    /// Splits what is larger than a leaf, and checks each piece of one with each of the other.
    fn halves(
        &mut self,
        search: &Search<'_>,
        [a, b]: [Part; 2],
        direction: Vec3,
        depth: usize,
        out: &mut Vec<[u32; 2]>,
        stats: &mut Stats,
    ) {
        if (a.len() <= search.leaf && b.len() <= search.leaf) || depth >= DEPTH {
            self.leaves(search, [a, b], out, stats);
            return;
        }
        let of_a = self.pieces(search, a, direction, stats);
        let of_b = self.pieces(search, b, direction, stats);
        let middles = [self.middle(&of_a[0]), self.middle(&of_a[1])];
        for b in &of_b {
            let from = self.middle(b);
            for (a, to) in of_a.iter().zip(middles) {
                if !a.is_empty() && !b.is_empty() {
                    let between = from - to;
                    let direction = between.try_normalize().unwrap_or(direction);
                    self.check(search, [a.clone(), b.clone()], direction, depth + 1, out, stats);
                }
            }
        }
    }

    /// Two halves of a part, or the part and nothing if it is a leaf.
    fn pieces(&mut self, search: &Search<'_>, part: Part, direction: Vec3, stats: &mut Stats) -> [Part; 2] {
        if part.len() <= search.leaf {
            return [part, 0..0];
        }
        stats.cut += part.len();
        split(&mut self.triangles, part, direction, &mut self.keys, [&mut self.kept, &mut self.other])
    }

    /// The middle of the box of a part.
    fn middle(&self, part: &Part) -> Vec3 {
        middle(&self.triangles[part.clone()])
    }

    /// Every triangle of one part with every one of the other, eight by eight.
    fn leaves(&mut self, search: &Search<'_>, [a, b]: [Part; 2], out: &mut Vec<[u32; 2]>, stats: &mut Stats) {
        let Self { triangles, eights, .. } = self;
        let count = set_all(eights, &triangles[b], 1, search.slack);
        let Some((of_a, of_b)) = eights.split_first_mut() else { return };
        for first in triangles[a].chunks(LANES) {
            of_a.set_list(first, search.slack);
            for of_b in &of_b[..count] {
                candidates(of_a, of_b, search.slack, Which::All, out);
                stats.leaves += 1;
            }
        }
    }

    /// Pairs within one part.
    fn own(
        &mut self,
        search: &Search<'_>,
        part: Part,
        depth: usize,
        out: &mut Vec<[u32; 2]>,
        stats: &mut Stats,
    ) {
        if part.len() <= search.leaf || depth >= DEPTH {
            let count = set_all(&mut self.eights, &self.triangles[part], 0, search.slack);
            for (i, a) in self.eights[..count].iter().enumerate() {
                candidates(a, a, search.slack, Which::Own, out);
                for b in &self.eights[i + 1..count] {
                    candidates(a, b, search.slack, Which::All, out);
                }
                stats.leaves += count - i;
            }
            return;
        }
        let top = self.triangles.len();
        let [a, b] = self.pieces(search, part, Vec3::ZERO, stats);
        self.own(search, a.clone(), depth + 1, out, stats);
        self.own(search, b.clone(), depth + 1, out, stats);
        if !a.is_empty() && !b.is_empty() {
            let between = self.middle(&b) - self.middle(&a);
            let direction = between.try_normalize().unwrap_or(Vec3::X);
            self.check(search, [a, b], direction, depth + 1, out, stats);
        }
        self.triangles.truncate(top);
    }
}

/// Whether a list is worth a cut: by how much of its extent is between where the other begins and where it ends.
fn cuts(search: &Search<'_>, own: &Extent, from: f32, to: f32) -> bool {
    search.threshold >= 1.0 || to - from <= search.threshold * (own.high - own.low)
}

/// From the middle of one to that of the other; none if one is empty.
fn first_direction(search: &Search<'_>) -> Option<Vec3> {
    if search.a.packed().is_empty() || search.b.packed().is_empty() {
        return None;
    }
    let middle = |m: &SoftMesh| m.bounds()[0] + m.bounds()[1];
    let between = 0.5 * (middle(search.b) - middle(search.a)) - search.shift;
    Some(between.xyz().try_normalize().unwrap_or(Vec3::X))
}

/// Line 15 of algorithm 4.2: the direction mirrored at the plane across the way between the support vertices; none where they coincide,
/// or where it would not change.
fn reflected(direction: Vec3, p: Vec3, q: Vec3) -> Option<Vec3> {
    let way = (p - q).try_normalize()?;
    let next = (direction - way * (2.0 * way.dot(direction))).try_normalize()?;
    (next.dot(direction) < 0.999_999).then_some(next)
}
