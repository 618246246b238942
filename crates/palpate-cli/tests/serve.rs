//! The page's server as a program: what it prints, and how it ends.
#![cfg(feature = "serve")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests stop and speak like tests")]

mod common;

use common::{palpate, refuses, stdout};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn start(args: &[&str]) -> (Child, String) {
    let mut child =
        Command::new(env!("CARGO_BIN_EXE_palpate")).args(args).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().to_owned())
}

fn page(url: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn it_prints_its_address_serves_and_ends() {
    // As without a command, but on any port.
    let (mut child, url) = start(&["serve", "--port", "0"]);
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert!(page(&url).contains("</html>"));
    #[cfg(unix)]
    {
        let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let began = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if began.elapsed() > Duration::from_secs(60) => panic!("Ctrl-C does not end it"),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        assert_eq!(status.code(), Some(0));
    }
    let _ = child.kill();
}

#[test]
fn for_scripts_one_object_and_an_end() {
    let output = palpate(&["serve", "--port", "0", "--seconds", "0.2", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(value["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
}

/// A device that is not there is told on the page: the server starts, and ends, without it.
#[test]
fn it_serves_without_the_device_that_it_is_told_of() {
    let nobody = ["serve", "--port", "0", "--seconds", "3", "--device", "haply", "--address", "127.0.0.1:1"];
    for args in
        [&nobody[..], &["serve", "--port", "0", "--seconds", "3", "--device", "sim", "--mode", "soft"]]
    {
        let (mut child, url) = start(args);
        assert!(page(&url).contains("</html>"));
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    refuses(&["serve", "--host", "0.0.0.0", "--port", "0"], &["--token"]);
    refuses(&["serve", "--host", "0.0.0.0", "--port", "0", "--token", "abc"], &["12"]);
    refuses(&["serve", "--scene", "nothing", "--port", "0"], &["knot"]);
    refuses(&["serve", "--seconds=-1"], &["seconds"]);
    refuses(&["serve", "--port", "0", "--device", "replay"], &["--path"]);
    refuses(&["serve", "--port", "0", "--device", "replay", "--path", "nothing.csv"], &["nothing.csv"]);
    refuses(&["serve", "--port", "0", "--device", "sim", "--delay", "99"], &["--delay", "50"]);
    refuses(&["serve", "--port", "0", "--device", "rat"], &["mouse", "haply"]);
    refuses(&["serve", "--port", "0", "--friction", "3"], &["friction", "2"]);
}
