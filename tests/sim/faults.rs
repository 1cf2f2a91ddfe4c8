//! Every fault the simulator can be given, seen from outside, and the control endpoints that give them.
#![allow(clippy::unwrap_used)]

use crate::support;

use serde_json::json;
use std::time::Duration;
use support::{PATIENCE, Sim};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const VMS: &str = "/api/cvds/v1/vms/";
const CONTAINERS: &str = "/api/v1/hosting/containers/";
const CHARGES: &str = "/api/v1/charge/";

async fn with(fault: serde_json::Value) -> Sim {
    let sim = Sim::with(|a| a.vm_page_size = 3, "").await;
    let done = sim.json("POST", "/_sim/faults", fault).await;
    assert_eq!(done.status, 204, "{}", done.text);
    sim
}

/// What comes over the wire until it ends or is quiet for a while, and whether it ended in a reset.
async fn raw(sim: &Sim, path: &str) -> (Vec<u8>, bool, bool) {
    let address = sim.base.trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Token vm-api-key\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut got, mut buffer) = (Vec::new(), [0_u8; 4096]);
    loop {
        let quiet = Duration::from_millis(if got.is_empty() { 5_000 } else { 300 });
        match tokio::time::timeout(quiet, stream.read(&mut buffer)).await {
            Err(_) => return (got, false, true),
            Ok(Ok(0)) => return (got, false, false),
            Ok(Ok(n)) => got.extend_from_slice(&buffer[..n]),
            Ok(Err(error)) => return (got, error.kind() == std::io::ErrorKind::ConnectionReset, false),
        }
    }
}

#[tokio::test]
async fn a_status_code_so_often_and_only_there() {
    let sim = with(json!({"kind": "status", "code": 502, "retry_after": 7, "on": "vm", "count": 2})).await;
    for _ in 0..2 {
        let reply = sim.get(VMS).await;
        assert_eq!((reply.status, reply.retry_after.as_deref()), (502, Some("7")));
        assert_eq!(sim.get(CONTAINERS).await.status, 200);
    }
    assert_eq!(sim.get(VMS).await.status, 200);
}

#[tokio::test]
async fn faults_are_listed_and_switched_off() {
    let sim = with(json!({"kind": "status", "name": "mine", "method": "POST"})).await;
    assert_eq!(sim.get(VMS).await.status, 200, "only POST");
    assert_eq!(sim.get("/_sim/faults").await.json[0]["kind"], "status");
    assert_eq!(sim.json("POST", "/_sim/clear_faults", json!({"name": "mine"})).await.status, 204);
    assert_eq!(sim.get("/_sim/faults").await.json, json!([]));
    sim.json("POST", "/_sim/faults", json!({"kind": "reset"})).await;
    assert_eq!(sim.bare("DELETE", "/_sim/faults").await.status, 204);
    assert_eq!(sim.get(VMS).await.status, 200);
    let refused = sim.json("POST", "/_sim/faults", json!({"kind": "sulk"})).await;
    assert_eq!(refused.status, 400);
    assert_eq!(sim.json("POST", "/_sim/set_vm", json!({"vm": "nobody", "state": "error"})).await.status, 400);
}

#[tokio::test]
async fn a_delay() {
    let sim = with(json!({"kind": "delay", "seconds": 0.3, "on": "vm"})).await;
    let before = std::time::Instant::now();
    assert_eq!(sim.get(VMS).await.status, 200);
    assert!(before.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn a_stall_in_the_middle_of_the_body() {
    let sim = with(json!({"kind": "stall"})).await;
    let (got, _, quiet) = raw(&sim, VMS).await;
    let text = String::from_utf8_lossy(&got).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let announced: usize =
        head.lines().find_map(|l| l.to_lowercase().strip_prefix("content-length: ")?.parse().ok()).unwrap();
    assert!(quiet && body.len() == announced / 2, "{} of {announced}", body.len());
}

#[tokio::test]
async fn json_cut_short_and_no_json_at_all() {
    let sim = with(json!({"kind": "truncated_json"})).await;
    let reply = sim.get(VMS).await;
    assert!(reply.status == 200 && reply.text.starts_with("{\"count\":7") && reply.json.is_null());
    let sim = with(json!({"kind": "invalid_json"})).await;
    assert!(sim.get(VMS).await.json.is_null());
    let sim = with(json!({"kind": "html_page"})).await;
    let reply = sim.get(VMS).await;
    assert!(reply.status == 200 && reply.text.starts_with("<!DOCTYPE html>"));
}

#[tokio::test]
async fn wrong_types_in_all_fields_or_some() {
    let sim = with(json!({"kind": "wrong_types", "fields": ["ncpu", "state"]})).await;
    let vm = sim.first(VMS).await;
    assert!(vm["id"].is_u64() && vm["name"].is_string());
    assert!(!vm["ncpu"].is_number() && !vm["state"].is_string());
    let sim = with(json!({"kind": "wrong_types"})).await;
    let page = sim.get(VMS).await.json;
    assert_eq!(page["count"], 7, "the page itself is whole");
    assert!(!page["results"][0]["id"].is_number());
}

#[tokio::test]
async fn a_huge_body() {
    let sim = with(json!({"kind": "huge_body", "bytes": 3_000_000})).await;
    let reply = sim.get(VMS).await;
    assert!(reply.text.len() > 3_000_000 && reply.json["count"] == 7);
}

#[tokio::test]
async fn a_redirect() {
    let sim = with(json!({"kind": "redirect", "to": "http://127.0.0.2:9/there"})).await;
    let reply = sim.get(VMS).await;
    assert_eq!((reply.status, reply.location.as_deref()), (302, Some("http://127.0.0.2:9/there")));
}

#[tokio::test]
async fn next_on_another_host_or_in_a_loop() {
    let sim = with(json!({"kind": "foreign_next", "to": "http://127.0.0.2:9/x"})).await;
    assert_eq!(sim.get(VMS).await.json["next"], "http://127.0.0.2:9/x");
    assert_eq!(sim.get(CHARGES).await.json["meta"]["next"], "http://127.0.0.2:9/x");
    let sim = with(json!({"kind": "next_loop"})).await;
    let page = format!("{VMS}?page=2");
    assert_eq!(sim.get(&page).await.json["next"], format!("{}{page}", sim.base));
    assert_eq!(sim.get(CHARGES).await.json["meta"]["next"], CHARGES);
}

#[tokio::test]
async fn rows_that_shift_between_pages_stand_twice_or_are_miscounted() {
    let ids = |page: serde_json::Value| -> Vec<u64> {
        page["results"].as_array().unwrap().iter().map(|vm| vm["id"].as_u64().unwrap()).collect()
    };
    let second = format!("{VMS}?page=2");
    let sim = with(json!({"kind": "shifting_rows"})).await;
    assert_eq!(ids(sim.get(VMS).await.json), [10_001, 10_002, 10_003]);
    assert_eq!(ids(sim.get(&second).await.json), [10_005, 10_006, 10_007], "10004 is shown on neither page");
    let sim = with(json!({"kind": "shifting_rows", "by": -1})).await;
    assert_eq!(ids(sim.get(&second).await.json), [10_003, 10_004, 10_005], "10003 is shown on both");
    let sim = with(json!({"kind": "duplicate_rows"})).await;
    assert_eq!(ids(sim.get(VMS).await.json), [10_001, 10_002, 10_001]);
    let sim = with(json!({"kind": "wrong_count", "by": -2})).await;
    assert_eq!(sim.get(VMS).await.json["count"], 5);
}

#[tokio::test]
async fn a_connection_is_reset_before_or_within_the_answer() {
    let sim = with(json!({"kind": "reset"})).await;
    let (got, reset, _) = raw(&sim, VMS).await;
    assert!(got.is_empty() && reset);
    let sim = with(json!({"kind": "reset", "bytes": 50})).await;
    // What was on its way may be lost with the connection, so only its end is certain.
    let (_, reset, quiet) = raw(&sim, VMS).await;
    assert!(reset && !quiet);
}

#[tokio::test]
async fn expired_credentials() {
    let sim = with(json!({"kind": "expired_credentials", "on": "billing"})).await;
    assert_eq!(sim.get(CHARGES).await.status, 401);
    assert_eq!(sim.get(VMS).await.status, 200);
}

#[tokio::test]
async fn a_stop_is_not_held_up_by_a_stall() {
    use hostwatch::sim::{Args, Simulator};
    use std::sync::Arc;
    let start = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let fault = "[[fault]]\nkind = 'stall'\n";
    let simulator =
        Arc::new(Simulator::from_scenario(&Args::default(), fault, Arc::new(move || start)).unwrap());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let served = tokio::spawn(simulator.serve(listener, stop.clone()));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /api/cvds/v1/vms/ HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut byte = [0];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut byte)).await.unwrap().unwrap();
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), served).await.expect("bounded").unwrap();
}

#[tokio::test]
async fn null_in_named_fields() {
    let sim = with(json!({"kind": "null_fields", "fields": ["name"]})).await;
    let vm = sim.first(VMS).await;
    assert!(vm["name"].is_null() && vm["id"].is_u64() && vm["state"].is_string());
}
