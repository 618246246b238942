//! A page that plays a probe on a scan: one file, no network.
//!
//! Positions are relative to the middle of the scan, so that geo-referenced scans lose nothing: points in 16 bits of their box, the
//! probe in single precision.

use super::{NEAREST, PROBE, PROXY, ProbeStep, Probing, picture};
use crate::chart::escape;
use crate::image::Rgb;
use crate::recording::Mark;
use crate::stage::{Blob, PageParams, STILL, Stage, around, in_box, list, quoted};
use crate::units;
use glam::{DVec3, Vec3};
use palpate::mesh::samples;

/// Steps on a page that can be played, at most: 110 bytes each.
const MAX_FRAMES: usize = 6000;
/// Places of the path that is drawn, at most.
const MAX_PATH: usize = 40_000;
/// Radius of the ball that is the probe, over that of the scan \[1\]; that of the nearest point is smaller.
const BALL: f64 = 0.013;
const SMALL: f64 = 0.6;
/// How far below the scan the ground is drawn, over its radius \[1\].
const BELOW: f64 = 0.15;
/// Colour of the scan in the list of what is shown.
const SCAN: Rgb = [150, 168, 184];

/// The page that plays `probing`. One without steps gives a page that says so.
///
/// Size: about 16 bytes a point shown, 150 a step that can be played (at most 6,000 of them, spread evenly; curves then show the largest
/// value of those between), and 60 to 300 kB for the script and the still picture. Cost: one picture.
///
/// # Errors
/// When the picture cannot be encoded.
pub fn page(probing: &Probing, params: &PageParams) -> Result<String, ::png::EncodingError> {
    let mut blob = Blob::default();
    let meta = meta(probing, &mut blob);
    let still = picture(probing, STILL[0], STILL[1]);
    let what = format!("What is this? A probe on a scan by <code>{}</code>.", escape(&probing.command));
    let lead = lead(probing);
    let title = probing.title.as_str();
    Stage { title, lead: &lead, what: &what, still: &still, marks: "force", meta: &meta, blob: &blob }
        .html(params)
}

/// What happened, in a sentence.
fn lead(probing: &Probing) -> String {
    let touching = probing.steps.iter().filter(|s| s.touching).count();
    format!(
        "{} points, {} steps of a probe, {} of them in the box of a point; largest force {} N.",
        units::count(probing.scan.total as u64),
        units::count(probing.steps.len() as u64),
        units::count(touching as u64),
        units::number(probing.most_force())
    )
}

/// At most `most` of `n` numbers, evenly, with both ends.
fn even(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    (0..most).map(|k| (k as u128 * (n as u128 - 1) / (most as u128 - 1)) as usize).collect()
}

fn finite(p: DVec3) -> DVec3 {
    if p.is_finite() { p } else { DVec3::ZERO }
}

/// Everything but the arrays, as JSON; the arrays go to `blob`.
pub(super) fn meta(probing: &Probing, blob: &mut Blob) -> String {
    let (steps, origin, radius) = (&probing.steps, probing.origin(), probing.radius());
    let most_force = probing.most_force();
    let chosen = even(steps.len(), MAX_FRAMES);
    let frames: Vec<&ProbeStep> = chosen.iter().map(|i| &steps[*i]).collect();
    let here = |p: DVec3| finite(p - origin);
    let scan = scan_part(probing, blob);
    let balls: Vec<String> = [1.0, 1.0, SMALL].map(|s| ball(s * BALL * radius, blob)).to_vec();
    let has_proxy = steps.iter().any(|s| s.proxy.is_some());
    let colour = |[r, g, b]: Rgb| format!("[{r},{g},{b}]");
    let mut bodies = vec![
        (probing.scan.name.as_str(), 0, SCAN),
        ("probe", 1, PROBE),
        ("nearest point", 3, NEAREST),
        ("proxy", 2, PROXY),
    ];
    if !has_proxy {
        bodies.pop();
    }
    let places = |s: &ProbeStep| {
        let mut all = vec![here(s.scan.translation), here(s.probe), here(s.nearest.unwrap_or(s.probe))];
        if has_proxy {
            all.push(here(s.proxy.unwrap_or(s.probe)));
        }
        all
    };
    let times = blob.floats(frames.iter().map(|s| s.time));
    let places = blob.floats(frames.iter().flat_map(|s| places(s)).flat_map(|p| p.to_array()));
    let small = |x: f64| ((x.clamp(-1.0, 1.0) * 32767.0).round() as i16).to_le_bytes();
    let turn = |s: &ProbeStep| {
        let mut all = [0.0, 0.0, 0.0, 1.0].repeat(bodies.len());
        let q = s.scan.rotation;
        all[..4].copy_from_slice(&if q.is_finite() { q.to_array() } else { [0.0, 0.0, 0.0, 1.0] });
        all
    };
    let turns = blob.add(frames.iter().flat_map(|s| turn(s)).flat_map(small));
    // 1: in a box, 2: pushed, 3: both.
    let pushed = |s: &ProbeStep| s.force != DVec3::ZERO;
    let contacts = blob.numbers(frames.iter().map(|s| u32::from(s.touching) + 2 * u32::from(pushed(s))));
    // The arrow of a force: as long as the force, over the largest.
    let arrows: Vec<Vec<Mark>> = frames
        .iter()
        .map(|s| {
            let force = finite(s.force);
            let point = here(s.proxy.or(s.nearest).unwrap_or(s.probe));
            let mark = Mark { point, normal: force / most_force, depth: force.length() };
            if force.length() > 0.0 { vec![mark] } else { Vec::new() }
        })
        .collect();
    let marks = blob.marks(&arrows);
    let charts = charts(probing, &chosen, blob);
    let path = path(probing, &chosen, blob);
    let numbers = blob.numbers(frames.iter().map(|s| s.step));
    let bodies: Vec<String> = bodies
        .iter()
        .map(|(name, part, c)| {
            format!("{{\"name\":{},\"part\":{part},\"colour\":{}}}", quoted(name), colour(*c))
        })
        .collect();
    let below = lowest(probing) - BELOW * radius;
    format!(
        "{{\"frames\":{},\"up\":{},\"parts\":[{scan},{}],\"bodies\":[{}],\
         \"ground\":{{\"kind\":\"plane\",\"point\":{},\"normal\":{}}},\"times\":{times},\"places\":{places},\"turns\":{turns},\
         \"contacts\":{contacts},\"marks\":{marks},\"charts\":[{charts}],\"probe\":{{\"quarters\":{},\"steps\":{numbers},{path}}}}}",
        frames.len(),
        list(probing.up.to_array()),
        balls.join(","),
        bodies.join(","),
        list((below * probing.up).to_array()),
        list(probing.up.to_array()),
        probing.quarters(),
    )
}

/// The lowest place of the scan in the first step, along up, from the origin \[m\].
fn lowest(probing: &Probing) -> f64 {
    let turn = probing.steps.first().map(|s| s.scan.rotation).unwrap_or_default();
    let up = turn.inverse() * probing.up;
    let low = probing.scan.points.iter().map(|p| p.as_dvec3().dot(up)).fold(f64::INFINITY, f64::min);
    if low.is_finite() { low } else { 0.0 }
}

/// The points, as a part without triangles.
fn scan_part(probing: &Probing, blob: &mut Blob) -> String {
    let points = &probing.scan.points;
    let aabb = around(points.iter().map(|p| p.as_dvec3()));
    let positions = blob.add(points.iter().flat_map(|p| in_box(p.as_dvec3(), aabb)));
    let byte = |x: f32| ((x.clamp(-1.0, 1.0) * 127.0).round() as i8).to_le_bytes();
    let padded = |n: &Vec3| [n.x, n.y, n.z, 0.0];
    let normals = blob.add(probing.point_normals().iter().flat_map(padded).flat_map(byte));
    let colours = blob.add(probing.point_colours().iter().flat_map(|[r, g, b]| [*r, *g, *b, 255]));
    format!(
        "{{\"name\":{},\"points\":true,\"spacing\":{},\"vertices\":{},\"triangles\":0,\"min\":{},\"size\":{},\
         \"positions\":{positions},\"normals\":{normals},\"colours\":{colours}}}",
        quoted(&probing.scan.name),
        list([probing.scan.spacing]).trim_matches(['[', ']']),
        points.len(),
        list(aabb.min.to_array()),
        list(aabb.extent().to_array())
    )
}

/// A ball as a part.
fn ball(radius: f64, blob: &mut Blob) -> String {
    let mesh = samples::sphere(radius, 2);
    let aabb = around(mesh.positions.iter().copied());
    let positions = blob.add(mesh.positions.iter().flat_map(|p| in_box(*p, aabb)));
    let (indices, wide) = blob.triangles(&mesh.triangles, mesh.positions.len());
    format!(
        "{{\"name\":\"ball\",\"vertices\":{},\"triangles\":{},\"min\":{},\"size\":{},\"positions\":{positions},\
         \"indices\":{indices},\"wide\":{wide},\"colours\":-1}}",
        mesh.positions.len(),
        mesh.triangles.len(),
        list(aabb.min.to_array()),
        list(aabb.extent().to_array())
    )
}

/// The way of the probe: places, colours, and the place of each frame.
fn path(probing: &Probing, chosen: &[usize], blob: &mut Blob) -> String {
    let (steps, origin, most) = (&probing.steps, probing.origin(), probing.most_force());
    let shown = even(steps.len(), MAX_PATH);
    let places = blob.floats(shown.iter().flat_map(|i| finite(steps[*i].probe - origin).to_array()));
    let colours = blob.add(shown.iter().flat_map(|i| {
        let [r, g, b] = probing.path_colour(&steps[*i], most);
        [r, g, b, 255]
    }));
    let at = blob.numbers(chosen.iter().map(|i| shown.partition_point(|s| s < i) as u32));
    format!("\"path\":{{\"n\":{},\"places\":{places},\"colours\":{colours},\"at\":{at}}}", shown.len())
}

/// The curves below the view. Of steps that were left out the largest values still count.
fn charts(probing: &Probing, chosen: &[usize], blob: &mut Blob) -> String {
    let most = |k: usize, of: fn(&ProbeStep) -> f64| {
        let from = if k == 0 { 0 } else { chosen[k - 1] + 1 };
        let all = probing.steps[from..=chosen[k]].iter().map(of);
        all.filter(|x| x.is_finite()).fold(0.0, f64::max)
    };
    let mut chart = |name: &str, format: &str, of: fn(&ProbeStep) -> f64| {
        let at = blob.floats((0..chosen.len()).map(|k| most(k, of)));
        format!("{{\"name\":{},\"format\":{},\"at\":{at}}}", quoted(name), quoted(format))
    };
    let all = [
        chart("Nearest point", "length", |s| s.nearest.map_or(0.0, |n| n.distance(s.probe))),
        chart("Force", "force", |s| s.force.length()),
        chart("Depth", "length", |s| s.depth),
        chart("Time of a step", "time", |s| s.us),
    ];
    all.join(",")
}
