//! "Am I all right?" in one sentence. Never says fine while something was not read: then it says what
//! is not known.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::health::{Health, not_known};
use super::incidents::IncidentRow;
use super::words;
use crate::alert::{Kind, Severity};
use crate::model::AccountState;
use crate::model::forecast::{self, Disconnect};

/// How things stand. The numbers give the order of urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Urgency {
    /// Somebody has to act.
    Attention = 0,
    /// All that is wrong is known to somebody.
    Notice = 2,
    Fine = 3,
    /// Something is not known: also what an answer of a later version means by a word that this one does not
    /// know. Stands last because serde wants it there.
    #[serde(other)]
    Unknown = 1,
}

impl Urgency {
    /// A sign beside the sentence, so that colour is never alone.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Attention => "✕",
            Self::Unknown => "?",
            Self::Notice => "!",
            Self::Fine => "✓",
        }
    }
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Headline {
    pub level: Urgency,
    pub sentence: String,
    /// What the sentence is about, and what else is to be said; worst first.
    pub details: Vec<String>,
}

impl Headline {
    /// Of accounts together. `incidents` are theirs.
    pub(super) fn of(accounts: &[&AccountState], incidents: &[&IncidentRow], now: DateTime<Utc>) -> Self {
        let several = accounts.len() > 1;
        let mut waiting: Vec<&&IncidentRow> = incidents.iter().filter(|row| row.needs_you()).collect();
        waiting.sort_by_key(|row| (row.severity != Severity::Critical, row.since));
        let mut needs: Vec<String> = waiting.iter().map(|row| row.title.clone()).collect();
        needs.extend(accounts.iter().filter_map(|account| cut_off_untold(account, incidents, now)));
        let unknown: Vec<String> =
            accounts.iter().flat_map(|account| not_known(account, several, now)).collect();

        let (level, sentence) = if !needs.is_empty() {
            let verb = if needs.len() == 1 { "needs" } else { "need" };
            (Urgency::Attention, format!("{} {verb} you", words::count(needs.len(), "thing", "things")))
        } else if let Some(first) = unknown.first() {
            let more =
                if unknown.len() > 1 { format!(" (and {} more)", unknown.len() - 1) } else { String::new() };
            (Urgency::Unknown, format!("Not known: {first}{more}"))
        } else if accounts.is_empty() {
            (Urgency::Unknown, "Not known: no account is configured".to_owned())
        } else {
            nothing_needed(accounts, incidents, now)
        };
        let mut details = needs;
        details.extend(unknown.into_iter().map(|unknown| format!("Not known: {unknown}")));
        Self { level, sentence, details }
    }
}

/// The sentence where everything is known and nobody is needed.
fn nothing_needed(
    accounts: &[&AccountState],
    incidents: &[&IncidentRow],
    now: DateTime<Utc>,
) -> (Urgency, String) {
    let acknowledged = incidents.iter().filter(|row| row.is_open() && row.is_looked_after()).count();
    if acknowledged > 0 {
        let known = words::count(acknowledged, "known problem", "known problems");
        return (Urgency::Notice, format!("Nothing new needs you · {known}"));
    }
    let bad: usize = accounts.iter().map(|account| Health::Bad.count(account)).sum();
    if bad > 0 {
        let verb = if bad == 1 { "is" } else { "are" };
        let resources = words::count(bad, "resource", "resources");
        return (Urgency::Notice, format!("{resources} {verb} not well, with no open incident"));
    }
    let total: usize = accounts.iter().map(|account| account.resource_count()).sum();
    let all = if total == 1 { "1 resource fine".to_owned() } else { format!("All {total} resources fine") };
    let paid = paid_until(accounts, now).map(|paid| format!(" · {paid}")).unwrap_or_default();
    (Urgency::Fine, all + &paid)
}

/// A cut-off that is here or too near for comfort, and that no incident speaks of.
fn cut_off_untold(account: &AccountState, incidents: &[&IncidentRow], now: DateTime<Utc>) -> Option<String> {
    let name = &account.profile.name;
    let told = |row: &&IncidentRow| row.account == *name && row.kind == Kind::Disconnect && row.is_open();
    if incidents.iter().any(told) {
        return None;
    }
    let near = chrono::Duration::days(i64::from(account.profile.lead_days) + 1);
    match forecast::disconnect(account.billing.report.as_deref()?) {
        Disconnect::Now => Some(format!("The balance of {name} is used up")),
        Disconnect::At { at, .. } if at <= now => Some(format!("{name} is overdue")),
        Disconnect::At { at, .. } if at <= now + near => {
            Some(format!("{name} is cut off on {}", words::moment(at, account.profile.zone(), now)))
        }
        Disconnect::At { .. } | Disconnect::NotExpected | Disconnect::Unknown => None,
    }
}

/// Until when every account is paid; a report that names no date vouches only for its own span.
fn paid_until(accounts: &[&AccountState], now: DateTime<Utc>) -> Option<String> {
    let dates = accounts.iter().filter_map(|account| {
        let report = account.billing.report.as_deref()?;
        let zone = account.profile.zone();
        match forecast::disconnect(report) {
            Disconnect::At { at, .. } => Some((at, zone, "")),
            Disconnect::NotExpected => Some((report.date?, zone, " at least")),
            Disconnect::Now | Disconnect::Unknown => None,
        }
    });
    let (at, zone, least) = dates.min_by_key(|(at, _, _)| *at)?;
    Some(format!("paid until {}{least}", words::day(at, zone, now)))
}
