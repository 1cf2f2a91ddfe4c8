//! The lists of commands: incidents, mails, silences, made from rows of the store. JSON and terminal show the
//! same. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::incidents::IncidentList;
use super::{forms, words};
use crate::alert::{self, Debts, Event, Incident, Key, Silence};
use crate::model::mails::SentMail;
use crate::model::{AccountName, Collector, Language};
use crate::view::{IncidentRow, Status};

/// The time zones of accounts, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Zones(BTreeMap<AccountName, Tz>);

impl FromIterator<(AccountName, Tz)> for Zones {
    fn from_iter<I: IntoIterator<Item = (AccountName, Tz)>>(zones: I) -> Self {
        Self(zones.into_iter().collect())
    }
}

impl Zones {
    /// The zone of an account. An unknown account gets the zone that all accounts share.
    pub(crate) fn of(&self, account: &AccountName) -> Tz {
        self.0.get(account).copied().unwrap_or_else(|| self.common())
    }

    /// The zone for values that concern no single account: the one that all accounts share, otherwise UTC.
    pub(crate) fn common(&self) -> Tz {
        let mut zones = self.0.values();
        let first = zones.next().filter(|first| zones.all(|zone| zone == *first));
        first.copied().unwrap_or(Tz::UTC)
    }

    /// The zone of the account in a pattern of keys.
    fn of_pattern(&self, pattern: &str) -> Tz {
        let account = pattern.split_once('/').and_then(|(account, _)| account.parse().ok());
        account.map_or_else(|| self.common(), |account| self.of(&account))
    }
}

/// The answer of `hostwatch incidents`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentRecords {
    pub generated_at: DateTime<Utc>,
    pub time_zones: Zones,
    #[serde(flatten)]
    pub incidents: IncidentList,
}

impl IncidentRecords {
    /// The records, the worst first.
    pub(crate) fn of<'a>(
        rows: impl Iterator<Item = &'a IncidentRow>,
        zones: Zones,
        now: DateTime<Utc>,
    ) -> Self {
        Self { generated_at: now, time_zones: zones, incidents: IncidentList::of(rows, now) }
    }
}

/// The answer of `hostwatch outbox`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OutboxRecords {
    pub generated_at: DateTime<Utc>,
    pub time_zones: Zones,
    /// One a recipient; the one that waits longest comes first.
    pub owed: Vec<OwedRecord>,
    /// The latest first.
    pub sent: Vec<SentMail>,
}

/// The debts to one recipient, and the state of its deliveries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OwedRecord {
    pub recipient: String,
    pub since: DateTime<Utc>,
    pub events: Vec<OwedEvent>,
    /// The time since when the first mail is owed.
    pub first_mail_since: Option<DateTime<Utc>>,
    /// The time since when the digest is owed.
    pub digest_since: Option<DateTime<Utc>>,
    pub in_flight: Vec<MailOnItsWay>,
    /// The server's last answer, if it did not take the last mail.
    pub error: Option<String>,
    /// The time since when the server refuses the recipient.
    pub refused_since: Option<DateTime<Utc>>,
    /// The next attempt, if nothing changes before it.
    pub next_try: Option<DateTime<Utc>>,
    /// The time of a mail that may not have arrived: all replies to it were lost.
    #[serde(default)]
    pub unsure_since: Option<DateTime<Utc>>,
    /// The hourly limit holds back mails that are not about money.
    pub limited: bool,
}

/// One event that is owed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OwedEvent {
    pub key: Key,
    pub event: Option<String>,
    pub since: DateTime<Utc>,
}

/// A mail that was handed to the server, and has no answer yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MailOnItsWay {
    pub since: DateTime<Utc>,
    pub keys: Vec<Key>,
}

impl OutboxRecords {
    pub(crate) fn of(debts: &[Debts], sent: Vec<SentMail>, zones: Zones, now: DateTime<Utc>) -> Self {
        let mut owed: Vec<OwedRecord> = debts.iter().filter_map(OwedRecord::of).collect();
        owed.sort_by(|a, b| (a.since, &a.recipient).cmp(&(b.since, &b.recipient)));
        Self { generated_at: now, time_zones: zones, owed, sent }
    }
}

impl OwedRecord {
    /// Whether anything waits.
    pub(crate) fn is_owed(&self) -> bool {
        let mails = [self.first_mail_since, self.digest_since];
        !self.events.is_empty() || !self.in_flight.is_empty() || mails.iter().any(Option::is_some)
    }

    /// The record; `None` if nothing is owed.
    fn of(debts: &Debts) -> Option<Self> {
        let event = |(key, owed): &(Key, alert::Owed)| OwedEvent {
            key: key.clone(),
            event: owed.event.as_ref().map(Event::to_string),
            since: owed.since,
        };
        let mail =
            |(since, keys): &(DateTime<Utc>, Vec<Key>)| MailOnItsWay { since: *since, keys: keys.clone() };
        Some(Self {
            recipient: debts.recipient.clone(),
            since: debts.since().or(debts.unsure_since)?,
            events: debts.owed.iter().map(event).collect(),
            first_mail_since: debts.first,
            digest_since: debts.digest,
            in_flight: debts.in_flight.iter().map(mail).collect(),
            error: debts.error.clone(),
            refused_since: debts.refused_since,
            next_try: debts.next_try,
            unsure_since: debts.unsure_since,
            limited: debts.limited,
        })
    }
}

/// A silence that is on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SilenceRecord {
    pub id: i64,
    pub pattern: String,
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub time_zone: Tz,
    pub note: String,
    /// The open incidents that it silences.
    pub covers: Vec<Covered>,
}

/// An open incident that a silence covers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Covered {
    pub key: Key,
    pub title: String,
}

/// The answer of `hostwatch silence --list`. Silences that hold back the most come first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SilenceRecords {
    pub generated_at: DateTime<Utc>,
    pub silences: Vec<SilenceRecord>,
}

impl SilenceRecords {
    pub(crate) fn of<'a>(
        silences: &[Silence],
        incidents: impl Iterator<Item = &'a Incident>,
        zones: &Zones,
        now: DateTime<Utc>,
    ) -> Self {
        let open: Vec<&Incident> = incidents.filter(|incident| incident.phase.is_open()).collect();
        let record = |one: &Silence| {
            let covered = open.iter().filter(|incident| one.covers(&incident.key, incident.name()));
            SilenceRecord {
                id: one.id,
                pattern: one.pattern.clone(),
                since: one.at,
                until: one.until,
                time_zone: zones.of_pattern(&one.pattern),
                note: one.comment.clone(),
                covers: covered
                    .map(|incident| Covered {
                        key: incident.key.clone(),
                        title: words::capital(&forms::listed(incident, &Event::Opened, Language::En)),
                    })
                    .collect(),
            }
        };
        let mut silences: Vec<SilenceRecord> = silences.iter().map(record).collect();
        silences.sort_by_key(|one| (std::cmp::Reverse(one.covers.len()), one.until, one.id));
        Self { generated_at: now, silences }
    }
}

/// The answer of `hostwatch poll`: the status after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PolledRecords {
    pub status: Status,
    /// Collectors that did not finish in time.
    pub unfinished: Vec<(AccountName, Collector)>,
}
