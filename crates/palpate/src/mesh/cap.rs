//! Closes the holes of an open mesh.
//!
//! Based on: Barequet, Sharir, "Filling gaps in the boundary of a polyhedron", 1995: the triangulation of least area by
//! dynamic programming over the chords of the hole.
//! Differs: a chord that already is an edge of the mesh, and a triangle without area, cost more than any area, so that a
//! cap does not fall onto existing triangles; long holes are clipped ear by ear in their best plane, because the
//! dynamic program takes cubic time; a hole that neither can fill gets a fan around a new vertex.

use super::hole_fill::{Edges, fill};
use super::hole_trace::{Loop, trace};
use super::topology::Topology;
use glam::DVec3;

/// How holes are closed.
#[derive(Clone, Debug, PartialEq)]
pub struct CapParams {
    /// Most edges of a hole that is filled with the least area [1]; the time grows with its cube (1 ms at 100).
    pub dynamic_limit: usize,
    /// Most edges of a hole that is filled by clipping ears [1]; the time grows with its square. Longer ones get a fan.
    pub ear_limit: usize,
    /// A component is a sheet when the cap of one of its holes is larger than this share of its area [1].
    ///
    /// The cap of a closed shape's hole is at most as large as what is left of it, and near 1 only when that is flat. A cube
    /// without one face has 0.2, a hemisphere 0.5, a bowl a third of the sphere's radius deep 0.83, a flat sheet 1.
    pub sheet_ratio: f64,
}

impl Default for CapParams {
    fn default() -> Self {
        Self { dynamic_limit: 100, ear_limit: 4096, sheet_ratio: 0.6 }
    }
}

/// What became of a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleOutcome {
    /// It is closed by the cap's triangles.
    Capped,
    /// It is the rim of a component that encloses nothing, and is left open.
    Sheet,
    /// Its boundary edges form no closed loop, and are left open: the mesh is not manifold there.
    Unclosable,
}

/// One hole, in the mesh's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// Number of boundary edges.
    pub edges: usize,
    /// Middle of the boundary, weighted by length [m].
    pub centre: DVec3,
    /// Area of the cap, also of one that was not added [m²]; 0 if unclosable.
    pub area: f64,
    /// Length of the boundary [m].
    pub perimeter: f64,
    /// The component it belongs to, as numbered by [`Topology::components`].
    pub component: u32,
    /// What became of it.
    pub outcome: HoleOutcome,
}

/// Triangles that close the holes of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caps {
    /// New vertices [m]; the first has the index after the mesh's last.
    pub positions: Vec<DVec3>,
    /// New triangles over the mesh's and the new vertices, oriented like their neighbours.
    pub triangles: Vec<[u32; 3]>,
    /// All holes, in the order of their first triangle.
    pub holes: Vec<Hole>,
}

/// The caps of all holes of a mesh whose neighbours are `topology`.
///
/// A mesh with its caps has no boundary edge left in components without a [`HoleOutcome::Sheet`] or
/// [`HoleOutcome::Unclosable`] hole. Where holes meet in a vertex, each loop stays within its component and passes the
/// vertex once. Linear in the mesh, plus the holes (see [`CapParams`]). Deterministic. Empty for a closed
/// mesh, for an index out of range and for a topology of other triangles.
pub fn cap_holes(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    topology: &Topology,
    params: &CapParams,
) -> Caps {
    let mut caps = Caps::default();
    let valid = |v: &u32| (*v as usize) < positions.len();
    if topology.boundary_edges() == 0
        || topology.neighbours.len() != triangles.len()
        || !triangles.as_flattened().iter().all(valid)
    {
        return caps;
    }
    let loops = trace(triangles, topology);
    let (label, components) = topology.components();
    let mut component_area = vec![0.0; components];
    for (t, tri) in triangles.iter().enumerate() {
        component_area[label[t] as usize] += area(tri.map(|v| positions[v as usize]));
    }

    // Sheets are known only when all caps of a component are: fill first, add after.
    let mut edges = Edges::between(positions.len(), triangles, loops.iter().flat_map(|l| &l.vertices));
    let mut is_sheet = vec![false; components];
    let mut fills = Vec::with_capacity(loops.len());
    for hole in &loops {
        let (centre, perimeter) = middle(positions, hole);
        let component = label[hole.triangle as usize];
        let mut outcome = HoleOutcome::Unclosable;
        let mut filling = None;
        let mut cap_area = 0.0;
        if hole.closed {
            let ring: Vec<DVec3> = hole.vertices.iter().map(|&v| positions[v as usize]).collect();
            let cap = fill(&ring, &hole.vertices, &edges, params);
            cap_area = cap.iter().map(|tri| area(tri.map(|i| ring.get(i).copied().unwrap_or(centre)))).sum();
            if cap_area > params.sheet_ratio * component_area[component as usize] {
                is_sheet[component as usize] = true;
            }
            edges.add(&hole.vertices, &cap);
            outcome = HoleOutcome::Capped;
            filling = Some(cap);
        }
        let edges = hole.vertices.len() - usize::from(!hole.closed);
        caps.holes.push(Hole { edges, centre, area: cap_area, perimeter, component, outcome });
        fills.push(filling);
    }

    for ((hole, info), filling) in loops.iter().zip(&mut caps.holes).zip(fills) {
        let Some(filling) = filling else { continue };
        if is_sheet[info.component as usize] {
            info.outcome = HoleOutcome::Sheet;
            continue;
        }
        let extra = (positions.len() + caps.positions.len()) as u32;
        let ring = &hole.vertices;
        if filling.iter().flatten().any(|&i| i == ring.len()) {
            caps.positions.push(info.centre);
        }
        caps.triangles.extend(filling.iter().map(|tri| tri.map(|i| ring.get(i).copied().unwrap_or(extra))));
    }
    caps
}

/// Middle of the boundary weighted by length, and its length.
fn middle(positions: &[DVec3], hole: &Loop) -> (DVec3, f64) {
    let v = &hole.vertices;
    let count = v.len() - usize::from(!hole.closed);
    // Relative to one vertex, so that a mesh far from the origin loses no digits.
    let origin = positions[v[0] as usize];
    let (mut sum, mut perimeter) = (DVec3::ZERO, 0.0);
    for i in 0..count {
        let (a, b) = (positions[v[i] as usize] - origin, positions[v[(i + 1) % v.len()] as usize] - origin);
        let length = a.distance(b);
        sum += 0.5 * length * (a + b);
        perimeter += length;
    }
    (origin + if perimeter > 0.0 { sum / perimeter } else { DVec3::ZERO }, perimeter)
}

/// Area of a triangle [m²].
fn area([a, b, c]: [DVec3; 3]) -> f64 {
    0.5 * (b - a).cross(c - a).length()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes::{Random, cube, quads, sphere, sphere_part};
    use std::f64::consts::{PI, TAU};

    fn volume(p: &[DVec3], tris: &[[u32; 3]]) -> f64 {
        tris.iter().map(|t| t.map(|v| p[v as usize])).map(|[a, b, c]| a.cross(b).dot(c) / 6.0).sum()
    }

    /// Caps the mesh and checks that it is closed and manifold after; gives the volume and the caps.
    fn closed(mut p: Vec<DVec3>, mut tris: Vec<[u32; 3]>, params: &CapParams) -> (f64, Caps) {
        let before = Topology::build(&tris, p.len());
        let caps = cap_holes(&p, &tris, &before, params);
        p.extend(&caps.positions);
        tris.extend(&caps.triangles);
        let after = Topology::build(&tris, p.len());
        assert_eq!((after.boundary_edges(), after.nonmanifold_edges()), (0, 0), "{:?}", caps.holes);
        (volume(&p, &tris), caps)
    }

    #[test]
    fn a_cube_without_one_face_has_volume_one() {
        for missing in 0..6 {
            let (p, mut tris) = cube();
            tris.drain(2 * missing..2 * missing + 2);
            let (volume, caps) = closed(p, tris, &CapParams::default());
            assert!((volume - 1.0).abs() < 1e-15);
            assert_eq!(caps.holes.len(), 1);
            let hole = &caps.holes[0];
            assert_eq!((hole.edges, hole.outcome), (4, HoleOutcome::Capped));
            assert!((hole.area - 1.0).abs() < 1e-15 && (hole.perimeter - 4.0).abs() < 1e-15);
        }
    }

    #[test]
    fn every_way_of_filling_closes_a_tube_and_keeps_its_volume() {
        // 300 edges a hole; flat ends, so all three ways fill the same polygon.
        let columns = 300;
        let keep = |r, _| r > 0 && r < 11;
        let mut volumes = Vec::new();
        for (dynamic, ear) in [(400, 4096), (100, 4096), (100, 200)] {
            let (p, tris) = sphere_part(12, columns, keep);
            let params = CapParams { dynamic_limit: dynamic, ear_limit: ear, ..CapParams::default() };
            let (volume, caps) = closed(p, tris, &params);
            assert_eq!(caps.holes.iter().map(|h| h.edges).collect::<Vec<_>>(), [300, 300]);
            assert_eq!(caps.positions.len(), if ear == 200 { 2 } else { 0 }, "the fan adds a vertex");
            volumes.push(volume);
        }
        assert!(volumes.iter().all(|v| (v - volumes[0]).abs() < 1e-12), "{volumes:?}");
    }

    #[test]
    fn a_long_hole_that_is_not_convex_is_clipped_in_its_plane() {
        // A star-shaped prism without its lid: the fan from a new vertex would be right too, so ears are asked for by count.
        let n = 150_u32;
        let mut p = Vec::new();
        for z in [0.0, 2.0] {
            for i in 0..n {
                let a = TAU * f64::from(i) / f64::from(n);
                let r = if i % 2 == 0 { 1.0 } else { 0.7 };
                p.push(DVec3::new(r * a.cos(), r * a.sin(), z));
            }
        }
        p.push(DVec3::ZERO);
        let mut tris = Vec::new();
        for i in 0..n {
            let j = (i + 1) % n;
            tris.extend([[i, j, n + j], [i, n + j, n + i], [2 * n, j, i]]);
        }
        let base = 0.5 * f64::from(n) * 0.7 * (TAU / f64::from(n)).sin();
        let (volume, caps) = closed(p, tris, &CapParams::default());
        assert!(caps.positions.is_empty());
        assert!((volume - 2.0 * base).abs() < 1e-12);
        assert!((caps.holes[0].area - base).abs() < 1e-12);
    }

    #[test]
    fn holes_that_share_a_vertex_are_two_loops() {
        // Two quads of the sphere that touch at a corner.
        let (p, tris) = sphere_part(12, 24, |r, c| (r, c) != (5, 3) && (r, c) != (6, 4));
        let (volume, caps) = closed(p, tris, &CapParams::default());
        assert_eq!(caps.holes.iter().map(|h| h.edges).collect::<Vec<_>>(), [4, 4]);
        let (p, tris) = sphere(12, 24);
        assert!(volume < 1.001 * self::volume(&p, &tris) && volume > 0.99 * self::volume(&p, &tris));
    }

    #[test]
    fn caps_do_not_fall_onto_existing_triangles() {
        // A tetrahedron without two faces: of the hole's two chords one is an edge of the mesh, and using it would
        // cover the two faces that are there.
        let p = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let params = CapParams { sheet_ratio: 10.0, ..CapParams::default() };
        let (volume, caps) = closed(p, vec![[0, 2, 1], [0, 1, 3]], &params);
        assert!((volume - 1.0 / 6.0).abs() < 1e-15, "{volume} {caps:?}");
    }

    #[test]
    fn sheets_stay_open_and_bowls_are_closed() {
        let flat: Vec<_> = (0..16).map(|i| DVec3::new(f64::from(i % 4), f64::from(i / 4), 0.0)).collect();
        let cells: Vec<_> = (0..9_u32).map(|i| i / 3 * 4 + i % 3).map(|a| [a, a + 1, a + 5, a + 4]).collect();
        // With one cell missing there is a second hole, which stays open too.
        for faces in [quads(&cells), quads(&[&cells[..4], &cells[5..]].concat()), vec![[0, 1, 5]]] {
            let caps = cap_holes(&flat, &faces, &Topology::build(&faces, 16), &CapParams::default());
            assert!(caps.triangles.is_empty() && caps.positions.is_empty());
            assert!(caps.holes.iter().all(|h| h.outcome == HoleOutcome::Sheet));
        }
        let (p, tris) = sphere_part(32, 64, |r, _| r >= 16);
        let (volume, caps) = closed(p, tris, &CapParams::default());
        assert!((volume - 2.0 / 3.0 * PI).abs() < 0.02 && caps.holes.len() == 1, "{volume}");
    }

    #[test]
    fn a_boundary_that_ends_at_a_bad_edge_is_reported() {
        // Three pages on one edge: each page's boundary is an open chain at both ends of the spine, and one page is left over.
        let p = vec![DVec3::ZERO, DVec3::Z, DVec3::X, DVec3::Y, -DVec3::X];
        let tris = [[0, 1, 2], [0, 1, 3], [0, 1, 4]];
        let caps = cap_holes(&p, &tris, &Topology::build(&tris, 5), &CapParams::default());
        assert_eq!(caps.holes.iter().map(|h| h.edges).sum::<usize>(), 6);
        assert!(caps.holes.iter().any(|h| h.outcome == HoleOutcome::Unclosable));
        assert!(cap_holes(&p, &[], &Topology::build(&[], 5), &CapParams::default()).holes.is_empty());
    }

    #[test]
    fn random_soups_are_capped_or_reported_without_panic() {
        let (mut capped, mut unclosable) = (0, 0);
        for seed in 0..60_u64 {
            let mut random = Random(seed);
            let p: Vec<_> = (0..12).map(|_| random.point()).collect();
            let tris: Vec<_> = (0..12)
                .map(|_| [0; 3].map(|_| random.below(12) as u32))
                .filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0])
                .collect();
            let topology = Topology::build(&tris, p.len());
            let caps = cap_holes(&p, &tris, &topology, &CapParams::default());
            assert_eq!(caps.holes.iter().map(|h| h.edges).sum::<usize>(), topology.boundary_edges());
            capped += caps.holes.iter().filter(|h| h.outcome == HoleOutcome::Capped).count();
            unclosable += caps.holes.iter().filter(|h| h.outcome == HoleOutcome::Unclosable).count();
        }
        assert!(capped > 5 && unclosable > 20, "{capped} {unclosable}");
    }
}
