//! Headers, identity and parts of mails, read back from their bytes by an independent parser.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{Event, Form, Item, Kind, NotReached, Notice, Started};
use crate::mail::{Context, RenderError, render};
use crate::model::{Language, Snapshot};
use account::*;
use mail_support::*;

fn one() -> Notice {
    notice(Form::News, vec![item(Kind::VmError, 17, "VM web-1", Event::Opened)])
}

#[test]
fn replies_refer_to_the_mails_that_began_the_threads_the_worst_last() {
    let over = |id: u64, thread: Option<&str>| {
        let item = item(Kind::VmError, id, &format!("VM web-{id}"), Event::Resolved);
        Item { thread: thread.map(str::to_owned), ..item }
    };
    let items = vec![over(17, Some("a@example.com")), over(18, Some("b@example.com")), over(19, None)];
    let again = over(20, Some("a@example.com"));
    let items = items.into_iter().chain([again]).collect();
    let rendered = mail(&notice(Form::News, items), &snapshot([&full("main")]));
    assert_eq!(headers(&rendered, "In-Reply-To"), ["<a@example.com>"]);
    assert_eq!(headers(&rendered, "References"), ["<b@example.com> <a@example.com>"]);
    // A mail that begins with a beginning is no reply, one of ends alone is.
    let new = |event| Item { thread: None, ..item(Kind::VmError, 21, "VM web-21", event) };
    for (event, replies) in [(Event::Opened, false), (Event::WasDown, true)] {
        let items = vec![new(event), over(17, Some("a@example.com"))];
        let rendered = mail(&notice(Form::News, items), &snapshot([&full("main")]));
        assert_eq!(!headers(&rendered, "In-Reply-To").is_empty(), replies);
    }
    let many = (1..=30).map(|id| over(id, Some(&format!("m{id}@example.com")))).collect();
    let rendered = mail(&notice(Form::News, many), &snapshot([&full("main")]));
    let references = headers(&rendered, "References").concat();
    let want: Vec<String> = (1..=10).rev().map(|id| format!("<m{id}@example.com>")).collect();
    assert_eq!(references, want.join(" "));
}

#[test]
fn lines_about_mails_are_in_the_recipients_language_each_on_one_line() {
    let (from, snapshot) = (from(), Snapshot::default());
    let unreached = [NotReached {
        recipient: "bob@example.com".to_owned(),
        since: now(),
        error: "550 no\r\nsuch user".to_owned(),
    }];
    let clock = Some(chrono::TimeDelta::days(10));
    let context = Context { clock, unreached: &unreached, ..context(&from, &snapshot) };
    let of = |language| {
        let context = Context { language, ..context.clone() };
        text(&render(&one(), ID, &context).unwrap()).replace("\n    ", " ")
    };
    let english = "\nAbout these mails\n  - This machine's clock is 10 d ahead of the provider's; the provider's is used.\n  \
                   - Mails to bob@example.com have not been delivered since Sun 1 Mar 12:00 UTC: 550 no such user\n";
    let russian = "\nОб этих письмах\n  - Часы этой машины спешат на 10 д относительно часов провайдера; используется время \
                   провайдера.\n";
    for (language, want) in [(Language::En, english), (Language::Ru, russian)] {
        assert!(of(language).contains(want), "{}", of(language));
    }
}

#[test]
fn an_invalid_recipient_is_named_in_the_error() {
    let (from, snapshot) = (from(), Snapshot::default());
    let context = context(&from, &snapshot);
    let bare = render(&one(), ID, &context).unwrap();
    assert_eq!(headers(&bare, "To"), ["<ops@example.com>"]);
    let error = render(&Notice { to: "nobody".into(), ..one() }, ID, &context).unwrap_err();
    assert!(matches!(&error, RenderError::Recipient { text, .. } if text == "nobody"), "{error}");
    let error = render(&one(), "a\r\nBcc: b@c", &context).unwrap_err();
    assert!(matches!(&error, RenderError::Header(_)), "{error}");
}

/// Some servers always refuse a head of more than 32 KiB.
#[test]
fn the_head_is_bounded_however_many_there_are() {
    let item_of = |id| {
        let gone = format!("disk:{id:03}{}", "x".repeat(180));
        let thread = Some(format!("{}.{id}@example.com", "m".repeat(800)));
        Item { thread, ..item(Kind::ResourceGone, gone, "container", Event::Opened) }
    };
    let many = notice(Form::News, (0..600).map(item_of).collect());
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    let rendered = render(&many, ID, &context(&from, &snapshot)).unwrap();
    let head = rendered.raw.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    assert!(head < 32 << 10, "{head}");
    assert!(rendered.raw[..head].split(|&byte| byte == b'\n').all(|line| line.len() < 999));
    assert_eq!(String::from_utf8_lossy(&rendered.raw).matches("\"incident\":").count(), 600, "all as JSON");
}

/// Mailboxes in one file begin a mail with such a line, so some relays and programs write ">From " instead.
#[test]
fn no_line_of_a_readable_part_begins_with_from_and_a_blank() {
    let facts = Started { resources: 43, ..Started::default() };
    let first = mail(&notice(Form::Started(facts), vec![]), &Snapshot::default());
    let raw = String::from_utf8(first.raw.clone()).unwrap();
    assert!(raw.contains("\r\n=46rom now on\r\n"), "{raw}");
    assert!(text(&first).contains("\nFrom now on\n"), "{}", text(&first));
    // Encoded lines are broken anywhere.
    for length in 0..160 {
        let error = format!("{}From {}", "–".repeat(length % 5) + &"x".repeat(length), "y".repeat(30));
        let unreached = [NotReached { recipient: "bob@example.com".to_owned(), since: now(), error }];
        let (from, snapshot) = (from(), Snapshot::default());
        let notice = notice(Form::News, vec![item(Kind::VmError, 17, "VM web-1", Event::Opened)]);
        let context = crate::mail::Context { unreached: &unreached, ..context(&from, &snapshot) };
        let rendered = crate::mail::render(&notice, ID, &context).unwrap();
        let raw = String::from_utf8(rendered.raw.clone()).unwrap();
        assert!(raw.lines().all(|line| !line.starts_with("From ") && line.len() <= 78), "{raw}");
        let words = text(&rendered).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&unreached[0].error), "{words}");
        assert!(html(&rendered).contains(&unreached[0].error), "{unreached:?}");
    }
}
