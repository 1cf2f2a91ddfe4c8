//! What the provider has, as immutable values. No I/O, no clock, no format of the wire.

pub mod account;
pub mod billing;
pub mod changes;
pub mod forecast;
pub mod freshness;
pub mod ids;
pub mod moments;
pub mod money;
pub mod nearest;
pub mod pattern;
pub mod pay_by;
pub mod resources;
pub mod sanitize;
pub mod self_hosted;
pub mod snapshot;
pub mod states;
pub mod time;

pub use account::{KnownAccount, Observed, Seen, Shown};
pub use billing::{Charge, Edd, Order, Report, Tariff};
pub use ids::{AccountName, ContainerId, CronJobId, DatabaseId, IpId, OrderId, SiteId, SshKeyId, VmId};
pub use moments::{ChargeMoment, Moments};
pub use money::Money;
pub use pay_by::PayBy;
pub use resources::{Container, CronJob, Database, Ip, Resource, Site, SshKey, Vm, VmIp};
pub use self_hosted::{OwnVm, lives_on};
pub use snapshot::{
    AccountState, Collector, CollectorStatus, Failure, FailureKind, Group, Listing, PollEnd, Profile, Read,
    Rows, Snapshot, Tally,
};
pub use states::{ContainerState, OrderState, SiteState, VmState};
