//! A flat convex polygon, triangle or parallelogram, whose corners go straight: where it is near the origin, and which directions
//! keep it away.

use glam::DVec3;

/// Bound of the rounding of a product of vectors, as a part of the product of their absolute values [1]: a difference, a product
/// and two sums give 4 half units each, subtracting the bound two more.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// More than what products lose by underflow.
pub(super) const UNDERFLOW: f64 = 1e-300;
/// How near to a side, as a part of the polygon's height over it, counts as at its rim [1]. Smaller: contacts where something
/// passes by. Larger: more contacts take some µs.
const RIM: f64 = 1e-9;
/// Factors that put the quotient of a rounded difference to its safe side.
pub(super) const BELOW: f64 = 1.0 - 2.0 * f64::EPSILON;
pub(super) const ABOVE: f64 = 1.0 + 2.0 * f64::EPSILON;

/// The corners at both ends of time. Every coordinate is below 1 and off by half a unit of its last digit at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<const K: usize> {
    pub(super) ends: [[DVec3; K]; 2],
    /// The distance that counts as contact.
    pub(super) separation: f64,
}

/// What of a polygon is nearest to the origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nearest {
    /// From the origin to it, of any length; exactly across the face or the side it lies on, as far as numbers can tell.
    pub(super) direction: DVec3,
    pub(super) distance_sq: f64,
}

/// The polygon at a time; not exactly, for proposals only.
#[inline(always)]
pub(super) fn at<const K: usize>(ends: &[[DVec3; K]; 2], time: f64) -> [DVec3; K] {
    let [start, end] = ends;
    core::array::from_fn(|k| start[k] * (1.0 - time) + end[k] * time)
}

/// The sides from the first corner, and the vector across both.
#[inline(always)]
fn frame<const K: usize>(p: &[DVec3; K]) -> (DVec3, DVec3, DVec3) {
    let (u, v) = (p[1] - p[0], p[K - 1] - p[0]);
    (u, v, u.cross(v))
}

/// Where on the side between corners `k` and the next the origin is nearest: part of the way and the point.
#[inline(always)]
fn on_side<const K: usize>(p: &[DVec3; K], k: usize) -> (f64, DVec3) {
    let (from, to) = (p[k], p[(k + 1) % K]);
    let side = to - from;
    let along = -from.dot(side);
    let length_sq = side.length_squared();
    if along <= 0.0 {
        (0.0, from)
    } else if along >= length_sq {
        (1.0, to)
    } else {
        let part = along / length_sq;
        let point = from + side * part;
        // Across the side again: a short vector is the rest of long ones.
        (part, point - side * (point.dot(side) / length_sq))
    }
}

/// Whether the origin is nearest to the inside of the polygon.
#[inline(always)]
fn within<const K: usize>(p: &[DVec3; K], across: DVec3) -> bool {
    (0..K).all(|k| p[k].cross(p[(k + 1) % K]).dot(across) > 0.0)
}

/// Whether the origin is nearest to the inside of the polygon, and not to its rim by rounding.
pub(super) fn well_inside<const K: usize>(p: &[DVec3; K]) -> bool {
    let (_, _, across) = frame(p);
    let area_sq = across.length_squared();
    (0..K).all(|k| p[k].cross(p[(k + 1) % K]).dot(across) > RIM * area_sq)
}

/// What of the polygon is nearest to the origin, degenerate ones included; for proposals only.
pub(super) fn nearest<const K: usize>(p: &[DVec3; K]) -> Nearest {
    let (_, _, across) = frame(p);
    if within(p, across) {
        let height = p[0].dot(across);
        let direction = if height < 0.0 { -across } else { across };
        return Nearest { direction, distance_sq: height * height / across.length_squared() };
    }
    let mut best = Nearest { direction: DVec3::ZERO, distance_sq: f64::INFINITY };
    for k in 0..K {
        let (_, point) = on_side(p, k);
        let distance_sq = point.length_squared();
        if distance_sq < best.distance_sq {
            best = Nearest { direction: point, distance_sq };
        }
    }
    best
}

/// Coordinates of the point nearest to the origin along the sides from the first corner, and its distance.
pub(super) fn place<const K: usize>(p: &[DVec3; K]) -> ([f64; 2], f64) {
    let (u, v, across) = frame(p);
    let mut best = ([0.0; 2], f64::INFINITY);
    let mut offer = |a: f64, b: f64| {
        let distance = (p[0] + u * a + v * b).length();
        if distance < best.1 {
            best = ([a, b], distance);
        }
    };
    // Corners in order around the polygon.
    let corner = |k: usize| {
        if K == 3 {
            [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]][k % 3]
        } else {
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]][k % 4]
        }
    };
    for k in 0..K {
        let (part, _) = on_side(p, k);
        let (from, to) = (corner(k), corner((k + 1) % K));
        offer(from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part);
    }
    if within(p, across) {
        let area_sq = across.length_squared();
        let (a, b) = (v.cross(p[0]).dot(across) / area_sq, p[0].cross(u).dot(across) / area_sq);
        offer(a.clamp(0.0, 1.0), b.clamp(0.0, if K == 3 { 1.0 - a.clamp(0.0, 1.0) } else { 1.0 }));
    }
    best
}

impl<const K: usize> Motion<K> {
    /// The span of time, closed, in which every corner is farther along `direction` than the separation; for certain.
    #[inline(always)]
    fn span(&self, direction: DVec3) -> Option<(f64, f64)> {
        let size = direction.abs();
        let apart = self.separation * direction.length() * (1.0 + 8.0 * f64::EPSILON) + UNDERFLOW;
        let (mut from, mut until) = (0.0_f64, 1.0_f64);
        for k in 0..K {
            let [h0, h1] = [self.ends[0][k], self.ends[1][k]]
                .map(|p| direction.dot(p) - ROUNDING * size.dot(p.abs()) - apart);
            // The true height is above the line from h0 to h1.
            match (h0 > 0.0, h1 > 0.0) {
                (true, true) => {}
                (true, false) => until = until.min(h0 / (h0 - h1) * BELOW),
                (false, true) => from = from.max(h0 / (h0 - h1) * ABOVE),
                (false, false) => return None,
            }
        }
        (from <= until).then_some((from, until))
    }

    /// Until when there is no contact from `time` on, as far as a direction proves; `time` if it does not.
    #[inline(always)]
    pub(super) fn free_until(&self, direction: DVec3, time: f64) -> f64 {
        // Of length about 1: errors are bounded for that.
        let direction = direction / direction.abs().max_element();
        match self.span(direction) {
            Some((from, until)) if from <= time => time.max(until),
            _ => time,
        }
    }

    /// The same by all other directions that come to mind at this time, for what is nearly in contact.
    #[cold]
    pub(super) fn free_by_others(&self, p: &[DVec3; K], time: f64) -> f64 {
        let (_, _, across) = frame(p);
        let mut best = time;
        let mut offer = |direction: DVec3| {
            best = best.max(self.free_until(direction, time)).max(self.free_until(-direction, time));
        };
        [DVec3::X, DVec3::Y, DVec3::Z, across].into_iter().for_each(&mut offer);
        for k in 0..K {
            let next = (k + 1) % K;
            let side = p[next] - p[k];
            let way = |k: usize| self.ends[1][k] - self.ends[0][k];
            // To a corner; across a side, in the plane and along what it sweeps.
            offer(p[k]);
            offer(side.cross(across));
            offer(side.cross(way(k)));
            offer(side.cross(way(next)));
            offer(side.cross(way(k) + way(next)));
            offer(side.cross(p[k]).cross(side));
        }
        best
    }
}
