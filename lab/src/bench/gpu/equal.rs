//! Every result of the device beside the CPU's, over at least 200 poses of four models, each with the bound it must keep.

use super::equal_bounds::{self, Bounds};
use super::paper::Way;
use super::raster::{Raster, WAYS};
use super::scene::{Model, Poses};
use super::{Lab, equal_batch, markdown, name};
use crate::bench::engines::{Found, row};
use crate::bench::svg::{self, Picture};
use crate::bench::table::Row;
use anyhow::Result;
use palpate::force::{ForceParams, Twist};
use palpate::math::Pose;
use palpate::soft::{FieldSampler, FieldSummary, MeshMotion, Sampling};
use palpate_gpu::{GpuField, GpuMesh, GpuSampler, Interpolation};

/// Models, and poses of each: 4 × 52, or 4 × 12 for quick runs.
pub(super) const MODELS: [&str; 4] = ["cow", "bunny", "horse", "nut"];
const POSES: usize = 52;
const QUICK_POSES: usize = 12;
/// [N/m³]
pub(super) const STIFFNESS: f64 = 1e8;

/// The referee's spacing beside drawing: its parts are within 2/3 of it, pixels within 2.6 of their edge [pixels].
const DRAWN: f64 = 4.5;

/// Differences of one quantity.
#[derive(Clone, Debug, Default)]
pub(super) struct Gap {
    pub(super) worst: f64,
    sum: f64,
    count: usize,
    /// Largest share of its bound that a difference was, and the bound there.
    share: f64,
    bound: f64,
    /// Largest value of the referee.
    largest: f64,
}

impl Gap {
    pub(super) fn add(&mut self, difference: f64, bound: f64, value: f64) {
        // What is no number is worse than any.
        let difference = if difference.is_nan() { f64::INFINITY } else { difference };
        self.worst = self.worst.max(difference);
        self.sum += difference;
        self.count += 1;
        self.largest = self.largest.max(value.abs());
        let share = if difference == 0.0 { 0.0 } else { difference / bound };
        if share > self.share || self.count == 1 {
            (self.share, self.bound) = (share, bound);
        }
    }

    /// The row, and whether the bound was kept.
    pub(super) fn tell(
        &self,
        found: &mut Found,
        table: &mut Vec<Vec<String>>,
        case: &str,
        what: &str,
        unit: &str,
    ) {
        if self.count == 0 {
            return;
        }
        let mean = self.sum / self.count as f64;
        let note = format!(
            "worst {:.3e} {unit}, mean {mean:.3e}, of up to {:.3e}; nearest to its bound: {:.4} of {:.3e}; {} comparisons",
            self.worst, self.largest, self.share, self.bound, self.count
        );
        let r = row(case, what, "share of bound", self.share, note);
        found.rows.push(Row { unit: "1".into(), ..r }.finish());
        if self.share > 1.0 {
            found.notes.push(format!(
                "WRONG: {case}, {what}: {:.3} times its bound of {:.3e} {unit}",
                self.share, self.bound
            ));
        }
        table.push(vec![
            case.to_owned(),
            what.to_owned(),
            format!("{:.2e} {unit}", self.worst),
            format!("{mean:.2e}"),
            format!("{:.2e}", self.largest),
            format!("{:.4}", self.share),
            self.count.to_string(),
        ]);
    }
}

/// Differences of a field against a mesh.
#[derive(Clone, Debug, Default)]
struct Gaps {
    distance: Gap,
    area: Gap,
    force: Gap,
    torque: Gap,
    pressed: usize,
}

impl Gaps {
    fn add(&mut self, ours: &FieldSummary, theirs: &FieldSummary, bounds: &Bounds) {
        let (a, b) = (&ours.force, &theirs.force);
        self.area.add((a.area - b.area).abs(), bounds.area, b.area);
        let (f, t) = (a.wrench.force - b.wrench.force, a.wrench.torque - b.wrench.torque);
        self.force.add(f.length(), bounds.force, b.wrench.force.length());
        self.torque.add(t.length(), bounds.torque, b.wrench.torque.length());
        self.pressed += usize::from(b.used > 0);
    }

    fn tell(&self, found: &mut Found, table: &mut Vec<Vec<String>>, case: &str) {
        self.distance.tell(found, table, case, "distance", "m");
        self.area.tell(found, table, case, "area", "m²");
        self.force.tell(found, table, case, "force", "N");
        self.torque.tell(found, table, case, "torque", "N m");
    }
}

/// The referee's answers about a pose.
pub(super) struct Referee {
    pub(super) pose: Pose,
    summary: FieldSummary,
    /// For [`Interpolation::Shader`], `Texture` and `Directions`.
    bounds: [Bounds; 3],
}

const ALL: [Interpolation; 3] = [Interpolation::Shader, Interpolation::Texture, Interpolation::Directions];

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    let head =
        ["model and path", "quantity", "worst", "mean", "largest value", "share of bound", "comparisons"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    let size = lab.options.size.unwrap_or(if lab.quick { 128 } else { 1024 });
    for model in MODELS {
        eprintln!("{model}");
        let model = Model::load(lab, model, lab.voxels())?;
        let spacing = model.spacing(size);
        let poses = chosen(lab, &model)?;
        // The nearest point is drawn with pixels twice as large, each within 1.3 of them of what it stands for.
        let pixel = model.pixel(size);
        let of = |spacing: f64| referees(&model, &poses, spacing);
        meshes(lab, &model, &of(spacing)?, spacing, size, &mut found, &mut table)?;
        if let Err(error) = drawn(lab, &model, &of(DRAWN * pixel)?, size, &mut found, &mut table) {
            found.notes.push(format!("equal, {}: {error:#}", model.name));
        }
        equal_batch::run(lab, &model, &poses, &mut found, &mut table)?;
    }
    found.notes.push(format!(
        "equal: {} poses of {} models from touching to coincident and apart; spacing and pixels of size {size}; bounds follow from sampling, \
         rounding and filter weights, see lab/src/bench/gpu/equal_bounds.rs",
        MODELS.len() * poses_each(lab),
        MODELS.len()
    ));
    let title = format!("Results of {} beside the CPU's, size {size}", lab.gpu.name());
    found.pictures.push(Picture { name: "gpu-equal.svg".into(), svg: svg::table(&title, &table) });
    found.images.push(("gpu-equal.md".into(), markdown(&title, &table).into_bytes()));
    Ok(found)
}

fn poses_each(lab: &Lab<'_>) -> usize {
    if lab.quick { QUICK_POSES } else { POSES }
}

/// Poses of both sets, evenly: three quarters of collision, one of proximity.
fn chosen(lab: &Lab<'_>, model: &Model) -> Result<Vec<Pose>> {
    let all = Poses::of(lab, model, lab.angles().min(3))?;
    let pick =
        |set: &[(f64, Pose)], n: usize| -> Vec<Pose> { (0..n).map(|i| set[i * set.len() / n].1).collect() };
    let n = poses_each(lab);
    let mut out = pick(&all.collision, n * 3 / 4);
    out.extend(pick(&all.proximity, n - out.len()));
    Ok(out)
}

/// What the CPU says about each pose at this spacing, and how far another sampling may be from it.
fn referees(model: &Model, poses: &[Pose], spacing: f64) -> Result<Vec<Referee>> {
    let mut sampler = FieldSampler::new();
    let params = ForceParams::new(STIFFNESS);
    let mut out = Vec::new();
    for pose in poses {
        let readings = ALL.map(|i| equal_bounds::reading(&model.field, i, pose, model.extent.length()));
        let sampling = Sampling::Area { spacing };
        let margin =
            readings.iter().map(|e| equal_bounds::margin(&model.field, spacing, *e)).fold(0.0, f64::max);
        let wide = sampler.find(&model.field, &model.soft, pose, sampling, margin)?;
        let bounds = [0, 1, 2]
            .map(|i| equal_bounds::sampled(model, wide, pose, spacing, ALL[i], readings[i], STIFFNESS));
        let seen = sampler.find(&model.field, &model.soft, pose, sampling, 0.0)?;
        out.push(Referee {
            pose: *pose,
            summary: seen.summary(&model.soft, &params, &MeshMotion::default()),
            bounds,
        });
    }
    Ok(out)
}

/// The compute path, all interpolations.
fn meshes(
    lab: &Lab<'_>,
    model: &Model,
    referees: &[Referee],
    spacing: f64,
    size: u32,
    found: &mut Found,
    table: &mut Vec<Vec<String>>,
) -> Result<()> {
    let params = ForceParams::new(STIFFNESS);
    let mut sampler = GpuSampler::new(&lab.gpu)?;
    let mut mesh = GpuMesh::new(&lab.gpu, &model.soft, spacing)?;
    for (which, interpolation) in ALL.into_iter().enumerate() {
        let field = match GpuField::new(&lab.gpu, &model.field, interpolation) {
            Ok(field) => field,
            Err(error) => {
                found.notes.push(format!("equal, {}: {error}", name(interpolation)));
                continue;
            }
        };
        let mut gaps = Gaps::default();
        for referee in referees {
            let ours = sampler.collide(&field, &mut mesh, &referee.pose, 0.0, &params, &Twist::ZERO)?;
            gaps.add(&ours, &referee.summary, &referee.bounds[which]);
            let near = sampler.nearest(&field, &mut mesh, &referee.pose)?;
            nearest(&mut gaps, &near, referee, which);
        }
        let case = format!("{} {size}, compute, {}", model.name, name(interpolation));
        gaps.tell(found, table, &case);
        let enough = gaps.pressed * 2 > referees.len();
        if !enough {
            found.notes.push(format!("WRONG: {case}: only {} poses touch", gaps.pressed));
        }
    }
    Ok(())
}

fn nearest(gaps: &mut Gaps, ours: &FieldSummary, referee: &Referee, which: usize) {
    let Some(b) = referee.summary.deepest else { return };
    let apart = match (ours.deepest, ours.farther_than) {
        // All that it claims.
        (_, Some(x)) => (x - b.distance).max(0.0),
        (Some(a), None) => (a.distance - b.distance).abs(),
        (None, None) => f64::INFINITY,
    };
    gaps.distance.add(apart, referee.bounds[which].distance, b.distance);
}

/// The raster path, all ways. The referee samples as far apart as pixels can.
fn drawn(
    lab: &Lab<'_>,
    model: &Model,
    referees: &[Referee],
    size: u32,
    found: &mut Found,
    table: &mut Vec<Vec<String>>,
) -> Result<()> {
    let params = ForceParams::new(STIFFNESS);
    let mut raster = Raster::new(&lab.gpu, size)?;
    let mut mesh = GpuMesh::new(&lab.gpu, &model.soft, model.spacing(size))?;
    for (which, interpolation) in ALL.into_iter().enumerate() {
        let Ok(field) = GpuField::new(&lab.gpu, &model.field, interpolation) else { continue };
        for (word, way) in WAYS {
            let mut gaps = Gaps::default();
            for referee in referees {
                let ours = raster.collide(&field, &mut mesh, &referee.pose, &params, way)?;
                let bounds =
                    referee.bounds[which].drawn(&referee.summary, model.pixel(size), model.extent.length());
                gaps.add(&ours, &referee.summary, &bounds);
                if way != Way::EarlyZ {
                    let near = raster.nearest(&field, &mut mesh, &referee.pose, way)?;
                    nearest(&mut gaps, &near, referee, which);
                }
            }
            gaps.tell(
                found,
                table,
                &format!("{} {size}, raster {word}, {}", model.name, name(interpolation)),
            );
        }
    }
    Ok(())
}
