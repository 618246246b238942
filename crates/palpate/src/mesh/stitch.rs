//! Joins boundaries that lie on each other but are divided differently.
//!
//! CAD programs mesh each face by itself: one side of an edge may have vertices that the other lacks, and welding does not
//! connect them. Each boundary edge with boundary vertices on it is divided there, by splitting its triangle.

use super::hash_table::{Table, hash};
use super::sliver::is_flat;
use super::topology::Topology;
use crate::par;
use glam::DVec3;

/// A boundary vertex lies on an edge when it is closer than this share of the box's diagonal [1]. Positions in files of six
/// digits are rounded to 5e-7 of their size. Larger: narrow slits that are meant would close.
const TOLERANCE: f64 = 1e-6;

/// Meshes with more boundary edges are soups of triangles, where there is nothing to stitch; looking would take seconds.
const MAX_EDGES: usize = 1 << 18;

/// Each round divides one edge of a triangle at most, so three see all; one more for the last to find nothing.
const MAX_ROUNDS: usize = 4;

/// Divides boundary edges at the boundary vertices on them; their number. Updates `topology`.
pub(super) fn stitch(
    positions: &[DVec3],
    triangles: &mut Vec<[u32; 3]>,
    topology: &mut Topology,
    diagonal: f64,
) -> usize {
    let mut total = 0;
    for _ in 0..MAX_ROUNDS {
        let boundary = topology.boundary_edges();
        if boundary == 0 || boundary > MAX_EDGES {
            break;
        }
        let count = divide(positions, triangles, topology, TOLERANCE * diagonal);
        if count == 0 {
            break;
        }
        total += count;
        *topology = Topology::build(triangles, positions.len());
    }
    total
}

/// One round; the number of edges divided.
fn divide(positions: &[DVec3], triangles: &mut Vec<[u32; 3]>, topology: &Topology, tolerance: f64) -> usize {
    let across = topology.neighbours.as_flattened();
    let edges: Vec<usize> = (0..across.len()).filter(|&h| across[h] == Topology::BOUNDARY).collect();
    let ends = |h: usize| [triangles[h / 3][h % 3], triangles[h / 3][(h % 3 + 1) % 3]];
    let mut vertices: Vec<u32> = edges.iter().flat_map(|&h| ends(h)).collect();
    vertices.sort_unstable();
    vertices.dedup();

    // Cells as large as a mean edge: an edge is looked up piece by piece in a few of them.
    let at = |v: u32| positions[v as usize];
    let length = |h: usize| at(ends(h)[0]).distance(at(ends(h)[1]));
    let mean = edges.iter().map(|&h| length(h)).sum::<f64>() / edges.len() as f64;
    let size = mean.max(4.0 * tolerance);
    if !size.is_normal() {
        return 0;
    }
    let origin = vertices.iter().fold(DVec3::INFINITY, |m, &v| m.min(at(v)));
    let cell = |p: DVec3| ((p - origin) / size).floor();
    let key = |c: DVec3| hash(c.to_array().map(|x| x as i64 as u64));
    let table = Table::build(par::map(vertices.len(), |i| (vertices[i], key(cell(at(vertices[i]))))));

    let found = par::map(edges.len(), |i| {
        let [a, b] = ends(edges[i]);
        let (pa, side) = (at(a), at(b) - at(a));
        let length = side.length();
        let mut on: Vec<(f64, u32)> = Vec::new();
        let pieces = (length / size).ceil().clamp(1.0, 1e6) as usize;
        for k in 0..pieces {
            let (from, to) = (k as f64 / pieces as f64, (k + 1) as f64 / pieces as f64);
            let (p, q) = (pa + from * side, pa + to * side);
            let (low, high) = (cell(p.min(q) - tolerance), cell(p.max(q) + tolerance));
            let steps = (high - low).as_uvec3() + 1;
            for n in 0..steps.element_product() {
                let step = DVec3::new(
                    f64::from(n % steps.x),
                    f64::from(n / steps.x % steps.y),
                    f64::from(n / steps.x / steps.y),
                );
                for &entry in table.run(key(low + step)) {
                    let v = entry as u32;
                    let along = (at(v) - pa).dot(side) / length;
                    let is_inner = along > tolerance && along < length - tolerance && v != a && v != b;
                    if is_inner && (at(v) - pa - side * (along / length)).length() <= tolerance {
                        on.push((along, v));
                    }
                }
            }
        }
        // Pieces overlap, so a vertex may be there twice.
        on.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        on.dedup();
        on
    });

    let mut touched = vec![false; triangles.len()];
    let mut count = 0;
    for (&h, on) in edges.iter().zip(&found) {
        let (t, e) = (h / 3, h % 3);
        if on.is_empty() || touched[t] {
            continue;
        }
        let tri = triangles[t];
        let (a, b, d) = (tri[e], tri[(e + 1) % 3], tri[(e + 2) % 3]);
        let line: Vec<u32> = std::iter::once(a).chain(on.iter().map(|o| o.1)).chain([b]).collect();
        let fan: Vec<[u32; 3]> = line.windows(2).map(|w| [w[0], w[1], d]).collect();
        if fan.iter().any(|t| is_flat(positions, *t)) {
            continue;
        }
        triangles[t] = fan[0];
        triangles.extend(&fan[1..]);
        touched[t] = true;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use crate::mesh::shapes::{Random, cube};
    use crate::mesh::{Mesh, RawMesh, RepairParams};
    use glam::{DMat3, DVec3};

    #[test]
    fn faces_meshed_on_their_own_are_joined() {
        // Each face of the cube is a fan from its middle over a rim that has its own random points on each edge.
        let turn = DMat3::from_rotation_x(1.0) * DMat3::from_rotation_y(0.5);
        for (seed, digits) in [(1, 1e12), (2, 1e12), (3, 1e7), (4, 1e7)] {
            let mut random = Random(seed);
            let (p, tris) = cube();
            let (mut positions, mut triangles) = (Vec::new(), Vec::new());
            for face in tris.chunks(2) {
                let corners = [face[0][0], face[0][1], face[0][2], face[1][2]].map(|v| p[v as usize]);
                let mut rim = Vec::new();
                for i in 0..4 {
                    rim.push(corners[i]);
                    let mut stops: Vec<f64> =
                        (0..random.below(5)).map(|_| 0.01 + 0.98 * random.unit()).collect();
                    stops.sort_by(f64::total_cmp);
                    rim.extend(stops.iter().map(|s| corners[i].lerp(corners[(i + 1) % 4], *s)));
                }
                let first = positions.len() as u32;
                let n = rim.len() as u32;
                positions.extend(rim);
                positions.push(corners.iter().sum::<DVec3>() / 4.0);
                triangles.extend((0..n).map(|i| [first + i, first + (i + 1) % n, first + n]));
            }
            let positions = positions.into_iter().map(|p| (turn * p * digits).round() / digits).collect();
            let mesh = Mesh::new(RawMesh { positions, triangles }, &RepairParams::default()).unwrap();
            let r = mesh.report();
            assert!(r.watertight && r.stitched_edges > 10, "{r:?}");
            assert_eq!((r.components, r.flipped_faces), (1, 0));
            assert!((r.volume - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_slit_of_some_width_stays() {
        // A strip of two cells above one long cell, 1/1000 apart.
        let p = [(0.0, 0.0), (2.0, 0.0), (1.0, 1.0), (0.0, -1e-3), (1.0, -1e-3), (2.0, -1e-3), (1.0, -1.0)];
        let positions = p.map(|(x, y)| DVec3::new(x, y, 0.0)).to_vec();
        for (gap, stitched) in [(1e-3, 0), (0.0, 1)] {
            let mut positions = positions.clone();
            positions.iter_mut().filter(|p| p.y == -1e-3).for_each(|p| p.y = -gap);
            let raw = RawMesh { positions, triangles: vec![[0, 1, 2], [4, 3, 6], [5, 4, 6]] };
            let mesh = Mesh::new(raw, &RepairParams::default()).unwrap();
            assert_eq!(mesh.report().stitched_edges, stitched);
        }
    }
}
