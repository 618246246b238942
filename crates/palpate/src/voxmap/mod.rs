//! Voxel maps: which cells of a grid the surface meets.
/// placeholder
#[derive(Debug)]
pub struct Voxmap;
