//! Many poses at once, on all cores.

use crate::array::{self, from_contacts, from_points};
use crate::gpu::{Device, PyGpu};
use crate::guard::{self, Watch};
use crate::params::{self, Coefficients};
use crate::pose::{move_contacts, moved, pose, poses};
use crate::shape::PyShape;
use bytemuck::Zeroable;
use glam::DVec3;
use numpy::PyArray1;
use palpate::force::{Force, ForceParams, penalty};
use palpate::progress::Progress;
use palpate::query::{self, QueryParams, Roles};
use palpate::{Contact, Pose, Shape, par};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Poses per piece of work, as the engine's batches have them.
pub(crate) const CHUNK: usize = 16;

/// Poses of B against one of A, as A sees them.
pub(crate) struct Poses {
    /// `w_from_a`; none where A's frame is the one.
    pub(crate) world: Option<Pose>,
    pub(crate) list: Vec<Pose>,
}

impl Poses {
    /// `what` are `poses_b` called.
    pub(crate) fn new(what: &str, poses_b: &Bound<'_, PyAny>, pose_a: Any<'_, '_>) -> PyResult<Self> {
        let mut list = poses(what, poses_b)?;
        let world = pose_a.map(|a| pose("pose_a", Some(a))).transpose()?;
        if let Some(world) = world {
            let a_from_w = world.inverse();
            list.iter_mut().for_each(|p| *p = a_from_w * *p);
        }
        Ok(Self { world, list })
    }

    pub(crate) fn point(&self, p: DVec3) -> DVec3 {
        self.world.map_or(p, |w| w.point(p))
    }

    pub(crate) fn vector(&self, v: DVec3) -> DVec3 {
        self.world.map_or(v, |w| w.vector(v))
    }
}

/// Contacts of many poses in a few numbers each.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct ContactsBatch {
    /// Contacts of each pose (n,).
    count: Py<PyAny>,
    /// The deepest of each (n,), dtype ``palpate.CONTACT``.
    deepest: Py<PyAny>,
    /// Where the contacts of each begin (n + 1,); none unless asked for.
    offsets: Option<Py<PyAny>>,
    /// All of them; none unless asked for.
    contacts: Option<Py<PyAny>>,
}

/// The same with forces.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct WrenchBatch {
    /// Contacts of each pose (n,).
    count: Py<PyAny>,
    /// The deepest of each (n,), dtype ``palpate.CONTACT``.
    deepest: Py<PyAny>,
    /// On B (n, 3) [N].
    force: Py<PyAny>,
    /// On B about B's origin (n, 3) [N m].
    torque: Py<PyAny>,
    /// Surface in contact (n,) [m²].
    area: Py<PyAny>,
    /// Where the contacts of each begin (n + 1,); none unless asked for.
    offsets: Option<Py<PyAny>>,
    /// All of them; none unless asked for.
    contacts: Option<Py<PyAny>>,
}

/// What a pose came to.
struct Found {
    count: usize,
    deepest: Contact,
    force: Force,
}

/// Asks each pose; lists are kept on request, one after the other.
fn ask(
    a: &Shape,
    b: &Shape,
    poses: &Poses,
    params: &QueryParams,
    push: Option<&ForceParams>,
    full: bool,
    watch: &Watch,
) -> PyResult<(Vec<Found>, Vec<Contact>)> {
    let world = poses.world.as_ref();
    let none = none();
    let one = |query: &mut palpate::Query, p: &Pose, list: Option<&mut Vec<Contact>>| {
        if watch.cancelled() {
            return Found { count: 0, deepest: none, force: Force::default() };
        }
        let contacts = query.contacts(a, b, p, params);
        let deepest = contacts.deepest().map_or(none, |c| moved(contacts, c, world, DVec3::ZERO));
        let force = push.map_or_else(Force::default, |push| penalty(contacts, push, p, None, None));
        if let Some(list) = list {
            let first = list.len();
            list.extend_from_slice(&contacts.list);
            move_contacts(&mut list[first..], contacts.origin, world, DVec3::ZERO);
        }
        Found { count: contacts.list.len(), deepest, force }
    };
    if !full {
        return Ok((query::batch(&poses.list, |query, p| one(query, p, None)), Vec::new()));
    }
    // Half of what is free: the system would end the process that takes more than all.
    let most = Python::attach(array::free)? / 2.0 / size_of::<Contact>() as f64;
    let listed = query::batch_listed(&poses.list, most as usize, |query, p, list| one(query, p, Some(list)));
    let listed = listed.map_err(|e| {
        let needed = e.contacts as f64 / e.poses as f64 * poses.list.len() as f64 * size_of::<Contact>() as f64;
        PyMemoryError::new_err(format!(
            "all contacts of {} poses take about {:.1} GiB; ask for fewer poses at a time, or without full=True",
            poses.list.len(),
            needed / f64::from(1 << 30)
        ))
    })?;
    Ok((listed.answers, listed.contacts))
}

/// A place that is none: no contact has it.
fn none() -> Contact {
    Contact { point: [f32::NAN; 3], distance: f32::NAN, id: u32::MAX, ..Contact::zeroed() }
}

/// The same of a graphics processor.
fn ask_device(
    device: &Device,
    shapes: [&PyShape; 2],
    poses: &Poses,
    params: &QueryParams,
    push: Option<&ForceParams>,
    full: bool,
) -> PyResult<(Vec<Found>, Vec<Contact>)> {
    let world = poses.world.as_ref();
    let (told, mut all) = device.pair(shapes, &poses.list, params, push, full)?;
    let found: Vec<Found> = told
        .iter()
        .map(|t| {
            let mut deepest = [t.deepest.unwrap_or_else(none)];
            move_contacts(&mut deepest, t.origin, world, DVec3::ZERO);
            Found { count: t.contacts, deepest: deepest[0], force: t.force }
        })
        .collect();
    let origin = told.first().map_or(DVec3::ZERO, |t| t.origin);
    par::chunks_mut(&mut all, CHUNK * 64, |_, some| move_contacts(some, origin, world, DVec3::ZERO));
    Ok((found, all))
}

/// Asks the device that is given, or the CPU.
fn ask_either(
    gpu: Option<&PyGpu>,
    [a, b]: [&PyShape; 2],
    poses: &Poses,
    params: &QueryParams,
    push: Option<&ForceParams>,
    full: bool,
    watch: &Watch,
) -> PyResult<(Vec<Found>, Vec<Contact>)> {
    match gpu {
        Some(gpu) => ask_device(&gpu.device, [a, b], poses, params, push, full),
        None => ask(&a.shape, &b.shape, poses, params, push, full, watch),
    }
}

/// Numbers of contacts, deepest ones, and the lists where they were kept.
type Parts = (Py<PyAny>, Py<PyAny>, Option<Py<PyAny>>, Option<Py<PyAny>>);

fn parts(py: Python<'_>, found: &[Found], all: Vec<Contact>, full: bool) -> PyResult<Parts> {
    let count: Vec<i64> = found.iter().map(|f| f.count as i64).collect();
    let offsets = full.then(|| {
        let mut offsets = Vec::with_capacity(count.len() + 1);
        offsets.push(0);
        offsets.extend(count.iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        }));
        PyArray1::from_vec(py, offsets).into_any().unbind()
    });
    let contacts = if full { Some(from_contacts(py, all)?.unbind()) } else { None };
    let deepest = from_contacts(py, found.iter().map(|f| f.deepest).collect())?.unbind();
    Ok((PyArray1::from_vec(py, count).into_any().unbind(), deepest, offsets, contacts))
}

/// Contacts of each of many poses: ``count`` (n,), ``deepest`` (n,) of dtype ``palpate.CONTACT``, and on request all of them.
///
/// ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
/// one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.
///
/// ``deepest`` has NaN as its distance, and the largest id there is, where a pose has no contact. With ``full=True`` the contacts of pose i are
/// ``contacts[offsets[i]:offsets[i + 1]]``, as ``palpate.contacts`` gives them, 48 bytes each; ``MemoryError`` as soon as they take more than half
/// of the memory that is free.
///
/// With ``gpu`` that device answers, with the same fields: points nearer to the margin than two thousandths of a voxel may count on one side and
/// not on the other, and distances differ by as much. Any number of poses goes there in pieces.
#[pyfunction]
#[pyo3(signature = (a, b, poses, pose_a=None, margin=0.0, full=false, points_of=None, threads=0, gpu=None))]
pub(crate) fn contacts_batch<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    poses: &Bound<'py, PyAny>,
    pose_a: Any<'_, 'py>,
    margin: f64,
    full: bool,
    points_of: Option<&str>,
    threads: usize,
    gpu: Option<&PyGpu>,
) -> PyResult<ContactsBatch> {
    let (poses, params) = (Poses::new("poses", poses, pose_a)?, params::query(margin, points_of)?);
    let (found, all) =
        guard::long(py, threads, |watch| ask_either(gpu, [a, b], &poses, &params, None, full, watch))??;
    let (count, deepest, offsets, contacts) = parts(py, &found, all, full)?;
    Ok(ContactsBatch { count, deepest, offsets, contacts })
}

/// Contacts and wrench of each of many poses: also ``force`` (n, 3) [N], ``torque`` (n, 3) [N m] on B about its origin, and ``area`` (n,) [m²].
///
/// ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
/// one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.
///
/// ``stiffness``, ``law`` and ``direction`` as in ``palpate.wrench``; ``full`` and ``gpu`` as in ``contacts_batch``; forces of a device differ by at most
/// that depth times stiffness and area, and a hundredth of the sum of normal forces.
#[pyfunction]
#[pyo3(signature = (a, b, poses, pose_a=None, *, stiffness, law="integrated", direction="field", full=false, points_of=None, threads=0, gpu=None))]
pub(crate) fn wrench_batch<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    poses: &Bound<'py, PyAny>,
    pose_a: Any<'_, 'py>,
    stiffness: f64,
    law: &str,
    direction: &str,
    full: bool,
    points_of: Option<&str>,
    threads: usize,
    gpu: Option<&PyGpu>,
) -> PyResult<WrenchBatch> {
    let (poses, params) = (Poses::new("poses", poses, pose_a)?, params::query(0.0, points_of)?);
    let push = params::force(stiffness, law, direction, 0.0, None::<&Coefficients>)?;
    let (found, all) = guard::long(py, threads, |watch| {
        ask_either(gpu, [a, b], &poses, &params, Some(&push), full, watch)
    })??;
    let (count, deepest, offsets, contacts) = parts(py, &found, all, full)?;
    let vectors = |of: fn(&Found) -> DVec3| -> PyResult<Py<PyAny>> {
        Ok(from_points(py, found.iter().map(|f| poses.vector(of(f))).collect())?.into_any().unbind())
    };
    let area = PyArray1::from_vec(py, found.iter().map(|f| f.force.area).collect()).into_any().unbind();
    let (force, torque) = (vectors(|f| f.force.wrench.force)?, vectors(|f| f.force.wrench.torque)?);
    Ok(WrenchBatch { count, deepest, force, torque, area, offsets, contacts })
}

/// Whether shapes meet, for each of many poses: (n,) bool.
///
/// ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
/// one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores. ``gpu`` as in
/// ``contacts_batch``.
#[pyfunction]
#[pyo3(signature = (a, b, poses, pose_a=None, threads=0, gpu=None))]
pub(crate) fn intersects_batch<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    poses: &Bound<'py, PyAny>,
    pose_a: Any<'_, 'py>,
    threads: usize,
    gpu: Option<&PyGpu>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let poses = Poses::new("poses", poses, pose_a)?;
    let found = guard::long(py, threads, |watch| match gpu {
        None => Ok(query::batch(&poses.list, |query, p| {
            !watch.cancelled() && query.intersects(&a.shape, &b.shape, p)
        })),
        Some(gpu) => meet(&gpu.device, [a, b], &poses.list),
    })??;
    Ok(PyArray1::from_vec(py, found))
}

/// Whether a point of either shape is in the other, by a graphics processor.
fn meet(device: &Device, shapes: [&PyShape; 2], poses: &[Pose]) -> PyResult<Vec<bool>> {
    let mut found = vec![false; poses.len()];
    for roles in [Roles::PointsOfB, Roles::PointsOfA] {
        let left: Vec<usize> = (0..poses.len()).filter(|i| !found[*i]).collect();
        let some: Vec<Pose> = left.iter().map(|i| poses[*i]).collect();
        let params = QueryParams { margin: 0.0, roles };
        let (told, _) = device.pair(shapes, &some, &params, None, false)?;
        left.iter().zip(told).for_each(|(i, t)| found[*i] = t.contacts > 0);
    }
    Ok(found)
}

/// Distances of many poses.
#[pyclass(module = "palpate", frozen, get_all)]
pub(crate) struct DistanceBatch {
    /// Signed (n,) [m].
    distance: Py<PyAny>,
    /// True distances are at most this much smaller (n,) [m].
    bound: Py<PyAny>,
    /// On A's surface (n, 3) [m].
    witness_a: Py<PyAny>,
    /// On B's surface (n, 3) [m].
    witness_b: Py<PyAny>,
}

/// Signed distance for each of many poses, negative inside: ``distance`` and ``bound`` (n,), ``witness_a`` and ``witness_b`` (n, 3) [m].
///
/// ``poses`` are n poses ``w_from_b``: an array (n, 4, 4) or (n, 7), or a tuple of positions (n, 3) and quaternions (n, 4), x y z w. ``pose_a`` is the
/// one ``w_from_a``; results are in the frame ``w``, which without it is A's own. The interpreter's lock is released; ``threads=0`` is all cores.
#[pyfunction]
#[pyo3(signature = (a, b, poses, pose_a=None, threads=0))]
pub(crate) fn distance_batch<'py>(
    py: Python<'py>,
    a: &PyShape,
    b: &PyShape,
    poses: &Bound<'py, PyAny>,
    pose_a: Any<'_, 'py>,
    threads: usize,
) -> PyResult<DistanceBatch> {
    let poses = Poses::new("poses", poses, pose_a)?;
    let found = guard::long(py, threads, |watch| {
        let ask = |query: &mut palpate::Query, p: &Pose| {
            (!watch.cancelled()).then(|| query.distance(&a.shape, &b.shape, p))
        };
        query::batch(&poses.list, ask).into_iter().collect::<Option<Vec<_>>>().unwrap_or_default()
    })?;
    let numbers = |of: fn(&query::Distance) -> f64| {
        PyArray1::from_vec(py, found.iter().map(of).collect()).into_any().unbind()
    };
    let points = |of: fn(&query::Distance) -> DVec3| -> PyResult<Py<PyAny>> {
        Ok(from_points(py, found.iter().map(|d| poses.point(of(d))).collect())?.into_any().unbind())
    };
    Ok(DistanceBatch {
        distance: numbers(|d| d.distance),
        bound: numbers(|d| d.bound),
        witness_a: points(|d| d.witness_a)?,
        witness_b: points(|d| d.witness_b)?,
    })
}
