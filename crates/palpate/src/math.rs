//! Small geometric values shared by every stage.

use glam::{DQuat, DVec3};

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

/// A rigid motion: rotates, then translates. Named target-from-source: `a_from_b` takes points of frame B to frame A.
///
/// ```
/// use glam::{DQuat, DVec3};
/// use palpate::math::Pose;
/// let a_from_b = Pose::new(DQuat::from_rotation_z(1.0), DVec3::X);
/// let p = DVec3::new(1.0, 2.0, 3.0);
/// assert!((a_from_b.inverse().point(a_from_b.point(p)) - p).length() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Rotation; [`Pose::new`] makes it unit.
    pub rotation: DQuat,
    /// Where the source's origin is in the target's frame [m].
    pub translation: DVec3,
}

impl Pose {
    /// The motion that moves nothing.
    pub const IDENTITY: Self = Self { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

    /// The motion of a rotation, which need not be exactly unit, and a translation [m].
    ///
    /// A rotation of no length or with a non-finite component makes the pose non-finite: see [`Pose::is_finite`].
    pub fn new(rotation: DQuat, translation: DVec3) -> Self {
        Self { rotation: rotation.normalize(), translation }
    }

    /// A translation alone [m].
    pub fn from_translation(translation: DVec3) -> Self {
        Self { rotation: DQuat::IDENTITY, translation }
    }

    /// Whether every number is finite. Queries answer other poses with a flag.
    pub fn is_finite(&self) -> bool {
        self.rotation.is_finite() && self.translation.is_finite()
    }

    /// The motion back: `b_from_a` of `a_from_b`.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.conjugate();
        Self { rotation, translation: -(rotation * self.translation) }
    }

    /// A point of the source, in the target's frame [m].
    pub fn point(&self, p: DVec3) -> DVec3 {
        self.rotation * p + self.translation
    }

    /// A direction of the source, in the target's frame.
    pub fn vector(&self, v: DVec3) -> DVec3 {
        self.rotation * v
    }
}

impl Default for Pose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl core::ops::Mul for Pose {
    type Output = Self;
    /// The right one first: `w_from_b = w_from_a * a_from_b`.
    fn mul(self, o: Self) -> Self {
        Self { rotation: self.rotation * o.rotation, translation: self.point(o.translation) }
    }
}

/// A force and its torque about a point, in the frame the function that gives it names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// Force [N].
    pub force: DVec3,
    /// Torque about the point of reference [N m].
    pub torque: DVec3,
}

impl Wrench {
    /// No force, no torque.
    pub const ZERO: Self = Self { force: DVec3::ZERO, torque: DVec3::ZERO };

    /// The same wrench about a point that lies `offset` from the present point of reference [m].
    #[must_use]
    pub fn about(&self, offset: DVec3) -> Self {
        Self { force: self.force, torque: self.torque - offset.cross(self.force) }
    }
}

impl core::ops::Add for Wrench {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self { force: self.force + o.force, torque: self.torque + o.torque }
    }
}

impl core::ops::Neg for Wrench {
    type Output = Self;
    fn neg(self) -> Self {
        Self { force: -self.force, torque: -self.torque }
    }
}

impl core::ops::Mul<f64> for Wrench {
    type Output = Self;
    fn mul(self, k: f64) -> Self {
        Self { force: self.force * k, torque: self.torque * k }
    }
}
