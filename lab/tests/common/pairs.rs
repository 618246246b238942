//! Pairs of shapes that meet, and poses: anywhere, and just touching.

use super::repaired;
use glam::{DQuat, DVec3};
use palpate::field::{Encoding, FieldParams};
use palpate::mesh::{RawMesh, samples};
use palpate::shape::ShapeParams;
use palpate::tree::TreeParams;
use palpate::{Contact, Pose, Query, Shape};
use palpate_lab::oracle::Random;

/// Two shapes, each in every variant of field and tree.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) a: Vec<Shape>,
    pub(crate) b: Vec<Shape>,
}

/// Stored as, and points to a cluster.
const VARIANTS: [(Encoding, usize); 4] = [
    (Encoding::Float, 8),
    (Encoding::Scaled { precision: None }, 8),
    (Encoding::Float, 4),
    (Encoding::Scaled { precision: None }, 4),
];

/// A shape with `n` voxels on its largest axis, points `spacing` voxels apart.
pub(crate) fn shape(raw: RawMesh, n: u32, spacing: f64, encoding: Encoding, cluster: usize) -> Shape {
    let mesh = repaired(raw);
    let voxel = super::voxel(&mesh, n);
    let params = ShapeParams {
        spacing: Some(spacing * voxel),
        field: FieldParams { encoding, ..Default::default() },
        tree: TreeParams { cluster, ..Default::default() },
        ..Default::default()
    };
    Shape::build(mesh, voxel, &params).unwrap()
}

/// A shape as users get it.
pub(crate) fn plain_shape(raw: RawMesh, n: u32) -> Shape {
    shape(raw, n, palpate::shape::SPACING, Encoding::Float, 8)
}

/// Lengths of `raw` times `scale`.
pub(crate) fn scaled(mut raw: RawMesh, scale: f64) -> RawMesh {
    for p in &mut raw.positions {
        *p *= scale;
    }
    raw
}

type Raw = (&'static str, RawMesh, RawMesh);

/// The meshes of [`pairs`].
pub(crate) fn meshes() -> Vec<Raw> {
    let bumpy = || samples::bumpy_sphere(0.05, 0.005, 12, 4, 1);
    let (bolt, nut) = samples::nut_and_bolt(4);
    let (peg, hole) = samples::peg_and_hole(5e-5, 48);
    let far = DVec3::new(500.0, -300.0, 200.0);
    vec![
        ("gear-gear", samples::gear(16, 2.5e-3, 0.012, 4), samples::gear(24, 2.5e-3, 0.012, 4)),
        ("nut-bolt", nut, bolt),
        ("knot-bumpy", samples::torus_knot(2, 3, 0.06, 0.025, 0.012, 200, 16), bumpy()),
        ("peg-hole", peg, hole),
        ("slab-needle", samples::cuboid(DVec3::new(0.1, 0.1, 0.002)), samples::needle(0.1, 4e-4)),
        ("open-bumpy", samples::cube_missing_face(0.08), bumpy()),
        // Numbers in millimetres, away from the origin of the frame.
        (
            "millimetres",
            samples::moved(samples::cuboid(DVec3::new(80.0, 60.0, 40.0)), far),
            scaled(bumpy(), 1e3),
        ),
        ("kilometres", samples::terrain_slab(4e3, 600.0, 48, 1), scaled(bumpy(), 1e4)),
    ]
}

/// All pairs in all variants: half a second.
pub(crate) fn pairs() -> Vec<Pair> {
    let all = |raw: &RawMesh, n: u32, spacing: f64| {
        VARIANTS.iter().map(|(e, k)| shape(raw.clone(), n, spacing, *e, *k)).collect()
    };
    let pair = |(name, a, b): Raw| Pair { name, a: all(&a, 70, 1.5), b: all(&b, 60, 1.7) };
    meshes().into_iter().map(pair).collect()
}

/// Uniform over all rotations.
pub(crate) fn rotation(random: &mut Random) -> DQuat {
    loop {
        let q = [0; 4].map(|_| 2.0 * random.unit() - 1.0);
        let length: f64 = q.iter().map(|x| x * x).sum();
        if (1e-4..=1.0).contains(&length) {
            return DQuat::from_array(q).normalize();
        }
    }
}

/// Uniform over all directions.
pub(crate) fn direction(random: &mut Random) -> DVec3 {
    loop {
        let v = random.in_ball();
        if v.length_squared() > 1e-4 {
            return v.normalize();
        }
    }
}

/// B turned anyhow, the middle of its box at `offset` from the middle of A's [m].
pub(crate) fn placed(a: &Shape, b: &Shape, rotation: DQuat, offset: DVec3) -> Pose {
    Pose::new(rotation, a.aabb().centre() + offset - rotation * b.aabb().centre())
}

/// Half the diagonals of both boxes together: farther apart nothing touches [m].
pub(crate) fn apart(a: &Shape, b: &Shape) -> f64 {
    0.5 * (a.aabb().extent().length() + b.aabb().extent().length())
}

/// Anywhere the boxes may overlap.
pub(crate) fn anywhere(a: &Shape, b: &Shape, random: &mut Random) -> Pose {
    let turn = rotation(random);
    let offset = random.in_ball() * apart(a, b) * 0.7;
    placed(a, b, turn, offset)
}

/// Coming from a random side, where B begins to touch A, to `precision` [m]: just not touching.
pub(crate) fn touching(a: &Shape, b: &Shape, random: &mut Random, precision: f64) -> Pose {
    let (turn, way) = (rotation(random), direction(random));
    let mut query = Query::new();
    let (mut near, mut far) = (0.0, apart(a, b));
    // Shapes with a hole may be free in the middle.
    while far - near > precision {
        let middle = 0.5 * (near + far);
        let touches = query.intersects(a, b, &placed(a, b, turn, way * middle));
        *(if touches { &mut near } else { &mut far }) = middle;
    }
    placed(a, b, turn, way * far)
}

/// All numbers of a contact.
pub(crate) fn bits(c: &Contact) -> [u32; 12] {
    let [x, y, z] = c.point.map(f32::to_bits);
    let [nx, ny, nz] = c.normal.map(f32::to_bits);
    let [sx, sy, sz] = c.shell_normal.map(f32::to_bits);
    [x, y, z, c.distance.to_bits(), nx, ny, nz, c.id, sx, sy, sz, c.area.to_bits()]
}

/// `p` moved by `shift`, then turned about its own origin.
pub(crate) fn nudged(p: &Pose, shift: DVec3, turn: DVec3) -> Pose {
    Pose::new(DQuat::from_scaled_axis(turn) * p.rotation, p.translation + shift)
}
