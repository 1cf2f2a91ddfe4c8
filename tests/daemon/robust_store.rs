//! A store that somebody deletes or replaces under the daemon, and commands of root while the daemon was stopped.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use chrono::Duration;

use crate::common::clock::Clock;
use crate::common::smtp::{Act, SmtpServer, Stage};
use crate::common::*;

/// The number of mails with this event.
fn times(smtp: &SmtpServer, pair: &str) -> usize {
    received(smtp).iter().filter(|mail| mail.pairs.iter().any(|one| one == pair)).count()
}

fn remove(directory: &Path, ends: &[&str]) {
    for end in ends {
        let _ = fs::remove_file(directory.join(format!("hostwatch.db{end}")));
    }
}

/// One incident was mailed and another is owed when somebody changes the files: the daemon ends with an error.
/// Returns its files after a second start. `is_kept`: that start finds everything that the first one knew.
fn ends(change: impl Fn(&Path), is_kept: bool) -> tempfile::TempDir {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut clock = Clock::new();
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, STARTED);
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    daemon.has_sent(2);
    smtp.on(Stage::Mail, Act::reply("451 4.7.1 later"));
    provider.set_vm(10002, "error");
    until("a mail is owed", || daemon.command(&["outbox"]).1.contains("451"));

    change(daemon.directory.path());
    clock.pass(Duration::seconds(20));
    daemon.log.wait("file was deleted or replaced");
    assert_eq!(daemon.ended(), 1, "so that the service manager starts it anew");
    daemon.log.wait("hostwatch: the store's file was deleted or replaced");
    smtp.forget_rules();
    daemon.run();
    // A daemon without knowledge tells everything in a first mail.
    wait_for(&smtp, if is_kept { "main/vm_error/10002 opened" } else { "main/vm_error/10002 started" });
    for id in [10001, 10002] {
        provider.set_vm(id, "active");
    }
    for id in [10001, 10002] {
        wait_for(&smtp, &format!("main/vm_error/{id} resolved"));
        assert_eq!(times(&smtp, &format!("main/vm_error/{id} started")), usize::from(!is_kept), "{id}");
    }
    assert_eq!(times(&smtp, "main/vm_error/10001 opened"), 1);
    assert_eq!(times(&smtp, STARTED), 1);
    daemon.shows("hostwatch_store_usable 1");
    assert_eq!(daemon.stop(), 0);
    std::mem::replace(&mut daemon.directory, tempfile::tempdir().unwrap())
}

#[test]
fn a_deleted_store_ends_the_daemon() {
    let cases: [(&[&str], bool); 4] =
        [(&["", "-wal", "-shm"], false), (&[""], false), (&["-wal"], true), (&["-shm"], true)];
    each(
        &cases,
        |(files, _)| format!("{files:?}"),
        |(files, is_kept)| {
            ends(|directory| remove(directory, files), *is_kept);
        },
    );
}

/// The id of the user `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn the_daemon_writes_after_commands_of_root() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    let directory = daemon.directory.path().to_owned();
    if chown(&directory, Some(NOBODY), Some(NOBODY)).is_err() {
        // Only root can try this.
        return;
    }
    chown(daemon.config(), Some(NOBODY), Some(NOBODY)).unwrap();
    // In a place that the service's user can reach.
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
        &["test-message"],
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
