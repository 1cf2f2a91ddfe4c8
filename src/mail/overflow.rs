//! The mail about the hourly cap: everything that was held back, in one. Pure.

use chrono_tz::Tz;

use super::body::{Body, Section, Tone};
use super::context::{Context, MOST_LISTED};
use super::{resources, subject};
use crate::alert::{Event, Item, Notice, Overflow};
use crate::view::words;

/// The content of an overflow mail.
pub(super) fn body(notice: &Notice, facts: &Overflow, context: &Context<'_>) -> Body {
    let items = worst_first(&notice.items);
    let several = notice.accounts.len() > 1;
    let shown = items.len().min(MOST_LISTED);
    let open = items[..shown].iter().take_while(|item| !resources::is_over(item)).count();
    let mut sections = Vec::new();
    for (title, part) in [("Wrong", &items[..open]), ("Over again", &items[open..shown])] {
        if !part.is_empty() {
            let mut section = Section::new(title);
            section.list = part.iter().map(|item| line(item, several, context)).collect();
            sections.push(section);
        }
    }
    if items.len() > shown
        && let Some(last) = sections.last_mut()
    {
        last.lines.push(format!(
            "Too many for one mail: {} are not listed; `hostwatch incidents` shows all.",
            items.len() - shown
        ));
    }
    sections.push(limit(facts));
    Body {
        tone: items.first().map_or(Tone::Info, |worst| resources::tone_of(worst)),
        lead: lead(&items, notice, facts, context),
        sections,
        foot: vec![
            "How each was decided: hostwatch why, with its key".to_owned(),
            resources::sender_line(&notice.accounts),
        ],
    }
}

/// `[CRITICAL] 7 more events: the limit of 60 mails an hour is reached`.
pub(super) fn subject(notice: &Notice, facts: &Overflow) -> String {
    let items = worst_first(&notice.items);
    let bracket = items.first().map_or("INFO", |worst| subject::bracket(worst));
    let events = words::count(items.len(), "more event", "more events");
    format!("[{bracket}] {events}: the limit of {} is reached", per_hour(facts))
}

/// What is wrong before what is over, each worst first.
pub(super) fn worst_first(items: &[Item]) -> Vec<&Item> {
    let mut items: Vec<&Item> = items.iter().collect();
    items.sort_by(|a, b| {
        let rank = |item: &Item| (resources::is_over(item), std::cmp::Reverse(item.severity));
        rank(a).cmp(&rank(b)).then_with(|| a.key.cmp(&b.key))
    });
    items
}

fn per_hour(facts: &Overflow) -> String {
    let mails = words::count(facts.max_per_hour as usize, "mail", "mails");
    format!("{mails} an hour")
}

/// What, since when, the worst of it.
fn lead(items: &[&Item], notice: &Notice, facts: &Overflow, context: &Context<'_>) -> String {
    let zone = notice.accounts.first().map_or(Tz::UTC, |name| context.zone(name));
    let events = words::count(items.len(), "more event", "more events");
    let since = words::iso_moment(facts.since, zone);
    let worst = match items.first() {
        Some(worst) if resources::is_over(worst) => "all of it is over".to_owned(),
        Some(worst) => format!("the worst: {}", resources::name(worst)),
        None => "none of them is known any more".to_owned(),
    };
    let accounts = resources::accounts(notice);
    format!(
        "{events} since {since}, when the limit of {} was reached; {worst} ({accounts}).",
        per_hour(facts)
    )
}

fn line(item: &Item, several: bool, context: &Context<'_>) -> String {
    let zone = context.zone(&item.key.account);
    let account = if several { format!("{}: ", item.key.account) } else { String::new() };
    let (since, at) = (words::iso_moment(item.since, zone), words::iso_moment(item.at, zone));
    let lasted = words::long_span(item.at - item.since);
    let head = if resources::is_over(item) { String::new() } else { format!("{} ", subject::bracket(item)) };
    let when = match item.event {
        Event::Resolved | Event::WasDown => format!("from {since} to {at}, {lasted}"),
        Event::Removed => format!("from {since} on; since {at} the provider no longer lists it"),
        Event::Reminder(_) => format!("since {since}, {lasted} now"),
        Event::Flapping => format!("again and again, last seen {at}"),
        Event::Started
        | Event::Opened
        | Event::Rung(_)
        | Event::Extended(_)
        | Event::Digest(_)
        | Event::Overflow
        | Event::Test => format!("since {since}"),
    };
    format!("{head}{account}{}: {when} ({})", resources::name(item), item.key)
}

fn limit(facts: &Overflow) -> Section {
    let mut section = Section::new("The limit");
    section.row("Limit", format!("{}: email.max_per_hour", per_hour(facts)));
    section.row("To raise it", "Set email.max_per_hour in the configuration and reload (SIGHUP).");
    section.row("Never held back", "Mails about a disconnect: they have a lane of their own.");
    section
}
