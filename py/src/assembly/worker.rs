//! Who looks at pairs of an assembly in another process: is given meshes, shapes and places, and keeps what it may need again.

use super::params;
use super::steps::{POSE, POSES};
use crate::array::{Points, rows, triangles};
use crate::{error, guard};
use glam::{DQuat, DVec3};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use palpate::mesh::RawMesh;
use palpate::{Pose, Shape};
use palpate_assembly::{Glance, Pair, Params, Part, finding, glance, shapes};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Key, name, vertices and faces.
type Given<'py> = (Vec<u8>, String, Bound<'py, PyAny>, Bound<'py, PyAny>);
/// What a worker says: answers as bytes, none where shapes are needed.
type Answers = Vec<Option<Py<PyBytes>>>;

/// Looks at pairs of an assembly that ``AssemblySteps`` has elsewhere, on the calling thread. Keeps meshes and shapes, as far as
/// ``max_memory`` [bytes] goes, for the next call. One made by another version of this package is refused.
#[pyclass(module = "palpate")]
pub(crate) struct AssemblyWorker {
    params: Params,
    parts: Kept<Part>,
    shapes: Kept<Shape>,
}

impl AssemblyWorker {
    /// The part that is meant, made of its triangles unless it is kept.
    fn part(&mut self, py: Python<'_>, (key, name, vertices, faces): &Given<'_>) -> PyResult<Arc<Part>> {
        let key = <[u8; 16]>::try_from(key.as_slice()).map(u128::from_le_bytes);
        let key = key.map_err(|_| error::input("the key of a part has 16 bytes"))?;
        if let Some(part) = self.parts.get(key) {
            return Ok(part);
        }
        let positions = Points::new("vertices", vertices)?.as_slice()?.to_vec();
        let raw = RawMesh { positions, triangles: triangles(faces)? };
        let part = guard::on_threads(py, 1, || Part::new(name, raw))?.map_err(error::mesh)?;
        if part.key != key {
            return Err(error::input(format!("{name} is not the part that its key is of")));
        }
        // Positions, triangles, topology: about this much each.
        let bytes = 64 * part.mesh.positions().len() + 64 * part.mesh.triangles().len();
        Ok(self.parts.add(key, part, bytes))
    }

    fn parts(&mut self, py: Python<'_>, given: &[Given<'_>]) -> PyResult<Vec<Arc<Part>>> {
        given.iter().map(|g| self.part(py, g)).collect()
    }
}

#[pymethods]
impl AssemblyWorker {
    #[new]
    #[pyo3(signature = (clearance, tolerance, voxel, max_memory, version))]
    fn new(
        clearance: f64,
        tolerance: Option<f64>,
        voxel: Option<f64>,
        max_memory: u64,
        version: &str,
    ) -> PyResult<Self> {
        let own = env!("CARGO_PKG_VERSION");
        if version != own {
            return Err(error::input(format!(
                "palpate {own} is installed where work is done, but {version} asks; install the same version on every machine"
            )));
        }
        let params = params(clearance, tolerance, voxel, max_memory, 1)?;
        let room = usize::try_from(max_memory).unwrap_or(usize::MAX);
        Ok(Self { params, parts: Kept::new(room / 5), shapes: Kept::new(room - room / 5) })
    }

    /// Builds the shape of a part: the bytes of a ``.palp`` file, the same wherever it is built.
    fn build<'py>(&mut self, py: Python<'py>, part: Given<'_>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let part = self.part(py, &part)?;
        let built = guard::on_threads(py, 1, || shapes::build(&part, &self.params))?;
        Ok(PyArray1::from_vec(py, built.map_err(error::input)?))
    }

    /// Looks at pairs by their triangles alone; None where shapes are needed. See ``AssemblySteps.task``.
    fn look(
        &mut self,
        py: Python<'_>,
        parts: Vec<Given<'_>>,
        which: PyReadonlyArray2<'_, u32>,
        poses: &Bound<'_, PyAny>,
    ) -> PyResult<Answers> {
        let parts = self.parts(py, &parts)?;
        let pairs = pairs(&parts, &which, poses)?;
        let found = guard::on_threads(py, 1, || {
            let look = |(pair, _): &(Pair<'_>, [usize; 2])| match glance(pair, &self.params) {
                Glance::Settled(found) => Some(serde_json::to_vec(&found)),
                Glance::NeedsShapes => None,
            };
            pairs.iter().map(look).collect()
        })?;
        answers(py, found)
    }

    /// Measures pairs whose shapes are given, in the order of the parts; None for a part without one: then there is no answer.
    fn measure(
        &mut self,
        py: Python<'_>,
        parts: Vec<Given<'_>>,
        shapes: Vec<Option<PyReadonlyArray1<'_, u8>>>,
        which: PyReadonlyArray2<'_, u32>,
        poses: &Bound<'_, PyAny>,
    ) -> PyResult<Answers> {
        let parts = self.parts(py, &parts)?;
        if shapes.len() != parts.len() {
            return Err(error::input(format!("{} parts, but {} shapes", parts.len(), shapes.len())));
        }
        let mut open = Vec::new();
        for (part, bytes) in parts.iter().zip(&shapes) {
            let Some(bytes) = bytes else {
                open.push(None);
                continue;
            };
            if let Some(kept) = self.shapes.get(part.key) {
                open.push(Some(kept));
                continue;
            }
            let bytes = bytes.as_slice()?;
            let shape = guard::on_threads(py, 1, || shapes::open(bytes, &self.params))?;
            let shape = shape.map_err(|e| error::file(format!("the shape of {}: {e}", part.name)))?;
            let size = shape.bytes();
            open.push(Some(self.shapes.add(part.key, shape, size)));
        }
        let pairs = pairs(&parts, &which, poses)?;
        let found = guard::on_threads(py, 1, || {
            let measure = |(pair, at): &(Pair<'_>, [usize; 2])| {
                let [Some(a), Some(b)] = at.map(|i| open[i].as_deref()) else { return None };
                Some(serde_json::to_vec(&finding(pair, [a, b], &self.params)))
            };
            pairs.iter().map(measure).collect()
        })?;
        answers(py, found)
    }
}

/// Pairs of parts at their places, and which parts they are.
fn pairs<'a>(
    parts: &'a [Arc<Part>],
    which: &PyReadonlyArray2<'_, u32>,
    poses: &Bound<'_, PyAny>,
) -> PyResult<Vec<(Pair<'a>, [usize; 2])>> {
    let poses = rows("poses", poses, POSES)?;
    if which.shape() != [poses.shape()[0], 2] {
        return Err(error::input(format!("which has shape {:?}; it must be (n, 2)", which.shape())));
    }
    let mut all = Vec::new();
    for (both, v) in which.as_slice()?.chunks_exact(2).zip(poses.as_slice()?.chunks_exact(POSES)) {
        let at = [both[0] as usize, both[1] as usize];
        let [Some(a), Some(b)] = at.map(|i| parts.get(i)) else {
            return Err(error::input(format!("a pair of parts {at:?}, but there are {}", parts.len())));
        };
        let pose = |k: usize| {
            let v = &v[k * POSE..(k + 1) * POSE];
            let pose = Pose {
                rotation: DQuat::from_xyzw(v[0], v[1], v[2], v[3]),
                translation: DVec3::new(v[4], v[5], v[6]),
            };
            pose.is_finite().then_some(pose)
        };
        let (Some(of_a), Some(of_b)) = (pose(0), pose(1)) else {
            return Err(error::input("a pose holds a number that is not finite"));
        };
        all.push((Pair { parts: [&**a, &**b], poses: [of_a, of_b], to: [pose(2), pose(3)] }, at));
    }
    Ok(all)
}

fn answers(py: Python<'_>, found: Vec<Option<serde_json::Result<Vec<u8>>>>) -> PyResult<Answers> {
    let tell = |answer: Option<serde_json::Result<Vec<u8>>>| match answer {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(PyBytes::new(py, &text).unbind())),
        Some(Err(e)) => Err(error::internal(&e.to_string())),
    };
    found.into_iter().map(tell).collect()
}

/// What may be needed again, up to some memory; what was not used for longest goes first.
struct Kept<T> {
    all: BTreeMap<u128, (Arc<T>, usize, u64)>,
    bytes: usize,
    room: usize,
    clock: u64,
}

impl<T> Kept<T> {
    fn new(room: usize) -> Self {
        Self { all: BTreeMap::new(), bytes: 0, room, clock: 0 }
    }

    fn get(&mut self, key: u128) -> Option<Arc<T>> {
        self.clock += 1;
        let (thing, _, used) = self.all.get_mut(&key)?;
        *used = self.clock;
        Some(Arc::clone(thing))
    }

    fn add(&mut self, key: u128, thing: T, bytes: usize) -> Arc<T> {
        self.clock += 1;
        self.bytes += bytes;
        let thing = Arc::new(thing);
        self.all.insert(key, (Arc::clone(&thing), bytes, self.clock));
        while self.bytes > self.room && self.all.len() > 1 {
            let oldest = self.all.iter().min_by_key(|(_, (_, _, used))| *used).map(|(key, _)| *key);
            let Some((_, bytes, _)) = oldest.and_then(|key| self.all.remove(&key)) else { break };
            self.bytes -= bytes;
        }
        thing
    }
}
