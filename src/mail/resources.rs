//! Mails about resources and collectors: opened, over, still so. Pure.

use chrono_tz::Tz;

use super::advice;
use super::body::{Body, Section, Tone};
use super::context::{Context, MOST_LISTED};
use crate::alert::{Event, Form, Item, Kind, Notice, Sort};
use crate::model::sanitize;
use crate::model::{AccountName, AccountState, ContainerId, ContainerState, SiteId, VmId, VmState};
use crate::view::words;

/// Items told in full; the others in a line each.
const MOST_IN_FULL: usize = 20;
/// Names in a list of what goes dark.
pub(super) const MOST_NAMES: usize = 20;

/// The content of a mail about incidents.
pub(super) fn body(notice: &Notice, context: &Context<'_>) -> Body {
    let several = notice.accounts.len() > 1;
    let in_full = notice.items.iter().take(MOST_IN_FULL);
    let mut sections: Vec<Section> = in_full.map(|item| section(item, several, context)).collect();
    let rest = notice.items.get(MOST_IN_FULL..).unwrap_or_default();
    if !rest.is_empty() {
        sections.push(others(rest, several, context));
    }
    let tone = notice.items.first().map_or(Tone::Info, tone_of);
    Body { tone, lead: lead(notice, context), sections, foot: foot(notice) }
}

/// The colour of a mail of which this is the worst.
pub(super) fn tone_of(worst: &Item) -> Tone {
    if is_over(worst) { Tone::Good } else { worst.severity.into() }
}

/// The first line: what, since when, in which account.
fn lead(notice: &Notice, context: &Context<'_>) -> String {
    let Some(first) = notice.items.first() else { return "Nothing to tell.".to_owned() };
    let zone = context.zone(&first.key.account);
    let (at, since) = (words::iso_moment(first.at, zone), words::iso_moment(first.since, zone));
    let accounts = accounts(notice);
    let mut what = name(first);
    if notice.items.len() > 1 {
        what.push_str(&format!(" and {} more", notice.items.len() - 1));
        return match first.event {
            Event::Resolved | Event::Removed | Event::WasDown => {
                format!("Over: {what}, seen right {at} ({accounts}).")
            }
            Event::Reminder(_) => format!("Still so: {what}, {at} ({accounts})."),
            Event::Started
            | Event::Opened
            | Event::Rung(_)
            | Event::Extended(_)
            | Event::Flapping
            | Event::Digest(_)
            | Event::Overflow
            | Event::Test => format!("{what}, seen {at} ({accounts})."),
        };
    }
    let lasted = words::long_span(first.at - first.since);
    match first.event {
        Event::Resolved => format!("Over: {what}, from {since} to {at}: {lasted} ({accounts})."),
        Event::Removed => {
            format!("Over: {what}; since {at} the provider no longer lists it ({accounts}).")
        }
        Event::WasDown => {
            format!("Over before a mail went out: {what}, from {since} to {at}: {lasted} ({accounts}).")
        }
        Event::Reminder(_) => format!("Still so: {what} since {since}: {lasted} now ({accounts})."),
        Event::Flapping => format!("Again and again: {what}, last seen {at} ({accounts})."),
        Event::Opened if first.key.kind == Kind::BalanceDrop => format!("{what}, seen {at} ({accounts})."),
        Event::Started
        | Event::Opened
        | Event::Rung(_)
        | Event::Extended(_)
        | Event::Digest(_)
        | Event::Overflow
        | Event::Test => format!("{what} since {since} ({accounts})."),
    }
}

/// `account main`, `3 accounts`.
pub(super) fn accounts(notice: &Notice) -> String {
    match notice.accounts.as_slice() {
        [one] => format!("account {one}"),
        several => format!("{} accounts", several.len()),
    }
}

/// `VM web-1 in error`.
pub(super) fn name(item: &Item) -> String {
    sanitize::one_line(&item.words(), 160)
}

/// One incident in full.
pub(super) fn section(item: &Item, several: bool, context: &Context<'_>) -> Section {
    let account = &item.key.account;
    let zone = context.zone(account);
    let state = context.account(account);
    let title = if several { format!("{account}: {}", name(item)) } else { name(item) };
    let mut section = Section::new(title);
    section.row("Seen", words::capital(&sanitize::one_line(&item.detail, 300)));
    if let Some(which) = state.and_then(|state| which(item, state)) {
        section.row("Which", which);
    }
    times(item, zone, &mut section);
    section.row("Why", words::capital(&sanitize::one_line(&item.reason.to_string(), 400)));
    if let Some((from, to)) = item.unwatched {
        let (from, to) = (words::iso_moment(from, zone), words::iso_moment(to, zone));
        section.row("Unwatched", format!("Nobody watched from {from} to {to}; it changed in between."));
    }
    match item.event {
        Event::Resolved | Event::Removed | Event::WasDown => {}
        Event::Started
        | Event::Opened
        | Event::Rung(_)
        | Event::Extended(_)
        | Event::Reminder(_)
        | Event::Flapping
        | Event::Digest(_)
        | Event::Overflow
        | Event::Test => section.row("What to do", advice::of(item, state)),
    }
    section.row("Incident", item.key.to_string());
    if item.key.kind == Kind::ContainerDisabled
        && !is_over(item)
        && let Some(state) = state
    {
        goes_dark(item, state, &mut section);
    }
    section
}

fn times(item: &Item, zone: Tz, section: &mut Section) {
    let since = words::iso_moment(item.since, zone);
    let lasted = words::long_span(item.at - item.since);
    match item.event {
        Event::Resolved | Event::Removed | Event::WasDown => {
            section.row("From", since);
            section.row("To", format!("{} ({lasted})", words::iso_moment(item.at, zone)));
        }
        Event::Started
        | Event::Opened
        | Event::Rung(_)
        | Event::Extended(_)
        | Event::Reminder(_)
        | Event::Flapping
        | Event::Digest(_)
        | Event::Overflow
        | Event::Test => section.row("Since", format!("{since} ({lasted})")),
    }
}

pub(super) fn is_over(item: &Item) -> bool {
    matches!(item.event, Event::Resolved | Event::Removed | Event::WasDown)
}

/// What helps to find it in the provider's panel.
fn which(item: &Item, state: &AccountState) -> Option<String> {
    let id = item.key.id()?;
    match item.key.kind.sort()? {
        Sort::Vm => {
            let vm = state.vms.get(VmId::new(id))?;
            let addresses = vm.ips.iter().flatten().filter_map(|ip| ip.address.as_deref());
            let mut parts = vec![format!("VM {id}")];
            parts.extend(addresses.take(3).map(|address| sanitize::one_line(address, 45)));
            Some(parts.join(", "))
        }
        Sort::Site => {
            let site = state.site(SiteId::new(id))?;
            let container = state.containers.get(site.container).and_then(|found| found.name.as_deref());
            let container =
                container.map_or_else(String::new, |name| format!(" {}", sanitize::one_line(name, 60)));
            Some(format!("Site {id} in container {}{container}", site.container))
        }
        Sort::Container => {
            let container = state.containers.get(ContainerId::new(id))?;
            let server =
                container.server.as_deref().map(|name| format!(" on {}", sanitize::one_line(name, 80)));
            Some(format!("Container {id}{}", server.unwrap_or_default()))
        }
    }
}

/// The sites of a disabled container, and for one disabled for non-payment the blocked VMs: no mail of
/// their own comes for these.
fn goes_dark(item: &Item, state: &AccountState, section: &mut Section) {
    let Some(id) = item.key.id().map(ContainerId::new) else { return };
    let sites: Vec<String> = state.sites.get(&id).map_or_else(Vec::new, |listing| {
        let names = listing.rows.iter();
        names.map(|site| named(site.name.as_deref(), site.id.get(), site.state.as_str(), "Active")).collect()
    });
    if sites.is_empty() {
        section.lines.push("No site of it is known.".to_owned());
    } else {
        let count = words::count(sites.len(), "site goes", "sites go");
        section.lines.push(format!("{count} dark with it, told in this mail only:"));
        section.list = first(sites);
    }
    let unpaid = state.containers.get(id).is_some_and(|c| c.state == ContainerState::DisabledByService);
    let blocked: Vec<String> = state
        .vms
        .rows
        .iter()
        .filter(|vm| unpaid && vm.state == VmState::Blocked)
        .map(|vm| named(vm.name.as_deref(), vm.id.get(), "", ""))
        .collect();
    if !blocked.is_empty() {
        section.row("Blocked VMs", first(blocked).join(", "));
    }
}

/// The first names, and how many more there are.
pub(super) fn first(mut names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names
}

/// A name, or its id where it has none, with its state where that is not the usual one.
pub(super) fn named(name: Option<&str>, id: u64, state: &str, usual: &str) -> String {
    let name = name.map_or_else(|| id.to_string(), |name| sanitize::one_line(name, 80));
    if state == usual { name } else { format!("{name} ({})", sanitize::one_line(state, 40)) }
}

/// Items beyond those told in full.
fn others(rest: &[Item], several: bool, context: &Context<'_>) -> Section {
    let mut section = Section::new(format!("And {} more", rest.len()));
    let room = MOST_LISTED - MOST_IN_FULL;
    section.list = rest
        .iter()
        .take(room)
        .map(|item| {
            let account = if several { format!("{}: ", item.key.account) } else { String::new() };
            let since = words::iso_moment(item.since, context.zone(&item.key.account));
            format!("{account}{} since {since} ({})", name(item), item.key)
        })
        .collect();
    if rest.len() > room {
        section.lines.push(format!(
            "Too many for one mail: {} are not listed; `hostwatch incidents` shows all.",
            rest.len() - room
        ));
    }
    section
}

fn foot(notice: &Notice) -> Vec<String> {
    let mut foot = Vec::new();
    if let Some(first) = notice.items.first() {
        foot.push(format!("How this was decided: hostwatch why {}", first.key));
        let lasts = !is_over(first) && first.key.kind != Kind::BalanceDrop;
        if lasts && matches!(notice.form, Form::Opened | Form::Reminder) {
            foot.push(format!("Somebody is on it, no reminders: hostwatch ack {}", first.key));
        }
    }
    foot.push(sender_line(&notice.accounts));
    foot
}

/// Where hostwatch itself runs on what these accounts pay for: what follows from that.
pub(super) fn lives_on(accounts: &[AccountName], context: &Context<'_>) -> Option<Section> {
    let here = context.lives_on.as_ref().filter(|here| accounts.contains(&here.account))?;
    let mut section = Section::new("hostwatch lives on what it watches");
    section.lines.push(format!(
        "It runs on VM \"{}\" of account {}: if that goes dark, no mail says so. Let somebody else watch for \
         its silence: set heartbeat.url.",
        sanitize::one_line(&here.vm, 60),
        here.account
    ));
    Some(section)
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
    format!("Sent by hostwatch{accounts}. No one reads replies.")
}
