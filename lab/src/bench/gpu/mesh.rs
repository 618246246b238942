//! Table 2 of the paper redrawn: a model's field against its own mesh, by compute and by drawing, and how far each is from the floor.

use super::paper::{self, PEER, Way};
use super::raster::{Raster, WAYS};
use super::scene::{Model, Poses, TABLE};
use super::{Lab, markdown, name, quantile};
use crate::bench::engines::{Found, row};
use crate::bench::svg::{self, Picture};
use crate::bench::table::{Row, Times};
use anyhow::Result;
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::soft::FieldSummary;
use palpate_gpu::{Gpu, GpuField, GpuMesh, GpuSampler, Interpolation};
use std::time::Instant;

/// Memory that a device reads in a second, where it is known [bytes/s].
const BANDWIDTH: [(&str, f64); 1] = [("H200", 4.3e12)];
/// Of a part that is looked at: its corners' numbers, its place and three vertices [bytes].
const ITEM: f64 = 16.0 + 4.0 + 36.0;
/// Parts of a cluster that are left out together, and the ball that says so [bytes].
const CLUSTER: f64 = 64.0;
const BALL: f64 = 16.0;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let mut table = vec![
        [
            "model",
            "query",
            "size",
            "median [µs]",
            "p99 [µs]",
            "round trips",
            "p99, round trips",
            "samples",
            "floor [µs]",
            "over floor",
            "paper [µs]",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for model in TABLE {
        // In software one small model is enough to show that it works.
        if lab.quick && !["cow", "knot"].contains(&model) {
            continue;
        }
        eprintln!("{model}");
        let model = Model::load(lab, model, lab.voxels())?;
        let poses = Poses::of(lab, &model, lab.angles())?;
        for size in lab.sizes() {
            for interpolation in [Interpolation::Shader, Interpolation::Texture] {
                let mut lines =
                    Lines { lab, model: &model, poses: &poses, size, interpolation, table: &mut table };
                if let Err(error) = lines.measure(&mut found) {
                    found.notes.push(format!("{} {size} {}: {error:#}", model.name, name(interpolation)));
                }
            }
        }
    }
    found.notes.push(format!(
        "mesh: s = 1.0 to 0.0 for collision and 1.1 to 2.0 for proximity, {} angles about y and as many about z; compute samples at 1.5 pixels of the \
         framebuffer; a floor is a round trip and the larger of bytes counted over the memory's speed (where it is known) and samples over the rate \
         that the device reached without culling",
        lab.angles()
    ));
    let head = format!(
        "Field against mesh on {}{}",
        lab.gpu.name(),
        if lab.quick { " (quick, small models)" } else { "" }
    );
    found.pictures.push(Picture { name: "gpu-mesh.svg".into(), svg: svg::table(&head, &table) });
    found.images.push(("gpu-mesh.md".into(), markdown(&head, &table).into_bytes()));
    Ok(found)
}

/// Rows of one model, size and interpolation.
struct Lines<'a, 'b> {
    lab: &'a Lab<'b>,
    model: &'a Model,
    poses: &'a Poses,
    size: u32,
    interpolation: Interpolation,
    table: &'a mut Vec<Vec<String>>,
}

/// Times of a set of questions, the round trips between them, and what was counted.
#[derive(Default)]
struct Measured {
    seconds: Vec<f64>,
    empty: Vec<f64>,
    samples: usize,
    culled: usize,
}

impl Measured {
    /// Asks `f` about all poses, with an empty round trip after each; the first two of each are not counted.
    fn of(
        poses: &[(f64, Pose)],
        sampler: &mut GpuSampler,
        (field, mesh): (&GpuField, &mut GpuMesh),
        mut f: impl FnMut(&mut GpuSampler, &mut GpuMesh, &Pose) -> Result<FieldSummary>,
    ) -> Result<Self> {
        let mut out = Self::default();
        for (_, pose) in poses.iter().take(2) {
            f(sampler, mesh, pose)?;
            sampler.round_trip(field, mesh)?;
        }
        for (_, pose) in poses {
            let start = Instant::now();
            let found = f(sampler, mesh, pose)?;
            out.seconds.push(start.elapsed().as_secs_f64());
            out.samples += found.samples;
            out.culled += found.culled;
            let start = Instant::now();
            sampler.round_trip(field, mesh)?;
            out.empty.push(start.elapsed().as_secs_f64());
        }
        Ok(out)
    }
}

impl Lines<'_, '_> {
    fn measure(&mut self, found: &mut Found) -> Result<()> {
        let (gpu, model) = (&self.lab.gpu, self.model);
        let field = GpuField::new(gpu, &model.field, self.interpolation)?;
        let mut mesh = GpuMesh::new(gpu, &model.soft, model.spacing(self.size))?;
        let mut sampler = GpuSampler::new(gpu)?;
        let params = ForceParams::new(1e6);
        let rate = sample_rate(&mut sampler, &field, &mut mesh, model)?;
        let hit = Measured::of(&self.poses.collision, &mut sampler, (&field, &mut mesh), |s, mesh, pose| {
            Ok(s.collide(&field, mesh, pose, 0.0, &params, &Twist::ZERO)?)
        })?;
        self.tell(
            found,
            "collision compute",
            &hit,
            &mesh,
            rate,
            paper::time(model.name, true, Way::Best, self.size),
        );
        let near =
            Measured::of(&self.poses.proximity, &mut sampler, (&field, &mut mesh), |s, mesh, pose| {
                Ok(s.nearest(&field, mesh, pose)?)
            })?;
        self.tell(
            found,
            "proximity compute",
            &near,
            &mesh,
            rate,
            paper::time(model.name, false, Way::Best, self.size),
        );
        let mut raster = Raster::new(gpu, self.size)?;
        for (way_name, way) in WAYS {
            let hit =
                Measured::of(&self.poses.collision, &mut sampler, (&field, &mut mesh), |_, mesh, pose| {
                    raster.collide(&field, mesh, pose, &params, way)
                })?;
            let what = format!("collision raster {way_name}");
            self.tell(found, &what, &hit, &mesh, f64::NAN, paper::time(model.name, true, way, self.size));
            if way == Way::EarlyZ {
                continue;
            }
            let near =
                Measured::of(&self.poses.proximity, &mut sampler, (&field, &mut mesh), |_, mesh, pose| {
                    raster.nearest(&field, mesh, pose, way)
                })?;
            let what = format!("proximity raster {way_name}");
            self.tell(found, &what, &near, &mesh, f64::NAN, paper::time(model.name, false, way, self.size));
        }
        Ok(())
    }

    fn tell(
        &mut self,
        found: &mut Found,
        what: &str,
        m: &Measured,
        mesh: &GpuMesh,
        rate: f64,
        paper: Option<f64>,
    ) {
        let (median, p99) = (quantile(&m.seconds, 0.5), quantile(&m.seconds, 0.99));
        let (empty, empty99) = (quantile(&m.empty, 0.5), quantile(&m.empty, 0.99));
        let n = m.seconds.len().max(1);
        let samples = m.samples as f64 / n as f64;
        let parts = mesh.parts() as f64;
        // Every ball, and the parts that were not left out.
        let seen = (parts - m.culled as f64 / n as f64).max(0.0);
        let bytes = BALL * parts / CLUSTER + ITEM * seen;
        let memory = bandwidth(&self.lab.gpu).map_or(0.0, |b| bytes / b);
        let sampling = if rate > 0.0 { samples / rate } else { 0.0 };
        let floor = empty + memory.max(sampling);
        let told = rate > 0.0;
        let note = format!(
            "p99 {:.1} µs; round trip {:.1} µs, p99 {:.1}: {:.2} round trips, p99 {:.2}; {samples:.0} samples, {:.0} left out in the mean; {:.2} MB{}",
            1e6 * p99,
            1e6 * empty,
            1e6 * empty99,
            median / empty,
            p99 / empty,
            m.culled as f64 / n as f64,
            1e-6 * bytes,
            if told {
                format!(
                    "; {:.2e} samples/s; floor {:.1} µs, {:.2} times it",
                    rate,
                    1e6 * floor,
                    median / floor
                )
            } else {
                String::new()
            }
        );
        let case = format!("{} {}", self.model.name, self.size);
        let metric = format!("{what}, {}", name(self.interpolation));
        let micros: Vec<f64> = m.seconds.iter().map(|s| 1e6 * s).collect();
        let row = row(&case, &metric, "s", median, note);
        found.rows.push(
            Row {
                peer: paper.map(|_| PEER.into()),
                theirs: paper,
                count_ours: Some(samples as u64),
                times_ours: Times::of_micros(&micros, 1.0),
                ..row
            }
            .finish(),
        );
        let us = |s: f64| format!("{:.1}", 1e6 * s);
        self.table.push(vec![
            format!("{} ({} triangles)", self.model.name, mesh.triangles()),
            metric,
            self.size.to_string(),
            us(median),
            us(p99),
            format!("{:.2}", median / empty),
            format!("{:.2}", p99 / empty),
            format!("{samples:.0}"),
            if told { us(floor) } else { "-".into() },
            if told { format!("{:.2}", median / floor) } else { "-".into() },
            paper.map_or_else(|| "-".into(), |p| format!("{:.0}", 1e6 * p)),
        ]);
    }
}

/// Samples a second when nothing is left out: the mesh in its own field, everything within the margin [1/s].
fn sample_rate(sampler: &mut GpuSampler, field: &GpuField, mesh: &mut GpuMesh, model: &Model) -> Result<f64> {
    let params = ForceParams::new(1e6);
    let margin = 4.0 * model.extent.length();
    let (mut times, mut trips, mut samples) = (Vec::new(), Vec::new(), 0);
    for _ in 0..9 {
        let start = Instant::now();
        let found = sampler.collide(field, mesh, &Pose::IDENTITY, margin, &params, &Twist::ZERO)?;
        times.push(start.elapsed().as_secs_f64());
        samples = found.samples;
        let start = Instant::now();
        sampler.round_trip(field, mesh)?;
        trips.push(start.elapsed().as_secs_f64());
    }
    let (whole, empty) = (quantile(&times, 0.5), quantile(&trips, 0.5));
    // Too few samples to tell where they take no time.
    Ok(if whole > 1.1 * empty { samples as f64 / (whole - empty) } else { f64::NAN })
}

fn bandwidth(gpu: &Gpu) -> Option<f64> {
    BANDWIDTH.iter().find(|(name, _)| gpu.name().contains(name)).map(|(_, b)| *b)
}
