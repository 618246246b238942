//! The same motion by other people's programs.

use super::Lab;
use super::measure::OFTEN;
use super::scene::Scene;
use crate::bench::peer::{Peer, Reply, Request};
use crate::models;
use anyhow::Result;
use palpate::mesh::RawMesh;
use std::path::Path;

/// Who refits trees and gives all pairs.
pub(super) const NAMES: [&str; 2] = ["parry", "coal"];

/// Every so many steps the peers are asked: Coal needs up to a tenth of a second for one.
pub(super) const EVERY: usize = 2;
/// When they stop [s].
const LIMIT_S: f64 = 60.0;

/// What a peer gave.
pub(super) struct Given {
    pub(super) name: String,
    /// Why there is nothing, or what it gave at [`asked`] steps.
    pub(super) reply: Result<Reply, String>,
}

/// The steps that peers are asked for.
pub(super) fn asked(scene: &Scene) -> Vec<usize> {
    (0..scene.steps).step_by(EVERY).collect()
}

/// Asks every peer for the motion, each in the kinds it has; of those the fastest counts.
pub(super) fn ask(lab: &Lab<'_>, scene: &Scene) -> Result<Vec<Given>> {
    if lab.peers.is_empty() {
        return Ok(Vec::new());
    }
    let file = |name: &str| lab.work.file(name);
    let first = scene.at(0).map(|positions| RawMesh { positions, triangles: scene.rest.triangles.clone() });
    let names = [("a.raw", "a.steps"), ("b.raw", "b.steps")].map(|(m, s)| (file(m), file(s)));
    for (side, (mesh, steps)) in names.iter().enumerate() {
        models::write_raw(&first[side], Path::new(mesh))?;
        let all: Vec<_> = asked(scene).iter().flat_map(|i| scene.at(*i)[side].clone()).collect();
        models::write_points(&all, Path::new(steps))?;
    }
    let [(mesh, steps), (mesh_b, steps_b)] = names;
    let base = Request {
        job: "soft".into(),
        mesh,
        mesh_b,
        steps,
        steps_b,
        threads: 1,
        // As often as our short steps.
        repeat: if lab.repeat() > 1 { lab.repeat().max(OFTEN) } else { 1 },
        limit_s: LIMIT_S,
        ..Default::default()
    };
    let one = |name: &&str| {
        eprintln!("{}: {name}", scene.name);
        let kinds: &[&str] = if *name == "parry" { &["fresh", "kept"] } else { &["fresh"] };
        let reply = Peer::start(name).and_then(|mut peer| {
            let ask = |kind: &&str| peer.ask(&Request { kind: (*kind).into(), ..base.clone() });
            let replies: Vec<Reply> = kinds.iter().map(ask).collect::<Result<_, _>>()?;
            let slower = |a: &Reply, b: &Reply| time(a).total_cmp(&time(b));
            replies.into_iter().min_by(slower).ok_or_else(|| "has nothing to say".to_owned())
        });
        Given { name: (*name).into(), reply }
    };
    Ok(lab.peers.iter().map(one).collect())
}

/// Mean time of a step [s].
pub(super) fn time(reply: &Reply) -> f64 {
    1e-6 * (reply.updates.iter().sum::<f64>() + reply.micros.iter().sum::<f64>())
        / reply.micros.len().max(1) as f64
}
