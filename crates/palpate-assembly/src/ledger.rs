//! What is known of each pair of a job, and what is left to do: for those who look at pairs elsewhere. [`crate::run`] does it all here.

use crate::broad::candidates;
use crate::finding::{Finding, Outcome};
use crate::job::{Failure, Job};
use crate::journal::Journal;
use crate::pair::{Pair, pair_key};
use crate::params::Params;
use crate::run::{Report, RunError};
use crate::shapes::Shapes;
use palpate::par;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The pairs of a job, and what was found of them. What is added goes to the journal at once.
///
/// First [`crate::glance`] at all that is [`Ledger::todo`]; then build the shapes of each of the [`Ledger::batches`] of those that
/// need them, and ask [`crate::finding`]. In any order, by any number of threads or machines: the report is the same.
#[derive(Debug)]
pub struct Ledger {
    pairs: Vec<[u32; 2]>,
    keys: Vec<u128>,
    todo: Vec<usize>,
    /// Folder of the journal.
    folder: PathBuf,
    journal: Option<Journal>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By key.
    found: BTreeMap<u128, Option<Outcome>>,
    failures: Vec<Failure>,
}

/// Pairs that are measured together, and the parts they need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// By number: see [`Ledger::pairs`].
    pub pairs: Vec<usize>,
    /// By number in the job.
    pub parts: BTreeSet<usize>,
}

impl Ledger {
    /// Lists the pairs, and takes from the journal in `folder` what runs before had found.
    ///
    /// # Errors
    /// Parameters that cannot be used, or a journal that cannot be read or written.
    pub fn open(job: &Job, params: &Params, folder: Option<&Path>) -> Result<Self, RunError> {
        params.check()?;
        let place = folder.map(Path::to_path_buf).unwrap_or_default();
        let trouble = |source| RunError::Journal { folder: place.clone(), source };
        let journal = folder.map(Journal::open).transpose().map_err(trouble)?;
        let pairs = candidates(job, params.clearance);
        let keys = par::map(pairs.len(), |i| pair_key(&Pair::of(job, pairs[i]), params));
        let mut state = State { failures: job.failures.clone(), ..State::default() };
        if let Some(journal) = &journal {
            let known = keys.iter().filter_map(|k| journal.known.get(k).map(|found| (*k, *found)));
            state.found.extend(known);
        }
        // Pairs of equal parts at equal places have one key.
        let mut seen: BTreeSet<u128> = state.found.keys().copied().collect();
        let todo = (0..pairs.len()).filter(|i| seen.insert(keys[*i])).collect();
        Ok(Self { pairs, keys, todo, folder: place, journal, state: Mutex::new(state) })
    }

    /// All pairs of instances that are near enough to look at, sorted.
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// Numbers of the pairs of which nothing was known at the start.
    pub fn todo(&self) -> &[usize] {
        &self.todo
    }

    /// How many pairs were known from an earlier run, or are as another one.
    pub fn known(&self) -> usize {
        self.pairs.len() - self.todo.len()
    }

    /// How many of [`Ledger::todo`] are not settled yet.
    pub fn left(&self) -> usize {
        let state = self.state();
        self.todo.iter().filter(|i| !state.found.contains_key(&self.keys[**i])).count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked had either added a line or not.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self, source: io::Error) -> RunError {
        RunError::Journal { folder: self.folder.clone(), source }
    }

    /// Adds what was found of a pair; none: nothing to tell. A number that is no pair's is left out.
    ///
    /// # Errors
    /// When the journal cannot be written; then nothing is added.
    pub fn settle(&self, pair: usize, found: Option<Outcome>) -> Result<(), RunError> {
        let Some(&key) = self.keys.get(pair) else { return Ok(()) };
        if let Some(journal) = &self.journal {
            journal.add(key, &found).map_err(|e| self.trouble(e))?;
        }
        self.state().found.insert(key, found);
        Ok(())
    }

    /// Notes a part that has no shape, or whatever else keeps a pair from being looked at. The pair is not kept as if nothing were
    /// there: the next run tries again.
    pub fn fail(&self, part: &str, problem: String) {
        self.state().failures.push(Failure { part: part.to_owned(), problem });
    }

    /// Cuts pairs into batches whose shapes fit `memory` [bytes], as far as one can foresee; pairs beside each other share parts.
    pub fn batches(&self, job: &Job, params: &Params, mut deep: Vec<usize>, memory: u64) -> Vec<Batch> {
        let bytes: Vec<u64> = job.parts.iter().map(|p| Shapes::foreseen(p, params)).collect();
        let part = |i: u32| job.instances[i as usize].part;
        deep.sort_by_key(|i| (self.pairs[*i].map(part).iter().min().copied(), *i));
        let mut all: Vec<Batch> = Vec::new();
        let mut used = 0;
        for i in deep {
            let parts = self.pairs[i].map(part);
            if all.is_empty() || used > memory {
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

    /// The report; the journal is left sorted, without what no pair needs any more. `shapes`: how many were built, found, and built
    /// but not kept.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn finish(self, shapes: [usize; 3]) -> Result<Report, RunError> {
        let known = self.known();
        let State { found, mut failures } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let findings = self.pairs.iter().zip(&self.keys).filter_map(|(pair, key)| {
            let outcome = found.get(key).copied().flatten()?;
            Some(Finding { pair: *pair, outcome })
        });
        let findings = findings.collect();
        if let Some(journal) = self.journal {
            let trouble = |source| RunError::Journal { folder: self.folder, source };
            journal.finish(&found).map_err(trouble)?;
        }
        failures.sort_by(|x, y| (&x.part, &x.problem).cmp(&(&y.part, &y.problem)));
        failures.dedup();
        Ok(Report { findings, failures, pairs: self.pairs.len(), known, shapes })
    }
}
