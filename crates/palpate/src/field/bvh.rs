//! Closest triangle of any point: a tree of eight-wide boxes over triangles sorted along a space-filling curve.
//!
//! The tree is implicit: leaves are blocks of eight consecutive triangles, each parent has eight consecutive
//! children, so building it is a sort and a few linear passes. Used for the background grid of a field, where the
//! narrow band does not reach, and, with dipole sums in its nodes, for winding numbers.
//!
//! Based on: Barill et al., Fast winding numbers for soups and clouds, 2018 [barill18] (the dipole expansion).
//! Differs: first order only; near nodes are summed exactly, which is all a decision at 1/2 needs.

use super::surface::{Surface, closest_point};
use crate::par;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DVec3, Vec3};

/// Triangles, or boxes, a block holds.
const WIDTH: usize = LANES;
/// A node is taken as a dipole when it is farther than this many of its radii. 2 keeps the error of one node below
/// about 0.01; less lets the sum of many nodes cross 1/2 wrongly, more descends needlessly.
const FAR: f64 = 2.5;
/// Blocks per parallel work item.
const CHUNK: usize = 512;
/// Deepest tree: 8²² leaves exceed any u32 count of triangles; with at most 7 waiting siblings a level.
const STACK: usize = 8 * 12;

/// Lower and upper corners of eight boxes; empty ones are at +∞.
type Boxes = [[f32; WIDTH]; 6];

/// Eight triangles: ax ay az bx … cz.
type Block = [[f32; WIDTH]; 9];

/// A tree over the triangles of a [`Surface`], in grid coordinates [voxels].
#[derive(Debug)]
pub(crate) struct Bvh {
    /// Triangle of each leaf lane, in curve order; padded with the last one.
    order: Vec<u32>,
    blocks: Vec<Block>,
    /// `levels[0]` holds the boxes of leaf blocks, eight to an entry, the last level one entry.
    levels: Vec<Vec<Boxes>>,
}

impl Bvh {
    /// Sorts the triangles and builds all levels. The surface must have a triangle.
    pub(crate) fn build(surface: &Surface) -> Self {
        let order = curve_order(surface);
        let count = order.len() / WIDTH;
        let mut blocks = vec![[[0.0; WIDTH]; 9]; count];
        par::chunks_mut(&mut blocks, CHUNK, |chunk, out| {
            for (i, block) in out.iter_mut().enumerate() {
                for lane in 0..WIDTH {
                    let t = order[(chunk * CHUNK + i) * WIDTH + lane] as usize;
                    for (c, p) in surface.corners_of(t).into_iter().enumerate() {
                        let p = p.as_vec3();
                        block[3 * c][lane] = p.x;
                        block[3 * c + 1][lane] = p.y;
                        block[3 * c + 2][lane] = p.z;
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
        Self { order, blocks, levels }
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

    /// Triangle of a leaf lane.
    pub(crate) fn triangle(&self, leaf: usize, lane: usize) -> u32 {
        self.order[leaf * WIDTH + lane]
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
        let d = box_distances::<L>(&bvh.levels[level as usize][index as usize], p);
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
            let from = top;
            while live != 0 {
                let lane = live.trailing_zeros() as usize;
                live &= live - 1;
                let entry = (level - 1, index * WIDTH as u32 + lane as u32, distances[lane]);
                let mut at = top;
                while at > from && stack[at - 1].2 < entry.2 {
                    stack[at] = stack[at - 1];
                    at -= 1;
                }
                stack[at] = entry;
                top += 1;
            }
        }
    }
}

/// The lane of the smallest of those `distances` whose bit is set; `live` is not zero.
#[inline(always)]
fn nearest(distances: &[f32; WIDTH], live: u32) -> usize {
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
fn box_distances<L: Lanes>(boxes: &Boxes, p: [L; 3]) -> L {
    let zero = L::splat(0.0);
    let mut sum = zero;
    for axis in 0..3 {
        let gap = L::load(&boxes[axis]).sub(p[axis]).max(p[axis].sub(L::load(&boxes[axis + 3]))).max(zero);
        sum = sum.add(gap.mul(gap));
    }
    sum
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
        search.triangle = bvh.order[leaf * WIDTH + lane];
    }
}

/// Squared distances from `p` to eight triangles: to the plane where p is over the triangle, else to the edges.
#[inline(always)]
fn triangle_distances<L: Lanes>(block: &Block, p: [L; 3]) -> L {
    let corner = |c: usize| [0, 1, 2].map(|i| L::load(&block[3 * c + i]).sub(p[i]));
    let v = [corner(0), corner(1), corner(2)];
    let dot = |a: [L; 3], b: [L; 3]| a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]));
    let sub = |a: [L; 3], b: [L; 3]| [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])];
    let cross = |a: [L; 3], b: [L; 3]| {
        [
            a[1].mul(b[2]).sub(a[2].mul(b[1])),
            a[2].mul(b[0]).sub(a[0].mul(b[2])),
            a[0].mul(b[1]).sub(a[1].mul(b[0])),
        ]
    };
    let (zero, one, tiny) = (L::splat(0.0), L::splat(1.0), L::splat(1e-30));
    let e = [sub(v[1], v[0]), sub(v[2], v[1]), sub(v[0], v[2])];
    let n = cross(e[0], e[1]);
    let nn = dot(n, n).max(tiny);
    // p is over the triangle iff it is on the inner side of all three edges; p is the origin here.
    let side = |i: usize| dot(cross(v[i], v[(i + 1) % 3]), n);
    let over = L::and(L::and(side(0).ge(zero), side(1).ge(zero)), side(2).ge(zero));
    let h = dot(v[0], n);
    let plane = h.mul(h).div(nn);
    let edge = |i: usize| {
        let k = zero.sub(dot(v[i], e[i])).div(dot(e[i], e[i]).max(tiny)).max(zero).min(one);
        let q = [v[i][0].add(e[i][0].mul(k)), v[i][1].add(e[i][1].mul(k)), v[i][2].add(e[i][2].mul(k))];
        dot(q, q)
    };
    let edges = edge(0).min(edge(1)).min(edge(2));
    // A sliver's plane is uncertain; the edges bound the distance from above in any case.
    L::select(over, plane.min(edges), edges)
}

/// Triangles along a Hilbert curve through their centres, padded to whole blocks with the last one.
fn curve_order(surface: &Surface) -> Vec<u32> {
    let count = surface.triangles.len();
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for &p in &surface.positions {
        (low, high) = (low.min(p), high.max(p));
    }
    let scale = 1023.0 / (high - low).max_element().max(1e-300);
    let mut keys = vec![0u64; count];
    par::chunks_mut(&mut keys, 4096, |chunk, out| {
        for (i, key) in out.iter_mut().enumerate() {
            let t = chunk * 4096 + i;
            let [a, b, c] = surface.corners_of(t);
            let q = ((a + b + c) / 3.0 - low) * scale;
            *key = u64::from(hilbert([q.x as u32, q.y as u32, q.z as u32])) << 32 | t as u64;
        }
    });
    par::sort_unstable(&mut keys);
    let last = keys.last().map_or(0, |k| *k as u32);
    let padded = count.div_ceil(WIDTH) * WIDTH;
    keys.iter().map(|&k| k as u32).chain(core::iter::repeat(last)).take(padded).collect()
}

/// Index along a 3D Hilbert curve of 10 bits an axis (Skilling's transposed form, interleaved).
fn hilbert(mut x: [u32; 3]) -> u32 {
    let mut q = 1 << 9;
    while q > 1 {
        let p = q - 1;
        for i in 0..3 {
            if x[i] & q != 0 {
                x[0] ^= p;
            } else {
                let t = (x[0] ^ x[i]) & p;
                x[0] ^= t;
                x[i] ^= t;
            }
        }
        q >>= 1;
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    let mut t = 0;
    let mut q = 1 << 9;
    while q > 1 {
        if x[2] & q != 0 {
            t ^= q - 1;
        }
        q >>= 1;
    }
    let x = x.map(|v| v ^ t);
    spread(x[0]) << 2 | spread(x[1]) << 1 | spread(x[2])
}

/// Ten bits with two zeros between each.
fn spread(v: u32) -> u32 {
    let v = (v | v << 16) & 0x0300_00FF;
    let v = (v | v << 8) & 0x0300_F00F;
    let v = (v | v << 4) & 0x030C_30C3;
    (v | v << 2) & 0x0924_9249
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
    core::array::from_fn(|i| {
        let rows = [&block[i % 3], &block[i % 3 + 3], &block[i % 3 + 6]];
        let all = rows.into_iter().flatten().copied();
        if i < 3 { all.fold(f32::INFINITY, f32::min) } else { all.fold(f32::NEG_INFINITY, f32::max) }
    })
}

/// Empty boxes have all six bounds at +∞: they must not enter the upper bounds.
fn box_of_boxes(boxes: &Boxes) -> [f32; 6] {
    core::array::from_fn(|i| {
        let filled = boxes[i].iter().zip(&boxes[0]).filter(|(_, low)| low.is_finite()).map(|(v, _)| *v);
        if i < 3 { filled.fold(f32::INFINITY, f32::min) } else { filled.fold(f32::NEG_INFINITY, f32::max) }
    })
}

/// Area-weighted normals of the tree's nodes, for winding numbers.
#[derive(Debug)]
pub(crate) struct Dipoles {
    /// Per level as in the tree, level 0 for leaf blocks: centre, radius, sum of area vectors.
    levels: Vec<Vec<Dipole>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Dipole {
    centre: DVec3,
    radius: f64,
    area: DVec3,
    weight: f64,
}

impl Dipoles {
    /// Sums of all nodes of `bvh`.
    pub(crate) fn build(bvh: &Bvh, surface: &Surface) -> Self {
        let count = surface.triangles.len();
        let leaf = |block: usize| {
            let lanes = block * WIDTH..((block + 1) * WIDTH).min(count);
            let tris = lanes.clone().map(|i| surface.corners_of(bvh.order[i] as usize));
            combine(tris.map(|[a, b, c]| {
                let area = 0.5 * (b - a).cross(c - a);
                let centre = (a + b + c) / 3.0;
                let radius = (a - centre).length().max((b - centre).length()).max((c - centre).length());
                Dipole { centre, radius, area, weight: area.length() }
            }))
        };
        let mut levels = vec![par::map(bvh.blocks.len(), leaf)];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            let above = below.chunks(WIDTH).map(|c| combine(c.iter().copied())).collect();
            levels.push(above);
        }
        Self { levels }
    }

    /// Winding number of the surface around `p`: 1 inside, 0 outside of a closed surface, between on open ones.
    /// Within about 0.02 of the exact sum of solid angles.
    pub(crate) fn winding(&self, bvh: &Bvh, surface: &Surface, p: DVec3) -> f64 {
        let mut solid = 0.0;
        let mut stack = Vec::with_capacity(STACK);
        stack.push((self.levels.len() - 1, 0usize));
        while let Some((level, index)) = stack.pop() {
            let d = self.levels[level][index];
            let r = d.centre - p;
            let distance = r.length();
            if distance > FAR * d.radius {
                solid += d.area.dot(r) / (distance * distance * distance);
            } else if level == 0 {
                let lanes = index * WIDTH..((index + 1) * WIDTH).min(surface.triangles.len());
                for lane in lanes {
                    solid += solid_angle(surface.corners_of(bvh.order[lane] as usize).map(|c| c - p));
                }
            } else {
                let children = index * WIDTH..((index + 1) * WIDTH).min(self.levels[level - 1].len());
                stack.extend(children.map(|c| (level - 1, c)));
            }
        }
        solid / (4.0 * core::f64::consts::PI)
    }
}

fn combine(parts: impl Iterator<Item = Dipole> + Clone) -> Dipole {
    let (mut centre, mut area, mut weight) = (DVec3::ZERO, DVec3::ZERO, 0.0);
    for d in parts.clone() {
        centre += d.centre * d.weight;
        area += d.area;
        weight += d.weight;
    }
    if weight > 0.0 {
        centre /= weight;
    }
    let radius = parts.map(|d| (d.centre - centre).length() + d.radius).fold(0.0, f64::max);
    Dipole { centre, radius, area, weight }
}

/// Solid angle of a triangle seen from the origin, positive from its back (Van Oosterom and Strackee).
fn solid_angle([a, b, c]: [DVec3; 3]) -> f64 {
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let numerator = a.dot(b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * numerator.atan2(denominator)
}
