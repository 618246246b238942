//! A scaled shape answers as the shape does, multiplied; and as one built from the scaled mesh.
//!
//! Referees: the shape itself (exact for powers of two, single-precision rounding otherwise), and a shape built anew, which has other
//! points and nodes where rounding decides, so that its resolution limits the comparison.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use glam::{DQuat, DVec3};
use palpate::field::{Encoding, Source};
use palpate::mesh::{Mesh, RawMesh, RepairParams, samples};
use palpate::query::{ImpactParams, Motion, PenetrationParams, QueryParams};
use palpate::shape::{ShapeError, ShapeParams};
use palpate::{Pose, Query, Shape};

const SEED: u64 = 0x5ca1_ed00;

/// Splitmix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn point(&mut self, half: f64) -> DVec3 {
        half * (2.0 * DVec3::new(self.unit(), self.unit(), self.unit()) - 1.0)
    }

    fn pose(&mut self, half: f64) -> Pose {
        let axis = (self.point(1.0) + DVec3::splat(1e-3)).normalize();
        Pose::new(DQuat::from_axis_angle(axis, 6.0 * self.unit() - 3.0), self.point(half))
    }
}

fn mesh(raw: &RawMesh, factor: f64) -> Mesh {
    let positions = raw.positions.iter().map(|p| *p * factor).collect();
    let raw = RawMesh { positions, triangles: raw.triangles.clone() };
    Mesh::new(raw, &RepairParams::default()).unwrap()
}

fn build(raw: &RawMesh, factor: f64, voxel: f64, encoding: Encoding) -> Shape {
    let mut params = ShapeParams::default();
    params.field.encoding = encoding;
    Shape::build(mesh(raw, factor), voxel * factor, &params).unwrap()
}

/// About 0.1 m, of no symmetry with the grid; the second has a hole, which is capped.
fn parts() -> [RawMesh; 2] {
    let lean = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.4);
    let turned = |mut raw: RawMesh| {
        raw.positions.iter_mut().for_each(|p| *p = lean * *p + DVec3::new(0.013, -0.007, 0.021));
        raw
    };
    let mut open = samples::bumpy_sphere(0.05, 0.006, 4, 4, 7);
    open.triangles.drain(100..110);
    [turned(samples::torus(0.05, 0.02, 60, 30)), turned(open)]
}

const VOXEL: f64 = 2e-3;

fn moved(pose: &Pose, factor: f64) -> Pose {
    Pose { rotation: pose.rotation, translation: pose.translation * factor }
}

#[test]
fn powers_of_two_multiply_every_answer_bit_for_bit() {
    let [a, b] = parts();
    for encoding in [Encoding::Float, Encoding::Scaled { precision: Some(5) }, Encoding::Layered] {
        let (a, b) = (build(&a, 1.0, VOXEL, encoding), build(&b, 1.0, VOXEL, encoding));
        for (factor, compact) in [(8.0, false), (1.0 / 1024.0, false), (0.5, true)] {
            let plain = |s: &Shape| if compact { s.compact() } else { s.clone() };
            let (a, b) = (plain(&a), plain(&b));
            let (c, d) = (a.scaled(factor).unwrap(), b.scaled(factor).unwrap());
            let mut random = Random(SEED);
            let (mut q, mut r) = (Query::new(), Query::new());
            let (mut touching, mut hits) = (0, 0);
            for _ in 0..60 {
                let pose = random.pose(0.08);
                let far = moved(&pose, factor);
                let params = QueryParams { margin: 1e-3, ..Default::default() };
                let scaled = QueryParams { margin: 1e-3 * factor, ..Default::default() };
                let (x, y) = (q.contacts(&a, &b, &pose, &params), r.contacts(&c, &d, &far, &scaled));
                assert_eq!((x.list.len(), x.origin * factor), (y.list.len(), y.origin));
                let f = factor as f32;
                for (x, y) in x.list.iter().zip(&y.list) {
                    let mut want = *x;
                    want.point = x.point.map(|v| v * f);
                    (want.distance, want.area) = (x.distance * f, x.area * f * f);
                    assert_eq!(want, *y);
                }
                let (x, y) = (q.distance(&a, &b, &pose), r.distance(&c, &d, &far));
                assert_eq!((x.distance * factor, x.bound * factor), (y.distance, y.bound), "{pose:?}");
                assert_eq!((x.witness_a * factor, x.witness_b * factor), (y.witness_a, y.witness_b));
                assert_eq!(q.intersects(&a, &b, &pose), r.intersects(&c, &d, &far));
                touching += usize::from(x.overlaps());
                let way = PenetrationParams { directions: 16, ..Default::default() };
                let (x, y) = (q.penetration(&a, &b, &pose, &way), r.penetration(&c, &d, &far, &way));
                assert_eq!((x.translation * factor, x.depth * factor), (y.translation, y.depth));
                assert_eq!((x.bound * factor, x.lower * factor), (y.bound, y.lower));
                let motion = Motion {
                    from: Pose::from_translation(DVec3::X * 0.3),
                    linear: -0.6 * DVec3::X,
                    angular: random.point(1.0),
                };
                let faster =
                    Motion { from: moved(&motion.from, factor), linear: motion.linear * factor, ..motion };
                let params = ImpactParams { max_steps: 400, ..Default::default() };
                let (x, y) =
                    (q.time_of_impact(&a, &b, &motion, &params), r.time_of_impact(&c, &d, &faster, &params));
                assert_eq!((x.time, moved(&x.pose, factor)), (y.time, y.pose));
                hits += usize::from(x.time.is_some());
            }
            assert!(
                (15..55).contains(&touching) && hits > 30,
                "{touching} touching, {hits} hits, seed {SEED:#x}"
            );
        }
    }
}

/// Other factors: the same to single-precision rounding.
#[test]
fn other_factors_multiply_every_answer_to_rounding() {
    let [a, b] = parts().map(|raw| build(&raw, 1.0, VOXEL, Encoding::Float));
    for factor in [2.5, 1e-3, 1e3, 0.3] {
        let (c, d) = (a.scaled(factor).unwrap(), b.scaled(factor).unwrap());
        // Rounding of coordinates of 0.2 m in single precision, a few times over.
        let close = 2e-7 * factor;
        let mut random = Random(SEED);
        let (mut q, mut r) = (Query::new(), Query::new());
        for _ in 0..60 {
            let pose = random.pose(0.08);
            let far = moved(&pose, factor);
            let (x, y) = (q.distance(&a, &b, &pose), r.distance(&c, &d, &far));
            assert!(
                (x.distance * factor - y.distance).abs() <= close.max(1e-3 * x.bound * factor),
                "{x:?} {y:?}"
            );
            assert_eq!(q.intersects(&a, &b, &pose), r.intersects(&c, &d, &far));
            let params = QueryParams::default();
            let (x, y) = (q.contacts(&a, &b, &pose, &params), r.contacts(&c, &d, &far, &params));
            // Points on the very surface may be told otherwise.
            assert!(x.list.len().abs_diff(y.list.len()) <= 2, "{} {}", x.list.len(), y.list.len());
            let area = |list: &[palpate::Contact]| list.iter().map(|c| f64::from(c.area)).sum::<f64>();
            let (s, t) = (area(&x.list) * factor * factor, area(&y.list));
            assert!((s - t).abs() <= 0.01 * s.max(t), "{s} {t}");
            if let (Some(x), Some(y)) = (x.deepest(), y.deepest()) {
                assert!((f64::from(x.distance) * factor - f64::from(y.distance)).abs() < 10.0 * close);
            }
        }
    }
}

#[test]
fn a_scaled_shape_is_as_one_built_from_the_scaled_mesh() {
    let raws = parts();
    let [a, b] = [0, 1].map(|i| build(&raws[i], 1.0, VOXEL, Encoding::Float));
    for factor in [2.5, 1e-3, 1e3] {
        let (c, d) = (a.scaled(factor).unwrap(), b.scaled(factor).unwrap());
        let [e, f] = [0, 1].map(|i| build(&raws[i], factor, VOXEL, Encoding::Float));
        let voxel = VOXEL * factor;
        assert!((c.field().lattice().voxel - e.field().lattice().voxel).abs() < 1e-12 * voxel);
        assert!(c.tree().len().abs_diff(e.tree().len()) * 50 < e.tree().len());
        assert_eq!(c.mesh().triangles(), e.mesh().triangles());
        let mut random = Random(SEED);
        let (mut q, mut r) = (Query::new(), Query::new());
        let mut touching = 0;
        for _ in 0..60 {
            let pose = moved(&random.pose(0.08), factor);
            let (x, y) = (q.distance(&c, &d, &pose), r.distance(&e, &f, &pose));
            let allowed = x.bound + y.bound + 1e-3 * voxel;
            assert!((x.distance - y.distance).abs() <= allowed, "{x:?} {y:?}");
            touching += usize::from(x.overlaps());
            if x.distance.abs() > voxel {
                assert_eq!(q.intersects(&c, &d, &pose), r.intersects(&e, &f, &pose));
            }
            let params = QueryParams { margin: 0.0, ..Default::default() };
            let (x, y) = (q.contacts(&c, &d, &pose, &params), r.contacts(&e, &f, &pose, &params));
            let (n, m) = (x.list.len(), y.list.len());
            assert!(n.abs_diff(m) <= 5 + n.max(m) / 20, "{n} and {m} contacts");
            if let (Some(x), Some(y)) = (x.deepest(), y.deepest()) {
                assert!((x.distance - y.distance).abs() < 0.25 * voxel as f32, "{x:?} {y:?}");
            }
            let way = PenetrationParams { directions: 32, ..Default::default() };
            let (x, y) = (q.penetration(&c, &d, &pose, &way), r.penetration(&e, &f, &pose, &way));
            // Directions come from contacts, which differ where points do.
            assert!((x.depth - y.depth).abs() <= 0.5 * voxel + 0.05 * x.depth, "{x:?} {y:?}");
            let motion = Motion {
                from: Pose::from_translation(DVec3::X * 0.3 * factor),
                linear: DVec3::X * -0.6 * factor,
                angular: random.point(1.0),
            };
            let params = ImpactParams { max_steps: 400, ..Default::default() };
            let (x, y) =
                (q.time_of_impact(&c, &d, &motion, &params), r.time_of_impact(&e, &f, &motion, &params));
            assert_eq!(x.time.is_some(), y.time.is_some());
            if let (Some(s), Some(t)) = (x.time, y.time) {
                // A spacing of the motion's 0.6 m.
                assert!((s - t).abs() < 2.0 * VOXEL / 0.6, "{s} {t}");
            }
        }
        assert!((15..55).contains(&touching), "{touching} touching, seed {SEED:#x}");
    }
}

#[test]
fn balls_hold_their_points_and_points_cover_the_surface() {
    let [_, b] = parts();
    let shape = build(&b, 1.0, VOXEL, Encoding::Float);
    for factor in [2.5, 1.0 / 3.0, 1e-3, 7e4, 2.0] {
        let s = shape.scaled(factor).unwrap();
        let tree = s.tree();
        for level in 0..tree.levels() {
            for node in 0..tree.nodes(level) {
                let (c, r) = tree.ball(level, node);
                for i in tree.points_of(level, node) {
                    let d = tree.position(i).distance(c);
                    assert!(d <= r * (1.0 + 1e-12), "{factor}: {d} of {r}");
                }
            }
        }
        for p in s.mesh().positions().iter().step_by(17) {
            let nearest =
                (0..tree.len()).map(|i| tree.position(i).distance(*p)).fold(f64::INFINITY, f64::min);
            assert!(nearest <= tree.shell_report().radius, "{factor}: {nearest}");
        }
    }
}

/// Every length, area and volume that can be read; what stays is compared too.
#[test]
fn reports_are_in_the_new_scale() {
    let [_, raw] = parts();
    let shape = build(&raw, 1.0, VOXEL, Encoding::Scaled { precision: Some(5) });
    for factor in [4.0, 1e-3] {
        let s = shape.scaled(factor).unwrap();
        let near = |x: f64, y: f64, power: i32| {
            let want = x * factor.powi(power);
            // Bounds are widened by rounding, which is most of the smallest of them.
            assert!((want - y).abs() <= 1e-2 * want.abs(), "{want} {y}");
        };
        let (m, n) = (shape.mesh().report(), s.mesh().report());
        for (x, y, power) in [
            (m.volume, n.volume, 3),
            (m.area, n.area, 2),
            (m.aabb.max.x, n.aabb.max.x, 1),
            (m.mean_edge, n.mean_edge, 1),
            (m.min_edge, n.min_edge, 1),
            (m.max_edge, n.max_edge, 1),
        ] {
            near(x, y, power);
        }
        assert_eq!(
            (m.holes, m.boundary_edges, m.welded_vertices),
            (n.holes, n.boundary_edges, n.welded_vertices)
        );
        assert!(m.holes > 0 && shape.field().report().caps() > 0);
        let (m, n) = (shape.mesh().mass_properties(), s.mesh().mass_properties());
        near(m.volume, n.volume, 3);
        near(m.centre.y, n.centre.y, 1);
        near(m.inertia.x_axis.x, n.inertia.x_axis.x, 5);
        let (m, n) = (shape.field().report(), s.field().report());
        for (x, y, power) in [
            (m.band, n.band, 1),
            (m.error_bound_band, n.error_bound_band, 1),
            (m.error_bound_far, n.error_bound_far, 1),
            (m.excess_background, n.excess_background, 1),
            (m.excess_bricks, n.excess_bricks, 1),
            (m.lipschitz, n.lipschitz, 0),
            (m.surface.min.z, n.surface.min.z, 1),
            (m.holes[0].area, n.holes[0].area, 2),
            (m.holes[0].perimeter, n.holes[0].perimeter, 1),
            (m.holes[0].centre.x, n.holes[0].centre.x, 1),
            (shape.field().lattice().voxel, s.field().lattice().voxel, 1),
            (shape.field().lattice().origin.x, s.field().lattice().origin.x, 1),
        ] {
            near(x, y, power);
        }
        assert_eq!(s.field().encoding(), Encoding::Scaled { precision: None });
        let (m, n) = (shape.tree().shell_report(), s.tree().shell_report());
        for (x, y, power) in
            [(m.spacing, n.spacing, 1), (m.radius, n.radius, 1), (m.area, n.area, 2), (m.voxel, n.voxel, 1)]
        {
            near(x, y, power);
        }
        near(f64::from(shape.tree().area(5)), f64::from(s.tree().area(5)), 2);
        near(shape.ball().1, s.ball().1, 1);
        near(shape.aabb().max.y, s.aabb().max.y, 1);
        let mut random = Random(SEED);
        for _ in 0..200 {
            let p = random.point(0.1);
            let (x, y) = (shape.field().sample(p), s.field().sample(p * factor));
            assert!(
                (x.distance * factor - y.distance).abs() < 1e-6 * factor
                    && x.gradient.distance(y.gradient) < 1e-3
            );
            let (x, y) = (shape.exact().closest(p, None), s.exact().closest(p * factor, None));
            assert!((x.distance * factor - y.distance).abs() < 1e-12 * factor);
            let (lower, upper) = s.field().bounds(p * factor);
            assert!(lower <= y.distance && -y.distance <= upper);
        }
    }
}

#[test]
fn bad_factors_are_named() {
    let cube = mesh(&samples::cuboid(DVec3::ONE), 1.0);
    let cube = Shape::build(cube, 0.1, &Default::default()).unwrap();
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(cube.scaled(factor), Err(ShapeError::BadScale { .. })), "{factor}");
    }
    for factor in [1e-300, 1e-12, 1e13, 1e300, f64::MIN_POSITIVE / 4.0] {
        assert!(matches!(cube.scaled(factor), Err(ShapeError::ScaleRange { .. })), "{factor}");
    }
    let text = cube.scaled(1e13).unwrap_err().to_string();
    assert!(text.contains("at most 1e12 m"), "{text}");
    let there = cube.scaled(1e-9).unwrap().scaled(1e9).unwrap();
    assert!((there.aabb().max - cube.aabb().max).length() < 1e-12);
}
