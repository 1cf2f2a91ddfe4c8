//! Adds resources to the account and removes them, with the orders that pay for them. The values are validated
//! before.

use super::ledger::{Order, Tariff};
use super::records::{Container, ContainerState, CronJob, Database, Ip, Key, Site, Vm};
use super::{Target, World, tariffs};
use crate::names;
use chrono::NaiveDateTime;
use std::collections::BTreeMap;
use std::sync::Arc;

impl World {
    /// Adds a running VM. Without a name or a disk it gets one. `start` dates its order; `None` makes no order.
    pub fn add_vm(&mut self, new: Vm, start: Option<NaiveDateTime>) -> u64 {
        let id = self.vms.fresh_id();
        let (ncpu, memsize) = tariffs::vm_size(&new.kind);
        let name = if new.name.is_empty() { format!("vm-{id}") } else { new.name };
        let order = start.map(|start| {
            let tariff = self.tariffs.vm(&new.kind);
            self.open_order(&name, tariff, start)
        });
        let mut storages = new.storages;
        if storages.is_empty() {
            storages.push(self.next_storage);
            self.next_storage += 1;
        }
        let vm_id = format!("v{}", names::token(&mut self.rng, 9));
        let life = "active".into();
        self.vms.push(Vm { id, vm_id, name, ncpu, memsize, life, monitoring: true, storages, order, ..new });
        self.add_ip(id, 4);
        id
    }

    /// Adds a VM that is built first: pending, building, active.
    pub fn build_vm(&mut self, new: Vm) -> u64 {
        let now = self.local_now();
        let id = self.add_vm(new, Some(now));
        let (waiting, building) = (self.moment_of_work(), self.moment_of_work());
        self.pass(Target::Vm(id), &[("pending", waiting), ("building", building)], "active");
        id
    }

    pub fn remove_vm(&mut self, id: u64) {
        let Some(vm) = self.vms.remove(id) else { return };
        for ip in &vm.ips {
            self.ips.remove(*ip);
        }
        self.close_order(vm.order);
    }

    pub fn add_ip(&mut self, vm: u64, version: i64) -> u64 {
        let id = self.ips.fresh_id();
        self.ips.push(Ip { id, value: names::address(id, version), vm });
        if let Some(vm) = self.vms.get_mut(vm) {
            vm.ips.push(id);
        }
        id
    }

    pub fn remove_ip(&mut self, id: u64) {
        let Some(ip) = self.ips.remove(id) else { return };
        if let Some(vm) = self.vms.get_mut(ip.vm) {
            vm.ips.retain(|i| *i != id);
        }
    }

    pub fn add_key(&mut self, title: String, pubkey: String) -> u64 {
        let id = self.keys.fresh_id();
        let fingerprint = names::fingerprint(&pubkey);
        self.keys.push(Key { id, title, pubkey, fingerprint })
    }

    pub fn remove_key(&mut self, id: u64) {
        self.keys.remove(id);
        for vm in self.vms.ids() {
            if let Some(vm) = self.vms.get_mut(vm) {
                vm.ssh_keys.retain(|k| *k != id);
            }
        }
    }

    /// Adds a container. `start` dates it and its order, if it has one.
    pub fn add_container(&mut self, new: Container, start: NaiveDateTime, ordered: bool) -> u64 {
        let id = self.containers.fresh_id();
        let order = ordered.then(|| {
            let tariff = self.tariffs.container(new.memory_limit);
            self.open_order(&new.name, tariff, start)
        });
        // A container that is added while the account is cut off is off as well.
        let state = if self.cut_off.is_some() { ContainerState::BY_SERVICE } else { ContainerState::ENABLED };
        self.containers.push(Container {
            id,
            login: format!("c{id}"),
            service_address: format!("h{}.example.net", 1 + id % 40),
            service_ip: format!("203.0.113.{}", 1 + id % 250),
            state,
            created: start,
            updated: start,
            // Creation knows 0 to 3, but reads show 0 and 1 (section 9): only 1 is the old environment.
            environment: i64::from(new.environment == 1),
            order,
            ..new
        })
    }

    pub fn remove_container(&mut self, id: u64) {
        let Some(container) = self.containers.remove(id) else { return };
        for site in &container.sites {
            self.forget_site(*site);
        }
        self.close_order(container.order);
    }

    /// Adds a running site. Empty texts get their usual values.
    pub fn add_site(&mut self, new: Site, database: bool, created: NaiveDateTime) -> u64 {
        let (id, container) = (self.sites.fresh_id(), new.container);
        let version = names::engine_versions(&new.engine).first().copied().unwrap_or_default();
        let or = |text: String, usual: &str| if text.is_empty() { usual.to_owned() } else { text };
        let mut aliases = new.aliases;
        if aliases.is_empty() {
            aliases = vec![new.name.clone(), format!("www.{}", new.name)];
        }
        self.sites.push(Site {
            id,
            life: "Active".into(),
            created,
            updated: created,
            main_alias: or(new.main_alias, &new.name),
            aliases,
            engine_version: or(new.engine_version, version),
            charset: or(new.charset, "utf-8"),
            num_workers: 2,
            cache_static: 7,
            ..new
        });
        if let Some(container) = self.containers.get_mut(container) {
            container.sites.push(id);
        }
        if database {
            self.add_database(id, format!("db{id}"), "utf8mb4".to_owned(), created);
        }
        id
    }

    pub fn remove_site(&mut self, id: u64) {
        let Some(site) = self.forget_site(id) else { return };
        if let Some(container) = self.containers.get_mut(site.container) {
            container.sites.retain(|s| *s != id);
        }
    }

    fn forget_site(&mut self, id: u64) -> Option<Site> {
        let site = self.sites.remove(id)?;
        for database in &site.databases {
            self.databases.remove(*database);
        }
        for job in &site.cron_jobs {
            self.cron_jobs.remove(*job);
        }
        Some(site)
    }

    pub fn add_database(&mut self, site: u64, name: String, charset: String, created: NaiveDateTime) -> u64 {
        let id = self.databases.fresh_id();
        if let Some(site) = self.sites.get_mut(site) {
            site.databases.push(id);
        }
        self.databases.push(Database { id, site, name, charset, created, updated: created })
    }

    pub fn remove_database(&mut self, id: u64) {
        let Some(database) = self.databases.remove(id) else { return };
        if let Some(site) = self.sites.get_mut(database.site) {
            site.databases.retain(|d| *d != id);
        }
    }

    pub fn add_cron_job(
        &mut self,
        site: u64,
        schedule: BTreeMap<&'static str, String>,
        command: String,
        comment: String,
        created: NaiveDateTime,
    ) -> u64 {
        let id = self.cron_jobs.fresh_id();
        if let Some(site) = self.sites.get_mut(site) {
            site.cron_jobs.push(id);
        }
        self.cron_jobs.push(CronJob { id, site, command, comment, created, updated: created, schedule })
    }

    pub fn remove_cron_job(&mut self, id: u64) {
        let Some(job) = self.cron_jobs.remove(id) else { return };
        if let Some(site) = self.sites.get_mut(job.site) {
            site.cron_jobs.retain(|j| *j != id);
        }
    }

    /// Opens an order. Charges before the beginning of this world's history count as made.
    pub fn open_order(&mut self, comment: &str, tariff: Arc<Tariff>, start: NaiveDateTime) -> u64 {
        let id = self.ledger.orders.fresh_id();
        let order = Order {
            id,
            comment: comment.to_owned(),
            tariff,
            start,
            end: None,
            last_charge: None,
            paid_till: None,
            state: "ORDERED".to_owned(),
        };
        let from = self.local_now();
        self.ledger.open(order, from)
    }

    fn close_order(&mut self, order: Option<u64>) {
        let now = self.local_now();
        if let Some(order) = order {
            self.ledger.complete(order, now);
        }
    }
}
