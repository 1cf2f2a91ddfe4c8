//! The account's resources, with the names that section 2 of the interface gives their fields. wire.rs adds the parts
//! that other records hold.

use super::table::Keyed;
use chrono::NaiveDateTime;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A state by name: a documented one, or any text of a control command.
pub(crate) type State = Cow<'static, str>;

/// The state of a VM or a site, and the state that it returns to.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Life {
    pub state: State,
    /// The state that it returns to once the account is paid.
    #[serde(skip)]
    pub unblocked: Option<State>,
    /// The number of changes, so that a transition is dropped if another one came first.
    #[serde(skip)]
    pub epoch: u32,
}

impl From<&'static str> for Life {
    fn from(state: &'static str) -> Life {
        Life { state: state.into(), unblocked: None, epoch: 0 }
    }
}

/// A VM (section 2.5), as the answers to start, stop and reboot show it: its addresses are plain ids.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Vm {
    pub id: u64,
    pub vm_id: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub ncpu: i64,
    pub memsize: i64,
    #[serde(flatten)]
    pub life: Life,
    #[serde(rename = "monitoring_enabled")]
    pub monitoring: bool,
    pub ips: Vec<u64>,
    pub storages: Vec<u64>,
    #[serde(skip)]
    pub ssh_keys: Vec<u64>,
    #[serde(skip)]
    pub order: Option<u64>,
}

/// An IP address (section 2.7).
#[derive(Debug, Clone, Serialize)]
pub struct Ip {
    pub id: u64,
    #[serde(rename = "ipvalue")]
    pub value: String,
    pub vm: u64,
}

/// An SSH key (section 2.6).
#[derive(Debug, Clone, Serialize)]
pub struct Key {
    pub id: u64,
    pub title: String,
    pub pubkey: String,
    pub fingerprint: String,
}

/// The code of a container's state. Section 3.3 has the names, without codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
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
#[derive(Debug, Clone, Default, Serialize)]
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
    #[serde(skip)]
    pub sites: Vec<u64>,
    #[serde(serialize_with = "service")]
    pub memcache: Option<i64>,
    #[serde(serialize_with = "service")]
    pub redis: Option<i64>,
    #[serde(rename = "is_in_transfer")]
    pub in_transfer: bool,
    #[serde(skip)]
    pub order: Option<u64>,
}

impl Container {
    /// A container of the usual size.
    pub fn named(name: String) -> Container {
        Container { name, memory_limit: 1024, quota: 10_240, ..Container::default() }
    }
}

/// memcache and redis of a container. The interface does not show their structure.
fn service<S: Serializer>(memory: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::json!({ "enabled": memory.is_some(), "memory_limit": memory.unwrap_or(0) })
        .serialize(serializer)
}

/// A site (section 2.3).
#[derive(Debug, Clone, Default, Serialize)]
pub struct Site {
    pub id: u64,
    #[serde(skip)]
    pub container: u64,
    pub name: String,
    #[serde(flatten)]
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
    #[serde(skip)]
    pub databases: Vec<u64>,
    #[serde(skip)]
    pub cron_jobs: Vec<u64>,
}

/// A database (section 2.2).
#[derive(Debug, Clone, Serialize)]
pub struct Database {
    pub id: u64,
    #[serde(skip)]
    pub site: u64,
    pub name: String,
    pub charset: String,
    pub created: NaiveDateTime,
    pub updated: NaiveDateTime,
}

/// The fields of a cron job's schedule.
pub const CRON_FIELDS: [&str; 5] = ["minutes", "hours", "days", "months", "weekdays"];

/// A cron job (section 2.4).
#[derive(Debug, Clone, Serialize)]
pub struct CronJob {
    pub id: u64,
    #[serde(rename = "virtualhost_id")]
    pub site: u64,
    pub command: String,
    pub comment: String,
    pub created: NaiveDateTime,
    pub updated: NaiveDateTime,
    #[serde(flatten)]
    pub schedule: BTreeMap<&'static str, String>,
}

macro_rules! keyed {
    ($($kind:ty),*) => { $(impl Keyed for $kind { fn id(&self) -> u64 { self.id } })* };
}
keyed!(Vm, Ip, Key, Container, Site, Database, CronJob);
