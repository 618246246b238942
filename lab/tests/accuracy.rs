//! How far fields are from the truth, and whether they keep the bounds they report.
//!
//! Referee: `Oracle`, exact distance and winding number in f64, its holes closed with the field's own caps. Trusted because
//! it shares no code with the engine and is itself compared with a loop over all triangles.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{repaired, sample, voxel};
use glam::DVec3;
use palpate::field::{Encoding, FieldParams, SignMethod, Source};
use palpate::mesh::samples;
use palpate::{Field, Mesh};
use palpate_lab::oracle::{ErrorStats, Oracle, Random, points_in_box};
use rayon::prelude::*;

const SEED: u64 = 0xacc0_0001;

/// Half a voxel's diagonal [voxels]: what interpolation of a function that changes by at most 1 a voxel can miss.
const HALF_DIAGONAL: f64 = 0.867;

/// How many samples all cases together must check.
const SAMPLES: usize = 1_000_000;

/// A shape, its grid, and how many points it is asked at (the exact answer costs 1 µs for a cube and 80 µs for a scan).
struct Case {
    name: &'static str,
    mesh: Mesh,
    grid: u32,
    points: usize,
    params: FieldParams,
}

fn case(name: &'static str, mesh: Mesh, grid: u32, points: usize) -> Case {
    Case { name, mesh, grid, points, params: FieldParams::default() }
}

fn cases() -> Vec<Case> {
    let scaled = FieldParams { encoding: Encoding::Scaled { precision: None }, ..Default::default() };
    let layered = FieldParams { encoding: Encoding::Layered, ..Default::default() };
    let narrow = FieldParams { band: 0.5, padding: 1.0, ..Default::default() };
    let wide = FieldParams { band: 9.0, padding: 20.0, ..Default::default() };
    let mut cases = vec![
        case("cuboid", sample("cuboid"), 100, 150_000),
        case("cube-missing-face", sample("cube-missing-face"), 64, 100_000),
        case("cube-doubled-faces", sample("cube-doubled-faces"), 57, 60_000),
        case("cube-half-flipped", sample("cube-half-flipped"), 40, 60_000),
        case("two-overlapping-cubes", sample("two-overlapping-cubes"), 90, 100_000),
        case("thin-fin", sample("thin-fin"), 80, 150_000),
        case("needle", sample("needle"), 120, 100_000),
        case("sphere", repaired(samples::sphere(0.05, 3)), 80, 30_000),
        case("torus", repaired(samples::torus(0.05, 0.02, 48, 24)), 72, 30_000),
        case("torus-knot", repaired(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 150, 12)), 110, 20_000),
        case("gear", sample("gear"), 128, 20_000),
        case("bolt", repaired(samples::bolt(12)), 128, 20_000),
        case("nut", repaired(samples::nut(12)), 96, 20_000),
        case("nut-and-bolt", sample("nut-and-bolt"), 128, 10_000),
        case("peg", sample("peg"), 90, 20_000),
        case("hole", sample("hole"), 90, 20_000),
        case("bumpy-sphere", repaired(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1)), 96, 20_000),
        case("terrain", repaired(samples::terrain_slab(0.2, 0.03, 24, 1)), 96, 20_000),
        case("sheet", repaired(samples::sheet(20)), 80, 40_000),
        Case { params: scaled, ..case("thin-fin scaled", sample("thin-fin"), 70, 50_000) },
        Case { params: layered, ..case("cuboid layered", sample("cuboid"), 50, 50_000) },
        Case { params: narrow, ..case("cuboid narrow", sample("cuboid"), 70, 50_000) },
        Case { params: wide, ..case("gear wide", sample("gear"), 80, 10_000) },
    ];
    for (name, file, grid, points) in [
        ("bunny", "bunny.obj", 256, 30_000),
        ("teapot", "teapot.obj", 160, 10_000),
        ("fandisk", "fandisk.obj", 160, 10_000),
        ("bolt-m16", "bolt-m16-loose.obj", 200, 10_000),
        ("nut-m16", "nut-m16-loose.obj", 128, 10_000),
    ] {
        cases.extend(common::model(file).map(|mesh| case(name, mesh, grid, points)));
    }
    cases
}

/// Points everywhere: half near the surface, a third in the box, the rest outside it, near and far.
fn points_for(oracle: &Oracle, field: &Field, count: usize, seed: u64) -> Vec<DVec3> {
    let cube = field.lattice().aabb();
    let reach = 1.2 * field.report().band;
    let mut points = oracle.points_near_surface(count / 2, reach, seed);
    points.extend(points_in_box(cube.min, cube.max, count / 3, seed + 1));
    let mut random = Random::new(seed + 2);
    while points.len() < count {
        // Beyond a face, an edge or a corner, from a hair to ten box sizes away.
        let mut p = random.point_in(cube.min, cube.max);
        let faces = 1 + random.below(7);
        for axis in (0..3).filter(|axis| faces >> axis & 1 == 1) {
            let away = cube.extent()[axis] * 10f64.powf(5.0 * random.unit() - 4.0);
            p[axis] = if random.unit() < 0.5 { cube.min[axis] - away } else { cube.max[axis] + away };
        }
        points.push(p);
    }
    points
}

/// The exact distance at `p`, signed unless the field says that there is no inside.
fn exact(oracle: &Oracle, field: &Field, p: DVec3) -> f64 {
    if field.report().sign_method == SignMethod::Unsigned {
        oracle.closest(p).distance
    } else {
        oracle.signed_distance(p)
    }
}

/// Whether `value` is at most `limit`; NaN is not.
fn keeps(value: f64, limit: f64) -> bool {
    value <= limit
}

#[derive(Default)]
struct Seen {
    band: usize,
    far: usize,
    outside: usize,
    inside: usize,
    worst_band: f64,
    worst_far: f64,
    broken: Vec<String>,
}

/// Checks one case; what its points hit and which broke a bound.
fn check(case: &Case, seed: u64) -> Seen {
    let h = voxel(&case.mesh, case.grid);
    let field = Field::build(&case.mesh, h, &case.params).unwrap();
    let oracle = Oracle::capped(&case.mesh).unwrap();
    let report = field.report();
    let cube = field.lattice().aabb();
    let points = points_for(&oracle, &field, case.points, seed);
    let truth: Vec<f64> = points.par_iter().map(|&p| exact(&oracle, &field, p)).collect();
    let mut seen = Seen::default();
    for (&p, &d) in points.iter().zip(&truth) {
        let got = field.sample(p).distance;
        let (low, high) = field.bounds(p);
        // The oracle and the sum p - origin are rounded in f64.
        let slack = 1e-13 * (p.length() + d.abs());
        let mut broken = !(low - slack <= d && d <= high + slack);
        seen.inside += usize::from(d < 0.0);
        if !cube.contains(p) {
            seen.outside += 1;
            // Outside the box a sample is the lower end.
            broken |= !keeps(got, high + slack);
        } else {
            let error = (got - d).abs();
            broken |= !keeps(error, report.error_bound_far);
            if d.abs() < report.band {
                seen.band += 1;
                seen.worst_band = seen.worst_band.max(error / report.error_bound_band);
                broken |= !keeps(error, report.error_bound_band);
            } else {
                seen.far += 1;
                seen.worst_far = seen.worst_far.max(error / report.error_bound_far);
            }
        }
        if broken && seen.broken.len() < 5 {
            let name = case.name;
            seen.broken.push(format!("{name} at {p}: {got} in [{low}, {high}], truly {d}, voxel {h}"));
        }
    }
    println!(
        "{:<22} {:>6} band {:>6} far {:>6} outside {:>6} inside; of the bounds {:.2} / {:.2} used",
        case.name, seen.band, seen.far, seen.outside, seen.inside, seen.worst_band, seen.worst_far
    );
    seen
}

#[test]
fn error_bounds_hold_for_a_million_samples() {
    println!("seed {SEED:#x}");
    let mut all = Seen::default();
    for (case, seed) in cases().iter().zip((0..).map(|i| SEED + 100 * i)) {
        let seen = check(case, seed);
        assert!(seen.band > case.points / 20 && seen.outside > case.points / 20, "{}", case.name);
        all.band += seen.band;
        all.far += seen.far;
        all.outside += seen.outside;
        all.inside += seen.inside;
        all.broken.extend(seen.broken);
    }
    assert!(all.broken.is_empty(), "bounds broken:\n{}", all.broken.join("\n"));
    let count = all.band + all.far + all.outside;
    println!(
        "{count} samples: {} band, {} far, {} outside, {} inside",
        all.band, all.far, all.outside, all.inside
    );
    assert!(count >= SAMPLES, "{count}");
    assert!(all.band > SAMPLES / 4 && all.far > SAMPLES / 8 && all.outside > SAMPLES / 10);
    assert!(all.inside > SAMPLES / 10);
}

/// Errors inside the band [voxels].
fn band_errors(mesh: &Mesh, grid: u32, points: usize) -> ErrorStats {
    let h = voxel(mesh, grid);
    let field = Field::build(mesh, h, &FieldParams::default()).unwrap();
    let oracle = Oracle::capped(mesh).unwrap();
    let points = oracle.points_near_surface(points, field.report().band, SEED);
    let truth = oracle.signed_distance_batch(&points);
    let errors = points.iter().zip(&truth).map(|(&p, d)| (field.sample(p).distance - d) / h);
    let errors = ErrorStats::of(errors);
    assert_eq!(errors.not_finite, 0);
    errors
}

#[test]
fn float_fields_of_samples_are_accurate_in_the_band() {
    println!("seed {SEED:#x}");
    // (shape, grid, RMS, p99.9). Smooth shapes: curvature times h²/8. Sharp edges: the field is exact but for the cells that an
    // edge or a medial axis crosses, whose share falls with h; there it may miss up to the bound of the band.
    let limits = [
        ("sphere", 128, 0.005, 0.02),
        ("torus", 128, 0.01, 0.03),
        ("bumpy-sphere", 128, 0.02, 0.2),
        ("torus-knot", 128, 0.02, 0.2),
        ("cuboid", 100, 0.03, 0.3),
        ("gear", 160, 0.06, 0.4),
        ("bolt", 160, 0.08, 0.5),
        ("terrain", 160, 0.03, 0.3),
    ];
    let mut worse = Vec::new();
    for (name, grid, rms, p999) in limits {
        let errors = band_errors(&sample(name), grid, 20_000);
        println!("{name} {grid}: {errors} voxels");
        if !(errors.rms <= rms && errors.p999 <= p999 && errors.max <= HALF_DIAGONAL) {
            worse.push(format!("{name}: {errors}"));
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
fn the_bunny_at_256_is_accurate_in_the_band() {
    let Some(bunny) = common::model("bunny.obj") else { return };
    println!("seed {SEED:#x}");
    let errors = band_errors(&bunny, 256, 100_000);
    println!("bunny 256: {errors} voxels");
    assert!(errors.rms <= 0.02 && errors.p999 <= 0.2 && errors.max <= HALF_DIAGONAL, "{errors}");
}
