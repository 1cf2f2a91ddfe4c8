//! What the end of a poll says of the collector, its credentials and the report. Pure.

use std::time::Duration;

use super::{Finding, Verdict, clean};
use crate::alert::key::{Key, Target};
use crate::alert::kind::Kind;
use crate::alert::settings::Settings;
use crate::model::{AccountState, Collector, CollectorStatus, FailureKind, Group};

/// What the end of a poll says about the collector and its credentials.
pub(crate) fn judge_collector(
    state: &AccountState,
    collector: Collector,
    settings: &Settings,
) -> Vec<Finding> {
    let Some(status) = state.collectors.get(&collector) else { return Vec::new() };
    let failure = status.failure.as_ref();
    let kind = failure.map(|failure| failure.kind);
    let detail = failure.map_or_else(|| "answers again".to_owned(), |failure| clean(&failure.message, 300));
    let group = collector.group();
    let finding = |kind: Kind, target: Target, verdict, subject| {
        let (key, detail) = (Key::new(&state.profile.name, kind, target), detail.clone());
        Finding { key, verdict, subject, detail }
    };
    let mut findings = vec![
        finding(
            Kind::CollectorFailing,
            collector.into(),
            failing(collector, kind, settings.collector_failing_after),
            format!("Polling of {}", collector.as_str()),
        ),
        finding(
            Kind::CredentialsRejected,
            group.into(),
            rejected(state, group, kind),
            format!("Credentials of the {} endpoints", group.as_str()),
        ),
    ];
    if collector == Collector::ExpectedBalance {
        let subject = "Expected-balance report".to_owned();
        findings.push(finding(Kind::BillingReport, Target::Account, not_available(kind), subject));
    }
    findings
}

fn failing(collector: Collector, failure: Option<FailureKind>, hold: Duration) -> Verdict {
    match failure {
        None => Verdict::Good,
        // Told by kinds of their own, with the remedy; one cause, one mail.
        Some(FailureKind::Credentials | FailureKind::ReportError) => Verdict::Frozen,
        Some(FailureKind::NotFound) if collector == Collector::ExpectedBalance => Verdict::Frozen,
        Some(FailureKind::NotFound | FailureKind::Other) => Verdict::Bad { hold, held: String::new() },
    }
}

fn rejected(state: &AccountState, group: Group, failure: Option<FailureKind>) -> Verdict {
    match failure {
        // Another collector of the group may still be refused.
        None if rejected_elsewhere(state, group) => Verdict::Frozen,
        None => Verdict::Good,
        Some(FailureKind::Credentials) => Verdict::bad(),
        Some(FailureKind::NotFound | FailureKind::ReportError | FailureKind::Other) => Verdict::Frozen,
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

fn rejected_elsewhere(state: &AccountState, group: Group) -> bool {
    let rejected = |status: &CollectorStatus| {
        status.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Credentials)
    };
    state.collectors.iter().any(|(collector, status)| collector.group() == group && rejected(status))
}
