//! Mails about resources: names, lengths, words.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{Event, Form, Item, Kind, Severity, Started};
use crate::model::*;
use account::*;
use mail_support::*;

fn snapshot_of_main() -> Snapshot {
    snapshot([&full("main")])
}

#[test]
fn first_start_lists_the_worst_and_counts_the_rest() {
    let known = (0..22).map(|id| item(Kind::VmError, 17 + id, &format!("VM web-{id}"), Event::Started));
    let facts = Started { resources: 60, needs: 23, disconnect: true, unread: vec![] };
    let rendered = mail(&notice(Form::Started(facts), known.collect()), &snapshot_of_main());
    assert_eq!(headers(&rendered, "X-Hostwatch-Incident").len(), 20, "pairs of those listed");
    assert!(text(&rendered).contains("\nand 2 more\n"), "{}", text(&rendered));
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
    for &kind in Kind::ALL {
        for event in &events {
            for &severity in Severity::ALL {
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
