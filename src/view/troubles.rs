//! What is wrong with the daemon itself: mails that do not get out, a store that is not kept. Pure.

use chrono::{DateTime, Duration, Utc};

use super::incident_rows::Alerting;
use super::incidents::Mails;
use super::said::{Said, Topic};
use super::words;
use crate::model::sanitize;

pub(super) const STORE_FAILS: &str =
    "Store cannot be written: what happens is kept in memory only, a restart loses it";

/// A mail that waits for longer than this is not being delivered.
const MAIL_WAITS_AT_MOST: Duration = Duration::minutes(30);
/// One that was given up and of which nobody can be told is shown for so long.
const GIVEN_UP_COUNTS: Duration = Duration::days(7);

/// The worst first. `mails` are those that the judged accounts are concerned by.
pub(super) fn of(alerting: &Alerting, mails: &Mails, now: DateTime<Utc>) -> Vec<Said> {
    let mut said = of_mails(mails, now);
    if alerting.store_fails {
        said.push(own(STORE_FAILS, "", Topic::Store));
    }
    said
}

/// Of mails alone.
pub(super) fn of_mails(mails: &Mails, now: DateTime<Utc>) -> Vec<Said> {
    waiting(mails, now).into_iter().chain(given_up(mails, now)).collect()
}

fn own(text: &str, more: &str, topic: Topic) -> Said {
    let more = if more.is_empty() { String::new() } else { sanitize::one_line(more, 160) };
    Said { more, ..Said::one(text, topic, None) }
}

/// At once where the server refuses the login or the sender for good.
fn waiting(mails: &Mails, now: DateTime<Utc>) -> Option<Said> {
    let outbox = mails.outbox.filter(|outbox| outbox.waiting() > 0)?;
    let oldest = outbox.oldest.filter(|&oldest| now - oldest > MAIL_WAITS_AT_MOST);
    let refused = mails.server_error.as_ref().filter(|error| error.refused);
    let count = words::count(usize::try_from(outbox.waiting()).unwrap_or(usize::MAX), "mail", "mails");
    let since = oldest.map(|oldest| format!(" for {}", words::lasted(now - oldest))).unwrap_or_default();
    let why = mails.server_error.as_ref().map(|error| format!(": {}", error.error)).unwrap_or_default();
    let text = format!("{count} not delivered{since}");
    (oldest.is_some() || refused.is_some()).then(|| own(&text, &why, Topic::Mails))
}

fn given_up(mails: &Mails, now: DateTime<Utc>) -> Option<Said> {
    mails.outbox?;
    let last = mails.given_up.as_ref().filter(|last| now - last.at < GIVEN_UP_COUNTS)?;
    let count = words::count(usize::try_from(last.count).unwrap_or(usize::MAX), "mail", "mails");
    let more = format!(", the last to {}: {}", last.recipient, last.error);
    Some(own(&format!("{count} given up"), &more, Topic::Mails))
}
