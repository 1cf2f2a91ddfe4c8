//! Disconnect mails: amounts, days, dates that disagree.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use std::sync::Arc;

use crate::alert::{Event, Form, Item, Severity};
use crate::mail::{Context, LivesOn, render};
use crate::model::*;
use account::*;
use mail_support::catalogue::billing::{ladder, running_dry};
use mail_support::*;

fn rendered(item: Item, book: &KnownAccount) -> crate::mail::Rendered {
    mail(&notice(Form::Disconnect, vec![item]), &snapshot([book]))
}

#[test]
fn the_amounts_are_those_of_the_contract() {
    let rendered = catalogue::find("disconnect_rung_3");
    let words: Vec<String> = text(&rendered).split_whitespace().map(str::to_owned).collect();
    for amount in ["45", "275", "875"] {
        assert!(words.windows(2).any(|pair| pair == [amount, "RUB"]), "{amount} RUB in {words:?}");
    }
}

/// The report names one date, its charges lead to another.
#[test]
fn dates_that_disagree_are_both_told() {
    let but = |edd: &str, balance: &str| {
        let mut book = running_dry();
        book.apply(
            Read::ExpectedBalance(Report { edd: Edd::At(t(edd)), ..report(balance, "10.00") }),
            read_at(),
        );
        let item = disconnect(Event::Rung(7), Severity::Warning, Some(ladder(edd)));
        let text = text(&rendered(item, &book));
        let row = text.split("  But: ").nth(1)?;
        Some(row.split("  Pay by:").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let charges = "By the charges in the report the balance is used up 2026-03-04 14:00 MSK";
    for (edd, balance, want) in [
        ("2026-03-04T11:00:00", "25.50", None),
        ("2026-03-05T11:00:00", "25.50", None),
        ("2026-03-03T11:00:00", "25.50", None),
        (
            "2026-03-05T11:00:01",
            "25.50",
            Some(format!("{charges}; to be safe, pay today (Sunday 2026-03-01)")),
        ),
        ("2026-03-03T10:59:59", "25.50", Some(charges.to_owned())),
        (
            "2026-03-04T11:00:00",
            "5000.50",
            Some("By the charges in the report the balance lasts beyond its end, 2026-05-31".to_owned()),
        ),
    ] {
        assert_eq!(but(edd, balance), want, "{edd}, {balance} left");
    }
}

#[test]
fn the_last_mail_says_so() {
    let said = |rung, vm: &str, account: &str, tightest: Option<u32>| {
        let (from, snapshot) = (from(), snapshot([&running_dry()]));
        let item = disconnect(Event::Rung(rung), Severity::Critical, Some(ladder("2026-03-02T11:00:00")));
        let tightest_rungs = tightest.map(|rung| ("main".parse().unwrap(), rung)).into_iter().collect();
        let lives_on = Some(LivesOn { account: account.parse().unwrap(), vm: vm.to_owned() });
        let context = Context { lives_on, tightest_rungs, ..context(&from, &snapshot) };
        text(&render(&notice(Form::Disconnect, vec![item]), &context).unwrap()).contains("my last mail")
    };
    for (rung, account, tightest, want) in [
        (3, "main", None, false),
        (1, "main", None, true),
        (0, "main", None, true),
        (4, "main", Some(4), true),
        (1, "shop", None, false),
    ] {
        assert_eq!(said(rung, "db-1", account, tightest), want, "{rung} {account} {tightest:?}");
    }
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
        // Midnight there: the 10th begins in the dark.
        ("2026-03-09T21:00:00", "Friday 2026-03-06"),
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
