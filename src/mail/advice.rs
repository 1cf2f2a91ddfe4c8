//! What to do about an incident, in one line for each kind. Pure.

use crate::alert::{Item, Kind};
use crate::model::{AccountState, ContainerId, ContainerState, SiteId, SiteState};

/// One line; takes into account why a container or a site was stopped, where that is known.
pub(super) fn of(item: &Item, state: Option<&AccountState>) -> &'static str {
    match item.key.kind {
        Kind::Disconnect => "Pay the amount below by the day named; the next report closes this by itself.",
        Kind::BillingReport => {
            "Look at the balance in the provider's panel: until a report can be read, hostwatch warns by the last date it knows."
        }
        Kind::OrderSuspended => {
            "Open the order in the provider's panel: pay what is due, or close it if it is not wanted any more."
        }
        Kind::BalanceDrop => "Compare the last charges in the provider's panel with what you expected.",
        Kind::VmError => {
            "Restart the VM in the provider's panel; if it stays in error, write to the provider's support."
        }
        Kind::VmBlocked => {
            "The provider blocked it: look for an unpaid order or a complaint in the panel, then ask support."
        }
        Kind::VmStopped => "Start it in the provider's panel if it should run.",
        Kind::VmStuck | Kind::SiteStuck => {
            "Nothing to wait for any more: ask the provider's support what holds it up."
        }
        Kind::SiteError => {
            "Read the site's error log and restart it in the provider's panel; if it stays in error, ask support."
        }
        Kind::SiteBlocked => site(item, state),
        Kind::ContainerDisabled => container(item, state),
        Kind::ResourceGone => {
            "If nobody deleted it on purpose, write to the provider's support at once, while a backup may exist."
        }
        Kind::UnknownState => {
            "See in the provider's panel what the state means; nothing can be said of resources in it until then."
        }
        Kind::CollectorFailing => {
            "Look at the error above and at the provider's own status. What this collector reads is not watched until it answers."
        }
        Kind::CredentialsRejected => {
            "Put valid credentials into the configuration and reload (SIGHUP). Nothing behind these endpoints is watched until then."
        }
    }
}

fn site(item: &Item, state: Option<&AccountState>) -> &'static str {
    let id = item.key.id().map(SiteId::new);
    let found = state.zip(id).and_then(|(state, id)| state.site(id)).map(|site| &site.state);
    match found {
        Some(SiteState::StoppedByService) => {
            "The provider stopped it, as it does for non-payment: check the balance and pay."
        }
        Some(SiteState::StoppedByQuota) => {
            "It went past its container's quota: free disk space, or take a larger tariff."
        }
        Some(SiteState::StoppedByAdmin) => {
            "The provider's administrators stopped it: ask support for the reason."
        }
        _ => "See in the provider's panel who stopped it: an unpaid order, the quota, or an administrator.",
    }
}

fn container(item: &Item, state: Option<&AccountState>) -> &'static str {
    let id = item.key.id().map(ContainerId::new);
    let found = state.zip(id).and_then(|(state, id)| state.containers.get(id)).map(|found| &found.state);
    match found {
        Some(ContainerState::DisabledByService) => {
            "The provider disabled it, as it does for non-payment: check the balance and pay."
        }
        Some(ContainerState::DisabledByQuota) => {
            "It went past its quota: free disk space, or take a larger tariff."
        }
        Some(ContainerState::DisabledByAdmin) => {
            "The provider's administrators disabled it: ask support for the reason."
        }
        _ => "See in the provider's panel who disabled it: an unpaid order, the quota, or an administrator.",
    }
}
