//! What a stranger can do to the server: nothing. Every test ends with the page being served.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

use palpate_serve::{Options, ServeError, Server};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Silent connections that a test holds of the thousand it makes.
const HELD: usize = 600;
/// Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

fn server(change: impl FnOnce(&mut Options)) -> Server {
    let mut options = Options { port: 0, ..Options::default() };
    change(&mut options);
    Server::start(&options).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends text as it is and reads until the other side closes; the status and everything that came.
fn raw(address: SocketAddr, text: &str) -> (u16, String) {
    let mut stream = connect(address);
    // A server that has heard enough may close before everything is said.
    let _ = stream.write_all(text.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split_whitespace().nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, text)
}

/// A request that ends its connection.
fn ask(address: SocketAddr, first: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut text = format!("{first} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text += &format!("Host: {address}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    raw(address, &(text + "\r\n"))
}

fn still_serves(address: SocketAddr) {
    let (status, text) = ask(address, "GET /", &[]);
    assert!(status == 200 && text.contains("</html>"), "{status} {text}");
}

fn socket(address: SocketAddr, origin: Option<&str>) -> Result<WebSocket<TcpStream>, u16> {
    let mut request = format!("ws://{address}/socket").into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    match tungstenite::client::client(request, connect(address)) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
            Err(answer.status().as_u16())
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_foreign_origin_is_refused() {
    let server = server(|_| {});
    let a = server.address();
    for origin in ["http://evil.example", "null", "https://evil.example:8770", "http://127.0.0.1"] {
        assert_eq!(ask(a, "GET /", &[("Origin", origin)]).0, 403, "{origin}");
        assert_eq!(
            ask(a, "POST /file?name=a.obj", &[("Origin", origin), ("Content-Length", "0")]).0,
            403,
            "{origin}"
        );
        assert_eq!(socket(a, Some(origin)).err(), Some(403), "{origin}");
    }
    let own = format!("http://{a}");
    assert_eq!(ask(a, "GET /live.js", &[("Origin", &own)]).0, 200);
    assert!(socket(a, Some(&own)).is_ok() && socket(a, None).is_ok());
    still_serves(a);
}

#[test]
fn a_foreign_host_is_refused() {
    let server = server(|_| {});
    let a = server.address();
    let (wrong_port, suffix) =
        (format!("127.0.0.1:{}", a.port() ^ 1), format!("127.0.0.1.evil.example:{}", a.port()));
    let rebound = format!("evil.example:{}", a.port());
    for host in ["evil.example", &rebound, &wrong_port, &suffix, "127.0.0.1", ""] {
        assert_eq!(ask(a, "GET /", &[("Host", host)]).0, 421, "{host}");
        let upgrade = [
            ("Host", host),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        assert_eq!(ask(a, "GET /socket", &upgrade).0, 421, "{host}");
    }
    // None, and two.
    assert_eq!(raw(a, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").0, 400);
    assert_eq!(ask(a, "GET /", &[("Host", &a.to_string()), ("Host", "evil.example")]).0, 400);
    // A whole address in the first line does not replace the Host.
    assert_eq!(ask(a, "GET http://evil.example/", &[("Host", "evil.example")]).0, 421);
    assert_eq!(ask(a, "GET /", &[("Host", &format!("localhost:{}", a.port()))]).0, 200);
    still_serves(a);
}

#[test]
fn an_oversized_upload_is_refused() {
    let server = server(|o| o.most_upload = 100_000);
    let a = server.address();
    // By what it says of itself, and by what comes.
    assert_eq!(ask(a, "POST /file?name=a.obj", &[("Content-Length", "100001")]).0, 413);
    assert_eq!(ask(a, "POST /file?name=a.obj", &[("Content-Length", "99999999999")]).0, 413);
    let mut stream = connect(a);
    let head = format!("POST /file?name=a.obj HTTP/1.1\r\nHost: {a}\r\nTransfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("4000\r\n{}\r\n", "v".repeat(0x4000));
    let mut sent = 0usize;
    // It may close while we are still sending.
    while sent < 10_000_000 && stream.write_all(chunk.as_bytes()).is_ok() {
        sent += 0x4000;
    }
    let mut answer = [0; 64];
    let n = stream.read(&mut answer).unwrap_or(0);
    let text = String::from_utf8_lossy(&answer[..n]).into_owned();
    println!("{sent} bytes were sent; the answer: {}", text.lines().next().unwrap_or("closed"));
    assert!(text.is_empty() || text.contains(" 413 "), "{text}");
    assert!(sent < 10_000_000 || text.contains(" 413 "));
    // One that fits is taken; that it is no mesh is told on the page, not here.
    let mut stream = connect(a);
    let body = "x".repeat(100_000);
    let whole = format!(
        "POST /file?name=..%2F..%2Fetc%2Fpasswd HTTP/1.1\r\nHost: {a}\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n{body}"
    );
    stream.write_all(whole.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 202 "), "{text}");
    still_serves(a);
}

#[test]
fn paths_lead_nowhere() {
    let server = server(|o| o.models = Some(std::env::temp_dir()));
    let a = server.address();
    for path in [
        "/../../etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/....//etc/passwd",
        "/..\\..\\etc\\passwd",
        "//etc/passwd",
        "/live.js/../../../etc/passwd",
        "/body/1/0/..%2f..%2fetc%2fpasswd",
        "/body/1/0/mesh%00",
        "/body/../../etc/passwd/mesh",
        "/body/-1/0/mesh",
        "/body/99999999999999999999/0/mesh",
        "/body/1/18446744073709551615/mesh",
        "/file/../Cargo.toml",
        "/%ff%fe",
        "/dist/index.html",
    ] {
        let (status, text) = ask(a, &format!("GET {path}"), &[]);
        assert!((400..500).contains(&status), "{path}: {status}");
        assert!(!text.contains("root:") && !text.contains("[package]"), "{path}");
    }
    // Names of scenes are compared with those there are.
    let mut s = socket(a, None).unwrap();
    s.send(Message::text(r#"{"type":"scene","id":"../../../etc/passwd"}"#)).unwrap();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE, "no word of the scene");
        if let Message::Text(text) = s.read().unwrap() {
            assert!(!text.contains("root:"));
            if text.contains("no scene of that name") {
                break;
            }
        }
    }
    still_serves(a);
}

/// Whether the other side closes a socket within the time there is; what comes before does not matter.
fn closes(mut stream: &TcpStream) -> bool {
    let began = Instant::now();
    let mut buffer = [0; 4096];
    while began.elapsed() < PATIENCE {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return true,
            Err(_) => return false,
        }
    }
    false
}

#[test]
fn malformed_frames_close_only_their_own_socket() {
    let server = server(|_| {});
    let a = server.address();
    let mut good = socket(a, None).unwrap();
    let masked = |opcode: u8, length: &[u8], body: &[u8]| [&[opcode], length, &[0, 0, 0, 0], body].concat();
    let broken: Vec<(&str, Vec<u8>)> = vec![
        ("an unmasked frame", vec![0x81, 0x02, b'h', b'i']),
        ("reserved bits", masked(0xf1, &[0x80], &[])),
        ("an opcode there is not", masked(0x83, &[0x80], &[])),
        ("a control frame in pieces", masked(0x09, &[0x80], &[])),
        ("a ping too long", masked(0x89, &[0xfe, 0x01, 0x00], &[0; 256])),
        (
            "eight thousand million million bytes",
            masked(0x81, &[0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], b"x"),
        ),
        ("larger than allowed", masked(0x81, &[0xfe, 0xff, 0xff], &[b'x'; 65535])),
        ("text that is no UTF-8", masked(0x81, &[0x82], &[0xff, 0xfe])),
        ("text that is no JSON", masked(0x81, &[0x82], b"hi")),
        ("words that are not known", masked(0x81, &[0x80 + 14], br#"{"type":"run"}"#)),
        ("a mode there is not", masked(0x81, &[0x80 + 42], br#"{"type":"feel","mode":"hard","friction":0}"#)),
        (
            "friction below zero",
            masked(0x81, &[0x80 + 43], br#"{"type":"feel","mode":"soft","friction":-1}"#),
        ),
        (
            "a device that a page names",
            masked(0x81, &[0x80 + 57], br#"{"type":"feel","mode":"soft","friction":0,"device":"sim"}"#),
        ),
        ("binary", masked(0x82, &[0x81], b"x")),
        ("a continuation of nothing", masked(0x80, &[0x81], b"x")),
        ("a close with half a code", masked(0x88, &[0x81], &[3])),
        ("random bytes", (0..600u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()),
    ];
    for (what, bytes) in &broken {
        let bad = socket(a, None).unwrap();
        let mut stream = bad.get_ref();
        let _ = stream.write_all(bytes);
        assert!(closes(stream), "{what}: stays open");
    }
    // The one that behaves is still heard.
    good.send(Message::text(r#"{"type":"here"}"#)).unwrap();
    assert!(matches!(good.read().unwrap(), Message::Text(_) | Message::Binary(_)));
    still_serves(a);
}

#[test]
fn a_thousand_connections_are_outlived() {
    let server = server(|_| {});
    let a = server.address();
    let mut page = socket(a, None).unwrap();
    // Silent ones, in front of which others must still be served.
    let mut silent = VecDeque::new();
    let mut refused = 0;
    for i in 0..1000 {
        match TcpStream::connect_timeout(&a, PATIENCE) {
            Ok(stream) => silent.push_back(stream),
            Err(_) => refused += 1,
        }
        // Files that are open at once are few on some machines; the server has closed the oldest long since.
        if silent.len() > HELD {
            silent.pop_front();
        }
        if i % 250 == 249 {
            still_serves(a);
        }
    }
    // Most were closed to make room.
    let began = Instant::now();
    let open = |s: &TcpStream| {
        s.set_nonblocking(true).unwrap();
        matches!(s.peek(&mut [0]), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
    };
    let mut left = silent.len();
    while left > Options::default().connections && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
        left = silent.iter().filter(|s| open(s)).count();
    }
    println!("{refused} refused, {} held, {left} still open", silent.len());
    assert!(silent.len() > 2 * Options::default().connections, "too few came to try anything");
    assert!(left <= Options::default().connections, "{left} silent connections are open");
    // The page that was there before has lost nothing.
    page.send(Message::text(r#"{"type":"here"}"#)).unwrap();
    assert!(page.read().is_ok());
    // A thousand sockets: some are given, the others refused.
    let sockets: Vec<Result<WebSocket<TcpStream>, u16>> = (0..1000).map(|_| socket(a, None)).collect();
    let given = sockets.iter().filter(|s| s.is_ok()).count();
    assert!((1..=16).contains(&given), "{given} sockets");
    assert!(sockets.iter().all(|s| s.is_ok() || s.as_ref().err() == Some(&503)));
    still_serves(a);
    drop(sockets);
    drop(silent);
    let began = Instant::now();
    while socket(a, None).is_err() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(socket(a, None).is_ok(), "places are given back");
}

#[test]
fn other_machines_need_a_token() {
    let any: IpAddr = "0.0.0.0".parse().unwrap();
    let refused = Server::start(&Options { host: any, port: 0, ..Options::default() });
    assert!(matches!(refused, Err(ServeError::NeedsToken { .. })));
    let short = Server::start(&Options { port: 0, token: Some("short".into()), ..Options::default() });
    assert!(matches!(short, Err(ServeError::BadToken)));
    // On this machine too, every request needs it where there is one.
    let server = server(|o| o.token = Some("0123456789abcdef".into()));
    let a = server.address();
    for path in ["/", "/live.js", "/live.css", "/icon.svg", "/body/1/0/mesh", "/nothing"] {
        assert_eq!(ask(a, &format!("GET {path}"), &[]).0, 401, "{path}");
    }
    assert_eq!(ask(a, "POST /file", &[("Content-Length", "0")]).0, 401);
    assert_eq!(socket(a, None).err(), Some(401));
    let (status, text) = ask(a, "GET /?token=0123456789abcdef", &[]);
    let cookie = text.lines().find(|l| l.to_ascii_lowercase().starts_with("set-cookie:")).unwrap_or("");
    assert!(status == 200 && cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{text}");
    assert_eq!(ask(a, "GET /live.js", &[("Cookie", "palpate=0123456789abcdef")]).0, 200);
    assert!(server.url().ends_with("/?token=0123456789abcdef"));
}

#[test]
fn a_port_that_is_taken_is_passed_over_and_a_stopped_server_is_gone() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut server = server(|o| o.port = port);
    let a = server.address();
    assert!(a.port() > port, "{a}");
    still_serves(a);
    let (_, text) = ask(a, "GET /", &[]);
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ] {
        assert!(text.to_ascii_lowercase().contains(header), "{header}: {text}");
    }
    server.stop();
    assert!(TcpStream::connect_timeout(&a, Duration::from_secs(5)).is_err());
    let unknown = Server::start(&Options { port: 0, scene: Some("nothing".into()), ..Options::default() });
    assert!(unknown.is_err_and(|e| e.to_string().contains("knot")));
}
