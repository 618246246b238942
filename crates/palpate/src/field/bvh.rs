//! Closest triangle of any point: a tree of eight-wide boxes over triangles in the order of a space-filling curve.
//!
//! The tree is implicit: leaves are blocks of eight consecutive triangles, each parent has eight consecutive
//! children, so building it is a few linear passes. Used for the background grid of a field, where the
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
const FAR: f64 = 2.0;
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
    /// Number of triangles; lane i of block b is triangle 8·b + i, the last one repeated.
    count: usize,
    blocks: Vec<Block>,
    /// `levels[0]` holds the boxes of leaf blocks, eight to an entry, the last level one entry.
    levels: Vec<Vec<Boxes>>,
}

impl Bvh {
    /// Builds all levels. The surface must have a triangle.
    pub(crate) fn build(surface: &Surface) -> Self {
        let triangles = surface.triangles.len();
        let count = triangles.div_ceil(WIDTH);
        let mut blocks = vec![[[0.0; WIDTH]; 9]; count];
        par::chunks_mut(&mut blocks, CHUNK, |chunk, out| {
            for (i, block) in out.iter_mut().enumerate() {
                let first = (chunk * CHUNK + i) * WIDTH;
                let lane = |l: usize| surface.corners_of((first + l).min(triangles - 1)).map(|p| p.as_vec3());
                let corners: [[Vec3; 3]; WIDTH] = core::array::from_fn(lane);
                *block = core::array::from_fn(|row| corners.map(|c| c[row / 3][row % 3]));
            }
        });
        let mut levels = vec![group(count, |i| box_of_block(&blocks[i]))];
        while levels[levels.len() - 1].len() > 1 {
            let below = &levels[levels.len() - 1];
            let above = group(below.len(), |i| box_of_boxes(&below[i]));
            levels.push(above);
        }
        Self { count: triangles, blocks, levels }
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
        search.triangle = (leaf * WIDTH + lane).min(bvh.count - 1) as u32;
    }
}

/// Three lanes: a vector for each of eight triangles.
type V3<L> = [L; 3];

// Kernels use functions, not closures: a closure does not inherit the caller's target features, so the intrinsics in
// it would stay calls.

#[inline(always)]
fn dot<L: Lanes>(a: V3<L>, b: V3<L>) -> L {
    a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]))
}

#[inline(always)]
fn minus<L: Lanes>(a: V3<L>, b: V3<L>) -> V3<L> {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])]
}

#[inline(always)]
fn cross<L: Lanes>(a: V3<L>, b: V3<L>) -> V3<L> {
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
fn triangle_distances<L: Lanes>(block: &Block, p: V3<L>) -> L {
    let zero = L::splat(0.0);
    let v = [corner_from(block, 0, p), corner_from(block, 1, p), corner_from(block, 2, p)];
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
            let tris = lanes.clone().filter(|i| !surface.is_sheet(*i)).map(|i| surface.corners_of(i));
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
    pub(crate) fn winding(&self, surface: &Surface, p: DVec3) -> f64 {
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
                for lane in lanes.filter(|i| !surface.is_sheet(*i)) {
                    solid += solid_angle(surface.corners_of(lane).map(|c| c - p));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Mesh, samples, winding_number_exact};

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The tree's winding number stays near the exact sum, so that 1/2 is never crossed by it.
    #[test]
    fn dipoles_stay_near_the_exact_winding_number() {
        for name in ["torus-knot", "gear", "cube-missing-face"] {
            let raw = samples::by_name(name).expect("a sample");
            let mesh = Mesh::new(raw, &Default::default()).unwrap();
            let surface = Surface::new(mesh.positions(), mesh.triangles(), mesh.topology());
            let bvh = Bvh::build(&surface);
            let dipoles = Dipoles::build(&bvh, &surface);
            let b = mesh.aabb();
            let mut state = 3;
            let mut worst = 0.0f64;
            for _ in 0..300 {
                let p = b.min
                    + b.extent() * DVec3::new(random(&mut state), random(&mut state), random(&mut state));
                let exact = winding_number_exact(mesh.positions(), mesh.triangles(), p);
                worst = worst.max((dipoles.winding(&surface, p) - exact).abs());
            }
            assert!(worst < 0.1, "{name}: off by {worst}");
        }
    }
}
