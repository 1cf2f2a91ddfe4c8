//! What is wrong with the daemon itself: mails that do not get out, a store that is not kept. Pure.

use chrono::{DateTime, Duration, Utc};

use super::incidents::{Alerting, GivenUpMails, Mails};
use super::said::{Said, Topic};
use super::words;
use crate::model::{AccountName, sanitize};

/// A mail that waits for longer than this is not being delivered.
const MAIL_WAITS_AT_MOST: Duration = Duration::minutes(30);
/// One that was given up and of which nobody can be told is shown for so long.
const GIVEN_UP_COUNTS: Duration = Duration::days(7);

/// The worst first. Where one account is judged alone, without the mails about others.
pub(super) fn of(alerting: &Alerting, account: Option<&AccountName>, now: DateTime<Utc>) -> Vec<Said> {
    let mails = &alerting.mails;
    let mut said = Vec::new();
    said.extend(waiting(mails, now));
    let last = match account {
        Some(account) => mails.given_up_of.get(account),
        None => mails.given_up.as_ref(),
    };
    said.extend(given_up(mails, last, now));
    if alerting.store_fails {
        let text = "Store cannot be written: what happens is kept in memory only, a restart loses it";
        said.push(own(text, "", Topic::Store));
    }
    said
}

fn own(text: &str, more: &str, topic: Topic) -> Said {
    Said { more: sanitize::one_line(more, 160), ..Said::one(text, topic, None) }
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

fn given_up(mails: &Mails, last: Option<&GivenUpMails>, now: DateTime<Utc>) -> Option<Said> {
    mails.outbox?;
    let last = last.filter(|last| now - last.at < GIVEN_UP_COUNTS)?;
    let count = words::count(usize::try_from(last.count).unwrap_or(usize::MAX), "mail", "mails");
    let more = format!(", the last to {}: {}", last.recipient, last.error);
    Some(own(&format!("{count} given up"), &more, Topic::Mails))
}
