//! Every subject there is, as one table: event by event. What a person on a phone reads of a mail.
#![allow(clippy::unwrap_used)]

use super::account::*;
use super::mail_support::catalogue::billing::ladder;
use super::mail_support::*;

use crate::alert::{Event, Form, Item, Kind, Ladder, Severity};
use crate::model::*;
use chrono::Duration;

/// Sites of a container of this name, all broken.
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
    put("26 sites of one container", Form::Opened, sites.clone(), &book);
    let with =
        |event: Event| sites.iter().map(|item| Item { event: event.clone(), ..item.clone() }).collect();
    put("they are so still", Form::Reminder, with(Event::Reminder(1)), &book);
    put("they came and went", Form::Closed, with(Event::WasDown), &book);
    put("they are deleted", Form::Closed, with(Event::Removed), &book);
    let mut mixed: Vec<Item> = sites.clone();
    mixed.insert(0, item(Kind::VmError, 17, "VM web-1", Event::Opened));
    put("a VM beside them", Form::Opened, mixed, &book);
    let over = |kind, id: u64, name: &str| item(kind, id, name, Event::Resolved);
    let ended =
        vec![over(Kind::VmError, 17, "VM web-1"), over(Kind::SiteError, 104, "Site site104.example.com")];
    put("two sorts are over", Form::Closed, ended, &full("main"));
    let mut two = vec![
        item(Kind::VmError, 17, "VM web-1", Event::Opened),
        item(Kind::VmError, 18, "VM web-2", Event::Opened),
    ];
    put("two VMs", Form::Opened, two.clone(), &full("main"));
    two[1].key.account = "shop".parse().unwrap();
    put("of two accounts", Form::Opened, two, &full("main"));
}

fn providers(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let main = full("main");
    let reading =
        |what: &str, event| item(Kind::CollectorFailing, what, &format!("Cannot read {what}"), event);
    put(
        "two listings",
        Form::Opened,
        vec![reading("sites", Event::Opened), reading("containers", Event::Opened)],
        &main,
    );
    let mut still = reading("sites", Event::Reminder(1));
    still.since = now() - Duration::days(1);
    put("a listing, still", Form::Reminder, vec![still], &main);
    put("a listing that failed for a while", Form::Closed, vec![reading("sites", Event::WasDown)], &main);
    put("a listing, no longer watched", Form::Unwatched, vec![reading("sites", Event::Unwatched)], &main);
    for event in [Event::Opened, Event::Resolved, Event::WasDown] {
        let mut silent = item(Kind::CollectorFailing, "vms", "Provider API", event.clone());
        silent.problem = "does not answer: nothing is watched".to_owned();
        silent.severity = Severity::Critical;
        let form = if event == Event::Opened { Form::Opened } else { Form::Closed };
        put(&format!("the provider, {event}"), form, vec![silent], &main);
    }
}

fn others(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let main = full("main");
    put(
        "a VM, no longer watched",
        Form::Unwatched,
        vec![item(Kind::VmError, 17, "VM web-1", Event::Unwatched)],
        &main,
    );
    let off = Ladder { gone: true, used_up: true, ..Ladder::default() };
    let of = |event, ladder: &Ladder| disconnect(event, Severity::Critical, Some(ladder.clone()));
    put("overdue, no longer watched", Form::Unwatched, vec![of(Event::Unwatched, &off)], &main);
    put(
        "a cut-off, no longer watched",
        Form::Unwatched,
        vec![of(Event::Unwatched, &ladder("2026-03-10T11:00:00"))],
        &main,
    );
    let mut covering = of(Event::Covered(1), &ladder("2026-02-25T11:00:00"));
    covering.covers = vec!["VM web-1 blocked".to_owned(), "VM web-2 blocked".to_owned()];
    put("what went offline with it", Form::Covered, vec![covering], &main);
    let mut yesterday = item(Kind::VmError, 17, "VM web-1", Event::WasDown);
    (yesterday.since, yesterday.at) = (now() - Duration::hours(17), now() - Duration::hours(14));
    put("over since midnight", Form::Closed, vec![yesterday], &main);
    let mut enabled = item(Kind::ContainerDisabled, 31, "Container shop", Event::Resolved);
    enabled.problem = "stopped for non-payment".to_owned();
    put("a container whose sites were stopped", Form::Closed, vec![enabled], &main);
}

/// Where the amount is not known, or far off, or in the next year.
fn cut_offs(put: &mut impl FnMut(&str, Form, Vec<Item>, &KnownAccount)) {
    let rung = |days, edd: &str| disconnect(Event::Rung(days), Severity::Warning, Some(ladder(edd)));
    let unread = book(profile("main"));
    put("rung 14, amount not known", Form::Disconnect, vec![rung(14, "2026-03-15T11:00:00")], &unread);
    put("rung 7, amount not known", Form::Disconnect, vec![rung(7, "2026-03-08T11:00:00")], &unread);
    let mut far = full("main");
    far.apply(Read::ExpectedBalance(report("455", "10")), read_at());
    put("nothing to pay within 30 days", Form::Disconnect, vec![rung(60, "2026-04-15T11:00:00")], &far);
    put("in the next year", Form::Disconnect, vec![rung(60, "2027-01-05T11:00:00")], &unread);
    let off = Ladder { gone: true, used_up: true, ..Ladder::default() };
    put(
        "overdue, no date",
        Form::Disconnect,
        vec![disconnect(Event::Rung(0), Severity::Critical, Some(off))],
        &unread,
    );
    put(
        "over, no report",
        Form::Disconnect,
        vec![disconnect(Event::Resolved, Severity::Critical, None)],
        &unread,
    );
    let last = Ladder { deleted_at: Some(now()), ..ladder("2026-02-25T11:00:00") };
    put(
        "deletion, the last",
        Form::Disconnect,
        vec![disconnect(Event::Deletion(0), Severity::Critical, Some(last))],
        &full("main"),
    );
    let same = Ladder { told_before: Some(t("2026-03-24T11:00:00")), ..ladder("2026-03-24T13:00:00") };
    let paid = Event::Paid("2026-03-24".parse().unwrap());
    put("paid too little", Form::Disconnect, vec![disconnect(paid, Severity::Warning, Some(same))], &far);
}

#[test]
fn every_subject_reads_as_it_did() {
    let mut rows: Vec<(String, String)> =
        catalogue::all().into_iter().map(|(name, mail)| (name, mail.subject)).collect();
    let mut put = |name: &str, form: Form, items: Vec<Item>, book: &KnownAccount| {
        rows.push((name.to_owned(), mail(&notice(form, items), &snapshot([book])).subject));
    };
    groups(&mut put);
    providers(&mut put);
    others(&mut put);
    cut_offs(&mut put);
    for (name, subject) in &rows {
        assert!(subject.starts_with('[') && subject.ends_with(')'), "{name}: {subject}");
        assert!(!subject.contains("hostwatch") && subject.chars().count() <= 150, "{name}: {subject}");
    }
    let table: Vec<String> = rows.iter().map(|(name, subject)| format!("{name:<40} {subject}")).collect();
    insta::assert_snapshot!("subjects", table.join("\n"));
}
