//! The knowledge of each recipient, from the mails of release 0.2. A waiting mail told nobody anything: its
//! events are owed. A mail whose reply was lost may have told them.

use chrono::{DateTime, Duration, Utc};

use super::incident;
use super::money;
use super::old::{Fate, OldIncident, recipient};
use super::telling::Telling;
use crate::alert::{Event, Kind, Severity};
use crate::alert::{Hold, Notified, Owed, Told, What};

/// An end that could not be mailed for this long lapses.
const ENDS_LAPSE: Duration = Duration::days(7);

/// A recipient's knowledge of an incident after these mails, the oldest first.
pub(super) fn entry(
    incident: &OldIncident,
    to: &str,
    tellings: &[Telling<'_>],
    now: DateTime<Utc>,
) -> Notified {
    let mut entry = Notified::default();
    for telling in tellings {
        let before = entry.told.clone();
        match telling.fate {
            Fate::Arrived => entry = Notified { told: after(before, telling), ..Notified::default() },
            Fate::OnItsWay | Fate::Perhaps => entry.told = after(before, telling),
            Fate::Dropped => {
                let dropped = (incident.key.kind != Kind::Disconnect).then_some(telling.item.episode);
                entry = Notified { told: after(before, telling), dropped, ..Notified::default() };
            }
            Fate::Waits => {
                entry.owed.get_or_insert_with(|| telling.owed(incident));
            }
            Fate::Refused => {
                entry.owed.get_or_insert_with(|| telling.owed(incident));
                let mut hold = Hold::after(entry.refused, telling.mail.made_at);
                hold.since = telling.mail.ended_at.unwrap_or(hold.since);
                entry.refused = Some(hold);
            }
        }
    }
    of_incident(&mut entry, incident, to, tellings);
    settle_end(&mut entry, incident, now);
    entry
}

#[allow(clippy::wildcard_enum_match_arm)] // the others say that it is wrong
fn after(mut told: Told, telling: &Telling<'_>) -> Told {
    let (event, episode, at) = (&telling.item.event, telling.item.episode, telling.at());
    if event.is_end() {
        return Told { what: What::Over, episode, at, money: crate::alert::Money::default(), ..told };
    }
    if !told.knows(episode) {
        told = Told {
            what: What::Wrong,
            episode,
            began: at,
            by_first_mail: *event == Event::Started,
            thread: Some(telling.mail.id.clone()),
            ..Told::default()
        };
    }
    told.at = at;
    if let Event::Reminder(count) = event {
        told.reminders = *count;
    }
    told
}

/// Takes in notes of the old incident that concern all its recipients.
fn of_incident(entry: &mut Notified, incident: &OldIncident, to: &str, tellings: &[Telling<'_>]) {
    let told = &mut entry.told;
    if told.is_open() {
        told.severity = Some(incident.severity);
    }
    if told.episode != incident.episode || told.what == What::Nothing {
        return;
    }
    told.arming = incident.arming;
    if !told.is_open() {
        return;
    }
    told.by_first_mail |= incident.pre_existing;
    let thread = incident.threads.iter().find(|(mailbox, _)| recipient(mailbox) == to);
    told.thread = thread.map(|(_, id)| id.clone()).or(told.thread.take());
    if incident.key.kind == Kind::Disconnect {
        told.money = money::told(incident, tellings);
        let is_near = incident.severity == Severity::Critical || told.money.rung == Some(0);
        told.severity = Some(if is_near { Severity::Critical } else { incident.severity });
    }
}

/// Owes the end of an incident that was told, since its end. An end of long ago lapses.
fn settle_end(entry: &mut Notified, incident: &OldIncident, now: DateTime<Utc>) {
    let now_true = incident::incident(incident);
    entry.owed.iter_mut().for_each(|owed| owed.episode = owed.episode.min(now_true.episode));
    let Some(ended) = now_true.ended.filter(|_| entry.told.is_open()) else { return };
    let (episode, began) = (now_true.episode, incident.since);
    let new = || Owed { since: ended, episode, began, event: None, event_since: ended };
    let owed = entry.owed.get_or_insert_with(new);
    if now - owed.since.min(ended) > ENDS_LAPSE {
        entry.told.what = What::Over;
        entry.owed = None;
    }
}
