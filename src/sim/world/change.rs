//! The effects of the interface's writing operations on VMs and sites over time (section 3). The "next state"
//! is mostly not shown; docs/provider.md has the choices. A refusal for a wrong state names the state.

use super::{Target, World, tariffs};
use crate::answer::Refusal;

impl World {
    /// Start, stop and reboot (section 4.5): allowed in one state, through pending to another.
    pub fn act_on_vm(&mut self, id: u64, from: &str, to: &'static str) -> Result<(), Refusal> {
        let vm = self.vms.get(id).ok_or_else(|| Refusal::not_found("vm"))?;
        if vm.life.state != from {
            return Err(Refusal::new(400, "state", format!("is {}, must be {from}", vm.life.state)));
        }
        let time = self.moment_of_work();
        self.pass(Target::Vm(id), &[("pending", time)], to);
        Ok(())
    }

    /// Sets another tariff. Size and order follow it (section 4.5, Change).
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

    /// Builds a new site: Building, then Active.
    pub fn build_site(&mut self, id: u64) {
        let time = self.moment_of_work();
        self.pass(Target::Site(id), &[("Building", time)], "Active");
    }

    /// Makes a change of a site that takes a while: through `state`, and back to the state before. A site that
    /// is off stays off, except that a restart starts a stopped one.
    pub fn work_on_site(&mut self, id: u64, state: &'static str) {
        let now = self.local_now();
        let time = self.moment_of_work();
        let Some(site) = self.sites.get_mut(id) else { return };
        site.updated = now;
        match (site.life.state.as_ref(), state) {
            ("Stopped", "Restarting") => self.pass(Target::Site(id), &[("Starting", time)], "Active"),
            ("Stopped", "Updating") => self.pass(Target::Site(id), &[("Updating", time)], "Stopped"),
            (
                "Error" | "StoppedByAdmin" | "StoppedByService" | "StoppedByQuota" | "Stopped" | "Stopping",
                _,
            ) => {}
            _ => self.pass(Target::Site(id), &[(state, time)], "Active"),
        }
    }

    /// Notes that a container changed now.
    pub fn touch_container(&mut self, id: u64) {
        let now = self.local_now();
        if let Some(container) = self.containers.get_mut(id) {
            container.updated = now;
        }
    }
}
