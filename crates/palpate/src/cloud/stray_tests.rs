//! Stray points, lines and odd sizes: what does not belong to a surface must not change what is said about it.

use super::surfels_tests::{cloud, sphere, surfels};
use super::*;
use core::f64::consts::PI;
use glam::DVec3;

/// A ball of 50 mm and, at its end, one point each of `away` [m].
fn ball_and(away: &[DVec3]) -> Vec<DVec3> {
    sphere(4000).iter().map(|p| *p * 0.05).chain(away.iter().copied()).collect()
}

#[test]
fn a_stray_point_changes_nothing_of_the_others() {
    let area = 4.0 * PI * 0.05 * 0.05;
    for away in [0.2, 2.0, 5.0] {
        for way in [DVec3::X, DVec3::new(-0.48, 0.6, -0.64)] {
            let s = surfels(&ball_and(&[way * away]));
            let stray = s.entry(4000).unwrap();
            assert!(s.stray[stray] && !s.is_planar(stray));
            for i in (0..s.len()).filter(|i| *i != stray) {
                assert!(s.normal(i).as_dvec3().dot(s.position(i)) > 0.9 * 0.05, "{away}");
            }
            let report = s.report();
            assert!((report.area / area - 1.0).abs() < 0.01, "{away}: {}", report.area);
            assert!(report.confidence() > 0.95 && report.roughness < 0.05 * report.spacing, "{report:?}");
            assert!(s.scale[stray] < 2.0 * report.spacing as f32 && s.area(stray) < 4.0 * s.area(0));
            let solid = close(&s, &SolidParams::default()).unwrap();
            let volume = solid.mesh.report().volume / (area * 0.05 / 3.0);
            assert!((volume - 1.0).abs() < 5e-3, "{away}: {volume}");
            assert_eq!((solid.report.components, solid.report.holes), (1, 0));
        }
    }
}

#[test]
fn a_stray_point_takes_no_room_in_a_sheet() {
    let none = sheet(&surfels(&ball_and(&[])), 0.002, &SolidParams::default()).unwrap();
    let s = surfels(&ball_and(&[DVec3::X * 2.0]));
    let one = sheet(&s, 0.002, &SolidParams::default()).unwrap();
    // The inner and the outer face, and the piece at the stray point.
    assert_eq!((none.report.components, one.report.components), (2, 3));
    assert!(one.report.blocks < none.report.blocks + 100, "{} {}", one.report.blocks, none.report.blocks);
    assert!((one.mesh.report().volume / none.mesh.report().volume - 1.0).abs() < 0.01);
}

#[test]
fn a_stray_point_does_not_join_parts() {
    // Between two balls, nearer to the first; before, it made one part of them.
    let mut points = ball_and(&[]);
    points.extend(sphere(3000).iter().map(|p| *p * 0.05 + DVec3::X * 0.3));
    points.extend([DVec3::X * 0.14, DVec3::X * 0.15, DVec3::X * 0.16]);
    let s = surfels(&points);
    let parts: Vec<_> = s.report().components.iter().map(|c| (c.facing, c.entries)).collect();
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert_eq!(parts.iter().map(|p| p.1).sum::<usize>(), 7003);
    for id in 0..7000 {
        let i = s.entry(id).unwrap();
        let middle = if id < 4000 { DVec3::ZERO } else { DVec3::X * 0.3 };
        assert!(s.normal(i).as_dvec3().dot(s.position(i) - middle) > 0.0);
    }
}

#[test]
fn points_in_a_line_have_the_spacing_of_the_line() {
    let line: Vec<DVec3> = (0..500).map(|i| DVec3::X * 1e-3 * f64::from(i)).collect();
    let s = surfels(&line);
    assert_eq!(s.report().unplanar, 500);
    assert!(s.scale.iter().all(|scale| (0.9e-3..2.1e-3).contains(scale)), "{:?}", s.scale[250]);
    let tube = sheet(&s, 0.002, &SolidParams::default()).unwrap();
    assert!(tube.mesh.report().watertight && tube.report.components == 1);
    // About 2 blocks of 5 mm along each way across 500 mm of it, and what lies around.
    assert!(tube.report.blocks < 2500, "{}", tube.report.blocks);
}

#[test]
fn winding_numbers_stay_bounded_at_every_point() {
    // Groups are of eight: the last has one point, and so has the last group of groups of the second.
    for n in [4001, 4097, 4161] {
        let s = surfels(&sphere(n));
        let winding = Winding::build(&s);
        for i in (0..s.len()).step_by(50).chain(s.len() - 9..s.len()) {
            for height in [-1e-2, -1e-4, -1e-6, 1e-6, 1e-4, 1e-2] {
                let p = s.position(i) + height * s.normal(i).as_dvec3();
                let w = winding.at(p);
                assert!((-0.3..1.3).contains(&w), "{n}: {w} at {height} of {i}");
            }
        }
    }
}

#[test]
fn any_unit_does() {
    let unit = surfels(&sphere(2000));
    for size in [1e-12, 1e11, 1e15] {
        let points: Vec<DVec3> = sphere(2000).iter().map(|p| *p * size).collect();
        let s = surfels(&points);
        assert!((s.report().area / (size * size) / unit.report().area - 1.0).abs() < 1e-3);
        let w = Winding::build(&s);
        assert!((w.at(DVec3::ZERO) - 1.0).abs() < 0.01 && w.at(DVec3::X * 2.0 * size).abs() < 0.01);
        let solid = close(&s, &SolidParams::default());
        if size > 1e12 {
            // Meshes end there, and say so.
            assert!(matches!(solid, Err(ReconstructError::Mesh(_))), "{solid:?}");
            continue;
        }
        let volume = solid.unwrap_or_else(|e| panic!("{size:e}: {e}")).mesh.report().volume;
        assert!((volume / size.powi(3) / (4.0 / 3.0 * PI) - 1.0).abs() < 0.01, "{size}: {volume}");
    }
}

#[test]
fn voxels_that_are_suggested_do_and_huge_ones_are_refused() {
    let s = surfels(&sphere(2000));
    let with =
        |voxel: f64, max_memory: u64| SolidParams { voxel: Some(voxel), max_memory, ..Default::default() };
    for voxel in [1e-3, 1e-9, 1e-30, 1e-300] {
        for thick in [None, Some(0.2)] {
            let make = |params: &SolidParams| match thick {
                None => close(&s, params),
                Some(thickness) => sheet(&s, thickness, params),
            };
            let Err(ReconstructError::TooMuchMemory { suggested, .. }) = make(&with(voxel, 32 << 20)) else {
                panic!("{voxel}")
            };
            assert!((1e-3..0.1).contains(&suggested), "{voxel:e}: {suggested} {thick:?}");
            let made = make(&with(suggested, 32 << 20));
            assert!(made.is_ok(), "{voxel:e}: {suggested} {thick:?} {:?}", made.err());
        }
    }
    for voxel in [3.0, 1e10, 1e300] {
        assert!(matches!(close(&s, &with(voxel, 1 << 30)), Err(ReconstructError::BadParameter { .. })));
        let thin = sheet(&s, 0.5, &with(voxel, 1 << 30));
        assert!(matches!(thin, Err(ReconstructError::BadParameter { name: "voxel", .. })));
    }
}

#[test]
fn given_normals_may_be_of_any_length() {
    let points = sphere(1000);
    for length in [1e-310, 1e-200, 1.0, 1e160, 1e300] {
        let given: Vec<DVec3> = points.iter().map(|p| -*p * length).collect();
        let s = Surfels::build(&cloud(&points), Some(&given), &SurfelParams::default()).unwrap();
        assert_eq!(s.report().given, 1000, "{length:e}");
        for i in 0..s.len() {
            assert!((s.normal(i).as_dvec3() + points[s.id(i) as usize]).length() < 1e-6);
        }
    }
}
