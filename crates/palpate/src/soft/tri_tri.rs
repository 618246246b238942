//! Whether two triangles have a point in common.
//!
//! Based on: Guigue and Devillers, Fast and robust triangle-triangle overlap test using orientation predicates, 2003
//! [guigue03]: signs of the corners against the other's plane, then two determinants that compare where both cut the line of
//! the two planes.
//! Differs: one bound on rounding for all determinants of a pair, from the box of both; what it does not decide is decided
//! exactly, with the same two determinants, by [shewchuk97]; triangles without area are the segments or points they are;
//! triangles of one plane are compared by their edges' lines in a projection.

use super::predicates::{
    agree, axis_of, ends, flat_meet, one_sided, ranged, segments_meet, side, sides, turn_seen,
};
use glam::DVec3;

/// Bound on the error of a determinant of three differences, over the volume of the box of all points [1]. Each of its six
/// products is at most the volume and is off by eight roundings, 6 × 8 × 2⁻⁵³ = 5.4e-15; the rest is for the roundings of the
/// bound itself. Smaller: wrong answers. Larger: more pairs are decided slowly.
const ROUNDING: f64 = 6e-15;
/// Bound on the error of the difference of two places along a direction, over that direction's size of the box [1]: eight
/// roundings, and as much again.
const ACROSS: f64 = 2e-15;
/// A bound below this is not trusted: bits below the smallest number count.
const LEAST_BOUND: f64 = 1e-290;
/// Volumes of boxes for which no product of three differences overflows or loses bits below the smallest number [m³].
const VOLUMES: core::ops::Range<f64> = 1e-270..1e300;

/// Whether two closed triangles, in one frame, have a point in common. Touching counts; a triangle whose corners lie on one
/// line or in one point is that segment or point.
///
/// Exact, hence symmetric in the triangles and in the order of corners, if coordinates are 0 or of a size of 1e-80 to 1e80 [m].
/// Beyond, rounding may decide between triangles that nearly touch. Not finite: `false`. 20 to 30 ns; where a determinant is 0 up
/// to rounding, so that exact signs are needed, 0.1 to 3 µs. No allocation.
pub fn triangles_meet(a: &[DVec3; 3], b: &[DVec3; 3]) -> bool {
    let ([a_low, a_high], [b_low, b_high]) = (bounds(a), bounds(b));
    let beyond = |p: DVec3, q: DVec3| (p.x > q.x) | (p.y > q.y) | (p.z > q.z);
    if beyond(a_low, b_high) | beyond(b_low, a_high) {
        return false;
    }
    let extent = highest(a_high, b_high) - lowest(a_low, b_low);
    let volume = extent.x * extent.y * extent.z;
    // Also taken where something is not a number.
    if !VOLUMES.contains(&volume) {
        return meet_exactly(a, b);
    }
    let bound = ROUNDING * volume;
    let (a_above, a_below) = sides_within(b, a, bound);
    let (b_above, b_below) = sides_within(a, b, bound);
    if (a_above == 7) | (a_below == 7) | (b_above == 7) | (b_below == 7) {
        return false;
    }
    if (a_above | a_below) & (b_above | b_below) != 7 {
        return meet_exactly(a, b);
    }
    // Every corner is strictly on one side: one of each triangle is alone on its.
    let a_up = a_above.count_ones() == 1;
    let b_up = b_above.count_ones() == 1;
    let [p1, q1, r1] = from_corner(a, if a_up { a_above } else { a_below }, !b_up);
    let [p2, q2, r2] = from_corner(b, if b_up { b_above } else { b_below }, !a_up);
    let w = p2 - p1;
    let first = (q2 - p1).cross(q1 - p1).dot(w);
    let second = (r1 - p1).cross(r2 - p1).dot(w);
    if (first.abs() > bound) & (second.abs() > bound) {
        return (first < 0.0) & (second < 0.0);
    }
    meet_exactly(a, b)
}

/// The smaller coordinates. Unlike `DVec3::min` one instruction each; what is not a number is found later.
#[inline(always)]
fn lowest(p: DVec3, q: DVec3) -> DVec3 {
    let min = |a: f64, b: f64| if a < b { a } else { b };
    DVec3::new(min(p.x, q.x), min(p.y, q.y), min(p.z, q.z))
}

/// The larger coordinates.
#[inline(always)]
fn highest(p: DVec3, q: DVec3) -> DVec3 {
    let max = |a: f64, b: f64| if a > b { a } else { b };
    DVec3::new(max(p.x, q.x), max(p.y, q.y), max(p.z, q.z))
}

#[inline(always)]
fn bounds(t: &[DVec3; 3]) -> [DVec3; 2] {
    [lowest(lowest(t[0], t[1]), t[2]), highest(highest(t[0], t[1]), t[2])]
}

/// Which of `points` are above and which below the plane of `t`, a bit each; none where rounding leaves it open.
#[inline(always)]
fn sides_within(t: &[DVec3; 3], points: &[DVec3; 3], bound: f64) -> (u32, u32) {
    let n = (t[1] - t[0]).cross(t[2] - t[0]);
    // Written out: `map` of an array stays a call.
    let d = [n.dot(points[0] - t[0]), n.dot(points[1] - t[0]), n.dot(points[2] - t[0])];
    let bits = |x: bool, y: bool, z: bool| u32::from(x) | u32::from(y) << 1 | u32::from(z) << 2;
    (bits(d[0] > bound, d[1] > bound, d[2] > bound), bits(d[0] < -bound, d[1] < -bound, d[2] < -bound))
}

/// The corners from that whose bit is set on, the other two exchanged if so asked.
#[inline(always)]
fn from_corner(t: &[DVec3; 3], bit: u32, exchange: bool) -> [DVec3; 3] {
    // Looked up, not branched on: which corner is alone cannot be foreseen.
    const NEXT: [[u8; 4]; 2] = [[1, 2, 0, 0], [2, 0, 1, 0]];
    let first = (bit >> 1) as usize & 3;
    let second = NEXT[usize::from(exchange)][first] as usize;
    let third = NEXT[usize::from(!exchange)][first] as usize;
    [t[first.min(2)], t[second.min(2)], t[third.min(2)]]
}

/// The same, decided by exact signs alone.
#[cold]
pub(super) fn meet_exactly(a: &[DVec3; 3], b: &[DVec3; 3]) -> bool {
    if !a.iter().chain(b).all(|p| p.is_finite()) {
        return false;
    }
    if a.iter().any(|p| b.contains(p)) {
        return true;
    }
    // Triangles that lie beside each other in one plane, as those of flat meshes, would all come to the slow signs below.
    if apart_in_plane(a, b) {
        return false;
    }
    let (a, b, _) = ranged(a, b);
    let level = (0..3).find(|i| a.iter().chain(&b).all(|p| p[*i] == a[0][*i]));
    if let Some(axis) = level.filter(|i| turn_seen(&a, *i) != 0 || turn_seen(&b, *i) != 0) {
        return flat_meet(&a, &b, axis);
    }
    let a_sides = sides(&b, &a);
    if one_sided(a_sides) {
        return false;
    }
    let b_sides = sides(&a, &b);
    if one_sided(b_sides) {
        return false;
    }
    match (a_sides != [0; 3], b_sides != [0; 3]) {
        // Both have a plane, and the planes cut each other.
        (true, true) => {
            let (a_bit, a_up) = apex(a_sides);
            let (b_bit, b_up) = apex(b_sides);
            let [p1, q1, r1] = from_corner(&a, a_bit, !b_up);
            let [p2, q2, r2] = from_corner(&b, b_bit, !a_up);
            side(p1, q1, p2, q2) <= 0 && side(p1, r1, r2, p2) <= 0
        }
        // One has no plane and does not lie in the other's.
        (false, true) => segment_meets(ends(&b), &a),
        (true, false) => segment_meets(ends(&a), &b),
        (false, false) => match axis_of(&a).or_else(|| axis_of(&b)) {
            Some(axis) => flat_meet(&a, &b, axis),
            None => {
                let ([s, t], [u, v]) = (ends(&a), ends(&b));
                segments_meet(s, t, u, v)
            }
        },
    }
}

/// Whether a direction across an edge, in the plane of its triangle, separates the two by more than rounding.
fn apart_in_plane(a: &[DVec3; 3], b: &[DVec3; 3]) -> bool {
    let ([a_low, a_high], [b_low, b_high]) = (bounds(a), bounds(b));
    let extent = highest(a_high, b_high) - lowest(a_low, b_low);
    [(a, b), (b, a)].into_iter().any(|(t, other)| {
        let n = (t[1] - t[0]).cross(t[2] - t[0]);
        (0..3).any(|i| {
            let start = t[i];
            let inward = n.cross(t[(i + 1) % 3] - start);
            let at = |p: DVec3| inward.dot(p - start);
            let nearest = at(other[0]).max(at(other[1])).max(at(other[2]));
            let edge = at(t[(i + 1) % 3]).min(at(t[(i + 2) % 3])).min(0.0);
            let bound = ACROSS * inward.abs().dot(extent);
            bound > LEAST_BOUND && nearest + bound < edge
        })
    })
}

/// The corner that is alone on its side, as a bit, and whether that side is the upper one; corners in the plane count to
/// whichever side leaves one alone and no edge from it in the plane. For signs that are neither all 0 nor [`one_sided`].
fn apex(s: [i32; 3]) -> (u32, bool) {
    let of = |sign: i32| (0..3).fold(0u32, |bits, i| bits | u32::from(s[i] == sign) << i);
    let (above, within, below) = (of(1), of(0), of(-1));
    if above.count_ones() == 1 {
        (above, true)
    } else if below.count_ones() == 1 {
        (below, false)
    } else {
        (within, above == 0)
    }
}

/// Whether a segment with ends not on the same side of the plane of `t`, and not both in it, meets the triangle.
pub(super) fn segment_meets([s, u]: [DVec3; 2], t: &[DVec3; 3]) -> bool {
    agree(around(s, u, t))
}

/// On which side the line from `s` to `u` passes each edge of `t`.
pub(super) fn around(s: DVec3, u: DVec3, t: &[DVec3; 3]) -> [i32; 3] {
    [side(s, u, t[0], t[1]), side(s, u, t[1], t[2]), side(s, u, t[2], t[0])]
}

#[cfg(test)]
#[path = "tri_tri_tests.rs"]
mod tests;
