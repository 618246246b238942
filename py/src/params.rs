//! What queries and forces are told.

use crate::array::vector;
use crate::error;
use crate::pose::Placed;
use glam::DVec3;
use palpate::force::{Direction, ForceParams, FrictionParams, Law, Twist};
use palpate::query::{ImpactParams, QueryParams, Roles};
use pyo3::prelude::*;

/// How an impact is sought.
pub(crate) fn impact(tolerance: Option<f64>, max_steps: usize) -> PyResult<ImpactParams> {
    if let Some(t) = tolerance
        && !(t > 0.0 && t.is_finite())
    {
        return Err(error::input(format!("tolerance is {t}; it must be positive and finite")));
    }
    Ok(ImpactParams { tolerance, max_steps })
}

/// Which points, and how far outside they count.
pub(crate) fn query(margin: f64, points_of: Option<&str>) -> PyResult<QueryParams> {
    if !margin.is_finite() {
        return Err(error::input(format!("margin is {margin}; it must be finite")));
    }
    let roles = match points_of {
        None => Roles::Fewer,
        Some("a") => Roles::PointsOfA,
        Some("b") => Roles::PointsOfB,
        Some(other) => {
            return Err(error::input(format!("points_of is {other:?}; it is \"a\", \"b\" or None")));
        }
    };
    Ok(QueryParams { margin, roles })
}

/// Friction.
pub(crate) enum Coefficients {
    /// Static and dynamic.
    Two(f64, f64),
    /// The same for both.
    One(f64),
}

impl<'py> FromPyObject<'_, 'py> for Coefficients {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let part = |i: usize| object.get_item(i)?.extract::<f64>();
        if object.len().is_ok_and(|n| n == 2)
            && let (Ok(still), Ok(moving)) = (part(0), part(1))
        {
            return Ok(Self::Two(still, moving));
        }
        let kind = object.get_type().name()?;
        let one = object.extract().map_err(|_| {
            error::input(format!("friction is a {kind}; give a coefficient, or a pair of static and dynamic"))
        })?;
        Ok(Self::One(one))
    }
}

/// Parameters of a force, in their ranges.
pub(crate) fn force(
    stiffness: f64,
    law: &str,
    direction: &str,
    damping: f64,
    friction: Option<&Coefficients>,
) -> PyResult<ForceParams> {
    let law = match law {
        "integrated" => Law::Integrated,
        "averaged" => Law::Averaged,
        other => return Err(error::input(format!("law is {other:?}; it is \"integrated\" or \"averaged\""))),
    };
    let direction = match direction {
        "field" => Direction::Field,
        "shell" => Direction::Shell,
        other => return Err(error::input(format!("direction is {other:?}; it is \"field\" or \"shell\""))),
    };
    let (static_coefficient, dynamic_coefficient) = match friction {
        None => (0.0, 0.0),
        Some(Coefficients::One(mu)) => (*mu, *mu),
        Some(Coefficients::Two(still, moving)) => (*still, *moving),
    };
    let friction = FrictionParams { static_coefficient, dynamic_coefficient, ..FrictionParams::default() };
    let params = ForceParams { law, direction, stiffness, damping, friction };
    params.check().map_err(error::input)?;
    Ok(params)
}

/// Velocity of B as A sees it, given in the frame the poses are in: linear of B's origin, and angular.
pub(crate) fn twist(velocity: Option<&Bound<'_, PyAny>>, placed: &Placed) -> PyResult<Option<Twist>> {
    let Some(velocity) = velocity else { return Ok(None) };
    let [linear, angular] = velocities(velocity, "B's origin")?.map(|v| placed.inward(v));
    Ok(Some(Twist { linear, angular }))
}

/// A pair of a linear velocity, of a point that is named, and an angular one; or an array (2, 3).
pub(crate) fn velocities(velocity: &Bound<'_, PyAny>, of: &str) -> PyResult<[DVec3; 2]> {
    let py = velocity.py();
    let words = || format!("velocity is a pair: linear [m/s] of {of} and angular [rad/s]");
    let problem = |e| error::raised(py, e, |_| words());
    if velocity.len().map_err(problem)? != 2 {
        return Err(error::input(words()));
    }
    let part = |i: usize| velocity.get_item(i).map_err(problem);
    Ok([vector("the linear velocity", &part(0)?)?, vector("the angular velocity", &part(1)?)?])
}
