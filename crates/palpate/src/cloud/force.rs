//! The nearest-point force of the paper.
//!
//! Based on: elfar07, section 3: once the probe is in a box, a force from it to the nearest point.
//! Differs: damping against the surface of a model that moves, and a limit, both off unless asked for.
//!
//! It jumps wherever another point becomes the nearest: [`super::Proxy`] does not.

use super::CloudError;
use super::scene::{Scene, SceneNearest};
use glam::DVec3;

/// What a nearest-point force is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointForceParams {
    /// Force for each metre to the nearest point [N/m].
    pub stiffness: f64,
    /// Force for each metre a second that the probe moves against the surface, along every axis [N s/m].
    pub damping: f64,
    /// Largest force [N].
    pub most_force: f64,
}

impl PointForceParams {
    /// The paper's: this stiffness [N/m], no damping and no limit.
    pub fn new(stiffness: f64) -> Self {
        Self { stiffness, damping: 0.0, most_force: f64::INFINITY }
    }

    /// Whether every value is in its range: none negative or NaN, stiffness and damping finite.
    pub fn check(&self) -> Result<(), CloudError> {
        let values = [
            ("stiffness", self.stiffness, false),
            ("damping", self.damping, false),
            ("largest force", self.most_force, true),
        ];
        check(&values)
    }
}

/// Refuses values that are negative, no numbers, or infinite where they may not be.
pub(super) fn check(values: &[(&'static str, f64, bool)]) -> Result<(), CloudError> {
    for &(name, value, may_be_infinite) in values {
        if !(value >= 0.0 && (may_be_infinite || value.is_finite())) {
            return Err(CloudError::BadParameter { name, value, range: "finite and not negative" });
        }
    }
    Ok(())
}

/// What the points do to a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointForce {
    /// On the probe, in the world's frame [N].
    pub force: DVec3,
    /// The probe is in the box of a point.
    pub touching: bool,
    /// The nearest point, if the probe is in a box.
    pub nearest: Option<SceneNearest>,
    /// The probe, its velocity or a parameter was not finite: the force is 0.
    pub non_finite: bool,
}

impl Scene {
    /// The paper's force on a probe at `p` that moves with `velocity`, both in the world's frame [m, m/s], by the scene's mode: 0
    /// outside all boxes, else stiffness × (nearest point − p) + damping × (velocity of the model there − velocity).
    ///
    /// In [`Mode::Paper`](super::Mode::Paper) the octants of the force algorithm, which are not those of the boxes, may have no point:
    /// then there is no nearest one, and the force is 0 though the probe is in a box.
    ///
    /// Cost: that of [`Scene::touches`] and [`Scene::nearest`]; no allocation.
    pub fn point_force(&self, p: DVec3, velocity: DVec3, params: &PointForceParams) -> PointForce {
        if !(p.is_finite() && velocity.is_finite()) {
            return PointForce { non_finite: true, ..PointForce::default() };
        }
        if !self.touches(p) {
            return PointForce::default();
        }
        let nearest = self.nearest(p);
        let mut out = PointForce { touching: true, nearest, ..PointForce::default() };
        let Some((n, model)) = nearest.and_then(|n| Some((n, self.model(n.model)?))) else { return out };
        let slip = model.velocity_at(n.point) - velocity;
        let force = params.stiffness * (n.point - p) + params.damping * slip;
        if force.is_finite() {
            out.force = force.clamp_length_max(params.most_force.max(0.0));
        } else {
            out.non_finite = true;
        }
        out
    }
}
