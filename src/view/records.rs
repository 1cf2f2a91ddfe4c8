//! What commands list: incidents, mails, silences. Made from rows of the store; the same as JSON and on the terminal.
//! Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::incidents::IncidentList;
use super::words;
use crate::alert::{Incident, Key, Muted, Silence};
use crate::model::mails::MailRecord;
use crate::model::{AccountName, Collector};
use crate::view::{IncidentRow, Status};

/// The zones of accounts, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Zones(BTreeMap<AccountName, String>);

impl FromIterator<(AccountName, Tz)> for Zones {
    fn from_iter<I: IntoIterator<Item = (AccountName, Tz)>>(zones: I) -> Self {
        Self(zones.into_iter().map(|(account, zone)| (account, zone.name().to_owned())).collect())
    }
}

impl Zones {
    /// The zone of an account; the one that all share where it is not among them.
    pub(crate) fn of(&self, account: &AccountName) -> Tz {
        self.0.get(account).map_or_else(|| self.common(), |name| words::zone_named(name))
    }

    /// The zone of what is about no account in particular: the one that all have, else UTC.
    pub(crate) fn common(&self) -> Tz {
        let mut names = self.0.values();
        let first = names.next().filter(|first| names.all(|name| name == *first));
        first.map_or(Tz::UTC, |name| words::zone_named(name))
    }

    /// The zone of the account that a pattern of keys names.
    fn of_pattern(&self, pattern: &str) -> Tz {
        let account = pattern.split_once('/').and_then(|(account, _)| account.parse().ok());
        account.map_or_else(|| self.common(), |account| self.of(&account))
    }
}

/// `hostwatch incidents`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentRecords {
    pub generated_at: DateTime<Utc>,
    pub time_zones: Zones,
    #[serde(flatten)]
    pub incidents: IncidentList,
}

impl IncidentRecords {
    /// The worst first.
    pub(crate) fn of(known: &[Incident], muted: &Muted, zones: Zones, now: DateTime<Utc>) -> Self {
        let rows: Vec<IncidentRow> =
            known.iter().filter_map(|incident| IncidentRow::of(incident, muted, now)).collect();
        Self::of_rows(rows.iter(), zones, now)
    }

    pub(crate) fn of_rows<'a>(
        rows: impl Iterator<Item = &'a IncidentRow>,
        zones: Zones,
        now: DateTime<Utc>,
    ) -> Self {
        Self { generated_at: now, time_zones: zones, incidents: IncidentList::of(rows, now) }
    }
}

/// `hostwatch outbox`: what was given up, what waits, then the latest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OutboxRecords {
    pub generated_at: DateTime<Utc>,
    pub time_zones: Zones,
    pub mails: Vec<MailRecord>,
}

/// A silence that is on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SilenceRecord {
    pub id: i64,
    pub pattern: String,
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub time_zone: String,
    pub note: String,
    /// What is open and silenced by it.
    pub covers: Vec<Covered>,
}

/// An open incident that a silence covers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Covered {
    pub key: Key,
    pub title: String,
}

impl SilenceRecord {
    /// The zone of its dates.
    pub(crate) fn zone(&self) -> Tz {
        words::zone_named(&self.time_zone)
    }
}

/// `hostwatch silence --list`: those that keep the most back first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SilenceRecords {
    pub generated_at: DateTime<Utc>,
    pub silences: Vec<SilenceRecord>,
}

impl SilenceRecords {
    pub(crate) fn of(silences: &[Silence], known: &[Incident], zones: &Zones, now: DateTime<Utc>) -> Self {
        let open: Vec<&Incident> = known.iter().filter(|incident| incident.phase.is_open()).collect();
        let record = |one: &Silence| {
            let covered = open.iter().filter(|incident| one.covers(&incident.key, incident.name()));
            SilenceRecord {
                id: one.id,
                pattern: one.pattern.clone(),
                since: one.at,
                until: one.until,
                time_zone: zones.of_pattern(&one.pattern).name().to_owned(),
                note: one.comment.clone(),
                covers: covered
                    .map(|incident| Covered { key: incident.key.clone(), title: incident.words_now() })
                    .collect(),
            }
        };
        let mut silences: Vec<SilenceRecord> = silences.iter().map(record).collect();
        silences.sort_by_key(|one| (std::cmp::Reverse(one.covers.len()), one.until, one.id));
        Self { generated_at: now, silences }
    }
}

/// `hostwatch poll`: how things stand after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PolledRecords {
    pub status: Status,
    /// What was not read in time.
    pub unfinished: Vec<(AccountName, Collector)>,
}
