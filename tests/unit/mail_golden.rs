//! The text of every kind of mail in each language, and headers and HTML of some, as goldens.
#![allow(clippy::unwrap_used)]

use super::mail_support;

use crate::alert::Kind;
use crate::model::Language;
use mail_support::*;

/// Mails of which headers and HTML are golden too: one of each build.
const WHOLE: [&str; 12] = [
    "container_disabled_opened",
    "digest_needs_you",
    "digest_several_accounts",
    "disconnect_paid",
    "disconnect_with_links",
    "group_of_four",
    "names_that_attack",
    "started_unhealthy",
    "summary",
    "test",
    "vm_error_was_down_thrice",
    "vm_error_with_links",
];

fn assert_golden(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "snapshots/mails", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Subject and text of each mail; the HTML says the same.
#[test]
fn every_mail_reads_as_it_did() {
    for (name, language) in [("in_english", Language::En), ("in_russian", Language::Ru)] {
        let mails = written_in(language, catalogue::all);
        let said =
            mails.iter().map(|(name, mail)| format!("== {name}\n{}\n\n{}\n", mail.subject, text(mail)));
        assert_golden(name, &said.collect::<String>().replace(['\u{a0}', '\u{202f}'], " "));
    }
    for (name, rendered) in catalogue::all() {
        let whole = golden(&name, &rendered);
        if WHOLE.contains(&name.as_str()) {
            assert_golden(&name, &whole);
        }
    }
}

/// Each mail, and the same as a post to a webhook, below the build directory for `.ci/full spam posts`.
#[test]
fn each_mail_and_its_post_are_left_for_other_programs() {
    let folder = crate::unit::tools::scratch().join("mails");
    std::fs::create_dir_all(&folder).unwrap();
    for language in [Language::En, Language::Ru] {
        let mails = written_in(language, catalogue::all).into_iter().map(|one| ("eml", one));
        let posts = written_in(language, || posted(catalogue::all)).into_iter().map(|one| ("json", one));
        for (kind, (name, rendered)) in mails.chain(posts) {
            std::fs::write(folder.join(format!("{name}.{}.{kind}", language.code())), rendered.raw).unwrap();
        }
    }
}

#[test]
fn every_kind_is_there_and_each_mail_once() {
    let names: Vec<String> = catalogue::all().into_iter().map(|(name, _)| name).collect();
    for &kind in Kind::ALL {
        #[allow(clippy::wildcard_enum_match_arm)] // the others are all alike
        let events: &[&str] = match kind {
            Kind::Disconnect => &["rung_14", "overdue", "extended", "paid", "deletion", "resolved"],
            Kind::BalanceDrop => &["opened"],
            Kind::OrderCost => &["dearer"],
            _ => &["opened", "resolved"],
        };
        for event in events {
            assert!(names.contains(&format!("{kind}_{event}")), "{kind} {event}");
        }
    }
    let mut unique = names.clone();
    unique.dedup();
    assert_eq!(unique, names);
}

/// Requirements of mail servers, old mail programs and people for each mail.
#[test]
fn every_mail_is_plain_bytes_and_says_the_same_in_both_parts() {
    let russian = written_in(Language::Ru, catalogue::all);
    for (name, rendered) in catalogue::all().into_iter().chain(russian) {
        assert!(rendered.raw.is_ascii(), "{name}");
        let lines = rendered.raw.split(|&byte| byte == b'\n');
        for line in lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
            // A single word that is longer has a line of its own.
            let one_word = line.len() < 998 && !line.trim_ascii().contains(&b' ');
            assert!(line.len() <= 78 || one_word, "{name}: {}", String::from_utf8_lossy(line));
        }
        assert_eq!(parse(&rendered).subject(), Some(rendered.subject.as_str()), "{name}");
        let subject = &rendered.subject;
        assert!(!subject.contains(char::is_control) && !subject.contains("hostwatch"), "{name}: {subject}");
        assert!(subject.starts_with('[') && subject.ends_with(')'), "{name}: {subject}");
        assert!(subject.chars().count() <= 150, "{name}: {subject}");
        let (text, html) = (text(&rendered), html(&rendered));
        let lead = text.lines().next().unwrap();
        assert!(
            lead.ends_with('.')
                && ["2026-", " Mar", " Feb", " мар", " фев"].iter().any(|day| lead.contains(day)),
            "{name}: {lead}"
        );
        for line in text.lines().skip(1) {
            let width = line.chars().count();
            assert!(width <= 78 || !line.trim().contains(' '), "{name}: {width} in {line:?}");
        }
        let bare = |word: &str| word.trim_end_matches([':', ';']).to_owned();
        let page: Vec<String> = words_of(&html).iter().map(|word| bare(word)).collect();
        let plain = text.split_whitespace().filter(|word| !["-", "--"].contains(word));
        for word in plain.map(bare) {
            // An address stands behind its word.
            let is_link = word.starts_with("https://") && html.contains(&format!("href=\"{word}\""));
            assert!(
                is_link || page.contains(&word),
                "{name}: {word:?} is in the text, not in the HTML:\n{page:?}"
            );
        }
        for foreign in ["src=\"http", "<script", "<link", "<iframe", "url(", "onload"] {
            assert!(!html.contains(foreign), "{name} has {foreign}");
        }
    }
}
