//! Work outside the interpreter: without its lock, on the threads asked for, and without panics that leave.

use crate::error;
use palpate::par;
use palpate::progress::Progress;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::Duration;

/// Most threads a call may ask for. More: the system refuses, or thrashes.
const MOST_THREADS: usize = 1024;
/// How often long work is looked after. Longer: Ctrl-C and progress lag.
const TICK: Duration = Duration::from_millis(50);

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
    let threads = checked(threads)?;
    alone(py, || par::with_threads(threads, work))
}

/// How far long work is, seen from the interpreter's thread.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stage: Mutex<(&'static str, u64)>,
    done: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress for Watch {
    fn stage(&self, name: &'static str, steps: u64) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = (name, steps);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// As [`on_threads`], on a thread of its own, while this one tells `told(stage, done, steps)` and lets signals in: Ctrl-C ends the work early.
///
/// # Errors
/// Those of [`on_threads`], and what a signal's handler or `told` raises; then the result is lost, but not what `work` keeps elsewhere.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    threads: usize,
    told: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> R + Send,
) -> PyResult<R> {
    let threads = checked(threads)?;
    let watch = Watch::default();
    let (send, done) = mpsc::channel();
    // Shared with the closures that wait, which have no use for it at the same time.
    let done = Mutex::new(done);
    thread::scope(|scope| {
        let watch = &watch;
        scope.spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| par::with_threads(threads, || work(watch))));
            // Whoever waited is still there.
            let _ = send.send(result);
        });
        let mut trouble = Ok(());
        let mut before = ("", 0);
        loop {
            let wait = || done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK);
            let result = py.detach(wait);
            if !matches!(result, Err(RecvTimeoutError::Timeout)) {
                trouble?;
                let result = result.map_err(|_| error::internal("a thread ended without a word"))?;
                return result.map_err(|panic| error::internal(words(&*panic)));
            }
            if trouble.is_err() {
                continue;
            }
            let (stage, steps) = *watch.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let now = (stage, watch.done.load(Ordering::Relaxed));
            trouble = py.check_signals();
            if let (Ok(()), Some(told), true) = (&trouble, told, now != before) {
                trouble = told.call1((stage, now.1, steps)).map(drop);
            }
            before = now;
            if trouble.is_err() {
                watch.cancelled.store(true, Ordering::Relaxed);
            }
        }
    })
}

/// Calls `work` with what is to be told of progress: what is given, a line on standard error for True, nothing for False.
///
/// # Errors
/// `InputError` for what cannot be called, and those of `work`.
pub(crate) fn shown<'py, R>(
    py: Python<'py>,
    progress: Option<&Bound<'py, PyAny>>,
    work: impl FnOnce(Option<&Bound<'py, PyAny>>) -> PyResult<R>,
) -> PyResult<R> {
    let Some(given) = progress.filter(|p| !p.is_none()) else { return work(None) };
    let Ok(flag) = given.cast::<PyBool>() else {
        if !given.is_callable() {
            let kind = given.get_type();
            return Err(error::input(format!(
                "progress is a {}; give True, or a function of (stage, done, steps)",
                kind.name()?
            )));
        }
        return work(Some(given));
    };
    if !flag.is_true() {
        return work(None);
    }
    let bar =
        py.import("palpate._progress")?.getattr("Bar")?.call1((py.import("sys")?.getattr("stderr")?,))?;
    let result = work(Some(&bar));
    bar.call_method0("clear")?;
    result
}

/// As [`on_threads`], for what may take long: a signal's handler that raises, such as that of Ctrl-C, ends it early. `work` asks the watch now and
/// then; what it returns after that is thrown away.
///
/// # Errors
/// Those of [`on_threads`], and what the handler raises.
pub(crate) fn long<R: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce(&Watch) -> R + Send,
) -> PyResult<R> {
    watched(py, threads, None, work)
}

/// The number of threads to start, if there can be so many.
fn checked(threads: usize) -> PyResult<usize> {
    if threads > MOST_THREADS {
        return Err(error::input(format!("threads is {threads}; it must be at most {MOST_THREADS}")));
    }
    Ok(if threads == 0 && forked() { cores() } else { threads })
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
