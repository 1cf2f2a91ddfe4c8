//! The account's resources as the simulator keeps them. wire.rs has their wire form.

use super::table::Keyed;
use chrono::NaiveDateTime;
use std::borrow::Cow;

/// A state by name: a documented one, or any text of a control command.
pub(crate) type State = Cow<'static, str>;

/// The state of a VM or a site, and the state that it returns to.
#[derive(Debug, Clone)]
pub struct Life {
    pub state: State,
    /// The state that it returns to once the account is paid.
    pub unblocked: Option<State>,
    /// The number of changes, so that a transition is dropped if another one came first.
    pub epoch: u32,
}

impl From<&'static str> for Life {
    fn from(state: &'static str) -> Life {
        Life { state: state.into(), unblocked: None, epoch: 0 }
    }
}

/// A VM (section 2.5).
#[derive(Debug, Clone)]
pub struct Vm {
    pub id: u64,
    pub vm_id: String,
    pub name: String,
    pub kind: String,
    pub ncpu: i64,
    pub memsize: i64,
    pub life: Life,
    pub monitoring: bool,
    pub ips: Vec<u64>,
    pub storages: Vec<u64>,
    pub ssh_keys: Vec<u64>,
    pub order: Option<u64>,
}

/// An IP address (section 2.7).
#[derive(Debug, Clone)]
pub struct Ip {
    pub id: u64,
    pub value: String,
    pub vm: u64,
}

/// An SSH key (section 2.6).
#[derive(Debug, Clone)]
pub struct Key {
    pub id: u64,
    pub title: String,
    pub pubkey: String,
    pub fingerprint: String,
}

/// The code of a container's state. Section 3.3 has the names, without codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerState(pub i64);

impl ContainerState {
    pub const ENABLED: ContainerState = ContainerState(0);
    pub const BY_SERVICE: ContainerState = ContainerState(1);

    /// A state by its documented name, or by number.
    pub fn parse(text: &str) -> Option<ContainerState> {
        match text {
            "ENABLED" => Some(ContainerState::ENABLED),
            "DISABLED_BY_SERVICE" => Some(ContainerState::BY_SERVICE),
            "DISABLED_BY_ADMIN" => Some(ContainerState(2)),
            "DISABLED_BY_QUOTA" => Some(ContainerState(3)),
            _ => text.parse().ok().map(ContainerState),
        }
    }
}

/// A container (section 2.1).
#[derive(Debug, Clone)]
pub struct Container {
    pub id: u64,
    pub login: String,
    pub name: String,
    pub service_address: String,
    pub service_ip: String,
    pub memory_limit: i64,
    pub quota: i64,
    pub state: ContainerState,
    pub created: NaiveDateTime,
    pub updated: NaiveDateTime,
    pub environment: i64,
    pub sites: Vec<u64>,
    pub memcache: Option<i64>,
    pub redis: Option<i64>,
    pub in_transfer: bool,
    pub order: Option<u64>,
}

/// A site (section 2.3).
#[derive(Debug, Clone)]
pub struct Site {
    pub id: u64,
    pub container: u64,
    pub name: String,
    pub life: Life,
    pub created: NaiveDateTime,
    pub updated: NaiveDateTime,
    pub force_https: bool,
    pub certificate_id: i64,
    pub main_alias: String,
    pub aliases: Vec<String>,
    pub engine: String,
    pub engine_version: String,
    pub engine_directives: Vec<String>,
    pub charset: String,
    pub cron_mail: String,
    pub num_workers: i64,
    pub cache_static: i64,
    pub comment: String,
    pub databases: Vec<u64>,
    pub cron_jobs: Vec<u64>,
}

/// A database (section 2.2).
#[derive(Debug, Clone)]
pub struct Database {
    pub id: u64,
    pub site: u64,
    pub name: String,
    pub charset: String,
    pub created: NaiveDateTime,
    pub updated: NaiveDateTime,
}

/// A cron job (section 2.4).
#[derive(Debug, Clone)]
pub struct CronJob {
    pub id: u64,
    pub site: u64,
    pub command: String,
    pub comment: String,
    pub created: NaiveDateTime,
    pub updated: NaiveDateTime,
    /// minutes, hours, days, months, weekdays
    pub schedule: [String; 5],
}

macro_rules! keyed {
    ($($kind:ty),*) => { $(impl Keyed for $kind { fn id(&self) -> u64 { self.id } })* };
}
keyed!(Vm, Ip, Key, Container, Site, Database, CronJob);
