//! How long work reports where it is and learns that it should stop.

/// Receives progress of a build. Called from worker threads; must be cheap.
///
/// The engine has no clock: an implementation that wants stage times takes them in [`Progress::stage`].
pub trait Progress: Sync {
    /// A new stage begins: its name and how many steps it has (0: unknown).
    fn stage(&self, name: &'static str, steps: u64);
    /// `steps` more steps of the current stage are done.
    fn advance(&self, steps: u64);
    /// Whether the caller wants the work to end early; the build then returns its `Cancelled` error.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Reports nothing and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _name: &'static str, _steps: u64) {}
    fn advance(&self, _steps: u64) {}
}
