//! One page's socket: its wishes come in, news and snapshots go out.
//!
//! A snapshot goes only after the page has seen the one before: none waits in a queue but the newest, which all pages share.

use crate::shared::{Order, Shared, lock};
use crate::stage::{Feel, Grip};
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use glam::{DQuat, DVec3};
use palpate::math::Pose;
use palpate_haptic::Mode;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Largest message of a page [bytes].
pub(crate) const MOST_MESSAGE: usize = 4096;
/// A page that does not take what it is sent for so long is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// A page that says nothing for so long is gone; it speaks at least every 20 s, in hidden tabs once a minute.
const SILENCE: Duration = Duration::from_secs(180);
/// Time between snapshots: 60 a second.
const FRAME: Duration = Duration::from_micros(16_000);
/// Code of a closed socket: the page said what is not understood.
const NOT_UNDERSTOOD: u16 = 1008;
/// Largest coordinate that a hand may have [m].
const FAR: f64 = 1e6;
/// Largest friction [1].
pub(crate) const MOST_FRICTION: f64 = 2.0;

/// A place among the pages that are open.
#[derive(Debug)]
pub(crate) struct Seat(pub(crate) Arc<Shared>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a page says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Said {
    /// The hand is here: x y z, then a quaternion x y z w.
    Target {
        generation: u64,
        pose: [f64; 7],
        /// Whether the hand holds the tool.
        held: bool,
    },
    /// A snapshot was taken.
    Seen { n: u64 },
    /// Another scene.
    Scene { id: String },
    /// Back to the start.
    Reset {},
    /// Which level's nodes to tell; none: no nodes.
    Nodes { level: Option<u32> },
    /// What touching is like: how the tool meets what it touches, and friction.
    Feel { mode: Way, friction: f64 },
    /// Nothing: the page is still there.
    Here {},
}

/// How a tool meets what it touches, as pages spell it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Way {
    Held,
    Soft,
}

/// Does what a page says; the number of a snapshot it has seen.
fn obey(shared: &Shared, text: &str) -> Result<Option<u64>, &'static str> {
    match serde_json::from_str(text).map_err(|_| "not understood")? {
        Said::Target { generation, pose: [x, y, z, i, j, k, w], held } => {
            let (at, turn) = (DVec3::new(x, y, z), DQuat::from_xyzw(i, j, k, w));
            let length = turn.length();
            let fits = at.is_finite() && at.abs().max_element() < FAR && (0.1..10.0).contains(&length);
            if !fits {
                return Err("a pose is not finite, or too far away");
            }
            let mut wish = lock(&shared.wish);
            // One for a scene that is gone is late, not wrong.
            if wish.generation == generation {
                wish.grip = Grip { target: Pose::new(turn / length, at), held };
            }
        }
        Said::Seen { n } => return Ok(Some(n)),
        Said::Scene { id } => match shared.entries.iter().find(|e| e.id == id) {
            Some(entry) => shared.give(Order::Scene(entry.clone())),
            None => shared.failed(Some("there is no scene of that name".to_owned())),
        },
        Said::Reset {} => {
            let start = lock(&shared.stage).as_ref().map(|s| s.grip());
            let mut wish = lock(&shared.wish);
            wish.resets += 1;
            wish.grip = start.unwrap_or(wish.grip);
        }
        Said::Nodes { level } => lock(&shared.wish).level = level.map(|l| l.min(64) as usize),
        Said::Feel { mode, friction } => {
            if !(0.0..=MOST_FRICTION).contains(&friction) {
                return Err("friction is a number from 0 to 2");
            }
            let mode = match mode {
                Way::Held => Mode::Held,
                Way::Soft => Mode::Soft,
            };
            shared.feels(Feel { mode, friction });
        }
        Said::Here {} => {}
    }
    Ok(None)
}

/// Serves a page until it goes.
pub(crate) async fn run(mut socket: WebSocket, seat: Seat) {
    let shared = &seat.0;
    let mut news = shared.news.subscribe();
    let mut snapshots = shared.snapshot.subscribe();
    news.mark_changed();
    // The first snapshot need not wait.
    let mut free = true;
    let mut sent = 0;
    let mut next = tokio::time::Instant::now();
    let mut heard = tokio::time::Instant::now();
    loop {
        let out = tokio::select! {
            message = socket.recv() => {
                heard = tokio::time::Instant::now();
                match message {
                    Some(Ok(Message::Text(text))) => match obey(shared, text.as_str()) {
                        Ok(seen) => {
                            free |= seen == Some(sent);
                            continue;
                        }
                        Err(why) => Message::Close(Some(CloseFrame { code: NOT_UNDERSTOOD, reason: why.into() })),
                    },
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Binary(_))) => {
                        Message::Close(Some(CloseFrame { code: NOT_UNDERSTOOD, reason: "text is expected".into() }))
                    }
                    // A frame that is none, or the page is gone.
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                }
            }
            changed = news.changed() => {
                if changed.is_err() {
                    return;
                }
                Message::Text(news.borrow_and_update().as_str().into())
            }
            changed = async { tokio::time::sleep_until(next).await; snapshots.changed().await }, if free => {
                if changed.is_err() {
                    return;
                }
                let newest = snapshots.borrow_and_update().clone();
                (free, sent) = (false, newest.number);
                next = tokio::time::Instant::now() + FRAME;
                Message::Binary(newest.bytes.as_slice().to_vec().into())
            }
            () = tokio::time::sleep_until(heard + SILENCE) => return,
        };
        let last = matches!(out, Message::Close(_));
        match tokio::time::timeout(PATIENCE, socket.send(out)).await {
            Ok(Ok(())) if !last => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_says_is_understood_or_refused() {
        let (shared, _orders) = Shared::new(crate::scenes::list(None), None, Feel::default());
        assert_eq!(obey(&shared, r#"{"type":"seen","n":3}"#), Ok(Some(3)));
        assert_eq!(
            obey(&shared, r#"{"type":"target","generation":0,"pose":[1,2,3,0,0,0,2],"held":true}"#),
            Ok(None)
        );
        assert_eq!(lock(&shared.wish).grip.target, Pose::from_translation(DVec3::new(1.0, 2.0, 3.0)));
        assert_eq!(
            obey(&shared, r#"{"type":"target","generation":7,"pose":[9,2,3,0,0,0,1],"held":true}"#),
            Ok(None)
        );
        assert_eq!(lock(&shared.wish).grip.target.translation.x, 1.0);
        for bad in [
            "",
            "[]",
            "{\"type\":\"nothing\"}",
            "{\"type\":\"target\",\"generation\":0,\"pose\":[1,2]}",
            "{\"type\":\"target\",\"generation\":0,\"pose\":[1e300,2,3,0,0,0,1],\"held\":true}",
            "{\"type\":\"target\",\"generation\":0,\"pose\":[1,2,3,0,0,0,0],\"held\":true}",
            "{\"type\":\"reset\",\"path\":\"/etc/passwd\"}",
            "{\"type\":\"feel\",\"mode\":\"held\"}",
            "{\"type\":\"feel\",\"mode\":\"hard\",\"friction\":0}",
            "{\"type\":\"feel\",\"mode\":\"soft\",\"friction\":-0.1}",
            "{\"type\":\"feel\",\"mode\":\"soft\",\"friction\":2.1}",
            "{\"type\":\"feel\",\"mode\":\"soft\",\"friction\":null}",
            "{\"type\":\"feel\",\"mode\":\"soft\",\"friction\":1e999}",
            "{\"type\":\"feel\",\"mode\":\"soft\",\"friction\":0.1,\"device\":\"haply\"}",
        ] {
            assert!(obey(&shared, bad).is_err(), "{bad}");
        }
        assert_eq!(lock(&shared.wish).feel, Feel::default());
        assert_eq!(obey(&shared, r#"{"type":"feel","mode":"soft","friction":0.5}"#), Ok(None));
        assert_eq!(lock(&shared.wish).feel, Feel { mode: Mode::Soft, friction: 0.5 });
        assert!(shared.news.borrow().contains(r#""mode":"soft""#));
        assert_eq!(obey(&shared, r#"{"type":"scene","id":"../../etc/passwd"}"#), Ok(None));
        assert!(shared.news.borrow().contains("no scene of that name"));
    }
}
