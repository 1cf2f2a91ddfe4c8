//! `hostwatch rehearse` end to end: the real binary against the simulated provider; it sends and stores
//! nothing.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::*;

/// The heads of the mails: `in 9 d`.
fn whens(text: &str) -> Vec<&str> {
    let heads = text.lines().filter(|line| line.starts_with("  ! ") || line.starts_with("  ✕ "));
    heads.map(|line| line.split_once('(').unwrap().1.split_once(')').unwrap().0).collect()
}

#[test]
fn of_a_real_and_a_supposed_report() {
    let (provider, smtp, mut daemon) = watching("");
    assert_eq!(daemon.stop(), 0);
    let stored = || std::fs::read(daemon.directory.path().join("hostwatch.db")).unwrap();
    let (mails, before) = (smtp.seen().connections, stored());

    let (code, text, error) = daemon.command(&["rehearse"]);
    assert!(code == 0 && text.contains("main: no cut-off is expected"), "{code} {text} {error}");
    assert!(text.contains("No mail is to come."), "{text}");

    let (code, text, error) = daemon.command(&["rehearse", "--days=10"]);
    assert_eq!(code, 0, "{error}");
    let when = whens(&text);
    assert!(text.contains("\n    to ops@example.com\n") && text.contains(" RUB by "), "{text}");

    provider.lasts_days(5);
    let requests = provider.simulator.requests().len();
    let (code, text, _) = daemon.command(&["rehearse"]);
    assert_eq!((code, provider.simulator.requests().len()), (0, requests + 1), "one call");
    assert_eq!(whens(&text)[0], "now");

    // Without the provider a supposition still shows the thresholds, but no amounts.
    provider.report_error(Some("no data"));
    assert_eq!(daemon.command(&["rehearse"]).0, 3);
    let (code, text, _) = daemon.command(&["rehearse", "--days=20"]);
    assert!(code == 0 && whens(&text).len() == when.len(), "{text}");

    let config = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(
        daemon.config(),
        format!("{config}\n[alerts.rules]\ndisconnect = {{ enabled = false }}\n"),
    )
    .unwrap();
    let (code, text, error) = daemon.command(&["rehearse", "--days=20"]);
    assert!(code == 1 && text.contains("✕ No mail is to come."), "{text} {error}");
    assert_eq!((smtp.seen().connections, stored()), (mails, before), "nothing sent, nothing stored");
}
