//! Everything in front of the endpoints, over real sockets: framing, limits, slow clients, passwords, headers.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use std::sync::Arc;
use std::time::Duration;

use super::server::{LONG, Server, ask, talk};
use crate::http::{ConnectionLimits, Guard, Listener, WebConfig};
use crate::model::*;
use account::*;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::time::timeout;

/// Long enough for an answer that would come by mistake.
const MOMENT: Duration = Duration::from_millis(200);

async fn raw(server: &Server, request: &str) -> String {
    let stream = TcpStream::connect(server.address).await.unwrap();
    String::from_utf8(talk(stream, request.as_bytes()).await).unwrap()
}

/// The statuses of all answers in the bytes of a connection.
fn statuses(answers: &str) -> Vec<&str> {
    answers.split("HTTP/1.").skip(1).map(|answer| &answer[2..5]).collect()
}

#[tokio::test]
async fn ambiguous_requests_are_refused_and_end_the_connection() {
    let server = Server::start(&[&full("main")], true).await;
    let hidden = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    let chunked = format!("0\r\n\r\n{hidden}");
    let length = format!("Content-Length: {}\r\n", chunked.len());
    let table = [
        ("a chunked body", "Transfer-Encoding: chunked\r\n".to_owned(), "411"),
        ("both", format!("{length}Transfer-Encoding: chunked\r\n"), "411"),
        ("both, turned round", format!("Transfer-Encoding: chunked\r\n{length}"), "411"),
        ("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n".to_owned(), "411"),
        ("not chunked at last", "Transfer-Encoding: chunked, identity\r\n".to_owned(), "400"),
        ("a like name", "Transfer-Encoding: xchunked\r\n".to_owned(), "400"),
        ("identity", "Transfer-Encoding: identity\r\n".to_owned(), "400"),
        ("a blank before the colon", "Transfer-Encoding : chunked\r\n".to_owned(), "400"),
        ("two lengths", "Content-Length: 5\r\nContent-Length: 0\r\n".to_owned(), "400"),
        ("a signed length", "Content-Length: +5\r\n".to_owned(), "400"),
        ("a list of lengths", "Content-Length: 5, 5\r\n".to_owned(), "400"),
        ("a folded line", "X: a\r\n b\r\n".to_owned(), "400"),
        ("a zero byte", "X: a\0b\r\n".to_owned(), "400"),
        ("a second host", "Host: y\r\n".to_owned(), "400"),
    ];
    for (what, headers, status) in table {
        let request = format!("POST /-/reload HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n{chunked}");
        let answers = raw(&server, &request).await;
        assert_eq!(statuses(&answers), [status], "{what}: {answers}");
    }
    let answers = raw(&server, "GET /-/healthy HTTP/1.1\r\n\r\n").await;
    assert_eq!(statuses(&answers), ["400"], "no host: {answers}");
    let answers =
        raw(&server, &format!("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}")).await;
    assert_eq!(statuses(&answers), ["400"], "chunked in HTTP/1.0: {answers}");
}

#[tokio::test]
async fn bodies_are_neither_read_as_requests_nor_waited_for() {
    let server = Server::start(&[&full("main")], false).await;
    let hidden = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    let with_body = format!(
        "GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{hidden}",
        hidden.len()
    );
    let close = "GET /-/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    let answers = raw(&server, &format!("{with_body}{close}")).await;
    assert!([&["200", "404"][..], &["200"]].contains(&&statuses(&answers)[..]), "{answers}");

    // A body that never comes completely: the request is answered at once, and the connection is closed.
    let answers =
        raw(&server, "POST /-/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\nabc")
            .await;
    assert_eq!(statuses(&answers), ["403"], "{answers}");
    let expecting =
        "POST /-/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
    let answers = raw(&server, expecting).await;
    assert_eq!(statuses(&answers), ["403"], "nobody asks for the body: {answers}");
}

#[tokio::test]
async fn old_pipelined_and_proxied_requests_are_answered() {
    let server = Server::start(&[&full("main")], false).await;
    let old = raw(&server, "GET /-/healthy HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n"), "{old}");

    let one = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n");
    let three = [one("/-/healthy", ""), one("/-/nothing", ""), one("/-/ready", "Connection: close\r\n")];
    let answers = raw(&server, &three.concat()).await;
    assert_eq!(statuses(&answers), ["200", "404", "200"], "{answers}");
    assert!(answers.ends_with("hostwatch is ready.\n"), "{answers}");

    let table = [
        ("GET http://example.com:10245/-/healthy?x=1", "200"),
        ("GET http://example.com", "200"),
        ("OPTIONS *", "404"),
        ("OPTIONS /metrics", "204"),
        ("CONNECT example.com:443", "404"),
        ("BREW /", "405"),
        ("GET metrics", "404"),
    ];
    for (line, status) in table {
        let request = format!("{line} HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n");
        let answers = raw(&server, &request).await;
        assert_eq!(statuses(&answers), [status], "{line}: {answers}");
    }
}

#[tokio::test]
async fn heads_have_a_limit() {
    let server = Server::start(&[&full("main")], false).await;
    let many: String = (0..101).map(|number| format!("X-{number}: y\r\n")).collect();
    let answers = raw(&server, &format!("GET / HTTP/1.1\r\n{many}\r\n")).await;
    assert_eq!(statuses(&answers), ["431"], "{answers}");
    // Exactly as much as the server reads, because unread bytes would turn the close into a reset.
    let mut large = String::from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ");
    large.push_str(&"y".repeat(16 * 1024 - large.len()));
    let answers = raw(&server, &large).await;
    assert_eq!(statuses(&answers), ["431"], "{answers}");
    assert_eq!(server.get("/-/healthy").await.status, 200);
}

#[tokio::test]
async fn slow_clients_are_cut_off() {
    let limits = ConnectionLimits { head_timeout: MOMENT, ..ConnectionLimits::default() };
    let server = Server::start_with(&[&full("main")], false, limits, |listener| listener).await;
    assert_eq!(raw(&server, "").await, "", "nothing was asked");
    let half = raw(&server, "GET /-/healthy HTTP/1.1\r\nHost:").await;
    assert!(half.is_empty() || statuses(&half) == ["408"], "{half}");
    let idle = raw(&server, "GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
    assert_eq!(statuses(&idle), ["200"], "{idle}");
}

#[tokio::test]
async fn beyond_the_limit_of_connections_one_waits_until_another_ends() {
    let limits = ConnectionLimits { connections: 2, ..ConnectionLimits::default() };
    let server = Server::start_with(&[&full("main")], false, limits, |listener| listener).await;
    let first = TcpStream::connect(server.address).await.unwrap();
    let _second = TcpStream::connect(server.address).await.unwrap();
    let mut third = TcpStream::connect(server.address).await.unwrap();
    third.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    assert!(timeout(MOMENT, third.read_exact(&mut answer)).await.is_err(), "it had to wait");
    drop(first);
    timeout(LONG, third.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

/// An account with many sites: the page is larger than the buffer of a Unix socket.
fn large() -> KnownAccount {
    let mut book = full("main");
    let sites = (0..1000).map(|id| site(1000 + id, 31, "Active")).collect();
    book.apply(Read::Sites(ContainerId::new(31), all(sites)), read_at());
    book
}

async fn on_unix_socket(limits: ConnectionLimits) -> (TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let listener = Listener::from(UnixListener::bind(directory.path().join("s")).unwrap());
    let server = Server::start_with(&[&large()], false, limits, |_| listener).await;
    (directory, server)
}

/// A scrape whose page has not been read yet.
async fn unread_scrape(directory: &TempDir) -> UnixStream {
    let mut stream = UnixStream::connect(directory.path().join("s")).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut start = [0; 12];
    timeout(LONG, stream.read_exact(&mut start)).await.unwrap().unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    stream
}

#[tokio::test]
async fn a_reader_that_stalls_loses_its_connection() {
    let limits = ConnectionLimits { write_timeout: MOMENT, connections: 1, ..ConnectionLimits::default() };
    let (directory, _server) = on_unix_socket(limits).await;
    let mut stalled = unread_scrape(&directory).await;
    // Its place is free again after it was cut off.
    let stream = UnixStream::connect(directory.path().join("s")).await.unwrap();
    let next = timeout(LONG, ask(stream, "GET", "/metrics", "")).await.expect("the stalled one is cut off");
    assert_eq!(next.status, 200);
    let mut rest = Vec::new();
    let _ = timeout(LONG, stalled.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.len() < 500_000, "it got {} bytes", rest.len());
}

async fn with_config(text: &str) -> (TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("web.yml");
    std::fs::write(&path, text).unwrap();
    let guard = Arc::new(Guard::new(Some((&path, WebConfig::read(&path).unwrap()))));
    let guarded = |listener: Listener| listener.guarded(guard);
    let server = Server::start_with(&[&full("main")], false, ConnectionLimits::default(), guarded).await;
    (directory, server)
}

/// A file with the users `alice:one` and `bob:two`.
fn two_users() -> String {
    let [one, two] = ["one", "two"].map(|password| bcrypt::hash(password, 4).unwrap());
    format!("basic_auth_users:\n  alice: {one}\n  bob: {two}\n")
}

const ALICE: &str = "Authorization: Basic YWxpY2U6b25l\r\n";
const WRONG: &str = "Authorization: Basic YWxpY2U6dHdv\r\n";

#[tokio::test]
async fn every_path_is_behind_the_password() {
    let (_directory, server) = with_config(&two_users()).await;
    for path in ["/", "/metrics", "/api/v1/status", "/-/healthy", "/-/ready", "/-/style.css", "/nothing"] {
        for headers in ["", WRONG, "Authorization: Bearer YWxpY2U6b25l\r\n"] {
            let answer = server.ask("GET", path, headers).await;
            assert_eq!(answer.status, 401, "{path} with {headers:?}");
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(challenge.starts_with("Basic realm="), "{challenge}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        }
        let want = if path == "/nothing" { 404 } else { 200 };
        assert_eq!(server.ask("GET", path, ALICE).await.status, want, "{path}");
        assert_eq!(server.ask("HEAD", path, "").await.status, 401, "{path}");
    }
    assert_eq!(server.ask("POST", "/-/reload", "").await.status, 401);
    assert_eq!(server.ask("POST", "/-/reload", ALICE).await.status, 403, "let in, but not enabled");
}

#[tokio::test]
async fn configured_headers_are_on_every_response_and_stand_above_ours() {
    let headers = "http_server_config:\n  headers:\n    X-Frame-Options: sameorigin\n    \
                   Strict-Transport-Security: max-age=60\n";
    let (_directory, server) = with_config(&format!("{headers}{}", two_users())).await;
    for (path, authorization, status) in [("/", ALICE, 200), ("/", "", 401), ("/nothing", ALICE, 404)] {
        let answer = server.ask("GET", path, authorization).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("x-frame-options"), Some("sameorigin"));
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=60"));
    }
    let page = server.ask("GET", "/", ALICE).await;
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"), "ours stays");
}
