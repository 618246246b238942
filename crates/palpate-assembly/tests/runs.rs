//! Runs that are stopped, repeated, changed, and fed with what is broken.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

use glam::DVec3;
use palpate::Pose;
use palpate::mesh::{samples, write_ply, write_stl};
use palpate::progress::{Progress, Silent};
use palpate_assembly::sample::{self, CLEARANCE};
use palpate_assembly::{Job, Kind, Params, Part, Place, Report, RunError, csv, json, read, run};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of this test's own, empty at the start and gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("palpate-assembly-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn made(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Wishes to stop after so many steps.
struct StopAfter {
    left: AtomicU64,
}

impl Progress for StopAfter {
    fn stage(&self, _name: &'static str, _steps: u64) {}
    fn advance(&self, steps: u64) {
        let _ =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |l| Some(l.saturating_sub(steps)));
    }
    fn cancelled(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

fn text(job: &Job, params: &Params, report: &Report) -> String {
    csv(job, &report.findings) + &json(job, params, report, &report.findings).to_string()
}

fn place<'a>(journal: &'a Path, cache: &'a Path) -> Place<'a> {
    Place { journal: Some(journal), cache: Some(cache) }
}

#[test]
fn a_stopped_run_goes_on_and_ends_the_same() {
    let folder = Folder::new("stop");
    let sample = sample::assembly(36, 5);
    let params = Params { threads: 2, ..Params::new(CLEARANCE) };
    let whole = run(&sample.job, &params, &Place::default(), &Silent).unwrap();
    let (journal, cache) = (folder.made("journal"), folder.made("cache"));
    let mut stops = 0;
    let last = loop {
        // Later and later: what needs shapes is glanced at again.
        let stop = StopAfter { left: AtomicU64::new(7 + 6 * stops) };
        match run(&sample.job, &params, &place(&journal, &cache), &stop) {
            Ok(report) => break report,
            Err(RunError::Cancelled { left, pairs }) => assert!(left <= pairs && left > 0),
            Err(other) => panic!("{other}"),
        }
        stops += 1;
        assert!(stops < 100);
        // As a kill leaves it: half a line at the end.
        let file = journal.join("findings.journal");
        let mut bytes = fs::read(&file).unwrap();
        bytes.extend_from_slice(b"{\"key\":\"12");
        fs::write(&file, bytes).unwrap();
    };
    assert!(stops >= 2, "it was stopped in the middle");
    assert_eq!(text(&sample.job, &params, &last), text(&sample.job, &params, &whole));
    // And again: nothing is left to do, nothing built.
    let again = run(&sample.job, &params, &place(&journal, &cache), &Silent).unwrap();
    assert_eq!((again.known, again.shapes), (again.pairs, [0, 0, 0]));
    assert_eq!(text(&sample.job, &params, &again), text(&sample.job, &params, &whole));
    // Without the journal shapes are found, none is built.
    let other = folder.made("other");
    let cached = run(&sample.job, &params, &place(&other, &cache), &Silent).unwrap();
    assert!(cached.shapes[0] == 0 && cached.shapes[1] > 0, "{:?}", cached.shapes);
    assert_eq!(text(&sample.job, &params, &cached), text(&sample.job, &params, &whole));
    // Another clearance: everything is looked at again.
    let wider = Params { tolerance: Some(params.tolerance()), ..Params::new(2.0 * CLEARANCE) };
    let report = run(&sample.job, &wider, &place(&journal, &cache), &Silent).unwrap();
    assert_eq!(report.known, 0);
    assert!(report.findings.len() > whole.findings.len(), "near misses are too near now");
}

#[test]
fn a_changed_part_costs_its_own_pairs() {
    let folder = Folder::new("change");
    let (journal, cache) = (folder.made("journal"), folder.made("cache"));
    let params = Params::new(CLEARANCE);
    let row = |sizes: [f64; 6]| {
        let mut job = Job::default();
        for (i, size) in sizes.iter().enumerate() {
            let part = Part::new(&format!("b{i}"), samples::cuboid(DVec3::splat(*size))).unwrap();
            job.parts.push(part);
            let pose = Pose::from_translation(DVec3::X * 0.0102 * i as f64);
            job.instances.push(palpate_assembly::Instance { name: format!("b{i}"), part: i, pose, to: None });
        }
        job
    };
    // 0.2 mm between neighbours.
    let first = run(&row([0.01; 6]), &params, &place(&journal, &cache), &Silent).unwrap();
    assert_eq!((first.pairs, first.known, first.findings.len()), (5, 0, 5));
    let second =
        run(&row([0.01, 0.01, 0.0101, 0.01, 0.01, 0.01]), &params, &place(&journal, &cache), &Silent)
            .unwrap();
    assert_eq!((second.pairs, second.known), (5, 3));
    assert!((second.findings[1].outcome.distance - 0.15e-3).abs() < 1e-12);
}

#[test]
fn a_folder_is_what_its_sample_is_and_broken_parts_are_told() {
    let folder = Folder::new("folder");
    let sample = sample::assembly(34, 6);
    sample.job.write(&folder.0).unwrap();
    let job = read(&folder.0, 1e-3, &Silent).unwrap();
    assert_eq!(job.instances.len(), 34);
    let params = Params::new(CLEARANCE);
    let [x, y] = [&sample.job, &job].map(|job| run(job, &params, &Place::default(), &Silent).unwrap());
    assert_eq!(csv(&sample.job, &x.findings), csv(&job, &y.findings));
    // A part cut short: it is named, and pairs without it are as before.
    let broken = folder.0.join("part-0001.ply");
    let bytes = fs::read(&broken).unwrap();
    fs::write(&broken, &bytes[..bytes.len() / 2]).unwrap();
    let job = read(&folder.0, 1.0, &Silent).unwrap();
    assert_eq!((job.failures.len(), job.instances.len()), (1, 33));
    assert_eq!(job.failures[0].part, "part-0001.ply");
    let report = run(&job, &params, &Place::default(), &Silent).unwrap();
    assert_eq!(report.failures, job.failures);
    assert_eq!(report.findings.len(), x.findings.iter().filter(|f| f.pair[0] != 0).count());
    assert!(json(&job, &params, &report, &[])["failures"][0]["part"] == "part-0001.ply");
}

#[test]
fn folders_without_a_list_units_and_empty_ones() {
    let folder = Folder::new("plain");
    assert!(read(&folder.0, 1.0, &Silent).unwrap_err().to_string().contains("no parts"));
    assert!(read(&folder.0.join("none"), 1.0, &Silent).is_err());
    // Millimetres: 0.3 mm apart.
    let mut away = samples::cuboid(DVec3::splat(10.0));
    away.positions.iter_mut().for_each(|p| p.x += 10.3);
    for (name, mesh) in [("a.stl", samples::cuboid(DVec3::splat(10.0))), ("b.stl", away)] {
        write_stl(File::create(folder.0.join(name)).unwrap(), &mesh.positions, &mesh.triangles).unwrap();
    }
    fs::write(folder.0.join("notes.txt"), "no part").unwrap();
    let params = Params::new(CLEARANCE);
    let look = |job: &Job| run(job, &params, &Place::default(), &Silent).unwrap().findings;
    let job = read(&folder.0, 1e-3, &Silent).unwrap();
    let found = look(&job);
    assert_eq!(found.len(), 1);
    // STL holds single precision.
    assert!((found[0].outcome.distance - 0.3e-3).abs() < 1e-8 && found[0].outcome.kind == Kind::Clearance);
    assert!(look(&read(&folder.0, 1.0, &Silent).unwrap()).is_empty(), "0.3 m apart");
    // A table of two instances of one part.
    fs::write(folder.0.join("assembly.csv"), "part,name,x,y,z\na.stl,left,0,0,0\na.stl,left,9,0,0\n")
        .unwrap();
    let job = read(&folder.0, 1e-3, &Silent).unwrap();
    assert_eq!((job.parts.len(), job.instances.len()), (1, 2));
    assert_eq!(job.instances[1].name, "left #2");
    let found = look(&job);
    assert!((found[0].outcome.depth() - 1e-3).abs() < 1e-8, "{:?}", found[0]);
    fs::write(folder.0.join("assembly.csv"), "part,colour\na.stl,red\n").unwrap();
    assert!(read(&folder.0, 1e-3, &Silent).unwrap_err().to_string().contains("colour"));
}

#[test]
fn scenes_have_their_nodes_as_parts() {
    let folder = Folder::new("scene");
    let cube = samples::cuboid(DVec3::splat(0.01));
    let mut buffer: Vec<u8> =
        cube.positions.iter().flat_map(|p| p.as_vec3().to_array()).flat_map(f32::to_le_bytes).collect();
    buffer.extend(cube.triangles.iter().flatten().flat_map(|v| v.to_le_bytes()));
    fs::write(folder.0.join("cube.bin"), &buffer).unwrap();
    let scene = r#"{"asset":{"version":"2.0"},"scenes":[{"nodes":[0]}],"nodes":[
        {"name":"frame","children":[1,2,3],"rotation":[0,0,0.6,0.8],"translation":[1,2,3]},
        {"name":"one","mesh":0},{"name":"two","mesh":0,"translation":[0.0102,0,0]},
        {"mesh":0,"scale":[2,1,1],"translation":[0.024,0,0]}],
        "meshes":[{"name":"cube","primitives":[{"attributes":{"POSITION":0},"indices":1}]}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":8,"type":"VEC3"},
        {"bufferView":1,"componentType":5125,"count":36,"type":"SCALAR"}],
        "bufferViews":[{"buffer":0,"byteLength":96},{"buffer":0,"byteOffset":96,"byteLength":144}],
        "buffers":[{"byteLength":240,"uri":"cube.bin"}]}"#;
    let file = folder.0.join("scene.gltf");
    fs::write(&file, scene).unwrap();
    let job = read(&file, 1.0, &Silent).unwrap();
    assert_eq!((job.parts.len(), job.instances.len()), (2, 3), "a part for each size");
    let names: Vec<&str> = job.instances.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "cube"]);
    let found = run(&job, &Params::new(CLEARANCE), &Place::default(), &Silent).unwrap().findings;
    assert_eq!(found.len(), 2);
    // Files hold single precision.
    assert!((found[0].outcome.distance - 0.2e-3).abs() < 1e-8, "{:?}", found[0]);
    assert!((found[1].outcome.depth() - 1.2e-3).abs() < 1e-8, "{:?}", found[1]);
    let mesh = folder.0.join("cube.ply");
    write_ply(File::create(&mesh).unwrap(), &cube.positions, &cube.triangles).unwrap();
    assert!(read(&mesh, 1.0, &Silent).unwrap_err().to_string().contains("neither a folder"));
}

#[test]
fn a_disk_that_refuses_loses_nothing() {
    let folder = Folder::new("full");
    let sample = sample::assembly(12, 8);
    let params = Params::new(CLEARANCE);
    let whole = run(&sample.job, &params, &Place::default(), &Silent).unwrap();
    // The journal is refused: the run says so.
    let journal = folder.made("journal");
    fs::create_dir_all(journal.join("findings.journal")).unwrap();
    let failed = run(&sample.job, &params, &place(&journal, &journal), &Silent);
    assert!(matches!(failed, Err(RunError::Journal { .. })), "{failed:?}");
    // A cache that cannot be written costs the next run, not this one.
    let (other, nowhere) = (folder.made("other"), folder.0.join("not made"));
    let report = run(&sample.job, &params, &place(&other, &nowhere), &Silent).unwrap();
    assert!(report.shapes[2] > 0);
    assert_eq!(text(&sample.job, &params, &report), text(&sample.job, &params, &whole));
}
