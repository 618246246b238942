//! Ways to find contacts, and which of them are handed on: `query --plain`, `--budget`, `--segments` and `--reduce`.
//!
//! Referee: the contacts that `query` lists without them, and sums over listed contacts made here.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, answer, cuboid, has_keys, number, palpate, refuses, stdout, vector};
use serde_json::Value;

const STIFFNESS: f64 = 1e6;
const POSE: [f64; 3] = [0.9, 0.35, 0.2];

/// Two boxes, kept, that overlap at an edge, turned: contacts with several normals, and a torque.
struct Boxes {
    _folder: Folder,
    a: String,
    b: String,
}

impl Boxes {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let mesh = folder.write("box.obj", cuboid([-0.5; 3], [0.5; 3]));
        let [a, b] = ["a.palp", "b.palp"].map(|n| folder.path(n));
        // Another number of points: `fewer` is one of them for certain.
        answer(&["build", &mesh, "-o", &a, "--resolution", "64", "--spacing", "0.02"]);
        answer(&["build", &mesh, "-o", &b, "--resolution", "64", "--spacing", "0.025"]);
        Self { _folder: folder, a, b }
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let pose = "0.9 0.35 0.2 0.1 0.2 0.05 0.97";
        [&["query", &self.a, &self.b, "--pose", pose, "--stiffness", "1e6"], more].concat()
    }

    fn ask(&self, more: &[&str]) -> Value {
        answer(&self.args(more))
    }
}

fn contacts(value: &Value) -> &Vec<Value> {
    value["contacts"].as_array().unwrap()
}

fn ids(value: &Value) -> Vec<u64> {
    contacts(value).iter().map(|c| c["id"].as_u64().unwrap()).collect()
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    length([0, 1, 2].map(|i| a[i] - b[i]))
}

/// Force, torque about B's origin and area of the listed contacts, each with its depth and normal; half of each of two
/// directions.
fn sums(value: &Value, share: f64) -> ([f64; 3], [f64; 3], f64) {
    let (mut force, mut torque, mut area) = ([0.0; 3], [0.0; 3], 0.0);
    for c in contacts(value) {
        let (p, n) = (vector(&c["point"]), vector(&c["normal"]));
        let size = share * STIFFNESS * number(&c["area"]) * (-number(&c["distance"])).max(0.0);
        let (f, r) = (n.map(|x| x * size), [0, 1, 2].map(|i| p[i] - POSE[i]));
        for i in 0..3 {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            force[i] += f[i];
            torque[i] += r[j] * f[k] - r[k] * f[j];
        }
        area += share * number(&c["area"]);
    }
    (force, torque, area)
}

#[test]
fn reduced_contacts_push_as_all_do() {
    let boxes = Boxes::new("reduce");
    for (more, share) in [(&[][..], 1.0), (&["--points-of", "both"][..], 0.5)] {
        let all = boxes.ask(more);
        assert!(contacts(&all).len() > 300 && all.get("chosen").is_none(), "{}", contacts(&all).len());
        let (force, torque) = (vector(&all["force"]), vector(&all["torque"]));
        assert!(length(force) > 10.0 && length(torque) > 1.0, "{force:?} {torque:?}");
        let (summed, _, area) = sums(&all, share);
        assert!(apart(summed, force) < 1e-4 * length(force), "the sums of this test are right");
        for n in [4, 9, 40] {
            let fewer = boxes.ask(&[more, &["--reduce", &n.to_string()]].concat());
            // What was found is the same; what is listed is not.
            for key in ["contact_count", "force", "torque", "contact_area"] {
                assert_eq!(fewer[key], all[key], "{key}");
            }
            let most = n * (1.0 / share) as usize;
            assert!((most / 2 + 1..=most).contains(&contacts(&fewer).len()), "{}", contacts(&fewer).len());
            let (f, t, s) = sums(&fewer, share);
            assert!(apart(f, force) < 1e-4 * length(force), "{n}: {f:?} {force:?}");
            assert!(apart(t, torque) < 1e-4 * length(torque), "{n}: {t:?} {torque:?}");
            assert!((s / area - 1.0).abs() < 1e-4, "{n}: {s} {area}");
            let chosen = &fewer["chosen"];
            has_keys(chosen, "by count force torque force_error torque_error");
            assert_eq!(chosen["by"], "reduce");
            assert_eq!(chosen["count"].as_u64(), Some(contacts(&fewer).len() as u64));
            assert!(apart(vector(&chosen["force"]), force) < 1e-4 * length(force), "{chosen}");
            assert!(number(&chosen["force_error"]) < 1e-5 && number(&chosen["torque_error"]) < 1e-5);
        }
    }
    // More than there are: all of them.
    let all = boxes.ask(&[]);
    assert_eq!(boxes.ask(&["--reduce", "1000000"])["contacts"], all["contacts"]);
    // Along the shell's normals the force is another one, which is said.
    let shell = boxes.ask(&["--reduce", "9", "--direction", "shell"]);
    assert!(shell["warnings"].to_string().contains("--direction shell"), "{}", shell["warnings"]);
    let text = stdout(&palpate(&boxes.args(&["--reduce", "9", "-q"])));
    assert!(text.contains("9 that push as all do"), "{text}");
    assert_eq!(text.matches("normal (").count(), 9, "each is listed: {text}");
}

#[test]
fn bullets_four_are_among_the_contacts_and_the_deepest_is_first() {
    let boxes = Boxes::new("bullet");
    let (all, four) = (boxes.ask(&[]), boxes.ask(&["--reduce", "bullet"]));
    assert_eq!((&four["chosen"]["by"], &four["chosen"]["count"]), (&"bullet".into(), &4.into()));
    assert!(four["chosen"]["force"].is_null(), "four do not push as all do");
    assert_eq!(four["force"], all["force"]);
    assert!(contacts(&four).iter().all(|c| contacts(&all).contains(c)));
    let deepest = contacts(&all).iter().map(|c| number(&c["distance"])).fold(0.0, f64::min);
    assert_eq!(number(&contacts(&four)[0]["distance"]), deepest);
}

#[test]
fn segments_give_one_contact_each_and_the_deepest_of_all_is_among_them() {
    let boxes = Boxes::new("segments");
    let (all, few) = (boxes.ask(&[]), boxes.ask(&["--segments"]));
    let chosen = &few["chosen"];
    assert_eq!(chosen["by"], "segments");
    let (count, segments) = (contacts(&few).len() as u64, chosen["segments"].as_u64().unwrap());
    assert!((2..=segments).contains(&count) && segments < 60, "{count} of {segments}");
    assert_eq!(chosen["count"].as_u64(), Some(count));
    assert_eq!((&few["contact_count"], &few["force"]), (&all["contact_count"], &all["force"]));
    assert!(contacts(&few).iter().all(|c| contacts(&all).contains(c)));
    let deepest = |v: &Value| contacts(v).iter().map(|c| number(&c["distance"])).fold(0.0, f64::min);
    assert_eq!(deepest(&few), deepest(&all));
    // Far apart: no contacts, and as many segments as before.
    let far = answer(&["query", &boxes.a, &boxes.b, "--pose", "5 0 0", "--segments"]);
    assert_eq!((&far["chosen"]["count"], &far["chosen"]["segments"]), (&0.into(), &chosen["segments"]));
    let text = stdout(&palpate(&boxes.args(&["--segments", "-q"])));
    assert!(text.contains("the deepest of each segment"), "{text}");
}

#[test]
fn a_budget_says_how_far_it_came() {
    let boxes = Boxes::new("budget");
    let all = boxes.ask(&[]);
    let force = vector(&all["force"]);
    // Few points: not complete, but a picture of the whole, coarse; the same on each run.
    let few = boxes.ask(&["--budget", "300"]);
    let budget = &few["budget"];
    has_keys(budget, "points seconds complete reached");
    assert_eq!((&budget["points"], &budget["seconds"]), (&300.into(), &Value::Null));
    assert_eq!(budget["complete"], false, "{budget}");
    let reached = &budget["reached"][0];
    has_keys(reached, "of level levels beyond tested complete");
    assert!(number(&reached["level"]) < number(&reached["levels"]), "{reached}");
    assert!((100.0..600.0).contains(&number(&reached["tested"])), "{reached}");
    assert!((5..contacts(&all).len() / 3).contains(&contacts(&few).len()), "{}", contacts(&few).len());
    let off = apart(vector(&few["force"]), force) / length(force);
    assert!(off > 1e-4 && off < 0.5, "coarse, but about the same: {off}");
    assert_eq!(boxes.ask(&["--budget", "300"])["contacts"], few["contacts"]);
    // The distance is not part of the budget.
    assert_eq!((&few["distance"], &few["intersects"]), (&all["distance"], &true.into()));
    // Enough, of points or of time: all contacts, and no more was tested than needed.
    for enough in ["1000000", "100s"] {
        let value = boxes.ask(&["--budget", enough]);
        assert_eq!(value["budget"]["complete"], true, "{}", value["budget"]);
        assert_eq!((&value["contacts"], &value["force"]), (&all["contacts"], &all["force"]), "{enough}");
        let reached = &value["budget"]["reached"][0];
        assert_eq!(reached["level"], reached["levels"]);
        assert!(number(&reached["tested"]) < 1e5, "{reached}");
    }
    // None at all: defined, and said.
    let none = boxes.ask(&["--budget", "0"]);
    assert_eq!((&none["contact_count"], &none["budget"]["complete"]), (&0.into(), &false.into()));
    assert_eq!((vector(&none["force"]), &none["intersects"]), ([0.0; 3], &true.into()));
    let at_once = boxes.ask(&["--budget", "0us"]);
    assert_eq!(at_once["budget"]["complete"], false, "{}", at_once["budget"]);
    assert!(contacts(&at_once).len() < contacts(&all).len() / 3);
    // Both directions have their own, and a budget may be reduced.
    let both = boxes.ask(&["--budget", "300", "--points-of", "both", "--reduce", "6"]);
    let reached = both["budget"]["reached"].as_array().unwrap();
    assert_eq!(reached.iter().map(|r| &r["of"]).collect::<Vec<_>>(), ["b", "a"]);
    assert!(contacts(&both).len() <= 12 && both["contact_count"].as_u64().unwrap() > 12);
    let summed = sums(&both, 0.5).0;
    assert!(apart(summed, vector(&both["force"])) < 1e-4 * length(summed));
    // In words.
    for (budget, word) in [("300", "level "), ("0", "nothing was tested"), ("1000000", "enough")] {
        let text = stdout(&palpate(&boxes.args(&["--budget", budget, "-q"])));
        assert!(text.contains(word), "{budget}: no {word} in {text}");
    }
}

#[test]
fn point_by_point_gives_the_same_contacts_and_many_poses_keep_their_options() {
    let boxes = Boxes::new("plain");
    for more in [&[][..], &["--points-of", "a"], &["--points-of", "both"], &["--margin", "0.05"]] {
        let (tree, plain) = (boxes.ask(more), boxes.ask(&[more, &["--plain"]].concat()));
        assert!(ids(&tree).len() > 300, "{more:?}");
        for key in ["contacts", "force", "torque", "distance"] {
            assert_eq!(tree[key], plain[key], "{more:?} {key}");
        }
    }
    let folder = Folder::new("poses");
    let poses = folder.write("p.csv", "5,0,0\n0.9,0.35,0.2,0.1,0.2,0.05,0.97\n");
    let many = ["query", &boxes.a, &boxes.b, "--poses", &poses, "--stiffness", "1e6", "--contacts"];
    let value = answer(&[&many[..], &["--budget", "300", "--reduce", "5"]].concat());
    let one = boxes.ask(&["--budget", "300", "--reduce", "5"]);
    let (far, near) = (&value["results"][0], &value["results"][1]);
    assert_eq!((&near["contacts"], &near["force"]), (&one["contacts"], &one["force"]));
    assert_eq!(near["budget"], one["budget"]);
    // Far away the first balls say that nothing is near.
    assert_eq!((&far["contact_count"], &far["budget"]["complete"]), (&0.into(), &true.into()));
    let text = stdout(&palpate(&[&many[..], &["--budget", "300", "-q"]].concat()));
    assert!(text.contains("1 of 2 searches ended with the budget"), "{text}");
}

#[test]
fn wrong_values_are_refused_with_a_reason() {
    let pair = ["query", "sample:sphere", "sample:sphere", "--resolution", "24"];
    for (more, word) in [
        (["--budget", "nan"], "20us"),
        (["--budget", "-5"], "0 or more"),
        (["--budget", "1.5"], "whole number"),
        (["--budget", "-1us"], "0 or more"),
        (["--budget", "nanus"], "0 or more"),
        (["--budget", "infs"], "ends"),
        (["--budget", "soon"], "4000"),
        (["--reduce", "0"], "1 or more"),
        (["--reduce", "-1"], "1 or more"),
        (["--reduce", "nan"], "bullet"),
        (["--reduce", "2.5"], "bullet"),
    ] {
        refuses(&[&pair[..], &more].concat(), &[more[0], word]);
    }
    for clash in [
        &["--segments", "--reduce", "3"][..],
        &["--segments", "--budget", "3"],
        &["--segments", "--plain"],
        &["--plain", "--budget", "3"],
    ] {
        refuses(&[&pair[..], clash].concat(), &["cannot be used with"]);
    }
}
