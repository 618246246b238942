//! Contracts of the voxel map.
//!
//! Referee for the surface: separating axes in integers, exact, for vertices on a fine lattice. Referee for the
//! fill: the analytic solid. Referee for layers: the definition, voxel by voxel.

use super::*;
use crate::mesh::{self, samples};
use core::sync::atomic::{AtomicU32, Ordering};

/// Lattice steps in a voxel of the exact referee: the inflated referee grows by one step, 6e-5 voxel.
const STEPS: i128 = 1 << 14;

/// Voxel size of the referee's grids: a power of two, so that lattice positions are exact [m].
const VOXEL: f64 = 0.125;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
    fn between(&mut self, a: i64, b: i64) -> i64 {
        a + self.below((b - a + 1) as u64) as i64
    }
}

fn mesh_of(raw: mesh::RawMesh) -> Mesh {
    Mesh::from_parts_unchecked(raw.positions, raw.triangles)
}

/// Whether the triangle meets the closed box `lo..=hi`, exactly.
fn touches_exactly(v: &[[i128; 3]; 3], lo: [i128; 3], hi: [i128; 3]) -> bool {
    let f = [0, 1, 2].map(|e| [0, 1, 2].map(|x| v[(e + 1) % 3][x] - v[e][x]));
    let cross = |a: [i128; 3], b: [i128; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let unit = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    let mut axes = unit.to_vec();
    axes.push(cross(f[0], f[1]));
    axes.extend(unit.iter().flat_map(|&e| f.iter().map(move |&f| cross(e, f))));
    axes.iter().all(|a| {
        let along = v.map(|p| a[0] * p[0] + a[1] * p[1] + a[2] * p[2]);
        let low: i128 = (0..3).map(|x| (a[x] * lo[x]).min(a[x] * hi[x])).sum();
        let high: i128 = (0..3).map(|x| (a[x] * lo[x]).max(a[x] * hi[x])).sum();
        along.iter().min().unwrap() <= &high && along.iter().max().unwrap() >= &low
    })
}

/// Compares the voxels of one triangle, given on the lattice, with the exact ones; returns (touched, in the box).
fn compare_with_exact(v: [[i64; 3]; 3]) -> (usize, usize) {
    let at = |p: [i64; 3]| DVec3::from_array(p.map(|x| x as f64 / STEPS as f64 * VOXEL));
    let mesh = Mesh::from_parts_unchecked(v.map(at).to_vec(), vec![[0, 1, 2]]);
    let map = SurfaceVoxels::build(&mesh, VOXEL, &VoxmapParams { padding: 2, ..Default::default() }).unwrap();
    let grid = map.grid();
    let origin = (grid.origin / VOXEL * STEPS as f64).to_array().map(|x| x as i128);
    assert_eq!(DVec3::from_array(origin.map(|x| x as f64 / STEPS as f64 * VOXEL)), grid.origin, "exact");
    let v = v.map(|p| p.map(i128::from));
    let (mut touched, mut all) = (0, 0);
    for k in 0..grid.dims[2] {
        for j in 0..grid.dims[1] {
            for i in 0..grid.dims[0] {
                let lo: [i128; 3] = core::array::from_fn(|x| origin[x] + i128::from([i, j, k][x]) * STEPS);
                let ours = map.contains([i, j, k]);
                if touches_exactly(&v, lo, lo.map(|x| x + STEPS)) {
                    assert!(ours, "missed {:?} of {v:?}", [i, j, k]);
                    touched += 1;
                } else if ours {
                    let grown = touches_exactly(&v, lo.map(|x| x - 1), lo.map(|x| x + STEPS + 1));
                    assert!(grown, "{:?} is not near {v:?}", [i, j, k]);
                }
                all += 1;
            }
        }
    }
    (touched, all)
}

#[test]
fn surface_is_exact_up_to_rounding() {
    let s = STEPS as i64;
    let mut random = Random(1);
    let (mut touched, mut all) = (0, 0);
    for case in 0..1400 {
        let mut p =
            |range: i64, step: i64| [0; 3].map(|_: i32| random.between(-range / step, range / step) * step);
        let v = match case % 7 {
            // Anything; tiny; on voxel corners; on half voxels.
            0 => [p(6 * s, 1), p(6 * s, 1), p(6 * s, 1)],
            1 => [p(s / 2, 1), p(s / 2, 1), p(s / 2, 1)],
            2 => [p(5 * s, s), p(5 * s, s), p(5 * s, s)],
            3 => [p(4 * s, s / 2), p(4 * s, s / 2), p(4 * s, s / 2)],
            // Needles: the third corner is a step or none off the edge.
            4 => {
                let (a, d) = (p(3 * s, 1), p(2 * s, 1));
                let off = p(1, 1);
                [a, [0, 1, 2].map(|x| a[x] + 2 * d[x]), [0, 1, 2].map(|x| a[x] + d[x] + off[x])]
            }
            // In a coordinate plane, on a voxel face or a step off it.
            5 => {
                let mut v = [p(4 * s, 1), p(4 * s, 1), p(4 * s, 1)];
                let (axis, level) = (case / 7 % 3, p(2 * s, s)[0] + p(1, 1)[0]);
                v.iter_mut().for_each(|q| q[axis] = level);
                v
            }
            // Slabs: nearly in a coordinate plane, large.
            _ => {
                let mut v = [p(9 * s, 1), p(9 * s, 1), p(9 * s, 1)];
                v.iter_mut().for_each(|q| q[case / 7 % 3] /= 5000);
                v
            }
        };
        let (t, a) = compare_with_exact(v);
        touched += t;
        all += a;
    }
    let share = touched as f64 / all as f64;
    assert!((0.02..0.5).contains(&share), "share of touched voxels {share}");
}

#[test]
fn rounding_never_misses_far_from_the_origin_and_off_the_lattice() {
    // Points on the triangle, computed in f64 relative to a corner, must lie in marked voxels.
    let mut random = Random(2);
    for case in 0..200 {
        let scale = [1.0, 1e-3, 1e3, 1e6][case % 4];
        let centre = DVec3::splat([0.0, 1.0, 1e5, 1e-5][case / 4 % 4]) * scale;
        let mut p = || {
            let unit = [0; 3].map(|_: i32| random.below(1 << 30) as f64 / f64::from(1 << 30));
            centre + scale * DVec3::from_array(unit)
        };
        let [a, b, c] = [p(), p(), p()];
        let mesh = Mesh::from_parts_unchecked(vec![a, b, c], vec![[0, 1, 2]]);
        let map = SurfaceVoxels::build(&mesh, scale / 97.3, &VoxmapParams::default()).unwrap();
        for n in 0..500 {
            let (s, t) = (f64::from(n % 23) / 22.0, f64::from(n % 29) / 28.0);
            let (s, t) = if s + t > 1.0 { (1.0 - s, 1.0 - t) } else { (s, t) };
            let q = a + (b - a) * s + (c - a) * t;
            let ijk = map.grid().voxel_at(q).unwrap();
            assert!(map.contains(ijk), "case {case}: {q} in {ijk:?}");
        }
    }
}

#[test]
fn all_navigations_and_thread_counts_give_the_same_voxels() {
    for (name, voxel) in [
        ("nut-and-bolt", 4e-4),
        ("gear", 6e-4),
        ("sheet", 7e-4),
        ("thin-fin", 1e-3),
        ("cuboid", 1e-3),
        ("needle", 3e-4),
    ] {
        let mesh = mesh_of(samples::by_name(name).unwrap());
        let build = |navigation, threads| {
            let params = VoxmapParams { navigation, threads, ..Default::default() };
            Voxmap::build(&mesh, voxel, &params).unwrap()
        };
        let reference = build(Navigation::Box, 1);
        assert!(reference.stats().surface_voxels > 300, "{name}");
        for navigation in [Navigation::Auto, Navigation::First, Navigation::Second, Navigation::Solved] {
            let map = build(navigation, 2);
            assert!(map.surface == reference.surface && map.directory == reference.directory, "{name}");
            assert_eq!(map.stats().hits, reference.stats().hits, "{name} {navigation:?}");
            assert!(map.stats().sat_tests < reference.stats().sat_tests);
        }
        let one = build(Navigation::Auto, 1);
        for threads in 2..=5 {
            let map = build(Navigation::Auto, threads);
            let same = map.directory == one.directory && map.surface == one.surface;
            assert!(same && map.inside == one.inside && map.planes == one.planes, "{name} {threads}");
            assert_eq!((map.stats(), map.fill_report()), (one.stats(), one.fill_report()));
        }
    }
}

#[test]
fn voxels_follow_the_definition_of_the_sphere() {
    let (radius, voxel) = (0.05, 1.3e-3);
    let map = Voxmap::build(&mesh_of(samples::sphere(radius, 5)), voxel, &VoxmapParams::default()).unwrap();
    // The faces of the icosphere lie at most this far inside the sphere [m].
    let sagitta = 6e-5;
    let mut counts = [0u64; 3];
    for_all(map.grid(), |ijk| {
        let class = map.class(ijk);
        counts[class as usize] += 1;
        let centre = map.grid().centre(ijk);
        let (near, far) = nearest_and_farthest(centre, voxel);
        match class {
            Class::Outside => assert!(near > radius - sagitta, "{ijk:?}"),
            Class::Inside => assert!(far < radius, "{ijk:?}"),
            Class::Surface => assert!(near < radius + 1e-12 && far > radius - sagitta, "{ijk:?}"),
        }
    });
    let report = map.fill_report();
    assert_eq!(counts, [report.outside_voxels, report.surface_voxels, report.inside_voxels]);
    assert_eq!(counts.iter().sum::<u64>(), map.grid().voxel_count());
    assert_eq!((report.regions, report.leaks), (1, false));
    let listed: Vec<_> = map.surface_voxels().collect();
    assert_eq!(listed.len() as u64, report.surface_voxels);
    assert!(listed.iter().all(|&ijk| map.class(ijk) == Class::Surface));
}

/// Distances from the origin to the nearest and farthest point of the voxel around `centre` [m].
fn nearest_and_farthest(centre: DVec3, voxel: f64) -> (f64, f64) {
    let near = (centre.abs() - 0.5 * voxel).max(DVec3::ZERO).length();
    (near, (centre.abs() + 0.5 * voxel).length())
}

fn for_all(grid: &Grid, mut f: impl FnMut([u32; 3])) {
    for k in 0..grid.dims[2] {
        for j in 0..grid.dims[1] {
            for i in 0..grid.dims[0] {
                f([i, j, k]);
            }
        }
    }
}

#[test]
fn fill_matches_a_plain_flood_and_counts_regions() {
    let shell = samples::joined(&[samples::sphere(0.05, 3), samples::sphere(0.03, 3)]);
    let cubes = samples::joined(&[
        samples::cuboid(DVec3::splat(0.03)),
        samples::moved(samples::cuboid(DVec3::splat(0.02)), DVec3::new(0.05, 0.01, 0.0)),
    ]);
    let cases = [
        (shell, 2),
        (cubes, 2),
        (samples::by_name("torus").unwrap(), 1),
        (samples::by_name("gear").unwrap(), 1),
        (samples::by_name("two-overlapping-cubes").unwrap(), 3),
        (samples::by_name("sheet").unwrap(), 0),
    ];
    for (raw, regions) in cases {
        let map = Voxmap::build(&mesh_of(raw), 1.1e-3, &VoxmapParams::default()).unwrap();
        assert_eq!(map.fill_report().regions, regions);
        assert!(!map.fill_report().leaks && map.fill_report().closed == (regions > 0));
        // Plain flood over all 26 neighbours, voxel by voxel.
        let [nx, ny, nz] = map.grid().dims.map(|n| n as usize);
        let mut outside = vec![false; nx * ny * nz];
        let mut stack = vec![[0usize; 3]];
        outside[0] = true;
        while let Some([x, y, z]) = stack.pop() {
            for c in z.saturating_sub(1)..=(z + 1).min(nz - 1) {
                for b in y.saturating_sub(1)..=(y + 1).min(ny - 1) {
                    for a in x.saturating_sub(1)..=(x + 1).min(nx - 1) {
                        let seen = &mut outside[(c * ny + b) * nx + a];
                        if !*seen && map.class([a, b, c].map(|i| i as u32)) != Class::Surface {
                            *seen = true;
                            stack.push([a, b, c]);
                        }
                    }
                }
            }
        }
        for_all(map.grid(), |ijk| {
            let [i, j, k] = ijk.map(|i| i as usize);
            let is_outside = map.class(ijk) == Class::Outside;
            assert_eq!(is_outside, outside[(k * ny + j) * nx + i], "{ijk:?}");
        });
    }
}

#[test]
fn holes_wider_than_a_voxel_are_reported() {
    let build = |raw, voxel| Voxmap::build(&mesh_of(raw), voxel, &VoxmapParams::default()).unwrap();
    let open = build(samples::cube_missing_face(0.05), 1e-3);
    assert!(open.fill_report().leaks && open.fill_report().inside_voxels == 0, "{:?}", open.fill_report());
    for raw in [samples::cube_doubled_faces(0.05), samples::cube_half_flipped(0.05), samples::thin_fin(1e-4)]
    {
        let report = *build(raw, 1e-3).fill_report();
        assert!(report.inside_voxels > 30_000, "{report:?}");
    }
}

#[test]
fn layers_are_chessboard_distances_with_our_sign() {
    for (name, voxel, layers) in
        [("bumpy-sphere", 3.1e-3, 3), ("gear", 2e-3, 1), ("torus", 3e-3, 11), ("nut", 1e-3, 8)]
    {
        let mesh = mesh_of(samples::by_name(name).unwrap());
        let params = VoxmapParams { layers, padding: 5, ..Default::default() };
        let map = Voxmap::build(&mesh, voxel, &params).unwrap();
        let surface: Vec<[u32; 3]> = map.surface_voxels().collect();
        let mut random = Random(3);
        let mut numbered = 0;
        for _ in 0..3000 {
            let ijk = map.grid().dims.map(|n| random.below(u64::from(n)) as u32);
            let distance =
                surface.iter().map(|s| (0..3).map(|x| s[x].abs_diff(ijk[x])).max().unwrap()).min().unwrap();
            let sign = if map.class(ijk) == Class::Inside { -1 } else { 1 };
            let expected = (distance <= layers).then_some(sign * distance as i32);
            assert_eq!(map.layer(ijk), expected, "{name} {ijk:?}");
            numbered += u32::from(expected.is_some_and(|l| l != 0));
        }
        assert!((200..2900).contains(&numbered), "{name}: {numbered} samples in layers");
    }
}

#[test]
fn no_layers_may_be_asked_for() {
    let mesh = mesh_of(samples::sphere(0.05, 2));
    let map = Voxmap::build(&mesh, 2e-3, &VoxmapParams { layers: 0, ..Default::default() }).unwrap();
    let surface = map.surface_voxels().next().unwrap();
    assert_eq!((map.layer(surface), map.layer([0; 3]), map.layers()), (Some(0), None, 0));
    assert_eq!(map.layer([u32::MAX; 3]), None);
    assert_eq!(map.class([u32::MAX; 3]), Class::Outside);
}

#[test]
fn resolution_gives_the_asked_number_of_voxels() {
    for n in [7, 64, 256, 511] {
        for name in ["cuboid", "gear", "terrain"] {
            let aabb = mesh_of(samples::by_name(name).unwrap()).aabb();
            let grid = Grid::around(aabb, Grid::voxel_for_resolution(aabb, n), 3).unwrap();
            assert_eq!(grid.dims.iter().max(), Some(&n), "{name}");
            assert!(grid.aabb().padded(-2.9 * grid.voxel).contains(aabb.min));
        }
    }
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    let mesh = mesh_of(samples::by_name("gear").unwrap());
    let params = VoxmapParams::default();
    for voxel in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Voxmap::build(&mesh, voxel, &params), Err(BuildError::VoxelSize { .. })));
    }
    for voxel in [1e-300, 1e-9, 1e-6] {
        let Err(BuildError::TooManyVoxels { fitting, .. }) = Voxmap::build(&mesh, voxel, &params) else {
            panic!("{voxel}");
        };
        assert!(Grid::around(mesh.aabb(), fitting, 3).is_ok(), "{voxel} -> {fitting}");
    }
    for params in [VoxmapParams { padding: 1, ..params }, VoxmapParams { layers: 256, ..params }] {
        assert!(Voxmap::build(&mesh, 1e-3, &params).is_err());
    }
    let empty = Mesh::from_parts_unchecked(Vec::new(), Vec::new());
    assert!(matches!(Voxmap::build(&empty, 1e-3, &params), Err(BuildError::Bounds { .. })));
    let far = Mesh::from_parts_unchecked(vec![DVec3::splat(1e300), DVec3::ZERO], Vec::new());
    assert!(Voxmap::build(&far, 1e-3, &params).is_err());
}

#[test]
fn memory_limits_hold_and_name_a_size_that_fits() {
    let mesh = mesh_of(samples::by_name("nut-and-bolt").unwrap());
    for allowed in [2_000_000u64, 20_000_000] {
        let limited = VoxmapParams { max_memory: Some(allowed), ..Default::default() };
        let Err(error) = Voxmap::build(&mesh, 3e-5, &limited) else { panic!("{allowed}") };
        let BuildError::Memory { needed, fitting, .. } = error else { panic!("{error}") };
        assert!(needed > allowed && error.to_string().contains(&fitting.to_string()), "{error}");
        let map = Voxmap::build(&mesh, fitting, &limited).unwrap();
        assert!(map.memory_bytes() <= allowed, "{} of {allowed}", map.memory_bytes());
        assert!(map.memory_bytes() * 40 > allowed, "{fitting} is far too coarse for {allowed}");
    }
}

/// Cancels after a number of looks.
struct CancelAfter(AtomicU32);

impl Progress for CancelAfter {
    fn stage(&self, _name: &'static str, _steps: u64) {}
    fn advance(&self, _steps: u64) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
    }
}

#[test]
fn cancelling_stops_with_its_error() {
    let mesh = mesh_of(samples::by_name("gear").unwrap());
    for looks in [0, 1, 5] {
        let progress = CancelAfter(AtomicU32::new(looks));
        let map = Voxmap::build_with(&mesh, 1e-3, &VoxmapParams::default(), &progress);
        assert!(matches!(map, Err(BuildError::Cancelled)), "{looks}");
    }
}
