//! The point of a tree nearest to a place: where a walk over the surface begins.

use super::Tree;
use crate::simd::{LANES, Lanes, dispatch};
use glam::{DVec3, Vec3};

/// Nodes that can be on the stack: those of a tree of ten levels with clusters of twelve. More are dropped, farthest first.
const STACK: usize = 128;

impl Tree {
    /// The point nearest to `p`, in the shape's frame [m]; none without points.
    ///
    /// Nearest up to rounding, and always near: about 0.2 µs, for tens of thousands of points.
    pub fn nearest(&self, p: DVec3) -> Option<usize> {
        self.nearly_nearest(p, 0.0)
    }

    /// A point at most `give` [m] farther from `p` than the nearest, as [`Tree::nearest`]; from far away several times quicker.
    pub(crate) fn nearly_nearest(&self, p: DVec3, give: f64) -> Option<usize> {
        let p = (p - self.origin).as_vec3();
        if self.is_empty() || !p.is_finite() {
            return None;
        }
        let mut search = Search { p, give: give as f32, best: f32::INFINITY, limit: f32::INFINITY, point: 0 };
        nearest(self, &mut search);
        Some(search.point as usize)
    }
}

struct Search {
    p: Vec3,
    /// Nodes must be nearer than the best by this.
    give: f32,
    /// Squared distance to beat, and to be below for a node.
    best: f32,
    limit: f32,
    point: u32,
}

dispatch! {
    fn nearest / nearest_plain = kernel(tree: &Tree, search: &mut Search)
}

#[inline(always)]
fn kernel<L: Lanes>(tree: &Tree, s: &mut Search) {
    let mut stack = [(0u32, 0u32, 0.0f32); STACK];
    let mut top = 1;
    let p = [L::splat(s.p.x), L::splat(s.p.y), L::splat(s.p.z)];
    let last = tree.levels.len() - 1;
    while top > 0 {
        top -= 1;
        let (level, node, bound) = stack[top];
        if bound >= s.limit {
            continue;
        }
        let [mut at, end] = match tree.levels[level as usize].first[node as usize..] {
            [from, to, ..] => [from, to],
            _ => continue,
        };
        let (leaf, from) = (level as usize == last, top);
        while at < end {
            let live = if end - at >= LANES as u32 { 0xff } else { (1 << (end - at)) - 1 };
            let mut values = [0.0; LANES];
            let value = if leaf {
                squared::<L>(&tree.position, at, p)
            } else {
                let below = &tree.levels[level as usize + 1];
                let Some(balls) = below.balls[at as usize..].first_chunk() else { break };
                let [x, y, z, r] = L::load_quads(balls, 0);
                let gap = square(x.sub(p[0]), y.sub(p[1]), z.sub(p[2])).sqrt().sub(r);
                let [x, y, z, r] = L::load_quads(balls, 1);
                let behind = square(x.sub(p[0]), y.sub(p[1]), z.sub(p[2])).sqrt().sub(r);
                let gap = gap.max(behind).max(L::splat(0.0));
                gap.mul(gap)
            };
            value.store(&mut values);
            let mut bits: u32 = L::bits(value.lt(L::splat(if leaf { s.best } else { s.limit }))) & live;
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if leaf {
                    if values[lane] < s.best {
                        (s.best, s.point) = (values[lane], at + lane as u32);
                        let limit = (s.best.sqrt() - s.give).max(0.0);
                        s.limit = limit * limit;
                    }
                } else if top < STACK {
                    let mut place = top;
                    while place > from && stack[place - 1].2 < values[lane] {
                        stack[place] = stack[place - 1];
                        place -= 1;
                    }
                    stack[place] = (level + 1, at + lane as u32, values[lane]);
                    top += 1;
                }
            }
            at += LANES as u32;
        }
    }
}

#[inline(always)]
fn lanes<L: Lanes>(v: &[f32], at: u32) -> L {
    L::load(v[at as usize..].first_chunk().unwrap_or(&[0.0; LANES]))
}

#[inline(always)]
fn squared<L: Lanes>(v: &[Vec<f32>; 3], at: u32, p: [L; 3]) -> L {
    let x = lanes::<L>(&v[0], at).sub(p[0]);
    let y = lanes::<L>(&v[1], at).sub(p[1]);
    let z = lanes::<L>(&v[2], at).sub(p[2]);
    square(x, y, z)
}

#[inline(always)]
fn square<L: Lanes>(x: L, y: L, z: L) -> L {
    x.mul(x).add(y.mul(y)).add(z.mul(z))
}
