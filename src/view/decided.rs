//! The answers of commands that changed something. Pure.

use chrono::{DateTime, Utc};

use super::Reader;
use super::records::SilenceRecord;
use super::troubles::store_fails;
use super::words::capital;
use crate::alert::{CutOff, Key, Kind};
use crate::model::Language;
use crate::model::sanitize::one_line;

const NO_MAILS: &str = "nobody is mailed, as there is no [email], no webhook and no Telegram chat";

/// The answer if the daemon's store cannot be written.
pub(crate) fn in_memory(done: &str) -> String {
    format!("{done}\n{}", capital(store_fails(Language::En)))
}

/// The answer to `ack`; `cut_off` is set for a cut-off.
pub(crate) fn acknowledged(key: &Key, cut_off: Option<&CutOff>, mails: bool, now: DateTime<Utc>) -> String {
    let effect = if !mails {
        NO_MAILS
    } else if key.kind != Kind::Disconnect {
        "no more reminders, a mail when it is over"
    } else if cut_off.is_some_and(|cut_off| cut_off.is_overdue(now)) {
        "no reminders for 3 days; mails before the data are deleted, and when it is over"
    } else {
        "you will still be mailed as the date comes nearer"
    };
    format!("{key}: acknowledged; {effect}")
}

pub(crate) fn no_longer_acknowledged(key: &Key) -> String {
    format!("{key}: no longer acknowledged")
}

pub(crate) fn not_open(key: &Key) -> String {
    format!("{key} is not open; there is nothing to acknowledge")
}

/// The answer to `silence`, with a line for each covered incident.
pub(crate) fn silenced(one: &SilenceRecord, mails: bool, now: DateTime<Utc>) -> String {
    let until = Reader::english(one.time_zone, now).moment(one.until);
    let covers: Vec<String> = one
        .covers
        .iter()
        .map(|covered| format!("\n  {}  {}", covered.key, one_line(&covered.title, 80)))
        .collect();
    let covers = if covers.is_empty() { "\n  nothing that is open now".to_owned() } else { covers.concat() };
    let (id, pattern) = (one.id, &one.pattern);
    let what = match pattern.as_str() {
        "*" => "everything except cut-off mails".to_owned(),
        pattern => format!("no mail about '{pattern}'"),
    };
    if !mails {
        return format!("silence {id} until {until}: '{pattern}'; {NO_MAILS}{covers}");
    }
    format!(
        "silence {id} until {until}: {what}; problems that begin meanwhile and persist are mailed then{covers}"
    )
}

pub(crate) fn silence_ended(id: i64) -> String {
    format!("silence {id} ended; problems that it held back and that are still open are mailed now")
}

/// The answer to `outbox retry`, for one recipient or all.
pub(crate) fn tried_again(to: Option<&str>) -> String {
    let to = to.map_or_else(|| "all recipients".to_owned(), |to| one_line(to, 80));
    format!("nothing but a server's own pause holds mails to {to} back any more")
}

/// The answer to `outbox drop`, with a line for each incident that the recipient hears nothing more of.
pub(crate) fn dropped(to: &str, keys: &[Key]) -> String {
    let lines: String = keys.iter().map(|key| format!("\n  {key}")).collect();
    format!("no more mails to {}, until they begin anew, about:{lines}", one_line(to, 80))
}

pub(crate) fn nothing_owed(to: &str) -> String {
    format!("nothing of this is owed to {}; `hostwatch outbox` lists what is owed to whom", one_line(to, 80))
}
