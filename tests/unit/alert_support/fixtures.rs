//! Readings of the small account in the tests of alerts.

use crate::model::*;
use crate::unit::account;
use chrono::{DateTime, Duration, Utc};

pub use account::{money, t as moment};

/// No events.
pub const NOTHING: [&str; 0] = [];

pub fn start() -> DateTime<Utc> {
    moment("2026-03-02T12:00:00Z")
}

pub fn roubles(kopecks: i64) -> Money {
    let sign = if kopecks < 0 { "-" } else { "" };
    money(&format!("{sign}{}.{:02}", kopecks.abs() / 100, kopecks.abs() % 100))
}

pub fn vm(id: u64, state: &str) -> Vm {
    Vm { name: Some(format!("vm-{id}").into()), ..account::bare_vm(id, state) }
}

pub fn container(id: u64, state: &str) -> Container {
    Container { name: Some(format!("cont-{id}").into()), ..account::container(id, state) }
}

pub fn site(id: u64, home: u64, state: &str) -> Site {
    Site { name: Some(format!("site-{id}").into()), ..account::site(id, home, state) }
}

/// An account with a low balance and small charges, so that each later balance of a test is a payment.
pub fn modest() -> Report {
    let mut report = report("8.00", Edd::Null);
    report.moments.edit(|moments| {
        let mut left = money("8.00");
        for moment in moments {
            moment.amount = money("0.01");
            left -= moment.amount;
            (moment.balance, moment.positive) = (left, Some(true));
        }
    });
    report.expected_balance = Some(money("7.10"));
    report
}

/// An account that is paid for longer than the tests last.
pub fn rich() -> Report {
    report("5000.00", Edd::Null)
}

/// 90 days at 10 a day from tomorrow on.
pub fn report(balance: &str, edd: Edd) -> Report {
    charged_daily(start(), start(), money(balance), edd)
}

/// The report at `now` on an account that had so many kopecks at `from` and is charged 10.00 every 24 hours.
pub fn bill(from: DateTime<Utc>, now: DateTime<Utc>, kopecks: i64, edd: Edd) -> Report {
    charged_daily(from, now, roubles(kopecks), edd)
}

fn charged_daily(from: DateTime<Utc>, now: DateTime<Utc>, mut left: Money, edd: Edd) -> Report {
    let amount = money("10");
    let made = (now - from).num_days();
    (0..made).for_each(|_| left -= amount);
    let moments = (made + 1..=made + 90).map(|day| {
        left -= amount;
        let (at, positive) = (from + Duration::days(day), Some(left.is_positive()));
        ChargeMoment { at, amount, balance: left, positive, order: None }
    });
    let moments: Vec<_> = moments.collect();
    Report {
        date: Some(now + Duration::days(91)),
        edd,
        error: None,
        expected_balance: Some(left),
        moments: moments.into_iter().collect(),
        orders: Vec::new(),
        made: None,
        moments_rejected: 0,
        whole_until: None,
    }
}

/// A report whose cut-off is so many hours after the start.
pub fn cut_off_in(hours: i64) -> Report {
    report("25.50", Edd::At(start() + Duration::hours(hours)))
}
