//! The parts that keep a daemon trustworthy for years: the heartbeat, systemd's watchdog, reloads that leave
//! unchanged parts alone. The real binary throughout.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use common::hook::Hook;
use common::smtp::{Act, SmtpServer, Stage};
use common::telegram::Socks;
use common::*;
use hostwatch_sim::FaultKind;

/// Waits for so many more pings of the heartbeat.
fn pinged(hook: &Hook, times: usize) {
    let enough = hook.posts().len() + times;
    until("pings", || hook.posts().len() >= enough);
}

/// An account and the heartbeat are reached by the proxy that each of them names; the mail server by none.
#[test]
fn accounts_and_heartbeat_have_proxies() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let hook = Hook::start();
    let by_name = |text: String| text.replace("127.0.0.1", "localhost");
    let (of_account, of_heartbeat) = (Socks::start(), Socks::start());
    let heartbeat = format!(
        "[heartbeat]\nurl = \"{}\"\nproxy = \"socks5h://{}\"",
        by_name(hook.url()),
        of_heartbeat.address
    );
    let mut daemon = hasty(&provider, &smtp, &heartbeat);
    let direct = format!("http://{}", provider.address);
    daemon.configure(&format!("\"{direct}\""), &by_name(format!("\"{direct}\"")));
    let own = format!("[accounts.main]\nproxy = \"socks5h://{}\"\n", of_account.address);
    daemon.configure("[accounts.main]\n", &own);
    daemon.run();
    pinged(&hook, 1);
    let names = |socks: &Socks| socks.asked().into_iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(names(&of_account), ["localhost".to_owned()].into());
    assert_eq!(names(&of_heartbeat), ["localhost".to_owned()].into());
    daemon.has_sent(1);
}

/// Runs it with the clocks of housekeeping a hundred times faster.
fn hasty(provider: &Provider, smtp: &SmtpServer, extra: &str) -> Daemon {
    let mut daemon = Daemon::prepare(provider, smtp.address, extra);
    daemon.environment.push(("HOSTWATCH_HASTE", "100".into()));
    daemon
}

#[test]
fn the_heartbeat_follows_polls_and_mails() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let hook = Hook::start();
    let heartbeat = format!("[heartbeat]\nurl = \"{}\"", hook.url());
    let mut daemon = hasty(&provider, &smtp, &heartbeat);
    daemon.run();
    pinged(&hook, 1);
    assert!(hook.posts()[0].line.starts_with("GET /hook/hunter2-secret?"), "{:?}", hook.posts());
    until("a metric of it", || daemon.page().contains("hostwatch_heartbeat_last_success_timestamp_seconds"));
    assert!(daemon.page().contains("hostwatch_heartbeat_configured 1"));
    assert!(daemon.page().contains("hostwatch_store_usable 1"));

    // Polls are stale: the last ping is past, and no other comes.
    daemon.stop();
    provider.fault(FaultKind::Status, "vm", &[]);
    daemon.run();
    let why = daemon.log.wait("heartbeat not sent");
    assert!(why.contains("main: vms is not read"), "{why}");
    let before = hook.posts().len();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(hook.posts().len(), before);
    assert_eq!(daemon.log.count("hunter2-secret"), 0, "its path is a password");
    provider.clear_faults();
    pinged(&hook, 1);
    daemon.log.wait("heartbeat sent again");

    // Removed from the configuration: no ping is awaited any more.
    daemon.configure(&heartbeat, "");
    assert_eq!(daemon.request("POST", "/-/reload").0, 200);
    until("none is configured", || daemon.page().contains("hostwatch_heartbeat_configured 0"));
    assert!(!daemon.page().contains("hostwatch_heartbeat_last_success_timestamp_seconds"));
}

#[test]
fn a_dead_recipient_stops_no_heartbeat() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let hook = Hook::start();
    let to = "[alerts.rules.vm_error]\nto = [\"ann@example.com\", \"gone@example.com\"]\n";
    let mut daemon = hasty(&provider, &smtp, &format!("[heartbeat]\nurl = \"{}\"\n{to}", hook.url()));
    daemon.run();
    wait_for(&smtp, STARTED);
    smtp.on_times(Stage::Rcpt, "gone@", usize::MAX, Act::reply("550 5.1.1 no such user"));
    for vm in [10001, 10002] {
        provider.set_vm(vm, "error");
        wait_for(&smtp, &opened(vm));
        daemon.shows("hostwatch_outbox_messages{state=\"held\"} 1");
        // The first may have been on its way.
        pinged(&hook, 3);
    }
    assert_eq!(daemon.log.count("mails are not delivered"), 0, "{:#?}", daemon.log.lines());
}

#[test]
fn systemd_hears_of_start_reload_life_stop() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = hasty(&provider, &smtp, "");
    let path = daemon.directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    daemon.environment.push(("NOTIFY_SOCKET", path.to_str().unwrap().into()));
    daemon.environment.push(("WATCHDOG_USEC", "2000000".into()));
    daemon.run();
    let wait = |what: &str| {
        let mut buffer = [0; 4096];
        let end = std::time::Instant::now() + PATIENCE;
        loop {
            assert!(std::time::Instant::now() < end, "no {what}");
            let size = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("no {what}: {error}"));
            let text = String::from_utf8_lossy(&buffer[..size]).into_owned();
            if text.contains(what) {
                return text;
            }
        }
    };
    wait("READY=1");
    wait("WATCHDOG=1");
    wait("STATUS=1 account, 11 resources, 0 open incidents, 0 mails waiting");
    daemon.signal("HUP");
    assert!(wait("RELOADING=1").contains("MONOTONIC_USEC="));
    wait("READY=1");
    daemon.signal("TERM");
    wait("STOPPING=1");
}

#[test]
fn a_reload_keeps_unchanged_parts() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    // Once at the start, and not again before tomorrow.
    daemon.configure("vms = \"* * * * * *\"", "vms = \"0 0 1 1 *\"");
    daemon.run();
    wait_for(&smtp, STARTED);
    let vm_polls = || {
        let page = daemon.page();
        let line = page.lines().find(|line| {
            line.starts_with(
                "hostwatch_collector_polls_total{account=\"main\",collector=\"vms\",result=\"success\"}",
            )
        });
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    until("its count", || vm_polls() == "1");
    // Other recipients are told, and no account is polled again.
    daemon.configure("to = [\"ops@example.com\"]", "to = [\"night@example.com\"]");
    assert_eq!(daemon.request("POST", "/-/reload").0, 200);
    provider.set_site("shop.example.com", "Error");
    wait_for(&smtp, "main/site_error/2001 opened");
    assert!(smtp.seen().has_command("RCPT TO:<night@example.com>"));
    assert_eq!(vm_polls(), "1");
    // Other credentials: polled at once.
    daemon.configure("vm_api_key = \"vm-api-key\"", "vm_api_key = \"wrong\"");
    assert_eq!(daemon.request("POST", "/-/reload").0, 200);
    wait_for(&smtp, "main/credentials_rejected/vm opened");
}
