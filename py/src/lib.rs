//! palpate for Python: the compiled part of the package `palpate`.
//!
//! Nothing here computes: arrays become the engine's types and back. Manuals for people are in `python/palpate/_palpate.pyi`.
#![expect(clippy::too_many_arguments, reason = "arguments that Python gives by name")]

mod answers;
mod array;
mod assembly;
mod batch;
mod batch_ways;
mod cloud;
mod error;
mod gpu;
mod guard;
mod pair;
mod params;
mod pose;
mod recording;
mod scene;
mod shape;
mod soft;
mod soft_pair;

use pyo3::prelude::*;

/// The compiled part of `palpate`.
#[pymodule]
fn _palpate(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("CONTACT", array::contact_dtype(m.py())?)?;
    m.add("SAMPLES", palpate::mesh::samples::NAMES.to_vec())?;
    m.add_class::<shape::PyShape>()?;
    m.add_class::<pair::Pair>()?;
    m.add_class::<answers::Distance>()?;
    m.add_class::<answers::Impact>()?;
    m.add_class::<answers::Penetration>()?;
    m.add_class::<answers::Wrench>()?;
    m.add_class::<answers::Report>()?;
    m.add_class::<batch::ContactsBatch>()?;
    m.add_class::<batch::WrenchBatch>()?;
    m.add_class::<batch::DistanceBatch>()?;
    m.add_class::<batch_ways::PenetrationBatch>()?;
    m.add_class::<batch_ways::ImpactBatch>()?;
    m.add_class::<soft::PySoftMesh>()?;
    m.add_class::<soft::PySoft>()?;
    m.add_class::<soft::SoftContacts>()?;
    m.add_class::<soft::SoftDistance>()?;
    m.add_class::<soft::FirstContact>()?;
    m.add_class::<soft_pair::SoftPair>()?;
    m.add_class::<gpu::PyGpu>()?;
    m.add_class::<gpu::GpuInfo>()?;
    m.add_function(wrap_pyfunction!(gpu::gpus, m)?)?;
    m.add_class::<cloud::PyCloud>()?;
    m.add_class::<assembly::PyAssembly>()?;
    m.add_class::<assembly::AssemblyReport>()?;
    m.add_class::<assembly::AssemblySteps>()?;
    m.add_class::<assembly::AssemblyWorker>()?;
    m.add_class::<assembly::Finding>()?;
    m.add_class::<assembly::Region>()?;
    m.add_function(wrap_pyfunction!(assembly::look_at_assembly, m)?)?;
    m.add_class::<scene::PyScene>()?;
    m.add_class::<scene::PySimulation>()?;
    m.add_class::<scene::SimulationContacts>()?;
    m.add_class::<recording::PyRecording>()?;
    m.add_function(wrap_pyfunction!(recording::record, m)?)?;
    m.add_function(wrap_pyfunction!(pair::contacts, m)?)?;
    m.add_function(wrap_pyfunction!(pair::intersects, m)?)?;
    m.add_function(wrap_pyfunction!(pair::distance, m)?)?;
    m.add_function(wrap_pyfunction!(pair::penetration, m)?)?;
    m.add_function(wrap_pyfunction!(pair::time_of_impact, m)?)?;
    m.add_function(wrap_pyfunction!(pair::wrench, m)?)?;
    m.add_function(wrap_pyfunction!(batch::contacts_batch, m)?)?;
    m.add_function(wrap_pyfunction!(batch::wrench_batch, m)?)?;
    m.add_function(wrap_pyfunction!(batch::intersects_batch, m)?)?;
    m.add_function(wrap_pyfunction!(batch::distance_batch, m)?)?;
    m.add_function(wrap_pyfunction!(batch_ways::penetration_batch, m)?)?;
    m.add_function(wrap_pyfunction!(batch_ways::time_of_impact_batch, m)?)?;
    Ok(())
}
