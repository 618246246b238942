//! Contracts of [`Mesh::new`]: what any input becomes.

use super::shapes::{Random, Shape, cube, join, quads, sphere, sphere_part};
use super::{Mesh, MeshError, MeshReport, RawMesh, RepairParams, Topology};
use crate::par;
use glam::{DMat3, DVec3};
use std::f64::consts::{PI, TAU};

fn build((positions, triangles): Shape) -> Mesh {
    Mesh::new(RawMesh { positions, triangles }, &RepairParams::default()).unwrap()
}

/// Builds, and checks what holds for every mesh.
fn checked(shape: Shape) -> Mesh {
    let mesh = build(shape);
    let r = mesh.report().clone();
    assert_eq!((r.vertices, r.triangles), (mesh.positions().len(), mesh.triangles().len()));
    assert!(
        *mesh.topology() == Topology::build(mesh.triangles(), r.vertices),
        "kept topology is that of the result"
    );
    let mut used = vec![false; r.vertices];
    mesh.triangles().as_flattened().iter().for_each(|&v| used[v as usize] = true);
    assert!(used.iter().all(|u| *u));
    // Repairing again changes nothing.
    let again = build((mesh.positions().to_vec(), mesh.triangles().to_vec()));
    assert_eq!((again.positions(), again.triangles()), (mesh.positions(), mesh.triangles()));
    let clean = MeshReport {
        welded_vertices: 0,
        degenerate: 0,
        duplicate_faces: 0,
        stitched_edges: 0,
        flipped_faces: 0,
        ..r
    };
    assert_eq!(*again.report(), clean);
    mesh
}

/// Three vertices of its own for each triangle, as in an STL file.
fn exploded((p, tris): Shape) -> Shape {
    let positions: Vec<_> = tris.iter().flatten().map(|&v| p[v as usize]).collect();
    let triangles = (0..tris.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    (positions, triangles)
}

fn map((p, tris): Shape, f: impl Fn(DVec3) -> DVec3) -> Shape {
    (p.into_iter().map(f).collect(), tris)
}

fn flipped((p, tris): Shape) -> Shape {
    (p, tris.into_iter().map(|[a, b, c]| [a, c, b]).collect())
}

fn assert_same_surface(a: &MeshReport, b: &MeshReport) {
    let counts = |r: &MeshReport| {
        [
            r.vertices,
            r.triangles,
            r.welded_vertices,
            r.degenerate,
            r.duplicate_faces,
            r.stitched_edges,
            r.flipped_faces,
            r.boundary_edges,
            r.nonmanifold_edges,
            r.components,
            r.closed_components,
            r.holes,
        ]
    };
    assert_eq!(counts(a), counts(b));
    assert_eq!(
        (a.aabb, a.watertight, a.min_edge, a.max_edge),
        (b.aabb, b.watertight, b.min_edge, b.max_edge)
    );
    // The order of the sums differs.
    assert!((a.volume - b.volume).abs() <= 1e-12 * a.area * a.area.sqrt());
    assert!((a.area - b.area).abs() <= 1e-12 * a.area);
}

#[test]
fn exploded_meshes_are_welded_at_any_scale_and_place() {
    for scale in [1e-6, 1e-3, 1.0, 1e3, 1e8] {
        for offset in [0.0, 1000.0] {
            let place = |p: DVec3| scale * (p + offset);
            let whole = checked(map(sphere(20, 40), place));
            let mesh = checked(exploded(map(sphere(20, 40), place)));
            let r = mesh.report();
            assert_eq!((r.vertices, r.watertight, r.components), (whole.report().vertices, true, 1));
            assert_eq!(r.welded_vertices, 3 * r.triangles - r.vertices);
            let exact = 4.0 / 3.0 * PI * scale.powi(3);
            assert!((r.volume / exact - 1.0).abs() < 0.02, "{} {exact}", r.volume);
        }
    }
}

#[test]
fn vertices_within_the_tolerance_become_one_and_others_do_not() {
    // Each corner of each triangle moves by up to ±0.4 or ±40 tolerances (per axis; the diagonal is 3.46).
    for (noise, should_close) in [(0.25, true), (40.0, false)] {
        let mut random = Random(5);
        let shape = map(exploded(sphere(20, 40)), |p| p);
        let step = noise * 1e-9 * 3.46;
        let p = shape.0.iter().map(|p| p + (random.point() - 0.5) * 2.0 * step).collect();
        let mesh = build((p, shape.1));
        assert_eq!(mesh.report().watertight, should_close, "{noise} {:?}", mesh.report());
        let worst = mesh.report().area - sphere_area();
        assert!(worst.abs() < 1e-6, "{worst}");
    }
}

fn sphere_area() -> f64 {
    build(sphere(20, 40)).report().area
}

#[test]
fn a_stray_vertex_far_away_does_not_weld_the_detail() {
    let mut shape = sphere(20, 40);
    shape.0.push(DVec3::splat(1e11));
    assert_eq!(checked(shape).report().welded_vertices, 0);
    // A second part far away does set the tolerance; cells then hold many vertices that all must stay apart.
    let far = map(cube(), |p| p + 1e5);
    let mesh = checked(join(sphere(100, 200), far));
    assert_eq!((mesh.report().welded_vertices, mesh.report().closed_components), (0, 2));
}

#[test]
fn many_vertices_in_one_place_are_welded_in_linear_time() {
    let n = 200_000;
    let mut random = Random(3);
    let mut p: Vec<_> = cube().0;
    p.extend((0..n).map(|_| DVec3::ONE + random.point() * 1e-10));
    p.extend((0..n).map(|_| DVec3::ONE));
    let tris = (0..2 * n).map(|i| [0, 1, 8 + i as u32]).collect();
    let mesh = build((p, tris));
    assert_eq!((mesh.report().vertices, mesh.report().triangles), (3, 1));
}

#[test]
fn order_of_vertices_and_corners_does_not_matter() {
    let mut random = Random(11);
    let (p, mut tris) =
        join(join(sphere_part(12, 24, |r, c| (r, c) != (3, 3)), map(cube(), |p| 3.0 + p)), sphere(5, 7));
    // Some of everything: flipped, doubled and flat triangles.
    for t in (0..tris.len()).step_by(7) {
        tris[t].swap(0, 1);
    }
    tris.extend_from_within(20..30);
    tris.push([4, 4, 5]);
    let first = build(exploded((p.clone(), tris.clone())));
    assert!(first.report().flipped_faces > 0 && first.report().duplicate_faces == 10);
    for _ in 0..10 {
        let (mut q, mut order) = (p.clone(), tris.clone());
        let mut to: Vec<u32> = (0..p.len() as u32).collect();
        for i in (1..to.len()).rev() {
            to.swap(i, random.below(i + 1));
        }
        to.iter().zip(&p).for_each(|(&to, p)| q[to as usize] = *p);
        for t in &mut order {
            *t = t.map(|v| to[v as usize]);
            t.rotate_left(random.below(3));
        }
        assert_same_surface(first.report(), build(exploded((q, order))).report());
    }
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let mut shape = exploded(join(sphere(100, 200), map(flipped(cube()), |p| p + 2.0)));
    shape.1.iter_mut().step_by(5).for_each(|t| t.swap(0, 1));
    let one = par::with_threads(1, || build(shape.clone()));
    for threads in 2..=4 {
        let many = par::with_threads(threads, || build(shape.clone()));
        assert!(one.positions() == many.positions() && one.triangles() == many.triangles());
        assert_eq!(one.report(), many.report());
    }
}

#[test]
fn a_cube_with_any_faces_flipped_has_volume_one() {
    for pattern in 0..1_u32 << 12 {
        let (p, mut tris) = cube();
        for (t, tri) in tris.iter_mut().enumerate() {
            if pattern >> t & 1 == 1 {
                tri.swap(1, 2);
            }
        }
        let mesh = build((p, tris));
        let r = mesh.report();
        assert!(r.watertight && (r.volume - 1.0).abs() < 1e-15);
        assert_eq!(r.flipped_faces, pattern.count_ones() as usize);
    }
}

#[test]
fn an_open_shape_inside_out_is_turned_and_a_sheet_is_not() {
    let (p, mut tris) = cube();
    tris.truncate(10);
    for shape in [(p.clone(), tris.clone()), flipped((p, tris))] {
        let mesh = checked(shape);
        let caps = super::cap_holes(mesh.positions(), mesh.triangles(), mesh.topology(), &Default::default());
        let all = [mesh.triangles(), &caps.triangles].concat();
        assert!((checked((mesh.positions().to_vec(), all)).report().volume - 1.0).abs() < 1e-15);
        assert_eq!((mesh.report().holes, mesh.report().boundary_edges), (1, 4));
        assert_eq!(
            super::winding_number_exact(mesh.positions(), mesh.triangles(), DVec3::splat(0.4)).signum(),
            1.0
        );
    }
    let valley = sphere_part(40, 40, |r, _| r < 5);
    for shape in [valley.clone(), flipped(valley)] {
        let mesh = checked(shape.clone());
        assert_eq!((mesh.triangles(), mesh.report().flipped_faces), (&shape.1[..], 0));
    }
}

#[test]
fn a_cube_with_every_face_doubled_has_twelve_triangles() {
    let (p, tris) = cube();
    let same = [&tris[..], &tris].concat();
    let opposite = [&tris[..], &flipped((p.clone(), tris.clone())).1].concat();
    let many = [&same[..], &opposite].concat();
    for (doubled, copies) in [(same, 1), (opposite, 1), (many, 3)] {
        for shape in [(p.clone(), doubled.clone()), exploded((p.clone(), doubled))] {
            let mesh = checked(shape);
            let r = mesh.report();
            assert_eq!((r.triangles, r.duplicate_faces, r.watertight), (12, 12 * copies, true));
            assert!((r.volume - 1.0).abs() < 1e-15);
        }
    }
    // A lone triangle with its back.
    let mesh = checked((p, vec![[0, 1, 2], [2, 1, 0], [1, 2, 0]]));
    assert_eq!((mesh.report().triangles, mesh.report().duplicate_faces), (1, 2));
}

#[test]
fn cavities_stay_and_nested_solids_stay() {
    let inner = map(cube(), |p| 0.25 + 0.5 * p);
    let innermost = map(cube(), |p| 0.4 + 0.2 * p);
    let hollow = join(cube(), flipped(inner.clone()));
    let solid = join(cube(), inner);
    let island = join(hollow.clone(), innermost);
    // Whole files inside out become the same.
    for (shape, volume) in [(hollow, 0.875), (solid, 1.125), (island, 0.883)] {
        for (inside_out, shape) in [(false, shape.clone()), (true, flipped(shape))] {
            let mesh = checked(shape.clone());
            let r = mesh.report();
            assert!((r.volume - volume).abs() < 1e-14, "{} {volume} {inside_out}", r.volume);
            assert_eq!(r.flipped_faces, if inside_out { r.triangles } else { 0 });
        }
    }
}

#[test]
fn parts_that_only_lie_beside_each_other_all_face_outward() {
    let mut shape = cube();
    for i in 1..30_i32 {
        let next = map(cube(), |p| p + DVec3::new(f64::from(i * 2), 0.0, 0.0));
        shape = join(shape, if i % 3 == 0 { flipped(next) } else { next });
    }
    // A bent part whose box holds the next part, which is outside of it all the same.
    let elbow = join(
        map(cube(), |p| p * DVec3::new(9.0, 1.0, 1.0)),
        map(cube(), |p| DVec3::Y + p * DVec3::new(1.0, 8.0, 1.0)),
    );
    let beside = flipped(map(cube(), |p| p * 0.5 + DVec3::new(4.0, 4.0, 0.2)));
    let r = checked(shape).report().clone();
    assert!((r.volume - 30.0).abs() < 1e-12);
    assert_eq!((r.components, r.closed_components, r.flipped_faces), (30, 30, 9 * 12));
    let r = checked(join(elbow, beside)).report().clone();
    assert!((r.volume - 17.125).abs() < 1e-12, "{r:?}");
}

#[test]
fn cubes_that_share_an_edge_are_both_outward() {
    for second in [cube(), flipped(cube())] {
        let mesh = checked(join(cube(), map(second, |p| p + DVec3::new(1.0, 1.0, 0.0))));
        let r = mesh.report();
        assert_eq!((r.vertices, r.nonmanifold_edges, r.components, r.watertight), (14, 1, 1, false));
        assert!((r.volume - 2.0).abs() < 1e-14);
    }
}

#[test]
fn a_moebius_strip_ends_with_one_line_of_clashes() {
    let n = 40_u32;
    let mut p = Vec::new();
    for i in 0..n {
        let a = TAU * f64::from(i) / f64::from(n);
        let across = DVec3::new((0.5 * a).cos() * a.cos(), (0.5 * a).cos() * a.sin(), (0.5 * a).sin());
        let middle = DVec3::new(a.cos(), a.sin(), 0.0);
        p.extend([middle - 0.2 * across, middle + 0.2 * across]);
    }
    let mut faces: Vec<_> = (0..n - 1).map(|i| [2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2]).collect();
    faces.push([2 * n - 2, 2 * n - 1, 0, 1]);
    let r = checked((p, quads(&faces))).report().clone();
    assert_eq!((r.components, r.boundary_edges, r.nonmanifold_edges), (1, 2 * n as usize, 1));
}

#[test]
fn soups_give_a_mesh_or_an_error() {
    let (mut meshes, mut errors) = (0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let vertices = 3 + random.below(30);
        // A coarse lattice, so that equal, collinear and coplanar points are common.
        let p = (0..vertices).map(|_| (random.point() * 3.0).floor()).collect();
        let count = random.below(60);
        let tris = (0..count).map(|_| [0; 3].map(|_| random.below(vertices) as u32)).collect();
        match Mesh::new(RawMesh { positions: p, triangles: tris }, &RepairParams::default()) {
            Ok(mesh) => {
                checked((mesh.positions().to_vec(), mesh.triangles().to_vec()));
                meshes += 1;
            }
            Err(MeshError::Empty | MeshError::AllDegenerate { .. }) => errors += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(meshes > 200 && errors > 3, "{meshes} {errors}");
}

#[test]
fn thin_triangles_survive_and_flat_ones_go() {
    for scale in [1e-100, 1e-9, 1.0, 1e9] {
        for (height, is_flat) in [(1e-9, false), (0.0, true), (1e-14, true)] {
            let p = [DVec3::ZERO, DVec3::X, DVec3::new(0.3, height, 0.0)];
            let turn = DMat3::from_rotation_z(1.0) * DMat3::from_rotation_x(2.0) * scale;
            let p: Vec<_> = p.iter().map(|p| turn * p).collect();
            let raw = RawMesh { positions: p, triangles: vec![[0, 1, 2]] };
            let got = Mesh::new(raw, &RepairParams { weld: 0.0 });
            assert_eq!(got.is_err(), is_flat, "{scale} {height}");
        }
    }
}

#[test]
fn bad_values_are_named() {
    let new = |positions: Vec<DVec3>, triangles: Vec<[u32; 3]>| {
        Mesh::new(RawMesh { positions, triangles }, &RepairParams::default()).unwrap_err()
    };
    let (p, tris) = cube();
    let mut q = p.clone();
    q[5].y = f64::INFINITY;
    same(&new(q.clone(), tris.clone()), &MeshError::NonFinite { vertex: 5, value: f64::INFINITY });
    q[5].y = f64::NAN;
    assert!(matches!(new(q.clone(), tris.clone()), MeshError::NonFinite { vertex: 5, .. }));
    q[5].y = -1e13;
    same(&new(q, tris.clone()), &MeshError::TooLarge { vertex: 5, value: -1e13 });
    let mut bad = tris;
    bad[3][1] = 8;
    let error = new(p.clone(), bad);
    same(&error, &MeshError::IndexOutOfRange { triangle: 3, vertex: 8, count: 8 });
    assert!(error.to_string().starts_with("triangle 3 uses vertex 8 but the mesh has 8 vertices"));
    same(&new(p.clone(), vec![]), &MeshError::Empty);
    same(&new(vec![], vec![]), &MeshError::Empty);
    same(&new(p.clone(), vec![[1, 1, 2], [0, 0, 0]]), &MeshError::AllDegenerate { count: 2 });
    for weld in [f64::NAN, -1.0, 0.5] {
        let raw = RawMesh { positions: p.clone(), triangles: vec![[0, 1, 2]] };
        assert!(matches!(Mesh::new(raw, &RepairParams { weld }), Err(MeshError::BadWeld { .. })));
    }
}

#[test]
fn the_suggested_voxel_keeps_its_rule() {
    let voxel = |shape| build(shape).report().suggested_voxel;
    // 12 triangles: coarse, so 1/128. A fine sphere: half its mean edge. A plate 1/100 thick: a quarter of that.
    assert_eq!(voxel(cube()), 0.0078);
    let fine = build(sphere(200, 400));
    assert!((fine.report().suggested_voxel / (0.5 * fine.report().mean_edge) - 1.0).abs() < 0.05);
    assert_eq!(voxel(map(cube(), |p| p * DVec3::new(1.0, 1.0, 0.01))), 0.0025);
    assert_eq!(voxel(map(cube(), |p| p * 1e-3)), 7.8e-6);
}

fn same(a: &MeshError, b: &MeshError) {
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}
