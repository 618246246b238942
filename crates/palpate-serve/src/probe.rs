//! A probe on a cloud of points: the engine's god-object for clouds.

use crate::stage::{Act, Grip, Now};
use crate::touch::Mark;
use glam::DVec3;
use palpate::cloud::{Cloud, Proxy, ProxyParams, Scene, TouchParams};
use palpate::math::{Pose, Wrench};
use std::sync::Arc;
use std::time::Instant;

/// Time between steps [s].
const TICK: f64 = 1e-3;
/// How the points are felt: stiffness [N/m], largest force [N], friction [1].
const STIFFNESS: f64 = 500.0;
const MOST_FORCE: f64 = 10.0;
const FRICTION: f64 = 0.2;

/// A cloud, which is body 0, and a probe, which is body 1.
#[derive(Debug)]
pub(crate) struct Probe {
    scene: Scene,
    proxy: Proxy,
    params: ProxyParams,
    last: Option<DVec3>,
}

impl Probe {
    pub(crate) fn new(cloud: Cloud) -> Self {
        let mut scene = Scene::new(TouchParams::default());
        scene.add(Arc::new(cloud), Pose::IDENTITY);
        let params = ProxyParams {
            static_friction: FRICTION,
            kinetic_friction: FRICTION,
            most_force: MOST_FORCE,
            ..ProxyParams::new(STIFFNESS)
        };
        Self { scene, proxy: Proxy::new(), params, last: None }
    }
}

impl Act for Probe {
    fn step(&mut self, grip: &Grip, now: &mut Now) {
        let hand = grip.target.translation;
        let velocity = self.last.map_or(DVec3::ZERO, |last| (hand - last) / TICK);
        self.last = Some(hand);
        let began = Instant::now();
        let told = self.proxy.step(&self.scene, hand, velocity, &self.params);
        now.micros = began.elapsed().as_secs_f64() * 1e6;
        now.bodies.resize(2, Pose::IDENTITY);
        now.bodies[1] = Pose::new(grip.target.rotation, told.proxy);
        now.centre = told.proxy;
        now.wrench = Wrench { force: told.force, torque: DVec3::ZERO };
        now.depth = told.depth;
        now.marks.clear();
        if told.touching {
            now.marks.push(Mark { point: told.proxy, normal: told.normal, depth: 0.0 });
        }
    }

    fn reset(&mut self) {
        self.proxy.reset();
        self.last = None;
    }
}
