//! How the force changes while a probe goes on by 10 µm: the paper's nearest-point force, in both modes, and the proxy's.

use super::Lab;
use super::scene::{BOX, CRISSCROSS, SIDE, crisscross, waves};
use crate::bench::engines::{Found, line, row};
use crate::bench::svg::{self, Labels, Picture};
use anyhow::Result;
use glam::DVec3;
use palpate::cloud::{Cloud, CloudParams, Mode, PointForceParams, Proxy, ProxyParams, Scene, TouchParams};
use palpate::math::Pose;
use std::sync::Arc;

/// Length of a step [m].
const STEP: f64 = 1e-5;

/// Force of a metre [N/m].
const STIFFNESS: f64 = 1000.0;

/// Parts of the path that the picture has.
const BINS: usize = 400;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let separation = if lab.options.quick { 0.01 } else { BOX };
    let side = (SIDE / separation).round() as usize + 1;
    let points = waves(side, separation);
    // From above: that side is the outside.
    let mut path = crisscross();
    path.truncate(if lab.options.quick { 10 } else { CRISSCROSS });
    path.insert(0, path[0].with_z(3.0));
    let path = steps(&path);
    let scene = |mode, leaf| -> Result<Scene> {
        let cloud = Cloud::build(&points, &CloudParams { leaf, ..Default::default() })?;
        let boxes = TouchParams { mode, box_edge: Some(separation), six_point_distance: Some(separation) };
        let mut scene = Scene::new(boxes);
        scene.add(Arc::new(cloud), Pose::IDENTITY);
        Ok(scene)
    };
    let (paper, exact) = (scene(Mode::Paper, 10)?, scene(Mode::Exact, CloudParams::default().leaf)?);
    let params = PointForceParams::new(STIFFNESS);
    let felt = ProxyParams::new(STIFFNESS);
    let mut proxy = Proxy::new();
    let mut last = [DVec3::ZERO; 3];
    let mut most = [0f64; 3];
    let mut bins = vec![[0f64; 3]; BINS];
    let (mut touching, mut strongest, mut lagging) = (0usize, 0f64, 0usize);
    for (i, p) in path.iter().enumerate() {
        let touch = proxy.step(&exact, *p, DVec3::ZERO, &felt);
        touching += usize::from(touch.touching);
        lagging += usize::from(touch.lagging);
        strongest = strongest.max(touch.force.length());
        let now = [
            paper.point_force(*p, DVec3::ZERO, &params).force,
            exact.point_force(*p, DVec3::ZERO, &params).force,
            touch.force,
        ];
        if i > 0 {
            for way in 0..3 {
                let change = now[way].distance(last[way]);
                most[way] = most[way].max(change);
                let bin = &mut bins[i * BINS / path.len()][way];
                *bin = bin.max(change);
            }
        }
        last = now;
    }
    let names = ["nearest point, paper mode", "nearest point, exact mode", "proxy"];
    let case = format!("{} steps of 10 µm", path.len());
    let mut found = Found::default();
    for (way, name) in names.iter().enumerate() {
        let mut note = format!(
            "stiffness × step is {:.3} N: {:.1} times that",
            STIFFNESS * STEP,
            most[way] / (STIFFNESS * STEP)
        );
        if way == 2 {
            note += &format!(
                "; touching in {touching} steps, {lagging} lagging, strongest force {strongest:.1} N"
            );
        }
        found.rows.push(row(&case, &format!("largest change, {name}"), "N", most[way], note).finish());
    }
    let drawn: Vec<_> = (0..3)
        .map(|way| {
            let at = |(b, bin): (usize, &[f64; 3])| {
                (STEP * (b * path.len()) as f64 / BINS as f64, bin[way].max(1e-6))
            };
            line(names[way], [1, 2, 5][way], false, bins.iter().enumerate().map(at).collect())
        })
        .collect();
    let labels = Labels {
        title: format!(
            "Largest change of force in steps of 10 µm, {STIFFNESS} N/m, path through z = cos x + cos y"
        ),
        x: "way along the path [m]".into(),
        y: "change of force [N]".into(),
        marks: Vec::new(),
    };
    found.pictures.push(Picture { name: "cloud-continuity.svg".into(), svg: svg::semilog(&labels, &drawn) });
    Ok(found)
}

/// The path in steps of 10 µm.
fn steps(path: &[DVec3]) -> Vec<DVec3> {
    let mut out = Vec::new();
    for ends in path.windows(2) {
        let n = (ends[0].distance(ends[1]) / STEP).ceil().max(1.0) as usize;
        out.extend((0..n).map(|i| ends[0].lerp(ends[1], i as f64 / n as f64)));
    }
    out
}
