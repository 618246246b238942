//! Signs of determinants of points, decided exactly, and what follows from them for segments and triangles in one plane.
//!
//! Based on: Shewchuk, Adaptive precision floating-point arithmetic and fast robust geometric predicates, 1997 [shewchuk97] (in
//! the crate `robust`).
//! Differs: what lies in one plane is looked at in projections along the axes, of which at least one keeps every
//! distinct point distinct, so that no coordinate is ever computed.
//!
//! Exact while products of three coordinates neither overflow nor lose bits below the smallest number: sizes of 1e-80 to 1e80,
//! or 0. See [`ranged`] for larger ones.

use glam::{DVec2, DVec3};
use robust::{Coord, Coord3D};

/// Coordinates above this are scaled down before anything is multiplied: 1e90³ is far from overflow.
const LARGE: f64 = 1e90;
/// Takes the largest number to 3.4e97, whose cube can still be summed.
const SHRINK: f64 = f64::from_bits((1023 - 700) << 52);
/// The way back from [`SHRINK`].
const GROW: f64 = f64::from_bits((1023 + 700) << 52);

/// The two triangles with coordinates whose products do not overflow, and the factor back.
pub(super) fn ranged(a: &[DVec3; 3], b: &[DVec3; 3]) -> ([DVec3; 3], [DVec3; 3], f64) {
    let largest = a.iter().chain(b).fold(0.0, |m: f64, p| m.max(p.abs().max_element()));
    if largest > LARGE { (a.map(|p| p * SHRINK), b.map(|p| p * SHRINK), GROW) } else { (*a, *b, 1.0) }
}

/// −1, 0 or 1.
pub(super) fn sign(x: f64) -> i32 {
    i32::from(x > 0.0) - i32::from(x < 0.0)
}

/// (q − p) × (r − p) · (s − p): positive where `s` sees p, q, r counter-clockwise. The sign is exact, the value is not.
pub(super) fn volume(p: DVec3, q: DVec3, r: DVec3, s: DVec3) -> f64 {
    let c = |p: DVec3| Coord3D { x: p.x, y: p.y, z: p.z };
    -robust::orient3d(c(p), c(q), c(r), c(s))
}

/// The exact sign of [`volume`].
pub(super) fn side(p: DVec3, q: DVec3, r: DVec3, s: DVec3) -> i32 {
    sign(volume(p, q, r, s))
}

/// On which side of the plane of `t` each point lies; all 0 if `t` has no plane.
pub(super) fn sides(t: &[DVec3; 3], points: &[DVec3; 3]) -> [i32; 3] {
    points.map(|p| side(t[0], t[1], t[2], p))
}

/// Whether all three signs are the same and not 0.
pub(super) fn one_sided(s: [i32; 3]) -> bool {
    s[0] != 0 && s[0] == s[1] && s[0] == s[2]
}

/// Whether no two of the signs are opposite.
pub(super) fn agree(s: [i32; 3]) -> bool {
    s.iter().all(|s| *s >= 0) || s.iter().all(|s| *s <= 0)
}

/// (q − p) × (r − p): positive for a turn to the left. The sign is exact, the value is not.
pub(super) fn area(p: DVec2, q: DVec2, r: DVec2) -> f64 {
    let c = |p: DVec2| Coord { x: p.x, y: p.y };
    robust::orient2d(c(p), c(q), c(r))
}

/// The exact sign of [`area`].
pub(super) fn turn(p: DVec2, q: DVec2, r: DVec2) -> i32 {
    sign(area(p, q, r))
}

/// The point seen along an axis: 0 x, 1 y, otherwise z.
pub(super) fn seen(p: DVec3, axis: usize) -> DVec2 {
    match axis {
        0 => DVec2::new(p.y, p.z),
        1 => DVec2::new(p.z, p.x),
        _ => DVec2::new(p.x, p.y),
    }
}

/// Where the three points turn, seen along an axis.
pub(super) fn turn_seen(t: &[DVec3; 3], axis: usize) -> i32 {
    let [p, q, r] = t.map(|p| seen(p, axis));
    turn(p, q, r)
}

/// An axis along which the triangle is seen as one, that nearest to its normal if rounding allows; `None` if its corners lie on
/// one line.
pub(super) fn axis_of(t: &[DVec3; 3]) -> Option<usize> {
    let n = (t[1] - t[0]).cross(t[2] - t[0]).abs();
    let first = if n.x > n.y && n.x > n.z { 0 } else { 1 + usize::from(n.z >= n.y) };
    [first, (first + 1) % 3, (first + 2) % 3].into_iter().find(|axis| turn_seen(t, *axis) != 0)
}

/// Whether `p` lies on the segment, ends included.
pub(super) fn on_segment(p: DVec3, s: DVec3, t: DVec3) -> bool {
    s.min(t).cmple(p).all() && p.cmple(s.max(t)).all() && (0..3).all(|axis| turn_seen(&[s, t, p], axis) == 0)
}

/// Where `p` of the plane of `t` lies against each edge of it, in the direction in which `t` turns, seen along its axis: not
/// negative inside, positive off the border.
pub(super) fn against_edges(p: DVec3, t: &[DVec3; 3], axis: usize) -> [i32; 3] {
    let ([a, b, c], p) = (t.map(|p| seen(p, axis)), seen(p, axis));
    let way = turn(a, b, c);
    [way * turn(a, b, p), way * turn(b, c, p), way * turn(c, a, p)]
}

/// Whether two segments have a point in common.
pub(super) fn segments_meet(s: DVec3, t: DVec3, u: DVec3, v: DVec3) -> bool {
    // In one plane they meet where they do in all projections: one of them takes no two points of the plane to one.
    let boxes = s.min(t).cmple(u.max(v)).all() && u.min(v).cmple(s.max(t)).all();
    boxes
        && side(s, t, u, v) == 0
        && (0..3).all(|axis| {
            let [s, t, u, v] = [s, t, u, v].map(|p| seen(p, axis));
            turn(s, t, u) * turn(s, t, v) <= 0 && turn(u, v, s) * turn(u, v, t) <= 0
        })
}

/// Whether two sets of one plane, at least one of them a triangle that is seen as one along `axis`, have a point in common.
pub(super) fn flat_meet(a: &[DVec3; 3], b: &[DVec3; 3], axis: usize) -> bool {
    let (a, b) = (a.map(|p| seen(p, axis)), b.map(|p| seen(p, axis)));
    // Their difference is a polygon of some area whose edges are theirs: one of them separates, or nothing does.
    !edge_separates(&a, &b) && !edge_separates(&b, &a)
}

/// Whether all of `b` lies strictly beyond the line of an edge of `a`.
fn edge_separates(a: &[DVec2; 3], b: &[DVec2; 3]) -> bool {
    (0..3).any(|i| {
        let (p, q, r) = (a[i], a[(i + 1) % 3], a[(i + 2) % 3]);
        let first = turn(p, q, b[0]);
        first != 0 && turn(p, q, b[1]) == first && turn(p, q, b[2]) == first && turn(p, q, r) * first <= 0
    })
}

/// The ends of three points on one line.
pub(super) fn ends(t: &[DVec3; 3]) -> [DVec3; 2] {
    let before = |p: DVec3, q: DVec3| p.to_array() < q.to_array();
    t.iter().fold([t[0]; 2], |[low, high], p| {
        [if before(*p, low) { *p } else { low }, if before(high, *p) { *p } else { high }]
    })
}
