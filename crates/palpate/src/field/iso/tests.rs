//! Referees: analytic shapes for position and volume, and the topology itself, which needs none.

use super::super::analytic::Analytic;
use super::super::source::Source;
use super::super::source::random::Random;
use super::*;
use std::collections::BTreeMap;

/// A grid of `n` cells per edge over the cube of half edge `half`, nodes not on the planes of symmetry.
fn grid(n: i64, half: f64) -> IsoGrid {
    let voxel = 2.0 * half / n as f64;
    let origin = DVec3::new(0.013, 0.007, -0.021) * voxel;
    let lower = [-n / 2 - 1; 3];
    IsoGrid { origin, voxel, lower, upper: [n / 2 + 1; 3] }
}

fn surface_of(shape: &Analytic, grid: &IsoGrid) -> RawMesh {
    iso_surface(grid, &grid.blocks(), 0.0, |ijk| shape.distance(grid.position(ijk)) as f32).unwrap()
}

/// Asserts that every directed edge occurs once and its opposite too, and every vertex has one fan; returns
/// vertices - edges + faces.
fn check_closed_manifold(mesh: &RawMesh) -> i64 {
    let mut next = BTreeMap::new();
    for t in &mesh.triangles {
        for i in 0..3 {
            let (a, b, c) = (t[i], t[(i + 1) % 3], t[(i + 2) % 3]);
            assert!(a != b, "triangle {t:?} uses a vertex twice");
            assert!(next.insert((a, b), c).is_none(), "edge {a} {b} has two triangles on one side");
        }
    }
    let mut degree = vec![0usize; mesh.positions.len()];
    let mut start = vec![None; mesh.positions.len()];
    for &(a, b) in next.keys() {
        assert!(next.contains_key(&(b, a)), "edge {a} {b} is open");
        degree[a as usize] += 1;
        start[a as usize] = Some(b);
    }
    for (v, first) in start.iter().enumerate() {
        // Turning around the vertex from one edge must visit all its edges.
        let first = first.unwrap_or_else(|| panic!("vertex {v} is not used"));
        let (mut b, mut turns) = (first, 0);
        loop {
            b = next[&(v as u32, b)];
            turns += 1;
            if b == first || turns > degree[v] {
                break;
            }
        }
        assert_eq!(turns, degree[v], "vertex {v} has more than one fan");
    }
    mesh.positions.len() as i64 - next.len() as i64 / 2 + mesh.triangles.len() as i64
}

fn volume(mesh: &RawMesh) -> f64 {
    let p = |v: u32| mesh.positions[v as usize];
    mesh.triangles.iter().map(|t| p(t[0]).dot(p(t[1]).cross(p(t[2]))) / 6.0).sum()
}

#[test]
fn sphere_and_torus_are_closed_with_the_right_topology_and_second_order_volume() {
    use std::f64::consts::PI;
    let sphere = Analytic::sphere(DVec3::new(0.03, -0.02, 0.01), 0.8).unwrap();
    let torus = Analytic::torus(0.7, 0.25).unwrap();
    // Largest second derivative of the distance near the surface: 1 / (smallest radius of curvature - voxel).
    let cases = [
        (sphere, 2, 4.0 / 3.0 * PI * 0.8f64.powi(3), 0.8),
        (torus, 0, 2.0 * PI * PI * 0.7 * 0.25 * 0.25, 0.25),
    ];
    for (shape, euler, truth, radius) in cases {
        let mut errors = Vec::new();
        for n in [16, 32, 64, 128] {
            let grid = grid(n, 1.0);
            let mesh = surface_of(&shape, &grid);
            assert_eq!(check_closed_manifold(&mesh), euler, "{shape:?} at {n}");
            let h = grid.voxel;
            // The stated bound, plus the f32 rounding of a node value.
            let bound = h * h / (8.0 * (radius - h)) + 1e-4 * h + 1e-7;
            let worst = mesh.positions.iter().map(|&p| shape.distance(p).abs()).fold(0.0, f64::max);
            assert!(worst <= bound, "{shape:?} at {n}: {worst} > {bound}");
            assert!(volume(&mesh) > 0.0);
            errors.push((volume(&mesh) - truth).abs());
        }
        // Second order: each halving divides the error by about 4.
        for pair in errors.windows(2) {
            assert!((3.3..4.8).contains(&(pair[0] / pair[1])), "{shape:?}: {errors:?}");
        }
    }
}

#[test]
fn random_values_give_closed_manifolds_and_separate_all_nodes() {
    let mut middles = 0;
    for seed in 0..40u64 {
        // From rare inside nodes to rare outside ones; some values equal the iso value, some are not finite.
        let share = 0.1 + 0.8 * (seed as f64 / 39.0);
        let grid = IsoGrid { origin: DVec3::ZERO, voxel: 1.0, lower: [-9, -3, 0], upper: [9, 14, 11] };
        let value = |ijk: [i64; 3]| {
            if (0..3).any(|a| ijk[a] == grid.lower[a] || ijk[a] == grid.upper[a]) {
                return 1.0;
            }
            let mut random = Random(seed << 40 ^ (ijk[0] * 10_007 + ijk[1] * 101 + ijk[2]) as u64);
            random.bits();
            match random.bits() % 97 {
                0 => 0.25,
                1 => f32::NAN,
                2 => f32::INFINITY,
                3 => f32::NEG_INFINITY,
                _ => 0.25 + (random.range(0.0, 1.0) - share) as f32,
            }
        };
        let mesh = iso_surface(&grid, &grid.blocks(), 0.25, value).unwrap();
        assert!(mesh.triangles.len() > 1000, "seed {seed}: only {} triangles", mesh.triangles.len());
        check_closed_manifold(&mesh);
        let mut cut = 0;
        for i in grid.lower[0]..=grid.upper[0] {
            for j in grid.lower[1]..=grid.upper[1] {
                for k in grid.lower[2]..=grid.upper[2] {
                    let is = |n: [i64; 3]| (0..3).all(|a| n[a] <= grid.upper[a]) && value(n) < 0.25;
                    let here = is([i, j, k]);
                    cut += [[i + 1, j, k], [i, j + 1, k], [i, j, k + 1]]
                        .iter()
                        .filter(|&&n| is(n) != here)
                        .count();
                }
            }
        }
        assert!(mesh.positions.len() >= cut && mesh.positions.iter().all(|p| p.is_finite()));
        middles += mesh.positions.len() - cut;
    }
    assert!(middles > 100, "only {middles} middle vertices: the rare loops were not met");
}

#[test]
fn the_saddle_decides_whether_diagonal_neighbours_join() {
    // Two inside nodes across a face, in every plane and direction: deep ones join, shallow ones do not.
    let grid = IsoGrid { origin: DVec3::ZERO, voxel: 1.0, lower: [6; 3], upper: [11; 3] };
    for other in [[9, 9, 8], [9, 7, 8], [9, 8, 9], [7, 8, 9], [8, 9, 9], [8, 7, 9]] {
        for (inside, spheres) in [(-3.0, 1), (-0.5, 2)] {
            let value = |n| if n == [8, 8, 8] || n == other { inside } else { 1.0 };
            let mesh = iso_surface(&grid, &grid.blocks(), 0.0, value).unwrap();
            assert_eq!(check_closed_manifold(&mesh), 2 * spheres, "{other:?} {inside}");
            assert!(volume(&mesh) > 0.0);
        }
    }
}

#[test]
fn only_listed_blocks_are_visited_and_suffice() {
    let sphere = Analytic::sphere(DVec3::ZERO, 0.8).unwrap();
    let grid = grid(96, 1.0);
    let all = grid.blocks();
    let reach = grid.voxel * BLOCK as f64 * 3f64.sqrt() / 2.0;
    let middle = |b: &[i64; 3]| grid.position(b.map(|i| i * BLOCK + BLOCK / 2));
    let mut near: Vec<_> =
        all.iter().copied().filter(|b| sphere.distance(middle(b)).abs() <= reach).collect();
    assert!(near.len() * 2 < all.len(), "{} of {} blocks", near.len(), all.len());
    // Any order, and repeats.
    near.reverse();
    near.push(near[0]);
    let value = |ijk| sphere.distance(grid.position(ijk)) as f32;
    let sparse = iso_surface(&grid, &near, 0.0, value).unwrap();
    assert_eq!(sparse, surface_of(&sphere, &grid));
    assert_eq!(check_closed_manifold(&sparse), 2);
}

#[test]
fn the_same_mesh_for_any_number_of_threads() {
    let torus = Analytic::torus(0.7, 0.25).unwrap();
    let grid = grid(64, 1.0);
    let one = par::with_threads(1, || surface_of(&torus, &grid));
    for threads in [2, 3, 5] {
        assert_eq!(par::with_threads(threads, || surface_of(&torus, &grid)), one);
    }
}

#[test]
fn other_iso_values_give_offset_surfaces() {
    let sphere = Analytic::sphere(DVec3::ZERO, 0.5).unwrap();
    let grid = grid(48, 1.0);
    let mesh = iso_surface(&grid, &grid.blocks(), 0.2, |n| sphere.distance(grid.position(n)) as f32).unwrap();
    assert_eq!(check_closed_manifold(&mesh), 2);
    let worst = mesh.positions.iter().map(|p| (p.length() - 0.7).abs()).fold(0.0, f64::max);
    assert!(worst < 0.01 * grid.voxel, "{} voxels", worst / grid.voxel);
}

#[test]
fn no_cells_no_sign_change_and_absurd_blocks_give_an_empty_mesh() {
    let empty = |grid: &IsoGrid, blocks: &[[i64; 3]]| {
        let mesh = iso_surface(grid, blocks, 0.0, |n| if n[0] < 1000 { 1.0 } else { -1.0 }).unwrap();
        assert!(mesh.positions.is_empty() && mesh.triangles.is_empty());
    };
    let flat = IsoGrid { origin: DVec3::ZERO, voxel: 1.0, lower: [0; 3], upper: [9, 0, 9] };
    empty(&flat, &flat.blocks());
    let room = IsoGrid { upper: [9; 3], ..flat };
    empty(&room, &room.blocks());
    empty(&room, &[]);
    empty(&room, &[[i64::MAX; 3], [i64::MIN; 3], [i64::MAX / 8; 3], [77, 0, 0]]);
}
