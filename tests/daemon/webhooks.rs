//! Webhooks: the mails of other recipients, posted as JSON in Alertmanager's format, committed, repeated,
//! ordered, refused and shown like mails. The real binary against a web server that answers as the test says.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::Value;

use crate::common::hook::{Answer, Hook, Post};
use crate::common::smtp::{Act, SmtpServer, Stage};
use crate::common::*;

const NOTICE: &str = "HostwatchNotice started";
const SECRETS: [&str; 2] = ["hunter2-secret", "hunter3-secret"];

/// The daemon's files: this webhook beside the mails, or in their place.
fn prepared(provider: &Provider, smtp: &SmtpServer, hook: &Hook, mails: bool, haste: u32) -> Daemon {
    let extra =
        "[webhooks.team]\nurl_file = \"team.url\"\n[web]\nexternal_url = \"https://watch.example.com/\"\n";
    let mut daemon = Daemon::prepare(provider, smtp.address, extra);
    std::fs::write(daemon.directory.path().join("team.url"), format!("{}\n", hook.url())).unwrap();
    let to =
        if mails { "to = [\"ops@example.com\", \"webhook:team\"]\n" } else { "to = [\"webhook:team\"]\n" };
    if !mails {
        daemon.mails_nobody();
    }
    daemon.configure("[accounts.main]\n", &format!("[accounts.main]\n{to}"));
    daemon.environment.push(("HOSTWATCH_HASTE", haste.to_string()));
    daemon
}

fn started(provider: &Provider, smtp: &SmtpServer, hook: &Hook, mails: bool, haste: u32) -> Daemon {
    let mut daemon = prepared(provider, smtp, hook, mails, haste);
    daemon.run();
    hook.wait_for(NOTICE);
    daemon.owes_nothing();
    daemon
}

fn is_alertmanagers(post: &Post) -> Value {
    let json = post.json();
    assert_eq!(post.line, "POST /hook/hunter2-secret?token=hunter3-secret HTTP/1.1");
    assert_eq!(post.header("content-type"), Some("application/json"));
    for key in [
        "version",
        "groupKey",
        "truncatedAlerts",
        "status",
        "receiver",
        "groupLabels",
        "commonLabels",
        "commonAnnotations",
        "externalURL",
        "alerts",
    ] {
        assert!(json.get(key).is_some(), "{key}: {json:#}");
    }
    assert_eq!((&json["version"], &json["receiver"]), (&"4".into(), &"team".into()));
    assert_eq!(json["externalURL"], "https://watch.example.com/");
    json
}

#[test]
fn a_webhook_alone_is_enough() {
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let daemon = started(&provider, &smtp, &hook, false, 1);
    let (_, said, error) = daemon.command(&["check-config"]);
    assert!(said.contains("mails on, without a mail server"), "{said} {error}");
    provider.set_vm(10001, "error");
    let post = hook.wait_for(&opened(10001));
    let json = is_alertmanagers(&post);
    assert_eq!(post.header("idempotency-key").unwrap().len(), 32);
    let alert = &json["alerts"][0];
    assert_eq!((&json["status"], &alert["status"]), (&"firing".into(), &"firing".into()));
    assert_eq!(alert["labels"]["alertname"], "HostwatchVmError");
    assert_eq!(alert["labels"]["severity"], "critical");
    assert_eq!(json["commonLabels"], alert["labels"]);
    assert_eq!(alert["endsAt"], "0001-01-01T00:00:00Z");
    let page = "https://watch.example.com/resource?account=main&kind=vm&id=10001";
    assert_eq!(alert["generatorURL"], page);
    let text = |name: &str| alert["annotations"][name].as_str().unwrap().to_owned();
    assert!(text("summary").starts_with("VM ") && text("summary").ends_with(" in error (main)"), "{alert:#}");
    assert!(text("description").contains("(id 10001)"), "{alert:#}");
    assert_eq!(alert["labels"]["incident"], "main/vm_error/10001");
    provider.set_vm(10001, "active");
    let over = is_alertmanagers(&hook.wait_for(&resolved(10001)));
    assert_eq!((&over["status"], &over["alerts"][0]["status"]), (&"resolved".into(), &"resolved".into()));
    assert_eq!(over["alerts"][0]["fingerprint"], alert["fingerprint"]);
    assert_eq!(over["alerts"][0]["startsAt"], alert["startsAt"]);
    assert_ne!(over["alerts"][0]["endsAt"], alert["endsAt"]);
    assert_eq!(hook.told(), [NOTICE.to_owned(), opened(10001), resolved(10001)]);
    let shown = daemon.outbox();
    assert!(shown.contains("webhook:team") && shown.contains("[CRITICAL] VM "), "{shown}");
    daemon.shows_none_of(&SECRETS);
    assert!(received(&smtp).is_empty());
}

#[test]
fn failed_posts_repeat_in_order() {
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let daemon = started(&provider, &smtp, &hook, true, 300);
    let before = hook.posts().len();
    // A redirect is not followed, and does not count as success.
    hook.first_answers(&[Answer::Status(503), Answer::Nothing, Answer::Status(302), Answer::Status(429)]);
    provider.set_vm(10001, "error");
    hook.wait_for(&opened(10001));
    let posts = hook.posts().split_off(before);
    assert_eq!(posts.len(), 5, "{posts:#?}");
    assert!(posts.iter().all(|post| post.raw == posts[0].raw && post.line.starts_with("POST /hook/")));
    assert!(posts.iter().all(|post| post.header("idempotency-key") == posts[0].header("idempotency-key")));
    provider.set_vm(10001, "active");
    hook.wait_for(&resolved(10001));
    wait_for(&smtp, &resolved(10001));
    assert_eq!(hook.told()[1..], [opened(10001), resolved(10001)]);
    daemon.shows_none_of(&SECRETS);
}

#[test]
fn a_refusal_holds_one_queue() {
    let status = 200;
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let daemon = started(&provider, &smtp, &hook, true, 1);
    hook.answers(Answer::Denial);
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    daemon.log.wait("webhook team cannot be used");
    provider.set_vm(10002, "error");
    wait_for(&smtp, &opened(10002));
    until("both are owed", || {
        let list = daemon.outbox();
        [10001, 10002].iter().all(|vm| list.contains(&opened(*vm)))
    });
    // It is held for five minutes: one attempt. A reload allows the next.
    assert_eq!(hook.posts().len(), 2, "{status}: {:#?}", hook.posts());
    daemon.shows("hostwatch_outbox_messages{state=\"held\"} 1");
    let (code, said, _) = daemon.command(&["status"]);
    assert!(code == 1 && flat(&said).contains(&format!("answered {status}")), "{said}");
    hook.answers(Answer::Status(204));
    daemon.signal("HUP");
    hook.wait_for(&opened(10002));
    assert_eq!(hook.told()[1..], [opened(10001), opened(10002)], "{status}");
}

#[test]
fn others_read_of_a_refused_post() {
    let status = 422;
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let daemon = started(&provider, &smtp, &hook, true, 1);
    // The second refuses the light form, too.
    hook.first_answers(&[Answer::Status(status), Answer::Status(status)]);
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_outbox_messages{state=\"held\"} 1");
    let shown = daemon.outbox();
    assert!(shown.contains("webhook:team") && shown.contains(&format!("answered {status}")), "{shown}");
    daemon.shows("hostwatch_notifications_total{result=\"sent\"} 3");
    // A new problem is posted in any case, and other recipients are told of the refusal.
    provider.set_vm(10002, "error");
    hook.wait_for(&opened(10002));
    let mail = wait_for(&smtp, &opened(10002));
    let said = flat(&mail.text);
    assert!(said.contains("Mails to webhook:team have not been delivered since "), "{status}: {said}");
    let (code, out, error) = daemon.command(&["outbox", "retry", "webhook:team"]);
    assert_eq!(code, 0, "{out} {error}");
    hook.wait_for(&opened(10001));
    daemon.owes_nothing();
    assert_eq!(hook.told(), [NOTICE.to_owned(), opened(10002), opened(10001)], "{status}");
}

/// The proxy of the environment is ignored.
#[test]
fn a_test_is_posted() {
    let (provider, smtp, hook, proxy) =
        (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start(), Hook::start());
    let mut daemon = prepared(&provider, &smtp, &hook, true, 1);
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        daemon.environment.push((name, format!("http://{}", proxy.address)));
    }
    let (code, out, error) = daemon.command(&["test-message"]);
    assert_eq!((code, proxy.posts().len()), (0, 0), "{out} {error}");
    assert!(out.contains("sent to ops@example.com") && out.contains("sent to webhook:team"), "{out}");
    assert_eq!(hook.told(), ["HostwatchNotice test"]);
}

/// Like the mail server it is tried without a post, and its address is not shown.
#[test]
fn doctor_posts_nothing() {
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let daemon = prepared(&provider, &smtp, &hook, true, 1);
    let doctor = || {
        let (code, out, error) = daemon.command(&["doctor"]);
        let place = hook.address.to_string();
        assert!(!SECRETS.iter().chain([&place.as_str()]).any(|secret| out.contains(secret)), "{out} {error}");
        (code, flat(&out))
    };
    // Any answer suffices.
    hook.answers(Answer::Status(404));
    let (code, out) = doctor();
    let want = "ok webhook team its host answers, no TLS; not tried: its path and token \
        → hostwatch test-message posts a sample";
    assert!(code == 0 && out.contains(want), "{out}");
    let asked: Vec<String> = hook.posts().into_iter().map(|asked| asked.line).collect();
    assert_eq!(asked, ["GET / HTTP/1.1"]);
    hook.answers(Answer::Nothing);
    let (code, out) = doctor();
    assert!(code == 1 && out.contains("FAIL webhook team no working connection to its host: "), "{out}");
    assert!(out.contains("→ posts wait in the store until it works; check webhooks.team.url"), "{out}");
}

#[test]
fn a_hanging_webhook_stops_no_mail() {
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let mut daemon = started(&provider, &smtp, &hook, true, 1);
    hook.answers(Answer::Silence);
    provider.set_vm(10001, "error");
    until("it hangs", || hook.posts().len() == 2);
    provider.set_vm(10002, "error");
    wait_for(&smtp, &opened(10002));
    assert_eq!(daemon.log.count("webhook team cannot be used"), 0, "a mail waits for a webhook");
    assert_eq!(hook.posts().len(), 2);
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn a_removed_webhook_is_owed_nothing() {
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let mut daemon = started(&provider, &smtp, &hook, true, 1);
    hook.answers(Answer::Status(404));
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    daemon.shows("hostwatch_outbox_messages{state=\"held\"} 1");
    daemon.configure(", \"webhook:team\"", "");
    daemon.configure("[webhooks.team]\nurl_file = \"team.url\"\n", "");
    // A webhook is added and removed only by a restart.
    daemon.signal("HUP");
    daemon.log.wait("was added or removed; that takes a restart");
    daemon.stop();
    daemon.run();
    assert!(daemon.log.wait("nothing carries mails to this recipient").contains("recipient=webhook:team"));
    daemon.owes_nothing();
    provider.set_vm(10001, "active");
    wait_for(&smtp, &resolved(10001));
    assert_eq!(hook.told(), [NOTICE]);
}

#[test]
fn the_end_that_a_removed_webhook_is_owed_names_the_remedy() {
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let mut daemon = started(&provider, &smtp, &hook, true, 1);
    provider.set_vm(10001, "error");
    wait_for(&smtp, &opened(10001));
    hook.wait_for(&opened(10001));
    daemon.owes_nothing();
    daemon.configure(", \"webhook:team\"", "");
    daemon.configure("[webhooks.team]\nurl_file = \"team.url\"\n", "");
    daemon.stop();
    daemon.run();
    provider.set_vm(10001, "active");
    wait_for(&smtp, &resolved(10001));
    until("the outbox says so", || daemon.outbox().contains("`hostwatch outbox drop webhook:team`"));
    assert_eq!(daemon.command(&["outbox", "drop", "webhook:team"]).0, 0);
    daemon.owes_nothing();
}

#[test]
fn a_failed_test_stops_no_other() {
    let (provider, smtp, hook, second) =
        (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start(), Hook::start());
    let daemon = prepared(&provider, &smtp, &hook, true, 1);
    let to = "to = [\"ops@example.com\", \"webhook:team\"]";
    daemon
        .configure(to, "to = [\"ann@example.com\", \"ops@example.com\", \"webhook:team\", \"webhook:zulu\"]");
    let url = second.url();
    daemon.configure("[webhooks.team]\n", &format!("[webhooks.zulu]\nurl = \"{url}\"\n[webhooks.team]\n"));
    smtp.on_times(Stage::Rcpt, "ann@example.com", 1, Act::reply("550 no such user"));
    hook.answers(Answer::Status(404));
    let (code, out, error) = daemon.command(&["test-message"]);
    assert_eq!(code, 1, "{out} {error}");
    assert_eq!(out, "sent to ops@example.com\nsent to webhook:zulu\n");
    for part in
        ["sending to ann@example.com through", "webhook team answered 404", "2 tests did not get through"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(second.told(), ["HostwatchNotice test"]);
}
