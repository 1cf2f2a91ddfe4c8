//! Telegram chats: the mails of other recipients as messages, committed, repeated, ordered, refused and shown
//! like mails. Also presses of buttons, and chats that change. The real binary against a stand-in for the Bot
//! API.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::hook::Hook;
use crate::common::smtp::SmtpServer;
use crate::common::telegram::{CHAT, Post, Socks, TOKEN, Telegram, Trouble};
use crate::common::*;

const SECRET: &str = "AAHhunter2-secret_token";
const ERROR: &str = "[CRITICAL] VM db-1 in error (main)";
const OVER: &str = "[RESOLVED] VM db-1 active again";

const FLEET: &str = r#"
time_zone = "UTC"
vms = 2
containers = 0
sites = 0

[[vm]]
name = "db-1"

[[vm]]
name = "db-2"
"#;

/// The stand-ins and the daemon's files: this chat beside the mails, or in their place.
struct Tried {
    provider: Provider,
    smtp: SmtpServer,
    telegram: Telegram,
    daemon: Daemon,
}

fn prepared(mails: bool, haste: u32) -> Tried {
    let (provider, smtp, telegram) = (Provider::start(FLEET), SmtpServer::plain(), Telegram::start());
    let extra = format!(
        "[telegram.ops]\ntoken_file = \"ops.token\"\nchat_id = {CHAT}\napi_url = \"{}\"\n\
         [web]\nexternal_url = \"https://watch.example.com/\"\n",
        telegram.url()
    );
    let mut daemon = Daemon::prepare(&provider, smtp.address, &extra);
    std::fs::write(daemon.directory.path().join("ops.token"), format!("{TOKEN}\n")).unwrap();
    let to = if mails { "\"ops@example.com\", \"telegram:ops\"" } else { "\"telegram:ops\"" };
    if !mails {
        daemon.mails_nobody();
    }
    daemon.configure("[accounts.main]\n", &format!("[accounts.main]\nto = [{to}]\n"));
    daemon.environment.push(("HOSTWATCH_HASTE", haste.to_string()));
    Tried { provider, smtp, telegram, daemon }
}

fn started(mails: bool, haste: u32) -> Tried {
    let mut tried = prepared(mails, haste);
    tried.daemon.run();
    tried.telegram.wait_for("Watching ");
    tried.daemon.owes_nothing();
    tried
}

/// The VMs of the scenario by number.
fn vm(number: u64) -> u64 {
    10_000 + number
}

#[test]
fn a_chat_alone_is_enough() {
    let Tried { provider, smtp, telegram, daemon } = started(false, 1);
    let (_, said, error) = daemon.command(&["check-config"]);
    assert!(said.contains("mails on, without a mail server"), "{said} {error}");
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    let lines: Vec<&str> = post.text.lines().collect();
    assert!(lines.len() <= 6, "{lines:#?}");
    assert!(lines[1].starts_with("VM db-1 in error since ") && lines[1].ends_with(" (main)."), "{lines:#?}");
    assert!(lines.contains(&"Status page: https://watch.example.com/?account=main"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("Restart the VM")), "{lines:#?}");
    assert!(!post.is_silent && post.chat == CHAT && post.thread.is_none());
    let labels: Vec<&str> = post.buttons.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["Seen", "Silent for 4 h"]);
    provider.set_vm(vm(1), "active");
    let over = telegram.wait_for(OVER);
    assert!(over.is_silent && over.buttons.is_empty() && over.number > post.number, "{over:#?}");
    until("the first message says so", || telegram.now(&post).edits >= 1);
    let edited = telegram.now(&post);
    assert!(edited.buttons.is_empty() && edited.text.starts_with(&post.text), "{edited:#?}");
    assert!(edited.text.lines().last().unwrap().starts_with("Over since "), "{edited:#?}");
    // It is edited once, and then needs nothing more.
    provider.all_polled(2);
    assert_eq!(telegram.calls("editMessageText"), 1);
    assert!(daemon.outbox().contains("telegram:ops"));
    daemon.shows_none_of(&[SECRET]);
    assert!(received(&smtp).is_empty());
}

#[test]
fn a_lost_answer_repeats_the_same_bytes() {
    let Tried { provider, smtp, telegram, daemon } = started(true, 300);
    telegram.first_troubles(&[Trouble::Lost, Trouble::Lost]);
    provider.set_vm(vm(1), "error");
    telegram.wait_for(ERROR);
    let posts: Vec<Post> = telegram.posts().into_iter().filter(|post| post.subject() == ERROR).collect();
    assert_eq!(posts.len(), 3, "twice more for nobody can know: {posts:#?}");
    assert!(posts.iter().all(|post| post.raw == posts[0].raw), "byte for byte");
    telegram
        .first_troubles(&[Trouble::Says(500, "Internal Server Error"), Trouble::Says(502, "Bad Gateway")]);
    provider.set_vm(vm(1), "active");
    telegram.wait_for(OVER);
    wait_for(&smtp, &format!("main/vm_error/{} resolved", vm(1)));
    assert_eq!(telegram.subjects().iter().filter(|one| one.starts_with(OVER)).count(), 1);
    daemon.owes_nothing();
    // All three that may have been read say that it is over, except two that cannot be found.
    until("it says so", || telegram.posts().iter().any(|post| post.edits > 0));
    daemon.shows_none_of(&[SECRET]);
}

/// Telegram names the seconds: the second try of a message, and of an edit, comes after them.
#[test]
fn a_429_holds_messages_and_edits_for_its_seconds() {
    let Tried { provider, telegram, daemon, smtp: _smtp } = started(false, 1);
    telegram.first_troubles(&[Trouble::Busy(2)]);
    telegram.first_troubles_of_edits(&[Trouble::Busy(2)]);
    let sent = telegram.calls("sendMessage");
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    assert_eq!(telegram.calls("sendMessage"), sent + 2, "nothing is asked meanwhile");
    daemon.has_sent(2);
    telegram.press(&post, "Seen");
    until("the message says who", || telegram.now(&post).text.contains("\nSeen by Ann"));
    assert_eq!(telegram.calls("editMessageText"), 2, "nothing is edited meanwhile");
}

#[test]
fn a_refused_token_holds_one_chat() {
    let Tried { provider, smtp, telegram, daemon } = started(true, 1);
    let before = telegram.calls("sendMessage");
    telegram.trouble(Some(Trouble::Says(401, "Unauthorized")));
    provider.set_vm(vm(1), "error");
    wait_for(&smtp, &format!("main/vm_error/{} opened", vm(1)));
    daemon.log.wait("Telegram chat ops cannot be used");
    provider.set_vm(vm(2), "error");
    wait_for(&smtp, &format!("main/vm_error/{} opened", vm(2)));
    daemon.shows("hostwatch_outbox_messages{state=\"held\"} 1");
    assert_eq!(telegram.calls("sendMessage"), before + 1, "one try in five minutes");
    let (code, said, _) = daemon.command(&["status"]);
    assert!(code == 1 && flat(&said).contains("check telegram.ops.token"), "{said}");
    telegram.trouble(None);
    daemon.signal("HUP");
    telegram.hears_of("db-1");
    telegram.hears_of("db-2");
    daemon.owes_nothing();
}

#[test]
fn a_supergroup_is_followed() {
    let Tried { provider, telegram, mut daemon, .. } = started(false, 300);
    telegram.migrates(CHAT, -1002);
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    assert_eq!(post.chat, -1002);
    assert!(daemon.log.wait("became a supergroup").contains("set telegram.ops.chat_id to -1002"));
    daemon.owes_nothing();
    daemon.stop();
    daemon.run();
    telegram.press(&post, "Seen");
    until("the button of a group that moved works at once", || acknowledged(&daemon));
    provider.set_vm(vm(1), "active");
    assert_eq!(telegram.wait_for(OVER).chat, -1002);
    assert_eq!(daemon.log.count("became a supergroup"), 1, "said once a start");
    until("the message that moved with it is edited", || telegram.now(&post).edits >= 1);
    let (code, out, _) = daemon.command(&["doctor"]);
    assert!(code == 0 && flat(&out).contains("set telegram.ops.chat_id to -1002"), "{out}");
    daemon.configure(&format!("chat_id = {CHAT}"), "chat_id = -1002");
    daemon.signal("HUP");
    provider.set_vm(vm(2), "error");
    assert_eq!(telegram.wait_for("VM db-2 in error").chat, -1002);
}

fn acknowledged(daemon: &Daemon) -> bool {
    daemon.request("GET", "/api/v1/status").1.contains("\"acknowledged\":true")
}

fn silences(daemon: &Daemon) -> Vec<serde_json::Value> {
    let (_, out, _) = daemon.command(&["silence", "--list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&out).unwrap();
    listed["silences"].as_array().or(listed.as_array()).unwrap().clone()
}

#[test]
fn buttons_acknowledge_and_silence() {
    let Tried { provider, telegram, daemon, .. } = started(false, 1);
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    // An answer may be on its way still, and the daemon knows the message only then.
    daemon.has_sent(2);
    telegram.press(&post, "Seen");
    assert_eq!(telegram.answered(1), "Acknowledged: no more reminders");
    assert!(acknowledged(&daemon));
    let (_, out, _) = daemon.command(&["incidents"]);
    assert!(flat(&out).contains("Ann <b>Smith (@ann), in Telegram"), "{out}");
    until("the message says who", || telegram.now(&post).text.contains("\nSeen by Ann <b>Smith (@ann)"));
    let labels: Vec<String> = telegram.now(&post).buttons.into_iter().map(|(label, _)| label).collect();
    assert_eq!(labels, ["Silent for 4 h"]);
    telegram.press(&post, "Silent for 4 h");
    assert!(telegram.answered(2).starts_with("Silent until "), "{:?}", telegram.answers());
    // The client shows the button until the edit arrives.
    telegram.press_data(post.number, CHAT, &post.buttons[1].1);
    assert_eq!(telegram.answered(3), "It is done already");
    assert_eq!(silences(&daemon).len(), 1);
    until("it has no buttons", || telegram.now(&post).buttons.is_empty());
    provider.set_vm(vm(1), "active");
    telegram.wait_for(OVER);
    until("it is over there too", || telegram.now(&post).text.contains("\nOver since "));
    let edited = telegram.now(&post).text;
    assert!(edited.contains("Seen by Ann") && edited.contains("\nSilent until "), "{edited}");
    // A client that still shows the old message.
    telegram.press_data(post.number, CHAT, &post.buttons[0].1);
    assert_eq!(telegram.answered(4), "It is over already");
    until("all is confirmed", || telegram.unconfirmed() == 0);
}

#[test]
fn presses_in_foreign_chats_do_nothing() {
    let Tried { provider, telegram, daemon, .. } = started(false, 1);
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    telegram.press_data(post.number, -666, &post.buttons[0].1);
    telegram.press_data(post.number, CHAT, "seen");
    telegram.press_data(post.number, CHAT, "drop:all");
    telegram.press_data(post.number, CHAT, "seen:0123456789abcdef");
    assert_eq!(telegram.answered(1), "It is over already");
    until("all is confirmed", || telegram.unconfirmed() == 0);
    assert!(!acknowledged(&daemon) && telegram.answers().len() == 1);
    daemon.configure("[telegram.ops]\n", "[telegram.ops]\nbuttons = false\n");
    daemon.signal("HUP");
    daemon.log.wait("configuration reloaded");
    provider.set_vm(vm(2), "error");
    assert!(telegram.wait_for("VM db-2 in error").buttons.is_empty());
}

/// A message whose incident is over is forgotten after its last edit.
#[test]
fn a_press_on_a_forgotten_message_is_answered_in_the_language_of_the_chat() {
    let account = "language = \"ru\"\nto = [\"telegram:ops\"]";
    let recipient = "to = [{ address = \"telegram:ops\", language = \"ru\" }]";
    for (lists, want) in [
        (account, "Это уже позади"),
        (recipient, "Это уже позади"),
        ("to = [\"telegram:ops\"]", "It is over already"),
    ] {
        let Tried { telegram, mut daemon, provider: _provider, smtp: _smtp } = prepared(false, 1);
        daemon.configure("to = [\"telegram:ops\"]", lists);
        daemon.run();
        telegram.press_data(100, CHAT, "seen:0123456789abcdef");
        assert_eq!(telegram.answered(1), want, "{lists}");
    }
}

/// Nobody confirmed the press, so Telegram sends it again.
#[test]
fn a_press_counts_once_despite_a_kill() {
    let Tried { provider, telegram, mut daemon, .. } = prepared(false, 1);
    daemon.arm("nowhere");
    daemon.run();
    telegram.wait_for("Watching ");
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    daemon.has_sent(2);
    daemon.arm("pressed");
    telegram.press(&post, "Silent for 4 h");
    daemon.has_reached("pressed");
    daemon.kill();
    assert_eq!(telegram.unconfirmed(), 1);
    daemon.arm("nowhere");
    daemon.run();
    until("it is confirmed", || telegram.unconfirmed() == 0);
    assert_eq!(silences(&daemon).len(), 1);
    until("the message says so", || telegram.now(&post).text.contains("\nSilent until "));
}

#[test]
fn an_empty_answer_that_comes_at_once_is_followed_by_a_pause() {
    let Tried { provider, telegram, mut daemon, .. } = prepared(false, 1);
    telegram.holds_no_call();
    daemon.run();
    telegram.wait_for("Watching ");
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    daemon.has_sent(2);
    let before = telegram.calls("getUpdates");
    telegram.press(&post, "Seen");
    assert_eq!(telegram.answered(1), "Acknowledged: no more reminders");
    let after = telegram.calls("getUpdates");
    assert!(before < 10 && after <= before + 2, "{before} {after}");
}

#[test]
fn another_reader_stops_no_message() {
    let Tried { provider, telegram, mut daemon, .. } = prepared(false, 300);
    telegram.is_read_by_another(true);
    daemon.run();
    let line = daemon.log.wait("the buttons in a Telegram chat do nothing");
    assert!(line.contains("buttons = false"), "{line}");
    until("it is tried again", || telegram.calls("getUpdates") > 2);
    daemon.has_sent(1);
    provider.set_vm(vm(1), "error");
    let post = telegram.wait_for(ERROR);
    daemon.has_sent(2);
    assert_eq!(daemon.log.count("the buttons in a Telegram chat do nothing"), 1);
    telegram.is_read_by_another(false);
    // A waiting press ends a long call at once.
    telegram.press(&post, "Seen");
    daemon.log.wait("the buttons in the Telegram chat work again");
    telegram.answered(1);
    assert!(acknowledged(&daemon));
}

#[test]
fn chats_of_one_bot_share_one_reader() {
    let Tried { provider, telegram, mut daemon, .. } = prepared(false, 1);
    let second = format!(
        "[telegram.team]\ntoken_file = \"ops.token\"\nchat_id = -2002\nthread_id = 7\napi_url = \"{}\"\n[web]\n",
        telegram.url()
    );
    daemon.configure("[web]\n", &second);
    daemon.configure("to = [\"telegram:ops\"]", "to = [\"telegram:ops\", \"telegram:team\"]");
    telegram.enters(-2002);
    daemon.run();
    daemon.has_sent(2);
    provider.set_vm(vm(1), "error");
    let mut of_team = None;
    until("both hear of it", || {
        let posts: Vec<Post> = telegram.posts().into_iter().filter(|post| post.subject() == ERROR).collect();
        of_team = posts.iter().find(|post| post.chat == -2002).cloned();
        posts.len() == 2
    });
    let post = of_team.unwrap();
    assert_eq!(post.thread, Some(7));
    daemon.has_sent(4);
    telegram.press(&post, "Seen");
    telegram.answered(1);
    assert!(acknowledged(&daemon));
    assert_eq!(telegram.most_readers(), 1);
}

#[test]
fn a_test_reaches_all_or_one() {
    let Tried { telegram, smtp, daemon, .. } = prepared(true, 1);
    for command in ["test-message", "test-email"] {
        let (code, out, error) = daemon.command(&[command]);
        assert_eq!(code, 0, "{out} {error}");
        assert!(out.contains("sent to ops@example.com\n") && out.contains("sent to telegram:ops\n"), "{out}");
    }
    let (code, out, error) = daemon.command(&["test-message", "telegram:ops"]);
    assert_eq!((code, out.as_str()), (0, "sent to telegram:ops\n"), "{error}");
    assert!(telegram.posts().iter().all(|post| post.subject().starts_with("[TEST] ") && !post.is_silent));
    assert_eq!((telegram.posts().len(), received(&smtp).len()), (3, 2));
    let (code, _, error) = daemon.command(&["test-message", "telegram:opps"]);
    assert!(code == 1 && error.contains("did you mean telegram:ops?"), "{error}");
    telegram.leaves(CHAT);
    let (code, out, error) = daemon.command(&["test-message"]);
    assert!(
        code == 1 && out.contains("sent to ops@example.com") && error.contains("chat not found"),
        "{out} {error}"
    );
    assert!(!format!("{out}{error}").contains(SECRET));
    // A credential under its own name works as well.
    let credentials = daemon.directory.path().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    std::fs::rename(daemon.directory.path().join("ops.token"), credentials.join("telegram.ops.token"))
        .unwrap();
    daemon.configure("token_file = \"ops.token\"\n", "");
    let (code, out, error) = daemon.command(&["check-config"]);
    assert_eq!(code, 0, "{out} {error}");
}

#[test]
fn doctor_asks_for_bot_and_chat() {
    let Tried { telegram, daemon, provider: _provider, smtp: _smtp } = prepared(true, 1);
    let doctor = || {
        let (code, out, error) = daemon.command(&["doctor"]);
        assert!(!format!("{out}{error}").contains(SECRET), "{out} {error}");
        (code, flat(&out))
    };
    let (code, out) = doctor();
    let want = "ok Telegram ops bot @watch_bot knows the chat 'Team <x>' (supergroup); not tried: writing there \
        → hostwatch test-message sends a sample";
    assert!(code == 0 && out.contains(want), "{out}");
    assert!(telegram.posts().is_empty() && telegram.calls("getUpdates") == 0);
    telegram.leaves(CHAT);
    let (code, out) = doctor();
    assert!(code == 1 && out.contains("FAIL Telegram ops") && out.contains("chat not found"), "{out}");
    assert!(out.contains("→ check telegram.ops.chat_id"), "{out}");
    telegram.trouble(Some(Trouble::Says(401, "Unauthorized")));
    let (code, out) = doctor();
    assert!(code == 1 && out.contains("@BotFather into telegram.ops.token"), "{out}");
    telegram.trouble(Some(Trouble::Lost));
    let (code, out) = doctor();
    let unset = "until it works; where Telegram is filtered, set telegram.ops.proxy";
    assert!(code == 1 && out.contains(unset), "{out}");
    daemon.configure("[telegram.ops]\n", "[telegram.ops]\nproxy = \"socks5h://127.0.0.1:1\"\n");
    let (code, out) = doctor();
    assert!(code == 1 && out.contains("until it works; check telegram.ops.proxy"), "{out}");
}

#[test]
fn a_proxy_carries_one_recipient() {
    let Tried { telegram, daemon, smtp: _smtp, .. } = prepared(true, 1);
    let (socks, http) = (Socks::start(), Hook::start());
    let port = telegram.address.port();
    let (direct, by_name) = (telegram.url(), format!("http://localhost:{port}"));
    daemon.configure(&direct, &by_name);
    daemon
        .configure("[telegram.ops]\n", &format!("[telegram.ops]\nproxy = \"socks5h://{}\"\n", socks.address));
    let (code, out, error) = daemon.command(&["test-message"]);
    assert_eq!(code, 0, "{out} {error}");
    assert_eq!(socks.asked(), ["localhost"], "the mail server is not asked by it");
    assert_eq!(telegram.posts().len(), 1);
    // An address with a password that stays hidden, and an answer that is not the Bot API's.
    daemon.configure(
        &format!("socks5h://{}", socks.address),
        &format!("http://user:{SECRET}@{}", http.address),
    );
    let (code, out, error) = daemon.command(&["test-message", "telegram:ops"]);
    assert!(code == 1 && !format!("{out}{error}").contains(SECRET), "{out} {error}");
    let line = http.posts()[0].line.clone();
    assert!(line.starts_with(&format!("POST http://localhost:{port}/bot")), "{line}");
    daemon.configure(&format!("http://user:{SECRET}@{}", http.address), "socks5h://127.0.0.1:1");
    let (code, _, error) = daemon.command(&["test-message", "telegram:ops"]);
    assert!(code == 1 && error.contains("no working connection to Telegram for ops"), "{error}");
}
