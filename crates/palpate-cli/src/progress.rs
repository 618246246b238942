//! Progress on the terminal: stages with bars and estimated ends, their times, and Ctrl-C.

use crate::files;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use palpate::progress::Progress;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// Set by the first Ctrl-C, or signal to end.
static CANCELLED: AtomicBool = AtomicBool::new(false);
/// What the last panic said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Keeps the words of a panic for [`last_panic`].
pub(crate) fn remember_panic(text: &str) {
    if let Ok(mut kept) = PANIC.lock() {
        text.clone_into(&mut kept);
    }
}

/// What the last panic said, on one line.
pub(crate) fn last_panic() -> String {
    let text = PANIC.lock().map(|t| t.clone()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Show {
    Bars,
    Lines,
    Nothing,
}

/// Receives the progress of builds, shows it on standard error and keeps the time of each stage.
#[derive(Debug)]
pub(crate) struct Reporter {
    show: Show,
    bar: ProgressBar,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    current: Option<(&'static str, Instant)>,
    done: Vec<(&'static str, f64)>,
}

impl Reporter {
    /// Bars on a terminal, plain lines elsewhere, nothing with `quiet`. From here on Ctrl-C ends work early; a
    /// second one ends the program at once.
    pub(crate) fn new(quiet: bool) -> Self {
        let show = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Show::Nothing,
            (false, true) => Show::Bars,
            (false, false) => Show::Lines,
        };
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| {
            let _ = ctrlc::set_handler(|| {
                if CANCELLED.swap(true, Ordering::SeqCst) {
                    files::remove_temporaries();
                    std::process::exit(2);
                }
            });
        });
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if show == Show::Bars {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Self { show, bar, started: Instant::now(), state: Mutex::default() }
    }

    /// An error once Ctrl-C was pressed, so that nothing unfinished is kept.
    ///
    /// # Errors
    /// Only then.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.cancelled() {
            anyhow::bail!("stopped by Ctrl-C or a signal to end; nothing was written")
        } else {
            Ok(())
        }
    }

    /// Seconds since the start, and the seconds of each stage so far, in order; the current stage ends here.
    pub(crate) fn finish(&self) -> (f64, Vec<(&'static str, f64)>) {
        let stages = match self.state.lock() {
            Ok(mut state) => {
                self.close(&mut state);
                state.done.clone()
            }
            Err(_) => Vec::new(),
        };
        self.bar.finish_and_clear();
        (self.started.elapsed().as_secs_f64(), stages)
    }

    /// Ends the current stage: its time is kept and shown.
    fn close(&self, state: &mut State) {
        let Some((name, since)) = state.current.take() else { return };
        let seconds = since.elapsed().as_secs_f64();
        match state.done.iter_mut().find(|(n, _)| *n == name) {
            // A stage that comes again adds to its own time.
            Some(entry) => entry.1 += seconds,
            None => state.done.push((name, seconds)),
        }
        let line = format!("  {name:<24} {:>9}", palpate_view::units::seconds(seconds));
        match self.show {
            Show::Bars => self.bar.println(line),
            Show::Lines => drop(writeln!(std::io::stderr(), "{line}")),
            Show::Nothing => {}
        }
    }
}

impl Progress for Reporter {
    fn stage(&self, name: &'static str, steps: u64) {
        let Ok(mut state) = self.state.lock() else { return };
        self.close(&mut state);
        state.current = Some((name, Instant::now()));
        if self.show != Show::Bars {
            return;
        }
        self.bar.reset();
        self.bar.set_message(name);
        let template = if steps > 0 {
            self.bar.set_length(steps);
            "  {msg:<24} {bar:32.blue} {percent:>3} %  {elapsed} done, {eta} left"
        } else {
            self.bar.unset_length();
            "  {msg:<24} {spinner} {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("━╸─"));
        }
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    fn advance(&self, steps: u64) {
        if self.show == Show::Bars {
            self.bar.inc(steps);
        }
    }

    fn cancelled(&self) -> bool {
        CANCELLED.load(Ordering::Relaxed)
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Most memory this process has held so far in bytes; none where the system does not say.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_come_in_order_and_repeated_ones_add_up() {
        let reporter = Reporter::new(true);
        for name in ["read", "scan", "read"] {
            reporter.stage(name, 3);
            reporter.advance(3);
        }
        let (total, stages) = reporter.finish();
        assert_eq!(stages.iter().map(|s| s.0).collect::<Vec<_>>(), ["read", "scan"]);
        assert!(stages.iter().map(|s| s.1).sum::<f64>() <= total);
        assert!(!reporter.cancelled());
    }
}
