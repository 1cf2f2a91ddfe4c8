//! The page's cards: one a cause, the worst first, each with what to do and the lines to copy; what is folded away, and
//! what a link opens.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account::*;
use super::server::Server;
use crate::alert::{Key, Kind, Phase, Severity};
use crate::model::forecast::Disconnect;
use crate::model::*;
use crate::view::{Alerting, IncidentRow};

/// An open incident of one resource.
fn row(kind: Kind, id: u64, name: &str) -> IncidentRow {
    let main: AccountName = "main".parse().unwrap();
    let row = incident_row("main", kind, kind.default_severity(), Phase::Firing);
    let title = format!("{name} {}", kind.problem()).trim().to_owned();
    IncidentRow { key: Key::new(&main, kind, id), resource_name: name.into(), title, ..row }
}

/// Sites of many containers, all in error but for the first container's.
fn broken(containers: u64) -> (KnownAccount, Vec<IncidentRow>) {
    let mut book = full("main");
    let ids = 31..31 + containers;
    let named = |id| Container { name: Some(format!("shop{id}").into()), ..container(id, "ENABLED") };
    book.apply(Read::Containers(all(ids.clone().map(named).collect())), read_at());
    for id in ids.clone() {
        let rows = vec![site(1000 + id, id, "Error")];
        book.apply(Read::Sites(ContainerId::new(id), all(rows)), read_at());
    }
    let rows = ids.map(|id| row(Kind::SiteError, 1000 + id, &format!("Site site{}.example.com", 1000 + id)));
    let rows = rows.collect();
    (book, rows)
}

async fn page(book: &KnownAccount, incidents: Vec<IncidentRow>, path: &str) -> String {
    let server = Server::start(&[book], false).await;
    server
        .context
        .alerting
        .set(Alerting { incidents: incidents.into_iter().collect(), ..Alerting::default() });
    server.get(path).await.text().to_owned()
}

fn titles(page: &str) -> Vec<&str> {
    let cards = page.split("<h3>").skip(1);
    cards
        .map(|card| card.split("</h3>").next().unwrap().trim_end_matches("</a>").rsplit('>').next().unwrap())
        .collect()
}

#[tokio::test]
async fn a_card_stands_for_a_cause_and_says_what_to_do() {
    let mut book = full("main");
    book.apply(Read::Containers(all(vec![container(31, "DISABLED_BY_QUOTA")])), read_at());
    book.apply(Read::ExpectedBalance(report("45.50", "10")), read_at());
    let cause = row(Kind::ContainerDisabled, 31, "Container shop");
    let covered = |id| IncidentRow {
        caused_by: Some(cause.key.clone()),
        ..row(Kind::SiteBlocked, id, &format!("Site site{id}.example.com"))
    };
    let mut money = row(Kind::Disconnect, 1, "main");
    money.key = Key::account_wide(&"main".parse().unwrap(), Kind::Disconnect);
    money.cut_off = Some(Disconnect::At { at: t("2026-03-06T11:00:00"), computed: false });
    money.acknowledged = true;
    let known = IncidentRow {
        acknowledged: true,
        acknowledged_at: Some(read_at()),
        note: Some("Ann is on it".into()),
        ..row(Kind::VmError, 17, "VM web-1")
    };
    let suspected = IncidentRow { phase: Phase::Pending, ..row(Kind::VmError, 18, "VM web-2") };
    let rows = vec![suspected, known, covered(104), cause.clone(), covered(105), money];
    let page = page(&book, rows, "/").await;
    assert_eq!(
        titles(&page),
        [
            "Cut-off Fri 6 Mar: pay 255 RUB by Tue 3 Mar",
            "Container shop disabled",
            "VM web-1 in error",
            "VM web-2 in error"
        ]
    );
    for part in [
        "5 open incidents",
        "Explains 2 more: <a id=\"i-main.site_blocked.104\" href=\"./resource?account=main&#38;kind=site&#38;id=104\">Site site104.example.com stopped</a>, ",
        "<strong>Critical.</strong> Since Sun 1 Mar 14:55 MSK (5 min); Container 31, server node7.example.net. It went past its quota: free disk space",
        "<code>hostwatch ack main/container_disabled/31</code> <code>hostwatch why main/container_disabled/31</code>",
        "<strong>Acknowledged Sun 1 Mar 15:00 MSK: Ann is on it.</strong>",
        "<strong>Not confirmed yet.</strong>",
        "<div class=\"unknown\"><dt>Cut-off</dt>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(page.find("id=\"incidents\"") < page.find("id=\"billing\""), "problems first");
}

#[tokio::test]
async fn ten_cards_are_shown_and_a_link_shows_all() {
    let (book, rows) = broken(14);
    let first = page(&book, rows.clone(), "/").await;
    assert_eq!(titles(&first).len(), 10);
    assert!(first.contains("<a href=\"./?all=1#incidents\">Show all, 4 more</a> · "), "{first}");
    let every = page(&book, rows.clone(), "/?all=1").await;
    assert_eq!(titles(&every).len(), 14);
    // What the headline links to is there.
    for link in first.split("href=\"").skip(1).map(|link| link.split('"').next().unwrap()) {
        let (page, part) = match link.split_once('#') {
            Some(("", part)) => (&first, part),
            Some(("./?all=1", part)) => (&every, part),
            _ => continue,
        };
        assert!(page.contains(&format!("id=\"{part}\"")), "{link}");
    }
    // What is alike stands in one card.
    let mut alike = full("main");
    alike.apply(
        Read::Sites(ContainerId::new(31), all((200..244).map(|id| site(id, 31, "Error")).collect())),
        read_at(),
    );
    let rows: Vec<_> =
        (200..244).map(|id| row(Kind::SiteError, id, &format!("Site site{id}.example.com"))).collect();
    let one = page(&alike, rows.clone(), "/").await;
    assert_eq!(titles(&one), ["44 sites in error in shop"]);
    assert!(one.contains("</a> and 41 more</p>") && one.contains("44 open incidents"), "{one}");
    assert!(!page(&alike, rows, "/?all=1").await.contains(" more</p>"));
}

/// Sites that were mailed before their container went off are not folded, and yet it explains them.
#[tokio::test]
async fn what_was_mailed_before_its_cause_stands_in_the_card_of_that() {
    let mut book = full("main");
    book.apply(Read::Containers(all(vec![container(31, "DISABLED_BY_QUOTA")])), read_at());
    let sites = vec![site(200, 31, "Error"), site(201, 31, "StoppedByService")];
    book.apply(Read::Sites(ContainerId::new(31), all(sites)), read_at());
    let rows = |by_sites| {
        let off = IncidentRow { by_sites, ..row(Kind::ContainerDisabled, 31, "Container shop") };
        let error = row(Kind::SiteError, 200, "Site a.example.com");
        vec![error, row(Kind::SiteBlocked, 201, "Site b.example.com"), off]
    };
    let by_provider = page(&book, rows(false), "/").await;
    assert_eq!(titles(&by_provider), ["Container shop disabled"]);
    assert!(by_provider.contains("<title>✕ Container shop disabled (main)"), "{by_provider}");
    assert!(
        by_provider.contains("a.example.com") && by_provider.contains("3 open incidents"),
        "{by_provider}"
    );
    // Where only stopped sites show that it is off, an error is another matter.
    let by_sites = page(&book, rows(true), "/").await;
    let mut cards = titles(&by_sites);
    cards.sort_unstable();
    assert_eq!(cards, ["Container shop disabled", "Site a.example.com in error"]);
}

/// A cause that names itself through another ends nothing, and each incident is on one card at most.
#[tokio::test]
async fn causes_in_a_circle_are_no_trouble() {
    let mut rows = vec![row(Kind::VmError, 17, "VM web-1"), row(Kind::VmBlocked, 18, "VM web-2")];
    rows[0].caused_by = Some(rows[1].key.clone());
    rows[1].caused_by = Some(rows[0].key.clone());
    let page = page(&full("main"), rows, "/").await;
    assert!(page.contains("VM web-1") && page.contains("2 open incidents"), "{page}");
}

#[tokio::test]
async fn what_is_fine_is_folded_away_and_a_link_opens_it() {
    let book = full("main");
    let folded = page(&book, vec![], "/").await;
    for part in [
        "No open incidents",
        "Resources: none with a problem",
        "<a href=\"./?show=fine#resources\">Show all 5 resources</a>",
        "<a href=\"./?show=orders#billing\">Show the 2 orders by cost</a>",
        "<a href=\"./?show=data#freshness\">Show all</a>",
        "Everything could be read. Last read",
    ] {
        assert!(folded.contains(part), "{part} in {folded}");
    }
    assert!(!folded.contains("site104") && !folded.contains("<table>"), "{folded}");
    let open = page(&book, vec![], "/?show=fine&show=orders&show=data").await;
    let order = "<th scope=\"row\" class=\"text\">Standard (order 71)</th><td class=\"number\">5.07";
    for part in ["site104", order, "expected_balance", "href=\"./?show=fine&#38;show=data#billing\""] {
        let there = open.contains(part) || part.contains("href");
        assert!(there, "{part} in {open}");
    }
    let found = page(&book, vec![], "/?q=site104").await;
    assert!(found.contains("1 of 5 resources") && found.contains("site104.example.com</a>"), "{found}");
}

/// No colour is explained that is not drawn.
#[tokio::test]
async fn the_chart_explains_the_colours_that_it_has() {
    for (edd, yellow) in [("2026-03-15T11:00:00", true), ("2026-02-25T11:00:00", false)] {
        let mut book = full("main");
        let report = Report { edd: Edd::At(t(edd)), ..report("-5.00", "10.00") };
        book.apply(Read::ExpectedBalance(report), read_at());
        let page = page(&book, vec![], "/").await;
        assert_eq!((page.contains("Yellow: "), page.contains("Red: account off.")), (yellow, true), "{edd}");
    }
}

#[tokio::test]
async fn it_loads_itself_anew_each_minute_unless_told_not_to() {
    const ANEW: &str = "<meta http-equiv=\"refresh\" content=\"60\">";
    let book = full("main");
    let page_of = async |path: &str| page(&book, vec![], path).await;
    let anew = page_of("/").await;
    assert!(anew.contains(ANEW) && anew.contains("<a href=\"./?refresh=0\">stop</a>"), "{anew}");
    assert!(
        anew.contains("Updated Sun 1 Mar 15:00 MSK<span class=\"age minutes\">, over 2 min ago</span>"),
        "{anew}"
    );
    let still = page_of("/?show=fine&refresh=0").await;
    assert!(
        !still.contains(ANEW) && still.contains("<a href=\"./?show=fine\">refresh each minute</a>"),
        "{still}"
    );
    let links = still.split("href=\"./?").skip(1).map(|link| link.split('"').next().unwrap());
    let forgets: Vec<&str> =
        links.filter(|link| !link.contains("refresh=0") && *link != "show=fine").collect();
    assert!(forgets.is_empty(), "{forgets:?}");
}

/// The level of a problem is that of the card's colour.
#[tokio::test]
async fn colours_go_by_urgency() {
    let mild = IncidentRow { severity: Severity::Warning, ..row(Kind::VmStuck, 18, "VM web-2") };
    let page = page(&full("main"), vec![row(Kind::VmError, 17, "VM web-1"), mild], "/").await;
    for part in [
        "<li id=\"i-main.vm_error.17\" class=\"bad\">",
        "<li id=\"i-main.vm_stuck.18\" class=\"unknown\">",
        "<div class=\"\"><dt>Cut-off</dt>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

/// Accounts whose names differ in a sign alone, cut off on different days, and what their owner says of paying.
fn two_cut_offs() -> (Vec<KnownAccount>, Vec<IncidentRow>) {
    let accounts = ["a-b", "a_b"].map(|name| {
        let mut own = profile(name);
        own.guide.pay_link = Some(format!("https://pay.example.com/{name}"));
        own.guide.pay_note = Some(format!("Contract of {name}"));
        let mut book = book(own);
        fill(&mut book, read_at());
        book.apply(Read::ExpectedBalance(report("45.50", "10")), read_at());
        book
    });
    let cut_off = |name: &str, disconnect| {
        let row = incident_row(name, Kind::Disconnect, Severity::Critical, Phase::Firing);
        let key = Key::account_wide(&row.account, Kind::Disconnect);
        IncidentRow { key, cut_off: Some(disconnect), ..row }
    };
    let at = |text| Disconnect::At { at: t(text), computed: false };
    // The later one began last: what counts is which comes first.
    let mut later = cut_off("a-b", at("2026-03-06T11:00:00"));
    later.since = read_at();
    let mut off = cut_off("a_b", at("2026-02-26T11:00:00"));
    (off.deleted_at, off.acknowledged) = (Some(t("2026-03-05T11:00:00")), true);
    (accounts.into(), vec![later, off])
}

#[tokio::test]
async fn each_cut_off_has_its_amounts_and_links_however_many_accounts_there_are() {
    let (books, rows) = two_cut_offs();
    let server = Server::start(&books.iter().collect::<Vec<_>>(), false).await;
    server.context.alerting.set(Alerting { incidents: rows.into_iter().collect(), ..Alerting::default() });
    let answer = server.get("/").await;
    let page = answer.text();
    let card = |name: &str| {
        let start = page.find(&format!("<li id=\"i-{name}.disconnect.account\"")).unwrap();
        page[start..].split("</li>").next().unwrap()
    };
    let plain = |text: &str| text.replace(['\u{a0}', '\u{202f}'], " ");
    let (later, off) = (plain(card("a-b")), plain(card("a_b")));
    for part in [
        "<strong>Pay by Tue 3 Mar: 25 RUB for 7 days, 255 RUB for 30 days, 855 RUB for 90 days.</strong>",
        "<a href=\"https://pay.example.com/a-b\">Pay</a>",
        " Contract of a-b</p>",
        "<code>hostwatch ack a-b/disconnect/account</code>",
    ] {
        assert!(later.contains(part), "{part} in {later}");
    }
    for part in [
        "<strong>Pay now: ",
        "<strong>Data deleted Thu 5 Mar 14:00 MSK, in 3 d 23 h.</strong>",
        "<a href=\"https://pay.example.com/a_b\">Pay</a>",
        "<code>hostwatch ack --remove a_b/disconnect/account</code>",
    ] {
        assert!(off.contains(part), "{part} in {off}");
    }
    assert_eq!(plain(page).matches("<td class=\"number\">255 RUB</td>").count(), 2, "{page}");
    // One order, wherever they stand below each other.
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
    assert!(place("<li><a href=\"#i-a_b.disconnect") < place("<li><a href=\"#i-a-b.disconnect"));
    assert!(place("<li id=\"i-a_b.disconnect") < place("<li id=\"i-a-b.disconnect"));
    let json: serde_json::Value = serde_json::from_slice(&server.get("/api/v1/status").await.body).unwrap();
    let open = json["incidents"]["open"].as_array().unwrap();
    assert_eq!(open.iter().map(|row| &row["account"]).collect::<Vec<_>>(), ["a_b", "a-b"]);
}

/// A reverse proxy may serve the pages below a path of its own.
#[tokio::test]
async fn no_address_of_a_page_starts_at_the_servers_root() {
    let (book, rows) = broken(14);
    let server = Server::start(&[&book], false).await;
    server.context.alerting.set(Alerting { incidents: rows.into_iter().collect(), ..Alerting::default() });
    for path in ["/", "/?show=fine&q=x", "/incidents?days=7", "/resource?account=main&kind=site&id=1031"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        let text = answer.text();
        let links = ["href=\"", "action=\"", "src=\""].into_iter().flat_map(|name| text.split(name).skip(1));
        let links: Vec<&str> = links.map(|link| link.split('"').next().unwrap()).collect();
        assert!(links.contains(&"./-/style.css"), "{path}: {links:?}");
        let from_root: Vec<_> = links.into_iter().filter(|link| link.starts_with('/')).collect();
        assert!(from_root.is_empty(), "{path}: {from_root:?}");
    }
}
