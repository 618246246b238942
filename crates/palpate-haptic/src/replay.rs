//! A recorded motion as a device, and a recorder that writes one.
//!
//! The format is text: a line for each pose, `t,x,y,z,qx,qy,qz,qw`, in s, m and as a unit quaternion, `world_from_handle`; times
//! increase. A first line of names, empty lines and lines that begin with `#` are passed over. Between lines positions are linear and
//! rotations turn evenly.

use std::io::Write;

use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};

use crate::device::{Device, DeviceError, DeviceLimits, Reading};
use crate::turn;

/// The first line that [`Recorder`] writes.
pub const HEADER: &str = "t,x,y,z,qx,qy,qz,qw";

/// No place farther from the origin than this [m], so that differences are finite.
const FARTHEST: f64 = 1e6;
/// How far a quaternion's length may be from 1. More is a column out of place rather than rounding.
const UNIT: f64 = 0.05;

/// A motion: poses at times, in the world's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// Times increase; all finite; at least one.
    samples: Vec<(f64, Pose)>,
}

impl Motion {
    /// Reads the text that the module describes. What is wrong is told with its line.
    pub fn parse(text: &[u8]) -> Result<Self, DeviceError> {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let mut samples: Vec<(f64, Pose)> = Vec::new();
        let mut first = true;
        let mut lines = 0;
        for (i, line) in text.split(|b| *b == b'\n').enumerate() {
            let bad = |reason: String| DeviceError::BadMotion { line: i + 1, reason };
            lines = i + 1;
            let Ok(line) = std::str::from_utf8(line) else {
                return Err(bad("it is not text".to_owned()));
            };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if std::mem::take(&mut first) && line.split(',').all(|f| f.trim().parse::<f64>().is_err()) {
                continue;
            }
            let (time, pose) = read_line(line).map_err(bad)?;
            if let Some((before, _)) = samples.last().filter(|s| s.0 >= time) {
                return Err(bad(format!(
                    "time {time} s does not come after {before} s; times must increase"
                )));
            }
            samples.push((time, pose));
        }
        if samples.is_empty() {
            let reason = format!("there are no poses; each is a line {HEADER}");
            return Err(DeviceError::BadMotion { line: lines.max(1), reason });
        }
        Ok(Self { samples })
    }

    /// From the first pose to the last [s].
    pub fn duration(&self) -> f64 {
        match (self.samples.first(), self.samples.last()) {
            (Some(a), Some(b)) => b.0 - a.0,
            _ => 0.0,
        }
    }

    /// How many poses there are; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// The pose at `time` after the first one [s], and the velocity there; at rest before and after. Logarithmic cost.
    pub fn at(&self, time: f64) -> (Pose, Twist) {
        let Some((start, first)) = self.samples.first() else { return (Pose::IDENTITY, Twist::ZERO) };
        let time = start + time;
        let next = self.samples.partition_point(|s| s.0 <= time);
        let Some((t1, b)) = self.samples.get(next) else {
            return (self.samples.last().map_or(*first, |s| s.1), Twist::ZERO);
        };
        let Some((t0, a)) = next.checked_sub(1).and_then(|i| self.samples.get(i)) else {
            return (*first, Twist::ZERO);
        };
        let (way, turned) = (b.translation - a.translation, turn::between(a.rotation, b.rotation));
        let seconds = t1 - t0;
        let s = (time - t0) / seconds;
        let pose = Pose {
            rotation: (turn::rotation(turned * s) * a.rotation).normalize(),
            translation: a.translation + way * s,
        };
        (pose, Twist { linear: way / seconds, angular: turned / seconds })
    }
}

/// A time and a pose, or what is wrong with them.
fn read_line(line: &str) -> Result<(f64, Pose), String> {
    let mut values = [0.0_f64; 8];
    let mut count = 0;
    for field in line.split(',') {
        let field = field.trim();
        let Some(value) = values.get_mut(count) else {
            return Err(format!("more than 8 values; it must be {HEADER}"));
        };
        *value = field.parse().map_err(|_| format!("`{}` is not a number", short(field)))?;
        if !value.is_finite() || value.abs() > 1e12 {
            return Err(format!("`{}` is not a number that can be played", short(field)));
        }
        count += 1;
    }
    if count != values.len() {
        return Err(format!("{count} values instead of 8; it must be {HEADER}"));
    }
    let [time, x, y, z, qx, qy, qz, qw] = values;
    let place = DVec3::new(x, y, z);
    if place.abs().max_element() > FARTHEST {
        return Err(format!("{place} is farther away than {FARTHEST} m; is it in metres?"));
    }
    let rotation = DQuat::from_xyzw(qx, qy, qz, qw);
    let length = rotation.length();
    if !((1.0 - UNIT)..=(1.0 + UNIT)).contains(&length) {
        return Err(format!("the quaternion's length is {length}; it must be 1, in the order x y z w"));
    }
    Ok((time, Pose::new(rotation, place)))
}

/// The beginning of what was read, for a message.
fn short(field: &str) -> String {
    field.chars().take(24).collect()
}

/// What comes after a motion's last pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It stays there.
    #[default]
    Hold,
    /// It begins anew, at the first pose at once: a motion that does not end where it began jumps.
    Repeat,
}

/// A device that plays a recorded motion, one period for each exchange. Nobody feels its force.
#[derive(Clone, Debug)]
pub struct Replay {
    motion: Motion,
    period: f64,
    end: End,
    limits: DeviceLimits,
    ticks: u64,
}

impl Replay {
    /// Plays `motion` at one exchange a `period` [s]; `limits` are what it says it can do.
    pub fn new(motion: Motion, period: f64, end: End, limits: DeviceLimits) -> Result<Self, DeviceError> {
        limits.check()?;
        if !period.is_finite() || period <= 0.0 {
            return Err(DeviceError::BadLimit { name: "period", value: period });
        }
        Ok(Self { motion, period, end, limits, ticks: 0 })
    }

    /// Whether the last pose has been told; never, where it repeats.
    pub fn is_over(&self) -> bool {
        self.end == End::Hold && self.ticks as f64 * self.period > self.motion.duration()
    }
}

impl Device for Replay {
    fn name(&self) -> String {
        "recorded motion".to_owned()
    }

    fn limits(&self) -> DeviceLimits {
        self.limits
    }

    /// The first call tells the first pose.
    fn exchange(&mut self, _: &Wrench) -> Result<Reading, DeviceError> {
        let mut time = self.ticks as f64 * self.period;
        let duration = self.motion.duration();
        if self.end == End::Repeat && duration > 0.0 {
            time %= duration;
        }
        self.ticks += 1;
        let (pose, twist) = self.motion.at(time);
        // Poses a nanosecond apart may be faster than a number can tell.
        Ok(Reading { pose, twist: twist.is_finite().then_some(twist), buttons: 0 })
    }
}

/// Keeps a motion, to be played again.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    text: String,
    last: Option<f64>,
}

impl Recorder {
    /// Without poses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pose (`world_from_handle`) at `time` [s]. One that [`Motion::parse`] would refuse is left out, and false.
    pub fn push(&mut self, time: f64, pose: &Pose) -> bool {
        use std::fmt::Write as _;
        let (p, q) = (pose.translation, pose.rotation);
        let unit = ((1.0 - UNIT)..=(1.0 + UNIT)).contains(&q.length());
        let near = p.is_finite() && p.abs().max_element() <= FARTHEST && time.abs() <= 1e12;
        if !unit || !near || self.last.is_some_and(|last| last >= time) {
            return false;
        }
        if self.text.is_empty() {
            self.text.push_str(HEADER);
            self.text.push('\n');
        }
        self.last = Some(time);
        // As many digits as it takes to read the same number back.
        writeln!(self.text, "{time},{},{},{},{},{},{},{}", p.x, p.y, p.z, q.x, q.y, q.z, q.w).is_ok()
    }

    /// What [`Motion::parse`] reads.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Writes it out.
    pub fn write_to(&self, mut out: impl Write) -> std::io::Result<()> {
        out.write_all(self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "0,0,0,0,0,0,0,1\n2,0.2,0,0,0,0,0.7071067811865476,0.7071067811865476\n";

    fn replay(text: &str, end: End) -> Replay {
        Replay::new(Motion::parse(text.as_bytes()).unwrap(), 0.5, end, DeviceLimits::SIGMA7).unwrap()
    }

    #[test]
    fn poses_lie_between_those_that_were_kept() {
        let mut device = replay(TWO, End::Hold);
        for (x, over) in [(0.0, false), (0.05, false), (0.1, false), (0.15, false), (0.2, true), (0.2, true)]
        {
            let told = device.exchange(&Wrench::ZERO).unwrap();
            assert!((told.pose.translation - DVec3::X * x).length() < 1e-12, "{x}");
            let angle = std::f64::consts::FRAC_PI_2 * x / 0.2;
            assert!((turn::vector(told.pose.rotation) - DVec3::Z * angle).length() < 1e-12, "{x}");
            let speed = if x < 0.2 { 0.1 } else { 0.0 };
            assert!((told.twist.unwrap().linear.x - speed).abs() < 1e-12, "{x}");
            assert_eq!(device.is_over(), over);
        }
        let mut device = replay(TWO, End::Repeat);
        let xs: Vec<f64> =
            (0..9).map(|_| device.exchange(&Wrench::ZERO).unwrap().pose.translation.x).collect();
        for (i, x) in xs.iter().enumerate() {
            assert!((x - 0.05 * (i % 4) as f64).abs() < 1e-12, "{xs:?}");
        }
    }

    #[test]
    fn names_comments_and_empty_lines_are_passed_over() {
        let plain = Motion::parse(TWO.as_bytes()).unwrap();
        let dressed = format!("\u{feff}# a motion\r\n\r\n{HEADER}\r\n{}", TWO.replace('\n', " \r\n\n"));
        assert_eq!(Motion::parse(dressed.as_bytes()).unwrap(), plain);
        let later = "10,0,0,0,0,0,0,1\n12,0.2,0,0,0,0,0.7071067811865476,0.7071067811865476";
        let later = Motion::parse(later.as_bytes()).unwrap();
        assert_eq!((later.duration(), later.len()), (2.0, 2));
        assert_eq!(later.at(1.0), plain.at(1.0));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, word) in [
            ("", 1, "no poses"),
            ("t,x,y,z,qx,qy,qz,qw\n", 2, "no poses"),
            ("0,0,0,0,0,0,0,1\n0,0,0,0,0,0,0,1", 2, "increase"),
            ("0,0,0,0,0,0,0,1\n\n1,0,0,0,0,0,0", 3, "7 values"),
            ("0,0,0,0,0,0,0,1,2", 1, "more than 8"),
            ("0,0,zero,0,0,0,0,1", 1, "`zero` is not a number"),
            ("names,x\nnames,x", 2, "`names` is not a number"),
            ("0,0,0,0,0,0,0,nan", 1, "can be played"),
            ("0,inf,0,0,0,0,0,1", 1, "can be played"),
            ("0,0,0,0,0,0,0,0", 1, "length is 0"),
            ("0,0,0,0,1,1,1,1", 1, "length is 2"),
            ("0,12000000,0,0,0,0,0,1", 1, "metres"),
        ] {
            let error = Motion::parse(text.as_bytes()).unwrap_err();
            assert!(
                matches!(&error, DeviceError::BadMotion { line: l, .. } if *l == line),
                "{text}: {error}"
            );
            assert!(error.to_string().contains(word), "{text}: {error}");
        }
        assert!(Motion::parse(b"0,0,0,0,0,0,0,1\n\xff\xfe").is_err());
        let motion = Motion::parse(b"0,0,0,0,0,0,0,1").unwrap();
        assert!(Replay::new(motion, 0.0, End::Hold, DeviceLimits::SIGMA7).is_err());
    }

    #[test]
    fn what_is_recorded_is_played_bit_for_bit() {
        let mut recorder = Recorder::new();
        let pose = |i: u32| {
            let x = f64::from(i);
            Pose::new(turn::rotation(DVec3::new(0.1 * x, 0.3, -0.01 * x)), DVec3::new(x / 3.0, 1e-9 * x, -x))
        };
        for i in 0..100 {
            assert!(recorder.push(f64::from(i) * 0.1, &pose(i)));
        }
        assert!(!recorder.push(3.0, &pose(1)), "time goes on");
        assert!(!recorder.push(99.0, &Pose::from_translation(DVec3::NAN)));
        assert!(!recorder.push(f64::NAN, &pose(1)) && !recorder.push(f64::INFINITY, &pose(1)));
        let mut bytes = vec![];
        recorder.write_to(&mut bytes).unwrap();
        let motion = Motion::parse(&bytes).unwrap();
        assert_eq!(motion.len(), 100);
        for i in 0..100 {
            let (time, told) = motion.samples[i as usize];
            assert_eq!(time, f64::from(i) * 0.1);
            assert_eq!(told.translation, pose(i).translation);
            assert!(turn::between(told.rotation, pose(i).rotation).length() < 1e-15);
        }
    }
}
