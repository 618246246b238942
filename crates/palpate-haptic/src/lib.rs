//! Feel palpate's shapes: a loop at 1 kHz and above between a haptic device and a simulated tool.
//!
//! ```text
//! device ─ reading ─▶ mapping ─ target ─▶ tool (held | soft | body) ─ spring ─▶ governor ─▶ passivity ─ wrench ─▶ device
//! ```
//!
//! [`run::run`] is the loop in real time; [`rig::Rig::tick`] is one tick of it, without a clock. Frames: everything is in the
//! world's, which is that of the shape that stands still; the tool is the other. SI units.

#[cfg(feature = "engines")]
pub mod body;
pub mod clock;
pub mod device;
pub mod exercise;
pub mod gains;
pub mod governor;
#[cfg(feature = "haply")]
pub mod haply;
pub mod health;
pub mod held;
pub mod passivity;
pub mod pointer;
pub mod replay;
pub mod rig;
pub mod run;
pub mod scene;
pub mod sim;
mod six;
pub mod tool;
mod turn;
mod walls;
pub mod watch;

#[cfg(feature = "engines")]
pub use body::BodyTool;
pub use device::{Device, DeviceError, DeviceLimits, Guard, Reading};
pub use gains::Gains;
pub use health::{Health, Report, Times};
pub use held::HeldTool;
pub use rig::{Mapping, Mode, Rig, RigParams, Told};
pub use run::{RunParams, Tick, Ticker, run};
pub use scene::Pair;
pub use tool::{Body, Felt, SoftTool, Tool, ToolParams};
