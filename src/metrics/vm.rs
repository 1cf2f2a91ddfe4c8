//! VMs (interface 2.5) as metrics.

use super::family::{Family, facts};
use super::given::Given;
use super::states;
use super::text::Label;
use crate::model::{Collector, Vm, VmState};

pub(super) const FAMILIES: &[Family] = facts! {
    Of(Vms) "hosting_vm_info" ["vm", "vm_id", "name", "tariff"]
        "Descriptions of the VM with this numeric id, always 1."
        => |given, lines| lines.info(vms(given), |vm| [
            Label::Id(vm.id.get()),
            Label::maybe(vm.vm_id.as_deref()),
            Label::maybe(vm.name.as_deref()),
            Label::maybe(vm.tariff.as_deref()),
        ]);
    Of(Vms) "hosting_vm_state" ["vm", "state"] "State of the VM, 1 on the current one."
        => |given, lines| {
            let states = vms(given).map(|vm| (vm.id.get(), vm.state.as_str()));
            states::each(lines, states, VmState::known_names, given.state_series);
        };
    Of(Vms) "hosting_vm_cpus" ["vm"] "CPUs of the VM." => |given, lines| lines.each(vms(given), |vm| vm.ncpu);
    Of(Vms) "hosting_vm_memory_bytes" ["vm"]
        "Memory of the VM in bytes, absent until vm_memory_unit is configured."
        => |given, lines| {
            let unit = given.state.profile.vm_memory_unit_bytes;
            lines.each(vms(given), |vm| vm.memsize?.checked_mul(unit?));
        };
    Of(Vms) "hosting_vm_monitoring_enabled" ["vm"]
        "Whether the provider's monitoring service is on for the VM (0 or 1)."
        => |given, lines| lines.each(vms(given), |vm| vm.monitoring_enabled);
    Of(Vms) "hosting_vm_disks" ["vm"] "Disks attached to the VM."
        => |given, lines| lines.each(vms(given), |vm| vm.disks.map(u64::from));
    Of(Vms) "hosting_vm_ips" ["vm"] "IP addresses of the VM."
        => |given, lines| lines.each(vms(given), |vm| vm.ips.as_ref().map(|ips| ips.len() as u64));
    Of(Vms) "hosting_vms" ["state"] "VMs by state, once the listing was read completely."
        => |given, lines| {
            let counted = given.counted(Collector::Vms, &given.state.vms);
            if let Some(vms) = counted.filter(|_| given.is_first_shard()) {
                states::count(lines, VmState::known_names(), vms.iter().map(|vm| vm.state.as_str()));
            }
        };
};

/// From this number on VMs are cut into shards. Otherwise all would be encoded in one piece of megabytes.
const MANY: usize = 1000;

/// The VMs of the shard. If they are few, all of them are in the first one.
fn vms<'a>(given: &Given<'a>) -> impl Iterator<Item = &'a Vm> + use<'a> {
    let (rows, given) = (given.rows(Collector::Vms, &given.state.vms), *given);
    let are_many = rows.len() >= MANY;
    rows.iter().filter(move |vm| if are_many { given.wants(vm.id.get()) } else { given.is_first_shard() })
}
