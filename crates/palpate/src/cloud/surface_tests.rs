use super::*;
use crate::field::source::random::Random;

/// Points of a unit sphere, evenly, along a spiral.
pub(super) fn sphere(n: usize) -> Vec<DVec3> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    (0..n)
        .map(|i| {
            let z = 1.0 - (2 * i + 1) as f64 / n as f64;
            let (s, c) = (golden * i as f64).sin_cos();
            let r = (1.0 - z * z).sqrt();
            DVec3::new(r * c, r * s, z)
        })
        .collect()
}

fn build(points: &[DVec3]) -> Cloud {
    Cloud::build(points, &CloudParams::default()).unwrap()
}

#[test]
fn points_of_a_plane_give_the_plane() {
    for seed in [1, 2] {
        let mut r = Random(seed);
        let n = r.direction();
        let (u, v) = n.any_orthonormal_pair();
        let points: Vec<_> =
            (0..4000).map(|_| n * 0.3 + u * r.range(-0.1, 0.1) + v * r.range(-0.1, 0.1)).collect();
        let cloud = build(&points);
        let surface = Surface::new(&cloud, None, None);
        let mut scratch = Scratch::default();
        for _ in 0..200 {
            let height = r.range(-1.0, 1.0) * cloud.spacing();
            let x = n * (0.3 + height) + u * r.range(-0.07, 0.07) + v * r.range(-0.07, 0.07);
            let fit = surface.at(x, n, &mut scratch).unwrap();
            // Positions are kept in units of a 2²⁴th of the size.
            assert!((fit.value - height).abs() < 1e-7 && fit.normal.dot(n) > 1.0 - 1e-9, "{fit:?} {height}");
            assert!(fit.confidence > 0.99 && fit.off_centre < 0.4);
            let other = surface.at(x, -n, &mut scratch).unwrap();
            assert!((other.value + height).abs() < 1e-7 && other.normal.dot(n) < 0.0);
        }
        assert!(surface.at(n * 0.5, n, &mut scratch).is_none());
        assert!(surface.at(DVec3::NAN, n, &mut scratch).is_none());
        // A border shows.
        let on = |s: f64| surface.at(n * 0.3 + u * s, n, &mut Scratch::default()).unwrap().off_centre;
        assert!(on(0.1) > 0.12 && on(0.1) < 0.4, "{}", on(0.1));
        assert!(on(0.1 + 0.4 * surface.radius()) > 0.4);
    }
}

#[test]
fn a_sphere_is_met_better_with_more_points() {
    let mut errors = Vec::new();
    for n in [2_000, 8_000, 32_000, 128_000] {
        let cloud = build(&sphere(n));
        let surface = Surface::new(&cloud, None, None);
        let (mut r, mut scratch) = (Random(4), Scratch::default());
        let (mut worst, mut turned) = (0f64, 0f64);
        for _ in 0..300 {
            let x = r.direction();
            let fit = surface.at(x, x, &mut scratch).unwrap();
            worst = worst.max(fit.value.abs());
            turned = turned.max(fit.normal.angle_between(x));
        }
        errors.push((worst, turned));
    }
    println!("{errors:?}");
    // Twice as near each time: a quarter of the error, and half the turn of normals at least.
    for pair in errors.windows(2) {
        let order = (pair[0].0 / pair[1].0).log2();
        assert!(order > 1.8, "{errors:?}");
        assert!(pair[1].1 < 0.7 * pair[0].1, "{errors:?}");
    }
}

#[test]
fn the_surface_is_continuous() {
    // Steps of a micrometre along lines through scattered points 1 mm apart.
    for seed in [1, 2] {
        let mut r = Random(seed);
        let points: Vec<_> = (0..10_000)
            .map(|_| {
                let (x, y) = (r.range(0.0, 0.1), r.range(0.0, 0.1));
                DVec3::new(x, y, 0.004 * (60.0 * x).cos() * (50.0 * y).cos() + r.range(-5e-5, 5e-5))
            })
            .collect();
        let cloud = build(&points);
        let surface = Surface::new(&cloud, None, None);
        let mut scratch = Scratch::default();
        let step = DVec3::new(0.8e-6, 0.5e-6, 0.2e-6);
        let (mut rough, mut turn) = (0f64, 0f64);
        for _ in 0..4 {
            let (x, y) = (r.range(0.02, 0.07), r.range(0.02, 0.07));
            let mut at = DVec3::new(x, y, 0.004 * (60.0 * x).cos() * (50.0 * y).cos());
            let mut last: Option<Fit> = None;
            for _ in 0..4000 {
                let fit = surface.at(at, DVec3::Z, &mut scratch).unwrap();
                if let Some(l) = last {
                    rough = rough.max((fit.value - l.value).abs() / step.length());
                    turn = turn.max((fit.normal - l.normal).length() / step.length());
                }
                last = Some(fit);
                at += step;
            }
        }
        println!("{seed}: {rough} of a step, {turn} rad/m");
        // f changes no faster than twice the way; normals by no more than a radian in a third of the radius (1 mm).
        assert!(rough < 2.0 && turn < 1.0 / (surface.radius() / 3.0), "{rough} {turn} {}", surface.radius());
    }
}

#[test]
fn both_sides_of_a_thin_wall_are_told_apart() {
    let mut points = Vec::new();
    for wall in [0.5, 1.0, 1.5, 2.0, 2.5, 3.0] {
        points.clear();
        for i in 0..40 {
            for j in 0..40 {
                points.push(1e-3 * DVec3::new(i.into(), j.into(), 0.0));
                points.push(1e-3 * DVec3::new(f64::from(i) + 0.5, f64::from(j) + 0.3, -wall));
            }
        }
        let normals: Vec<_> =
            (0..points.len()).map(|i| if i % 2 == 0 { DVec3::Z } else { DVec3::NEG_Z }).collect();
        let cloud = build(&points);
        let mut scratch = Scratch::default();
        let x = DVec3::new(0.0203, 0.0196, 0.0);
        let height = |s: &Surface<'_>, from: DVec3, scratch: &mut Scratch| {
            // Down to the surface, as a proxy does.
            let (mut x, mut n) = (x + 2e-4 * from, from);
            for _ in 0..30 {
                let fit = s.at(x, n, scratch).unwrap();
                (x, n) = (x - fit.value * fit.normal, fit.normal);
            }
            assert!(n.dot(from) > 0.95, "{wall} {n}");
            x.z
        };
        let known = Surface::new(&cloud, Some(3e-3), Some(&normals));
        let top = height(&known, DVec3::Z, &mut scratch);
        assert!(top.abs() < 1e-8, "{wall}: with normals the near side alone: {top}");
        let guessed = Surface::new(&cloud, Some(3e-3), None);
        let top = height(&guessed, DVec3::Z, &mut scratch);
        // Without, walls of two spacings and more; thinner ones are felt between their sides.
        assert!(top <= 1e-8 && top >= -0.5e-3 * wall - 1e-8, "{wall} {top}");
        assert!(wall < 2.0 || top.abs() < 1e-8, "{wall} {top}");
    }
}

#[test]
fn places_without_a_surface_have_none() {
    let mut scratch = Scratch::default();
    let line: Vec<_> = (0..100).map(|i| DVec3::X * 1e-3 * f64::from(i)).collect();
    for points in [&line[..], &line[..2], &line[..1], &[], &[DVec3::ONE; 50]] {
        let cloud = build(points);
        let surface = Surface::new(&cloud, Some(3e-3), None);
        assert!(surface.at(points.first().copied().unwrap_or_default(), DVec3::Z, &mut scratch).is_none());
        let zero = Surface::new(&cloud, Some(0.0), None);
        assert!(zero.at(DVec3::ZERO, DVec3::Z, &mut scratch).is_none());
    }
    // A ball of points has one, of no confidence.
    let mut r = Random(9);
    let ball: Vec<_> = (0..20_000).map(|_| r.point(0.01)).collect();
    let fit =
        Surface::new(&build(&ball), Some(3e-3), None).at(DVec3::ZERO, DVec3::ZERO, &mut scratch).unwrap();
    assert!(fit.confidence < 0.1, "{fit:?}");
}

#[test]
fn normals_fade_where_points_have_none() {
    // A plane whose points have normals on one side only, and those look 25° away from it.
    let row = |i: i32| (-20..=20).map(move |j| 1e-3 * DVec3::new(i.into(), j.into(), 0.0));
    let points: Vec<DVec3> = (-20..=20).flat_map(row).collect();
    let tilted = DVec3::new(0.0, 25f64.to_radians().sin(), 25f64.to_radians().cos());
    let normals: Vec<_> = points.iter().map(|p| if p.x < 0.0 { tilted } else { DVec3::ZERO }).collect();
    let cloud = build(&points);
    let surface = Surface::new(&cloud, Some(3e-3), Some(&normals));
    let mut scratch = Scratch::default();
    let mut at =
        |i: i32| surface.at(DVec3::new(1e-6 * f64::from(i), 2e-4, 3e-4), DVec3::Z, &mut scratch).unwrap();
    let (mut last, mut worst) = (at(-5000), 0f64);
    assert!(last.normal.dot(tilted) > 0.9999 && at(5000).normal.z > 0.9999);
    for i in -4999..=5000 {
        let fit = at(i);
        worst = worst.max(fit.normal.angle_between(last.normal).to_degrees());
        last = fit;
    }
    assert!(worst < 0.3, "{worst}° in a micrometre");
}
