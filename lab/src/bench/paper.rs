//! The voxmap part of the 2008 paper's evaluation: its Table 1, and time against resolution for both ways to navigate.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008 [sagardia08], section 5, Table 1 and Figure 7.
//! Differs: the paper's models are not available, so generated shapes with as many triangles stand in, on grids with as
//! many voxels. The paper's Figure 7 plots old time over new time; the crossing of its two approaches is given in the text
//! only. Here the two approaches' times themselves are drawn, and where they cross.

use super::Options;
use super::peer::{Peer, Reply, Request};
use super::svg::{self, Labels, Picture, Series};
use super::table::Row;
use crate::models::{self, Part};
use anyhow::Result;
use palpate::mesh::RawMesh;
use std::path::Path;

/// Where the paper's times were taken.
pub const PAPER_HARDWARE: &str = "Intel D 3.4 GHz, 2 GB, openSuse 10.2 (2008)";

/// A row of the paper's Table 1, voxmap half. Times [s].
struct PaperRow {
    case: &'static str,
    part: Part,
    voxels: f64,
    load: f64,
    initialise: f64,
    generate: f64,
    fill: f64,
    /// Voxels from which the paper's second approach was the faster one for this model.
    crossing: f64,
}

/// The paper prints one loading time for each model; both of its rows carry it here.
const TABLE: [PaperRow; 5] = [
    PaperRow {
        case: "artificial (a)",
        part: Part::Plain7k,
        voxels: 237_717_488.0,
        load: 0.1190,
        initialise: 1.1856,
        generate: 16.562,
        fill: 2.3423,
        crossing: 1.98e8,
    },
    PaperRow {
        case: "brake (b)",
        part: Part::Detailed24k,
        voxels: 38_524_026.0,
        load: 0.3954,
        initialise: 0.1919,
        generate: 3.614,
        fill: 0.4994,
        crossing: 6.1e7,
    },
    PaperRow {
        case: "brake (c)",
        part: Part::Detailed24k,
        voxels: 302_685_600.0,
        load: 0.3954,
        initialise: 1.5112,
        generate: 15.684,
        fill: 3.7512,
        crossing: 6.1e7,
    },
    PaperRow {
        case: "VW Polo (d)",
        part: Part::Knot3m,
        voxels: 44_311_554.0,
        load: 18.972,
        initialise: 0.2290,
        generate: 69.179,
        fill: 0.6992,
        crossing: 4.66e7,
    },
    PaperRow {
        case: "VW Polo (e)",
        part: Part::Knot3m,
        voxels: 680_652_000.0,
        load: 18.972,
        initialise: 3.6188,
        generate: 442.29,
        fill: 9.9486,
        crossing: 4.66e7,
    },
];

/// Grid sizes of the time-against-resolution picture [voxels]: three a decade.
const SWEEP: [f64; 9] = [1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8];

/// Rows against the paper, and the pictures. `work` is a folder for the meshes.
pub fn run(options: &Options, work: &Path) -> Result<(Vec<Row>, Vec<Picture>)> {
    let head = [
        "case",
        "ours",
        "voxels",
        "load",
        "initialise",
        "generate",
        "fill",
        "paper: load",
        "initialise",
        "generate",
        "fill",
    ];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    let mut rows = Vec::new();
    let mut pictures = Vec::new();
    let wanted = TABLE.iter().filter(|p| !options.quick || p.part != Part::Knot3m);
    let mut drawn: Vec<Part> = Vec::new();
    for paper in wanted {
        eprintln!("paper {}", paper.case);
        let (name, mesh) = models::part(paper.part);
        let file = work.join(format!("{name}.raw"));
        models::write_raw(&mesh, &file)?;
        let reply = voxmap(options, &file, voxel_for(&mesh, paper.voxels), "auto", options.repeat);
        cells.push(picture_row(paper, &name, &reply));
        rows.extend(table_rows(options, paper, &name, &reply));
        if !drawn.contains(&paper.part) {
            drawn.push(paper.part);
            let (more, picture) = sweep(options, paper, &name, &mesh, &file);
            rows.extend(more);
            pictures.extend(picture);
        }
    }
    let title = format!("Voxmap generation, seconds; paper: {PAPER_HARDWARE}");
    pictures.push(Picture { name: "paper-2008-table1.svg".into(), svg: svg::table(&title, &cells) });
    Ok((rows, pictures))
}

/// Voxel size [m] at which the shape's box, one voxel padded, holds about `voxels` cells.
fn voxel_for(mesh: &RawMesh, voxels: f64) -> f64 {
    let extent = models::aabb(mesh).extent();
    let cells = |h: f64| (extent / h + 2.0).element_product();
    // The count falls as the voxel grows: halving the interval finds it.
    let (mut low, mut high) = (extent.max_element() * 1e-6, extent.max_element());
    for _ in 0..60 {
        let h = 0.5 * (low + high);
        if cells(h) > voxels { low = h } else { high = h }
    }
    high
}

/// A process of its own for each grid, so that peaks do not mix.
fn voxmap(
    options: &Options,
    mesh: &Path,
    voxel: f64,
    navigation: &str,
    repeat: usize,
) -> Result<Reply, String> {
    Peer::ours()?.ask(&Request {
        // `voxmap` fills and layers too; a named navigation is timed without.
        job: if navigation == "auto" { "voxmap" } else { "voxelize" }.into(),
        mesh: mesh.to_string_lossy().into_owned(),
        voxel,
        threads: options.threads,
        repeat,
        navigation: navigation.into(),
        ..Default::default()
    })
}

fn stage(reply: &Result<Reply, String>, name: &str) -> Option<f64> {
    reply.as_ref().ok().and_then(|r| r.stages.get(name).copied())
}

fn picture_row(paper: &PaperRow, name: &str, reply: &Result<Reply, String>) -> Vec<String> {
    let ours = ["load", "initialise", "generate", "fill"]
        .map(|s| stage(reply, s).map_or_else(|| "not available".into(), |v| format!("{v:.3}")));
    let theirs = [paper.load, paper.initialise, paper.generate, paper.fill].map(|v| format!("{v:.3}"));
    let first = [paper.case.into(), name.into(), format!("{:.3e}", paper.voxels)];
    first.into_iter().chain(ours).chain(theirs).collect()
}

fn table_rows(options: &Options, paper: &PaperRow, name: &str, reply: &Result<Reply, String>) -> Vec<Row> {
    let best = reply.as_ref().ok().and_then(|r| r.seconds.iter().copied().reduce(f64::min));
    let whole = paper.initialise + paper.generate + paper.fill;
    let parts = [
        ("voxmap", best, whole),
        ("voxmap load", stage(reply, "load"), paper.load),
        ("voxmap initialise", stage(reply, "initialise"), paper.initialise),
        ("voxmap generate", stage(reply, "generate"), paper.generate),
        ("voxmap fill", stage(reply, "fill"), paper.fill),
    ];
    let row = |(metric, ours, theirs): (&str, Option<f64>, f64)| {
        Row {
            case: format!("{} as {name}", paper.case),
            metric: metric.into(),
            unit: "s".into(),
            ours,
            peer: Some("paper".into()),
            theirs: Some(theirs),
            model: name.into(),
            threads: options.threads,
            peak_rss_ours: reply.as_ref().ok().map(|r| r.peak_rss_bytes),
            count_ours: reply.as_ref().ok().map(|r| r.count),
            note: Some(match reply {
                Ok(_) => format!("{:.3e} voxels; {PAPER_HARDWARE}", paper.voxels),
                Err(error) => error.clone(),
            }),
            ..Default::default()
        }
        .finish()
    };
    parts.into_iter().map(row).collect()
}

/// Times of both approaches over the sweep: one row each and the picture.
fn sweep(
    options: &Options,
    paper: &PaperRow,
    name: &str,
    mesh: &RawMesh,
    file: &Path,
) -> (Vec<Row>, Option<Picture>) {
    let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new(); 2];
    for voxels in SWEEP.iter().copied().filter(|v| !options.quick || *v <= 2e7) {
        for (line, navigation) in lines.iter_mut().zip(["first", "second"]) {
            // A stage that is not built answers at once; then there is nothing to draw.
            let Ok(reply) = voxmap(options, file, voxel_for(mesh, voxels), navigation, options.repeat) else {
                return (Vec::new(), None);
            };
            line.extend(reply.seconds.iter().copied().reduce(f64::min).map(|s| (voxels, s)));
        }
    }
    let crossing = crossing(&lines[0], &lines[1]);
    let row = Row {
        case: format!("{} as {name}", paper.case),
        metric: "navigation crossing".into(),
        unit: "voxels".into(),
        ours: crossing,
        peer: Some("paper".into()),
        theirs: Some(paper.crossing),
        model: name.into(),
        threads: options.threads,
        note: crossing.is_none().then(|| "the two approaches do not cross in the range measured".into()),
        ..Default::default()
    };
    let mut marks = vec![(paper.crossing, format!("paper: {:.2e}", paper.crossing))];
    marks.extend(crossing.map(|x| (x, format!("ours: {x:.2e}"))));
    let labels = Labels {
        title: format!("{name}: time to voxelize, first and second navigation approach"),
        x: "voxels of the grid".into(),
        y: "seconds".into(),
        marks,
    };
    let series = |i: usize, name: &str, colour, dashed| Series {
        name: name.into(),
        colour,
        dashed,
        points: lines[i].clone(),
    };
    let picture = svg::chart(
        &labels,
        &[series(0, "first approach", "#c33", true), series(1, "second approach", "#26a", false)],
    );
    // A crossing is no contest: no ratio, so `finish` is not called.
    (vec![row], Some(Picture { name: format!("paper-2008-figure7-{name}.svg"), svg: picture }))
}

/// Where the second line becomes the lower one for good, interpolated between measured sizes on logarithmic axes.
fn crossing(first: &[(f64, f64)], second: &[(f64, f64)]) -> Option<f64> {
    let gap: Vec<(f64, f64)> = first.iter().zip(second).map(|(a, b)| (a.0.ln(), (a.1 / b.1).ln())).collect();
    let last = gap.windows(2).rev().find(|w| w[0].1 <= 0.0 && w[1].1 > 0.0)?;
    // Only if it stays the lower one until the end of the range.
    gap.last().filter(|g| g.1 > 0.0)?;
    let t = -last[0].1 / (last[1].1 - last[0].1);
    Some((last[0].0 + t * (last[1].0 - last[0].0)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_of_two_power_laws_is_found_where_they_meet() {
        // t₁ = v, t₂ = 1e3·v^½ meet at v = 1e6.
        let line = |f: fn(f64) -> f64| {
            (3..10).map(|e| 10f64.powf(f64::from(e) + 0.3)).map(|v| (v, f(v))).collect::<Vec<_>>()
        };
        let found = crossing(&line(|v| v), &line(|v| 1e3 * v.sqrt())).unwrap();
        assert!((found / 1e6 - 1.0).abs() < 1e-9, "{found}");
        assert_eq!(crossing(&line(|v| v), &line(|v| 2.0 * v)), None);
    }

    #[test]
    fn a_grid_has_as_many_voxels_as_asked() {
        let (_, mesh) = models::part(Part::Plain7k);
        let h = voxel_for(&mesh, 1e7);
        let cells = (models::aabb(&mesh).extent() / h + 2.0).element_product();
        assert!((cells / 1e7 - 1.0).abs() < 1e-6, "{cells}");
    }
}
