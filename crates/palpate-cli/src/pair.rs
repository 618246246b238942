//! Two shapes, ready to meet, and everything one pose of them is asked.

use crate::cmd::{BuildArgs, open_or_build};
use crate::engine::{FieldInfo, Input, MeshInfo};
use crate::progress::Reporter;
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::contact::Contacts;
use palpate::force::{self, Force, ForceParams};
use palpate::query::{Distance, Penetration, PenetrationParams, QueryParams, Roles};
use palpate::{Pose, Query, Shape};
use palpate_view::units;
use serde_json::{Value, json};
use std::time::Instant;

/// Voxels or spacings of two shapes that differ by more than this are worth a warning [1].
const UNLIKE: f64 = 8.0;
/// Share of agreeing checks below which the sign is called doubtful [1].
const SURE: f64 = 0.99;
/// Voxels a wall needs across to keep its inside [1].
const ACROSS: f64 = 3.0;

/// One shape of a pair, with what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    pub(crate) title: String,
    pub(crate) shape: Shape,
    pub(crate) info: FieldInfo,
    pub(crate) mesh_info: MeshInfo,
    /// Up in pictures.
    pub(crate) up: DVec3,
    notes: Vec<String>,
}

impl Solid {
    fn load(input: &Input, args: &BuildArgs, reporter: &Reporter) -> Result<Self> {
        // Contact needs points, whatever was said.
        let args = &BuildArgs { no_points: false, ..args.clone() };
        let options = args.options()?;
        let model = open_or_build(input, args, true, reporter)?;
        let mesh_info = model.mesh_info.clone();
        let up = model.up.unwrap_or_else(|| input.up());
        let (shape, info, mut notes) = model.into_shape(&options, reporter).with_context(|| input.title())?;
        let is_file = matches!(input, Input::Asset(_));
        if is_file && args.voxel.is_some_and(|v| (v / info.voxel - 1.0).abs() > 1e-9) {
            let text = format!("its voxel is {}: --voxel is for meshes", units::length(info.voxel));
            notes.push(text);
        }
        reporter.check()?;
        Ok(Self { title: input.title(), shape, info, mesh_info, up, notes })
    }

    /// Distance between points [m].
    pub(crate) fn spacing(&self) -> f64 {
        self.shape.tree().shell_report().spacing
    }

    /// How thick it is on average, as a plate of its volume and area would be [m]; none where it encloses nothing.
    fn thickness(&self) -> Option<f64> {
        let t = 2.0 * self.mesh_info.volume.abs() / self.mesh_info.area;
        (t > 0.0 && t.is_finite() && !self.is_open()).then_some(t)
    }

    fn is_open(&self) -> bool {
        self.info.sign_method == "unsigned"
    }

    /// What it was built with, for machines.
    fn json(&self) -> Value {
        json!({
            "name": self.title,
            "voxel": self.info.voxel,
            "spacing": self.info.spacing,
            "points": self.info.points,
            "levels": self.info.levels,
            "coverage_radius": self.shape.tree().shell_report().radius,
            "error_bound_band": self.info.error_bound_band,
            "sign_method": self.info.sign_method,
        })
    }
}

/// The two shapes of a question.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) a: Solid,
    pub(crate) b: Solid,
}

impl Pair {
    /// Opens or builds both; the same input twice is made once.
    ///
    /// # Errors
    /// When one of them cannot be read or built.
    pub(crate) fn load(a: &str, b: &str, args: &BuildArgs, reporter: &Reporter) -> Result<Self> {
        let first = Solid::load(&Input::parse(a), args, reporter)?;
        let second = if a == b { first.clone() } else { Solid::load(&Input::parse(b), args, reporter)? };
        Ok(Self { a: first, b: second })
    }

    /// Both, for machines.
    pub(crate) fn json(&self) -> Value {
        json!({ "a": self.a.json(), "b": self.b.json() })
    }

    /// What makes answers about this pair less than one would expect, with numbers.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut out = Vec::new();
        for solid in [&self.a, &self.b] {
            out.extend(solid.notes.iter().map(|n| format!("{}: {n}", solid.title)));
            if solid.is_open() {
                out.push(format!(
                    "{} encloses nothing: no point is inside it, so it can be near others but never hold their points; give it a thickness",
                    solid.title
                ));
            } else if solid.info.sign_confidence < SURE {
                out.push(format!(
                    "{}: inside and outside are doubtful at {:.1} % of the places checked; contacts may be missing or invented there",
                    solid.title,
                    100.0 * (1.0 - solid.info.sign_confidence)
                ));
            }
            if solid.info.caps > 0 {
                out.push(format!(
                    "{}: {} holes were capped: contact with a cap is contact with a surface that the mesh does not have",
                    solid.title,
                    units::count(solid.info.caps)
                ));
            }
            if let Some(t) = solid.thickness().filter(|t| *t < ACROSS * solid.info.voxel) {
                out.push(format!(
                    "{} is about {} thick on average but its voxels are {}: its inside may be lost; build it with --voxel {} or less",
                    solid.title,
                    units::length(t),
                    units::length(solid.info.voxel),
                    option(t / ACROSS)
                ));
            }
        }
        let ratio = |x: f64, y: f64| (x / y).max(y / x);
        let (va, vb) = (self.a.info.voxel, self.b.info.voxel);
        if ratio(va, vb) > UNLIKE {
            out.push(format!(
                "voxels of {} ({}) and {} ({}) differ {} times: depths are only as good as the coarser field; build both alike",
                units::length(va),
                self.a.title,
                units::length(vb),
                self.b.title,
                units::number(ratio(va, vb))
            ));
        }
        let (sa, sb) = (self.a.spacing(), self.b.spacing());
        if ratio(sa, sb) > UNLIKE {
            out.push(format!(
                "points are {} apart on {} and {} on {}, {} times as far: contact is found with the fewer points; build both alike, or choose with --points-of",
                units::length(sa),
                self.a.title,
                units::length(sb),
                self.b.title,
                units::number(ratio(sa, sb))
            ));
        }
        for (points, other) in [(&self.a, &self.b), (&self.b, &self.a)] {
            let spacing = points.spacing();
            if let Some(t) = other.thickness().filter(|t| *t < spacing) {
                out.push(format!(
                    "points of {} are {} apart but {} is about {} thick: it can pass between them unnoticed by contacts (the bound of the distance says by how much); use --spacing {} or less",
                    points.title,
                    units::length(spacing),
                    other.title,
                    units::length(t),
                    option(0.5 * t)
                ));
            }
            let room = other.shape.field().lattice().aabb().extent().max_element();
            if spacing > room {
                out.push(format!(
                    "the whole of {} ({}) is smaller than the spacing of the points of {} ({}): hardly any of them can be in it; use --points-of {}",
                    other.title,
                    units::length(room),
                    points.title,
                    units::length(spacing),
                    if core::ptr::eq(other, &self.a) { "a" } else { "b" }
                ));
            }
        }
        out
    }

    /// Asks everything about one pose.
    pub(crate) fn ask(&self, query: &mut Query, pose: &Pose, question: &Question) -> Answer {
        let (a, b) = (&self.a.shape, &self.b.shape);
        let start = Instant::now();
        let distance = query.distance(a, b, pose);
        let after_distance = Instant::now();
        let mut answer = Answer {
            intersects: false,
            distance,
            contact_count: 0,
            contact_area: 0.0,
            lists: Vec::new(),
            push: DVec3::ZERO,
            force: None,
            penetration: None,
            micros_penetration: None,
            micros: 0.0,
            micros_distance: micros(start, after_distance),
            micros_contacts: 0.0,
        };
        // Nothing can be in contact when the shapes are certainly farther apart than the margin.
        let apart = distance.distance - distance.bound > question.margin.max(0.0);
        let mut ended = after_distance;
        if !apart {
            let params = QueryParams { margin: question.margin, roles: question.roles.unwrap_or_default() };
            let (first, second) = match question.roles {
                Some(_) => (query.contacts(a, b, pose, &params), None),
                None => {
                    let (first, second) = query.both(a, b, pose, &params);
                    (first, Some(second))
                }
            };
            ended = Instant::now();
            answer.micros_contacts = micros(after_distance, ended);
            if let Some(law) = &question.force {
                answer.force = Some(match second {
                    None => force::penalty(first, law, pose, None, None),
                    Some(second) => force::both(first, second, law, pose, None, None),
                });
                ended = Instant::now();
            }
            let share = if second.is_some() { 0.5 } else { 1.0 };
            for list in [Some(first), second].into_iter().flatten() {
                answer.add(list, share, question.keep_contacts);
            }
        } else if question.force.is_some() {
            answer.force = Some(Force::default());
        }
        answer.intersects = distance.overlaps() || answer.lists.iter().any(|l| l.deepest < 0.0);
        answer.micros = micros(start, ended);
        if question.penetration {
            let start = Instant::now();
            answer.penetration = Some(query.penetration(a, b, pose, &PenetrationParams::default()));
            answer.micros_penetration = Some(micros(start, Instant::now()));
        }
        answer
    }
}

fn micros(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e6
}

/// A length as an option of the program takes it.
pub(crate) fn option(metres: f64) -> String {
    units::length(metres).replace(' ', "").replace("µm", "um")
}

/// What is asked about each pose.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// [m]
    pub(crate) margin: f64,
    /// Which shape gives the points; none: both, one after the other.
    pub(crate) roles: Option<Roles>,
    pub(crate) force: Option<ForceParams>,
    /// Whether the shortest way out is wanted, which takes milliseconds.
    pub(crate) penetration: bool,
    /// Whether the contacts themselves are wanted, not only their number.
    pub(crate) keep_contacts: bool,
}

/// The contacts of one direction.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) count: usize,
    /// Least distance among them [m]; +∞ without any.
    pub(crate) deepest: f64,
    /// Whether A gave the points.
    pub(crate) of_a: bool,
    /// The contacts, where they were asked for.
    pub(crate) kept: Option<Contacts>,
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
    pub(crate) force: Option<Force>,
    /// The shortest way out, where it was asked for.
    pub(crate) penetration: Option<Penetration>,
    pub(crate) micros_penetration: Option<f64>,
    pub(crate) micros: f64,
    pub(crate) micros_distance: f64,
    pub(crate) micros_contacts: f64,
}

impl Answer {
    fn add(&mut self, contacts: &Contacts, share: f64, keep: bool) {
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
        self.lists.push(List {
            count: contacts.list.len(),
            deepest,
            of_a: contacts.swapped,
            kept: keep.then(|| contacts.clone()),
        });
    }

    /// How deep the deepest point found is [m].
    pub(crate) fn depth(&self) -> f64 {
        (-self.distance.distance).max(0.0)
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
            "force": self.force.map(|f| f.wrench.force.to_array()),
            "torque": self.force.map(|f| f.wrench.torque.to_array()),
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
                        "of": if of_a { "a" } else { "b" },
                    })
                })
                .collect();
            out["contacts"] = Value::Array(list);
        }
        out
    }
}
