//! A page that plays a recording in 3D: one file, no network.
//!
//! The page holds the script in `web/` and the recording's numbers as base64 of little-endian arrays: corners of parts in 16 bits of
//! their box, rotations in 16 bits, at most 60 frames a second; the page interpolates between them.

use crate::chart::escape;
use crate::recording::{Frame, Ground, MARKS, Mark, Recording, RecordingError};
use crate::stage::{Blob, STILL, Stage, around, in_box, list, quoted};
use crate::{strip, units};
use glam::{DVec3, Vec3};

pub use crate::stage::PageParams;

/// Frames a second of simulated time on the page \[Hz\]. More: a larger page that looks the same.
const RATE: f64 = 60.0;
/// Frames on a page at most.
const MAX_FRAMES: usize = 6000;
/// Poses on a page at most, 20 bytes each: many bodies make do with fewer frames, long motions with fewer a second.
const MAX_POSES: usize = 100_000;
/// Contacts on a page at most, 13 bytes each.
const MAX_MARKS: usize = 50_000;
/// Heights of a sheet on a page at most, 2 bytes each: finer sheets are drawn with fewer points.
const MAX_HEIGHTS: usize = 5_000_000;

/// Which frames a page shows.
fn thinned(recording: &Recording) -> Vec<usize> {
    let frames = &recording.frames;
    let Some(first) = frames.first() else { return Vec::new() };
    let span = recording.seconds() - first.time;
    let most = MAX_FRAMES.min(MAX_POSES / recording.bodies.len().max(1)).max(2);
    let wanted = ((span * RATE).ceil().min(1e9) as usize + 1).min(most).max(2);
    if frames.len() <= wanted {
        return (0..frames.len()).collect();
    }
    let mut out: Vec<usize> = Vec::with_capacity(wanted);
    for k in 0..wanted {
        let time = first.time + span * k as f64 / (wanted - 1) as f64;
        let after = frames.partition_point(|f| f.time < time).min(frames.len() - 1);
        let before = after.saturating_sub(1);
        let near = if time - frames[before].time < frames[after].time - time { before } else { after };
        if out.last().is_none_or(|l| *l < near) {
            out.push(near);
        }
    }
    out
}

/// The page that plays `recording`. A recording without frames gives a page that says so.
///
/// Size: about 16 bytes a triangle of each part, 27 a pose, 18 a contact, 3 a height of a sheet (all after base64), and 60 to 300 kB for the script and the
/// still picture. Cost: one picture.
///
/// # Errors
/// Of [`Recording::check`], or when the picture cannot be encoded.
pub fn page(recording: &Recording, params: &PageParams) -> Result<String, RecordingError> {
    recording.check()?;
    let chosen = thinned(recording);
    let mut blob = Blob::default();
    let meta = meta(recording, &chosen, &mut blob);
    let still = strip::picture(recording, 0, STILL[0], STILL[1], true);
    let what = format!(
        "What is this? A recording by <code>{}</code>, engine {}, {} steps a second.",
        escape(&recording.about.command),
        escape(&recording.about.engine),
        units::number(recording.about.rate)
    );
    let lead = lead(recording);
    let (title, marks) = (recording.about.title.as_str(), "contacts");
    Ok(Stage { title, lead: &lead, what: &what, still: &still, marks, meta: &meta, blob: &blob }
        .html(params)?)
}

/// What was recorded, in a sentence.
fn lead(recording: &Recording) -> String {
    let bodies = recording.bodies.len();
    let deepest = recording.frames.iter().map(|f| f.deepest).fold(0.0, f64::max);
    format!(
        "{} {}, {} of motion in {} frames, deepest penetration {}.",
        units::count(bodies as u64),
        if bodies == 1 { "body" } else { "bodies" },
        units::seconds(recording.seconds()),
        units::count(recording.frames.len() as u64),
        units::length(deepest)
    )
}

/// Everything but the arrays, as JSON; the arrays go to `blob`.
fn meta(recording: &Recording, chosen: &[usize], blob: &mut Blob) -> String {
    let origin = recording.origin;
    let here = |p: DVec3| (p - origin).to_array();
    let mut parts = Vec::new();
    for part in &recording.parts {
        let aabb = around(part.positions.iter().map(|p: &Vec3| p.as_dvec3()));
        let positions = blob.add(part.positions.iter().flat_map(|p| in_box(p.as_dvec3(), aabb)));
        let (indices, wide) = blob.triangles(&part.triangles, part.positions.len());
        let colours = if part.colours.is_empty() {
            -1
        } else {
            blob.add(part.colours.iter().flatten().copied()) as i64
        };
        parts.push(format!(
            "{{\"name\":{},\"vertices\":{},\"triangles\":{},\"min\":{},\"size\":{},\"positions\":{positions},\
             \"indices\":{indices},\"wide\":{wide},\"colours\":{colours}}}",
            quoted(&part.name),
            part.positions.len(),
            part.triangles.len(),
            list(aabb.min.to_array()),
            list(aabb.extent().to_array())
        ));
    }
    let bodies: Vec<String> = recording
        .bodies
        .iter()
        .map(|b| {
            let [r, g, bl] = b.colour;
            format!("{{\"name\":{},\"part\":{},\"colour\":[{r},{g},{bl}]}}", quoted(&b.name), b.part)
        })
        .collect();
    let frames: Vec<&Frame> = chosen.iter().map(|i| &recording.frames[*i]).collect();
    let ground = match recording.ground {
        Ground::Nothing => "{\"kind\":\"none\"}".to_owned(),
        Ground::Plane { point, normal } => {
            format!(
                "{{\"kind\":\"plane\",\"point\":{},\"normal\":{}}}",
                list(here(point)),
                list(normal.to_array())
            )
        }
        Ground::Cuboid { aabb } => {
            format!("{{\"kind\":\"box\",\"min\":{},\"max\":{}}}", list(here(aabb.min)), list(here(aabb.max)))
        }
        Ground::Part { part, pose } => format!(
            "{{\"kind\":\"part\",\"part\":{part},\"at\":{},\"turn\":{}}}",
            list(here(pose.translation)),
            list(pose.rotation.to_array())
        ),
        Ground::Sheet(sheet) => {
            let fits = |step: &u32| {
                *step >= sheet.counts[0].min(sheet.counts[1]) / 2
                    || sheet.thinned(*step).0.points() * frames.len() <= MAX_HEIGHTS
            };
            let (sheet, points) = sheet.thinned((1..).find(fits).unwrap_or(1));
            let heights = frames.iter().flat_map(|f| points.iter().map(|i| f.heights[*i]));
            let heights = blob.add(heights.flat_map(u16::to_le_bytes));
            format!(
                "{{\"kind\":\"sheet\",\"corner\":{},\"edges\":[{},{}],\"counts\":[{},{}],\"range\":{},\"heights\":{heights}}}",
                list(here(sheet.corner)),
                list(sheet.edges[0].to_array()),
                list(sheet.edges[1].to_array()),
                sheet.counts[0],
                sheet.counts[1],
                list(sheet.range)
            )
        }
    };
    let times = blob.floats(frames.iter().map(|f| f.time));
    let states = || frames.iter().flat_map(|f| &f.bodies);
    let places = blob.floats(states().flat_map(|s| here(s.pose.translation)));
    let small = |x: f64| ((x.clamp(-1.0, 1.0) * 32767.0).round() as i16).to_le_bytes();
    let turns = blob.add(states().flat_map(|s| s.pose.rotation.to_array()).flat_map(small));
    let contacts = blob.numbers(frames.iter().map(|f| f.contacts));
    let marks = marks(&frames, origin, blob);
    let charts = charts(recording, chosen, blob);
    format!(
        "{{\"frames\":{},\"up\":{},\"parts\":[{}],\"bodies\":[{}],\"ground\":{ground},\
         \"times\":{times},\"places\":{places},\"turns\":{turns},\"contacts\":{contacts},\"marks\":{marks},\"charts\":[{charts}]}}",
        frames.len(),
        list(recording.up.to_array()),
        parts.join(","),
        bodies.join(",")
    )
}

/// The contacts of all frames.
fn marks(frames: &[&Frame], origin: DVec3, blob: &mut Blob) -> String {
    let limit = MARKS.min(MAX_MARKS / frames.len().max(1)).max(4);
    let short = |f: &&Frame| {
        let mut short = Frame::default();
        short.keep(&f.marks, limit);
        short.marks.iter_mut().for_each(|m| m.point -= origin);
        short.marks
    };
    let kept: Vec<Vec<Mark>> = frames.iter().map(short).collect();
    blob.marks(&kept)
}

/// The curves below the view. Of frames that were left out the deepest and the slowest still count.
fn charts(recording: &Recording, chosen: &[usize], blob: &mut Blob) -> String {
    let stretch = |k: usize| {
        let from = if k == 0 { 0 } else { chosen[k - 1] + 1 };
        &recording.frames[from..=chosen[k]]
    };
    let here = |k: usize| &recording.frames[chosen[k]];
    let most = |k: usize, of: fn(&Frame) -> f64| stretch(k).iter().map(of).fold(0.0, f64::max);
    let n = chosen.len();
    let time = if recording.frames.iter().any(|f| f.narrow_us > 0.0) {
        ("Narrow phase", "time", blob.floats((0..n).map(|k| most(k, |f| f.narrow_us))))
    } else {
        ("Time of a step", "time", blob.floats((0..n).map(|k| most(k, |f| f.step_us))))
    };
    let curves = [
        ("Penetration", "length", blob.floats((0..n).map(|k| most(k, |f| f.deepest)))),
        ("Kinetic energy", "energy", blob.floats((0..n).map(|k| here(k).kinetic))),
        ("Fastest body", "speed", blob.floats((0..n).map(|k| here(k).speed()))),
        time,
    ];
    let each = curves.map(|(name, format, at)| {
        format!("{{\"name\":{},\"format\":{},\"at\":{at}}}", quoted(name), quoted(format))
    });
    each.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::bouncing;

    #[test]
    fn a_page_is_whole_loads_nothing_and_escapes_names() {
        let mut recording = bouncing(100, 100.0);
        recording.bodies[0].name = "</script><b>".into();
        let rows = vec![("engine".into(), "own <1>".into())];
        let html = page(&recording, &PageParams { rows, warnings: vec!["w < 1".into()] }).unwrap();
        assert!(!html.contains("</script><b>") && html.contains("\\u003c/script\\u003e"));
        assert!(html.contains("own &lt;1&gt;") && html.contains("w &lt; 1"));
        assert_eq!(html.matches("<script").count(), html.matches("</script>").count());
        assert_eq!(html.matches("<script").count(), 3);
        assert!(
            !html.contains("http://") && !html.contains("https://") && html.contains("default-src 'none'")
        );
        recording.up = DVec3::ZERO;
        assert!(page(&recording, &PageParams::default()).is_err());
    }

    #[test]
    fn frames_are_thinned_in_order_with_both_ends() {
        for (n, rate, low, high) in
            [(2401, 240.0, 590, 601), (30, 100.0, 18, 30), (1, 100.0, 1, 1), (50, 10.0, 50, 50)]
        {
            let recording = bouncing(n, rate);
            let chosen = thinned(&recording);
            assert!((low..=high).contains(&chosen.len()), "{n}: {}", chosen.len());
            assert!(chosen.windows(2).all(|w| w[0] < w[1]));
            assert_eq!((chosen.first(), chosen.last()), (Some(&0), Some(&(n - 1))));
        }
        let mut none = bouncing(2, 10.0);
        none.frames.clear();
        assert!(thinned(&none).is_empty());
        assert!(page(&none, &PageParams::default()).unwrap().contains("no WebGL2"));
    }

    #[test]
    fn many_bodies_and_long_motions_stay_small() {
        let mut recording = bouncing(600, 60.0);
        let frame = recording.frames[0].clone();
        recording.bodies = (0..400)
            .map(|i| crate::recording::Body { name: format!("b{i}"), part: 0, colour: [9; 3] })
            .collect();
        for (i, f) in recording.frames.iter_mut().enumerate() {
            f.bodies = (0..400).map(|_| frame.bodies[0]).collect();
            f.time = i as f64;
        }
        let chosen = thinned(&recording);
        assert!(chosen.len() * 400 <= MAX_POSES && chosen.len() > 200, "{}", chosen.len());
        assert!(page(&recording, &PageParams::default()).unwrap().len() < 6_000_000);
    }
}
