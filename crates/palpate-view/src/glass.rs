//! Layers of tinted glass over what is solid.

use crate::camera::{Camera, View};
use crate::image::Image;
use crate::raster::{RenderParams, Sample, Seen, rasterize};
use crate::scene::Scene;
use crate::shade;
use palpate::par;

/// Draws `solid` as [`render`](crate::raster::render) does, and over it each of `glasses` as if made of tinted glass: what is behind shines
/// through, most where a surface faces the eye.
///
/// All scenes must share one origin (see [`Scene::around`]); without a frame the camera shows all of them. Of each glass
/// only the nearest surface is seen. No ground. Cost: one [`render`](crate::raster::render) for each scene.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::tests::{small, square, top_view};
    use crate::scene::Paint;
    use glam::DVec3;

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
}
