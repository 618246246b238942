use super::*;
use crate::math::Pose;
use crate::mesh::{Mesh, samples};
use crate::shape::Shape;
use glam::{DQuat, DVec3};

fn shape(name: &str) -> Shape {
    let mesh = Mesh::new(samples::by_name(name).expect("a sample"), &Default::default()).unwrap();
    let voxel = mesh.aabb().extent().max_element() / 60.0;
    Shape::build(mesh, voxel, &Default::default()).unwrap()
}

/// Everything a search says, bit for bit.
#[derive(Debug, PartialEq)]
struct Said {
    best: u32,
    floor: u32,
    point: Option<u32>,
    rivals: Vec<(u32, u32)>,
    stats: Stats,
    doubtful: Vec<u32>,
}

type Search = fn(&Bounds<'_, f32>, &mut Near<'_>);

/// The search, then the one that goes on from it with a limit that is `more` higher, and the same from the root.
fn searched(search: Search, field: &Shape, points: &Shape, pose: &Pose, more: f32) -> [Said; 3] {
    let Values::Float(values) = &field.field.values else { panic!("fields of shapes are not packed") };
    let view = Bounds::new(&field.field, &field.far, values, 1.0);
    let frame = Frame::new(&field.field, &points.tree, pose).expect("a finite pose");
    let (mut stack, mut trail) = (Vec::new(), Trail::default());
    trail.clear();
    let spacing = points.tree.shell.spacing as f32;
    let mut run = |best: f32, trail: Option<&mut Trail>, doubtful: bool| {
        let mut list = Vec::new();
        let mut s = Near {
            frame: &frame,
            tree: &points.tree,
            tolerance: if doubtful { 0.0 } else { 0.3 * spacing },
            share: if doubtful { f32::INFINITY } else { 0.05 },
            beside: if doubtful { 0.0 } else { spacing },
            best,
            point: None,
            rivals: Near::NO_RIVALS,
            floor: f32::INFINITY,
            doubtful: doubtful.then_some(&mut list),
            trail,
            stats: Stats::default(),
            stack: &mut stack,
        };
        search(&view, &mut s);
        let (best, floor, point, stats) = (s.best, s.floor.to_bits(), s.point, s.stats);
        let rivals = s.rivals.map(|(d, p)| (d.to_bits(), p)).to_vec();
        (best, Said { best: best.to_bits(), floor, point, rivals, stats, doubtful: list })
    };
    let (best, first) = run(f32::INFINITY, Some(&mut trail), false);
    assert!(!trail.full);
    let (_, on) = run(best + more * spacing, Some(&mut trail), true);
    let (_, anew) = run(best + more * spacing, None, true);
    [first, on, anew]
}

#[test]
fn the_scalar_search_gives_the_same_bits_and_going_on_misses_nothing() {
    let (a, b) = (shape("torus"), shape("bumpy-sphere"));
    let mut doubtful = 0;
    for i in 0..40 {
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, f64::from(i), 2.0 * f64::from(i), 0.5);
        let way = turn * DVec3::X * (0.11 + 0.003 * f64::from(i));
        let pose = Pose::new(turn, way);
        let more = 0.1 * (i % 8) as f32;
        let said = searched(near_float, &a, &b, &pose, more);
        assert_eq!(said, searched(near_float_plain, &a, &b, &pose, more), "pose {i}");
        let [_, on, anew] = said;
        assert!(f32::from_bits(on.floor) <= f32::from_bits(anew.floor), "pose {i}");
        assert!(anew.doubtful.iter().all(|p| on.doubtful.contains(p)), "pose {i}");
        doubtful += anew.doubtful.len();
    }
    assert!(doubtful > 100, "{doubtful} points in doubt");
}
