//! What contacts of a mesh cost in Rapier, on a box and on hilly ground: `… --example cost -- MESH [SCALE] [VOXEL]`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use palpate::mesh::{Mesh, samples};
use palpate_rapier::{PalpateDispatcher, PalpateShape, tuned};
use parry3d::query::{ContactManifold, PersistentQueryDispatcher};
use parry3d::shape::{Cuboid, Shape};
use rapier3d::prelude::*;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("give a mesh file")?;
    let scale: f64 = args.next().map_or(Ok(1.0), |a| a.parse())?;
    let mesh = Mesh::load(file, scale)?;
    let largest = mesh.aabb().extent().max_element();
    let voxel = args.next().map_or(Ok(largest / 200.0), |a| a.parse())?;
    let part = PalpateShape::new(palpate::Shape::build(mesh, voxel, &Default::default())?);
    println!("{} points, {largest:.3} m", part.core().tree().len());
    let ground = Mesh::new(samples::terrain_slab(4.0, 0.3, 70, 1), &Default::default())?;
    let ground = PalpateShape::new(palpate::Shape::build(ground, 0.02, &Default::default())?);
    let block = Cuboid::new(Vector::new(2.0, 2.0, 0.5));
    on("box", &part, SharedShape::new(block), Pose::translation(0.0, 0.0, -0.5));
    on("terrain", &part, SharedShape::new(ground), Pose::IDENTITY);
    Ok(())
}

/// Drops the part in ten rotations, and asks again for the contacts of the steps 200 to 600.
fn on(name: &str, part: &PalpateShape, ground: SharedShape, at: Pose) {
    let (mut times, mut points, mut manifolds): (Vec<f64>, _, _) = (Vec::new(), 0, 0);
    let mut speed = 0.0_f32;
    for turn in 0..10 {
        let dispatcher = PalpateDispatcher::new();
        let mut world = PhysicsWorld::new();
        world.narrow_phase = NarrowPhase::with_query_dispatcher(dispatcher.chained());
        world.integration_parameters = tuned(world.integration_parameters, 0.3);
        world.gravity = Vector::Z * -9.81;
        world.insert(RigidBodyBuilder::fixed().pose(at), ColliderBuilder::new(ground.clone()));
        let turned = Pose::rotation(Vector::new(0.6 * turn as f32, 0.9 * turn as f32, 0.3));
        let low = part.compute_aabb(&turned).mins.z;
        let start = Pose::translation(0.0, 0.0, 0.35 - low) * turned;
        let body = RigidBodyBuilder::dynamic().pose(start).can_sleep(false);
        let (body, _) = world.insert(body, ColliderBuilder::new(part.clone().into()).density(1000.0));
        let (mut kept, mut workspace): (Vec<ContactManifold<(), ()>>, _) = (Vec::new(), None);
        for step in 0..600 {
            world.step();
            let pose = at.inv_mul(world.bodies[body].position());
            let prediction = world.integration_parameters.prediction_distance();
            let clock = Instant::now();
            let done =
                dispatcher.contact_manifolds(&pose, &*ground, part, prediction, &mut kept, &mut workspace);
            let time = clock.elapsed().as_secs_f64();
            if step >= 200 && done.is_ok() {
                times.push(1e6 * time);
                manifolds += kept.len();
                points += kept.iter().map(|m| m.points.len()).sum::<usize>();
            }
        }
        speed = speed.max(world.bodies[body].linvel().length());
    }
    times.sort_by(f64::total_cmp);
    let each = |n: usize| n as f64 / times.len() as f64;
    let share = |s: f64| times.get((s * times.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    println!(
        "{name}: median {:.2} µs, 90 % below {:.1} µs; {:.1} manifolds, {:.1} points; fastest at the end {speed:.5} m/s",
        share(0.5),
        share(0.9),
        each(manifolds),
        each(points),
    );
}
