//! Where parts start and what they fall on: world frame, z up, the ground's top at height 0.

use crate::cmd::BuildArgs;
use crate::engine::Input;
use crate::pair::Solid;
use crate::progress::Reporter;
use anyhow::{Context, Result, bail};
use glam::{DQuat, DVec3};
use palpate::math::Aabb;
use palpate::mesh::{RepairParams, samples};
use palpate::progress::Progress;
use palpate::shape::ShapeParams;
use palpate::{Mesh, Pose, Shape};
use palpate_view::recording::{self, Body, Ground, PALETTE, Part, Recording};

/// Columns of parts along each side of a heap; more are stacked.
const COLUMNS: usize = 5;
/// Room between neighbours, over the diameter [1].
const ROOM: f64 = 1.12;
/// How far a start is moved out of its column, over the diameter [1]: perfect towers do not fall.
const JITTER: f64 = 0.04;
/// Triangles of all bodies of a recording together, about; each part has between the two limits.
const TRIANGLES: usize = 400_000;
const LEAST_TRIANGLES: usize = 1_500;
/// Cells along each side of the terrain: 20,000 triangles on its top.
const TERRAIN_CELLS: usize = 100;
/// Side and relief of the terrain [sizes of the largest part].
const TERRAIN: [f64; 2] = [8.0, 1.2];
/// Side and height of the box [sizes].
const BOX: [f64; 2] = [3.0, 1.0];

/// What parts fall on.
#[derive(Debug)]
pub(crate) enum Floor {
    /// Everything below height 0.
    Plane,
    /// A box whose top is at height 0.
    Cuboid(Aabb),
    /// A shape that stays, and its place.
    Solid { title: String, shape: Shape, pose: Pose },
}

/// Where a body starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) part: usize,
    pub(crate) pose: Pose,
}

/// Parts, starts and ground.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) parts: Vec<Solid>,
    pub(crate) names: Vec<String>,
    pub(crate) starts: Vec<Start>,
    pub(crate) floor: Floor,
    /// The box of the ground [m]; infinite for a plane.
    bounds: Aabb,
}

/// How a scene is laid out.
#[derive(Clone, Debug)]
pub(crate) struct SceneParams {
    /// Copies of each part.
    pub(crate) count: usize,
    /// Between the ground's top and the lowest body [m]; none: the size of the largest part.
    pub(crate) height: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) random_rotation: bool,
}

/// Splitmix64: starts do not depend on the machine.
struct Random(u64);

impl Random {
    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Any rotation as likely as any other (Shoemake, 1992).
    fn rotation(&mut self) -> DQuat {
        let (u, v, w) = (self.unit(), self.unit(), self.unit());
        let ((s, c), (t, d)) =
            ((core::f64::consts::TAU * v).sin_cos(), (core::f64::consts::TAU * w).sin_cos());
        let (p, q) = ((1.0 - u).sqrt(), u.sqrt());
        DQuat::from_xyzw(p * s, p * c, q * t, q * d).normalize()
    }
}

/// The rotation that brings `up` to z.
fn upright(up: DVec3) -> DQuat {
    up.try_normalize().map_or(DQuat::IDENTITY, |up| DQuat::from_rotation_arc(up, DVec3::Z))
}

/// The box of a shape turned by `rotation`, around the shape's origin.
fn turned(shape: &Shape, rotation: DQuat) -> Aabb {
    Aabb::of_points(shape.mesh().positions().iter().map(|p| rotation * *p))
}

impl Scene {
    /// Loads parts and ground and places them.
    ///
    /// # Errors
    /// When one cannot be read or built.
    pub(crate) fn load(
        names: &[String],
        onto: &str,
        args: &BuildArgs,
        params: &SceneParams,
        reporter: &Reporter,
    ) -> Result<Self> {
        let mut parts: Vec<Solid> = Vec::new();
        for (i, name) in names.iter().enumerate() {
            // The same input twice is made once.
            let solid = match names[..i].iter().position(|n| n == name) {
                Some(same) => parts[same].clone(),
                None => Solid::load(&Input::parse(name), args, reporter)?,
            };
            let volume = solid.shape.mesh().mass_properties().volume;
            if volume.is_nan() || volume <= 0.0 {
                bail!("{} encloses no volume, so it weighs nothing; give it a thickness", solid.title);
            }
            parts.push(solid);
        }
        let size = parts.iter().map(|p| p.shape.aabb().extent().max_element()).fold(0.0, f64::max);
        let (floor, bounds) = floor(onto, args, size, reporter)?;
        let mut scene = Self { parts, names: Vec::new(), starts: Vec::new(), floor, bounds };
        scene.place(params);
        Ok(scene)
    }

    /// Starts in columns around the middle, layer above layer.
    fn place(&mut self, params: &SceneParams) {
        let count = params.count * self.parts.len();
        let mut random = Random(params.seed);
        let many = count > 1;
        let radius = |s: &Solid| 0.5 * s.shape.aabb().extent().length();
        let cell = ROOM * 2.0 * self.parts.iter().map(radius).fold(0.0, f64::max);
        let side = ((count as f64).sqrt().ceil() as usize).clamp(1, COLUMNS);
        let middle = if self.bounds.min.is_finite() { self.bounds.centre() } else { DVec3::ZERO };
        let sizes = self.parts.iter().map(|p| p.shape.aabb().extent().max_element());
        let base = params.height.unwrap_or_else(|| sizes.fold(0.0, f64::max));
        let mut lowest = f64::INFINITY;
        for i in 0..count {
            let part = i % self.parts.len();
            let solid = &self.parts[part];
            let rotation = match params.random_rotation {
                true => random.rotation(),
                false => upright(solid.up),
            };
            let (column, row, layer) = (i % side, i / side % side, i / (side * side));
            let off = |k: usize| (k as f64 - 0.5 * (side as f64 - 1.0)) * cell;
            let mut jitter = || if many { JITTER * cell * (2.0 * random.unit() - 1.0) } else { 0.0 };
            let at = DVec3::new(off(column) + jitter(), off(row) + jitter(), layer as f64 * cell);
            let aabb = turned(&solid.shape, rotation);
            let centre = DVec3::new(middle.x, middle.y, 0.0) + at - aabb.centre();
            lowest = lowest.min(centre.z + aabb.min.z);
            self.starts.push(Start { part, pose: Pose::new(rotation, centre) });
            self.names.push(if params.count > 1 {
                format!("{} {}", solid.title, i / self.parts.len() + 1)
            } else {
                solid.title.clone()
            });
        }
        let top = if self.bounds.max.z.is_finite() { self.bounds.max.z } else { 0.0 };
        for start in &mut self.starts {
            start.pose.translation.z += top + base - lowest;
        }
    }

    fn centre(&self, body: usize, pose: &Pose) -> DVec3 {
        pose.point(self.parts[self.starts[body].part].shape.aabb().centre())
    }

    /// Whether a body's middle is below the ground.
    pub(crate) fn below(&self, body: usize, pose: &Pose) -> bool {
        let floor = if self.bounds.min.z.is_finite() { self.bounds.min.z } else { 0.0 };
        self.centre(body, pose).z < floor
    }

    /// Whether there is ground above or below a body's middle.
    pub(crate) fn beneath(&self, body: usize, pose: &Pose) -> bool {
        let (c, b) = (self.centre(body, pose), self.bounds);
        let within =
            |x: f64, low: f64, high: f64| !(low.is_finite() && high.is_finite()) || (low..=high).contains(&x);
        within(c.x, b.min.x, b.max.x) && within(c.y, b.min.y, b.max.y)
    }

    /// A recording without frames: parts as they are drawn, bodies and ground.
    pub(crate) fn recording(&self) -> Recording {
        let limit = (TRIANGLES / self.starts.len().max(1)).clamp(LEAST_TRIANGLES, recording::TRIANGLES);
        let drawn = |title: &str, shape: &Shape, limit: usize| {
            let mesh = shape.mesh();
            let (positions, triangles, colours) =
                recording::reduced(mesh.positions(), mesh.triangles(), &[], limit);
            Part { name: title.to_owned(), positions, triangles, colours }
        };
        let mut parts: Vec<Part> = self.parts.iter().map(|p| drawn(&p.title, &p.shape, limit)).collect();
        let ground = match &self.floor {
            Floor::Plane => Ground::Plane { point: DVec3::ZERO, normal: DVec3::Z },
            Floor::Cuboid(aabb) => Ground::Cuboid { aabb: *aabb },
            Floor::Solid { title, shape, pose } => {
                parts.push(drawn(title, shape, recording::TRIANGLES));
                Ground::Part { part: parts.len() as u32 - 1, pose: *pose }
            }
        };
        let body = |(i, start): (usize, &Start)| Body {
            name: self.names[i].clone(),
            part: start.part as u32,
            colour: PALETTE[i % PALETTE.len()],
        };
        let bodies = self.starts.iter().enumerate().map(body).collect();
        Recording { up: DVec3::Z, parts, bodies, ground, ..Recording::default() }
    }
}

/// The ground that was named, and its box.
fn floor(onto: &str, args: &BuildArgs, size: f64, reporter: &Reporter) -> Result<(Floor, Aabb)> {
    let endless = Aabb { min: DVec3::NEG_INFINITY, max: DVec3::new(f64::INFINITY, f64::INFINITY, 0.0) };
    let stays = |title: String, shape: Shape, up: DVec3| {
        let rotation = upright(up);
        let bounds = turned(&shape, rotation);
        (Floor::Solid { title, shape, pose: Pose::new(rotation, DVec3::ZERO) }, bounds)
    };
    match onto {
        "plane" => Ok((Floor::Plane, endless)),
        "box" => {
            let half = 0.5 * BOX[0] * size;
            let aabb =
                Aabb { min: DVec3::new(-half, -half, -BOX[1] * size), max: DVec3::new(half, half, 0.0) };
            Ok((Floor::Cuboid(aabb), aabb))
        }
        "terrain" => {
            reporter.stage("terrain", 0);
            let [side, relief] = TERRAIN.map(|t| t * size);
            let mesh =
                Mesh::new(samples::terrain_slab(side, relief, TERRAIN_CELLS, 1), &RepairParams::default())?;
            // Half a cell of the terrain is as fine as it is.
            let voxel = 0.5 * side / TERRAIN_CELLS as f64;
            let shape = Shape::build(mesh, voxel, &ShapeParams::default()).context("the terrain")?;
            Ok(stays("terrain".to_owned(), shape, DVec3::Z))
        }
        name => {
            let solid = Solid::load(&Input::parse(name), args, reporter).context("the ground")?;
            Ok(stays(solid.title, solid.shape, solid.up))
        }
    }
}
