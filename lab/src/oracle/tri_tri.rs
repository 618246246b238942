//! Two triangles: how far apart, and whether they share a point.
//!
//! Distance: of 9 pairs of edges and 6 of corner and face the nearest; with that, triangles that cross have the distance
//! of their edges, so that [`meet`] must be asked first. Meeting is decided without rounding.

use super::exact::{side_of_plane, turn};
use glam::{DVec2, DVec3};

/// Squared distance of two triangles that do not meet, and the points of each that have it. Accurate to rounding:
/// about 1e-16 of the triangles' size and distance.
pub(super) fn nearest(a: [DVec3; 3], b: [DVec3; 3]) -> (f64, DVec3, DVec3) {
    let mut best = (f64::INFINITY, a[0], b[0]);
    let mut offer = |p: DVec3, q: DVec3| {
        let distance_sq = (p - q).length_squared();
        if distance_sq < best.0 {
            best = (distance_sq, p, q);
        }
    };
    for i in 0..3 {
        for j in 0..3 {
            let (p, q) = nearest_on_segments([a[i], a[(i + 1) % 3]], [b[j], b[(j + 1) % 3]]);
            offer(p, q);
        }
    }
    for i in 0..3 {
        if let Some(q) = foot_on_face(a[i], b) {
            offer(a[i], q);
        }
        if let Some(p) = foot_on_face(b[i], a) {
            offer(p, b[i]);
        }
    }
    best
}

/// Where `p` projects to the triangle's plane, if that is in the triangle.
fn foot_on_face(p: DVec3, corners: [DVec3; 3]) -> Option<DVec3> {
    let [a, b, c] = corners.map(|c| c - p);
    let n = (b - a).cross(c - a);
    let (wa, wb, wc) = (b.cross(c).dot(n), c.cross(a).dot(n), a.cross(b).dot(n));
    let sum = wa + wb + wc;
    // The weights are not negative, so the result is a point of the triangle even where a sliver makes them inaccurate.
    (wa >= 0.0 && wb >= 0.0 && wc >= 0.0 && sum > 0.0).then(|| p + (wa * a + wb * b + wc * c) / sum)
}

/// The nearest points of two segments.
fn nearest_on_segments(s: [DVec3; 2], t: [DVec3; 2]) -> (DVec3, DVec3) {
    let (u, v, w) = (s[1] - s[0], t[1] - t[0], s[0] - t[0]);
    let (uu, uv, vv) = (u.length_squared(), u.dot(v), v.length_squared());
    let along_s = |p: DVec3| s[0] + fraction((p - s[0]).dot(u), uu) * u;
    let along_t = |p: DVec3| t[0] + fraction((p - t[0]).dot(v), vv) * v;
    // Inside both, where the lines are nearest. Nearly parallel ones have an inaccurate fraction, but then the distance
    // hardly depends on it, and the two projections after it are accurate.
    let across = uu * vv - uv * uv;
    let start = s[0] + fraction(uv * v.dot(w) - vv * u.dot(w), across) * u;
    let q = along_t(start);
    let mut best = (along_s(q), q);
    for (p, q) in [(s[0], along_t(s[0])), (s[1], along_t(s[1])), (along_s(t[0]), t[0]), (along_s(t[1]), t[1])]
    {
        if (p - q).length_squared() < (best.0 - best.1).length_squared() {
            best = (p, q);
        }
    }
    best
}

/// `part / whole` within 0 and 1; 0 for a segment without length.
fn fraction(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// Whether the closed triangles share a point: crossing, touching, coplanar and triangles without area included. Decided
/// without rounding.
pub(super) fn meet(a: [DVec3; 3], b: [DVec3; 3]) -> bool {
    let a_sides = a.map(|p| side_of_plane(b[0], b[1], b[2], p));
    if apart(a_sides) {
        return false;
    }
    let b_sides = b.map(|p| side_of_plane(a[0], a[1], a[2], p));
    if apart(b_sides) {
        return false;
    }
    // A common point of two triangles lies on an edge of one of them, or can be moved there within both.
    let edges = [(0, 1), (1, 2), (2, 0)];
    edges.iter().any(|&(i, j)| segment_meets([a[i], a[j]], [a_sides[i], a_sides[j]], b))
        || edges.iter().any(|&(i, j)| segment_meets([b[i], b[j]], [b_sides[i], b_sides[j]], a))
}

/// A point that triangles which meet have in common, to rounding.
pub(super) fn common_point(a: [DVec3; 3], b: [DVec3; 3]) -> DVec3 {
    let (distance_sq, p, _) = nearest(a, b);
    let mut best = (distance_sq, p);
    for (from, to) in [(a, b), (b, a)] {
        let n = (to[1] - to[0]).cross(to[2] - to[0]);
        for i in 0..3 {
            let (s, e) = (from[i], from[(i + 1) % 3]);
            let (hs, he) = (n.dot(s - to[0]), n.dot(e - to[0]));
            if hs * he < 0.0 {
                let p = s + hs / (hs - he) * (e - s);
                let gap = nearest([p; 3], to).0;
                if gap < best.0 {
                    best = (gap, p);
                }
            }
        }
    }
    best.1
}

fn apart(sides: [i8; 3]) -> bool {
    sides == [1; 3] || sides == [-1; 3]
}

/// Whether none of the turns is against another: the point is on the same side of all three, or on some of them.
fn agree(sides: [i8; 3]) -> bool {
    !(sides.contains(&1) && sides.contains(&-1))
}

/// Whether a closed segment meets the closed triangle; `sides` are those of its ends.
fn segment_meets([p, q]: [DVec3; 2], sides: [i8; 2], t: [DVec3; 3]) -> bool {
    match sides {
        [1, 1] | [-1, -1] => false,
        // In the triangle's plane, or the triangle has none.
        [0, 0] => {
            point_in_flat(p, t)
                || point_in_flat(q, t)
                || [(0, 1), (1, 2), (2, 0)].iter().any(|&(i, j)| segments_meet([p, q], [t[i], t[j]]))
        }
        // Its line goes through the plane at one point, which is in the segment.
        _ => agree([
            side_of_plane(p, q, t[0], t[1]),
            side_of_plane(p, q, t[1], t[2]),
            side_of_plane(p, q, t[2], t[0]),
        ]),
    }
}

// What lies in one plane is decided in its three views along the axes. At least one view keeps the plane's (or line's)
// points apart and decides; the others hold whenever that one does. So all three are asked, and no axis is chosen.

fn views(p: DVec3) -> [DVec2; 3] {
    [DVec2::new(p.y, p.z), DVec2::new(p.z, p.x), DVec2::new(p.x, p.y)]
}

/// Whether `p`, in the plane of the triangle or anywhere for one without area, is in the closed triangle.
fn point_in_flat(p: DVec3, t: [DVec3; 3]) -> bool {
    let (p, t) = (views(p), t.map(views));
    (0..3).all(|v| {
        let (p, [a, b, c]) = (p[v], t.map(|corner| corner[v]));
        agree([turn(a, b, p), turn(b, c, p), turn(c, a, p)])
            // Needed where the triangle is a line or a point in this view.
            && p.cmpge(a.min(b).min(c)).all()
            && p.cmple(a.max(b).max(c)).all()
    })
}

/// Whether two closed segments share a point.
fn segments_meet([p, q]: [DVec3; 2], [a, b]: [DVec3; 2]) -> bool {
    side_of_plane(p, q, a, b) == 0 && {
        let [p, q, a, b] = [p, q, a, b].map(views);
        (0..3).all(|v| {
            let [p, q, a, b] = [p, q, a, b].map(|end| end[v]);
            turn(p, q, a) * turn(p, q, b) <= 0
                && turn(a, b, p) * turn(a, b, q) <= 0
                && p.min(q).cmple(a.max(b)).all()
                && a.min(b).cmple(p.max(q)).all()
        })
    }
}

#[cfg(test)]
#[path = "tri_tri_tests.rs"]
mod tests;
