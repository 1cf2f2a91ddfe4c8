//! The result of a route: status, headers and a payload, or an error with its fields. Sockets are elsewhere.

use super::options::ErrorBody;
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

    /// The refusal in the chosen error body.
    pub fn into_answer(self, shape: ErrorBody) -> Answer {
        let detail = || {
            let one =
                |(field, messages): (&String, &Vec<String>)| format!("{field}: {}", messages.join(", "));
            self.errors.iter().map(one).collect::<Vec<_>>().join("; ")
        };
        let mut answer = match shape {
            ErrorBody::Errors => Answer::json(self.status, &BTreeMap::from([("errors", &self.errors)])),
            ErrorBody::Detail => Answer::json(self.status, &BTreeMap::from([("detail", detail())])),
            ErrorBody::Text => Answer {
                payload: Payload::Text("text/plain; charset=utf-8", detail()),
                ..Answer::empty(self.status)
            },
            ErrorBody::Empty => Answer::empty(self.status),
        };
        answer.headers = self.headers;
        answer
    }
}

/// The result of a route.
pub(super) type Outcome = Result<Answer, Refusal>;
