//! What an unpaid account looks like and how it comes back (states of section 3; their transitions are not shown).
//! Judges the balance; never changes it.

use super::records::{ContainerState, State};
use super::{Target, World};
use rust_decimal::Decimal;

impl World {
    /// Cuts the account off or brings it back, as the balance says.
    pub fn settle(&mut self) {
        let unpaid = self.ledger.balance <= Decimal::ZERO;
        match (unpaid, self.cut_off) {
            (true, None) => {
                self.cut_off = Some(self.local_now());
                self.switch_off();
            }
            (false, Some(_)) => {
                self.cut_off = None;
                self.switch_on();
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn switch_off(&mut self) {
        for id in self.vms.ids() {
            self.block(Target::Vm(id));
        }
        for id in self.sites.ids() {
            self.block(Target::Site(id));
        }
        let now = self.local_now();
        for id in self.containers.ids() {
            if let Some(c) = self.containers.get_mut(id).filter(|c| c.state == ContainerState::Enabled) {
                c.state = ContainerState::ByService;
                c.updated = now;
            }
        }
    }

    fn switch_on(&mut self) {
        let now = self.local_now();
        for id in self.containers.ids() {
            if let Some(c) = self.containers.get_mut(id).filter(|c| c.state == ContainerState::ByService) {
                c.state = ContainerState::Enabled;
                c.updated = now;
            }
        }
        for id in self.vms.ids() {
            let Some(back) = self.vms.get_mut(id).and_then(|vm| vm.unblocked.take()) else { continue };
            let time = self.moment_of_work();
            match back.as_ref() {
                "active" => self.pass(Target::Vm(id), &[("pending", time)], back),
                _ => drop(self.enter(Target::Vm(id), back)),
            }
        }
        for id in self.sites.ids() {
            let Some(back) = self.sites.get_mut(id).and_then(|s| s.unblocked.take()) else { continue };
            let time = self.moment_of_work();
            match back.as_ref() {
                "Active" => self.pass(Target::Site(id), &[("Starting", time)], back),
                _ => drop(self.enter(Target::Site(id), back)),
            }
        }
    }

    /// Blocks one thing for non-payment, noting what to go back to. What is off for another reason stays so.
    pub(super) fn block(&mut self, target: Target) {
        match target {
            Target::Vm(id) => {
                let Some(vm) = self.vms.get_mut(id) else { return };
                let back: State = match vm.state.as_ref() {
                    "active" | "pending" | "building" => "active".into(),
                    "stopped" => "stopped".into(),
                    _ => return,
                };
                vm.unblocked = Some(back);
                self.enter(target, "blocked");
            }
            Target::Site(id) => {
                let Some(site) = self.sites.get_mut(id) else { return };
                let back: State = match site.state.as_ref() {
                    "Stopped" | "Stopping" | "StoppedByAdmin" | "StoppedByQuota" | "StoppedByService"
                    | "Error" => return,
                    _ => "Active".into(),
                };
                site.unblocked = Some(back);
                self.enter(target, "StoppedByService");
            }
        }
    }
}
