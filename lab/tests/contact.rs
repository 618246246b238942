//! Contacts and forces: the tree finds what testing every point finds, and nothing depends on how it is found.
//!
//! Referee: [`Query::plain`], which tests every point. Forces need none: sums, symmetry and differences.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::pairs::{self, Pair, anywhere, bits, nudged, plain_shape, touching};
use glam::{DQuat, DVec3};
use palpate::force::{self, Direction, Force, ForceParams, FrictionParams, Law, Twist};
use palpate::mesh::samples;
use palpate::query::{
    Budget, Distance, QueryParams, Roles, contacts_batch, distance_batch, intersects_batch,
};
use palpate::shape::ShapeParams;
use palpate::{Contacts, Pose, Query, Shape, Shell, Tree, Wrench, par};
use palpate_lab::oracle::Random;
use std::sync::OnceLock;

const SEED: u64 = 0xc047_0001;

/// Built once for all tests of this file.
fn all_pairs() -> &'static [Pair] {
    static PAIRS: OnceLock<Vec<Pair>> = OnceLock::new();
    PAIRS.get_or_init(pairs::pairs)
}

/// A pair in some variants, a pose of it, and what to ask.
struct Case<'a> {
    name: &'static str,
    a: &'a Shape,
    b: &'a Shape,
    pose: Pose,
    params: QueryParams,
    near: bool,
}

/// `count` cases of each pair: half of them anywhere, half within a voxel of touching.
fn cases(count: usize, seed: u64) -> Vec<Case<'static>> {
    let make = |i: usize| {
        let pair = &all_pairs()[i / count];
        let mut random = Random::new(seed + i as u64);
        let [a, b] = [&pair.a, &pair.b].map(|v| &v[random.below(v.len())]);
        let voxel = a.field().lattice().voxel;
        let near = i % 2 == 1;
        let pose = if near {
            let pose = touching(a, b, &mut random, 0.01 * voxel);
            nudged(&pose, random.in_ball() * voxel, random.in_ball() * 1e-3)
        } else {
            anywhere(a, b, &mut random)
        };
        let extent = a.aabb().extent().max_element();
        let margins = [0.0, 0.0, 0.4 * voxel, 2.5 * voxel, 10.0 * voxel, 0.5 * extent, -voxel];
        let margin = margins[random.below(margins.len())];
        let roles = [Roles::PointsOfA, Roles::PointsOfB][random.below(2)];
        Case { name: pair.name, a, b, pose, params: QueryParams { margin, roles }, near }
    };
    par::map(count * all_pairs().len(), make)
}

/// Force with everything in it.
fn force_params() -> ForceParams {
    ForceParams {
        stiffness: 1e8,
        damping: 1e5,
        friction: FrictionParams {
            static_coefficient: 0.6,
            dynamic_coefficient: 0.4,
            ..FrictionParams::default()
        },
        ..ForceParams::default()
    }
}

fn force_bits(f: &Force) -> [u64; 8] {
    let [fx, fy, fz] = f.wrench.force.to_array();
    let [tx, ty, tz] = f.wrench.torque.to_array();
    [fx, fy, fz, tx, ty, tz, f.area, f.normal_force].map(f64::to_bits)
}

fn assert_same(found: &Contacts, plain: &Contacts, what: &str) {
    let ids = |c: &Contacts| c.list.iter().map(|c| c.id).collect::<Vec<_>>();
    assert_eq!(ids(found), ids(plain), "{what}");
    assert!(ids(plain).is_sorted(), "{what}");
    for (x, y) in found.list.iter().zip(&plain.list) {
        assert_eq!(bits(x), bits(y), "{what}: {x:?} {y:?}");
    }
    assert_eq!((found.origin, found.swapped), (plain.origin, plain.swapped), "{what}");
}

/// 2,400 poses of 8 pairs, in all encodings and cluster sizes, both roles, margins from −1 voxel to half the shape.
#[test]
fn contacts_are_those_of_testing_every_point() {
    let cases = cases(300, SEED);
    let motion = Twist { linear: DVec3::new(0.1, -0.2, 0.05), angular: DVec3::new(1.0, 0.5, -2.0) };
    // (has contacts, but not all points, few of them, fewer points were tested than there are)
    let results: Vec<[bool; 4]> = par::map(cases.len(), |i| {
        let Case { name, a, b, pose, params, near } = &cases[i];
        let what = format!("{name}, case {i}, {params:?}, near {near}");
        let (mut query, mut referee) = (Query::new(), Query::new());
        let found = query.contacts(a, b, pose, params);
        let plain = referee.plain(a, b, pose, params);
        assert_same(found, plain, &what);
        let force = |c: &Contacts| force_bits(&force::penalty(c, &force_params(), pose, Some(&motion), None));
        assert_eq!(force(found), force(plain), "{what}");
        let points = if params.roles == Roles::PointsOfA { a.tree().len() } else { b.tree().len() };
        let n = found.list.len();
        assert_eq!(referee.stats().points, points);
        [n > 0, n > 0 && n < points, n > 0 && n < points / 20, query.stats().points < points / 2]
    });
    let share = |k: usize| results.iter().filter(|r| r[k]).count() as f64 / results.len() as f64;
    println!(
        "seed {SEED:#x}: {} poses, {:.2} with contacts, {:.2} with some points in contact, {:.2} with few, \
         {:.2} tested less than half of the points",
        results.len(),
        share(0),
        share(1),
        share(2),
        share(3)
    );
    assert!(results.len() >= 2_000);
    assert!((0.5..0.95).contains(&share(1)) && share(2) > 0.15 && share(3) > 0.4);
}

#[test]
fn kernels_without_simd_give_the_same_bits() {
    let cases = cases(40, SEED + 100_000);
    let hits = par::map(cases.len(), |i| {
        let Case { name, a, b, pose, params, .. } = &cases[i];
        let (mut query, mut scalar) = (Query::new(), Query::scalar());
        let what = format!("{name}, case {i}");
        assert_same(query.plain(a, b, pose, params), scalar.plain(a, b, pose, params), &what);
        assert_eq!(query.intersects(a, b, pose), scalar.intersects(a, b, pose), "{what}");
        let bits = |d: &Distance| (d.distance.to_bits(), d.bound.to_bits(), d.witness_a, d.witness_b);
        assert_eq!(bits(&query.distance(a, b, pose)), bits(&scalar.distance(a, b, pose)), "{what}");
        assert_eq!(query.stats(), scalar.stats(), "{what}");
        let budget = || Budget::Points(500);
        let (part, reached) = query.budget(a, b, pose, params, budget());
        let (same, again) = scalar.budget(a, b, pose, params, budget());
        assert_same(part, same, &what);
        assert_eq!(reached, again, "{what}");
        assert_same(query.contacts(a, b, pose, params), scalar.contacts(a, b, pose, params), &what);
        assert_eq!(query.stats(), scalar.stats(), "{what}");
        !query.last().list.is_empty()
    });
    let hit = hits.iter().filter(|h| **h).count() as f64 / hits.len() as f64;
    println!("{} poses, {hit:.2} with contacts", hits.len());
    assert!(hit > 0.5);
}

/// Everything a shape answers by.
fn assert_same_tree(x: &Tree, y: &Tree, name: &str) {
    assert_eq!((x.len(), x.levels(), x.segments()), (y.len(), y.levels(), y.segments()), "{name}");
    for i in 0..x.len() {
        let of = |t: &Tree| (t.position(i), t.normal(i), t.area(i).to_bits(), t.triangle(i), t.source(i));
        assert_eq!(of(x), of(y), "{name}: point {i}");
    }
    for l in 0..x.levels() {
        assert_eq!(x.nodes(l), y.nodes(l), "{name}");
        for n in 0..x.nodes(l) {
            let of = |t: &Tree| (t.ball(l, n), t.parent(l, n), t.points_of(l, n));
            assert_eq!(of(x), of(y), "{name}: level {l}, node {n}");
        }
    }
}

#[test]
fn two_threads_build_and_answer_as_one() {
    let mut touched = 0;
    for (name, raw, other) in pairs::meshes() {
        let mesh = common::repaired(raw);
        let voxel = common::voxel(&mesh, 80);
        let build = |threads: usize| {
            par::with_threads(threads, || {
                let shape = Shape::build(mesh.clone(), voxel, &ShapeParams::default()).unwrap();
                let shell =
                    Shell::build(shape.mesh(), shape.field(), 2.0 * voxel, &Default::default()).unwrap();
                (shape, shell)
            })
        };
        let ((one, shell_one), (two, shell_two)) = (build(1), build(2));
        assert_same_tree(one.tree(), two.tree(), name);
        assert_eq!(shell_one.len(), shell_two.len());
        for i in 0..shell_one.len() {
            let of = |s: &Shell| (s.position(i), s.normal(i), s.area(i).to_bits(), s.triangle(i));
            assert_eq!(of(&shell_one), of(&shell_two), "{name}: entry {i}");
        }
        let box_ = one.field().lattice().aabb();
        for p in palpate_lab::oracle::points_in_box(box_.min, box_.max, 2_000, SEED) {
            assert_eq!(one.field().sample(p), two.field().sample(p), "{name}");
        }
        // The same questions on one thread and on two.
        let other = plain_shape(other, 50);
        let mut random = Random::new(SEED + 7);
        let poses: Vec<Pose> = (0..40).map(|_| anywhere(&one, &other, &mut random)).collect();
        let params = QueryParams { margin: voxel, ..Default::default() };
        let ask = |threads: usize| {
            par::with_threads(threads, || {
                (
                    contacts_batch(&one, &other, &poses, &params),
                    intersects_batch(&one, &other, &poses),
                    distance_batch(&one, &other, &poses),
                )
            })
        };
        let (x, y) = (ask(1), ask(2));
        let mut query = Query::new();
        for (i, pose) in poses.iter().enumerate() {
            assert_same(&x.0[i], &y.0[i], name);
            assert_same(&x.0[i], query.contacts(&one, &other, pose, &params), name);
            let bits = |d: &Distance| (d.distance.to_bits(), d.bound.to_bits(), d.witness_a, d.witness_b);
            assert_eq!(bits(&x.2[i]), bits(&y.2[i]), "{name}");
            assert_eq!(bits(&x.2[i]), bits(&query.distance(&one, &other, pose)), "{name}");
        }
        assert_eq!(x.1, y.1);
        touched += x.1.iter().filter(|t| **t).count();
    }
    println!("{touched} of 320 poses touch");
    assert!((64..300).contains(&touched));
}

/// The wrench on B about B's origin in A's frame, as A feels it: about A's origin, in B's frame.
fn seen_from_b(wrench: Wrench, a_from_b: &Pose) -> Wrench {
    let about_a = -wrench.about(-a_from_b.translation);
    let b_from_a = a_from_b.inverse();
    Wrench { force: b_from_a.vector(about_a.force), torque: b_from_a.vector(about_a.torque) }
}

/// Exchanging A and B turns the wrench round, to 2e-5 of the sum of the contacts' forces (and of that times the size of the
/// shapes, for torques): single forces are f32, and poses are turned back in f64.
#[test]
fn exchanging_the_shapes_turns_the_wrench_round() {
    let cases = cases(60, SEED + 200_000);
    let results = par::map(cases.len(), |i| {
        let Case { name, a, b, pose, .. } = &cases[i];
        let (mut query, mut other) = (Query::new(), Query::new());
        let mut worst: f64 = 0.0;
        let mut used = 0;
        for (law, direction) in [
            (Law::Integrated, Direction::Field),
            (Law::Integrated, Direction::Shell),
            (Law::Averaged, Direction::Field),
        ] {
            let params = ForceParams { law, direction, ..ForceParams::new(1e6) };
            let (first, second) = query.both(a, b, pose, &QueryParams::default());
            assert!(!first.swapped && second.swapped);
            let ab = force::both(first, second, &params, pose, None, None);
            let back = pose.inverse();
            let (first, second) = other.both(b, a, &back, &QueryParams::default());
            let ba = force::both(first, second, &params, &back, None, None);
            let size = a.aabb().max.length().max(a.aabb().min.length())
                + b.aabb().max.length().max(b.aabb().min.length())
                + pose.translation.length();
            if ab.normal_force > 0.0 {
                let seen = seen_from_b(ab.wrench, pose);
                let force = (seen.force - ba.wrench.force).length() / ab.normal_force;
                let torque = (seen.torque - ba.wrench.torque).length() / (ab.normal_force * size);
                worst = worst.max(force).max(torque);
                assert!(force < 2e-5 && torque < 2e-5, "{name}, case {i}: {ab:?} {ba:?}");
            }
            assert_eq!(ab.used, ba.used, "{name}, case {i}");
            used = ab.used;
        }
        (used > 0, worst)
    });
    let hit = results.iter().filter(|r| r.0).count() as f64 / results.len() as f64;
    let worst = results.iter().map(|r| r.1).fold(0.0, f64::max);
    println!("{} poses, {hit:.2} in contact, largest difference {worst:.1e}", results.len());
    assert!((0.4..1.0).contains(&hit));
}

/// Torque is Σ Pᵢ × fᵢ about B's origin, forces by the definition in f64, to 1e-5 of Σ |fᵢ| and of that times the size.
#[test]
fn torque_is_the_sum_of_moments() {
    let cases = cases(60, SEED + 300_000);
    let hits = par::map(cases.len(), |i| {
        let Case { name, a, b, pose, params, .. } = &cases[i];
        let mut query = Query::new();
        let contacts = query.contacts(a, b, pose, params);
        for direction in [Direction::Field, Direction::Shell] {
            let force = ForceParams { direction, ..ForceParams::new(1e6) };
            let (mut f, mut t, mut sum, mut far) = (DVec3::ZERO, DVec3::ZERO, 0.0, 0.0f64);
            for c in &contacts.list {
                let along = match direction {
                    Direction::Field => c.normal(),
                    Direction::Shell if contacts.swapped => c.shell_normal(),
                    Direction::Shell => -c.shell_normal(),
                };
                let fi = along.as_dvec3() * (1e6 * f64::from(c.area) * f64::from(c.depth()));
                let p = contacts.position(c) - pose.translation;
                (f, t) = (f + fi, t + p.cross(fi));
                (sum, far) = (sum + fi.length(), far.max(p.length()));
            }
            // Torque is summed about the contacts' origin, in f32 relative to it.
            let far = far + (contacts.origin - pose.translation).length();
            let found = force::penalty(contacts, &force, pose, None, None);
            assert!((found.wrench.force - f).length() <= 1e-5 * sum, "{name}, case {i}");
            assert!((found.wrench.torque - t).length() <= 1e-5 * sum * far, "{name}, case {i}");
            assert!((found.normal_force - sum).abs() <= 1e-5 * sum, "{name}, case {i}");
        }
        contacts.list.iter().any(|c| c.distance < 0.0)
    });
    let hit = hits.iter().filter(|h| **h).count() as f64 / hits.len() as f64;
    println!("{} poses, {hit:.2} with depth", hits.len());
    assert!(hit > 0.3);
}

/// Most that the direction of a contact may turn between the two poses of a difference [1]. At the faces of voxels the gradient
/// of a trilinear field jumps, by a voxel over the radius of curvature: there is no derivative.
const SMOOTH: f32 = 2e-3;

/// Central differences of the wrench, column by column; none where the contact set changes or a point passes a voxel's face.
fn differences(
    a: &Shape,
    b: &Shape,
    pose: &Pose,
    params: &QueryParams,
    force: &ForceParams,
    step: (f64, f64),
) -> Option<[[f64; 6]; 6]> {
    let mut query = Query::new();
    let at_rest = query.contacts(a, b, pose, params).list.clone();
    let unchanged = |c: &Contacts| {
        c.list.len() == at_rest.len()
            && c.list
                .iter()
                .zip(&at_rest)
                .all(|(x, y)| x.id == y.id && x.normal().distance(y.normal()) < SMOOTH)
    };
    let mut columns = [[0.0; 6]; 6];
    for (column, out) in columns.iter_mut().enumerate() {
        let axis = DVec3::from_array(core::array::from_fn(|k| f64::from(k == column % 3)));
        let mut wrench = |sign: f64| {
            let moved = if column < 3 {
                nudged(pose, axis * sign * step.0, DVec3::ZERO)
            } else {
                nudged(pose, DVec3::ZERO, axis * sign * step.1)
            };
            let contacts = query.contacts(a, b, &moved, params);
            unchanged(contacts).then(|| force::penalty(contacts, force, &moved, None, None).wrench)
        };
        let (plus, minus) = (wrench(1.0)?, wrench(-1.0)?);
        let h = 2.0 * if column < 3 { step.0 } else { step.1 };
        let (f, t) = ((plus.force - minus.force) / h, (plus.torque - minus.torque) / h);
        *out = [f.x, f.y, f.z, t.x, t.y, t.z];
    }
    Some(core::array::from_fn(|row| columns.map(|c| c[row])))
}

/// Largest difference of two 6×6 matrices, over the root of the sum of squares of the forces by translation; rotations count
/// with `size`, and torques over it [m].
fn difference(x: &[[f64; 6]; 6], y: &[[f64; 6]; 6], size: f64) -> f64 {
    let all = || (0..6).flat_map(|i| (0..6).map(move |j| (i, j)));
    let scale = |i: usize| if i < 3 { 1.0 } else { size };
    let norm = all().filter(|(i, j)| *i < 3 && *j < 3).map(|(i, j)| x[i][j] * x[i][j]).sum::<f64>().sqrt();
    let off = |(i, j): (usize, usize)| (x[i][j] - y[i][j]).abs() / (scale(i) * scale(j) * norm);
    all().map(off).fold(0.0, f64::max)
}

/// A die pressed into the face of a block: the field is plane there, and the derivative exact to the rounding of
/// differences. Step 2e-6 m and 1e-4 rad, for a die of 0.03 m; tolerance 1 % of the stiffness: distances are f32, 1e-7 of
/// the size, over twice the step, averaged over hundreds of points.
#[test]
fn the_derivative_agrees_with_differences_on_a_plane() {
    let block = plain_shape(samples::cuboid(DVec3::splat(0.1)), 60);
    let die = plain_shape(samples::cuboid(DVec3::new(0.03, 0.02, 0.02)), 50);
    let mut random = Random::new(SEED + 5);
    let (mut compared, mut worst) = (0, 0.0f64);
    for _ in 0..120 {
        let tilt = DQuat::from_scaled_axis(random.in_ball() * 0.05) * DQuat::from_rotation_z(random.unit());
        let shift = 0.02 * DVec3::new(random.unit(), random.unit(), 0.0);
        let pose = Pose::new(tilt, shift + DVec3::Z * (0.06 - 1e-3 - 1e-3 * random.unit()));
        for (roles, law, direction) in [
            (Roles::PointsOfB, Law::Integrated, Direction::Field),
            (Roles::PointsOfB, Law::Averaged, Direction::Field),
            (Roles::PointsOfB, Law::Integrated, Direction::Shell),
        ] {
            let params = QueryParams { roles, ..Default::default() };
            let force = ForceParams { law, direction, ..ForceParams::new(1e8) };
            let Some(rows) = differences(&block, &die, &pose, &params, &force, (2e-6, 1e-4)) else {
                continue;
            };
            let mut query = Query::new();
            let contacts = query.contacts(&block, &die, &pose, &params);
            let found = force::derivative(contacts, &force, &pose, None, None).rows();
            let off = difference(&found, &rows, 0.03);
            assert!(off < 0.01, "{off} {law:?} {direction:?}\n{found:?}\n{rows:?}");
            worst = worst.max(off);
            compared += 1;
        }
    }
    println!("{compared} of 360 with the contact set unchanged, largest difference {worst:.1e}");
    assert!(compared > 90);
}

/// Curved surfaces: off by depth over radius of curvature, by how far the field's gradient is from unit length, and by how
/// it turns within a voxel. Step 1e-6 m and 1e-4 rad, tolerance 10 % of the stiffness, 3 % in the mean.
#[test]
fn the_derivative_agrees_with_differences_on_balls() {
    let ball = plain_shape(samples::sphere(0.05, 6), 100);
    let small = plain_shape(samples::sphere(0.02, 5), 60);
    let mut random = Random::new(SEED + 6);
    let (mut compared, mut worst, mut sum) = (0, 0.0f64, 0.0);
    for _ in 0..400 {
        let way = pairs::direction(&mut random);
        let pose = Pose::new(pairs::rotation(&mut random), way * (0.07 - 5e-4 - 1.0e-3 * random.unit()));
        let params = QueryParams { roles: Roles::PointsOfB, ..Default::default() };
        let force = ForceParams::new(1e8);
        let Some(rows) = differences(&ball, &small, &pose, &params, &force, (1e-6, 1e-4)) else { continue };
        let mut query = Query::new();
        let contacts = query.contacts(&ball, &small, &pose, &params);
        if contacts.list.len() < 10 {
            continue;
        }
        let found = force::derivative(contacts, &force, &pose, None, None).rows();
        let off = difference(&found, &rows, 0.02);
        assert!(off < 0.1, "{off}\n{found:?}\n{rows:?}");
        (worst, sum) = (worst.max(off), sum + off);
        compared += 1;
    }
    let mean = sum / f64::from(compared);
    println!(
        "{compared} of 400 with the contact set unchanged, largest difference {worst:.1e}, mean {mean:.1e}"
    );
    assert!(compared > 60 && mean < 0.03);
}

/// A small shape wholly inside another has all its points inside, the other none: both must look both ways.
#[test]
fn a_part_inside_another_intersects_it_whichever_has_more_points() {
    let hull = |n| plain_shape(samples::bumpy_sphere(0.05, 0.004, 8, 4, 1), n);
    let core = |n| plain_shape(samples::torus(0.012, 0.005, 48, 24), n);
    let mut random = Random::new(SEED + 8);
    for (outer, inner, expected) in [(hull(30), core(160), true), (hull(120), core(24), false)] {
        let more = inner.tree().len() > outer.tree().len();
        println!("inner {} points, outer {} points", inner.tree().len(), outer.tree().len());
        assert_eq!(more, expected);
        let mut query = Query::new();
        for _ in 0..20 {
            let turn = pairs::rotation(&mut random);
            let pose = pairs::placed(&outer, &inner, turn, random.in_ball() * 0.015);
            for (a, b, pose) in [(&outer, &inner, pose), (&inner, &outer, pose.inverse())] {
                assert!(query.intersects(a, b, &pose));
                let d = query.distance(a, b, &pose);
                assert!(d.overlaps() && d.distance < -5e-3, "{d:?}");
                // Only the inner one's points are in the other.
                let (first, second) = query.both(a, b, &pose, &QueryParams::default());
                let (of_b, of_a) = (first.list.len(), second.list.len());
                let (of_inner, of_outer) = if core::ptr::eq(b, &inner) { (of_b, of_a) } else { (of_a, of_b) };
                assert_eq!((of_inner, of_outer), (inner.tree().len(), 0));
            }
        }
    }
}

/// The nut of the generated pair, where its thread meshes with the bolt's, 0.15 mm free all around (less on facets).
#[test]
fn a_nut_on_its_bolt_has_a_distance_and_no_contact() {
    let (bolt, nut) = samples::nut_and_bolt(8);
    let pair = palpate_lab::oracle::PairOracle::new(&bolt, &nut).unwrap();
    let truth = pair.distance(&Pose::IDENTITY).distance;
    assert!(truth > 5e-5, "the parts themselves touch: {truth}");
    let mut query = Query::new();
    for n in [200, 300] {
        let (bolt, nut) = (plain_shape(bolt.clone(), n), plain_shape(nut.clone(), n * 2 / 3));
        let d = query.distance(&bolt, &nut, &Pose::IDENTITY);
        println!("{n} voxels: distance {:.3e} (exact {truth:.3e}), bound {:.3e}", d.distance, d.bound);
        assert!(d.distance >= truth * (1.0 - 1e-9) && d.distance <= truth + d.bound);
        assert!((d.distance - truth).abs() < 0.2 * nut.tree().shell_report().spacing);
        assert!(!query.intersects(&bolt, &nut, &Pose::IDENTITY) && !d.overlaps());
        let (first, second) = query.both(&bolt, &nut, &Pose::IDENTITY, &QueryParams::default());
        assert!(first.list.is_empty() && second.list.is_empty());
        // Pushed off its axis by more than the clearance it touches.
        let off = Pose::from_translation(DVec3::X * 6e-4);
        assert!(query.intersects(&bolt, &nut, &off) && pair.intersects(&off));
    }
}

/// What nobody should ask has answers that are written down.
#[test]
fn bad_input_has_defined_answers() {
    let pair = &all_pairs()[2];
    let (a, b) = (&pair.a[0], &pair.b[1]);
    let mut query = Query::new();
    let params = QueryParams::default();
    let good = Pose::from_translation(DVec3::X * 0.03);
    let nan = Pose::from_translation(DVec3::new(0.0, f64::NAN, 0.0));
    let infinite = Pose::from_translation(DVec3::X * f64::INFINITY);
    let no_turn = Pose::new(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DVec3::ZERO);
    let huge = Pose::from_translation(DVec3::X * 1e200);
    assert!(!query.contacts(a, b, &good, &params).list.is_empty() && !query.stats().non_finite);
    for pose in [nan, infinite, no_turn] {
        assert!(query.contacts(a, b, &pose, &params).list.is_empty() && query.stats().non_finite);
        assert!(query.plain(a, b, &pose, &params).list.is_empty() && query.stats().non_finite);
        assert!(query.segmented(a, b, &pose, &params).list.is_empty() && query.stats().non_finite);
        let (first, second) = query.both(a, b, &pose, &params);
        assert!(first.list.is_empty() && second.list.is_empty());
        assert!(query.stats().non_finite);
        assert!(!query.intersects(a, b, &pose) && query.stats().non_finite);
        assert!(query.distance(a, b, &pose).distance.is_nan() && query.stats().non_finite);
        let (contacts, reached) = query.budget(a, b, &pose, &params, Budget::Points(1000));
        assert!(contacts.list.is_empty() && !reached.complete);
        assert!(query.stats().non_finite);
        let force = force::penalty(query.last(), &ForceParams::new(1e6), &pose, None, None);
        assert!(force.non_finite && force.wrench == Wrench::ZERO);
    }
    // Finite, but beyond f32: apart.
    assert!(query.contacts(a, b, &huge, &params).list.is_empty());
    assert!(!query.intersects(a, b, &huge));
    let d = query.distance(a, b, &huge);
    assert!((d.distance / 1e200 - 1.0).abs() < 1e-6 && d.bound >= 0.0, "{d:?}");
    // A margin that is no number; all and nothing.
    let margin = |margin| QueryParams { margin, ..Default::default() };
    assert!(query.contacts(a, b, &good, &margin(f64::NAN)).list.is_empty() && query.stats().non_finite);
    assert_eq!(
        query.contacts(a, b, &good, &margin(f64::INFINITY)).list.len(),
        b.tree().len().min(a.tree().len())
    );
    assert!(query.contacts(a, b, &good, &margin(f64::NEG_INFINITY)).list.is_empty());

    // No points.
    let empty = b.with_tree(Tree::build(&Shell::from_points(&[], &[], &[], 1.0, 1.0), &Default::default()));
    for (x, y) in [(a, &empty), (&empty, a), (&empty, &empty)] {
        for roles in [Roles::Fewer, Roles::PointsOfA, Roles::PointsOfB] {
            let params = QueryParams { margin: 0.01, roles };
            let points = if roles.swapped(x, y) { x.tree() } else { y.tree() };
            let found = query.contacts(x, y, &good, &params).list.len();
            assert!(found == 0 || !points.is_empty());
            assert_eq!(query.plain(x, y, &good, &params).list.len(), found);
            assert_eq!(query.segmented(x, y, &good, &params).list.is_empty(), found == 0);
            let (_, reached) = query.budget(x, y, &good, &params, Budget::Points(100));
            assert!(reached.level <= points.levels());
        }
        let d = query.distance(x, y, &good);
        assert!(!d.distance.is_nan(), "{d:?}");
        query.intersects(x, y, &good);
    }
    assert!(!query.intersects(&empty, &empty, &good));
    assert_eq!(query.distance(&empty, &empty, &good).distance, f64::INFINITY);

    // A budget of nothing, no stiffness, no contacts.
    let (contacts, reached) = query.budget(a, b, &good, &params, Budget::Points(0));
    assert!(contacts.list.is_empty() && !reached.complete);
    let (_, reached) = query.budget(a, b, &good, &params, Budget::Until(&mut || true));
    assert!(!reached.complete);
    let contacts = query.contacts(a, b, &good, &params);
    let none = force::penalty(contacts, &ForceParams::new(0.0), &good, None, None);
    assert_eq!(none.wrench, Wrench::ZERO);
    assert!(none.area > 0.0 && !none.non_finite);
    let nothing = force::penalty(&Contacts::default(), &ForceParams::new(1e6), &good, None, None);
    assert_eq!((nothing.wrench, nothing.used), (Wrench::ZERO, 0));
}

/// A shell larger than its field, and fields of very different fineness: as the referee, and no panic.
#[test]
fn shells_larger_than_their_field_and_different_resolutions() {
    let small = plain_shape(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1), 60);
    // Points of a shape twenty times as large: nearly all are outside the field's box.
    let large = plain_shape(pairs::scaled(samples::torus(0.05, 0.03, 64, 32), 20.0), 200);
    let coarse = plain_shape(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1), 12);
    let fine = plain_shape(samples::cuboid(DVec3::splat(0.06)), 260);
    let mixed = small.with_tree(large.tree().clone());
    let (mut query, mut referee) = (Query::new(), Query::new());
    let mut random = Random::new(SEED + 9);
    let (mut hit, mut asked) = (0, 0);
    for (a, b) in [
        (&small, &large),
        (&large, &small),
        (&mixed, &small),
        (&small, &mixed),
        (&coarse, &fine),
        (&fine, &coarse),
    ] {
        for i in 0..40 {
            let pose =
                if i % 2 == 0 { anywhere(a, b, &mut random) } else { touching(a, b, &mut random, 1e-5) };
            for roles in [Roles::PointsOfA, Roles::PointsOfB] {
                let params = QueryParams { margin: [0.0, 1e-3][i / 2 % 2], roles };
                let found = query.contacts(a, b, &pose, &params);
                let plain = referee.plain(a, b, &pose, &params);
                assert_same(found, plain, "different sizes");
                asked += 1;
                hit += usize::from(!found.list.is_empty());
            }
            let d = query.distance(a, b, &pose);
            assert!(d.distance.is_finite() && d.bound >= 0.0, "{d:?}");
        }
    }
    println!("{hit} of {asked} with contacts");
    assert!(hit as f64 > 0.2 * asked as f64);
}
