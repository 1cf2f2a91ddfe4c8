//! The last good report as the store keeps it: everything that the forecast and the cut-off depend on, without
//! the orders. Pure.

use chrono::{DateTime, Duration, DurationRound as _, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::billing::Report;
use super::charge_moment::ChargeMoment;
use super::moments::Moments;
use super::money::Money;

/// A report with more charges keeps them by the hour, since one of 10,000 orders has a million.
const MOST_CHARGES: usize = 5000;

/// A report without its error and its orders, and the time at which it was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct LastReport {
    pub read_at: DateTime<Utc>,
    #[serde(flatten)]
    pub report: Report,
}

impl LastReport {
    /// The short form of a report that was read at this time.
    pub(crate) fn of(report: &Report, read_at: DateTime<Utc>) -> Self {
        let same_moment = together(report, |one, other| one == other);
        let hour = |at: DateTime<Utc>| at.duration_trunc(Duration::hours(1)).ok();
        let charges = match same_moment.len() > MOST_CHARGES {
            // They are joined at the first of them, so that no amount is lower than in the report.
            true => together(report, |one, other| hour(one) == hour(other)),
            false => same_moment,
        };
        let moments = charges.into_iter().collect();
        let report = Report { error: None, orders: Vec::new(), moments, ..report.clone() };
        Self { read_at, report }
    }
}

/// Joins charges that are `near` each other. Their balances must add up, and the balance must not run out among
/// them. Refunds that hide a lower balance are not joined.
fn together(report: &Report, near: impl Fn(DateTime<Utc>, DateTime<Utc>) -> bool) -> Vec<ChargeMoment> {
    let mut charges: Vec<ChargeMoment> = Vec::new();
    for moment in report.moments.iter() {
        let positive = moment.is_positive();
        if let Some(last) = charges.last_mut()
            && near(last.at, moment.at)
            && last.balance - moment.amount == moment.balance
            && moment.amount >= Money::ZERO
            && last.is_positive() == positive
        {
            (last.amount, last.balance) = (last.amount + moment.amount, moment.balance);
        } else {
            charges.push(ChargeMoment { positive: Some(positive), order: None, ..moment });
        }
    }
    charges
}

/// Moments as they are stored: time, amount, the balance after it, and whether that is above 0.
pub(super) mod stored {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(moments: &Moments, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(moments.iter().map(|one| (one.at, one.amount, one.balance, one.is_positive())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Moments, D::Error> {
        let stored: Vec<(DateTime<Utc>, Money, Money, bool)> = Vec::deserialize(deserializer)?;
        let moment = |(at, amount, balance, positive)| ChargeMoment {
            at,
            amount,
            balance,
            positive: Some(positive),
            order: None,
        };
        Ok(stored.into_iter().map(moment).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{money, report, t};
    use crate::model::forecast::{self, SPANS_DAYS};

    /// The values that mails and pages show of a report.
    fn told(report: &Report, now: DateTime<Utc>) -> impl PartialEq + std::fmt::Debug + use<> {
        let spans = SPANS_DAYS.map(|days| {
            (forecast::balance_in(report, now, days), forecast::top_up_required(report, now, days))
        });
        (
            spans,
            forecast::disconnect(report),
            forecast::balance_now(report),
            forecast::cost_per_day(report, now),
            forecast::does_not_add_up(report),
        )
    }

    fn kept(report: &Report) -> LastReport {
        let json = serde_json::to_string(&LastReport::of(report, t("2026-03-01T12:00:00"))).unwrap();
        serde_json::from_str(&json).unwrap()
    }

    /// A report with this many charges a day, one a minute.
    fn busy(charges_a_day: i64, balance: &str) -> Report {
        let mut report = report(balance, "0", 90, Edd::Null);
        let mut left = money(balance);
        let charges = (0..90 * charges_a_day).map(|index| {
            left -= money("0.10");
            let (day, minute) = (index / charges_a_day, index % charges_a_day);
            let at = t("2026-03-01T12:00:00") + Duration::days(day) + Duration::minutes(minute);
            ChargeMoment { at, amount: money("0.10"), balance: left, positive: None, order: Some(0) }
        });
        report.moments = charges.collect();
        report.expected_balance = Some(left);
        report
    }

    #[test]
    fn a_kept_report_tells_the_same() {
        // The provider's flag says what the balance does not.
        let mut flagged = report("5000", "10.00", 90, Edd::Null);
        flagged.moments.edit(|moments| moments[3].positive = Some(false));
        let table = [
            flagged,
            report("225.50", "10.00", 90, Edd::Null),
            report("225.50", "10.00", 90, Edd::At(t("2026-03-20T00:00:00"))),
            report("5", "1", 0, Edd::Unknown),
            busy(3, "20"),
            Report { made: Some((t("2026-02-28T11:00:00"), money("7"))), ..busy(3, "20") },
        ];
        for report in table {
            let kept = kept(&report);
            for days in [0, 3, 40] {
                let now = t("2026-03-01T12:00:00") + Duration::days(days);
                assert_eq!(told(&kept.report, now), told(&report, now), "{days} {report:?}");
            }
        }
    }

    #[test]
    fn charges_of_one_moment_are_kept_as_one_and_refunds_are_not_hidden() {
        let mut falling = report("100", "10", 4, Edd::Null);
        let at = t("2026-03-02T12:00:00");
        let charge = |amount: &str, balance: &str| ChargeMoment {
            at,
            amount: money(amount),
            balance: money(balance),
            positive: None,
            order: None,
        };
        falling.moments = [charge("10", "90"), charge("20", "70"), charge("-5", "75"), charge("5", "70")]
            .into_iter()
            .collect();
        let kept = kept(&falling);
        let amounts: Vec<String> =
            kept.report.moments.iter().map(|one| format!("{} {}", one.amount, one.balance)).collect();
        assert_eq!(amounts, ["30 70", "0 70"]);
    }

    #[test]
    fn many_charges_are_kept_by_the_hour() {
        let report = busy(600, "3000");
        let kept = kept(&report);
        assert!(kept.report.moments.len() <= 90 * 11, "{}", kept.report.moments.len());
        // If no hour is cut in two, both show the same values.
        let now = t("2026-03-04T11:59:00");
        assert_eq!(told(&kept.report, now), told(&report, now));
        let amid = t("2026-03-04T12:30:00");
        let due = |report: &Report| forecast::top_up_required(report, amid, 7);
        assert!(due(&kept.report) >= due(&report), "never less than is due");
    }
}
