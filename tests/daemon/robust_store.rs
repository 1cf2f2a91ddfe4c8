//! A store that somebody deletes or replaces under the daemon, or reaches under another name; one of an earlier release;
//! and commands that root gave while the daemon was stopped.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use chrono::Duration;
use rusqlite::Connection;

use crate::common::clock::Clock;
use crate::common::smtp::{Act, SmtpServer, Stage};
use crate::common::*;

const STARTED: &str = "main/started/account started";

/// How often a mail told this.
fn times(smtp: &SmtpServer, pair: &str) -> usize {
    received(smtp).iter().filter(|mail| mail.pairs.iter().any(|one| one == pair)).count()
}

fn remove(directory: &Path, ends: &[&str]) {
    for end in ends {
        let _ = fs::remove_file(directory.join(format!("hostwatch.db{end}")));
    }
}

/// One incident was mailed and another one's mail waits when the file goes; the daemon is killed a minute later.
fn survives(change: impl Fn(&Path), said: &str) -> tempfile::TempDir {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut clock = Clock::new();
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, STARTED);
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    daemon.has_sent(2);
    smtp.on(Stage::Mail, Act::reply("451 4.7.1 later"));
    provider.set_vm(10002, "error");
    until("a mail waits", || daemon.command(&["outbox"]).1.contains("451"));

    change(daemon.directory.path());
    clock.pass(Duration::seconds(20));
    daemon.log.wait(said);
    let store = daemon.directory.path().join("hostwatch.db");
    until("the store", || store.exists());
    daemon.shows("hostwatch_store_usable 1");
    daemon.kill();
    smtp.forget_rules();
    daemon.run();
    clock.pass(Duration::seconds(31));
    wait_for(&smtp, "main/vm_error/10002 opened");
    for id in [10001, 10002] {
        provider.set_vm(id, "active");
    }
    for id in [10001, 10002] {
        wait_for(&smtp, &format!("main/vm_error/{id} resolved"));
        assert_eq!(times(&smtp, &format!("main/vm_error/{id} opened")), 1, "{id}");
    }
    assert_eq!(times(&smtp, STARTED), 1);
    assert_eq!(daemon.stop(), 0);
    std::mem::replace(&mut daemon.directory, tempfile::tempdir().unwrap())
}

#[test]
fn a_store_deleted_under_the_daemon_is_written_anew() {
    let cases: [&[&str]; 4] = [&["", "-wal", "-shm"], &[""], &["-wal"], &["-shm"]];
    each(
        &cases,
        |ends| format!("{ends:?}"),
        |ends| {
            survives(|directory| remove(directory, ends), "was deleted; it was written anew");
        },
    );
}

#[test]
fn what_replaces_a_store_is_moved_aside() {
    let garbage = b"not a store\n".repeat(500);
    let other: [&[u8]; 2] = [&garbage, b""];
    each(
        &other,
        |other| format!("{} bytes", other.len()),
        |other| {
            let directory = survives(
                |directory| {
                    fs::write(directory.join("other"), other).unwrap();
                    remove(directory, &["-wal", "-shm"]);
                    fs::rename(directory.join("other"), directory.join("hostwatch.db")).unwrap();
                },
                "moved aside and the store written anew",
            );
            let aside = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
            let aside = aside.filter(|path| path.to_str().unwrap().contains(".replaced-"));
            let aside: Vec<_> = aside.collect();
            assert_eq!(aside.len(), 1, "{aside:?}");
            assert_eq!(&fs::read(&aside[0]).unwrap(), other, "it is what it was");
        },
    );
}

#[test]
fn two_daemons_share_no_store_under_whatever_names() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut clock = Clock::new();
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, STARTED);
    let store = daemon.directory.path().join("hostwatch.db");
    let refused = |name: &Path| {
        let second = Daemon::prepare(&provider, smtp.address, "");
        let own = format!("{}/hostwatch.db", second.directory.path().display());
        second.configure(&own, name.to_str().unwrap());
        let binary = std::env::var("HOSTWATCH_BINARY").unwrap_or(env!("CARGO_BIN_EXE_hostwatch").to_owned());
        let output = Command::new("timeout")
            .args(["10", &binary, "run", "--web.listen-address=127.0.0.1:0", "--config.file"])
            .arg(second.config())
            .output();
        let error = String::from_utf8(output.unwrap().stderr).unwrap();
        assert!(error.contains("another hostwatch holds"), "{}: {error}", name.display());
    };
    let elsewhere = tempfile::tempdir_in(daemon.directory.path()).unwrap();
    let (file, directory, hard) =
        (elsewhere.path().join("f.db"), elsewhere.path().join("d"), elsewhere.path().join("h.db"));
    std::os::unix::fs::symlink(&store, &file).unwrap();
    std::os::unix::fs::symlink(daemon.directory.path(), &directory).unwrap();
    fs::hard_link(&store, &hard).unwrap();
    for name in [&store, &file, &directory.join("hostwatch.db"), &hard] {
        refused(name);
    }
    // The file written anew is locked as well.
    let before = fs::metadata(&store).unwrap().ino();
    remove(daemon.directory.path(), &["", "-wal", "-shm"]);
    clock.pass(Duration::seconds(20));
    until("a new file", || fs::metadata(&store).is_ok_and(|data| data.ino() != before));
    daemon.log.wait("written anew");
    refused(&store);
}

#[test]
fn a_store_of_version_0_1_goes_on_where_it_was() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    let older = Connection::open(daemon.directory.path().join("hostwatch.db")).unwrap();
    older.execute_batch(include_str!("../fixtures/store/v1.sql")).unwrap();
    // The mail about VM 10001 had arrived; those of the first start and of the 7-day rung wait.
    let told = "UPDATE envelopes SET state = 'sent', ended_at = due_at WHERE id = 2";
    assert_eq!(older.execute(told, []).unwrap(), 1);
    drop(older);
    provider.set_vm(10001, "error");
    provider.set_vm(10003, "error");
    daemon.run();
    let waiting = [STARTED, "main/disconnect/account rung:7", "main/vm_error/10003 opened"];
    for pair in waiting {
        wait_for(&smtp, pair);
    }
    for kill in [true, false] {
        provider.all_polled(3);
        for pair in waiting {
            assert_eq!(times(&smtp, pair), 1, "{pair}");
        }
        assert_eq!(times(&smtp, "main/vm_error/10001 opened"), 0, "that was told");
        if kill {
            daemon.kill();
            daemon.run();
        }
    }
    provider.set_vm(10001, "active");
    let end = wait_for(&smtp, "main/vm_error/10001 resolved");
    let raw = String::from_utf8(end.raw).unwrap();
    assert!(raw.contains("In-Reply-To: <760c903ebabcb7e670b368e974ecc268@example.com>"), "{raw}");
}

/// Of the user `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn after_any_command_of_root_the_daemon_starts_and_writes() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    let directory = daemon.directory.path().to_owned();
    if chown(&directory, Some(NOBODY), Some(NOBODY)).is_err() {
        // Only root can try this.
        return;
    }
    // Where the service's user can reach it.
    let binary = directory.join("hostwatch");
    fs::copy(env!("CARGO_BIN_EXE_hostwatch"), &binary).unwrap();
    let run = |daemon: &mut Daemon| {
        let mut command = Command::new(&binary);
        command.args(["run", "--web.listen-address=127.0.0.1:0"]).uid(NOBODY).gid(NOBODY);
        daemon.run_as(command);
    };
    let commands: [&[&str]; 14] = [
        &["check-config"],
        &["doctor"],
        &["status"],
        &["forecast"],
        &["rehearse"],
        &["incidents"],
        &["outbox"],
        &["why", "main/vm_error/10001"],
        &["ack", "main/vm_error/10001"],
        &["silence", "main/vm_stuck/*", "--for", "1h"],
        &["silence", "--list"],
        &["outbox", "retry", "all"],
        &["test-email"],
        &["metrics"],
    ];
    let try_all = |daemon: &Daemon| {
        for args in commands {
            if args[0] == "metrics" {
                assert!(Command::new(&binary).args(args).output().unwrap().status.success());
            } else {
                daemon.command(args);
            }
            for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                let owner = entry.metadata().unwrap().uid();
                assert!(!name.starts_with("hostwatch.db") || owner == NOBODY, "{args:?}: {name} of {owner}");
            }
        }
    };
    // Before the first start, after a stop and after a kill.
    try_all(&daemon);
    run(&mut daemon);
    wait_for(&smtp, STARTED);
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    daemon.has_sent(2);
    assert_eq!(daemon.stop(), 0);
    try_all(&daemon);
    run(&mut daemon);
    provider.set_vm(10002, "error");
    wait_for(&smtp, "main/vm_error/10002 opened");
    daemon.has_sent(3);
    daemon.kill();
    try_all(&daemon);
    run(&mut daemon);
    provider.set_vm(10002, "active");
    wait_for(&smtp, "main/vm_error/10002 resolved");
    for id in [10001, 10002] {
        assert_eq!(times(&smtp, &format!("main/vm_error/{id} opened")), 1, "{id}");
    }
    assert_eq!(times(&smtp, STARTED), 1);
    assert_eq!(daemon.stop(), 0);
}
