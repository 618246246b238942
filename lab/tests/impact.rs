//! Times of impact: nothing passes, nothing is early by more than is stated, as the exact referee sees it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{repaired, voxel};
use glam::{DQuat, DVec3};
use palpate::mesh::samples;
use palpate::query::{ImpactEnd, ImpactParams, Motion};
use palpate::{Pose, Query, Shape};
use palpate_lab::models::{self, Which};
use palpate_lab::oracle::{PairOracle, Random};
use std::time::Instant;

const SEED: u64 = 0x1a9a_c700;
/// Seconds between frames: at 1 km/s this is 16.7 m.
const FRAME: f64 = 1.0 / 60.0;
/// Outline and thickness of the plate [m].
const PLATE: DVec3 = DVec3::new(0.4, 0.4, 1e-3);

/// A 1 mm plate, the bunny or its stand-in, and their referee.
struct Range {
    plate: Shape,
    bunny: Shape,
    pair: PairOracle,
    vertices: Vec<DVec3>,
    name: String,
}

fn range(grid: u32) -> Range {
    let model = models::open(Which::Bunny, models::folder(None).as_deref()).unwrap();
    let mesh = repaired(model.mesh);
    let raw = samples::cuboid(PLATE);
    let pair = PairOracle::new(&raw, &model.closed).unwrap();
    let (vertices, size) = (model.closed.positions, voxel(&mesh, grid));
    Range {
        // Coarser than the plate is thick.
        plate: Shape::build(repaired(raw), 4e-3, &Default::default()).unwrap(),
        bunny: Shape::build(mesh, size, &Default::default()).unwrap(),
        pair,
        vertices,
        name: model.name,
    }
}

fn unit(random: &mut Random) -> DVec3 {
    random.in_ball().normalize_or(DVec3::X)
}

/// A motion that has a vertex of the bunny in the plate at a time which is returned too: a hit, by construction, from any side,
/// edge-on included.
fn shot(range: &Range, random: &mut Random, fastest: f64) -> (Motion, f64) {
    let inside = DVec3::new(random.unit() - 0.5, random.unit() - 0.5, 0.9 * (random.unit() - 0.5)) * PLATE;
    let vertex = range.vertices[random.below(range.vertices.len())];
    let time = 0.2 + 0.75 * random.unit();
    // From fast to fastest, so that the start is free of the plate.
    let linear = unit(random) * fastest * FRAME * (0.2 + 0.8 * random.unit());
    // A third of the shots in the plane of the plate, nearly.
    let linear = if random.unit() < 0.33 { linear * DVec3::new(1.0, 1.0, 0.01) } else { linear };
    let angular = if random.unit() < 0.5 { DVec3::ZERO } else { random.in_ball() * 20.0 };
    let rotation = DQuat::from_scaled_axis(unit(random) * 3.0 * random.unit());
    // The pose at that time, then back.
    let at = Pose::new(rotation, inside - rotation * vertex);
    let from = Pose::new(DQuat::from_scaled_axis(angular * -time) * rotation, at.translation - linear * time);
    (Motion { from, linear, angular }, time)
}

/// Shoots, and says how many were asked of the referee.
fn shoot(range: &Range, shots: usize, check_every: usize) {
    println!("seed {SEED:#x}, {}, {} points", range.name, range.bunny.tree().len());
    let mut random = Random::new(SEED);
    let mut query = Query::new();
    let params = ImpactParams::default();
    let (mut edge_on, mut hits, mut steps, mut most, mut checked, mut far) = (0, 0, 0, 0, 0, 0.0f64);
    let mut seconds = 0.0;
    for k in 0..shots {
        let (motion, crossing) = shot(range, &mut random, 1000.0);
        let start = Instant::now();
        let impact = query.time_of_impact(&range.plate, &range.bunny, &motion, &params);
        seconds += start.elapsed().as_secs_f64();
        if impact.end == ImpactEnd::Overlapping || impact.end == ImpactEnd::Near {
            continue;
        }
        // Never passed: reported, and not after the time at which they overlap for certain.
        let time = impact.time.unwrap_or_else(|| panic!("shot {k} passed: {motion:?} {impact:?}"));
        assert!(time <= crossing, "shot {k}: {time} after {crossing}: {motion:?}");
        assert_eq!(impact.end, ImpactEnd::Hit, "shot {k}: {impact:?}");
        hits += 1;
        steps += impact.steps;
        most = most.max(impact.steps);
        edge_on += usize::from(motion.linear.normalize().z.abs() < 0.02);
        if k % check_every == 0 {
            checked += 1;
            // Not late: free then, and on the way there.
            for part in [0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999, 1.0] {
                let pose = motion.at(time * part);
                assert!(!range.pair.intersects(&pose), "shot {k}: meets at {part} of {time}: {motion:?}");
            }
            // Not early: within the radius and the tolerance.
            let separation = range.pair.distance(&impact.pose).distance;
            // Points of a shell are in single precision: 1e-8 m off the surface, at most.
            assert!(separation <= impact.distance + 1e-8, "shot {k}: {separation} {impact:?}");
            assert!(impact.distance <= impact.early, "shot {k}: {impact:?}");
            far = far.max(separation / impact.early);
            assert!((impact.normal.length() - 1.0).abs() < 1e-6, "{impact:?}");
        }
    }
    println!(
        "{hits} of {shots} shots hit, none passed; {edge_on} edge-on; {checked} checked, at most {far:.3} of `early` apart; \
         {:.1} steps, {most} at most; {:.1} µs a shot",
        steps as f64 / hits as f64,
        seconds / shots as f64 * 1e6
    );
    assert!(hits * 10 > shots * 9, "{hits} of {shots}");
    assert!(edge_on * 5 > hits, "{edge_on} of {hits} edge-on");
}

#[test]
fn no_shot_passes_a_thin_plate() {
    shoot(&range(64), 1000, 20);
}

#[test]
#[ignore = "a measurement: 10,000 shots at full resolution"]
fn no_shot_of_ten_thousand_passes_a_thin_plate() {
    shoot(&range(256), 10_000, 10);
}

#[test]
fn misses_are_certain() {
    let range = range(64);
    let mut random = Random::new(SEED ^ 1);
    let mut query = Query::new();
    let (mut free, mut near) = (0, 0);
    for _ in 0..200 {
        // Past the plate: the middle of the bunny's box passes at 0 to 0.4 m from the plate's middle.
        let way = unit(&mut random);
        let side = way.any_orthonormal_vector() * 0.4 * random.unit();
        let rotation = DQuat::from_scaled_axis(unit(&mut random) * 3.0);
        let middle = side - rotation * range.bunny.aabb().centre();
        let motion = Motion {
            from: Pose::new(rotation, middle - way * 1.5),
            linear: way * 3.0,
            angular: random.in_ball(),
        };
        let impact = query.time_of_impact(&range.plate, &range.bunny, &motion, &Default::default());
        let touches = (0..=200).any(|i| range.pair.intersects(&motion.at(f64::from(i) / 200.0)));
        match impact.end {
            ImpactEnd::Free => {
                assert!(!touches && impact.time.is_none(), "{motion:?} {impact:?}");
                free += 1;
            }
            ImpactEnd::Hit => near += 1,
            _ => panic!("{impact:?}"),
        }
    }
    println!("{free} free, {near} hit or nearly");
    assert!(free > 50 && near > 30, "{free} {near}");
}
