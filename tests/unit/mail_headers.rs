//! Headers, identity and parts of mails, read back from their bytes by a parser of another hand.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{Event, Form, Item, Kind, Ladder, Notice, Reason, Severity, Started};
use crate::mail::{Context, RenderError, render, render_test};
use crate::model::Snapshot;
use account::*;
use chrono::Duration;
use mail_support::*;

fn one() -> Notice {
    notice(Form::Opened, vec![item(Kind::VmError, 17, "VM web-1", Event::Opened)])
}

#[test]
fn every_header_of_the_contract() {
    let snapshot = snapshot([&full("main")]);
    let rendered = mail(&one(), &snapshot);
    assert!(rendered.raw.is_ascii());
    let lines = rendered.raw.split(|&byte| byte == b'\n');
    assert!(lines.clone().all(|line| line.len() < 999));
    assert!(lines.clone().count() == rendered.raw.windows(2).filter(|two| two == b"\r\n").count() + 1);
    let one = |name: &str| {
        let found = headers(&rendered, name);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        found[0].clone()
    };
    assert_eq!(one("From"), "hostwatch <hostwatch@example.com>");
    assert_eq!(one("To"), "Ops <ops@example.com>, second@example.org");
    assert_eq!(one("Subject"), "[CRITICAL] VM web-1 in error (main)");
    assert_eq!(one("Date"), "Sun, 01 Mar 2026 12:00:00 +0000");
    assert_eq!(one("Message-ID"), format!("<{}>", rendered.message_id));
    assert_eq!(one("Auto-Submitted"), "auto-generated");
    assert_eq!(one("X-Auto-Response-Suppress"), "All");
    assert_eq!(one("List-Id"), "<main.hostwatch.example.com>");
    assert_eq!(one("X-Hostwatch-Incident"), "main/vm_error/17");
    assert_eq!(one("X-Hostwatch-Event"), "opened");
    assert_eq!(one("MIME-Version"), "1.0");
    assert!(one("Content-Type").starts_with("multipart/alternative"));
    assert!(headers(&rendered, "References").is_empty() && headers(&rendered, "In-Reply-To").is_empty());
    assert!(rendered.message_id.ends_with("@example.com"));
    assert_eq!(rendered.sender, "hostwatch@example.com");
    assert_eq!(rendered.recipients, ["ops@example.com", "second@example.org"]);
    let message = parse(&rendered);
    assert_eq!((message.text_body_count(), message.html_body_count()), (1, 1));
}

#[test]
fn a_pair_for_each_incident_in_the_order_of_the_notice() {
    let mut items = vec![
        item(Kind::VmError, 17, "VM web-1", Event::Opened),
        item(Kind::UnknownState, "vm:a b\r\nX: y", "VM state x", Event::Opened),
    ];
    items[1].key.account = "shop".parse().unwrap();
    let rendered = mail(&notice(Form::Opened, items), &Snapshot::default());
    let pairs: Vec<(String, String)> = headers_in_order(&rendered);
    let want = [
        ("X-Hostwatch-Incident", "main/vm_error/17"),
        ("X-Hostwatch-Event", "opened"),
        ("X-Hostwatch-Incident", "shop/unknown_state/vm:a%20b%0D%0AX:%20y"),
        ("X-Hostwatch-Event", "opened"),
    ];
    assert_eq!(pairs, want.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(headers(&rendered, "List-Id"), ["<main.shop.hostwatch.example.com>"]);

    let facts = Started { resources: 43, ..Started::default() };
    let rendered = mail(&notice(Form::Started(facts), vec![]), &Snapshot::default());
    let want = [("X-Hostwatch-Incident", "main/started/account"), ("X-Hostwatch-Event", "started")];
    assert_eq!(headers_in_order(&rendered), want.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(rendered.subject, "[INFO] Watching 43 resources; nothing needs you (main)");
}

fn headers_in_order(rendered: &crate::mail::Rendered) -> Vec<(String, String)> {
    let message = parse(rendered);
    let raw = message.headers_raw().filter(|(name, _)| name.starts_with("X-Hostwatch"));
    raw.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

#[test]
fn replies_refer_to_the_mails_that_opened_and_the_last_day_starts_anew() {
    let threads =
        |pairs: &[(&str, &str)]| pairs.iter().map(|&(to, id)| (to.to_owned(), id.to_owned())).collect();
    let mut first = item(Kind::VmError, 17, "VM web-1", Event::Resolved);
    first.threads = threads(&[("Ops <ops@example.com>", "a@example.com"), ("third@example.org", "no@x")]);
    let mut second = item(Kind::VmError, 18, "VM web-2", Event::Resolved);
    second.threads =
        threads(&[("Ops <ops@example.com>", "b@example.com"), ("second@example.org", "a@example.com")]);
    let rendered = mail(&notice(Form::Closed, vec![first, second]), &snapshot([&full("main")]));
    assert_eq!(rendered.subject, "[RESOLVED] 2 VMs active again (main)");
    assert_eq!(headers(&rendered, "In-Reply-To"), ["<a@example.com>"]);
    assert_eq!(headers(&rendered, "References"), ["<b@example.com> <a@example.com>"]);

    let snapshot = snapshot([&full("main")]);
    for (rung, refers) in [(7, true), (4, false), (3, true), (0, true)] {
        let ladder = Ladder { edd: Some(now() + Duration::days(rung.into())), ..Ladder::default() };
        let mut item = disconnect(Event::Rung(rung), Severity::Critical, Some(ladder));
        item.threads = threads(&[("Ops <ops@example.com>", "a@example.com")]);
        let rendered = mail(&notice(Form::Disconnect, vec![item]), &snapshot);
        assert_eq!(!headers(&rendered, "References").is_empty(), refers, "rung {rung}");
        assert!(rendered.subject.starts_with("[CRITICAL] ") && rendered.subject.ends_with(" (main)"));
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_and_another_another_id() {
    let snapshot = snapshot([&full("main")]);
    let ladder = Ladder { edd: Some(now() + Duration::days(3)), ..Ladder::default() };
    let dry = notice(Form::Disconnect, vec![disconnect(Event::Rung(3), Severity::Critical, Some(ladder))]);
    for notice in [one(), dry] {
        let first = mail(&notice, &snapshot);
        assert_eq!(first, mail(&notice, &snapshot));
        let other = Notice { to: vec!["second@example.org".into()], ..notice.clone() };
        assert_ne!(first.message_id, mail(&other, &snapshot).message_id);
        let next = notice.items.iter().map(|item| Item { episode: 2, ..item.clone() }).collect();
        assert_ne!(first.message_id, mail(&Notice { items: next, ..notice }, &snapshot).message_id);
    }
}

#[test]
fn notes_go_into_the_mail_on_one_line() {
    let (from, snapshot) = (from(), Snapshot::default());
    let notes = ["2 mails to lost@example.org were given up: 550 no\r\nsuch user".to_owned()];
    let rendered = render(&one(), &Context { notes: &notes, ..context(&from, &snapshot) }).unwrap();
    assert!(text(&rendered).contains("lost@example.org were given up: 550 no such user"));
}

#[test]
fn what_cannot_be_addressed_is_an_error_that_names_it() {
    let (from, snapshot) = (from(), Snapshot::default());
    let bad = Notice { to: vec!["nobody".into()], ..one() };
    let error = render(&bad, &context(&from, &snapshot)).unwrap_err();
    assert!(matches!(&error, RenderError::Recipient { text, .. } if text == "nobody"), "{error}");
}

#[test]
fn a_test_mail_is_marked_as_one() {
    let from = from();
    let to = ["ops@example.com".to_owned()];
    let snapshot = snapshot([&full("main")]);
    let rendered = render_test(&to, &context(&from, &snapshot)).unwrap();
    assert_eq!(rendered.subject, "[TEST] Sample alert, nothing is wrong (main)");
    assert_eq!(headers(&rendered, "X-Hostwatch-Event"), ["test"]);
    assert!(render_test(&to, &context(&from, &Snapshot::default())).is_ok());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Whatever the provider calls its things, headers and parts are the same in number and kind.
    #[test]
    fn no_name_changes_the_frame_of_a_mail(name in "(?s).{0,300}", resource in "(?s).{0,40}") {
        let mut item = item(Kind::UnknownState, &resource, &name, Event::Opened);
        item.problem = name.clone();
        item.detail = name.clone();
        item.reason = Reason::Text(name);
        let count = 1 + resource.len() % 3;
        let rendered = mail(&notice(Form::Opened, vec![item; count]), &Snapshot::default());
        proptest::prop_assert!(rendered.raw.is_ascii());
        proptest::prop_assert!(rendered.raw.split(|&byte| byte == b'\n').all(|line| line.len() < 999));
        proptest::prop_assert!(rendered.subject.chars().count() <= 150);
        proptest::prop_assert!(!rendered.subject.contains(char::is_control));
        let message = parse(&rendered);
        proptest::prop_assert_eq!(message.subject(), Some(rendered.subject.as_str()));
        // Beside the pairs: From, To, Subject, Date, Message-ID, MIME-Version, Content-Type and three more.
        proptest::prop_assert_eq!(message.headers_raw().count(), 10 + 2 * count);
        proptest::prop_assert_eq!((message.text_body_count(), message.html_body_count()), (1, 1));
        proptest::prop_assert_eq!(message.attachment_count(), 0);
    }
}

/// Some servers refuse a head of more than 32 KiB for good.
#[test]
fn the_head_is_bounded_however_many_there_are() {
    let mut many = notice(
        Form::Opened,
        (0..600)
            .map(|id| {
                let state = format!("vm:{id:03}{}", "\u{420}".repeat(90));
                let mut item = item(Kind::UnknownState, state, "VM state", Event::Opened);
                let ids = (0..5).map(|mail| format!("{}.{id}.{mail}@example.com", "m".repeat(800)));
                item.threads = (0..).zip(ids).map(|(to, id)| (format!("r{to}@example.com"), id)).collect();
                item
            })
            .collect(),
    );
    let name = "\u{420}".repeat(90);
    many.to = (0..600).map(|n| format!("\"{name}\" <r{n}@{}.example.com>", "long".repeat(15))).collect();
    let rendered = mail(&many, &snapshot([&full("main")]));
    assert_eq!(rendered.recipients.len(), 600, "everybody gets it");
    let head = rendered.raw.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    assert!(head < 32 << 10, "{head}");
    assert!(rendered.raw[..head].split(|&byte| byte == b'\n').all(|line| line.len() < 999));
    assert_eq!(String::from_utf8_lossy(&rendered.raw).matches("\"incident\":").count(), 600, "all as JSON");

    // As many as have room are listed.
    many.to = (0..70).map(|n| format!("r{n}@example.com")).collect();
    let rendered = mail(&many, &snapshot([&full("main")]));
    let to = &headers(&rendered, "To")[0];
    assert_eq!((to.split(", ").count(), rendered.recipients.len()), (50, 70), "{to}");
}
