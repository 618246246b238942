//! Assemblies: every pair of parts that clash, or come nearer to each other than they should.
//!
//! A [`Job`] is plain data: [`Part`]s, each with a hash of its content, and [`Instance`]s of them at their places, which may move.
//! [`candidates`] lists the pairs that can be near; [`glance`] and [`finding`] look at one of them and depend on nothing else, so that pairs may
//! be looked at in any order, by any number of threads or machines, with the same bits. A [`Ledger`] knows what is left to do, and keeps what
//! is found in a journal as it is found, so that a run that was killed goes on where it was. [`run`] does all of it on this machine.
//!
//! ```
//! use palpate_assembly::{Kind, Params, Place, run, sample};
//! use palpate::progress::Silent;
//!
//! let sample = sample::assembly(24, 1); // 24 parts, with clashes at known places
//! let report = run(&sample.job, &Params::new(sample::CLEARANCE), &Place::default(), &Silent)?;
//! let clashes = report.findings.iter().filter(|f| f.outcome.kind == Kind::Clash).count();
//! let planted = sample.planted.iter().filter(|p| p.kind == Kind::Clash).count();
//! assert_eq!(clashes, planted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Units are SI, frames right-handed; a finding's points are in the assembly's frame, w.

mod broad;
mod clash;
mod course;
mod depth;
mod finding;
mod job;
mod journal;
mod ledger;
mod manifest;
mod near;
mod pair;
mod params;
mod read;
mod run;
pub mod sample;
pub mod shapes;
mod table;
mod volume;
mod write;

pub use broad::candidates;
pub use finding::{Finding, Kind, Outcome, Region};
pub use job::{Builder, Failure, Instance, Job, Part};
pub use ledger::{Batch, Ledger};
pub use near::gap;
pub use pair::{Glance, Pair, finding, glance, pair_key};
pub use params::{Params, ParamsError};
pub use read::{ReadJobError, read};
pub use run::{Place, Report, RunError, run};
pub use shapes::{Shapes, ShapesError};
pub use table::{csv, json};
