//! Pictures of two shapes in a pose: both of glass with the contacts in them, and a cut through the place that matters.

use crate::ask::Answer;
use crate::pair::{Pair, Solid};
use glam::DVec3;
use palpate::Pose;
use palpate::math::Aabb;
use palpate::mesh::RawMesh;
use palpate_view::image::Rgb;
use palpate_view::{
    Camera, Image, Lens, Paint, RenderParams, Scene, cut, font, render, render_through, units,
};

/// Width and height of a picture with both panels [pixels].
pub(crate) const SIZE: [u32; 2] = [1800, 960];

/// Colours of the shapes as glass, of what is behind the cut, and of the cut itself: A, then B.
const GLASS: [Rgb; 2] = [[98, 136, 200], [86, 174, 142]];
const BEHIND: [Rgb; 2] = [[176, 194, 224], [172, 216, 200]];
const CUT: [Rgb; 2] = [[86, 122, 184], [70, 150, 120]];
/// Where both shapes are.
const OVERLAP: Rgb = [222, 58, 46];
/// The shortest line between the shapes, and arrows.
const LINE: Rgb = [222, 58, 46];
const ARROW: Rgb = [44, 48, 58];
/// Lettering that can be read on white and on black.
const INK: Rgb = [116, 122, 132];
/// Most balls in one panel. More: the shapes are hidden by them.
const MOST_BALLS: usize = 20_000;
/// Squares along the edge of the cut.
const CUT_CELLS: u32 = 520;

/// Colours of contacts from the surface down.
const DEPTHS: [Rgb; 4] = [[255, 214, 64], [250, 140, 40], [214, 40, 57], [106, 10, 84]];

/// The colour of a share of the greatest depth, 0 to 1.
fn depth_colour(share: f64) -> Rgb {
    let at = share.clamp(0.0, 1.0) * (DEPTHS.len() - 1) as f64;
    let i = (at as usize).min(DEPTHS.len() - 2);
    let t = at - i as f64;
    [0, 1, 2].map(|c| {
        let (low, high) = (f64::from(DEPTHS[i][c]), f64::from(DEPTHS[i + 1][c]));
        (low + t * (high - low)).round() as u8
    })
}

/// What a picture is about.
struct View<'a> {
    pair: &'a Pair,
    pose: &'a Pose,
    answer: &'a Answer,
    /// Meshes in A's frame.
    meshes: [RawMesh; 2],
    /// The place that matters: the deepest contact, or the middle of the shortest line [m].
    place: DVec3,
    /// The direction that matters there: from A to B.
    way: DVec3,
    up: DVec3,
    /// Diagonal of the smaller shape, and of both [m].
    small: f64,
    whole: f64,
    /// Middle of the smaller shape [m].
    heart: DVec3,
}

/// Two panels side by side and what the colours mean. Contacts are drawn where the answer has kept them.
pub(crate) fn pair(pair: &Pair, pose: &Pose, answer: &Answer, size: [u32; 2]) -> Image {
    let view = View::new(pair, pose, answer);
    let strip = size[1] / 12;
    let (wide, tall) = (size[0] / 2, size[1] - strip);
    let mut image = Image::new(size[0], size[1]);
    image.paste(&view.glass(wide, tall), 0, 0);
    image.paste(&view.section(wide, tall), wide, 0);
    view.legend(&mut image, tall, strip);
    image
}

impl<'a> View<'a> {
    fn new(pair: &'a Pair, pose: &'a Pose, answer: &'a Answer) -> Self {
        let d = &answer.distance;
        let moved = |solid: &Solid, pose: &Pose| {
            let mesh = solid.shape.mesh();
            RawMesh {
                positions: mesh.positions().iter().map(|p| pose.point(*p)).collect(),
                triangles: mesh.triangles().to_vec(),
            }
        };
        let meshes = [moved(&pair.a, &Pose::IDENTITY), moved(&pair.b, pose)];
        let boxes = [0, 1].map(|i: usize| Aabb::of_points(meshes[i].positions.iter().copied()));
        let deepest = answer.contacts().reduce(|x, y| if y.1.distance < x.1.distance { y } else { x });
        let (place, way) = match deepest.filter(|(_, c, _)| c.distance < 0.0) {
            Some((p, c, _)) => (p, c.normal().as_dvec3()),
            None => (0.5 * (d.witness_a + d.witness_b), d.direction()),
        };
        let place = if place.is_finite() { place } else { boxes[0].centre() };
        let size = |b: Aabb| b.extent().length();
        Self {
            pair,
            pose,
            answer,
            meshes,
            place,
            way: way.try_normalize().unwrap_or(DVec3::Z),
            up: pair.a.up,
            small: size(boxes[0]).min(size(boxes[1])),
            whole: size(boxes[0].union(boxes[1])),
            heart: if size(boxes[0]) < size(boxes[1]) { boxes[0].centre() } else { boxes[1].centre() },
        }
    }

    /// The greatest depth [m].
    fn deepest(&self) -> f64 {
        let lists = self.answer.lists.iter().map(|l| -l.deepest);
        lists.fold(0.0, f64::max)
    }

    /// Both shapes of glass, contacts or the shortest line in them.
    fn glass(&self, width: u32, height: u32) -> Image {
        let origin = self.place;
        let glasses = [0, 1].map(|i: usize| {
            let mut scene = Scene::around(origin);
            let mesh = &self.meshes[i];
            scene.mesh(&mesh.positions, &mesh.triangles, Paint::Plain(GLASS[i]));
            scene
        });
        let mut solid = Scene::around(origin);
        let few = if self.answer.contact_count < 200 { 1.6 } else { 1.0 };
        let sizes = [0.0035, 0.009].map(|k| few * k * self.whole);
        self.add_contacts(&mut solid, sizes, 0.05 * self.whole, 48, |_| true);
        if !self.answer.intersects {
            self.add_line(&mut solid, 0.004 * self.whole);
        }
        let params = RenderParams { width, height, ground: false, ..RenderParams::default() };
        render_through(&solid, &glasses, &Camera::three_quarter(self.up), &params)
    }

    /// The shortest line, with its ends.
    fn add_line(&self, scene: &mut Scene, radius: f64) {
        let d = &self.answer.distance;
        scene.stick(d.witness_a, d.witness_b, radius, false, LINE);
        scene.points(&[d.witness_a, d.witness_b], 1.9 * radius, LINE);
    }

    /// Contacts as balls coloured by depth, their radius within `sizes` [m], and some with an arrow of `length` [m] along the
    /// normal.
    fn add_contacts(
        &self,
        scene: &mut Scene,
        sizes: [f64; 2],
        length: f64,
        arrows: usize,
        shown: impl Fn(DVec3) -> bool,
    ) {
        let all: Vec<_> = self.answer.contacts().filter(|(p, ..)| shown(*p)).collect();
        let deepest = self.deepest();
        let balls = all.len().div_ceil(MOST_BALLS).max(1);
        let arrows = all.len().div_ceil(arrows).max(1);
        for (i, (p, c, of_a)) in all.iter().enumerate() {
            let solid = if *of_a { &self.pair.a } else { &self.pair.b };
            if i % balls == 0 {
                // Balls that touch their neighbours hide the shape, and small ones are not seen.
                let radius = (0.36 * solid.spacing()).clamp(sizes[0], sizes[1]);
                let share = if deepest > 0.0 { f64::from(c.depth()) / deepest } else { 0.0 };
                scene.points(&[*p], radius, depth_colour(share));
            }
            if i % arrows == arrows / 2 {
                scene.stick(*p, *p + length * c.normal().as_dvec3(), 0.018 * length, true, ARROW);
            }
        }
    }

    /// A cut through the place that matters, near enough to see what happens there.
    fn section(&self, width: u32, height: u32) -> Image {
        let eye = Camera::three_quarter(self.up).toward.normalize_or(DVec3::X);
        // The plane holds the direction that matters and the middle of the smaller shape; where these are in one line, it
        // faces the eye as far as it can.
        let inward = (self.heart - self.place).normalize_or_zero();
        let mut across = self.way.cross(inward);
        if across.length() < 0.2 {
            across = eye - eye.dot(self.way) * self.way;
        }
        let facing = across.try_normalize().unwrap_or_else(|| self.way.any_orthonormal_vector());
        let facing = if facing.dot(eye) < 0.0 { -facing } else { facing };
        let up = (self.up - self.up.dot(facing) * facing).try_normalize();
        let up = up.unwrap_or_else(|| facing.any_orthonormal_vector());
        let right = up.cross(facing);
        let radius = self.zoom(facing);
        let aspect = f64::from(width) / f64::from(height);
        let (half_wide, half_tall) = (1.7 * radius * aspect.max(1.0), 1.7 * radius);
        let corner = self.place - half_wide * right - half_tall * up;
        let sheet = cut::sheet(corner, 2.0 * half_wide * right, 2.0 * half_tall * up, CUT_CELLS);
        let back = self.pose.inverse();
        let (a, b) = (self.pair.a.shape.field(), self.pair.b.shape.field());
        let depths = palpate::par::map(sheet.positions.len(), |i| {
            let p = sheet.positions[i];
            [a.sample(p).distance, b.sample(back.point(p)).distance]
        });
        let mut scene = Scene::around(self.place);
        for i in 0..2 {
            let mesh = &self.meshes[i];
            let heights: Vec<f64> = mesh.positions.iter().map(|p| (*p - self.place).dot(facing)).collect();
            let half = cut::keep_below(mesh, &heights);
            scene.mesh(&half.positions, &half.triangles, Paint::Plain(BEHIND[i]));
            let values: Vec<f64> = depths.iter().map(|d| d[i]).collect();
            let inside = cut::keep_below(&sheet, &values);
            scene.mesh(&inside.positions, &inside.triangles, Paint::Plain(CUT[i]));
        }
        // A little in front, so that it is not hidden by what it lies in.
        let lift = |k: f64| k * 1e-3 * radius * facing;
        let values: Vec<f64> = depths.iter().map(|d| d[0].max(d[1])).collect();
        let mut common = cut::keep_below(&sheet, &values);
        common.positions.iter_mut().for_each(|p| *p += lift(1.0));
        scene.mesh(&common.positions, &common.triangles, Paint::Plain(OVERLAP));
        let near = |p: DVec3| {
            let thick = self.pair.a.spacing().max(self.pair.b.spacing());
            (p - self.place).dot(facing).abs() <= 0.75 * thick
        };
        self.add_contacts(&mut scene, [0.009, 0.02].map(|k| k * radius), 0.26 * radius, 14, near);
        if !self.answer.intersects {
            self.add_line(&mut scene, 0.012 * radius);
        }
        let half = DVec3::splat(0.62 * radius);
        let frame = Some(Aabb { min: self.place - half, max: self.place + half });
        let camera = Camera { toward: facing, up, lens: Lens::Orthographic, frame };
        let params = RenderParams { width, height, ground: false, ..RenderParams::default() };
        render(&scene, &camera, &params)
    }

    /// Half of what the cut shows [m].
    fn zoom(&self, facing: DVec3) -> f64 {
        let off = |p: DVec3| {
            let d = p - self.place;
            (d - d.dot(facing) * facing).length()
        };
        let reach = self.answer.contacts().map(|(p, ..)| off(p)).fold(0.0, f64::max);
        let d = &self.answer.distance;
        let gap = if self.answer.intersects { 2.5 * self.answer.depth() } else { 5.0 * d.distance.max(0.0) };
        // Below some voxels the cut shows the field's rounding, not the shapes.
        let voxel = self.pair.a.info.voxel.max(self.pair.b.info.voxel);
        let least = (0.02 * self.small).max(8.0 * voxel);
        (1.15 * reach).max(gap).clamp(least, (0.6 * self.whole).max(least))
    }

    /// What the colours mean, and the figures.
    fn legend(&self, image: &mut Image, top: u32, strip: u32) {
        let size = 0.215 * strip as f32;
        let (line, pad) = (top as f32 + 0.40 * strip as f32, 0.014 * image.width() as f32);
        let below = line + 2.0 * size;
        let mut x = pad;
        let mut word = |image: &mut Image, colour: Option<Rgb>, text: &str| {
            if let Some(colour) = colour {
                let (side, y) = (1.1 * size, line - 1.05 * size);
                image.fill_rect(x as i64, y as i64, side as i64, side as i64, colour);
                x += 1.7 * size;
            }
            font::draw(image, x, line, size, INK, text);
            x += font::width(text, size) + 2.4 * size;
        };
        word(image, Some(CUT[0]), &format!("a: {}", self.pair.a.title));
        word(image, Some(CUT[1]), &format!("b: {}", self.pair.b.title));
        if self.answer.intersects {
            word(image, Some(OVERLAP), "in both");
        } else {
            word(image, Some(LINE), "shortest line");
        }
        let d = &self.answer.distance;
        let figures = if self.answer.intersects {
            format!(
                "depth {}, {} contacts",
                units::length(self.answer.depth()),
                units::count(self.answer.contact_count as u64)
            )
        } else {
            let least = (d.distance - d.bound).max(0.0);
            format!("distance {} (at least {})", units::length(d.distance), units::length(least))
        };
        font::draw(image, pad, below, size, INK, &figures);
        let middle = 0.5 * image.width() as f32;
        let cut = match self.answer.intersects {
            true => "cut through the deepest contact",
            false => "cut along the shortest line",
        };
        font::draw(image, middle + pad, line, size, INK, cut);
        let deepest = self.deepest();
        if self.answer.contact_count > 0 && deepest > 0.0 {
            let (left, long) = (middle + pad, 0.2 * image.width() as f32);
            for i in 0..long as i64 {
                let colour = depth_colour(i as f64 / f64::from(long));
                image.fill_rect(left as i64 + i, (below - size) as i64, 1, size as i64, colour);
            }
            let text = format!("depth of contacts, 0 to {}", units::length(deepest));
            font::draw(image, left + long + size, below, size, INK, &text);
        }
    }
}
