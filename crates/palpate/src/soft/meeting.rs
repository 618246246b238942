//! The common part of two triangles: a point, a segment or a polygon of up to six corners.
//!
//! Based on: the corners of the common part of two convex sets are corners of one in the other, and crossings of borders.
//! Differs: which of them there are is decided by exact signs, so that their number is right however near to a border they lie;
//! only where a crossing lies is computed. Each is found once, so that nothing has to be merged.

use super::predicates::{
    against_edges, agree, area, axis_of, ends, on_segment, one_sided, ranged, seen, sides, sign, turn,
    turn_seen, volume,
};
use super::tri_tri::{around, triangles_meet};
use glam::DVec3;

/// Corners of the common part of two triangles, in the triangles' frame [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meeting {
    points: [DVec3; 6],
    len: usize,
}

impl Meeting {
    const NONE: Self = Self { points: [DVec3::ZERO; 6], len: 0 };

    /// One for a point, two for the ends of a segment, three to six for a polygon in the plane of both triangles, in the order in
    /// which A turns [m].
    pub fn points(&self) -> &[DVec3] {
        &self.points[..self.len.min(6)]
    }

    fn push(&mut self, p: DVec3) {
        if let Some(place) = self.points.get_mut(self.len) {
            *place = p;
            self.len += 1;
        }
    }
}

/// The common part of two closed triangles in one frame; `None` if [`triangles_meet`] says that they have none.
///
/// The number of points is exact, where [`triangles_meet`] is. A point is a corner as given, or lies on an edge of one triangle to
/// the last bits, and on the other triangle to 1e-15 of the size of coordinates, over the sine of the angle between the planes
/// and over the height of the more slender triangle in its longest edge; one that rounding moves along an edge stays on it.
/// Never NaN. 0.7 to 2 µs, no allocation.
pub fn meeting(a: &[DVec3; 3], b: &[DVec3; 3]) -> Option<Meeting> {
    if !triangles_meet(a, b) {
        return None;
    }
    let (a, b, back) = ranged(a, b);
    let mut out = common(&Corners::of(&a), &Corners::of(&b));
    if out.len == 0 {
        // Only where bits were lost below the smallest number.
        out.push(super::triangle_distance::nearest(&a, &b).0);
    }
    out.points = out.points.map(|p| p * back);
    Some(out)
}

/// The corners of a convex set on at most one plane: one, two or three.
struct Corners {
    points: [DVec3; 3],
    len: usize,
    /// Along which a triangle is seen as one.
    axis: usize,
}

impl Corners {
    fn of(t: &[DVec3; 3]) -> Self {
        axis_of(t).map_or_else(
            || {
                let [s, t] = ends(t);
                Self::segment(s, t)
            },
            |axis| Self { points: *t, len: 3, axis },
        )
    }

    fn segment(s: DVec3, t: DVec3) -> Self {
        Self { points: [s, t, t], len: if s == t { 1 } else { 2 }, axis: 0 }
    }

    fn list(&self) -> &[DVec3] {
        &self.points[..self.len.min(3)]
    }

    fn edges(&self) -> impl Iterator<Item = [DVec3; 2]> {
        let [p, q, r] = self.points;
        let edges = [[p, q], [q, r], [r, p]];
        edges.into_iter().take(if self.len == 3 { 3 } else { self.len - 1 })
    }

    /// Whether `p`, of the plane of the set, lies in it.
    fn contains(&self, p: DVec3) -> bool {
        match self.len {
            3 => against_edges(p, &self.points, self.axis).iter().all(|s| *s >= 0),
            _ => on_segment(p, self.points[0], self.points[1]),
        }
    }
}

fn common(a: &Corners, b: &Corners) -> Meeting {
    let a_sides = sides(&b.points, &a.points);
    let b_sides = sides(&a.points, &b.points);
    match (a.len == 3 && b_sides != [0; 3], b.len == 3 && a_sides != [0; 3]) {
        (true, true) => crossing(a, b, a_sides, b_sides),
        (true, false) => pierced(&b.points, b_sides, a),
        (false, true) => pierced(&a.points, a_sides, b),
        (false, false) => flat(a, b),
    }
}

/// The common part of two sets of one plane.
fn flat(a: &Corners, b: &Corners) -> Meeting {
    let mut out = Meeting::NONE;
    a.list().iter().filter(|p| b.contains(**p)).for_each(|p| out.push(*p));
    b.list().iter().filter(|p| !a.list().contains(p) && a.contains(**p)).for_each(|p| out.push(*p));
    for [s, t] in a.edges() {
        b.edges().filter_map(|[u, v]| crossing_of_edges(s, t, u, v)).for_each(|p| out.push(p));
    }
    if out.len > 2 {
        let axis = if a.len == 3 { a.axis } else { b.axis };
        let way = f64::from(turn_seen(&a.points, axis));
        let middle = out.points().iter().sum::<DVec3>() / out.len as f64;
        let angle = |p: &DVec3| {
            let d = seen(*p - middle, axis);
            way * d.y.atan2(d.x)
        };
        let len = out.len.min(6);
        out.points[..len].sort_by(|p, q| angle(p).total_cmp(&angle(q)));
    }
    out
}

/// Where two edges of one plane cross, if at inner points of both and not along each other.
fn crossing_of_edges(s: DVec3, t: DVec3, u: DVec3, v: DVec3) -> Option<DVec3> {
    let axis = axis_of(&[s, t, u])?;
    let [s2, t2, u2, v2] = [s, t, u, v].map(|p| seen(p, axis));
    let (at_s, at_t) = (area(u2, v2, s2), area(u2, v2, t2));
    let across = sign(at_s) * sign(at_t) < 0 && turn(s2, t2, u2) * turn(s2, t2, v2) < 0;
    across.then(|| between(s, t, at_s, at_t))
}

/// The common part of a triangle and a segment, given as three points on a line, that passes its plane.
fn pierced(segment: &[DVec3; 3], at: [i32; 3], plane: &Corners) -> Meeting {
    let mut out = Meeting::NONE;
    let [s, t] = ends(segment);
    let within = segment.iter().zip(at).find(|(_, side)| *side == 0);
    out.push(within.map_or_else(|| cut(s, t, &plane.points), |(p, _)| *p));
    out
}

/// The common part of two triangles whose planes cut each other.
fn crossing(a: &Corners, b: &Corners, a_sides: [i32; 3], b_sides: [i32; 3]) -> Meeting {
    // An edge in the other's plane is all that there is of its triangle.
    if let Some(edge) = edge_within(a, a_sides) {
        return flat(&edge, b);
    }
    if let Some(edge) = edge_within(b, b_sides) {
        return flat(a, &edge);
    }
    // The ends of what each has on the line of both planes. Where they coincide, A's is taken.
    let mut out = Meeting::NONE;
    ends_within(a, a_sides, b, agree, |p| b.contains(p), &mut out);
    let inside = |p| against_edges(p, &a.points, a.axis).iter().all(|s| *s > 0);
    ends_within(b, b_sides, a, one_sided, inside, &mut out);
    out
}

/// The edge whose two ends lie in the other's plane.
fn edge_within(t: &Corners, s: [i32; 3]) -> Option<Corners> {
    let i = (0..3).find(|i| s[*i] == 0 && s[(i + 1) % 3] == 0)?;
    Some(Corners::segment(t.points[i], t.points[(i + 1) % 3]))
}

/// The corners and inner points of edges of `t` in the plane of `other`, where `passes` says so of its edges against the line,
/// or `holds` of the corner.
fn ends_within(
    t: &Corners,
    s: [i32; 3],
    other: &Corners,
    passes: fn([i32; 3]) -> bool,
    holds: impl Fn(DVec3) -> bool,
    out: &mut Meeting,
) {
    for i in 0..3 {
        let (j, p, q) = ((i + 1) % 3, t.points[i], t.points[(i + 1) % 3]);
        if s[i] == 0 && holds(p) {
            out.push(p);
        }
        if s[i] * s[j] < 0 && passes(around(p, q, &other.points)) {
            out.push(cut(p, q, &other.points));
        }
    }
}

/// Where the edge from `s` to `t` passes the plane of a triangle.
fn cut(s: DVec3, t: DVec3, plane: &[DVec3; 3]) -> DVec3 {
    let at = |p| volume(plane[0], plane[1], plane[2], p);
    between(s, t, at(s), at(t))
}

/// The point between `s` and `t` where what is `at_s` and `at_t` there, of opposite sign, is 0.
fn between(s: DVec3, t: DVec3, at_s: f64, at_t: f64) -> DVec3 {
    // From the nearer end, so that a corner that touches stays where it is.
    let (p, q, near, far) = if at_s.abs() <= at_t.abs() {
        (s, t, at_s.abs(), at_t.abs())
    } else {
        (t, s, at_t.abs(), at_s.abs())
    };
    let share = near / (near + far);
    if share > 0.0 { p + (q - p) * share } else { p }
}

#[cfg(test)]
#[path = "meeting_tests.rs"]
mod tests;
