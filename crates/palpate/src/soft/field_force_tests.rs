//! The contract: a mesh whose vertices move rigidly is pushed as a rigid body is, and its own motion counts.

use super::*;
use crate::field::analytic::Analytic;
use crate::field::source::random::Random;
use crate::force::{ContactState, FrictionParams, penalty};
use crate::math::Pose;
use crate::mesh::samples;
use crate::soft::{FieldSampler, Sampling};

const SEED: u64 = 0x5eed_0506;

fn ball() -> SoftMesh {
    let raw = samples::sphere(0.1, 4);
    SoftMesh::new(raw.positions, raw.triangles).unwrap()
}

fn floor() -> Analytic {
    Analytic::half_space(DVec3::Z, 0.0).unwrap()
}

fn params(random: &mut Random) -> ForceParams {
    ForceParams {
        law: if random.bits().is_multiple_of(2) { Law::Integrated } else { Law::Averaged },
        direction: if random.bits().is_multiple_of(2) { Direction::Field } else { Direction::Shell },
        stiffness: 1e6,
        damping: random.range(0.0, 1e5),
        friction: FrictionParams {
            static_coefficient: 0.6,
            dynamic_coefficient: 0.4,
            damping: 1e3,
            ..FrictionParams::default()
        },
    }
}

fn assert_same(a: &Force, b: &Force) {
    let size = b.normal_force.max(1e-9);
    let off = (a.wrench.force - b.wrench.force).length() / size;
    let turned = (a.wrench.torque - b.wrench.torque).length() / size;
    assert!(off < 2e-5 && turned < 2e-5, "{a:?}\n{b:?}");
    assert!((a.normal_force / size - b.normal_force / size).abs() < 2e-5);
    assert!((a.area - b.area).abs() < 1e-6 * b.area.max(1e-9));
    assert_eq!((a.used, a.non_finite), (b.used, b.non_finite));
    assert!(a.sliding.abs_diff(b.sliding) <= 1 && a.sliding + a.sticking == b.sliding + b.sticking);
}

#[test]
fn vertices_that_move_rigidly_are_a_rigid_body() {
    println!("seed {SEED:#x}");
    let (mut random, mut sampler, mesh, solid) = (Random(SEED), FieldSampler::new(), ball(), floor());
    let mut pulled = 0;
    for _ in 0..100 {
        let pose =
            Pose::new(random.rotation(), DVec3::Z * random.range(0.06, 0.11) + random.point(1.0) * DVec3::X);
        let found = sampler.find(&solid, &mesh, &pose, Sampling::Area { spacing: 0.008 }, 0.0).unwrap();
        let whole = Twist { linear: random.point(1.0), angular: random.point(5.0) };
        let params = params(&mut random);
        // Half of the motion is the frame's, half the vertices'.
        let half = Twist { linear: 0.5 * whole.linear, angular: 0.5 * whole.angular };
        let back = pose.rotation.conjugate();
        let vertices: Vec<DVec3> = mesh.positions().iter().map(|p| back * half.at(pose.vector(*p))).collect();
        let motion = MeshMotion { frame: half, vertices: &vertices };
        let mut on = vec![DVec3::ZERO; mesh.positions().len()];
        let force = found.force(&mesh, &params, &motion, None, Some(&mut on));
        let rigid = penalty(&found.contacts, &params, &pose, Some(&whole), None);
        assert_same(&force, &rigid);
        let sum: DVec3 = on.iter().sum();
        assert!((sum - force.wrench.force).length() <= 1e-6 * force.normal_force.max(1e-9));
        pulled += usize::from(force.normal_force < force.area * 1e-3 && force.used > 0);
        let still = found.force(&mesh, &params, &MeshMotion::default(), None, None);
        assert_same(&still, &penalty(&found.contacts, &params, &pose, None, Some(&mut ContactState::new())));
    }
    // Some leave faster than the springs push: they are not pulled.
    println!("{pulled} of 100 not pushed at all");
    assert!(pulled < 60);
}

#[test]
fn samples_stick_and_slide_as_those_of_rigid_bodies() {
    let (mut sampler, mesh, solid) = (FieldSampler::new(), ball(), floor());
    let mut random = Random(SEED ^ 1);
    for _ in 0..4 {
        let params = ForceParams { law: Law::Integrated, ..params(&mut random) };
        let (mut friction, mut state) = (FieldFriction::default(), ContactState::new());
        let (mut held, mut slid) = (0, 0);
        for step in 0..60 {
            // Back and forth, a little more than the springs hold.
            let x = 6e-3 * (f64::from(step) * 0.1).sin();
            let pose = Pose::from_translation(DVec3::new(x, 0.0, 0.09));
            let motion = Twist { linear: DVec3::X * 0.6 * (f64::from(step) * 0.1).cos(), ..Twist::ZERO };
            // One sample for each triangle: ids are those of samples.
            let found = sampler.find(&solid, &mesh, &pose, Sampling::Area { spacing: 1.0 }, 0.0).unwrap();
            let own = MeshMotion { frame: motion, vertices: &[] };
            let force = found.force(&mesh, &params, &own, Some(&mut friction), None);
            let rigid = penalty(&found.contacts, &params, &pose, Some(&motion), Some(&mut state));
            assert_same(&force, &rigid);
            held += force.sticking;
            slid += force.sliding;
        }
        println!("{held} held, {slid} slid");
        assert!(held > 200 && slid > 200);
    }
}

#[test]
fn a_mesh_that_swells_is_damped() {
    let (mut sampler, mesh, solid) = (FieldSampler::new(), ball(), floor());
    let pose = Pose::from_translation(DVec3::Z * 0.09);
    let found = sampler.find(&solid, &mesh, &pose, Sampling::Area { spacing: 0.005 }, 0.0).unwrap();
    let params = ForceParams { damping: 1e4, ..ForceParams::new(1e6) };
    let force = |speed: f64| {
        let vertices: Vec<DVec3> = mesh.positions().iter().map(|p| *p * (speed / 0.1)).collect();
        let motion = MeshMotion { vertices: &vertices, ..MeshMotion::default() };
        found.force(&mesh, &params, &motion, None, None).wrench.force.z
    };
    let (grows, rests, shrinks) = (force(0.1), force(0.0), force(-0.1));
    println!("{grows:.3} N growing, {rests:.3} N at rest, {shrinks:.3} N shrinking");
    // The bottom comes down with the speed: about damping × speed × area more.
    let area = found.force(&mesh, &params, &MeshMotion::default(), None, None).area;
    assert!((grows - rests) / (1e4 * 0.1 * area) > 0.9 && grows > rests && shrinks < rests && shrinks > 0.0);
    assert_eq!(force(-100.0), 0.0);
    let bad = MeshMotion { vertices: &vec![DVec3::NAN; mesh.positions().len()], ..MeshMotion::default() };
    assert!(found.force(&mesh, &params, &bad, None, None).non_finite);
    let other = SoftMesh::default();
    assert!(found.force(&other, &params, &MeshMotion::default(), None, None).used > 0);
}
