//! The last word is true, whatever the mail server does: what waits is replaced, ordered and given up so that whoever
//! reads only what arrives knows how things stand. The real binary, clocks that move, a server that defers and refuses.

use std::collections::BTreeSet;
use std::time::Instant;

use chrono::Duration;

use crate::common::clock::Clock;
use crate::common::smtp::{Act, SmtpServer, Stage};
use crate::common::*;
use hostwatch::sim::{Command, Fault, FaultKind};

const STARTED: &str = "main/started/account started";

/// A daemon by a moving clock, past its first mail.
fn watching(provider: &Provider, smtp: &SmtpServer) -> (Clock, Daemon) {
    let clock = Clock::new();
    let daemon = Daemon::start_by(&clock, provider, smtp.address, "");
    wait_for(smtp, STARTED);
    daemon.has_sent(1);
    (clock, daemon)
}

/// What the recipient reads of a kind, in the order of arrival. Moved clocks cut conversations short: the same mail
/// may come twice.
fn read(smtp: &SmtpServer, kind: &str) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mails = received(smtp).into_iter().filter(|mail| known.insert(mail.message_id.clone()));
    let pairs: Vec<String> = mails.flat_map(|mail| mail.pairs).collect();
    let pairs = pairs.into_iter();
    pairs.filter(|pair| pair.split('/').nth(1) == Some(kind)).collect()
}

fn is_open(daemon: &Daemon) -> bool {
    daemon.page().contains("kind=\"vm_error\"")
}

/// How many such incidents are not over, by state.
fn open(daemon: &Daemon) -> Vec<String> {
    let page = daemon.page();
    let lines = page.lines().filter(|line| line.contains("kind=\"vm_error\""));
    lines.map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
}

fn fails(provider: &Provider, daemon: &Daemon) {
    provider.set_vm(10001, "error");
    until("the incident", || is_open(daemon));
}

fn recovers(provider: &Provider, daemon: &Daemon) {
    provider.set_vm(10001, "active");
    until("its end", || !is_open(daemon));
}

/// Lets time go by, so much each second, until it is so. A clock that moves amid a conversation breaks it.
fn passing(clock: &mut Clock, step: Duration, what: &str, mut so: impl FnMut() -> bool) {
    let mut passed = None;
    until(what, || {
        if so() {
            return true;
        }
        if passed.is_none_or(|at: Instant| at.elapsed().as_secs() >= 1) {
            clock.pass(step);
            passed = Some(Instant::now());
        }
        false
    });
}

/// Lets time go by until a mail tells this.
fn arrives(clock: &mut Clock, smtp: &SmtpServer, pair: &str) -> Received {
    let find = || received(smtp).into_iter().find(|mail| mail.pairs.iter().any(|one| one == pair));
    passing(clock, Duration::minutes(31), &format!("a mail with {pair}"), || find().is_some());
    find().unwrap()
}

/// Attempts that failed and are to be made again.
fn failed(daemon: &Daemon) -> usize {
    daemon.log.count("mail will be tried again")
}

/// Without the breaks of its lines.
fn outbox(daemon: &Daemon) -> String {
    daemon.command(&["outbox"]).1.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_ended_before_its_mail_arrived_is_one_mail_at_every_stage() {
    let stages = [Stage::Greeting, Stage::Mail, Stage::Rcpt, Stage::Data, Stage::Dot];
    each(
        &stages,
        |stage| format!("{stage:?}"),
        |&stage| {
            let provider = Provider::start(SCENARIO);
            let smtp = SmtpServer::plain();
            let (mut clock, daemon) = watching(&provider, &smtp);
            smtp.on(stage, Act::reply("451 4.7.1 try again later"));
            fails(&provider, &daemon);
            until("an attempt", || outbox(&daemon).contains("451"));
            recovers(&provider, &daemon);
            smtp.forget_rules();
            arrives(&mut clock, &smtp, "main/vm_error/10001 was-down");
            assert_eq!(read(&smtp, "vm_error").len(), 1, "{stage:?}");
        },
    );
}

/// The first mail waits, and what it speaks of changes: it comes with how things stand by then.
#[test]
fn the_first_mail_that_waits_counts_what_needs_somebody_anew() {
    let provider = Provider::start(SCENARIO);
    provider.lasts_days(3);
    provider.set_vm(10002, "error");
    let smtp = SmtpServer::plain();
    smtp.on(Stage::Mail, Act::reply("450 4.7.1 try again later"));
    let mut clock = Clock::new();
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    until("an attempt", || outbox(&daemon).contains("450"));
    assert!(outbox(&daemon).contains("2 problems: cut-off ahead, VM web-2 in error"), "{}", outbox(&daemon));
    // It is paid, one VM breaks, nobody hears of it yet.
    provider.lasts_days(80);
    fails(&provider, &daemon);
    until("the news", || outbox(&daemon).contains("2 problems: VM web-2 in error, one since the start"));
    smtp.forget_rules();
    let mail = arrives(&mut clock, &smtp, "main/vm_error/10002 started");
    assert!(mail.subject.contains("2 problems: VM web-2 in error, one since the start"), "{}", mail.subject);
    assert!(mail.text.contains("Since the start"), "{}", mail.text);
    assert!(!mail.text.contains("Cut-off ahead"), "{}", mail.text);
    arrives(&mut clock, &smtp, "main/vm_error/10001 opened");
    assert_eq!(read(&smtp, "vm_error").len(), 2);
}

/// The mail server is away on the last safe day, and back on the next.
#[test]
fn a_mail_about_money_that_waits_is_of_the_day_on_which_it_leaves() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.on(Stage::Mail, Act::reply("450 4.7.1 try again later"));
    provider.lasts_days(6);
    let subject = || {
        let shown = outbox(&daemon);
        let from = shown.find("Cut-off ")?;
        Some(shown[from..].split(" (main)").next()?.to_owned())
    };
    until("an attempt", || subject().is_some() && outbox(&daemon).contains("450"));
    let before = subject();
    clock.pass(Duration::hours(25));
    // What is being tried is made anew a minute later.
    passing(&mut clock, Duration::minutes(2), "the mail made anew", || subject() != before);
    let anew = subject().unwrap();
    smtp.forget_rules();
    let mail = arrives(&mut clock, &smtp, "main/disconnect/account rung:7");
    assert!(mail.subject.contains(&anew), "{} {anew}", mail.subject);
    assert!(!mail.text.contains("as of "), "{}", mail.text);
    assert!(clock.now() - mail.dated() < Duration::hours(12), "{}", mail.text);
    assert_eq!(read(&smtp, "disconnect").len(), 1);
}

/// The account is cut off while the machine sleeps, and the provider answers late: what waits is not made anew, as overdue,
/// before it was looked, nor is overdue told twice.
#[test]
fn a_mail_about_money_that_waited_through_a_sleep_does_not_tell_what_the_next_one_tells() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 try again later"));
    provider.lasts_days(1);
    until("an attempt", || failed(&daemon) > 0);
    let late = Fault { seconds: Some(5.0), ..Fault::new(FaultKind::Delay, "/api/v1/expected_balance/") };
    provider.simulator.control(&Command::Fault(late)).unwrap();
    let before = failed(&daemon);
    clock.pass(Duration::hours(49));
    until("an attempt after the sleep", || failed(&daemon) > before);
    smtp.forget_rules();
    // A minute later, while it is still being looked.
    clock.pass(Duration::seconds(61));
    wait_for(&smtp, "main/disconnect/account rung:0");
    let overdue = received(&smtp).into_iter().filter(|mail| mail.subject.contains("OVERDUE"));
    let told: BTreeSet<String> = overdue.map(|mail| mail.message_id).collect();
    assert_eq!(told.len(), 1, "{:?}", read(&smtp, "disconnect"));
}

/// Somebody dropped the only mail about it: nobody heard of it, so its end is no RESOLVED.
#[test]
fn the_end_of_what_was_dropped_by_hand_is_worded_as_to_somebody_who_heard_of_nothing() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 try again later"));
    fails(&provider, &daemon);
    until("an attempt", || outbox(&daemon).contains("451"));
    let (code, said, error) = daemon.command(&["outbox", "drop", "all"]);
    assert_eq!(code, 0, "{said} {error}");
    smtp.forget_rules();
    recovers(&provider, &daemon);
    let mail = arrives(&mut clock, &smtp, "main/vm_error/10001 was-down");
    assert!(mail.subject.contains(" was in error "), "{}", mail.subject);
    assert_eq!(read(&smtp, "vm_error"), ["main/vm_error/10001 was-down"]);
}

#[test]
fn after_a_lost_reply_the_end_is_worded_as_if_the_beginning_had_arrived() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.once(Stage::Dot, Act::Drop);
    fails(&provider, &daemon);
    daemon.log.wait("the reply to the whole mail was lost");
    recovers(&provider, &daemon);
    arrives(&mut clock, &smtp, "main/vm_error/10001 resolved");
    assert_eq!(read(&smtp, "vm_error").len(), 1, "outdated, it is not sent again");
}

#[test]
fn what_was_being_sent_at_a_kill_goes_first() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (_clock, mut daemon) = watching(&provider, &smtp);
    smtp.on(Stage::Dot, Act::Stall);
    fails(&provider, &daemon);
    until("the dot", || smtp.seen().mails.iter().any(|mail| !mail.accepted));
    daemon.kill();
    smtp.forget_rules();
    provider.set_vm(10001, "active");
    daemon.run();
    wait_for(&smtp, "main/vm_error/10001 resolved");
    assert_eq!(read(&smtp, "vm_error"), ["main/vm_error/10001 opened", "main/vm_error/10001 resolved"]);
}

#[test]
fn a_group_mail_leaves_out_what_ended_while_it_waited() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 greylisted"));
    provider.set_vm(10001, "error");
    provider.set_vm(10002, "error");
    until("both", || open(&daemon) == ["2"]);
    until("an attempt", || outbox(&daemon).contains("greylisted"));
    provider.set_vm(10001, "active");
    until("one", || open(&daemon) == ["1"] && !daemon.page().contains("recovering"));
    smtp.forget_rules();
    arrives(&mut clock, &smtp, "main/vm_error/10001 was-down");
    arrives(&mut clock, &smtp, "main/vm_error/10002 opened");
    let all = read(&smtp, "vm_error");
    assert_eq!(all.len(), 2, "{all:?}");
}

/// How often a recipient was named.
fn asked(smtp: &SmtpServer) -> usize {
    smtp.seen().commands.iter().filter(|line| line.contains("RCPT TO")).count()
}

/// A server that takes its time: what is decided meanwhile cannot withdraw what is on its way, until that comes back.
#[test]
fn what_is_decided_while_its_beginning_is_on_its_way_replaces_it_where_that_came_back() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.once(Stage::Rcpt, Act::late("451 4.7.1 greylisted"));
    provider.set_vm(10001, "error");
    provider.set_vm(10002, "error");
    until("both", || open(&daemon) == ["2"]);
    until("an attempt", || asked(&smtp) == 2);
    provider.set_vm(10001, "active");
    until("one", || open(&daemon) == ["1"] && !daemon.page().contains("recovering"));
    assert_eq!(failed(&daemon), 0, "it is on its way all the while");
    smtp.forget_rules();
    until("two mails, each of what it is about", || outbox(&daemon).matches("withdrawn").count() == 2);
    arrives(&mut clock, &smtp, "main/vm_error/10001 was-down");
    arrives(&mut clock, &smtp, "main/vm_error/10002 opened");
    let all = read(&smtp, "vm_error");
    assert_eq!(all.len(), 2, "{all:?}");
}

#[test]
fn the_end_of_what_was_refused_for_good_meanwhile_is_worded_as_to_somebody_who_heard_of_nothing() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.once(Stage::Rcpt, Act::late("550 5.1.1 no such user"));
    fails(&provider, &daemon);
    until("an attempt", || asked(&smtp) == 2);
    recovers(&provider, &daemon);
    smtp.forget_rules();
    arrives(&mut clock, &smtp, "main/vm_error/10001 was-down");
    assert_eq!(read(&smtp, "vm_error").len(), 1);
}

#[test]
fn the_first_mail_does_not_come_after_the_end_of_what_it_lists() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 greylisted"));
    provider.set_vm(10001, "error");
    provider.set_vm(10002, "error");
    let mut clock = Clock::new();
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    until("an attempt", || outbox(&daemon).contains("greylisted"));
    provider.set_vm(10001, "active");
    until("one", || open(&daemon) == ["1"] && !daemon.page().contains("recovering"));
    smtp.forget_rules();
    arrives(&mut clock, &smtp, "main/vm_error/10001 was-down");
    arrives(&mut clock, &smtp, "main/vm_error/10002 started");
    assert_eq!(read(&smtp, "vm_error").len(), 2);
}

#[test]
fn a_mail_is_not_given_up_for_its_age_nor_by_a_clock() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, mut daemon) = watching(&provider, &smtp);
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 greylisted"));
    fails(&provider, &daemon);
    until("an attempt", || outbox(&daemon).contains("greylisted"));
    // A clock six days ahead, for as long as an attempt takes.
    let before = failed(&daemon);
    clock.set(Duration::days(6));
    passing(&mut clock, Duration::minutes(1), "another attempt", || failed(&daemon) > before);
    clock.set(-Duration::days(6));
    // Six days switched off.
    assert_eq!(daemon.stop(), 0);
    clock.pass(Duration::days(7));
    daemon.run();
    until("one more", || failed(&daemon) > 0);
    until("it waits", || outbox(&daemon).contains("greylisted"));
    daemon.shows("hostwatch_outbox_messages{state=\"dead\"} 0");
    smtp.forget_rules();
    arrives(&mut clock, &smtp, "main/vm_error/10001 opened");
}

#[test]
fn what_was_tried_for_five_days_is_told_with_its_subject_by_the_next_mail_that_arrives() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    fails(&provider, &daemon);
    wait_for(&smtp, "main/vm_error/10001 opened");
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 greylisted"));
    recovers(&provider, &daemon);
    until("an attempt", || outbox(&daemon).contains("greylisted"));
    for day in 1..=4 {
        let before = failed(&daemon);
        clock.pass(Duration::hours(25));
        passing(&mut clock, Duration::minutes(1), "another attempt", || failed(&daemon) > before);
        assert_eq!(daemon.log.count("tried for five days"), 0, "after {day} days");
    }
    let given_up = || daemon.log.count("tried for five days") > 0;
    passing(&mut clock, Duration::hours(25), "it is given up", given_up);
    let line = daemon.log.wait("tried for five days");
    let words = ["level=warn", "recipient=ops@example.com", "subject=", "VM web", "greylisted"];
    assert!(words.iter().all(|word| line.contains(word)), "{line}");
    smtp.forget_rules();
    provider.set_vm(10002, "error");
    arrives(&mut clock, &smtp, "main/vm_error/10002 opened");
    // A poll that a jump of the clock cut short may have been mailed before.
    let texts = received(&smtp).into_iter().map(|mail| mail.text);
    let texts: Vec<String> =
        texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let notes = texts.iter().filter(|text| {
        text.contains("A mail to ops@example.com had to be given up: [") && text.contains("greylisted")
    });
    assert_eq!(notes.count(), 1, "{texts:?}");
}

#[test]
fn what_did_not_arrive_at_a_wrong_address_is_told_once_the_address_is_right() {
    let refusals = [("550 5.1.1 no such user", "dead"), ("451 4.3.0 no such domain yet", "queued")];
    each(
        &refusals,
        |(reply, _)| (*reply).to_owned(),
        |(reply, state)| {
            let provider = Provider::start(SCENARIO);
            let smtp = SmtpServer::plain();
            smtp.on_times(Stage::Rcpt, "ops@example.com", usize::MAX, Act::reply(reply));
            provider.set_vm(10001, "error");
            let mut clock = Clock::new();
            let daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
            daemon.shows(&format!("hostwatch_outbox_messages{{state=\"{state}\"}} 1"));
            daemon.configure("to = [\"ops@example.com\"]", "to = [\"right@example.com\"]");
            daemon.signal("HUP");
            daemon.log.wait("reloaded");
            clock.pass(Duration::minutes(2));
            wait_for(&smtp, "main/vm_error/10001 opened");
            recovers(&provider, &daemon);
            wait_for(&smtp, "main/vm_error/10001 resolved");
            assert_eq!(read(&smtp, "vm_error").len(), 2);
        },
    );
}

/// Told before or not, its end too, and whoever else knows: the last news of it is to arrive.
#[test]
fn the_last_news_that_was_refused_for_good_is_told_anew_to_whom_it_was_for() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    let rule = "[alerts.rules.vm_error]\nto = [\"good@example.com\", \"bad@example.com\"]\n";
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, rule);
    wait_for(&smtp, "main/started/account started");
    let told = |address: &str| -> Vec<String> {
        let seen = smtp.seen();
        let mails = seen.accepted().into_iter().filter(|mail| mail.to.iter().any(|to| to == address));
        mails
            .flat_map(|mail| crate::common::read(&mail.raw).pairs)
            .filter(|pair| pair.contains("vm_error"))
            .collect()
    };
    let mut dead = 0;
    let mut news = Vec::new();
    for event in ["opened", "resolved"] {
        if event == "resolved" {
            // Whoever was told of the beginning, recipient still or not.
            daemon.configure("\"good@example.com\", \"bad@example.com\"", "\"good@example.com\"");
            daemon.signal("HUP");
            daemon.log.wait("configuration reloaded");
        }
        smtp.on_times(Stage::Rcpt, "bad@example.com", 1, Act::reply("554 5.7.1 looks like spam"));
        if event == "opened" {
            fails(&provider, &daemon);
        } else {
            recovers(&provider, &daemon);
        }
        dead += 1;
        daemon.shows(&format!("hostwatch_outbox_messages{{state=\"dead\"}} {dead}"));
        clock.pass(Duration::minutes(55));
        provider.all_polled(1);
        assert_eq!(told("bad@example.com"), news);
        clock.pass(Duration::minutes(10));
        news.push(format!("main/vm_error/10001 {event}"));
        until("it is told anew", || told("bad@example.com") == news);
        assert_eq!(told("good@example.com"), news);
    }
}

/// By a filter, say; an hour later it takes the same news, and no other mail was due in between.
#[test]
fn what_was_refused_for_good_once_is_told_anew_an_hour_later() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.once(Stage::Dot, Act::reply("554 5.7.1 looks like spam"));
    fails(&provider, &daemon);
    daemon.shows("hostwatch_outbox_messages{state=\"dead\"} 1");
    clock.pass(Duration::minutes(55));
    provider.all_polled(1);
    assert_eq!(read(&smtp, "vm_error"), [""; 0]);
    clock.pass(Duration::minutes(10));
    let mail = wait_for(&smtp, "main/vm_error/10001 opened");
    assert!(mail.text.contains("had to be given up"), "{}", mail.text);
    recovers(&provider, &daemon);
    wait_for(&smtp, "main/vm_error/10001 resolved");
    assert_eq!(read(&smtp, "vm_error").len(), 2);
}

#[test]
fn whoever_heard_of_the_beginning_hears_of_the_end_recipient_still_or_not() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (_clock, daemon) = watching(&provider, &smtp);
    fails(&provider, &daemon);
    wait_for(&smtp, "main/vm_error/10001 opened");
    daemon.configure("to = [\"ops@example.com\"]", "to = [\"other@example.com\"]");
    daemon.signal("HUP");
    daemon.log.wait("reloaded");
    // Who is a recipient now is told of it, and so of its end.
    until("both were told", || read(&smtp, "vm_error").len() == 2);
    recovers(&provider, &daemon);
    let ends = || {
        let seen = smtp.seen();
        let mails = seen.accepted().into_iter();
        let ends = mails.filter(|mail| String::from_utf8_lossy(&mail.raw).contains("resolved"));
        ends.flat_map(|mail| mail.to.clone()).collect::<BTreeSet<String>>()
    };
    until("both ends", || ends().len() == 2);
    assert_eq!(ends().into_iter().collect::<Vec<_>>(), ["ops@example.com", "other@example.com"]);
}

#[test]
fn nothing_is_given_up_while_the_server_refuses_our_own_address() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    smtp.on(Stage::Mail, Act::reply("550 5.7.1 sender rejected"));
    fails(&provider, &daemon);
    until("an attempt", || outbox(&daemon).contains("sender rejected"));
    // Attempts that are over: a clock moved amid one would be a connection that broke.
    let refused = || -> u64 {
        let page = daemon.page();
        let count = page
            .lines()
            .find_map(|line| line.strip_prefix("hostwatch_notifications_total{result=\"retry\"} "));
        count.unwrap().parse().unwrap()
    };
    for _ in 0..4 {
        let before = refused();
        passing(&mut clock, Duration::days(2), "another attempt", || refused() > before);
    }
    daemon.shows("hostwatch_outbox_messages{state=\"dead\"} 0");
    smtp.forget_rules();
    arrives(&mut clock, &smtp, "main/vm_error/10001 opened");
}

/// A digest says how things stood on its day: made anew without what a newer mail speaks of, it would call that well.
#[test]
fn a_digest_that_waits_stays_as_it_was_made_and_goes_first() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let (mut clock, daemon) = watching(&provider, &smtp);
    fails(&provider, &daemon);
    wait_for(&smtp, "main/vm_error/10001 opened");
    smtp.on(Stage::Rcpt, Act::reply("451 4.7.1 greylisted"));
    daemon.configure("digest = \"\"", "digest = \"* * * * *\"");
    daemon.signal("HUP");
    daemon.log.wait("reloaded");
    passing(&mut clock, Duration::minutes(1), "the digest waits", || failed(&daemon) > 0);
    daemon.configure("digest = \"* * * * *\"", "digest = \"\"");
    daemon.signal("HUP");
    until("no other digest comes", || daemon.log.count("configuration reloaded") == 2);
    clock.pass(Duration::hours(25));
    until("the reminder waits", || outbox(&daemon).contains("still in error"));
    smtp.forget_rules();
    arrives(&mut clock, &smtp, "main/vm_error/10001 reminder:1");
    let all = read(&smtp, "vm_error");
    assert!(all[1].starts_with("main/vm_error/10001 digest:"), "{all:?}");
    assert_eq!(received(&smtp).iter().filter(|mail| mail.text.contains("All well")).count(), 0);
}
