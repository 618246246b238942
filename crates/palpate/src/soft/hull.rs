//! How far the convex hulls of two meshes are apart, and along which direction.
//!
//! Based on: Gilbert, Johnson, Keerthi, 1988 [gjk88], with the end of van den Bergen, 1999 [bergen99]: no support point is nearer than
//! the closest point so far by more than the tolerance.
//! Differs: support points are found among the vertices by projections in f32, and all that follows is in f64; the closest point of a
//! simplex is the best of its faces', each by its own equations, so that no sign has to be trusted.

use super::SoftMesh;
use super::project::project;
use glam::{DVec3, Vec3};

/// Steps, at most: each adds a vertex.
const STEPS: usize = 64;
/// When the closest point is as good as it gets [1].
const TOLERANCE: f64 = 1e-7;

/// What the convex hulls of two meshes have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hulls {
    /// Between the hulls, 0 where they meet [m]. The meshes are at least that far apart.
    pub distance: f64,
    /// Along this direction, unit, all of A is before all of B; none where the hulls meet.
    pub axis: Option<DVec3>,
}

/// The distance of the convex hulls of two meshes' vertices, and a direction that separates them; none where one has no vertex with a
/// place.
///
/// About 1e-6 of the sizes off; vertices of triangles that do not take part count too. A few passes over the vertices: 1 ns each.
pub fn hulls(a: &SoftMesh, b: &SoftMesh) -> Option<Hulls> {
    if a.lost_vertices() == a.positions().len() || b.lost_vertices() == b.positions().len() {
        return None;
    }
    let shift = a.origin() - b.origin();
    let mut dots = Vec::new();
    let middle = |m: &SoftMesh| (0.5 * (m.bounds()[0] + m.bounds()[1])).truncate().as_dvec3();
    let mut support = |d: DVec3| -> DVec3 {
        // Of B − A the point farthest against `d`.
        let d = d.try_normalize().unwrap_or(DVec3::X).as_vec3();
        let far = |m: &SoftMesh, high: bool, dots: &mut Vec<f32>| {
            let e = project(m.packed(), d, dots);
            let at = if high { e.highest } else { e.lowest };
            m.packed().get(at as usize).map_or(Vec3::ZERO, |p| p.truncate()).as_dvec3()
        };
        far(b, false, &mut dots) - far(a, true, &mut dots) - shift
    };
    let size = {
        let extent = |m: &SoftMesh| (m.bounds()[1] - m.bounds()[0]).truncate().length();
        f64::from(extent(a).max(extent(b))).max(f64::MIN_POSITIVE)
    };
    let mut simplex = vec![support(middle(b) - middle(a) - shift)];
    let mut nearest = simplex[0];
    for _ in 0..STEPS {
        let squared = nearest.length_squared();
        if squared <= (TOLERANCE * size).powi(2) {
            return Some(Hulls { distance: 0.0, axis: None });
        }
        let next = support(nearest);
        // How much nearer the hulls can be than the closest point so far.
        if squared - nearest.dot(next) <= TOLERANCE * squared.max(TOLERANCE * size * size)
            || simplex.contains(&next)
        {
            break;
        }
        simplex.push(next);
        (nearest, simplex) = closest(&simplex);
    }
    let axis = nearest.try_normalize();
    let distance = if axis.is_some() { nearest.length() } else { 0.0 };
    // A direction is told only if it does separate.
    let apart = axis.filter(|d| support(*d).dot(*d) > 0.0);
    Some(Hulls { distance: if apart.is_some() { distance } else { 0.0 }, axis: apart })
}

/// The point nearest to the origin of the hull of up to four points, and the points it lies between.
fn closest(points: &[DVec3]) -> (DVec3, Vec<DVec3>) {
    let mut best: Option<(f64, DVec3, Vec<DVec3>)> = None;
    for set in 1u32..1 << points.len().min(4) {
        let chosen: Vec<DVec3> = (0..points.len()).filter(|i| set >> i & 1 == 1).map(|i| points[i]).collect();
        let Some(p) = within(&chosen) else { continue };
        let d = p.length_squared();
        if best.as_ref().is_none_or(|b| d < b.0) {
            best = Some((d, p, chosen));
        }
    }
    best.map_or((DVec3::ZERO, Vec::new()), |(_, p, chosen)| (p, chosen))
}

/// The point of the plane of up to four points that is nearest to the origin, if it lies between them.
fn within(points: &[DVec3]) -> Option<DVec3> {
    match *points {
        [a] => Some(a),
        [a, b] => {
            let u = b - a;
            let t = -a.dot(u) / u.length_squared();
            (t > 0.0 && t < 1.0).then(|| a + u * t)
        }
        [a, b, c] => {
            let (u, v) = (b - a, c - a);
            let n = u.cross(v);
            let nn = n.length_squared();
            // Of the projection −a on the plane: its coordinates along u and v.
            let (s, t) = ((-a).cross(v).dot(n) / nn, u.cross(-a).dot(n) / nn);
            (s > 0.0 && t > 0.0 && s + t < 1.0).then(|| n * (a.dot(n) / nn))
        }
        [a, b, c, d] => {
            // The origin inside: on the same side of each face as the fourth corner.
            let inside =
                [[a, b, c, d], [a, b, d, c], [a, c, d, b], [b, c, d, a]].iter().all(|[p, q, r, s]| {
                    let n = (*q - *p).cross(*r - *p);
                    n.dot(-*p) * n.dot(*s - *p) > 0.0
                });
            inside.then_some(DVec3::ZERO)
        }
        _ => None,
    }
}
