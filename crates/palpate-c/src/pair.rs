//! Pairs of colliders, step after step: few contacts that stay, for physics engines.

use crate::border::{In, Out, export};
use crate::error::Failure;
use crate::handle::{self, Kind, PairHandle, ShapeHandle, SolidHandle};
use crate::query::roles;
use crate::values::{ContactsView, PoseValue, answered, flag, or_default, unknown};
use bytemuck::AnyBitPattern;
use palpate::manifold::{Choice, Collider, ManifoldParams, Manifolds, Pair};
use std::time::{Duration, Instant};

/// Most patches: each is sought among all contacts.
const MOST_PATCHES: u32 = 128;
/// Patches unless said otherwise.
const PATCHES: usize = 4;

/// `palp_collider`: the id of a shape or of a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, AnyBitPattern)]
#[repr(C)]
pub struct ColliderId {
    /// Of a shape or a solid.
    pub id: u64,
}

impl ColliderId {
    fn get(self, name: &str) -> Result<Collider, Failure> {
        if handle::kind_of(self.id) == SolidHandle::KIND {
            return Ok(Collider::Solid(handle::cloned(SolidHandle { id: self.id }, name)?.solid));
        }
        Ok(Collider::Shape(handle::cloned(ShapeHandle { id: self.id }, name)?))
    }
}

/// `palp_manifold_params`
#[derive(Clone, Copy, Debug, Default, PartialEq, AnyBitPattern)]
#[repr(C)]
pub struct ManifoldParamsValue {
    /// [m]
    pub margin: f64,
    /// [m]
    pub spread: f64,
    /// [µs]
    pub micros: f64,
    /// Points and balls that may be tested.
    pub budget: u64,
    /// `palp_choice`
    pub choice: i32,
    /// Level of segments, or most patches.
    pub count: u32,
    /// `palp_roles`
    pub roles: i32,
    /// Points of both shapes.
    pub both: i32,
    /// Manifolds of one direction.
    pub one_normal: i32,
    /// Patches are chosen from twice.
    pub tiers: i32,
    /// Whether `next` is given.
    pub ahead: i32,
    /// 0
    pub reserved: i32,
    /// Where B is about to be in A's frame.
    pub next: PoseValue,
}

impl ManifoldParamsValue {
    fn params(&self) -> Result<ManifoldParams, Failure> {
        if !self.margin.is_finite() {
            return Err(Failure::argument(format!("margin is {} m; give a finite length", self.margin)));
        }
        let choice = match (self.choice, self.count) {
            (0, _) => Choice::Regular,
            (1, level) => Choice::Segmented(level.max(1) as usize),
            (2, 0) => Choice::Patches(PATCHES),
            (2, n) if n <= MOST_PATCHES => Choice::Patches(n as usize),
            (2, n) => {
                return Err(Failure::argument(format!(
                    "count is {n}; there are at most {MOST_PATCHES} patches"
                )));
            }
            (n, _) => return unknown(n, "choice", 2),
        };
        Ok(ManifoldParams {
            margin: self.margin,
            spread: or_default(self.spread, "spread")?,
            choice,
            roles: roles(self.roles)?,
            both: flag(self.both),
            one_normal: flag(self.one_normal),
            tiers: flag(self.tiers),
            budget: usize::try_from(self.budget).unwrap_or(usize::MAX),
            next: flag(self.ahead).then(|| self.next.pose()),
        })
    }
}

/// `palp_manifold_point`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ManifoldPointValue {
    /// A's frame [m].
    pub point_a: [f64; 3],
    /// B's frame [m].
    pub point_b: [f64; 3],
    /// From A to B, unit, A's frame.
    pub normal: [f64; 3],
    /// [m]
    pub distance: f64,
    /// The same in every step.
    pub id: u32,
    /// 0
    pub reserved: u32,
}

/// `palp_manifold`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ManifoldValue {
    /// From A to B, unit, A's frame.
    pub normal: [f64; 3],
    /// Stays with it.
    pub key: u32,
    /// Its first point.
    pub first: u32,
    /// Its number of points.
    pub count: u32,
    /// 0
    pub reserved: u32,
}

/// `palp_manifolds`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ManifoldsView {
    /// The first; null without any.
    pub list: *const ManifoldValue,
    /// How many.
    pub count: usize,
    /// Points of all; null without any.
    pub points: *const ManifoldPointValue,
    /// How many.
    pub point_count: usize,
    /// How many keys there can be.
    pub keys: usize,
    /// Contacts they were chosen from.
    pub candidates: usize,
    /// Whether a budget ended the search.
    pub cut_short: i32,
    /// Whether there is no answer.
    pub non_finite: i32,
}

impl Default for ManifoldsView {
    fn default() -> Self {
        Self {
            list: core::ptr::null(),
            count: 0,
            points: core::ptr::null(),
            point_count: 0,
            keys: 0,
            candidates: 0,
            cut_short: 0,
            non_finite: 0,
        }
    }
}

/// What a pair handle names: two colliders, their memory, and what was found last as the header has it.
#[derive(Debug)]
pub struct Colliders {
    a: Collider,
    b: Collider,
    pair: Pair,
    manifolds: Vec<ManifoldValue>,
    points: Vec<ManifoldPointValue>,
}

fn first<T>(list: &[T]) -> *const T {
    if list.is_empty() { core::ptr::null() } else { list.as_ptr() }
}

/// Keeps what was found, and shows it.
fn show(
    found: &Manifolds<'_>,
    manifolds: &mut Vec<ManifoldValue>,
    points: &mut Vec<ManifoldPointValue>,
) -> ManifoldsView {
    manifolds.clear();
    manifolds.extend(found.manifolds.iter().map(|m| ManifoldValue {
        normal: m.normal.to_array(),
        key: m.key,
        first: m.first,
        count: m.count,
        reserved: 0,
    }));
    points.clear();
    points.extend(found.points.iter().map(|p| ManifoldPointValue {
        point_a: p.point_a.to_array(),
        point_b: p.point_b.to_array(),
        normal: p.normal.to_array(),
        distance: p.distance,
        id: p.id,
        reserved: 0,
    }));
    ManifoldsView {
        list: first(manifolds),
        count: manifolds.len(),
        points: first(points),
        point_count: points.len(),
        keys: found.keys,
        candidates: found.candidates,
        cut_short: found.cut_short.into(),
        non_finite: found.non_finite.into(),
    }
}

export! {
    /// Memory of two colliders.
    fn palp_pair_create(a: ColliderId, b: ColliderId, pair: Out<'_, PairHandle>) {
        let mut out = pair.ready("pair")?;
        let (a, b) = (a.get("a")?, b.get("b")?);
        let (manifolds, points) = (Vec::new(), Vec::new());
        out.put(handle::insert(Colliders { a, b, pair: Pair::new(), manifolds, points })?);
        Ok(())
    }

    /// Frees it, and what it showed.
    fn palp_pair_free(pair: PairHandle) {
        handle::free(pair, "pair")
    }

    /// The manifolds of the colliders in a relative pose.
    fn palp_pair_update(
        pair: PairHandle,
        a_from_b: In<'_, PoseValue>,
        params: In<'_, ManifoldParamsValue>,
        manifolds: Out<'_, ManifoldsView>,
    ) {
        let (pose, mut out) = (a_from_b.get("a_from_b")?.pose(), manifolds.ready("manifolds")?);
        let given = params.optional().unwrap_or_default();
        let (params, micros) = (given.params()?, or_default(given.micros, "micros")?);
        handle::with(pair, "pair", |p| {
            let Colliders { a, b, pair, manifolds, points } = p;
            let view = match micros {
                None => show(&pair.update(a, b, &pose, &params), manifolds, points),
                Some(micros) => {
                    // Longer than the clock can count: no limit.
                    let time = Duration::try_from_secs_f64(micros * 1e-6).ok();
                    let end = time.and_then(|t| Instant::now().checked_add(t));
                    let mut over = || end.is_some_and(|end| Instant::now() >= end);
                    show(&pair.update_until(a, b, &pose, &params, &mut over), manifolds, points)
                }
            };
            out.put(view);
            answered(view.non_finite != 0)
        })
    }

    /// The contacts the last update chose from.
    fn palp_pair_get_contacts(pair: PairHandle, contacts: Out<'_, ContactsView>) {
        let mut out = contacts.ready("contacts")?;
        handle::with(pair, "pair", |p| {
            out.put(ContactsView::new(p.pair.contacts(), false));
            Ok(())
        })
    }
}
