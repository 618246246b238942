//! The bunny that is dropped, in Rapier: ours, coarse and fine, beside what Rapier has.

use super::ball_rapier::lowest;
use super::drop::{Peer, STEPS, Step, Timed, report};
use super::rapier::{Ground, Settings, Thing};
use super::{Found, Lab};
use anyhow::{Context, Result};
use glam::{DMat3, DVec3};
use palpate::mesh::{Mesh, RawMesh, RepairParams, samples};
use palpate::shape::ShapeParams;
use palpate_rapier::{PalpateDispatcher, PalpateShape};
use palpate_sim::Engine;
use rapier3d::prelude::{Pose, SharedShape, Vector};

/// As in Bullet [m/s², m, Hz].
const GRAVITY: f64 = 9.81;
const HEIGHT: f64 = 0.5;
const RATE: f64 = 500.0;
/// Below this the bunny has fallen through the ground [m].
const THROUGH: f64 = -0.1;
const SCALE: f64 = 1.7354;
/// The paper's, for 1 kg [m²].
const INERTIA: DVec3 = DVec3::new(4.79e-3, 4.46e-3, 6.38e-3);
/// Edge of the voxels, and spacing of the fine and the coarse shell [m].
const VOXEL: f64 = 0.00175;
const FINE: f64 = 0.0019;
const COARSE: f64 = 0.0127;
/// Half the width of a ground [m], and cells along a side of the fine ones: 20,000 triangles.
const HALF: f64 = 2.0;
const CELLS: u32 = 100;

/// The bunny about its centre of mass.
struct Bunny {
    mesh: Mesh,
    /// Where it was before [m].
    centre: DVec3,
}

impl Bunny {
    fn load(lab: &Lab<'_>) -> Result<Self> {
        let path = lab.models()?.join("bunny.obj");
        let mesh = Mesh::load(&path, SCALE).with_context(|| path.display().to_string())?;
        let centre = mesh.mass_properties().centre;
        let positions = mesh.positions().iter().map(|p| *p - centre).collect();
        let raw = RawMesh { positions, triangles: mesh.triangles().to_vec() };
        Ok(Self { mesh: Mesh::new(raw, &RepairParams::default())?, centre })
    }

    fn ours(&self, spacing: f64) -> Result<SharedShape> {
        let params = ShapeParams { spacing: Some(spacing), ..ShapeParams::default() };
        let shape = palpate::Shape::build(self.mesh.clone(), VOXEL, &params)?;
        eprintln!("{} points", shape.tree().len());
        Ok(PalpateShape::new(shape).into())
    }

    /// The hull of its farthest points in 42 directions, as Bullet's `btShapeHull` has it.
    fn hull42(&self) -> Result<SharedShape> {
        let far = farthest(self.mesh.positions());
        SharedShape::convex_hull(&far).context("no hull of 42 points")
    }

    /// The groups of an OBJ file in the bunny's own size and place, as hulls.
    fn hulls(&self, obj: &str) -> Result<SharedShape> {
        let groups = groups(obj)?;
        let placed = |g: &Vec<DVec3>| -> Vec<Vector> {
            g.iter().map(|p| (*p * SCALE - self.centre).as_vec3()).collect()
        };
        let hulls = groups.iter().map(|g| Some((Pose::IDENTITY, SharedShape::convex_hull(&placed(g))?)));
        Ok(SharedShape::compound(hulls.collect::<Option<_>>().context("a group has no hull")?))
    }

    /// All triangles: what Rapier has for a body of any form.
    fn triangles(&self) -> Result<SharedShape> {
        let positions = self.mesh.positions().iter().map(|p| p.as_vec3()).collect();
        Ok(SharedShape::trimesh(positions, self.mesh.triangles().to_vec())?)
    }
}

/// Of these points the farthest in each of 42 directions: an icosahedron, divided once.
pub(super) fn farthest(points: &[DVec3]) -> Vec<Vector> {
    let directions = samples::sphere(1.0, 1).positions;
    let far = |d: &DVec3| points.iter().max_by(|a, b| d.dot(**a).total_cmp(&d.dot(**b)));
    directions.iter().filter_map(far).map(|p| p.as_vec3()).collect()
}

/// The vertices of each group of an OBJ file, as far as they are before the next.
pub(super) fn groups(obj: &str) -> Result<Vec<Vec<DVec3>>> {
    let mut groups: Vec<Vec<DVec3>> = Vec::new();
    for line in obj.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("g" | "o") => groups.push(Vec::new()),
            Some("v") => {
                let p: Vec<f64> = words.filter_map(|w| w.parse().ok()).collect();
                let [x, y, z] = p[..] else { anyhow::bail!("a vertex is not three numbers: {line}") };
                if groups.is_empty() {
                    groups.push(Vec::new());
                }
                groups.last_mut().context("no group")?.push(DVec3::new(x, y, z));
            }
            _ => {}
        }
    }
    groups.retain(|g| !g.is_empty());
    Ok(groups)
}

/// Grounds as the program with Bullet has them: a box, a flat sheet of 20,000 triangles, one with bumps of 20 mm.
fn ground(name: &str) -> Result<(SharedShape, Pose)> {
    if name == "box" {
        let h = HALF as f32;
        return Ok((SharedShape::cuboid(h, h, 1.0), Pose::from_translation(-Vector::Z)));
    }
    let (positions, triangles) = sheet(CELLS, name == "terrain");
    Ok((SharedShape::trimesh(positions, triangles)?, Pose::IDENTITY))
}

fn sheet(cells: u32, bumps: bool) -> (Vec<Vector>, Vec<[u32; 3]>) {
    let at = |i: u32| HALF * (2.0 * f64::from(i) / f64::from(cells) - 1.0);
    let place = |x: f64, y: f64| {
        let z = if bumps { 0.02 * ((4.0 * x).sin() + (5.0 * y).cos() - 1.0) } else { 0.0 };
        DVec3::new(x, y, z).as_vec3()
    };
    let row = cells + 1;
    let positions = (0..row).flat_map(|j| (0..row).map(move |i| place(at(i), at(j)))).collect();
    let square = |j: u32, i: u32| {
        let a = j * row + i;
        [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]
    };
    (positions, (0..cells).flat_map(|j| (0..cells).flat_map(move |i| square(j, i))).collect())
}

/// Rotations of the program with Bullet: splitmix64, and Shoemake's formula.
struct Rotations(u64);

impl Rotations {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x632B_E59B_D9B4_E019))
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0
    }

    fn next(&mut self) -> glam::DQuat {
        let turn = std::f64::consts::TAU;
        let (u, v, w) = (self.uniform(), self.uniform() * turn, self.uniform() * turn);
        let (a, b) = ((1.0 - u).sqrt(), u.sqrt());
        glam::DQuat::from_xyzw(a * v.sin(), a * v.cos(), b * w.sin(), b * w.cos())
    }
}

/// Drops a shape in the same rotations as Bullet.
fn drop(
    bunny: &Bunny,
    shape: &SharedShape,
    on: &(SharedShape, Pose),
    dispatcher: &PalpateDispatcher,
    rotations: usize,
    defaults: bool,
) -> Result<Timed> {
    let size = bunny.mesh.aabb().extent().max_element();
    let settings = Settings { gravity: GRAVITY, rate: RATE, size, defaults };
    let mut random = Rotations::new(1);
    let points = shape.as_shape::<PalpateShape>().map(|s| s.core().tree().len());
    let mut all = Timed { rotations: rotations as f64, points, ..Timed::default() };
    let mut counted = Vec::new();
    for rotation in 0..rotations {
        let mut world = Ground::new(&settings, dispatcher, on);
        let q = random.next().as_quat();
        let mut pose = Pose::from_parts(Vector::ZERO, q);
        pose.translation.z = (HEIGHT - lowest(&pose, bunny.mesh.positions())) as f32;
        let inertia = DMat3::from_diagonal(INERTIA);
        let thing = Thing { shape: shape.clone(), pose, mass: 1.0, inertia, surface: (0.5, 0.0) };
        let body = world.add(&thing);
        let mut steps = Vec::with_capacity(STEPS.end);
        for step in 0..STEPS.end {
            let micros = world.step();
            let (pose, linear, angular) = world.state(body).context("the bunny is gone")?;
            let w = (pose.rotation.inverse() * angular.as_vec3()).as_dvec3();
            let energy = 0.5 * (linear.length_squared() + (INERTIA * w).dot(w));
            let (speed, spin) = (linear.length(), angular.length());
            steps.push((Step { rotation, step, micros, speed, energy, spin }, pose));
        }
        // What is not a number is not above.
        let above = steps.last().is_some_and(|s| lowest(&s.1, bunny.mesh.positions()) > THROUGH);
        if !above {
            all.fell += 1.0;
        } else {
            counted.extend(steps.iter().filter(|s| STEPS.contains(&s.0.step)).map(|s| s.0.micros));
        }
        all.csv.extend(steps.into_iter().map(|s| s.0));
    }
    all.mean_us = counted.iter().sum::<f64>() / counted.len() as f64;
    eprintln!("narrow phase {:.2} µs; {} of {rotations} fell through", all.mean_us, all.fell);
    Ok(all)
}

/// Figures 8 and 10 in Rapier.
pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let bunny = Bunny::load(lab)?;
    let (fine, coarse) = (bunny.ours(FINE)?, bunny.ours(COARSE)?);
    let hulls = bunny.hulls(&std::fs::read_to_string(lab.hulls("bunny.obj")?)?)?;
    let (hull42, triangles) = (bunny.hull42()?, bunny.triangles()?);
    let (n, few) = if lab.options.quick { (2, 1) } else { (10, 4) };
    for name in ["box", "mesh20k", "terrain"] {
        let on = ground(name)?;
        let dispatcher = PalpateDispatcher::new();
        let ran = |what: &str, shape, n, defaults| {
            eprintln!("rapier: {what} on {name}");
            drop(&bunny, shape, &on, &dispatcher, n, defaults)
        };
        let ours = ran("fine", &fine, n, false)?;
        let rough = ran("coarse", &coarse, n, false)?;
        let peer = |name, what: &str, shape, n| -> Result<Peer> {
            let plain = ran(&format!("{what} with Rapier's defaults"), shape, n, true)?;
            let note = format!(
                "; with Rapier's defaults, which pass over pairs that hardly moved: {:.2} µs",
                plain.mean_us
            );
            Ok(Peer { name, label: what.to_owned(), timed: ran(what, shape, n, false)?, note })
        };
        let mut peers = vec![
            peer("rapier hulls", "8 hulls", &hulls, n)?,
            peer("rapier hull42", "hull of 42", &hull42, n)?,
        ];
        // Ours again, as peers run between: the machine may have changed.
        let again = ran("fine", &fine, n, false)?;
        peers.push(peer("rapier trimesh", "TriMesh", &triangles, few)?);
        report(&mut found, Engine::Rapier, name, &ours, &again, &rough, &peers);
    }
    found.notes.push(
        "drop in Rapier: all shapes with the settings that our plug-in advises; a body of triangles has no inside there, and may fall through"
            .into(),
    );
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_two_directions_find_the_corners_of_a_cube() {
        let cube: Vec<DVec3> = samples::cuboid(DVec3::ONE).positions;
        let found = farthest(&cube);
        assert_eq!(found.len(), 42);
        let corners = cube.iter().filter(|c| found.contains(&c.as_vec3())).count();
        assert_eq!(corners, cube.len());
    }

    #[test]
    fn groups_have_their_own_vertices() {
        let obj = "g a\nv 0 0 0\nv 1 0 0\nf 1 2 2\ng b\nv 0 0 5\ng empty\n";
        assert_eq!(groups(obj).unwrap(), [vec![DVec3::ZERO, DVec3::X], vec![DVec3::Z * 5.0]]);
        assert!(groups("v 1 2\n").is_err());
        assert!(groups("").unwrap().is_empty());
    }

    #[test]
    fn sheets_look_up_and_have_twenty_thousand_triangles() {
        for bumps in [false, true] {
            let (positions, triangles) = sheet(CELLS, bumps);
            assert_eq!(triangles.len(), 20_000);
            for t in &triangles {
                let [a, b, c] = t.map(|i| positions[i as usize]);
                assert!((b - a).cross(c - a).z > 0.0);
            }
            let high = positions.iter().map(|p| p.z).fold(0.0, f32::max);
            assert_eq!(high > 0.01, bumps);
        }
    }

    #[test]
    fn rotations_are_those_of_the_other_program() {
        let mut r = Rotations::new(1);
        let all: Vec<_> = (0..100).map(|_| r.next()).collect();
        assert!(all.iter().all(|q| (q.length() - 1.0).abs() < 1e-12));
        // As uniform as a hundred can be: their mean direction is short.
        let mean = all.iter().map(|q| *q * DVec3::Z).sum::<DVec3>() / 100.0;
        assert!(mean.length() < 0.25, "{mean}");
        // What `palpate-bullet drop --seed 1` begins with.
        let mut r = Rotations::new(1);
        assert!((r.uniform() - FIRST).abs() < 1e-15);
    }

    /// splitmix64 of the state that seed 1 gives, by hand.
    const FIRST: f64 = 0.16522218552828416;
}
