//! A rigid body's field against a waving mesh: time of a query on one thread and on two, and forces beside an integral.

use super::Lab;
use super::scene::{EXTENT, Scene};
use crate::bench::engines::{Found, line, row};
use crate::bench::svg::{self, Labels, Picture};
use crate::bench::table::Row;
use anyhow::{Context, Result};
use glam::DVec3;
use palpate::field::{Field, FieldParams, analytic::Analytic};
use palpate::force::ForceParams;
use palpate::math::Pose;
use palpate::mesh::{Mesh, RawMesh, RepairParams, samples};
use palpate::par;
use palpate::soft::{FieldSampler, MeshMotion, Sampling, SoftMesh};
use std::time::Instant;

/// Voxels on the largest side of the bunny.
const VOXELS: f64 = 128.0;
/// Queries of a motion.
const STEPS: usize = 40;
/// The pressed ball: radius and depth [m], and stiffness [N/m³].
const BALL: [f64; 2] = [0.1, 0.02];
const STIFFNESS: f64 = 1e6;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = pressed()?;
    let mut bunny = waving(lab)?;
    found.rows.append(&mut bunny.rows);
    found.pictures.append(&mut bunny.pictures);
    found.notes.append(&mut bunny.notes);
    Ok(found)
}

/// How a query samples, and on how many threads.
struct Way {
    name: &'static str,
    sampling: Sampling,
    threads: usize,
}

/// The bunny's field against a waving bunny, from apart to deep in it.
fn waving(lab: &Lab<'_>) -> Result<Found> {
    let folder = lab.models.as_ref().context("needs bunny.obj: --models FOLDER or PALPATE_MODELS")?;
    let mesh = Mesh::load(folder.join("bunny.obj"), 1.0)?;
    let raw = RawMesh { positions: mesh.positions().to_vec(), triangles: mesh.triangles().to_vec() };
    let scene = Scene::new("bunny", raw, if lab.options.quick { 8 } else { STEPS })?;
    let rest = Mesh::new(scene.rest.clone(), &RepairParams::default())?;
    let voxel = EXTENT / VOXELS;
    let field = Field::build(&rest, voxel, &FieldParams::default())?;
    let area = Sampling::Area { spacing: voxel };
    let ways = [
        Way { name: "by area, one thread", sampling: area, threads: 1 },
        Way { name: "by area, two threads", sampling: area, threads: 2 },
        Way { name: "vertices, one thread", sampling: Sampling::Vertices, threads: 1 },
        Way { name: "vertices, two threads", sampling: Sampling::Vertices, threads: 2 },
    ];
    let mut soft = SoftMesh::new(scene.at(0)[1].clone(), scene.rest.triangles.clone())?;
    let mut samplers: Vec<FieldSampler> = ways.iter().map(|_| FieldSampler::new()).collect();
    let mut lines = vec![Vec::new(); ways.len()];
    let (mut deepest, mut contacts, mut samples) = (f64::INFINITY, vec![0; ways.len()], vec![0; ways.len()]);
    for step in 0..scene.steps {
        soft.set_positions(&scene.at(step)[1])?;
        for (w, way) in ways.iter().enumerate() {
            let sampler = &mut samplers[w];
            let best = par::with_threads(way.threads, || {
                let mut best = f64::INFINITY;
                for _ in 0..lab.repeat().max(5) {
                    let start = Instant::now();
                    sampler.find(&field, &soft, &Pose::IDENTITY, way.sampling, 0.0)?;
                    best = best.min(start.elapsed().as_secs_f64());
                }
                anyhow::Ok(best)
            })?;
            lines[w].push((scene.offset(step), 1e3 * best));
            let seen = sampler.found();
            contacts[w] += seen.contacts.list.len();
            samples[w] += seen.samples;
            deepest = seen.deepest.map_or(deepest, |d| deepest.min(d.distance));
        }
    }
    let mut found = Found::default();
    for (w, way) in ways.iter().enumerate() {
        let mean = lines[w].iter().map(|p| 1e-3 * p.1).sum::<f64>() / scene.steps as f64;
        let worst = lines[w].iter().map(|p| p.1).fold(0.0, f64::max);
        let note = format!(
            "{} triangles, voxel and spacing 1/{VOXELS} of the extent; {} steps from 1.3 extents apart to 0, slowest {worst:.2} ms; \
             a step asks {} times and finds {} contacts; deepest {:.3} extents",
            scene.rest.triangles.len(),
            scene.steps,
            samples[w] / scene.steps,
            contacts[w] / scene.steps,
            deepest / EXTENT
        );
        let threads = way.threads;
        let row = row("bunny field, waving bunny", way.name, "s", mean, note);
        found.rows.push(Row { threads, count_ours: Some(contacts[w] as u64), ..row }.finish());
    }
    if contacts[0] != contacts[1] || contacts[2] != contacts[3] {
        found.notes.push("WRONG: threads found other contacts".into());
    }
    let drawn: Vec<_> =
        lines.into_iter().zip(&ways).enumerate().map(|(i, (p, w))| line(w.name, i, i % 2 == 1, p)).collect();
    let labels = Labels {
        title: "Bunny's field against a waving bunny of 69,451 triangles".into(),
        x: "centres apart [extents]".into(),
        y: "time of a query [ms]".into(),
        marks: Vec::new(),
    };
    found.pictures.push(Picture { name: "soft-field.svg".into(), svg: svg::plot(&labels, &drawn) });
    Ok(found)
}

/// A ball pressed into a half-space: the force beside π R d² times the stiffness, as samples get finer.
fn pressed() -> Result<Found> {
    let [radius, depth] = BALL;
    let exact = STIFFNESS * std::f64::consts::PI * radius * depth * depth;
    let floor = Analytic::half_space(DVec3::Z, 0.0)?;
    // Finer than the samples: what is left is what sampling does.
    let raw = samples::sphere(radius, 7);
    let ball = SoftMesh::new(raw.positions, raw.triangles)?;
    let coarse = samples::sphere(radius, 2);
    let coarse = SoftMesh::new(coarse.positions, coarse.triangles)?;
    let pose = Pose::from_translation(DVec3::Z * (radius - depth));
    let params = ForceParams::new(STIFFNESS);
    let mut found = Found::default();
    let mut sampler = FieldSampler::new();
    let mut points: [Vec<(f64, f64)>; 2] = Default::default();
    for halving in 0..7 {
        let spacing = radius / f64::from(1 << halving);
        for (i, mesh) in [&ball, &coarse].into_iter().enumerate() {
            let seen = sampler.find(&floor, mesh, &pose, Sampling::Area { spacing }, 0.0)?;
            let force = seen.force(mesh, &params, &MeshMotion::default(), None, None).wrench.force;
            points[i].push((spacing / radius, (force.z / exact - 1.0).abs().max(1e-9)));
            let note =
                format!("{} contacts; {:.4} N, integral {exact:.4} N", seen.contacts.list.len(), force.z);
            let of = ["ball of 327,680 triangles", "ball of 320 triangles"][i];
            let metric = format!("spacing 1/{} of the radius", 1 << halving);
            found.rows.push(row(of, &metric, "1", (force.z / exact - 1.0).abs(), note).finish());
        }
    }
    let labels = Labels {
        title: "A ball pressed into a half-space: error of the force".into(),
        x: "spacing [radii]".into(),
        y: "relative error [1]".into(),
        marks: Vec::new(),
    };
    let [fine, rough] = points;
    let lines = [line("327,680 triangles", 0, false, fine), line("320 triangles", 1, true, rough)];
    found.pictures.push(Picture { name: "soft-field-force.svg".into(), svg: svg::chart(&labels, &lines) });
    Ok(found)
}
