//! `bench soft`: pairs of triangles of two waving meshes, by cuts and by boxes, beside parry and Coal; and the figures of the
//! 2006 paper.
//!
//! Parts, for `--only`: sequence 1500, sequence 13000, sequence fandisk, threshold, removal, growth, field.

mod field;
mod figures;
mod growth;
mod measure;
mod peers;
mod scene;
mod sequence;

use super::engines::{Found, report};
use super::table::Report;
use super::{Options, Work};
use crate::models;
use anyhow::{Context, Result};
use palpate::soft::{Method, SoftParams};
use scene::Scene;
use std::path::PathBuf;

/// What the parts share.
struct Lab<'a> {
    options: &'a Options,
    models: Option<PathBuf>,
    work: Work,
    /// Whom to ask besides.
    peers: &'a [&'a str],
}

impl Lab<'_> {
    /// Steps of a motion.
    fn steps(&self) -> usize {
        if self.options.quick { 20 } else { 200 }
    }

    fn repeat(&self) -> usize {
        self.options.repeat.max(1)
    }
}

/// The parameters of a method.
fn by(method: Method) -> SoftParams {
    SoftParams { method, ..SoftParams::default() }
}

type Part = fn(&Lab<'_>) -> Result<Found>;

/// Every part, in the order of the report.
const PARTS: [(&str, Part); 7] = [
    ("sequence 1500", |lab| sequence::run(lab, &Scene::knot(1500, lab.steps())?)),
    ("sequence 13000", |lab| sequence::run(lab, &Scene::knot(13_000, lab.steps())?)),
    ("sequence fandisk", fandisk),
    ("threshold", figures::threshold),
    ("removal", figures::removal),
    ("growth", growth::run),
    ("field", field::run),
];

fn fandisk(lab: &Lab<'_>) -> Result<Found> {
    let folder = lab.models.as_ref().context("needs fandisk.obj: --models FOLDER or PALPATE_MODELS")?;
    let mesh = palpate::Mesh::load(folder.join("fandisk.obj"), 1.0)?;
    let raw =
        palpate::mesh::RawMesh { positions: mesh.positions().to_vec(), triangles: mesh.triangles().to_vec() };
    let name = format!("fandisk {}", raw.triangles.len());
    sequence::run(lab, &Scene::new(name, raw, lab.steps())?)
}

/// Runs the parts that `--only` names, or all.
pub fn run(options: &Options) -> Result<Report> {
    run_beside(options, &peers::NAMES)
}

fn run_beside(options: &Options, peers: &[&str]) -> Result<Report> {
    let lab = Lab { options, models: models::folder(options.models.as_deref()), work: Work::new()?, peers };
    let mut all = Found::default();
    all.notes.push(
        "times of ours are those of set_positions on both meshes and of the search, least of each step's \
         repetitions; means are over a motion from 1.3 extents apart to 0"
            .into(),
    );
    for (name, part) in PARTS {
        if options.only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
            continue;
        }
        eprintln!("== {name}");
        match part(&lab) {
            Ok(found) => all.extend(found),
            Err(error) => all.notes.push(format!("{name} did not run: {error:#}")),
        }
    }
    Ok(report("soft", options, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_needs_no_peers_and_all_methods_find_the_same_pairs() {
        for only in ["sequence 1500", "removal"] {
            let options = Options {
                name: Some("soft".into()),
                json: false,
                models: None,
                quick: true,
                only: Some(only.into()),
                threads: 1,
                repeat: 1,
                setup: false,
                list: false,
                save: None,
                size: None,
                angles: None,
                device: None,
            };
            let report = run_beside(&options, &[]).expect("a run");
            assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
            let pairs: Vec<_> = report.rows.iter().filter(|r| r.metric == "pairs").collect();
            assert!(!pairs.is_empty() && !report.pictures.is_empty());
            for row in pairs {
                assert!(row.count_ours.is_some_and(|n| n > 1000), "{row:?}");
                assert_eq!(row.count_ours, row.count_theirs, "{row:?}");
            }
        }
    }
}
