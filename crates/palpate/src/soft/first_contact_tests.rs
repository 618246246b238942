use super::*;
use crate::field::source::random::Random;
use crate::mesh::samples;
use crate::soft::contacts;

fn mesh(name: &str, at: DVec3, turn: glam::DQuat) -> SoftMesh {
    let raw = samples::by_name(name).unwrap();
    SoftMesh::new(raw.positions.iter().map(|p| turn * *p + at).collect(), raw.triangles).unwrap()
}

/// A small ball with a wave on it.
fn ball(r: &mut Random, at: DVec3) -> Vec<DVec3> {
    let raw = samples::sphere(0.5, 1);
    let (k, phase) = (r.range(2.0, 6.0), r.range(0.0, 6.0));
    raw.positions.iter().map(|p| at + *p * (1.0 + 0.15 * (k * p.x + phase).sin())).collect()
}

/// By every vertex with every face and every edge with every edge.
fn brute(ways: &[Way<'_>; 2], own: bool, params: &ContinuousParams) -> Option<(f64, Touch)> {
    let mut all = Vec::new();
    for x in 0..ways[0].mesh.triangles().len() as u32 {
        for y in if own { x + 1 } else { 0 }..ways[1].mesh.triangles().len() as u32 {
            if ways[0].takes_part(x) && ways[1].takes_part(y) {
                add(ways, x, y, own, &mut all);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    let hits = all.into_iter().filter_map(|t| ask(ways, t, params).map(|h| (h.time, t)));
    hits.reduce(|x, y| if y < x { y } else { x })
}

/// Balls that wave and fly at each other, past each other and through each other: exactly what asking about everything gives; before that
/// time nothing meets, and at it they are a hair apart.
#[test]
fn finds_what_asking_about_everything_finds() {
    let mut r = Random(3);
    let triangles = samples::sphere(0.5, 1).triangles;
    let params = ContinuousParams::default();
    let (mut soft, mut check) = (Soft::new(), Soft::new());
    let (mut hits, mut misses, mut through) = (0, 0, 0);
    for case in 0..60 {
        let at = r.direction() * r.range(1.2, 2.0);
        let a = SoftMesh::new(ball(&mut r, DVec3::ZERO), triangles.clone()).unwrap();
        let mut b = SoftMesh::new(ball(&mut r, at), triangles.clone()).unwrap();
        let to = r.point(0.2);
        let a_end = ball(&mut r, to);
        let beside = r.direction() * [0.0, 0.4, 5.0][case % 3];
        let b_end = ball(&mut r, beside - at * [0.3, 1.0, 2.0][case / 3 % 3]);
        if case % 4 == 0 {
            for t in 0..20 {
                b.set_enabled(4 * t, false).unwrap();
            }
        }
        let ways = [Way { mesh: &a, end: &a_end }, Way { mesh: &b, end: &b_end }];
        let met = !check.pairs(&a, &b, &SoftParams::default()).list.is_empty();
        let found = soft.first_contact(&a, &a_end, &b, &b_end, &params).unwrap();
        if met {
            assert!(matches!(found, Some(FirstContact { time: 0.0, touch: Touch::Triangles(_), .. })));
            continue;
        }
        let expected = brute(&ways, false, &params);
        assert_eq!(found.map(|f| (f.time, f.touch)), expected, "case {case}");
        let Some(found) = found else {
            misses += 1;
            continue;
        };
        hits += 1;
        assert!(found.exact, "case {case}: {found:?}");
        let moved = |m: &SoftMesh, end: &[DVec3], t: f64| {
            let mut m = m.clone();
            m.deform(|i, p| p + (end[i] - p) * t);
            m
        };
        for part in [0.3, 0.9, 0.999] {
            let (a, b) = (moved(&a, &a_end, part * found.time), moved(&b, &b_end, part * found.time));
            assert!(check.pairs(&a, &b, &SoftParams::default()).list.is_empty(), "case {case} at {part}");
        }
        let (x, y) = (moved(&a, &a_end, found.time), moved(&b, &b_end, found.time));
        assert!(check.distance(&x, &y).unwrap().distance < 1e-12, "case {case}");
        let (x, y) = (moved(&a, &a_end, 1.0), moved(&b, &b_end, 1.0));
        through += usize::from(check.pairs(&x, &y, &SoftParams::default()).list.is_empty());
    }
    assert!(hits > 25 && misses > 4 && through > 5, "{hits} hit, {misses} did not, {through} went through");
}

/// A sheet that folds onto itself.
#[test]
fn a_sheet_that_folds_touches_itself() {
    let n = 9u32;
    let at = |i: u32, j: u32| DVec3::new(f64::from(i), f64::from(j), 0.0) * 0.1;
    let positions: Vec<DVec3> = (0..n * n).map(|k| at(k % n, k / n)).collect();
    let triangles = (0..(n - 1) * (n - 1)).flat_map(|k| {
        let a = k / (n - 1) * n + k % (n - 1);
        [[a, a + 1, a + n + 1], [a, a + n + 1, a + n]]
    });
    // Half of it stands up, and is laid down on and through the other half.
    let moved = |up: f64, over: f64| -> Vec<DVec3> {
        let place = |p: &DVec3| {
            let beyond = (p.x - 0.4).max(0.0);
            DVec3::new(p.x.min(0.4) + over * beyond, p.y, up * beyond)
        };
        positions.iter().map(place).collect()
    };
    let mesh = SoftMesh::new(moved(1.0, 0.2), triangles.collect()).unwrap();
    let (mut soft, params) = (Soft::new(), ContinuousParams::default());
    let folded = moved(-0.1, -1.0);
    let found = soft.own_first_contact(&mesh, &folded, &params).unwrap().unwrap();
    let ways = [Way { mesh: &mesh, end: &folded }; 2];
    assert_eq!(Some((found.time, found.touch)), brute(&ways, true, &params));
    assert!(found.time > 0.3 && found.time < 1.0 && found.exact, "{found:?}");
    // It only bends.
    assert_eq!(soft.own_first_contact(&mesh, &moved(0.3, 0.9), &params), Ok(None));
}

#[test]
fn bad_input_is_told_or_left_out() {
    let (mut soft, params) = (Soft::new(), ContinuousParams::default());
    let a = mesh("sphere", DVec3::ZERO, glam::DQuat::IDENTITY);
    let b = mesh("sphere", DVec3::X * 30.0, glam::DQuat::IDENTITY);
    let short = &a.positions()[1..];
    let wrong = soft.first_contact(&a, short, &b, b.positions(), &params);
    assert!(matches!(wrong, Err(SoftError::Length { .. })));
    let end: Vec<DVec3> = b.positions().iter().map(|p| *p - DVec3::X * 30.0).collect();
    let whole = soft.first_contact(&a, a.positions(), &b, &end, &params).unwrap().unwrap();
    assert!(whole.exact && whole.time > 0.0);
    // Without the vertex that touches another does, later or at once.
    let mut lost = end.clone();
    for v in 0..lost.len() {
        if v % 3 == 0 {
            lost[v] = [DVec3::NAN, DVec3::INFINITY, DVec3::splat(1e200)][v / 3 % 3];
        }
    }
    let rest = soft.first_contact(&a, a.positions(), &b, &lost, &params).unwrap();
    assert!(rest.is_none_or(|r| r.time >= whole.time && r.exact));
    lost.fill(DVec3::NAN);
    assert_eq!(soft.first_contact(&a, a.positions(), &b, &lost, &params), Ok(None));
    let none = SoftMesh::default();
    assert_eq!(soft.first_contact(&a, a.positions(), &none, &[], &params), Ok(None));
    assert_eq!(soft.own_first_contact(&none, &[], &params), Ok(None));
    // Now they meet already.
    let mut c = a.clone();
    c.deform(|_, p| p + DVec3::X * 1e-3);
    let now = soft.first_contact(&a, a.positions(), &c, c.positions(), &params).unwrap().unwrap();
    assert!(now.time == 0.0 && !contacts(&a, &c, soft.last()).is_empty());
}

/// One vertex that flies off to kilometres does not make everything a candidate; what it meets on its way is found.
#[test]
fn a_vertex_that_flies_off_does_not_blow_up_the_rest() {
    let (mut soft, params) = (Soft::new(), ContinuousParams::default());
    let raw = samples::sphere(0.5, 4);
    let a = SoftMesh::new(raw.positions.clone(), raw.triangles.clone()).unwrap();
    let b =
        SoftMesh::new(raw.positions.iter().map(|p| *p + DVec3::X * 3.0).collect(), raw.triangles).unwrap();
    let mut end = b.positions().to_vec();
    end[7] = DVec3::new(1e9, 2e9, -1e9);
    assert_eq!(soft.first_contact(&a, a.positions(), &b, &end, &params), Ok(None));
    assert!(soft.sweep.touches.len() < 200_000, "{}", soft.sweep.touches.len());
    // Through A, to the other side of the world.
    end[7] = b.positions()[7] + (DVec3::ZERO - b.positions()[7]) * 1e9;
    let hit = soft.first_contact(&a, a.positions(), &b, &end, &params).unwrap().unwrap();
    assert!(hit.time < 1e-8 && soft.sweep.touches.len() < 400_000, "{hit:?}, {}", soft.sweep.touches.len());
    // Near by less than a stated distance, however large that is.
    let far =
        SoftMesh::new(b.positions().iter().map(|p| *p + DVec3::X * 97.99).collect(), b.triangles().to_vec());
    let far = far.unwrap();
    let near = ContinuousParams { separation: 99.9, ..params };
    let d = soft.distance(&a, &far).unwrap().distance;
    for (separation, touches) in [(d * (1.0 + 1e-9), true), (d * (1.0 - 1e-9), false)] {
        let near = ContinuousParams { separation, ..near };
        let hit = soft.first_contact(&a, a.positions(), &far, far.positions(), &near).unwrap();
        assert_eq!(hit.is_some(), touches, "{separation}");
    }
}
