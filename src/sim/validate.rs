//! Reads the fields of a request body, JSON or form, and collects all errors by field. The routes know the
//! fields.

use super::answer::Refusal;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The fields of a body, and the errors so far.
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

    /// Whether the field is there and not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|v| !v.is_null())
    }

    /// Notes an error of a field.
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

    /// The value of a field that is there and not null, converted by `read`.
    fn read<T>(&mut self, name: &str, due: &str, read: impl Fn(&Value, bool) -> Option<T>) -> Option<T> {
        let got = read(self.map.get(name).filter(|value| !value.is_null())?, self.form);
        self.check(name, got.is_some(), format!("must be {due}"));
        got
    }

    /// An optional string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.read(name, "a string", |value, _| value.as_str().map(str::to_owned))
    }

    /// A required string that is not blank.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        let got = self.text(name);
        if got.as_deref().is_some_and(|s| s.trim().is_empty()) {
            self.wrong(name, "must not be empty");
        }
        self.required(name, got)
    }

    /// An optional whole number.
    pub(super) fn int(&mut self, name: &str) -> Option<i64> {
        self.read(name, "a whole number", |value, form| {
            value.as_i64().or_else(|| value.as_str().filter(|_| form)?.trim().parse().ok())
        })
    }

    /// A required whole number.
    pub(super) fn required_int(&mut self, name: &str) -> i64 {
        let got = self.int(name);
        self.required(name, got)
    }

    /// An optional whole number within limits.
    pub(super) fn int_within(&mut self, name: &str, low: i64, high: i64) -> Option<i64> {
        let got = self.int(name)?;
        self.check(name, (low..=high).contains(&got), format!("must be from {low} to {high}"));
        Some(got)
    }

    /// An optional whole number that null resets: `Some(None)` is null.
    pub(super) fn int_or_null(&mut self, name: &str) -> Option<Option<i64>> {
        if self.map.get(name)?.is_null() {
            return Some(None);
        }
        self.int_within(name, 0, i64::from(u32::MAX)).map(Some)
    }

    /// An optional truth value. Forms write it as true/false, 1/0, yes/no, on/off.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        self.read(name, "true or false", |value, form| {
            value.as_bool().or_else(|| truth(value.as_str().filter(|_| form)?))
        })
    }

    /// An optional list of strings.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        self.read(name, "a list of strings", |value, _| {
            value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        })
    }

    /// An optional string from a list of values.
    pub(super) fn one_of(&mut self, name: &str, values: &[&str]) -> Option<String> {
        let got = self.text(name)?;
        self.check(name, values.contains(&got.as_str()), format!("must be one of {}", values.join(", ")));
        Some(got)
    }

    /// A required string from a list of values.
    pub(super) fn required_one_of(&mut self, name: &str, values: &[&str]) -> String {
        let got = self.one_of(name, values);
        self.required(name, got)
    }

    /// 400 with all errors, if there are any.
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
