//! Disconnect mails: amounts, days, dates that disagree.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use std::sync::Arc;

use crate::alert::{Event, Form, Item, Kind, Ladder, Severity};
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

/// A mail that was held back leaves later than its event says.
#[test]
fn the_days_until_the_deletion_are_counted_from_the_mail() {
    let subject = |days, deleted_at: &str| {
        let off = Ladder { deleted_at: Some(t(deleted_at)), ..ladder("2026-02-25T11:00:00") };
        rendered(disconnect(Event::Deletion(days), Severity::Critical, Some(off)), &full("main")).subject
    };
    for (days, deleted_at, words) in [
        (7, "2026-03-08T11:59:00", "Data deleted Sun 8 Mar, in 7 days"),
        (7, "2026-03-07T11:59:00", "Data deleted Sat 7 Mar, in 6 days"),
        (3, "2026-03-02T11:00:00", "Data deleted Mon 2 Mar, in 1 day"),
        (1, "2026-03-01T20:00:00", "Data deleted today"),
        (0, "2026-03-01T11:00:00", "Data deleted today"),
        (0, "2026-02-27T11:00:00", "Data were to be deleted Fri 27 Feb"),
    ] {
        let subject = subject(days, deleted_at);
        assert!(subject.starts_with(&format!("[CRITICAL] {words} (")), "{days}, {deleted_at}: {subject}");
    }
}

/// To somebody who heard of nothing before: what was, and from when to when.
#[test]
fn the_end_of_a_cut_off_that_nobody_heard_of_says_what_was() {
    let off = |ladder: Ladder| Ladder { rung: Some(0), ..ladder };
    let used_up = off(Ladder { used_up: true, gone: true, ..Ladder::default() });
    let table = [
        (
            off(ladder("2026-02-28T11:00:00")),
            "[RESOLVED] Was overdue Sat 28 Feb 14:00 - Sun 1 Mar 15:00; no cut-off before 31 May (main)",
            "Already over: the account was overdue Sat 28 Feb 14:00 - Sun 1 Mar 15:00 MSK, 1 d 1 h. No cut-off before",
        ),
        (
            used_up,
            "[RESOLVED] Was overdue 14:58-15:00; no cut-off before 31 May (main)",
            "Already over: the account was overdue Sun 1 Mar 14:58-15:00 MSK, 2 min. No cut-off before",
        ),
        (
            ladder("2026-03-04T11:00:00"),
            "[RESOLVED] Cut-off was due Wed 4 Mar; no cut-off before 31 May (main)",
            "Already over: a cut-off was due Wed 4 Mar 14:00 MSK. No cut-off before",
        ),
    ];
    for (ladder, subject, lead) in table {
        let item = disconnect(Event::WasDown, Severity::Critical, Some(ladder.clone()));
        let rendered = rendered(item, &full("main"));
        assert_eq!(rendered.subject, subject);
        let text = text(&rendered).replace('\n', " ");
        assert!(text.starts_with(lead), "{text}");
        // Whoever was told knows what was.
        let told = mail(
            &notice(Form::Disconnect, vec![disconnect(Event::Resolved, Severity::Critical, Some(ladder))]),
            &snapshot([&full("main")]),
        );
        assert_eq!(told.subject, "[RESOLVED] No cut-off before 31 May (main)");
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
        let text = text(&rendered(item, &book)).replace("\n  ", " ");
        let row = text.split("But by the charges in the report the balance ").nth(1)?;
        Some(row.split('.').next().unwrap().to_owned())
    };
    for (edd, balance, want) in [
        ("2026-03-04T11:00:00", "25.50", None),
        ("2026-03-05T11:00:00", "25.50", None),
        ("2026-03-03T11:00:00", "25.50", None),
        ("2026-03-05T11:00:01", "25.50", Some("is used up Wed 4 Mar 14:00 MSK; to be safe, pay today")),
        ("2026-03-03T10:59:59", "25.50", Some("is used up Wed 4 Mar 14:00 MSK")),
        ("2026-03-04T11:00:00", "5000.50", Some("lasts beyond its end, Sun 31 May")),
    ] {
        assert_eq!(but(edd, balance).as_deref(), want, "{edd}, {balance} left");
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
        text(&render(&notice(Form::Disconnect, vec![item]), &context).unwrap())
            .contains("hostwatch itself runs on db-1: no mail after")
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
    assert!(lead.contains("(as of Sun 1 Mar 15:00 MSK)"), "{lead}");
}

#[test]
fn without_a_report_it_says_so() {
    let book = book(profile("main"));
    let item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder("2026-03-04T11:00:00")));
    let rendered = rendered(item, &book);
    let text = text(&rendered);
    assert!(
        text.starts_with(
            "Cut-off Wed 4 Mar 14:00 MSK, in 2 d 23 h (as of Sun 1 Mar 15:00 MSK): pay today; how much"
        ),
        "{text}"
    );
    assert!(text.contains("how much is not known, no report could be read yet"), "{text}");
    assert_eq!(parse(&rendered).attachment_count(), 0);
}

#[test]
fn the_day_to_pay_by() {
    for (edd, want) in [
        (
            "2026-03-04T11:00:00",
            "Today is the last safe day: a payment takes 3 days. That is a weekend: banks may be slower.",
        ),
        ("2026-03-05T11:00:00", "Mon 2 Mar is the last safe day: a payment takes 3 days. "),
        ("2026-03-03T11:00:00", "Too late to be safe (Sat 28 Feb was the last safe day): pay now."),
        (
            "2026-03-10T11:00:00",
            "Sat 7 Mar is the last safe day: a payment takes 3 days. That is a weekend: better by Fri 6 Mar.",
        ),
        // Half an hour before midnight at Moscow: the day is Moscow's.
        ("2026-03-09T20:30:00", "Fri 6 Mar is the last safe day"),
        ("2026-03-09T21:30:00", "Sat 7 Mar is the last safe day"),
        // Midnight there: the 10th begins in the dark.
        ("2026-03-09T21:00:00", "Fri 6 Mar is the last safe day"),
    ] {
        let item = disconnect(Event::Rung(14), Severity::Warning, Some(ladder(edd)));
        let text = text(&rendered(item, &running_dry())).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(want), "{edd}: {text}");
    }
}

/// At a first start the balance may be known before the sites are.
#[test]
fn sites_that_were_not_read_are_not_none() {
    use super::account::{all, container, site};
    use crate::model::ContainerId;
    let mut book = book(profile("main"));
    book.apply(Read::Containers(all(vec![container(31, "ENABLED"), container(47, "ENABLED")])), read_at());
    book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    let said = |book: &KnownAccount| {
        let (from, snapshot) = (from(), snapshot([book]));
        let item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder("2026-03-04T11:00:00")));
        let mail = render(&notice(Form::Disconnect, vec![item]), &context(&from, &snapshot)).unwrap();
        text(&mail).split_whitespace().collect::<Vec<_>>().join(" ")
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

/// Where to pay comes before everything else that follows the first line.
#[test]
fn where_to_pay_stands_below_the_first_line_and_the_key_at_the_end() {
    let guide = Guide {
        panel_link: Some("https://panel.example.com/{kind}/{id}".into()),
        pay_link: Some("https://pay.example.com/?a=1&b=2".into()),
        pay_note: Some("Ann pays; contract 4711".into()),
    };
    let mut book = book(Profile { guide, ..profile("main") });
    fill(&mut book, read_at());
    book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    let (from, snapshot) = (from(), snapshot([&book]));
    let context = Context { page: Some("https://watch.example.com/hw/"), ..context(&from, &snapshot) };
    let item = disconnect(Event::Rung(3), Severity::Critical, Some(ladder("2026-03-04T11:00:00")));
    let mail = render(&notice(Form::Disconnect, vec![item]), &context).unwrap();
    let text = text(&mail).replace(['\u{202f}', '\u{a0}'], " ");
    let want = "Cut-off Wed 4 Mar 14:00 MSK: pay 275 RUB today for 30 days, at least 45 RUB for 7 (account main).\n\n\
        Pay:         https://pay.example.com/?a=1&b=2\n\
        Panel:       https://panel.example.com/\n\
        Status page: https://watch.example.com/hw/?account=main\n\
        Ann pays; contract 4711\n\nTo stay online\n";
    assert!(text.starts_with(want), "{text}");
    let order = [
        "\nTo stay online",
        "\nWhat costs most",
        "\nWhat will go offline",
        "\nThe cut-off",
        "\nIncident: main/",
    ];
    let places = order.map(|part| text.find(part).unwrap_or_else(|| panic!("{part} in {text}")));
    assert!(places.is_sorted(), "{text}");
    let page = html(&mail);
    let first = page.split("<h2").next().unwrap();
    assert!(first.contains("href=\"https://pay.example.com/?a=1&#38;b=2\""), "{first}");
    assert_eq!((first.matches(" href=").count(), first.contains("Ann pays; contract 4711")), (3, true));
    // So in every mail about money, and its end no longer leads to a payment.
    for kind in [Kind::BalanceDrop, Kind::OrderSuspended] {
        for (event, pays) in [(Event::Opened, true), (Event::Resolved, false)] {
            let form = if pays { Form::Opened } else { Form::Closed };
            let one = super::mail_support::item(kind, 71, "Order 71", event);
            let text = super::mail_support::text(&render(&notice(form, vec![one]), &context).unwrap());
            assert!(text.contains("\nAnn pays; contract 4711\n"), "{kind}: {text}");
            assert_eq!(
                text.contains("\nPay:         https://pay.example.com/?a=1&b=2\n"),
                pays,
                "{kind}: {text}"
            );
        }
    }
    // A mail about a resource leads to it.
    let broken = item_of_a_vm();
    let mail = render(&notice(Form::Opened, vec![broken]), &context).unwrap();
    let text = super::mail_support::text(&mail);
    assert!(
        text.contains("\nPanel:       https://panel.example.com/vm/17\n")
            && !text.contains("Pay:")
            && !text.contains("Ann pays"),
        "{text}"
    );
}

fn item_of_a_vm() -> Item {
    item(Kind::VmError, 17, "VM web-1", Event::Opened)
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
        page.contains(
            "alt=\"Balance: 25.50\u{a0}RUB now, \u{2212}44.50\u{a0}RUB expected on 8 Mar; cut-off 4 Mar.\""
        ),
        "{page}"
    );
    assert!(!page.contains("=\"http"), "nothing is fetched from elsewhere");
}

/// The amount in a subject is that for 30 days: where those are paid for, none.
#[test]
fn what_is_paid_for_thirty_days_has_no_amount_in_its_subject() {
    let mut book = running_dry();
    book.apply(
        Read::ExpectedBalance(Report { edd: Edd::At(t("2026-04-10T11:00:00")), ..report("400.50", "10.00") }),
        read_at(),
    );
    let item = disconnect(Event::Paid("2026-04-10".parse().unwrap()), Severity::Info, {
        Some(Ladder { told_before: Some(t("2026-03-04T11:00:00")), ..ladder("2026-04-10T11:00:00") })
    });
    let rendered = rendered(item, &book);
    assert_eq!(rendered.subject, "[INFO] Cut-off now Fri 10 Apr, was 4 Mar: pay by Tue 7 Apr (main)");
    let text = text(&rendered).replace(['\u{202f}', '\u{a0}'], " ").replace('\n', " ");
    let lead = "was 4 Mar: pay 500 RUB by Tue 7 Apr for 90 days, nothing for 30 (account main).";
    assert!(text.contains(lead), "{text}");
}
