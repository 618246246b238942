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
    /// Apart: that of the witnesses; overlapping: minus the depth of the deepest point found [m].
    distance: f64,
    /// The true distance is at most this much smaller [m].
    bound: f64,
    /// On A's surface (3,) [m].
    witness_a: Three,
    /// On B's surface (3,) [m].
    witness_b: Three,
    /// From A to B if apart, else the way B should go (3,), unit.
    direction: Three,
    /// Whether the distance is not positive.
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
    /// 0 to 1; none if the shapes do not meet.
    time: Option<f64>,
    /// ``w_from_b`` then (4, 4); without a time that at the end.
    pose_b: Py<PyAny>,
    /// Where (3,) [m]; NaN without an impact.
    point: Three,
    /// From A to B there (3,), unit.
    normal: Three,
    /// Distance of ``point`` from the other surface [m].
    distance: f64,
    /// How far apart shapes may be that are reported to meet [m].
    early: f64,
    /// Steps of the search.
    steps: usize,
    /// "hit", "free", "overlapping" or "near" at the start, "unfinished", or "empty".
    end: &'static str,
}

/// How a search for an impact ended, in a word.
pub(crate) fn end_name(end: ImpactEnd) -> &'static str {
    match end {
        ImpactEnd::Hit => "hit",
        ImpactEnd::Free => "free",
        ImpactEnd::Overlapping => "overlapping",
        ImpactEnd::Near => "near",
        ImpactEnd::Unfinished => "unfinished",
        ImpactEnd::NonFinite => "non_finite",
        ImpactEnd::Empty => "empty",
    }
}

impl Impact {
    pub(crate) fn new(py: Python<'_>, i: &query::Impact, placed: &Placed) -> PyResult<Self> {
        Ok(Self {
            time: i.time,
            pose_b: matrix(py, &placed.world.map_or(i.pose, |w| w * i.pose))?,
            point: three(py, placed.point(i.point)),
            normal: three(py, placed.vector(i.normal)),
            distance: i.distance,
            early: i.early,
            steps: i.steps,
            end: end_name(i.end),
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
    /// Moves B out of A (3,) [m].
    translation: Three,
    /// Its length [m].
    depth: f64,
    /// What rounding may take from it [m].
    bound: f64,
    /// No translation shorter than this separates them [m].
    lower: f64,
    /// Unit, or zero (3,).
    direction: Three,
    /// The translation after which they certainly share no point (3,) [m].
    free: Three,
    /// Whether they share a point.
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
    /// On B (3,) [N].
    force: Three,
    /// On B about B's origin (3,) [N m].
    torque: Three,
    /// Surface in contact [m²].
    area: f64,
    /// Sum of the lengths of normal forces [N].
    normal_force: f64,
    /// Contacts with depth.
    contacts: usize,
    /// Those that friction holds.
    sticking: usize,
    /// Those that slide.
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
    /// Of the cleaned mesh.
    vertices: usize,
    /// Of the cleaned mesh.
    triangles: usize,
    /// Vertices that became one with others.
    welded_vertices: usize,
    /// Triangles without area that were left out.
    degenerate: usize,
    /// Triangles that were there twice.
    duplicate_faces: usize,
    /// Triangles that were turned.
    flipped_faces: usize,
    /// Edges with one triangle.
    boundary_edges: usize,
    /// Edges with more than two.
    nonmanifold_edges: usize,
    /// Parts that are not connected.
    components: usize,
    /// Boundary loops.
    holes: usize,
    /// Holes that were closed.
    caps: usize,
    /// Whether nothing is open.
    watertight: bool,
    /// How inside was told from outside.
    sign_method: String,
    /// How sure that is, 0 to 1.
    sign_confidence: f64,
    /// Points on the surface.
    points: usize,
    /// No place of the surface is farther from a point [m].
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
