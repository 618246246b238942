//! Budgets: as fine as allowed, each patch of surface once, and nothing lost from frame to frame.
//!
//! Referee for complete answers: [`Query::contacts`].
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::pairs::{self, anywhere, bits, nudged, plain_shape, touching};
use glam::DVec3;
use palpate::mesh::samples;
use palpate::query::{Budget, QueryParams, Reached, Roles};
use palpate::{Contacts, Pose, Query, Shape, par};
use palpate_lab::oracle::Random;

const SEED: u64 = 0xb0d6_0001;

fn knot_and_bumps() -> (Shape, Shape) {
    (
        plain_shape(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 200, 16), 120),
        plain_shape(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1), 120),
    )
}

fn same(x: &Contacts, y: &Contacts) -> bool {
    x.list.len() == y.list.len() && x.list.iter().zip(&y.list).all(|(x, y)| bits(x) == bits(y))
}

/// A limit on points gives the same answer whatever was asked before, on any thread, and spends no more than about that.
#[test]
fn a_limit_on_points_depends_on_nothing_else() {
    let (a, b) = knot_and_bumps();
    let mut random = Random::new(SEED);
    let mut warm = Query::new();
    let mut pose = anywhere(&a, &b, &mut random);
    let (mut partial, mut asked) = (0, 0);
    for i in 0..150 {
        // A walk in small steps, and a jump now and then.
        pose = if i % 30 == 0 {
            anywhere(&a, &b, &mut random)
        } else {
            nudged(&pose, random.in_ball() * 5e-4, random.in_ball() * 5e-3)
        };
        let params = QueryParams { margin: 1e-3 * f64::from(i % 3), roles: Roles::PointsOfB };
        for n in [1, 30, 200, 1_000, 5_000, 1_000_000] {
            let (found, reached) = warm.budget(&a, &b, &pose, &params, Budget::Points(n));
            let found = found.clone();
            let stats = warm.stats();
            let mut fresh = Query::new();
            let (again, reached_again) = fresh.budget(&a, &b, &pose, &params, Budget::Points(n));
            assert!(
                same(&found, again) && reached == reached_again,
                "frame {i}, {n} points: {reached:?}, {reached_again:?}"
            );
            let on_a_thread = par::with_threads(1, || {
                Query::new().budget(&a, &b, &pose, &params, Budget::Points(n)).0.clone()
            });
            assert!(same(&found, &on_a_thread));
            // The root is looked at in any case; runs near each other are joined.
            let spent = stats.nodes + stats.points;
            assert!(spent <= n + n / 4 + 256, "{n} points allowed, {spent} tested");
            asked += 1;
            partial += usize::from(!reached.complete);
        }
    }
    println!("{asked} answers, {partial} of them not complete");
    assert!(partial * 5 > asked && partial < asked);
}

/// With a margin that takes in the whole surface the areas add up to all of it, however far the walk came.
#[test]
fn every_patch_of_surface_counts_once() {
    let mut levels = std::collections::BTreeSet::new();
    let mut mixed = 0;
    for (name, a, b) in pairs::meshes() {
        for k in [4, 8] {
            let a = pairs::shape(a.clone(), 50, 2.0, palpate::field::Encoding::Float, k);
            let b = pairs::shape(b.clone(), 70, 1.5, palpate::field::Encoding::Float, k);
            let margin = 10.0 * pairs::apart(&a, &b);
            let params = QueryParams { margin, roles: Roles::PointsOfB };
            let mut random = Random::new(SEED + 1);
            let pose = anywhere(&a, &b, &mut random);
            let area = b.tree().shell_report().area;
            let mut query = Query::new();
            let mut n = 1;
            while n < 4 * b.tree().len() {
                let (contacts, Reached { level, beyond, complete }) =
                    query.budget(&a, &b, &pose, &params, Budget::Points(n));
                let sum: f64 = contacts.list.iter().map(|c| f64::from(c.area)).sum();
                assert!(
                    (sum / area - 1.0).abs() < 1e-5,
                    "{name}, {n} points, level {level}: {sum} of {area}"
                );
                assert!(contacts.list.iter().map(|c| c.id).is_sorted(), "{name}, {n} points");
                assert!(level <= b.tree().levels() && (0.0..=1.0).contains(&beyond), "{name}");
                assert_eq!(complete, contacts.list.len() == b.tree().len(), "{name}");
                levels.insert((level, complete));
                mixed += usize::from(beyond > 0.0 && beyond < 1.0);
                n = n * 5 / 4 + 1;
            }
        }
    }
    println!("levels reached: {levels:?}; {mixed} answers of two levels");
    assert!(levels.len() >= 4 && mixed > 10);
}

/// Along a walk, with time without end: exactly the contacts.
#[test]
fn coherence_never_loses_a_contact() {
    let (mut hits, mut frames) = (0, 0);
    for (pair, (name, a, b)) in pairs::meshes().into_iter().enumerate() {
        let (a, b) = (plain_shape(a, 70), plain_shape(b, 80));
        let voxel = a.field().lattice().voxel;
        let size = b.aabb().extent().length();
        let mut random = Random::new(SEED + 10 + pair as u64);
        let (mut query, mut referee) = (Query::new(), Query::new());
        let mut pose = Pose::IDENTITY;
        for i in 0..600 {
            if i % 100 == 0 {
                pose = touching(&a, &b, &mut random, 0.1 * voxel);
            }
            // Steps from none to several voxels.
            let step = voxel * [0.0, 1e-3, 0.05, 0.3, 4.0][random.below(5)];
            pose = nudged(&pose, random.in_ball() * step, random.in_ball() * step / size);
            let params = QueryParams {
                margin: voxel * [0.0, 1.0, 12.0, -1.0][i / 25 % 4],
                roles: if i % 200 < 100 { Roles::PointsOfB } else { Roles::PointsOfA },
            };
            let (found, reached) = query.budget(&a, &b, &pose, &params, Budget::Until(&mut || false));
            assert!(reached.complete, "{name}, frame {i}");
            let all = referee.contacts(&a, &b, &pose, &params);
            assert!(same(found, all), "{name}, frame {i}: {} of {}", found.list.len(), all.list.len());
            frames += 1;
            hits += usize::from(!all.list.is_empty());
        }
    }
    println!("{frames} frames, {hits} with contacts");
    assert!(hits * 3 > frames && hits < frames);
}

/// One memory for many pairs: what was near in another pair does not matter, even at the same place in memory.
#[test]
fn memory_of_one_pair_does_not_spoil_another() {
    let mut query = Query::new();
    let params = QueryParams::default();
    let mut hits = 0;
    for i in 0..40 {
        // Shapes are dropped at the end of each turn: the next may take their place. Other points are near each time.
        let side = [0.05, -0.05][i % 2];
        let a = plain_shape(samples::moved(samples::sphere(0.03, 3), DVec3::X * side), 40);
        let b = plain_shape(samples::torus(0.05, 0.01, 32, 16), 60);
        let pose = Pose::from_translation(DVec3::Z * 0.025);
        let (found, _) = query.budget(&a, &b, &pose, &params, Budget::Until(&mut || false));
        let found = found.clone();
        assert!(same(&found, Query::new().contacts(&a, &b, &pose, &params)), "turn {i}");
        hits += usize::from(!found.list.is_empty());
    }
    assert!(hits > 20, "{hits}");
}

/// Fewer points, coarser answers: the force comes closer to the whole one as the budget grows.
#[test]
fn more_points_bring_the_force_closer() {
    let (a, b) = knot_and_bumps();
    let mut random = Random::new(SEED + 3);
    let force = palpate::force::ForceParams::new(1e8);
    let budgets = [100, 1_000, 10_000];
    let mut squares = [0.0; 3];
    let (mut total, mut used) = (0.0, 0);
    for _ in 0..200 {
        let pose = anywhere(&a, &b, &mut random);
        let params = QueryParams { margin: 0.0, roles: Roles::PointsOfB };
        let mut query = Query::new();
        let wrench = |c: &Contacts| palpate::force::penalty(c, &force, &pose, None, None).wrench.force;
        let whole = wrench(query.contacts(&a, &b, &pose, &params));
        if whole.length() == 0.0 {
            continue;
        }
        (total, used) = (total + whole.length_squared(), used + 1);
        for (square, n) in squares.iter_mut().zip(budgets) {
            let part = wrench(query.budget(&a, &b, &pose, &params, Budget::Points(n)).0);
            *square += (part - whole).length_squared();
        }
    }
    let rms = squares.map(|s: f64| (s / total).sqrt());
    println!("{used} poses in contact: force differs by {rms:.3?} RMS with {budgets:?} points");
    assert!(used > 60 && rms[0] >= rms[1] && rms[1] >= rms[2] && rms[2] < 1e-12);
}
