//! Fields built on the device against those of the CPU.
//!
//! Referees: `Field::build` with exact background and bricks (exact in the band; outside it up to 0.1 voxel too large), and the exact
//! closest point of every node that is not interpolated.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]
#![expect(clippy::print_stdout, reason = "what was skipped is said")]

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
        // Its middle is as far from every triangle, and all of a cell's would not fit a list: searches that must go on without.
        ("fine sphere", samples::sphere(0.05, 6)),
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
        // A needle is thinner than a voxel.
        let nothing = cpu.report().sign_method == SignMethod::Unsigned || name == "needle";
        assert!(nothing || seen.inside > 20, "{name}: {} nodes inside", seen.inside);
        // The report on the device is that of the field read back.
        assert_eq!(built.bricks, field.report().bricks);
        let (a, b) = (built.report.lipschitz, field.report().lipschitz);
        assert!((a - b).abs() < 1e-4 * b, "{name}: steepness {a} on the device, {b} here");
        assert!((b - cpu.report().lipschitz).abs() < 0.25, "{name}: {b}, {}", cpu.report().lipschitz);
        assert!(field.report().error_bound_band <= cpu.report().error_bound_band + 1e-9);
    }
}

/// A part of a millimetre and one of a kilometre have the same nodes, in voxels, and so has one far from the origin.
#[test]
fn millimetres_and_kilometres_behave_alike() {
    let Some(gpu) = open() else { return };
    let builder = FieldBuilder::new(&gpu).unwrap();
    let raw = samples::gear(12, 0.003, 0.01, 2);
    for (name, factor, moved) in [("mm", 0.03, 0.0), ("km", 3e4, 0.0), ("far", 1.0, 50.0)] {
        let mesh = mesh(samples::moved(scaled(&raw, factor), DVec3::splat(moved)));
        let voxel = mesh.aabb().extent().max_element() / 30.7;
        let params = FieldParams { band: 1.5, ..Default::default() };
        let source = GpuMeshSource::new(&gpu, &mesh).unwrap();
        let field = builder.build(&source, voxel, &params, &Silent).unwrap().read(&gpu).unwrap();
        let (cpu, exact) = on_cpu(&mesh, voxel, &params);
        let seen = compare(name, &field, &cpu, &exact, 1.5 + 1.38);
        assert!(seen.band > 3000 && seen.inside > 1000, "{name}: {} {}", seen.band, seen.inside);
    }
}

/// Every choice of sign is the CPU's, also on a surface whose hole is left open, where only sets of nodes can decide.
#[test]
fn sides_are_told_as_the_cpu_tells_them() {
    let Some(gpu) = open() else { return };
    let builder = FieldBuilder::new(&gpu).unwrap();
    let cases = [
        ("sphere by winding", samples::bumpy_sphere(0.05, 0.008, 6, 3, 1), SignChoice::Winding, true),
        ("gear by winding", samples::gear(12, 0.003, 0.01, 2), SignChoice::Winding, true),
        ("open cube left open", samples::cube_missing_face(0.05), SignChoice::Auto, false),
        ("crossing cubes", samples::two_overlapping_cubes(0.05), SignChoice::Auto, true),
        ("unsigned", samples::nut(8), SignChoice::Unsigned, true),
    ];
    for (name, raw, sign, cap_holes) in cases {
        let mesh = mesh(raw);
        let voxel = mesh.aabb().extent().max_element() / 29.9;
        let params = FieldParams { sign, cap_holes, ..Default::default() };
        let source = GpuMeshSource::with_caps(&gpu, &mesh, cap_holes).unwrap();
        let field = builder.build(&source, voxel, &params, &Silent).unwrap().read(&gpu).unwrap();
        let (cpu, exact) = on_cpu(&mesh, voxel, &params);
        let (a, b) = (field.report(), cpu.report());
        assert_eq!(a.sign_method, b.sign_method, "{name}");
        assert!((a.sign_confidence - b.sign_confidence).abs() < 0.2, "{name}: {a:?} {b:?}");
        compare(name, &field, &cpu, &exact, 4.38);
    }
}

/// Where the pseudonormal is asked for but contradicts itself, the winding number decides: at least as many nodes are then on its
/// side as on the CPU, which leaves background nodes alone that only a brick contradicts.
#[test]
fn contradictions_are_repaired() {
    let Some(gpu) = open() else { return };
    let mut builder = FieldBuilder::new(&gpu).unwrap();
    let mesh = mesh(samples::two_overlapping_cubes(0.05));
    let voxel = mesh.aabb().extent().max_element() / 29.9;
    let with = |sign| FieldParams { sign, ..Default::default() };
    let (truth, _) = on_cpu(&mesh, voxel, &with(SignChoice::Winding));
    let (cpu, _) = on_cpu(&mesh, voxel, &with(SignChoice::Pseudonormal));
    let source = GpuMeshSource::new(&gpu, &mesh).unwrap();
    let built = builder.build(&source, voxel, &with(SignChoice::Pseudonormal), &Silent).unwrap();
    let field = built.read(&gpu).unwrap();
    assert!(field.report().sign_repaired > 0 && cpu.report().sign_repaired > 0);
    let wrong = |f: &Field| {
        let pairs = f.nodes().unwrap().1.iter().zip(truth.nodes().unwrap().1);
        pairs.filter(|(a, b)| (**a < 0.0) != (**b < 0.0) && f64::from(b.abs()) > 1e-3 * voxel).count()
    };
    println!("repaired: {} other sides than the winding number's, on the CPU {}", wrong(&field), wrong(&cpu));
    assert!(wrong(&field) <= wrong(&cpu));
    // In many rounds of few cells: the same.
    builder.cells_at_once = 2;
    assert!(field.report().sign_repaired > 2 * 6);
    let again = builder.build(&source, voxel, &with(SignChoice::Pseudonormal), &Silent).unwrap();
    assert_eq!(again.report.sign_repaired, field.report().sign_repaired);
    assert_eq!(again.read(&gpu).unwrap().nodes().unwrap(), field.nodes().unwrap());
}

/// The volume holds what samples of the field give at its nodes; two builds give the same bits, with stages apart or together.
#[test]
fn the_volume_is_the_field_and_builds_repeat() {
    let Some(gpu) = open() else { return };
    let mut builder = FieldBuilder::new(&gpu).unwrap();
    let mesh = mesh(samples::bolt(8));
    let voxel = mesh.aabb().extent().max_element() / 30.3;
    let source = GpuMeshSource::new(&gpu, &mesh).unwrap();
    let params = FieldParams::default();
    let built = builder.build(&source, voxel, &params, &Silent).unwrap();
    let field = built.read(&gpu).unwrap();
    builder.separate_stages = true;
    builder.cells_at_once = 7;
    // Another grid in between: what it leaves in shared memory must not show.
    builder.build(&source, voxel * 0.7, &params, &Silent).unwrap();
    let again = builder.build(&source, voxel, &params, &Silent).unwrap().read(&gpu).unwrap();
    let bits = |f: &Field| f.nodes().unwrap().1.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert!(bits(&field) == bits(&again), "two builds differ");

    let volume = built.dense(&gpu).unwrap();
    built.dense_into(&gpu, &volume).unwrap();
    let other = builder.build(&source, voxel * 0.7, &params, &Silent).unwrap();
    assert!(other.dense_into(&gpu, &volume).is_err(), "a volume of another grid");
    let size = volume.size();
    let dims = field.lattice().dims().map(|d| d + 1);
    assert_eq!([size.width, size.height, size.depth_or_array_layers], dims);
    let row = (4 * dims[0]).next_multiple_of(256);
    let staging = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row * dims[1] * dims[2]),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let layout =
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: Some(dims[1]) };
    encoder.copy_texture_to_buffer(
        volume.as_image_copy(),
        wgpu::TexelCopyBufferInfo { buffer: &staging, layout },
        size,
    );
    gpu.queue().submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |r| r.unwrap());
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let view = staging.get_mapped_range(..).unwrap();
    let l = field.lattice();
    let mut worst = 0.0f64;
    for n in 0..dims.iter().product::<u32>() {
        let at = [n % dims[0], n / dims[0] % dims[1], n / dims[0] / dims[1]];
        let byte = ((at[2] * dims[1] + at[1]) * row + 4 * at[0]) as usize;
        let v = f64::from(f32::from_le_bytes(view[byte..byte + 4].try_into().unwrap()));
        let p = l.origin + DVec3::from_array(at.map(f64::from)) * l.voxel;
        worst = worst.max((field.sample(p).distance / l.voxel - v).abs());
    }
    assert!(worst < 2e-5, "the volume is off by {worst} voxels");
}

/// Asks to stop at its n-th stage.
struct StopAt(usize, AtomicUsize);

impl Progress for StopAt {
    fn stage(&self, _name: &'static str, _steps: u64) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
    fn advance(&self, _steps: u64) {}
    fn cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed) >= self.0
    }
}

/// Bad input gets the CPU's errors; a build can be stopped at every stage, and the next one is whole.
#[test]
fn errors_are_those_of_the_cpu() {
    let Some(gpu) = open() else { return };
    let builder = FieldBuilder::new(&gpu).unwrap();
    let mesh = mesh(samples::nut(6));
    let source = GpuMeshSource::new(&gpu, &mesh).unwrap();
    let voxel = mesh.aabb().extent().max_element() / 20.0;
    let good = FieldParams::default();
    let with = |f: &dyn Fn(&mut FieldParams)| {
        let mut p = good.clone();
        f(&mut p);
        p
    };
    let bad = [
        (0.0, good.clone()),
        (-1.0, good.clone()),
        (f64::NAN, good.clone()),
        (f64::INFINITY, good.clone()),
        (voxel * 1e-6, good.clone()),
        (voxel, with(&|p| p.band = 0.1)),
        (voxel, with(&|p| p.padding = f64::NAN)),
        (voxel, with(&|p| p.max_memory = Some(1000))),
    ];
    for (voxel, params) in bad {
        let here = Field::build(&mesh, voxel, &params).unwrap_err();
        let there = builder.build(&source, voxel, &params, &Silent).unwrap_err();
        // NaN in an error is not equal to itself.
        assert_eq!(there.to_string(), BuildError::Field(here).to_string());
    }
    let kept = builder.build(&source, voxel, &with(&|p| p.keep_triangles = true), &Silent);
    assert!(matches!(kept, Err(BuildError::Gpu(GpuError::BadParameter { name: "keep_triangles", .. }))));
    let stages = StopAt(usize::MAX, AtomicUsize::new(0));
    let whole = builder.build(&source, voxel, &good, &stages).unwrap();
    let count = stages.1.load(Ordering::Relaxed);
    assert!(count >= 4, "{count} stages");
    for n in 1..=count {
        let stopped = builder.build(&source, voxel, &good, &StopAt(n, AtomicUsize::new(0)));
        assert_eq!(stopped.err(), Some(BuildError::Field(FieldError::Cancelled)), "stage {n}");
    }
    let again = builder.build(&source, voxel, &good, &Silent).unwrap();
    assert_eq!(whole.read(&gpu).unwrap().nodes().unwrap(), again.read(&gpu).unwrap().nodes().unwrap());
    // 16-bit values, as the parameters of the build say.
    let coded = with(&|p| p.encoding = Encoding::Scaled { precision: None });
    let coded = builder.build(&source, voxel, &coded, &Silent).unwrap().read(&gpu).unwrap();
    assert_eq!(coded.encoding(), Encoding::Scaled { precision: None });
    assert!(coded.report().excess_bricks > again.report.excess_bricks);
}

/// Nodes that do not fit together make no field.
#[test]
fn nodes_are_checked() {
    let mesh = mesh(samples::nut(6));
    let voxel = mesh.aabb().extent().max_element() / 20.0;
    let params = FieldParams::default();
    let field = Field::build(&mesh, voxel, &params).unwrap();
    let known = palpate::field::parts::NodesReport {
        sign_method: SignMethod::Pseudonormal,
        sign_confidence: 1.0,
        sign_repaired: 0,
        holes: Vec::new(),
        surface: mesh.aabb(),
        rounding: 1e-4,
    };
    let (directory, values) = field.nodes().unwrap();
    let values: Vec<f32> = values.iter().map(|v| v / voxel as f32).collect();
    let make = |d: Vec<i32>, v: Vec<f32>| Field::from_nodes(field.lattice(), d, v, &params, &known);
    let same = make(directory.to_vec(), values.clone()).unwrap();
    assert!((same.report().lipschitz - field.report().lipschitz).abs() < 1e-4);
    let mut short = directory.to_vec();
    short.pop();
    let mut swapped = directory.to_vec();
    let first = swapped.iter().position(|d| *d >= 0).unwrap();
    swapped[first] += 729;
    let mut broken = values.clone();
    broken[5] = f32::NAN;
    for (d, v) in [
        (short, values.clone()),
        (swapped, values.clone()),
        (directory.to_vec(), values[1..].to_vec()),
        (directory.to_vec(), broken),
    ] {
        assert!(matches!(make(d, v), Err(FieldError::BadNodes { .. })));
    }
}

/// Scans, in the folder that PALPATE_MODELS names.
#[test]
fn scans_are_as_on_the_cpu() {
    let Some(gpu) = open() else { return };
    let Ok(folder) = std::env::var("PALPATE_MODELS") else {
        println!("skipped: PALPATE_MODELS names no folder");
        return;
    };
    let builder = FieldBuilder::new(&gpu).unwrap();
    for name in ["bunny.obj", "cow.obj"] {
        let path = std::path::Path::new(&folder).join(name);
        if !path.exists() {
            println!("skipped: no {name}");
            continue;
        }
        let mesh = Mesh::load(path, 1.0).unwrap();
        let voxel = mesh.aabb().extent().max_element() / 32.0;
        let params = FieldParams { band: 1.5, ..Default::default() };
        let source = GpuMeshSource::new(&gpu, &mesh).unwrap();
        let field = builder.build(&source, voxel, &params, &Silent).unwrap().read(&gpu).unwrap();
        let (cpu, exact) = on_cpu(&mesh, voxel, &params);
        let seen = compare(name, &field, &cpu, &exact, 1.5 + 1.38);
        assert_eq!(field.report().sign_method, cpu.report().sign_method);
        println!("{name}: off by {:.1e} in the band, {:.1e} outside", seen.worst, seen.worst_far);
    }
}
