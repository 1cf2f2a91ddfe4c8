//! The charges: all pages at each poll, in any order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::model::Charge;
use crate::provider::Listed;

use super::billing::money;
use super::client;
use super::server::{Reply, Request, Server};

fn charge(day: u32, id: u64) -> Value {
    let uri = format!("/api/v1/charge/{id}/");
    json!({"description": "d", "event_date": format!("2026-03-{day:02}"), "price": "0.10", "quantity": 3,
        "total": "0.30", "resource_uri": uri})
}

/// Charges by offset, two a page.
struct Provider {
    server: Server,
    charges: Arc<std::sync::Mutex<Vec<Value>>>,
}

impl Provider {
    async fn with(charges: Vec<Value>) -> Self {
        let charges = Arc::new(std::sync::Mutex::new(charges));
        let shown = Arc::clone(&charges);
        let answer = move |request: &Request, _| {
            let shown = shown.lock().unwrap();
            let offset = request.query("offset").unwrap_or(0) as usize;
            let rows: Vec<&Value> = shown.iter().skip(offset).take(2).collect();
            let more = offset + 2 < shown.len();
            let next = more.then(|| format!("/api/v1/charge/?limit=2&offset={}", offset + 2));
            let meta = json!({"limit": 2, "offset": offset, "next": next, "total_count": shown.len()});
            Reply::json(json!({"meta": meta, "objects": rows}).to_string())
        };
        Self { server: Server::start(answer).await, charges }
    }

    async fn read(&self) -> (Listed<Charge>, usize) {
        let before = self.server.requests().len();
        let read = client(&self.server).0.charges().await.unwrap();
        (read, self.server.requests().len() - before)
    }
}

fn days(read: &Listed<Charge>) -> Vec<u32> {
    read.rows.iter().map(|charge| chrono::Datelike::day(&charge.event_date)).collect()
}

#[tokio::test]
async fn charges_are_read_whole_wherever_new_ones_stand() {
    let oldest_first: Vec<Value> = [2, 3, 4, 5, 6].map(|day| charge(day, day.into())).into();
    let provider = Provider::with(oldest_first).await;
    let (all, calls) = provider.read().await;
    assert_eq!((days(&all), all.shows_all, calls), (vec![2, 3, 4, 5, 6], true, 3));
    assert_eq!(all.rows[0].total, money("0.30"));
    provider.charges.lock().unwrap().push(charge(7, 7));
    provider.charges.lock().unwrap().insert(3, charge(1, 99));
    let (more, calls) = provider.read().await;
    assert_eq!((days(&more), calls), (vec![2, 3, 4, 1, 5, 6, 7], 4));
}

/// A full page that counts its own rows alone may be followed by others.
#[tokio::test]
async fn charges_whose_count_is_that_of_the_page_are_read_to_the_end() {
    let server = Server::start(|request, _| {
        let offset = request.query("offset").unwrap_or(0);
        let rows: Vec<Value> = (offset..(offset + 20).min(45)).map(|id| charge(5, id)).collect();
        Reply::json(json!({"meta": {"total_count": rows.len()}, "objects": rows}).to_string())
    })
    .await;
    let read = client(&server).0.charges().await.unwrap();
    assert_eq!((read.rows.len(), read.shows_all), (45, true));
}

#[tokio::test]
async fn twins_without_address_are_two() {
    let mut twin = charge(3, 3);
    twin.as_object_mut().unwrap().remove("resource_uri");
    let provider = Provider::with(vec![twin.clone(), twin.clone(), charge(1, 1)]).await;
    let (all, calls) = provider.read().await;
    assert_eq!((days(&all), all.shows_all, calls), (vec![3, 3, 1], true, 2));
}

#[tokio::test]
async fn charges_that_shift_are_read_again_and_bad_rows_leave_them_incomplete() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start({
        let calls = Arc::clone(&calls);
        move |request, _| {
            let call = calls.fetch_add(1, Ordering::SeqCst);
            let (rows, next) = match (request.query("offset"), call) {
                (None, _) => (vec![charge(5, 5), charge(4, 4)], json!("?offset=2")),
                // At the first time a row is shown twice.
                (_, 1) => (vec![charge(4, 4)], json!(null)),
                _ => (vec![charge(3, 3)], json!(null)),
            };
            Reply::json(json!({"meta": {"next": next, "total_count": 3}, "objects": rows}).to_string())
        }
    })
    .await;
    let read = client(&server).0.charges().await.unwrap();
    assert_eq!((days(&read), read.shows_all, server.requests().len()), (vec![5, 4, 3], true, 4));

    let provider = Provider::with(vec![charge(5, 5), json!({"event_date": "someday"}), json!(7)]).await;
    let (read, _) = provider.read().await;
    assert_eq!((days(&read), read.shows_all, read.rejected), (vec![5], false, 2));
    assert!(read.problems[0].starts_with("$.objects[1].event_date: "));
}
