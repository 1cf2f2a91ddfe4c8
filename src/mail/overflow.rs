//! The mail about the hourly limit: all that it kept back, in one. Pure.

use super::body::{Body, Section, Tone};
use super::context::{Context, MOST_LISTED};
use super::parts::{self, Telling};
use super::{incident, subject};
use crate::alert::{Event, Item, Kind, Notice, Overflow};
use crate::model::sanitize;
use crate::view::words;

/// Names in one line of what is offline with something.
const MOST_OFFLINE: usize = 5;

/// The content of an overflow mail.
pub(super) fn body(notice: &Notice, facts: &Overflow, context: &Context<'_>) -> Body {
    let items = parts::worst_first(&notice.items);
    let several = notice.accounts.len() > 1;
    let shown = items.len().min(MOST_LISTED);
    let (unwatched, over): (Vec<&Item>, Vec<&Item>) = items[..shown]
        .iter()
        .filter(|item| item.event.is_end())
        .partition(|item| item.event == Event::Unwatched);
    let open = items[..shown].iter().copied().filter(|item| !item.event.is_end()).collect();
    let mut sections = Vec::new();
    for (title, part) in [("Open", open), ("Resolved", over), ("No longer watched", unwatched)] {
        if !part.is_empty() {
            let mut section = Section::new(title);
            section.list = part.into_iter().map(|item| line(item, several, context)).collect();
            sections.push(section);
        }
    }
    if items.len() > shown
        && let Some(last) = sections.last_mut()
    {
        last.lines.push(left_out(&items[shown..]));
    }
    sections.push(limit(facts));
    Body {
        tone: items.first().map_or(Tone::Info, |worst| parts::tone_of(worst)),
        lead: lead(&items, notice, facts, context),
        sections,
        foot: parts::foot(items.first().copied(), items.len(), false, &notice.accounts),
        ..Body::default()
    }
}

/// How many are not listed, and of which sort they are.
fn left_out(items: &[&Item]) -> String {
    let over = items.iter().filter(|item| item.event.is_end()).count();
    let wrong = items.len() - over;
    format!(
        "Too many for one mail: {wrong} open and {over} closed are not listed; hostwatch incidents \
         and the attached incidents.json name each."
    )
}

fn per_hour(facts: &Overflow) -> String {
    let mails = words::count(facts.max_per_hour as usize, "mail", "mails");
    format!("{mails} an hour")
}

/// What, since when, the worst of it.
fn lead(items: &[&Item], notice: &Notice, facts: &Overflow, context: &Context<'_>) -> String {
    let events = words::count(items.len(), "more event", "more events");
    let since = words::sentence_moment(facts.since, context.first_zone(&notice.accounts), context.now);
    let worst = match items.first() {
        Some(worst) if worst.event.is_end() => all_over(items).to_owned(),
        Some(worst) => format!("the worst: {}", parts::name(worst)),
        None => "none of them is known any more".to_owned(),
    };
    let accounts = parts::accounts(notice);
    format!(
        "{events} since {since}, when the limit of {} was reached; {worst} ({accounts}).",
        per_hour(facts)
    )
}

/// Where nothing of it is open.
fn all_over(items: &[&Item]) -> &'static str {
    match items.iter().filter(|item| item.event == Event::Unwatched).count() {
        0 => "all of it is resolved",
        count if count == items.len() => "none of it is watched any more",
        _ => "all of it is resolved, or no longer watched",
    }
}

fn line(item: &Item, several: bool, context: &Context<'_>) -> String {
    let zone = context.zone(&item.key.account);
    let (since, at) = (context.moment(item.since, item), context.moment(item.at, item));
    let lasted = words::lasted(item.at - item.since);
    let head = if item.event.is_end() { String::new() } else { format!("{} ", subject::bracket(item)) };
    let when = match Telling::from(&item.event) {
        Telling::Over | Telling::WasDown => {
            format!("{} ({lasted})", words::period(item.since, item.at, zone, context.now))
        }
        Telling::Gone => format!("from {since} on; since {at} the provider does not list it any more"),
        Telling::Unwatched => format!("no longer watched since {at}"),
        Telling::StillSo => format!("since {since}, for {lasted} now"),
        Telling::Flapping => format!("keeps changing, the last time {at}"),
        Telling::Begun => format!("since {since}"),
    };
    let offline = offline(item, context);
    format!("{head}{}: {when}{offline} ({})", parts::title(item, several), item.key)
}

/// What no mail of its own comes of.
fn offline(item: &Item, context: &Context<'_>) -> String {
    let state = context.account(&item.key.account).filter(|_| !item.event.is_end());
    let sites = state.filter(|_| item.key.kind == Kind::ContainerDisabled);
    let mut names = sites.map_or_else(Vec::new, |state| incident::sites_of(item, state));
    if names.is_empty() {
        names = item.covers.iter().map(|name| sanitize::one_line(name, 80)).collect();
    }
    if names.is_empty() {
        String::new()
    } else {
        format!("; also offline: {}", parts::few(&names, MOST_OFFLINE))
    }
}

fn limit(facts: &Overflow) -> Section {
    let mut section = Section::new("The limit");
    section.row("Limit", format!("{}: email.max_per_hour", per_hour(facts)));
    section.row("To raise it", "Set email.max_per_hour in the configuration and reload (SIGHUP).");
    section.row("Never held back", "Mails about a cut-off: they are always sent at once.");
    section
}
