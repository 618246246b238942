//! The batch beside the CPU: the same points in the same field.

use super::equal::{Gap, STIFFNESS};
use super::equal_bounds;
use super::scene::Model;
use super::{Lab, name};
use crate::bench::engines::Found;
use anyhow::Result;
use palpate::force::{ForceParams, summary_batch};
use palpate::math::Pose;
use palpate::query::{Query, QueryParams, Roles};
use palpate::shape::{Shape, ShapeParams};
use palpate_gpu::{BatchParams, GpuBatch, GpuField, GpuShell, Interpolation, Job, Lists};

pub(super) fn run(
    lab: &Lab<'_>,
    model: &Model,
    poses: &[Pose],
    found: &mut Found,
    table: &mut Vec<Vec<String>>,
) -> Result<()> {
    let voxel = model.field.lattice().voxel;
    let shape = Shape::build(model.mesh.clone(), voxel, &ShapeParams::default())?;
    let force = ForceParams::new(STIFFNESS);
    let params = QueryParams { roles: Roles::PointsOfB, ..QueryParams::default() };
    let referee = summary_batch(&shape, &shape, poses, &params, &force);
    let shell = GpuShell::new(&lab.gpu, shape.tree())?;
    let packing = equal_bounds::packing(shape.field());
    let mut query = Query::new();
    for interpolation in [Interpolation::Shader, Interpolation::Texture] {
        let Ok(field) = GpuField::new(&lab.gpu, shape.field(), interpolation) else { continue };
        let mut batch = GpuBatch::new(&lab.gpu)?;
        let job = [Job { field: &field, shell: &shell, poses, motions: &[] }];
        let ask = BatchParams { force, lists: Lists::Full, ..BatchParams::default() };
        let ours = batch.contacts(&job, &ask)?;
        let (mut number, mut deepest, mut near) = (Gap::default(), Gap::default(), Gap::default());
        let (mut area, mut pushed, mut torque) = (Gap::default(), Gap::default(), Gap::default());
        let mut lists = 0;
        for (i, pose) in poses.iter().enumerate() {
            let e =
                packing + equal_bounds::reading(shape.field(), interpolation, pose, model.extent.length());
            let wide = QueryParams { margin: 3.0 * e, ..params.clone() };
            let bounds = equal_bounds::same_points(
                shape.field(),
                query.contacts(&shape, &shape, pose, &wide),
                pose,
                e,
                STIFFNESS,
            );
            let (a, b) = (&ours[0][i], &referee[i]);
            let apart = a.contacts.abs_diff(b.contacts) as f64;
            // Half a contact: numbers that may not differ are equal.
            number.add(apart, bounds.contacts as f64 + 0.5, b.contacts as f64);
            // One that only one of them has must be within the bound of having none.
            match (a.deepest, b.deepest) {
                (Some(x), Some(y)) => {
                    deepest.add(
                        f64::from((x.distance - y.distance).abs()),
                        bounds.distance,
                        y.distance.into(),
                    );
                }
                (Some(x), None) | (None, Some(x)) => {
                    deepest.add(f64::from(x.distance.abs()), bounds.distance, x.distance.into());
                }
                (None, None) => {}
            }
            area.add((a.force.area - b.force.area).abs(), bounds.area, b.force.area);
            let (w, v) = (&a.force.wrench, &b.force.wrench);
            pushed.add((w.force - v.force).length(), bounds.force, v.force.length());
            torque.add((w.torque - v.torque).length(), bounds.torque, v.torque.length());
            lists += usize::from(batch.read_list(0, i)?.len() == a.contacts);
        }
        for (i, told) in batch.nearest(&job)?[0].iter().enumerate() {
            let e = equal_bounds::reading(shape.field(), interpolation, &poses[i], model.extent.length());
            let tree = shape.tree();
            let values =
                (0..tree.len()).map(|p| shape.field().sample(poses[i].point(tree.position(p))).distance);
            let least = values.fold(f64::INFINITY, f64::min);
            let got = told.deepest.map_or(f64::INFINITY, |c| c.distance.into());
            near.add((got - least).abs(), e, least);
        }
        let case = format!("{}, batch of {} points, {}", model.name, shape.tree().len(), name(interpolation));
        number.tell(found, table, &case, "contacts", "");
        deepest.tell(found, table, &case, "deepest", "m");
        near.tell(found, table, &case, "nearest", "m");
        area.tell(found, table, &case, "area", "m²");
        pushed.tell(found, table, &case, "force", "N");
        torque.tell(found, table, &case, "torque", "N m");
        if lists != poses.len() {
            found.notes.push(format!(
                "WRONG: {case}: {} lists are not of the number that was told",
                poses.len() - lists
            ));
        }
    }
    Ok(())
}
