//! Webhooks: the mails of other recipients, posted as JSON in Alertmanager's format, committed, repeated,
//! ordered, refused and shown like mails. The real binary against a web server that answers as the test says.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::hook::{Answer, Hook};
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

#[test]
fn a_webhook_alone_is_enough() {
    let (provider, smtp, hook) = (Provider::start(SCENARIO), SmtpServer::plain(), Hook::start());
    let daemon = started(&provider, &smtp, &hook, false, 1);
    let (_, said, error) = daemon.command(&["check-config"]);
    assert!(said.contains("mails on, without a mail server"), "{said} {error}");
    provider.set_vm(10001, "error");
    let post = hook.wait_for(&opened(10001));
    assert_eq!(post.line, "POST /hook/hunter2-secret?token=hunter3-secret HTTP/1.1");
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(post.header("idempotency-key").unwrap().len(), 32);
    provider.set_vm(10001, "active");
    let (alert, over) = (&post.json()["alerts"][0], &hook.wait_for(&resolved(10001)).json()["alerts"][0]);
    assert_eq!((&over["fingerprint"], &over["startsAt"]), (&alert["fingerprint"], &alert["startsAt"]));
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
    let failures =
        [Answer::Status(503), Answer::Nothing, Answer::Status(302), Answer::Status(429), Answer::Denial];
    hook.first_answers(&failures);
    provider.set_vm(10001, "error");
    hook.wait_for(&opened(10001));
    let posts = hook.posts().split_off(before);
    assert_eq!(posts.len(), 6, "{posts:#?}");
    assert!(posts.iter().all(|post| post.raw == posts[0].raw && post.line.starts_with("POST /hook/")));
    assert!(posts.iter().all(|post| post.header("idempotency-key") == posts[0].header("idempotency-key")));
    provider.set_vm(10001, "active");
    hook.wait_for(&resolved(10001));
    wait_for(&smtp, &resolved(10001));
    assert_eq!(hook.told()[1..], [opened(10001), resolved(10001)]);
    daemon.shows_none_of(&SECRETS);
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
