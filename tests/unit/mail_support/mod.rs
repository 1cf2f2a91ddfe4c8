//! Notices to render, and mails taken apart again.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;

use crate::alert::{Event, Form, Item, Key, Kind, Ladder, Notice, Reason, Severity};
use crate::mail::{Context, Rendered, render};
use crate::model::Snapshot;
use base64::Engine as _;
use chrono::{DateTime, Duration, Utc};
use lettre::message::Mailbox;
use mail_parser::{Message, MessageParser, MimeHeaders as _};

use crate::unit::account::t;

pub mod catalogue;

/// 15:00 in Moscow, a Sunday.
pub fn now() -> DateTime<Utc> {
    t("2026-03-01T12:00:00")
}

pub fn from() -> Mailbox {
    "hostwatch <hostwatch@example.com>".parse().unwrap()
}

/// An incident of account `main`, first seen two minutes ago.
pub fn item(kind: Kind, resource: impl std::fmt::Display, subject: &str, event: Event) -> Item {
    let account = "main".parse().unwrap();
    Item {
        key: Key::new(&account, kind, resource.to_string().as_str()),
        episode: 1,
        arming: 0,
        event,
        severity: kind.default_severity(),
        subject: subject.to_owned(),
        problem: kind.problem().to_owned(),
        detail: "its state is error".to_owned(),
        reason: Reason::Text("confirmed by 2 polls".to_owned()),
        since: now() - Duration::minutes(2),
        at: now(),
        unwatched: None,
        threads: BTreeMap::new(),
        ladder: None,
        calendar: None,
        ended: None,
        covers: Vec::new(),
        muted: None,
    }
}

/// The disconnect of `main`, with the words that the engine uses.
pub fn disconnect(event: Event, severity: Severity, ladder: Option<Ladder>) -> Item {
    let mut item = item(Kind::Disconnect, "account", "Account main", event);
    item.problem = "will be cut off for non-payment".to_owned();
    item.severity = severity;
    item.ladder = ladder;
    item
}

pub fn notice(form: Form, items: Vec<Item>) -> Notice {
    let mut accounts: Vec<_> = items.iter().map(|item| item.key.account.clone()).collect();
    accounts.sort();
    accounts.dedup();
    if accounts.is_empty() {
        accounts.push("main".parse().unwrap());
    }
    Notice { form, items, to: vec!["Ops <ops@example.com>".into(), "second@example.org".into()], accounts }
}

/// Renders at [`now`] with three days for a payment.
pub fn mail(notice: &Notice, snapshot: &Snapshot) -> Rendered {
    let from = from();
    render(notice, &context(&from, snapshot)).unwrap()
}

pub fn context<'a>(from: &'a Mailbox, snapshot: &'a Snapshot) -> Context<'a> {
    Context::new(from, snapshot, now())
}

pub fn parse(rendered: &Rendered) -> Message<'_> {
    MessageParser::default().parse(&rendered.raw).unwrap()
}

pub fn text(rendered: &Rendered) -> String {
    parse(rendered).body_text(0).unwrap().replace("\r\n", "\n")
}

pub fn html(rendered: &Rendered) -> String {
    parse(rendered).body_html(0).unwrap().into_owned()
}

/// Every header by this name, in order.
pub fn headers(rendered: &Rendered, name: &str) -> Vec<String> {
    let message = parse(rendered);
    let raw = message.headers_raw().filter(|(found, _)| found.eq_ignore_ascii_case(name));
    raw.map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// All that a golden file holds of a mail: its headers, its text, its HTML without styles. Leaves the HTML
/// part as a page under the build directory, to be looked at in a browser (`docs/screenshots/mails.sh`).
pub fn golden(name: &str, rendered: &Rendered) -> String {
    let message = parse(rendered);
    let mut page = html(rendered);
    let (_, body) = page.split_once("<body").unwrap();
    let raw = std::str::from_utf8(&rendered.raw).unwrap();
    let head = raw.split("\r\n\r\n").next().unwrap().replace("\r\n", "\n");
    let golden = format!(
        "{head}\n\n== subject\n{}\n\n== text\n{}\n== html\n<body{}",
        rendered.subject,
        text(rendered),
        without_styles(body)
    );
    for chart in message.attachments() {
        let data = base64::engine::general_purpose::STANDARD.encode(chart.contents());
        let id = chart.content_id().unwrap();
        page = page.replace(&format!("cid:{id}"), &format!("data:image/png;base64,{data}"));
    }
    let folder = crate::unit::tools::scratch().join("mails");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
    golden
}

/// Markup without its `style` attributes.
fn without_styles(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once(" style=\"") {
        out.push_str(before);
        rest = after.split_once('"').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}

/// The words of markup: no tags, nothing that is not displayed, entities read.
pub fn words_of(html: &str) -> Vec<String> {
    let (_, mut rest) = html.split_once("<body").unwrap();
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before.rsplit_once('>').map_or(before, |(_, text)| text));
        let block = ["td", "th", "/td", "/tr", "p", "li", "h2", "span class=\"label"];
        if block.iter().any(|tag| after.starts_with(tag)) {
            plain.push(' ');
        }
        rest = match after.strip_prefix("span class=\"label") {
            Some(label) => label.split_once("</span>").map_or("", |(_, rest)| rest),
            None => after,
        };
    }
    for (entity, text) in [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")] {
        plain = plain.replace(entity, text);
    }
    plain.split_whitespace().map(str::to_owned).collect()
}
