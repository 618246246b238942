//! What was found of a pair.

use crate::array::{from_points, three};
use glam::DVec3;
use numpy::{PyArray1, PyArray2};
use palpate_assembly as assembly;
use palpate_assembly::Job;
use pyo3::prelude::*;

/// Where two parts overlap, in the assembly's frame.
#[pyclass(module = "palpate", frozen)]
#[derive(Clone, Copy)]
pub(crate) struct Region(assembly::Region);

#[pymethods]
impl Region {
    /// The box around it: its smallest and its largest corner (2, 3) [m].
    #[getter]
    fn aabb<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let aabb = self.0.aabb();
        from_points(py, vec![aabb.min, aabb.max])
    }

    /// Centre of the volume (3,) [m].
    #[getter]
    fn centroid(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        three(py, DVec3::from_array(self.0.centroid))
    }

    /// Estimated volume [m³].
    #[getter]
    fn volume(&self) -> f64 {
        self.0.volume
    }

    /// How far off that can be, as far as the grid of the estimate tells [m³].
    #[getter]
    fn volume_error(&self) -> f64 {
        self.0.volume_error
    }

    fn __repr__(&self) -> String {
        format!("<palpate.Region: {} ± {} m³>", self.0.volume, self.0.volume_error)
    }
}

/// Two parts that clash, come too near, or touch by design. Points are in the assembly's frame.
#[pyclass(module = "palpate", frozen)]
pub(crate) struct Finding {
    found: assembly::Finding,
    /// The first part's name.
    #[pyo3(get)]
    a: String,
    /// The second part's name.
    #[pyo3(get)]
    b: String,
}

impl Finding {
    pub(super) fn new(job: &Job, found: assembly::Finding) -> Self {
        let [a, b] = found.pair.map(|i| job.instances[i as usize].name.clone());
        Self { found, a, b }
    }
}

#[pymethods]
impl Finding {
    /// "clash", "clearance" or "contact".
    #[getter]
    fn kind(&self) -> &'static str {
        self.found.outcome.kind.name()
    }

    /// Numbers of the two instances, the smaller first.
    #[getter]
    fn pair(&self) -> (u32, u32) {
        self.found.pair.into()
    }

    /// Apart: the distance of the surfaces. Overlapping: minus the depth of the deepest point; of parts whose surfaces coincide, minus the
    /// length of the way out [m].
    #[getter]
    fn distance(&self) -> f64 {
        self.found.outcome.distance
    }

    /// How deep they overlap: 0 where they do not [m].
    #[getter]
    fn depth(&self) -> f64 {
        self.found.outcome.depth()
    }

    /// Where the distance is measured on the first part (3,) [m].
    #[getter]
    fn point_a(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        three(py, DVec3::from_array(self.found.outcome.points[0]))
    }

    /// Where it is measured on the second (3,) [m].
    #[getter]
    fn point_b(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        three(py, DVec3::from_array(self.found.outcome.points[1]))
    }

    /// The place to look at (3,) [m].
    #[getter]
    fn place(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        three(py, self.found.outcome.place())
    }

    /// A short translation of the second part that frees it (3,) [m]; zero where they do not overlap.
    #[getter]
    fn way(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        three(py, DVec3::from_array(self.found.outcome.way))
    }

    /// Where they overlap; None unless they clash.
    #[getter]
    fn region(&self) -> Option<Region> {
        self.found.outcome.region.map(Region)
    }

    /// When, from 0 to 1 of the motion: the beginning of the clash, else the time of the least distance. None where neither moves.
    #[getter]
    fn time(&self) -> Option<f64> {
        self.found.outcome.time
    }

    fn __repr__(&self) -> String {
        format!(
            "<palpate.Finding: {} of {:?} and {:?}, {} m>",
            self.kind(),
            self.a,
            self.b,
            self.found.outcome.distance
        )
    }
}
