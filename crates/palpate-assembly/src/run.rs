//! A whole job on this machine.

use crate::broad::candidates;
use crate::finding::{Finding, Outcome};
use crate::job::{Failure, Job};
use crate::journal::Journal;
use crate::pair::{Glance, Pair, finding, glance, pair_key};
use crate::params::{Params, ParamsError};
use crate::shapes::Shapes;
use palpate::progress::Progress;
use palpate::{Shape, par};
use std::collections::{BTreeMap, BTreeSet};
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
    params.check()?;
    par::with_threads(params.threads, || run_here(job, params, place, progress))
}

fn run_here(
    job: &Job,
    params: &Params,
    place: &Place<'_>,
    progress: &dyn Progress,
) -> Result<Report, RunError> {
    let trouble = |source| RunError::Journal {
        folder: place.journal.map(Path::to_path_buf).unwrap_or_default(),
        source,
    };
    progress.stage("find pairs", 0);
    let journal = place.journal.map(Journal::open).transpose().map_err(trouble)?;
    let pairs = candidates(job, params.clearance);
    let keys = par::map(pairs.len(), |i| pair_key(&Pair::of(job, pairs[i]), params));
    let mut all: BTreeMap<u128, Option<Outcome>> = BTreeMap::new();
    if let Some(journal) = &journal {
        all.extend(keys.iter().filter_map(|k| journal.known.get(k).map(|found| (*k, *found))));
    }
    // Pairs of equal parts at equal places have one key.
    let mut seen: BTreeSet<u128> = all.keys().copied().collect();
    let todo: Vec<usize> = (0..pairs.len()).filter(|i| seen.insert(keys[*i])).collect();
    let known = pairs.len() - todo.len();
    let keep = |key: u128, found: &Option<Outcome>| journal.as_ref().map_or(Ok(()), |j| j.add(key, found));
    let stopped = |left: usize| RunError::Cancelled { left, pairs: pairs.len() };

    // By triangles, which settles most pairs.
    progress.stage("look at pairs", todo.len() as u64);
    let looks = par::map(todo.len(), |k| {
        if progress.cancelled() {
            return None;
        }
        let look = glance(&Pair::of(job, pairs[todo[k]]), params);
        let kept = match &look {
            Glance::Settled(found) => keep(keys[todo[k]], found),
            Glance::NeedsShapes => Ok(()),
        };
        progress.advance(1);
        Some(kept.map(|()| look))
    });
    let mut deep = Vec::new();
    let mut left = 0;
    for (look, &i) in looks.into_iter().zip(&todo) {
        match look.transpose().map_err(trouble)? {
            None => left += 1,
            Some(Glance::NeedsShapes) => deep.push(i),
            Some(Glance::Settled(found)) => drop(all.insert(keys[i], found)),
        }
    }
    if left > 0 {
        return Err(stopped(left + deep.len()));
    }

    // By shapes, as many at a time as there is memory for.
    let shapes = Shapes::new(place.cache);
    let mut failures = job.failures.clone();
    let mut open: BTreeMap<usize, Result<Shape, String>> = BTreeMap::new();
    let batches = batches(job, params, &pairs, deep);
    let mut left: usize = batches.iter().map(|b| b.pairs.len()).sum();
    for batch in &batches {
        progress.stage("build shapes", batch.parts.len() as u64);
        open.retain(|part, _| batch.parts.contains(part));
        let missing: Vec<usize> = batch.parts.iter().copied().filter(|p| !open.contains_key(p)).collect();
        let built = par::map(missing.len(), |k| {
            if progress.cancelled() {
                return None;
            }
            let shape = shapes.get(&job.parts[missing[k]], params).map_err(|e| e.to_string());
            progress.advance(1);
            Some(shape)
        });
        for (part, shape) in missing.into_iter().zip(built) {
            let Some(shape) = shape else { return Err(stopped(left)) };
            if let Err(problem) = &shape {
                let failure = Failure { part: job.parts[part].name.clone(), problem: problem.clone() };
                failures.push(failure);
            }
            open.insert(part, shape);
        }
        progress.stage("measure overlaps", batch.pairs.len() as u64);
        let measured = par::map(batch.pairs.len(), |k| {
            if progress.cancelled() {
                return None;
            }
            let i = batch.pairs[k];
            let [a, b] = pairs[i].map(|n| open.get(&job.instances[n as usize].part));
            // A part without a shape is told of; its pairs are left out, and not kept as if nothing were there.
            let (Some(Ok(a)), Some(Ok(b))) = (a, b) else { return Some(Ok(None)) };
            let found = finding(&Pair::of(job, pairs[i]), [a, b], params);
            progress.advance(1);
            Some(keep(keys[i], &found).map(|()| Some(found)))
        });
        for (found, &i) in measured.into_iter().zip(&batch.pairs) {
            let Some(found) = found else { return Err(stopped(left)) };
            if let Some(found) = found.map_err(trouble)? {
                all.insert(keys[i], found);
            }
            left -= 1;
        }
    }
    let found = pairs.iter().zip(&keys).filter_map(|(pair, key)| {
        let outcome = all.get(key).copied().flatten()?;
        Some(Finding { pair: *pair, outcome })
    });
    let findings = found.collect();
    if let Some(journal) = journal {
        journal.finish(&all).map_err(trouble)?;
    }
    failures.sort_by(|x, y| x.part.cmp(&y.part));
    failures.dedup();
    Ok(Report { findings, failures, pairs: pairs.len(), known, shapes: shapes.counts() })
}

/// Pairs that are measured together, and the parts they need.
#[derive(Default)]
struct Batch {
    pairs: Vec<usize>,
    parts: BTreeSet<usize>,
}

/// Cuts pairs into batches whose shapes fit the memory; pairs beside each other share parts.
fn batches(job: &Job, params: &Params, pairs: &[[u32; 2]], mut deep: Vec<usize>) -> Vec<Batch> {
    let bytes: Vec<u64> = job.parts.iter().map(|p| Shapes::foreseen(p, params)).collect();
    let part = |i: u32| job.instances[i as usize].part;
    deep.sort_by_key(|i| (pairs[*i].map(part).iter().min().copied(), *i));
    let mut all: Vec<Batch> = Vec::new();
    let mut used = 0;
    for i in deep {
        let parts = pairs[i].map(part);
        if all.is_empty() || used > params.max_memory {
            all.push(Batch::default());
            used = 0;
        }
        if let Some(batch) = all.last_mut() {
            batch.pairs.push(i);
            used += parts.iter().filter(|p| batch.parts.insert(**p)).map(|p| bytes[*p]).sum::<u64>();
        }
    }
    all
}
