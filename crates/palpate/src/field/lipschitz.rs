//! How steep a trilinear function can be: from the differences of neighbouring nodes.
//!
//! Along an axis, one component of the gradient is constant and the others are linear, so the square of its length is
//! convex there: over a voxel it is largest at a corner, where the gradient is made of the three differences along
//! the edges that meet. The bound is the least there is, up to rounding.

use super::brick::SIDE;
use crate::simd::{LANES, Lanes, dispatch};

/// Which voxels count: those with a value above the first and one up to the second.
pub(crate) type Between = [f32; 2];
pub(crate) const ALL: Between = [f32::NEG_INFINITY, f32::INFINITY];

dispatch! {
    /// The largest length of the gradient in any voxel of a 9³ brick that counts, per node spacing.
    pub(crate) fn of_brick / of_brick_plain = of_brick_kernel(v: &[f32], between: Between) -> f32
}

#[inline(always)]
fn of_brick_kernel<L: Lanes>(v: &[f32], [above, up_to]: Between) -> f32 {
    let zero = L::splat(0.0);
    let (least, most_counted) = (L::splat(above), L::splat(up_to));
    let mut most = zero;
    for y in 0..SIDE - 1 {
        // The lower z of a voxel is the upper one of the voxel below.
        let mut below = Layer::<L>::load(v, y * SIDE);
        for z in 1..SIDE {
            let above = Layer::<L>::load(v, (z * SIDE + y) * SIDE);
            let mut steepest = zero;
            for i in 0..4 {
                let rise = above.node[i].sub(below.node[i]);
                steepest = steepest.max(below.across[i].max(above.across[i]).add(rise.mul(rise)));
            }
            let counts =
                L::and(least.lt(below.high.max(above.high)), most_counted.ge(below.low.min(above.low)));
            most = most.max(L::select(counts, steepest, zero));
            below = above;
        }
    }
    let mut lanes = [0.0; LANES];
    most.store(&mut lanes);
    lanes.into_iter().fold(0.0, f32::max).sqrt()
}

/// The four nodes of eight voxels at one z, x fastest, and the square of the slope within that z at each.
#[derive(Clone, Copy)]
struct Layer<L> {
    node: [L; 4],
    across: [L; 4],
    /// The least and the largest of them.
    low: L,
    high: L,
}

impl<L: Lanes> Layer<L> {
    #[inline(always)]
    fn load(v: &[f32], at: usize) -> Self {
        let node = [eight(v, at), eight(v, at + 1), eight(v, at + SIDE), eight(v, at + SIDE + 1)];
        let [a, b, c, d]: [L; 4] = node;
        let (x0, x1, y0, y1) = (square(b.sub(a)), square(d.sub(c)), square(c.sub(a)), square(d.sub(b)));
        Self {
            node,
            across: [x0.add(y0), x0.add(y1), x1.add(y0), x1.add(y1)],
            low: a.min(b).min(c.min(d)),
            high: a.max(b).max(c.max(d)),
        }
    }
}

/// Eight nodes of a row.
#[inline(always)]
fn eight<L: Lanes>(v: &[f32], at: usize) -> L {
    L::load(v.get(at..).and_then(|v| v.first_chunk()).unwrap_or(&[0.0; LANES]))
}

#[inline(always)]
fn square<L: Lanes>(v: L) -> L {
    v.mul(v)
}

/// The same for one cell with corner values `v`, x fastest.
pub(crate) fn of_cell(v: &[f32; 8]) -> f32 {
    let at = |n: usize| {
        let along = |bit: usize| v[n] - v[n ^ bit];
        along(1).powi(2) + along(2).powi(2) + along(4).powi(2)
    };
    (0..8).fold(0.0f32, |most, n| most.max(at(n))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::brick::NODES;
    use crate::field::scan::BRICK;
    use crate::field::{Encoding, Field, FieldParams};
    use crate::mesh::{Mesh, samples};
    use glam::DVec3;

    /// No two samples differ by more than the constant allows, from a millionth of a voxel to many voxels apart, in every
    /// encoding, around seams and outside the box. Where cells meet, values are rounded on either side for themselves.
    #[test]
    fn samples_are_lipschitz_at_every_scale() {
        let layered = Encoding::Layered;
        let scaled = Encoding::Scaled { precision: None };
        for (name, encoding, exact_bricks) in [
            ("gear", Encoding::Float, false),
            ("gear", scaled, true),
            ("torus", Encoding::Float, true),
            ("torus", layered, false),
            ("cube-missing-face", scaled, false),
            ("bolt", Encoding::Float, false),
        ] {
            let mesh = Mesh::new(samples::by_name(name).expect("a sample"), &Default::default()).unwrap();
            let h = mesh.aabb().extent().max_element() / 100.0;
            let params = FieldParams { encoding, exact_bricks, ..Default::default() };
            let field = Field::build(&mesh, h, &params).unwrap();
            let (l, aabb) = (*field.lattice(), field.lattice().aabb());
            let [nx, ny, nz] = l.cells.map(i64::from);
            let open = |c: [i64; 3]| {
                let inside = c.iter().zip([nx, ny, nz]).all(|(c, n)| (0..n).contains(c));
                inside && field.directory[((c[2] * ny + c[1]) * nx + c[0]) as usize] < 0
            };
            let mut state = 23u64;
            let mut random = move || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            let constant = field.report().lipschitz.max(1.0);
            let jump = 2.0 * field.values.error() + 1e-6 * aabb.extent().max_element();
            let (mut seams, mut outside, mut used, tries) = (0, 0, 0.0f64, 60_000);
            for n in 0..tries {
                let f = DVec3::new(random(), random(), random());
                let mut p = aabb.min + aabb.extent() * if n % 3 == 0 { f * 2.0 - 0.5 } else { f };
                if n % 3 == 1 {
                    // To within a voxel of the face below it along one axis.
                    let axis = n / 3 % 3;
                    let cell = 8.0 * h;
                    let below = ((p[axis] - aabb.min[axis]) / cell).floor() * cell;
                    p[axis] = aabb.min[axis] + below + 2.0 * (random() - 0.5) * h;
                    let c = ((p - aabb.min) / cell).floor().to_array().map(|c| c as i64);
                    let near = [-1, 0, 1].map(|o| {
                        let mut c = c;
                        c[axis] += o;
                        open(c)
                    });
                    seams += usize::from(near.contains(&true) && near.contains(&false));
                }
                let way = DVec3::new(random() - 0.5, random() - 0.5, random() - 0.5).normalize_or(DVec3::X);
                let q = p + way * h * 10f64.powf(7.5 * random() - 6.0);
                let difference = (field.sample(p).distance - field.sample(q).distance).abs();
                let cell = |p: DVec3| ((p - aabb.min) / (BRICK as f64 * h)).floor();
                let slack = if cell(p) == cell(q) { 1e-12 * aabb.extent().max_element() } else { jump };
                let limit = constant * p.distance(q) * (1.0 + 1e-9) + slack;
                assert!(difference <= limit, "{name} {encoding:?}: {difference} from {p} to {q}");
                outside += usize::from(p.clamp(aabb.min, aabb.max) != p);
                used = used.max((difference - slack) / p.distance(q));
            }
            assert!(seams * 20 > tries, "{name}: only {seams} pairs near seams");
            assert!(outside * 10 > tries, "{name}: only {outside} pairs outside");
            assert!(used > 0.4 * constant, "{name} {encoding:?}: {used} of {constant} seen");
        }
    }

    /// SIMD and scalar give the same bits, and the value is the steepest corner of all voxels, each taken as a cell.
    #[test]
    fn a_brick_is_as_steep_as_its_steepest_voxel() {
        let mut state = 5u64;
        for round in 0..50 {
            let brick: Vec<f32> = (0..NODES)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
                })
                .collect();
            let between = if round % 2 == 0 { ALL } else { [0.35, -0.35] };
            let mut most = 0.0f32;
            for n in 0..512 {
                let at = ((n >> 6) * SIDE + (n >> 3 & 7)) * SIDE + (n & 7);
                let cell = core::array::from_fn(|c| {
                    brick[at + (c & 1) + (c >> 1 & 1) * SIDE + (c >> 2) * SIDE * SIDE]
                });
                if cell.iter().any(|v| *v > between[0]) && cell.iter().any(|v| *v <= between[1]) {
                    most = most.max(of_cell(&cell));
                }
            }
            let found = of_brick(&brick, between);
            assert_eq!(found.to_bits(), of_brick_plain(&brick, between).to_bits());
            assert!((found - most).abs() < 1e-6 * most, "round {round}: {found}, voxel by voxel {most}");
        }
    }
}
