//! The surfaces of two parts: how far apart they are, and where they meet. Triangles alone, no fields.

use crate::job::Part;
use glam::DVec3;
use palpate::Pose;
use palpate::field::source::Source;
use palpate::math::Aabb;
use palpate::mesh::{Mesh, winding_number_exact};
use palpate::soft::{Soft, SoftMesh, SoftParams, meeting};

/// Part of the triangles of a mesh.
struct Crop {
    soft: SoftMesh,
    /// Their numbers in the whole.
    numbers: Vec<u32>,
}

/// Triangles of a moved mesh whose boxes meet `room`; none if there are none.
fn crop(positions: &[DVec3], triangles: &[[u32; 3]], room: Aabb) -> Option<Crop> {
    const UNUSED: u32 = u32::MAX;
    let mut new = vec![UNUSED; positions.len()];
    let (mut kept, mut cut, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (i, t) in triangles.iter().enumerate() {
        let own = Aabb::of_points(t.iter().map(|v| positions[*v as usize]));
        if own.overlaps(room) {
            cut.push(t.map(|v| {
                let slot = &mut new[v as usize];
                if *slot == UNUSED {
                    *slot = kept.len() as u32;
                    kept.push(positions[v as usize]);
                }
                *slot
            }));
            numbers.push(i as u32);
        }
    }
    if cut.is_empty() {
        return None;
    }
    SoftMesh::new(kept, cut).ok().map(|soft| Crop { soft, numbers })
}

/// How two surfaces are to each other. A's frame.
#[derive(Debug)]
pub(crate) enum Surfaces {
    /// Farther apart than was asked.
    Far,
    /// This far [m], and the points of A and B where it is.
    Apart(f64, [DVec3; 2]),
    /// They meet in these places.
    Meet(Meet),
}

/// Where surfaces meet, in A's frame.
#[derive(Debug, Default)]
pub(crate) struct Meet {
    /// Points of the curves, or the corners of the areas, that the surfaces share [m].
    pub(crate) curve: Vec<DVec3>,
    /// Points of A's surface between them, then of B's [m].
    pub(crate) between: [Vec<DVec3>; 2],
}

/// Points on one triangle that are paired.
const MAX_ON_TRIANGLE: usize = 12;
/// Places that are kept at most: shapes that share whole surfaces have many. Taken at even steps.
const MAX_PLACES: usize = 50_000;

/// Surfaces nearer than this share of the parts' sizes meet, as far as rounding can tell [1].
const ROUNDING: f64 = 1e-10;

/// The pose of the second as the first sees it, with a rotation that is unit.
pub(crate) fn relative(poses: [Pose; 2]) -> Pose {
    let [w_from_a, w_from_b] = poses;
    let a_from_b = w_from_a.inverse() * w_from_b;
    Pose::new(a_from_b.rotation, a_from_b.translation)
}

/// Positions of B in A's frame.
pub(crate) fn moved(mesh: &Mesh, pose: &Pose) -> Vec<DVec3> {
    mesh.positions().iter().map(|p| pose.point(*p)).collect()
}

/// The triangles of A and of B, which is at `a_from_b`, that can be within `limit` of the other's [m]; the boxes of both, in A's frame.
fn crops(a: &Mesh, b: &Mesh, a_from_b: &Pose, limit: f64) -> (Option<[Crop; 2]>, [Aabb; 2]) {
    let of_b = moved(b, a_from_b);
    let room = [a.aabb(), Aabb::of_points(of_b.iter().copied())];
    let crop_a = crop(a.positions(), a.triangles(), room[1].padded(limit));
    let crop_b = crop(&of_b, b.triangles(), room[0].padded(limit));
    (crop_a.zip(crop_b).map(|(x, y)| [x, y]), room)
}

/// How far apart the surfaces of A and B are, which is at `a_from_b`, if not farther than `limit`; 0 where they meet [m]. The points of both
/// where it is are in A's frame. Exact up to rounding; milliseconds for 100,000 triangles.
pub fn gap(a: &Mesh, b: &Mesh, a_from_b: &Pose, limit: f64) -> Option<(f64, [DVec3; 2])> {
    let [x, y] = crops(a, b, a_from_b, limit).0?;
    let found = Soft::new().distance(&x.soft, &y.soft)?;
    (found.distance <= limit).then_some((found.distance, found.witnesses))
}

/// The surfaces of A and B, which is at `a_from_b`, as far as they are within `limit` of each other [m]. Exact up to rounding.
pub(crate) fn surfaces(a: &Mesh, b: &Mesh, a_from_b: &Pose, limit: f64) -> Surfaces {
    let (both, room) = crops(a, b, a_from_b, limit);
    let Some([x, y]) = both else { return Surfaces::Far };
    let mut soft = Soft::new();
    match soft.distance(&x.soft, &y.soft) {
        None => Surfaces::Far,
        Some(d) if d.distance > limit => Surfaces::Far,
        Some(d) if d.distance > ROUNDING * size(room[0].union(room[1])) => {
            Surfaces::Apart(d.distance, d.witnesses)
        }
        Some(d) => {
            let mut found = meet(&mut soft, &x, &y);
            found.curve.push(d.witnesses[0]);
            Surfaces::Meet(found)
        }
    }
}

/// The largest number in a box [m].
fn size(room: Aabb) -> f64 {
    room.min.abs().max(room.max.abs()).max_element()
}

fn meet(soft: &mut Soft, x: &Crop, y: &Crop) -> Meet {
    let list = &soft.pairs(&x.soft, &y.soft, &SoftParams::default()).list;
    let mut found = Meet::default();
    // By triangle, to know what lies between the points on one.
    let mut on: [Vec<(u32, DVec3)>; 2] = Default::default();
    let step = list.len().div_ceil(MAX_PLACES).max(1);
    for &[i, j] in list.iter().step_by(step) {
        let (Some(s), Some(t)) = (x.soft.corners(i), y.soft.corners(j)) else { continue };
        let Some(shared) = meeting(&s, &t) else { continue };
        for p in shared.points() {
            found.curve.push(*p);
            on[0].push((x.numbers[i as usize], *p));
            on[1].push((y.numbers[j as usize], *p));
        }
    }
    for (side, mut points) in on.into_iter().enumerate() {
        points.sort_by_key(|(t, _)| *t);
        for run in points.chunk_by(|a, b| a.0 == b.0) {
            let step = run.len().div_ceil(MAX_ON_TRIANGLE).max(1);
            let few: Vec<DVec3> = run.iter().step_by(step).map(|(_, p)| *p).collect();
            for (k, p) in few.iter().enumerate() {
                found.between[side].extend(few[k + 1..].iter().map(|q| 0.5 * (*p + *q)));
            }
            found.between[side].push(few.iter().sum::<DVec3>() / few.len() as f64);
        }
    }
    found
}

/// Whether a piece of `inner` lies inside `outer`, whose surfaces do not meet: then all of a piece is, or nothing.
/// `outer_from_inner`.
pub(crate) fn contains(outer: &Part, inner: &Part, outer_from_inner: &Pose) -> bool {
    let room = outer.mesh.aabb();
    inner.extremes.iter().any(|ends| {
        let ends = ends.map(|p| outer_from_inner.point(p));
        ends.iter().all(|p| room.contains(*p))
            && winding_number_exact(outer.mesh.positions(), outer.mesh.triangles(), ends[0]).abs() > 0.5
    })
}

/// Whether a point is inside a shape: by its field where that is certain, else by the triangles.
pub(crate) fn inside(shape: &palpate::Shape, p: DVec3) -> bool {
    let (lower, upper) = shape.field().bounds(p);
    if lower > 0.0 || upper < 0.0 {
        return upper < 0.0;
    }
    winding_number_exact(shape.mesh().positions(), shape.mesh().triangles(), p).abs() > 0.5
}
