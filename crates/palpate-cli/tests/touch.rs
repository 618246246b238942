//! `palpate touch`, as a user runs it: table, answer and page say the same, and contact is that of every box.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, answer, command, has_keys, number, palpate, refuses, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// A table by its columns.
fn table(path: &str) -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|l| l.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let mut out: BTreeMap<String, Vec<String>> = names.iter().map(|n| (n.clone(), Vec::new())).collect();
    for line in lines {
        assert_eq!(line.len(), names.len());
        names.iter().zip(line).for_each(|(n, x)| out.get_mut(n).unwrap().push(x));
    }
    out
}

fn numbers(column: &[String]) -> Vec<f64> {
    column.iter().map(|x| x.parse().unwrap()).collect()
}

fn three(table: &BTreeMap<String, Vec<String>>, names: [&str; 3]) -> Vec<[f64; 3]> {
    let [x, y, z] = names.map(|n| numbers(&table[n]));
    x.into_iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]).collect()
}

/// The words of a page.
fn meta(path: &str) -> Value {
    let page = fs::read_to_string(path).unwrap();
    assert!(page.contains("webgl2") && !page.contains("http://") && !page.contains("https://"));
    let from = page.find("id=\"meta\">").unwrap() + 10;
    serde_json::from_str(page[from..].split("</script>").next().unwrap()).unwrap()
}

/// Points of a bumpy sheet, 10 mm apart, the same each time.
fn sheet() -> Vec<[f64; 3]> {
    let at = |i: i32| 0.01 * f64::from(i);
    let height = |x: f64, y: f64| 0.02 * (30.0 * x).sin() * (25.0 * y).cos();
    let all = (0..900).map(|k| (at(k % 30), at(k / 30)));
    // Multiples of 2^-10, which every format keeps.
    all.map(|(x, y)| [x, y, height(x, y)].map(|v| (1024.0 * v).round() / 1024.0)).collect()
}

fn rows(points: &[[f64; 3]], between: &str) -> String {
    points.iter().fold(String::new(), |mut s, [x, y, z]| {
        let _ = writeln!(s, "{x}{between}{y}{between}{z}");
        s
    })
}

/// A path that goes in and out of the sheet.
fn path() -> Vec<[f64; 3]> {
    let at = |i: i32| {
        let t = f64::from(i) / 600.0;
        [0.02 + 0.25 * t, 0.03 + 0.2 * (7.0 * t).sin().abs(), 0.03 * (40.0 * t).cos()]
    };
    (0..600).map(at).collect()
}

#[test]
fn table_answer_and_page_say_the_same() {
    let folder = Folder::new("same");
    let out = folder.path("felt");
    let value = answer(&["touch", "--spacing", "20mm", "-o", &out]);
    has_keys(
        &value,
        "points spacing box_edge six_point mode leaf bytes_per_point build_seconds steps touching first_touch largest_force \
         largest_change step_us skipped rounding files warnings",
    );
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["touch.csv", "touch.html", "touch.png"], "nothing else is left");
    assert_eq!(&fs::read(folder.path("felt/touch.png")).unwrap()[1..4], b"PNG");
    let steps = table(&folder.path("felt/touch.csv"));
    let touching = steps["touching"].iter().filter(|t| *t == "1").count();
    assert_eq!((&value["steps"], &value["touching"]), (&steps["time"].len().into(), &touching.into()));
    assert!(
        touching > 100 && value["first_touch"]["step"].as_u64().unwrap() > 50,
        "it begins outside: {value}"
    );
    let first = steps["touching"].iter().position(|t| t == "1").unwrap();
    assert_eq!(value["first_touch"]["step"], first);
    assert_eq!(number(&value["first_touch"]["time"]), numbers(&steps["time"])[first]);
    let force = numbers(&steps["force"]);
    let most = force.iter().copied().fold(0.0, f64::max);
    assert_eq!(number(&value["largest_force"]["most"]), most);
    // Dips of 5 cm: the force is about stiffness times depth, upward, and steps are small against it.
    assert!(most > 5.0 && most < 30.0, "{most}");
    let up = numbers(&steps["force_z"]).into_iter().filter(|z| *z > 0.0).count();
    assert_eq!(up, force.iter().filter(|f| **f > 0.0).count(), "every force is upward");
    let vectors = three(&steps, ["force_x", "force_y", "force_z"]);
    let change = |w: &[[f64; 3]]| (0..3).map(|k| (w[1][k] - w[0][k]).powi(2)).sum::<f64>().sqrt();
    let changes = vectors.windows(2).map(change).fold(0.0, f64::max);
    assert!((number(&value["largest_change"]["most"]) - changes).abs() < 1e-12);
    let page = meta(&folder.path("felt/touch.html"));
    assert_eq!(page["frames"], value["steps"]);
    assert_eq!(page["parts"][0]["vertices"], value["points"]);
    assert_eq!(page["probe"]["path"]["n"], value["steps"]);
    let bodies = page["bodies"].as_array().unwrap().iter().map(|b| b["name"].as_str().unwrap());
    assert_eq!(bodies.collect::<Vec<_>>(), ["waves", "probe", "nearest point", "proxy"]);
    let text = fs::read_to_string(folder.path("felt/touch.html")).unwrap();
    assert!(text.contains("palpate touch --mode exact --force proxy --spacing 0.02"));
}

/// Each format gives the same answers, and they are those of looking at every point.
#[test]
fn contact_is_that_of_every_box_and_formats_agree() {
    let folder = Folder::new("formats");
    let (points, way) = (sheet(), path());
    let n = points.len();
    let head = "property double x\nproperty double y\nproperty double z\nend_header";
    let scans = [
        folder.write("s.xyz", rows(&points, " ")),
        folder.write("s.csv", format!("x,y,z\n{}", rows(&points, ","))),
        folder.write(
            "s.ply",
            format!("ply\nformat ascii 1.0\nelement vertex {n}\n{head}\n{}", rows(&points, " ")),
        ),
        folder.write(
            "s.pcd",
            format!(
                "VERSION 0.7\nFIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {n}\nHEIGHT 1\n\
                 VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\nDATA ascii\n{}",
                rows(&points, " ")
            ),
        ),
    ];
    let probe = folder.write("path.csv", format!("x,y,z\n{}", rows(&way, ",")));
    let mut tables = Vec::new();
    for (k, scan) in scans.iter().enumerate() {
        let out = folder.path(&format!("out{k}"));
        let value = answer(&["touch", scan, "--probe", &probe, "--box", "12mm", "-o", &out]);
        assert_eq!((&value["points"], &value["steps"]), (&900.into(), &600.into()));
        assert!((number(&value["box_edge"]) - 0.012).abs() < 1e-15);
        tables.push(fs::read_to_string(folder.path(&format!("out{k}/touch.csv"))).unwrap());
    }
    assert!(tables.windows(2).all(|w| w[0] == w[1]), "every format gives the same table");
    let steps = table(&folder.path("out0/touch.csv"));
    assert_eq!(three(&steps, ["x", "y", "z"]), way);
    let distance = numbers(&steps["distance"]);
    let (mut inside, mut close) = (0, 0);
    for (i, p) in way.iter().enumerate() {
        let gap = |q: &[f64; 3]| (0..3).map(|k| (p[k] - q[k]).abs()).fold(0.0, f64::max);
        let least = points.iter().map(gap).fold(f64::INFINITY, f64::min);
        // Positions are rounded by less than a nanometre or two here: nearer to the border nothing can be said.
        if (least - 0.006).abs() > 1e-7 {
            assert_eq!(steps["touching"][i] == "1", least < 0.006, "step {i}");
            inside += usize::from(least < 0.006);
        } else {
            close += 1;
        }
        let far = |q: &[f64; 3]| (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
        let nearest = points.iter().map(far).fold(f64::INFINITY, f64::min);
        assert!((distance[i] - nearest).abs() < 1e-7, "step {i}: {} {nearest}", distance[i]);
        let id: usize = steps["nearest_id"][i].parse().unwrap();
        assert!((far(&points[id]) - nearest).abs() < 1e-7);
    }
    assert!(inside > 60 && inside < 540 && close < 10, "{inside} {close}");
}

#[test]
fn the_papers_way_keeps_its_bounds() {
    let folder = Folder::new("paper");
    let out = folder.path("w");
    let args =
        ["touch", "--spacing", "20mm", "--mode", "paper", "--leaf", "10", "--force", "nearest", "-o", &out];
    let value = answer(&args);
    let (leaves, points) = (number(&value["most_leaves"]), number(&value["most_points"]));
    assert!((1.0..=7.0).contains(&leaves) && points > 0.0 && points <= 70.0, "{leaves} {points}");
    assert_eq!(
        (&value["mode"], &value["leaf"], &value["force"]),
        (&"paper".into(), &10.into(), &"nearest".into())
    );
    let steps = table(&folder.path("w/touch.csv"));
    assert!(steps["proxy_x"].iter().all(String::is_empty), "no proxy");
    // The force goes to the nearest point, and there is one only in a box.
    let near = three(&steps, ["x", "y", "z"]);
    let mut pushed = 0;
    for i in 0..near.len() {
        let force = numbers(&steps["force"][i..=i])[0];
        assert!(force == 0.0 || steps["touching"][i] == "1");
        if force > 0.0 {
            let distance = numbers(&steps["distance"][i..=i])[0];
            assert!((force - 500.0 * distance).abs() < 1e-3, "step {i}");
            pushed += 1;
        }
    }
    assert!(pushed > 100, "{pushed}");
    let exact = answer(&["touch", "--spacing", "20mm", "--force", "none"]);
    assert!(exact["most_leaves"].is_null() && number(&exact["largest_force"]["most"]) == 0.0);
    assert!(
        number(&exact["touching"]) >= number(&value["touching"]),
        "the rule misses boxes, never adds one"
    );
}

/// A path with times, damping, friction, a scan at a pose far away that moves: numbers stay finite, and far away nothing is lost.
#[test]
fn scans_far_away_and_moving_ones_are_touched() {
    let folder = Folder::new("far");
    let near = folder.write("near.xyz", rows(&sheet(), " "));
    let base = [4_000_000.0, 500_000.0, 512.0];
    let shifted = |all: Vec<[f64; 3]>| -> Vec<[f64; 3]> {
        all.into_iter().map(|p| core::array::from_fn(|k| p[k] + base[k])).collect()
    };
    let far = folder.write("far.xyz", rows(&shifted(sheet()), " "));
    let path_near = folder.write("near.csv", rows(&path(), ","));
    let path_far = folder.write("far.csv", rows(&shifted(path()), ","));
    let more = ["--friction", "0.4,0.3", "--damping", "2", "--up", "z"];
    let of = |scan: &str, way: &str, more: &[&str], out: &str| {
        let out = folder.path(out);
        let value = answer(&[&["touch", scan, "--probe", way, "-o", &out][..], more].concat());
        (value, table(&format!("{out}/touch.csv")))
    };
    let (a, near_table) = of(&near, &path_near, &more, "a");
    let (b, far_table) = of(&far, &path_far, &more, "b");
    assert_eq!(near_table["touching"], far_table["touching"]);
    assert!(number(&a["touching"]) > 50.0 && number(&a["largest_force"]["most"]) > 1.0, "{a}");
    let apart = numbers(&near_table["force"]).into_iter().zip(numbers(&far_table["force"]));
    let apart = apart.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-3 * number(&b["largest_force"]["most"]), "{apart}");
    // A scan that moves with the probe's frame: at a pose, nothing else changes.
    let posed = ["--pose", "4000000 500000 512"];
    let (c, _) = of(&near, &path_far, &[&more[..], &posed].concat(), "c");
    assert_eq!((&c["touching"], &c["steps"]), (&a["touching"], &a["steps"]));
    let moving = ["--velocity", "0 0 -0.05", "--spin", "0 0 1"];
    let (d, steps) = of(&near, &path_near, &[&more[..], &moving].concat(), "d");
    assert_ne!(d["touching"], a["touching"]);
    assert!(numbers(&steps["force"]).iter().all(|f| f.is_finite()));
    let page = meta(&folder.path("b/touch.html"));
    assert!(
        page["parts"][0]["min"].as_array().unwrap().iter().all(|x| number(x).abs() < 1.0),
        "about its middle"
    );
}

#[test]
fn words_for_people_name_what_happened() {
    let output = palpate(&["touch", "--spacing", "20mm", "-q", "--mode", "paper"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    for word in
        ["waves, touched", "15,625", "first touch", "largest force", "a step took", "looked at", "-o FOLDER"]
    {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(stdout(&palpate(&["--help"])).contains("palpate touch"));
    assert!(stdout(&palpate(&["touch", "--help"])).contains("Examples:"));
}

#[test]
fn points_without_faces_are_inspected() {
    let folder = Folder::new("inspect");
    let mut text = rows(&sheet(), " ");
    text += "nan 0 0\n0 0 0\n0 0 0\n";
    let scan = folder.write("s.xyz", text);
    let value = answer(&["inspect", &scan]);
    assert_eq!(
        (&value["points"], &value["duplicates"], &value["skipped"]),
        (&902.into(), &2.into(), &1.into())
    );
    assert!((number(&value["spacing"]) - 0.01).abs() < 2e-3, "{value}");
    let n = sheet().len();
    let head = "property float x\nproperty float y\nproperty float z\nend_header";
    let text = format!("ply\nformat ascii 1.0\nelement vertex {n}\n{head}\n{}", rows(&sheet(), " "));
    let ply = folder.write("p.ply", text);
    let said = stdout(&palpate(&["inspect", &ply]));
    assert!(
        said.contains("points without faces") && said.contains("palpate touch") && said.contains("900"),
        "{said}"
    );
    refuses(&["inspect", &folder.write("broken.obj", "v 0 0 0\nf 1 2 3\n")], &["broken.obj"]);
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new("refused");
    refuses(&["touch", "no-such.las"], &["no-such.las"]);
    refuses(&["touch", "sample:nothing"], &["nothing", "waves", "torus-knot"]);
    refuses(&["touch", &folder.write("empty.xyz", "")], &["empty.xyz"]);
    refuses(&["touch", &folder.write("none.xyz", "nan nan nan\n")], &["none.xyz"]);
    refuses(&["touch", &folder.write("words.xyz", "hello world\n")], &["words.xyz"]);
    let probe = |name: &str, text: &str| folder.write(name, text);
    refuses(&["touch", "--probe", &probe("e.csv", "")], &["e.csv", "no places"]);
    refuses(
        &["touch", "--probe", &probe("n.csv", "0,0,0\n0,nan,0\n")],
        &["n.csv", "line 2", "column 2", "NaN"],
    );
    refuses(&["touch", "--probe", &probe("t.csv", "0,0,0,1\n0,0,0,1\n")], &["t.csv", "line 2", "not after"]);
    refuses(&["touch", "--probe", "no-such.csv"], &["no-such.csv"]);
    refuses(&["touch", "--mode", "magic"], &["magic"]);
    refuses(&["touch", "--force", "magic"], &["magic"]);
    refuses(&["touch", "--leaf", "0"], &["leaf"]);
    refuses(&["touch", "--box=-1mm"], &["negative"]);
    refuses(&["touch", "--stiffness", "nan"], &["0 or more"]);
    refuses(&["touch", "--friction", "0.1,0.5"], &["friction"]);
    refuses(&["touch", "--rate", "0"], &["above 0"]);
    refuses(&["touch", "--pose", "1 2"], &["--pose", "2 values"]);
    refuses(&["touch", "--spin", "1 2"], &["three finite numbers"]);
    refuses(&["touch", "--spacing", "1um"], &["spacing"]);
    refuses(&["touch", "sample:gear", "--spacing", "1mm"], &["sample:waves"]);
    let file = folder.write("a.txt", "x");
    refuses(&["touch", "-o", &file], &["a.txt"]);
    let out = folder.path("kept");
    fs::create_dir_all(folder.path("kept/touch.png")).unwrap();
    refuses(&["touch", "-o", &out], &["touch.png", "folder"]);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "what is there is as it was");
    let value = common::answer_with(2, &["touch", "no-such.las"]);
    assert!(value["error"].as_str().unwrap().contains("no-such.las"));
}

/// One point, points at one place, points on a line: defined, without a panic.
#[test]
fn odd_scans_are_touched() {
    let folder = Folder::new("odd");
    for (name, text) in [
        ("one.xyz", "1 2 3\n".to_owned()),
        ("same.xyz", "1 2 3\n".repeat(500)),
        ("line.xyz", (0..200).map(|i| format!("{i} 0 0\n")).collect()),
        ("mast.xyz", (0..200).map(|i| format!("0 0 {i}\n")).collect()),
    ] {
        let out = folder.path("o");
        let value = answer(&["touch", &folder.write(name, text), "-o", &out]);
        assert_eq!(value["steps"], 6000, "{name}");
        assert!(number(&value["largest_force"]["most"]).is_finite());
        assert!(meta(&folder.path("o/touch.html"))["frames"] == 6000);
    }
}

/// Ctrl-C ends the path; what was found is written, whole.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_found() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let folder = Folder::new("stopped");
    let out = folder.path("w");
    let many: Vec<[f64; 3]> = path().into_iter().cycle().take(1_200_000).collect();
    let (scan, probe) = (folder.write("s.xyz", rows(&sheet(), " ")), folder.write("p.csv", rows(&many, ",")));
    let args = ["touch", &scan, "--probe", &probe, "-o", &out];
    let mut child = command(&args).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The line of the stage before says that the path begins.
    while said.read_line(&mut line).unwrap() > 0 && !line.contains("prepare") {}
    std::thread::sleep(std::time::Duration::from_millis(100));
    Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    said.read_to_string(&mut line).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{line}");
    assert!(text.contains("stopped by Ctrl-C") && text.contains("is kept"), "{text}");
    let done = fs::read_to_string(folder.path("w/touch.csv")).unwrap().lines().count() - 1;
    assert!((1..1_200_000).contains(&done), "{done}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
}
