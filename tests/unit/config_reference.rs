//! docs/configuration.md has the table of keys, and the shipped example loads with its defaults.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::alert::Kind;
use crate::config::keys::{KEYS, KeyRow};
use crate::config::{self, Environment};
use crate::model::{Collector, Group};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> String {
    fs::read_to_string(repository().join("docs/configuration.md")).unwrap()
}

/// The table under which a key is described, and its name there: `remind_every.critical` stays with `[alerts]`.
fn place(key: &KeyRow) -> (&'static str, &'static str) {
    let named = ["accounts.<name>", "alerts.rules.<kind>", "webhooks.<webhook>", "telegram.<chat>"];
    let of_named = |table: &'static str| Some((table, key.path.strip_prefix(table)?.strip_prefix('.')?));
    named.into_iter().find_map(of_named).or_else(|| key.path.split_once('.')).unwrap_or(("", key.path))
}

#[test]
fn the_page_has_a_row_for_each_key_under_its_table() {
    let page = page();
    let mut table = "";
    let mut rows = page.lines().filter_map(|line| {
        table = line.strip_prefix("## `[").and_then(|rest| rest.strip_suffix("]`")).unwrap_or(table);
        line.starts_with("| `").then_some((table, line))
    });
    for key in KEYS {
        let (table, name) = place(key);
        let default = if key.default.is_empty() { "–".to_owned() } else { format!("`{}`", key.default) };
        let start = format!("| `{name}` | {} | {default} | ", key.kind.words().0);
        let row = rows.next();
        let is_right = row.is_some_and(|(under, row)| under == table && row.starts_with(&start));
        assert!(is_right, "docs/configuration.md has {row:?} in place of {start} under [{table}]");
    }
    assert_eq!(rows.next(), None, "docs/configuration.md has more rows than there are keys");
}

#[test]
fn the_page_names_all_kinds_and_those_that_are_off() {
    let page = page();
    let off = Kind::ALL.iter().filter(|kind| !kind.on_by_default()).map(|kind| format!("`{kind}`"));
    let off = format!("By default all are but {}.", off.collect::<Vec<_>>().join(" and "));
    let all = format!("otherwise: `{}`.", Kind::NAMES.join("`, `"));
    for sentence in [off, all] {
        assert!(page.contains(&sentence), "docs/configuration.md does not say: {sentence}");
    }
}

/// A copy of the shipped example, beside the secret files that it names.
fn installed() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostwatch.toml");
    fs::copy(repository().join("config/hostwatch.toml"), &path).unwrap();
    fs::create_dir(directory.path().join("secrets")).unwrap();
    for secret in ["main.hosting_token", "main.vm_api_key", "main.billing_password", "smtp.password"] {
        let file = directory.path().join("secrets").join(secret);
        fs::write(&file, "secret\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    (directory, path)
}

#[test]
fn the_shipped_example_watches_everything_and_sends_mail() {
    let (_directory, path) = installed();
    let settings = config::load(Some(&path), &Environment::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(settings.warnings, Vec::<String>::new());
    let [account] = settings.accounts.as_slice() else { panic!("{settings:?}") };
    assert!(Group::ALL.into_iter().all(|group| account.has(group)));
    let all_but_keys = Collector::ALL.into_iter().filter(|&collector| collector != Collector::SshKeys);
    assert_eq!(account.profile.collectors, all_but_keys.collect());
    assert_eq!(account.alert.disconnect_days, [14, 7, 4, 3, 1]);
    assert_eq!(account.to.len(), 1);
    assert_eq!(settings.secret_files.len(), 4);
    let email = settings.email.unwrap();
    assert_eq!(email.server.login.as_ref().unwrap().username, "hostwatch@example.com");
    assert_eq!((email.server.port, settings.max_per_hour), (465, 60));
}

#[test]
fn defaults_of_the_table_are_those_of_the_layers() {
    let (_directory, path) = installed();
    let settings = config::load(Some(&path), &Environment::default()).unwrap();
    let account = &settings.accounts[0];
    // The numbers of container states and the zone are the account's own.
    let container_states = account.alert.container_states.clone();
    let zone = account.profile.zone();
    let layer =
        crate::alert::AlertSettings { container_states, zone, ..crate::alert::AlertSettings::defaults() };
    assert_eq!(format!("{:?}", account.alert), format!("{layer:?}"));
    assert_eq!(account.api.limits, [200, 60, 300, 30]);
    assert_eq!(settings.state_series, crate::metrics::StateSeries::default());
}
