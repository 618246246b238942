//! Frames against a brute-force search, and what a motion promises.

use super::*;
use palpate::soft::triangles_meet;
use palpate_view::deforming::Deforming;

const MOTION: MotionParams = MotionParams { steps: 24, wave: 0.04, apart: 0.6, overlap: 0.9, remove: 0.0 };
const QUESTION: Question = Question { way: Way::Auto, own: false, contacts: false, keep: true };

fn scene(names: &[&str], motion: MotionParams) -> Scene {
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    Scene::load(&names, 1.0, motion).unwrap()
}

/// Runs a scene and gives also what is drawn.
fn drawn(scene: &Scene, question: &Question) -> (Run, Deforming) {
    let mut run = run(scene, question, None, &Reporter::new(true)).unwrap();
    let motion = deforming(scene, &mut run, "title", "command");
    motion.check().unwrap();
    (run, motion)
}

/// Every triangle of each mesh that meets one of the other, and the pairs, by trying all. Only those that are on.
fn brute(scene: &Scene, step: usize) -> ([Vec<u32>; 2], usize) {
    let mut positions: [Vec<DVec3>; 2] = Default::default();
    scene.place(step, &mut positions);
    let corners = |i: usize| -> Vec<(u32, [DVec3; 3])> {
        let off = scene.off(i, step);
        let all = (0..).zip(&scene.parts[i].triangles).filter(|(t, _)| !off.contains(t));
        all.map(|(t, v)| (t, v.map(|v| positions[i][v as usize]))).collect()
    };
    let (a, b) = (corners(0), corners(1));
    let (mut hits, mut count): ([Vec<u32>; 2], usize) = Default::default();
    for ((s, x), (t, y)) in a.iter().flat_map(|s| b.iter().map(move |t| (s, t))) {
        if triangles_meet(x, y) {
            hits[0].push(*s);
            hits[1].push(*t);
            count += 1;
        }
    }
    hits.iter_mut().for_each(|h| {
        h.sort_unstable();
        h.dedup();
    });
    (hits, count)
}

/// A ball of 1,280 triangles and a block: small enough to try all pairs.
fn small(motion: MotionParams) -> Scene {
    let mut scene = scene(&["sample:cuboid"], motion);
    let ball = palpate::mesh::samples::sphere(0.05, 3);
    let mesh = palpate::Mesh::new(ball, &palpate::mesh::RepairParams::default()).unwrap();
    scene.parts[1].rest = mesh.positions().to_vec();
    scene.parts[1].triangles = mesh.triangles().to_vec();
    scene
}

#[test]
fn coloured_triangles_are_those_that_meet() {
    let scene = small(MOTION);
    let (run, motion) = drawn(&scene, &QUESTION);
    assert_eq!((run.rows.len(), motion.frames.len(), run.every), (24, 24, 1));
    let mut met = 0;
    for (row, frame) in run.rows.iter().zip(&motion.frames) {
        let (hits, count) = brute(&scene, row.step);
        assert_eq!([&frame.states[0].hits, &frame.states[1].hits], [&hits[0], &hits[1]], "step {}", row.step);
        assert_eq!(
            (row.pairs, frame.pairs as usize, row.hits),
            (count, count, [hits[0].len(), hits[1].len()])
        );
        // Two triangles that cross have one segment in common.
        assert_eq!(frame.segments.len(), count, "step {}", row.step);
        met += usize::from(count > 0);
    }
    assert!((6..22).contains(&met), "{met} of 24 steps have pairs");
}

#[test]
fn they_first_touch_before_the_first_step_with_pairs() {
    for steps in [12, 60] {
        let motion = MotionParams { steps, wave: 0.03, apart: 0.2, overlap: 0.8, remove: 0.0 };
        let question = Question { way: Way::Auto, own: false, contacts: false, keep: false };
        let run = run(&small(motion), &question, None, &Reporter::new(true)).unwrap();
        let first = run.rows.iter().find(|r| r.pairs > 0).unwrap().step;
        let (step, touch) = run.touch.unwrap();
        assert!(
            step < first && touch.exact && touch.time > 0.0,
            "{steps} steps: {step} + {touch:?}, {first}"
        );
        if steps == 60 {
            assert_eq!(step + 1, first);
        }
    }
}

#[test]
fn every_way_finds_the_same_and_any_number_of_threads_does() {
    let scene = scene(&[], MotionParams { steps: 8, wave: 0.06, ..MOTION });
    let of = |way: Way, threads: usize| {
        let question = Question { way, own: true, keep: false, ..QUESTION };
        palpate::par::with_threads(threads, || run(&scene, &question, None, &Reporter::new(true)).unwrap())
    };
    let first = of(Way::Auto, 1);
    assert!(first.rows.iter().map(|r| r.pairs).sum::<usize>() > 500);
    for (way, threads) in [(Way::Cut, 1), (Way::Refit, 1), (Way::Auto, 3), (Way::Refit, 3)] {
        let other = of(way, threads);
        assert_eq!(other.hash, first.hash, "{way:?} {threads}");
        assert!(other.frames.is_empty());
    }
    let still = run(&scene, &Question { own: true, ..QUESTION }, None, &Reporter::new(true)).unwrap();
    assert_eq!(still.hash, first.hash);
}

#[test]
fn triangles_that_are_off_meet_nothing() {
    let mut scene = small(MotionParams { remove: 0.5, ..MOTION });
    // The half of the ball that comes first.
    scene.parts[1].sort_from(-DVec3::X);
    let (run, motion) = drawn(&scene, &QUESTION);
    let whole = drawn(&small(MOTION), &QUESTION).0;
    let (mut off, mut fewer) = (std::collections::BTreeSet::new(), 0);
    for (row, frame) in run.rows.iter().zip(&motion.frames) {
        off.extend(frame.states[1].switched.iter().copied());
        assert_eq!(off.len(), row.off[1]);
        assert!(frame.states[1].hits.iter().all(|t| !off.contains(t)));
        assert_eq!(frame.states[1].hits, brute(&scene, row.step).0[1]);
        fewer += usize::from(row.pairs < whole.rows[row.step].pairs);
    }
    assert_eq!(off.len(), scene.parts[1].triangles.len() / 2);
    assert!(fewer > 5, "{fewer}");
}

#[test]
fn contacts_have_a_place_and_a_depth_each() {
    let scene = small(MotionParams { steps: 12, ..MOTION });
    let question = Question { contacts: true, own: true, ..QUESTION };
    let mut table = Vec::new();
    let run = run(&scene, &question, Some(&mut table), &Reporter::new(true)).unwrap();
    let text = String::from_utf8(table).unwrap();
    assert_eq!(text.lines().count(), run.rows.iter().map(Row::all).sum::<usize>());
    let columns = contact_columns().split(',').count();
    let size = scene.parts[1].size;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), columns, "{line}");
        let numbers: Vec<f64> = fields[4..].iter().map(|f| f.parse().unwrap()).collect();
        let [at, n] = [0, 3].map(|i| DVec3::from_slice(&numbers[i..]));
        assert!((n.length() - 1.0).abs() < 1e-9 && (0.0..size).contains(&numbers[6]), "{line}");
        // The place is between the ends.
        let [p, q] = [8, 11].map(|i| DVec3::from_slice(&numbers[i..]));
        assert!((p.distance(at) + at.distance(q) - p.distance(q)).abs() < 1e-9 || numbers[7] > 2.0, "{line}");
    }
    let deepest = run.rows.iter().map(|r| r.deepest).fold(0.0, f64::max);
    assert!(deepest > 1e-4 && run.frames.iter().any(|f| !f.marks.is_empty()));
}

#[test]
fn motions_begin_apart_and_end_where_it_was_said() {
    for (apart, overlap) in [(0.3, 0.7), (0.0, 1.0), (2.0, 2.5)] {
        let scene = scene(&["sample:sphere"], MotionParams { apart, overlap, steps: 5, wave: 0.0, ..MOTION });
        let size = scene.parts[0].size;
        assert!((scene.offset(0) - (1.0 + apart) * size).abs() < 1e-12);
        assert!((scene.offset(4) - (1.0 - overlap) * size).abs() < 1e-12);
        let mut at: [Vec<DVec3>; 2] = Default::default();
        scene.place(4, &mut at);
        let middle = at[1].iter().sum::<DVec3>() / at[1].len() as f64;
        assert!((middle.length() - (1.0 - overlap).abs() * size).abs() < 1e-3 * size);
    }
    // One step is the first.
    let one = scene(&[], MotionParams { steps: 1, ..MOTION });
    assert!(drawn(&one, &QUESTION).0.rows[0].apart > 0.1);
}
