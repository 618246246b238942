//! Assemblies: parts at their places, and every pair of them that clashes or comes too near.

mod finding;
mod parts;
mod report;
mod steps;
mod worker;

pub(crate) use finding::{Finding, Region};
pub(crate) use parts::PyAssembly;
pub(crate) use report::AssemblyReport;
pub(crate) use steps::{AssemblySteps, look_at_assembly};
pub(crate) use worker::AssemblyWorker;

use crate::error;
use palpate_assembly::{Params, RunError};
use pyo3::PyErr;

/// A run that ended early.
fn run(error: RunError) -> PyErr {
    match error {
        RunError::Params(error) => error::input(error),
        other @ RunError::Journal { .. } => match std::error::Error::source(&other) {
            Some(source) => error::file(format!("{other}: {source}")),
            None => error::file(other),
        },
        // Wished by a signal or a callback, whose exception is told instead.
        other => error::internal(&other.to_string()),
    }
}

/// What decides findings, as arguments from Python.
fn params(
    clearance: f64,
    tolerance: Option<f64>,
    voxel: Option<f64>,
    max_memory: u64,
    threads: usize,
) -> Result<Params, PyErr> {
    let params = Params { tolerance, voxel, max_memory, threads, ..Params::new(clearance) };
    params.check().map_err(error::input)?;
    Ok(params)
}
