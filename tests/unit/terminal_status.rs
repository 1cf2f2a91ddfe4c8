//! `hostwatch status` as text: the real server's answer, with and without colours. properties/terminal.rs tries
//! other widths.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use super::server::Server;
use crate::alert::{Kind, Phase, Severity};
use crate::model::mails::OutboxSummary;
use crate::model::*;
use crate::terminal::{Answer, Status, Style};
use crate::view::incidents::Mails;
use crate::view::{Alerting, IncidentRow};
use account::*;

/// Would clear a screen, turn a line, ring a bell.
const HOSTILE: &str = "we\u{1b}[2Jb\u{7}\r\n\u{202e}1\u{9b}31m [CRITICAL] all gone";

async fn status(books: &[&KnownAccount], alerting: Alerting) -> Status {
    let server = Server::start(books, false).await;
    server.context.alerting.set(alerting);
    serde_json::from_slice::<Status>(&server.get("/api/v1/status").await.body).unwrap()
}

fn incident(severity: Severity, title: &str) -> IncidentRow {
    let reason = "state error; seen wrong, and its container has not been seen right since the last reload";
    let row = incident_row("main", Kind::VmError, severity, Phase::Firing);
    IncidentRow { title: title.into(), reason: reason.into(), ..row }
}

/// A status with a problem of every kind.
async fn troubled() -> Status {
    let mut book = full("main");
    let hostile = vm(18, "mi\u{1b}[31mgrating", HOSTILE);
    let long = vm(19, "blocked", "名前の長い仮想マシンで、四十列には収まらない");
    book.apply(Read::Vms(all(vec![vm(17, "error", "web-1"), hostile, long])), read_at());
    let mut report = report("225.50", "10.00");
    std::sync::Arc::make_mut(&mut report.orders[0]).comment = Some(HOSTILE.into());
    book.apply(Read::ExpectedBalance(report), read_at());
    book.end(Collector::Ips, ended(Some("reading the IP addresses: the provider answered 503")), read_at());
    let mut known = incident(Severity::Warning, "VM \"web-2\" stuck in Restoring");
    known.decided = acknowledged();
    let mut quiet = incident(Severity::Warning, "Site \"shop.example.com\" in error");
    quiet.decided.silenced_until = Some(read_at() + chrono::Duration::hours(3));
    let incidents = vec![incident(Severity::Critical, &format!("VM \"{HOSTILE}\" in error")), known, quiet];
    let outbox =
        OutboxSummary { owed: 2, in_flight: 1, refused: 1, held: 1, unsure: 1, oldest: Some(read_at()) };
    let lives_on = Some("web-1".into());
    let mails = Mails { outbox: Some(outbox), last_mail_at: Some(read_at()), lives_on, ..Mails::default() };
    status(&[&book], Alerting { incidents: incidents.into_iter().collect(), mails, ..Alerting::default() })
        .await
}

fn text(status: &Status, width: usize) -> String {
    status.text(Style { width, colour: false })
}

#[tokio::test]
async fn all_is_well() {
    let status = status(&[&full("main")], Alerting::default()).await;
    assert_eq!(status.answer(), Answer::Fine);
    insta::assert_snapshot!("status_fine_80", text(&status, 80));
}

#[tokio::test]
async fn much_is_not() {
    let status = troubled().await;
    assert_eq!(status.answer(), Answer::NeedsYou);
    let coloured = status.text(Style { width: 80, colour: true });
    insta::assert_snapshot!("status_troubled_colour", coloured.replace('\u{1b}', "␛"));
}

#[tokio::test]
async fn several_accounts_stand_by_urgency() {
    let (fine, mut soon, mut lost) = (full("a"), full("customer-with-a-long-name"), full("lost"));
    soon.apply(Read::ExpectedBalance(report("25.50", "10")), read_at());
    lost.end(Collector::Vms, ended(Some("the provider answered 401")), read_at());
    let others: Vec<KnownAccount> = (1..=2).map(|number| full(&format!("other-{number}"))).collect();
    let mut books = vec![&fine, &soon, &lost];
    books.extend(&others);
    let status = status(&books, Alerting::default()).await;
    insta::assert_snapshot!("status_accounts_80", text(&status, 80));
}

/// Ten of each list are shown, and the number of the others with the place that lists all.
#[tokio::test]
async fn the_worst_are_listed_and_the_others_counted() {
    let mut many = full("main");
    // Two listings without them prove that its other VMs are gone.
    for _ in 0..2 {
        let vms = (100..160).map(|id| vm(id, "error", &format!("web-{id}")));
        many.apply(Read::Vms(all(vms.collect())), read_at());
    }
    let row = |id: u64| IncidentRow {
        key: crate::alert::Key::new(&"main".parse().unwrap(), Kind::VmError, id),
        ..incident(Severity::Critical, &format!("VM web-{id} in error"))
    };
    let alerting = || Alerting { incidents: (100..160).map(row).collect(), ..Alerting::default() };
    let others: Vec<KnownAccount> = (1..=40).map(|number| full(&format!("other-{number}"))).collect();
    for count in [0, 40] {
        let mut books = vec![&many];
        books.extend(others.iter().take(count));
        let text = text(&status(&books, alerting()).await, 120);
        assert!(text.contains("  and 50 more; hostwatch incidents lists all\n"), "{count}: {text}");
        let accounts = text.contains("  and 31 more; hostwatch status --json lists all\n");
        assert_eq!(accounts, count == 40, "{text}");
        assert_eq!(text.matches("main/vm_error/").count(), 10, "{count}: {text}");
    }
}

#[tokio::test]
async fn unread_resources_are_not_fine() {
    let status = status(&[&book(profile("main"))], Alerting::default()).await;
    assert_eq!(status.answer(), Answer::Unknown);
    insta::assert_snapshot!("status_unread_80", text(&status, 80));
    let known = serde_json::to_string(&status).unwrap();
    let later = known.replace(r#""level":"unknown""#, r#""level":"splendid""#);
    assert_ne!(later, known);
    let later = serde_json::from_slice::<Status>(later.as_bytes()).unwrap();
    assert_eq!(later.answer(), Answer::Unknown, "a word of a later version");
    assert!(serde_json::from_slice::<Status>(b"{\"hello\": 1}").is_err());
}
