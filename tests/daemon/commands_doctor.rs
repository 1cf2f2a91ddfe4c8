//! `hostwatch doctor` and `check-config` end to end: the real binary against a simulated provider and a scripted mail server.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::smtp::{Act, SmtpServer, Stage};
use common::*;
use hostwatch_sim::{Fault, FaultKind};

/// The word before a check, and the text behind it.
fn check<'a>(text: &'a str, what: &str) -> (&'a str, &'a str) {
    let lines = text.lines().filter_map(|line| line.trim_start().split_once(' '));
    let found = lines.map(|(word, rest)| (word, rest.trim_start())).find(|(_, rest)| rest.starts_with(what));
    let (word, rest) = found.unwrap_or_else(|| panic!("no check of {what} in\n{text}"));
    (word, rest[what.len()..].trim_start())
}

#[test]
fn everything_is_tried_nothing_changed() {
    let (provider, smtp, mut daemon) = watching("");
    let (code, text, error) = daemon.command(&["doctor"]);
    assert_eq!(code, 0, "{text} {error}");
    assert_eq!(check(&text, "daemon").0, "ok", "{text}");
    assert_eq!(daemon.stop(), 0);

    let stored = || std::fs::read(daemon.directory.path().join("hostwatch.db")).unwrap();
    let files = || std::fs::read_dir(daemon.directory.path()).unwrap().count();
    let (mails, before) = (smtp.seen().mails.len(), (stored(), files()));
    let requests = provider.simulator.requests().len();
    let (code, text, error) = daemon.command(&["doctor"]);
    assert_eq!(code, 0, "{text} {error}");
    // The VMs, the containers, the sites of two of them, a report; and the host itself.
    assert_eq!(provider.simulator.requests().len(), requests + 6, "{text}");
    for (what, says) in [
        ("VMs", "4, 1 call, "),
        ("VM data", "would watch: vm_error, vm_blocked,"),
        ("containers", "2, 1 call, "),
        ("sites", "5, 2 calls, "),
        ("expected balance", ""),
        ("time zone", "UTC: it is "),
        ("API budget, hosting", "at most 180.0 of 100000 calls/min: containers 3"),
        ("clock", "in sync with http://127.0.0.1:"),
        ("mail server", &format!("{}: no TLS, no login", smtp.address)),
        ("store", ""),
        ("where it runs", "outside the watched VMs"),
    ] {
        // Wrapped lines go on below; the beginning is on the first.
        let (word, rest) = check(&text, what);
        assert!(word == "ok" && rest.starts_with(says), "{what}: {word} {rest}\n{text}");
    }
    assert_eq!(check(&text, "daemon").0, "-");
    assert!(text.contains("\nMails to come, if nobody pays\n\nmain: no cut-off is expected\n"), "{text}");
    assert_eq!(
        (smtp.seen().mails.len(), (stored(), files())),
        (mails, before),
        "nothing sent, nothing changed"
    );
}

#[test]
fn failures_name_their_remedy() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    daemon.stop();
    let good = std::fs::read_to_string(daemon.config()).unwrap();
    let doctor = |config: &str| {
        std::fs::write(daemon.config(), config).unwrap();
        let (code, text, error) = daemon.command(&["doctor"]);
        assert!(!text.contains("hosting-token") && !text.contains("billing-password"), "{text}");
        (code, text, error)
    };

    provider.fails("/api/cvds/v1/vms/", 401);
    let (code, text, _) = doctor(&good);
    assert!(code == 1 && check(&text, "VMs").0 == "FAIL" && text.contains("vm_api_key"), "{text}");
    assert_eq!(check(&text, "containers").0, "ok", "one group touches no other: {text}");
    let behind = text.lines().map(str::trim_start).skip_while(|line| !line.starts_with("FAIL"));
    let success = |line: &str| line.starts_with("ok") && line.contains("vm");
    assert!(!behind.into_iter().any(success), "no success behind it: {text}");
    provider.clear_faults();

    provider.report_error(Some("no data"));
    let (code, text, _) = doctor(&good);
    assert!(code == 1 && check(&text, "expected balance").0 == "FAIL", "{text}");
    assert!(text.contains("? the report carries an error: no data"), "the rehearsal says so too: {text}");
    provider.report_error(None);

    smtp.once(Stage::Mail, Act::reply("550 not you"));
    let (code, text, _) = doctor(&good);
    assert!(code == 1 && check(&text, "mail server").0 == "FAIL" && text.contains("not you"), "{text}");

    let elsewhere = good.replace("/hostwatch.db", "/missing/hostwatch.db");
    let (code, text, _) = doctor(&elsewhere);
    assert!(
        code == 1 && check(&text, "store").0 == "FAIL" && flat(&text).contains("correct store.path"),
        "{text}"
    );

    // A value that the daemon leaves out is named, and so is what came in its place.
    let (fields, value) = (Some(vec!["memsize".to_owned()]), Some("\"2 GB\"".to_owned()));
    provider.has(Fault { fields, value, ..Fault::new(FaultKind::NullFields, "/api/cvds/v1/vms/") });
    let (code, text, _) = doctor(&good);
    assert!(code == 0 && check(&text, "VMs").0 == "warn", "{text}");
    assert!(flat(&text).contains("odd, such as $.results[0].memsize: the text \"2 GB\""), "{text}");
    provider.clear_faults();

    // A warning is no failure.
    let tight = good.replace("hosting_per_minute = 100000", "hosting_per_minute = 10");
    let unnamed = tight.replace("container_states", "# container_states");
    let (code, text, _) = doctor(&unnamed);
    assert_eq!((code, check(&text, "API budget, hosting").0), (0, "warn"), "{text}");
    assert!(check(&text, "states").1.contains("container '0'"), "{text}");
    assert!(
        text.contains("→ name the numbers")
            && text.contains("\n[accounts.main.container_states]\n0 = \"\" # 2 containers\n"),
        "{text}"
    );

    let without = good.replace("vm_api_key", "# vm_api_key").split("[email]").next().unwrap().to_owned();
    let (code, text, error) = doctor(&without);
    assert_eq!((code, check(&text, "vm").0, check(&text, "mail").0), (0, "-", "-"), "{text} {error}");

    let (code, text, error) = doctor(&good.replace("currency", "curency"));
    assert!(code == 1 && text.is_empty() && error.contains("did you mean"), "{text} {error}");
}

#[test]
fn check_config_finds_unread_credentials() {
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
        assert!(out.contains(": OK; 1 account, mails on\n"), "{out}");
        let warning = "main.vm_apikey: nobody reads this file; did you mean \"main.vm_api_key\"?";
        assert!(error.contains(warning), "{error}");
    }
}
