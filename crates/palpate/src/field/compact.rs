//! Triangles in the order of halves of halves: blocks as compact as they get, for many searches through the same tree.
//!
//! Against the order along a curve a search looks at three fifths of the blocks; making it takes longer than a field's build would like.

use super::bvh::{Bvh, WIDTH};
use super::exact::{Exact, Tree};
use crate::par;
use glam::DVec3;

/// Triangles from which on halves are put in order on two threads.
const ALONE: usize = 4096;

/// A second order of the triangles of an [`Exact`], and a tree over it.
#[derive(Debug)]
pub(super) struct Compact {
    triangles: Vec<[u32; 3]>,
    original: Vec<u32>,
    place: Vec<u32>,
    bvh: Bvh,
}

/// The middle of a triangle [voxels], and its place in the first order.
type Item = ([f32; 3], u32);

impl Compact {
    /// Halves of halves along the longest axis; about 0.1 µs a triangle on each of two threads.
    pub(super) fn build(exact: &Exact) -> Self {
        let (positions, triangles) = (&exact.positions, &exact.triangles);
        let corners = |t: [u32; 3]| t.map(|v| positions[v as usize]);
        let mut items: Vec<Item> = triangles
            .iter()
            .zip(0..)
            .map(|(t, i)| ((corners(*t).iter().sum::<DVec3>() / 3.0).as_vec3().to_array(), i))
            .collect();
        halve(&mut items);
        let original: Vec<u32> = items.iter().map(|(_, i)| exact.original[*i as usize]).collect();
        let triangles: Vec<[u32; 3]> = items.iter().map(|(_, i)| triangles[*i as usize]).collect();
        let mut place = vec![0u32; original.len()];
        for (at, t) in original.iter().zip(0..) {
            place[*at as usize] = t;
        }
        let bvh = Bvh::over(triangles.len(), |i| corners(triangles[i]));
        Self { triangles, original, place, bvh }
    }

    /// As searches read it.
    pub(super) fn tree(&self) -> Tree<'_> {
        Tree { triangles: &self.triangles, original: &self.original, place: &self.place, bvh: &self.bvh }
    }
}

/// Puts items in an order in which every entry of the tree above is compact: those of all lower levels are whole.
fn halve(items: &mut [Item]) {
    let n = items.len();
    if n <= WIDTH {
        return;
    }
    // The largest entry that is smaller than all of them, and as many of those as are nearest to a half.
    let mut size = WIDTH;
    while size * WIDTH < n {
        size *= WIDTH;
    }
    let middle = ((n + size) / (2 * size)).max(1) * size;
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for (p, _) in items.iter() {
        for axis in 0..3 {
            (low[axis], high[axis]) = (low[axis].min(p[axis]), high[axis].max(p[axis]));
        }
    }
    let extent = [high[0] - low[0], high[1] - low[1], high[2] - low[2]];
    let axis = (0..3).fold(0, |best, axis| if extent[axis] > extent[best] { axis } else { best });
    items.select_nth_unstable_by(middle, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    let (one, two) = items.split_at_mut(middle);
    if n > ALONE {
        par::join(|| halve(one), || halve(two));
    } else {
        halve(one);
        halve(two);
    }
}
