//! All that was found in an assembly: as objects, a table, one JSON object, or a page.

use super::finding::Finding;
use crate::{error, guard};
use palpate_assembly::{Job, Kind, Params, Report, csv, json};
use palpate_view::assembly::{About, PageError, line, page};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// What was found in an assembly. Findings come the worst first: clashes by depth, then the smallest clearances.
#[pyclass(module = "palpate", frozen)]
pub(crate) struct AssemblyReport {
    job: Arc<Job>,
    params: Params,
    report: Report,
    cache: Option<PathBuf>,
}

impl AssemblyReport {
    pub(super) fn new(job: Arc<Job>, params: Params, report: Report, cache: Option<PathBuf>) -> Self {
        Self { job, params, report, cache }
    }

    fn all(&self, wanted: impl Fn(Kind) -> bool) -> Vec<Finding> {
        let told = self.report.ordered(true);
        told.into_iter().filter(|f| wanted(f.outcome.kind)).map(|f| Finding::new(&self.job, f)).collect()
    }

    fn count(&self, kind: Kind) -> usize {
        self.report.findings.iter().filter(|f| f.outcome.kind == kind).count()
    }
}

#[pymethods]
impl AssemblyReport {
    /// Clashes and clearances.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        self.all(Kind::is_violation)
    }

    /// Pairs that overlap by more than the tolerance.
    #[getter]
    fn clashes(&self) -> Vec<Finding> {
        self.all(|k| k == Kind::Clash)
    }

    /// Pairs that are nearer than the clearance.
    #[getter]
    fn clearances(&self) -> Vec<Finding> {
        self.all(|k| k == Kind::Clearance)
    }

    /// Pairs that touch by design.
    #[getter]
    fn contacts(&self) -> Vec<Finding> {
        self.all(|k| k == Kind::Contact)
    }

    /// Parts that could not be used: pairs of a name and what is wrong with it.
    #[getter]
    fn failures(&self) -> Vec<(String, String)> {
        self.report.failures.iter().map(|f| (f.part.clone(), f.problem.clone())).collect()
    }

    /// How many pairs were near enough to look at.
    #[getter]
    fn pairs(&self) -> usize {
        self.report.pairs
    }

    /// How many of these were known from an earlier run.
    #[getter]
    fn known(&self) -> usize {
        self.report.known
    }

    /// Shapes that were built, that were found built, and that the disk could not keep.
    #[getter]
    fn shapes(&self) -> (usize, usize, usize) {
        self.report.shapes.into()
    }

    /// A table, one row for each finding; lengths in metres. The same text as the program's ``findings.csv``.
    #[pyo3(signature = (contacts=false))]
    fn csv(&self, contacts: bool) -> String {
        csv(&self.job, &self.report.ordered(contacts))
    }

    /// One JSON object: ``findings``, ``failures`` and how many of what; lengths in metres.
    #[pyo3(signature = (contacts=false))]
    fn json(&self, contacts: bool) -> String {
        let told = self.report.ordered(contacts);
        format!("{:#}\n", json(&self.job, &self.params, &self.report, &told))
    }

    /// A page with a table and a picture of each finding: one HTML document that asks for nothing from a network. ``pictures`` is how many
    /// are pictured at most, the worst first. Shapes that are not in a cache are built again. ``progress(stage, done, steps)`` is told how far it is.
    #[pyo3(signature = (title="Assembly", contacts=false, pictures=200, progress=None))]
    fn html(
        &self,
        py: Python<'_>,
        title: &str,
        contacts: bool,
        pictures: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let drawn = guard::shown(py, progress, |told| {
            guard::watched(py, self.params.threads, told, |watch| {
                let about = About {
                    title,
                    job: &self.job,
                    params: &self.params,
                    report: &self.report,
                    told: &self.report.ordered(contacts),
                    pictures,
                    cache: self.cache.as_deref(),
                };
                page(&about, watch)
            })
        })?;
        drawn.map_err(|e: PageError| error::internal(&e.to_string()))
    }

    /// Findings in words, one a line.
    #[pyo3(signature = (contacts=false))]
    fn lines(&self, contacts: bool) -> Vec<String> {
        self.report.ordered(contacts).iter().map(|f| line(&self.job, f)).collect()
    }

    fn __repr__(&self) -> String {
        format!(
            "<palpate.AssemblyReport: {} parts, {} clashes, {} clearances, {} contacts, {} failures>",
            self.job.instances.len(),
            self.count(Kind::Clash),
            self.count(Kind::Clearance),
            self.count(Kind::Contact),
            self.report.failures.len()
        )
    }
}
