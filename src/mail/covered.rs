//! The mail about what else follows from an incident that people know. Pure.

use super::body::{Body, Section};
use super::context::{Context, MOST_LISTED};
use super::parts::{self, too_many};
use super::subject;
use crate::alert::{Item, Notice, Severity};
use crate::model::sanitize;

/// `[CRITICAL] Also offline now: VM web-1 blocked and 2 more (main)`.
pub(super) fn subject(notice: &Notice) -> String {
    let severity = notice.items.first().map_or(Severity::Info, |item| item.severity);
    subject::with_account(severity, &format!("Also offline now: {}", first(notice)), notice)
}

/// The content of such a mail.
pub(super) fn body(notice: &Notice, context: &Context<'_>) -> Body {
    let tone = notice.items.first().map_or(super::body::Tone::Info, parts::tone_of);
    let lead = format!(
        "Also offline now{}: {} ({}).",
        parts::when(notice, context),
        first(notice),
        parts::accounts(notice)
    );
    let most = MOST_LISTED / notice.items.len().max(1);
    let sections = notice.items.iter().map(|item| section(item, most, context)).collect();
    Body { tone, lead, sections, foot: parts::foot_of(notice, false), ..Body::default() }
}

fn first(notice: &Notice) -> String {
    let covers: Vec<String> = notice.items.iter().flat_map(|item| &item.covers).cloned().collect();
    let names: Vec<String> = covers.iter().map(|name| sanitize::one_line(name, 80)).collect();
    parts::few(&names, 1)
}

fn section(item: &Item, most: usize, context: &Context<'_>) -> Section {
    let mut section = Section::new("Also offline now");
    section.row("Caused by", parts::name(item));
    section.row("Since", context.moment(item.since, item));
    section.row("Incident", item.key.to_string());
    section.lines.push("No separate mails about these:".to_owned());
    section.list = item.covers.iter().take(most).map(|name| sanitize::one_line(name, 160)).collect();
    let more = item.covers.len().saturating_sub(most);
    if more > 0 {
        section.lines.push(too_many(more));
    }
    section
}
