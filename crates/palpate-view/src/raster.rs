//! Triangles and balls to pixels: camera, projection, z-buffer.
//!
//! A visibility buffer holds, for each sample, which primitive is nearest and where on it; `shade` turns that
//! into colours afterwards, so that cost of light does not grow with overdraw.

use crate::image::{Image, Rgb};
use crate::scene::{Dot, Scene, Tri};
use crate::shade;
use glam::{DVec3, Vec3};
use palpate::math::Aabb;
use palpate::par;

/// Rows of samples rasterized as one parallel piece.
const BAND: usize = 32;

/// Projected corners are rounded to 1/256 of a sample, so that edge functions are exact in f64 and triangles that
/// share an edge leave no gap.
const SNAP: f32 = 256.0;

/// Marks the index of a ball in a [`Sample`].
const DOT_BIT: u32 = 1 << 31;

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

/// Size, quality and surroundings of a picture.
#[derive(Clone, Copy, Debug)]
pub struct RenderParams {
    /// Width \[pixels\].
    pub width: u32,
    /// Height \[pixels\].
    pub height: u32,
    /// Samples a pixel along each axis, 1 to 4.
    pub supersample: u32,
    /// Colour behind everything; none: transparent.
    pub background: Option<Rgb>,
    /// Whether a soft shadow lies on the ground below the object.
    pub ground: bool,
}

impl Default for RenderParams {
    fn default() -> Self {
        Self { width: 1200, height: 900, supersample: 2, background: None, ground: true }
    }
}

/// Draws the scene. A scene with nothing to see gives the bare background.
///
/// Cost: linear in triangles and samples; about 1 s of processor time for 100,000 triangles at 1200 x 900.
pub fn render(scene: &Scene, camera: &Camera, params: &RenderParams) -> Image {
    let mut image = Image::new(params.width, params.height);
    let factor = params.supersample.clamp(1, 4);
    let size = [image.width() * factor, image.height() * factor];
    if let Some(view) = View::framing(scene, camera, size) {
        let samples = rasterize(scene, &view);
        shade::resolve(scene, &view, &samples, factor, params.ground, &mut image);
    }
    match params.background {
        Some(colour) => image.over(colour),
        None => image,
    }
}

/// Draws `solid` as [`render`] does, and over it each of `glasses` as if made of tinted glass: what is behind shines
/// through, most where a surface faces the eye.
///
/// All scenes must share one origin (see [`Scene::around`]); without a frame the camera shows all of them. Of each glass
/// only the nearest surface is seen. No ground. Cost: one [`render`] for each scene.
pub fn render_through(solid: &Scene, glasses: &[Scene], camera: &Camera, params: &RenderParams) -> Image {
    let mut image = Image::new(params.width, params.height);
    let factor = params.supersample.clamp(1, 4);
    let (width, height) = (image.width() as usize, image.height() as usize);
    let size = [image.width() * factor, image.height() * factor];
    let all = || glasses.iter().chain([solid]);
    // One view for all: of the frame, or of everything together.
    let mut together = Scene::around(solid.origin());
    for scene in all().filter(|_| camera.frame.is_none()) {
        together.tris.extend_from_slice(&scene.tris);
        together.dots.extend_from_slice(&scene.dots);
    }
    let view = View::framing(&together, camera, size);
    drop(together);
    let Some(view) = view else { return params.background.map_or(image.clone(), |c| image.over(c)) };
    let mut layers = Vec::new();
    for scene in all() {
        let samples = rasterize(scene, &view);
        let mut picture = Image::new(params.width, params.height);
        shade::resolve(scene, &view, &samples, factor, false, &mut picture);
        let glass = !core::ptr::eq(scene, solid);
        let veil =
            par::map(width * height, |i| veil(scene, &view, &samples, factor, i % width, i / width, glass));
        layers.push((picture, veil));
    }
    par::chunks_mut(image.rgba_mut(), width * 4, |y, row| {
        let mut order: Vec<usize> = (0..layers.len()).collect();
        for (x, pixel) in row.chunks_exact_mut(4).enumerate() {
            let at = y * width + x;
            // Far to near; a later layer wins a tie.
            order.sort_by(|a, b| layers[*a].1[at].1.total_cmp(&layers[*b].1[at].1).then(a.cmp(b)));
            let mut sum = [0.0_f32; 4];
            // What is solid is drawn last, and shown more clearly through the glass.
            let solid = layers.last().map_or(0.0, |l| l.1[at].0);
            for &l in &order {
                let (alpha, _) = layers[l].1[at];
                let alpha = if l + 1 < layers.len() { alpha * (1.0 - CLEARER * solid) } else { alpha };
                let colour = layers[l].0.pixel(x as u32, y as u32);
                for c in 0..3 {
                    sum[c] = sum[c] * (1.0 - alpha) + alpha * f32::from(colour[c]);
                }
                sum[3] = sum[3] * (1.0 - alpha) + alpha;
            }
            if sum[3] > 0.0 {
                for c in 0..3 {
                    pixel[c] = (sum[c] / sum[3] + 0.5) as u8;
                }
                pixel[3] = (255.0 * sum[3] + 0.5) as u8;
            }
        }
    });
    match params.background {
        Some(colour) => image.over(colour),
        None => image,
    }
}

/// Opacity of glass seen straight on, and along its surface.
const GLASS: [f32; 2] = [0.30, 0.88];

/// How much more clearly what is solid is seen through glass than what is of glass.
const CLEARER: f32 = 0.45;

/// How much a pixel of one layer hides what is behind it, and how near it is.
fn veil(
    scene: &Scene,
    view: &View,
    samples: &[Sample],
    factor: u32,
    x: usize,
    y: usize,
    glass: bool,
) -> (f32, f32) {
    let (mut alpha, mut near, mut hits) = (0.0, 0.0, 0.0);
    for sub in 0..factor * factor {
        let sx = x * factor as usize + (sub % factor) as usize;
        let sy = y * factor as usize + (sub / factor) as usize;
        let sample = &samples[sy * view.size[0] as usize + sx];
        let Some(seen) = sample.seen(scene, view) else { continue };
        let facing = match seen {
            Seen::Tri(t, w) => {
                let normal = w.x * t.normals[0] + w.y * t.normals[1] + w.z * t.normals[2];
                normal.normalize_or_zero().dot(view.toward).abs()
            }
            Seen::Dot(..) => 1.0,
        };
        let edge = (1.0 - facing).clamp(0.0, 1.0);
        alpha += if glass { GLASS[0] + (GLASS[1] - GLASS[0]) * edge * edge } else { 1.0 };
        near += sample.near;
        hits += 1.0;
    }
    if hits == 0.0 {
        return (0.0, f32::NEG_INFINITY);
    }
    (alpha / (factor * factor) as f32, near / hits)
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
    fn framing(scene: &Scene, camera: &Camera, size: [u32; 2]) -> Option<Self> {
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

/// What one sample of the screen sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Nearness as [`View::project`] gives it; −∞ where nothing is.
    pub(crate) near: f32,
    id: u32,
    /// Triangle: screen weights of its second and third corner. Ball: offset from its centre in radii.
    u: f32,
    v: f32,
}

/// A primitive seen by a sample.
pub(crate) enum Seen<'a> {
    /// A triangle and the (perspective-correct) weights of its corners.
    Tri(&'a Tri, Vec3),
    /// A ball and the offset from its centre, in radii, along right and up.
    Dot(&'a Dot, f32, f32),
}

impl Sample {
    const NONE: Self = Self { near: f32::NEG_INFINITY, id: u32::MAX, u: 0.0, v: 0.0 };

    pub(crate) fn seen<'a>(&self, scene: &'a Scene, view: &View) -> Option<Seen<'a>> {
        if self.near == f32::NEG_INFINITY {
            return None;
        }
        if self.id & DOT_BIT != 0 {
            return scene.dots.get((self.id & !DOT_BIT) as usize).map(|d| Seen::Dot(d, self.u, self.v));
        }
        let tri = scene.tris.get(self.id as usize)?;
        let mut weights = Vec3::new(1.0 - self.u - self.v, self.u, self.v);
        if view.eye > 0.0 {
            // Screen weights are linear in position / depth: divide by each corner's depth and normalise.
            weights *= Vec3::from_array(tri.corners.map(|c| view.project(c)[2]));
            weights /= weights.element_sum();
        }
        Some(Seen::Tri(tri, weights))
    }
}

struct Flat {
    xy: [[f32; 2]; 3],
    near: [f32; 3],
}

struct Disc {
    xy: [f32; 2],
    radius: f32,
}

/// Nearest primitive for every sample of the view, row by row from the top. Ties go to the smaller index.
pub(crate) fn rasterize(scene: &Scene, view: &View) -> Vec<Sample> {
    let [width, height] = view.size.map(|s| s as usize);
    let flats = par::map(scene.tris.len(), |i| {
        let corners = scene.tris[i].corners.map(|c| view.project(c));
        let xy = corners.map(|[x, y, _]| [(x * SNAP).round() / SNAP, (y * SNAP).round() / SNAP]);
        Flat { xy, near: corners.map(|c| c[2]) }
    });
    let discs = par::map(scene.dots.len(), |i| {
        let dot = &scene.dots[i];
        let [x, y, near] = view.project(dot.centre);
        let radius = if near.is_nan() { 0.0 } else { dot.radius * view.samples_per_length(dot.centre) };
        Disc { xy: [x, y], radius }
    });
    // Which primitives touch which band of rows; in index order, so that ties do not depend on threads.
    let bands = height.div_ceil(BAND).max(1);
    let mut bins = vec![Vec::new(); bands];
    let mut bin = |low: f32, high: f32, id: u32| {
        if high >= 0.0 && low <= height as f32 {
            let first = (low.max(0.0) as usize / BAND).min(bands - 1);
            let last = (high.max(0.0) as usize / BAND).min(bands - 1);
            bins[first..=last].iter_mut().for_each(|b| b.push(id));
        }
    };
    for (i, f) in flats.iter().enumerate() {
        let ys = f.xy.map(|p| p[1]);
        if f.near.iter().all(|n| !n.is_nan()) && f.xy.iter().all(|p| p[0].is_finite() && p[1].is_finite()) {
            bin(ys[0].min(ys[1]).min(ys[2]), ys[0].max(ys[1]).max(ys[2]), i as u32);
        }
    }
    for (i, d) in discs.iter().enumerate().filter(|(_, d)| d.radius > 0.0 && d.xy[0].is_finite()) {
        bin(d.xy[1] - d.radius, d.xy[1] + d.radius, i as u32 | DOT_BIT);
    }
    let mut samples = vec![Sample::NONE; width * height];
    par::chunks_mut(&mut samples, BAND * width, |band, rows| {
        let top = band * BAND;
        for &id in &bins[band] {
            if id & DOT_BIT == 0 {
                fill_flat(rows, width, top, id, &flats[id as usize]);
            } else {
                let i = (id & !DOT_BIT) as usize;
                fill_disc(rows, width, top, id, &discs[i], &scene.dots[i], view);
            }
        }
    });
    samples
}

/// The whole samples whose centres lie in [low, high], cut to 0..limit.
fn span(low: f32, high: f32, limit: usize) -> std::ops::Range<usize> {
    let first = (low - 0.5).ceil().max(0.0) as usize;
    let end = ((high - 0.5).floor() + 1.0).max(0.0) as usize;
    first.min(limit)..end.min(limit)
}

fn fill_flat(rows: &mut [Sample], width: usize, top: usize, id: u32, flat: &Flat) {
    let [a, b, c] = flat.xy.map(|p| p.map(f64::from));
    let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if area == 0.0 {
        return;
    }
    let (turn, size, inverse) = (area.signum(), area.abs(), area.abs().recip());
    let height = rows.len() / width;
    let xs = flat.xy.map(|p| p[0]);
    let ys = flat.xy.map(|p| p[1] - top as f32);
    let columns = span(xs[0].min(xs[1]).min(xs[2]), xs[0].max(xs[1]).max(xs[2]), width);
    // How each edge function changes along a row.
    let (along_b, along_c) = (turn * (c[1] - a[1]), -turn * (b[1] - a[1]));
    for row in span(ys[0].min(ys[1]).min(ys[2]), ys[0].max(ys[1]).max(ys[2]), height) {
        let py = (top + row) as f64 + 0.5;
        // Only the part of the row between the edges, give or take a sample: the test below decides.
        let start_b = turn * (-a[0] * (c[1] - a[1]) - (py - a[1]) * (c[0] - a[0]));
        let start_c = turn * ((b[0] - a[0]) * (py - a[1]) + (b[1] - a[1]) * a[0]);
        let edges = [(start_b, along_b), (start_c, along_c), (size - start_b - start_c, -along_b - along_c)];
        let (mut low, mut high) = (columns.start as f64, columns.end as f64);
        for (start, along) in edges {
            if along > 0.0 {
                low = low.max(-start / along - 1.5);
            } else if along < 0.0 {
                high = high.min(-start / along + 1.5);
            }
        }
        for column in (low as usize).max(columns.start)..(high.max(0.0) as usize).min(columns.end) {
            let px = column as f64 + 0.5;
            // Exact in f64, because coordinates are multiples of 1/256 below 2^16.
            let at_b = (px - a[0]) * (c[1] - a[1]) - (py - a[1]) * (c[0] - a[0]);
            let at_c = (b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0]);
            // Closed test: a sample on a shared edge belongs to both triangles, the z-buffer chooses.
            let (at_b, at_c) = (at_b * turn, at_c * turn);
            if at_b < 0.0 || at_c < 0.0 || at_b + at_c > size {
                continue;
            }
            let (u, v) = ((at_b * inverse) as f32, (at_c * inverse) as f32);
            let near = (1.0 - u - v) * flat.near[0] + u * flat.near[1] + v * flat.near[2];
            let sample = &mut rows[row * width + column];
            if near > sample.near {
                *sample = Sample { near, id, u, v };
            }
        }
    }
}

fn fill_disc(rows: &mut [Sample], width: usize, top: usize, id: u32, disc: &Disc, dot: &Dot, view: &View) {
    let height = rows.len() / width;
    let (cx, cy, r) = (disc.xy[0], disc.xy[1] - top as f32, disc.radius);
    for row in span(cy - r, cy + r, height) {
        for column in span(cx - r, cx + r, width) {
            let (u, v) = ((column as f32 + 0.5 - cx) / r, -(row as f32 + 0.5 - cy) / r);
            let rest = 1.0 - u * u - v * v;
            if rest < 0.0 {
                continue;
            }
            let near = view.project(dot.centre + dot.radius * rest.sqrt() * view.toward)[2];
            let sample = &mut rows[row * width + column];
            if near > sample.near {
                *sample = Sample { near, id, u, v };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Paint;

    fn square(z: f64) -> ([DVec3; 4], [[u32; 3]; 2]) {
        let at = |x: f64, y: f64| DVec3::new(x, y, z);
        ([at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)], [[0, 1, 2], [0, 2, 3]])
    }

    fn top_view() -> Camera {
        Camera { toward: DVec3::Z, up: DVec3::Y, lens: Lens::Orthographic, frame: None }
    }

    fn small() -> RenderParams {
        RenderParams { width: 64, height: 48, supersample: 2, background: None, ground: false }
    }

    #[test]
    fn nearer_square_hides_the_other_and_shared_edges_have_no_gap() {
        let mut scene = Scene::new();
        let (p, t) = square(0.0);
        scene.mesh(&p, &t, Paint::Plain([255, 0, 0]));
        let (p, t) = square(0.5);
        scene.mesh(&p, &t, Paint::Plain([0, 0, 255]));
        let image = render(&scene, &top_view(), &small());
        let opaque: Vec<_> = image.rgba().chunks(4).filter(|p| p[3] == 255).collect();
        // The square fills the height but for the 7 % margins: 41 x 41 pixels.
        assert!((40 * 40..=43 * 43).contains(&opaque.len()), "{}", opaque.len());
        assert!(opaque.iter().all(|p| p[2] > 100 && p[0] < 60), "only the blue one is seen");
    }

    #[test]
    fn what_is_behind_glass_shines_through() {
        let (mut solid, mut glass) = (Scene::around(DVec3::ZERO), Scene::around(DVec3::ZERO));
        let (p, t) = square(0.5);
        glass.mesh(&p, &t, Paint::Plain([0, 0, 255]));
        solid.points(&[DVec3::ZERO], 0.3, [255, 0, 0]);
        let camera = top_view();
        let image = render_through(&solid, &[glass.clone()], &camera, &small());
        let [r, _, b, a] = image.pixel(32, 24);
        assert!(r > 90 && b > 25 && a == 255, "the ball behind the pane: {r} {b} {a}");
        let [r, _, b, a] = image.pixel(16, 24);
        assert!(r < 60 && b > 100 && (40..120).contains(&a), "the pane alone: {r} {b} {a}");
        // In front of the pane the ball hides it.
        let mut solid = Scene::around(DVec3::ZERO);
        solid.points(&[DVec3::Z], 0.3, [255, 0, 0]);
        let [r, _, b, _] = render_through(&solid, &[glass], &camera, &small()).pixel(32, 24);
        assert!(r > 120 && b < 60, "{r} {b}");
        let none = render_through(&Scene::new(), &[Scene::new()], &Camera::default(), &small());
        assert!(none.rgba().iter().all(|v| *v == 0));
    }

    #[test]
    fn perspective_frames_any_scale_and_place() {
        for scale in [1e-3, 1.0, 1e3] {
            let (p, t) = square(0.3);
            let far = DVec3::splat(5e4 * scale);
            let p: Vec<DVec3> = p.iter().map(|p| scale * *p + far).collect();
            let mut scene = Scene::new();
            scene.mesh(&p, &t, Paint::Plain([200; 3]));
            let image = render(&scene, &Camera::default(), &small());
            let share = image.rgba().chunks(4).filter(|p| p[3] > 0).count() as f64 / (64.0 * 48.0);
            assert!((0.2..0.8).contains(&share), "{scale}: {share}");
        }
    }

    #[test]
    fn empty_flat_and_huge_scenes_do_not_panic() {
        let params = RenderParams { background: Some([1, 2, 3]), ..small() };
        let image = render(&Scene::new(), &Camera::default(), &params);
        assert!(image.rgba().chunks(4).all(|p| p == [1, 2, 3, 255]));
        let mut scene = Scene::new();
        scene.points(&[DVec3::ZERO, DVec3::ONE * 1e30, DVec3::splat(f64::NAN)], 1e-9, [5; 3]);
        let camera = Camera { toward: DVec3::ZERO, up: DVec3::ZERO, ..Camera::default() };
        let _ = render(&scene, &camera, &params);
    }

    #[test]
    fn same_pixels_on_any_number_of_threads() {
        let mut scene = Scene::new();
        let cells: Vec<[i32; 3]> = (0..60).map(|i| [i * 7 % 5, i * 3 % 4, i % 6]).collect();
        scene.voxels(&cells, DVec3::ZERO, 0.1, |c| [c[0] as u8 * 40, 90, 120]);
        scene.points(&[DVec3::new(0.25, 0.2, 0.7)], 0.05, [255, 90, 0]);
        let draw = |n| par::with_threads(n, || render(&scene, &Camera::default(), &small()));
        assert_eq!(draw(1), draw(3));
    }

    #[test]
    fn triangles_cover_exactly_the_samples_inside_them() {
        let mut seed = 7_u32;
        let mut place = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Beyond the picture too, on multiples of 1/256.
            ((seed >> 8) % 24_000) as f32 / SNAP - 16.0
        };
        let (mut covered, mut thin) = (0, 0);
        for _ in 0..400 {
            let base = [place(), place()];
            let narrow = [base[0] + 0.02 * place(), base[1] + 60.0].map(|v| (v * SNAP).round() / SNAP);
            let flat = Flat { xy: [base, [place(), place()], narrow], near: [1.0; 3] };
            let mut rows = vec![Sample::NONE; 64 * 64];
            fill_flat(&mut rows, 64, 0, 0, &flat);
            let [a, b, c] = flat.xy.map(|p| p.map(f64::from));
            let edge = |p: [f64; 2], q: [f64; 2], x: f64, y: f64| {
                (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])
            };
            let area = edge(a, b, c[0], c[1]);
            thin += u32::from(area.abs() < 300.0);
            for (i, sample) in rows.iter().enumerate() {
                let (x, y) = ((i % 64) as f64 + 0.5, (i / 64) as f64 + 0.5);
                let sides = [edge(a, b, x, y), edge(b, c, x, y), edge(c, a, x, y)];
                let inside = area != 0.0 && sides.iter().all(|s| s * area >= 0.0);
                assert_eq!(sample.near > 0.5, inside, "{:?} at {x} {y}", flat.xy);
                covered += usize::from(inside);
            }
        }
        assert!(covered > 50_000 && thin > 20, "{covered} {thin}");
    }
}
