//! The status: the sentence on top, what is listed, as JSON and as a page.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;

use super::server::Server;
use crate::alert::{Kind, Phase, Severity};
use crate::model::mails::GivenUpMails;
use crate::model::*;
use crate::terminal::Style;
use crate::view::incidents::{Mails, ServerError};
use crate::view::{Alerting, IncidentRow, OutboxSummary, Status};
use account::*;
use serde_json::Value;

/// The JSON. Whatever it is asked for, page and terminal say the same sentence with the same sign, and what is read
/// of it is all of it.
async fn status(books: &[&KnownAccount], incidents: Vec<IncidentRow>, query: &str) -> Value {
    let server = Server::start(books, false).await;
    server
        .context
        .alerting
        .set(Alerting { incidents: incidents.into_iter().collect(), ..Alerting::default() });
    let json = server.get(&format!("/api/v1/status?{query}")).await;
    let status = Status::read(&json.body).unwrap();
    assert_eq!(serde_json::to_string(&status).unwrap() + "\n", json.text());
    let (sign, sentence) = (status.headline.level.sign(), &status.headline.sentence);
    let page = server.get(&format!("/?{query}")).await;
    let text = page.text();
    let heading = text.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).unwrap();
    // One line leads to its place.
    let heading = heading.split('<').filter_map(|part| part.split('>').next_back()).collect::<String>();
    assert_eq!(heading, format!("{sign} {sentence}"), "{text}");
    let text = status.text(Style { width: 1000, colour: false });
    assert_eq!(text.lines().next().unwrap(), format!("{sign} {sentence}"));
    for account in status.accounts.iter().filter(|_| status.accounts.len() > 1) {
        let sentence = &account.headline.sentence;
        assert!(
            page.text().contains(&format!(" {sentence}</span>")) && text.contains(sentence),
            "{sentence}"
        );
    }
    serde_json::from_slice(&json.body).unwrap()
}

#[tokio::test]
async fn the_sentence_never_says_fine_of_what_is_not_known() {
    type Change = fn(&mut KnownAccount);
    let bare = |_: &mut KnownAccount| {};
    let fail: fn(&mut KnownAccount, Collector) =
        |book, collector| book.end(collector, ended(Some("status 500")), read_at());
    let table: [(&str, Change, &str, &str); 15] = [
        ("fine", bare, "fine", "All 5 resources fine · paid until 31 May at least (main)"),
        (
            "a failed poll",
            |book| book.end(Collector::Vms, ended(Some("status 500")), read_at()),
            "unknown",
            "Cannot read VMs since Sun 1 Mar 15:00 MSK: status 500 (main)",
        ),
        (
            "a failed balance",
            |book| book.end(Collector::ExpectedBalance, ended(Some("404")), read_at()),
            "unknown",
            "Cannot read the balance since Sun 1 Mar 15:00 MSK: 404 (main)",
        ),
        (
            "failed sites",
            |book| book.end(Collector::Sites, ended(Some("x")), read_at()),
            "unknown",
            "Cannot read sites since Sun 1 Mar 15:00 MSK: x (main)",
        ),
        (
            "a failed poll of what shows no state",
            |book| book.end(Collector::Ips, ended(Some("x")), read_at()),
            "fine",
            "All 5 resources fine · paid until 31 May at least (main)",
        ),
        (
            "a partial listing",
            |book| {
                let part = PollEnd { complete: false, ..ended(None) };
                book.end(Collector::Containers, part, read_at());
            },
            "unknown",
            "Could not read all of containers (main)",
        ),
        (
            "an old reading",
            |book| book.end(Collector::Vms, ended(None), read_at() - chrono::Duration::hours(1)),
            "unknown",
            "VMs not read for too long (main)",
        ),
        (
            "a container without its sites",
            |book| {
                let rows = all(vec![container(31, "ENABLED"), container(47, "ENABLED")]);
                book.apply(Read::Containers(rows), read_at());
            },
            "unknown",
            "Sites of 1 container not read yet (main)",
        ),
        (
            "a state without a meaning",
            |book| {
                book.apply(Read::Containers(all(vec![container(31, "7")])), read_at());
            },
            "unknown",
            "Unknown state: shop (7) (main)",
        ),
        (
            "a report that does not tell",
            |book| {
                let mut silent = report("5000", "10");
                silent.edd = Edd::Unknown;
                book.apply(Read::ExpectedBalance(silent), read_at());
            },
            "unknown",
            "Cut-off not known: the report does not say (main)",
        ),
        (
            "a null date beside an empty account",
            |book| {
                book.apply(Read::ExpectedBalance(report("25.50", "10")), read_at());
            },
            "attention",
            "Cut-off Wed 4 Mar: pay 275 RUB today (main)",
        ),
        (
            "a far cut-off",
            |book| {
                book.apply(Read::ExpectedBalance(report("400", "10")), read_at());
            },
            "fine",
            "All 5 resources fine · paid until 10 Apr (main)",
        ),
        (
            "a far date of the provider's, behind the charges that use the balance up",
            |book| {
                let late =
                    Report { edd: Edd::At(read_at() + chrono::Duration::days(80)), ..report("400", "10") };
                book.apply(Read::ExpectedBalance(late), read_at());
            },
            "fine",
            "All 5 resources fine · paid until 10 Apr (main)",
        ),
        (
            "a broken VM that no rule looks at",
            |book| {
                let rows = all(vec![vm(17, "error", "web-1"), vm(18, "active", "web-2")]);
                book.apply(Read::Vms(rows), read_at());
            },
            "notice",
            "1 resource with a problem, no open incident (main)",
        ),
        (
            "a VM switched off",
            |book| {
                let rows = all(vec![vm(17, "stopped", "web-1"), vm(18, "active", "web-2")]);
                book.apply(Read::Vms(rows), read_at());
            },
            "fine",
            "All 5 resources fine · paid until 31 May at least (main)",
        ),
    ];
    for (what, change, level, sentence) in table {
        let mut book = full("main");
        change(&mut book);
        let status = status(&[&book], vec![], "").await;
        assert_eq!(status["verdict"]["sentence"], sentence, "{what}");
        assert_eq!(status["verdict"]["level"], level, "{what}");
    }
    // Each collector that sees a state, failed or not yet polled, takes the word fine away.
    for collector in [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance] {
        let mut failed = full("main");
        fail(&mut failed, collector);
        assert_eq!(status(&[&failed], vec![], "").await["verdict"]["level"], "unknown", "{collector:?}");
    }
    let mut off = profile("main");
    off.collectors = [Collector::Ips].into();
    for (book, sentence) in [
        (Some(book(profile("main"))), "The balance not read yet and 3 more (main)"),
        (Some(book(off)), "Nothing is watched: no collector that sees a state is on (main)"),
        (None, "No account is configured"),
    ] {
        let books: Vec<_> = book.iter().collect();
        assert_eq!(status(&books, vec![], "").await["verdict"]["sentence"], sentence);
    }
}

#[tokio::test]
async fn incidents_decide_first_and_what_is_not_known_is_said_beside() {
    let mut book = full("main");
    book.end(Collector::Sites, ended(Some("status 500")), read_at());
    let rows = vec![
        incident_row("main", Kind::VmStopped, Severity::Warning, Phase::Recovering),
        incident_row("main", Kind::VmError, Severity::Critical, Phase::Firing),
        incident_row("main", Kind::ResourceGone, Severity::Info, Phase::Firing),
        incident_row("main", Kind::SiteError, Severity::Critical, Phase::Pending),
        incident_row("main", Kind::SiteBlocked, Severity::Critical, Phase::Resolved),
    ];
    let got = status(&[&book], rows, "").await;
    assert_eq!(got["verdict"]["sentence"], "web-1 in error and stopped (main)");
    assert_eq!(got["verdict"]["details"][0], "web-1 in error and stopped (main)");
    assert_eq!(got["verdict"]["lines"][0]["incident"], "main/vm_error/17");
    assert!(got["verdict"]["details"][1].as_str().unwrap().starts_with("Cannot read sites since"));
    let keys = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(&got["incidents"]["open"]), ["vm_error", "vm_stopped", "resource_gone", "site_error"]);
    assert_eq!(keys(&got["incidents"]["recent"]), ["site_blocked"]);

    let mut known = incident_row("main", Kind::VmError, Severity::Critical, Phase::Firing);
    known.acknowledged = true;
    let mut silenced = incident_row("main", Kind::SiteError, Severity::Critical, Phase::Firing);
    silenced.silenced_until = Some(read_at() + chrono::Duration::hours(1));
    for (rows, sentence) in [
        (vec![known.clone()], "No new problems · 1 acknowledged (main)"),
        // It may have begun since: nobody took it on.
        (vec![silenced.clone()], "No other problems · 1 silenced (main)"),
        (vec![known, silenced], "No other problems · 1 acknowledged, 1 silenced (main)"),
    ] {
        let got = status(&[&full("main")], rows, "").await;
        assert_eq!(got["verdict"]["sentence"], sentence);
        assert_eq!(got["verdict"]["level"], "notice");
    }
}

/// The words of JSON (docs/api.md) do not follow the names of types.
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
    assert_eq!(words, Collector::ALL.map(Collector::as_str));
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
    assert_eq!(got["verdict"]["sentence"], "Cut-off Wed 4 Mar: pay 275 RUB today (c)");
    assert_eq!(got["verdict"]["details"][0], "Cut-off Wed 4 Mar: pay 275 RUB today (c)");
    let one = status(&[&fine, &soon], vec![], "account=a").await;
    assert_eq!(one["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(one["resources"]["total"], 5);
    assert_eq!(one["verdict"]["level"], "fine", "the sentence is about that account alone");
}

#[tokio::test]
async fn billing_says_what_to_pay_by_when() {
    let mut book = full("main");
    book.apply(Read::ExpectedBalance(report("225.50", "10.00")), read_at());
    let got = status(&[&book], vec![], "").await;
    let billing = &got["accounts"][0]["billing"];
    assert_eq!(billing["balance"], "225.5");
    assert_eq!(billing["disconnect"], "at");
    assert_eq!(billing["disconnect_computed"], true);
    assert_eq!(billing["disconnect_at"], "2026-03-24T11:00:00Z");
    assert_eq!(billing["pay_by"], "2026-03-21");
    assert_eq!(
        billing["pay"],
        serde_json::json!([
            {"days": 7, "amount": "0"},
            {"days": 30, "amount": "74.51"},
            {"days": 90, "amount": "674.51"},
        ])
    );
    assert_eq!(billing["orders"][0]["per_month"], "148.35");
    let server = Server::start(&[&book], false).await;
    let page = server.get("/").await;
    for part in [
        "225.50\u{a0}RUB",
        "<dt>Pay by Sat 21 Mar</dt>",
        "<dd>nothing<small>for 7 days</small></dd>",
        "<dd>75\u{a0}RUB<small>for 30 days</small></dd>",
        "<dd>675\u{a0}RUB<small>for 90 days</small></dd>",
        "Tue 24 Mar 14:00 MSK",
        "<svg class=\"chart\"",
    ] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
}

/// Its own date is later than the charges say, so that no order buys a day; the eighth has no charges.
#[tokio::test]
async fn orders_are_those_with_charges_and_buy_no_less_than_nothing() {
    let mut report = Report { edd: Edd::At(t("2026-05-20T11:00:00")), ..report("95", "10") };
    let order = report.orders[0].clone();
    let orders = (1..=8).map(|id| Order { id: OrderId::new(id), ..(*order).clone() });
    report.orders = orders.map(std::sync::Arc::new).collect();
    let mut moments: Vec<_> = report.moments.iter().collect();
    for (place, moment) in (0_u32..).zip(&mut moments) {
        moment.order = Some(place % 7);
    }
    report.moments = moments.into_iter().collect();
    let mut book = full("main");
    book.apply(Read::ExpectedBalance(report), read_at());
    let got = status(&[&book], vec![], "").await;
    let orders = got["accounts"][0]["billing"]["orders"].as_array().unwrap();
    let bought: Vec<_> = orders.iter().map(|order| order["buys_days"].as_i64()).collect();
    assert_eq!(bought, [Some(0); 7]);
}

/// Midnight at Moscow, as of a report that gives a date alone: the 10th begins in the dark.
#[tokio::test]
async fn a_cut_off_at_midnight_belongs_to_the_day_it_ends() {
    let (mut book, mut passed) = (full("main"), full("passed"));
    let edd = |text: &str| Edd::At(t(text));
    book.apply(
        Read::ExpectedBalance(Report { edd: edd("2026-03-09T21:00:00"), ..report("225.50", "10") }),
        read_at(),
    );
    // A day too late for a payment, though not yet cut off.
    passed.apply(
        Read::ExpectedBalance(Report { edd: edd("2026-03-03T11:00:00"), ..report("225.50", "10") }),
        read_at(),
    );
    let got = status(&[&book, &passed], vec![], "").await;
    let billing = |index: usize| got["accounts"][index]["billing"].clone();
    assert_eq!((&billing(1)["pay_by"], &billing(1)["pay_at_once"]), (&"2026-03-06".into(), &false.into()));
    assert_eq!((&billing(0)["pay_by"], &billing(0)["pay_at_once"]), (&"2026-02-28".into(), &true.into()));
    let server = Server::start(&[&book], false).await;
    let page = server.get("/").await;
    assert!(page.text().contains("<dt>Pay by Fri 6 Mar</dt>"), "{}", page.text());
    let status = crate::terminal::Status::read(&server.get("/api/v1/status").await.body).unwrap();
    let text = status.text(crate::terminal::Style { width: 80, colour: false });
    assert!(text.contains(" by Fri 6 Mar for 30 days"), "{text}");
    let server = Server::start(&[&book, &passed], false).await;
    let page = server.get("/").await;
    assert!(page.text().contains("<td>Fri 6 Mar</td>") && page.text().contains("<td>now</td>"));
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
async fn mails_and_freshness_are_told() {
    let mut book = full("main");
    book.end(Collector::Charges, ended(Some("status 503 from /api/v1/charge/")), read_at());
    let server = Server::start(&[&book], false).await;
    assert!(server.get("/").await.text().contains("Not configured: nobody is mailed."));
    let outbox = OutboxSummary { queued: 2, sending: 1, sent: 40, dead: 3, oldest: Some(read_at()) };
    let mails = Mails { outbox: Some(outbox), last_mail_at: Some(read_at()), ..Mails::default() };
    server.context.alerting.set(Alerting { mails, ..Alerting::default() });
    let page = server.get("/").await;
    for part in [
        "<dd>40<small>last &#60; 1 min ago",
        "<dd>3<small>the oldest",
        "<code>hostwatch outbox</code>",
        "status 503 from",
    ] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
}

#[tokio::test]
async fn of_an_account_that_is_not_watched_nothing_is_shown() {
    let (main, shop) = (full("main"), full("shop"));
    let server = Server::start(&[&main, &shop], false).await;
    for path in ["/", "/api/v1/status", "/api/v1/report", "/sd/vms", "/resource", "/incidents"] {
        let answer = server.get(&format!("{path}?account=nobody&kind=vm&id=17")).await;
        let want = "404: there is no account 'nobody'; the accounts: main, shop\n";
        assert_eq!((answer.status, answer.text()), (404, want), "{path}");
        assert_ne!(server.get(&format!("{path}?account=main&kind=vm&id=17")).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn an_account_is_judged_by_the_mails_about_it_alone() {
    let (main, shop) = (full("main"), full("shop"));
    let last = GivenUpMails {
        count: 1,
        recipient: "bad@example.com".into(),
        error: "550 no such user".into(),
        at: read_at(),
    };
    let mails = Mails {
        outbox: Some(OutboxSummary::default()),
        given_up_of: [("shop".parse().unwrap(), last.clone())].into(),
        given_up: Some(last),
        ..Mails::default()
    };
    let server = Server::start(&[&main, &shop], false).await;
    server.context.alerting.set(Alerting { mails, ..Alerting::default() });
    let ask = async |query: &str| -> serde_json::Value {
        serde_json::from_slice(&server.get(&format!("/api/v1/status{query}")).await.body).unwrap()
    };
    let all = ask("").await;
    let given_up = "1 mail given up, the last to bad@example.com: 550 no such user";
    assert_eq!(all["verdict"]["sentence"], given_up);
    for (name, level, place) in [("main", "fine", 1), ("shop", "attention", 0)] {
        let one = ask(&format!("?account={name}")).await;
        assert_eq!(one["verdict"]["level"], level, "{name}");
        assert_eq!(one["verdict"], all["accounts"][place]["verdict"], "{name}");
    }
}

/// Those about another account count there, unless the server takes none at all.
#[tokio::test]
async fn waiting_mails_are_those_of_the_account_they_are_about() {
    let (main, shop) = (full("main"), full("shop"));
    let oldest = Some(read_at() - chrono::Duration::hours(1));
    let outbox = |queued, dead| OutboxSummary { queued, dead, sent: 40, sending: 0, oldest };
    let mails = Mails {
        outbox: Some(outbox(5, 2)),
        undelivered_of: [("shop".parse().unwrap(), outbox(3, 2))].into(),
        ..Mails::default()
    };
    let server = Server::start(&[&main, &shop], false).await;
    let down = Mails { server_is_down: true, ..mails.clone() };
    for (mails, of_main) in [(mails, ("fine", 0, 0)), (down, ("attention", 5, 2))] {
        let of_shop = if mails.server_is_down { ("attention", 5, 2) } else { ("attention", 3, 2) };
        server.context.alerting.set(Alerting { mails, ..Alerting::default() });
        for (query, (level, queued, dead)) in
            [("", ("attention", 5, 2)), ("?account=main", of_main), ("?account=shop", of_shop)]
        {
            let body = server.get(&format!("/api/v1/status{query}")).await.body;
            let status: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let outbox = &status["mails"]["outbox"];
            let seen = (status["verdict"]["level"].as_str().unwrap(), &outbox["queued"], &outbox["dead"]);
            assert_eq!(seen, (level, &queued.into(), &dead.into()), "{query}");
            assert_eq!(outbox["sent"], 40);
        }
    }
}

/// A mail server that takes none, a store that is not kept: each account's trouble, asked for alone or in a list.
#[tokio::test]
async fn what_is_wrong_with_the_daemon_is_said_of_each_account() {
    let outbox = OutboxSummary {
        queued: 2,
        oldest: Some(read_at() - chrono::Duration::minutes(40)),
        ..OutboxSummary::default()
    };
    // Why is said below the sentence, which has to name the others.
    let error = Some(ServerError { error: "connection refused".into(), refused: false });
    let last =
        GivenUpMails { count: 1, recipient: "bad@example.com".into(), error: "550".into(), at: read_at() };
    let given_up_of = ["main", "shop"].map(|name| (name.parse().unwrap(), last.clone())).into();
    let mails = Mails {
        outbox: Some(outbox),
        server_error: error,
        server_is_down: true,
        given_up_of,
        ..Mails::default()
    };
    let server = Server::start(&[&full("main"), &full("shop")], false).await;
    server.context.alerting.set(Alerting { mails, store_fails: true, ..Alerting::default() });
    let ask = async |query: &str| -> serde_json::Value {
        serde_json::from_slice(&server.get(&format!("/api/v1/status{query}")).await.body).unwrap()
    };
    let all = ask("").await;
    for (name, place) in [("main", 0), ("shop", 1)] {
        let one = ask(&format!("?account={name}")).await;
        assert_eq!(one["verdict"]["level"], "attention");
        let sentence = one["verdict"]["sentence"].as_str().unwrap();
        assert_eq!(sentence, "3 problems: 2 mails not delivered for 40 min, 1 mail given up and 1 more");
        let lines = [
            "2 mails not delivered for 40 min: connection refused",
            "1 mail given up, the last to bad@example.com: 550",
            "Store cannot be written: what happens is kept in memory only, a restart loses it",
        ];
        assert_eq!(one["verdict"]["details"], serde_json::json!(lines));
        assert_eq!(one["verdict"], all["accounts"][place]["verdict"], "{name}");
    }
    // The server answers, but takes none of that recipient's.
    let mails = Mails { outbox: Some(outbox), ..Mails::default() };
    server.context.alerting.set(Alerting { mails, ..Alerting::default() });
    assert_eq!(ask("").await["verdict"]["sentence"], "2 mails not delivered for 40 min");
}

/// "Paid until" names whose: of an account without billing nobody knows.
#[tokio::test]
async fn paid_until_is_said_of_those_whose_balance_is_read() {
    let unpaid = Profile { collectors: [Collector::Vms].into(), ..profile("vmonly") };
    let mut vmonly = book(unpaid);
    vmonly.apply(Read::Vms(all(vec![vm(17, "active", "web-1")])), read_at());
    vmonly.end(Collector::Vms, ended(None), read_at());
    let sentence = async |books: &[&KnownAccount]| {
        status(books, vec![], "").await["verdict"]["sentence"].as_str().unwrap().to_owned()
    };
    let (main, shop) = (full("main"), full("shop"));
    assert_eq!(
        sentence(&[&main, &vmonly]).await,
        "All 6 resources fine (main, vmonly) · paid until 31 May at least (main)"
    );
    assert_eq!(
        sentence(&[&main, &shop]).await,
        "All 10 resources fine · paid until 31 May at least (main, shop)"
    );
    assert_eq!(sentence(&[&vmonly]).await, "1 resource fine (vmonly)");
}

/// The subject of that mail, the headline and line 1 of `status` are one sentence.
#[tokio::test]
async fn a_balance_that_is_used_up_is_said_first() {
    let mut main = full("main");
    let edd = Edd::At(t("2026-03-20T11:00:00"));
    main.apply(Read::ExpectedBalance(Report { edd, ..report("-5", "10") }), read_at());
    let said = status(&[&main], vec![], "").await;
    assert!(said["verdict"]["sentence"].as_str().unwrap().starts_with("All 5 resources"), "far: {said}");
    let money = IncidentRow {
        key: crate::alert::Key::account_wide(&"main".parse().unwrap(), Kind::Disconnect),
        cut_off: Some(crate::model::forecast::Disconnect::At {
            at: t("2026-03-20T11:00:00"),
            computed: false,
        }),
        ..incident_row("main", Kind::Disconnect, Severity::Critical, Phase::Firing)
    };
    let said = status(&[&main], vec![money], "").await;
    assert_eq!(
        said["verdict"]["sentence"],
        "Balance used up, cut-off Fri 20 Mar: pay 306 RUB by Tue 17 Mar (main)"
    );
}
