//! Distances between shapes against the exact distance of their triangles.
//!
//! Referee: [`PairOracle`], exact to rounding. A distance is never below the true one and at most its bound above it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::pairs::{self, apart, direction, placed, rotation};
use palpate::mesh::{CapParams, Mesh, RawMesh, Topology, cap_holes};
use palpate::query::Distance;
use palpate::shape::ShapeParams;
use palpate::{Pose, Query, Shape, par};
use palpate_lab::oracle::{PairOracle, Random, Relation};

const SEED: u64 = 0xd157_0001;

/// A pair with its referee, whose meshes have their holes closed as fields close them.
struct Refereed {
    name: String,
    a: Shape,
    b: Shape,
    exact: PairOracle,
}

fn refereed(name: &str, a: Mesh, b: Mesh, n: u32) -> Refereed {
    let closed = |m: &Mesh| {
        let topology = Topology::build(m.triangles(), m.positions().len());
        let caps = cap_holes(m.positions(), m.triangles(), &topology, &CapParams::default());
        RawMesh {
            positions: [m.positions(), &caps.positions].concat(),
            triangles: [m.triangles(), &caps.triangles].concat(),
        }
    };
    let exact = PairOracle::new(&closed(&a), &closed(&b)).unwrap();
    let build = |m: Mesh| {
        let voxel = common::voxel(&m, n);
        Shape::build(m, voxel, &ShapeParams::default()).unwrap()
    };
    Refereed { name: name.into(), a: build(a), b: build(b), exact }
}

/// Separated poses: from a random side, at a distance from nearly touching to several sizes; what is not apart is left out.
fn separated(pair: &Refereed, count: usize, seed: u64) -> Vec<Pose> {
    let made = par::map(2 * count, |i| {
        let mut random = Random::new(seed + i as u64);
        let (turn, way) = (rotation(&mut random), direction(&mut random));
        // Where the first touch is, by our own engine; then a gap from 1e-4 to 1 of the size.
        let mut query = Query::new();
        let (mut near, mut far) = (0.0, apart(&pair.a, &pair.b));
        for _ in 0..14 {
            let middle = 0.5 * (near + far);
            let pose = placed(&pair.a, &pair.b, turn, way * middle);
            *(if query.intersects(&pair.a, &pair.b, &pose) { &mut near } else { &mut far }) = middle;
        }
        let gap = apart(&pair.a, &pair.b) * 10f64.powf(-4.0 + 4.0 * random.unit());
        placed(&pair.a, &pair.b, turn, way * (far + gap))
    });
    let free = |p: &Pose| pair.exact.relation(p) == Relation::Apart;
    made.into_iter().filter(free).take(count).collect()
}

/// The smallest value that 99 % do not exceed.
fn p99(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(values.len() * 99).div_ceil(100) - 1]
}

/// Checks distances and bounds over a set of poses; the errors [spacings].
fn check(pair: &Refereed, poses: &[Pose]) -> Vec<f64> {
    let Refereed { name, a, b, exact } = pair;
    // The shape with fewer points gives them.
    let points = if a.tree().len() < b.tree().len() { a } else { b };
    let spacing = points.tree().shell_report().spacing;
    let results: Vec<(Distance, f64)> = par::map(poses.len(), |i| {
        let found = Query::new().distance(a, b, &poses[i]);
        (found, exact.distance(&poses[i]).distance)
    });
    let size = apart(a, b);
    let (mut errors, mut bounds, mut loose) = (Vec::new(), Vec::new(), 0);
    for (i, (found, truth)) in results.iter().enumerate() {
        let what = format!("{name}, pose {i}: {found:?}, exact {truth}");
        // Rounding of poses and positions in f64, and of a field's own frame.
        let rounding = 1e-9 * (size + truth);
        assert!(found.distance >= truth - rounding, "{what}");
        assert!(found.distance - truth <= found.bound + rounding, "{what}");
        let between = (found.witness_a - found.witness_b).length();
        assert!((between - found.distance).abs() <= rounding, "{what}");
        // Witnesses are points of the surfaces.
        let on_a = a.exact().closest(found.witness_a, None).distance;
        let on_b = b.exact().closest(poses[i].inverse().point(found.witness_b), None).distance;
        assert!(on_a <= rounding && on_b <= rounding, "{what}");
        errors.push((found.distance - truth) / spacing);
        bounds.push(found.bound / spacing);
        loose += usize::from(found.bound > 1.6 * spacing);
    }
    let p99 = p99(&mut errors);
    let largest = bounds.iter().copied().fold(0.0, f64::max);
    println!(
        "{name}: {} poses, {} and {} points, error in spacings p50 {:.1e}, p99 {p99:.1e}, largest {:.1e}; bound mean {:.2}, \
         largest {largest:.2}, {loose} above 1.6",
        poses.len(),
        a.tree().len(),
        b.tree().len(),
        errors[errors.len() / 2],
        errors[errors.len() - 1],
        bounds.iter().sum::<f64>() / bounds.len() as f64,
    );
    assert!(largest <= 1.6, "{name}: a bound of {largest} spacings");
    errors
}

#[test]
fn distances_keep_their_bounds_on_generated_shapes() {
    let mut errors = Vec::new();
    for (name, a, b) in pairs::meshes() {
        let pair = refereed(name, common::repaired(a), common::repaired(b), 80);
        let poses = separated(&pair, 60, SEED);
        assert!(poses.len() >= 50, "{name}: only {} poses are apart", poses.len());
        errors.extend(check(&pair, &poses));
    }
    let p99 = p99(&mut errors);
    println!("{} poses, error p99 {p99:.2} spacings", errors.len());
    assert!(p99 <= 0.2, "an error of {p99} spacings at p99");
}

/// 600 poses of scans and parts.
#[test]
fn distances_keep_their_bounds_on_scans() {
    let Some(bunny) = common::model("bunny.obj") else { return };
    let load = |file: &str| common::model(file).unwrap();
    // A cow as large as the bunny.
    let cow = load("cow.obj");
    let scale = bunny.aabb().extent().max_element() / cow.aabb().extent().max_element();
    let raw = |m: &Mesh| RawMesh { positions: m.positions().to_vec(), triangles: m.triangles().to_vec() };
    let cow = common::repaired(pairs::scaled(raw(&cow), scale));
    for (name, a, b) in [
        ("bunny-bunny", bunny.clone(), bunny.clone()),
        ("cow-bunny", cow, bunny),
        ("nut-bolt", load("nut-m16-loose.obj"), load("bolt-m16-loose.obj")),
    ] {
        let pair = refereed(name, a, b, 128);
        let poses = separated(&pair, 200, SEED + 1_000);
        assert!(poses.len() >= 180, "{name}: only {} poses are apart", poses.len());
        let p99 = p99(&mut check(&pair, &poses));
        assert!(p99 <= 0.2, "{name}: an error of {p99} spacings at p99");
    }
}

/// B moved towards A along the witnesses: not touching as long as the bound allows, touching once past the distance.
#[test]
fn moving_by_the_distance_flips_touching() {
    let (mut ours_hit, mut asked) = (0, 0);
    for (name, a, b) in pairs::meshes() {
        let pair = refereed(name, common::repaired(a), common::repaired(b), 80);
        let size = apart(&pair.a, &pair.b);
        let poses = separated(&pair, 40, SEED + 2_000);
        let mut query = Query::new();
        for (i, pose) in poses.iter().enumerate() {
            let d = query.distance(&pair.a, &pair.b, pose);
            let towards = |by: f64| Pose { translation: pose.translation - d.direction() * by, ..*pose };
            let what = format!("{name}, pose {i}: {d:?}");
            let eps = 1e-7 * size;
            assert!((d.direction().length() - 1.0).abs() < 1e-9, "{what}");
            if d.distance > d.bound + eps {
                let before = towards(d.distance - d.bound - eps);
                assert!(!pair.exact.intersects(&before), "{what}");
                assert!(!query.intersects(&pair.a, &pair.b, &before), "{what}");
                assert!(query.distance(&pair.a, &pair.b, &before).distance > 0.0, "{what}");
            }
            // A hair past the distance the witnesses are in each other.
            assert!(pair.exact.intersects(&towards(d.distance + eps)), "{what}");
            // Our own points see it once they are past their bound: all but shapes thinner than that.
            asked += 1;
            ours_hit += usize::from(query.intersects(&pair.a, &pair.b, &towards(d.distance + d.bound)));
        }
    }
    println!("{ours_hit} of {asked} touch after distance + bound by our own points");
    assert!(asked > 280 && ours_hit as f64 >= 0.9 * asked as f64);
}
