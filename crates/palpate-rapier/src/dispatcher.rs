//! Pairs with a shape of palpate, for Parry's queries.

use crate::cache::{Cache, MeshOptions, PrepareError};
use crate::cast::{Aim, Course, Meeting, cast};
use crate::convert::{narrow, wide, wide_pose};
use crate::gap::{Gap, gap, intersects};
use crate::parts::{Part, holds_ours};
use palpate::Pose as Wide;
use parry3d::math::{Pose, Real, Vector};
use parry3d::query::details::ShapeCastOptions;
use parry3d::query::{
    ClosestPoints, Contact, DefaultQueryDispatcher, NonlinearRigidMotion, QueryDispatcher,
    QueryDispatcherChain, ShapeCastHit, ShapeCastStatus, ShapeDistance, ShapeIntersection, Unsupported,
};
use parry3d::shape::{Shape, SharedShape};
use std::sync::Arc;

/// Answers for pairs of which at least one shape is a [`crate::PalpateShape`], or a compound that holds one; other pairs are
/// `Unsupported`, which lets the next dispatcher of a chain have them. Clones share what was built.
///
/// Against every shape of Parry: balls, boxes, capsules, half-spaces, cylinders, cones, convex polyhedra and their round variants as
/// exact solids; segments, triangles and polylines as thin ones; compounds part by part; triangle meshes, height fields and voxels
/// as shapes built from their triangles on first need, open ones solid below their front: see [`MeshOptions`] and
/// [`PalpateDispatcher::prepare`]. A shape of another crate takes part by its projection of points.
///
/// A shape that was built is recognised by its address, its box and some of its vertices: after other changes in place, call
/// [`PalpateDispatcher::clear`].
#[derive(Clone, Debug, Default)]
pub struct PalpateDispatcher {
    pub(crate) cache: Arc<Cache>,
}

/// What [`PalpateDispatcher::chained`] gives to a `NarrowPhase`.
pub type Chained = QueryDispatcherChain<PalpateDispatcher, DefaultQueryDispatcher>;

type Parts = Arc<[Part]>;

impl PalpateDispatcher {
    /// With the default way of building shapes from Parry's.
    pub fn new() -> Self {
        Self::default()
    }

    /// With another way of building shapes from Parry's.
    pub fn with_options(options: MeshOptions) -> Self {
        Self { cache: Arc::new(Cache::new(options)) }
    }

    /// For `NarrowPhase::with_query_dispatcher`: this, then Parry's own for all other pairs.
    pub fn chained(&self) -> Chained {
        self.clone().chain(DefaultQueryDispatcher)
    }

    /// Builds what contacts with a shape of Parry need, so that no step has to; `voxel` as in [`MeshOptions`] [m].
    ///
    /// Milliseconds to seconds for triangle meshes, height fields and voxels; nothing to do for other shapes.
    pub fn prepare(&self, shape: &SharedShape, voxel: Option<f64>) -> Result<(), PrepareError> {
        self.cache.prepare(shape, voxel)
    }

    /// Number of shapes that were built from Parry's.
    pub fn built(&self) -> usize {
        self.cache.len()
    }

    /// Forgets what was built.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// The parts of both shapes, if one of them is ours.
    pub(crate) fn parts(&self, g1: &dyn Shape, g2: &dyn Shape) -> Result<(Parts, Parts), Unsupported> {
        if !(holds_ours(g1) || holds_ours(g2)) {
            return Err(Unsupported);
        }
        let one = self.cache.parts(g1).ok_or(Unsupported)?;
        Ok((one, self.cache.parts(g2).ok_or(Unsupported)?))
    }

    /// Nearest of all pairs of parts, in the shapes' frames.
    fn nearest(&self, pos12: &Pose, g1: &dyn Shape, g2: &dyn Shape) -> Result<Option<Near>, Unsupported> {
        let (parts1, parts2) = self.parts(g1, g2)?;
        let one_from_two = wide_pose(pos12);
        let mut best: Option<Near> = None;
        for (p1, p2) in pairs(&parts1, &parts2) {
            let part_from_part = p1.from.inverse() * one_from_two * p2.from;
            let found = if p1.options.is_some() || p2.options.is_some() {
                gap(&p1.collider, &p2.collider, &part_from_part)
            } else {
                foreign((p1, g1), (p2, g2), &part_from_part)
            };
            if let Some(gap) = found
                && best.as_ref().is_none_or(|b| gap.distance < b.gap.distance)
            {
                let on1 = |p| p1.from.point(p);
                let gap = Gap {
                    on_a: on1(gap.on_a),
                    on_b: on1(gap.on_b),
                    normal: p1.from.vector(gap.normal),
                    ..gap
                };
                best = Some(Near { gap, subshapes: (p1.index, p2.index) });
            }
        }
        Ok(best)
    }

    fn first_meeting(
        &self,
        (g1, course1): (&dyn Shape, Course),
        (g2, course2): (&dyn Shape, Course),
        aim: Aim,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        let (parts1, parts2) = self.parts(g1, g2)?;
        let mut aim = aim;
        let mut best = None;
        for (p1, p2) in pairs(&parts1, &parts2) {
            let (c1, c2) = (course1.part(&p1.from), course2.part(&p2.from));
            aim.thickness = p1.thickness.min(p2.thickness);
            if let Some(meeting) = cast((&p1.collider, c1), (&p2.collider, c2), aim)
                && best.is_none_or(|(time, _)| meeting.time < time)
            {
                aim.until = meeting.time;
                best = Some((meeting.time, hit(&meeting, p1, p2)));
            }
        }
        Ok(best.map(|(_, hit)| hit))
    }
}

/// The nearest place of two shapes, in the first one's frame.
struct Near {
    gap: Gap,
    subshapes: (u32, u32),
}

/// All pairs of parts.
pub(crate) fn pairs<'a>(one: &'a [Part], two: &'a [Part]) -> impl Iterator<Item = (&'a Part, &'a Part)> {
    one.iter().flat_map(|a| two.iter().map(move |b| (a, b)))
}

/// Two parts of Parry, beside a part of ours in a compound: as far as Parry's own contact tells.
fn foreign(one: (&Part, &dyn Shape), two: (&Part, &dyn Shape), part_from_part: &Wide) -> Option<Gap> {
    let (s1, s2) = (one.0.shape_in(one.1), two.0.shape_in(two.1));
    let pos12 = narrow_pose(part_from_part);
    let contact = DefaultQueryDispatcher.contact(&pos12, s1, s2, Real::MAX).ok()??;
    Some(Gap {
        distance: contact.dist.into(),
        lower: contact.dist.into(),
        on_a: wide(contact.point1),
        on_b: part_from_part.point(wide(contact.point2)),
        normal: wide(contact.normal1),
    })
}

pub(crate) fn narrow_pose(pose: &Wide) -> Pose {
    Pose::from_parts(narrow(pose.translation), pose.rotation.as_quat())
}

fn hit(meeting: &Meeting, p1: &Part, p2: &Part) -> ShapeCastHit {
    let Gap { on_a, on_b, normal, .. } = meeting.gap;
    let b_from_a = meeting.a_from_b.inverse();
    let status = match (meeting.unfinished, meeting.at_start) {
        (true, _) => ShapeCastStatus::OutOfIterations,
        (false, true) => ShapeCastStatus::PenetratingOrWithinTargetDist,
        (false, false) => ShapeCastStatus::Converged,
    };
    ShapeCastHit {
        time_of_impact: meeting.time as Real,
        witness1: narrow(p1.from.point(on_a)),
        witness2: narrow(p2.from.point(b_from_a.point(on_b))),
        normal1: narrow(p1.from.vector(normal)),
        normal2: narrow(p2.from.vector(-b_from_a.vector(normal))),
        status,
        subshape1: p1.index,
        subshape2: p2.index,
    }
}

impl QueryDispatcher for PalpateDispatcher {
    fn intersection_test(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
    ) -> Result<ShapeIntersection, Unsupported> {
        let (parts1, parts2) = self.parts(g1, g2)?;
        let one_from_two = wide_pose(pos12);
        let found = pairs(&parts1, &parts2).find(|(p1, p2)| {
            let part_from_part = p1.from.inverse() * one_from_two * p2.from;
            if p1.options.is_some() || p2.options.is_some() {
                intersects(&p1.collider, &p2.collider, &part_from_part)
            } else {
                foreign((p1, g1), (p2, g2), &part_from_part).is_some_and(|g| g.distance <= 0.0)
            }
        });
        Ok(match found {
            Some((p1, p2)) => ShapeIntersection::new(true).with_subshapes(p1.index, p2.index),
            None => ShapeIntersection::new(false),
        })
    }

    fn distance(&self, pos12: &Pose, g1: &dyn Shape, g2: &dyn Shape) -> Result<ShapeDistance, Unsupported> {
        let near = self.nearest(pos12, g1, g2)?.ok_or(Unsupported)?;
        let distance = near.gap.distance.max(0.0) as Real;
        Ok(ShapeDistance::new(distance).with_subshapes(near.subshapes.0, near.subshapes.1))
    }

    fn contact(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
    ) -> Result<Option<Contact>, Unsupported> {
        let Some(near) = self.nearest(pos12, g1, g2)? else { return Ok(None) };
        if near.gap.distance > f64::from(prediction) {
            return Ok(None);
        }
        let two_from_one = wide_pose(pos12).inverse();
        let Gap { distance, on_a, on_b, normal, .. } = near.gap;
        let contact = Contact::new(
            narrow(on_a),
            narrow(two_from_one.point(on_b)),
            narrow(normal),
            narrow(-two_from_one.vector(normal)),
            distance as Real,
        );
        Ok(Some(contact.with_subshapes(near.subshapes.0, near.subshapes.1)))
    }

    fn closest_points(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        max_dist: Real,
    ) -> Result<ClosestPoints, Unsupported> {
        Ok(match self.nearest(pos12, g1, g2)? {
            Some(near) if near.gap.distance <= 0.0 => ClosestPoints::Intersecting,
            Some(near) if near.gap.distance <= f64::from(max_dist) => {
                let on_b = wide_pose(pos12).inverse().point(near.gap.on_b);
                ClosestPoints::WithinMargin(narrow(near.gap.on_a), narrow(on_b))
            }
            _ => ClosestPoints::Disjoint,
        })
    }

    fn cast_shapes(
        &self,
        pos12: &Pose,
        local_vel12: Vector,
        g1: &dyn Shape,
        g2: &dyn Shape,
        options: ShapeCastOptions,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        let moving = Course { linear: wide(local_vel12), ..Course::still(wide_pose(pos12)) };
        let aim = Aim {
            from: 0.0,
            until: options.max_time_of_impact.into(),
            target: options.target_distance.into(),
            stop_at_penetration: options.stop_at_penetration,
            thickness: 0.0,
        };
        self.first_meeting((g1, Course::still(Wide::IDENTITY)), (g2, moving), aim)
    }

    fn cast_shapes_nonlinear(
        &self,
        motion1: &NonlinearRigidMotion,
        g1: &dyn Shape,
        motion2: &NonlinearRigidMotion,
        g2: &dyn Shape,
        start_time: Real,
        end_time: Real,
        stop_at_penetration: bool,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        let aim = Aim {
            from: start_time.into(),
            until: end_time.into(),
            target: 0.0,
            stop_at_penetration,
            thickness: 0.0,
        };
        self.first_meeting((g1, Course::of(motion1)), (g2, Course::of(motion2)), aim)
    }
}
