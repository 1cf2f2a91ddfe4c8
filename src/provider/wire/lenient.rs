//! Mends what JSON forbids and providers send: byte order marks, bytes outside of UTF-8, raw control characters, lone
//! backslashes, halves of surrogate pairs, NaN, Infinity and numbers past every float. Of members with the same name
//! the last counts.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// The letter in place of a bad one.
const REPLACEMENT: &str = "\u{fffd}";
/// The number in place of NaN, Infinity and numbers past every float. No field takes it.
pub(super) const NO_NUMBER: &str = "1e308";
const BYTE_ORDER_MARK: char = '\u{feff}';
const FIRST_HALVES: RangeInclusive<u16> = 0xd800..=0xdbff;
const SECOND_HALVES: RangeInclusive<u16> = 0xdc00..=0xdfff;

/// Decodes JSON, the second time mended, the third time with each member of an object once: the last of the same
/// name counts. The error is that of the first attempt, whose line and column fit the text.
pub(crate) fn tolerant<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    let mended = || {
        let (mut mender, mut out) = (Mender::default(), Vec::with_capacity(body.len()));
        mender.take(body, &mut out);
        mender.end(&mut out);
        out
    };
    // A body that is checked as a whole is decoded faster than one whose texts are checked one by one.
    str::from_utf8(body).map_or_else(|_| serde_json::from_slice(body), serde_json::from_str).or_else(
        |error| {
            let body = mended();
            let once = || serde_json::from_slice(&body).and_then(|all: Value| serde_json::to_vec(&all));
            serde_json::from_slice(&body)
                .or_else(|_| once().and_then(|body| serde_json::from_slice(&body)))
                .map_err(|_| error)
        },
    )
}

/// The object with each of its own members once.
pub(crate) fn once(object: &str) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    serde_json::to_string(&members).ok()
}

/// Mends a body that comes in pieces, token by token.
#[derive(Default)]
pub(crate) struct Mender {
    /// A text or word whose end has not come yet.
    token: Vec<u8>,
    in_text: bool,
    is_escaped: bool,
}

impl Mender {
    /// Writes a piece as far as its tokens end. Tokens that need no mending are copied together.
    pub(crate) fn take(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let (mut copied, mut start) = (0, 0);
        while let Some(end) = self.end_of_token(piece, start) {
            let token = &piece[start..end];
            let is_right = if self.in_text { is_plain(token) } else { is_usual(token) };
            let mend = if self.in_text { text } else { word };
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
        out.extend(&piece[copied..start]);
        self.token.extend(&piece[start..]);
    }

    /// Writes a word that ends with the body. A text without an end stays unwritten.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        if !self.in_text {
            word(&self.token, out);
        }
    }

    /// The number of bytes that wait for their token's end.
    pub(crate) fn waiting(&self) -> usize {
        self.token.len()
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

/// Writes a word. No number but a finite one is left.
fn word(raw: &[u8], out: &mut Vec<u8>) {
    let is_none = |letter: char| letter == BYTE_ORDER_MARK || letter < ' ';
    let word = str::from_utf8(raw).map(|word| word.trim_matches(is_none));
    let number = word.ok().and_then(|word| word.parse::<f64>().ok());
    let word = word.map_or(raw, str::as_bytes);
    out.extend(if number.is_none_or(f64::is_finite) { word } else { NO_NUMBER.as_bytes() });
}

/// Writes a text without its quotes, and with its bad letters replaced. A backslash that begins no escape is meant.
fn text(raw: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(raw).replace(|letter: char| letter < ' ', " ");
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.extend(before.as_bytes());
        let (length, written) = match (escape.as_bytes().get(1), unit(escape)) {
            (_, Some(first)) if FIRST_HALVES.contains(&first) => {
                match unit(&escape[6..]).is_some_and(|second| SECOND_HALVES.contains(&second)) {
                    true => (12, &escape[..12]),
                    false => (6, REPLACEMENT),
                }
            }
            (_, Some(half)) if SECOND_HALVES.contains(&half) => (6, REPLACEMENT),
            (_, Some(_)) => (6, &escape[..6]),
            (Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'), None) => (2, &escape[..2]),
            (_, None) => (1, r"\\"),
        };
        out.extend(written.as_bytes());
        rest = &escape[length..];
    }
    out.extend(rest.as_bytes());
}

/// The code unit whose escape a text begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The mended text, in pieces of this many bytes.
    fn mended(body: &[u8], piece: usize) -> Vec<u8> {
        let (mut mender, mut out) = (Mender::default(), Vec::new());
        body.chunks(piece).for_each(|piece| mender.take(piece, &mut out));
        mender.end(&mut out);
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
            (br#"["\ud8", "\u+123", "\x41\'\q\/"]"#, r#"["\\ud8", "\\u+123", "\\x41\\'\\q\/"]"#),
            ("\"\\é\"".as_bytes(), "\"\\\\é\""),
            ("{\"имя\": \"a\\\"NaN\", \"b\": true}".as_bytes(), "{\"имя\": \"a\\\"NaN\", \"b\": true}"),
            (b"\xef\xbb\xbf{\n\t\"a\": 1}", "{\n\t\"a\": 1}"),
            (b"\xef\xbb\xbf\xef\xbb\xbf [7]\0\0", " [7]"),
            (b"{\"a\tb\": \"c\0\r\nd\"}", "{\"a b\": \"c   d\"}"),
            (b"[NaN, -Infinity,Infinity,nan, 1e999, -1E+400]", "[1e308, 1e308,1e308,1e308, 1e308, 1e308]"),
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
}
