//! Mends what JSON forbids and providers send: a byte order mark, bytes that are not UTF-8, raw control characters,
//! halves of surrogate pairs, NaN, Infinity and numbers past every float. Of members with the same name the last counts.

use std::io::{self, BufReader, Cursor, Read};
use std::mem;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The letter in place of a bad one.
const REPLACEMENT: &str = "\u{fffd}";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const FIRST_HALVES: RangeInclusive<u16> = 0xd800..=0xdbff;
const SECOND_HALVES: RangeInclusive<u16> = 0xdc00..=0xdfff;

/// Decodes JSON, the second time mended, the third time with each member of an object once: the last of the same
/// name counts. The error is that of the first attempt, whose line and column fit the text.
pub(crate) fn tolerant<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    let mended = || BufReader::new(Mended::new(body));
    let once = || serde_json::from_reader(mended()).and_then(|all: Value| serde_json::to_vec(&all));
    // A body that is checked as a whole is decoded faster than one whose texts are checked one by one.
    str::from_utf8(body)
        .map_or_else(|_| serde_json::from_slice(body), serde_json::from_str)
        .or_else(|error| serde_json::from_reader(mended()).map_err(|_| error))
        .or_else(|error| once().and_then(|body| serde_json::from_slice(&body)).map_err(|_| error))
}

/// A body that is mended while it is read, token by token.
pub(crate) struct Mended<R> {
    body: R,
    piece: Box<[u8]>,
    /// A text or word whose end has not come yet.
    token: Vec<u8>,
    in_text: bool,
    is_escaped: bool,
    out: Cursor<Vec<u8>>,
}

impl<R> Mended<R> {
    pub(crate) fn new(body: R) -> Self {
        let (piece, token, out) = ([0; 16 << 10].into(), Vec::new(), Cursor::default());
        Self { body, piece, token, in_text: false, is_escaped: false, out }
    }

    /// Takes a piece, token by token, and copies those that need no mending together.
    fn take(&mut self, piece: &[u8]) {
        let (mut copied, mut start) = (0, 0);
        while let Some(end) = self.end_of_token(piece, start) {
            let token = &piece[start..end];
            let is_right = if self.in_text { is_plain(token) } else { is_usual(token) };
            let (mend, out) = (if self.in_text { text } else { word }, self.out.get_mut());
            if !self.token.is_empty() {
                self.token.extend(&piece[..end]);
                mend(&self.token, out);
                self.token.clear();
                copied = end;
            } else if !is_right {
                out.extend(&piece[copied..start]);
                mend(token, out);
                copied = end;
            }
            self.in_text = piece[end] == b'"' && !self.in_text;
            start = end + 1;
        }
        self.out.get_mut().extend(&piece[copied..start]);
        self.token.extend(&piece[start..]);
    }

    /// The index of the byte that ends the token.
    fn end_of_token(&mut self, piece: &[u8], start: usize) -> Option<usize> {
        let ends_text = |&byte: &u8| {
            let is_escaped = self.is_escaped;
            self.is_escaped = byte == b'\\' && !is_escaped;
            byte == b'"' && !is_escaped
        };
        let mut rest = piece[start..].iter();
        let length = if self.in_text { rest.position(ends_text) } else { rest.position(ends_word) };
        Some(start + length?)
    }
}

impl<R: Read> Read for Mended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.out.position() == self.out.get_ref().len() as u64 {
            self.out.set_position(0);
            self.out.get_mut().clear();
            let size = self.body.read(&mut self.piece)?;
            let piece = mem::take(&mut self.piece);
            self.take(&piece[..size]);
            self.piece = piece;
            if size == 0 {
                word(&mem::take(&mut self.token), self.out.get_mut());
                break;
            }
        }
        self.out.read(buffer)
    }
}

const fn ends_word(byte: &u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"' | b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether a text needs no mending.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|&byte| matches!(byte, b' '..=b'~') && byte != b'\\')
}

/// Whether a word is no number, or one without an exponent and with fewer digits than the largest float.
fn is_usual(word: &[u8]) -> bool {
    let is_short = || word.len() < 300 && word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'.'));
    matches!(word, b"" | b"true" | b"false" | b"null") || is_short()
}

/// Writes a word. No number but a finite one is left: the others become null.
fn word(raw: &[u8], out: &mut Vec<u8>) {
    let word = raw.strip_prefix(BYTE_ORDER_MARK).unwrap_or(raw);
    let number = str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
    out.extend(if number.is_none_or(f64::is_finite) { word } else { b"null" });
}

/// Writes a text without its quotes, and with its bad letters replaced.
fn text(raw: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(raw).replace(|letter: char| letter < ' ', " ");
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.extend(before.as_bytes());
        let is_pair =
            half(escape, FIRST_HALVES) && escape.get(6..).is_some_and(|next| half(next, SECOND_HALVES));
        let is_half = half(escape, FIRST_HALVES) || half(escape, SECOND_HALVES);
        let length = match (is_pair, is_half) {
            (true, _) => 12,
            (false, true) => 6,
            (false, false) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.extend(if is_half && !is_pair { REPLACEMENT } else { &escape[..length] }.as_bytes());
        rest = &escape[length..];
    }
    out.extend(rest.as_bytes());
}

/// Whether a text begins with the escape of a code unit in this range.
fn half(text: &str, range: RangeInclusive<u16>) -> bool {
    let digits = text.strip_prefix("\\u").and_then(|digits| digits.get(..4));
    digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).is_some_and(|unit| range.contains(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The mended text, in pieces of this many bytes.
    fn mended(body: &[u8], piece: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut body = Mended { piece: vec![0; piece].into(), ..Mended::new(body) };
        body.read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn only_what_json_forbids_is_replaced_whatever_the_pieces() {
        let table: [(&[u8], &str); 12] = [
            (
                br#"{"a": "\ud800", "b": "\u00e9\n\\ud800"}"#,
                "{\"a\": \"\u{fffd}\", \"b\": \"\\u00e9\\n\\\\ud800\"}",
            ),
            (br#"["\udc00\ud83d\ude00", 1e99]"#, "[\"\u{fffd}\\ud83d\\ude00\", 1e99]"),
            (br#""\ud800\ud83d\ude00""#, "\"\u{fffd}\\ud83d\\ude00\""),
            (b"{\"name\": \"\xcf\xf0\", \"id\": 1}", "{\"name\": \"\u{fffd}\u{fffd}\", \"id\": 1}"),
            (br#""\ud8""#, r#""\ud8""#),
            ("\"\\é\"".as_bytes(), "\"\\é\""),
            ("{\"имя\": \"a\\\"NaN\", \"b\": true}".as_bytes(), "{\"имя\": \"a\\\"NaN\", \"b\": true}"),
            (b"\xef\xbb\xbf{\n\t\"a\": 1}", "{\n\t\"a\": 1}"),
            (b"\xef\xbb\xbf [7]", " [7]"),
            (b"{\"a\tb\": \"c\0\r\nd\"}", "{\"a b\": \"c   d\"}"),
            (b"[NaN, -Infinity,Infinity,nan, 1e999, -1E+400]", "[null, null,null,null, null, null]"),
            (b"[-7, 0.1e-7, 1e-999, \"Infinity\"]", "[-7, 0.1e-7, 1e-999, \"Infinity\"]"),
        ];
        for (json, want) in table {
            for piece in [1, 2, 3, 1024] {
                assert_eq!(str::from_utf8(&mended(json, piece)).unwrap(), want, "in pieces of {piece}");
            }
        }
        let value: serde_json::Value = tolerant(table[0].0).unwrap();
        assert_eq!(value["a"], REPLACEMENT);
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Row {
            a: Vec<u8>,
        }
        assert_eq!(tolerant::<Row>(b"{\"a\": [1], \"b\": {}, \"a\": [2]}").unwrap(), Row { a: vec![2] });
        assert!(tolerant::<serde_json::Value>(b"<html>").is_err());
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_body_are_of_no_account(body in "([\\[{\",:}\\]]|\\\\|u|d8|dc00|1e9|[0-9.nul]|\n|é)*", piece in 1usize..9) {
            let broken: Vec<u8> = body.bytes().map(|byte| if byte == b'.' { 0xc3 } else { byte }).collect();
            for body in [body.as_bytes(), &broken] {
                prop_assert_eq!(mended(body, piece), mended(body, 1024));
            }
        }

        #[test]
        fn json_is_left_as_it_is(texts in any::<Vec<String>>(), numbers in any::<Vec<(i64, f64)>>()) {
            let json = serde_json::json!({ "texts": texts, "numbers": numbers, "more": [true, null] }).to_string();
            prop_assert_eq!(mended(json.as_bytes(), 7), json.as_bytes());
        }
    }

    #[test]
    fn a_body_that_failed_has_no_end_at_the_next_attempt() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if buffer.is_empty() { Ok(0) } else { Err(io::Error::other("reset")) }
            }
        }
        let mut body = Mended::new(Broken);
        for _ in 0..2 {
            assert!(body.read(&mut [0; 8]).is_err());
        }
    }
}
