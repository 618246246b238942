//! Two meshes that wave and come together: z up, the first around the origin, the second along x.

use crate::engine::{self, Input};
use crate::saved;
use anyhow::{Context, Result, bail};
use glam::{DQuat, DVec3};
use palpate::Mesh;
use palpate::math::Aabb;
use palpate::mesh::{RawMesh, RepairParams, samples};
use std::f64::consts::TAU;

/// Waves on the largest side of a mesh.
const WAVES: f64 = 2.0;
/// Periods of the waves in a motion.
const PERIODS: f64 = 4.0;
/// How much faster the second mesh waves [1], and where it begins [rad]: two copies are not each other's mirror.
const SECOND: [f64; 2] = [1.1, 2.0];
/// The way the second comes from.
const FROM: DVec3 = DVec3::new(1.0, 0.12, 0.07);
/// How the second is turned: axis, and angle [rad].
const TURN: (DVec3, f64) = (DVec3::new(1.0, 1.0, 0.3), 0.6);

/// How meshes move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MotionParams {
    pub(crate) steps: usize,
    /// Amplitude of the waves [largest side].
    pub(crate) wave: f64,
    /// Between the meshes at the first step, and how far they are in each other at the last [mean of the largest sides].
    pub(crate) apart: f64,
    pub(crate) overlap: f64,
    /// Triangles of each that are off at the last step [1].
    pub(crate) remove: f64,
}

/// A mesh at rest, around the origin.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) title: String,
    /// [m]
    pub(crate) rest: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Largest side [m].
    pub(crate) size: f64,
    /// In which triangles are switched off: nearest to where the other comes from first.
    order: Vec<u32>,
}

/// Both, and how they move.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) parts: [Part; 2],
    pub(crate) motion: MotionParams,
}

/// What the program has itself.
fn knot() -> RawMesh {
    samples::torus_knot(2, 3, 0.06, 0.02, 0.012, 220, 16)
}

/// The cleaned mesh that was named; `unit` is metres per unit of the file.
fn load(name: Option<&str>, unit: f64) -> Result<(String, Mesh, DVec3)> {
    let Some(name) = name else {
        return Ok(("knot".into(), Mesh::new(knot(), &RepairParams::default())?, DVec3::Z));
    };
    let input = Input::parse(name);
    let mesh = match &input {
        Input::Asset(path) => saved::open(path)?.mesh()?.clone(),
        other => engine::load_mesh(&engine::read(other, unit)?)?.0,
    };
    Ok((input.title(), mesh, input.up()))
}

impl Part {
    fn new(title: String, mesh: &Mesh, up: DVec3) -> Result<Self> {
        let upright = DQuat::from_rotation_arc(up.normalize_or(DVec3::Z), DVec3::Z);
        let mut rest: Vec<DVec3> = mesh.positions().iter().map(|p| upright * *p).collect();
        let aabb = Aabb::of_points(rest.iter().copied());
        let (size, middle) = (aabb.extent().max_element(), aabb.centre());
        if !(size > 0.0 && size.is_finite()) {
            bail!("{title} has no size, so that it cannot wave");
        }
        rest.iter_mut().for_each(|p| *p -= middle);
        Ok(Self { title, rest, triangles: mesh.triangles().to_vec(), size, order: Vec::new() })
    }

    /// Where a triangle's middle is at rest.
    fn middle(&self, triangle: usize) -> DVec3 {
        let corner = |v: &u32| self.rest.get(*v as usize).copied().unwrap_or_default();
        self.triangles.get(triangle).map_or(DVec3::ZERO, |t| t.iter().map(corner).sum::<DVec3>() / 3.0)
    }

    /// Orders triangles by how far they are from the vertex that lies farthest along `way`.
    pub(super) fn sort_from(&mut self, way: DVec3) {
        let farthest = self.rest.iter().copied().max_by(|p, q| p.dot(way).total_cmp(&q.dot(way)));
        let from = farthest.unwrap_or_default();
        let mut all: Vec<(f64, u32)> =
            (0..self.triangles.len()).map(|t| (self.middle(t).distance(from), t as u32)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.order = all.into_iter().map(|(_, t)| t).collect();
    }

    /// Waves run along each axis and move points along the next.
    fn wave(&self, p: DVec3, amplitude: f64, time: f64) -> DVec3 {
        let along = p * (TAU * WAVES / self.size);
        let phases = DVec3::new(along.y + time, along.z + 1.3 * time, along.x + 0.7 * time);
        p + amplitude * self.size * DVec3::new(phases.x.sin(), phases.y.sin(), phases.z.sin())
    }
}

impl Scene {
    /// Loads one or two meshes, or none: then a knot of the program's own. One is there twice.
    ///
    /// # Errors
    /// When one cannot be read, or has no triangle.
    pub(crate) fn load(names: &[String], unit: f64, motion: MotionParams) -> Result<Self> {
        let (title, mesh, up) = load(names.first().map(String::as_str), unit)?;
        let mut a = Part::new(title.clone(), &mesh, up)?;
        let mut b = match names.get(1) {
            Some(name) => {
                let (title, mesh, up) = load(Some(name), unit).context("the second mesh")?;
                Part::new(title, &mesh, up)?
            }
            None => Part::new(title, &mesh, up)?,
        };
        if a.title == b.title {
            a.title += " A";
            b.title += " B";
        }
        if motion.remove > 0.0 {
            a.sort_from(FROM);
            b.sort_from(turn().inverse() * -FROM);
        }
        Ok(Self { parts: [a, b], motion })
    }

    /// How much of the motion is done at a step, 0 to 1.
    fn share(&self, step: usize) -> f64 {
        step as f64 / self.motion.steps.saturating_sub(1).max(1) as f64
    }

    /// How far apart the middles are at a step [m].
    pub(crate) fn offset(&self, step: usize) -> f64 {
        let (first, last) = (1.0 + self.motion.apart, 1.0 - self.motion.overlap);
        0.5 * (self.parts[0].size + self.parts[1].size) * (first + (last - first) * self.share(step))
    }

    /// Where the vertices are at a step [m].
    pub(crate) fn place(&self, step: usize, positions: &mut [Vec<DVec3>; 2]) {
        let (time, turn) = (TAU * PERIODS * self.share(step), turn());
        let (wave, moved) = (self.motion.wave, FROM.normalize() * self.offset(step));
        let [a, b] = &self.parts;
        let [to_a, to_b] = positions;
        to_a.clear();
        to_a.extend(a.rest.iter().map(|p| a.wave(*p, wave, time)));
        to_b.clear();
        to_b.extend(b.rest.iter().map(|p| turn * b.wave(*p, wave, SECOND[0] * time + SECOND[1]) + moved));
    }

    /// Triangles of a part that are off at a step, in the order in which they are switched off.
    pub(crate) fn off(&self, part: usize, step: usize) -> &[u32] {
        let order = &self.parts[part].order;
        let count = (self.motion.remove * self.share(step) * order.len() as f64).round() as usize;
        &order[..count.min(order.len())]
    }
}

fn turn() -> DQuat {
    DQuat::from_axis_angle(TURN.0.normalize(), TURN.1)
}
