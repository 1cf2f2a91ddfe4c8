//! The example payloads, written from the interface's tables, as the client reads them. The simulator
//! is held to the same files.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::model::{
    ContainerId, ContainerState, Edd, Group, Money, OrderState, SiteId, SiteState, VmId, VmState,
};
use crate::provider::{
    BillingCredentials, Client, Code, HostingCredentials, Hosts, Limits, Observer, ProviderSettings,
};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Which file answers which path; a `*` stands for an id or a date.
const ANSWERS: &[(&str, &str)] = &[
    ("/api/v1/hosting/containers/", "container_list"),
    ("/api/v1/hosting/dbms/*/databases/", "database_list"),
    ("/api/v2/hosting/containers/*/virtualhosts/", "site_list"),
    ("/api/v2/hosting/virtualhosts/*/cron/", "cron_list"),
    ("/api/cvds/v1/vms/", "vm_list"),
    ("/api/cvds/v1/ssh-keys/", "ssh_key_list"),
    ("/api/cvds/v1/ips/", "ip_list"),
    ("/api/v1/expected_balance/2026-06-08/", "expected_balance"),
    ("/api/v1/expected_balance/2026-06-09/", "expected_balance_error"),
    ("/api/v1/charge/", "charge_list"),
];

/// Answers to requests that the client never sends: it reads listings and changes nothing.
const NOT_READ: [&str; 12] = [
    "charge_read",
    "container_read",
    "cron_read",
    "database_read",
    "engine_versions",
    "ip_read",
    "site_read",
    "ssh_key_read",
    "vm_create_disk",
    "vm_create_image",
    "vm_read",
    "vm_start",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/api")
}

/// A fixture; the first page of several is made the only one.
fn fixture(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    if let Some(rows) = json["results"].as_array().map(Vec::len) {
        (json["count"], json["next"]) = (json!(rows), Value::Null);
    }
    if let Some(rows) = json["objects"].as_array().map(Vec::len) {
        (json["meta"]["total_count"], json["meta"]["next"]) = (json!(rows), Value::Null);
    }
    json
}

fn fits(pattern: &str, path: &str) -> bool {
    let (mut patterns, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (patterns.next(), parts.next()) {
            (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(a), Some(b)) if a == b => {}
            _ => return false,
        }
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let file = ANSWERS.iter().find(|(pattern, _)| fits(pattern, request.uri().path()));
    let body = file.map(|(_, name)| fixture(name).to_string()).unwrap_or_default();
    Ok(Response::new(body.into()))
}

/// Counts what is odd in the answers.
#[derive(Default)]
struct Oddities(Mutex<Vec<&'static str>>);

impl Observer for Oddities {
    fn request(&self, _group: Group, code: Code, _took: Duration) {
        assert_eq!(code, Code::Status(200));
    }
    fn throttled(&self, _group: Group, _waited: Duration) {}
    fn field_problem(&self, field: &'static str, _count: u64) {
        self.0.lock().unwrap().push(field);
    }
}

async fn client() -> (Client, Arc<Oddities>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serve = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(serve);
        }
    });
    let settings = ProviderSettings {
        account: "main".parse().unwrap(),
        base_url: Some(url.parse().unwrap()),
        panel_url: Some(url.parse().unwrap()),
        hosting: Some(HostingCredentials { scheme: "Bearer".into(), token: "t".to_owned().into() }),
        vm_api_key: Some("k".to_owned().into()),
        billing: Some(BillingCredentials { username: "u".into(), password: "p".to_owned().into() }),
        container_states: [(0, "ENABLED".to_owned())].into(),
        time_zone: Some(chrono_tz::Europe::Moscow),
        limits: Limits::default(),
    };
    let oddities = Arc::new(Oddities::default());
    (Client::with_hosts(settings, Arc::clone(&oddities) as _, Hosts::default()).unwrap(), oddities)
}

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

#[tokio::test]
async fn hosting_payloads_are_read() {
    let (client, oddities) = client().await;
    let listed = client.containers().await.unwrap();
    let container = &listed.rows[0];
    assert!(listed.complete);
    assert_eq!((container.id, &container.state), (ContainerId::new(31), &ContainerState::Enabled));
    assert_eq!((container.memory_limit_mb, container.disk_quota_mb), (Some(1024), Some(10240)));
    assert_eq!(container.created.unwrap().to_rfc3339(), "2024-01-02T00:04:05+00:00", "Moscow's 03:04:05");

    let listed = client.sites(container.id).await.unwrap();
    let site = &listed.rows[0];
    assert!(listed.complete);
    assert_eq!((site.id, &site.state, site.container), (SiteId::new(501), &SiteState::Active, container.id));
    assert_eq!((site.workers, site.force_https, site.certificate_id), (Some(2), Some(true), Some(7)));

    let listed = client.databases(site.id).await.unwrap();
    assert!(listed.complete && listed.rows.len() == 1);
    let listed = client.cron_jobs(site.id).await.unwrap();
    assert!(listed.complete && listed.rows[0].id == 71);
    assert_eq!(*oddities.0.lock().unwrap(), [""; 0], "nothing in them is odd");
}

#[tokio::test]
async fn vm_payloads_are_read() {
    let (client, oddities) = client().await;
    let listed = client.vms().await.unwrap();
    let vm = &listed.rows[0];
    assert!(listed.complete);
    assert_eq!((vm.id, &vm.state, vm.memsize), (VmId::new(1001), &VmState::Active, Some(2048)));
    let ip = &vm.ips.as_ref().unwrap()[0];
    assert_eq!(ip.address.as_deref(), Some("203.0.113.17"));

    let listed = client.ips().await.unwrap();
    assert!(listed.complete && listed.rows[0].vm == Some(VmId::new(1001)));
    let listed = client.ssh_keys().await.unwrap();
    assert!(listed.complete && listed.rows.len() == 1);
    assert_eq!(*oddities.0.lock().unwrap(), [""; 0], "nothing in them is odd");
}

#[tokio::test]
async fn billing_payloads_are_read() {
    let (client, oddities) = client().await;
    let report = client.expected_balance("2026-06-08".parse().unwrap()).await.unwrap().report;
    let Edd::At(edd) = report.edd else { panic!("{:?}", report.edd) };
    assert_eq!(edd.to_rfc3339(), "2026-03-11T07:15:00+00:00");
    assert_eq!((report.expected_balance, report.error.as_deref()), (Some(money("-4.52")), None));
    let balances: Vec<Money> = report.moments.iter().map(|moment| moment.balance).collect();
    assert_eq!(balances, [money("17.74"), money("-4.52")]);
    assert_eq!((report.orders.len(), &report.orders[0].state), (1, &OrderState::Ordered));
    assert!(report.moments.iter().all(|moment| moment.order == Some(0)));

    let report = client.expected_balance("2026-06-09".parse().unwrap()).await.unwrap().report;
    assert_eq!((report.error.as_deref(), report.edd), (Some("not available"), Edd::Null));

    let read = client.charges(None, "2026-03-01".parse().unwrap()).await.unwrap();
    assert!(read.complete);
    assert_eq!((read.rows[0].total, read.rows[0].price), (money("44.52"), Some(money("22.26"))));
    assert_eq!(*oddities.0.lock().unwrap(), [""; 0], "nothing in them is odd");
}

#[test]
fn every_payload_of_a_read_is_among_them() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let known = ANSWERS.iter().map(|(_, name)| *name).chain(NOT_READ);
    assert_eq!(files, known.map(str::to_owned).collect());
}
