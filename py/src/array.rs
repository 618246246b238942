//! Arrays from Python and back. Nothing is copied that is as it is needed; lists, other kinds of numbers and views are converted.

use crate::error;
use bytemuck::Pod;
use glam::DVec3;
use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray, PyUntypedArray,
    PyUntypedArrayMethods,
};
use palpate::Contact;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// Copies below this are made without asking for room \[bytes\]; as `palpate._room` has it.
const SMALL: usize = 1 << 30;

/// NumPy itself.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?.bind(py))
}

/// The type of a contact: 48 bytes, as the engine has them.
pub(crate) fn contact_dtype(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || {
        let fields = [
            ("point", "<f4", Some(3)),
            ("distance", "<f4", None),
            ("normal", "<f4", Some(3)),
            ("id", "<u4", None),
            ("shell_normal", "<f4", Some(3)),
            ("area", "<f4", None),
        ];
        let fields: Vec<Py<PyAny>> = fields
            .iter()
            .map(|(name, kind, n)| match n {
                Some(n) => Ok((name, kind, (*n,)).into_pyobject(py)?.into_any().unbind()),
                None => Ok((name, kind).into_pyobject(py)?.into_any().unbind()),
            })
            .collect::<PyResult<_>>()?;
        numpy(py)?.call_method1("dtype", (fields,)).map(Bound::unbind)
    };
    Ok(DTYPE.get_or_try_init(py, make)?.bind(py))
}

/// Any array-like as an array of real numbers; an error that names it otherwise.
pub(crate) fn real<'py>(what: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let array = match object.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let made = numpy(py)?.call_method1("asarray", (object,));
            let made = made.map_err(|e| {
                error::raised(py, e, |e| format!("{what} is no array of numbers: {}", e.value(py)))
            })?;
            made.cast_into::<PyUntypedArray>()?
        }
    };
    let kind = array.dtype().kind();
    // An empty list has no numbers that could be of the wrong kind.
    if !matches!(kind, b'f' | b'i' | b'u') {
        return Err(error::input(format!("{what} has dtype {}; give real numbers", array.dtype())));
    }
    Ok(array)
}

/// An array-like of `D` dimensions as numbers of type `T`, in C order.
pub(crate) fn numbers<'py, T: Element, D: Dimension>(
    what: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    // No slice: not in C order, or not where such numbers may be.
    if let Ok(array) = object.extract::<PyReadonlyArray<'py, T, D>>()
        && array.is_c_contiguous()
        && array.as_slice().is_ok()
    {
        return Ok(array);
    }
    let py = object.py();
    let array = real(what, object)?;
    room::<T>(what, &array)?;
    let options = PyDict::new(py);
    options.set_item("dtype", T::get_dtype(py))?;
    options.set_item("requirements", ["C", "A"])?;
    let made = numpy(py)?.call_method("require", (array,), Some(&options))?;
    made.extract()
        .map_err(|_| error::input(format!("{what} has another number of dimensions than it should")))
}

/// `MemoryError` where a copy of an array as numbers of type `T` has no room: views of a few bytes may stand for terabytes.
fn room<T>(what: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    // A broadcast of more than memory can name has a length all the same.
    let count = array.shape().iter().try_fold(1_usize, |n, k| n.checked_mul(*k)).unwrap_or(usize::MAX);
    if count >= SMALL / size_of::<T>() {
        array.py().import("palpate._room")?.call_method1("check", (what, count, size_of::<T>()))?;
    }
    Ok(())
}

/// Memory that programs may still take \[bytes\]; infinite where the system does not say.
pub(crate) fn free(py: Python<'_>) -> PyResult<f64> {
    py.import("palpate._room")?.call_method0("free")?.extract()
}

/// `shape` as Python writes it.
pub(crate) fn shown(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Points, one a row.
pub(crate) struct Points<'py>(PyReadonlyArray<'py, f64, numpy::Ix2>);

impl<'py> Points<'py> {
    /// An array-like of shape (n, 3).
    pub(crate) fn new(what: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        rows(what, object, 3).map(Self)
    }

    /// In the order of the rows, where they are.
    pub(crate) fn as_slice(&self) -> PyResult<&[DVec3]> {
        Ok(bytemuck::cast_slice(self.0.as_slice()?))
    }
}

/// An array-like of shape (n, `width`).
pub(crate) fn rows<'py>(
    what: &str,
    object: &Bound<'py, PyAny>,
    width: usize,
) -> PyResult<PyReadonlyArray<'py, f64, numpy::Ix2>> {
    if let Ok(array) = object.extract::<PyReadonlyArray<'py, f64, numpy::Ix2>>()
        && array.is_c_contiguous()
        && array.as_slice().is_ok()
        && array.shape()[1] == width
    {
        return Ok(array);
    }
    let array = real(what, object)?;
    if array.ndim() != 2 || array.shape()[1] != width {
        return Err(error::input(format!(
            "{what} has shape {}; it must be (n, {width})",
            shown(array.shape())
        )));
    }
    numbers(what, array.as_any())
}

/// An array-like of three finite numbers.
pub(crate) fn vector(what: &str, object: &Bound<'_, PyAny>) -> PyResult<DVec3> {
    let [x, y, z] = exactly::<3>(what, object)?;
    Ok(DVec3::new(x, y, z))
}

/// An array-like of `N` finite numbers.
pub(crate) fn exactly<const N: usize>(what: &str, object: &Bound<'_, PyAny>) -> PyResult<[f64; N]> {
    let array = real(what, object)?;
    if array.shape() != [N] {
        return Err(error::input(format!("{what} has shape {}; it must be ({N},)", shown(array.shape()))));
    }
    let array = numbers::<f64, numpy::Ix1>(what, array.as_any())?;
    let mut out = [0.0; N];
    out.copy_from_slice(array.as_slice()?);
    match out.iter().find(|v| !v.is_finite()) {
        Some(v) => Err(error::input(format!("{what} holds {v}; every number must be finite"))),
        None => Ok(out),
    }
}

/// The three vertices of one triangle.
pub(crate) fn corners(what: &str, object: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let array = real(what, object)?;
    if array.shape() != [3] || !matches!(array.dtype().kind(), b'i' | b'u') {
        let (shape, kind) = (shown(array.shape()), array.dtype());
        return Err(error::input(format!(
            "{what} has shape {shape} and dtype {kind}; it must be three integers"
        )));
    }
    let array = numbers::<i64, numpy::Ix1>(what, array.as_any())?;
    let mut out = [0; 3];
    for (to, v) in out.iter_mut().zip(array.as_slice()?) {
        *to = u32::try_from(*v)
            .map_err(|_| error::input(format!("{what} names vertex {v}; vertices are counted from 0")))?;
    }
    Ok(out)
}

/// Triangles of shape (m, 3), as the engine numbers vertices.
pub(crate) fn triangles(object: &Bound<'_, PyAny>) -> PyResult<Vec<[u32; 3]>> {
    let array = real("faces", object)?;
    let kind = array.dtype().kind();
    if !matches!(kind, b'i' | b'u') && array.len() > 0 {
        return Err(error::input(format!(
            "faces has dtype {}; vertices are named by integers",
            array.dtype()
        )));
    }
    if array.ndim() != 2 || array.shape()[1] != 3 {
        let hint = if array.ndim() == 2 && array.shape()[1] == 4 {
            ": cut quadrilaterals into triangles"
        } else {
            ""
        };
        return Err(error::input(format!(
            "faces has shape {}; it must be (m, 3){hint}",
            shown(array.shape())
        )));
    }
    let faces = numbers::<i64, numpy::Ix2>("faces", array.as_any())?;
    let name = |at: usize, v: i64| {
        u32::try_from(v).map_err(|_| {
            error::input(format!("face {} names vertex {v}; vertices are counted from 0", at / 3))
        })
    };
    let flat: Vec<u32> =
        faces.as_slice()?.iter().enumerate().map(|(i, v)| name(i, *v)).collect::<PyResult<_>>()?;
    Ok(flat.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect())
}

/// Three numbers.
pub(crate) fn three(py: Python<'_>, v: DVec3) -> Py<PyArray1<f64>> {
    PyArray1::from_slice(py, &v.to_array()).unbind()
}

/// Points as an array of shape (n, 3), which takes their memory.
pub(crate) fn from_points(py: Python<'_>, points: Vec<DVec3>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let n = points.len();
    PyArray1::from_vec(py, flat::<DVec3, f64>(points)).reshape([n, 3])
}

/// Contacts as an array of [`contact_dtype`], which takes their memory.
pub(crate) fn from_contacts(py: Python<'_>, contacts: Vec<Contact>) -> PyResult<Bound<'_, PyAny>> {
    PyArray1::from_vec(py, flat::<Contact, f32>(contacts)).call_method1("view", (contact_dtype(py)?,))
}

/// The same memory as numbers; copied only where the allocation does not fit.
pub(crate) fn flat<A: Pod, B: Pod>(list: Vec<A>) -> Vec<B> {
    match bytemuck::allocation::try_cast_vec(list) {
        Ok(numbers) => numbers,
        Err((_, list)) => bytemuck::cast_slice(&list).to_vec(),
    }
}
