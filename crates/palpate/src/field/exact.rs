//! Closest points of any point, exactly: the triangles themselves and the tree over them.
//!
//! The tree is in f32 and only excludes. Whatever its rounding leaves in doubt is measured in f64, so the answer is that
//! of measuring every triangle in f64.

use super::build::prepare;
use super::bvh::Bvh;
use super::compact::Compact;
use super::dipoles::{Dipoles, Levels};
use super::overlap::Extremes;
use super::precise::Precise;
use super::surface::{Faces, Surface};
use super::{FieldError, FieldParams, Lattice};
use crate::mesh::Mesh;
use crate::par;
use glam::DVec3;
use std::sync::{Arc, OnceLock};

/// Absolute part of what rounding leaves in doubt, with coordinates up to [`COORDINATES`] [voxels]. Larger: more triangles
/// are measured twice. Smaller: the plane of a thin triangle, in f32, can exclude the winner.
const SLACK: f64 = 1e-3;
/// Coordinates from which on the slack grows with them [voxels].
const COORDINATES: f64 = 2000.0;
/// From points farther than this many times the surface's size the search sees the surface as from there: the rounding of
/// more would leave all of it in doubt. The angle differs by less than the reciprocal, so the distance, relative to
/// itself, by at most half its square.
const FARTHEST: f64 = 3e4;

/// The closest point of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// On the surface, in the shape's frame [m].
    pub point: DVec3,
    /// Its triangle, as the mesh numbers them; those of caps follow.
    pub triangle: u32,
    /// Distance to `point` [m], not negative.
    pub distance: f64,
}

impl Closest {
    /// Of a point that is no place.
    pub(super) const NONE: Self = Self { point: DVec3::NAN, triangle: 0, distance: f64::NAN };
}

/// Triangles in the order of a tree over them, the mesh's own number of each, and the way back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree<'a> {
    pub(super) triangles: &'a [[u32; 3]],
    pub(super) original: &'a [u32],
    pub(super) place: &'a [u32],
    pub(super) bvh: &'a Bvh,
}

/// The triangles of a mesh with its caps, and a tree over them: exact closest points, in the shape's own frame [m].
#[derive(Debug)]
pub struct Exact {
    /// Place of the grid the triangles are kept in [m], and its unit.
    pub(super) origin: DVec3,
    pub(super) voxel: f64,
    /// Vertices [voxels] and triangles in the order of the tree.
    pub(super) positions: Arc<Vec<DVec3>>,
    pub(super) triangles: Arc<Vec<[u32; 3]>>,
    /// The mesh's own number of each triangle, and the way back.
    pub(super) original: Arc<Vec<u32>>,
    pub(super) place: Arc<Vec<u32>>,
    pub(super) bvh: Arc<Bvh>,
    /// Middle and half diagonal of the box of all vertices [voxels].
    pub(super) middle: DVec3,
    pub(super) radius: f64,
    pub(super) slack: f64,
    /// Of connected pieces: `overlap.rs`.
    pub(super) pieces: OnceLock<Vec<Extremes>>,
    /// For many questions: `exact_batch.rs`.
    pub(super) compact: OnceLock<Arc<Compact>>,
    /// Which triangles belong to sheets, in the order of the tree; empty if none does.
    pub(super) sheet: Arc<Vec<bool>>,
    /// For winding numbers, made by the first.
    pub(super) dipoles: OnceLock<Arc<Levels>>,
}

impl Exact {
    /// The triangles of `mesh`, with caps if `params.cap_holes`; `voxel` is the length that should be large against rounding
    /// and small against the shape [m].
    pub fn build(mesh: &Mesh, voxel: f64, params: &FieldParams) -> Result<Self, FieldError> {
        let lattice = Lattice::around(mesh.aabb(), voxel, params.padding)?;
        par::with_threads(params.threads, || {
            let (surface, ..) = prepare(mesh, &lattice, params);
            let bvh = Bvh::build(&surface);
            Ok(Self::new(surface, bvh, lattice.origin, voxel))
        })
    }

    /// From what a field's build made.
    pub(crate) fn new(surface: Surface, bvh: Bvh, origin: DVec3, voxel: f64) -> Self {
        let Surface { positions, triangles, original, sheet, .. } = surface;
        let mut place = vec![0u32; original.len()];
        for (at, t) in original.iter().enumerate() {
            place[*t as usize] = at as u32;
        }
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for p in &positions {
            (low, high) = (low.min(*p), high.max(*p));
        }
        let largest = low.abs().max(high.abs()).max_element();
        let slack = SLACK * (largest / COORDINATES).max(1.0);
        let (middle, radius) = (0.5 * (low + high), 0.5 * (high - low).length());
        Self {
            origin,
            voxel,
            positions: Arc::new(positions),
            triangles: Arc::new(triangles),
            original: Arc::new(original),
            place: Arc::new(place),
            bvh: Arc::new(bvh),
            middle,
            radius,
            slack,
            pieces: OnceLock::new(),
            compact: OnceLock::new(),
            sheet: Arc::new(sheet),
            dipoles: OnceLock::new(),
        }
    }

    /// The winding number of the surface around `p`: 1 inside, 0 outside where it is closed; within about 0.02, so that 1/2 tells the sides.
    /// About 5 µs, and once a millisecond for each 100,000 triangles.
    pub(crate) fn winding(&self, p: DVec3) -> f64 {
        let faces = Faces { positions: &self.positions, triangles: &self.triangles, sheet: &self.sheet };
        let levels = self.dipoles.get_or_init(|| Arc::new(Dipoles::levels(&self.bvh, faces)));
        Dipoles::kept(&self.bvh, faces, levels).winding((p - self.origin) / self.voxel)
    }

    /// The point of the surface closest to `p`, in the shape's frame [m]. `guess`, a triangle by the mesh's number, makes the
    /// search shorter if it is near.
    ///
    /// The distance is that of the best triangle in f64; from more than 30,000 times the surface's size away it is
    /// within 1e-9 of itself. A point that is not finite gives NaN. For 70,000 triangles and points in no order, about 0.8 µs
    /// near the surface with a good guess and 2 µs without, twice that from far away; no allocation.
    pub fn closest(&self, p: DVec3, guess: Option<u32>) -> Closest {
        self.search(&self.tree(), p, guess, f64::INFINITY).unwrap_or(Closest::NONE)
    }

    /// As [`Exact::closest`], none if the surface is at `limit` [m] or farther.
    pub fn closest_within(&self, p: DVec3, limit: f64) -> Option<Closest> {
        // Nothing is nearer than 0, or nearer than NaN.
        if limit > 0.0 { self.search(&self.tree(), p, None, limit) } else { None }
    }

    /// Number of triangles, caps included.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// Memory [bytes].
    pub fn bytes(&self) -> usize {
        let compact = self.compact.get().map_or(0, |c| 20 * self.triangles.len() + c.tree().bvh.bytes());
        24 * self.positions.len() + 20 * self.triangles.len() + self.bvh.bytes() + compact
    }

    /// The tree that the build made.
    #[inline]
    pub(super) fn tree(&self) -> Tree<'_> {
        Tree { triangles: &self.triangles, original: &self.original, place: &self.place, bvh: &self.bvh }
    }

    #[inline]
    pub(super) fn search(
        &self,
        tree: &Tree<'_>,
        p: DVec3,
        guess: Option<u32>,
        limit: f64,
    ) -> Option<Closest> {
        let u = (p - self.origin) / self.voxel;
        // Also not finite after the division.
        if !u.is_finite() {
            return self.outer(tree, p, guess, limit);
        }
        let away = (u - self.middle).length();
        if away > FARTHEST * self.radius.max(1.0) {
            return self.outer(tree, p, guess, limit);
        }
        let limit = limit / self.voxel;
        let (triangle, point, squared) = self.find(tree, u, guess, limit * limit, 0.0)?;
        self.answer(tree, triangle, point, squared.sqrt() * self.voxel)
    }

    /// A lower bound of the distance of `p` [m], at most `give` [m] below it, and a triangle that near. `p` is less than 30,000
    /// times the surface's size away. Several times quicker than the exact distance, from far away.
    pub(crate) fn nearly(&self, p: DVec3, guess: Option<u32>, give: f64) -> (f64, u32) {
        let (u, give) = ((p - self.origin) / self.voxel, give / self.voxel);
        self.find(&self.tree(), u, guess, f64::INFINITY, give).map_or((0.0, 0), |(t, _, squared)| {
            (
                (squared.sqrt() - give).max(0.0) * self.voxel,
                self.original.get(t as usize).copied().unwrap_or(0),
            )
        })
    }

    fn answer(&self, tree: &Tree<'_>, triangle: u32, point: DVec3, distance: f64) -> Option<Closest> {
        let triangle = *tree.original.get(triangle as usize)?;
        Some(Closest { point: self.origin + point * self.voxel, triangle, distance })
    }

    /// The search in grid units: triangle in the order of the tree, point and squared distance.
    #[inline]
    fn find(
        &self,
        tree: &Tree<'_>,
        u: DVec3,
        guess: Option<u32>,
        limit: f64,
        give: f64,
    ) -> Option<(u32, DVec3, f64)> {
        let mut search = Precise {
            positions: &self.positions,
            triangles: tree.triangles,
            original: tree.original,
            p: u,
            best: limit,
            triangle: u32::MAX,
            point: DVec3::ZERO,
            slack: self.slack,
            give,
        };
        if let Some(place) = guess.and_then(|g| tree.place.get(g as usize)) {
            search.offer(*place);
        }
        search.search(tree.bvh);
        (search.triangle != u32::MAX).then_some((search.triangle, search.point, search.best))
    }

    /// From very far away: as seen from nearer, in the same direction.
    #[cold]
    fn outer(&self, tree: &Tree<'_>, p: DVec3, guess: Option<u32>, limit: f64) -> Option<Closest> {
        if !p.is_finite() {
            return None;
        }
        let middle = self.origin + self.middle * self.voxel;
        // Divided first: the square of a large coordinate overflows.
        let scale = (p - middle).abs().max_element().max(f64::MIN_POSITIVE);
        let way = ((p - middle) / scale).normalize_or_zero();
        let u = self.middle + way * (FARTHEST * self.radius.max(1.0));
        let (triangle, point, _) = self.find(tree, u, guess, f64::INFINITY, 0.0)?;
        let q = self.origin + point * self.voxel;
        let distance = ((p - q) / scale).length() * scale;
        if distance < limit { self.answer(tree, triangle, point, distance) } else { None }
    }
}

#[cfg(test)]
#[path = "exact_tests.rs"]
pub(crate) mod tests;
