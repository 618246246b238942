//! A second thread that takes the force away when the first stands still.

use crate::device::Guard;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it looks.
const LOOKS: Duration = Duration::from_micros(500);

#[derive(Debug)]
struct Shared {
    began: Instant,
    /// When the loop last gave a sign, in nanoseconds since `began`.
    beat: AtomicU64,
    /// Whether there is force to take away.
    armed: AtomicBool,
    tripped: AtomicBool,
    ended: AtomicBool,
}

/// Watches over a loop. Ends its thread when dropped.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Releases `guard` when there was force and no sign for `patience`. Without a thread, if none can be had.
    pub fn new(mut guard: Box<dyn Guard>, patience: Duration) -> Self {
        let shared = Arc::new(Shared {
            began: Instant::now(),
            beat: AtomicU64::new(0),
            armed: AtomicBool::new(false),
            tripped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let seen = shared.clone();
        let thread = std::thread::Builder::new().name("palpate watch".into()).spawn(move || {
            while !seen.ended.load(Ordering::Acquire) {
                std::thread::sleep(LOOKS);
                let since = seen.began.elapsed().as_nanos() as u64;
                let silent = since.saturating_sub(seen.beat.load(Ordering::Acquire));
                if seen.armed.load(Ordering::Acquire) && silent > patience.as_nanos() as u64 {
                    // A device that is gone has no force.
                    let _ = guard.release();
                    seen.armed.store(false, Ordering::Release);
                    seen.tripped.store(true, Ordering::Release);
                }
            }
        });
        Self { shared, thread: thread.ok() }
    }

    /// The loop is alive, and there is force or not.
    pub fn beat(&self, force: bool) {
        self.shared.beat.store(self.shared.began.elapsed().as_nanos() as u64, Ordering::Release);
        self.shared.armed.store(force, Ordering::Release);
    }

    /// Whether force was taken away since the last call.
    pub fn tripped(&self) -> bool {
        self.shared.tripped.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
