//! Data flows one way: a stage uses only earlier ones, and the engine pulls in no window, device, network or other engine.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The trunk, earliest first. What is on one line may use each other.
const TRUNK: &[&[&str]] = &[
    &["math", "par", "progress", "simd", "store"],
    &["mesh"],
    &["voxmap"],
    &["field"],
    &["shell"],
    &["tree"],
    &["contact", "reduce"],
    &["shape"],
    &["query"],
    &["manifold"],
    &["force"],
    &["world"],
];

/// Branches: they may use the trunk up to `force`, not each other, and nothing on the trunk uses them.
const BRANCHES: &[&str] = &["soft", "cloud"];

/// Above everything: they bundle what the stages make.
const TOP: &[&str] = &["lib", "asset"];

/// Crates the engine must not depend on, not even through others: names that start so.
const FORBIDDEN: &[&str] =
    &["wgpu", "pyo3", "rapier", "parry", "bevy", "tokio", "clap", "winit", "reqwest", "indicatif"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn level(stage: &str) -> Option<usize> {
    TRUNK.iter().position(|line| line.contains(&stage))
}

/// Whether `from` may use `to`; `None` when one of them is no stage.
fn allowed(from: &str, to: &str) -> Option<bool> {
    let force = level("force");
    Some(match (level(from), level(to)) {
        _ if from == to => true,
        (Some(a), Some(b)) => b <= a && (b < a || a == 0 || TRUNK[a].contains(&to)),
        (Some(_), None) if BRANCHES.contains(&to) => false,
        (None, b) if BRANCHES.contains(&from) => b.is_some() && b <= force,
        _ if TOP.contains(&from) => true,
        (Some(_), None) if TOP.contains(&to) => false,
        _ => return None,
    })
}

/// Code without comments and strings: what is left names modules only where it uses them.
fn stripped(source: &str) -> String {
    source
        .lines()
        .map(|line| {
            let code = line.split("//").next().unwrap_or("");
            code.split('"').step_by(2).collect::<String>() + "\n"
        })
        .collect()
}

/// Stages that the text names by a path from the root of the crate.
fn used_stages(source: &str) -> Vec<String> {
    let code = stripped(source);
    let mut out = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        // `use crate::{a::b, c};` names several.
        let group = rest.strip_prefix('{').map(|g| g.split("};").next().unwrap_or(g));
        let names: Vec<&str> = match group {
            Some(group) => top_level_parts(group),
            None => vec![rest],
        };
        out.extend(names.into_iter().map(|n| {
            n.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>()
        }));
    }
    out.retain(|n| !n.is_empty());
    out
}

/// The parts of a brace group, commas inside inner braces left alone.
fn top_level_parts(group: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0i32, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[from..]);
    parts
}

/// Uses in `source`, a file of stage `from`, that go upward or name no stage.
fn violations(from: &str, source: &str) -> Vec<String> {
    let mut bad = Vec::new();
    for to in used_stages(source) {
        match allowed(from, &to) {
            Some(true) => {}
            Some(false) => bad.push(format!("uses crate::{to}, which comes later")),
            None => bad.push(format!("uses crate::{to}, which is in no stage: name it in this test")),
        }
    }
    bad
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn stages_use_only_earlier_ones() {
    let root = repository().join("crates/palpate/src");
    let mut all = Vec::new();
    files(&root, &mut all);
    let (mut bad, mut uses) = (Vec::new(), 0);
    for path in &all {
        let inner = path.strip_prefix(&root).unwrap();
        let first = inner.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let stage = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
        assert!(
            level(&stage).is_some() || BRANCHES.contains(&&*stage) || TOP.contains(&&*stage),
            "{} is in no stage: name it in this test",
            inner.display()
        );
        let source = std::fs::read_to_string(path).unwrap();
        uses += used_stages(&source).len();
        bad.extend(violations(&stage, &source).into_iter().map(|v| format!("{}: {v}", inner.display())));
    }
    println!("{} files, {uses} uses of other stages", all.len());
    assert!(all.len() > 30 && uses > 50, "the search found {} files and {uses} uses", all.len());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn the_search_sees_what_it_must() {
    let bad = |from: &str, source: &str| violations(from, source).len();
    assert_eq!(bad("mesh", "use crate::field::Field;"), 1);
    assert_eq!(bad("mesh", "use crate::{math::Aabb, field::{Field, iso}, voxmap};"), 2);
    assert_eq!(bad("mesh", "fn f() -> crate::tree::Tree { x }"), 1);
    assert_eq!(bad("field", "use crate::mesh::{Mesh, Topology};\nuse crate::math::Aabb; use crate::par;"), 0);
    assert_eq!(bad("field", "// crate::query is later\nlet s = \"crate::world\";"), 0);
    assert_eq!(bad("soft", "use crate::force::Wrench;"), 0);
    assert_eq!(bad("soft", "use crate::world::World;") + bad("soft", "use crate::cloud::Cloud;"), 2);
    assert_eq!(bad("query", "use crate::soft::Pairs;") + bad("math", "use crate::mesh::Mesh;"), 2);
    assert_eq!(bad("field", "use crate::asset::Asset;") + bad("field", "use crate::nowhere::X;"), 2);
    assert_eq!(bad("asset", "use crate::world::World;"), 0);
}

/// Direct dependencies of each package of the lock file.
fn locked() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(repository().join("Cargo.lock")).unwrap();
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in text.split("[[package]]").skip(1) {
        let quoted = |line: &str| line.split('"').nth(1).unwrap_or("").to_owned();
        let name = package.lines().find(|l| l.starts_with("name = ")).map(quoted).unwrap();
        let names = package.lines().filter(|l| l.starts_with(" \"")).map(quoted);
        // `name version` where a name is there twice.
        let names = names.map(|n| n.split(' ').next().unwrap_or("").to_owned());
        out.entry(name).or_default().extend(names);
    }
    out
}

/// Everything that `package` pulls in, itself included.
fn pulled_in(package: &str, locked: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![package.to_owned()];
    while let Some(name) = open.pop() {
        if seen.insert(name.clone()) {
            open.extend(locked.get(&name).into_iter().flatten().cloned());
        }
    }
    seen
}

fn forbidden(names: &BTreeSet<String>) -> Vec<&String> {
    names.iter().filter(|n| FORBIDDEN.iter().any(|f| n.starts_with(f))).collect()
}

#[test]
fn the_engine_pulls_in_nothing_heavy() {
    let locked = locked();
    let engine = pulled_in("palpate", &locked);
    println!("palpate pulls in {engine:?}");
    assert!(engine.contains("glam") && engine.contains("rayon"), "the lock file was not understood");
    assert!(forbidden(&engine).is_empty(), "{:?}", forbidden(&engine));
    // The search works: the program does use what the engine must not.
    assert!(!forbidden(&pulled_in("palpate-cli", &locked)).is_empty());
    // And the manifest names none, not even behind a feature.
    let manifest = std::fs::read_to_string(repository().join("crates/palpate/Cargo.toml")).unwrap();
    let named = manifest.lines().map(|l| l.trim_start_matches("dep:").trim()).filter(|l| !l.starts_with('#'));
    let bad: Vec<&str> = named.filter(|l| FORBIDDEN.iter().any(|f| l.starts_with(f))).collect();
    assert!(bad.is_empty(), "{bad:?}");
}
