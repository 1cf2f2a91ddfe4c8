//! A second chance for JSON that the quick way refuses although only a piece of it is odd: a member
//! named twice, a number past every range, half a surrogate pair, bytes that are no UTF-8, endless
//! nesting. The odd pieces are left out and the rest is decoded.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Deeper than anything the interface nests.
const DEEPEST: u32 = 16;
/// More members than anything the interface has.
const WIDEST: usize = 256;

/// Decodes JSON; where that fails, decodes what is left when the odd pieces are taken out. The error
/// is that of the first try, whose line and column fit the text.
pub(crate) fn tolerant<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(body).or_else(|error| match is_too_much(&error) {
        true => Err(error),
        false => serde_json::from_str(&mended(body).ok_or(error)?),
    })
}

/// The error of a value that is well-formed and more than is accepted: there is nothing to repair.
pub(crate) const TOO_MUCH: &str = "more than is taken";

/// Is it that error?
pub(crate) fn is_too_much(error: &serde_json::Error) -> bool {
    error.is_data() && error.to_string().starts_with(TOO_MUCH)
}

/// JSON without the odd pieces; `None` where nothing is left.
pub(crate) fn mended(body: &[u8]) -> Option<String> {
    mend(String::from_utf8_lossy(body).trim(), 0)
}

/// The same value without what can't be decoded; `None` where nothing is left.
fn mend(text: &str, depth: u32) -> Option<String> {
    // Also refuses what is no JSON at all; does not look inside, so oddities there pass.
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    match text.as_bytes().first()? {
        b'{' | b'[' if depth >= DEEPEST => None,
        b'{' => mend_object(text, depth),
        b'[' => Some(mend_list(text, depth)),
        b'"' => serde_json::from_str::<Cow<'_, str>>(text).ok().map(|_| text.to_owned()),
        b't' | b'f' | b'n' => Some(text.to_owned()),
        _ => serde_json::from_str::<serde_json::Number>(text).ok().map(|_| text.to_owned()),
    }
}

/// Of members with one name the last one counts, as it does for most readers. `None` for one that is far too
/// wide: it is no record, and keeping its members would take many times its text.
fn mend_object(text: &str, depth: u32) -> Option<String> {
    let members = serde_json::Deserializer::from_str(text).deserialize_map(Members).unwrap_or_default();
    if members.len() > WIDEST {
        return None;
    }
    let mut kept: Vec<(&str, String)> = Vec::with_capacity(members.len());
    for (name, value) in &members {
        let Some(value) = mend(value.get(), depth + 1) else { continue };
        match kept.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = value,
            None => kept.push((name, value)),
        }
    }
    let members = kept.into_iter().map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name)));
    Some(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
}

/// An element that can't be kept leaves a null, so that the others keep their places. Written as it is
/// read: a list may have millions.
fn mend_list(text: &str, depth: u32) -> String {
    let mut out = String::from("[");
    // It was read to its end: an error can only be of an element, and those before it stay.
    let _ = serde_json::Deserializer::from_str(text).deserialize_seq(Elements { out: &mut out, depth });
    out.push(']');
    out
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            if members.len() <= WIDEST {
                members.push(member);
            }
        }
        Ok(members)
    }
}

struct Elements<'a> {
    out: &'a mut String,
    depth: u32,
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut comma = "";
        while let Some(element) = list.next_element::<&RawValue>()? {
            self.out.push_str(comma);
            self.out.push_str(mend(element.get(), self.depth + 1).as_deref().unwrap_or("null"));
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_odd_pieces_go() {
        let deep = format!(r#"{{"id": 1, "x": {}1{}}}"#, "[".repeat(200), "]".repeat(200));
        let table = [
            (r#"{"id": 1, "x": 1e999}"#, r#"{"id":1}"#),
            (r#"{"id": 1, "id": 2}"#, r#"{"id":2}"#),
            (r#"{"a": "\ud800", "b": "é\n"}"#, r#"{"b":"é\n"}"#),
            (r#"[1, "\udc00", {"x": -1e999, "y": 1.10}]"#, r#"[1,null,{"y":1.10}]"#),
            (r#"{"quo\"te": true}"#, r#"{"quo\"te":true}"#),
        ];
        for (json, want) in table {
            assert_eq!(mend(json, 0).as_deref(), Some(want), "{json}");
        }
        assert!(mend(&deep, 0).unwrap().starts_with(r#"{"id":1,"x":[[[["#));
        let wide = |members: usize| format!(r#"[1e999,{{{}}}]"#, vec![r#""x":1"#; members].join(","));
        assert_eq!(mend(&wide(WIDEST), 0).as_deref(), Some(r#"[null,{"x":1}]"#));
        assert_eq!(mend(&wide(WIDEST + 1), 0).as_deref(), Some("[null,null]"));
        for broken in ["", "<html>", r#"{"id": 1"#, r#"{"id": 1} x"#, "nul"] {
            assert_eq!(mend(broken, 0), None, "{broken}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_goes() {
        let list = |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(mended(list(16, "1").as_bytes()), Some(list(16, "1")));
        assert_eq!(mended(list(20, "1").as_bytes()), Some(list(16, "null")));
        let object =
            |depth: usize, inner: &str| format!("{}{inner}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert_eq!(mended(object(20, "1").as_bytes()), Some(object(15, "{}")));
    }

    #[test]
    fn bytes_that_are_no_utf8_cost_a_letter_and_not_the_page() {
        let value: serde_json::Value = tolerant(b"{\"name\": \"\xcf\xf0\", \"id\": 1}").unwrap();
        assert_eq!(value["id"], 1);
        assert!(value["name"].is_string());
    }
}
