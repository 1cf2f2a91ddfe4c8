//! Everything an account has, as the daemon shows it. What it shows of faults is in tests/fault_matrix.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::smtp::SmtpServer;
use common::*;
use hostwatch::sim::{Command, Fault, FaultKind};

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

/// Two containers with two sites each; everything about sites is read every second.
fn with_sites() -> (Provider, SmtpServer, Daemon) {
    let provider = Provider::start("time_zone = \"UTC\"\ncontainers = 2\nsites = 4\n");
    let smtp = SmtpServer::plain();
    let daemon = Daemon::prepare(&provider, smtp.address, "");
    for key in ["databases", "cron_jobs"] {
        daemon.configure(&format!("{key} = \"\""), &format!("{key} = \"* * * * * *\""));
    }
    (provider, smtp, daemon)
}

fn fails(provider: &Provider, on: &str, code: u16) {
    let fault = Fault { code: Some(code), ..Fault::new(FaultKind::Status, on) };
    provider.simulator.control(&Command::Fault(fault)).unwrap();
}

/// Waits until databases and cron jobs are shown of so many sites, and their last polls were like this.
fn shows_of_sites(daemon: &Daemon, sites: usize, success: u8, complete: u8) {
    for collector in ["databases", "cron_jobs"] {
        let family = format!("hosting_{collector}{{");
        let of_sites = |page: &str| page.lines().filter(|line| line.starts_with(&family)).count();
        until(&format!("{collector} of {sites} sites"), || of_sites(&daemon.page()) == sites);
        for (what, value) in [("success", success), ("complete", complete)] {
            let labels = format!("{{account=\"main\",collector=\"{collector}\"}}");
            daemon.shows(&format!("hostwatch_collector_{what}{labels} {value}"));
        }
    }
}

/// What is known is read, and what is missing is said: one container's sites hold up nobody else's databases.
#[test]
fn databases_are_read_of_the_sites_that_are_known() {
    for code in [403, 500] {
        let (provider, _smtp, mut daemon) = with_sites();
        fails(&provider, "/api/v2/hosting/containers/302/virtualhosts/", code);
        daemon.run();
        shows_of_sites(&daemon, 2, 1, 0);
        daemon.log.wait("the sites of some containers were never read");
        provider.clear_faults();
        shows_of_sites(&daemon, 4, 1, 1);
        // What was known stays known.
        fails(&provider, "/api/v2/hosting/containers/302/virtualhosts/", code);
        daemon.shows(r#"hostwatch_collector_success{account="main",collector="sites"} 0"#);
        shows_of_sites(&daemon, 4, 1, 1);
    }
}

#[test]
fn databases_fail_while_no_site_can_be_known() {
    let (provider, _smtp, mut daemon) = with_sites();
    fails(&provider, "/api/v1/hosting/containers/", 500);
    daemon.run();
    for collector in ["databases", "cron_jobs"] {
        let polls = format!(
            "hostwatch_collector_polls_total{{account=\"main\",collector=\"{collector}\",result=\"failure\"}} "
        );
        let counted = |line: &str| line.strip_prefix(&polls).is_some_and(|count| count != "0");
        until(&format!("{collector} fails"), || daemon.page().lines().any(counted));
    }
    shows_of_sites(&daemon, 0, 0, 0);
    provider.clear_faults();
    shows_of_sites(&daemon, 4, 1, 1);
}

/// They need no schedule of the containers: the sites are looked up for them, and no more is shown of these.
#[test]
fn databases_are_read_where_the_containers_are_off() {
    let (provider, _smtp, mut daemon) = with_sites();
    daemon.configure("containers = \"* * * * * *\"", "containers = \"\"");
    fails(&provider, "/api/v2/hosting/containers/302/virtualhosts/", 500);
    daemon.run();
    shows_of_sites(&daemon, 2, 0, 0);
    provider.clear_faults();
    shows_of_sites(&daemon, 4, 1, 1);
    assert!(
        !daemon.page().contains("hosting_site_info{") && !daemon.page().contains("hosting_container_info{")
    );
    let container = r#"{"container": 301}"#;
    provider.say(container, "remove_container");
    shows_of_sites(&daemon, 2, 1, 1);
}

/// With nothing polled in between, the metrics let go of what is stale when the status page does, and no minute later.
#[test]
fn what_goes_stale_leaves_metrics_and_page_together() {
    let provider = Provider::start("time_zone = \"UTC\"\nvms = 1\n");
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "[metrics]\nstale_after = \"4s\"\n");
    daemon.configure("vms = \"* * * * * *\"", "vms = \"0 0 1 1 *\"");
    for key in ["containers", "expected_balance"] {
        daemon.configure(&format!("{key} = \"* * * * * *\""), &format!("{key} = \"\""));
    }
    daemon.run();
    let health = || {
        let status: serde_json::Value =
            serde_json::from_str(&daemon.request("GET", "/api/v1/status").1).unwrap();
        status["resources"]["rows"][0]["health"].clone()
    };
    until("the VM", || daemon.page().contains("hosting_vm_info{"));
    assert_eq!(health(), "fine");
    until("it is stale", || health() == "unknown");
    let gone = || !daemon.page().contains("hosting_vm_info{");
    until_within(std::time::Duration::from_secs(3), "stale metrics are gone", gone);
}
