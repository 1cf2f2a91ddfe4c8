//! The past on the pages: the incidents of the last days, which the store knows.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account::*;
use super::alert_support::{self, World};
use super::server::Server;
use crate::alert::{AlertSettings, Episode, History, Key, Kind, Past, Severity, Title};
use crate::model::*;
use crate::view::forms;
use chrono::Duration;

fn key(kind: Kind, id: u64) -> Key {
    Key::new(&"main".parse().unwrap(), kind, id)
}

fn episode(kind: Kind, id: u64, title: &str, hours: std::ops::Range<i64>) -> Episode {
    let at = |hours| read_at() - Duration::hours(hours);
    Episode {
        key: key(kind, id),
        title: Title::of_stored(title.into()),
        severity: Severity::Critical,
        since: at(hours.end),
        ended: (hours.start > 0).then(|| at(hours.start)),
    }
}

fn history() -> History {
    History {
        episodes: vec![
            episode(Kind::SiteError, 104, "Site site104.example.com in error", 0..2),
            episode(Kind::SiteBlocked, 104, "Site site104.example.com stopped", 50..53),
        ],
        more: false,
    }
}

#[tokio::test]
async fn days_are_asked_for_and_a_part_of_the_incidents_is_called_so() {
    let book = full("main");
    let server = Server::start(&[&book], false).await;
    *server.history.lock() = History { more: true, ..history() };
    let page = server.get("/incidents?days=7").await;
    assert!(
        page.text().contains("The latest 2") && page.text().contains("<strong>open</strong>"),
        "{}",
        page.text()
    );
    *server.history.lock() = History::default();
    for (asked, days) in
        [("", "30 days"), ("?days=x", "30 days"), ("?days=0", "1 day"), ("?days=99999", "400 days")]
    {
        let page = server.get(&format!("/incidents{asked}")).await;
        assert!(page.text().contains(&format!("Incidents of the last {days}<")), "{asked}");
    }
}

#[tokio::test]
async fn the_past_of_one_account_is_in_its_zone() {
    let zone = Some(chrono_tz::Asia::Tokyo);
    let mut tokyo = book(Profile { time_zone: zone, ..Profile::clone(&profile("tokyo")) });
    fill(&mut tokyo, read_at());
    let server = Server::start(&[&full("main"), &tokyo], false).await;
    for (account, zone) in [("tokyo", " JST"), ("main", " MSK")] {
        let page = server.get(&format!("/incidents?account={account}")).await;
        assert!(page.text().contains(zone), "{account}: {}", page.text());
    }
}

/// Every episode is kept, not only the last. An unconfirmed incident is not kept.
#[test]
fn the_store_remembers_each_episode() {
    let mut world = World::healthy_with(AlertSettings { confirm_polls: 2, ..AlertSettings::defaults() });
    let start = world.now;
    let mut spans = Vec::new();
    for _ in 0..2 {
        let since = world.now + Duration::seconds(20);
        for state in ["error", "error", "active", "active"] {
            world.vms(&[(1, state)]);
        }
        spans.insert(0, (since, Some(world.now)));
        world.restart(Duration::days(2));
    }
    world.vms(&[(1, "error")]);
    world.vms(&[(1, "active")]);
    let store = world.system.store();
    let past = |keys, most| Past { from: start, keys, account: None, most };
    let all = store.history(&past(None, 10)).unwrap();
    let found: Vec<_> = all.episodes.iter().map(|one| (one.since, one.ended)).collect();
    assert_eq!((found, all.more), (spans, false));
    let (error, stuck) = (key(Kind::VmError, 1), key(Kind::VmStuck, 1));
    let title = |one: &Episode| forms::title(&one.title, &one.key, Language::En);
    assert!(all.episodes.iter().all(|one| one.key == error && title(one) == "VM vm-1 in error"), "{all:?}");
    let one = store.history(&past(Some(vec![error, stuck]), 1)).unwrap();
    assert_eq!((one.episodes.len(), one.more), (1, true));
    let other = Past { account: Some("mai".into()), ..past(None, 10) };
    assert!(store.history(&other).unwrap().episodes.is_empty(), "an account of another name");
    let own = Past { account: Some("main".into()), from: start + Duration::days(1), ..past(None, 10) };
    assert_eq!(store.history(&own).unwrap().episodes.len(), 1, "what ended before is left out");
}

#[test]
fn a_balance_that_dropped_is_over_as_it_begins() {
    let mut world = World::healthy();
    world.report(alert_support::report("9.00", Edd::Null));
    let drop = Key::account_wide(&"main".parse().unwrap(), Kind::BalanceDrop);
    let past = Past { from: read_at(), keys: Some(vec![drop]), account: None, most: 10 };
    let drops = world.system.store().history(&past).unwrap().episodes;
    let spans: Vec<_> = drops.iter().map(|one| (one.since, one.ended)).collect();
    assert_eq!(spans, [(world.now, Some(world.now))]);
}
