//! Shapes built from Parry's triangles, kept for as long as the dispatcher lives.

use crate::convert::{narrow, wide};
use crate::parts::{Form, Part, form, ours, segment};
use glam::DVec3;
use palpate::Mesh;
use palpate::field::iso::{IsoGrid, iso_surface};
use palpate::manifold::Collider;
use palpate::mesh::{RawMesh, RepairParams, below_front, thicken};
use palpate::{Shape as Core, shape::ShapeParams};
use parry3d::bounding_volume::BoundingVolume;
use parry3d::math::{Pose, Vector};
use parry3d::shape::{Shape, SharedShape, TypedShape};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Voxels across the largest side of a shape that is built without being told: at least, at most. Fewer: its edges are rounded.
/// More: the step that first needs it takes seconds.
const ACROSS: (f64, f64) = (48.0, 256.0);
/// How far below its front an open surface is solid, unless said otherwise [largest side]. Less: what moves fast passes through.
/// More: sheets that lie close below each other grow together.
const THICKNESS: f64 = 0.05;
/// Addresses that are remembered. More shapes than that are recognised by their contents, which takes longer.
const ADDRESSES: usize = 4096;
/// Vertices that are compared when a shape is recognised by its address.
const COMPARED: usize = 16;

/// Why a shape could not be made ready for contacts.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum PrepareError {
    /// Its triangles make no mesh.
    #[error("the triangles of the shape make no mesh: {0}")]
    Mesh(String),
    /// The mesh makes no shape.
    #[error("no shape can be built from the mesh: {0}")]
    Shape(String),
    /// The shape has no size, or is of a kind that cannot be touched.
    #[error("the shape has no size, or a number that is not finite")]
    Nothing,
}

/// How shapes are built from Parry's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeshOptions {
    /// Edge of the field's voxels [m]; none: half a mean edge, with 48 to 256 of them across the largest side.
    pub voxel: Option<f64>,
    /// How far below its front an open surface is solid [m]; none: a twentieth of its largest side.
    pub thickness: Option<f64>,
    /// Half the thickness that segments and triangles are given [m]; none: 1/200 of their length.
    pub thin: Option<f64>,
}

type Parts = Arc<[Part]>;

/// What was built, by address and by contents.
#[derive(Default)]
pub(crate) struct Cache {
    options: MeshOptions,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// None: it cannot be built; it is not tried again.
    by_address: HashMap<u64, Option<Parts>>,
    by_contents: HashMap<u64, Option<Core>>,
}

impl Cache {
    pub(crate) fn new(options: MeshOptions) -> Self {
        Self { options, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // What is in there is whole, whatever happened to a thread that held it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of shapes that were built.
    pub(crate) fn len(&self) -> usize {
        self.known().by_contents.values().flatten().count()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        *self.known() = Known::default();
    }

    /// The parts of a shape; none if there is nothing to touch.
    pub(crate) fn parts(&self, shape: &dyn Shape) -> Option<Parts> {
        if let Some(own) = ours(shape) {
            let part = Part::whole(Collider::Shape(own.core().clone()), Some(own.options()), shape);
            return Some(Arc::new([part]));
        }
        let built = matches!(
            shape.as_typed_shape(),
            TypedShape::Compound(_)
                | TypedShape::Polyline(_)
                | TypedShape::TriMesh(_)
                | TypedShape::HeightField(_)
                | TypedShape::Voxels(_)
                | TypedShape::ConvexPolyhedron(_)
                | TypedShape::RoundConvexPolyhedron(_)
                | TypedShape::Custom(_)
        );
        if !built {
            return self.make(shape, None).ok();
        }
        let address = address(shape);
        if let Some(parts) = self.known().by_address.get(&address) {
            return parts.clone();
        }
        let parts = self.make(shape, None).ok();
        let mut known = self.known();
        if known.by_address.len() >= ADDRESSES {
            known.by_address.clear();
        }
        known.by_address.insert(address, parts.clone());
        parts
    }

    /// Builds what a shape needs, so that no step has to.
    pub(crate) fn prepare(&self, shape: &SharedShape, voxel: Option<f64>) -> Result<(), PrepareError> {
        if ours(&**shape).is_some() {
            return Ok(());
        }
        let parts = self.make(&**shape, voxel)?;
        self.known().by_address.insert(address(&**shape), Some(parts));
        Ok(())
    }

    fn make(&self, shape: &dyn Shape, voxel: Option<f64>) -> Result<Parts, PrepareError> {
        let thin = self.options.thin;
        match shape.as_typed_shape() {
            TypedShape::Compound(compound) => {
                let mut parts = Vec::new();
                for (index, (from, shape)) in compound.shapes().iter().enumerate() {
                    let collider = match ours(&**shape) {
                        Some(own) => Ok(Collider::Shape(own.core().clone())),
                        None => self.collider(&**shape, voxel),
                    };
                    // A part without size does not take the others with it.
                    if let Ok(collider) = collider {
                        parts.push(Part::of_compound(collider, shape, from, index));
                    }
                }
                if parts.is_empty() { Err(PrepareError::Nothing) } else { Ok(parts.into()) }
            }
            TypedShape::Polyline(line) => {
                let parts = line.segments().enumerate().filter_map(|(index, s)| {
                    let solid = segment(&s, thin)?;
                    let radius = s.length() * crate::parts::THIN as f32;
                    let reach = thin.map_or(radius, |t| t as f32);
                    let mut part = Part::whole(Collider::from(solid), None, &s);
                    part.aabb = part.aabb.loosened(reach);
                    part.index = index as u32;
                    part.shape = Some(SharedShape::new(s));
                    Some(part)
                });
                let parts: Vec<_> = parts.collect();
                if parts.is_empty() { Err(PrepareError::Nothing) } else { Ok(parts.into()) }
            }
            _ => {
                let collider = self.collider(shape, voxel)?;
                Ok(Arc::new([Part::whole(collider, None, shape)]))
            }
        }
    }

    fn collider(&self, shape: &dyn Shape, voxel: Option<f64>) -> Result<Collider, PrepareError> {
        let raw = match form(shape, self.options.thin) {
            Form::Solid(solid) => return Ok(Collider::from(solid)),
            Form::Triangles(raw) => raw,
            Form::Projected => projected(shape).ok_or(PrepareError::Nothing)?,
            Form::Nothing => return Err(PrepareError::Nothing),
        };
        let contents = contents(&raw);
        if voxel.is_none()
            && let Some(core) = self.known().by_contents.get(&contents)
        {
            return core.clone().map(Collider::Shape).ok_or(PrepareError::Nothing);
        }
        let up = matches!(shape.as_typed_shape(), TypedShape::HeightField(_)).then_some(DVec3::Y);
        let core = self.build(raw, up, voxel);
        self.known().by_contents.insert(contents, core.as_ref().ok().cloned());
        core.map(Collider::Shape)
    }

    fn build(&self, raw: RawMesh, up: Option<DVec3>, voxel: Option<f64>) -> Result<Core, PrepareError> {
        let wrong = |e: &dyn core::fmt::Display| PrepareError::Mesh(e.to_string());
        let mesh = Mesh::new(raw, &RepairParams::default()).map_err(|e| wrong(&e))?;
        let largest = mesh.aabb().extent().max_element();
        let thickness = self.options.thickness.unwrap_or(THICKNESS * largest);
        let below = match up {
            Some(up) => Some(-up),
            None => below_front(mesh.positions(), mesh.triangles()).map_err(|e| wrong(&e))?,
        };
        let mesh = match below.filter(|_| !mesh.report().watertight) {
            Some(way) => {
                let solid = thicken(mesh.positions(), mesh.triangles(), way * thickness);
                let solid = solid.map_err(|e| wrong(&e))?;
                Mesh::new(solid.mesh, &RepairParams::default()).map_err(|e| wrong(&e))?
            }
            None => mesh,
        };
        let voxel = voxel
            .or(self.options.voxel)
            .unwrap_or_else(|| (0.5 * mesh.report().mean_edge).clamp(largest / ACROSS.1, largest / ACROSS.0));
        Core::build(mesh, voxel, &ShapeParams::default()).map_err(|e| PrepareError::Shape(e.to_string()))
    }
}

/// What tells one shape in memory from another, without looking at all of it.
fn address(shape: &dyn Shape) -> u64 {
    let mut hasher = DefaultHasher::new();
    (core::ptr::from_ref(shape).cast::<u8>() as usize).hash(&mut hasher);
    core::mem::discriminant(&shape.shape_type()).hash(&mut hasher);
    let aabb = shape.compute_local_aabb();
    let mut point = |p: Vector| p.to_array().map(f32::to_bits).hash(&mut hasher);
    point(aabb.mins);
    point(aabb.maxs);
    let mut some = |points: &[Vector]| {
        let step = points.len().div_ceil(COMPARED).max(1);
        points.iter().step_by(step).for_each(|p| point(*p));
    };
    let count = match shape.as_typed_shape() {
        TypedShape::TriMesh(s) => {
            some(s.vertices());
            (s.vertices().as_ptr() as usize, s.indices().len())
        }
        TypedShape::ConvexPolyhedron(s) => {
            some(s.points());
            (s.points().as_ptr() as usize, s.points().len())
        }
        TypedShape::RoundConvexPolyhedron(s) => {
            some(s.inner_shape.points());
            (s.inner_shape.points().as_ptr() as usize, s.border_radius.to_bits() as usize)
        }
        TypedShape::Polyline(s) => {
            some(s.vertices());
            (s.vertices().as_ptr() as usize, s.indices().len())
        }
        TypedShape::Compound(s) => (s.shapes().as_ptr() as usize, s.shapes().len()),
        TypedShape::HeightField(s) => (s.nrows(), s.ncols()),
        _ => (0, 0),
    };
    count.hash(&mut hasher);
    hasher.finish()
}

fn contents(raw: &RawMesh) -> u64 {
    let mut hasher = DefaultHasher::new();
    for p in &raw.positions {
        p.to_array().map(f64::to_bits).hash(&mut hasher);
    }
    raw.triangles.hash(&mut hasher);
    hasher.finish()
}

/// The surface of something that only projects points, as triangles; none if it has no size.
fn projected(shape: &dyn Shape) -> Option<RawMesh> {
    let aabb = shape.compute_local_aabb();
    let (min, max) = (wide(aabb.mins), wide(aabb.maxs));
    let largest = (max - min).max_element();
    if !(min.is_finite() && max.is_finite() && largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let voxel = largest / ACROSS.0;
    let nodes = ((max - min) / voxel).ceil();
    let upper = [nodes.x as i64 + 2, nodes.y as i64 + 2, nodes.z as i64 + 2];
    let grid = IsoGrid { origin: min, voxel, lower: [-2; 3], upper };
    let value = |ijk: [i64; 3]| {
        let p: DVec3 = grid.position(ijk);
        let q = shape.project_point(&Pose::IDENTITY, narrow(p), false);
        let distance = wide(q.point).distance(p) as f32;
        if q.is_inside { -distance } else { distance }
    };
    iso_surface(&grid, &grid.blocks(), 0.0, value).ok()
}

impl core::fmt::Debug for Cache {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cache").field("options", &self.options).field("built", &self.len()).finish()
    }
}
