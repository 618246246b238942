//! The tool at 1 kHz: `palpate-haptic`'s rig, led by the page's hand or by a device.
//!
//! Frame: that of the touched shape A, which is the world's. The tool is B.

use crate::source::{Led, Lender, Opened, Opener};
use crate::stage::{Feel, Rigged};
use glam::{DQuat, DVec3};
use palpate::math::{Pose, Wrench};
use palpate::query::Query;
use palpate::shape::Shape;
use palpate_haptic::gains::SHARE;
use palpate_haptic::pointer::{Pointer, PointerHandle, PointerParams};
use palpate_haptic::{
    Device, DeviceError, DeviceLimits, Mapping, Mode, Pair, Rig, RigParams, RunParams, Ticker, ToolParams,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between ticks [s].
const TICK: f64 = 1e-3;
/// Of the page's hand, which nobody feels: stretch of the spring at which its force is [`MOST_FORCE`], in radii of the tool [1].
const STRETCH: f64 = 0.4;
/// Largest force that is told of it [N].
const MOST_FORCE: f64 = 10.0;
/// Where the spring sits for turns, in radii of the tool [1].
const LEVER: f64 = 0.5;
/// Fastest hand [voxels in a tick]: a tool in the open keeps up with it.
const FASTEST: f64 = 1.8;
/// A device that has failed for so long is told to be lost; after the second time it is opened anew.
const TOLD: Duration = Duration::from_millis(100);
const ANEW: Duration = Duration::from_secs(1);

/// A place where the tool touches, in the world's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    /// [m]
    pub(crate) point: DVec3,
    /// Unit; the way the tool is pushed.
    pub(crate) normal: DVec3,
    /// Positive inside [m].
    pub(crate) depth: f64,
}

/// What a tick did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Touched {
    /// `world_from_tool`: where the tool is drawn.
    pub(crate) tool: Pose,
    /// `world_from_tool` that hand or handle ask for.
    pub(crate) target: Pose,
    /// What hand or handle are given, about the middle of the target, in the world's frame.
    pub(crate) wrench: Wrench,
    /// Whether something holds the tool.
    pub(crate) touching: bool,
    /// Distance that the tool keeps from what it touches [m].
    pub(crate) gap: f64,
    /// Time of the tick's work [µs].
    pub(crate) micros: f64,
}

/// What leads the tool.
#[derive(Debug)]
enum Lead {
    Hand(PointerHandle),
    Device(Lender),
}

/// A device and its rig.
struct Running {
    device: Box<dyn Device>,
    rig: Rig,
    ticker: Ticker,
    feel: Feel,
    delay: usize,
    plays: bool,
    /// Since when the device fails, and why.
    fails: Option<(Instant, String)>,
}

/// A tool, the shape it touches, and what leads it.
pub(crate) struct Touch {
    /// What is touched, and the tool.
    shapes: [Arc<Shape>; 2],
    /// Where the tool began, and what is up.
    start: Pose,
    up: DVec3,
    lead: Lead,
    running: Option<Running>,
    feel: Feel,
    /// Where the tool is while nothing runs.
    tool: Pose,
    /// Whether everything is to begin anew.
    again: bool,
}

impl Touch {
    /// The tool at `start`, which should be free, led by the page's hand.
    ///
    /// # Errors
    /// When a shape has no size.
    pub(crate) fn new(a: Shape, b: Shape, start: Pose, up: DVec3) -> Result<Self, DeviceError> {
        let shapes = [Arc::new(a), Arc::new(b)];
        let feel = Feel::default();
        let (opened, handle) = pointer(&shapes, start)?;
        let running = Some(run(&shapes, opened, feel, start)?);
        Ok(Self { shapes, start, up, lead: Lead::Hand(handle), running, feel, tool: start, again: false })
    }

    /// What is touched, and the tool.
    pub(crate) fn shapes(&self) -> [&Shape; 2] {
        [&self.shapes[0], &self.shapes[1]]
    }

    /// From now on a device leads, as soon as it is there.
    pub(crate) fn lend(&mut self, opener: Arc<dyn Opener>) {
        (self.lead, self.running) = (Lead::Device(Lender::new(opener)), None);
    }

    /// Whether someone may be holding a device.
    pub(crate) fn is_held(&self) -> bool {
        match &self.lead {
            Lead::Hand(_) => false,
            Lead::Device(_) => self.running.as_ref().is_none_or(|r| !r.plays),
        }
    }

    /// From now on it feels like this: after force has gone.
    pub(crate) fn feel(&mut self, feel: Feel) {
        self.feel = feel;
    }

    /// Back to the start, after force has gone.
    pub(crate) fn reset(&mut self) {
        self.again = true;
    }

    /// How the loop fares, and what a device is up to.
    pub(crate) fn state(&self) -> (Option<Rigged>, Led) {
        let led = match (&self.lead, &self.running) {
            (Lead::Hand(_), _) => Led::Hand,
            (Lead::Device(lender), None) => lender.state(),
            (Lead::Device(_), Some(r)) => match &r.fails {
                Some((since, why)) if since.elapsed() > TOLD => Led::Lost(why.clone()),
                _ => Led::Here,
            },
        };
        let rigged = self.running.as_ref().map(|r| {
            let (h, told) = (&r.ticker.health, r.ticker.last(&r.rig).told);
            Rigged {
                energy: told.energy,
                share: told.share,
                missed_by_us: h.missed_by_us,
                missed_by_machine: h.missed_by_machine,
                bad_readings: h.bad_readings,
                trips: h.trips,
                worst: h.compute.worst(),
            }
        });
        (rigged, led)
    }

    /// A tick in which force goes; true: it is gone, and nothing drives the device any more.
    pub(crate) fn leave(&mut self, due: Instant) -> bool {
        let gone = match (&self.lead, &mut self.running) {
            (Lead::Device(_), Some(r)) if !r.plays => r.ticker.fade(&mut *r.device, &mut r.rig, due),
            _ => true,
        };
        if gone {
            self.rest(self.tool, None);
        }
        gone
    }

    /// One tick, due at `due`; `target` is where the page's hand wants the tool.
    ///
    /// A target that is not finite is not heeded.
    pub(crate) fn step(&mut self, target: &Pose, due: Instant) -> Touched {
        self.open();
        let Some(r) = &mut self.running else {
            return Touched { tool: self.tool, target: self.tool, ..Touched::default() };
        };
        if let Lead::Hand(handle) = &self.lead {
            handle.set(*target, 0);
        }
        if self.again || r.feel != self.feel {
            if r.ticker.fade(&mut *r.device, &mut r.rig, due) {
                self.begin_anew();
            }
        } else {
            r.ticker.tick(&mut *r.device, &mut r.rig, due);
        }
        self.watch();
        self.told()
    }

    /// Takes the device when it is there.
    fn open(&mut self) {
        if let (Lead::Device(lender), None) = (&mut self.lead, &self.running) {
            if std::mem::take(&mut self.again) {
                self.tool = self.start;
            }
            let Some(opened) = lender.poll(&self.shapes, self.start, self.up) else { return };
            match run(&self.shapes, opened, self.feel, self.tool) {
                Ok(running) => self.running = Some(running),
                Err(e) => lender.lost(Some(e.to_string())),
            }
        }
    }

    /// Another rig, with what is wished for. The device has no force.
    fn begin_anew(&mut self) {
        let Some(r) = &mut self.running else { return };
        let again = std::mem::take(&mut self.again);
        let mut pose = if again { self.start } else { r.rig.tool().pose() };
        // A tool that gave may be where one that does not enter cannot begin.
        if self.feel.mode == Mode::Held && Query::new().intersects(&self.shapes[0], &self.shapes[1], &pose) {
            pose = self.start;
        }
        if again && r.plays {
            self.rest(pose, None);
            return;
        }
        if let (true, Lead::Hand(handle)) = (again, &mut self.lead)
            && let Ok((opened, moves)) = pointer(&self.shapes, pose)
        {
            (r.device, *handle) = (opened.device, moves);
        }
        match rig(&self.shapes, &r.device.limits(), *r.rig.mapping(), self.feel, r.delay, pose) {
            Ok(rig) => (r.rig, r.feel) = (rig, self.feel),
            Err(e) => self.rest(pose, Some(e.to_string())),
        }
    }

    /// The device is closed, without force, and the tool stays at `pose`. The page's hand cannot be closed.
    fn rest(&mut self, pose: Pose, why: Option<String>) {
        if let Lead::Device(lender) = &mut self.lead {
            if let Some(mut r) = self.running.take() {
                let _ = r.device.exchange(&Wrench::ZERO);
            }
            self.tool = pose;
            lender.lost(why);
        }
    }

    /// Looks whether the device answers.
    fn watch(&mut self) {
        let Some(r) = &mut self.running else { return };
        let tick = r.ticker.last(&r.rig);
        match (tick.reading.is_some_and(palpate_haptic::Reading::is_finite), &r.fails) {
            (false, None) => {
                let why =
                    tick.error.map_or_else(|| "it tells what is no number".to_owned(), |e| e.to_string());
                r.fails = Some((Instant::now(), why));
            }
            (true, Some(_)) => r.fails = None,
            _ => {}
        }
        let long = r.fails.as_ref().filter(|f| f.0.elapsed() > ANEW).map(|f| f.1.clone());
        if long.is_some() {
            let pose = r.rig.tool().pose();
            self.rest(pose, long);
        }
    }

    fn told(&self) -> Touched {
        let Some(r) = &self.running else {
            return Touched { tool: self.tool, target: self.tool, ..Touched::default() };
        };
        let tick = r.ticker.last(&r.rig);
        let (told, tool) = (tick.told, r.rig.tool());
        let given = r.rig.mapping().forth(&told.wrench);
        let about = given.about(told.target.vector(self.shapes[1].aabb().centre()));
        // Without motors for it there is no torque, wherever the force is looked at from.
        let torque = if r.device.limits().torque > 0.0 { about.torque } else { DVec3::ZERO };
        Touched {
            tool: tool.pose(),
            target: if told.target.is_finite() { told.target } else { tool.pose() },
            wrench: Wrench { force: about.force, torque },
            touching: told.felt.contacts > 0,
            gap: tool.gap(),
            micros: tick.micros,
        }
    }
}

/// The page's hand as a device, at `start`, and what moves it.
fn pointer(shapes: &[Arc<Shape>; 2], start: Pose) -> Result<(Opened, PointerHandle), DeviceError> {
    let pair = Pair::new(shapes[0].clone(), shapes[1].clone());
    let radius = pair.radius().max(pair.voxel());
    // A rig takes a share of what the device can do.
    let (stiffness, lever) = (MOST_FORCE / (STRETCH * radius), LEVER * radius);
    let limits = DeviceLimits {
        force: MOST_FORCE,
        torque: MOST_FORCE * lever,
        stiffness: stiffness / SHARE,
        angular_stiffness: stiffness * lever * lever / SHARE,
        damping: 0.0,
        angular_damping: 0.0,
        workspace: radius,
        rotation: true,
    };
    let speed = FASTEST * pair.voxel() / TICK;
    let params = PointerParams { period: TICK, speed, limits, ..PointerParams::default() };
    let device = Pointer::new(start, params)?;
    let handle = device.handle();
    let mapping = Mapping { rotation: DQuat::IDENTITY, scale: 1.0, start: Pose::IDENTITY };
    Ok((Opened { device: Box::new(device), mapping, delay: 0, plays: false }, handle))
}

fn rig(
    shapes: &[Arc<Shape>; 2],
    limits: &DeviceLimits,
    mapping: Mapping,
    feel: Feel,
    delay: usize,
    pose: Pose,
) -> Result<Rig, DeviceError> {
    let tool = ToolParams { friction: feel.friction, ..ToolParams::default() };
    let params = RigParams { mode: feel.mode, tool, delay, ..RigParams::default() };
    let pair = Pair::new(shapes[0].clone(), shapes[1].clone());
    let mut rig = Rig::new(pair, limits, mapping, &params)?;
    rig.place(pose);
    Ok(rig)
}

fn run(shapes: &[Arc<Shape>; 2], opened: Opened, feel: Feel, pose: Pose) -> Result<Running, DeviceError> {
    let Opened { device, mapping, delay, plays } = opened;
    let ticker = Ticker::new(&*device, &RunParams { rate: 1.0 / TICK, ..RunParams::default() })?;
    let rig = rig(shapes, &device.limits(), mapping, feel, delay, pose)?;
    Ok(Running { device, rig, ticker, feel, delay, plays, fails: None })
}

#[cfg(test)]
#[path = "touch_tests.rs"]
mod tests;
