//! Recognises machines and domains that are watched themselves. A daemon on a watched VM is cut off with its
//! account and then mails nobody, and nobody reads a mailbox on a watched site.

// Only addresses as values: this layer must not open sockets.
use core::net::IpAddr;

use super::ids::{AccountName, VmId};
use super::sanitize;
use super::snapshot::{AccountState, Snapshot};

/// A watched VM that has an address of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OwnVm {
    pub account: AccountName,
    pub vm: VmId,
    /// The provider's name for it, any text.
    pub vm_name: Option<Box<str>>,
    pub address: IpAddr,
}

impl OwnVm {
    /// Its name, or its id.
    pub(crate) fn name(&self) -> String {
        self.vm_name.as_deref().map_or_else(|| self.vm.to_string(), |name| sanitize::one_line(name, 60))
    }
}

/// The first watched VM that has one of these addresses. Loopback, link-local and unspecified addresses do not
/// count, since every machine has them. Private ones do, since the VM may have no other.
pub(crate) fn lives_on(snapshot: &Snapshot, addresses: &[IpAddr]) -> Option<OwnVm> {
    let own: Vec<IpAddr> = addresses.iter().map(IpAddr::to_canonical).filter(is_telling).collect();
    if own.is_empty() {
        return None;
    }
    snapshot.accounts.values().find_map(|state| in_account(state, &own))
}

/// The watched site with this domain, and its account.
pub(crate) fn site_of<'a>(snapshot: &'a Snapshot, domain: &str) -> Option<(&'a AccountName, &'a str)> {
    let is_it = |name: &str| {
        let bare =
            name.get(..4).filter(|start| start.eq_ignore_ascii_case("www.")).map_or(name, |_| &name[4..]);
        name.eq_ignore_ascii_case(domain) || bare.eq_ignore_ascii_case(domain)
    };
    snapshot.accounts.values().find_map(|state| {
        let names = state.all_sites().flat_map(|site| [site.name.as_deref(), site.main_alias.as_deref()]);
        let mut names = names.flatten();
        names.find(|name| is_it(name)).map(|name| (&state.profile.name, name))
    })
}

fn in_account(state: &AccountState, own: &[IpAddr]) -> Option<OwnVm> {
    let of_vms =
        state.vms.rows.iter().flat_map(|vm| vm.ips.iter().flatten().map(move |ip| (vm.id, &ip.address)));
    // The listing of addresses may have one that the VM's own record lacks.
    let listed = state.ips.rows.iter().filter_map(|ip| Some((ip.vm?, &ip.address)));
    let (vm, address) = of_vms.chain(listed).find_map(|(vm, text)| {
        let address = text.as_deref()?.trim().parse::<IpAddr>().ok()?.to_canonical();
        own.contains(&address).then_some((vm, address))
    })?;
    let vm_name = state.vms.get(vm).and_then(|vm| vm.name.clone());
    Some(OwnVm { account: state.profile.name.clone(), vm, vm_name, address })
}

/// Whether an address identifies a machine.
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
    use crate::model::ids::{ContainerId, IpId};
    use crate::model::resources::{Ip, Site, Vm, VmIp};
    use crate::model::snapshot::{Read, Rows};
    use crate::unit::account::{container, profile, site, snapshot as snapshot_of, vm};

    fn snapshot(of_vm: &[&str], listed: &[(&str, Option<u64>)]) -> Snapshot {
        let mut known = KnownAccount::new(Arc::new(profile("main")));
        let vm = |id, ips: &[&str]| Vm {
            ips: Some(ips.iter().map(|&ip| VmIp { address: Some(ip.into()) }).collect::<Vec<_>>().into()),
            ..vm(id, "active", &format!("vm-{id}"))
        };
        let vms = vec![vm(1, &["203.0.113.1"]), vm(2, of_vm)];
        known.apply(Read::Vms(Rows::new(vms, true)), chrono::DateTime::UNIX_EPOCH);
        let ips = (1..).zip(listed).map(|(id, &(address, vm))| Ip {
            id: IpId::new(id),
            address: Some(address.into()),
            vm: vm.map(VmId::new),
        });
        let ips = ips.collect();
        known.apply(Read::Ips(Rows::new(ips, true)), chrono::DateTime::UNIX_EPOCH);
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
            // Every machine has these addresses.
            (&["127.0.0.1", "::1", "0.0.0.0"], &["127.0.0.1", "::1", "0.0.0.0"], None),
            (&["169.254.1.1", "fe80::1"], &["169.254.1.1", "fe80::1"], None),
            (&["not an address", ""], &["192.0.2.7"], None),
        ];
        for (of_vm, own, want) in table {
            assert_eq!(found(of_vm, own), want, "{of_vm:?} {own:?}");
        }
    }

    #[test]
    fn a_domain_is_found_among_the_sites() {
        let mut known = KnownAccount::new(Arc::new(profile("main")));
        known.apply(
            Read::Containers(Rows::new(vec![container(1, "ENABLED")], true)),
            chrono::DateTime::UNIX_EPOCH,
        );
        let sites = vec![Site { name: Some("www.shop.example.com".into()), ..site(7, 1, "Active") }];
        known.apply(Read::Sites(ContainerId::new(1), Rows::new(sites, true)), chrono::DateTime::UNIX_EPOCH);
        let snapshot = snapshot_of([&known]);
        let found = |domain: &str| site_of(&snapshot, domain).map(|(_, site)| site);
        assert_eq!(found("Shop.example.com"), Some("www.shop.example.com"));
        assert_eq!(found("www.shop.example.com"), Some("www.shop.example.com"));
        assert_eq!((found("example.com"), found("hop.example.com")), (None, None));
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
