//! A probe on a scan: what it meets in each step, and what is kept of it.

mod path;
mod record;
mod scan;
mod tell;

pub(crate) use path::{Stop, demonstration, parse as parse_path};
pub(crate) use record::probing;
pub(crate) use scan::{SPACING, Scan, WAVES, only_points, read as read_scan};
pub(crate) use tell::{Told, write_table};

use crate::progress::Reporter;
use clap::ValueEnum;
use glam::{DQuat, DVec3};
use palpate::Pose;
use palpate::cloud::{PointForceParams, Proxy, ProxyParams, Scene, SceneNearest, Touch, Work};
use palpate::force::Twist;
use palpate::progress::Progress;
use std::time::Instant;

/// How boxes and nearest points are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Exact,
    Paper,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Paper => "paper",
        }
    }

    pub(crate) fn of_cloud(self) -> palpate::cloud::Mode {
        match self {
            Self::Exact => palpate::cloud::Mode::Exact,
            Self::Paper => palpate::cloud::Mode::Paper,
        }
    }
}

/// What is felt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Feel {
    Proxy,
    Nearest,
    None,
}

impl Feel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Proxy => "proxy",
            Self::Nearest => "nearest",
            Self::None => "none",
        }
    }
}

/// How a scan moves: its middle straight, and around it a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moving {
    /// At time 0.
    pub(crate) pose: Pose,
    /// The middle of the scan, in its frame [m].
    pub(crate) middle: DVec3,
    /// Of the middle [m/s].
    pub(crate) velocity: DVec3,
    /// [rad/s]
    pub(crate) spin: DVec3,
}

impl Moving {
    pub(crate) fn still(&self) -> bool {
        self.velocity == DVec3::ZERO && self.spin == DVec3::ZERO
    }

    /// Where the scan is at a time [s], and how its origin moves then.
    pub(crate) fn at(&self, time: f64) -> (Pose, Twist) {
        if self.still() {
            return (self.pose, Twist::ZERO);
        }
        let turned = DQuat::from_scaled_axis(self.spin * time) * self.pose.rotation;
        let middle = self.pose.point(self.middle) + time * self.velocity;
        let pose = Pose::new(turned, middle - turned * self.middle);
        let linear = self.velocity + self.spin.cross(pose.translation - middle);
        (pose, Twist { linear, angular: self.spin })
    }

    /// Where the middle is, and how the scan is turned.
    pub(crate) fn middle_at(&self, time: f64) -> Pose {
        let pose = self.at(time).0;
        Pose::new(pose.rotation, pose.point(self.middle))
    }
}

/// What is asked in each step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) feel: Feel,
    pub(crate) proxy: ProxyParams,
    pub(crate) moving: Moving,
}

/// One step, in the world's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) time: f64,
    pub(crate) probe: DVec3,
    /// In the box of a point.
    pub(crate) touching: bool,
    pub(crate) nearest: Option<SceneNearest>,
    /// What the proxy gave; none with another force.
    pub(crate) felt: Option<Touch>,
    /// On the probe [N].
    pub(crate) force: DVec3,
    /// What the six-point rule looked at, for the boxes and for the nearest point.
    pub(crate) work: [Work; 2],
    /// What took how long [µs]: boxes, nearest point, force.
    pub(crate) us: [f64; 3],
}

impl Row {
    /// The whole step [µs].
    pub(crate) fn whole_us(&self) -> f64 {
        self.us.iter().sum()
    }

    /// Whether a force pushes.
    pub(crate) fn pushed(&self) -> bool {
        self.force != DVec3::ZERO
    }
}

/// What a path gave.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) rows: Vec<Row>,
    /// Whether Ctrl-C ended it.
    pub(crate) interrupted: bool,
}

/// Microseconds that `work` takes.
fn timed<T>(us: &mut f64, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let out = work();
    *us = 1e6 * begin.elapsed().as_secs_f64();
    out
}

/// Follows a path, in a scene with the scan as its only model. Ctrl-C ends it early; what was done is kept.
pub(crate) fn run(scene: &mut Scene, path: &[Stop], question: &Question, reporter: &Reporter) -> Run {
    let mut run = Run { rows: Vec::with_capacity(path.len()), interrupted: false };
    let model = scene.models().first().map(|m| m.id());
    let p = &question.proxy;
    let point = PointForceParams { stiffness: p.stiffness, damping: p.damping, most_force: p.most_force };
    let mut proxy = Proxy::new();
    let mut last: Option<Stop> = None;
    for stop in path {
        if reporter.cancelled() {
            run.interrupted = true;
            break;
        }
        if let Some(id) = model.filter(|_| !question.moving.still()) {
            let (pose, velocity) = question.moving.at(stop.time);
            scene.set_pose(id, pose);
            scene.set_velocity(id, velocity);
        }
        // From the step before: what a device knows at that time.
        let velocity = last.map_or(DVec3::ZERO, |l| (stop.place - l.place) / (stop.time - l.time));
        let velocity = if velocity.is_finite() { velocity } else { DVec3::ZERO };
        let mut us = [0.0; 3];
        let (touching, boxes) = timed(&mut us[0], || scene.touches_counted(stop.place));
        let (nearest, near) = timed(&mut us[1], || scene.nearest_counted(stop.place));
        let (mut felt, mut force) = (None, DVec3::ZERO);
        match question.feel {
            Feel::Proxy => {
                let touch = timed(&mut us[2], || proxy.step(scene, stop.place, velocity, p));
                (felt, force) = (Some(touch), touch.force);
            }
            Feel::Nearest => {
                force = timed(&mut us[2], || scene.point_force(stop.place, velocity, &point)).force;
            }
            Feel::None => {}
        }
        run.rows.push(Row {
            time: stop.time,
            probe: stop.place,
            touching,
            nearest,
            felt,
            force,
            work: [boxes, near],
            us,
        });
        last = Some(*stop);
        reporter.advance(1);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moving scan is where its velocity leads, and the velocity of a point is how its place changes.
    #[test]
    fn poses_and_velocities_of_a_moving_scan_agree() {
        let moving = Moving {
            pose: Pose::new(DQuat::from_rotation_x(0.4), DVec3::new(1.0, 2.0, 3.0)),
            middle: DVec3::new(100.0, -50.0, 7.0),
            velocity: DVec3::new(0.1, 0.0, -0.2),
            spin: DVec3::new(0.3, -0.5, 0.8),
        };
        let (h, t) = (1e-5, 0.7);
        for p in [DVec3::ZERO, moving.middle, DVec3::new(3.0, 4.0, 5.0)] {
            let (pose, twist) = moving.at(t);
            let before = moving.at(t - h).0.point(p);
            let after = moving.at(t + h).0.point(p);
            let at = twist.at(pose.point(p) - pose.translation);
            assert!(at.distance((after - before) / (2.0 * h)) < 1e-5);
        }
        let middle = moving.middle_at(2.0).translation;
        assert!(middle.distance(moving.pose.point(moving.middle) + 2.0 * moving.velocity) < 1e-9);
    }
}
