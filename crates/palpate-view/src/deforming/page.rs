//! A page that plays meshes that deform: one file, no network.
//!
//! Vertices are kept in 16 bits of the box of the whole motion along each axis: 1/131,072 of its side is the most by which one is off.
//! No frame is made up between two: the triangles that are coloured are those that were found with the vertices that are shown.

use super::{Deforming, DeformingFrame, DeformingState, HOT, OWN, Unit, strip};
use crate::chart::escape;
use crate::image::Rgb;
use crate::recording::RecordingError;
use crate::stage::{Blob, PageParams, STILL, Stage, around, in_box, list, quoted};
use crate::units;

/// How far below the motion the ground is drawn \[its height\].
const BELOW: f64 = 0.12;
/// The page that plays `motion`. One without frames gives a page that says so.
///
/// Size: 8 bytes a vertex and frame, 16 a segment, 5 a coloured triangle and frame (all after base64), 8 to 16 a triangle, and some
/// 100 kB for the script and the still picture. Cost: one picture.
///
/// # Errors
/// Of [`Deforming::check`], or when the picture cannot be encoded.
pub fn page(motion: &Deforming, params: &PageParams) -> Result<String, RecordingError> {
    motion.check()?;
    let mut blob = Blob::default();
    let meta = meta(motion, &mut blob);
    // The frame with most to see.
    let busiest = (0..motion.frames.len()).max_by_key(|i| (motion.frames[*i].pairs, usize::MAX - i));
    let still = strip::picture(motion, busiest.unwrap_or(0), STILL[0], STILL[1]);
    let what = format!("What is this? A motion by <code>{}</code>.", escape(&motion.command));
    let (title, lead) = (motion.title.as_str(), lead(motion));
    let marks = "where they meet";
    Ok(Stage { title, lead: &lead, what: &what, still: &still, marks, meta: &meta, blob: &blob }
        .html(params)?)
}

/// What was recorded, in a sentence.
fn lead(motion: &Deforming) -> String {
    let triangles: usize = motion.meshes.iter().map(|m| m.triangles.len()).sum();
    let most = motion.frames.iter().map(|f| f.pairs).max().unwrap_or(0);
    format!(
        "{} triangles, {} frames; up to {} pairs of triangles meet, each decided exactly.",
        units::count(triangles as u64),
        units::count(motion.frames.len() as u64),
        units::count(u64::from(most))
    )
}

/// Everything but the arrays, as JSON; the arrays go to `blob`.
pub(super) fn meta(motion: &Deforming, blob: &mut Blob) -> String {
    let frames = &motion.frames;
    let states = || frames.iter().flat_map(|f| &f.states);
    let aabb = around(states().flat_map(|s| &s.positions).map(|p| p.as_dvec3()));
    let mut parts = Vec::new();
    for (k, mesh) in motion.meshes.iter().enumerate() {
        let own = || frames.iter().filter_map(|f| f.states.get(k));
        let moving = blob.add(own().flat_map(|s| &s.positions).flat_map(|p| in_box(p.as_dvec3(), aabb)));
        let (indices, wide) = blob.triangles(&mesh.triangles, mesh.vertices);
        let mut lists = |of: fn(&DeformingState) -> &[u32]| {
            let all: Vec<&[u32]> = own().map(of).collect();
            let [first, list] = blob.lists(&all);
            format!("[{first},{list}]")
        };
        let (hits, itself, switched) = (lists(|s| &s.hits), lists(|s| &s.own), lists(|s| &s.switched));
        parts.push(format!(
            "{{\"name\":{},\"vertices\":{},\"triangles\":{},\"moving\":{moving},\"indices\":{indices},\"wide\":{wide},\
             \"hits\":{hits},\"own\":{itself},\"switched\":{switched}}}",
            quoted(&mesh.name),
            mesh.vertices,
            mesh.triangles.len(),
        ));
    }
    let colour = |[r, g, b]: Rgb| format!("[{r},{g},{b}]");
    let body = |(k, m): (usize, &super::DeformingMesh)| {
        format!("{{\"name\":{},\"part\":{k},\"colour\":{}}}", quoted(&m.name), colour(m.colour))
    };
    let bodies: Vec<String> = motion.meshes.iter().enumerate().map(body).collect();
    let times = blob.floats(frames.iter().map(|f| f.time));
    let steps = blob.numbers(frames.iter().map(|f| f.step));
    let contacts = blob.numbers(frames.iter().map(|f| f.pairs));
    let marks: Vec<_> = frames.iter().map(|f| f.marks.clone()).collect();
    let marks = blob.marks(&marks);
    let limit = motion.segment_limit();
    let kept: Vec<Vec<[glam::Vec3; 2]>> = frames.iter().map(|f| some(f, limit)).collect();
    let first = blob.firsts(kept.iter().map(Vec::len));
    let ends = blob.add(kept.iter().flatten().flatten().flat_map(|p| in_box(p.as_dvec3(), aabb)));
    let charts: Vec<String> = motion
        .curves
        .iter()
        .map(|c| {
            let format = match c.unit {
                Unit::Count => "count",
                Unit::Length => "length",
                Unit::Time => "time",
            };
            let at = blob.floats(c.values.iter().copied());
            format!("{{\"name\":{},\"format\":\"{format}\",\"at\":{at}}}", quoted(&c.name))
        })
        .collect();
    let height = aabb.extent().dot(motion.up.abs());
    let below = aabb.centre() - motion.up * ((0.5 + BELOW) * height);
    format!(
        "{{\"frames\":{},\"up\":{},\"parts\":[{}],\"bodies\":[{}],\
         \"ground\":{{\"kind\":\"plane\",\"point\":{},\"normal\":{}}},\
         \"times\":{times},\"contacts\":{contacts},\"marks\":{marks},\"charts\":[{}],\
         \"soft\":{{\"steps\":{steps},\"min\":{},\"size\":{},\"hot\":{},\"own\":{},\
         \"segments\":{{\"first\":{first},\"ends\":{ends}}}}}}}",
        frames.len(),
        list(motion.up.to_array()),
        parts.join(","),
        bodies.join(","),
        list(below.to_array()),
        list(motion.up.to_array()),
        charts.join(","),
        list(aabb.min.to_array()),
        list(aabb.extent().to_array()),
        colour(HOT),
        colour(OWN),
    )
}

/// All segments of a frame, or `limit` of them, evenly spread over the list.
fn some(frame: &DeformingFrame, limit: usize) -> Vec<[glam::Vec3; 2]> {
    let all = &frame.segments;
    if all.len() <= limit {
        return all.clone();
    }
    (0..limit).filter_map(|k| all.get(k * all.len() / limit).copied()).collect()
}
