//! A report for a date that the provider refuses: nearer ones are asked for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{Days, NaiveDate};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::provider::poll::{AccountPlan, read_report};
use crate::unit::account::profile;

use super::client;
use super::server::{Reply, Server};

#[tokio::test]
async fn a_report_is_read_for_the_farthest_date_that_is_not_refused() {
    let today = Clock::default().now().with_timezone(&chrono_tz::Europe::Moscow).date_naive();
    for (status, most, want) in [(404, 30, 23), (404, 20, 12), (400, 14, 12), (404, 7, 6), (404, 2, 2)] {
        let server = Server::start(move |request, _| {
            let date: NaiveDate = request.target.split('/').nth(4).unwrap().parse().unwrap();
            let is_far = date > today + Days::new(most);
            let report = format!(
                r#"{{"date": "{date}T00:00:00", "edd": null, "expected_balance": "5", "charge_moments": []}}"#
            );
            if is_far { Reply::status(status) } else { Reply::json(report) }
        })
        .await;
        let plan = AccountPlan {
            profile: Arc::new(profile("main")),
            client: client(&server).0,
            schedules: Arc::default(),
            horizon_days: 90,
            clock: Clock::default(),
            retry_after: Duration::ZERO,
            awake: Arc::new(|| ()),
            asked: watch::channel(0).1,
            awaited: watch::channel(BTreeSet::new()).1,
            known: Arc::new(|| None),
        };
        let read = read_report(&plan, Duration::from_secs(20)).await.unwrap().report;
        let date = read.date.unwrap().with_timezone(&chrono_tz::Europe::Moscow).date_naive();
        assert_eq!(date, today + Days::new(want), "{status} beyond {most} days");
    }
}
