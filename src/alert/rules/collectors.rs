//! What the end of a poll says of the collector, its credentials and the report. Pure.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Finding, Verdict, clean};
use crate::alert::key::{Key, Target};
use crate::alert::kind::Kind;
use crate::alert::settings::AlertSettings;
use crate::model::freshness::{has_looked, state_collectors};
use crate::model::{AccountState, Collector, CollectorStatus, FailureKind};

/// What the end of a poll says about the collector and its credentials.
pub(crate) fn judge_collector(
    state: &AccountState,
    collector: Collector,
    settings: &AlertSettings,
    now: DateTime<Utc>,
) -> Vec<Finding> {
    let Some(status) = state.collectors.get(&collector) else { return Vec::new() };
    let failure = status.failure.as_ref();
    let kind = failure.map(|failure| failure.kind);
    let detail = failure.map_or_else(|| "answers again".to_owned(), |failure| clean(&failure.message, 300));
    let group = collector.group();
    let accepted = works_elsewhere(state, collector, now);
    let finding = |kind: Kind, target: Target, verdict, subject| {
        let (key, detail) = (Key::new(&state.profile.name, kind, target), detail.clone());
        Finding { key, verdict, subject, detail }
    };
    let mut findings = vec![
        finding(
            Kind::CollectorFailing,
            collector.into(),
            failing(collector, kind, accepted, settings.collector_failing_after),
            cannot_read(collector),
        ),
        finding(
            Kind::CredentialsRejected,
            group.into(),
            rejected(kind, accepted || is_awaited(state, collector)),
            format!("Credentials of the {} endpoints", group.as_str()),
        ),
    ];
    if collector == Collector::ExpectedBalance {
        let subject = "Balance report".to_owned();
        findings.push(finding(Kind::BillingReport, Target::Account, not_available(kind), subject));
    }
    findings
}

/// What the incident of one collector is called.
pub(crate) fn cannot_read(collector: Collector) -> String {
    format!("Cannot read {}", collector.words())
}

/// Is this a failure of the collector's own, which lasts until it is told?
pub(crate) fn is_failing(state: &AccountState, collector: Collector, now: DateTime<Utc>) -> bool {
    let failure = state.collectors.get(&collector).and_then(|status| status.failure.as_ref());
    let accepted = works_elsewhere(state, collector, now);
    let verdict = failing(collector, failure.map(|failure| failure.kind), accepted, Duration::ZERO);
    matches!(verdict, Verdict::Bad { .. })
}

fn failing(collector: Collector, failure: Option<FailureKind>, accepted: bool, hold: Duration) -> Verdict {
    let bad = Verdict::Bad { hold, held: String::new() };
    match failure {
        None => Verdict::Good,
        // One listing that is refused where others are not is that listing's failure.
        Some(FailureKind::Credentials) if accepted => bad,
        // Told by kinds of their own, with the remedy; one cause, one mail.
        Some(FailureKind::Credentials | FailureKind::ReportError) => Verdict::Frozen,
        Some(FailureKind::NotFound) if collector == Collector::ExpectedBalance => Verdict::Frozen,
        Some(FailureKind::NotFound | FailureKind::Other) => bad,
    }
}

/// Of the whole group: every call of it is refused, and none is `open` that may not be.
fn rejected(failure: Option<FailureKind>, open: bool) -> Verdict {
    match failure {
        None => Verdict::Good,
        Some(FailureKind::Credentials) if !open => Verdict::bad(),
        Some(
            FailureKind::Credentials | FailureKind::NotFound | FailureKind::ReportError | FailureKind::Other,
        ) => Verdict::Frozen,
    }
}

/// Of the report, not of its collector.
fn not_available(failure: Option<FailureKind>) -> Verdict {
    match failure {
        None => Verdict::Good,
        Some(FailureKind::NotFound | FailureKind::ReportError) => Verdict::bad(),
        Some(FailureKind::Credentials | FailureKind::Other) => Verdict::Frozen,
    }
}

/// Lately enough that the credentials were good then.
const LATELY: TimeDelta = TimeDelta::minutes(10);

/// Did another collector with the same credentials work at its last try, lately?
fn works_elsewhere(state: &AccountState, collector: Collector, now: DateTime<Utc>) -> bool {
    let works = |status: &CollectorStatus| {
        status.success && status.last_success.is_some_and(|at| (now - at).abs() <= LATELY)
    };
    let others = state.collectors.iter().filter(|(other, _)| **other != collector);
    others.filter(|(other, _)| other.group() == collector.group()).any(|(_, status)| works(status))
}

/// Is another collector with the same credentials, which sees states, still to be tried since the start, or since the
/// machine slept? Sites are not: without their containers nobody asks for them.
fn is_awaited(state: &AccountState, collector: Collector) -> bool {
    let mut others = state_collectors(&state.profile).filter(|other| {
        *other != collector && *other != Collector::Sites && other.group() == collector.group()
    });
    others.any(|other| !has_looked(state, other))
}
