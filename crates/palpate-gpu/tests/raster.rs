//! A field against a mesh by drawing it. Referee: the CPU's `FieldSampler`, at half a pixel's spacing.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::{DQuat, DVec3};
use palpate::field::{Field, FieldParams};
use palpate::force::{Direction, Force, ForceParams, Law, Twist};
use palpate::math::Pose;
use palpate::mesh::{Mesh, RawMesh, samples};
use palpate::soft::{FieldSampler, FieldSummary, MeshMotion, Sampling, SoftMesh};
use palpate_gpu::{
    Gpu, GpuError, GpuField, GpuMesh, GpuParams, GpuRaster, Interpolation, RasterMode, RasterParams,
};

const SEED: u64 = 0x2008;

/// The device, or none: then the test has nothing to say, unless one is required.
fn open() -> Option<Gpu> {
    match Gpu::open(&GpuParams::default()) {
        Ok(gpu) => Some(gpu),
        Err(GpuError::NoAdapter { .. }) if std::env::var("PALPATE_GPU").as_deref() != Ok("required") => {
            println!("skipped: no GPU");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn direction(&mut self) -> DVec3 {
        loop {
            let v = 2.0 * DVec3::new(self.next(), self.next(), self.next()) - 1.0;
            if v.length() > 0.1 && v.length() < 1.0 {
                return v.normalize();
            }
        }
    }
}

/// A shape with its field and itself as a mesh.
struct Scene {
    field: Field,
    soft: SoftMesh,
    voxel: f64,
}

impl Scene {
    fn new(raw: RawMesh, voxels: f64) -> Self {
        let mesh = Mesh::new(raw, &Default::default()).unwrap();
        let voxel = mesh.aabb().extent().max_element() / voxels;
        let field = Field::build(&mesh, voxel, &FieldParams::default()).unwrap();
        Self { field, soft: SoftMesh::from_mesh(&mesh), voxel }
    }

    /// From coincident to touching, in all directions and orientations; the first one is exactly coincident.
    fn poses(&self, count: usize) -> Vec<Pose> {
        let mut random = Random(SEED);
        let extent = self.soft.aabb().extent();
        let mut pose = |i: usize| {
            if i == 0 {
                return Pose::default();
            }
            let rotation = DQuat::from_axis_angle(random.direction(), std::f64::consts::TAU * random.next());
            let middle = self.soft.aabb().centre();
            let shift = random.direction() * extent * (i as f64 / count as f64);
            Pose::new(rotation, middle - rotation * middle + shift)
        };
        (0..count).map(&mut pose).collect()
    }

    fn cpu(&self, pose: &Pose, spacing: f64, params: &ForceParams, motion: &MeshMotion<'_>) -> FieldSummary {
        let mut sampler = FieldSampler::new();
        let found = sampler.find(&self.field, &self.soft, pose, Sampling::Area { spacing }, 0.0).unwrap();
        found.summary(&self.soft, params, motion)
    }
}

fn shapes() -> Vec<Scene> {
    vec![
        Scene::new(samples::bumpy_sphere(0.05, 0.008, 6, 4, 1), 40.0),
        Scene::new(samples::torus(0.04, 0.015, 32, 16), 40.0),
        Scene::new(samples::gear(12, 0.004, 0.012, 2), 48.0),
        Scene::new(samples::cuboid(DVec3::new(0.1, 0.06, 0.03)), 40.0),
    ]
}

fn raster(gpu: &Gpu, size: u32) -> GpuRaster {
    GpuRaster::new(gpu, RasterParams { size, ..RasterParams::default() }).unwrap()
}

fn law() -> (ForceParams, Twist) {
    let mut params = ForceParams::new(1e8);
    params.damping = 1e5;
    params.friction.dynamic_coefficient = 0.3;
    params.friction.static_coefficient = 0.3;
    (params, Twist { linear: DVec3::new(0.01, -0.02, 0.005), angular: DVec3::new(0.1, 0.3, -0.2) })
}

/// What pixels of this edge may be off by, in area: the border of an area A is at least 3.5 √A, and a random part of border times pixel is
/// counted wrongly; a few pixels where the area is hardly one.
fn area_tolerance(area: f64, pixel: f64) -> f64 {
    2.0 * pixel * area.sqrt() + 8.0 * pixel * pixel
}

/// Largest error of area, force and torque, each over what the sampling allows.
fn errors(a: &Force, b: &Force, scene: &Scene, pixel: f64, params: &ForceParams) -> [f64; 3] {
    let tolerance = area_tolerance(b.area, pixel);
    // What is counted wrongly pushes no more than the deepest point can.
    let deepest = scene.soft.aabb().extent().min_element() / 2.0;
    let (speed, grip) = (0.05, 1.0 + params.friction.dynamic_coefficient);
    let pressure = grip * (params.stiffness * deepest + params.damping * speed);
    let arm = scene.soft.aabb().extent().length();
    [
        (a.area - b.area).abs() / tolerance,
        (a.wrench.force - b.wrench.force).length() / (pressure * tolerance),
        (a.wrench.torque - b.wrench.torque).length() / (pressure * tolerance * arm),
    ]
}

#[test]
fn every_mode_agrees_with_the_cpu() {
    let Some(gpu) = open() else { return };
    let (params, motion) = law();
    let (mut touching, mut asked) = (0, 0);
    for (s, scene) in shapes().iter().enumerate() {
        let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
        let there = GpuMesh::new(&gpu, &scene.soft, scene.voxel).unwrap();
        let mut raster = raster(&gpu, 128);
        let pixel = raster.pixel(&on);
        let mut worst = [0.0f64; 3];
        for (i, pose) in scene.poses(20).iter().enumerate() {
            let b = scene.cpu(pose, pixel / 2.0, &params, &MeshMotion { frame: motion, vertices: &[] });
            asked += 1;
            touching += usize::from(b.force.used > 0);
            let mut first: Option<Force> = None;
            for mode in RasterMode::ALL {
                let a = raster.collide(&on, &there, pose, &params, &motion, mode).unwrap();
                assert!(!a.force.non_finite && !a.non_finite && a.deepest.is_none());
                // The surfaces of coincident bodies are at distance 0 but for rounding: any of them may count.
                if i > 0 {
                    let off = errors(&a.force, &b.force, scene, pixel, &params);
                    worst = [0, 1, 2].map(|k| worst[k].max(off[k]));
                    assert!(off.iter().all(|e| *e <= 1.0), "shape {s} pose {i} {mode:?}: {off:?}");
                }
                assert_eq!(a.samples, a.force.used);
                assert_eq!(a.force.used, a.force.sliding + a.force.sticking);
                let Some(basic) = &first else {
                    first = Some(a.force);
                    continue;
                };
                // What early-Z leaves out adds nothing.
                if mode == RasterMode::EarlyZ && gpu.is_software() {
                    assert_eq!(a.force, *basic, "shape {s} pose {i}");
                }
                same(&a.force, basic, &format!("shape {s} pose {i} {mode:?}"));
            }
        }
        println!("shape {s}: worst errors over what is allowed {worst:.3?}");
    }
    assert!(touching * 10 > asked * 6, "{touching} of {asked} touch, seed {SEED:#x}");
}

/// The same pixels in another order: sums differ by rounding, and by pixels whose middle is on an edge, which may go to either triangle.
fn same(a: &Force, b: &Force, what: &str) {
    let close = |x: f64, y: f64, scale: f64| (x - y).abs() <= 1e-4 * scale;
    assert!(a.used.abs_diff(b.used) * 1000 <= b.used + 1000, "{what}: {} {}", a.used, b.used);
    let slack = 2.0 * b.area / b.used.max(1) as f64;
    assert!((a.area - b.area).abs() <= 1e-4 * b.area + slack, "{what}: {} {}", a.area, b.area);
    if b.used > 1000 {
        assert!(close(a.normal_force, b.normal_force, b.normal_force), "{what}");
        assert!((a.wrench.force - b.wrench.force).length() <= 1e-4 * b.normal_force, "{what}");
    }
}

#[test]
fn errors_fall_with_the_pixel() {
    let Some(gpu) = open() else { return };
    let (params, motion) = law();
    for scene in &shapes()[..2] {
        let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
        let there = GpuMesh::new(&gpu, &scene.soft, scene.voxel).unwrap();
        let (mut coarse, mut fine) = (raster(&gpu, 64), raster(&gpu, 256));
        let pixel = fine.pixel(&on);
        // Area and force, coarse then fine.
        let mut sums = [[0.0; 2]; 2];
        let mut count = 0;
        for pose in &scene.poses(30)[1..26] {
            let b = scene.cpu(pose, pixel / 2.0, &params, &MeshMotion { frame: motion, vertices: &[] }).force;
            if b.area < 100.0 * pixel * pixel {
                continue;
            }
            count += 1;
            for (sum, raster) in sums.iter_mut().zip([&mut coarse, &mut fine]) {
                let a = raster.collide(&on, &there, pose, &params, &motion, RasterMode::SinglePass).unwrap();
                sum[0] += (a.force.area - b.area).abs() / b.area;
                sum[1] += (a.force.wrench.force - b.wrench.force).length() / b.normal_force;
            }
        }
        assert!(count >= 20, "{count} poses");
        let ratios = [0, 1].map(|k| sums[1][k] / sums[0][k]);
        println!(
            "mean errors at 64 and 256: {:?}, ratios {ratios:.3?}",
            sums.map(|s| s.map(|e| e / count as f64))
        );
        // A quarter of the pixel: a quarter of the error or less.
        assert!(ratios.iter().all(|r| *r < 0.4), "{ratios:?}");
    }
}

#[test]
fn textures_agree_within_their_filter() {
    let Some(gpu) = open() else { return };
    let scene = &shapes()[0];
    let (mut params, _) = law();
    // Without friction and damping: directions of the texture differ from the gradient by what neighbouring voxels differ.
    params.friction.dynamic_coefficient = 0.0;
    params.friction.static_coefficient = 0.0;
    let there = GpuMesh::new(&gpu, &scene.soft, scene.voxel).unwrap();
    let mut raster = raster(&gpu, 128);
    let exact = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
    for interpolation in [Interpolation::Texture, Interpolation::Directions] {
        let on = GpuField::new(&gpu, &scene.field, interpolation).unwrap();
        for (i, pose) in scene.poses(8).iter().enumerate().skip(1) {
            let mut ask =
                |f| raster.collide(f, &there, pose, &params, &Twist::ZERO, RasterMode::EarlyZ).unwrap().force;
            let (a, b) = (ask(&on), ask(&exact));
            // Values are off by at most 3/256 of what neighbouring nodes differ by: 0.02 voxels.
            let off = 0.02 * scene.voxel * params.stiffness * b.area + 1e-4 * b.normal_force;
            assert!((a.normal_force - b.normal_force).abs() <= off, "{interpolation:?} pose {i}");
            assert!((a.area - b.area).abs() <= 0.01 * b.area + 1e-6, "{interpolation:?} pose {i}");
            let turned = if interpolation == Interpolation::Directions { 0.15 } else { 0.01 };
            let off = off + turned * b.normal_force;
            assert!((a.wrench.force - b.wrench.force).length() <= off, "{interpolation:?} pose {i}");
            let mut near = |f| raster.nearest(f, &there, pose, true).unwrap().deepest.unwrap().distance;
            assert!((near(&on) - near(&exact)).abs() <= 0.03 * scene.voxel, "{interpolation:?} pose {i}");
        }
    }
}

#[test]
fn the_closest_point_agrees_with_the_cpu() {
    let Some(gpu) = open() else { return };
    let params = ForceParams::default();
    let (mut inside, mut outside) = (0, 0);
    for (s, scene) in shapes().iter().enumerate() {
        let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
        let there = GpuMesh::new(&gpu, &scene.soft, scene.voxel).unwrap();
        let mut raster = raster(&gpu, 128);
        // Twice the box is drawn.
        let pixel = 2.0 * raster.pixel(&on);
        for (i, pose) in scene.poses(16).iter().enumerate().skip(1) {
            // Inside, and once more next to it.
            let (extent, middle) = (scene.soft.aabb().extent().max_element(), scene.soft.aabb().centre());
            let beside = middle - pose.rotation * middle + DVec3::X * 1.1 * extent;
            let apart = Pose::new(pose.rotation, beside);
            for pose in [pose, &apart] {
                let b = scene.cpu(pose, pixel / 4.0, &params, &MeshMotion::default()).deepest.unwrap();
                let a = raster.nearest(&on, &there, pose, false).unwrap();
                let once = raster.nearest(&on, &there, pose, true).unwrap();
                let d = a.deepest.unwrap();
                inside += usize::from(d.distance < 0.0);
                outside += usize::from(d.distance > 0.0);
                let what = format!("shape {s} pose {i}: {} {}", d.distance, b.distance);
                // The middle of some pixel is less than 1.3 pixels from any point of a triangle's plane; at edges it may be another's.
                let steep = scene.field.report().lipschitz;
                assert!(d.distance <= b.distance + steep * 2.0 * pixel, "{what}");
                assert!(d.distance >= b.distance - steep * pixel / 4.0, "{what}");
                // It is what it says: of the field there, and on that triangle.
                let field = scene.field.sample(d.point);
                assert!(
                    (field.distance - d.distance).abs() < 1e-4 * scene.voxel,
                    "{what} {}",
                    field.distance
                );
                assert!((field.gradient - d.gradient).length() < 1e-2 || d.gradient.length() < 0.9, "{what}");
                let corners = scene.soft.corners(d.place.triangle).unwrap();
                let share = d.place.barycentric.map(f64::from);
                let on_mesh: DVec3 = (0..3).map(|k| corners[k] * share[k]).sum();
                assert!(pose.point(on_mesh).distance(d.point) < 0.05 * pixel, "{what}");
                assert_eq!(a.farther_than, None);
                assert!(a.samples > 0 && a.samples.abs_diff(once.samples) <= 2 + a.samples / 500);
                // Of two as deep the first drawn stays, in each view.
                assert!((once.deepest.unwrap().distance - d.distance).abs() < 1e-4 * scene.voxel, "{what}");
            }
        }
    }
    assert!(inside > 20 && outside > 20, "{inside} inside, {outside} outside, seed {SEED:#x}");
}

#[test]
fn the_same_bits_every_time() {
    let Some(gpu) = open() else { return };
    let scene = &shapes()[0];
    let (params, motion) = law();
    let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
    let uncut = GpuMesh::new(&gpu, &scene.soft, f64::MAX).unwrap();
    // Cut into parts for the compute path: the same triangles are drawn.
    let cut = GpuMesh::new(&gpu, &scene.soft, scene.voxel / 30.0).unwrap();
    let mut raster = raster(&gpu, 96);
    for pose in &scene.poses(6) {
        for mode in RasterMode::ALL {
            let mut ask = |mesh| raster.collide(&on, mesh, pose, &params, &motion, mode).unwrap();
            let first = ask(&uncut);
            for mesh in [&uncut, &cut, &uncut] {
                assert_eq!(ask(mesh).force, first.force, "{mode:?}");
            }
        }
        for single in [false, true] {
            let first = raster.nearest(&on, &uncut, pose, single).unwrap();
            for mesh in [&uncut, &cut] {
                assert_eq!(raster.nearest(&on, mesh, pose, single).unwrap().deepest, first.deepest);
            }
        }
    }
}

#[test]
fn vertices_have_velocities_and_laws_are_the_cpus() {
    let Some(gpu) = open() else { return };
    let scene = &shapes()[1];
    let mut random = Random(SEED);
    // A field of velocities that changes slowly over the mesh.
    let (spin, push) = (random.direction() * 0.5, random.direction() * 0.02);
    let velocities: Vec<DVec3> =
        scene.soft.positions().iter().map(|p| push + spin.cross(*p) + *p * 0.3).collect();
    let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
    let mut there = GpuMesh::new(&gpu, &scene.soft, scene.voxel).unwrap();
    there.set_velocities(&gpu, Some(&velocities)).unwrap();
    let mut raster = raster(&gpu, 192);
    let (mut params, motion) = law();
    let pixel = raster.pixel(&on);
    for averaged in [Law::Integrated, Law::Averaged] {
        for direction in [Direction::Field, Direction::Shell] {
            params.law = averaged;
            params.direction = direction;
            for (i, pose) in scene.poses(10).iter().enumerate().skip(1) {
                let moving = MeshMotion { frame: motion, vertices: &velocities };
                let b = scene.cpu(pose, pixel / 2.0, &params, &moving).force;
                let a = raster
                    .collide(&on, &there, pose, &params, &motion, RasterMode::SinglePass)
                    .unwrap()
                    .force;
                let off = area_tolerance(b.area, pixel) / b.area.max(pixel * pixel);
                let near = |x: f64, y: f64| (x - y).abs() <= (0.02 + off) * b.normal_force;
                assert!(
                    near(a.normal_force, b.normal_force),
                    "{averaged:?} {direction:?} pose {i}: {a:?} {b:?}"
                );
                assert!(
                    near((a.wrench.force - b.wrench.force).length(), 0.0),
                    "{direction:?} pose {i}: {a:?} {b:?}"
                );
                let share = |f: &Force| f.sliding as f64 / f.used.max(1) as f64;
                assert!((share(&a) - share(&b)).abs() < 0.1 || b.used < 500, "{a:?} {b:?}");
            }
        }
    }
}

/// One triangle deep inside a cube, turned so that it is on edge to one view or to two, or equally to several: always drawn, once.
#[test]
fn no_triangle_is_lost_on_edge() {
    let Some(gpu) = open() else { return };
    let scene = Scene::new(samples::cuboid(DVec3::splat(0.1)), 40.0);
    let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
    let mut raster = raster(&gpu, 256);
    let pixel = raster.pixel(&on);
    let normals = [
        DVec3::X,
        DVec3::Y,
        DVec3::NEG_Z,
        DVec3::new(1.0, 1.0, 0.0),
        DVec3::new(0.0, -1.0, 1.0),
        DVec3::new(1.0, 0.0, -1.0),
        DVec3::new(1.0, 1.0, 1.0),
        DVec3::new(-1.0, 1.0, 1.0),
        DVec3::new(1.0, 1e-9, 0.0),
        DVec3::new(1e-3, 1.0, 1.0),
    ];
    for normal in normals {
        let turn = DQuat::from_rotation_arc(DVec3::Z, normal.normalize());
        let corners =
            [DVec3::new(-0.02, -0.015, 0.0), DVec3::new(0.025, -0.01, 0.0), DVec3::new(0.0, 0.02, 0.0)];
        let placed = corners.map(|c| turn * c).to_vec();
        let area = 0.5 * (corners[1] - corners[0]).cross(corners[2] - corners[0]).length();
        let border: f64 = (0..3).map(|k| corners[k].distance(corners[(k + 1) % 3])).sum();
        let soft = SoftMesh::new(placed, vec![[0, 1, 2]]).unwrap();
        let mesh = GpuMesh::new(&gpu, &soft, scene.voxel).unwrap();
        for mode in RasterMode::ALL {
            let params = ForceParams::new(1.0);
            let got =
                raster.collide(&on, &mesh, &Pose::default(), &params, &Twist::ZERO, mode).unwrap().force;
            assert!((got.area - area).abs() < border * pixel, "{normal} {mode:?}: {} {area}", got.area);
        }
        let near = raster.nearest(&on, &mesh, &Pose::default(), false).unwrap();
        assert!(near.deepest.is_some_and(|d| d.distance < -0.02 && d.place.triangle == 0), "{normal}");
    }
}

#[test]
fn nothing_comes_of_nothing() {
    let Some(gpu) = open() else { return };
    let scene = &shapes()[1];
    let (params, motion) = law();
    let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
    let mut there = GpuMesh::new(&gpu, &scene.soft, scene.voxel).unwrap();
    let mut raster = raster(&gpu, 64);
    let extent = scene.field.lattice().aabb().extent().max_element();
    for mode in RasterMode::ALL {
        let mut ask =
            |mesh: &GpuMesh, pose: &Pose| raster.collide(&on, mesh, pose, &params, &motion, mode).unwrap();
        // Far outside.
        for far in [3.0 * extent, 1e6, 1e18, 1e30] {
            let got = ask(&there, &Pose::from_translation(DVec3::new(far, 0.1, -far)));
            assert_eq!(got.force, Force::default(), "{mode:?} {far}");
        }
        // No pose.
        for bad in [f64::NAN, f64::INFINITY] {
            let got = ask(&there, &Pose::from_translation(DVec3::new(0.0, bad, 0.0)));
            assert!(got.non_finite && got.deepest.is_none() && got.force.used == 0);
        }
        // No triangles.
        let none = SoftMesh::new(Vec::new(), Vec::new()).unwrap();
        let none = GpuMesh::new(&gpu, &none, 1.0).unwrap();
        assert_eq!(ask(&none, &Pose::default()).force, Force::default());
    }
    let far = raster.nearest(&on, &there, &Pose::from_translation(DVec3::X * 3.0 * extent), false).unwrap();
    assert_eq!((far.deepest, far.samples), (None, 0));
    assert!((far.farther_than.unwrap() - 0.5 * extent).abs() < 1e-6 * extent);
    assert!(raster.nearest(&on, &there, &Pose::from_translation(DVec3::NAN), true).unwrap().non_finite);
    // A vertex without a place takes its triangles out; the others stay.
    let pose = Pose::from_translation(DVec3::new(0.01, 0.005, 0.004));
    let whole = raster.collide(&on, &there, &pose, &params, &motion, RasterMode::SinglePass).unwrap().force;
    let depth = |i: &usize| scene.field.sample(pose.point(scene.soft.positions()[*i])).distance;
    let deepest = (0..scene.soft.positions().len()).min_by(|a, b| depth(a).total_cmp(&depth(b))).unwrap();
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let mut positions = scene.soft.positions().to_vec();
        positions[deepest].y = bad;
        there.update(&gpu, &positions).unwrap();
        let mut soft = scene.soft.clone();
        soft.set_positions(&positions).unwrap();
        let b = FieldSampler::new()
            .find(&scene.field, &soft, &pose, Sampling::Area { spacing: scene.voxel / 4.0 }, 0.0)
            .unwrap()
            .summary(&soft, &params, &MeshMotion { frame: motion, vertices: &[] });
        for mode in RasterMode::ALL {
            let got = raster.collide(&on, &there, &pose, &params, &motion, mode).unwrap().force;
            assert!(!got.non_finite && got.used > 0 && got.used < whole.used, "{bad} {mode:?}");
            let pixel = raster.pixel(&on);
            assert!((got.area - b.force.area).abs() <= area_tolerance(b.force.area, pixel), "{bad} {mode:?}");
        }
        assert!(raster.nearest(&on, &there, &pose, false).unwrap().deepest.is_some());
    }
    // All without a place.
    there.update(&gpu, &vec![DVec3::NAN; scene.soft.positions().len()]).unwrap();
    assert_eq!(raster.nearest(&on, &there, &pose, true).unwrap().deepest, None);
    // Parameters that make no sense.
    for params in [
        RasterParams { size: 0, pad: 0.5 },
        RasterParams { size: 1 << 20, pad: 0.5 },
        RasterParams { size: 256, pad: f64::NAN },
        RasterParams { size: 256, pad: -1.0 },
    ] {
        assert!(matches!(GpuRaster::new(&gpu, params), Err(GpuError::BadParameter { .. })), "{params:?}");
    }
}

/// Devices with less: without blending forces are refused and closest points found; without immediate data and mapped results both.
#[test]
fn devices_with_less() {
    let Some(full) = open() else { return };
    let scene = &shapes()[1];
    let (params, motion) = law();
    let pose = scene.poses(4)[2];
    let ask = |gpu: &Gpu| {
        let on = GpuField::new(gpu, &scene.field, Interpolation::Shader).unwrap();
        let there = GpuMesh::new(gpu, &scene.soft, scene.voxel).unwrap();
        let mut raster = raster(gpu, 64);
        let forces = RasterMode::ALL.map(|m| raster.collide(&on, &there, &pose, &params, &motion, m));
        (forces, raster.nearest(&on, &there, &pose, false).unwrap().deepest)
    };
    let all = ask(&full);
    let (forces, deepest) = ask(&with_features(full.name(), wgpu::Features::empty()));
    assert_eq!(deepest, all.1);
    for force in forces {
        let Err(e @ GpuError::Unsupported { .. }) = force else { panic!("{force:?}") };
        assert!(e.to_string().contains("compute path"), "{e}");
    }
    let (forces, deepest) = ask(&with_features(full.name(), wgpu::Features::FLOAT32_BLENDABLE));
    assert_eq!(deepest, all.1);
    for (a, b) in forces.into_iter().zip(all.0) {
        assert_eq!(a.unwrap().force, b.unwrap().force);
    }
}

fn with_features(name: &str, features: wgpu::Features) -> Gpu {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let adapter = adapters.iter().find(|a| a.get_info().name == name).unwrap();
    let descriptor = wgpu::DeviceDescriptor {
        required_features: features,
        required_limits: wgpu::Limits { max_immediate_size: 0, ..adapter.limits() },
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    Gpu::from_wgpu(device, queue, &adapter.get_info())
}

/// Pictures with more squares than workgroups: every one is summed, and none twice.
#[test]
fn large_pictures_are_seen_whole() {
    let Some(gpu) = open() else { return };
    let scene = Scene::new(samples::bumpy_sphere(0.05, 0.008, 6, 3, 1), 40.0);
    let on = GpuField::new(&gpu, &scene.field, Interpolation::Shader).unwrap();
    let there = GpuMesh::new(&gpu, &scene.soft, scene.voxel).unwrap();
    let pose = Pose::from_translation(DVec3::new(0.13, 0.01, 0.0));
    let inside = Pose::from_translation(DVec3::new(0.06, 0.01, 0.0));
    let ask = |size: u32| {
        let mut raster = raster(&gpu, size);
        // Sums first: what they leave behind must not matter.
        let force = raster.collide(&on, &there, &inside, &law().0, &law().1, RasterMode::SinglePass).unwrap();
        (raster.nearest(&on, &there, &pose, true).unwrap(), force.force.area)
    };
    let ((small, area), (large, larger)) = (ask(128), ask(768));
    let (a, b) = (small.deepest.unwrap().distance, large.deepest.unwrap().distance);
    assert!((a - b).abs() < 2e-3 && b > 0.0, "{a} {b}");
    assert!(large.samples > 20 * small.samples && large.samples < 50 * small.samples, "{small:?} {large:?}");
    assert!((area / larger - 1.0).abs() < 0.05, "{area} {larger}");
}
