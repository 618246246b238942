//! Pairs of triangles that may meet, by two trees of boxes.
//!
//! Based on: bergen97. Differs: on several threads, parts of the walk and of the leaves are tasks; what is found is put together in their
//! order, so that it does not depend on the number of threads.

use super::SoftMesh;
use super::cut::Search;
use super::leaf::{Eight, Which, candidates};
use super::pairs::{Stats, with_trees};
use super::refit::{Tree, Walk, walk};
use crate::par;
use glam::Vec4;

/// Leaves of both trees from which on a walk is worth tasks.
const LARGE: usize = 2048;
/// Pairs of nodes that are given to tasks. More: smaller tasks, more even. Fewer: less to put together.
const TASKS: usize = 256;
/// Leaves that are made, and pairs of leaves that are compared, by one task.
const CHUNK: usize = 512;

const NONE: u32 = u32::MAX;

/// Memory of such searches.
#[derive(Debug, Default)]
pub(super) struct Boxed {
    stack: Vec<[u32; 4]>,
    leaves: Vec<[u32; 2]>,
    sides: [Side; 2],
}

/// Leaves that were met.
#[derive(Debug, Default)]
struct Side {
    /// Of each leaf: its place in `met`, or [`NONE`].
    place: Vec<u32>,
    met: Vec<u32>,
    eights: Vec<Eight>,
}

impl Side {
    /// Takes those that are met, `which` of each pair: pairs are then of places in `met`.
    fn take(&mut self, leaves: usize, pairs: &mut [[u32; 2]], which: usize) {
        self.place.clear();
        self.place.resize(leaves, NONE);
        self.met.clear();
        for pair in pairs {
            let place = &mut self.place[pair[which] as usize];
            if *place == NONE {
                *place = self.met.len() as u32;
                self.met.push(pair[which]);
            }
            pair[which] = *place;
        }
    }

    /// Makes the eights of those that are met.
    fn make(&mut self, tree: &Tree, mesh: &SoftMesh, shift: Vec4, slack: f32, parallel: bool) {
        let met = &self.met;
        if self.eights.len() < met.len() {
            self.eights.resize(met.len(), Eight::EMPTY);
        }
        let eights = &mut self.eights[..met.len()];
        let set = |i: usize, e: &mut Eight| e.set(mesh, tree.leaf(met[i] as usize), shift, slack);
        if parallel {
            par::chunks_mut(eights, CHUNK, |c, chunk| {
                chunk.iter_mut().enumerate().for_each(|(i, e)| set(c * CHUNK + i, e));
            });
        } else {
            eights.iter_mut().enumerate().for_each(|(i, e)| set(i, e));
        }
    }
}

impl Boxed {
    /// Adds the pairs that may meet.
    pub(super) fn run(&mut self, search: &Search<'_>, out: &mut Vec<[u32; 2]>, stats: &mut Stats) {
        let (a, b) = (search.a, search.b);
        with_trees(a, b, |tree_a, tree_b, fitting| {
            (stats.built, stats.fitted) = (fitting.built, fitting.fitted);
            let parallel = par::threads() > 1 && tree_a.leaves() + tree_b.leaves() > LARGE;
            stats.visits += self.walk(tree_a, tree_b, search, parallel);
            stats.leaves += self.leaves.len();
            let Self { leaves, sides: [of_a, of_b], .. } = self;
            of_a.take(tree_a.leaves(), leaves, 0);
            of_b.take(tree_b.leaves(), leaves, 1);
            of_a.make(tree_a, a, search.shift, search.slack, parallel);
            of_b.make(tree_b, b, Vec4::ZERO, search.slack, parallel);
            let compare = |[i, j]: [u32; 2], out: &mut Vec<[u32; 2]>| {
                let (i, j) = (i as usize, j as usize);
                let which = match search.own {
                    false => Which::All,
                    true if of_a.met[i] == of_b.met[j] => Which::Own,
                    true => Which::Others,
                };
                candidates(&of_a.eights[i], &of_b.eights[j], search.slack, which, out);
            };
            if parallel && leaves.len() > 2 * CHUNK {
                let parts = par::map(leaves.len().div_ceil(CHUNK), |c| {
                    let mut found = Vec::new();
                    let from = c * CHUNK;
                    let to = (from + CHUNK).min(leaves.len());
                    leaves[from..to].iter().for_each(|pair| compare(*pair, &mut found));
                    found
                });
                parts.iter().for_each(|p| out.extend_from_slice(p));
            } else {
                leaves.iter().for_each(|pair| compare(*pair, out));
            }
        });
    }

    /// Sets `leaves` to those whose boxes meet; the number of pairs of nodes that were looked at.
    fn walk(&mut self, a: &Tree, b: &Tree, search: &Search<'_>, parallel: bool) -> usize {
        let Self { stack, leaves, .. } = self;
        stack.clear();
        leaves.clear();
        let (Some([ka, i]), Some([kb, j])) = (a.root(), b.root()) else { return 0 };
        stack.push([ka, i, kb, j]);
        let down = |stack: &mut Vec<[u32; 4]>, leaves: &mut Vec<[u32; 2]>, until: usize| {
            let (shift, slack, own) = (search.shift, 2.0 * search.slack, search.own);
            let mut down = Walk { a, b, shift, slack, own, until, stack, leaves, visits: 0 };
            walk(&mut down);
            down.visits
        };
        if !parallel {
            return down(stack, leaves, usize::MAX);
        }
        let mut visits = down(stack, leaves, TASKS);
        let parts = par::map(stack.len(), |i| {
            let mut leaves = Vec::new();
            let visits = down(&mut vec![stack[i]], &mut leaves, usize::MAX);
            (leaves, visits)
        });
        for (found, more) in parts {
            leaves.extend_from_slice(&found);
            visits += more;
        }
        visits
    }
}
