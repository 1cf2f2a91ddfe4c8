//! The knowledge of each recipient, from the mails of release 0.2 that surely arrived. The events of all other
//! mails are owed.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use rusqlite::Connection;

use super::super::StoreError;
use super::super::rows::Columns as _;
use super::old::OldIncident;
use super::truth::key_now;
use crate::alert::{Event, Incident, Key, Kind, Money, Notified, Owed, Told, Value, What};

/// An end that could not be mailed for this long lapses.
const ENDS_LAPSE: Duration = Duration::days(7);

/// The mails in the order in which they were made, and whether they arrived. A digest tells of no event.
const MAILS: &str = "
SELECT e.recipient, m.message_id, coalesce(e.ended_at, m.created_at), m.told,
  (SELECT json_group_object(n.incident, n.episode) FROM news n WHERE n.message_id = m.message_id), e.state = 'sent'
FROM envelopes e JOIN messages m USING (message_id) WHERE e.state <> 'withdrawn' AND m.lane <> 2 ORDER BY e.id";

/// A line of a mail.
struct Line<'a> {
    event: &'a Event,
    episode: u32,
    message_id: &'a str,
    at: DateTime<Utc>,
}

/// The entries of the notification log.
pub(super) fn entries(
    connection: &Connection,
    old: &BTreeMap<Key, OldIncident>,
    incidents: &BTreeMap<Key, Incident>,
    now: DateTime<Utc>,
) -> Result<BTreeMap<(Key, String), Notified>, StoreError> {
    let mut entries: BTreeMap<(Key, String), Notified> = BTreeMap::new();
    for ((key, to), mut entry) in mailed(connection, old)? {
        let now_true = incidents.get(&key_now(&key));
        let (Some(before), Some(incident)) = (old.get(&key), now_true) else { continue };
        let has_lapsed = incident.ended.is_some_and(|ended| now - ended > ENDS_LAPSE);
        let told = &mut entry.told;
        of_incident(told, before, &to);
        if let Value::Failing(all) = &incident.value {
            if !told.is_open() {
                continue;
            }
            // A recipient that was told of one failing collector knows the incident that all of them are now.
            (told.episode, told.severity) = (incident.episode, Some(incident.severity));
            told.set = all.keys().map(|collector| collector.as_str().to_owned()).collect();
            entry.owed = None;
        }
        if !has_lapsed {
            entries.entry((incident.key.clone(), to)).or_insert(entry);
        }
    }
    Ok(entries)
}

/// The knowledge of each recipient of each incident, and the debts to it.
fn mailed(
    connection: &Connection,
    old: &BTreeMap<Key, OldIncident>,
) -> Result<BTreeMap<(Key, String), Notified>, StoreError> {
    let mut all: BTreeMap<(Key, String), Notified> = BTreeMap::new();
    let mut statement = connection.prepare(MAILS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (to, message_id, at) = (recipient(&row.text(0)?), row.text(1)?, row.moment(2)?);
        let (lines, episodes): (Vec<(Key, String)>, BTreeMap<String, u32>) = (row.json(3)?, row.json(4)?);
        let has_arrived: bool = row.get(5)?;
        for (key, text) in lines {
            // This release has no mail of what else follows from an incident, and a flapping one is open.
            let event = if text == "flapping" { Ok(Event::Opened) } else { text.parse() };
            let (Ok(event), Some(incident)) = (event, old.get(&key)) else { continue };
            let episode = episodes.get(&key.to_string()).copied().unwrap_or_default();
            let entry = all.entry((key, to.clone())).or_default();
            if has_arrived {
                let line = Line { event: &event, episode, message_id: &message_id, at };
                let told = after(std::mem::take(&mut entry.told), &line, incident);
                *entry = Notified { told, ..Notified::default() };
            } else {
                let new = Owed { since: at, episode, began: incident.since, event: None, event_since: at };
                entry.owed.get_or_insert(new);
            }
        }
    }
    Ok(all)
}

/// A recipient as the notification log names it: a bare address with its domain in lower case.
fn recipient(mailbox: &str) -> String {
    let bare = mailbox.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>')).unwrap_or(mailbox);
    match bare.rsplit_once('@') {
        Some((local, domain)) => format!("{local}@{}", domain.to_lowercase()),
        None => bare.to_owned(),
    }
}

/// A recipient's knowledge after one more line.
fn after(mut told: Told, line: &Line<'_>, incident: &OldIncident) -> Told {
    let &Line { event, episode, message_id, at } = line;
    if event.is_end() {
        return Told { what: What::Over, episode, at, money: Money::default(), ..told };
    }
    if !told.knows(episode) {
        told = Told {
            what: What::Wrong,
            episode,
            began: at,
            by_first_mail: *event == Event::Started,
            thread: Some(message_id.to_owned()),
            ..Told::default()
        };
    }
    told.at = at;
    if let Event::Reminder(count) = event {
        told.reminders = *count;
    }
    if incident.key.kind == Kind::Disconnect {
        tell_money(&mut told.money, event, at, incident);
    }
    told
}

/// Takes in what a mail told of the cut-off.
#[allow(clippy::wildcard_enum_match_arm)] // the others say nothing of the date
fn tell_money(money: &mut Money, event: &Event, at: DateTime<Utc>, incident: &OldIncident) {
    let ladder = incident.ladder();
    money.date = ladder.told;
    // A mail that names a date needs no other mail of the rung that the date was on. Of the two dates that were
    // mailed last, the later one never hides a rung.
    let of_date = ladder.told.max(ladder.told_before).map(|date| {
        // A period of 24 hours that has begun counts as a whole one.
        let begun = date - at + Duration::days(1) - Duration::nanoseconds(1);
        u32::try_from(begun.num_days()).unwrap_or(0)
    });
    match event {
        Event::Rung(rung) => (money.rung, money.tightest) = (Some(*rung), Some((*rung, at))),
        Event::Escalated => (money.rung, money.tightest) = (of_date, of_date.map(|rung| (rung, at))),
        Event::Extended(_) | Event::Paid(_) => {
            (money.rung, money.used_up, money.deletion) = (of_date, false, None);
            let moved_at =
                if matches!(event, Event::Paid(_)) { &mut money.paid_at } else { &mut money.extended_at };
            *moved_at = Some(at);
        }
        Event::BalanceUsedUp => money.used_up = true,
        Event::Deletion(left) => money.deletion = Some(*left),
        _ => {}
    }
}

/// Takes in notes of the old incident that concern all its recipients.
fn of_incident(told: &mut Told, incident: &OldIncident, to: &str) {
    told.severity = Some(incident.severity).filter(|_| told.is_open());
    if told.knows(incident.episode) {
        told.by_first_mail |= incident.pre_existing;
        let thread = incident.threads.iter().find(|(mailbox, _)| recipient(mailbox) == to);
        told.thread = thread.map(|(_, id)| id.clone()).or(told.thread.take());
    }
}
