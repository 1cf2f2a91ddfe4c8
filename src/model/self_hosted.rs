//! Whether this machine is one of the watched VMs, by its addresses. Such a daemon is cut off with its account and
//! then mails nobody.

// Addresses as values; the part of the standard library that opens sockets is not for this layer.
use core::net::IpAddr;

use super::ids::{AccountName, VmId};
use super::snapshot::{AccountState, Snapshot};

/// A watched VM that has an address of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OwnVm {
    pub account: AccountName,
    pub vm: VmId,
    /// As the provider has it: any text.
    pub vm_name: Option<Box<str>>,
    pub address: IpAddr,
}

/// The first watched VM that has one of these addresses. Loopback, link-local and unspecified ones never
/// count: every machine has them. Private ones do: the VM may have no other.
pub(crate) fn lives_on(snapshot: &Snapshot, addresses: &[IpAddr]) -> Option<OwnVm> {
    let own: Vec<IpAddr> = addresses.iter().map(IpAddr::to_canonical).filter(is_telling).collect();
    if own.is_empty() {
        return None;
    }
    snapshot.accounts.values().find_map(|state| in_account(state, &own))
}

fn in_account(state: &AccountState, own: &[IpAddr]) -> Option<OwnVm> {
    let matched = |text: Option<&str>| {
        let address = text?.trim().parse::<IpAddr>().ok()?.to_canonical();
        own.contains(&address).then_some(address)
    };
    let listed = state.vms.rows.iter().find_map(|vm| {
        let ips = vm.ips.iter().flatten();
        ips.filter_map(|ip| matched(ip.address.as_deref())).map(|address| (vm.id, address)).next()
    });
    // The list of addresses may know of one that the VM's own record does not show.
    let found = listed.or_else(|| {
        let mut ips = state.ips.rows.iter();
        ips.find_map(|ip| Some((ip.vm?, matched(ip.address.as_deref())?)))
    });
    let (vm, address) = found?;
    let vm_name = state.vms.get(vm).and_then(|vm| vm.name.clone());
    Some(OwnVm { account: state.profile.name.clone(), vm, vm_name, address })
}

/// Says which machine it is.
fn is_telling(address: &IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_unspecified() || link_local)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::KnownAccount;
    use crate::model::ids::IpId;
    use crate::model::resources::{Ip, Vm, VmIp};
    use crate::model::snapshot::{Read, Rows};
    use crate::unit::account::{profile, snapshot as snapshot_of, vm};

    fn snapshot(of_vm: &[&str], listed: &[(&str, Option<u64>)]) -> Snapshot {
        let mut known = KnownAccount::new(Arc::new(profile("main")));
        let vm = |id, ips: &[&str]| Vm {
            ips: Some(ips.iter().map(|&ip| VmIp { address: Some(ip.into()) }).collect::<Vec<_>>().into()),
            ..vm(id, "active", &format!("vm-{id}"))
        };
        let vms = vec![vm(1, &["203.0.113.1"]), vm(2, of_vm)];
        known.apply(Read::Vms(Rows { rows: vms, complete: true }), chrono::DateTime::UNIX_EPOCH);
        let ips = (1..).zip(listed).map(|(id, &(address, vm))| Ip {
            id: IpId::new(id),
            address: Some(address.into()),
            vm: vm.map(VmId::new),
        });
        let ips = ips.collect();
        known.apply(Read::Ips(Rows { rows: ips, complete: true }), chrono::DateTime::UNIX_EPOCH);
        snapshot_of([&known])
    }

    #[test]
    fn an_address_of_a_watched_vm_is_home() {
        let found = |of_vm: &[&str], own: &[&str]| {
            let own: Vec<IpAddr> = own.iter().map(|text| text.parse().unwrap()).collect();
            lives_on(&snapshot(of_vm, &[]), &own).map(|home| home.vm.get())
        };
        let table: [(&[&str], &[&str], Option<u64>); 9] = [
            (&["192.0.2.7"], &["127.0.0.1", "192.0.2.7"], Some(2)),
            (&["192.0.2.7"], &["203.0.113.1"], Some(1)),
            (&["192.0.2.7"], &["192.0.2.8"], None),
            (&["2001:db8::7"], &["2001:0db8:0::7"], Some(2)),
            (&["192.0.2.7"], &["::ffff:192.0.2.7"], Some(2)),
            (&["10.0.0.5"], &["10.0.0.5"], Some(2)),
            // Every machine has these.
            (&["127.0.0.1", "::1", "0.0.0.0"], &["127.0.0.1", "::1", "0.0.0.0"], None),
            (&["169.254.1.1", "fe80::1"], &["169.254.1.1", "fe80::1"], None),
            (&["not an address", ""], &["192.0.2.7"], None),
        ];
        for (of_vm, own, want) in table {
            assert_eq!(found(of_vm, own), want, "{of_vm:?} {own:?}");
        }
    }

    #[test]
    fn the_list_of_addresses_counts_too() {
        let own = ["198.51.100.9".parse().unwrap()];
        let home = lives_on(&snapshot(&[], &[("198.51.100.9", Some(2))]), &own).unwrap();
        assert_eq!((home.account.as_str(), home.vm_name.as_deref()), ("main", Some("vm-2")));
        assert_eq!(home.address, own[0]);
        assert_eq!(lives_on(&snapshot(&[], &[("198.51.100.9", None)]), &own), None, "of no VM");
        let gone = lives_on(&snapshot(&[], &[("198.51.100.9", Some(77))]), &own).unwrap();
        assert_eq!((gone.vm.get(), gone.vm_name), (77, None), "a VM that is not listed");
    }
}
