//! Mistakes on real machines: a wrong store, a broken configuration, output on a full disk, signals during the start.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::smtp::SmtpServer;
use crate::common::*;

/// The files of a daemon that does not run.
fn stopped() -> (Provider, SmtpServer, Daemon) {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = Daemon::prepare(&provider, smtp.address, "");
    (provider, smtp, daemon)
}

#[test]
fn a_store_that_cannot_be_found_or_read_is_no_empty_one() {
    let (_provider, _smtp, daemon) = stopped();
    let good = fs::read_to_string(daemon.config()).unwrap();
    let (before, after) = good.split_once("[store]").unwrap();
    let of = |store: &str| format!("{before}{store}{}", after.split_once(".db\"\n").unwrap().1);
    let foreign = daemon.directory.path().join("foreign.db");
    let other = rusqlite::Connection::open(&foreign).unwrap();
    other.execute_batch("PRAGMA application_id = 7; CREATE TABLE dashboard (id INTEGER)").unwrap();
    drop(other);
    let of_foreign = of(&format!("[store]\npath = '{}'", foreign.display()));
    let broken = good.replace("[store]", "[store");
    let cases = [
        (of("[store]\npath = 5"), "store.path: "),
        (of("[store]\npath = ['a.db']"), "store.path: "),
        (format!("store = 5\n{}", of("")), "store: "),
        (of_foreign.clone(), "is another program's database"),
        (broken, "not valid TOML"),
    ];
    let reading =
        [&["incidents"][..], &["outbox"], &["silence", "--list"], &["why", "main/disconnect/account"]];
    let asking = [&["healthcheck"][..], &["status"], &["poll"], &["reload"]];
    for (config, want) in &cases {
        fs::write(daemon.config(), config).unwrap();
        let asking = asking.iter().filter(|_| !want.contains("database"));
        for command in reading.iter().chain(asking) {
            let (code, out, error) = daemon.command(command);
            let failed = if *command == ["status"] { 3 } else { 1 };
            assert!(code == failed && error.contains(want), "{want} {command:?}: {code} {out} {error}");
        }
    }
    let run = &["run", "--web.listen-address=127.0.0.1:0"][..];
    fs::write(daemon.config(), of_foreign).unwrap();
    let bytes = fs::read(&foreign).unwrap();
    for command in [run, &["check-config"], &["doctor"]] {
        let (code, out, error) = daemon.command(command);
        let said = flat(&format!("{out} {error}"));
        assert!(code == 1 && said.contains("correct store.path"), "{command:?}: {code} {said}");
        assert_eq!(fs::read(&foreign).unwrap(), bytes, "{command:?}");
    }
    fs::write(daemon.config(), of("[store]\npath = '/proc/hostwatch.db'")).unwrap();
    let (code, _, error) = daemon.command(run);
    assert!(code == 1 && error.contains("/proc/hostwatch.db"), "it does not go on in memory: {code} {error}");
}

#[test]
fn a_store_without_room_is_told_before_the_start() {
    let (_provider, _smtp, daemon) = stopped();
    // A write beyond the limit fails as on a full disk.
    let mut limited = shell("ulimit -f 8; exec \"$0\" \"$@\"");
    let (_, _, error) = outcome(limited.args(["check-config", "--config.file"]).arg(daemon.config()));
    let error = flat(&error);
    assert!(error.contains("hostwatch.db: ") && error.contains("make room on its disk"), "{error}");
    assert_eq!(fs::read_dir(daemon.directory.path()).unwrap().count(), 1, "nothing is left");
}

#[test]
fn another_place_of_the_store_takes_a_restart() {
    let (_provider, _smtp, daemon) = watching("");
    daemon.configure("/hostwatch.db", "/elsewhere.db");
    daemon.signal("HUP");
    let line = daemon.log.wait("configuration not reloaded; the old one stays");
    assert!(
        line.contains("/elsewhere.db, and the daemon has ") && line.contains("takes a restart"),
        "{line}"
    );
    daemon.shows("hostwatch_config_last_reload_successful 0");
}

#[test]
fn output_that_nobody_takes_ends_nothing() {
    let (_provider, smtp, mut daemon) = stopped();
    let mut deaf = shell("exec \"$0\" \"$@\" 2>/dev/full");
    deaf.args(["run", "--web.listen-address=127.0.0.1:0"]);
    daemon.begin(deaf);
    wait_for(&smtp, STARTED);
    let full = || Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
    for (command, failed) in [("incidents", 1), ("status", 3), ("check-config", 1), ("healthcheck", 1)] {
        let mut process = Command::new(binary());
        process.args([command, "--config.file"]).arg(daemon.config());
        let status = process.stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(failed), "{command:?}");
    }
    assert_eq!(daemon.stop(), 0);
}

/// The program replaces itself at its start, which forgets handlers.
#[test]
fn a_hangup_during_the_start_ends_nothing() {
    let (_provider, _smtp, mut daemon) = stopped();
    let mut command = Command::new(binary());
    command.args(["run", "--web.listen-address=127.0.0.1:0"]);
    daemon.begin(command);
    let id = Pid::from_raw(daemon.id().try_into().unwrap());
    let mut is_in_main = false;
    while daemon.log.count("serving metrics") == 0 {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        assert!(!status.contains("State:\tZ"), "SIGHUP ended it");
        let guards = ["SigBlk:\t", "SigCgt:\t"].map(|mask| status.split(mask).nth(1).unwrap().as_bytes()[15]);
        is_in_main |= guards.iter().any(|digit| char::from(*digit).to_digit(16).unwrap() % 2 == 1);
        if is_in_main {
            kill(id, Signal::SIGHUP).unwrap();
        }
    }
    daemon.log.wait("configuration reloaded");
    daemon.has_begun();
    assert_eq!(daemon.stop(), 0);
}

/// Another program holds the store, so the start takes as long as the test wants.
#[test]
fn a_reload_that_is_asked_for_during_the_start_comes_after_it() {
    let (_provider, _smtp, mut daemon) = watching("");
    assert_eq!(daemon.stop(), 0);
    let store = rusqlite::Connection::open(daemon.directory.path().join("hostwatch.db")).unwrap();
    store.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE").unwrap();
    let mut command = Command::new(binary());
    command.args(["run", "--web.listen-address=127.0.0.1:0"]);
    daemon.begin(command);
    // To open the file and close it here would end the lock of this process.
    let locked = format!("FLOCK  ADVISORY  WRITE {} ", daemon.id());
    until("it has locked its store", || fs::read_to_string("/proc/locks").unwrap().contains(&locked));
    daemon.signal("HUP");
    drop(store);
    daemon.has_begun();
    daemon.log.wait("configuration reloaded");
}

#[test]
fn a_variable_that_is_no_text_is_named() {
    let (_provider, _smtp, daemon) = stopped();
    let name = "HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY";
    let mut command = Command::new(binary());
    command.env(name, OsStr::from_bytes(b"hunter2\xff")).args(["check-config", "--config.file"]);
    let (code, _, error) = outcome(command.arg(daemon.config()));
    assert!(
        error.contains(name) && error.contains("not text in UTF-8") && !error.contains("hunter"),
        "{error}"
    );
    assert_eq!(code, 1);
}
