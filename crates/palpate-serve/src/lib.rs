//! A page on this machine on which shapes are touched with the mouse or a haptic device, and the loop at 1 kHz behind it.
//!
//! [`Server::start`] listens, builds the first scene and runs until it is stopped. By default only this machine can reach it, and only
//! its own page: see `guard.rs`. Nothing is read from disk but scans in a folder the caller names; nothing is ever written.

mod beat;
mod builder;
mod display;
mod door;
#[cfg(feature = "rapier")]
mod fall;
mod guard;
mod look;
mod pair;
mod probe;
mod scenes;
mod server;
mod shared;
mod socket;
mod source;
mod stage;
mod touch;
mod waving;
mod wire;

use palpate_haptic::Mode;
use shared::{Order, Shared};
pub use source::{Opened, Opener};
use stage::Feel;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The port that is tried first, unless said otherwise.
pub const PORT: u16 = 8770;
/// Ports after the first that are tried when it is taken.
const MORE_PORTS: u16 = 50;

/// How a page is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen. One that other machines can reach needs a token.
    pub host: IpAddr,
    /// The port; 0: any that is free. When it is taken, the next free one of the fifty after it.
    pub port: u16,
    /// What every request must bring: at least 12 letters, digits or `-_.~`.
    pub token: Option<String>,
    /// The scene to begin with, one of [`scene_names`]; none: the first.
    pub scene: Option<String>,
    /// A folder with scans: their scenes are offered too.
    pub models: Option<PathBuf>,
    /// What moves the tools of scenes of two rigid shapes; none: the page's hand, mouse, finger or keys.
    pub device: Option<Arc<dyn Opener>>,
    /// How a tool meets what it touches at first; pages can change it.
    pub mode: Mode,
    /// Coulomb friction at first, 0 to 2 [1].
    pub friction: f64,
    /// Largest file that may be dropped [bytes].
    pub most_upload: usize,
    /// Connections that are open at once. When there are more, the oldest that has not asked for anything yet is closed.
    pub connections: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: PORT,
            token: None,
            scene: None,
            models: None,
            device: None,
            mode: Mode::Held,
            friction: 0.0,
            most_upload: 64_000_000,
            connections: 128,
        }
    }
}

/// Why no page is served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines could reach it, and nothing would stop them.
    #[error(
        "{host} can be reached from other machines: give --token with at least 12 letters or digits, or listen on 127.0.0.1"
    )]
    NeedsToken {
        /// Where it should listen.
        host: IpAddr,
    },
    /// A token that is none.
    #[error("the token must have 12 to 200 letters, digits or -_.~")]
    BadToken,
    /// A friction that is none.
    #[error("friction is {0}; give a number from 0 to 2")]
    BadFriction(f64),
    /// No such scene.
    #[error("there is no scene {name}; there are: {known}")]
    NoScene {
        /// The one asked for.
        name: String,
        /// All there are.
        known: String,
    },
    /// Nothing could listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// Threads or sockets are used up.
    #[error("the system refuses: {0}")]
    System(#[from] std::io::Error),
}

/// The names of the scenes there are. `models`: a folder with scans.
pub fn scene_names(models: Option<&std::path::Path>) -> Vec<&'static str> {
    scenes::list(models).iter().map(|e| e.id).collect()
}

/// A page that is being served. It ends when dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    token: Option<String>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens, and begins to build the first scene. Returns at once; three threads go on: one listens, one builds, one moves the scene and is
    /// the only one that gives a device force. With the page's hand, or a device that plays, scenes rest while no page is open; with one that
    /// someone may hold they go on.
    ///
    /// # Errors
    /// When nothing can listen there, or an option makes no sense.
    pub fn start(options: &Options) -> Result<Self, ServeError> {
        if !options.host.is_loopback() && options.token.is_none() {
            return Err(ServeError::NeedsToken { host: options.host });
        }
        if options.token.as_ref().is_some_and(|t| !guard::is_token(t)) {
            return Err(ServeError::BadToken);
        }
        if !(0.0..=socket::MOST_FRICTION).contains(&options.friction) {
            return Err(ServeError::BadFriction(options.friction));
        }
        let entries = scenes::list(options.models.as_deref());
        let wanted = options.scene.as_deref().or(entries.first().map(|e| e.id)).unwrap_or("");
        let Some(first) = entries.iter().find(|e| e.id == wanted).cloned() else {
            let known: Vec<&str> = entries.iter().map(|e| e.id).collect();
            return Err(ServeError::NoScene { name: wanted.to_owned(), known: known.join(", ") });
        };
        let listener = listen(options)?;
        let address = listener.local_addr()?;
        let (shared, orders) = Shared::new(
            entries,
            options.device.clone(),
            Feel { mode: options.mode, friction: options.friction },
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(4)
            .build()?;
        let guard = guard::Guard { port: address.port(), token: options.token.clone() };
        let app = server::App::new(shared.clone(), guard, options.most_upload);
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(format!("palpate {name}")).spawn(work)
        };
        let (s, connections) = (shared.clone(), options.connections.max(1));
        let mut server = Self { shared, address, token: options.token.clone(), threads: Vec::new() };
        server
            .threads
            .push(spawn("page", Box::new(move || runtime.block_on(door::run(listener, app, connections))))?);
        let (b, l) = (s.clone(), s.clone());
        server.threads.push(spawn("build", Box::new(move || builder::run(&b, &orders)))?);
        server.threads.push(spawn("loop", Box::new(move || beat::run(&l)))?);
        s.give(Order::Scene(first));
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser, with the token where there is one.
    pub fn url(&self) -> String {
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V6(ip) => format!("[{ip}]"),
            IpAddr::V4(ip) => ip.to_string(),
        };
        let token = self.token.as_ref().map(|t| format!("?token={t}")).unwrap_or_default();
        format!("http://{host}:{}/{token}", self.address.port())
    }

    /// Ends it: open pages are told nothing more, builds are stopped.
    pub fn stop(&mut self) {
        self.shared.finish();
        for thread in self.threads.drain(..) {
            // One that panicked has nothing left to do.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Listens on the port, or on the next that is free.
fn listen(options: &Options) -> Result<std::net::TcpListener, ServeError> {
    let mut first = None;
    for more in 0..=MORE_PORTS {
        let Some(port) = options.port.checked_add(if options.port == 0 { 0 } else { more }) else { break };
        match std::net::TcpListener::bind((options.host, port)) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                return Ok(listener);
            }
            Err(source) => {
                let taken = source.kind() == std::io::ErrorKind::AddrInUse;
                let address = SocketAddr::new(options.host, options.port);
                first.get_or_insert(ServeError::Listen { address, source });
                if !taken || options.port == 0 {
                    break;
                }
            }
        }
    }
    Err(first.unwrap_or(ServeError::BadToken))
}
