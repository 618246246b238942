//! The referee for two meshes against other people's exact programs, and their nearest points of a cloud against all of its
//! points, where they are installed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::mesh::{RawMesh, samples};
use palpate_lab::bench::peer::{Peer, Request};
use palpate_lab::oracle::{PairOracle, Random, Relation};
use palpate_lab::{models, poses};
use std::path::PathBuf;

/// A temporary folder, removed with its handle.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("palpate-peers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn random_poses(count: usize, spread: f64, seed: u64) -> Vec<Pose> {
    let mut random = Random::new(seed);
    let mut pose = || {
        let axis = random.in_ball().try_normalize().unwrap_or(DVec3::X);
        let rotation = DQuat::from_axis_angle(axis, random.unit() * std::f64::consts::TAU);
        Pose::new(rotation, spread * random.in_ball())
    };
    (0..count).map(|_| pose()).collect()
}

/// What the peer answers to each pose.
fn ask(peer: &mut Peer, folder: &Folder, kind: &str, scale: f64, set: &[Pose]) -> Vec<f64> {
    poses::write_csv(set, folder.file("poses.csv").as_ref()).unwrap();
    let request = Request {
        job: "pair".into(),
        mesh: folder.file("a.raw"),
        mesh_b: folder.file("b.raw"),
        poses: folder.file("poses.csv"),
        kind: kind.into(),
        scale,
        repeat: 1,
        ..Default::default()
    };
    let reply = peer.ask(&request).unwrap();
    assert_eq!(reply.count, set.len() as u64);
    assert!(reply.micros.len() == set.len() && reply.micros.iter().all(|us| *us > 0.0));
    reply.values
}

fn agrees(name: &str) {
    let mut peer = match Peer::start(name) {
        Ok(peer) => peer,
        Err(missing) => {
            println!("skipped: {name} is {missing}");
            return;
        }
    };
    let folder = Folder::new(name);
    // What the peer reads, rounded to f32, is what the referee is asked about.
    let shapes =
        [samples::torus_knot(2, 3, 0.06, 0.02, 0.012, 360, 24), samples::bumpy_sphere(0.03, 0.004, 6, 4, 1)];
    let read = |(mesh, file): (&RawMesh, &str)| {
        let file = folder.file(file);
        models::write_raw(mesh, file.as_ref()).unwrap();
        models::read_raw(file.as_ref()).unwrap()
    };
    let [a, b] = [(&shapes[0], "a.raw"), (&shapes[1], "b.raw")].map(read);
    let pair = PairOracle::new(&a, &b).unwrap();
    let all = random_poses(150, 0.13, 1);
    let relations = pair.relation_batch(&all);
    let crossing: Vec<bool> = relations.iter().map(|r| *r == Relation::Crossing).collect();
    let touching = crossing.iter().filter(|c| **c).count();
    assert!((30..=100).contains(&touching), "{touching} of 150 poses cross");
    let counts: Vec<f64> = all.iter().map(|p| pair.crossings(p).len() as f64).collect();
    let free: Vec<Pose> = all
        .iter()
        .zip(&relations)
        .filter(|(_, r)| **r == Relation::Apart)
        .map(|(p, _)| *p)
        .take(50)
        .collect();
    assert_eq!(free.len(), 50);
    let distances: Vec<f64> = pair.distance_batch(&free).iter().map(|s| s.distance).collect();
    // In units in which its absolute tolerances are small; coal's are large for shapes of centimetres in metres.
    for scale in [1.0, 100.0] {
        let found = ask(&mut peer, &folder, "distance", scale, &free);
        for (pose, (d, exact)) in free.iter().zip(found.iter().zip(&distances)) {
            assert!((d - exact).abs() < 1e-12, "{name} ×{scale}: {d} {exact} {pose:?}");
        }
    }
    let found: Vec<bool> = ask(&mut peer, &folder, "boolean", 100.0, &all).iter().map(|n| *n > 0.0).collect();
    assert_eq!(found, crossing, "{name}");
    assert_eq!(ask(&mut peer, &folder, "contacts", 100.0, &all), counts, "{name}");
}

#[test]
fn the_referee_agrees_with_fcl() {
    agrees("fcl");
}

#[test]
fn the_referee_agrees_with_coal() {
    agrees("coal");
}

/// Every distance that the peer gives, in each kind and with each leaf, against the least over all points.
fn finds_the_nearest(name: &str, ways: &[(&str, usize)]) {
    let mut peer = match Peer::start(name) {
        Ok(peer) => peer,
        Err(missing) => {
            println!("skipped: {name} is {missing}");
            return;
        }
    };
    let folder = Folder::new(&format!("cloud-{name}"));
    // A surface on a grid, with equal coordinates and equally near points, and probes on both sides of it and far away.
    let mut random = Random::new(3);
    let at = |x: f64, y: f64| DVec3::new(x, y, x.cos() + y.cos());
    let cloud: Vec<DVec3> =
        (0..4900).map(|i| at(0.05 * f64::from(i % 70), 0.05 * f64::from(i / 70))).collect();
    let mut probe = |i: usize| {
        let off = if i.is_multiple_of(10) { 5.0 } else { random.unit() - 0.5 };
        at(3.45 * random.unit(), 3.45 * random.unit()) + off * DVec3::Z
    };
    let probes: Vec<DVec3> = (0..200).map(&mut probe).collect();
    // What the peer reads, rounded to f32, is what all points are asked about.
    let read = |(points, file): (&[DVec3], &str)| {
        let file = folder.file(file);
        models::write_points(points, file.as_ref()).unwrap();
        models::read_points(file.as_ref()).unwrap()
    };
    let [cloud, probes] = [(&cloud[..], "cloud"), (&probes[..], "probes")].map(read);
    let least = |p: &DVec3| cloud.iter().map(|q| q.distance_squared(*p)).fold(f64::INFINITY, f64::min);
    let exact: Vec<f64> = probes.iter().map(least).collect();
    for (kind, leaf) in ways {
        let request = Request {
            job: "nearest".into(),
            cloud: folder.file("cloud"),
            points: folder.file("probes"),
            out: folder.file("out"),
            kind: (*kind).into(),
            leaf: *leaf,
            threads: 1,
            repeat: 2,
            ..Default::default()
        };
        let reply = peer.ask(&request).unwrap();
        let found = models::read_distances(folder.file("out").as_ref()).unwrap();
        assert_eq!((reply.count, found.len()), (200, 200), "{name} {kind}");
        for (d, square) in found.iter().zip(&exact) {
            assert!((f64::from(*d) - square.sqrt()).abs() < 1e-6, "{name} {kind}: {d} {}", square.sqrt());
        }
        let sum: f64 = exact.iter().sum();
        assert!((reply.values[0] / sum - 1.0).abs() < 1e-6, "{name} {kind}: {:?} {sum}", reply.values);
        assert!(reply.mean_micros > 0.0 && reply.seconds.len() == 2, "{name} {kind}");
        assert_eq!(reply.micros.len(), if *kind == "batch" { 0 } else { 200 }, "{name} {kind}");
    }
    // What it cannot do is said, and it goes on.
    let odd = Request { job: "nearest".into(), cloud: folder.file("none"), ..Default::default() };
    assert!(peer.ask(&odd).is_err() && peer.ask(&Request { kind: "odd".into(), ..odd }).is_err(), "{name}");
    assert!(peer.ask(&Request { job: "hello".into(), ..Default::default() }).is_ok(), "{name}");
}

#[test]
fn nanoflann_finds_the_nearest_point_of_a_cloud() {
    finds_the_nearest("nanoflann", &[("single", 10), ("single", 32)]);
}

#[test]
fn kiddo_finds_the_nearest_point_of_a_cloud() {
    finds_the_nearest("kiddo", &[("immutable", 0), ("mutable", 0)]);
}

#[test]
fn scipy_finds_the_nearest_point_of_a_cloud() {
    finds_the_nearest("scipy", &[("batch", 0), ("single", 32)]);
}

#[test]
fn open3d_finds_the_nearest_point_of_a_cloud() {
    finds_the_nearest("open3d", &[("batch", 0), ("single", 0)]);
}
