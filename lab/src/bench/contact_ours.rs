//! Our own engine's side of `bench contact`.

use crate::poses::Poses;
use palpate::mesh::RawMesh;

/// One kind of query over a set of poses, in the set's order.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Time of each pose, the best of its repetitions [µs].
    pub micros: Vec<f64>,
    /// What it gave: contacts (a boolean: 1 for touching, 0 for not), or a distance [m].
    pub values: Vec<f64>,
}

/// What our engine needed for the poses of a pair.
#[derive(Clone, Debug, Default)]
pub struct OursTimes {
    /// Do they touch: collision set.
    pub boolean: Series,
    /// All contacts: collision set.
    pub contacts: Series,
    /// Separation: proximity set.
    pub distance: Series,
    /// The bound that each distance of `distance` reports [m].
    pub distance_bounds: Vec<f64>,
    /// Grid, points and whatever else a reader must know.
    pub note: String,
}

/// Runs our engine over the poses, one thread, each query `repeat` times; `a` and `b` as loaded, holes still open.
///
/// NOT FILLED IN: the queries come with their stage. Until then there is no answer, and rows show the peers alone.
pub fn ours(_a: &RawMesh, _b: &RawMesh, _poses: &Poses, _repeat: usize) -> Option<OursTimes> {
    None
}
