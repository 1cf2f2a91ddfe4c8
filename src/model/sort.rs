//! The sorts of resources that have a state, VMs, containers and sites: one table that counts, states, health, mails and
//! pages walk over.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::AccountName;
use super::resources::{Container, Resource, Site, Vm};
use super::snapshot::{AccountState, Collector, Listing};
use super::states::{ContainerState, SiteState, VmState};

/// A sort of resource, as keys, JSON and the page's queries call it.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Sort {
    Container,
    Site,
    Vm,
}

impl Sort {
    /// All sorts, in the order in which people read them.
    pub(crate) const ALL: [Self; 3] = [Self::Vm, Self::Container, Self::Site];

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The collector that lists this sort.
    pub(crate) const fn seen_by(self) -> Collector {
        match self {
            Self::Vm => Collector::Vms,
            Self::Container => Collector::Containers,
            Self::Site => Collector::Sites,
        }
    }
}

/// The meaning of a state. The numbers give the order of lists: the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    Bad = 0,
    /// The resource changes to another state.
    Passing = 2,
    /// The owner switched the resource off.
    Off = 3,
    Fine = 4,
    /// A state that the interface does not list, or one that cannot be read at present. A client also reads
    /// this from a word of a later version. The variant is last because serde requires it.
    #[serde(other)]
    Unknown = 1,
}

impl Health {
    /// Whether somebody should look at the resource.
    pub(crate) fn is_problem(self) -> bool {
        matches!(self, Self::Bad | Self::Unknown)
    }
}

/// A row of a listing that has a state.
pub(crate) trait Stated: Resource<Id: Into<u64>> {
    /// The sort of the row.
    const SORT: Sort;
    /// The provider's word for its state.
    fn state_name(&self) -> &str;
    /// The meaning of its state.
    fn health(&self) -> Health;
    /// The container that a site lives in.
    fn container(&self) -> Option<u64> {
        None
    }
}

macro_rules! stated {
    ($row:ty, $sort:ident $(, $more:item)?) => {
        impl Stated for $row {
            const SORT: Sort = Sort::$sort;

            fn state_name(&self) -> &str {
                self.state.as_str()
            }

            fn health(&self) -> Health {
                self.state.health()
            }

            $($more)?
        }
    };
}

stated!(Vm, Vm);
stated!(Container, Container);
stated!(
    Site,
    Site,
    fn container(&self) -> Option<u64> {
        Some(self.container.get())
    }
);

/// A VM, container or site as it was last read.
#[derive(Clone, Copy)]
pub(crate) struct SeenResource<'a> {
    pub account: &'a AccountName,
    pub kind: Sort,
    pub id: u64,
    pub name: Option<&'a str>,
    pub state: &'a str,
    pub health: Health,
    /// The container of a site.
    pub container: Option<u64>,
    pub read_at: Option<DateTime<Utc>>,
    /// Whether the last complete listing showed it.
    pub is_listed: bool,
}

impl AccountState {
    /// Every resource that has a state.
    pub(crate) fn resources(&self) -> impl Iterator<Item = SeenResource<'_>> {
        Sort::ALL.into_iter().flat_map(|sort| self.resources_of(sort))
    }

    /// The resources of one sort; sites stand container by container.
    pub(crate) fn resources_of(&self, sort: Sort) -> Box<dyn Iterator<Item = SeenResource<'_>> + '_> {
        match sort {
            Sort::Vm => Box::new(self.listed(&self.vms)),
            Sort::Container => Box::new(self.listed(&self.containers)),
            Sort::Site => Box::new(self.sites.values().flat_map(|listing| self.listed(listing))),
        }
    }

    /// One resource, while it is listed.
    pub(crate) fn resource(&self, sort: Sort, id: u64) -> Option<SeenResource<'_>> {
        match sort {
            Sort::Vm => self.vms.get(id.into()).map(|row| self.seen(row, &self.vms)),
            Sort::Container => self.containers.get(id.into()).map(|row| self.seen(row, &self.containers)),
            Sort::Site => {
                let listing = self.sites.get(self.homes.get(&id.into())?)?;
                listing.get(id.into()).map(|row| self.seen(row, listing))
            }
        }
    }

    /// Was each listing of this sort read at least once?
    pub(crate) fn was_read(&self, sort: Sort) -> bool {
        match sort {
            Sort::Vm => self.vms.read_at.is_some(),
            Sort::Container => self.containers.read_at.is_some(),
            Sort::Site => self.was_read(Sort::Container) && self.containers_without_sites_read() == 0,
        }
    }

    /// The rows of one listing.
    pub(crate) fn listed<'a, T: Stated + 'a>(
        &'a self,
        listing: &'a Listing<T>,
    ) -> impl Iterator<Item = SeenResource<'a>> {
        listing.rows.iter().map(|row| self.seen(row, listing))
    }

    fn seen<'a, T: Stated>(&'a self, row: &'a T, listing: &Listing<T>) -> SeenResource<'a> {
        SeenResource {
            account: &self.profile.name,
            kind: T::SORT,
            id: row.id().into(),
            name: row.name(),
            state: row.state_name(),
            health: row.health(),
            container: row.container(),
            read_at: listing.read_at,
            is_listed: listing.empty_since.is_none()
                && ![&listing.missing, &listing.unreadable].iter().any(|ids| ids.contains(&row.id().into())),
        }
    }
}

impl VmState {
    fn health(&self) -> Health {
        match self {
            Self::Active => Health::Fine,
            Self::Stopped => Health::Off,
            Self::Pending | Self::Building => Health::Passing,
            Self::Blocked | Self::Error => Health::Bad,
            Self::Unknown(_) => Health::Unknown,
        }
    }
}

impl SiteState {
    fn health(&self) -> Health {
        match self {
            Self::Active => Health::Fine,
            Self::Stopped => Health::Off,
            Self::Building
            | Self::Starting
            | Self::Stopping
            | Self::Restarting
            | Self::Updating
            | Self::Backuping
            | Self::Restoring => Health::Passing,
            Self::StoppedByAdmin | Self::StoppedByService | Self::StoppedByQuota | Self::Error => Health::Bad,
            Self::Unknown(_) => Health::Unknown,
        }
    }
}

impl ContainerState {
    fn health(&self) -> Health {
        match self {
            Self::Enabled => Health::Fine,
            Self::DisabledByService | Self::DisabledByAdmin | Self::DisabledByQuota => Health::Bad,
            Self::Unknown(_) => Health::Unknown,
        }
    }
}
