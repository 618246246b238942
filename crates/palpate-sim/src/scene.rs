//! What there is: bodies, where they begin, what they are made of.

use crate::SimError;
use glam::{DMat3, DVec3};
use palpate::Pose;
use palpate::manifold::Collider;

/// What moves a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// Nothing.
    Static,
    /// Forces; mass from the mesh and a density [kg/m³].
    Density(f64),
    /// Forces; this mass [kg], spread as the mesh has its volume.
    Mass(f64),
}

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    /// For people.
    pub name: String,
    /// What it is made of; a solid by formula must be static.
    pub collider: Collider,
    /// What moves it.
    pub motion: Motion,
    /// `w_from_b` at the start.
    pub pose: Pose,
    /// Velocity of the centre of mass at the start [m/s].
    pub linear: DVec3,
    /// [rad/s]
    pub angular: DVec3,
    /// Coulomb coefficient [1]; that of a pair is what the engine makes of two, for equal ones these.
    pub friction: f64,
    /// Share of an impact's speed that is given back [1].
    pub restitution: f64,
}

impl Body {
    /// A body at rest, with friction 0.5.
    pub fn new(name: impl Into<String>, collider: impl Into<Collider>, motion: Motion, pose: Pose) -> Self {
        Self {
            name: name.into(),
            collider: collider.into(),
            motion,
            pose,
            linear: DVec3::ZERO,
            angular: DVec3::ZERO,
            friction: 0.5,
            restitution: 0.0,
        }
    }

    /// Mass [kg], centre of mass [m] and inertia about it [kg m²] in the shape's frame; none where nothing moves it.
    pub fn mass(&self) -> Option<(f64, DVec3, DMat3)> {
        let Collider::Shape(shape) = &self.collider else { return None };
        let m = shape.mesh().mass_properties();
        let density = match self.motion {
            Motion::Static => return None,
            Motion::Density(density) => density,
            Motion::Mass(mass) => mass / m.volume,
        };
        Some((m.volume * density, m.centre, m.inertia * density))
    }
}

/// Bodies and what pulls them.
#[derive(Clone, Debug)]
pub struct Scene {
    /// [m/s²]
    pub gravity: DVec3,
    /// In this order everywhere.
    pub bodies: Vec<Body>,
}

impl Default for Scene {
    fn default() -> Self {
        Self { gravity: DVec3::new(0.0, 0.0, -9.81), bodies: Vec::new() }
    }
}

impl Scene {
    /// Adds a body; its number.
    pub fn add(&mut self, body: Body) -> usize {
        self.bodies.push(body);
        self.bodies.len() - 1
    }

    /// Largest extent of a body that moves [m]; 1 without any.
    pub fn size(&self) -> f64 {
        let moving = self.bodies.iter().filter(|b| b.motion != Motion::Static);
        let size = moving.map(|b| b.collider.aabb().extent().max_element()).fold(0.0, f64::max);
        if size > 0.0 { size } else { 1.0 }
    }

    pub(crate) fn check(&self) -> Result<(), SimError> {
        for (index, b) in self.bodies.iter().enumerate() {
            let refuse =
                |reason: &str| Err(SimError::Body { index, name: b.name.clone(), reason: reason.to_owned() });
            let coefficients = [b.friction, b.restitution].iter().all(|v| *v >= 0.0 && v.is_finite());
            if !(b.pose.is_finite() && b.linear.is_finite() && b.angular.is_finite() && coefficients) {
                return refuse("a number is not finite, or a coefficient is negative");
            }
            if b.motion == Motion::Static {
                continue;
            }
            match b.mass() {
                None => return refuse("a solid by formula cannot move: build a shape of it"),
                Some((mass, ..)) if !(mass > 0.0 && mass.is_finite()) => {
                    return refuse("its mass is not positive: close its mesh, or give it a mass");
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
