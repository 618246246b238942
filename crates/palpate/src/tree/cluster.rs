//! Clusters of near points.
//!
//! Based on: sagardia14 2.1.2 (a cluster is a point and its K − 1 nearest that are free; the next starts with the nearest
//! point left; what is too far from the middle of its cluster finds another or stays alone).
//! Differs: points are first cut into fixed blocks, so that threads share the work and the result does not depend on how many
//! there are; then every point moves to the cluster with the nearest middle, a few times over, as long as it has room.

use crate::par;
use glam::Vec3;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Points a block has at most. More: less to share between threads. Fewer: more clusters end at the edge of a block.
const BLOCK: usize = 8192;
/// Times points move to a nearer cluster.
const ROUNDS: usize = 3;
/// Other clusters a point may move to: the nearest.
const CANDIDATES: usize = 3;
/// Radius of a disc of K points, per √K of their spacing: points this far apart cover about 0.7 each.
const DISC: f32 = 0.68;

/// Members of each cluster, one after another, and where each begins; one more start than clusters.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    pub(crate) members: Vec<u32>,
    pub(crate) starts: Vec<u32>,
}

/// What clusters are sought: about `size` members; `spacing` apart [m]; those `outlier` times the usual radius from the middle
/// of a cluster are on their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) size: usize,
    pub(crate) spacing: f32,
    pub(crate) outlier: f32,
}

/// Groups `points` [m]. Every point is in one cluster.
pub(crate) fn cluster(points: &[Vec3], wanted: Wanted) -> Clusters {
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    let mut blocks = Vec::new();
    split(points, &mut order, 0, &mut blocks);
    let done = par::map(blocks.len(), |b| {
        let own = &order[blocks[b].clone()];
        let local: Vec<Vec3> = own.iter().map(|i| points[*i as usize]).collect();
        let mut clusters = block(&local, wanted);
        for c in &mut clusters {
            c.iter_mut().for_each(|i| *i = own[*i as usize]);
            c.sort_unstable();
        }
        clusters
    });
    let mut out = Clusters { members: Vec::with_capacity(points.len()), starts: vec![0] };
    for clusters in done {
        for c in clusters {
            out.members.extend_from_slice(&c);
            out.starts.push(out.members.len() as u32);
        }
    }
    out
}

/// Cuts by the middle of the longest axis, again and again, until blocks are small enough.
fn split(points: &[Vec3], order: &mut [u32], at: usize, out: &mut Vec<core::ops::Range<usize>>) {
    if order.len() <= BLOCK {
        if !order.is_empty() {
            out.push(at..at + order.len());
        }
        return;
    }
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for i in order.iter() {
        (low, high) = (low.min(points[*i as usize]), high.max(points[*i as usize]));
    }
    let axis = (high - low).max_position();
    let middle = order.len() / 2;
    order.select_nth_unstable_by(middle, |a, b| {
        let (p, q) = (points[*a as usize][axis], points[*b as usize][axis]);
        p.total_cmp(&q).then(a.cmp(b))
    });
    // The order inside the halves is not specified: make it so.
    order[..middle].sort_unstable();
    order[middle..].sort_unstable();
    let (left, right) = order.split_at_mut(middle);
    split(points, left, at, out);
    split(points, right, at + middle, out);
}

/// A hash of the coordinates of a cell: they are spread well by one multiplication each, and nobody chooses them to collide.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }
    fn write_u64(&mut self, v: u64) {
        self.0 = (self.0.rotate_left(23) ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_i32(&mut self, v: i32) {
        self.write_u64(v as u32 as u64);
    }
    fn write_usize(&mut self, v: usize) {
        self.write_u64(v as u64);
    }
}

/// Where points are, by cells.
struct Cells {
    size: f32,
    cells: HashMap<(i32, i32, i32), Vec<u32>, BuildHasherDefault<Spread>>,
}

impl Cells {
    fn new(size: f32) -> Self {
        Self { size: if size > 0.0 && size.is_finite() { size } else { 1.0 }, cells: HashMap::default() }
    }
    fn cell(&self, p: Vec3) -> (i32, i32, i32) {
        let c = (p / self.size).floor();
        (c.x as i32, c.y as i32, c.z as i32)
    }
    fn insert(&mut self, p: Vec3, i: u32) {
        let cell = self.cell(p);
        self.cells.entry(cell).or_default().push(i);
    }
    /// Those in the 27 cells around `p`: all within the size of a cell, and some beyond.
    fn around(&self, p: Vec3) -> impl Iterator<Item = u32> + '_ {
        let (x, y, z) = self.cell(p);
        (-1..=1).flat_map(move |k| {
            (-1..=1).flat_map(move |j| {
                (-1..=1).flat_map(move |i| {
                    let at = (x.saturating_add(i), y.saturating_add(j), z.saturating_add(k));
                    self.cells.get(&at).into_iter().flatten().copied()
                })
            })
        })
    }
}

/// The clusters of one block.
fn block(points: &[Vec3], wanted: Wanted) -> Vec<Vec<u32>> {
    let usual = DISC * (wanted.size as f32).sqrt() * wanted.spacing;
    let all: Vec<u32> = (0..points.len() as u32).collect();
    let mut clusters = greedy(points, &all, wanted.size, 2.0 * usual);
    for _ in 0..ROUNDS {
        clusters = settle(points, &clusters, wanted.size, 2.0 * usual);
    }
    rehome(points, &mut clusters, wanted, usual);
    clusters.retain(|c| !c.is_empty());
    clusters
}

/// Each cluster: a free point and its nearest free ones within `reach`.
fn greedy(points: &[Vec3], order: &[u32], size: usize, reach: f32) -> Vec<Vec<u32>> {
    let mut cells = Cells::new(reach);
    for i in order {
        cells.insert(points[*i as usize], *i);
    }
    let mut free = vec![false; points.len()];
    order.iter().for_each(|i| free[*i as usize] = true);
    let mut clusters = Vec::with_capacity(order.len() / size + 1);
    let mut near: Vec<(f32, u32)> = Vec::new();
    let (mut next, mut scan) = (None, 0);
    loop {
        let seed = match next.take() {
            Some(s) => s,
            None => {
                while scan < order.len() && !free[order[scan] as usize] {
                    scan += 1;
                }
                let Some(s) = order.get(scan) else { return clusters };
                *s
            }
        };
        let p = points[seed as usize];
        near.clear();
        near.extend(cells.around(p).filter(|i| free[*i as usize]).map(|i| {
            let d = points[i as usize].distance_squared(p);
            // The seed belongs to its own cluster also among points at one place.
            (if i == seed { -1.0 } else { d }, i)
        }));
        near.retain(|(d, _)| *d <= reach * reach);
        let by_distance = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        next = None;
        if near.len() > size {
            next = Some(near.select_nth_unstable_by(size, by_distance).1.1);
            near.truncate(size);
        }
        near.sort_unstable_by(by_distance);
        for (_, i) in &near {
            free[*i as usize] = false;
        }
        clusters.push(near.iter().map(|(_, i)| *i).collect());
        for (_, i) in &near {
            let cell = cells.cell(points[*i as usize]);
            if let Some(list) = cells.cells.get_mut(&cell) {
                list.retain(|j| j != i);
            }
        }
    }
}

fn middle(points: &[Vec3], cluster: &[u32]) -> Vec3 {
    cluster.iter().map(|i| points[*i as usize]).sum::<Vec3>() / cluster.len().max(1) as f32
}

/// Every point goes to the cluster with the nearest middle that has room, nearest pairs first.
fn settle(points: &[Vec3], clusters: &[Vec<u32>], size: usize, reach: f32) -> Vec<Vec<u32>> {
    let mut cells = Cells::new(reach);
    let middles: Vec<Vec3> = clusters.iter().map(|c| middle(points, c)).collect();
    for (c, m) in middles.iter().enumerate() {
        cells.insert(*m, c as u32);
    }
    let mut pairs: Vec<(f32, u32, u32)> = Vec::new();
    let mut near: Vec<(f32, u32)> = Vec::new();
    for (own, members) in clusters.iter().enumerate() {
        for i in members {
            let p = points[*i as usize];
            near.clear();
            near.extend(cells.around(p).map(|c| (middles[c as usize].distance_squared(p), c)));
            near.retain(|(d, c)| *d <= reach * reach && *c as usize != own);
            if near.len() > CANDIDATES {
                near.select_nth_unstable_by(CANDIDATES, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                near.truncate(CANDIDATES);
            }
            // Its own may be beyond the cells looked at.
            pairs.push((middles[own].distance_squared(p), *i, own as u32));
            pairs.extend(near.iter().map(|(d, c)| (*d, *i, *c)));
        }
    }
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut out: Vec<Vec<u32>> = vec![Vec::with_capacity(size); clusters.len()];
    let mut taken = vec![false; points.len()];
    for (_, i, c) in &pairs {
        if out[*c as usize].len() < size && !taken[*i as usize] {
            taken[*i as usize] = true;
            out[*c as usize].push(*i);
        }
    }
    // Those that found no room stay together with where they were, on their own.
    for members in clusters {
        let rest: Vec<u32> = members.iter().copied().filter(|i| !taken[*i as usize]).collect();
        if !rest.is_empty() {
            out.push(rest);
        }
    }
    out.retain(|c| !c.is_empty());
    out
}

/// Points too far from the middle of their cluster, and clusters of few, go to the nearest one that is near enough and has
/// room, or stay alone.
fn rehome(points: &[Vec3], clusters: &mut Vec<Vec<u32>>, wanted: Wanted, usual: f32) {
    let limit = wanted.outlier * usual;
    let mut loose = Vec::new();
    for c in clusters.iter_mut() {
        // Again after each that leaves: the middle moves.
        loop {
            let m = middle(points, c);
            let far = |i: &u32| points[*i as usize].distance_squared(m);
            let Some(worst) = c.iter().copied().max_by(|a, b| far(a).total_cmp(&far(b)).then(a.cmp(b)))
            else {
                break;
            };
            if c.len() > 1 && far(&worst) > limit * limit {
                c.retain(|i| *i != worst);
                loose.push(worst);
            } else {
                break;
            }
        }
        if c.len() * 4 <= wanted.size {
            loose.append(c);
        }
    }
    loose.sort_unstable();
    let mut cells = Cells::new(limit);
    let middles: Vec<Vec3> = clusters.iter().map(|c| middle(points, c)).collect();
    for (c, m) in middles.iter().enumerate().filter(|(c, _)| !clusters[*c].is_empty()) {
        cells.insert(*m, c as u32);
    }
    let room = wanted.size + wanted.size / 2;
    let mut alone = Vec::new();
    for i in loose {
        let p = points[i as usize];
        let d = |c: u32| middles[c as usize].distance_squared(p);
        let near = cells.around(p).filter(|c| clusters[*c as usize].len() < room && d(*c) <= limit * limit);
        match near.min_by(|a, b| d(*a).total_cmp(&d(*b)).then(a.cmp(b))) {
            Some(c) => clusters[c as usize].push(i),
            None => alone.push(i),
        }
    }
    // Alone, or with others that are: they may be near each other.
    clusters.extend(greedy(points, &alone, wanted.size, limit));
}
