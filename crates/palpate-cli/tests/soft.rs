//! `palpate soft`, as a user runs it: tables, answer and page say the same.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

mod common;

use common::{Folder, answer, command, cuboid, has_keys, number, palpate, refuses, stdout};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The text of a script element of a page.
fn script<'a>(page: &'a str, id: &str) -> &'a str {
    let from = page.find(&format!("id=\"{id}\">")).unwrap() + id.len() + 6;
    page[from..].split("</script>").next().unwrap()
}

fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text.trim().bytes().filter(|c| *c != b'=').map(|c| u32::from(value(c))).collect();
    let mut out = Vec::new();
    for four in digits.chunks(4) {
        let word = four.iter().fold(0, |w, d| w << 6 | d) << (6 * (4 - four.len()));
        out.extend_from_slice(&word.to_be_bytes()[1..four.len()]);
    }
    out
}

/// The numbers on a page.
struct Page {
    meta: Value,
    bytes: Vec<u8>,
}

impl Page {
    fn read(path: &str) -> Self {
        let page = fs::read_to_string(path).unwrap();
        assert!(page.contains("webgl2") && !page.contains("http://") && !page.contains("https://"));
        Self {
            meta: serde_json::from_str(script(&page, "meta")).unwrap(),
            bytes: decoded(script(&page, "data")),
        }
    }

    fn frames(&self) -> usize {
        self.meta["frames"].as_u64().unwrap() as usize
    }

    fn words(&self, at: &Value, n: usize) -> Vec<u32> {
        let at = at.as_u64().unwrap() as usize;
        self.bytes[at..at + 4 * n].chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    }

    /// The list of each frame.
    fn lists(&self, lists: &Value) -> Vec<Vec<u32>> {
        let first = self.words(&lists[0], self.frames() + 1);
        let all = self.words(&lists[1], first[self.frames()] as usize);
        first.windows(2).map(|w| all[w[0] as usize..w[1] as usize].to_vec()).collect()
    }
}

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

fn whole(column: &[String]) -> Vec<u64> {
    column.iter().map(|x| x.parse().unwrap()).collect()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).collect()
}

#[test]
fn tables_answer_and_page_say_the_same() {
    let folder = Folder::new("same");
    let out = folder.path("waves");
    let value =
        answer(&["soft", "--steps", "40", "--wave", "0.05", "--contacts", "--remove", "0.1", "-o", &out]);
    has_keys(
        &value,
        "meshes steps frames method chosen first_contact pairs deepest step_us move_us pairs_us hash files",
    );
    assert_eq!(
        (&value["steps"], &value["frames"], &value["interrupted"]),
        (&40.into(), &40.into(), &false.into())
    );
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["contacts.csv", "motion.csv", "motion.html", "motion.png"], "nothing else is left");
    assert_eq!(value["files"].as_array().unwrap().len(), 4);
    assert_eq!(&fs::read(folder.path("waves/motion.png")).unwrap()[1..4], b"PNG");

    let steps = table(&folder.path("waves/motion.csv"));
    let contacts = table(&folder.path("waves/contacts.csv"));
    let page = Page::read(&folder.path("waves/motion.html"));
    let pairs = numbers(&value["each_step"]["pairs"]);
    assert_eq!(whole(&steps["step"]), (0..40).collect::<Vec<_>>());
    assert_eq!(whole(&steps["pairs"]), pairs);
    assert!(pairs[0] == 0 && pairs[39] > 100, "{pairs:?}");
    let first = pairs.iter().position(|n| *n > 0).unwrap();
    assert_eq!(value["first_contact"], first);
    assert_eq!(number(&value["pairs"]["most"]) as u64, *pairs.iter().max().unwrap());
    let shown = page.words(&page.meta["contacts"], page.frames());
    assert_eq!(shown.iter().map(|n| u64::from(*n)).collect::<Vec<_>>(), pairs);

    // Triangles that are coloured are those of the contacts, in each frame.
    let mut hits = vec![[BTreeSet::new(), BTreeSet::new()]; 40];
    let mut rows = vec![0_u64; 40];
    for (i, step) in whole(&contacts["step"]).into_iter().enumerate() {
        rows[step as usize] += 1;
        assert_eq!(contacts["meshes"][i], "ab");
        for (side, name) in ["triangle_1", "triangle_2"].into_iter().enumerate() {
            hits[step as usize][side].insert(contacts[name][i].parse::<u32>().unwrap());
        }
    }
    assert_eq!(rows, pairs);
    for (side, name) in ["triangles_a", "triangles_b"].into_iter().enumerate() {
        let coloured = page.lists(&page.meta["parts"][side]["hits"]);
        for step in 0..40 {
            assert_eq!(coloured[step], hits[step][side].iter().copied().collect::<Vec<_>>(), "step {step}");
            assert_eq!(value["each_step"]["triangles"][step][side], coloured[step].len());
        }
        let counted: Vec<u64> = coloured.iter().map(|l| l.len() as u64).collect();
        assert_eq!(whole(&steps[name]), counted);
        let switched: usize = page.lists(&page.meta["parts"][side]["switched"]).iter().map(Vec::len).sum();
        assert_eq!(value["off"][side], switched);
        assert_eq!(switched, 704, "a tenth of 7,040");
    }
    let text = fs::read_to_string(folder.path("waves/motion.html")).unwrap();
    assert!(text.contains("palpate soft --steps 40 --method auto --wave 0.05 --remove 0.1 --contacts"));
}

#[test]
fn files_of_people_are_read_and_every_way_finds_the_same() {
    let folder = Folder::new("files");
    let block = folder.write("block.obj", cuboid([0.0; 3], [30.0, 20.0, 10.0]));
    let base = ["soft", &block, "sample:sphere", "--unit", "mm", "--steps", "12", "--method"];
    let of = |way: &str| answer(&[&base[..], &[way]].concat());
    let (auto, cut, refit) = (of("auto"), of("cut"), of("refit"));
    assert_eq!((&auto["hash"], &auto["hash"]), (&cut["hash"], &refit["hash"]));
    assert_eq!((&cut["chosen"]["refit"], &refit["chosen"]["cut"]), (&0.into(), &0.into()));
    assert!(number(&auto["all_pairs"]) > 20.0, "{auto}");
    assert_eq!(
        (&auto["meshes"][0]["name"], &auto["meshes"][0]["triangles"]),
        (&"block.obj".into(), &12.into())
    );
    assert!((number(&auto["meshes"][0]["size"]) - 0.03).abs() < 1e-9);
    assert_eq!(auto["files"].as_array().unwrap().len(), 0);
    // One mesh is there twice.
    let twice = answer(&["soft", &block, "--steps", "3", "--own"]);
    assert_eq!((&twice["meshes"][1]["name"], &twice["own_pairs"]), (&"block.obj B".into(), &0.into()));
}

#[test]
fn words_for_people_name_what_happened() {
    let output = palpate(&["soft", "--steps", "30", "--contacts", "--own", "-q"]);
    assert!(output.status.success());
    let said = stdout(&output);
    for word in [
        "knot A and knot B",
        "7,040 and 7,040 triangles",
        "30, auto: ",
        "first contact",
        "first touch",
        "deepest pair",
        "finding pairs",
        "hash of all pairs",
        "-o FOLDER",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(stdout(&palpate(&["--help"])).contains("palpate soft"));
    assert!(stdout(&palpate(&["soft", "--help"])).contains("Examples:"));
}

/// A fine mesh has fewer frames on its page, and the page says so; the table has every step.
#[test]
fn pages_of_fine_meshes_leave_steps_out_and_say_so() {
    let folder = Folder::new("fine");
    let out = folder.path("w");
    let value = answer(&["soft", "sample:torus-knot", "--steps", "140", "-o", &out]);
    assert_eq!((&value["steps"], &value["frames"]), (&140.into(), &71.into()));
    let told = value["warnings"][0].as_str().unwrap();
    assert!(told.contains("one step in 2 is on the page"), "{told}");
    let page = Page::read(&folder.path("w/motion.html"));
    let steps = page.words(&page.meta["soft"]["steps"], page.frames());
    assert_eq!((steps[1], steps[69], steps[70]), (2, 138, 139));
    let pairs = numbers(&value["each_step"]["pairs"]);
    let shown = page.words(&page.meta["contacts"], page.frames());
    for (step, n) in steps.iter().zip(shown) {
        assert_eq!(u64::from(n), pairs[*step as usize]);
    }
    assert!(fs::metadata(folder.path("w/motion.html")).unwrap().len() < 32_000_000);
    assert_eq!(table(&folder.path("w/motion.csv"))["step"].len(), 140);
}

#[test]
fn what_cannot_be_is_refused() {
    let with = |more: &[&'static str]| [&["soft", "--steps", "3"][..], more].concat();
    refuses(&["soft", "--steps", "0"], &["steps"]);
    refuses(&["soft", "--steps", "1000000"], &["steps"]);
    refuses(&with(&["--wave", "nan"]), &["from 0 to 1"]);
    refuses(&with(&["--wave", "-1"]), &["from 0 to 1"]);
    refuses(&with(&["--wave", "inf"]), &["from 0 to 1"]);
    refuses(&with(&["--apart", "NaN"]), &["from 0 to 10"]);
    refuses(&with(&["--overlap", "11"]), &["from 0 to 10"]);
    refuses(&with(&["--remove", "1.5"]), &["from 0 to 1"]);
    refuses(&with(&["--method", "magic"]), &["magic"]);
    refuses(&with(&["no-such.obj"]), &["no-such.obj"]);
    refuses(&with(&["sample:sphere", "no-such.obj"]), &["second", "no-such.obj"]);
    refuses(&with(&["sample:nothing"]), &["nothing", "torus-knot"]);
    refuses(&with(&["no-such.palp"]), &["no-such.palp"]);
    refuses(&with(&["a.obj", "b.obj", "c.obj"]), &["c.obj"]);
    let folder = Folder::new("refused");
    let empty = folder.write("empty.obj", "");
    refuses(&["soft", &empty], &["empty.obj"]);
    let flat = folder.write("line.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n");
    refuses(&["soft", &flat], &["line.obj"]);
    let file = folder.write("a.txt", "x");
    refuses(&["soft", "-o", &file], &["a.txt"]);
    // What is there already is as it was.
    let out = folder.path("kept");
    fs::create_dir_all(&out).unwrap();
    fs::create_dir_all(folder.path("kept/motion.csv")).unwrap();
    refuses(&["soft", "--steps", "3", "-o", &out], &["motion.csv", "folder"]);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    let value = common::answer_with(2, &["soft", "no-such.obj"]);
    assert!(value["error"].as_str().unwrap().contains("no-such.obj"));
}

/// A table of contacts of an earlier motion is not taken for one of this.
#[test]
fn contacts_of_another_motion_are_named() {
    let folder = Folder::new("stale");
    let out = folder.path("w");
    answer(&["soft", "sample:cuboid", "--steps", "4", "--contacts", "-o", &out]);
    let value = answer(&["soft", "sample:cuboid", "--steps", "4", "-o", &out]);
    assert!(value["warnings"][0].as_str().unwrap().contains("contacts.csv is of another motion"), "{value}");
}

/// Ctrl-C ends the motion; what was found is written, whole.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_found() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let folder = Folder::new("stopped");
    let out = folder.path("w");
    let args = ["soft", "sample:sphere", "--steps", "100000", "--contacts", "-o", &out];
    let mut child = command(&args).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The line of the stage before says that the motion begins.
    while said.read_line(&mut line).unwrap() > 0 && !line.contains("read") {}
    std::thread::sleep(std::time::Duration::from_millis(300));
    Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    said.read_to_string(&mut line).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{line}");
    assert!(text.contains("stopped by Ctrl-C") && text.contains("is kept"), "{text}");
    let done = table(&folder.path("w/motion.csv"))["step"].len();
    assert!((1..100_000).contains(&done), "{done}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 4);
}
