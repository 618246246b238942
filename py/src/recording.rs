//! Motions that are kept, and pages that show them.

use crate::array::{real, vector};
use crate::pose::{halves, matrices, pose, poses};
use crate::shape::PyShape;
use crate::{error, guard};
use glam::DVec3;
use numpy::{PyArray1, PyArray4, PyArrayMethods, PyUntypedArrayMethods};
use palpate::math::Aabb;
use palpate::mesh::{RawMesh, samples};
use palpate::query::QueryParams;
use palpate::{Pose, Query, Shape};
use palpate_sim::{Scene, Simulation};
use palpate_view::player::{self, PageParams};
use palpate_view::recording::{
    About, Body, Frame, Ground, MARKS, Mark, PALETTE, Part, Recording, State, TRIANGLES, reduced,
};
use pyo3::prelude::*;

/// What a body looks like.
#[derive(Clone)]
pub(crate) enum Look {
    /// A mesh.
    Mesh(Shape),
    /// A box around the origin of its frame, of this size \[m\].
    Cuboid(DVec3),
    /// A plane in the world's frame.
    Plane {
        /// On it \[m\].
        point: DVec3,
        /// Unit, outward.
        normal: DVec3,
    },
}

impl Look {
    /// Triangles to draw; none of a plane.
    fn part(&self, name: &str) -> Option<Part> {
        let of = |positions: &[DVec3], triangles: &[[u32; 3]]| {
            let (positions, triangles, colours) = reduced(positions, triangles, &[], TRIANGLES);
            Part { name: name.to_owned(), positions, triangles, colours }
        };
        match self {
            Self::Mesh(shape) => Some(of(shape.mesh().positions(), shape.mesh().triangles())),
            Self::Cuboid(size) => {
                let RawMesh { positions, triangles } = samples::cuboid(*size);
                Some(of(&positions, &triangles))
            }
            Self::Plane { .. } => None,
        }
    }
}

/// A motion being kept.
pub(crate) struct Recorder {
    pub(crate) recording: Recording,
    /// Bodies of the scene that are drawn.
    drawn: Vec<usize>,
}

/// A recording of these looks, without frames, and which of them are drawn as bodies.
fn blank(about: About, up: DVec3, looks: &[(String, &Look)]) -> (Recording, Vec<usize>) {
    let mut recording = Recording { about, up, ..Recording::default() };
    let mut drawn = Vec::new();
    // Copies of one shape are one part.
    let mut known: Vec<(*const palpate::Mesh, u32)> = Vec::new();
    for (i, (name, look)) in looks.iter().enumerate() {
        if let Look::Plane { point, normal } = look {
            recording.ground = Ground::Plane { point: *point, normal: *normal };
            continue;
        }
        let key = match look {
            Look::Mesh(shape) => core::ptr::from_ref(shape.mesh()),
            _ => core::ptr::null(),
        };
        let seen = known.iter().find(|(k, _)| !k.is_null() && *k == key).map(|(_, part)| *part);
        let part = seen.or_else(|| {
            let number = recording.parts.len() as u32;
            recording.parts.push(look.part(name)?);
            known.push((key, number));
            Some(number)
        });
        let Some(part) = part else { continue };
        let colour = PALETTE[drawn.len() % PALETTE.len()];
        recording.bodies.push(Body { name: name.clone(), part, colour });
        drawn.push(i);
    }
    (recording, drawn)
}

impl Recorder {
    pub(crate) fn new(title: &str, engine: &str, rate: f64, scene: &Scene, looks: &[Look]) -> Self {
        let command = "palpate.Scene in Python".to_owned();
        let about = About { title: title.to_owned(), engine: engine.to_owned(), rate, command };
        let up = (-scene.gravity).try_normalize().unwrap_or(DVec3::Z);
        let named: Vec<_> = scene.bodies.iter().map(|b| b.name.clone()).zip(looks).collect();
        let (recording, drawn) = blank(about, up, &named);
        Self { recording, drawn }
    }

    /// Keeps the state there is.
    pub(crate) fn frame(&mut self, running: &dyn Simulation, time: f64) {
        let mut frame = Frame { time, ..Frame::default() };
        for i in &self.drawn {
            let s = running.state(*i);
            let sound = s.pose.is_finite() && s.linear.is_finite() && s.angular.is_finite();
            let state = State { pose: s.pose, linear: s.linear, angular: s.angular, ..State::default() };
            frame.bodies.push(if sound { state } else { State::default() });
        }
        let mut found = Vec::new();
        running.marks(&mut found);
        let marks: Vec<Mark> =
            found.iter().map(|m| Mark { point: m.point, normal: m.normal, depth: m.depth }).collect();
        close(&mut frame, &marks);
        self.recording.frames.push(frame);
    }
}

/// Contacts of a frame.
fn close(frame: &mut Frame, marks: &[Mark]) {
    frame.contacts = u32::try_from(marks.len()).unwrap_or(u32::MAX);
    frame.deepest = marks.iter().map(|m| m.depth).fold(0.0, f64::max);
    frame.keep(marks, MARKS);
}

/// A motion: bodies, frames, contacts. World frame.
#[pyclass(name = "Recording", module = "palpate", frozen)]
pub(crate) struct PyRecording {
    pub(crate) recording: Recording,
}

#[pymethods]
impl PyRecording {
    /// Simulated times of the frames (t,) [s].
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.recording.frames.iter().map(|f| f.time).collect())
    }

    /// Names of the bodies that are drawn.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.recording.bodies.iter().map(|b| b.name.clone()).collect()
    }

    /// ``w_from_body`` in every frame (t, n, 4, 4).
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray4<f64>>> {
        let frames = &self.recording.frames;
        let all: Vec<Pose> = frames.iter().flat_map(|f| f.bodies.iter().map(|s| s.pose)).collect();
        matrices(py, &all)?.reshape([frames.len(), self.recording.bodies.len(), 4, 4])
    }

    /// Deepest contact of each frame (t,) [m], 0 without one.
    #[getter]
    fn deepest<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.recording.frames.iter().map(|f| f.deepest).collect())
    }

    /// A page that plays it: one file without a network.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        guard::on_threads(py, 0, || player::page(&self.recording, &PageParams::default()))?
            .map_err(error::input)
    }

    fn __len__(&self) -> usize {
        self.recording.frames.len()
    }
}

/// A recording of shapes in given places: a pose for each, or as many poses for each as there are frames.
#[pyfunction]
#[pyo3(signature = (shapes, places, contacts, fps, title, up))]
pub(crate) fn record(
    py: Python<'_>,
    shapes: Vec<PyRef<'_, PyShape>>,
    places: Vec<Bound<'_, PyAny>>,
    contacts: bool,
    fps: f64,
    title: String,
    up: &Bound<'_, PyAny>,
) -> PyResult<PyRecording> {
    if shapes.len() != places.len() {
        return Err(error::input(format!(
            "{} poses for {} shapes: give one for each",
            places.len(),
            shapes.len()
        )));
    }
    if !(fps > 0.0 && fps.is_finite()) {
        return Err(error::input(format!("fps is {fps}; it must be positive and finite")));
    }
    let ways = places
        .iter()
        .enumerate()
        .map(|(i, p)| way(&format!("poses[{i}]"), p))
        .collect::<PyResult<Vec<_>>>()?;
    let frames = ways.iter().map(Vec::len).max().unwrap_or(0);
    if let Some(i) = ways.iter().position(|w| w.len() != 1 && w.len() != frames) {
        return Err(error::input(format!("poses[{i}] has {} frames, others have {frames}", ways[i].len())));
    }
    let shapes: Vec<Shape> = shapes.iter().map(|s| s.shape.clone()).collect();
    let up = vector("up", up)?.try_normalize().ok_or_else(|| error::input("up has no length"))?;
    let recording = guard::on_threads(py, 0, || {
        let command = "palpate.show in Python".to_owned();
        let about = About { title, engine: "none".to_owned(), rate: fps, command };
        let looks: Vec<Look> = shapes.iter().cloned().map(Look::Mesh).collect();
        let names = ["A", "B"].map(str::to_owned).into_iter().chain((2..).map(|i| format!("shape {i}")));
        let named: Vec<_> = names.zip(&looks).collect();
        let (mut recording, _) = blank(about, up, &named);
        let mut all = Aabb::EMPTY;
        for t in 0..frames {
            let at: Vec<Pose> = ways.iter().map(|w| w[t.min(w.len() - 1)]).collect();
            let mut frame = Frame { time: t as f64 / fps, ..Frame::default() };
            frame.bodies.extend(at.iter().map(|pose| State { pose: *pose, ..State::default() }));
            shapes.iter().zip(&at).for_each(|(s, p)| all = all.union(s.aabb_at(p)));
            let marks = if contacts { touches(&shapes, &at) } else { Vec::new() };
            close(&mut frame, &marks);
            recording.frames.push(frame);
        }
        if frames > 0 && !shapes.is_empty() {
            recording.origin = all.centre();
        }
        recording
    })?;
    Ok(PyRecording { recording })
}

/// One pose, or many.
fn way(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<Pose>> {
    let many = match halves(what, object)? {
        Some((position, _)) => real(what, &position)?.ndim() == 2,
        None if object.is_none() => false,
        None => {
            let array = real(what, object)?;
            array.ndim() == 3 || (array.ndim() == 2 && array.shape() != [4, 4])
        }
    };
    if many { poses(what, object) } else { Ok(vec![pose(what, Some(object))?]) }
}

/// Contacts of all pairs, in the world's frame.
fn touches(shapes: &[Shape], at: &[Pose]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for j in 1..shapes.len() {
        for i in 0..j {
            let (a, b) = (&shapes[i], &shapes[j]);
            if !a.aabb_at(&at[i]).overlaps(b.aabb_at(&at[j])) {
                continue;
            }
            let mut query = Query::new();
            let found = query.contacts(a, b, &(at[i].inverse() * at[j]), &QueryParams::default());
            marks.extend(found.list.iter().map(|c| Mark {
                point: at[i].point(found.position(c)),
                normal: at[i].vector(c.normal().as_dvec3()),
                depth: f64::from(c.depth()),
            }));
        }
    }
    marks
}
