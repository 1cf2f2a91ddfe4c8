//! The provider's resources and reports as immutable values. No I/O, no clock, no wire format.

pub(crate) mod account;
mod as_text;
pub(crate) mod billing;
pub(crate) mod changes;
mod charge_moment;
mod duration;
pub(crate) mod forecast;
pub(crate) mod freshness;
pub(crate) mod hide;
pub(crate) mod ids;
mod incident_series;
pub(crate) mod language;
mod last_report;
pub(crate) mod mails;
pub(crate) mod moments;
pub(crate) mod money;
pub(crate) mod nearest;
pub(crate) mod pattern;
pub(crate) mod pay_by;
mod reports;
pub(crate) mod resources;
pub(crate) mod sanitize;
pub(crate) mod self_hosted;
pub(crate) mod snapshot;
mod sort;
pub(crate) mod states;
pub(crate) mod time;
mod via;
pub(crate) mod when;

pub(crate) use account::{KnownAccount, Observed, Seen};
pub(crate) use as_text::serde_as_text;
pub(crate) use billing::{Charge, Edd, Order, Report, Tariff};
pub(crate) use charge_moment::ChargeMoment;
pub(crate) use duration::duration;
pub(crate) use ids::{AccountName, ContainerId, IpId, OrderId, SiteId, VmId};
pub(crate) use incident_series::{AccountIncidents, IncidentSeries};
pub(crate) use language::{Language, Noun, say};
pub(crate) use last_report::LastReport;
pub(crate) use moments::Moments;
pub(crate) use money::Money;
pub(crate) use pay_by::PayBy;
pub(crate) use reports::{Believed, Dateless};
pub(crate) use resources::{Container, Counted, Ip, Resource, Site, Vm, VmIp};
pub(crate) use self_hosted::{OwnVm, lives_on, site_of};
pub(crate) use snapshot::{
    AccountState, Collector, CollectorStatus, Failure, FailureKind, Group, Guide, Listing, PollEnd, Profile,
    Read, Rows, Snapshot, account_of, zone_of,
};
pub(crate) use sort::{Health, SeenResource, Sort, Stated};
pub(crate) use states::{ContainerState, OrderState, SiteState, VmState};
pub(crate) use via::Via;

/// The prefix of a webhook's name in a recipient. A recipient without a prefix is a mail address.
pub(crate) const WEBHOOK: &str = "webhook:";
/// The prefix of a Telegram chat.
pub(crate) const TELEGRAM: &str = "telegram:";
