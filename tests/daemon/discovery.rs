//! What Prometheus is to probe, by the real binary: nothing before all of it was read, then the last known.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use chrono::Duration;
use common::clock::Clock;
use common::smtp::SmtpServer;
use common::*;
use hostwatch::sim::{Command, Fault, FaultKind};
use serde_json::Value;

const SITES: &str = "/api/v2/hosting/containers/302/virtualhosts/";
const VMS: &str = "/api/cvds/v1/vms/";

fn fails(provider: &Provider, on: &str) {
    let fault = Fault { code: Some(503), ..Fault::new(FaultKind::Status, on) };
    provider.simulator.control(&Command::Fault(fault)).unwrap();
}

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

/// A restart while the provider is down must not make Prometheus forget what it probes.
#[test]
fn there_is_all_of_it_or_none() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    fails(&provider, SITES);
    let mut clock = Clock::new();
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    is_known(&daemon, "/sd/vms");
    provider.all_polled(3);
    let unread = "503: the sites of container 302 of account main were not read whole yet\n".to_owned();
    assert_eq!(daemon.request("GET", "/sd/sites"), (503, unread.clone()));
    assert_eq!(daemon.request("GET", "/sd/sites?account=main"), (503, unread));
    assert_eq!(daemon.request("GET", "/sd/sites?account=nobody").0, 404);
    provider.clear_faults();
    is_known(&daemon, "/sd/sites");
    let sites = groups(&daemon, "/sd/sites", "__meta_hosting_site_name");
    assert_eq!(sites.len(), 5);
    for (url, name) in [("https://shop", "shop"), ("http://blog", "blog")] {
        let group = (vec![format!("{url}.example.com")], format!("{name}.example.com"));
        assert!(sites.contains(&group), "{sites:?}");
    }
    let vms = groups(&daemon, "/sd/vms?account=main", "__meta_hosting_vm_name");
    assert_eq!(vms.len(), 4);
    let name = "web \"1\"\n<script>";
    assert!(vms.iter().any(|(targets, vm)| vm == name && !targets.is_empty()), "{vms:?}");

    // Long past stale_after the last known is served; what is new is there as soon as it is read.
    for path in ["/api/v1/hosting/containers/", SITES, VMS] {
        fails(&provider, path);
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

/// What curl unpacks is what it gets without asking.
#[test]
fn zstd_is_for_those_who_ask_for_it() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    is_known(&daemon, "/sd/sites");
    let plain = daemon.request("GET", "/sd/sites").1;
    let mut stream = TcpStream::connect(daemon.address).unwrap();
    let head = format!("GET /sd/sites HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", daemon.address);
    write!(stream, "{head}Accept-Encoding: gzip;q=0.5, zstd\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    assert!(head.contains("content-encoding: zstd") && head.contains("application/json"), "{head}");
    assert_eq!(zstd::decode_all(&answer[end + 4..]).unwrap(), plain.as_bytes());
}

#[test]
fn an_account_known_to_be_empty_has_an_empty_list() {
    let provider = Provider::start("time_zone = \"UTC\"\nvms = 0\ncontainers = 0\nsites = 0\n");
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    for path in ["/sd/sites", "/sd/vms"] {
        is_known(&daemon, path);
        assert_eq!(
            serde_json::from_str::<Value>(&daemon.request("GET", path).1).unwrap(),
            serde_json::json!([])
        );
    }
}
