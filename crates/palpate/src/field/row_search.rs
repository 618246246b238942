//! Distances of eight neighbouring nodes of a row at once: what one search costs, for all of them.

use super::bvh::{Block, Boxes, Bvh, Discs, STACK, V3, WIDTH, distances_to, dot, minus, most, nearest};
use crate::simd::{LANES, Lanes, dispatch};

dispatch! {
    /// Lowers the squared distances `best` of eight nodes, x to x + 7 at y and z, to those of the closest triangles, where these
    /// are nearer [voxels²], until none can be nearer by more than `give` [voxels]. A negative one is left as it is.
    pub(crate) fn closest_of_row / closest_of_row_plain =
        row_kernel(bvh: &Bvh, at: [f32; 3], give: f32, best: &mut [f32; LANES])
}

#[inline(always)]
fn row_kernel<L: Lanes>(bvh: &Bvh, at: [f32; 3], give: f32, best: &mut [f32; LANES]) {
    const X: [f32; LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let p = [L::splat(at[0]).add(L::load(&X)), L::splat(at[1]), L::splat(at[2])];
    let mut found = L::load(best);
    let mut wanted = less(found, give);
    let mut limit = most(wanted);
    let mut stack = [(0u8, 0u32, 0.0f32); STACK];
    stack[0] = ((bvh.levels.len() - 1) as u8, 0, 0.0);
    let mut top = 1;
    while top > 0 {
        top -= 1;
        let (level, index, bound) = stack[top];
        if bound >= limit {
            continue;
        }
        let d = gaps::<L>(&bvh.levels[level as usize][index as usize], at);
        let mut live = L::bits(d.lt(L::splat(limit)));
        let mut distances = [0.0; WIDTH];
        d.store(&mut distances);
        let discs = bvh.discs.get(level as usize).map(|d| &d[index as usize]);
        if level == 0 {
            while live != 0 {
                let lane = nearest(&distances, live);
                live &= !(1 << lane);
                if distances[lane] >= limit {
                    break;
                }
                if discs.is_none_or(|d| L::bits(disc::<L>(d, lane, p).lt(wanted)) != 0) {
                    found = block::<L>(&bvh.blocks[index as usize * WIDTH + lane], p, found);
                    wanted = less(found, give);
                    limit = most(wanted);
                }
            }
        } else {
            let from = top;
            while live != 0 {
                let lane = live.trailing_zeros() as usize;
                live &= live - 1;
                if discs.is_some_and(|d| L::bits(disc::<L>(d, lane, p).lt(wanted)) == 0) {
                    continue;
                }
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
    found.store(best);
}

/// The squares of distances less `give`; negative where these are.
#[inline(always)]
fn less<L: Lanes>(squared: L, give: f32) -> L {
    let zero = L::splat(0.0);
    let d = squared.max(zero).sqrt().sub(L::splat(give)).max(zero);
    L::select(squared.lt(zero), squared, d.mul(d))
}

/// Squared gaps between the row and eight boxes; +∞ for empty ones.
#[inline(always)]
fn gaps<L: Lanes>(boxes: &Boxes, at: [f32; 3]) -> L {
    let zero = L::splat(0.0);
    let mut sum = zero;
    for axis in 0..3 {
        let low = L::splat(at[axis]);
        let high = if axis == 0 { L::splat(at[0] + (LANES - 1) as f32) } else { low };
        let gap = L::load(&boxes[axis]).sub(high).max(low.sub(L::load(&boxes[axis + 3]))).max(zero);
        sum = sum.add(gap.mul(gap));
    }
    sum
}

/// Squared distances of the nodes to one disc, a little less than true.
#[inline(always)]
fn disc<L: Lanes>(discs: &Discs, lane: usize, p: V3<L>) -> L {
    let zero = L::splat(0.0);
    let away = minus(p, [L::splat(discs[0][lane]), L::splat(discs[1][lane]), L::splat(discs[2][lane])]);
    let n = [L::splat(discs[3][lane]), L::splat(discs[4][lane]), L::splat(discs[5][lane])];
    let along = dot(away, n);
    let across = dot(away, away).sub(along.mul(along)).max(zero);
    let rise = along.abs().sub(L::splat(discs[6][lane])).max(zero);
    let gap = across.sqrt().sub(L::splat(discs[7][lane])).max(zero);
    rise.mul(rise).add(gap.mul(gap)).mul(L::splat(1.0 - 1e-4))
}

/// The lower of `found` and the squared distances of the nodes to the triangles of a block.
#[inline(always)]
fn block<L: Lanes>(block: &Block, p: V3<L>, found: L) -> L {
    let mut found = found;
    for lane in 0..WIDTH {
        let v =
            [corner::<L>(block, 0, lane, p), corner::<L>(block, 1, lane, p), corner::<L>(block, 2, lane, p)];
        found = distances_to(v).min(found);
    }
    found
}

#[inline(always)]
fn corner<L: Lanes>(block: &Block, c: usize, lane: usize, p: V3<L>) -> V3<L> {
    let at =
        [L::splat(block[3 * c][lane]), L::splat(block[3 * c + 1][lane]), L::splat(block[3 * c + 2][lane])];
    minus(at, p)
}
