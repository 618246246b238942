//! A gear comes 50 mm nearer to another while it makes a quarter turn: when do they meet, and where? time_of_impact.c prints the same.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use glam::{DQuat, DVec3};
use palpate::mesh::{RepairParams, samples};
use palpate::query::Motion;
use palpate::shape::Size;
use palpate::{Mesh, Pose, Query, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let raw = samples::by_name("gear").ok_or("no such sample")?;
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let voxel = Size::Resolution(128).voxel(mesh.aabb())?;
    let gear = Shape::build(mesh, voxel, &Default::default())?;

    let start = Pose::from_translation(DVec3::new(0.1, 0.0, 0.0));
    let quarter = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
    let end = Pose::new(quarter, DVec3::new(0.05, 0.0, 0.0));
    let hit = Query::new().time_of_impact(&gear, &gear, &Motion::between(&start, &end), &Default::default());
    let Some(time) = hit.time else {
        println!("they do not meet");
        return Ok(());
    };
    // Never later than they do: this early at most, as a distance.
    println!("time   {time:.6} of the way, {:.6} mm apart at most", 1e3 * hit.early);
    println!("centre {:.6} mm", 1e3 * hit.pose.translation.x);
    println!("point  {:.6} {:.6} {:.6} mm", 1e3 * hit.point.x, 1e3 * hit.point.y, 1e3 * hit.point.z);
    println!("normal {:.6} {:.6} {:.6}", hit.normal.x, hit.normal.y, hit.normal.z);
    Ok(())
}
