//! Every read operation that hostwatch needs (interface 4.1–4.8) in a table: its path, the group of its
//! credentials, the limit that it counts against, and its priority.

use crate::model::Group;

/// A read operation of the interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Operation {
    Containers,
    Databases,
    Sites,
    CronJobs,
    Vms,
    SshKeys,
    Ips,
    ExpectedBalance,
    Charges,
}

/// The budgets of `[limits]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallLimit {
    VmList,
    VmOther,
    Hosting,
    Billing,
}

/// Within one budget, states go before inventory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Priority {
    State,
    Inventory,
}

/// The facts about an operation.
pub(super) struct Row {
    group: Group,
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

impl Operation {
    #[rustfmt::skip]
    pub(super) fn row(self) -> Row {
        use self::{CallLimit as L, Priority as U};
        let row = |group, limit, priority, path, what, may_be_missing| {
            Row { group, limit, priority, path, what, may_be_missing }
        };
        let (h, v, b) = (Group::Hosting, Group::Vm, Group::Billing);
        match self {
            Self::Containers => row(h, L::Hosting, U::State, "/api/v1/hosting/containers/", "the containers", false),
            Self::Databases => row(h, L::Hosting, U::Inventory, "/api/v1/hosting/dbms/{}/databases/", "a site's databases", true),
            Self::Sites => row(h, L::Hosting, U::State, "/api/v2/hosting/containers/{}/virtualhosts/", "a container's sites", true),
            Self::CronJobs => row(h, L::Hosting, U::Inventory, "/api/v2/hosting/virtualhosts/{}/cron/", "a site's cron jobs", true),
            Self::Vms => row(v, L::VmList, U::State, "/api/cvds/v1/vms/", "the VMs", false),
            Self::SshKeys => row(v, L::VmOther, U::Inventory, "/api/cvds/v1/ssh-keys/", "the SSH keys", false),
            Self::Ips => row(v, L::VmOther, U::Inventory, "/api/cvds/v1/ips/", "the IP addresses", false),
            Self::ExpectedBalance => row(b, L::Billing, U::State, "/api/v1/expected_balance/{}/", "the expected balance", true),
            Self::Charges => row(b, L::Billing, U::Inventory, "/api/v1/charge/", "the charges", true),
        }
    }

    /// The first operation that a group's credentials are used for.
    pub(super) fn first_of(group: Group) -> Self {
        match group {
            Group::Hosting => Self::Containers,
            Group::Vm => Self::Vms,
            Group::Billing => Self::ExpectedBalance,
        }
    }

    /// The group whose credentials it uses (interface 5).
    pub(crate) fn group(self) -> Group {
        self.row().group
    }
}
