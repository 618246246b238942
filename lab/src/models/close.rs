//! Closes the holes of a mesh, each with a fan around the middle of its rim.

use palpate::mesh::RawMesh;
use std::collections::BTreeMap;

/// The mesh with every simple boundary loop closed, and how many were.
pub(super) fn holes(mesh: &RawMesh) -> (RawMesh, usize) {
    // An edge of the rim is used in one direction only; the cap uses it in the other.
    let mut edges: Vec<(u32, u32)> =
        mesh.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
    edges.sort_unstable();
    let has = |e: &(u32, u32)| edges.binary_search(e).is_ok();
    let rim: Vec<(u32, u32)> = edges.iter().map(|&(a, b)| (b, a)).filter(|e| !has(e)).collect();
    let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &(a, b) in &rim {
        next.entry(a).or_default().push(b);
    }

    let mut closed = mesh.clone();
    let mut caps = 0;
    while let Some((&start, _)) = next.first_key_value() {
        let mut ring = vec![start];
        let mut at = start;
        while let Some(ends) = next.get_mut(&at) {
            let to = ends.pop();
            if ends.is_empty() {
                next.remove(&at);
            }
            match to {
                // A rim that touches itself is cut off where it comes back to a vertex.
                Some(to) => match ring.iter().position(|&v| v == to) {
                    Some(first) => {
                        caps += usize::from(fan(&mut closed, &ring[first..]));
                        ring.truncate(first + 1);
                        at = to;
                    }
                    None => {
                        ring.push(to);
                        at = to;
                    }
                },
                None => break,
            }
        }
    }
    (closed, caps)
}

fn fan(mesh: &mut RawMesh, ring: &[u32]) -> bool {
    match ring {
        [a, b, c] => mesh.triangles.push([*a, *b, *c]),
        [_, _, _, ..] => {
            let middle =
                ring.iter().map(|&v| mesh.positions[v as usize]).sum::<glam::DVec3>() / ring.len() as f64;
            let hub = mesh.positions.len() as u32;
            mesh.positions.push(middle);
            let ends = ring.iter().cycle().skip(1);
            mesh.triangles.extend(ring.iter().zip(ends).map(|(&a, &b)| [a, b, hub]));
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::stand_in;

    /// Every directed edge of a closed mesh has its opposite.
    fn is_closed(mesh: &RawMesh) -> bool {
        let edges: std::collections::BTreeSet<(u32, u32)> =
            mesh.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
        edges.iter().all(|&(a, b)| edges.contains(&(b, a)))
    }

    #[test]
    fn a_sphere_with_two_holes_is_closed_by_two_caps() {
        let mut mesh = stand_in::bumpy_sphere(8);
        assert!(is_closed(&mesh), "the generated sphere itself has no hole");
        mesh.triangles.truncate(mesh.triangles.len() - 7);
        mesh.triangles.swap_remove(0);
        assert!(!is_closed(&mesh));
        let (closed, caps) = holes(&mesh);
        assert!(is_closed(&closed));
        assert_eq!(caps, 2);
    }
}
