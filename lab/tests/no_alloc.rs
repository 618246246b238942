//! No query allocates once its memory is warm; nor does a question about soft meshes.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::pairs::{anywhere, nudged, plain_shape};
use glam::DVec3;
use palpate::cloud::{Cloud, CloudParams, Mode, PointForceParams, Proxy, ProxyParams, Scene, TouchParams};
use palpate::field::analytic::Analytic;
use palpate::force::{self, ContactState, ForceParams, FrictionParams, LimitState, Limits, Twist};
use palpate::mesh::samples;
use palpate::query::{Budget, PenetrationParams, QueryParams, Roles};
use palpate::reduce::{Reducer, four};
use palpate::soft::{FieldSampler, Method, Sampling, Soft, SoftMesh, SoftParams};
use palpate::{Contacts, Pose, Query, par};
use palpate_lab::oracle::Random;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator; counts what this thread asks of it.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator is")]
// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> usize {
    COUNT.with(Cell::get)
}

const SEED: u64 = 0xa110_0001;

#[test]
fn the_counter_counts() {
    let before = allocations();
    std::hint::black_box(Vec::<u8>::with_capacity(10));
    assert_eq!(allocations(), before + 1);
}

/// 10,000 steps of every query and of what is done with its contacts. Warm-up: one query of each kind with every point in
/// contact, and friction told how many contacts there can be.
#[test]
fn ten_thousand_queries_allocate_nothing() {
    let a = plain_shape(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 200, 16), 60);
    let b = plain_shape(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1), 50);
    let most = a.tree().len().max(b.tree().len());
    let (mut query, mut reducer, mut few) = (Query::new(), Reducer::new(), Contacts::default());
    let mut states = [ContactState::with_capacity(most), ContactState::with_capacity(most)];
    let mut alone = ContactState::with_capacity(most);
    let mut limit = LimitState::default();
    let limits = Limits { force: 10.0, force_rate: 100.0, ..Default::default() };
    let params = ForceParams {
        damping: 1e5,
        friction: FrictionParams { static_coefficient: 0.5, dynamic_coefficient: 0.4, ..Default::default() },
        ..ForceParams::new(1e8)
    };
    let motion = Twist { linear: DVec3::X * 0.01, ..Twist::ZERO };
    let mut random = Random::new(SEED);
    let mut pose = Pose::IDENTITY;
    let mut counts = [0usize; 6];
    let mut step = |i: usize, pose: &Pose, query_params: &QueryParams| {
        counts[0] += usize::from(!query.contacts(&a, &b, pose, query_params).list.is_empty());
        let force = force::penalty(query.last(), &params, pose, Some(&motion), Some(&mut alone));
        force::derivative(query.last(), &params, pose, Some(&motion), Some(&alone));
        limits.apply(&force.wrench, 1e-3, &mut limit);
        reducer.reduce(query.last(), 12, &mut few);
        std::hint::black_box(four(query.last()));
        let (first, second) = query.both(&a, &b, pose, query_params);
        force::both(first, second, &params, pose, Some(&motion), Some(&mut states));
        counts[1] += usize::from(query.intersects(&a, &b, pose));
        counts[2] += usize::from(query.distance(&a, &b, pose).distance > 0.0);
        counts[3] += usize::from(!query.segmented(&a, &b, pose, query_params).list.is_empty());
        let budget = Budget::Points([0, 100, 2_000, 1 << 20][i % 4]);
        counts[4] += usize::from(!query.budget(&a, &b, pose, query_params, budget).1.complete);
        let mut left = 3;
        let mut ends = || {
            left -= 1;
            left < 0
        };
        query.budget(&a, &b, pose, query_params, Budget::Until(&mut ends));
        if i.is_multiple_of(8) {
            query.plain(&a, &b, pose, query_params);
        }
        // Far away, and nowhere.
        let far = nudged(pose, DVec3::X * 100.0, DVec3::ZERO);
        counts[5] += usize::from(query.distance(&a, &b, &far).distance > 90.0);
        query.contacts(&a, &b, &Pose::from_translation(DVec3::NAN), query_params);
    };
    for roles in [Roles::PointsOfA, Roles::PointsOfB] {
        for i in 0..8 {
            step(i, &Pose::IDENTITY, &QueryParams { margin: 1.0, roles });
        }
    }
    let before = allocations();
    let steps = 10_000;
    for i in 0..steps {
        pose = if i % 50 == 0 {
            anywhere(&a, &b, &mut random)
        } else {
            nudged(&pose, random.in_ball() * 1e-3, random.in_ball() * 0.01)
        };
        let roles = [Roles::Fewer, Roles::PointsOfA, Roles::PointsOfB][i / 10 % 3];
        let margin = [0.0, 2e-3][i % 2];
        step(i, &pose, &QueryParams { margin, roles });
    }
    let after = allocations();
    println!("{steps} steps: {} allocations; {counts:?}", after - before);
    assert_eq!(after, before);
    assert!(counts.iter().all(|c| *c > steps / 10), "{counts:?}");
}

/// Ways apart, after a few others.
#[test]
fn ways_apart_allocate_nothing() {
    let a = plain_shape(samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 200, 16), 60);
    let b = plain_shape(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1), 50);
    let (mut query, mut random, mut overlaps) = (Query::new(), Random::new(SEED), 0);
    let params = PenetrationParams::default();
    for _ in 0..50 {
        query.penetration(&a, &b, &anywhere(&a, &b, &mut random), &params);
    }
    let before = allocations();
    for _ in 0..200 {
        let pose = anywhere(&a, &b, &mut random);
        overlaps += usize::from(query.penetration(&a, &b, &pose, &params).overlapping);
        query.penetration_along(&a, &b, &pose, random.in_ball(), &params);
    }
    // Printing allocates.
    let after = allocations();
    println!("{} allocations, {overlaps} overlap", after - before);
    assert_eq!(after, before);
    assert!(overlaps > 40, "{overlaps}");
}

/// Two knots that wave and go through each other, twice the same way: the second time nothing is allocated, by any method, with pairs of their
/// own, distances and hulls. On one thread: tasks have memory of their own.
#[test]
fn the_second_time_nothing_is_allocated() {
    par::with_threads(1, || {
        let raw = samples::torus_knot(2, 3, 1.0, 0.4, 0.2, 120, 12);
        let rest = raw.positions.clone();
        let mut a = SoftMesh::new(raw.positions, raw.triangles.clone()).unwrap();
        let mut b = SoftMesh::new(rest.clone(), raw.triangles).unwrap();
        let floor = Analytic::half_space(DVec3::Z, 0.0).unwrap();
        let (mut soft, mut sampler) = (Soft::new(), FieldSampler::new());
        let (mut places, mut counts) = (rest.clone(), [0usize; 4]);
        let mut run = |counts: &mut [usize; 4]| {
            for i in 0..60 {
                let time = 0.1 * f64::from(i);
                let wave = |p: DVec3| p + 0.05 * DVec3::new((3.0 * p.y + time).sin(), (3.0 * p.z).cos(), 0.0);
                a.deform(|v, _| wave(rest[v]));
                let apart = DVec3::new(4.6 - time, 0.2, 0.1);
                places.iter_mut().zip(&rest).for_each(|(to, p)| *to = wave(*p) + apart);
                b.set_positions(&places).unwrap();
                b.set_enabled(i % 50, i % 3 == 0).unwrap();
                for method in [Method::Auto, Method::Cut, Method::Refit] {
                    let params = SoftParams { method, ..Default::default() };
                    counts[0] += soft.pairs(&a, &b, &params).list.len();
                    counts[1] += soft.own_pairs(&a, &params).list.len();
                }
                counts[2] += usize::from(soft.distance(&a, &b).is_some_and(|d| d.distance > 0.0));
                let sampling = if i % 2 == 0 { Sampling::Vertices } else { Sampling::Area { spacing: 0.05 } };
                let found = sampler.find(&floor, &b, &Pose::IDENTITY, sampling, 0.01).unwrap();
                counts[3] += found.contacts.list.len();
            }
        };
        run(&mut counts);
        let before = allocations();
        run(&mut counts);
        let after = allocations();
        println!("{} allocations; {counts:?}", after - before);
        assert_eq!(after, before);
        assert!(counts[0] > 1000 && counts[2] > 10 && counts[3] > 1000, "{counts:?}");
    });
}

/// A probe over a cloud, on both sides of it: boxes, nearest points, neighbours, forces of both modes and a proxy.
#[test]
fn ten_thousand_touches_of_a_cloud_allocate_nothing() {
    let mut random = Random::new(SEED);
    let at = |i: u32| 1e-3 * DVec3::new((i % 100).into(), (i / 100).into(), 0.0);
    let points: Vec<DVec3> = (0..10_000).map(|i| at(i) + 2e-4 * DVec3::Z * random.unit()).collect();
    let cloud =
        std::sync::Arc::new(Cloud::build(&points, &CloudParams { leaf: 10, ..Default::default() }).unwrap());
    let scenes = [Mode::Exact, Mode::Paper].map(|mode| {
        let mut scene = Scene::new(TouchParams { mode, ..Default::default() });
        scene.add(cloud.clone(), Pose::IDENTITY);
        scene
    });
    let felt =
        ProxyParams { static_friction: 0.3, kinetic_friction: 0.2, damping: 1.0, ..ProxyParams::new(1e3) };
    let push = PointForceParams::new(1e3);
    let (mut proxy, mut near, mut ids) = (Proxy::new(), Vec::new(), Vec::new());
    let mut touched = 0;
    let mut step = |random: &mut Random, i: u32| {
        let p = DVec3::new(0.1 * random.unit(), 0.1 * random.unit(), 0.01 * (f64::from(i) * 0.1).sin());
        std::hint::black_box(cloud.nearest(p));
        cloud.nearest_k_into(p, 8, &mut near);
        cloud.within_into(p, 4e-3, &mut near);
        cloud.touching_into(p, 2e-3, &mut ids);
        for scene in &scenes {
            std::hint::black_box(scene.point_force(p, DVec3::ZERO, &push));
        }
        touched += u32::from(proxy.step(&scenes[0], p, DVec3::ZERO, &felt).touching);
    };
    (0..2000).for_each(|i| step(&mut random, i));
    let before = allocations();
    (0..10_000).for_each(|i| step(&mut random, i));
    assert_eq!(allocations(), before);
    assert!(touched > 1000, "{touched}");
}
