//! The shortest way to move one of two triangles that meet so that they only touch.
//!
//! Based on: Gottschalk, Lin and Manocha, OBBTree: a hierarchical structure for rapid interference detection, 1996
//! [gottschalk96] (separating axes): what a translation of B has to leave is the
//! difference of the two triangles, a solid whose faces are normal to a triangle or to an edge of each.
//! Differs: the axis of least overlap is wanted. Triangles of one plane have a flat difference, which the plane's normal leaves
//! at once; so have segments. Normals to edges within a plane are therefore never shorter, and not tried.

use super::tri_tri::triangles_meet;
use super::triangle_distance::{Local, triangle_distance};
use glam::DVec3;

/// What an axis of two edges must be shorter by to be taken instead of a face's normal, in the size of both triangles [1].
/// Smaller: rounding chooses between equal ways. Larger: ways that are longer than need be.
const TIE: f64 = 1e-12;

/// A translation of B after which two triangles only touch, in their frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parting {
    /// Unit vector along which B moves away from A [1]; zero if a coordinate is not finite.
    pub normal: DVec3,
    /// How far [m]: not negative.
    pub depth: f64,
}

/// The shortest translation of B after which two triangles that meet, in one frame, only touch.
///
/// Long enough to 1e-15 of the size of both triangles and the shortest to 1e-12. Triangles of one plane part across it, and those
/// that touch without crossing where they touch, at a depth of 0 up to rounding. Of equal ways the first of: normal of A,
/// opposite, normal of B, opposite, normals of an edge of A and one of B in order of edges. Triangles that do not meet have a
/// depth of 0 and a normal from the closest point of A to that of B. 0.7 µs, no allocation.
pub fn parting(a: &[DVec3; 3], b: &[DVec3; 3]) -> Parting {
    if !a.iter().chain(b).all(|p| p.is_finite()) {
        return Parting { normal: DVec3::ZERO, depth: 0.0 };
    }
    if !triangles_meet(a, b) {
        let (_, p, q) = triangle_distance(a, b);
        let apart = Local::new(&[p; 3], &[q; 3]).b[0].normalize_or_zero();
        if apart != DVec3::ZERO {
            return Parting { normal: apart, depth: 0.0 };
        }
    }
    let local = Local::new(a, b);
    let (normal, depth) = shortest(&local.a, &local.b);
    Parting { normal, depth: local.length(depth.max(0.0)) }
}

/// The axis of least overlap, and the overlap.
fn shortest(a: &[DVec3; 3], b: &[DVec3; 3]) -> (DVec3, f64) {
    let edges = |t: &[DVec3; 3]| [t[1] - t[0], t[2] - t[1], t[0] - t[2]];
    let (along_a, along_b) = (edges(a), edges(b));
    let mut best: Option<(DVec3, f64)> = None;
    let mut offer = |n: DVec3, less: f64| {
        for n in [n, -n] {
            let depth = overlap(n, a, b);
            if best.is_none_or(|(_, least)| depth < least - less) {
                best = Some((n, depth));
            }
        }
    };
    for e in [along_a, along_b] {
        if let Some(n) = unit_normal(e[0], e[1]) {
            offer(n, TIE);
        }
    }
    for d in along_a {
        for n in along_b.iter().filter_map(|e| unit_normal(d, *e)) {
            offer(n, TIE);
        }
    }
    // All on one line, or in one point: any way across.
    best.unwrap_or_else(|| {
        let all = along_a.into_iter().chain(along_b);
        let longest = all.max_by(|d, e| d.length_squared().total_cmp(&e.length_squared()));
        let n = longest.and_then(DVec3::try_normalize).map_or(DVec3::X, DVec3::any_orthonormal_vector);
        (n, overlap(n, a, b))
    })
}

/// The unit vector across two edges, if they have a plane.
fn unit_normal(d: DVec3, e: DVec3) -> Option<DVec3> {
    d.try_normalize()?.cross(e.try_normalize()?).try_normalize()
}

/// How far B has to move along a unit vector to be past A.
fn overlap(n: DVec3, a: &[DVec3; 3], b: &[DVec3; 3]) -> f64 {
    let a = a.map(|p| p.dot(n));
    let b = b.map(|p| p.dot(n));
    a[0].max(a[1]).max(a[2]) - b[0].min(b[1]).min(b[2])
}

#[cfg(test)]
#[path = "parting_tests.rs"]
mod tests;
