//! The order of triangles along a space-filling curve: consecutive ones are near each other.
//!
//! Based on: Skilling, Programming the Hilbert curve, 2004 [skilling04].
//! Differs: without branches, so that eight keys are made at once.

use crate::par;
use glam::DVec3;

/// Triangles per parallel work item.
const CHUNK: usize = 4096;
/// Bits of a key along each axis.
const BITS: u32 = 10;
/// Keys made at once.
const GROUP: usize = 8;

/// Numbers of the triangles along a Hilbert curve through their centres.
pub fn curve_order(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<u32> {
    let parts = par::map(positions.len().div_ceil(CHUNK), |i| {
        let part = &positions[i * CHUNK..((i + 1) * CHUNK).min(positions.len())];
        part.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)))
    });
    let (low, high) =
        parts.into_iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), (a, b)| (l.min(a), h.max(b)));
    let sum = |i: usize| {
        let [a, b, c] = triangles[i];
        positions[a as usize] + positions[b as usize] + positions[c as usize]
    };
    order_along(triangles.len(), low * 3.0, (high - low).max_element(), 3.0, sum)
}

/// Numbers of `count` places along a Hilbert curve through the cube with an edge of `size` times `unit` from `low` on; what is outside
/// counts as on its border, and what is no place as in a corner.
pub(super) fn order_along(
    count: usize,
    low: DVec3,
    size: f64,
    unit: f64,
    place: impl Fn(usize) -> DVec3 + Sync + Send,
) -> Vec<u32> {
    let most = f64::from((1u32 << BITS) - 1);
    let scale = most / size.max(1e-300) / unit;
    let mut keys = vec![0u64; count];
    par::chunks_mut(&mut keys, CHUNK, |chunk, out| {
        for (g, keys) in out.chunks_mut(GROUP).enumerate() {
            let first = chunk * CHUNK + g * GROUP;
            let mut x = [[0u32; GROUP]; 3];
            let count = keys.len();
            let [xs, ys, zs] = &mut x;
            for (lane, ((x, y), z)) in xs.iter_mut().zip(ys).zip(zs).take(count).enumerate() {
                let q = ((place(first + lane) - low) * scale).min(DVec3::splat(most));
                // Casts make 0 of what is negative or no number.
                (*x, *y, *z) = (q.x as u32, q.y as u32, q.z as u32);
            }
            for (lane, (key, h)) in keys.iter_mut().zip(hilbert(x)).enumerate() {
                *key = u64::from(h) << 32 | (first + lane) as u64;
            }
        }
    });
    // Two halves, each sorted on its own, then merged: the same order for any number of threads.
    let middle = keys.len() / 2;
    let (low, high) = keys.split_at_mut(middle);
    par::join(|| sort_by_high_bits(low), || sort_by_high_bits(high));
    merge(low, high)
}

/// The low halves of two sorted lists of keys, in the order of the keys.
fn merge(a: &[u64], b: &[u64]) -> Vec<u32> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let first = a[i] < b[j];
        out.push(if first { a[i] } else { b[j] } as u32);
        i += usize::from(first);
        j += usize::from(!first);
    }
    out.extend(a[i..].iter().chain(&b[j..]).map(|k| *k as u32));
    out
}

/// Stable sort by bits 32..62: three counting passes over ten bits each.
fn sort_by_high_bits(keys: &mut [u64]) {
    let mut other = vec![0u64; keys.len()];
    pass(keys, &mut other, 32);
    pass(&other, keys, 42);
    pass(keys, &mut other, 52);
    keys.copy_from_slice(&other);
}

/// Distributes keys by ten bits, from bit `shift` on.
fn pass(from: &[u64], to: &mut [u64], shift: u32) {
    let mut first = [0usize; 1024];
    for k in from {
        first[(k >> shift) as usize & 1023] += 1;
    }
    let mut sum = 0;
    for f in &mut first {
        sum += core::mem::replace(f, sum);
    }
    for k in from {
        let f = &mut first[(k >> shift) as usize & 1023];
        to[*f] = *k;
        *f += 1;
    }
}

/// Indices along a 3D Hilbert curve of [`BITS`] bits an axis.
fn hilbert([mut x, mut y, mut z]: [[u32; GROUP]; 3]) -> [u32; GROUP] {
    let mut out = [0; GROUP];
    for lane in 0..GROUP {
        let (mut a, mut b, mut c) = (x[lane], y[lane], z[lane]);
        let mut bit = BITS - 1;
        while bit > 0 {
            let p = (1 << bit) - 1;
            a ^= p & (a >> bit & 1).wrapping_neg();
            (a, b) = exchange(a, b, p, bit);
            (a, c) = exchange(a, c, p, bit);
            bit -= 1;
        }
        (x[lane], y[lane], z[lane]) = (a, b, c);
    }
    for lane in 0..GROUP {
        let a = x[lane];
        let b = y[lane] ^ a;
        let c = z[lane] ^ b;
        let mut t = 0;
        let mut bit = BITS - 1;
        while bit > 0 {
            t ^= ((1 << bit) - 1) & (c >> bit & 1).wrapping_neg();
            bit -= 1;
        }
        out[lane] = spread(a ^ t) << 2 | spread(b ^ t) << 1 | spread(c ^ t);
    }
    out
}

/// Where `other` has the bit, the lower bits of `first` are inverted; elsewhere the two swap them.
#[inline(always)]
fn exchange(first: u32, other: u32, lower: u32, bit: u32) -> (u32, u32) {
    let set = (other >> bit & 1).wrapping_neg();
    let swap = (first ^ other) & lower & !set;
    (first ^ (lower & set) ^ swap, other ^ swap)
}

/// Ten bits with two zeros between each.
fn spread(v: u32) -> u32 {
    let v = (v | v << 16) & 0x0300_00FF;
    let v = (v | v << 8) & 0x0300_F00F;
    let v = (v | v << 4) & 0x030C_30C3;
    (v | v << 2) & 0x0924_9249
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consecutive indices are neighbouring cubes, and every cube has its own: on the curve's lowest levels.
    #[test]
    fn consecutive_indices_are_neighbours() {
        let side = 16u32;
        let mut at = vec![None; (side * side * side) as usize];
        for n in 0..side * side * side {
            let p = [n % side, n / side % side, n / side / side];
            let index = hilbert(p.map(|v| [v; GROUP]))[n as usize % GROUP] as usize;
            assert!(at[index].replace(p).is_none(), "two cubes at {index}");
        }
        for pair in at.windows(2) {
            let [a, b] = [pair[0].unwrap(), pair[1].unwrap()];
            assert_eq!((0..3).map(|i| a[i].abs_diff(b[i])).sum::<u32>(), 1);
        }
    }
}
