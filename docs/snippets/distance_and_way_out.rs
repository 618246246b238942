//! A peg in the bore of a gear: how much room there is, and where; then, pushed into the wall, the shortest way out.
//! distance_and_way_out.c prints the same.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use glam::DVec3;
use palpate::mesh::{RepairParams, samples};
use palpate::{Mesh, Pose, Query, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shape = |name| -> Result<Shape, Box<dyn std::error::Error>> {
        let mesh = Mesh::new(samples::by_name(name).ok_or("no such sample")?, &RepairParams::default())?;
        Ok(Shape::build(mesh, 5e-4, &Default::default())?) // voxel [m]
    };
    let (gear, peg) = (shape("gear")?, shape("peg")?);
    let mut query = Query::new();

    // The peg is off the middle. Everything is in the gear's frame.
    let mut a_from_b = Pose::from_translation(DVec3::new(0.002, 0.001, -0.015));
    let gap = query.distance(&gear, &peg, &a_from_b);
    let (a, b) = (1e3 * gap.witness_a, 1e3 * gap.witness_b);
    println!("distance {:.6} mm, at most {:.6} mm less", 1e3 * gap.distance, 1e3 * gap.bound);
    println!("on the gear {:.6} {:.6} {:.6} mm", a.x, a.y, a.z);
    println!("on the peg  {:.6} {:.6} {:.6} mm", b.x, b.y, b.z);

    a_from_b.translation.x = 0.004;
    println!("pushed in {:.6} mm", 1e3 * query.distance(&gear, &peg, &a_from_b).distance);
    let out = query.penetration(&gear, &peg, &a_from_b, &Default::default());
    let way = 1e3 * out.translation;
    println!("out by {:.6} mm, no way is below {:.6} mm", 1e3 * out.depth, 1e3 * out.lower);
    println!("that is {:.6} {:.6} {:.6} mm", way.x, way.y, way.z);
    Ok(())
}
