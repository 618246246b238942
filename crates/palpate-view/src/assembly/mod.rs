//! The page of an assembly: how many of what, a table to sort, and a picture of each; and a finding in words.

mod picture;

use crate::html::{Page, Picture};
use crate::{Image, units};
use glam::DVec3;
use palpate::progress::Progress;
use palpate::{Shape, par};
use palpate_assembly::{Finding, Job, Kind, Params, Report, Shapes};
use std::collections::BTreeMap;
use std::path::Path;
use thiserror::Error;

/// Pictures drawn at once: so many are in memory.
const AT_ONCE: usize = 16;
/// Shapes that are open for pictures.
const MAX_OPEN: usize = 64;

/// What a page is made of.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Heading.
    pub title: &'a str,
    /// What was looked at.
    pub job: &'a Job,
    /// How.
    pub params: &'a Params,
    /// All that was found.
    pub report: &'a Report,
    /// To be told, the worst first: see [`Report::ordered`].
    pub told: &'a [Finding],
    /// How many of these are pictured.
    pub pictures: usize,
    /// Folder of built shapes; without one those that are pictured are built again.
    pub cache: Option<&'a Path>,
}

/// Why there is no page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PageError {
    /// A picture.
    #[error("a picture cannot be encoded: {0}")]
    Picture(#[from] ::png::EncodingError),
    /// Wished so.
    #[error("stopped while the page was drawn; findings are kept")]
    Cancelled,
}

/// The page, self-contained; the same bytes for the same findings.
///
/// # Errors
/// When a picture cannot be encoded, or the wish to stop.
pub fn page(about: &About<'_>, progress: &dyn Progress) -> Result<String, PageError> {
    let About { job, params, report, told, .. } = about;
    let count = |kind: Kind| report.findings.iter().filter(|f| f.outcome.kind == kind).count();
    let number = |n: usize| units::count(n as u64);
    let mut page = Page::new(about.title);
    page.lead(&format!(
        "{} clashes and {} clearances below {} among {} parts. {} pairs touch by design: they overlap, or are apart, by at most {}.",
        number(count(Kind::Clash)),
        number(count(Kind::Clearance)),
        units::length(params.clearance),
        number(job.instances.len()),
        number(count(Kind::Contact)),
        units::length(params.tolerance()),
    ));
    let problems: Vec<String> =
        report.failures.iter().map(|f| format!("{}: {}", f.part, f.problem)).collect();
    page.warnings(&problems, "Every part could be read.");
    progress.stage("draw overview", 0);
    let whole = picture::overview(job, told, [1040, 720]);
    let caption = "All parts: red ones clash, orange ones are too near another.";
    page.wide_pictures(&[Picture { image: &whole, alt: "the assembly", caption }])?;
    page.section("Findings");
    let columns = ["", "kind", "first part", "second part", "distance", "way out", "volume", "time", "place"];
    let rows: Vec<Vec<(String, f64)>> = told.iter().enumerate().map(|(i, f)| row(job, i, f)).collect();
    page.sortable_table("Negative distances are depths. Click on a heading to sort.", &columns, &rows);
    page.section("Pictures");
    let shown = &told[..told.len().min(about.pictures)];
    if shown.len() < told.len() {
        page.paragraph(&format!("The worst {} of {}.", number(shown.len()), number(told.len())));
    }
    draw(&mut page, about, shown, progress)?;
    page.footer("Made by palpate assembly.");
    Ok(page.html())
}

/// Adds a picture of each finding.
fn draw(
    page: &mut Page,
    about: &About<'_>,
    shown: &[Finding],
    progress: &dyn Progress,
) -> Result<(), PageError> {
    let job = about.job;
    let shapes = Shapes::new(about.cache);
    let mut open: BTreeMap<usize, Shape> = BTreeMap::new();
    progress.stage("draw findings", shown.len() as u64);
    for (batch, some) in shown.chunks(AT_ONCE).enumerate() {
        if progress.cancelled() {
            return Err(PageError::Cancelled);
        }
        if open.len() > MAX_OPEN {
            open.clear();
        }
        let part = |i: u32| job.instances[i as usize].part;
        for i in some.iter().filter(|f| f.outcome.region.is_some()).flat_map(|f| f.pair.map(part)) {
            if !open.contains_key(&i)
                && let Ok(shape) = shapes.get(&job.parts[i], about.params)
            {
                open.insert(i, shape);
            }
        }
        let images: Vec<Image> = par::map(some.len(), |k| {
            let pair = some[k].pair.map(|i| open.get(&part(i)));
            let shapes = if let [Some(a), Some(b)] = pair { Some([a, b]) } else { None };
            let image = picture::finding(job, &some[k], shapes);
            progress.advance(1);
            image
        });
        let first = batch * AT_ONCE + 1;
        let words: Vec<String> =
            some.iter().enumerate().map(|(k, f)| format!("{}. {}", first + k, line(job, f))).collect();
        let pictures: Vec<Picture<'_>> = images
            .iter()
            .zip(&words)
            .map(|(image, text)| Picture { image, alt: text, caption: text })
            .collect();
        page.pictures(&pictures)?;
    }
    Ok(())
}

/// A finding on one line.
pub fn line(job: &Job, f: &Finding) -> String {
    let [a, b] = f.pair.map(|i| &job.instances[i as usize].name);
    let o = &f.outcome;
    let mut text = match o.kind {
        Kind::Clash => format!("clash      {a} and {b}: {} deep", units::length(o.depth())),
        Kind::Clearance => format!("clearance  {a} and {b}: {} apart", units::length(o.distance)),
        Kind::Contact => format!("contact    {a} and {b}"),
    };
    if let Some(region) = &o.region {
        text += &format!(", {}", units::volume(region.volume));
        text += &format!(
            ", {} apart by the shortest way found",
            units::length(DVec3::from_array(o.way).length())
        );
    }
    if let Some(time) = o.time {
        text += &format!(", at {time:.3} of the motion");
    }
    text
}

/// Cells of a finding: their words, and what they are sorted by.
fn row(job: &Job, i: usize, f: &Finding) -> Vec<(String, f64)> {
    let o = &f.outcome;
    let length = |x: f64| (units::length(x), x);
    let none = || (String::new(), f64::NEG_INFINITY);
    let way = DVec3::from_array(o.way).length();
    let p = o.place() * 1e3;
    let word = |text: &str| (text.to_owned(), f64::NAN);
    vec![
        ((i + 1).to_string(), i as f64),
        word(o.kind.name()),
        word(&job.instances[f.pair[0] as usize].name),
        word(&job.instances[f.pair[1] as usize].name),
        length(o.distance),
        if way > 0.0 { length(way) } else { none() },
        o.region.map_or_else(none, |r| {
            (format!("{} ± {}", units::volume(r.volume), units::volume(r.volume_error)), r.volume)
        }),
        o.time.map_or_else(none, |t| (format!("{t:.3}"), t)),
        (format!("{:.1} {:.1} {:.1} mm", p.x, p.y, p.z), p.x),
    ]
}
