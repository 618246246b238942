//! Numbered layers on both sides of the surface voxels.
//!
//! Based on: Sagardia, Hulin, Preusche, Hirzinger, 2008, sec. 3.2 "Layering" [sagardia08].
//! Differs: our sign is positive outside. The paper does not name its neighbourhood; ours is 26 (chessboard
//! distance), see [`super::Voxmap::layer`]. Both sides are grown at once, whole words at a time, along x, y and z
//! in turn; the side is the voxel's own. The number is stored in binary, one bit plane a digit.

use super::fill::{COLUMN_0, COLUMN_7, Filled, along_x};
use super::{BuildError, Grid, INSIDE, OUTSIDE, TILE, Tile, Voxmap};
use crate::par;
use crate::progress::Progress;

/// Directory marks, while layers are numbered, of uniform tiles that layers reach.
const OUTSIDE_REACHED: u32 = u32::MAX - 3;
const INSIDE_REACHED: u32 = u32::MAX - 4;

/// Tiles handled as one piece of parallel work: about 10 µs.
const PIECE: usize = 512;

/// Numbers `layers` layers in each direction.
pub(super) fn number(
    filled: Filled,
    grid: &Grid,
    layers: u32,
    progress: &dyn Progress,
) -> Result<Voxmap, BuildError> {
    progress.stage("layers", u64::from(layers));
    let Filled { mut directory, surface, inside, report, stats } = filled;
    let dims = grid.tile_dims().map(|n| n as usize);
    mark_reached(&mut directory, &surface, dims, layers);
    let (places, surface, inside) = renumber(&mut directory, &surface, &inside);
    let layer_bits = (u32::BITS - layers.leading_zeros()) as usize;
    let mut planes = vec![[0; 8]; surface.len() * layer_bits];
    let sides = if layers == 0 { Vec::new() } else { neighbours(&directory, &places, dims) };
    // One tile more, always empty, stands for every tile that is not stored.
    let mut grown = surface.clone();
    grown.push([0; 8]);
    let (mut x, mut y) = (vec![[0; 8]; grown.len()], vec![[0; 8]; grown.len()]);
    for layer in 1..=layers {
        if progress.cancelled() {
            return Err(BuildError::Cancelled);
        }
        grow(
            &mut x,
            &sides,
            |t, low, high| {
                core::array::from_fn(|w| {
                    along_x(grown[t][w]) | (grown[low][w] >> 7 & COLUMN_0) | (grown[high][w] << 7 & COLUMN_7)
                })
            },
            0,
        );
        grow(
            &mut y,
            &sides,
            |t, low, high| {
                core::array::from_fn(|w| {
                    x[t][w] | x[t][w] << 8 | x[t][w] >> 8 | x[low][w] >> 56 | x[high][w] << 56
                })
            },
            1,
        );
        grow(
            &mut x,
            &sides,
            |t, low, high| {
                let z = |w: usize| y[t][w];
                core::array::from_fn(|w| {
                    let below = if w == 0 { y[low][7] } else { z(w - 1) };
                    let above = if w == 7 { y[high][0] } else { z(w + 1) };
                    z(w) | below | above
                })
            },
            2,
        );
        par::chunks_mut(&mut planes, PIECE * layer_bits, |piece, out| {
            for (i, digits) in out.chunks_mut(layer_bits).enumerate() {
                let t = piece * PIECE + i;
                for (_, plane) in digits.iter_mut().enumerate().filter(|(d, _)| layer >> d & 1 != 0) {
                    for w in 0..8 {
                        plane[w] |= x[t][w] & !grown[t][w];
                    }
                }
            }
        });
        core::mem::swap(&mut grown, &mut x);
        progress.advance(1);
    }
    Ok(Voxmap { grid: *grid, directory, surface, inside, planes, layer_bits, layers, fill: report, stats })
}

/// `to[t] = rule(t, neighbour below t, neighbour above t)` along `axis`, for all stored tiles.
fn grow(to: &mut [Tile], sides: &[[u32; 6]], rule: impl Fn(usize, usize, usize) -> Tile + Sync, axis: usize) {
    par::chunks_mut(&mut to[..sides.len()], PIECE, |piece, out| {
        for (i, tile) in out.iter_mut().enumerate() {
            let t = piece * PIECE + i;
            *tile = rule(t, sides[t][2 * axis] as usize, sides[t][2 * axis + 1] as usize);
        }
    });
}

/// Marks the uniform tiles that hold a voxel at most `layers` away from a surface voxel (for more than a tile's
/// width: all that might).
fn mark_reached(directory: &mut [u32], surface: &[Tile], dims: [usize; 3], layers: u32) {
    if layers == 0 {
        return;
    }
    let reach = layers.div_ceil(TILE) as i32;
    let n = layers.min(TILE) as usize;
    // Voxels of a tile within n of its lower neighbour, of itself, of its upper neighbour; along x, y and z.
    let columns = [0xff >> (8 - n), 0xff, 0xff << (8 - n) & 0xff].map(|byte: u64| byte * COLUMN_0);
    let rows = [u64::MAX >> (64 - 8 * n), u64::MAX, u64::MAX << (64 - 8 * n)];
    let words = [0..n, 0..8, 8 - n..8];
    let [nx, ny, nz] = dims.map(|d| d as i32);
    for t in 0..directory.len() {
        let place = directory[t] as usize;
        if place >= surface.len() {
            continue;
        }
        let i = t as i32;
        let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
        for dz in -reach..=reach {
            let word = surface[place][words[side(dz)].clone()].iter().fold(0, |a, w| a | w);
            for dy in -reach..=reach {
                let word = word & rows[side(dy)];
                for dx in -reach..=reach {
                    let (a, b, c) = (x + dx, y + dy, z + dz);
                    let within = (0..nx).contains(&a) && (0..ny).contains(&b) && (0..nz).contains(&c);
                    if word & columns[side(dx)] == 0 || !within {
                        continue;
                    }
                    let entry = &mut directory[((c * ny + b) * nx + a) as usize];
                    match *entry {
                        OUTSIDE => *entry = OUTSIDE_REACHED,
                        INSIDE => *entry = INSIDE_REACHED,
                        _ => {}
                    }
                }
            }
        }
    }
}

/// 0, 1, 2 for lower, same, upper.
fn side(d: i32) -> usize {
    (d.signum() + 1) as usize
}

/// Gives stored tiles places in directory order: the directory index of each, its surface and inside voxels.
fn renumber(directory: &mut [u32], surface: &[Tile], inside: &[Tile]) -> (Vec<usize>, Vec<Tile>, Vec<Tile>) {
    let count = directory.iter().filter(|e| **e < INSIDE).count();
    let (mut places, mut s, mut i) =
        (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
    for (t, entry) in directory.iter_mut().enumerate() {
        match *entry {
            OUTSIDE | INSIDE => continue,
            OUTSIDE_REACHED => {
                s.push([0; 8]);
                i.push([0; 8]);
            }
            INSIDE_REACHED => {
                s.push([0; 8]);
                i.push([u64::MAX; 8]);
            }
            place => {
                s.push(surface[place as usize]);
                i.push(inside[place as usize]);
            }
        }
        *entry = places.len() as u32;
        places.push(t);
    }
    (places, s, i)
}

/// For each stored tile its stored neighbours below and above along x, y, z; the number of tiles when not stored.
fn neighbours(directory: &[u32], places: &[usize], dims: [usize; 3]) -> Vec<[u32; 6]> {
    let [nx, ny, nz] = dims;
    let none = places.len() as u32;
    par::map(places.len(), |i| {
        let t = places[i];
        let at = |inside: bool, t: usize| {
            if inside { directory[t].min(none) } else { none }
        };
        let (x, y, z) = (t % nx, t / nx % ny, t / (nx * ny));
        [
            at(x > 0, t.wrapping_sub(1)),
            at(x + 1 < nx, t + 1),
            at(y > 0, t.wrapping_sub(nx)),
            at(y + 1 < ny, t + nx),
            at(z > 0, t.wrapping_sub(nx * ny)),
            at(z + 1 < nz, t + nx * ny),
        ]
    })
}
