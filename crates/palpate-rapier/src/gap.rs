//! How far two colliders are apart, and where.

use glam::DVec3;
use palpate::field::Source;
use palpate::field::analytic::Analytic;
use palpate::manifold::{Choice, Collider, ManifoldParams, Pair};
use palpate::query::{QueryParams, Roles};
use palpate::{Contacts, Pose, Query, Shape};
use std::cell::RefCell;

/// Most walks from surface to surface. Fewer: the distance of a point beside the nearest. Each takes about a microsecond.
const WALKS: usize = 24;

/// The nearest, or deepest, place of two colliders. A's frame [m].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// Signed, negative inside.
    pub(crate) distance: f64,
    /// The surfaces are certainly at least this far apart; negative where nothing is certain.
    pub(crate) lower: f64,
    pub(crate) on_a: DVec3,
    pub(crate) on_b: DVec3,
    /// From A to B, unit.
    pub(crate) normal: DVec3,
}

/// Memory that queries without a pair share.
#[derive(Default)]
struct Memory {
    query: Query,
    pair: Pair,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Lends the thread's memory; a fresh one where it is lent already.
fn with_memory<R>(f: impl FnOnce(&mut Memory) -> R) -> R {
    MEMORY.with(|m| match m.try_borrow_mut() {
        Ok(mut memory) => f(&mut memory),
        Err(_) => f(&mut Memory::default()),
    })
}

/// Where two colliders are nearest, or where one is deepest in the other. None for two solids, for a shape without points and for
/// a pose that is not finite. Microseconds.
pub(crate) fn gap(a: &Collider, b: &Collider, a_from_b: &Pose) -> Option<Gap> {
    if !a_from_b.is_finite() {
        return None;
    }
    let found = with_memory(|memory| match (a, b) {
        (Collider::Shape(a), Collider::Shape(b)) => shapes(&mut memory.query, a, b, a_from_b),
        (Collider::Solid(solid), Collider::Shape(shape)) => {
            with_solid(&mut memory.pair, (a, solid), (b, shape), a_from_b)
        }
        (Collider::Shape(shape), Collider::Solid(solid)) => {
            let gap = with_solid(&mut memory.pair, (b, solid), (a, shape), &a_from_b.inverse())?;
            Some(Gap {
                on_a: a_from_b.point(gap.on_b),
                on_b: a_from_b.point(gap.on_a),
                normal: -a_from_b.vector(gap.normal),
                ..gap
            })
        }
        (Collider::Solid(_), Collider::Solid(_)) => None,
    })?;
    found.distance.is_finite().then_some(found)
}

/// Whether two colliders overlap.
pub(crate) fn intersects(a: &Collider, b: &Collider, a_from_b: &Pose) -> bool {
    match (a, b) {
        (Collider::Shape(a), Collider::Shape(b)) => {
            with_memory(|memory| memory.query.intersects(a, b, a_from_b))
        }
        _ => gap(a, b, a_from_b).is_some_and(|g| g.distance <= 0.0),
    }
}

/// The least distance of a point of either collider from the other, if it is at most `limit`, which may be negative [m]. Unlike
/// [`gap`] quick also where parts are all around each other.
pub(crate) fn within(a: &Collider, b: &Collider, a_from_b: &Pose, limit: f64) -> Option<f64> {
    let least = |found: &Contacts| found.deepest().map(|c| f64::from(c.distance));
    with_memory(|Memory { query, .. }| match (a, b) {
        (Collider::Shape(a), Collider::Shape(b)) => [Roles::PointsOfA, Roles::PointsOfB]
            .into_iter()
            .filter_map(|roles| least(query.contacts(a, b, a_from_b, &QueryParams { margin: limit, roles })))
            .reduce(f64::min),
        (Collider::Solid(solid), Collider::Shape(b)) => least(query.solid(solid, b, a_from_b, limit)),
        (Collider::Shape(a), Collider::Solid(solid)) => {
            least(query.solid(solid, a, &a_from_b.inverse(), limit))
        }
        (Collider::Solid(_), Collider::Solid(_)) => None,
    })
}

fn shapes(query: &mut Query, a: &Shape, b: &Shape, a_from_b: &Pose) -> Option<Gap> {
    let d = query.distance(a, b, a_from_b);
    let mut normal = d.direction();
    if normal == DVec3::ZERO {
        normal = a.field().sample(d.witness_a).gradient.normalize_or(DVec3::Z);
    }
    let lower = if d.distance > 0.0 { d.distance - d.bound } else { d.distance };
    Some(Gap { distance: d.distance, lower, on_a: d.witness_a, on_b: d.witness_b, normal })
}

/// A is the solid, B the shape.
fn with_solid(
    pair: &mut Pair,
    (a, solid): (&Collider, &Analytic),
    (b, shape): (&Collider, &Shape),
    a_from_b: &Pose,
) -> Option<Gap> {
    if shape.tree().is_empty() {
        return None;
    }
    // No farther than any of the points.
    let some = solid.distance(a_from_b.point(shape.tree().position(0)));
    let margin = some.max(0.0) * 1.001 + shape.tree().shell_report().spacing;
    let params = ManifoldParams {
        margin,
        spread: Some(0.0),
        choice: Choice::Regular,
        roles: Roles::PointsOfB,
        both: false,
        one_normal: false,
        tiers: false,
        budget: 0,
        next: None,
    };
    let found = pair.update(a, b, a_from_b, &params);
    let nearest = found.points.iter().min_by(|x, y| x.distance.total_cmp(&y.distance))?;
    let mut best = Gap {
        distance: nearest.distance,
        lower: nearest.distance,
        on_a: nearest.point_a,
        on_b: a_from_b.point(nearest.point_b),
        normal: nearest.normal,
    };
    if best.distance <= 0.0 {
        return Some(best);
    }
    // What is found is a lower bound for some solids.
    best.lower = best.distance - shape.tree().shell_report().radius;
    best.distance = solid.distance(best.on_b).max(0.0);
    walk(solid, shape, a_from_b, best)
}

/// From surface to surface, to where both are nearest.
fn walk(solid: &Analytic, shape: &Shape, a_from_b: &Pose, mut best: Gap) -> Option<Gap> {
    let b_from_a = a_from_b.inverse();
    for _ in 0..WALKS {
        let Some(q) = solid.closest_point(best.on_b) else { break };
        let q_b = b_from_a.point(q);
        // The solid is inside: none of the shape's points is in it.
        let inside = shape.field().sample(q_b);
        if inside.distance < 0.0 {
            let out = shape.exact().closest(q_b, None);
            let normal = -a_from_b.vector(inside.gradient.normalize_or(DVec3::Z));
            let on_b = a_from_b.point(out.point);
            return Some(Gap { distance: -out.distance, lower: -out.distance, on_a: q, on_b, normal });
        }
        let closest = shape.exact().closest(q_b, None);
        let p = a_from_b.point(closest.point);
        let distance = p.distance(q);
        let gained = best.distance - distance;
        if gained < 0.0 {
            break;
        }
        let normal = (p - q).try_normalize().unwrap_or(best.normal);
        best = Gap { distance, on_a: q, on_b: p, normal, ..best };
        if gained <= 1e-9 * distance {
            break;
        }
    }
    best.lower = best.lower.min(best.distance);
    Some(best)
}
