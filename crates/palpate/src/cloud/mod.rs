//! Point clouds: surfaces that are known at points only.

pub mod read;

pub use read::{CloudFormat, CloudReadError, RawCloud};
