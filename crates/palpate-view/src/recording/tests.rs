//! Recordings keep what was put in, and refuse what cannot be.

use super::*;
use glam::DQuat;
use palpate::mesh::samples;

/// A ball that falls, bounces and turns, and a second that stays: closed form, two bodies on one part.
pub(crate) fn bouncing(frames: usize, rate: f64) -> Recording {
    let ball = samples::sphere(0.05, 4);
    let (positions, triangles, colours) = reduced(&ball.positions, &ball.triangles, &[], TRIANGLES);
    let origin = DVec3::new(1000.0, -2000.0, 3.0);
    let frame = |i: usize| {
        let time = i as f64 / rate;
        let period = 0.5;
        let s = (time % period) - 0.5 * period;
        let height = 0.05 + 4.905 * (0.25 * period * period - s * s);
        let at = DVec3::new(0.2 * time, 0.0, height) + origin;
        let pose = Pose::new(DQuat::from_rotation_y(4.0 * time), at);
        let linear = DVec3::new(0.2, 0.0, -9.81 * s);
        let touching = height < 0.06;
        let moving =
            State { pose, linear, angular: 4.0 * DVec3::Y, contacts: u32::from(touching), deepest: 1e-4 };
        let still = Pose::from_translation(origin + DVec3::new(0.1, 0.2, 0.05));
        let rest = State { pose: still, contacts: 1, deepest: 2e-5, ..State::default() };
        let mark =
            |pose: &Pose, depth| Mark { point: pose.translation - 0.05 * DVec3::Z, normal: DVec3::Z, depth };
        let mut out =
            Frame { time, bodies: vec![moving, rest], contacts: 1 + u32::from(touching), ..Frame::default() };
        let mut marks = vec![mark(&rest.pose, 2e-5)];
        if touching {
            marks.push(mark(&pose, 1e-4));
        }
        out.keep(&marks, MARKS);
        out.deepest = if touching { 1e-4 } else { 2e-5 };
        out.kinetic = 0.5 * linear.length_squared();
        out.narrow_us = 3.0 + s;
        out
    };
    let body = |name: &str, i: usize| Body { name: name.into(), part: 0, colour: PALETTE[i] };
    Recording {
        about: About {
            title: "Ball, \"bouncing\" <fast>".into(),
            engine: "closed form".into(),
            rate,
            command: "palpate drop sample:sphere".into(),
        },
        origin,
        up: DVec3::Z,
        parts: vec![Part { name: "sphere".into(), positions, triangles, colours }],
        bodies: vec![body("ball", 0), body("other, \"still\"", 1)],
        ground: Ground::Plane { point: origin, normal: DVec3::Z },
        frames: (0..frames).map(frame).collect(),
    }
}

#[test]
fn a_file_gives_back_what_was_written_to_f32() {
    let mut recording = bouncing(50, 100.0);
    recording.parts[0].colours =
        recording.parts[0].positions.iter().map(|p| [(p.x * 99.0) as u8; 3]).collect();
    for ground in [
        Ground::Nothing,
        recording.ground,
        Ground::Cuboid { aabb: Aabb { min: recording.origin - 1.0, max: recording.origin } },
        Ground::Part { part: 0, pose: Pose::from_translation(recording.origin) },
    ] {
        recording.ground = ground;
        let bytes = recording.to_bytes().unwrap();
        let again = Recording::from_bytes(&bytes).unwrap();
        assert_eq!(again.to_bytes().unwrap(), bytes, "what was read is written the same");
        assert_eq!(
            (&again.about, &again.parts, &again.bodies),
            (&recording.about, &recording.parts, &recording.bodies)
        );
        for (a, b) in again.frames.iter().zip(&recording.frames) {
            assert_eq!((a.time, a.contacts, a.marks.len()), (b.time, b.contacts, b.marks.len()));
            for (s, t) in a.bodies.iter().zip(&b.bodies) {
                // Relative to the origin everything is below 1 m: half a unit of the last place of f32.
                assert!(s.pose.translation.distance(t.pose.translation) < 1e-7);
                assert!(s.pose.rotation.angle_between(t.pose.rotation) < 1e-6);
            }
        }
        assert_eq!(again.frames.len(), 50);
    }
}

/// The same on a sheet that waves.
pub(crate) fn waving(mut recording: Recording) -> Recording {
    let sheet = Sheet {
        corner: recording.origin - DVec3::new(0.2, 0.2, 0.0),
        edges: [DVec3::X * 0.8, DVec3::Y * 0.5],
        counts: [9, 6],
        range: [-0.02, 0.03],
    };
    for frame in &mut recording.frames {
        frame.heights = sheet.heights((0..54).map(|i| 0.02 * (f64::from(i) + 9.0 * frame.time).sin()));
    }
    recording.ground = Ground::Sheet(sheet);
    recording
}

#[test]
fn a_sheet_is_kept_and_files_without_one_stay_as_they_were() {
    let plain = bouncing(8, 100.0);
    assert_eq!(plain.to_bytes().unwrap()[8], 1, "what has no sheet can be read by earlier programs");
    let recording = waving(plain);
    let bytes = recording.to_bytes().unwrap();
    assert_eq!(bytes[8], 2);
    let again = Recording::from_bytes(&bytes).unwrap();
    assert_eq!(again.to_bytes().unwrap(), bytes);
    for (a, b) in again.frames.iter().zip(&recording.frames) {
        assert_eq!(a.heights, b.heights);
    }
    let (surface, triangles) = recording.sheet().unwrap().surface(DVec3::Z, &recording.frames[3]);
    assert_eq!((surface.len(), triangles.len()), (54, 80));
    let off =
        (0..54).map(|i| (surface[i].z - 3.0 - 0.02 * (i as f64 + 0.27).sin()).abs()).fold(0.0, f64::max);
    assert!(off < 0.05 / 131_000.0, "{off}");
    let (half, chosen) = recording.sheet().unwrap().thinned(2);
    assert_eq!((half.counts, chosen.len()), ([5, 3], 15));
    assert_eq!((chosen[1], half.place(1, 1)), (2, recording.sheet().unwrap().place(2, 2)));
    let mut missing = recording.clone();
    missing.frames[2].heights.pop();
    assert!(matches!(missing.check(), Err(RecordingError::Invalid(_))));
    let mut flat = recording;
    flat.ground = Ground::Nothing;
    assert!(flat.check().is_err(), "heights without a sheet");
}

#[test]
fn changed_and_shortened_bytes_are_refused_or_sound() {
    let mut recording = waving(bouncing(4, 100.0));
    recording.parts[0].positions.truncate(9);
    recording.parts[0].triangles = vec![[0, 1, 2], [3, 4, 8]];
    let bytes = recording.to_bytes().unwrap();
    assert!(matches!(Recording::from_bytes(b"solid"), Err(RecordingError::Foreign)));
    let mut other = bytes.clone();
    other[8] = 9;
    assert!(matches!(Recording::from_bytes(&other), Err(RecordingError::Version(9))));
    let (mut refused, mut sound) = (0, 0);
    for at in 0..bytes.len() {
        assert!(Recording::from_bytes(&bytes[..at]).is_err());
        let mut short = bytes[..at].to_vec();
        reseal(&mut short);
        assert!(Recording::from_bytes(&short).is_err());
        for value in [0, 0x7f, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            if changed[at] == bytes[at] {
                continue;
            }
            // Bytes 12 to 15 are not used.
            assert!(Recording::from_bytes(&changed).is_err() || (12..16).contains(&at), "{at}");
            reseal(&mut changed);
            match Recording::from_bytes(&changed) {
                Ok(r) => {
                    r.check().unwrap();
                    sound += 1;
                }
                Err(e) => {
                    assert!(!e.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 300 && sound > 300, "{refused} {sound}");
}

#[test]
fn what_does_not_fit_together_is_not_written() {
    let good = bouncing(3, 100.0);
    type Change = fn(&mut Recording);
    let broken: [(&str, Change); 9] = [
        ("up is", |r| r.up = DVec3::ZERO),
        ("triangle 0 of part 0", |r| r.parts[0].triangles[0][1] = 1 << 30),
        ("vertex 2 of part 0", |r| r.parts[0].positions[2].x = f32::NAN),
        ("colours", |r| r.parts[0].colours = vec![[0; 3]]),
        ("body 1 uses part 7", |r| r.bodies[1].part = 7),
        ("frame 2 has 1 states", |r| r.frames[2].bodies.truncate(1)),
        ("frame 1 is at", |r| r.frames[1].time = -1.0),
        ("body 0 of frame 1", |r| r.frames[1].bodies[0].pose.translation.y = f64::NAN),
        ("ground is", |r| r.ground = Ground::Part { part: 3, pose: Pose::IDENTITY }),
    ];
    for (words, change) in broken {
        let mut bad = good.clone();
        change(&mut bad);
        let said = bad.to_bytes().unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
    let mut far = good;
    far.frames[0].bodies[0].pose.translation.x = 1e300;
    assert!(far.to_bytes().unwrap_err().to_string().contains("too large"));
}

#[test]
fn saving_is_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("palpate-recording-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.palprec");
    let recording = bouncing(5, 50.0);
    recording.save(&path).unwrap();
    assert_eq!(Recording::load(&path).unwrap().frames.len(), 5);
    let mut bad = recording.clone();
    bad.up = DVec3::NAN;
    assert!(bad.save(&path).is_err());
    assert!(recording.save(folder.join("no/such.palprec")).unwrap_err().to_string().contains("such.palprec"));
    assert!(recording.save(&folder).is_err());
    assert_eq!(Recording::load(&path).unwrap().frames.len(), 5);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_table_has_a_row_for_each_frame_and_body() {
    let recording = bouncing(20, 100.0);
    let mut bytes = Vec::new();
    recording.write_csv(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 20 * 2);
    assert!(lines[0].starts_with("time,body,x,y,z,qx,qy,qz,qw,vx,"));
    let fields: Vec<&str> = lines[1 + 2 * 7].split(',').collect();
    assert_eq!((fields[0], fields[1], fields.len()), ("0.07", "ball", lines[0].split(',').count()));
    let state = &recording.frames[7].bodies[0];
    assert_eq!(fields[4].parse::<f64>().unwrap(), state.pose.translation.z);
    assert_eq!(fields[11].parse::<f64>().unwrap(), state.linear.z);
    assert!(lines[2].contains(",\"other, \"\"still\"\"\","), "{}", lines[2]);
}

#[test]
fn reduced_shapes_stay_near_the_surface_and_below_the_limit() {
    let knot = samples::by_name("torus-knot").unwrap();
    let (p, t, _) = reduced(&knot.positions, &knot.triangles, &[], 6000);
    assert!((3000..=6000).contains(&t.len()), "{} of {}", t.len(), knot.triangles.len());
    assert!(t.iter().flatten().all(|v| (*v as usize) < p.len()));
    let ball = samples::sphere(0.05, 6);
    let (p, t, _) = reduced(&ball.positions, &ball.triangles, &[], 5000);
    assert!(t.len() <= 5000 && t.len() > 2500, "{}", t.len());
    // A cell is about 4 mm across here: its best point is nearer to the ball than the sag of a cell, 0.04 mm.
    let off = p.iter().map(|p| (p.length() - 0.05).abs()).fold(0.0, f32::max);
    assert!(off < 8e-5, "{off}");
    // Corners of a box stay: they minimise the quadric.
    let fine = |n: i32| f64::from(n) / 40.0;
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for axis in 0..3 {
        for side in [0.0, 1.0] {
            let base = positions.len() as u32;
            for i in 0..=40 {
                for j in 0..=40 {
                    let mut at = [0.0; 3];
                    (at[axis], at[(axis + 1) % 3], at[(axis + 2) % 3]) = (side, fine(i), fine(j));
                    positions.push(DVec3::from_array(at));
                }
            }
            for k in (0..40).flat_map(|i| (0..40).map(move |j| base + i * 41 + j)) {
                triangles.extend([[k, k + 41, k + 42], [k, k + 42, k + 1]]);
            }
        }
    }
    let (p, t, _) = reduced(&positions, &triangles, &[], 1500);
    assert!(t.len() <= 1500 && t.len() > 400, "{}", t.len());
    let near = |c: Vec3| p.iter().map(|p| p.distance(c)).fold(f32::MAX, f32::min);
    for corner in [Vec3::ZERO, Vec3::ONE, Vec3::X, Vec3::new(0.0, 1.0, 1.0)] {
        assert!(near(corner) < 0.02, "{}", near(corner));
    }
}

#[test]
fn small_and_broken_shapes_are_reduced_without_harm() {
    let p = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::NAN, DVec3::Z];
    let t = [[0, 1, 2], [0, 1, 3], [0, 1, 99], [0, 4, 1]];
    let (kept, tris, colours) = reduced(&p, &t, &[[1; 3], [2; 3]], 100);
    assert_eq!((kept.len(), tris.len(), colours.len()), (4, 2, 4));
    assert_eq!(reduced(&[], &[], &[], 0).1.len(), 0);
    assert_eq!(reduced(&[DVec3::ONE; 3], &[[0, 1, 2]; 4], &[], 1).0.len(), 3, "no extent: as it is");
    let huge: Vec<DVec3> = (0..30).map(|i| DVec3::new(1e150 * f64::from(i), 1e-300, -1e200)).collect();
    let strip: Vec<[u32; 3]> = (0..28).map(|i| [i, i + 1, i + 2]).collect();
    assert!(reduced(&huge, &strip, &[], 5).1.len() <= 28);
}

#[test]
fn kept_contacts_hold_the_deepest_and_spread() {
    let at = |i: usize| Mark {
        point: DVec3::X * i as f64,
        normal: DVec3::Z,
        depth: if i == 700 { 2.0 } else { 1.0 },
    };
    let all: Vec<Mark> = (0..1000).map(at).collect();
    let mut frame = Frame::default();
    frame.keep(&all, 64);
    assert_eq!(frame.marks.len(), 64);
    assert_eq!(frame.marks[0].depth, 2.0);
    let xs: Vec<f64> = frame.marks.iter().map(|m| m.point.x).collect();
    assert!(xs.contains(&0.0) && xs.iter().any(|x| *x > 950.0));
    for (limit, expected) in [(0, 0), (1, 1), (1000, 1000), (5000, 1000)] {
        frame.keep(&all, limit);
        assert_eq!(frame.marks.len(), expected);
    }
}

/// Writes the seeds of the fuzz target: `PALPATE_SEEDS=fuzz/seeds/palprec cargo test -p palpate-view seeds -- --ignored`.
#[test]
#[ignore = "writes files of the repository"]
fn seeds_of_the_fuzz_target() {
    let folder = std::path::PathBuf::from(std::env::var("PALPATE_SEEDS").unwrap());
    let mut recording = bouncing(3, 100.0);
    recording.parts[0].positions.truncate(9);
    recording.parts[0].triangles = vec![[0, 1, 2], [3, 4, 8]];
    recording.save(folder.join("plane.palprec")).unwrap();
    recording.parts[0].colours = vec![[7, 8, 9]; 9];
    recording.ground = Ground::Part { part: 0, pose: Pose::from_translation(recording.origin) };
    recording.save(folder.join("part.palprec")).unwrap();
    recording.ground = Ground::Cuboid { aabb: Aabb { min: recording.origin - 1.0, max: recording.origin } };
    recording.frames.truncate(1);
    recording.save(folder.join("box.palprec")).unwrap();
}
