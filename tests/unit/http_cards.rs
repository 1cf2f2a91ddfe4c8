//! The status page: its cards, its links, and the colours of what is not known. http_pages.rs has its texts.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account::*;
use super::http_pages::card;
use super::server::Server;
use crate::alert::Kind;
use crate::model::*;
use crate::view::IncidentRow;

/// Sites of many containers. All are in error, except for those of the first container.
fn broken(containers: u64) -> (KnownAccount, Vec<IncidentRow>) {
    let mut book = full("main");
    let ids = 31..31 + containers;
    let named = |id| Container { name: Some(format!("shop{id}").into()), ..container(id, "ENABLED") };
    book.apply(Read::Containers(all(ids.clone().map(named).collect())), read_at());
    for id in ids.clone() {
        let rows = vec![site(1000 + id, id, "Error")];
        book.apply(Read::Sites(ContainerId::new(id), all(rows)), read_at());
    }
    let rows = ids.map(|id| card(Kind::SiteError, 1000 + id, &format!("Site site{}.example.com", 1000 + id)));
    let rows = rows.collect();
    (book, rows)
}

async fn page(book: &KnownAccount, incidents: Vec<IncidentRow>, path: &str) -> String {
    let server = Server::start(&[book], false).await;
    server.show(incidents);
    server.get(path).await.text().to_owned()
}

/// The values of all attributes with these names.
fn links<'a>(page: &'a str, names: &[&str]) -> Vec<&'a str> {
    let of = |name: &&str| {
        page.split(&format!("{name}=\""))
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect::<Vec<_>>()
    };
    names.iter().flat_map(of).collect()
}

#[tokio::test]
async fn ten_cards_are_shown_and_a_link_shows_all() {
    let (book, rows) = broken(14);
    let first = page(&book, rows.clone(), "/").await;
    assert_eq!(first.matches("<h3>").count(), 10);
    assert!(first.contains("<a href=\"./?all=1#incidents\">Show all, 4 more</a> · "), "{first}");
    let every = page(&book, rows, "/?all=1").await;
    assert_eq!(every.matches("<h3>").count(), 14);
    // Each link of the headline has a target.
    for link in links(&first, &["href"]) {
        let (page, part) = match link.split_once('#') {
            Some(("", part)) => (&first, part),
            Some(("./?all=1", part)) => (&every, part),
            _ => continue,
        };
        assert!(page.contains(&format!("id=\"{part}\"")), "{link}");
    }
}

/// Causes that lead back to themselves are shown all the same, and each incident is on one card at most.
#[tokio::test]
async fn causes_in_a_circle_do_no_harm() {
    let mut rows = vec![card(Kind::VmError, 17, "VM web-1"), card(Kind::VmBlocked, 18, "VM web-2")];
    rows[0].caused_by = Some(rows[1].key.clone());
    rows[1].caused_by = Some(rows[0].key.clone());
    let page = page(&full("main"), rows, "/").await;
    assert!(page.contains("VM web-1") && page.contains("2 open incidents"), "{page}");
}

/// An unreadable resource is not shown as fine, even if it was fine a minute ago.
#[tokio::test]
async fn only_resources_that_were_read_just_now_are_green() {
    let mut book = full("main");
    let later = read_at() + chrono::Duration::minutes(1);
    for collector in [Collector::Vms, Collector::Containers, Collector::Sites] {
        assert!(page(&book, vec![], "/").await.contains(" class=\"fine\""), "{collector:?}");
        book.end(collector, ended(Some("status 503")), later);
    }
    let folded = page(&book, vec![], "/").await;
    assert!(!folded.contains(" class=\"fine\""), "{folded}");
    let listed = page(&book, vec![], "/?all=1").await;
    let listed = listed.split("<section id=\"freshness\"").next().unwrap();
    assert!(
        !listed.contains("class=\"tag fine\"") && listed.contains("<small>not known</small>"),
        "{listed}"
    );
    let one = page(&book, vec![], "/resource?account=main&kind=vm&id=17").await;
    let title = one.split("<h1>").nth(1).unwrap();
    assert!(title.starts_with("<span class=\"sign\" aria-hidden=\"true\">?</span>"), "{title}");
    assert!(one.contains("class=\"verdict unknown\""), "{one}");
    // The sites of one container could be read all the same.
    book.apply(Read::Sites(ContainerId::new(31), all(vec![site(104, 31, "Active")])), later);
    let folded = page(&book, vec![], "/").await;
    assert!(folded.contains("class=\"fine\"><span aria-hidden=\"true\">●</span> site Active: 1"), "{folded}");
    // A known problem is still shown as a problem.
    book.apply(Read::Vms(all(vec![vm(17, "error", "web-1")])), read_at());
    let wrong = page(&book, vec![], "/").await;
    assert!(wrong.contains("class=\"bad\"><span aria-hidden=\"true\">✕</span> VM error: 1"), "{wrong}");
}

#[tokio::test]
async fn it_loads_itself_anew_each_minute_unless_told_not_to() {
    const ANEW: &str = "<meta http-equiv=\"refresh\" content=\"60\">";
    let book = full("main");
    for path in ["/", "/resource?account=main&kind=vm&id=17"] {
        assert!(page(&book, vec![], path).await.contains(ANEW), "{path}");
    }
    let still = page(&book, vec![], "/?all=1&refresh=0").await;
    assert!(!still.contains(ANEW), "{still}");
    let of_page = links(&still, &["href"]).into_iter().filter_map(|link| link.strip_prefix("./?"));
    let forgets: Vec<&str> = of_page.filter(|link| !link.contains("refresh=0") && *link != "all=1").collect();
    assert!(forgets.is_empty(), "{forgets:?}");
}

/// A reverse proxy may serve the pages below a path of its own.
#[tokio::test]
async fn no_address_of_a_page_starts_at_the_servers_root() {
    let (book, rows) = broken(14);
    let server = Server::start(&[&book, &full("shop")], false).await;
    server.show(rows);
    for path in
        ["/", "/?all=1&q=x&account=main", "/incidents?days=7", "/resource?account=main&kind=site&id=1031"]
    {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        let links = links(answer.text(), &["href", "action", "src"]);
        assert!(links.contains(&"./-/style.css"), "{path}: {links:?}");
        let wrong: Vec<&str> = links.into_iter().filter(|link| link.starts_with('/')).collect();
        assert!(wrong.is_empty(), "{path}: {wrong:?}");
    }
}
