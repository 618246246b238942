//! Steps as they are drawn.

use super::{Question, Run, Scan};
use glam::{DVec3, Vec3};
use palpate::cloud::{Scratch, Surface};
use palpate_view::probing::{MOST_POINTS, ProbeStep, Probing, ScanPoints, spread};

/// What a page and a picture show of a path.
pub(crate) fn probing(
    scan: &Scan,
    run: &Run,
    question: &Question,
    up: DVec3,
    title: &str,
    command: &str,
) -> Probing {
    let moving = &question.moving;
    let steps = run
        .rows
        .iter()
        .enumerate()
        .map(|(i, r)| ProbeStep {
            step: i as u32,
            time: r.time,
            probe: r.probe,
            scan: moving.middle_at(r.time),
            touching: r.touching,
            nearest: r.nearest.map(|n| n.point),
            proxy: r.felt.map(|t| t.proxy),
            depth: r.felt.map_or(0.0, |t| t.depth),
            force: r.force,
            us: r.whole_us(),
        })
        .collect();
    let scan = points(scan, moving.middle);
    Probing { title: title.to_owned(), command: command.to_owned(), up, scan, steps }
}

/// Some points of the scan, about its middle, with normals: the file's, or of the planes around them.
fn points(scan: &Scan, middle: DVec3) -> ScanPoints {
    let chosen = spread(scan.raw.points.len(), MOST_POINTS);
    let surface = Surface::new(&scan.cloud, None, None);
    let fitted = |i: usize| {
        let fit = surface.at(scan.raw.points[i], DVec3::ZERO, &mut Scratch::default());
        fit.map_or(Vec3::ZERO, |f| f.normal.as_vec3())
    };
    let normals = match &scan.raw.normals {
        Some(all) => chosen.iter().map(|i| all[*i]).collect(),
        None => palpate::par::map(chosen.len(), |k| fitted(chosen[k])),
    };
    let colours = scan.raw.colours.as_ref().map(|all| chosen.iter().map(|i| all[*i]).collect());
    // A share of the points of a surface is farther apart by the root of that share.
    let share = scan.raw.points.len() as f64 / chosen.len().max(1) as f64;
    // Points of a scan lie closer in pairs than a grid: what holds as many as a grid's three spacings says how dense they are.
    let apart = surface.radius() / 3.0;
    ScanPoints {
        name: scan.title.clone(),
        points: chosen.iter().map(|i| (scan.raw.points[*i] - middle).as_vec3()).collect(),
        normals,
        colours: colours.unwrap_or_default(),
        spacing: apart * share.sqrt(),
        total: scan.cloud.len(),
    }
}
