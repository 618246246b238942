//! Contacts of moving vertices, faces and edges against exact answers: those of `ccd/` in the folder named by `PALPATE_MODELS`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use glam::DVec3;
use palpate::soft::{ContinuousParams, Impact, edge_edge, vertex_face};
use std::path::{Path, PathBuf};

struct Case {
    start: [DVec3; 4],
    end: [DVec3; 4],
    hit: bool,
}

/// A number that numerator and denominator make: these came from `f64` and are, so that nothing is rounded here.
fn number(numerator: &str, denominator: &str) -> f64 {
    let (n, d): (f64, f64) = (numerator.parse().unwrap(), denominator.parse().unwrap());
    // Exact if the numerator has 53 bits and the denominator is a power of two.
    assert!(n.abs() <= 9_007_199_254_740_992.0 && d.to_bits() << 12 == 0, "{numerator}/{denominator}");
    n / d
}

/// Eight rows a query: four points at time 0, the same at time 1; each x, y, z and the answer.
fn cases(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<(DVec3, bool)> = text
        .lines()
        .map(|line| {
            let columns: Vec<&str> = line.trim().split(',').collect();
            let [x, y, z] = [0, 2, 4].map(|k| number(columns[k], columns[k + 1]));
            (DVec3::new(x, y, z), columns[6] == "1")
        })
        .collect();
    rows.chunks_exact(8)
        .map(|rows| Case {
            start: [0, 1, 2, 3].map(|k| rows[k].0),
            end: [4, 5, 6, 7].map(|k| rows[k].0),
            hit: rows[0].1,
        })
        .collect()
}

fn ask(vertex: bool, case: &Case, params: &ContinuousParams) -> Option<Impact> {
    if vertex {
        vertex_face(&case.start, &case.end, params)
    } else {
        edge_edge(&case.start, &case.end, params)
    }
}

#[test]
fn no_exact_contact_is_missed() {
    let Some(models) = std::env::var_os("PALPATE_MODELS").map(PathBuf::from) else {
        println!("skipped: PALPATE_MODELS is not set");
        return;
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(models.join("ccd")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "csv"));
    files.sort();
    let (mut hits, mut misses, mut all_false) = (0, 0, 0);
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let vertex = name.contains("vertex-face");
        let cases = cases(&path);
        let (mut hit, mut wrong, mut maybe) = (0, 0, 0);
        for (index, case) in cases.iter().enumerate() {
            let answer = ask(vertex, case, &ContinuousParams::default());
            assert!(answer.is_some() || !case.hit, "{name}: query {index} was missed");
            assert!(answer.is_none_or(|a| (0.0..=1.0).contains(&a.time)), "{name}: query {index}");
            hit += usize::from(case.hit);
            wrong += usize::from(answer.is_some() && !case.hit);
            maybe += usize::from(answer.is_some_and(|a| !a.exact));
            // Neither a distance that counts as contact nor a small budget may lose one.
            for params in [
                ContinuousParams { tolerance: 1e-6, ..Default::default() },
                ContinuousParams { separation: 1e-6, ..Default::default() },
                ContinuousParams { max_checks: 2, ..Default::default() },
            ] {
                assert!(
                    ask(vertex, case, &params).is_some() || !case.hit,
                    "{name}: query {index}, {params:?}"
                );
            }
        }
        let share = 100.0 * wrong as f64 / (cases.len() - hit).max(1) as f64;
        println!(
            "{name}: {hit} hits of {}, {wrong} false positives ({share:.1} % of the misses), {maybe} maybe",
            cases.len()
        );
        (hits, misses, all_false) = (hits + hit, misses + cases.len() - hit, all_false + wrong);
    }
    println!("all: {hits} hits, {misses} misses, {all_false} false positives");
    assert!(hits > 50 && misses > 500, "{hits} hits and {misses} misses are too few");
}
