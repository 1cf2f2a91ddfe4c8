//! The unit file: systemd has no complaints about it, it is as restricted as possible, and hostwatch knows its
//! command line and credentials.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::tools;

use std::fs;

use crate::cli::{Cli, Command};
use crate::config::{self, Environment};
use clap::Parser;
use tools::{read, run};

const UNIT: &str = "systemd/hostwatch.service";
const SOCKET: &str = "systemd/hostwatch.socket";
const BINARY: &str = "/usr/bin/hostwatch";
/// In tenths, of ten: the unit of `systemd-analyze security`.
const MOST_EXPOSURE: &str = "15";

/// The socket's unit, and the service with the drop-in that the socket's comment describes.
#[test]
fn systemd_finds_nothing_to_say_about_the_socket() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let socket = read(SOCKET);
    let drop_in: Vec<&str> = socket.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    let line = drop_in.iter().rev().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let command = Cli::try_parse_from(line.split_whitespace()).unwrap().command;
    assert!(matches!(command, Command::Run(of_socket) if of_socket.web.systemd_socket));

    let drop_in = drop_in.join("\n").replace(BINARY, "/bin/true");
    place("hostwatch.service.d/override.conf", &drop_in);
    let service = place("hostwatch.service", &read(UNIT).replace(BINARY, "/bin/true"));
    let socket = place("hostwatch.socket", &socket);
    let Some(run) = run("systemd-analyze", &["verify", "--man=no", &service, &socket]) else { return };
    assert!(run.ok && run.text.is_empty(), "{}", run.text);
}

#[test]
fn it_is_as_restricted_as_possible() {
    let threshold = format!("--threshold={MOST_EXPOSURE}");
    let args = ["security", "--no-pager", "--offline=true", &threshold, UNIT];
    let Some(run) = run("systemd-analyze", &args) else { return };
    assert!(run.ok, "exposed more than {MOST_EXPOSURE} tenths:\n{}", run.text);
}

#[test]
fn its_command_line_is_one_that_the_binary_takes() {
    let unit = read(UNIT);
    let lines: Vec<&str> = values(&unit, "ExecStart").collect();
    let [line] = lines.as_slice() else { panic!("not one ExecStart: {lines:?}") };
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], BINARY);
    let Command::Run(run) = Cli::try_parse_from(&words).unwrap().command else { panic!("not run: {line}") };
    assert_eq!(run.config.file.to_str(), Some(crate::cli::CONFIG_FILE));
}

/// config/hostwatch.toml without its secrets, which are the credentials that the unit loads: systemd names each
/// file of a directory after the id and the file.
#[test]
fn its_credentials_are_found_by_name() {
    let unit = read(UNIT);
    let loaded: Vec<&str> = values(&unit, "LoadCredential").collect();
    let [loaded] = loaded.as_slice() else { panic!("not one directory: {loaded:?}") };
    let (id, source) = loaded.split_once(':').unwrap();
    assert_eq!(source, "/etc/hostwatch/credentials");
    let example = read("config/hostwatch.toml");
    let (secrets, rest): (Vec<&str>, Vec<&str>) = example.lines().partition(|line| line.contains("_file = "));
    let directory = tempfile::tempdir().unwrap();
    let names = secrets.iter().map(|line| {
        let path = line.split('"').nth(1).unwrap();
        format!("{id}_{}", path.rsplit('/').next().unwrap())
    });
    let mut names: Vec<String> = names.collect();
    for name in &names {
        fs::write(directory.path().join(name), "secret\n").unwrap();
    }
    let file = directory.path().join("hostwatch.toml");
    fs::write(&file, rest.join("\n")).unwrap();

    let load = |env: Environment| config::load(Some(&file), &env);
    let place = directory.path().to_str().unwrap().to_owned();
    let settings = load([("CREDENTIALS_DIRECTORY".to_owned(), place)].into_iter().collect()).unwrap();
    let mut used: Vec<&str> =
        settings.secret_files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    used.sort_unstable();
    names.sort_unstable();
    assert_eq!(used, names);
    assert!(load(Environment::default()).is_err(), "the secrets came from elsewhere");
}

/// The values of a directive, in order.
fn values<'a>(unit: &'a str, directive: &'a str) -> impl Iterator<Item = &'a str> {
    unit.lines().filter_map(move |line| line.strip_prefix(directive)?.strip_prefix('='))
}
