//! Light: from what each sample sees to the colour of each pixel.
//!
//! Based on: hemisphere ambient light, a wrapped diffuse key light with a percentage-closer shadow map, and
//! screen-space ambient occlusion; all common practice. Differs: no blur pass; the noise of few taps a sample is
//! averaged by supersampling, which keeps edges sharp.

use crate::image::Image;
use crate::raster::{Sample, Seen, View, rasterize};
use crate::scene::Scene;
use glam::{Vec2, Vec3};
use palpate::par;

/// Side of the shadow map \[texels\].
const SHADOW_SIDE: u32 = 1024;
/// Taps of the shadow and of the occlusion a sample. More: smoother and slower.
const SHADOW_TAPS: u32 = 10;
const OCCLUSION_TAPS: u32 = 12;
/// Reach of the occlusion, in radii of the scene. Larger darkens whole concavities, smaller only creases.
const OCCLUSION_REACH: f32 = 0.16;
/// Softness of the shadow on the object and on the ground, in radii of the scene.
const SHADOW_BLUR: f32 = 0.02;
const GROUND_BLUR: f32 = 0.11;
/// How dark the ground's shadow gets \[1\].
const GROUND_DARKNESS: f32 = 0.34;

struct Lights {
    key: Vec3,
    shadow_view: View,
    shadow: Vec<Sample>,
    sky_view: View,
    sky: Vec<Sample>,
}

/// Fills `image` from the samples, `factor` x `factor` of them a pixel.
pub(crate) fn resolve(
    scene: &Scene,
    view: &View,
    samples: &[Sample],
    factor: u32,
    ground: bool,
    image: &mut Image,
) {
    let key = (0.95 * view.world_up + 0.62 * view.toward - 0.62 * view.right).normalize_or(view.toward);
    let shadow_view = view.seen_from(key, SHADOW_SIDE);
    let shadow = rasterize(scene, &shadow_view);
    let sky_view = view.seen_from(view.world_up, if ground { SHADOW_SIDE / 2 } else { 1 });
    let sky = if ground { rasterize(scene, &sky_view) } else { Vec::new() };
    let lights = Lights { key, shadow_view, shadow, sky_view, sky };
    // The ground lies at the lowest point of what is drawn.
    let low = |p: Vec3| (p - view.centre).dot(view.world_up);
    let floor = scene.tris.iter().flat_map(|t| t.corners).map(low).fold(f32::INFINITY, f32::min);
    let floor = scene.dots.iter().map(|d| low(d.centre) - d.radius).fold(floor, f32::min);
    let width = image.width() as usize;
    let stride = width * factor as usize;
    par::chunks_mut(image.rgba_mut(), width * 4, |y, row| {
        for (x, pixel) in row.chunks_exact_mut(4).enumerate() {
            let mut sum = [0.0_f32; 4];
            for sub in 0..factor * factor {
                let sx = x as u32 * factor + sub % factor;
                let sy = y as u32 * factor + sub / factor;
                let sample = &samples[sy as usize * stride + sx as usize];
                let noise = Noise::new(sx, sy);
                let (colour, alpha) = match sample.seen(scene, view) {
                    Some(seen) => (surface(&seen, view, samples, &lights, noise), 1.0),
                    None if ground => (Vec3::ZERO, ground_alpha(view, &lights, floor, sx, sy, noise)),
                    None => continue,
                };
                let add = [colour.x * alpha, colour.y * alpha, colour.z * alpha, alpha];
                sum.iter_mut().zip(add).for_each(|(s, a)| *s += a);
            }
            if sum[3] > 0.0 {
                for c in 0..3 {
                    pixel[c] = encode(sum[c] / sum[3]);
                }
                pixel[3] = (sum[3] / (factor * factor) as f32 * 255.0 + 0.5) as u8;
            }
        }
    });
}

/// Linear colour of one sample.
fn surface(seen: &Seen<'_>, view: &View, samples: &[Sample], lights: &Lights, noise: Noise) -> Vec3 {
    let (point, normal, face, albedo) = match seen {
        Seen::Tri(t, w) => {
            let [a, b, c] = t.corners;
            let point = w.x * a + w.y * b + w.z * c;
            let face = (b - a).cross(c - a).normalize_or(view.toward);
            let normal = (w.x * t.normals[0] + w.y * t.normals[1] + w.z * t.normals[2]).normalize_or(face);
            let [p, q, r] = t.colours.map(decode);
            let rim = rim(t.half, *w);
            (point, normal, face, (w.x * p + w.y * q + w.z * r) * rim)
        }
        Seen::Dot(d, u, v) => {
            let depth = (1.0 - u * u - v * v).max(0.0).sqrt();
            let normal = *u * view.right + *v * view.up + depth * view.toward;
            (d.centre + d.radius * normal, normal, normal, decode(d.colour))
        }
    };
    let eye = view.centre + view.eye * view.toward;
    let to_eye = if view.eye > 0.0 { (eye - point).normalize_or(view.toward) } else { view.toward };
    // Back faces (open meshes, turned triangles) are lit from their own side, duller and warmer.
    let (normal, face, albedo) = if face.dot(to_eye) < 0.0 {
        (-normal, -face, albedo * Vec3::new(0.80, 0.62, 0.52))
    } else {
        (normal, face, albedo)
    };
    let lift = point + face * view.radius * 0.012;
    let lit = 1.0 - lights.shadow_at(lift, SHADOW_BLUR * view.radius, noise);
    let open = occlusion(lift, normal, view, samples, noise);
    let facing = normal.dot(lights.key);
    // A little wrap keeps the border between light and shade soft.
    let diffuse = ((facing + 0.12) / 1.12).max(0.0) * lit;
    let sky = 0.5 + 0.5 * normal.dot(view.world_up);
    let ambient = Vec3::new(0.22, 0.20, 0.19).lerp(Vec3::new(0.40, 0.44, 0.50), sky) * open;
    let fill = normal.dot((view.toward + 0.9 * view.right).normalize_or(view.toward)).max(0.0) * 0.16 * open;
    let half = (lights.key + to_eye).normalize_or(lights.key);
    let gloss = normal.dot(half).max(0.0).powi(48) * 0.22 * lit;
    let edge = (1.0 - normal.dot(to_eye).clamp(0.0, 1.0)).powi(4) * 0.20 * open * sky;
    let light = ambient + Vec3::new(1.0, 0.96, 0.90) * (0.80 * diffuse) + Vec3::splat(fill);
    tone(albedo * light + Vec3::splat(gloss + edge))
}

/// Darkening at the border of a voxel's face, 1 in the middle.
fn rim(half: u8, w: Vec3) -> f32 {
    /// Width of the rim as a part of the voxel.
    const RIM: f32 = 0.07;
    let (s, t) = match half {
        1 => (w.y + w.z, w.z),
        2 => (w.y, w.y + w.z),
        _ => return 1.0,
    };
    if s.min(1.0 - s).min(t).min(1.0 - t) < RIM { 0.62 } else { 1.0 }
}

impl Lights {
    /// Part of the key light that is hidden from `point`.
    fn shadow_at(&self, point: Vec3, blur: f32, noise: Noise) -> f32 {
        hidden(&self.shadow_view, &self.shadow, point, blur, SHADOW_TAPS, noise)
    }
}

/// Share of taps around `point` where the light's view sees something nearer to the light.
fn hidden(view: &View, map: &[Sample], point: Vec3, blur: f32, taps: u32, noise: Noise) -> f32 {
    let [x, y, near] = view.project(point);
    let reach = blur * view.samples_per_length(point);
    let [w, h] = view.size.map(|s| s as f32);
    let mut count = 0.0;
    for k in 0..taps {
        let [dx, dy] = noise.disc(k, taps);
        let (tx, ty) = (x + reach * dx, y + reach * dy);
        if tx >= 0.0 && ty >= 0.0 && tx < w && ty < h {
            let texel = &map[ty as usize * view.size[0] as usize + tx as usize];
            // A texel's depth may differ by its own size times the slope: allow a little.
            if texel.near > near + view.radius * 0.004 {
                count += 1.0;
            }
        }
    }
    count / taps as f32
}

/// Part of the hemisphere above `point` that is not blocked nearby, by looking at the depths on screen.
fn occlusion(point: Vec3, normal: Vec3, view: &View, samples: &[Sample], noise: Noise) -> f32 {
    let side = normal.any_orthonormal_vector();
    let other = normal.cross(side);
    let reach = OCCLUSION_REACH * view.radius;
    let [w, h] = view.size.map(|s| s as f32);
    let depth = |near: f32| if view.eye > 0.0 { view.eye - 1.0 / near } else { near };
    let mut blocked = 0.0;
    for k in 0..OCCLUSION_TAPS {
        let [dx, dy] = noise.disc(k, OCCLUSION_TAPS);
        let out = (1.0 - dx * dx - dy * dy).max(0.0).sqrt();
        let far = reach * (0.15 + 0.85 * noise.unit(k));
        let tap = point + far * (dx * side + dy * other + (out + 0.08) * normal);
        let [x, y, near] = view.project(tap);
        if x >= 0.0 && y >= 0.0 && x < w && y < h {
            let seen = samples[y as usize * view.size[0] as usize + x as usize].near;
            if seen > near {
                // Things far in front of the tap hide it from the eye but do not shade it.
                let gap = depth(seen) - depth(near);
                blocked += (1.0 - (gap / (2.0 * reach))).clamp(0.0, 1.0);
            }
        }
    }
    1.0 - 0.85 * blocked / OCCLUSION_TAPS as f32
}

/// Weight of the ground's shadow where no object is seen.
fn ground_alpha(view: &View, lights: &Lights, floor: f32, x: u32, y: u32, noise: Noise) -> f32 {
    let (from, along) = view.ray(x as f32 + 0.5, y as f32 + 0.5);
    let fall = along.dot(view.world_up);
    let height = (from - view.centre).dot(view.world_up) - floor;
    if fall >= -1e-3 || height <= 0.0 {
        return 0.0;
    }
    let point = from - along * (height / fall);
    let away = point.distance(view.centre) / view.radius;
    if away > 2.5 {
        return 0.0;
    }
    let key = lights.shadow_at(point, GROUND_BLUR * view.radius, noise);
    // Straight above: darkest where the object stands, fading with the size of the blur.
    let sky = hidden(&lights.sky_view, &lights.sky, point, 0.22 * view.radius, SHADOW_TAPS, noise);
    (GROUND_DARKNESS * (0.5 * key + 0.65 * sky)).min(1.0)
}

/// Repeatable noise of one sample.
#[derive(Clone, Copy)]
struct Noise {
    seed: u32,
    turn: f32,
}

impl Noise {
    fn new(x: u32, y: u32) -> Self {
        let seed = mix(x.wrapping_mul(0x9e37_79b9) ^ y.wrapping_mul(0x85eb_ca6b));
        Self { seed, turn: (seed >> 8) as f32 / (1 << 24) as f32 }
    }

    /// Tap `k` of `n` on a spiral over the unit disc, turned by a random angle.
    fn disc(self, k: u32, n: u32) -> [f32; 2] {
        /// Golden angle \[turns\].
        const GOLDEN: f32 = 0.381_966;
        let radius = ((k as f32 + 0.25 + 0.5 * self.unit(k)) / n as f32).sqrt().min(1.0);
        let angle = std::f32::consts::TAU * (self.turn + GOLDEN * k as f32);
        (radius * Vec2::from_angle(angle)).to_array()
    }

    fn unit(self, k: u32) -> f32 {
        (mix(self.seed ^ k.wrapping_mul(0x27d4_eb2f)) >> 8) as f32 / (1 << 24) as f32
    }
}

/// Spreads every bit of `x` over the whole word.
fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Rolls highlights off softly instead of clipping them.
fn tone(c: Vec3) -> Vec3 {
    let knee = |x: f32| if x < 0.7 { x } else { 0.7 + 0.3 * (1.0 - (-(x - 0.7) / 0.3).exp()) };
    Vec3::new(knee(c.x), knee(c.y), knee(c.z))
}

fn decode(colour: [u8; 3]) -> Vec3 {
    Vec3::from_array(colour.map(|c| {
        let x = f32::from(c) / 255.0;
        if x <= 0.040_45 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
    }))
}

fn encode(x: f32) -> u8 {
    let x = x.clamp(0.0, 1.0);
    let y = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
    (255.0 * y + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_inverts_decoding() {
        for c in 0..=255_u8 {
            assert_eq!(encode(decode([c; 3]).x), c);
        }
    }

    #[test]
    fn taps_cover_the_disc() {
        let noise = Noise::new(3, 4);
        let taps: Vec<_> = (0..16).map(|k| noise.disc(k, 16)).collect();
        assert!(taps.iter().all(|t| t[0].hypot(t[1]) <= 1.0 + 1e-6));
        for quadrant in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            assert!(taps.iter().any(|t| t[0] * quadrant[0] > 0.0 && t[1] * quadrant[1] > 0.0));
        }
    }
}
