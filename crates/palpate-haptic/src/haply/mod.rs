//! The Haply Inverse Service: an Inverse3 and its grip, over a WebSocket.
//!
//! Based on: docs.haply.co, Inverse Service 3.5.x: WebSocket protocol, control commands, HTTP.
//! Differs: services before 3.5 are spoken to as well, whose `set_cursor_force` names its vector `values`.
//!
//! The service answers every message with exactly one state, so a round trip is one command and one state. A command acts once: a
//! device whose program stops sending goes idle by itself, and the guard does not wait for that.

mod frame;
mod message;
#[cfg(any(test, feature = "mock"))]
pub mod mock;
mod socket;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use glam::{DQuat, DVec3};
use palpate::math::Wrench;

use crate::device::{Device, DeviceError, DeviceLimits, Guard, Reading};
pub use frame::Frame;
use message::Command;
pub use message::{Grip, Inverse, Message, Spelling};
use socket::{Silence, Socket, Writer};

/// Where the service is and how it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct HaplyParams {
    /// Host and port of the simulation channel.
    pub address: String,
    /// How the session is called at the service.
    pub profile: String,
    /// Which Inverse3; None: the first that the service lists.
    pub device: Option<String>,
    /// How forces are written.
    pub spelling: Spelling,
    /// Where the device stands in the world.
    pub frame: Frame,
    /// How long an answer may take. Systems round it up to their clock, by 4 ms or less.
    pub timeout: Duration,
    /// How long the connection, the inventory and the first answer may take, each.
    pub patience: Duration,
    /// What the device can do, by its maker. Forces beyond are cut to it in length.
    pub limits: DeviceLimits,
}

impl Default for HaplyParams {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:10001".to_owned(),
            profile: "palpate:feel".to_owned(),
            device: None,
            spelling: Spelling::ByVersion,
            frame: Frame::Z_UP,
            timeout: Duration::from_millis(4),
            patience: Duration::from_secs(2),
            limits: DeviceLimits::INVERSE3,
        }
    }
}

/// An Inverse3 at the Inverse Service.
///
/// The twist is told only without a grip: the service tells no angular velocity.
#[derive(Debug)]
pub struct Haply {
    params: HaplyParams,
    socket: Socket,
    id: String,
    command: Command,
    /// The grip whose orientation is the handle's.
    grip: Option<String>,
    /// What it told last, for messages that leave it out.
    orientation: DQuat,
    buttons: u32,
}

const KIND: &str = "Haply Inverse Service";
const ADVICE: &str = "start the Haply Hub or the service, and plug in the Inverse3";

impl Haply {
    /// Finds the service and a device there, and asks it for no force.
    pub fn connect(params: HaplyParams) -> Result<Self, DeviceError> {
        params.limits.check()?;
        params.frame.check()?;
        let absent = |reason: String, advice: &'static str| DeviceError::Absent {
            device: KIND,
            address: params.address.clone(),
            reason,
            advice,
        };
        let silent = |silence: Silence| match silence {
            Silence::Late => absent("it sends no inventory".to_owned(), ADVICE),
            Silence::Over(reason) => absent(reason, ADVICE),
        };
        let mut socket = Socket::connect(&params.address, params.patience, params.timeout)
            .map_err(|reason| absent(reason, ADVICE))?;
        let inventory = socket.unasked(params.patience).map_err(silent)?;
        let garbled = |reason| DeviceError::Garbled { device: KIND.to_owned(), reason };
        let inventory = Message::parse(&inventory).map_err(garbled)?;
        let wanted = |d: &&Inverse| params.device.as_ref().is_none_or(|id| *id == d.id);
        let Some(device) = inventory.inverses.iter().find(wanted) else {
            let ids: Vec<&str> = inventory.inverses.iter().map(|d| d.id.as_str()).collect();
            let reason = match &params.device {
                Some(id) if !ids.is_empty() => format!("it has no Inverse3 {id}, only {}", ids.join(", ")),
                _ => "it lists no Inverse3".to_owned(),
            };
            return Err(absent(reason, "plug the device in and switch it on"));
        };
        if device.calibrated == Some(false) {
            let reason = format!("Inverse3 {} is not calibrated", device.id);
            return Err(absent(reason, "calibrate it as the Haply Hub shows"));
        }
        let spelling = match params.spelling {
            Spelling::ByVersion => match socket::get(&params.address, "/version", params.patience)
                .and_then(|answer| message::version(&answer))
            {
                Some(version) if version < (3, 5) => Spelling::Values,
                _ => Spelling::Vector,
            },
            told => told,
        };
        let id = device.id.clone();
        let grip = inventory.grips.iter().find(|g| g.orientation.is_some()).map(|g| g.id.clone());
        let mut haply = Self {
            command: Command::new(&id, spelling),
            id,
            grip,
            orientation: DQuat::IDENTITY,
            buttons: 0,
            socket,
            params,
        };
        let hello = haply.command.hello(&haply.params.profile);
        haply.trip(hello, haply.params.patience)?;
        Ok(haply)
    }

    /// The device's name at the service.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether there is a grip that tells how the handle is turned.
    pub fn has_grip(&self) -> bool {
        self.grip.is_some()
    }

    fn lost(&self, reason: String) -> DeviceError {
        DeviceError::Lost { device: self.name(), reason }
    }

    /// One message there, its state back.
    fn trip(&mut self, text: String, timeout: Duration) -> Result<Reading, DeviceError> {
        self.socket.send(text).map_err(|reason| self.lost(reason))?;
        let state = match self.socket.answer(timeout) {
            Ok(state) => state,
            Err(Silence::Late) => {
                let ms = timeout.as_secs_f64() * 1e3;
                return Err(self.lost(format!("the service does not answer within {ms} ms")));
            }
            Err(Silence::Over(reason)) => return Err(self.lost(reason)),
        };
        let garbled = |reason| DeviceError::Garbled { device: format!("{KIND} ({})", self.id), reason };
        let message = Message::parse(&state).map_err(garbled)?;
        let Some(device) = message.inverses.iter().find(|d| d.id == self.id) else {
            return Err(self.lost("the service no longer lists it".to_owned()));
        };
        let Some(position) = device.position else {
            return Err(garbled("there is no cursor_position in the state".to_owned()));
        };
        let told = self.grip.as_ref().and_then(|id| message.grips.iter().find(|g| g.id == *id));
        if let Some(grip) = told {
            self.orientation = grip.orientation.unwrap_or(self.orientation);
            self.buttons = grip.buttons;
        }
        let frame = &self.params.frame;
        Ok(Reading {
            pose: frame.pose(position, self.orientation),
            twist: device.velocity.filter(|_| self.grip.is_none()).map(|v| frame.twist(v)),
            buttons: self.buttons,
        })
    }
}

impl Device for Haply {
    fn name(&self) -> String {
        format!("Haply Inverse3 {}", self.id)
    }

    fn limits(&self) -> DeviceLimits {
        let limits = self.params.frame.limits(&self.params.limits);
        DeviceLimits { rotation: self.grip.is_some(), torque: 0.0, ..limits }
    }

    /// Torque is left out: the device has no motors for it.
    fn exchange(&mut self, wrench: &Wrench) -> Result<Reading, DeviceError> {
        let force = if wrench.force.is_finite() { wrench.force } else { DVec3::ZERO };
        let force = force.clamp_length_max(self.params.limits.force);
        let text = self.command.force(self.params.frame.force(force));
        self.trip(text, self.params.timeout)
    }

    fn guard(&self) -> Option<Box<dyn Guard>> {
        let zero = socket::client_frame(&self.command.force(DVec3::ZERO));
        Some(Box::new(Release { writer: self.socket.writer(), zero, device: self.name() }))
    }
}

impl Drop for Haply {
    /// No force is left behind.
    fn drop(&mut self) {
        self.socket.close(self.command.force(DVec3::ZERO));
    }
}

/// Sends a zero force, while the loop may be waiting for an answer. Its own answer is read with the loop's next one.
#[derive(Debug)]
struct Release {
    writer: Arc<Writer>,
    zero: Vec<u8>,
    device: String,
}

impl Guard for Release {
    /// Takes no longer than two time-outs. Where the service takes nothing any more the connection is cut, which ends the session.
    fn release(&mut self) -> Result<(), DeviceError> {
        let lost =
            |e: std::io::Error| DeviceError::Lost { device: self.device.clone(), reason: e.to_string() };
        self.writer.send(&self.zero).map_err(lost)
    }
}
