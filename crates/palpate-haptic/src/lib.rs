//! Feel palpate's shapes: a loop at 1 kHz and above between a haptic device and a simulated tool.
//!
//! Frames: everything is in the world's, which is A's: the shape that is touched does not move. The tool is B. SI units.

pub mod device;
#[cfg(feature = "haply")]
pub mod haply;
pub mod pointer;
pub mod replay;
pub mod sim;
mod turn;

pub use device::{Device, DeviceError, DeviceLimits, Guard, Reading};
