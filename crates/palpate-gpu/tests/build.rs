//! Fields built on the device against those of the CPU.
//!
//! Referees: `Field::build` with exact background and bricks (exact in the band; outside it up to 0.1 voxel too large), and the exact
//! closest point of every node that is not interpolated.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use glam::DVec3;
use palpate::field::{Encoding, Exact, FieldError, FieldParams, SignChoice, SignMethod};
use palpate::mesh::{Mesh, RawMesh, samples};
use palpate::progress::{Progress, Silent};
use palpate::{Field, field::Lattice};
use palpate_gpu::{BuildError, FieldBuilder, Gpu, GpuError, GpuMeshSource, GpuParams};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How far a node may be from the exact distance at these small grids [voxels]: a vertex is rounded by 1e-5, a distance by as much.
const TOLERANCE: f64 = 2e-4;

/// The device, or none: then tests say so and pass, unless one is required.
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

fn mesh(raw: RawMesh) -> Mesh {
    Mesh::new(raw, &Default::default()).unwrap()
}

fn scaled(raw: &RawMesh, factor: f64) -> RawMesh {
    let positions = raw.positions.iter().map(|p| *p * factor).collect();
    RawMesh { positions, triangles: raw.triangles.clone() }
}

fn on_cpu(mesh: &Mesh, voxel: f64, params: &FieldParams) -> (Field, Exact) {
    let params = FieldParams { exact_background: true, exact_bricks: true, ..params.clone() };
    Field::build_with_exact(mesh, voxel, &params, &Silent).unwrap()
}

/// What was compared.
#[derive(Default)]
struct Seen {
    band: usize,
    inside: usize,
    worst: f64,
    worst_far: f64,
    bricks: usize,
}

/// Node `n` of those of a 9³ brick.
fn local(n: usize) -> [u32; 3] {
    [n % 9, n / 9 % 9, n / 81].map(|v| v as u32)
}

/// Whether a node of a brick interpolates the background: a corner, or on a face shared with a cell without a brick; or on the
/// border of the grid, where only the band is exact.
fn interpolates(l: &Lattice, directory: &[i32], cell: [u32; 3], at: [u32; 3]) -> bool {
    let c = l.cells.map(i64::from);
    if at.iter().all(|v| v % 8 == 0) {
        return true;
    }
    let mut any = false;
    for o in 0..27i64 {
        let o = [o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1];
        if (0..3).any(|i| o[i] != 0 && i64::from(at[i]) != 4 + 4 * o[i]) {
            continue;
        }
        let n: [i64; 3] = core::array::from_fn(|i| i64::from(cell[i]) + o[i]);
        any |= if (0..3).any(|i| n[i] < 0 || n[i] >= c[i]) {
            (0..3).any(|i| n[i] >= c[i])
        } else {
            directory[((n[2] * c[1] + n[1]) * c[0] + n[0]) as usize] < 0
        };
    }
    any
}

/// Compares every node. `side`: where signs must be the CPU's, by the CPU's distance [voxels].
fn compare(name: &str, gpu: &Field, cpu: &Field, exact: &Exact, band: f64) -> Seen {
    let l = gpu.lattice();
    assert_eq!(l, cpu.lattice(), "{name}");
    let ((gd, gv), (cd, cv)) = (gpu.nodes().unwrap(), cpu.nodes().unwrap());
    let missed = gd.iter().zip(cd).filter(|(g, c)| **c >= 0 && **g < 0).count();
    assert_eq!(missed, 0, "{name}: cells without a brick that the CPU refines");
    let mut seen = Seen::default();
    let corners: [usize; 3] = l.cells.map(|c| c as usize + 1);
    let voxel = l.voxel;
    let exactly = |n: [u32; 3]| {
        let p = l.origin + DVec3::from_array(n.map(f64::from)) * voxel;
        exact.closest(p, None).distance / voxel
    };
    let sides = |g: f64, c: f64, what: &str| {
        assert!((g < 0.0) == (c < 0.0) || c.abs() < 1e-3, "{name}: {what} is {g}, on the CPU {c}");
    };
    for n in 0..corners.iter().product::<usize>() {
        let at = [n % corners[0], n / corners[0] % corners[1], n / corners[0] / corners[1]];
        let (g, c) = (f64::from(gv[n]) / voxel, f64::from(cv[n]) / voxel);
        assert!((g.abs() - c.abs()).abs() < TOLERANCE, "{name}: background {at:?} is {g}, on the CPU {c}");
        sides(g, c, "background");
    }
    for (i, (&g, &c)) in gd.iter().zip(cd).enumerate() {
        let cells = l.cells;
        let cell = [i as u32 % cells[0], i as u32 / cells[0] % cells[1], i as u32 / cells[0] / cells[1]];
        seen.bricks += usize::from(g >= 0);
        if g >= 0 && c < 0 {
            // A node at the very edge of the band.
            let least =
                (0..729).map(|n| f64::from(gv[g as usize + n]).abs() / voxel).fold(f64::INFINITY, f64::min);
            assert!(least > band - TOLERANCE && least < band + 2e-3, "{name}: {cell:?} has a brick, {least}");
        }
        if g < 0 || c < 0 {
            continue;
        }
        for n in 0..729 {
            let at = local(n);
            let (d, e) = (f64::from(gv[g as usize + n]) / voxel, f64::from(cv[c as usize + n]) / voxel);
            sides(d, e, "a node");
            seen.inside += usize::from(d < 0.0);
            if interpolates(l, gd, cell, at) {
                continue;
            }
            if e.abs() <= band {
                seen.band += 1;
                seen.worst = seen.worst.max((d - e).abs().min((d.abs() - e.abs()).abs()));
                let off = (d.abs() - e.abs()).abs();
                assert!(off < TOLERANCE, "{name}: {cell:?} {at:?} is {d}, on the CPU {e}");
            } else if n % 7 == 0 {
                let node: [u32; 3] = core::array::from_fn(|k| 8 * cell[k] + at[k]);
                let off = (d.abs() - exactly(node)).abs();
                seen.worst_far = seen.worst_far.max(off);
                assert!(off < TOLERANCE, "{name}: {cell:?} {at:?} is {d}, truly {}", exactly(node));
                assert!(e.abs() - d.abs() < 0.1 + TOLERANCE, "{name}: {d}, on the CPU {e}");
            }
        }
    }
    seen
}

/// Two cubes that cross each other and a third without a face inside one: no method is sure, the winding number decides.
fn soup() -> RawMesh {
    let open = samples::moved(samples::cube_missing_face(0.03), DVec3::splat(0.08));
    samples::joined(&[samples::two_overlapping_cubes(0.05), open])
}

fn shapes() -> Vec<(&'static str, RawMesh)> {
    vec![
        ("bumpy sphere", samples::bumpy_sphere(0.05, 0.008, 6, 4, 1)),
        ("gear", samples::gear(12, 0.003, 0.01, 4)),
        ("bolt", samples::bolt(12)),
        ("nut", samples::nut(12)),
        ("open cube", samples::cube_missing_face(0.05)),
        ("sheet", samples::sheet(20)),
        ("soup", soup()),
        ("fin", samples::thin_fin(0.0005)),
        ("needle", samples::needle(0.1, 0.0005)),
        ("doubled cube", samples::cube_doubled_faces(0.05)),
    ]
}

#[test]
fn nodes_are_those_of_the_cpu() {
    let Some(gpu) = open() else { return };
    let builder = FieldBuilder::new(&gpu).unwrap();
    let params = FieldParams::default();
    for (name, raw) in shapes() {
        let mesh = mesh(raw);
        let voxel = mesh.aabb().extent().max_element() / 41.3;
        let source = GpuMeshSource::new(&gpu, &mesh).unwrap();
        let built = builder.build(&source, voxel, &params, &Silent).unwrap();
        let field = built.read(&gpu).unwrap();
        let (cpu, exact) = on_cpu(&mesh, voxel, &params);
        assert_eq!(field.report().sign_method, cpu.report().sign_method, "{name}");
        let seen = compare(name, &field, &cpu, &exact, 4.38);
        println!(
            "{name}: {} bricks (CPU {}), {} nodes in the band, off by {:.1e} there and {:.1e} outside, {:?}",
            seen.bricks,
            cpu.report().bricks,
            seen.band,
            seen.worst,
            seen.worst_far,
            field.report().sign_method,
        );
        assert!(seen.band > 3000, "{name}: only {} nodes in the band", seen.band);
        let unsigned = cpu.report().sign_method == SignMethod::Unsigned;
        assert!(unsigned || seen.inside > 20, "{name}: {} nodes inside", seen.inside);
        // The report on the device is that of the field read back.
        assert_eq!(built.bricks, field.report().bricks);
        let (a, b) = (built.report.lipschitz, field.report().lipschitz);
        assert!((a - b).abs() < 1e-4 * b, "{name}: steepness {a} on the device, {b} here");
        assert!((b - cpu.report().lipschitz).abs() < 0.25, "{name}: {b}, {}", cpu.report().lipschitz);
        assert!(field.report().error_bound_band <= cpu.report().error_bound_band + 1e-9);
    }
}
