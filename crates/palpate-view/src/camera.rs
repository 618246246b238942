//! Where the eye is, and where a place is on the screen.

use crate::scene::Scene;
use glam::{DVec3, Vec3};
use palpate::math::Aabb;

/// How the picture is projected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// Central projection with this full opening angle \[rad\], for the ball around what is framed.
    Perspective(f64),
    /// Parallel projection.
    Orthographic,
}

/// Where the eye is. The picture always shows the whole frame, centred, whatever its size.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// From the object towards the eye; any length. Zero or non-finite: the default.
    pub toward: DVec3,
    /// What is up in the picture; any length, not parallel to `toward`.
    pub up: DVec3,
    /// Kind of projection.
    pub lens: Lens,
    /// The box to frame \[m\]; none: what is drawn.
    pub frame: Option<Aabb>,
}

impl Default for Camera {
    fn default() -> Self {
        Self { toward: DVec3::new(1.0, -1.6, 0.9), up: DVec3::Z, lens: Lens::Perspective(0.5), frame: None }
    }
}

impl Camera {
    /// A three-quarter view from the front right and a little above, with `up` one of the axes.
    pub fn three_quarter(up: DVec3) -> Self {
        let up = up.try_normalize().unwrap_or(DVec3::Z);
        let front = front_of(up);
        let right = up.cross(front);
        Self { toward: 0.62 * right + front + 0.52 * up, up, ..Self::default() }
    }

    /// The coordinate axis that faces the viewer of a [`Camera::three_quarter`] view.
    pub fn front(&self) -> DVec3 {
        front_of(self.up.try_normalize().unwrap_or(DVec3::Z))
    }
}

/// The axis that faces the viewer when `up` is up: -y for z, z for y, -z for x.
fn front_of(up: DVec3) -> DVec3 {
    if up.y.abs() > 0.9 {
        DVec3::Z
    } else if up.x.abs() > 0.9 {
        -DVec3::Z
    } else {
        -DVec3::Y
    }
}

/// A camera made concrete for one scene and size. Positions are relative to the scene's origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) centre: Vec3,
    pub(crate) right: Vec3,
    pub(crate) up: Vec3,
    pub(crate) toward: Vec3,
    /// The camera's `up` before it was made perpendicular: the ground's normal.
    pub(crate) world_up: Vec3,
    /// Radius of the ball around what is framed.
    pub(crate) radius: f32,
    /// Distance of the eye from the centre; 0 means parallel projection.
    pub(crate) eye: f32,
    scale: f32,
    shift: [f32; 2],
    pub(crate) size: [u32; 2],
}

impl View {
    pub(crate) fn framing(scene: &Scene, camera: &Camera, size: [u32; 2]) -> Option<Self> {
        let origin = scene.origin();
        let corners_of = |b: Aabb| {
            let at = |i: usize, bit: usize, lo: f64, hi: f64| if i >> bit & 1 == 1 { hi } else { lo };
            (0..8).map(move |i| {
                let x = at(i, 0, b.min.x, b.max.x);
                let y = at(i, 1, b.min.y, b.max.y);
                (DVec3::new(x, y, at(i, 2, b.min.z, b.max.z)) - origin).as_vec3()
            })
        };
        let points: Vec<Vec3> = match camera.frame {
            Some(b) => corners_of(b).collect(),
            None => {
                let balls = scene.dots.iter().flat_map(|d| [d.centre - d.radius, d.centre + d.radius]);
                scene.tris.iter().flat_map(|t| t.corners).chain(balls).collect()
            }
        };
        let low = points.iter().fold(Vec3::INFINITY, |a, p| a.min(*p));
        let high = points.iter().fold(Vec3::NEG_INFINITY, |a, p| a.max(*p));
        let centre = 0.5 * (low + high);
        let radius = points.iter().fold(0.0_f32, |r, p| r.max(p.distance(centre)));
        if points.is_empty() || !centre.is_finite() || !radius.is_finite() {
            return None;
        }
        let radius = radius.max(f32::MIN_POSITIVE.sqrt());
        let fallback = Camera::default();
        let toward = camera.toward.try_normalize().or(fallback.toward.try_normalize())?;
        let world_up = camera.up.try_normalize().unwrap_or(DVec3::Z);
        let right = world_up.cross(toward).try_normalize().unwrap_or(toward.any_orthonormal_vector());
        let eye = match camera.lens {
            Lens::Perspective(angle) => radius / (0.5 * angle as f32).clamp(0.02, 1.2).sin(),
            Lens::Orthographic => 0.0,
        };
        let mut view = Self {
            centre,
            right: right.as_vec3(),
            up: toward.cross(right).as_vec3(),
            toward: toward.as_vec3(),
            world_up: world_up.as_vec3(),
            radius,
            eye,
            scale: 1.0,
            shift: [0.0; 2],
            size,
        };
        view.fit(&points);
        Some(view)
    }

    /// Chooses scale and shift so that the projected points fill the picture but for a margin.
    fn fit(&mut self, points: &[Vec3]) {
        /// Part of the picture left free on each side; the ground's shadow needs some room.
        const MARGIN: f32 = 0.07;
        let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
        for p in points {
            let [x, y, _] = self.project(*p);
            low = [low[0].min(x), low[1].min(y)];
            high = [high[0].max(x), high[1].max(y)];
        }
        let [w, h] = self.size.map(|s| s as f32 * (1.0 - 2.0 * MARGIN));
        let tiny = 1e-6 * if self.eye > 0.0 { self.radius / self.eye } else { self.radius };
        self.scale = (w / (high[0] - low[0]).max(tiny)).min(h / (high[1] - low[1]).max(tiny));
        self.shift = [0, 1].map(|i| 0.5 * self.size[i] as f32 - self.scale * 0.5 * (low[i] + high[i]));
    }

    /// Sample coordinates (from the top left) and nearness, which grows towards the eye and is linear on the
    /// screen; NaN behind the eye.
    pub(crate) fn project(&self, p: Vec3) -> [f32; 3] {
        let d = p - self.centre;
        let (x, y, z) = (d.dot(self.right), -d.dot(self.up), d.dot(self.toward));
        if self.eye > 0.0 {
            let inverse = 1.0 / (self.eye - z);
            let inverse = if inverse > 0.0 && inverse.is_finite() { inverse } else { f32::NAN };
            [self.scale * x * inverse + self.shift[0], self.scale * y * inverse + self.shift[1], inverse]
        } else {
            [self.scale * x + self.shift[0], self.scale * y + self.shift[1], z]
        }
    }

    /// How many samples a length at point `p` covers on the screen.
    pub(crate) fn samples_per_length(&self, p: Vec3) -> f32 {
        if self.eye > 0.0 { self.scale / (self.eye - (p - self.centre).dot(self.toward)) } else { self.scale }
    }

    /// The line of sight through a sample: a point on it and its unit direction, away from the eye.
    pub(crate) fn ray(&self, x: f32, y: f32) -> (Vec3, Vec3) {
        let (u, v) = ((x - self.shift[0]) / self.scale, -(y - self.shift[1]) / self.scale);
        if self.eye > 0.0 {
            let eye = self.centre + self.eye * self.toward;
            (eye, (u * self.right + v * self.up - self.toward).normalize_or_zero())
        } else {
            (self.centre + u * self.right + v * self.up + 4.0 * self.radius * self.toward, -self.toward)
        }
    }

    /// A parallel view of the same scene from direction `toward`, square, that holds everything framed.
    pub(crate) fn seen_from(&self, toward: Vec3, side: u32) -> Self {
        let right = toward.any_orthonormal_vector();
        let scale = side as f32 / (2.1 * self.radius);
        let half = 0.5 * side as f32;
        let up = toward.cross(right);
        Self { right, up, toward, eye: 0.0, scale, shift: [half; 2], size: [side; 2], ..*self }
    }
}
