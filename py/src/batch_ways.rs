//! The way out, and the time of an impact, for many poses at once.

use crate::answers::end_name;
use crate::array::from_points;
use crate::batch::{CHUNK, Poses};
use crate::error;
use crate::guard;
use crate::pose::matrices;
use crate::shape::PyShape;
use glam::DVec3;
use numpy::PyArray1;
use palpate::progress::Progress;
use palpate::query::{self, Impact, ImpactParams, Motion, Penetration, PenetrationParams};
use palpate::{Pose, Query, par};
use pyo3::prelude::*;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The shortest ways apart that were found, one for each pose.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct PenetrationBatch {
    /// Moves B out of A (n, 3) [m].
    translation: Py<PyAny>,
    /// Its length (n,) [m].
    depth: Py<PyAny>,
    /// What rounding may take from it (n,) [m].
    bound: Py<PyAny>,
    /// No translation shorter than this separates them (n,) [m].
    lower: Py<PyAny>,
    /// The translation after which they certainly share no point (n, 3) [m].
    free: Py<PyAny>,
    /// Whether they share a point (n,) bool.
    overlapping: Py<PyAny>,
}

/// When and where two shapes first meet, one for each motion.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct ImpactBatch {
    /// 0 to 1 (n,); NaN where they do not meet.
    time: Py<PyAny>,
    /// ``w_from_b`` then (n, 4, 4); without a time that at the end.
    pose_b: Py<PyAny>,
    /// Where (n, 3) [m]; NaN without an impact.
    point: Py<PyAny>,
    /// From A to B there (n, 3), unit.
    normal: Py<PyAny>,
    /// Distance of ``point`` from the other surface (n,) [m].
    distance: Py<PyAny>,
    /// How far apart shapes may be that are reported to meet (n,) [m].
    early: Py<PyAny>,
    /// How each search ended: see ``Impact.end``.
    end: Vec<&'static str>,
}

fn numbers<T>(py: Python<'_>, found: &[T], of: impl Fn(&T) -> f64) -> Py<PyAny> {
    PyArray1::from_vec(py, found.iter().map(of).collect()).into_any().unbind()
}

fn vectors<T>(py: Python<'_>, found: &[T], of: impl Fn(&T) -> DVec3) -> PyResult<Py<PyAny>> {
    Ok(from_points(py, found.iter().map(of).collect())?.into_any().unbind())
}

/// The shortest translation of B found that separates it from A, for each of many poses: ``translation`` (n, 3), ``depth`` (n,) and more [m].
///
/// ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
/// one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.
///
/// ``directions`` as in ``palpate.penetration``: a millisecond or more for each pose of detailed shapes.
#[pyfunction]
#[pyo3(signature = (a, b, poses, pose_a=None, directions=128, threads=0))]
pub(crate) fn penetration_batch<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    poses: &Bound<'py, PyAny>,
    pose_a: Any<'_, 'py>,
    directions: usize,
    threads: usize,
) -> PyResult<PenetrationBatch> {
    let poses = Poses::new("poses", poses, pose_a)?;
    let params = PenetrationParams { directions, ..PenetrationParams::default() };
    let found: Vec<Penetration> = guard::long(py, threads, |watch| {
        let ask = |query: &mut Query, p: &Pose| {
            (!watch.cancelled()).then(|| query.penetration(&a.shape, &b.shape, p, &params))
        };
        query::batch(&poses.list, ask).into_iter().collect::<Option<_>>().unwrap_or_default()
    })?;
    let overlapping = found.iter().map(|p| p.overlapping).collect();
    Ok(PenetrationBatch {
        translation: vectors(py, &found, |p| poses.vector(p.translation))?,
        depth: numbers(py, &found, |p| p.depth),
        bound: numbers(py, &found, |p| p.bound),
        lower: numbers(py, &found, |p| p.lower),
        free: vectors(py, &found, |p| poses.vector(p.free()))?,
        overlapping: PyArray1::from_vec(py, overlapping).into_any().unbind(),
    })
}

/// When B first meets A on each of many motions, from ``starts[i]`` to ``ends[i]``: ``time`` (n,), NaN where they do not meet, ``point`` (n, 3) and more.
///
/// Both are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the one
/// ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.
///
/// ``tolerance`` and ``max_steps`` as in ``palpate.time_of_impact``.
#[pyfunction]
#[pyo3(signature = (a, b, starts, ends, pose_a=None, tolerance=None, max_steps=4000, threads=0))]
pub(crate) fn time_of_impact_batch<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    starts: &Bound<'py, PyAny>,
    ends: &Bound<'py, PyAny>,
    pose_a: Any<'_, 'py>,
    tolerance: Option<f64>,
    max_steps: usize,
    threads: usize,
) -> PyResult<ImpactBatch> {
    let params = crate::params::impact(tolerance, max_steps)?;
    let (starts, ends) = (Poses::new("starts", starts, pose_a)?, Poses::new("ends", ends, pose_a)?);
    if starts.list.len() != ends.list.len() {
        return Err(error::input(format!(
            "there are {} starts, but {} ends",
            starts.list.len(),
            ends.list.len()
        )));
    }
    let found = guard::long(py, threads, |watch| {
        let motions: Vec<Motion> =
            starts.list.iter().zip(&ends.list).map(|(from, to)| Motion::between(from, to)).collect();
        impacts([a, b], &motions, &params, &|| watch.cancelled())
    })?;
    let placed: Vec<Pose> = found.iter().map(|i| starts.world.map_or(i.pose, |w| w * i.pose)).collect();
    Ok(ImpactBatch {
        time: numbers(py, &found, |i| i.time.unwrap_or(f64::NAN)),
        pose_b: matrices(py, &placed)?.into_any().unbind(),
        point: vectors(py, &found, |i| starts.point(i.point))?,
        normal: vectors(py, &found, |i| starts.vector(i.normal))?,
        distance: numbers(py, &found, |i| i.distance),
        early: numbers(py, &found, |i| i.early),
        end: found.iter().map(|i| end_name(i.end)).collect(),
    })
}

/// The impact of each motion; fewer where the work was stopped.
fn impacts(
    [a, b]: [&PyShape; 2],
    motions: &[Motion],
    params: &ImpactParams,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Vec<Impact> {
    let pieces = par::map(motions.len().div_ceil(CHUNK), |piece| {
        let mut query = Query::new();
        let some = &motions[piece * CHUNK..motions.len().min((piece + 1) * CHUNK)];
        let asked = some.iter().take_while(|_| !stopped());
        asked.map(|m| query.time_of_impact(&a.shape, &b.shape, m, params)).collect::<Vec<_>>()
    });
    pieces.into_iter().flatten().collect()
}
