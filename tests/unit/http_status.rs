//! The status: the headline and the lists, as JSON and as a page.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use super::server::Server;
use crate::alert::{Decided, Key, Kind, Phase, Severity, Subject};
use crate::model::forecast::Disconnect;
use crate::model::mails::OutboxSummary;
use crate::model::*;
use crate::terminal::Style;
use crate::view::incidents::{Mails, ServerError};
use crate::view::{Alerting, IncidentRow, Status};
use account::*;
use serde_json::Value;

/// The status as JSON. For every query, page and terminal have to show the same headline with the same sign,
/// and the whole JSON has to be read back.
async fn status(books: &[&KnownAccount], incidents: Vec<IncidentRow>, query: &str) -> Value {
    let server = Server::start(books, false).await;
    server.show(incidents);
    let json = server.get(&format!("/api/v1/status?{query}")).await;
    let status = serde_json::from_slice::<Status>(&json.body).unwrap();
    assert_eq!(serde_json::to_string(&status).unwrap() + "\n", json.text());
    let (sign, sentence) = (status.headline.level.sign(), &status.headline.sentence);
    let page = server.get(&format!("/?{query}")).await;
    let text = page.text();
    let heading = text.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).unwrap();
    // The headline is one line with a link to its place.
    let heading = heading.split('<').filter_map(|part| part.split('>').next_back()).collect::<String>();
    assert_eq!(heading, format!("{sign} {sentence}"), "{text}");
    let text = status.text(Style { width: 1000, colour: false });
    assert_eq!(text.lines().next().unwrap(), format!("{sign} {sentence}"));
    for account in status.accounts.iter().filter(|_| status.accounts.len() > 1) {
        let sentence = &account.headline.sentence;
        let row = format!("{}</a></th>\n<td><span class=\"tag ", account.name);
        assert!(page.text().contains(&row) && text.contains(sentence), "{sentence}");
    }
    serde_json::from_slice(&json.body).unwrap()
}

fn fail(book: &mut KnownAccount, collector: Collector, why: &str) {
    book.end(collector, ended(Some(why)), read_at());
}

fn read(book: &mut KnownAccount, read: Read) {
    book.apply(read, read_at());
}

fn balance(book: &mut KnownAccount, balance: &str, edd: Edd) {
    read(book, Read::ExpectedBalance(Report { edd, ..report(balance, "10") }));
}

fn vms(book: &mut KnownAccount, state: &str) {
    read(book, Read::Vms(all(vec![vm(17, state, "web-1"), vm(18, "active", "web-2")])));
}

fn on(date: &str) -> Edd {
    Edd::At(t(date))
}

/// An account with all collectors on after something happened to it.
type Change = (&'static str, fn(&mut KnownAccount));

const CHANGES: [Change; 19] = [
    ("fine", |_| {}),
    ("a failed poll", |book| fail(book, Collector::Vms, "status 500")),
    ("a failed balance", |book| fail(book, Collector::ExpectedBalance, "404")),
    ("failed sites", |book| fail(book, Collector::Sites, "x")),
    ("failed containers", |book| fail(book, Collector::Containers, "x")),
    ("a failed poll of what shows no state", |book| fail(book, Collector::Ips, "x")),
    ("a partial listing", |book| {
        book.end(Collector::Containers, PollEnd { complete: false, ..ended(None) }, read_at());
    }),
    ("an old reading", |book| {
        book.end(Collector::Vms, ended(None), read_at() - chrono::Duration::hours(1));
    }),
    ("a container without its sites", |book| {
        read(book, Read::Containers(all(vec![container(31, "ENABLED"), container(47, "ENABLED")])));
    }),
    ("a state without a meaning", |book| read(book, Read::Containers(all(vec![container(31, "7")])))),
    ("a report that does not tell", |book| balance(book, "5000", Edd::Unknown)),
    ("a null date beside an empty account", |book| balance(book, "25.50", Edd::Null)),
    ("a far cut-off", |book| balance(book, "400", Edd::Null)),
    ("a date of the provider's behind the charges", |book| balance(book, "400", on("2026-05-20T12:00:00"))),
    // It is Sunday, 15:00 in Moscow: the last safe day for a cut-off on Thursday, whatever the time.
    ("the last minute of Thursday", |book| balance(book, "45", on("2026-03-05T20:59:00"))),
    ("the first minute of Friday", |book| balance(book, "45", on("2026-03-05T21:00:00"))),
    ("a balance that is used up", |book| balance(book, "-5", on("2026-03-20T11:00:00"))),
    ("a broken VM that no rule looks at", |book| vms(book, "error")),
    ("a VM switched off", |book| vms(book, "stopped")),
];

/// The texts of a verdict's lines.
fn lines(verdict: &Value) -> Vec<&str> {
    verdict["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect()
}

/// The sentence of the page's headline, of the JSON and of line 1 of `status`, with its level.
#[tokio::test]
async fn every_headline_reads_as_it_did() {
    let mut rows = Vec::new();
    let mut put = async |what: &str, books: &[&KnownAccount], incidents: Vec<IncidentRow>| {
        let verdict = status(books, incidents, "").await["verdict"].take();
        let (level, sentence) = (verdict["level"].as_str().unwrap(), verdict["sentence"].as_str().unwrap());
        rows.push(format!("{what:<45} {level:<9} {sentence}"));
        for more in lines(&verdict).into_iter().filter(|more| *more != sentence) {
            rows.push(format!("{:55} {more}", ""));
        }
    };
    for (what, change) in CHANGES {
        let mut book = full("main");
        change(&mut book);
        put(what, &[&book], vec![]).await;
    }
    let off = book(Profile { collectors: [Collector::Ips].into(), ..profile("main") });
    put("nothing that sees a state is on", &[&off], vec![]).await;
    put("nothing read yet", &[&book(profile("main"))], vec![]).await;
    put("no account", &[], vec![]).await;
    let (main, shop) = (full("main"), full("shop"));
    let mut vmonly = book(Profile { collectors: [Collector::Vms].into(), ..profile("vmonly") });
    read(&mut vmonly, Read::Vms(all(vec![vm(17, "active", "web-1")])));
    vmonly.end(Collector::Vms, ended(None), read_at());
    put("two accounts", &[&main, &shop], vec![]).await;
    put("one without billing", &[&main, &vmonly], vec![]).await;
    put("without billing alone", &[&vmonly], vec![]).await;

    let row = |kind: Kind, phase| incident_row("main", kind, kind.default_severity(), phase);
    let mut unread = full("main");
    fail(&mut unread, Collector::Sites, "status 500");
    let open = vec![row(Kind::VmStopped, Phase::Recovering), row(Kind::VmError, Phase::Firing)];
    put("incidents, and sites that cannot be read", &[&unread], open).await;
    let failing = row(Kind::CollectorFailing, Phase::Firing);
    let key = Key::account_wide(&failing.account, failing.kind);
    let subject = Subject::Unread { collectors: vec![Collector::Sites] };
    put("the same, as an incident", &[&unread], vec![IncidentRow { key, subject, ..failing }]).await;
    let acknowledged = IncidentRow { decided: acknowledged(), ..row(Kind::VmError, Phase::Firing) };
    let silenced_until = Some(read_at() + chrono::Duration::hours(1));
    let decided = Decided { silenced_until, ..Decided::default() };
    // The problem may have begun since: it is not acknowledged.
    let silenced = IncidentRow { decided, ..row(Kind::SiteError, Phase::Firing) };
    put("acknowledged", &[&main], vec![acknowledged.clone()]).await;
    put("silenced", &[&main], vec![silenced.clone()]).await;
    put("acknowledged and silenced", &[&main], vec![acknowledged, silenced]).await;
    let mut used_up = full("main");
    balance(&mut used_up, "-5", on("2026-03-20T11:00:00"));
    let cut_off = Disconnect::At { at: t("2026-03-20T11:00:00"), computed: false };
    let row = row(Kind::Disconnect, Phase::Firing);
    let key = Key::account_wide(&row.account, Kind::Disconnect);
    let money = IncidentRow { key, cut_off: Some(cut_off), ..row };
    put("a balance that is used up, as an incident", &[&used_up], vec![money]).await;
    insta::assert_snapshot!("headlines", rows.join("\n"));
}

/// Mails that wait or are refused, and a store that cannot be written. They are no problems of an account.
#[tokio::test]
async fn problems_of_the_daemon_stand_in_the_headline_alone() {
    let books = [full("main"), full("shop")];
    let outbox = |owed, in_flight, refused, minutes| {
        let oldest = Some(read_at() - chrono::Duration::minutes(minutes));
        OutboxSummary { owed, in_flight, refused, held: refused, unsure: 0, oldest }
    };
    let mails = |all| Mails { outbox: Some(all), ..Mails::default() };
    let waiting = mails(outbox(5, 2, 0, 60));
    let error =
        |error: &str, is_of_server| Some(ServerError { error: error.into(), refused: false, is_of_server });
    let no_user = Mails { server_error: error("550 no such user", false), ..mails(outbox(1, 0, 1, 0)) };
    let down = Mails { server_error: error("connection refused", true), ..waiting.clone() };
    let broken = Mails { server_error: down.server_error.clone(), ..mails(outbox(2, 0, 0, 40)) };
    let table = [
        ("refused", no_user, false),
        ("waiting", waiting, false),
        ("no server", down, false),
        ("no server, no store", broken, true),
        ("40 minutes", mails(outbox(2, 0, 0, 40)), false),
        ("10 minutes", mails(outbox(2, 0, 0, 10)), false),
        ("11 minutes", mails(outbox(2, 0, 0, 11)), false),
    ];
    let mut rows = Vec::new();
    for (what, mails, store_fails) in table {
        let server = Server::start(&books.each_ref(), false).await;
        server.context.alerting.set(Alerting { mails, store_fails, ..Alerting::default() });
        let all = server.json("/api/v1/status").await;
        let accounts = all["accounts"].as_array().unwrap();
        assert!(accounts.iter().all(|one| one["verdict"]["level"] == "fine"), "{what}: {all}");
        let (verdict, outbox) = (&all["verdict"], &all["mails"]["outbox"]);
        let counts = format!("{} owed, {} sent", outbox["owed"], outbox["in_flight"]);
        rows.push(format!("{what}: {counts}: {}", verdict["level"]));
        rows.push(format!("  {}\n  {}", verdict["sentence"], serde_json::json!(lines(verdict))));
    }
    insta::assert_snapshot!("daemon_headlines", rows.join("\n"));
}

#[tokio::test]
async fn incidents_stand_by_severity_and_those_that_are_over_apart() {
    let row = |kind, severity, phase| incident_row("main", kind, severity, phase);
    let rows = vec![
        row(Kind::VmStopped, Severity::Warning, Phase::Recovering),
        row(Kind::VmError, Severity::Critical, Phase::Firing),
        row(Kind::ResourceGone, Severity::Info, Phase::Firing),
        row(Kind::SiteError, Severity::Critical, Phase::Pending),
        row(Kind::SiteBlocked, Severity::Critical, Phase::Resolved),
    ];
    let got = status(&[&full("main")], rows, "").await;
    assert_eq!(got["verdict"]["lines"][0]["incident"], "main/vm_error/17");
    let keys = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(&got["incidents"]["open"]), ["vm_error", "vm_stopped", "resource_gone", "site_error"]);
    assert_eq!(keys(&got["incidents"]["recent"]), ["site_blocked"]);
}

/// A VM that is being built is no problem.
#[tokio::test]
async fn page_and_terminal_count_the_same_resources() {
    let mut book = full("main");
    let vms = vec![vm(17, "error", "web-1"), vm(18, "building", "web-2"), vm(19, "odd", "web-3")];
    book.apply(Read::Vms(all(vms)), read_at());
    let server = Server::start(&[&book], false).await;
    let page = server.get("/").await;
    for count in ["✕</span> VM error: 1", "?</span> VM odd: 1", "…</span> VM building: 1"] {
        assert!(page.text().contains(count), "{}", page.text());
    }
    let status = serde_json::from_slice::<Status>(&server.get("/api/v1/status").await.body).unwrap();
    let text = status.text(Style { width: 80, colour: false });
    assert!(text.contains("  VMs         1 error · 1 odd · 1 building\n"), "{text}");
    // A resource without an incident is named.
    for (name, is_named) in [("web-1 (17): error", true), ("web-2", false), ("web-3 (19): odd", true)] {
        assert_eq!(text.contains(name), is_named, "{name}: {text}");
    }
}

/// The words of the JSON (docs/api.md) do not depend on names of types.
#[tokio::test]
async fn json_keeps_its_words() {
    let mut book = full("main");
    book.apply(Read::Vms(all(vec![vm(17, "error", "web-1")])), read_at());
    let row = incident_row("main", Kind::VmError, Severity::Critical, Phase::Recovering);
    let got = status(&[&book], vec![row], "").await;
    let want = r#"{"key":"main/vm_error/17","account":"main","kind":"vm_error","severity":"critical","state":"recovering","title":"vm_error of main","resource_name":"web-1","since":"2026-03-01T11:55:00Z","last_change":"2026-03-01T12:00:00Z","resolved_at":null,"reason":"the VM's state is error","acknowledged":false,"silenced_until":null}"#;
    assert_eq!(got["incidents"]["open"][0], serde_json::from_str::<Value>(want).unwrap());
    let want = r#"{"account":"main","kind":"vm","id":17,"name":"web-1","state":"error","health":"bad","container":null}"#;
    assert_eq!(got["resources"]["rows"][0], serde_json::from_str::<Value>(want).unwrap());
    let names = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        names(&got),
        [
            "accounts",
            "clock",
            "commit",
            "generated_at",
            "incidents",
            "mails",
            "resources",
            "started_at",
            "verdict",
            "version"
        ]
    );
    assert_eq!(
        names(&got["accounts"][0]),
        ["billing", "collectors", "currency", "name", "resources", "time_zone", "verdict"]
    );
    let collectors = got["accounts"][0]["collectors"].as_array().unwrap();
    let words: Vec<&str> = collectors.iter().map(|row| row["collector"].as_str().unwrap()).collect();
    assert_eq!(words, ON.map(Collector::as_str));
}

#[tokio::test]
async fn accounts_stand_by_urgency() {
    let (fine, mut later, mut soon, mut lost) = (full("a"), full("b"), full("c"), full("d"));
    later.apply(Read::ExpectedBalance(report("400", "10")), read_at());
    soon.apply(Read::ExpectedBalance(report("25.50", "10")), read_at());
    lost.end(Collector::Vms, ended(Some("401")), read_at());
    let got = status(&[&fine, &later, &soon, &lost], vec![], "").await;
    let names: Vec<_> = got["accounts"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["c", "d", "b", "a"]);
    assert_eq!(got["verdict"]["sentence"], "Cut-off Wed 4 Mar: pay 275 RUB now (c)");
    let one = status(&[&fine, &soon], vec![], "account=a").await;
    assert_eq!(one["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(one["resources"]["total"], 5);
    assert_eq!(one["verdict"]["level"], "fine", "the sentence is about that account alone");
}

#[tokio::test]
async fn billing_names_amounts_and_days() {
    let (mut book, mut passed) = (full("main"), full("passed"));
    book.apply(Read::ExpectedBalance(report("225.50", "10.00")), read_at());
    // A day too late for a payment, but before the cut-off.
    balance(&mut passed, "225.50", on("2026-03-03T11:00:00"));
    let got = status(&[&book, &passed], vec![], "").await;
    let late = &got["accounts"][0]["billing"];
    assert_eq!((&late["pay_by"], &late["pay_at_once"]), (&"2026-02-27".into(), &true.into()));
    let page = Server::start(&[&book, &passed], false).await.get("/").await;
    assert!(page.text().contains("<td>now</td>"), "{}", page.text());
}

#[tokio::test]
async fn resources_are_found_and_paged() {
    let mut book = full("main");
    for _ in 0..2 {
        let sites = (1000..1250).map(|id| site(id, 31, if id == 1100 { "Error" } else { "Active" }));
        book.apply(Read::Sites(ContainerId::new(31), all(sites.collect())), read_at());
    }
    let resources = async |query: &str| status(&[&book], vec![], query).await["resources"].take();
    let first = resources("").await;
    assert_eq!((&first["total"], &first["pages"]), (&253.into(), &3.into()));
    assert_eq!(first["rows"].as_array().unwrap().len(), 100);
    assert_eq!(first["rows"][0]["id"], 1100, "what is not well comes first");
    let last = resources("page=3").await;
    assert_eq!(last["rows"].as_array().unwrap().len(), 53);
    assert_eq!(resources("page=99").await["page"], 3);
    assert_eq!(resources("page=-1").await["page"], 1);
    for (query, matching) in [
        ("state=Error", 1),
        ("kind=site&state=Active", 249),
        ("q=WEB-", 2),
        ("q=1100", 1),
        ("q=site11&kind=site", 100),
        ("q=nothing", 0),
        ("kind=vm&state=Active", 0),
    ] {
        assert_eq!(resources(query).await["matching"], matching, "{query}");
    }
    let states = first["states"].as_array().unwrap();
    let site_error = states.iter().find(|one| one["state"] == "Error").unwrap();
    assert_eq!(
        *site_error,
        serde_json::json!({"kind": "site", "state": "Error", "health": "bad", "count": 1})
    );
    let server = Server::start(&[&book], false).await;
    let page = server.get("/?q=site&page=2").await;
    assert!(page.text().contains("href=\"./?q=site#resources\""), "{}", page.text());
    assert!(
        page.text().contains("href=\"./?kind=site&#38;state=Error&#38;q=site#resources\""),
        "{}",
        page.text()
    );
}

#[tokio::test]
async fn an_unwatched_account_is_not_shown() {
    let (main, shop) = (full("main"), full("shop"));
    let server = Server::start(&[&main, &shop], false).await;
    for path in ["/", "/api/v1/status", "/sd/vms", "/resource", "/incidents"] {
        let answer = server.get(&format!("{path}?account=nobody&kind=vm&id=17")).await;
        let want = "404: there is no account 'nobody'; the accounts: main, shop\n";
        assert_eq!((answer.status, answer.text()), (404, want), "{path}");
        assert_ne!(server.get(&format!("{path}?account=main&kind=vm&id=17")).await.status, 404, "{path}");
    }
}
