//! The mail about what nothing looks at any more: never that it is over. Pure.

use super::body::{Body, Section, Tone};
use super::context::{Context, MOST_LISTED};
use super::parts::{self, too_many};
use super::{incident, subject};
use crate::alert::{Item, Kind, Notice, Severity};
use crate::model::sanitize;
use crate::view::words;

/// `[INFO] No longer watched: VM web-1, was in error (main)`.
pub(super) fn subject(notice: &Notice, context: &Context<'_>) -> String {
    subject::with_account(Severity::Info, &format!("No longer watched: {}", news(notice, context)), notice)
}

/// The content of such a mail.
pub(super) fn body(notice: &Notice, context: &Context<'_>) -> Body {
    let shown = notice.items.iter().take(MOST_LISTED);
    let mut sections: Vec<Section> = shown.map(|item| section(item, context)).collect();
    let more = notice.items.len().saturating_sub(MOST_LISTED);
    if let Some(last) = sections.last_mut().filter(|_| more > 0) {
        last.lines.push(too_many(more));
    }
    let accounts = parts::accounts(notice);
    let lead = format!(
        "No longer watched{}: {} ({accounts}). It may still be so; no mail will say when it is over.",
        parts::when(notice, context),
        news(notice, context)
    );
    Body { tone: Tone::Info, lead, sections, foot: parts::foot_of(notice, false), ..Body::default() }
}

fn news(notice: &Notice, context: &Context<'_>) -> String {
    let first = notice.items.first().map_or_else(String::new, |item| was(item, context));
    match notice.items.len() {
        0 | 1 => first,
        count => format!("{first} and {} more", count - 1),
    }
}

/// `VM web-1, was in error`; `account main, was overdue`.
fn was(item: &Item, context: &Context<'_>) -> String {
    if item.key.kind != Kind::Disconnect {
        let was = match item.subject.strip_prefix("Cannot read ") {
            Some(what) => format!("{what}, could not be read"),
            // What a collector could not do is worded for a mail of its own.
            None if item.key.kind == Kind::CollectorFailing => format!("{}, did not answer", item.subject),
            None if item.problem.is_empty() => item.subject.clone(),
            None => format!("{}, was {}", item.subject, item.problem),
        };
        return sanitize::one_line(&was, 120);
    }
    let account = &item.key.account;
    let ladder = item.ladder.clone().unwrap_or_default();
    match ladder.edd {
        _ if ladder.is_overdue(item.at) => format!("account {account}, was overdue"),
        Some(edd) => {
            let day = words::day_of(edd, context.zone(account), context.now);
            format!("account {account}, cut-off was due {day}")
        }
        None => format!("account {account}, was to be cut off"),
    }
}

fn section(item: &Item, context: &Context<'_>) -> Section {
    let mut section = Section::new(sanitize::one_line(&was(item, context), 160));
    let (label, seen) = incident::observed(item);
    section.row(&format!("Last {}", label.to_lowercase()), seen);
    section.row("Since", context.moment(item.since, item));
    section.row("Not watched from", context.moment(item.at, item));
    section.row("Why", parts::why(item));
    section.row("Incident", item.key.to_string());
    section
}
