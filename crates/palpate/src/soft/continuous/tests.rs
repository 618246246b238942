use super::polygon::{at, nearest};
use super::{ContinuousParams, Impact, edge_edge, vertex_face};
use crate::field::source::random::Random;
use glam::{DVec3, dvec3};

type Points = [DVec3; 4];
type Ask = fn(&Points, &Points, &ContinuousParams) -> Option<Impact>;

const TOUCH: ContinuousParams = ContinuousParams { tolerance: 0.0, separation: 0.0, max_checks: 512 };
const BOTH: [(Ask, bool); 2] = [(vertex_face, true), (edge_edge, false)];
/// A face in the plane z = 0, with the vertex at a place.
fn over(v: DVec3) -> Points {
    [v, DVec3::ZERO, DVec3::X, DVec3::Y]
}

fn moved(p: &Points, t: f64, end: &Points) -> Points {
    core::array::from_fn(|k| p[k] * (1.0 - t) + end[k] * t)
}

/// The distance at one time, by the corners alone.
fn distance([p, q, r, s]: Points, vertex: bool) -> f64 {
    if vertex {
        nearest(&[p - q, p - r, p - s]).distance_sq.sqrt()
    } else {
        nearest(&[p - r, q - r, q - s, p - s]).distance_sq.sqrt()
    }
}

#[test]
fn a_vertex_falls_on_a_face_at_the_time_of_the_formula() {
    for scale in [1e-6, 1e-3, 1.0, 1e3, 1e6] {
        for (height, depth) in [(1.0, 1.0), (0.3, 2.0), (5.0, 1e-3), (1e-6, 1.0)] {
            let start = over(dvec3(0.25, 0.5, height)).map(|p| p * scale);
            let end = over(dvec3(0.25, 0.5, -depth)).map(|p| p * scale);
            let impact = vertex_face(&start, &end, &TOUCH).unwrap();
            let truth = height / (height + depth);
            assert!((impact.time - truth).abs() < 1e-9 && impact.exact, "{impact:?}, not {truth}");
            assert!(impact.time <= truth * (1.0 + 1e-15), "{impact:?} is after {truth}");
            assert!(
                (impact.coordinates[0] - 0.25).abs() < 1e-9 && (impact.coordinates[1] - 0.5).abs() < 1e-9
            );
            // It stops just above, or falls just beside.
            let stops = over(dvec3(0.25, 0.5, 1e-9)).map(|p| p * scale);
            assert_eq!(vertex_face(&start, &stops, &TOUCH), None);
            let beside = [start, end].map(|p| [p[0] + dvec3(0.25, 0.0, 0.0) * scale, p[1], p[2], p[3]]);
            let corner = beside.map(|p| [p[0] + dvec3(1e-9, 0.0, 0.0) * scale, p[1], p[2], p[3]]);
            assert!(vertex_face(&beside[0], &beside[1], &TOUCH).is_some());
            assert_eq!(vertex_face(&corner[0], &corner[1], &TOUCH), None);
        }
    }
}

#[test]
fn edges_cross_at_the_time_of_the_formula() {
    for scale in [1e-6, 1.0, 1e3] {
        let edge =
            |z: f64| [dvec3(-1.0, 0.0, z), dvec3(3.0, 0.0, z), dvec3(0.0, -1.0, 0.0), dvec3(0.0, 1.0, 0.0)];
        let (start, end) = (edge(0.75).map(|p| p * scale), edge(-0.25).map(|p| p * scale));
        let impact = edge_edge(&start, &end, &TOUCH).unwrap();
        assert!((impact.time - 0.75).abs() < 1e-9 && impact.time <= 0.75 && impact.exact, "{impact:?}");
        assert!((impact.coordinates[0] - 0.25).abs() < 1e-9 && (impact.coordinates[1] - 0.5).abs() < 1e-9);
    }
    // One turns about its middle while it falls slowly: the ends go much faster than what meets.
    let start = [dvec3(-1.0, 0.0, 1e-3), dvec3(1.0, 0.0, 1e-3), dvec3(0.0, -1.0, 0.0), dvec3(0.0, 1.0, 0.0)];
    let end = [dvec3(-1.0, 0.5, 0.9), dvec3(1.0, -0.5, -0.902), start[2], start[3]];
    let impact = edge_edge(&start, &end, &TOUCH).unwrap();
    assert!((impact.time - 0.5).abs() < 1e-9 && impact.time <= 0.5 + 1e-15, "{impact:?}");
}

#[test]
fn what_grazes_slides_or_rests_is_found() {
    let rest = over(dvec3(0.25, 0.25, 0.0));
    assert_eq!(vertex_face(&rest, &rest, &TOUCH).unwrap().time, 0.0);
    // Together on their way, touching and not.
    let way = dvec3(3.0, -2.0, 7.0);
    assert_eq!(vertex_face(&rest, &rest.map(|p| p + way), &TOUCH).unwrap().time, 0.0);
    let apart = over(dvec3(0.25, 0.25, 1e-12));
    assert_eq!(vertex_face(&apart, &apart.map(|p| p + way * 1024.0), &TOUCH), None);
    // Past a corner, along a side, through the end of time.
    let pass = |from: DVec3, to: DVec3| vertex_face(&over(from), &over(to), &TOUCH).map(|i| i.time);
    assert!((pass(dvec3(-1.0, 1.0, 0.0), dvec3(1.0, -1.0, 0.0)).unwrap() - 0.5).abs() < 1e-9);
    assert!((pass(dvec3(2.0, -1.0, 0.5), dvec3(0.0, 1.0, -0.5)).unwrap() - 0.5).abs() < 1e-9);
    assert!((pass(dvec3(-1.0, 0.0, 0.0), dvec3(3.0, 0.0, 0.0)).unwrap() - 0.25).abs() < 1e-9);
    assert!((pass(dvec3(0.25, 0.25, 1.0), dvec3(0.25, 0.25, 0.0)).unwrap() - 1.0).abs() < 1e-9);
    // In the plane: to the side, and past it.
    assert!((pass(dvec3(-1.0, 0.5, 0.0), dvec3(1.0, 0.5, 0.0)).unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(pass(dvec3(-1.0, -1e-9, 0.0), dvec3(2.0, -1e-9, 0.0)), None);
    // Edges on one line, end to end, and one beside the other.
    let line = |x: f64, y: f64| {
        [dvec3(x, y, 0.0), dvec3(x + 1.0, y, 0.0), dvec3(0.0, 0.0, 0.0), dvec3(1.0, 0.0, 0.0)]
    };
    let impact = edge_edge(&line(-3.0, 0.0), &line(1.0, 0.0), &TOUCH).unwrap();
    assert!((impact.time - 0.5).abs() < 1e-9, "{impact:?}");
    assert_eq!(edge_edge(&line(-3.0, 1e-9), &line(1.0, 1e-9), &TOUCH), None);
    assert_eq!(edge_edge(&line(0.5, 0.0), &line(0.5, 0.0), &TOUCH).unwrap().time, 0.0);
    // A face turns about an axis that the vertex is on, all but in it: the volume alone tells.
    let turn = |a: DVec3, b: DVec3, z: f64| [dvec3(0.0, 0.0, z), dvec3(-1.0, -1.0, 0.0), a, b];
    let (a, b) = (dvec3(2.0, -1.0, 0.0), dvec3(-1.0, 2.0, 0.0));
    let (c, d) = (dvec3(1.0, 1.0, 0.0), dvec3(-2.0, 0.5, 0.0));
    assert_eq!(vertex_face(&turn(a, b, 1e-12), &turn(c, d, 1e-12), &TOUCH), None);
    assert_eq!(vertex_face(&turn(a, b, 0.0), &turn(c, d, 0.0), &TOUCH).unwrap().time, 0.0);
}

#[test]
fn degenerate_faces_and_edges_are_points_and_lines() {
    let o = DVec3::ZERO;
    let point = |v: DVec3| [v, o, o, o];
    assert!(vertex_face(&point(DVec3::X), &point(-DVec3::X), &TOUCH).is_some());
    assert_eq!(vertex_face(&point(dvec3(1.0, 1e-9, 0.0)), &point(dvec3(-1.0, 1e-9, 0.0)), &TOUCH), None);
    let line = |v: DVec3| [v, o, DVec3::X * 0.5, DVec3::X];
    assert!(vertex_face(&line(dvec3(0.7, 1.0, 1.0)), &line(dvec3(0.7, -1.0, -1.0)), &TOUCH).is_some());
    assert_eq!(vertex_face(&line(dvec3(0.7, 1.0, 1.0)), &line(dvec3(0.7, -1.0, -0.9)), &TOUCH), None);
    let edge = |p: DVec3| [p, p, -DVec3::X, DVec3::X];
    assert!(edge_edge(&edge(dvec3(0.3, 1.0, 0.0)), &edge(dvec3(0.3, -1.0, 0.0)), &TOUCH).is_some());
    assert_eq!(edge_edge(&edge(dvec3(1.5, 1.0, 0.0)), &edge(dvec3(1.5, -1.0, 0.0)), &TOUCH), None);
    for (ask, _) in BOTH {
        assert!(ask(&[o; 4], &[o; 4], &TOUCH).is_some_and(|i| i.time == 0.0 && i.exact));
        assert!(ask(&[DVec3::ONE; 4], &[-DVec3::ONE; 4], &TOUCH).is_some_and(|i| i.time == 0.0));
    }
}

/// A point of a grid so coarse that all of a test is exact: the grid's step is 2 to the power `-bits`.
fn on_grid(random: &mut Random, half: f64, bits: i32) -> DVec3 {
    let step = 2.0_f64.powi(-bits);
    (random.point(half) / step).floor() * step
}

fn eighths(random: &mut Random, half: f64) -> DVec3 {
    on_grid(random, half, 3)
}

/// Motions that touch at time 1/2 to the last bit, often at a side or a corner, in one plane, with degenerate or resting parts.
fn touching(random: &mut Random, vertex: bool) -> (Points, Points) {
    let flat = |p: DVec3, random: &mut Random| {
        if random.bits().is_multiple_of(3) { dvec3(p.x, p.y, 0.0) } else { p }
    };
    let size = [1.0, 4.0, 1000.0][(random.bits() % 3) as usize];
    let bits = [3, 36][(random.bits() % 2) as usize];
    let mut start: Points = core::array::from_fn(|_| on_grid(random, size, bits));
    let mut end: Points = core::array::from_fn(|_| on_grid(random, size, bits));
    if random.bits().is_multiple_of(4) {
        (start, end) = (start.map(|p| dvec3(p.x, p.y, 0.0)), end.map(|p| dvec3(p.x, p.y, 0.0)));
    }
    if random.bits().is_multiple_of(8) {
        let k = (random.bits() % 3) as usize;
        (start[k + 1], end[k + 1]) = (start[k], end[k]);
    }
    match random.bits() % 8 {
        0 | 1 => end = start,
        2 | 3 => {
            let way = on_grid(random, size, bits);
            end = start.map(|p| p + way);
        }
        _ => {}
    }
    start[0] = flat(start[0], random);
    let weight = |random: &mut Random| [0.0, 0.25, 0.5, 0.75, 1.0][(random.bits() % 5) as usize];
    let middle: Points = moved(&start, 0.5, &end);
    let (a, b) = (weight(random), weight(random));
    let place = if vertex {
        let b = if a + b > 1.0 { 1.0 - a } else { b };
        middle[1] * (1.0 - a - b) + middle[2] * a + middle[3] * b
    } else {
        middle[2] * (1.0 - b) + middle[3] * b
    };
    if vertex {
        end[0] = place * 2.0 - start[0];
    } else {
        // The first edge goes so that its own place is there: one end, or both by the same.
        let own = middle[0] * (1.0 - a) + middle[1] * a;
        let shift = (place - own) * 2.0;
        (end[0], end[1]) = (end[0] + shift, end[1] + shift);
    }
    (start, end)
}

#[test]
fn contacts_that_are_exact_are_never_missed() {
    let mut random = Random(71);
    let (mut early, mut close) = (0, 0);
    for _ in 0..20_000 {
        for (ask, vertex) in BOTH {
            let (start, end) = touching(&mut random, vertex);
            for params in [
                TOUCH,
                ContinuousParams { separation: 1e-3, ..TOUCH },
                ContinuousParams { max_checks: 3, ..TOUCH },
            ] {
                let impact =
                    ask(&start, &end, &params).unwrap_or_else(|| panic!("{vertex} {start:?} {end:?}"));
                assert!(impact.time <= 0.5, "{impact:?} {vertex} {start:?} {end:?}");
                early += usize::from(params == TOUCH && impact.time < 0.499);
                close += usize::from(params == TOUCH && impact.time >= 0.499);
            }
        }
    }
    println!("{early} meet before, {close} then");
    assert!(close > 30_000 && early > 5_000, "{early} {close}");
}

#[test]
fn what_passes_by_less_than_a_unit_is_told_from_contact() {
    // Beside a side of the length 1.9e8 by 5e-9: by a determinant of whole numbers that is 1.
    let (f, g) = (134_217_729.0, 134_217_728.0);
    for slant in [0.0, 1.0, 3.0] {
        let fall =
            |z: f64, c: DVec3| [dvec3(1.0 + slant * z, 1.0 - slant * z, z), DVec3::ZERO, dvec3(f, g, 0.0), c];
        let ask = |c: DVec3| vertex_face(&fall(1024.0, c), &fall(-2048.0, c), &TOUCH);
        assert!(ask(dvec3(0.0, g, 0.0)).is_some_and(|i| (i.time - 1.0 / 3.0).abs() < 1e-9));
        assert_eq!(ask(dvec3(g, 0.0, 0.0)), None);
    }
}

#[test]
fn permutations_and_shifts_change_nothing() {
    let mut random = Random(72);
    let mut hits = 0;
    let order = |p: &Points, o: [usize; 4]| o.map(|k| p[k]);
    for case in 0..6000 {
        for (ask, vertex) in BOTH {
            let (start, end) = if case % 2 == 0 {
                touching(&mut random, vertex)
            } else {
                (
                    core::array::from_fn(|_| eighths(&mut random, 4.0)),
                    core::array::from_fn(|_| eighths(&mut random, 4.0)),
                )
            };
            let one = ask(&start, &end, &TOUCH);
            hits += usize::from(one.is_some());
            let others = if vertex { [[0, 2, 3, 1], [0, 1, 3, 2]] } else { [[1, 0, 2, 3], [2, 3, 0, 1]] };
            // As far as all stays exact.
            let shift = eighths(&mut random, 1e4);
            let asked = others
                .map(|o| ask(&order(&start, o), &order(&end, o), &TOUCH))
                .into_iter()
                .chain([ask(&start.map(|p| p + shift), &end.map(|p| p + shift), &TOUCH)]);
            for other in asked {
                let same = match (one, other) {
                    (Some(a), Some(b)) => (a.time - b.time).abs() < 1e-7,
                    (None, None) => true,
                    // Rounding may only make contacts of what touches all but exactly: not in these numbers.
                    _ => false,
                };
                assert!(same, "{one:?} {other:?} {vertex} {start:?} {end:?}");
            }
            assert_eq!(one.is_some(), ask(&end, &start, &TOUCH).is_some(), "{vertex} {start:?} {end:?}");
        }
    }
    assert!((6000..9000).contains(&hits), "{hits}");
}

#[test]
fn what_samples_of_time_see_is_found_and_not_more() {
    const SAMPLES: usize = 64;
    let mut random = Random(73);
    let (mut asked, mut hits, mut crossings) = (0, 0, 0);
    for case in 0..4000 {
        for (ask, vertex) in BOTH {
            let (size, way) = [(1.0, 0.3), (1.0, 1.0), (1e-6, 1e-6), (1e3, 1e3), (1.0, 10.0)][case % 5];
            let offset = random.point(size * 1e3);
            let start: Points = core::array::from_fn(|_| random.point(size) + offset);
            let mut end: Points = core::array::from_fn(|k| start[k] + random.point(way));
            // Half of them go through the middle.
            if case % 2 == 0 {
                let first = if vertex { 1 } else { 2 };
                end.iter_mut().take(first).for_each(|p| *p = offset * 2.0 - *p);
            }
            let separation = if case % 3 == 0 { 0.02 * size } else { 0.0 };
            let params = ContinuousParams { separation, ..TOUCH };
            let answer = ask(&start, &end, &params);
            asked += 1;
            hits += usize::from(answer.is_some());
            // Rounding of the samples themselves, at the offset.
            let slack = 1e-12 * (size + way) * 1e3;
            let volume = |p: &Points| {
                if vertex {
                    (p[2] - p[1]).cross(p[3] - p[1]).dot(p[0] - p[1])
                } else {
                    (p[1] - p[0]).cross(p[3] - p[2]).dot(p[2] - p[0])
                }
            };
            let mut before = start;
            for i in 0..=SAMPLES {
                let time = i as f64 / SAMPLES as f64;
                let p = moved(&start, time, &end);
                let crossed = volume(&before) * volume(&p) < 0.0 && {
                    // Where the volume is 0, the two are in one plane: do they meet there?
                    let (mut low, mut high) = (time - 1.0 / SAMPLES as f64, time);
                    let sign = volume(&before).signum();
                    for _ in 0..60 {
                        let middle = 0.5 * (low + high);
                        let same = volume(&moved(&start, middle, &end)) * sign > 0.0;
                        (low, high) = if same { (middle, high) } else { (low, middle) };
                    }
                    well_inside(&moved(&start, high, &end), vertex)
                };
                before = p;
                if crossed || distance(p, vertex) < separation - slack {
                    crossings += 1;
                    assert!(
                        answer.is_some_and(|a| a.time <= time),
                        "{answer:?} at {time}: {vertex} {start:?} {end:?}"
                    );
                    break;
                }
            }
            if let Some(impact) = answer {
                let there = distance(moved(&start, impact.time, &end), vertex);
                assert!(impact.exact && there <= separation + slack, "{impact:?} {there} {start:?} {end:?}");
            }
        }
    }
    println!("{hits} hits of {asked}, {crossings} seen by samples");
    assert!(hits * 100 > asked * 10 && hits * 100 < asked * 50, "{hits} of {asked}");
    assert!(crossings * 10 > hits * 6, "{crossings} of {hits}");
}

/// Whether the projections along the vector across lie well inside each other.
fn well_inside(p: &Points, vertex: bool) -> bool {
    let [p, q, r, s] = *p;
    let polygon = if vertex { [p - q, p - r, p - s, p - s] } else { [p - r, q - r, q - s, p - s] };
    let (u, v) = (polygon[1] - polygon[0], polygon[3] - polygon[0]);
    let across = u.cross(v);
    let area = across.length_squared();
    let (a, b) = (v.cross(polygon[0]).dot(across) / area, polygon[0].cross(u).dot(across) / area);
    let room = 1e-3;
    a > room && b > room && if vertex { a + b < 1.0 - room } else { a < 1.0 - room && b < 1.0 - room }
}

#[test]
fn steps_of_any_size_keep_their_distance_from_contact() {
    // Just before the first contact nothing may be in contact, and a budget of any size gives a time that is not later.
    let mut random = Random(74);
    let mut shorter = 0;
    for _ in 0..2000 {
        for (ask, _) in BOTH {
            let start: Points = core::array::from_fn(|_| random.point(1.0));
            let end: Points = core::array::from_fn(|_| random.point(1.0));
            let full = ask(&start, &end, &TOUCH);
            for max_checks in [0, 1, 2, 3, 5] {
                let part = ask(&start, &end, &ContinuousParams { max_checks, ..TOUCH });
                match (full, part) {
                    (Some(full), Some(part)) => {
                        assert!(part.time <= full.time);
                        shorter += usize::from(!part.exact);
                    }
                    (Some(_), None) => panic!("missed by a budget of {max_checks}: {start:?} {end:?}"),
                    (None, _) => {}
                }
            }
            let loose = ask(&start, &end, &ContinuousParams { tolerance: 1e-3, ..TOUCH });
            if let Some(full) = full {
                assert!(loose.is_some_and(|l| l.time <= full.time && l.exact), "{loose:?} {full:?}");
            }
        }
    }
    assert!(shorter > 500, "{shorter}");
}

#[test]
fn numbers_that_are_none_give_a_maybe_at_once() {
    let maybe = Some(Impact { time: 0.0, coordinates: [0.0; 2], exact: false });
    for (ask, _) in BOTH {
        for bad in [f64::NAN, f64::INFINITY, -f64::INFINITY] {
            for k in 0..8 {
                let mut points = [over(DVec3::ONE * 9.0), over(DVec3::ONE * 9.0)];
                points[k / 4][k % 4].y = bad;
                assert_eq!(ask(&points[0], &points[1], &TOUCH), maybe);
            }
        }
        // As large as numbers are: far apart is certain, all else a maybe.
        let huge = over(DVec3::ONE).map(|p| p * f64::MAX);
        assert!(ask(&huge, &huge.map(|p| -p), &TOUCH).is_some_and(|i| !i.exact));
        let small = over(dvec3(0.25, 0.25, 0.0)).map(|p| p * f64::MIN_POSITIVE);
        assert!(vertex_face(&small, &small, &TOUCH).is_some());
        for bad in [f64::NAN, -1.0, -f64::INFINITY] {
            let params = ContinuousParams { tolerance: bad, separation: bad, ..TOUCH };
            let (start, end) = (over(dvec3(0.2, 0.2, 1.0)), over(dvec3(0.2, 0.2, -1.0)));
            assert_eq!(vertex_face(&start, &end, &params), vertex_face(&start, &end, &TOUCH));
        }
        let params = ContinuousParams { separation: f64::INFINITY, ..TOUCH };
        assert!(ask(&over(DVec3::ONE), &over(DVec3::ONE), &params).is_some_and(|i| i.time == 0.0));
    }
    assert_eq!(at(&[[DVec3::X; 3], [DVec3::Y; 3]], 1.0), [DVec3::Y; 3]);
}
