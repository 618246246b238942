//! Pairs of triangles on a grid of integers, many of them special, and whether they meet by integer arithmetic: what the tests
//! of triangles share.

use crate::field::source::random::Random;
use glam::DVec3;

/// A triangle with whole coordinates below 2²⁸.
pub(super) type Grid = [[i64; 3]; 3];

/// How a pair was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Random,
    Coplanar,
    OneFlat,
    BothFlat,
    Collinear,
    Corner,
    Edge,
    Same,
    Touching,
    Needles,
    NearTouching,
}

pub(super) const KINDS: [Kind; 11] = [
    Kind::Random,
    Kind::Coplanar,
    Kind::OneFlat,
    Kind::BothFlat,
    Kind::Collinear,
    Kind::Corner,
    Kind::Edge,
    Kind::Same,
    Kind::Touching,
    Kind::Needles,
    Kind::NearTouching,
];

pub(super) fn floats(t: &Grid) -> [DVec3; 3] {
    t.map(|p| DVec3::from_array(p.map(|x| x as f64)))
}

pub(super) fn whole(random: &mut Random, low: i64, high: i64) -> i64 {
    low + (random.bits() % (high - low + 1) as u64) as i64
}

pub(super) fn node(random: &mut Random, half: i64) -> [i64; 3] {
    [whole(random, -half, half), whole(random, -half, half), whole(random, -half, half)]
}

fn add(p: [i64; 3], q: [i64; 3], times: i64) -> [i64; 3] {
    [p[0] + times * q[0], p[1] + times * q[1], p[2] + times * q[2]]
}

fn triangle(random: &mut Random, half: i64) -> Grid {
    [node(random, half), node(random, half), node(random, half)]
}

/// Three points on a line, or in one point.
fn flat(random: &mut Random, half: i64) -> Grid {
    let (p, d) = (node(random, half), node(random, 2));
    [p, add(p, d, whole(random, -3, 3)), add(p, d, whole(random, -3, 3))]
}

/// The corner of index `i`, first, and the others.
fn turned(t: Grid, i: u64) -> Grid {
    let [p, q, r] = t;
    [[p, q, r], [q, r, p], [r, p, q], [p, r, q], [r, q, p], [q, p, r]][i as usize % 6]
}

pub(super) fn pair(random: &mut Random, kind: Kind) -> (Grid, Grid) {
    let (mut a, mut b) = (triangle(random, 4), triangle(random, 4));
    match kind {
        Kind::Random => {}
        Kind::Coplanar => {
            let (o, u, v) = (node(random, 3), node(random, 2), node(random, 2));
            let mut make = || [0; 3].map(|_| add(add(o, u, whole(random, -4, 4)), v, whole(random, -4, 4)));
            (a, b) = (make(), make());
        }
        Kind::OneFlat => b = flat(random, 2),
        Kind::BothFlat => (a, b) = (flat(random, 1), flat(random, 1)),
        Kind::Collinear => {
            let (o, d) = (node(random, 3), node(random, 2));
            let mut make = || {
                let at = whole(random, -9, 9);
                [0; 3].map(|_| add(o, d, at + whole(random, -3, 3)))
            };
            (a, b) = (make(), make());
        }
        Kind::Corner => b[0] = a[1],
        Kind::Edge => (b[0], b[1]) = (a[2], a[1]),
        Kind::Same => b = turned(a, random.bits() % 6),
        // A corner of B at a sixth of A's, inside, on an edge or on a corner; at times a step beside.
        Kind::Touching => {
            let i = whole(random, 0, 6);
            let j = whole(random, 0, 6 - i);
            a = a.map(|p| p.map(|x| 6 * x));
            b = b.map(|p| p.map(|x| 6 * x));
            b[0] = add(add(add([0; 3], a[0], i), a[1], j), a[2], 6 - i - j).map(|x| x / 6);
            if random.bits().is_multiple_of(3) {
                b[0] = add(b[0], node(random, 1), 1);
            }
        }
        // Near one line: determinants of almost no size from large coordinates.
        Kind::Needles => {
            let (o, d) = (node(random, 1 << 20), node(random, 1 << 24));
            let mut make = || [0; 3].map(|_| add(add(o, d, whole(random, -5, 5)), node(random, 1), 1));
            (a, b) = (make(), make());
        }
        // Turned, a corner of B rounded onto A: a step of 2⁻²³ off it.
        Kind::NearTouching => {
            let turn = random.rotation();
            let place = |p: DVec3| (turn * p * f64::from(1 << 23)).round().to_array().map(|x| x as i64);
            let mut corner = || random.point(1.0);
            let t = [corner(), corner(), corner()];
            let other = [corner(), corner()];
            let (u, v) = (random.range(0.0, 1.0), random.range(0.0, 1.0));
            let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
            // Both on one side of A, so that nothing but the corner comes near.
            let n = (t[1] - t[0]).cross(t[2] - t[0]);
            let above = |p: DVec3| p - n * (2.0 * (n.dot(p - t[0]) / n.length_squared()).min(0.0));
            a = t.map(place);
            b = [t[0] + (t[1] - t[0]) * u + (t[2] - t[0]) * v, above(other[0]), above(other[1])].map(place);
        }
    }
    let (i, j) = (random.bits(), random.bits());
    let (a, b) = (turned(a, i), turned(b, j));
    if random.bits().is_multiple_of(2) { (a, b) } else { (b, a) }
}

type Wide = [i128; 3];

fn minus(p: [i64; 3], q: [i64; 3]) -> Wide {
    [0, 1, 2].map(|i| i128::from(p[i]) - i128::from(q[i]))
}

fn cross(p: Wide, q: Wide) -> Wide {
    [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]
}

/// Whether two triangles meet: no axis separates them, of a set that has one for every difference of two triangles: a solid (its
/// faces), a polygon (its normal, and those of its edges in its plane), a segment (along it, and across towards the origin) or
/// a point.
pub(super) fn triangles_meet_plain(a: &Grid, b: &Grid) -> bool {
    let edges = |t: &Grid| [minus(t[1], t[0]), minus(t[2], t[1]), minus(t[0], t[2])];
    let all: Vec<Wide> = edges(a).into_iter().chain(edges(b)).collect();
    let apart = minus(a[0], b[0]);
    let separates = |n: Wide| {
        // From a corner of A, so that numbers stay small.
        let along = |t: &Grid| {
            t.map(|p| {
                let p = minus(p, a[0]);
                n[0] * p[0] + n[1] * p[1] + n[2] * p[2]
            })
        };
        let ([a0, a1, a2], [b0, b1, b2]) = (along(a), along(b));
        a0.max(a1).max(a2) < b0.min(b1).min(b2) || b0.max(b1).max(b2) < a0.min(a1).min(a2)
    };
    if separates(apart) || all.iter().any(|e| separates(*e) || separates(cross(*e, cross(apart, *e)))) {
        return false;
    }
    for (i, d) in all.iter().enumerate() {
        for n in all[i + 1..].iter().map(|e| cross(*d, *e)).filter(|n| *n != [0; 3]) {
            if separates(n) || all.iter().any(|e| separates(cross(n, *e))) {
                return false;
            }
        }
    }
    true
}

/// Whether the corners lie on one line.
pub(super) fn is_flat(t: &Grid) -> bool {
    cross(minus(t[1], t[0]), minus(t[2], t[0])) == [0; 3]
}

/// Whether all six corners lie in one plane.
pub(super) fn is_coplanar(a: &Grid, b: &Grid) -> bool {
    let all: Vec<Wide> = a.iter().chain(b).map(|p| minus(*p, a[0])).collect();
    let normals = all.iter().flat_map(|d| all.iter().map(|e| cross(*d, *e)));
    let Some(n) = normals.into_iter().find(|n| *n != [0; 3]) else { return true };
    all.iter().all(|p| n[0] * p[0] + n[1] * p[1] + n[2] * p[2] == 0)
}
