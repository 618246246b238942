//! Two shapes whose surfaces meet, or one of which is in the other: a clash, or contact by design.

use crate::depth::{common, deepest};
use crate::finding::{Kind, Outcome, Region};
use crate::near::Meet;
use crate::params::Params;
use crate::volume::overlap;
use glam::DVec3;
use palpate::math::Aabb;
use palpate::query::PenetrationParams;
use palpate::{Pose, Query, Shape};

/// What A and B are to each other. The points of the outcome are in the assembly's frame, into which `w_from_a` leads.
///
/// Contact where some translation of at most the tolerance frees them, or where no point is deeper than that in the other and they
/// share no more than surfaces: a pin in a hole of its own size cannot be pulled out by a little, and is no clash.
pub(crate) fn clash(
    a: &Shape,
    b: &Shape,
    a_from_b: &Pose,
    w_from_a: &Pose,
    meet: &Meet,
    params: &Params,
) -> Outcome {
    let tolerance = params.tolerance();
    let out = Query::new().penetration(a, b, a_from_b, &PenetrationParams::default());
    let w = |p: DVec3| w_from_a.point(p).to_array();
    let way = w_from_a.vector(out.translation).to_array();
    let touch = meet.curve.first().copied().unwrap_or_else(|| a_from_b.point(b.aabb().centre()));
    let contact = |depth: f64| Outcome {
        kind: Kind::Contact,
        distance: -depth,
        points: [w(touch); 2],
        way,
        region: None,
        time: None,
    };
    if out.depth <= tolerance {
        return contact(out.depth);
    }
    let deep = deepest(a, b, a_from_b, meet, 0.0);
    let (depth, points, beside) = match deep.filter(|d| d.depth > tolerance) {
        Some(d) => (d.depth, d.points, 0.0),
        None => match common(a, b, a_from_b, tolerance) {
            Some(p) => (out.depth, [p; 2], tolerance),
            None => return contact(deep.map_or(0.0, |d| d.depth)),
        },
    };
    let shared = overlap(a, b, a_from_b, meet, (out.direction, beside), params.volume_cells);
    let room = Aabb::of_points(shared.hull.iter().map(|p| w_from_a.point(*p)));
    let region = Region {
        min: room.min.to_array(),
        max: room.max.to_array(),
        centroid: w(shared.centroid),
        volume: shared.volume,
        volume_error: shared.error,
    };
    let region = (!shared.hull.is_empty()).then_some(region);
    Outcome { kind: Kind::Clash, distance: -depth, points: points.map(w), way, region, time: None }
}
