//! Applies a fault to an answer: in its place, in its JSON, or in the sending of its body. The module above
//! decides which faults a request meets.

use super::{Fault, Kind};
use crate::answer::{Answer, Payload, Refusal};
use serde_json::Value;

/// The place of a fault's `value`, which may be no JSON.
const MARK: &str = "value of the fault";

/// The manner in which a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    Whole,
    /// half, then silence
    Stall,
    /// this number of bytes, then the end of the connection
    Reset(u64),
    /// this number of blanks first
    Blanks(u64),
}

/// The answer of a fault that does not ask the account.
pub fn instead(fault: &Fault, host: &str, path: &str) -> Option<Answer> {
    if fault.kind == Kind::Status {
        let code = fault.code.unwrap_or(503);
        let answer = Refusal::new(code, "", "simulated fault").into_answer();
        return Some(match fault.retry_after {
            Some(seconds) => answer.with("retry-after", seconds.to_string()),
            None => answer,
        });
    }
    if fault.kind == Kind::HtmlPage {
        let page = "<!DOCTYPE html><html><head><title>Maintenance</title></head>\
                    <body><h1>We'll be back soon</h1></body></html>";
        let payload = Payload::Text("text/html; charset=utf-8", page.to_owned());
        return Some(Answer { payload, ..Answer::empty(fault.code.unwrap_or(200)) });
    }
    let to = || fault.to.clone().unwrap_or_else(|| format!("http://{host}/elsewhere{path}"));
    (fault.kind == Kind::Redirect).then(|| Answer::empty(fault.code.unwrap_or(302)).with("location", to()))
}

/// The number of rows by which these faults shift a page.
pub fn shift(faults: &[Fault]) -> i64 {
    faults.iter().filter(|f| f.kind == Kind::ShiftingRows).map(|f| f.by.unwrap_or(1)).sum()
}

/// The JSON body as the fault changes it.
pub fn within(fault: &Fault, body: Vec<u8>) -> Vec<u8> {
    let (kind, fields) = (fault.kind, fault.fields.as_deref());
    if kind == Kind::TruncatedJson {
        return body[..body.len() - body.len().div_ceil(3)].to_vec();
    }
    if kind == Kind::OddBytes {
        return with_odd_bytes(&body, fields.unwrap_or_default());
    }
    let Ok(mut json) = serde_json::from_slice(&body) else { return body };
    if kind == Kind::WrongTypes {
        mistype(&mut json, fields, true);
    } else if kind == Kind::NullFields {
        let value = fault.value.as_ref().map_or(Value::Null, |_| MARK.into());
        replace(&mut json, fields.unwrap_or_default(), &value);
    } else if kind == Kind::DuplicateRows {
        for list in ["entities", "results", "objects", "charge_moments"] {
            if let Some(rows @ [_, .., _]) =
                json.get_mut(list).and_then(Value::as_array_mut).map(Vec::as_mut_slice)
            {
                rows[rows.len() - 1] = rows[0].clone();
            }
        }
    }
    let text = json.to_string();
    fault.value.as_ref().map_or(text.clone(), |value| text.replace(&format!("\"{MARK}\""), value)).into()
}

fn with_odd_bytes(body: &[u8], fields: &[String]) -> Vec<u8> {
    // JSON writes this character as an escape.
    const LETTER: char = '\u{1}';
    let text = fields.iter().fold(String::from_utf8_lossy(body).into_owned(), |text, field| {
        text.replace(&format!("\"{field}\":\""), &format!("\"{field}\":\"\t{LETTER}"))
    });
    let bytes = text.bytes().map(|byte| if byte == LETTER as u8 { 0xcf } else { byte });
    b"\xef\xbb\xbf".iter().copied().chain(bytes).collect()
}

/// The manner in which a body is sent under the fault, if it changes that.
pub fn sending(fault: &Fault) -> Option<Sending> {
    if fault.kind == Kind::Stall {
        Some(Sending::Stall)
    } else if fault.kind == Kind::Reset {
        Some(Sending::Reset(fault.bytes.unwrap_or(0)))
    } else {
        (fault.kind == Kind::HugeBody).then(|| Sending::Blanks(fault.bytes.unwrap_or(64 << 20)))
    }
}

/// Gives the named fields this value, at any depth.
fn replace(json: &mut Value, fields: &[String], with: &Value) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(|value| replace(value, fields, with)),
        Value::Object(map) => {
            for (name, value) in map {
                if fields.contains(name) {
                    *value = with.clone();
                } else {
                    replace(value, fields, with);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Gives values wrong types; the page's own shape stays.
fn mistype(json: &mut Value, fields: Option<&[String]>, top: bool) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(|v| mistype(v, fields, false)),
        Value::Object(map) => {
            for (name, value) in map {
                let paging = top && matches!(name.as_str(), "count" | "next" | "previous" | "meta");
                let meant = fields.is_none_or(|f| f.contains(name));
                match value {
                    Value::Array(_) | Value::Object(_) if !paging => mistype(value, fields, false),
                    _ if paging || !meant => {}
                    Value::String(text) => *value = serde_json::json!({ "value": text }),
                    Value::Number(_) => *value = serde_json::json!(["x"]),
                    Value::Bool(_) => *value = Value::String("perhaps".to_owned()),
                    Value::Null => *value = serde_json::json!([]),
                    Value::Array(_) | Value::Object(_) => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
