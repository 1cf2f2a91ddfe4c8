//! `hostwatch incidents`, `outbox`, `silence --list` and `why` as text: worst first, in the account's zone,
//! within 80 columns for any names.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use crate::alert::{
    AlertSettings, Cause, Debts, Due, Event, Incident, Key, Kind, MailOnItsWay, OwedEvent, Phase, Severity,
    Silence, Subject, Watcher, Why,
};
use crate::model::mails::SentMail;
use crate::terminal::Style;
use crate::view::IncidentRow;
use crate::view::incidents::IncidentList;
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecords, Zones};
use crate::view::why::{DecisionRecord, Facts, WhyRecord};
use account::*;
use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;

const HOSTILE: &str =
    "we\u{1b}[2Jb\u{7}\r\n\u{202e}1\u{9b}31m that is so long that no line of a terminal can hold all of it";
const WIDE: Style = Style { width: 80, colour: false };

fn zones() -> Zones {
    Zones([("main".parse().unwrap(), Tz::Europe__Moscow)].into())
}

fn fits(text: &str) -> &str {
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    text
}

fn row(kind: Kind, severity: Severity, phase: Phase, title: &str) -> IncidentRow {
    IncidentRow { title: title.into(), ..incident_row("main", kind, severity, phase) }
}

fn incident(kind: Kind, id: u64, subject: &str) -> Incident {
    let mut incident = Incident::new(key(kind, id), read_at() - Duration::hours(3));
    incident.subject = Subject::Text(subject.into()).of_stored(&incident.key);
    incident.phase = Phase::Firing;
    incident
}

#[test]
fn incidents_the_worst_first() {
    let mut known = row(Kind::SiteStuck, Severity::Warning, Phase::Firing, "Site shop.example.com stuck");
    known.decided = acknowledged();
    let mut over = row(Kind::VmStuck, Severity::Warning, Phase::Resolved, "VM db-1 stuck");
    over.resolved_at = Some(read_at());
    let open = row(Kind::VmError, Severity::Critical, Phase::Firing, &format!("VM {HOSTILE} in error"));
    let records = |rows: &[IncidentRow]| IncidentRecords {
        generated_at: read_at(),
        time_zones: zones(),
        incidents: IncidentList::of(rows.iter(), read_at()),
    };
    let none = records(&[]);
    let records = records(&[over, known, open]);
    insta::assert_snapshot!("records_incidents_80", fits(&records.text(WIDE)));
    assert_eq!(none.text(WIDE), "No open incidents\n");
    assert!(records.text(Style { width: 80, colour: true }).contains("\u{1b}[1;31m✕"));
}

fn mail(sent_hours_ago: i64) -> SentMail {
    let at = read_at() - Duration::hours(sent_hours_ago);
    SentMail {
        message_id: format!("{sent_hours_ago}@example.com"),
        recipient: "ops@example.com".into(),
        subject: format!("[CRITICAL] VM {HOSTILE} in error (main)"),
        told: vec!["main/vm_error/17/1/0/opened".into()],
        created_at: at,
        sent_at: at,
    }
}

fn debts(recipient: &str) -> Debts {
    Debts { recipient: recipient.into(), ..Debts::default() }
}

fn key(kind: Kind, id: u64) -> Key {
    Key::new(&"main".parse().unwrap(), kind, id)
}

fn minutes_ago(minutes: i64) -> DateTime<Utc> {
    read_at() - Duration::minutes(minutes)
}

/// A mail that has been due for so many minutes.
fn owed(key: Key, event: &Event, minutes: i64) -> OwedEvent {
    OwedEvent { key, event: Some(event.to_string()), since: minutes_ago(minutes) }
}

#[test]
fn mails_due_by_recipient_and_sent_mails_below() {
    let error = "550 5.1.1 no such user; the address was refused for good by the server of its domain";
    let refused = Debts {
        since: Some(minutes_ago(190)),
        owed: vec![
            owed(key(Kind::VmError, 17), &Event::Opened, 190),
            owed(key(Kind::SiteError, 104), &Event::Resolved, 12),
        ],
        error: Some(error.into()),
        refused_since: Some(read_at() - Duration::hours(3)),
        next_try: Some(read_at() + Duration::minutes(48)),
        ..debts("ann@example.com")
    };
    let hook = Debts {
        since: Some(minutes_ago(3)),
        first: Some(minutes_ago(2)),
        digest: Some(minutes_ago(1)),
        in_flight: vec![MailOnItsWay { since: minutes_ago(3), keys: vec![key(Kind::VmError, 17)] }],
        ..debts("webhook:chat")
    };
    let many = (0..12).map(|id| owed(key(Kind::VmStuck, id), &Event::Opened, 5));
    let many = Debts {
        since: Some(minutes_ago(5)),
        owed: many.collect(),
        limited: true,
        ..debts("ops@example.com")
    };
    let all = [hook, many, refused, debts("nothing@example.com")];
    let records = OutboxRecords::of(&all, vec![mail(1), mail(3)], zones(), read_at());
    insta::assert_snapshot!("records_outbox_80", fits(&records.text(WIDE)));
    let json = serde_json::to_string_pretty(&records).unwrap();
    insta::assert_snapshot!("records_outbox_json", json);
    let read: OutboxRecords = serde_json::from_str(&json).unwrap();
    assert_eq!(read.text(WIDE), records.text(WIDE), "a command reads what the daemon wrote");
    let none = OutboxRecords::of(&[], Vec::new(), zones(), read_at());
    assert_eq!(none.text(WIDE), "nothing is owed to anybody\n");
}

fn silence(id: i64, pattern: &str) -> Silence {
    let (at, until) = (read_at(), read_at() + Duration::hours(2));
    Silence { id, pattern: pattern.into(), at, until, comment: "new kernel".into() }
}

#[test]
fn silences_with_the_widest_first() {
    let known = [incident(Kind::VmError, 17, "VM web-1"), incident(Kind::VmStuck, 18, "VM db-1")];
    let silences = [silence(3, "nothing-*"), silence(4, "main/vm_*")];
    let records = SilenceRecords::of(&silences, known.iter(), &zones(), read_at());
    insta::assert_snapshot!("records_silences_80", fits(&records.text(WIDE)));
}

fn watched(to: &[&str]) -> Watcher {
    let to = to.iter().map(|to| (*to).to_owned()).collect();
    Watcher { settings: AlertSettings::defaults().into(), to }
}

/// The facts about an incident that is not known.
fn facts<'a>(key: &'a Key, watcher: Option<&'a Watcher>) -> Facts<'a> {
    Facts {
        key,
        incident: None,
        row: None,
        decisions: Vec::new(),
        mails: Vec::new(),
        answers: Vec::new(),
        debts: &[],
        watcher,
        zone: Tz::Europe__Moscow,
        now: read_at(),
    }
}

#[test]
fn a_reason_ends_with_a_conclusion() {
    let open = incident(Kind::VmError, 17, &format!("VM {HOSTILE}"));
    let watcher = watched(&["ops@example.com"]);
    let decided = |reason: &str| DecisionRecord { at: read_at() - Duration::hours(3), reason: reason.into() };
    let knows = Due::Nothing(Why::Told, Some(read_at() + Duration::hours(21)));
    let owed = Due::Tell(Event::Escalated, Cause::Escalated { to: "boss@example.com".into(), after: 180 });
    let answers = [
        ("ann@example.com", knows.clone()),
        ("boss@example.com", owed),
        ("former@example.com", Due::Nothing(Why::Left, None)),
        ("ops@example.com", knows),
    ];
    let facts = Facts {
        incident: Some(&open),
        row: Some(row(Kind::VmError, Severity::Critical, Phase::Firing, &format!("VM {HOSTILE} in error"))),
        decisions: vec![decided("seen wrong 1 of 2 times"), decided("seen wrong 2 times in a row")],
        mails: (0..7).map(|hours| mail(7 - hours)).collect(),
        answers: answers.map(|(to, due)| (to.to_owned(), due)).into(),
        ..facts(&open.key, Some(&watcher))
    };
    let why = WhyRecord::of(facts);
    insta::assert_snapshot!("records_why_80", fits(&why.text(WIDE)));
    let json = serde_json::to_string(&why).unwrap();
    let read: WhyRecord = serde_json::from_str(&json).unwrap();
    assert_eq!(read.text(WIDE), why.text(WIDE), "a command reads what the daemon wrote");
}

#[test]
fn a_mail_that_waits_says_why_and_when_it_is_tried_again() {
    let open = incident(Kind::VmError, 17, "VM web");
    let watcher = watched(&["ann@example.com"]);
    let failed = Debts {
        recipient: "ann@example.com".into(),
        error: Some("452 full".into()),
        next_try: Some(read_at() + Duration::minutes(5)),
        ..Debts::default()
    };
    let flying = Debts {
        in_flight: vec![MailOnItsWay { since: read_at(), keys: vec![open.key.clone()] }],
        ..failed.clone()
    };
    let owed = Due::Tell(Event::Opened, Cause::SeenWrong);
    let last =
        "The last try to reach ann@example.com failed (452 full); the next one is at Sun 1 Mar 15:05 MSK.";
    let table = [
        (
            failed.clone(),
            owed.clone(),
            vec![
                "No mail about it was sent.",
                "A mail is owed to ann@example.com now (opened): first seen in this poll.",
                last,
            ],
        ),
        (
            flying,
            Due::Nothing(Why::Told, None),
            vec!["A mail to ann@example.com is on its way since Sun 1 Mar 15:00 MSK.", last],
        ),
        (
            failed.clone(),
            Due::Nothing(Why::Told, None),
            vec!["No mail about it was sent.", "Nothing is owed to ann@example.com: this recipient knows."],
        ),
        (
            Debts { error: None, limited: true, ..failed.clone() },
            owed,
            vec![
                "No mail about it was sent.",
                "A mail is owed to ann@example.com now (opened): first seen in this poll.",
                "email.max_per_hour holds back mails to ann@example.com; the next one is at Sun 1 Mar 15:05 MSK.",
            ],
        ),
        (
            Debts { recipient: "ann@example.com".into(), unsure_since: Some(read_at()), ..Debts::default() },
            Due::Nothing(Why::Told, None),
            vec![
                "Nothing is owed to ann@example.com: this recipient knows.",
                "The mail to ann@example.com of Sun 1 Mar 15:00 MSK may not have arrived: no reply to it came.",
            ],
        ),
    ];
    for (debts, due, want) in table {
        let answers = vec![("ann@example.com".to_owned(), due)];
        let debts = &[debts];
        let facts = Facts { incident: Some(&open), answers, debts, ..facts(&open.key, Some(&watcher)) };
        assert_eq!(WhyRecord::of(facts).conclusion, want);
    }
}

#[test]
fn a_mail_that_may_not_have_arrived_is_listed() {
    let unsure_since = Some(read_at() - Duration::hours(2));
    let debts = [Debts { since: unsure_since, unsure_since, ..debts("ann@example.com") }];
    let text = OutboxRecords::of(&debts, Vec::new(), zones(), read_at()).text(WIDE);
    assert!(
        text.starts_with("ann@example.com") && text.contains("may not have arrived: no reply to it came")
    );
    assert!(!text.contains("owed for"), "{text}");
}

#[test]
fn where_nothing_is_mailed_the_configuration_says_why() {
    let (error, gone) = (key(Kind::VmError, 17), key(Kind::ResourceGone, 17));
    let (nobody, ops) = (watched(&[]), watched(&["ops@example.com"]));
    let table = [
        (&error, None, "No more mails: account main is not in the configuration."),
        (
            &gone,
            Some(&ops),
            "No mails: the rule is off; alerts.rules.resource_gone.enabled = true switches it on.",
        ),
        (&error, Some(&nobody), "No mails: nobody is named in email.to, the account's to, or the rule's to."),
        (&error, Some(&ops), "Nothing of this key was ever wrong; it is watched, and mailed once it is."),
    ];
    for (key, watcher, want) in table {
        let why = WhyRecord::of(facts(key, watcher));
        assert_eq!(why.conclusion, ["No mail about it was sent.", want]);
    }
}
