//! Carries out control commands (docs/provider.md, "Control"). control.rs defines them.

use super::records::{ContainerState, Site, State};
use super::{Target, World};
use crate::SimError;
use crate::control::{Command, Which};
use chrono::TimeDelta;
use rust_decimal::Decimal;

impl World {
    /// Carries out a command.
    pub fn obey(&mut self, command: &Command) -> Result<(), SimError> {
        match command {
            Command::SetVm { vm, state } => {
                for id in self.find_vms(vm)? {
                    self.set_state(Target::Vm(id), state);
                }
            }
            Command::SetSite { site, state } => {
                for id in self.find_sites(site)? {
                    self.set_state(Target::Site(id), state);
                }
            }
            Command::SetContainer { container, state, in_transfer } => {
                self.set_container(container, state.as_deref(), *in_transfer)?;
            }
            Command::SetOrder { order, state } => {
                let now = self.local_now();
                if !self.ledger.set_state(*order, state, now) {
                    return Err(SimError::unknown("order", &order.to_string()));
                }
            }
            Command::Pay { amount } => self.set_balance(self.ledger.balance + *amount),
            Command::SetBalance { amount } => self.set_balance(*amount),
            Command::LastDays { days } => self.last_days(*days),
            Command::Fault(fault) => self.faults.on.push(fault.clone()),
            Command::ClearFaults { name } => self.faults.clear(name.as_deref()),
            Command::ReportError { text } => self.report_error = text.clone().filter(|t| !t.is_empty()),
            Command::EndTokens {} => self.tokens.end_all(),
            Command::AddSite { container, name, engine } => {
                let new = Site { name: name.clone(), engine: engine.clone(), ..Site::default() };
                self.add_new_site(container, new)?;
            }
            Command::RemoveVm { vm } => self.find_vms(vm)?.into_iter().for_each(|id| self.remove_vm(id)),
            Command::RemoveSite { site } => {
                self.find_sites(site)?.into_iter().for_each(|id| self.remove_site(id));
            }
            Command::RemoveContainer { container } => {
                self.find_containers(container)?.into_iter().for_each(|id| self.remove_container(id));
            }
        }
        Ok(())
    }

    fn add_new_site(&mut self, container: &Which, new: Site) -> Result<(), SimError> {
        let container = self.find_containers(container)?[0];
        let now = self.local_now();
        let id = self.add_site(Site { container, ..new }, false, now);
        self.build_site(id);
        Ok(())
    }

    fn set_container(
        &mut self,
        container: &Which,
        state: Option<&str>,
        in_transfer: Option<bool>,
    ) -> Result<(), SimError> {
        let state = state.map(|text| {
            ContainerState::parse(text).ok_or_else(|| SimError::unknown("container state", text))
        });
        let state = state.transpose()?;
        for id in self.find_containers(container)? {
            self.touch_container(id);
            if let Some(c) = self.containers.get_mut(id) {
                c.state = state.unwrap_or(c.state);
                c.in_transfer = in_transfer.unwrap_or(c.in_transfer);
            }
        }
        Ok(())
    }

    fn set_state(&mut self, target: Target, state: &str) {
        let now = self.local_now();
        if let Some(life) = self.life(target) {
            life.unblocked = None;
        }
        if let Target::Site(id) = target
            && let Some(site) = self.sites.get_mut(id)
        {
            site.updated = now;
        }
        self.enter(target, State::Owned(state.to_owned()));
    }

    /// Sets the balance, and lets the account react.
    pub fn set_balance(&mut self, mut amount: Decimal) {
        amount.rescale(2);
        self.ledger.balance = amount;
        self.settle();
    }

    /// Sets the balance so that it covers every charge of the next `days` days and no charge after them.
    pub fn last_days(&mut self, days: u32) {
        let until = self.local_now() + TimeDelta::days(i64::from(days));
        self.set_balance(self.ledger.due_until(until) + Decimal::new(1, 2));
    }

    fn find_vms(&self, which: &Which) -> Result<Vec<u64>, SimError> {
        let rows = self.vms.rows().iter();
        pick("vm", which, rows.map(|vm| (vm.id, vm.name.as_str(), vm.vm_id.as_str())))
    }

    fn find_sites(&self, which: &Which) -> Result<Vec<u64>, SimError> {
        pick("site", which, self.sites.rows().iter().map(|s| (s.id, s.name.as_str(), "")))
    }

    fn find_containers(&self, which: &Which) -> Result<Vec<u64>, SimError> {
        let rows = self.containers.rows().iter();
        pick("container", which, rows.map(|c| (c.id, c.name.as_str(), c.login.as_str())))
    }
}

/// The rows that an id, a name or "*" means; at least one.
fn pick<'a>(
    what: &'static str,
    Which(name): &Which,
    rows: impl Iterator<Item = (u64, &'a str, &'a str)>,
) -> Result<Vec<u64>, SimError> {
    let is_meant = |(id, own, other): &(u64, &str, &str)| {
        let is_named = name == own || (!other.is_empty() && name == other);
        name == "*" || is_named || name.parse() == Ok(*id)
    };
    let found: Vec<u64> = rows.filter(is_meant).map(|row| row.0).collect();
    if found.is_empty() { Err(SimError::unknown(what, name)) } else { Ok(found) }
}
