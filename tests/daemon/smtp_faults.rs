//! Every way in which a mail server can fail, at every stage, against the real binary: what is tried again, what
//! waits for the server, what is given up (contract, section 6, "Delivery"). Nothing is lost, nothing comes twice
//! but the very bytes whose acknowledgement was lost.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::common::certificates;

use certificates::Authority;
use chrono::Duration;
use common::clock::Clock;
use common::ledger::Ledger;
use common::smtp::{Act, Protection, Setup, SmtpServer, Stage};
use common::vitals::{Vitals, assert_stops};
use common::*;

const STARTED: &str = "main/started/account started";
const OPS: &str = "ops@example.com";
const STAGES: [Stage; 7] =
    [Stage::Greeting, Stage::Ehlo, Stage::Auth, Stage::Mail, Stage::Rcpt, Stage::Data, Stage::Dot];
const CODES: [&str; 3] = ["421", "451", "550"];

/// The mail of a VM in error.
fn opened(vm: u64) -> String {
    format!("main/vm_error/{vm} opened")
}

/// A healthy daemon that has sent its first mail, with the outbox's delays divided by `haste`.
fn healthy(provider: &Provider, smtp: &SmtpServer, haste: u32, extra: &str) -> Daemon {
    let mut daemon = Daemon::prepare(provider, smtp.address, extra);
    daemon.environment.push(("HOSTWATCH_HASTE", haste.to_string()));
    first_mail(daemon, smtp)
}

fn first_mail(mut daemon: Daemon, smtp: &SmtpServer) -> Daemon {
    daemon.run();
    wait_for(smtp, STARTED);
    daemon.has_sent(1);
    daemon
}

/// `hostwatch_notifications_total`.
fn counted(daemon: &Daemon, result: &str) -> u64 {
    let start = format!("hostwatch_notifications_total{{result=\"{result}\"}} ");
    let page = daemon.page();
    page.lines().find_map(|line| line.strip_prefix(&start)).unwrap().parse().unwrap()
}

fn outbox(daemon: &Daemon) -> String {
    let (status, out, error) = daemon.command(&["outbox"]);
    assert_eq!(status, 0, "{error}");
    out
}

/// What a recipient has, and how many copies beyond the first came of anything.
fn has(smtp: &SmtpServer, to: &str, events: &[&str]) -> usize {
    let ledger = Ledger::of(smtp, to);
    let mut wanted = events.to_vec();
    wanted.sort_unstable();
    assert_eq!(ledger.events(), wanted, "{to}");
    ledger.repeats()
}

/// What becomes of a mail whose server refused something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// The server is not there for any mail: all wait, and no mail's attempt counts.
    Waits,
    /// The server does not want us: all wait, for five minutes or until a reload.
    Held,
    /// This mail waits, others go on.
    Again,
    /// Given up, and said so.
    Dead,
}

fn fate(stage: Stage, code: &str) -> Fate {
    match (stage, code.starts_with('5')) {
        (Stage::Auth | Stage::Mail, true) => Fate::Held,
        (Stage::Rcpt | Stage::Data | Stage::Dot, true) => Fate::Dead,
        (Stage::Rcpt | Stage::Data | Stage::Dot, false) => Fate::Again,
        _ => Fate::Waits,
    }
}

#[test]
fn refusals_at_every_stage() {
    let mut cases = Vec::new();
    for stage in STAGES {
        for code in CODES {
            cases.push((stage, code));
        }
    }
    each(&cases, |(stage, code)| format!("{code} at {stage:?}"), |&(stage, code)| refused(stage, code));
}

/// A server that wants a login, and a daemon that has one. The login is sent over TLS alone.
fn guarded(provider: &Provider, haste: u32) -> (SmtpServer, Daemon) {
    let authority = Authority::new("a test's own");
    let smtp = SmtpServer::start(Setup {
        protection: Protection::Implicit(authority.server(&["127.0.0.1"])),
        login: Some(("user".to_owned(), "hunter2-secret".to_owned())),
        ..Setup::default()
    });
    let mut daemon = Daemon::prepare(provider, smtp.address, "");
    daemon.configure(
        "smtp_url = \"smtp://",
        "ca_file = \"ca.pem\"\npassword = \"hunter2-secret\"\nsmtp_url = \"smtps://user@",
    );
    std::fs::write(daemon.directory.path().join("ca.pem"), authority.pem()).unwrap();
    daemon.environment.push(("HOSTWATCH_HASTE", haste.to_string()));
    (smtp, daemon)
}

fn refused(stage: Stage, code: &str) {
    let fate = fate(stage, code);
    // What is held for five minutes ends by a reload, as the contract says; the rest by its own time.
    let haste = if fate == Fate::Held { 1 } else { 300 };
    let provider = Provider::start(SCENARIO);
    let (smtp, mut daemon) = if stage == Stage::Auth {
        let (smtp, daemon) = guarded(&provider, haste);
        let daemon = first_mail(daemon, &smtp);
        (smtp, daemon)
    } else {
        let smtp = SmtpServer::plain();
        let daemon = healthy(&provider, &smtp, haste, "");
        (smtp, daemon)
    };
    let base = Vitals::at_rest(&daemon);
    let before = smtp.seen().connections;
    let said = format!("{code} 4.0.0 scripted refusal");
    smtp.on(stage, Act::reply(&said));
    provider.set_vm(10001, "error");
    let words = match fate {
        Fate::Waits | Fate::Held => "the mail server cannot be used",
        Fate::Again => "mail will be tried again",
        Fate::Dead => "mail given up",
    };
    assert!(daemon.log.wait(words).contains("scripted refusal"), "{:#?}", daemon.log.lines());
    let state = if fate == Fate::Dead { "given up" } else { "waiting" };
    until("the outbox says why", || {
        let list = flat(&outbox(&daemon));
        list.contains(state) && list.contains("scripted refusal") && list.contains(code)
    });
    let list = outbox(&daemon);
    if matches!(fate, Fate::Waits | Fate::Held) {
        assert!(list.contains("after 0 attempts"), "no mail's attempt counts: {list}");
    }
    assert_eq!(counted(&daemon, "dead"), u64::from(fate == Fate::Dead));
    assert_eq!(counted(&daemon, "retry") > 0, fate != Fate::Dead);
    assert_eq!(counted(&daemon, "sent"), 1);

    // Another mail: it fares no better while the server is in the way.
    provider.set_vm(10002, "error");
    let (first, second) = (opened(10001), opened(10002));
    match fate {
        Fate::Held => {
            daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 2");
            provider.all_polled(2);
            assert_eq!(smtp.seen().connections, before + 1, "one attempt, and then none");
            assert_eq!(counted(&daemon, "retry"), 1);
            smtp.forget_rules();
            daemon.signal("HUP");
        }
        Fate::Waits | Fate::Again => {
            daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 2");
            smtp.forget_rules();
        }
        Fate::Dead => {
            daemon.shows("hostwatch_outbox_messages{state=\"dead\"} 2");
            assert_eq!(smtp.seen().connections, before + 2, "nothing is tried twice");
            smtp.forget_rules();
        }
    }
    if fate == Fate::Dead {
        // The first mail that arrives names all that was given up: the second named the first to nobody.
        provider.set_vm(10003, "error");
        let next = wait_for(&smtp, &opened(10003));
        let named = next.text.matches(&format!("A mail to {OPS} had to be given up")).count();
        assert!(named == 2 && next.text.contains("scripted refusal"), "{}", next.text);
        provider.set_vm(10004, "error");
        let after = wait_for(&smtp, &opened(10004));
        assert!(!after.text.contains("given up"), "{}", after.text);
        daemon.has_sent(3);
        assert_eq!(has(&smtp, OPS, &[STARTED, &opened(10003), &opened(10004)]), 0);
    } else {
        wait_for(&smtp, &first);
        wait_for(&smtp, &second);
        daemon.has_sent(3);
        assert_eq!(has(&smtp, OPS, &[STARTED, &first, &second]), 0);
        assert_eq!(counted(&daemon, "dead"), 0);
    }
    let secret = |line: &String| line.contains("hunter2-secret");
    assert!(!daemon.log.lines().iter().any(secret) && !list.contains("hunter2-secret"));
    leaves_nothing(&mut daemon, &smtp, &base);
}

/// No connection to the mail server, no descriptor, nothing that a stop has to wait for.
fn leaves_nothing(daemon: &mut Daemon, smtp: &SmtpServer, base: &Vitals) {
    until("nothing is left of the fault", || {
        let now = Vitals::of(daemon);
        !now.connections.contains(&smtp.address.port()) && now.descriptors <= base.descriptors
    });
    assert_stops(daemon);
}

/// What becomes of a mail whose conversation broke off.
fn fate_of_broken(stage: Stage) -> Fate {
    if matches!(stage, Stage::Greeting | Stage::Ehlo) { Fate::Waits } else { Fate::Again }
}

/// A conversation that breaks, at every stage, before and after the final dot.
#[test]
fn breaks_at_every_stage() {
    let cases = breaks();
    let name = |(stage, act): &(Stage, Act)| format!("{act:?} at {stage:?}");
    each(&cases, name, |(stage, act)| broken(*stage, act));
}

fn breaks() -> Vec<(Stage, Act)> {
    use Stage::{Data, Dot, Ehlo, Greeting, Mail, Rcpt};
    let drop_at = |stage| (stage, Act::Drop);
    let mut cases: Vec<(Stage, Act)> = [Greeting, Ehlo, Mail, Rcpt, Data, Dot].map(drop_at).to_vec();
    cases.extend([(Dot, Act::DropEarly), (Dot, Act::AcceptAndDrop)]);
    // No reply at all: the limits are half a minute, and a minute for the mail itself.
    cases.extend([Greeting, Mail, Dot].map(|stage| (stage, Act::Stall)));
    cases
}

fn broken(stage: Stage, act: &Act) {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.environment.push(("HOSTWATCH_HASTE", "300".to_owned()));
    let mut clock = Clock::new();
    daemon.environment.extend(clock.environment());
    let mut daemon = first_mail(daemon, &smtp);
    let base = Vitals::at_rest(&daemon);
    smtp.once(stage, act.clone());
    provider.set_vm(10001, "error");
    if matches!(act, Act::Stall) {
        let stalled = format!("{stage:?} {act:?}");
        until("the stall", || smtp.seen().acts.contains_key(&stalled));
        // The server may have seen it a moment before the daemon begins to wait for the reply.
        let mut passed = None;
        until("the stall is noticed", || {
            if passed.is_none_or(|at: std::time::Instant| at.elapsed().as_secs() >= 5) {
                clock.pass(Duration::seconds(if stage == Stage::Dot { 61 } else { 31 }));
                passed = Some(std::time::Instant::now());
            }
            counted(&daemon, "retry") > 0
        });
    }
    let first = opened(10001);
    wait_for(&smtp, &first);
    daemon.has_sent(2);
    provider.all_polled(2);
    // The server took it and could not say so.
    let lost = usize::from(matches!(act, Act::AcceptAndDrop));
    assert_eq!(has(&smtp, OPS, &[STARTED, &first]), lost, "copies");
    assert_eq!((counted(&daemon, "retry"), counted(&daemon, "sent"), counted(&daemon, "dead")), (1, 2, 0));
    let waits = fate_of_broken(stage) == Fate::Waits;
    let words = if waits { "the mail server cannot be used" } else { "mail will be tried again" };
    assert_eq!(daemon.log.count(words), 1, "{:#?}", daemon.log.lines());
    if stage == Stage::Dot && !matches!(act, Act::DropEarly) {
        assert_eq!(daemon.log.count("it may have been accepted"), 1, "{:#?}", daemon.log.lines());
    }
    leaves_nothing(&mut daemon, &smtp, &base);
}

/// The fault at the moment of a stop: nothing waits for the server, and the mail comes from the next start.
#[test]
fn a_stop_in_the_midst_of_a_mail_loses_nothing() {
    let stages = [Stage::Greeting, Stage::Mail, Stage::Dot];
    each(
        &stages,
        |stage| format!("{stage:?}"),
        |&stage| {
            let provider = Provider::start(SCENARIO);
            let smtp = SmtpServer::plain();
            let mut daemon = healthy(&provider, &smtp, 300, "");
            let before = smtp.seen().connections;
            smtp.on(stage, Act::Stall);
            provider.set_vm(10001, "error");
            until("the conversation begins", || smtp.seen().connections > before);
            assert_stops(&mut daemon);
            smtp.forget_rules();
            daemon.run();
            wait_for(&smtp, &opened(10001));
            daemon.has_sent(2);
            assert_eq!(has(&smtp, OPS, &[STARTED, &opened(10001)]), 0);
        },
    );
}

/// The table of docs/dev/faults.md: made of what the tests above hold each case to.
#[test]
fn the_page_shows_what_becomes_of_a_mail() {
    let word = |fate: Fate| match fate {
        Fate::Waits => "waits",
        Fate::Held => "held",
        Fate::Again => "again",
        Fate::Dead => "given up",
    };
    let mut text = String::from("| the server |");
    for stage in STAGES {
        text.push_str(&format!(" {} |", format!("{stage:?}").to_uppercase()));
    }
    text.push_str(&format!("\n|---|{}\n", "---|".repeat(STAGES.len())));
    for code in CODES {
        text.push_str(&format!("| answers {code} |"));
        STAGES.iter().for_each(|&stage| text.push_str(&format!(" {} |", word(fate(stage, code)))));
        text.push('\n');
    }
    for (says, act) in [("closes without a word", Act::Drop), ("says nothing more", Act::Stall)] {
        text.push_str(&format!("| {says} |"));
        for stage in STAGES {
            let tried = breaks().iter().any(|(at, how)| *at == stage && how == &act);
            let fate = if tried { word(fate_of_broken(stage)) } else { "" };
            text.push_str(&format!(" {fate} |"));
        }
        text.push('\n');
    }
    let command = "cargo test --test daemon smtp_faults the_page";
    sections::hold("docs/dev/faults.md", "smtp", &text, command);
}

#[test]
fn a_refused_connection_counts_once_and_newer_mails_replace_older_ones() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let port = smtp.address.port();
    let mut daemon = healthy(&provider, &smtp, 1, "[alerts]\nrecover_polls = 1\n");
    drop(smtp);
    provider.set_vm(10001, "error");
    daemon.log.wait("the mail server cannot be used");
    provider.set_vm(10002, "error");
    provider.lasts_days(6);
    daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 3");
    // A newer rung, and the end of what nobody was told of yet.
    provider.lasts_days(2);
    daemon.shows("hostwatch_outbox_messages{state=\"withdrawn\"} 1");
    provider.set_vm(10002, "active");
    daemon.shows("hostwatch_outbox_messages{state=\"withdrawn\"} 2");
    daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 3");
    assert_eq!(counted(&daemon, "retry"), 1, "one connection failed, whatever waits for it");
    assert!(outbox(&daemon).contains("after 0 attempts"), "{}", outbox(&daemon));
    let smtp = SmtpServer::start(Setup { port, ..Setup::default() });
    daemon.signal("HUP");
    let told = ["main/disconnect/account rung:3", "main/vm_error/10002 was-down", &opened(10001)];
    for event in told {
        wait_for(&smtp, event);
    }
    daemon.has_sent(4);
    assert_eq!(has(&smtp, OPS, &told), 0);
    let order: Vec<String> = received(&smtp).into_iter().map(|mail| mail.pairs[0].clone()).collect();
    assert_eq!(order[0], told[0], "the disconnect does not wait behind others");
    assert_eq!(daemon.stop(), 0);
}

const TWO: &str = "[alerts.rules.vm_error]\nto = [\"good@example.com\", \"bad@example.com\"]\n";

#[test]
fn one_recipient_who_is_refused_takes_nothing_from_the_other() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = healthy(&provider, &smtp, 300, TWO);
    smtp.on_times(Stage::Rcpt, "bad@", usize::MAX, Act::reply("550 5.1.1 no such user"));
    provider.set_vm(10001, "error");
    let first = opened(10001);
    wait_for(&smtp, &first);
    let line = daemon.log.wait("mail given up");
    assert!(line.contains("recipient=bad@example.com") && line.contains(" subject=\"["), "{line}");
    daemon.shows("hostwatch_outbox_messages{state=\"dead\"} 1");
    assert_eq!((counted(&daemon, "sent"), counted(&daemon, "dead"), counted(&daemon, "retry")), (2, 1, 0));
    let list = outbox(&daemon);
    let dead = flat(&list).split(" given up ").nth(1).unwrap().to_owned();
    assert!(dead.split(" sent ").next().unwrap().contains("bad@example.com"), "{list}");
    // Whoever is still reached hears of it.
    provider.set_site("shop.example.com", "Error");
    let next = wait_for(&smtp, "main/site_error/2001 opened");
    assert!(next.text.contains("A mail to bad@example.com had to be given up"), "{}", next.text);
    assert_eq!(has(&smtp, "good@example.com", &[&first]), 0);
    assert_eq!(has(&smtp, "bad@example.com", &[]), 0);
    assert_eq!(has(&smtp, OPS, &[STARTED, "main/site_error/2001 opened"]), 0);
}

#[test]
fn one_recipient_who_has_to_wait_holds_nobody_up() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = healthy(&provider, &smtp, 300, TWO);
    smtp.on_times(Stage::Rcpt, "bad@", 2, Act::reply("451 4.2.0 greylisted"));
    provider.set_vm(10001, "error");
    let first = opened(10001);
    daemon.has_sent(3);
    assert_eq!(counted(&daemon, "retry"), 2);
    for to in ["good@example.com", "bad@example.com"] {
        assert_eq!(has(&smtp, to, &[&first]), 0);
    }
    let order: Vec<String> = smtp.seen().accepted().iter().map(|mail| mail.to[0].clone()).collect();
    assert_eq!(order, [OPS, "good@example.com", "bad@example.com"]);
}

/// A second account of its own provider, whose mails go to somebody else.
fn second_account(provider: &Provider) -> String {
    format!(
        r#"
[accounts.second]
base_url = "http://{0}"
panel_url = "http://{0}"
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "UTC"
to = ["ann@example.com"]
"#,
        provider.address
    )
}

#[test]
fn what_was_given_up_is_named_to_those_whom_it_concerns() {
    let (provider, other) = (Provider::start(SCENARIO), Provider::start(SCENARIO));
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, &second_account(&other));
    daemon.run();
    daemon.has_sent(2);
    smtp.on_times(Stage::Rcpt, "ops@", 1, Act::reply("550 5.1.1 no such user"));
    provider.set_vm(10001, "error");
    daemon.log.wait("mail given up");
    other.set_vm(10001, "error");
    let mail = wait_for(&smtp, "second/vm_error/10001 opened");
    assert!(!mail.text.contains("given up") && !mail.text.contains("ops@example.com"), "{}", mail.text);
    provider.set_vm(10002, "error");
    let mail = wait_for(&smtp, &opened(10002));
    assert!(mail.text.contains(&format!("A mail to {OPS} had to be given up")), "{}", mail.text);
    other.set_vm(10001, "active");
    let mail = wait_for(&smtp, "second/vm_error/10001 resolved");
    assert!(!mail.text.contains("given up"), "{}", mail.text);
    provider.set_vm(10003, "error");
    let mail = wait_for(&smtp, &opened(10003));
    assert!(!mail.text.contains("given up"), "{}", mail.text);
}
