//! The words of an answer without success, for the reason of a failure. Pure.

use std::collections::BTreeMap;

use reqwest::StatusCode;
use serde_json::Value;

/// The number of bytes of a body that are looked at.
pub(super) const MOST_BYTES: usize = 16 << 10;
/// The fields in which APIs say what is wrong, the best first.
const FIELDS: [&str; 8] =
    ["detail", "message", "error_description", "error_message", "error", "description", "reason", "title"];

/// The words of an answer: `: payment required`, or `, a web page: Just a moment...`. They may hold credentials, and are
/// of any length.
pub(super) fn said(status: u16, body: &[u8]) -> String {
    if let Some(page) = web_page(body) {
        return page;
    }
    let body = String::from_utf8_lossy(body);
    let body = body.trim_start_matches('\u{feff}').trim();
    let text =
        serde_json::from_str(body).ok().as_ref().and_then(|json| text(json, true)).unwrap_or(body).to_owned();
    let usual = || StatusCode::from_u16(status).ok()?.canonical_reason().map(str::to_lowercase);
    match Some(text).filter(|text| !text.trim().is_empty()).or_else(usual) {
        Some(text) => format!(": {text}"),
        None => String::new(),
    }
}

/// `, a web page: Sign in`, if the answer is one. The title may hold credentials, and is of any length.
pub(super) fn web_page(body: &[u8]) -> Option<String> {
    let body = String::from_utf8_lossy(&body[..body.len().min(MOST_BYTES)]);
    let body = body.trim_start_matches('\u{feff}').trim();
    let page = || title(body).map_or(", a web page".to_owned(), |title| format!(", a web page: {title}"));
    body.starts_with('<').then(page)
}

/// The text between the tags of the title.
fn title(page: &str) -> Option<&str> {
    let lower = page.to_ascii_lowercase();
    let from = lower.find("<title")?;
    let from = from + lower[from..].find('>')? + 1;
    let to = from + lower[from..].find("</")?;
    Some(page[from..to].trim()).filter(|title| !title.is_empty())
}

/// The words of an answer that should have held something else: `: account is blocked`. Its other fields may hold secrets.
pub(super) fn complaint(answer: &BTreeMap<String, Value>) -> String {
    let text = FIELDS.iter().filter_map(|&name| answer.get(name)).find_map(|json| text(json, false));
    text.map_or(String::new(), |text| format!(": {text}"))
}

/// The first text of a JSON value, of the best field, or else of any.
fn text(json: &Value, of_any: bool) -> Option<&str> {
    match json {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
        Value::Array(all) => all.iter().find_map(|json| text(json, of_any)),
        Value::Object(fields) => {
            let any = fields.values().filter(|_| of_any);
            FIELDS.iter().filter_map(|&name| fields.get(name)).chain(any).find_map(|json| text(json, of_any))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_success_is_quoted() {
        let table: [(u16, &str, &str); 11] = [
            (402, r#"{"detail": "payment required"}"#, ": payment required"),
            (402, "", ": payment required"),
            (
                403,
                r#"{"code": "E7", "error": {"id": 4, "message": "rate limit\nexceeded"}}"#,
                ": rate limit\nexceeded",
            ),
            (403, r#"{"errors": ["suspended"]}"#, ": suspended"),
            (403, r#"{"code": 7}"#, r#": {"code": 7}"#),
            (403, "\u{feff} forbidden by the firewall ", ": forbidden by the firewall"),
            (
                403,
                "<!DOCTYPE html><HTML><Title lang=en>Just a\nmoment...</TITLE>",
                ", a web page: Just a\nmoment...",
            ),
            (403, "<html><body>no</body></html>", ", a web page"),
            (403, "<title></title>", ", a web page"),
            (503, "<title>never ends", ", a web page"),
            (599, "", ""),
        ];
        for (status, body, want) in table {
            assert_eq!(said(status, body.as_bytes()), want, "{status} {body}");
        }
    }
}
