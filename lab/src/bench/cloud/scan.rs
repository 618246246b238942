//! A scan pressed against a part: contacts and force, step by step.

use super::{Lab, micros, nothing};
use crate::bench::engines::{Found, row};
use crate::bench::table::{Row, Times};
use anyhow::{Context, Result};
use glam::{DQuat, DVec3};
use palpate::cloud::{Cloud, CloudParams, RawCloud, SurfelParams, Surfels};
use palpate::force::{self, ForceParams};
use palpate::math::Pose;
use palpate::mesh::{RepairParams, samples};
use palpate::query::QueryParams;
use palpate::tree::TreeParams;
use palpate::{Mesh, Query, Shape};
use std::time::Instant;

/// Stiffness of the contact [N/m³].
const STIFFNESS: f64 = 1e8;

pub(super) fn run(lab: &Lab<'_>) -> Result<Found> {
    let mut found = Found::default();
    // Ground of half a million points, 0.35 m wide, with bumps of 2 cm.
    let side = if lab.options.quick { 120 } else { 708 };
    let at = |k: usize| {
        let (x, y) = ((k % side) as f64 / side as f64 - 0.5, (k / side) as f64 / side as f64 - 0.5);
        DVec3::new(0.35 * x, 0.35 * y, 0.01 * ((20.0 * x).cos() + (20.0 * y).cos()))
    };
    let ground: Vec<DVec3> = (0..side * side).map(at).collect();
    let raw = samples::by_name("gear").context("no sample gear")?;
    let mesh = Mesh::new(raw, &RepairParams::default())?;
    let gear = Shape::build(mesh, 5e-4, &Default::default())?;
    let reach = gear.aabb().extent();
    // The part lies flat on a bump and slides over it, 3 mm deep.
    let pose = |t: f64| {
        let turn = DQuat::from_rotation_z(t) * DQuat::from_rotation_x(0.1 * (7.0 * t).sin());
        let deep = 0.02 + 0.5 * reach.min_element() - 0.003 + 0.002 * (11.0 * t).sin();
        Pose::new(turn, DVec3::new(0.02 * (3.0 * t).sin(), 0.02 * (2.0 * t).cos(), deep)).inverse()
    };
    let scene = Pressed { name: "ground against a gear".into(), points: &ground, part: &gear };
    scene.run(lab, &mut found, &pose)?;
    if let Some(folder) = lab.models.as_ref().filter(|_| !lab.options.quick) {
        let scan = RawCloud::load(folder.join("dragon.ply"), 1.0)?;
        let mesh = Mesh::load(folder.join("bunny.obj"), 1.0)?;
        let bunny = Shape::build(mesh, 1e-3, &Default::default())?;
        let middle = bunny.aabb().centre();
        // The dragon's scan goes through the bunny, turning.
        let pose = |t: f64| {
            let turn = DQuat::from_rotation_y(2.0 * t);
            let here = DVec3::new(0.0, 0.126, 0.0);
            Pose::new(turn, middle + DVec3::new(0.06 + 0.02 * (5.0 * t).sin(), 0.0, 0.0) - turn * here)
        };
        let scene = Pressed { name: "dragon against the bunny".into(), points: &scan.points, part: &bunny };
        scene.run(lab, &mut found, &pose)?;
    }
    Ok(found)
}

struct Pressed<'a> {
    name: String,
    points: &'a [DVec3],
    part: &'a Shape,
}

impl Pressed<'_> {
    /// `pose` says where the scan is as the part sees it, from 0 to 1.
    fn run(&self, lab: &Lab<'_>, found: &mut Found, pose: &dyn Fn(f64) -> Pose) -> Result<()> {
        let start = Instant::now();
        let cloud = Cloud::build(self.points, &CloudParams::default())?;
        let octree = start.elapsed().as_secs_f64();
        let surfels = Surfels::build(&cloud, None, &SurfelParams::default())?;
        let oriented = start.elapsed().as_secs_f64() - octree;
        let tree = surfels.tree(&TreeParams::default());
        let built = start.elapsed().as_secs_f64();

        let steps = if lab.options.quick { 20 } else { 1000 };
        let (params, law) = (QueryParams::default(), ForceParams::new(STIFFNESS));
        let nothing = nothing();
        let mut query = Query::new();
        let (mut times, mut contacts, mut wrong, mut strongest) = (Vec::new(), 0u64, 0usize, 0f64);
        for i in 0..steps {
            let a_from_b = pose(i as f64 / steps as f64);
            let mut push = None;
            times.push(micros(nothing, || {
                let all = query.contacts_of_points(self.part, &tree, &a_from_b, &params);
                push = Some((all.list.len(), force::penalty(all, &law, &a_from_b, None, None).wrench));
            }));
            let Some((n, wrench)) = push else { continue };
            contacts += n as u64;
            strongest = strongest.max(wrench.force.length());
            if i % 100 == 0 {
                wrong +=
                    usize::from(query.plain_of_points(self.part, &tree, &a_from_b, &params).list.len() != n);
            }
        }
        let t = Times::of_micros(&times, 1.0).context("no steps")?;
        let case = format!("{}, {} points", self.name, cloud.len());
        let note = format!(
            "contacts and force, {} contacts a step, strongest {strongest:.1} N; p99.9 {:.0} µs; octree {octree:.2} s, normals and areas \
             {oriented:.1} s, all {built:.1} s",
            contacts / steps as u64,
            1e6 * t.p999
        );
        let rate = row(&case, "steps", "1/s", 1.0 / t.mean, note);
        found.rows.push(Row { times_ours: Some(t), count_ours: Some(contacts), ..rate }.finish());
        let note = format!("numbers of contacts from testing every point, {} steps", steps.div_ceil(100));
        found.rows.push(row(&case, "differences of contacts", "1", wrong as f64, note).finish());
        Ok(())
    }
}
