//! No calm that is none: what `status`, page and commands must not call fine, whoever acknowledged or silenced it,
//! and what they say before anybody starts. The real binary throughout.
#![allow(clippy::unwrap_used, reason = "tests")]

use chrono::{DateTime, Duration, Utc};
use hostwatch::sim::FaultKind;

use crate::common::clock::Clock;
use crate::common::smtp::{Act, SmtpServer, Stage};
use crate::common::*;
use crate::money::{World, report};
use crate::store_faults::{full_disk, shell};

const STARTED: &str = "main/started/account started";

/// Exit status and headline, put together where it took several lines.
fn headline(daemon: &Daemon) -> (i32, String) {
    let (code, text, error) = daemon.command(&["status"]);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or(&error).to_owned();
    let rest = lines.take_while(|line| line.starts_with("  ") && !line.starts_with("  - "));
    (code, rest.fold(first, |whole, line| format!("{whole} {}", line.trim())))
}

/// Waits until the first line has this, and gives the exit status.
fn says(daemon: &Daemon, what: &str) -> i32 {
    let mut last = (0, String::new());
    until(&format!("the first line has {what:?}"), || {
        last = headline(daemon);
        last.1.contains(what)
    });
    let (code, line) = last;
    assert!(line.contains("(main)") || !line.contains("main"), "names the account: {line}");
    code
}

fn ok(daemon: &Daemon, args: &[&str]) {
    let (code, out, error) = daemon.command(args);
    assert_eq!(code, 0, "{args:?}: {out} {error}");
}

/// A daemon with one VM in error that somebody looks after: nothing else is wrong.
fn looked_after(clock: &Clock, provider: &Provider, smtp: &SmtpServer) -> Daemon {
    let daemon = Daemon::start_by(clock, provider, smtp.address, "");
    wait_for(smtp, STARTED);
    provider.set_vm(10001, "error");
    wait_for(smtp, "main/vm_error/10001 opened");
    assert_eq!(says(&daemon, "in error"), 1);
    ok(&daemon, &["ack", "main/vm_error/10001", "--comment", "Ann is on it"]);
    assert_eq!(says(&daemon, "No new problems · 1 acknowledged (main)"), 0);
    daemon
}

/// It stays a problem, acknowledged or silenced; the mail, the page and the terminal say the same.
fn stays_a_problem(daemon: &Daemon, mail: &Received, words: &str) {
    assert_eq!(says(daemon, words), 1);
    ok(daemon, &["ack", "main/disconnect/account", "--comment", "Ann pays"]);
    assert_eq!(says(daemon, ": Ann pays (main)"), 1);
    let (_, line) = headline(daemon);
    assert!(line.starts_with(words) && line.contains(" RUB now, acknowledged "), "{line}");
    let sentence = line.split(", acknowledged").next().unwrap().trim_start_matches("✕ ");
    assert_eq!(mail.subject, format!("[CRITICAL] {sentence} (main)"));
    let (_, page) = daemon.request("GET", "/");
    assert!(page.contains(&format!("<title>✕ {sentence}, acknowledged ")), "{page}");
    ok(daemon, &["ack", "main/disconnect/account", "--remove"]);
    ok(daemon, &["silence", "main/disconnect/*", "--for", "2h"]);
    assert_eq!(says(daemon, "silenced until "), 1);
}

#[test]
fn a_cut_off_is_a_problem_whoever_acknowledged_or_silenced_it() {
    let cut_off = |start: DateTime<Utc>| start + Duration::hours(20);
    let world = World::new("", |start| report(start, 5, Some(cut_off(start))));
    let mail = world.next(0, "rung:1");
    stays_a_problem(&world.daemon, &mail, "✕ Cut-off ");
}

#[test]
fn an_overdue_account_is_a_problem_whoever_acknowledged_or_silenced_it() {
    let cut_off = |start: DateTime<Utc>| start + Duration::hours(20);
    let mut world = World::new("", |start| report(start, 5, Some(cut_off(start))));
    world.next(0, "rung:1");
    world.go(cut_off(world.start) + Duration::hours(1));
    let mail = world.next(1, "rung:0");
    stays_a_problem(&world.daemon, &mail, "✕ OVERDUE since ");
}

#[test]
fn what_is_acknowledged_is_listed_by_name_date_and_note() {
    let (clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = looked_after(&clock, &provider, &smtp);
    let (_, text, _) = daemon.command(&["status"]);
    let line = text.lines().nth(1).unwrap();
    assert!(line.starts_with("  - VM web \"1\" <script> in error, acknowledged "), "{text}");
    assert!(text.replace("\n   ", "").contains(" UTC: Ann is on it (main)"), "{text}");
}

#[test]
fn a_mail_that_waits_for_half_an_hour_is_a_problem() {
    let (mut clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = looked_after(&clock, &provider, &smtp);
    daemon.has_sent(2);
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 later"));
    provider.set_vm(10001, "active");
    until("a mail waits", || daemon.command(&["outbox"]).1.contains("451"));
    assert_eq!(says(&daemon, "resources fine"), 0);
    clock.pass(Duration::minutes(31));
    assert_eq!(says(&daemon, "✕ 1 mail not delivered for 31 min"), 1);
    smtp.forget_rules();
    ok(&daemon, &["outbox", "retry", "all"]);
    assert_eq!(says(&daemon, "resources fine"), 0);
}

#[test]
fn a_refusal_for_good_is_a_problem_at_once() {
    for (stage, words) in [
        (Stage::Mail, "✕ 1 mail not delivered: the SMTP server refused the sender: "),
        (
            Stage::Rcpt,
            "✕ 1 mail given up, the last to ops@example.com: the SMTP server refused the recipient",
        ),
    ] {
        let (clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
        let daemon = looked_after(&clock, &provider, &smtp);
        daemon.has_sent(2);
        smtp.on(stage, Act::reply("550 5.7.1 not you"));
        provider.set_vm(10001, "active");
        assert_eq!(says(&daemon, words), 1);
        let (_, page) = daemon.request("GET", "/");
        assert!(page.contains("<a href=\"#mails\">1 mail "), "{page}");
    }
}

#[test]
fn a_provider_that_cannot_be_read_is_not_fine() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = Daemon::start(&provider, smtp.address);
    wait_for(&smtp, STARTED);
    assert_eq!(says(&daemon, "resources fine"), 0);
    provider.fault(FaultKind::InvalidJson, "/api/cvds/v1/vms/", &[]);
    assert_eq!(says(&daemon, "? Cannot read VMs since "), 3);
}

#[test]
fn a_store_in_memory_is_a_problem() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, "[alerts]\nrecover_polls = 1\n");
    daemon.run_as(shell(""));
    wait_for(&smtp, STARTED);
    daemon.has_sent(1);
    assert_eq!(says(&daemon, "resources fine"), 0);
    if !full_disk(&daemon, true) {
        return;
    }
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
    assert_eq!(says(&daemon, "✕ Store cannot be written: "), 1);
    full_disk(&daemon, false);
}

#[test]
fn another_daemons_answer_is_no_answer() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = Daemon::start(&provider, smtp.address);
    wait_for(&smtp, STARTED);
    assert_eq!(says(&daemon, "resources fine"), 0);
    daemon.configure("[accounts.main]", "[accounts.shop]");
    let (code, line) = headline(&daemon);
    assert_eq!(
        (code, line.as_str()),
        (3, "? The daemon that answers watches main, the configuration has shop")
    );
    let (code, json, error) = daemon.command(&["status", "--json"]);
    assert!(code == 3 && json.starts_with('{') && error.contains("the configuration has shop"), "{error}");
}

#[test]
fn check_config_says_what_is_polled_and_who_is_mailed_and_finds_what_nobody_reads() {
    let provider = Provider::start(SCENARIO);
    let mut daemon = Daemon::prepare(&provider, ([127, 0, 0, 1], 1).into(), "");
    let credentials = daemon.directory.path().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    std::fs::write(credentials.join("main.vm_apikey"), "x").unwrap();
    for by_systemd in [false, true] {
        if by_systemd {
            let directory = credentials.to_str().unwrap().to_owned();
            daemon.environment.push(("CREDENTIALS_DIRECTORY", directory));
        }
        let (code, out, error) = daemon.command(&["check-config"]);
        assert_eq!(code, 0, "{error}");
        assert!(
            out.contains(": OK; 1 account, mails on\nmain\n  polls: VMs, containers, sites, the balance\n"),
            "{out}"
        );
        assert!(out.contains("\n  mails: ops@example.com\n"), "{out}");
        let warning = "main.vm_apikey: nobody reads this file; did you mean \"main.vm_api_key\"?";
        assert!(error.contains(warning), "{error}");
    }
    for (zone, code, says) in
        [("MSK", 1, "did you mean \"Europe/Moscow\"?"), ("EST", 0, "did you mean \"America/New_York\"?")]
    {
        daemon.configure("time_zone = \"UTC\"", &format!("time_zone = \"{zone}\""));
        let (got, _, error) = daemon.command(&["check-config"]);
        assert!(got == code && error.contains(says), "{zone}: {got} {error}");
        daemon.configure(&format!("time_zone = \"{zone}\""), "time_zone = \"UTC\"");
    }
}

#[test]
fn doctor_says_nothing_good_after_what_failed() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = Daemon::prepare(&provider, smtp.address, "");
    provider.fault(FaultKind::ExpiredCredentials, "/api/cvds/v1/vms/", &[]);
    daemon.configure("container_states", "# container_states");
    let (code, text, error) = daemon.command(&["doctor"]);
    assert_eq!(code, 1, "{text} {error}");
    let failed = text.lines().position(|line| line.trim_start().starts_with("FAIL") && line.contains("VMs"));
    let after: Vec<&str> = text.lines().skip(failed.unwrap()).filter(|line| line.contains("vm")).collect();
    assert!(after.iter().all(|line| !line.trim_start().starts_with("ok")), "{after:?}\n{text}");
    // A block to fill in, with what each number stands for.
    let block = "\n# ENABLED, DISABLED_BY_SERVICE, DISABLED_BY_ADMIN, DISABLED_BY_QUOTA\n\
                 [accounts.main.container_states]\n0 = \"\" # 2 containers\n";
    assert!(text.contains(block), "{text}");
}
