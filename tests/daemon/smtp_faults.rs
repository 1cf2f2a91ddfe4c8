//! All faults of a mail server at every stage, against the real binary. Mails wait for the server, are repeated
//! soon, or are held after a refusal (contract, section 6, "Mails on their way"). No mail is lost. Only a mail
//! whose reply was lost comes twice, with the same bytes.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::common::certificates;

use certificates::Authority;
use chrono::Duration;
use common::clock::Clock;
use common::ledger::Ledger;
use common::smtp::{Act, Mail, Protection, Setup, SmtpServer, Stage};
use common::vitals::{Vitals, assert_stops};
use common::*;

const STAGES: [Stage; 8] = [
    Stage::Greeting,
    Stage::Ehlo,
    Stage::StartTls,
    Stage::Auth,
    Stage::Mail,
    Stage::Rcpt,
    Stage::Data,
    Stage::Dot,
];
const CODES: [&str; 3] = ["451 4.0.0", "550 5.7.1", "552 5.2.3"];

/// A healthy daemon that has sent its first mail, with the outbox's delays divided by `haste`.
fn healthy(haste: u32, extra: &str) -> (Provider, SmtpServer, Daemon) {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::prepare(&provider, smtp.address, extra);
    daemon.environment.push(("HOSTWATCH_HASTE", haste.to_string()));
    let daemon = first_mail(daemon, &smtp);
    (provider, smtp, daemon)
}

fn first_mail(mut daemon: Daemon, smtp: &SmtpServer) -> Daemon {
    daemon.run();
    wait_for(smtp, STARTED);
    daemon.has_sent(1);
    // The next mail has a connection of its own, from its greeting.
    smtp.seen_when_blocking(|seen| seen.closed == seen.connections);
    daemon
}

/// `hostwatch_notifications_total`.
fn counted(daemon: &Daemon, result: &str) -> u64 {
    let start = format!("hostwatch_notifications_total{{result=\"{result}\"}} ");
    let page = daemon.page();
    page.lines().find_map(|line| line.strip_prefix(&start)).unwrap().parse().unwrap()
}

/// Checks the mails of a recipient. Returns the number of copies beyond the first.
fn has(smtp: &SmtpServer, to: &str, events: &[&str]) -> usize {
    let ledger = Ledger::of(smtp, to);
    let mut wanted = events.to_vec();
    wanted.sort_unstable();
    assert_eq!(ledger.events(), wanted, "{to}");
    ledger.repeats()
}

/// The further way of a mail whose server refused something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// The server is unusable for all mails: all wait, and no attempt counts for a mail.
    Waits,
    /// The server refuses us: all wait, for five minutes or until a reload.
    Held,
    /// This mail waits, others go on.
    Again,
    /// The address or this mail alone is held for an hour, while new critical problems are tried at once.
    Refused,
}

fn fate(stage: Stage, code: &str) -> Fate {
    match (stage, code.starts_with('5')) {
        (Stage::Greeting | Stage::Ehlo | Stage::StartTls | Stage::Auth | Stage::Mail, true) => Fate::Held,
        // 5.2.3 is about the mailbox or this mail, 5.7.1 about us.
        (Stage::Rcpt | Stage::Data | Stage::Dot, true) if code == "552 5.2.3" => Fate::Refused,
        (Stage::Rcpt | Stage::Data | Stage::Dot, true) => Fate::Held,
        (Stage::Rcpt | Stage::Data | Stage::Dot, false) => Fate::Again,
        _ => Fate::Waits,
    }
}

/// The server takes its time over the first mail that it gets.
#[test]
fn a_mail_about_money_goes_first_however_slow_the_server_is() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    provider.lasts_days(3);
    smtp.once(Stage::Dot, Act::Wait);
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.run();
    smtp.seen_when_blocking(|seen| seen.acts.len() == 1);
    provider.all_polled(3);
    let subjects = |mails: &[Mail]| {
        let lines = mails.iter().map(|mail| String::from_utf8_lossy(&mail.raw).into_owned());
        lines.map(|raw| raw.lines().find(|line| line.starts_with("Subject: ")).unwrap().to_owned()).collect()
    };
    let first: Vec<String> = subjects(&smtp.seen().mails);
    assert!(first.len() == 1 && first[0].contains("Cut-off"), "{first:?}");
    smtp.forget_rules();
    wait_for(&smtp, STARTED);
}

/// Some relays refuse pictures and attachments with the words of a refusal of everything.
#[test]
fn contents_that_are_refused_without_a_reason_go_as_plain_text_after_the_pause() {
    let (provider, smtp, daemon) = healthy(300, "");
    smtp.once(Stage::Dot, Act::reply("554 5.7.1 refused by policy"));
    provider.lasts_days(3);
    let said = daemon.log.wait("the mail server takes no mail from us");
    assert!(said.contains("plain text is tried next"), "{said}");
    daemon.owes_nothing();
    let mails: Vec<String> =
        smtp.seen().accepted().iter().map(|mail| String::from_utf8_lossy(&mail.raw).into_owned()).collect();
    let mail = mails.last().filter(|mail| mail.contains("X-Hostwatch-Incident: main/disconnect/account"));
    let mail = mail.unwrap_or_else(|| panic!("{mails:?}"));
    assert!(mail.contains("text/plain") && !mail.contains("text/html") && !mail.contains("image"), "{mail}");
    assert!(mail.contains("To stay online"), "{mail}");
}

/// A mail is made once its server has greeted, so that it does not tell as news what was over by then. An end is told
/// to those who heard of the beginning.
#[test]
fn what_was_over_before_the_server_greeted_is_told_as_such() {
    for is_killed in [false, true] {
        let (provider, smtp, mut daemon) = healthy(1, "");
        let before = smtp.seen().connections;
        smtp.once(Stage::Greeting, Act::Wait);
        provider.set_vm(10001, "error");
        smtp.seen_when_blocking(|seen| seen.connections > before);
        if is_killed {
            daemon.kill();
            daemon.run();
        }
        provider.set_vm(10001, "active");
        provider.all_polled(4);
        smtp.forget_rules();
        wait_for(&smtp, "main/vm_error/10001 was-down");
        daemon.owes_nothing();
        assert_eq!(has(&smtp, OPS, &[STARTED, "main/vm_error/10001 was-down"]), 0, "killed: {is_killed}");
    }
}

#[test]
fn a_server_that_never_greets_is_asked_again_at_a_retry_and_at_a_reload() {
    for is_reload in [false, true] {
        let (provider, smtp, daemon) = healthy(1, "");
        let before = smtp.seen().connections;
        smtp.once(Stage::Greeting, Act::Stall);
        provider.set_vm(10001, "error");
        smtp.seen_when_blocking(|seen| seen.connections > before);
        if is_reload {
            daemon.signal("HUP");
        } else {
            let (status, said, error) = daemon.command(&["outbox", "retry", "all"]);
            assert_eq!(status, 0, "{said}{error}");
        }
        wait_for(&smtp, &opened(10001));
        assert_eq!(smtp.seen().connections, before + 2);
    }
}

#[test]
fn the_outbox_says_why_mails_wait_for_a_connection_also_without_the_daemon() {
    let (provider, smtp, mut daemon) = healthy(1, "");
    smtp.on(Stage::Greeting, Act::reply("421 4.3.2 closed for the night"));
    provider.set_vm(10001, "error");
    until("the outbox says why", || daemon.outbox().contains("closed for the night"));
    daemon.kill();
    let list = daemon.outbox();
    assert!(list.contains(OPS) && list.contains("closed for the night"), "{list}");
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

/// A server that requires a login, and a daemon that has one. The login is sent over TLS only, by STARTTLS if that
/// is the stage of the fault.
fn guarded(stage: Stage, haste: u32) -> (Provider, SmtpServer, Daemon) {
    let provider = Provider::start(SCENARIO);
    let authority = Authority::new("a test's own");
    let tls = authority.server(&["127.0.0.1"]);
    let (protection, scheme) = if stage == Stage::StartTls {
        (Protection::StartTls(tls), "smtp")
    } else {
        (Protection::Implicit(tls), "smtps")
    };
    let smtp = SmtpServer::start(Setup {
        protection,
        login: Some(("user".to_owned(), "hunter2-secret".to_owned())),
        ..Setup::default()
    });
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    let login = "ca_file = \"ca.pem\"\npassword = \"hunter2-secret\"\n";
    daemon.configure("smtp_url = \"smtp://", &format!("{login}smtp_url = \"{scheme}://user@"));
    std::fs::write(daemon.directory.path().join("ca.pem"), authority.pem()).unwrap();
    daemon.environment.push(("HOSTWATCH_HASTE", haste.to_string()));
    let daemon = first_mail(daemon, &smtp);
    (provider, smtp, daemon)
}

fn refused(stage: Stage, code: &str) {
    let fate = fate(stage, code);
    // Holds of minutes and hours are ended by a command here, the others by their own time.
    let haste = if matches!(fate, Fate::Held | Fate::Refused) { 1 } else { 300 };
    let over_tls = matches!(stage, Stage::StartTls | Stage::Auth);
    let (provider, smtp, mut daemon) = if over_tls { guarded(stage, haste) } else { healthy(haste, "") };
    let base = Vitals::at_rest(&daemon);
    let tried = || smtp.seen().acts.get(&format!("{stage:?} {}", &code[..3])).copied();
    let said = format!("{code} scripted refusal");
    // A mail that is refused for its contents is tried once more, as text alone.
    let tries: usize = if fate == Fate::Refused && stage != Stage::Rcpt { 2 } else { 1 };
    smtp.on(stage, Act::reply(&said));
    provider.set_vm(10001, "error");
    let words = match fate {
        Fate::Held if matches!(stage, Stage::Rcpt | Stage::Data | Stage::Dot) => {
            "the mail server takes no mail from us"
        }
        Fate::Waits | Fate::Held => "the mail server cannot be used",
        Fate::Again => "mail will be tried again",
        Fate::Refused => "mail refused",
    };
    assert!(daemon.log.wait(words).contains("scripted refusal"), "{:#?}", daemon.log.lines());
    let says = |all: &[&str]| {
        let list = daemon.outbox();
        all.iter().all(|one| list.contains(one))
    };
    until("the outbox says why", || says(&[OPS, "last error: ", "scripted refusal", code]));
    until("the status says why", || daemon.request("GET", "/api/v1/status").1.contains("scripted refusal"));
    let refused = if fate == Fate::Refused { tries as u64 } else { 0 };
    until("all refusals are counted", || counted(&daemon, "refused") == refused);
    assert_eq!(counted(&daemon, "retry") > 0, fate != Fate::Refused);
    assert_eq!(counted(&daemon, "sent"), 1);

    // A second incident waits too while the server is in the way.
    provider.set_vm(10002, "error");
    until("both are owed", || says(&["main/vm_error/10001 opened", "main/vm_error/10002 opened"]));
    let list = daemon.outbox();
    match fate {
        Fate::Held => {
            provider.all_polled(2);
            // A login is tried by PLAIN and by LOGIN.
            let once = if stage == Stage::Auth { 2 } else { 1 };
            assert_eq!(tried(), Some(once), "one attempt, and then none");
            assert_eq!(counted(&daemon, "retry"), 1);
            daemon.shows("hostwatch_outbox_messages{state=\"held\"} 1");
            assert!(list.contains("next try "), "{list}");
            smtp.forget_rules();
            if stage == Stage::Mail {
                let (status, said, error) = daemon.command(&["outbox", "retry", "all"]);
                assert!(status == 0 && flat(&said).contains("back any more"), "{said}{error}");
            } else {
                daemon.signal("HUP");
            }
        }
        Fate::Waits | Fate::Again => smtp.forget_rules(),
        Fate::Refused => {
            until("the new one is tried at once", || counted(&daemon, "refused") == 2 * refused);
            daemon.shows("hostwatch_outbox_messages{state=\"held\"} 1");
            provider.all_polled(2);
            assert_eq!(tried(), Some(2 * tries), "nothing is tried twice");
            smtp.forget_rules();
            let (status, said, error) = daemon.command(&["outbox", "retry", OPS]);
            assert_eq!(status, 0, "{said}{error}");
        }
    }
    let (first, second) = (opened(10001), opened(10002));
    wait_for(&smtp, &first);
    wait_for(&smtp, &second);
    daemon.owes_nothing();
    assert_eq!(has(&smtp, OPS, &[STARTED, &first, &second]), 0);
    assert!(daemon.outbox().starts_with("nothing is owed"), "{}", daemon.outbox());
    let secret = |line: &String| line.contains("hunter2-secret");
    assert!(!daemon.log.lines().iter().any(secret) && !list.contains("hunter2-secret"));
    leaves_nothing(&mut daemon, &smtp, &base);
}

/// No connection to the mail server, no descriptor, and nothing that delays a stop.
fn leaves_nothing(daemon: &mut Daemon, smtp: &SmtpServer, base: &Vitals) {
    until("nothing is left of the fault", || {
        let now = Vitals::of(daemon);
        !now.connections.contains(&smtp.address.port()) && now.descriptors <= base.descriptors
    });
    assert_stops(daemon);
}

/// The further way of a mail whose conversation broke off.
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
    // No reply at all: the limits here are half a minute, and a minute for the mail itself.
    cases.extend([Greeting, Ehlo, Mail, Rcpt, Data, Dot].map(|stage| (stage, Act::Stall)));
    cases
}

fn broken(stage: Stage, act: &Act) {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.environment.push(("HOSTWATCH_HASTE", "300".to_owned()));
    daemon.environment.push(("HOSTWATCH_TIME_OUT_HASTE", "10".to_owned()));
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
            if passed.is_none_or(|at: std::time::Instant| at.elapsed().as_secs() >= 15) {
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
    assert_eq!((counted(&daemon, "retry"), counted(&daemon, "sent"), counted(&daemon, "refused")), (1, 2, 0));
    let waits = fate_of_broken(stage) == Fate::Waits;
    let words = if waits { "the mail server cannot be used" } else { "mail will be tried again" };
    assert_eq!(daemon.log.count(words), 1, "{:#?}", daemon.log.lines());
    if stage == Stage::Dot && !matches!(act, Act::DropEarly) {
        assert_eq!(daemon.log.count("it may have been accepted"), 1, "{:#?}", daemon.log.lines());
    }
    leaves_nothing(&mut daemon, &smtp, &base);
}

/// The fault comes at the moment of a stop. The stop waits for no server, and the mail comes from the next
/// start.
#[test]
fn a_stop_within_a_mail_loses_nothing() {
    let stages = [Stage::Greeting, Stage::Mail, Stage::Dot];
    each(
        &stages,
        |stage| format!("{stage:?}"),
        |&stage| {
            let (provider, smtp, mut daemon) = healthy(300, "");
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

/// The table of docs/dev/faults.md, made from the cases that the tests above check.
#[test]
fn the_docs_table_is_current() {
    let word = |fate: Fate| match fate {
        Fate::Waits => "waits",
        Fate::Held => "held",
        Fate::Again => "again",
        Fate::Refused => "refused",
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
    let command = "cargo test --test daemon the_docs_table";
    sections::hold("docs/dev/faults.md", "smtp", &text, command);
}

const TWO: &str = "[alerts.rules.vm_error]\nto = [\"good@example.com\", \"bad@example.com\"]\n";

#[test]
fn others_read_who_was_not_reached() {
    let (provider, other) = (Provider::start(SCENARIO), Provider::start(SCENARIO));
    let smtp = SmtpServer::plain();
    let second = account("second", other.address);
    let extra = format!("{TWO}{second}to = [\"ann@example.com\"]\n");
    let mut daemon = Daemon::prepare(&provider, smtp.address, &extra);
    daemon.configure("[alerts.rules.vm_error]", "[accounts.main.alerts.rules.vm_error]");
    daemon.run();
    daemon.has_sent(2);
    smtp.on_times(Stage::Rcpt, "bad@", usize::MAX, Act::reply("550 5.1.1 no such user"));
    let names = |provider: &Provider, vm: u64, state: &str, event: &str| {
        provider.set_vm(vm, state);
        flat(&wait_for(&smtp, event).text).contains("Mails to bad@example.com have not been delivered")
    };
    // Mails leave one after the other, and his is the first: this one knows already.
    assert!(names(&provider, 10001, "error", &opened(10001)));
    assert!(!names(&other, 10001, "error", "second/vm_error/10001 opened"), "another account's");
    assert!(names(&provider, 10002, "error", &opened(10002)));
    assert!(names(&provider, 10003, "error", &opened(10003)), "as long as it lasts");
}
