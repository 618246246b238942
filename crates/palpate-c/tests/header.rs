//! The header says what the library has: the same functions with as many arguments, the same codes, the same layouts.
#![allow(clippy::unwrap_used, reason = "tests")]

use palpate_c::error::Status;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The header without comments.
fn header() -> String {
    let mut text = fs::read_to_string(root().join("include/palpate.h")).unwrap();
    while let Some(from) = text.find("/*") {
        let to = from + text[from..].find("*/").unwrap() + 2;
        text.replace_range(from..to, " ");
    }
    text
}

/// What stands between the parenthesis at `open` and the one that closes it.
fn inside(text: &str, open: usize) -> &str {
    let mut depth = 0;
    for (at, c) in text[open..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[open + 1..open + at];
        }
    }
    panic!("a parenthesis stays open");
}

/// Arguments of a list, without empty ones.
fn count(list: &str) -> usize {
    list.split(',').filter(|a| !a.trim().is_empty() && a.trim() != "void").count()
}

/// Functions that the header declares, and how many arguments each has.
fn declared() -> BTreeMap<String, usize> {
    let text = header();
    let mut out = BTreeMap::new();
    for (at, _) in text.match_indices("palp_") {
        let before = text[..at].chars().next_back().unwrap();
        let name: String =
            text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let open = at + name.len();
        if text[open..].starts_with('(') && (before == ' ' || before == '*') {
            assert!(
                out.insert(name.clone(), count(inside(&text, open))).is_none(),
                "{name} is declared twice"
            );
        }
    }
    out
}

/// Functions that the crate exports, and how many arguments each has in C.
fn exported() -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for (at, _) in text.match_indices("fn palp_") {
            let name: String =
                text[at + 3..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            // Those of the macro take an error besides.
            let macro_adds = usize::from(!text[..at].ends_with("extern \"C\" "));
            let n = count(&inside(&text, at + 3 + name.len()).replace("'_,", "")) + macro_adds;
            assert!(out.insert(name.clone(), n).is_none(), "{name} is exported twice");
        }
    }
    out
}

#[test]
fn every_function_is_declared_and_exported() {
    let (declared, exported) = (declared(), exported());
    assert!(declared.len() > 40, "only {declared:?}");
    assert_eq!(declared, exported);
}

#[test]
fn every_status_has_its_number() {
    let text = header();
    for status in Status::ALL {
        let line = format!("{} = {}", status.name().to_str().unwrap(), status as i32);
        assert!(text.contains(&format!("{line},")) || text.contains(&format!("{line} ")), "{line}");
    }
    assert!(text.contains(&format!("#define PALP_ABI {}u", palpate_c::version::ABI)));
    assert_eq!(text.matches("PALP_BAD_").count(), 4);
}

/// Fields of a struct of the header, in their order.
fn fields(name: &str) -> Vec<String> {
    let text = header();
    let head = format!("typedef struct {name} {{");
    let from = text.find(&head).unwrap_or_else(|| panic!("{name} is not in the header")) + head.len();
    let body = &text[from..from + text[from..].find('}').unwrap()];
    body.split(';')
        .filter_map(|field| field.split_whitespace().next_back())
        .map(|f| f.trim_start_matches('*').split('[').next().unwrap().to_owned())
        .collect()
}

/// Size, and the name and place of every field: the header must have the same names in the same order, without gaps that the rules
/// of C would not make.
macro_rules! layout {
    ($name:literal, $kind:ty, $size:literal: $($field:ident @ $at:literal),*) => {
        assert_eq!(size_of::<$kind>(), $size, $name);
        $(assert_eq!(core::mem::offset_of!($kind, $field), $at, "{}.{}", $name, stringify!($field));)*
        assert_eq!(fields($name), [$(stringify!($field)),*], $name);
    };
}

#[test]
#[rustfmt::skip]
fn layouts_are_those_of_the_header() {
    use palpate_c::{error, force, handle, mesh, pair, query, reduce, shape, values};
    layout!("palp_error", error::Error, 512: code @ 0, message @ 4);
    layout!("palp_contact", palpate::Contact, 48: point @ 0, distance @ 12, normal @ 16, id @ 28, shell_normal @ 32, area @ 44);
    layout!("palp_mesh", handle::MeshHandle, 8: id @ 0);
    layout!("palp_shape", handle::ShapeHandle, 8: id @ 0);
    layout!("palp_query", handle::QueryHandle, 8: id @ 0);
    layout!("palp_friction", handle::FrictionHandle, 8: id @ 0);
    layout!("palp_batch", handle::BatchHandle, 8: id @ 0);
    layout!("palp_solid", handle::SolidHandle, 8: id @ 0);
    layout!("palp_pair", handle::PairHandle, 8: id @ 0);
    layout!("palp_collider", pair::ColliderId, 8: id @ 0);
    layout!("palp_manifold_params", pair::ManifoldParamsValue, 120: margin @ 0, spread @ 8, micros @ 16, budget @ 24,
        choice @ 32, count @ 36, roles @ 40, both @ 44, one_normal @ 48, tiers @ 52, ahead @ 56, reserved @ 60, next @ 64);
    layout!("palp_manifold_point", pair::ManifoldPointValue, 88: point_a @ 0, point_b @ 24, normal @ 48, distance @ 72,
        id @ 80, reserved @ 84);
    layout!("palp_manifold", pair::ManifoldValue, 40: normal @ 0, key @ 24, first @ 28, count @ 32, reserved @ 36);
    #[cfg(target_pointer_width = "64")]
    layout!("palp_manifolds", pair::ManifoldsView, 56: list @ 0, count @ 8, points @ 16, point_count @ 24, keys @ 32,
        candidates @ 40, cut_short @ 48, non_finite @ 52);
    layout!("palp_pose", values::PoseValue, 56: rotation @ 0, translation @ 32);
    layout!("palp_wrench", values::WrenchValue, 48: force @ 0, torque @ 24);
    layout!("palp_twist", values::TwistValue, 48: linear @ 0, angular @ 24);
    #[cfg(target_pointer_width = "64")]
    layout!("palp_contacts", values::ContactsView, 48: list @ 0, count @ 8, origin @ 16, swapped @ 40, non_finite @ 44);
    layout!("palp_mesh_report", mesh::MeshReportValue, 160: vertices @ 0, triangles @ 8, welded_vertices @ 16,
        degenerate @ 24, duplicate_faces @ 32, flipped_faces @ 40, boundary_edges @ 48, nonmanifold_edges @ 56,
        components @ 64, holes @ 72, volume @ 80, area @ 88, aabb_min @ 96, aabb_max @ 120, suggested_voxel @ 144,
        watertight @ 152, reserved @ 156);
    layout!("palp_mass", mesh::MassValue, 112: mass @ 0, volume @ 8, centre @ 16, inertia @ 40);
    layout!("palp_shape_params", shape::ShapeParamsValue, 64: voxel @ 0, spacing @ 8, band @ 16, padding @ 24,
        max_bytes @ 32, resolution @ 40, segments @ 44, cluster @ 48, encoding @ 52, exact_bricks @ 56, threads @ 60);
    layout!("palp_shape_info", shape::ShapeInfo, 232: aabb_min @ 0, aabb_max @ 24, ball_centre @ 48, ball_radius @ 72,
        voxel @ 80, spacing @ 88, coverage @ 96, band @ 104, error_bound_band @ 112, error_bound_far @ 120,
        lipschitz @ 128, sign_confidence @ 136, area @ 144, volume @ 152, points @ 160, levels @ 168, segments @ 176,
        vertices @ 184, triangles @ 192, bytes @ 200, bricks @ 208, caps @ 216, watertight @ 224, sign_method @ 228);
    layout!("palp_point", shape::PointValue, 48: position @ 0, normal @ 24, area @ 36, id @ 40, triangle @ 44);
    layout!("palp_query_params", query::QueryParamsValue, 16: margin @ 0, roles @ 8, reserved @ 12);
    layout!("palp_distance", query::DistanceValue, 64: distance @ 0, bound @ 8, witness_a @ 16, witness_b @ 40);
    layout!("palp_reached", query::ReachedValue, 24: level @ 0, beyond @ 8, complete @ 16, reserved @ 20);
    layout!("palp_penetration", query::PenetrationValue, 88: translation @ 0, direction @ 24, depth @ 48, bound @ 56,
        lower @ 64, directions @ 72, overlapping @ 80, reserved @ 84);
    layout!("palp_motion", query::MotionValue, 104: from @ 0, linear @ 56, angular @ 80);
    layout!("palp_impact", query::ImpactValue, 144: time @ 0, a_from_b @ 8, point @ 64, normal @ 88, distance @ 112,
        early @ 120, steps @ 128, end @ 136, reserved @ 140);
    layout!("palp_stats", query::StatsValue, 24: nodes @ 0, points @ 8, non_finite @ 16, reserved @ 20);
    layout!("palp_reduction", reduce::ReductionValue, 24: force_error @ 0, torque_error @ 8, non_finite @ 16, reserved @ 20);
    layout!("palp_force_params", force::ForceParamsValue, 64: stiffness @ 0, damping @ 8, static_coefficient @ 16,
        dynamic_coefficient @ 24, stiffness_ratio @ 32, friction_damping @ 40, creep @ 48, law @ 56, direction @ 60);
    layout!("palp_force", force::ForceValue, 96: wrench @ 0, area @ 48, normal_force @ 56, used @ 64, sticking @ 72,
        sliding @ 80, non_finite @ 88, unsorted @ 92);
    layout!("palp_limits", force::LimitsValue, 32: force @ 0, torque @ 8, force_rate @ 16, torque_rate @ 24);
    layout!("palp_limited", force::LimitedValue, 64: wrench @ 0, saturated @ 48, slewed @ 52, non_finite @ 56, reserved @ 60);
}
