//! JSON that is read value by value while it arrives, so that it is never in memory as a whole.

use std::io;

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::provider::error::ErrorKind;
use crate::provider::said::web_page;

use super::lenient::Mender;

/// The longest value, with the blanks before it. Each is held whole.
const LONGEST_BYTES: usize = 4 << 20;

/// A mended body in pieces, as far as it was read.
pub(crate) struct Parts<'a> {
    pieces: &'a mut dyn Iterator<Item = io::Result<Bytes>>,
    mender: Mender,
    text: Vec<u8>,
    /// The number of bytes of `text` that are read already.
    read: usize,
    /// The number of bytes that were read before `text`.
    passed: usize,
    /// The number of bytes up to the end of the last value.
    done: usize,
    has_ended: bool,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(pieces: &'a mut dyn Iterator<Item = io::Result<Bytes>>) -> Self {
        let (mender, text) = (Mender::default(), Vec::new());
        Self { pieces, mender, text, read: 0, passed: 0, done: 0, has_ended: false }
    }

    /// The next byte but blanks, which stays unread; `None` at the end.
    fn peek(&mut self) -> Result<Option<u8>, ErrorKind> {
        loop {
            let blanks = self.text[self.read..].iter().position(|byte| !byte.is_ascii_whitespace());
            self.read = blanks.map_or(self.text.len(), |blanks| self.read + blanks);
            match self.text.get(self.read) {
                Some(&byte) => return Ok(Some(byte)),
                None if self.has_ended => return Ok(None),
                None => self.fill(1)?,
            }
        }
    }

    /// Reads this byte, if it is the next one but blanks.
    pub(crate) fn take(&mut self, byte: u8) -> Result<bool, ErrorKind> {
        let is_next = self.peek()? == Some(byte);
        self.read += usize::from(is_next);
        Ok(is_next)
    }

    /// Reads the elements of a list or an object up to its `end`.
    pub(crate) fn each(
        &mut self,
        end: u8,
        mut read: impl FnMut(&mut Self) -> Result<(), ErrorKind>,
    ) -> Result<(), ErrorKind> {
        if self.take(end)? {
            return Ok(());
        }
        loop {
            read(self)?;
            if self.take(end)? {
                return Ok(());
            }
            if !self.take(b',')? {
                return Err(self.no_json("no comma"));
            }
        }
    }

    /// The name of an object's member. Its value is next.
    pub(crate) fn name(&mut self) -> Result<String, ErrorKind> {
        let name = serde_json::from_str(self.value()?);
        match name {
            Ok(name) if self.take(b':')? => Ok(name),
            Ok(_) | Err(_) => Err(self.no_json("no name of a member")),
        }
    }

    /// The JSON of the next value.
    pub(crate) fn value(&mut self) -> Result<&str, ErrorKind> {
        self.peek()?;
        let length = loop {
            let rest = &self.text[self.read..];
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
            let (value, length) = (values.next(), values.byte_offset());
            match value {
                Some(Ok(_)) if self.has_ended || length < rest.len() => break length,
                Some(Err(error)) if !error.is_eof() => {
                    return Err(self.no_json(error.to_string().split(" at line ").next().unwrap_or("")));
                }
                _ if self.has_ended => return Err(self.no_json("its end is missing")),
                // A long value is tried again when twice as much is there.
                _ => self.fill(2 * rest.len())?,
            }
        };
        let from = self.read;
        self.read += length;
        if self.is_too_long(self.passed + self.read) {
            return Err(too_long());
        }
        self.done = self.passed + self.read;
        Ok(str::from_utf8(&self.text[from..self.read]).unwrap_or_default())
    }

    /// Reads the end.
    pub(crate) fn end(&mut self) -> Result<(), ErrorKind> {
        if self.peek()?.is_none() { Ok(()) } else { Err(self.no_json("more than one value")) }
    }

    /// Adds pieces until this much is unread, or a value is too long.
    fn fill(&mut self, wanted_bytes: usize) -> Result<(), ErrorKind> {
        self.passed += self.read;
        self.text.drain(..self.read);
        self.read = 0;
        if self.is_too_long(self.came()) {
            return Err(too_long());
        }
        loop {
            if let Some(piece) = self.pieces.next() {
                let piece = piece.map_err(|error| ErrorKind::NotJson(format!(": {error}")))?;
                self.mender.take(&piece, &mut self.text);
            } else {
                self.mender.end(&mut self.text);
                self.has_ended = true;
            }
            if self.has_ended || self.text.len() >= wanted_bytes || self.is_too_long(self.came()) {
                return Ok(());
            }
        }
    }

    /// The number of bytes so far.
    fn came(&self) -> usize {
        self.passed + self.text.len() + self.mender.waiting()
    }

    /// Whether a value that goes on up to there is too long, however the body was cut into pieces.
    fn is_too_long(&self, until: usize) -> bool {
        until - self.done > LONGEST_BYTES
    }

    fn no_json(&self, what: &str) -> ErrorKind {
        let is_end = self.has_ended && self.read == self.text.len();
        let what = if is_end { "its end is missing" } else { what };
        let words = || format!(": {what}, from byte {} on", self.passed + self.read);
        ErrorKind::NotJson(web_page(&self.text[self.read..]).unwrap_or_else(words))
    }
}

fn too_long() -> ErrorKind {
    ErrorKind::WrongShape(format!("a part of it has more than {LONGEST_BYTES} bytes"))
}
