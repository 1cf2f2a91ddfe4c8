//! Disconnect mails: amounts, days, dates that disagree.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{CutOff, Event, Form, Kind, Severity};
use crate::mail::{Context, render};
use crate::model::*;
use account::*;
use chrono::Duration;
use mail_support::catalogue::billing::running_dry;
use mail_support::catalogue::overview;
use mail_support::*;

/// The report names one date, and its charges lead to another.
#[test]
fn dates_that_disagree_are_both_told() {
    let but = |edd: &str, balance: &str| {
        let mut book = running_dry();
        book.apply(
            Read::ExpectedBalance(Report { edd: Edd::At(t(edd)), ..report(balance, "10.00") }),
            read_at(),
        );
        let item = disconnect(Event::Rung(7), Severity::Warning, Some(cut_off(edd)));
        let text = text(&mail_about(item, &book)).replace("\n  ", " ");
        let row = text.split("But by the charges in the report the balance ").nth(1)?;
        Some(row.split('.').next().unwrap().to_owned())
    };
    for (edd, balance, want) in [
        ("2026-03-04T11:00:00", "25.50", None),
        ("2026-03-05T11:00:00", "25.50", None),
        ("2026-03-03T11:00:00", "25.50", None),
        ("2026-03-05T11:00:01", "25.50", Some("is used up Wed 4 Mar 14:00 MSK; to be safe, pay now")),
        ("2026-03-03T10:59:59", "25.50", Some("is used up Wed 4 Mar 14:00 MSK")),
        ("2026-03-04T11:00:00", "5000.50", None),
    ] {
        assert_eq!(but(edd, balance).as_deref(), want, "{edd}, {balance} left");
    }
}

#[test]
fn orders_that_have_no_row_are_counted() {
    let mut bills = report("25.50", "3.335");
    bills.orders = bills.orders.iter().cycle().take(6).cloned().collect();
    let mut moments: Vec<_> = bills.moments.iter().take(31).collect();
    for (index, moment) in (0..).zip(&mut moments) {
        moment.order = Some(index % 6);
    }
    bills.moments = moments.into_iter().collect();
    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(bills), read_at());
    let item = disconnect(Event::Rung(7), Severity::Warning, Some(computed("2026-03-04T11:00:00")));
    let text = text(&mail_about(item, &book));
    let section = text.split("What costs most").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(section.ends_with("\n  and 1 more"), "{section}");
}

#[test]
fn the_last_mail_says_so() {
    let said = |rung, vm: &str, account: &str, tightest: u32| {
        let profile = Profile { tightest_rung: tightest, ..profile("main") };
        let (from, snapshot) = (from(), snapshot([&running_dry().with_profile(profile.into())]));
        let item = disconnect(Event::Rung(rung), Severity::Critical, Some(cut_off("2026-03-02T11:00:00")));
        let lives_on = Some(overview::here(account, vm));
        let context = Context { lives_on, ..context(&from, &snapshot) };
        text(&render(&notice(Form::News, vec![item]), ID, &context).unwrap())
            .contains("hostwatch itself runs on db-1: no mail after")
    };
    for (rung, account, tightest, want) in [
        (3, "main", 1, false),
        (1, "main", 1, true),
        (0, "main", 1, true),
        (4, "main", 4, true),
        (1, "shop", 1, false),
    ] {
        assert_eq!(said(rung, "db-1", account, tightest), want, "{rung} {account} {tightest}");
    }
}

/// At a first start the balance may be known before the sites are.
#[test]
fn unread_sites_do_not_count_as_no_sites() {
    let mut book = book(profile("main"));
    book.apply(Read::Containers(all(vec![container(31, "ENABLED"), container(47, "ENABLED")])), read_at());
    book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    let said = |book: &KnownAccount| {
        let item = disconnect(Event::Rung(3), Severity::Critical, Some(cut_off("2026-03-04T11:00:00")));
        text(&mail_about(item, book)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = said(&book);
    assert!(text.contains("Sites: Not known: not read yet"), "{text}");
    book.apply(Read::Sites(ContainerId::new(31), all(vec![site(104, 31, "Active")])), read_at());
    let text = said(&book);
    assert!(
        text.contains("1 site: site104.example.com") && text.contains("Sites of 1 container not read yet."),
        "{text}"
    );
}

/// The end comes a report after the payment, and says what arrived all the same.
#[test]
fn the_end_of_a_cut_off_after_a_payment_is_a_receipt() {
    let said_after = |hours| {
        let over = paid(CutOff::default(), "3000", now() - Duration::hours(hours));
        text(&mail_about(disconnect(Event::Resolved, Severity::Critical, Some(over)), &full("main")))
    };
    let said = said_after(1);
    assert!(said.contains("3\u{202f}000.00\u{a0}RUB more than forecast, seen Sun 1 Mar 14:00 MSK"), "{said}");
    assert!(said.contains("Next 30 days"), "{said}");
    assert!(!said_after(49).contains("more than forecast"), "an older payment has its own mail");
}

/// Every mail about money says where to pay, except for the end of such an incident.
#[test]
fn mails_about_money_name_the_place_to_pay() {
    for kind in [Kind::BalanceDrop, Kind::OrderSuspended] {
        for (event, form) in [(Event::Opened, Form::News), (Event::Resolved, Form::News)] {
            let pays = event == Event::Opened;
            let one = item(kind, 71, "Order 71", event);
            let text = text(&catalogue::billing::with_links(&notice(form, vec![one])));
            assert!(text.contains("\nAnn pays; contract 4711\n"), "{kind}: {text}");
            assert_eq!(text.contains("\nPay:         https://pay.example.com/\n"), pays, "{kind}: {text}");
        }
    }
}

#[test]
fn the_chart_is_a_picture_inside_of_the_mail() {
    let rendered = catalogue::find("disconnect_rung_3");
    let message = parse(&rendered);
    let chart = message.attachment(0).unwrap();
    assert!(chart.contents().starts_with(b"\x89PNG"));
    let id = mail_parser::MimeHeaders::content_id(chart).unwrap();
    assert!(html(&rendered).contains(&format!("src=\"cid:{id}\"")));
    assert!(!html(&rendered).contains("=\"http"), "nothing is fetched from elsewhere");
}
