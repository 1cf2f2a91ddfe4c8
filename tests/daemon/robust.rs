//! The daemon among others: foreign web pages, clients that hold connections. The other part is in robust_store.rs.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::io::Write as _;
use std::net::TcpStream;

use common::smtp::SmtpServer;
use common::{Daemon, Provider, SCENARIO, request_with};

#[test]
fn foreign_pages_neither_read_nor_reload() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.run();
    let (address, me) = (daemon.address, daemon.address.to_string());
    let get = |path: &str, host: &str| request_with(address, "GET", path, &[("Host", host)]);
    let reloads = |daemon: &Daemon| daemon.log.count("configuration reloaded");

    // Under a foreign name that DNS resolves to this server.
    let (status, answer) = get("/", "evil.example:10245");
    assert!(status == 421 && answer.contains("web.allowed_hosts"), "{answer}");
    assert!(daemon.log.wait("evil.example").contains("web.allowed_hosts"));
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(get("/metrics", name.trim()).0, 200, "this machine's name");

    let post = |headers: &[(&str, &str)]| request_with(address, "POST", "/-/reload", headers).0;
    assert_eq!(post(&[("Host", &me), ("Origin", "http://evil.example")]), 403);
    assert_eq!(reloads(&daemon), 0, "nothing was reloaded");
    // Allowed by the configuration, from the reload on.
    assert_eq!(get("/", "mon.lan").0, 421);
    daemon.configure("[store]", "[web]\nallowed_hosts = ['Mon.lan']\n[store]");
    assert_eq!(post(&[("Host", &me)]), 200);
    assert_eq!(get("/", "mon.lan:10245").0, 200);
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn held_connections_block_no_command() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::start(&provider, smtp.address);
    // More connections than are served at a time, each with half a request.
    let held: Vec<TcpStream> = (0..540)
        .map(|_| {
            let mut stream = TcpStream::connect(daemon.address).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127").unwrap();
            stream
        })
        .collect();
    daemon.is_healthy();
    drop(held);
    assert_eq!(daemon.request("GET", "/metrics").0, 200);
    assert_eq!(daemon.stop(), 0);
}

/// However it is started. A user who sets another number gets that.
#[test]
fn all_threads_share_one_heap() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let heaps = |set: &[(&'static str, String)]| {
        let mut daemon = Daemon::prepare(&provider, smtp.address, "");
        daemon.environment.extend(set.iter().cloned());
        daemon.run();
        let environment = std::fs::read(format!("/proc/{}/environ", daemon.id())).unwrap();
        let named =
            environment.split(|byte| *byte == 0).find_map(|one| one.strip_prefix(b"MALLOC_ARENA_MAX="));
        named.map(|number| String::from_utf8_lossy(number).into_owned())
    };
    assert_eq!(heaps(&[]).as_deref(), Some("1"));
    assert_eq!(heaps(&[("MALLOC_ARENA_MAX", "3".to_owned())]).as_deref(), Some("3"));
}
