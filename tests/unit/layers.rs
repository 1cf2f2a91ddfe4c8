//! The layers of ARCHITECTURE.md as a test: allowed imports between modules, crates allowed in each layer, and
//! the length of files. The checker itself is tested with sources that break each rule.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::layers_support;

use std::fs;
use std::path::{Path, PathBuf};

use layers_support::{Root, paths};

/// Each module of the crate's root, with the modules that it may import. `lib` only lists them, so it is not
/// here.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("clock", &[]),
    ("failpoint", &[]),
    ("telemetry", &[]),
    ("config_error", &[]),
    ("file_stamp", &[]),
    ("read_file", &[]),
    ("trust", &[]),
    ("provider", &["model", "clock", "failpoint", "trust"]),
    ("metrics", &["model"]),
    ("alert", &["model", "failpoint"]),
    ("state", &["model"]),
    ("view", &["alert", "model"]),
    ("terminal", &["view", "alert", "model"]),
    ("mail", &["alert", "model", "view", "clock", "failpoint", "trust", "read_file"]),
    ("store", &["alert", "model", "failpoint"]),
    (
        "http",
        &["view", "alert", "state", "metrics", "model", "clock", "config_error", "file_stamp", "read_file"],
    ),
    // It may name the settings types of all layers. Only `daemon` and `commands` may name it.
    (
        "config",
        &["http", "alert", "provider", "mail", "metrics", "model", "config_error", "trust", "read_file"],
    ),
    ("cli", &["telemetry", "http", "model"]),
    ("main", &["commands", "cli"]),
];

/// The only layers that connect the others; a daemon knows no command.
const KNOW_ALL: &[&str] = &["daemon", "commands"];

/// Foreign crates and parts of std that only certain modules may use, and these modules.
const DOORS: &[(&str, &[&str])] = &[
    ("reqwest", &["provider", "commands", "daemon"]),
    ("rusqlite", &["store"]),
    ("figment", &["config"]),
    ("prometheus", &["metrics"]),
    ("cron", &["provider"]),
    ("askama", &["http", "mail"]),
    // Other modules only name its type of an address.
    ("lettre", &["mail", "config", "daemon"]),
    ("hyper", &["http"]),
    ("hyper_util", &["http"]),
    // The commands `simulate` and `demo` start the simulator.
    ("hostwatch_sim", &["cli", "commands"]),
    ("sd_notify", &["daemon"]),
    ("if_addrs", &["daemon"]),
    ("terminal_size", &["commands"]),
    ("strsim", &["model"]),
    ("unicode_width", &["mail", "terminal"]),
    ("textwrap", &["mail", "terminal"]),
    ("listenfd", &["daemon"]),
    ("bcrypt", &["http"]),
    ("serde_saphyr", &["http"]),
    ("x509_parser", &["trust", "provider"]),
    ("anyhow", &["daemon", "commands", "cli", "main"]),
];

/// Modules without I/O, waiting and clock: they get the time as an argument.
const PURE: &[&str] = &["model", "metrics", "alert", "view", "terminal"];
const IMPURE: &[&str] = &["tokio", "std::fs", "std::net", "std::process", "std::env", "std::thread"];

const MOST_LINES: usize = 500;

/// A rule: the findings in a file's text.
type Check = fn(&str, &str) -> Vec<String>;

/// Imports point one way, crates stay behind their doors, the core is pure, and files are short and say what they
/// do. The compiler checks that no code is unsafe and that the simulator imports nothing of hostwatch; clippy
/// (clippy.toml) checks that only the clock reads the clock.
#[test]
fn the_sources_keep_the_rules() {
    let rules: [(Check, bool); 3] = [(imports, false), (doors, false), (habits, true)];
    let mut findings = Vec::new();
    for (file, text) in sources() {
        for (check, _) in rules.iter().filter(|(_, of_sim)| *of_sim || !file.starts_with("src/sim/")) {
            findings.extend(check(&file, &text));
        }
    }
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

/// Every file that the guides name exists.
#[test]
fn every_file_that_the_guides_name_is_there() {
    for guide in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(guide)).unwrap();
        let named = text.split('`').filter(|part| part.starts_with("src/") || part.starts_with("tests/"));
        let files: Vec<&str> =
            named.filter(|part| !part.contains(['*', ' ', '[']) && !part.contains("NAME")).collect();
        assert!(files.len() > 5, "{guide} names no files");
        for file in files {
            assert!(root().join(file).exists(), "{guide} names {file}");
        }
    }
}

#[test]
fn forbidden_imports_are_found_however_they_are_written() {
    let table = [
        ("src/model/ids.rs", "use crate::provider::Client;"),
        ("src/model/mod.rs", "use crate::{clock, model::ids};"),
        ("src/alert/rules.rs", "fn f() -> u8 { let x = 'a'; crate::store::open(x) }"),
        ("src/alert/rules.rs", "use super::super::store::Store;"),
        ("src/alert/mod.rs", "use super::store::Store;"),
        ("src/alert/mod.rs", "mod tests { use super::super::store::Store; }"),
        ("src/state.rs", "use super::{model::Money, mail};"),
        (
            "src/metrics/own.rs",
            "pub(in crate::metrics) fn a() {}\nuse crate::{\n    model::{Money, time},\n    http::Server,\n};",
        ),
        ("src/metrics/mod.rs", "macro_rules! m { () => { $crate::mail::Subject::NONE } }"),
        ("src/state.rs", "use crate::mail as ours;"),
        ("src/provider/poll/mod.rs", "use crate::config::Config;"),
        ("src/store/mod.rs", "use crate::*;"),
        ("src/state.rs", "use super::*;"),
        ("src/main.rs", "use crate::store::Store;"),
        ("src/daemon/run.rs", "use crate::commands::print;"),
        ("src/newcomer.rs", "use crate::model::Money;"),
    ];
    for (file, source) in table {
        assert_eq!(imports(file, source).len(), 1, "{file}: {source}\n{:?}", imports(file, source));
    }
}

#[test]
fn the_other_rules_are_enforced_too() {
    let long = format!("//! Long.\n{}", "// x\n".repeat(MOST_LINES));
    let table: [(Check, &str, &str, usize); 8] = [
        (doors, "src/http/server.rs", "//! x\nuse reqwest::Client;", 1),
        (doors, "src/provider/client.rs", "//! x\nuse reqwest::Client;", 0),
        (doors, "src/daemon/mod.rs", "//! x\nlet c = rusqlite::Connection::open(x);", 1),
        (doors, "src/alert/engine.rs", "//! x\nuse std::{collections::BTreeMap, fs::File};", 1),
        (doors, "src/alert/engine.rs", "//! x\nuse tokio::time::sleep;", 1),
        (doors, "src/model/time.rs", "//! x\nuse std::fmt;", 0),
        (habits, "src/a.rs", "use std::fmt;", 1),
        (habits, "src/a.rs", &long, 1),
    ];
    for (check, file, source, count) in table {
        let found = check(file, source);
        assert_eq!(found.len(), count, "{file}: {source:.60}: {found:?}");
    }
}

fn imports(file: &str, source: &str) -> Vec<String> {
    let module = module_of(file);
    let Some(&layer) = module.first() else { return Vec::new() };
    // `main` is a crate of its own: its paths to our modules start with the crate's name.
    let inside: &[&str] = if layer == "main" { &[] } else { &module };
    let law = LAYERS.iter().find(|&&(name, _)| name == layer).map(|&(_, allowed)| allowed);
    if law.is_none() && !KNOW_ALL.contains(&layer) {
        return vec![format!("{file}: the layer {layer} has no law in tests/layers.rs")];
    }
    let may = |target: &str| match law {
        Some(allowed) => allowed.contains(&target),
        None => layer == "commands" || target != "commands",
    };
    let ours = paths(source, inside).into_iter().filter(|path| path.root == Root::Ours);
    let wrong = ours.filter(|path| {
        let target = path.segments.first().map_or("the crate's root", String::as_str);
        // `unit` belongs to the tests, and is in no other build.
        target != layer && target != "unit" && !may(target)
    });
    wrong
        .map(|path| {
            let target = path.segments.join("::");
            format!("{file}: {layer} must not import {target}")
        })
        .collect()
}

fn doors(file: &str, source: &str) -> Vec<String> {
    let module = module_of(file);
    let Some(&layer) = module.first() else { return Vec::new() };
    let mut findings = Vec::new();
    for path in paths(source, &module).iter().filter(|path| path.root == Root::Named) {
        let name = path.segments.join("::");
        let door = DOORS.iter().find(|&&(krate, _)| path.segments[0] == krate);
        if let Some((krate, keepers)) = door.filter(|(_, keepers)| !keepers.contains(&layer)) {
            findings.push(format!("{file}: {krate} is for {}: {name}", keepers.join(", ")));
        }
        let impure = IMPURE.iter().find(|&&part| name == part || name.starts_with(&format!("{part}::")));
        if let Some(part) = impure.filter(|_| PURE.contains(&layer)) {
            findings.push(format!("{file}: {layer} is pure and must not use {part}: {name}"));
        }
    }
    findings
}

fn habits(file: &str, source: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let lines = source.lines().count();
    if lines > MOST_LINES {
        findings.push(format!("{file}: {lines} lines, more than {MOST_LINES}"));
    }
    if !source.starts_with("//! ") {
        findings.push(format!("{file}: does not open with a `//!` that says what it does"));
    }
    findings
}

/// `src/provider/wire/mod.rs` is the module `["provider", "wire"]`, `src/lib.rs` is `[]`.
pub(super) fn module_of(file: &str) -> Vec<&str> {
    let inner = file.strip_prefix("src/").unwrap().strip_suffix(".rs").unwrap();
    let mut module: Vec<&str> = inner.split('/').collect();
    module.pop_if(|last| *last == "mod" || *last == "lib");
    module
}

/// Every Rust file under src/, by its path from the repository's root.
pub(super) fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut todo = vec![root().join("src")];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 50, "src/ was not found where it should be");
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}
