//! A field against a mesh, by compute kernels: held to the CPU.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{Random, device, field, poses, shapes};
use glam::{DQuat, DVec3};
use palpate::field::Field;
use palpate::force::{Direction, ForceParams, Law, Twist};
use palpate::math::Pose;
use palpate::mesh::{Mesh, samples};
use palpate::soft::{FieldSampler, FieldSummary, MeshMotion, Sampling, SoftMesh};
use palpate_gpu::{Gpu, GpuError, GpuField, GpuMesh, GpuParams, GpuSampler, Interpolation, VertexLayout};

const ALL: [Interpolation; 3] = [Interpolation::Shader, Interpolation::Texture, Interpolation::Directions];

fn law() -> ForceParams {
    let mut params = ForceParams::new(1e8);
    params.damping = 2e5;
    params.friction.dynamic_coefficient = 0.3;
    params.friction.static_coefficient = 0.3;
    params
}

fn motion() -> Twist {
    Twist { linear: DVec3::new(0.01, -0.02, 0.005), angular: DVec3::new(0.1, 0.3, -0.2) }
}

/// The CPU's answer, and the area of the samples whose distance is at most `band`: what two samplings may tell apart.
fn referee(field: &Field, mesh: &SoftMesh, pose: &Pose, spacing: f64, band: f64) -> (FieldSummary, f64) {
    let mut sampler = FieldSampler::new();
    let moves = MeshMotion { frame: motion(), vertices: &[] };
    let area = Sampling::Area { spacing };
    let wide = sampler.find(field, mesh, pose, area, band).unwrap();
    let border = |d: f32| f64::from(d.abs()) <= band;
    let doubtful = wide.contacts.list.iter().filter(|c| border(c.distance)).map(|c| f64::from(c.area)).sum();
    (sampler.find(field, mesh, pose, area, 0.0).unwrap().summary(mesh, &law(), &moves), doubtful)
}

/// Every quantity within what its sampling and its filter allow, over 50 poses of each of four shapes, at 256 samples along the box; those
/// of the texture units over fewer.
#[test]
fn agrees_with_the_cpu_as_far_as_samplings_do() {
    let Some(gpu) = device() else { return };
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    let (mut touching, mut apart) = (0, 0);
    for (name, mesh) in shapes() {
        let field = field(&mesh, 64.0);
        let soft = SoftMesh::from_mesh(&mesh);
        let spacing = 1.5 * field.lattice().aabb().extent().max_element() / 256.0;
        let slope = field.report().lipschitz.max(1.0);
        // A part is wrong about where it is by at most 2/3 of its longest edge.
        let off = 2.0 / 3.0 * spacing * slope;
        let mut there = GpuMesh::new(&gpu, &soft, spacing).unwrap();
        for interpolation in ALL {
            let on = GpuField::new(&gpu, &field, interpolation).unwrap();
            // Weights of 8 bits, of three axes, of what neighbouring nodes differ by; and rounding.
            let filter = if interpolation == Interpolation::Shader { 0.0 } else { 3.0 / 256.0 };
            let tolerance = (filter * slope + 1e-4) * field.lattice().voxel;
            let every = if interpolation == Interpolation::Shader { 1 } else { 7 };
            for pose in poses(&mesh, 50, 7).into_iter().step_by(every) {
                let got = sampler.collide(&on, &mut there, &pose, 0.0, &law(), &motion()).unwrap();
                let (want, doubtful) = referee(&field, &soft, &pose, spacing, 2.0 * off + tolerance);
                let what = format!("{name} {interpolation:?} {pose:?}\n{got:?}\n{want:?}");
                assert!(
                    (got.force.area - want.force.area).abs() <= doubtful + 1e-5 * want.force.area,
                    "{what}"
                );
                // Pressure is wrong by what depth is, damping by what the speed is over a part.
                let turning = motion().angular.length() * spacing;
                let pressure = law().stiffness * (2.0 * off + tolerance) + law().damping * 4.0 * turning;
                let gone = law().stiffness * off + law().damping * 0.1;
                let bound = pressure * want.force.area.max(got.force.area) + gone * doubtful;
                // Directions of damping differ too, where the texture has its own.
                let slack = 0.02 * want.force.normal_force;
                assert!((got.force.normal_force - want.force.normal_force).abs() <= bound + slack, "{what}");
                let scale = want.force.normal_force.max(got.force.normal_force);
                let share = if interpolation == Interpolation::Directions { 0.2 } else { 0.05 };
                let apart_by = (got.force.wrench.force - want.force.wrench.force).length();
                assert!(apart_by <= share * scale + bound, "{apart_by} of {scale}: {what}");
                if let Some(deepest) = got.deepest {
                    let true_value = field.sample(deepest.point).distance;
                    assert!((deepest.distance - true_value).abs() <= tolerance, "{true_value} {what}");
                    touching += 1;
                }
                let near = sampler.nearest(&on, &mut there, &pose).unwrap().deepest.unwrap();
                let least = want.deepest.unwrap().distance;
                assert!((near.distance - least).abs() <= off + tolerance, "{} {what}", near.distance);
                assert!((near.distance - field.sample(near.point).distance).abs() <= tolerance, "{what}");
                let [a, b, c] = soft.corners(near.place.triangle).unwrap();
                let [x, y, z] = near.place.barycentric.map(f64::from);
                let there = pose.point(a * x + b * y + c * z);
                assert!((there - near.point).length() <= 1e-5 * mesh.aabb().extent().length(), "{what}");
                apart += usize::from(near.distance > 0.0);
            }
        }
    }
    assert!(touching > 100 && apart > 50, "{touching} {apart}");
}

/// Half the spacing, less error: the mean over poses falls with the spacing.
#[test]
fn finer_samples_come_nearer_to_the_truth() {
    let Some(gpu) = device() else { return };
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    for (name, mesh) in shapes().into_iter().take(3) {
        let field = field(&mesh, 48.0);
        let soft = SoftMesh::from_mesh(&mesh);
        let side = field.lattice().aabb().extent().max_element();
        let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
        let poses: Vec<Pose> = poses(&mesh, 24, 3).into_iter().skip(1).step_by(2).take(7).collect();
        let truth: Vec<FieldSummary> =
            poses.iter().map(|pose| referee(&field, &soft, pose, side / 600.0, 0.0).0).collect();
        let error = |sampler: &mut GpuSampler, spacing: f64| {
            let mut there = GpuMesh::new(&gpu, &soft, spacing).unwrap();
            let pairs = poses.iter().zip(&truth).filter(|(_, t)| t.force.used > 0);
            let errors: Vec<f64> = pairs
                .map(|(pose, want)| {
                    let got = sampler.collide(&on, &mut there, pose, 0.0, &law(), &motion()).unwrap();
                    (got.force.wrench.force - want.force.wrench.force).length() / want.force.normal_force
                })
                .collect();
            errors.iter().sum::<f64>() / errors.len() as f64
        };
        let errors = [12.0, 40.0, 130.0].map(|n| error(&mut sampler, side / n));
        assert!(errors[1] < errors[0] && errors[2] < 0.3 * errors[0], "{name} {errors:?}");
    }
}

/// One device, one answer: bit for bit, also with another sampler and when other questions come between.
#[test]
fn answers_repeat_bit_for_bit() {
    let Some(gpu) = device() else { return };
    let (_, mesh) = shapes().swap_remove(2);
    let field = field(&mesh, 48.0);
    let soft = SoftMesh::from_mesh(&mesh);
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let poses = poses(&mesh, 10, 5);
    let ask = || {
        let mut sampler = GpuSampler::new(&gpu).unwrap();
        let mut there = GpuMesh::new(&gpu, &soft, 1e-3).unwrap();
        let mut all = Vec::new();
        for pose in poses.iter().chain(poses.iter().rev()) {
            all.push(sampler.collide(&on, &mut there, pose, 1e-3, &law(), &motion()).unwrap());
            all.push(sampler.nearest(&on, &mut there, pose).unwrap());
        }
        all
    };
    let first = ask();
    assert_eq!(first, ask());
    let n = first.len();
    assert!((0..10).all(|i| first[2 * i] == first[n - 2 - 2 * i]), "the same pose again");
}

/// Vertices that move: written by the host, in a buffer of the caller's at a stride, and with velocities of their own.
#[test]
fn vertices_move_and_have_velocities() {
    let Some(gpu) = device() else { return };
    let (_, mesh) = shapes().swap_remove(0);
    let field = field(&mesh, 48.0);
    let mut soft = SoftMesh::from_mesh(&mesh);
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    let spacing = 1e-3;
    let mut there = GpuMesh::new(&gpu, &soft, spacing).unwrap();
    let layout = VertexLayout { offset: 2, stride: 5 };
    let room = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4 * (2 + 5 * soft.positions().len() as u64),
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut own = GpuMesh::with_buffer(&gpu, &soft, spacing, room, layout).unwrap();
    let pose = Pose::from_translation(DVec3::new(0.06, 0.01, 0.0));
    let mut velocities = vec![DVec3::ZERO; soft.positions().len()];
    let mut seen = 0;
    for step in 0..6 {
        let phase = f64::from(step);
        let before = soft.positions().to_vec();
        soft.deform(|_, p| p * (1.0 + 0.1 * (40.0 * p.y + phase).sin()));
        for (v, (now, then)) in velocities.iter_mut().zip(soft.positions().iter().zip(&before)) {
            *v = (*now - *then) / 0.1;
        }
        there.update(&gpu, soft.positions()).unwrap();
        there.set_velocities(&gpu, Some(&velocities)).unwrap();
        own.update(&gpu, soft.positions()).unwrap();
        own.set_velocities(&gpu, Some(&velocities)).unwrap();
        let got = sampler.collide(&on, &mut there, &pose, 0.0, &law(), &motion()).unwrap();
        assert_eq!(got, sampler.collide(&on, &mut own, &pose, 0.0, &law(), &motion()).unwrap());
        let mut cpu = FieldSampler::new();
        let found = cpu.find(&field, &soft, &pose, Sampling::Area { spacing }, 0.0).unwrap();
        let want = found.summary(&soft, &law(), &MeshMotion { frame: motion(), vertices: &velocities });
        let scale = want.force.normal_force;
        assert!(
            (got.force.wrench.force - want.force.wrench.force).length() < 0.05 * scale,
            "{got:?} {want:?}"
        );
        let arm = 0.1 * scale;
        assert!(
            (got.force.wrench.torque - want.force.wrench.torque).length() < 0.05 * arm,
            "{got:?} {want:?}"
        );
        let still =
            sampler.collide(&on, &mut there, &pose, 0.0, &ForceParams::new(1e8), &Twist::ZERO).unwrap();
        seen += usize::from((still.force.wrench.force - got.force.wrench.force).length() > 0.1 * scale);
    }
    assert!(seen > 3, "velocities did not matter: {seen}");
    assert!(there.update(&gpu, &[DVec3::ZERO]).is_err() && there.set_velocities(&gpu, Some(&[])).is_err());
}

/// Both laws and both directions.
#[test]
fn laws_and_directions_are_the_engines() {
    let Some(gpu) = device() else { return };
    let (_, mesh) = shapes().swap_remove(1);
    let field = field(&mesh, 64.0);
    let soft = SoftMesh::from_mesh(&mesh);
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    let spacing = 0.8e-3;
    let mut there = GpuMesh::new(&gpu, &soft, spacing).unwrap();
    let pose = Pose::new(DQuat::from_rotation_x(0.3), DVec3::new(0.07, 0.02, 0.004));
    for law in [Law::Integrated, Law::Averaged] {
        for direction in [Direction::Field, Direction::Shell] {
            let params = ForceParams { law, direction, ..ForceParams::new(1e6) };
            let got = sampler.collide(&on, &mut there, &pose, 0.0, &params, &Twist::ZERO).unwrap();
            let mut cpu = FieldSampler::new();
            let found = cpu.find(&field, &soft, &pose, Sampling::Area { spacing }, 0.0).unwrap();
            let want = found.summary(&soft, &params, &MeshMotion::default());
            assert!(want.force.used > 100);
            let scale = want.force.normal_force;
            assert!(
                (got.force.wrench.force - want.force.wrench.force).length() < 0.05 * scale,
                "{got:?} {want:?}"
            );
            assert!((got.force.normal_force - scale).abs() < 0.02 * scale, "{got:?} {want:?}");
        }
    }
}

/// Millimetres and kilometres: the same question in another unit has the same answer.
#[test]
fn any_scale_keeps_its_digits() {
    let Some(gpu) = device() else { return };
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    let mut answers = Vec::new();
    for scale in [1e-3, 1.0, 1e6] {
        let raw = samples::bumpy_sphere(0.05 * scale, 0.008 * scale, 6, 4, 1);
        let mesh = Mesh::new(raw, &Default::default()).unwrap();
        let field = field(&mesh, 48.0);
        let soft = SoftMesh::from_mesh(&mesh);
        let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
        let mut there = GpuMesh::new(&gpu, &soft, 2e-3 * scale).unwrap();
        // Far from the world's origin both.
        let pose = Pose::new(DQuat::from_rotation_z(0.4), DVec3::new(0.06, 0.02, 0.01) * scale);
        let got = sampler.collide(&on, &mut there, &pose, 0.0, &ForceParams::new(1e8), &Twist::ZERO).unwrap();
        let deepest = got.deepest.unwrap();
        answers.push((
            deepest.distance / scale,
            got.force.area / (scale * scale),
            got.force.wrench.force / scale.powi(3),
        ));
    }
    for (distance, area, force) in &answers {
        assert!((distance / answers[1].0 - 1.0).abs() < 1e-3, "{answers:?}");
        assert!((area / answers[1].1 - 1.0).abs() < 1e-2, "{answers:?}");
        assert!((*force - answers[1].2).length() < 1e-2 * answers[1].2.length(), "{answers:?}");
    }
}

/// Two triangles, as large as the field's whole box, are sampled as finely as a million small ones.
#[test]
fn large_triangles_are_cut() {
    let Some(gpu) = device() else { return };
    let ball = Mesh::new(samples::sphere(0.05, 5), &Default::default()).unwrap();
    let field = field(&ball, 64.0);
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let corner = |x: f64, y: f64| DVec3::new(x, y, 0.03);
    let floor = vec![corner(-0.3, -0.3), corner(0.3, -0.3), corner(0.3, 0.3), corner(-0.3, 0.3)];
    let floor = SoftMesh::new(floor, vec![[0, 1, 2], [0, 2, 3]]).unwrap();
    let mut there = GpuMesh::new(&gpu, &floor, 1e-3).unwrap();
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    let got =
        sampler.collide(&on, &mut there, &Pose::IDENTITY, 0.0, &ForceParams::new(1e6), &Twist::ZERO).unwrap();
    // A disc of radius 0.04.
    let disc = core::f64::consts::PI * 0.04 * 0.04;
    assert!((got.force.area / disc - 1.0).abs() < 0.02, "{got:?}");
    assert!(!got.coarse && got.culled > 100, "{got:?}");
    assert!((got.deepest.unwrap().distance + 0.02).abs() < field.report().error_bound_far, "{got:?}");
}

#[test]
fn bad_input_is_told_or_left_out() {
    let Some(gpu) = device() else { return };
    let (_, mesh) = shapes().swap_remove(0);
    let field = field(&mesh, 48.0);
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let mut soft = SoftMesh::from_mesh(&mesh);
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    let mut there = GpuMesh::new(&gpu, &soft, 1e-3).unwrap();
    let pose = Pose::from_translation(DVec3::X * 0.05);
    let params = ForceParams::new(1e8);
    // A pose, a motion or a stiffness that is no number.
    let lost = Pose::from_translation(DVec3::new(f64::NAN, 0.0, 0.0));
    assert!(sampler.collide(&on, &mut there, &lost, 0.0, &params, &Twist::ZERO).unwrap().non_finite);
    assert!(sampler.nearest(&on, &mut there, &lost).unwrap().non_finite);
    let wild = ForceParams::new(f64::INFINITY);
    assert!(sampler.collide(&on, &mut there, &pose, 0.0, &wild, &Twist::ZERO).unwrap().non_finite);
    assert!(sampler.collide(&on, &mut there, &pose, f64::NAN, &params, &Twist::ZERO).is_err());
    assert!(GpuMesh::new(&gpu, &soft, 0.0).is_err() && GpuMesh::new(&gpu, &soft, f64::NAN).is_err());
    // Vertices without a place take their triangles out, and come back.
    let whole = sampler.collide(&on, &mut there, &pose, 0.0, &params, &Twist::ZERO).unwrap();
    let places = soft.positions().to_vec();
    let mut random = Random::new(3);
    let holes: Vec<DVec3> = places
        .iter()
        .map(|p| match (random.next() * 6.0) as u32 {
            0 => DVec3::NAN,
            1 => DVec3::new(p.x, f64::INFINITY, p.z),
            2 => DVec3::new(1e37, p.y, p.z),
            _ => *p,
        })
        .collect();
    there.update(&gpu, &holes).unwrap();
    let less = sampler.collide(&on, &mut there, &pose, 0.0, &params, &Twist::ZERO).unwrap();
    soft.set_positions(&holes).unwrap();
    let mut cpu = FieldSampler::new();
    let found = cpu.find(&field, &soft, &pose, Sampling::Area { spacing: 1e-3 }, 0.0).unwrap();
    let want = found.summary(&soft, &params, &MeshMotion::default());
    assert!(less.force.area < 0.7 * whole.force.area && less.force.area > 0.0, "{less:?}");
    assert!((less.force.area / want.force.area - 1.0).abs() < 0.05, "{less:?} {want:?}");
    assert!(less.deepest.is_some_and(|d| d.distance.is_finite() && d.point.is_finite()));
    there.update(&gpu, &places).unwrap();
    assert_eq!(whole, sampler.collide(&on, &mut there, &pose, 0.0, &params, &Twist::ZERO).unwrap());
    // All of them.
    there.update(&gpu, &vec![DVec3::NAN; places.len()]).unwrap();
    let none = sampler.nearest(&on, &mut there, &pose).unwrap();
    assert!(none.deepest.is_none() && none.samples == 0, "{none:?}");
    // Nothing at all.
    let empty = SoftMesh::new(Vec::new(), Vec::new()).unwrap();
    let mut empty = GpuMesh::new(&gpu, &empty, 1e-3).unwrap();
    let none = sampler.collide(&on, &mut empty, &pose, 0.0, &params, &Twist::ZERO).unwrap();
    assert!(none.deepest.is_none() && none.force.used == 0, "{none:?}");
    // Far away.
    let far = Pose::from_translation(DVec3::X * 1e6);
    let got = sampler.nearest(&on, &mut there, &far).unwrap();
    assert!(got.deepest.is_none());
    gpu.check().unwrap();
}

/// Fields that no texture can hold are refused for it, and served by the shader.
#[test]
fn a_field_longer_than_a_texture() {
    let Some(gpu) = device() else { return };
    let mesh = Mesh::new(samples::needle(1.0, 2e-4), &Default::default()).unwrap();
    let limit = gpu.device().limits().max_texture_dimension_3d;
    let voxel = 1.0 / f64::from(limit + 200);
    let field = Field::build(&mesh, voxel, &Default::default()).unwrap();
    let refused = GpuField::new(&gpu, &field, Interpolation::Texture);
    assert!(matches!(refused, Err(GpuError::TooLarge { .. })), "{refused:?}");
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let soft = SoftMesh::from_mesh(&mesh);
    let mut there = GpuMesh::new(&gpu, &soft, 4.0 * voxel).unwrap();
    let pose = Pose::from_translation(DVec3::new(0.1, 0.0, 0.0));
    let got = GpuSampler::new(&gpu).unwrap().nearest(&on, &mut there, &pose).unwrap().deepest.unwrap();
    assert!((got.distance - field.sample(got.point).distance).abs() < 1e-2 * voxel, "{got:?}");
}

#[test]
fn a_device_that_is_not_there_is_told() {
    let asked = Gpu::open(&GpuParams { name: "no such device".to_owned(), ..GpuParams::default() });
    let Err(e) = asked else { panic!("there is one") };
    assert!(e.to_string().contains("use the CPU"), "{e}");
}

/// One question after another of the same kind leaves out as much as the first did.
#[test]
fn the_second_question_is_as_quick_as_the_first() {
    let Some(gpu) = device() else { return };
    let (_, mesh) = shapes().swap_remove(0);
    let field = field(&mesh, 48.0);
    let soft = SoftMesh::from_mesh(&mesh);
    let on = GpuField::new(&gpu, &field, Interpolation::Shader).unwrap();
    let mut there = GpuMesh::new(&gpu, &soft, 5e-4).unwrap();
    let mut sampler = GpuSampler::new(&gpu).unwrap();
    let pose = Pose::from_translation(DVec3::new(0.15, 0.01, 0.0));
    let first = sampler.nearest(&on, &mut there, &pose).unwrap();
    assert!(first.samples < 20_000, "{first:?}");
    for _ in 0..4 {
        assert_eq!(first, sampler.nearest(&on, &mut there, &pose).unwrap());
    }
}
