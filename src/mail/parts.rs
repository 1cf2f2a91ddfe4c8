//! What several mails say in the same words: an incident's name, how far it is, long lists, who writes. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::body::{Section, Tone};
use super::context::Context;
use crate::alert::{Event, Item, Notice};
use crate::model::{AccountName, sanitize};
use crate::view::words;

/// Names in a list of what is offline.
pub(super) const MOST_NAMES: usize = 20;

/// How far an incident is, as sentences about it differ.
#[derive(PartialEq, Eq)]
pub(super) enum Telling {
    Begun,
    /// A reminder.
    StillSo,
    Flapping,
    Over,
    /// The provider no longer lists it.
    Gone,
    /// Over before a mail went out.
    WasDown,
    /// Nobody knows: nothing looks at it any more.
    Unwatched,
}

impl From<&Event> for Telling {
    fn from(event: &Event) -> Self {
        match event {
            Event::Resolved => Self::Over,
            Event::Removed => Self::Gone,
            Event::WasDown => Self::WasDown,
            Event::Unwatched => Self::Unwatched,
            Event::Reminder(_) | Event::Escalated | Event::Overdue(_) | Event::Deletion(_) => Self::StillSo,
            Event::Flapping => Self::Flapping,
            Event::Started
            | Event::Opened
            | Event::Rung(_)
            | Event::Extended(_)
            | Event::Covered(_)
            | Event::Paid(_)
            | Event::BalanceUsedUp
            | Event::Digest(_)
            | Event::Overflow
            | Event::Test => Self::Begun,
        }
    }
}

/// The colour of a mail of which this is the worst.
pub(super) fn tone_of(worst: &Item) -> Tone {
    if worst.event == Event::Unwatched {
        Tone::Info
    } else if worst.event.is_end() {
        Tone::Good
    } else {
        worst.severity.into()
    }
}

/// `account main`, `3 accounts`.
pub(super) fn accounts(notice: &Notice) -> String {
    match notice.accounts.as_slice() {
        [one] => format!("account {one}"),
        several => format!("{} accounts", several.len()),
    }
}

/// `, Sun 1 Mar 15:00 MSK`: when the first was decided.
pub(super) fn when(notice: &Notice, context: &Context<'_>) -> String {
    notice.items.first().map_or_else(String::new, |first| format!(", {}", context.moment(first.at, first)))
}

/// Why it is told, as a sentence of its own.
pub(super) fn why(item: &Item) -> String {
    words::capital(&sanitize::one_line(&item.reason.to_string(), 400))
}

/// `VM web-1 in error`.
pub(super) fn name(item: &Item) -> String {
    sanitize::one_line(&item.words(), 160)
}

/// `main: VM web-1 in error`, where several accounts are spoken of.
pub(super) fn title(item: &Item, several: bool) -> String {
    if several { format!("{}: {}", item.key.account, name(item)) } else { name(item) }
}

/// What is wrong before what is over, each worst first.
pub(super) fn worst_first(items: &[Item]) -> Vec<&Item> {
    let mut items: Vec<&Item> = items.iter().collect();
    items.sort_by(|a, b| {
        let rank = |item: &Item| (item.event.is_end(), std::cmp::Reverse(item.severity));
        rank(a).cmp(&rank(b)).then_with(|| a.key.cmp(&b.key))
    });
    items
}

/// Why a list ends before its end.
pub(super) fn too_many(left_out: usize) -> String {
    format!("Too many for one mail: {left_out} are not listed; hostwatch incidents shows all.")
}

/// The first names, and how many more there are.
pub(super) fn first(mut names: Vec<String>, most: usize) -> Vec<String> {
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    if more > 0 && most > 0 {
        names.push(format!("and {more} more"));
    }
    names
}

/// The same in a sentence: `a, b and 3 more`.
pub(super) fn few(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A name, or its id where it has none, with its state where that is not the usual one.
pub(super) fn named(name: Option<&str>, id: u64, state: &str, usual: &str) -> String {
    let name = name.map_or_else(|| id.to_string(), |name| sanitize::one_line(name, 80));
    if state == usual { name } else { format!("{name} ({})", sanitize::one_line(state, 40)) }
}

/// Where hostwatch itself runs on what these accounts pay for: what follows from that.
pub(super) fn lives_on(accounts: &[AccountName], context: &Context<'_>) -> Option<Section> {
    let here = context.lives_on.as_ref().filter(|here| accounts.contains(&here.account))?;
    let mut section = Section::new("hostwatch runs on what it watches");
    section.lines.push(format!(
        "It runs on VM {} of account {}: when that is offline, no mail says so. Let another service watch for \
         its silence: set heartbeat.url.",
        sanitize::one_line(&here.vm, 60),
        here.account
    ));
    Some(section)
}

/// Nothing was seen in this time, the change among it.
pub(super) fn not_running(
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    zone: Tz,
    now: DateTime<Utc>,
) -> String {
    let moment = |at| words::sentence_moment(at, zone, now);
    format!("hostwatch was not running from {} to {}.", moment(from), moment(to))
}

/// The end of a mail about so many incidents: the command lines about the worst of these, as they can be copied, and who
/// wrote it.
pub(super) fn foot(worst: Option<&Item>, of: usize, acks: bool, accounts: &[AccountName]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(worst) = worst {
        lines.push(format!("Details: hostwatch why {}", worst.key));
        if acks {
            lines.push(format!("Stop reminders: hostwatch ack {}", worst.key));
        }
        if of > 1 {
            lines.push("In place of the key: the key, name or ID of any other.".to_owned());
        }
    }
    lines.push(sender_line(accounts));
    lines
}

/// The same of the items of a notice.
pub(super) fn foot_of(notice: &Notice, acks: bool) -> Vec<String> {
    foot(notice.items.first(), notice.items.len(), acks, &notice.accounts)
}

/// Who wrote this.
pub(super) fn sender_line(accounts: &[AccountName]) -> String {
    let accounts = match accounts {
        [] => String::new(),
        [one] => format!(", watching account {one}"),
        several if several.len() <= 5 => {
            let names: Vec<&str> = several.iter().map(AccountName::as_str).collect();
            format!(", watching accounts {}", names.join(", "))
        }
        several => format!(", watching {} accounts", several.len()),
    };
    format!("Sent by hostwatch{accounts}. Replies are not read.")
}
