//! A service that speaks as Haply's does, with a simulated device in it: for tests, and for trying out without hardware.
//!
//! It listens on a port of 127.0.0.1, sends an inventory to who connects, answers every message with one state, and keeps every
//! byte and force it was sent with its time. It can be told to misbehave.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use glam::{DQuat, DVec3};
use palpate::math::{Pose, Wrench};
use serde_json::{Value, json};
use tungstenite::protocol::WebSocket;

use super::Spelling;
use crate::device::{Device, DeviceError, DeviceLimits};
use crate::sim::{HandMotion, SimDevice, SimParams, SimProbe};

/// How often a connection looks whether it should stop.
const POLL: Duration = Duration::from_millis(1);
/// Connections at once; others are closed.
const MOST: usize = 16;
/// Bytes that are kept; later ones are counted only.
const KEPT: usize = 64 << 20;

/// What the service pretends to be.
#[derive(Clone, Debug)]
pub struct MockParams {
    /// Of 127.0.0.1; 0: one that is free.
    pub port: u16,
    /// What `GET /version` tells; None: it does not answer that.
    pub version: Option<String>,
    /// Names of its Inverse3; the first is the one that moves.
    pub devices: Vec<String>,
    /// Whether there is a wireless grip, `G1`.
    pub grip: bool,
    /// What is told of calibration.
    pub calibrated: bool,
    /// The device, in Haply's frame. Each message moves it by one period.
    pub sim: SimParams,
}

impl Default for MockParams {
    /// Service 3.5 with an Inverse3 `049D` that a hand holds in front, and a grip.
    fn default() -> Self {
        let pose = Pose::from_translation(DVec3::new(0.0, -0.12, 0.15));
        let motion = HandMotion::Hold { pose };
        Self {
            port: 0,
            version: Some("3.5.0.0".to_owned()),
            devices: vec!["049D".to_owned()],
            grip: true,
            calibrated: true,
            sim: SimParams { limits: DeviceLimits::INVERSE3, motion, ..SimParams::default() },
        }
    }
}

/// How it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Manner {
    /// As it should; answers that were held back come first.
    #[default]
    Well,
    /// Reads, and holds its answers back.
    Hold,
    /// Does not even read.
    Stall,
    /// A position that is `null`.
    Null,
    /// A position of 1e999.
    Huge,
    /// Text that is not JSON.
    Garbage,
    /// Bytes that are not text.
    Binary,
    /// Bytes that are no frame of a WebSocket.
    BadFrame,
    /// A state without devices.
    Empty,
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// When it was whole.
    pub at: Instant,
    /// What it said.
    pub text: String,
    /// The force that it asked for in Haply's frame, and how it spelled that [N].
    pub force: Option<(DVec3, Spelling)>,
}

#[derive(Debug)]
struct Shared {
    device: SimDevice,
    probe: SimProbe,
    manner: Manner,
    /// Told instead of the simulated position.
    cursor: Option<(DVec3, DVec3)>,
    orientation: DQuat,
    buttons: u32,
    received: Vec<Received>,
    bytes: Vec<(Instant, Vec<u8>)>,
    kept: usize,
    answers: usize,
    /// Open connections, by the other side's address.
    sockets: Vec<(SocketAddr, TcpStream)>,
}

#[derive(Debug)]
struct Service {
    params: MockParams,
    shared: Mutex<Shared>,
    over: AtomicBool,
    open: AtomicUsize,
}

impl Service {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running service. It ends when it is dropped.
#[derive(Debug)]
pub struct MockService {
    service: Arc<Service>,
    address: SocketAddr,
    listener: Option<JoinHandle<()>>,
}

impl MockService {
    /// Starts it.
    pub fn start(params: MockParams) -> io::Result<Self> {
        let bad = |e: DeviceError| io::Error::new(io::ErrorKind::InvalidInput, e.to_string());
        let device = SimDevice::new(params.sim.clone()).map_err(bad)?;
        let listener = TcpListener::bind(("127.0.0.1", params.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Shared {
            probe: device.probe(),
            device,
            manner: Manner::Well,
            cursor: None,
            orientation: DQuat::IDENTITY,
            buttons: 0,
            received: Vec::new(),
            bytes: Vec::new(),
            kept: 0,
            answers: 0,
            sockets: Vec::new(),
        };
        let (over, open) = (AtomicBool::new(false), AtomicUsize::new(0));
        let service = Arc::new(Service { params, shared: Mutex::new(shared), over, open });
        let own = service.clone();
        let listener = std::thread::Builder::new().name("mock".to_owned()).spawn(move || {
            while !own.over.load(Ordering::Acquire) {
                match listener.accept() {
                    Ok((stream, from)) => serve(&own, stream, from),
                    Err(_) => std::thread::sleep(POLL),
                }
            }
        })?;
        Ok(Self { service, address, listener: Some(listener) })
    }

    /// Host and port.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Every message so far, oldest first.
    pub fn received(&self) -> Vec<Received> {
        self.service.lock().received.clone()
    }

    /// The forces that were asked for so far, oldest first: when, what [N, Haply's frame], how it was spelled.
    pub fn forces(&self) -> Vec<(Instant, DVec3, Spelling)> {
        let shared = self.service.lock();
        shared.received.iter().filter_map(|m| m.force.map(|(f, s)| (m.at, f, s))).collect()
    }

    /// The same from a moment on; quick, also after many.
    pub fn forces_since(&self, since: Instant) -> Vec<(Instant, DVec3)> {
        let shared = self.service.lock();
        let first = shared.received.partition_point(|m| m.at < since);
        let late = shared.received.get(first..).unwrap_or_default();
        late.iter().filter_map(|m| m.force.map(|f| (m.at, f.0))).collect()
    }

    /// The force that was asked for last, if the last message did [N, Haply's frame].
    pub fn last_force(&self) -> Option<DVec3> {
        self.service.lock().received.last()?.force.map(|f| f.0)
    }

    /// Every byte so far, in the pieces it came in: handshakes and frames.
    pub fn bytes(&self) -> Vec<(Instant, Vec<u8>)> {
        self.service.lock().bytes.clone()
    }

    /// How many states were sent, inventories not among them.
    pub fn answers(&self) -> usize {
        self.service.lock().answers
    }

    /// Looks at the simulated device.
    pub fn probe(&self) -> SimProbe {
        self.service.lock().probe.clone()
    }

    /// How it answers from now on.
    pub fn behave(&self, manner: Manner) {
        self.service.lock().manner = manner;
    }

    /// Tells this position and velocity instead of the simulated device's [m, m/s].
    pub fn set_cursor(&self, position: DVec3, velocity: DVec3) {
        self.service.lock().cursor = Some((position, velocity));
    }

    /// What the grip tells: `device_from_grip`, and buttons a, b, c as bits.
    pub fn set_grip(&self, orientation: DQuat, buttons: u32) {
        let mut shared = self.service.lock();
        shared.orientation = orientation;
        shared.buttons = buttons;
    }

    /// Ends at once, without a good-bye: connections break, and none is taken any more.
    pub fn kill(&mut self) {
        self.service.over.store(true, Ordering::Release);
        for (_, socket) in self.service.lock().sockets.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        // Connections that were being taken meanwhile see `over` themselves.
    }
}

impl Drop for MockService {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What comes in, kept.
struct Tap {
    stream: TcpStream,
    service: Arc<Service>,
}

impl Read for Tap {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(into)?;
        let mut shared = self.service.lock();
        if n > 0 && shared.kept < KEPT {
            shared.kept += n;
            let piece = into.get(..n).unwrap_or_default().to_vec();
            shared.bytes.push((Instant::now(), piece));
        }
        Ok(n)
    }
}

impl Write for Tap {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.stream.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A connection, on a thread of its own.
fn serve(service: &Arc<Service>, stream: TcpStream, from: SocketAddr) {
    if service.open.fetch_add(1, Ordering::AcqRel) >= MOST {
        service.open.fetch_sub(1, Ordering::AcqRel);
        return;
    }
    let own = service.clone();
    let spawned = std::thread::Builder::new().name("mock".to_owned()).spawn(move || {
        if let Ok(other) = stream.try_clone() {
            own.lock().sockets.push((from, other));
            // A connection that ends is no error of ours.
            let _ = talk(&own, &stream);
            let _ = stream.shutdown(Shutdown::Both);
            own.lock().sockets.retain(|s| s.0 != from);
        }
        own.open.fetch_sub(1, Ordering::AcqRel);
    });
    if spawned.is_err() {
        service.open.fetch_sub(1, Ordering::AcqRel);
    }
}

fn talk(service: &Arc<Service>, stream: &TcpStream) -> Result<(), Box<dyn std::error::Error>> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.set_write_timeout(Some(Duration::from_secs(2)))?;
    let mut start = [0; 12];
    if stream.peek(&mut start)? == start.len() && start == *b"GET /version" {
        return tell_version(service, stream);
    }
    let tap = Tap { stream: stream.try_clone()?, service: service.clone() };
    let mut web = tungstenite::accept(tap).map_err(|e| e.to_string())?;
    stream.set_read_timeout(Some(POLL))?;
    let inventory = service.lock().state(&service.params, true);
    web.send(inventory.into())?;
    let mut held = Vec::new();
    while !service.over.load(Ordering::Acquire) {
        let manner = service.lock().manner;
        if manner == Manner::Stall {
            std::thread::sleep(POLL);
            continue;
        }
        if manner == Manner::Well {
            catch_up(service, &mut web, &mut held)?;
        }
        let text = match web.read() {
            Ok(tungstenite::Message::Text(text)) => text.to_string(),
            Ok(tungstenite::Message::Close(_)) => break,
            Ok(_) => continue,
            Err(tungstenite::Error::Io(e))
                if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                continue;
            }
            Err(e) => return Err(e.into()),
        };
        let (answer, manner) = {
            let mut shared = service.lock();
            shared.take(&text);
            (shared.state(&service.params, false), shared.manner)
        };
        if matches!(manner, Manner::Hold | Manner::Stall) {
            held.push(answer);
        } else {
            catch_up(service, &mut web, &mut held)?;
            service.lock().answers += 1;
            reply(&mut web, answer, manner)?;
        }
    }
    Ok(())
}

/// Sends what was held back.
fn catch_up(
    service: &Service,
    web: &mut WebSocket<Tap>,
    held: &mut Vec<String>,
) -> Result<(), tungstenite::Error> {
    for answer in held.drain(..) {
        service.lock().answers += 1;
        web.send(answer.into())?;
    }
    Ok(())
}

/// An answer, in the manner that is asked for.
fn reply(web: &mut WebSocket<Tap>, answer: String, manner: Manner) -> Result<(), Box<dyn std::error::Error>> {
    let position = |x: &str| {
        let place = format!(r#"{{"x":{x},"y":0.0,"z":0.0}}"#);
        format!(r#"{{"inverse3":[{{"device_id":"049D","state":{{"cursor_position":{place}}}}}]}}"#)
    };
    match manner {
        Manner::Null => web.send(position("null").into())?,
        Manner::Huge => web.send(position("1e999").into())?,
        Manner::Garbage => web.send("<html>502 Bad Gateway</html>".to_owned().into())?,
        Manner::Binary => web.send(vec![0xff, 0x00, 0xfe, 0x7b].into())?,
        Manner::Empty => web.send("{}".to_owned().into())?,
        Manner::BadFrame => {
            // Reserved bits and a length beyond all messages.
            web.flush()?;
            web.get_mut().stream.write_all(&[0xff; 64])?;
        }
        Manner::Well | Manner::Hold | Manner::Stall => web.send(answer.into())?,
    }
    Ok(())
}

/// `GET /version`, as the service answers it; nothing where it has none.
fn tell_version(service: &Service, mut stream: &TcpStream) -> Result<(), Box<dyn std::error::Error>> {
    let Some(version) = &service.params.version else { return Ok(()) };
    let body =
        json!({"git_branch": "main", "project_name": "haply-inverse-service", "project_version": version});
    let body = body.to_string();
    let n = body.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {n}\r\n\r\n{body}")?;
    stream.shutdown(Shutdown::Write)?;
    // Until the other side has read it: closing with its request unread would break the connection.
    let mut rest = [0; 1024];
    while stream.read(&mut rest)? > 0 {}
    Ok(())
}

/// A vector by its names.
fn vector(value: &Value) -> Option<DVec3> {
    Some(DVec3::new(value.get("x")?.as_f64()?, value.get("y")?.as_f64()?, value.get("z")?.as_f64()?))
}

impl Shared {
    /// Keeps a message, and moves the device by what it asks.
    fn take(&mut self, text: &str) {
        let value: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let command = value.pointer("/inverse3/0/commands/set_cursor_force").unwrap_or(&Value::Null);
        let by = |name: &str, spelling| Some((vector(command.get(name)?)?, spelling));
        let force = by("vector", Spelling::Vector).or_else(|| by("values", Spelling::Values));
        self.received.push(Received { at: Instant::now(), text: text.to_owned(), force });
        // A command acts once: without one there is no force.
        let wrench = Wrench { force: force.map_or(DVec3::ZERO, |f| f.0), torque: DVec3::ZERO };
        let _ = self.device.exchange(&wrench);
    }

    /// What the service tells now; at first with everything.
    fn state(&self, params: &MockParams, first: bool) -> String {
        let seen = self.probe.state();
        let (p, v) = self.cursor.unwrap_or((seen.pose.translation, seen.twist.linear));
        let xyz = |v: DVec3| json!({"x": v.x, "y": v.y, "z": v.z});
        let mut inverses = Vec::new();
        for id in &params.devices {
            let mut device = json!({"device_id": id, "state": {
                "cursor_position": xyz(p),
                "cursor_velocity": xyz(v),
                "current_cursor_force": xyz(seen.wrench.force),
                "control_domain": "cartesian",
                "control_mode": if first { "idle" } else { "force" },
            }});
            if first {
                device["config"] =
                    json!({"type": "inverse3", "handedness": "right", "basis": {"permutation": "XYZ"}});
                device["status"] = json!({"calibrated": params.calibrated, "in_use": false});
            }
            inverses.push(device);
        }
        let mut all = json!({"session_id": 7, "inverse3": inverses});
        if params.grip {
            let q = self.orientation;
            all["wireless_verse_grip"] = json!([{"device_id": "G1", "state": {
                "orientation": {"w": q.w, "x": q.x, "y": q.y, "z": q.z},
                "buttons": {"a": self.buttons & 1 != 0, "b": self.buttons & 2 != 0, "c": self.buttons & 4 != 0},
                "hall": 0,
            }}]);
        }
        all.to_string()
    }
}
