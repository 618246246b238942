//! Times of the engine's methods, step by step.

use super::scene::Scene;
use anyhow::Result;
use glam::DVec3;
use palpate::par;
use palpate::soft::{Method, Soft, SoftMesh, SoftParams};
use std::time::Instant;

/// A step that took longer is not repeated more often than the command line says [s].
const LONG: f64 = 5e-3;
/// How often a short step is repeated at least.
pub(super) const OFTEN: usize = 7;

/// Questions after which trees should be there.
const MOST_FIRST: usize = 16;

/// The least times of a step [s].
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Both meshes get their vertices.
    pub(super) set: f64,
    /// Pairs after that.
    pub(super) search: f64,
    /// Pairs once more: nothing has moved, so trees need no fitting.
    pub(super) again: f64,
}

impl Times {
    const NEVER: Self = Self { set: f64::MAX, search: f64::MAX, again: f64::MAX };

    pub(super) fn total(&self) -> f64 {
        self.set + self.search
    }

    fn least(self, o: Self) -> Self {
        Self { set: self.set.min(o.set), search: self.search.min(o.search), again: self.again.min(o.again) }
    }
}

/// One way to look, with meshes and memory of its own.
pub(super) struct Way {
    soft: Soft,
    pub(super) a: SoftMesh,
    pub(super) b: SoftMesh,
    params: SoftParams,
    /// How long the first question took that a tree had to be built for, less the next [s].
    pub(super) first: f64,
}

impl Way {
    /// Asked deep in each other and apart: trees are built and memory is there.
    pub(super) fn new(scene: &Scene, params: SoftParams) -> Result<Self> {
        let [a, b] = scene.at(scene.steps.saturating_sub(1));
        let triangles = || scene.rest.triangles.clone();
        let (a, b) = (SoftMesh::new(a, triangles())?, SoftMesh::new(b, triangles())?);
        let mut way = Self { soft: Soft::new(), a, b, params, first: 0.0 };
        // Boxes or cuts are weighed over some questions.
        for _ in 0..MOST_FIRST {
            way.first = way.search();
            if way.params.method == Method::Cut || way.soft.last().stats.built > 0 {
                break;
            }
        }
        way.first -= way.search();
        way.set(&scene.at(0))?;
        way.search();
        Ok(way)
    }

    /// Moves the vertices; how long that took [s].
    pub(super) fn set(&mut self, [a, b]: &[Vec<DVec3>; 2]) -> Result<f64> {
        let start = Instant::now();
        self.a.set_positions(a)?;
        self.b.set_positions(b)?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Looks for pairs; how long that took [s].
    pub(super) fn search(&mut self) -> f64 {
        let start = Instant::now();
        std::hint::black_box(self.soft.pairs(&self.a, &self.b, &self.params));
        start.elapsed().as_secs_f64()
    }

    pub(super) fn found(&self) -> &[[u32; 2]] {
        &self.soft.last().list
    }

    /// What was used for the last question.
    pub(super) fn method(&self) -> Method {
        self.soft.last().stats.method
    }
}

/// What the ways found at a step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) offset: f64,
    pub(super) overlap: f64,
    /// Of each way.
    pub(super) times: Vec<Times>,
    /// What the first way used.
    pub(super) method: Method,
    /// Pairs each way found.
    pub(super) pairs: Vec<usize>,
    pub(super) hash: f64,
    /// Whether all ways found the same.
    pub(super) agree: bool,
}

/// What a motion gave.
pub(super) struct Motion {
    /// [`Way::first`] of each way.
    pub(super) first: Vec<f64>,
    pub(super) steps: Vec<Step>,
}

/// Measures all ways at all steps, one after the other at each repetition, on so many threads.
pub(super) fn motion(scene: &Scene, all: &[SoftParams], repeat: usize, threads: usize) -> Result<Motion> {
    par::with_threads(threads, || {
        let mut ways: Vec<Way> = all.iter().map(|p| Way::new(scene, *p)).collect::<Result<_>>()?;
        let first = ways.iter().map(|w| w.first).collect();
        let steps = (0..scene.steps).map(|i| step(scene, i, &mut ways, repeat)).collect::<Result<_>>()?;
        Ok(Motion { first, steps })
    })
}

fn step(scene: &Scene, index: usize, ways: &mut [Way], repeat: usize) -> Result<Step> {
    let places = scene.at(index);
    let mut times = vec![Times::NEVER; ways.len()];
    let mut round = 0;
    let more = |round: usize, times: &[Times]| {
        let short = repeat > 1 && times.iter().all(|t| t.search < LONG);
        round < if short { repeat.max(OFTEN) } else { repeat.max(1) }
    };
    while more(round, &times) {
        // Each is first once: who comes after a greedy one finds its memory cold.
        let n = ways.len();
        let order = (0..n).map(move |i| (i + round) % n);
        for i in order.clone() {
            let (set, search) = (ways[i].set(&places)?, ways[i].search());
            times[i] = times[i].least(Times { set, search, again: f64::MAX });
        }
        // Asked apart, so that nothing is warmer above than it is in a simulation's step.
        for i in order {
            let again = ways[i].search();
            times[i] = times[i].least(Times { again, ..Times::NEVER });
        }
        round += 1;
    }
    let first = ways.first().map_or(&[][..], Way::found);
    Ok(Step {
        offset: scene.offset(index),
        overlap: Scene::overlap(&places),
        times,
        method: ways.first().map_or(Method::Auto, Way::method),
        pairs: ways.iter().map(|w| w.found().len()).collect(),
        hash: hash_pairs(first),
        agree: ways.iter().all(|w| w.found() == first),
    })
}

/// A number that a set of pairs has whatever their order; the peers have the same one.
pub(super) fn hash_pairs(pairs: &[[u32; 2]]) -> f64 {
    let one = |[a, b]: &[u32; 2]| {
        let h = u64::from(*a).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(*b).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        let h = (h ^ (h >> 29)).wrapping_mul(0x1656_67b1_9e37_79f9);
        h ^ (h >> 32)
    };
    // 32 bits: what a JSON number keeps for every reader.
    (pairs.iter().fold(0u64, |sum, pair| sum.wrapping_add(one(pair))) >> 32) as f64
}

/// The mean of what `value` gives for each.
pub(super) fn mean<'a, T: 'a>(of: impl IntoIterator<Item = &'a T>, value: impl Fn(&T) -> f64) -> f64 {
    let (sum, n) = of.into_iter().fold((0.0, 0), |(sum, n), x| (sum + value(x), n + 1));
    sum / f64::from(n.max(1))
}
