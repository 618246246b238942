//! A list in two halves, across the direction it was cut along.
//!
//! Based on: Hatab, Kheddar, 2006, section V [hatab06]: the median across a direction orthogonal to the last cut.
//! Differs: of the orthogonal directions it takes the one along which the list is longest, by its box; the median is that of some of the
//! triangles; where that does not part them, halves are made by number.

use super::cut::Part;
use super::project::{Triangle, bounds, part_at};
use glam::{Vec3, Vec4Swizzles};

/// Triangles of which the median is taken, about. More: more even halves. Fewer: quicker.
const SOME: usize = 63;

/// Two halves of a part, as parts of their own, added to the list. `cut`: the direction it was cut along; zero for none.
pub(super) fn split(
    triangles: &mut Vec<Triangle>,
    part: Part,
    cut: Vec3,
    keys: &mut Vec<f32>,
    [low, high]: [&mut Vec<Triangle>; 2],
) -> [Part; 2] {
    let own = &triangles[part.clone()];
    let direction = across(own, cut);
    let key = |t: &Triangle| {
        let [a, b, c] = t.corners();
        (a + b + c).xyz().dot(direction)
    };
    keys.clear();
    keys.extend(own.iter().step_by(own.len().div_ceil(SOME)).map(key));
    let half = keys.len() / 2;
    let (_, median, _) = keys.select_nth_unstable_by(half, f32::total_cmp);
    let median = *median;
    low.clear();
    high.clear();
    part_at(&triangles[part.clone()], direction, median, low, high);
    if low.is_empty() || high.is_empty() {
        let middle = part.start + part.len() / 2;
        return [part.start..middle, middle..part.end];
    }
    let start = triangles.len();
    triangles.extend_from_slice(low);
    let middle = triangles.len();
    triangles.extend_from_slice(high);
    [start..middle, middle..triangles.len()]
}

/// The longest axis of the box of triangles, as far as it is orthogonal to a direction.
fn across(triangles: &[Triangle], cut: Vec3) -> Vec3 {
    let [low, high] = bounds(triangles);
    let extent = (high - low).xyz();
    let mut best = (f32::NEG_INFINITY, Vec3::X);
    for axis in Vec3::AXES {
        let orthogonal = axis - cut * cut.dot(axis);
        // How long the box is along it, about.
        let length = orthogonal.abs().dot(extent) * orthogonal.length();
        if length > best.0
            && let Some(direction) = orthogonal.try_normalize()
        {
            best = (length, direction);
        }
    }
    best.1
}
