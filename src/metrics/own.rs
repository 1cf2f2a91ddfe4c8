//! The daemon's own metrics, through the prometheus crate's registry: collectors, requests, mails,
//! configuration, the process. Facts of the provider are in `encoder`.
//!
//! The process's metrics are the one thing here that is not pure: encoding reads `/proc/self`. They
//! are there only after [`Own::with_process`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use prometheus::core::{Collector as _, MetricVec, MetricVecBuilder};
use prometheus::{CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use super::Hidden;
use super::family::Family;
use super::openmetrics;
use super::table;
use crate::model::{AccountName, Collector, CollectorStatus, Group};

/// Upper bounds in seconds. The interface's answers take a fraction of a second; 30 is the time out.
const DURATION_BUCKETS: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
const POLL_RESULTS: [&str; 3] = ["success", "partial", "failure"];

/// How one delivery to one recipient ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notification {
    Sent,
    Retry,
    Dead,
}

impl Notification {
    pub const ALL: [Self; 3] = [Self::Sent, Self::Retry, Self::Dead];

    /// The `result` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Retry => "retry",
            Self::Dead => "dead",
        }
    }
}

/// The labels of `hostwatch_incidents`; kind, severity and state in the words of `alert`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IncidentLabels {
    pub account: AccountName,
    pub kind: &'static str,
    pub severity: &'static str,
    pub state: &'static str,
}

/// The daemon's own metrics. Every method may be called from anywhere at any time.
#[derive(Debug)]
pub struct Own {
    registry: Registry,
    /// Held while several series change together, and while a page is made: no half an update.
    whole: Mutex<()>,
    hidden: RwLock<Hidden>,
    collector_success: GaugeVec,
    collector_complete: GaugeVec,
    collector_duration: GaugeVec,
    collector_last_success: GaugeVec,
    collector_polls: IntCounterVec,
    api_requests: IntCounterVec,
    api_duration: HistogramVec,
    api_throttled: CounterVec,
    reports_inconsistent: IntCounterVec,
    series_dropped: GaugeVec,
    records_rejected: IntCounterVec,
    unknown_values: IntCounterVec,
    incidents: GaugeVec,
    notifications: IntCounterVec,
    outbox_messages: GaugeVec,
    outbox_oldest: GaugeVec,
    store_usable: GaugeVec,
    loop_last_run: GaugeVec,
    heartbeat_at: GaugeVec,
    reload_ok: GaugeVec,
    reload_at: GaugeVec,
}

impl Own {
    /// The metrics of a daemon of this version and commit; counters without an account are at 0.
    pub fn new(version: &str, commit: &str) -> Self {
        let own = Self {
            registry: Registry::new(),
            whole: Mutex::default(),
            hidden: RwLock::default(),
            collector_success: gauges(&table::COLLECTOR_SUCCESS),
            collector_complete: gauges(&table::COLLECTOR_COMPLETE),
            collector_duration: gauges(&table::COLLECTOR_DURATION),
            collector_last_success: gauges(&table::COLLECTOR_LAST_SUCCESS),
            collector_polls: counters(&table::COLLECTOR_POLLS),
            api_requests: counters(&table::API_REQUESTS),
            api_duration: histograms(&table::API_DURATION),
            api_throttled: made(CounterVec::new(opts(&table::API_THROTTLED), table::API_THROTTLED.labels)),
            reports_inconsistent: counters(&table::REPORTS_INCONSISTENT),
            series_dropped: gauges(&table::SERIES_DROPPED),
            records_rejected: counters(&table::RECORDS_REJECTED),
            unknown_values: counters(&table::UNKNOWN_VALUES),
            incidents: gauges(&table::INCIDENTS),
            notifications: counters(&table::NOTIFICATIONS),
            outbox_messages: gauges(&table::OUTBOX_MESSAGES),
            outbox_oldest: gauges(&table::OUTBOX_OLDEST),
            store_usable: gauges(&table::STORE_USABLE),
            loop_last_run: gauges(&table::LOOP_LAST_RUN),
            heartbeat_at: gauges(&table::HEARTBEAT_AT),
            reload_ok: gauges(&table::RELOAD_OK),
            reload_at: gauges(&table::RELOAD_AT),
        };
        let build_info = gauges(&table::BUILD_INFO);
        build_info.with_label_values(&[version, commit]).set(1.0);
        for result in Notification::ALL {
            own.notifications.with_label_values(&[result.as_str()]);
        }
        let all: [Box<dyn prometheus::core::Collector>; 22] = [
            Box::new(build_info),
            Box::new(own.collector_success.clone()),
            Box::new(own.collector_complete.clone()),
            Box::new(own.collector_duration.clone()),
            Box::new(own.collector_last_success.clone()),
            Box::new(own.collector_polls.clone()),
            Box::new(own.api_requests.clone()),
            Box::new(own.api_duration.clone()),
            Box::new(own.api_throttled.clone()),
            Box::new(own.reports_inconsistent.clone()),
            Box::new(own.series_dropped.clone()),
            Box::new(own.records_rejected.clone()),
            Box::new(own.unknown_values.clone()),
            Box::new(own.incidents.clone()),
            Box::new(own.notifications.clone()),
            Box::new(own.outbox_messages.clone()),
            Box::new(own.outbox_oldest.clone()),
            Box::new(own.store_usable.clone()),
            Box::new(own.loop_last_run.clone()),
            Box::new(own.heartbeat_at.clone()),
            Box::new(own.reload_ok.clone()),
            Box::new(own.reload_at.clone()),
        ];
        for metric in all {
            made(own.registry.register(metric));
        }
        own
    }

    /// Adds the `process_*` metrics of this process, read from `/proc/self` whenever a page is made.
    pub fn with_process(self) -> Self {
        #[cfg(target_os = "linux")]
        {
            let process = prometheus::process_collector::ProcessCollector::for_self();
            made(self.registry.register(Box::new(process)));
        }
        self
    }

    /// Starts the counters of an account at 0, for the collectors that are on and their groups.
    pub fn account(&self, account: &AccountName, collectors: &BTreeSet<Collector>) {
        let account = account.as_str();
        for collector in collectors.iter().map(|collector| collector.as_str()) {
            for result in POLL_RESULTS {
                self.collector_polls.with_label_values(&[account, collector, result]);
            }
            self.records_rejected.with_label_values(&[account, collector]);
            self.series_dropped.with_label_values(&[account, collector]);
        }
        if collectors.contains(&Collector::ExpectedBalance) {
            self.reports_inconsistent.with_label_values(&[account]);
        }
        let groups: BTreeSet<Group> = collectors.iter().map(|collector| collector.group()).collect();
        for group in groups.into_iter().map(Group::as_str) {
            self.api_requests.with_label_values(&[account, group, "200"]);
            self.api_duration.with_label_values(&[account, group]);
            self.api_throttled.with_label_values(&[account, group]);
        }
    }

    /// Drops every series of an account.
    pub fn remove_account(&self, account: &AccountName) {
        let _whole = self.lock();
        let account = account.as_str();
        for gauges in [
            &self.collector_success,
            &self.collector_complete,
            &self.collector_duration,
            &self.collector_last_success,
            &self.series_dropped,
            &self.incidents,
        ] {
            forget(gauges, account);
        }
        for counters in [
            &self.collector_polls,
            &self.api_requests,
            &self.records_rejected,
            &self.unknown_values,
            &self.reports_inconsistent,
        ] {
            forget(counters, account);
        }
        forget(&self.api_duration, account);
        forget(&self.api_throttled, account);
    }

    /// One request to the provider ended. `code` is the HTTP status, or a word where none came.
    pub fn request(&self, account: &AccountName, group: Group, code: &str, took: Duration) {
        let (account, group) = (account.as_str(), group.as_str());
        self.api_requests.with_label_values(&[account, group, code]).inc();
        self.api_duration.with_label_values(&[account, group]).observe(took.as_secs_f64());
    }

    /// A request waited for the call budget.
    pub fn throttled(&self, account: &AccountName, group: Group, waited: Duration) {
        let counter = self.api_throttled.with_label_values(&[account.as_str(), group.as_str()]);
        counter.inc_by(waited.as_secs_f64());
    }

    /// So many records could not be decoded.
    pub fn rejected(&self, account: &AccountName, collector: Collector, records: u64) {
        self.records_rejected.with_label_values(&[account.as_str(), collector.as_str()]).inc_by(records);
    }

    /// A report did not add up.
    pub fn inconsistent(&self, account: &AccountName) {
        self.reports_inconsistent.with_label_values(&[account.as_str()]).inc();
    }

    /// So many series the cap leaves out of the page.
    pub fn dropped(&self, account: &AccountName, collector: Collector, series: u64) {
        let labels = [account.as_str(), collector.as_str()];
        self.series_dropped.with_label_values(&labels).set(series as f64);
    }

    /// Replaces which families are left out of the page.
    pub fn hide(&self, hidden: Hidden) {
        *self.hidden.write().unwrap_or_else(PoisonError::into_inner) = hidden;
    }

    /// A field held a value that the interface does not list, or of another type.
    /// With a count of 0 the series only begins.
    pub fn unknown_values(&self, account: &AccountName, field: &str, count: u64) {
        self.unknown_values.with_label_values(&[account.as_str(), field]).inc_by(count);
    }

    /// A poll ended; `status` is what the account makes of it.
    pub fn collector(&self, account: &AccountName, collector: Collector, status: &CollectorStatus) {
        let _whole = self.lock();
        let labels = [account.as_str(), collector.as_str()];
        self.collector_success.with_label_values(&labels).set(f64::from(u8::from(status.success)));
        self.collector_complete.with_label_values(&labels).set(f64::from(u8::from(status.complete)));
        self.collector_duration.with_label_values(&labels).set(status.duration.as_secs_f64());
        if let Some(at) = status.last_success {
            self.collector_last_success.with_label_values(&labels).set(seconds(at));
        }
        let result = match (status.success, status.complete) {
            (true, true) => "success",
            (true, false) => "partial",
            (false, _) => "failure",
        };
        self.collector_polls.with_label_values(&[labels[0], labels[1], result]).inc();
    }

    /// Replaces the counts of incidents that are not over.
    pub fn incidents(&self, counts: &BTreeMap<IncidentLabels, u64>) {
        let _whole = self.lock();
        self.incidents.reset();
        for (IncidentLabels { account, kind, severity, state }, &count) in counts {
            self.incidents.with_label_values(&[account.as_str(), kind, severity, state]).set(count as f64);
        }
    }

    /// One delivery to one recipient ended.
    pub fn notification(&self, result: Notification) {
        self.notifications.with_label_values(&[result.as_str()]).inc();
    }

    /// Replaces what is known of the outbox: mails by state, and since when the oldest waits.
    pub fn outbox(&self, counts: &BTreeMap<&str, u64>, oldest: Option<DateTime<Utc>>) {
        let _whole = self.lock();
        self.outbox_messages.reset();
        for (state, &count) in counts {
            self.outbox_messages.with_label_values(&[*state]).set(count as f64);
        }
        self.outbox_oldest.reset();
        if let Some(oldest) = oldest {
            self.outbox_oldest.with_label_values::<&str>(&[]).set(seconds(oldest));
        }
    }

    /// Whether the store's file takes what is decided.
    pub fn store_usable(&self, usable: bool) {
        self.store_usable.with_label_values::<&str>(&[]).set(f64::from(u8::from(usable)));
    }

    /// A loop of the daemon last turned then.
    pub fn loop_ran(&self, name: &str, at: DateTime<Utc>) {
        self.loop_last_run.with_label_values(&[name]).set(seconds(at));
    }

    /// The heartbeat got through.
    pub fn heartbeat(&self, at: DateTime<Utc>) {
        self.heartbeat_at.with_label_values::<&str>(&[]).set(seconds(at));
    }

    /// The configuration was loaded, or was refused; the first load counts too.
    pub fn reload(&self, ok: bool, at: DateTime<Utc>) {
        let _whole = self.lock();
        self.reload_ok.with_label_values::<&str>(&[]).set(f64::from(u8::from(ok)));
        if ok {
            self.reload_at.with_label_values::<&str>(&[]).set(seconds(at));
        }
    }

    /// The metrics as they stand: text 0.0.4, or OpenMetrics 1.0.0 with its `# EOF`.
    pub fn encode(&self, openmetrics: bool) -> Vec<u8> {
        let families = {
            let _whole = self.lock();
            self.registry.gather()
        };
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::with_capacity(16 * 1024);
        for family in families {
            // The crate's encoder refuses all for one family without a sample.
            if family.get_metric().is_empty() || hidden.has(family.name()) {
                continue;
            }
            prometheus::TextEncoder::new()
                .encode_utf8(&[family], &mut text)
                .expect("a family with samples encodes into memory");
        }
        if openmetrics { openmetrics::from_text(&text) } else { text.into_bytes() }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp() as f64
}

fn opts(family: &Family) -> Opts {
    Opts::new(family.name, family.help())
}

fn gauges(family: &Family) -> GaugeVec {
    made(GaugeVec::new(opts(family), family.labels))
}

fn counters(family: &Family) -> IntCounterVec {
    made(IntCounterVec::new(opts(family), family.labels))
}

fn histograms(family: &Family) -> HistogramVec {
    let opts = HistogramOpts { common_opts: opts(family), buckets: DURATION_BUCKETS.into() };
    made(HistogramVec::new(opts, family.labels))
}

fn made<T>(result: prometheus::Result<T>) -> T {
    result.expect("names and labels of the table are valid and unique, a test holds them to it")
}

/// Removes the series of a vector whose `account` label is this one.
fn forget<T: MetricVecBuilder>(vector: &MetricVec<T>, account: &str) {
    for family in vector.collect() {
        for metric in family.get_metric() {
            let labels = metric.get_label().iter();
            let labels: HashMap<&str, &str> = labels.map(|pair| (pair.name(), pair.value())).collect();
            if labels.get("account") == Some(&account) {
                // Gone already is as good.
                let _ = vector.remove(&labels);
            }
        }
    }
}
