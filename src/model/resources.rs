//! VMs, containers, sites and their parts (interface 2.1–2.7).
//!
//! Only `id` and `state` are always there. Any other field is `None` if the provider left it out, sent null or
//! sent another type: an unknown value is absent, and never zero.

use chrono::{DateTime, Utc};

use super::ids::{ContainerId, IpId, SiteId, VmId};
use super::states::{ContainerState, SiteState, VmState};

/// A virtual machine (interface 2.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Vm {
    pub id: VmId,
    pub state: VmState,
    /// The string identifier, not the number.
    pub vm_id: Option<Box<str>>,
    pub name: Option<Box<str>>,
    /// `type` on the wire: the tariff parameter.
    pub tariff: Option<Box<str>>,
    pub ncpu: Option<u64>,
    /// The memory in the unit of `vm_memory_unit`; the interface does not name the unit.
    pub memsize: Option<u64>,
    pub monitoring_enabled: Option<bool>,
    pub ips: Option<Box<[VmIp]>>,
    /// The number of attached disks (`storages`).
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
    /// The name that requests to other names are redirected to; `None` also if that is the site's own name.
    pub main_alias: Option<Box<str>>,
    pub engine: Option<Box<str>>,
    pub engine_version: Option<Box<str>>,
    pub workers: Option<u64>,
    pub force_https: Option<bool>,
    /// `certificate_id`; 0 means that the site has no certificate.
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

/// A database (interface 2.2), a cron job (2.4) or an SSH key (2.6, deprecated by the provider). These are only
/// counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Counted {
    pub id: u64,
}

/// A row of a listing, which has a unique id.
pub(crate) trait Resource {
    /// The type of the ids in this listing.
    type Id: Copy + Ord + std::hash::Hash + std::fmt::Display + std::fmt::Debug;
    /// The row's own id.
    fn id(&self) -> Self::Id;
    /// The name, if rows of this listing have one and the provider gave it.
    fn name(&self) -> Option<&str> {
        None
    }
}

macro_rules! resource {
    ($($row:ty: $id:ty $(, $name:ident)?;)*) => {$(
        impl Resource for $row {
            type Id = $id;
            fn id(&self) -> $id {
                self.id
            }
            $(fn name(&self) -> Option<&str> {
                self.$name.as_deref()
            })?
        }
    )*};
}

resource!(Vm: VmId, name; Container: ContainerId, name; Site: SiteId, name; Ip: IpId; Counted: u64;);
