//! The surface that each point of a cloud stands for: its cell in its tangent plane.
//!
//! A cell is a polygon around the point, cut by the bisectors with its neighbours. Where these leave a side free the surface ends: the
//! cell ends a quarter of a spacing beyond the lines to the neighbours there, half-way between what points on the very border
//! and points in the middle of their cells would want.

use super::Cloud;
use super::normals::{CHUNK, Fit, Graph};
use super::surfels::{NONE, Sites};
use crate::par;
use crate::progress::Progress;
use glam::{DVec2, DVec3, Vec3};

/// Radius of a polygon before it is cut [scales]. Cells of random points seldom reach beyond 2.
const RADIUS: f64 = 3.0;

/// Corners of a polygon before it is cut.
const CORNERS: usize = 12;

/// A cell ends this far beyond a border [distances of neighbours].
const BEYOND: f64 = 0.25;

/// Neighbours that face more than this away are another side of the part [cosine].
const OTHER_SIDE: f32 = -0.2;

/// Neighbours that face alike are compared in the plane, so that noise along the normal does not make cells larger [cosine]; others,
/// beyond an edge, in space.
const ALIKE: f32 = 0.7;

/// A cell is final when all points within this many times its reach were asked [1].
const ASKED: f64 = 2.2;

/// Numbers of neighbours that are asked in turn.
const MORE: [usize; 2] = [48, 192];

/// The surface of a point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// [m²]
    pub(super) area: f32,
    /// Distance of the farthest corner [m].
    pub(super) reach: f32,
    pub(super) border: bool,
}

/// The cells of all points.
pub(super) fn cells(
    cloud: &Cloud,
    sites: &Sites,
    graph: &Graph,
    fits: &[Fit],
    normals: &[Vec3],
    progress: &dyn Progress,
) -> Vec<Cell> {
    let mut out = vec![Cell::default(); sites.points.len()];
    par::chunks_mut(&mut out, CHUNK, |c, out| {
        if progress.cancelled() {
            return;
        }
        let mut cut = Cut::default();
        let (mut few, mut near) = (Vec::new(), Vec::new());
        for (at, cell) in out.iter_mut().enumerate() {
            let i = c * CHUNK + at;
            let scale = f64::from(fits[i].scale);
            near.clear();
            near.extend(graph.of(i));
            cut.start(i, sites, normals, scale);
            cut.all(&near, sites, normals);
            for more in MORE {
                if !cut.wants_more(&near, sites) {
                    break;
                }
                cloud.slots_nearest(sites.points[i].to_array(), more + 1, &mut few);
                near.clear();
                near.extend(few.iter().skip(1).map(|f| sites.entry_at[f.1 as usize]));
                cut.start(i, sites, normals, scale);
                cut.all(&near, sites, normals);
                if few.len() < more + 1 {
                    break;
                }
            }
            *cell = cut.finish();
        }
        progress.advance(out.len() as u64);
    });
    out
}

/// A polygon under the knife, in units of the point's scale.
#[derive(Default)]
struct Cut {
    entry: usize,
    scale: f64,
    axes: [DVec3; 2],
    /// Corners, counter-clockwise, and whose bisector the edge from each to the next is on: the place in `sides`, or [`NONE`].
    corners: Vec<(DVec2, u32)>,
    other: Vec<(DVec2, u32)>,
    /// Neighbours that cut, in the plane.
    sides: Vec<DVec2>,
}

impl Cut {
    fn start(&mut self, entry: usize, sites: &Sites, normals: &[Vec3], scale: f64) {
        debug_assert!(entry < sites.points.len());
        let normal = normals[entry].as_dvec3();
        (self.entry, self.scale) = (entry, scale);
        let u = normal.any_orthonormal_vector();
        self.axes = [u, normal.cross(u)];
        self.sides.clear();
        self.corners.clear();
        self.corners.extend((0..CORNERS).map(|k| {
            let angle = core::f64::consts::TAU * k as f64 / CORNERS as f64;
            (RADIUS * DVec2::from_angle(angle), NONE)
        }));
    }

    fn all(&mut self, near: &[u32], sites: &Sites, normals: &[Vec3]) {
        if self.scale.is_nan() || self.scale <= 0.0 {
            return;
        }
        let (p, n) = (sites.points[self.entry], normals[self.entry]);
        for &j in near {
            let facing = n.dot(normals[j as usize]);
            if facing < OTHER_SIDE {
                continue;
            }
            let d = (sites.points[j as usize] - p).as_dvec3() / self.scale;
            let flat = DVec2::new(d.dot(self.axes[0]), d.dot(self.axes[1]));
            let (aside, away) = (flat.length_squared(), d.length_squared());
            // Above each other: another layer.
            if facing > ALIKE && 2.0 * aside < away {
                continue;
            }
            let half = 0.5 * if facing > ALIKE { aside } else { away };
            if self.cut(flat, half, self.sides.len() as u32) {
                self.sides.push(flat);
            }
        }
    }

    /// Keeps what has `p · way <= limit`; whether anything went.
    fn cut(&mut self, way: DVec2, limit: f64, side: u32) -> bool {
        let over = |p: DVec2| p.dot(way) - limit;
        if self.corners.iter().all(|c| over(c.0) <= 0.0) {
            return false;
        }
        self.other.clear();
        let n = self.corners.len();
        for k in 0..n {
            let ((p, tag), (q, _)) = (self.corners[k], self.corners[(k + 1) % n]);
            let (a, b) = (over(p), over(q));
            let crossing = || p.lerp(q, a / (a - b));
            if a <= 0.0 {
                self.other.push((p, tag));
                if b > 0.0 {
                    self.other.push((crossing(), side));
                }
            } else if b <= 0.0 {
                self.other.push((crossing(), tag));
            }
        }
        core::mem::swap(&mut self.corners, &mut self.other);
        true
    }

    fn reach(&self) -> f64 {
        self.corners.iter().fold(0.0, |m: f64, c| m.max(c.0.length()))
    }

    /// Whether points farther than the last asked could cut.
    fn wants_more(&self, near: &[u32], sites: &Sites) -> bool {
        let last = near.last().map_or(0.0, |j| {
            f64::from(sites.points[*j as usize].distance(sites.points[self.entry])) / self.scale
        });
        self.scale > 0.0 && ASKED * self.reach() > last
    }

    /// Ends the cell where the surface does, and measures it.
    fn finish(&mut self) -> Cell {
        let border = self.corners.iter().any(|c| c.1 == NONE);
        if border {
            self.end();
        }
        let (mut twice, n) = (0.0, self.corners.len());
        for k in 0..n {
            twice += self.corners[k].0.perp_dot(self.corners[(k + 1) % n].0);
        }
        let area = 0.5 * twice.max(0.0) * self.scale * self.scale;
        Cell { area: area as f32, reach: (self.reach() * self.scale) as f32, border }
    }

    /// Cuts the sides that no neighbour bounds.
    fn end(&mut self) {
        let n = self.corners.len();
        let Some(first) = (0..n).find(|k| self.corners[*k].1 != NONE) else {
            // Alone: a square of its scale.
            self.corners.clear();
            self.corners.extend([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(|p| (p.into(), 0)));
            return;
        };
        // The neighbours before and after each free run, as the edges go around.
        let mut gaps = Vec::new();
        let (mut before, mut open) = (self.corners[first].1, false);
        for k in first + 1..=first + n {
            let tag = self.corners[k % n].1;
            if tag == NONE {
                open = true;
            } else {
                if open {
                    gaps.push((self.sides[before as usize], self.sides[tag as usize]));
                }
                (before, open) = (tag, false);
            }
        }
        for (from, to) in gaps {
            let beyond = BEYOND * 0.5 * (from.length() + to.length());
            let (u, v) = (from.normalize_or_zero(), to.normalize_or_zero());
            let angle = u.perp_dot(v).atan2(u.dot(v));
            let angle = if angle <= 0.0 { angle + core::f64::consts::TAU } else { angle };
            if angle < core::f64::consts::PI {
                let half = 0.5 * angle;
                self.cut(DVec2::from_angle(half).rotate(u), beyond / half.sin().max(0.1), NONE);
            } else {
                self.cut(u.perp(), beyond, NONE);
                self.cut(-v.perp(), beyond, NONE);
            }
        }
    }
}
