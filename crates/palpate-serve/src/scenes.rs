//! Scenes that can be chosen, and how each is built.

use crate::pair::Pair;
use crate::probe::Probe;
use crate::stage::{Act, Body, Geometry, Stage};
use crate::touch::Touch;
use crate::waving::Waving;
use glam::{DQuat, DVec3};
use palpate::cloud::Cloud;
use palpate::math::Pose;
use palpate::mesh::{Format, Mesh, RawMesh, samples, unit_scale};
use palpate::progress::Progress;
use palpate::shape::{Shape, ShapeParams, Size};
use std::path::PathBuf;

/// Cells along the largest extent of a file that was dropped. More: a longer build. Fewer: small features are lost.
const DROPPED: u32 = 128;
/// Size of the tool for a dropped file, of the file's size [1].
const TOOL: f64 = 0.25;
/// Voxel of a nut and its bolt [m], and voxels from point to point: the gap between the threads is 0.15 mm. With larger voxels the
/// tool, which keeps a share of them as distance, sticks in the thread; with more points a tick takes longer.
const THREAD: (f64, f64) = (1e-4, 8.0);
/// Most characters of a name that came from the network.
const LABEL: usize = 60;

/// A scene that can be asked for.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// As requests spell it.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) title: &'static str,
    /// What it is made of.
    make: Make,
}

#[derive(Clone, Debug)]
enum Make {
    Knot,
    Nut,
    Peg,
    Cloud,
    Soft,
    #[cfg(feature = "rapier")]
    Terrain,
    /// Two files of the folder of scans: touched, tool.
    Scans(PathBuf, PathBuf),
}

/// What was built: a scene, and what moves it.
pub(crate) type Built = (Stage, Box<dyn Act>);

/// The scenes there are. `models`: a folder of scans.
pub(crate) fn list(models: Option<&std::path::Path>) -> Vec<Entry> {
    let mut all = vec![
        Entry { id: "knot", title: "Bumpy sphere and torus knot", make: Make::Knot },
        Entry { id: "nut", title: "Nut and bolt", make: Make::Nut },
        Entry { id: "peg", title: "Peg in hole", make: Make::Peg },
        #[cfg(feature = "rapier")]
        Entry { id: "terrain", title: "Parts fall on a terrain (Rapier)", make: Make::Terrain },
        Entry { id: "cloud", title: "A probe on a cloud of points", make: Make::Cloud },
        Entry { id: "soft", title: "Two soft meshes", make: Make::Soft },
    ];
    let Some(folder) = models else { return all };
    for (id, title, a, b) in [
        ("bunny", "Scans: horse on bunny", "bunny.obj", "horse.ply"),
        ("dragon", "Scans: bunny in dragon", "dragon.ply", "bunny.obj"),
    ] {
        let (a, b) = (folder.join(a), folder.join(b));
        if a.is_file() && b.is_file() {
            all.push(Entry { id, title, make: Make::Scans(a, b) });
        }
    }
    all
}

/// Builds a scene. Long: seconds.
///
/// # Errors
/// In words for people: what is wrong with a file, or that the build was stopped.
pub(crate) fn build(entry: &Entry, generation: u64, progress: &dyn Progress) -> Result<Built, String> {
    let stage = |words: &str, bodies: Vec<Body>, up: DVec3| Stage {
        generation,
        id: entry.id.to_owned(),
        title: entry.title.to_owned(),
        words: words.to_owned(),
        hand: bodies.get(1).map_or(Pose::IDENTITY, |b| b.pose),
        bodies,
        tool: Some(1),
        up,
        device: None,
    };
    match &entry.make {
        Make::Knot => {
            let a = shape(samples::bumpy_sphere(0.05, 0.005, 12, 6, 1), Size::Resolution(96), progress)?;
            let b = shape(
                samples::torus_knot(2, 3, 0.03, 0.0125, 0.006, 400, 28),
                Size::Resolution(96),
                progress,
            )?;
            let start = Pose::new(DQuat::from_rotation_x(0.5), DVec3::new(0.0, 0.0, 0.09));
            let words = "A torus knot on a bumpy sphere. Drag the knot: it stops at the surface and slides over the bumps, \
                         while the hand may go on inside.";
            pair(stage(words, two(("bumpy sphere", a), ("torus knot", b), start), DVec3::Z))
        }
        Make::Nut => {
            let (bolt, nut) = samples::nut_and_bolt(samples::NUT_AND_BOLT_FINENESS);
            let a = spaced(bolt, Size::Voxel(THREAD.0), THREAD.1, progress)?;
            let b = spaced(nut, Size::Voxel(THREAD.0), THREAD.1, progress)?;
            let words = "An M16 nut on its bolt, screwed on by a few turns. Turn it (keys U and O, or drag with Turn) and it \
                         follows the thread; pull it and it holds.";
            pair(stage(words, two(("bolt", a), ("nut", b), Pose::IDENTITY), DVec3::Z))
        }
        Make::Peg => {
            let (peg, hole) = samples::peg_and_hole(2e-4, 96);
            let a = shape(hole, Size::Voxel(2e-4), progress)?;
            let b = shape(peg, Size::Voxel(2e-4), progress)?;
            let words =
                "A round peg of 8 mm and a bore 0.2 mm wider. Push it in straight; tilted, it wedges.";
            let start = Pose::from_translation(DVec3::new(0.0, 0.0, 4e-3));
            pair(stage(words, two(("hole", a), ("peg", b), start), DVec3::Z))
        }
        Make::Cloud => {
            progress.stage("points", 0);
            let points = samples::bumpy_sphere(0.05, 0.005, 9, 6, 3).positions;
            let cloud =
                Cloud::build_with(&points, &Default::default(), progress).map_err(|e| e.to_string())?;
            let spacing = cloud.spacing();
            let ball = samples::sphere(2.5e-3, 3);
            let start = Pose::from_translation(DVec3::new(0.015, -0.062, 0.03));
            let bodies = vec![
                Body {
                    name: "points".to_owned(),
                    geometry: Geometry::Points(points, spacing),
                    pose: Pose::IDENTITY,
                },
                Body {
                    name: "probe".to_owned(),
                    geometry: Geometry::Mesh(ball.positions, ball.triangles),
                    pose: start,
                },
            ];
            let words = "Points alone, without a surface: a probe feels what lies between them, with some friction. Drag the small ball.";
            Ok((stage(words, bodies, DVec3::Z), Box::new(Probe::new(cloud))))
        }
        Make::Soft => {
            progress.stage("meshes", 0);
            let a = samples::bumpy_sphere(0.05, 0.003, 5, 4, 2);
            let b = samples::sphere(0.025, 4);
            let start = Pose::from_translation(DVec3::new(0.02, -0.03, 0.085));
            let soft = |name: &str, mesh: &RawMesh, pose: Pose| Body {
                name: name.to_owned(),
                geometry: Geometry::Soft(mesh.positions.clone(), mesh.triangles.clone()),
                pose,
            };
            let bodies = vec![soft("large", &a, Pose::IDENTITY), soft("small", &b, start)];
            let words = "Two meshes whose vertices never rest. Their triangles are asked anew 250 times a second; marks are where they \
                         meet, and the small one is held back there.";
            let act = Waving::new((a.positions, a.triangles), (b.positions, b.triangles), start)?;
            Ok((stage(words, bodies, DVec3::Z), Box::new(act)))
        }
        #[cfg(feature = "rapier")]
        Make::Terrain => terrain(stage, progress),
        Make::Scans(first, second) => {
            let load = |path: &PathBuf| RawMesh::load(path, 1.0).map_err(|e| e.to_string());
            let a = load(first)?;
            let size = extent(&a);
            // Scans come in any unit: 12 cm, and the tool half of that.
            let a = shape(scaled(a, 0.12 / size), Size::Resolution(128), progress)?;
            let b = load(second)?;
            let b = scaled(b.clone(), 0.06 / extent(&b));
            let b = shape(b, Size::Resolution(96), progress)?;
            let start = above(&a, &b, DVec3::Y);
            let name =
                |p: &PathBuf| p.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let (na, nb) = (name(first), name(second));
            let words = format!("Two scans, made 12 cm and 6 cm large: {na} is touched by {nb}.");
            pair(stage(&words, two((&na, a), (&nb, b), start), DVec3::Y))
        }
    }
}

/// Parts that fall on a terrain. The first that falls is the tool.
#[cfg(feature = "rapier")]
fn terrain(
    stage: impl Fn(&str, Vec<Body>, DVec3) -> Stage,
    progress: &dyn Progress,
) -> Result<Built, String> {
    use palpate_sim::Motion;
    /// [kg/m³]
    const DENSITY: f64 = 1000.0;
    let ground = shape(samples::terrain_slab(0.3, 0.05, 80, 7), Size::Resolution(128), progress)?;
    let parts = [
        ("torus knot", samples::torus_knot(2, 3, 0.025, 0.0105, 0.005, 260, 18)),
        ("gear", samples::gear(16, 2.5e-3, 0.012, 4)),
        ("bumpy sphere", samples::bumpy_sphere(0.02, 0.002, 8, 5, 1)),
        ("torus", samples::torus(0.02, 0.008, 64, 32)),
        ("box", samples::cuboid(DVec3::new(0.035, 0.03, 0.025))),
    ];
    let mut bodies = vec![Body {
        name: "terrain".to_owned(),
        geometry: Geometry::Shape(ground.clone()),
        pose: Pose::IDENTITY,
    }];
    let mut scene = palpate_sim::Scene::default();
    scene.add(palpate_sim::Body::new("terrain", ground, Motion::Static, Pose::IDENTITY));
    for (i, (name, mesh)) in parts.into_iter().enumerate() {
        let part = shape(mesh, Size::Resolution(64), progress)?;
        let angle = i as f64 * 1.3;
        let at = DVec3::new(0.06 * angle.cos(), 0.06 * angle.sin(), 0.09 + 0.03 * i as f64);
        let pose = Pose::new(DQuat::from_scaled_axis(DVec3::new(0.3, 0.7, 0.2) * angle), at);
        bodies.push(Body { name: name.to_owned(), geometry: Geometry::Shape(part.clone()), pose });
        scene.add(palpate_sim::Body::new(name, part, Motion::Density(DENSITY), pose));
    }
    let words = "Five parts fall on a terrain, moved by Rapier with palpate's contacts. Drag the torus knot, and push the others with it. \
                 Start again drops them anew.";
    let act = crate::fall::Fall::new(scene, 1)?;
    Ok((stage(words, bodies, DVec3::Z), Box::new(act)))
}

/// A file that was dropped, under a torus knot of a quarter of its size. `label` is only shown.
///
/// # Errors
/// In words for people.
pub(crate) fn dropped(
    label: &str,
    unit: &str,
    bytes: &[u8],
    generation: u64,
    progress: &dyn Progress,
) -> Result<Built, String> {
    let name = shown(label);
    let scale = unit_scale(unit).ok_or_else(|| format!("{unit} is no unit; use m, mm, cm or in"))?;
    let format =
        Format::from_path(std::path::Path::new(&name)).or_else(|| Format::detect(bytes)).ok_or_else(
            || format!("{name} is no mesh that is known: give an OBJ, STL, PLY, glTF, GLB or OFF file"),
        )?;
    progress.stage("reading", 0);
    let raw = RawMesh::from_bytes(bytes, format, scale).map_err(|e| e.to_string())?;
    let a = shape(raw, Size::Resolution(DROPPED), progress)?;
    let size = a.aabb().extent().max_element();
    let tool = scaled(samples::torus_knot(2, 3, 0.03, 0.0125, 0.006, 300, 20), size * TOOL / 0.09);
    let b = shape(tool, Size::Resolution(64), progress)?;
    let start = above(&a, &b, DVec3::Z);
    let stage = Stage {
        generation,
        id: "dropped".to_owned(),
        title: name.clone(),
        words: format!(
            "{} triangles, {} long, in a field of {} voxels. Touch it with the torus knot.",
            a.mesh().triangles().len(),
            palpate_view::units::length(size),
            a.field().lattice().dims().map(|d| d.to_string()).join(" × ")
        ),
        bodies: two((&name, a), ("torus knot", b), start),
        tool: Some(1),
        hand: start,
        up: DVec3::Z,
        device: None,
    };
    pair(stage)
}

/// A name from the network, as it may be shown: it never names a file.
fn shown(label: &str) -> String {
    let base = label.rsplit(['/', '\\']).next().unwrap_or("");
    let text: String = base.chars().filter(|c| !c.is_control()).take(LABEL).collect();
    if text.trim().is_empty() { "dropped file".to_owned() } else { text }
}

/// A shape, or why there is none.
fn shape(raw: RawMesh, size: Size, progress: &dyn Progress) -> Result<Shape, String> {
    spaced(raw, size, palpate::shape::SPACING, progress)
}

/// The same with points so many voxels apart.
fn spaced(raw: RawMesh, size: Size, apart: f64, progress: &dyn Progress) -> Result<Shape, String> {
    let mesh = Mesh::new(raw, &Default::default()).map_err(|e| e.to_string())?;
    let voxel = size.voxel(mesh.aabb()).map_err(|e| e.to_string())?;
    let params = ShapeParams { spacing: Some(apart * voxel), ..ShapeParams::default() };
    Shape::build_with(mesh, voxel, &params, progress).map_err(|e| e.to_string())
}

fn extent(mesh: &RawMesh) -> f64 {
    let all = palpate::math::Aabb::of_points(mesh.positions.iter().copied());
    let size = all.extent().max_element();
    if size > 0.0 && size.is_finite() { size } else { 1.0 }
}

/// The mesh in another scale, its box centred on the origin.
fn scaled(mut mesh: RawMesh, factor: f64) -> RawMesh {
    let centre = palpate::math::Aabb::of_points(mesh.positions.iter().copied()).centre();
    mesh.positions.iter_mut().for_each(|p| *p = (*p - centre) * factor);
    mesh
}

/// A pose of the tool that is free, above the touched shape.
fn above(a: &Shape, b: &Shape, up: DVec3) -> Pose {
    let (a, b) = (a.aabb(), b.aabb());
    let room = 0.5 * (a.extent() + b.extent()).dot(up.abs()) + 0.05 * a.extent().max_element();
    Pose::from_translation(a.centre() - b.centre() + up * room)
}

fn two(a: (&str, Shape), b: (&str, Shape), start: Pose) -> Vec<Body> {
    vec![
        Body { name: a.0.to_owned(), geometry: Geometry::Shape(a.1), pose: Pose::IDENTITY },
        Body { name: b.0.to_owned(), geometry: Geometry::Shape(b.1), pose: start },
    ]
}

/// A stage of two shapes, the second of which is the tool.
fn pair(stage: Stage) -> Result<Built, String> {
    let shape = |i: usize| match stage.bodies.get(i).map(|b| &b.geometry) {
        Some(Geometry::Shape(shape)) => Some(shape.clone()),
        _ => None,
    };
    let act: Box<dyn Act> = match (shape(0), shape(1)) {
        (Some(a), Some(b)) => {
            Box::new(Pair::new(Touch::new(a, b, stage.hand, stage.up).map_err(|e| e.to_string())?))
        }
        _ => Box::new(Still),
    };
    Ok((stage, act))
}

/// Nothing moves.
struct Still;

impl Act for Still {
    fn step(&mut self, _grip: &crate::stage::Grip, _now: &mut crate::stage::Now) {}
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{Grip, Now};
    use palpate::progress::Silent;

    #[test]
    fn names_from_the_network_are_only_labels() {
        assert_eq!(shown("../../etc/passwd"), "passwd");
        assert_eq!(shown("C:\\x\\gear.stl"), "gear.stl");
        assert_eq!(shown("\n\0"), "dropped file");
        assert_eq!(shown(&"x".repeat(1000)).len(), LABEL);
    }

    #[test]
    fn every_scene_starts_free_and_can_be_touched() {
        for entry in list(None) {
            let (stage, mut act) = build(&entry, 1, &Silent).unwrap();
            let mut now = Now { bodies: stage.bodies.iter().map(|b| b.pose).collect(), ..Now::default() };
            for _ in 0..20 {
                act.step(&stage.grip(), &mut now);
            }
            assert!(now.depth < 1e-4, "{}: begins {} m inside", entry.id, now.depth);
            // Towards the first body, and aside: a peg goes straight into its hole without force.
            let mut most = 0.0f64;
            let centre = stage.bodies[0].geometry.aabb().centre();
            let way = centre - stage.hand.translation;
            let way = (way.normalize_or_zero() + 0.4 * DVec3::X).normalize_or(DVec3::X);
            for i in 0..2000 {
                let pose = Pose::new(stage.hand.rotation, stage.hand.translation + way * 2e-5 * f64::from(i));
                act.step(&Grip { target: pose, held: true }, &mut now);
                most = most.max(now.wrench.force.length());
            }
            assert!(most > 0.1, "{}: no force", entry.id);
        }
    }

    fn stage_bytes(stage: &Stage) -> usize {
        let bytes = |b: &Body| if let Geometry::Shape(s) = &b.geometry { s.bytes() } else { 0 };
        stage.bodies.iter().map(bytes).sum()
    }

    #[test]
    fn a_nut_that_is_turned_follows_its_thread() {
        let entry = list(None).into_iter().find(|e| e.id == "nut").unwrap();
        let (stage, mut act) = build(&entry, 1, &Silent).unwrap();
        let mut now = Now { bodies: stage.bodies.iter().map(|b| b.pose).collect(), ..Now::default() };
        // Half a turn, about the bolt's axis, the hand staying at its height.
        for i in 0..4000 {
            let angle = std::f64::consts::PI * (f64::from(i) / 3000.0).min(1.0);
            let target = Pose::new(DQuat::from_rotation_z(angle), DVec3::ZERO);
            act.step(&Grip { target, held: true }, &mut now);
        }
        let nut = now.bodies[1];
        let turned = nut.rotation.to_scaled_axis().z;
        let risen = nut.translation.z;
        println!("turned {turned} rad, risen {risen} m, {} bytes", stage_bytes(&stage));
        assert!(turned > 2.0, "turned by {turned} only");
        assert!(
            (risen - 2e-3 * turned / std::f64::consts::TAU).abs() < 4e-4,
            "{risen} m higher after {turned} rad"
        );
    }

    #[test]
    fn a_dropped_file_is_built_or_refused_in_words() {
        let cube = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
        let (stage, _) = dropped("../tetra.obj", "mm", cube.as_bytes(), 3, &Silent).unwrap();
        assert_eq!((&*stage.title, stage.generation), ("tetra.obj", 3));
        assert!((stage.bodies[0].geometry.aabb().extent().x - 1e-3).abs() < 1e-6);
        for (name, unit, bytes) in [("a.obj", "m", "v 0 0"), ("a", "m", "hello"), ("a.obj", "league", cube)] {
            let words = dropped(name, unit, bytes.as_bytes(), 1, &Silent).err().unwrap();
            assert!(words.len() > 10, "{words}");
        }
    }
}
