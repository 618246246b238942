//! What is planted is found, and nothing else, at known places and depths.

#![expect(clippy::unwrap_used, reason = "a test program: every failure is a failed test")]

use palpate::progress::Silent;
use palpate_assembly::sample::{self, CLEARANCE, Sample};
use palpate_assembly::{Finding, Kind, Params, Place, Report, csv, json, run};

fn look(sample: &Sample, threads: usize) -> Report {
    let params = Params { threads, ..Params::new(CLEARANCE) };
    run(&sample.job, &params, &Place::default(), &Silent).unwrap()
}

fn violations(report: &Report) -> Vec<Finding> {
    report.findings.iter().copied().filter(|f| f.outcome.kind.is_violation()).collect()
}

#[test]
fn every_planted_one_is_found_and_none_invented() {
    for (parts, seed) in [(32, 1), (64, 2), (97, 3), (160, 4)] {
        let sample = sample::assembly(parts, seed);
        assert_eq!(sample.job.instances.len(), parts);
        let report = look(&sample, 0);
        let found = violations(&report);
        let name = |f: &Finding| f.pair.map(|i| sample.job.instances[i as usize].name.clone());
        for f in &found {
            assert!(sample.planted.iter().any(|p| p.pair == f.pair), "invented: {:?} {f:?}", name(f));
        }
        for planted in &sample.planted {
            let names = planted.pair.map(|i| &sample.job.instances[i as usize].name);
            let f = found.iter().find(|f| f.pair == planted.pair);
            let f = f.unwrap_or_else(|| panic!("missed, seed {seed}: {names:?} {planted:?}"));
            let o = &f.outcome;
            assert_eq!(o.kind, planted.kind, "{names:?}");
            // Rounding: parts are some metres from the origin, and clashes are measured on meshes kept in single precision.
            if let Some(distance) = planted.distance {
                assert!((o.distance - distance).abs() < 2e-8, "{names:?}: {} {distance}", o.distance);
            }
            if let (Some(volume), Some(region)) = (planted.volume, o.region) {
                // A grid of 20 cells along each edge; flat faces along its axes are exact, corners and balls are not.
                let off = (region.volume - volume).abs();
                assert!(off <= region.volume_error.max(0.02 * volume), "{names:?}: {region:?} {volume}");
            }
            // Faces that are parallel are nearest anywhere on them.
            let off = if o.kind == Kind::Clash { 1e-3 } else { 16e-3 };
            assert!((o.place() - planted.place).length() < off, "{names:?} {:?} {}", o, planted.place);
            match (o.time, planted.time) {
                // The least distance of a block over a ridge holds for a while.
                (Some(_), Some(_)) if o.kind == Kind::Clearance => {}
                // Steps while touching are 1/256 of the way, halved eight times.
                (Some(time), Some(planted)) => {
                    assert!((time - planted).abs() < 2e-3, "{names:?} {time} {planted}")
                }
                (time, planted) => assert_eq!(time.is_some(), planted.is_some()),
            }
            if o.kind == Kind::Clash {
                let region = o.region.unwrap();
                assert!(region.aabb().contains(o.place()) && region.volume > 0.0);
            }
        }
        assert_eq!(found.len(), sample.planted.len());
        // Those that only look like it: flush, nearly flush, a pin in its bore, one that slides.
        let contacts = report.findings.len() - found.len();
        assert!(contacts >= 4 * (parts / 32), "{contacts} contacts");
    }
}

#[test]
fn threads_and_order_do_not_matter() {
    let sample = sample::assembly(48, 7);
    let params = Params::new(CLEARANCE);
    let text = |report: &Report| {
        let all = csv(&sample.job, &report.findings);
        format!("{all}{}", json(&sample.job, &params, report, &report.findings))
    };
    let one = text(&look(&sample, 1));
    for threads in [2, 3] {
        assert_eq!(one, text(&look(&sample, threads)), "{threads} threads");
    }
    // Little memory: many batches.
    let params = Params { max_memory: 1, ..Params::new(CLEARANCE) };
    let report = run(&sample.job, &params, &Place::default(), &Silent).unwrap();
    assert_eq!(one, text(&report));
}
