//! Everything an account has, as the daemon shows it. What it shows of faults is in tests/fault_matrix.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::smtp::SmtpServer;
use common::*;

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
