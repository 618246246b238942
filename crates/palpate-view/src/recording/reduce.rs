//! Fewer triangles for drawing.
//!
//! Based on: Rossignac, Borrel, 1993, vertex clustering; Lindstrom, 2000, its quadrics.
//! Differs: the quadric is pulled towards the mean of the cell's vertices, so that flat cells have one answer, and the result
//! is kept within the box of those vertices, so that no spike can leave it.

use crate::image::Rgb;
use glam::{DMat3, DVec3, Vec3};
use palpate::math::Aabb;
use std::collections::HashMap;

/// Pull towards the mean, as a share of the quadric's trace \[1\]. Smaller: flat cells slide along their plane. Larger: edges
/// round off.
const PULL: f64 = 3e-3;

/// Halvings of the interval that holds the number of cells.
const HALVINGS: usize = 9;

/// Most cells along the largest axis: indices fit 21 bits.
const MAX_CELLS: f64 = 2_000_000.0;

/// The vertices of one cell.
#[derive(Clone, Debug)]
struct Cell {
    sum: DVec3,
    count: f64,
    low: DVec3,
    high: DVec3,
    /// Σ n nᵀ and Σ n (n·p) over the triangles around, weighted by area; p relative to `at`.
    a: DMat3,
    b: DVec3,
    at: DVec3,
    colour: Rgb,
}

/// Triangles that look like those given, at most about `limit` of them; as they are where they are few enough. Vertices that
/// no triangle uses are dropped, triangles that use vertices that do not exist or are not finite too.
///
/// Colours, one a vertex or none, follow: a cell takes that of its first vertex.
///
/// Cost: about ten passes over the triangles.
pub fn reduced(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    colours: &[Rgb],
    limit: usize,
) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<Rgb>) {
    let sound = |t: &&[u32; 3]| t.iter().all(|v| positions.get(*v as usize).is_some_and(|p| p.is_finite()));
    let triangles: Vec<[u32; 3]> = triangles.iter().filter(sound).copied().collect();
    let used = triangles.iter().flatten().map(|v| positions[*v as usize]);
    let aabb = Aabb::of_points(used);
    let size = aabb.extent().max_element();
    if triangles.len() <= limit || !(size > 0.0 && size.is_finite()) {
        return compact(positions, &triangles, colours);
    }
    // A surface of n² cells across has about as many triangles as twice the cells it meets.
    let (mut low, mut high) = (1.0, MAX_CELLS.min(4.0 * (triangles.len() as f64).sqrt() + 64.0));
    for _ in 0..HALVINGS {
        let middle = f64::sqrt(low * high);
        let keys = keys(positions, aabb, size / middle);
        if survivors(&triangles, &keys) > limit {
            high = middle;
        } else {
            low = middle;
        }
    }
    cluster(positions, &triangles, colours, &keys(positions, aabb, size / low))
}

/// The cell of each vertex, as one number.
fn keys(positions: &[DVec3], aabb: Aabb, cell: f64) -> Vec<u64> {
    let key = |p: &DVec3| {
        let at = ((*p - aabb.min) / cell).floor().max(DVec3::ZERO);
        at.to_array().iter().fold(0, |key, x| key << 21 | (*x as u64).min((1 << 21) - 1))
    };
    positions.iter().map(key).collect()
}

/// Triangles whose corners are in three cells.
fn survivors(triangles: &[[u32; 3]], keys: &[u64]) -> usize {
    triangles.iter().filter(|t| apart(t.map(|v| keys[v as usize]))).count()
}

fn apart<T: PartialEq>([a, b, c]: [T; 3]) -> bool {
    a != b && b != c && c != a
}

fn cluster(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    colours: &[Rgb],
    keys: &[u64],
) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<Rgb>) {
    let mut index: HashMap<u64, u32> = HashMap::new();
    let mut cells: Vec<Cell> = Vec::new();
    let mut of = vec![u32::MAX; positions.len()];
    for &v in triangles.iter().flatten() {
        let v = v as usize;
        if of[v] != u32::MAX {
            continue;
        }
        let p = positions[v];
        let colour = colours.get(v).copied().unwrap_or_default();
        let new = || {
            let (low, high) = (p, p);
            Cell { sum: DVec3::ZERO, count: 0.0, low, high, a: DMat3::ZERO, b: DVec3::ZERO, at: p, colour }
        };
        let next = cells.len() as u32;
        of[v] = *index.entry(keys[v]).or_insert(next);
        if of[v] == next {
            cells.push(new());
        }
        let cell = &mut cells[of[v] as usize];
        cell.sum += p;
        cell.count += 1.0;
        (cell.low, cell.high) = (cell.low.min(p), cell.high.max(p));
    }
    let mut out: Vec<[u32; 3]> = Vec::new();
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        let cross = (b - a).cross(c - a);
        let area = cross.length();
        if area > 0.0 {
            let n = cross / area;
            for v in t {
                let cell = &mut cells[of[*v as usize] as usize];
                let outer = DMat3::from_cols(n * n.x, n * n.y, n * n.z);
                cell.a += outer * area;
                cell.b += area * n * n.dot(a - cell.at);
            }
        }
        let corners = t.map(|v| of[v as usize]);
        if apart(corners) {
            out.push(corners);
        }
    }
    // The same three cells by several triangles: once each way round.
    let turned = |t: &[u32; 3]| {
        let first = (0..3).min_by_key(|i| t[*i]).unwrap_or(0);
        [t[first], t[(first + 1) % 3], t[(first + 2) % 3]]
    };
    out.iter_mut().for_each(|t| *t = turned(t));
    out.sort_unstable();
    out.dedup();
    let placed: Vec<DVec3> = cells.iter().map(place).collect();
    let tints: Vec<Rgb> =
        if colours.is_empty() { Vec::new() } else { cells.iter().map(|c| c.colour).collect() };
    compact(&placed, &out, &tints)
}

/// Where a cell's one vertex goes: the point nearest to the planes around it, pulled towards the mean.
fn place(cell: &Cell) -> DVec3 {
    let mean = cell.sum / cell.count;
    let pull = PULL * (cell.a.x_axis.x + cell.a.y_axis.y + cell.a.z_axis.z);
    let matrix = cell.a + DMat3::from_diagonal(DVec3::splat(pull));
    let p = cell.at + matrix.inverse() * (cell.b + pull * (mean - cell.at));
    if p.is_finite() { p.clamp(cell.low, cell.high) } else { mean }
}

/// Only the vertices that are used, in order of first use.
fn compact(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    colours: &[Rgb],
) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<Rgb>) {
    let mut of = vec![u32::MAX; positions.len()];
    let (mut kept, mut tints) = (Vec::new(), Vec::new());
    let mut number = |v: u32| {
        let v = v as usize;
        if of[v] == u32::MAX {
            of[v] = kept.len() as u32;
            kept.push(positions[v].as_vec3());
            if !colours.is_empty() {
                tints.push(colours.get(v).or(colours.last()).copied().unwrap_or([160; 3]));
            }
        }
        of[v]
    };
    let out = triangles.iter().map(|t| t.map(&mut number)).collect();
    (kept, out, tints)
}
