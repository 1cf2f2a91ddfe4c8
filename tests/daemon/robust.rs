//! The daemon among others: foreign web pages, clients that hold connections, mails about hundreds of things, a store that
//! somebody deletes, replaces or locks, one of an earlier release, and commands that root gave.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use chrono::Duration;
use common::clock::Clock;
use common::smtp::SmtpServer;
use common::{Daemon, Provider, Received, SCENARIO, until, wait_for};
use hostwatch::sim::Args;
use mail_parser::MimeHeaders as _;

/// A request with headers of its own; the status, and the whole answer.
fn ask(daemon: &Daemon, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut stream = TcpStream::connect(daemon.address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[test]
fn pages_elsewhere_on_the_web_neither_read_nor_reload() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.run();
    let me = daemon.address.to_string();
    let reloads = |daemon: &Daemon| daemon.log.count("configuration reloaded");

    // Under a name that leads here by somebody else's DNS.
    for path in ["/", "/metrics", "/api/v1/status", "/-/style.css", "/nothing"] {
        let (status, answer) = ask(&daemon, "GET", path, &[("Host", "evil.example:10245")]);
        assert_eq!(status, 421, "{path}");
        assert!(answer.contains("web.allowed_hosts"), "{answer}");
    }
    assert!(daemon.log.wait("evil.example").contains("web.allowed_hosts"));
    for path in ["/-/healthy", "/-/ready"] {
        until(path, || ask(&daemon, "GET", path, &[("Host", "evil.example")]).0 == 200);
    }
    for host in [me.as_str(), "localhost", "[::1]:1", "192.0.2.1"] {
        assert_eq!(ask(&daemon, "GET", "/metrics", &[("Host", host)]).0, 200, "{host}");
    }
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(ask(&daemon, "GET", "/metrics", &[("Host", name.trim())]).0, 200, "this machine's name");

    let post = |daemon: &Daemon, headers: &[(&str, &str)]| ask(daemon, "POST", "/-/reload", headers).0;
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(post(&daemon, &[("Host", &me), ("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(post(&daemon, &[("Host", &me), ("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(post(&daemon, &[("Host", "evil.example"), ("Origin", "http://evil.example")]), 421);
    assert_eq!(reloads(&daemon), 0, "nothing was reloaded");
    assert_eq!(post(&daemon, &[("Host", &me), ("Origin", &format!("http://{me}"))]), 200);
    assert_eq!(post(&daemon, &[("Host", &me)]), 200);

    // What the configuration allows, from the reload on.
    let more = "[web]\nexternal_url = 'https://watch.example.com/'\nallowed_hosts = ['Mon.lan']\n[store]";
    assert_eq!(ask(&daemon, "GET", "/", &[("Host", "mon.lan")]).0, 421);
    daemon.configure("[store]", more);
    assert_eq!(post(&daemon, &[("Host", &me)]), 200);
    for host in ["mon.lan:10245", "watch.example.com"] {
        assert_eq!(ask(&daemon, "GET", "/", &[("Host", host)]).0, 200, "{host}");
    }
    assert_eq!(post(&daemon, &[("Host", &me), ("Origin", "https://watch.example.com")]), 200);
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn who_holds_connections_keeps_no_scrape_waiting() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::start(&provider, smtp.address);
    let before = daemon.descriptors();
    // More than are served at one time: nothing asked, half a request, and kept alive.
    for first in
        ["", "GET /metrics HTTP/1.1\r\nHost: 127", "GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"]
    {
        let idle: Vec<TcpStream> = (0..540)
            .map(|_| {
                let mut stream = TcpStream::connect(daemon.address).unwrap();
                // One that was closed already takes no more.
                let _ = stream.write_all(first.as_bytes());
                stream
            })
            .collect();
        let asked = Instant::now();
        assert_eq!(daemon.request("GET", "/metrics").0, 200);
        // An idle connection is left alone for ten: nobody waits for that.
        assert!(asked.elapsed() < std::time::Duration::from_secs(5), "{first:?}: {:?}", asked.elapsed());
        until("one client holds 64", || daemon.descriptors() <= before + 64 + 16);
        drop(idle);
    }
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn a_silence_of_nothing_is_refused() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = Daemon::start(&provider, smtp.address);
    for pattern in ["", "  "] {
        let (status, out, error) = daemon.command(&["silence", pattern, "--for", "1h"]);
        assert_ne!(status, 0, "{out}");
        assert!(error.contains("it is empty"), "{error}");
    }
    assert_eq!(daemon.command(&["silence", "--list"]).1, "no silences\n");
    let (status, out, _) = daemon.command(&["silence", " web-* ", "--for", "1h"]);
    assert!(status == 0 && out.contains("no mail about 'web-*'"), "{out}");
}

/// A mail about hundreds of things: within what servers take; what its part in JSON lists.
fn all_of(mail: &Received) -> BTreeSet<(String, String)> {
    let raw = String::from_utf8(mail.raw.clone()).unwrap();
    let head = raw.split("\r\n\r\n").next().unwrap().len();
    assert!(head < 32 * 1024, "sendmail refuses a head of {head} bytes for good: {}", mail.subject);
    assert_eq!(mail.pairs.len(), 50, "{}", mail.subject);
    let parsed = mail_parser::MessageParser::default().parse(&mail.raw).unwrap();
    let json = parsed.attachments().find(|part| part.attachment_name() == Some("incidents.json")).unwrap();
    let rows: Vec<BTreeMap<String, String>> = serde_json::from_slice(json.contents()).unwrap();
    for part in [&mail.text, &mail.html] {
        let words: BTreeSet<&str> = part.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
        let names = words.iter().filter(|word| word.starts_with("vm-")).count();
        assert!((1..=50).contains(&names), "{names} names in {}: {part}", mail.subject);
    }
    rows.into_iter().map(|row| (row["incident"].clone(), row["event"].clone())).collect()
}

/// Waits for the mail that tells this of the first VM.
fn about_all(smtp: &SmtpServer, event: &str) -> BTreeSet<(String, String)> {
    let mail = wait_for(smtp, &format!("main/vm_error/10001 {event}"));
    all_of(&mail)
}

#[test]
fn mails_about_six_hundred_vms_arrive() {
    let scenario: String = (10001..10601).map(|id| format!("[[vm]]\nname = \"vm-{id}\"\n")).collect();
    let scenario = format!("time_zone = \"UTC\"\nvms = 600\n{scenario}");
    // Six a poll: the simulator allows 200 a minute.
    let pages = Args { vm_page_size: 100, ..Args::default() };
    let all = |provider: &Provider, state: &str| (10001..10601).for_each(|id| provider.set_vm(id, state));
    let provider = Provider::start_with(&pages, &scenario);
    // Each poll is called for by a clock that moves.
    let seldom = |daemon: &Daemon| {
        daemon.configure("vms = \"* * * * * *\"", "vms = \"* * * * *\"");
        // Nor does it make a report of 600 orders in a second.
        daemon.configure("expected_balance = \"* * * * * *\"", "expected_balance = \"\"");
    };
    let polls = |daemon: &Daemon| -> u64 {
        let start = "hostwatch_collector_polls_total{account=\"main\",collector=\"vms\",result=\"success\"} ";
        daemon.page().lines().find_map(|line| line.strip_prefix(start)).unwrap().parse().unwrap()
    };
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    seldom(&daemon);
    daemon.environment.extend(clock.environment());
    daemon.run();
    wait_for(&smtp, "main/started/account started");
    all(&provider, "error");
    clock.pass(Duration::minutes(1));
    let of = |event: &str| -> BTreeSet<(String, String)> {
        (10001..10601).map(|id| (format!("main/vm_error/{id}"), event.to_owned())).collect()
    };
    assert_eq!(about_all(&smtp, "opened"), of("opened"));
    clock.pass(Duration::hours(25));
    assert_eq!(about_all(&smtp, "reminder:1"), of("reminder:1"));
    all(&provider, "active");
    // A poll under way saw some of them as they were.
    for _ in 0..3 {
        let before = polls(&daemon);
        clock.pass(Duration::minutes(1));
        until("a poll", || polls(&daemon) > before);
    }
    assert_eq!(about_all(&smtp, "resolved"), of("resolved"));
    assert_eq!(daemon.stop(), 0);

    // Whose budget of calls is whole.
    let provider = Provider::start_with(&pages, &scenario);
    all(&provider, "error");
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    seldom(&daemon);
    daemon.run();
    assert_eq!(about_all(&smtp, "started"), of("started"));
    assert_eq!(daemon.log.count("mail given up"), 0);
}

/// However it is started; who names another number has it.
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
