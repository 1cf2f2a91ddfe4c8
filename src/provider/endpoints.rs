//! The read operation of each collector (interface 4.1–4.8) in a table: its path, the limit that it counts
//! against, and its priority.

use crate::model::{Collector, Group};

/// The budgets of `[limits]`, whose keys end in `_per_minute`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum CallLimit {
    VmList,
    VmOther,
    Hosting,
    Billing,
}

impl CallLimit {
    pub(crate) const ALL: [Self; 4] = [Self::VmList, Self::VmOther, Self::Hosting, Self::Billing];

    /// Its key below `limits`.
    pub(crate) fn key(self) -> String {
        format!("{}_per_minute", <&str>::from(self))
    }
}

/// Within one budget, states go before inventory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Priority {
    State,
    Inventory,
}

/// The facts about the read operation of a collector.
pub(super) struct Row {
    pub limit: CallLimit,
    pub priority: Priority,
    /// `{}` is the id or date.
    pub path: &'static str,
    /// The data that it reads, for messages.
    pub what: &'static str,
    /// Whether 404 means that the resource, its parent or its data are missing, and not that the address is
    /// wrong.
    pub may_be_missing: bool,
}

impl Collector {
    /// The read operation behind it.
    #[rustfmt::skip]
    pub(super) fn row(self) -> Row {
        use self::{CallLimit as L, Priority as U};
        let row = |limit, priority, path, what, may_be_missing| Row { limit, priority, path, what, may_be_missing };
        match self {
            Self::Containers => row(L::Hosting, U::State, "/api/v1/hosting/containers/", "the containers", false),
            Self::Databases => row(L::Hosting, U::Inventory, "/api/v1/hosting/dbms/{}/databases/", "a site's databases", true),
            Self::Sites => row(L::Hosting, U::State, "/api/v2/hosting/containers/{}/virtualhosts/", "a container's sites", true),
            Self::CronJobs => row(L::Hosting, U::Inventory, "/api/v2/hosting/virtualhosts/{}/cron/", "a site's cron jobs", true),
            Self::Vms => row(L::VmList, U::State, "/api/cvds/v1/vms/", "the VMs", false),
            Self::SshKeys => row(L::VmOther, U::Inventory, "/api/cvds/v1/ssh-keys/", "the SSH keys", false),
            Self::Ips => row(L::VmOther, U::Inventory, "/api/cvds/v1/ips/", "the IP addresses", false),
            Self::ExpectedBalance => row(L::Billing, U::State, "/api/v1/expected_balance/{}/", "the expected balance", true),
            Self::Charges => row(L::Billing, U::Inventory, "/api/v1/charge/", "the charges", false),
        }
    }

    /// The budget that its calls count against.
    pub(crate) fn call_limit(self) -> CallLimit {
        self.row().limit
    }

    /// The first collector that a group's credentials are used for.
    pub(super) fn first_of(group: Group) -> Self {
        match group {
            Group::Hosting => Self::Containers,
            Group::Vm => Self::Vms,
            Group::Billing => Self::ExpectedBalance,
        }
    }
}
