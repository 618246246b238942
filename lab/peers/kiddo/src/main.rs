//! kiddo as a peer: the nearest point of a cloud. One thread, f32, leaves of 32 points as its own aliases have them.
//!
//! Timed: making the tree; one `nearest_one` for each probe. Not timed: reading the cloud and the probes.
#[path = "../../protocol.rs"]
mod protocol;

use kiddo::{ImmutableKdTree, MutableKdTree, SquaredEuclidean};
use protocol::{Done, Request, read_points, serve, write_distances};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let mut kept = (String::new(), Vec::new());
    serve("6.3", |request| {
        if request.text("job") != "nearest" {
            return Err(format!("kiddo does not do the job '{}'", request.text("job")));
        }
        let path = request.text("cloud");
        if kept.0 != path {
            kept = (path.to_owned(), read_points(path)?);
        }
        let cloud = &kept.1;
        type Metric = SquaredEuclidean<f32>;
        // The two trees share no trait that asks them, so each brings its own closures.
        match request.text("kind") {
            "immutable" | "" => nearest(
                request,
                || ImmutableKdTree::<f32, 3>::new_from_slice(cloud).map_err(refused),
                |tree, p| tree.query(p).nearest_one::<Metric>().execute().distance,
            ),
            "mutable" => nearest(
                request,
                || MutableKdTree::<f32, 3>::new_from_slice(cloud).map_err(refused),
                |tree, p| tree.query(p).nearest_one::<Metric>().execute().distance,
            ),
            other => Err(format!("kiddo has no tree of the kind '{other}'")),
        }
    });
}

fn refused(error: impl std::fmt::Display) -> String {
    format!("kiddo refuses the cloud: {error}")
}

/// Answers the job with a tree and a squared distance [m²] to the nearest of its points.
fn nearest<T>(
    request: &Request,
    make: impl Fn() -> Result<T, String>,
    find: impl Fn(&T, &[f32; 3]) -> f32,
) -> Result<Done, String> {
    let probes = read_points(request.text("points"))?;
    if probes.is_empty() {
        return Err("there are no probes".into());
    }
    let repeat = (request.number("repeat", 1.0) as usize).max(1);
    let (mut tree, mut seconds) = (None, Vec::new());
    for _ in 0..repeat.min(3) {
        drop(tree.take());
        let start = Instant::now();
        tree = Some(make()?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    let tree = tree.ok_or("no tree")?;

    let mut squares = vec![0.0; probes.len()];
    let mut best = f64::INFINITY;
    for _ in 0..repeat {
        let start = Instant::now();
        for (square, probe) in squares.iter_mut().zip(&probes) {
            *square = find(&tree, probe);
        }
        best = best.min(start.elapsed().as_secs_f64());
        black_box(&squares);
    }

    let empty = empty_measurement();
    let mut micros = vec![f64::INFINITY; probes.len()];
    for _ in 0..repeat {
        for (micros, probe) in micros.iter_mut().zip(&probes) {
            let start = thread_time();
            black_box(find(&tree, black_box(probe)));
            let took = thread_time() - start;
            *micros = micros.min(1e-3 * (took - empty).max(0) as f64);
        }
    }

    if !request.text("out").is_empty() {
        write_distances(request.text("out"), &squares.iter().map(|s| s.sqrt()).collect::<Vec<f32>>())?;
    }
    Ok(Done {
        seconds,
        count: probes.len(),
        mean_micros: 1e6 * best / probes.len() as f64,
        micros,
        values: vec![squares.iter().map(|s| f64::from(*s)).sum()],
        ..Default::default()
    })
}

/// Time this thread has run [ns].
fn thread_time() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// What measuring nothing gives [ns]: the median of many.
fn empty_measurement() -> i64 {
    let mut times: Vec<i64> = (0..1001).map(|_| -(thread_time() - thread_time())).collect();
    times.sort_unstable();
    times[500]
}
