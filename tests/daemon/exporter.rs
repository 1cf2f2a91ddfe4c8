//! A daemon that mails nobody and only exports: its store keeps open incidents.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Daemon, Provider, until};
use hostwatch_sim::FaultKind;

const SCENARIO: &str = "vms = 2\ncontainers = 1\nsites = 1\n";

#[test]
fn open_incidents_outlive_a_kill() {
    let provider = Provider::start(SCENARIO);
    let mut daemon = Daemon::prepare(&provider, ([127, 0, 0, 1], 1).into(), "");
    daemon.mails_nobody();
    daemon.run();
    until("the account is known", || daemon.page().contains("\nhosting_account_info{"));
    provider.set_vm(10001, "error");
    let is_open = |daemon: &Daemon| {
        let page = daemon.page();
        let mut lines = page.lines().filter(|line| line.starts_with("hostwatch_incident_open{"));
        lines.any(|line| line.contains("kind=\"vm_error\",resource=\"10001\"") && line.ends_with(" 1"))
    };
    until("it is open", || is_open(&daemon));
    daemon.kill();
    for on in ["vm", "hosting", "billing"] {
        provider.fault(FaultKind::Status, on, &[]);
    }
    daemon.run();
    // From here on it answers.
    until("it runs", || daemon.request("GET", "/-/healthy").0 == 200);
    assert!(is_open(&daemon), "{}", daemon.page());
    assert!(daemon.page().contains("\nhosting_account_info{"), "its incidents are known");
    let socket = daemon.directory.path().join("hostwatch.db.sock");
    assert!(socket.exists());
    assert_eq!(daemon.stop(), 0);
    assert!(!socket.exists());
}
