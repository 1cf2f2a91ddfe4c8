//! Root causes: which open incident speaks for another. Judged on the snapshot as known. Pure.

use super::kind::{Key, Kind};
use super::lifecycle::Step;
use super::settings::Settings;
use crate::model::{AccountState, ContainerId, ContainerState, SiteId};

/// The incident whose mail speaks for this one, if there is one: the overdue account's, its
/// container's, or the first that shows the account blocked for payment.
pub(super) fn of(step: &Step<'_>, key: &Key, state: &AccountState, settings: &Settings) -> Option<Key> {
    let site = match key.kind {
        Kind::VmError | Kind::VmBlocked | Kind::VmStopped | Kind::VmStuck => None,
        Kind::SiteError | Kind::SiteBlocked | Kind::SiteStuck => Some(key.resource.parse::<u64>().ok()?),
        Kind::ContainerDisabled => None,
        Kind::Disconnect
        | Kind::BillingReport
        | Kind::OrderSuspended
        | Kind::BalanceDrop
        | Kind::ResourceGone
        | Kind::UnknownState
        | Kind::CollectorFailing
        | Kind::CredentialsRejected => return None,
    };
    overdue(step, state)
        .or_else(|| site.and_then(|site| container_of(step, site, state)))
        .or_else(|| blocked_for_payment(step, key, state))
        .filter(|root| root != key && settings.enabled(root.kind))
}

/// The disconnect incident, once overdue and told.
fn overdue(step: &Step<'_>, state: &AccountState) -> Option<Key> {
    let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
    let incident = step.get(&key)?;
    let told = incident.ladder.as_ref().is_some_and(|ladder| ladder.rung == Some(0));
    (incident.phase.is_open() && told).then_some(key)
}

/// The incident of the site's container, while that is disabled.
fn container_of(step: &Step<'_>, site: u64, state: &AccountState) -> Option<Key> {
    let container = state.site(SiteId::new(site))?.container;
    let key = Key::new(&state.profile.name, Kind::ContainerDisabled, container);
    step.get(&key).filter(|incident| incident.phase.is_open()).map(|_| key)
}

/// A container that is off for non-payment speaks for VMs and for sites elsewhere: the cause is one.
fn blocked_for_payment(step: &Step<'_>, key: &Key, state: &AccountState) -> Option<Key> {
    if key.kind == Kind::ContainerDisabled {
        return None;
    }
    let disabled = step.of_kind(state, Kind::ContainerDisabled);
    let disabled = disabled.filter(|incident| incident.phase.is_open() && incident.announced);
    let mut unpaid = disabled.filter(|incident| {
        let id = incident.key.resource.parse().ok().map(ContainerId::new);
        let container = id.and_then(|id| state.containers.get(id));
        container.is_some_and(|container| container.state == ContainerState::DisabledByService)
    });
    unpaid.next().map(|incident| incident.key.clone())
}
