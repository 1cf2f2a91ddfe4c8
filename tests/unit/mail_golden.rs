//! How every sort of mail reads: golden files of headers, text and HTML.
#![allow(clippy::unwrap_used)]

use super::mail_support;

use crate::alert::Kind;
use mail_support::*;

#[test]
fn every_mail_reads_as_it_did() {
    for (name, rendered) in catalogue::all() {
        insta::with_settings!({ snapshot_path => "snapshots/mails", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name.as_str(), golden(&name, &rendered));
        });
    }
}

#[test]
fn every_kind_is_there() {
    let names: Vec<String> = catalogue::all().into_iter().map(|(name, _)| name).collect();
    for &kind in Kind::ALL {
        #[allow(clippy::wildcard_enum_match_arm)] // the others are all alike
        let events: &[&str] = match kind {
            Kind::Disconnect => &[
                "rung_14",
                "rung_7",
                "rung_4",
                "rung_3",
                "rung_1",
                "overdue",
                "extended",
                "paid",
                "balance_used_up",
                "overdue_again",
                "deletion",
                "resolved",
            ],
            Kind::BalanceDrop => &["opened"],
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

/// What a mail server, an old mail program and a person need of each.
#[test]
fn every_mail_is_plain_bytes_and_says_the_same_in_both_parts() {
    for (name, rendered) in catalogue::all() {
        assert!(rendered.raw.is_ascii(), "{name}");
        let lines = rendered.raw.split(|&byte| byte == b'\n');
        for line in lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
            // A word that is longer by itself has a line of its own.
            let one_word = line.len() < 998 && !line.trim_ascii().contains(&b' ');
            assert!(line.len() <= 78 || one_word, "{name}: {}", String::from_utf8_lossy(line));
        }
        assert_eq!(parse(&rendered).subject(), Some(rendered.subject.as_str()), "{name}");
        assert!(!rendered.subject.contains(char::is_control), "{name}");
        let (text, html) = (text(&rendered), html(&rendered));
        let lead = text.lines().next().unwrap();
        assert!(
            lead.ends_with('.') && ["2026-", " Mar", " Feb"].iter().any(|day| lead.contains(day)),
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
