//! A cube given as arrays, with two mistakes: what was repaired, a shape of it, kept in a file and read again. build_and_keep.c prints
//! the same. The file is in the folder where this runs, and is removed.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use glam::DVec3;
use palpate::mesh::{RawMesh, RepairParams};
use palpate::progress::Silent;
use palpate::{Mesh, Shape};

/// Counter-clockwise from outside. The last is there twice, and the one before is turned around.
#[rustfmt::skip]
const TRIANGLES: [[u32; 3]; 13] = [
    [0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 6, 7],
    [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 5, 7], [0, 2, 3],
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Corners of a cube of 50 mm [m]: bits of their number are x, y and z.
    let corner = |i: u8| 0.05 * DVec3::new((i & 1).into(), (i >> 1 & 1).into(), (i >> 2).into());
    let raw = RawMesh { positions: (0..8).map(corner).collect(), triangles: TRIANGLES.to_vec() };
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let report = mesh.report();
    println!("triangles {} of {}", report.triangles, TRIANGLES.len());
    println!("twice {}, turned {}", report.duplicate_faces, report.flipped_faces);
    println!("{}, {:.6} cm3", if report.watertight { "closed" } else { "open" }, 1e6 * report.volume);

    Shape::build(mesh, 1e-3, &Default::default())?.write("cube.palp", 0)?; // voxel [m]
    let cube = Shape::open("cube.palp", &Default::default(), &Silent)?;
    std::fs::remove_file("cube.palp")?;
    println!("points {}", cube.tree().len());
    println!("off by at most {:.6} mm near the surface", 1e3 * cube.field().report().error_bound_band);
    let inside = cube.field().sample(DVec3::new(0.005, 0.02, 0.03)).distance;
    println!("distance {:.6} mm", 1e3 * inside);
    Ok(())
}
