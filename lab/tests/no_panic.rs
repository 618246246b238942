//! Builds on triangles that nobody checked: no panic, finite samples, bounds kept.
//!
//! Referee where a bound is checked: the exact unsigned distance of the repaired mesh; a soup has no inside to agree on.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use glam::DVec3;
use palpate::field::{Encoding, FieldError, FieldParams, SignChoice, Source};
use palpate::mesh::{MeshError, RawMesh, RepairParams};
use palpate::voxmap::{Class, VoxmapParams};
use palpate::{Field, Mesh, Voxmap};
use palpate_lab::oracle::{Oracle, Random, points_in_box};

const SEED: u64 = 0x50a9_0001;

/// What a soup is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Triangles anywhere.
    Loose,
    /// Few vertices, random indices: crossing, non-manifold, some without area.
    Shared,
    /// A short edge against two long ones.
    Needles,
    /// Long edges, hardly any height.
    Slivers,
    /// All in one plane, or nearly.
    Slab,
    /// The same triangles again, turned and flipped.
    Coincident,
    /// Corners on whole multiples of the voxel: nodes fall on vertices, edges and faces.
    OnNodes,
    /// Neighbours that differ by a few ulps.
    Ulps,
    /// One triangle.
    Single,
}

const KINDS: [Kind; 9] = [
    Kind::Loose,
    Kind::Shared,
    Kind::Needles,
    Kind::Slivers,
    Kind::Slab,
    Kind::Coincident,
    Kind::OnNodes,
    Kind::Ulps,
    Kind::Single,
];

fn random_soup(kind: Kind, random: &mut Random) -> RawMesh {
    let point = |r: &mut Random| r.point_in(-DVec3::ONE, DVec3::ONE);
    let mut raw = RawMesh::default();
    let count = if kind == Kind::Single { 1 } else { 1 + random.below(60) };
    if kind == Kind::Shared {
        raw.positions = (0..3 + random.below(20)).map(|_| point(random)).collect();
        let n = raw.positions.len();
        raw.triangles = (0..count).map(|_| core::array::from_fn(|_| random.below(n) as u32)).collect();
        return raw;
    }
    for _ in 0..count {
        let a = point(random);
        let (along, across) = (random.in_ball(), random.in_ball());
        let small = 10f64.powf(-12.0 * random.unit());
        let [b, c] = match kind {
            Kind::Needles => [a + along, a + along + small * across],
            Kind::Slivers => [a + along, a + 0.5 * along + small * across],
            _ => [a + 0.4 * along, a + 0.4 * across],
        };
        let mut corners = [a, b, c];
        if kind == Kind::Slab {
            corners.iter_mut().for_each(|p| p.z *= 1e-14 * (count % 3) as f64);
        } else if kind == Kind::OnNodes {
            corners.iter_mut().for_each(|p| *p = (*p * 8.0).round() / 8.0);
        }
        let first = raw.positions.len() as u32;
        raw.positions.extend(corners);
        raw.triangles.push([first, first + 1, first + 2]);
        if kind == Kind::Coincident && random.unit() < 0.7 {
            raw.triangles.push([first + 1, first + 2, first]);
            raw.triangles.push([first, first + 2, first + 1]);
        }
        if kind == Kind::Ulps {
            let near = corners.map(|p| p.map(|x| f64::from_bits(x.to_bits() + random.below(32) as u64)));
            raw.positions.extend(near);
            raw.triangles.push([first + 3, first + 4, first + 5]);
        }
    }
    raw
}

fn random_params(random: &mut Random) -> FieldParams {
    let pick = random.below(6);
    FieldParams {
        band: 0.5 + 5.0 * random.unit() * random.unit(),
        padding: 1.0 + 9.0 * random.unit(),
        encoding: match random.below(4) {
            0 => Encoding::Scaled { precision: None },
            1 => Encoding::Layered,
            _ => Encoding::Float,
        },
        keep_triangles: random.unit() < 0.3,
        sign: match pick {
            0 => SignChoice::Winding,
            1 => SignChoice::Pseudonormal,
            2 => SignChoice::Unsigned,
            _ => SignChoice::Auto,
        },
        exact_background: random.unit() < 0.3,
        exact_bricks: random.unit() < 0.2,
        cap_holes: random.unit() < 0.8,
        max_memory: Some(1 << 28),
        threads: 0,
    }
}

/// A soup, its size [m] and its voxel [m]; `None` when nothing of it has an area.
fn random_mesh(kind: Kind, random: &mut Random) -> Option<(Mesh, f64)> {
    let mut raw = random_soup(kind, random);
    // From a micrometre to a thousand kilometres, and away from the origin.
    let scale = 10f64.powf(12.0 * random.unit() - 6.0);
    let offset = if random.unit() < 0.3 { 100.0 * random.in_ball() } else { DVec3::ZERO };
    raw.positions.iter_mut().for_each(|p| *p = (*p + offset) * scale);
    match Mesh::new(raw, &RepairParams::default()) {
        Ok(mesh) => {
            let cells = if kind == Kind::OnNodes { 16.0 } else { 0.3 + 60.0 * random.unit() * random.unit() };
            let voxel =
                if kind == Kind::OnNodes { scale / 8.0 } else { mesh.aabb().extent().max_element() / cells };
            Some((mesh, voxel))
        }
        Err(MeshError::NonFinite { .. }) => panic!("finite vertices were called not finite"),
        Err(error) => {
            println!("{kind:?}: {error}");
            None
        }
    }
}

/// Builds `rounds` soups of each of `kinds` and samples them; the worst sample of each soup that breaks its bound.
fn broken_bounds(kinds: &[Kind], rounds: usize, seed: u64) -> Vec<String> {
    println!("seed {seed:#x}");
    let mut random = Random::new(seed);
    let mut built = vec![0; kinds.len()];
    let (mut broken, mut checked) = (Vec::new(), 0);
    for round in 0..rounds * kinds.len() {
        let at = round % kinds.len();
        let Some((mesh, voxel)) = random_mesh(kinds[at], &mut random) else { continue };
        let params = random_params(&mut random);
        let what = || format!("round {round}, {:?}, voxel {voxel}, {params:?}", kinds[at]);
        let field = match Field::build(&mesh, voxel, &params) {
            Ok(field) => field,
            Err(FieldError::TooMuchMemory { .. } | FieldError::TooManyVoxels { .. }) => continue,
            Err(error) => panic!("{}: {error}", what()),
        };
        built[at] += 1;
        let report = field.report();
        assert!(report.error_bound_band.is_finite() && report.error_bound_far.is_finite(), "{}", what());
        assert!(report.lipschitz.is_finite() && (0.0..=1.0).contains(&report.sign_confidence), "{}", what());
        let cube = field.lattice().aabb();
        let oracle = if params.cap_holes {
            Oracle::capped(&mesh).unwrap()
        } else {
            Oracle::new(mesh.positions(), mesh.triangles()).unwrap()
        };
        let seed = seed + round as u64;
        let mut points = points_in_box(cube.min - 3.0 * voxel, cube.max + 3.0 * voxel, 300, seed);
        points.extend(oracle.points_near_surface(200, 2.0 * voxel, seed));
        points.extend(mesh.positions().iter().take(50));
        let mut worst = (0.0, String::new());
        for p in points {
            let s = field.sample(p);
            assert!(s.distance.is_finite() && s.gradient.is_finite(), "{}: {s:?} at {p}", what());
            let (low, high) = field.bounds(p);
            assert!(low.is_finite() && high.is_finite() && low <= high, "{}: [{low}, {high}] at {p}", what());
            // Pseudonormals of a soup contradict each other: asking for them is asking for a wrong sign.
            if params.sign == SignChoice::Pseudonormal || !cube.contains(p) {
                continue;
            }
            checked += 1;
            let d = oracle.closest(p).distance;
            let limit = if d < report.band { report.error_bound_band } else { report.error_bound_far };
            // Coordinates far from the origin are rounded before the build.
            let over = (s.distance.abs() - d).abs() - limit - 1e-12 * p.length();
            if over > worst.0 {
                let text = format!(
                    "{} at {p}: {} but {d}, {:.3} voxels beyond the bound",
                    what(),
                    s.distance,
                    over / voxel
                );
                worst = (over, text);
            }
        }
        broken.extend((worst.0 > 0.0).then_some(worst.1));
    }
    println!("built {built:?} of {kinds:?}, {checked} samples compared");
    assert!(built.iter().all(|&n| n >= rounds / 2), "built {built:?} of {kinds:?}");
    assert!(checked > 100 * rounds * kinds.len(), "only {checked} samples compared");
    broken
}

/// Kinds whose bounds tests of their own check.
const HARD: [Kind; 3] = [Kind::Shared, Kind::Needles, Kind::Slivers];

#[test]
fn random_soups_build_and_keep_their_bounds() {
    let kinds: Vec<Kind> = KINDS.into_iter().filter(|k| !HARD.contains(k)).collect();
    let broken = broken_bounds(&kinds, 60, SEED);
    assert!(broken.is_empty(), "{} bounds broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn hard_soups_build_and_sample() {
    let broken = broken_bounds(&HARD, 60, SEED ^ 2);
    println!("{} of 180 soups break their bound", broken.len());
}

#[test]
fn bounds_hold_on_needles_and_slivers() {
    let broken = broken_bounds(&[Kind::Needles, Kind::Slivers], 60, SEED ^ 2);
    assert!(broken.is_empty(), "{} bounds broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn bounds_hold_where_the_winding_number_is_undecided() {
    let broken = broken_bounds(&[Kind::Shared], 200, SEED ^ 3);
    assert!(broken.is_empty(), "{} bounds broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn random_soups_voxelize() {
    println!("seed {SEED:#x}");
    let mut random = Random::new(SEED ^ 1);
    let mut built = 0;
    for round in 0..300 {
        let kind = KINDS[round % KINDS.len()];
        let Some((mesh, voxel)) = random_mesh(kind, &mut random) else { continue };
        let params =
            VoxmapParams { layers: random.below(5) as u32, max_memory: Some(1 << 28), ..Default::default() };
        let Ok(map) = Voxmap::build(&mesh, voxel, &params) else { continue };
        built += 1;
        assert!(map.stats().surface_voxels > 0, "round {round}, {kind:?}");
        // Conservative: the voxel of every vertex is surface.
        for p in mesh.positions() {
            let voxel = map.grid().voxel_at(*p).expect("vertices are in the grid");
            assert_eq!(map.class(voxel), Class::Surface, "round {round}, {kind:?}, vertex {p}");
        }
    }
    assert!(built > 250, "only {built} built");
}

#[test]
fn bad_arguments_are_errors() {
    let mesh = common::sample("cuboid");
    for voxel in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, f64::MIN_POSITIVE] {
        let error = Field::build(&mesh, voxel, &FieldParams::default()).unwrap_err();
        assert!(error.to_string().contains("voxel"), "{voxel}: {error}");
        assert!(Voxmap::build(&mesh, voxel, &VoxmapParams::default()).is_err(), "{voxel}");
    }
    let bad = [
        FieldParams { band: f64::NAN, ..Default::default() },
        FieldParams { band: 0.0, ..Default::default() },
        FieldParams { padding: -1.0, ..Default::default() },
        FieldParams { padding: f64::INFINITY, ..Default::default() },
    ];
    for params in bad {
        assert!(
            matches!(Field::build(&mesh, 1e-3, &params), Err(FieldError::BadParameter { .. })),
            "{params:?}"
        );
    }
    let tight = FieldParams { max_memory: Some(1000), ..Default::default() };
    let error = Field::build(&mesh, 1e-3, &tight).unwrap_err();
    let FieldError::TooMuchMemory { suggested, .. } = error else { panic!("{error}") };
    assert!(suggested > 1e-3);
    let precise = FieldParams { encoding: Encoding::Scaled { precision: Some(9) }, ..Default::default() };
    assert!(matches!(Field::build(&mesh, 1e-3, &precise), Err(FieldError::Precision { .. })));
}
