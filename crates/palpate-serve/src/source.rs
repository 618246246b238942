//! A device that moves the tool: who opens it, and that it is opened again when it was lost.

use glam::DVec3;
use palpate::math::Pose;
use palpate::shape::Shape;
use palpate_haptic::{Device, Mapping, Pair};
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between attempts to open a device.
const AGAIN: Duration = Duration::from_secs(2);

/// Opens the device that moves tools: for each scene of two rigid shapes, and again when it was lost.
pub trait Opener: Send + Sync + fmt::Debug {
    /// What it is called, for people.
    fn name(&self) -> String;

    /// A device for the tool of `pair`, which is at `start` (`world_from_tool`) when the handle is at its origin; `up` is up on the screen.
    /// May take seconds: it is called on a thread of its own.
    ///
    /// # Errors
    /// In words for people: why there is none.
    fn open(&self, pair: &Pair, start: Pose, up: DVec3) -> Result<Opened, String>;
}

/// A device that is there.
pub struct Opened {
    /// It is given no force yet. From now on one thread alone speaks to it.
    pub device: Box<dyn Device>,
    /// How its handle's motion becomes the tool's.
    pub mapping: Mapping,
    /// Ticks from a force to the motion that shows it, beyond one.
    pub delay: usize,
    /// Whether it plays a motion and nobody holds it: it begins anew with the scene, and rests while no page is open.
    pub plays: bool,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opened({})", self.device.name())
    }
}

/// What a device is to the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Led {
    /// There is none: the page's hand moves the tool.
    #[default]
    Hand,
    /// It is being opened.
    Opening,
    /// It answers.
    Here,
    /// It does not, and why.
    Lost(String),
}

/// Asks for a device until there is one, without ever waiting for it.
#[derive(Debug)]
pub(crate) struct Lender {
    opener: Arc<dyn Opener>,
    asked: Option<JoinHandle<Result<Opened, String>>>,
    again: Instant,
    why: Option<String>,
}

impl Lender {
    pub(crate) fn new(opener: Arc<dyn Opener>) -> Self {
        Self { opener, asked: None, again: Instant::now(), why: None }
    }

    /// Why there is no device.
    pub(crate) fn state(&self) -> Led {
        self.why.clone().map_or(Led::Opening, Led::Lost)
    }

    /// The device was lost; it is sought anew. None: it was given back.
    pub(crate) fn lost(&mut self, why: Option<String>) {
        (self.why, self.again) = (why, Instant::now());
    }

    /// The device, if it is there by now. Does not wait.
    pub(crate) fn poll(&mut self, shapes: &[Arc<Shape>; 2], start: Pose, up: DVec3) -> Option<Opened> {
        if let Some(asked) = self.asked.take_if(|t| t.is_finished()) {
            let answer = asked.join().unwrap_or_else(|_| Err("its driver failed".to_owned()));
            self.again = Instant::now() + AGAIN;
            match answer {
                Ok(opened) => {
                    self.why = None;
                    return Some(opened);
                }
                Err(why) => self.why = Some(why),
            }
        }
        if self.asked.is_none() && Instant::now() >= self.again {
            let (opener, [a, b]) = (self.opener.clone(), shapes.clone());
            let work = move || opener.open(&Pair::new(a, b), start, up);
            match std::thread::Builder::new().name("palpate device".to_owned()).spawn(work) {
                Ok(thread) => self.asked = Some(thread),
                Err(e) => (self.why, self.again) = (Some(e.to_string()), Instant::now() + AGAIN),
            }
        }
        None
    }
}
