//! `hostwatch rehearse` end to end: the real binary against the simulated provider; nothing is sent or stored.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::smtp::SmtpServer;
use common::*;

/// The heads of the mails: `in 9 d`.
fn whens(text: &str) -> Vec<&str> {
    let heads = text.lines().filter(|line| line.starts_with("  ! ") || line.starts_with("  ✕ "));
    heads.map(|line| line.split_once('(').unwrap().1.split_once(')').unwrap().0).collect()
}

#[test]
fn the_mails_to_come_of_the_real_report_and_of_a_supposed_one() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    wait_for(&smtp, "main/started/account started");
    assert_eq!(daemon.stop(), 0);
    let stored = || std::fs::read(daemon.directory.path().join("hostwatch.db")).unwrap();
    let (mails, before) = (smtp.seen().connections, stored());

    let (code, text, error) = daemon.command(&["rehearse"]);
    assert!(code == 0 && text.contains("main: no cut-off is expected"), "{code} {text} {error}");
    assert!(text.contains("No mail is to come."), "{text}");

    let (code, text, error) = daemon.command(&["rehearse", "--days=10"]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(whens(&text), ["now", "in 3 d", "in 6 d", "in 7 d", "in 9 d", "in 10 d"], "{text}");
    let subjects: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with('[')).collect();
    assert_eq!(subjects.len(), 6, "{text}");
    for (index, subject) in subjects.iter().enumerate() {
        assert!(subject.contains("] Cut-off ") || subject.contains("] OVERDUE since "), "{text}");
        assert!(!subjects[..index].contains(subject), "no two are the same: {text}");
    }
    assert!(text.contains("\n    to ops@example.com\n") && text.contains(" RUB by "), "{text}");

    provider.lasts_days(5);
    let requests = provider.simulator.requests().len();
    let (code, text, _) = daemon.command(&["rehearse"]);
    assert_eq!((code, provider.simulator.requests().len()), (0, requests + 1), "one call");
    assert!(text.contains("- the mail 14 days before: already past"), "{text}");
    assert_eq!(whens(&text)[0], "now");

    // Without the provider a supposition still shows the ladder, without amounts.
    provider.report_error(Some("no data"));
    assert_eq!(daemon.command(&["rehearse"]).0, 3);
    let (code, text, _) = daemon.command(&["rehearse", "--days=20"]);
    assert!(code == 0 && whens(&text).len() == 6, "{text}");
    assert!(text.contains("- amounts, as things are: the report carries an error: no data"), "{text}");

    let config = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(
        daemon.config(),
        format!("{config}\n[alerts.rules]\ndisconnect = {{ enabled = false }}\n"),
    )
    .unwrap();
    let (code, text, error) = daemon.command(&["rehearse", "--days=20"]);
    assert!(
        code == 1 && text.contains("- a cut-off: alerts.rules.disconnect is not enabled"),
        "{text} {error}"
    );
    assert_eq!((smtp.seen().connections, stored()), (mails, before), "nothing sent, nothing stored");
}

/// Where this machine's clock is off by more than an hour the provider's decides, with a daemon and without.
#[test]
fn a_clock_that_is_far_off_changes_no_date_of_a_rehearsal() {
    let provider = Provider::start(SCENARIO);
    provider.lasts_days(10);
    let smtp = SmtpServer::plain();
    let mut clock = common::clock::Clock::new();
    clock.set(chrono::Duration::days(30));
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, "main/disconnect/account rung:14");
    for running in [true, false] {
        if !running {
            assert_eq!(daemon.stop(), 0);
        }
        let (_, text, error) = daemon.command(&["rehearse"]);
        assert_eq!(whens(&text).len(), 6, "{running}: {text} {error}");
        let (_, text, error) = daemon.command(&["rehearse", "--days=10"]);
        let over = text.lines().find_map(|line| line.split_once("OVERDUE since ")).unwrap_or_default().1;
        let days = [9, 10, 11].map(|days| common::now() + chrono::Duration::days(days));
        let is_then = days.iter().any(|day| over.starts_with(&day.format("%a %-d %b").to_string()));
        assert!(is_then, "{running}: {text} {error}");
        let (_, text, error) = daemon.command(&["forecast"]);
        assert!(text.contains("in 9 d") || text.contains("in 10 d"), "{running}: {text} {error}");
    }
}
