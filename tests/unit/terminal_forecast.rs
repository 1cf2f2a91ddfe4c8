//! `hostwatch forecast` as text: reports of every sort. properties/terminal.rs tries other widths.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use std::sync::Arc;

use crate::alert::{Kind, Phase, Severity};
use crate::model::forecast::Disconnect;
use crate::model::*;
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Answer, Forecasts, Style};
use crate::view::{About, Alerting, IncidentRow, Query, Reader, Status};
use account::*;

const HOSTILE: &str = "sh\u{1b}[2Jop\r\n\u{202e}\u{9b}31m and a name that goes on for longer than any line";

fn forecast(name: &str, report: Report) -> AccountForecast {
    AccountForecast::new(&profile(name), Ok(Arc::new(report)), read_at())
}

fn of(accounts: Vec<AccountForecast>) -> Forecasts {
    Forecasts::new(accounts, read_at())
}

/// The forecasts of a daemon that has read these accounts and mailed these cut-offs.
fn of_daemon(
    books: &[KnownAccount],
    incidents: impl IntoIterator<Item = IncidentRow>,
    now: chrono::DateTime<chrono::Utc>,
) -> Forecasts {
    let alerting = Alerting { incidents: incidents.into_iter().collect(), ..Alerting::default() };
    let about = About { version: "", commit: "", started_at: now };
    let reader = Reader::new(Language::En, now);
    let status = Status::new(&snapshot(books), &alerting, &about, &Query::default(), reader);
    let accounts = status.accounts.into_iter().map(|account| AccountForecast::of_daemon(account, now));
    Forecasts::new(accounts.collect(), now)
}

/// The incident of a cut-off that was mailed.
fn mailed(at: chrono::DateTime<chrono::Utc>) -> IncidentRow {
    let cut_off = Some(Disconnect::At { at, computed: false });
    IncidentRow { cut_off, ..incident_row("main", Kind::Disconnect, Severity::Critical, Phase::Firing) }
}

fn text(forecasts: &Forecasts, width: usize) -> String {
    forecasts.text(Style { width, colour: false })
}

/// The money lasts three weeks; one order has a hostile name.
fn running_dry() -> Report {
    let mut report = report("225.50", "10.00");
    Arc::make_mut(&mut report.orders[0]).comment = Some(HOSTILE.into());
    report
}

#[test]
fn an_account_that_runs_dry() {
    let forecasts = of(vec![forecast("main", running_dry())]);
    assert_eq!(forecasts.answer, Answer::Fine, "a payment arrives in time");
    let coloured = forecasts.text(Style { width: 80, colour: true });
    insta::assert_snapshot!("forecast_dry_colour", coloured.replace('\u{1b}', "␛"));
}

#[test]
fn an_account_that_is_paid_for() {
    let forecasts = of(vec![forecast("main", report("5000.50", "10.25"))]);
    assert_eq!(forecasts.answer, Answer::Fine);
    insta::assert_snapshot!("forecast_paid_80", text(&forecasts, 80));
}

#[test]
fn the_data_of_an_account_that_is_off_are_deleted_on_a_day() {
    let off = |deleted_at| {
        let incident = IncidentRow { deleted_at, ..mailed(t("2026-02-25T11:00:00")) };
        let forecasts = of_daemon(&[known("main", report("-5", "10"))], [incident], read_at());
        let json =
            serde_json::to_value(&forecasts).unwrap()["accounts"][0]["billing"]["data_deleted_at"].take();
        (text(&forecasts, 80), json)
    };
    let (said, json) = off(Some(t("2026-03-11T11:00:00")));
    assert!(said.contains("Data deleted  Wed 11 Mar 14:00 MSK (in 9 d 23 h)"), "{said}");
    assert_eq!(json, serde_json::json!("2026-03-11T11:00:00Z"));
    let (said, json) = off(None);
    assert!(!said.contains("deleted") && json.is_null(), "{said}");
}

fn known(name: &str, report: Report) -> KnownAccount {
    let mut known = book(profile(name));
    known.apply(Read::ExpectedBalance(report), read_at());
    known
}

#[test]
fn the_daemons_last_reading() {
    let four_days_on = read_at() + chrono::Duration::days(4);
    let read = |name: &str, balance: &str, error: Option<&str>| {
        let mut known = known(name, report(balance, "10.00"));
        known.end(Collector::ExpectedBalance, ended(error), four_days_on);
        known
    };
    let forecasts = |books: &[KnownAccount]| of_daemon(books, [], four_days_on);
    let error = Some("no answer within 30 s");
    assert_eq!(forecasts(&[read("main", "5000.50", None)]).answer, Answer::Fine);
    let paid = forecasts(&[read("main", "5000.50", error)]);
    assert_eq!(paid.answer, Answer::Unknown, "nobody knows whether it still holds");
    for (days, answer) in [(20, Answer::Fine), (2, Answer::NeedsYou)] {
        let mailed = mailed(four_days_on + chrono::Duration::days(days));
        let forecasts = of_daemon(&[read("main", "225.50", None)], [mailed], four_days_on);
        assert_eq!(forecasts.answer, answer, "the mailed date holds");
    }
    let unread = forecasts(&[book(profile("main"))]);
    assert_eq!(unread.answer, Answer::Unknown);
    assert_eq!(unread.accounts[0].error.as_deref(), Some("the daemon has not read the balance"));
    let off = forecasts(&[book(Profile { collectors: [Collector::Vms].into(), ..profile("main") })]);
    let remedy = off.accounts[0].error.as_deref().unwrap_or_default();
    assert!(remedy.contains("billing_username") && remedy.contains("schedule.expected_balance"), "{remedy}");
    let dry = forecasts(&[read("main", "75.50", error)]);
    assert_eq!(dry.answer, Answer::NeedsYou);
    insta::assert_snapshot!("forecast_as_of_80", text(&dry, 80));
    let many = ["a", "b", "c", "d"].map(|name| read(name, "75.50", error));
    insta::assert_snapshot!("forecast_as_of_many_80", text(&forecasts(&many), 80));
    let json = serde_json::to_value(&dry).unwrap();
    let billing = &json["accounts"][0]["billing"];
    assert_eq!(
        (&json["accounts"][0]["error"], &billing["read_at"]),
        (
            &"cannot read the balance since Thu 5 Mar 15:00 MSK: no answer within 30 s".into(),
            &serde_json::to_value(read_at()).unwrap()
        )
    );
}

/// A newer report that contradicts the known cut-off without a proof.
#[test]
fn a_reading_that_no_newer_report_confirms() {
    let mut known = known("main", report("75.50", "10.00"));
    let vague = Report { edd: Edd::Unknown, ..report("5000", "10.00") };
    known.apply(Read::ExpectedBalance(vague), read_at());
    known.end(Collector::ExpectedBalance, ended(None), read_at());
    let forecasts = of_daemon(&[known], [], read_at());
    assert_eq!(
        forecasts.accounts[0].error.as_deref(),
        Some("the report's cut-off date is missing or not a date")
    );
}

#[test]
fn answers_that_need_somebody() {
    let edd = |text: &str| Edd::At(t(text));
    let soon = |text: &str| Report { edd: edd(text), ..report("100", "10") };
    let (mut broken, mut silent) = (report("100", "10"), report("5000", "10"));
    let mut moments: Vec<_> = broken.moments.iter().collect();
    moments[4].balance = money("7");
    broken.moments = moments.into_iter().collect();
    let unread = Report { moments_rejected: 2, whole_until: Some(t("2026-05-01")), ..broken.clone() };
    let one_unread = Report { moments_rejected: 1, ..unread.clone() };
    silent.edd = Edd::Unknown;
    let table = [
        // The date of the report, and the text about it.
        (
            soon("2026-03-13T11:00:00"),
            Answer::Fine,
            "Mon 9 Mar is the last safe day: a payment takes 3 days.\n",
        ),
        (soon("2026-03-11T11:00:00"), Answer::Fine, "Sat 7 Mar is the last safe day"),
        (soon("2026-03-05T11:00:00"), Answer::NeedsYou, "Today is the last safe day"),
        (soon("2026-03-03T11:00:00"), Answer::NeedsYou, "Payments take 3 days to arrive. Pay now"),
        (soon("2026-02-28T11:00:00"), Answer::NeedsYou, "now\n"),
        (report("-5", "10"), Answer::NeedsYou, "\u{2212}5.00 RUB"),
        (soon("2026-03-18T11:00:00"), Answer::Fine, "by the charges in the report the balance is used up"),
        (broken, Answer::Fine, "does not add up from"),
        (one_unread, Answer::Fine, "1 charge in the report could not be read"),
        (unread, Answer::Fine, "2 charges in the report could not be read"),
        (silent, Answer::Unknown, "not known (the report does not say)"),
    ];
    for (report, answer, words) in table {
        let forecasts = of(vec![forecast("main", report)]);
        let text = text(&forecasts, 120);
        assert!(
            forecasts.answer == answer && text.contains(words),
            "{words}: {:?}\n{text}",
            forecasts.answer
        );
    }
}

#[test]
fn several_accounts_stand_by_urgency() {
    let lost = AccountForecast::new(
        &profile("lost"),
        Err("reading the expected balance: the provider answered 401".into()),
        read_at(),
    );
    let accounts = || {
        vec![
            forecast("fine", report("5000", "10")),
            lost.clone(),
            forecast("later", running_dry()),
            forecast("soon", report("25.50", "10")),
        ]
    };
    let forecasts = of(accounts());
    assert_eq!(forecasts.answer, Answer::NeedsYou);
    let order: Vec<&str> = forecasts.accounts.iter().map(|account| account.account.as_str()).collect();
    assert_eq!(order, ["soon", "lost", "later", "fine"]);
    insta::assert_snapshot!("forecast_accounts_80", text(&forecasts, 80));
    assert_eq!(
        of(accounts()[..2].to_vec()).answer,
        Answer::Unknown,
        "one that is not known leaves nothing fine"
    );
}

#[test]
fn json_says_the_same() {
    let forecasts = of(vec![forecast("main", running_dry())]);
    insta::assert_snapshot!("forecast_json", serde_json::to_string_pretty(&forecasts).unwrap());
    let lost = AccountForecast::new(&profile("lost"), Err("no".into()), read_at());
    let json = serde_json::to_value(of(vec![lost])).unwrap();
    assert_eq!((&json["accounts"][0]["error"], &json["answer"]), (&"no".into(), &"unknown".into()));
    assert!(json["accounts"][0]["billing"].is_null());
}
