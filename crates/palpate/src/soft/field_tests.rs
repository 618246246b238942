//! The contract: culling loses nothing, areas are whole, the deepest is within its bound, and forces converge.

use super::*;
use crate::field::analytic::Analytic;
use crate::field::source::random::Random;
use crate::field::{Field, Source};
use crate::force::{ForceParams, penalty};
use crate::mesh::{Mesh, samples};
use glam::DQuat;

const SEED: u64 = 0x5eed_0505;

fn soft(raw: crate::mesh::RawMesh) -> SoftMesh {
    SoftMesh::new(raw.positions, raw.triangles).unwrap()
}

fn floor() -> Analytic {
    Analytic::half_space(DVec3::Z, 0.0).unwrap()
}

fn area(spacing: f64) -> Sampling {
    Sampling::Area { spacing }
}

/// Integral of the depth below z = 0 over the triangles, exactly.
fn volume(mesh: &SoftMesh, pose: &Pose) -> f64 {
    let of = |t: u32| {
        let corners = mesh.corners(t).unwrap().map(|p| pose.point(p));
        let mut kept: Vec<DVec3> = Vec::new();
        for i in 0..3 {
            let (p, q) = (corners[i], corners[(i + 1) % 3]);
            if p.z < 0.0 {
                kept.push(p);
            }
            if (p.z < 0.0) != (q.z < 0.0) {
                kept.push(p + (q - p) * (p.z / (p.z - q.z)));
            }
        }
        let fan = (2..kept.len()).map(|i| {
            let (a, b, c) = (kept[0], kept[i - 1], kept[i]);
            -(a.z + b.z + c.z) / 3.0 * 0.5 * (b - a).cross(c - a).length()
        });
        fan.sum::<f64>()
    };
    (0..mesh.triangles().len() as u32).map(of).sum()
}

fn push(sampler: &mut FieldSampler, rigid: Rigid<'_>, mesh: &SoftMesh, pose: &Pose, h: f64) -> f64 {
    let found = sampler.find(rigid, mesh, pose, area(h), 0.0).unwrap();
    penalty(&found.contacts, &ForceParams::new(1e6), pose, None, None).wrench.force.z
}

#[test]
fn a_pressed_sphere_is_pushed_by_the_integral() {
    let (ball, mut sampler) = (soft(samples::sphere(1.0, 6)), FieldSampler::new());
    println!("{} triangles", ball.triangles().len());
    let block = Mesh::new(samples::cuboid(DVec3::new(3.0, 3.0, 2.0)), &Default::default()).unwrap();
    let field = Field::build(&block, 0.06, &Default::default()).unwrap();
    let solid = floor();
    for depth in [0.03, 0.1, 0.3] {
        let integral = 1e6 * core::f64::consts::PI * depth * depth;
        let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 1.0);
        // The block's top is at z = 1.
        for (rigid, top) in [(Rigid::from(&solid), 0.0), (Rigid::from(&field), 1.0)] {
            let pose = Pose::new(turn, DVec3::Z * (top + 1.0 - depth));
            let force = push(&mut sampler, rigid, &ball, &pose, 0.02);
            println!("{rigid:?} {depth}: {:.3} % off", 100.0 * (force / integral - 1.0));
            assert!((force / integral - 1.0).abs() < 0.01, "{rigid:?} {depth}: {force} for {integral}");
            let found = sampler.found();
            assert!(found.culled > 0 && found.contacts.list.len() > 300);
            assert!((found.deepest.unwrap().distance + depth).abs() < 1e-3);
        }
    }
}

#[test]
fn forces_converge_with_the_square_of_the_spacing() {
    println!("seed {SEED:#x}");
    let (mut random, mut sampler) = (Random(SEED), FieldSampler::new());
    let (ball, solid) = (soft(samples::sphere(1.0, 1)), floor());
    let poses: Vec<Pose> = (0..40)
        .map(|_| Pose::new(random.rotation(), DVec3::Z * random.range(0.3, 0.8) + random.point(1.0) * 1e-3))
        .collect();
    let spacings = [0.4, 0.2, 0.1, 0.05, 0.025];
    let errors = spacings.map(|h| {
        let squares = poses.iter().map(|pose| {
            let exact = 1e6 * volume(&ball, pose);
            (push(&mut sampler, Rigid::from(&solid), &ball, pose, h) / exact - 1.0).powi(2)
        });
        (squares.sum::<f64>() / poses.len() as f64).sqrt()
    });
    let order = (errors[0] / errors[4]).log2() / 4.0;
    println!("relative error of the force {errors:.6?} at {spacings:?}: order {order:.2}");
    assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
    assert!(order > 1.7, "{order}");
}

#[test]
fn all_samples_together_have_the_area_of_the_mesh() {
    let mut sampler = FieldSampler::new();
    let mesh = soft(samples::bumpy_sphere(1.0, 0.2, 5, 2, 7));
    let exact: f64 = (0..mesh.triangles().len() as u32)
        .map(|t| mesh.corners(t).map(|[a, b, c]| 0.5 * (b - a).cross(c - a).length()).unwrap())
        .sum();
    let pose = Pose::new(DQuat::from_rotation_x(0.4), DVec3::new(5.0, -3.0, 0.2));
    for sampling in [area(10.0), area(0.1), area(0.013), Sampling::Vertices] {
        let found = sampler.find(&floor(), &mesh, &pose, sampling, 100.0).unwrap();
        let sum: f64 = found.contacts.list.iter().map(|c| f64::from(c.area)).sum();
        println!("{sampling:?}: {} samples, {:.1e} off", found.samples, sum / exact - 1.0);
        assert!((sum / exact - 1.0).abs() < 1e-6, "{sum} for {exact}");
        assert_eq!((found.culled, found.contacts.list.len()), (0, found.places.len()));
        for (c, place) in found.contacts.list.iter().zip(&found.places) {
            let corners = mesh.corners(place.triangle).unwrap();
            let on_mesh =
                corners.iter().zip(place.barycentric).map(|(p, k)| *p * f64::from(k)).sum::<DVec3>();
            let off = (pose.point(on_mesh) - found.contacts.position(c)).length();
            assert!(off < 2e-6, "{off} from its place");
            assert!((c.shell_normal().length() - 1.0).abs() < 1e-5 && c.normal[2] == 1.0);
        }
    }
    let off = (1.0f64 - 4.0 * core::f64::consts::PI / exact).abs();
    assert!(off < 0.5, "{exact}");
}

/// The least distance at many points of each triangle.
fn dense(source: &dyn Source, mesh: &SoftMesh, pose: &Pose, n: usize) -> f64 {
    let mut least = f64::INFINITY;
    for t in (0..mesh.triangles().len() as u32).filter(|t| mesh.takes_part(*t)) {
        let [a, b, c] = mesh.corners(t).unwrap().map(|p| pose.point(p));
        for i in 0..=n {
            for j in 0..=n - i {
                let p = a + (b - a) * (i as f64 / n as f64) + (c - a) * (j as f64 / n as f64);
                least = least.min(source.distance(p));
            }
        }
    }
    least
}

#[test]
fn the_deepest_is_within_its_bound_and_culling_loses_nothing() {
    println!("seed {SEED:#x}");
    let mut random = Random(SEED ^ 1);
    let (mut sampler, mut all) = (FieldSampler::new(), FieldSampler::new());
    let torus = Analytic::torus(0.6, 0.2).unwrap();
    let lumps = Mesh::new(samples::bumpy_sphere(0.7, 0.2, 4, 3, 3), &Default::default()).unwrap();
    let field = Field::build(&lumps, 0.05, &Default::default()).unwrap();
    println!("steepness {:.2}", field.report().lipschitz);
    let mesh = soft(samples::bumpy_sphere(0.5, 0.2, 3, 1, 9));
    let (mut inside, mut apart, mut contacts, mut saved) = (0, 0, 0, 0i64);
    for round in 0..60 {
        let pose = Pose::new(random.rotation(), random.direction() * random.range(0.0, 2.6));
        let (rigid, source): (Rigid<'_>, &dyn Source) =
            if round % 2 == 0 { (Rigid::from(&torus), &torus) } else { (Rigid::from(&field), &field) };
        let steep = if round % 2 == 0 { 1.0 } else { field.report().lipschitz };
        let margin = [0.0, 0.02, -0.01][round % 3];
        let spacing = random.range(0.02, 0.2);
        let found = sampler.find(rigid, &mesh, &pose, area(spacing), margin).unwrap();
        let deepest = found.deepest.unwrap();
        assert!((deepest.distance - source.distance(deepest.point)).abs() < 1e-12);
        // 30 parts of edges of at most 0.6.
        let (least, grain) = (dense(source, &mesh, &pose, 30), 0.02 * steep);
        assert!(deepest.distance <= least + 2.0 / 3.0 * spacing * steep + 1e-6, "{deepest:?} {least}");
        assert!(deepest.distance >= least - grain, "{deepest:?} {least}");
        let every = all.find(rigid, &mesh, &pose, area(spacing), 1e9).unwrap();
        let wanted: Vec<_> =
            every.contacts.list.iter().filter(|c| c.distance <= margin as f32).copied().collect();
        assert_eq!(found.contacts.list, wanted);
        assert!(!found.coarse);
        inside += usize::from(deepest.distance < 0.0);
        apart += usize::from(deepest.distance > 0.1);
        contacts += wanted.len();
        // Not in each case: parts of what is within the margin are not asked for one by one.
        saved += every.samples as i64 - found.samples as i64;
    }
    println!("{inside} inside, {apart} apart of 60, {contacts} contacts, {saved} samples not taken");
    assert!(inside > 15 && apart > 15 && contacts > 1000 && saved > 10_000);
}

#[test]
fn vertices_miss_a_spike_that_area_finds() {
    let spike = Analytic::capsule(DVec3::new(0.0, 0.0, -1.0), DVec3::ZERO, 0.02).unwrap();
    let sheet = SoftMesh::new(
        vec![DVec3::new(-1.0, -1.0, 0.0), DVec3::new(1.0, -1.0, 0.0), DVec3::new(0.0, 2.0, 0.0)],
        vec![[0, 1, 2]],
    );
    let (sheet, mut sampler) = (sheet.unwrap(), FieldSampler::new());
    let pose = Pose::from_translation(DVec3::new(0.013, 0.007, 0.01));
    let found = sampler.find(&spike, &sheet, &pose, Sampling::Vertices, 0.0).unwrap();
    assert!(found.contacts.list.is_empty() && found.deepest.unwrap().distance > 1.0);
    assert_eq!(found.samples, 3);
    let found = sampler.find(&spike, &sheet, &pose, area(0.005), 0.0).unwrap();
    let sum: f64 = found.contacts.list.iter().map(|c| f64::from(c.area)).sum();
    let disc = core::f64::consts::PI * (0.02f64.powi(2) - 0.01f64.powi(2));
    println!(
        "{} contacts of {} samples, area {sum:.2e} of {disc:.2e}",
        found.contacts.list.len(),
        found.samples
    );
    assert!((sum / disc - 1.0).abs() < 0.1 && found.samples < 3000);
    assert!((found.deepest.unwrap().distance + 0.01).abs() < 0.004);
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let torus = Analytic::torus(0.6, 0.3).unwrap();
    let mesh = soft(samples::bumpy_sphere(0.8, 0.2, 6, 4, 5));
    assert!(mesh.triangles().len() > 4 * CHUNK);
    for sampling in [area(0.03), Sampling::Vertices] {
        let [one, two] = [1, 2].map(|threads| {
            par::with_threads(threads, || {
                let mut sampler = FieldSampler::new();
                sampler.find(&torus, &mesh, &Pose::IDENTITY, sampling, 0.01).unwrap();
                sampler.found
            })
        });
        assert_eq!((one.samples, one.culled, one.deepest), (two.samples, two.culled, two.deepest));
        assert_eq!((&one.contacts.list, &one.places), (&two.contacts.list, &two.places));
        assert!(one.contacts.list.len() > 500 && one.contacts.list.is_sorted_by_key(|c| c.id));
    }
}

#[test]
fn triangles_that_are_off_or_lost_do_not_count() {
    let (mut mesh, solid) = (soft(samples::sphere(1.0, 3)), floor());
    let (pose, mut sampler) = (Pose::from_translation(DVec3::Z * 0.7), FieldSampler::new());
    let below: Vec<u32> = {
        let found = sampler.find(&solid, &mesh, &pose, area(0.05), 0.0).unwrap();
        found.places.iter().map(|p| p.triangle).collect()
    };
    assert!(below.len() > 50);
    let off: Vec<u32> = below.iter().copied().filter(|t| t % 2 == 0).collect();
    off.iter().for_each(|t| mesh.set_enabled(*t, false).unwrap());
    let found = sampler.find(&solid, &mesh, &pose, area(0.05), 0.0).unwrap();
    assert!(!found.places.is_empty() && found.places.iter().all(|p| p.triangle % 2 == 1));
    // A vertex without a place takes its triangles with it.
    let lost = mesh.triangles()[below[0] as usize][0] as usize;
    mesh.deform(|i, p| if i == lost { DVec3::NAN } else { p });
    for sampling in [area(0.05), Sampling::Vertices] {
        let found = sampler.find(&solid, &mesh, &pose, sampling, 0.0).unwrap();
        assert!(found.places.iter().all(|p| !mesh.triangles()[p.triangle as usize].contains(&(lost as u32))));
        assert!(found.deepest.unwrap().distance < -0.2);
    }
    (0..mesh.triangles().len() as u32).for_each(|t| mesh.set_enabled(t, false).unwrap());
    for sampling in [area(0.05), Sampling::Vertices] {
        let found = sampler.find(&solid, &mesh, &pose, sampling, 0.0).unwrap();
        assert!(found.deepest.is_none() && found.contacts.list.is_empty() && found.samples == 0);
    }
}

#[test]
fn bad_input_is_an_error_or_finds_nothing() {
    let (mesh, solid, mut sampler) = (soft(samples::sphere(1.0, 2)), floor(), FieldSampler::new());
    for spacing in [0.0, -1.0, f64::NAN] {
        let error = sampler.find(&solid, &mesh, &Pose::IDENTITY, area(spacing), 0.0).unwrap_err();
        assert!(matches!(error, SamplingError::Spacing { .. }), "{error}");
    }
    let error = sampler.find(&solid, &mesh, &Pose::IDENTITY, area(1.0), f64::NAN).unwrap_err();
    assert!(matches!(error, SamplingError::Margin { .. }), "{error}");
    let nowhere = Pose::from_translation(DVec3::splat(f64::NAN));
    let found = sampler.find(&solid, &mesh, &nowhere, area(1.0), 0.0).unwrap();
    assert!(found.non_finite && found.deepest.is_none() && found.contacts.list.is_empty());
    for sampling in [area(0.1), Sampling::Vertices] {
        let found = sampler.find(&solid, &SoftMesh::default(), &Pose::IDENTITY, sampling, 0.0).unwrap();
        assert!(found.deepest.is_none() && !found.non_finite);
        // Far away, needles, points and no spacing to speak of: an answer.
        for far in [1e9, 1e17, 1e25] {
            let pose = Pose::from_translation(DVec3::Z * far);
            let torus = Analytic::torus(0.6, 0.2).unwrap();
            let found = sampler.find(&torus, &mesh, &pose, sampling, 0.0).unwrap();
            assert!(found.contacts.list.is_empty() && found.samples < 10_000);
        }
        let thin = vec![DVec3::ZERO, DVec3::X * 1e6, DVec3::new(5e5, 1e-9, 0.0)];
        let thin = SoftMesh::new(thin, vec![[0, 1, 2], [0, 0, 0], [1, 1, 2]]).unwrap();
        let found = sampler.find(&solid, &thin, &Pose::IDENTITY, sampling, -1.0).unwrap();
        assert!(found.contacts.list.is_empty() && found.deepest.is_some());
    }
    let huge = sampler.find(&solid, &mesh, &Pose::IDENTITY, area(1e-5), 0.0).unwrap();
    assert!(huge.coarse && huge.samples < 1 << 22);
}
