//! The lists of commands: incidents, mails, silences, made from rows of the store. JSON and terminal show the
//! same. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::cards::NamedIncident;
use super::incidents::IncidentList;
use super::{forms, words};
use crate::alert::{Debts, Event, Incident, Silence};
use crate::model::mails::SentMail;
use crate::model::{AccountName, Language};

/// The time zones of accounts, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Zones(pub(crate) BTreeMap<AccountName, Tz>);

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

/// The answer of `hostwatch outbox`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OutboxRecords {
    pub generated_at: DateTime<Utc>,
    pub time_zones: Zones,
    /// One a recipient; the one that waits longest comes first.
    pub owed: Vec<Debts>,
    /// The latest first.
    pub sent: Vec<SentMail>,
}

impl OutboxRecords {
    pub(crate) fn of(debts: &[Debts], sent: Vec<SentMail>, zones: Zones, now: DateTime<Utc>) -> Self {
        let mut owed: Vec<Debts> = debts.iter().filter(|one| one.since.is_some()).cloned().collect();
        owed.sort_by(|a, b| (a.since, &a.recipient).cmp(&(b.since, &b.recipient)));
        Self { generated_at: now, time_zones: zones, owed, sent }
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
    pub covers: Vec<NamedIncident>,
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
                    .map(|incident| NamedIncident {
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
