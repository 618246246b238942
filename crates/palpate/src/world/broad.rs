//! Which bodies are near each other: sweep and prune along one axis.

use crate::math::Aabb;
use glam::DVec3;

/// Memory of the sweep.
#[derive(Debug, Default)]
pub(super) struct Broad {
    /// Boxes with their bodies, sorted along the axis of the last sweep.
    sorted: Vec<(Aabb, u32)>,
    /// Boxes of the present sweep by body.
    boxes: Vec<Option<Aabb>>,
    /// Pairs of bodies, the smaller first, sorted.
    pub(super) near: Vec<(u32, u32)>,
}

impl Broad {
    /// Fills `near` with the pairs whose boxes overlap and that `meets` lets through.
    ///
    /// Along the axis with the largest variance. The order of the last sweep is nearly that of this one, for which insertion is fast.
    pub(super) fn sweep(
        &mut self,
        boxes: impl Iterator<Item = Option<Aabb>>,
        meets: impl Fn(usize, usize) -> bool,
    ) {
        self.boxes.clear();
        self.boxes.extend(boxes);
        // Keep the old order of those that are left, then add the new ones.
        let (sorted, boxes) = (&mut self.sorted, &mut self.boxes);
        sorted.retain_mut(|(aabb, i)| {
            let new = boxes.get_mut(*i as usize).and_then(Option::take);
            *aabb = new.unwrap_or(*aabb);
            new.is_some()
        });
        sorted.extend(boxes.iter().enumerate().filter_map(|(i, b)| b.map(|b| (b, i as u32))));
        let (mut sum, mut square) = (DVec3::ZERO, DVec3::ZERO);
        let mut count = 0.0;
        for c in sorted.iter().map(|(b, _)| b.centre()).filter(|c| c.is_finite()) {
            (sum, square, count) = (sum + c, square + c * c, count + 1.0);
        }
        let spread = (square - sum * sum / f64::max(count, 1.0)).to_array();
        let axis = (1..3).fold(0, |best, k| if spread[k] > spread[best] { k } else { best });
        for i in 1..sorted.len() {
            let mut at = i;
            while at > 0 && sorted[at].0.min[axis] < sorted[at - 1].0.min[axis] {
                sorted.swap(at, at - 1);
                at -= 1;
            }
        }
        self.near.clear();
        for (k, (a, i)) in sorted.iter().enumerate() {
            let reached = sorted[k + 1..].iter().take_while(|(b, _)| b.min[axis] <= a.max[axis]);
            for (_, j) in reached.filter(|(b, j)| a.overlaps(*b) && meets(*i as usize, *j as usize)) {
                self.near.push((*i.min(j), *i.max(j)));
            }
        }
        self.near.sort_unstable();
    }
}
