//! A cursor over the bytes of a text file: blanks, words, numbers, lines. No allocation, no line counting (an error
//! counts lines when it is made).

use super::read_error::{Place, shown};
use super::{Format, ReadError};

/// Position in a text file.
pub(crate) struct Text<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    format: Format,
    /// Whether a backslash at the end of a line joins it with the next (OBJ).
    joins: bool,
}

impl<'a> Text<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize, format: Format) -> Self {
        Self { bytes, at, format, joins: format == Format::Obj }
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Length of a backslash, blanks and line end at `i`; 0 when there is none.
    fn join(&self, i: usize) -> usize {
        if !self.joins || self.bytes.get(i) != Some(&b'\\') {
            return 0;
        }
        let mut end = i + 1;
        while matches!(self.bytes.get(end), Some(b' ' | b'\t')) {
            end += 1;
        }
        match (self.bytes.get(end), self.bytes.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => end + 2 - i,
            (Some(b'\n' | b'\r'), _) => end + 1 - i,
            _ => 0,
        }
    }

    /// Moves to the next byte that is no blank; stays on this (logical) line.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | 0x0b | 0x0c) => self.at += 1,
                Some(b'\\') => match self.join(self.at) {
                    0 => return,
                    n => self.at += n,
                },
                _ => return,
            }
        }
    }

    /// Moves to the next byte that is neither blank nor line end.
    pub(crate) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)) {
            self.at += 1;
        }
    }

    /// Like [`Text::skip_space`], and skips comments from `#` to the end of their line.
    pub(crate) fn skip_space_and_comments(&mut self) {
        loop {
            self.skip_space();
            match self.peek() {
                Some(b'#') => self.skip_line(),
                _ => return,
            }
        }
    }

    /// Whether nothing but a comment is left on this line. Call after [`Text::skip_blanks`].
    #[inline]
    pub(crate) fn line_done(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b'\r' | b'#'))
    }

    /// Moves behind the end of this physical line.
    #[inline]
    pub(crate) fn skip_line(&mut self) {
        while let Some(b) = self.peek() {
            self.at += 1;
            if b == b'\n' || b == b'\r' {
                return;
            }
        }
    }

    /// Moves behind the end of this logical line: joined lines belong to it, a comment ends it.
    #[inline]
    pub(crate) fn skip_joined_line(&mut self) {
        while let Some(b) = self.peek() {
            match b {
                b'\n' | b'\r' => {
                    self.at += 1;
                    return;
                }
                b'#' => return self.skip_line(),
                b'\\' => self.at += self.join(self.at).max(1),
                _ => self.at += 1,
            }
        }
    }

    /// The bytes up to the next blank or line end; empty at a line end.
    #[inline]
    pub(crate) fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.at < self.bytes.len() && !self.separates(self.at) {
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }

    /// Whether byte `i` ends a word.
    #[inline]
    fn separates(&self, i: usize) -> bool {
        match self.bytes.get(i) {
            None | Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => true,
            Some(b'\\') => self.join(i) > 0,
            _ => false,
        }
    }

    /// The number at the cursor, `nan` and `inf` included. `what` names it for the error.
    #[inline]
    pub(crate) fn number(&mut self, what: &str) -> Result<f64, ReadError> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        match fast_float2::parse_partial::<f64, _>(rest) {
            Ok((value, n)) if n > 0 && self.separates(self.at + n) => {
                self.at += n;
                Ok(value)
            }
            _ => Err(self.expected("a number", what)),
        }
    }

    /// The integer at the cursor, which must end at a blank, a line end or `until`.
    #[inline]
    pub(crate) fn integer(&mut self, what: &str, until: Option<u8>) -> Result<i64, ReadError> {
        let start = self.at;
        let negative = match self.peek() {
            Some(b'-') => {
                self.at += 1;
                true
            }
            Some(b'+') => {
                self.at += 1;
                false
            }
            _ => false,
        };
        let first = self.at;
        let mut value = 0i64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            // Saturating: the caller's range check then refuses it.
            value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let ends = self.separates(self.at) || (until.is_some() && self.peek() == until);
        if self.at == first || !ends {
            self.at = start;
            return Err(self.expected("a whole number", what));
        }
        Ok(if negative { -value } else { value })
    }

    /// The line of the cursor, for an error.
    pub(crate) fn place(&self) -> Place {
        Place::line_of(self.bytes, self.at)
    }

    /// An error at the cursor.
    #[cold]
    pub(crate) fn fail(&self, problem: impl Into<String>) -> ReadError {
        ReadError::malformed(self.format, self.place(), problem)
    }

    #[cold]
    fn expected(&mut self, kind: &str, what: &str) -> ReadError {
        let error_at = self.at;
        let word = self.word();
        let found = match (word.is_empty(), self.at >= self.bytes.len()) {
            (false, _) => format!("found {}; correct it", shown(word)),
            (true, true) => "the file ends; it is cut short, export it again".to_owned(),
            (true, false) => "the line ends; complete it".to_owned(),
        };
        self.at = error_at;
        self.fail(format!("expected {kind} for {what} but {found}"))
    }
}

impl Text<'_> {
    /// Like [`Text::number`]; the error also says which of how many elements it belongs to.
    #[inline]
    pub(crate) fn number_of(
        &mut self,
        what: &str,
        kind: &str,
        i: usize,
        of: usize,
    ) -> Result<f64, ReadError> {
        self.number(what).map_err(|e| within(e, kind, i, of))
    }

    /// Like [`Text::integer`]; the error also says which of how many elements it belongs to.
    #[inline]
    pub(crate) fn integer_of(
        &mut self,
        what: &str,
        kind: &str,
        i: usize,
        of: usize,
    ) -> Result<i64, ReadError> {
        self.integer(what, None).map_err(|e| within(e, kind, i, of))
    }
}

#[cold]
fn within(error: ReadError, kind: &str, i: usize, of: usize) -> ReadError {
    match error {
        ReadError::Malformed { file, format, place, problem } => {
            ReadError::Malformed { file, format, place, problem: format!("{kind} {i} of {of}: {problem}") }
        }
        other => other,
    }
}
