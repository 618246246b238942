//! Parts come to rest on every shape of Parry, and stay.

mod common;

use common::{bumpy, deepest, fixed, gear, moving, ring, world};
use palpate_rapier::{PalpateDispatcher, PalpateShape};
use parry3d::shape::{
    Cone, ConvexPolyhedron, Cuboid, Cylinder, HeightField, Polyline, RoundShape, Segment, Shape, SharedShape, Triangle,
    Voxels,
};
use parry3d::utils::Array2;
use rapier3d::prelude::*;

/// What a part does on a ground.
#[derive(Debug)]
struct Outcome {
    /// Largest speed of any of its points in the last second, about [m/s].
    speed: f32,
    /// How far it moved in the last second [m].
    drift: f32,
    /// Least distance of its points from the ground, by Parry [m].
    deepest: f32,
    height: f32,
    contacts: usize,
}

fn drop_on(part: &PalpateShape, ground: &SharedShape, pose: Pose, height: f32, first: bool) -> Outcome {
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.3);
    let at = Pose::new(Vector::Y * height, Vector::new(0.02, 0.0, 0.01));
    // Which of the two is inserted first decides which is Rapier's first.
    let body = if first { Some(moving(&mut world, part.clone(), at)) } else { None };
    fixed(&mut world, ground.clone(), pose);
    let body = body.unwrap_or_else(|| moving(&mut world, part.clone(), at));
    let radius = part.compute_local_bounding_sphere().radius;
    let (mut speed, mut before): (f32, Vector) = (0.0, Vector::ZERO);
    let (steps, last) = if std::env::var("LONG").is_ok() { (1200, 1140) } else { (240, 180) };
    for step in 0..steps {
        world.step();
        let b = &world.bodies[body];
        if step == last {
            before = b.translation();
        }
        if step >= last {
            speed = speed.max(b.linvel().length() + radius * b.angvel().length());
        }
    }
    let b = &world.bodies[body];
    let contacts = world.contact_pairs().map(|p| p.manifolds().iter().map(|m| m.points.len()).sum::<usize>()).sum();
    Outcome {
        speed,
        drift: (b.translation() - before).length(),
        deepest: deepest(part, b.position(), &**ground, &pose),
        height: b.translation().y,
        contacts,
    }
}

#[test]
fn explore() {
    let (gear, ring, bumpy) = (gear(), ring(), bumpy());
    let y = |y: f32| Pose::translation(0.0, y, 0.0);
    let cube: Vec<Vector> = (0..8)
        .map(|i| Vector::new((i & 1) as f32 - 0.5, (i >> 1 & 1) as f32 - 0.5, (i >> 2) as f32 - 0.5))
        .collect();
    let hull = ConvexPolyhedron::from_convex_hull(&cube).expect("a cube");
    let big = Triangle::new(Vector::new(-1.0, 0.0, -1.0), Vector::new(0.0, 0.0, 1.5), Vector::new(1.0, 0.0, -1.0));
    let round = |r: f32| r;
    let cases: Vec<(&str, SharedShape, Pose, &PalpateShape, f32)> = vec![
        ("ball", SharedShape::ball(0.25), y(0.0), &ring, 0.3),
        ("cuboid", SharedShape::cuboid(0.5, 0.5, 0.5), y(-0.5), &gear, 0.2),
        ("cuboid bumpy", SharedShape::cuboid(0.5, 0.5, 0.5), y(-0.5), &bumpy, 0.3),
        ("capsule", SharedShape::capsule_y(0.3, 0.2), y(0.0), &ring, 0.6),
        ("halfspace", SharedShape::halfspace(Vector::Y), y(0.0), &gear, 0.2),
        ("cylinder", SharedShape::new(Cylinder::new(0.5, 0.5)), y(-0.5), &gear, 0.2),
        ("cone", SharedShape::new(Cone::new(0.5, 0.5)), y(0.0), &ring, 0.6),
        ("hull", SharedShape::new(hull.clone()), y(-0.5), &gear, 0.2),
        ("round cuboid", SharedShape::round_cuboid(0.5, 0.5, 0.5, round(0.05)), y(-0.55), &gear, 0.2),
        ("round cylinder", SharedShape::round_cylinder(0.5, 0.5, 0.05), y(-0.55), &gear, 0.2),
        ("round cone", SharedShape::round_cone(0.5, 0.5, 0.05), y(0.0), &ring, 0.7),
        ("round hull", SharedShape::new(RoundShape { inner_shape: hull, border_radius: 0.05 }), y(-0.55), &gear, 0.2),
        ("triangle", SharedShape::new(big), y(0.0), &gear, 0.2),
        ("round triangle", SharedShape::new(RoundShape { inner_shape: big, border_radius: 0.05 }), y(-0.05), &gear, 0.2),
        ("segment", SharedShape::new(Segment::new(Vector::Z * -1.0, Vector::Z)), y(0.0), &gear, 0.2),
        ("polyline", SharedShape::new(Polyline::new(vec![Vector::new(-0.1, 0.0, -1.0), Vector::new(-0.1, 0.0, 1.0), Vector::new(0.1, 0.0, 1.0), Vector::new(0.1, 0.0, -1.0)], None)), y(0.0), &gear, 0.2),
        ("compound", SharedShape::compound(vec![(Pose::translation(-0.3, 0.0, 0.0), SharedShape::cuboid(0.28, 0.5, 0.5)), (Pose::translation(0.3, 0.0, 0.0), SharedShape::cuboid(0.28, 0.5, 0.5))]), y(-0.5), &gear, 0.2),
        ("trimesh", SharedShape::trimesh(vec![Vector::new(-1.0, 0.0, -1.0), Vector::new(-1.0, 0.0, 1.0), Vector::new(1.0, 0.0, 1.0), Vector::new(1.0, 0.0, -1.0)], vec![[0, 1, 2], [0, 2, 3]]).expect("two triangles"), y(0.0), &gear, 0.2),
        ("heightfield", SharedShape::new(HeightField::new(Array2::repeat(8, 8, 0.0), Vector::new(2.0, 1.0, 2.0))), y(0.0), &gear, 0.2),
        ("voxels", SharedShape::new(Voxels::new(Vector::splat(0.25), &(-4..4).flat_map(|i| (-4..4).map(move |j| IVector::new(i, -1, j))).collect::<Vec<_>>())), y(0.0), &gear, 0.2),
    ];
    let _ = Cuboid::new(Vector::ONE);
    for (name, shape, pose, part, height) in &cases {
        for first in [false, true] {
            let start = std::time::Instant::now();
            let o = drop_on(part, shape, *pose, *height, first);
            println!("{name:14} first={first} speed {:.6} drift {:.6} deepest {:.6} height {:.5} contacts {} {:?}", o.speed, o.drift, o.deepest, o.height, o.contacts, start.elapsed());
        }
    }
}
