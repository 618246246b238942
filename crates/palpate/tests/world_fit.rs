//! Parts that fit closely.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::DVec3;
use palpate::field::analytic::Analytic;
use palpate::mesh::{RawMesh, RepairParams, samples};
use palpate::world::{BodyParams, Kind, World, WorldParams};
use palpate::{Mesh, Pose, Shape};

const RATE: f64 = 1.0 / 240.0;

fn shape(mesh: RawMesh) -> Shape {
    Shape::build(Mesh::new(mesh, &RepairParams::default()).unwrap(), 2.5e-4, &Default::default()).unwrap()
}

/// Contacts are not looked for where it would fall: there its sides are below the plate, whose edges would push it down.
#[test]
fn a_peg_stands_still_in_a_tight_hole() {
    let plate = shape(hole_for(0.0081, 0.0061));
    let peg = shape(samples::cuboid(DVec3::new(0.008, 0.006, 0.03)));
    let mut world = World::new(&WorldParams::default()).unwrap();
    let floor = Analytic::half_space(DVec3::Z, -0.010).unwrap();
    let fixed = BodyParams { kind: Kind::Static, ..Default::default() };
    world.add(floor, &fixed).unwrap();
    world.add(plate, &fixed).unwrap();
    let w_from_b = Pose::from_translation(DVec3::new(1e-5, -1e-5, 0.0051));
    let id = world.add(peg, &BodyParams { w_from_b, ..Default::default() }).unwrap();
    for _ in 0..240 {
        world.step(RATE).unwrap();
    }
    let weight = world.body(id).unwrap().mass() * 9.81;
    for _ in 0..240 {
        let report = world.step(RATE).unwrap();
        let body = world.body(id).unwrap().state();
        let speed = body.linear.length() + 0.03 * body.angular.length();
        assert!(speed < 1e-5, "{speed} m/s");
        assert!(report.rounds <= 2 && report.deepest < 1e-6, "{report:?}");
    }
    let pushes: Vec<f64> = world.touches().map(|t| t.wrench.force.length()).collect();
    println!("{pushes:?} N, weight {weight} N");
    assert!(pushes.len() == 2 && (pushes[0] - weight).abs() < 1e-3 * weight && pushes[1] < 1e-3 * weight);
}

/// A plate 10 mm thick, its middle at the origin, with a hole of these widths: four bars.
fn hole_for(x: f64, y: f64) -> RawMesh {
    let bar = |w: DVec3, c: DVec3| samples::moved(samples::cuboid(w), c);
    let (side, long) = (0.008, 0.03);
    let across = DVec3::new(side, long, 0.01);
    let along = DVec3::new(long, side, 0.01);
    samples::joined(&[
        bar(across, DVec3::X * 0.5 * (x + side)),
        bar(across, DVec3::NEG_X * 0.5 * (x + side)),
        bar(along, DVec3::Y * 0.5 * (y + side)),
        bar(along, DVec3::NEG_Y * 0.5 * (y + side)),
    ])
}
