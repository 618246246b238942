//! The loop around an engine, with one in closed form.

use super::simulation::Step;
use super::*;
use crate::cmd::BuildArgs;
use clap::Parser;
use glam::DVec3;
use palpate::Pose;

/// Bodies that fall freely and stop at a height each.
struct Ballistic {
    starts: Vec<Pose>,
    floors: Vec<f64>,
    time: f64,
    dt: f64,
}

impl Simulation for Ballistic {
    fn step(&mut self) -> Result<Step> {
        self.time += self.dt;
        Ok(Step { narrow_us: Some(2.0), deepest: 1e-3 * self.time, lost: 0 })
    }

    fn read(&self, states: &mut Vec<State>, marks: &mut Vec<Mark>) {
        for (start, floor) in self.starts.iter().zip(&self.floors) {
            let mut pose = *start;
            pose.translation.z = (start.translation.z - 4.905 * self.time * self.time).max(*floor);
            let resting = pose.translation.z == *floor;
            let linear = if resting { DVec3::ZERO } else { DVec3::Z * -9.81 * self.time };
            states.push(State { pose, linear, ..State::default() });
            if resting {
                marks.push(Mark { point: pose.translation, normal: DVec3::Z, depth: 1e-5 });
            }
        }
    }

    fn kinetic(&self) -> f64 {
        0.0
    }
}

#[derive(Debug, Parser)]
struct Build {
    #[command(flatten)]
    build: BuildArgs,
}

fn scene(onto: &str, count: usize, random_rotation: bool) -> Scene {
    let args = Build::parse_from(["test", "--resolution", "24"]).build;
    let params = SceneParams { count, height: Some(0.1), seed: 4, random_rotation };
    Scene::load(&["sample:sphere".to_owned()], onto, &args, &params, &Reporter::new(true)).unwrap()
}

#[test]
fn frames_follow_the_steps_and_falling_through_is_seen() {
    let scene = scene("plane", 3, false);
    let starts: Vec<Pose> = scene.starts.iter().map(|s| s.pose).collect();
    // The second goes through the plane, the third never arrives.
    let mut ballistic = Ballistic { starts, floors: vec![0.05, -9.0, 0.14], time: 0.0, dt: 1.0 / 200.0 };
    let run = run(&mut ballistic, &scene, 200, 200.0, &Reporter::new(true)).unwrap();
    assert_eq!((run.steps, run.every, run.frames.len()), (200, 1, 201));
    assert_eq!(run.fell_through, [false, true, false]);
    assert!((run.deepest - 1e-3).abs() < 1e-9 && run.narrow_us == Some(2.0) && !run.interrupted);
    assert_eq!(run.frames[200].contacts, 2);
    assert!((run.frames[200].time - 1.0).abs() < 1e-12);
    let recording = palpate_view::recording::Recording { frames: run.frames, ..scene.recording() };
    recording.check().unwrap();
}

#[test]
fn starts_do_not_overlap_and_are_above_the_ground() {
    for (onto, random) in [("plane", false), ("box", true), ("terrain", true), ("sample:cuboid", true)] {
        let scene = scene(onto, 30, random);
        assert_eq!(scene.starts.len(), 30);
        let mut least = f64::INFINITY;
        for (i, a) in scene.starts.iter().enumerate() {
            assert!(!scene.below(i, &a.pose), "{onto}");
            for b in &scene.starts[..i] {
                least = least.min(a.pose.translation.distance(b.pose.translation));
            }
        }
        // Balls of 10 cm.
        assert!(least > 0.1, "{onto}: {least}");
        let lowest = scene.starts.iter().map(|s| s.pose.translation.z).fold(f64::INFINITY, f64::min);
        let top = match &scene.floor {
            Floor::Solid { shape, pose, .. } => pose.point(shape.aabb().max).z,
            _ => 0.0,
        };
        assert!((lowest - top - 0.15).abs() < 2e-3, "{onto}: {lowest} {top}");
    }
}

#[test]
fn leaving_the_edge_is_not_falling_through() {
    let scene = scene("box", 1, false);
    let at = |x: f64, z: f64| Pose::from_translation(DVec3::new(x, 0.0, z));
    assert!(!scene.below(0, &at(0.0, -0.05)) && scene.below(0, &at(0.0, -0.2)));
    assert!(scene.beneath(0, &at(0.1, -0.2)) && !scene.beneath(0, &at(0.4, -0.2)));
}
