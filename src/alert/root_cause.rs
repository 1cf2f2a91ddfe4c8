//! Root causes: which open incident's mail tells of another too. Judged on the snapshot as known. Pure.

use super::decide::Step;
use super::key::{Key, Sort};
use super::kind::Kind;
use super::settings::Settings;
use crate::model::{AccountState, ContainerState};

/// The incident whose mail tells of this one too, if there is one: the overdue account's, its
/// container's, or the first that shows the account blocked for payment.
pub(super) fn of(step: &Step<'_>, key: &Key, state: &AccountState, settings: &Settings) -> Option<Key> {
    let sort = key.kind.sort()?;
    let container = || if sort == Sort::Site { container_of(step, key, state) } else { None };
    let unpaid = || if sort == Sort::Container { None } else { blocked_for_payment(step, state) };
    overdue(step, state)
        .or_else(container)
        .or_else(unpaid)
        .filter(|root| root != key && settings.enabled(root.kind))
}

/// The disconnect incident, once overdue and mailed.
fn overdue(step: &Step<'_>, state: &AccountState) -> Option<Key> {
    let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
    let incident = step.get(&key)?;
    let mailed = incident.ladder.as_ref().is_some_and(|ladder| ladder.rung == Some(0));
    (incident.phase.is_open() && mailed).then_some(key)
}

/// The incident of the site's container, while that is disabled.
fn container_of(step: &Step<'_>, site: &Key, state: &AccountState) -> Option<Key> {
    let container = state.site(site.id()?.into())?.container;
    let key = Key::new(&state.profile.name, Kind::ContainerDisabled, container.get());
    step.get(&key).filter(|incident| incident.phase.is_open()).map(|_| key)
}

/// A container that is off for non-payment: VMs and sites elsewhere have the same cause.
fn blocked_for_payment(step: &Step<'_>, state: &AccountState) -> Option<Key> {
    let disabled = step.of_kind(state, Kind::ContainerDisabled);
    let mut disabled = disabled.filter(|incident| incident.phase.is_open() && incident.announced);
    let unpaid = disabled.find(|incident| {
        let container = incident.key.id().and_then(|id| state.containers.get(id.into()));
        container.is_some_and(|container| container.state == ContainerState::DisabledByService)
    });
    unpaid.map(|incident| incident.key.clone())
}
