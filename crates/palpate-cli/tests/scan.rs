//! `palpate solid` and `palpate press`, as a user runs them: scans become meshes that every command takes, and meet parts.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, answer, has_keys, number, palpate, refuses, stdout, vector};
use std::f64::consts::PI;
use std::fmt::Write;

fn rows(points: impl Iterator<Item = [f64; 3]>) -> String {
    points.fold(String::new(), |mut s, [x, y, z]| {
        let _ = writeln!(s, "{x} {y} {z}");
        s
    })
}

/// Points all around a ball, evenly.
fn ball(n: usize, radius: f64) -> String {
    rows((0..n).map(|i| {
        let z = 1.0 - 2.0 * (i as f64 + 0.5) / n as f64;
        let (turn, r) = (PI * (1.0 + 5f64.sqrt()) * i as f64, (1.0 - z * z).sqrt());
        [radius * r * turn.cos(), radius * r * turn.sin(), radius * z]
    }))
}

/// A square of points around the origin, 1 mm apart.
fn plate(n: i32) -> String {
    let at = |i: i32| 1e-3 * (f64::from(i) - 0.5 * f64::from(n - 1));
    rows((0..n * n).map(|k| [at(k % n), at(k / n), 0.0]))
}

#[test]
fn a_scan_all_around_becomes_a_closed_mesh() {
    let folder = Folder::new("closed");
    let scan = folder.write("ball.xyz", ball(3000, 0.05));
    let out = folder.path("ball.stl");
    let json = answer(&["solid", &scan, "-o", &out]);
    has_keys(
        &json,
        "scan triangles volume spacing voxel components holes confidence residual facing output warnings",
    );
    let volume = 4.0 / 3.0 * PI * 0.05f64.powi(3);
    assert!((number(&json["volume"]) / volume - 1.0).abs() < 0.01, "{json}");
    assert!(number(&json["confidence"]) > 0.9);
    assert_eq!((&json["components"], &json["facing"]), (&1.into(), &"what it encloses".into()));
    // Every other command takes it.
    let mesh = answer(&["inspect", &out]);
    assert_eq!(mesh["watertight"], true);
    assert_eq!(mesh["triangles"], json["triangles"]);
}

#[test]
fn a_scan_of_one_side_becomes_a_sheet_or_says_what_is_missing() {
    let folder = Folder::new("sheet");
    let scan = folder.write("plate.csv", plate(40));
    let out = folder.path("plate.ply");
    let json = answer(&["solid", &scan, "--sheet", "4mm", "-o", &out]);
    // 39 mm, and somewhat more at the border.
    let least = 0.039 * 0.039 * 0.004;
    let volume = number(&json["volume"]);
    assert!(volume > least && volume < 1.35 * least, "{volume} {least}");
    let text = stdout(&palpate(&["solid", &scan, "--sheet", "4mm", "-o", &out]));
    assert!(text.contains("1,600") && text.contains("plate.ply"), "{text}");
    refuses(&["solid", &scan, "-o", &out], &["enclose"]);
    refuses(&["solid", &scan, "--sheet", "1um", "-o", &out], &["hold together", "or more"]);
    refuses(&["solid", &scan, "-o", &folder.path("plate.xyz")], &["xyz", ".stl"]);
    refuses(&["solid", &scan, "--support", "0.1", "-o", &out], &["support", "1.5 to 20"]);
    refuses(&["solid", &folder.path("none.xyz"), "-o", &out], &["none.xyz"]);
    let line = folder.write("two.xyz", "0 0 0\n1 0 0\n");
    refuses(&["solid", &line, "-o", &out], &["two.xyz"]);
}

#[test]
fn a_scan_meets_a_part_where_its_points_are_inside() {
    let folder = Folder::new("press");
    let scan = folder.write("plate.xyz", plate(30));
    // The plate of 29 mm lies 5 mm below the top of a cuboid of 80 x 60 x 40 mm: all points are inside.
    let top = 0.04 / 2.0;
    let part = ["press", "sample:cuboid", &scan, "--resolution", "80"];
    let ask = |z: f64, more: &[&str]| {
        let pose = format!("0 0 {z}");
        answer(&[&part[..], &["--pose", &pose], more].concat())
    };
    let inside = ask(top - 0.005, &["--stiffness", "1e8"]);
    has_keys(
        &inside,
        "intersects distance distance_bound contact_count contact_area contacts force torque micros",
    );
    assert_eq!((&inside["intersects"], &inside["contact_count"]), (&true.into(), &900.into()));
    assert!((number(&inside["distance"]) + 0.005).abs() < 1e-4, "{}", inside["distance"]);
    let contacts = inside["contacts"].as_array().unwrap();
    let mut ids: Vec<u64> = contacts.iter().map(|c| c["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..900), "contacts name the points of the file");
    // The scan is pushed out: stiffness, area and depth.
    let area = number(&inside["contact_area"]);
    assert!((area / (0.03 * 0.03) - 1.0).abs() < 0.05, "{area}");
    let [x, y, z] = vector(&inside["force"]);
    assert!((z / (1e8 * area * 0.005) - 1.0).abs() < 0.02 && x.abs() + y.abs() < 0.01 * z, "{x} {y} {z}");

    let apart = ask(top + 0.003, &[]);
    assert_eq!((&apart["intersects"], &apart["contact_count"]), (&false.into(), &0.into()));
    assert!((number(&apart["distance"]) - 0.003).abs() < 1e-6);
    assert!(apart["force"].is_null());

    let poses = folder.write("poses.csv", "0,0,0.015,0,0,0,1\n0,0,0.023,0,0,0,1\n");
    let many = answer(&[&part[..], &["--poses", &poses]].concat());
    let counts: Vec<_> = many["results"].as_array().unwrap().iter().map(|r| &r["contact_count"]).collect();
    assert_eq!(counts, [&900, &0]);
    refuses(&["press", "sample:cuboid", &scan, "--pose", "a b c"], &["--pose"]);
    refuses(&["press", &scan, &scan], &["plate.xyz"]);
}
