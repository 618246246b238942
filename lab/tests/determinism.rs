//! The same bits for any number of threads, any SIMD width and every run.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{repaired, sample, voxel};
use glam::{DVec3, Vec3};
use palpate::field::{Encoding, FieldParams, Sample};
use palpate::mesh::samples;
use palpate::voxmap::VoxmapParams;
use palpate::{Field, Mesh, Voxmap, par};
use palpate_lab::oracle::points_in_box;

const SEED: u64 = 0xde7e_0001;

const ENCODINGS: [Encoding; 4] = [
    Encoding::Float,
    Encoding::Scaled { precision: None },
    Encoding::Scaled { precision: Some(5) },
    Encoding::Layered,
];

/// FNV-1a over 64-bit words: small, and the same on every machine.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hash(u64);

impl Hash {
    const START: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl core::fmt::Debug for Hash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

fn meshes() -> Vec<(&'static str, Mesh)> {
    vec![
        ("gear", sample("gear")),
        ("two cubes", sample("two-overlapping-cubes")),
        ("open cube", sample("cube-missing-face")),
        ("bumpy sphere", repaired(samples::bumpy_sphere(0.05, 0.005, 12, 4, 1))),
        ("sheet", repaired(samples::sheet(24))),
        ("nut and bolt", sample("nut-and-bolt")),
    ]
}

/// Points in and around the box, some on its faces, some on nodes.
fn points(field: &Field, count: usize) -> Vec<DVec3> {
    let (l, b) = (field.lattice(), field.lattice().aabb());
    let margin = 0.1 * b.extent();
    let mut points = points_in_box(b.min - margin, b.max + margin, count, SEED);
    for (i, p) in points.iter_mut().enumerate() {
        match i % 16 {
            0 => *p = p.clamp(b.min, b.max),
            1 => *p = l.origin + ((*p - l.origin) / l.voxel).round() * l.voxel,
            _ => {}
        }
    }
    points
}

/// Points relative to the grid, as the batch takes them.
fn relative(field: &Field, points: &[DVec3]) -> Vec<Vec3> {
    points.iter().map(|p| (*p - field.lattice().origin).as_vec3()).collect()
}

fn field_hash(field: &Field) -> Hash {
    let points = points(field, 5_000);
    let mut hash = Hash::START;
    let mut all = vec![Sample::UNDEFINED; points.len()];
    field.sample_batch(&points, &mut all);
    for s in &all {
        hash.add(s.distance.to_bits());
        s.gradient.to_array().iter().for_each(|g| hash.add(g.to_bits()));
    }
    let mut fast = vec![0.0; points.len()];
    field.distances(&relative(field, &points), &mut fast);
    fast.iter().for_each(|d| hash.add(u64::from(d.to_bits())));
    let r = field.report();
    for number in [r.error_bound_band, r.error_bound_far, r.lipschitz, r.sign_confidence] {
        hash.add(number.to_bits());
    }
    [r.bricks, r.bytes, r.sign_repaired, r.holes.len()].iter().for_each(|n| hash.add(*n as u64));
    hash
}

fn voxmap_hash(map: &Voxmap) -> Hash {
    let mut hash = Hash::START;
    let [nx, ny, nz] = map.grid().dims;
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                hash.add(map.class([i, j, k]) as u64);
                hash.add(map.layer([i, j, k]).map_or(u64::MAX, |l| i64::from(l).cast_unsigned()));
            }
        }
    }
    hash.add(map.stats().surface_voxels);
    hash
}

#[test]
fn fields_do_not_depend_on_threads_or_runs() {
    println!("seed {SEED:#x}");
    let mut seen = Vec::new();
    for (name, mesh) in meshes() {
        for encoding in [Encoding::Float, Encoding::Scaled { precision: None }] {
            let build = |threads| {
                let params = FieldParams { encoding, threads, keep_triangles: true, ..Default::default() };
                let field = Field::build(&mesh, voxel(&mesh, 72), &params).unwrap();
                par::with_threads(threads, || field_hash(&field))
            };
            let one = build(1);
            println!("{name} {encoding:?}: {one:?}");
            for threads in [1, 2, 3, 4, 5] {
                assert_eq!(build(threads), one, "{name} with {threads} threads");
            }
            seen.push(one.0);
        }
    }
    // The hash sees the field: no two of these are alike.
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 2 * meshes().len());
}

#[test]
fn voxel_maps_do_not_depend_on_threads_or_runs() {
    let mut seen = Vec::new();
    for (name, mesh) in meshes() {
        let build = |threads| {
            let params = VoxmapParams { threads, ..Default::default() };
            voxmap_hash(&Voxmap::build(&mesh, voxel(&mesh, 64), &params).unwrap())
        };
        let one = build(1);
        println!("{name}: {one:?}");
        for threads in [1, 2, 3, 4, 5] {
            assert_eq!(build(threads), one, "{name} with {threads} threads");
        }
        seen.push(one.0);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), meshes().len());
}

#[test]
fn simd_gives_the_bits_of_the_plain_loop() {
    println!("seed {SEED:#x}");
    for (name, mesh) in meshes() {
        for encoding in ENCODINGS {
            let params = FieldParams { encoding, ..Default::default() };
            let field = Field::build(&mesh, voxel(&mesh, 64), &params).unwrap();
            let mut points = relative(&field, &points(&field, 30_000));
            for (i, bad) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -0.0].into_iter().enumerate() {
                points[1_001 * (i + 1)][i % 3] = bad;
            }
            let (mut fast, mut plain) = (vec![0.0f32; points.len()], vec![0.0f32; points.len()]);
            field.distances(&points, &mut fast);
            field.distances_plain(&points, &mut plain);
            // Of two NaNs the payload may differ: they are one answer.
            let bits = |d: &f32| if d.is_nan() { u32::MAX } else { d.to_bits() };
            for (i, (a, b)) in fast.iter().zip(&plain).enumerate() {
                assert_eq!(bits(a), bits(b), "{name} {encoding:?} at {}: {a}, {b}", points[i]);
            }
            // Every remainder of a block of eight, and none at all.
            for count in 0..20 {
                let mut few = vec![0.0f32; count];
                field.distances_here(&points[7..7 + count], &mut few);
                let same = few.iter().zip(&fast[7..]).all(|(a, b)| bits(a) == bits(b));
                assert!(same, "{name} {encoding:?}: {count} points alone differ");
            }
        }
    }
}

#[test]
fn batches_are_single_samples() {
    println!("seed {SEED:#x}");
    for (name, mesh) in meshes() {
        for encoding in ENCODINGS {
            let params = FieldParams { encoding, ..Default::default() };
            let field = Field::build(&mesh, voxel(&mesh, 64), &params).unwrap();
            let points = points(&field, 20_000);
            let mut batch = vec![Sample::UNDEFINED; points.len()];
            field.sample_batch(&points, &mut batch);
            let mut fast = vec![0.0f32; points.len()];
            field.distances(&relative(&field, &points), &mut fast);
            // f32 coordinates move a point by at most half an ulp of the box on each axis, f32 arithmetic adds a few ulps.
            let rounding = f64::from(f32::EPSILON) * 1.2 * field.lattice().aabb().extent().length();
            // A point on a seam may be read from either side; 16-bit nodes there differ by the rounding of both.
            let far = field.lattice().aabb().extent().length();
            let seam = match encoding {
                Encoding::Float => 0.0,
                Encoding::Scaled { precision: None } => far / 32766.0,
                Encoding::Scaled { precision: Some(p) } => 0.1f64.powi(p as i32),
                Encoding::Layered => field.lattice().voxel,
            };
            for ((p, s), d) in points.iter().zip(&batch).zip(&fast) {
                assert_eq!(*s, field.sample(*p), "{name} {encoding:?} at {p}");
                let limit = 4.0 * rounding * field.report().lipschitz.max(1.0) + seam;
                assert!(
                    (s.distance - f64::from(*d)).abs() <= limit,
                    "{name} {encoding:?} at {p}: {d}, {s:?}"
                );
            }
        }
    }
}
