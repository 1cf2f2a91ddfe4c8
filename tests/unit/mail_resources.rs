//! Mails about resources: names, lengths, words.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{Detail, Event, Form, Item, Kind, Started};
use crate::mail::Rendered;
use crate::model::*;
use account::*;
use mail_parser::MimeHeaders as _;
use mail_support::*;

fn snapshot_of_main() -> Snapshot {
    snapshot([&full("main")])
}

#[test]
fn first_start_lists_the_worst_and_counts_the_rest() {
    let known = (0..22).map(|id| item(Kind::VmError, 17 + id, &format!("VM web-{id}"), Event::Started));
    let facts = Started { resources: 60, cut_offs: 1, ..Started::default() };
    let rendered = mail(&notice(Form::Started(facts), known.collect()), &snapshot_of_main());
    assert_eq!(headers(&rendered, "X-Hostwatch-Incident").len(), 22, "a pair each, listed or not");
    assert!(text(&rendered).contains("\n  and 2 more\n"), "{}", text(&rendered));
    let known = |kinds: &[Kind], cut_offs| {
        let items = kinds.iter().map(|kind| item(*kind, 17, "x", Event::Started)).collect::<Vec<_>>();
        let facts = Started { resources: 60, cut_offs, ..Started::default() };
        let rendered = mail(&notice(Form::Started(facts), items), &snapshot_of_main());
        let text = text(&rendered).split_whitespace().collect::<Vec<_>>().join(" ");
        text.split("From now on ").nth(1).unwrap().split("A mail comes when").next().unwrap().to_owned()
    };
    let silent = "No reminders about known problems. ";
    assert_eq!(known(&[Kind::VmError], 1), format!("{silent}Cut-off mails still come. "));
    assert_eq!(known(&[Kind::VmError, Kind::CollectorFailing], 0), silent);
    assert_eq!(known(&[], 1), "");
    let unread = catalogue::find("started_unread");
    assert!(!text(&unread).contains("everything is fine"));
}

/// A report that was read may still not tell the balance or the cut-off.
#[test]
fn the_first_mail_calls_nothing_fine_that_is_not_known() {
    let first = |report: Report| {
        let mut main = full("main");
        main.apply(Read::ExpectedBalance(report), read_at());
        let facts = Started { resources: 5, ..Started::default() };
        mail(&notice(Form::Started(facts), vec![]), &snapshot([&main]))
    };
    assert_eq!(first(report("5000", "10")).subject, "[INFO] Watching 5 resources; everything is fine (main)");
    let unknown = first(Report { edd: Edd::Unknown, ..report("5000", "10") });
    assert_eq!(unknown.subject, "[WARNING] Watching 5 resources; some data is missing (main)");
    assert!(
        text(&unknown).contains("main: Cut-off not known: the report does not say"),
        "{}",
        text(&unknown)
    );
}

/// A mail about many resources: the number of header pairs, and of entries in its part in JSON.
fn in_bounds(rendered: &Rendered) -> (usize, usize) {
    let raw = String::from_utf8(rendered.raw.clone()).unwrap();
    let (head, _) = raw.split_once("\r\n\r\n").unwrap();
    assert!(head.len() < 32 * 1024, "a head of {} bytes is refused for good", head.len());
    assert!(raw.lines().all(|line| line.len() <= 998));
    let message = parse(rendered);
    let json = message.attachments().find(|part| part.attachment_name() == Some("incidents.json"));
    let rows: Option<Vec<BTreeMap<String, String>>> =
        json.map(|part| serde_json::from_slice(part.contents()).unwrap());
    let distinct = |rows: Vec<BTreeMap<String, String>>| {
        rows.into_iter().map(|row| row["incident"].clone()).collect::<BTreeSet<String>>().len()
    };
    (headers(rendered, "X-Hostwatch-Incident").len(), rows.map_or(0, distinct))
}

/// The number of these names in a text.
fn named(text: &str, names: impl Iterator<Item = String>) -> usize {
    let words: BTreeSet<&str> = text.split(|c: char| c.is_whitespace() || ":,;<>".contains(c)).collect();
    names.filter(|name| words.contains(name.as_str())).count()
}

#[test]
fn a_mail_about_hundreds_names_fifty_and_counts_the_rest() {
    let forms =
        [(Form::News, Event::Opened), (Form::News, Event::Reminder(1)), (Form::News, Event::Resolved)];
    for (form, event) in forms {
        for (count, pairs, rows) in [(50, 50, 0), (51, 50, 51), (600, 50, 600)] {
            let items = (0..count).map(|id| {
                let item = item(Kind::VmError, id, &format!("VM vm-{id}"), event.clone());
                Item { thread: Some(format!("m{id}@example.com")), ..item }
            });
            let rendered = mail(&notice(form.clone(), items.collect()), &snapshot_of_main());
            assert_eq!(in_bounds(&rendered), (pairs, rows), "{form:?} {count}");
            for part in [text(&rendered), html(&rendered)] {
                let names = named(&part, (0..count).map(|id| format!("vm-{id}")));
                assert_eq!(names, 50, "of {count} in {part}");
                assert!(count == 50 || part.contains("more") && part.contains("incidents.json"), "{part}");
            }
        }
    }
}

#[test]
fn many_sites_are_listed_by_container() {
    let mut main = full("main");
    let sites = (0..600).map(|id| site(1000 + id, 31, "Error")).collect();
    main.apply(Read::Sites(ContainerId::new(31), all(sites)), read_at());
    let mut items: Vec<Item> =
        (0..600).map(|id| item(Kind::SiteError, 1000 + id, &format!("Site s{id}"), Event::Opened)).collect();
    items.extend((0..20).map(|id| item(Kind::VmBlocked, 1 + id, &format!("VM vm-{id}"), Event::Opened)));
    let rendered = mail(&notice(Form::News, items), &snapshot([&main]));
    assert_eq!(in_bounds(&rendered), (50, 620));
    let text = text(&rendered).replace("\n    ", " ");
    assert!(text.contains("\n600 sites in error in shop\n") && text.contains("\n  and 570 more\n"), "{text}");
    assert!(text.contains("\n20 VMs blocked\n") && text.contains("\n  vm-19  20\n"), "{text}");
    assert!(named(&text, (0..600).map(|id| format!("s{id}"))) <= 30, "{text}");
}

#[test]
fn consequences_of_many_containers_are_counted() {
    let mut main = full("main");
    let containers = (31..71).map(|id| container(id, "1")).collect();
    main.apply(Read::Containers(all(containers)), read_at());
    for id in 31..71 {
        let sites = (0..30).map(|number| site(id * 1000 + number, id, "Active")).collect();
        main.apply(Read::Sites(ContainerId::new(id), all(sites)), read_at());
    }
    let items =
        (31..71).map(|id| item(Kind::ContainerDisabled, id, &format!("Container c{id}"), Event::Opened));
    let rendered = mail(&notice(Form::News, items.collect()), &snapshot([&main]));
    let text = text(&rendered);
    assert!(
        text.contains("\n  c32   32  30\n") && text.contains("Also offline: 1202 sites (no separate mails):"),
        "{text}"
    );
    assert_eq!(text.matches(".example.com").count(), 20, "{text}");
}

#[test]
fn summary_and_first_mail_are_within_bounds() {
    let half = |over: bool| {
        let event = if over { Event::Resolved } else { Event::Opened };
        let first = if over { 300 } else { 0 };
        (first..first + 300).map(move |id| item(Kind::VmError, id, &format!("VM vm-{id}"), event.clone()))
    };
    let items: Vec<Item> = half(false).chain(half(true)).collect();
    let rendered = mail(&notice(summary(60), items.clone()), &snapshot_of_main());
    assert_eq!(in_bounds(&rendered), (50, 601));
    assert_eq!(text(&rendered).matches("\n  and 275 more\n").count(), 2);

    let facts = Started { resources: 600, ..Started::default() };
    let rendered = mail(&notice(Form::Started(facts), items), &snapshot_of_main());
    assert_eq!(in_bounds(&rendered), (50, 600));
    assert!(text(&rendered).contains("\n  and 290 more\n"));
}

/// A resource is named once, with all its problems.
#[test]
fn a_subject_names_a_resource_once_and_each_of_its_problems_has_a_part() {
    let remind = |kind: Kind, id: u64, moved_on: Option<&str>| {
        let item = item(kind, id, &format!("VM web-{id}"), Event::Reminder(1));
        let mut item = ago(chrono::Duration::hours(if kind == Kind::VmError { 72 } else { 24 }), item);
        if let Some(state) = moved_on.map(str::to_owned) {
            item.incident.detail = Detail::State { state, now: true };
        }
        item
    };
    let of = |id| [remind(Kind::VmError, id, Some("blocked")), remind(Kind::VmBlocked, id, None)];
    let one = mail(&notice(Form::News, of(17).into()), &snapshot_of_main());
    assert_eq!(one.subject, "[CRITICAL] VM web-17 still blocked (main)");
    let said = text(&one);
    let parts = ["\nVM web-17 not OK (now blocked, was in error)\n", "\nVM web-17 blocked\n"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    // One that was blocked from the start is among them.
    let blocked = remind(Kind::VmBlocked, 20, None);
    let items = (17..20).flat_map(of).chain([blocked, remind(Kind::VmStuck, 40, None)]).collect();
    let several = mail(&notice(Form::News, items), &snapshot_of_main());
    let want = "[CRITICAL] 5 problems: 4 VMs still blocked, VM web-40 still stuck (main)";
    assert_eq!(several.subject, want);
    let said = text(&several);
    for id in 17..20 {
        assert_eq!(
            said.lines().filter(|line| line.split_whitespace().next() == Some(&format!("web-{id}"))).count(),
            2,
            "{said}"
        );
    }
    assert_eq!(headers(&several, "X-Hostwatch-Incident").len(), 8, "a pair each");
    // Two problems that have nothing to do with each other.
    let both = vec![remind(Kind::VmError, 17, None), remind(Kind::VmStuck, 17, None)];
    let both = mail(&notice(Form::News, both), &snapshot_of_main());
    assert_eq!(both.subject, "[CRITICAL] VM web-17 still in error and stuck (main)");
    // An incident that ended is not listed as going on.
    let over = |kind| item(kind, 17, "VM web-17", Event::Resolved);
    let mixed = notice(Form::News, vec![over(Kind::VmStuck), over(Kind::VmError)]);
    let mixed = mail(&mixed, &snapshot_of_main());
    assert_eq!(mixed.subject.matches("web-17").count(), 1, "{}", mixed.subject);
    let both = vec![over(Kind::VmError), item(Kind::VmError, 18, "VM web-18", Event::Opened)];
    let both = mail(&notice(Form::News, both), &snapshot_of_main());
    assert_eq!(both.subject, "[CRITICAL] 2 changes: VM web-18 in error, VM web-17 active again (main)");
    let left = vec![over(Kind::VmError), item(Kind::VmError, 18, "VM web-18", Event::Unwatched)];
    let left = mail(&notice(Form::News, left), &snapshot_of_main());
    assert!(left.subject.contains("2 changes: "), "{}", left.subject);
}

/// All consequences of an incident are in its mail, and each of them once.
#[test]
fn a_mail_names_each_consequence_once() {
    let mut main = full("main");
    main.apply(Read::Sites(ContainerId::new(31), all(vec![site(101, 31, "StoppedByService")])), read_at());
    let mut moved = incident(Kind::VmError, 17, "VM web-1");
    moved.detail = Detail::State { state: "blocked".into(), now: true };
    let blocked = Item { covers: vec![moved], ..item(Kind::VmBlocked, 17, "VM web-1", Event::Opened) };
    let disabled = Item {
        covers: vec![
            incident(Kind::SiteBlocked, 101, "Site site101.example.com"),
            incident(Kind::SiteBlocked, 900, "Site elsewhere.example.com"),
        ],
        ..item(Kind::ContainerDisabled, 31, "Container shop", Event::Opened)
    };
    let of = |items: Vec<Item>| text(&mail(&notice(Form::News, items), &snapshot([&main])));
    let said = of(vec![blocked]);
    assert!(!said.contains("was in error") && !said.contains("Causes"), "{said}");
    let said = of(vec![disabled.clone()]);
    assert_eq!(said.matches("site101.example.com").count(), 1, "{said}");
    assert!(said.contains("Causes:     Site elsewhere.example.com stopped (no separate mails)"), "{said}");
    let other = item(Kind::ContainerDisabled, 32, "Container other", Event::Opened);
    let said = of(vec![disabled, other]).replace("\n  ", " ");
    assert!(said.contains("Site elsewhere.example.com stopped (no separate mails)"), "{said}");
}
