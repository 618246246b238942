//! Cutting a surface open, to show what is inside.

use glam::DVec3;
use palpate::mesh::RawMesh;

/// The part of a surface where a value given at each vertex is at most 0, interpolated along edges.
///
/// `values` has one number for each vertex; a triangle with an index out of range or a value that is not a number
/// is left out. New vertices lie on the cut; they are not shared between triangles. Cost: linear.
pub fn keep_below(mesh: &RawMesh, values: &[f64]) -> RawMesh {
    let mut out = RawMesh { positions: mesh.positions.clone(), triangles: Vec::new() };
    for t in &mesh.triangles {
        let at = |v: u32| Some((v, *mesh.positions.get(v as usize)?, *values.get(v as usize)?));
        let [Some(a), Some(b), Some(c)] = t.map(at) else { continue };
        let corners = [a, b, c];
        if corners.iter().any(|c| c.2.is_nan()) {
            continue;
        }
        let inside = corners.iter().filter(|c| c.2 <= 0.0).count();
        if inside == 3 {
            out.triangles.push(*t);
        }
        if inside == 0 || inside == 3 {
            continue;
        }
        // Walk around the triangle; keep corners inside and add a vertex at each crossing.
        let mut ring: Vec<u32> = Vec::with_capacity(4);
        for i in 0..3 {
            let (from, to) = (corners[i], corners[(i + 1) % 3]);
            if from.2 <= 0.0 {
                ring.push(from.0);
            }
            if (from.2 <= 0.0) != (to.2 <= 0.0) {
                let Ok(number) = u32::try_from(out.positions.len()) else { return out };
                out.positions.push(crossing(from.1, from.2, to.1, to.2));
                ring.push(number);
            }
        }
        out.triangles.extend((2..ring.len()).map(|i| [ring[0], ring[i - 1], ring[i]]));
    }
    out
}

/// Where the value is 0 between two points of different sign.
fn crossing(p: DVec3, at_p: f64, q: DVec3, at_q: f64) -> DVec3 {
    let t = at_p / (at_p - at_q);
    p.lerp(q, if t.is_finite() { t.clamp(0.0, 1.0) } else { 0.5 })
}

/// A grid of triangles on a plane: `across` and `up` are the edges of the whole rectangle from its corner \[m\].
/// It faces `across` x `up`. `cells` is the number along the longer edge, 1 to 4096.
pub fn sheet(corner: DVec3, across: DVec3, up: DVec3, cells: u32) -> RawMesh {
    let cells = cells.clamp(1, 4096);
    let longest = across.length().max(up.length());
    let count = |edge: DVec3| ((f64::from(cells) * edge.length() / longest).ceil() as u32).clamp(1, cells);
    let (nx, ny) = (count(across), count(up));
    let mut mesh = RawMesh::default();
    for j in 0..=ny {
        for i in 0..=nx {
            let (u, v) = (f64::from(i) / f64::from(nx), f64::from(j) / f64::from(ny));
            mesh.positions.push(corner + u * across + v * up);
        }
    }
    for j in 0..ny {
        for i in 0..nx {
            let a = j * (nx + 1) + i;
            let (b, c, d) = (a + 1, a + nx + 2, a + nx + 1);
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(mesh: &RawMesh) -> f64 {
        let corners = mesh.triangles.iter().map(|t| t.map(|v| mesh.positions[v as usize]));
        corners.map(|[a, b, c]| 0.5 * (b - a).cross(c - a).dot(DVec3::Z)).sum()
    }

    #[test]
    fn a_disc_cut_from_a_sheet_has_its_area() {
        let square = sheet(DVec3::new(-2.0, -1.0, 0.0), 4.0 * DVec3::X, 2.0 * DVec3::Y, 200);
        assert!((area(&square) - 8.0).abs() < 1e-9);
        let values: Vec<f64> = square.positions.iter().map(|p| p.length() - 0.8).collect();
        let disc = keep_below(&square, &values);
        // The chord of a cell of 0.02 misses its arc by 0.02² / (8 · 0.8), a share of 1e-4.
        assert!((area(&disc) / (std::f64::consts::PI * 0.64) - 1.0).abs() < 2e-4, "{}", area(&disc));
        assert!(disc.triangles.iter().flatten().all(|&v| disc.positions[v as usize].length() < 0.8 + 1e-3));
    }

    #[test]
    fn bad_input_is_left_out() {
        let mesh = RawMesh { positions: vec![DVec3::ZERO; 3], triangles: vec![[0, 1, 2], [0, 1, 7]] };
        assert_eq!(keep_below(&mesh, &[-1.0; 3]).triangles, [[0, 1, 2]]);
        assert!(keep_below(&mesh, &[-1.0, f64::NAN, 1.0]).triangles.is_empty());
        assert!(keep_below(&mesh, &[]).triangles.is_empty());
    }
}
