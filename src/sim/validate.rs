//! Reads the fields of a request body, JSON or form, and collects everything wrong with them, by field.
//! Which fields there are is the routes' business.

use super::answer::Refusal;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The fields of a body and what is wrong with them so far.
pub(super) struct Fields {
    map: Map<String, Value>,
    form: bool,
    errors: BTreeMap<String, Vec<String>>,
}

impl Fields {
    /// Fields of a JSON body (section 4: hosting endpoints). An empty body has no fields.
    pub(super) fn json(body: &[u8]) -> Result<Fields, Refusal> {
        let empty = body.iter().all(u8::is_ascii_whitespace);
        let parsed = if empty { Ok(Value::Object(Map::new())) } else { serde_json::from_slice(body) };
        match parsed {
            Ok(Value::Object(map)) => Ok(Fields { map, form: false, errors: BTreeMap::new() }),
            Ok(_) => Err(Refusal::new(400, "body", "must be a JSON object")),
            Err(e) => Err(Refusal::new(400, "body", format!("is not JSON: {e}"))),
        }
    }

    /// Fields of a form-encoded body (section 4: VM endpoints).
    pub(super) fn form(body: &[u8]) -> Fields {
        let map = form_urlencoded::parse(body)
            .map(|(k, v)| (k.into_owned(), Value::String(v.into_owned())))
            .collect::<Map<_, _>>();
        Fields { map, form: true, errors: BTreeMap::new() }
    }

    /// Whether the field is there at all.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|v| !v.is_null())
    }

    /// Notes what is wrong with a field.
    pub(super) fn wrong(&mut self, name: &str, message: impl Into<String>) {
        self.errors.entry(name.to_owned()).or_default().push(message.into());
    }

    /// Notes `message` unless `good`.
    pub(super) fn check(&mut self, name: &str, good: bool, message: impl Into<String>) {
        if !good {
            self.wrong(name, message);
        }
    }

    fn required<T: Default>(&mut self, name: &str, got: Option<T>) -> T {
        if got.is_none() && !self.errors.contains_key(name) {
            self.wrong(name, "is required");
        }
        got.unwrap_or_default()
    }

    /// An optional string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.map.get(name)? {
            Value::Null => None,
            Value::String(s) => Some(s.clone()),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong(name, "must be a string");
                None
            }
        }
    }

    /// A required string that says something.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        let got = self.text(name);
        if got.as_deref().is_some_and(|s| s.trim().is_empty()) {
            self.wrong(name, "must not be empty");
        }
        self.required(name, got)
    }

    /// An optional whole number.
    pub(super) fn int(&mut self, name: &str) -> Option<i64> {
        let got = match self.map.get(name)? {
            Value::Null => return None,
            Value::Number(n) => n.as_i64(),
            Value::String(s) if self.form => s.trim().parse().ok(),
            Value::String(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if got.is_none() {
            self.wrong(name, "must be a whole number");
        }
        got
    }

    /// A required whole number.
    pub(super) fn required_int(&mut self, name: &str) -> i64 {
        let got = self.int(name);
        self.required(name, got)
    }

    /// An optional whole number within bounds.
    pub(super) fn int_within(&mut self, name: &str, low: i64, high: i64) -> Option<i64> {
        let got = self.int(name)?;
        self.check(name, (low..=high).contains(&got), format!("must be from {low} to {high}"));
        Some(got)
    }

    /// An optional whole number that null resets: Some(None) is null.
    pub(super) fn int_or_null(&mut self, name: &str) -> Option<Option<i64>> {
        match self.map.get(name)? {
            Value::Null => Some(None),
            Value::Number(_) | Value::String(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                self.int_within(name, 0, i64::from(u32::MAX)).map(Some)
            }
        }
    }

    /// An optional truth value; forms write it as true/false, 1/0, yes/no, on/off.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        let got = match self.map.get(name)? {
            Value::Null => return None,
            Value::Bool(b) => Some(*b),
            Value::String(s) if self.form => truth(s),
            Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if got.is_none() {
            self.wrong(name, "must be true or false");
        }
        got
    }

    /// An optional list of strings.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let value = self.map.get(name)?;
        if value.is_null() {
            return None;
        }
        let got: Option<Vec<String>> =
            value.as_array().and_then(|l| l.iter().map(|v| v.as_str().map(str::to_owned)).collect());
        if got.is_none() {
            self.wrong(name, "must be a list of strings");
        }
        got
    }

    /// An optional string out of a list of values.
    pub(super) fn one_of(&mut self, name: &str, values: &[&str]) -> Option<String> {
        let got = self.text(name)?;
        self.check(name, values.contains(&got.as_str()), format!("must be one of {}", values.join(", ")));
        Some(got)
    }

    /// A required string out of a list of values.
    pub(super) fn required_one_of(&mut self, name: &str, values: &[&str]) -> String {
        let got = self.one_of(name, values);
        self.required(name, got)
    }

    /// 400 with everything noted, or nothing.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(Refusal { status: 400, errors: self.errors, headers: Vec::new() })
    }
}

/// A truth value as forms write it.
pub(super) fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" | "" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_field_is_named_at_once() {
        let mut f = Fields::json(br#"{"name": 3, "quota": "12", "ok": true, "list": ["a", 1]}"#).unwrap();
        f.required_text("name");
        f.required_int("quota");
        f.required_int("memory_limit");
        f.texts("list");
        assert_eq!(f.flag("ok"), Some(true));
        let refusal = f.finish().unwrap_err();
        assert_eq!(refusal.status, 400);
        assert_eq!(refusal.errors.keys().collect::<Vec<_>>(), ["list", "memory_limit", "name", "quota"]);
    }

    #[test]
    fn forms_write_numbers_and_truth_as_text() {
        let mut f = Fields::form(b"storage_size=25&delete_storages=yes&title=a%20b");
        assert_eq!(f.required_int("storage_size"), 25);
        assert_eq!(f.flag("delete_storages"), Some(true));
        assert_eq!(f.required_text("title"), "a b");
        assert!(f.finish().is_ok());
    }
}
