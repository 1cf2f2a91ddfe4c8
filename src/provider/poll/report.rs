//! One expected-balance report: its date, and the reaction to a report that is too large.

use std::time::Duration;

use chrono::{DateTime, Days, Months, Utc};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::poller::{AccountPlan, late};
use super::span;
use crate::model::{Collector, Edd, Failure, FailureKind, Group, Moments, Report};
use crate::provider::error::{ApiError, ErrorKind};
use crate::provider::{Client, ReportRead};

/// The farthest date of a report (interface 4.8).
const TWO_YEARS: Months = Months::new(24);

/// The result of a reading.
pub(super) struct Asked {
    /// The report. A report that carries an error is a failure.
    pub(super) report: Result<ReportRead, Failure>,
    /// The date beside an error. The amounts there are not known to be whole.
    pub(super) date: Option<Report>,
    /// Whether the whole horizon was too much for the provider.
    pub(super) halved: bool,
}

/// Reads the report of `horizon_days` ahead. If that is too much, it reads half as many. `horizon_days` is lowered if the
/// provider is slow.
pub(super) async fn ask(
    plan: &AccountPlan,
    client: &Client,
    deadline: Duration,
    horizon_days: &mut u32,
) -> Asked {
    let zone = plan.profile.zone();
    let today_is = || plan.clock.now().with_timezone(&zone).date_naive();
    let mut days = *horizon_days;
    let (mut too_much, mut asked_again) = (None, false);
    let result = loop {
        let today = today_is();
        let date = today.checked_add_days(Days::new(u64::from(days) + 1)).unwrap_or(today);
        let date = today.checked_add_months(TWO_YEARS).map_or(date, |last| date.min(last));
        match timeout(deadline, client.expected_balance(date)).await {
            // After a sleep the first answer shows which day it is, so the first report may end too early.
            Ok(Ok(_)) if !asked_again && today_is() != today => asked_again = true,
            Ok(Ok(ReportRead { report, problems })) => {
                break Ok(ReportRead { report: report.at(plan.clock.now()), problems });
            }
            // A slow provider costs one try a poll, and the next poll begins with the lower value. A refusal costs no
            // time, and a 404 may have another reason than the date: the next poll asks for the whole horizon.
            Ok(Err(error))
                if days > 1 && (is_refused(&error) || (error.wants_less() && too_much.is_none())) =>
            {
                days /= 2;
                if error.wants_less() {
                    *horizon_days = days;
                }
                too_much = Some(error);
            }
            Ok(Err(error)) => break Err(error.failure()),
            Err(_) => break Err(late(deadline)),
        }
    };
    if let Some(error) = &too_much {
        tracing::warn!(days, %error, "the expected-balance report of the whole horizon cannot be had");
    }
    let mut date = None;
    let report = result.and_then(|read| {
        let failure = if let Some(text) = &read.report.error {
            Failure::new(FailureKind::ReportError, format!("the report carries an error: {text}"))
        } else if let Some(end) = end_of_old(&read.report, plan.clock.now()) {
            Failure::new(FailureKind::Unusable, format!("the report is old, it ends at {end}"))
        } else {
            return Ok(read);
        };
        date = matches!(read.report.edd, Edd::At(_)).then(|| date_alone(read.report));
        Err(failure)
    });
    Asked { report, date, halved: too_much.is_some() }
}

/// Whether the provider may refuse the date alone, since it is too far away.
fn is_refused(error: &ApiError) -> bool {
    matches!(error.kind, ErrorKind::Status(400 | 404, _))
}

/// The end of a report that tells nothing about the time ahead: one out of a cache would prove that no cut-off is ahead.
fn end_of_old(report: &Report, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let is_silent = report.edd == Edd::Null && report.moments.is_empty();
    report.date.filter(|&end| is_silent && end <= now)
}

/// A report that tells its date and nothing else.
fn date_alone(report: Report) -> Report {
    Report {
        expected_balance: None,
        moments: Moments::default(),
        made: None,
        orders: Vec::new(),
        moments_rejected: report.moments_rejected.max(1),
        whole_until: Some(DateTime::<Utc>::MIN_UTC),
        ..report
    }
}

/// Reads one report outside of any schedule, as the collector does.
///
/// # Errors
/// As for a poll: no answer, or a report that carries an error.
pub(crate) async fn read_report(plan: &AccountPlan, deadline: Duration) -> Result<ReportRead, Failure> {
    let client = plan.client.begin_poll(Group::Billing).map_err(|error| error.failure())?;
    let mut horizon_days = plan.horizon_days;
    let asked = ask(plan, &client, deadline, &mut horizon_days);
    asked.instrument(span(&plan.profile.name, Collector::ExpectedBalance)).await.report
}

#[cfg(test)]
mod tests {
    use chrono::Days;

    use super::*;
    use crate::model::forecast::tests::report;

    #[test]
    fn an_old_report_is_no_good_news() {
        let empty = Report { moments: Moments::default(), ..report("100", "10", 5, Edd::Null) };
        let (end, day) = (empty.date.unwrap(), Days::new(1));
        assert_eq!(end_of_old(&empty, end - day), None);
        assert_eq!(end_of_old(&empty, end), Some(end));
        assert_eq!(
            end_of_old(&Report { edd: Edd::At(end + day), ..empty.clone() }, end),
            None,
            "a date counts"
        );
        assert_eq!(end_of_old(&report("100", "10", 5, Edd::Null), end), None, "so do charges ahead");
    }
}
