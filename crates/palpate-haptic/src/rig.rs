//! One tick: from where the handle is to what it feels.

use crate::device::{DeviceError, DeviceLimits, Reading};
use crate::gains::Gains;
use crate::governor::Governor;
use crate::held::HeldTool;
use crate::passivity::Passivity;
use crate::scene::Pair;
use crate::tool::{Felt, Paired, SoftTool, Tool, ToolParams, difference};
use glam::{DQuat, DVec3};
use palpate::force::Twist;
use palpate::math::{Pose, Wrench};

/// How the handle's motion becomes the tool's target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    /// From the handle's frame to the scene's.
    pub rotation: DQuat,
    /// How much larger motion is in the scene [1].
    pub scale: f64,
    /// `world_from_tool` where the handle is at its origin.
    pub start: Pose,
}

impl Mapping {
    /// The handle's whole workspace reaches `reach` metres around `start`, but motion is not made smaller than it is.
    pub fn reaching(limits: &DeviceLimits, start: Pose, reach: f64) -> Self {
        let scale = reach / limits.workspace;
        Self {
            rotation: DQuat::IDENTITY,
            scale: if scale > 0.0 && scale.is_finite() { scale } else { 1.0 },
            start,
        }
    }

    /// `world_from_tool` that the handle asks for.
    pub fn target(&self, handle: &Pose) -> Pose {
        let turned = self.rotation * handle.rotation * self.rotation.conjugate();
        Pose {
            rotation: (turned * self.start.rotation).normalize(),
            translation: self.start.translation + self.rotation * handle.translation * self.scale,
        }
    }

    fn motion(&self, twist: &Twist) -> Twist {
        Twist { linear: self.rotation * twist.linear * self.scale, angular: self.rotation * twist.angular }
    }

    /// A wrench of the handle, about its origin, as the scene has it about the origin of the tool's target: what [`Rig`] gives a handle is this
    /// in the scene.
    pub fn forth(&self, wrench: &Wrench) -> Wrench {
        Wrench { force: self.rotation * wrench.force, torque: self.rotation * wrench.torque * self.scale }
    }

    /// A wrench of the scene, about the origin of the tool's target, as the handle feels it about its own. Force is as it is; levers are as
    /// long as they are in the hand, so that the work of force and torque together is that of the scene over the scale.
    fn back(&self, wrench: &Wrench) -> Wrench {
        let back = self.rotation.conjugate();
        Wrench { force: back * wrench.force, torque: back * wrench.torque / self.scale }
    }
}

/// How tools meet what they touch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Mode {
    /// The tool never enters: what is drawn never overlaps.
    #[default]
    Held,
    /// The tool gives, and enters by as much as the force says.
    Soft,
}

/// How a rig is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigParams {
    /// How the tool meets what it touches.
    pub mode: Mode,
    /// Of the tool; [`Mode::Held`] takes its friction alone.
    pub tool: ToolParams,
    /// Ticks of delay between force and motion: see [`Passivity::new`].
    pub delay: usize,
    /// Whether energy is kept from growing.
    pub passive: bool,
}

impl Default for RigParams {
    fn default() -> Self {
        Self { mode: Mode::Held, tool: ToolParams::default(), delay: 0, passive: true }
    }
}

/// What a tick told. Poses in the world's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// `world_from_tool` that the handle asks for.
    pub target: Pose,
    /// Where the tool is and what it feels.
    pub felt: Felt,
    /// What the handle is given, in its own frame [N, N m].
    pub wrench: Wrench,
    /// Energy of the account [J].
    pub energy: f64,
    /// Share of the force that passivity let through [1].
    pub share: f64,
}

/// A tool on a handle.
#[derive(Debug)]
pub struct Rig {
    tool: Box<dyn Tool>,
    gains: Gains,
    mapping: Mapping,
    governor: Governor,
    passivity: Passivity,
    last: Option<Pose>,
    motion: Twist,
    sent: Wrench,
}

impl Rig {
    /// The tool of `pair` at `mapping.start`, on a device with these limits.
    pub fn new(
        mut pair: Pair,
        limits: &DeviceLimits,
        mapping: Mapping,
        params: &RigParams,
    ) -> Result<Self, DeviceError> {
        let (start, friction) = (mapping.start, params.tool.friction);
        let tool: Box<dyn Tool> = match params.mode {
            Mode::Held => {
                let mut tool = HeldTool::new(&pair, start, friction);
                tool.settle(&mut pair);
                Box::new(Paired { pair, tool })
            }
            Mode::Soft => Box::new(Paired { pair, tool: SoftTool::new(start, params.tool) }),
        };
        Self::with_tool(tool, limits, mapping, params)
    }

    /// Any other tool, such as a body among others; of `params`, `delay` and `passive` count.
    pub fn with_tool(
        tool: Box<dyn Tool>,
        limits: &DeviceLimits,
        mapping: Mapping,
        params: &RigParams,
    ) -> Result<Self, DeviceError> {
        let gains = Gains::of(limits, mapping.scale, tool.radius())?;
        Ok(Self {
            tool,
            gains,
            mapping,
            governor: Governor::new(limits),
            passivity: Passivity::new(params.delay, params.passive),
            last: None,
            motion: Twist::ZERO,
            sent: Wrench::ZERO,
        })
    }

    /// What follows the handle.
    pub fn tool(&self) -> &dyn Tool {
        &*self.tool
    }

    /// The spring between handle and tool.
    pub fn gains(&self) -> &Gains {
        &self.gains
    }

    /// How the handle's motion becomes the tool's.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The energy between hand and scene.
    pub fn passivity(&self) -> &Passivity {
        &self.passivity
    }

    /// What limits the force.
    pub fn governor(&self) -> &Governor {
        &self.governor
    }

    /// The tool goes `world_from_tool`, wherever the handle is: force begins anew.
    pub fn place(&mut self, pose: Pose) {
        self.tool.place(pose);
        self.cut();
        self.governor.fault();
    }

    /// What the handle is given after a reading, `dt` seconds after the last one. A reading that is not finite counts as [`Rig::lost`].
    pub fn tick(&mut self, reading: &Reading, dt: f64) -> Told {
        if !(reading.is_finite() && dt > 0.0 && dt.is_finite()) {
            let wrench = self.lost(dt);
            return Told { wrench, felt: self.still(), ..Told::default() };
        }
        self.governor.clear();
        let handle = &reading.pose;
        self.motion = match reading.twist {
            Some(twist) => twist,
            None => self.measured(handle, dt),
        };
        let explained = self.explained(handle);
        self.last = Some(*handle);
        let target = self.mapping.target(handle);
        let motion = self.mapping.motion(&self.motion);
        let felt = self.tool.tick(&target, &motion, &self.gains, dt);
        let spring = self.mapping.back(&felt.wrench);
        let wanted = self.governor.pass(&spring, explained, dt);
        let held = self.held(&felt.pose, &target, &spring, &wanted);
        let wrench = self.passivity.pass(handle, &wanted, held, dt);
        self.sent = wrench;
        Told { target, felt, wrench, energy: self.passivity.energy(), share: self.passivity.share() }
    }

    /// There was no reading: force goes within [`crate::governor::FADE`] seconds.
    pub fn lost(&mut self, dt: f64) -> Wrench {
        self.governor.fault();
        self.passivity.forget();
        self.last = None;
        self.motion = Twist::ZERO;
        let dt = if dt > 0.0 && dt.is_finite() { dt } else { crate::governor::FADE };
        let faded = self.governor.pass(&Wrench::ZERO, [0.0; 2], dt);
        // Passivity may have let less through.
        let (most, is) = (self.sent.force.length(), faded.force.length());
        let share = if is > most && is > 0.0 { most / is } else { 1.0 };
        self.sent = faded * share;
        self.sent
    }

    /// Someone else has taken the force away.
    pub fn cut(&mut self) {
        self.governor.cut();
        self.passivity.forget();
        self.last = None;
        self.sent = Wrench::ZERO;
    }

    fn still(&self) -> Felt {
        Felt { pose: self.tool.pose(), non_finite: true, ..Felt::default() }
    }

    /// By how much the spring's force and torque change because the handle moved, at most [N, N m].
    fn explained(&self, handle: &Pose) -> [f64; 2] {
        let Some(last) = &self.last else { return [0.0; 2] };
        let (scale, gains) = (self.mapping.scale, &self.gains);
        let by = (handle.translation - last.translation).length();
        let turn = crate::six::turn(last, handle).length();
        // As the handle has it: forces are the scene's, its levers are shorter.
        let (stiffness, lever) = (gains.stiffness * scale, self.tool.radius() / scale);
        let force = stiffness * (by + turn * lever);
        [force, gains.angular_stiffness / scale * turn + force * lever]
    }

    /// Velocity by differences, smoothed over some milliseconds: positions come in steps.
    fn measured(&self, handle: &Pose, dt: f64) -> Twist {
        const SECONDS: f64 = 3e-3;
        let Some(last) = &self.last else { return Twist::ZERO };
        let share = dt / (dt + SECONDS);
        let mix = |old: DVec3, new: DVec3| old + share * (new - old);
        Twist {
            linear: mix(self.motion.linear, (handle.translation - last.translation) / dt),
            angular: mix(self.motion.angular, crate::six::turn(last, handle) / dt),
        }
    }

    /// Energy of the spring, as far as the handle feels it: what a spring that is cut at some force holds [J].
    fn held(&self, pose: &Pose, target: &Pose, spring: &Wrench, felt: &Wrench) -> f64 {
        let away = difference(target, pose, self.tool.centre());
        // Up to where it is cut, and its force times the rest of the way.
        let share = |all: DVec3, of: DVec3| {
            let g = if all == DVec3::ZERO { 0.0 } else { (of.length() / all.length()).min(1.0) };
            g * (2.0 - g)
        };
        let shares = [share(spring.force, felt.force), share(spring.torque, felt.torque)];
        let energy = |i: usize, k: f64| 0.5 * k * away[i] * away[i] * shares[i / 3];
        let sum: f64 = self.gains.spring().into_iter().enumerate().map(|(i, k)| energy(i, k)).sum();
        // Forces are as in the scene, motion is not; torques the other way round.
        sum / self.mapping.scale
    }
}
