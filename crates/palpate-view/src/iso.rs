//! The surface where a field has a given value, as triangles.
//!
//! Based on: Gibson, Constrained elastic surface nets, 1998: one vertex a cell that the surface crosses, one quad an
//! edge of the grid with a change of sign. Differs: the vertex is the mean of the crossings on the cell's edges, and
//! is not relaxed afterwards, so that it stays where the field says.

use glam::DVec3;
use palpate::mesh::RawMesh;
use palpate::par;

/// Layers of cells sampled as one parallel piece. More: fewer layers sampled twice; fewer: less memory.
const SLAB: usize = 8;

/// The nodes of a regular grid: node (i, j, k) is at `origin + voxel * (i, j, k)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Position of the first node \[m\].
    pub origin: DVec3,
    /// Distance between neighbouring nodes \[m\].
    pub voxel: f64,
    /// Nodes along x, y and z.
    pub dims: [usize; 3],
}

impl Grid {
    /// Position of a node \[m\].
    pub fn node(&self, ijk: [usize; 3]) -> DVec3 {
        self.origin + self.voxel * DVec3::from_array(ijk.map(|i| i as f64))
    }
}

/// Vertices (with their cell's number) and quads (as four cell numbers) found in one slab.
#[derive(Default)]
struct Piece {
    cells: Vec<u64>,
    positions: Vec<DVec3>,
    quads: Vec<[u64; 4]>,
}

/// The surface `field = level` inside `grid`, counter-clockwise from the side of larger values.
///
/// `field` gives a value at a point \[m\]; a value that is not a number counts as outside. The surface is closed
/// where it does not leave the grid. Accuracy: a vertex lies within a cell of the true surface, for smooth fields within
/// the square of the cell's size times curvature. Cost: each node is sampled about 1.1 times.
pub fn surface(field: impl Fn(DVec3) -> f64 + Sync, grid: &Grid, level: f64) -> RawMesh {
    let [nx, ny, nz] = grid.dims;
    if nx < 2 || ny < 2 || nz < 2 {
        return RawMesh::default();
    }
    let pieces = par::map((nz - 1).div_ceil(SLAB), |s| {
        let first = s * SLAB;
        piece(&field, grid, level, first, (first + SLAB).min(nz - 1))
    });
    // Pieces come in order of cell number, so the joined list is sorted and can be searched.
    let mut mesh = RawMesh::default();
    let mut cells = Vec::new();
    for p in &pieces {
        cells.extend_from_slice(&p.cells);
        mesh.positions.extend_from_slice(&p.positions);
    }
    let vertex = |cell: u64| cells.binary_search(&cell).ok().and_then(|i| u32::try_from(i).ok());
    for quad in pieces.iter().flat_map(|p| &p.quads) {
        if let [Some(a), Some(b), Some(c), Some(d)] = quad.map(vertex) {
            // The shorter diagonal gives the better shaped pair.
            let at = |v: u32| mesh.positions[v as usize];
            if at(a).distance_squared(at(c)) <= at(b).distance_squared(at(d)) {
                mesh.triangles.extend([[a, b, c], [a, c, d]]);
            } else {
                mesh.triangles.extend([[a, b, d], [b, c, d]]);
            }
        }
    }
    mesh
}

fn piece(field: &(impl Fn(DVec3) -> f64 + Sync), grid: &Grid, level: f64, first: usize, end: usize) -> Piece {
    let [nx, ny, nz] = grid.dims;
    let values: Vec<f64> = (first..=end)
        .flat_map(|k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
        .map(|ijk| field(grid.node(ijk)) - level)
        .collect();
    let at = |i: usize, j: usize, k: usize| values[((k - first) * ny + j) * nx + i];
    let inside = |v: f64| v < 0.0;
    let number = |i: usize, j: usize, k: usize| ((k * ny + j) * nx + i) as u64;
    let mut out = Piece::default();
    for k in first..end {
        for j in 0..ny - 1 {
            for i in 0..nx - 1 {
                let corner = |c: usize| at(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
                let count = (0..8).filter(|&c| inside(corner(c))).count();
                if count > 0 && count < 8 {
                    out.cells.push(number(i, j, k));
                    let uvw = DVec3::new(i as f64, j as f64, k as f64) + mean_crossing(corner);
                    out.positions.push(grid.origin + grid.voxel * uvw);
                }
            }
        }
    }
    // Edges of the grid that start in this slab's layers; the last slab also owns the top layer's edges in x and y.
    let last = if end == nz - 1 { end + 1 } else { end };
    for k in first..last {
        for j in 0..ny {
            for i in 0..nx {
                let here = inside(at(i, j, k));
                for axis in 0..3 {
                    let n = [i, j, k];
                    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                    let whole = n[axis] + 1 < grid.dims[axis];
                    let interior = [u, v].iter().all(|&a| n[a] > 0 && n[a] + 1 < grid.dims[a]);
                    if !whole || !interior {
                        continue;
                    }
                    let mut next = n;
                    next[axis] += 1;
                    if here == inside(at(next[0], next[1], next[2])) {
                        continue;
                    }
                    let cell = |du: usize, dv: usize| {
                        let mut c = n;
                        c[u] -= du;
                        c[v] -= dv;
                        number(c[0], c[1], c[2])
                    };
                    let mut ring = [cell(1, 1), cell(0, 1), cell(0, 0), cell(1, 0)];
                    if !here {
                        ring.reverse();
                    }
                    out.quads.push(ring);
                }
            }
        }
    }
    out
}

/// Mean of the points where the field changes sign on a unit cell's twelve edges.
fn mean_crossing(corner: impl Fn(usize) -> f64) -> DVec3 {
    let place = |c: usize| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64);
    let (mut sum, mut count) = (DVec3::ZERO, 0.0);
    for a in 0..8_usize {
        for bit in [1, 2, 4] {
            let b = a | bit;
            if b == a {
                continue;
            }
            let (va, vb) = (corner(a), corner(b));
            if (va < 0.0) != (vb < 0.0) {
                let t = va / (va - vb);
                let t = if t.is_finite() { t.clamp(0.0, 1.0) } else { 0.5 };
                sum += place(a).lerp(place(b), t);
                count += 1.0;
            }
        }
    }
    if count > 0.0 { sum / count } else { DVec3::splat(0.5) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sphere() -> (RawMesh, f64) {
        let voxel = 0.1;
        let grid = Grid { origin: DVec3::splat(-1.55), voxel, dims: [32, 32, 32] };
        (surface(|p| p.length() - 1.0, &grid, 0.2), voxel)
    }

    #[test]
    fn sphere_is_closed_outward_and_near() {
        let (mesh, voxel) = sphere();
        assert!(mesh.triangles.len() > 1000);
        // Every directed edge has exactly one opposite: closed and consistently turned.
        let mut edges: Vec<(u32, u32)> =
            mesh.triangles.iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]).collect();
        let mut reversed: Vec<(u32, u32)> = edges.iter().map(|e| (e.1, e.0)).collect();
        edges.sort_unstable();
        reversed.sort_unstable();
        assert_eq!(edges, reversed);
        for t in &mesh.triangles {
            let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
            assert!((b - a).cross(c - a).dot(a + b + c) > 0.0);
        }
        for p in &mesh.positions {
            assert!((p.length() - 1.2).abs() < voxel * voxel, "{}", p.length());
        }
    }

    #[test]
    fn threads_do_not_matter_and_small_grids_are_empty() {
        let one = par::with_threads(1, sphere).0;
        let three = par::with_threads(3, sphere).0;
        assert_eq!(one, three);
        let flat = Grid { origin: DVec3::ZERO, voxel: 1.0, dims: [5, 1, 5] };
        assert!(surface(|p| p.x - 2.5, &flat, 0.0).triangles.is_empty());
        let grid = Grid { dims: [4, 4, 4], ..flat };
        assert!(surface(|_| f64::NAN, &grid, 0.0).triangles.is_empty());
    }
}
