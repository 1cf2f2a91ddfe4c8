//! What people do beside a running daemon, and what it does by the clock: acknowledgements, silences, the
//! outbox by hand, the hourly cap, the digest. The real binary throughout.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::smtp::{Act, SmtpServer, Stage};
use common::*;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

fn healthy(smtp: &SmtpServer, provider: &Provider, extra: &str) -> Daemon {
    let daemon = Daemon::start_with(provider, smtp.address, extra);
    wait_for(smtp, "main/started/account started");
    daemon
}

fn ok(daemon: &Daemon, args: &[&str]) -> String {
    let (status, out, error) = daemon.command(args);
    assert_eq!(status, 0, "{args:?}: {error}");
    out
}

#[test]
fn an_acknowledgement_is_seen_within_a_second() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = healthy(&smtp, &provider, "");
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");

    let (status, _, error) = daemon.command(&["ack", "main/vm_error/1000"]);
    assert_eq!(status, 1);
    assert!(error.contains("did you mean main/vm_error/10001?"), "{error}");
    let out = ok(&daemon, &["ack", "main/vm_error/10001", "--comment", "Ann is on it"]);
    assert!(out.contains("acknowledged"), "{out}");
    let acknowledged = || daemon.request("GET", "/api/v1/status").1.contains("\"acknowledged\":true");
    until("the page knows", acknowledged);
    let out = ok(&daemon, &["incidents"]);
    assert!(flat(&out).contains(": Ann is on it"), "{out}");
    ok(&daemon, &["ack", "main/vm_error/10001", "--remove"]);
    until("the page forgets", || !acknowledged());

    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
    let (status, _, error) = daemon.command(&["ack", "main/vm_error/10001"]);
    assert!(status == 1 && error.contains("not open"), "{error}");
}

#[test]
fn a_silence_holds_mails_back_until_it_ends() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = healthy(&smtp, &provider, "");
    let out = ok(&daemon, &["silence", "main/vm_*", "--for", "2h", "--comment", "moving"]);
    assert!(out.contains("nothing that is open now"), "{out}");
    let (status, _, error) = daemon.command(&["silence", "x", "--for", "soon"]);
    assert!(status == 1 && error.contains("--for: 'soon' is no duration"), "{error}");
    provider.set_vm(10001, "error");
    until("it is known", || flat(&ok(&daemon, &["incidents"])).contains("no mail: silenced by 'main/vm_*'"));
    // What is not silenced is mailed, and comes later than the silenced would have.
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
}

#[test]
fn a_held_queue_is_tried_at_once_when_somebody_asks() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    smtp.on(Stage::Mail, Act::reply("550 5.7.1 who are you"));
    let daemon = Daemon::start(&provider, smtp.address);
    daemon.log.wait("the mail server cannot be used");
    until("it waits", || {
        let list = flat(&ok(&daemon, &["outbox", "list"]));
        list.contains("waiting") && list.contains("who are you")
    });
    smtp.forget_rules();
    // The queue is held for five minutes after such a refusal.
    assert!(ok(&daemon, &["outbox", "retry", "all"]).contains("1 mail will be tried again now"));
    wait_for(&smtp, "main/started/account started");
}

#[test]
fn a_mail_that_was_given_up_is_tried_again_or_dropped() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    smtp.on(Stage::Rcpt, Act::reply("550 5.1.1 no such user"));
    let daemon = Daemon::start(&provider, smtp.address);
    daemon.log.wait("mail given up");
    until("it is noted", || ok(&daemon, &["outbox"]).contains("given up"));
    let list = ok(&daemon, &["outbox"]);
    let id = list.split_whitespace().next().unwrap().to_owned();
    smtp.forget_rules();
    ok(&daemon, &["outbox", "retry", &id]);
    wait_for(&smtp, "main/started/account started");
    let (status, _, error) = daemon.command(&["outbox", "drop", &id]);
    assert!(status == 1 && error.contains("neither waits nor was given up"), "{error}");
}

#[test]
fn beyond_the_hourly_cap_one_summary_tells_the_rest_and_disconnect_mails_go_on() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start_with(&provider, smtp.address, "");
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let capped = config.replace("to = [\"ops@example.com\"]", "to = [\"ops@example.com\"]\nmax_per_hour = 2");
    std::fs::write(daemon.config(), capped).unwrap();
    wait_for(&smtp, "main/started/account started");
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.all_polled(2);

    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    provider.set_vm(10002, "error");
    until("it is held", || {
        flat(&daemon.command(&["why", "main/vm_error/10002"]).1).contains("will be in the summary mail")
    });
    provider.set_site("shop.example.com", "Error");
    provider.set_vm(10001, "active");
    provider.lasts_days(2);
    wait_for(&smtp, "main/disconnect/account rung:3");
    let summary = wait_for(&smtp, "main/overflow/account overflow");
    let told = ["main/vm_error/10002 opened", "main/site_error/2001 opened", "main/vm_error/10001 resolved"];
    for pair in told {
        assert!(summary.pairs.iter().any(|one| one == pair), "{pair} in {:?}", summary.pairs);
    }
    let all = received(&smtp);
    assert!(all.iter().filter(|mail| !mail.pairs[0].contains("overflow")).count() <= 4, "{:?}", all.len());
}

#[test]
fn a_digest_is_sent_once_a_date_also_when_nothing_is_wrong() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start_with(&provider, smtp.address, "");
    wait_for(&smtp, "main/started/account started");
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(daemon.config(), config.replace("digest = \"\"", "digest = \"* * * * * *\"")).unwrap();
    daemon.signal("HUP");
    let digests = || -> Vec<Received> {
        let all = received(&smtp).into_iter();
        all.filter(|mail| mail.pairs.iter().any(|pair| pair.contains(" digest:"))).collect()
    };
    until("a digest", || !digests().is_empty());
    let digest = digests().remove(0);
    assert!(digest.pairs[0].starts_with("main/digest/account digest:20"), "{:?}", digest.pairs);
    assert!(digest.text.contains("11"), "{}", digest.text);
    provider.all_polled(3);
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    provider.all_polled(3);
    let dates: std::collections::BTreeSet<String> =
        digests().iter().map(|mail| mail.pairs[0].clone()).collect();
    assert_eq!(digests().len(), dates.len(), "each date once");
}

/// After an upgrade that left the older daemon running: only a daemon changes the form of a store.
#[test]
fn commands_read_the_store_of_an_older_release_and_refuse_to_write_it() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let daemon = Daemon::prepare(&provider, smtp.address, "");
    let path = daemon.directory.path().join("hostwatch.db");
    let older = Connection::open(&path).unwrap();
    // As a daemon that was killed leaves it: all of it still in the journal.
    older.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    older.pragma_update(None, "journal_mode", "wal").unwrap();
    older.execute_batch(include_str!("../fixtures/store/v1.sql")).unwrap();
    drop(older);
    let journal = path.with_extension("db-wal");
    let files = || [&path, &journal].map(|file| std::fs::read(file).unwrap());
    let before = files();

    assert!(ok(&daemon, &["incidents"]).contains("main/vm_error/10001"));
    assert!(ok(&daemon, &["outbox"]).contains("waiting"));
    assert!(flat(&ok(&daemon, &["why", "main/vm_error/10001"])).contains("seen wrong"));
    assert!(ok(&daemon, &["silence", "--list"]).contains("no silences"));
    let writing: [&[&str]; 5] = [
        &["ack", "main/vm_error/10001"],
        &["ack", "main/vm_error/10001", "--remove"],
        &["silence", "main/vm_*", "--for", "2h"],
        &["outbox", "retry", "all"],
        &["outbox", "drop", "all"],
    ];
    for args in writing {
        let (status, _, error) = daemon.command(args);
        assert_eq!(status, 1, "{args:?}: {error}");
        let words = ["schema 1", "schema 7", "restart the daemon"];
        assert!(words.iter().all(|word| error.contains(word)), "{args:?}: {error}");
    }
    assert!(files() == before, "nothing was changed");
    assert!(!daemon.directory.path().join("hostwatch.db.v1").exists());
}

#[test]
fn what_the_configuration_no_longer_watches_is_open_nowhere() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = healthy(&smtp, &provider, "");
    let opened = || {
        let mails = received(&smtp).into_iter();
        mails.filter(|mail| mail.pairs.contains(&"main/vm_error/10001 opened".to_owned())).count()
    };
    let is_over =
        |daemon: &Daemon, key: &str| !ok(daemon, &["incidents"]).lines().any(|line| line.trim() == key);
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    provider.lasts_days(5);
    wait_for(&smtp, "main/disconnect/account rung:7");

    // By a reload.
    daemon.configure("[accounts.main]", "[accounts.other]");
    daemon.signal("HUP");
    wait_for(&smtp, "other/vm_error/10001 opened");
    let over = wait_for(&smtp, "main/vm_error/10001 unwatched");
    assert_eq!(over.pairs, ["main/vm_error/10001 unwatched", "main/disconnect/account unwatched"]);
    assert!(is_over(&daemon, "main/vm_error/10001") && is_over(&daemon, "main/disconnect/account"));
    assert!(!daemon.page().contains("account=\"main\""));
    // By a start; and what is back within a day goes on, and who heard that it is not watched hears so.
    assert_eq!(daemon.stop(), 0);
    daemon.configure("[accounts.other]", "[accounts.main]");
    daemon.run();
    wait_for(&smtp, "other/vm_error/10001 unwatched");
    until("main is told again", || opened() == 2);
    assert!(is_over(&daemon, "other/vm_error/10001"));
    let told =
        |event: &str| received(&smtp).iter().flat_map(|mail| &mail.pairs).any(|pair| pair.ends_with(event));
    assert!(!told("resolved") && !told("removed") && !told("was-down"));
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
    assert_eq!(opened(), 2);
    let rungs = received(&smtp).into_iter().flat_map(|mail| mail.pairs);
    assert_eq!(rungs.filter(|pair| pair == "main/disconnect/account rung:7").count(), 2);
}

/// Each episode is there, not the last alone.
#[test]
fn the_page_tells_the_past_after_a_restart() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = healthy(&smtp, &provider, "");
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
    provider.set_vm(10001, "error");
    let past = |daemon: &Daemon| daemon.request("GET", "/incidents?days=30").1;
    let both = |page: &str| {
        page.matches("kind=vm&#38;id=10001").count() == 2 && page.contains("<strong>open</strong>")
    };
    until("it is open again", || both(&past(&daemon)));
    assert_eq!(daemon.stop(), 0);
    daemon.run();
    until("it is told after the restart", || both(&past(&daemon)));
    let resource = "/resource?account=main&kind=vm&id=10001";
    until("the resource is known", || daemon.request("GET", resource).0 == 200);
    let (_, page) = daemon.request("GET", resource);
    assert!(page.contains("Last 30 days: 2 incidents, ") && page.contains("not watched for "), "{page}");
    for part in ["hostwatch ack main/vm_error/10001", "fill=\"url(#hatch)\""] {
        assert!(page.contains(part), "{part} in {page}");
    }
}
