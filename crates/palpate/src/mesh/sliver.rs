//! Removes triangles without area and keeps the surface closed.
//!
//! A triangle whose corner b lies on its opposite side a-c joins that side, which one neighbour has whole, to the two sides
//! a-b and b-c, which others have. Dropping it would open a slit of no width. Instead the neighbour across a-c is split at b.

use super::topology::Topology;
use crate::par;
use glam::DVec3;

/// A triangle is without area when its height is below this share of its longest side [1]. The cross product of two sides is
/// rounded to a few 1e-16 of their product; triangles this thin have no normal in single precision either.
const FLAT: f64 = 1e-12;

/// Most rounds of splitting. A fan of n flat triangles needs about n; what is left after is dropped.
const MAX_ROUNDS: usize = 32;

/// Triangles per parallel piece.
const CHUNK: usize = 1 << 14;

/// Removes the triangles with a repeated corner or no area; the number of those.
///
/// The order of the others is kept; a neighbour that is split leaves its halves in both places.
pub(super) fn drop_flat(positions: &[DVec3], triangles: &mut Vec<[u32; 3]>) -> usize {
    let mut flat = find_flat(positions, triangles);
    if flat.is_empty() {
        return 0;
    }
    let found = flat.len();
    let has_repeat = |t: [u32; 3]| t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
    if flat.iter().any(|&t| !has_repeat(triangles[t])) {
        triangles.retain(|t| !has_repeat(*t));
        for _ in 0..MAX_ROUNDS {
            flat = find_flat(positions, triangles);
            if flat.is_empty() || split(positions, triangles, &flat) == 0 {
                break;
            }
        }
        flat = find_flat(positions, triangles);
    }
    let mut flat = flat.into_iter().peekable();
    let mut t = 0;
    triangles.retain(|_| {
        let is_flat = flat.next_if_eq(&t).is_some();
        t += 1;
        !is_flat
    });
    found
}

/// The triangles without area, ascending.
fn find_flat(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<usize> {
    let parts = par::map(triangles.len().div_ceil(CHUNK), |i| {
        let end = triangles.len().min((i + 1) * CHUNK);
        (i * CHUNK..end).filter(|&t| is_flat(positions, triangles[t])).collect::<Vec<_>>()
    });
    parts.into_iter().flatten().collect()
}

/// Whether a triangle has a repeated corner or no area.
pub(crate) fn is_flat(positions: &[DVec3], tri: [u32; 3]) -> bool {
    if tri[0] == tri[1] || tri[1] == tri[2] || tri[2] == tri[0] {
        return true;
    }
    let [a, b, c] = tri.map(|v| positions[v as usize]);
    let (ab, ac, bc) = (b - a, c - a, c - b);
    let longest_sq = ab.length_squared().max(ac.length_squared()).max(bc.length_squared());
    // height / longest = |ab × ac| / longest²; scaled first, because the squares of tiny cross products vanish.
    let scale = longest_sq.sqrt().recip();
    let height = (ab * scale).cross(ac * scale).length();
    // An infinite scale (a triangle below 1e-154 m) gives no finite height, and counts as flat.
    !height.is_finite() || height <= FLAT
}

/// Splits the neighbour across the longest side of each flat triangle where it has an area; the number of splits.
fn split(positions: &[DVec3], triangles: &mut [[u32; 3]], flat: &[usize]) -> usize {
    let topology = Topology::build(triangles, positions.len());
    let mut touched = vec![false; triangles.len()];
    let mut splits = 0;
    for &t in flat {
        // Side e runs from c to a; b is opposite.
        let tri = triangles[t];
        let length_sq =
            |e: usize| positions[tri[e] as usize].distance_squared(positions[tri[(e + 1) % 3] as usize]);
        let e = (0..3).fold(0, |best, e| if length_sq(e) > length_sq(best) { e } else { best });
        let (c, a, b) = (tri[e], tri[(e + 1) % 3], tri[(e + 2) % 3]);
        let n = topology.neighbours[t][e] as usize;
        if n >= triangles.len() || touched[t] || touched[n] || is_flat(positions, triangles[n]) {
            continue;
        }
        let Some(d) = triangles[n].into_iter().find(|&v| v != a && v != c) else { continue };
        // The neighbour runs from a to c.
        triangles[n] = [a, b, d];
        triangles[t] = [b, c, d];
        (touched[n], touched[t]) = (true, true);
        splits += 1;
    }
    splits
}

#[cfg(test)]
mod tests {
    use crate::mesh::shapes::cube;
    use crate::mesh::{Mesh, RawMesh, RepairParams};
    use glam::DMat3;

    /// The cube with one edge divided on one side only, and flat triangles that join it to the other side.
    fn divided(points: u32, turn: DMat3) -> RawMesh {
        let (mut p, mut tris) = cube();
        let [u, v, w] = tris[0];
        let (from, to) = (p[u as usize], p[v as usize]);
        let first = p.len() as u32;
        for i in 1..=points {
            p.push(from.lerp(to, f64::from(i) / f64::from(points + 1)));
        }
        let last = first + points - 1;
        tris[0] = [u, first, w];
        for i in first..last {
            tris.push([i, i + 1, w]);
            // A fan of flat triangles around v.
            tris.push([i + 1, i, v]);
        }
        tris.push([last, v, w]);
        tris.push([u, v, first]);
        RawMesh { positions: p.into_iter().map(|p| turn * p).collect(), triangles: tris }
    }

    #[test]
    fn a_divided_edge_stays_closed() {
        let turned = DMat3::from_rotation_x(1.0) * DMat3::from_rotation_y(0.5);
        for turn in [DMat3::IDENTITY, turned, turned * 1e-3] {
            for points in [1, 2, 5, 20] {
                let mesh = Mesh::new(divided(points, turn), &RepairParams::default()).unwrap();
                let r = mesh.report();
                assert_eq!((r.degenerate, r.watertight), (points as usize, true), "{points} {r:?}");
                assert_eq!(r.triangles, 12 + 2 * points as usize);
                assert!((r.volume / turn.determinant() - 1.0).abs() < 1e-13);
            }
        }
    }
}
