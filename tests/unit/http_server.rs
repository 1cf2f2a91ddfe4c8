//! The server over real TCP: statuses, methods, formats, encodings, reload, readiness, shutdown.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use std::io::Read as _;
use std::time::Duration;

use super::server::{LONG, Server};
use crate::alert::CalendarEntry;
use crate::http::ConnectionLimits;
use crate::model::*;
use crate::view::Alerting;
use account::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

#[tokio::test]
async fn endpoints_answer_with_their_status_and_type() {
    let server = Server::start(&[&full("main")], false).await;
    let plain = "text/plain; charset=utf-8";
    let table = [
        ("GET", "/", 200, "text/html; charset=utf-8"),
        ("GET", "/?q=a%00b&page=999999999999999999999&state=%ff", 200, "text/html; charset=utf-8"),
        ("GET", "/resource", 404, plain),
        ("GET", "/resource?account=main", 404, plain),
        ("GET", "/resource?account=main&kind=vm&id=999", 404, plain),
        ("GET", "/resource?account=x&kind=vm&id=17", 404, plain),
        ("GET", "/resource?account=main&kind=vm&id=-1", 404, plain),
        ("GET", "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("GET", "/api/v1/status", 200, "application/json"),
        ("GET", "/-/style.css", 200, "text/css; charset=utf-8"),
        ("GET", "/-/healthy", 200, plain),
        ("GET", "/-/ready", 200, plain),
        ("POST", "/-/reload", 403, plain),
        ("GET", "/-/reload", 405, plain),
        ("POST", "/", 405, plain),
        ("DELETE", "/metrics", 405, plain),
        ("GET", "/metrics/", 404, plain),
        ("GET", "//", 200, "text/html; charset=utf-8"),
        ("GET", "//metri%63s", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("POST", "/nothing", 404, plain),
    ];
    for (method, path, status, kind) in table {
        let answer = server.ask(method, path, "").await;
        assert_eq!((answer.status, answer.header("content-type")), (status, Some(kind)), "{method} {path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        if kind.starts_with("text/html") {
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; style-src 'self'; "), "{policy}");
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(answer.header("x-frame-options"), Some("DENY"));
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        }
        if status == 405 {
            let allow = if path == "/-/reload" { "OPTIONS, POST" } else { "GET, HEAD, OPTIONS" };
            assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        }
    }
}

/// A query string could be longer than the head of a request may be.
#[tokio::test]
async fn a_command_sends_its_question_as_the_body_of_a_post() {
    let server = Server::start(&[&full("main")], false).await;
    let post = async |path: &str, body: &str| {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let length = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        super::server::ask(stream, "POST", path, &length).await
    };
    let comment = "я".repeat(60_000);
    let answer = post("/control/v1", &comment).await;
    assert_eq!((answer.status, answer.text()), (200, comment.as_str()));
    assert_eq!(post("/control/v1?%22health%22", "").await.status, 501, "the query asks nothing");
    assert_eq!(post("/control/v1", &"x".repeat((1 << 20) + 1)).await.status, 400);
    let answer = server.ask("POST", "/control/v1", "Transfer-Encoding: chunked\r\n").await;
    assert_eq!(answer.status, 411);
}

/// An empty calendar means that no cut-off is ahead. A program that gets an error keeps the dates that it has.
#[tokio::test]
async fn the_calendar_is_not_empty_before_anything_was_read() {
    let (main, shop) = (full("main"), book(profile("shop")));
    let vmonly = book(Profile { collectors: [Collector::Vms].into(), ..profile("vmonly") });
    let ask = async |books: &[&KnownAccount], query: &str| {
        let server = Server::start(books, false).await;
        let answer = server.get(&format!("/calendar.ics{query}")).await;
        (answer.status, answer.text().to_owned())
    };
    let (status, text) = ask(&[&main, &shop], "").await;
    assert_eq!((status, text.as_str()), (503, "503: the balance of account shop was not read yet\n"));
    assert_eq!(ask(&[&main, &shop], "?account=shop").await.0, 503);
    for (books, query) in [(&[&main, &shop][..], "?account=main"), (&[&main, &vmonly], ""), (&[&vmonly], "")]
    {
        let (status, text) = ask(books, query).await;
        assert!(status == 200 && text.starts_with("BEGIN:VCALENDAR"), "{query}: {text}");
    }
    assert_eq!(ask(&[&main], "?account=other").await.0, 404);
    // The cut-off in the store is shown.
    let server = Server::start(&[&shop], false).await;
    let entry = CalendarEntry {
        sequence: 7,
        cut_off: t("2026-03-20T11:00:00"),
        pay_by: None,
        cancelled: false,
        changed_at: t("2026-03-01T11:00:00"),
    };
    let calendar = [("shop".parse().unwrap(), entry)].into();
    server.context.alerting.set(Alerting { calendar, ..Alerting::default() });
    let answer = server.get("/calendar.ics").await;
    assert!(answer.text().contains("SEQUENCE:7"));
    let known = format!("If-None-Match: \"other\", {}\r\n", answer.header("etag").unwrap());
    let again = server.ask("GET", "/calendar.ics", &known).await;
    assert_eq!((again.status, again.text()), (304, ""));
    assert_eq!(server.ask("GET", "/calendar.ics", "If-None-Match: \"other\"\r\n").await.status, 200);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let server = Server::start(&[&full("main")], false).await;
    for path in ["/", "/metrics", "/api/v1/status", "/-/ready"] {
        let (get, head) = (server.get(path).await, server.ask("HEAD", path, "").await);
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(get.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
        assert_eq!(head.header("content-length"), get.header("content-length"), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
}

fn unzipped(body: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(body).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn metrics_are_negotiated_and_never_refused() {
    let server = Server::start(&[&full("main")], false).await;
    let identity = server.get("/metrics").await;
    assert_eq!(identity.header("content-encoding"), None);
    assert!(identity.text().contains("hosting_vm_state{account=\"main\",vm=\"17\",state=\"active\"} 1\n"));
    assert!(identity.text().contains("hostwatch_build_info{"));

    let zipped = server.ask("GET", "/metrics", "Accept-Encoding: gzip\r\n").await;
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert_eq!(zipped.header("vary"), Some("Accept, Accept-Encoding"));
    assert_eq!(unzipped(&zipped.body), identity.text());

    let zipped = server.ask("GET", "/sd/vms", "Accept-Encoding: gzip\r\n").await;
    let plain = server.get("/sd/vms").await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!(unzipped(&zipped.body), plain.text());

    let accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.8, text/plain;q=0.5\r\n";
    let open = server.ask("GET", "/metrics", accept).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), Some(kind));
    assert!(open.text().ends_with("\n# EOF\n") && open.text().matches("# EOF").count() == 1);
    assert!(open.text().contains("hosting_vm_state{account=\"main\",vm=\"17\",state=\"active\"} 1\n"));

    let odd = server.ask("GET", "/metrics", "Accept: image/png\r\nAccept-Encoding: br\r\n").await;
    assert_eq!((odd.status, odd.text()), (200, identity.text()));
}

#[tokio::test]
async fn an_account_among_several_is_never_guessed() {
    let server = Server::start(&[&full("main"), &full("other")], false).await;
    let by_account = ["/", "/resource", "/incidents", "/api/v1/status", "/sd/sites", "/sd/vms"];
    for path in by_account {
        for query in
            ["account=main&account=other", "account=main&kind=vm&id=17&account=main", "account=&account=main"]
        {
            let answer = server.get(&format!("{path}?{query}")).await;
            let words = "400: account= is there several times; name one account, or none for all\n";
            assert_eq!((answer.status, answer.text()), (400, words), "{path}?{query}");
        }
        let one = server.get(&format!("{path}?account=main&kind=vm&id=17")).await;
        assert_ne!(one.status, 400, "{path}");
    }
    // Metrics are not narrowed by an account, so the parameter is ignored there.
    assert_eq!(server.get("/metrics?account=main&account=other").await.status, 200);
}

#[tokio::test]
async fn ready_once_everything_that_shows_states_was_tried() {
    let mut book = book(profile("main"));
    let server = Server::start(&[&book], false).await;
    assert_eq!(server.get("/-/ready").await.status, 503);
    assert_eq!(server.get("/sd/vms").await.status, 503, "no listing was read");
    assert_eq!(server.get("/-/healthy").await.status, 200);
    book.end(Collector::Vms, ended(None), read_at());
    book.end(Collector::ExpectedBalance, ended(Some("401")), read_at());
    server.context.snapshot.set(snapshot([&book]));
    assert_eq!(server.get("/-/ready").await.status, 503, "containers were not tried");
    book.end(Collector::Containers, ended(None), read_at());
    server.context.snapshot.set(snapshot([&book]));
    assert_eq!(server.get("/-/ready").await.status, 200, "tried is enough, well or not");

    let mut only = profile("main");
    only.collectors = [Collector::ExpectedBalance].into();
    let mut only = account::book(only);
    only.end(Collector::ExpectedBalance, ended(None), read_at());
    server.context.snapshot.set(snapshot([&only]));
    assert_eq!(server.get("/-/ready").await.status, 200, "what is off is not waited for");
}

#[tokio::test]
async fn reload_is_asked_for_and_its_outcome_told() {
    let mut server = Server::start(&[&full("main")], true).await;
    let mut reloads = std::mem::replace(&mut server.reloads, mpsc::channel(1).1);
    tokio::spawn(async move {
        reloads.recv().await.unwrap().send(Ok(())).unwrap();
        let refused = "config.toml: limits.vm: unknown key".to_owned();
        reloads.recv().await.unwrap().send(Err(refused)).unwrap();
    });
    assert_eq!(server.ask("POST", "/-/reload", "Content-Length: 0\r\n").await.status, 200);
    let refused = server.ask("POST", "/-/reload", "Content-Length: 0\r\n").await;
    assert_eq!(refused.status, 500);
    assert!(refused.text().contains("limits.vm: unknown key"), "{}", refused.text());
    assert_eq!(server.ask("POST", "/-/reload", "").await.status, 503, "nobody is there to reload");
}

#[tokio::test]
async fn stop_refuses_new_connections_and_lets_the_idle_go() {
    let limits = ConnectionLimits { head_timeout: Duration::from_secs(3600), ..ConnectionLimits::default() };
    let server = Server::start_with(&[&full("main")], false, limits, |listener| listener).await;
    // An idle connection, kept alive after its answer.
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    idle.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
    let mut first = [0; 12];
    timeout(LONG, idle.read_exact(&mut first)).await.unwrap().unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    // A connection that has sent half a head and never sends the rest.
    let mut half = TcpStream::connect(server.address).await.unwrap();
    half.write_all(b"GET /metrics HTTP/1.1\r\nHost:").await.unwrap();
    server.stop.cancel();
    timeout(LONG, server.running).await.expect("the drain is bounded").unwrap();
    let mut rest = Vec::new();
    timeout(LONG, idle.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}
