//! One incident in full: state, which, since when, why, what to do, what is offline with it. Pure.

use chrono::Duration;

use super::body::Section;
use super::context::Context;
use super::parts::{self, MOST_NAMES, few, first, named, title};
use super::resolved;
use crate::alert::{Cause, Item, Kind, Reason, rules};
use crate::model::sanitize;
use crate::model::{AccountState, ContainerId, ContainerState, VmState};
use crate::view::{advice, words};

/// What an incident has lasted for is said from here on.
const SAID_FROM: Duration = Duration::minutes(1);

/// One incident in full; `room` is for so many more names, of what is offline with it.
pub(super) fn section(item: &Item, several: bool, room: &mut usize, context: &Context<'_>) -> Section {
    let state = context.account(&item.key.account);
    let over = item.event.is_end();
    let mut section = Section::new(if over { past_title(item, several) } else { title(item, several) });
    let (label, seen) = observed(item);
    section.row(label, seen);
    if let Some(which) = state.and_then(|state| advice::which(&item.key, state)) {
        section.row(which.sort.noun(), which.in_full());
    }
    section.rows.extend(when(item, context));
    section.rows.extend(why(item).map(|why| ("Why".to_owned(), why)));
    if !over {
        section.row("What to do", advice::of(&item.key, state));
    }
    let zone = context.zone(&item.key.account);
    section.lines.extend(item.unwatched.map(|gap| parts::not_running(gap, zone, context.now)));
    if item.key.kind == Kind::ContainerDisabled
        && !over
        && let Some(state) = state
    {
        offline(item, state, room, &mut section);
    }
    section
}

/// Several of one resource in full, the worst first.
pub(super) fn section_of_several(
    items: &[&Item],
    several: bool,
    room: &mut usize,
    context: &Context<'_>,
) -> Section {
    let mut all = Section::default();
    for item in items {
        let Section { rows, lines, list, .. } = section(item, several, room, context);
        for (label, value) in rows {
            let begun = label == "Since";
            let label = if begun { format!("{} since", words::capital(&item.problem)) } else { label };
            let row = (label, value);
            if !all.rows.contains(&row) {
                all.rows.push(row);
            }
        }
        all.lines.extend(lines.into_iter().filter(|line| !all.lines.contains(line)).collect::<Vec<_>>());
        all.list.extend(list);
    }
    all
}

/// `VM web-1 was in error`, with the account where several are spoken of.
fn past_title(item: &Item, several: bool) -> String {
    let (subject, was) = resolved::past(item);
    let account = if several { format!("{}: ", item.key.account) } else { String::new() };
    sanitize::one_line(format!("{account}{subject} {was}").trim_end(), 160)
}

/// What was seen, with its label: `State`, `error`.
pub(super) fn observed(item: &Item) -> (&'static str, String) {
    let detail = sanitize::one_line(&item.detail, 300);
    let state = rules::state_in(&detail);
    match (state, item.key.kind) {
        (Some(state), _) => ("State", state.to_owned()),
        (None, Kind::BalanceDrop) => ("Balance", detail),
        (None, _) if item.event.is_end() => ("Now", words::capital(&detail)),
        (None, Kind::CollectorFailing | Kind::CredentialsRejected) => ("Error", detail),
        (None, Kind::BillingReport) => ("Error", words::capital(&detail)),
        (None, _) => ("Problem", words::capital(&detail)),
    }
}

/// `Since`, or `From` and `To` where it is over; nothing of what has only just begun.
pub(super) fn when(item: &Item, context: &Context<'_>) -> Vec<(String, String)> {
    let moment = |at| context.moment(at, item);
    let lasted = words::lasted(item.at - item.since);
    let row = |label: &str, value| (label.to_owned(), value);
    if item.event.is_end() && words::is_one_minute(item.since, item.at) {
        vec![row("When", format!("{} ({lasted})", moment(item.at)))]
    } else if item.event.is_end() {
        vec![row("From", moment(item.since)), row("To", format!("{} ({lasted})", moment(item.at)))]
    } else if item.at - item.since < SAID_FROM {
        Vec::new()
    } else {
        vec![row("Since", format!("{} ({lasted})", moment(item.since)))]
    }
}

/// Why it is told; `None` where the mail itself is the reason.
pub(super) fn why(item: &Item) -> Option<String> {
    let known = Reason::from(Cause::KnownAtStart);
    (item.reason != known).then(|| parts::why(item))
}

/// The sites of a disabled container, and for one disabled for non-payment the blocked VMs: no mail of
/// their own comes for these.
fn offline(item: &Item, state: &AccountState, room: &mut usize, section: &mut Section) {
    let Some(id) = item.key.id().map(ContainerId::new) else { return };
    let sites = sites_of(item, state);
    if sites.is_empty() {
        section.lines.push("No site of it is known.".to_owned());
    } else {
        let count = words::count(sites.len(), "site", "sites");
        let end = if *room == 0 { "." } else { ":" };
        section.lines.push(format!("Also offline: {count} (no separate mails){end}"));
        let most = take(room, sites.len());
        section.list = first(sites, most);
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
        let shown = match take(room, blocked.len()) {
            0 => blocked.len().to_string(),
            most => few(&blocked, most),
        };
        section.row("Blocked VMs", shown);
    }
}

/// The sites of a container, with their state where it is not the usual one.
pub(super) fn sites_of(item: &Item, state: &AccountState) -> Vec<String> {
    let listing = item.key.id().and_then(|id| state.sites.get(&ContainerId::new(id)));
    listing.map_or_else(Vec::new, |listing| {
        let names = listing.rows.iter();
        names.map(|site| named(site.name.as_deref(), site.id.get(), site.state.as_str(), "Active")).collect()
    })
}

/// How many of these names there is room for.
fn take(room: &mut usize, names: usize) -> usize {
    let taken = names.min(MOST_NAMES).min(*room);
    *room -= taken;
    taken
}
