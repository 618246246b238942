//! Points into an octree, in parallel.
//!
//! Based on: elfar07, an octree with several points a leaf whose leaves are in depth-first order.
//! Differs: points are sorted along the space-filling curve of the octants, in parallel buckets of sixteen octants an axis; then every
//! octant is a range of the list. Positions that several points share count once.

use super::grid::{BUILT, DEEPEST, Grid, Place, octant_corner};
use super::node::{Leaf, Node, Runs, Span, bits};
use super::slots::Slots;
use super::{Cloud, CloudError, CloudParams, Group, NOWHERE, SHARED};
use crate::math::Aabb;
use crate::par;
use crate::progress::{Progress, Silent};
use crate::store::prefer_large_pages;
use glam::DVec3;
use std::collections::BTreeSet;

/// Points that are put into buckets at once.
const CHUNK: usize = 1 << 18;

/// Divisions above buckets, which are sorted and made into octrees one by one.
const TOP: u32 = 4;

/// Number of buckets.
const BUCKETS: usize = 1 << (3 * TOP);

/// Divisions that the first part of a key tells apart.
const LEVELS: u32 = BUILT - DEEPEST;

/// A point as it is sorted: its octants from the root down, three bits each, then those of the last divisions and its id.
type Key = (u64, u64);

/// Bits of a key's second part below the octants.
const ID_BITS: u32 = 32;

impl Cloud {
    /// The octree of a list of points, in the frame they are in [m]; the id of a point is its index.
    ///
    /// Points that are not finite are left out and counted in [`super::CloudReport::skipped`]. Many at one position are kept as one
    /// position. Cost: about 0.1 µs a point and thread; memory about 45 bytes a point while it is built.
    pub fn build(points: &[DVec3], params: &CloudParams) -> Result<Self, CloudError> {
        Self::build_with(points, params, &Silent)
    }

    /// As [`Cloud::build`], reporting progress.
    pub fn build_with(
        points: &[DVec3],
        params: &CloudParams,
        progress: &dyn Progress,
    ) -> Result<Self, CloudError> {
        params.check()?;
        if points.len() > Self::MOST_POINTS {
            return Err(CloudError::TooManyPoints { points: points.len() });
        }
        par::with_threads(params.threads, || build(points, params, progress))
    }
}

fn build(points: &[DVec3], params: &CloudParams, progress: &dyn Progress) -> Result<Cloud, CloudError> {
    let chunks = points.len().div_ceil(CHUNK);
    progress.stage("bounds", chunks as u64);
    let boxes = par::map(chunks, |c| {
        progress.advance(1);
        bounds(chunk(points, c))
    });
    let aabb = boxes.iter().fold(Aabb::EMPTY, |a, (b, _)| a.union(*b));
    let skipped = boxes.iter().map(|(_, skipped)| skipped).sum::<usize>();
    let grid = grid(aabb, params)?;

    progress.stage("sort", (chunks + BUCKETS) as u64);
    let sorted = par::map(chunks, |c| {
        if progress.cancelled() {
            return Pieces::default();
        }
        progress.advance(1);
        pieces(chunk(points, c), (c * CHUNK) as u32, &grid)
    });
    let parts = par::map(BUCKETS, |b| {
        if progress.cancelled() {
            return Part::default();
        }
        progress.advance(1);
        Part::of_bucket(&sorted, b, &grid, params.leaf)
    });
    drop(sorted);
    if progress.cancelled() {
        return Err(CloudError::Cancelled);
    }

    progress.stage("join", 0);
    let mut cloud = join(&parts, grid, params.leaf, points.len());
    cloud.count = points.len() - skipped;
    cloud.skipped = skipped;
    cloud.spacing = cloud.measure_spacing();
    Ok(cloud)
}

fn chunk(points: &[DVec3], c: usize) -> &[DVec3] {
    &points[c * CHUNK..points.len().min((c + 1) * CHUNK)]
}

/// The box of the finite ones, and how many are not.
fn bounds(points: &[DVec3]) -> (Aabb, usize) {
    let (mut aabb, mut skipped) = (Aabb::EMPTY, 0);
    for p in points {
        if p.is_finite() {
            aabb = aabb.grow(*p);
        } else {
            skipped += 1;
        }
    }
    (aabb, skipped)
}

/// The grid of a cloud in this box.
fn grid(aabb: Aabb, params: &CloudParams) -> Result<Grid, CloudError> {
    let all = match params.region {
        Some(region) => region.union(aabb),
        None if aabb == Aabb::EMPTY => Aabb { min: DVec3::splat(-0.5), max: DVec3::splat(0.5) },
        None => aabb,
    };
    Grid::around(all).ok_or(CloudError::TooLarge { extent: all.extent().max_element() })
}

/// The keys of a chunk, bucket by bucket.
#[derive(Default)]
struct Pieces {
    keys: Vec<Key>,
    /// Bucket b has `keys[starts[b]..starts[b + 1]]`.
    starts: Vec<u32>,
}

fn pieces(points: &[DVec3], first: u32, grid: &Grid) -> Pieces {
    let mut keys = Vec::with_capacity(points.len());
    for (i, p) in points.iter().enumerate() {
        if let Some(place) = p.is_finite().then(|| grid.place(*p)).flatten() {
            keys.push(key(place, grid.corner, first + i as u32));
        }
    }
    let mut starts = vec![0u32; BUCKETS + 1];
    for k in &keys {
        starts[bucket(k) + 1] += 1;
    }
    for b in 0..BUCKETS {
        starts[b + 1] += starts[b];
    }
    let mut next = starts.clone();
    let mut sorted = vec![(0, 0); keys.len()];
    for k in keys {
        let at = &mut next[bucket(&k)];
        sorted[*at as usize] = k;
        *at += 1;
    }
    Pieces { keys: sorted, starts }
}

fn bucket(key: &Key) -> usize {
    (key.0 >> (3 * (LEVELS - TOP))) as usize
}

fn key(place: Place, corner: Place, id: u32) -> Key {
    let of = |a: usize| (place[a] - corner[a]) as u64;
    let [x, y, z] = [of(0), of(1), of(2)];
    let high = spread(x >> DEEPEST) | spread(y >> DEEPEST) << 1 | spread(z >> DEEPEST) << 2;
    let rest = (1 << DEEPEST) - 1;
    let low = spread(x & rest) | spread(y & rest) << 1 | spread(z & rest) << 2;
    (high, low << ID_BITS | u64::from(id))
}

/// Two zeros between any two of the lowest 21 bits.
fn spread(x: u64) -> u64 {
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// Every third of the lowest 63 bits.
fn gather(x: u64) -> u64 {
    let x = x & 0x1249_2492_4924_9249;
    let x = (x | x >> 2) & 0x10c3_0c30_c30c_30c3;
    let x = (x | x >> 4) & 0x100f_00f0_0f00_f00f;
    let x = (x | x >> 8) & 0x001f_0000_ff00_00ff;
    let x = (x | x >> 16) & 0x001f_0000_0000_ffff;
    (x | x >> 32) & 0x001f_ffff
}

fn place(key: Key, corner: Place) -> Place {
    let low = key.1 >> ID_BITS;
    let of = |a: usize| corner[a] + (gather(key.0 >> a) << DEEPEST | gather(low >> a)) as i64;
    [of(0), of(1), of(2)]
}

/// The octree of one bucket.
#[derive(Default)]
struct Part {
    positions: Vec<[f32; 3]>,
    ids: Vec<u32>,
    /// Ids that share a position with the first of each group.
    twins: Vec<BTreeSet<u32>>,
    /// The first is the bucket itself, if it has more points than a leaf may have.
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    span: Option<Span>,
}

impl Part {
    fn of_bucket(sorted: &[Pieces], b: usize, grid: &Grid, most: usize) -> Self {
        let range = |p: &Pieces| match p.starts[..] {
            [] => 0..0,
            _ => p.starts[b] as usize..p.starts[b + 1] as usize,
        };
        let mut keys: Vec<Key> = Vec::with_capacity(sorted.iter().map(|p| range(p).len()).sum());
        sorted.iter().for_each(|p| keys.extend_from_slice(&p.keys[range(p)]));
        if keys.is_empty() {
            return Self::default();
        }
        par::sort_unstable(&mut keys);
        let mut part = Self::default();
        part.share(&mut keys);
        let places: Vec<Place> = keys.iter().map(|k| place(*k, grid.corner)).collect();
        part.positions = places.iter().map(|p| grid.local(*p)).collect();
        part.ids = keys.iter().map(|k| k.1 as u32).collect();
        if keys.len() > most {
            part.nodes.push(Node::default());
            let corner = places[0].map(|x| x >> (grid.log - TOP) << (grid.log - TOP));
            let list = List { keys: &keys, places: &places, most };
            part.span = Some(part.divide(&list, 0, 0..keys.len(), corner, grid.log - TOP));
        } else {
            let mut span = Span::EMPTY;
            places.iter().for_each(|p| span.add(*p));
            part.span = Some(span);
        }
        part
    }

    /// Keeps the first of those at one position; they are sorted by position, then by id.
    fn share(&mut self, keys: &mut Vec<Key>) {
        let same = |a: &Key, b: &Key| a.0 == b.0 && a.1 >> ID_BITS == b.1 >> ID_BITS;
        if !keys.windows(2).any(|w| same(&w[0], &w[1])) {
            return;
        }
        let mut kept = 0;
        let mut at = 0;
        while at < keys.len() {
            let first = keys[at];
            let n = keys[at..].iter().take_while(|k| same(k, &first)).count();
            if n > 1 {
                self.twins.push(keys[at..at + n].iter().map(|k| k.1 as u32).collect());
            }
            keys[kept] = first;
            kept += 1;
            at += n;
        }
        keys.truncate(kept);
    }

    /// Makes node `at` of a range of the list: a cube of edge `log` with the lowest corner `corner`.
    fn divide(
        &mut self,
        list: &List<'_>,
        at: usize,
        range: core::ops::Range<usize>,
        corner: Place,
        log: u32,
    ) -> Span {
        let mut node = Node::default();
        let mut ends = [range.end; 9];
        ends[0] = range.start;
        let shift = 3 * (log - 1 - DEEPEST);
        let keys = &list.keys[range.clone()];
        for (o, end) in (1..8).zip(&mut ends[1..8]) {
            *end = range.start + keys.partition_point(|k| (k.0 >> shift & 7) < o);
        }
        node.first_leaf = self.leaves.len() as u32;
        let mut all = Span::EMPTY;
        for o in 0..8 {
            let n = ends[o + 1] - ends[o];
            if n > list.most && log - 1 > DEEPEST {
                node.inner |= 1 << o;
            } else if n > 0 {
                node.leaf |= 1 << o;
                self.leaves.push(Leaf { start: ends[o] as u32, len: n as u16, room: n as u16 });
                let mut span = Span::EMPTY;
                list.places[ends[o]..ends[o + 1]].iter().for_each(|p| span.add(*p));
                node.set_span(o, span, corner, log);
                all.join(span);
            }
        }
        node.first_inner = self.nodes.len() as u32;
        self.nodes.extend((0..node.inner.count_ones()).map(|_| Node::default()));
        for o in bits(node.inner) {
            let span = self.divide(
                list,
                node.inner_at(o),
                ends[o]..ends[o + 1],
                octant_corner(corner, log, o),
                log - 1,
            );
            node.set_span(o, span, corner, log);
            all.join(span);
        }
        self.nodes[at] = node;
        all
    }
}

/// The points of a bucket in order.
struct List<'a> {
    keys: &'a [Key],
    places: &'a [Place],
    most: usize,
}

/// The cloud of all buckets.
fn join(parts: &[Part], grid: Grid, most: usize, ids: usize) -> Cloud {
    let total = |f: fn(&Part) -> usize| parts.iter().map(f).sum::<usize>();
    let mut top =
        Top { parts, most, nodes: Vec::new(), leaves: Vec::new(), starts: Vec::with_capacity(BUCKETS + 1) };
    let mut start = 0;
    for part in parts {
        top.starts.push(start);
        start += part.ids.len();
    }
    top.starts.push(start);
    top.nodes.reserve(total(|p| p.nodes.len()) * 5 / 4 + BUCKETS / 4);
    prefer_large_pages(&mut top.nodes);
    top.leaves.reserve(total(|p| p.leaves.len()) * 5 / 4 + BUCKETS / 4);
    prefer_large_pages(&mut top.leaves);
    top.nodes.push(Node::default());
    top.divide(0, 0, grid.corner, grid.log, 0);

    // Room to grow, which takes no memory before it is used: edits must not wait for all points to be copied elsewhere.
    let room = |n: usize| n + n / 4 + 64;
    let mut positions: Vec<[f32; 3]> = Vec::with_capacity(room(start));
    prefer_large_pages(&mut positions);
    let mut all: Vec<u32> = Vec::with_capacity(room(start));
    prefer_large_pages(&mut all);
    for part in parts {
        positions.extend_from_slice(&part.positions);
        all.extend_from_slice(&part.ids);
    }
    let mut slot_of = Vec::with_capacity(room(ids));
    prefer_large_pages(&mut slot_of);
    slot_of.resize(ids, NOWHERE);
    for (slot, id) in all.iter().enumerate() {
        slot_of[*id as usize] = slot as u32;
    }
    let mut groups = Vec::new();
    for ids in parts.iter().flat_map(|p| &p.twins) {
        let slot = ids.first().map_or(NOWHERE, |head| slot_of[*head as usize]);
        let group = SHARED | groups.len() as u32;
        ids.iter().for_each(|id| slot_of[*id as usize] = group);
        groups.push(Group { slot, ids: ids.clone() });
    }
    Cloud {
        grid,
        most,
        nodes: top.nodes,
        node_runs: Runs::default(),
        leaves: top.leaves,
        leaf_runs: Runs::default(),
        slots: Slots::new(positions, all),
        idle: (0..ids as u32).rev().filter(|id| slot_of[*id as usize] == NOWHERE).collect(),
        slot_of,
        groups,
        idle_groups: Vec::new(),
        count: 0,
        spacing: 0.0,
        skipped: 0,
    }
}

/// The divisions above buckets.
struct Top<'a> {
    parts: &'a [Part],
    most: usize,
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// The first slot of each bucket.
    starts: Vec<usize>,
}

impl Top<'_> {
    /// Makes node `at`, which is `level` divisions below the root and has the buckets from `first` on.
    fn divide(&mut self, at: usize, first: usize, corner: Place, log: u32, level: u32) -> Span {
        let mut node = Node::default();
        let width = 1usize << (3 * (TOP - level - 1));
        node.first_leaf = self.leaves.len() as u32;
        let mut all = Span::EMPTY;
        for o in 0..8 {
            let (b, e) = (first + o * width, first + (o + 1) * width);
            let (start, n) = (self.starts[b], self.starts[e] - self.starts[b]);
            if n > self.most {
                node.inner |= 1 << o;
            } else if n > 0 {
                node.leaf |= 1 << o;
                self.leaves.push(Leaf { start: start as u32, len: n as u16, room: n as u16 });
                let mut span = Span::EMPTY;
                self.parts[b..e].iter().filter_map(|p| p.span).for_each(|s| span.join(s));
                node.set_span(o, span, corner, log);
                all.join(span);
            }
        }
        node.first_inner = self.nodes.len() as u32;
        self.nodes.extend((0..node.inner.count_ones()).map(|_| Node::default()));
        for o in bits(node.inner) {
            let (child, b) = (node.inner_at(o), first + o * width);
            let span = if level + 1 < TOP {
                self.divide(child, b, octant_corner(corner, log, o), log - 1, level + 1)
            } else {
                self.place(child, b)
            };
            node.set_span(o, span, corner, log);
            all.join(span);
        }
        self.nodes[at] = node;
        all
    }

    /// Puts the octree of a bucket into place: its root at `at`, all else at the end.
    fn place(&mut self, at: usize, b: usize) -> Span {
        let part = &self.parts[b];
        // The first node of a part is the one at `at`.
        let nodes = (self.nodes.len() as u32).wrapping_sub(1);
        let (leaves, start) = (self.leaves.len() as u32, self.starts[b] as u32);
        let moved = |n: &Node| Node {
            first_inner: n.first_inner.wrapping_add(nodes),
            first_leaf: n.first_leaf + leaves,
            ..*n
        };
        if let [root, rest @ ..] = &part.nodes[..] {
            self.nodes[at] = moved(root);
            self.nodes.extend(rest.iter().map(moved));
        }
        self.leaves.extend(part.leaves.iter().map(|l| Leaf { start: l.start + start, ..*l }));
        part.span.unwrap_or(Span::EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_places() {
        let mut state = 5u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as i64
        };
        let corner = [-(1i64 << 23); 3];
        for id in 0..1000 {
            let p = [next() + corner[0], next() + corner[1], next() + corner[2]];
            let k = key(p, corner, id);
            assert_eq!((place(k, corner), k.1 as u32), (p, id));
        }
    }
}
