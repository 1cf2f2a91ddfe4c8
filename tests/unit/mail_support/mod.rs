//! Notices to render, and a reader of the rendered mails.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::cell::Cell;

use crate::alert::{
    Cause, CutOff, Decided, Detail, Event, Form, Incident, Item, Key, Kind, Notice, Phase, Severity, Subject,
    Summary, Told,
};
use crate::mail::{Context, Rendered, render, render_webhook};
use crate::model::{Collector, KnownAccount, Language, Snapshot, Sort};
use base64::Engine as _;
use chrono::{DateTime, Duration, Utc};
use lettre::message::Mailbox;
use mail_parser::{Message, MessageParser, MimeHeaders as _};

use crate::unit::account::{money, read_at, snapshot, t};

pub mod catalogue;

thread_local! {
    /// The language of the mails in these tests.
    static LANGUAGE: Cell<Language> = const { Cell::new(Language::En) };
    /// Whether posts to a webhook are written in place of these mails.
    static POSTED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `write` with another language.
pub fn written_in<T>(language: Language, write: impl FnOnce() -> T) -> T {
    LANGUAGE.set(language);
    let written = write();
    LANGUAGE.set(Language::En);
    written
}

/// Calls `write` with posts to a webhook in place of mails.
pub fn posted<T>(write: impl FnOnce() -> T) -> T {
    POSTED.set(true);
    let written = write();
    POSTED.set(false);
    written
}

/// A mail, or within [`posted`] a post.
pub fn written(notice: &Notice, context: &Context<'_>) -> Rendered {
    if !POSTED.get() {
        return render(notice, ID, context).unwrap();
    }
    let notice = Notice { to: "webhook:team".to_owned(), ..notice.clone() };
    let page = Some("https://watch.example.com/");
    render_webhook(&notice, ID, &Context { page, ..context.clone() }).unwrap()
}

/// The id of each mail here.
pub const ID: &str = "one@example.com";

/// 15:00 in Moscow, a Sunday.
pub fn now() -> DateTime<Utc> {
    t("2026-03-01T12:00:00")
}

pub fn from() -> Mailbox {
    "hostwatch <hostwatch@example.com>".parse().unwrap()
}

/// An open incident of account `main`, first seen two minutes ago.
pub fn incident(kind: Kind, resource: impl std::fmt::Display, subject: &str) -> Incident {
    let account = "main".parse().unwrap();
    let key = Key::new(&account, kind, resource.to_string().as_str());
    Incident {
        episode: 1,
        phase: Phase::Firing,
        subject: subject_of(subject).of_stored(&key),
        detail: Detail::State { state: "error".to_owned(), now: false },
        ..Incident::new(key, now() - Duration::minutes(2))
    }
}

/// The subject of this text: `VM web-1`, `Cannot read VMs`.
fn subject_of(text: &str) -> Subject {
    let reads = |collectors: &[Collector]| Subject::Unread { collectors: collectors.to_vec() };
    match text {
        "Provider API does not answer: nothing is watched" => Subject::Silent,
        "Balance dropped 900 RUB more than expected" => {
            Subject::Drop { missing: "900".parse().unwrap(), currency: "RUB".to_owned() }
        }
        "Unknown container state \"7\"" => {
            Subject::States { sort: Sort::Container, names: vec!["7".to_owned()] }
        }
        "Cannot read VMs" => reads(&[Collector::Vms]),
        "Cannot read the balance" => reads(&[Collector::ExpectedBalance]),
        "Cannot read sites" => reads(&[Collector::Sites]),
        text => Subject::Text(text.to_owned()),
    }
}

/// News of an incident of account `main`, first seen two minutes ago.
pub fn item(kind: Kind, resource: impl std::fmt::Display, subject: &str, event: Event) -> Item {
    let mut incident = incident(kind, resource, subject);
    if event.is_end() {
        (incident.phase, incident.ended) = (Phase::Resolved, Some(now()));
    }
    let is_told_once = matches!(kind, Kind::VmStopped | Kind::Disconnect) || kind.is_momentary();
    let is_told_once = is_told_once || event.is_end() || matches!(event, Event::Digest(_));
    Item {
        is_reminded: !is_told_once && incident.severity != Severity::Info,
        key: incident.key.clone(),
        event,
        severity: incident.severity,
        why: Cause::SeenWrongInARow { polls: 2 },
        began: incident.since,
        episodes: 1,
        before: Told::default(),
        thread: None,
        as_of: None,
        incident,
        cut_off: None,
        covers: Vec::new(),
        says: Vec::new(),
        at: now(),
        muted: Decided::default(),
        deleted_at: None,
    }
}

/// The same for an incident that began so long ago.
pub fn ago(ago: Duration, item: Item) -> Item {
    let began = now() - ago;
    Item { began, incident: Incident { since: began, ..item.incident }, ..item }
}

/// The same for another account.
pub fn of_account(name: &str, item: Item) -> Item {
    let key = Key { account: name.parse().unwrap(), ..item.key };
    Item { incident: Incident { key: key.clone(), ..item.incident }, key, ..item }
}

/// The disconnect of `main`.
pub fn disconnect(event: Event, severity: Severity, cut_off: Option<CutOff>) -> Item {
    let item = item(Kind::Disconnect, "account", "Account main", event);
    let incident = Incident { severity, detail: Detail::default(), ..item.incident };
    Item { severity, cut_off, incident, ..item }
}

/// A cut-off at this time, as a report of now has it.
pub fn cut_off(edd: &str) -> CutOff {
    let mut cut_off = CutOff::default();
    (cut_off.edd, cut_off.read_at) = (Some(t(edd)), Some(read_at()));
    cut_off
}

/// The same, after a payment of this amount that this report shows.
pub fn paid(mut cut_off: CutOff, amount: &str, at: DateTime<Utc>) -> CutOff {
    cut_off.arrived = Some((at, money(amount)));
    cut_off
}

/// The same, with the balance used up.
pub fn used_up(edd: &str) -> CutOff {
    let mut cut_off = cut_off(edd);
    cut_off.used_up = true;
    cut_off
}

/// The same, computed from the charges: no report names it.
pub fn computed(edd: &str) -> CutOff {
    let mut cut_off = cut_off(edd);
    cut_off.computed = true;
    cut_off
}

/// A cut-off with an empty balance and an unknown date.
pub fn gone() -> CutOff {
    let mut cut_off = CutOff::default();
    (cut_off.gone, cut_off.used_up) = (true, true);
    cut_off
}

/// The same for a recipient whose last mail named this date.
pub fn told(date: &str, mut item: Item) -> Item {
    item.before.money.date = Some(t(date));
    item
}

pub fn notice(form: Form, items: Vec<Item>) -> Notice {
    let mut accounts: Vec<_> = items.iter().map(|item| item.key.account.clone()).collect();
    accounts.sort();
    accounts.dedup();
    if accounts.is_empty() {
        accounts.push("main".parse().unwrap());
    }
    Notice { form, items, to: "ops@example.com".into(), accounts }
}

/// The form of a summary of 20 minutes, with a limit of so many mails per hour.
pub fn summary(max_per_hour: usize) -> Form {
    Form::Summary(Summary { max_per_hour, since: now() - Duration::minutes(20) })
}

/// Renders at [`now`], with three days for a payment.
pub fn mail(notice: &Notice, snapshot: &Snapshot) -> Rendered {
    let from = from();
    written(notice, &context(&from, snapshot))
}

/// The mail about a cut-off, based on the report of this account.
pub fn mail_about(item: Item, book: &KnownAccount) -> Rendered {
    let as_of = item.cut_off.as_ref().and_then(|one| one.as_of(book.state(), now()));
    mail(&notice(Form::News, vec![Item { as_of, ..item }]), &snapshot([book]))
}

pub fn context<'a>(from: &'a Mailbox, snapshot: &'a Snapshot) -> Context<'a> {
    Context { language: LANGUAGE.get(), ..Context::new(from, snapshot, now()) }
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

/// The values of all headers with this name, in order.
pub fn headers(rendered: &Rendered, name: &str) -> Vec<String> {
    let message = parse(rendered);
    let raw = message.headers_raw().filter(|(found, _)| found.eq_ignore_ascii_case(name));
    raw.map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The text of a golden file for a mail: its headers, and its HTML without styles. Also writes the HTML part as a
/// page below the build directory, for a browser (`docs/screenshots/mails.sh`).
pub fn golden(name: &str, rendered: &Rendered) -> String {
    let message = parse(rendered);
    let mut page = html(rendered);
    let (_, body) = page.split_once("<body").unwrap();
    let raw = std::str::from_utf8(&rendered.raw).unwrap();
    let head = raw.split("\r\n\r\n").next().unwrap().replace("\r\n", "\n");
    let golden = format!("{head}\n\n== html\n<body{}", without_styles(body));
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

/// The words of markup, without tags and hidden parts, with entities decoded.
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
