//! The main job, end to end: the real binary, the simulated provider, a real SMTP conversation.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::smtp::SmtpServer;
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
