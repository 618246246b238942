//! Small geometric values shared by every stage.

use glam::DVec3;

/// An axis-aligned box, in the frame of whatever it bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Smallest corner [m].
    pub min: DVec3,
    /// Largest corner [m].
    pub max: DVec3,
}

impl Aabb {
    /// The box of no points: `min` is +∞ and `max` is −∞, so that any [`Aabb::grow`] replaces it.
    pub const EMPTY: Self = Self { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

    /// The smallest box that holds all `points`; [`Aabb::EMPTY`] for none.
    pub fn of_points(points: impl IntoIterator<Item = DVec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, |b, p| b.grow(p))
    }

    /// The smallest box that holds this one and `p`.
    #[must_use]
    pub fn grow(self, p: DVec3) -> Self {
        Self { min: self.min.min(p), max: self.max.max(p) }
    }

    /// The smallest box that holds this one and `other`.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// This box moved outward by `margin` on every side [m].
    #[must_use]
    pub fn padded(self, margin: f64) -> Self {
        Self { min: self.min - DVec3::splat(margin), max: self.max + DVec3::splat(margin) }
    }

    /// Edge lengths [m]; negative infinity for the empty box.
    pub fn extent(self) -> DVec3 {
        self.max - self.min
    }

    /// Middle point [m].
    pub fn centre(self) -> DVec3 {
        0.5 * (self.min + self.max)
    }

    /// Whether the closed boxes share a point.
    pub fn overlaps(self, other: Self) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// Whether the closed box holds `p`.
    pub fn contains(self, p: DVec3) -> bool {
        self.min.cmple(p).all() && p.cmple(self.max).all()
    }

    /// Distance from `p` to the box, 0 inside [m].
    pub fn distance(self, p: DVec3) -> f64 {
        (self.min - p).max(p - self.max).max(DVec3::ZERO).length()
    }
}
