//! The parts of a release. Every direct dependency has its reason in docs/security.md; the package has the
//! right files; and its configuration is the smallest one, minus the paths of secrets.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;

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

/// A user of the package should not have to remove lines first: under systemd, secrets are credentials.
#[test]
fn its_configuration_is_the_least_one_without_the_paths_of_secrets() {
    let settings = |path: &str| -> Vec<String> {
        let text = read(path);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.filter(|line| !line.contains("_file = ")).map(str::to_owned).collect()
    };
    let mut least = settings("config/minimal.toml");
    // It also has the path of the store, so that commands do not need the service's environment.
    least.extend(["[store]", "path = \"/var/lib/hostwatch/hostwatch.db\""].map(str::to_owned));
    assert_eq!(settings("packaging/hostwatch.toml"), least);
    assert!(!read("packaging/hostwatch.toml").contains("_file ="));
    assert!(assets().contains(&"packaging/hostwatch.toml".to_owned()));
}

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
    assert!(config::load(Some(&file), &Environment::default()).is_err(), "the secrets came from elsewhere");
}
