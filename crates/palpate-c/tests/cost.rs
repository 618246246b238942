//! What the border costs: calls through the ABI against the same calls in the engine.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use palpate_c::border::{In, Out};
use palpate_c::error::Error;
use palpate_c::handle::*;
use palpate_c::mesh::palp_mesh_sample;
use palpate_c::progress::User;
use palpate_c::query::*;
use palpate_c::shape::*;
use palpate_c::values::*;
use std::hint::black_box;
use std::time::Instant;

/// Most that a call may cost beside its work [ns], on a machine that does other things too. At 1 MHz a call has 1000.
const MOST_NS: f64 = 200.0;

/// The least time of a call, over many rounds of many calls [ns].
fn best(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 2000;
    let rounds = (0..200).map(|_| {
        let began = Instant::now();
        (0..CALLS).for_each(|_| call());
        began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    });
    rounds.fold(f64::INFINITY, f64::min)
}

#[test]
fn a_call_costs_little() {
    let (mut mesh, mut shape, mut query) =
        (MeshHandle::default(), ShapeHandle::default(), QueryHandle::default());
    let how = ShapeParamsValue { resolution: 48, ..Default::default() };
    assert_eq!(palp_mesh_sample(c"sphere".into(), (&mut mesh).into(), Out::NULL), 0);
    let nobody = User(core::ptr::null_mut());
    assert_eq!(palp_shape_build(mesh, (&how).into(), None, nobody, (&mut shape).into(), Out::NULL), 0);
    assert_eq!(palp_query_create(shape, shape, (&mut query).into(), Out::NULL), 0);

    // A handle is found, its object locked, an answer and an error written: the whole border, and no work.
    let (mut stats, mut error) = (StatsValue::default(), Error::default());
    let lookup = best(|| {
        black_box(palp_query_get_stats(black_box(query), (&mut stats).into(), (&mut error).into()));
    });

    // Contacts of shapes that are apart: the shortest question there is.
    let raw = palpate::mesh::samples::by_name("sphere").unwrap();
    let engine = palpate::Mesh::new(raw, &Default::default()).unwrap();
    let voxel = palpate::shape::Size::Resolution(48).voxel(engine.aabb()).unwrap();
    let engine = palpate::Shape::build(engine, voxel, &Default::default()).unwrap();
    let (mut own, params) = (palpate::Query::new(), palpate::query::QueryParams::default());
    let pose = PoseValue { translation: [0.5, 0.0, 0.0], ..Default::default() };
    let a_from_b = palpate::Pose::from_translation(glam::DVec3::X * 0.5);
    let mut view = ContactsView::default();
    let asked = best(|| {
        let p = In::from(black_box(&pose));
        black_box(palp_query_contacts(query, p, In::NULL, (&mut view).into(), (&mut error).into()));
    });
    let direct = best(|| {
        black_box(own.contacts(&engine, &engine, black_box(&a_from_b), &params).list.len());
    });
    println!(
        "border alone {lookup:.1} ns; contacts {asked:.1} ns through the ABI, {direct:.1} ns in the engine"
    );
    assert!(lookup < MOST_NS, "{lookup} ns");
}
