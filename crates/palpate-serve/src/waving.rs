//! Two meshes that wave; one of them follows the hand until their triangles meet.

use crate::stage::{Act, Grip, Now};
use crate::touch::Mark;
use glam::DVec3;
use palpate::math::{Pose, Wrench};
use palpate::soft::{Soft, SoftMesh, SoftParams, contacts};
use std::f64::consts::TAU;
use std::time::Instant;

/// Ticks between questions: 250 a second, which is often enough for waves.
const EVERY: u64 = 4;
/// Waves on a mesh, and in a second [1, Hz].
const WAVES: f64 = 3.0;
const FREQUENCY: f64 = 0.7;
/// How high they are, of the mesh's size [1].
const HEIGHT: f64 = 0.035;
/// Fastest motion of the tool [sizes of it in a step]: faster it could pass through.
const FASTEST: f64 = 0.02;
/// Share of a depth that a step takes back [1].
const GIVE_BACK: f64 = 0.5;
/// Force for each metre between hand and tool [N/m], and the largest [N].
const STIFFNESS: f64 = 200.0;
const MOST_FORCE: f64 = 10.0;

/// A mesh at rest, and as it is now.
#[derive(Debug)]
struct Part {
    rest: Vec<DVec3>,
    normals: Vec<DVec3>,
    size: f64,
    phase: f64,
    /// In its own frame [m].
    local: Vec<DVec3>,
    world: Vec<DVec3>,
    mesh: SoftMesh,
}

impl Part {
    fn new(rest: Vec<DVec3>, triangles: Vec<[u32; 3]>, phase: f64) -> Result<Self, String> {
        let size = palpate::math::Aabb::of_points(rest.iter().copied()).extent().max_element();
        let normals = rest.iter().map(|p| p.normalize_or_zero()).collect();
        let mesh = SoftMesh::new(rest.clone(), triangles).map_err(|e| e.to_string())?;
        Ok(Self { local: rest.clone(), world: rest.clone(), rest, normals, size, phase, mesh })
    }

    fn wave(&mut self, time: f64, pose: &Pose) {
        let (height, count) = (HEIGHT * self.size, WAVES * TAU / self.size);
        for (i, p) in self.rest.iter().enumerate() {
            let angle = count * (p.x + 0.4 * p.y) + TAU * FREQUENCY * time + self.phase;
            self.local[i] = *p + self.normals[i] * height * angle.sin();
            self.world[i] = pose.point(self.local[i]);
        }
        // As many as before: it cannot fail.
        let _ = self.mesh.set_positions(&self.world);
    }
}

/// See the module. Body 0 stays, body 1 is the tool.
#[derive(Debug)]
pub(crate) struct Waving {
    parts: [Part; 2],
    soft: Soft,
    ticks: u64,
    start: Pose,
    tool: Pose,
    pushed: bool,
}

impl Waving {
    /// Two meshes around their origins: where their vertices are and their triangles.
    ///
    /// # Errors
    /// When one is no mesh.
    pub(crate) fn new(
        a: (Vec<DVec3>, Vec<[u32; 3]>),
        b: (Vec<DVec3>, Vec<[u32; 3]>),
        start: Pose,
    ) -> Result<Self, String> {
        let parts = [Part::new(a.0, a.1, 0.0)?, Part::new(b.0, b.1, 2.0)?];
        Ok(Self { parts, soft: Soft::new(), ticks: 0, start, tool: start, pushed: false })
    }
}

impl Act for Waving {
    fn step(&mut self, grip: &Grip, now: &mut Now) {
        self.ticks += 1;
        now.bodies.resize(2, Pose::IDENTITY);
        if self.ticks % EVERY != 1 {
            return;
        }
        let began = Instant::now();
        let most = FASTEST * self.parts[1].size;
        let wish = grip.target.translation - self.tool.translation;
        let mut next = Pose::new(grip.target.rotation, self.tool.translation + wish.clamp_length_max(most));
        if !next.is_finite() {
            next = self.tool;
        }
        let time = self.ticks as f64 * 1e-3;
        let [a, b] = &mut self.parts;
        a.wave(time, &Pose::IDENTITY);
        b.wave(time, &next);
        let pairs = self.soft.pairs(&a.mesh, &b.mesh, &SoftParams::default());
        let found = contacts(&a.mesh, &b.mesh, pairs);
        now.micros = began.elapsed().as_secs_f64() * 1e6;
        now.marks.clear();
        now.marks.extend(found.iter().map(|c| Mark { point: c.point, normal: c.normal, depth: c.depth }));
        // Out along what the contacts say together; without any, on towards the hand.
        let middle = next.translation.normalize_or_zero();
        let deepest = found.iter().map(|c| c.depth).fold(0.0, f64::max);
        let way: DVec3 = found.iter().map(|c| c.normal * c.depth).sum();
        let way = (way.normalize_or_zero() + middle).normalize_or_zero();
        self.pushed = !found.is_empty();
        let back = way * (GIVE_BACK * deepest + if self.pushed { wish.length().min(most) } else { 0.0 });
        self.tool = Pose::new(next.rotation, next.translation + back);
        now.bodies[1] = self.tool;
        now.centre = self.tool.translation;
        let stretch = self.tool.translation - grip.target.translation;
        let felt = self.pushed || now.wrench.force != DVec3::ZERO && stretch.length() > most;
        let force = if felt { (STIFFNESS * stretch).clamp_length_max(MOST_FORCE) } else { DVec3::ZERO };
        now.wrench = Wrench { force, torque: DVec3::ZERO };
        now.depth = if felt { stretch.length() } else { 0.0 };
    }

    fn reset(&mut self) {
        self.tool = self.start;
    }

    fn deformed(&self, out: &mut Vec<(usize, Vec<f32>)>) {
        for (i, part) in self.parts.iter().enumerate() {
            out.push((i, part.local.iter().flat_map(|p| p.as_vec3().to_array()).collect()));
        }
    }
}
