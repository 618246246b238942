//! A nut turns down a bolt by its own weight, without friction: `cargo run --release -p palpate-rapier --example nut_on_bolt`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use glam::DVec3;
use palpate::manifold::Choice;
use palpate::mesh::{Mesh, RawMesh, samples};
use palpate_rapier::{ContactOptions, PalpateDispatcher, PalpateShape, tuned};
use rapier3d::prelude::*;
use std::f32::consts::TAU;

/// Gap between the threads: 0.15 mm. The field must tell that apart.
const VOXEL: f64 = 1.2e-4;

fn shape(raw: RawMesh) -> Result<PalpateShape, Box<dyn std::error::Error>> {
    let mesh = Mesh::new(raw, &Default::default())?;
    let shape = PalpateShape::new(palpate::Shape::build(mesh, VOXEL, &Default::default())?);
    // A thread pushes from all around: more directions than a part on the ground.
    Ok(shape.with_options(ContactOptions { choice: Choice::Patches(12), ..Default::default() }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let friction: f32 = std::env::args().nth(1).map_or(Ok(0.0), |a| a.parse())?;
    let (bolt, nut) = samples::nut_and_bolt(8);
    // Three turns up from where the sample has it.
    let (bolt, nut) = (shape(bolt)?, shape(samples::moved(nut, DVec3::Z * 6e-3))?);

    let mut world = PhysicsWorld::new();
    world.narrow_phase = NarrowPhase::with_query_dispatcher(PalpateDispatcher::new().chained());
    world.integration_parameters = tuned(world.integration_parameters, 0.024);
    world.integration_parameters.dt = 1.0 / 240.0;
    world.gravity = Vector::Z * -9.81;
    world.insert(RigidBodyBuilder::fixed(), ColliderBuilder::new(bolt.into()).friction(friction));
    let steel = ColliderBuilder::new(nut.into()).density(7800.0).friction(friction);
    let (nut, _) = world.insert(RigidBodyBuilder::dynamic().can_sleep(false), steel);

    let (mut turned, mut deepest) = (0.0, 0.0_f32);
    println!("  time   down      turned   down per turn   deepest");
    for step in 0..=480 {
        let down = -1e3 * world.bodies[nut].translation().z;
        if step % 40 == 0 {
            let (time, per_turn) = (step as f32 / 240.0, -down * TAU / turned);
            println!(
                "{time:5.2} s {down:6.2} mm {:7.3} turns {per_turn:7.3} mm {:9.4} mm",
                turned / TAU,
                1e3 * deepest
            );
        }
        world.step();
        turned += world.bodies[nut].angvel().z / 240.0;
        for pair in world.contact_pairs() {
            deepest = pair.manifolds().iter().flat_map(|m| &m.points).fold(deepest, |d, p| d.min(p.dist));
        }
    }
    Ok(())
}
