//! Mails of the disconnect ladder.

use crate::alert::{Cause, CutOff, Event, Form, Incident, Item, Kind, Notice, Severity, Value};
use crate::mail::Context;
use crate::model::*;
use chrono::Duration;

use super::Entry;
use super::{overview, resources::dearer_order};
use crate::unit::account::*;
use crate::unit::mail_support::*;

/// The account of the contract's example: 25.50 left, 10 a day.
pub fn running_dry() -> KnownAccount {
    left("25.50", Edd::Null)
}

/// An account with this balance after a report that foresaw 100 more, at 10 a day.
fn left(balance: &str, edd: Edd) -> KnownAccount {
    let mut book = full("main");
    let before = money(balance) + money("100");
    book.apply(Read::ExpectedBalance(report(&before.to_string(), "10.00")), read_at());
    let report = Report { edd, ..report(balance, "10.00") };
    book.apply(Read::ExpectedBalance(report), read_at());
    book
}

fn reasoned(event: Event, severity: Severity, cut_off: CutOff, why: Cause) -> Item {
    Item { why, ..disconnect(event, severity, Some(cut_off)) }
}

fn crossed(days: i64) -> Cause {
    Cause::Rung { days }
}

/// The account of an owner who set the addresses for paying and of the panel.
pub fn of_owner() -> KnownAccount {
    let guide = Guide {
        panel_link: Some("https://panel.example.com/{kind}/{id}".into()),
        pay_link: Some("https://pay.example.com/".into()),
        pay_note: Some("Ann pays; contract 4711".into()),
    };
    let mut book = book(Profile { guide, ..profile("main") });
    fill(&mut book, read_at());
    book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
    book
}

/// A mail of this owner, who also set the address of the page.
pub fn with_links(notice: &Notice) -> crate::mail::Rendered {
    let (from, snapshot) = (from(), snapshot([&of_owner()]));
    let page = Some("https://watch.example.com/");
    written(notice, &Context { page, ..context(&from, &snapshot) })
}

pub fn all() -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    let mut put = |name: &str, mail| all.push((format!("disconnect_{name}"), mail));

    let mut silent = book(profile("main"));
    silent.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at() - Duration::hours(30));
    let past = Some(cut_off("2026-02-28T11:00:00"));
    let past = Item {
        as_of: Some(now() - Duration::hours(30)),
        ..disconnect(Event::Rung(0), Severity::Critical, past)
    };
    put("not_readable", mail(&notice(Form::News, vec![past]), &snapshot([&silent])));

    // Rungs of the default ladder. For the day before, the report itself names the date.
    for (rung, edd, balance, severity, why) in [
        (14, "2026-03-15T11:00:00", "135.50", Severity::Warning, crossed(14)),
        (4, "2026-03-05T11:00:00", "35.50", Severity::Critical, Cause::LastSafeDay),
        (1, "2026-03-02T11:00:00", "5.50", Severity::Critical, crossed(1)),
    ] {
        let book = left(balance, Edd::At(t(edd)));
        let item = reasoned(Event::Rung(rung), severity, cut_off(edd), why);
        put(&format!("rung_{rung}"), mail_about(item, &book));
    }

    let mut dearer = reasoned(Event::Rung(7), Severity::Warning, cut_off("2026-03-08T11:00:00"), crossed(7));
    dearer.says = vec![dearer_order()];
    put("and_dearer", mail_about(dearer, &left("65.50", Edd::Null)));

    let by_charges = computed("2026-03-04T11:00:00");
    put(
        "rung_3",
        mail_about(reasoned(Event::Rung(3), Severity::Critical, by_charges, crossed(3)), &running_dry()),
    );

    // A Thursday; the last safe day is a Sunday.
    let weekend = reasoned(Event::Rung(14), Severity::Warning, cut_off("2026-03-12T11:00:00"), crossed(14));
    put("pay_by_a_weekend", mail_about(weekend, &left("105.50", Edd::Null)));

    let mut book = left("-5.00", Edd::Null);
    let vms = vec![vm(17, "blocked", "web-1"), vm(18, "active", "web-2")];
    book.apply(Read::Vms(crate::unit::account::all(vms)), read_at());
    let off = used_up("2026-02-28T11:00:00");
    let mut overdue = reasoned(Event::Rung(0), Severity::Critical, off, Cause::UsedUp);
    let blocked =
        Incident { value: Value::State("blocked".into()), ..incident(Kind::VmBlocked, 17, "VM web-1") };
    let refused = incident(Kind::CollectorFailing, "account", "Cannot read VMs");
    overdue.covers = vec![blocked, incident(Kind::ContainerDisabled, 31, "Container shop"), refused];
    put("overdue", mail_about(overdue, &book));

    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(report("225.50", "10.00")), read_at());
    let extended = Event::Extended("2026-03-24".parse().unwrap());
    let day: chrono::NaiveDate = "2026-03-24".parse().unwrap();
    let later = || cut_off("2026-03-24T11:00:00");
    let moved = reasoned(extended, Severity::Warning, later(), Cause::MovedBack { to: day });
    put("extended", mail_about(told("2026-03-04T11:00:00", moved), &book));

    let mut book = running_dry();
    book.apply(Read::ExpectedBalance(report("225.50", "10.00")), read_at());
    let paid = {
        let cut_off = paid(later(), "200", read_at());
        reasoned(Event::Paid(day), Severity::Warning, cut_off, Cause::Paid { to: day })
    };
    put("paid", mail_about(told("2026-03-04T11:00:00", paid), &book));
    let spent = used_up("2026-03-10T11:00:00");
    let spent = reasoned(Event::BalanceUsedUp, Severity::Critical, spent, Cause::UsedUp);
    put("balance_used_up", mail_about(spent, &left("-5.00", Edd::At(t("2026-03-10T11:00:00")))));
    let book = left("-5.00", Edd::At(t("2026-02-25T11:00:00")));
    let off = |event, why| {
        let item = reasoned(event, Severity::Critical, cut_off("2026-02-25T11:00:00"), why);
        Item { deleted_at: Some(t("2026-03-04T11:00:00")), ..item }
    };
    let again = Event::Overdue("2026-03-01".parse().unwrap());
    put("overdue_again", mail_about(off(again, Cause::StillOverdue), &book));
    let near = Cause::DeletionIn { days: 3 };
    put("deletion", mail_about(off(Event::Deletion(3), near), &book));

    let resolved = ago(Duration::days(3), disconnect(Event::Resolved, Severity::Critical, None));
    put("resolved", mail_about(Item { why: Cause::OkInARow { polls: 2 }, ..resolved }, &full("main")));
    let missed = disconnect(Event::WasDown, Severity::Critical, None);
    let missed = Item { why: Cause::OkInARow { polls: 2 }, episodes: 2, ..ago(Duration::days(1), missed) };
    put("was_down", mail_about(missed, &full("main")));

    let near = || reasoned(Event::Rung(3), Severity::Critical, cut_off("2026-03-04T11:00:00"), crossed(3));
    put("with_links", with_links(&notice(Form::News, vec![near()])));

    let mut book = running_dry();
    book.end(Collector::ExpectedBalance, ended(Some("GET expected-balance: 502")), now());
    put("as_of", mail_about(near(), &book));
    put("without_report", mail_about(near(), &unread()));

    let later = left("25.50", Edd::At(t("2026-03-08T11:00:00")));
    let disagreeing = Item { cut_off: Some(cut_off("2026-03-08T11:00:00")), ..near() };
    put("dates_disagree", mail_about(disagreeing, &later));

    let (from, snapshot) = (from(), snapshot([&left("5.50", Edd::At(t("2026-03-02T11:00:00")))]));
    let context = Context { lives_on: Some(overview::here("main", "web-1")), ..context(&from, &snapshot) };
    let last = reasoned(Event::Rung(1), Severity::Critical, cut_off("2026-03-02T11:00:00"), crossed(1));
    put("last_mail", written(&notice(Form::News, vec![last]), &context));
    all
}

fn unread() -> KnownAccount {
    book(profile("main"))
}
