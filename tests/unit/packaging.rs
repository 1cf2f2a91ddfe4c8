//! The parts of a release. Every direct dependency has its reason in docs/security.md; the package has the
//! right files; and its configuration is good with credentials alone.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::tools::{read, root};
use crate::config::{self, Environment};
use toml::{Table, Value};

fn manifest() -> Table {
    read("Cargo.toml").parse().unwrap()
}

/// Names in backquotes in the section of docs/security.md about hostwatch's dependencies: in the first column
/// of the table, and in the sentence about tests.
fn explained() -> BTreeSet<String> {
    let document = read("docs/security.md");
    let (_, part) = document.split_once("## What it is built from").unwrap();
    let cells = part.lines().filter_map(|line| match line.strip_prefix("| ") {
        Some(row) => row.split(" | ").next(),
        None => line.strip_prefix("For tests alone: "),
    });
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_direct_dependency_has_its_reason() {
    let mut direct = BTreeSet::new();
    for manifest in [manifest(), read("src/sim/Cargo.toml").parse().unwrap()] {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let names = manifest.get(kind).and_then(Value::as_table).into_iter().flat_map(Table::keys);
            direct.extend(names.filter(|name| !name.starts_with("hostwatch")).cloned());
        }
    }
    let explained = explained();
    let missing: Vec<_> = direct.difference(&explained).collect();
    assert!(missing.is_empty(), "without a reason in docs/security.md: {missing:?}");
    let gone: Vec<_> = explained.difference(&direct).collect();
    assert!(gone.is_empty(), "in docs/security.md, but no dependency any more: {gone:?}");
}

/// Sources of the package's files, as Cargo.toml has them.
fn assets() -> Vec<String> {
    let manifest = manifest();
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    let source = |asset: &Value| asset.as_array().unwrap()[0].as_str().unwrap().to_owned();
    assets.iter().map(source).collect()
}

#[test]
fn the_package_has_the_right_files() {
    let assets = assets();
    for unit in fs::read_dir(root().join("systemd")).unwrap() {
        let unit = format!("systemd/{}", unit.unwrap().file_name().to_str().unwrap());
        assert!(assets.contains(&unit), "{unit} is not in the package");
    }
    for asset in assets.iter().filter(|asset| !asset.starts_with("target/")) {
        let (folder, file) = asset.rsplit_once('/').unwrap_or((".", asset));
        let suffix = file.strip_prefix('*');
        let folder = root().join(folder);
        let found = fs::read_dir(&folder).unwrap().any(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            suffix.map_or(name == file, |suffix| name.ends_with(suffix))
        });
        assert!(found, "nothing is {asset}");
    }
}

/// Under systemd, secrets are credentials, so that nobody has to remove lines first.
#[test]
fn its_configuration_is_good_with_the_secrets_that_it_names() {
    let text = read("packaging/hostwatch.toml");
    let directory = tempfile::tempdir().unwrap();
    for name in ["main.hosting_token", "main.vm_api_key", "main.billing_password", "smtp.password"] {
        assert!(text.contains(name), "{name} is not named");
        fs::write(directory.path().join(name), "secret\n").unwrap();
    }
    let place = directory.path().to_str().unwrap().to_owned();
    let file = root().join("packaging/hostwatch.toml");
    let environment: Environment = [("CREDENTIALS_DIRECTORY".to_owned(), place)].into_iter().collect();
    let settings = config::load(Some(&file), &environment).unwrap();
    assert_eq!(settings.secret_files.len(), 4);
    // Commands find the store without the service's environment.
    assert_eq!(settings.store_path, Path::new("/var/lib/hostwatch/hostwatch.db"));
    assert!(config::load(Some(&file), &Environment::default()).is_err(), "the secrets came from elsewhere");
}
