//! Billing periods, and the amount of one charge of a tariff. Pure arithmetic on the account's own wall clock.

use chrono::{Datelike, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// A period's unit. Section 2.8 does not show the set of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// A pair like `[1, "month"]` (section 2.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period(pub u32, pub Unit);

impl Period {
    fn months(self) -> Option<u32> {
        match self.1 {
            Unit::Month => Some(self.0),
            Unit::Year => Some(self.0.saturating_mul(12)),
            Unit::Minute | Unit::Hour | Unit::Day | Unit::Week => None,
        }
    }

    fn seconds(self) -> Option<i64> {
        let one = match self.1 {
            Unit::Minute => 60,
            Unit::Hour => 3_600,
            Unit::Day => 86_400,
            Unit::Week => 604_800,
            Unit::Month | Unit::Year => return None,
        };
        Some(one * i64::from(self.0))
    }

    /// The moment `index` periods after `start`. Months keep the day of `start` if the month has it.
    pub fn after(self, start: NaiveDateTime, index: u32) -> NaiveDateTime {
        match (self.months(), self.seconds()) {
            (Some(months), _) => start + Months::new(months.saturating_mul(index)),
            (None, Some(seconds)) => start + TimeDelta::seconds(seconds.saturating_mul(i64::from(index))),
            (None, None) => start,
        }
    }
}

/// The months since year 0, and the part of the current month as a fraction `seconds / length`.
fn month_count(at: NaiveDateTime) -> (i64, i64, i64) {
    let first =
        NaiveDate::from_ymd_opt(at.year(), at.month(), 1).unwrap_or(at.date()).and_time(NaiveTime::MIN);
    let length = (first + Months::new(1) - first).num_seconds();
    (i64::from(at.year()) * 12 + i64::from(at.month0()), (at - first).num_seconds(), length)
}

/// The amount of charge number `index` of an order. The order bills `amount` per `billing` and charges every
/// `charge`, from `from` to `to`. Rounding is cumulative: the charges of a whole billing period add up to its
/// amount exactly, whatever their number.
pub(crate) fn charge_amount(
    amount: Decimal,
    billing: Period,
    charge: Period,
    index: u32,
    from: NaiveDateTime,
    to: NaiveDateTime,
) -> Decimal {
    let by_ratio = |charged: i64, billed: i64| {
        let until = |n: i64| (amount * Decimal::from(charged * n) / Decimal::from(billed.max(1))).round_dp(2);
        until(i64::from(index) + 1) - until(i64::from(index))
    };
    let mut due = match (billing.months(), billing.seconds(), charge.months(), charge.seconds()) {
        (Some(billed), _, Some(charged), _) => by_ratio(i64::from(charged), i64::from(billed)),
        (_, Some(billed), _, Some(charged)) => by_ratio(charged, billed),
        // Billed by the month and charged by the day: each day pays its share of its own month.
        (Some(billed), _, None, _) => {
            let until = |at| {
                let (months, seconds, length) = month_count(at);
                let share = Decimal::from(months * length + seconds)
                    / Decimal::from(length * i64::from(billed.max(1)));
                (amount * share).round_dp(2)
            };
            until(to) - until(from)
        }
        (None, billed, _, _) => {
            let billed = Decimal::from(billed.unwrap_or(1).max(1));
            (amount * Decimal::from((to - from).num_seconds()) / billed).round_dp(2)
        }
    };
    due.rescale(2);
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    fn sum(amount: &str, billing: Period, charge: Period, start: &str, charges: u32) -> Decimal {
        let (amount, start) = (amount.parse().unwrap(), at(start));
        (0..charges)
            .map(|k| {
                let (from, to) = (charge.after(start, k), charge.after(start, k + 1));
                charge_amount(amount, billing, charge, k, from, to)
            })
            .sum()
    }

    #[test]
    fn charges_of_a_whole_billing_period_add_up_to_its_amount() {
        let (day, month, year) = (Period(1, Unit::Day), Period(1, Unit::Month), Period(1, Unit::Year));
        let exactly = |text: &str| text.parse::<Decimal>().unwrap();
        assert_eq!(sum("300.00", month, day, "2026-01-01T00:00:00", 31), exactly("300.00"));
        assert_eq!(sum("300.00", month, day, "2026-02-01T00:00:00", 28), exactly("300.00"));
        assert_eq!(sum("100.00", year, month, "2026-01-15T12:00:00", 12), exactly("100.00"));
        assert_eq!(sum("100.00", Period(3, Unit::Month), month, "2026-01-31T00:00:00", 3), exactly("100.00"));
        assert_eq!(sum("10.00", day, Period(7, Unit::Hour), "2026-01-01T00:00:00", 24), exactly("70.00"));
        assert_eq!(sum("900.00", month, month, "2026-01-31T00:00:00", 5), exactly("4500.00"));
    }

    #[test]
    fn months_keep_their_day() {
        let month = Period(1, Unit::Month);
        assert_eq!(month.after(at("2026-01-31T10:00:00"), 1), at("2026-02-28T10:00:00"));
        assert_eq!(month.after(at("2026-01-31T10:00:00"), 2), at("2026-03-31T10:00:00"));
    }
}
