//! Where triangles meet, and the way apart.

use super::{Meeting, Pairs, SoftMesh, meeting, parting};
use crate::par;
use glam::DVec3;

/// Where a pair of triangles meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftContact {
    /// A triangle of A and one of B.
    pub pair: [u32; 2],
    /// What they have in common: a point, a segment, or where they are in one plane an area.
    pub meeting: Meeting,
    /// The middle of it [m].
    pub point: DVec3,
    /// The shortest way on which B's triangle gets out of A's: unit, from A to B.
    pub normal: DVec3,
    /// How far that is [m].
    pub depth: f64,
}

/// Where the pairs of two meshes meet, in the order of the pairs. For pairs of one mesh give it twice.
///
/// Points are exact but for the rounding of f64. About 1 µs a pair.
pub fn contacts(a: &SoftMesh, b: &SoftMesh, pairs: &Pairs) -> Vec<SoftContact> {
    let of = |[x, y]: [u32; 2]| {
        let (s, t) = (a.corners(x)?, b.corners(y)?);
        let common = meeting(&s, &t)?;
        let way = parting(&s, &t);
        let points = common.points();
        let point = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
        Some(SoftContact { pair: [x, y], meeting: common, point, normal: way.normal, depth: way.depth })
    };
    par::map(pairs.list.len(), |i| of(pairs.list[i])).into_iter().flatten().collect()
}
