//! `query` and `clearance` as users run them: what they find, what they print, and with which exit code.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{
    Folder, answer, answer_with, cuboid, has_keys, number, palpate, refuses, stderr, stdout, vector,
};
use serde_json::Value;
use std::fs;

const QUERY_KEYS: &str =
    "intersects distance distance_bound witness_a witness_b contact_count force torque micros";
const CONTACT_KEYS: &str = "point normal shell_normal distance area id";
const CLEARANCE_KEYS: &str = "state min poses clear uncertain violated least_distance least_bound least_pose in_contact \
     deepest largest_step output report";
const COLUMNS: &str = "pose,x,y,z,qx,qy,qz,qw,distance,bound,state,contacts,depth,ax,ay,az,bx,by,bz";

#[test]
fn boxes_apart_and_overlapping_have_their_known_answers() {
    let folder = Folder::new("boxes");
    let cube = folder.write("cube.obj", cuboid([-1.0; 3], [1.0; 3]));
    let ask = |pose: &str, more: &[&str]| {
        answer(&[&["query", &cube, &cube, "--resolution", "64", "--pose", pose][..], more].concat())
    };
    // Half a metre apart along x.
    let apart = ask("2.5 0 0 0 0 0 1", &[]);
    has_keys(&apart, QUERY_KEYS);
    assert_eq!(apart["intersects"], false);
    assert!((number(&apart["distance"]) - 0.5).abs() < 1e-4, "{apart}");
    assert!((0.0..0.2).contains(&number(&apart["distance_bound"])), "{apart}");
    assert!(
        (vector(&apart["witness_a"])[0] - 1.0).abs() < 1e-6
            && (vector(&apart["witness_b"])[0] - 1.5).abs() < 1e-6
    );
    assert_eq!((apart["contact_count"].as_u64(), &apart["force"]), (Some(0), &Value::Null));
    assert_eq!(apart["contacts"].as_array().map(Vec::len), Some(0));

    // Overlapping by 0.1 m along x: pressure times area of the face is the force.
    let stiff = ["--stiffness", "1000"];
    let deep = ask("1.9 0 0", &stiff);
    assert_eq!(deep["intersects"], true);
    assert!((number(&deep["distance"]) + 0.1).abs() < 0.03, "{deep}");
    let contacts = deep["contacts"].as_array().unwrap();
    assert_eq!(deep["contact_count"].as_u64(), Some(contacts.len() as u64));
    assert!(contacts.len() > 100);
    for c in contacts {
        has_keys(c, CONTACT_KEYS);
        assert!(number(&c["distance"]) <= 0.0 && number(&c["area"]) >= 0.0);
        let n = vector(&c["normal"]);
        assert!((n.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-3, "{c}");
    }
    let force = vector(&deep["force"]);
    assert!((force[0] - 1000.0 * 0.1 * 4.0).abs() < 0.2 * 400.0, "{force:?}");
    assert!(force[1].abs() < 20.0 && force[2].abs() < 20.0, "{force:?}");
    assert!(vector(&deep["torque"]).iter().all(|t| t.abs() < 20.0), "{}", deep["torque"]);
    // The averaged law divides by the area in contact; the shell's direction pushes along B's normal.
    let averaged = ask("1.9 0 0", &[&stiff[..], &["--law", "averaged", "--direction", "shell"]].concat());
    assert!((20.0..130.0).contains(&vector(&averaged["force"])[0]), "{averaged}");
    // Both directions: as many contacts again, and about the same force.
    let both = ask("1.9 0 0", &[&stiff[..], &["--points-of", "both"]].concat());
    assert!(both["contact_count"].as_u64().unwrap() as f64 > 1.6 * contacts.len() as f64);
    assert!((vector(&both["force"])[0] / force[0] - 1.0).abs() < 0.1, "{both}");
    // A margin counts points outside too.
    let near = ask("2.01 0 0", &["--margin", "50mm"]);
    assert_eq!(near["intersects"], false);
    assert!(near["contact_count"].as_u64().unwrap() > 100);
    assert!(near["contacts"].as_array().unwrap().iter().all(|c| number(&c["distance"]) > -1e-3));
    // A quarter turn about z changes nothing for a cube.
    let turned = ask("2.5 0 0 0 0 0.70710678 0.70710678", &[]);
    assert!((number(&turned["distance"]) - 0.5).abs() < 1e-4);
    // Words for people: what, how deep, where, and what to do for a force.
    let text = stdout(&palpate(&["query", &cube, &cube, "--resolution", "32", "--pose", "1.9 0 0", "-q"]));
    for word in ["they overlap", "depth", "at most", "contacts", "points of B in A", "--stiffness"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
}

#[test]
fn one_shape_wholly_inside_another_intersects() {
    let folder = Folder::new("inside");
    let (large, small) = (
        folder.write("large.obj", cuboid([-1.0; 3], [1.0; 3])),
        folder.write("small.obj", cuboid([-0.2; 3], [0.2; 3])),
    );
    for (a, b) in [(&large, &small), (&small, &large)] {
        for spacing in ["0.05", "0.4"] {
            let value = answer(&["query", a, b, "--voxel", "0.05", "--spacing", spacing]);
            assert_eq!(value["intersects"], true, "{a} {b} {spacing}");
            assert!(number(&value["distance"]) < -0.7, "{value}");
        }
    }
}

#[test]
fn kept_files_answer_as_their_meshes_do_and_bench_names_contact() {
    let folder = Folder::new("kept");
    let (hole, peg) = (folder.path("hole.palp"), folder.path("peg.palp"));
    let size = ["--voxel", "0.25mm"];
    for (name, out) in [("sample:hole", &hole), ("sample:peg", &peg)] {
        let built = answer(&[&["build", name, "-o", out][..], &size].concat());
        assert!((number(&built["spacing"]) - 0.5e-3).abs() < 1e-12, "{built}");
        assert!(built["points"].as_u64().unwrap() > 1000 && built["levels"].as_u64().unwrap() > 2, "{built}");
        let again = answer(&[&["build", name, "-o", out][..], &size].concat());
        assert_eq!(
            (&again["cached"], &again["points"], &again["levels"]),
            (&Value::Bool(true), &built["points"], &built["levels"])
        );
        // Points are part of what the file is known by.
        let other =
            answer(&[&["build", name, "-o", &folder.path("x.palp"), "--no-points"][..], &size].concat());
        assert!(other["points"].is_null() && other["spacing"].is_null() && other["levels"].is_null());
        let with = answer(&[&["build", name, "-o", &folder.path("x.palp")][..], &size].concat());
        assert_eq!(with["cached"], false);
    }
    for (pose, intersects) in [("0 0 -15mm", false), ("0.1mm 0 -15mm", true), ("0 0 5mm", false)] {
        let fresh = answer(&[&["query", "sample:hole", "sample:peg", "--pose", pose][..], &size].concat());
        let kept = answer(&["query", &hole, &peg, "--pose", pose]);
        assert_eq!(fresh["intersects"], intersects, "{pose}: {fresh}");
        assert_eq!(kept["intersects"], intersects, "{pose}: {kept}");
        assert_eq!(kept["contact_count"], fresh["contact_count"], "{pose}");
        // The mesh in the file is rounded to f32.
        assert!(
            (number(&kept["distance"]) - number(&fresh["distance"])).abs() < 1e-7,
            "{pose}: {kept} {fresh}"
        );
    }
    // A file without points gets them when asked, and the same answer.
    let bare = folder.path("bare.palp");
    answer(&[&["build", "sample:peg", "-o", &bare, "--no-points"][..], &size].concat());
    let value = answer(&["query", &hole, &bare, "--pose", "0.1mm 0 -15mm"]);
    assert_eq!(value["intersects"], true);
    assert!(value["warnings"].to_string().contains("no points"), "{value}");
    let other = answer(&["query", &hole, &peg, "--spacing", "0.3mm", "--pose", "0.1mm 0 -15mm"]);
    assert!((number(&other["shapes"]["b"]["spacing"]) - 3e-4).abs() < 1e-12, "{other}");
    let help = stdout(&palpate(&["bench", "--help"]));
    assert!(help.contains("palpate bench contact"));
}

#[test]
fn a_nut_on_its_bolt_is_apart_and_pictures_are_drawn() {
    let folder = Folder::new("nut");
    let (bolt, nut) = (folder.path("bolt.palp"), folder.path("nut.palp"));
    for (name, out) in [("sample:bolt", &bolt), ("sample:nut", &nut)] {
        answer(&["build", name, "-o", out, "--voxel", "0.25mm"]);
    }
    let (one, two) = (folder.path("apart.png"), folder.path("deep.png"));
    let apart = answer(&["query", &bolt, &nut, "--pose", "0 0 10mm", "--picture", &one]);
    assert_eq!((&apart["intersects"], &apart["contact_count"]), (&Value::Bool(false), &Value::from(0)));
    let d = number(&apart["distance"]);
    assert!((0.0..1.6e-4).contains(&d), "the gap is at most 0.15 mm: {d}");
    let deep = answer(&["query", &bolt, &nut, "--pose", "0.5mm 0 10mm", "--picture", &two]);
    assert_eq!(deep["intersects"], true);
    assert_eq!(deep["picture"], Value::from(two.as_str()));
    for picture in [&one, &two] {
        let bytes = fs::read(picture).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 50_000, "{picture}: {} bytes", bytes.len());
    }
    assert!(fs::read(&one).unwrap() != fs::read(&two).unwrap());
}

#[test]
fn many_poses_are_one_object_and_a_table() {
    let folder = Folder::new("poses");
    let ball = ["query", "sample:sphere", "sample:sphere", "--resolution", "40"];
    let poses =
        folder.write("p.csv", "x,y,z,qx,qy,qz,qw\n# far\n0.3,0,0,0,0,0,1\n0.09,0,0,0,0,0,1\n0.12 0 0\n");
    let value = answer(&[&ball[..], &["--poses", &poses]].concat());
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for (result, (intersects, distance)) in results.iter().zip([(false, 0.2), (true, -0.01), (false, 0.02)]) {
        has_keys(result, QUERY_KEYS);
        assert!(result.get("contacts").is_none());
        assert_eq!(result["intersects"], intersects);
        // A ball of flat triangles, and fields of 3 mm voxels.
        assert!((number(&result["distance"]) - distance).abs() < 1.5e-3, "{result}");
    }
    let listed = answer(&[&ball[..], &["--poses", &poses, "--contacts", "--stiffness", "1e8"]].concat());
    let touching = &listed["results"][1];
    assert_eq!(
        touching["contacts"].as_array().unwrap().len() as u64,
        touching["contact_count"].as_u64().unwrap()
    );
    assert!(vector(&touching["force"])[0] > 0.0 && vector(&listed["results"][0]["force"]) == [0.0; 3]);
    let text = stdout(&palpate(&[&ball[..], &["--poses", &poses, "-q"]].concat()));
    assert!(text.contains("1 of 3 poses overlap"), "{text}");
    // The same answers with one thread as with two.
    let times = |v: &Value| {
        let mut v = v["results"].clone();
        for r in v.as_array_mut().unwrap() {
            for key in ["micros", "micros_distance", "micros_contacts"] {
                r[key] = Value::Null;
            }
        }
        v
    };
    let single = answer(&[&ball[..], &["--poses", &poses, "--threads", "1"]].concat());
    assert_eq!(times(&single), times(&value));
}

#[test]
fn wrong_poses_and_options_are_named() {
    let folder = Folder::new("wrong");
    let pair = ["query", "sample:sphere", "sample:cuboid", "--resolution", "24"];
    let with = |more: &[&'static str]| -> Vec<&str> { [&pair[..], more].concat() };
    for (pose, words) in [
        ("nan 0 0 0 0 0 1", ["column 1", "finite"]),
        ("0 0 inf 0 0 0 1", ["column 3", "finite"]),
        ("0 0 0 0 0 0 0", ["0 0 0 0", "no rotation"]),
        ("0 0 0 0 0 0", ["6 values", "qx qy qz qw"]),
        ("a b c", ["column 1", "not a number"]),
        ("", ["0 values", "--pose"]),
    ] {
        refuses(&with(&["--pose", pose]), &words);
    }
    // Not of length 1: made so, and noted.
    let value = answer(&with(&["--pose", "0.2 0 0 0 0 0 2"]));
    assert!(value["warnings"].to_string().contains("length 1"), "{value}");
    assert!(stdout(&palpate(&with(&["--pose", "0.2 0 0 0 0 0 2"]))).contains("length 1"));
    for (option, value, word) in [
        ("--stiffness", "-1", "stiffness"),
        ("--stiffness", "nan", "stiffness"),
        ("--margin", "-1mm", "0 or more"),
        ("--law", "magic", "averaged"),
        ("--direction", "up", "shell"),
        ("--points-of", "c", "both"),
        ("--spacing", "0", "positive"),
        ("--picture", "a.jpg", ".png"),
    ] {
        refuses(&with(&[option, value]), &[word]);
    }
    refuses(&["query", "sample:sphere"], &["<B>"]);
    refuses(&["query", "sample:sphere", &folder.path("no.palp")], &["no.palp"]);
    let points = folder.write("points.palp", b"PALP");
    refuses(&["query", "sample:sphere", &points], &["points.palp"]);
    let poses = folder.write("p.csv", "0,0,0,0,0,0,1\n0,0,0,0,zero,0,1\n");
    refuses(&with(&["--picture", "x.png", "--poses", "p.csv"]), &["--p"]);
    refuses(
        &["query", "sample:sphere", "sample:cuboid", "--poses", &poses],
        &["p.csv", "line 2", "column 5", "zero"],
    );
    refuses(&with(&["--spacing", "1nm"]), &["m or more"]);
    assert_eq!(folder.names(), ["p.csv", "points.palp"]);
}

#[test]
fn shapes_that_do_not_suit_each_other_are_warned_about_with_numbers() {
    let folder = Folder::new("suit");
    let plate = folder.write("plate.obj", cuboid([-0.1, -0.1, 0.0], [0.1, 0.1, 0.001]));
    let (coarse, fine) = (folder.path("coarse.palp"), folder.path("fine.palp"));
    answer(&["build", "sample:sphere", "-o", &coarse, "--voxel", "5mm"]);
    answer(&["build", &plate, "-o", &fine, "--voxel", "0.3mm", "--spacing", "2mm"]);
    let value = answer(&["query", &coarse, &fine, "--pose", "0 0 0.2"]);
    let warnings = value["warnings"].to_string();
    for word in ["5 mm", "300 µm", "16.7 times", "thick", "--spacing"] {
        assert!(warnings.contains(word), "no {word} in {warnings}");
    }
    let sheet =
        answer(&["query", "sample:sheet", "sample:sphere", "--resolution", "32", "--pose", "0 0 0.3"]);
    assert!(sheet["warnings"].to_string().contains("encloses nothing"), "{sheet}");
    // Alike ones need no words.
    let alike =
        answer(&["query", "sample:sphere", "sample:sphere", "--resolution", "32", "--pose", "0.2 0 0"]);
    assert_eq!(alike["warnings"], serde_json::json!([]));
}

#[test]
fn clearance_tells_three_states_apart() {
    let folder = Folder::new("clearance");
    // A cube passes 20 mm, then 8 mm, then 1 mm beside another of the same size.
    let cube = folder.write("cube.obj", cuboid([-0.05; 3], [0.05; 3]));
    let far = folder.write("far.csv", "0.12,0,0\n0.13,0,0,0,0,0,1\n");
    let near = folder.write("near.csv", "x,y,z\n0.12,0,0\n0.108,0,0\n0.101,0,0\n");
    let through = folder.write("through.csv", "0.2,0,0\n0.08,0,0,0,0,0,1\n0.2,0,0\n");
    let (csv, page) = (folder.path("out.csv"), folder.path("page.html"));
    let run = |code: i32, poses: &str, more: &[&str]| {
        let args = ["clearance", &cube, &cube, "--resolution", "64", "--trajectory", poses];
        answer_with(code, &[&args[..], more].concat())
    };
    let value = run(0, &far, &["--min", "10mm"]);
    has_keys(&value, CLEARANCE_KEYS);
    assert_eq!((&value["state"], &value["clear"], &value["poses"]), (&"clear".into(), &2.into(), &2.into()));
    assert!((number(&value["least_distance"]) - 0.02).abs() < 1e-5);
    // The bound of about 5 mm does not tell whether 1 mm is at least 0.5 mm: uncertain, which only --strict minds.
    let value = run(0, &near, &["--min", "0.5mm"]);
    assert_eq!(
        (&value["state"], &value["uncertain"], &value["violated"]),
        (&"uncertain".into(), &1.into(), &0.into())
    );
    run(1, &near, &["--min", "0.5mm", "--strict"]);
    // 1 mm is certainly less than 2 mm.
    let value = run(1, &near, &["--min", "2mm", "-o", &csv, "--report", &page]);
    assert_eq!((&value["state"], &value["violated"]), (&"violated".into(), &1.into()));
    assert_eq!(number(&value["least_pose"]), 3.0);
    let table = fs::read_to_string(&csv).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[0], lines.len()), (COLUMNS, 4));
    for (line, (distance, state)) in
        lines[1..].iter().zip([(0.02, "clear"), (0.008, ""), (0.001, "violated")])
    {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), COLUMNS.split(',').count());
        assert!((cells[8].parse::<f64>().unwrap() - distance).abs() < 1e-5, "{line}");
        assert!(state.is_empty() || cells[10] == state, "{line}");
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && html.contains("violated") && html.contains("data:image/png;base64,"));
    assert!(html.contains("least allowed") && !html.contains("src=\"http"));

    // Poses between two of the file, and through each other.
    let value = run(1, &through, &["--between", "9"]);
    assert_eq!((&value["poses"], &value["state"]), (&21.into(), &"violated".into()));
    assert!((number(&value["deepest"]) - 0.02).abs() < 3e-3, "{value}");
    assert!((number(&value["largest_step"]) - 0.012).abs() < 1e-9, "{value}");
    assert!(value["in_contact"].as_u64().unwrap() >= 3);
    // Without -o the table is the answer, and the words go beside it.
    let output = palpate(&["clearance", &cube, &cube, "--resolution", "32", "--trajectory", &far]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with(COLUMNS) && stdout(&output).lines().count() == 3);
    assert!(stderr(&output).contains("clear, all 2 poses"), "{}", stderr(&output));
}

#[test]
fn the_shortest_way_out_of_two_boxes_is_known() {
    let folder = Folder::new("out");
    let cube = folder.write("cube.obj", cuboid([-1.0; 3], [1.0; 3]));
    let ask = ["query", &cube, &cube, "--resolution", "48", "--penetration", "--pose"];
    let value = answer(&[&ask[..], &["0.5 0 0"]].concat());
    let out = &value["penetration"];
    has_keys(out, "translation depth bound direction micros");
    assert!((number(&out["depth"]) - 1.5).abs() <= number(&out["bound"]), "{out}");
    assert!(vector(&out["direction"])[0] > 0.99, "{out}");
    assert!(stdout(&palpate(&[&ask[..], &["0.5 0 0", "-q"]].concat())).contains("shortest way out"));
    let apart = answer(&[&ask[..], &["3 0 0"]].concat());
    assert_eq!(number(&apart["penetration"]["depth"]), 0.0);
    assert!(answer(&ask[..5]).get("penetration").is_none());
}

#[test]
fn following_a_motion_finds_what_lies_between_its_poses() {
    let folder = Folder::new("follow");
    let cube = folder.write("cube.obj", cuboid([-0.05; 3], [0.05; 3]));
    let (beside, through) = (
        folder.write("beside.csv", "-0.3,0.2,0\n0.3,0.2,0\n"),
        folder.write("through.csv", "-0.3,0,0\n0.3,0,0\n"),
    );
    let run = |code: i32, poses: &str, more: &[&str]| {
        let args = ["clearance", &cube, &cube, "--resolution", "40", "--trajectory", poses];
        answer_with(code, &[&args[..], more].concat())
    };
    let free = run(0, &beside, &["--continuous"]);
    assert_eq!((&free["state"], &free["free_between"]), (&"clear".into(), &true.into()), "{free}");
    // Both poses are clear, what lies between them is not.
    let value = run(0, &through, &[]);
    assert_eq!((&value["state"], &value["free_between"]), (&"clear".into(), &Value::Null));
    let value = run(0, &through, &["--continuous"]);
    assert_eq!((&value["state"], &value["free_between"]), (&"uncertain".into(), &false.into()), "{value}");
    // It meets after 0.2 of 0.6 m, less the radius that points cover.
    let met = number(&value["first_approach"]);
    assert!((1.31..=1.0 + 1.0 / 3.0).contains(&met), "{met}");
    run(1, &through, &["--continuous", "--strict"]);
}

#[test]
fn clearance_writes_nothing_when_something_is_wrong() {
    let folder = Folder::new("nothing");
    let good = folder.write("good.csv", "0.2,0,0\n");
    let bad = folder.write("bad.csv", "0.2,0,0\n0.2,0,0,0,0,0,1\n0.2,0,0,0,0,q,1\n");
    let (csv, page) = (folder.path("out.csv"), folder.path("page.html"));
    let base =
        ["clearance", "sample:sphere", "sample:sphere", "--resolution", "24", "-o", &csv, "--report", &page];
    refuses(&[&base[..], &["--trajectory", &bad]].concat(), &["bad.csv", "line 3", "column 6"]);
    refuses(&[&base[..], &["--trajectory", &folder.path("no.csv")]].concat(), &["no.csv"]);
    refuses(&[&base[..], &["--trajectory", &good, "--min", "-1mm"]].concat(), &["0 or more"]);
    refuses(&base, &["--trajectory"]);
    let nowhere = folder.path("no/page.html");
    refuses(
        &[
            "clearance",
            "sample:sphere",
            "sample:sphere",
            "--trajectory",
            &good,
            "-o",
            &csv,
            "--report",
            &nowhere,
        ],
        &["page.html", "does not exist"],
    );
    let many = folder.write("many.csv", "0.2,0,0\n".repeat(1000));
    refuses(
        &[&base[..], &["--trajectory", &many, "--between", "100000"]].concat(),
        &["--between", "at most"],
    );
    assert_eq!(folder.names(), ["bad.csv", "good.csv", "many.csv"]);
}
