//! Clocks.

use std::time::Duration;

/// Processor time that this thread has used; none where the system does not tell.
pub fn thread_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Some(Duration::new(u64::try_from(t.tv_sec).ok()?, u32::try_from(t.tv_nsec).ok()?))
    }
    #[cfg(not(unix))]
    None
}
