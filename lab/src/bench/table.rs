//! One report in three shapes: aligned text, JSON, CSV; and where it is kept.

use super::error::Errors;
use super::machine::{Machine, Origin};
use super::svg::Picture;
use anyhow::{Context, Result};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A whole run. The first five keys are fixed for readers of `--json`; more may be added.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the benchmark.
    pub bench: String,
    /// Machine's name, as in the run's folder.
    pub machine: String,
    /// Revision measured.
    pub commit: String,
    /// Threads ours and the peers were given.
    pub threads: usize,
    /// One per comparison.
    pub rows: Vec<Row>,
    /// The machine in detail.
    pub machine_details: Machine,
    /// Date, command, flags.
    pub origin: Origin,
    /// What a reader must know: shapes used in place of others, what is unfair.
    pub notes: Vec<String>,
    /// Pictures to keep beside the tables.
    #[serde(skip)]
    pub pictures: Vec<Picture>,
    /// Other files to keep there: name and bytes.
    #[serde(skip)]
    pub images: Vec<(String, Vec<u8>)>,
}

/// One comparison. The first eight keys are fixed; more may be added.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// Shape and grid.
    pub case: String,
    /// What was timed: `build`, `voxelize`, `sample`, …
    pub metric: String,
    /// `s`, `m` (less is better) or `1/s` (more is better).
    pub unit: String,
    /// Best of our runs; null where ours did not run.
    pub ours: Option<f64>,
    /// Whom we are compared with; null for rows of our own.
    pub peer: Option<String>,
    /// Best of the peer's runs; null where it did not run.
    pub theirs: Option<f64>,
    /// How many times better ours is.
    pub ratio: Option<f64>,
    /// What was computed, in one line.
    pub result: String,
    /// Shape.
    pub model: String,
    /// Cells on the largest axis, padding included; 0 where there is no grid.
    pub grid: u32,
    /// Threads given.
    pub threads: usize,
    /// Our errors.
    pub error_ours: Option<Errors>,
    /// The peer's errors on the same points.
    pub error_theirs: Option<Errors>,
    /// Our peak memory [bytes].
    pub peak_rss_ours: Option<u64>,
    /// The peer's peak memory [bytes].
    pub peak_rss_theirs: Option<u64>,
    /// Voxels or points we computed.
    pub count_ours: Option<u64>,
    /// Voxels or points the peer computed.
    pub count_theirs: Option<u64>,
    /// All our runs [s].
    pub seconds_ours: Vec<f64>,
    /// All the peer's runs [s].
    pub seconds_theirs: Vec<f64>,
    /// Our times of single queries.
    pub times_ours: Option<Times>,
    /// The peer's times of single queries.
    pub times_theirs: Option<Times>,
    /// Why a number is missing, or what it must be read with.
    pub note: Option<String>,
}

/// Times of many queries of one kind [s].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// How many there were.
    pub queries: usize,
    /// The middle one; of an even number the lower.
    pub median: f64,
    /// Their mean.
    pub mean: f64,
    /// The smallest time that 99.9 % of them do not exceed.
    pub p999: f64,
    /// What lengths were multiplied by for them.
    pub scale: f64,
}

impl Times {
    /// Of times in microseconds; none for none.
    pub fn of_micros(micros: &[f64], scale: f64) -> Option<Self> {
        let mut sorted: Vec<f64> = micros.iter().map(|us| us * 1e-6).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        let last = n.checked_sub(1)?;
        Some(Self {
            queries: n,
            median: sorted[last / 2],
            mean: sorted.iter().sum::<f64>() / n as f64,
            p999: sorted[(n * 999).div_ceil(1000).max(1) - 1],
            scale,
        })
    }
}

impl Row {
    /// Fills `ratio` and `result` from the other fields.
    #[must_use]
    pub fn finish(mut self) -> Self {
        self.ratio = match (self.ours, self.theirs) {
            (Some(ours), Some(theirs)) if ours > 0.0 && theirs > 0.0 => {
                Some(if matches!(self.unit.as_str(), "s" | "m") { theirs / ours } else { ours / theirs })
            }
            _ => None,
        };
        let side = |who: &str, count: Option<u64>, error: &Option<Errors>| {
            let mut parts: Vec<String> = count.map(|c| c.to_string()).into_iter().collect();
            parts.extend(error.as_ref().map(|e| format!("error {} voxel of {} points", three(e), e.points)));
            parts.extend(error.as_ref().and_then(|e| e.wrong_signs).map(|n| format!("{n} wrong signs")));
            (!parts.is_empty()).then(|| format!("{who} {}", parts.join(", ")))
        };
        let sides = [
            side("ours", self.count_ours, &self.error_ours),
            side("theirs", self.count_theirs, &self.error_theirs),
            self.note.clone(),
        ];
        self.result = sides.into_iter().flatten().collect::<Vec<_>>().join("; ");
        self
    }
}

/// The report as one JSON object.
pub fn json(report: &Report) -> Result<String> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}

/// The report as an aligned table with a head that says what was run.
pub fn text(report: &Report) -> String {
    let head = [
        "model",
        "grid",
        "thr",
        "metric",
        "ours",
        "peer",
        "theirs",
        "ratio",
        "error ours",
        "error theirs",
        "points",
        "signs",
        "peak MiB",
        "note",
    ];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(report.rows.iter().map(text_row));
    let width = |c: usize| cells.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = format!(
        "{} on {} ({} cores, load {:.1}), commit {}, {}, {}\n",
        report.bench,
        report.machine_details.cpu,
        report.machine_details.cores,
        report.machine_details.load,
        report.commit,
        report.origin.flags,
        report.origin.date
    );
    for row in &cells {
        let padded: Vec<String> = row.iter().zip(&widths).map(|(c, &w)| format!("{c:<w$}")).collect();
        out += padded.join("  ").trim_end();
        out.push('\n');
    }
    out += "error: mean/p99/max in voxels on `points` points; signs: wrong ones, ours/theirs; peak: ours/theirs\n";
    for note in &report.notes {
        out += &format!("note: {note}\n");
    }
    out
}

fn text_row(row: &Row) -> Vec<String> {
    let dash = || "-".to_owned();
    let pair = |a: Option<String>, b: Option<String>| match (a, b) {
        (None, None) => dash(),
        (a, b) => format!("{}/{}", a.unwrap_or_else(dash), b.unwrap_or_else(dash)),
    };
    let signs = |e: &Option<Errors>| e.as_ref().and_then(|e| e.wrong_signs).map(|n| n.to_string());
    let mib = |bytes: Option<u64>| bytes.map(|b| format!("{:.0}", b as f64 / f64::from(1 << 20)));
    let points = row.error_ours.as_ref().or(row.error_theirs.as_ref()).map(|e| e.points.to_string());
    vec![
        row.model.clone(),
        if row.grid == 0 { dash() } else { row.grid.to_string() },
        row.threads.to_string(),
        row.metric.clone(),
        row.ours.map_or_else(dash, |v| quantity(v, &row.unit)),
        row.peer.clone().unwrap_or_else(dash),
        row.theirs.map_or_else(dash, |v| quantity(v, &row.unit)),
        row.ratio.map_or_else(dash, |r| format!("{r:.1}")),
        row.error_ours.as_ref().map_or_else(dash, three),
        row.error_theirs.as_ref().map_or_else(dash, three),
        points.unwrap_or_else(dash),
        pair(signs(&row.error_ours), signs(&row.error_theirs)),
        pair(mib(row.peak_rss_ours), mib(row.peak_rss_theirs)),
        row.note.clone().unwrap_or_default(),
    ]
}

/// `mean/p99/max`; whole digits only where an error is of the order of the shape.
fn three(e: &Errors) -> String {
    let short = |v: f64| if v < 1e-3 && v > 0.0 { format!("{v:.0e}") } else { format!("{v:.3}") };
    format!("{}/{}/{}", short(e.mean), short(e.p99), short(e.max))
}

fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "s" if value < 1e-5 => format!("{:.2} µs", value * 1e6),
        "s" if value < 1e-3 => format!("{:.1} µs", value * 1e6),
        "s" if value < 1.0 => format!("{:.1} ms", value * 1e3),
        "s" => format!("{value:.2} s"),
        "m" => format!("{:.3} mm", value * 1e3),
        "m/s" => format!("{value:.2} m/s"),
        "N" => format!("{value:.4} N"),
        "1/s" if value < 1e3 => format!("{value:.1} /s"),
        "1/s" if value < 1e6 => format!("{:.0} k/s", value / 1e3),
        "1/s" => format!("{:.1} M/s", value / 1e6),
        "J" => format!("{value:.1e} J"),
        "degrees" => format!("{value:.2}°"),
        "%" => format!("{value:.2} %"),
        "1" => format!("{value:.3}"),
        _ if value >= 1e6 => format!("{:.1} M{unit}", value / 1e6),
        _ => format!("{:.0} k{unit}", value / 1e3),
    }
}

fn csv(report: &Report) -> String {
    let mut out = String::from(
        "case,model,grid,threads,metric,unit,ours,peer,theirs,ratio,error_ours_mean,error_ours_p99,error_ours_max,\
         error_theirs_mean,error_theirs_p99,error_theirs_max,error_points,wrong_signs_ours,wrong_signs_theirs,\
         peak_rss_ours,peak_rss_theirs,count_ours,count_theirs,note\n",
    );
    let number = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
    let whole = |v: Option<u64>| v.map_or_else(String::new, |v| v.to_string());
    let errors = |e: &Option<Errors>| {
        e.as_ref().map_or(vec![String::new(); 3], |e| [e.mean, e.p99, e.max].map(|v| v.to_string()).to_vec())
    };
    let signs = |e: &Option<Errors>| whole(e.as_ref().and_then(|e| e.wrong_signs).map(|n| n as u64));
    for row in &report.rows {
        let mut cells =
            vec![row.case.clone(), row.model.clone(), row.grid.to_string(), row.threads.to_string()];
        cells.extend([
            row.metric.clone(),
            row.unit.clone(),
            number(row.ours),
            row.peer.clone().unwrap_or_default(),
        ]);
        cells.extend([number(row.theirs), number(row.ratio)]);
        cells.extend(errors(&row.error_ours));
        cells.extend(errors(&row.error_theirs));
        cells.push(whole(row.error_ours.as_ref().or(row.error_theirs.as_ref()).map(|e| e.points as u64)));
        cells.extend([signs(&row.error_ours), signs(&row.error_theirs)]);
        cells.extend([whole(row.peak_rss_ours), whole(row.peak_rss_theirs)]);
        cells.extend([whole(row.count_ours), whole(row.count_theirs)]);
        cells.push(row.note.clone().unwrap_or_default().replace(',', ";").replace('"', "'"));
        out += &cells.iter().map(|c| quoted(c)).collect::<Vec<_>>().join(",");
        out.push('\n');
    }
    out
}

/// A cell that a comma, a quote or a line's end would break, in quotes.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Keeps the report as NAME.csv, NAME.json and its pictures; the folder they are in.
pub fn save(report: &Report, folder: Option<&Path>) -> Result<PathBuf> {
    let standard = || {
        let run = format!("{}-{}", report.origin.date, report.machine);
        Path::new(env!("CARGO_MANIFEST_DIR")).join("runs").join(run)
    };
    let folder = folder.map_or_else(standard, Path::to_path_buf);
    let write = || -> Result<()> {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{}.csv", report.bench)), csv(report))?;
        std::fs::write(folder.join(format!("{}.json", report.bench)), json(report)?)?;
        for Picture { name, svg } in &report.pictures {
            std::fs::write(folder.join(name), svg)?;
        }
        for (name, bytes) in &report.images {
            std::fs::write(folder.join(name), bytes)?;
        }
        Ok(())
    };
    write().with_context(|| format!("cannot save the run in {}", folder.display()))?;
    Ok(folder)
}

/// Writes to standard output; a closed pipe (`| head`) is no error.
pub fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_above_one_means_we_win_for_times_and_for_rates() {
        let row =
            |unit: &str, ours, theirs| Row { unit: unit.into(), ours, theirs, ..Default::default() }.finish();
        assert_eq!(row("s", Some(0.5), Some(4.0)).ratio, Some(8.0));
        assert_eq!(row("1/s", Some(8.0), Some(4.0)).ratio, Some(2.0));
        assert_eq!(row("s", Some(0.5), None).ratio, None);
        assert_eq!(row("s", Some(0.0), Some(1.0)).ratio, None);
    }

    #[test]
    fn a_comma_in_a_name_does_not_make_a_cell() {
        assert_eq!(quoted("bunny, bullet"), "\"bunny, bullet\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }

    #[test]
    fn times_of_one_to_two_thousand() {
        let micros: Vec<f64> = (1..=2000).rev().map(f64::from).collect();
        let times = Times::of_micros(&micros, 1.0).unwrap();
        assert_eq!((times.queries, times.median, times.p999), (2000, 1000.0 * 1e-6, 1998.0 * 1e-6));
        assert!((times.mean - 1000.5e-6).abs() < 1e-12);
        assert_eq!(Times::of_micros(&[], 1.0), None);
        assert_eq!(Times::of_micros(&[3.0], 1.0).map(|t| t.p999), Some(3.0 * 1e-6));
    }
}
