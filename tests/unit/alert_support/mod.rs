//! A world around the alert engine: it takes readings and time, and gives mails. Tests that use it read
//! the mails that recipients got and the rows that page and commands show; `log` is for the explorers.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part

mod daemon;
mod fixtures;
mod inbox;
mod old_store;
mod provider;
mod steps;
mod stories;
mod world;

use crate::alert::{Event, Key, Severity, Started};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};

pub use daemon::Daemon;
pub use fixtures::*;
pub use stories::{stories, stories_of};
pub use world::World;

/// A mail at one attempt. Its bytes are this value as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mail {
    /// Its Message-ID.
    pub id: String,
    pub to: String,
    #[serde(deserialize_with = "read_form")]
    pub form: FormName,
    /// Whether the mail is as plain and short as it can be.
    #[serde(default)]
    pub is_light: bool,
    /// The incidents in the mail, worst first.
    pub items: Vec<Told>,
    /// The numbers that a first mail gives beside its items.
    pub started: Option<Started>,
}

/// One of `FORMS`.
pub type FormName = &'static str;

/// The forms of mails.
const FORMS: [FormName; 5] = ["started", "disconnect", "incidents", "summary", "digest"];

fn read_form<'de, D: Deserializer<'de>>(from: D) -> Result<FormName, D::Error> {
    let name = String::deserialize(from)?;
    let known = FORMS.into_iter().find(|form| *form == name);
    known.ok_or_else(|| serde::de::Error::custom(format!("no mail has the form {name}")))
}

/// One incident in a mail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    pub key: Key,
    pub event: Event,
    pub severity: Severity,
    /// The words of the subject line: `VM db-1 in error`.
    pub words: String,
    pub detail: String,
    pub reason: String,
    pub since: DateTime<Utc>,
    /// The time of the event: for an end, the time at which the incident was over.
    pub at: DateTime<Utc>,
    /// The Message-ID of the mail to which it replies.
    pub thread: Option<String>,
    pub covers: Vec<String>,
}

/// The mail server's answer to one attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Accept,
    /// 451 to this mail.
    Defer,
    /// The connection fails.
    Away,
    /// 550 to RCPT.
    RefuseRecipient,
    /// 554 to DATA.
    RefuseMail,
    /// 554 to DATA, which may be about us, but for a mail in its light form.
    Doubt,
    /// The same to every mail about VM 1, light or not.
    DoubtVm1,
    /// 413 to a post about several incidents.
    RefuseLong,
    /// The reply to DATA is lost; `arrived` says whether the mail arrived.
    LoseReply {
        arrived: bool,
    },
}

/// A mail that arrived.
#[derive(Clone, Debug)]
pub struct Received {
    pub at: DateTime<Utc>,
    pub mail: Mail,
}
