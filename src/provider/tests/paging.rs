//! Listings of many pages: the address of the next page, the end, and the proof of completeness.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::model::{ContainerId, Resource, Site, Vm};
use crate::provider::Listed;
use crate::provider::error::ErrorKind;
use crate::provider::hosts::RequestTiming;
use crate::provider::wire::MOST_ROWS;

use super::server::{Reply, Request, Server};
use super::{client, client_with, timing};

fn vms(ids: &[u64]) -> String {
    let mut rows = Vec::new();
    for id in ids {
        rows.push(format!(r#"{{"id": {id}, "state": "active"}}"#));
    }
    format!("[{}]", rows.join(","))
}

fn vm_page(count: u64, next: &str, ids: &[u64]) -> Reply {
    let next = if next.is_empty() { "null".to_owned() } else { format!("{next:?}") };
    Reply::json(format!(r#"{{"count": {count}, "next": {next}, "results": {}}}"#, vms(ids)))
}

fn ids<T: Resource<Id: Into<u64>>>(listed: &Listed<T>) -> Vec<u64> {
    let mut ids: Vec<u64> = listed.rows.iter().map(|row| row.id().into()).collect();
    ids.sort_unstable();
    ids
}

/// The result for a listing of VMs whose page N (from 1) is answered by `answer`.
async fn read(
    answer: impl Fn(u64, &Request) -> Reply + Send + Sync + 'static,
) -> (Result<Listed<Vm>, ErrorKind>, usize) {
    let server = Server::start(move |request, _| answer(request.query("page").unwrap_or(1), request)).await;
    let (client, _) = client_with(&server, RequestTiming { pages: 20, ..timing() });
    let read = tokio::time::timeout(Duration::from_secs(20), client.vms()).await.expect("an end");
    let read = read.map_err(|error| error.kind);
    (read, server.requests().len())
}

#[tokio::test]
async fn the_query_of_next_is_asked_for_at_the_configured_address_alone() {
    let foreign = Server::start(|_, _| vm_page(1, "", &[1])).await;
    let elsewhere = format!("{}api/cvds/v1/vms/?page=2", foreign.url);
    let nexts = [
        elsewhere.as_str(),
        "/api/cvds/v1/vms/?page=2#rows",
        "?page=2",
        " ?page=2 ",
        "http://user:word@127.0.0.1/api/cvds/v1/vms/?page=2",
        "https://inner.host:8443/x/api/cvds/v1/vms/?page=2",
        "//evil.example/api/cvds/v1/vms/?page=2",
        "/api/cvds/v1/ips/?page=2",
        "http://[?page=2",
    ];
    for next in nexts {
        let text = next.to_owned();
        let (read, calls) = read(move |page, request| {
            assert_eq!(request.headers["authorization"], ["Token vm-secret"]);
            assert!(request.target.starts_with("/api/cvds/v1/vms/"), "{}", request.target);
            if page == 1 { vm_page(3, &text, &[1, 2]) } else { vm_page(3, "", &[3]) }
        })
        .await;
        let read = read.unwrap();
        assert_eq!((ids(&read), read.shows_all, calls), (vec![1, 2, 3], true, 2), "{next}");
    }
    assert_eq!(foreign.requests().len(), 0);
}

#[tokio::test]
async fn a_next_that_is_a_word_for_none_ends_the_listing() {
    for next in ["null", "\"\"", "\" \"", "false", "\"null\"", "\"None\"", "\"#\""] {
        let page = format!(r#"{{"next": {next}, "results": [{{"id": 1, "state": "active"}}]}}"#);
        let (read, calls) = read(move |_, _| Reply::json(page.as_str())).await;
        let read = read.unwrap();
        assert_eq!((ids(&read), read.shows_all, calls), (vec![1], true, 1), "{next}");
    }
}

/// It is no `next`.
#[tokio::test]
async fn a_next_without_a_query_names_no_page() {
    let junk =
        ["undefined", "/", "?", "-", "N/A", "0", "about:blank", "javascript:void(0)", "/api/cvds/v1/vms/"];
    for next in junk {
        let (all, calls) = read(move |_, _| vm_page(2, next, &[1, 2])).await;
        assert_eq!((all.unwrap().is_whole(), calls), (true, 1), "{next}");
        let (paged, calls) =
            read(move |page, _| vm_page(3, next, if page == 1 { &[1, 2] } else { &[3] })).await;
        assert_eq!((ids(&paged.unwrap()), calls), (vec![1, 2, 3], 2), "{next}");
    }
}

#[tokio::test]
async fn a_circle_and_an_endless_row_of_pages_are_stopped() {
    let (circle, calls) = read(|page, _| vm_page(9, &format!("?page={}", page % 3 + 1), &[page])).await;
    assert_eq!((failure(circle, &[1, 2, 3]), calls), (ErrorKind::NextLoop(4), 4));
    let (same, calls) = read(|page, _| vm_page(9, &format!("?page={}", page + 1), &[1, 2])).await;
    assert_eq!((failure(same, &[1, 2]), calls), (ErrorKind::NextLoop(3), 3));
    let (endless, calls) = read(|page, _| vm_page(9, &format!("?page={}", page + 1), &[page])).await;
    let all: Vec<u64> = (1..=20).collect();
    assert_eq!((failure(endless, &all), calls), (ErrorKind::TooLarge { limit: 20, unit: "pages" }, 20));
}

#[tokio::test]
async fn a_listing_is_complete_only_with_proof() {
    // (page, ids, complete, calls): calls is 2 if the listing was read again.
    let table: &[(&str, &[u64], bool, usize)] = &[
        (r#"{"count": 0, "next": null, "results": []}"#, &[], true, 1),
        (r#"{"count": 0, "results": []}"#, &[], true, 1),
        (r#"{"count": "1", "next": "", "results": [{"id": "1", "state": "active"}]}"#, &[1], true, 1),
        (r#"{"count": 2, "next": null, "results": [{"id": 1, "state": "active"}]}"#, &[1], false, 2),
        // A count that two equal readings exceed counts something else.
        (r#"{"count": 0, "next": null, "results": [{"id": 1, "state": "active"}]}"#, &[1], true, 2),
        // Of members with the same name the last one counts.
        (
            r#"{"count": 1, "count": 2, "next": null, "results": [{"id": 1, "state": "error", "state": "active"},
                {"id": 2, "state": "active"}]}"#,
            &[1, 2],
            true,
            1,
        ),
        (
            r#"{"count": 2, "next": null, "results": [{"id": 1, "state": "active"}, {"id": 1, "state": "error"}]}"#,
            &[1],
            false,
            2,
        ),
        // Undecodable rows are no sign of shifting, and reading again would not help.
        (
            r#"{"count": 2, "next": null, "results": [{"id": 1, "state": "active"}, {"id": 2}]}"#,
            &[1],
            false,
            1,
        ),
        (r#"{"count": 2, "next": null, "results": [{"id": 1, "state": "active"}, null]}"#, &[1], false, 1),
        // Without a count only a proper end proves it.
        (r#"{"next": null, "results": [{"id": 1, "state": "active"}]}"#, &[1], true, 1),
        (r#"{"count": true, "next": null, "results": [{"id": 1, "state": "active"}]}"#, &[1], true, 1),
        // Without `next` either, one page more is asked for. It shows nothing new here.
        (r#"{"results": [{"id": 1, "state": "active"}]}"#, &[1], true, 2),
        (r#"{"next": 7, "results": [{"id": 1, "state": "active"}]}"#, &[1], true, 2),
        (r#"{"results": [{"id": 1, "state": "active"}, {"id": 2}]}"#, &[1], false, 2),
        (r#"{"results": [{"id": 2}]}"#, &[], false, 2),
        (r#"{"next": null, "results": []}"#, &[], true, 1),
        (r#"{"results": []}"#, &[], true, 1),
    ];
    for &(page, want, complete, calls) in table {
        let (read, asked) = read(move |_, _| Reply::json(page)).await;
        let read = read.unwrap();
        assert_eq!((ids(&read).as_slice(), read.is_whole(), asked), (want, complete, calls), "{page}");
        let told = read.problems.first().is_some_and(|it| it.contains(" came") || it.contains("left out"));
        assert_eq!(told, !complete, "{page}: {:?}", read.problems);
    }
}

#[tokio::test]
async fn a_listing_that_lacks_rows_says_how_many_came() {
    // (count, rows, the reason)
    let row = |id: u64| format!(r#"{{"id": {id}, "state": "active"}}"#);
    let table = [
        (5, vec![row(1), row(2)], "2 of 5 rows came"),
        (5, vec![row(1), row(1)], "1 of 5 rows came, 1 came twice"),
        (2, vec![row(1), row(1)], "1 of 2 rows came, 1 came twice"),
        (3, vec![row(1), "null".to_owned()], "2 of 3 rows came, 1 of them unreadable"),
        (1, vec![], "0 of 1 row came"),
    ];
    for (count, rows, want) in table {
        let page = format!(r#"{{"count": {count}, "next": null, "results": [{}]}}"#, rows.join(","));
        let (read, _) = read(move |_, _| Reply::json(page.as_str())).await;
        assert_eq!(read.unwrap().problems[0], want);
    }
    // Each page is the first one again.
    let server = Server::start(|_, _| {
        Reply::json(format!(r#"{{"count": 3, "entities": [{}]}}"#, r#"{"id": 1, "state": "Active"}"#))
    })
    .await;
    let listed = client(&server).0.sites(ContainerId::new(7)).await.unwrap();
    assert_eq!(listed.problems[0], "1 of 3 rows came, 2 came twice");
}

#[tokio::test]
async fn the_worse_state_of_a_row_that_is_listed_twice_counts() {
    let table = [
        ("error", "active", "error"),
        ("active", "error", "error"),
        ("blocked", "rebooting", "blocked"),
        ("active", "rebooting", "rebooting"),
        ("stopped", "stopped", "stopped"),
    ];
    for (first, second, want) in table {
        let (read, _) = read(move |_, _| {
            let rows = format!(r#"{{"id": 1, "state": "{first}"}}, {{"id": 1, "state": "{second}"}}"#);
            Reply::json(format!(r#"{{"count": 2, "next": null, "results": [{rows}]}}"#))
        })
        .await;
        let read = read.unwrap();
        let states: Vec<&str> = read.rows.iter().map(|vm| vm.state.as_str()).collect();
        assert_eq!((states, read.shows_all), (vec![want], false), "{first} {second}");
    }
}

#[tokio::test]
async fn rows_that_shift_between_pages_are_read_again_once() {
    // In the first reading a row appears before the first page is left, so row 2 is shown twice.
    let readings = Arc::new(AtomicUsize::new(0));
    let (read_again, calls) = read({
        let readings = Arc::clone(&readings);
        move |page, _| {
            let reading = readings.fetch_add((page == 1).into(), Ordering::SeqCst);
            match (page, reading) {
                (1, 0) => vm_page(3, "?page=2", &[1, 2]),
                (1, _) => vm_page(4, "?page=2", &[9, 1]),
                _ => vm_page(if reading == 1 { 3 } else { 4 }, "", &[2, 3]),
            }
        }
    })
    .await;
    let read_again = read_again.unwrap();
    assert_eq!((ids(&read_again), read_again.shows_all, calls), (vec![1, 2, 3, 9], true, 4));

    // A listing that changes all the time: the rows of both readings, without completeness.
    let readings = Arc::new(AtomicUsize::new(0));
    let (restless, calls) = read(move |_, _| match readings.fetch_add(1, Ordering::SeqCst) {
        0 => vm_page(9, "", &[1, 2]),
        _ => vm_page(9, "", &[2, 3]),
    })
    .await;
    let restless = restless.unwrap();
    assert_eq!((ids(&restless), restless.shows_all, calls), (vec![1, 2, 3], false, 2));

    // More rows than the count, and other ones each time.
    let readings = Arc::new(AtomicUsize::new(0));
    let (other, _) = read(move |_, _| match readings.fetch_add(1, Ordering::SeqCst) {
        0 => vm_page(1, "", &[1, 2]),
        _ => vm_page(1, "", &[2, 3]),
    })
    .await;
    assert!(!other.unwrap().shows_all);

    // A count that changes is a sign too, even if the sum fits the last one.
    let (changed, calls) = read(|page, _| match page {
        1 => vm_page(4, "?page=2", &[1, 2]),
        _ => vm_page(3, "", &[3]),
    })
    .await;
    let changed = changed.unwrap();
    assert_eq!((ids(&changed), changed.shows_all, calls), (vec![1, 2, 3], false, 4));
}

#[tokio::test]
async fn an_unreadable_row_with_an_id_is_missing_alone() {
    for (id, complete) in [("2", true), ("\"vm-2\"", false)] {
        let (read, _) = read(move |_, _| {
            let rows = format!(r#"{{"id": 1, "state": "active"}}, {{"id": {id}, "state": null}}"#);
            Reply::json(format!(r#"{{"count": 2, "next": null, "results": [{rows}]}}"#))
        })
        .await;
        let read = read.unwrap();
        assert_eq!((ids(&read), read.shows_all, read.rejected), (vec![1], complete, 1), "{id}");
        assert!(read.unreadable.contains(&2) == complete && !read.is_whole(), "{id}");
    }
}

#[tokio::test]
async fn a_second_reading_that_fails_leaves_the_first() {
    let readings = Arc::new(AtomicUsize::new(0));
    let (read, _) = read(move |_, _| match readings.fetch_add(1, Ordering::SeqCst) {
        0 => vm_page(2, "", &[1]),
        _ => Reply::status(400),
    })
    .await;
    let read = read.unwrap();
    assert_eq!((ids(&read), read.shows_all), (vec![1], false));
}

#[tokio::test]
async fn a_later_page_that_can_not_be_had_fails_the_listing_and_leaves_the_rows_before_it() {
    for bad in [400, 401, 404, 500] {
        let (read, _) = read(move |page, _| match page {
            1 => vm_page(2, "?page=2", &[1]),
            _ => Reply::status(bad),
        })
        .await;
        assert!(failure(read, &[1]).to_string().starts_with(&format!("HTTP {bad}: no")));
    }
    for (body, is_json) in [("<html>", false), ("[]", true)] {
        let (read, _) = read(move |page, _| match page {
            1 => vm_page(2, "?page=2", &[1]),
            _ => Reply::json(body),
        })
        .await;
        let kind = failure(read, &[1]);
        assert_eq!(matches!(kind, ErrorKind::WrongShape(_)), is_json, "{kind}");
        assert_eq!(matches!(kind, ErrorKind::NotJson(_)), !is_json, "{kind}");
    }
    let (read, _) = read(|_, _| Reply::status(400)).await;
    assert_eq!(read.unwrap_err(), ErrorKind::Status(400, ": no".into()), "no page was read");
}

/// The failure of a listing whose first pages had these rows.
fn failure(read: Result<Listed<Vm>, ErrorKind>, rows: &[u64]) -> ErrorKind {
    let read = read.unwrap();
    assert_eq!((ids(&read).as_slice(), read.shows_all), (rows, false));
    read.failure.unwrap().kind
}

/// `sites` sites by offset and limit, in pages of at most `most`. `count` is sent unless it is `None`.
async fn sites(sites: u64, count: Option<u64>, most: u64) -> (Listed<Site>, Vec<String>) {
    let server = Server::start(move |request, _| {
        let (offset, limit) = (request.query("offset").unwrap(), request.query("limit").unwrap());
        let mut rows = String::new();
        for id in offset..sites.min(offset + limit.min(most)) {
            let comma = if rows.is_empty() { "" } else { "," };
            write!(rows, r#"{comma}{{"id": {id}, "state": "Active"}}"#).unwrap();
        }
        let count = count.map_or("null".into(), |count| count.to_string());
        Reply::json(format!(r#"{{"count": {count}, "entities": [{rows}]}}"#))
    })
    .await;
    let listed = client(&server).0.sites(ContainerId::new(7)).await.unwrap();
    (listed, server.targets())
}

#[tokio::test]
async fn hosting_listings_take_as_few_pages_of_100_as_there_are() {
    let table = [
        // (sites, count, most a page, calls, complete)
        (0, Some(0), 100, 1, true),
        (99, Some(99), 100, 1, true),
        // The count may be that of the page.
        (100, Some(100), 100, 2, true),
        (250, Some(250), 100, 3, true),
        // A provider with smaller pages than were asked for.
        (120, Some(120), 50, 3, true),
        // Without a count an empty page ends the listing.
        (250, None, 100, 4, true),
        (200, None, 100, 3, true),
        (120, None, 50, 4, true),
        (100, None, 50, 3, true),
        (3, None, 100, 2, true),
        (0, None, 100, 1, true),
        // Fewer rows than promised: an empty page ends the listing, and it is read again.
        (150, Some(160), 100, 6, false),
    ];
    for (rows, count, most, calls, complete) in table {
        let (listed, targets) = sites(rows, count, most).await;
        assert_eq!(listed.rows.len() as u64, rows, "{rows} {count:?}");
        assert_eq!((targets.len(), listed.shows_all), (calls, complete), "{rows} {count:?} {targets:?}");
        assert!(listed.rows.iter().all(|site| site.container == ContainerId::new(7)));
    }
}

#[tokio::test]
async fn a_provider_that_ignores_the_offset_is_noticed() {
    let server = Server::start(|_, _| {
        let rows: Vec<String> = (0..100).map(|id| format!(r#"{{"id": {id}, "state": "Active"}}"#)).collect();
        Reply::json(format!(r#"{{"count": 150, "entities": [{}]}}"#, rows.join(",")))
    })
    .await;
    let listed = client(&server).0.sites(ContainerId::new(7)).await.unwrap();
    assert_eq!((listed.rows.len(), listed.shows_all), (100, false));
    assert_eq!(server.requests().len(), 4, "two readings of two pages");
}

/// The end of a listing that says neither `next` nor the number of all rows: containers in pages of 100 or fewer.
#[tokio::test]
async fn one_page_more_than_the_last_is_asked_for() {
    #[derive(Clone, Copy, Debug)]
    enum Past {
        Empty,
        Status(u16),
        FirstPage,
    }
    let table = [
        // (containers, most a page, whether each page counts itself, the answer past the end, calls, complete)
        (130, 100, true, Past::Empty, 3, true),
        (130, 100, true, Past::Status(404), 3, true),
        (130, 100, false, Past::Status(400), 3, true),
        (130, 100, false, Past::FirstPage, 3, true),
        (120, 50, true, Past::Empty, 4, true),
        (120, 50, false, Past::Empty, 4, true),
        (100, 100, true, Past::FirstPage, 2, true),
        (100, 50, true, Past::FirstPage, 3, true),
        (7, 100, true, Past::Empty, 1, true),
        (7, 100, false, Past::Status(404), 2, true),
        (7, 100, false, Past::Status(500), 4, false),
    ];
    for (containers, most, has_count, past, calls, complete) in table {
        let server = Server::start(move |request, _| {
            let mut offset: u64 = request.query("offset").unwrap();
            if offset >= containers {
                match past {
                    Past::Empty => {}
                    Past::Status(status) => return Reply::status(status),
                    Past::FirstPage => offset = 0,
                }
            }
            let shown = offset..containers.min(offset + most);
            let rows: Vec<String> = shown.map(|id| format!(r#"{{"id": {id}, "state": 0}}"#)).collect();
            let count = if has_count { format!(r#""count": {}, "#, rows.len()) } else { String::new() };
            Reply::json(format!(r#"{{{count}"entities": [{}]}}"#, rows.join(",")))
        })
        .await;
        let listed = client(&server).0.containers().await.unwrap();
        assert_eq!(listed.rows.len() as u64, containers, "{containers} {most} {past:?}");
        let said = (server.requests().len(), listed.shows_all, listed.failure.is_some());
        assert_eq!(said, (calls, complete, !complete), "{containers} {most} {has_count} {past:?}");
    }
}

#[tokio::test]
async fn pages_of_vms_that_count_themselves_are_whole_at_a_null_next() {
    let (read, calls) = read(|page, _| match page {
        1 => vm_page(2, "?page=2", &[1, 2]),
        _ => vm_page(1, "", &[3]),
    })
    .await;
    let read = read.unwrap();
    assert_eq!((ids(&read), read.shows_all, calls), (vec![1, 2, 3], true, 2));
}

#[tokio::test]
async fn a_listing_has_so_many_bytes() {
    let rows = |from: u64| (from..from + 10).collect::<Vec<u64>>();
    let server = Server::start(move |_, before| vm_page(20, "", &rows(before as u64 * 10))).await;
    let (client, _) = client_with(&server, RequestTiming { listing_bytes: 100, ..timing() });
    let error = client.vms().await.unwrap_err().kind;
    assert_eq!(error, ErrorKind::TooLarge { limit: 100, unit: "bytes of records" });
}

#[tokio::test]
async fn a_listing_has_so_many_rows() {
    let page = |rows: usize| {
        let rows = vec!["{}"; rows].join(",");
        Reply::json(format!(r#"{{"count": 1, "next": null, "results": [{rows}]}}"#))
    };
    let (listed, _) = read(move |_, _| page(MOST_ROWS)).await;
    assert_eq!(listed.unwrap().rejected, MOST_ROWS as u64);
    let (listed, calls) = read(move |_, _| page(MOST_ROWS + 1)).await;
    let limit = MOST_ROWS as u64;
    assert_eq!((listed, calls), (Err(ErrorKind::TooLarge { limit, unit: "rows" }), 1));
}
