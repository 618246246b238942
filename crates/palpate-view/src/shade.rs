//! Light: from what each sample sees to the colour of each pixel.
//!
//! Based on: hemisphere ambient light, a wrapped diffuse key light with a percentage-closer shadow map, and
//! screen-space ambient occlusion with a blur that respects edges; all common practice. Differs: the costly part, how much light
//! reaches a place, is found once a pixel and blurred along the surface; colours and normals keep every sample.

use crate::camera::View;
use crate::image::Image;
use crate::raster::{Sample, Seen, rasterize};
use crate::scene::Scene;
use glam::{Vec2, Vec3};
use palpate::par;

/// Side of the shadow map \[texels\].
const SHADOW_SIDE: u32 = 1024;
/// Taps of the shadow and of the occlusion a pixel. More: smoother and slower.
const SHADOW_TAPS: usize = 8;
const OCCLUSION_TAPS: usize = 10;
/// Pixels on each side over which light is averaged along a surface. More: smoother, details of shade are lost.
const BLUR: i64 = 2;
/// Reach of the occlusion, in radii of the scene. Larger darkens whole concavities, smaller only creases.
const OCCLUSION_REACH: f32 = 0.16;
/// Softness of the shadow on the object and on the ground, in radii of the scene.
const SHADOW_BLUR: f32 = 0.02;
const GROUND_BLUR: f32 = 0.11;
const SKY_BLUR: f32 = 0.22;
/// How dark the ground's shadow gets \[1\].
const GROUND_DARKNESS: f32 = 0.34;

/// Everything that light needs to know about the whole picture.
struct Studio<'a> {
    scene: &'a Scene,
    view: &'a View,
    samples: &'a [Sample],
    factor: u32,
    key: Vec3,
    shadow_view: View,
    shadow: Vec<Sample>,
    /// View from straight above, for the ground; none without one.
    sky: Option<(View, Vec<Sample>)>,
    /// Height of the ground above the view's centre.
    floor: f32,
    taps: [[f32; 2]; SHADOW_TAPS],
    rays: [[f32; 2]; OCCLUSION_TAPS],
}

/// How much light reaches the middle of a pixel.
#[derive(Clone, Copy)]
enum Guide {
    /// Nothing there, not even ground.
    Empty,
    /// Ground with this weight of shadow.
    Ground(f32),
    /// A surface: where, its normal towards the eye, the open part of the sky, the part of the key light.
    Surface { point: Vec3, normal: Vec3, open: f32, lit: f32 },
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
    let sky_view = view.seen_from(view.world_up, SHADOW_SIDE / 2);
    // The ground lies at the lowest point of what is drawn.
    let low = |p: Vec3| (p - view.centre).dot(view.world_up);
    let floor = scene.tris.iter().flat_map(|t| t.corners).map(low).fold(f32::INFINITY, f32::min);
    let floor = scene.dots.iter().map(|d| low(d.centre) - d.radius).fold(floor, f32::min);
    let studio = Studio {
        scene,
        view,
        samples,
        factor,
        key,
        shadow: rasterize(scene, &shadow_view),
        shadow_view,
        sky: ground.then(|| (sky_view, rasterize(scene, &sky_view))),
        floor,
        taps: spiral(),
        rays: spiral(),
    };
    let (width, height) = (image.width() as usize, image.height() as usize);
    let raw: Vec<Guide> =
        par::map(height, |y| (0..width).map(|x| studio.guide(x, y)).collect::<Vec<_>>()).concat();
    let near = |x: usize, y: usize, reach: i64| {
        let rows = y.saturating_sub(reach as usize)..(y + reach as usize + 1).min(height);
        rows.flat_map(move |r| {
            (x.saturating_sub(reach as usize)..(x + reach as usize + 1).min(width))
                .map(move |c| r * width + c)
        })
    };
    let guides: Vec<Guide> = par::map(height, |y| {
        (0..width)
            .map(|x| blurred(raw[y * width + x], near(x, y, BLUR).map(|i| raw[i]), view.radius))
            .collect::<Vec<_>>()
    })
    .concat();
    drop(raw);
    par::chunks_mut(image.rgba_mut(), width * 4, |y, row| {
        for (x, pixel) in row.chunks_exact_mut(4).enumerate() {
            let mut sum = [0.0_f32; 4];
            for sub in 0..factor * factor {
                let sx = x as u32 * factor + sub % factor;
                let sy = y as u32 * factor + sub / factor;
                let around = || near(x, y, 1).map(|i| guides[i]);
                let (colour, alpha) = match studio.place(sx, sy) {
                    Some(place) => (studio.colour(&place, guides[y * width + x], around()), 1.0),
                    None => (Vec3::ZERO, studio.ground(sx, sy, guides[y * width + x], around())),
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

/// Whether light at one place of a surface speaks for another: the same plane, nearly.
fn alike(point: Vec3, normal: Vec3, other: Vec3, other_normal: Vec3, radius: f32) -> bool {
    normal.dot(other_normal) > 0.85 && normal.dot(other - point).abs() < 0.008 * radius
}

/// The guide with its light averaged over those around it that lie on the same surface.
fn blurred(own: Guide, around: impl Iterator<Item = Guide>, radius: f32) -> Guide {
    match own {
        Guide::Empty => own,
        Guide::Ground(_) => {
            let (sum, count) = around.fold((0.0, 0.0), |(s, n), g| match g {
                Guide::Ground(a) => (s + a, n + 1.0),
                _ => (s, n),
            });
            Guide::Ground(sum / count)
        }
        Guide::Surface { point, normal, .. } => {
            let (mut sum, mut count) = ([0.0; 2], 0.0);
            for guide in around {
                if let Guide::Surface { point: p, normal: n, open, lit } = guide
                    && alike(point, normal, p, n, radius)
                {
                    sum = [sum[0] + open, sum[1] + lit];
                    count += 1.0;
                }
            }
            // The pixel itself is always alike, so the count is at least one (NaN positions aside).
            let count = f32::max(count, 1.0);
            Guide::Surface { point, normal, open: sum[0] / count, lit: sum[1] / count }
        }
    }
}

/// A place on a surface that a sample sees.
struct Place {
    point: Vec3,
    /// Smooth normal, towards the eye.
    normal: Vec3,
    /// Normal of the face, towards the eye.
    face: Vec3,
    to_eye: Vec3,
    albedo: Vec3,
}

impl Studio<'_> {
    /// What a sample sees, or none where only ground or nothing is.
    fn place(&self, sx: u32, sy: u32) -> Option<Place> {
        let view = self.view;
        let sample = &self.samples[sy as usize * view.size[0] as usize + sx as usize];
        let (point, normal, face, albedo) = match sample.seen(self.scene, view)? {
            Seen::Tri(t, w) => {
                let [a, b, c] = t.corners;
                let face = (b - a).cross(c - a).normalize_or(view.toward);
                let normal = w.x * t.normals[0] + w.y * t.normals[1] + w.z * t.normals[2];
                let colour = if t.colours[0] == t.colours[1] && t.colours[0] == t.colours[2] {
                    decode(t.colours[0])
                } else {
                    let [p, q, r] = t.colours.map(decode);
                    w.x * p + w.y * q + w.z * r
                };
                (w.x * a + w.y * b + w.z * c, normal.normalize_or(face), face, colour * rim(t.half, w))
            }
            Seen::Dot(d, u, v) => {
                let depth = (1.0 - u * u - v * v).max(0.0).sqrt();
                let normal = u * view.right + v * view.up + depth * view.toward;
                (d.centre + d.radius * normal, normal, normal, decode(d.colour))
            }
        };
        let eye = view.centre + view.eye * view.toward;
        let to_eye = if view.eye > 0.0 { (eye - point).normalize_or(view.toward) } else { view.toward };
        // Back faces (open meshes, turned triangles) are lit from their own side, duller and warmer.
        Some(if face.dot(to_eye) < 0.0 {
            let albedo = albedo * Vec3::new(0.80, 0.62, 0.52);
            Place { point, normal: -normal, face: -face, to_eye, albedo }
        } else {
            Place { point, normal, face, to_eye, albedo }
        })
    }

    /// How much light reaches the middle sample of a pixel.
    fn guide(&self, x: usize, y: usize) -> Guide {
        let noise = Noise::new(x as u32, y as u32);
        let middle = self.factor / 2;
        let (sx, sy) = (x as u32 * self.factor + middle, y as u32 * self.factor + middle);
        match self.place(sx, sy) {
            Some(p) => {
                let lift = p.point + p.face * self.view.radius * 0.012;
                let blur = SHADOW_BLUR * self.view.radius;
                let lit = 1.0 - hidden(&self.shadow_view, &self.shadow, lift, blur, &self.taps, noise);
                let open = self.open_part(lift, p.normal, noise);
                Guide::Surface { point: p.point, normal: p.normal, open, lit }
            }
            None => self.ground_alpha(sx, sy, noise).map_or(Guide::Empty, Guide::Ground),
        }
    }

    /// Weight of the ground's shadow at a sample, from its pixel's guide or one beside it.
    fn ground(&self, sx: u32, sy: u32, own: Guide, around: impl Iterator<Item = Guide>) -> f32 {
        match own {
            Guide::Empty => 0.0,
            Guide::Ground(alpha) => alpha,
            Guide::Surface { .. } => {
                let beside = around.fold(None, |found: Option<f32>, g| match g {
                    Guide::Ground(a) => Some(found.map_or(a, |f| f.max(a))),
                    _ => found,
                });
                beside.or_else(|| self.ground_alpha(sx, sy, Noise::new(sx, sy))).unwrap_or(0.0)
            }
        }
    }

    /// Linear colour of a place, with the light of its pixel's guide or of one beside it that is on its surface.
    fn colour(&self, place: &Place, own: Guide, around: impl Iterator<Item = Guide>) -> Vec3 {
        let view = self.view;
        let light_of = |guide: Guide| match guide {
            Guide::Surface { point, normal, open, lit }
                if alike(point, normal, place.point, place.normal, view.radius) =>
            {
                Some((open, lit))
            }
            _ => None,
        };
        let mut around = around;
        let fallback = match own {
            Guide::Surface { open, lit, .. } => (open, lit),
            _ => (0.8, 1.0),
        };
        let (open, lit) = light_of(own).or_else(|| around.find_map(light_of)).unwrap_or(fallback);
        let normal = place.normal;
        // A little wrap keeps the border between light and shade soft.
        let diffuse = ((normal.dot(self.key) + 0.12) / 1.12).max(0.0) * lit;
        let sky = 0.5 + 0.5 * normal.dot(view.world_up);
        let ambient = Vec3::new(0.22, 0.20, 0.19).lerp(Vec3::new(0.40, 0.44, 0.50), sky) * open;
        let side = (view.toward + 0.9 * view.right).normalize_or(view.toward);
        let fill = normal.dot(side).max(0.0) * 0.16 * open;
        let half = (self.key + place.to_eye).normalize_or(self.key);
        let gloss = normal.dot(half).max(0.0).powi(48) * 0.22 * lit;
        let edge = (1.0 - normal.dot(place.to_eye).clamp(0.0, 1.0)).powi(4) * 0.20 * open * sky;
        let light = ambient + Vec3::new(1.0, 0.96, 0.90) * (0.80 * diffuse) + Vec3::splat(fill);
        tone(place.albedo * light + Vec3::splat(gloss + edge))
    }

    /// Part of the hemisphere above `point` that is not blocked nearby, by looking at the depths on screen.
    fn open_part(&self, point: Vec3, normal: Vec3, noise: Noise) -> f32 {
        let view = self.view;
        let side = normal.any_orthonormal_vector();
        let other = normal.cross(side);
        let reach = OCCLUSION_REACH * view.radius;
        let [w, h] = view.size.map(|s| s as f32);
        let depth = |near: f32| if view.eye > 0.0 { view.eye - 1.0 / near } else { near };
        let mut blocked = 0.0;
        for (k, ray) in self.rays.iter().enumerate() {
            let [dx, dy] = noise.turned(*ray);
            let out = (1.0 - dx * dx - dy * dy).max(0.0).sqrt();
            let far = reach * (0.15 + 0.85 * noise.unit(k));
            let tap = point + far * (dx * side + dy * other + (out + 0.08) * normal);
            let [x, y, near] = view.project(tap);
            if x >= 0.0 && y >= 0.0 && x < w && y < h {
                let seen = self.samples[y as usize * view.size[0] as usize + x as usize].near;
                if seen > near {
                    // Things far in front of the tap hide it from the eye but do not shade it.
                    let gap = depth(seen) - depth(near);
                    blocked += (1.0 - (gap / (2.0 * reach))).clamp(0.0, 1.0);
                }
            }
        }
        1.0 - 0.85 * blocked / OCCLUSION_TAPS as f32
    }

    /// Weight of the ground's shadow at a sample where no object is seen; none above the horizon or far away.
    fn ground_alpha(&self, sx: u32, sy: u32, noise: Noise) -> Option<f32> {
        let view = self.view;
        let (sky_view, sky) = self.sky.as_ref()?;
        let (from, along) = view.ray(sx as f32 + 0.5, sy as f32 + 0.5);
        let fall = along.dot(view.world_up);
        let height = (from - view.centre).dot(view.world_up) - self.floor;
        if fall >= -1e-3 || height <= 0.0 {
            return None;
        }
        let point = from - along * (height / fall);
        if point.distance(view.centre) > 2.5 * view.radius {
            return None;
        }
        let key =
            hidden(&self.shadow_view, &self.shadow, point, GROUND_BLUR * view.radius, &self.taps, noise);
        // Straight above: darkest where the object stands, fading with the size of the blur.
        let above = hidden(sky_view, sky, point, SKY_BLUR * view.radius, &self.taps, noise);
        Some((GROUND_DARKNESS * (0.5 * key + 0.65 * above)).min(1.0))
    }
}

/// Share of taps around `point` where the light's view sees something nearer to the light.
fn hidden(view: &View, map: &[Sample], point: Vec3, blur: f32, taps: &[[f32; 2]], noise: Noise) -> f32 {
    let [x, y, near] = view.project(point);
    let reach = blur * view.samples_per_length(point);
    let [w, h] = view.size.map(|s| s as f32);
    let mut count = 0.0;
    for tap in taps {
        let [dx, dy] = noise.turned(*tap);
        let (tx, ty) = (x + reach * dx, y + reach * dy);
        if tx >= 0.0 && ty >= 0.0 && tx < w && ty < h {
            let texel = &map[ty as usize * view.size[0] as usize + tx as usize];
            // A texel's depth may differ by its own size times the slope: allow a little.
            if texel.near > near + view.radius * 0.004 {
                count += 1.0;
            }
        }
    }
    count / taps.len() as f32
}

/// `N` points spread evenly over the unit disc.
fn spiral<const N: usize>() -> [[f32; 2]; N] {
    /// Golden angle \[turns\].
    const GOLDEN: f32 = 0.381_966;
    std::array::from_fn(|k| {
        let radius = ((k as f32 + 0.5) / N as f32).sqrt();
        (radius * Vec2::from_angle(std::f32::consts::TAU * GOLDEN * k as f32)).to_array()
    })
}

/// Repeatable noise of one pixel.
#[derive(Clone, Copy)]
struct Noise {
    turn: f32,
    cos_sin: Vec2,
}

impl Noise {
    /// A dither pattern: neighbours differ as much as they can, so that a small blur hides it.
    fn new(x: u32, y: u32) -> Self {
        let turn = (52.982_918 * (0.067_110_56 * x as f32 + 0.005_837_15 * y as f32).fract()).fract();
        Self { turn, cos_sin: Vec2::from_angle(std::f32::consts::TAU * turn) }
    }

    /// A tap turned by this pixel's angle.
    fn turned(self, tap: [f32; 2]) -> [f32; 2] {
        self.cos_sin.rotate(Vec2::from_array(tap)).to_array()
    }

    /// Number `k` of a sequence that fills [0, 1) evenly.
    fn unit(self, k: usize) -> f32 {
        (self.turn + 0.618_034 * (k as f32 + 0.5)).fract()
    }
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
        let taps: Vec<_> = spiral::<16>().iter().map(|t| noise.turned(*t)).collect();
        assert!(taps.iter().all(|t| t[0].hypot(t[1]) <= 1.0 + 1e-6));
        for quadrant in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            assert!(taps.iter().any(|t| t[0] * quadrant[0] > 0.0 && t[1] * quadrant[1] > 0.0));
        }
        assert!((0..50).all(|k| (0.0..1.0).contains(&noise.unit(k))));
    }
}
