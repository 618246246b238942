//! Fields of shapes with a closed form. Referee: the formula, exact up to rounding in f64.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use glam::{DQuat, DVec3};
use palpate::field::analytic::Analytic;
use palpate::field::{FieldParams, Source};
use palpate::math::Aabb;
use palpate::mesh::samples;
use palpate::{Field, par};
use palpate_lab::oracle::{ErrorStats, Oracle, points_in_box};

const SEED: u64 = 0x0a7a_1171;

/// Largest |node − formula| [voxels]: nodes are f32 in voxels, at most 2^12 of them here.
const NODE_ROUNDING_VOX: f64 = 5e-4;

fn field(shape: &Analytic, aabb: Aabb, voxel: f64) -> Field {
    Field::from_source(shape, aabb, voxel, &FieldParams::default()).unwrap()
}

/// Slope of the line through (log h, log error): the order at which the error falls.
fn fitted_order(h: &[f64], error: &[f64]) -> f64 {
    let n = h.len() as f64;
    let (x, y): (Vec<f64>, Vec<f64>) = h.iter().zip(error).map(|(h, e)| (h.ln(), e.ln())).unzip();
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let up: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    up / x.iter().map(|x| (x - mx) * (x - mx)).sum::<f64>()
}

#[test]
fn error_inside_the_band_of_a_torus_falls_at_second_order() {
    println!("seed {SEED:#x}");
    let (major, minor) = (1.0, 0.3);
    let torus = Analytic::torus(major, minor).unwrap();
    // A quarter of the ring: the finest grid then fits a small machine. The rest is its mirror image.
    let quarter = Aabb { min: DVec3::new(0.0, 0.0, -minor), max: DVec3::new(1.3, 1.3, minor) };
    let (mut steps, mut rms, mut max) = (vec![], vec![], vec![]);
    for cells in [64, 128, 256, 512, 1024] {
        let h = 2.0 * (major + minor) / f64::from(cells - 6);
        let field = field(&torus, quarter, h);
        let reach = 3.0 * h;
        // On the ring, then moved within the band along the normal: every point counts.
        let points = par::map(200_000, |i| {
            let u = points_in_box(DVec3::ZERO, DVec3::ONE, 1, SEED + i as u64)[0];
            let (around, tube) = (u.x * core::f64::consts::FRAC_PI_2, u.y * core::f64::consts::TAU);
            let radial = DVec3::new(around.cos(), around.sin(), 0.0);
            let normal = radial * tube.cos() + DVec3::Z * tube.sin();
            major * radial + (minor + reach * (2.0 * u.z - 1.0)) * normal
        });
        let errors = ErrorStats::of(points.iter().map(|&p| field.sample(p).distance - torus.distance(p)));
        println!("{cells} cells, h {h:.5}: {}", errors.scaled(1.0 / h));
        assert_eq!(errors.not_finite, 0);
        assert!(errors.max <= field.report().error_bound_band);
        steps.push(h);
        rms.push(errors.rms);
        max.push(errors.max);
    }
    let (rms, max) = (fitted_order(&steps, &rms), fitted_order(&steps, &max));
    println!("order of the RMS error {rms:.3}, of the largest {max:.3}");
    // 2 in the limit; coarse grids see the stronger curvature at the inner end of the band.
    assert!(rms >= 1.8 && max >= 1.8, "order {rms} (RMS), {max} (largest)");
}

#[test]
fn nodes_hold_the_closed_form() {
    let turned = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.7);
    let shapes = [
        ("sphere", Analytic::sphere(DVec3::new(0.1, 0.2, 0.3), 0.5).unwrap()),
        ("box", Analytic::cuboid(DVec3::new(0.1, -0.2, 0.0), DVec3::new(0.5, 0.3, 0.2)).unwrap()),
        ("capsule", Analytic::capsule(DVec3::new(-0.3, 0.0, 0.1), DVec3::new(0.4, 0.2, 0.0), 0.2).unwrap()),
        ("torus", Analytic::torus(0.5, 0.15).unwrap()),
        (
            "turned box",
            Analytic::cuboid(DVec3::ZERO, DVec3::new(0.5, 0.3, 0.2))
                .unwrap()
                .transformed(turned, DVec3::new(0.2, 0.0, 0.1))
                .unwrap(),
        ),
    ];
    for (name, shape) in shapes {
        let h = 0.02;
        let field = field(&shape, shape.aabb(), h);
        let l = *field.lattice();
        assert_eq!(field.report().sign_method.name(), "analytic");
        let (mut band, mut coarse, mut inside) = (0, 0, 0);
        let [nx, ny, nz] = l.dims();
        for (k, j, i) in (0..=nz).flat_map(|k| (0..=ny).flat_map(move |j| (0..=nx).map(move |i| (k, j, i)))) {
            let p = l.origin + DVec3::new(f64::from(i), f64::from(j), f64::from(k)) * h;
            let exact = shape.distance(p);
            let corner = [i, j, k].iter().all(|n| n % 8 == 0);
            // In the band every node is a node of a brick; of the background every eighth exists.
            if corner || exact.abs() <= field.report().band {
                let error = (field.sample(p).distance - exact).abs() / h;
                assert!(error <= NODE_ROUNDING_VOX, "{name}: node {i} {j} {k} is off by {error} voxels");
                coarse += usize::from(corner);
                band += usize::from(!corner);
                inside += usize::from(exact < 0.0);
            }
        }
        println!("{name}: {band} nodes of the band, {coarse} of the background, {inside} inside");
        assert!(band > 10_000 && coarse > 100 && inside > 3_000, "{name}");
    }
}

#[test]
fn errors_stay_within_the_bounds_for_every_shape_and_source_of_it() {
    println!("seed {SEED:#x}");
    let h = 0.01;
    let shapes = [
        ("sphere", Analytic::sphere(DVec3::ZERO, 0.4).unwrap()),
        ("box", Analytic::cuboid(DVec3::ZERO, DVec3::new(0.4, 0.3, 0.2)).unwrap()),
        ("capsule", Analytic::capsule(DVec3::new(-0.2, 0.0, 0.0), DVec3::new(0.2, 0.1, 0.0), 0.15).unwrap()),
    ];
    for (name, shape) in shapes {
        let field = field(&shape, shape.aabb(), h);
        let report = field.report();
        let cube = field.lattice().aabb();
        let (mut band, mut far) = (0, 0);
        for p in points_in_box(cube.min, cube.max, 100_000, SEED) {
            let (got, exact) = (field.sample(p), shape.sample(p));
            let error = (got.distance - exact.distance).abs();
            assert!(error <= report.error_bound_far, "{name} at {p}: {error}");
            if exact.distance.abs() < report.band {
                assert!(error <= report.error_bound_band, "{name} at {p}: {error}");
                band += 1;
            } else {
                far += 1;
            }
            let (low, high) = field.bounds(p);
            assert!(low <= exact.distance && exact.distance <= high, "{name} at {p}");
        }
        println!("{name}: {band} points in the band, {far} beyond");
        assert!(band > 5_000 && far > 20_000, "{name}: {band} in the band, {far} beyond");
    }
}

#[test]
fn gradients_in_the_band_point_away_from_smooth_surfaces() {
    println!("seed {SEED:#x}");
    let (h, radius) = (0.01, 0.4);
    let sphere = Analytic::sphere(DVec3::ZERO, radius).unwrap();
    let field = field(&sphere, sphere.aabb(), h);
    let shell = radius - 3.0 * h..radius + 3.0 * h;
    let points = points_in_box(DVec3::splat(-0.45), DVec3::splat(0.45), 100_000, SEED);
    let mut hits = 0;
    for p in points.into_iter().filter(|p| shell.contains(&p.length())) {
        hits += 1;
        let g = field.sample(p).gradient;
        // The gradient of a linear interpolant is that of the function half a voxel away, along each axis.
        let turn = 3f64.sqrt() / 2.0 * h / shell.start;
        assert!((g - p.normalize()).length() <= turn, "at {p}: {g}");
    }
    assert!(hits > 10_000, "only {hits} points in the band");
}

#[test]
fn a_fine_mesh_of_a_sphere_gives_the_field_of_the_formula() {
    println!("seed {SEED:#x}");
    let radius = 0.05;
    let mesh = common::repaired(samples::sphere(radius, 5));
    let sphere = Analytic::sphere(DVec3::ZERO, radius).unwrap();
    let h = common::voxel(&mesh, 64);
    let field = Field::build(&mesh, h, &FieldParams::default()).unwrap();
    // Chords of the longest edge stay this far below the sphere.
    let longest = mesh.triangles().iter().enumerate().fold(0.0f64, |m, (t, _)| {
        let [a, b, c] = mesh.corners(t);
        m.max(a.distance(b)).max(b.distance(c)).max(c.distance(a))
    });
    let chord = longest * longest / (6.0 * radius);
    let oracle = Oracle::capped(&mesh).unwrap();
    let points = oracle.points_near_surface(50_000, 3.0 * h, SEED);
    let errors = ErrorStats::of(points.iter().map(|&p| field.sample(p).distance - sphere.distance(p)));
    println!("{} chord {:.3e} voxels", errors.scaled(1.0 / h), chord / h);
    // Interpolation adds 3/8 h² times the curvature at the inner end of the band.
    let smooth = 0.375 * h * h / (radius - 5.0 * h);
    assert!(errors.max <= chord + smooth, "{} > {chord} + {smooth}", errors.max);
}
