//! Solids by formula: they give a field, and no points.

use crate::border::{In, List, Out, Room, export};
use crate::error::Failure;
use crate::handle::{self, SolidHandle};
use crate::values::PoseValue;
use glam::{DQuat, DVec3};
use palpate::field::analytic::{Analytic, ShapeError};
use palpate::field::source::Source;
use std::sync::Arc;

/// Most solids of a union: each is asked for every point.
const MOST_PARTS: usize = 4096;
/// Deepest nesting of solids: drawn from below it, a question of one goes down through all.
const MOST_DEPTH: usize = 64;

impl From<ShapeError> for Failure {
    fn from(e: ShapeError) -> Self {
        Self::argument(e.to_string())
    }
}

/// What a solid handle names: the solid and how deeply it is nested.
#[derive(Clone, Debug)]
pub struct Solid {
    pub(crate) solid: Arc<Analytic>,
    depth: usize,
}

/// A handle for a solid made of others that are at most so deep.
fn keep(solid: Result<Analytic, ShapeError>, depth: usize) -> Result<SolidHandle, Failure> {
    if depth > MOST_DEPTH {
        return Err(Failure::argument(format!(
            "the solid is made of solids {depth} deep; at most {MOST_DEPTH} are allowed"
        )));
    }
    handle::insert(Solid { solid: Arc::new(solid?), depth })
}

fn vector(from: In<'_, [f64; 3]>, name: &str) -> Result<DVec3, Failure> {
    Ok(DVec3::from_array(from.get(name)?))
}

export! {
    /// A ball.
    fn palp_solid_sphere(centre: In<'_, [f64; 3]>, radius: f64, solid: Out<'_, SolidHandle>) {
        let (centre, mut out) = (vector(centre, "centre")?, solid.ready("solid")?);
        out.put(keep(Analytic::sphere(centre, radius), 0)?);
        Ok(())
    }

    /// A box with its edges along the axes.
    fn palp_solid_box(centre: In<'_, [f64; 3]>, half_extents: In<'_, [f64; 3]>, solid: Out<'_, SolidHandle>) {
        let (centre, half) = (vector(centre, "centre")?, vector(half_extents, "half_extents")?);
        let mut out = solid.ready("solid")?;
        out.put(keep(Analytic::cuboid(centre, half), 0)?);
        Ok(())
    }

    /// All points within a radius of a segment.
    fn palp_solid_capsule(a: In<'_, [f64; 3]>, b: In<'_, [f64; 3]>, radius: f64, solid: Out<'_, SolidHandle>) {
        let (a, b, mut out) = (vector(a, "a")?, vector(b, "b")?, solid.ready("solid")?);
        out.put(keep(Analytic::capsule(a, b, radius), 0)?);
        Ok(())
    }

    /// A cylinder between the middles of its ends.
    fn palp_solid_cylinder(a: In<'_, [f64; 3]>, b: In<'_, [f64; 3]>, radius: f64, solid: Out<'_, SolidHandle>) {
        let (a, b, mut out) = (vector(a, "a")?, vector(b, "b")?, solid.ready("solid")?);
        out.put(keep(Analytic::cylinder(a, b, radius), 0)?);
        Ok(())
    }

    /// A cone from the middle of its base to its tip.
    fn palp_solid_cone(base: In<'_, [f64; 3]>, apex: In<'_, [f64; 3]>, radius: f64, solid: Out<'_, SolidHandle>) {
        let (base, apex, mut out) = (vector(base, "base")?, vector(apex, "apex")?, solid.ready("solid")?);
        out.put(keep(Analytic::cone(base, apex, radius), 0)?);
        Ok(())
    }

    /// A ring around the z axis.
    fn palp_solid_torus(major: f64, minor: f64, solid: Out<'_, SolidHandle>) {
        let mut out = solid.ready("solid")?;
        out.put(keep(Analytic::torus(major, minor), 0)?);
        Ok(())
    }

    /// All points below a plane.
    fn palp_solid_half_space(normal: In<'_, [f64; 3]>, offset: f64, solid: Out<'_, SolidHandle>) {
        let (normal, mut out) = (vector(normal, "normal")?, solid.ready("solid")?);
        out.put(keep(Analytic::half_space(normal, offset), 0)?);
        Ok(())
    }

    /// A convex polyhedron.
    fn palp_solid_hull(
        positions: List<'_, [f64; 3]>,
        vertex_count: usize,
        triangles: List<'_, [u32; 3]>,
        triangle_count: usize,
        solid: Out<'_, SolidHandle>,
    ) {
        let mut out = solid.ready("solid")?;
        let positions = positions.get(vertex_count, "positions")?;
        let triangles = triangles.get(triangle_count, "triangles")?;
        let positions: Vec<DVec3> = positions.iter().map(|p| DVec3::from_array(*p)).collect();
        out.put(keep(Analytic::hull(&positions, triangles), 0)?);
        Ok(())
    }

    /// All points within a radius of a solid.
    fn palp_solid_rounded(inner: SolidHandle, radius: f64, solid: Out<'_, SolidHandle>) {
        let mut out = solid.ready("solid")?;
        let Solid { solid, depth } = handle::cloned(inner, "inner")?;
        out.put(keep(Arc::unwrap_or_clone(solid).rounded(radius), depth + 1)?);
        Ok(())
    }

    /// A solid moved.
    fn palp_solid_moved(inner: SolidHandle, outer_from_inner: In<'_, PoseValue>, solid: Out<'_, SolidHandle>) {
        let (pose, mut out) = (outer_from_inner.get("outer_from_inner")?, solid.ready("solid")?);
        let Solid { solid, depth } = handle::cloned(inner, "inner")?;
        let solid = Arc::unwrap_or_clone(solid);
        let moved = solid.transformed(DQuat::from_array(pose.rotation), DVec3::from_array(pose.translation));
        out.put(keep(moved, depth + 1)?);
        Ok(())
    }

    /// All points of any of several solids.
    fn palp_solid_union(parts: List<'_, SolidHandle>, count: usize, solid: Out<'_, SolidHandle>) {
        let mut out = solid.ready("solid")?;
        if count > MOST_PARTS {
            return Err(Failure::argument(format!("count is {count}; a union has at most {MOST_PARTS} parts")));
        }
        let (mut solids, mut depth) = (Vec::new(), 0);
        for part in parts.get(count, "parts")? {
            let part = handle::cloned(*part, "a part")?;
            depth = depth.max(part.depth);
            solids.push(Arc::unwrap_or_clone(part.solid));
        }
        out.put(keep(Analytic::union(solids), depth + 1)?);
        Ok(())
    }

    /// Frees a solid. Pairs made with it stay.
    fn palp_solid_free(solid: SolidHandle) {
        handle::free(solid, "solid")
    }

    /// Its box; infinite along the axes in which it is.
    fn palp_solid_get_box(solid: SolidHandle, min: Out<'_, [f64; 3]>, max: Out<'_, [f64; 3]>) {
        let (mut min, mut max) = (min.ready("min")?, max.ready("max")?);
        let aabb = handle::cloned(solid, "solid")?.solid.aabb();
        min.put(aabb.min.to_array());
        max.put(aabb.max.to_array());
        Ok(())
    }

    /// Signed distance, and its gradient, at points of the solid's frame.
    fn palp_solid_sample(
        solid: SolidHandle,
        points: List<'_, [f64; 3]>,
        count: usize,
        distances: Room<'_, f64>,
        gradients: Room<'_, [f64; 3]>,
    ) {
        let points = points.get(count, "points")?;
        let mut distances = distances.writer(count, "distances")?;
        let mut gradients = if gradients.is_null() { None } else { Some(gradients.writer(count, "gradients")?) };
        let solid = handle::cloned(solid, "solid")?.solid;
        for p in points {
            let sample = solid.sample(DVec3::from_array(*p));
            distances.push(sample.distance);
            if let Some(gradients) = &mut gradients {
                gradients.push(sample.gradient.to_array());
            }
        }
        Ok(())
    }
}
