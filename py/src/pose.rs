//! Poses from Python: matrices, or positions and quaternions.

use crate::array::{exactly, numbers, real, rows, shown};
use crate::error;
use glam::{DMat3, DQuat, DVec3};
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyUntypedArrayMethods};
use palpate::{Contact, Contacts, Pose, Wrench};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// How far the rotation of a matrix may be from one, as the largest difference of its product with its transpose from the identity \[1\].
/// Larger: a scale or a shear goes unnoticed. Smaller: matrices in single precision, or multiplied many times, are refused.
const RIGID: f64 = 1e-3;

/// Positions and quaternions as they were given.
type Halves<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// A pose: none for the identity, a 4×4 matrix, seven numbers, or a pair of position and quaternion.
pub(crate) fn pose(what: &str, object: Option<&Bound<'_, PyAny>>) -> PyResult<Pose> {
    let Some(object) = object.filter(|o| !o.is_none()) else { return Ok(Pose::IDENTITY) };
    if let Some((position, quaternion)) = halves(what, object)? {
        let [x, y, z] = exactly::<3>(&format!("the position of {what}"), &position)?;
        let q = exactly::<4>(&format!("the quaternion of {what}"), &quaternion)?;
        return of_numbers(what, &[x, y, z, q[0], q[1], q[2], q[3]]);
    }
    let array = real(what, object)?;
    match array.shape() {
        [4, 4] => of_matrix(what, numbers::<f64, numpy::Ix2>(what, array.as_any())?.as_slice()?),
        [7] => of_numbers(what, numbers::<f64, numpy::Ix1>(what, array.as_any())?.as_slice()?),
        other => Err(error::input(format!(
            "{what} has shape {}; a pose is a (4, 4) matrix, (x, y, z, qx, qy, qz, qw), or a pair (position, quaternion)",
            shown(other)
        ))),
    }
}

/// Poses: an array of shape (n, 4, 4) or (n, 7), or a pair of arrays (n, 3) and (n, 4).
pub(crate) fn poses(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<Pose>> {
    let each = |i: usize| format!("{what}[{i}]");
    if let Some((positions, quaternions)) = halves(what, object)? {
        let p = rows(&format!("the positions of {what}"), &positions, 3)?;
        let q = rows(&format!("the quaternions of {what}"), &quaternions, 4)?;
        if p.shape()[0] != q.shape()[0] {
            return Err(error::input(format!(
                "{what} has {} positions but {} quaternions",
                p.shape()[0],
                q.shape()[0]
            )));
        }
        let both = p.as_slice()?.chunks_exact(3).zip(q.as_slice()?.chunks_exact(4)).enumerate();
        return both
            .map(|(i, (p, q))| of_numbers(&each(i), &[p[0], p[1], p[2], q[0], q[1], q[2], q[3]]))
            .collect();
    }
    let array = real(what, object)?;
    match array.shape() {
        [_, 4, 4] => {
            let array = numbers::<f64, numpy::Ix3>(what, array.as_any())?;
            array.as_slice()?.chunks_exact(16).enumerate().map(|(i, m)| of_matrix(&each(i), m)).collect()
        }
        [_, 7] => {
            let array = numbers::<f64, numpy::Ix2>(what, array.as_any())?;
            array.as_slice()?.chunks_exact(7).enumerate().map(|(i, v)| of_numbers(&each(i), v)).collect()
        }
        [0] => Ok(Vec::new()),
        other => Err(error::input(format!(
            "{what} has shape {}; poses are (n, 4, 4), (n, 7), or a pair of (n, 3) and (n, 4)",
            shown(other)
        ))),
    }
}

/// Positions and quaternions: the parts of a tuple of two, or of such a list of two that can be nothing else. A list of two matrices, or of two
/// poses of seven numbers, is an array.
pub(crate) fn halves<'py>(what: &str, object: &Bound<'py, PyAny>) -> PyResult<Option<Halves<'py>>> {
    if let Ok(pair) = object.cast::<PyTuple>() {
        return if pair.len() == 2 { Ok(Some((pair.get_item(0)?, pair.get_item(1)?))) } else { Ok(None) };
    }
    let Ok(pair) = object.cast::<PyList>() else { return Ok(None) };
    if pair.len() != 2 {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(2);
    for part in pair {
        match real(what, &part) {
            Ok(array) => parts.push(array),
            // Named as a whole.
            Err(e) if e.is_instance_of::<error::InputError>(object.py()) => return Ok(None),
            Err(e) => return Err(e),
        }
    }
    let [p, q] = [&parts[0], &parts[1]];
    let fit = matches!((p.shape(), q.shape()), ([3], [4]) | ([_, 3], [_, 4]));
    Ok(fit.then(|| (p.as_any().clone(), q.as_any().clone())))
}

fn of_numbers(what: &str, v: &[f64]) -> PyResult<Pose> {
    if let Some(bad) = v.iter().find(|v| !v.is_finite()) {
        return Err(error::input(format!("{what} holds {bad}; every number of a pose must be finite")));
    }
    let pose = Pose::new(DQuat::from_xyzw(v[3], v[4], v[5], v[6]), DVec3::new(v[0], v[1], v[2]));
    if pose.is_finite() {
        Ok(pose)
    } else {
        Err(error::input(format!("the quaternion of {what} has no length")))
    }
}

/// Of a matrix row by row.
fn of_matrix(what: &str, m: &[f64]) -> PyResult<Pose> {
    if let Some(bad) = m.iter().find(|v| !v.is_finite()) {
        return Err(error::input(format!("{what} holds {bad}; every number of a pose must be finite")));
    }
    let last = [m[12], m[13], m[14], m[15] - 1.0];
    if last.iter().any(|v| v.abs() > RIGID) {
        return Err(error::input(format!(
            "the last row of {what} is {:?}; it must be [0, 0, 0, 1]",
            &m[12..16]
        )));
    }
    let turn = DMat3::from_cols_array(&[m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]]);
    let off = (turn.transpose() * turn - DMat3::IDENTITY)
        .to_cols_array()
        .iter()
        .fold(0.0, |a: f64, v| a.max(v.abs()));
    if off > RIGID {
        return Err(error::input(format!(
            "{what} is no rigid motion: its rotation is off by {off:.3}; shapes are scaled with Shape.scaled"
        )));
    }
    if turn.determinant() < 0.0 {
        return Err(error::input(format!("{what} mirrors; shapes cannot be mirrored by a pose")));
    }
    Ok(Pose::new(DQuat::from_mat3(&turn), DVec3::new(m[3], m[7], m[11])))
}

/// A pose as a 4×4 matrix.
pub(crate) fn matrix(py: Python<'_>, pose: &Pose) -> PyResult<Py<PyAny>> {
    Ok(PyArray1::from_slice(py, &rows_of(pose)).reshape([4, 4])?.into_any().unbind())
}

/// Poses as an array of shape (n, 4, 4).
pub(crate) fn matrices<'py>(py: Python<'py>, poses: &[Pose]) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let all: Vec<f64> = poses.iter().flat_map(rows_of).collect();
    PyArray1::from_vec(py, all).reshape([poses.len(), 4, 4])
}

/// The numbers of a pose's matrix, row by row.
fn rows_of(pose: &Pose) -> [f64; 16] {
    let (r, t) = (DMat3::from_quat(pose.rotation), pose.translation);
    let [x, y, z] = [r.x_axis, r.y_axis, r.z_axis];
    [x.x, y.x, z.x, t.x, x.y, y.y, z.y, t.y, x.z, y.z, z.z, t.z, 0.0, 0.0, 0.0, 1.0]
}

/// Where A is, and B as A sees it. Results are turned from A's frame to the one the poses are in.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    /// `w_from_a`; none where A's frame is the one.
    pub(crate) world: Option<Pose>,
    /// As queries want it.
    pub(crate) a_from_b: Pose,
}

impl Placed {
    /// Of `w_from_a` and `w_from_b`.
    pub(crate) fn new(a: Option<&Bound<'_, PyAny>>, b: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let w_from_b = pose("pose_b", b)?;
        match a.filter(|a| !a.is_none()) {
            None => Ok(Self { world: None, a_from_b: w_from_b }),
            Some(_) => {
                let w_from_a = pose("pose_a", a)?;
                Ok(Self { world: Some(w_from_a), a_from_b: w_from_a.inverse() * w_from_b })
            }
        }
    }

    /// A place of A's frame.
    pub(crate) fn point(&self, p: DVec3) -> DVec3 {
        self.world.map_or(p, |w| w.point(p))
    }

    /// A direction of A's frame.
    pub(crate) fn vector(&self, v: DVec3) -> DVec3 {
        self.world.map_or(v, |w| w.vector(v))
    }

    /// A direction of the frame the poses are in, as A sees it.
    pub(crate) fn inward(&self, v: DVec3) -> DVec3 {
        self.world.map_or(v, |w| w.inverse().vector(v))
    }

    /// A wrench; what it is about stays.
    pub(crate) fn wrench(&self, w: Wrench) -> Wrench {
        Wrench { force: self.vector(w.force), torque: self.vector(w.torque) }
    }
}

/// Contacts in the frame the poses are in, relative to `origin` there, in their place.
pub(crate) fn move_contacts(list: &mut [Contact], from: DVec3, world: Option<&Pose>, origin: DVec3) {
    let turned = |v: [f32; 3], w: &Pose| w.vector(DVec3::from_array(v.map(f64::from))).as_vec3().to_array();
    if world.is_none() && from == origin {
        return;
    }
    for c in list {
        let p = from + DVec3::from_array(c.point.map(f64::from));
        let p = world.map_or(p, |w| w.point(p)) - origin;
        c.point = p.as_vec3().to_array();
        if let Some(w) = world {
            (c.normal, c.shell_normal) = (turned(c.normal, w), turned(c.shell_normal, w));
        }
    }
}

/// The same for one contact of a list.
pub(crate) fn moved(contacts: &Contacts, contact: &Contact, world: Option<&Pose>, origin: DVec3) -> Contact {
    let mut one = [*contact];
    move_contacts(&mut one, contacts.origin, world, origin);
    one[0]
}
