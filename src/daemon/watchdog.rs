//! The watchdog: feeds systemd's while all loops run, pings the heartbeat while polls, commits and mails go
//! through, and shows both as metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::heartbeat::Heartbeat;
use super::liveness::Liveness;
use super::publish::Published;
use crate::clock::Clock;
use crate::failpoint;
use crate::metrics::Own;
use crate::model::Snapshot;
use crate::model::freshness::{is_read, state_collectors};
use crate::state::Shared;
use crate::store::Trouble;
use crate::view::Alerting;
use crate::view::words::count;

/// Loops are checked this often at least.
const CHECK_EVERY: Duration = Duration::from_secs(15);
/// The heartbeat is pinged this often while all is well.
const PING_EVERY: Duration = Duration::from_secs(60);
/// A mail that waits for longer than this is not being delivered.
const MAIL_WAITS_AT_MOST: chrono::Duration = chrono::Duration::minutes(10);
/// A mail that was given up counts for so long where no later one shows that mails go out.
const DEAD_MAIL_COUNTS: chrono::Duration = chrono::Duration::days(1);

/// Sends systemd a message. Without it there is nobody to send it to, and nothing fails.
pub(super) fn notify(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

/// A reload begins. With Type=notify-reload systemd wants to know when.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(since) => notify(&[NotifyState::Reloading, since]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
}

/// What it checks.
pub(super) struct Watchdog {
    pub(super) liveness: Arc<Liveness>,
    pub(super) published: Published,
    pub(super) own: Arc<Own>,
    pub(super) snapshot: Shared<Snapshot>,
    /// Replaced at a reload.
    pub(super) heartbeat: Shared<Option<Heartbeat>>,
    pub(super) clock: Clock,
}

impl Watchdog {
    /// Checks until stopped.
    pub(super) async fn run(self, stop: CancellationToken) {
        let watchdog = sd_notify::watchdog_enabled();
        // Twice in the time that systemd allows, as it advises.
        let every =
            watchdog.map_or(CHECK_EVERY, |allowed| (allowed / 2).min(CHECK_EVERY)) / failpoint::haste();
        let mut check = interval(every.max(Duration::from_millis(10)));
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pinged: Option<Instant> = None;
        let mut stuck_before = Vec::new();
        let mut trouble_before = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = check.tick() => self.check(watchdog.is_some(), &mut stuck_before),
            }
            if pinged.is_none_or(|at| at.elapsed() >= PING_EVERY / failpoint::haste()) {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = self.ping(&mut trouble_before) => {}
                }
                pinged = trouble_before.is_none().then(Instant::now);
            }
        }
    }

    fn check(&self, watchdog: bool, before: &mut Vec<&'static str>) {
        let now = self.clock.now();
        for (name, age) in self.liveness.ages() {
            let age = chrono::Duration::from_std(age).unwrap_or_default();
            self.own.loop_ran(name, now - age);
        }
        let stuck = self.liveness.stuck();
        if stuck.is_empty() {
            if watchdog {
                notify(&[NotifyState::Watchdog]);
            }
        } else if stuck != *before {
            tracing::error!("watchdog: {}", stuck_words(&stuck));
        }
        *before = stuck;
        let status = status_line(&self.snapshot.get(), &self.published.alerting.get());
        notify(&[NotifyState::Status(&status)]);
    }

    async fn ping(&self, before: &mut Option<String>) {
        let heartbeat = self.heartbeat.get();
        let Some(heartbeat) = heartbeat.as_ref() else { return };
        let now = self.clock.now();
        let stuck = self.liveness.stuck();
        let trouble = if stuck.is_empty() {
            trouble(&self.snapshot.get(), *self.published.trouble.get(), self.published.keeps(), now)
        } else {
            Some(stuck_words(&stuck))
        };
        let trouble = match trouble {
            Some(trouble) => Some(trouble),
            None => match heartbeat.ping().await {
                Ok(()) => {
                    self.own.heartbeat(self.clock.now());
                    None
                }
                Err(error) => Some(error.to_string()),
            },
        };
        match (&*before, &trouble) {
            (old, Some(trouble)) if old.as_ref() != Some(trouble) => {
                tracing::warn!(why = trouble, "heartbeat not sent");
            }
            (Some(_), None) => tracing::info!("heartbeat sent again"),
            (_, _) => {}
        }
        *before = trouble;
    }
}

/// Why no heartbeat is due: something is not polled, not kept, or not delivered.
fn trouble(snapshot: &Snapshot, delivery: Trouble, keeps: bool, now: DateTime<Utc>) -> Option<String> {
    for (name, state) in &snapshot.accounts {
        let mut seeing = state_collectors(&state.profile);
        if let Some(collector) = seeing.find(|&collector| !is_read(state, collector, now)) {
            return Some(format!("{name}: {} is not read", collector.as_str()));
        }
    }
    if !keeps {
        return Some("the store cannot be written".to_owned());
    }
    if delivery.given_up_at.is_some_and(|at| now - at < DEAD_MAIL_COUNTS) {
        return Some("the last mail had to be given up".to_owned());
    }
    let waits = delivery.waits_since.is_some_and(|since| now - since > MAIL_WAITS_AT_MOST);
    waits.then(|| "mails are not delivered".to_owned())
}

/// What `systemctl status` shows.
fn status_line(snapshot: &Snapshot, alerting: &Alerting) -> String {
    let resources: usize = snapshot.accounts.values().map(|state| state.resource_count()).sum();
    let open = alerting.incidents.iter().filter(|row| row.is_open()).count();
    let mails = match alerting.mails.outbox {
        Some(outbox) => format!("{} waiting", count(outbox.queued as usize, "mail", "mails")),
        None => "mail off".to_owned(),
    };
    format!(
        "{}, {}, {}, {mails}",
        count(snapshot.accounts.len(), "account", "accounts"),
        count(resources, "resource", "resources"),
        count(open, "open incident", "open incidents")
    )
}

/// `the pipeline loop is stuck`
fn stuck_words(loops: &[&str]) -> String {
    let plural = if loops.len() == 1 { "loop is" } else { "loops are" };
    format!("the {} {plural} stuck", loops.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::snapshot::PollEnd;
    use crate::model::{Collector, KnownAccount, Profile};
    use crate::view::OutboxSummary;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + chrono::Duration::minutes(minutes)
    }

    fn snapshot(polled: Option<i64>) -> Snapshot {
        let profile = Profile {
            name: "main".parse().unwrap(),
            currency: String::new(),
            time_zone: None,
            lead_days: 3,
            vm_memory_unit_bytes: None,
            collectors: [Collector::Vms].into(),
            stale_after: BTreeMap::from([(Collector::Vms, Duration::from_secs(900))]),
            guide: Default::default(),
        };
        let mut known = KnownAccount::new(Arc::new(profile));
        if let Some(minutes) = polled {
            let end = PollEnd { duration: Duration::ZERO, failure: None, complete: true };
            known.end(Collector::Vms, end, at(minutes));
        }
        Snapshot { accounts: [("main".parse().unwrap(), known.publish())].into() }
    }

    #[test]
    fn the_heartbeat_wants_polls_commits_and_deliveries() {
        let now = at(2000);
        let none = Trouble::default();
        let waits = |since| Trouble { waits_since: Some(at(since)), ..none };
        let dead = |minutes| Trouble { given_up_at: Some(at(minutes)), ..none };
        let table = [
            (None, waits(1999), true, Some("main: vms is not read")),
            (Some(1984), waits(1999), true, Some("main: vms is not read")),
            (Some(1985), waits(1999), true, None),
            (Some(1985), waits(1999), false, Some("the store cannot be written")),
            (Some(1985), waits(1989), true, Some("mails are not delivered")),
            (Some(1985), dead(2000 - 24 * 60 + 1), true, Some("the last mail had to be given up")),
            (Some(1985), dead(2000 - 24 * 60), true, None),
            (Some(1985), none, true, None),
        ];
        for (polled, delivery, keeps, want) in table {
            assert_eq!(trouble(&snapshot(polled), delivery, keeps, now).as_deref(), want);
        }
        let mut waiting = Alerting::default();
        waiting.mails.outbox = Some(OutboxSummary { queued: 1, ..OutboxSummary::default() });
        assert_eq!(
            status_line(&snapshot(None), &waiting),
            "1 account, 0 resources, 0 open incidents, 1 mail waiting"
        );
    }
}
