//! The findings at the end of a poll: about the collector, its credentials and the report. Pure.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::alert::finding::{Finding, Value, Verdict};
use crate::alert::key::{Key, Target};
use crate::alert::kind::Kind;
use crate::alert::settings::AlertSettings;
use crate::alert::subject::{Detail, Subject};
use crate::model::forecast;
use crate::model::freshness::{has_looked, sees_states, state_collectors};
use crate::model::sanitize::one_line as clean;
use crate::model::{AccountState, Collector, CollectorStatus, Dateless, FailureKind};

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
    let said = failure.map(|failure| &failure.message).or(status.problem.as_ref());
    let detail = said.map_or(Detail::Answers, |said| Detail::Text(clean(said, 300)));
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
            readable(state, collector, settings, now),
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
        let dateless = state.billing.dateless;
        let subject = dateless.map_or(Subject::Report, |dateless| without_date(state, dateless));
        let verdict = available(kind, dateless.is_some());
        let mut report = finding(Kind::BillingReport, Target::Account, verdict, subject);
        if let (Detail::Answers, Some(Dateless { doubt, .. })) = (&report.detail, dateless) {
            let held = state.billing.latest().and_then(|(report, _)| forecast::held(report, doubt));
            report.detail = Detail::Unproven { doubt, held };
        }
        findings.push(report);
    }
    findings
}

/// The failure of a collector's last poll.
pub(crate) fn failure_of(state: &AccountState, collector: Collector) -> Option<FailureKind> {
    state.collectors.get(&collector)?.failure.as_ref().map(|failure| failure.kind)
}

/// Incomplete readings, and reports without a date, are told after this time.
const IN_PART_FOR: Duration = Duration::from_secs(3600);

/// The time after which polls like the last one are told; `None` if that was a good one.
pub(crate) fn told_after(
    state: &AccountState,
    collector: Collector,
    settings: &AlertSettings,
    now: DateTime<Utc>,
) -> Option<Duration> {
    if let Verdict::Bad { hold, .. } = readable(state, collector, settings, now) { Some(hold) } else { None }
}

/// The verdict on what a collector reads, by its last poll.
fn readable(
    state: &AccountState,
    collector: Collector,
    settings: &AlertSettings,
    now: DateTime<Utc>,
) -> Verdict {
    let bad = |hold| Verdict::Bad { hold, value: Value::None };
    let fails = bad(settings.collector_failing_after);
    match failure_of(state, collector) {
        None if is_in_part(state, collector) => bad(IN_PART_FOR),
        None => Verdict::Good,
        // If one listing is refused and others are not, the listing fails.
        Some(FailureKind::Credentials | FailureKind::NeverAccepted)
            if works_elsewhere(state, collector, now) =>
        {
            fails
        }
        // Other kinds report these failures, with the remedy: one cause, one mail.
        Some(FailureKind::Credentials | FailureKind::NeverAccepted | FailureKind::ReportError) => {
            Verdict::Frozen
        }
        Some(FailureKind::NotFound | FailureKind::Refused | FailureKind::Unusable | FailureKind::Other) => {
            fails
        }
    }
}

/// Whether the last poll read a listing of states, and not all of it.
fn is_in_part(state: &AccountState, collector: Collector) -> bool {
    let is_listing = sees_states(collector) && collector != Collector::ExpectedBalance;
    is_listing && state.collectors.get(&collector).is_some_and(|status| status.success && !status.complete)
}

/// The account's cut-off while no report tells it.
fn without_date(state: &AccountState, dateless: Dateless) -> Subject {
    let since = state.billing.unconfirmed().unwrap_or(dateless.since);
    let day = |at: DateTime<Utc>| at.with_timezone(&state.profile.zone()).date_naive();
    Subject::NoDate { since: day(since), last: dateless.known.map(day) }
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

/// The verdict on the report, and not on its collector. Reports without a date are wrong once they last.
fn available(failure: Option<FailureKind>, is_dateless: bool) -> Verdict {
    match failure {
        None if is_dateless => Verdict::Bad { hold: IN_PART_FOR, value: Value::None },
        None => Verdict::Good,
        Some(FailureKind::ReportError) => Verdict::bad(),
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
