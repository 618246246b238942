//! Where a simulated hand wants the handle to be.
//!
//! Based on: minimum jerk, Flash and Hogan, The coordination of arm movements, 1985: s = 10 u³ − 15 u⁴ + 6 u⁵.
//! Differs: turns follow the same law, along the shortest way; motions that go on repeat it there and back.

use glam::DVec3;
use palpate::force::Twist;
use palpate::math::Pose;

use crate::device::DeviceError;
use crate::turn;

/// A pose at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// Since the start [s].
    pub time: f64,
    /// `world_from_handle`.
    pub pose: Pose,
}

/// A motion of the hand, in the world's frame. Position, velocity and acceleration are continuous in all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum HandMotion {
    /// Stays where it is.
    Hold {
        /// `world_from_handle`.
        pose: Pose,
    },
    /// Goes down to a depth, and stays there.
    Press {
        /// Where it begins.
        start: Pose,
        /// The way down; its length does not matter [1].
        axis: DVec3,
        /// How far [m].
        depth: f64,
        /// How long it takes to get there [s].
        seconds: f64,
    },
    /// Goes down, then along a line, there and back for as long as it is asked.
    Slide {
        /// Where it begins.
        start: Pose,
        /// The way down; its length does not matter [1].
        axis: DVec3,
        /// How far down [m].
        depth: f64,
        /// From one end of the line to the other [m].
        travel: DVec3,
        /// How long the way down takes [s].
        press_seconds: f64,
        /// How long one way along the line takes [s].
        seconds: f64,
    },
    /// Goes down while it turns: to one side first, then from side to side for as long as it is asked.
    Wedge {
        /// Where it begins.
        start: Pose,
        /// The way down; its length does not matter [1].
        axis: DVec3,
        /// How far down [m].
        depth: f64,
        /// To one side: axis times angle, about the handle's origin, at most π long [rad].
        turn: DVec3,
        /// How long the way down takes [s].
        press_seconds: f64,
        /// How long a turn from side to side takes [s].
        seconds: f64,
    },
    /// Goes round, slowly at first, and down meanwhile.
    Circle {
        /// The middle, before it goes down.
        centre: Pose,
        /// The way down, about which it goes round; its length does not matter [1].
        axis: DVec3,
        /// How far down [m].
        depth: f64,
        /// Of the circle [m].
        radius: f64,
        /// How long a whole turn takes, and the way down [s].
        seconds: f64,
    },
    /// From pose to pose, at rest in each; at the last for ever. Times increase.
    Path(
        /// At least one.
        Vec<Waypoint>,
    ),
}

/// How far along at `u` of the time, and how fast [1].
fn ease(u: f64) -> (f64, f64) {
    let u = u.clamp(0.0, 1.0);
    (u * u * u * (10.0 + u * (-15.0 + 6.0 * u)), 30.0 * u * u * (1.0 - u) * (1.0 - u))
}

/// The integral of [`ease`] from 0, and [`ease`] itself: a rate that grows from 0 to 1, then stays.
fn gather(u: f64) -> (f64, f64) {
    let v = u.clamp(0.0, 1.0);
    (v.powi(4) * (2.5 + v * (-3.0 + v)) + (u - v).max(0.0), ease(v).0)
}

/// There and back: from 0 to 1 while `u` goes to 1, back to 0 while it goes to 2, and so on; its rate.
fn to_and_fro(u: f64) -> (f64, f64) {
    let u = u.max(0.0);
    let (s, ds) = ease(u.fract());
    if u % 2.0 < 1.0 { (s, ds) } else { (1.0 - s, -ds) }
}

impl HandMotion {
    /// A hand that holds the handle at the world's origin.
    pub const STILL: Self = Self::Hold { pose: Pose::IDENTITY };

    /// Where the hand wants the handle at `time`, and how fast it should move there. Constant cost, but a path's, which is
    /// logarithmic. A motion that [`HandMotion::check`] refuses may give numbers that are not finite.
    pub fn at(&self, time: f64) -> (Pose, Twist) {
        let time = time.max(0.0);
        match self {
            Self::Hold { pose } => (*pose, Twist::ZERO),
            Self::Press { start, axis, depth, seconds } => {
                let (down, rate) = press(*axis, *depth, *seconds, time);
                (moved(start, down, DVec3::ZERO), Twist { linear: rate, angular: DVec3::ZERO })
            }
            Self::Slide { start, axis, depth, travel, press_seconds, seconds } => {
                let (down, rate) = press(*axis, *depth, *press_seconds, time);
                let (s, ds) = to_and_fro((time - press_seconds) / seconds);
                let linear = rate + *travel * (ds / seconds);
                (moved(start, down + *travel * s, DVec3::ZERO), Twist { linear, angular: DVec3::ZERO })
            }
            Self::Wedge { start, axis, depth, turn, press_seconds, seconds } => {
                let (down, rate) = press(*axis, *depth, *press_seconds, time);
                let u = time / seconds;
                // The first turn is half as far as the others.
                let (s, ds) = if u < 1.0 { ease(u) } else { back_and_forth(u - 1.0) };
                let twist = Twist { linear: rate, angular: *turn * (ds / seconds) };
                (moved(start, down, *turn * s), twist)
            }
            Self::Circle { centre, axis, depth, radius, seconds } => {
                let (down, rate) = press(*axis, *depth, *seconds, time);
                let out = axis.normalize().any_orthonormal_vector();
                let side = axis.normalize().cross(out);
                let (turns, pace) = gather(time / seconds);
                let (sin, cos) = (std::f64::consts::TAU * turns).sin_cos();
                let speed = std::f64::consts::TAU * pace / seconds * radius;
                let linear = rate + (side * cos - out * sin) * speed;
                let place = down + (out * cos + side * sin) * *radius;
                (moved(centre, place, DVec3::ZERO), Twist { linear, angular: DVec3::ZERO })
            }
            Self::Path(points) => along(points, time),
        }
    }

    /// Whether every number is finite, times and lengths make sense, and a path has points whose times increase.
    pub fn check(&self) -> Result<(), DeviceError> {
        let bad = |line: usize, reason: &str| Err(DeviceError::BadMotion { line, reason: reason.to_owned() });
        let steady = |axis: DVec3, depth: f64, seconds: [f64; 2]| {
            let axis = axis.is_finite() && axis.length() > 1e-9;
            axis && depth.is_finite() && seconds.iter().all(|s| s.is_finite() && *s > 0.0)
        };
        let fine = match self {
            Self::Hold { pose } => pose.is_finite(),
            Self::Press { start, axis, depth, seconds } => {
                start.is_finite() && steady(*axis, *depth, [*seconds, *seconds])
            }
            Self::Slide { start, axis, depth, travel, press_seconds, seconds } => {
                start.is_finite() && travel.is_finite() && steady(*axis, *depth, [*press_seconds, *seconds])
            }
            Self::Wedge { start, axis, depth, turn, press_seconds, seconds } => {
                let turn = turn.is_finite() && turn.length() <= std::f64::consts::PI;
                start.is_finite() && turn && steady(*axis, *depth, [*press_seconds, *seconds])
            }
            Self::Circle { centre, axis, depth, radius, seconds } => {
                centre.is_finite() && radius.is_finite() && steady(*axis, *depth, [*seconds, *seconds])
            }
            Self::Path(points) => {
                if points.is_empty() {
                    return bad(1, "a path needs at least one pose");
                }
                for (i, p) in points.iter().enumerate() {
                    let after = i == 0 || p.time > points[i - 1].time;
                    if !p.pose.is_finite() || !p.time.is_finite() || !after {
                        return bad(i + 1, "poses must be finite, and each later than the one before");
                    }
                }
                true
            }
        };
        if fine {
            Ok(())
        } else {
            bad(1, "the hand's motion needs finite numbers, an axis, and times above 0")
        }
    }
}

/// The way down and its rate.
fn press(axis: DVec3, depth: f64, seconds: f64, time: f64) -> (DVec3, DVec3) {
    let (s, ds) = ease(time / seconds);
    let way = axis.normalize() * depth;
    (way * s, way * (ds / seconds))
}

/// From 1 to −1 while `u` goes to 1, back while it goes to 2, and so on; its rate.
fn back_and_forth(u: f64) -> (f64, f64) {
    let (s, ds) = to_and_fro(u);
    (1.0 - 2.0 * s, -2.0 * ds)
}

/// A pose that is shifted, and turned about its origin, in the world's frame.
fn moved(pose: &Pose, shift: DVec3, turned: DVec3) -> Pose {
    Pose { rotation: turn::rotation(turned) * pose.rotation, translation: pose.translation + shift }
}

fn along(points: &[Waypoint], time: f64) -> (Pose, Twist) {
    let next = points.partition_point(|p| p.time <= time);
    let Some(b) = points.get(next) else {
        return (points.last().map_or(Pose::IDENTITY, |p| p.pose), Twist::ZERO);
    };
    let Some(a) = next.checked_sub(1).and_then(|i| points.get(i)) else { return (b.pose, Twist::ZERO) };
    let seconds = b.time - a.time;
    let (s, ds) = ease((time - a.time) / seconds);
    let way = b.pose.translation - a.pose.translation;
    let turned = turn::between(a.pose.rotation, b.pose.rotation);
    let twist = Twist { linear: way * (ds / seconds), angular: turned * (ds / seconds) };
    (moved(&a.pose, way * s, turned * s), twist)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn all() -> Vec<HandMotion> {
        let start = Pose::new(DQuat::from_rotation_y(0.4), DVec3::new(0.1, 0.2, 0.3));
        let (axis, depth) = (DVec3::new(0.0, 0.3, -2.0), 0.02);
        let end = Pose::new(DQuat::from_rotation_z(2.0), DVec3::new(0.0, 0.1, 0.0));
        let (press_seconds, seconds) = (0.5, 0.8);
        let turn = DVec3::new(0.2, 0.1, -0.3);
        vec![
            HandMotion::Hold { pose: start },
            HandMotion::Press { start, axis, depth, seconds },
            HandMotion::Slide { start, axis, depth, travel: DVec3::X * 0.05, press_seconds, seconds },
            HandMotion::Wedge { start, axis, depth, turn, press_seconds, seconds },
            HandMotion::Circle { centre: start, axis, depth, radius: 0.03, seconds },
            HandMotion::Path(vec![
                Waypoint { time: 0.1, pose: start },
                Waypoint { time: 0.9, pose: end },
                Waypoint { time: 1.4, pose: start },
            ]),
        ]
    }

    /// The twist is the derivative of the pose, and neither jumps: a difference over 10 µs agrees, and the twist changes by no
    /// more than an acceleration of 60 rad/s² allows (5.8 times 2.2 rad in 0.5 s squared is the largest).
    #[test]
    fn motions_are_smooth_and_tell_their_velocity() {
        let h = 1e-5;
        for motion in all() {
            motion.check().unwrap();
            for i in 1..30_000 {
                let t = f64::from(i) * 1e-4;
                let ((a, _), (m, twist), (b, next)) = (motion.at(t - h), motion.at(t), motion.at(t + h));
                let linear = (b.translation - a.translation) / (2.0 * h);
                let angular = turn::between(a.rotation, b.rotation) / (2.0 * h);
                assert!((linear - twist.linear).length() < 1e-6, "{motion:?} at {t}");
                assert!((angular - twist.angular).length() < 1e-5, "{motion:?} at {t}");
                assert!((next.linear - twist.linear).length() < 60.0 * h, "{motion:?} at {t}");
                assert!((next.angular - twist.angular).length() < 60.0 * h, "{motion:?} at {t}");
                assert!((m.rotation.length() - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn motions_get_where_they_should() {
        let start = Pose::IDENTITY;
        let axis = DVec3::NEG_Z * 7.0;
        let press = HandMotion::Press { start, axis, depth: 0.02, seconds: 0.5 };
        assert!((press.at(9.0).0.translation - DVec3::new(0.0, 0.0, -0.02)).length() < 1e-15);
        let travel = DVec3::new(0.04, 0.0, 0.0);
        let slide = HandMotion::Slide { start, axis, depth: 0.02, travel, press_seconds: 0.5, seconds: 1.0 };
        for (t, x) in [(0.5, 0.0), (1.5, 0.04), (2.5, 0.0), (61.5, 0.04)] {
            assert!((slide.at(t).0.translation - DVec3::new(x, 0.0, -0.02)).length() < 1e-12, "{t}");
        }
        let turn = DVec3::X * 0.2;
        let wedge = HandMotion::Wedge { start, axis, depth: 0.02, turn, press_seconds: 0.5, seconds: 1.0 };
        for (t, x) in [(0.0, 0.0), (1.0, 0.2), (2.0, -0.2), (3.0, 0.2)] {
            assert!((turn::vector(wedge.at(t).0.rotation) - DVec3::X * x).length() < 1e-12, "{t}");
        }
        let circle = HandMotion::Circle { centre: start, axis, depth: 0.02, radius: 0.03, seconds: 1.0 };
        for i in 0..100 {
            let p = circle.at(1.0 + 0.07 * f64::from(i)).0.translation;
            assert!((p.z + 0.02).abs() < 1e-12 && (p.truncate().length() - 0.03).abs() < 1e-12);
        }
    }

    #[test]
    fn motions_that_make_no_sense_are_refused() {
        let start = Pose::IDENTITY;
        let press = |axis, depth, seconds| HandMotion::Press { start, axis, depth, seconds };
        assert!(press(DVec3::ZERO, 0.1, 1.0).check().is_err());
        assert!(press(DVec3::X, f64::NAN, 1.0).check().is_err());
        assert!(press(DVec3::X, 0.1, 0.0).check().is_err());
        assert!(HandMotion::Path(vec![]).check().is_err());
        let twice = vec![Waypoint { time: 1.0, pose: start }; 2];
        let error = HandMotion::Path(twice).check().unwrap_err();
        assert!(matches!(error, DeviceError::BadMotion { line: 2, .. }), "{error}");
    }
}
