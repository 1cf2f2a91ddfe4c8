//! "Am I all right?" in one sentence. Never says fine while something was not read: then it says what
//! is not known.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::incidents::IncidentRow;
use super::resources::{self, Health};
use super::words;
use crate::model::forecast::{self, Disconnect};
use crate::model::{AccountState, Collector};

/// How things stand; the order is that of urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Somebody has to act.
    Attention,
    /// Something is not known.
    Unknown,
    /// All that is wrong is known to somebody.
    Notice,
    Fine,
}

impl Level {
    /// A sign beside the sentence, so that colour is never alone.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Attention => "✕",
            Self::Unknown => "?",
            Self::Notice => "!",
            Self::Fine => "✓",
        }
    }
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verdict {
    pub level: Level,
    pub sentence: String,
    /// What the sentence is about, and what else is to be said; worst first.
    pub details: Vec<String>,
}

/// Judges accounts together. `incidents` are theirs.
pub(super) fn judge(
    accounts: &[&AccountState],
    incidents: &[&IncidentRow],
    lead_days: u32,
    now: DateTime<Utc>,
) -> Verdict {
    let several = accounts.len() > 1;
    let mut needs: Vec<String> = Vec::new();
    let mut waiting: Vec<&&IncidentRow> = incidents.iter().filter(|row| row.needs_you()).collect();
    waiting.sort_by_key(|row| (row.severity != "critical", row.since));
    needs.extend(waiting.iter().map(|row| row.title.clone()));
    needs.extend(accounts.iter().filter_map(|account| cut_off_untold(account, incidents, lead_days, now)));
    let unknown: Vec<String> = accounts.iter().flat_map(|account| not_known(account, several, now)).collect();
    let acknowledged = incidents.iter().filter(|row| row.is_open() && row.is_looked_after()).count();
    let tallies = accounts.iter().map(|account| resources::tally(account));
    let bad: usize = tallies.map(|tally| tally.get(&Health::Bad).copied().unwrap_or_default()).sum();

    let (level, sentence) = if !needs.is_empty() {
        let verb = if needs.len() == 1 { "needs" } else { "need" };
        (Level::Attention, format!("{} {verb} you", words::count(needs.len(), "thing", "things")))
    } else if let Some(first) = unknown.first() {
        let more =
            if unknown.len() > 1 { format!(" (and {} more)", unknown.len() - 1) } else { String::new() };
        (Level::Unknown, format!("Not known: {first}{more}"))
    } else if accounts.is_empty() {
        (Level::Unknown, "Not known: no account is configured".to_owned())
    } else if acknowledged > 0 {
        let known = words::count(acknowledged, "known problem", "known problems");
        (Level::Notice, format!("Nothing new needs you · {known}"))
    } else if bad > 0 {
        let verb = if bad == 1 { "is" } else { "are" };
        let resources = words::count(bad, "resource", "resources");
        (Level::Notice, format!("{resources} {verb} not well, with no open incident"))
    } else {
        let total: usize = accounts.iter().map(|account| account.resource_count()).sum();
        let all =
            if total == 1 { "1 resource fine".to_owned() } else { format!("All {total} resources fine") };
        let paid = paid_until(accounts, now).map(|paid| format!(" · {paid}")).unwrap_or_default();
        (Level::Fine, all + &paid)
    };
    let mut details = needs;
    details.extend(unknown.into_iter().map(|unknown| format!("Not known: {unknown}")));
    Verdict { level, sentence, details }
}

/// What of an account's state cannot be told. Empty only when every collector that sees a state has
/// read all of it, and recently.
fn not_known(account: &AccountState, several: bool, now: DateTime<Utc>) -> Vec<String> {
    let profile = &account.profile;
    let of = if several { format!(" of {}", profile.name) } else { String::new() };
    let zone = profile.zone();
    let seers = [
        (Collector::ExpectedBalance, "the balance"),
        (Collector::Vms, "the VMs"),
        (Collector::Containers, "the containers"),
        (Collector::Sites, "the sites"),
    ];
    let on = seers.into_iter().filter(|(collector, _)| profile.collectors.contains(collector));
    let mut unknown = Vec::new();
    let mut any = false;
    for (collector, what) in on {
        any = true;
        let status = account.collectors.get(&collector).cloned().unwrap_or_default();
        let old = |at: DateTime<Utc>| {
            let limit = profile.stale_after.get(&collector);
            limit.is_some_and(|&limit| (now - at).to_std().is_ok_and(|age| age > limit))
        };
        if status.polls == 0 {
            unknown.push(format!("{what}{of}, not read yet"));
        } else if !status.success {
            let since = status.failing_since.map(|at| words::moment(at, zone, now)).unwrap_or_default();
            let reason = status.failure.as_ref().map(|failure| failure.message.as_str()).unwrap_or("failed");
            unknown.push(format!("{what}{of}, polls have failed since {since}: {reason}"));
        } else if status.last_success.is_none_or(old) {
            unknown.push(format!("{what}{of}, not read for too long"));
        } else if !status.complete {
            unknown.push(format!("some of {what}{of}, the last poll did not get all"));
        }
    }
    if !any {
        unknown.push(format!("anything of {}, no collector that sees a state is on", profile.name));
    }
    if profile.collectors.contains(&Collector::Sites) {
        let read = |id| account.sites.get(id).is_some_and(|listing| listing.read_at.is_some());
        let missing = account.containers.rows.iter().filter(|container| !read(&container.id)).count();
        if missing > 0 {
            unknown.push(format!("the sites of {}{of}", words::count(missing, "container", "containers")));
        }
    }
    if let Some(report) = &account.billing.report
        && forecast::disconnect(report) == Disconnect::Unknown
    {
        unknown.push(format!("whether the account{of} will be cut off, the report does not tell"));
    }
    let odd = resources::tally(account).get(&Health::Unknown).copied().unwrap_or_default();
    if odd > 0 {
        let verb = if odd == 1 { "is" } else { "are" };
        let resources = words::count(odd, "resource", "resources");
        unknown.push(format!("how {resources}{of} {verb}, the state has no known meaning"));
    }
    unknown
}

/// A cut-off that is here or too near for comfort, and that no incident speaks of.
fn cut_off_untold(
    account: &AccountState,
    incidents: &[&IncidentRow],
    lead_days: u32,
    now: DateTime<Utc>,
) -> Option<String> {
    let name = account.profile.name.as_str();
    let told = |row: &&IncidentRow| row.account == name && row.kind == "disconnect" && row.is_open();
    if incidents.iter().any(told) {
        return None;
    }
    match forecast::disconnect(account.billing.report.as_deref()?) {
        Disconnect::Now => Some(format!("The balance of {name} is used up")),
        Disconnect::At { at, .. } if at <= now => Some(format!("{name} is overdue")),
        Disconnect::At { at, .. } if at <= now + chrono::Duration::days(i64::from(lead_days) + 1) => {
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
