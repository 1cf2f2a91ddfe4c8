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
    // Then daily for a week, and every third day until day 37.
    let after = (11..=17).chain((20..=47).step_by(3)).map(|day| format!("in {day} d"));
    let days = ["now", "in 3 d", "in 7 d", "in 9 d", "in 10 d"].map(str::to_owned).into_iter().chain(after);
    assert_eq!([&when[..2], &when[3..]].concat(), days.collect::<Vec<_>>(), "{text}");
    // The last safe day begins at midnight.
    assert!(when[2].starts_with("in 5 d") && text.contains(" 00:00 UTC (in 5 d"), "{text}");
    let subjects: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with('[')).collect();
    assert_eq!(subjects.len(), when.len(), "{text}");
    for (index, subject) in subjects.iter().enumerate() {
        assert!(subject.contains("] Cut-off ") || subject.contains("] OVERDUE since "), "{text}");
        assert!(!subjects[..index].contains(subject), "no two are the same: {text}");
    }
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
