//! A device behind the page: it is felt without a page, never through one, and is left without force.
#![allow(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use glam::DVec3;
use palpate::math::{Pose, Wrench};
use palpate_haptic::exercise::{Exercise, Kind};
use palpate_haptic::sim::{SimDevice, SimParams, SimProbe};
use palpate_haptic::{Device, DeviceError, DeviceLimits, Guard, Pair, Reading};
use palpate_serve::{Opened, Opener, Options, Server};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Generous: the machine may be busy, and a scene is built.
const PATIENCE: Duration = Duration::from_secs(120);

/// What happened to a device.
#[derive(Debug, Default)]
struct Seen {
    exchanges: AtomicUsize,
    threads: Mutex<Vec<ThreadId>>,
    last: Mutex<Wrench>,
    dropped: AtomicUsize,
    probe: Mutex<Option<SimProbe>>,
}

/// A simulated device that is watched.
struct Watched {
    inner: SimDevice,
    seen: Arc<Seen>,
}

impl Device for Watched {
    fn name(&self) -> String {
        self.inner.name()
    }
    fn limits(&self) -> DeviceLimits {
        self.inner.limits()
    }
    fn exchange(&mut self, wrench: &Wrench) -> Result<Reading, DeviceError> {
        self.seen.exchanges.fetch_add(1, Ordering::SeqCst);
        *self.seen.last.lock().unwrap() = *wrench;
        let me = std::thread::current().id();
        let mut threads = self.seen.threads.lock().unwrap();
        if !threads.contains(&me) {
            threads.push(me);
        }
        drop(threads);
        self.inner.exchange(wrench)
    }
    fn guard(&self) -> Option<Box<dyn Guard>> {
        self.inner.guard()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.seen.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Lends {
    seen: Arc<Seen>,
    plays: bool,
}

impl Opener for Lends {
    fn name(&self) -> String {
        "a device of a test".to_owned()
    }
    fn open(&self, pair: &Pair, start: Pose, up: DVec3) -> Result<Opened, String> {
        let limits = DeviceLimits::SIGMA7;
        // Down the axis of a peg there is room: aside of it there is not.
        let exercise = Exercise::new(pair, &limits, start, up, Kind::Wedge, 0.2 * pair.radius());
        let sim = SimParams { limits, motion: exercise.motion, ..SimParams::default() };
        let inner = SimDevice::new(sim).map_err(|e| e.to_string())?;
        *self.seen.probe.lock().unwrap() = Some(inner.probe());
        let device = Box::new(Watched { inner, seen: self.seen.clone() });
        Ok(Opened { device, mapping: exercise.mapping, delay: 0, plays: self.plays })
    }
}

fn start(plays: bool) -> (Server, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let device: Arc<dyn Opener> = Arc::new(Lends { seen: seen.clone(), plays });
    let options =
        Options { port: 0, scene: Some("peg".to_owned()), device: Some(device), ..Options::default() };
    (Server::start(&options).unwrap(), seen)
}

fn until(what: &str, truth: impl Fn() -> bool) {
    let began = Instant::now();
    while !truth() {
        assert!(began.elapsed() < PATIENCE, "{what}: it did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn page(server: &Server) -> tungstenite::WebSocket<tungstenite::stream::MaybeTlsStream<std::net::TcpStream>> {
    tungstenite::connect(format!("ws://{}/socket", server.address())).unwrap().0
}

#[test]
fn a_device_that_may_be_held_is_felt_without_a_page_and_left_without_force() {
    let (mut server, seen) = start(false);
    until("it is felt", || seen.last.lock().unwrap().force.length() > 0.5);
    // A page wishes the tool elsewhere, again and again: the hand of a device is not the page's.
    let mut socket = page(&server);
    for _ in 0..50 {
        let target = r#"{"type":"target","generation":1,"pose":[0.5,0.5,0.5,0,0,0,1],"held":true}"#;
        socket.send(tungstenite::Message::text(target)).unwrap();
        std::thread::sleep(Duration::from_millis(4));
        let handle = seen.probe.lock().unwrap().as_ref().unwrap().state().pose.translation;
        assert!(handle.length() < 0.2, "{handle}");
    }
    // The page goes: it goes on.
    drop(socket);
    let before = seen.exchanges.load(Ordering::SeqCst);
    until("it goes on", || seen.exchanges.load(Ordering::SeqCst) > before + 300);
    server.stop();
    assert_eq!(*seen.last.lock().unwrap(), Wrench::ZERO);
    assert_eq!(seen.dropped.load(Ordering::SeqCst), 1);
    assert_eq!(seen.threads.lock().unwrap().len(), 1, "one thread alone speaks to it");
}

#[test]
fn another_scene_takes_the_force_away_first() {
    let (server, seen) = start(false);
    until("it is felt", || seen.last.lock().unwrap().force.length() > 0.5);
    let mut socket = page(&server);
    // A cloud is the mouse's.
    socket.send(tungstenite::Message::text(r#"{"type":"scene","id":"cloud"}"#)).unwrap();
    until("it is closed", || seen.dropped.load(Ordering::SeqCst) == 1);
    assert_eq!(*seen.last.lock().unwrap(), Wrench::ZERO);
    socket.send(tungstenite::Message::text(r#"{"type":"scene","id":"peg"}"#)).unwrap();
    until("it is felt again", || seen.last.lock().unwrap().force.length() > 0.5);
}

#[test]
fn a_motion_that_plays_waits_for_a_page() {
    let (server, seen) = start(true);
    let mut socket = page(&server);
    until("it plays", || seen.exchanges.load(Ordering::SeqCst) > 100);
    socket.close(None).unwrap();
    while socket.read().is_ok() {}
    drop(socket);
    // Within the time that the server takes to see that the page is gone it stops.
    until("it rests", || {
        let before = seen.exchanges.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(200));
        seen.exchanges.load(Ordering::SeqCst) == before
    });
    let before = seen.exchanges.load(Ordering::SeqCst);
    let _socket = page(&server);
    until("it plays on", || seen.exchanges.load(Ordering::SeqCst) > before + 100);
}
