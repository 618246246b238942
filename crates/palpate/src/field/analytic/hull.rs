//! Convex polyhedra, given by triangles.

use super::super::source::Sample;
use super::super::surface::{Feature, closest_point};
use super::{Analytic, ShapeError};
use crate::math::Aabb;
use glam::DVec3;
use std::sync::Arc;

/// How far a corner may lie above a face, and how far the corners of triangles may lie off a common face, as a share of the
/// largest extent [1]. Larger: dents are taken for convex. Smaller: hulls in single precision (6e-8 of their size, more for
/// narrow faces) are refused.
pub(crate) const TOLERANCE: f64 = 1e-6;

/// Most triangles of a hull: its checks take time with their square, and each distance with their number.
pub(crate) const MAX_TRIANGLES: usize = 16_384;

/// A triangle lower than this share of the largest extent has no direction of its own [1]: its neighbours cover it.
const SLIVER: f64 = 1e-12;

/// No plane: the triangle is too narrow to have one.
const NONE: u32 = u32::MAX;

/// A closed convex polyhedron, in its own frame [m]; made by [`Analytic::hull`].
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// Which of the planes each triangle lies in.
    plane_of: Vec<u32>,
    planes: Vec<Plane>,
    /// How far a triangle may lie below its plane [m].
    slack: f64,
    aabb: Aabb,
}

/// One face of a hull: no point of the hull has `normal · p > offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Unit outward normal.
    pub normal: DVec3,
    /// Height above the origin along `normal` [m].
    pub offset: f64,
}

impl Plane {
    /// Height of `p` above the plane, negative inside [m].
    pub fn height(&self, p: DVec3) -> f64 {
        self.normal.dot(p) - self.offset
    }
}

impl Hull {
    /// The corners, each once [m].
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The triangles, counter-clockwise from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The distinct faces: triangles in one plane share one.
    pub fn planes(&self) -> &[Plane] {
        &self.planes
    }

    /// How far the triangles may lie below the planes [m]: rounding for an exactly convex hull.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// The box of the corners [m].
    pub fn aabb(&self) -> Aabb {
        self.aabb
    }
}

impl Analytic {
    /// The convex polyhedron of the given triangles, counter-clockwise from outside.
    ///
    /// It must be closed and convex: no corner may lie above a face by more than 1e-6 of the largest extent. Corners in one place are
    /// one; those that no triangle uses are dropped. At most 16,384 triangles.
    /// Cost: corners times faces here; a distance takes faces, and outside the triangles that see the point.
    ///
    /// # Errors
    /// Says which vertex or triangle is not finite, out of range, beside a hole, inside out or dented, or that there is no volume.
    pub fn hull(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<Self, ShapeError> {
        Hull::new(positions, triangles).map(|h| Self::Hull(Arc::new(h)))
    }
}

impl Hull {
    fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<Self, ShapeError> {
        let Welded { positions, triangles, given } = welded(positions, triangles)?;
        closed(&triangles, &given)?;
        let aabb = Aabb::of_points(positions.iter().copied());
        let size = aabb.extent().max_element();
        let middle = aabb.centre();
        let corners = |t: &[u32; 3]| t.map(|v| positions[v as usize]);
        let volume = triangles
            .iter()
            .map(|t| {
                let [a, b, c] = corners(t).map(|p| (p - middle) / size);
                a.dot(b.cross(c)) / 6.0
            })
            .sum::<f64>();
        if volume < -TOLERANCE {
            return Err(ShapeError::InsideOut);
        }
        // Written so that NaN fails.
        let has_volume = volume > TOLERANCE;
        if !has_volume {
            return Err(ShapeError::Flat { volume: volume * size * size * size });
        }

        // The largest triangles first: they know the directions of faces best.
        let normal = |t: &[u32; 3]| {
            let [a, b, c] = corners(t).map(|p| (p - middle) / size);
            let n = (b - a).cross(c - a);
            let longest = (b - a).length().max((c - b).length()).max((a - c).length());
            (n, n.length() / longest)
        };
        let mut order: Vec<(f64, usize)> =
            triangles.iter().enumerate().map(|(i, t)| (normal(t).0.length_squared(), i)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let allowed = TOLERANCE * size;
        let mut planes: Vec<Plane> = Vec::new();
        let mut plane_of = vec![NONE; triangles.len()];
        let mut slack = 0.0f64;
        for (_, i) in order {
            let (n, height) = normal(&triangles[i]);
            let Some(unit) = n.try_normalize().filter(|_| height > SLIVER) else { continue };
            let low = |plane: &Plane| {
                corners(&triangles[i]).map(|p| -plane.height(p)).into_iter().fold(0.0, f64::max)
            };
            let fits = |plane: &Plane| plane.normal.dot(unit) > 0.0 && low(plane) <= allowed;
            let found = match planes.iter().position(fits) {
                Some(found) => found,
                None => {
                    let (offset, vertex) = farthest(&positions, unit);
                    let plane = Plane { normal: unit, offset };
                    if low(&plane) > allowed {
                        let vertex = positions[vertex];
                        return Err(ShapeError::NotConvex { vertex, triangle: given[i], above: low(&plane) });
                    }
                    planes.push(plane);
                    planes.len() - 1
                }
            };
            slack = slack.max(low(&planes[found]));
            plane_of[i] = found as u32;
        }
        Ok(Self { positions, triangles, plane_of, planes, slack, aabb })
    }

    /// Distance, gradient and closest point.
    pub(super) fn at(&self, p: DVec3) -> (Sample, DVec3) {
        let (mut highest, mut normal, mut unique) = (f64::NEG_INFINITY, DVec3::ZERO, true);
        for plane in &self.planes {
            let height = plane.height(p);
            if height > highest {
                (highest, normal, unique) = (height, plane.normal, true);
            } else if height == highest {
                unique = false;
            }
        }
        if highest <= 0.0 {
            let gradient = if unique { normal } else { DVec3::ZERO };
            return (Sample { distance: highest, gradient }, p - highest * normal);
        }
        // Outside: the closest point is on a face that sees the point.
        let mut best = (f64::INFINITY, DVec3::ZERO, DVec3::ZERO);
        for (t, &plane) in self.triangles.iter().zip(&self.plane_of) {
            let Some(plane) = self.planes.get(plane as usize) else { continue };
            let height = plane.height(p);
            // Nor can a face beyond the best so far be closer.
            if height <= -self.slack || (height > 0.0 && height * height > best.0) {
                continue;
            }
            let (foot, feature) = closest_point(t.map(|v| self.positions[v as usize]), p);
            // The plane knows the direction even where the way is short.
            if feature == Feature::Face && height > 0.0 {
                return (Sample { distance: height, gradient: plane.normal }, p - height * plane.normal);
            }
            let d = foot.distance_squared(p);
            if d < best.0 {
                best = (d, foot, p - foot);
            }
        }
        (Sample { distance: best.0.sqrt(), gradient: best.2.normalize_or_zero() }, best.1)
    }
}

/// The largest height of a point along a direction, and whose it is.
fn farthest(points: &[DVec3], along: DVec3) -> (f64, usize) {
    let mut best = (f64::NEG_INFINITY, 0);
    for (i, p) in points.iter().enumerate() {
        let height = along.dot(*p);
        if height > best.0 {
            best = (height, i);
        }
    }
    best
}

/// What is left of the input.
struct Welded {
    /// The corners that triangles use, each once.
    positions: Vec<DVec3>,
    /// The triangles with three of them.
    triangles: Vec<[u32; 3]>,
    /// Which number each had.
    given: Vec<usize>,
}

/// Checks the numbers and joins corners in one place.
fn welded(positions: &[DVec3], triangles: &[[u32; 3]]) -> Result<Welded, ShapeError> {
    if triangles.len() > MAX_TRIANGLES {
        return Err(ShapeError::TooManyFaces { count: triangles.len(), most: MAX_TRIANGLES });
    }
    let mut corners: Vec<(DVec3, usize)> = Vec::with_capacity(3 * triangles.len());
    for (triangle, t) in triangles.iter().enumerate() {
        for &vertex in t {
            let (count, which) = (positions.len(), vertex as usize);
            let Some(&p) = positions.get(which) else {
                return Err(ShapeError::NoSuchVertex { triangle, vertex, count });
            };
            if !(p.is_finite() && p.length_squared().is_finite()) {
                return Err(ShapeError::NotFinite {
                    shape: "hull",
                    what: "vertex",
                    value: format!("{p} (number {vertex})"),
                });
            }
            // Adding 0 makes −0 the same as 0.
            corners.push((p + DVec3::ZERO, corners.len()));
        }
    }
    corners.sort_by(|(a, i), (b, j)| {
        a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)).then(a.z.total_cmp(&b.z)).then(i.cmp(j))
    });
    let (mut used, mut number): (Vec<DVec3>, Vec<u32>) = (Vec::new(), vec![0; corners.len()]);
    for (p, corner) in corners {
        if used.last() != Some(&p) {
            used.push(p);
        }
        number[corner] = used.len() as u32 - 1;
    }
    let mut out = Welded { positions: used, triangles: Vec::new(), given: Vec::new() };
    for (i, &[a, b, c]) in number.as_chunks::<3>().0.iter().enumerate() {
        if a != b && b != c && c != a {
            out.triangles.push([a, b, c]);
            out.given.push(i);
        }
    }
    Ok(out)
}

/// Whether each side of each triangle is the side of one other, the other way round.
fn closed(triangles: &[[u32; 3]], given: &[usize]) -> Result<(), ShapeError> {
    let mut sides: Vec<([u32; 2], usize)> = Vec::with_capacity(3 * triangles.len());
    for (i, &[a, b, c]) in triangles.iter().enumerate() {
        sides.extend([([a, b], i), ([b, c], i), ([c, a], i)]);
    }
    sides.sort_unstable();
    let open = |triangle: usize| Err(ShapeError::NotClosed { triangle: given[triangle] });
    if let Some(twice) = sides.windows(2).find(|w| w[0].0 == w[1].0) {
        return open(twice[1].1);
    }
    let lone = |&&([a, b], _): &&([u32; 2], usize)| sides.binary_search_by(|s| s.0.cmp(&[b, a])).is_err();
    match sides.iter().find(lone) {
        Some(side) => open(side.1),
        None => Ok(()),
    }
}
