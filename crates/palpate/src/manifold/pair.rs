//! The contacts of a pair, step after step, as manifolds.

use super::choose::{Candidate, Chooser, LEVEL, OF_A};
use super::way::Ahead;
use super::{Choice, Collider, Manifold, ManifoldParams, ManifoldPoint, Manifolds, POINTS, SPREAD};
use crate::contact::Contacts;
use crate::math::Pose;
use crate::query::solid::Extent;
use crate::query::{Budget, Query, QueryParams, Roles, Side};
use crate::shape::Shape;
use crate::tree::Tree;
use glam::{DVec3, Vec3};

/// Directions that are one: cosine of about half a degree [1].
const FLAT: f32 = 0.99996;
/// How far contacts are looked for before the nearest is known, beyond where those that count were in the last update: this many times
/// as far as the nearest moved in it [1], at least and at most [spreads]. Larger: more contacts to leave out. Smaller: more searches
/// have to be made again.
const AHEAD: f64 = 1.5;
const AHEAD_WITHIN: [f64; 2] = [0.03, 0.5];
/// How much farther than asked it is looked whether anything is near [spreads]. Larger: it takes longer, and holds for longer.
const FREE: f32 = 4.0;

/// The memory of one pair of colliders: keep it while they are near each other. Updates after the first few do not allocate.
#[derive(Debug, Default)]
pub struct Pair {
    query: Query,
    chooser: Chooser,
    points: Vec<ManifoldPoint>,
    manifolds: Vec<Manifold>,
    /// Distance of the nearest candidate of the last update, 0 inside [m].
    nearest: Option<f64>,
    /// How far that was from the one before [m].
    moved: f64,
}

/// What a search for candidates came to.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    cut_short: bool,
    non_finite: bool,
}

/// A wish to stop.
type Stop<'a, 'b> = Option<&'a mut (dyn FnMut() -> bool + 'b)>;

impl Pair {
    /// Memory for any pair.
    pub fn new() -> Self {
        Self::default()
    }

    /// The manifolds of two colliders in a relative pose.
    ///
    /// Found are the points within `margin`, and of these the ones not more than `spread` farther than the nearest, or than touching;
    /// of these the choice is made. The result depends on the updates before only in which of nearly equal points are chosen. Two
    /// solids, or a shape without points, have no contacts. A few microseconds for a part that rests on another.
    pub fn update(
        &mut self,
        a: &Collider,
        b: &Collider,
        a_from_b: &Pose,
        params: &ManifoldParams,
    ) -> Manifolds<'_> {
        self.run(a, b, a_from_b, params, None)
    }

    /// As [`Pair::update`], ending when `stop` says so: what was found until then is a picture of the whole contact, as coarse as
    /// it has to be. Only for two shapes: solids take a few microseconds at most.
    pub fn update_until(
        &mut self,
        a: &Collider,
        b: &Collider,
        a_from_b: &Pose,
        params: &ManifoldParams,
        stop: &mut dyn FnMut() -> bool,
    ) -> Manifolds<'_> {
        self.run(a, b, a_from_b, params, Some(stop))
    }

    /// The contacts the last update chose from, in A's frame: those of one direction.
    pub fn contacts(&self) -> &Contacts {
        self.query.last()
    }

    fn run(
        &mut self,
        a: &Collider,
        b: &Collider,
        a_from_b: &Pose,
        params: &ManifoldParams,
        stop: Stop<'_, '_>,
    ) -> Manifolds<'_> {
        self.points.clear();
        self.manifolds.clear();
        self.chooser.begin();
        self.chooser.tiers = params.tiers;
        let (search, of_a) = match (a, b) {
            (Collider::Shape(a), Collider::Shape(b)) => self.shapes(a, b, a_from_b, params, stop),
            (Collider::Solid(solid), Collider::Shape(b)) => {
                let whole = self.query.solid_again(solid, b, a_from_b, extent(b, params));
                self.take(&b.tree, params);
                (Search { cut_short: !whole, non_finite: self.query.stats().non_finite }, None)
            }
            (Collider::Shape(a), Collider::Solid(solid)) => {
                let whole = self.query.solid_again(solid, a, &a_from_b.inverse(), extent(a, params));
                self.query.turn_back(a, a_from_b);
                self.take(&a.tree, params);
                (Search { cut_short: !whole, non_finite: self.query.stats().non_finite }, Some(a))
            }
            (Collider::Solid(_), Collider::Solid(_)) => (Search::default(), None),
        };
        let candidates = self.chooser.candidates.len();
        let nearest = self.chooser.candidates.iter().map(|c| f64::from(c.distance).max(0.0)).reduce(f64::min);
        self.moved = nearest.zip(self.nearest).map_or(f64::INFINITY, |(now, before)| (now - before).abs());
        self.nearest = nearest;
        if let Some(next) = &params.next {
            let ahead = Ahead { a, b, a_from_b, next };
            ahead.clear(self.chooser.origin, &mut self.chooser.candidates);
        }
        let (points, manifolds, origin) = (&mut self.points, &mut self.manifolds, self.chooser.origin);
        let b_from_a = a_from_b.inverse();
        let split = if params.one_normal { POINTS } else { 1 };
        let mut emit = |key: usize, chosen: &[Candidate]| {
            let mut taken = [false; POINTS];
            for part in 0..split {
                let Some(from) = (0..chosen.len()).find(|i| !taken[*i]) else { break };
                let first = points.len() as u32;
                let mut normal = Vec3::ZERO;
                for (c, taken) in chosen.iter().zip(&mut taken).skip(from) {
                    if !*taken && (split == 1 || c.normal.dot(chosen[from].normal) >= FLAT) {
                        *taken = true;
                        points.push(placed(c, origin, &b_from_a));
                        normal += c.normal;
                    }
                }
                let normal = normal.try_normalize().unwrap_or(chosen[from].normal).as_dvec3();
                let count = points.len() as u32 - first;
                manifolds.push(Manifold { normal, key: (key * split + part) as u32, first, count });
            }
        };
        let keys = match params.choice {
            Choice::Regular => self.chooser.regular(&mut emit),
            Choice::Patches(most) => self.chooser.patches(most, &mut emit),
            Choice::Segmented(level) => {
                let tree = match (of_a, a, b) {
                    (Some(a), ..) => Some(&*a.tree),
                    (None, _, Collider::Shape(b)) => Some(&*b.tree),
                    _ => None,
                };
                tree.map_or(0, |t| self.chooser.segmented(t, level, &mut emit))
            }
        };
        Manifolds {
            manifolds: &self.manifolds,
            points: &self.points,
            keys: keys * split,
            candidates,
            cut_short: search.cut_short,
            non_finite: search.non_finite,
        }
    }

    /// Candidates of two shapes; A, if it gave the points.
    fn shapes<'s>(
        &mut self,
        a: &'s Shape,
        b: &'s Shape,
        a_from_b: &Pose,
        params: &ManifoldParams,
        mut stop: Stop<'_, '_>,
    ) -> (Search, Option<&'s Shape>) {
        let first = params.roles.swapped(a, b);
        // Segments are those of one tree.
        let both = params.both && !matches!(params.choice, Choice::Segmented(_));
        let mut search = Search::default();
        self.query.forget_last();
        for swapped in [first, !first].into_iter().take(if both { 2 } else { 1 }) {
            let shape = if swapped { a } else { b };
            let extent = extent(shape, params);
            let roles = if swapped { Roles::PointsOfA } else { Roles::PointsOfB };
            // As near as before, and then some: where that holds, the nearest point need not be looked for first.
            let [least, most] = AHEAD_WITHIN.map(|k| k * extent.spread);
            let ahead = extent.spread + (AHEAD * self.moved).clamp(least, most);
            let (mut searched, mut nearest, mut complete) = (f64::NEG_INFINITY, None, true);
            if let Some(d) = self.nearest {
                searched = (d + ahead).min(extent.margin);
                let asked = QueryParams { margin: searched, roles };
                complete = self.ask(a, b, a_from_b, &asked, &extent, &mut stop);
                search.non_finite |= self.query.stats().non_finite;
                nearest = self.query.last().deepest().map(|c| c.distance);
            }
            if nearest.is_none() && searched < extent.margin {
                let side = Side::new(a, b, a_from_b, swapped);
                if self.query.still_free(&side, extent.margin, swapped) {
                    continue;
                }
                let margin = (extent.margin as f32).next_up();
                let limit = margin + FREE * extent.spread as f32;
                nearest = self.query.least(&side, limit, margin.min(0.0)).map(|(_, d)| d);
                search.non_finite |= self.query.stats().non_finite;
                if nearest.is_none_or(|d| d >= margin) {
                    // What is that far away need not be looked for again for a while.
                    if !self.query.stats().non_finite {
                        self.query.set_free(&side, nearest.unwrap_or(limit).next_down(), swapped);
                    }
                    continue;
                }
            }
            let needed = nearest.map_or(0.0, |d| f64::from(d.max(0.0)) + extent.spread).min(extent.margin);
            if searched < needed {
                let asked = QueryParams { margin: needed, roles };
                complete = self.ask(a, b, a_from_b, &asked, &extent, &mut stop);
                search.non_finite |= self.query.stats().non_finite;
            }
            search.cut_short |= !complete;
            self.take(&shape.tree, params);
        }
        (search, first.then_some(a))
    }

    /// Asks for contacts of two shapes, as far as a budget goes; whether it went all the way.
    fn ask(
        &mut self,
        a: &Shape,
        b: &Shape,
        a_from_b: &Pose,
        asked: &QueryParams,
        extent: &Extent,
        stop: &mut Stop<'_, '_>,
    ) -> bool {
        match (stop, extent.budget) {
            (Some(stop), _) => self.query.budget(a, b, a_from_b, asked, Budget::Until(*stop)).1.complete,
            (None, usize::MAX) => {
                let swapped = asked.roles.swapped(a, b);
                self.query.contacts_again(a, b, a_from_b, asked.margin, extent.spread, swapped);
                true
            }
            (None, n) => self.query.budget(a, b, a_from_b, asked, Budget::Points(n)).1.complete,
        }
    }

    /// Adds what the query found to the candidates.
    fn take(&mut self, tree: &Tree, params: &ManifoldParams) {
        let found = self.query.last();
        let spread = spread(tree, params);
        self.chooser.spread = spread as f32;
        // A wide spread, for fast bodies, does not make their nearest point less important.
        self.chooser.tie = LEVEL * spread.min(usual_spread(tree)) as f32;
        // What was found may lie a little beyond the margin.
        let margin = f64::from(params.margin as f32);
        let thin = !matches!(params.choice, Choice::Segmented(_));
        self.chooser.add(found, spread, margin, thin.then_some(tree));
    }
}

/// How far points may lie apart and count [m].
fn spread(tree: &Tree, params: &ManifoldParams) -> f64 {
    // Not so either: no number.
    params.spread.map_or_else(|| usual_spread(tree), |s| s.max(0.0))
}

fn usual_spread(tree: &Tree) -> f64 {
    let radius = tree.levels.first().map_or(0.0, |l| f64::from(l.radius[0]));
    (SPREAD * radius).max(0.5 * tree.shell.spacing)
}

fn extent(shape: &Shape, params: &ManifoldParams) -> Extent {
    let budget = if params.budget == 0 { usize::MAX } else { params.budget };
    Extent { margin: params.margin, spread: spread(&shape.tree, params), budget }
}

/// A candidate as a point of a manifold.
fn placed(c: &Candidate, origin: DVec3, b_from_a: &Pose) -> ManifoldPoint {
    let (at, normal) = (origin + c.point.as_dvec3(), c.normal.as_dvec3());
    let distance = f64::from(c.distance);
    // The shell's point is on the surface of the shape that gave it; the other's surface is the distance away.
    let (on_a, on_b) =
        if c.id & OF_A != 0 { (at, at + normal * distance) } else { (at - normal * distance, at) };
    ManifoldPoint { point_a: on_a, point_b: b_from_a.point(on_b), normal, distance, id: c.id }
}
