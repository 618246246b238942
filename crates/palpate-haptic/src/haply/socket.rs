//! A WebSocket that two threads write to: whole frames, one after the other.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::protocol::{WebSocket, WebSocketConfig};

/// Largest message that is read [bytes]. States are some kilobytes.
const LARGEST: usize = 1 << 20;

/// The side that writes, shared by the loop and the guard.
#[derive(Debug)]
pub(super) struct Writer {
    stream: Mutex<Outgoing>,
    /// Messages that the service has been sent, each of which it answers once.
    sent: AtomicU64,
}

#[derive(Debug)]
struct Outgoing {
    stream: TcpStream,
    /// A frame was cut off: nothing that follows could be read.
    broken: bool,
}

impl Writer {
    /// How many answers the service owes in all.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// Writes whole frames that hold `messages` to be answered. Takes the write time-out at most; after a failure the line is cut.
    fn write(&self, frames: &[u8], messages: u64) -> io::Result<()> {
        let mut out = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if out.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.sent.fetch_add(messages, Ordering::AcqRel);
        let done = out.stream.write_all(frames);
        if done.is_err() {
            out.broken = true;
            // A device whose session ends goes idle.
            let _ = out.stream.shutdown(Shutdown::Both);
        }
        done
    }

    /// Sends a text from a thread that is not the loop's.
    pub(super) fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.write(frame, 1)
    }
}

/// A text as a client's frame. The mask need not be a secret: there is no proxy on the way to be confused.
pub(super) fn client_frame(text: &str) -> Vec<u8> {
    let mut frame = Frame::message(text.as_bytes().to_vec(), OpCode::Data(Data::Text), true);
    frame.header_mut().mask = Some([0x70, 0x61, 0x6c, 0x70]);
    let mut bytes = Vec::with_capacity(text.len() + 14);
    // Writing to memory does not fail; a frame that is cut off would be refused by the service.
    let _ = frame.format(&mut bytes);
    bytes
}

/// The loop's side: reads up to a deadline, writes through the [`Writer`].
#[derive(Debug)]
struct Side {
    incoming: TcpStream,
    writer: Arc<Writer>,
    deadline: Instant,
}

impl Read for Side {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.incoming.set_read_timeout(Some(left.max(Duration::from_micros(1))))?;
        self.incoming.read(into)
    }
}

impl Write for Side {
    /// The whole buffer, which holds whole frames: nothing that is buffered is ever written in part.
    fn write(&mut self, frames: &[u8]) -> io::Result<usize> {
        self.writer.write(frames, 0)?;
        Ok(frames.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Socket {
    web: WebSocket<Side>,
    writer: Arc<Writer>,
    /// Answers that came.
    received: u64,
}

/// Why nothing came.
#[derive(Debug)]
pub(super) enum Silence {
    /// Not in time.
    Late,
    /// The connection is over.
    Over(String),
}

impl Socket {
    /// Connects and shakes hands within `patience`; later writes take at most `timeout` each.
    pub(super) fn connect(address: &str, patience: Duration, timeout: Duration) -> Result<Self, String> {
        let stream = open(address, patience)?;
        let words = |e: io::Error| e.to_string();
        stream.set_nodelay(true).map_err(words)?;
        stream.set_write_timeout(Some(timeout.max(Duration::from_millis(1)))).map_err(words)?;
        let outgoing = Outgoing { stream: stream.try_clone().map_err(words)?, broken: false };
        let writer = Arc::new(Writer { stream: Mutex::new(outgoing), sent: AtomicU64::new(0) });
        let deadline = Instant::now() + patience;
        let side = Side { incoming: stream, writer: writer.clone(), deadline };
        // Every message is written at once, in one piece.
        let config = WebSocketConfig::default()
            .read_buffer_size(16 << 10)
            .write_buffer_size(0)
            .max_message_size(Some(LARGEST))
            .max_frame_size(Some(LARGEST));
        match tungstenite::client::client_with_config(format!("ws://{address}/"), side, Some(config)) {
            Ok((web, _)) => Ok(Self { web, writer, received: 0 }),
            Err(tungstenite::HandshakeError::Interrupted(_)) => {
                Err("it does not shake hands in time".to_owned())
            }
            Err(tungstenite::HandshakeError::Failure(e)) => Err(e.to_string()),
        }
    }

    pub(super) fn writer(&self) -> Arc<Writer> {
        self.writer.clone()
    }

    /// Sends a message that the service will answer.
    pub(super) fn send(&mut self, text: String) -> Result<(), String> {
        self.writer.sent.fetch_add(1, Ordering::AcqRel);
        self.web.send(text.into()).map_err(|e| e.to_string())
    }

    /// The next message, which is not an answer.
    pub(super) fn unasked(&mut self, timeout: Duration) -> Result<Vec<u8>, Silence> {
        self.web.get_mut().deadline = Instant::now() + timeout;
        self.read()
    }

    /// The newest answer, once every message has its own: also those of the guard.
    pub(super) fn answer(&mut self, timeout: Duration) -> Result<Vec<u8>, Silence> {
        self.web.get_mut().deadline = Instant::now() + timeout;
        let mut newest = None;
        loop {
            match newest {
                Some(newest) if self.received >= self.writer.sent() => return Ok(newest),
                _ => {}
            }
            newest = Some(self.read()?);
            self.received += 1;
        }
    }

    fn read(&mut self) -> Result<Vec<u8>, Silence> {
        use tungstenite::{Error, Message};
        loop {
            match self.web.read() {
                Ok(Message::Text(text)) => return Ok(text.as_bytes().to_vec()),
                Ok(Message::Binary(bytes)) => return Ok(bytes.to_vec()),
                Ok(Message::Close(_)) => {
                    return Err(Silence::Over("the service closed the connection".to_owned()));
                }
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Err(Error::Io(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(Error::Io(e))
                    if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
                {
                    return Err(Silence::Late);
                }
                Err(e) => return Err(Silence::Over(e.to_string())),
            }
        }
    }

    /// Says good-bye, if that takes no time.
    pub(super) fn close(&mut self, last: String) {
        if self.send(last).is_ok() {
            let _ = self.web.close(None);
            let _ = self.web.flush();
        }
    }
}

/// A TCP connection within `patience`.
fn open(address: &str, patience: Duration) -> Result<TcpStream, String> {
    let places = address.to_socket_addrs().map_err(|e| e.to_string())?;
    let mut reason = "the address is none".to_owned();
    for place in places {
        match TcpStream::connect_timeout(&place, patience) {
            Ok(stream) => return Ok(stream),
            Err(e) => reason = e.to_string(),
        }
    }
    Err(reason)
}

/// What a plain GET of `path` answers, as it comes; at most 64 KiB, within `patience`. None where nothing does.
pub(super) fn get(address: &str, path: &str, patience: Duration) -> Option<Vec<u8>> {
    let deadline = Instant::now() + patience;
    let mut stream = open(address, patience).ok()?;
    stream.set_write_timeout(Some(patience)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while answer.len() < 64 << 10 {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            break;
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(n) => answer.extend_from_slice(piece.get(..n)?),
        }
    }
    Some(answer)
}
