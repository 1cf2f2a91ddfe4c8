//! `hostwatch incidents`, `outbox`, `silence --list` and `why` as text: worst first, the account's zone, 80 columns,
//! whatever names hold.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use crate::alert::{AlertSettings, Incident, Key, Kind, Muted, Phase, Severity, Silence, Watcher};
use crate::model::Collector;
use crate::model::mails::{MailRecord, MailState};
use crate::terminal::{Answer, Style};
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecords, Zones};
use crate::view::why::{DecisionRecord, Facts, WhyRecord};
use crate::view::{About, Alerting, IncidentRow, PolledRecords, Query, Status};
use account::*;
use chrono::Duration;
use chrono_tz::Tz;

const HOSTILE: &str =
    "we\u{1b}[2Jb\u{7}\r\n\u{202e}1\u{9b}31m that is so long that no line of a terminal can hold all of it";
const WIDE: Style = Style { width: 80, colour: false };

fn zones() -> Zones {
    [("main".parse().unwrap(), Tz::Europe__Moscow)].into_iter().collect()
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
    let key = Key::new(&"main".parse().unwrap(), kind, id);
    let mut incident = Incident::new(key, Severity::Critical, read_at() - Duration::hours(3));
    (incident.subject, incident.problem) = (subject.into(), kind.problem().into());
    incident.phase = Phase::Firing;
    incident.announced = true;
    incident.last_mailed = Some(read_at() - Duration::hours(3));
    incident
}

#[test]
fn incidents_the_worst_first() {
    let mut known = row(Kind::SiteStuck, Severity::Warning, Phase::Firing, "Site shop.example.com stuck");
    (known.acknowledged, known.note) = (true, Some("Ann is on it".into()));
    known.acknowledged_at = Some(read_at() - Duration::minutes(7));
    let mut over = row(Kind::VmStuck, Severity::Warning, Phase::Resolved, "VM db-1 stuck");
    over.resolved_at = Some(read_at());
    let open = row(Kind::VmError, Severity::Critical, Phase::Firing, &format!("VM {HOSTILE} in error"));
    let records = IncidentRecords::of_rows([over, known, open].iter(), zones(), read_at());
    insta::assert_snapshot!("records_incidents_80", fits(&records.text(WIDE)));
    let none = IncidentRecords::of_rows(std::iter::empty(), zones(), read_at());
    assert_eq!(none.text(WIDE), "No open incidents\n");
    assert!(records.text(Style { width: 80, colour: true }).contains("\u{1b}[1;31m✕"));
}

fn mail(id: i64, state: MailState, error: Option<&str>) -> MailRecord {
    MailRecord {
        id,
        state,
        recipient: "ops@example.com".into(),
        subject: format!("[CRITICAL] VM {HOSTILE} in error (main)"),
        account: Some("main".parse().unwrap()),
        created_at: read_at() - Duration::hours(3),
        ended_at: (state == MailState::Sent).then(read_at),
        attempts: 3,
        error: error.map(str::to_owned),
    }
}

#[test]
fn mails_and_what_became_of_them() {
    let refused =
        Some("550 5.1.1 no such user; the address was refused for good by the server of its domain");
    let mails = vec![
        mail(7, MailState::Dead, refused),
        mail(9, MailState::Queued, Some("451 4.7.1 greylisted")),
        mail(12, MailState::Sent, None),
    ];
    let records = OutboxRecords { generated_at: read_at(), time_zones: zones(), mails };
    insta::assert_snapshot!("records_outbox_80", fits(&records.text(WIDE)));
}

fn silence(id: i64, pattern: &str) -> Silence {
    let (at, until) = (read_at(), read_at() + Duration::hours(2));
    Silence { id, pattern: pattern.into(), at, until, comment: "new kernel".into() }
}

#[test]
fn silences_those_that_keep_most_back_first() {
    let known = [incident(Kind::VmError, 17, "VM web-1"), incident(Kind::VmStuck, 18, "VM db-1")];
    let silences = [silence(3, "nothing-*"), silence(4, "main/vm_*")];
    let records = SilenceRecords::of(&silences, &known, &zones(), read_at());
    insta::assert_snapshot!("records_silences_80", fits(&records.text(WIDE)));
}

#[test]
fn a_reason_ends_with_a_conclusion() {
    let mut open = incident(Kind::VmError, 17, &format!("VM {HOSTILE}"));
    open.announced = true;
    let settings =
        AlertSettings { escalate_to: vec!["boss@example.com".into()], ..AlertSettings::defaults() };
    let watcher = Watcher { settings: settings.into(), to: vec!["ops@example.com".into()] };
    let decided = |reason: &str| DecisionRecord { at: read_at() - Duration::hours(3), reason: reason.into() };
    let facts = Facts {
        key: &open.key,
        incident: Some(&open),
        decisions: vec![decided("seen wrong 1 of 2 times"), decided("seen wrong 2 times in a row")],
        mails: vec![mail(12, MailState::Sent, None), mail(13, MailState::Queued, Some("451 later"))],
        muted: &Muted::default(),
        watcher: Some(&watcher),
        zone: Tz::Europe__Moscow,
        now: read_at(),
    };
    let why = WhyRecord::of(facts);
    insta::assert_snapshot!("records_why_80", fits(&why.text(WIDE)));
    let json = serde_json::to_string(&why).unwrap();
    let read: WhyRecord = serde_json::from_str(&json).unwrap();
    assert_eq!(read.text(WIDE), why.text(WIDE), "a command reads what the daemon wrote");
}

/// Charges may fail for a week: a poll does not ask for them.
#[test]
fn a_poll_answers_for_what_it_asked_alone() {
    let failing = |collector: Collector| {
        let mut books = full("main");
        books.end(collector, ended(Some("500 Internal Server Error")), read_at());
        let about = About { version: "0.1.0", commit: "abcdef", started_at: read_at() };
        let status =
            Status::new(&snapshot([&books]), &Alerting::default(), &about, &Query::default(), read_at());
        PolledRecords { status, unfinished: Vec::new() }
    };
    let charges = failing(Collector::Charges);
    assert_eq!(charges.answer(), Answer::Fine);
    assert!(!charges.text(WIDE).contains("cannot read"), "{}", charges.text(WIDE));
    let vms = failing(Collector::Vms);
    assert_eq!(vms.answer(), Answer::NeedsYou);
    assert!(vms.text(WIDE).contains("cannot read"), "{}", vms.text(WIDE));
}
