//! Commands of people beside a running daemon, reloads that end watching, and the digest. The real binary
//! throughout.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeSet;

use chrono::Duration;
use common::clock::Clock;
use common::smtp::{Act, SmtpServer, Stage};
use common::*;

fn ok(daemon: &Daemon, args: &[&str]) -> String {
    let (status, out, error) = daemon.command(args);
    assert_eq!(status, 0, "{args:?}: {error}");
    out
}

#[test]
fn an_ack_counts_within_a_second() {
    let (provider, smtp, mut daemon) = watching("");
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");

    let (status, _, error) = daemon.command(&["ack", "main/vm_error/1000"]);
    assert_eq!(status, 1);
    assert!(error.contains("`hostwatch incidents` lists the keys"), "{error}");
    let out = ok(&daemon, &["ack", "main/vm_error/10001", "--comment", "Ann is on it"]);
    assert!(out.contains("acknowledged"), "{out}");
    let acknowledged = || daemon.request("GET", "/api/v1/status").1.contains("\"acknowledged\":true");
    until("the page knows", acknowledged);
    daemon.log.wait("message=\"incident acknowledged\" incident=main/vm_error/10001 note=\"Ann is on it\"");
    let out = ok(&daemon, &["incidents"]);
    assert!(flat(&out).contains(": Ann is on it"), "{out}");
    ok(&daemon, &["ack", "main/vm_error/10001", "--remove"]);
    until("the page forgets", || !acknowledged());
    daemon.log.wait("message=\"acknowledgement taken back\" incident=main/vm_error/10001");
    assert!(
        daemon.log.wait("message=\"mail sent\"").contains("recipient=ops@example.com subject="),
        "no incident"
    );
    daemon.log.wait("message=\"mail sent\" recipient=ops@example.com incident=main/vm_error/10001");

    // A daemon that lost its socket would not learn of it.
    std::fs::remove_file(daemon.directory.path().join("hostwatch.db.sock")).unwrap();
    for args in [&["ack", "main/vm_error/10001"][..], &["silence", "web-*", "--for", "1h"]] {
        let (status, said, error) = daemon.command(args);
        assert!(status == 1 && error.contains("nothing was done: restart it"), "{args:?}: {said}{error}");
    }
    assert!(ok(&daemon, &["incidents"]).contains("main/vm_error/10001"));

    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
    daemon.stop();
    let (status, _, error) = daemon.command(&["ack", "main/vm_error/10001"]);
    assert!(status == 1 && error.contains("not open"), "{error}");
}

#[test]
fn a_silence_holds_mails_until_it_ends() {
    let (provider, smtp, daemon) = watching("");
    let out = ok(&daemon, &["silence", "main/vm_*", "--for", "2h", "--comment", "moving"]);
    assert!(out.contains("nothing that is open now"), "{out}");
    assert!(daemon.log.wait("message=\"silence began\"").contains("pattern=main/vm_* until=20"));
    let (status, _, error) = daemon.command(&["silence", " ", "--for", "1h"]);
    assert!(status == 2 && error.contains("it is empty"), "{error}");
    let (status, _, error) = daemon.command(&["silence", "x", "--for", "soon"]);
    assert!(status == 2 && error.contains("'soon' is no duration"), "{error}");
    provider.set_vm(10001, "error");
    until("it is known", || flat(&ok(&daemon, &["incidents"])).contains("silenced until"));
    // The site is not silenced, so it is mailed; its mail would come after one about the silenced VM.
    provider.set_site("shop.example.com", "Error");
    wait_for(&smtp, "main/site_error/2001 opened");
    let silenced = |mail: &Received| mail.pairs.iter().any(|pair| pair.contains("vm_error"));
    assert!(!received(&smtp).iter().any(silenced));

    let list = ok(&daemon, &["silence", "--list"]);
    assert!(list.contains("main/vm_*: moving") && list.contains("main/vm_error/10001"), "{list}");
    let id = list.split_whitespace().next().unwrap();
    ok(&daemon, &["silence", "--remove", id]);
    wait_for(&smtp, "main/vm_error/10001 opened");
    assert!(ok(&daemon, &["silence", "--list"]).contains("no silences"));
    daemon.log.wait("message=\"silence ended\"");
}

#[test]
fn outbox_retries_or_drops_refused_mails() {
    let (provider, smtp, mut daemon) = watching("");
    smtp.on(Stage::Rcpt, Act::reply("550 5.1.1 no such user"));
    for id in [10001, 10002] {
        provider.set_vm(id, "error");
        until("it is owed", || daemon.outbox().contains(&format!("main/vm_error/{id} opened")));
    }
    daemon.log.wait("mail refused");
    until("the refusal is listed", || {
        let list = daemon.outbox();
        list.contains("the server refuses mails to this recipient since") && list.contains("no such user")
    });
    let said = ok(&daemon, &["outbox", "drop", "ops@example.com", "main/vm_error/10002"]);
    assert!(said.contains("no more mails to ops@example.com, until they begin anew, about:"), "{said}");
    daemon
        .log
        .wait("message=\"dropped from the outbox\" recipient=ops@example.com incident=main/vm_error/10002");
    let list = daemon.outbox();
    assert!(list.contains("main/vm_error/10001") && !list.contains("main/vm_error/10002"), "{list}");
    let (status, _, error) = daemon.command(&["outbox", "retry", "nobody@example.com"]);
    assert!(status == 1 && error.contains("something is owed to: ops@example.com"), "{error}");
    smtp.forget_rules();
    ok(&daemon, &["outbox", "retry", "Ops@example.com"]);
    wait_for(&smtp, "main/vm_error/10001 opened");
    // The end of the dropped incident is not mailed either, but its next episode is.
    provider.set_vm(10002, "active");
    provider.all_polled(4);
    daemon.owes_nothing();
    assert_eq!(told_to(&smtp, "ops@example.com")[1..], ["main/vm_error/10001 opened"]);
    provider.set_vm(10002, "error");
    wait_for(&smtp, "main/vm_error/10002 opened");
    assert_eq!(daemon.stop(), 0);
    for change in [&["outbox", "retry", "all"][..], &["outbox", "drop", "ops@example.com"]] {
        let (status, _, error) = daemon.command(change);
        assert!(status == 1 && error.contains("no daemon runs on"), "{error}");
    }
}

/// A digest that was not made, because none was configured or the machine was off, leaves its time to the next
/// one.
#[test]
fn one_digest_a_date_without_gap() {
    let (mut clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, STARTED);
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
    daemon.owes_nothing();
    clock.pass(Duration::days(9));
    daemon.configure("digest = \"\"", "digest = \"* * * * * *\"");
    assert_eq!(daemon.request("POST", "/-/reload").0, 200);
    let digests = || -> Vec<Received> {
        received(&smtp).into_iter().filter(|mail| mail.subject.starts_with("[DIGEST]")).collect()
    };
    until("a digest", || !digests().is_empty());
    let text = digests().remove(0).text;
    assert!(text.contains("Resolved since") && text.contains("in error: critical"), "{text}");
    assert!(text.contains("11"), "{text}");
    provider.all_polled(3);
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.all_polled(3);
    let date = |mail: &Received| mail.pairs[0].split(" digest:").nth(1).unwrap().to_owned();
    let dates: BTreeSet<String> = digests().iter().map(date).collect();
    assert_eq!(digests().len(), dates.len(), "each date once: {dates:?}");
}

/// By key, schedule, rule, name and state. The end of watching is one mail, and a problem that is watched again
/// and still there is mailed again.
#[test]
fn unwatched_incidents_end_once_and_begin_anew() {
    let (mut clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
    let rules = "[alerts.rules]\nresource_gone = { enabled = true }\n";
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, rules);
    wait_for(&smtp, STARTED);
    let (vm, container) = ("main/vm_error/10001", "main/container_disabled/301");
    provider.set_vm(10001, "error");
    provider.say(r#"{"container": "shop", "state": "DISABLED_BY_ADMIN"}"#, "set_container");
    for key in [vm, container] {
        wait_for(&smtp, &format!("{key} opened"));
    }
    let reload = |from: &str, to: &str| {
        daemon.configure(from, to);
        let (status, said) = daemon.request("POST", "/-/reload");
        assert_eq!(status, 200, "{said}");
    };
    for (from, to, key) in [
        ("vm_api_key = \"vm-api-key\"\nbilling_username", "billing_username", vm),
        ("vms = \"* * * * * *\"", "vms = \"\"", vm),
        (rules, "[alerts.rules]\nvm_error = { enabled = false }\n", vm),
        (rules, "[alerts.rules]\nvm_error = { except = [\"*\"] }\n", vm),
        (", 2 = \"DISABLED_BY_ADMIN\", 3", ", 3", container),
    ] {
        daemon.owes_nothing();
        // Beyond the hour in which changes are counted, and everything was read after this sleep.
        clock.pass(Duration::hours(5));
        provider.all_polled(3);
        let before = received(&smtp).len();
        let told = |event: &str| {
            let (mut found, pair) = (Vec::new(), format!("{key} {event}"));
            until(&format!("{to}: {event}"), || {
                found = received(&smtp).split_off(before);
                found.retain(|mail| mail.pairs.contains(&pair));
                !found.is_empty()
            });
            found.remove(0)
        };
        reload(from, to);
        // A state without a name is believed after a minute.
        for _ in 0..2 {
            provider.polled("/api/v1/hosting/containers/", 2);
            clock.pass(Duration::seconds(40));
        }
        let end = told("unwatched");
        assert!(end.subject.starts_with("[INFO] No longer watched: "), "{}", end.subject);
        assert!(!ok(&daemon, &["incidents"]).lines().any(|line| line.trim() == key), "{to}");
        reload(to, from);
        let again = told("opened");
        assert!(again.text.contains("Still open, and watched again"), "{}", again.text);
    }
    let told = told_to(&smtp, "ops@example.com");
    let times = |event: &str| told.iter().filter(|pair| **pair == format!("{vm} {event}")).count();
    assert_eq!((times("opened"), times("unwatched"), times("resolved")), (5, 4, 0), "{told:?}");
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
}
