//! Triangles and balls to pixels: the z-buffer.
//!
//! A visibility buffer holds, for each sample, which primitive is nearest and where on it; `shade` turns that
//! into colours afterwards, so that cost of light does not grow with overdraw.

use crate::camera::{Camera, View};
use crate::image::{Image, Rgb};
use crate::scene::{Dot, Scene, Tri};
use crate::shade;
use glam::Vec3;
use palpate::par;

/// Rows of samples rasterized as one parallel piece.
const BAND: usize = 32;

/// Projected corners are rounded to 1/256 of a sample, so that edge functions are exact in f64 and triangles that
/// share an edge leave no gap.
const SNAP: f32 = 256.0;

/// Marks the index of a ball in a [`Sample`].
const DOT_BIT: u32 = 1 << 31;

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
pub(crate) mod tests {
    use super::*;
    use crate::camera::Lens;
    use crate::scene::Paint;
    use glam::DVec3;

    pub(crate) fn square(z: f64) -> ([DVec3; 4], [[u32; 3]; 2]) {
        let at = |x: f64, y: f64| DVec3::new(x, y, z);
        ([at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)], [[0, 1, 2], [0, 2, 3]])
    }

    pub(crate) fn top_view() -> Camera {
        Camera { toward: DVec3::Z, up: DVec3::Y, lens: Lens::Orthographic, frame: None }
    }

    pub(crate) fn small() -> RenderParams {
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
