//! What must hold for every field, without a referee.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{repaired, sample, voxel};
use glam::{DMat3, DQuat, DVec3};
use palpate::field::{Encoding, FieldParams, Source};
use palpate::mesh::{RawMesh, samples};
use palpate::{Field, Mesh};
use palpate_lab::oracle::{Random, points_in_box};

const SEED: u64 = 0x1257_0001;

/// A point farther than this from the surface is in no brick [voxels]: bricks hold a node within band + √3 of the surface, and
/// no two points of a brick are farther apart than 8·√3.
const NO_BRICK_VOX: f64 = 3.0 + 1.75 + 13.9;

fn build(mesh: &Mesh, grid: u32, encoding: Encoding) -> Field {
    let params = FieldParams { encoding, padding: 30.0, ..Default::default() };
    Field::build(mesh, voxel(mesh, grid), &params).unwrap()
}

fn fields() -> Vec<(&'static str, Field)> {
    let scaled = Encoding::Scaled { precision: None };
    vec![
        ("gear", build(&sample("gear"), 96, Encoding::Float)),
        ("torus", build(&repaired(samples::torus(0.05, 0.02, 48, 24)), 80, Encoding::Float)),
        ("two cubes", build(&sample("two-overlapping-cubes"), 80, Encoding::Float)),
        ("sheet", build(&repaired(samples::sheet(16)), 80, Encoding::Float)),
        ("gear scaled", build(&sample("gear"), 80, scaled)),
        ("needle layered", build(&sample("needle"), 80, Encoding::Layered)),
    ]
}

/// Half a step of the encoding, what f32 storage leaves, and rounding of the interpolation [m].
fn storage_error(field: &Field) -> f64 {
    let h = field.lattice().voxel;
    let largest = field.lattice().aabb().extent().length();
    let step = match field.encoding() {
        Encoding::Float => 0.0,
        // The finest step that 16 bits allow for a distance below the box's diagonal.
        Encoding::Scaled { .. } => largest / 32766.0,
        Encoding::Layered => h,
    };
    0.51 * step + 2.0 * largest * f64::from(f32::EPSILON)
}

#[test]
fn samples_are_lipschitz_with_the_constant_reported() {
    println!("seed {SEED:#x}");
    for (name, field) in fields() {
        let (b, h, lipschitz) = (field.lattice().aabb(), field.lattice().voxel, field.report().lipschitz);
        // A distance has slope 1 almost everywhere. Seams of bricks far from the surface may be steeper.
        assert!(lipschitz.is_finite() && lipschitz > 0.9, "{name}: {lipschitz}");
        let mut random = Random::new(SEED);
        // 16-bit nodes on a seam are rounded apart from the background's: a jump of one step at most.
        let jump = if field.encoding() == Encoding::Float { 1e-6 * h } else { 2.0 * storage_error(&field) };
        let (mut band, mut far, mut across, mut steepest) = (0, 0, 0, 0.0f64);
        for _ in 0..100_000 {
            let p = random.point_in(b.min, b.max);
            let reach = h * 10f64.powf(5.0 * random.unit() - 3.0);
            let q = (p + reach * random.in_ball()).clamp(b.min, b.max);
            let (f, g) = (field.sample(p).distance, field.sample(q).distance);
            let limit = lipschitz * p.distance(q) + jump;
            assert!((f - g).abs() <= limit, "{name}: {f} at {p}, {g} at {q}, L {lipschitz}");
            steepest = steepest.max((f - g).abs() / limit);
            let near = |d: f64| d.abs() < 3.0 * h;
            let away = |d: f64| d.abs() > NO_BRICK_VOX * h;
            band += usize::from(near(f) && near(g));
            far += usize::from(away(f) && away(g));
            across += usize::from(near(f) && away(g) || away(f) && near(g));
        }
        println!(
            "{name}: L {lipschitz:.4}, {steepest:.3} of it used; pairs: {band} band, {far} far, {across} across"
        );
        assert!(band > 200 && far > 10_000 && across > 50, "{name}: {band} {far} {across}");
        // Random pairs rarely hit the steepest voxel; far below a third the constant would be of no use.
        assert!(steepest > 0.25, "{name}: the constant is loose, {steepest} of it used");
    }
}

#[test]
fn there_is_no_jump_at_faces_of_cells() {
    println!("seed {SEED:#x}");
    for (name, field) in fields() {
        let (l, limit) = (*field.lattice(), storage_error(&field));
        let mut random = Random::new(SEED);
        let (mut seams, mut band, mut worst) = (0, 0, 0.0f64);
        for _ in 0..60_000 {
            let mut u = random.point_in(DVec3::ZERO, DVec3::from_array(l.dims().map(f64::from)));
            let axis = random.below(3);
            let face = (1 + random.below(l.cells[axis].max(2) as usize - 1)) as f64 * 8.0;
            // On one voxel face in four, on edges in some cases: faces of cells and of voxels inside them.
            u[axis] = if random.unit() < 0.75 { face } else { u[axis].round() };
            if random.unit() < 0.2 {
                let other = (axis + 1) % 3;
                u[other] = u[other].round();
            }
            let side = |way: f64| {
                let mut v = u;
                v[axis] += way * 1e-7;
                field.sample(l.origin + v * l.voxel).distance
            };
            let (f, g) = (side(-1.0), side(1.0));
            let jump = (f - g).abs() - field.report().lipschitz * 2e-7 * l.voxel;
            assert!(jump <= 2.0 * limit, "{name}: {f} and {g} on both sides of {u}, limit {limit}");
            worst = worst.max(jump);
            let d = f.abs() / l.voxel;
            band += usize::from(d < 3.0);
            // Between the band and where no brick can be: most seams are here.
            seams += usize::from((4.0..NO_BRICK_VOX).contains(&d));
        }
        println!(
            "{name}: worst jump {:.2e} voxels; {band} in the band, {seams} where seams are",
            worst / l.voxel
        );
        assert!(band > 200 && seams > 5_000, "{name}: {band} {seams}");
    }
}

/// The mesh with every position mapped.
fn mapped(raw: &RawMesh, map: impl Fn(DVec3) -> DVec3) -> Mesh {
    let positions = raw.positions.iter().map(|&p| map(p)).collect();
    repaired(RawMesh { positions, triangles: raw.triangles.clone() })
}

/// Asserts that `b` at mapped points is `scale` times `a`, within `tolerance` [voxels] in the band and within the reported bounds
/// beyond, where a node between two equally near triangles may take either.
fn assert_same(name: &str, a: &Field, b: &Field, map: impl Fn(DVec3) -> DVec3, scale: f64, tolerance: f64) {
    let (cube, h) = (a.lattice().aabb(), a.lattice().voxel);
    let (mut inside, mut band, mut same) = (0, 0, 0);
    for p in points_in_box(cube.min - 2.0 * h, cube.max + 2.0 * h, 20_000, SEED) {
        let (f, g) = (a.sample(p).distance, b.sample(map(p)).distance / scale);
        let exact = f.abs() < a.report().band;
        let limit = if exact { tolerance * h } else { 2.0 * a.report().error_bound_far };
        assert!((f - g).abs() <= limit, "{name} at {p}: {f}, moved {g}");
        inside += usize::from(f < 0.0);
        band += usize::from(exact);
        same += usize::from((f - g).abs() <= tolerance * h);
    }
    println!("{name}: {band} of 20000 in the band, {same} within {tolerance} voxels, {inside} inside");
    assert!(
        inside > 500 && band > 1_000 && same > 15_000,
        "{name}: {inside} inside, {band} band, {same} same"
    );
}

#[test]
fn whole_voxel_moves_and_turned_axes_give_the_same_values() {
    println!("seed {SEED:#x}");
    for name in ["gear", "nut", "two-overlapping-cubes", "cube-missing-face"] {
        let raw = samples::by_name(name).unwrap();
        let plain = mapped(&raw, |p| p);
        let h = voxel(&plain, 72);
        let make = |mesh: &Mesh| Field::build(mesh, h, &FieldParams::default()).unwrap();
        let field = make(&plain);
        // The positions are rounded in f64 after the move: 1e-16 of a metre against voxels of a millimetre.
        let by = h * DVec3::new(1000.0, -37.0, 3.0);
        assert_same(name, &field, &make(&mapped(&raw, |p| p + by)), |p| p + by, 1.0, 1e-5);
        // A third of a turn about the diagonal: x becomes y, y becomes z, z becomes x.
        let turn = |p: DVec3| DVec3::new(p.z, p.x, p.y);
        assert_same(name, &field, &make(&mapped(&raw, turn)), turn, 1.0, 1e-5);
        // Any other rotation puts the nodes elsewhere: both are right within their bounds.
        let rotation = DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.8));
        let turned = make(&mapped(&raw, |p| rotation * p));
        for p in points_in_box(plain.aabb().min, plain.aabb().max, 5_000, SEED) {
            let ((a, b), (c, d)) = (field.bounds(p), turned.bounds(rotation * p));
            assert!(a <= d && c <= b, "{name} at {p}: [{a}, {b}] and [{c}, {d}]");
        }
    }
}

#[test]
fn objects_of_a_millimetre_and_of_a_kilometre_have_the_same_field() {
    println!("seed {SEED:#x}");
    for encoding in [Encoding::Float, Encoding::Scaled { precision: None }] {
        for name in ["gear", "two-overlapping-cubes"] {
            let raw = samples::by_name(name).unwrap();
            let plain = mapped(&raw, |p| p);
            let params = FieldParams { encoding, ..Default::default() };
            let make = |mesh: &Mesh| Field::build(mesh, voxel(mesh, 72), &params).unwrap();
            let field = make(&plain);
            // From about a tenth of a metre: to 1 mm, 100 m, 1 km, and a microscope's and a planet's scale.
            for scale in [1e-2, 1e3, 1e4, 1e-6, 1e7] {
                let other = make(&mapped(&raw, |p| p * scale));
                let (a, b) = (field.report(), other.report());
                assert_eq!((a.bricks, a.bytes, a.sign_method), (b.bricks, b.bytes, b.sign_method));
                // Positions are rounded before the grid, and 16 bits may round to the neighbouring step.
                let tolerance = if encoding == Encoding::Float { 1e-4 } else { 1e-2 };
                let map = |p: DVec3| p * scale;
                assert_same(&format!("{name} x {scale}"), &field, &other, map, scale, tolerance);
            }
        }
    }
}

#[test]
fn gradients_are_finite_differences() {
    println!("seed {SEED:#x}");
    for (name, field) in fields() {
        let l = *field.lattice();
        let step = 1e-4;
        let mut random = Random::new(SEED);
        let (mut hits, mut outside) = (0, 0);
        let size = DVec3::from_array(l.dims().map(f64::from));
        for _ in 0..20_000 {
            let u = random.point_in(-10.0 * DVec3::ONE, size + 10.0);
            // Away from voxel faces the function is smooth.
            let fraction = u - u.floor();
            if fraction.min_element() < 2.0 * step || fraction.max_element() > 1.0 - 2.0 * step {
                continue;
            }
            let at = |u: DVec3| field.sample(l.origin + u * l.voxel);
            let g = at(u).gradient;
            let within = u.cmpge(DVec3::ZERO).all() && u.cmple(size).all();
            for axis in 0..3 {
                let mut e = DVec3::ZERO;
                e[axis] = step;
                let slope = (at(u + e).distance - at(u - e).distance) / (2.0 * step * l.voxel);
                // Along an axis the interpolant is linear: only rounding differs. Outside the box it curves, most where the
                // distance is small: near grids that the surface almost touches.
                let tolerance = if within { 1e-7 } else { 1e-3 };
                assert!((g[axis] - slope).abs() <= tolerance, "{name} at {u}: {g}, slope {slope} on {axis}");
            }
            hits += usize::from(within);
            outside += usize::from(!within);
        }
        println!("{name}: {hits} points inside the box, {outside} outside");
        assert!(hits > 5_000 && outside > 1_000, "{name}: {hits} {outside}");
    }
}

#[test]
fn outside_the_box_samples_are_the_lower_bound_and_continuous() {
    println!("seed {SEED:#x}");
    for (name, field) in fields() {
        let (b, h) = (field.lattice().aabb(), field.lattice().voxel);
        let mut random = Random::new(SEED);
        for _ in 0..20_000 {
            let mut p = random.point_in(b.min, b.max);
            let axis = random.below(3);
            let high = random.unit() < 0.5;
            let (face, out) = if high { (b.max[axis], 1.0) } else { (b.min[axis], -1.0) };
            p[axis] = face;
            let on = field.sample(p).distance;
            p[axis] = face + out * 1e-9 * h;
            assert!((field.sample(p).distance - on).abs() <= 1e-6 * h, "{name} at {p}");
            p[axis] = face + out * h * 10f64.powf(4.0 * random.unit());
            let ((low, high), d) = (field.bounds(p), field.sample(p).distance);
            assert!(
                low <= high && d <= high && d >= low - 1e-12 * d,
                "{name} at {p}: {d} in [{low}, {high}]"
            );
            assert!(low >= 0.0, "{name} at {p}: everything outside the box is outside");
        }
    }
}

#[test]
fn points_that_are_not_finite_give_nan() {
    let field = build(&sample("cuboid"), 40, Encoding::Float);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for axis in 0..3 {
            let mut p = DVec3::ZERO;
            p[axis] = bad;
            assert!(field.sample(p).distance.is_nan(), "{p}");
            let (low, high) = field.bounds(p);
            assert!(low.is_nan() || high.is_nan() || low <= high, "{p}: [{low}, {high}]");
            let mut out = [0.0f32];
            field.distances(&[p.as_vec3()], &mut out);
            assert!(!out[0].is_finite(), "{p}: {}", out[0]);
        }
    }
}
