//! From a point near another surface to the places where the two are closest: back and forth over their triangles.

use crate::field::walk::walk_from;
use crate::math::Pose;
use crate::shape::Shape;
use glam::{DMat3, DVec3};

/// Most times the search goes from one surface to the other and back.
const STEPS: usize = 16;
/// It stops when a step gains less than this [spacings].
const GAIN: f64 = 1e-2;
/// A place of the surface is taken for the closest to a point if it is at most this much farther than the field says, which may
/// be less than the truth [spacings]. Larger: walks may begin where they lead elsewhere. Smaller: more searches from far away.
const ASTRAY: f64 = 2.0;
/// Those searches find a place that is at most this much farther than the nearest [spacings].
const GIVE: f64 = 0.25;

/// Distance, the point of the field's shape and that of the points' shape, in the field's frame, and their triangles.
pub(super) type Found = (f64, DVec3, DVec3, [u32; 2]);

/// A rotation and a translation, and the way back: quicker than a [`Pose`] for many points.
pub(super) struct Motion {
    rotation: DMat3,
    back: DMat3,
    translation: DVec3,
}

impl Motion {
    pub(super) fn new(pose: &Pose) -> Self {
        let rotation = DMat3::from_quat(pose.rotation);
        Self { rotation, back: rotation.transpose(), translation: pose.translation }
    }

    #[inline]
    pub(super) fn point(&self, p: DVec3) -> DVec3 {
        self.rotation * p + self.translation
    }

    #[inline]
    fn back(&self, p: DVec3) -> DVec3 {
        self.back * (p - self.translation)
    }
}

/// A triangle of `field` near the point of it closest to `p`, in its frame [m].
fn start(field: &Shape, p: DVec3) -> Option<u32> {
    let (tree, spacing) = (&field.tree, field.tree.shell.spacing);
    // Where the field says it is, unless that is no place of the surface so near.
    if let Some((foot, distance)) = field.far.foot(&field.field, p)
        && let Some(i) = tree.nearest(foot)
        && (tree.position(i) - p).length() < distance + ASTRAY * spacing
    {
        return Some(tree.triangle(i));
    }
    tree.nearly_nearest(p, GIVE * spacing).map(|i| tree.triangle(i))
}

/// From a point of the tree to the other surface and back, as long as that brings them nearer: walks over the triangles, from those
/// of the points nearest to each other.
pub(super) fn refine(field: &Shape, points: &Shape, pose: &Motion, point: u32, start: Option<u32>) -> Found {
    let spacing = points.tree.shell.spacing;
    let mut p = pose.point(points.tree.position(point as usize));
    let mut own = points.tree.triangle(point as usize);
    let start = start.or_else(|| self::start(field, p));
    let Some((mut squared, mut q, mut other)) = start.and_then(|t| walk_from(&field.mesh, p, t)) else {
        let q = field.exact.closest(p, None);
        return (q.distance, q.point, p, [q.triangle, own]);
    };
    for step in 0..STEPS {
        let Some((_, near, t)) = walk_from(&points.mesh, pose.back(q), own) else { break };
        let moved = pose.point(near);
        let Some((now, to, u)) = walk_from(&field.mesh, moved, other) else { break };
        // The tree's point is rounded, hence beside the surface: the first step counts even where it gains nothing.
        if step > 0 && now >= squared {
            break;
        }
        let gain = squared.sqrt() - now.sqrt();
        (p, own, squared, q, other) = (moved, t, now, to, u);
        if gain < GAIN * spacing {
            break;
        }
    }
    (squared.sqrt(), q, p, [other, own])
}

/// Whether triangles are about as large as points are far apart: then a walk that begins at the nearest point's triangle ends at the
/// nearest triangle, nearly always. Smaller ones have hollows between points, larger ones are few and soon searched.
pub(super) fn matched(shape: &Shape) -> bool {
    let shell = &shape.tree.shell;
    // The edge of an equilateral triangle of the mean area.
    let edge = (2.31 * shell.area / shape.exact.triangle_count().max(1) as f64).sqrt();
    (1.0..4.0).contains(&(edge / shell.spacing))
}

/// Walks may end where they are only locally nearest: from there with the nearest of all, as long as that gains.
pub(super) fn polish(field: &Shape, points: &Shape, pose: &Motion, mut best: Found) -> Found {
    let spacing = points.tree.shell.spacing;
    let [mut other, mut own] = best.3;
    for _ in 0..STEPS {
        let near = points.exact.closest(pose.back(best.1), Some(own));
        let moved = pose.point(near.point);
        let to = field.exact.closest(moved, Some(other));
        (own, other) = (near.triangle, to.triangle);
        let gain = best.0 - to.distance;
        if gain > 0.0 {
            best = (to.distance, to.point, moved, [other, own]);
        }
        if gain < GAIN * spacing {
            break;
        }
    }
    best
}
