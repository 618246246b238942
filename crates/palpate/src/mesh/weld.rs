//! Makes vertices at the same place one vertex.
//!
//! Two passes over a hash table of cells filled by counting sort: equal positions first, then, among what is left, pairs within
//! the tolerance. Pairs are joined by union-find, so which vertices become one does not depend on their order. The cells of
//! the second pass are much larger than the tolerance, so that only the few vertices near a cell's side look into the next
//! cell; where that crowds a cell, the pass is repeated with smaller cells.

use super::hash_table::{Table, hash};
use super::topology::{find, union};
use crate::par;
use glam::DVec3;

/// Cell sizes of the second pass, in tolerances. Larger: fewer vertices near a side (9 % at 64). Smaller: fewer in a cell.
const CELLS: [f64; 3] = [64.0, 8.0, 2.0];

/// Most vertices of a cell that are compared pair by pair. Real meshes have one; more means that the tolerance is of the size
/// of the mesh's detail there. In the smallest cells more than that become one vertex.
const CROWD: usize = 16;

/// Tolerances below this share of the diagonal are below the rounding of f64 positions, and mean equality [1].
const LEAST_TOLERANCE: f64 = 1e-15;

/// For each vertex the smallest index among those it becomes one with; `None` if all stay apart.
///
/// Vertices within `tolerance` [m] become one, and transitively so; 0 means equal positions. The place of a group is
/// its smallest position (by x, then y, then z), written to its first vertex. Only the vertices with `used` set to true
/// are looked at. `diagonal` is that of their box [m].
pub(super) fn weld(
    positions: &mut [DVec3],
    used: &[bool],
    tolerance: f64,
    diagonal: f64,
) -> Option<Vec<u32>> {
    let all: Vec<u32> = (0..positions.len() as u32).filter(|&v| used[v as usize]).collect();
    let mut parent: Vec<u32> = (0..positions.len() as u32).collect();
    let mut joined = weld_equal(positions, &all, &mut parent);

    if tolerance > LEAST_TOLERANCE * diagonal && tolerance.is_normal() {
        let distinct: Vec<u32> =
            if joined { all.iter().copied().filter(|&v| find(&mut parent, v) == v).collect() } else { all };
        for size in CELLS {
            match weld_near(positions, &distinct, tolerance, size, &mut parent) {
                Some(any) => {
                    joined |= any;
                    break;
                }
                None => continue,
            }
        }
    }
    joined.then(|| {
        for v in 0..parent.len() {
            let root = find(&mut parent, v as u32);
            let (p, q) = (positions[v], positions[root as usize]);
            if p.to_array() < q.to_array() {
                positions[root as usize] = p;
            }
        }
        parent
    })
}

/// Joins equal positions; whether there were any.
fn weld_equal(positions: &[DVec3], vertices: &[u32], parent: &mut [u32]) -> bool {
    let table = Table::build(par::map(vertices.len(), |i| {
        // Adding zero makes −0 and 0 the same bits.
        (vertices[i], hash((positions[vertices[i] as usize] + 0.0).to_array().map(f64::to_bits)))
    }));
    let mut any = false;
    table.each_run(|run| {
        // Nearly always all are equal; the first is the smallest.
        let first = run[0] as u32;
        if run[1..].iter().all(|&e| positions[e as u32 as usize] == positions[first as usize]) {
            run[1..].iter().for_each(|&e| parent[e as u32 as usize] = first);
            any = true;
            return true;
        }
        let mut run: Vec<u32> = run.iter().map(|&e| e as u32).collect();
        let place = |v: u32| positions[v as usize].to_array();
        run.sort_by(|&a, &b| place(a).partial_cmp(&place(b)).unwrap_or(std::cmp::Ordering::Equal));
        for pair in run.windows(2) {
            if positions[pair[0] as usize] == positions[pair[1] as usize] {
                union(parent, pair[0], pair[1]);
                any = true;
            }
        }
        true
    });
    any
}

/// Joins pairs within the tolerance in cells of `size` tolerances; whether there were any, or `None` if a cell is crowded.
fn weld_near(
    positions: &[DVec3],
    vertices: &[u32],
    tolerance: f64,
    size: f64,
    parent: &mut [u32],
) -> Option<bool> {
    let smallest = vertices.iter().fold(DVec3::INFINITY, |m, &v| m.min(positions[v as usize]));
    let inverse = 1.0 / (size * tolerance);
    // Half a cell of margin: planes of the box, where CAD parts have most vertices, are not on a cell's side.
    let cell = |v: u32| (positions[v as usize] - smallest) * inverse + 0.5;
    let key = |c: [f64; 3]| hash(c.map(|x| x as i64 as u64));
    let table =
        Table::build(par::map(vertices.len(), |i| (vertices[i], key(cell(vertices[i]).floor().to_array()))));

    // Within a cell.
    let distance_sq = |a: u32, b: u32| positions[a as usize].distance_squared(positions[b as usize]);
    let is_near = |a: u32, b: u32| distance_sq(a, b) <= tolerance * tolerance;
    // The diagonal of the smallest cell, 2√3 tolerances: a run with a chance match of hashes stays apart.
    let is_one_cell = |a: u32, b: u32| distance_sq(a, b) <= 12.01 * tolerance * tolerance;
    let mut pairs = Vec::new();
    let is_last = size == CELLS[CELLS.len() - 1];
    let complete = table.each_run(|run| {
        let crowded = run.len() > CROWD;
        for (i, &a) in run.iter().enumerate() {
            let others = if crowded { &run[i + 1..(i + 2).min(run.len())] } else { &run[i + 1..] };
            pairs.extend(
                others
                    .iter()
                    .map(|&b| (a as u32, b as u32))
                    .filter(|&(a, b)| if crowded { is_one_cell(a, b) } else { is_near(a, b) }),
            );
        }
        !crowded || is_last
    });
    if !complete {
        return None;
    }

    // Across a cell's sides: from the lower cell of each pair only. The margin covers rounding of the cell's coordinates.
    let margin = 1.001 / size;
    let across = par::map(vertices.len().div_ceil(CHUNK), |chunk| {
        let mut found = Vec::new();
        for &a in &vertices[chunk * CHUNK..vertices.len().min((chunk + 1) * CHUNK)] {
            let c = cell(a);
            let base = c.floor();
            let f = c - base;
            let step = [f.x, f.y, f.z].map(|f| {
                if f >= 1.0 - margin {
                    1.0
                } else if f <= margin {
                    -1.0
                } else {
                    0.0
                }
            });
            if step == [0.0; 3] {
                continue;
            }
            for mask in 1..8_usize {
                let o =
                    DVec3::from_array(std::array::from_fn(
                        |k| if mask >> k & 1 == 1 { step[k] } else { 0.0 },
                    ));
                let chosen = (0..3).all(|k| mask >> k & 1 == 0 || step[k] != 0.0);
                let is_upward = o.to_array().iter().find(|x| **x != 0.0).is_some_and(|x| *x > 0.0);
                if chosen && is_upward {
                    let run = table.run(key((base + o).to_array()));
                    found
                        .extend(run.iter().map(|&b| (a, b as u32)).filter(|&(a, b)| a != b && is_near(a, b)));
                }
            }
        }
        found
    });
    pairs.extend(across.into_iter().flatten());
    for &(a, b) in &pairs {
        union(parent, a, b);
    }
    Some(!pairs.is_empty())
}

/// Vertices per parallel piece.
const CHUNK: usize = 1 << 13;
