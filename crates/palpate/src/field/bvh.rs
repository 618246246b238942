//! Closest triangle of any point: a tree of eight-wide boxes over triangles in the order of a space-filling curve.
//!
//! The tree is implicit: leaves are blocks of eight consecutive triangles, each parent has eight consecutive
//! children, so building it is a few linear passes.

use super::surface::{Surface, closest_point};
use crate::par;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DVec3, Vec3};

/// Triangles, or boxes, a block holds.
pub(crate) const WIDTH: usize = LANES;
/// Levels whose items have discs. Higher ones are too curved to be flat.
const DISC_LEVELS: usize = 3;
/// Blocks per parallel work item.
const CHUNK: usize = 512;
/// Deepest tree: 8²² leaves exceed any u32 count of triangles; with at most 7 waiting siblings a level.
pub(crate) const STACK: usize = 8 * 12;

/// Lower and upper corners of eight boxes; empty ones are at +∞.
pub(super) type Boxes = [[f32; WIDTH]; 6];

/// Eight triangles: ax ay az bx … cz.
pub(crate) type Block = [[f32; WIDTH]; 9];

/// Discs around eight blocks: centre, unit normal, half thickness along the normal, radius across it. Far away, a box
/// across the axes reaches toward the point by its whole diagonal, a disc hardly at all.
pub(super) type Discs = [[f32; WIDTH]; 8];

/// A tree over the triangles of a [`Surface`], in grid coordinates [voxels].
#[derive(Debug)]
pub(crate) struct Bvh {
    /// Number of triangles; lane i of block b is triangle 8·b + i, the last one repeated.
    pub(super) count: usize,
    pub(super) blocks: Vec<Block>,
    /// `levels[0]` holds the boxes of leaf blocks, eight to an entry, the last level one entry.
    pub(super) levels: Vec<Vec<Boxes>>,
    /// The items of the lowest levels again, bounded closer.
    pub(super) discs: Vec<Vec<Discs>>,
}

impl Bvh {
    /// Builds all levels. The surface must have a triangle.
    pub(crate) fn build(surface: &Surface) -> Self {
        Self::over(surface.triangles.len(), |i| surface.corners_of(i))
    }

    /// A tree over `triangles` triangles, at least one, with these corners [voxels].
    pub(super) fn over(triangles: usize, corners: impl Fn(usize) -> [DVec3; 3] + Sync + Send) -> Self {
        let count = triangles.div_ceil(WIDTH);
        let mut blocks = vec![[[0.0; WIDTH]; 9]; count];
        par::chunks_mut(&mut blocks, CHUNK, |chunk, out| {
            for (i, block) in out.iter_mut().enumerate() {
                let first = (chunk * CHUNK + i) * WIDTH;
                for lane in 0..WIDTH {
                    let corners = corners((first + lane).min(triangles - 1));
                    for (rows, p) in block.as_chunks_mut::<3>().0.iter_mut().zip(corners) {
                        rows[0][lane] = p.x as f32;
                        rows[1][lane] = p.y as f32;
                        rows[2][lane] = p.z as f32;
                    }
                }
            }
        });
        let mut levels = vec![group(count, |i| box_of_block(&blocks[i]))];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            let above = group(below.len(), |i| box_of_boxes(&below[i]));
            levels.push(above);
        }
        // Blocks to an item: 1, 8, 64.
        let discs =
            (0..levels.len().min(DISC_LEVELS)).map(|l| discs(&blocks, WIDTH.pow(l as u32), levels[l].len()));
        let discs = discs.collect();
        Self { count: triangles, blocks, levels, discs }
    }

    /// Calls `f` with ranges of up to 64 consecutive triangles that reach between `low` and `high` along z [voxels].
    pub(crate) fn between(&self, low: f32, high: f32, mut f: impl FnMut(core::ops::Range<usize>)) {
        for (i, boxes) in self.levels[0].iter().enumerate() {
            // Empty boxes are at +∞ and drop out of the first comparison only.
            let reaches = (0..WIDTH).any(|l| boxes[2][l] <= high && boxes[5][l] >= low);
            if reaches {
                f(i * WIDTH * WIDTH..((i + 1) * WIDTH * WIDTH).min(self.count));
            }
        }
    }

    /// About how many blocks of triangles there are in each of `count` layers, `height` voxels each, along z.
    pub(crate) fn layers(&self, count: usize, height: f32) -> Vec<usize> {
        let mut out = vec![0; count];
        for boxes in &self.levels[0] {
            for lane in (0..WIDTH).filter(|l| boxes[0][*l].is_finite()) {
                let middle = 0.5 * (boxes[2][lane] + boxes[5][lane]) / height;
                out[(middle as usize).min(count - 1)] += 1;
            }
        }
        out
    }

    /// Memory [bytes].
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.blocks[..])
            + self.levels.iter().map(|l| size_of_val(&l[..])).sum::<usize>()
            + self.discs.iter().map(|d| size_of_val(&d[..])).sum::<usize>()
    }

    /// Number of blocks of triangles.
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Block `i`.
    pub(crate) fn block(&self, i: usize) -> &Block {
        &self.blocks[i]
    }

    /// The triangles of a block.
    pub(crate) fn triangles_of(&self, block: usize) -> core::ops::Range<usize> {
        block * WIDTH..((block + 1) * WIDTH).min(self.count)
    }

    /// The triangle closest to `p`, and its distance, exact up to f32 rounding [voxels].
    /// `guess` is any triangle; a near one makes the search short.
    pub(crate) fn closest(&self, surface: &Surface, p: DVec3, guess: u32) -> (u32, f64) {
        let near = |t: u32| (closest_point(surface.corners_of(t as usize), p).0 - p).length();
        let first = near(guess);
        let mut search = Search { p: p.as_vec3(), best: widen(first), triangle: guess };
        descend(self, &mut search);
        // The winner is decided in f32; its distance is not.
        if search.triangle == guess { (guess, first) } else { (search.triangle, near(search.triangle)) }
    }

    /// The distance from `p` to triangle `guess`, `squared` or nearer, or to a nearer one among those around it in the order of
    /// the tree [voxels].
    pub(crate) fn improve(&self, p: Vec3, guess: u32, squared: f32) -> f32 {
        let mut search = Search { p, best: squared, triangle: guess };
        around(self, guess as usize / (WIDTH * WIDTH), &mut search);
        search.best.sqrt()
    }
}

/// An f32 upper bound of the squared distance `d`, so that a guess cannot prune the true winner by rounding.
fn widen(d: f64) -> f32 {
    (d * d * (1.0 + 1e-5) + 1e-9) as f32
}

struct Search {
    p: Vec3,
    /// Squared distance to beat.
    best: f32,
    triangle: u32,
}

dispatch! {
    fn around / around_plain = around_kernel(bvh: &Bvh, entry: usize, search: &mut Search)
}

/// Searches the two nearest blocks of an entry of the lowest level.
#[inline(always)]
fn around_kernel<L: Lanes>(bvh: &Bvh, entry: usize, search: &mut Search) {
    let p = [L::splat(search.p.x), L::splat(search.p.y), L::splat(search.p.z)];
    let d = disc_distances::<L>(&bvh.discs[0][entry], p).max(box_distances::<L>(&bvh.levels[0][entry], p));
    let mut live = L::bits(d.lt(L::splat(search.best)));
    let mut distances = [0.0; WIDTH];
    d.store(&mut distances);
    for _ in 0..2 {
        if live == 0 {
            return;
        }
        let lane = nearest(&distances, live);
        live &= !(1 << lane);
        if distances[lane] < search.best {
            try_block::<L>(bvh, entry * WIDTH + lane, p, search);
        }
    }
}

dispatch! {
    fn descend / descend_plain = descend_kernel(bvh: &Bvh, search: &mut Search)
}

#[inline(always)]
fn descend_kernel<L: Lanes>(bvh: &Bvh, search: &mut Search) {
    // Entries: level, index of the entry there, squared distance of its box.
    let mut stack = [(0u8, 0u32, 0.0f32); STACK];
    stack[0] = ((bvh.levels.len() - 1) as u8, 0, 0.0);
    let mut top = 1;
    let p = [L::splat(search.p.x), L::splat(search.p.y), L::splat(search.p.z)];
    while top > 0 {
        top -= 1;
        let (level, index, bound) = stack[top];
        if bound >= search.best {
            continue;
        }
        let mut d = box_distances::<L>(&bvh.levels[level as usize][index as usize], p);
        // What its box does not exclude, its disc may.
        if let Some(discs) = bvh.discs.get(level as usize) {
            d = d.max(disc_distances::<L>(&discs[index as usize], p));
        }
        let mut live = L::bits(d.lt(L::splat(search.best)));
        let mut distances = [0.0; WIDTH];
        d.store(&mut distances);
        if level == 0 {
            // Nearest block first: it shrinks the ball for the others.
            while live != 0 {
                let lane = nearest(&distances, live);
                live &= !(1 << lane);
                if distances[lane] < search.best {
                    try_block::<L>(bvh, index as usize * WIDTH + lane, p, search);
                }
            }
        } else {
            // Farthest pushed first, so that the nearest is popped next.
            // The nearest last, to be taken next. The others in any order: most are excluded by then.
            if live != 0 {
                let first = nearest(&distances, live);
                live &= !(1 << first);
                while live != 0 {
                    let lane = live.trailing_zeros() as usize;
                    live &= live - 1;
                    stack[top] = (level - 1, index * WIDTH as u32 + lane as u32, distances[lane]);
                    top += 1;
                }
                stack[top] = (level - 1, index * WIDTH as u32 + first as u32, distances[first]);
                top += 1;
            }
        }
    }
}

/// The lane of the smallest of those `distances` whose bit is set; `live` is not zero.
#[inline(always)]
pub(super) fn nearest(distances: &[f32; WIDTH], live: u32) -> usize {
    let mut best = live.trailing_zeros() as usize;
    let mut rest = live & (live - 1);
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        if distances[lane] < distances[best] {
            best = lane;
        }
    }
    best
}

/// Squared distances from `p` to eight boxes; +∞ for empty ones.
#[inline(always)]
pub(super) fn box_distances<L: Lanes>(boxes: &Boxes, p: [L; 3]) -> L {
    let zero = L::splat(0.0);
    let mut sum = zero;
    for axis in 0..3 {
        let gap = L::load(&boxes[axis]).sub(p[axis]).max(p[axis].sub(L::load(&boxes[axis + 3]))).max(zero);
        sum = sum.add(gap.mul(gap));
    }
    sum
}

/// Squared distances from `p` to eight discs, a little less than true so that rounding excludes nothing.
#[inline(always)]
pub(super) fn disc_distances<L: Lanes>(discs: &Discs, p: [L; 3]) -> L {
    let zero = L::splat(0.0);
    let away = minus(p, [L::load(&discs[0]), L::load(&discs[1]), L::load(&discs[2])]);
    let n = [L::load(&discs[3]), L::load(&discs[4]), L::load(&discs[5])];
    let along = dot(away, n);
    let across = minus(away, [n[0].mul(along), n[1].mul(along), n[2].mul(along)]);
    let rise = along.abs().sub(L::load(&discs[6])).max(zero);
    let gap = dot(across, across).sqrt().sub(L::load(&discs[7])).max(zero);
    rise.mul(rise).add(gap.mul(gap)).mul(L::splat(1.0 - 1e-5))
}

/// Discs around every `size` blocks, eight to an entry; empty items are never asked.
fn discs(blocks: &[Block], size: usize, entries: usize) -> Vec<Discs> {
    let mut out = vec![[[0.0; WIDTH]; 8]; entries];
    par::chunks_mut(&mut out, (CHUNK / WIDTH / size).max(1), |chunk, out| {
        for (i, entry) in out.iter_mut().enumerate() {
            let first = (chunk * (CHUNK / WIDTH / size).max(1) + i) * WIDTH * size;
            for (lane, blocks) in blocks[first.min(blocks.len())..].chunks(size).take(WIDTH).enumerate() {
                for (row, v) in entry.iter_mut().zip(disc(blocks)) {
                    row[lane] = v;
                }
            }
        }
    });
    out
}

dispatch! {
    fn disc / disc_plain = disc_kernel(blocks: &[Block]) -> [f32; 8]
}

/// The disc around some blocks, normal to the sum of their triangles' areas.
#[inline(always)]
fn disc_kernel<L: Lanes>(blocks: &[Block]) -> [f32; 8] {
    let zero = L::splat(0.0);
    let (mut centre, mut normal) = ([zero; 3], [zero; 3]);
    for block in blocks {
        let v = corners_of::<L>(block);
        let n = cross(minus(v[1], v[0]), minus(v[2], v[0]));
        for axis in 0..3 {
            centre[axis] = centre[axis].add(v[0][axis]).add(v[1][axis]).add(v[2][axis]);
            normal[axis] = normal[axis].add(n[axis]);
        }
    }
    let third = 1.0 / (3 * WIDTH * blocks.len()) as f32;
    let centre = Vec3::new(sum(centre[0]), sum(centre[1]), sum(centre[2])) * third;
    let normal = Vec3::new(sum(normal[0]), sum(normal[1]), sum(normal[2])).try_normalize().unwrap_or(Vec3::Z);
    let c = [L::splat(centre.x), L::splat(centre.y), L::splat(centre.z)];
    let n = [L::splat(normal.x), L::splat(normal.y), L::splat(normal.z)];
    let (mut low, mut high) = (L::splat(f32::INFINITY), L::splat(f32::NEG_INFINITY));
    let mut radius = zero;
    for block in blocks {
        for v in corners_of::<L>(block) {
            let away = minus(v, c);
            let along = dot(away, n);
            (low, high) = (low.min(along), high.max(along));
            let across = minus(away, [n[0].mul(along), n[1].mul(along), n[2].mul(along)]);
            radius = radius.max(dot(across, across));
        }
    }
    let (low, high) = (-most(zero.sub(low)), most(high));
    // The slack covers the rounding of coordinates far from the origin.
    let slack = 1e-4 + 1e-6 * centre.abs().max_element();
    let centre = centre + normal * (0.5 * (low + high));
    let (thick, radius) = (0.5 * (high - low) + slack, most(radius).sqrt() + slack);
    [centre.x, centre.y, centre.z, normal.x, normal.y, normal.z, thick, radius]
}

#[inline(always)]
pub(crate) fn corners_of<L: Lanes>(block: &Block) -> [V3<L>; 3] {
    let origin = [L::splat(0.0); 3];
    [corner_from(block, 0, origin), corner_from(block, 1, origin), corner_from(block, 2, origin)]
}

#[inline(always)]
pub(crate) fn sum<L: Lanes>(v: L) -> f32 {
    let mut lanes = [0.0; WIDTH];
    v.store(&mut lanes);
    lanes.iter().sum()
}

#[inline(always)]
pub(crate) fn most<L: Lanes>(v: L) -> f32 {
    let mut lanes = [0.0; WIDTH];
    v.store(&mut lanes);
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

#[inline(always)]
fn try_block<L: Lanes>(bvh: &Bvh, leaf: usize, p: [L; 3], search: &mut Search) {
    let d = triangle_distances::<L>(&bvh.blocks[leaf], p);
    let better = L::bits(d.lt(L::splat(search.best)));
    if better != 0 {
        let mut distances = [0.0; WIDTH];
        d.store(&mut distances);
        let lane = nearest(&distances, better);
        search.best = distances[lane];
        search.triangle = (leaf * WIDTH + lane).min(bvh.count - 1) as u32;
    }
}

/// Three lanes: a vector for each of eight triangles.
pub(crate) type V3<L> = [L; 3];

// Kernels use functions, not closures: a closure does not inherit the caller's target features, so the intrinsics in
// it would stay calls.

#[inline(always)]
pub(crate) fn dot<L: Lanes>(a: V3<L>, b: V3<L>) -> L {
    a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]))
}

#[inline(always)]
pub(crate) fn minus<L: Lanes>(a: V3<L>, b: V3<L>) -> V3<L> {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])]
}

#[inline(always)]
pub(crate) fn cross<L: Lanes>(a: V3<L>, b: V3<L>) -> V3<L> {
    [
        a[1].mul(b[2]).sub(a[2].mul(b[1])),
        a[2].mul(b[0]).sub(a[0].mul(b[2])),
        a[0].mul(b[1]).sub(a[1].mul(b[0])),
    ]
}

#[inline(always)]
fn corner_from<L: Lanes>(block: &Block, c: usize, p: V3<L>) -> V3<L> {
    minus([L::load(&block[3 * c]), L::load(&block[3 * c + 1]), L::load(&block[3 * c + 2])], p)
}

/// Squared distance from the origin to the segment from `v` along `e`.
#[inline(always)]
fn edge_distance<L: Lanes>(v: V3<L>, e: V3<L>) -> L {
    let (zero, one, tiny) = (L::splat(0.0), L::splat(1.0), L::splat(1e-30));
    let k = zero.sub(dot(v, e)).div(dot(e, e).max(tiny)).max(zero).min(one);
    let q = [v[0].add(e[0].mul(k)), v[1].add(e[1].mul(k)), v[2].add(e[2].mul(k))];
    dot(q, q)
}

/// Squared distances from `p` to eight triangles: to the plane where p is over the triangle, else to the edges.
#[inline(always)]
pub(super) fn triangle_distances<L: Lanes>(block: &Block, p: V3<L>) -> L {
    distances_to([corner_from(block, 0, p), corner_from(block, 1, p), corner_from(block, 2, p)])
}

/// Squared distances from the origin to triangles with these corners.
#[inline(always)]
pub(super) fn distances_to<L: Lanes>(v: [V3<L>; 3]) -> L {
    let zero = L::splat(0.0);
    let e = [minus(v[1], v[0]), minus(v[2], v[1]), minus(v[0], v[2])];
    let n = cross(e[0], e[1]);
    let nn = dot(n, n);
    let tiny = L::splat(1e-30);
    // p, the origin here, is over the triangle iff it is on the inner side of all three edges.
    let s0 = dot(cross(v[0], v[1]), n).ge(zero);
    let s1 = dot(cross(v[1], v[2]), n).ge(zero);
    let s2 = dot(cross(v[2], v[0]), n).ge(zero);
    let h = dot(v[0], n);
    let plane = h.mul(h).div(nn.max(tiny));
    let edges = edge_distance(v[0], e[0]).min(edge_distance(v[1], e[1])).min(edge_distance(v[2], e[2]));
    // A sliver's plane is noise. But every point of a triangle is within its lowest altitude of an edge, so the distance
    // is at least that to the edges less the altitude: (d − a)² >= d² − 2·d·a.
    let longest = dot(e[0], e[0]).max(dot(e[1], e[1])).max(dot(e[2], e[2])).max(tiny);
    let altitude = edges.mul(nn.div(longest)).sqrt();
    let least = edges.sub(altitude.add(altitude));
    L::select(L::and(L::and(s0, s1), s2), plane.max(least).min(edges), edges)
}

/// Boxes of `count` items, eight to an entry.
fn group(count: usize, of: impl Fn(usize) -> [f32; 6] + Sync + Send) -> Vec<Boxes> {
    let mut out = vec![[[f32::INFINITY; WIDTH]; 6]; count.div_ceil(WIDTH)];
    par::chunks_mut(&mut out, CHUNK, |chunk, entries| {
        for (i, entry) in entries.iter_mut().enumerate() {
            for lane in 0..WIDTH {
                let item = (chunk * CHUNK + i) * WIDTH + lane;
                if item < count {
                    for (row, v) in entry.iter_mut().zip(of(item)) {
                        row[lane] = v;
                    }
                }
            }
        }
    });
    out
}

fn box_of_block(block: &Block) -> [f32; 6] {
    let mut out = [f32::INFINITY; 6];
    for axis in 0..3 {
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        for row in [&block[axis], &block[axis + 3], &block[axis + 6]] {
            for v in row {
                low = if *v < low { *v } else { low };
                high = if *v > high { *v } else { high };
            }
        }
        (out[axis], out[axis + 3]) = (low, high);
    }
    out
}

/// Empty boxes have all six bounds at +∞: they must not enter the upper bounds.
fn box_of_boxes(boxes: &Boxes) -> [f32; 6] {
    core::array::from_fn(|i| {
        let filled = boxes[i].iter().zip(&boxes[0]).filter(|(_, low)| low.is_finite()).map(|(v, _)| *v);
        if i < 3 { filled.fold(f32::INFINITY, f32::min) } else { filled.fold(f32::NEG_INFINITY, f32::max) }
    })
}
