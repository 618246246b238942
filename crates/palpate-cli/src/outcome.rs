//! What a command found, for people and for machines.

use serde_json::Value;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// The answer of a command that worked.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Text for people.
    pub(crate) text: String,
    /// The same for machines.
    pub(crate) json: Value,
    /// 0: done; 1: the answer is no. Passed on from a child program otherwise.
    pub(crate) code: u8,
    /// Whether a child program has printed already.
    pub(crate) printed: bool,
}

impl Outcome {
    /// An answer with exit code 0.
    pub(crate) fn new(text: String, json: Value) -> Self {
        Self { text, json, code: 0, printed: false }
    }

    /// Prints to standard output. A closed pipe is no failure: whoever read it has seen enough.
    pub(crate) fn print(self, json: bool) -> ExitCode {
        let mut out = std::io::stdout().lock();
        let result = match (self.printed, json) {
            (true, _) => Ok(()),
            (false, true) => writeln!(out, "{}", self.json),
            (false, false) => out.write_all(self.text.as_bytes()),
        };
        match result.and_then(|()| out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                let _ = writeln!(std::io::stderr(), "palpate: cannot write to standard output: {e}");
                ExitCode::from(2)
            }
            _ => ExitCode::from(self.code),
        }
    }
}

/// The whole chain of an error on one line; causes that repeat what was said are left out.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            let _ = write!(text, ": {cause}");
        }
    }
    text
}

/// Rows of name and value in two columns.
pub(crate) fn rows(rows: &[(String, String)]) -> String {
    let wide = rows.iter().map(|r| r.0.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, value) in rows {
        let pad = wide - name.chars().count() + 2;
        let _ = writeln!(out, "  {name}{:pad$}{value}", "");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_joins_causes_once() {
        let error = anyhow::anyhow!("no such file").context("cannot read a.obj");
        assert_eq!(message(&error), "cannot read a.obj: no such file");
        let error = anyhow::anyhow!("b").context("a: b");
        assert_eq!(message(&error), "a: b");
    }

    #[test]
    fn rows_align_by_characters() {
        assert_eq!(rows(&[("µ".into(), "1".into()), ("abc".into(), "2".into())]), "  µ    1\n  abc  2\n");
    }
}
