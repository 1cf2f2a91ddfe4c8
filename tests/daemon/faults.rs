//! Data that need other data first, and data that become stale. tests/fault_matrix has the faults.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::common;

use common::clock::Clock;
use common::smtp::SmtpServer;
use common::*;

/// Two containers with two sites each; everything about sites is read every second.
fn with_sites() -> (Provider, SmtpServer, Daemon) {
    let provider = Provider::start("time_zone = \"UTC\"\ncontainers = 2\nsites = 4\n");
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.environment.push(("HOSTWATCH_HASTE", "30".to_owned()));
    for key in ["databases", "cron_jobs"] {
        daemon.configure(&format!("{key} = \"\""), &format!("{key} = \"* * * * * *\""));
    }
    (provider, smtp, daemon)
}

/// Waits until databases and cron jobs of this number of sites are shown, and their last polls had these
/// results.
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

/// Known sites are read, and missing ones are reported: one container's sites do not delay the databases of
/// others.
#[test]
fn databases_of_known_sites_are_read() {
    for code in [403, 500] {
        let (provider, _smtp, mut daemon) = with_sites();
        provider.fails("/api/v2/hosting/containers/302/virtualhosts/", code);
        daemon.run();
        shows_of_sites(&daemon, 2, 1, 0);
        daemon.log.wait("the sites of some containers were never read");
        provider.clear_faults();
        shows_of_sites(&daemon, 4, 1, 1);
        // Known sites stay known.
        provider.fails("/api/v2/hosting/containers/302/virtualhosts/", code);
        daemon.shows(r#"hostwatch_collector_success{account="main",collector="sites"} 0"#);
        shows_of_sites(&daemon, 4, 1, 1);
    }
}

#[test]
fn databases_fail_while_sites_are_unknown() {
    let (provider, _smtp, mut daemon) = with_sites();
    provider.fails("/api/v1/hosting/containers/", 500);
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

/// Without a poll in between, stale data leave the status page at once, and the metrics within a minute.
#[test]
fn stale_data_leave_metrics_and_page() {
    let provider = Provider::start("time_zone = \"UTC\"\nvms = 1\n");
    let (mut clock, smtp) = (Clock::new(), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "[metrics]\nstale_after = \"4s\"\n");
    for key in ["containers", "expected_balance"] {
        daemon.configure(&format!("{key} = \"* * * * * *\""), &format!("{key} = \"\""));
    }
    daemon.environment.extend(clock.environment());
    daemon.run();
    let health = || {
        let status: serde_json::Value =
            serde_json::from_str(&daemon.request("GET", "/api/v1/status").1).unwrap();
        status["resources"]["rows"][0]["health"].clone()
    };
    until("the VM", || daemon.page().contains("hosting_vm_info{"));
    // One more poll, and then none.
    daemon.configure("vms = \"* * * * * *\"", "vms = \"0 0 1 1 *\"");
    assert_eq!(daemon.request("POST", "/-/reload").0, 200);
    until("it is stale", || health() == "unknown");
    until("stale metrics are gone", || {
        // Steps of less than a minute are no sleep.
        clock.pass(chrono::Duration::seconds(40));
        std::thread::sleep(Duration::from_secs(2));
        !daemon.page().contains("hosting_vm_info{")
    });
}
