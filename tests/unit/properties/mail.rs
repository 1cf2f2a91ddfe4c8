//! Mails: for any names of resources, a mail has the same headers, parts and markup as for harmless names. An
//! independent parser can read it, and it contains the name.

use std::sync::Arc;

use crate::alert::{
    Cause, CutOff, Decided, Detail, Digest, Event, Form, Item, Kind, Notice, Severity, Started,
};
use crate::mail::Rendered;
use crate::model::forecast;
use crate::model::*;
use chrono::Duration;
use mail_parser::{Message, MimeHeaders as _};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::unit::properties::account::{self, read_at};
use crate::unit::properties::given;
use crate::unit::properties::mail_support::{
    cut_off, disconnect, html, incident, item, mail, notice, now, parse, summary, text,
};
use crate::unit::properties::markup::{self, Allowed};

/// The markup in the template of mails.
pub const MARKUP: Allowed = Allowed {
    tags: &[
        ("html", &["lang"]),
        ("head", &[]),
        ("meta", &["charset", "name", "content"]),
        ("title", &[]),
        ("style", &[]),
        ("body", &["class", "style"]),
        ("div", &["class", "style"]),
        ("p", &["class", "style"]),
        ("h2", &["style"]),
        ("table", &["role", "class", "cellpadding", "cellspacing", "style"]),
        ("tr", &["class"]),
        ("td", &["class", "style", "colspan", "rowspan"]),
        ("th", &["class", "scope"]),
        ("ul", &["style"]),
        ("li", &[]),
        ("span", &["class", "style"]),
        ("img", &["src", "alt", "width", "height", "style"]),
    ],
    value: |_, attribute, value| match attribute {
        "src" => value.starts_with("cid:chart."),
        "style" => !value.contains("url(") && !value.contains("expression"),
        "alt" => true,
        _ => value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -=,.%".contains(&byte)),
    },
};

/// Characters that are obeyed and not shown: controls, changes of the writing direction, line breaks.
pub fn is_obeyed(c: char) -> bool {
    let bidi =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || bidi || matches!(c, '\u{2028}' | '\u{2029}')
}

/// An account whose resources have these names in turn.
pub fn called(names: &[String]) -> KnownAccount {
    let mut turn = (0..).map(|index: usize| names[index % names.len()].as_str());
    let mut next = || -> Box<str> { turn.next().unwrap_or_default().into() };
    let mut book = account::book(Profile { currency: next().into(), ..account::profile("main") });
    account::fill(&mut book, read_at());
    let vms = (17..23).map(|id| {
        let row = account::vm(id, if id % 2 == 0 { "error" } else { "active" }, "");
        Vm { name: Some(next()), vm_id: Some(next()), tariff: Some(next()), ..row }
    });
    book.apply(Read::Vms(account::all(vms.collect())), read_at());
    let row = Container {
        name: Some(next()),
        login: Some(next()),
        server: Some(next()),
        ..account::container(31, "DISABLED_BY_SERVICE")
    };
    book.apply(Read::Containers(account::all(vec![row])), read_at());
    let site =
        Site { name: Some(next()), state: SiteState::Unknown(next()), ..account::site(104, 31, "Active") };
    book.apply(Read::Sites(ContainerId::new(31), account::all(vec![site])), read_at());
    let mut report = account::report("25.50", "10.00");
    for order in &mut report.orders {
        let order = Arc::make_mut(order);
        order.comment = Some(next());
        order.state = OrderState::Unknown(next());
        if let Some(tariff) = order.tariff.as_mut().map(Arc::make_mut) {
            tariff.name = Some(next());
            tariff.short_name = Some(next());
        }
    }
    book.apply(Read::ExpectedBalance(account::report("525.50", "10.00")), read_at());
    book.apply(Read::ExpectedBalance(report), read_at());
    book.end(Collector::Ips, account::ended(Some(&next())), read_at());
    book
}

fn items(names: &[String], event: &Event) -> Vec<Item> {
    let kinds = [Kind::VmError, Kind::SiteBlocked, Kind::UnknownState, Kind::ContainerDisabled];
    let item = |(index, name): (usize, &String)| {
        let mut item = item(kinds[index % 4], index, name, event.clone());
        item.incident.detail = Detail::State { state: name.clone(), now: true };
        item.why = Cause::NoRecovery { detail: Detail::Text(name.clone()) };
        item.covers = vec![incident(Kind::VmBlocked, 900 + index, name)];
        if index == 1 {
            item.muted = Decided { acknowledged: true, note: Some(name.clone()), ..Decided::default() };
        }
        item
    };
    names.iter().enumerate().map(item).collect()
}

/// A mail of every form.
pub fn mails(names: &[String]) -> Vec<Rendered> {
    let snapshot = account::snapshot([&called(names)]);
    let mut dark = disconnect(Event::Rung(3), Severity::Critical, Some(cut_off("2026-03-04T12:00:00")));
    dark.why = Cause::NoRecovery { detail: Detail::Text(names[0].clone()) };
    dark.covers = vec![incident(Kind::ContainerDisabled, 31, &names[0])];
    let started = Started { resources: 9, ..Started::default() };
    let date = "2026-03-01".parse().unwrap();
    let digest =
        Digest { date, from: now() - Duration::days(7), to: now(), accounts: vec!["main".parse().unwrap()] };
    let mut notices: Vec<Notice> = [
        (Form::News, Event::Opened),
        (Form::News, Event::Resolved),
        (Form::News, Event::Reminder(1)),
        (Form::Started(started), Event::Started),
        (summary(3), Event::Opened),
        (Form::News, Event::Unwatched),
        (Form::Digest(digest), Event::Digest(date)),
    ]
    .map(|(form, event)| notice(form, items(names, &event)))
    .into();
    notices.push(notice(Form::News, vec![dark]));
    notices.push(notice(Form::Test, vec![]));
    notices.iter().map(|notice| mail(notice, &snapshot)).collect()
}

/// The parts that no name may change: the names of the headers in their order, and the parts with their types.
fn frame(message: &Message<'_>) -> (Vec<String>, Vec<String>) {
    let headers = message.headers_raw().map(|(name, _)| name.to_owned()).collect();
    let kind = |part: &mail_parser::MessagePart<'_>| {
        part.content_type().map_or(String::new(), |kind| format!("{}/{:?}", kind.ctype(), kind.subtype()))
    };
    (headers, message.parts.iter().map(kind).collect())
}

/// Checks that hold for the bytes of any mail.
pub fn check(rendered: &Rendered) {
    let raw = &rendered.raw;
    assert!(raw.is_ascii(), "a mail is ASCII");
    let mut before = b' ';
    for &byte in raw {
        assert!(
            (byte == b'\n') == (before == b'\r') && byte != 0,
            "a line end without its other half, or NUL"
        );
        before = byte;
    }
    assert!(raw.ends_with(b"\r\n"));
    assert!(raw.split(|&byte| byte == b'\n').all(|line| line.len() <= 999), "998 and the CR");
    let message = parse(rendered);
    assert_eq!(message.subject(), Some(rendered.subject.as_str()));
    assert!(
        rendered.subject.chars().count() <= 150 && !rendered.subject.contains(is_obeyed),
        "{:?}",
        rendered.subject
    );
    assert_eq!((message.text_body_count(), message.html_body_count()), (1, 1));
    let plain = text(rendered);
    assert!(!plain.chars().any(|c| c != '\n' && is_obeyed(c)), "{plain:?}");
    let page = html(rendered).replace("\r\n", "\n");
    let words = markup::read(page.trim_end(), &MARKUP).unwrap_or_else(|why| panic!("{why}\n{page}"));
    assert!(!words.chars().any(|c| c != '\n' && is_obeyed(c)), "{words:?}");
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("mail", 24))]

    #[test]
    fn no_name_changes_headers_parts_or_markup(names in vec(given::name(), 1..5)) {
        let harmless = vec!["x".to_owned(); names.len()];
        for (hostile, harmless) in mails(&names).iter().zip(&mails(&harmless)) {
            check(hostile);
            prop_assert_eq!(frame(&parse(hostile)), frame(&parse(harmless)));
        }
    }

    /// A word of any script stands unchanged in the subject and both parts, except for invisible letters.
    #[test]
    fn a_name_is_told_as_it_is(name in "[\\p{L}\\p{N}&&[^\u{115f}\u{1160}\u{3164}\u{ffa0}]]{1,20}") {
        let rendered = mail(&notice(Form::News, items(std::slice::from_ref(&name), &Event::Opened)), &Snapshot::default());
        check(&rendered);
        let page = html(&rendered).replace("\r\n", "\n");
        let words = markup::read(page.trim_end(), &MARKUP).map_err(TestCaseError::fail)?;
        for part in [&parse(&rendered).subject().unwrap_or_default().to_owned(), &text(&rendered), &words] {
            prop_assert!(part.contains(&name), "{} is not in {}", name, part);
        }
    }
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("mail", 96))]

    /// The mail about a cut-off, with its chart, from any report after a good one.
    #[test]
    fn any_report_can_be_told(report in given::report()) {
        let mut book = account::book(account::profile("main"));
        let good = account::report("525.50", "10.00");
        for report in [good, report.clone()] {
            book.apply(Read::ExpectedBalance(report), read_at());
        }
        let mut believed = CutOff::default();
        believed.edd = forecast::disconnect(&report).at();
        let dark = disconnect(Event::Rung(3), Severity::Critical, Some(believed));
        check(&mail(&notice(Form::News, vec![dark]), &account::snapshot([&book])));
    }
}
