//! How the state of a resource is to be taken, and what of an account is not known. Pure; what all of it adds
//! up to is in `headline`.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::words;
use crate::model::forecast::{self, Disconnect};
use crate::model::freshness::{is_read, state_collectors};
use crate::model::{AccountState, Collector, ContainerState, SiteState, VmState};

/// How a state is to be taken. The numbers give the order of lists: what needs eyes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    Bad = 0,
    /// On its way to another state.
    Passing = 2,
    /// Off by its owner's wish.
    Off = 3,
    Fine = 4,
    /// A state that the interface does not list; or, in an answer of a later version, a word that this one does
    /// not know. Stands last because serde wants it there.
    #[serde(other)]
    Unknown = 1,
}

impl Health {
    /// A sign and a word, so that colour is never alone.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Bad => ("✕", "not well"),
            Self::Unknown => ("?", "not known"),
            Self::Passing => ("…", "changing"),
            Self::Off => ("○", "off"),
            Self::Fine => ("●", "fine"),
        }
    }

    /// How many of an account's resources are so.
    pub(super) fn count(self, account: &AccountState) -> usize {
        let vms = account.vms.rows.iter().map(|vm| Self::from(&vm.state));
        let containers = account.containers.rows.iter().map(|container| Self::from(&container.state));
        let sites = account.all_sites().map(|site| Self::from(&site.state));
        vms.chain(containers).chain(sites).filter(|&health| health == self).count()
    }
}

impl From<&VmState> for Health {
    fn from(state: &VmState) -> Self {
        match state {
            VmState::Active => Self::Fine,
            VmState::Stopped => Self::Off,
            VmState::Pending | VmState::Building => Self::Passing,
            VmState::Blocked | VmState::Error => Self::Bad,
            VmState::Unknown(_) => Self::Unknown,
        }
    }
}

impl From<&SiteState> for Health {
    fn from(state: &SiteState) -> Self {
        match state {
            SiteState::Active => Self::Fine,
            SiteState::Stopped => Self::Off,
            SiteState::Building
            | SiteState::Starting
            | SiteState::Stopping
            | SiteState::Restarting
            | SiteState::Updating
            | SiteState::Backuping
            | SiteState::Restoring => Self::Passing,
            SiteState::StoppedByAdmin
            | SiteState::StoppedByService
            | SiteState::StoppedByQuota
            | SiteState::Error => Self::Bad,
            SiteState::Unknown(_) => Self::Unknown,
        }
    }
}

impl From<&ContainerState> for Health {
    fn from(state: &ContainerState) -> Self {
        match state {
            ContainerState::Enabled => Self::Fine,
            ContainerState::DisabledByService
            | ContainerState::DisabledByAdmin
            | ContainerState::DisabledByQuota => Self::Bad,
            ContainerState::Unknown(_) => Self::Unknown,
        }
    }
}

/// What of an account's state cannot be told. Empty only when every collector that sees a state has
/// read all of it, and recently. `several`: there are other accounts beside it.
pub(super) fn not_known(account: &AccountState, several: bool, now: DateTime<Utc>) -> Vec<String> {
    let profile = &account.profile;
    let of = if several { format!(" of {}", profile.name) } else { String::new() };
    let mut on: Vec<Collector> = state_collectors(profile).collect();
    // A cut-off is the worst that may be unknown.
    on.sort_by_key(|&collector| collector != Collector::ExpectedBalance);
    let mut unknown = Vec::new();
    if on.is_empty() {
        unknown.push(format!("anything of {}, no collector that sees a state is on", profile.name));
    }
    unknown.extend(on.into_iter().filter_map(|collector| not_read(account, collector, &of, now)));
    if profile.collectors.contains(&Collector::Sites) {
        let read = |id| account.sites.get(id).is_some_and(|listing| listing.read_at.is_some());
        let missing = account.containers.rows.iter().filter(|container| !read(&container.id)).count();
        if missing > 0 {
            unknown.push(format!("the sites of {}{of}", words::count(missing, "container", "containers")));
        }
    }
    if let Some(report) = &account.billing.report
        && forecast::disconnect(report) == Disconnect::Unknown
    {
        unknown.push(format!("whether the account{of} will be cut off, the report does not tell"));
    }
    let odd = Health::Unknown.count(account);
    if odd > 0 {
        let verb = if odd == 1 { "is" } else { "are" };
        let resources = words::count(odd, "resource", "resources");
        unknown.push(format!("how {resources}{of} {verb}, the state has no known meaning"));
    }
    unknown
}

/// Why what this collector sees is not known; `None` where it is.
fn not_read(account: &AccountState, collector: Collector, of: &str, now: DateTime<Utc>) -> Option<String> {
    let what = match collector {
        Collector::ExpectedBalance => "the balance",
        Collector::Vms => "the VMs",
        Collector::Containers => "the containers",
        Collector::Sites => "the sites",
        Collector::Charges
        | Collector::Databases
        | Collector::CronJobs
        | Collector::Ips
        | Collector::SshKeys => collector.as_str(),
    };
    let profile = &account.profile;
    let status = account.collectors.get(&collector).cloned().unwrap_or_default();
    if status.polls == 0 {
        Some(format!("{what}{of}, not read yet"))
    } else if !status.success {
        let since = status.failing_since.map(|at| words::moment(at, profile.zone(), now)).unwrap_or_default();
        let reason = status.failure.as_ref().map_or("failed", |failure| failure.message.as_str());
        Some(format!("{what}{of}, polls have failed since {since}: {reason}"))
    } else if !is_read(account, collector, now) {
        Some(format!("{what}{of}, not read for too long"))
    } else if !status.complete {
        Some(format!("some of {what}{of}, the last poll did not get all"))
    } else {
        None
    }
}
