//! A store whose disk is full, that somebody locks, or that is damaged, under the real binary: it says so once,
//! nobody misses a mail, and a damaged file is kept for whoever wants to look at it.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use crate::common;
use crate::common::tools;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::ledger::Ledger;
use common::smtp::SmtpServer;
use common::*;
use rusqlite::Connection;

const STARTED: &str = "main/started/account started";
const OPS: &str = "ops@example.com";
const LEFT: &str = "the store cannot be used; incidents and mails go on in memory";
const HOME: &str = "the store works again";
const ASIDE: &str = "the store was damaged; it was set aside";
/// Twice the time after which a daemon without its file looks whether it is back, and to spare.
const A_WHILE: Duration = Duration::from_secs(40);

fn opened(vm: u64) -> String {
    format!("main/vm_error/{vm} opened")
}

fn resolved(vm: u64) -> String {
    format!("main/vm_error/{vm} resolved")
}

/// A healthy daemon that has sent its first mail.
fn healthy(provider: &Provider, smtp: &SmtpServer) -> Daemon {
    let mut daemon = Daemon::prepare(provider, smtp.address, "[alerts]\nrecover_polls = 1\n");
    daemon.run_as(shell(""));
    wait_for(smtp, STARTED);
    daemon.has_sent(1);
    daemon
}

/// The daemon behind a shell's `limit`. A write past it fails for it as on a full disk, rather than end it.
pub(crate) fn shell(limit: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = format!("trap '' XFSZ; {limit} exec \"$@\"");
    command.args([
        "-c",
        &script,
        "sh",
        env!("CARGO_BIN_EXE_hostwatch"),
        "run",
        "--web.listen-address=127.0.0.1:0",
    ]);
    command
}

fn store(daemon: &Daemon) -> PathBuf {
    daemon.directory.path().join("hostwatch.db")
}

fn aside(daemon: &Daemon) -> Option<PathBuf> {
    let entries = std::fs::read_dir(daemon.directory.path()).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("hostwatch.db.damaged-") && name.ends_with('Z')
    });
    assert!(found.len() <= 1, "{found:?}");
    found.pop()
}

/// Lets no file of the daemon grow, or all of them again; false where the tool for it is missing.
pub(crate) fn full_disk(daemon: &Daemon, full: bool) -> bool {
    let id = daemon.id().to_string();
    let limit = if full { "--fsize=1:unlimited" } else { "--fsize=unlimited:unlimited" };
    let run = tools::run("prlimit", &["--pid", &id, limit]);
    if let Some(run) = &run {
        assert!(run.ok, "{}", run.text);
    }
    run.is_some()
}

/// A mail arrives although the store takes nothing; the log says it once, the metrics all the time.
fn goes_on_in_memory(provider: &Provider, smtp: &SmtpServer, daemon: &Daemon) {
    provider.set_vm(10001, "error");
    wait_for(smtp, &opened(10001));
    daemon.log.wait(LEFT);
    daemon.shows("hostwatch_store_usable 0");
    // One that opens and ends meanwhile.
    provider.set_vm(10002, "error");
    wait_for(smtp, &opened(10002));
    provider.set_vm(10002, "active");
    wait_for(smtp, &resolved(10002));
    assert_eq!(daemon.log.count(LEFT), 1, "{:#?}", daemon.log.lines());
}

/// The store is whole again: what happened meanwhile is in it, and nothing is told twice.
fn comes_home(provider: &Provider, smtp: &SmtpServer, daemon: &mut Daemon) {
    until_within(A_WHILE, "the store works again", || daemon.log.count(HOME) + daemon.log.count(ASIDE) == 1);
    daemon.shows("hostwatch_store_usable 1");
    let (status, out, error) = daemon.command(&["why", "main/vm_error/10001"]);
    assert!(status == 0 && out.contains("first seen in this poll"), "{out}{error}");
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.all_polled(3);
    provider.set_vm(10001, "active");
    wait_for(smtp, &resolved(10001));
    provider.all_polled(2);
    let mut told = [STARTED.to_owned(), opened(10001), opened(10002), resolved(10001), resolved(10002)];
    told.sort();
    let ledger = Ledger::of(smtp, OPS);
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    assert_eq!((ledger.events(), ledger.repeats()), (told, 0), "{:#?}", daemon.log.lines());
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn a_disk_that_fills_up_holds_back_no_mail() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    if !full_disk(&daemon, true) {
        return;
    }
    goes_on_in_memory(&provider, &smtp, &daemon);
    full_disk(&daemon, false);
    comes_home(&provider, &smtp, &mut daemon);
    assert!(aside(&daemon).is_none(), "a full disk is no damage");
}

/// The file is tried every ten seconds; a stop does not wait for that.
#[test]
fn a_stop_while_the_store_is_in_memory_writes_it_back() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    if !full_disk(&daemon, true) {
        return;
    }
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_store_usable 0");
    let (code, out, error) = daemon.command(&["ack", "main/vm_error/10001"]);
    assert!(code == 0 && out.contains("a restart loses it"), "{code} {out} {error}");
    full_disk(&daemon, false);
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.all_polled(3);
    let ledger = Ledger::of(&smtp, OPS);
    assert_eq!((ledger.events(), ledger.repeats()), (vec![STARTED, &opened(10001)], 0));
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn a_daemon_starts_on_a_full_disk() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    daemon.stop();
    provider.set_vm(10001, "error");
    daemon.run_as(shell("ulimit -S -f 0;"));
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_store_usable 0");
    if !full_disk(&daemon, false) {
        return;
    }
    until_within(A_WHILE, "the store works again", || daemon.log.count(HOME) == 1);
    daemon.stop();
    daemon.run();
    provider.all_polled(3);
    let ledger = Ledger::of(&smtp, OPS);
    assert_eq!((ledger.events(), ledger.repeats()), (vec![STARTED, &opened(10001)], 0));
}

#[test]
fn a_daemon_starts_on_a_disk_that_came_up_read_only() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    daemon.stop();
    let place = daemon.directory.path().to_str().unwrap().to_owned();
    let read_only = format!("mount --bind {place} {place} && mount -o remount,bind,ro {place}");
    let private = ["--mount", "--propagation", "private", "sh", "-c"];
    let can = tools::run("unshare", &[&private[..], &[&read_only]].concat());
    if !can.is_some_and(|tried| tried.ok) {
        eprintln!("skipped: this user may not mount");
        return;
    }
    provider.set_vm(10001, "error");
    let mut command = Command::new("unshare");
    let script = format!("{read_only} && exec \"$@\"");
    let binary = env!("CARGO_BIN_EXE_hostwatch");
    command.args(private).args([&script, "sh", binary, "run", "--web.listen-address=127.0.0.1:0"]);
    daemon.run_as(command);
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_store_usable 0");
    let id = daemon.id().to_string();
    let writable = ["-t", &id, "-m", "mount", "-o", "remount,bind,rw", &place];
    let remounted = tools::run("nsenter", &writable).unwrap();
    assert!(remounted.ok, "{}", remounted.text);
    until_within(A_WHILE, "the store works again", || daemon.log.count(HOME) == 1);
    daemon.stop();
    daemon.run();
    provider.all_polled(3);
    let ledger = Ledger::of(&smtp, OPS);
    assert_eq!((ledger.events(), ledger.repeats()), (vec![STARTED, &opened(10001)], 0));
}

#[test]
fn an_update_on_a_full_disk_holds_back_no_mail() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    let raw = Connection::open(store(&daemon)).unwrap();
    raw.execute_batch(include_str!("../fixtures/store/v1.sql")).unwrap();
    drop(raw);
    let version = |daemon: &Daemon| -> i64 {
        Connection::open(store(daemon))
            .unwrap()
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap()
    };
    daemon.run_as(shell("ulimit -S -f 0;"));
    wait_for(&smtp, "main/disconnect/account rung:7");
    daemon.shows("hostwatch_store_usable 0");
    assert_eq!(version(&daemon), 1);
    if !full_disk(&daemon, false) {
        return;
    }
    until_within(A_WHILE, "the store works again", || daemon.log.count(HOME) == 1);
    assert_eq!(version(&daemon), 7);
    assert!(daemon.directory.path().join("hostwatch.db.v1").exists(), "the older release's is kept");
    daemon.stop();
    daemon.run();
    provider.all_polled(3);
    assert_eq!(Ledger::of(&smtp, OPS).repeats(), 0);
}

#[test]
fn a_store_that_somebody_locks_holds_back_no_mail() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    let other = Connection::open(store(&daemon)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    goes_on_in_memory(&provider, &smtp, &daemon);
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    comes_home(&provider, &smtp, &mut daemon);
    assert!(aside(&daemon).is_none());
}

#[test]
fn a_daemon_starts_on_a_locked_store() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    daemon.stop();
    let other = Connection::open(store(&daemon)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    provider.set_vm(10001, "error");
    daemon.run();
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_store_usable 0");
    other.execute_batch("ROLLBACK").unwrap();
    until_within(A_WHILE, "the store works again", || daemon.log.count(HOME) == 1);
    daemon.stop();
    daemon.run();
    provider.all_polled(3);
    let ledger = Ledger::of(&smtp, OPS);
    assert_eq!((ledger.events(), ledger.repeats()), (vec![STARTED, &opened(10001)], 0));
}

/// What was decided without the file is lost with the process; what is still so is found and told again.
#[test]
fn a_crash_while_the_store_is_locked_loses_nothing() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    let other = Connection::open(store(&daemon)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    provider.lasts_days(2);
    wait_for(&smtp, "main/disconnect/account rung:3");
    daemon.kill();
    other.execute_batch("ROLLBACK").unwrap();
    let before = received(&smtp).len();
    daemon.run();
    let again =
        |pair: &str| received(&smtp)[before..].iter().any(|mail| mail.pairs.iter().any(|one| one == pair));
    until("both are told again", || again(&opened(10001)) && again("main/disconnect/account rung:3"));
    provider.all_polled(2);
    assert_eq!(received(&smtp).len(), before + 2);
}

#[test]
fn a_store_damaged_at_the_start_is_kept_and_a_new_one_begun() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    daemon.stop();
    let garbage = b"this was a store once ".repeat(4000);
    std::fs::write(store(&daemon), &garbage).unwrap();
    provider.set_vm(10001, "error");
    daemon.run();
    daemon.log.wait(ASIDE);
    let kept = aside(&daemon).unwrap();
    assert_eq!(std::fs::read(&kept).unwrap(), garbage);
    // As at the first start; the mail says why.
    let mail = wait_for(&smtp, "main/vm_error/10001 started");
    assert!(mail.text.replace("\n    ", " ").contains("was damaged"), "{}", mail.text);
    provider.set_vm(10001, "active");
    let next = wait_for(&smtp, &resolved(10001));
    assert!(!next.text.contains("was damaged"), "{}", next.text);
    daemon.stop();
    daemon.run();
    provider.all_polled(2);
    assert_eq!(received(&smtp).len(), 3);
    assert_eq!(daemon.log.count(ASIDE), 0);
}

#[test]
fn that_the_store_was_damaged_is_told_once_to_each_recipient() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let rule = "[alerts.rules.vm_error]\nto = [\"ann@example.com\"]\n";
    let mut daemon = Daemon::prepare(&provider, smtp.address, rule);
    std::fs::write(store(&daemon), b"this was a store once ".repeat(4000)).unwrap();
    daemon.run();
    daemon.log.wait(ASIDE);
    let says = |mail: &Received| mail.text.replace("\n    ", " ").contains("was damaged");
    assert!(says(&wait_for(&smtp, STARTED)));
    provider.set_vm(10001, "error");
    assert!(says(&wait_for(&smtp, &opened(10001))), "ann did not hear of it yet");
    provider.set_vm(10002, "error");
    assert!(!says(&wait_for(&smtp, &opened(10002))));
    provider.set_site("shop.example.com", "Error");
    assert!(!says(&wait_for(&smtp, "main/site_error/2001 opened")));
}

#[test]
fn a_store_damaged_while_running_is_kept_and_a_new_one_begun() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    let other = Connection::open(store(&daemon)).unwrap();
    let version: i64 = other.query_row("PRAGMA schema_version", [], |row| row.get(0)).unwrap();
    other
        .execute_batch(&format!(
            "PRAGMA writable_schema = ON; BEGIN;
             UPDATE sqlite_schema SET sql = 'CREATE TABLE envelopes (' WHERE name = 'envelopes';
             PRAGMA schema_version = {}; COMMIT",
            version + 1
        ))
        .unwrap();
    drop(other);
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    provider.set_vm(10002, "error");
    wait_for(&smtp, &opened(10002));
    provider.set_vm(10002, "active");
    wait_for(&smtp, &resolved(10002));
    until_within(A_WHILE, "it is set aside", || daemon.log.count(ASIDE) == 1);
    assert!(daemon.log.count(LEFT) <= 1, "{:#?}", daemon.log.lines());
    let kept = aside(&daemon).unwrap();
    comes_home(&provider, &smtp, &mut daemon);
    assert_eq!(aside(&daemon), Some(kept));
}

/// Bytes that change under the daemon are found when they are read: at the latest by the next start.
#[test]
fn a_store_that_is_overwritten_holds_back_no_mail() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&provider, &smtp);
    for end in ["", "-wal"] {
        let file = PathBuf::from(format!("{}{end}", store(&daemon).display()));
        let size = std::fs::metadata(&file).unwrap().len() as usize;
        std::fs::write(&file, vec![b'x'; size]).unwrap();
    }
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    daemon.kill();
    provider.set_vm(10002, "error");
    daemon.run();
    let again = wait_for(&smtp, "main/vm_error/10002 started");
    assert!(again.pairs.contains(&"main/vm_error/10001 started".to_owned()), "{:?}", again.pairs);
    assert_eq!(daemon.log.count(ASIDE), 1, "{:#?}", daemon.log.lines());
    assert!(std::fs::read(aside(&daemon).unwrap()).unwrap().starts_with(b"xxxx"), "as it was");
}
