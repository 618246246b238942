//! The nearest points of a cloud by other people's trees: nanoflann, kiddo, SciPy and Open3D.

use crate::bench::Work;
use crate::bench::peer::{Peer, Reply, Request};
use crate::bench::table::Times;
use crate::models;
use anyhow::Result;
use glam::DVec3;
use std::path::Path;

/// Who is asked; the names of [`Variant`] begin with these.
pub(crate) const NAMES: [&str; 4] = ["nanoflann", "kiddo", "scipy", "open3d"];

/// One way to ask a peer.
struct Variant {
    peer: &'static str,
    /// What tables say.
    name: &'static str,
    kind: &'static str,
    /// Points of a leaf; 0 for the peer's own choice.
    leaf: usize,
}

const fn variant(peer: &'static str, name: &'static str, kind: &'static str, leaf: usize) -> Variant {
    Variant { peer, name, kind, leaf }
}

/// All ways, those of one peer together. nanoflann's own leaf is 10; SciPy's is 16, but it is faster with 32.
const VARIANTS: [Variant; 8] = [
    variant("nanoflann", "nanoflann leaf 10", "single", 10),
    variant("nanoflann", "nanoflann leaf 32", "single", 32),
    variant("kiddo", "kiddo immutable", "immutable", 0),
    variant("kiddo", "kiddo mutable", "mutable", 0),
    variant("scipy", "scipy batch", "batch", 32),
    variant("scipy", "scipy single", "single", 32),
    variant("open3d", "open3d batch", "batch", 0),
    variant("open3d", "open3d single", "single", 0),
];

/// What one way gave.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Such as `nanoflann leaf 32`.
    pub(crate) name: &'static str,
    /// Its figures, or the sentence that says why there are none.
    pub(crate) figures: Result<Figures, String>,
}

/// Times of one thread and what it found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Mean time of a probe by the clock on the wall, of the best pass [µs]: the figure to compare.
    pub(crate) mean_us: f64,
    /// Times of single probes; none where all are asked in one call.
    pub(crate) singles: Option<Singles>,
    /// Best time to make the tree [s].
    pub(crate) build_s: f64,
    /// Sum of the squared distances of all probes [m²].
    pub(crate) squares: f64,
}

/// Times of single probes, of each the least of its passes: time of the thread less that of measuring nothing [µs].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Singles {
    /// The middle one.
    pub(crate) p50_us: f64,
    /// The smallest time that 99.9 % do not exceed.
    pub(crate) p999_us: f64,
    /// The longest.
    pub(crate) worst_us: f64,
}

impl Figures {
    fn of(reply: &Reply) -> Result<Self, String> {
        let least = reply.seconds.iter().copied().min_by(f64::total_cmp);
        let (Some(build_s), &[squares]) = (least, reply.values.as_slice()) else {
            return Err("its answer lacks the time of the tree or the sum of squares".into());
        };
        let singles = Times::of_micros(&reply.micros, 1.0).map(|times| Singles {
            p50_us: 1e6 * times.median,
            p999_us: 1e6 * times.p999,
            worst_us: reply.micros.iter().copied().fold(0.0, f64::max),
        });
        Ok(Self { mean_us: reply.mean_micros, singles, build_s, squares })
    }
}

/// Asks each of the `peers` (of [`NAMES`]) in every way it has, one after the other, for the point of `cloud` nearest to each of
/// the `probes` [m]: `repeat` passes over all probes on one thread. What cannot answer says so in its place.
pub(crate) fn ask(
    work: &Work,
    peers: &[&str],
    cloud: &[[f32; 3]],
    probes: &[[f32; 3]],
    repeat: usize,
) -> Result<Vec<Given>> {
    if peers.is_empty() {
        return Ok(Vec::new());
    }
    let base = Request {
        job: "nearest".into(),
        cloud: work.file("cloud.points"),
        points: work.file("probes.points"),
        threads: 1,
        repeat: repeat.max(1),
        ..Default::default()
    };
    for (points, file) in [(cloud, &base.cloud), (probes, &base.points)] {
        let points: Vec<DVec3> = points.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect();
        models::write_points(&points, Path::new(file))?;
    }
    let mut given = Vec::new();
    for name in peers {
        eprintln!("nearest: {name}");
        // A peer keeps a cloud by its path: one process for each call, since the next may write another cloud there.
        let mut peer = Peer::start(name);
        for variant in VARIANTS.iter().filter(|v| v.peer == *name) {
            let request = Request { kind: variant.kind.into(), leaf: variant.leaf, ..base.clone() };
            let reply = peer.as_mut().map_err(|missing| missing.clone()).and_then(|peer| peer.ask(&request));
            given.push(Given { name: variant.name, figures: reply.and_then(|r| Figures::of(&r)) });
        }
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    #[test]
    fn every_way_gives_the_same_sum_or_says_why_not() {
        let mut random = Random::new(7);
        let mut points = |n: usize| -> Vec<[f32; 3]> {
            (0..n).map(|_| std::array::from_fn(|_| random.unit() as f32)).collect()
        };
        let (cloud, probes) = (points(3000), points(50));
        // A folder of its own: other tests of this process remove the common one.
        let folder = std::env::temp_dir().join(format!("palpate-lab-cloud-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let work = Work(folder);
        assert!(ask(&work, &[], &cloud, &probes, 2).expect("nobody").is_empty());
        let given = ask(&work, &NAMES, &cloud, &probes, 2).expect("answers");
        assert!(given.iter().map(|g| g.name).eq(VARIANTS.iter().map(|v| v.name)));
        let square = |p: &[f32; 3], q: &[f32; 3]| -> f64 {
            p.iter().zip(q).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
        };
        let nearest = |p| cloud.iter().map(|q| square(p, q)).fold(f64::INFINITY, f64::min);
        let exact: f64 = probes.iter().map(nearest).sum();
        for Given { name, figures } in given {
            match figures {
                Ok(figures) => {
                    assert!(
                        (figures.squares / exact - 1.0).abs() < 1e-6,
                        "{name}: {} {exact}",
                        figures.squares
                    );
                    assert!(figures.mean_us > 0.0 && figures.build_s > 0.0, "{name}: {figures:?}");
                    assert_eq!(figures.singles.is_none(), name.ends_with("batch"), "{name}");
                    if let Some(Singles { p50_us, p999_us, worst_us }) = figures.singles {
                        assert!(
                            p50_us <= p999_us && p999_us <= worst_us && worst_us > 0.0,
                            "{name}: {figures:?}"
                        );
                    }
                }
                Err(why) => assert_eq!(why, crate::bench::peer::MISSING, "{name}"),
            }
        }
    }

    #[test]
    fn figures_are_the_best_builds_and_the_ranks_of_probes() {
        let reply = Reply { ok: true, mean_micros: 2.0, ..Default::default() };
        assert!(Figures::of(&reply).is_err());
        let reply =
            Reply { seconds: vec![3.0, 1.0], values: vec![4.0], micros: vec![2.0, 9.0, 1.0], ..reply };
        let figures = Figures::of(&reply).expect("figures");
        assert_eq!((figures.mean_us, figures.build_s, figures.squares), (2.0, 1.0, 4.0));
        assert!(figures.singles.is_some_and(|s| s.worst_us == 9.0 && (s.p50_us - 2.0).abs() < 1e-9));
    }
}
