//! Signed distance fields.
/// placeholder
#[derive(Debug)]
pub struct Field;
