//! A tool that is a body among others: of our world, of Rapier or of Bullet.
//!
//! Based on: Tan, Liu, Turk, Stable proportional-derivative controllers, 2011 [tan11]: the spring is taken where the body will be at the end
//! of the step, so that a light body bears a stiff one.
//! Differs: what holds the body against the spring is expected to go on (else a body at rest would be pressed with a part of the spring
//! alone); no step takes it farther than contacts are surely found; where the device's damper leaves it swinging, a stronger one, which the
//! hand does not feel, does not.

use crate::gains::Gains;
use crate::six::{Six, lower, moved, twist_about, upper};
use crate::tool::{Felt, Tool, difference, pull, smooth};
use glam::{DMat3, DVec3};
use palpate::force::Twist;
use palpate::manifold::Collider;
use palpate::math::{Pose, Wrench};
use palpate_sim::{Engine, Mark, Motion, Options, Scene, SimError, Simulation, State, start};

/// How far the spring takes a point of the body in a step, over its radius [1]. More: it is through a thin wall before the engine sees it;
/// less: it lags behind a fast hand.
const MOST_WAY: f64 = 0.2;
/// Most steps of the engine in a tick. A slower loop sees slower motion.
const MOST_STEPS: usize = 128;

/// Speed that the largest force gives a body of Bullet in a step at most, else it is made heavier [m/s]. At ten times as much, a gram pressed
/// with 10 N buzzes by 1.3 N, as its solver leaves some of that speed; less, and tools of some grams are made heavier too.
const KICK: f64 = 1.0;
/// What a kilogram weighs, where there is no gravity too [N/kg].
const WEIGHT: f64 = 9.81;
/// Share of its weight from which on what pushes the body is a contact, though none has depth [1]: engines hold bodies just before touch.
const TOUCH: f64 = 0.1;

/// A body of a scene, in an engine, on a spring. See the module.
///
/// The spring holds it at its centre of mass and carries its weight; all else acts on it as on other bodies.
pub struct BodyTool {
    simulation: Box<dyn Simulation>,
    body: usize,
    gravity: DVec3,
    mass: f64,
    /// In the body's frame: centre of mass, inertia about it.
    centre: DVec3,
    inertia: DMat3,
    radius: f64,
    /// Of a step of the engine, and how far it is ahead of the loop [s].
    period: f64,
    ahead: f64,
    /// After the last step, and where it was before.
    now: State,
    before: Pose,
    /// Where it was told to be last: between those two.
    told: Pose,
    smoothed: Six,
    /// What contacts did in the last step, about the centre of mass.
    contact: Wrench,
    marks: Vec<Mark>,
    micros: f64,
    fault: Option<String>,
}

/// What the hand wants.
struct Hand<'a> {
    target: &'a Pose,
    /// Of the centre of mass.
    motion: Six,
    gains: &'a Gains,
}

impl BodyTool {
    /// The body of `scene` with this number, once the scene is put into `engine`. `force` is what it is pressed with at most [N], for example
    /// [`crate::DeviceLimits::force`]: contacts are made stiff enough for it, and in Bullet a tool that is too light for it is made heavier,
    /// to 12 g for 12 N at 1 kHz. The engine steps at the rate of `options`, whatever the loop's:
    /// several times in a tick, or every so many ticks; best once. Refuses what the engine refuses, and a body that nothing moves.
    pub fn new(
        engine: Engine,
        scene: &Scene,
        body: usize,
        force: f64,
        options: &Options,
    ) -> Result<Self, SimError> {
        let options = Options { load: options.load.max(force), ..*options };
        let mut scene = scene.clone();
        if let (Engine::Bullet, Some(tool)) = (engine, scene.bodies.get_mut(body)) {
            let least = force / (options.rate * KICK);
            if tool.mass().is_some_and(|m| m.0 < least) {
                tool.motion = Motion::Mass(least);
            }
        }
        Self::of(start(engine, &scene, &options)?, &scene, body, options.rate)
    }

    /// The same in an engine of your own that `scene` was put into and that steps at `rate` [Hz].
    pub fn of(
        simulation: Box<dyn Simulation>,
        scene: &Scene,
        body: usize,
        rate: f64,
    ) -> Result<Self, SimError> {
        let refuse = |name: &str, reason: &str| SimError::Body {
            index: body,
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(SimError::Rate(rate));
        }
        let tool = scene.bodies.get(body).ok_or_else(|| refuse("the tool", "it is not in the scene"))?;
        let (Some((mass, centre, inertia)), Collider::Shape(shape)) = (tool.mass(), &tool.collider) else {
            return Err(refuse(&tool.name, "it is the tool, and nothing moves it"));
        };
        let (middle, radius) = shape.ball();
        Ok(Self {
            now: simulation.state(body),
            simulation,
            body,
            gravity: scene.gravity,
            mass,
            centre,
            inertia,
            radius: radius + middle.distance(centre),
            period: 1.0 / rate,
            ahead: 0.0,
            before: tool.pose,
            told: tool.pose,
            smoothed: [0.0; 6],
            contact: Wrench::ZERO,
            marks: Vec::new(),
            micros: 0.0,
            fault: None,
        })
    }

    /// How a body of the scene is, by its number, at the end of the engine's last step.
    pub fn state(&self, body: usize) -> State {
        self.simulation.state(body)
    }

    /// All contacts of the scene in the engine's last step.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Time of the narrow phase of the engine's last step, or of all of it where the engine does not say [µs].
    pub fn micros(&self) -> f64 {
        self.micros
    }

    /// One tick of `dt` seconds in which no hand holds the tool: it falls.
    pub fn let_go(&mut self, dt: f64) -> Felt {
        if !(dt > 0.0 && dt.is_finite()) {
            return self.still();
        }
        self.go(None, dt)
    }

    fn still(&self) -> Felt {
        Felt { pose: self.told, non_finite: true, ..Felt::default() }
    }

    /// Steps the engine until it is as far as the loop; all but the wrench is told.
    fn go(&mut self, hand: Option<&Hand<'_>>, dt: f64) -> Felt {
        self.ahead -= dt;
        let mut steps = 0;
        // What is less than this behind is rounding.
        while self.ahead < -1e-6 * self.period && steps < MOST_STEPS && self.fault.is_none() {
            self.ahead += self.period;
            let push = hand.map_or(Wrench::ZERO, |h| self.pushed(h));
            self.step(&push);
            steps += 1;
        }
        self.ahead = self.ahead.max(0.0);
        if self.fault.is_some() {
            return self.still();
        }
        // Between the engine's steps it goes evenly from one to the next.
        let share = (1.0 - self.ahead / self.period).clamp(0.0, 1.0);
        let by = difference(&self.before, &self.now.pose, self.centre).map(|d| share * d);
        let pose = if share == 1.0 { self.now.pose } else { moved(&self.before, self.centre, &by) };
        smooth(&mut self.smoothed, &difference(&self.told, &pose, self.centre), dt);
        self.told = pose;
        let own = self.marks.iter().filter(|m| m.bodies.contains(&self.body));
        let pushed = self.contact.force.length() > TOUCH * WEIGHT * self.mass;
        Felt {
            pose,
            wrench: Wrench::ZERO,
            contact: self.contact.about(-pose.vector(self.centre)),
            contacts: own.clone().count().max(usize::from(pushed)),
            depth: own.fold(0.0, |most, m| m.depth.max(most)),
            steps,
            non_finite: false,
        }
    }

    /// Inertia about the centre of mass, world axes.
    fn inertia(&self) -> DMat3 {
        let r = DMat3::from_quat(self.now.pose.rotation);
        r * self.inertia * r.transpose()
    }

    /// What pushes the body towards the target, and carries it, in the engine's next step. About the centre of mass.
    fn pushed(&self, hand: &Hand<'_>) -> Wrench {
        let (t, gains, now) = (self.period, hand.gains, &self.now);
        // Where the target will be when the step ends.
        let aim = moved(hand.target, self.centre, &hand.motion.map(|v| v * self.ahead));
        let away = difference(&now.pose, &aim, self.centre);
        let inertia = self.inertia();
        let mean = (inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z) / 3.0;
        let critical = |k: f64, m: f64| 2.0 * (k * m).sqrt();
        let (k, b) = (gains.stiffness, gains.damping.max(critical(gains.stiffness, self.mass)));
        let held = opposing(self.contact.force, k * upper(&away));
        let right = self.mass / t * now.linear + k * upper(&away) + b * upper(&hand.motion) + held;
        let most = MOST_WAY / t;
        let linear = (right / (self.mass / t + k * t + b)).clamp_length_max(most * self.radius);
        let force = self.mass / t * (linear - now.linear) - held;

        let (k, b) =
            (gains.angular_stiffness, gains.angular_damping.max(critical(gains.angular_stiffness, mean)));
        let held = opposing(self.contact.torque, k * lower(&away));
        let right = inertia * now.angular / t + k * lower(&away) + b * lower(&hand.motion) + held;
        let matrix = inertia * (1.0 / t) + DMat3::from_diagonal(DVec3::splat(k * t + b));
        let angular = (matrix.inverse() * right).clamp_length_max(most);
        let torque = inertia * (angular - now.angular) / t - held;
        Wrench { force: force - self.mass * self.gravity, torque }
    }

    /// One step of the engine with this push; what contacts did is what the change of momentum leaves.
    fn step(&mut self, push: &Wrench) {
        let inertia = self.inertia();
        if !self.simulation.push(self.body, push) {
            self.fault = Some("the engine does not push bodies".to_owned());
            return;
        }
        match self.simulation.step() {
            Ok(step) => self.micros = step.narrow_us.unwrap_or(step.step_us),
            Err(error) => {
                self.fault = Some(error.to_string());
                return;
            }
        }
        let state = self.simulation.state(self.body);
        if !(state.pose.is_finite() && state.linear.is_finite() && state.angular.is_finite()) {
            self.fault = Some("the tool's motion is not finite".to_owned());
            return;
        }
        let old = core::mem::replace(&mut self.now, state);
        self.before = old.pose;
        self.contact = Wrench {
            force: self.mass * ((state.linear - old.linear) / self.period - self.gravity) - push.force,
            torque: inertia * (state.angular - old.angular) / self.period - push.torque,
        };
        self.marks.clear();
        self.simulation.marks(&mut self.marks);
    }
}

/// What of `contact` opposes `spring`, and is not more than it.
fn opposing(contact: DVec3, spring: DVec3) -> DVec3 {
    let size = spring.length_squared();
    if size > 0.0 { spring * (contact.dot(spring) / size).clamp(-1.0, 0.0) } else { DVec3::ZERO }
}

impl Tool for BodyTool {
    fn tick(&mut self, target: &Pose, motion: &Twist, gains: &Gains, dt: f64) -> Felt {
        let ok = target.is_finite() && motion.is_finite() && dt > 0.0 && dt.is_finite() && gains.is_valid();
        if !ok || self.fault.is_some() {
            return self.still();
        }
        let hand = Hand { target, motion: twist_about(motion, target.vector(self.centre)), gains };
        let felt = self.go(Some(&hand), dt);
        if felt.non_finite {
            return felt;
        }
        let moving = (felt.contacts > 0).then_some((&self.smoothed, motion));
        Felt { wrench: pull(&felt.pose, target, moving, gains, self.centre), ..felt }
    }

    fn place(&mut self, pose: Pose) {
        if !self.simulation.place(self.body, &pose) {
            return;
        }
        self.now = State { pose, ..State::default() };
        (self.before, self.told, self.ahead) = (pose, pose, 0.0);
        (self.smoothed, self.contact) = ([0.0; 6], Wrench::ZERO);
        self.marks.clear();
        self.fault = None;
    }

    fn pose(&self) -> Pose {
        self.told
    }

    fn centre(&self) -> DVec3 {
        self.centre
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    /// The engine failed, or the tool's motion was not finite.
    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

impl core::fmt::Debug for BodyTool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BodyTool")
            .field("body", &self.body)
            .field("mass", &self.mass)
            .field("now", &self.now)
            .field("contact", &self.contact)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
