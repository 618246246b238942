//! Meshes that deform: which triangles meet, where, how far apart they are, when they first touch.

use crate::array::{self, Points, from_points, three, triangles};
use crate::shape::PyShape;
use crate::{error, guard};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use palpate::soft::{Soft, SoftMesh, SoftParams, contacts};
use pyo3::prelude::*;

/// A mesh whose vertices move, in a common frame: ``vertices`` (n, 3) [m], ``faces`` (m, 3).
#[pyclass(name = "SoftMesh", module = "palpate")]
pub(crate) struct PySoftMesh {
    pub(crate) mesh: SoftMesh,
    /// How often triangles or the number of vertices changed, and how often vertices moved.
    edits: u64,
    moves: u64,
}

impl PySoftMesh {
    fn of(mesh: SoftMesh) -> Self {
        Self { mesh, edits: 0, moves: 0 }
    }

    /// Another one after every change: of triangles, and of places.
    pub(crate) fn version(&self) -> (u64, u64) {
        (self.edits, self.moves)
    }
}

#[pymethods]
impl PySoftMesh {
    #[new]
    fn new(py: Python<'_>, vertices: &Bound<'_, PyAny>, faces: &Bound<'_, PyAny>) -> PyResult<Self> {
        let positions = Points::new("vertices", vertices)?.as_slice()?.to_vec();
        let triangles = triangles(faces)?;
        let mesh = guard::alone(py, || SoftMesh::new(positions, triangles))?.map_err(error::soft)?;
        Ok(Self::of(mesh))
    }

    /// The mesh of a shape, which then may deform.
    #[staticmethod]
    fn from_shape(shape: &PyShape) -> Self {
        Self::of(SoftMesh::from_mesh(shape.shape.mesh()))
    }

    /// Positions (n, 3) [m]; assign as many to move them.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_points(py, self.mesh.positions().to_vec())
    }

    #[setter]
    fn set_vertices(&mut self, vertices: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = Points::new("vertices", vertices)?;
        self.moves += 1;
        self.mesh.set_positions(rows.as_slice()?).map_err(error::soft)
    }

    /// Triangles (m, 3).
    #[getter]
    fn faces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        pairs(py, self.mesh.triangles().to_vec())
    }

    /// Vertices that are not finite: their triangles take no part.
    #[getter]
    fn lost_vertices(&self) -> usize {
        self.mesh.lost_vertices()
    }

    /// Adds vertices; the number of the first.
    fn add_vertices(&mut self, vertices: &Bound<'_, PyAny>) -> PyResult<u32> {
        let rows = Points::new("vertices", vertices)?;
        self.edits += 1;
        self.mesh.add_vertices(rows.as_slice()?).map_err(error::soft)
    }

    /// Adds a triangle; its number.
    fn add_triangle(&mut self, triangle: &Bound<'_, PyAny>) -> PyResult<u32> {
        self.edits += 1;
        self.mesh.add_triangle(array::corners("triangle", triangle)?).map_err(error::soft)
    }

    /// Takes a triangle out for good.
    fn remove_triangle(&mut self, triangle: u32) -> PyResult<()> {
        self.edits += 1;
        self.mesh.remove_triangle(triangle).map_err(error::soft)
    }

    /// Lets a triangle take part, or not.
    fn set_enabled(&mut self, triangle: u32, enabled: bool) -> PyResult<()> {
        self.edits += 1;
        self.mesh.set_enabled(triangle, enabled).map_err(error::soft)
    }

    fn __repr__(&self) -> String {
        let (v, t) = (self.mesh.positions().len(), self.mesh.triangles().len());
        format!("<palpate.SoftMesh: {v} vertices, {t} triangles>")
    }
}

/// The memory of questions about soft meshes: keep it from step to step.
#[pyclass(name = "Soft", module = "palpate")]
pub(crate) struct PySoft {
    soft: Soft,
}

/// Where pairs of triangles meet.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct SoftContacts {
    /// Triangles of A and of B (k, 2).
    pairs: Py<PyAny>,
    /// The middle of what they have in common (k, 3) [m].
    point: Py<PyAny>,
    /// From A to B (k, 3), unit.
    normal: Py<PyAny>,
    /// The shortest way apart of the two triangles (k,) [m].
    depth: Py<PyAny>,
}

/// How far two soft meshes are apart.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct SoftDistance {
    /// Not negative [m].
    distance: f64,
    /// On A (3,) [m].
    witness_a: Py<PyArray1<f64>>,
    /// On B (3,) [m].
    witness_b: Py<PyArray1<f64>>,
    /// Those they are on.
    triangles: (u32, u32),
}

/// When two soft meshes first touch.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct FirstContact {
    /// 0 to 1: there is no contact before.
    time: f64,
    /// Where (3,) [m].
    point: Py<PyArray1<f64>>,
    /// Whether they do touch then, rather than may.
    exact: bool,
}

#[pymethods]
impl PySoft {
    #[new]
    fn new() -> Self {
        Self { soft: Soft::new() }
    }

    /// The triangles of two meshes that meet, exactly: (k, 2) numbers of triangles. Without ``b``, of a mesh with itself.
    #[pyo3(signature = (a, b=None, threads=0))]
    fn pairs<'py>(
        &mut self,
        py: Python<'py>,
        a: &PySoftMesh,
        b: Option<&PySoftMesh>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let soft = &mut self.soft;
        let list = guard::on_threads(py, threads, || meet(soft, &a.mesh, b.map(|b| &b.mesh)).list.clone())?;
        pairs(py, list)
    }

    /// Where they meet: ``pairs`` (k, 2), the middles ``point`` (k, 3) [m], ``normal`` (k, 3), unit, from A to B, and ``depth`` (k,) [m] of each pair.
    #[pyo3(signature = (a, b=None, threads=0))]
    fn contacts(
        &mut self,
        py: Python<'_>,
        a: &PySoftMesh,
        b: Option<&PySoftMesh>,
        threads: usize,
    ) -> PyResult<SoftContacts> {
        let soft = &mut self.soft;
        let second = b.map(|b| &b.mesh);
        let found = guard::on_threads(py, threads, || {
            let pairs = meet(soft, &a.mesh, second);
            contacts(&a.mesh, second.unwrap_or(&a.mesh), pairs)
        })?;
        Ok(SoftContacts {
            pairs: pairs(py, found.iter().map(|c| c.pair).collect())?.into_any().unbind(),
            point: from_points(py, found.iter().map(|c| c.point).collect())?.into_any().unbind(),
            normal: from_points(py, found.iter().map(|c| c.normal).collect())?.into_any().unbind(),
            depth: PyArray1::from_vec(py, found.iter().map(|c| c.depth).collect()).into_any().unbind(),
        })
    }

    /// How far two meshes are apart; none where one has no triangles.
    fn distance(&mut self, py: Python<'_>, a: &PySoftMesh, b: &PySoftMesh) -> PyResult<Option<SoftDistance>> {
        let soft = &mut self.soft;
        let found = guard::on_threads(py, 0, || soft.distance(&a.mesh, &b.mesh))?;
        Ok(found.map(|d| SoftDistance {
            distance: d.distance,
            witness_a: three(py, d.witnesses[0]),
            witness_b: three(py, d.witnesses[1]),
            triangles: d.triangles.into(),
        }))
    }

    /// When two meshes first touch on a straight way of every vertex to its end; none where they do not.
    fn first_contact(
        &mut self,
        py: Python<'_>,
        a: &PySoftMesh,
        a_end: &Bound<'_, PyAny>,
        b: &PySoftMesh,
        b_end: &Bound<'_, PyAny>,
    ) -> PyResult<Option<FirstContact>> {
        let (rows_a, rows_b) = (Points::new("a_end", a_end)?, Points::new("b_end", b_end)?);
        let (a_end, b_end, soft) = (rows_a.as_slice()?, rows_b.as_slice()?, &mut self.soft);
        let found = guard::on_threads(py, 0, || {
            soft.first_contact(&a.mesh, a_end, &b.mesh, b_end, &Default::default())
        })?;
        let found = found.map_err(error::soft)?;
        Ok(found.map(|f| FirstContact { time: f.time, point: three(py, f.point), exact: f.exact }))
    }
}

fn meet<'a>(soft: &'a mut Soft, a: &SoftMesh, b: Option<&SoftMesh>) -> &'a palpate::soft::Pairs {
    match b {
        Some(b) => soft.pairs(a, b, &SoftParams::default()),
        None => soft.own_pairs(a, &SoftParams::default()),
    }
}

/// Rows of whole numbers as an array, which takes their memory.
fn pairs<const N: usize>(py: Python<'_>, list: Vec<[u32; N]>) -> PyResult<Bound<'_, PyArray2<u32>>>
where
    [u32; N]: bytemuck::Pod,
{
    let n = list.len();
    PyArray1::from_vec(py, array::flat::<[u32; N], u32>(list)).reshape([n, N])
}
