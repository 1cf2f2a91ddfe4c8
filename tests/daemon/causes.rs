//! What explains what, and what nothing looks at any more: whoever reads only the mails knows how things stand. The
//! real binary throughout.
#![allow(clippy::unwrap_used)]

use crate::common;

use chrono::Duration;
use common::clock::Clock;
use common::smtp::SmtpServer;
use common::*;
use hostwatch::sim::FaultKind;

const RULES: &str = "[alerts.rules]\nresource_gone = { enabled = true }\n";

struct World {
    clock: Clock,
    provider: Provider,
    smtp: SmtpServer,
    daemon: Daemon,
    /// Mails before these are known.
    mark: usize,
}

impl World {
    fn start(scenario: &str) -> Self {
        let (clock, provider, smtp) = (Clock::new(), Provider::start(scenario), SmtpServer::plain());
        let daemon = Daemon::start_by(&clock, &provider, smtp.address, RULES);
        wait_for(&smtp, "main/started/account started");
        Self { clock, provider, smtp, daemon, mark: 1 }
    }

    fn mails(&self) -> Vec<Received> {
        received(&self.smtp).split_off(self.mark)
    }

    /// Every pair since the mark, in the order of arrival.
    fn pairs(&self) -> Vec<String> {
        self.mails().into_iter().flat_map(|mail| mail.pairs).collect()
    }

    fn mark(&mut self) {
        self.mark = received(&self.smtp).len();
    }

    /// Waits for a mail since the mark.
    fn told(&self, pair: &str) -> Received {
        let find = || self.mails().into_iter().find(|mail| mail.pairs.iter().any(|one| one == pair));
        until(&format!("{pair} in {:?}", self.pairs()), || find().is_some());
        find().unwrap()
    }

    fn pass(&mut self, minutes: i64) {
        self.provider.all_polled(2);
        self.clock.pass(Duration::minutes(minutes));
        self.provider.all_polled(3);
    }

    fn reload(&self, from: &str, to: &str) {
        let before = self.daemon.log.count("configuration reloaded");
        self.daemon.configure(from, to);
        self.daemon.signal("HUP");
        until("the reload", || self.daemon.log.count("configuration reloaded") > before);
    }

    fn set_container(&self, name: &str, state: &str) {
        self.provider.say(&format!(r#"{{"container": "{name}", "state": "{state}"}}"#), "set_container");
    }

    fn is_open(&self, key: &str) -> bool {
        let (_, list, _) = self.daemon.command(&["incidents"]);
        list.lines().any(|line| line.trim() == key)
    }
}

/// `kind/resource event` of pairs of account `main`.
fn named(pairs: &[&str]) -> Vec<String> {
    pairs.iter().map(|pair| format!("main/{pair}")).collect()
}

const UNPAID: &str = r#"
time_zone = "UTC"
lasts_days = 60
vms = 4
containers = 3
sites = 6
"#;

const NAMED: &str = r#"
time_zone = "UTC"
lasts_days = 60
vms = 2
containers = 1
sites = 1

[[vm]]
name = "left"

[[vm]]
name = "right"
"#;

/// An account that is overdue, and told so; all that it cut off is back for now.
fn overdue() -> World {
    let mut world = World::start(SCENARIO);
    world.mark();
    world.provider.say(r#"{"amount": "-10"}"#, "set_balance");
    let told = || world.pairs().iter().any(|pair| pair.starts_with("main/disconnect/account "));
    until("the cut-off", told);
    world.provider.say(r#"{"vm": "*", "state": "active"}"#, "set_vm");
    world.provider.set_site("*", "Active");
    world.set_container("*", "ENABLED");
    // Beyond the hour in which changes are counted.
    world.provider.all_polled(2);
    world.pass(70);
    world.mark();
    world
}

fn paid(world: &World) {
    world.provider.say(r#"{"amount": "900000"}"#, "set_balance");
    world.told("main/disconnect/account resolved");
}

/// Point 12: an error is nobody's consequence, and what is stopped by others than the service neither.
#[test]
fn what_non_payment_does_not_explain_is_told_beside_it() {
    let mut world = overdue();
    world.provider.set_vm(10001, "error");
    world.told("main/vm_error/10001 opened");
    world.provider.set_site("shop.example.com", "StoppedByAdmin");
    world.told("main/site_blocked/2001 opened");
    world.set_container("shop", "DISABLED_BY_ADMIN");
    world.told("main/container_disabled/301 opened");
    world.mark();
    // What it explains is in one mail more.
    world.provider.set_vm(10002, "blocked");
    world.pass(3);
    let more = world.told("main/disconnect/account covered:1");
    assert!(more.subject.starts_with("[CRITICAL] Also offline now: VM "), "{}", more.subject);
    assert_eq!(world.pairs(), ["main/disconnect/account covered:1"]);
    // A blocked VM that goes into error is told of all the same.
    world.provider.set_vm(10002, "error");
    world.told("main/vm_error/10002 opened");
}

/// Point 12: what is still wrong once its cause is over is told at once, and its end.
#[test]
fn what_outlives_the_payment_is_told_at_once() {
    let world = overdue();
    world.provider.set_vm(10001, "blocked");
    world.provider.set_vm(10002, "blocked");
    world.provider.all_polled(2);
    world.provider.set_vm(10002, "active");
    world.provider.all_polled(3);
    paid(&world);
    world.told("main/vm_blocked/10001 opened");
    world.provider.set_vm(10001, "active");
    world.told("main/vm_blocked/10001 resolved");
    assert!(!world.pairs().iter().any(|pair| pair.contains("vm_blocked/10002")), "{:?}", world.pairs());
}

/// Point 12: also where a silence keeps the mail about the payment back.
#[test]
fn what_outlives_a_payment_that_nobody_hears_of_is_told_at_once() {
    let mut world = overdue();
    world.provider.set_vm(10001, "blocked");
    world.provider.all_polled(2);
    assert_eq!(world.daemon.command(&["silence", "main/disconnect/*", "--for", "6d"]).0, 0);
    let silenced = || world.daemon.request("GET", "/api/v1/status").1.contains("\"silenced_until\":\"");
    until("the silence", silenced);
    world.mark();
    // For a month: the next cut-off is ahead, and the incident goes on.
    let page = world.daemon.page();
    let required =
        page.lines().find_map(|line| line.split("days=\"30\"} ").nth(1).filter(|_| line.contains("top_up")));
    world.provider.say(&format!(r#"{{"amount": "{}"}}"#, required.unwrap()), "pay");
    world.told("main/vm_blocked/10001 opened");
    assert!(world.is_open("main/disconnect/account"));
    assert_eq!(world.pairs(), ["main/vm_blocked/10001 opened"]);
}

/// Points 12 and 15: credentials that are taken out end the overdue incident, which covers nothing any more.
#[test]
fn a_cause_that_nothing_looks_at_any_more_explains_nothing() {
    let mut world = overdue();
    world.provider.set_vm(10001, "blocked");
    world.provider.all_polled(2);
    world.daemon.configure("billing_username = \"billing-user\"\n", "");
    world.reload("billing_password = \"billing-password\"\n", "");
    let over = world.told("main/disconnect/account unwatched");
    assert_eq!(over.subject, "[INFO] No longer watched: account main, was overdue (main)");
    world.told("main/vm_blocked/10001 opened");
    assert!(!world.is_open("main/disconnect/account"));
    let page = world.daemon.page();
    assert!(
        !page.lines().any(|line| line.starts_with("hostwatch_incidents{") && line.contains("disconnect"))
    );
    world.mark();
    world.provider.set_vm(10002, "blocked");
    world.told("main/vm_blocked/10002 opened");
    world.clock.pass(Duration::days(2));
    world.provider.polled("/api/cvds/v1/vms/", 3);
    assert!(!world.pairs().iter().any(|pair| pair.contains("disconnect")), "{:?}", world.pairs());
}

/// Point 12: a container all of whose sites the service stopped is one incident, by its own state or not.
#[test]
fn a_container_whose_sites_are_all_stopped_is_one_incident() {
    let mut world = World::start(UNPAID);
    world.mark();
    world.provider.set_site("*", "StoppedByService");
    let opened = || world.pairs().iter().filter(|pair| pair.ends_with(" opened")).count();
    until("three containers", || opened() >= 3);
    world.provider.all_polled(3);
    assert_eq!(opened(), 3, "{:?}", world.pairs());
    assert!(
        world.pairs().iter().all(|pair| pair.starts_with("main/container_disabled/")),
        "{:?}",
        world.pairs()
    );
    world.mark();
    world.provider.set_site("*", "Active");
    let ended = || world.pairs().iter().filter(|pair| pair.ends_with(" resolved")).count();
    until("their ends", || ended() >= 3);
    world.provider.all_polled(3);
    assert_eq!(world.pairs().len(), 3, "{:?}", world.pairs());
}

/// Point 15: by key, schedule, rule and name; one mail for one reload, never RESOLVED, and no word after it.
#[test]
fn what_a_reload_no_longer_watches_ends_once() {
    let table = [
        ("vm_api_key = \"vm-api-key\"\n", "", vec!["vm_error/10001", "vm_error/10002"]),
        ("vms = \"* * * * * *\"", "vms = \"\"", vec!["vm_error/10001", "vm_error/10002"]),
        (RULES, "[alerts.rules]\nvm_error = { enabled = false }\n", vec!["vm_error/10001", "vm_error/10002"]),
        (RULES, "[alerts.rules]\nvm_error = { except = [\"right\"] }\n", vec!["vm_error/10002"]),
        (RULES, "[alerts.rules]\nvm_error = { only = [\"right\"] }\n", vec!["vm_error/10001"]),
    ];
    each(
        &table,
        |(from, to, _)| format!("{from} -> {to}"),
        |(from, to, keys)| {
            let mut world = World::start(NAMED);
            world.provider.set_vm(10001, "error");
            world.provider.set_vm(10002, "error");
            world.told("main/vm_error/10001 opened");
            world.told("main/vm_error/10002 opened");
            world.mark();
            world.reload(from, to);
            let want: Vec<String> = keys.iter().map(|key| format!("main/{key} unwatched")).collect();
            let mail = world.told(&want[0]);
            assert_eq!(mail.pairs, want);
            assert!(mail.subject.starts_with("[INFO] No longer watched: VM "), "{}", mail.subject);
            assert!(mail.subject.contains(", was in error"), "{}", mail.subject);
            keys.iter().for_each(|key| assert!(!world.is_open(&format!("main/{key}")), "{key}"));
            world.clock.pass(Duration::days(2));
            world.provider.polled("/api/v1/hosting/containers/", 3);
            let later = world.pairs().split_off(want.len());
            assert!(!later.iter().any(|pair| keys.iter().any(|key| pair.contains(key))), "{later:?}");
        },
    );
}

/// Point 15: what is back within a day goes on, and who was told that nobody looks is told how it is: a key, a rule, a name.
#[test]
fn what_is_watched_again_within_a_day_goes_on_with_its_incidents() {
    let key = "vm_api_key = \"vm-api-key\"\n";
    let without: [(&str, &str); 3] = [
        (&format!("{key}billing_username"), "billing_username"),
        (RULES, "[alerts.rules]\nvm_error = { enabled = false }\n"),
        (RULES, "[alerts.rules]\nvm_error = { except = [\"*\"] }\n"),
    ];
    let table: Vec<_> = without.into_iter().flat_map(|one| [(one, false), (one, true)]).collect();
    each(
        &table,
        |((_, to), well)| format!("{to} {well}"),
        |&((from, to), well)| {
            let mut world = World::start(SCENARIO);
            world.provider.set_vm(10001, "error");
            world.told("main/vm_error/10001 opened");
            world.reload(from, to);
            world.told("main/vm_error/10001 unwatched");
            world.clock.pass(Duration::hours(5));
            world.mark();
            if well {
                world.provider.set_vm(10001, "active");
                world.provider.polled("/api/v1/hosting/containers/", 3);
            }
            world.reload(to, from);
            if !well {
                world.told("main/vm_error/10001 opened");
                world.provider.set_vm(10001, "active");
            }
            world.told("main/vm_error/10001 resolved");
            let want = if well { vec![] } else { vec!["vm_error/10001 opened"] };
            assert_eq!(world.pairs(), [named(&want), named(&["vm_error/10001 resolved"])].concat());
        },
    );
}

/// The same of a cut-off that was paid for while nobody looked: never told as ahead again.
#[test]
fn a_cut_off_that_is_watched_again_and_was_paid_for_is_over() {
    let mut world = World::start(SCENARIO);
    world.provider.lasts_days(2);
    world.told("main/disconnect/account rung:3");
    let off = "[alerts.rules]\ndisconnect = { enabled = false }\n";
    world.reload(RULES, off);
    world.told("main/disconnect/account unwatched");
    world.mark();
    world.provider.lasts_days(400);
    world.provider.all_polled(3);
    world.reload(off, RULES);
    world.told("main/disconnect/account resolved");
    assert_eq!(world.pairs(), named(&["disconnect/account resolved"]));
}

/// Point 15: the whole account, a key that is gone at the next start, other recipients.
#[test]
fn whoever_was_told_of_a_beginning_hears_of_its_end_and_nobody_else() {
    let mut world = World::start(SCENARIO);
    world.provider.set_vm(10001, "error");
    world.told("main/vm_error/10001 opened");
    world.mark();
    assert_eq!(world.daemon.stop(), 0);
    world.daemon.configure("vm_api_key = \"vm-api-key\"\n", "");
    world.daemon.configure("to = [\"ops@example.com\"]", "to = [\"new@example.com\"]");
    world.daemon.run();
    world.told("main/vm_error/10001 unwatched");
    assert_eq!(world.mails().len(), 1);
    let seen = world.smtp.seen();
    let last = seen.accepted().pop().cloned().unwrap();
    assert!(last.to.iter().all(|to| to.contains("ops@example.com")), "{:?}", last.to);
}

/// Point 17: once, whatever becomes of the daemon; to those who know nothing changes.
#[test]
fn whoever_becomes_a_recipient_hears_of_what_is_open() {
    let mut world = World::start(SCENARIO);
    world.provider.set_vm(10001, "error");
    world.told("main/vm_error/10001 opened");
    world.mark();
    let both = "to = [\"ops@example.com\", \"New <new@example.com>\"]";
    world.reload("to = [\"ops@example.com\"]", both);
    let mail = world.told("main/vm_error/10001 opened");
    assert!(mail.text.contains("Still open; the mail that began it was not for you"), "{}", mail.text);
    world.daemon.signal("HUP");
    assert_eq!(world.daemon.stop(), 0);
    world.daemon.run();
    world.pass(2);
    let ends = |address: &str| {
        let seen = world.smtp.seen();
        let mails = seen.accepted().into_iter().skip(world.mark);
        let mails = mails.filter(|mail| mail.to.iter().any(|to| to.contains(address)));
        mails.flat_map(|mail| read(&mail.raw).pairs).collect::<Vec<_>>()
    };
    assert_eq!((ends("ops@"), ends("new@")), (vec![], vec!["main/vm_error/10001 opened".to_owned()]));
    world.provider.set_vm(10001, "active");
    let resolved = "main/vm_error/10001 resolved".to_owned();
    until("the end", || ends("ops@") == [resolved.clone()] && ends("new@").last() == Some(&resolved));
    assert_eq!(ends("new@").len(), 2);
}

/// Points 9 and 15: an order that left the report, a VM that is listed again, a number that lost its name.
#[test]
fn what_the_provider_shows_no_more_is_not_over() {
    let mut world = World::start(SCENARIO);
    world.set_container("shop", "DISABLED_BY_ADMIN");
    world.told("main/container_disabled/301 opened");
    world.mark();
    world.reload(", 2 = \"DISABLED_BY_ADMIN\"", "");
    world.pass(2);
    let mail = world.told("main/container_disabled/301 unwatched");
    assert_eq!(mail.subject, "[INFO] No longer watched: Container shop, was disabled (main)");
    assert!(!world.is_open("main/container_disabled/301"));
}

/// Point 16: a silence never swallows an end.
#[test]
fn the_end_of_what_was_mailed_is_told_through_a_silence() {
    let mut world = World::start(SCENARIO);
    world.provider.set_vm(10001, "error");
    world.told("main/vm_error/10001 opened");
    world.mark();
    let (status, _, error) = world.daemon.command(&["silence", "main/*", "--for", "2h"]);
    assert_eq!(status, 0, "{error}");
    until("it is silenced", || {
        world.daemon.request("GET", "/api/v1/status").1.contains("\"silenced_until\":\"2")
    });
    world.provider.set_vm(10001, "active");
    world.told("main/vm_error/10001 resolved");
    // What begins and ends under it is told to nobody.
    world.provider.set_vm(10002, "error");
    world.provider.all_polled(3);
    world.provider.set_vm(10002, "active");
    world.provider.all_polled(4);
    world.pass(130);
    assert_eq!(world.pairs(), ["main/vm_error/10001 resolved"]);
}

/// Point 17: the line about the time in which nobody watched stands where the change fell into that time.
#[test]
fn nobody_watched_is_said_only_of_what_changed_then() {
    let mut world = World::start(SCENARIO);
    world.provider.all_polled(2);
    assert_eq!(world.daemon.stop(), 0);
    world.clock.pass(Duration::hours(6));
    world.provider.set_vm(10001, "error");
    world.daemon.run();
    let unseen = world.told("main/vm_error/10001 opened");
    assert!(unseen.text.contains("hostwatch was not running from"), "{}", unseen.text);
    // The second look is no look at that time any more.
    world.provider.set_vm(10002, "error");
    let seen = world.told("main/vm_error/10002 opened");
    assert!(!seen.text.contains("hostwatch was not running from"), "{}", seen.text);
    world.provider.all_polled(2);
    world.provider.set_vm(10001, "active");
    let over = world.told("main/vm_error/10001 resolved");
    assert!(!over.text.contains("hostwatch was not running from"), "{}", over.text);
}

/// Point 13: a provider that does not answer is one mail, critical, and one recovery.
#[test]
fn a_provider_that_does_not_answer_is_one_mail() {
    let mut world = World::start(SCENARIO);
    world.provider.all_polled(2);
    world.mark();
    world.provider.fault(FaultKind::Status, "vm", &[]);
    world.provider.fault(FaultKind::Status, "hosting", &[]);
    world.provider.fault(FaultKind::Status, "billing", &[]);
    let page = |daemon: &Daemon, collector: &str| {
        daemon.shows(&format!("hostwatch_collector_success{{account=\"main\",collector=\"{collector}\"}} 0"));
    };
    for collector in ["vms", "containers", "sites", "expected_balance"] {
        page(&world.daemon, collector);
    }
    world.clock.pass(Duration::minutes(16));
    until("the mail", || !world.pairs().is_empty());
    world.clock.pass(Duration::minutes(5));
    world.provider.all_polled(2);
    assert_eq!(world.mails().len(), 1, "{:?}", world.pairs());
    let mail = world.mails().remove(0);
    assert_eq!(mail.pairs.len(), 1, "{:?}", mail.pairs);
    assert!(mail.subject.starts_with("[CRITICAL] "), "{}", mail.subject);
    assert!(mail.subject.contains("Provider API does not answer: nothing is watched"), "{}", mail.subject);
    world.mark();
    world.provider.clear_faults();
    world.told(&mail.pairs[0].replace("opened", "resolved"));
    world.provider.all_polled(4);
    world.pass(2);
    assert_eq!(world.pairs().len(), 1, "{:?}", world.pairs());
}
