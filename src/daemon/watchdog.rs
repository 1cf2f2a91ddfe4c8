//! The watchdog. It feeds systemd's watchdog while all loops run, and pings the heartbeat while polls, commits and
//! mails succeed.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::common::Common;
use crate::failpoint;
use crate::model::Snapshot;
use crate::model::freshness::{is_read, state_collectors};
use crate::view::words::count;
use crate::view::{Alerting, MAIL_WAITS_AT_MOST};

/// The longest time between two checks.
const CHECK_EVERY: Duration = Duration::from_secs(15);
/// The heartbeat is pinged this often while there is no trouble.
const PING_EVERY: Duration = Duration::from_secs(60);

/// Sends systemd a message. It fails silently if systemd is absent.
pub(super) fn notify(state: &[NotifyState<'_>]) {
    let _ = match std::env::var_os("NOTIFY_SOCKET") {
        Some(name) if name.as_bytes().starts_with(b"@") => notify_abstract(&name.as_bytes()[1..], state),
        Some(_) | None => sd_notify::notify(state),
    };
}

/// `sd_notify` takes the name of an abstract socket for that of a file.
fn notify_abstract(name: &[u8], state: &[NotifyState<'_>]) -> io::Result<()> {
    let message: String = state.iter().map(|one| format!("{one}\n")).collect();
    let address = SocketAddr::from_abstract_name(name)?;
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address).map(drop)
}

/// Tells systemd that a reload begins; Type=notify-reload needs the time.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(since) => notify(&[NotifyState::Reloading, since]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
}

/// The watchdog, with the facts that it checks.
pub(super) struct Watchdog(pub(super) Arc<Common>);

impl Watchdog {
    /// Checks until it is stopped.
    pub(super) async fn run(self, stop: CancellationToken) {
        let watchdog = sd_notify::watchdog_enabled();
        // systemd advises to notify twice in the time that it allows.
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
        let Common { liveness, snapshot, alerting, .. } = &*self.0;
        let stuck = liveness.stuck();
        if stuck.is_empty() {
            if watchdog {
                notify(&[NotifyState::Watchdog]);
            }
        } else if stuck != *before {
            tracing::error!("watchdog: {}", stuck_words(&stuck));
        }
        *before = stuck;
        let status = status_line(&snapshot.get(), &alerting.get());
        notify(&[NotifyState::Status(&status)]);
    }

    async fn ping(&self, before: &mut Option<String>) {
        let Common { heartbeat, clock, liveness, own, snapshot, alerting, undelivered_since, .. } = &*self.0;
        let held = heartbeat.get();
        let Some(pinged) = held.as_ref() else { return };
        let stuck = liveness.stuck();
        let trouble = if stuck.is_empty() {
            trouble(&snapshot.get(), *undelivered_since.get(), alerting.get().store_fails, clock.now())
        } else {
            Some(stuck_words(&stuck))
        };
        let trouble = match trouble {
            Some(trouble) => Some(trouble),
            None => pinged.ping().await.err().map(|error| error.to_string()),
        };
        // It may have been taken out of the configuration meanwhile.
        if trouble.is_none() && heartbeat.get().is_some() {
            own.heartbeat(clock.now());
        }
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

/// The reason why no heartbeat is due: polls, commits or mails fail.
fn trouble(
    snapshot: &Snapshot,
    undelivered_since: Option<DateTime<Utc>>,
    store_fails: bool,
    now: DateTime<Utc>,
) -> Option<String> {
    for (name, state) in &snapshot.accounts {
        let mut seeing = state_collectors(&state.profile);
        if let Some(collector) = seeing.find(|&collector| !is_read(state, collector, now)) {
            return Some(format!("{name}: {} is not read", collector.as_str()));
        }
    }
    if store_fails {
        return Some("the store cannot be written".to_owned());
    }
    let waits = undelivered_since.is_some_and(|since| now - since > MAIL_WAITS_AT_MOST);
    waits.then(|| "mails are not delivered".to_owned())
}

/// The line that `systemctl status` shows.
fn status_line(snapshot: &Snapshot, alerting: &Alerting) -> String {
    let resources: usize = snapshot.accounts.values().map(|state| state.resource_count()).sum();
    let open = alerting.incidents.iter().filter(|row| row.is_open()).count();
    let mails = match alerting.mails.outbox {
        Some(outbox) => format!("{} waiting", count(outbox.waiting() as usize, "mail", "mails")),
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
    use crate::model::mails::OutboxSummary;
    use crate::model::snapshot::PollEnd;
    use crate::model::{Collector, KnownAccount, Profile};

    #[test]
    fn an_abstract_socket_is_notified() {
        let name = format!("hostwatch-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let systemd = UnixDatagram::bind_addr(&address).unwrap();
        systemd.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        notify_abstract(name.as_bytes(), &[NotifyState::Ready, NotifyState::Watchdog]).unwrap();
        let mut said = [0; 64];
        let length = systemd.recv(&mut said).unwrap();
        assert_eq!(&said[..length], b"READY=1\nWATCHDOG=1\n");
    }

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + chrono::Duration::minutes(minutes)
    }

    fn snapshot(polled: Option<i64>) -> Snapshot {
        let profile = Profile {
            name: "main".parse().unwrap(),
            currency: String::new(),
            time_zone: None,
            lead_days: 3,
            tightest_rung: 1,
            language: crate::model::Language::En,
            vm_memory_unit_bytes: None,
            collectors: [Collector::Vms].into(),
            stale_after: BTreeMap::from([(Collector::Vms, Duration::from_secs(900))]),
            guide: Default::default(),
        };
        let mut known = KnownAccount::new(Arc::new(profile));
        if let Some(minutes) = polled {
            let end = PollEnd { duration: Duration::ZERO, failure: None, complete: true, problem: None };
            known.end(Collector::Vms, end, at(minutes));
        }
        Snapshot { accounts: [("main".parse().unwrap(), known.publish())].into() }
    }

    #[test]
    fn the_heartbeat_wants_polls_commits_and_deliveries() {
        let now = at(2000);
        let waits = |since| Some(at(since));
        let table = [
            (None, waits(1999), false, Some("main: vms is not read")),
            (Some(1984), waits(1999), false, Some("main: vms is not read")),
            (Some(1985), waits(1999), false, None),
            (Some(1985), waits(1999), true, Some("the store cannot be written")),
            (Some(1985), waits(1989), false, Some("mails are not delivered")),
            (Some(1985), None, false, None),
        ];
        for (polled, undelivered_since, fails, want) in table {
            assert_eq!(trouble(&snapshot(polled), undelivered_since, fails, now).as_deref(), want);
        }
        let mut waiting = Alerting::default();
        waiting.mails.outbox = Some(OutboxSummary { owed: 1, ..OutboxSummary::default() });
        assert_eq!(
            status_line(&snapshot(None), &waiting),
            "1 account, 0 resources, 0 open incidents, 1 mail waiting"
        );
    }
}
