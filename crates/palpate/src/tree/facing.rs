//! Balls that bound the distance of a patch from whatever it faces.
//!
//! Everything in a ball is at least its centre's distance less its radius away. The smallest ball around a flat patch gives away all of its
//! radius. One with the centre moved back, against the patch's normal, is larger, but seen from the front its centre is farther
//! away by nearly as much: for a disc of radius ρ moved by k only √(k² + ρ²) − k is given away.

use glam::{DVec3, Vec3};

/// How far the centre is moved, as a share of the smallest radius.
const MOVES: [f64; 7] = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];
/// Cosine of the angle between a patch's normal and the way to what it faces that balls are chosen for.
const TILT: f64 = 0.88;

/// The ball for `points` with normals weighted by their areas: `centre` and `radius` are those of the smallest one.
pub(crate) fn facing_ball(
    points: impl Iterator<Item = Vec3> + Clone,
    normal: DVec3,
    centre: Vec3,
    radius: f32,
) -> (Vec3, f32) {
    let back = -normal.normalize_or_zero();
    let mut best = (centre, radius);
    let mut least = f64::from(radius);
    for share in MOVES {
        let by = share * f64::from(radius);
        let c = (centre.as_dvec3() + back * by).as_vec3();
        let reach = points.clone().map(|p| (p.as_dvec3() - c.as_dvec3()).length()).fold(0.0, f64::max);
        if reach - TILT * by < least {
            least = reach - TILT * by;
            best = (c, ((reach * (1.0 + 1e-7)) as f32).next_up());
        }
    }
    best
}
