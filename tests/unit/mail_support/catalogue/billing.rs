//! Mails of the disconnect ladder.

use crate::alert::{Cause, Event, Form, Item, Ladder, Notice, Reason, Severity};
use crate::mail::{Context, LivesOn, render};
use crate::model::*;
use crate::view::words;
use chrono::Duration;

use super::Entry;
use crate::unit::account::*;
use crate::unit::mail_support::*;

/// The account of the contract's example: 25.50 left, 10 a day.
pub fn running_dry() -> KnownAccount {
    left("25.50", Edd::Null)
}

/// So much left after a report that foresaw 100 more; 10 a day.
fn left(balance: &str, edd: Edd) -> KnownAccount {
    let mut book = full("main");
    let before = money(balance) + money("100");
    book.apply(Read::ExpectedBalance(report(&before.to_string(), "10.00")), read_at());
    let report = Report { edd, ..report(balance, "10.00") };
    book.apply(Read::ExpectedBalance(report), read_at());
    book
}

pub fn ladder(edd: &str) -> Ladder {
    Ladder { edd: Some(t(edd)), read_at: Some(read_at()), told: Some(t(edd)), ..Ladder::default() }
}

fn write(item: Item, book: &KnownAccount) -> crate::mail::Rendered {
    mail(&notice(Form::Disconnect, vec![item]), &snapshot([book]))
}

fn reasoned(event: Event, severity: Severity, ladder: Ladder, reason: &str) -> Item {
    Item { reason: Reason::Text(reason.to_owned()), ..disconnect(event, severity, Some(ladder)) }
}

/// Where the owner has said where to pay, and where the panel and the page are.
pub fn with_links(notice: &Notice) -> crate::mail::Rendered {
    let guide = Guide {
        panel_link: Some("https://panel.example.com/{kind}/{id}".into()),
        pay_link: Some("https://pay.example.com/".into()),
        pay_note: Some("Ann pays; contract 4711".into()),
    };
    let mut book = book(Profile { guide, ..profile("main") });
    fill(&mut book, read_at());
    book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    let (from, snapshot) = (from(), snapshot([&book]));
    let page = Some("https://watch.example.com/");
    render(notice, &Context { page, ..context(&from, &snapshot) }).unwrap()
}

pub fn all() -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    let mut put = |name: &str, mail| all.push((format!("disconnect_{name}"), mail));

    // Each rung of the default ladder, the day before it named by the report itself.
    for (rung, edd, balance, severity) in [
        (14, "2026-03-15T11:00:00", "135.50", Severity::Warning),
        (7, "2026-03-08T11:00:00", "65.50", Severity::Warning),
        (4, "2026-03-05T11:00:00", "35.50", Severity::Critical),
        (1, "2026-03-02T11:00:00", "5.50", Severity::Critical),
    ] {
        let reason = format!("less than {} left", words::count(rung as usize, "day", "days"));
        let book = left(balance, Edd::At(t(edd)));
        put(
            &format!("rung_{rung}"),
            write(reasoned(Event::Rung(rung), severity, ladder(edd), &reason), &book),
        );
    }

    let computed = Ladder { computed: true, ..ladder("2026-03-04T11:00:00") };
    let jumped = "cut-off is 9 days earlier than before, now less than 3 days away";
    put("rung_3", write(reasoned(Event::Rung(3), Severity::Critical, computed, jumped), &running_dry()));

    // A Wednesday; three days before it is a Sunday.
    let weekend = ladder("2026-03-11T11:00:00");
    let crossed = "less than 14 days left";
    put(
        "pay_by_a_weekend",
        write(reasoned(Event::Rung(14), Severity::Warning, weekend, crossed), &left("95.50", Edd::Null)),
    );

    let mut book = left("-5.00", Edd::Null);
    let vms = vec![vm(17, "blocked", "web-1"), vm(18, "active", "web-2")];
    book.apply(Read::Vms(crate::unit::account::all(vms)), read_at());
    let used_up = Ladder { used_up: true, ..ladder("2026-02-28T11:00:00") };
    put(
        "overdue",
        write(reasoned(Event::Rung(0), Severity::Critical, used_up, "the balance is used up"), &book),
    );

    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(report("225.50", "10.00")), read_at());
    let extended = Event::Extended("2026-03-24".parse().unwrap());
    let moved = "cut-off postponed to Tue 24 Mar";
    let later = Ladder { told_before: Some(t("2026-03-04T11:00:00")), ..ladder("2026-03-24T11:00:00") };
    put("extended", write(reasoned(extended, Severity::Warning, later, moved), &book));

    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(report("225.50", "10.00")), read_at());
    let paid = Ladder { told_before: Some(t("2026-03-04T11:00:00")), ..ladder("2026-03-24T11:00:00") };
    let event = Event::Paid("2026-03-24".parse().unwrap());
    let arrived = "a payment arrived, cut-off now Tue 24 Mar";
    put("paid", write(reasoned(event, Severity::Warning, paid, arrived), &book));
    let spent = Ladder { used_up: true, ..ladder("2026-03-10T11:00:00") };
    let spent = reasoned(Event::BalanceUsedUp, Severity::Critical, spent, "the balance is used up");
    put("balance_used_up", write(spent, &left("-5.00", Edd::At(t("2026-03-10T11:00:00")))));
    let deleted_at = Some(t("2026-03-04T11:00:00"));
    let off = Ladder { deleted_at, ..ladder("2026-02-25T11:00:00") };
    let book = left("-5.00", Edd::At(t("2026-02-25T11:00:00")));
    let again = Event::Overdue("2026-03-01".parse().unwrap());
    put("overdue_again", write(reasoned(again, Severity::Critical, off.clone(), "still overdue"), &book));
    let near = "3 days before the data are deleted";
    put("deletion", write(reasoned(Event::Deletion(3), Severity::Critical, off, near), &book));

    let mut resolved = disconnect(Event::Resolved, Severity::Critical, None);
    resolved.reason = Cause::NoDisconnect.into();
    resolved.since = now() - Duration::days(3);
    put("resolved", write(resolved, &full("main")));

    let edd = ladder("2026-03-04T11:00:00");
    let item = reasoned(Event::Rung(3), Severity::Critical, edd, crossed_3());
    put("with_links", with_links(&notice(Form::Disconnect, vec![item])));

    let mut book = running_dry();
    book.end(Collector::ExpectedBalance, ended(Some("GET expected-balance: 502")), now());
    let as_of = reasoned(Event::Rung(3), Severity::Critical, ladder("2026-03-04T11:00:00"), crossed_3());
    put("as_of", write(as_of.clone(), &book));
    put("without_report", write(as_of.clone(), &book_without_report()));

    let later = left("25.50", Edd::At(t("2026-03-08T11:00:00")));
    let disagreeing = Item { ladder: Some(ladder("2026-03-08T11:00:00")), ..as_of.clone() };
    put("dates_disagree", write(disagreeing, &later));

    let here = LivesOn { account: "main".parse().unwrap(), vm: "web-1".into() };
    let (from, snapshot) = (from(), snapshot([&left("5.50", Edd::At(t("2026-03-02T11:00:00")))]));
    let context = Context { lives_on: Some(here), ..context(&from, &snapshot) };
    let last =
        reasoned(Event::Rung(1), Severity::Critical, ladder("2026-03-02T11:00:00"), "less than 1 day left");
    put("last_mail", render(&notice(Form::Disconnect, vec![last]), &context).unwrap());
    all
}

fn crossed_3() -> &'static str {
    "less than 3 days left"
}

fn book_without_report() -> KnownAccount {
    book(profile("main"))
}
