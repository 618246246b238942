//! Two gears pressed into each other: contacts, distance and the wrench that pushes them apart. first_contact.c prints the same.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use glam::{DQuat, DVec3};
use palpate::force::{self, ForceParams};
use palpate::mesh::{RepairParams, samples};
use palpate::query::QueryParams;
use palpate::shape::Size;
use palpate::{Mesh, Pose, Query, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let raw = samples::by_name("gear").ok_or("no such sample")?;
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let voxel = Size::Resolution(128).voxel(mesh.aabb())?;
    let gear = Shape::build(mesh, voxel, &Default::default())?;
    // B's centre is 58.5 mm along A's x axis, a millimetre and a half nearer than the gears should be.
    // It is turned by half a tooth: x y z w, made unit.
    let half_a_tooth = DQuat::from_xyzw(0.0, 0.0, 0.0654, 0.99786);
    let mut a_from_b = Pose::new(half_a_tooth, DVec3::X * 0.0585);

    let mut query = Query::new();
    let contacts = query.contacts(&gear, &gear, &a_from_b, &QueryParams::default());
    let push = force::penalty(contacts, &ForceParams::new(1e9), &a_from_b, None, None).wrench; // [N/m³]
    println!("contacts {}", contacts.list.len());
    println!("force    {:.6} {:.6} {:.6} N", push.force.x, push.force.y, push.force.z);
    println!("torque   {:.6} {:.6} {:.6} N m", push.torque.x, push.torque.y, push.torque.z);

    println!("distance {:.6} mm", 1e3 * query.distance(&gear, &gear, &a_from_b).distance);
    a_from_b.translation.x = 0.07;
    println!("apart    {:.6} mm", 1e3 * query.distance(&gear, &gear, &a_from_b).distance);
    Ok(())
}
