use super::*;
use crate::player::PageParams;
use crate::stage::Blob;

/// A flat scan at `origin`, and a probe that goes into it and along.
fn flat(origin: DVec3, steps: u32) -> Probing {
    let points = (0..400).map(|i| Vec3::new((i % 20) as f32 * 0.01 - 0.1, (i / 20) as f32 * 0.01 - 0.1, 0.0));
    let step = |i: u32| {
        let t = f64::from(i) / f64::from(steps.max(2) - 1);
        let z = 0.01 - 0.02 * (3.0 * t).min(1.0);
        let probe = origin + DVec3::new(0.15 * t - 0.08, 0.0, z);
        ProbeStep {
            step: i,
            time: t,
            probe,
            scan: Pose::from_translation(origin),
            touching: z < 0.0,
            nearest: Some(DVec3::new(probe.x, probe.y, origin.z)),
            proxy: Some(DVec3::new(probe.x, probe.y, origin.z.max(probe.z))),
            depth: (-z).max(0.0),
            force: DVec3::Z * (-100.0 * z).max(0.0),
            us: 3.0,
        }
    };
    Probing {
        title: "<flat>".into(),
        command: "touch & go".into(),
        up: DVec3::Z,
        scan: ScanPoints {
            name: "</script>".into(),
            points: points.collect(),
            spacing: 0.01,
            total: 400,
            ..ScanPoints::default()
        },
        steps: (0..steps).map(step).collect(),
    }
}

#[test]
fn pages_are_whole_load_nothing_and_escape_names() {
    let html = page(&flat(DVec3::ZERO, 50), &PageParams::default()).unwrap();
    assert!(
        html.contains("&lt;flat&gt;") && html.contains("touch &amp; go") && !html.contains("\"</script>")
    );
    assert_eq!(html.matches("<script").count(), 3);
    assert_eq!(html.matches("</script>").count(), 3);
    assert!(!html.contains("http://") && !html.contains("https://"));
    let none = page(&Probing { up: DVec3::Z, ..Probing::default() }, &PageParams::default()).unwrap();
    assert!(none.contains("\"frames\":0"));
}

/// The page of a scan far from the origin has the places of one at the origin.
#[test]
fn far_scans_lose_nothing() {
    let places = |at: DVec3| -> Vec<f32> {
        let mut blob = Blob::default();
        let meta = page::meta(&flat(at, 30), &mut blob);
        let begin: usize =
            meta.split("\"places\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let bytes = &blob.0[begin..begin + 30 * 4 * 12];
        bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
    };
    let (near, far) = (places(DVec3::ZERO), places(DVec3::new(4e6, 5e5, 500.0)));
    assert!(near.iter().any(|x| *x > 0.05));
    // A double at 4e6 m is off by up to half a nanometre, which may round a single to the next: 7.5 nm here.
    assert!(near.iter().zip(&far).all(|(a, b)| (a - b).abs() < 1e-8));
}

#[test]
fn pictures_show_scan_path_and_force() {
    let image = picture(&flat(DVec3::new(1e7, 0.0, 0.0), 60), 640, 480);
    let count = |is: &dyn Fn(&[u8]) -> bool| image.rgba().chunks(4).filter(|p| is(p)).count();
    assert!(count(&|p| p[..3] != [246, 248, 250]) > 5000, "points");
    assert!(
        count(&|p| p[0] > p[1].saturating_add(50) && p[0] > p[2].saturating_add(30)) > 100,
        "the path where it touches"
    );
    assert!(count(&|p| p[1] > p[0].saturating_add(30) && p[1] > p[2].saturating_add(15)) > 10, "arrows");
    for broken in [Probing::default(), {
        let mut all = flat(DVec3::ZERO, 5);
        all.steps[1].probe = DVec3::NAN;
        all.steps[2].force = DVec3::splat(f64::INFINITY);
        all.scan.points.truncate(1);
        all
    }] {
        assert_eq!(picture(&broken, 40, 30).width(), 40);
        page(&broken, &PageParams::default()).unwrap();
    }
}

#[test]
fn spread_is_in_order_without_twins_and_covers_all() {
    assert_eq!(spread(5, 9), [0, 1, 2, 3, 4]);
    for (n, most) in [(1000, 300), (160_801, 60_000), (61, 60)] {
        let chosen = spread(n, most);
        assert_eq!(chosen.len(), most);
        assert!(chosen.windows(2).all(|w| w[0] < w[1]) && chosen[most - 1] < n);
        assert!(chosen.windows(2).all(|w| w[1] - w[0] <= 2 * n.div_ceil(most)));
    }
}
