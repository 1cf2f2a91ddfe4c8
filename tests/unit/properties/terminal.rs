//! Texts for a terminal are shown and never obeyed, and keep to the width. The status page has the same content
//! for a browser.

use std::sync::Arc;

use crate::alert::{Decided, Kind, Phase, Severity};
use crate::model::{sanitize, *};
use crate::terminal::doctor::{self, CheckSection, CheckVerdict};
use crate::terminal::forecast::AccountForecast;
use crate::terminal::{Forecasts, Status, Style, harmless_json};
use crate::view::IncidentRow;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::unit::properties::account::{incident_row, profile, read_at};
use crate::unit::properties::given;
use crate::unit::properties::mail::{called, is_obeyed};
use crate::unit::properties::markup::{self, Allowed};
use crate::unit::server::Server;

/// Characters that are not visible and could make two names look equal, beside those that are obeyed.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Checks the text of a command with and without colours.
fn check(text: impl Fn(Style) -> String) -> Result<(), TestCaseError> {
    for width in [20, 33, 80, 120] {
        let plain = text(Style { width, colour: false });
        prop_assert!(!plain.chars().any(|c| c != '\n' && (is_obeyed(c) || is_unseen(c))), "{:?}", plain);
        for line in plain.lines() {
            prop_assert!(line.width() <= width, "{} columns of {}: {}", line.width(), width, line);
            prop_assert_eq!(line.trim_end(), line);
        }
        // Only colours are obeyed; the text is the same when they are off.
        let coloured = text(Style { width, colour: true });
        let mut bare = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
            let (code, after) = sequence.split_once('m').unwrap();
            prop_assert!(code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{:?}", code);
            bare.push_str(before);
            rest = after;
        }
        prop_assert_eq!(bare + rest, plain);
    }
    Ok(())
}

/// The answer of a daemon in which every text is one of these names.
fn status(names: &[String]) -> Value {
    let name = |index: usize| names[index % names.len()].as_str();
    let line = |index| json!({"text": name(index), "topic": "incident", "incident": null});
    let verdict = |index| json!({"level": "attention", "sentence": name(index), "lines": [line(index + 1), line(index + 2)]});
    let at = "2026-03-01T12:00:00Z";
    json!({
        "generated_at": at, "version": name(0), "commit": name(1), "started_at": at, "verdict": verdict(2),
        "accounts": [{
            "name": "main", "currency": name(4), "time_zone": "Europe/Moscow", "resources": 3, "verdict": verdict(6),
            "billing": {
                "read_at": at, "balance": "25.5", "expected_balance": "5", "horizon": at, "disconnect": "at", "disconnect_at": at, "disconnect_computed": true,
                "pay_by": "2026-03-01", "pay_at_once": true, "pay": [{"days": 30, "amount": "45"}],
                "orders": [{"id": 71, "comment": name(7), "tariff": name(8), "state": name(26), "per_day": "5"}],
                "orders_with_charges": 2,
            },
            "collectors": [{"collector": "vms", "polls": 3, "success": false, "complete": false, "last_success": at, "failing_since": at, "error": name(11)}],
        }],
        "incidents": {"open": [{
            "key": "main/vm_error/17", "account": "main", "kind": "vm_error", "severity": "critical", "state": "firing",
            "title": name(16), "resource_name": name(12), "since": at, "last_change": at, "resolved_at": null,
            "reason": name(17), "acknowledged": true, "silenced_until": at,
        }], "recent": []},
        "resources": {
            "total": 2, "matching": 2, "page": 1, "pages": 1, "states": [{"kind": "vm", "state": name(19), "health": "bad", "count": 2}],
            "rows": [{"account": "main", "kind": "site", "id": 17, "name": name(22), "state": name(23), "health": "bad", "container": 3}],
        },
        "mails": {"outbox": {"queued": 1, "sending": 0, "sent": 3, "dead": 1, "oldest": at}, "last_mail_at": at, "lives_on": name(24)},
    })
}

/// The markup in the status page.
pub const MARKUP: Allowed = Allowed {
    tags: &[
        ("html", &["lang"]),
        ("head", &[]),
        ("meta", &["charset", "name", "content", "http-equiv"]),
        ("title", &[]),
        ("link", &["rel", "href"]),
        ("body", &[]),
        ("a", &["class", "href", "aria-current", "rel", "aria-label", "id"]),
        ("header", &["class"]),
        ("div", &["class", "role", "aria-labelledby", "aria-label", "tabindex"]),
        ("h1", &[]),
        ("h2", &["id"]),
        ("h3", &["id"]),
        ("span", &["class", "aria-hidden"]),
        ("ul", &["class", "aria-label"]),
        ("li", &["class", "id"]),
        ("nav", &["aria-label", "class"]),
        ("main", &["id", "class"]),
        ("section", &["class", "id", "aria-labelledby", "aria-label"]),
        ("table", &["class"]),
        ("thead", &[]),
        ("tbody", &[]),
        ("tr", &["class"]),
        ("th", &["scope", "class"]),
        ("td", &["class"]),
        ("dl", &["class"]),
        ("dt", &[]),
        ("dd", &["class"]),
        ("small", &[]),
        ("p", &["class", "role"]),
        ("strong", &[]),
        ("code", &[]),
        ("form", &["method", "action", "role"]),
        ("input", &["type", "name", "value", "id"]),
        ("label", &["for"]),
        ("button", &[]),
        ("footer", &["class"]),
        ("figure", &["class"]),
        ("figcaption", &[]),
        ("img", &["src", "alt"]),
        ("svg", &["viewBox", "aria-hidden"]),
        ("rect", &["width", "height", "rx", "fill"]),
        ("path", &["d"]),
    ],
    value: |_, attribute, value| match attribute {
        "href" => {
            let icon = "data:image/svg+xml,%3Csvg xmlns=";
            value.starts_with(['#', '?'])
                || value.starts_with("./")
                || (value.starts_with(icon) && !value.contains(['<', '>', '"', '&']))
        }
        "src" => value.starts_with("data:image/png;base64,"),
        "value" | "aria-label" | "alt" => true,
        _ => value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -=,.%/#_".contains(&byte)),
    },
};

proptest! {
    #![proptest_config(crate::unit::properties::quick!("terminal", 48))]

    #[test]
    fn a_status_is_shown_and_not_obeyed(names in vec(given::name(), 1..8)) {
        let status = serde_json::from_slice::<Status>(&serde_json::to_vec(&status(&names)).unwrap()).unwrap();
        check(|style| status.text(style))?;
    }

    #[test]
    fn a_forecast_is_shown_and_not_obeyed(report in given::report(), currency in given::name(), error in given::name()) {
        let profile = Profile { currency, ..profile("main") };
        let of = |report| AccountForecast::new(&profile, report, read_at());
        let forecasts = Forecasts::new(vec![of(Ok(Arc::new(report))), of(Err(error))], read_at());
        check(|style| forecasts.text(style))?;
    }

    #[test]
    fn a_doctors_table_is_shown_and_not_obeyed(names in vec(given::name(), 1..8)) {
        let name = |index: usize| names[index % names.len()].clone();
        let checks = (0..4).map(|index| (name(index), CheckVerdict::fail(name(index + 1)).remedy(name(index + 2))));
        let sections = [CheckSection::new(name(3), checks.collect())];
        check(|style| doctor::text(&sections, style))?;
    }

    #[test]
    fn json_means_the_same_and_is_not_obeyed(names in vec(given::name(), 1..8)) {
        let value = status(&names);
        for json in [serde_json::to_string(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap()] {
            let harmless = harmless_json(&json);
            prop_assert!(!harmless.chars().any(|c| c != '\n' && (is_obeyed(c) && c != '\u{2028}' && c != '\u{2029}' || is_unseen(c))), "{:?}", harmless);
            prop_assert_eq!(serde_json::from_str::<Value>(&harmless).unwrap(), value.clone());
        }
    }
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("terminal", 12))]

    #[test]
    fn the_status_page_is_markup_of_ours_and_names_are_text(names in vec(given::name(), 1..8)) {
        let book = called(&names);
        let name = |index: usize| names[index % names.len()].clone();
        let row = |phase| IncidentRow {
            title: name(0),
            resource_name: name(1),
            reason: name(2),
            decided: Decided { note: Some(name(3)), ..Decided::default() },
            ..incident_row("main", Kind::VmError, Severity::Critical, phase)
        };
        let asked: String = form_urlencoded::byte_serialize(names[0].as_bytes()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (page, searched, status) = runtime.block_on(async {
            let server = Server::start(&[&book], false).await;
            server.show([row(Phase::Firing), row(Phase::Resolved)]);
            let searched = server.get(&format!("/?q={asked}&state={asked}&kind=vm&account=main")).await;
            (server.get("/?all=1").await, searched, server.get("/api/v1/status").await)
        });
        let mut words = String::new();
        for page in [&searched, &page] {
            let read = markup::read(page.text().trim_end(), &MARKUP);
            words = read.map_err(|why| TestCaseError::fail(format!("{why}\n{}", page.text())))?;
            prop_assert!(!words.chars().any(|c| c != '\n' && is_obeyed(c)), "{:?}", words);
        }
        let json: Value = serde_json::from_slice(&status.body).unwrap();
        for row in json["resources"]["rows"].as_array().unwrap() {
            // Programs get the exact name; for people it is at least present.
            let of_book = book.state().vms.rows.iter().filter_map(|vm| vm.name.as_deref());
            prop_assert!(row["kind"] != "vm" || of_book.into_iter().any(|name| row["name"] == name), "{:?}", row["name"]);
        }
        let first = book.state().vms.rows[1].name.clone().unwrap();
        let shown = first.split(|c: char| !c.is_alphanumeric() || sanitize::is_unseen(c)).find(|word| word.len() > 2);
        prop_assert!(shown.is_none_or(|word| words.contains(word)), "{:?} is not in {}", shown, words);
    }
}
