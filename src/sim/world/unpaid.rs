//! The states of an unpaid account, and its way back (states of section 3; their transitions are not shown). It
//! judges the balance and never changes it.

use super::records::ContainerState;
use super::{Target, World};
use rust_decimal::Decimal;

impl World {
    /// Cuts the account off or brings it back, following the balance.
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

    fn targets(&self) -> Vec<Target> {
        let vms = self.vms.ids().into_iter().map(Target::Vm);
        vms.chain(self.sites.ids().into_iter().map(Target::Site)).collect()
    }

    fn switch_off(&mut self) {
        for target in self.targets() {
            self.block(target);
        }
        self.switch_containers(ContainerState::ENABLED, ContainerState::BY_SERVICE);
    }

    fn switch_on(&mut self) {
        self.switch_containers(ContainerState::BY_SERVICE, ContainerState::ENABLED);
        for target in self.targets() {
            let Some(back) = self.life(target).and_then(|life| life.unblocked.take()) else { continue };
            let time = self.moment_of_work();
            match back.as_ref() {
                "active" => self.pass(target, &[("pending", time)], back),
                "Active" => self.pass(target, &[("Starting", time)], back),
                _ => drop(self.enter(target, back)),
            }
        }
    }

    fn switch_containers(&mut self, from: ContainerState, to: ContainerState) {
        let now = self.local_now();
        for id in self.containers.ids() {
            if let Some(c) = self.containers.get_mut(id).filter(|c| c.state == from) {
                c.state = to;
                c.updated = now;
            }
        }
    }

    /// Blocks one resource for non-payment, and notes the state to return to. A resource that is off for
    /// another reason stays so.
    pub(super) fn block(&mut self, target: Target) {
        let Some(life) = self.life(target) else { return };
        let (back, blocked) = match (target, life.state.as_ref()) {
            (Target::Vm(_), "active" | "pending" | "building") => ("active", "blocked"),
            (Target::Vm(_), "stopped") => ("stopped", "blocked"),
            (Target::Vm(_), _) => return,
            (
                Target::Site(_),
                "Stopped" | "Stopping" | "StoppedByAdmin" | "StoppedByQuota" | "StoppedByService" | "Error",
            ) => return,
            (Target::Site(_), _) => ("Active", "StoppedByService"),
        };
        life.unblocked = Some(back.into());
        self.enter(target, blocked);
    }
}
