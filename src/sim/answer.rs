//! The result of a route: status, headers and a payload, or an error with its fields. Sockets are elsewhere.

use super::world::report::Report;
use serde::Serialize;
use std::collections::BTreeMap;

/// Body of an answer.
#[derive(Debug)]
pub enum Payload {
    /// none (204)
    Empty,
    /// JSON, rendered
    Json(Vec<u8>),
    /// other text, with its type
    Text(&'static str, String),
    /// an expected-balance report, rendered while it is sent
    Report(Box<Report>),
}

/// An answer to one request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub payload: Payload,
}

impl Answer {
    /// A JSON answer.
    pub fn json(status: u16, body: &impl Serialize) -> Answer {
        // Our own records have string keys, and their serializers cannot fail.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Answer { status, headers: Vec::new(), payload: Payload::Json(body) }
    }

    /// An answer without a body.
    pub fn empty(status: u16) -> Answer {
        Answer { status, headers: Vec::new(), payload: Payload::Empty }
    }

    /// The answer with one more header.
    pub fn with(mut self, name: &'static str, value: String) -> Answer {
        self.headers.push((name, value));
        self
    }
}

/// A refusal: its code, and the errors by field ("" for the request as a whole).
#[derive(Debug, Default)]
pub struct Refusal {
    pub status: u16,
    pub errors: BTreeMap<String, Vec<String>>,
    pub headers: Vec<(&'static str, String)>,
}

impl Refusal {
    /// A refusal about one field.
    pub fn new(status: u16, field: &str, message: impl Into<String>) -> Refusal {
        let errors = BTreeMap::from([(field.to_owned(), vec![message.into()])]);
        Refusal { status, errors, headers: Vec::new() }
    }

    /// 404 for a named kind of resource (section 7).
    pub fn not_found(what: &str) -> Refusal {
        Refusal::new(404, what, format!("{what} not found"))
    }

    /// The refusal as an answer. Section 7 does not show the shape of its body.
    pub fn into_answer(self) -> Answer {
        let body = BTreeMap::from([("errors", &self.errors)]);
        Answer { headers: self.headers, ..Answer::json(self.status, &body) }
    }
}

/// The result of a route.
pub(super) type Outcome = Result<Answer, Refusal>;
