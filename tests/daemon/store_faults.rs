//! A store whose disk is full, that somebody locks, or that is damaged, under the real binary. The daemon
//! reports it once, every mail arrives, and a damaged file is kept for an examination.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use crate::common;
use crate::common::tools;

use std::path::PathBuf;
use std::process::Command;

use common::ledger::Ledger;
use common::smtp::{Act, SmtpServer, Stage};
use common::*;
use rusqlite::Connection;

const LEFT: &str = "the store cannot be used; incidents and mails go on in memory";
const HOME: &str = "the store works again";
const ASIDE: &str = "the store was damaged; it was set aside";

/// A healthy daemon that has sent its first mail.
fn healthy() -> (Provider, SmtpServer, Daemon) {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "[alerts]\nrecover_polls = 1\n");
    daemon.run_as(limited(""));
    wait_for(&smtp, STARTED);
    daemon.has_sent(1);
    (provider, smtp, daemon)
}

/// The daemon behind a shell's `limit`. A write beyond it fails as on a full disk, and does not end the daemon.
fn limited(limit: &str) -> Command {
    let mut command = shell(&format!("trap '' XFSZ; {limit} exec \"$0\" \"$@\""));
    command.args(["run", "--web.listen-address=127.0.0.1:0"]);
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

/// Stops all files of the daemon from growing, or lets them grow again. False if the tool for it is missing.
fn full_disk(daemon: &Daemon, full: bool) -> bool {
    let id = daemon.id().to_string();
    let limit = if full { "--fsize=1:unlimited" } else { "--fsize=unlimited:unlimited" };
    let run = tools::run("prlimit", &["--pid", &id, limit]);
    if let Some(run) = &run {
        assert!(run.ok, "{}", run.text);
    }
    run.is_some()
}

/// A mail arrives although the store cannot be written. The log reports it once, the metrics all the time.
fn goes_on_in_memory(provider: &Provider, smtp: &SmtpServer, daemon: &Daemon) {
    provider.set_vm(10001, "error");
    wait_for(smtp, &opened(10001));
    daemon.log.wait(LEFT);
    daemon.shows("hostwatch_store_usable 0");
    // An incident that opens and ends meanwhile.
    provider.set_vm(10002, "error");
    wait_for(smtp, &opened(10002));
    provider.set_vm(10002, "active");
    wait_for(smtp, &resolved(10002));
    assert_eq!(daemon.log.count(LEFT), 1, "{:#?}", daemon.log.lines());
    let (code, status, error) = daemon.command(&["status"]);
    assert!(code == 1 && status.contains("Store cannot be written: "), "{status}{error}");
}

/// The store is whole again: it has all events of that time, and no event is mailed twice.
fn comes_home(provider: &Provider, smtp: &SmtpServer, daemon: &mut Daemon) {
    until("the store works again", || daemon.log.count(HOME) + daemon.log.count(ASIDE) == 1);
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
fn a_full_disk_stops_no_mail() {
    let (provider, smtp, mut daemon) = healthy();
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
fn a_stop_writes_memory_back() {
    let (provider, smtp, mut daemon) = healthy();
    if !full_disk(&daemon, true) {
        return;
    }
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_store_usable 0");
    let (code, out, error) = daemon.command(&["ack", "main/vm_error/10001"]);
    assert!(code == 0 && out.contains("a restart loses it"), "{code} {out} {error}");
    full_disk(&daemon, false);
    repeats_nothing(&provider, &smtp, &mut daemon, &[STARTED, &opened(10001)]);
}

/// Another start mails nothing that was mailed.
fn repeats_nothing(provider: &Provider, smtp: &SmtpServer, daemon: &mut Daemon, told: &[&str]) {
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.all_polled(3);
    let ledger = Ledger::of(smtp, OPS);
    assert_eq!((ledger.events(), ledger.repeats()), (told.to_vec(), 0));
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn it_starts_on_a_full_disk() {
    let (provider, smtp, mut daemon) = healthy();
    daemon.stop();
    provider.set_vm(10001, "error");
    daemon.run_as(limited("ulimit -S -f 0;"));
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_store_usable 0");
    if !full_disk(&daemon, false) {
        return;
    }
    until("the store works again", || daemon.log.count(HOME) == 1);
    repeats_nothing(&provider, &smtp, &mut daemon, &[STARTED, &opened(10001)]);
}

#[test]
fn it_ends_on_a_read_only_disk_with_the_remedy() {
    let (_provider, _smtp, mut daemon) = healthy();
    daemon.stop();
    let before = std::fs::read(store(&daemon)).unwrap();
    let place = daemon.directory.path().to_str().unwrap().to_owned();
    let script = format!("mount --bind {place} {place} && mount -o remount,bind,ro {place} && exec \"$@\"");
    let private = ["--mount", "--propagation", "private", "sh", "-c", &script, "sh"];
    if !tools::run("unshare", &[&private[..], &["true"]].concat()).is_some_and(|tried| tried.ok) {
        eprintln!("skipped: this user may not mount");
        return;
    }
    let config = daemon.config();
    let run = [env!("CARGO_BIN_EXE_hostwatch"), "run", "--config.file", config.to_str().unwrap()];
    let tried = tools::run("unshare", &[&private[..], &run].concat()).unwrap();
    assert!(!tried.ok && tried.text.contains("mount its file system for writing"), "{}", tried.text);
    assert_eq!(tried.text.matches("Read-only file system").count(), 1, "{}", tried.text);
    assert_eq!(std::fs::read(store(&daemon)).unwrap(), before);
}

/// Decisions without the file are lost with the process; problems that are still there are found and mailed
/// again.
#[test]
fn a_crash_while_locked_loses_nothing() {
    let (provider, smtp, mut daemon) = healthy();
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
fn a_store_damaged_at_the_start_is_kept() {
    let (provider, smtp, mut daemon) = healthy();
    daemon.stop();
    // Its head is still that of a store.
    let mut garbage = std::fs::read(store(&daemon)).unwrap()[..4096].to_vec();
    garbage.extend(b"this was a store once ".repeat(4000));
    std::fs::write(store(&daemon), &garbage).unwrap();
    provider.set_vm(10001, "error");
    daemon.run();
    daemon.log.wait(ASIDE);
    let kept = aside(&daemon).unwrap();
    assert_eq!(std::fs::read(&kept).unwrap(), garbage);
    // As at the first start.
    wait_for(&smtp, "main/vm_error/10001 started");
    provider.set_vm(10001, "active");
    wait_for(&smtp, &resolved(10001));
    daemon.stop();
    daemon.run();
    provider.all_polled(2);
    assert_eq!(received(&smtp).len(), 3);
    assert_eq!(daemon.log.count(ASIDE), 0);
}

/// Changes the row of the table of mails on their way in the running daemon's schema.
fn damage(daemon: &Daemon, change: &str) {
    let other = Connection::open(store(daemon)).unwrap();
    let version: i64 = other.query_row("PRAGMA schema_version", [], |row| row.get(0)).unwrap();
    let next = version + 1;
    other
        .execute_batch(&format!(
            "PRAGMA writable_schema = ON; BEGIN;
             UPDATE sqlite_schema SET {change} WHERE name = 'in_flight';
             PRAGMA schema_version = {next}; COMMIT"
        ))
        .unwrap();
}

#[test]
fn a_store_damaged_while_running_is_kept() {
    let (provider, smtp, mut daemon) = healthy();
    damage(&daemon, "sql = 'CREATE TABLE in_flight ('");
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    provider.set_vm(10002, "error");
    wait_for(&smtp, &opened(10002));
    provider.set_vm(10002, "active");
    wait_for(&smtp, &resolved(10002));
    until("it is set aside", || daemon.log.count(ASIDE) == 1);
    assert!(daemon.log.count(LEFT) <= 1, "{:#?}", daemon.log.lines());
    let kept = aside(&daemon).unwrap();
    comes_home(&provider, &smtp, &mut daemon);
    assert_eq!(aside(&daemon), Some(kept));
}

#[test]
fn a_mail_whose_store_is_damaged_before_the_reply_leaves_once() {
    let (provider, smtp, mut daemon) = healthy();
    smtp.on(Stage::Dot, Act::Wait);
    provider.set_vm(10001, "error");
    smtp.seen_when_blocking(|seen| seen.mails.len() == 2);
    damage(&daemon, "sql = 'CREATE TABLE in_flight ('");
    provider.set_vm(10002, "error");
    daemon.log.wait(LEFT);
    smtp.forget_rules();
    wait_for(&smtp, &opened(10002));
    repeats_nothing(&provider, &smtp, &mut daemon, &[STARTED, &opened(10001), &opened(10002)]);
}

#[test]
fn a_mail_whose_own_commit_finds_the_damage_leaves_once() {
    let (provider, smtp, mut daemon) = healthy();
    // Everything but a mail on its way can still be written.
    damage(&daemon, "rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'sent_by_time')");
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    daemon.log.wait(LEFT);
    repeats_nothing(&provider, &smtp, &mut daemon, &[STARTED, &opened(10001)]);
}
