//! What the interface's writing operations do to VMs and sites over time (section 3; "next state" is mostly not
//! shown, so docs/provider.md says what was chosen). Refusals for a wrong state carry the state.

use super::{Target, World, tariffs};
use crate::sim::answer::Refusal;

impl World {
    /// Start (section 4.5): only from stopped, through pending to active.
    pub fn start_vm(&mut self, id: u64) -> Result<(), Refusal> {
        self.expect_vm(id, "stopped")?;
        let time = self.moment_of_work();
        self.pass(Target::Vm(id), &[("pending", time)], "active");
        Ok(())
    }

    /// Stop (section 4.5): only from active, through pending to stopped.
    pub fn stop_vm(&mut self, id: u64) -> Result<(), Refusal> {
        self.expect_vm(id, "active")?;
        let time = self.moment_of_work();
        self.pass(Target::Vm(id), &[("pending", time)], "stopped");
        Ok(())
    }

    /// Soft or hard reboot (section 4.5): only what runs can be rebooted.
    pub fn reboot_vm(&mut self, id: u64) -> Result<(), Refusal> {
        self.expect_vm(id, "active")?;
        let time = self.moment_of_work();
        self.pass(Target::Vm(id), &[("pending", time)], "active");
        Ok(())
    }

    fn expect_vm(&self, id: u64, state: &str) -> Result<(), Refusal> {
        let vm = self.vms.get(id).ok_or_else(|| Refusal::not_found("vm"))?;
        if vm.state == state {
            return Ok(());
        }
        Err(Refusal::new(400, "state", format!("is {}, must be {state}", vm.state)))
    }

    /// Another tariff: size and order follow it (section 4.5, Change).
    pub fn retariff_vm(&mut self, id: u64, kind: String) {
        let now = self.local_now();
        let tariff = self.tariffs.vm(&kind);
        let Some(vm) = self.vms.get_mut(id).filter(|vm| vm.kind != kind) else { return };
        (vm.ncpu, vm.memsize) = tariffs::vm_size(&kind);
        vm.kind = kind;
        let (name, old) = (vm.name.clone(), vm.order);
        if let Some(old) = old {
            self.ledger.complete(old, now);
            let order = self.open_order(&name, tariff, now);
            if let Some(vm) = self.vms.get_mut(id) {
                vm.order = Some(order);
            }
        }
    }

    /// A site that is new: Building, then Active.
    pub fn build_site(&mut self, id: u64) {
        let time = self.moment_of_work();
        self.pass(Target::Site(id), &[("Building", time)], "Active");
    }

    /// A change of a site that takes a while: through `state`, back to where it was. A site that is off stays
    /// off, except that a restart starts a stopped one.
    pub fn work_on_site(&mut self, id: u64, state: &'static str) {
        let now = self.local_now();
        let time = self.moment_of_work();
        let Some(site) = self.sites.get_mut(id) else { return };
        site.updated = now;
        match (site.state.as_ref(), state) {
            ("Stopped", "Restarting") => self.pass(Target::Site(id), &[("Starting", time)], "Active"),
            ("Stopped", "Updating") => self.pass(Target::Site(id), &[("Updating", time)], "Stopped"),
            (
                "Error" | "StoppedByAdmin" | "StoppedByService" | "StoppedByQuota" | "Stopped" | "Stopping",
                _,
            ) => {}
            _ => self.pass(Target::Site(id), &[(state, time)], "Active"),
        }
    }

    /// A container changed just now.
    pub fn touch_container(&mut self, id: u64) {
        let now = self.local_now();
        if let Some(container) = self.containers.get_mut(id) {
            container.updated = now;
        }
    }
}
