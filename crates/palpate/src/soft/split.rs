//! A list in two halves, across the direction it was cut along.
//!
//! Based on: Hatab, Kheddar, 2006, section V [hatab06]: the median across a direction orthogonal to the last cut.
//! Differs: of the orthogonal directions it takes the one along which the list is longest, by its box; halves are made by number, so that each
//! has half of the triangles even if all their middles are the same.

use super::cut::{Lists, Part};
use glam::{Vec3, Vec4, Vec4Swizzles};

/// Two halves of a part, as parts of their own, added to the lists. `cut`: the direction it was cut along; zero for none.
pub(super) fn split(lists: &mut Lists, part: &Part, cut: Vec3) -> [Part; 2] {
    let direction = across(&lists.vertices[part.vertices[0]..part.vertices[1]], cut);
    let Lists { vertices, triangles, keys, sorted, .. } = lists;
    keys.clear();
    for (i, t) in (0..).zip(&triangles[part.triangles[0]..part.triangles[1]]) {
        let at = |v: u32| vertices[part.vertices[0] + v as usize];
        let middle = at(t[0]) + at(t[1]) + at(t[2]);
        keys.push((middle.xyz().dot(direction), i));
    }
    let half = keys.len() / 2;
    let order = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if half == 0 {
        return [*part, Part::default()];
    }
    sorted.clone_from(keys);
    let (_, median, _) = sorted.select_nth_unstable_by(half, order);
    let median = *median;
    let first = part.triangles[0];
    let keys = core::mem::take(&mut lists.keys);
    let before = |i: usize| keys.get(i - first).is_some_and(|k| order(k, &median).is_lt());
    let low = lists.keep(part, |i, _| before(i));
    let high = lists.keep(part, |i, _| !before(i));
    lists.keys = keys;
    [low, high]
}

/// The longest axis of the box of vertices, as far as it is orthogonal to a direction.
fn across(vertices: &[Vec4], cut: Vec3) -> Vec3 {
    let (low, high) = vertices
        .iter()
        .fold((Vec4::INFINITY, Vec4::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
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
