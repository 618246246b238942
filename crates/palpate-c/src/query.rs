//! Two shapes in a relative pose: whether they meet, how far apart they are, where they touch.

use crate::border::{In, Out, Room, export};
use crate::error::Failure;
use crate::handle::{self, QueryHandle, ShapeHandle};
use crate::values::{ContactsView, PoseValue, answered, or_default, unknown};
use bytemuck::AnyBitPattern;
use glam::DVec3;
use palpate::math::Pose;
use palpate::query::{
    Budget, Distance, ImpactEnd, ImpactParams, Motion, Penetration, PenetrationParams, QueryParams, Roles,
};
use palpate::reduce::Reducer;
use palpate::{Contact, Contacts, Query, Shape};
use std::time::{Duration, Instant};

/// What a query handle names: two shapes, and the memory of questions about them.
#[derive(Debug)]
pub struct Pair {
    pub(crate) a: Shape,
    pub(crate) b: Shape,
    pub(crate) query: Query,
    /// Where B was in the last question about contacts.
    pub(crate) a_from_b: Pose,
    /// Whether that was about both directions.
    pub(crate) both: bool,
    pub(crate) reducer: Reducer,
    pub(crate) reduced: Contacts,
}

/// `palp_query_params`
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct QueryParamsValue {
    /// [m]
    pub margin: f64,
    /// `palp_roles`
    pub roles: i32,
    /// 0
    pub reserved: i32,
}

impl QueryParamsValue {
    pub(crate) fn params(&self) -> Result<QueryParams, Failure> {
        if !self.margin.is_finite() {
            return Err(Failure::argument(format!("margin is {} m; give a finite length", self.margin)));
        }
        Ok(QueryParams { margin: self.margin, roles: roles(self.roles)? })
    }
}

/// `palp_roles`
pub(crate) fn roles(value: i32) -> Result<Roles, Failure> {
    Ok(match value {
        0 => Roles::Fewer,
        1 => Roles::PointsOfA,
        2 => Roles::PointsOfB,
        n => return unknown(n, "roles", 2),
    })
}

/// Parameters that may be left out.
pub(crate) fn params_of(params: In<'_, QueryParamsValue>) -> Result<QueryParams, Failure> {
    params.optional().unwrap_or_default().params()
}

/// `palp_distance`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct DistanceValue {
    /// [m]
    pub distance: f64,
    /// [m]
    pub bound: f64,
    /// [m]
    pub witness_a: [f64; 3],
    /// [m]
    pub witness_b: [f64; 3],
}

impl From<Distance> for DistanceValue {
    fn from(d: Distance) -> Self {
        Self {
            distance: d.distance,
            bound: d.bound,
            witness_a: d.witness_a.to_array(),
            witness_b: d.witness_b.to_array(),
        }
    }
}

/// `palp_reached`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ReachedValue {
    /// The level whose points are among the contacts.
    pub level: u64,
    /// [1]
    pub beyond: f64,
    /// Whether the contacts are all there are.
    pub complete: i32,
    /// 0
    pub reserved: i32,
}

/// `palp_penetration`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct PenetrationValue {
    /// [m]
    pub translation: [f64; 3],
    /// Unit, or zero.
    pub direction: [f64; 3],
    /// [m]
    pub depth: f64,
    /// [m]
    pub bound: f64,
    /// [m]
    pub lower: f64,
    /// Directions followed.
    pub directions: u64,
    /// Whether the shapes overlap.
    pub overlapping: i32,
    /// 0
    pub reserved: i32,
}

impl From<Penetration> for PenetrationValue {
    fn from(p: Penetration) -> Self {
        Self {
            translation: p.translation.to_array(),
            direction: p.direction.to_array(),
            depth: p.depth,
            bound: p.bound,
            lower: p.lower,
            directions: p.directions as u64,
            overlapping: p.overlapping.into(),
            reserved: 0,
        }
    }
}

/// `palp_motion`
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct MotionValue {
    /// `a_from_b` at time 0.
    pub from: PoseValue,
    /// [m]
    pub linear: [f64; 3],
    /// [rad]
    pub angular: [f64; 3],
}

/// `palp_impact`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ImpactValue {
    /// 0 to 1; NaN where there is none.
    pub time: f64,
    /// `a_from_b` then.
    pub a_from_b: PoseValue,
    /// [m]
    pub point: [f64; 3],
    /// Unit, or zero.
    pub normal: [f64; 3],
    /// [m]
    pub distance: f64,
    /// [m]
    pub early: f64,
    /// Steps made.
    pub steps: u64,
    /// `palp_impact_end`
    pub end: i32,
    /// 0
    pub reserved: i32,
}

/// `palp_stats`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct StatsValue {
    /// Balls tested.
    pub nodes: u64,
    /// Points tested.
    pub points: u64,
    /// Whether there was no answer.
    pub non_finite: i32,
    /// 0
    pub reserved: i32,
}

impl Pair {
    /// Notes what the contacts of this question belong to; `view` is theirs.
    fn answer(&mut self, a_from_b: Pose) -> (ContactsView, bool) {
        (self.a_from_b, self.both) = (a_from_b, false);
        let non_finite = self.query.stats().non_finite;
        (ContactsView::new(self.query.last(), non_finite), non_finite)
    }

    /// Contacts within a budget.
    fn within(
        &mut self,
        pose: Pose,
        params: &QueryParams,
        budget: Budget<'_>,
    ) -> (ContactsView, ReachedValue, bool) {
        let (_, r) = self.query.budget(&self.a, &self.b, &pose, params, budget);
        let reached = ReachedValue {
            level: r.level as u64,
            beyond: r.beyond,
            complete: r.complete.into(),
            reserved: 0,
        };
        let (view, non_finite) = self.answer(pose);
        (view, reached, non_finite)
    }
}

/// Parameters of [`Query::penetration`]; 0 is the default.
fn penetration_params(directions: u32, tolerance: f64) -> Result<PenetrationParams, Failure> {
    let tolerance = or_default(tolerance, "tolerance")?;
    let directions =
        if directions == 0 { PenetrationParams::default().directions } else { directions as usize };
    Ok(PenetrationParams { directions, tolerance })
}

export! {
    /// Memory for questions about two shapes.
    fn palp_query_create(a: ShapeHandle, b: ShapeHandle, query: Out<'_, QueryHandle>) {
        let mut query = query.ready("query")?;
        let pair = Pair {
            a: handle::cloned(a, "a")?,
            b: handle::cloned(b, "b")?,
            query: Query::new(),
            a_from_b: Pose::IDENTITY,
            both: false,
            reducer: Reducer::new(),
            reduced: Contacts::default(),
        };
        query.put(handle::insert(pair)?);
        Ok(())
    }

    /// Frees it, and the contacts it showed.
    fn palp_query_free(query: QueryHandle) {
        handle::free(query, "query")
    }

    /// Whether the shapes meet.
    fn palp_query_intersects(query: QueryHandle, a_from_b: In<'_, PoseValue>, intersects: Out<'_, i32>) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), intersects.ready("intersects")?);
        handle::with(query, "query", |p| {
            out.put(p.query.intersects(&p.a, &p.b, &pose).into());
            answered(p.query.stats().non_finite)
        })
    }

    /// Signed distance with witnesses and a bound.
    fn palp_query_distance(query: QueryHandle, a_from_b: In<'_, PoseValue>, distance: Out<'_, DistanceValue>) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), distance.ready("distance")?);
        handle::with(query, "query", |p| {
            out.put(p.query.distance(&p.a, &p.b, &pose).into());
            answered(p.query.stats().non_finite)
        })
    }

    /// All contacts.
    fn palp_query_contacts(
        query: QueryHandle,
        a_from_b: In<'_, PoseValue>,
        params: In<'_, QueryParamsValue>,
        contacts: Out<'_, ContactsView>,
    ) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), contacts.ready("contacts")?);
        let params = params_of(params)?;
        handle::with(query, "query", |p| {
            p.query.contacts(&p.a, &p.b, &pose, &params);
            let (view, non_finite) = p.answer(pose);
            out.put(view);
            answered(non_finite)
        })
    }

    /// The deepest contact of each segment.
    fn palp_query_segmented(
        query: QueryHandle,
        a_from_b: In<'_, PoseValue>,
        params: In<'_, QueryParamsValue>,
        contacts: Out<'_, ContactsView>,
    ) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), contacts.ready("contacts")?);
        let params = params_of(params)?;
        handle::with(query, "query", |p| {
            p.query.segmented(&p.a, &p.b, &pose, &params);
            let (view, non_finite) = p.answer(pose);
            out.put(view);
            answered(non_finite)
        })
    }

    /// Contacts of both directions.
    fn palp_query_both(
        query: QueryHandle,
        a_from_b: In<'_, PoseValue>,
        params: In<'_, QueryParamsValue>,
        points_of_b: Out<'_, ContactsView>,
        points_of_a: Out<'_, ContactsView>,
    ) {
        let pose = a_from_b.get("a_from_b")?.pose();
        let (mut first, mut second) = (points_of_b.ready("points_of_b")?, points_of_a.ready("points_of_a")?);
        let params = params_of(params)?;
        handle::with(query, "query", |p| {
            p.query.both(&p.a, &p.b, &pose, &params);
            let (view, non_finite) = p.answer(pose);
            p.both = true;
            first.put(view);
            second.put(ContactsView::new(p.query.last_both()[1], non_finite));
            answered(non_finite)
        })
    }

    /// Contacts within a number of tested points.
    fn palp_query_budget_points(
        query: QueryHandle,
        a_from_b: In<'_, PoseValue>,
        params: In<'_, QueryParamsValue>,
        max_points: usize,
        contacts: Out<'_, ContactsView>,
        reached: Out<'_, ReachedValue>,
    ) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), contacts.ready("contacts")?);
        let params = params_of(params)?;
        handle::with(query, "query", |p| {
            let (view, how_far, non_finite) = p.within(pose, &params, Budget::Points(max_points));
            out.put(view);
            if let Some(mut reached) = reached.optional() {
                reached.put(how_far);
            }
            answered(non_finite)
        })
    }

    /// Contacts within a time.
    fn palp_query_budget_time(
        query: QueryHandle,
        a_from_b: In<'_, PoseValue>,
        params: In<'_, QueryParamsValue>,
        micros: f64,
        contacts: Out<'_, ContactsView>,
        reached: Out<'_, ReachedValue>,
    ) {
        let began = Instant::now();
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), contacts.ready("contacts")?);
        let params = params_of(params)?;
        if micros.is_nan() || micros < 0.0 {
            return Err(Failure::argument(format!("micros is {micros}; give 0 or more")));
        }
        // Longer than the clock can count: no limit.
        let end = Duration::try_from_secs_f64(micros * 1e-6).ok().and_then(|d| began.checked_add(d));
        let mut over = || end.is_some_and(|end| Instant::now() >= end);
        handle::with(query, "query", |p| {
            let (view, how_far, non_finite) = p.within(pose, &params, Budget::Until(&mut over));
            out.put(view);
            if let Some(mut reached) = reached.optional() {
                reached.put(how_far);
            }
            answered(non_finite)
        })
    }

    /// Copies the contacts of the last question about contacts.
    fn palp_query_copy_contacts(
        query: QueryHandle,
        contacts: Room<'_, Contact>,
        capacity: usize,
        count: Out<'_, usize>,
    ) {
        let mut out = contacts.writer(capacity, "contacts")?;
        handle::with(query, "query", |p| {
            p.query.last().list.iter().for_each(|c| out.push(*c));
            Ok(())
        })?;
        out.end(count, "contacts")
    }

    /// The shortest translation found that separates the shapes.
    fn palp_query_penetration(
        query: QueryHandle,
        a_from_b: In<'_, PoseValue>,
        directions: u32,
        tolerance: f64,
        penetration: Out<'_, PenetrationValue>,
    ) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), penetration.ready("penetration")?);
        let params = penetration_params(directions, tolerance)?;
        handle::with(query, "query", |p| {
            out.put(p.query.penetration(&p.a, &p.b, &pose, &params).into());
            answered(p.query.stats().non_finite)
        })
    }

    /// How far B must go along a direction until it is free.
    fn palp_query_penetration_along(
        query: QueryHandle,
        a_from_b: In<'_, PoseValue>,
        direction: In<'_, [f64; 3]>,
        tolerance: f64,
        penetration: Out<'_, PenetrationValue>,
    ) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), penetration.ready("penetration")?);
        let along = DVec3::from_array(direction.get("direction")?);
        let params = penetration_params(0, tolerance)?;
        handle::with(query, "query", |p| {
            out.put(p.query.penetration_along(&p.a, &p.b, &pose, along, &params).into());
            answered(p.query.stats().non_finite)
        })
    }

    /// When the shapes first meet along a motion.
    fn palp_query_time_of_impact(
        query: QueryHandle,
        motion: In<'_, MotionValue>,
        tolerance: f64,
        max_steps: usize,
        impact: Out<'_, ImpactValue>,
    ) {
        let (motion, mut out) = (motion.get("motion")?, impact.ready("impact")?);
        let motion =
            Motion { from: motion.from.pose(), linear: motion.linear.into(), angular: motion.angular.into() };
        let mut params = ImpactParams { tolerance: or_default(tolerance, "tolerance")?, ..Default::default() };
        if max_steps > 0 {
            params.max_steps = max_steps;
        }
        handle::with(query, "query", |p| {
            let i = p.query.time_of_impact(&p.a, &p.b, &motion, &params);
            let end = match i.end {
                ImpactEnd::Hit => 0,
                ImpactEnd::Free => 1,
                ImpactEnd::Overlapping => 2,
                ImpactEnd::Near => 3,
                ImpactEnd::Unfinished => 4,
                ImpactEnd::NonFinite => 5,
                ImpactEnd::Empty => 6,
            };
            out.put(ImpactValue {
                time: i.time.unwrap_or(f64::NAN),
                a_from_b: i.pose.into(),
                point: i.point.to_array(),
                normal: i.normal.to_array(),
                distance: i.distance,
                early: i.early,
                steps: i.steps as u64,
                end,
                reserved: 0,
            });
            answered(i.end == ImpactEnd::NonFinite)
        })
    }

    /// What the last question took.
    fn palp_query_get_stats(query: QueryHandle, stats: Out<'_, StatsValue>) {
        let mut out = stats.ready("stats")?;
        handle::with(query, "query", |p| {
            let s = p.query.stats();
            out.put(StatsValue {
                nodes: s.nodes as u64,
                points: s.points as u64,
                non_finite: s.non_finite.into(),
                reserved: 0,
            });
            Ok(())
        })
    }
}
