//! Whether the state of a resource is good or bad, and what of an account is not known. Pure; `headline` makes one
//! sentence of both.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::incidents::IncidentRow;
use super::said::{Said, Topic};
use super::words;
use crate::alert::{Kind, Sort, Target};
use crate::model::forecast::{self, Disconnect};
use crate::model::freshness::{is_read, state_collectors};
use crate::model::{AccountName, AccountState, Collector, ContainerState, SiteState, VmState, sanitize};

/// What a state means. The numbers give the order of lists: the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    Bad = 0,
    /// Changing to another state.
    Passing = 2,
    /// Its owner switched it off.
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
            Self::Bad => ("✕", "problem"),
            Self::Unknown => ("?", "not known"),
            Self::Passing => ("…", "changing"),
            Self::Off => ("○", "off"),
            Self::Fine => ("●", "fine"),
        }
    }

    /// How many of an account's resources have it.
    pub(super) fn count(self, account: &AccountState) -> usize {
        SeenResource::all(account).filter(|seen| seen.health == self).count()
    }
}

/// A VM, container or site as it was last read.
#[derive(Clone, Copy)]
pub(crate) struct SeenResource<'a> {
    pub account: &'a AccountName,
    pub kind: Sort,
    pub id: u64,
    pub name: Option<&'a str>,
    pub state: &'a str,
    pub health: Health,
    /// Of a site.
    pub container: Option<u64>,
    pub read_at: Option<DateTime<Utc>>,
}

impl<'a> SeenResource<'a> {
    /// All of an account.
    pub(crate) fn all(state: &'a AccountState) -> impl Iterator<Item = Self> {
        let account = &state.profile.name;
        let vms = state.vms.rows.iter().map(move |vm| Self {
            account,
            kind: Sort::Vm,
            id: vm.id.get(),
            name: vm.name.as_deref(),
            state: vm.state.as_str(),
            health: (&vm.state).into(),
            container: None,
            read_at: state.vms.read_at,
        });
        let containers = state.containers.rows.iter().map(move |container| Self {
            account,
            kind: Sort::Container,
            id: container.id.get(),
            name: container.name.as_deref(),
            state: container.state.as_str(),
            health: (&container.state).into(),
            container: None,
            read_at: state.containers.read_at,
        });
        let sites = state.sites.values();
        let sites = sites.flat_map(|listing| listing.rows.iter().map(|site| (site, listing.read_at)));
        let sites = sites.map(move |(site, read_at)| Self {
            account,
            kind: Sort::Site,
            id: site.id.get(),
            name: site.name.as_deref(),
            state: site.state.as_str(),
            health: (&site.state).into(),
            container: Some(site.container.get()),
            read_at,
        });
        vms.chain(containers).chain(sites)
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

/// What of an account's state is not known. Empty only when every collector that sees a state has read all of it, and
/// recently. What an open incident says already (`told`) is not said again.
pub(super) fn not_known(account: &AccountState, told: &[&IncidentRow], now: DateTime<Utc>) -> Vec<Said> {
    let profile = &account.profile;
    let mut on: Vec<Collector> = state_collectors(profile).collect();
    // A cut-off is the worst that may be unknown.
    on.sort_by_key(|&collector| collector != Collector::ExpectedBalance);
    let mut unknown = Vec::new();
    if on.is_empty() {
        unknown.push("Nothing is watched: no collector that sees a state is on".to_owned());
    }
    unknown.extend(
        on.into_iter()
            .filter(|&collector| !is_told(account, collector, told))
            .filter_map(|collector| not_read(account, collector, now)),
    );
    if profile.collectors.contains(&Collector::Sites) {
        let missing = account.containers_without_sites_read();
        if missing > 0 {
            unknown
                .push(format!("Sites of {} not read yet", words::count(missing, "container", "containers")));
        }
    }
    if let Some(report) = &account.billing.report
        && forecast::disconnect(report) == Disconnect::Unknown
    {
        unknown.push("Cut-off not known: the report does not say".to_owned());
    }
    unknown.extend(account.billing.unconfirmed().map(|at| {
        let at = words::sentence_moment(at, profile.zone(), now);
        format!("Cut-off as of {at}: no newer report confirms it")
    }));
    unknown.extend(unknown_states(account));
    let said = |text| Said::one(text, Topic::Reading, Some(&profile.name));
    unknown.into_iter().map(said).collect()
}

/// Does an open incident say that this collector fails?
fn is_told(account: &AccountState, collector: Collector, told: &[&IncidentRow]) -> bool {
    told.iter().any(|row| {
        let its = match &row.key.resource {
            Target::Collector(other) => *other == collector,
            Target::Group(group) => *group == collector.group(),
            Target::Account => row.kind == Kind::BillingReport && collector == Collector::ExpectedBalance,
            Target::Id(_) | Target::Of(..) | Target::Other(_) => false,
        };
        its && row.account == account.profile.name
    })
}

/// `Unknown state: files-8 (rebooting)`.
fn unknown_states(account: &AccountState) -> Option<String> {
    let mut odd = SeenResource::all(account).filter(|seen| seen.health == Health::Unknown);
    let SeenResource { name, id, state, .. } = odd.next()?;
    let name = name.map_or_else(|| id.to_string(), |name| sanitize::one_line(name, 60));
    let first = format!("Unknown state: {name} ({})", sanitize::one_line(state, 40));
    Some(match odd.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    })
}

/// Why what this collector sees is not known; `None` where it is.
fn not_read(account: &AccountState, collector: Collector, now: DateTime<Utc>) -> Option<String> {
    let (what, zone) = (collector.words(), account.profile.zone());
    let status = account.collectors.get(&collector).cloned().unwrap_or_default();
    if status.polls == 0 {
        Some(format!("{} not read yet", words::capital(what)))
    } else if !status.success {
        let since =
            status.failing_since.map(|at| format!(" since {}", words::sentence_moment(at, zone, now)));
        let reason = status.failure.as_ref().map_or("failed", |failure| failure.message.as_str());
        Some(format!("Cannot read {what}{}: {reason}", since.unwrap_or_default()))
    } else if !is_read(account, collector, now) {
        Some(format!("{} not read for too long", words::capital(what)))
    } else if !status.complete {
        Some(format!("Could not read all of {what}"))
    } else {
        None
    }
}
