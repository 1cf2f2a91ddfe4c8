//! A rehearsal: the engine walked through the days until an account is cut off, over one report, while
//! nobody pays. Shows what would be mailed, and when; sends and stores nothing. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time;

use chrono::{DateTime, Duration, Utc};

use super::engine::{Delivery, Engine, Input};
use super::notice::Notice;
use super::remembered::Remembered;
use super::settings::Watcher;
use crate::model::forecast::{self, Disconnect};
use crate::model::{Collector, Edd, KnownAccount, Moments, Money, PollEnd, Profile, Read, Report, Snapshot};

/// What is mailed at one moment, and what is known then.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub at: DateTime<Utc>,
    pub notice: Notice,
    pub snapshot: Snapshot,
}

/// Walks from `now` to a day past the disconnect. The report stays as it is but for the charges that
/// time has passed: at each moment it is the one that the provider would give then.
///
/// Starts with nothing mailed; a running daemon would not repeat what it has mailed already.
pub(crate) fn rehearse(
    profile: &Profile,
    report: &Report,
    watcher: &Watcher,
    now: DateTime<Utc>,
) -> Vec<Told> {
    let name = profile.name.clone();
    // Only the report is read, so no other collector is waited for.
    let profile = Profile { collectors: [Collector::ExpectedBalance].into(), ..profile.clone() };
    let mut known = KnownAccount::new(Arc::new(profile));
    let watchers = BTreeMap::from([(name.clone(), watcher.clone())]);
    let mut engine = Engine::new(watchers, Remembered::default(), true, None, now);
    let mut told = Vec::new();
    for (at, polled) in moments(report, &watcher.settings.disconnect_days, now) {
        let mut inputs = vec![Input::Tick(Delivery::default())];
        if polled {
            let observed = known.apply(Read::ExpectedBalance(seen_at(report, at)), at);
            let end = PollEnd { duration: time::Duration::ZERO, failure: None, complete: true };
            known.end(Collector::ExpectedBalance, end, at);
            let ended = Some(Collector::ExpectedBalance);
            inputs.insert(0, Input::Poll { account: name.clone(), observed, ended });
        }
        let snapshot = Snapshot { accounts: [(name.clone(), known.publish())].into() };
        for input in inputs {
            let mut outcome = engine.step(&input, &snapshot, at);
            let notices = std::mem::take(&mut outcome.notices);
            engine.commit(outcome, threads(&notices));
            told.extend(notices.into_iter().map(|notice| Told { at, notice, snapshot: snapshot.clone() }));
        }
    }
    told
}

/// The report of an account whose money lasts so many days from `now`: its balances are shifted so that
/// the first charge from then on cannot be paid.
pub(crate) fn lasting(report: &Report, days: u32, now: DateTime<Utc>) -> Report {
    let at = now + Duration::days(i64::from(days));
    let mut report = report.clone();
    let unpaid = report.moments.before(at);
    let shift = report.moments.get(unpaid).map(|moment| -moment.balance);
    report.moments.edit(|moments| {
        for moment in moments {
            moment.balance += shift.unwrap_or(Money::ZERO);
            moment.positive = Some(moment.balance.is_positive());
        }
    });
    report.expected_balance = report.expected_balance.map(|balance| balance + shift.unwrap_or(Money::ZERO));
    report.edd = Edd::At(at);
    report
}

/// A report that says no more than that the money lasts so many days: where none could be read.
pub(crate) fn bare(days: u32, now: DateTime<Utc>) -> Report {
    let at = now + Duration::days(i64::from(days));
    Report {
        date: Some(at + Duration::days(1)),
        edd: Edd::At(at),
        error: None,
        expected_balance: None,
        moments: Moments::default(),
        orders: Vec::new(),
        moments_rejected: 0,
    }
}

/// When the engine is asked, and whether it gets a report then: at each rung, and by the clock alone
/// once a day in between.
fn moments(report: &Report, rungs: &[u32], now: DateTime<Utc>) -> BTreeMap<DateTime<Utc>, bool> {
    let end = match forecast::disconnect(report) {
        Disconnect::At { at, .. } => at.max(now),
        Disconnect::Now | Disconnect::NotExpected | Disconnect::Unknown => now,
    };
    let crossed = rungs.iter().map(|&rung| end - Duration::days(i64::from(rung)));
    let polled: BTreeSet<DateTime<Utc>> = crossed.chain([now, end]).filter(|&at| at >= now).collect();
    let days = (end - now).num_days() + 1;
    // What is mailed while it stays cut off is another matter.
    let last = end + Duration::days(1);
    let daily = (1..=days).map(|day| now + Duration::days(day)).filter(|&at| at < last).map(|at| (at, false));
    let mut moments: BTreeMap<DateTime<Utc>, bool> = daily.collect();
    moments.extend(polled.into_iter().map(|at| (at, true)));
    moments
}

/// The report as the provider would give it later, with nothing paid: charges that were made are gone.
fn seen_at(report: &Report, at: DateTime<Utc>) -> Report {
    let made = report.moments.until(at);
    Report {
        moments: report.moments.iter_from(made).collect(),
        orders: report.orders.clone(),
        date: report.date,
        edd: report.edd,
        error: report.error.clone(),
        expected_balance: report.expected_balance,
        moments_rejected: report.moments_rejected,
    }
}

/// As if each mail had gone out: later ones refer to it.
fn threads(notices: &[Notice]) -> Vec<(super::Key, String, String)> {
    let mut threads = Vec::new();
    for notice in notices {
        for item in &notice.items {
            let new = notice.to.iter().filter(|to| !item.threads.contains_key(*to));
            threads.extend(
                new.map(|to| (item.key.clone(), to.clone(), format!("{}@rehearsal", item.event_key()))),
            );
        }
    }
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{AlertSettings, Event, Severity};
    use crate::model::forecast::tests::{money, report, t};

    fn now() -> DateTime<Utc> {
        t("2026-03-01T12:00:00")
    }

    fn profile() -> Profile {
        Profile {
            name: "main".parse().unwrap(),
            currency: String::new(),
            time_zone: Some(chrono_tz::UTC),
            lead_days: 3,
            vm_memory_unit_bytes: None,
            collectors: Collector::ALL.into(),
            stale_after: BTreeMap::new(),
            guide: Default::default(),
        }
    }

    fn walk(report: &Report, settings: AlertSettings) -> Vec<(String, Event, Severity)> {
        let watcher = Watcher { settings: settings.into(), to: vec!["ops@example.com".into()] };
        let told = rehearse(&profile(), report, &watcher, now());
        told.iter()
            .flat_map(|told| {
                told.notice.items.iter().map(|item| {
                    (told.at.format("%m-%d %H:%M").to_string(), item.event.clone(), item.severity)
                })
            })
            .collect()
    }

    #[test]
    fn every_rung_is_told_once_at_its_moment() {
        use Severity::{Critical, Warning};
        // Used up by the charge of 26 March, 11:00.
        let dry = report("250", "10", 90, Edd::Null);
        let rung = |at: &str, days, severity| (at.to_owned(), Event::Rung(days), severity);
        let want = [
            rung("03-12 11:00", 14, Warning),
            rung("03-19 11:00", 7, Warning),
            rung("03-22 11:00", 4, Critical),
            rung("03-23 11:00", 3, Critical),
            rung("03-25 11:00", 1, Critical),
            rung("03-26 11:00", 0, Critical),
        ];
        assert_eq!(walk(&dry, AlertSettings::defaults()), want);
        let dated = Report { edd: Edd::At(t("2026-03-26T11:00:00")), ..dry };
        assert_eq!(walk(&dated, AlertSettings::defaults()), want);
        // Two rungs are behind: one mail now, of the tighter.
        let near = walk(&report("50", "10", 90, Edd::Null), AlertSettings::defaults());
        assert_eq!(near[0], rung("03-01 12:00", 7, Warning));
        assert_eq!(near.len(), 5, "{near:?}");
        assert_eq!(walk(&report("5000", "10", 90, Edd::Null), AlertSettings::defaults()), []);
    }

    #[test]
    fn reports_of_later_days_lack_the_charges_made_by_then() {
        let watcher =
            Watcher { settings: AlertSettings::defaults().into(), to: vec!["ops@example.com".into()] };
        let told = rehearse(&profile(), &report("250", "10", 90, Edd::Null), &watcher, now());
        let balances = told.iter().map(|told| {
            let state = told.snapshot.accounts.values().next().unwrap();
            forecast::balance_now(state.billing.report.as_deref().unwrap()).unwrap()
        });
        let want = ["140", "70", "40", "30", "10", "0"].map(money);
        assert_eq!(balances.collect::<Vec<_>>(), want);
        let state = told[0].snapshot.accounts.values().next().unwrap();
        assert_eq!(state.profile.collectors, [Collector::ExpectedBalance].into(), "nothing else is missing");
    }

    #[test]
    fn the_walk_looks_daily_and_ends_past_the_disconnect() {
        let end = t("2026-03-26T11:00:00");
        let all = moments(&report("250", "10", 90, Edd::Null), &[7], now());
        let last = *all.keys().last().unwrap();
        assert!(last > end && last <= end + Duration::days(1), "{last}");
        for day in 1..=25 {
            assert!(!all[&(now() + Duration::days(day))], "day {day} by the clock alone");
        }
        assert!(all[&now()] && all[&end] && all[&(end - Duration::days(7))]);
        assert_eq!(all.len(), 25 + 3);
    }

    #[test]
    fn later_mails_answer_earlier_ones() {
        let watcher =
            Watcher { settings: AlertSettings::defaults().into(), to: vec!["ops@example.com".into()] };
        let told = rehearse(&profile(), &report("250", "10", 90, Edd::Null), &watcher, now());
        let answered = told.iter().map(|told| told.notice.items[0].threads.get("ops@example.com"));
        let answered: Vec<Option<&str>> = answered.map(|id| id.map(String::as_str)).collect();
        let (first, last_day) =
            ("main/disconnect/account#1#rung:14@rehearsal", "main/disconnect/account#1#rung:4@rehearsal");
        let want = [None, Some(first), None, Some(last_day), Some(last_day), Some(last_day)];
        assert_eq!(answered, want, "a new thread from the last day on");
    }

    #[test]
    fn supposed_reports() {
        let real = report("5000", "10", 90, Edd::Null);
        let supposed = lasting(&real, 9, now());
        assert_eq!(
            forecast::disconnect(&supposed),
            Disconnect::At { at: t("2026-03-10T12:00:00"), computed: false }
        );
        assert_eq!(forecast::first_unpaid(&supposed), Some(t("2026-03-11T11:00:00")), "the next charge");
        assert_eq!(forecast::does_not_add_up(&supposed), None);
        assert_eq!(walk(&supposed, AlertSettings::defaults()).len(), 6);
        assert_eq!(bare(20, now()).date, Some(t("2026-03-22T12:00:00")), "a day beyond the disconnect");
        for days in [0, 1, 20, 700] {
            let events = walk(&bare(days, now()), AlertSettings::defaults());
            assert_eq!(events.last().map(|event| &event.1), Some(&Event::Rung(0)), "{days}");
            assert_eq!(walk(&lasting(&real, days, now()), AlertSettings::defaults()), events, "{days}");
        }
    }
}
