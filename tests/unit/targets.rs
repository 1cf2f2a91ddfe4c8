//! The documents of Prometheus's service discovery: when they are served, and their content.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use crate::metrics::{TargetKind, target_document};
use crate::model::*;
use account::*;
use serde_json::{Value, json};

const SITES: TargetKind = TargetKind::Sites;
const VMS: TargetKind = TargetKind::Vms;

/// The document about all known resources of these accounts, or the reason for its absence.
fn document(books: &[&KnownAccount], kind: TargetKind, account: Option<&str>) -> Result<Value, String> {
    let states = books.iter().map(|book| (book.state().profile.name.clone(), book.publish()));
    let snapshot = Snapshot { accounts: states.collect() };
    let page = target_document(&snapshot, kind, account)?;
    let text: Vec<u8> = page.identity("").flatten().collect();
    Ok(serde_json::from_slice(&text).expect("JSON"))
}

fn part<T>(rows: Vec<T>) -> Rows<T> {
    Rows::new(rows, false)
}

fn unread() -> KnownAccount {
    book(profile("other"))
}

#[test]
fn a_group_is_as_documented() {
    let mut secure = site(105, 31, "Active");
    (secure.certificate_id, secure.main_alias) = (Some(9), Some("www.example.com".into()));
    let mut bare = site(106, 31, "Halted?");
    (bare.name, bare.engine, bare.certificate_id) = (None, None, None);
    let mut here = vm(17, "active", "web");
    let address = |text: &str| VmIp { address: Some(text.into()) };
    let mut ips =
        ["192.0.2.5", "2001:db8::5", "192.0.2.5", "2001:DB8:0:0:0:0:0:5", "?"].map(address).to_vec();
    ips.push(VmIp { address: None });
    here.ips = Some(ips.into());
    let mut known = full("main");
    known.apply(Read::Containers(all(vec![container(31, "ENABLED")])), read_at());
    known.apply(
        Read::Sites(ContainerId::new(31), all(vec![site(104, 31, "Active"), secure, bare])),
        read_at(),
    );
    known.apply(Read::Vms(all(vec![here, bare_vm(18, "stopped")])), read_at());
    // A resource is gone if two complete listings lack it.
    fill_again(&mut known);
    let sites = document(&[&known], SITES, None).unwrap();
    let of = |id: u64| {
        let id = id.to_string();
        let is = |group: &&Value| group["labels"]["__meta_hosting_site"] == id.as_str();
        sites.as_array().unwrap().iter().find(is).unwrap().clone()
    };
    let labels = json!({
        "__meta_hosting_account": "main", "__meta_hosting_site": "104",
        "__meta_hosting_site_name": "site104.example.com", "__meta_hosting_container": "31",
        "__meta_hosting_engine": "php", "__meta_hosting_state": "Active",
    });
    assert_eq!(of(104), json!({"targets": ["http://site104.example.com"], "labels": labels}));
    assert_eq!(of(105)["targets"], json!(["https://www.example.com"]));
    let labels = json!({
        "__meta_hosting_account": "main", "__meta_hosting_site": "106", "__meta_hosting_container": "31",
        "__meta_hosting_state": "Halted?",
    });
    assert_eq!(of(106), json!({"targets": [], "labels": labels}));

    let vms = document(&[&known], VMS, Some("main")).unwrap();
    let labels = json!({
        "__meta_hosting_account": "main", "__meta_hosting_vm": "17", "__meta_hosting_vm_name": "web",
        "__meta_hosting_tariff": "std-1", "__meta_hosting_state": "active",
    });
    assert_eq!(vms[0], json!({"targets": ["192.0.2.5", "[2001:db8::5]"], "labels": labels}));
    assert_eq!(vms[1]["targets"], json!([]));
}

/// Reads the same again, so that no resource is missing any more.
fn fill_again(known: &mut KnownAccount) {
    let (vms, sites) =
        (known.state().vms.rows.to_vec(), known.state().sites[&ContainerId::new(31)].rows.to_vec());
    known.apply(Read::Vms(all(vms)), read_at());
    known.apply(Read::Sites(ContainerId::new(31), all(sites)), read_at());
}

#[test]
fn there_is_none_before_each_listing_was_read_whole() {
    let (home, other) = (ContainerId::new(31), ContainerId::new(47));
    let mut known = book(profile("main"));
    let nothing = |what: &str| Err(format!("the {what} of account main were not read whole yet"));
    let steps: [(Read, TargetKind, Result<Value, String>); 7] = [
        (Read::Vms(part(vec![bare_vm(1, "active")])), VMS, nothing("VMs")),
        (Read::Containers(part(vec![container(31, "ENABLED")])), SITES, nothing("containers")),
        (
            Read::Containers(all(vec![container(31, "ENABLED"), container(47, "ENABLED")])),
            SITES,
            nothing("sites of container 31"),
        ),
        (Read::Sites(home, all(vec![])), SITES, nothing("sites of container 47")),
        (Read::Sites(other, part(vec![])), SITES, nothing("sites of container 47")),
        (Read::Sites(other, all(vec![])), SITES, Ok(json!([]))),
        (Read::Vms(all(vec![bare_vm(2, "active")])), VMS, Ok(json!(2))),
    ];
    for (step, (read, kind, want)) in steps.into_iter().enumerate() {
        known.apply(read, read_at());
        let got = document(&[&known], kind, None);
        // The VM that one complete listing lacked may have moved between two pages.
        let got =
            got.map(|groups| if kind == VMS { json!(groups.as_array().unwrap().len()) } else { groups });
        assert_eq!(got, want, "step {step}");
    }
    // From now on, known resources stay, even if the next listing lacks them or is old.
    known.apply(Read::Sites(home, part(vec![site(104, 31, "Active")])), read_at());
    assert_eq!(document(&[&known], SITES, None).unwrap().as_array().unwrap().len(), 1);
    // A new container may have sites.
    known.apply(Read::Containers(all(vec![container(31, "ENABLED"), container(48, "ENABLED")])), read_at());
    assert_eq!(
        document(&[&known], SITES, None),
        Err("the sites of container 48 of account main were not read whole yet".into())
    );
}

#[test]
fn several_accounts_are_served_together_or_not_at_all() {
    let (main, second) = (full("main"), full("second"));
    let count = |books: &[&KnownAccount], account| {
        document(books, SITES, account).map(|groups| groups.as_array().unwrap().len())
    };
    let one = count(&[&main], None).unwrap();
    assert!(one > 0);
    assert_eq!(count(&[&main, &second], None), Ok(2 * one));
    assert_eq!(count(&[&main, &second], Some("second")), Ok(one));
    assert_eq!(
        count(&[&main, &unread()], None),
        Err("the containers of account other were not read whole yet".into())
    );
    assert_eq!(count(&[&main, &unread()], Some("main")), Ok(one));
    // An account that polls no sites leaves the others as they are.
    let mut billing = profile("other");
    billing.collectors = [Collector::ExpectedBalance].into();
    let billing = book(billing);
    assert_eq!(count(&[&main, &billing], None), Ok(one));
    assert_eq!(
        count(&[&main, &billing], Some("other")),
        Err("nothing of it is read for this account".into())
    );
    assert_eq!(count(&[&billing], None), Err("no account has its sites read".into()));
}
