//! What is answered: the page, what is inside shapes, files that are dropped, and the socket.

use crate::display::{self, How, What};
use crate::guard::{COOKIE, Guard};
use crate::shared::{Order, Shared, lock};
use crate::socket;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use palpate_view::live;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Pages that are open at once.
const CLIENTS: usize = 16;
/// Uploads, and pictures of shapes, that are worked on at once.
const UPLOADS: usize = 2;
const PICTURES: usize = 2;
/// A file must have come within this time.
const UPLOAD_TIME: Duration = Duration::from_secs(120);

/// What a page may do: use what comes from here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What every answer needs.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) shared: Arc<Shared>,
    pub(crate) guard: Guard,
    /// Largest file [bytes].
    pub(crate) most_upload: usize,
    uploads: Semaphore,
    pictures: Semaphore,
}

impl App {
    pub(crate) fn new(shared: Arc<Shared>, guard: Guard, most_upload: usize) -> Arc<Self> {
        let (uploads, pictures) = (Semaphore::new(UPLOADS), Semaphore::new(PICTURES));
        Arc::new(Self { shared, guard, most_upload, uploads, pictures })
    }
}

/// All addresses there are. Everything is in the program: nothing is read from disk.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(|| async { asset("text/html; charset=utf-8", live::HTML) }))
        .route("/live.js", get(|| async { asset("text/javascript; charset=utf-8", live::SCRIPT) }))
        .route("/live.css", get(|| async { asset("text/css; charset=utf-8", live::STYLE) }))
        .route("/icon.svg", get(|| async { asset("image/svg+xml", live::ICON) }))
        .route("/body/{generation}/{index}/{what}", get(picture))
        .route("/file", post(upload))
        .route("/socket", get(open_socket))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing at this address\n") })
        .layer(from_fn_with_state(app.clone(), checked))
        .with_state(app)
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// Lets a request pass if it may, and marks every answer.
async fn checked(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut answer = match app.guard.check(request.uri(), request.headers()) {
        Err(refusal) => refusal.into_response(),
        Ok(fresh) => {
            let mut answer = next.run(request).await;
            if let (true, Some(token)) = (fresh, &app.guard.token) {
                let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict");
                if let Ok(value) = HeaderValue::from_str(&cookie) {
                    answer.headers_mut().append(header::SET_COOKIE, value);
                }
            }
            answer
        }
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // An older browser, or one of another site, must not embed what is here.
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    answer
}

/// The value of a name in an address.
fn value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    uri.query()?.split('&').find_map(|p| p.strip_prefix(name)?.strip_prefix('='))
}

/// What is inside a body.
async fn picture(
    State(app): State<Arc<App>>,
    Path((generation, index, what)): Path<(u64, usize, String)>,
    uri: Uri,
) -> Result<Response, (StatusCode, &'static str)> {
    let missing = (StatusCode::NOT_FOUND, "there is no such body, or it has no such picture\n");
    let what = What::parse(&what).ok_or(missing)?;
    let stage = lock(&app.shared.stage).clone().filter(|s| s.generation == generation);
    let stage = stage.filter(|s| index < s.bodies.len()).ok_or(missing)?;
    let number = |name: &str| value(&uri, name).and_then(|v| v.parse::<f64>().ok()).filter(|v| v.is_finite());
    let how = How {
        level: number("level").unwrap_or(0.0).clamp(0.0, 64.0) as usize,
        axis: number("axis").unwrap_or(1.0).clamp(0.0, 2.0) as usize,
        at: number("at").unwrap_or(0.5),
    };
    let _turn = app.pictures.acquire().await.map_err(|_| missing)?;
    // Some take a second: the socket goes on meanwhile.
    let work = tokio::task::spawn_blocking(move || {
        stage.bodies.get(index).and_then(|b| display::answer(b, what, &how))
    });
    let bytes = work.await.ok().flatten().ok_or(missing)?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// A file to build and touch. Its name is only a label.
async fn upload(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    let large = || {
        let words = format!("the file is too large: {} MB are allowed\n", app.most_upload / 1_000_000);
        // What is not read cannot be followed by another request.
        (StatusCode::PAYLOAD_TOO_LARGE, [(header::CONNECTION, "close")], words).into_response()
    };
    let said = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|n| n > app.most_upload as u64) {
        return large();
    }
    let Ok(_turn) = app.uploads.try_acquire() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "other files are being read; try again\n").into_response();
    };
    let bytes: Bytes = match tokio::time::timeout(UPLOAD_TIME, to_bytes(body, app.most_upload)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return large(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the file did not come in time\n").into_response(),
    };
    let label = decode(value(&uri, "name").unwrap_or(""));
    let unit = value(&uri, "unit").unwrap_or("m").to_owned();
    app.shared.give(Order::File(label, unit, bytes.to_vec()));
    (StatusCode::ACCEPTED, "it is being built\n").into_response()
}

/// A name without its percent signs; what is no UTF-8 is replaced.
fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|c| u8::from_str_radix(std::str::from_utf8(c).ok()?, 16).ok());
        rest = match code {
            Some(byte) => {
                out.push(byte);
                after.get(2..).unwrap_or_default()
            }
            None => {
                out.push(*first);
                after
            }
        };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Opens the socket of a page, for as many as there may be.
async fn open_socket(State(app): State<Arc<App>>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    // A browser tells where a page is from; one that does not is none, and needs no socket.
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(refusal) => return refusal.into_response(),
    };
    let clients = &app.shared.clients;
    let room = clients.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < CLIENTS).then_some(n + 1));
    if room.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many pages are open\n").into_response();
    }
    let seat = socket::Seat(app.shared.clone());
    upgrade
        .max_message_size(socket::MOST_MESSAGE)
        .max_frame_size(socket::MOST_MESSAGE)
        .on_upgrade(move |socket| socket::run(socket, seat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_whatever_they_are() {
        assert_eq!(decode("a%20b%2Fc"), "a b/c");
        assert_eq!(decode("%"), "%");
        assert_eq!(decode("%zz%4"), "%zz%4");
        assert_eq!(decode("%ff"), "\u{fffd}");
    }
}
