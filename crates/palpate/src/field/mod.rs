//! Signed distance fields.
pub mod analytic;
pub mod iso;
pub mod layered;
pub mod source;
/// placeholder
#[derive(Debug)]
pub struct Field;
