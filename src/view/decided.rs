//! What a command says that it did. Pure.

use chrono::{DateTime, Utc};

use super::records::SilenceRecord;
use super::troubles::STORE_FAILS;
use super::words::{count, sentence_moment};
use crate::alert::{Incident, Key, Kind};
use crate::model::sanitize::one_line;

const NO_MAILS: &str =
    "nobody is mailed, as there is no [email] and no webhook, and it is forgotten when the daemon restarts";

/// What was done, where the daemon's store cannot be written.
pub(crate) fn in_memory(done: &str) -> String {
    format!("{done}\n{STORE_FAILS}")
}

pub(crate) fn acknowledged(incident: &Incident, now: DateTime<Utc>) -> String {
    let is_overdue = incident.ladder.as_ref().is_some_and(|ladder| ladder.is_overdue(now));
    let effect = if incident.key.kind != Kind::Disconnect {
        "no more reminders, a mail when it is over"
    } else if is_overdue {
        "no reminders for 3 days; mails before the data are deleted, and when it is over"
    } else {
        "you will still be mailed as the date comes nearer"
    };
    format!("{}: acknowledged; {effect}", incident.key)
}

/// Of an exporter only.
pub(crate) fn acknowledged_without_mails(key: &Key) -> String {
    format!("{key}: acknowledged; {NO_MAILS}")
}

pub(crate) fn no_longer_acknowledged(key: &Key) -> String {
    format!("{key}: no longer acknowledged")
}

pub(crate) fn not_open(key: &Key) -> String {
    format!("{key} is not open; there is nothing to acknowledge")
}

/// With what it covers, a line each.
pub(crate) fn silenced(one: &SilenceRecord, mails: bool, now: DateTime<Utc>) -> String {
    let until = sentence_moment(one.until, one.zone(), now);
    let covers: Vec<String> = one
        .covers
        .iter()
        .map(|covered| format!("\n  {}  {}", covered.key, one_line(&covered.title, 80)))
        .collect();
    let covers = if covers.is_empty() { "\n  nothing that is open now".to_owned() } else { covers.concat() };
    let (id, pattern) = (one.id, &one.pattern);
    if !mails {
        return format!("silence {id}: '{pattern}' until {until}; {NO_MAILS}{covers}");
    }
    format!(
        "silence {id}: no mail about '{pattern}' until {until}; problems that begin meanwhile and persist are mailed \
         then{covers}"
    )
}

pub(crate) fn silence_ended(id: i64) -> String {
    format!("silence {id} ended; what is still wrong is mailed now")
}

pub(crate) fn tried_again(mails: usize) -> String {
    format!("{} will be tried again now", count(mails, "mail", "mails"))
}

pub(crate) fn dropped(mails: usize) -> String {
    format!("{} dropped", count(mails, "mail", "mails"))
}
