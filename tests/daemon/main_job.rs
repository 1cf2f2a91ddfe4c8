//! The main job, end to end: the real binary, the simulated provider, a real SMTP conversation.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::smtp::{Act, Setup, SmtpServer, Stage};
use common::*;

#[test]
fn healthy_broken_restarted_repaired() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    let started = wait_for(&smtp, STARTED);
    daemon.has_sent(1);
    assert!(started.subject.contains("everything is fine"), "{}", started.subject);
    assert!(started.subject.contains("11 resources"), "{}", started.subject);
    daemon.shows(r#"hosting_vm_state{account="main",vm="10001",state="active"} 1"#);
    assert_eq!(daemon.request("GET", "/-/ready").0, 200);
    assert_eq!(daemon.request("GET", "/-/healthy").0, 200);

    provider.set_vm(10001, "error");
    let vm = wait_for(&smtp, "main/vm_error/10001 opened");
    assert!(vm.subject.starts_with("[CRITICAL] VM web \"1\" <script>"), "{}", vm.subject);
    assert!(!vm.html.contains("<script>"), "a name is no markup");
    let (_, page) = daemon.request("GET", "/");
    assert!(!page.contains("<script") && page.contains("&#60;script&#62;"), "nor is it there: {page}");
    assert!(daemon.page().contains(r#"name="web \"1\"\n<script>""#), "it is escaped in metrics");
    provider.set_site("shop.example.com", "Error");
    wait_for(&smtp, "main/site_error/2001 opened");
    daemon.shows(r#"hosting_vm_state{account="main",vm="10001",state="error"} 1"#);
    provider.lasts_days(2);
    let rung = wait_for(&smtp, "main/disconnect/account rung:3");
    assert!(rung.text.contains("RUB"), "{}", rung.text);
    daemon.shows(r#"hosting_billing_disconnect_expected{account="main"} 1"#);

    // A restart repeats nothing.
    daemon.owes_nothing();
    let before = received(&smtp).len();
    assert_eq!(daemon.stop(), 0);
    assert_eq!(daemon.log.count("not everything ended in time"), 0);
    daemon.run();
    provider.all_polled(3);
    daemon.shows(r#"hosting_vm_state{account="main",vm="10001",state="error"} 1"#);
    assert_eq!(received(&smtp).len(), before, "{:?}", received(&smtp).last());

    provider.set_vm(10001, "active");
    provider.set_site("shop.example.com", "Active");
    provider.lasts_days(400);
    let vm = wait_for(&smtp, "main/vm_error/10001 resolved");
    assert!(vm.subject.starts_with("[RESOLVED]"), "{}", vm.subject);
    wait_for(&smtp, "main/site_error/2001 resolved");
    let paid = wait_for(&smtp, "main/disconnect/account resolved");
    assert!(String::from_utf8_lossy(&paid.raw).contains(&format!("<{}>", rung.message_id)), "same thread");
    until("no disconnect expected", || {
        daemon.page().contains(r#"hosting_billing_disconnect_expected{account="main"} 0"#)
    });
    assert!(!daemon.page().contains("hosting_billing_disconnect_timestamp_seconds"));

    let (status, out, _) = daemon.command(&["why", "main/vm_error/10001"]);
    assert_eq!(status, 0);
    assert!(out.contains("OK in "), "{out}");
    assert!(daemon.command(&["incidents"]).1.contains("main/disconnect/account"));
    assert!(daemon.command(&["outbox"]).1.contains("Sent lately"));
    assert_eq!(daemon.stop(), 0);
    let secrets = ["hosting-token", "vm-api-key", "billing-password"];
    assert!(daemon.log.lines().iter().all(|line| secrets.iter().all(|secret| !line.contains(secret))));
}

#[test]
fn mails_wait_for_their_server() {
    let provider = Provider::start(SCENARIO);
    // A port that nobody listens on; later the server starts there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut daemon = Daemon::prepare(&provider, ([127, 0, 0, 1], port).into(), "");
    daemon.environment.push(("HOSTWATCH_HASTE", "30".to_owned()));
    daemon.run();
    daemon.log.wait("the mail server cannot be used");
    provider.set_vm(10001, "error");
    daemon.shows(r#"hosting_vm_state{account="main",vm="10001",state="error"} 1"#);
    daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 1");
    // After a kill the mail is still owed.
    daemon.kill();
    let smtp = SmtpServer::start(Setup { port, ..Setup::default() });
    smtp.once(Stage::Rcpt, Act::reply("451 later"));
    daemon.run();
    // The first mail could not leave before.
    wait_for(&smtp, "main/vm_error/10001 started");
    provider.all_polled(2);
    let pairs: Vec<String> = received(&smtp).into_iter().flat_map(|mail| mail.pairs).collect();
    assert_eq!(pairs, ["main/vm_error/10001 started"]);
    daemon.shows("hostwatch_outbox_messages{state=\"held\"} 0");
}

/// Another program holds the store, so the start takes as long as the test wants.
#[test]
fn a_reload_that_is_asked_for_during_the_start_comes_after_it() {
    let (_provider, _smtp, mut daemon) = watching("");
    assert_eq!(daemon.stop(), 0);
    let store = rusqlite::Connection::open(daemon.directory.path().join("hostwatch.db")).unwrap();
    store.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE").unwrap();
    let mut command = std::process::Command::new(binary());
    command.args(["run", "--web.listen-address=127.0.0.1:0"]);
    daemon.begin(command);
    // To open the file and close it here would end the lock of this process.
    let locked = format!("FLOCK  ADVISORY  WRITE {} ", daemon.id());
    until("it has locked its store", || std::fs::read_to_string("/proc/locks").unwrap().contains(&locked));
    daemon.signal("HUP");
    drop(store);
    daemon.has_begun();
    daemon.log.wait("configuration reloaded");
}
