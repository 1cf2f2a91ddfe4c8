//! Every fault of the provider, as the daemon shows it: what is served, what is said, and that no
//! credential leaves for another host.
#![allow(clippy::unwrap_used)]

mod daemon_support;

use std::io::Read;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use daemon_support::smtp::SmtpServer;
use daemon_support::*;
use hostwatch::sim::{Command, Fault, FaultKind};

const VMS: &str = "/api/cvds/v1/vms/";
/// Two pages of VMs.
const MANY: &str = "time_zone = \"UTC\"\nvms = 30\ncontainers = 1\nsites = 2\n";

/// Another host: notes whatever is sent to it.
fn stranger() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}{VMS}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap_or(0);
            notes.lock().unwrap().extend_from_slice(&bytes[..count.max(1)]);
        }
    });
    (url, heard)
}

#[test]
fn what_the_daemon_shows_of_every_fault() {
    use FaultKind as F;
    let (elsewhere, heard) = stranger();
    let provider = Provider::start(MANY);
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    until("all VMs", || daemon.page().matches("hosting_vm_info{").count() == 30);
    let page = daemon.page();
    let active = page.lines().find(|line| line.starts_with(r#"hosting_vms{account="main",state="active"}"#));
    let active = active.unwrap();
    let line = |what: &str, value: u8| {
        format!("hostwatch_collector_{what}{{account=\"main\",collector=\"vms\"}} {value}")
    };
    // Kind, success, complete. What cannot be had fails; what is there and does not add up is merged.
    let table = [
        (F::Status, 0, 0),
        (F::Delay, 1, 1),
        (F::TruncatedJson, 0, 0),
        (F::InvalidJson, 0, 0),
        (F::HtmlPage, 0, 0),
        (F::HugeBody, 0, 0),
        (F::Redirect, 0, 0),
        (F::ForeignNext, 0, 0),
        (F::NextLoop, 0, 0),
        (F::Reset, 0, 0),
        (F::ShiftingRows, 1, 0),
        (F::DuplicateRows, 1, 0),
        (F::WrongCount, 1, 0),
        (F::ExpiredCredentials, 0, 0),
    ];
    for (kind, success, complete) in table {
        daemon.shows(&line("complete", 1));
        let mut fault = Fault::new(kind, VMS);
        if matches!(kind, F::Redirect | F::ForeignNext) {
            fault.to = Some(elsewhere.clone());
        }
        provider.simulator.control(&Command::Fault(fault)).unwrap();
        provider.polled(VMS, 1);
        daemon.shows(&line("success", success));
        daemon.shows(&line("complete", complete));
        let page = daemon.page();
        assert!(page.lines().any(|one| one == active), "{kind:?}: the last good listing is served");
        assert!(
            page.contains("hostwatch_collector_success{account=\"main\",collector=\"containers\"} 1"),
            "{kind:?}: another collector is not touched"
        );
        provider.clear_faults();
    }
    daemon.shows(&line("complete", 1));
    assert!(heard.lock().unwrap().is_empty(), "nothing went to another host");

    // Values of other types are absent, and counted.
    provider.fault(F::WrongTypes, VMS, &["ncpu"]);
    until("no CPUs known", || !daemon.page().contains("hosting_vm_cpus{"));
    assert!(daemon.page().lines().any(|one| one == active));
    let counted = r#"hostwatch_unknown_values_total{account="main",field="vm.ncpu"} "#;
    until("odd values counted", || {
        daemon.page().lines().any(|one| one.strip_prefix(counted).is_some_and(|count| count != "0"))
    });
    // Bodies that never end hold up nobody else.
    provider.clear_faults();
    provider.fault(F::Stall, VMS, &[]);
    provider.polled(VMS, 1);
    provider.polled("/api/v1/hosting/containers/", 2);
    assert!(daemon.page().lines().any(|one| one == active));
    let mails: Vec<String> = received(&smtp).into_iter().map(|mail| mail.subject).collect();
    assert!(mails.iter().all(|subject| !subject.contains("VM ")), "no fault is a VM's: {mails:?}");
}

#[test]
fn everything_the_account_has_is_shown() {
    let provider = Provider::start("time_zone = \"UTC\"\nvms = 3\ncontainers = 2\nsites = 4\nssh_keys = 2\n");
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    daemon.stop();
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let config = ["databases", "cron_jobs", "ips", "charges"].iter().fold(config, |text, key| {
        text.replace(&format!("{key} = \"\""), &format!("{key} = \"* * * * * *\""))
    });
    let config = config.replace("[limits]", "ssh_keys = \"* * * * * *\"\n[limits]");
    std::fs::write(daemon.config(), config).unwrap();
    daemon.run();
    for family in [
        "hosting_vm_info{",
        "hosting_container_info{",
        "hosting_site_info{",
        "hosting_databases{",
        "hosting_cron_jobs{",
        "hosting_ip_info{",
        "hosting_billing_charged_amount{",
        "hosting_billing_order_info{",
    ] {
        until(family, || daemon.page().contains(family));
    }
    daemon.shows(r#"hosting_ssh_keys{account="main"} 2"#);
    for collector in [
        "vms",
        "containers",
        "sites",
        "expected_balance",
        "charges",
        "databases",
        "cron_jobs",
        "ips",
        "ssh_keys",
    ] {
        daemon
            .shows(&format!("hostwatch_collector_complete{{account=\"main\",collector=\"{collector}\"}} 1"));
    }
    // The interface is only read.
    assert!(provider.simulator.requests().iter().all(|entry| entry.method == "GET"));
}
