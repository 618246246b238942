//! Clouds: points without a surface.

use crate::array::{Points, from_points, vector};
use crate::{error, guard, shape};
use numpy::{PyArray1, PyArray2};
use palpate::cloud::{Cloud, CloudParams, Nearest, RawCloud};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Points (n, 3) [m] that are searched, in their own frame; they may come, go and move.
#[pyclass(name = "Cloud", module = "palpate")]
pub(crate) struct PyCloud {
    cloud: Cloud,
}

/// Points, ids and distances.
type Found<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>);

fn found<'py>(py: Python<'py>, list: &[Option<Nearest>]) -> PyResult<Found<'py>> {
    let points = list.iter().map(|n| n.map_or(glam::DVec3::NAN, |n| n.point)).collect();
    let distances = list.iter().map(|n| n.map_or(f64::NAN, |n| n.distance)).collect();
    let ids = list.iter().map(|n| n.map_or(-1, |n| i64::from(n.id))).collect();
    Ok((from_points(py, points)?, PyArray1::from_vec(py, distances), PyArray1::from_vec(py, ids)))
}

impl PyCloud {
    fn build(py: Python<'_>, points: &[glam::DVec3], threads: usize) -> PyResult<Self> {
        let params = CloudParams { threads, ..CloudParams::default() };
        let cloud =
            guard::on_threads(py, threads, || Cloud::build(points, &params))?.map_err(error::cloud)?;
        Ok(Self { cloud })
    }
}

#[pymethods]
impl PyCloud {
    #[new]
    #[pyo3(signature = (points, threads=0))]
    fn new(py: Python<'_>, points: &Bound<'_, PyAny>, threads: usize) -> PyResult<Self> {
        Self::build(py, Points::new("points", points)?.as_slice()?, threads)
    }

    /// Of a file: PLY, XYZ, CSV, PCD, LAS, LAZ, or the vertices of a mesh.
    #[staticmethod]
    #[pyo3(signature = (path, unit=None, threads=0))]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        unit: Option<&Bound<'_, PyAny>>,
        threads: usize,
    ) -> PyResult<Self> {
        let scale = unit.map_or(Ok(1.0), shape::scale)?;
        let raw = guard::on_threads(py, threads, || RawCloud::load(path, scale))?.map_err(error::scan)?;
        Self::build(py, &raw.points, threads)
    }

    fn __len__(&self) -> usize {
        self.cloud.len()
    }

    /// How far apart points are [m].
    #[getter]
    fn spacing(&self) -> f64 {
        self.cloud.spacing()
    }

    /// A box that holds all points: its corners (2, 3) [m].
    #[getter]
    fn aabb<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let aabb = self.cloud.aabb();
        from_points(py, vec![aabb.min, aabb.max])
    }

    /// The nearest point of each of places (n, 3) [m]: where (n, 3), how far (n,) [m], and its id (n,); NaN and -1 for a place that is not finite.
    #[pyo3(signature = (points, threads=0))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Found<'py>> {
        let rows = Points::new("points", points)?;
        let points = rows.as_slice()?;
        let list = guard::long(py, threads, |watch| {
            shape::rounds(points, watch, |some| self.cloud.nearest_batch(some))
        })?;
        found(py, &list)
    }

    /// The points within ``radius`` [m] of a place (3,), by their ids: as ``nearest``.
    fn within<'py>(&self, py: Python<'py>, point: &Bound<'py, PyAny>, radius: f64) -> PyResult<Found<'py>> {
        let p = vector("point", point)?;
        let list = guard::alone(py, || {
            let mut out = Vec::new();
            self.cloud.within_into(p, radius, &mut out);
            out.into_iter().map(Some).collect::<Vec<_>>()
        })?;
        found(py, &list)
    }

    /// The ``k`` points nearest to a place (3,), nearest first: as ``nearest``.
    fn nearest_k<'py>(&self, py: Python<'py>, point: &Bound<'py, PyAny>, k: usize) -> PyResult<Found<'py>> {
        let p = vector("point", point)?;
        let list = guard::alone(py, || {
            let mut out = Vec::new();
            self.cloud.nearest_k_into(p, k.min(self.cloud.len()), &mut out);
            out.into_iter().map(Some).collect::<Vec<_>>()
        })?;
        found(py, &list)
    }

    /// Takes a point in; its id.
    fn insert(&mut self, point: &Bound<'_, PyAny>) -> PyResult<u32> {
        self.cloud.insert(vector("point", point)?).map_err(error::cloud)
    }

    /// Takes a point out; whether there was one.
    fn remove(&mut self, id: u32) -> bool {
        self.cloud.remove(id)
    }

    /// Moves a point.
    fn move_to(&mut self, id: u32, point: &Bound<'_, PyAny>) -> PyResult<()> {
        self.cloud.move_to(id, vector("point", point)?).map_err(error::cloud)
    }

    fn __repr__(&self) -> String {
        format!("<palpate.Cloud: {} points>", self.cloud.len())
    }
}
