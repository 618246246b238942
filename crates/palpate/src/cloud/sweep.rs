//! Where a way first crosses the surface of points.
//!
//! Based on: hart96, sphere tracing: steps as long as nothing can be in them.
//! Differs: no point is within the radius of a step, so there is no surface; nearer than that steps are a sixth of the radius (half a
//! spacing on a grid), and the side of the surface is kept from one to the next: a sheet of single points is crossed when the place is
//! behind the plane it was in front of.

use super::surface::{Fit, Scratch, Surface};
use glam::DVec3;

/// Steps near points, over the radius: longer, and a sheet leaves the slab of points that count before it is seen to be crossed [1].
pub(super) const STEP: f64 = 1.0 / 6.0;

/// Less confidence is no surface: the middle of a gap between two walls, where planes of either fit as badly [1].
const LEAST_CONFIDENCE: f64 = 0.15;

/// Least cosine of the angle a normal may turn by from one place to the next: beyond, the points in the slab of the one are of another face
/// of a corner [1].
const TURN: f64 = 0.3;

/// Most places looked at to find a crossing between two steps.
const HALVINGS: usize = 24;

/// How near to 0 is on the surface, over the radius [1].
pub(super) const ON: f64 = 1e-9;

/// A way in a model's frame [m], and the normal of the surface at its beginning, if it begins near one: it begins in front of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) from: DVec3,
    pub(super) to: DVec3,
    pub(super) side: Option<DVec3>,
}

/// How far a way led.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swept {
    /// Part of the way [1].
    pub(super) t: f64,
    /// The normal of the surface at its end, towards the side it is on; none where there is none.
    pub(super) side: Option<DVec3>,
    /// It ends on the surface.
    pub(super) hit: bool,
}

/// What a step of a proxy may still take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Places on ways.
    pub(super) places: usize,
    /// What [`Scratch::work`] may come to.
    pub(super) work: usize,
}

impl Budget {
    pub(super) fn spent(&self, scratch: &Scratch) -> bool {
        self.places == 0 || scratch.work >= self.work
    }
}

/// Least places of a way: with the first alone nothing is known of what comes after it.
pub(super) const LEAST_PLACES: usize = 2;

/// Whether a way comes so near to the points of a surface that it may cross it.
pub(super) fn is_near(surface: &Surface<'_>, from: DVec3, to: DVec3) -> bool {
    let aabb = surface.cloud().aabb();
    if surface.radius() <= 0.0 || aabb.min.x > aabb.max.x {
        return false;
    }
    // Searches see places in single precision: a little more.
    let slack = 1e-6 * (from - to).abs().max_element().max(aabb.distance(from));
    let aabb = aabb.padded(surface.radius() * (1.0 + 1e-6) + slack);
    // The part of the way that is between each pair of planes.
    let (mut first, mut last) = (0f64, 1f64);
    for axis in 0..3 {
        let (low, high) = (aabb.min[axis] - from[axis], aabb.max[axis] - from[axis]);
        let along = to[axis] - from[axis];
        if along == 0.0 {
            if low > 0.0 || high < 0.0 {
                return false;
            }
            continue;
        }
        let (a, b) = (low / along, high / along);
        (first, last) = (first.max(a.min(b)), last.min(a.max(b)));
    }
    first <= last
}

/// Whether a plane is that of a surface, not of a border or of scattered points.
pub(super) fn is_surface(fit: &Fit) -> bool {
    !fit.ended && fit.confidence >= LEAST_CONFIDENCE
}

/// Follows `way` to the first crossing. Takes one of the places of `left` for each it looks at and stops at none left, and at the end of
/// the work, but not before it has made way if there were [`LEAST_PLACES`]. Each place takes a nearest point and at most four fits,
/// and the crossing [`HALVINGS`] fits more.
pub(super) fn sweep(surface: &Surface<'_>, way: &Way, left: &mut Budget, scratch: &mut Scratch) -> Swept {
    let (radius, length) = (surface.radius(), way.from.distance(way.to));
    let clear = |side| Swept { t: 1.0, side, hit: false };
    if length == 0.0 {
        return clear(way.side);
    }
    // Less than two positions have no spacing, and no surface.
    if radius <= 0.0 {
        return clear(None);
    }
    let step = STEP * radius;
    let (mut side, mut last, mut t) = (way.side, 0.0, 0.0);
    loop {
        if left.places == 0 || (last > 0.0 && left.spent(scratch)) {
            return Swept { t: last, side, hit: false };
        }
        left.places -= 1;
        let x = way.from.lerp(way.to, t);
        let Some(nearest) = surface.cloud().nearest_within(x, length * (1.0 - t) + radius) else {
            return clear(None);
        };
        if let Some(n) = side.filter(|_| t > 0.0) {
            let fit = same_side(surface, x, n, scratch);
            if fit.is_some_and(|f| f.value <= 0.0)
                && let Some(hit) = crossing(surface, way, (last, t), n, scratch)
            {
                return hit;
            }
            side = fit.filter(|f| f.value > 0.0).map(|f| f.normal);
        }
        // Points in front of the place may be of another sheet, whose side counts from now on. On a sharp edge, which planes round off,
        // they are of the same: its plane is at the place.
        let ahead = side.is_some_and(|n| (nearest.point - x).dot(n) > step);
        if side.is_none() || ahead {
            let fit = any_side(surface, x, nearest.point, scratch).filter(|f| !ahead || f.value.abs() > step);
            side = fit.map(|f| f.normal).or(side);
        }
        if t >= 1.0 {
            return clear(side);
        }
        last = t;
        t = (t + (nearest.distance - radius).max(step) / length).min(1.0);
    }
}

/// The plane at `x` as seen with the normal it had a little before; none where it has turned too far to be the same.
fn same_side(surface: &Surface<'_>, x: DVec3, n: DVec3, scratch: &mut Scratch) -> Option<Fit> {
    surface.at(x, n, scratch).filter(|f| f.normal.dot(n) >= TURN)
}

/// The plane at `x` with `x` in front of it.
fn any_side(surface: &Surface<'_>, x: DVec3, nearest: DVec3, scratch: &mut Scratch) -> Option<Fit> {
    let front = |f: Fit| if f.value < 0.0 { Fit { value: -f.value, normal: -f.normal, ..f } } else { f };
    let toward = (x - nearest).normalize_or_zero();
    let near = same_side(surface, x, toward, scratch);
    // Close to the surface the nearest point is to the side, not below: then the points all around tell the normal.
    near.map(front).or_else(|| {
        let around = front(surface.at(x, DVec3::ZERO, scratch)?);
        same_side(surface, x, around.normal, scratch).map(front)
    })
}

/// The place between two parts of a way where the surface, seen with the normal `n`, is crossed: by false position, which keeps both
/// ends. None where it has ended or is none.
fn crossing(
    surface: &Surface<'_>,
    way: &Way,
    (mut a, mut b): (f64, f64),
    n: DVec3,
    scratch: &mut Scratch,
) -> Option<Swept> {
    let mut fit = |t: f64| same_side(surface, way.from.lerp(way.to, t), n, scratch);
    let near = ON * surface.radius();
    let mut first = fit(a)?;
    // A way may begin on the surface, and by rounding behind it.
    let mut best = (a, first);
    let mut end = fit(b)?;
    for i in 0..HALVINGS {
        if best.1.value <= near {
            break;
        }
        let share = first.value / (first.value - end.value);
        // Every third is a halving: false position alone can creep.
        let t = a + (b - a) * if i % 3 == 2 || !share.is_finite() { 0.5 } else { share.clamp(0.01, 0.99) };
        let Some(f) = fit(t) else {
            a = t;
            continue;
        };
        if f.value > 0.0 {
            (a, first) = (t, f);
        } else {
            (b, end) = (t, f);
        }
        if f.value.abs() <= near || b - a < 1e-15 {
            best = (t, f);
            break;
        }
        best = (a, first);
    }
    let (t, f) = best;
    is_surface(&f).then_some(Swept { t, side: Some(f.normal), hit: true })
}
