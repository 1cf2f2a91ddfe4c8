//! A second attempt for JSON that serde refuses because of a letter: bytes that are not UTF-8, or an escape that
//! is half a surrogate pair. A customer can name a VM so.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;

/// The letter in place of a bad one.
const REPLACEMENT: &str = "\u{fffd}";
const FIRST_HALVES: RangeInclusive<u16> = 0xd800..=0xdbff;
const SECOND_HALVES: RangeInclusive<u16> = 0xdc00..=0xdfff;

/// Decodes JSON, the second time with its bad letters replaced. The error is that of the first attempt, whose
/// line and column fit the text.
pub(crate) fn tolerant<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(body).or_else(|error| serde_json::from_str(&mended(body)).map_err(|_| error))
}

/// The text with its bad letters replaced.
pub(crate) fn mended(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let is_pair =
            half(escape, FIRST_HALVES) && escape.get(6..).is_some_and(|next| half(next, SECOND_HALVES));
        let is_half = half(escape, FIRST_HALVES) || half(escape, SECOND_HALVES);
        let length = match (is_pair, is_half) {
            (true, _) => 12,
            (false, true) => 6,
            (false, false) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(if is_half && !is_pair { REPLACEMENT } else { &escape[..length] });
        rest = &escape[length..];
    }
    out + rest
}

/// Whether a text begins with the escape of a code unit in this range.
fn half(text: &str, range: RangeInclusive<u16>) -> bool {
    let digits = text.strip_prefix("\\u").and_then(|digits| digits.get(..4));
    digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).is_some_and(|unit| range.contains(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bad_letters_are_replaced() {
        let table: [(&[u8], &str); 6] = [
            (
                br#"{"a": "\ud800", "b": "\u00e9\n\\ud800"}"#,
                "{\"a\": \"\u{fffd}\", \"b\": \"\\u00e9\\n\\\\ud800\"}",
            ),
            (br#"["\udc00\ud83d\ude00", 1e999]"#, "[\"\u{fffd}\\ud83d\\ude00\", 1e999]"),
            (br#""\ud800\ud83d\ude00""#, "\"\u{fffd}\\ud83d\\ude00\""),
            (b"{\"name\": \"\xcf\xf0\", \"id\": 1}", "{\"name\": \"\u{fffd}\u{fffd}\", \"id\": 1}"),
            (br#""\ud8"#, r#""\ud8"#),
            ("\"\\é\\".as_bytes(), "\"\\é\\"),
        ];
        for (json, want) in table {
            assert_eq!(mended(json), want);
        }
        let value: serde_json::Value = tolerant(table[0].0).unwrap();
        assert_eq!(value["a"], REPLACEMENT);
        assert!(tolerant::<serde_json::Value>(b"<html>").is_err());
    }
}
