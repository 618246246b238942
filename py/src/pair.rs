//! Two shapes in a pose: every question, once or again and again.

use crate::answers::{Distance, Impact, Penetration, Wrench};
use crate::array::{from_contacts, vector};
use crate::guard;
use crate::params::{self, Coefficients};
use crate::pose::{Placed, move_contacts, pose};
use crate::shape::PyShape;
use glam::DVec3;
use palpate::force::{ContactState, penalty};
use palpate::query::{self, Motion, PenetrationParams};
use palpate::{Pose, Query, Shape};
use palpate_assembly::gap;
use pyo3::prelude::*;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Two shapes and the memory of questions about them: the same answers as from functions, without allocations, and friction that sticks.
///
/// Methods take ``pose_a`` and ``pose_b`` as functions do. One thread at a time may ask.
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

    /// A distance that was found by points, measured again on all triangles where these can tell: which of both is asked is decided by them too.
    fn settled(&mut self, found: query::Distance, a_from_b: &Pose) -> query::Distance {
        if !found.distance.is_finite() {
            return found;
        }
        let apart = if found.distance > found.bound {
            true
        } else {
            // One direction: whether they overlap does not depend on it.
            let params = PenetrationParams { directions: 1, ..PenetrationParams::default() };
            !self.query.penetration(&self.a, &self.b, a_from_b, &params).overlapping
        };
        if !apart {
            // Touching by less than the points see.
            let distance = found.distance.min(0.0);
            return query::Distance { distance, ..found };
        }
        // No pair of triangles is nearer than the least: what points found is above it, unless their samples were wrong.
        let limit = if found.distance > 0.0 { found.distance * (1.0 + 1e-9) } else { f64::INFINITY };
        match gap(self.a.mesh(), self.b.mesh(), a_from_b, limit) {
            // As near in many places: points are rather in the middle of faces than triangles' own are.
            Some((distance, _)) if found.distance > 0.0 && distance >= found.distance * (1.0 - 1e-9) => {
                query::Distance { distance, bound: 0.0, ..found }
            }
            Some((distance, [witness_a, witness_b])) => {
                query::Distance { distance, bound: 0.0, witness_a, witness_b }
            }
            // The nearest place is on a cap.
            None => found,
        }
    }
}

#[pymethods]
impl Pair {
    #[new]
    fn new(a: &PyShape, b: &PyShape) -> Self {
        Self::of(a, b)
    }

    /// As ``palpate.contacts``.
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

    /// As ``palpate.intersects``.
    #[pyo3(signature = (pose_a=None, pose_b=None))]
    fn intersects(&mut self, py: Python<'_>, pose_a: Any<'_, '_>, pose_b: Any<'_, '_>) -> PyResult<bool> {
        let placed = Placed::new(pose_a, pose_b)?;
        guard::alone(py, || self.query.intersects(&self.a, &self.b, &placed.a_from_b))
    }

    /// As ``palpate.distance``.
    #[pyo3(signature = (pose_a=None, pose_b=None, exact=false))]
    fn distance(
        &mut self,
        py: Python<'_>,
        pose_a: Any<'_, '_>,
        pose_b: Any<'_, '_>,
        exact: bool,
    ) -> PyResult<Distance> {
        let placed = Placed::new(pose_a, pose_b)?;
        let found = guard::alone(py, || {
            let found = self.query.distance(&self.a, &self.b, &placed.a_from_b);
            if exact { self.settled(found, &placed.a_from_b) } else { found }
        })?;
        Ok(Distance::new(py, &found, &placed))
    }

    /// As ``palpate.penetration``.
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

    /// As ``palpate.time_of_impact``.
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
        let params = params::impact(tolerance, max_steps)?;
        let world = pose_a.map(|a| pose("pose_a", Some(a))).transpose()?;
        let seen = |what: &str, b: &Bound<'py, PyAny>| -> PyResult<_> {
            let w_from_b = pose(what, Some(b))?;
            Ok(world.map_or(w_from_b, |w| w.inverse() * w_from_b))
        };
        let motion = Motion::between(&seen("start", start)?, &seen("end", end)?);
        let found = guard::alone(py, || self.query.time_of_impact(&self.a, &self.b, &motion, &params))?;
        Impact::new(py, &found, &Placed { world, a_from_b: motion.from })
    }

    /// As ``palpate.wrench``; with ``friction`` contacts stick where they were in the call before, so ask in every step.
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

    /// Forgets where contacts stick.
    fn reset(&mut self) {
        self.state.clear();
    }
}

/// Every point of one shape that is inside the other, or at most ``margin`` [m] outside: an array of dtype ``palpate.CONTACT``.
///
/// ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
/// quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.
///
/// Fields: ``point`` [m], relative to ``origin`` (by default the origin of the frame; give a place nearby where coordinates are large,
/// as they are in single precision); ``distance`` [m], negative inside, with the error bounds of the shape whose field it is; ``normal``,
/// unit, from A to B; ``id`` of the point; ``shell_normal``, outward of the shape that gave the point; ``area`` [m²] it stands for.
/// In the order of ids. ``points_of`` is "a" or "b"; none: the shape with fewer points.
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

/// Whether a point of either shape is in the other.
///
/// ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
/// quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.
///
/// Overlaps smaller than the spacing of points and the error of fields may go unnoticed: see ``distance`` for a bound.
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

/// Signed distance of two shapes, negative where they overlap, with the points it is measured between and a bound on its error.
///
/// ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
/// quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.
///
/// With ``exact=True`` all triangles decide whether they overlap, and how far apart they are, up to rounding and with a bound of 0: milliseconds for
/// detailed shapes. Depths stay those of points.
#[pyfunction]
#[pyo3(signature = (a, b, pose_a=None, pose_b=None, exact=false))]
pub(crate) fn distance(
    py: Python<'_>,
    a: &PyShape,
    b: &PyShape,
    pose_a: Any<'_, '_>,
    pose_b: Any<'_, '_>,
    exact: bool,
) -> PyResult<Distance> {
    Pair::of(a, b).distance(py, pose_a, pose_b, exact)
}

/// The shortest translation of B found that separates it from A, settled by all triangles.
///
/// ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
/// quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.
///
/// ``directions`` is how many are tried over the whole sphere.
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

/// When B first meets A on its way from ``start`` to ``end``, both ``w_from_b``: straight, turning evenly the shortest way.
///
/// A stands still at ``pose_a``, ``w_from_a``; results are in the frame ``w``. Times are 0 to 1 and never after the true impact.
/// ``tolerance`` [m] is how much earlier than touch an impact may be reported, besides the radius that points cover.
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

/// The penalty force and torque that contacts give B, about B's origin; A receives the opposite [N, N m].
///
/// ``pose_a`` and ``pose_b`` are ``w_from_a`` and ``w_from_b``: 4x4 matrices, seven numbers ``x y z qx qy qz qw``, or tuples ``(position,
/// quaternion)``; none is the identity. Results are in the frame ``w``, which without ``pose_a`` is A's own.
///
/// ``stiffness`` is in N/m³ with ``law="integrated"`` (pressure is stiffness times depth) and in N/m with ``"averaged"``; ``damping`` the same
/// per m/s, and never makes a contact pull. ``direction`` is "field" (along its gradient) or "shell" (against the points' normals).
/// ``friction`` is a Coulomb coefficient, or a pair of static and dynamic; without memory nothing sticks, see ``Pair``. ``velocity`` is that of
/// B as A sees it, in the frame ``w``: a pair of linear, at B's origin [m/s], and angular [rad/s].
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
