//! What is answered: small objects with names for their numbers.

use crate::array::three;
use crate::pose::{Placed, matrix};
use numpy::PyArray1;
use palpate::Shape;
use palpate::force::Force;
use palpate::query;
use palpate::query::ImpactEnd;
use pyo3::prelude::*;

type Three = Py<PyArray1<f64>>;

/// How far two shapes are apart, and where.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct Distance {
    distance: f64,
    bound: f64,
    witness_a: Three,
    witness_b: Three,
    direction: Three,
    overlaps: bool,
}

impl Distance {
    pub(crate) fn new(py: Python<'_>, d: &query::Distance, placed: &Placed) -> Self {
        Self {
            distance: d.distance,
            bound: d.bound,
            witness_a: three(py, placed.point(d.witness_a)),
            witness_b: three(py, placed.point(d.witness_b)),
            direction: three(py, placed.vector(d.direction())),
            overlaps: d.overlaps(),
        }
    }
}

#[pymethods]
impl Distance {
    fn __repr__(&self) -> String {
        format!("<palpate.Distance: {} m, bound {} m>", self.distance, self.bound)
    }

    fn __float__(&self) -> f64 {
        self.distance
    }
}

/// When and where two shapes first meet.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct Impact {
    time: Option<f64>,
    pose_b: Py<PyAny>,
    point: Three,
    normal: Three,
    distance: f64,
    early: f64,
    steps: usize,
    end: &'static str,
}

impl Impact {
    pub(crate) fn new(py: Python<'_>, i: &query::Impact, placed: &Placed) -> PyResult<Self> {
        let end = match i.end {
            ImpactEnd::Hit => "hit",
            ImpactEnd::Free => "free",
            ImpactEnd::Overlapping => "overlapping",
            ImpactEnd::Near => "near",
            ImpactEnd::Unfinished => "unfinished",
            ImpactEnd::NonFinite => "non_finite",
            ImpactEnd::Empty => "empty",
        };
        Ok(Self {
            time: i.time,
            pose_b: matrix(py, &placed.world.map_or(i.pose, |w| w * i.pose))?,
            point: three(py, placed.point(i.point)),
            normal: three(py, placed.vector(i.normal)),
            distance: i.distance,
            early: i.early,
            steps: i.steps,
            end,
        })
    }
}

#[pymethods]
impl Impact {
    fn __repr__(&self) -> String {
        match self.time {
            Some(time) => format!("<palpate.Impact: {} at time {time}>", self.end),
            None => format!("<palpate.Impact: {}>", self.end),
        }
    }
}

/// The shortest translation found that separates two shapes.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct Penetration {
    translation: Three,
    depth: f64,
    bound: f64,
    lower: f64,
    direction: Three,
    free: Three,
    overlapping: bool,
}

impl Penetration {
    pub(crate) fn new(py: Python<'_>, p: &query::Penetration, placed: &Placed) -> Self {
        Self {
            translation: three(py, placed.vector(p.translation)),
            depth: p.depth,
            bound: p.bound,
            lower: p.lower,
            direction: three(py, placed.vector(p.direction)),
            free: three(py, placed.vector(p.free())),
            overlapping: p.overlapping,
        }
    }
}

#[pymethods]
impl Penetration {
    fn __repr__(&self) -> String {
        format!("<palpate.Penetration: {} m>", self.depth)
    }
}

/// What contacts do to B.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct Wrench {
    force: Three,
    torque: Three,
    area: f64,
    normal_force: f64,
    contacts: usize,
    sticking: usize,
    sliding: usize,
}

impl Wrench {
    pub(crate) fn new(py: Python<'_>, f: &Force, placed: &Placed) -> Self {
        let w = placed.wrench(f.wrench);
        Self {
            force: three(py, w.force),
            torque: three(py, w.torque),
            area: f.area,
            normal_force: f.normal_force,
            contacts: f.used,
            sticking: f.sticking,
            sliding: f.sliding,
        }
    }
}

#[pymethods]
impl Wrench {
    fn __repr__(&self, py: Python<'_>) -> String {
        let show = |v: &Three| v.bind(py).as_any().to_string();
        format!(
            "<palpate.Wrench: force {} N, torque {} N m, {} contacts>",
            show(&self.force),
            show(&self.torque),
            self.contacts
        )
    }
}

/// What was found in a mesh and what was built of it.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct Report {
    vertices: usize,
    triangles: usize,
    welded_vertices: usize,
    degenerate: usize,
    duplicate_faces: usize,
    flipped_faces: usize,
    boundary_edges: usize,
    nonmanifold_edges: usize,
    components: usize,
    holes: usize,
    caps: usize,
    watertight: bool,
    sign_method: String,
    sign_confidence: f64,
    points: usize,
    coverage_radius: f64,
}

impl Report {
    pub(crate) fn new(shape: &Shape) -> Self {
        let (m, f, s) = (shape.mesh().report(), shape.field().report(), shape.tree().shell_report());
        Self {
            vertices: m.vertices,
            triangles: m.triangles,
            welded_vertices: m.welded_vertices,
            degenerate: m.degenerate,
            duplicate_faces: m.duplicate_faces,
            flipped_faces: m.flipped_faces,
            boundary_edges: m.boundary_edges,
            nonmanifold_edges: m.nonmanifold_edges,
            components: m.components,
            holes: m.holes,
            caps: f.caps(),
            watertight: m.watertight,
            sign_method: format!("{:?}", f.sign_method).to_lowercase(),
            sign_confidence: f.sign_confidence,
            points: shape.tree().len(),
            coverage_radius: s.radius,
        }
    }
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        let state = if self.watertight { "watertight" } else { "open" };
        format!("<palpate.Report: {} triangles, {state}, {} points>", self.triangles, self.points)
    }
}
