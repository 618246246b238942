//! The parts of an assembly and their places.

use crate::array::{Points, flat, from_points, triangles};
use crate::pose::{self, matrix};
use crate::{error, guard, shape};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use palpate::mesh::RawMesh;
use palpate_assembly::sample::{self, Planted};
use palpate_assembly::{Builder, Job, Part, ReadJobError, read};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::path::PathBuf;
use std::sync::Arc;

/// Vertices and faces, as arrays.
pub(super) type Triangles<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<u32>>);

/// Most parts of a sample.
const MAX_SAMPLE: usize = 100_000;

/// Parts at their places, which may move: what ``palpate.assembly`` looks at. Equal meshes are kept once.
///
/// ``add`` puts parts together one by one; ``read`` takes a folder or a scene.
#[pyclass(name = "Assembly", module = "palpate")]
#[derive(Default)]
pub(crate) struct PyAssembly {
    builder: Builder,
    planted: Vec<Planted>,
    /// Made when it is first looked at, until something is added.
    job: Option<Arc<Job>>,
}

impl PyAssembly {
    pub(crate) fn job(&mut self) -> Arc<Job> {
        Arc::clone(self.job.get_or_insert_with(|| Arc::new(self.builder.clone().finish())))
    }

    /// The same places again, as a builder has them.
    fn of(job: Job, planted: Vec<Planted>) -> Self {
        Self { builder: Builder::from(job), planted, job: None }
    }
}

#[pymethods]
impl PyAssembly {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The assembly in a folder, or in a glTF or GLB file. In a folder every mesh file is a part in its place, or ``assembly.json`` or
    /// ``assembly.csv`` says which part is where, and how it moves. ``unit`` is the files', by name ("mm") or in metres; metres unless
    /// said otherwise. Parts that cannot be read are among ``failures``. ``progress(stage, done, steps)`` is told how far it is.
    #[classmethod]
    #[pyo3(signature = (path, unit=None, threads=0, progress=None))]
    fn read(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        unit: Option<&Bound<'_, PyAny>>,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let scale = unit.map_or(Ok(1.0), shape::scale)?;
        let job = guard::shown(py, progress, |told| {
            guard::watched(py, threads, told, |watch| read(&path, scale, watch))
        })?;
        let job = job.map_err(|e| match e {
            ReadJobError::Cancelled => error::internal(&e.to_string()),
            _ => error::file(e),
        })?;
        Ok(Self::of(job, Vec::new()))
    }

    /// An assembly made up, with clashes and clearances at known places: see ``planted``. For a clearance of 0.5 mm.
    #[classmethod]
    #[pyo3(signature = (parts, seed=1))]
    fn sample(_class: &Bound<'_, PyType>, py: Python<'_>, parts: usize, seed: u64) -> PyResult<Self> {
        if !(1..=MAX_SAMPLE).contains(&parts) {
            return Err(error::input(format!("parts is {parts}; give 1 to {MAX_SAMPLE}")));
        }
        let sample = guard::alone(py, || sample::assembly(parts, seed))?;
        Ok(Self::of(sample.job, sample.planted))
    }

    /// Adds a part of ``vertices`` (n, 3) [m] and ``faces`` (m, 3) at ``pose``, ``w_from_part``; one that moves is at ``to`` in the end: its origin goes
    /// straight, and it turns the shortest way. Names that come again get a number. Arrays that are no mesh are noted in ``failures``,
    /// and the others go on; then the result is false.
    #[pyo3(signature = (name, vertices, faces, pose=None, to=None))]
    fn add(
        &mut self,
        py: Python<'_>,
        name: &str,
        vertices: &Bound<'_, PyAny>,
        faces: &Bound<'_, PyAny>,
        pose: Option<&Bound<'_, PyAny>>,
        to: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let place = pose::pose("pose", pose)?;
        let to = to.filter(|t| !t.is_none()).map(|t| pose::pose("to", Some(t))).transpose()?;
        let raw = || -> PyResult<RawMesh> {
            let positions = Points::new("vertices", vertices)?.as_slice()?.to_vec();
            Ok(RawMesh { positions, triangles: triangles(faces)? })
        };
        let part = match raw() {
            Ok(raw) => guard::alone(py, || Part::new(name, raw))?.map_err(|e| e.to_string()),
            Err(e) if e.is_instance_of::<error::InputError>(py) => Err(e.value(py).to_string()),
            Err(e) => return Err(e),
        };
        self.job = None;
        match part {
            Ok(part) => {
                let part = self.builder.part(part);
                self.builder.place(name, part, place, to);
                Ok(true)
            }
            Err(problem) => {
                self.builder.fail(name, problem);
                Ok(false)
            }
        }
    }

    /// Writes a PLY file for each mesh and an ``assembly.json`` to a folder, which is made; ``read`` gives the same to the last bit.
    fn write(&mut self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let job = self.job();
        let written = guard::alone(py, || job.write(&folder))?;
        written.map_err(|e| error::file(format!("cannot write {}: {e}", folder.display())))
    }

    /// Names of the instances, each once.
    #[getter]
    fn names(&mut self) -> Vec<String> {
        self.job().instances.iter().map(|i| i.name.clone()).collect()
    }

    /// Places at the start, ``w_from_part``: a list of (4, 4).
    #[getter]
    fn poses(&mut self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.job().instances.iter().map(|i| matrix(py, &i.pose)).collect()
    }

    /// For each instance the number of its mesh.
    #[getter]
    fn parts(&mut self) -> Vec<usize> {
        self.job().instances.iter().map(|i| i.part).collect()
    }

    /// How many meshes there are.
    #[getter]
    fn meshes(&mut self) -> usize {
        self.job().parts.len()
    }

    /// A mesh by its number, as it was given: vertices (n, 3) [m] and faces (m, 3); copies.
    fn mesh<'py>(&mut self, py: Python<'py>, number: usize) -> PyResult<Triangles<'py>> {
        let job = self.job();
        let part = job.parts.get(number);
        let part = part.ok_or_else(|| {
            error::input(format!("there is no mesh {number}; they are counted from 0 to {}", job.parts.len()))
        })?;
        arrays(py, part)
    }

    /// What cannot be used: pairs of a name and what is wrong with it.
    #[getter]
    fn failures(&mut self) -> Vec<(String, String)> {
        self.job().failures.iter().map(|f| (f.part.clone(), f.problem.clone())).collect()
    }

    /// What must be found in a sample, and nothing else: of each the two names, what it is, and its distance [m] where there is a formula.
    #[getter]
    fn planted(&mut self) -> Vec<(String, String, &'static str, Option<f64>)> {
        let job = self.job();
        let name = |i: u32| job.instances[i as usize].name.clone();
        let tell = |p: &Planted| (name(p.pair[0]), name(p.pair[1]), p.kind.name(), p.distance);
        self.planted.iter().map(tell).collect()
    }

    /// How many instances there are.
    fn __len__(&mut self) -> usize {
        self.job().instances.len()
    }

    fn __repr__(&mut self) -> String {
        let job = self.job();
        format!("<palpate.Assembly: {} parts of {} meshes>", job.instances.len(), job.parts.len())
    }
}

/// What a part was made of, as arrays.
pub(super) fn arrays<'py>(py: Python<'py>, part: &Part) -> PyResult<Triangles<'py>> {
    let (positions, triangles) = part.raw();
    let faces = PyArray1::from_vec(py, flat::<[u32; 3], u32>(triangles.to_vec()));
    Ok((from_points(py, positions.to_vec())?, faces.reshape([triangles.len(), 3])?))
}
