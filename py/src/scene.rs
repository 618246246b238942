//! Scenes: bodies that fall, lie and push, moved by Rapier or by the engine's own world.

use crate::array::{from_points, vector};
use crate::params::velocities;
use crate::pose::{matrices, pose};
use crate::recording::{Look, PyRecording, Recorder};
use crate::shape::PyShape;
use crate::{error, guard};
use glam::DVec3;
use numpy::{PyArray1, PyArray2, PyArray3};
use palpate::Wrench;
use palpate::field::analytic::Analytic;
use palpate::manifold::Collider;
use palpate::progress::Progress;
use palpate_sim::{Body, Engine, Mark, Motion, Options, Scene, Simulation, start};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most steps of one call \[1\]: beyond it a number is a mistake.
const MOST_STEPS: f64 = 1e8;

/// What there is: bodies, where they begin, what pulls them (``gravity``, (3,) [m/s²]; 9.81 along -z). World frame, SI units.
#[pyclass(name = "Scene", module = "palpate")]
pub(crate) struct PyScene {
    scene: Scene,
    looks: Vec<Look>,
}

impl PyScene {
    fn add_body(&mut self, name: Option<String>, look: Look, body: impl FnOnce(String) -> Body) -> usize {
        let name = name.unwrap_or_else(|| format!("body {}", self.scene.bodies.len()));
        self.looks.push(look);
        self.scene.add(body(name))
    }
}

#[pymethods]
impl PyScene {
    #[new]
    #[pyo3(signature = (gravity=None))]
    fn new(gravity: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut scene = Scene::default();
        if let Some(gravity) = gravity {
            scene.gravity = vector("gravity", gravity)?;
        }
        Ok(Self { scene, looks: Vec::new() })
    }

    /// Adds a shape at ``pose``, ``w_from_body``; its number.
    ///
    /// It has ``density`` [kg/m³], or ``mass`` [kg], or is ``fixed``. ``velocity`` is a pair: linear, of the centre of mass [m/s], and angular [rad/s].
    #[pyo3(signature = (shape, pose=None, density=1000.0, mass=None, fixed=false, velocity=None, friction=0.5, restitution=0.0, name=None))]
    fn add(
        &mut self,
        shape: &PyShape,
        pose: Option<&Bound<'_, PyAny>>,
        density: f64,
        mass: Option<f64>,
        fixed: bool,
        velocity: Option<&Bound<'_, PyAny>>,
        friction: f64,
        restitution: f64,
        name: Option<String>,
    ) -> PyResult<usize> {
        let pose = self::pose("pose", pose)?;
        let still = [DVec3::ZERO; 2];
        let [linear, angular] = velocity.map_or(Ok(still), |v| velocities(v, "the centre of mass"))?;
        let motion = match (fixed, mass) {
            (true, _) => Motion::Static,
            (false, Some(mass)) => Motion::Mass(mass),
            (false, None) => Motion::Density(density),
        };
        let look = Look::Mesh(shape.shape.clone());
        Ok(self.add_body(name, look, |name| Body {
            linear,
            angular,
            friction,
            restitution,
            ..Body::new(name, shape.shape.clone(), motion, pose)
        }))
    }

    /// Adds a half-space that stays: every p with ``normal · p <= offset`` [m]; its number. The normal is +z unless said otherwise.
    #[pyo3(signature = (normal=None, offset=0.0, friction=0.5, restitution=0.0, name=None))]
    fn add_plane(
        &mut self,
        normal: Option<&Bound<'_, PyAny>>,
        offset: f64,
        friction: f64,
        restitution: f64,
        name: Option<String>,
    ) -> PyResult<usize> {
        let normal = normal.map_or(Ok(DVec3::Z), |n| vector("normal", n))?;
        let solid = Analytic::half_space(normal, offset).map_err(error::input)?;
        let normal = normal.normalize();
        let look = Look::Plane { point: normal * offset, normal };
        Ok(self.add_body(name, look, |name| Body {
            friction,
            restitution,
            ..Body::new(name, Collider::from(solid), Motion::Static, palpate::Pose::IDENTITY)
        }))
    }

    /// Adds a box that stays: ``size`` (3,) [m], its middle at ``pose``; its number.
    #[pyo3(signature = (size, pose=None, friction=0.5, restitution=0.0, name=None))]
    fn add_box(
        &mut self,
        size: &Bound<'_, PyAny>,
        pose: Option<&Bound<'_, PyAny>>,
        friction: f64,
        restitution: f64,
        name: Option<String>,
    ) -> PyResult<usize> {
        let (size, pose) = (vector("size", size)?, self::pose("pose", pose)?);
        let solid = Analytic::cuboid(DVec3::ZERO, 0.5 * size).map_err(error::input)?;
        Ok(self.add_body(name, Look::Cuboid(size), |name| Body {
            friction,
            restitution,
            ..Body::new(name, Collider::from(solid), Motion::Static, pose)
        }))
    }

    fn __len__(&self) -> usize {
        self.scene.bodies.len()
    }

    /// Names of the bodies, in their order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.scene.bodies.iter().map(|b| b.name.clone()).collect()
    }

    /// Puts the scene into an engine: "rapier", "own", or "bullet" where its program is built. ``rate`` is in steps a second [Hz].
    #[pyo3(signature = (engine="rapier", rate=240.0))]
    fn start(&self, py: Python<'_>, engine: &str, rate: f64) -> PyResult<PySimulation> {
        let engine = Engine::ALL.into_iter().find(|e| e.name() == engine).ok_or_else(|| {
            error::input(format!("engine is {engine:?}; it is \"rapier\", \"own\" or \"bullet\""))
        })?;
        let options = Options { rate, both: engine == Engine::Own, ..Options::default() };
        let running =
            guard::alone(py, || start(engine, &self.scene, &options))?.map_err(error::simulation)?;
        let (scene, looks) = (self.scene.clone(), self.looks.clone());
        Ok(PySimulation { running: Mutex::new(running), scene, looks, engine, rate, steps: 0 })
    }
}

/// A scene in an engine.
#[pyclass(name = "Simulation", module = "palpate")]
pub(crate) struct PySimulation {
    running: Mutex<Box<dyn Simulation>>,
    scene: Scene,
    looks: Vec<Look>,
    engine: Engine,
    rate: f64,
    steps: usize,
}

impl PySimulation {
    fn running(&self) -> MutexGuard<'_, Box<dyn Simulation>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, body: usize) -> PyResult<usize> {
        let n = self.scene.bodies.len();
        if body < n { Ok(body) } else { Err(error::input(format!("there is no body {body} among {n}"))) }
    }

    fn vectors<'py>(
        &self,
        py: Python<'py>,
        of: fn(&palpate_sim::State) -> DVec3,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let running = self.running();
        from_points(py, (0..self.scene.bodies.len()).map(|i| of(&running.state(i))).collect())
    }
}

#[pymethods]
impl PySimulation {
    /// Goes on by ``steps`` steps.
    #[pyo3(signature = (steps=1))]
    fn step(&mut self, py: Python<'_>, steps: usize) -> PyResult<()> {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        let done = AtomicUsize::new(0);
        let result = guard::long(py, 0, |watch| {
            while done.load(Ordering::Relaxed) < steps && !watch.cancelled() {
                running.step()?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        self.steps += done.into_inner();
        result?.map_err(error::simulation)
    }

    /// Goes on for ``seconds`` [s] and keeps about ``fps`` frames a second of it.
    #[pyo3(signature = (seconds, fps=60.0, title=None, progress=None))]
    fn run(
        &mut self,
        py: Python<'_>,
        seconds: f64,
        fps: f64,
        title: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyRecording> {
        let steps = (seconds * self.rate).ceil();
        if !((0.0..=MOST_STEPS).contains(&steps) && fps > 0.0 && fps.is_finite()) {
            return Err(error::input(format!(
                "seconds is {seconds} and fps {fps}: give a time and a rate that are positive"
            )));
        }
        let (steps, every) = (steps as usize, ((self.rate / fps).round() as usize).max(1));
        let (first, rate) = (self.steps, self.rate);
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (scene, looks) = (&self.scene, &self.looks);
        let title = title.unwrap_or_else(|| "A scene".to_owned());
        let (done, engine) = (AtomicUsize::new(0), self.engine);
        let result = guard::shown(py, progress, |told| {
            guard::watched(py, 0, told, |watch| {
                watch.stage("simulate", steps as u64);
                let mut recorder = Recorder::new(&title, engine.name(), rate, scene, looks);
                recorder.frame(&**running, first as f64 / rate);
                for i in 1..=steps {
                    if watch.cancelled() {
                        break;
                    }
                    running.step()?;
                    done.store(i, Ordering::Relaxed);
                    watch.advance(1);
                    if i % every == 0 || i == steps {
                        recorder.frame(&**running, (first + i) as f64 / rate);
                    }
                }
                Ok(recorder.recording)
            })
        });
        self.steps += done.into_inner();
        Ok(PyRecording { recording: result?.map_err(error::simulation)? })
    }

    /// Simulated time [s].
    #[getter]
    fn time(&self) -> f64 {
        self.steps as f64 / self.rate
    }

    /// ``w_from_body`` of every body (n, 4, 4).
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let running = self.running();
        let poses: Vec<_> = (0..self.scene.bodies.len()).map(|i| running.state(i).pose).collect();
        matrices(py, &poses)
    }

    /// Velocities of the centres of mass (n, 3) [m/s].
    #[getter]
    fn linear_velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.vectors(py, |s| s.linear)
    }

    /// Angular velocities (n, 3) [rad/s], in the world's frame.
    #[getter]
    fn angular_velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.vectors(py, |s| s.angular)
    }

    /// Contacts of the last step that have depth: ``point``, ``normal`` (k, 3), the way the later body is pushed, ``depth`` (k,), positive inside [m], ``bodies`` (k, 2).
    #[getter]
    fn contacts(&self, py: Python<'_>) -> PyResult<SimulationContacts> {
        let mut marks: Vec<Mark> = Vec::new();
        self.running().marks(&mut marks);
        let bodies: Vec<i64> = marks.iter().flat_map(|m| m.bodies.map(|b| b as i64)).collect();
        let n = marks.len();
        Ok(SimulationContacts {
            point: from_points(py, marks.iter().map(|m| m.point).collect())?.into_any().unbind(),
            normal: from_points(py, marks.iter().map(|m| m.normal).collect())?.into_any().unbind(),
            depth: PyArray1::from_vec(py, marks.iter().map(|m| m.depth).collect()).into_any().unbind(),
            bodies: numpy::PyArrayMethods::reshape(&PyArray1::from_vec(py, bodies), [n, 2])?
                .into_any()
                .unbind(),
        })
    }

    /// Pushes a body at its centre of mass in every step until told otherwise: ``force`` [N] and ``torque`` [N m] in the world's frame.
    fn push(&mut self, body: usize, force: &Bound<'_, PyAny>, torque: &Bound<'_, PyAny>) -> PyResult<()> {
        let body = self.known(body)?;
        let wrench = Wrench { force: vector("force", force)?, torque: vector("torque", torque)? };
        if self.running().push(body, &wrench) {
            return Ok(());
        }
        Err(error::input(format!("the engine {} does not push bodies", self.engine.name())))
    }
}

/// Contacts of a simulation.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct SimulationContacts {
    /// Where (k, 3) [m].
    point: Py<PyAny>,
    /// The way the later body is pushed (k, 3), unit.
    normal: Py<PyAny>,
    /// Positive inside (k,) [m].
    depth: Py<PyAny>,
    /// The two bodies (k, 2).
    bodies: Py<PyAny>,
}
