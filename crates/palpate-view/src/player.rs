//! A page that plays a recording in 3D: one file, no network.
//!
//! The page holds `web/player.js` and the recording's numbers as base64 of little-endian arrays: corners of parts in 16 bits of
//! their box, rotations in 16 bits, at most 60 frames a second; the page interpolates between them.

use crate::chart::escape;
use crate::html;
use crate::png;
use crate::recording::{Frame, Ground, MARKS, Recording, RecordingError};
use crate::{strip, units};
use glam::{DVec3, Vec3};
use palpate::math::Aabb;
use std::fmt::Write;

const SCRIPT: &str = include_str!("../web/player.js");
const LOOK: &str = include_str!("../web/player.css");

/// Frames a second of simulated time on the page \[Hz\]. More: a larger page that looks the same.
const RATE: f64 = 60.0;
/// Frames on a page at most.
const MAX_FRAMES: usize = 6000;
/// Poses on a page at most, 20 bytes each: many bodies make do with fewer frames, long motions with fewer a second.
const MAX_POSES: usize = 100_000;
/// Contacts on a page at most, 13 bytes each.
const MAX_MARKS: usize = 50_000;
/// Size of the picture for those without WebGL2 \[pixels\].
const STILL: [u32; 2] = [1080, 600];

/// What [`page`] may leave out or say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageParams {
    /// Lines of names and values for the table below the player; empty: no table.
    pub rows: Vec<(String, String)>,
    /// Warnings above it.
    pub warnings: Vec<String>,
}

/// The numbers of a page, one array behind the other, each at a multiple of four.
#[derive(Default)]
struct Blob(Vec<u8>);

impl Blob {
    /// Adds bytes and says where.
    fn add(&mut self, bytes: impl IntoIterator<Item = u8>) -> usize {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        let at = self.0.len();
        self.0.extend(bytes);
        at
    }

    fn floats(&mut self, all: impl IntoIterator<Item = f64>) -> usize {
        self.add(all.into_iter().flat_map(|x| (x as f32).to_le_bytes()))
    }
}

/// Text as JSON; also safe within a script element.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out + "\""
}

/// Numbers as JSON.
fn list(all: impl IntoIterator<Item = f64>) -> String {
    let each: Vec<String> =
        all.into_iter().map(|x| format!("{}", if x.is_finite() { x } else { 0.0 })).collect();
    format!("[{}]", each.join(","))
}

/// Where `p` is in a box, each axis in 16 bits.
fn in_box(p: DVec3, aabb: Aabb) -> impl Iterator<Item = u8> {
    let share = (p - aabb.min) / aabb.extent().max(DVec3::splat(1e-300));
    share.to_array().into_iter().flat_map(|s| ((s.clamp(0.0, 1.0) * 65535.0).round() as u16).to_le_bytes())
}

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
/// Size: about 16 bytes a triangle of each part, 27 a pose, 18 a contact (all after base64), and 60 to 300 kB for the script and the
/// still picture. Cost: one picture.
///
/// # Errors
/// Of [`Recording::check`], or when the picture cannot be encoded.
pub fn page(recording: &Recording, params: &PageParams) -> Result<String, RecordingError> {
    recording.check()?;
    let chosen = thinned(recording);
    let mut blob = Blob::default();
    let meta = meta(recording, &chosen, &mut blob);
    let still = html::base64(&png::encode(&strip::picture(recording, 0, STILL[0], STILL[1], true))?);
    let data = html::base64(&blob.0);
    let title = escape(&recording.about.title);
    let mut body = format!("<h1>{title}</h1>\n");
    let _ = writeln!(body, "<p class=\"lead\">{}</p>", escape(&lead(recording)));
    let _ = write!(
        body,
        "<div class=\"player\"><div class=\"stage\"><img class=\"still\" id=\"still\" alt=\"The first frame\" \
         src=\"data:image/png;base64,{still}\"><canvas id=\"view\" tabindex=\"0\" aria-label=\"3D view of the motion\"></canvas>\
         <div class=\"hud\"><b id=\"clock\"></b><br><span id=\"touch\"></span></div><div class=\"scale\" id=\"scale\"></div>\
         <p class=\"note\" id=\"note\" hidden>This browser offers no WebGL2, or nothing was recorded: the picture shows the first \
         frame; the charts work without it.</p><noscript><p class=\"note\">The motion is played by a script in this file; scripts \
         are switched off here.</p></noscript></div>\n{BAR}\n<div class=\"charts\" id=\"charts\"></div>\
         <ul class=\"bodies\" id=\"bodies\"></ul></div>\n"
    );
    let _ = writeln!(
        body,
        "<p class=\"what\">What is this? A recording by <code>{}</code>, engine {}, {} steps a second.</p>",
        escape(&recording.about.command),
        escape(&recording.about.engine),
        units::number(recording.about.rate)
    );
    body.push_str(KEYS);
    if !params.warnings.is_empty() || !params.rows.is_empty() {
        let mut more = html::Page::new("");
        if !params.warnings.is_empty() {
            more.section("To know");
            more.warnings(&params.warnings, "");
        }
        if !params.rows.is_empty() {
            more.section("Figures");
            more.key_values(&[("The whole motion", params.rows.clone())]);
        }
        body.push_str(more.body_after_heading());
    }
    let _ = write!(
        body,
        "<script type=\"application/json\" id=\"meta\">{meta}</script>\n\
         <script type=\"text/plain\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n"
    );
    Ok(html::whole(&recording.about.title, LOOK, "script-src 'unsafe-inline'; ", &body))
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
        let aabb = Aabb::of_points(part.positions.iter().map(|p: &Vec3| p.as_dvec3()));
        let aabb = if part.positions.is_empty() { Aabb { min: DVec3::ZERO, max: DVec3::ZERO } } else { aabb };
        let positions = blob.add(part.positions.iter().flat_map(|p| in_box(p.as_dvec3(), aabb)));
        let wide = part.positions.len() > 1 << 16;
        let flat = part.triangles.iter().flatten();
        let indices = if wide {
            blob.add(flat.flat_map(|v| v.to_le_bytes()))
        } else {
            blob.add(flat.flat_map(|v| (*v as u16).to_le_bytes()))
        };
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
    };
    let frames: Vec<&Frame> = chosen.iter().map(|i| &recording.frames[*i]).collect();
    let times = blob.floats(frames.iter().map(|f| f.time));
    let states = || frames.iter().flat_map(|f| &f.bodies);
    let places = blob.floats(states().flat_map(|s| here(s.pose.translation)));
    let small = |x: f64| ((x.clamp(-1.0, 1.0) * 32767.0).round() as i16).to_le_bytes();
    let turns = blob.add(states().flat_map(|s| s.pose.rotation.to_array()).flat_map(small));
    let contacts = blob.add(frames.iter().flat_map(|f| f.contacts.to_le_bytes()));
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

/// The contacts of all frames: where each frame's begin, places in 16 bits of their box, normals in 8 bits, depths.
fn marks(frames: &[&Frame], origin: DVec3, blob: &mut Blob) -> String {
    let limit = MARKS.min(MAX_MARKS / frames.len().max(1)).max(4);
    let kept: Vec<Frame> = frames
        .iter()
        .map(|f| {
            let mut short = Frame::default();
            short.keep(&f.marks, limit);
            short
        })
        .collect();
    let all = || kept.iter().flat_map(|f| &f.marks);
    let aabb = Aabb::of_points(all().map(|m| m.point - origin));
    let aabb = if all().next().is_none() { Aabb { min: DVec3::ZERO, max: DVec3::ZERO } } else { aabb };
    let mut sum = 0_u32;
    let mut firsts = vec![0_u32];
    for frame in &kept {
        sum += frame.marks.len() as u32;
        firsts.push(sum);
    }
    let first = blob.add(firsts.iter().flat_map(|n| n.to_le_bytes()));
    let places = blob.add(all().flat_map(|m| in_box(m.point - origin, aabb)));
    let byte = |x: f64| ((x.clamp(-1.0, 1.0) * 127.0).round() as i8).to_le_bytes();
    let normals = blob.add(all().flat_map(|m| m.normal.to_array()).flat_map(byte));
    let depths = blob.floats(all().map(|m| m.depth));
    format!(
        "{{\"first\":{first},\"places\":{places},\"normals\":{normals},\"depths\":{depths},\"min\":{},\"size\":{}}}",
        list(aabb.min.to_array()),
        list(aabb.extent().to_array())
    )
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

const BAR: &str = "<div class=\"bar\">\
<button id=\"play\" class=\"main\" aria-label=\"Play\"><svg viewBox=\"0 0 18 18\"><path d=\"M4 2l12 7-12 7z\"/></svg></button>\
<button id=\"back\" aria-label=\"One frame back\"><svg viewBox=\"0 0 18 18\"><path d=\"M12 3v12L4 9zM13 3h2v12h-2z\"/></svg></button>\
<button id=\"ahead\" aria-label=\"One frame ahead\"><svg viewBox=\"0 0 18 18\"><path d=\"M6 3v12l8-6zM3 3h2v12H3z\"/></svg></button>\
<input id=\"slider\" type=\"range\" aria-label=\"Time\" value=\"0\">\
<select id=\"speed\" aria-label=\"Speed\"><option value=\"0.02\">1/50</option><option value=\"0.1\">1/10</option>\
<option value=\"0.25\">1/4</option><option value=\"0.5\">1/2</option><option value=\"1\" selected>1 x</option>\
<option value=\"2\">2 x</option><option value=\"4\">4 x</option></select>\
<label><input type=\"checkbox\" id=\"contacts\" checked>contacts</label>\
<label><input type=\"checkbox\" id=\"follow\">follow</label>\
<button id=\"reset\">whole view</button></div>";

const KEYS: &str = "<p class=\"keys\">Drag to turn, with shift or two fingers to move, wheel or pinch to come nearer, double click for the \
whole view; drag a chart to go to a time. <kbd>space</kbd> plays, <kbd>left</kbd> <kbd>right</kbd> step, <kbd>up</kbd> <kbd>down</kbd> \
change the speed, <kbd>c</kbd> contacts, <kbd>f</kbd> follow.</p>\n";

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
