//! Exceptions: classes of the Python package, with the engine's messages as they are.

use palpate::asset::AssetError;
use palpate::cloud::{CloudError, CloudReadError};
use palpate::mesh;
use palpate::shape::ShapeError;
use palpate::soft::SoftError;
use palpate_sim::SimError;
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::{PyErr, Python};
use std::fmt::Display;

// Written in Python, where a class can have two bases.
pyo3::import_exception!(palpate._errors, InputError);
pyo3::import_exception!(palpate._errors, MeshError);
pyo3::import_exception!(palpate._errors, BuildError);
pyo3::import_exception!(palpate._errors, FileError);
pyo3::import_exception!(palpate._errors, SimulationError);
pyo3::import_exception!(palpate._errors, GpuError);
pyo3::import_exception!(palpate._errors, InternalError);

/// An argument that cannot be used.
pub(crate) fn input(message: impl Display) -> PyErr {
    InputError::new_err(message.to_string())
}

/// What an argument raised when it was looked at, as an error that says which it was. What says nothing of it passes: Ctrl-C, an exit, no memory.
pub(crate) fn raised<D: Display>(py: Python<'_>, error: PyErr, message: impl FnOnce(&PyErr) -> D) -> PyErr {
    if error.is_instance_of::<PyException>(py) && !error.is_instance_of::<PyMemoryError>(py) {
        input(message(&error))
    } else {
        error
    }
}

/// Triangles that cannot become a mesh, or a file that holds none.
pub(crate) fn mesh(error: mesh::MeshError) -> PyErr {
    match error {
        mesh::MeshError::Read(error) => file(error),
        other => MeshError::new_err(other.to_string()),
    }
}

/// A shape that cannot be built.
pub(crate) fn build(error: ShapeError) -> PyErr {
    BuildError::new_err(error.to_string())
}

/// A file that cannot be read or written.
pub(crate) fn file(error: impl Display) -> PyErr {
    FileError::new_err(error.to_string())
}

/// A `.palp` file that cannot be used.
pub(crate) fn asset(error: AssetError) -> PyErr {
    match error {
        AssetError::Mesh(error) => mesh(error),
        AssetError::Shape(error) => build(error),
        other => file(other),
    }
}

/// A soft mesh that is left as it was.
pub(crate) fn soft(error: SoftError) -> PyErr {
    MeshError::new_err(error.to_string())
}

/// Points that cannot become a cloud.
pub(crate) fn cloud(error: CloudError) -> PyErr {
    BuildError::new_err(error.to_string())
}

/// A file without points.
pub(crate) fn scan(error: CloudReadError) -> PyErr {
    file(error)
}

/// A graphics processor that does not answer.
pub(crate) fn gpu(message: impl Display) -> PyErr {
    GpuError::new_err(message.to_string())
}

/// A fault of ours.
pub(crate) fn internal(what: &str) -> PyErr {
    InternalError::new_err(format!("a fault in palpate, please report it: {what}"))
}

/// A scene that does not run.
pub(crate) fn simulation(error: SimError) -> PyErr {
    SimulationError::new_err(error.to_string())
}
