//! Pictures of findings: the two parts of glass, what they share or the gap between them, and the whole with its trouble marked.

use crate::image::Rgb;
use crate::{Camera, Image, Paint, RenderParams, Scene, render, render_through};
use glam::DVec3;
use palpate::math::Aabb;
use palpate::{Pose, Shape};
use palpate_assembly::{Finding, Job, Kind};

/// Colours of the two parts, of what is wrong, and of parts that are well.
const GLASS: [Rgb; 2] = [[98, 136, 200], [86, 174, 142]];
const WRONG: Rgb = [222, 58, 46];
const NEAR: Rgb = [240, 160, 40];
const WELL: Rgb = [186, 192, 202];
const ARROW: Rgb = [44, 48, 58];
/// Voxels along the longest edge of an overlap.
const CELLS: f64 = 28.0;
/// Width and height of each of the two panels [pixels].
const PANEL: [u32; 2] = [460, 380];

/// Two panels: the pair, and the place itself. `shapes` are those of the parts, where there are any.
pub(super) fn finding(job: &Job, f: &Finding, shapes: Option<[&Shape; 2]>) -> Image {
    let o = &f.outcome;
    let place = o.place();
    let instances = f.pair.map(|i| &job.instances[i as usize]);
    let poses = instances.map(|i| i.at(o.time.unwrap_or(0.0)));
    let mut glasses = Vec::new();
    let mut boxes = Vec::new();
    for (k, (instance, pose)) in instances.iter().zip(&poses).enumerate() {
        let mesh = &job.parts[instance.part].mesh;
        let positions: Vec<DVec3> = mesh.positions().iter().map(|p| pose.point(*p)).collect();
        boxes.push(Aabb::of_points(positions.iter().copied()));
        let mut scene = Scene::around(place);
        scene.mesh(&positions, mesh.triangles(), Paint::Plain(GLASS[k]));
        glasses.push(scene);
    }
    let small = boxes.iter().map(|b| b.extent().length()).fold(f64::INFINITY, f64::min);
    let [a, b] = o.points.map(DVec3::from_array);
    let reach = o.region.map_or(2.5 * (b - a).length(), |r| 0.9 * r.aabb().extent().max_element());
    let half = DVec3::splat(reach.clamp(0.04 * small, 0.4 * small));
    let frames = [None, Some(Aabb { min: place - half, max: place + half })];
    let mut image = Image::new(2 * PANEL[0], PANEL[1]);
    for (panel, frame) in frames.into_iter().enumerate() {
        let size = frame.map_or(0.5 * small, |f: Aabb| f.extent().length());
        let mut solid = Scene::around(place);
        mark(&mut solid, f, size);
        if let (Some(region), Some(shapes)) = (o.region, shapes) {
            shared(&mut solid, region.aabb(), shapes, poses);
        }
        let camera = Camera { frame, ..Camera::three_quarter(DVec3::Z) };
        let params = RenderParams { width: PANEL[0], height: PANEL[1], ground: false, ..Default::default() };
        image.paste(&render_through(&solid, &glasses, &camera, &params), panel as u32 * PANEL[0], 0);
    }
    image
}

/// The gap as a line, or the box of the overlap and the way out. `size` of what is seen [m].
fn mark(scene: &mut Scene, f: &Finding, size: f64) {
    let o = &f.outcome;
    let [a, b] = o.points.map(DVec3::from_array);
    let thin = 0.006 * size;
    let Some(region) = o.region else {
        let colour = if o.kind == Kind::Clearance { NEAR } else { WELL };
        scene.stick(a, b, thin, false, colour);
        scene.points(&[a, b], 1.9 * thin, colour);
        return;
    };
    let room = region.aabb();
    let corner = |i: usize| {
        let pick = |k: usize| if i >> k & 1 == 0 { room.min[k] } else { room.max[k] };
        DVec3::new(pick(0), pick(1), pick(2))
    };
    for (i, bit) in (0..8).flat_map(|i| [1, 2, 4].map(|bit| (i, bit))).filter(|(i, bit)| i & bit == 0) {
        scene.stick(corner(i), corner(i | bit), 0.4 * thin, false, WRONG);
    }
    let place = o.place();
    scene.points(&[place], 1.9 * thin, WRONG);
    let way = DVec3::from_array(o.way).normalize_or_zero();
    scene.stick(place, place + 0.3 * size * way, thin, true, ARROW);
}

/// What two shapes share, as small cubes.
fn shared(scene: &mut Scene, room: Aabb, shapes: [&Shape; 2], poses: [Pose; 2]) {
    let size = room.extent().max_element() / CELLS;
    if !(size > 0.0 && size.is_finite()) {
        return;
    }
    let back = poses.map(|p| p.inverse());
    let count = (room.extent() / size).ceil().as_ivec3().max(glam::IVec3::ONE);
    let mut cells = Vec::new();
    for (k, j) in (0..count.z).flat_map(|k| (0..count.y).map(move |j| (k, j))) {
        for i in 0..count.x {
            let p = room.min + (DVec3::new(f64::from(i), f64::from(j), f64::from(k)) + 0.5) * size;
            let inside = |n: usize| shapes[n].field().sample(back[n].point(p)).distance < 0.0;
            if inside(0) && inside(1) {
                cells.push([i, j, k]);
            }
        }
    }
    scene.voxels(&cells, room.min, size, |_| WRONG);
}

/// All parts: those of a clash red, those too near another orange, the others grey.
pub(super) fn overview(job: &Job, findings: &[Finding], size: [u32; 2]) -> Image {
    let mut colours = vec![WELL; job.instances.len()];
    for kind in [Kind::Clearance, Kind::Clash] {
        for f in findings.iter().filter(|f| f.outcome.kind == kind) {
            let colour = if kind == Kind::Clash { WRONG } else { NEAR };
            f.pair.iter().for_each(|i| colours[*i as usize] = colour);
        }
    }
    let mut scene = Scene::new();
    for (instance, colour) in job.instances.iter().zip(colours) {
        let mesh = &job.parts[instance.part].mesh;
        let positions: Vec<DVec3> = mesh.positions().iter().map(|p| instance.pose.point(*p)).collect();
        scene.mesh(&positions, mesh.triangles(), Paint::Plain(colour));
    }
    let params = RenderParams { width: size[0], height: size[1], ground: false, ..Default::default() };
    render(&scene, &Camera::three_quarter(DVec3::Z), &params)
}
