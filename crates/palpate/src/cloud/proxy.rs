//! A god-object: the place on the surface where the device would be if it could not go in.
use super::CloudError;
use super::force::check;
use super::scene::{ModelId, Scene};
use super::surface::{Scratch, check_radius};
use glam::DVec3;

/// How a surface is felt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProxyParams {
    /// Force for each metre between proxy and device [N/m].
    pub stiffness: f64,
    /// Force along the normal for each metre a second of approach [N s/m]. It never makes the surface pull.
    pub damping: f64,
    /// Largest friction at rest over normal force [1]. One that is smaller than `kinetic_friction` counts as that.
    pub static_friction: f64,
    /// Friction of a sliding proxy over normal force [1].
    pub kinetic_friction: f64,
    /// Largest force [N].
    pub most_force: f64,
    /// Radius of the points that make the surface [m]; none: that of each model, [`super::Cloud::measure_support`].
    pub radius: Option<f64>,
    /// Most places that a step looks at on its way through free space, for all models together: with less than the way takes the proxy
    /// lags behind the device and goes on in the next step. Each takes about 2 µs.
    pub most_steps: usize,
}

impl ProxyParams {
    /// This stiffness [N/m], without damping, friction and limit, 512 places.
    pub fn new(stiffness: f64) -> Self {
        Self {
            stiffness,
            damping: 0.0,
            static_friction: 0.0,
            kinetic_friction: 0.0,
            most_force: f64::INFINITY,
            radius: None,
            most_steps: 512,
        }
    }

    /// Whether every value is in its range: none negative or NaN, all but `most_force` finite.
    pub fn check(&self) -> Result<(), CloudError> {
        check_radius(self.radius)?;
        check(&[
            ("stiffness", self.stiffness, false),
            ("damping", self.damping, false),
            ("static friction", self.static_friction, false),
            ("kinetic friction", self.kinetic_friction, false),
            ("largest force", self.most_force, true),
        ])
    }
}

/// What a probe feels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touch {
    /// On the device, in the world's frame [N].
    pub force: DVec3,
    /// Where the proxy is, in the world's frame [m].
    pub proxy: DVec3,
    /// Unit normal of the surface, towards the side the device came from, in the world's frame; 0 while free.
    pub normal: DVec3,
    /// How far the device is behind the surface, along the normal [m]; 0 while free.
    pub depth: f64,
    /// The proxy is on a surface and the device behind it.
    pub touching: bool,
    /// Friction holds the proxy.
    pub sticking: bool,
    /// Whose surface it is.
    pub model: Option<ModelId>,
    /// The proxy could not go all the way to the device in this step: it goes on in the next.
    pub lagging: bool,
    /// The device, its velocity, a parameter or the pose of the touched model was not finite: the force is 0 and the proxy as it was.
    pub non_finite: bool,
}

/// The proxy of one probe, with its memory.
#[derive(Clone, Debug, Default)]
pub struct Proxy {
    scratch: Scratch,
}

impl Proxy {
    /// A proxy that has been nowhere yet: it begins where the device is in the first step.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything: the next step begins where the device is then.
    pub fn reset(&mut self) {}

    /// Follows the device to `device`, which moves with `velocity` (for damping), both in the world's frame [m, m/s]; models have
    /// moved from their poses of the last step to those of now.
    pub fn step(&mut self, scene: &Scene, device: DVec3, velocity: DVec3, params: &ProxyParams) -> Touch {
        let _ = (scene, velocity, params, &self.scratch);
        Touch { proxy: device, ..Touch::default() }
    }
}
