//! How disconnect mails read: golden texts, and the amounts in them.
#![allow(clippy::unwrap_used)]

mod account;
mod mail_support;

use std::sync::Arc;

use account::*;
use chrono::Duration;
use hostwatch::alert::{Event, Form, Item, Ladder, Severity};
use hostwatch::model::*;
use mail_support::*;

/// The account of the contract's example: 25.50 left, 10 a day.
fn running_dry() -> AccountBook {
    let mut book = full("main");
    book.apply(Read::ExpectedBalance(report("125.50", "10.00")), read_at());
    book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    book
}

fn ladder(edd: &str) -> Ladder {
    Ladder { edd: Some(t(edd)), read_at: Some(read_at()), told: Some(t(edd)), ..Ladder::default() }
}

fn rendered(item: Item, book: &AccountBook) -> hostwatch::mail::Rendered {
    mail(&notice(Form::Disconnect, vec![item]), &snapshot([book]))
}

macro_rules! golden {
    ($name:literal, $rendered:expr) => {
        insta::assert_snapshot!($name, golden($name, &$rendered))
    };
}

#[test]
fn three_days_left() {
    let ladder = Ladder { computed: true, ..ladder("2026-03-04T11:00:00") };
    let mut item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder));
    item.reason = "the date moved 9 days nearer and crossed the 3-day rung".into();
    let rendered = rendered(item, &running_dry());
    let words: Vec<String> = text(&rendered).split_whitespace().map(str::to_owned).collect();
    for amount in ["45", "275", "875"] {
        assert!(words.windows(2).any(|pair| pair == [amount, "RUB"]), "{amount} RUB in {words:?}");
    }
    golden!("disconnect_rung_3", rendered);
}

#[test]
fn a_payment_still_arrives_and_the_last_day_is_a_weekend() {
    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(report("145.50", "10.00")), read_at());
    // A Wednesday; three days before it is a Sunday.
    let item = disconnect(Event::Rung(14), Severity::Warning, Some(ladder("2026-03-11T11:00:00")));
    golden!("disconnect_rung_14", rendered(item, &book));
}

#[test]
fn overdue() {
    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(report("-5.00", "10.00")), read_at());
    book.apply(Read::Vms(all(vec![vm(17, "blocked", "web-1"), vm(18, "active", "web-2")])), read_at());
    let ladder = Ladder { used_up: true, ..ladder("2026-02-28T11:00:00") };
    let mut item = disconnect(Event::Rung(0), Severity::Critical, Some(ladder));
    item.reason = "the balance is used up".into();
    golden!("disconnect_overdue", rendered(item, &book));
}

#[test]
fn the_date_moved_back() {
    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(report("225.50", "10.00")), read_at());
    let mut item = disconnect(
        Event::Extended("2026-03-24".parse().unwrap()),
        Severity::Warning,
        Some(ladder("2026-03-24T11:00:00")),
    );
    item.reason = "the date moved back to 2026-03-24".into();
    golden!("disconnect_extended", rendered(item, &book));
}

#[test]
fn resolved() {
    let mut item = disconnect(Event::Resolved, Severity::Critical, None);
    item.reason = "seen right often enough".into();
    item.since = now() - Duration::days(3);
    golden!("disconnect_resolved", rendered(item, &full("main")));
}

#[test]
fn during_poll_failures_the_date_is_labelled() {
    let mut book = running_dry();
    book.end(Collector::ExpectedBalance, ended(Some("GET expected-balance: 502")), now());
    let item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder("2026-03-04T11:00:00")));
    let lead = text(&rendered(item, &book)).lines().next().unwrap().to_owned();
    assert!(lead.contains("(as of 2026-03-01 15:00 MSK)"), "{lead}");
}

#[test]
fn without_a_report_it_says_so() {
    let book = book(profile("main"));
    let item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder("2026-03-04T11:00:00")));
    let rendered = rendered(item, &book);
    let text = text(&rendered);
    assert!(
        text.starts_with("Account main will be disconnected on Wednesday 2026-03-04 14:00 MSK"),
        "{text}"
    );
    assert!(text.contains("how much to pay is not known"), "{text}");
    assert_eq!(parse(&rendered).attachment_count(), 0);
}

#[test]
fn the_day_to_pay_by() {
    for (edd, want) in [
        ("2026-03-04T11:00:00", "Today, Sunday 2026-03-01"),
        ("2026-03-05T11:00:00", "Monday 2026-03-02 (a payment takes 3 days) Balance:"),
        ("2026-03-03T11:00:00", "Overdue: Saturday 2026-02-28 was the last safe day"),
        (
            "2026-03-10T11:00:00",
            "Saturday 2026-03-07 (a payment takes 3 days). That is a weekend: better by Friday 2026-03-06",
        ),
        // Half an hour before midnight at Moscow: the day is Moscow's.
        ("2026-03-09T20:30:00", "Friday 2026-03-06"),
        ("2026-03-09T21:30:00", "Saturday 2026-03-07"),
    ] {
        let item = disconnect(Event::Rung(14), Severity::Warning, Some(ladder(edd)));
        let text = text(&rendered(item, &running_dry()));
        let row = text.split("  Pay by:").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(row.starts_with(want), "{edd}: {row}");
    }
}

#[test]
fn names_of_orders_change_no_markup() {
    let nasty = "<img src=x>\r\nBcc: evil@example.org\u{202e}";
    let mut bad = report("25.50", "10.00");
    for order in &mut bad.orders {
        *order = Arc::new(Order { comment: Some(nasty.into()), ..Order::clone(order) });
    }
    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(bad), read_at());
    book.apply(Read::Vms(all(vec![vm(17, "active", nasty)])), read_at());
    let item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder("2026-03-04T11:00:00")));
    let rendered = rendered(item, &book);
    let page = html(&rendered);
    assert!(!page.contains("<img src=x") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&#60;img src=x&#62; Bcc: evil@example.org"), "{page}");
}

#[test]
fn the_chart_is_a_picture_inside_of_the_mail() {
    let item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder("2026-03-04T11:00:00")));
    let rendered = rendered(item, &running_dry());
    let message = parse(&rendered);
    let chart = message.attachment(0).unwrap();
    assert!(chart.contents().starts_with(b"\x89PNG"));
    let id = mail_parser::MimeHeaders::content_id(chart).unwrap();
    let page = html(&rendered);
    assert!(page.contains(&format!("src=\"cid:{id}\"")), "{page}");
    assert!(
        page.contains("alt=\"Balance to come: 25.50 RUB now, -874.50 RUB expected on 2026-05-31"),
        "{page}"
    );
    assert!(!page.contains("http"), "nothing is fetched from elsewhere");
}
