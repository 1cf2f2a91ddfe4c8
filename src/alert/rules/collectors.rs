//! The findings at the end of a poll: about the collector, its credentials and the report. Pure.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::alert::finding::{Finding, Value, Verdict};
use crate::alert::key::{Key, Target};
use crate::alert::kind::Kind;
use crate::alert::settings::AlertSettings;
use crate::alert::subject::{Detail, Subject};
use crate::model::freshness::{has_looked, state_collectors};
use crate::model::sanitize::one_line as clean;
use crate::model::{AccountState, Collector, CollectorStatus, FailureKind};

/// The findings at the end of a poll about the collector and its credentials.
pub(crate) fn judge_collector(
    state: &AccountState,
    collector: Collector,
    settings: &AlertSettings,
    now: DateTime<Utc>,
) -> Vec<Finding> {
    let Some(status) = state.collectors.get(&collector) else { return Vec::new() };
    let failure = status.failure.as_ref();
    let kind = failure.map(|failure| failure.kind);
    let detail = failure.map_or(Detail::Answers, |failure| Detail::Text(clean(&failure.message, 300)));
    let group = collector.group();
    let accepted = works_elsewhere(state, collector, now);
    let finding = |kind: Kind, target: Target, verdict, subject| {
        let (key, detail) = (Key::new(&state.profile.name, kind, target), detail.clone());
        Finding { key, verdict, subject, detail }
    };
    let mut findings = vec![
        finding(
            Kind::CollectorFailing,
            Target::Account,
            failing(collector, kind, accepted, settings.collector_failing_after),
            Subject::Unread { collectors: vec![collector] },
        ),
        finding(
            Kind::CredentialsRejected,
            group.into(),
            rejected(kind, accepted || is_awaited(state, collector)),
            Subject::Credentials,
        ),
    ];
    if collector == Collector::ExpectedBalance {
        findings.push(finding(Kind::BillingReport, Target::Account, not_available(kind), Subject::Report));
    }
    findings
}

/// The failure of a collector's last poll.
pub(crate) fn failure_of(state: &AccountState, collector: Collector) -> Option<FailureKind> {
    state.collectors.get(&collector)?.failure.as_ref().map(|failure| failure.kind)
}

/// Whether the collector itself fails, for long enough to be told.
pub(crate) fn is_failing(state: &AccountState, collector: Collector, now: DateTime<Utc>) -> bool {
    let accepted = works_elsewhere(state, collector, now);
    let verdict = failing(collector, failure_of(state, collector), accepted, Duration::ZERO);
    matches!(verdict, Verdict::Bad { .. })
}

fn failing(collector: Collector, failure: Option<FailureKind>, accepted: bool, hold: Duration) -> Verdict {
    let bad = Verdict::Bad { hold, value: Value::None };
    match failure {
        None => Verdict::Good,
        // If one listing is refused and others are not, the listing fails.
        Some(FailureKind::Credentials | FailureKind::NeverAccepted) if accepted => bad,
        // Other kinds report these failures, with the remedy: one cause, one mail.
        Some(FailureKind::Credentials | FailureKind::NeverAccepted | FailureKind::ReportError) => {
            Verdict::Frozen
        }
        Some(FailureKind::NotFound) if collector == Collector::ExpectedBalance => Verdict::Frozen,
        Some(FailureKind::NotFound | FailureKind::Refused | FailureKind::Unusable | FailureKind::Other) => {
            bad
        }
    }
}

/// Whether the credentials of the whole group are refused. `open`: another collector of the group works, or is
/// still to be tried.
fn rejected(failure: Option<FailureKind>, open: bool) -> Verdict {
    match failure {
        None => Verdict::Good,
        Some(FailureKind::Credentials | FailureKind::NeverAccepted) if !open => Verdict::bad(),
        Some(_) => Verdict::Frozen,
    }
}

/// The verdict on the report, and not on its collector.
fn not_available(failure: Option<FailureKind>) -> Verdict {
    match failure {
        None => Verdict::Good,
        Some(FailureKind::NotFound | FailureKind::ReportError) => Verdict::bad(),
        Some(_) => Verdict::Frozen,
    }
}

/// A collector that worked this recently had good credentials.
const LATELY: TimeDelta = TimeDelta::minutes(10);

/// Whether another collector with the same credentials worked recently, at its last try.
fn works_elsewhere(state: &AccountState, collector: Collector, now: DateTime<Utc>) -> bool {
    let works = |status: &CollectorStatus| {
        status.success && status.last_success.is_some_and(|at| (now - at).abs() <= LATELY)
    };
    let others = state.collectors.iter().filter(|(other, _)| **other != collector);
    others.filter(|(other, _)| other.group() == collector.group()).any(|(_, status)| works(status))
}

/// Whether another collector with the same credentials, which sees states, was not tried yet since the start or
/// the last sleep. Sites do not count: they are asked for only after their containers.
fn is_awaited(state: &AccountState, collector: Collector) -> bool {
    let mut others = state_collectors(&state.profile).filter(|other| {
        *other != collector && *other != Collector::Sites && other.group() == collector.group()
    });
    others.any(|other| !has_looked(state, other))
}
