//! How much of space two shapes share: a grid along the shortest way apart, cells that surfaces cut counted by how far they reach in.

use crate::near::{Meet, inside};
use glam::{DMat3, DVec3};
use palpate::field::source::Source;
use palpate::math::Aabb;
use palpate::{Pose, Shape};

/// What two shapes share. A's frame.
#[derive(Clone, Debug)]
pub(crate) struct Overlap {
    /// [m³]
    pub(crate) volume: f64,
    /// Half of the cells that surfaces cut [m³].
    pub(crate) error: f64,
    /// Centre of the volume [m].
    pub(crate) centroid: DVec3,
    /// Points whose box is that of the overlap [m].
    pub(crate) hull: Vec<DVec3>,
}

/// Vertices whose side is settled by all triangles.
const MAX_WINDINGS: usize = 200;
/// A closest point says which side it is on if the way there is not much steeper than this against the triangle [1].
const STEEP: f64 = 0.3;

/// What A and B share, if their surfaces meet at `meet`. `way`: the direction in which the overlap is thin, in A's frame. `beside`:
/// corners so near to the other surface count as inside [m], where surfaces coincide; 0 elsewhere.
pub(crate) fn overlap(
    a: &Shape,
    b: &Shape,
    a_from_b: &Pose,
    meet: &Meet,
    (way, beside): (DVec3, f64),
    cells: u32,
) -> Overlap {
    let hull = hull(a, b, a_from_b, meet, beside);
    // One axis is the way, another as near to one of A's as can be, so that boxes fit to boxes.
    let w = way.try_normalize().unwrap_or(DVec3::Z);
    let across = [DVec3::X, DVec3::Y, DVec3::Z]
        .into_iter()
        .fold(DVec3::X, |best, axis| if axis.dot(w).abs() < best.dot(w).abs() - 1e-9 { axis } else { best });
    let u = (across - across.dot(w) * w).try_normalize().unwrap_or_else(|| w.any_orthonormal_vector());
    let a_from_grid = DMat3::from_cols(u, w.cross(u), w);
    let grid_from_a = a_from_grid.transpose();
    let room = Aabb::of_points(hull.iter().map(|p| grid_from_a * *p));
    let size = room.extent() / f64::from(cells);
    if !(size.is_finite() && size.min_element() > 0.0) {
        let middle = hull.iter().sum::<DVec3>() / hull.len().max(1) as f64;
        return Overlap { volume: 0.0, error: 0.0, centroid: middle, hull };
    }
    let b_from_a = a_from_b.inverse();
    let cell = size.element_product();
    let (mut sum, mut moment, mut cut) = (0.0, DVec3::ZERO, 0.0);
    for k in 0..cells {
        for j in 0..cells {
            for i in 0..cells {
                let at = DVec3::new(f64::from(i), f64::from(j), f64::from(k)) + 0.5;
                let p = a_from_grid * (room.min + at * size);
                let from_a = reach(a, p, |v| grid_from_a * v, size);
                let share = if from_a > 0.0 {
                    from_a.min(reach(b, b_from_a.point(p), |v| grid_from_a * a_from_b.vector(v), size))
                } else {
                    0.0
                };
                sum += share;
                moment += share * p;
                cut += f64::from(u8::from(share > 0.0 && share < 1.0));
            }
        }
    }
    let middle = hull.iter().sum::<DVec3>() / hull.len().max(1) as f64;
    let centroid = if sum > 0.0 { moment / sum } else { middle };
    Overlap { volume: sum * cell, error: 0.5 * cut * cell, centroid, hull }
}

/// The share of a cell of `size` around `p` that is inside a shape, as if its surface were flat there [1].
fn reach(shape: &Shape, p: DVec3, grid_from: impl Fn(DVec3) -> DVec3, size: DVec3) -> f64 {
    let (lower, upper) = shape.field().bounds(p);
    let radius = 0.5 * size.length();
    if lower >= radius {
        return 0.0;
    }
    if upper <= -radius {
        return 1.0;
    }
    // Near the surface: on the triangles.
    let q = shape.exact().closest(p, None);
    if q.distance >= radius {
        return f64::from(u8::from(lower + upper < 0.0));
    }
    let mesh = shape.mesh();
    let away = p - q.point;
    let face = mesh.triangles().get(q.triangle as usize).map(|t| {
        let [x, y, z] = t.map(|v| mesh.positions()[v as usize]);
        (y - x).cross(z - x).normalize_or_zero()
    });
    let out = face.map_or(0.0, |n| away.dot(n));
    let signed = if out.abs() > STEEP * q.distance {
        q.distance.copysign(out)
    } else {
        q.distance.copysign(lower + upper)
    };
    let normal = if signed == 0.0 { face.unwrap_or(DVec3::Z) } else { away * signed.signum() };
    let normal = grid_from(normal.normalize_or(DVec3::Z)).abs();
    let wide = normal.dot(size);
    (0.5 - signed / wide).clamp(0.0, 1.0)
}

/// Points whose box is that of the overlap: where surfaces meet, and corners of each shape inside the other. A's frame.
fn hull(a: &Shape, b: &Shape, a_from_b: &Pose, meet: &Meet, beside: f64) -> Vec<DVec3> {
    let mut hull = meet.curve.clone();
    let b_from_a = a_from_b.inverse();
    let mut add = |field: &Shape, points: &Shape, pose: &Pose, back: &Pose| {
        let mut windings = 0;
        for p in points.mesh().positions().iter().map(|p| pose.point(*p)) {
            let (lower, upper) = field.field().bounds(p);
            let doubtful = lower <= 0.0 && upper >= 0.0;
            windings += usize::from(doubtful);
            let near = lower <= beside && field.exact().closest_within(p, beside).is_some();
            if near || upper < 0.0 || (doubtful && windings <= MAX_WINDINGS && inside(field, p)) {
                hull.push(back.point(p));
            }
        }
    };
    add(a, b, a_from_b, &Pose::IDENTITY);
    add(b, a, &b_from_a, a_from_b);
    hull
}
