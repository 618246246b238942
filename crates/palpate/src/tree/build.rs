//! From a shell to a tree: clusters of points, clusters of their parents, and so on to one.

use super::ball::smallest_ball;
use super::cluster::{Clusters, Wanted, cluster};
use super::facing::facing_ball;
use super::{Level, Tree, TreeParams};
use crate::par;
use crate::shell::Shell;
use crate::simd::LANES;
use glam::Vec3;

/// Nodes per parallel work item.
const CHUNK: usize = 64;
/// A level must have at most this share of the nodes below it, or the limit on outliers is relaxed.
const SHRINK: f64 = 0.6;

impl Tree {
    /// A tree over the points of `shell`.
    ///
    /// Cost: about 2 µs a point, shared by the threads, and 60 bytes a point. The result does not depend on the number of threads.
    pub fn build(shell: &Shell, params: &TreeParams) -> Self {
        let params = params.held();
        par::with_threads(params.threads, || build(shell, &params))
    }
}

/// One level while it is built: clusters of items below, and for each the one of them that stands for it.
struct Grouping {
    clusters: Clusters,
    parents: Vec<u32>,
}

fn build(shell: &Shell, params: &TreeParams) -> Tree {
    // Entries at one place are one item.
    let mut items: Vec<u32> = Vec::with_capacity(shell.len());
    for i in 0..shell.len() {
        if i == 0 || shell.positions[i] != shell.positions[i - 1] {
            items.push(i as u32);
        }
    }
    let end_of = |item: usize| items.get(item + 1).map_or(shell.len(), |i| *i as usize);
    let places: Vec<Vec3> = items.iter().map(|i| shell.positions[*i as usize]).collect();

    // Bottom up. An item of a level is represented by one of the places.
    let mut groupings: Vec<Grouping> = Vec::new();
    let mut reps: Vec<u32> = (0..places.len() as u32).collect();
    while !places.is_empty() && (groupings.is_empty() || reps.len() > 1) {
        let points: Vec<Vec3> = reps.iter().map(|r| places[*r as usize]).collect();
        let spacing = shell.report.spacing * (places.len() as f64 / points.len() as f64).sqrt();
        let clusters = grouped(&points, spacing as f32, params);
        let parents: Vec<u32> = clusters
            .starts
            .windows(2)
            .map(|w| nearest_to_mean(&points, &clusters.members[w[0] as usize..w[1] as usize]))
            .collect();
        reps = parents.iter().map(|p| reps[*p as usize]).collect();
        groupings.push(Grouping { clusters, parents });
    }

    // Top down: the order of items on each level.
    let mut levels: Vec<Level> = Vec::new();
    let mut order: Vec<u32> = vec![0];
    for g in groupings.iter().rev() {
        let mut below = Vec::with_capacity(g.clusters.members.len());
        let mut level = Level { first: vec![0], ..Default::default() };
        for c in &order {
            let c = *c as usize;
            let members =
                &g.clusters.members[g.clusters.starts[c] as usize..g.clusters.starts[c + 1] as usize];
            below.extend_from_slice(members);
            level.first.push(below.len() as u32);
        }
        levels.push(level);
        order = below;
    }
    if groupings.is_empty() {
        order.clear();
    }
    finish(shell, params, levels, &order, &items, &groupings, end_of)
}

/// Clusters of a level, with the limit on outliers relaxed until there are few enough.
fn grouped(points: &[Vec3], spacing: f32, params: &TreeParams) -> Clusters {
    if points.len() <= params.cluster {
        return Clusters {
            members: (0..points.len() as u32).collect(),
            starts: vec![0, points.len() as u32],
        };
    }
    let mut wanted = Wanted { size: params.cluster, spacing, outlier: params.outlier as f32 };
    loop {
        let clusters = cluster(points, wanted);
        if clusters.starts.len() as f64 - 1.0 <= SHRINK * points.len() as f64 {
            return clusters;
        }
        if wanted.outlier > 1e12 {
            // Points that no length separates: by their order.
            let starts = (0..=points.len()).step_by(params.cluster).map(|s| s as u32);
            let mut starts: Vec<u32> = starts.filter(|s| (*s as usize) < points.len()).collect();
            starts.push(points.len() as u32);
            return Clusters { members: (0..points.len() as u32).collect(), starts };
        }
        (wanted.outlier, wanted.spacing) = (wanted.outlier * 1.5, wanted.spacing * 1.5);
    }
}

/// The member nearest to the mean; the first of several.
fn nearest_to_mean(points: &[Vec3], members: &[u32]) -> u32 {
    let mean = members.iter().map(|i| points[*i as usize]).sum::<Vec3>() / members.len().max(1) as f32;
    let d = |i: u32| points[i as usize].distance_squared(mean);
    members.iter().copied().min_by(|a, b| d(*a).total_cmp(&d(*b)).then(a.cmp(b))).unwrap_or(0)
}

/// Entries in tree order, and balls, points and areas of every level.
fn finish(
    shell: &Shell,
    params: &TreeParams,
    mut levels: Vec<Level>,
    order: &[u32],
    items: &[u32],
    groupings: &[Grouping],
    end_of: impl Fn(usize) -> usize,
) -> Tree {
    // Entries in tree order, and where each item's begin.
    let mut source = Vec::with_capacity(shell.len());
    let mut begin = vec![0u32; items.len() + 1];
    let mut starts = Vec::with_capacity(order.len() + 1);
    for item in order {
        let item = *item as usize;
        begin[item] = source.len() as u32;
        starts.push(source.len() as u32);
        source.extend(items[item]..end_of(item) as u32);
    }
    starts.push(source.len() as u32);
    let column = |f: &dyn Fn(usize) -> f32| -> Vec<f32> {
        // The tail repeats the last, so that whole vectors hold valid points.
        let last = source.last().copied();
        source.iter().copied().chain(last.into_iter().cycle().take(LANES)).map(|i| f(i as usize)).collect()
    };
    let position: [Vec<f32>; 3] = core::array::from_fn(|a| column(&|i| shell.positions[i][a]));
    let normal: [Vec<f32>; 3] = core::array::from_fn(|a| column(&|i| shell.normals[i][a]));
    let area = column(&|i| shell.areas[i]);
    let triangle = source.iter().map(|i| shell.triangles[*i as usize]).collect();

    // From the last level up: the points of a node are those of its children.
    let mut below = starts;
    for level in levels.iter_mut().rev() {
        level.points = level.first.iter().map(|f| below[*f as usize]).collect();
        below = level.points.clone();
    }
    // On the lowest level children are entries, not items.
    if let Some(level) = levels.last_mut() {
        level.first = level.points.clone();
    }
    // The item below that stands for a node, followed down to an entry.
    let entries: Vec<Vec<u32>> = {
        let mut reps: Vec<u32> = begin[..items.len()].to_vec();
        let mut out = Vec::new();
        for g in groupings {
            reps = g.parents.iter().map(|p| reps[*p as usize]).collect();
            out.push(reps.clone());
        }
        out
    };
    // `entries` are in the order of clusters; nodes in tree order. A node's own is the one among its points.
    for (level, entries) in levels.iter_mut().rev().zip(&entries) {
        let mut sorted = entries.clone();
        sorted.sort_unstable();
        level.parent = sorted;
    }
    for level in &mut levels {
        let balls = par::map(level.parent.len().div_ceil(CHUNK), |chunk| {
            let nodes = chunk * CHUNK..((chunk + 1) * CHUNK).min(level.parent.len());
            nodes
                .map(|n| {
                    let range = level.points[n] as usize..level.points[n + 1] as usize;
                    let point = |i: usize| Vec3::new(position[0][i], position[1][i], position[2][i]);
                    let (c, _) = smallest_ball(range.clone().map(|i| point(i).as_dvec3()));
                    let c = c.as_vec3();
                    let reach = range.clone().map(|i| (point(i).as_dvec3() - c.as_dvec3()).length());
                    let r = (reach.fold(0.0, f64::max) * (1.0 + 1e-7)) as f32;
                    let r = r.next_up();
                    let outward = range.clone().map(|i| {
                        let n = Vec3::new(normal[0][i], normal[1][i], normal[2][i]);
                        n.as_dvec3() * f64::from(area[i])
                    });
                    let facing = facing_ball(range.clone().map(point), outward.sum(), c, r);
                    let area = range.map(|i| f64::from(area[i])).sum::<f64>() as f32;
                    (c, r, area, facing)
                })
                .collect::<Vec<_>>()
        });
        let balls: Vec<(Vec3, f32, f32, (Vec3, f32))> = balls.into_iter().flatten().collect();
        let last = balls.last().copied();
        let padded = || balls.iter().copied().chain(last.into_iter().cycle().take(LANES));
        level.centre = core::array::from_fn(|a| padded().map(|(c, ..)| c[a]).collect());
        level.radius = padded().map(|(_, r, ..)| r).collect();
        level.area = padded().map(|(_, _, a, _)| a).collect();
        let quad = |c: Vec3, r: f32| [c.x, c.y, c.z, r];
        level.balls = padded().map(|(c, r, _, f)| [quad(c, r), quad(f.0, f.1)]).collect();
        let last = level.parent.last().copied();
        let stand = || level.parent.iter().copied().chain(last.into_iter().cycle().take(LANES));
        let ids = stand().collect();
        let column = |from: &[Vec<f32>; 3], a: usize| stand().map(|p| from[a][p as usize]).collect();
        let columns = [0, 1, 2].map(|a| (column(&position, a), column(&normal, a)));
        let [(x, u), (y, v), (z, w)] = columns;
        (level.position, level.normal, level.ids) = ([x, y, z], [u, v, w], ids);
        level.largest = balls.iter().map(|(_, r, ..)| *r).fold(0.0, f32::max);
    }
    let off = |l: &Level| l.len().abs_diff(params.segments);
    let segments = (0..levels.len()).min_by_key(|l| off(&levels[*l])).unwrap_or(0);
    let children = |l: &Level| l.first.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0);
    let waiting = 1 + levels.iter().map(children).sum::<usize>();
    Tree {
        origin: shell.origin,
        count: source.len(),
        position,
        normal,
        area,
        triangle,
        source,
        levels,
        segments,
        waiting,
        shell: shell.report.clone(),
    }
}
