//! `hostwatch forecast` as text: reports of every sort. properties/terminal.rs tries other widths.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use std::sync::Arc;

use crate::model::forecast::Disconnect;
use crate::model::*;
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Answer, Forecasts, Style};
use crate::view::{LastReading, Reader};
use account::*;

const HOSTILE: &str = "sh\u{1b}[2Jop\r\n\u{202e}\u{9b}31m and a name that goes on for longer than any line";

fn forecast(name: &str, report: Report) -> AccountForecast {
    AccountForecast::new(&profile(name), Ok(Arc::new(report)), read_at())
}

fn of(accounts: Vec<AccountForecast>) -> Forecasts {
    Forecasts::new(accounts, read_at())
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
    let off = |deletion_days| {
        let mut report = report("-5", "10");
        report.edd = Edd::At(t("2026-02-25T11:00:00"));
        let one = forecast("main", report).deleted_after(deletion_days, read_at());
        let forecasts = of(vec![one]);
        let json =
            serde_json::to_value(&forecasts).unwrap()["accounts"][0]["billing"]["data_deleted_at"].take();
        (text(&forecasts, 80), json)
    };
    let (said, json) = off(14);
    assert!(said.contains("Data deleted  Wed 11 Mar 14:00 MSK (in 9 d 23 h)"), "{said}");
    assert_eq!(json, serde_json::json!("2026-03-11T11:00:00Z"));
    let (said, json) = off(0);
    assert!(!said.contains("deleted") && json.is_null(), "{said}");
    let ahead = forecast("main", running_dry()).deleted_after(14, read_at());
    assert_eq!(ahead.billing.unwrap().data_deleted_at, None, "not cut off yet");
}

#[test]
fn the_daemons_last_reading() {
    let four_days_on = read_at() + chrono::Duration::days(4);
    let of_daemon = |name: &str, balance: &str, error: Option<&str>| {
        let mut known = KnownAccount::new(Arc::new(profile(name)));
        known.apply(Read::ExpectedBalance(report(balance, "10.00")), read_at());
        known.end(Collector::ExpectedBalance, ended(error), four_days_on);
        LastReading::of(known.state(), [], Reader::new(Language::En, four_days_on)).unwrap()
    };
    let forecasts = |of: &[(&str, LastReading)]| {
        let of = of.iter().cloned();
        let of = of.map(|(name, last)| AccountForecast::of_daemon(&profile(name), last, four_days_on));
        Forecasts::new(of.collect(), four_days_on)
    };
    let error = Some("no answer within 30 s");
    assert_eq!(forecasts(&[("main", of_daemon("main", "5000.50", None))]).answer, Answer::Fine);
    let paid = forecasts(&[("main", of_daemon("main", "5000.50", error))]);
    assert_eq!(paid.answer, Answer::Unknown, "nobody knows whether it still holds");
    let day = |days| Disconnect::At { at: four_days_on + chrono::Duration::days(days), computed: false };
    for (days, answer) in [(20, Answer::Fine), (2, Answer::NeedsYou)] {
        let mailed = LastReading { cut_off: Some(day(days)), ..of_daemon("main", "225.50", None) };
        assert_eq!(forecasts(&[("main", mailed)]).answer, answer, "the mailed date holds");
    }
    let dry = forecasts(&[("main", of_daemon("main", "75.50", error))]);
    assert_eq!(dry.answer, Answer::NeedsYou);
    insta::assert_snapshot!("forecast_as_of_80", text(&dry, 80));
    let many = ["a", "b", "c", "d"].map(|name| (name, of_daemon(name, "75.50", error)));
    insta::assert_snapshot!("forecast_as_of_many_80", text(&forecasts(&many), 80));
    let json = serde_json::to_value(&dry).unwrap();
    let billing = &json["accounts"][0]["billing"];
    assert_eq!(
        (&json["accounts"][0]["error"], &billing["as_of"]),
        (
            &"cannot read the balance since Thu 5 Mar 15:00 MSK: no answer within 30 s".into(),
            &serde_json::to_value(read_at()).unwrap()
        )
    );
}

/// A newer report that contradicts the known cut-off without a proof.
#[test]
fn a_reading_that_no_newer_report_confirms() {
    let mut known = KnownAccount::new(Arc::new(profile("main")));
    known.apply(Read::ExpectedBalance(report("75.50", "10.00")), read_at());
    let vague = Report { edd: Edd::Unknown, ..report("5000", "10.00") };
    known.apply(Read::ExpectedBalance(vague), read_at());
    known.end(Collector::ExpectedBalance, ended(None), read_at());
    let last = LastReading::of(known.state(), [], Reader::new(Language::En, read_at())).unwrap();
    assert_eq!(last.error.as_deref(), Some("the report's cut-off date is missing or not a date"));
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
        (soon("2026-03-13T11:00:00"), Answer::Fine, "Mon 9 Mar (a payment takes 3 days)\n"),
        (
            soon("2026-03-11T11:00:00"),
            Answer::Fine,
            "Sat 7 Mar (a payment takes 3 days); a weekend: better by",
        ),
        (
            soon("2026-03-05T11:00:00"),
            Answer::NeedsYou,
            "today (a payment takes 3 days); a weekend: banks may be slower",
        ),
        (soon("2026-03-03T11:00:00"), Answer::NeedsYou, "now: Fri 27 Feb was the last safe day"),
        (soon("2026-02-28T11:00:00"), Answer::NeedsYou, "overdue: pay now"),
        (report("-5", "10"), Answer::NeedsYou, "\u{2212}5.00 RUB"),
        (soon("2026-03-18T11:00:00"), Answer::Fine, "by the charges in the report the balance is used up"),
        (broken, Answer::Fine, "does not add up from"),
        (one_unread, Answer::Fine, "1 charge in the report could not be read"),
        (unread, Answer::Fine, "2 charges in the report could not be read"),
        (silent, Answer::Unknown, "not known: the report does not tell"),
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
