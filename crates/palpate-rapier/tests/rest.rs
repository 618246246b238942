//! Parts come to rest on every shape of Parry, and stay.

mod common;

use common::{Random, bumpy, deepest, fixed, gear, moving, ring, world};
use palpate_rapier::{PalpateDispatcher, PalpateShape};
use parry3d::shape::{
    Cone, ConvexPolyhedron, Cylinder, HeightField, Polyline, RoundShape, Segment, Shape, SharedShape,
    Triangle, Voxels,
};
use parry3d::utils::Array2;
use rapier3d::prelude::*;

/// At rest nothing moves faster than this [m/s].
const STILL: f32 = 1e-3;
/// Rapier lets parts of 0.3 m sink in by about this much [m].
const SUNK: f32 = 5e-4;
const SECOND: usize = 60;

/// What a part does on a ground.
#[derive(Debug)]
struct Outcome {
    /// Largest speed of any of its points in the last two seconds, about [m/s].
    speed: f32,
    /// Least distance of its points from the ground in that time, by Parry's own projection [m].
    deepest: f32,
    height: f32,
    manifolds: usize,
}

/// Lets a part fall for some seconds on grounds of one shape.
fn drop_on(
    part: &PalpateShape,
    ground: &SharedShape,
    at: &[Pose],
    start: Pose,
    first: bool,
    seconds: usize,
) -> Outcome {
    let dispatcher = PalpateDispatcher::new();
    let mut world = world(&dispatcher, 0.3);
    // Which of the two is inserted first decides which is Rapier's first.
    let body = first.then(|| moving(&mut world, part.clone(), start));
    for pose in at {
        fixed(&mut world, ground.clone(), *pose);
    }
    let body = body.unwrap_or_else(|| moving(&mut world, part.clone(), start));
    let radius = part.compute_local_bounding_sphere().radius;
    let mut out = Outcome { speed: 0.0, deepest: f32::INFINITY, height: 0.0, manifolds: 0 };
    for step in 0..seconds * SECOND {
        world.step();
        if step >= (seconds - 2) * SECOND {
            let b = &world.bodies[body];
            out.speed = out.speed.max(b.linvel().length() + radius * b.angvel().length());
            if step % 10 == 9 {
                for pose in at {
                    out.deepest = out.deepest.min(deepest(part, b.position(), &**ground, pose));
                }
            }
        }
    }
    out.height = world.bodies[body].translation().y;
    out.manifolds = world.contact_pairs().map(|p| p.manifolds().len()).sum();
    out
}

/// Both orders of insertion; the part starts a little turned. `height` is where it ends up.
fn rests(
    name: &str,
    part: &PalpateShape,
    ground: impl Into<SharedShape>,
    at: &[Pose],
    from: f32,
    height: f32,
) {
    let ground = ground.into();
    for first in [false, true] {
        let start = Pose::new(Vector::Y * from, Vector::new(0.02, 0.0, 0.01));
        let out = drop_on(part, &ground, at, start, first, 4);
        assert!(out.speed < STILL, "{name}, first {first}: {out:?}");
        assert!(out.deepest > -SUNK, "{name}, first {first}: {out:?}");
        assert!((out.height - height).abs() < 2e-3, "{name}, first {first}: {out:?} but {height} expected");
        assert!(out.manifolds > 0, "{name}, first {first}: {out:?}");
    }
}

fn y(y: f32) -> Pose {
    Pose::translation(0.0, y, 0.0)
}

fn half_cube() -> ConvexPolyhedron {
    let corner =
        |i: usize| Vector::new((i & 1) as f32 - 0.5, (i >> 1 & 1) as f32 - 0.5, (i >> 2) as f32 - 0.5);
    ConvexPolyhedron::from_convex_hull(&(0..8).map(corner).collect::<Vec<_>>()).expect("a cube has a hull")
}

/// Half the gear's height.
const GEAR: f32 = 0.03;

#[test]
fn on_flat_solids() {
    let gear = gear();
    rests("cuboid", &gear, SharedShape::cuboid(0.5, 0.5, 0.5), &[y(-0.5)], 0.2, GEAR);
    rests("half-space", &gear, SharedShape::halfspace(Vector::Y), &[y(0.0)], 0.2, GEAR);
    rests("cylinder", &gear, SharedShape::new(Cylinder::new(0.5, 0.5)), &[y(-0.5)], 0.2, GEAR);
    rests("hull", &gear, SharedShape::new(half_cube()), &[y(-0.5)], 0.2, GEAR);
    rests("round cuboid", &gear, SharedShape::round_cuboid(0.5, 0.5, 0.5, 0.05), &[y(-0.55)], 0.2, GEAR);
    rests("round cylinder", &gear, SharedShape::round_cylinder(0.5, 0.5, 0.05), &[y(-0.55)], 0.2, GEAR);
    let round = RoundShape { inner_shape: half_cube(), border_radius: 0.05 };
    rests("round hull", &gear, SharedShape::new(round), &[y(-0.55)], 0.2, GEAR);
    let halves = [-0.3, 0.3].map(|x| (Pose::translation(x, 0.0, 0.0), SharedShape::cuboid(0.28, 0.5, 0.5)));
    rests("compound", &gear, SharedShape::compound(halves.to_vec()), &[y(-0.5)], 0.2, GEAR);
}

#[test]
fn on_thin_things() {
    let gear = gear();
    let wide =
        Triangle::new(Vector::new(-1.0, 0.0, -1.0), Vector::new(0.0, 0.0, 1.5), Vector::new(1.0, 0.0, -1.0));
    // Solid to both sides by 1/200 of its longest side.
    let half = 0.005 * 7.25_f32.sqrt();
    rests("triangle", &gear, SharedShape::new(wide), &[y(0.0)], 0.2, GEAR + half);
    let round = RoundShape { inner_shape: wide, border_radius: 0.05 };
    rests("round triangle", &gear, SharedShape::new(round), &[y(-0.05)], 0.2, GEAR);
    let rail = Segment::new(Vector::Z * -1.0, Vector::Z);
    let rails = [-0.1, 0.1].map(|x| Pose::translation(x, 0.0, 0.0));
    rests("segments", &gear, SharedShape::new(rail), &rails, 0.2, GEAR + 0.01);
    let corners = [[-0.1, -1.0], [-0.1, 1.0], [0.1, 1.0], [0.1, -1.0]];
    let line = corners.map(|[x, z]| Vector::new(x, 0.0, z)).to_vec();
    rests("polyline", &gear, SharedShape::new(Polyline::new(line, None)), &[y(0.0)], 0.2, GEAR + 0.01);
}

#[test]
fn on_triangles() {
    let gear = gear();
    let corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]].map(|[x, z]| Vector::new(x, 0.0, z));
    let sheet = SharedShape::trimesh(corners.to_vec(), vec![[0, 1, 2], [0, 2, 3]]).expect("two triangles");
    rests("triangle mesh", &gear, sheet, &[y(0.0)], 0.2, GEAR);
    let flat = HeightField::new(Array2::repeat(8, 8, 0.0), Vector::new(2.0, 1.0, 2.0));
    rests("height field", &gear, SharedShape::new(flat), &[y(0.0)], 0.2, GEAR);
    let cells: Vec<_> = (-4..4).flat_map(|i| (-4..4).map(move |j| IVector::new(i, -1, j))).collect();
    rests("voxels", &gear, SharedShape::new(Voxels::new(Vector::splat(0.25), &cells)), &[y(0.0)], 0.2, GEAR);
}

/// A ring of radius 0.2 and tube 0.05 around what stands up: where the tube touches it all around.
#[test]
fn ring_over_pegs() {
    let ring = ring();
    // A ball of 0.25: the tube's circle is 0.3 from the middle.
    let ball = (0.3_f32 * 0.3 - 0.04).sqrt();
    rests("ball", &ring, SharedShape::ball(0.25), &[y(0.0)], 0.3, ball);
    let capsule = 0.3 + (0.25_f32 * 0.25 - 0.04).sqrt();
    rests("capsule", &ring, SharedShape::capsule_y(0.3, 0.2), &[y(0.0)], 0.6, capsule);
    // A side at 60 degrees: the tube's circle is 0.05 above it.
    let above = 0.05 * 1.25_f32.sqrt() * 2.0;
    rests("cone", &ring, SharedShape::new(Cone::new(0.5, 0.5)), &[y(0.0)], 0.6, 0.1 + above);
    let above = 0.1 * 1.25_f32.sqrt() * 2.0;
    rests("round cone", &ring, SharedShape::round_cone(0.5, 0.5, 0.05), &[y(0.0)], 0.7, 0.1 + above);
}

/// Parts that rest on a few of many points, coarse as they are, stop rolling and rocking.
#[test]
fn what_rolls_stops() {
    let part = bumpy();
    let ground = SharedShape::halfspace(Vector::Y);
    let mut random = Random(7);
    for first in [false, true, false, true] {
        let start = Pose::translation(0.0, 0.2, 0.0) * random.pose(0.0);
        let out = drop_on(&part, &ground, &[y(0.0)], start, first, 12);
        assert!(out.speed < STILL && out.deepest > -SUNK, "{out:?}");
    }
}
