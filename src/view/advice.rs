//! What to do about an incident, in one line for each kind, and what helps to find its resource in the provider's
//! panel. Mails and the page say the same. Pure.

use std::borrow::Cow;

use super::words;
use crate::alert::{Key, Kind, Sort};
use crate::model::{AccountState, Collector, ContainerId, ContainerState, SiteId, SiteState, VmId, sanitize};

/// One line; takes into account why a container or a site was stopped, where that is known.
pub(crate) fn of(key: &Key, state: Option<&AccountState>) -> Cow<'static, str> {
    Cow::Borrowed(match key.kind {
        Kind::CollectorFailing => return Cow::Owned(collector(key)),
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
        Kind::SiteBlocked => site(key, state),
        Kind::ContainerDisabled => container(key, state),
        Kind::ResourceGone => {
            "If nobody deleted it on purpose, write to the provider's support at once, while a backup may exist."
        }
        Kind::UnknownState => {
            "See in the provider's panel what the state means, or ask the provider's support."
        }
        Kind::CredentialsRejected => {
            "Put valid credentials into the configuration and reload (SIGHUP). Nothing behind these endpoints is watched until then."
        }
    })
}

fn collector(key: &Key) -> String {
    let read = Collector::ALL.into_iter().find(|one| key.resource.to_string() == one.as_str());
    let unwatched = match read {
        Some(Collector::ExpectedBalance) => "The balance is".to_owned(),
        Some(read) => format!("{} are", words::capital(read.words())),
        None => "It is".to_owned(),
    };
    format!(
        "Look at the error and at the provider's own status page. {unwatched} not being watched until this works."
    )
}

fn site(key: &Key, state: Option<&AccountState>) -> &'static str {
    let id = key.id().map(SiteId::new);
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

fn container(key: &Key, state: Option<&AccountState>) -> &'static str {
    let id = key.id().map(ContainerId::new);
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

/// What helps to find a resource in the provider's panel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PanelHint {
    pub sort: Sort,
    pub name: Option<String>,
    pub id: u64,
    /// `198.51.100.7`, `container agency`, `server h12`.
    pub place: Vec<String>,
}

impl PanelHint {
    /// `web-1 (id 10001), 198.51.100.7`: where its sort stands before it.
    pub(crate) fn in_full(&self) -> String {
        let name = match &self.name {
            Some(name) => format!("{name} (id {})", self.id),
            None => format!("id {}", self.id),
        };
        std::iter::once(name).chain(self.place.iter().cloned()).collect::<Vec<_>>().join(", ")
    }

    /// `VM 10001, 198.51.100.7`: where its name stands already.
    pub(crate) fn beside_its_name(&self) -> String {
        let number = format!("{} {}", self.sort.noun(), self.id);
        std::iter::once(number).chain(self.place.iter().cloned()).collect::<Vec<_>>().join(", ")
    }
}

/// What helps to find it in the provider's panel.
pub(crate) fn which(key: &Key, state: &AccountState) -> Option<PanelHint> {
    let id = key.id()?;
    let plain = |name: &str| sanitize::one_line(name, 40);
    let sort = key.kind.sort()?;
    match sort {
        Sort::Vm => {
            let vm = state.vms.get(VmId::new(id))?;
            let addresses = vm.ips.iter().flatten().filter_map(|ip| ip.address.as_deref());
            let place = addresses.take(3).map(|address| sanitize::one_line(address, 45)).collect();
            Some(PanelHint { sort, name: vm.name.as_deref().map(plain), id, place })
        }
        Sort::Site => {
            let site = state.site(SiteId::new(id))?;
            let container = state.containers.get(site.container).and_then(|found| found.name.as_deref());
            let container = container.map_or_else(|| site.container.to_string(), plain);
            let place = vec![format!("container {container}")];
            Some(PanelHint { sort, name: site.name.as_deref().map(plain), id, place })
        }
        Sort::Container => {
            let container = state.containers.get(ContainerId::new(id))?;
            let place = container.server.as_deref().map(|name| format!("server {}", plain(name)));
            let name = container.name.as_deref().map(plain);
            Some(PanelHint { sort, name, id, place: place.into_iter().collect() })
        }
    }
}
