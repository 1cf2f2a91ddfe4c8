//! The pages of the past: one resource with its thirty days, and the incidents of the last days. Both are answered from
//! what the store remembers.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account::*;
use super::server::Server;
use crate::alert::{Episode, History, Incident, Key, Kind, Past, Phase, Severity};
use crate::model::*;
use crate::store::{Batch, Store};
use crate::view::Alerting;
use chrono::{Duration, TimeDelta};

fn key(kind: Kind, id: u64) -> Key {
    Key::new(&"main".parse().unwrap(), kind, id)
}

fn episode(kind: Kind, id: u64, title: &str, hours: std::ops::Range<i64>) -> Episode {
    let at = |hours| read_at() - Duration::hours(hours);
    Episode {
        key: key(kind, id),
        title: title.into(),
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
        watched_since: Some(read_at() - Duration::days(60)),
        gaps: vec![(read_at() - Duration::hours(30), read_at() - Duration::hours(28))],
    }
}

#[tokio::test]
async fn a_resource_says_how_it_is_since_when_and_how_it_was() {
    let mut book = full("main");
    book.apply(Read::Sites(ContainerId::new(31), all(vec![site(104, 31, "Error")])), read_at());
    let server = Server::start(&[&book], false).await;
    *server.history.lock() = history();
    let mut open = incident_row("main", Kind::SiteError, Severity::Critical, Phase::Firing);
    open.key = key(Kind::SiteError, 104);
    open.since = read_at() - Duration::hours(2);
    server.context.alerting.set(Alerting { incidents: [open].into_iter().collect(), ..Alerting::default() });
    let page = server.get("/resource?account=main&kind=site&id=104").await;
    for part in [
        "Site site104.example.com: Error",
        "<dt>Since</dt><dd>Sun 1 Mar 13:00 MSK (2 h)</dd>",
        "<a href=\"./resource?account=main&#38;kind=container&#38;id=31\">shop</a>",
        "hostwatch ack main/site_error/104",
        "Last 30 days: 2 incidents, 5 h together; not watched for 2 h",
        "fill=\"url(#hatch)\"",
        "<td>2 h, open</td>",
        "<td>Fri 27 Feb 10:00 MSK</td><td>3 h</td>",
        "<meta http-equiv=\"refresh\" content=\"60\">",
        "account=main&#38;kind=site&#38;id=104&#38;refresh=0\">stop</a>",
    ] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    *server.history.lock() = History::default();
    let vm = server.get("/resource?account=main&kind=vm&id=17").await;
    for part in
        ["VM web-1: active", "192.0.2.5", "no incident for 30 days or longer", "Last 30 days: no incident"]
    {
        assert!(vm.text().contains(part), "{part} in {}", vm.text());
    }
    for nothing in [
        "",
        "?account=main",
        "?account=main&kind=vm&id=999",
        "?account=x&kind=vm&id=17",
        "?account=main&kind=vm&id=-1",
    ] {
        assert_eq!(server.get(&format!("/resource{nothing}")).await.status, 404, "{nothing}");
    }
}

#[tokio::test]
async fn incidents_of_the_last_days_are_listed() {
    let book = full("main");
    let server = Server::start(&[&book], false).await;
    *server.history.lock() = History { more: true, ..history() };
    let page = server.get("/incidents?days=7").await;
    for part in [
        "Incidents of the last 7 days",
        "The latest 2",
        "<a href=\"./resource?account=main&#38;kind=site&#38;id=104\">Site site104.example.com stopped</a>",
        "<td>2 h, <strong>open</strong></td>",
        "<a href=\"./incidents?days=7\" aria-current=\"true\">7 days</a>",
        "<a href=\"./incidents?days=90\">90 days</a>",
    ] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    *server.history.lock() = History::default();
    for (asked, days) in
        [("", "30 days"), ("?days=x", "30 days"), ("?days=0", "day"), ("?days=99999", "400 days")]
    {
        let page = server.get(&format!("/incidents{asked}")).await;
        assert!(page.text().contains(&format!("Incidents of the last {days}<")), "{asked}");
    }
}

/// Every episode is kept, not the last alone; what was only suspected is none; a daemon that does not run leaves a gap.
#[test]
fn the_store_remembers_each_episode_and_when_nobody_watched() {
    let mut store = Store::in_memory().unwrap();
    let start = read_at();
    let mut incident = Incident::new(key(Kind::VmError, 17), Severity::Critical, start);
    (incident.subject, incident.problem) = ("VM web-1".into(), "in error".into());
    let mut commit = |incident: &Incident, at: TimeDelta| {
        let batch = Batch { incidents: vec![incident.clone()], ..Batch::default() };
        store.commit(&batch, start + at).unwrap();
    };
    for day in [0, 2] {
        let at = Duration::days(day);
        incident.begin_episode(start + at);
        commit(&incident, at);
        incident.phase = Phase::Firing;
        commit(&incident, at + Duration::minutes(1));
        (incident.phase, incident.resolved_at) = (Phase::Resolved, Some(start + at + Duration::minutes(2)));
        commit(&incident, at + Duration::minutes(2));
    }
    incident.begin_episode(start + Duration::days(3));
    commit(&incident, Duration::days(3));
    let past = |keys, most| Past { from: start, keys, account: None, most };
    let all = store.history(&past(None, 10)).unwrap();
    let spans: Vec<_> = all.episodes.iter().map(|one| (one.since, one.ended, one.title.as_str())).collect();
    let span = |day| {
        let since = start + Duration::days(day);
        (since, Some(since + Duration::minutes(2)), "VM web-1 in error")
    };
    assert_eq!(spans, [span(2), span(0)]);
    let minutes = |day: i64| start + Duration::days(day) + Duration::minutes(2);
    let gaps = [(minutes(0), start + Duration::days(2)), (minutes(2), start + Duration::days(3))];
    assert_eq!((all.gaps.as_slice(), all.watched_since, all.more), (&gaps[..], Some(start), false));
    let one = store.history(&past(Some(vec![incident.key.clone(), key(Kind::VmError, 18)]), 1)).unwrap();
    assert_eq!((one.episodes.len(), one.more), (1, true));
    let other = Past { account: Some("mai".into()), ..past(None, 10) };
    assert!(store.history(&other).unwrap().episodes.is_empty(), "an account of another name");
    let own = Past { account: Some("main".into()), from: start + Duration::days(1), ..past(None, 10) };
    assert_eq!(store.history(&own).unwrap().episodes.len(), 1, "what ended before is left out");
}
