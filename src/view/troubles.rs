//! Problems of the daemon itself: undelivered mails, a store that fails. Pure.

use chrono::Duration;

use super::incident_rows::Alerting;
use super::incidents::Mails;
use super::reader::Reader;
use super::said::{Said, Topic};
use super::words;
use crate::model::{Language, sanitize, say};

/// The problem of a failing store, inside of a sentence.
pub(super) const fn store_fails(language: Language) -> &'static str {
    language.pick(
        "store cannot be written: what happens is kept in memory only, a restart loses it",
        "хранилище не записывается: всё держится только в памяти и пропадёт при перезапуске",
    )
}

/// A debt that is older than this counts as undelivered: on the page, in `status` and for the heartbeat.
pub(crate) const MAIL_WAITS_AT_MOST: Duration = Duration::minutes(10);

/// All problems, the worst first.
pub(super) fn of(alerting: &Alerting, reader: Reader) -> Vec<Said> {
    let store = alerting.store_fails.then(|| own(store_fails(reader.language), "", Topic::Store));
    waiting(&alerting.mails, reader).into_iter().chain(store).collect()
}

fn own(text: &str, more: &str, topic: Topic) -> Said {
    let more = if more.is_empty() { String::new() } else { sanitize::one_line(more, 160) };
    Said { more, ..Said::one(text, topic, None) }
}

/// Waiting mails. A refusal of the login, a recipient or a mail for good is a problem at once.
fn waiting(mails: &Mails, reader: Reader) -> Option<Said> {
    let Reader { language, now, .. } = reader;
    let outbox = mails.outbox.filter(|outbox| outbox.waiting() > 0)?;
    let oldest = outbox.oldest.filter(|&oldest| now - oldest > MAIL_WAITS_AT_MOST);
    let error = mails.server_error.as_ref();
    let is_refused = error.is_some_and(|error| error.refused) || outbox.refused > 0;
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let mails = language.count(number(outbox.waiting()), words::MAILS);
    let since = oldest.map_or_else(String::new, |oldest| {
        let span = reader.age(oldest);
        say!(language, " for {span}", " уже {span}")
    });
    let mut why = String::new();
    if outbox.refused > 0 && !error.is_some_and(|error| error.is_of_server) {
        let recipients = language.count(number(outbox.refused), words::RECIPIENTS);
        why = say!(language, ": the server refuses {recipients}", ": сервер не принимает {recipients}");
    }
    why += &error.map_or_else(String::new, |error| format!(": {}", error.error));
    let text = say!(language, "{mails} not delivered{since}", "не доставлено{since}: {mails}");
    (oldest.is_some() || is_refused).then(|| own(&text, &why, Topic::Mails))
}
