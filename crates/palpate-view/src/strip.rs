//! Frames of a recording as pictures: one, or several side by side.

use crate::camera::{Camera, Lens};
use crate::font;
use crate::image::{Image, Rgb};
use crate::raster::{RenderParams, render};
use crate::recording::{Frame, Ground, Recording};
use crate::scene::{Paint, Scene};
use glam::DVec3;
use palpate::Pose;
use palpate::math::Aabb;

pub(crate) const PAPER: Rgb = [246, 248, 250];
const INK: Rgb = [40, 46, 54];
const MARK: Rgb = [226, 62, 40];
const TILES: [Rgb; 2] = [[222, 227, 233], [208, 214, 222]];
const STONE: Rgb = [190, 197, 206];
/// Pictures in one row of a strip.
const ROW: usize = 4;
/// Tiles along each side of a plane's drawn patch.
const PATCH: i32 = 12;
/// Share of the way that time itself counts when moments are chosen: long rests are shown too, but not many of them.
const RESTING: f64 = 0.15;

/// How a strip is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripParams {
    /// How many frames.
    pub count: usize,
    /// Width of each \[pixels\].
    pub width: u32,
    /// Height of each \[pixels\].
    pub height: u32,
    /// Whether contacts are drawn.
    pub contacts: bool,
}

impl Default for StripParams {
    fn default() -> Self {
        Self { count: 8, width: 480, height: 400, contacts: true }
    }
}

/// `count` frames, in order, so that about as much moves between each two; first and last included.
pub fn moments(recording: &Recording, count: usize) -> Vec<usize> {
    let frames = &recording.frames;
    let last = frames.len().saturating_sub(1);
    if frames.len() <= count {
        return (0..frames.len()).collect();
    }
    let size = recording.parts.iter().map(|p| p.ball().1).fold(0.0, f64::max);
    let moved = |a: &Frame, b: &Frame| -> f64 {
        let each = |(s, t): (&crate::recording::State, &crate::recording::State)| {
            let turned = s.pose.rotation.angle_between(t.pose.rotation);
            s.pose.translation.distance(t.pose.translation) + 0.5 * size * turned
        };
        a.bodies.iter().zip(&b.bodies).map(each).sum()
    };
    let steps: Vec<f64> = frames.windows(2).map(|w| moved(&w[0], &w[1])).collect();
    let (way, time) = (steps.iter().sum::<f64>(), recording.seconds() - frames[0].time);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let mut sums = vec![0.0];
    for (i, step) in steps.iter().enumerate() {
        let passed = share(frames[i + 1].time - frames[i].time, time);
        sums.push(sums[i] + (1.0 - RESTING) * share(*step, way) + RESTING * passed);
    }
    let total = sums[last];
    let mut out: Vec<usize> = Vec::new();
    for k in 0..count {
        let goal = total * k as f64 / (count - 1).max(1) as f64;
        let found = sums.partition_point(|s| *s < goal - 1e-12).min(last);
        // Never the same twice, and enough left for the rest.
        let low = out.last().map_or(0, |l| l + 1);
        out.push(found.clamp(low, last - (count - 1 - k)));
    }
    out
}

/// One frame as a picture, on a light background; nothing but that for a frame that does not exist.
///
/// Cost: about 1 s of processor time for 100,000 triangles at 1200 x 900.
pub fn picture(recording: &Recording, index: usize, width: u32, height: u32, contacts: bool) -> Image {
    let params = RenderParams { width, height, supersample: 2, background: Some(PAPER), ground: false };
    let Some(frame) = recording.frames.get(index) else {
        return Image::new(width, height).over(PAPER);
    };
    let view = framed(recording);
    let mut scene = Scene::around(recording.origin);
    for (state, body) in frame.bodies.iter().zip(&recording.bodies) {
        add(&mut scene, recording, body.part, &state.pose, body.colour);
    }
    let size = recording.bodies.iter().filter_map(|b| recording.parts.get(b.part as usize));
    let size = size.map(|p| p.ball().1).fold(0.0, f64::max);
    if contacts && size > 0.0 {
        for mark in &frame.marks {
            scene.points(&[mark.point], 0.028 * size, MARK);
            scene.stick(mark.point, mark.point + 0.3 * size * mark.normal, 0.009 * size, false, MARK);
        }
    }
    match recording.ground {
        Ground::Nothing => {}
        Ground::Plane { point, normal } => plane(&mut scene, view, point, normal),
        Ground::Cuboid { aabb } => cuboid(&mut scene, aabb),
        Ground::Part { part, pose } => add(&mut scene, recording, part, &pose, STONE),
        Ground::Sheet(sheet) => {
            let (positions, triangles) = sheet.surface(recording.up, frame);
            scene.mesh(&positions, &triangles, Paint::Plain(STONE));
        }
    }
    let camera = Camera { lens: Lens::Perspective(0.5), frame: view, ..Camera::three_quarter(recording.up) };
    render(&scene, &camera, &params)
}

/// Frames of a recording side by side, four in a row, each with its time: see [`moments`] for which.
///
/// Cost: that of `count` pictures.
pub fn film_strip(recording: &Recording, params: &StripParams) -> Image {
    let chosen = moments(recording, params.count.clamp(1, 64));
    tiled(params, chosen.len(), |k| {
        let index = chosen[k];
        let one = picture(recording, index, params.width, params.height, params.contacts);
        (one, format!("{:.3} s", recording.frames[index].time))
    })
}

/// `count` pictures side by side, four in a row, each with its words.
pub(crate) fn tiled(params: &StripParams, count: usize, one: impl Fn(usize) -> (Image, String)) -> Image {
    let gap = (params.width / 60).max(2);
    let columns = count.clamp(1, ROW) as u32;
    let rows = count.div_ceil(ROW).max(1) as u32;
    let mut out =
        Image::new(columns * (params.width + gap) + gap, rows * (params.height + gap) + gap).over([255; 3]);
    for k in 0..count {
        let (mut one, text) = one(k);
        let size = (params.height as f32 / 28.0).max(9.0);
        font::draw(&mut one, size, 2.0 * size, size, INK, &text);
        let (column, row) = (k as u32 % columns, k as u32 / columns);
        out.paste(&one, gap + column * (params.width + gap), gap + row * (params.height + gap));
    }
    out
}

/// What a picture frames: the whole motion, and a ground that is not much larger.
fn framed(recording: &Recording) -> Option<Aabb> {
    let reach = recording.reach()?;
    let ground = match recording.ground {
        Ground::Cuboid { aabb } => Some(aabb),
        Ground::Part { part, pose } => {
            let part = recording.parts.get(part as usize)?;
            Some(Aabb::of_points(part.positions.iter().map(|p| pose.point(p.as_dvec3()))))
        }
        Ground::Sheet(sheet) => {
            let ends = [0, 3].map(|k| {
                let corner = |i: usize| if k == 0 { 0 } else { sheet.counts[i] - 1 };
                sheet.place(corner(0), corner(1)) + recording.up * sheet.range[usize::from(k > 0)]
            });
            Some(Aabb::of_points(ends))
        }
        _ => None,
    };
    let near = |g: &Aabb| g.extent().length() < 1.6 * reach.extent().length();
    Some(ground.filter(near).map_or(reach, |g| g.union(reach)))
}

fn add(scene: &mut Scene, recording: &Recording, part: u32, pose: &Pose, colour: Rgb) {
    let Some(part) = recording.parts.get(part as usize) else { return };
    let positions: Vec<DVec3> = part.positions.iter().map(|p| pose.point(p.as_dvec3())).collect();
    let paint = if part.colours.is_empty() { Paint::Plain(colour) } else { Paint::PerVertex(&part.colours) };
    scene.mesh(&positions, &part.triangles, paint);
}

/// A patch of tiles where the plane is below the motion.
fn plane(scene: &mut Scene, view: Option<Aabb>, point: DVec3, normal: DVec3) {
    let Some(view) = view else { return };
    let centre = view.centre() - normal * (view.centre() - point).dot(normal);
    let a = normal.any_orthonormal_vector();
    let b = normal.cross(a);
    let tile = 1.1 * view.extent().length() / f64::from(PATCH);
    let at = |i: i32, j: i32| centre + tile * (f64::from(i) * a + f64::from(j) * b);
    let half = PATCH / 2;
    let (mut positions, mut triangles, mut colours) = (Vec::new(), Vec::new(), Vec::new());
    for (i, j) in (-half..half).flat_map(|i| (-half..half).map(move |j| (i, j))) {
        let k = positions.len() as u32;
        positions.extend([at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
        triangles.extend([[k, k + 1, k + 2], [k, k + 2, k + 3]]);
        colours.extend([TILES[(i + j).rem_euclid(2) as usize]; 2]);
    }
    scene.mesh(&positions, &triangles, Paint::PerFace(&colours));
}

fn cuboid(scene: &mut Scene, aabb: Aabb) {
    let at = |i: usize, k: usize| if i >> k & 1 == 1 { aabb.max[k] } else { aabb.min[k] };
    let corners: Vec<DVec3> = (0..8).map(|i| DVec3::new(at(i, 0), at(i, 1), at(i, 2))).collect();
    let faces: [[u32; 4]; 6] =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles: Vec<[u32; 3]> =
        faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    scene.mesh(&corners, &triangles, Paint::Plain(STONE));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::bouncing;

    #[test]
    fn moments_are_in_order_and_follow_the_motion() {
        let mut recording = bouncing(400, 200.0);
        // From the hundredth frame on nothing moves.
        let still = recording.frames[100].bodies.clone();
        recording.frames[101..].iter_mut().for_each(|f| f.bodies.clone_from(&still));
        let chosen = moments(&recording, 8);
        assert!(chosen.windows(2).all(|w| w[0] < w[1]), "{chosen:?}");
        assert_eq!((chosen[0], chosen[7]), (0, 399));
        assert!(chosen.iter().filter(|i| **i <= 100).count() >= 6, "{chosen:?}");
        assert_eq!(moments(&recording, 1), [0]);
        recording.frames.truncate(3);
        assert_eq!(moments(&recording, 8), [0, 1, 2]);
        recording.frames.clear();
        assert!(moments(&recording, 8).is_empty());
    }

    #[test]
    fn a_strip_shows_the_motion() {
        let mut recording = bouncing(50, 50.0);
        let params = StripParams { count: 5, width: 90, height: 70, contacts: true };
        for ground in [
            recording.ground,
            Ground::Nothing,
            Ground::Cuboid { aabb: Aabb { min: recording.origin - 0.2, max: recording.origin } },
        ] {
            recording.ground = ground;
            let image = film_strip(&recording, &params);
            assert_eq!((image.width(), image.height()), (4 * 92 + 2, 2 * 72 + 2));
            let blue = |p: &[u8]| p[2] > 60 && i32::from(p[2]) > i32::from(p[0]) + 40;
            assert!(image.rgba().chunks(4).filter(|p| blue(p)).count() > 40, "the blue ball is there");
        }
        let (early, late) = (picture(&recording, 0, 60, 50, true), picture(&recording, 9, 60, 50, true));
        assert_ne!(early, late);
        assert_eq!(picture(&recording, 999, 8, 8, true).pixel(4, 4)[..3], PAPER);
        recording.frames.clear();
        let _ = film_strip(&recording, &params);
    }
}
