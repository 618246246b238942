//! Build statistics of a few samples as text, kept in `golden/`: a change shows what it changed.
//!
//! Numbers are rounded so that they are the same on every machine. After an intended change run with `PALPATE_BLESS=1`, or
//! paste the printed text.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{sample, voxel};
use palpate::field::{Encoding, FieldParams};
use palpate::voxmap::{Class, VoxmapParams};
use palpate::{Field, Mesh, Voxmap};
use std::fmt::Write;
use std::path::Path;

fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("PALPATE_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept == text {
        return;
    }
    let changed: Vec<String> = text
        .lines()
        .zip(kept.lines().chain(std::iter::repeat("")))
        .filter(|(new, old)| new != old)
        .map(|(new, old)| format!("  was {old}\n  now {new}"))
        .collect();
    println!("--- new tests/golden/{name}.txt ---\n{text}--- end ---");
    panic!("{name} differs from tests/golden/{name}.txt:\n{}", changed.join("\n"));
}

/// One line a field: what it took and what it promises, lengths in voxels.
fn field_line(name: &str, mesh: &Mesh, grid: u32, params: &FieldParams) -> String {
    let h = voxel(mesh, grid);
    let field = Field::build(mesh, h, params).unwrap();
    let r = field.report();
    let [x, y, z] = field.lattice().dims();
    format!(
        "{name} {grid}: dims {x}x{y}x{z} bricks {} bytes {} band {:.3} far {:.3} lipschitz {:.3} sign {} {:.3} repaired {} holes {} caps {}\n",
        r.bricks,
        r.bytes,
        r.error_bound_band / h,
        r.error_bound_far / h,
        r.lipschitz,
        r.sign_method.name(),
        r.sign_confidence,
        r.sign_repaired,
        r.holes.len(),
        r.caps()
    )
}

#[test]
fn fields() {
    let mut text = String::new();
    for (name, grid) in [
        ("cuboid", 64),
        ("gear", 96),
        ("bolt", 96),
        ("nut-and-bolt", 96),
        ("torus", 64),
        ("terrain", 96),
        ("cube-missing-face", 48),
        ("cube-half-flipped", 48),
        ("two-overlapping-cubes", 48),
        ("thin-fin", 64),
        ("sheet", 64),
    ] {
        text += &field_line(name, &sample(name), grid, &FieldParams::default());
    }
    compare("fields", &text);
}

#[test]
fn encodings() {
    let gear = sample("gear");
    let mut text = String::new();
    let scaled = |precision| Encoding::Scaled { precision };
    for encoding in [Encoding::Float, scaled(None), scaled(Some(4)), scaled(Some(5)), Encoding::Layered] {
        let params = FieldParams { encoding, ..Default::default() };
        text += &field_line(&format!("gear {encoding:?}"), &gear, 96, &params);
    }
    let params = FieldParams { keep_triangles: true, ..Default::default() };
    text += &field_line("gear with triangles", &gear, 96, &params);
    compare("encodings", &text);
}

#[test]
fn voxmaps() {
    let mut text = String::new();
    for (name, grid) in
        [("cuboid", 48), ("gear", 64), ("nut-and-bolt", 64), ("cube-missing-face", 40), ("sheet", 48)]
    {
        let mesh = sample(name);
        let map = Voxmap::build(&mesh, voxel(&mesh, grid), &VoxmapParams::default()).unwrap();
        let [nx, ny, nz] = map.grid().dims;
        let mut classes = [0u64; 3];
        let mut layers = [0u64; 7];
        for (k, j, i) in (0..nz).flat_map(|k| (0..ny).flat_map(move |j| (0..nx).map(move |i| (k, j, i)))) {
            classes[match map.class([i, j, k]) {
                Class::Outside => 0,
                Class::Surface => 1,
                Class::Inside => 2,
            }] += 1;
            if let Some(layer) = map.layer([i, j, k]) {
                layers[(layer + 3) as usize] += 1;
            }
        }
        let [outside, surface, inside] = classes;
        let leaks = map.fill_report().leaks;
        writeln!(
            text,
            "{name} {grid}: dims {nx}x{ny}x{nz} outside {outside} surface {surface} inside {inside} layers {layers:?} leaks {leaks}"
        )
        .unwrap();
    }
    compare("voxmaps", &text);
}
