//! Readings of the small account in the tests of alerts.

use crate::model::*;
use chrono::{DateTime, Duration, Utc};

/// No events.
pub const NOTHING: [&str; 0] = [];

pub fn start() -> DateTime<Utc> {
    moment("2026-03-02T12:00:00Z")
}

/// Parses an RFC 3339 text.
pub fn moment(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().with_timezone(&Utc)
}

pub fn money(text: &str) -> Money {
    text.parse().unwrap()
}

pub fn roubles(kopecks: i64) -> Money {
    let sign = if kopecks < 0 { "-" } else { "" };
    money(&format!("{sign}{}.{:02}", kopecks.abs() / 100, kopecks.abs() % 100))
}

pub fn vm(id: u64, state: &str) -> Vm {
    Vm {
        id: id.into(),
        state: state.into(),
        vm_id: None,
        name: Some(format!("vm-{id}").into()),
        tariff: None,
        ncpu: None,
        memsize: None,
        monitoring_enabled: None,
        ips: None,
        disks: None,
    }
}

pub fn container(id: u64, state: &str) -> Container {
    Container {
        id: id.into(),
        state: state.into(),
        login: None,
        name: Some(format!("cont-{id}").into()),
        server: None,
        memory_limit_mb: None,
        disk_quota_mb: None,
        created: None,
        updated: None,
        in_transfer: None,
    }
}

pub fn site(id: u64, home: u64, state: &str) -> Site {
    Site {
        id: id.into(),
        state: state.into(),
        container: home.into(),
        name: Some(format!("site-{id}").into()),
        main_alias: None,
        engine: None,
        engine_version: None,
        workers: None,
        force_https: None,
        certificate_id: None,
        created: None,
        updated: None,
    }
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
        moments: moments.into(),
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
