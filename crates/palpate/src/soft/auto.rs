//! Boxes or cuts: whichever takes fewer operations, as far as can be foreseen.
//!
//! Trees win wherever they are there: fitting one takes about as long as the first cut. Cuts win where a few projections part the hulls,
//! and where the list of triangles keeps changing, so that trees would have to be built again and again. A tree is built once cuts
//! have taken as much longer, in all, as building takes: what comes next is not known, and this is at most twice the best.

use super::cut::{Look, Search};
use super::pairs::{Method, Soft, Stats};
use glam::Vec4;

/// Steps of GJK on all vertices where the last question found nothing. More: more hulls are found apart. Fewer: less in vain.
const LOOK: usize = 2;
/// What operations cost, in that of fitting one vertex or box: measured with lists of 1,500 to 100,000 triangles.
const FIRST_CUT: f64 = 1.3;
const CUT_ON: f64 = 90.0;
const FIT: f64 = 1.5;
const VISIT: f64 = 10.0;
const BUILD: f64 = 150.0;

impl Soft {
    /// Which method to use; none if a look was enough to see that there are no pairs.
    pub(super) fn choose(&mut self, search: &Search<'_>, stats: &mut Stats) -> Option<Method> {
        let (a, b) = (search.a, search.b);
        let overlap = if search.own { [1.0; 2] } else { overlap(search)? };
        if !search.own
            && !self.met
            && let Look::Apart = self.cutter.look(search, LOOK, stats)
        {
            return None;
        }
        let count = |i: usize| [a, b][i].triangles().len() as f64;
        // Triangles where boxes overlap, about.
        let within = overlap[0] * count(0) + overlap[1] * count(1);
        let all = count(0) + count(1);
        let mut build = 0.0;
        for mesh in [a, b].into_iter().take(if core::ptr::eq(a, b) { 1 } else { 2 }) {
            if !mesh.has_tree() {
                build += BUILD * mesh.triangles().len() as f64;
            }
        }
        let (cut, refit) = (FIRST_CUT * all + CUT_ON * within, FIT * all + VISIT * within);
        if build > 0.0 && self.lost + (cut - refit) < self.patience * build {
            self.lost += (cut - refit).max(0.0);
            return Some(Method::Cut);
        }
        // Trees that have to be built again before they were used are waited for longer.
        self.patience = if build > 0.0 { 2.0 * self.patience } else { (0.5 * self.patience).max(1.0) };
        if build > 0.0 {
            self.lost = 0.0;
        }
        Some(if cut < refit { Method::Cut } else { Method::Refit })
    }
}

/// How much of each mesh's box is in the other's [1]; none where they are apart.
fn overlap(search: &Search<'_>) -> Option<[f64; 2]> {
    let (shift, grown) = (search.shift, Vec4::splat(2.0 * search.slack));
    let [a_low, a_high] = search.a.bounds().map(|p| p + shift);
    let [b_low, b_high] = search.b.bounds();
    let (low, high) = (a_low.max(b_low) - grown, a_high.min(b_high) + grown);
    if !(high - low).cmpge(Vec4::ZERO).all() {
        return None;
    }
    let part = |own: Vec4| {
        let share = |i: usize| f64::from(((high[i] - low[i]) / own[i]).clamp(0.0, 1.0));
        // Flat along an axis: all of it.
        (0..3).map(|i| if own[i] > 0.0 { share(i) } else { 1.0 }).product::<f64>()
    };
    Some([part(a_high - a_low), part(b_high - b_low)])
}
