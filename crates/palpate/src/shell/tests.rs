//! What a shell promises, on shapes that make it hard.

use super::*;
use crate::field::FieldParams;
use crate::field::source::random::Random;
use crate::mesh::{RawMesh, RepairParams, samples};
use crate::shell::closest_point_kkt;
use std::collections::BTreeMap;

fn scaled(mut raw: RawMesh, factor: f64) -> RawMesh {
    raw.positions.iter_mut().for_each(|p| *p *= factor);
    raw
}

/// Mesh, field and a spacing that gives a few thousand points.
fn scene(raw: RawMesh, points: f64) -> (Mesh, Field, f64) {
    let mesh = Mesh::new(raw, &RepairParams::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / 60.0;
    let field = Field::build(&mesh, voxel, &FieldParams::default()).unwrap();
    let spacing = (0.7 * mesh.report().area / points).sqrt();
    (mesh, field, spacing)
}

fn scenes() -> Vec<(&'static str, RawMesh, f64)> {
    vec![
        ("box", samples::cuboid(DVec3::new(0.08, 0.06, 0.04)), 3000.0),
        ("tilted box", tilted(samples::cuboid(DVec3::new(0.08, 0.06, 0.04))), 3000.0),
        ("gear", samples::gear(12, 2.5e-3, 0.012, 4), 3000.0),
        ("needle", samples::needle(0.1, 2e-4), 1000.0),
        ("coarse needle", samples::needle(0.1, 2e-4), 30.0),
        ("thin slab", samples::cuboid(DVec3::new(0.1, 0.08, 2e-4)), 2000.0),
        ("fin", samples::thin_fin(1e-4), 2000.0),
        ("torus", samples::torus(0.05, 0.02, 64, 32), 3000.0),
        ("open cube", samples::cube_missing_face(0.05), 2000.0),
        ("sheet", samples::sheet(20), 1000.0),
        ("bumpy sphere", samples::bumpy_sphere(0.05, 0.008, 6, 4, 1), 3000.0),
        ("fine bumpy sphere", samples::bumpy_sphere(0.05, 0.008, 6, 6, 1), 300.0),
        ("millimetre", scaled(samples::bumpy_sphere(0.5, 0.08, 6, 4, 1), 1e-3), 2000.0),
        ("kilometre", scaled(samples::gear(12, 2.5e-3, 0.012, 4), 1e5), 2000.0),
        (
            "far from its origin",
            samples::moved(samples::gear(12, 2.5e-3, 0.012, 4), DVec3::new(100.0, -50.0, 3.0)),
            2000.0,
        ),
        ("one point", samples::sphere(0.05, 3), 0.2),
        ("overlapping cubes", samples::two_overlapping_cubes(0.05), 2000.0),
        ("doubled faces", samples::cube_doubled_faces(0.05), 2000.0),
    ]
}

fn tilted(mut raw: RawMesh) -> RawMesh {
    let turn = glam::DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.7);
    raw.positions.iter_mut().for_each(|p| *p = turn * *p);
    raw
}

/// Points by cell of edge `size`.
struct Cells3(BTreeMap<[i64; 3], Vec<DVec3>>, f64);

impl Cells3 {
    fn new(points: impl Iterator<Item = DVec3>, size: f64) -> Self {
        let mut this = Self(BTreeMap::new(), size);
        for p in points {
            this.0.entry(this.cell(p)).or_default().push(p);
        }
        this
    }
    fn cell(&self, p: DVec3) -> [i64; 3] {
        (p / self.1).floor().to_array().map(|x| x as i64)
    }
    fn near(&self, p: DVec3) -> impl Iterator<Item = DVec3> + '_ {
        let [x, y, z] = self.cell(p);
        (0..27).flat_map(move |n| {
            self.0.get(&[x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1]).into_iter().flatten().copied()
        })
    }
}

/// Positions without repeats, relative to the origin.
fn distinct(shell: &Shell) -> Vec<DVec3> {
    let mut out: Vec<DVec3> = shell.positions.iter().map(|p| p.as_dvec3()).collect();
    out.dedup();
    out
}

/// No two positions nearer than the spacing, no random point of the surface farther than the radius, areas that add up.
#[test]
fn spacing_coverage_and_area() {
    for (name, raw, wanted) in scenes() {
        let (mesh, field, spacing) = scene(raw, wanted);
        let shell = Shell::build(&mesh, &field, spacing, &ShellParams::default()).unwrap();
        let report = shell.report();
        let points = distinct(&shell);
        assert_eq!(points.len(), report.points, "{name}");
        assert_eq!(shell.len(), report.entries, "{name}");
        assert_eq!((report.spacing, shell.is_empty()), (spacing, false));

        let grid = Cells3::new(points.iter().copied(), 1.01 * report.radius.max(spacing));
        let mut nearest = f64::INFINITY;
        for &p in &points {
            for q in grid.near(p).filter(|q| *q != p) {
                nearest = nearest.min(p.distance(q));
            }
        }
        assert!(nearest >= spacing, "{name}: {nearest} apart, spacing {spacing}");
        // Even: packed about as densely as points in random order are, or denser.
        assert!(points.len() < 10 || nearest < 1.01 * spacing, "{name}: {}", nearest / spacing);

        let faces = Faces::new(&mesh, field.report().caps() > 0);
        let mut sums = vec![0.0];
        for t in 0..faces.len() {
            sums.push(sums[t] + area(faces.corners(t)));
        }
        let total = sums[faces.len()];
        let mut random = Random(5);
        let (mut farthest, mut beyond_half, samples) = (0.0f64, 0, 20_000);
        for i in 0..samples {
            // Half of the samples by area, half by triangle: slivers have no area to speak of.
            let t = if i % 2 == 0 {
                sums.partition_point(|s| *s <= random.range(0.0, total)).clamp(1, faces.len()) - 1
            } else {
                (random.bits() % faces.len() as u64) as usize
            };
            let [a, b, c] = faces.corners(t);
            let (mut u, mut v) = (random.range(0.0, 1.0), random.range(0.0, 1.0));
            if u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            let p = a + (b - a) * u + (c - a) * v;
            let d = grid.near(p).map(|q| p.distance(q)).fold(f64::INFINITY, f64::min);
            farthest = farthest.max(d);
            beyond_half += usize::from(d > 0.5 * spacing);
        }
        assert!(farthest <= report.radius, "{name}: {farthest} from a point, radius {}", report.radius);
        // The samples would find a gap: some of them come close to the radius.
        assert!(farthest > 0.75 * report.radius, "{name}: {} of the radius", farthest / report.radius);
        assert!(points.len() < 10 || beyond_half > samples / 50, "{name}: {beyond_half} far samples");
        let extent = mesh.aabb().extent().max_element();
        assert!(report.radius <= 1.0003 * spacing + 6e-7 * extent, "{name}: {}", report.radius / spacing);

        let sum: f64 = shell.areas.iter().map(|a| f64::from(*a)).sum();
        assert!((sum / total - 1.0).abs() < 1e-4, "{name}: area {}", sum / total);
        assert!(shell.areas.iter().all(|a| a.is_finite() && *a >= 0.0));
        let cell_limit = (core::f64::consts::PI * 4.0 * report.radius.powi(2)) as f32 * 1.5;
        let largest = shell.areas.iter().copied().fold(0.0, f32::max);
        assert!(name.contains("bumpy") || name == "one point" || largest < cell_limit, "{name}");

        // On the surface, normals unit, triangles named rightly.
        for i in 0..shell.len() {
            let p = shell.positions[i].as_dvec3();
            let on = closest_point_kkt(faces.corners(shell.triangle(i) as usize), p).point;
            assert!(
                on.distance(p) <= 2e-7 * extent + 1e-5 * spacing,
                "{name}: entry {i} off by {}",
                on.distance(p)
            );
            assert!((shell.normal(i).length() - 1.0).abs() < 1e-5, "{name}: {i} {}", shell.normal(i));
        }
    }
}

/// Entries of one position, in order.
fn groups(shell: &Shell) -> Vec<core::ops::Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    for i in 1..=shell.len() {
        if i == shell.len() || shell.positions[i] != shell.positions[start] {
            out.push(start..i);
            start = i;
        }
    }
    out
}

#[test]
fn corners_and_edges_of_a_cube_stand_for_their_faces() {
    let (mesh, field, _) = scene(samples::cuboid(DVec3::splat(0.05)), 1.0);
    let spacing = 2e-3;
    let shell = Shell::build(&mesh, &field, spacing, &ShellParams::default()).unwrap();
    let (mut corners, mut edges) = (0, 0);
    for g in groups(&shell) {
        let p = shell.position(g.start);
        let on = p.abs().to_array().into_iter().filter(|x| (x - 0.025).abs() < 1e-8).count();
        assert_eq!(g.len(), on, "{p} has {} entries", g.len());
        corners += usize::from(on == 3);
        edges += usize::from(on == 2);
        // The normals are those of the faces it is on, each once; each has a share of the area.
        let mut sum = DVec3::ZERO;
        for i in g.clone() {
            let n = shell.normal(i).as_dvec3();
            if on > 1 {
                assert!((n.abs().max_element() - 1.0).abs() < 1e-6);
            }
            assert!(n.dot(p) > 0.0 && shell.area(i) > 0.0);
            sum += n;
        }
        if on == 3 {
            assert!((sum - p.signum()).length() < 1e-6, "{p}: {sum}");
        }
        assert!(shell.area(g.start) < (4.0 * spacing * spacing) as f32);
    }
    // Twenty-five spacings, a little stretched: 23 or 24 points between two corners.
    assert_eq!(corners, 8);
    assert!((12 * 22..=12 * 24).contains(&edges), "{edges}");
    assert_eq!(shell.report().feature_points, corners + edges);
    // Each face carries its own area.
    for axis in [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z] {
        let face: f64 = (0..shell.len())
            .filter(|i| shell.normal(*i).as_dvec3().dot(axis) > 0.8)
            .map(|i| f64::from(shell.area(i)))
            .sum();
        assert!((face / 0.0025 - 1.0).abs() < 0.01, "{axis}: {face}");
    }
}

/// The integral of a smooth function over the surface, from the points alone, is right to a per cent: areas are right locally.
#[test]
fn areas_are_right_locally() {
    let mut counted = [0; 2];
    for (name, raw) in [
        ("sphere", samples::sphere(0.05, 5)),
        ("box", samples::cuboid(DVec3::new(0.08, 0.06, 0.04))),
        ("torus", samples::torus(0.05, 0.02, 64, 32)),
        ("slab", samples::cuboid(DVec3::new(0.1, 0.08, 2e-3))),
        ("tilted slab", tilted(samples::cuboid(DVec3::new(0.1, 0.08, 2e-3)))),
    ] {
        for wanted in [500.0, 2000.0, 8000.0] {
            let (mesh, field, spacing) = scene(raw.clone(), wanted);
            let shell = Shell::build(&mesh, &field, spacing, &ShellParams::default()).unwrap();
            for d in [DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(1.0, -1.0, 0.5).normalize()] {
                // Positive depth under a plane, as a contact has; the truth from a fine subdivision of every triangle.
                let top = mesh.positions().iter().map(|p| p.dot(d)).fold(0.0, f64::max);
                let depth = |p: DVec3| (p.dot(d) - 0.3 * top).max(0.0);
                let sum: f64 =
                    (0..shell.len()).map(|i| f64::from(shell.area(i)) * depth(shell.position(i))).sum();
                let truth: f64 =
                    (0..mesh.triangles().len()).map(|t| integral(mesh.corners(t), &depth, 5)).sum();
                let off = (sum / truth - 1.0).abs();
                // Sides that reach in by less than two spacings have a row of points or two: not resolved.
                let resolved = 0.7 * top > 2.0 * spacing;
                let allowed = if !resolved {
                    0.05
                } else if wanted < 1000.0 {
                    0.03
                } else {
                    0.015
                };
                assert!(off < allowed, "{name}, {wanted} points, {d}: off by {off}");
                counted[usize::from(resolved)] += 1;
            }
        }
    }
    assert!(counted[1] > 45 && counted[0] > 2, "{counted:?}");
}

fn integral([a, b, c]: [DVec3; 3], f: &impl Fn(DVec3) -> f64, level: usize) -> f64 {
    if level == 0 {
        return area([a, b, c]) * f((a + b + c) / 3.0);
    }
    let (ab, bc, ca) = (0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a));
    [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]].map(|t| integral(t, f, level - 1)).iter().sum()
}

#[test]
fn normals_point_outward() {
    for choice in [Normals::Field, Normals::Voxels] {
        for name in ["sphere", "torus", "bumpy-sphere", "torus-knot"] {
            let mesh = Mesh::new(samples::by_name(name).unwrap(), &Default::default()).unwrap();
            let extent = mesh.aabb().extent().max_element();
            let field = Field::build(&mesh, extent / 80.0, &Default::default()).unwrap();
            let params = ShellParams { normals: choice, ..Default::default() };
            let shell = Shell::build(&mesh, &field, extent / 40.0, &params).unwrap();
            let (mut outward, mut close) = (0, 0);
            for i in 0..shell.len() {
                let [a, b, c] = mesh.corners(shell.triangle(i) as usize);
                let dot = (b - a).cross(c - a).normalize().dot(shell.normal(i).as_dvec3());
                outward += usize::from(dot > 0.0);
                close += usize::from(dot > 0.9);
            }
            let n = shell.len();
            assert!(n > 1000 && outward * 1000 >= 999 * n, "{choice:?} {name}: {outward} of {n}");
            assert!(close * 100 >= 90 * n, "{choice:?} {name}: {close} of {n} within 26°");
        }
    }
}

/// Bits of everything a shell holds.
fn bits(shell: &Shell) -> Vec<u32> {
    let mut out = Vec::new();
    for i in 0..shell.len() {
        out.extend(shell.positions[i].to_array().map(f32::to_bits));
        out.extend(shell.normals[i].to_array().map(f32::to_bits));
        out.extend([shell.areas[i].to_bits(), shell.triangles[i]]);
    }
    out
}

#[test]
fn threads_do_not_change_a_bit() {
    for name in ["gear", "bumpy-sphere", "cuboid"] {
        let (mesh, field, spacing) = scene(samples::by_name(name).unwrap(), 8000.0);
        let build = |threads| {
            let params = ShellParams { threads, ..Default::default() };
            Shell::build(&mesh, &field, spacing, &params).unwrap()
        };
        let one = build(1);
        for threads in [2, 3, 5] {
            let other = build(threads);
            assert!(bits(&one) == bits(&other), "{name}: {threads} threads");
            assert_eq!(one.report(), other.report());
        }
    }
}

#[test]
fn caps_are_part_of_the_surface() {
    let (mesh, field, _) = scene(samples::cube_missing_face(0.05), 1.0);
    assert_eq!(field.report().caps(), 1);
    let shell = Shell::build(&mesh, &field, 2e-3, &ShellParams::default()).unwrap();
    let on_caps = (0..shell.len()).filter(|i| shell.triangle(*i) as usize >= mesh.triangles().len()).count();
    assert!(on_caps * 8 > shell.len() && on_caps * 4 < shell.len(), "{on_caps} of {}", shell.len());
    assert!((shell.report().area / (6.0 * 0.0025) - 1.0).abs() < 1e-5);
    // A field without caps: the rim stays open.
    let params = FieldParams { cap_holes: false, ..Default::default() };
    let open = Field::build(&mesh, field.lattice().voxel, &params).unwrap();
    let shell = Shell::build(&mesh, &open, 2e-3, &ShellParams::default()).unwrap();
    assert!((shell.report().area / (5.0 * 0.0025) - 1.0).abs() < 1e-5);
}

#[test]
fn points_keep_a_thin_plates_sides_apart() {
    // Thinner than the spacing: points of both sides share the room, and each stands for its own side.
    let (mesh, field, spacing) = scene(samples::cuboid(DVec3::new(0.1, 0.08, 2e-4)), 1500.0);
    assert!(spacing > 2e-3);
    let shell = Shell::build(&mesh, &field, spacing, &ShellParams::default()).unwrap();
    for side in [1.0, -1.0] {
        let area: f64 = (0..shell.len())
            .filter(|i| f64::from(shell.normal(*i).z) * side > 0.7)
            .map(|i| f64::from(shell.area(i)))
            .sum();
        assert!((area / 8e-3 - 1.0).abs() < 0.05, "{side}: {area}");
    }
}

#[test]
fn two_phases_are_counted() {
    let (mesh, field, spacing) = scene(samples::by_name("bumpy-sphere").unwrap(), 10_000.0);
    let shell = Shell::build(&mesh, &field, spacing, &ShellParams::default()).unwrap();
    let r = shell.report();
    // Every surface voxel has a projection inside a triangle, or one that was recovered.
    assert!(r.interior_projections + r.recovered_projections >= r.surface_voxels);
    assert!(r.recovered_projections > 0 && r.recovered_projections * 20 < r.boundary_projections, "{r:?}");
    assert!(r.recovered <= r.recovered_projections && r.filled * 3 < r.points, "{r:?}");
    assert!((r.voxel * core::f64::consts::SQRT_2 / spacing - 1.0).abs() < 1e-3);
}

#[test]
fn bad_input_is_refused() {
    let (mesh, field, spacing) = scene(samples::by_name("cuboid").unwrap(), 100.0);
    let build = |spacing, params: &ShellParams| Shell::build(&mesh, &field, spacing, params).map(|s| s.len());
    let usual = ShellParams::default();
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(build(bad, &usual), Err(ShellError::BadSpacing { .. })), "{bad}");
    }
    for (tiny, fine) in [(1e-6, false), (1e-9, true), (1e-30, true), (f64::MIN_POSITIVE, true)] {
        let error = build(tiny, &usual);
        assert_eq!(matches!(error, Err(ShellError::TooFine { .. })), fine, "{error:?}");
        assert_eq!(matches!(error, Err(ShellError::TooManyPoints { .. })), !fine, "{error:?}");
    }
    let few = ShellParams { max_points: 50, ..usual.clone() };
    let Err(ShellError::TooManyPoints { suggested, allowed: 50, .. }) = build(spacing, &few) else {
        panic!("too many points")
    };
    assert!(build(2.0 * suggested, &few).unwrap() > 8);
    for bad in [
        ShellParams { alpha: f64::NAN, ..usual.clone() },
        ShellParams { alpha: 0.0, ..usual.clone() },
        ShellParams { feature_angle: 0.0, ..usual.clone() },
        ShellParams { feature_angle: f64::NAN, ..usual.clone() },
        ShellParams { max_points: 0, ..usual.clone() },
    ] {
        assert!(matches!(build(spacing, &bad), Err(ShellError::BadParameter { .. })), "{bad:?}");
    }
    let (other, ..) = scene(samples::by_name("torus").unwrap(), 100.0);
    let error = Shell::build(&other, &field, spacing, &usual).map(|s| s.len());
    assert!(matches!(error, Err(ShellError::OtherField { .. })), "{error:?}");
    // A spacing larger than the shape: points at the corners, or one.
    assert!(build(1.0, &usual).unwrap() >= 1);
    assert!(build(1e30, &usual).unwrap() >= 1);
    for alpha in [0.5, 1.0, 4.0] {
        assert!(build(spacing, &ShellParams { alpha, ..usual.clone() }).unwrap() > 50);
    }
}

/// Stops at a stage.
struct StopAt(&'static str, std::sync::atomic::AtomicBool);

impl Progress for StopAt {
    fn stage(&self, name: &'static str, _: u64) {
        if name == self.0 {
            self.1.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        self.1.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[test]
fn stops_when_asked_to() {
    let (mesh, field, spacing) = scene(samples::by_name("gear").unwrap(), 1000.0);
    for stage in ["features", "project", "thin", "cover"] {
        let stop = StopAt(stage, Default::default());
        let result = Shell::build_with(&mesh, &field, spacing, &ShellParams::default(), &stop);
        assert!(matches!(result, Err(ShellError::Cancelled)), "{stage}");
    }
}
