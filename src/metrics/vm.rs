//! VMs (interface 2.5) as metrics.

use chrono::{DateTime, Utc};

use super::encoder::{Completed, Sink};
use super::text::{Label, Value};
use super::{Settings, family::Family, states, table};
use crate::model::freshness::is_fresh;
use crate::model::{AccountState, Collector, Vm, VmState};

pub(super) fn encode(
    state: &AccountState,
    completed: &Completed,
    settings: &Settings,
    now: DateTime<Utc>,
    sink: &mut Sink<'_>,
) {
    if !is_fresh(&state.profile, Collector::Vms, state.vms.read_at, now) {
        return;
    }
    let vms = state.vms.rows.as_slice();
    let known = || VmState::KNOWN.iter().map(VmState::as_str);
    sink.family(&table::VM_INFO, |lines| {
        for vm in vms {
            let labels = [
                Label::Id(vm.id.get()),
                Label::maybe(vm.vm_id.as_deref()),
                Label::maybe(vm.name.as_deref()),
                Label::maybe(vm.tariff.as_deref()),
            ];
            lines.put(&labels, true);
        }
    });
    sink.family(&table::VM_STATE, |lines| {
        for vm in vms {
            states::state(lines, vm.id.get(), vm.state.as_str(), known(), settings);
        }
    });
    let unit = state.profile.vm_memory_unit_bytes;
    each(sink, &table::VM_CPUS, vms, |vm| vm.ncpu);
    each(sink, &table::VM_MEMORY, vms, |vm| vm.memsize?.checked_mul(unit?));
    each(sink, &table::VM_MONITORING, vms, |vm| vm.monitoring_enabled);
    each(sink, &table::VM_DISKS, vms, |vm| vm.disks.map(u64::from));
    each(sink, &table::VM_IPS, vms, |vm| vm.ips.as_ref().map(|ips| ips.len() as u64));
    if completed.listings.contains(&Collector::Vms) {
        let current = vms.iter().map(|vm| vm.state.as_str());
        sink.family(&table::VMS_COUNT, |lines| states::count(lines, known(), current));
    }
}

fn each<V: Value>(
    sink: &mut Sink<'_>,
    family: &'static Family,
    vms: &[Vm],
    value: impl Fn(&Vm) -> Option<V>,
) {
    sink.family(family, |lines| {
        for vm in vms {
            lines.maybe(&[Label::Id(vm.id.get())], value(vm));
        }
    });
}
