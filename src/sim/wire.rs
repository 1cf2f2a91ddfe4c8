//! Records as they go over the wire, field by field as in section 2 of the interface. Shows; decides nothing.

use super::options::Args;
use super::time::{DatetimeFormat, stamp};
use super::world::World;
use super::world::ledger::{Charge, Order};
use super::world::period::Period;
use super::world::records::{Container, CronJob, Database, Ip, Key, Site, Vm};
use chrono::NaiveDateTime;
use chrono_tz::Tz;
use serde::Serialize;

/// Renders records of one world with one set of switches.
#[derive(Clone, Copy)]
pub(super) struct Wire<'a> {
    pub world: &'a World,
    pub args: &'a Args,
}

/// `{"id", "name"}`: items of `virtualhosts` (structure not shown).
#[derive(Serialize)]
struct Named<'a> {
    id: u64,
    name: &'a str,
}

/// memcache and redis of a container (structure not shown).
#[derive(Serialize)]
struct Service {
    enabled: bool,
    memory_limit: i64,
}

impl Service {
    fn of(memory: Option<i64>) -> Service {
        Service { enabled: memory.is_some(), memory_limit: memory.unwrap_or(0) }
    }
}

/// Section 2.1.
#[derive(Serialize)]
pub(super) struct ContainerOut<'a> {
    id: u64,
    login: &'a str,
    name: &'a str,
    service_address: &'a str,
    service_ip: &'a str,
    memory_limit: i64,
    quota: i64,
    state: i64,
    created: String,
    updated: String,
    environment: i64,
    virtualhosts: Vec<Named<'a>>,
    memcache: Service,
    redis: Service,
    is_in_transfer: bool,
}

/// The container inside a site (structure not shown).
#[derive(Serialize)]
struct Nested<'a> {
    id: u64,
    login: &'a str,
    name: &'a str,
    service_address: &'a str,
}

/// Section 2.3.
#[derive(Serialize)]
pub(super) struct SiteOut<'a> {
    id: u64,
    name: &'a str,
    state: &'a str,
    created: String,
    updated: String,
    force_https: bool,
    certificate_id: i64,
    main_alias: &'a str,
    aliases: &'a [String],
    engine: &'a str,
    engine_version: &'a str,
    engine_directives: &'a [String],
    charset: &'a str,
    cron_mail: &'a str,
    environment_variables: &'a [String],
    read_only_environment_variables: &'a [String],
    num_workers: i64,
    cache_static: i64,
    comment: &'a str,
    container: Option<Nested<'a>>,
}

/// Section 2.2.
#[derive(Serialize)]
pub(super) struct DatabaseOut<'a> {
    id: u64,
    name: &'a str,
    charset: &'a str,
    created: String,
    updated: String,
}

/// Section 2.4.
#[derive(Serialize)]
pub(super) struct CronOut<'a> {
    id: u64,
    command: &'a str,
    comment: &'a str,
    created: String,
    updated: String,
    virtualhost_id: u64,
    minutes: &'a str,
    hours: &'a str,
    days: &'a str,
    months: &'a str,
    weekdays: &'a str,
}

/// An address within a VM: an object in reads, a plain id in start, stop and reboot answers (section 2.5).
#[derive(Serialize)]
#[serde(untagged)]
enum IpOfVm<'a> {
    Whole { id: u64, ipvalue: &'a str },
    Id(u64),
}

/// Section 2.5.
#[derive(Serialize)]
pub(super) struct VmOut<'a> {
    id: u64,
    vm_id: &'a str,
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    ncpu: i64,
    memsize: i64,
    state: &'a str,
    monitoring_enabled: bool,
    ips: Vec<IpOfVm<'a>>,
    storages: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    ssh_keys: Option<&'a [u64]>,
}

/// Section 2.6.
#[derive(Serialize)]
pub(super) struct KeyOut<'a> {
    id: u64,
    title: &'a str,
    pubkey: &'a str,
    fingerprint: &'a str,
}

/// Section 2.7.
#[derive(Serialize)]
pub(super) struct IpOut<'a> {
    id: u64,
    ipvalue: &'a str,
    vm: u64,
}

/// Section 2.9.
#[derive(Serialize)]
pub(super) struct ChargeOut<'a> {
    description: &'a str,
    event_date: String,
    price: String,
    quantity: String,
    total: String,
    resource_uri: String,
}

#[derive(Serialize)]
struct TariffOut<'a> {
    id: u64,
    amount: String,
    billing_period: Period,
    charge_period: Period,
    generic_type: Option<&'a str>,
    independent: bool,
    name: &'a str,
    short_name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
}

/// Section 2.8, Order.
#[derive(Serialize)]
pub(super) struct OrderOut<'a> {
    id: u64,
    comment: &'a str,
    last_charge_date: Option<String>,
    paid_till: Option<String>,
    start_date: String,
    end_date: Option<String>,
    state: &'a str,
    tariff: TariffOut<'a>,
}

impl<'a> OrderOut<'a> {
    pub(super) fn new(order: &'a Order, zone: Tz, format: DatetimeFormat) -> OrderOut<'a> {
        let date = |at: NaiveDateTime| stamp(at, zone, format);
        let tariff = &order.tariff;
        OrderOut {
            id: order.id,
            comment: &order.comment,
            last_charge_date: order.last_charge.map(date),
            paid_till: order.paid_till.map(date),
            start_date: date(order.start),
            end_date: order.end.map(date),
            state: &order.state,
            tariff: TariffOut {
                id: tariff.id,
                amount: format!("{:.2}", tariff.amount),
                billing_period: tariff.billing,
                charge_period: tariff.charge,
                generic_type: tariff.generic_type.as_deref(),
                independent: tariff.independent,
                name: &tariff.name,
                short_name: &tariff.short_name,
                kind: &tariff.kind,
            },
        }
    }
}

impl<'a> Wire<'a> {
    fn date(&self, at: NaiveDateTime) -> String {
        stamp(at, self.world.zone, self.args.datetime_format)
    }

    pub(super) fn container(&self, c: &'a Container) -> ContainerOut<'a> {
        let sites = &self.world.sites;
        ContainerOut {
            id: c.id,
            login: &c.login,
            name: &c.name,
            service_address: &c.service_address,
            service_ip: &c.service_ip,
            memory_limit: c.memory_limit,
            quota: c.quota,
            state: c.state.code(&self.args.container_state_codes),
            created: self.date(c.created),
            updated: self.date(c.updated),
            environment: c.environment,
            virtualhosts: c
                .sites
                .iter()
                .filter_map(|id| sites.get(*id))
                .map(|s| Named { id: s.id, name: &s.name })
                .collect(),
            memcache: Service::of(c.memcache),
            redis: Service::of(c.redis),
            is_in_transfer: c.in_transfer,
        }
    }

    pub(super) fn site(&self, s: &'a Site) -> SiteOut<'a> {
        SiteOut {
            id: s.id,
            name: &s.name,
            state: &s.state,
            created: self.date(s.created),
            updated: self.date(s.updated),
            force_https: s.force_https,
            certificate_id: s.certificate_id,
            main_alias: &s.main_alias,
            aliases: &s.aliases,
            engine: &s.engine,
            engine_version: &s.engine_version,
            engine_directives: &s.engine_directives,
            charset: &s.charset,
            cron_mail: &s.cron_mail,
            environment_variables: &s.environment_variables,
            read_only_environment_variables: &s.read_only_environment_variables,
            num_workers: s.num_workers,
            cache_static: s.cache_static,
            comment: &s.comment,
            container: self.world.containers.get(s.container).map(|c| Nested {
                id: c.id,
                login: &c.login,
                name: &c.name,
                service_address: &c.service_address,
            }),
        }
    }

    pub(super) fn database(&self, d: &'a Database) -> DatabaseOut<'a> {
        DatabaseOut {
            id: d.id,
            name: &d.name,
            charset: &d.charset,
            created: self.date(d.created),
            updated: self.date(d.updated),
        }
    }

    pub(super) fn cron(&self, j: &'a CronJob) -> CronOut<'a> {
        let [minutes, hours, days, months, weekdays] = &j.schedule;
        CronOut {
            id: j.id,
            command: &j.command,
            comment: &j.comment,
            created: self.date(j.created),
            updated: self.date(j.updated),
            virtualhost_id: j.site,
            minutes,
            hours,
            days,
            months,
            weekdays,
        }
    }

    /// A VM as list and read show it.
    pub(super) fn vm(&self, vm: &'a Vm) -> VmOut<'a> {
        let whole =
            |id: &u64| self.world.ips.get(*id).map(|ip| IpOfVm::Whole { id: ip.id, ipvalue: &ip.value });
        VmOut {
            ips: vm.ips.iter().filter_map(whole).collect(),
            ssh_keys: Some(&vm.ssh_keys),
            ..self.vm_after_action(vm)
        }
    }

    /// A VM as start, stop and reboot show it.
    pub(super) fn vm_after_action(&self, vm: &'a Vm) -> VmOut<'a> {
        VmOut {
            id: vm.id,
            vm_id: &vm.vm_id,
            name: &vm.name,
            kind: &vm.kind,
            ncpu: vm.ncpu,
            memsize: vm.memsize,
            state: &vm.state,
            monitoring_enabled: vm.monitoring,
            ips: vm.ips.iter().copied().map(IpOfVm::Id).collect(),
            storages: &vm.storages,
            ssh_keys: None,
        }
    }

    pub(super) fn key(&self, k: &'a Key) -> KeyOut<'a> {
        KeyOut { id: k.id, title: &k.title, pubkey: &k.pubkey, fingerprint: &k.fingerprint }
    }

    pub(super) fn ip(&self, ip: &'a Ip) -> IpOut<'a> {
        IpOut { id: ip.id, ipvalue: &ip.value, vm: ip.vm }
    }

    pub(super) fn charge(&self, c: &'a Charge) -> ChargeOut<'a> {
        ChargeOut {
            description: &c.description,
            event_date: c.at.date().to_string(),
            price: format!("{:.2}", c.price),
            quantity: format!("{}.00", c.quantity),
            total: format!("{:.2}", c.total()),
            resource_uri: format!("/api/v1/charge/{}/", c.id),
        }
    }
}
