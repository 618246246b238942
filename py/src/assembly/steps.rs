//! A run: all of it here, or in steps for those who have pairs looked at elsewhere.

use super::parts::{PyAssembly, arrays};
use super::report::AssemblyReport;
use super::{params, run as ended};
use crate::{error, guard};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use palpate::Pose;
use palpate_assembly::{Job, Ledger, Outcome, Params, Place, Shapes, run};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Numbers of a pose: a quaternion x y z w, and a position \[m\].
pub(super) const POSE: usize = 7;
/// Numbers of the poses of a pair: of both at the start, then of both at the end, NaN of one that does not move.
pub(super) const POSES: usize = 4 * POSE;

/// Numbers of parts, for each pair the places of its two in that list, and poses.
type Task<'py> = (Vec<usize>, Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<f64>>);
/// Key, name, vertices and faces.
type Mesh<'py> = (Py<PyBytes>, String, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<u32>>);

/// Looks at an assembly on this machine: as ``palpate.assembly``, which also writes files. ``output`` is the folder of the journal and
/// ``cache`` that of built shapes; both must be there.
#[pyfunction]
#[pyo3(signature = (assembly, clearance, tolerance=None, voxel=None, max_memory=2 << 30, output=None, cache=None, threads=0, progress=None))]
pub(crate) fn look_at_assembly(
    py: Python<'_>,
    assembly: &Bound<'_, PyAssembly>,
    clearance: f64,
    tolerance: Option<f64>,
    voxel: Option<f64>,
    max_memory: u64,
    output: Option<PathBuf>,
    cache: Option<PathBuf>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<AssemblyReport> {
    let params = params(clearance, tolerance, voxel, max_memory, threads)?;
    // Not held on to: `progress` may look at it.
    let job = assembly.try_borrow_mut()?.job();
    let place = Place { journal: output.as_deref(), cache: cache.as_deref() };
    let report = guard::shown(py, progress, |told| {
        guard::watched(py, threads, told, |watch| run(&job, &params, &place, watch))
    })?;
    Ok(AssemblyReport::new(job, params, report.map_err(ended)?, cache))
}

/// A look at an assembly in steps, for schedulers: what is left to do, what a worker must be given, and what was found.
///
/// First ``AssemblyWorker.look`` at ``todo``; then ``AssemblyWorker.build`` the parts of each of the ``batches`` of pairs that need shapes, and
/// ``AssemblyWorker.measure`` these. In any order, anywhere: the report is the same. ``settle`` keeps each answer in the journal at once.
#[pyclass(module = "palpate")]
pub(crate) struct AssemblySteps {
    job: Arc<Job>,
    params: Params,
    /// None after the end.
    ledger: Option<Ledger>,
    shapes: Shapes,
    cache: Option<PathBuf>,
    counts: [usize; 3],
}

impl AssemblySteps {
    fn ledger(&self) -> PyResult<&Ledger> {
        self.ledger.as_ref().ok_or_else(|| error::input("this run has ended"))
    }

    fn part(&self, number: usize) -> PyResult<&palpate_assembly::Part> {
        self.job.parts.get(number).ok_or_else(|| error::input(format!("there is no mesh {number}")))
    }

    fn pair(&self, number: usize) -> PyResult<[u32; 2]> {
        let pair = self.ledger()?.pairs().get(number).copied();
        pair.ok_or_else(|| error::input(format!("there is no pair {number}")))
    }
}

#[pymethods]
impl AssemblySteps {
    #[new]
    #[pyo3(signature = (assembly, clearance, tolerance=None, voxel=None, max_memory=2 << 30, output=None, cache=None, threads=0))]
    fn new(
        py: Python<'_>,
        assembly: &mut PyAssembly,
        clearance: f64,
        tolerance: Option<f64>,
        voxel: Option<f64>,
        max_memory: u64,
        output: Option<PathBuf>,
        cache: Option<PathBuf>,
        threads: usize,
    ) -> PyResult<Self> {
        let params = params(clearance, tolerance, voxel, max_memory, threads)?;
        let job = assembly.job();
        let ledger = guard::on_threads(py, threads, || Ledger::open(&job, &params, output.as_deref()))?;
        let ledger = Some(ledger.map_err(ended)?);
        Ok(Self { job, params, ledger, shapes: Shapes::new(cache.as_deref()), cache, counts: [0; 3] })
    }

    /// What a worker is made with: clearance, tolerance, voxel, memory, and the version of this package.
    fn recipe(&self) -> (f64, Option<f64>, Option<f64>, u64, &'static str) {
        let p = &self.params;
        (p.clearance, p.tolerance, p.voxel, p.max_memory, env!("CARGO_PKG_VERSION"))
    }

    /// Numbers of the pairs of which nothing is known yet.
    fn todo(&self) -> PyResult<Vec<usize>> {
        Ok(self.ledger()?.todo().to_vec())
    }

    /// How many of these are not settled.
    fn left(&self) -> PyResult<usize> {
        Ok(self.ledger()?.left())
    }

    /// About how much work pairs are: triangles of both parts, times 64 where one moves.
    fn weights(&self, pairs: Vec<usize>) -> PyResult<Vec<usize>> {
        let weight = |i: usize| {
            let pair = self.pair(i)?;
            let triangles = pair.map(|n| self.job.part_of(n as usize).mesh.triangles().len());
            let moves = pair.iter().any(|n| self.job.instances[*n as usize].to.is_some());
            Ok(triangles.iter().sum::<usize>() * if moves { 64 } else { 1 })
        };
        pairs.into_iter().map(weight).collect()
    }

    /// What a worker needs to look at pairs: numbers of the parts; for each pair the two places of its parts in that list, (n, 2); and poses (n, 28).
    fn task<'py>(&self, py: Python<'py>, pairs: Vec<usize>) -> PyResult<Task<'py>> {
        let mut parts = Vec::new();
        let mut known = BTreeMap::new();
        let (mut which, mut poses) = (Vec::new(), Vec::new());
        for number in &pairs {
            let both = self.pair(*number)?.map(|n| &self.job.instances[n as usize]);
            for instance in both {
                let at = *known.entry(instance.part).or_insert(parts.len());
                if at == parts.len() {
                    parts.push(instance.part);
                }
                which.push(at as u32);
            }
            poses.extend(both.iter().flat_map(|i| numbers(Some(&i.pose))));
            poses.extend(both.iter().flat_map(|i| numbers(i.to.as_ref())));
        }
        let n = pairs.len();
        let which = PyArray1::from_vec(py, which).reshape([n, 2])?;
        Ok((parts, which, PyArray1::from_vec(py, poses).reshape([n, POSES])?))
    }

    /// A part as workers take it: key, name, vertices (n, 3) and faces (m, 3).
    fn mesh<'py>(&self, py: Python<'py>, part: usize) -> PyResult<Mesh<'py>> {
        let part = self.part(part)?;
        let (vertices, faces) = arrays(py, part)?;
        Ok((PyBytes::new(py, &part.key.to_le_bytes()).unbind(), part.name.clone(), vertices, faces))
    }

    /// Cuts pairs that need shapes into batches that fit ``memory`` [bytes]: of each the pairs and the parts.
    fn batches(&self, deep: Vec<usize>, memory: u64) -> PyResult<Vec<(Vec<usize>, Vec<usize>)>> {
        deep.iter().try_for_each(|i| self.pair(*i).map(drop))?;
        let all = self.ledger()?.batches(&self.job, &self.params, deep, memory);
        Ok(all.into_iter().map(|b| (b.pairs, b.parts.into_iter().collect())).collect())
    }

    /// The file of a part's shape, if the cache has it.
    fn held(&mut self, py: Python<'_>, part: usize) -> PyResult<Option<PathBuf>> {
        let part = self.part(part)?;
        let holds = guard::alone(py, || self.shapes.holds(part, &self.params))?;
        let file = if holds { self.shapes.file(part, &self.params) } else { None };
        self.counts[1] += usize::from(file.is_some());
        Ok(file)
    }

    /// Notes that a shape was built, and keeps it in the cache if there is one: whole, or not at all.
    fn keep(
        &mut self,
        py: Python<'_>,
        part: usize,
        shape: Option<numpy::PyReadonlyArray1<'_, u8>>,
    ) -> PyResult<()> {
        let content = self.part(part)?;
        let mut unkept = false;
        if let Some(bytes) = &shape
            && self.cache.is_some()
        {
            let bytes = bytes.as_slice()?;
            unkept = !guard::alone(py, || self.shapes.keep(content, &self.params, bytes))?;
        }
        self.counts[0] += 1;
        self.counts[2] += usize::from(unkept);
        Ok(())
    }

    /// Whether there is a cache.
    #[getter]
    fn keeps(&self) -> bool {
        self.cache.is_some()
    }

    /// Keeps what a worker found of a pair.
    fn settle(&self, py: Python<'_>, pair: usize, answer: &[u8]) -> PyResult<()> {
        self.pair(pair)?;
        let found: Option<Outcome> = serde_json::from_slice(answer)
            .map_err(|e| error::input(format!("no answer of a worker: {e}")))?;
        let ledger = self.ledger()?;
        guard::alone(py, || ledger.settle(pair, found))?.map_err(ended)
    }

    /// Notes a part whose shape cannot be built; its pairs are left out.
    fn fail(&self, part: usize, problem: String) -> PyResult<()> {
        self.ledger()?.fail(&self.part(part)?.name, problem);
        Ok(())
    }

    /// Notes a pair that cannot be looked at; it is left out.
    fn fail_pair(&self, pair: usize, problem: String) -> PyResult<()> {
        let [a, b] = self.pair(pair)?.map(|n| &self.job.instances[n as usize].name);
        self.ledger()?.fail(&format!("{a} and {b}"), problem);
        Ok(())
    }

    /// The report. Nothing can be asked afterwards.
    fn finish(&mut self, py: Python<'_>) -> PyResult<AssemblyReport> {
        let ledger = self.ledger.take().ok_or_else(|| error::input("this run has ended"))?;
        let counts = self.counts;
        let report = guard::alone(py, || ledger.finish(counts))?.map_err(ended)?;
        Ok(AssemblyReport::new(Arc::clone(&self.job), self.params.clone(), report, self.cache.clone()))
    }
}

/// A pose to the last bit.
fn numbers(pose: Option<&Pose>) -> [f64; POSE] {
    let Some(pose) = pose else { return [f64::NAN; POSE] };
    let ([x, y, z, w], p) = (pose.rotation.to_array(), pose.translation);
    [x, y, z, w, p.x, p.y, p.z]
}
