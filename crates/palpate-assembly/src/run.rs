//! A whole job on this machine.

use crate::finding::Finding;
use crate::job::{Failure, Job};
use crate::ledger::Ledger;
use crate::pair::{Glance, Pair, finding, glance};
use crate::params::{Params, ParamsError};
use crate::shapes::Shapes;
use palpate::progress::Progress;
use palpate::{Shape, par};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where a run keeps what it finds and builds. Nothing: in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// Folder of the journal; it must be there.
    pub journal: Option<&'a Path>,
    /// Folder of built shapes; it must be there.
    pub cache: Option<&'a Path>,
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All findings, contact by design included, sorted by pair.
    pub findings: Vec<Finding>,
    /// Parts that could not be used.
    pub failures: Vec<Failure>,
    /// Pairs near enough to look at.
    pub pairs: usize,
    /// Of these, known from an earlier run.
    pub known: usize,
    /// Shapes that were built, that were found built, and that the disk could not keep.
    pub shapes: [usize; 3],
}

impl Report {
    /// Findings to tell of, the worst first: clashes by depth, then the smallest clearances, then contact by design if it is wanted.
    pub fn ordered(&self, contacts: bool) -> Vec<Finding> {
        let wanted = |f: &&Finding| contacts || f.outcome.kind.is_violation();
        let mut all: Vec<Finding> = self.findings.iter().filter(wanted).copied().collect();
        all.sort_by(|x, y| {
            let (a, b) = (&x.outcome, &y.outcome);
            a.kind.cmp(&b.kind).then(a.distance.total_cmp(&b.distance)).then(x.pair.cmp(&y.pair))
        });
        all
    }
}

/// Why a run ended early. What was found until then is in the journal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The parameters.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The journal.
    #[error("cannot write the journal of findings in {}; what it holds is whole: make room and run again", folder.display())]
    Journal {
        /// Its folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The caller wished so.
    #[error(
        "stopped with {left} of {pairs} pairs left; with an output folder the next run goes on from here"
    )]
    Cancelled {
        /// Pairs not looked at.
        left: usize,
        /// All pairs.
        pairs: usize,
    },
}

/// Finds everything in a job. The same bits for any number of threads, and for a run in one piece and one in several.
///
/// # Errors
/// Parameters that cannot be used, a journal that cannot be written, or the wish to stop.
pub fn run(
    job: &Job,
    params: &Params,
    place: &Place<'_>,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    par::with_threads(params.threads, || run_here(job, params, place, progress))
}

fn run_here(
    job: &Job,
    params: &Params,
    place: &Place<'_>,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    progress.stage("find pairs", 0);
    let ledger = Ledger::open(job, params, place.journal)?;
    let pairs = ledger.pairs();
    let stopped = || RunError::Cancelled { left: ledger.left(), pairs: pairs.len() };

    // By triangles, which settles most pairs.
    let todo = ledger.todo();
    progress.stage("look at pairs", todo.len() as u64);
    let looks = par::map(todo.len(), |k| {
        if progress.cancelled() {
            return None;
        }
        let deep = match glance(&Pair::of(job, pairs[todo[k]]), params) {
            Glance::Settled(found) => ledger.settle(todo[k], found).map(|()| false),
            Glance::NeedsShapes => Ok(true),
        };
        progress.advance(1);
        Some(deep)
    });
    let mut deep = Vec::new();
    for (look, &i) in looks.into_iter().zip(todo) {
        if look.ok_or_else(stopped)?? {
            deep.push(i);
        }
    }

    // By shapes, as many at a time as there is memory for.
    let shapes = Shapes::new(place.cache);
    let mut open: BTreeMap<usize, Option<Shape>> = BTreeMap::new();
    for batch in &ledger.batches(job, params, deep, params.max_memory) {
        progress.stage("build shapes", batch.parts.len() as u64);
        open.retain(|part, _| batch.parts.contains(part));
        let missing: Vec<usize> = batch.parts.iter().copied().filter(|p| !open.contains_key(p)).collect();
        let built = par::map(missing.len(), |k| {
            if progress.cancelled() {
                return None;
            }
            let part = &job.parts[missing[k]];
            let shape = shapes.get(part, params).map_err(|e| ledger.fail(&part.name, e.to_string()));
            progress.advance(1);
            Some(shape.ok())
        });
        for (part, shape) in missing.into_iter().zip(built) {
            open.insert(part, shape.ok_or_else(stopped)?);
        }
        progress.stage("measure overlaps", batch.pairs.len() as u64);
        let measured = par::map(batch.pairs.len(), |k| {
            if progress.cancelled() {
                return None;
            }
            let i = batch.pairs[k];
            let [a, b] = pairs[i].map(|n| open.get(&job.instances[n as usize].part).and_then(Option::as_ref));
            // A part without a shape is told of; its pairs are left out, and not kept as if nothing were there.
            let (Some(a), Some(b)) = (a, b) else { return Some(Ok(())) };
            let found = finding(&Pair::of(job, pairs[i]), [a, b], params);
            progress.advance(1);
            Some(ledger.settle(i, found))
        });
        for settled in measured {
            settled.ok_or_else(stopped)??;
        }
    }
    ledger.finish(shapes.counts())
}
