//! Pairs of deforming meshes, against testing every pair.
use super::*;
use crate::field::source::random::Random;
use crate::mesh::{RawMesh, samples};
use glam::{DVec3, Vec3Swizzles};

/// Every pair that meets, by the exact test alone; boxes that are apart are not asked.
fn brute(a: &SoftMesh, b: &SoftMesh, own: bool) -> Vec<[u32; 2]> {
    let corners = |m: &SoftMesh| -> Vec<(u32, [DVec3; 3])> {
        let all = (0..m.triangles().len() as u32).filter(|t| m.takes_part(*t));
        all.filter_map(|t| Some((t, m.corners(t)?))).collect()
    };
    let bounds = |c: &[DVec3; 3]| (c[0].min(c[1]).min(c[2]), c[0].max(c[1]).max(c[2]));
    let mut out = Vec::new();
    for (i, s) in corners(a) {
        let (low, high) = bounds(&s);
        for (j, t) in corners(b) {
            let (l, h) = bounds(&t);
            if low.cmpgt(h).any() || l.cmpgt(high).any() || (own && j <= i) {
                continue;
            }
            let share = |v: &u32| b.triangles()[j as usize].contains(v);
            if own && a.triangles()[i as usize].iter().any(share) {
                continue;
            }
            if triangles_meet(&s, &t) {
                out.push([i, j]);
            }
        }
    }
    out.sort_unstable();
    out
}

fn soft(mesh: &RawMesh) -> SoftMesh {
    SoftMesh::new(mesh.positions.clone(), mesh.triangles.clone()).unwrap()
}

/// Sheets of a grid, one above another.
fn stack(n: usize, sheets: usize, gap: f64) -> RawMesh {
    let sheet = samples::sheet(n);
    let layers: Vec<RawMesh> =
        (0..sheets).map(|i| samples::moved(sheet.clone(), DVec3::Z * (i as f64 * gap))).collect();
    samples::joined(&layers)
}

/// By every method, and by every size of leaf and threshold.
fn all_methods(soft: &mut Soft, a: &SoftMesh, b: &SoftMesh, expected: &[[u32; 2]], case: &str) {
    for (method, leaf, cut_threshold) in [
        (Method::Refit, 8, 1.0),
        (Method::Cut, 8, 1.0),
        (Method::Cut, 1, 1.0),
        (Method::Cut, 20, 0.55),
        (Method::Auto, 8, 1.0),
    ] {
        let params = SoftParams { method, leaf, cut_threshold };
        let found = soft.pairs(a, b, &params);
        assert_eq!(found.list, expected, "{case}, {params:?}");
        assert!(found.stats.tested >= expected.len() && found.stats.method != Method::Auto);
    }
}

/// Waves, growth, twists and noise; poses from apart to within each other; triangles switched at random.
#[test]
fn pairs_are_those_of_brute_force() {
    let kinds = [
        (samples::bumpy_sphere(1.0, 0.2, 4, 2, 1), samples::bumpy_sphere(1.0, 0.2, 4, 2, 1)),
        (samples::torus(1.0, 0.4, 16, 10), samples::sphere(0.9, 2)),
        (samples::sheet(12), samples::cuboid(DVec3::new(1.0, 0.5, 0.25))),
        (samples::torus_knot(2, 3, 1.0, 0.4, 0.2, 40, 6), stack(6, 3, 0.2)),
        (stack(7, 2, 0.0), stack(7, 2, 0.0)),
    ];
    let mut r = Random(3);
    let mut memory = Soft::new();
    let (mut configurations, mut hits, mut pairs) = (0, 0, 0);
    for (x, y) in &kinds {
        let (mut a, mut b) = (soft(x), soft(y));
        for step in 0..110 {
            let t = 0.1 * step as f64;
            let apart = r.point(1.0) * [0.0, 0.5, 1.5][step % 3];
            let turn = r.rotation();
            let flat = step % 4 == 3;
            let scale = [1.0, 1e-3, 1e3][step / 3 % 3];
            let noise = if step % 2 == 0 { 0.0 } else { 0.05 };
            for (mesh, rest, away) in [(&mut a, x, DVec3::ZERO), (&mut b, y, apart)] {
                let (kept, swing) = (away == DVec3::ZERO, 0.2 * t.sin());
                let moved: Vec<DVec3> = rest
                    .positions
                    .iter()
                    .map(|p| {
                        let wave =
                            DVec3::new((3.0 * p.y + t).sin(), (2.0 * p.z + t).sin(), (2.5 * p.x + t).sin());
                        let p = *p + swing * wave + r.point(noise);
                        // Some are pressed into a plane.
                        let p = if flat { p * DVec3::new(1.0, 1.0, 0.0) } else { p };
                        let p = if kept || flat { p } else { turn * p };
                        (p + if flat { away * DVec3::new(1.0, 1.0, 0.0) } else { away }) * scale
                    })
                    .collect();
                mesh.set_positions(&moved).unwrap();
                let count = mesh.triangles().len();
                for _ in 0..8 {
                    let triangle = (r.range(0.0, 1.0) * count as f64) as u32;
                    mesh.set_enabled(triangle, r.range(0.0, 1.0) < 0.7).unwrap();
                }
            }
            let expected = brute(&a, &b, false);
            all_methods(&mut memory, &a, &b, &expected, &format!("step {step}"));
            configurations += 1;
            hits += usize::from(!expected.is_empty());
            pairs += expected.len();
        }
    }
    println!("{configurations} configurations, {hits} with pairs, {pairs} pairs");
    assert!(configurations >= 500 && hits > 250 && hits < 520, "{hits} of {configurations}");
}

/// Of one mesh with itself: neighbours are left out, folds are found.
#[test]
fn own_pairs_are_those_of_brute_force() {
    let mut memory = Soft::new();
    let mut r = Random(5);
    let mut pairs = 0;
    for (name, rest) in [
        ("knot", samples::torus_knot(2, 3, 1.0, 0.4, 0.2, 40, 6)),
        ("sheet", samples::sheet(16)),
        ("layers", stack(7, 3, 0.0)),
    ] {
        let mut mesh = soft(&rest);
        for step in 0..24 {
            let fold = 0.3 * step as f64;
            let noise = if step % 3 == 0 { 0.0 } else { 0.03 };
            mesh.set_positions(
                &rest
                    .positions
                    .iter()
                    .map(|p| {
                        DVec3::new((fold * p.x).sin(), p.y, p.z + 0.1 * (3.0 * fold * p.x).cos())
                            + r.point(noise)
                    })
                    .collect::<Vec<_>>(),
            )
            .unwrap();
            let expected = brute(&mesh, &mesh, true);
            pairs += expected.len();
            for (method, leaf) in [(Method::Refit, 8), (Method::Cut, 8), (Method::Cut, 3), (Method::Auto, 32)]
            {
                let params = SoftParams { method, leaf, ..SoftParams::default() };
                assert_eq!(memory.own_pairs(&mesh, &params).list, expected, "{name} {step} {params:?}");
            }
        }
    }
    assert!(pairs > 1000, "{pairs}");
}

/// A mesh and itself, and a copy: every triangle meets at least itself.
#[test]
fn identical_meshes_meet_everywhere() {
    let rest = samples::bumpy_sphere(1.0, 0.2, 4, 2, 1);
    let (a, b) = (soft(&rest), soft(&rest));
    let expected = brute(&a, &b, false);
    let mut memory = Soft::new();
    for (x, y) in [(&a, &b), (&b, &a), (&a, &a)] {
        all_methods(&mut memory, x, y, &expected, "identical");
    }
    assert!((0..a.triangles().len() as u32).all(|t| expected.contains(&[t, t])));
    // Twice the same triangles: each pair twice, and twice again.
    let double: Vec<[u32; 3]> = rest.triangles.iter().chain(&rest.triangles).copied().collect();
    let twice = SoftMesh::new(rest.positions.clone(), double).unwrap();
    assert_eq!(memory.pairs(&twice, &b, &SoftParams::default()).list.len(), 2 * expected.len());
    assert_eq!(memory.pairs(&twice, &twice, &SoftParams::default()).list.len(), 4 * expected.len());
}

/// Distances are those of every pair of triangles, and meeting is distance 0; hulls are nearer, and their axis separates.
#[test]
fn distances_are_those_of_brute_force() {
    let (x, y) = (samples::torus(1.0, 0.3, 14, 8), samples::bumpy_sphere(0.5, 0.1, 4, 2, 3));
    let (mut a, mut b) = (soft(&x), soft(&y));
    let mut memory = Soft::new();
    let mut r = Random(9);
    let (mut apart, mut met, mut parted) = (0, 0, 0);
    for step in 0..60 {
        let (turn, scale) = (r.rotation(), [1.0, 1e-3, 1e3][step % 3]);
        let away = r.direction() * r.range(0.0, 3.0);
        a.set_positions(&x.positions.iter().map(|p| *p * scale).collect::<Vec<_>>()).unwrap();
        b.set_positions(&y.positions.iter().map(|p| (turn * *p + away) * scale).collect::<Vec<_>>()).unwrap();
        let found = memory.distance(&a, &b).unwrap();
        let all =
            |m: &SoftMesh| (0..m.triangles().len() as u32).map(|t| m.corners(t).unwrap()).collect::<Vec<_>>();
        let mut least = f64::INFINITY;
        for s in all(&a) {
            for t in all(&b) {
                least = least.min(triangle_distance(&s, &t).0);
            }
        }
        assert_eq!(found.distance, least, "step {step}");
        assert!(((found.witnesses[0] - found.witnesses[1]).length() - least).abs() < 1e-12 * scale);
        let pairs = memory.pairs(&a, &b, &SoftParams::default()).list.len();
        assert_eq!(pairs > 0, least == 0.0);
        if pairs > 0 {
            met += 1
        } else {
            apart += 1
        }
        let hulls = hulls(&a, &b).unwrap();
        assert!(hulls.distance <= least + 1e-6 * scale, "{hulls:?} {least}");
        if let Some(axis) = hulls.axis {
            let along = |m: &SoftMesh| m.positions().iter().map(|p| p.dot(axis)).collect::<Vec<_>>();
            let high = along(&a).into_iter().fold(f64::NEG_INFINITY, f64::max);
            let low = along(&b).into_iter().fold(f64::INFINITY, f64::min);
            assert!(
                low > high && (low - high - hulls.distance).abs() < 1e-5 * scale,
                "{low} {high} {hulls:?}"
            );
            parted += 1;
        }
    }
    assert!(apart > 15 && met > 15 && parted > 10, "{apart} apart, {met} met, {parted} parted");
}

/// Contacts lie on both triangles, and moving one along the way by its depth parts them.
#[test]
fn contacts_say_where_and_how_deep() {
    let rest = samples::sphere(1.0, 2);
    let a = soft(&rest);
    let b = SoftMesh::new(
        rest.positions.iter().map(|p| *p + DVec3::new(1.7, 0.1, 0.05)).collect(),
        rest.triangles,
    )
    .unwrap();
    let mut memory = Soft::new();
    let found = contacts(&a, &b, memory.pairs(&a, &b, &SoftParams::default()));
    assert!(found.len() > 20 && found.len() == memory.last().list.len());
    for c in &found {
        let (s, t) = (a.corners(c.pair[0]).unwrap(), b.corners(c.pair[1]).unwrap());
        let point = [c.point; 3];
        assert!(triangle_distance(&s, &point).0 < 1e-12 && triangle_distance(&t, &point).0 < 1e-12);
        let moved = t.map(|p| p + c.normal * (c.depth + 1e-9));
        assert!(!triangles_meet(&s, &moved));
    }
}

/// Bad input has an answer, and loses nothing.
#[test]
fn bad_input_is_answered() {
    let rest = samples::sphere(1.0, 1);
    let mut a = soft(&rest);
    let b = soft(&rest);
    let mut memory = Soft::new();
    let params = SoftParams::default();
    let whole = memory.pairs(&a, &b, &params).list.clone();
    assert!(!whole.is_empty());
    assert_eq!(
        a.set_positions(&[DVec3::ZERO]),
        Err(SoftError::Length { has: rest.positions.len(), given: 1 })
    );
    assert_eq!(memory.pairs(&a, &b, &params).list, whole);
    assert!(matches!(
        SoftMesh::new(vec![DVec3::ZERO], vec![[0, 0, 1]]),
        Err(SoftError::Index { triangle: 0, vertices: 1 })
    ));
    assert!(
        a.add_triangle([0, 1, 9999]).is_err()
            && a.set_enabled(9999, true).is_err()
            && a.remove_triangle(9999).is_err()
    );
    // One frame without numbers: the triangles of that vertex are out, the others as before; then all are back.
    for bad in [f64::NAN, f64::INFINITY, -1e300] {
        let mut positions = rest.positions.clone();
        positions[3].y = bad;
        a.set_positions(&positions).unwrap();
        assert_eq!(a.lost_vertices(), 1);
        let without: Vec<[u32; 2]> =
            whole.iter().filter(|p| !a.triangles()[p[0] as usize].contains(&3)).copied().collect();
        assert!(without.len() < whole.len());
        for method in [Method::Auto, Method::Cut, Method::Refit] {
            assert_eq!(memory.pairs(&a, &b, &SoftParams { method, ..params }).list, without);
        }
        assert!(memory.distance(&a, &b).is_some() && hulls(&a, &b).is_some());
        a.set_positions(&rest.positions).unwrap();
        assert_eq!(memory.pairs(&a, &b, &params).list, whole);
    }
    // Nothing, one triangle, all of it without places.
    let empty = SoftMesh::default();
    let one = SoftMesh::new(rest.positions[..3].to_vec(), vec![[0, 1, 2]]).unwrap();
    let lost = SoftMesh::new(vec![DVec3::NAN; 3], vec![[0, 1, 2]]).unwrap();
    for method in [Method::Auto, Method::Cut, Method::Refit] {
        let params = SoftParams { method, leaf: 0, cut_threshold: f64::NAN };
        for (x, y) in [(&empty, &a), (&a, &empty), (&empty, &empty), (&lost, &a), (&a, &lost), (&lost, &lost)]
        {
            assert!(memory.pairs(x, y, &params).list.is_empty());
            // A ball does not meet itself.
            assert!(memory.own_pairs(x, &params).list.is_empty());
            assert!(memory.distance(x, y).is_none());
        }
        assert_eq!(memory.pairs(&one, &one, &params).list, [[0, 0]]);
        assert!(!memory.pairs(&one, &a, &params).list.is_empty());
    }
    assert!(hulls(&empty, &a).is_none() && hulls(&lost, &a).is_none());
    // Added and removed: numbers stay, and are used again.
    let added = a.add_triangle([0, 1, 2]).unwrap();
    let more = memory.pairs(&a, &b, &params).list.len();
    assert!(more > whole.len());
    a.remove_triangle(added).unwrap();
    assert!(a.remove_triangle(added).is_err() && a.set_enabled(added, true).is_err());
    assert_eq!(memory.pairs(&a, &b, &params).list, whole);
    assert_eq!(a.add_triangle([3, 4, 5]).unwrap(), added);
    let first = a.add_vertices(&[DVec3::X, DVec3::Y, DVec3::Z]).unwrap();
    let last = a.add_triangle([first, first + 1, first + 2]).unwrap();
    let expected = brute(&a, &b, false);
    all_methods(&mut memory, &a, &b, &expected, "added");
    assert!(expected.iter().any(|p| p[0] == last));
}

/// Any number of threads gives the same, with meshes large enough that every part of a search is shared out.
#[test]
fn threads_change_nothing() {
    let rest = samples::bumpy_sphere(1.0, 0.2, 4, 6, 1);
    assert!(rest.triangles.len() > 60_000 && rest.positions.len() > 30_000);
    let moved: Vec<DVec3> = rest.positions.iter().map(|p| p.yzx() + 0.01).collect();
    let run = |threads: usize| {
        crate::par::with_threads(threads, || {
            let (a, mut b) = (soft(&rest), soft(&rest));
            b.set_positions(&moved).unwrap();
            let mut memory = Soft::new();
            let mut all = Vec::new();
            for method in [Method::Cut, Method::Refit] {
                let params = SoftParams { method, ..SoftParams::default() };
                let found = memory.pairs(&a, &b, &params);
                all.push((found.list.clone(), Stats { built: 0, fitted: 0, ..found.stats }));
                if method == Method::Refit {
                    let own = memory.own_pairs(&b, &params);
                    all.push((own.list.clone(), own.stats));
                }
            }
            (all, b.aabb())
        })
    };
    let one = run(1);
    assert!(one.0[0].0.len() > 1000 && one.0[0].0 == one.0[1].0);
    assert_eq!(run(3), one);
}

/// Nothing is done where boxes are apart; trees are built once cuts have taken as long; where the list keeps changing, never.
#[test]
fn auto_builds_trees_when_they_pay() {
    let rest = samples::bumpy_sphere(1.0, 0.1, 4, 4, 1);
    let mut a = soft(&rest);
    let place = |x: f64| rest.positions.iter().map(|p| *p + DVec3::X * x).collect::<Vec<_>>();
    let mut b = soft(&rest);
    let mut memory = Soft::new();
    let params = SoftParams::default();
    b.set_positions(&place(3.0)).unwrap();
    let stats = memory.pairs(&a, &b, &params).stats;
    assert_eq!(stats, Stats { method: Method::Cut, ..Stats::default() });
    // Apart, but not by boxes.
    b.set_positions(&rest.positions.iter().map(|p| *p + DVec3::splat(1.5)).collect::<Vec<_>>()).unwrap();
    let stats = memory.pairs(&a, &b, &params).stats;
    assert!(stats.projected > 0 && stats.cut == 0 && stats.tested == 0, "{stats:?}");
    let used: Vec<Method> = (0..40)
        .map(|i| {
            b.set_positions(&place(1.0 + 0.01 * i as f64)).unwrap();
            memory.pairs(&a, &b, &params).stats.method
        })
        .collect();
    let built = used.iter().position(|m| *m == Method::Refit).unwrap();
    assert!(built > 0 && used[built..].iter().all(|m| *m == Method::Refit), "{used:?}");
    let mut cuts = 0;
    for i in 0..40 {
        let number = a.add_triangle([i, i + 1, i + 2]).unwrap();
        cuts += usize::from(memory.pairs(&a, &b, &params).stats.method == Method::Cut);
        a.remove_triangle(number).unwrap();
    }
    assert!(cuts >= 30, "{cuts}");
}

/// Many questions about one mesh at once, each of which shares its own work out too: none waits for itself.
#[test]
fn questions_about_one_mesh_can_be_asked_at_once() {
    let rest = samples::bumpy_sphere(1.0, 0.2, 4, 5, 1);
    assert!(rest.triangles.len() > 16_384);
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let a = soft(&rest);
        let found = crate::par::with_threads(3, || {
            crate::par::map(24, |i| {
                let moved = rest.positions.iter().map(|p| p.yzx() + 0.01 * (i % 3) as f64).collect();
                let b = SoftMesh::new(moved, rest.triangles.clone()).unwrap();
                let params = SoftParams { method: Method::Refit, ..SoftParams::default() };
                Soft::new().pairs(&a, &b, &params).list.len()
            })
        });
        send.send(found).unwrap();
    });
    let found = receive.recv_timeout(std::time::Duration::from_secs(300)).expect("an answer, not a deadlock");
    assert!(found.iter().enumerate().all(|(i, n)| *n == found[i % 3]) && found[0] > 100, "{found:?}");
}
