//! The table of keys, docs/configuration.md and config/hostwatch.toml agree, and both shipped files load.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::alert::Kind;
use crate::config::keys::KEYS;
use crate::config::{self, Environment};
use crate::model::{Collector, Group};
use figment::Provider;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_reference_is_the_table_of_keys() {
    let path = repository().join("docs/configuration.md");
    let want = config::reference::markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &want).unwrap();
    }
    let have = fs::read_to_string(&path).unwrap();
    assert!(have == want, "docs/configuration.md is old; UPDATE_DOCS=1 cargo test --lib config_reference");
}

#[test]
fn every_kind_stands_where_kinds_are_listed() {
    let page = config::reference::markdown();
    let sample = fs::read_to_string(repository().join("config/hostwatch.toml")).unwrap();
    let listed = |kind: &Kind| sample.contains(&format!("{kind},")) || sample.contains(&format!("{kind}."));
    let missing: Vec<&Kind> = Kind::ALL.iter().filter(|kind| !listed(kind)).collect();
    assert!(missing.is_empty(), "config/hostwatch.toml does not name {missing:?}");
    let off: Vec<String> =
        Kind::ALL.iter().filter(|kind| !kind.on_by_default()).map(|kind| format!("`{kind}`")).collect();
    assert!(
        page.contains(&format!("By default all are but {}.", off.join(" and "))),
        "src/config/keys.rs: {off:?} are off"
    );
}

fn parse(text: &str) -> Dict {
    let data = Toml::string(text).data().unwrap_or_else(|error| panic!("{error}"));
    data.into_values().next().unwrap()
}

/// Takes every key out of its comment: `#key = …` and `#[table]`. Prose has a space after the `#`.
fn uncommented(text: &str) -> Dict {
    let lines = text.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with('[') || rest.starts_with(|c: char| c.is_ascii_alphanumeric()) => rest,
        _ => line,
    });
    parse(&lines.collect::<Vec<_>>().join("\n"))
}

fn flatten(path: &str, value: &Value, into: &mut Vec<(String, Value)>) {
    match value.as_dict() {
        None => into.push((path.to_owned(), value.clone())),
        Some(table) => {
            for (name, value) in table {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&below, value, into);
            }
        }
    }
}

fn generic(path: &str) -> String {
    let path = path.replace("accounts.main", "accounts.<name>").replace("rules.vm_stopped", "rules.<kind>");
    path.replace("container_states.0", "container_states.<code>")
        .replace("webhooks.team", "webhooks.<webhook>")
        .replace("telegram.ops", "telegram.<chat>")
}

#[test]
fn the_sample_shows_every_key_with_its_default() {
    let text = fs::read_to_string(repository().join("config/hostwatch.toml")).unwrap();
    let keys = |table: Dict| {
        let mut keys = Vec::new();
        flatten("", &Value::from(table), &mut keys);
        keys.into_iter().map(|(path, value)| (generic(&path), value)).collect::<Vec<_>>()
    };
    let (active, shown) = (keys(parse(&text)), keys(uncommented(&text)));
    let names: BTreeSet<&str> = shown.iter().map(|(path, _)| path.as_str()).collect();
    let table: BTreeSet<&str> = KEYS.iter().map(|key| key.path).collect();
    assert_eq!(names, table);
    for key in KEYS {
        let default = key.default_value();
        assert_eq!(default.is_none(), key.default.is_empty(), "{} has a default that is no TOML", key.path);
        // A key that is not commented out is an example, and need not be the default.
        let in_comment = !active.iter().any(|(path, _)| path == key.path);
        if let (Some(default), true) = (default, in_comment) {
            let (_, value) = shown.iter().find(|(path, _)| path == key.path).unwrap();
            assert_eq!(*value, default, "{}", key.path);
        }
    }
}

/// A copy of a shipped file, beside the secret files that it names.
fn installed(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::copy(repository().join("config").join(name), &path).unwrap();
    fs::create_dir(directory.path().join("secrets")).unwrap();
    for secret in ["main.hosting_token", "main.vm_api_key", "main.billing_password", "smtp.password"] {
        let file = directory.path().join("secrets").join(secret);
        fs::write(&file, "secret\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    (directory, path)
}

#[test]
fn shipped_files_load_and_do_the_same() {
    for name in ["hostwatch.toml", "minimal.toml"] {
        let (_directory, path) = installed(name);
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
}

#[test]
fn defaults_of_the_table_are_those_of_the_layers() {
    let (_directory, path) = installed("minimal.toml");
    let settings = config::load(Some(&path), &Environment::default()).unwrap();
    let account = &settings.accounts[0];
    // The numbers of container states and the zone are the account's own.
    let container_states = account.alert.container_states.clone();
    let zone = account.profile.zone();
    let layer =
        crate::alert::AlertSettings { container_states, zone, ..crate::alert::AlertSettings::defaults() };
    assert_eq!(format!("{:?}", account.alert), format!("{layer:?}"));
    assert_eq!(account.api.limits, crate::provider::Limits::default());
    assert_eq!(settings.metrics.state_series, crate::metrics::StateSeries::default());
}
