//! Everything one pose of two shapes is asked, and the answer for machines.

use crate::pair::Pair;
use crate::parse::Limit;
use glam::DVec3;
use palpate::contact::Contacts;
use palpate::force::{self, Direction, ForceParams};
use palpate::query::{Budget, Distance, Penetration, PenetrationParams, QueryParams, Reached, Roles};
use palpate::reduce::{self, Reducer};
use palpate::{Pose, Query, Wrench};
use serde_json::{Value, json};
use std::time::Instant;

/// How contacts are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Method {
    /// By the tree, all of them.
    #[default]
    Tree,
    /// Point by point: the same ones.
    Plain,
    /// By the tree, until a budget is spent.
    Budget(Limit),
}

/// Which of the contacts found are handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The deepest of each segment of the surface.
    Segments,
    /// So many that push as all do.
    Reduce(usize),
    /// Bullet's four.
    Bullet,
}

impl Choice {
    fn name(self) -> &'static str {
        match self {
            Self::Segments => "segments",
            Self::Reduce(_) => "reduce",
            Self::Bullet => "bullet",
        }
    }

    /// Whether what is chosen pushes as all contacts do.
    pub(crate) fn keeps_force(self) -> bool {
        matches!(self, Self::Reduce(_))
    }
}

/// What is asked about each pose. The default: distance and number of contacts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    /// [m]
    pub(crate) margin: f64,
    /// Which shape gives the points, or both, one after the other.
    pub(crate) roles: Roles,
    pub(crate) both: bool,
    pub(crate) method: Method,
    pub(crate) choice: Option<Choice>,
    pub(crate) force: Option<ForceParams>,
    /// Whether the shortest way out is wanted, which takes milliseconds.
    pub(crate) penetration: bool,
    /// Whether the contacts themselves are wanted, not only their number.
    pub(crate) keep_contacts: bool,
}

impl Question {
    /// What makes the answers less than one would expect.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let shell = self.force.is_some_and(|f| f.direction == Direction::Shell);
        let mut out = Vec::new();
        if shell && self.choice.is_some_and(Choice::keeps_force) {
            out.push(
                "--reduce keeps force and torque along the field's direction; with --direction shell they differ"
                    .to_owned(),
            );
        }
        out
    }
}

/// How far a search within a budget came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) reached: Reached,
    /// Levels of the tree.
    pub(crate) levels: usize,
    /// Points and balls that were tested.
    pub(crate) tested: usize,
}

/// The contacts of one direction.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) count: usize,
    /// Least distance among them [m]; +∞ without any.
    pub(crate) deepest: f64,
    /// Whether A gave the points.
    pub(crate) of_a: bool,
    /// None without a budget.
    pub(crate) spent: Option<Spent>,
    /// The contacts, where they were asked for: the chosen ones.
    pub(crate) kept: Option<Contacts>,
}

/// The contacts that were chosen, of all directions together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) by: Choice,
    pub(crate) count: usize,
    /// What they push with by themselves, where that is meant to be the same.
    pub(crate) force: Option<Wrench>,
    /// How far force and torque are from those of all contacts, over the sum of the single forces [1]; the larger of
    /// both directions. 0 for other choices, which keep neither.
    pub(crate) force_error: f64,
    pub(crate) torque_error: f64,
    /// Segments there are.
    pub(crate) segments: Option<usize>,
}

/// What was found for one pose. Frame A.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) intersects: bool,
    pub(crate) distance: Distance,
    pub(crate) contact_count: usize,
    /// Surface inside the other shape [m²].
    pub(crate) contact_area: f64,
    pub(crate) lists: Vec<List>,
    /// Sum over the contacts of area, depth and normal: where B is pushed [m³].
    pub(crate) push: DVec3,
    /// Of all contacts found, whatever was chosen of them.
    pub(crate) force: Option<Wrench>,
    pub(crate) chosen: Option<Chosen>,
    /// What the search was allowed, where that was said.
    limit: Option<Limit>,
    /// The shortest way out, where it was asked for.
    pub(crate) penetration: Option<Penetration>,
    pub(crate) micros_penetration: Option<f64>,
    pub(crate) micros: f64,
    pub(crate) micros_distance: f64,
    pub(crate) micros_contacts: f64,
}

fn micros(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e6
}

impl Pair {
    /// Asks everything about one pose.
    pub(crate) fn ask(&self, query: &mut Query, pose: &Pose, question: &Question) -> Answer {
        let (a, b) = (&self.a.shape, &self.b.shape);
        let start = Instant::now();
        let distance = query.distance(a, b, pose);
        let after_distance = Instant::now();
        let mut answer = Answer::new(question, distance, micros(start, after_distance));
        let mut took = answer.micros_distance;
        let one = [question.roles];
        let directions = if question.both { &[Roles::PointsOfB, Roles::PointsOfA][..] } else { &one };
        answer.chosen = question.choice.map(|by| self.nothing_chosen(by, question, directions));
        // Nothing can be in contact when the shapes are certainly farther apart than the margin. A search that was asked
        // for by name is made all the same, for its time and its reach.
        let apart = distance.distance - distance.bound > question.margin.max(0.0);
        let directions = if apart && question.method == Method::Tree { &[] } else { directions };
        // Forces take half of each direction, so that they do not double.
        let share = if question.both { 0.5 } else { 1.0 };
        for roles in directions {
            let begun = Instant::now();
            let spent = self.search(query, pose, question, *roles);
            let ended = Instant::now();
            answer.micros_contacts += micros(begun, ended);
            took += micros(begun, ended);
            if let (Some(law), Some(sum)) = (&question.force, &mut answer.force) {
                *sum = *sum + force::penalty(query.last(), law, pose, None, None).wrench * share;
                took += micros(ended, Instant::now());
            }
            answer.add(query.last(), spent, share);
            let kept = match &mut answer.chosen {
                Some(chosen) => Some(self.choose(query, pose, question, chosen, share)),
                None => question.keep_contacts.then(|| query.last().clone()),
            };
            if let Some(list) = answer.lists.last_mut().filter(|_| question.keep_contacts) {
                list.kept = kept;
            }
        }
        answer.intersects = distance.overlaps() || answer.lists.iter().any(|l| l.deepest < 0.0);
        answer.micros = took;
        self.ask_penetration(query, pose, question, &mut answer);
        answer
    }

    /// The shortest way out, where it is asked for.
    pub(crate) fn ask_penetration(
        &self,
        query: &mut Query,
        pose: &Pose,
        question: &Question,
        answer: &mut Answer,
    ) {
        if question.penetration {
            let start = Instant::now();
            let (a, b) = (&self.a.shape, &self.b.shape);
            answer.penetration = Some(query.penetration(a, b, pose, &PenetrationParams::default()));
            answer.micros_penetration = Some(micros(start, Instant::now()));
        }
    }

    /// Leaves the contacts of one direction in `query`.
    fn search(&self, query: &mut Query, pose: &Pose, question: &Question, roles: Roles) -> Option<Spent> {
        let (a, b) = (&self.a.shape, &self.b.shape);
        let params = QueryParams { margin: question.margin, roles };
        let reached = match question.method {
            Method::Tree => {
                query.contacts(a, b, pose, &params);
                return None;
            }
            Method::Plain => {
                query.plain(a, b, pose, &params);
                return None;
            }
            Method::Budget(Limit::Points(n)) => query.budget(a, b, pose, &params, Budget::Points(n)).1,
            Method::Budget(Limit::Time(limit)) => {
                let begun = Instant::now();
                let mut over = || begun.elapsed() >= limit;
                query.budget(a, b, pose, &params, Budget::Until(&mut over)).1
            }
        };
        let tree = if roles.swapped(a, b) { a.tree() } else { b.tree() };
        let stats = query.stats();
        Some(Spent { reached, levels: tree.levels(), tested: stats.nodes + stats.points })
    }

    /// What a choice begins with.
    pub(crate) fn nothing_chosen(&self, by: Choice, question: &Question, directions: &[Roles]) -> Chosen {
        let (a, b) = (&self.a.shape, &self.b.shape);
        let segments = |roles: &Roles| if roles.swapped(a, b) { a.tree() } else { b.tree() }.segments();
        Chosen {
            by,
            count: 0,
            force: question.force.filter(|_| by.keeps_force()).map(|_| Wrench::ZERO),
            force_error: 0.0,
            torque_error: 0.0,
            segments: (by == Choice::Segments).then(|| directions.iter().map(segments).sum()),
        }
    }

    /// The chosen ones of the contacts that `query` holds.
    fn choose(
        &self,
        query: &mut Query,
        pose: &Pose,
        question: &Question,
        chosen: &mut Chosen,
        share: f64,
    ) -> Contacts {
        let out = match chosen.by {
            Choice::Segments => {
                let roles = if query.last().swapped { Roles::PointsOfA } else { Roles::PointsOfB };
                let params = QueryParams { margin: question.margin, roles };
                query.segmented(&self.a.shape, &self.b.shape, pose, &params).clone()
            }
            _ => chosen.of(query.last()),
        };
        chosen.add(&out, pose, question, share);
        out
    }
}

impl Chosen {
    /// The chosen ones of all contacts of a direction; segments are not told here.
    pub(crate) fn of(&mut self, all: &Contacts) -> Contacts {
        let mut out = Contacts { origin: all.origin, swapped: all.swapped, list: Vec::new() };
        match self.by {
            Choice::Segments => {}
            Choice::Reduce(n) => {
                let reduction = Reducer::new().reduce(all, n, &mut out);
                self.force_error = self.force_error.max(reduction.force_error);
                self.torque_error = self.torque_error.max(reduction.torque_error);
            }
            Choice::Bullet => {
                out.list.extend(reduce::four(all).indices().iter().map(|i| all.list[*i]));
            }
        }
        out
    }

    /// Counts what was chosen of a direction, and how it pushes.
    pub(crate) fn add(&mut self, out: &Contacts, pose: &Pose, question: &Question, share: f64) {
        self.count += out.list.len();
        if let (Some(law), Some(sum)) = (&question.force, &mut self.force) {
            *sum = *sum + force::penalty(out, law, pose, None, None).wrench * share;
        }
    }
}

impl Answer {
    /// Without contacts yet.
    pub(crate) fn new(question: &Question, distance: Distance, micros_distance: f64) -> Self {
        Self {
            intersects: false,
            distance,
            contact_count: 0,
            contact_area: 0.0,
            lists: Vec::new(),
            push: DVec3::ZERO,
            force: question.force.map(|_| Wrench::ZERO),
            chosen: None,
            limit: match question.method {
                Method::Budget(limit) => Some(limit),
                _ => None,
            },
            penetration: None,
            micros_penetration: None,
            micros: 0.0,
            micros_distance,
            micros_contacts: 0.0,
        }
    }

    pub(crate) fn add(&mut self, contacts: &Contacts, spent: Option<Spent>, share: f64) {
        self.contact_count += contacts.list.len();
        let mut deepest = f64::INFINITY;
        for c in &contacts.list {
            let weight = share * f64::from(c.area);
            deepest = deepest.min(f64::from(c.distance));
            if c.distance < 0.0 {
                self.contact_area += weight;
                self.push += weight * f64::from(c.depth()) * c.normal().as_dvec3();
            }
        }
        let (count, of_a) = (contacts.list.len(), contacts.swapped);
        self.lists.push(List { count, deepest, of_a, spent, kept: None });
    }

    /// How deep the deepest point found is [m].
    pub(crate) fn depth(&self) -> f64 {
        (-self.distance.distance).max(0.0)
    }

    /// Whether all contacts were found: always, but within a budget.
    pub(crate) fn complete(&self) -> bool {
        self.lists.iter().all(|l| l.spent.is_none_or(|s| s.reached.complete))
    }

    /// Every contact that was kept: where it is [m], and itself.
    pub(crate) fn contacts(&self) -> impl Iterator<Item = (DVec3, &palpate::Contact, bool)> {
        self.lists
            .iter()
            .filter_map(|l| l.kept.as_ref())
            .flat_map(|list| list.list.iter().map(move |c| (list.position(c), c, list.swapped)))
    }

    /// The answer for machines; the keys are fixed.
    pub(crate) fn json(&self, contacts: bool) -> Value {
        let d = &self.distance;
        let mut out = json!({
            "intersects": self.intersects,
            "distance": d.distance,
            "distance_bound": d.bound,
            "witness_a": d.witness_a.to_array(),
            "witness_b": d.witness_b.to_array(),
            "contact_count": self.contact_count,
            "contact_area": self.contact_area,
            "force": self.force.map(|f| f.force.to_array()),
            "torque": self.force.map(|f| f.torque.to_array()),
            "micros": self.micros,
            "micros_distance": self.micros_distance,
            "micros_contacts": self.micros_contacts,
        });
        if let Some(p) = &self.penetration {
            out["penetration"] = json!({
                "translation": p.translation.to_array(),
                "depth": p.depth,
                "bound": p.bound,
                "lower": p.lower,
                "direction": p.direction.to_array(),
                "micros": self.micros_penetration,
            });
        }
        if let Some(limit) = self.limit {
            out["budget"] = self.budget_json(limit);
        }
        if let Some(c) = &self.chosen {
            let kept = c.by.keeps_force();
            out["chosen"] = json!({
                "by": c.by.name(),
                "count": c.count,
                "segments": c.segments,
                "force": c.force.map(|f| f.force.to_array()),
                "torque": c.force.map(|f| f.torque.to_array()),
                "force_error": kept.then_some(c.force_error),
                "torque_error": kept.then_some(c.torque_error),
            });
        }
        if contacts {
            let list: Vec<Value> = self
                .contacts()
                .map(|(p, c, of_a)| {
                    json!({
                        "point": p.to_array(),
                        "normal": c.normal,
                        "shell_normal": c.shell_normal,
                        "distance": c.distance,
                        "area": c.area,
                        "id": c.id,
                        "of": name(of_a),
                    })
                })
                .collect();
            out["contacts"] = Value::Array(list);
        }
        out
    }

    fn budget_json(&self, limit: Limit) -> Value {
        let (points, seconds) = match limit {
            Limit::Points(n) => (Some(n), None),
            Limit::Time(t) => (None, Some(t.as_secs_f64())),
        };
        let reached = self.lists.iter().filter_map(|l| l.spent.map(|s| (l.of_a, s)));
        let reached = reached.map(|(of_a, s)| {
            json!({
                "of": name(of_a),
                "complete": s.reached.complete,
                "level": s.reached.level,
                "levels": s.levels,
                "beyond": s.reached.beyond,
                "tested": s.tested,
            })
        });
        json!({
            "points": points,
            "seconds": seconds,
            "complete": self.complete(),
            "reached": reached.collect::<Vec<Value>>(),
        })
    }
}

/// The shape that gave points.
fn name(of_a: bool) -> &'static str {
    if of_a { "a" } else { "b" }
}
