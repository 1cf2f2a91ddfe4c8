//! All faults of the simulator, seen from outside, and the control endpoints that switch them.
#![allow(clippy::unwrap_used)]

use crate::support;

use serde_json::json;
use std::time::Duration;
use support::{PATIENCE, Sim, play};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const VMS: &str = "/api/cvds/v1/vms/";

async fn with(fault: serde_json::Value) -> Sim {
    let sim = Sim::with(|a| a.vm_page_size = 3, "").await;
    let done = sim.json("POST", "/_sim/fault", fault).await;
    assert_eq!(done.status, 204, "{}", done.text);
    sim
}

/// The bytes that come until the end or a pause, and whether it was a pause.
async fn raw(sim: &Sim, path: &str) -> (Vec<u8>, bool) {
    let address = sim.base.trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Token vm-api-key\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut got, mut buffer) = (Vec::new(), [0_u8; 4096]);
    loop {
        let quiet = if got.is_empty() { PATIENCE } else { Duration::from_secs(1) };
        match tokio::time::timeout(quiet, stream.read(&mut buffer)).await {
            Err(_) => return (got, true),
            Ok(Ok(0)) => return (got, false),
            Ok(Ok(n)) => got.extend_from_slice(&buffer[..n]),
            Ok(Err(error)) => panic!("{error}"),
        }
    }
}

const ANSWERS_THAT_ARE_WRONG: &str = r#"
## a status code, so often and only there
POST /_sim/fault {"kind": "status", "code": 502, "on": "vm", "count": 2} => 204
GET vms/ => 502
GET containers/ => 200
GET vms/ => 502
GET vms/ => 200

## switched off by name, or with all others
POST /_sim/fault {"kind": "status", "name": "mine"} => 204
POST /_sim/fault {"kind": "reset", "on": "billing"} => 204
POST /_sim/clear_faults {"name": "mine"} => 204
GET vms/ => 200
POST /_sim/fault {"kind": "status"} => 204
POST /_sim/clear_faults {} => 204
GET vms/ => 200
GET /api/v1/charge/ => 200
POST /_sim/fault {"kind": "sulk"} => 400
POST /_sim/set_vm {"vm": "nobody", "state": "error"} => 400
"#;

#[tokio::test]
async fn answers_that_are_wrong() {
    play(ANSWERS_THAT_ARE_WRONG).await;
}

#[tokio::test]
async fn bytes_that_are_no_utf_8() {
    let sim = with(json!({"kind": "odd_bytes", "fields": ["name"]})).await;
    let (got, _) = raw(&sim, VMS).await;
    let has = |part: &[u8]| got.windows(part.len()).any(|bytes| bytes == part);
    assert!(has(b"\r\n\r\n\xef\xbb\xbf{") && has(b"\"name\":\"\t\xcf"), "{}", String::from_utf8_lossy(&got));
}

#[tokio::test]
async fn a_stop_is_not_held_up_by_a_stall() {
    use hostwatch_sim::{Args, Simulator};
    use std::sync::Arc;
    let start = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let fault = "[[event]]\nat = '0s'\ndo = 'fault'\nkind = 'stall'\n";
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
    tokio::time::timeout(PATIENCE, served).await.expect("bounded").unwrap();
}
