//! Six places for a gear beside another, asked at once on all cores: which are free, how deep the others are, what pushes them apart.
//! many_poses.c prints the same.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use glam::{DQuat, DVec3};
use palpate::force::{ForceParams, summary_batch};
use palpate::mesh::{RepairParams, samples};
use palpate::query::QueryParams;
use palpate::shape::Size;
use palpate::{Mesh, Pose, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let raw = samples::by_name("gear").ok_or("no such sample")?;
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let voxel = Size::Resolution(128).voxel(mesh.aabb())?;
    let gear = Shape::build(mesh, voxel, &Default::default())?;

    // From 58 mm on, half a millimetre farther each; turned by half a tooth: x y z w, made unit.
    let half_a_tooth = DQuat::from_xyzw(0.0, 0.0, 0.0654, 0.99786);
    let place = |i: usize| Pose::new(half_a_tooth, DVec3::X * (0.058 + 5e-4 * i as f64));
    let poses: Vec<Pose> = (0..6).map(place).collect();
    let found = summary_batch(&gear, &gear, &poses, &QueryParams::default(), &ForceParams::new(1e9)); // [N/m³]
    for one in found {
        let depth = one.deepest.map_or(0.0, |contact| 1e3 * f64::from(-contact.distance));
        let push = one.force.wrench.force;
        println!("{} contacts, {depth:.6} mm, {:.6} {:.6} {:.6} N", one.contacts, push.x, push.y, push.z);
    }
    Ok(())
}
