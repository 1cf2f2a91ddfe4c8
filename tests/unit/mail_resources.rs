//! Mails about resources: names, lengths, words.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{Event, Form, Item, Kind, Overflow, Severity, Started};
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
    let facts = Started { resources: 60, needs: 23, disconnect: true, ..Started::default() };
    let rendered = mail(&notice(Form::Started(facts), known.collect()), &snapshot_of_main());
    assert_eq!(headers(&rendered, "X-Hostwatch-Incident").len(), 22, "a pair each, listed or not");
    assert!(text(&rendered).contains("\n  and 2 more\n"), "{}", text(&rendered));
    let unread = catalogue::find("started_unread");
    assert!(!text(&unread).contains("nothing needs you"));
}

#[test]
fn names_change_no_header_and_no_markup() {
    let rendered = catalogue::find("names_that_attack");
    assert!(rendered.raw.is_ascii());
    let message = parse(&rendered);
    assert!(message.bcc().is_none());
    assert_eq!(message.subject().unwrap(), rendered.subject);
    assert!(rendered.subject.chars().count() <= 150 && !rendered.subject.contains(char::is_control));
    let page = html(&rendered);
    assert!(!page.contains("<script>") && !page.contains("<b>x") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&#60;script&#62;"), "{page}");
    assert!(!text(&rendered).lines().any(|line| line.starts_with("Bcc")));
}

/// A mail about many things: pairs of headers, and what its part in JSON has.
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

/// How many of the names are in a text.
fn named(text: &str, names: impl Iterator<Item = String>) -> usize {
    let words: BTreeSet<&str> = text.split(|c: char| c.is_whitespace() || ":,;<>".contains(c)).collect();
    names.filter(|name| words.contains(name.as_str())).count()
}

#[test]
fn a_mail_about_hundreds_names_fifty_and_counts_the_rest() {
    let forms = [
        (Form::Opened, Event::Opened),
        (Form::Reminder, Event::Reminder(1)),
        (Form::Closed, Event::Resolved),
    ];
    for (form, event) in forms {
        for (count, pairs, rows) in [(50, 50, 0), (51, 50, 51), (3000, 50, 3000)] {
            let items = (0..count).map(|id| {
                let mut item = item(Kind::VmError, id, &format!("VM vm-{id}"), event.clone());
                item.threads =
                    BTreeMap::from([("second@example.org".to_owned(), format!("m{id}@example.com"))]);
                item
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
    let rendered = mail(&notice(Form::Opened, items), &snapshot([&main]));
    assert_eq!(in_bounds(&rendered), (50, 620));
    let text = text(&rendered).replace("\n    ", " ");
    assert!(text.contains("\n600 sites in error in shop\n") && text.contains("\n  and 570 more\n"), "{text}");
    assert!(text.contains("\n20 VMs blocked\n") && text.contains("\n  vm-19  20\n"), "{text}");
    assert!(named(&text, (0..600).map(|id| format!("s{id}"))) <= 30, "{text}");
}

#[test]
fn what_goes_dark_with_many_is_counted() {
    let mut main = full("main");
    let containers = (31..71).map(|id| container(id, "1")).collect();
    main.apply(Read::Containers(all(containers)), read_at());
    for id in 31..71 {
        let sites = (0..30).map(|number| site(id * 1000 + number, id, "Active")).collect();
        main.apply(Read::Sites(ContainerId::new(id), all(sites)), read_at());
    }
    let items =
        (31..71).map(|id| item(Kind::ContainerDisabled, id, &format!("Container c{id}"), Event::Opened));
    let rendered = mail(&notice(Form::Opened, items.collect()), &snapshot([&main]));
    let text = text(&rendered);
    assert!(
        text.contains("\n  c32   32  30\n") && text.contains("Also offline: 1202 sites (no separate mails):"),
        "{text}"
    );
    assert_eq!(text.matches(".example.com").count(), 20, "{text}");
}

/// No other mail comes of them.
#[test]
fn a_summary_names_what_is_offline_with_a_container() {
    let mut main = full("main");
    let sites = (0..7).map(|id| site(1000 + id, 31, if id == 0 { "Error" } else { "Active" })).collect();
    main.apply(Read::Sites(ContainerId::new(31), all(sites)), read_at());
    let facts = Overflow { max_per_hour: 60, since: now() };
    for (event, named) in [(Event::Opened, true), (Event::Resolved, false)] {
        let items = vec![item(Kind::ContainerDisabled, 31, "Container shop", event)];
        let rendered = mail(&notice(Form::Overflow(facts.clone()), items), &snapshot([&main]));
        let text = text(&rendered).replace("\n    ", " ");
        assert_eq!(
            text.contains("; also offline: ")
                && text.contains("(Error)")
                && text.contains(" and 4 more (main/"),
            named,
            "{text}"
        );
    }
}

#[test]
fn overflow_and_first_start_are_within_bounds() {
    let half = |over: bool| {
        let event = if over { Event::Resolved } else { Event::Opened };
        let first = if over { 300 } else { 0 };
        (first..first + 300).map(move |id| item(Kind::VmError, id, &format!("VM vm-{id}"), event.clone()))
    };
    let facts = Overflow { max_per_hour: 60, since: now() };
    let items: Vec<Item> = half(false).chain(half(true)).collect();
    let rendered = mail(&notice(Form::Overflow(facts), items.clone()), &snapshot_of_main());
    assert_eq!(in_bounds(&rendered), (50, 601));
    assert!(text(&rendered).replace("\n  ", " ").contains("250 open and 300 closed"));

    let facts = Started { resources: 600, needs: 600, ..Started::default() };
    let rendered = mail(&notice(Form::Started(facts), items), &snapshot_of_main());
    assert_eq!(in_bounds(&rendered), (50, 600));
    assert!(text(&rendered).contains("\n  and 290 more\n"));
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
    for &kind in Kind::ALL {
        for event in &events {
            for &severity in Severity::ALL {
                let item = Item { severity, ..item(kind, 17, "VM web-1", event.clone()) };
                let rendered = mail(&notice(Form::Opened, vec![item]), &snapshot_of_main());
                assert!(
                    rendered.subject.contains("VM web-1") && rendered.subject.ends_with(" (main)"),
                    "{rendered:?}"
                );
                let first = text(&rendered).lines().next().unwrap().to_owned();
                assert!(first.contains("VM web-1") && first.contains("1 Mar"), "{first}");
            }
        }
    }
}

/// A resource is named once, with all that is wrong with it.
#[test]
fn a_reminder_has_one_row_a_resource() {
    let remind = |kind: Kind, id: u64, problem: &str| {
        let mut item = item(kind, id, &format!("VM web-{id}"), Event::Reminder(1));
        item.since = now() - chrono::Duration::hours(if kind == Kind::VmError { 72 } else { 24 });
        Item { problem: problem.to_owned(), ..item }
    };
    let of = |id| {
        [
            remind(Kind::VmError, id, "not OK (now blocked, was in error)"),
            remind(Kind::VmBlocked, id, "blocked"),
        ]
    };
    let one = mail(&notice(Form::Reminder, of(17).into()), &snapshot_of_main());
    assert_eq!(one.subject, "[CRITICAL] VM web-17 still blocked, was in error (main)");
    let said = text(&one);
    assert_eq!(said.matches("VM web-17").count(), 2, "subject's sentence and heading: {said}");
    assert!(said.contains("Blocked since") && said.contains("was in error) since"), "{said}");
    let items = (17..20).flat_map(of).chain([remind(Kind::VmStuck, 40, "stuck")]).collect();
    let several = mail(&notice(Form::Reminder, items), &snapshot_of_main());
    let want = "[CRITICAL] 4 problems: 3 VMs still blocked, were in error, VM web-40 still stuck (main)";
    assert_eq!(several.subject, want);
    let said = text(&several);
    for id in 17..20 {
        assert_eq!(
            said.lines().filter(|line| line.split_whitespace().next() == Some(&format!("web-{id}"))).count(),
            1,
            "{said}"
        );
    }
    assert_eq!(headers(&several, "X-Hostwatch-Incident").len(), 7, "a pair each");
    // Two ways to be wrong that have nothing to do with each other.
    let both = vec![remind(Kind::VmError, 17, "in error"), remind(Kind::VmStuck, 17, "stuck")];
    let both = mail(&notice(Form::Reminder, both), &snapshot_of_main());
    assert_eq!(both.subject, "[CRITICAL] VM web-17 still in error and stuck (main)");
    // What ended is no part of what goes on.
    let mut over = item(Kind::VmStuck, 17, "VM web-17", Event::Resolved);
    over.problem = "stuck".to_owned();
    let mixed =
        notice(Form::Closed, vec![over.clone(), Item { key: remind(Kind::VmError, 17, "").key, ..over }]);
    let mixed = mail(&mixed, &snapshot_of_main());
    assert_eq!(mixed.subject.matches("web-17").count(), 1, "{}", mixed.subject);
}
