//! Steps as frames that are drawn.

use super::{Found, Row, Run, Scene};
use glam::Vec3;
use palpate::soft::{Meeting, Pairs, SoftContact, SoftMesh, meeting};
use palpate_view::deforming::{Curve, Deforming, DeformingFrame, DeformingMesh, DeformingState, Unit};
use palpate_view::image::Rgb;
use palpate_view::recording::{Frame, MARKS, Mark};

/// Steps that are shown in a second [Hz].
pub(super) const RATE: f64 = 60.0;
/// Colours of the two: neither is near that of triangles that meet.
const COLOURS: [Rgb; 2] = [[92, 146, 214], [122, 178, 150]];

/// The triangles of one side of pairs, sorted, each once.
pub(super) fn triangles(pairs: &Pairs, side: usize) -> Vec<u32> {
    let mut out: Vec<u32> = pairs.list.iter().map(|p| p[side]).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Both sides of pairs of one mesh.
fn both(pairs: &Pairs) -> Vec<u32> {
    let mut out: Vec<u32> = pairs.list.iter().flatten().copied().collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// What two triangles have in common, as segments: a point has twice the same end, an area its border.
fn segments(common: &Meeting, out: &mut Vec<[Vec3; 2]>) {
    let points: Vec<Vec3> = common.points().iter().map(|p| p.as_vec3()).collect();
    match points[..] {
        [] => {}
        [p] => out.push([p, p]),
        [p, q] => out.push([p, q]),
        _ => {
            let next = points.iter().cycle().skip(1);
            out.extend(points.iter().zip(next).map(|(p, q)| [*p, *q]));
        }
    }
}

/// A step as it is drawn. `shown` counts the triangles that are off in the frame before.
pub(super) fn frame(
    scene: &Scene,
    meshes: &[SoftMesh; 2],
    found: &Found,
    row: &Row,
    shown: &mut [usize; 2],
) -> DeformingFrame {
    let state = |i: usize| DeformingState {
        positions: meshes[i].positions().iter().map(|p| p.as_vec3()).collect(),
        hits: triangles(&found.pairs[0], i),
        own: both(&found.pairs[1 + i]),
        switched: scene.off(i, row.step).get(shown[i]..).unwrap_or_default().to_vec(),
    };
    let states = vec![state(0), state(1)];
    *shown = row.off;
    let mut all = Vec::new();
    let [a, b] = meshes;
    for (k, [x, y]) in [[a, b], [a, a], [b, b]].into_iter().enumerate() {
        if !found.contacts[k].is_empty() {
            found.contacts[k].iter().for_each(|c| segments(&c.meeting, &mut all));
            continue;
        }
        for [s, t] in &found.pairs[k].list {
            if let (Some(s), Some(t)) = (x.corners(*s), y.corners(*t))
                && let Some(common) = meeting(&s, &t)
            {
                segments(&common, &mut all);
            }
        }
    }
    let mark = |c: &SoftContact| Mark { point: c.point, normal: c.normal, depth: c.depth };
    let marks: Vec<Mark> = found.contacts.iter().flatten().map(mark).collect();
    let mut some = Frame::default();
    some.keep(&marks, MARKS);
    DeformingFrame {
        step: row.step as u32,
        time: row.step as f64 / RATE,
        states,
        pairs: u32::try_from(row.all()).unwrap_or(u32::MAX),
        segments: all,
        marks: some.marks,
    }
}

/// All frames of a run with what is drawn below them. Of steps between two frames the slowest counts.
pub(crate) fn deforming(scene: &Scene, run: &mut Run, title: &str, command: &str) -> Deforming {
    let frames = std::mem::take(&mut run.frames);
    let mesh = |i: usize| DeformingMesh {
        name: scene.parts[i].title.clone(),
        colour: COLOURS[i],
        vertices: scene.parts[i].rest.len(),
        triangles: scene.parts[i].triangles.clone(),
    };
    let mut before = 0;
    let stretch: Vec<&[Row]> = frames
        .iter()
        .map(|f| {
            let from = std::mem::replace(&mut before, f.step as usize + 1);
            run.rows.get(from..=f.step as usize).unwrap_or_default()
        })
        .collect();
    let curve = |name: &str, unit: Unit, of: fn(&[Row]) -> f64| {
        let values: Vec<f64> = stretch.iter().map(|rows| of(rows)).collect();
        Curve { name: name.into(), unit, values }
    };
    let mut curves = vec![
        curve("Pairs", Unit::Count, |rows| rows.last().map_or(0.0, |r| r.all() as f64)),
        curve("Search time", Unit::Time, |rows| rows.iter().map(|r| r.us[1] + r.us[2]).fold(0.0, f64::max)),
        curve("Middles apart", Unit::Length, |rows| rows.last().map_or(0.0, |r| r.apart.abs())),
    ];
    if run.rows.iter().any(|r| r.deepest > 0.0) {
        curves.push(curve("Deepest pair", Unit::Length, |rows| rows.last().map_or(0.0, |r| r.deepest)));
    }
    Deforming {
        title: title.to_owned(),
        command: command.to_owned(),
        up: glam::DVec3::Z,
        meshes: vec![mesh(0), mesh(1)],
        frames,
        curves,
    }
}
