//! Where the probe goes: from a file, or over the scan by itself.

use super::scan::Scan;
use anyhow::{Context, Result, bail};
use core::f64::consts::TAU;
use glam::DVec3;
use palpate::Pose;
use palpate::cloud::Cloud;
use palpate::math::Aabb;

/// Steps of the path that the program makes.
const STEPS: usize = 6000;
/// Highest and lowest place of that path over the surface, over the wider side of the scan [1]: 1 cm and -5 cm on the waves of the paper.
const DIPS: (f64, f64) = (0.004, -0.02);
/// Dips of that path, and how often it swings along each side.
const DIP_COUNT: f64 = 14.0;
const SWINGS: [f64; 2] = [2.0, 3.0];
/// How high it begins above that, over the same [1], and steps until it is down: a proxy must begin outside.
const BEGIN: f64 = 0.04;
const DOWN: f64 = 240.0;
/// Share of the sides that it covers [1].
const REACH: f64 = 0.44;
/// Most looks on the way down to the surface.
const LOOKS: usize = 200;
/// Steps over which heights are evened out, to each side.
const EVEN: usize = 12;

/// Where the probe is, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop {
    /// [s]
    pub(crate) time: f64,
    /// In the world's frame [m].
    pub(crate) place: DVec3,
}

/// A path from text: `x,y,z` or `x,y,z,time` a line, metres and seconds; a first line of names, blank lines and lines that start with
/// `#` are skipped. Without times there are `rate` steps a second.
///
/// # Errors
/// Names the source, the line and the value that is wrong.
pub(crate) fn parse(text: &str, source: &str, rate: f64) -> Result<Vec<Stop>> {
    let mut out: Vec<Stop> = Vec::new();
    let mut columns = 0;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}').trim();
        // Names, also of times, begin with a letter; so do nan and inf, which are wrong numbers and not names.
        let first = line.split([',', ';', ' ', '\t']).next().unwrap_or_default().trim_matches('"');
        let names = out.is_empty()
            && first.starts_with(|c: char| c.is_ascii_alphabetic())
            && first.parse::<f64>().is_err();
        if line.is_empty() || line.starts_with('#') || names {
            continue;
        }
        let stop = stop(line, &mut columns, out.len() as f64 / rate)
            .with_context(|| format!("{source}, line {}", i + 1))?;
        if let Some(last) = out.last()
            && stop.time <= last.time
        {
            bail!(
                "{source}, line {}: time {} is not after {} of the line before",
                i + 1,
                stop.time,
                last.time
            );
        }
        out.push(stop);
    }
    if out.is_empty() {
        bail!("{source} has no places; write one x,y,z a line, in metres, or x,y,z,time");
    }
    Ok(out)
}

fn stop(line: &str, columns: &mut usize, time: f64) -> Result<Stop> {
    let fields: Vec<&str> = if line.contains([',', ';']) {
        line.split([',', ';']).map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    let short = |text: &str| text.chars().take(40).collect::<String>();
    if !(3..=4).contains(&fields.len()) || (*columns > 0 && fields.len() != *columns) {
        let wanted = if *columns > 0 { columns.to_string() } else { "3 or 4".to_owned() };
        bail!(
            "{} values instead of {wanted} in \"{}\"; write x,y,z or x,y,z,time",
            fields.len(),
            short(line)
        );
    }
    *columns = fields.len();
    let mut values = [0.0, 0.0, 0.0, time];
    for (i, (field, value)) in fields.iter().zip(&mut values).enumerate() {
        let name = ["x", "y", "z", "time"][i];
        match field.parse::<f64>() {
            Ok(v) if v.is_finite() => *value = v,
            Ok(v) => bail!("column {} ({name}): {v} is not a finite number", i + 1),
            Err(_) => bail!("column {} ({name}): \"{}\" is not a number", i + 1, short(field)),
        }
    }
    let [x, y, z, time] = values;
    Ok(Stop { time, place: DVec3::new(x, y, z) })
}

/// A path that swings over the scan from side to side and dips into it, seen from above; `rate` steps a second.
pub(crate) fn demonstration(scan: &Scan, up: DVec3, w_from_m: &Pose, rate: f64) -> Vec<Stop> {
    let aabb = Aabb::of_points(scan.raw.points.iter().copied().filter(|p| p.is_finite()));
    let (middle, extent) = (aabb.centre(), aabb.extent());
    // The two axes that are not up.
    let axis = if up.x.abs() > 0.5 {
        0
    } else if up.y.abs() > 0.5 {
        1
    } else {
        2
    };
    let sides = [(axis + 1) % 3, (axis + 2) % 3];
    let wide = extent[sides[0]].max(extent[sides[1]]);
    // A scan on a line that goes up has no sides; one point has nothing.
    let size = [wide, extent[axis], 1.0].into_iter().find(|x| *x > 0.0).unwrap_or(1.0);
    let over = |k: usize| {
        let t = k as f64 / STEPS as f64;
        let mut p = middle;
        for (side, (swings, phase)) in sides.into_iter().zip(SWINGS.into_iter().zip([0.0, 0.9])) {
            p[side] += REACH * extent[side] * (TAU * swings * t + phase).sin();
        }
        p
    };
    let heights: Vec<Option<f64>> =
        palpate::par::map(STEPS, |k| surface_below(&scan.cloud, over(k), axis, &aabb));
    let heights = even(&fill(&heights, aabb.max[axis]));
    (0..STEPS)
        .map(|k| {
            let t = k as f64 / STEPS as f64;
            let dip = 0.5 - 0.5 * (TAU * DIP_COUNT * t).cos();
            let mut p = over(k);
            let begin = BEGIN * (1.0 - k as f64 / DOWN).max(0.0);
            p[axis] = heights[k] + size * (begin + DIPS.0 + (DIPS.1 - DIPS.0) * dip);
            Stop { time: k as f64 / rate, place: w_from_m.point(p) }
        })
        .collect()
}

/// The height of the first point below the top: goes down by the distance to the nearest point until there is one beside.
fn surface_below(cloud: &Cloud, mut p: DVec3, axis: usize, aabb: &Aabb) -> Option<f64> {
    // Points of a grid are at most 0.7 spacings beside a line; random ones are farther.
    let beside = 1.2 * cloud.spacing();
    p[axis] = aabb.max[axis] + beside;
    for _ in 0..LOOKS {
        let near = cloud.nearest(p)?;
        if near.distance <= beside {
            return Some(near.point[axis]);
        }
        p[axis] -= near.distance.max(0.25 * beside);
        if p[axis] < aabb.min[axis] - beside {
            return None;
        }
    }
    None
}

/// Heights where there is no surface: straight from one side of the gap to the other.
fn fill(heights: &[Option<f64>], none: f64) -> Vec<f64> {
    let known: Vec<(usize, f64)> = heights.iter().enumerate().filter_map(|(k, h)| Some((k, (*h)?))).collect();
    let at = |k: usize| {
        let after = known.partition_point(|(i, _)| *i < k);
        match (after.checked_sub(1).and_then(|i| known.get(i)), known.get(after)) {
            (_, Some((j, h))) if *j == k => *h,
            (Some((i, a)), Some((j, b))) => a + (b - a) * (k - i) as f64 / (j - i) as f64,
            (Some((_, h)), None) | (None, Some((_, h))) => *h,
            (None, None) => none,
        }
    };
    (0..heights.len()).map(at).collect()
}

/// Means over some steps to each side, as many to one as to the other, so that slopes stay where they are.
fn even(heights: &[f64]) -> Vec<f64> {
    let n = heights.len();
    let mean = |k: usize| {
        let reach = EVEN.min(k).min(n - 1 - k);
        let around = &heights[k - reach..=k + reach];
        around.iter().sum::<f64>() / around.len() as f64
    };
    (0..n).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_what_is_wrong_with_them() {
        let all = parse("x,y,z\n# c\n\n1,2,3\n-1e-3;0;4.5\n", "p.csv", 500.0).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].time, all[1].time, all[1].place.z), (0.0, 2e-3, 4.5));
        let all = parse("px py pz t\n0 0 0 0.5\n0 0 1 0.75\n", "p.csv", 1.0).unwrap();
        assert_eq!((all[0].time, all[1].time), (0.5, 0.75));
        for (text, words) in [
            ("1,2,3\n1,nan,3", ["line 2", "column 2 (y): NaN"]),
            ("nan,2,3", ["line 1", "column 1 (x): NaN"]),
            ("1,2,3\n1,2,3,4", ["line 2", "4 values instead of 3"]),
            ("1,2\n", ["line 1", "2 values instead of 3 or 4"]),
            ("1,2,3,0\n1,2,3,0", ["line 2", "not after"]),
            ("1,2,z3", ["line 1", "\"z3\" is not a number"]),
            ("x,y,z\n", ["p.csv", "no places"]),
            ("", ["p.csv", "no places"]),
        ] {
            let said = format!("{:#}", parse(text, "p.csv", 1e3).unwrap_err());
            assert!(words.iter().all(|w| said.contains(w)), "{said}");
        }
    }

    #[test]
    fn gaps_are_bridged() {
        assert_eq!(
            fill(&[None, Some(1.0), None, None, Some(4.0), None], 9.0),
            [1.0, 1.0, 2.0, 3.0, 4.0, 4.0]
        );
        assert_eq!(fill(&[None, None], 9.0), [9.0, 9.0]);
        let slope: Vec<f64> = (0..40).map(f64::from).collect();
        assert!(even(&slope).iter().zip(&slope).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
