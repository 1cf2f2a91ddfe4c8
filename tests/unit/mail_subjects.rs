//! Subjects as one table, event by event: a person with a phone may read nothing else of a mail. The goldens of
//! whole mails have theirs.
#![allow(clippy::unwrap_used)]

use super::account::*;
use super::mail_support::catalogue::overview;
use super::mail_support::*;

use crate::alert::{CutOff, Event, Form, Item, Kind, Severity, Subject, Value};
use crate::model::*;
use chrono::Duration;

/// Sites in a container with this name, all broken.
fn agency(count: u64) -> (KnownAccount, Vec<Item>) {
    let mut book = full("main");
    let named = Container { name: Some("agency".into()), ..container(31, "ENABLED") };
    book.apply(Read::Containers(all(vec![named])), read_at());
    let sites = (0..count).map(|id| site(1000 + id, 31, "Error")).collect();
    book.apply(Read::Sites(ContainerId::new(31), all(sites)), read_at());
    let broken = |id| item(Kind::SiteError, 1000 + id, &format!("Site s{id}.example.com"), Event::Opened);
    (book, (0..count).map(broken).collect())
}

fn groups(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let (book, sites) = agency(26);
    put("26 sites of one container", Form::News, sites.clone(), &book);
    let with = |event: Event| {
        let again = |site: &Item| {
            let name = format!("Site {}", site.name());
            item(Kind::SiteError, site.key.resource.clone(), &name, event.clone())
        };
        sites.iter().map(again).collect()
    };
    put("they are so still", Form::News, with(Event::Reminder(1)), &book);
    put("they came and went", Form::News, with(Event::WasDown), &book);
    put("they are deleted", Form::News, with(Event::Removed), &book);
    let mut mixed: Vec<Item> = sites.clone();
    mixed.insert(0, item(Kind::VmError, 17, "VM web-1", Event::Opened));
    put("a VM beside them", Form::News, mixed, &book);
    let over = |kind, id: u64, name: &str| item(kind, id, name, Event::Resolved);
    let ended =
        vec![over(Kind::VmError, 17, "VM web-1"), over(Kind::SiteError, 104, "Site site104.example.com")];
    put("two sorts are over", Form::News, ended, &full("main"));
    let one = || item(Kind::VmError, 17, "VM web-1", Event::Opened);
    let other = || item(Kind::VmError, 18, "VM web-2", Event::Opened);
    put("two VMs", Form::News, vec![one(), other()], &full("main"));
    put("of two accounts", Form::News, vec![one(), of_account("shop", other())], &full("main"));
}

fn providers(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let main = full("main");
    let reading =
        |what: &str, event| item(Kind::CollectorFailing, "account", &format!("Cannot read {what}"), event);
    put("two listings", Form::News, vec![reading("containers and sites", Event::Opened)], &main);
    let still = ago(Duration::days(1), reading("sites", Event::Reminder(1)));
    put("a listing, still", Form::News, vec![still], &main);
    put("a listing that failed for a while", Form::News, vec![reading("sites", Event::WasDown)], &main);
    put("a listing, no longer watched", Form::News, vec![reading("sites", Event::Unwatched)], &main);
    let mut gone = item(Kind::ResourceGone, "vms", "", Event::Unwatched);
    gone.incident.subject = Subject::AllGone { sort: Sort::Vm, count: 3 };
    put("an empty listing, no longer watched", Form::News, vec![gone], &main);
    let mut ahead = full("main");
    let edd = Edd::At(read_at() + Duration::days(9));
    ahead.apply(Read::ExpectedBalance(Report { edd, ..report("50.50", "10.25") }), read_at());
    for (what, book) in [("a date that is known again", &ahead), ("no date any more", &main)] {
        let mut dated = item(Kind::BillingReport, "account", "", Event::Resolved);
        let since = read_at().date_naive();
        dated.incident.subject = Subject::NoDate { since, last: None };
        put(what, Form::News, vec![dated], book);
    }
    for (form, event) in [
        (Form::News, Event::Opened),
        (Form::News, Event::Reminder(1)),
        (Form::News, Event::Resolved),
        (Form::News, Event::WasDown),
        (Form::News, Event::Unwatched),
    ] {
        let subject = "Provider API does not answer: nothing is watched";
        let silent = item(Kind::CollectorFailing, "account", subject, event.clone());
        let silent = Item { severity: Severity::Critical, ..silent };
        put(&format!("the provider, {event}"), form, vec![silent], &main);
    }
}

fn others(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let main = full("main");
    let of = |event, cut_off: CutOff| disconnect(event, Severity::Critical, Some(cut_off));
    put("overdue, no longer watched", Form::News, vec![of(Event::Unwatched, gone())], &main);
    put(
        "a cut-off, no longer watched",
        Form::News,
        vec![of(Event::Unwatched, cut_off("2026-03-10T11:00:00"))],
        &main,
    );
    let mut yesterday = ago(Duration::hours(17), item(Kind::VmError, 17, "VM web-1", Event::WasDown));
    yesterday.incident.ended = Some(now() - Duration::hours(14));
    put("over since midnight", Form::News, vec![yesterday], &main);
    let mut enabled = item(Kind::ContainerDisabled, 31, "Container shop", Event::Resolved);
    enabled.incident.value = Value::SitesStopped;
    put("a container whose sites were stopped", Form::News, vec![enabled], &main);
}

/// Cut-offs with an unknown amount, far ahead, or in the next year.
fn cut_offs(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let rung = |days, edd: &str| disconnect(Event::Rung(days), Severity::Warning, Some(cut_off(edd)));
    let unread = book(profile("main"));
    put("rung 14, amount not known", Form::News, vec![rung(14, "2026-03-15T11:00:00")], &unread);
    put("rung 7, amount not known", Form::News, vec![rung(7, "2026-03-08T11:00:00")], &unread);
    let mut far = full("main");
    far.apply(Read::ExpectedBalance(report("455", "10")), read_at());
    put("nothing to pay within 30 days", Form::News, vec![rung(60, "2026-04-15T11:00:00")], &far);
    let mut spent = full("main");
    let edd = Edd::At(t("2026-03-04T11:00:00"));
    spent.apply(Read::ExpectedBalance(Report { edd, ..report("-5", "10") }), read_at());
    let first = disconnect(Event::Rung(3), Severity::Critical, Some(used_up("2026-03-04T11:00:00")));
    put("rung 3, the balance is used up", Form::News, vec![first], &spent);
    put("in the next year", Form::News, vec![rung(60, "2027-01-05T11:00:00")], &unread);
    put(
        "overdue, no date",
        Form::News,
        vec![disconnect(Event::Rung(0), Severity::Critical, Some(gone()))],
        &unread,
    );
    put("over, no report", Form::News, vec![disconnect(Event::Resolved, Severity::Critical, None)], &unread);
    let mut silent = book(profile("main"));
    silent.apply(Read::ExpectedBalance(report("455", "10")), read_at() - Duration::hours(26));
    let past = |event| disconnect(event, Severity::Critical, Some(cut_off("2026-02-28T11:00:00")));
    let day = "2026-03-01".parse().unwrap();
    put("past, still not readable", Form::News, vec![past(Event::Overdue(day))], &silent);
    let off = Some(cut_off("2026-02-25T11:00:00"));
    let last = disconnect(Event::Deletion(0), Severity::Critical, off);
    let last = Item { deleted_at: Some(now()), ..last };
    put("deletion, the last", Form::News, vec![last], &full("main"));
    let same = Some(cut_off("2026-03-24T13:00:00"));
    let paid = disconnect(Event::Paid("2026-03-24".parse().unwrap()), Severity::Warning, same);
    put("paid too little", Form::News, vec![told("2026-03-24T11:00:00", paid)], &far);
}

/// The days until the deletion are counted from the mail, which may be sent later than its event. A recipient
/// who was told nothing of a cut-off reads the span in which a payment was due.
fn ends(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let main = full("main");
    for (days, deleted_at) in [
        (7, "2026-03-08T11:59:00"),
        (7, "2026-03-07T11:59:00"),
        (7, "2026-03-07T14:00:00"),
        (3, "2026-03-02T11:00:00"),
        (1, "2026-03-01T20:00:00"),
        (0, "2026-03-01T11:00:00"),
        (0, "2026-02-27T11:00:00"),
    ] {
        let off = disconnect(Event::Deletion(days), Severity::Critical, Some(cut_off("2026-02-25T11:00:00")));
        let item = Item { deleted_at: Some(t(deleted_at)), ..off };
        put(&format!("deletion:{days}, {deleted_at}"), Form::News, vec![item], &main);
    }
    for (lasted, episodes) in [(Duration::hours(25), 1), (Duration::minutes(20), 3)] {
        let over = |event| Item { episodes, ..ago(lasted, disconnect(event, Severity::Critical, None)) };
        put(&format!("missed {episodes} times"), Form::News, vec![over(Event::WasDown)], &main);
    }
    let mut paid = full("main");
    let report = Report { edd: Edd::At(t("2026-04-10T11:00:00")), ..report("400.50", "10.00") };
    paid.apply(Read::ExpectedBalance(report), read_at());
    let event = Event::Paid("2026-04-10".parse().unwrap());
    let far = disconnect(event, Severity::Info, Some(cut_off("2026-04-10T11:00:00")));
    put("paid for 30 days", Form::News, vec![told("2026-03-04T11:00:00", far)], &paid);
}

fn kinds(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let main = full("main");
    for &kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Disconnect) {
        for event in [Event::Reminder(2), Event::Removed, Event::WasDown] {
            let one = item(kind, 17, "VM web-1", event.clone());
            put(&format!("{kind}, {event}"), Form::News, vec![one], &main);
        }
    }
}

/// A digest names the most important state.
fn digests() -> Vec<(String, String)> {
    let due = |name: &str, balance: &str| {
        let mut book = full(name);
        book.apply(Read::ExpectedBalance(report(balance, "10.00")), read_at());
        book
    };
    let main = || vec![full("main")];
    let error = || overview::of_the_week(Kind::VmError, 17, "VM web-1");
    let quiet = || Item { muted: acknowledged(), ..error() };
    let mut silent = full("main");
    silent.apply(Read::ExpectedBalance(Report { edd: Edd::Unknown, ..report("5000", "10") }), read_at());
    let unread = || book(profile("main"));
    let vmonly = book(Profile { collectors: [Collector::Vms].into(), ..profile("vmonly") });
    let event = Event::Digest("2026-03-01".parse().unwrap());
    let open = disconnect(event, Severity::Critical, Some(cut_off("2026-03-10T11:00:00")));
    let table = [
        ("over", main(), vec![overview::over_since(now(), error())]),
        ("an error", main(), vec![error()]),
        ("an error and an acknowledged one", main(), vec![error(), quiet()]),
        ("acknowledged", main(), vec![quiet()]),
        ("another account is due", vec![full("main"), due("shop", "105")], vec![]),
        ("an account without billing", vec![full("shop"), vmonly], vec![]),
        ("used up", vec![due("main", "-1")], vec![]),
        ("a report that does not tell", vec![silent], vec![]),
        ("unread", vec![full("shop"), unread()], vec![]),
        ("an open cut-off, unread", vec![unread()], vec![ago(Duration::days(2), open)]),
    ];
    let subject =
        |books: Vec<KnownAccount>, items| overview::write(&overview::digest(&books, items), &books).subject;
    table.map(|(name, books, items)| (format!("digest: {name}"), subject(books, items))).into()
}

#[test]
fn every_subject_reads_as_it_did() {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, form: Form, items: Vec<Item>, book: &KnownAccount| {
        rows.push((name.to_owned(), mail(&notice(form, items), &snapshot([book])).subject));
    };
    groups(&mut put);
    providers(&mut put);
    others(&mut put);
    cut_offs(&mut put);
    ends(&mut put);
    kinds(&mut put);
    rows.extend(digests());
    for (name, subject) in &rows {
        assert!(subject.starts_with('[') && subject.ends_with(')'), "{name}: {subject}");
        assert!(!subject.contains("hostwatch") && subject.chars().count() <= 150, "{name}: {subject}");
    }
    let table: Vec<String> = rows.iter().map(|(name, subject)| format!("{name:<40} {subject}")).collect();
    insta::assert_snapshot!("subjects", table.join("\n"));
}
