//! The targets for Prometheus by the real binary: none before everything was read, then the last known ones.
#![allow(clippy::unwrap_used)]

use crate::common;

use chrono::Duration;
use common::clock::Clock;
use common::smtp::SmtpServer;
use common::*;
use serde_json::Value;

const SITES: &str = "/api/v2/hosting/containers/302/virtualhosts/";
const VMS: &str = "/api/cvds/v1/vms/";

/// The targets of a document and a label of each group.
fn groups(daemon: &Daemon, path: &str, label: &str) -> Vec<(Vec<String>, String)> {
    let (status, body) = daemon.request("GET", path);
    assert_eq!(status, 200, "{body}");
    let groups: Vec<Value> = serde_json::from_str(&body).unwrap();
    let texts = |value: &Value| value.as_array().unwrap().iter().map(text).collect();
    groups.iter().map(|group| (texts(&group["targets"]), text(&group["labels"][label]))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn is_known(daemon: &Daemon, path: &str) {
    until(path, || daemon.request("GET", path).0 == 200);
}

/// A restart while the provider is down must not make Prometheus forget its targets.
#[test]
fn all_targets_or_none() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    provider.fails(SITES, 503);
    let mut clock = Clock::new();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.environment.extend(clock.environment());
    daemon.environment.push(("HOSTWATCH_HASTE", "30".to_owned()));
    daemon.run();
    is_known(&daemon, "/sd/vms");
    provider.all_polled(3);
    let unread = "503: the sites of container 302 of account main were not read whole yet\n".to_owned();
    until("the last container is missing", || daemon.request("GET", "/sd/sites") == (503, unread.clone()));
    assert_eq!(daemon.request("GET", "/sd/sites?account=main"), (503, unread.clone()));
    assert_eq!(daemon.request("GET", "/sd/sites?account=nobody").0, 404);
    provider.clear_faults();
    is_known(&daemon, "/sd/sites");
    let sites = groups(&daemon, "/sd/sites", "__meta_hosting_site_name");
    assert_eq!(sites.len(), 5);
    let vms = groups(&daemon, "/sd/vms?account=main", "__meta_hosting_vm_name");
    assert_eq!(vms.len(), 4);

    // Long after `stale_after` the last known targets are served; new ones appear as soon as they are read.
    for path in ["/api/v1/hosting/containers/", SITES, VMS] {
        provider.fails(path, 503);
    }
    clock.pass(Duration::days(2));
    provider.all_polled(3);
    until("nothing fresh", || !daemon.page().contains("hosting_vm_info{"));
    assert_eq!(groups(&daemon, "/sd/sites", "__meta_hosting_site_name"), sites);
    assert_eq!(groups(&daemon, "/sd/vms", "__meta_hosting_vm_name"), vms);
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.polled(VMS, 2);
    for (path, what) in [("/sd/sites", "containers"), ("/sd/vms", "VMs")] {
        let why = format!("503: the {what} of account main were not read whole yet\n");
        assert_eq!(daemon.request("GET", path), (503, why));
    }
    provider.clear_faults();
    is_known(&daemon, "/sd/sites");
    assert_eq!(groups(&daemon, "/sd/sites", "__meta_hosting_site_name"), sites);
    provider.say(r#"{"container": "shop", "name": "new.example.com"}"#, "add_site");
    until("the new site", || groups(&daemon, "/sd/sites", "__meta_hosting_site_name").len() == 6);
}
