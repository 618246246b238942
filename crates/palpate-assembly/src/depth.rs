//! How deep two shapes that meet are in each other: the deepest point of either surface, measured on the other's triangles.

use crate::near::{Meet, inside};
use glam::DVec3;
use palpate::field::source::Source;
use palpate::{Pose, Shape};

/// Points whose side is settled by all triangles, for each of the two directions. More: surer where a field is coarse, and slower.
const MAX_WINDINGS: usize = 400;
/// Points of a surface that are looked at from inside, for shapes whose surfaces coincide.
const MAX_SEEDS: usize = 2000;

/// The deepest point found. A's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deepest {
    /// How deep [m].
    pub(crate) depth: f64,
    /// On A's surface, and on B's [m].
    pub(crate) points: [DVec3; 2],
}

/// The deepest point of either in the other, if deeper than `floor` [m].
pub(crate) fn deepest(a: &Shape, b: &Shape, a_from_b: &Pose, meet: &Meet, floor: f64) -> Option<Deepest> {
    let b_from_a = a_from_b.inverse();
    let mut best: Option<Deepest> = None;
    // B's points in A, then A's in B.
    let between_a: Vec<DVec3> = meet.between[0].iter().map(|p| b_from_a.point(*p)).collect();
    for (field, points, pose, between) in [(a, b, a_from_b, &meet.between[1]), (b, a, &b_from_a, &between_a)]
    {
        let floor = best.map_or(floor, |d| d.depth);
        let Some((depth, p, q)) = deepest_in(field, points, pose, between, floor) else { continue };
        let of_a = core::ptr::eq(field, b);
        let points = if of_a { [a_from_b.point(p), a_from_b.point(q)] } else { [q, p] };
        best = Some(Deepest { depth, points });
    }
    best
}

/// The deepest of the points in the field's shape: how deep, where, and the nearest point of that shape's surface. The field's frame.
fn deepest_in(
    field: &Shape,
    points: &Shape,
    pose: &Pose,
    between: &[DVec3],
    floor: f64,
) -> Option<(f64, DVec3, DVec3)> {
    let room = field.aabb();
    let vertices = points.mesh().positions().iter().copied();
    let tree = points.tree();
    let spread = (0..tree.len()).map(|i| tree.position(i));
    let moved = vertices.chain(spread).map(|p| pose.point(p)).chain(between.iter().copied());
    // Those that may be deep enough, the deepest first.
    let mut candidates: Vec<(f64, DVec3)> = moved
        .filter(|p| room.contains(*p))
        .map(|p| (field.field().bounds(p).0, p))
        .filter(|(lower, _)| *lower < -floor)
        .collect();
    candidates.sort_by(|x, y| x.0.total_cmp(&y.0).then_with(|| order(x.1, y.1)));
    let mut best: Option<(f64, DVec3, DVec3)> = None;
    let mut windings = 0;
    for (lower, p) in candidates {
        let least = best.map_or(floor, |b| b.0);
        if -lower <= least {
            break;
        }
        let q = field.exact().closest(p, None);
        if q.distance <= least {
            continue;
        }
        let certain = field.field().bounds(p).1 < 0.0;
        windings += usize::from(!certain);
        if certain || (windings <= MAX_WINDINGS && inside(field, p)) {
            best = Some((q.distance, p, q.point));
        }
    }
    best
}

/// A total order of points.
fn order(p: DVec3, q: DVec3) -> core::cmp::Ordering {
    p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y)).then(p.z.total_cmp(&q.z))
}

/// Of shapes whose surfaces lie on each other: whether their insides do too, by more than the tolerance, as far as points that are
/// moved inward tell. The point that is deepest in both, in A's frame.
pub(crate) fn common(a: &Shape, b: &Shape, a_from_b: &Pose, tolerance: f64) -> Option<DVec3> {
    let b_from_a = a_from_b.inverse();
    let swapped = a.tree().len() < b.tree().len();
    let tree = if swapped { a.tree() } else { b.tree() };
    let voxel = a.field().lattice().voxel.max(b.field().lattice().voxel);
    let step = tree.len().div_ceil(MAX_SEEDS).max(1);
    let mut best: Option<(f64, DVec3)> = None;
    for i in (0..tree.len()).step_by(step) {
        let (p, n) = (tree.position(i), tree.normal(i).as_dvec3());
        for inward in [2.0 * tolerance, 0.5 * voxel, voxel, 2.0 * voxel, 4.0 * voxel] {
            let own = p - inward * n;
            let s = if swapped { own } else { a_from_b.point(own) };
            let depth = -a.field().bounds(s).1.max(b.field().bounds(b_from_a.point(s)).1);
            if depth > tolerance && best.is_none_or(|b| depth > b.0) {
                best = Some((depth, s));
            }
        }
    }
    best.map(|b| b.1)
}
