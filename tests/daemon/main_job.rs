//! The main job, end to end: the real binary, the simulated provider, a real SMTP conversation.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::smtp::{Act, Setup, SmtpServer, Stage};
use common::*;
use hostwatch::sim::FaultKind;

#[test]
fn healthy_broken_restarted_repaired() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    let started = wait_for(&smtp, "main/started/account started");
    assert!(started.subject.contains("nothing needs you"), "{}", started.subject);
    assert!(started.subject.contains("11 resources"), "{}", started.subject);
    daemon.shows(r#"hosting_vm_state{account="main",vm="10001",state="active"} 1"#);
    assert_eq!(daemon.request("GET", "/-/ready").0, 200);
    assert_eq!(daemon.request("GET", "/-/healthy").0, 200);

    provider.set_vm(10001, "error");
    provider.set_site("shop.example.com", "Error");
    let vm = wait_for(&smtp, "main/vm_error/10001 opened");
    assert!(vm.subject.starts_with("[CRITICAL] VM web \"1\" <script>"), "{}", vm.subject);
    assert!(!vm.html.contains("<script>"), "a name is no markup");
    wait_for(&smtp, "main/site_error/2001 opened");
    daemon.shows(r#"hosting_vm_state{account="main",vm="10001",state="error"} 1"#);
    provider.lasts_days(2);
    let rung = wait_for(&smtp, "main/disconnect/account rung:3");
    assert!(rung.text.contains("RUB"), "{}", rung.text);
    daemon.shows(r#"hosting_billing_disconnect_expected{account="main"} 1"#);

    // A restart repeats nothing.
    let before = received(&smtp).len();
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.all_polled(3);
    assert_eq!(received(&smtp).len(), before, "{:?}", received(&smtp).last());
    assert_eq!(
        daemon.page().matches("hosting_vm_state{account=\"main\",vm=\"10001\",state=\"error\"} 1").count(),
        1
    );

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
    assert!(daemon.command(&["outbox"]).1.contains("sent"));
    assert_eq!(daemon.stop(), 0);
    let secrets = ["hosting-token", "vm-api-key", "billing-password"];
    assert!(daemon.log.lines().iter().all(|line| secrets.iter().all(|secret| !line.contains(secret))));
}

#[test]
fn no_report_that_proves_nothing_is_an_all_clear() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    provider.lasts_days(2);
    wait_for(&smtp, "main/disconnect/account rung:3");
    let resolved = || {
        received(&smtp)
            .iter()
            .any(|mail| mail.pairs.iter().any(|pair| pair == "main/disconnect/account resolved"))
    };

    // A null date beside a negative balance.
    provider.fault(FaultKind::NullFields, "/api/v1/expected_balance/", &["edd"]);
    provider.polled("/api/v1/expected_balance/", 5);
    assert!(!resolved());
    daemon.shows(r#"hosting_billing_disconnect_expected{account="main"} 1"#);
    provider.clear_faults();

    // A report with an error, whatever else it says.
    provider.lasts_days(400);
    provider.report_error(Some("no data"));
    provider.polled("/api/v1/expected_balance/", 1);
    let before = resolved();
    provider.polled("/api/v1/expected_balance/", 4);
    assert!(!before && !resolved());
    daemon.shows(r#"hostwatch_collector_success{account="main",collector="expected_balance"} 0"#);
    wait_for(&smtp, "main/billing_report/account opened");
    provider.report_error(None);
    wait_for(&smtp, "main/disconnect/account resolved");
}

#[test]
fn mails_wait_for_a_server_that_is_down() {
    let provider = Provider::start(SCENARIO);
    // A port that nobody listens on; later the server comes up there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut daemon = Daemon::start(&provider, ([127, 0, 0, 1], port).into());
    daemon.log.wait("the mail server cannot be used");
    provider.set_vm(10001, "error");
    daemon.shows(r#"hosting_vm_state{account="main",vm="10001",state="error"} 1"#);
    until("two mails in the outbox", || {
        daemon.page().contains("hostwatch_outbox_messages{state=\"queued\"} 2")
    });
    // Killed with mails in hand, it has them still.
    daemon.kill();
    let smtp = SmtpServer::start(Setup { port, ..Setup::default() });
    smtp.once(Stage::Rcpt, Act::reply("451 later"));
    daemon.run();
    wait_for(&smtp, "main/vm_error/10001 opened");
    provider.all_polled(2);
    let pairs: Vec<String> = received(&smtp).into_iter().flat_map(|mail| mail.pairs).collect();
    assert_eq!(pairs.iter().filter(|pair| *pair == "main/vm_error/10001 opened").count(), 1, "{pairs:?}");
    daemon.shows("hostwatch_outbox_messages{state=\"dead\"} 0");
}

#[test]
fn faults_of_the_provider_leave_the_last_good_listing() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    wait_for(&smtp, "main/started/account started");
    provider.set_vm(10002, "error");
    wait_for(&smtp, "main/vm_error/10002 opened");
    let broken = r#"hosting_vm_state{account="main",vm="10002",state="error"} 1"#;
    for kind in [
        FaultKind::InvalidJson,
        FaultKind::TruncatedJson,
        FaultKind::HtmlPage,
        FaultKind::ExpiredCredentials,
        FaultKind::Redirect,
        FaultKind::NextLoop,
    ] {
        provider.fault(kind, "/api/cvds/v1/vms/", &[]);
        provider.polled("/api/cvds/v1/vms/", 1);
        daemon.shows(r#"hostwatch_collector_success{account="main",collector="vms"} 0"#);
        let page = daemon.page();
        assert!(page.lines().any(|line| line == broken), "{kind:?}");
        assert!(page.contains(
            r#"hostwatch_collector_last_success_timestamp_seconds{account="main",collector="vms"}"#
        ));
        assert!(page.lines().any(|line| line == r#"hostwatch_collector_success{account="main",collector="containers"} 1"#));
        provider.clear_faults();
        if kind != FaultKind::ExpiredCredentials {
            daemon.shows(r#"hostwatch_collector_success{account="main",collector="vms"} 1"#);
        } else {
            until("the credentials are taken again", || {
                daemon.page().contains(r#"hostwatch_collector_success{account="main",collector="vms"} 1"#)
            });
        }
    }
    // A state nobody knows keeps its name; a row without state removes nothing.
    provider.set_vm(10003, "mi\\\"grating");
    daemon.shows(r#"hosting_vm_state{account="main",vm="10003",state="mi\"grating"} 1"#);
    provider.fault(FaultKind::NullFields, "/api/cvds/v1/vms/", &["state", "ncpu"]);
    daemon.shows(r#"hostwatch_collector_complete{account="main",collector="vms"} 0"#);
    assert!(daemon.page().lines().any(|line| line == broken));
    let resolved = received(&smtp)
        .into_iter()
        .filter(|mail| mail.pairs.iter().any(|pair| pair.ends_with("vm_error/10002 resolved")));
    assert_eq!(resolved.count(), 0);
    assert_eq!(daemon.log.count("msg=\"cannot read\""), 6, "once for each fault: {:#?}", daemon.log.lines());
    // A provider that does not answer does not hold up the end.
    provider.fault(FaultKind::Stall, "all", &[]);
    provider.polled("/api/cvds/v1/vms/", 1);
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn a_reload_takes_over_what_is_good_and_refuses_what_is_not() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    daemon.shows(r#"hosting_vms{account="main",state="active"} 4"#);
    let good = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(daemon.config(), good.replace("currency", "curency")).unwrap();
    daemon.signal("HUP");
    daemon.log.wait("configuration not reloaded");
    daemon.shows("hostwatch_config_last_reload_successful 0");
    let (status, body) = daemon.request("POST", "/-/reload");
    assert_eq!(status, 500, "{body}");
    assert!(body.contains("curency"), "{body}");
    std::fs::write(daemon.config(), good.replace("accounts.main", "accounts.other")).unwrap();
    assert_eq!(daemon.request("POST", "/-/reload").0, 200);
    daemon.shows("hostwatch_config_last_reload_successful 1");
    daemon.shows(r#"hosting_vms{account="other",state="active"} 4"#);
    assert!(!daemon.page().contains(r#"account="main""#), "series of an account that is gone go with it");
}

#[test]
fn a_second_daemon_on_one_store_is_refused() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    let (status, _, error) = daemon.command(&["run", "--web.listen-address=127.0.0.1:0"]);
    assert_eq!(status, 1);
    assert!(error.contains("another hostwatch holds"), "{error}");
}
