//! Numbers with units on the command line, and points and poses from CSV text.

use anyhow::{Context, Result, bail};
use glam::{DQuat, DVec3};
use palpate::Pose;
use std::time::Duration;

/// Metres for each unit a length may carry.
const LENGTHS: [(&str, f64); 10] = [
    ("nm", 1e-9),
    ("um", 1e-6),
    ("µm", 1e-6),
    ("μm", 1e-6),
    ("mm", 1e-3),
    ("cm", 1e-2),
    ("km", 1e3),
    ("in", 0.0254),
    ("ft", 0.3048),
    ("m", 1.0),
];

/// Bytes for each unit a size may carry.
const SIZES: [(&str, f64); 11] = [
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("k", 1024.0),
    ("m", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("b", 1.0),
];

/// Seconds for each unit a time may carry.
const TIMES: [(&str, f64); 6] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("s", 1.0)];

/// What a search may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Points and balls tested.
    Points(usize),
    Time(Duration),
}

/// A number of points, `4000`, or a time, `20us`; 0 is possible.
pub(crate) fn limit(text: &str) -> Result<Limit, String> {
    const HOW: &str = "write a number of points, for example 4000, or a time, for example 20us";
    let text = text.trim();
    let (number, scale) = split(text, &TIMES);
    if number == text {
        return match text.parse::<usize>() {
            Ok(points) => Ok(Limit::Points(points)),
            Err(_) => Err(format!("not a whole number of points of 0 or more; {HOW}")),
        };
    }
    let seconds = number.parse::<f64>().map_err(|_| format!("not a time; {HOW}"))?;
    Duration::try_from_secs_f64(seconds * scale)
        .map(Limit::Time)
        .map_err(|_| format!("not a time of 0 or more that ends; {HOW}"))
}

/// A positive length in metres: `0.5mm`, `20 um`, `1e-3`.
pub(crate) fn length(text: &str) -> Result<f64, String> {
    let (number, scale) = split(text.trim(), &LENGTHS);
    match number.parse::<f64>() {
        Ok(x) if x > 0.0 && (x * scale).is_finite() && x * scale > 0.0 => Ok(x * scale),
        Ok(x) => Err(format!("{x} is not a positive length; write for example 0.5mm")),
        Err(_) => {
            Err("not a length; write a number with m, mm, um, cm, km, in or ft, for example 0.5mm".into())
        }
    }
}

/// A length that may be negative or zero, in metres.
pub(crate) fn signed_length(text: &str) -> Result<f64, String> {
    let text = text.trim();
    match text.strip_prefix('-') {
        _ if text.parse() == Ok(0.0) => Ok(0.0),
        Some(rest) => length(rest).map(|x| -x),
        None => length(text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A length of zero or more, in metres.
pub(crate) fn least_length(text: &str) -> Result<f64, String> {
    match signed_length(text) {
        Ok(x) if x < 0.0 => {
            Err(format!("{text} is negative; write a length of 0 or more, for example 0.5mm"))
        }
        other => other,
    }
}

/// A stiffness: finite and not negative.
pub(crate) fn stiffness(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(k) if k >= 0.0 && k.is_finite() => Ok(k),
        _ => Err("not a stiffness; write a number of 0 or more, for example 1e9".into()),
    }
}

/// Metres per unit of a file: `mm`, `in`, or a number such as `0.001`.
pub(crate) fn unit(text: &str) -> Result<f64, String> {
    let text = text.trim();
    if let Some((_, scale)) = LENGTHS.iter().find(|(name, _)| *name == text) {
        return Ok(*scale);
    }
    length(text)
        .map_err(|_| "not a unit; write m, mm, um, cm, km, in, ft, or metres per unit as a number".into())
}

/// A size in bytes: `2GiB`, `500MB`, `1000000`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, scale) = split(&lower, &SIZES);
    match number.parse::<f64>() {
        Ok(x) if x > 0.0 && x * scale >= 1.0 && x * scale < 1e18 => Ok((x * scale) as u64),
        Ok(x) => Err(format!("{x} is not a size; write for example 2GiB")),
        Err(_) => Err("not a size; write a number with KiB, MiB, GiB, kB, MB or GB, for example 2GiB".into()),
    }
}

/// The number before a unit, and the unit's factor (1 without one).
fn split<'a>(text: &'a str, units: &[(&str, f64)]) -> (&'a str, f64) {
    for (name, scale) in units {
        if let Some(number) = text.strip_suffix(name) {
            return (number.trim_end(), *scale);
        }
    }
    (text, 1.0)
}

/// Points from text: `x,y,z` a line, metres; blank lines and lines that start with `#` are skipped.
///
/// # Errors
/// Names the source, the line and the value that is wrong.
pub(crate) fn points(text: &str, source: &str) -> Result<Vec<DVec3>> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        out.push(point(line).with_context(|| format!("{source}, line {}", i + 1))?);
    }
    if out.is_empty() {
        bail!("{source} has no points; write one x,y,z a line, in metres");
    }
    Ok(out)
}

/// How far the length of a quaternion may be from 1 before that is noted.
const UNIT_SLACK: f64 = 1e-3;

/// A pose and whether its quaternion had to be made unit.
pub(crate) type Read = (Pose, bool);

/// A pose as text: `x y z qx qy qz qw`, or `x y z` without a rotation, separated by blanks or commas. Coordinates are in
/// metres unless a unit follows.
///
/// # Errors
/// Names the place of the value that is wrong.
pub(crate) fn pose(text: &str) -> Result<Read> {
    const NAMES: [&str; 7] = ["x", "y", "z", "qx", "qy", "qz", "qw"];
    let text = text.trim();
    let fields: Vec<&str> = if text.contains(',') {
        text.split(',').map(str::trim).collect()
    } else {
        text.split_whitespace().collect()
    };
    if fields.len() != 3 && fields.len() != 7 {
        bail!(
            "{} values instead of 7 (or 3) in \"{}\"; write x y z qx qy qz qw, or x y z",
            fields.len(),
            shortened(text)
        );
    }
    let mut values = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    for (i, field) in fields.iter().enumerate() {
        let name = NAMES[i];
        let value = match field.parse::<f64>() {
            Ok(v) => v,
            Err(_) if i < 3 && signed_length(field).is_ok() => signed_length(field).unwrap_or(f64::NAN),
            Err(_) => bail!("column {} ({name}): \"{}\" is not a number", i + 1, shortened(field)),
        };
        if !value.is_finite() {
            bail!("column {} ({name}): {value} is not a finite number", i + 1);
        }
        values[i] = value;
    }
    let [x, y, z, qx, qy, qz, qw] = values;
    let q = DQuat::from_xyzw(qx, qy, qz, qw);
    // Scaled first: squares of very small or large numbers leave the range of f64.
    let largest = [qx, qy, qz, qw].iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        bail!("columns 4 to 7: the quaternion 0 0 0 0 is no rotation; write 0 0 0 1 for none");
    }
    let scaled = DQuat::from_xyzw(qx / largest, qy / largest, qz / largest, qw / largest);
    let noted = (q.length() - 1.0).abs() > UNIT_SLACK;
    Ok((Pose::new(scaled, DVec3::new(x, y, z)), noted))
}

/// Poses from text: one a line, as [`pose`] reads them; blank lines, lines that start with `#` and a first line of names
/// are skipped. Also the number of quaternions that were not unit.
///
/// # Errors
/// Names the source, the line, the column and the value that is wrong.
pub(crate) fn poses(text: &str, source: &str) -> Result<(Vec<Pose>, usize)> {
    let (mut out, mut noted) = (Vec::new(), 0);
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}').trim();
        let names =
            out.is_empty() && line.starts_with(['x', 'X', '"']) && line.chars().any(|c| c == 'y' || c == 'Y');
        if line.is_empty() || line.starts_with('#') || names {
            continue;
        }
        let (pose, off) = pose(line).with_context(|| format!("{source}, line {}", i + 1))?;
        out.push(pose);
        noted += usize::from(off);
    }
    if out.is_empty() {
        bail!("{source} has no poses; write one x,y,z,qx,qy,qz,qw a line, in metres");
    }
    Ok((out, noted))
}

fn point(line: &str) -> Result<DVec3> {
    let fields: Vec<&str> = if line.contains(',') {
        line.split(',').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    let [x, y, z] = fields[..] else {
        bail!("{} values instead of 3 in \"{}\"; write x,y,z", fields.len(), shortened(line));
    };
    let number = |text: &str| match text.parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(v),
        Ok(v) => bail!("{v} is not a finite coordinate"),
        Err(_) => bail!("\"{}\" is not a number; write x,y,z without a header", shortened(text)),
    };
    Ok(DVec3::new(number(x)?, number(y)?, number(z)?))
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_sizes() {
        for (text, metres) in [("0.5mm", 5e-4), ("20 um", 2e-5), ("3µm", 3e-6), ("2", 2.0), ("1e-3m", 1e-3)]
        {
            assert!((length(text).unwrap() / metres - 1.0).abs() < 1e-12, "{text}");
        }
        for text in ["", "mm", "0", "-1mm", "nan", "inf", "1 parsec", "1e400"] {
            assert!(length(text).is_err(), "{text}");
        }
        assert_eq!(unit("mm"), Ok(1e-3));
        assert_eq!(unit("0.0254"), Ok(0.0254));
        assert!(unit("bananas").is_err());
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("500 MB"), Ok(500_000_000));
        assert_eq!(bytes("4096"), Ok(4096));
        for text in ["", "-1", "nan", "1e30", "GiB", "2 apples"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_points_or_times() {
        let micros = Duration::from_micros;
        for (text, expected) in [
            ("4000", Limit::Points(4000)),
            ("0", Limit::Points(0)),
            ("20us", Limit::Time(micros(20))),
            ("1.5 ms", Limit::Time(micros(1500))),
            ("3µs", Limit::Time(micros(3))),
            ("0s", Limit::Time(Duration::ZERO)),
        ] {
            assert_eq!(limit(text), Ok(expected), "{text}");
        }
        for text in
            ["", "-1", "nan", "1.5", "1e3", "99999999999999999999999", "s", "nans", "infs", "-1us", "1e30s"]
        {
            let said = limit(text).unwrap_err();
            assert!(said.contains("20us"), "{text}: {said}");
        }
    }

    #[test]
    fn poses_and_what_is_wrong_with_them() {
        let (p, noted) = pose("1 -2mm 3 0 0 0 1").unwrap();
        assert_eq!((p.translation, noted), (DVec3::new(1.0, -2e-3, 3.0), false));
        let (p, noted) = pose("0,0,0,0,0,0,2").unwrap();
        assert_eq!((p, noted), (Pose::IDENTITY, true));
        let (p, _) = pose("0 0 0 0 0 1e-300 1e-300").unwrap();
        assert!(p.is_finite() && (p.rotation.length() - 1.0).abs() < 1e-12);
        assert!(!pose("0 0 0 0 0 0.7071 0.7071").unwrap().1, "usual rounding is not noted");
        assert_eq!(pose("1 2 3").unwrap().0, Pose::from_translation(DVec3::new(1.0, 2.0, 3.0)));
        let (all, noted) = poses("x,y,z,qx,qy,qz,qw\n# c\n\n1,2,3\n0,0,0,0,0,3,0\r\n", "p.csv").unwrap();
        assert_eq!((all.len(), noted), (2, 1));
        for (text, words) in [
            ("0,0,0\n0,0,0,0,0,0,0", ["line 2", "no rotation"]),
            ("0,0,0,0,0,x,1", ["column 6", "qz"]),
            ("0,0,nan", ["column 3", "finite"]),
            ("1,2,3,4", ["4 values", "line 1"]),
            ("\n", ["no poses", "p.csv"]),
        ] {
            let said = format!("{:#}", poses(text, "p.csv").unwrap_err());
            assert!(words.iter().all(|w| said.contains(w)), "{said}");
        }
    }

    #[test]
    fn points_and_what_is_wrong_with_them() {
        let text = "# comment\n1,2,3\r\n\n -1e-3 , 0,4.5\n7 8 9\n";
        let expected = [DVec3::new(1.0, 2.0, 3.0), DVec3::new(-1e-3, 0.0, 4.5), DVec3::new(7.0, 8.0, 9.0)];
        assert_eq!(points(text, "p.csv").unwrap(), expected);
        for (text, expected) in [
            ("1,2,3\n1,2\n", "line 2"),
            ("x,y,z\n", "without a header"),
            ("1,2,nan", "not a finite"),
            ("", "no points"),
            ("1,2,3,4", "4 values"),
        ] {
            let said = format!("{:#}", points(text, "p.csv").unwrap_err());
            assert!(said.contains(expected) && said.contains("p.csv"), "{said}");
        }
    }
}
