//! Solids of clouds against the shapes the points were taken from.

use super::surfels_tests::{cloud, sphere, surfels};
use super::*;
use crate::field::source::random::Random;
use crate::field::{Exact, FieldParams, Source};
use crate::mesh::{CapParams, Mesh, RawMesh, cap_holes};
use core::f64::consts::PI;
use glam::DVec3;

fn closed(points: &[DVec3]) -> Solid {
    let solid = close(&surfels(points), &SolidParams::default()).unwrap();
    assert!(solid.mesh.report().watertight);
    solid
}

/// Root of the mean square and largest distance of the vertices from the sphere of 1 m [m].
fn radius_error(mesh: &Mesh) -> (f64, f64) {
    let off = |p: &DVec3| (p.length() - 1.0).abs();
    let sum: f64 = mesh.positions().iter().map(|p| off(p).powi(2)).sum();
    let most = mesh.positions().iter().map(off).fold(0.0, f64::max);
    ((sum / mesh.positions().len() as f64).sqrt(), most)
}

#[test]
fn a_sphere_converges_with_the_square_of_the_spacing() {
    let mut last: Option<(f64, f64)> = None;
    for n in [630, 2500, 10_000] {
        let solid = closed(&sphere(n));
        let (rms, most) = radius_error(&solid.mesh);
        let spacing = solid.report.spacing;
        println!("{n}: spacing {spacing:.4} rms {:.5} most {:.5} spacings", rms / spacing, most / spacing);
        assert!((spacing / (4.0 * PI / n as f64).sqrt() - 1.0).abs() < 0.05, "{spacing}");
        assert_eq!((solid.report.components, solid.report.holes), (1, 0));
        assert!(solid.report.confidence > 0.9);
        if let Some((before, wide)) = last {
            let order = (before / rms).ln() / (wide / spacing).ln();
            assert!(order > 1.8, "{order}");
        }
        if n == 10_000 {
            assert!(most < 0.02 * spacing, "{most} of {spacing}");
            let volume = solid.mesh.report().volume / (4.0 / 3.0 * PI);
            assert!((volume - 1.0).abs() < 1e-3, "{volume}");
        }
        last = Some((rms, spacing));
    }
}

#[test]
fn winding_numbers_are_one_inside_and_none_outside() {
    let s = surfels(&sphere(4000));
    let winding = Winding::build(&s);
    let mut r = Random(2);
    let spacing = s.report().spacing;
    for _ in 0..2000 {
        let p = r.direction() * r.range(0.0, 3.0);
        if (p.length() - 1.0).abs() > spacing {
            let inside = f64::from(u8::from(p.length() < 1.0));
            assert!((winding.at(p) - inside).abs() < 0.04, "{p} {}", winding.at(p));
        }
    }
    assert!(winding.at(DVec3::NAN).is_nan());
}

#[test]
fn noise_is_averaged_and_random_points_do() {
    let mut r = Random(21);
    let random: Vec<DVec3> = (0..10_000).map(|_| r.direction()).collect();
    let solid = closed(&random);
    let (rms, most) = radius_error(&solid.mesh);
    println!(
        "random: rms {:.4} most {:.4} spacings",
        rms / solid.report.spacing,
        most / solid.report.spacing
    );
    assert!(rms < 0.02 * solid.report.spacing && most < 0.3 * solid.report.spacing);
    // Noise of a fifth of the spacing.
    let noise = 0.2 * 0.035;
    let noisy: Vec<DVec3> = sphere(10_000).iter().map(|p| *p * (1.0 + r.range(-noise, noise))).collect();
    let solid = closed(&noisy);
    let (rms, most) = radius_error(&solid.mesh);
    println!("noisy: rms {:.4} most {:.4} noises, {:?}", rms / noise, most / noise, solid.report);
    assert_eq!(solid.report.components, 1);
    assert!(rms < 0.4 * noise && most < 2.0 * noise, "{rms} {most}");
    assert!(solid.report.residual > 0.2 * noise && solid.report.residual < noise);
}

#[test]
fn a_hole_is_closed_and_parts_stay_apart() {
    // A cap of half a radian is missing.
    let points: Vec<DVec3> = sphere(8000).into_iter().filter(|p| p.z < 0.5f64.cos()).collect();
    let solid = closed(&points);
    let volume = solid.mesh.report().volume / (4.0 / 3.0 * PI);
    let report = &solid.report;
    println!("hole: volume {volume} {report:?}");
    assert_eq!((report.components, report.holes), (1, 1));
    // The plane across the hole would leave 0.99; the cap has 0.72 m².
    assert!((0.975..1.01).contains(&volume), "{volume}");
    assert!((0.4..0.8).contains(&report.bridged), "{}", report.bridged);
    let mut two = sphere(3000);
    two.extend(sphere(2000).iter().map(|p| *p * 0.5 + DVec3::X * 3.0));
    let solid = closed(&two);
    assert_eq!(solid.report.components, 2);
    let volume = solid.mesh.report().volume / (4.0 / 3.0 * PI);
    assert!((volume - 1.125).abs() < 0.005, "{volume}");
}

#[test]
fn a_solid_becomes_a_field_and_a_shape() {
    let away = DVec3::new(4.6e6, 1.2e7, 320.0);
    let points: Vec<DVec3> = sphere(3000).iter().map(|p| *p * 0.1 + away).collect();
    let solid = closed(&points);
    let field = solid.field(None, &FieldParams::default()).unwrap();
    for (d, at) in [(-0.01, 0.09), (0.0, 0.1), (0.01, 0.11)] {
        let off = field.distance(away + DVec3::new(0.6, 0.0, 0.8) * at) - d;
        assert!(off.abs() < 4e-4, "{off}");
    }
    let shape = solid.shape(Some(0.005), &Default::default()).unwrap();
    assert!((shape.aabb().extent() - DVec3::splat(0.2)).abs().max_element() < 1e-3);
}

#[test]
fn a_sheet_has_its_faces_at_half_its_thickness() {
    // A scan of a square of 60 mm, tilted, with points about 1 mm apart and no order.
    let mut r = Random(5);
    let turn = r.rotation();
    let points: Vec<DVec3> =
        (0..3600).map(|_| turn * DVec3::new(r.range(-0.03, 0.03), r.range(-0.03, 0.03), 0.0)).collect();
    let s = surfels(&points);
    let solid = sheet(&s, 0.002, &SolidParams::default()).unwrap();
    let report = solid.mesh.report();
    assert!(report.watertight && report.components == 1);
    let (mut faces, mut worst) = (0, 0.0f64);
    for p in solid.mesh.positions() {
        let p = turn.inverse() * *p;
        assert!(p.abs().max_element() < 0.0335, "{p}");
        if p.truncate().abs().max_element() < 0.027 {
            faces += 1;
            worst = worst.max((p.z.abs() - 0.001).abs());
        }
    }
    println!("sheet: {faces} {worst}");
    assert!(faces > 5000 && worst < 5e-5, "{faces} {worst}");
    let volume = report.volume / (0.062 * 0.062 * 0.002);
    assert!((0.9..1.1).contains(&volume), "{volume}");
    // Too thin to hold, and what would.
    let Err(ReconstructError::TooThin { least, .. }) = sheet(&s, 1e-5, &SolidParams::default()) else {
        panic!()
    };
    assert!(least > 1e-4 && least < 5e-4, "{least}");
    let thin = sheet(&s, least, &SolidParams::default()).unwrap();
    assert!(thin.mesh.report().watertight && thin.mesh.report().components == 1);
    // Which way normals point does not matter.
    let given: Vec<DVec3> =
        (0..3600).map(|i| turn * DVec3::Z * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let mixed = Surfels::build(&cloud(&points), Some(&given), &SurfelParams::default()).unwrap();
    let mixed = sheet(&mixed, 0.002, &SolidParams::default()).unwrap();
    assert!((mixed.mesh.report().volume / report.volume - 1.0).abs() < 0.01);
}

#[test]
fn lines_become_tubes_and_a_plane_is_not_closed() {
    let line: Vec<DVec3> = (0..100).map(|i| DVec3::new(0.0, 0.3, 0.01 * f64::from(i))).collect();
    let s = surfels(&line);
    assert!(matches!(close(&s, &SolidParams::default()), Err(ReconstructError::NoSurface { .. })));
    let tube = sheet(&s, 0.04, &SolidParams::default()).unwrap();
    assert!(tube.mesh.report().watertight && tube.mesh.report().components == 1);
    let volume = tube.mesh.report().volume / (PI * 4e-4 * (0.99 + 0.04 * 2.0 / 3.0));
    assert!((0.9..1.02).contains(&volume), "{volume}");
    let Err(ReconstructError::TooThin { least, .. }) = sheet(&s, 0.001, &SolidParams::default()) else {
        panic!()
    };
    assert!((0.01..0.03).contains(&least), "{least}");
    let plane: Vec<DVec3> = (0..900).map(|i| DVec3::new(f64::from(i % 30), f64::from(i / 30), 2.0)).collect();
    assert!(matches!(close(&surfels(&plane), &SolidParams::default()), Err(ReconstructError::Open { .. })));
}

#[test]
fn voxels_that_are_too_small_and_bad_values_are_refused() {
    let s = surfels(&sphere(2000));
    let with =
        |voxel: f64, max_memory: u64| SolidParams { voxel: Some(voxel), max_memory, ..Default::default() };
    for voxel in [1e-300, 1e-9, 1e-3] {
        let Err(ReconstructError::TooMuchMemory { suggested, .. }) = close(&s, &with(voxel, 8 << 20)) else {
            panic!("{voxel}")
        };
        assert!(suggested > voxel && suggested.is_finite());
    }
    assert!(close(&s, &with(0.1, 64 << 20)).is_ok());
    for voxel in [0.0, -1.0, f64::NAN] {
        assert!(matches!(close(&s, &with(voxel, 1 << 30)), Err(ReconstructError::BadParameter { .. })));
        assert!(matches!(sheet(&s, voxel, &Default::default()), Err(ReconstructError::BadParameter { .. })));
    }
}

#[test]
fn work_can_be_stopped_and_threads_change_nothing() {
    struct Stop;
    impl crate::progress::Progress for Stop {
        fn stage(&self, _: &'static str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let s = surfels(&sphere(1000));
    assert!(matches!(close_with(&s, &SolidParams::default(), &Stop), Err(ReconstructError::Cancelled)));
    let build = Surfels::build_with(&cloud(&sphere(1000)), None, &SurfelParams::default(), &Stop);
    assert!(matches!(build, Err(ReconstructError::Cancelled)));
    let of = |threads| close(&s, &SolidParams { threads, ..Default::default() }).unwrap();
    let (one, three) = (of(1), of(3));
    assert_eq!(one.mesh.positions(), three.mesh.positions());
    assert_eq!((one.mesh.triangles(), &one.report), (three.mesh.triangles(), &three.report));
}

#[test]
fn the_bunny_comes_back_from_its_vertices() {
    let Some(folder) = std::env::var_os("PALPATE_MODELS") else {
        println!("skipped: PALPATE_MODELS is not set");
        return;
    };
    let mesh = Mesh::load(std::path::Path::new(&folder).join("bunny.obj"), 1.0).unwrap();
    let s = surfels(mesh.positions());
    let solid = close(&s, &SolidParams::default()).unwrap();
    let report = &solid.report;
    let exact = Exact::build(&mesh, report.spacing, &FieldParams::default()).unwrap();
    let own = Exact::build(&solid.mesh, report.spacing, &FieldParams::default()).unwrap();
    let mean = |from: &[DVec3], to: &Exact| {
        from.iter().map(|p| to.closest(*p, None).distance).sum::<f64>() / from.len() as f64 / report.spacing
    };
    let (there, back) = (mean(solid.mesh.positions(), &exact), mean(mesh.positions(), &own));
    let volume = solid.mesh.report().volume / exact_volume(&mesh);
    println!("bunny: there {there} back {back} volume {volume} {report:?}");
    assert!(solid.mesh.report().watertight);
    assert!(there < 0.1 && back < 0.1, "{there} {back}");
    assert!((volume - 1.0).abs() < 0.02, "{volume}");
}

/// The volume of a mesh whose holes are capped [m³].
fn exact_volume(mesh: &Mesh) -> f64 {
    let caps = cap_holes(mesh.positions(), mesh.triangles(), mesh.topology(), &CapParams::default());
    let positions = [mesh.positions(), &caps.positions].concat();
    let triangles = [mesh.triangles(), &caps.triangles].concat();
    let capped = Mesh::new(RawMesh { positions, triangles }, &Default::default()).unwrap();
    assert!(capped.report().watertight);
    capped.report().volume
}
