//! Connections: so many and no more, and each must say soon what it wants.

use crate::server::{App, router};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The head of a request must be there within this time.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How often is looked whether the program ends.
const LOOK: Duration = Duration::from_millis(50);
/// After a failed accept (files used up) nothing is tried for so long.
const PAUSE: Duration = Duration::from_millis(20);

/// A connection that is open.
struct Guest {
    task: JoinHandle<()>,
    /// Whether it has asked for something.
    asked: Arc<AtomicBool>,
}

/// Makes room for one more: the ended ones go, then the oldest that has not asked for anything, then the oldest.
fn make_room(guests: &mut VecDeque<Guest>, most: usize) {
    guests.retain(|g| !g.task.is_finished());
    while guests.len() >= most {
        let idle = guests.iter().position(|g| !g.asked.load(Ordering::Relaxed)).unwrap_or(0);
        if let Some(guest) = guests.remove(idle) {
            guest.task.abort();
        }
    }
}

/// Serves until the program ends.
pub(crate) async fn run(listener: std::net::TcpListener, app: Arc<App>, most: usize) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let shared = app.shared.clone();
    let router = router(app);
    let mut guests: VecDeque<Guest> = VecDeque::new();
    while !shared.ends() {
        let stream = match tokio::time::timeout(LOOK, listener.accept()).await {
            Err(_) => continue,
            Ok(Err(_)) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Ok(Ok((stream, _))) => stream,
        };
        // Small messages at once.
        let _ = stream.set_nodelay(true);
        make_room(&mut guests, most);
        let asked = Arc::new(AtomicBool::new(false));
        let (router, seen) = (router.clone(), asked.clone());
        let task = tokio::spawn(async move {
            let inner = TowerToHyperService::new(router);
            let service = service_fn(move |request: Request<Incoming>| {
                seen.store(true, Ordering::Relaxed);
                inner.call(request)
            });
            // A connection that breaks concerns nobody else.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(64 * 1024)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades()
                .await;
        });
        guests.push_back(Guest { task, asked });
    }
}
