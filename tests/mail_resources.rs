//! How mails about resources read: golden texts.
#![allow(clippy::unwrap_used)]

mod account;
mod mail_support;

use account::*;
use chrono::Duration;
use hostwatch::alert::{Event, Form, Item, Kind, Severity, Started};
use hostwatch::model::*;
use mail_support::*;

fn snapshot_of_main() -> Snapshot {
    snapshot([&full("main")])
}

fn web_1(event: Event) -> Item {
    item(Kind::VmError, 17, "VM web-1", event)
}

macro_rules! golden {
    ($name:literal, $rendered:expr) => {
        insta::assert_snapshot!($name, golden($name, &$rendered))
    };
}

#[test]
fn a_vm_in_error() {
    golden!("vm_error_opened", mail(&notice(Form::Opened, vec![web_1(Event::Opened)]), &snapshot_of_main()));
}

#[test]
fn four_at_once_are_one_mail() {
    let mut blocked = item(Kind::SiteBlocked, 104, "Site site104.example.com", Event::Opened);
    blocked.detail = "its state is StoppedByQuota".into();
    let mut stuck = item(Kind::VmStuck, 18, "VM web-2", Event::Opened);
    stuck.detail = "its state is building".into();
    stuck.since = now() - Duration::hours(3);
    let mut failing = item(Kind::CollectorFailing, "sites", "Polling of sites", Event::Opened);
    failing.detail = "GET /hosting/1/virtualhosts: no answer within 30 s".into();
    let mut book = full("main");
    let site = Site { state: SiteState::StoppedByQuota, ..site(104, 31, "Active") };
    book.apply(Read::Sites(ContainerId::new(31), all(vec![site])), read_at());
    let notice = notice(Form::Opened, vec![web_1(Event::Opened), blocked, failing, stuck]);
    golden!("group_of_four", mail(&notice, &snapshot([&book])));
}

#[test]
fn over() {
    let mut item = web_1(Event::Resolved);
    item.detail = "its state is now active".into();
    item.reason = "seen right often enough".into();
    item.since = now() - Duration::minutes(50);
    golden!("vm_error_resolved", mail(&notice(Form::Closed, vec![item.clone()]), &snapshot_of_main()));
    let gone =
        Item { event: Event::Removed, detail: "no longer listed by the provider".into(), ..item.clone() };
    golden!("vm_error_removed", mail(&notice(Form::Closed, vec![gone]), &snapshot_of_main()));
    let brief = Item { event: Event::WasDown, ..item };
    golden!("vm_error_was_down", mail(&notice(Form::Closed, vec![brief]), &snapshot_of_main()));
}

#[test]
fn a_disabled_container_lists_what_goes_dark_with_it() {
    let mut book = full("main");
    book.apply(Read::Containers(all(vec![container(31, "DISABLED_BY_SERVICE")])), read_at());
    let sites = (100..125).map(|id| site(id, 31, if id == 101 { "StoppedByService" } else { "Active" }));
    book.apply(Read::Sites(ContainerId::new(31), all(sites.collect())), read_at());
    book.apply(Read::Vms(all(vec![vm(17, "blocked", "web-1"), vm(18, "active", "web-2")])), read_at());
    let mut item = item(Kind::ContainerDisabled, 31, "Container shop", Event::Opened);
    item.detail = "its state is DISABLED_BY_SERVICE".into();
    golden!("container_disabled", mail(&notice(Form::Opened, vec![item]), &snapshot([&book])));
}

#[test]
fn first_start() {
    let started = |facts| Form::Started(facts);
    let fine = Started { resources: 5, ..Started::default() };
    golden!("started_fine", mail(&notice(started(fine), vec![]), &snapshot_of_main()));

    let mut known: Vec<Item> =
        (0..23).map(|id| item(Kind::VmError, 17 + id, &format!("VM web-{id}"), Event::Started)).collect();
    known.truncate(22);
    let facts = Started { resources: 60, needs: 23, disconnect: true, unread: vec![] };
    let rendered = mail(&notice(started(facts), known), &snapshot_of_main());
    assert_eq!(headers(&rendered, "X-Hostwatch-Incident").len(), 20, "pairs of those listed");
    let few = vec![item(Kind::VmError, 17, "VM web-1", Event::Started)];
    let facts = Started { resources: 5, needs: 2, disconnect: true, unread: vec![] };
    golden!("started_with_needs", mail(&notice(started(facts), few), &snapshot_of_main()));
    assert!(text(&rendered).contains("\nand 2 more\n"), "{}", text(&rendered));

    let unread = Started {
        resources: 2,
        unread: vec!["main: sites: GET /hosting/1/virtualhosts: 502".into()],
        ..Started::default()
    };
    let rendered = mail(&notice(started(unread), vec![]), &snapshot_of_main());
    assert!(!text(&rendered).contains("nothing needs you"));
    golden!("started_unread", rendered);
}

#[test]
fn reminder_flapping_and_downtime() {
    let mut reminder = web_1(Event::Reminder(1));
    reminder.since = now() - Duration::days(1);
    reminder.reason = "reminder 1 of 3: still open".into();
    golden!("reminder", mail(&notice(Form::Reminder, vec![reminder]), &snapshot_of_main()));

    let mut flapping = web_1(Event::Flapping);
    flapping.reason = "4 changes within an hour".into();
    golden!("flapping", mail(&notice(Form::Opened, vec![flapping]), &snapshot_of_main()));

    let mut missed = web_1(Event::Opened);
    missed.unwatched = Some((now() - Duration::hours(9), now() - Duration::minutes(1)));
    golden!("unwatched", mail(&notice(Form::Opened, vec![missed]), &snapshot_of_main()));
}

#[test]
fn names_change_no_header_and_no_markup() {
    let nasty = "<b>x</b>\r\nBcc: evil@example.org\r\n\r\n\u{202e}<script>alert(1)</script> имя 🎉";
    let mut one = item(Kind::VmError, 17, &format!("VM {nasty}"), Event::Opened);
    one.detail = nasty.into();
    one.reason = nasty.into();
    let mut book = full("main");
    book.apply(Read::Vms(all(vec![vm(17, "error", nasty)])), read_at());
    book.apply(
        Read::Sites(
            ContainerId::new(31),
            all(vec![Site { name: Some(nasty.into()), ..site(104, 31, nasty) }]),
        ),
        read_at(),
    );
    let disabled = item(Kind::ContainerDisabled, 31, &format!("Container {nasty}"), Event::Opened);
    let notice = notice(Form::Opened, vec![one, disabled]);
    let rendered = mail(&notice, &snapshot([&book]));
    assert!(rendered.raw.is_ascii());
    let message = parse(&rendered);
    assert!(message.bcc().is_none());
    assert_eq!(message.subject().unwrap(), rendered.subject);
    assert!(rendered.subject.chars().count() <= 150 && !rendered.subject.contains(char::is_control));
    let page = html(&rendered);
    assert!(!page.contains("<script>") && !page.contains("<b>x") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&#60;script&#62;"), "{page}");
    assert!(!text(&rendered).lines().any(|line| line.starts_with("Bcc")));
    golden!("nasty_names", rendered);
}

#[test]
fn a_mail_never_grows_beyond_what_servers_take() {
    let items = (0..3000).map(|id| item(Kind::VmError, id, &format!("VM {}", "w".repeat(60)), Event::Opened));
    let rendered = mail(&notice(Form::Opened, items.collect()), &snapshot_of_main());
    assert_eq!(headers(&rendered, "X-Hostwatch-Event").len(), 1000);
    assert!(text(&rendered).contains("2000 are not listed"));
    assert!(rendered.raw.len() < 1_000_000, "{} bytes", rendered.raw.len());
    assert!(rendered.subject.ends_with(" and 2999 more"), "{}", rendered.subject);
}

#[test]
fn every_kind_and_event_has_its_words() {
    let events = [
        Event::Opened,
        Event::Reminder(2),
        Event::Resolved,
        Event::Removed,
        Event::WasDown,
        Event::Flapping,
        Event::Overflow,
    ];
    for kind in Kind::ALL {
        for event in &events {
            for severity in Severity::ALL {
                let item = Item { severity, ..item(kind, 17, "VM web-1", event.clone()) };
                let (subject, problem) = (item.subject.clone(), item.problem.clone());
                let rendered = mail(&notice(Form::Opened, vec![item]), &snapshot_of_main());
                assert!(rendered.subject.ends_with(&format!("main: {subject} {problem}")), "{rendered:?}");
                let first = text(&rendered).lines().next().unwrap().to_owned();
                assert!(first.contains("VM web-1") && first.contains("2026-03-01"), "{first}");
            }
        }
    }
}
