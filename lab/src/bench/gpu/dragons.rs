//! Fifteen dragons on a floor that waves (morvan08, section 5.4): contacts on the GPU, the rest in our own world.

use super::Lab;
use crate::bench::engines::{Found, row};
use crate::bench::table::Row;
use crate::dragons::{self, Options};
use anyhow::Result;
use palpate_view::player::{PageParams, page};

/// Mean frame of the paper [s].
const PAPER: f64 = 0.070;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let model = lab.models.as_ref().map(|m| m.join("dragon.ply")).filter(|m| m.is_file() && !lab.quick);
    let mut options =
        Options { command: "palpate bench gpu --only dragons".to_owned(), ..Options::default() };
    if lab.quick {
        options = Options { bodies: 3, seconds: 0.2, cells: 40.0, floor: 40, ..options };
    }
    let outcome = dragons::run(&lab.gpu, model.as_deref(), &options)?;
    let mut found = Found::default();
    let [mean, median, p99] = outcome.times();
    let case = if model.is_some() { "15 dragons on a waving floor" } else { "bumpy balls on a waving floor" };
    for (metric, value) in [("frame, mean", mean), ("frame, median", median), ("frame, p99", p99)] {
        let mut row = row(case, metric, "s", value, "");
        if metric == "frame, mean" {
            let all: Vec<String> = outcome.rows().into_iter().map(|(a, b)| format!("{a} {b}")).collect();
            row.note = Some(all.join("; "));
            if model.is_some() {
                row = Row { peer: Some("paper, GeForce 8800".to_owned()), theirs: Some(PAPER), ..row };
            }
        }
        found.rows.push(row.finish());
    }
    let html = page(&outcome.recording, &PageParams { rows: outcome.rows(), ..PageParams::default() })?;
    found.images.push(("gpu-dragons.html".to_owned(), html.into_bytes()));
    Ok(found)
}
