//! One expected-balance report: its date, and the reaction to a report that is too large.

use std::time::Duration;

use chrono::{Days, Months};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::poller::{AccountPlan, late};
use super::span;
use crate::model::{Collector, Failure, FailureKind, Group, Report};
use crate::provider::{Client, ReportRead};

/// The farthest date of a report (interface 4.8).
const TWO_YEARS: Months = Months::new(24);

/// The result of a reading.
pub(super) struct Asked {
    /// The report. A report that carries an error is a failure.
    pub(super) report: Result<ReportRead, Failure>,
    /// Whether the whole horizon was too much for the provider.
    pub(super) halved: bool,
}

/// Reads the report of `horizon_days` ahead. If that is too much, it reads half as many, and keeps the lower
/// value.
pub(super) async fn ask(
    plan: &AccountPlan,
    client: &Client,
    deadline: Duration,
    horizon_days: &mut u32,
) -> Asked {
    let zone = plan.profile.zone();
    let today_is = || plan.clock.now().with_timezone(&zone).date_naive();
    let (mut halved, mut asked_again) = (false, false);
    let result = loop {
        let today = today_is();
        let ahead = Days::new(u64::from(*horizon_days) + 1);
        let date = today.checked_add_days(ahead).unwrap_or(today);
        let date = today.checked_add_months(TWO_YEARS).map_or(date, |last| date.min(last));
        match timeout(deadline, client.expected_balance(date)).await {
            // After a sleep the first answer shows which day it is, so the first report may end too early.
            Ok(Ok(_)) if !asked_again && today_is() != today => asked_again = true,
            Ok(Ok(read)) => break Ok(read),
            // The horizon is halved once a poll: a provider that is slow today must not lower it for ever.
            Ok(Err(error)) if error.wants_less() && !halved && *horizon_days > plan.least_horizon_days => {
                halved = true;
                *horizon_days = (*horizon_days / 2).max(plan.least_horizon_days);
                tracing::warn!(
                    horizon_days = *horizon_days,
                    "the expected-balance report is too large or too slow; asking for half the horizon"
                );
            }
            Ok(Err(error)) => break Err(error.failure()),
            Err(_) => break Err(late(deadline)),
        }
    };
    let report = result.and_then(|read| match &read.report.error {
        None => Ok(read),
        Some(text) => {
            let message = format!("the report carries an error: {text}");
            Err(Failure::new(FailureKind::ReportError, message))
        }
    });
    Asked { report, halved }
}

/// Reads one report outside of any schedule, as the collector does.
///
/// # Errors
/// As for a poll: no answer, or a report that carries an error.
pub(crate) async fn read_report(plan: &AccountPlan, deadline: Duration) -> Result<Report, Failure> {
    let client = plan.client.begin_poll(Group::Billing).map_err(|error| error.failure())?;
    let mut horizon_days = plan.horizon_days;
    let asked = ask(plan, &client, deadline, &mut horizon_days);
    asked
        .instrument(span(&plan.profile.name, Collector::ExpectedBalance))
        .await
        .report
        .map(|read| read.report)
}
