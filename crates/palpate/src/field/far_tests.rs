use super::super::exact::tests::random;
use super::*;
use crate::field::{Encoding, FieldParams};
use crate::mesh::{Mesh, samples};
use crate::progress::Silent;

struct Case {
    name: &'static str,
    mesh: Mesh,
    grid: f64,
}

fn cases() -> Vec<Case> {
    let mut out: Vec<Case> = [("gear", 80.0), ("torus", 100.0), ("cube-missing-face", 60.0)]
        .map(|(name, grid)| {
            let mesh = Mesh::new(samples::by_name(name).expect("a sample"), &Default::default()).unwrap();
            Case { name, mesh, grid }
        })
        .into();
    if let Some(folder) = std::env::var_os("PALPATE_MODELS") {
        let mesh = Mesh::load(std::path::Path::new(&folder).join("bunny.obj"), 1.0).unwrap();
        out.push(Case { name: "bunny", mesh, grid: 250.0 });
    }
    out
}

/// Slack of the bound, by place [voxels].
#[derive(Default)]
struct Slack {
    sum: f64,
    most: f64,
    count: usize,
}

impl Slack {
    fn add(&mut self, slack: f64) {
        (self.sum, self.most, self.count) = (self.sum + slack, self.most.max(slack), self.count + 1);
    }
    fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

/// The bound is never above the true distance, at any point and for any way to build, and near to it where promised.
#[test]
fn bounds_are_below_the_distance_and_near_to_it() {
    for case in cases() {
        let Case { name, mesh, grid } = &case;
        let voxel = mesh.aabb().extent().max_element() / grid;
        for (kind, encoding, background, bricks) in [
            ("plain", Encoding::Float, false, false),
            ("background", Encoding::Float, true, false),
            ("all", Encoding::Float, true, true),
            ("scaled", Encoding::Scaled { precision: None }, true, true),
            ("layered", Encoding::Layered, true, false),
        ] {
            let params = FieldParams {
                encoding,
                exact_background: background,
                exact_bricks: bricks,
                ..Default::default()
            };
            let (field, exact) = Field::build_with_exact(mesh, voxel, &params, &Silent).unwrap();
            let far = FarGrid::build(&field, &exact);
            assert!(far.bytes() <= 2 << 20, "{name}: {} bytes", far.bytes());
            let lattice = *field.lattice();
            let extent = lattice.aabb().extent();
            let mut random = random(17);
            let count = 40_000;
            let points: Vec<Vec3> = (0..count)
                .map(|n| {
                    let f = DVec3::new(random(), random(), random());
                    // In the box, around it, and up to many times its size away.
                    let wide = match n % 4 {
                        0 | 1 => 1.0,
                        2 => 1.5 + 2.5 * random(),
                        _ => 10f64.powf(2.0 * random()),
                    };
                    (extent * ((f - 0.5) * wide + 0.5)).as_vec3()
                })
                .collect();
            let (mut f, mut lower) = (vec![0.0; count], vec![0.0; count]);
            far.lower_bounds(&field, &points, &mut f, &mut lower);
            let (mut f2, mut lower2) = (vec![0.0; count], vec![0.0; count]);
            far.lower_bounds_plain(&field, &points, &mut f2, &mut lower2);
            assert!(lower.iter().zip(&lower2).all(|(a, b)| a.to_bits() == b.to_bits()));
            assert!(f.iter().zip(&f2).all(|(a, b)| a.to_bits() == b.to_bits()));
            // In the band, in bricks beyond, between background nodes, around the box, far away.
            let mut slack: [Slack; 5] = Default::default();
            for (i, p) in points.iter().enumerate() {
                let at = lattice.origin + p.as_dvec3();
                let truth = exact.closest(at, None).distance;
                let low = f64::from(lower[i]);
                assert!(
                    low <= truth,
                    "{name} {kind} at {p}: {low} above {truth} by {}",
                    (low - truth) / voxel
                );
                let sample = field.sample(at).distance;
                let close = 2e-6 * (sample.abs() + extent.max_element());
                assert!((f64::from(f[i]) - sample).abs() < close, "{name} at {p}: {} for {sample}", f[i]);
                let u = p.as_dvec3() / extent;
                let place = if u.min_element() < 0.0 || u.max_element() > 1.0 {
                    let wide = ((u - 0.5).abs() * 2.0).max_element();
                    if wide < 4.0 { 3 } else { 4 }
                } else {
                    let cell = (p.as_dvec3() / (voxel * BRICK as f64)).to_array().map(|c| c as usize);
                    let [nx, ny, _] = lattice.cells.map(|c| c as usize);
                    let fine = field.directory[(cell[2] * ny + cell[1]) * nx + cell[0]] >= 0;
                    if truth < field.report().band { 0 } else { 2 - usize::from(fine) }
                };
                slack[place].add((truth - low) / voxel);
            }
            let text: Vec<String> = ["band", "bricks", "background", "around", "far"]
                .iter()
                .zip(&slack)
                .map(|(n, s)| format!("{n} {:.3} ({:.2}, {})", s.mean(), s.most, s.count))
                .collect();
            eprintln!("{name} {kind}: mean slack (most, points) [voxels]: {}", text.join(", "));
            assert!(slack.iter().all(|s| s.count > 1000), "{name}: too few points of a kind");
            let box_mean = (slack[1].sum + slack[2].sum) / (slack[1].count + slack[2].count) as f64;
            eprintln!("    outside the band in the box {box_mean:.3}");
            if background && encoding == Encoding::Float {
                assert!(slack[3].mean() <= 1.5, "{name} {kind}");
            }
            if bricks && encoding == Encoding::Float {
                // A wide inside, whose middle is equally far from many places, has no tight bound between few nodes.
                let most = if *name == "cube-missing-face" { 1.1 } else { 0.5 };
                assert!(box_mean <= most, "{name} {kind}: {box_mean}");
            }
        }
    }
}

/// Points that are not finite, or farther than squares can be told apart, have bounds that are true.
#[test]
fn bounds_hold_for_any_point() {
    let mesh = Mesh::new(samples::by_name("gear").expect("a sample"), &Default::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / 40.0;
    let (field, exact) = Field::build_with_exact(&mesh, voxel, &FieldParams::default(), &Silent).unwrap();
    let far = FarGrid::build(&field, &exact);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e19, f32::MAX] {
        for axis in 0..3 {
            let mut points = [Vec3::ZERO; 11];
            points[9][axis] = bad;
            let (mut f, mut lower) = ([0.0; 11], [0.0; 11]);
            far.lower_bounds(&field, &points, &mut f, &mut lower);
            assert!(lower.iter().all(|l| *l >= 0.0 && l.is_finite()));
            assert!(
                lower[0] > 0.0 && f64::from(lower[0]) <= exact.closest(field.lattice().origin, None).distance
            );
            assert_eq!(f[9].is_nan(), bad.is_nan());
            assert_eq!(lower[9] == 0.0, bad.is_nan());
        }
    }
    far.lower_bounds(&field, &[], &mut [], &mut []);
}

/// Where the slope of the squared distances says the closest point is: nearly there from most places, and never a panic.
#[test]
fn feet_are_near_the_closest_points() {
    for Case { name, mesh, .. } in cases().into_iter().take(2) {
        let voxel = mesh.aabb().extent().max_element() / 80.0;
        let params = FieldParams { exact_background: true, ..Default::default() };
        let (field, exact) = Field::build_with_exact(&mesh, voxel, &params, &Silent).unwrap();
        let far = FarGrid::build(&field, &exact);
        let (middle, size) = (mesh.aabb().centre(), mesh.aabb().extent().max_element());
        let mut next = random(5);
        let (mut told, mut near, mut outside) = (0, 0, 0);
        for _ in 0..2000 {
            let p = middle + (DVec3::new(next(), next(), next()) - 0.5) * 3.0 * size;
            let Some((foot, distance)) = far.foot(&field, p) else { continue };
            let truth = exact.closest(p, None);
            told += 1;
            outside += usize::from(!field.lattice().aabb().contains(p));
            let off = exact.closest(foot, None).distance;
            near += usize::from(off < 2.0 * voxel && (distance - truth.distance).abs() < 2.0 * voxel);
        }
        assert!(told > 1500 && outside > 1000, "{name}: {told}, {outside} outside");
        // Cells are up to 32 voxels wide.
        assert!(near * 10 >= told * 6, "{name}: {near} of {told}");
        assert!(far.foot(&field, DVec3::NAN).is_none());
        assert!(far.foot(&field, DVec3::splat(1e300)).is_none());
    }
}
