//! Progress of a build to a function of the caller, and its wish to stop.

use core::ffi::{CStr, c_char, c_void};
use palpate::progress::Progress;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// `palp_progress`: gets the name of the stage, steps done and steps in all (0: unknown); anything but 0 stops the build.
pub type Callback = Option<extern "C" fn(*mut c_void, *const c_char, u64, u64) -> i32>;

/// The caller's pointer, handed back to its function.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct User(pub *mut c_void);

/// What the caller's function is told next.
#[derive(Debug)]
struct Stage {
    name: CString,
    steps: u64,
    user: usize,
}

/// Calls the caller's function, from one thread at a time.
#[derive(Debug)]
pub(crate) struct Reporter {
    callback: Callback,
    stage: Mutex<Stage>,
    done: AtomicU64,
    stop: AtomicBool,
}

impl Reporter {
    pub(crate) fn new(callback: Callback, user: User) -> Self {
        // As a number: it is the caller's, and only handed back.
        let user = user.0.expose_provenance();
        let stage = Stage { name: CString::default(), steps: 0, user };
        Self { callback, stage: Mutex::new(stage), done: AtomicU64::new(0), stop: AtomicBool::new(false) }
    }

    fn call(&self, stage: &Stage) {
        let Some(callback) = self.callback else { return };
        let name: &CStr = &stage.name;
        let user = core::ptr::with_exposed_provenance_mut(stage.user);
        let done = self.done.load(Ordering::Relaxed);
        if callback(user, name.as_ptr(), done, stage.steps) != 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Progress for Reporter {
    fn stage(&self, name: &'static str, steps: u64) {
        if self.callback.is_none() {
            return;
        }
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        (stage.name, stage.steps) = (CString::new(name).unwrap_or_default(), steps);
        self.done.store(0, Ordering::Relaxed);
        self.call(&stage);
    }

    fn advance(&self, steps: u64) {
        if self.callback.is_none() {
            return;
        }
        self.done.fetch_add(steps, Ordering::Relaxed);
        // Another thread tells it just now: nobody waits for that.
        if let Ok(stage) = self.stage.try_lock() {
            self.call(&stage);
        }
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
