//! A provider that quotes in every answer what it was asked with, credentials included.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// The ways to answer; each is `(status line and headers, body)` of what the request's credentials were.
const WAYS: usize = 10;

fn answer(way: usize, path: &str, credential: &str) -> (String, String) {
    let quoted = serde_json::Value::from(credential).to_string();
    let json = |body: String| ("200 OK\r\nContent-Type: application/json".to_owned(), body);
    match way {
        0 => ("401 Unauthorized".to_owned(), format!("{{\"detail\": {quoted}}}")),
        1 => (
            format!("302 Found\r\nLocation: /login/{}/?{credential}", credential.replace(' ', "/")),
            String::new(),
        ),
        2 => ("200 OK\r\nContent-Type: text/html".to_owned(), format!("<html>{credential}</html>")),
        3 => json(quoted),
        4 => json(format!("{{\"count\": {quoted}, \"next\": null, \"results\": {quoted}}}")),
        5 => json(format!(
            "{{\"count\": 40, \"next\": \"http://127.0.0.1:9/{}/\", \"results\": [{{\"id\": 1, \"state\": \"active\"}}]}}",
            credential.replace(' ', "/")
        )),
        6 => (format!("404 {credential}"), credential.to_owned()),
        7 => (format!("200 OK\r\n{credential} {credential}"), credential.to_owned()),
        8 => json(format!(
            "{{\"error\": \"not for {}\", \"date\": {quoted}, \"charge_moments\": []}}",
            credential
        )),
        _ => json(format!("{{\"{credential}\": [{quoted}, {}", path.len())),
    }
}

fn serve(mut stream: TcpStream, asked: &AtomicUsize) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1)?.to_owned();
    let credential = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("authorization").then(|| value.trim().to_owned())
    })?;
    let way = asked.fetch_add(1, Ordering::Relaxed) % WAYS;
    let (status, body) = answer(way, &path, &credential);
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").ok()
}

#[test]
fn a_provider_that_quotes_credentials_does_not_make_us_show_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // VMs, hosting, billing: each comes to every way of answering.
    let asked: Arc<[AtomicUsize; 3]> = Arc::default();
    let counts = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counts = Arc::clone(&counts);
            std::thread::spawn(move || {
                let mut start = [0; 64];
                let size = stream.peek(&mut start).unwrap_or(0);
                let start = String::from_utf8_lossy(&start[..size]).into_owned();
                let group = if start.contains("/cvds/") {
                    0
                } else if start.contains("/hosting/") {
                    1
                } else {
                    2
                };
                serve(stream, &counts[group]);
            });
        }
    });
    let (provider, smtp, mut daemon) = guarded("[alerts]\ncollector_failing_after = \"1s\"\n");
    daemon.configure(&provider.address.to_string(), &address.to_string());
    daemon.run_with(&["--web.listen-address=127.0.0.1:0", "--log.level=debug"]);
    until_within(std::time::Duration::from_secs(60), "every way twice", || {
        asked.iter().all(|count| count.load(Ordering::Relaxed) >= 2 * WAYS)
    });
    // One speaks for all that fail.
    let tells = |pair: &String| pair.starts_with("main/collector_failing/") && pair.ends_with(" opened");
    until("a mail tells of it", || received(&smtp).iter().any(|mail| mail.pairs.iter().any(tells)));
    outputs_are_clean(&daemon);
    assert_eq!(daemon.stop(), 0);
    log_is_clean(&daemon);
    let hidden = daemon.log.lines().iter().filter(|line| line.contains("[hidden]")).count();
    assert!(hidden > 0, "what was quoted is shown as hidden: {:#?}", daemon.log.lines());
    for mail in received(&smtp) {
        is_clean(&mail.subject, &String::from_utf8_lossy(&mail.raw));
    }
}
