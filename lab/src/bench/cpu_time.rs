//! Time that a thread itself has run: on a busy machine the clock on the wall also counts others.

use std::time::Duration;

/// Time the calling thread has spent on a processor. About 0.2 µs a call; the time since an arbitrary moment where the system does not
/// say.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[expect(unsafe_code, reason = "the only way to ask the system")]
    // SAFETY: `time` is a valid place for the answer.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if failed != 0 {
        return wall_time();
    }
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// As on unix, by the clock on the wall.
#[cfg(not(unix))]
pub fn thread_time() -> Duration {
    wall_time()
}

fn wall_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_costs_no_time_and_counting_does() {
        let start = thread_time();
        std::thread::sleep(Duration::from_millis(20));
        let slept = thread_time() - start;
        assert!(slept < Duration::from_millis(10) || cfg!(not(unix)), "{slept:?}");
        let mut sum = 0u64;
        while thread_time() - start < Duration::from_millis(2) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }
}
