//! A gear falls on hilly ground and comes to rest: `cargo run --release -p palpate-rapier --example drop`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use palpate::mesh::{Mesh, RawMesh, samples};
use palpate_rapier::{PalpateDispatcher, PalpateShape, tuned};
use rapier3d::prelude::*;

fn shape(raw: RawMesh, voxel: f64) -> Result<PalpateShape, Box<dyn std::error::Error>> {
    let mesh = Mesh::new(raw, &Default::default())?;
    Ok(PalpateShape::new(palpate::Shape::build(mesh, voxel, &Default::default())?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 60 mm across, and ground of 0.6 m with hills of 40 mm; z is up.
    let gear = shape(samples::gear(24, 2.5e-3, 0.012, 3), 5e-4)?;
    let ground = shape(samples::terrain_slab(0.6, 0.04, 96, 1), 4e-3)?;

    let mut world = PhysicsWorld::new();
    world.narrow_phase = NarrowPhase::with_query_dispatcher(PalpateDispatcher::new().chained());
    world.integration_parameters = tuned(world.integration_parameters, 0.06);
    world.integration_parameters.dt = 1.0 / 240.0;
    world.gravity = Vector::Z * -9.81;
    world.insert(RigidBodyBuilder::fixed(), ColliderBuilder::new(ground.into()).friction(0.5));
    let body = RigidBodyBuilder::dynamic().pose(Pose::new(Vector::Z * 0.15, Vector::new(0.5, 0.3, 0.0)));
    let steel = ColliderBuilder::new(gear.into()).density(7800.0).friction(0.5);
    let (body, _) = world.insert(body, steel);

    for step in 0..=720 {
        if step % 60 == 0 {
            let (time, b) = (f64::from(step) / 240.0, &world.bodies[body]);
            let points = world.contact_pairs().flat_map(|p| p.manifolds()).flat_map(|m| &m.points);
            let (count, deepest) = points.fold((0, 0.0_f32), |(n, d), p| (n + 1, d.min(p.dist)));
            let (height, speed, deepest) = (1e3 * b.translation().z, b.linvel().length(), 1e3 * deepest);
            println!("{time:5.2} s: {height:7.2} mm, {speed:7.4} m/s, {count:2} points, {deepest:.3} mm");
        }
        world.step();
    }
    Ok(())
}
