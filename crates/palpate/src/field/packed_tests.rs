//! A packed field says what the field says, up to the rounding it states.

use super::*;
use crate::field::encode::Values;
use crate::field::{Encoding, Field, FieldParams};
use crate::mesh::{Mesh, RepairParams, samples};
use crate::simd::Plain;
use glam::{DVec3, Vec3};

/// Points all over a field's box and a little beyond, in no order.
fn points(field: &Field) -> Vec<Vec3> {
    let size = field.lattice().aabb().extent();
    let mut state = 1u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    (0..20_000).map(|_| (DVec3::new(unit(), unit(), unit()) * 1.1 * size - 0.05 * size).as_vec3()).collect()
}

fn field(voxel: f64, encoding: Encoding) -> Field {
    let mesh = Mesh::new(samples::torus(1.0, 0.35, 48, 24), &RepairParams::default()).unwrap();
    Field::build(&mesh, voxel, &FieldParams { encoding, ..Default::default() }).unwrap()
}

#[test]
fn says_what_the_field_says_up_to_its_rounding() {
    for (voxel, encoding) in [
        (0.05, Encoding::Float),
        (0.02, Encoding::Float),
        (0.05, Encoding::Scaled { precision: None }),
        (0.05, Encoding::Scaled { precision: Some(4) }),
    ] {
        let field = field(voxel, encoding);
        let packed = Packed::new(&field).unwrap();
        assert!(packed.error < 0.01 * voxel, "{} voxels", packed.error / voxel);
        let points = points(&field);
        let (mut own, mut plain) = (vec![0.0; points.len()], vec![0.0; points.len()]);
        field.distances_here(&points, &mut own);
        crate::field::read::read::<Plain, Quad>(&packed.view(), &points, &mut plain);
        // What f32 does to a coordinate, and the arithmetic to a value.
        let rounding = 4e-6;
        let mut hits = [0; 2];
        for (p, (a, b)) in points.iter().zip(own.iter().zip(&plain)) {
            let off = f64::from((a - b).abs());
            assert!(off <= packed.error + rounding, "{p}: {a} and {b}, allowed {}", packed.error);
            hits[usize::from(f64::from(a.abs()) < 2.0 * voxel)] += 1;
        }
        assert!(hits.iter().all(|h| *h > 500), "far and near: {hits:?}");
    }
}

#[test]
fn near_the_surface_rounding_is_a_thousandth_of_a_voxel() {
    let field = field(0.02, Encoding::Float);
    let packed = Packed::new(&field).unwrap();
    assert!(f64::from(packed.scale[0]) < 2e-3 * 0.02, "{}", packed.scale[0]);
    // A shape without bricks would show nothing.
    assert!(packed.directory.iter().filter(|e| **e >= 0).count() > 100);
    assert!(packed.directory.iter().filter(|e| **e < 0).count() > 100);
    assert!(packed.bytes() < 2 * field.report().bytes);
}

#[test]
fn steps_too_large_for_sixteen_bits_are_not_packed() {
    // Whole layers of a field so coarse in value that differences of differences could not be told from others.
    let field = field(0.05, Encoding::Scaled { precision: None });
    let mut steep = field.clone();
    let Values::Scaled { values, step, encoding } = &steep.values else { panic!("scaled was asked for") };
    let alternate =
        (0..values.len()).map(|i| if i % 2 == 0 { 30_000 } else { -30_000 }).collect::<Vec<i16>>();
    steep.values = Values::Scaled { values: alternate.into(), step: *step, encoding: *encoding };
    assert!(Packed::new(&steep).is_none());
    assert!(Packed::new(&field).is_some());
}

/// Two points outside and near the surface, at most a cell's edge apart, differ by no more than the steepness around the first allows; and
/// where the surface is smooth that is hardly more than their distance.
#[test]
fn no_two_points_differ_by_more_than_the_steepness_around_them() {
    for encoding in [Encoding::Float, Encoding::Scaled { precision: Some(4) }] {
        let field = field(0.05, encoding);
        let packed = Packed::new(&field).unwrap();
        let l = *field.lattice();
        let [nx, ny, nz] = l.cells.map(|c| c as usize);
        let cell = BRICK as f64 * l.voxel;
        let starts = points(&field);
        // Parts of the way from each to another: between 0 and the end of the band all along.
        const PARTS: usize = 12;
        let on_way = |i: usize, k: usize| {
            let (p, towards) = (starts[i], starts[(i + 1) % starts.len()]);
            let way =
                (towards - p).normalize_or(Vec3::X) * (cell * 0.99 * 0.6f64.powi((i % 16) as i32)) as f32;
            p + way * (k as f32 / PARTS as f32)
        };
        let at: Vec<Vec3> = (0..starts.len())
            .flat_map(|i| (0..=PARTS).map(move |k| (i, k)))
            .map(|(i, k)| on_way(i, k))
            .collect();
        let mut values = vec![0.0; at.len()];
        crate::field::read::read::<Plain, Quad>(&packed.view(), &at, &mut values);
        let jump = 2.0 * (packed.error + field.values.error()) + 1e-5;
        let (mut used, mut tried, mut gentle) = (0.0f64, 0, 0);
        for (p, f) in at.chunks(PARTS + 1).zip(values.chunks(PARTS + 1)) {
            if !f.iter().all(|f| *f > 0.0 && f64::from(*f) < crate::field::pack::known(&field)) {
                continue;
            }
            tried += 1;
            let c = [(p[0].x, nx), (p[0].y, ny), (p[0].z, nz)]
                .map(|(u, n)| (f64::from(u) / cell).floor().clamp(0.0, (n - 1) as f64) as usize);
            let steepness = f64::from(packed.steepness[(c[2] * ny + c[1]) * nx + c[0]]);
            let (off, way) = (f64::from((f[0] - f[PARTS]).abs()), f64::from(p[0].distance(p[PARTS])));
            assert!(off <= steepness * way + jump, "{} to {}: {off}, {steepness} over {way}", p[0], p[PARTS]);
            used = used.max((off - jump) / (steepness * way));
            gentle += usize::from(steepness < 1.2);
        }
        assert!(used > 0.8 && tried > 500 && 2 * gentle > tried, "{used} used, {gentle} of {tried} gentle");
    }
}
