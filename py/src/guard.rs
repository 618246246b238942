//! Work outside the interpreter: without its lock, on the threads asked for, and without panics that leave.

use crate::error;
use palpate::par;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::OnceLock;
use std::thread::available_parallelism;

/// Most threads a call may ask for. More: the system refuses, or thrashes.
const MOST_THREADS: usize = 1024;

/// Does `work` without the interpreter's lock, on the calling thread.
///
/// # Errors
/// `InternalError` where it panics.
pub(crate) fn alone<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| error::internal(words(&*panic)))
}

/// As [`alone`], with loops on `threads` threads; 0: on all cores.
///
/// # Errors
/// `InputError` for more threads than make sense.
pub(crate) fn on_threads<R: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    if threads > MOST_THREADS {
        return Err(error::input(format!("threads is {threads}; it must be at most {MOST_THREADS}")));
    }
    let threads = if threads == 0 && forked() { cores() } else { threads };
    alone(py, || par::with_threads(threads, work))
}

/// Whether this process is a copy of the one that first worked here: the threads of the common pool stayed behind with that.
fn forked() -> bool {
    static FIRST: OnceLock<u32> = OnceLock::new();
    *FIRST.get_or_init(process::id) != process::id()
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn words(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "it did not say what",
    }
}
