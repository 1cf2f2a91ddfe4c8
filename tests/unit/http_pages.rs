//! Every text of the pages with its links, in English and in Russian, as goldens.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account::*;
use super::server::Server;
use crate::alert::{Episode, History, Key, Kind, Phase, Severity, Subject, Title, Wrong};
use crate::model::forecast::Disconnect;
use crate::model::mails::OutboxSummary;
use crate::model::*;
use crate::view::forms::{self, Clause, Tense};
use crate::view::incidents::Mails;
use crate::view::{Alerting, IncidentRow, words};
use chrono::Duration;

/// The visible text of a page, line by line. An address stands before the text of its link, and the class of a
/// card before the card. A picture is its label.
fn text(page: &str) -> String {
    let (_, body) = page.split_once("<body>").unwrap();
    let title = page.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap();
    let mut text = format!("[{title}]\n");
    let mut rest = body;
    let mut is_drawing = false;
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap();
        if !is_drawing {
            text.push_str(before.trim_matches('\n'));
        }
        let value = |name: &str| tag.split(&format!(" {name}=\"")).nth(1).and_then(|of| of.split('"').next());
        match tag.split(' ').next().unwrap() {
            "figure" => is_drawing = true,
            "/figure" => is_drawing = false,
            "img" => text.extend(value("alt").map(|label| format!("[{label}]\n"))),
            "a" => {
                text.extend(value("class").map(|class| format!("{class}: ")));
                let address = value("href").filter(|address| !address.starts_with('#'));
                text.extend(address.map(|address| format!(" ({address}) ")));
            }
            "li" => text.extend(value("class").map(|class| format!("{class}: "))),
            "/td" | "/th" | "/dt" | "/dd" | "small" => text.push_str(" | "),
            "/p" | "/li" | "/tr" | "/h1" | "/h2" | "/h3" | "/dl" | "/nav" | "/header" => text.push('\n'),
            "/a" | "/span" | "/label" | "/button" => text.push(' '),
            _ => {}
        }
        rest = after;
    }
    let lines = text.lines().map(|line| line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    let lines = lines.map(|words| words.join(" ")).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

async fn golden(name: &str, server: &Server, paths: &[&str]) {
    for language in ["en", "ru"] {
        let mut all = String::new();
        for path in paths {
            let page = server.ask("GET", path, &format!("Accept-Language: {language}\r\n")).await;
            assert_eq!(page.status, 200, "{path}");
            all += &format!("== {path}\n{}\n", text(page.text()));
        }
        insta::assert_snapshot!(format!("pages_{name}_{language}"), all);
    }
}

/// An open incident of one resource.
pub(super) fn card(kind: Kind, id: u64, name: &str) -> IncidentRow {
    let row = incident_row("main", kind, kind.default_severity(), Phase::Firing);
    let key = Key::new(&row.account, kind, id);
    let subject = Subject::Text(name.into()).of_stored(&key);
    let clause = Clause::new(Wrong::of(kind), Tense::Is);
    let title = words::capital(&forms::one(&subject, &key, std::slice::from_ref(&clause), Language::En));
    IncidentRow { key, resource_name: name.into(), title, subject, clause, ..row }
}

/// An open cut-off of an account.
fn cut_off(account: &str, at: &str, computed: bool) -> IncidentRow {
    let row = incident_row(account, Kind::Disconnect, Severity::Critical, Phase::Firing);
    let key = Key::account_wide(&row.account, Kind::Disconnect);
    IncidentRow { key, cut_off: Some(Disconnect::At { at: t(at), computed }), ..row }
}

fn acknowledged(row: IncidentRow) -> IncidentRow {
    IncidentRow { decided: super::account::acknowledged(), ..row }
}

/// An account that needs money, whose owner named a page and a note for paying.
fn short_of_money(name: &str) -> KnownAccount {
    let mut own = profile(name);
    own.guide.pay_link = Some(format!("https://pay.example.com/{name}"));
    own.guide.pay_note = Some(format!("Contract of {name}"));
    let mut book = book(own);
    fill(&mut book, read_at());
    book.apply(Read::ExpectedBalance(report("45.50", "10")), read_at());
    book
}

/// A cut-off, an acknowledged VM, a site in error with what it is in, and mails that wait.
#[tokio::test]
async fn pages_of_an_account_with_trouble() {
    let mut book = short_of_money("main");
    book.apply(Read::Vms(all(vec![vm(17, "error", "web-1"), vm(18, "odd", "web-2")])), read_at());
    book.apply(Read::Sites(ContainerId::new(31), all(vec![site(104, 31, "Error")])), read_at());
    book.end(Collector::Charges, ended(Some("status 503")), read_at());
    let server = Server::start(&[&book], false).await;
    let site = card(Kind::SiteError, 104, "Site site104.example.com");
    let vm = acknowledged(card(Kind::VmError, 17, "VM web-1"));
    let incidents = [cut_off("main", "2026-03-06T11:00:00", true), vm, site.clone()].into_iter().collect();
    let outbox =
        OutboxSummary { owed: 2, in_flight: 1, refused: 1, held: 1, unsure: 1, oldest: Some(read_at()) };
    let mails = Mails { outbox: Some(outbox), last_mail_at: Some(read_at()), ..Mails::default() };
    server.context.alerting.set(Alerting { incidents, mails, ..Alerting::default() });
    let at = |hours| read_at() - Duration::hours(hours);
    *server.history.lock() = History {
        episodes: vec![Episode {
            key: site.key,
            title: Title::of_stored("Site site104.example.com in error".into()),
            severity: Severity::Critical,
            since: at(50),
            ended: Some(at(48)),
        }],
        more: false,
    };
    let paths = [
        "/?refresh=1",
        "/?all=1&refresh=0",
        "/resource?account=main&kind=site&id=104",
        "/resource?account=main&kind=vm&id=18",
        "/incidents?days=30",
    ];
    golden("troubled", &server, &paths).await;
}

/// A card for each cause: one that explains others, acknowledged, not confirmed yet, a warning; money first.
#[tokio::test]
async fn a_card_stands_for_a_cause() {
    let mut book = short_of_money("main");
    book.apply(Read::Containers(all(vec![container(31, "DISABLED_BY_QUOTA")])), read_at());
    let server = Server::start(&[&book], false).await;
    let cause = card(Kind::ContainerDisabled, 31, "Container shop");
    let covered = |id| IncidentRow {
        caused_by: Some(cause.key.clone()),
        ..card(Kind::SiteBlocked, id, &format!("Site site{id}.example.com"))
    };
    server.show([
        IncidentRow { phase: Phase::Pending, ..card(Kind::VmError, 18, "VM web-2") },
        acknowledged(card(Kind::VmError, 17, "VM web-1")),
        IncidentRow { severity: Severity::Warning, ..card(Kind::VmStuck, 19, "VM web-3") },
        covered(104),
        covered(105),
        acknowledged(cut_off("main", "2026-03-06T11:00:00", false)),
        cause.clone(),
    ]);
    golden("cards", &server, &["/?q=site104"]).await;
}

/// Accounts whose names differ in a single sign, cut off on different days. The later cut-off began last; the
/// date decides the order.
#[tokio::test]
async fn each_cut_off_has_its_amounts_and_links() {
    let books = ["a-b", "a_b"].map(short_of_money);
    let server = Server::start(&books.each_ref(), false).await;
    let later = IncidentRow { since: read_at(), ..cut_off("a-b", "2026-03-06T11:00:00", false) };
    let deleted_at = Some(t("2026-03-05T11:00:00"));
    let off = IncidentRow { deleted_at, ..acknowledged(cut_off("a_b", "2026-02-26T11:00:00", false)) };
    server.show([later, off]);
    golden("cut_offs", &server, &["/?refresh=1"]).await;
    let json = server.json("/api/v1/status").await;
    let open = json["incidents"]["open"].as_array().unwrap();
    assert_eq!(open.iter().map(|row| &row["account"]).collect::<Vec<_>>(), ["a_b", "a-b"]);
    // The last day to pay is the present one.
    server.show([IncidentRow { since: read_at(), ..cut_off("a-b", "2026-03-05T11:00:00", false) }]);
    assert!(server.get("/").await.text().contains("<td>today</td>"));
}

/// The headline says what similar problems are: no card says it again.
#[tokio::test]
async fn similar_problems_stand_together() {
    let mut book = full("main");
    let sites = (200..244).map(|id| site(id, 31, "Error")).collect();
    book.apply(Read::Sites(ContainerId::new(31), all(sites)), read_at());
    let server = Server::start(&[&book], false).await;
    server.show((200..244).map(|id| card(Kind::SiteError, id, &format!("Site site{id}.example.com"))));
    golden("similar", &server, &["/?refresh=1"]).await;
    assert!(!server.get("/?all=1").await.text().contains(" more</p>"));
    // The list can be hidden from its later pages, too.
    let later = server.get("/?all=1&page=2").await.text().to_owned();
    assert!(later.contains("<a href=\"./#resources\">Hide the list</a>"), "{later}");
}

/// A resource that works again is not red, and nobody is advised to restart it.
#[tokio::test]
async fn a_resource_that_recovers_is_told_so() {
    let server = Server::start(&[&full("main")], false).await;
    let incidents = [IncidentRow { phase: Phase::Recovering, ..card(Kind::VmError, 17, "VM web-1") }];
    let mails = Mails { outbox: Some(OutboxSummary::default()), without_heartbeat: true, ..Mails::default() };
    let incidents = incidents.into_iter().collect();
    server.context.alerting.set(Alerting { incidents, mails, ..Alerting::default() });
    golden("recovering", &server, &["/?refresh=1", "/resource?account=main&kind=vm&id=17"]).await;
}

#[tokio::test]
async fn pages_where_all_is_fine_or_nothing_is_known() {
    for (name, books) in [
        ("fine", vec![full("main")]),
        ("several", vec![full("main"), full("shop")]),
        ("unread", vec![book(profile("main"))]),
        ("none", vec![]),
    ] {
        let server = Server::start(&books.iter().collect::<Vec<_>>(), false).await;
        // Without mails a heartbeat is pointless.
        let mails = Mails { without_heartbeat: true, ..Mails::default() };
        server.context.alerting.set(Alerting { mails, ..Alerting::default() });
        golden(name, &server, &["/?refresh=1"]).await;
    }
}
