//! Balls inside a shape. Two shapes whose inner balls meet share a point, whatever their surfaces do: also where surfaces
//! coincide and no point of one is inside the other.

use crate::shape::Shape;
use crate::simd::LANES;
use glam::{DVec3, Vec3};

/// Largest number of balls of a [`cores`] list.
pub(super) const CORES: usize = 16;
/// Two cores this near to each other count as one [radius of the larger].
const SPREAD: f64 = 0.6;

/// A ball, certainly inside its shape, in the frame a function names [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ball {
    pub(super) centre: DVec3,
    pub(super) radius: f64,
}

/// The largest ball found inward of a point, in the shape's frame, with a radius of at most `most` [m]. Radius 0 where the shape
/// is too thin for one.
pub(super) fn inward(shape: &Shape, point: usize, first: f64, factor: f64, most: f64) -> Ball {
    let lattice = shape.field.lattice();
    let p = shape.tree.position(point);
    let n = shape.tree.normal(point).as_dvec3();
    let mut depth = [0.0; LANES];
    let mut d = first;
    for depth in &mut depth {
        *depth = d;
        d *= factor;
    }
    let mut places = [Vec3::ZERO; LANES];
    for (place, depth) in places.iter_mut().zip(depth) {
        *place = (p - n * depth - lattice.origin).as_vec3();
    }
    let (mut f, mut lower) = ([0.0f32; LANES], [0.0f32; LANES]);
    shape.far.lower_bounds(&shape.field, &places, &mut f, &mut lower);
    let mut best = Ball { centre: p, radius: 0.0 };
    for i in 0..LANES {
        let radius = f64::from(lower[i]).min(most);
        if f[i] < 0.0 && radius > best.radius {
            best = Ball { centre: p - n * depth[i], radius };
        }
    }
    best
}

/// Large balls inside a shape, apart from each other, inward of the points `of`: largest first, in the shape's frame.
pub(super) fn cores(shape: &Shape, of: &[u32], all: &mut Vec<Ball>, out: &mut Vec<Ball>) {
    all.clear();
    let first = shape.field.lattice().voxel;
    let half = 0.5 * shape.aabb().extent().max_element();
    // Eight depths from a voxel to half the shape.
    let factor = (half / first).max(1.0).powf(1.0 / (LANES - 1) as f64);
    all.extend(of.iter().map(|p| inward(shape, *p as usize, first, factor, f64::INFINITY)));
    all.sort_unstable_by(|a, b| b.radius.total_cmp(&a.radius));
    out.clear();
    for ball in all.iter() {
        if out.len() == CORES || ball.radius <= 0.0 {
            break;
        }
        let near = |o: &Ball| (o.centre - ball.centre).length() < SPREAD * o.radius;
        if !out.iter().any(near) {
            out.push(*ball);
        }
    }
}
