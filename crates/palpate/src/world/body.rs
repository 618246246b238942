//! Bodies: a shape, where it is, how it moves, what it weighs.
//!
//! Free rotation is the implicit midpoint rule in the body's frame with the Cayley map (Simo, Wong, 1991): energy and angular momentum
//! are kept up to rounding, the attitude is of second order.

use super::WorldError;
use crate::field::Source;
use crate::manifold::Collider;
use crate::math::{Aabb, Pose, Wrench};
use glam::{DMat3, DQuat, DVec3};

/// What moves a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Static,
    /// The caller: it keeps its velocity, whatever it meets.
    Kinematic,
    /// Forces.
    #[default]
    Dynamic,
}

/// Where mass, centre and inertia of a dynamic body come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mass {
    /// From the volume of the mesh and a density [kg/m³].
    Density(f64),
    /// As given, in the shape's frame.
    Given {
        /// Mass [kg].
        mass: f64,
        /// Centre of mass [m].
        centre: DVec3,
        /// Inertia about the centre [kg m²]: symmetric, positive definite.
        inertia: DMat3,
    },
}

/// How a body begins. The default is dynamic, at rest at the world's origin, of density 1000 kg/m³, with friction 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyParams {
    /// What moves it.
    pub kind: Kind,
    /// Where the shape's frame is in the world.
    pub w_from_b: Pose,
    /// Velocity of the centre of mass, world frame [m/s].
    pub linear: DVec3,
    /// Angular velocity, world frame [rad/s].
    pub angular: DVec3,
    /// What it weighs; only a dynamic body's matters.
    pub mass: Mass,
    /// Coulomb friction coefficient; that of a pair is the geometric mean of both [1].
    pub friction: f64,
    /// Share of the linear and of the angular velocity that is lost in a second [1/s].
    pub drag: [f64; 2],
    /// Groups the body is in, a bit for each.
    pub groups: u32,
    /// Groups it meets: two bodies meet if each is in a group the other meets.
    pub meets: u32,
}

impl Default for BodyParams {
    fn default() -> Self {
        Self {
            kind: Kind::Dynamic,
            w_from_b: Pose::IDENTITY,
            linear: DVec3::ZERO,
            angular: DVec3::ZERO,
            mass: Mass::Density(1000.0),
            friction: 0.5,
            drag: [0.0; 2],
            groups: 1,
            meets: u32::MAX,
        }
    }
}

/// A body of a [`World`](super::World).
#[derive(Clone, Debug)]
pub struct Body {
    pub(super) collider: Collider,
    pub(super) state: BodyParams,
    /// What pushes it besides contacts and gravity; world frame, about the centre of mass.
    pub(super) push: Wrench,
    /// Whether contacts pushed it in the last step.
    pub(super) held: bool,
    /// In the shape's frame; a body that is not dynamic has its origin as centre, and infinite mass.
    pub(super) centre: DVec3,
    pub(super) mass: f64,
    pub(super) inertia: DMat3,
    /// Half of the cubic root of the box's volume, and the largest distance of the box from the centre [m].
    pub(super) size: f64,
    pub(super) radius: f64,
    /// How far a point can go into the body before it is nearer to the other side, at least [m].
    pub(super) inner: f64,
}

impl Body {
    pub(super) fn new(collider: Collider, params: &BodyParams) -> Result<Self, WorldError> {
        let params = params.checked()?;
        let bounds = collider.aabb();
        let dynamic = params.kind == Kind::Dynamic;
        let (mass, centre, inertia) = match params.mass {
            _ if !dynamic => (f64::INFINITY, DVec3::ZERO, DMat3::IDENTITY),
            Mass::Density(density) => {
                let Collider::Shape(shape) = &collider else {
                    return Err(WorldError::Mass { mass: f64::NAN });
                };
                let m = shape.mesh().mass_properties();
                (m.volume * density, m.centre, m.inertia * density)
            }
            Mass::Given { mass, centre, inertia } => (mass, centre, inertia),
        };
        let minors = [inertia.x_axis.x, inertia.x_axis.x * inertia.y_axis.y - inertia.x_axis.y.powi(2)];
        let definite = minors.iter().all(|m| *m > 0.0) && inertia.determinant() > 0.0;
        let symmetric = (inertia - inertia.transpose()).abs_diff_eq(DMat3::ZERO, 1e-9 * inertia.x_axis.x);
        let finite = centre.is_finite() && inertia.inverse().is_finite() && (mass.is_finite() || !dynamic);
        if !(mass > 0.0 && finite && definite && symmetric) {
            return Err(WorldError::Mass { mass });
        }
        let extent = bounds.extent().max(DVec3::splat(0.1 * bounds.extent().max_element()));
        let size = 0.5 * extent.element_product().cbrt();
        // A solid without end turns about its frame's origin, and how fast its far points are then is not asked.
        let far = (bounds.min - centre).abs().max((bounds.max - centre).abs()).length();
        let radius = if far.is_finite() { far } else { 0.0 };
        if !(size > 0.0 && (far.is_finite() || !dynamic)) {
            return Err(WorldError::Empty);
        }
        let inner = inner(&collider);
        Ok(Self {
            collider,
            state: params,
            push: Wrench::ZERO,
            held: false,
            centre,
            mass,
            inertia,
            size,
            radius,
            inner,
        })
    }

    /// What it is made of.
    pub fn collider(&self) -> &Collider {
        &self.collider
    }

    /// Pose, velocities and the rest as they are now.
    pub fn state(&self) -> &BodyParams {
        &self.state
    }

    /// Mass [kg]; infinite unless dynamic.
    pub fn mass(&self) -> f64 {
        self.mass
    }

    /// Centre of mass, world frame [m].
    pub fn centre(&self) -> DVec3 {
        self.state.w_from_b.point(self.centre)
    }

    /// Inertia about the centre of mass, world axes [kg m²]; the identity unless dynamic.
    pub fn inertia(&self) -> DMat3 {
        let r = DMat3::from_quat(self.state.w_from_b.rotation);
        r * self.inertia * r.transpose()
    }

    /// Linear momentum, and angular momentum about the centre of mass; world frame [N s, N m s]. Zero unless dynamic.
    pub fn momentum(&self) -> [DVec3; 2] {
        if !self.is_dynamic() {
            return [DVec3::ZERO; 2];
        }
        [self.state.linear * self.mass, self.inertia() * self.state.angular]
    }

    /// Energy of motion [J]; 0 unless dynamic.
    pub fn kinetic(&self) -> f64 {
        let [p, l] = self.momentum();
        0.5 * (p.dot(self.state.linear) + l.dot(self.state.angular))
    }

    pub(super) fn is_dynamic(&self) -> bool {
        self.state.kind == Kind::Dynamic
    }

    /// A box around the body and the way it goes in `dt` [m]: the turned box, cut with that of the ball.
    pub(super) fn bounds(&self, dt: f64) -> Aabb {
        let (local, turn) = (self.collider.aabb(), DMat3::from_quat(self.state.w_from_b.rotation));
        if !local.extent().is_finite() {
            return Aabb { min: DVec3::NEG_INFINITY, max: DVec3::INFINITY };
        }
        let half = turn.abs() * (0.5 * local.extent());
        let middle = self.state.w_from_b.point(local.centre());
        let ball = Aabb { min: self.centre(), max: self.centre() }.padded(self.radius);
        let min = (middle - half).max(ball.min);
        let max = (middle + half).min(ball.max);
        let turned = (self.state.angular.length() * dt).min(2.0) * self.radius;
        let way = self.state.linear * dt;
        Aabb { min: min.min(min + way), max: max.max(max + way) }.padded(turned)
    }

    /// Where it is after `time` seconds with this velocity: its pose.
    pub(super) fn after(&self, time: f64, [linear, angular]: [DVec3; 2]) -> Pose {
        let rotation = (DQuat::from_scaled_axis(angular * time) * self.state.w_from_b.rotation).normalize();
        Pose { rotation, translation: self.centre() + linear * time - rotation * self.centre }
    }

    /// Moves for `h` seconds: the centre by `way`, the rotation freely. False, and at rest where it was, if that is not finite.
    pub(super) fn advance(&mut self, h: f64, way: DVec3) -> bool {
        let before = self.state.w_from_b;
        let (mut rotation, centre) = (before.rotation, self.centre() + way);
        // Pieces short enough for the iteration below to converge; spins that would need more are not resolved.
        let angle = self.state.angular.length() * h;
        let pieces = (angle / 0.25).ceil().clamp(1.0, 1000.0);
        let h = h / pieces;
        let inverse = self.inertia.inverse();
        for _ in 0..pieces as usize {
            let mut turn = rotation.conjugate() * self.state.angular;
            if self.is_dynamic() {
                // l is the momentum in the middle of the piece: l = l0 + h/2 l × I⁻¹ l.
                let start = self.inertia * turn;
                let mut l = start;
                for _ in 0..40 {
                    let next = start + 0.5 * h * l.cross(inverse * l);
                    let done = (next - l).abs().max_element() <= 1e-16 * start.abs().max_element();
                    l = next;
                    if done {
                        break;
                    }
                }
                turn = inverse * l;
                let half = 0.5 * h * turn;
                rotation = (rotation * DQuat::from_xyzw(half.x, half.y, half.z, 1.0)).normalize();
                self.state.angular = rotation * (inverse * (2.0 * l - start));
            } else {
                rotation = (rotation * DQuat::from_scaled_axis(turn * h)).normalize();
            }
        }
        let pose = Pose { rotation, translation: centre - rotation * self.centre };
        let ok = pose.is_finite() && self.state.linear.is_finite() && self.state.angular.is_finite();
        if !ok {
            (self.state.linear, self.state.angular) = (DVec3::ZERO, DVec3::ZERO);
        }
        self.state.w_from_b = if ok { pose } else { before };
        ok
    }
}

/// The depth of the deepest of a grid of points, about the radius of the largest ball inside [m]; infinite for a solid without end.
fn inner(collider: &Collider) -> f64 {
    let (aabb, n) = (collider.aabb(), 16);
    if !aabb.extent().is_finite() {
        return f64::INFINITY;
    }
    let source: &dyn Source = match collider {
        Collider::Shape(shape) => shape.field(),
        Collider::Solid(solid) => &**solid,
    };
    let step = aabb.extent() / f64::from(n);
    let at = |i: i32| DVec3::new((i % n).into(), (i / n % n).into(), (i / n / n).into()) + 0.5;
    (0..n * n * n).map(|i| -source.distance(aabb.min + step * at(i))).fold(0.0, f64::max)
}

impl BodyParams {
    /// The same, a static body without velocity; an error if a number is not finite, or negative where it must not be.
    pub(super) fn checked(&self) -> Result<Self, WorldError> {
        let at = &self.w_from_b;
        let (spin, unit) = (self.angular.length(), (at.rotation.length() - 1.0).abs() < 1e-6);
        // Lengths too must be finite: squares of large numbers overflow.
        let values = [
            ("friction", self.friction),
            ("linear drag", self.drag[0]),
            ("angular drag", self.drag[1]),
            ("position", at.translation.length()),
            ("velocity", self.linear.length()),
            ("angular velocity", spin),
            ("rotation", if unit { 1.0 } else { f64::NAN }),
        ];
        match values.into_iter().find(|(_, v)| !(*v >= 0.0 && v.is_finite())) {
            Some((name, value)) => Err(WorldError::Parameter { name, value }),
            None if self.kind == Kind::Static => {
                Ok(Self { linear: DVec3::ZERO, angular: DVec3::ZERO, ..*self })
            }
            None => Ok(*self),
        }
    }
}
