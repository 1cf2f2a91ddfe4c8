//! VMs, containers, sites and what hangs off them (interface 2.1–2.7).
//!
//! Only `id` and `state` are sure to be there. Every other field is `None` where the provider left it
//! out, sent null or sent another type: what is not known is absent, never zero.

use chrono::{DateTime, Utc};

use super::ids::{ContainerId, IpId, SiteId, VmId};
use super::states::{ContainerState, SiteState, VmState};

/// A virtual machine (interface 2.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Vm {
    pub id: VmId,
    pub state: VmState,
    /// The unique string identifier, not the number.
    pub vm_id: Option<Box<str>>,
    pub name: Option<Box<str>>,
    /// `type` on the wire: the tariff parameter.
    pub tariff: Option<Box<str>>,
    pub ncpu: Option<u64>,
    /// In the unit of `vm_memory_unit`: the interface does not say which.
    pub memsize: Option<u64>,
    pub monitoring_enabled: Option<bool>,
    pub ips: Option<Box<[VmIp]>>,
    /// How many disks are attached (`storages`).
    pub disks: Option<u32>,
}

/// One entry of a VM's `ips`: an object in lists and reads, a bare id elsewhere (interface 2.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct VmIp {
    pub address: Option<Box<str>>,
}

/// A hosting container (interface 2.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Container {
    pub id: ContainerId,
    pub state: ContainerState,
    pub login: Option<Box<str>>,
    pub name: Option<Box<str>>,
    /// `service_address` on the wire: the server's name.
    pub server: Option<Box<str>>,
    pub memory_limit_mb: Option<u64>,
    /// `quota` on the wire: disk space.
    pub disk_quota_mb: Option<u64>,
    pub created: Option<DateTime<Utc>>,
    pub updated: Option<DateTime<Utc>>,
    pub in_transfer: Option<bool>,
}

/// A site, `virtualhost` at the provider (interface 2.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    pub id: SiteId,
    pub state: SiteState,
    /// The container whose listing showed it.
    pub container: ContainerId,
    pub name: Option<Box<str>>,
    /// Where requests to its other names are redirected; `None` also where that is its name.
    pub main_alias: Option<Box<str>>,
    pub engine: Option<Box<str>>,
    pub engine_version: Option<Box<str>>,
    pub workers: Option<u64>,
    pub force_https: Option<bool>,
    /// `certificate_id`; 0 means that there is none.
    pub certificate_id: Option<u64>,
    pub created: Option<DateTime<Utc>>,
    pub updated: Option<DateTime<Utc>>,
}

/// An IP address (interface 2.7).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ip {
    pub id: IpId,
    pub address: Option<Box<str>>,
    pub vm: Option<VmId>,
}

/// A database (interface 2.2), a cron job (2.4) or an SSH key (2.6, deprecated at the provider): only counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Counted {
    pub id: u64,
}

/// A row of a listing: has an id that is unique in it.
pub(crate) trait Resource {
    /// The kind of id that rows of this listing carry.
    type Id: Copy + Ord + std::hash::Hash + std::fmt::Display + std::fmt::Debug;
    /// The row's own id.
    fn id(&self) -> Self::Id;
}

macro_rules! resource {
    ($($row:ty: $id:ty),* $(,)?) => {$(
        impl Resource for $row {
            type Id = $id;
            fn id(&self) -> $id {
                self.id
            }
        }
    )*};
}

resource!(Vm: VmId, Container: ContainerId, Site: SiteId, Ip: IpId, Counted: u64);
