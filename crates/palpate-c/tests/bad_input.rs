//! Every function with null, freed, foreign and forged handles, and with nothing where a pointer must be: a status and a message,
//! never a crash. What the answers are worth is tested in C, in `tests/c`.
#![allow(clippy::unwrap_used, reason = "tests")]

use palpate_c::batch::*;
use palpate_c::border::{In, List, Out, Room, Text};
use palpate_c::error::{Error, Status};
use palpate_c::force::*;
use palpate_c::handle::*;
use palpate_c::mesh::*;
use palpate_c::pair::*;
use palpate_c::progress::User;
use palpate_c::query::*;
use palpate_c::reduce::*;
use palpate_c::shape::*;
use palpate_c::solid::*;
use palpate_c::values::*;

const NOBODY: User = User(core::ptr::null_mut());

/// A call, told its error's place, and what it must end with.
#[track_caller]
fn gives(status: Status, call: impl FnOnce(Out<'_, Error>) -> i32) {
    let mut error = Error { code: -1, message: [b'x'; 508] };
    let code = call((&mut error).into());
    assert_eq!(code, error.code);
    assert_eq!(code, status as i32, "{}", error.text());
    assert_eq!(error.text().is_empty(), status == Status::Ok, "{}", error.text());
}

fn cube() -> MeshHandle {
    let mut mesh = MeshHandle::default();
    gives(Status::Ok, |e| palp_mesh_sample(c"cuboid".into(), (&mut mesh).into(), e));
    mesh
}

fn shape() -> ShapeHandle {
    let (mesh, mut shape) = (cube(), ShapeHandle::default());
    let how = ShapeParamsValue { resolution: 24, ..Default::default() };
    gives(Status::Ok, |e| palp_shape_build(mesh, (&how).into(), None, NOBODY, (&mut shape).into(), e));
    gives(Status::Ok, |e| palp_mesh_free(mesh, e));
    shape
}

/// Handles of each kind that is no live object of that kind, and what each must give.
fn bad(live: u64, freed: u64) -> [(u64, Status); 5] {
    [
        (0, Status::BadHandle),
        (freed, Status::Freed),
        (live, Status::WrongKind),
        (u64::MAX, Status::BadHandle),
        (1 << 56 | 0xff_ffff, Status::BadHandle),
    ]
}

#[test]
fn meshes_and_shapes() {
    let (live, gone) = (shape(), cube());
    gives(Status::Ok, |e| palp_mesh_free(gone, e));
    for (id, status) in bad(live.id, gone.id) {
        let m = MeshHandle { id };
        let how = ShapeParamsValue { voxel: 0.01, ..Default::default() };
        let (mut s, mut r, mut w) =
            (ShapeHandle::default(), MeshReportValue::default(), MassValue::default());
        if id != 0 {
            gives(status, |e| palp_mesh_free(m, e));
        }
        gives(status, |e| palp_mesh_get_report(m, (&mut r).into(), e));
        gives(status, |e| palp_mesh_get_mass(m, 1.0, (&mut w).into(), e));
        gives(status, |e| palp_mesh_copy_positions(m, Room::NULL, 0, Out::NULL, e));
        gives(status, |e| palp_mesh_copy_triangles(m, Room::NULL, 0, Out::NULL, e));
        gives(status, |e| palp_shape_build(m, (&how).into(), None, NOBODY, (&mut s).into(), e));
    }
    let (mesh, gone) = (cube(), shape());
    gives(Status::Ok, |e| palp_shape_free(gone, e));
    for (id, status) in bad(mesh.id, gone.id) {
        let s = ShapeHandle { id };
        let (mut m, mut i, mut w) = (MeshHandle::default(), ShapeInfo::default(), MassValue::default());
        if id != 0 {
            gives(status, |e| palp_shape_free(s, e));
        }
        gives(status, |e| palp_shape_save(s, c"x.palp".into(), e));
        let mut larger = ShapeHandle::default();
        gives(status, |e| palp_shape_scaled(s, 2.0, (&mut larger).into(), e));
        assert_eq!(larger, ShapeHandle::default());
        gives(status, |e| palp_shape_get_mesh(s, (&mut m).into(), e));
        gives(status, |e| palp_shape_get_mass(s, 1.0, (&mut w).into(), e));
        gives(status, |e| palp_shape_get_info(s, (&mut i).into(), e));
        gives(status, |e| palp_shape_copy_points(s, -1, Room::NULL, 0, Out::NULL, e));
        gives(status, |e| palp_shape_sample(s, List::NULL, 0, Room::NULL, Room::NULL, e));
        let (mut q, mut b) = (QueryHandle::default(), BatchHandle::default());
        gives(status, |e| palp_query_create(s, live, (&mut q).into(), e));
        gives(status, |e| palp_query_create(live, s, (&mut q).into(), e));
        gives(status, |e| palp_batch_intersects(s, live, List::NULL, 0, 1, Room::NULL, e));
        gives(status, |e| palp_batch_intersects(live, s, List::NULL, 0, 1, Room::NULL, e));
        gives(status, |e| palp_batch_distance(s, live, List::NULL, 0, 1, Room::NULL, e));
        gives(status, |e| palp_batch_distance(live, s, List::NULL, 0, 1, Room::NULL, e));
        gives(status, |e| palp_batch_contacts(s, live, List::NULL, 0, In::NULL, 1, (&mut b).into(), e));
        gives(status, |e| palp_batch_contacts(live, s, List::NULL, 0, In::NULL, 1, (&mut b).into(), e));
    }
    // Nothing where a pointer must be.
    let null = Status::NullPointer;
    let how = ShapeParamsValue { resolution: 24, ..Default::default() };
    let (mut m, mut s) = (MeshHandle::default(), ShapeHandle::default());
    gives(null, |e| palp_mesh_load(Text::NULL, 1.0, (&mut m).into(), e));
    gives(null, |e| palp_mesh_load(c"x.obj".into(), 1.0, Out::NULL, e));
    gives(null, |e| palp_mesh_from_arrays(List::NULL, 3, List::NULL, 1, (&mut m).into(), e));
    gives(null, |e| palp_mesh_from_arrays(List::NULL, 0, List::NULL, 0, Out::NULL, e));
    gives(null, |e| palp_mesh_thicken(List::NULL, 3, List::NULL, 1, In::NULL, 1.0, (&mut m).into(), e));
    gives(null, |e| palp_mesh_thicken(List::NULL, 0, List::NULL, 0, In::NULL, 1.0, Out::NULL, e));
    gives(null, |e| palp_mesh_sample(Text::NULL, (&mut m).into(), e));
    gives(null, |e| palp_mesh_sample(c"gear".into(), Out::NULL, e));
    gives(null, |e| palp_mesh_get_report(mesh, Out::NULL, e));
    gives(null, |e| palp_mesh_get_mass(mesh, 1.0, Out::NULL, e));
    gives(null, |e| palp_mesh_copy_positions(mesh, Room::NULL, 8, Out::NULL, e));
    gives(null, |e| palp_mesh_copy_triangles(mesh, Room::NULL, 8, Out::NULL, e));
    gives(null, |e| palp_shape_build(mesh, In::NULL, None, NOBODY, (&mut s).into(), e));
    gives(null, |e| palp_shape_build(mesh, (&how).into(), None, NOBODY, Out::NULL, e));
    let cached = |mesh: Text<'_>,
                  kept: Text<'_>,
                  params: In<'_, ShapeParamsValue>,
                  s: Out<'_, ShapeHandle>| {
        let mut error = Error::default();
        let code =
            palp_shape_build_cached(mesh, 1.0, kept, params, None, NOBODY, s, Out::NULL, (&mut error).into());
        assert!(!error.text().is_empty());
        code
    };
    let (a, b) = (Text::from(c"a.obj"), Text::from(c"b.palp"));
    assert_eq!(cached(Text::NULL, b, (&how).into(), (&mut s).into()), null as i32);
    assert_eq!(cached(a, Text::NULL, (&how).into(), (&mut s).into()), null as i32);
    assert_eq!(cached(a, b, In::NULL, (&mut s).into()), null as i32);
    assert_eq!(cached(a, b, (&how).into(), Out::NULL), null as i32);
    assert_eq!(cached(a, b, (&how).into(), (&mut s).into()), Status::Io as i32);
    gives(null, |e| palp_shape_load(Text::NULL, In::NULL, (&mut s).into(), e));
    gives(null, |e| palp_shape_load(c"x.palp".into(), In::NULL, Out::NULL, e));
    gives(null, |e| palp_shape_save(live, Text::NULL, e));
    gives(null, |e| palp_shape_scaled(live, 2.0, Out::NULL, e));
    for factor in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300] {
        gives(Status::BadArgument, |e| palp_shape_scaled(live, factor, (&mut s).into(), e));
    }
    sheets_are_refused(&mut m);
    gives(null, |e| palp_shape_get_mesh(live, Out::NULL, e));
    gives(null, |e| palp_shape_get_mass(live, 1.0, Out::NULL, e));
    gives(null, |e| palp_shape_get_info(live, Out::NULL, e));
    gives(null, |e| palp_shape_copy_points(live, -1, Room::NULL, 3, Out::NULL, e));
    gives(null, |e| palp_shape_sample(live, List::NULL, 3, Room::NULL, Room::NULL, e));
    gives(null, |e| palp_query_create(live, live, Out::NULL, e));
    gives(null, |e| palp_batch_intersects(live, live, List::NULL, 1, 1, Room::NULL, e));
    gives(null, |e| palp_batch_distance(live, live, List::NULL, 1, 1, Room::NULL, e));
    gives(null, |e| palp_batch_contacts(live, live, List::NULL, 0, In::NULL, 1, Out::NULL, e));
    gives(Status::BadArgument, |e| palp_mesh_sample(c"\xff".into(), (&mut m).into(), e));
    gives(Status::Io, |e| palp_shape_load(c"\xff\xfe.palp".into(), In::NULL, (&mut s).into(), e));
    assert_eq!((m, s), Default::default(), "nothing was written");
}

/// A sheet with a thickness or a direction that is none, or with numbers that are no mesh.
fn sheets_are_refused(m: &mut MeshHandle) {
    let (mut p, t) = ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]]);
    let mut asked = |p: &[[f64; 3]], t: &[[u32; 3]], up: In<'_, [f64; 3]>, thick: f64, status: Status| {
        gives(status, |e| palp_mesh_thicken(p.into(), p.len(), t.into(), t.len(), up, thick, m.into(), e));
    };
    for thick in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX] {
        asked(&p, &t, In::NULL, thick, Status::BadArgument);
    }
    for up in [[0.0; 3], [f64::NAN, 0.0, 1.0], [f64::INFINITY, 0.0, 0.0]] {
        asked(&p, &t, (&up).into(), 1.0, Status::BadArgument);
    }
    asked(&p, &[[0, 1, 7]], In::NULL, 1.0, Status::BadMesh);
    asked(&p, &[[0, 1, 7]], (&[0.0, 0.0, 1.0]).into(), 1.0, Status::BadMesh);
    asked(&[], &[], In::NULL, 1.0, Status::BadMesh);
    p[1][2] = f64::NAN;
    asked(&p, &t, In::NULL, 1.0, Status::BadMesh);
}

#[test]
fn queries_and_forces() {
    let live = shape();
    let (mut q, mut gone) = (QueryHandle::default(), QueryHandle::default());
    gives(Status::Ok, |e| palp_query_create(live, live, (&mut q).into(), e));
    gives(Status::Ok, |e| palp_query_create(live, live, (&mut gone).into(), e));
    gives(Status::Ok, |e| palp_query_free(gone, e));
    let pose = PoseValue::default();
    let nobody = FrictionHandle::default();
    let push = ForceParamsValue { stiffness: 1.0, ..Default::default() };
    for (id, status) in bad(live.id, gone.id) {
        every_query(QueryHandle { id }, status, &pose, &push);
    }
    // Where a pointer must be, nothing: the pose, and the place for each answer.
    let null = Status::NullPointer;
    let (mut c, mut d) = (ContactsView::default(), ContactsView::default());
    let p = In::from(&pose);
    gives(null, |e| palp_query_intersects(q, In::NULL, Out::NULL, e));
    gives(null, |e| palp_query_intersects(q, p, Out::NULL, e));
    gives(null, |e| palp_query_distance(q, p, Out::NULL, e));
    gives(null, |e| palp_query_contacts(q, In::NULL, In::NULL, (&mut c).into(), e));
    gives(null, |e| palp_query_contacts(q, p, In::NULL, Out::NULL, e));
    gives(null, |e| palp_query_segmented(q, p, In::NULL, Out::NULL, e));
    gives(null, |e| palp_query_both(q, p, In::NULL, Out::NULL, (&mut d).into(), e));
    gives(null, |e| palp_query_both(q, p, In::NULL, (&mut c).into(), Out::NULL, e));
    gives(null, |e| palp_query_budget_points(q, p, In::NULL, 9, Out::NULL, Out::NULL, e));
    gives(null, |e| palp_query_budget_time(q, p, In::NULL, 9.0, Out::NULL, Out::NULL, e));
    gives(null, |e| palp_query_penetration(q, p, 0, 0.0, Out::NULL, e));
    gives(null, |e| {
        palp_query_penetration_along(q, p, In::NULL, 0.0, (&mut PenetrationValue::default()).into(), e)
    });
    gives(null, |e| palp_query_time_of_impact(q, In::NULL, 0.0, 0, (&mut ImpactValue::default()).into(), e));
    gives(null, |e| palp_query_time_of_impact(q, (&MotionValue::default()).into(), 0.0, 0, Out::NULL, e));
    gives(null, |e| palp_query_get_stats(q, Out::NULL, e));
    gives(null, |e| palp_query_reduce(q, 4, Out::NULL, Out::NULL, e));
    gives(null, |e| palp_query_four(q, Out::NULL, e));
    gives(null, |e| palp_query_copy_contacts(q, Room::NULL, 4, Out::NULL, e));
    gives(null, |e| palp_query_force(q, In::NULL, In::NULL, nobody, (&mut ForceValue::default()).into(), e));
    gives(null, |e| palp_query_force(q, (&push).into(), In::NULL, nobody, Out::NULL, e));
    gives(null, |e| palp_query_force_derivative(q, (&push).into(), In::NULL, nobody, Out::NULL, e));
    gives(null, |e| palp_friction_create(Out::NULL, e));
    gives(null, |e| palp_wrench_limit(In::NULL, In::NULL, 1.0, Out::NULL, Out::NULL, e));
    // A query that was never asked has no contacts; a motion of nothing is one.
    let mut n = 7;
    gives(Status::Ok, |e| palp_query_copy_contacts(q, Room::NULL, 0, (&mut n).into(), e));
    assert_eq!(n, 0);
    let mut f = ForceValue::default();
    gives(Status::Ok, |e| palp_query_force(q, (&push).into(), In::NULL, nobody, (&mut f).into(), e));
    assert_eq!(f.used, 0);
    // Rotations of no length, and directions.
    let still = PoseValue { rotation: [0.0; 4], ..pose };
    gives(Status::NonFinite, |e| {
        palp_query_distance(q, (&still).into(), (&mut DistanceValue::default()).into(), e)
    });
    let zero = [0.0; 3];
    let mut out = PenetrationValue::default();
    gives(Status::NonFinite, |e| {
        palp_query_penetration_along(q, p, (&zero).into(), 0.0, (&mut out).into(), e)
    });
    gives(Status::BadArgument, |e| palp_query_penetration(q, p, 0, f64::NAN, (&mut out).into(), e));
    for (far, status) in [(1e6, Status::Ok), (f64::MAX, Status::NonFinite)] {
        let huge = PoseValue { translation: [far; 3], ..pose };
        gives(status, |e| palp_query_contacts(q, (&huge).into(), In::NULL, (&mut c).into(), e));
        assert_eq!(c.count, 0);
    }
    // Friction that is gone, or something else.
    let mut memory = FrictionHandle::default();
    gives(Status::Ok, |e| palp_friction_create((&mut memory).into(), e));
    gives(Status::Ok, |e| palp_friction_free(memory, e));
    for (id, status) in bad(live.id, memory.id) {
        let friction = FrictionHandle { id };
        gives(status, |e| palp_friction_clear(friction, e));
        if id != 0 {
            gives(status, |e| palp_friction_free(friction, e));
            gives(status, |e| palp_query_force(q, (&push).into(), In::NULL, friction, (&mut f).into(), e));
            let mut six = [[0.0; 6]; 6];
            gives(status, |e| {
                palp_query_force_derivative(q, (&push).into(), In::NULL, friction, (&mut six).into(), e)
            });
        }
        let mut b = BatchHandle::default();
        gives(Status::Ok, |e| {
            palp_batch_contacts(live, live, List::NULL, 0, In::NULL, 1, (&mut b).into(), e)
        });
        gives(Status::Ok, |e| palp_batch_free(b, e));
        gives(Status::Freed, |e| palp_batch_get_contacts(b, 0, (&mut c).into(), e));
        gives(Status::Freed, |e| palp_batch_get_count(b, (&mut n).into(), e));
        gives(Status::Freed, |e| palp_batch_free(b, e));
    }
}

#[test]
fn solids_and_pairs() {
    let (live, null) = (shape(), Status::NullPointer);
    let (p, pose) = ([1.0, 2.0, 3.0], PoseValue::default());
    let (v, at) = (In::from(&p), In::from(&pose));
    let (mut s, mut gone) = (SolidHandle::default(), SolidHandle::default());
    gives(Status::Ok, |e| palp_solid_sphere(v, 1.0, (&mut gone).into(), e));
    gives(Status::Ok, |e| palp_solid_free(gone, e));
    let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
    let mut pair = PairHandle::default();
    for (id, status) in bad(live.id, gone.id) {
        let solid = SolidHandle { id };
        if id != 0 {
            gives(status, |e| palp_solid_free(solid, e));
        }
        gives(status, |e| palp_solid_rounded(solid, 1.0, (&mut s).into(), e));
        gives(status, |e| palp_solid_moved(solid, at, (&mut s).into(), e));
        gives(status, |e| palp_solid_union((&[solid][..]).into(), 1, (&mut s).into(), e));
        gives(status, |e| palp_solid_get_box(solid, (&mut low).into(), (&mut high).into(), e));
        gives(status, |e| palp_solid_sample(solid, List::NULL, 0, Room::NULL, Room::NULL, e));
        let (one, other) = (ColliderId { id }, ColliderId { id: live.id });
        // A live shape is a collider.
        let status = if id == live.id { Status::Ok } else { status };
        gives(status, |e| palp_pair_create(one, other, (&mut pair).into(), e));
        gives(status, |e| palp_pair_create(other, one, (&mut pair).into(), e));
    }
    gives(null, |e| palp_solid_sphere(In::NULL, 1.0, (&mut s).into(), e));
    gives(null, |e| palp_solid_sphere(v, 1.0, Out::NULL, e));
    gives(null, |e| palp_solid_box(v, In::NULL, (&mut s).into(), e));
    gives(null, |e| palp_solid_box(v, v, Out::NULL, e));
    gives(null, |e| palp_solid_capsule(v, In::NULL, 1.0, (&mut s).into(), e));
    gives(null, |e| palp_solid_cylinder(In::NULL, v, 1.0, (&mut s).into(), e));
    gives(null, |e| palp_solid_cone(v, In::NULL, 1.0, (&mut s).into(), e));
    gives(null, |e| palp_solid_torus(2.0, 1.0, Out::NULL, e));
    gives(null, |e| palp_solid_half_space(In::NULL, 1.0, (&mut s).into(), e));
    gives(null, |e| palp_solid_hull(List::NULL, 4, List::NULL, 4, (&mut s).into(), e));
    gives(null, |e| palp_solid_union(List::NULL, 2, (&mut s).into(), e));
    gives(Status::BadArgument, |e| palp_solid_union(List::NULL, usize::MAX, (&mut s).into(), e));
    gives(null, |e| palp_pair_create(ColliderId { id: live.id }, ColliderId { id: live.id }, Out::NULL, e));
    let (mut m, mut c) = (ManifoldsView::default(), ContactsView::default());
    gives(null, |e| palp_pair_update(pair, In::NULL, In::NULL, (&mut m).into(), e));
    gives(null, |e| palp_pair_update(pair, at, In::NULL, Out::NULL, e));
    gives(null, |e| palp_pair_get_contacts(pair, Out::NULL, e));
    let freed = pair;
    gives(Status::Ok, |e| palp_pair_free(freed, e));
    for (id, status) in bad(live.id, freed.id) {
        let pair = PairHandle { id };
        if id != 0 {
            gives(status, |e| palp_pair_free(pair, e));
        }
        gives(status, |e| palp_pair_update(pair, at, In::NULL, (&mut m).into(), e));
        gives(status, |e| palp_pair_get_contacts(pair, (&mut c).into(), e));
    }
    // Solids in solids in solids: an end is set to it.
    gives(Status::Ok, |e| palp_solid_sphere(v, 1.0, (&mut s).into(), e));
    let depth = (0..100).find(|_| palp_solid_moved(s, at, (&mut s).into(), Out::NULL) != 0);
    assert!(depth.is_some_and(|d| d > 10), "{depth:?}");
}

/// Every function that takes a query, with one that is none.
fn every_query(q: QueryHandle, status: Status, pose: &PoseValue, push: &ForceParamsValue) {
    let (mut c, mut d) = (ContactsView::default(), ContactsView::default());
    let (mut yes, p, nobody) = (7, In::from(pose), FrictionHandle::default());
    if q.id != 0 {
        gives(status, |e| palp_query_free(q, e));
    }
    gives(status, |e| palp_query_intersects(q, p, (&mut yes).into(), e));
    gives(status, |e| palp_query_distance(q, p, (&mut DistanceValue::default()).into(), e));
    gives(status, |e| palp_query_contacts(q, p, In::NULL, (&mut c).into(), e));
    gives(status, |e| palp_query_segmented(q, p, In::NULL, (&mut c).into(), e));
    gives(status, |e| palp_query_both(q, p, In::NULL, (&mut c).into(), (&mut d).into(), e));
    gives(status, |e| palp_query_budget_points(q, p, In::NULL, 9, (&mut c).into(), Out::NULL, e));
    gives(status, |e| palp_query_budget_time(q, p, In::NULL, 9.0, (&mut c).into(), Out::NULL, e));
    gives(status, |e| palp_query_copy_contacts(q, Room::NULL, 0, Out::NULL, e));
    gives(status, |e| palp_query_penetration(q, p, 0, 0.0, (&mut PenetrationValue::default()).into(), e));
    let (along, motion) = ([1.0, 0.0, 0.0], MotionValue::default());
    let mut out = PenetrationValue::default();
    gives(status, |e| palp_query_penetration_along(q, p, (&along).into(), 0.0, (&mut out).into(), e));
    let mut impact = ImpactValue::default();
    gives(status, |e| palp_query_time_of_impact(q, (&motion).into(), 0.0, 0, (&mut impact).into(), e));
    gives(status, |e| palp_query_get_stats(q, (&mut StatsValue::default()).into(), e));
    gives(status, |e| palp_query_reduce(q, 4, (&mut c).into(), Out::NULL, e));
    gives(status, |e| palp_query_four(q, (&mut c).into(), e));
    gives(status, |e| {
        palp_query_force(q, push.into(), In::NULL, nobody, (&mut ForceValue::default()).into(), e)
    });
    let mut six = [[0.0; 6]; 6];
    gives(status, |e| palp_query_force_derivative(q, push.into(), In::NULL, nobody, (&mut six).into(), e));
    assert_eq!((yes, c.count), (7, 0), "nothing was written");
}
