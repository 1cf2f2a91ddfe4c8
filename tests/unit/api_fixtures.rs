//! The example payloads, written after the interface's tables, as the client reads them. The simulator is
//! tested with the same files.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;

use crate::model::{Charge, Container, ContainerId, Counted, Ip, Site, Vm};
use crate::unit::decoding::{Account, Decoded, Paged, whole_report};

/// A payload as it is read.
type Read = fn(&[u8]) -> String;

/// The answers to requests of the client.
const ANSWERS: [(&str, Read); 10] = [
    ("charge_list", page::<Charge>),
    ("container_list", page::<Container>),
    ("cron_list", page::<Counted>),
    ("database_list", page::<Counted>),
    ("expected_balance", report),
    ("expected_balance_error", report),
    ("ip_list", page::<Ip>),
    ("site_list", page::<Site>),
    ("ssh_key_list", keys),
    ("vm_list", page::<Vm>),
];

/// Answers to requests that the client never sends, because it reads listings and changes nothing.
const NOT_READ: [&str; 12] = [
    "charge_read",
    "container_read",
    "cron_read",
    "database_read",
    "engine_versions",
    "ip_read",
    "site_read",
    "ssh_key_read",
    "vm_create_disk",
    "vm_create_image",
    "vm_read",
    "vm_start",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/api")
}

fn account() -> Account {
    let container_states = [(0, "ENABLED".to_owned())].into();
    Account { container_states, container: ContainerId::new(31), ..Account::default() }
}

fn shown<T: Debug>(decoded: &Decoded<T>) -> String {
    assert!(decoded.rejected == 0 && decoded.fields.is_empty(), "nothing in them is odd: {decoded:?}");
    format!("{:#?}", decoded.value)
}

fn page<R: Paged + Debug>(bytes: &[u8]) -> String {
    shown(&R::page(bytes, &account()).unwrap())
}

/// SSH keys are counted like the rows of hosting, and listed like VMs.
fn keys(bytes: &[u8]) -> String {
    page::<Counted>(&String::from_utf8_lossy(bytes).replace("\"results\"", "\"entities\"").into_bytes())
}

fn report(bytes: &[u8]) -> String {
    shown(&whole_report(bytes, &account(), 1000).unwrap())
}

#[test]
fn payloads_are_read() {
    let read = |(name, read): (&str, Read)| {
        let bytes = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
        format!("== {name}\n{}\n", read(&bytes))
    };
    insta::assert_snapshot!("payloads", ANSWERS.map(read).concat());
}

#[test]
fn every_payload_of_a_read_is_among_them() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let known = ANSWERS.iter().map(|(name, _)| *name).chain(NOT_READ);
    assert_eq!(files, known.map(str::to_owned).collect());
}
