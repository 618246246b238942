//! Walks over the triangles of a mesh, always nearer to a point.

use super::surface::{Feature, closest_point};
use crate::mesh::Mesh;
use glam::DVec3;

/// Most triangles one walk goes on. Each is nearer than the last, so this only bounds the time.
const WALK: usize = 256;
/// Most triangles looked at around one vertex.
const FAN: usize = 32;

/// A mesh with its caps as walks read it.
struct Surface<'a> {
    triangles: &'a [[u32; 3]],
    neighbours: &'a [[u32; 3]],
    positions: &'a [DVec3],
    /// Those of caps follow.
    caps: &'a [DVec3],
}

impl<'a> Surface<'a> {
    fn new(mesh: &'a Mesh) -> Self {
        let closed = mesh.closed();
        let (triangles, topology) = if closed.triangles.is_empty() {
            (mesh.triangles(), mesh.topology())
        } else {
            (&closed.triangles[..], &closed.topology)
        };
        let neighbours = &topology.neighbours[..];
        Self { triangles, neighbours, positions: mesh.positions(), caps: &closed.caps.positions }
    }

    #[inline]
    fn position(&self, v: u32) -> Option<DVec3> {
        let v = v as usize;
        if let Some(p) = self.positions.get(v) {
            return Some(*p);
        }
        self.caps.get(v - self.positions.len()).copied()
    }

    /// The triangle across edge `e` of triangle `t`; a number that is no triangle where there is none.
    #[inline]
    fn across(&self, t: u32, e: usize) -> u32 {
        self.neighbours.get(t as usize).map_or(u32::MAX, |n| n[e])
    }

    /// Measures triangle `t`, its corners from `first` on.
    #[inline]
    fn measure(&self, p: DVec3, t: u32, first: usize) -> Option<Best> {
        let v = self.triangles.get(t as usize)?;
        let [i, j, k] = [first, (first + 1) % 3, (first + 2) % 3];
        let corners = [self.position(v[i])?, self.position(v[j])?, self.position(v[k])?];
        let (point, feature) = closest_point(corners, p);
        let feature = match feature {
            Feature::Face => Feature::Face,
            Feature::Edge(e) => Feature::Edge((e + first) % 3),
            Feature::Corner(c) => Feature::Corner((c + first) % 3),
        };
        Some(Best { squared: (point - p).length_squared(), point, triangle: t, feature })
    }
}

#[derive(Clone, Copy)]
struct Best {
    squared: f64,
    point: DVec3,
    triangle: u32,
    feature: Feature,
}

/// The point of `mesh`, caps included, to which a walk over its triangles leads from triangle `start`, always nearer to `p` (both in
/// the shape's frame [m]): squared distance, point and triangle. A place that is locally closest; none for a triangle there is not.
pub(crate) fn walk_from(mesh: &Mesh, p: DVec3, start: u32) -> Option<(f64, DVec3, u32)> {
    let surface = Surface::new(mesh);
    let mut best = surface.measure(p, start, 0)?;
    for _ in 0..WALK {
        let before = best;
        // Over the feature the closest point is on: no other neighbour can be nearer but one that is near by chance.
        match before.feature {
            Feature::Face => break,
            Feature::Edge(e) => {
                let next = surface.measure(p, surface.across(before.triangle, e % 3), 0);
                if let Some(found) = next.filter(|f| f.squared < best.squared) {
                    best = found;
                }
            }
            Feature::Corner(c) => around(&surface, p, before.triangle, c % 3, &mut best),
        }
        if best.squared >= before.squared {
            break;
        }
    }
    Some((best.squared, best.point, best.triangle))
}

/// Offers the other triangles around corner `c` of triangle `t`: all the way, or from a border to the other.
fn around(surface: &Surface<'_>, p: DVec3, t: u32, c: usize, best: &mut Best) {
    let Some(vertex) = surface.triangles.get(t as usize).map(|v| v[c]) else { return };
    let mut seen = 0;
    for start in [c, (c + 2) % 3] {
        let (mut last, mut at) = (t, surface.across(t, start));
        while at != t && seen < FAN {
            let Some(v) = surface.triangles.get(at as usize) else { break };
            let Some(corner) = v.iter().position(|v| *v == vertex) else { break };
            // From the corner on: most triangles are told by it.
            if let Some(found) = surface.measure(p, at, corner).filter(|f| f.squared < best.squared) {
                *best = found;
            }
            let next = surface.across(at, corner);
            let next = if next == last { surface.across(at, (corner + 2) % 3) } else { next };
            (last, at) = (at, next);
            seen += 1;
        }
        if at == t {
            break;
        }
    }
}
