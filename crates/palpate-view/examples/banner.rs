//! Draws the picture of the README: a gear as mesh, as surface voxels and as a plane through its distance field.
//!
//!     cargo run --release -p palpate-view --example banner -- docs/images/gear.png

use glam::DVec3;
use palpate::field::FieldParams;
use palpate::math::Aabb;
use palpate::mesh::{RepairParams, samples};
use palpate::voxmap::VoxmapParams;
use palpate::{Field, Mesh, Voxmap};
use palpate_view::slice::{SliceParams, slice};
use palpate_view::{Camera, Image, Paint, RenderParams, Scene, png, render};

/// Size of each of the three panels [pixels].
const PANEL: [u32; 2] = [390, 350];
/// Cells along the gear in the picture of voxels: few enough to be seen one by one.
const SHOWN_CELLS: f64 = 46.0;
const PAPER: [u8; 3] = [255, 255, 255];
const CLAY: [u8; 3] = [172, 184, 202];
const AMBER: [u8; 3] = [232, 150, 72];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "gear.png".into());
    let mesh = Mesh::new(samples::gear(24, 2.5e-3, 0.014, 8), &RepairParams::default())?;
    let size = mesh.aabb().extent().max_element();
    let camera =
        Camera { toward: DVec3::new(0.5, -1.0, 1.25), up: DVec3::Z, ..Camera::three_quarter(DVec3::Z) };
    let params = RenderParams {
        width: PANEL[0],
        height: PANEL[1],
        supersample: 4,
        background: Some(PAPER),
        ..RenderParams::default()
    };

    let mut solid = Scene::new();
    solid.mesh(mesh.positions(), mesh.triangles(), Paint::Plain(CLAY));

    let voxel = size / SHOWN_CELLS;
    let map = Voxmap::build(&mesh, voxel, &VoxmapParams { layers: 0, ..VoxmapParams::default() })?;
    let cells: Vec<[i32; 3]> = map.surface_voxels().map(|ijk| ijk.map(|i| i as i32)).collect();
    let mut cubes = Scene::new();
    cubes.voxels(&cells, map.grid().origin, voxel, |_| AMBER);

    let voxel = size / 250.0;
    let field = Field::build(&mesh, voxel, &FieldParams { padding: 16.0, ..FieldParams::default() })?;
    // A box of the panel's shape, so that the plane fills it.
    let (centre, half) = (mesh.aabb().centre(), 0.54 * size);
    let wide = DVec3::new(half * f64::from(PANEL[0]) / f64::from(PANEL[1]), half, half);
    let frame = Aabb { min: centre - wide, max: centre + wide };
    let plane = SliceParams { width: PANEL[0], voxel, legend: false, ..SliceParams::default() };

    let panels = [
        render(&solid, &camera, &params),
        render(&cubes, &camera, &params),
        slice(|p| field.sample(p).distance, frame, &plane),
    ];
    std::fs::write(path, png::encode(&beside(&panels))?)?;
    Ok(())
}

/// The pictures in one row.
fn beside(panels: &[Image]) -> Image {
    let mut out = Image::new(PANEL[0] * panels.len() as u32, PANEL[1]);
    let mut left = 0;
    for panel in panels {
        for y in 0..panel.height() {
            for x in 0..panel.width() {
                let [r, g, b, _] = panel.pixel(x, y);
                out.blend(i64::from(left + x), i64::from(y), [r, g, b], 1.0);
            }
        }
        left += panel.width();
    }
    out
}
