//! Questions that the GPU answers, beside the CPU's answers.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{
    Folder, answer, answer_with, command, has_keys, number, palpate, refuses, stderr, stdout, vector,
};
use serde_json::Value;

/// Keys of an answer.
const KEYS: &str = "intersects distance distance_bound witness_a witness_b contact_count contact_area force torque micros \
                    micros_distance micros_contacts contacts pose shapes warnings picture device fallback";

/// Whether there is a device; tests that need one pass without, unless the environment insists.
fn no_gpu() -> bool {
    let none = answer(&["gpu"])["devices"].as_array().is_none_or(Vec::is_empty);
    assert!(!none || std::env::var("PALPATE_GPU").as_deref() != Ok("required"), "no GPU");
    if none {
        eprintln!("skipped: no GPU");
    }
    none
}

/// The program without any device, where Vulkan is the interface.
fn without(args: &[&str]) -> std::process::Output {
    let mut command = command(args);
    for name in ["VK_ICD_FILENAMES", "VK_DRIVER_FILES"] {
        command.env(name, "/nonexistent");
    }
    command.output().unwrap()
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn apart(a: &Value, b: &Value) -> f64 {
    let (a, b) = (vector(a), vector(b));
    length([0, 1, 2].map(|i| a[i] - b[i]))
}

/// Both answers are about one truth: contacts and forces of the same points, distances within their bounds.
///
/// The CPU's fields are packed to about a thousandth of a voxel, so that a contact in some hundred may be on either side, and
/// directions are off by as much.
fn alike(gpu: &Value, cpu: &Value, what: &str) {
    let (n, m) = (number(&gpu["contact_count"]), number(&cpu["contact_count"]));
    assert!((n - m).abs() <= 2.0 + 0.01 * m, "{what}: {n} and {m} contacts");
    let area = number(&cpu["contact_area"]);
    assert!((number(&gpu["contact_area"]) - area).abs() <= 0.01 * area + 1e-7, "{what}: area");
    for key in ["force", "torque"] {
        if cpu[key].is_null() {
            assert!(gpu[key].is_null());
            continue;
        }
        let size = length(vector(&cpu["force"])) * if key == "torque" { 0.1 } else { 1.0 };
        let off = apart(&gpu[key], &cpu[key]);
        assert!(off <= 0.01 * size + 1e-6, "{what}: {key} {} and {}, {off} apart", gpu[key], cpu[key]);
    }
    assert_eq!(gpu["intersects"], cpu["intersects"], "{what}");
    let (d, e) = (number(&gpu["distance"]), number(&cpu["distance"]));
    let (b, c) = (number(&gpu["distance_bound"]), number(&cpu["distance_bound"]));
    if e > 0.0 {
        // The truth is in both [d − b, d] and [e − c, e].
        assert!(d - b <= e + 1e-9 && e - c <= d + 1e-9, "{what}: {d} - {b} and {e} - {c}");
        let line = apart(&gpu["witness_a"], &gpu["witness_b"]);
        assert!((line - d).abs() < 1e-6, "{what}: witnesses are {line} apart, not {d}");
    } else {
        // The same deepest point, or one that is as deep but for rounding.
        assert!((d - e).abs() <= 2e-4 + b.min(c) * 0.1, "{what}: {d} and {e}");
    }
}

#[test]
fn devices_are_listed_also_when_there_are_none() {
    let value = answer(&["gpu"]);
    for device in value["devices"].as_array().unwrap() {
        has_keys(
            device,
            "name kind interface driver float_blending filtered_floats largest_texture_3d largest_buffer largest_binding",
        );
        assert!(number(&device["largest_texture_3d"]) >= 256.0, "{device}");
    }
    let output = without(&["gpu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("no GPU was found"), "{}", stdout(&output));
    let output = without(&["gpu", "--json"]);
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(value["devices"], serde_json::json!([]));
}

#[test]
fn one_pose_is_answered_as_by_the_cpu() {
    if no_gpu() {
        return;
    }
    for (a, b, pose, more) in [
        ("sphere", "cuboid", "0.07 0.02 0.01", &["--stiffness", "1e7"][..]),
        ("sphere", "cuboid", "0.07 0.02 0.01 0.1 0.2 0.3 0.9", &["--stiffness", "1e7", "--points-of", "a"]),
        ("sphere", "cuboid", "0.06 -0.02 0.01 0.3 0.2 0 0.9", &["--stiffness", "1e7", "--points-of", "both"]),
        (
            "cuboid",
            "sphere",
            "0.07 0.02 0.01",
            &["--stiffness", "1e3", "--law", "averaged", "--points-of", "b"],
        ),
        (
            "cuboid",
            "sphere",
            "0.07 0.02 0",
            &["--stiffness", "1e7", "--direction", "shell", "--points-of", "a"],
        ),
        ("sphere", "sphere", "0.05 0.05 0.05", &["--margin", "2mm"]),
        ("sphere", "cuboid", "0.4 0.1 0 0 0 0.3 0.9", &[]),
    ] {
        let (a, b) = (format!("sample:{a}"), format!("sample:{b}"));
        let ask = [&["query", &a, &b, "--resolution", "40", "--pose", pose], more].concat();
        let (gpu, cpu) = (answer(&[&ask[..], &["--gpu"]].concat()), answer(&ask));
        let what = format!("{ask:?}");
        has_keys(&gpu, KEYS);
        assert!(gpu["device"].as_str().is_some_and(|d| !d.is_empty()) && gpu["fallback"].is_null(), "{what}");
        assert!(cpu.get("device").is_none());
        alike(&gpu, &cpu, &what);
        let (list, other) = (gpu["contacts"].as_array().unwrap(), cpu["contacts"].as_array().unwrap());
        assert_eq!(list.len() as f64, number(&gpu["contact_count"]), "{what}");
        // The same points in the same order, at the same places, with normals the same way.
        let find = |c: &Value| other.iter().find(|o| o["id"] == c["id"] && o["of"] == c["of"]);
        let both: Vec<_> = list.iter().filter_map(|c| Some((c, find(c)?))).collect();
        assert!(both.len() + 2 >= list.len(), "{what}: {} of {}", both.len(), list.len());
        let mut turned = 0;
        for (c, o) in both {
            assert!(apart(&c["point"], &o["point"]) < 1e-6, "{what}: {c} and {o}");
            assert!((number(&c["distance"]) - number(&o["distance"])).abs() < 5e-5, "{what}: {c} and {o}");
            assert!(apart(&c["shell_normal"], &o["shell_normal"]) < 1e-3, "{what}: {c} and {o}");
            turned += usize::from(apart(&c["normal"], &o["normal"]) > 0.05);
        }
        // At an edge of a voxel, rounding may choose the next, whose gradient is another.
        assert!(turned <= 2 + list.len() / 50, "{what}: {turned} of {} normals", list.len());
        let expected = pose != "0.4 0.1 0 0 0 0.3 0.9";
        assert_eq!(list.len() > 20, expected, "{what}: {} contacts", list.len());
    }
}

#[test]
fn many_poses_are_answered_at_once() {
    if no_gpu() {
        return;
    }
    let folder = Folder::new("many");
    let mut text = String::new();
    for i in 0..60 {
        let t = f64::from(i) / 60.0;
        text += &format!("{},{},{},{},0.2,0,1\n", 0.25 * (1.0 - t), 0.02 * t, 0.03 * (9.0 * t).sin(), t);
    }
    let poses = folder.write("poses.csv", text);
    let ask = [
        "query",
        "sample:sphere",
        "sample:cuboid",
        "--resolution",
        "40",
        "--stiffness",
        "1e7",
        "--poses",
        &poses,
    ];
    let (gpu, cpu) = (answer(&[&ask[..], &["--gpu"]].concat()), answer(&ask));
    let (ours, theirs) = (gpu["results"].as_array().unwrap(), cpu["results"].as_array().unwrap());
    assert_eq!((ours.len(), theirs.len()), (60, 60));
    let touching = theirs.iter().filter(|r| r["intersects"] == true).count();
    assert!((10..60).contains(&touching), "{touching} of 60 touch");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(a["pose"], b["pose"]);
        alike(a, b, &format!("pose {}", i + 1));
    }
    // Twice the same, bit for bit.
    let plain = |v: &Value| {
        let mut v = v["results"].clone();
        for r in v.as_array_mut().unwrap() {
            for key in ["micros", "micros_distance", "micros_contacts"] {
                r[key] = Value::Null;
            }
        }
        v
    };
    assert_eq!(plain(&gpu), plain(&answer(&[&ask[..], &["--gpu"]].concat())));
    let text = stdout(&palpate(&[&ask[..], &["--gpu", "-q"]].concat()));
    assert!(text.contains("60 poses overlap") && text.contains("answered by"), "{text}");
    let listed = answer(&[&ask[..], &["--gpu", "--contacts"]].concat());
    let last = &listed["results"][59];
    assert_eq!(last["contacts"].as_array().unwrap().len() as f64, number(&last["contact_count"]));
    let few = answer(&[&ask[..], &["--gpu", "--contacts", "--reduce", "8"]].concat());
    assert!(few["results"][59]["contacts"].as_array().unwrap().len() <= 8);
    assert!(number(&few["results"][59]["chosen"]["force_error"]) < 1e-3);
}

#[test]
fn without_a_device_it_says_what_to_do_or_asks_the_cpu() {
    let ask = ["query", "sample:sphere", "sample:cuboid", "--resolution", "24", "--pose", "0.1 0 0"];
    let output = without(&[&ask[..], &["--gpu"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    for word in ["no GPU was found", "driver", "CPU"] {
        assert!(stderr(&output).contains(word), "no {word} in {}", stderr(&output));
    }
    let output = without(&[&ask[..], &["--gpu=auto", "--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("the CPU answers") && stderr(&output).contains("no GPU was found"));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(value["device"], "cpu");
    assert!(value["fallback"].as_str().is_some_and(|t| t.contains("no GPU")), "{value}");
    let cpu = answer(&ask);
    for key in ["distance", "contact_count", "contacts", "witness_a"] {
        assert_eq!(value[key], cpu[key]);
    }
    let text = without(&[&ask[..], &["--gpu=auto"]].concat());
    assert!(stdout(&text).contains("answered by the CPU"), "{}", stdout(&text));
}

#[test]
fn wrong_options_are_named() {
    let ask = ["query", "sample:sphere", "sample:cuboid", "--resolution", "24"];
    refuses(&[&ask[..], &["--gpu=sometimes"]].concat(), &["auto"]);
    refuses(&[&ask[..], &["--gpu-name", "x"]].concat(), &["--gpu"]);
    refuses(&[&ask[..], &["--gpu", "--budget", "100"]].concat(), &["--budget"]);
    refuses(&[&ask[..], &["--gpu", "--plain"]].concat(), &["--plain"]);
    refuses(&[&ask[..], &["--gpu", "--segments"]].concat(), &["--segments"]);
    refuses(&[&ask[..], &["--gpu", "--pose", "nan 0 0"]].concat(), &["column 1"]);
    if no_gpu() {
        return;
    }
    // A device of another name is refused with the names of those there are.
    let names = answer(&["gpu"])["devices"][0]["name"].as_str().unwrap().to_owned();
    refuses(&[&ask[..], &["--gpu", "--gpu-name", "no such device"]].concat(), &["only", &names]);
    let part: String = names.to_uppercase().chars().take(6).collect();
    let value = answer_with(0, &[&ask[..], &["--gpu", "--gpu-name", &part]].concat());
    assert_eq!(value["device"], names.as_str());
}
