//! Two shapes in a pose: every question, once or again and again.

use crate::answers::{Distance, Impact, Penetration, Wrench};
use crate::array::{from_contacts, vector};
use crate::params::{self, Coefficients};
use crate::pose::{Placed, move_contacts, pose};
use crate::shape::PyShape;
use crate::{error, guard};
use glam::DVec3;
use palpate::force::{ContactState, penalty};
use palpate::query::{ImpactParams, Motion, PenetrationParams};
use palpate::{Query, Shape};
use pyo3::prelude::*;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The memory of a pair: searches begin where the last ended, and friction sticks.
#[pyclass(module = "palpate")]
pub(crate) struct Pair {
    a: Shape,
    b: Shape,
    query: Query,
    state: ContactState,
}

impl Pair {
    fn of(a: &PyShape, b: &PyShape) -> Self {
        Self { a: a.shape.clone(), b: b.shape.clone(), query: Query::new(), state: ContactState::new() }
    }
}

#[pymethods]
impl Pair {
    #[new]
    fn new(a: &PyShape, b: &PyShape) -> Self {
        Self::of(a, b)
    }

    #[pyo3(signature = (pose_a=None, pose_b=None, margin=0.0, points_of=None, origin=None))]
    fn contacts<'py>(
        &mut self,
        py: Python<'py>,
        pose_a: Any<'_, 'py>,
        pose_b: Any<'_, 'py>,
        margin: f64,
        points_of: Option<&str>,
        origin: Any<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let placed = Placed::new(pose_a, pose_b)?;
        let params = params::query(margin, points_of)?;
        let origin = origin.map_or(Ok(DVec3::ZERO), |o| vector("origin", o))?;
        let list = guard::alone(py, || {
            let found = self.query.contacts(&self.a, &self.b, &placed.a_from_b, &params);
            let mut list = found.list.clone();
            move_contacts(&mut list, found.origin, placed.world.as_ref(), origin);
            list
        })?;
        from_contacts(py, list)
    }

    #[pyo3(signature = (pose_a=None, pose_b=None))]
    fn intersects(&mut self, py: Python<'_>, pose_a: Any<'_, '_>, pose_b: Any<'_, '_>) -> PyResult<bool> {
        let placed = Placed::new(pose_a, pose_b)?;
        guard::alone(py, || self.query.intersects(&self.a, &self.b, &placed.a_from_b))
    }

    #[pyo3(signature = (pose_a=None, pose_b=None))]
    fn distance(&mut self, py: Python<'_>, pose_a: Any<'_, '_>, pose_b: Any<'_, '_>) -> PyResult<Distance> {
        let placed = Placed::new(pose_a, pose_b)?;
        let found = guard::alone(py, || self.query.distance(&self.a, &self.b, &placed.a_from_b))?;
        Ok(Distance::new(py, &found, &placed))
    }

    #[pyo3(signature = (pose_a=None, pose_b=None, directions=128))]
    fn penetration(
        &mut self,
        py: Python<'_>,
        pose_a: Any<'_, '_>,
        pose_b: Any<'_, '_>,
        directions: usize,
    ) -> PyResult<Penetration> {
        let placed = Placed::new(pose_a, pose_b)?;
        let params = PenetrationParams { directions, ..PenetrationParams::default() };
        let found = guard::alone(py, || self.query.penetration(&self.a, &self.b, &placed.a_from_b, &params))?;
        Ok(Penetration::new(py, &found, &placed))
    }

    #[pyo3(signature = (start, end, pose_a=None, tolerance=None, max_steps=4000))]
    fn time_of_impact<'py>(
        &mut self,
        py: Python<'py>,
        start: &Bound<'py, PyAny>,
        end: &Bound<'py, PyAny>,
        pose_a: Any<'_, 'py>,
        tolerance: Option<f64>,
        max_steps: usize,
    ) -> PyResult<Impact> {
        if let Some(t) = tolerance
            && !(t > 0.0 && t.is_finite())
        {
            return Err(error::input(format!("tolerance is {t}; it must be positive and finite")));
        }
        let world = pose_a.map(|a| pose("pose_a", Some(a))).transpose()?;
        let seen = |what: &str, b: &Bound<'py, PyAny>| -> PyResult<_> {
            let w_from_b = pose(what, Some(b))?;
            Ok(world.map_or(w_from_b, |w| w.inverse() * w_from_b))
        };
        let motion = Motion::between(&seen("start", start)?, &seen("end", end)?);
        let params = ImpactParams { tolerance, max_steps };
        let found = guard::alone(py, || self.query.time_of_impact(&self.a, &self.b, &motion, &params))?;
        Impact::new(py, &found, &Placed { world, a_from_b: motion.from })
    }

    #[pyo3(signature = (pose_a=None, pose_b=None, *, stiffness, law="integrated", direction="field", damping=0.0, friction=None, velocity=None, points_of=None))]
    fn wrench<'py>(
        &mut self,
        py: Python<'py>,
        pose_a: Any<'_, 'py>,
        pose_b: Any<'_, 'py>,
        stiffness: f64,
        law: &str,
        direction: &str,
        damping: f64,
        friction: Option<Coefficients>,
        velocity: Any<'_, 'py>,
        points_of: Option<&str>,
    ) -> PyResult<Wrench> {
        let placed = Placed::new(pose_a, pose_b)?;
        let push = params::force(stiffness, law, direction, damping, friction.as_ref())?;
        let params = params::query(0.0, points_of)?;
        let motion = params::twist(velocity, &placed)?;
        let rubs = friction.is_some();
        let force = guard::alone(py, || {
            let contacts = self.query.contacts(&self.a, &self.b, &placed.a_from_b, &params);
            let state = rubs.then_some(&mut self.state);
            penalty(contacts, &push, &placed.a_from_b, motion.as_ref(), state)
        })?;
        Ok(Wrench::new(py, &force, &placed))
    }

    /// Forgets what sticks.
    fn reset(&mut self) {
        self.state.clear();
    }
}

/// Contacts of two shapes.
#[pyfunction]
#[pyo3(signature = (a, b, pose_a=None, pose_b=None, margin=0.0, points_of=None, origin=None))]
pub(crate) fn contacts<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    pose_a: Any<'_, 'py>,
    pose_b: Any<'_, 'py>,
    margin: f64,
    points_of: Option<&str>,
    origin: Any<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    Pair::of(a, b).contacts(py, pose_a, pose_b, margin, points_of, origin)
}

/// Whether two shapes meet.
#[pyfunction]
#[pyo3(signature = (a, b, pose_a=None, pose_b=None))]
pub(crate) fn intersects(
    py: Python<'_>,
    a: &PyShape,
    b: &PyShape,
    pose_a: Any<'_, '_>,
    pose_b: Any<'_, '_>,
) -> PyResult<bool> {
    Pair::of(a, b).intersects(py, pose_a, pose_b)
}

/// How far two shapes are apart.
#[pyfunction]
#[pyo3(signature = (a, b, pose_a=None, pose_b=None))]
pub(crate) fn distance(
    py: Python<'_>,
    a: &PyShape,
    b: &PyShape,
    pose_a: Any<'_, '_>,
    pose_b: Any<'_, '_>,
) -> PyResult<Distance> {
    Pair::of(a, b).distance(py, pose_a, pose_b)
}

/// The shortest way out of an overlap.
#[pyfunction]
#[pyo3(signature = (a, b, pose_a=None, pose_b=None, directions=128))]
pub(crate) fn penetration(
    py: Python<'_>,
    a: &PyShape,
    b: &PyShape,
    pose_a: Any<'_, '_>,
    pose_b: Any<'_, '_>,
    directions: usize,
) -> PyResult<Penetration> {
    Pair::of(a, b).penetration(py, pose_a, pose_b, directions)
}

/// When a moving shape hits another.
#[pyfunction]
#[pyo3(signature = (a, b, start, end, pose_a=None, tolerance=None, max_steps=4000))]
pub(crate) fn time_of_impact<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    start: &Bound<'py, PyAny>,
    end: &Bound<'py, PyAny>,
    pose_a: Any<'_, 'py>,
    tolerance: Option<f64>,
    max_steps: usize,
) -> PyResult<Impact> {
    Pair::of(a, b).time_of_impact(py, start, end, pose_a, tolerance, max_steps)
}

/// The force and torque on B.
#[pyfunction]
#[pyo3(signature = (a, b, pose_a=None, pose_b=None, *, stiffness, law="integrated", direction="field", damping=0.0, friction=None, velocity=None, points_of=None))]
pub(crate) fn wrench<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    pose_a: Any<'_, 'py>,
    pose_b: Any<'_, 'py>,
    stiffness: f64,
    law: &str,
    direction: &str,
    damping: f64,
    friction: Option<Coefficients>,
    velocity: Any<'_, 'py>,
    points_of: Option<&str>,
) -> PyResult<Wrench> {
    let placed = Placed::new(pose_a, pose_b)?;
    let push = params::force(stiffness, law, direction, damping, friction.as_ref())?;
    let params = params::query(0.0, points_of)?;
    let motion = params::twist(velocity, &placed)?;
    let force = guard::alone(py, || {
        let mut query = Query::new();
        let contacts = query.contacts(&a.shape, &b.shape, &placed.a_from_b, &params);
        penalty(contacts, &push, &placed.a_from_b, motion.as_ref(), None)
    })?;
    Ok(Wrench::new(py, &force, &placed))
}
