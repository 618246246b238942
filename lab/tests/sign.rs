//! Which side is inside, on meshes that break naive methods.
//!
//! Referee 1: the analytic solid, for cubes and the fin; trusted everywhere. Referee 2: the exact winding number of the
//! capped mesh being at least 1/2, for parts and scans; trusted where the mesh does not cross itself.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{repaired, sample, voxel};
use glam::DVec3;
use palpate::field::analytic::Analytic;
use palpate::field::{FieldParams, SignChoice, SignMethod, Source};
use palpate::mesh::samples;
use palpate::{Field, Mesh};
use palpate_lab::oracle::{Oracle, points_in_box};
use rayon::prelude::*;

const SEED: u64 = 0x0051_6e00;

/// Points a case is judged by, all farther than one voxel from the surface.
const POINTS: usize = 100_000;

/// Wrong ones allowed: 0.01 %.
const WRONG: usize = 10;

fn cube(centre: DVec3, size: f64) -> Analytic {
    Analytic::cuboid(centre, DVec3::splat(0.5 * size)).unwrap()
}

/// Points farther than a voxel from the mesh: a third everywhere in the box, the others up to 4 voxels away.
fn points(field: &Field, oracle: &Oracle) -> Vec<DVec3> {
    let (b, h) = (field.lattice().aabb(), field.lattice().voxel);
    let mut out = Vec::new();
    for round in 0.. {
        let seed = SEED + 10 * round;
        let mut more = points_in_box(b.min, b.max, POINTS / 3, seed);
        more.extend(oracle.points_near_surface(POINTS, 4.0 * h, seed + 1));
        let far = oracle.closest_batch(&more);
        out.extend(more.into_iter().zip(far).filter(|(_, c)| c.distance > h).map(|(p, _)| p));
        if out.len() >= POINTS {
            break;
        }
        assert!(round < 10, "only {} points are farther than a voxel from the surface", out.len());
    }
    // Thin out evenly, so that both kinds stay.
    let n = out.len();
    (0..POINTS).map(|i| out[i * n / POINTS]).collect()
}

/// Builds, compares every sign with `inside`, and asserts the method.
fn check(
    name: &str,
    mesh: &Mesh,
    grid: u32,
    method: SignMethod,
    inside: impl Fn(&Oracle, DVec3) -> bool + Sync,
) -> Field {
    let field = Field::build(mesh, voxel(mesh, grid), &FieldParams::default()).unwrap();
    let oracle = Oracle::capped(mesh).unwrap();
    let points = points(&field, &oracle);
    let truth: Vec<bool> = points.par_iter().map(|&p| inside(&oracle, p)).collect();
    let wrong: Vec<DVec3> = points
        .iter()
        .zip(&truth)
        .filter(|(p, t)| (field.sample(**p).distance < 0.0) != **t)
        .map(|(p, _)| *p)
        .collect();
    let within = truth.iter().filter(|t| **t).count();
    let r = field.report();
    println!(
        "{name} {grid}: {} wrong of {POINTS}, {within} inside; {}, confidence {}, {} bricks repaired, {} caps",
        wrong.len(),
        r.sign_method.name(),
        r.sign_confidence,
        r.sign_repaired,
        r.caps()
    );
    assert!(wrong.len() <= WRONG, "{name}: {} wrong signs, the first at {:?}", wrong.len(), wrong[0]);
    assert_eq!(r.sign_method, method, "{name}");
    assert!((POINTS / 50..POINTS * 9 / 10).contains(&within), "{name}: {within} points inside");
    // Only a mesh that stays open in places (sheets, the teapot's seams) leaves doubt.
    let sure = if method == SignMethod::Pseudonormal { 1.0 } else { 0.5 };
    assert!((sure..=1.0).contains(&r.sign_confidence), "{name}: confidence {}", r.sign_confidence);
    field
}

fn solid(shape: Analytic) -> impl Fn(&Oracle, DVec3) -> bool + Sync {
    move |_, p| shape.distance(p) < 0.0
}

fn winding(oracle: &Oracle, p: DVec3) -> bool {
    oracle.winding(p) >= 0.5
}

#[test]
fn cubes_in_trouble() {
    println!("seed {SEED:#x}");
    let size = 0.05;
    let one = || solid(cube(DVec3::ZERO, size));
    let open =
        check("cube missing a face", &sample("cube-missing-face"), 64, SignMethod::Pseudonormal, one());
    assert_eq!(open.report().caps(), 1);
    check("cube with doubled faces", &sample("cube-doubled-faces"), 64, SignMethod::Pseudonormal, one());
    check("cube half flipped", &sample("cube-half-flipped"), 64, SignMethod::Pseudonormal, one());
    let two = Analytic::union(vec![cube(DVec3::ZERO, size), cube(size * DVec3::new(0.4, 0.3, 0.2), size)]);
    let mesh = sample("two-overlapping-cubes");
    check("two overlapping cubes", &mesh, 64, SignMethod::Winding, solid(two.unwrap()));
}

#[test]
fn cavities_are_outside_and_nested_solids_are_not() {
    println!("seed {SEED:#x}");
    let outer = samples::cuboid(DVec3::splat(0.05));
    let inner = samples::cuboid(DVec3::splat(0.025));
    let mut cavity = inner.clone();
    cavity.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    let hollow = repaired(samples::joined(&[outer.clone(), cavity]));
    let (a, b) = (cube(DVec3::ZERO, 0.05), cube(DVec3::ZERO, 0.025));
    check("hollow cube", &hollow, 64, SignMethod::Winding, move |_, p| {
        a.distance(p) < 0.0 && b.distance(p) > 0.0
    });
    let nested = repaired(samples::joined(&[outer, inner]));
    check("nested cubes", &nested, 64, SignMethod::Winding, solid(cube(DVec3::ZERO, 0.05)));
}

#[test]
fn fins_thinner_and_thicker_than_a_voxel() {
    println!("seed {SEED:#x}");
    for (thickness, grid) in [(1e-4, 64), (3e-3, 160)] {
        let block = Analytic::cuboid(DVec3::new(0.0, 0.0, 0.01), DVec3::new(0.03, 0.02, 0.01)).unwrap();
        let blade =
            Analytic::cuboid(DVec3::new(0.0, 0.0, 0.025), DVec3::new(0.5 * thickness, 0.02, 0.025)).unwrap();
        let fin = solid(Analytic::union(vec![block, blade]).unwrap());
        let mesh = repaired(samples::thin_fin(thickness));
        check(&format!("fin of {thickness} m"), &mesh, grid, SignMethod::Pseudonormal, fin);
    }
}

#[test]
fn nut_and_bolt() {
    println!("seed {SEED:#x}");
    check("nut", &sample("nut"), 96, SignMethod::Pseudonormal, winding);
    check("bolt", &sample("bolt"), 128, SignMethod::Pseudonormal, winding);
    // Two parts whose boxes overlap: only the winding number is sure to be right.
    check("nut and bolt", &sample("nut-and-bolt"), 128, SignMethod::Winding, winding);
}

#[test]
fn scans_and_cad_parts() {
    println!("seed {SEED:#x}");
    for (file, grid, method) in [
        ("bunny.obj", 128, SignMethod::Pseudonormal),
        ("teapot.obj", 128, SignMethod::Winding),
        ("nut-m16-loose.obj", 128, SignMethod::Pseudonormal),
        ("bolt-m16-loose.obj", 128, SignMethod::Pseudonormal),
        ("dragon.ply", 128, SignMethod::Pseudonormal),
    ] {
        if let Some(mesh) = common::model(file) {
            check(file, &mesh, grid, method, winding);
        }
    }
}

#[test]
fn sheets_are_told_apart_from_solids() {
    println!("seed {SEED:#x}");
    let sheet = sample("sheet");
    let field = Field::build(&sheet, voxel(&sheet, 96), &FieldParams::default()).unwrap();
    assert_eq!(field.report().sign_method, SignMethod::Unsigned);
    assert_eq!((field.report().caps(), field.report().holes.len()), (0, 1));
    let b = field.lattice().aabb();
    let points = points_in_box(b.min, b.max, 20_000, SEED);
    assert!(points.iter().all(|&p| field.sample(p).distance >= 0.0));
}

#[test]
fn a_choice_is_followed_and_closed_shapes_do_not_depend_on_it() {
    println!("seed {SEED:#x}");
    let mesh = sample("gear");
    let h = voxel(&mesh, 96);
    let build = |sign| Field::build(&mesh, h, &FieldParams { sign, ..Default::default() }).unwrap();
    let auto = build(SignChoice::Auto);
    assert_eq!(auto.report().sign_method, SignMethod::Pseudonormal);
    let b = auto.lattice().aabb();
    let points = points_in_box(b.min, b.max, 20_000, SEED);
    let inside = points.iter().filter(|p| auto.sample(**p).distance < 0.0).count();
    assert!((2_000..18_000).contains(&inside), "{inside} of 20000 inside");
    for (choice, method) in [
        (SignChoice::Pseudonormal, SignMethod::Pseudonormal),
        (SignChoice::Winding, SignMethod::Winding),
        (SignChoice::Unsigned, SignMethod::Unsigned),
    ] {
        let field = build(choice);
        assert_eq!(field.report().sign_method, method);
        for &p in &points {
            let (want, got) = (auto.sample(p).distance, field.sample(p).distance);
            if choice == SignChoice::Unsigned {
                assert!(got >= 0.0, "{p}");
            } else {
                // A node on the surface itself may get either sign of its rounding error.
                assert!((got - want).abs() <= 1e-6 * h, "{choice:?} at {p}: {got}, {want}");
            }
        }
    }
}

#[test]
fn a_sheet_beside_a_solid_has_no_inside() {
    println!("seed {SEED:#x}");
    // Beside a solid: the solid keeps its inside, the sheet gets none.
    let block = samples::moved(samples::cuboid(DVec3::splat(0.04)), DVec3::new(0.0, 0.0, 0.06));
    let both = repaired(samples::joined(&[samples::sheet(32), block]));
    let solid = solid(cube(DVec3::new(0.0, 0.0, 0.06), 0.04));
    check("sheet under a cube", &both, 96, SignMethod::Winding, solid);
}

#[test]
fn a_fin_of_a_nanometre_leaves_the_block_under_it_inside() {
    let mesh = repaired(samples::thin_fin(1e-9));
    let h = voxel(&mesh, 48);
    let field = Field::build(&mesh, h, &FieldParams::default()).unwrap();
    let block = Analytic::cuboid(DVec3::new(0.0, 0.0, 0.01), DVec3::new(0.03, 0.02, 0.01)).unwrap();
    let l = *field.lattice();
    let (mut wrong, mut deep) = (Vec::new(), 0);
    let [nx, ny, nz] = l.cells;
    for (k, j, i) in (0..=nz).flat_map(|k| (0..=ny).flat_map(move |j| (0..=nx).map(move |i| (k, j, i)))) {
        let p = l.origin + DVec3::new(f64::from(i), f64::from(j), f64::from(k)) * 8.0 * h;
        if block.distance(p) < -h {
            deep += 1;
            wrong.extend((field.sample(p).distance > 0.0).then_some([8 * i, 8 * j, 8 * k]));
        }
    }
    assert!(deep > 10, "only {deep} background nodes in the block");
    assert!(wrong.is_empty(), "{} of {deep} nodes in the block are outside: {wrong:?}", wrong.len());
}
