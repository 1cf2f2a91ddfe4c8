//! Messages to Telegram chats: at most six lines of the mail's words, the sound, and the buttons.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::account::*;
use super::mail_support::catalogue::billing::{of_owner, running_dry};
use super::mail_support::catalogue::{overview, resources};
use super::mail_support::*;

use crate::alert::{Event, Form, Item, Kind, NotReached, Notice, Severity, Started};
use crate::mail::{Context, Press, Rendered, noted, over, render_telegram};
use crate::model::*;
use serde_json::Value;

fn message(notice: &Notice, book: &KnownAccount, unreached: &[NotReached]) -> Rendered {
    let (from, snapshot) = (from(), snapshot([book]));
    let context =
        Context { page: Some("https://watch.example.com/"), unreached, ..context(&from, &snapshot) };
    render_telegram(notice, ID, true, &context).unwrap()
}

fn json(rendered: &Rendered) -> Value {
    serde_json::from_slice(&rendered.raw).unwrap()
}

fn text(rendered: &Rendered) -> String {
    json(rendered)["text"].as_str().unwrap().to_owned()
}

fn labels(raw: &[u8]) -> Vec<String> {
    let json: Value = serde_json::from_slice(raw).unwrap();
    let rows = json["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    rows.iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|one| one["text"].as_str().unwrap().to_owned())
        .collect()
}

fn fits(rendered: &Rendered) {
    let text = text(rendered);
    assert!(text.lines().count() <= 6, "{text}");
    assert!(text.encode_utf16().count() <= 4096, "{text}");
    assert!(
        text.starts_with(&format!("{}\n", rendered.subject))
            && text.lines().all(|line| !line.trim().is_empty()),
        "{text}"
    );
}

fn vm(id: u64, event: Event) -> Item {
    item(Kind::VmError, id, &format!("VM web-{}", id - 16), event)
}

#[test]
fn messages() {
    let mut out = String::new();
    let mut put = |what: &str, notice: &Notice, book: &KnownAccount, unreached: &[NotReached]| {
        let rendered = message(notice, book, unreached);
        fits(&rendered);
        let silent = json(&rendered)["disable_notification"].as_bool().unwrap();
        let sound = if silent { "silent" } else { "loud" };
        writeln!(out, "== {what}: {sound}, {}\n{}\n", labels(&rendered.raw).join(" | "), text(&rendered))
            .unwrap();
    };
    let (owner, main) = (of_owner(), full("main"));
    let lost = [NotReached {
        recipient: "ann@example.com".to_owned(),
        since: now(),
        error: "550 no such user".to_owned(),
    }];
    put("a VM", &notice(Form::News, vec![vm(17, Event::Opened)]), &owner, &[]);
    put("others that are not reached", &notice(Form::News, vec![vm(17, Event::Opened)]), &owner, &lost);
    put(
        "a warning",
        &notice(Form::News, vec![item(Kind::VmStopped, 17, "VM web-1", Event::Opened)]),
        &main,
        &[],
    );
    put("its end", &notice(Form::News, vec![vm(17, Event::Resolved)]), &owner, &[]);
    put("no longer watched", &notice(Form::News, vec![vm(17, Event::Unwatched)]), &main, &[]);
    let both = notice(Form::News, vec![vm(17, Event::Opened), vm(18, Event::Opened)]);
    put("several", &both, &main, &[]);
    put("several, and others that are not reached", &both, &main, &lost);
    let near = disconnect(Event::Rung(3), Severity::Critical, Some(computed("2026-03-04T11:00:00")));
    put("a cut-off", &notice(Form::News, vec![near.clone()]), &owner, &[]);
    let dearer = Item { says: vec![resources::dearer_order()], ..near.clone() };
    put("and a dearer order", &notice(Form::News, vec![dearer]), &owner, &[]);
    let deleted = Item { deleted_at: Some(t("2026-03-20T11:00:00")), ..near };
    put("with the day of deletion", &notice(Form::News, vec![deleted]), &running_dry(), &[]);
    let arrived = paid(cut_off("2026-03-04T11:00:00"), "3000", now());
    let paid = disconnect(Event::Resolved, Severity::Critical, Some(arrived));
    put("paid", &notice(Form::News, vec![paid]), &owner, &[]);
    let needs = Started { resources: 5, ..Started::default() };
    put("the first", &notice(Form::Started(needs), vec![vm(17, Event::Started)]), &main, &[]);
    put(
        "the first, nothing wrong",
        &notice(Form::Started(Started { resources: 5, ..Started::default() }), vec![]),
        &main,
        &[],
    );
    put(
        "a digest",
        &overview::digest(&[full("main")], vec![overview::of_the_week(Kind::VmError, 17, "VM web-1")]),
        &main,
        &[],
    );
    insta::assert_snapshot!(out);
}

#[test]
fn a_sample_makes_a_sound() {
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    let test = notice(Form::Test, vec![]);
    let rendered = render_telegram(&test, ID, true, &context(&from, &snapshot)).unwrap();
    fits(&rendered);
    assert_eq!(json(&rendered)["disable_notification"], false);
    assert!(rendered.subject.starts_with("[TEST] ") && labels(&rendered.raw).is_empty());
}

/// No name of a VM can make a message invalid or put a false line into it.
#[test]
fn no_name_is_too_long_or_begins_a_line() {
    let long = "\u{1f600}".repeat(5000);
    for name in ["a\n[RESOLVED] all is well", "<b>*_`[x](https://evil.example)", long.as_str()] {
        let named = |id: u64| item(Kind::VmError, id, &format!("VM {name}"), Event::Opened);
        for count in [1, 2, 50] {
            let items: Vec<Item> = (17..17 + count).map(named).collect();
            let mut book = of_owner();
            let vms = (17..17 + count).map(|id| super::account::vm(id, "error", name)).collect();
            book.apply(Read::Vms(all(vms)), read_at());
            let rendered = message(&notice(Form::News, items), &book, &[]);
            fits(&rendered);
            let edited = over(&rendered.raw, &format!("Over {name}")).unwrap();
            let edited: Value = serde_json::from_slice(&edited).unwrap();
            assert!(edited["text"].as_str().unwrap().encode_utf16().count() <= 4096);
            assert_eq!(text(&rendered).matches("\n[RESOLVED]").count(), 0);
        }
    }
    // An address that does not fit is left out completely.
    let mut book = of_owner();
    let guide =
        Guide { pay_link: Some(format!("https://pay.example.com/{}", "x".repeat(5000))), ..Guide::default() };
    book = book.with_profile(std::sync::Arc::new(Profile { guide, ..profile("main") }));
    let near = disconnect(Event::Rung(3), Severity::Critical, Some(computed("2026-03-04T11:00:00")));
    let rendered = message(&notice(Form::News, vec![near]), &book, &[]);
    fits(&rendered);
    assert!(
        !text(&rendered).contains("Pay: ") && text(&rendered).contains("Status page: "),
        "{}",
        text(&rendered)
    );
}

#[test]
fn an_edit_adds_a_line_and_takes_buttons_away() {
    let rendered = message(&notice(Form::News, vec![vm(17, Event::Opened)]), &full("main"), &[]);
    assert_eq!(labels(&rendered.raw), ["Seen", "Silent for 4 h"]);
    let seen = noted(&rendered.raw, "Seen by\nAnn", &[Press::Seen]).unwrap();
    assert_eq!(labels(&seen), ["Silent for 4 h"]);
    let ended = over(&seen, "Over since Sun 1 Mar 15:00 MSK").unwrap();
    assert!(labels(&ended).is_empty());
    let json: Value = serde_json::from_slice(&ended).unwrap();
    let want = format!("{}\nSeen by Ann\nOver since Sun 1 Mar 15:00 MSK", text(&rendered));
    assert_eq!((json["text"].as_str().unwrap(), json.get("reply_markup")), (want.as_str(), None));
    for (data, want) in [
        ("seen:one", Some((Press::Seen, "one"))),
        ("silence:0f@x", Some((Press::Silence, "0f@x"))),
        ("drop:one", None),
        ("seen", None),
        ("", None),
    ] {
        assert_eq!(Press::of(data), want, "{data}");
    }
}
