//! Many poses at once: held to the CPU.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{device, poses, shapes};
use glam::DVec3;
use palpate::contact::Contact;
use palpate::force::{ForceParams, Twist, penalty};
use palpate::math::Pose;
use palpate::query::{Query, QueryParams, Roles};
use palpate::shape::{Shape, ShapeParams};
use palpate_gpu::{BatchParams, GpuBatch, GpuField, GpuShell, Interpolation, Job, Lists};

fn law() -> ForceParams {
    let mut params = ForceParams::new(1e8);
    params.damping = 2e5;
    params.friction.dynamic_coefficient = 0.3;
    params.friction.static_coefficient = 0.3;
    params
}

/// What contacts of one set differ by from those of another: ids that only one has, and the largest difference in distance.
fn difference(a: &[Contact], b: &[Contact]) -> (Vec<u32>, f32) {
    let (mut alone, mut most, mut j) = (Vec::new(), 0.0f32, 0);
    for c in a {
        while j < b.len() && b[j].id < c.id {
            alone.push(b[j].id);
            j += 1;
        }
        if j < b.len() && b[j].id == c.id {
            most = most.max((b[j].distance - c.distance).abs());
            j += 1;
        } else {
            alone.push(c.id);
        }
    }
    alone.extend(b[j..].iter().map(|c| c.id));
    (alone, most)
}

/// 55 poses of each of four shapes, two jobs in one submission: the CPU's contacts, but for points as near to the margin as rounding; their
/// force; their deepest; and the nearest point.
#[test]
fn every_pose_is_the_cpus() {
    let Some(gpu) = device() else { return };
    let mut batch = GpuBatch::new(&gpu).unwrap();
    let mut query = Query::new();
    let (mut asked, mut touching, mut doubtful) = (0, 0, 0);
    for (name, mesh) in shapes() {
        let extent = mesh.aabb().extent().max_element();
        let poses = poses(&mesh, 55, 11);
        let params = ShapeParams { spacing: Some(extent / 60.0), ..ShapeParams::default() };
        let shape = Shape::build(mesh, extent / 58.0, &params).unwrap();
        let field = GpuField::new(&gpu, shape.field(), Interpolation::Shader).unwrap();
        let shell = GpuShell::new(&gpu, shape.tree()).unwrap();
        let motions: Vec<Twist> = poses
            .iter()
            .enumerate()
            .map(|(i, _)| Twist {
                linear: DVec3::new(0.01, 0.02 * (i as f64).sin(), 0.0),
                angular: DVec3::Y * 0.2,
            })
            .collect();
        let (first, second) = poses.split_at(20);
        let (slow, fast) = motions.split_at(20);
        let jobs = [
            Job { field: &field, shell: &shell, poses: first, motions: slow },
            Job { field: &field, shell: &shell, poses: second, motions: fast },
        ];
        for margin in [0.0, 0.02 * extent] {
            let ask = BatchParams { margin, force: law(), lists: Lists::Full, room: None };
            let answers = batch.contacts(&jobs, &ask).unwrap();
            assert_eq!(answers, batch.contacts(&jobs, &ask).unwrap(), "bit for bit");
            let lists: Vec<Vec<Vec<Contact>>> = (0..2)
                .map(|j| (0..jobs[j].poses.len()).map(|p| batch.read_list(j, p).unwrap()).collect())
                .collect();
            let all = answers.concat();
            let nearest = batch.nearest(&jobs).unwrap().concat();
            for (i, (pose, got)) in poses.iter().zip(&all).enumerate() {
                let ask = QueryParams { margin, roles: Roles::PointsOfB };
                let want = query.contacts(&shape, &shape, pose, &ask).clone();
                let list = &lists.concat()[i];
                assert_eq!((list.len(), got.contacts), (got.contacts, list.len()));
                assert!(list.windows(2).all(|w| w[0].id < w[1].id), "in the order of the points");
                // The CPU packs values into 16 bits.
                let rounding = 2e-3 * shape.field().lattice().voxel as f32;
                let (alone, most) = difference(list, &want.list);
                assert!(most <= rounding, "{name} {i}: {most}");
                for id in &alone {
                    let p = pose.point(shape.tree().position(*id as usize));
                    let d = shape.field().sample(p).distance - margin;
                    assert!(d.abs() as f32 <= rounding, "{name} {i}: point {id} at {d}");
                }
                // Coincident shapes have all their points at the margin.
                doubtful += if i == 0 { 0 } else { alone.len() };
                let force = penalty(&want, &law(), pose, Some(&motions[i]), None);
                let thin = |c: &&Contact| c.distance.abs() <= rounding;
                let border: f32 = list.iter().chain(&want.list).filter(thin).map(|c| c.area).sum();
                let scale = force.normal_force + 1e-6;
                // Points that one has inside and the other not may be damped, at 0.1 m/s at most.
                let gone = law().stiffness * f64::from(rounding) + 0.15 * law().damping;
                let bound = 1e-2 * scale + gone * f64::from(border);
                let apart = (got.force.wrench.force - force.wrench.force).length();
                let turned = (got.force.wrench.torque - force.wrench.torque).length();
                assert!(apart <= bound && turned <= bound * extent, "{name} {i}: {got:?}\n{force:?}");
                let areas = (got.force.area - force.area).abs();
                assert!(areas <= 1e-4 * force.area + f64::from(border), "{name} {i}: {got:?}\n{force:?}");
                match (got.deepest, want.deepest()) {
                    (Some(a), Some(b)) => assert!((a.distance - b.distance).abs() <= rounding, "{a:?} {b:?}"),
                    (a, b) => assert!(a.is_none() && b.is_none() || !alone.is_empty(), "{a:?} {b:?}"),
                }
                if let Some(c) = list.first().filter(|_| i % 7 == 0) {
                    let at = shape.field().lattice().origin + glam::Vec3::from(c.point).as_dvec3();
                    let p = pose.point(shape.tree().position(c.id as usize));
                    assert!((at - p).length() <= 1e-5 * extent, "{c:?}");
                }
                // The nearest of all points.
                let least = (0..shape.tree().len())
                    .map(|k| shape.field().sample(pose.point(shape.tree().position(k))).distance)
                    .fold(f64::INFINITY, f64::min);
                let near = nearest[i].deepest.unwrap().distance;
                assert!((f64::from(near) - least).abs() <= f64::from(rounding), "{name} {i}: {near} {least}");
                touching += usize::from(got.contacts > 0);
                asked += 1;
            }
        }
    }
    assert!(asked > 400 && touching > 150 && touching < asked, "{touching} of {asked}");
    assert!(doubtful < 200, "{doubtful}");
}

/// Shells of several chunks, brief lists, lists without room, poses that are no numbers.
#[test]
fn long_shells_short_lists_and_bad_poses() {
    let Some(gpu) = device() else { return };
    let (_, mesh) = shapes().swap_remove(0);
    let extent = mesh.aabb().extent().max_element();
    let params = ShapeParams { spacing: Some(extent / 180.0), ..ShapeParams::default() };
    let shape = Shape::build(mesh, extent / 58.0, &params).unwrap();
    assert!(shape.tree().len() > 2 * 16384, "{} points are one chunk", shape.tree().len());
    let field = GpuField::new(&gpu, shape.field(), Interpolation::Texture).unwrap();
    let shell = GpuShell::new(&gpu, shape.tree()).unwrap();
    let poses = [
        Pose::from_translation(DVec3::X * 0.03),
        Pose::from_translation(DVec3::new(f64::NAN, 0.0, 0.0)),
        Pose::from_translation(DVec3::X * 10.0),
    ];
    let mut batch = GpuBatch::new(&gpu).unwrap();
    let job = [Job { field: &field, shell: &shell, poses: &poses, motions: &[] }];
    let ask =
        |lists, room| BatchParams { force: ForceParams::new(1e8), lists, room, ..BatchParams::default() };
    let plain = batch.contacts(&job, &ask(Lists::None, None)).unwrap();
    assert!(batch.read_list(0, 0).unwrap().is_empty());
    let brief = batch.contacts(&job, &ask(Lists::Brief, None)).unwrap();
    assert_eq!(plain, brief);
    let list = batch.read_list(0, 0).unwrap();
    assert_eq!(list.len(), brief[0][0].contacts);
    assert!(list.len() > 16384 && list.windows(2).all(|w| w[0].id < w[1].id));
    let mut query = Query::new();
    let want = query.contacts(
        &shape,
        &shape,
        &poses[0],
        &QueryParams { roles: Roles::PointsOfB, ..Default::default() },
    );
    let (alone, most) = difference(&list, &want.list);
    let voxel = shape.field().lattice().voxel as f32;
    assert!(most < 0.02 * voxel && alone.len() < list.len() / 50, "{most} {}", alone.len());
    assert!(brief[0][1].non_finite && brief[0][1].contacts == 0 && brief[0][1].deepest.is_none());
    assert!(brief[0][2].contacts == 0 && !brief[0][2].non_finite);
    // Counted, though there is no room for all.
    let short = batch.contacts(&job, &ask(Lists::Full, Some(1000))).unwrap();
    assert_eq!(plain, short);
    assert!(batch.read_list(0, 0).unwrap().len() <= 1000);
    assert!(batch.read_list(0, 9).unwrap().is_empty() && batch.read_list(3, 0).unwrap().is_empty());
    assert!(batch.contacts(&job, &BatchParams { margin: f64::NAN, ..BatchParams::default() }).is_err());
    assert_eq!(batch.contacts(&[], &BatchParams::default()).unwrap().len(), 0);
    let none = [Job { poses: &[], ..job[0] }];
    assert_eq!(batch.contacts(&none, &BatchParams::default()).unwrap(), vec![Vec::new()]);
    // More contacts than a word counts are refused before anything is asked; without lists the same poses may be.
    let many = vec![poses[2]; (1 << 32) / shell.len() + 1];
    let many = [Job { poses: &many, ..job[0] }];
    let error = batch.contacts(&many, &ask(Lists::Brief, Some(10))).unwrap_err().to_string();
    assert!(error.contains("points in all poses") && error.contains("fewer poses"), "{error}");
}
