//! Findings as a table and as one JSON object.

use crate::finding::{Finding, Kind};
use crate::job::Job;
use crate::params::Params;
use crate::run::Report;
use glam::DVec3;
use serde_json::{Value, json};
use std::fmt::Write;

/// One row for each finding, sorted as given; lengths in metres. The first row has the names of the columns.
pub fn csv(job: &Job, findings: &[Finding]) -> String {
    let mut out = String::from(
        "kind,a,b,distance,depth,ax,ay,az,bx,by,bz,way_x,way_y,way_z,min_x,min_y,min_z,max_x,max_y,max_z,\
         centroid_x,centroid_y,centroid_z,volume,volume_error,time\n",
    );
    for f in findings {
        let [a, b] = f.pair.map(|i| quoted(&job.instances[i as usize].name));
        let o = &f.outcome;
        let _ = write!(out, "{},{a},{b},{},{}", o.kind.name(), o.distance, o.depth());
        for x in o.points.iter().flatten().chain(&o.way) {
            let _ = write!(out, ",{x}");
        }
        match &o.region {
            Some(r) => {
                for x in r.min.iter().chain(&r.max).chain(&r.centroid).chain([&r.volume, &r.volume_error]) {
                    let _ = write!(out, ",{x}");
                }
            }
            None => out += ",,,,,,,,,,,",
        }
        out.push(',');
        if let Some(time) = o.time {
            let _ = write!(out, "{time}");
        }
        out.push('\n');
    }
    out
}

/// A field of a table: in quotes where it has to be.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Everything that was found, and of what; lengths in metres. What a run took is not in it, so that runs can be compared.
pub fn json(job: &Job, params: &Params, report: &Report, findings: &[Finding]) -> Value {
    let count = |kind: Kind| report.findings.iter().filter(|f| f.outcome.kind == kind).count();
    let list: Vec<Value> = findings
        .iter()
        .map(|f| {
            let [a, b] = f.pair.map(|i| &job.instances[i as usize].name);
            let o = &f.outcome;
            json!({
                "kind": o.kind.name(), "a": a, "b": b,
                "distance": o.distance, "depth": o.depth(),
                "point_a": o.points[0], "point_b": o.points[1],
                "way": o.way, "way_length": DVec3::from_array(o.way).length(),
                "region": o.region, "time": o.time,
            })
        })
        .collect();
    let failures: Vec<Value> =
        report.failures.iter().map(|f| json!({ "part": f.part, "problem": f.problem })).collect();
    json!({
        "parts": job.parts.len(), "instances": job.instances.len(), "pairs": report.pairs,
        "clearance": params.clearance, "tolerance": params.tolerance(),
        "clashes": count(Kind::Clash), "clearances": count(Kind::Clearance), "contacts": count(Kind::Contact),
        "findings": list, "failures": failures,
    })
}
