//! Root causes: which open incident explains another, so that one mail covers both. Decided from the snapshot. Pure.
//!
//! Non-payment explains blocked and stopped VMs, sites stopped and containers disabled by the service; a container that
//! is off explains its sites, and the number of its state where nobody gave that a name. An error is explained by nothing
//! but its own container being disabled.

use chrono::{DateTime, Duration, Utc};

use super::decide::StepDraft;
use super::incident::Incident;
use super::key::{Key, Sort, Target};
use super::kind::Kind;
use super::outage;
use super::rules::SITES_STOPPED;
use super::settings::AlertSettings;
use crate::model::{AccountState, Collector, Container, ContainerState, Site, SiteState, freshness};

/// Sites are read right after their containers. Nobody waits for them longer than after a start.
const SITES_FOLLOW_WITHIN: Duration = Duration::minutes(2);

/// What may explain that something is wrong with a resource.
#[derive(Clone, Copy, Default)]
struct Explained {
    by_non_payment: bool,
    /// By its own container; see [`explains_site`].
    by_container: bool,
}

/// The incident whose mail covers this one, if there is one.
pub(super) fn of(
    draft: &StepDraft<'_>,
    incident: &Incident,
    state: &AccountState,
    settings: &AlertSettings,
) -> Option<Key> {
    let key = &incident.key;
    if key.kind == Kind::CollectorFailing {
        return outage::cause(draft, incident, state);
    }
    if let Some(told) = told_as_another(draft, incident) {
        return Some(told);
    }
    let explained = explained(incident, state);
    let by = |may: bool| may.then_some(());
    let account = || by(explained.by_non_payment).and_then(|()| overdue(draft, state));
    let container = || by(explained.by_container).and_then(|()| container_of(draft, key, state));
    let elsewhere = || {
        by(explained.by_non_payment && key.kind != Kind::ContainerDisabled)
            .and_then(|()| off_for_non_payment(draft, state))
    };
    let code = || in_unnamed_state(key, state).find_map(|container| off_by_sites(draft, container, state));
    let root = account().or_else(container).or_else(code).or_else(elsewhere);
    root.filter(|root| root != key && settings.enabled(root.kind))
}

/// What may explain it was not looked at since the start, or since the machine slept: the mail about that comes first.
/// Nor, of a state without a name, were the sites of the containers that are in it.
pub(super) fn is_awaited(incident: &Incident, state: &AccountState, now: DateTime<Utc>) -> bool {
    let explained = explained(incident, state);
    let off =
        (explained.by_non_payment || explained.by_container) && incident.key.kind != Kind::ContainerDisabled;
    let may_explain = [(Collector::ExpectedBalance, explained.by_non_payment), (Collector::Containers, off)];
    let is_on = |collector| state.profile.collectors.contains(&collector);
    let begins = incident.held_since;
    let unread = |container: &Container| {
        state.sites.get(&container.id).is_none_or(|listing| listing.read_at < Some(begins))
    };
    let sites_follow = || is_on(Collector::Sites) && now - begins < SITES_FOLLOW_WITHIN;
    may_explain
        .into_iter()
        .any(|(collector, may)| may && is_on(collector) && !freshness::has_looked(state, collector))
        || (in_unnamed_state(&incident.key, state).any(unread) && sites_follow())
}

#[allow(clippy::wildcard_enum_match_arm)] // nothing explains the others
fn explained(incident: &Incident, state: &AccountState) -> Explained {
    let key = &incident.key;
    let unpaid = Explained { by_non_payment: true, ..Explained::default() };
    match key.kind {
        Kind::VmBlocked | Kind::VmStopped => unpaid,
        Kind::ContainerDisabled if is_unpaid(incident, state) => unpaid,
        Kind::SiteBlocked => {
            let site = key.id().and_then(|id| state.site(id.into()));
            let by_service = site.is_some_and(|site| site.state == SiteState::StoppedByService);
            Explained { by_non_payment: by_service, by_container: true }
        }
        Kind::SiteError | Kind::SiteStuck => Explained { by_container: true, ..Explained::default() },
        _ => Explained::default(),
    }
}

/// What people know to be wrong with the same resource, where that went on from one bad state to another.
fn told_as_another(draft: &StepDraft<'_>, incident: &Incident) -> Option<Key> {
    incident.moved_on.as_ref()?;
    let key = &incident.key;
    let same_sight =
        Kind::ALL.iter().filter(|kind| **kind != key.kind && kind.seen_by() == key.kind.seen_by());
    let mut others = same_sight.filter_map(|&kind| draft.get(&Key { kind, ..key.clone() }));
    let told = others.find(|other| other.explains() && other.announced && other.folded_into.is_none());
    told.map(|other| other.key.clone())
}

/// The disconnect incident, once people were told that nothing is left, and while that is so: a silence keeps the mail about a
/// payment back.
fn overdue(draft: &StepDraft<'_>, state: &AccountState) -> Option<Key> {
    let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
    let incident = draft.get(&key).filter(|incident| incident.phase.is_open() && incident.announced)?;
    let ladder = incident.ladder.as_ref()?;
    let is_told = ladder.rung == Some(0) && ladder.is_overdue(draft.now);
    (is_told || (ladder.used_up && ladder.used_up_told)).then_some(key)
}

/// Does the open incident of a container explain what is wrong with a site of it? Where only stopped sites show that the
/// container is off (`by_sites`), it explains nothing else.
#[allow(clippy::wildcard_enum_match_arm)] // those of sites alone
pub(crate) fn explains_site(by_sites: bool, kind: Kind, site: &Site) -> bool {
    match kind {
        Kind::SiteBlocked => !by_sites || site.state == SiteState::StoppedByService,
        Kind::SiteError | Kind::SiteStuck => !by_sites,
        _ => false,
    }
}

/// The incident of the site's container, or the one that covers that.
fn container_of(draft: &StepDraft<'_>, of: &Key, state: &AccountState) -> Option<Key> {
    let site = state.site(of.id()?.into())?;
    let key = Key::new(&state.profile.name, Kind::ContainerDisabled, site.container.get());
    let incident = draft.get(&key).filter(|incident| incident.explains())?;
    let explains = explains_site(incident.held == SITES_STOPPED, of.kind, site);
    explains.then(|| itself_or_its_root(draft, incident, state))
}

fn itself_or_its_root(draft: &StepDraft<'_>, incident: &Incident, state: &AccountState) -> Key {
    let root = incident.folded_into.as_ref().filter(|root| still_explains(draft, root, state));
    root.unwrap_or(&incident.key).clone()
}

/// Does the incident that covers another go on to explain it? One of a cut-off stays open where somebody paid and the
/// next date is known, and explains nothing until then.
fn still_explains(draft: &StepDraft<'_>, root: &Key, state: &AccountState) -> bool {
    draft.get(root).is_some_and(Incident::explains)
        && (root.kind != Kind::Disconnect || overdue(draft, state).is_some())
}

/// The containers in a state that nobody gave a name, of an incident that says so.
fn in_unnamed_state<'a>(key: &'a Key, state: &'a AccountState) -> impl Iterator<Item = &'a Container> {
    let is_code = key.kind == Kind::UnknownState && matches!(key.resource, Target::Of(Sort::Container, _));
    let rows = if is_code { state.containers.rows.as_slice() } else { &[] };
    rows.iter().filter(|row| Target::of(Sort::Container, row.state.as_str()) == key.resource)
}

/// The incident of a container of which only its sites show that it is off, or the one that covers that.
fn off_by_sites(draft: &StepDraft<'_>, container: &Container, state: &AccountState) -> Option<Key> {
    let key = Key::new(&state.profile.name, Kind::ContainerDisabled, container.id.get());
    let incident = draft.get(&key).filter(|one| one.explains() && one.held == SITES_STOPPED)?;
    Some(itself_or_its_root(draft, incident, state))
}

/// A container that is off for non-payment: VMs and sites elsewhere have the same cause.
fn off_for_non_payment(draft: &StepDraft<'_>, state: &AccountState) -> Option<Key> {
    let mut containers = draft.of_kind(state, Kind::ContainerDisabled);
    let unpaid = containers.find(|incident| {
        incident.explains()
            && incident.announced
            && incident.folded_into.is_none()
            && is_unpaid(incident, state)
    });
    unpaid.map(|incident| incident.key.clone())
}

/// A container's incident that says that it is off for non-payment.
fn is_unpaid(incident: &Incident, state: &AccountState) -> bool {
    let container = incident.key.id().and_then(|id| state.containers.get(id.into()));
    incident.held == SITES_STOPPED
        || container.is_some_and(|container| container.state == ContainerState::DisabledByService)
}
