//! What is inside a shape, as numbers for the page: its mesh, voxels, layers, slices of its field, points, balls and segments.
//!
//! Everything is in the body's own frame [m].

use crate::stage::{Body, Geometry};
use crate::wire::message;
use glam::DVec3;
use palpate::shape::Shape;
use palpate::tree::Tree;
use palpate::voxmap::{Voxmap, VoxmapParams};
use serde_json::json;

/// Voxels along the largest extent of a picture of voxels. More would be dust on a screen.
const VOXELS: f64 = 72.0;
/// Layers on each side of the surface in pictures.
const LAYERS: u32 = 3;
/// Samples along the longer side of a slice.
const SLICE: usize = 256;
/// Most balls, points and triangles that are sent.
const MOST_BALLS: usize = 6000;
const MOST_POINTS: usize = 60_000;

/// What is asked of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// Triangles.
    Mesh,
    /// The voxels that the surface meets.
    Voxels,
    /// Voxels in numbered layers, cut open.
    Layers,
    /// Distances on a plane.
    Slice,
    /// The points of a level of the tree; beyond the last: all.
    Points,
    /// The balls of a level.
    Balls,
    /// All points, by segment.
    Segments,
}

impl What {
    /// As requests spell it.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "mesh" => Self::Mesh,
            "voxels" => Self::Voxels,
            "layers" => Self::Layers,
            "slice" => Self::Slice,
            "points" => Self::Points,
            "balls" => Self::Balls,
            "segments" => Self::Segments,
            _ => return None,
        })
    }
}

/// How it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct How {
    /// Of the tree.
    pub(crate) level: usize,
    /// Of a cut: 0 x, 1 y, 2 z.
    pub(crate) axis: usize,
    /// Where the cut is along the axis, 0 to 1.
    pub(crate) at: f64,
}

/// The answer as a message; none where a body has no such thing.
pub(crate) fn answer(body: &Body, what: What, how: &How) -> Option<Vec<u8>> {
    match (&body.geometry, what) {
        (Geometry::Shape(shape), What::Mesh) => {
            Some(mesh(shape.mesh().positions(), shape.mesh().triangles()))
        }
        (Geometry::Soft(positions, triangles) | Geometry::Mesh(positions, triangles), What::Mesh) => {
            Some(mesh(positions, triangles))
        }
        (Geometry::Points(points, spacing), What::Mesh) => Some(cloud(points, *spacing)),
        (Geometry::Shape(shape), What::Voxels) => voxels(shape, None, how),
        (Geometry::Shape(shape), What::Layers) => voxels(shape, Some(LAYERS), how),
        (Geometry::Shape(shape), What::Slice) => Some(slice(shape, how)),
        (Geometry::Shape(shape), What::Points) => Some(points(shape.tree(), how.level)),
        (Geometry::Shape(shape), What::Balls) => Some(balls(shape.tree(), how.level)),
        (Geometry::Shape(shape), What::Segments) => Some(segments(shape.tree())),
        _ => None,
    }
}

fn flat(points: &[DVec3]) -> Vec<f32> {
    points.iter().flat_map(|p| p.as_vec3().to_array()).collect()
}

fn mesh(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<u8> {
    let head = json!({ "type": "mesh", "vertices": positions.len(), "triangles": triangles.len() });
    message(&head, &[&flat(positions)], &[triangles.as_flattened()])
}

/// Points without a surface.
fn cloud(all: &[DVec3], spacing: f64) -> Vec<u8> {
    let step = all.len().div_ceil(MOST_POINTS).max(1);
    let some: Vec<DVec3> = all.iter().copied().step_by(step).collect();
    let head = json!({ "type": "cloud", "points": some.len(), "of": all.len(), "spacing": spacing });
    message(&head, &[&flat(&some)], &[])
}

/// Voxels that can be seen: centre and layer. With layers, those on the near side of a cut are left away.
fn voxels(shape: &Shape, layers: Option<u32>, how: &How) -> Option<Vec<u8>> {
    let size = shape.aabb().extent().max_element();
    let voxel = (size / VOXELS).max(shape.field().lattice().voxel);
    let params = VoxmapParams { layers: layers.unwrap_or(0), padding: LAYERS + 2, ..Default::default() };
    let map = Voxmap::build(shape.mesh(), voxel, &params).ok()?;
    let grid = map.grid();
    let dims = grid.dims;
    let axis = how.axis.min(2);
    let cut = (how.at.clamp(0.0, 1.0) * f64::from(dims[axis])).round() as u32;
    let shown = |ijk: [u32; 3]| -> Option<i32> {
        let layer = map.layer(ijk).filter(|l| l.unsigned_abs() <= layers.unwrap_or(0));
        layer.filter(|_| layers.is_none() || ijk[axis] >= cut)
    };
    let mut out = Vec::new();
    for k in 0..dims[2] {
        for j in 0..dims[1] {
            for i in 0..dims[0] {
                let ijk = [i, j, k];
                let Some(layer) = shown(ijk) else { continue };
                let hidden = (0..3).all(|a| {
                    let (mut low, mut high) = (ijk, ijk);
                    high[a] += 1;
                    let below = ijk[a].checked_sub(1).is_some_and(|v| {
                        low[a] = v;
                        shown(low).is_some()
                    });
                    below && high[a] < dims[a] && shown(high).is_some()
                });
                if !hidden {
                    out.extend(grid.centre(ijk).as_vec3().to_array());
                    out.push(layer as f32);
                }
            }
        }
    }
    let head = json!({
        "type": "voxels", "count": out.len() / 4, "voxel": voxel, "layers": layers.unwrap_or(0), "dims": dims,
        "surface": map.stats().surface_voxels,
    });
    Some(message(&head, &[&out], &[]))
}

/// Signed distances on a plane across an axis, row by row.
fn slice(shape: &Shape, how: &How) -> Vec<u8> {
    let b = shape.field().lattice().aabb();
    let axis = how.axis.min(2);
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let extent = b.extent();
    let longer = extent[u].max(extent[v]).max(f64::MIN_POSITIVE);
    let count = |e: f64| ((SLICE as f64 * e / longer).ceil() as usize).clamp(2, SLICE);
    let (nu, nv) = (count(extent[u]), count(extent[v]));
    let mut values = Vec::with_capacity(nu * nv);
    let along = b.min[axis] + how.at.clamp(0.0, 1.0) * extent[axis];
    for j in 0..nv {
        for i in 0..nu {
            let mut p = DVec3::ZERO;
            p[axis] = along;
            p[u] = b.min[u] + extent[u] * i as f64 / (nu - 1) as f64;
            p[v] = b.min[v] + extent[v] * j as f64 / (nv - 1) as f64;
            values.push(shape.field().sample(p).distance as f32);
        }
    }
    let head = json!({
        "type": "slice", "axis": axis, "along": along, "nu": nu, "nv": nv, "min": b.min.to_array(), "max": b.max.to_array(),
    });
    message(&head, &[&values], &[])
}

/// Position, normal, radius of the surface it stands for, and a number: 8 values a point.
fn surfel(tree: &Tree, point: usize, area: f32, number: usize, out: &mut Vec<f32>) {
    out.extend(tree.position(point).as_vec3().to_array());
    out.extend(tree.normal(point).to_array());
    out.push((area / core::f32::consts::PI).max(0.0).sqrt());
    out.push(number as f32);
}

/// The points of a level.
fn points(tree: &Tree, level: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if level < tree.levels() {
        let step = tree.nodes(level).div_ceil(MOST_POINTS).max(1);
        for node in (0..tree.nodes(level)).step_by(step) {
            let (point, area) = tree.parent(level, node);
            surfel(tree, point, area, node, &mut out);
        }
    } else {
        let step = tree.len().div_ceil(MOST_POINTS).max(1);
        (0..tree.len()).step_by(step).for_each(|i| surfel(tree, i, tree.area(i), i, &mut out));
    }
    let head = json!({ "type": "points", "count": out.len() / 8, "level": level.min(tree.levels()), "of": tree.len() });
    message(&head, &[&out], &[])
}

/// The balls of a level: centre, radius.
fn balls(tree: &Tree, level: usize) -> Vec<u8> {
    let level = level.min(tree.levels().saturating_sub(1));
    let step = tree.nodes(level).div_ceil(MOST_BALLS).max(1);
    let mut out = Vec::new();
    for node in (0..tree.nodes(level)).step_by(step) {
        let (centre, radius) = tree.ball(level, node);
        out.extend(centre.as_vec3().to_array());
        out.push(radius as f32);
    }
    let head = json!({ "type": "balls", "count": out.len() / 4, "level": level, "of": tree.nodes(level) });
    message(&head, &[&out], &[])
}

/// All points, with the number of their segment.
fn segments(tree: &Tree) -> Vec<u8> {
    let mut out = Vec::new();
    let level = (0..tree.levels()).find(|l| tree.nodes(*l) == tree.segments()).unwrap_or(0);
    let step = tree.len().div_ceil(MOST_POINTS).max(1);
    for node in 0..tree.nodes(level) {
        for i in tree.points_of(level, node).step_by(step) {
            surfel(tree, i, tree.area(i), node, &mut out);
        }
    }
    let head =
        json!({ "type": "points", "count": out.len() / 8, "level": level, "segments": tree.segments() });
    message(&head, &[&out], &[])
}
