//! Two parts at a time: what may be wrong with them, and what only looks so.

use super::{CLEARANCE, Maker};
use crate::finding::Kind;
use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::mesh::{RawMesh, samples};
use std::f64::consts::{FRAC_PI_4, PI, SQRT_2};

/// Number of scenes: as many cells hold each of them once.
pub(super) const SCENES: usize = 16;

/// A box around the origin whose faces are divided into `n`² squares.
pub(super) fn block(extents: DVec3, n: u32) -> RawMesh {
    let mut mesh = RawMesh::default();
    for (axis, side) in (0..3).flat_map(|axis| [(axis, -1.0), (axis, 1.0)]) {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let first = mesh.positions.len() as u32;
        for (i, j) in (0..=n).flat_map(|i| (0..=n).map(move |j| (i, j))) {
            let mut p = DVec3::ZERO;
            let share = |k: u32| f64::from(k) / f64::from(n) - 0.5;
            (p[axis], p[u], p[v]) = (0.5 * side, share(i), share(j));
            mesh.positions.push(p * extents);
        }
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = |i: u32, j: u32| first + i * (n + 1) + j;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            let quad = if side > 0.0 { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] };
            mesh.triangles.extend(quad);
        }
    }
    mesh
}

/// The meshes as one, the second turned inside out: a cavity in the first.
fn hollow(outer: RawMesh, mut cavity: RawMesh) -> RawMesh {
    cavity.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    samples::joined(&[outer, cavity])
}

fn up(z: f64) -> Pose {
    Pose::from_translation(DVec3::Z * z)
}

/// Adds the scene of a cell.
pub(super) fn scene(maker: &mut Maker, cell: usize) {
    match cell % SCENES {
        0 => stacked(maker, |m| -m.range(0.2e-3, 1.2e-3)),
        1 => stacked(maker, |m| m.range(0.1e-3, 0.45e-3)),
        2 => stacked(maker, |_| 0.0),
        3 => stacked(maker, |m| m.range(0.55e-3, 1.5e-3)),
        4 => stacked(maker, |m| -m.range(0.01e-3, 0.04e-3)),
        5 => pin(maker),
        6 => ball_in_block(maker),
        7 => block_in_cavity(maker),
        8 => twice(maker),
        9 => corner(maker, false),
        10 => corner(maker, true),
        11 => edges(maker),
        12 => plates(maker),
        13 => passing(maker),
        14 => hitting(maker),
        _ => sliding(maker),
    }
}

/// Sizes of a block and of a smaller one for its top.
fn sizes(maker: &mut Maker) -> (DVec3, DVec3) {
    let r = &mut maker.random;
    let low = DVec3::new(r.range(12e-3, 24e-3), r.range(12e-3, 24e-3), r.range(8e-3, 14e-3));
    let high = DVec3::new(0.6 * low.x, 0.6 * low.y, r.range(6e-3, 14e-3));
    (low, high)
}

/// A block on another, `gap` above it [m]; below if negative.
fn stacked(maker: &mut Maker, gap: impl Fn(&mut super::Random) -> f64) {
    let (low, high) = sizes(maker);
    let gap = gap(&mut maker.random);
    maker.add("base", block(low, 8), Pose::IDENTITY, None);
    maker.add("block", block(high, 8), up(0.5 * (low.z + high.z) + gap), None);
    let place = DVec3::Z * 0.5 * low.z;
    if gap < -0.1 * CLEARANCE {
        maker.plant(Kind::Clash, Some(gap), Some(high.x * high.y * -gap), place, None);
    } else if gap > 0.1 * CLEARANCE && gap < CLEARANCE {
        maker.plant(Kind::Clearance, Some(gap), None, place, None);
    }
}

/// A pin in a bore of its own size: their surfaces coincide, and no short way leads out.
fn pin(maker: &mut Maker) {
    let n = 48;
    let radius = 4e-3;
    let (pin, bored) = samples::peg_and_hole(2.0 * radius * ((PI / n as f64).cos() - 1.0), n);
    let stretch = maker.random.range(0.8, 1.2);
    let scaled = |mut mesh: RawMesh| {
        mesh.positions.iter_mut().for_each(|p| *p *= stretch);
        mesh
    };
    maker.add("bored", scaled(bored), Pose::IDENTITY, None);
    maker.add("pin", scaled(pin), up(-25e-3 * stretch), None);
}

/// A ball wholly inside a block: surfaces do not meet.
fn ball_in_block(maker: &mut Maker) {
    let (low, _) = sizes(maker);
    let ball = samples::sphere(maker.random.range(1.5e-3, 2.5e-3), 3);
    let volume = palpate::Mesh::new(ball.clone(), &Default::default()).map(|m| m.report().volume).ok();
    maker.add("block", block(low, 8), Pose::IDENTITY, None);
    maker.add("ball", ball, Pose::IDENTITY, None);
    maker.plant(Kind::Clash, None, volume, DVec3::ZERO, None);
}

/// A block in a cavity that is larger all around.
fn block_in_cavity(maker: &mut Maker) {
    let (low, _) = sizes(maker);
    maker.add("hollow", hollow(block(low, 8), block(0.8 * low, 8)), Pose::IDENTITY, None);
    maker.add("kernel", block(0.8 * low - 1.6e-3, 8), Pose::IDENTITY, None);
}

/// A part that is there twice, at one place.
fn twice(maker: &mut Maker) {
    let (low, _) = sizes(maker);
    for _ in 0..2 {
        maker.add("double", block(low, 8), Pose::IDENTITY, None);
    }
    maker.plant(Kind::Clash, None, Some(low.element_product()), DVec3::ZERO, None);
}

/// A cube on its corner over a block, or with the corner in it.
fn corner(maker: &mut Maker, clash: bool) {
    let (low, _) = sizes(maker);
    let r = &mut maker.random;
    let gap = if clash { -r.range(0.2e-3, 1.0e-3) } else { r.range(0.1e-3, 0.45e-3) };
    let edge = r.range(6e-3, 10e-3);
    let turn = DQuat::from_rotation_arc(DVec3::splat(1.0 / 3f64.sqrt()), DVec3::NEG_Z);
    let above = 0.5 * low.z + gap + 0.5 * 3f64.sqrt() * edge;
    maker.add("block", block(low, 8), Pose::IDENTITY, None);
    maker.add("cube", block(DVec3::splat(edge), 8), Pose::new(turn, DVec3::Z * above), None);
    let place = DVec3::Z * 0.5 * low.z;
    if clash {
        // A corner of a cube to the height d: √3/2 d³.
        let volume = 0.5 * 3f64.sqrt() * -gap.powi(3);
        maker.plant(Kind::Clash, Some(gap), Some(volume), place, None);
    } else {
        maker.plant(Kind::Clearance, Some(gap), None, place, None);
    }
}

/// Two bars, edge across edge.
fn edges(maker: &mut Maker) {
    let r = &mut maker.random;
    let (edge, long) = (r.range(6e-3, 9e-3), r.range(16e-3, 22e-3));
    let deep = r.range(0.2e-3, 0.9e-3);
    let lower = Pose::new(DQuat::from_rotation_x(FRAC_PI_4), DVec3::ZERO);
    let upper = Pose::new(DQuat::from_rotation_y(FRAC_PI_4), DVec3::Z * (SQRT_2 * edge - deep));
    maker.add("bar", block(DVec3::new(long, edge, edge), 7), lower, None);
    maker.add("bar", block(DVec3::new(edge, long, edge), 7), upper, None);
    // The edge is as far below the ridge as they overlap, and the faces are at 45° to that.
    maker.plant(Kind::Clash, Some(-deep / SQRT_2), None, DVec3::Z * 0.5 * SQRT_2 * edge, None);
}

/// Two thin plates through each other.
fn plates(maker: &mut Maker) {
    let r = &mut maker.random;
    let (thin, wide) = (r.range(0.6e-3, 1.4e-3), r.range(14e-3, 22e-3));
    maker.add("plate", block(DVec3::new(wide, wide, thin), 9), Pose::IDENTITY, None);
    maker.add("plate", block(DVec3::new(0.7 * wide, thin, wide), 9), Pose::IDENTITY, None);
    let volume = 0.7 * wide * thin * thin;
    maker.plant(Kind::Clash, Some(-0.5 * thin), Some(volume), DVec3::ZERO, None);
}

/// A block that goes past another, near in the middle of its way.
fn passing(maker: &mut Maker) {
    let (low, high) = sizes(maker);
    let gap = maker.random.range(0.1e-3, 0.45e-3);
    // Over a ridge: the lower block stands on an edge.
    let ridge = Pose::new(DQuat::from_rotation_y(FRAC_PI_4), DVec3::ZERO);
    let edge = 8e-3;
    let height = 0.5 * SQRT_2 * edge + 0.5 * high.z + gap;
    // A ball would pass at one moment; a block is near for as long as it is above the ridge.
    let way = 30e-3;
    let at = |x: f64| Pose::from_translation(DVec3::new(x, 0.0, height));
    maker.add("ridge", block(DVec3::new(edge, low.y, edge), 8), ridge, None);
    maker.add("slider", block(high, 8), at(-way), Some(at(way)));
    maker.plant(Kind::Clearance, Some(gap), None, DVec3::Z * 0.5 * SQRT_2 * edge, Some(0.5));
}

/// A block that comes down on another.
fn hitting(maker: &mut Maker) {
    let (low, high) = sizes(maker);
    let start = maker.random.range(5e-3, 12e-3);
    let rest = 0.5 * (low.z + high.z);
    maker.add("base", block(low, 8), Pose::IDENTITY, None);
    maker.add("falling", block(high, 8), up(rest + start), Some(up(rest - 4e-3)));
    // A clash once it is deeper than the tolerance.
    let time = (start + 0.1 * CLEARANCE) / (start + 4e-3);
    maker.plant(Kind::Clash, None, None, DVec3::Z * 0.5 * low.z, Some(time));
}

/// A block that lies on another and slides.
fn sliding(maker: &mut Maker) {
    let (low, high) = sizes(maker);
    let rest = DVec3::Z * 0.5 * (low.z + high.z);
    let at = |x: f64| Pose::from_translation(rest + DVec3::X * x);
    maker.add("bed", block(low, 8), Pose::IDENTITY, None);
    maker.add("slide", block(high, 8), at(-2e-3), Some(at(2e-3)));
}
