//! The state of everything as one value, for the page and `/api/v1/status` (docs/api.md). Pure: snapshot,
//! incidents, query and time in, a value out.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::billing::Billing;
use super::headline::{Headline, Urgency};
use super::incident_rows::Alerting;
use super::incidents::{IncidentList, IncidentRow, Mails, soonest};
use super::links::Link;
use super::reader::Reader;
use super::resources::{Query, Resources};
use super::said::{Line, Topic};
use super::{troubles, words};
use crate::model::{AccountName, AccountState, Collector, Snapshot};

/// The daemon that answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub version: &'static str,
    pub commit: &'static str,
    pub started_at: DateTime<Utc>,
}

/// The state of everything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    pub generated_at: DateTime<Utc>,
    pub version: String,
    pub commit: String,
    pub started_at: DateTime<Utc>,
    /// The headline of the accounts that are shown.
    #[serde(rename = "verdict")]
    pub headline: Headline,
    /// The most urgent first.
    pub accounts: Vec<AccountStatus>,
    pub incidents: IncidentList,
    pub resources: Resources,
    pub mails: Mails,
    /// The difference between the daemon's clock and the provider's, in words; absent if they agree.
    pub clock: Option<String>,
}

/// One account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AccountStatus {
    pub name: AccountName,
    pub currency: String,
    pub time_zone: Tz,
    pub resources: usize,
    /// The account alone: problems of the daemon are not its own.
    #[serde(rename = "verdict")]
    pub headline: Headline,
    /// Absent if billing is off or was never read.
    pub billing: Option<Billing>,
    pub collectors: Vec<CollectorRow>,
    #[serde(skip)]
    pub pay: Option<Link>,
    #[serde(skip)]
    pub panel: Option<Link>,
    /// The owner's note about paying.
    #[serde(skip)]
    pub pay_note: Option<String>,
}

/// The state of a collector's polls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CollectorRow {
    pub collector: Collector,
    pub polls: u64,
    /// Absent before the first poll ended.
    pub success: Option<bool>,
    pub complete: Option<bool>,
    pub last_success: Option<DateTime<Utc>>,
    pub failing_since: Option<DateTime<Utc>>,
    pub error: Option<String>,
}

impl Status {
    /// The part of the daemon's state that `query` asks for.
    pub(crate) fn new(
        snapshot: &Snapshot,
        alerting: &Alerting,
        about: &About,
        query: &Query,
        reader: Reader,
    ) -> Self {
        let now = reader.now;
        let (all, rows) = (query.accounts(snapshot), query.incidents(alerting));
        let own = troubles::of(alerting, reader);
        let mut accounts: Vec<AccountStatus> =
            all.iter().map(|state| AccountStatus::of(state, &rows, reader)).collect();
        accounts.sort_by(|a, b| a.urgency().cmp(&b.urgency()));
        Self {
            generated_at: now,
            version: about.version.to_owned(),
            commit: about.commit.to_owned(),
            started_at: about.started_at,
            headline: Headline::of(&all, &rows, &own, reader),
            accounts,
            incidents: IncidentList::of(rows.into_iter(), now),
            resources: Resources::select(all.into_iter(), query, now),
            mails: alerting.mails.clone(),
            clock: alerting.clock.map(|(ahead, decides)| words::clock(ahead, decides, reader.language)),
        }
    }

    /// The words for an answer from a daemon that watches other accounts than these; `None` if it watches
    /// these.
    pub(crate) fn watches_others(&self, meant: &BTreeSet<AccountName>) -> Option<String> {
        let watched: BTreeSet<&AccountName> = self.accounts.iter().map(|account| &account.name).collect();
        let list = |names: Vec<&AccountName>| {
            let names: Vec<&str> = names.into_iter().map(AccountName::as_str).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        (watched != meant.iter().collect()).then(|| {
            let (its, ours) = (list(watched.into_iter().collect()), list(meant.iter().collect()));
            format!("The daemon that answers watches {its}, the configuration has {ours}")
        })
    }

    /// Puts a warning in front: the answer comes from a daemon with other accounts than the ones that were
    /// asked for.
    pub(crate) fn is_of_another(&mut self, sentence: &str) {
        let said = std::mem::replace(&mut self.headline.sentence, sentence.to_owned());
        self.headline.level = Urgency::Unknown;
        if self.headline.lines.iter().all(|line| line.text != said) {
            let line = Line { text: format!("It says: {said}"), topic: Topic::Reading, incident: None };
            self.headline.lines.insert(0, line);
        }
    }

    /// The zone of an account; UTC if it is not shown.
    pub(crate) fn zone_of(&self, account: &AccountName) -> Tz {
        let account = self.accounts.iter().find(|one| one.name == *account);
        account.map_or(Tz::UTC, |account| account.time_zone)
    }
}

impl AccountStatus {
    fn of(state: &AccountState, incidents: &[&IncidentRow], reader: Reader) -> Self {
        let profile = &state.profile;
        let own: Vec<&IncidentRow> =
            incidents.iter().copied().filter(|row| row.account == profile.name).collect();
        Self {
            name: profile.name.clone(),
            currency: profile.currency.clone(),
            time_zone: profile.zone(),
            resources: state.resource_count(),
            headline: Headline::of(&[state], &own, &[], reader),
            billing: Billing::of(state, &own, reader),
            collectors: profile.collectors.iter().map(|&one| CollectorRow::of(state, one)).collect(),
            pay: Link::pay(&profile.guide, reader.language),
            panel: Link::panel(&profile.guide, None, reader.language),
            pay_note: profile.guide.pay_note.clone(),
        }
    }

    fn urgency(&self) -> impl Ord + use<'_> {
        let cut_off = self.billing.as_ref().map(|billing| billing.disconnect);
        (self.headline.level, Reverse(self.headline.worst), soonest(cut_off), &self.name)
    }
}

impl CollectorRow {
    fn of(state: &AccountState, collector: Collector) -> Self {
        let status = state.collectors.get(&collector).cloned().unwrap_or_default();
        let polled = status.polls > 0;
        Self {
            collector,
            polls: status.polls,
            success: polled.then_some(status.success),
            complete: polled.then_some(status.complete),
            last_success: status.last_success,
            failing_since: status.failing_since,
            error: status.failure.map(|failure| failure.message),
        }
    }

    /// Whether the last poll read everything.
    pub(crate) fn is_well(&self) -> bool {
        self.success == Some(true) && self.complete == Some(true)
    }
}
