//! Shapes: built from meshes, kept in files, and what they are made of.

use crate::border::{In, List, Out, Room, Text, export};
use crate::error::{Failure, Status};
use crate::handle::{self, MeshHandle, ShapeHandle};
use crate::mesh::{MassValue, mass_of};
use crate::progress::{Callback, Reporter, User};
use crate::values::{flag, or_default, threads, unknown};
use bytemuck::AnyBitPattern;
use glam::DVec3;
use palpate::Shape;
use palpate::field::{Encoding, SignMethod};
use palpate::progress::Progress;
use palpate::shape::{ShapeParams, Size};
use std::sync::Arc;

/// `palp_shape_params`: 0 everywhere is the default, but for `voxel` and `resolution`, of which one must be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct ShapeParamsValue {
    /// Edge of a voxel [m].
    pub voxel: f64,
    /// Distance between points [m].
    pub spacing: f64,
    /// Half width of the exact band [voxels].
    pub band: f64,
    /// Free space around the surface [voxels].
    pub padding: f64,
    /// Largest memory of the field [bytes].
    pub max_bytes: u64,
    /// Cells along the largest extent.
    pub resolution: u32,
    /// About how many segments.
    pub segments: u32,
    /// Points of a cluster.
    pub cluster: u32,
    /// `palp_encoding`
    pub encoding: i32,
    /// Exact nodes outside the band too.
    pub exact_bricks: i32,
    /// Threads of the build.
    pub threads: u32,
}

impl ShapeParamsValue {
    /// The engine's parameters.
    fn params(&self) -> Result<ShapeParams, Failure> {
        let mut p = ShapeParams { spacing: or_default(self.spacing, "spacing")?, ..ShapeParams::default() };
        p.field.band = or_default(self.band, "band")?.unwrap_or(p.field.band);
        p.field.padding = or_default(self.padding, "padding")?.unwrap_or(p.field.padding);
        p.field.max_memory = (self.max_bytes > 0).then_some(self.max_bytes);
        p.field.exact_bricks = flag(self.exact_bricks);
        p.field.encoding = match self.encoding {
            0 => Encoding::Float,
            1 => Encoding::Scaled { precision: None },
            n => return unknown(n, "encoding", 1),
        };
        if self.segments > 0 {
            p.tree.segments = self.segments as usize;
        }
        if self.cluster > 0 {
            p.tree.cluster = self.cluster as usize;
        }
        let threads = threads(self.threads)?;
        (p.field.threads, p.shell.threads, p.tree.threads) = (threads, threads, threads);
        Ok(p)
    }

    fn size(&self) -> Result<Size, Failure> {
        match (or_default(self.voxel, "voxel")?, self.resolution) {
            (Some(voxel), 0) => Ok(Size::Voxel(voxel)),
            (None, n) if n > 0 => Ok(Size::Resolution(n)),
            (None, _) => Err(Failure::argument("neither voxel nor resolution is given")),
            (Some(_), _) => Err(Failure::argument("voxel and resolution are both given; leave one at 0")),
        }
    }
}

/// `palp_shape_info`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ShapeInfo {
    /// Box of the surface [m].
    pub aabb_min: [f64; 3],
    /// Box of the surface [m].
    pub aabb_max: [f64; 3],
    /// Smallest ball around the points [m].
    pub ball_centre: [f64; 3],
    /// Smallest ball around the points [m].
    pub ball_radius: f64,
    /// Edge of a voxel [m].
    pub voxel: f64,
    /// Least distance of points [m].
    pub spacing: f64,
    /// No point of the surface is farther from a point than this [m].
    pub coverage: f64,
    /// Half width of the exact band [m].
    pub band: f64,
    /// [m]
    pub error_bound_band: f64,
    /// [m]
    pub error_bound_far: f64,
    /// [1]
    pub lipschitz: f64,
    /// [1]
    pub sign_confidence: f64,
    /// Sum of the points' areas [m²].
    pub area: f64,
    /// Signed volume of the mesh [m³].
    pub volume: f64,
    /// Number of points.
    pub points: u64,
    /// Levels of the tree above the points.
    pub levels: u64,
    /// Segments at most.
    pub segments: u64,
    /// Vertices of the mesh.
    pub vertices: u64,
    /// Triangles of the mesh.
    pub triangles: u64,
    /// Memory of field and points [bytes].
    pub bytes: u64,
    /// Bricks of the field.
    pub bricks: u64,
    /// Holes that were capped.
    pub caps: u64,
    /// Whether the mesh is closed.
    pub watertight: i32,
    /// `palp_sign_method`
    pub sign_method: i32,
}

/// `palp_point`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PointValue {
    /// [m]
    pub position: [f64; 3],
    /// Outward, unit.
    pub normal: [f32; 3],
    /// [m²]
    pub area: f32,
    /// Index of the point.
    pub id: u32,
    /// Index of its triangle.
    pub triangle: u32,
}

/// A handle for a shape, unless the caller wanted to stop.
fn keep(shape: Shape, progress: &Reporter) -> Result<ShapeHandle, Failure> {
    if progress.cancelled() {
        return Err(Failure::new(Status::Cancelled, "cancelled"));
    }
    handle::insert(shape)
}

export! {
    /// Builds a shape from a mesh.
    fn palp_shape_build(
        mesh: MeshHandle,
        params: In<'_, ShapeParamsValue>,
        progress: Callback,
        user: User,
        shape: Out<'_, ShapeHandle>,
    ) {
        let (params, mut shape) = (params.get("params")?, shape.ready("shape")?);
        let mesh = handle::cloned(mesh, "mesh")?;
        let (size, params) = (params.size()?, params.params()?);
        let progress = Reporter::new(progress, user);
        let voxel = size.voxel(mesh.aabb())?;
        let mesh = Arc::unwrap_or_clone(mesh);
        shape.put(keep(Shape::build_with(mesh, voxel, &params, &progress)?, &progress)?);
        Ok(())
    }

    /// The shape of a mesh file, from a `.palp` file if that is up to date, else built and kept there.
    fn palp_shape_build_cached(
        mesh_path: Text<'_>,
        unit: f64,
        kept_path: Text<'_>,
        params: In<'_, ShapeParamsValue>,
        progress: Callback,
        user: User,
        shape: Out<'_, ShapeHandle>,
        from_file: Out<'_, i32>,
    ) {
        let (mesh, kept) = (mesh_path.path("mesh_path")?, kept_path.path("kept_path")?);
        let (params, mut shape) = (params.get("params")?, shape.ready("shape")?);
        let (size, params) = (params.size()?, params.params()?);
        let progress = Reporter::new(progress, user);
        let (made, was_there) = Shape::cached(mesh, unit, size, &params, kept, &progress)?;
        shape.put(keep(made, &progress)?);
        if let Some(mut from_file) = from_file.optional() {
            from_file.put(was_there.into());
        }
        Ok(())
    }

    /// Opens a `.palp` file.
    fn palp_shape_load(path: Text<'_>, params: In<'_, ShapeParamsValue>, shape: Out<'_, ShapeHandle>) {
        let (path, mut shape) = (path.path("path")?, shape.ready("shape")?);
        let params = params.optional().unwrap_or_default().params()?;
        let progress = Reporter::new(None, User(core::ptr::null_mut()));
        shape.put(keep(Shape::open(path, &params, &progress)?, &progress)?);
        Ok(())
    }

    /// Writes a `.palp` file.
    fn palp_shape_save(shape: ShapeHandle, path: Text<'_>) {
        let path = path.path("path")?;
        Ok(handle::cloned(shape, "shape")?.write(path, 0)?)
    }

    /// The same shape in another size, not built again.
    fn palp_shape_scaled(shape: ShapeHandle, factor: f64, scaled: Out<'_, ShapeHandle>) {
        let mut scaled = scaled.ready("scaled")?;
        scaled.put(handle::insert(handle::cloned(shape, "shape")?.scaled(factor)?)?);
        Ok(())
    }

    /// Frees a shape. Queries made with it stay.
    fn palp_shape_free(shape: ShapeHandle) {
        handle::free(shape, "shape")
    }

    /// The mesh of a shape, as a mesh of its own.
    fn palp_shape_get_mesh(shape: ShapeHandle, mesh: Out<'_, MeshHandle>) {
        let mut mesh = mesh.ready("mesh")?;
        let shape = handle::cloned(shape, "shape")?;
        mesh.put(handle::insert(Arc::new(shape.mesh().clone()))?);
        Ok(())
    }

    /// Mass, centre and inertia of the mesh for a density.
    fn palp_shape_get_mass(shape: ShapeHandle, density: f64, mass: Out<'_, MassValue>) {
        let mut mass = mass.ready("mass")?;
        mass.put(mass_of(handle::cloned(shape, "shape")?.mesh(), density)?);
        Ok(())
    }

    /// What a shape is made of, and how far it can be trusted.
    fn palp_shape_get_info(shape: ShapeHandle, info: Out<'_, ShapeInfo>) {
        let mut info = info.ready("info")?;
        info.put(info_of(&handle::cloned(shape, "shape")?));
        Ok(())
    }

    /// Copies points: all of them, or those that stand for the nodes of a level.
    fn palp_shape_copy_points(
        shape: ShapeHandle,
        level: i32,
        points: Room<'_, PointValue>,
        capacity: usize,
        count: Out<'_, usize>,
    ) {
        let mut out = points.writer(capacity, "points")?;
        let shape = handle::cloned(shape, "shape")?;
        let tree = shape.tree();
        let mut push = |i: usize, area: f32| out.push(PointValue {
            position: tree.position(i).to_array(),
            normal: tree.normal(i).to_array(),
            area,
            id: i as u32,
            triangle: tree.triangle(i),
        });
        match usize::try_from(level) {
            Err(_) if level == -1 => (0..tree.len()).for_each(|i| push(i, tree.area(i))),
            Ok(level) if level < tree.levels() => (0..tree.nodes(level)).for_each(|node| {
                let (point, area) = tree.parent(level, node);
                push(point, area);
            }),
            _ => {
                let most = tree.levels().saturating_sub(1);
                return Err(Failure::argument(format!(
                    "level is {level}; give 0 to {most}, or -1 for all points"
                )));
            }
        }
        out.end(count, "points")
    }

    /// Signed distance, and its gradient, at points of the shape's frame.
    fn palp_shape_sample(
        shape: ShapeHandle,
        points: List<'_, [f64; 3]>,
        count: usize,
        distances: Room<'_, f64>,
        gradients: Room<'_, [f64; 3]>,
    ) {
        let points = points.get(count, "points")?;
        let mut distances = distances.writer(count, "distances")?;
        // Gradients may be left out.
        let mut gradients = if gradients.is_null() { None } else { Some(gradients.writer(count, "gradients")?) };
        let shape = handle::cloned(shape, "shape")?;
        for p in points {
            let sample = shape.field().sample(DVec3::from_array(*p));
            distances.push(sample.distance);
            if let Some(gradients) = &mut gradients {
                gradients.push(sample.gradient.to_array());
            }
        }
        Ok(())
    }
}

fn info_of(shape: &Shape) -> ShapeInfo {
    let (tree, field, mesh) = (shape.tree(), shape.field().report(), shape.mesh().report());
    let (shell, aabb) = (tree.shell_report(), shape.aabb());
    let (centre, radius) = if tree.levels() > 0 { tree.ball(0, 0) } else { (aabb.centre(), 0.0) };
    ShapeInfo {
        aabb_min: aabb.min.to_array(),
        aabb_max: aabb.max.to_array(),
        ball_centre: centre.to_array(),
        ball_radius: radius,
        voxel: shape.field().lattice().voxel,
        spacing: shell.spacing,
        coverage: shell.radius,
        band: field.band,
        error_bound_band: field.error_bound_band,
        error_bound_far: field.error_bound_far,
        lipschitz: field.lipschitz,
        sign_confidence: field.sign_confidence,
        area: shell.area,
        volume: mesh.volume,
        points: tree.len() as u64,
        levels: tree.levels() as u64,
        segments: tree.segments() as u64,
        vertices: mesh.vertices as u64,
        triangles: mesh.triangles as u64,
        bytes: shape.bytes() as u64,
        bricks: field.bricks as u64,
        caps: field.caps() as u64,
        watertight: mesh.watertight.into(),
        sign_method: match field.sign_method {
            SignMethod::Pseudonormal => 0,
            SignMethod::Winding => 1,
            SignMethod::Unsigned => 2,
            SignMethod::Analytic => 3,
        },
    }
}
