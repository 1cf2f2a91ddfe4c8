//! What the provider has, as immutable values. No I/O, no clock, no format of the wire.

pub mod billing;
pub mod book;
pub mod changes;
pub mod forecast;
pub mod home;
pub mod ids;
pub mod moments;
pub mod money;
pub mod nearest;
pub mod pattern;
pub mod pay_by;
pub mod phrase;
pub mod resources;
pub mod snapshot;
pub mod states;
pub mod time;

pub use billing::{Charge, ChargeMoment, Edd, Order, Period, Report, Tariff};
pub use book::{AccountBook, Observed, Seen, Shown};
pub use home::{Home, lives_on};
pub use ids::{
    AccountName, ContainerId, CronJobId, DatabaseId, IpId, OrderId, SiteId, SshKeyId, TariffId, VmId,
};
pub use moments::Moments;
pub use money::Money;
pub use pay_by::PayBy;
pub use resources::{Container, CronJob, Database, Ip, Resource, Site, SshKey, Vm, VmIp};
pub use snapshot::{
    AccountState, Billing, Charges, Collector, CollectorStatus, Failure, FailureKind, Group, Listing,
    PollEnd, Profile, Read, Rows, Snapshot, Tally,
};
pub use states::{ContainerState, OrderState, SiteState, VmState};
