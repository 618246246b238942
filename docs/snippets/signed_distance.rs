//! How far points are from a gear, which way is out, and how far to trust that. signed_distance.c prints the same.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use glam::DVec3;
use palpate::mesh::{RepairParams, samples};
use palpate::shape::Size;
use palpate::{Mesh, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let raw = samples::by_name("gear").ok_or("no such sample")?;
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let voxel = Size::Resolution(128).voxel(mesh.aabb())?;
    let gear = Shape::build(mesh, voxel, &Default::default())?;
    let report = gear.field().report();
    println!("off by at most {:.6} mm within {:.6} mm", 1e3 * report.error_bound_band, 1e3 * report.band);
    println!("and by at most {:.6} mm farther away", 1e3 * report.error_bound_far);

    // In the bore, in the solid, and beyond the teeth; in the gear's frame [m].
    let points = [DVec3::new(0.005, 0.0, 0.0), DVec3::new(0.02, 0.0, 0.001), DVec3::new(0.033, 0.005, 0.002)];
    for point in points {
        let at = gear.field().sample(point); // negative inside
        let out = at.gradient;
        println!("{:.6} mm, outward {:.6} {:.6} {:.6}", 1e3 * at.distance, out.x, out.y, out.z);
    }
    Ok(())
}
