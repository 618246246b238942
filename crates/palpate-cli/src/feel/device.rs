//! What moves a tool: which device, and how it is opened. Shared by `feel` and `serve`.

use crate::parse;
use anyhow::{Context, Result, bail};
use glam::DVec3;
use palpate::Pose;
use palpate_haptic::exercise::{Exercise, Kind};
use palpate_haptic::haply::{Haply, HaplyParams};
use palpate_haptic::replay::{End, Motion, Replay};
use palpate_haptic::sim::{SimDevice, SimParams};
use palpate_haptic::{Device, DeviceLimits, Mapping, Mode, Pair};
use std::path::PathBuf;

/// What moves the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kinds {
    /// A simulated hand on a simulated device
    Sim,
    /// A Haply Inverse3, through the Inverse Service
    Haply,
    /// A recorded motion, see --path
    Replay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Modes {
    /// The tool never enters
    Held,
    /// The tool gives, and enters by as much as the force says
    Soft,
}

impl Modes {
    pub(crate) fn mode(self) -> Mode {
        if self == Self::Held { Mode::Held } else { Mode::Soft }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Motions {
    Press,
    Slide,
    Wedge,
    Circle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Models {
    Inverse3,
    Omega3,
    Sigma7,
}

/// How a device is opened.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeviceArgs {
    /// What a simulated hand does: press, slide, wedge or circle
    #[arg(long, value_enum, default_value_t = Motions::Press, hide_possible_values = true)]
    motion: Motions,
    /// How far beyond the first touch a simulated hand goes [default: a fifth of the tool's radius]
    #[arg(long, value_name = "LENGTH", value_parser = parse::length)]
    depth: Option<f64>,
    /// What a simulated or replayed device can do: inverse3, omega3 or sigma7
    #[arg(long, value_enum, default_value_t = Models::Sigma7, hide_possible_values = true)]
    model: Models,
    /// Delay of a simulated device, there and back [ms]
    #[arg(long, value_name = "MS", allow_hyphen_values = true, default_value_t = 0.0)]
    delay: f64,
    /// Recorded motion of the handle, for --device replay
    #[arg(long, value_name = "PATH.csv")]
    path: Option<PathBuf>,
    /// Where the Haply service listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:10001")]
    address: String,
}

#[cfg(feature = "serve")]
impl Default for DeviceArgs {
    /// As without arguments.
    fn default() -> Self {
        Self {
            motion: Motions::Press,
            depth: None,
            model: Models::Sigma7,
            delay: 0.0,
            path: None,
            address: HaplyParams::default().address,
        }
    }
}

impl DeviceArgs {
    /// Whether a device of this kind can be opened at all, as far as can be told before there is a scene.
    pub(crate) fn check(&self, kind: Kinds) -> Result<()> {
        if !(0.0..=50.0).contains(&self.delay) {
            bail!("--delay is {} ms; give 0 to 50", self.delay);
        }
        if kind == Kinds::Replay {
            self.recorded()?;
        }
        Ok(())
    }

    fn recorded(&self) -> Result<Motion> {
        let Some(path) = &self.path else {
            bail!("--device replay needs --path: a file of t,x,y,z,qx,qy,qz,qw");
        };
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Motion::parse(&bytes).with_context(|| path.display().to_string())
    }

    /// The device, how its handle's motion becomes the tool's, and its delay in ticks. The tool of `pair` is at `start` when the handle is at
    /// its origin.
    pub(crate) fn open(
        &self,
        kind: Kinds,
        pair: &Pair,
        start: Pose,
        up: DVec3,
        rate: f64,
    ) -> Result<(Box<dyn Device>, Mapping, usize)> {
        let period = 1.0 / rate;
        let reach = pair.radius() + pair.fixed().ball().1;
        let limits = match self.model {
            Models::Inverse3 => DeviceLimits::INVERSE3,
            Models::Omega3 => DeviceLimits::OMEGA3,
            Models::Sigma7 => DeviceLimits::SIGMA7,
        };
        Ok(match kind {
            Kinds::Sim => {
                let kind = match self.motion {
                    Motions::Press => Kind::Press,
                    Motions::Slide => Kind::Slide,
                    Motions::Wedge => Kind::Wedge,
                    Motions::Circle => Kind::Circle,
                };
                let depth = self.depth.unwrap_or(0.2 * pair.radius());
                let exercise = Exercise::new(pair, &limits, start, up, kind, depth);
                let late = (self.delay * 1e-3 / period).round() as u32;
                let sim = SimParams {
                    limits,
                    period,
                    motion: exercise.motion,
                    force_delay: late / 2,
                    pose_delay: late - late / 2,
                    position_step: 5e-6,
                    velocity: false,
                    ..SimParams::default()
                };
                (Box::new(SimDevice::new(sim)?), exercise.mapping, late as usize)
            }
            Kinds::Replay => {
                let mapping = Mapping { rotation: glam::DQuat::IDENTITY, scale: 1.0, start };
                (Box::new(Replay::new(self.recorded()?, period, End::Hold, limits)?), mapping, 0)
            }
            Kinds::Haply => {
                let haply =
                    Haply::connect(HaplyParams { address: self.address.clone(), ..HaplyParams::default() })?;
                let mapping = Mapping::reaching(&haply.limits(), start, reach);
                (Box::new(haply), mapping, 1)
            }
        })
    }
}
