//! `hostwatch status` end to end: the real binary beside a real daemon, and without one.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::process::Command as Process;

use common::*;

/// Exit status, stdout, stderr.
fn hostwatch(args: &[&str], environment: &[(&str, &str)]) -> (i32, String, String) {
    outcome(Process::new(binary()).args(args).env_clear().envs(environment.iter().copied()))
}

#[test]
fn beside_a_daemon() {
    let (provider, smtp, daemon) = watching("");
    let file = format!("--config.file={}", daemon.config().display());
    let status = |extra: &[&str], environment: &[(&str, &str)]| {
        hostwatch(&[&["status", &file], extra].concat(), environment)
    };

    until("all fine", || status(&[], &[]).0 == 0);
    // The server took the mail a moment before the daemon stored that.
    let is_sent = |line: &str| line.starts_with("  Last sent") && line.ends_with("ago");
    until("the mail is known as sent", || status(&[], &[]).1.lines().any(is_sent));
    let (_, text, error) = status(&[], &[]);
    assert!(text.starts_with("✓ All 11 resources fine · paid until "), "{text}");
    assert!(text.contains("  VMs         4 active\n"), "{text}");
    assert_eq!(error, "");

    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    until("it needs somebody", || status(&[], &[]).0 == 1);
    let (_, text, _) = status(&[], &[("COLUMNS", "60")]);
    assert!(text.starts_with("✕ VM web \"1\" <script> in error (main)\n"), "{text}");
    assert!(text.contains("  ✕ VM web \"1\" <script> in error\n"), "{text}");
    assert!(text.contains("main/vm_error/10001"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours into a pipe: {text}");
    assert!(status(&["--color=always"], &[("NO_COLOR", "1")]).1.contains("\u{1b}[1;31m✕"));

    let (code, json, _) = status(&["--json"], &[]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["verdict"]["level"]), (1, &"attention".into()));

    // Another daemon's answer is no answer.
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    daemon.configure("[accounts.main]", "[accounts.shop]");
    let (code, text, _) = daemon.command(&["status"]);
    let words = "? The daemon that answers watches main, the configuration has shop";
    assert!(code == 3 && flat(&text).starts_with(words), "{code} {text}");
    let (code, json, error) = daemon.command(&["status", "--json"]);
    assert!(code == 3 && json.starts_with('{') && error.contains("the configuration has shop"), "{error}");
    std::fs::write(daemon.config(), config).unwrap();

    // Unreadable data are not fine, whatever the rest is.
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
    provider.fault(hostwatch_sim::FaultKind::TruncatedJson, "/api/cvds/v1/vms/", &[]);
    until("it is not known", || status(&[], &[]).0 == 3);
    assert!(status(&[], &[]).1.contains("Cannot read VMs since "));
}

/// Lines are wrapped only for people on a terminal; a search in a log needs whole lines.
#[test]
fn errors_wrap_on_a_terminal() {
    let missing = "/nonexistent/and/quite/far/away/from/everything/else/hostwatch.toml";
    let (code, _, whole) = hostwatch(&["status", &format!("--config.file={missing}")], &[]);
    assert!(code == 3 && whole.contains(&format!("{missing}: cannot be read")), "{code} {whole}");
    assert!(whole.lines().count() == 1 && whole.len() > 80, "{whole}");
    // The program as a terminal starts it.
    let line = format!("{} status --config.file={missing}", env!("CARGO_BIN_EXE_hostwatch"));
    let Some(seen) = tools::run("script", &["--quiet", "--command", &line, "/dev/null"]) else { return };
    assert!(seen.text.contains("cannot be"), "{}", seen.text);
    assert!(seen.text.lines().all(|line| line.trim_end().chars().count() <= 80), "{}", seen.text);
}

#[test]
fn the_socket_is_asked_first() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("hostwatch.db");
    // All but the store is wrong: there is no address and no credential.
    let config = format!("[accounts.main]\n[store]\npath = \"{}\"\n", store.display());
    std::fs::write(directory.path().join("hostwatch.toml"), config).unwrap();
    let file = format!("--config.file={}/hostwatch.toml", directory.path().display());

    let socket = directory.path().join("hostwatch.db.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let answer = r#"{"generated_at": "2026-03-01T12:00:00Z", "version": "0.1.0", "commit": "abc", "started_at": "2026-03-01T12:00:00Z",
        "verdict": {"level": "notice", "sentence": "No new problems"}, "accounts": [{"name": "main", "currency": "", "time_zone": "UTC", "resources": 0,
            "verdict": {"level": "notice", "sentence": "No new problems"}, "billing": null, "collectors": []}],
        "incidents": {"open": [], "recent": []},
        "resources": {"total": 0, "matching": 0, "page": 1, "pages": 1, "states": [], "rows": []},
        "mails": {"outbox": null, "last_mail_at": null, "lives_on": null}}"#;
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let count = stream.read(&mut request).unwrap();
        let head =
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", answer.len());
        stream.write_all(format!("{head}{answer}").as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    });
    let (code, text, error) = hostwatch(&["status", &file], &[]);
    assert_eq!((code, text.lines().next()), (0, Some("! No new problems")), "{error}");
    assert!(serving.join().unwrap().starts_with("GET /api/v1/status HTTP/1.1\r\n"));

    // The socket of a killed daemon answers nobody. Another place might belong to another daemon.
    let (code, _, error) = hostwatch(&["status", &file], &[]);
    assert!(code == 3 && error.contains("hostwatch.db.sock"), "{code} {error}");
}
