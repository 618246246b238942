//! Reports in words and in JSON: what a mesh is, what is wrong with it, what a field promises.

use crate::engine::{FieldInfo, MeshInfo, Model, Voxels};
use palpate::math::Aabb;
use palpate::mesh::HoleOutcome;
use palpate_view::units;
use serde_json::{Value, json};

/// Boxes larger or smaller than this are probably in another unit [m].
const LARGEST: f64 = 100.0;
const SMALLEST: f64 = 1e-4;
/// The engine's name for the sign of a surface that encloses nothing.
const UNSIGNED: &str = "unsigned";

/// The mesh for machines; the keys are fixed.
pub(crate) fn mesh_json(info: &MeshInfo) -> Value {
    json!({
        "vertices": info.vertices,
        "triangles": info.triangles,
        "boundary_edges": info.boundary_edges,
        "nonmanifold_edges": info.nonmanifold_edges,
        "duplicate_faces": info.duplicate_faces,
        "degenerate": info.degenerate,
        "flipped_faces": info.flipped_faces,
        "components": info.components,
        "holes": info.holes,
        "watertight": info.watertight,
        "volume": info.volume,
        "area": info.area,
        "aabb": { "min": info.aabb.min.to_array(), "max": info.aabb.max.to_array() },
        "suggested_voxel": info.suggested_voxel,
        "sign_method": info.sign_method,
        "warnings": mesh_warnings(info),
    })
}

/// The mesh for people.
pub(crate) fn mesh_rows(info: &MeshInfo) -> Vec<(String, String)> {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let encloses = info.sign_method.as_deref() != Some(UNSIGNED);
    vec![
        row("triangles", units::count(info.triangles as u64)),
        row("vertices", units::count(info.vertices as u64)),
        row("box", size_of(info.aabb)),
        row("area", units::area(info.area)),
        row("volume", if encloses { units::volume(info.volume) } else { "none: it encloses nothing".into() }),
        row("parts", units::count(info.components as u64)),
        row("closed", if info.watertight { "yes".into() } else { "no".into() }),
        row("suggested voxel", units::length(info.suggested_voxel)),
    ]
}

/// Three edge lengths in one unit.
fn size_of(aabb: Aabb) -> String {
    let [x, y, z] = aabb.extent().to_array().map(units::length);
    format!("{x} × {y} × {z}")
}

pub(crate) fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", units::count(n as u64), if n == 1 { one } else { many })
}

/// What is wrong with a mesh and what that means; empty for a sound one.
pub(crate) fn mesh_warnings(info: &MeshInfo) -> Vec<String> {
    let mut out = Vec::new();
    if info.sign_method.as_deref() == Some(UNSIGNED) {
        let edges = plural(info.boundary_edges, "open edge", "open edges");
        out.push(format!(
            "it encloses nothing ({edges}): distances have no sign; give it a thickness if it should have an inside"
        ));
    } else if info.boundary_edges > 0 {
        let holes = plural(info.holes, "hole", "holes");
        let edges = plural(info.boundary_edges, "open edge", "open edges");
        let mut text = format!("{holes} ({edges})");
        let capped = info.holes.saturating_sub(info.sheets + info.unclosable);
        if capped > 0 {
            let which = if capped < info.holes { format!("{capped} of them ") } else { String::new() };
            text += &format!(
                ": {which}capped so that inside and outside are defined; close them for exact distances there"
            );
        }
        out.push(text);
    }
    if info.sheets > 0 && info.sign_method.as_deref() != Some(UNSIGNED) {
        let rims = plural(info.sheets, "hole is the rim", "holes are rims");
        out.push(format!("{rims} of open sheets, which enclose nothing; give them a thickness"));
    }
    if info.unclosable > 0 {
        let text = plural(info.unclosable, "hole has", "holes have");
        out.push(format!("{text} no closed rim and cannot be capped; the winding number decides there"));
    }
    if info.nonmanifold_edges > 0 {
        let edges = plural(info.nonmanifold_edges, "edge has", "edges have");
        out.push(format!("{edges} more than two triangles: the sign comes from the winding number there"));
    }
    if info.duplicate_faces > 0 {
        out.push(format!(
            "{} removed",
            plural(info.duplicate_faces, "doubled triangle", "doubled triangles")
        ));
    }
    if info.degenerate > 0 {
        let text = plural(info.degenerate, "triangle without area", "triangles without area");
        out.push(format!("{text} dropped"));
    }
    if info.flipped_faces > 0 {
        let text = plural(info.flipped_faces, "triangle was", "triangles were");
        out.push(format!("{text} turned to agree with the neighbours"));
    }
    let largest = info.aabb.extent().max_element();
    if !(SMALLEST..=LARGEST).contains(&largest) {
        out.push(format!(
            "the box is {} long: if the file is not in metres, name its unit, for example --unit mm",
            units::length(largest)
        ));
    }
    out
}

/// Share of agreeing checks below which the sign is called doubtful [1].
const SURE: f64 = 0.99;
/// Holes listed one by one; more are counted.
const LISTED_HOLES: usize = 20;

/// What is wrong with a mesh and with what was built from it.
pub(crate) fn warnings(model: &Model) -> Vec<String> {
    let (mut out, info) = (mesh_warnings(&model.mesh_info), &model.info);
    out.extend_from_slice(&model.notes);
    if info.sign_confidence < SURE {
        out.push(format!(
            "inside and outside are doubtful at {:.1} % of the places checked: parts overlap or gape there; repair the mesh or look at the slices",
            100.0 * (1.0 - info.sign_confidence)
        ));
    }
    if model.voxels.as_ref().is_some_and(|v| v.leaks) {
        out.push(
            "the voxel map leaks through a hole wider than a voxel: what lies behind it counts as outside; close the hole or use larger voxels"
                .into(),
        );
    }
    out
}

/// The holes of a mesh and what became of them: column names and rows; no rows for a closed mesh.
pub(crate) fn hole_table(model: &Model) -> ([&'static str; 5], Vec<Vec<String>>) {
    let holes = &model.field().report().holes;
    let size = model.mesh_info.aabb.extent().max_element();
    let mut rows: Vec<Vec<String>> = holes
        .iter()
        .take(LISTED_HOLES)
        .enumerate()
        .map(|(i, hole)| {
            let outcome = match hole.outcome {
                HoleOutcome::Capped => "capped",
                HoleOutcome::Sheet => "left open: rim of a sheet",
                HoleOutcome::Unclosable => "left open: no closed rim",
            };
            // Rounding errors of a symmetric mesh are no coordinates.
            let visible = |x: f64| units::length(if x.abs() < 1e-6 * size { 0.0 } else { x });
            let place = hole.centre.to_array().map(visible).join(", ");
            let number = units::count(i as u64 + 1);
            vec![number, units::count(hole.edges as u64), place, units::area(hole.area), outcome.to_owned()]
        })
        .collect();
    if holes.len() > LISTED_HOLES {
        let more = format!("and {} more", units::count((holes.len() - LISTED_HOLES) as u64));
        rows.push(vec![more, String::new(), String::new(), String::new(), String::new()]);
    }
    (["hole", "edges", "centre (x, y, z)", "area of the cap", "what was done"], rows)
}

/// The field for machines, without times; the keys are fixed.
pub(crate) fn field_json(info: &FieldInfo) -> Value {
    json!({
        "voxel": info.voxel,
        "spacing": info.spacing,
        "dims": info.dims,
        "bricks": info.bricks,
        "points": info.points,
        "levels": info.levels,
        "bytes": info.bytes,
        "sign_method": info.sign_method,
        "sign_confidence": info.sign_confidence,
        "caps": info.caps,
        "error_bound_band": info.error_bound_band,
        "error_bound_far": info.error_bound_far,
    })
}

/// The voxel map for machines; null when none was asked for.
pub(crate) fn voxels_json(voxels: Option<&Voxels>) -> Value {
    voxels.map_or(Value::Null, |v| {
        json!({
            "surface_voxels": v.surface,
            "inside_voxels": v.inside,
            "layers": v.layers,
            "leaks": v.leaks,
            "bytes": v.bytes,
        })
    })
}

/// The field for people.
pub(crate) fn field_rows(model: &Model) -> Vec<(String, String)> {
    let (info, row) = (&model.info, |name: &str, value: String| (name.to_owned(), value));
    let [x, y, z] = info.dims;
    let voxels =
        |metres: f64| format!("± {} ({} voxel)", units::length(metres), units::number(metres / info.voxel));
    let mut rows = vec![
        row("voxel", units::length(info.voxel)),
        row("grid", format!("{x} × {y} × {z}")),
        row("bricks", units::count(info.bricks)),
        row("memory", units::bytes(info.bytes)),
        row("sign", format!("{}, confidence {:.1} %", info.sign_method, 100.0 * info.sign_confidence)),
        row("error near surface", voxels(info.error_bound_band)),
        row("error far away", voxels(info.error_bound_far)),
    ];
    if info.caps > 0 {
        rows.push(row("capped holes", units::count(info.caps)));
    }
    if let Some(v) = &model.voxels {
        let leaks = if v.leaks { ", leaking through a hole" } else { "" };
        let text = format!("{} surface, {} inside{leaks}", units::count(v.surface), units::count(v.inside));
        rows.push(row("voxels", text));
        rows.push(row("layers", format!("± {} in {}", v.layers, units::bytes(v.bytes))));
    }
    if let (Some(points), Some(levels), Some(spacing)) = (info.points, info.levels, info.spacing) {
        let apart = units::length(spacing);
        rows.push(row("points", format!("{} on the surface, {apart} apart", units::count(points))));
        rows.push(row("levels", format!("{levels} of their tree")));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn info() -> MeshInfo {
        MeshInfo {
            vertices: 8,
            triangles: 12,
            boundary_edges: 0,
            nonmanifold_edges: 0,
            duplicate_faces: 0,
            degenerate: 0,
            flipped_faces: 0,
            components: 1,
            holes: 0,
            watertight: true,
            volume: 1.0,
            area: 6.0,
            aabb: Aabb { min: DVec3::ZERO, max: DVec3::ONE },
            suggested_voxel: 4e-3,
            sign_method: Some("pseudonormal".into()),
            sheets: 0,
            unclosable: 0,
        }
    }

    #[test]
    fn sound_meshes_have_no_warnings_and_all_fixed_keys() {
        assert!(mesh_warnings(&info()).is_empty());
        let json = mesh_json(&info());
        for key in [
            "vertices triangles boundary_edges nonmanifold_edges duplicate_faces degenerate components watertight",
            "volume area aabb suggested_voxel sign_method",
        ]
        .iter()
        .flat_map(|k| k.split(' '))
        {
            assert!(json.get(key).is_some(), "{key}");
        }
        assert_eq!(json["aabb"]["max"][2], 1.0);
    }

    #[test]
    fn sheets_are_not_told_that_their_holes_are_capped() {
        let sheet = MeshInfo { boundary_edges: 3, holes: 1, sign_method: Some(UNSIGNED.into()), ..info() };
        let text = mesh_warnings(&sheet).join("\n");
        assert!(text.contains("encloses nothing (3 open edges)") && !text.contains("capped"), "{text}");
    }

    #[test]
    fn each_fault_is_named_with_its_count() {
        let bad = MeshInfo {
            boundary_edges: 223,
            holes: 5,
            nonmanifold_edges: 1,
            duplicate_faces: 2,
            degenerate: 108,
            flipped_faces: 3,
            aabb: Aabb { min: DVec3::ZERO, max: DVec3::splat(200.0) },
            ..info()
        };
        let text = mesh_warnings(&bad).join("\n");
        for part in [
            "5 holes (223 open edges)",
            "1 edge has",
            "2 doubled",
            "108 triangles",
            "3 triangles were",
            "--unit",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
