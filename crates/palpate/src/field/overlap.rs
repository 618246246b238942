//! What a search over two surfaces needs of one of them: triangles in a box, balls around parts of it, and its pieces.

use super::bvh::{Block, Boxes, Bvh, STACK, V3, WIDTH, corners_of, cross, dot, minus};
use super::exact::Exact;
use crate::simd::{LANES, Lanes, dispatch};
use glam::DVec3;

/// Vertices of one connected piece that reach farthest along each axis, both ways [voxels].
pub(crate) type Extremes = [DVec3; 6];

impl Exact {
    /// Place and unit of the grid that the functions here use [m]. Triangles have their number in the tree here.
    pub(crate) fn grid(&self) -> (DVec3, f64) {
        (self.origin, self.voxel)
    }

    /// The farthest coordinate of any vertex [voxels].
    pub(crate) fn farthest(&self) -> f64 {
        self.middle.abs().max_element() + self.radius
    }

    /// Mean square size of a triangle, roughly [m²].
    pub(crate) fn grain(&self) -> f64 {
        let radius = self.radius * self.voxel;
        radius * radius / self.triangles.len() as f64
    }

    /// How far rounding to f32 moves the boxes and balls [voxels].
    pub(crate) fn doubt(&self) -> f64 {
        self.slack
    }

    /// Corners of a triangle [voxels].
    #[inline]
    pub(crate) fn corners(&self, t: usize) -> [DVec3; 3] {
        self.triangles[t].map(|v| self.positions[v as usize])
    }

    /// The level of the tree that has one entry, of eight items. Level 0: an item is a block of triangles.
    pub(crate) fn top(&self) -> usize {
        self.bvh.levels.len() - 1
    }

    /// Balls around the items of an entry: middle and radius [voxels]; the radius is negative where there is no item. Item i of
    /// entry e is entry 8·e + i of the level below, or block 8·e + i.
    pub(crate) fn balls(&self, level: usize, entry: usize) -> [(DVec3, f64); LANES] {
        let boxes = &self.bvh.levels[level][entry];
        core::array::from_fn(|i| {
            if !boxes[0][i].is_finite() {
                return (DVec3::ZERO, -1.0);
            }
            let at = |row: usize| {
                DVec3::new(
                    f64::from(boxes[row][i]),
                    f64::from(boxes[row + 1][i]),
                    f64::from(boxes[row + 2][i]),
                )
            };
            let (low, high) = (at(0), at(3));
            (0.5 * (low + high), 0.5 * (high - low).length())
        })
    }

    /// The triangles of a block.
    pub(crate) fn triangles_of(&self, block: usize) -> core::ops::Range<usize> {
        self.bvh.triangles_of(block)
    }

    /// Adds the triangles that one with these corners may meet while it moves by `sweep` [voxels]: all that do, and some beside them. In
    /// order; no allocation while `out` has room.
    pub(crate) fn in_the_way(&self, corners: [DVec3; 3], sweep: DVec3, out: &mut Vec<u32>) {
        let [a, b, c] = corners;
        let low = a.min(b).min(c) + sweep.min(DVec3::ZERO) - self.slack;
        let high = a.max(b).max(c) + sweep.max(DVec3::ZERO) + self.slack;
        let sides = [b - a, c - a, sweep];
        // Rounding of differences, and of products with them.
        let reach = (a - self.middle).length() + self.radius + sides.iter().map(|s| s.length()).sum::<f64>();
        let vector = |v: DVec3| v.as_vec3().to_array();
        let swept = Swept {
            low: vector(low),
            high: vector(high),
            corner: vector(a),
            sides: sides.map(vector),
            slack: (2.0 * self.slack + 1e-6 * reach) as f32,
        };
        gather(&self.bvh, &swept, self.triangles.len(), out);
    }

    /// The extremes of every piece of the surface that is connected by common vertices. Made when first asked for, in linear time.
    pub(crate) fn pieces(&self) -> &[Extremes] {
        self.pieces.get_or_init(|| pieces(&self.positions, &self.triangles))
    }
}

fn pieces(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Extremes> {
    let mut parent: Vec<u32> = (0..positions.len() as u32).collect();
    for t in triangles {
        for v in [t[1], t[2]] {
            let (one, other) = (root(&mut parent, t[0]), root(&mut parent, v));
            parent[one.max(other) as usize] = one.min(other);
        }
    }
    let mut of = vec![u32::MAX; positions.len()];
    let mut out: Vec<Extremes> = Vec::new();
    for v in triangles.iter().flatten() {
        let (p, r) = (positions[*v as usize], root(&mut parent, *v) as usize);
        if of[r] == u32::MAX {
            of[r] = out.len() as u32;
            out.push([p; 6]);
        }
        let extremes = &mut out[of[r] as usize];
        for axis in 0..3 {
            if p[axis] < extremes[axis][axis] {
                extremes[axis] = p;
            }
            if p[axis] > extremes[axis + 3][axis] {
                extremes[axis + 3] = p;
            }
        }
    }
    out
}

fn root(parent: &mut [u32], mut v: u32) -> u32 {
    while parent[v as usize] != v {
        let above = parent[parent[v as usize] as usize];
        parent[v as usize] = above;
        v = above;
    }
    v
}

/// A triangle and its motion [voxels].
struct Swept {
    /// The box around both.
    low: [f32; 3],
    high: [f32; 3],
    /// A corner, and from it to the two others and along the motion.
    corner: [f32; 3],
    sides: [[f32; 3]; 3],
    /// Gap that counts as none.
    slack: f32,
}

dispatch! {
    fn gather / gather_plain = gather_kernel(bvh: &Bvh, swept: &Swept, count: usize, out: &mut Vec<u32>)
}

#[inline(always)]
fn gather_kernel<L: Lanes>(bvh: &Bvh, swept: &Swept, count: usize, out: &mut Vec<u32>) {
    let moving = Moving::<L>::new(swept);
    let mut stack = [(0u8, 0u32); STACK];
    stack[0] = ((bvh.levels.len() - 1) as u8, 0);
    let mut top = 1;
    while top > 0 {
        top -= 1;
        let (level, index) = stack[top];
        let mut live = moving.boxes_met(&bvh.levels[level as usize][index as usize]);
        while live != 0 {
            if level == 0 {
                let lane = live.trailing_zeros();
                live &= live - 1;
                let block = index as usize * WIDTH + lane as usize;
                let mut met = moving.triangles_met(&bvh.blocks[block]);
                while met != 0 {
                    let t = block * WIDTH + met.trailing_zeros() as usize;
                    met &= met - 1;
                    // The last triangle is repeated.
                    if t < count {
                        out.push(t as u32);
                    }
                }
            } else {
                // The first last, to be taken next.
                let lane = 31 - live.leading_zeros();
                live &= !(1 << lane);
                stack[top] = (level - 1, index * WIDTH as u32 + lane);
                top += 1;
            }
        }
    }
}

/// [`Swept`] as lanes, with the slab between the planes of its first and last place.
struct Moving<L> {
    range: [L; 6],
    corner: V3<L>,
    sides: [V3<L>; 3],
    slack: L,
    normal: V3<L>,
    /// Absolute values of `normal`.
    tilt: V3<L>,
    /// Along `normal` from `corner`, with the slack.
    slab: [L; 2],
}

impl<L: Lanes> Moving<L> {
    #[inline(always)]
    fn new(s: &Swept) -> Self {
        let (corner, slack) = (splat(s.corner), L::splat(s.slack));
        let sides: [V3<L>; 3] = [splat(s.sides[0]), splat(s.sides[1]), splat(s.sides[2])];
        let range = [s.low[0], s.low[1], s.low[2], s.high[0], s.high[1], s.high[2]].map(L::splat);
        let normal = cross(sides[0], sides[1]);
        let tilt = [normal[0].abs(), normal[1].abs(), normal[2].abs()];
        let slab = shadow(L::splat(0.0), sides, normal, slack);
        Self { range, corner, sides, slack, normal, tilt, slab }
    }

    /// Which of eight boxes meet the range and the slab; empty ones, at +∞, do not.
    #[inline(always)]
    fn boxes_met(&self, boxes: &Boxes) -> u32 {
        let (zero, half) = (L::splat(0.0), L::splat(0.5));
        let mut gap = zero;
        let (mut middle, mut reach) = (zero, zero);
        for axis in 0..3 {
            let (low, high) = (L::load(&boxes[axis]), L::load(&boxes[axis + 3]));
            gap = gap.max(low.sub(self.range[axis + 3])).max(self.range[axis].sub(high));
            let (low, high) = (low.sub(self.corner[axis]), high.sub(self.corner[axis]));
            middle = middle.add(self.normal[axis].mul(half.mul(low.add(high))));
            reach = reach.add(self.tilt[axis].mul(half.mul(high.sub(low))));
        }
        // Of empty boxes this is not a number, which excludes nothing.
        let beside = L::or(self.slab[1].lt(middle.sub(reach)), middle.add(reach).lt(self.slab[0]));
        0xff & !L::bits(L::or(zero.lt(gap), beside))
    }

    /// Which of eight triangles have boxes that meet the range, corners in the slab or on both sides of it, and a plane that the moving
    /// one meets.
    #[inline(always)]
    fn triangles_met(&self, block: &Block) -> u32 {
        let zero = L::splat(0.0);
        let v = corners_of::<L>(block);
        let mut gap = zero;
        for axis in 0..3 {
            let (a, b, c) = (L::load(&block[axis]), L::load(&block[axis + 3]), L::load(&block[axis + 6]));
            gap = gap.max(a.min(b).min(c).sub(self.range[axis + 3]));
            gap = gap.max(self.range[axis].sub(a.max(b).max(c)));
        }
        let v = [minus(v[0], self.corner), minus(v[1], self.corner), minus(v[2], self.corner)];
        let (a, b, c) = (dot(v[0], self.normal), dot(v[1], self.normal), dot(v[2], self.normal));
        let beside = L::or(self.slab[1].lt(a.min(b).min(c)), a.max(b).max(c).lt(self.slab[0]));
        let n = cross(minus(v[1], v[0]), minus(v[2], v[0]));
        let [low, high] = shadow(zero.sub(dot(v[0], n)), self.sides, n, self.slack);
        let off = L::or(zero.lt(low), high.lt(zero));
        0xff & !L::bits(L::or(L::or(zero.lt(gap), beside), off))
    }
}

#[inline(always)]
fn splat<L: Lanes>(v: [f32; 3]) -> V3<L> {
    [L::splat(v[0]), L::splat(v[1]), L::splat(v[2])]
}

/// The shadow along `n` of a moving triangle, from least to most, with the slack. `at` is that of its corner.
#[inline(always)]
fn shadow<L: Lanes>(at: L, sides: [V3<L>; 3], n: V3<L>, slack: L) -> [L; 2] {
    let zero = L::splat(0.0);
    let (a, b, along) = (dot(sides[0], n), dot(sides[1], n), dot(sides[2], n));
    let slack = n[0].abs().add(n[1].abs()).add(n[2].abs()).mul(slack);
    let low = zero.min(a).min(b).add(zero.min(along)).sub(slack);
    let high = zero.max(a).max(b).add(zero.max(along)).add(slack);
    [at.add(low), at.add(high)]
}

#[cfg(test)]
#[path = "overlap_tests.rs"]
mod tests;
