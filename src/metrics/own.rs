//! The daemon's own metrics: collectors, requests, mails, configuration, and the process through the prometheus
//! crate. `encoder` has the metrics of the provider's data.
//!
//! The metrics of the process are the one part that is not pure: encoding reads `/proc/self`. They exist only
//! after [`Own::with_process`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use prometheus::Registry;

use super::family::{Family, Type};
use super::vectors::{self, Vector, own_metrics};
use crate::model::mails::OutboxSummary;
use crate::model::{AccountName, Collector, CollectorStatus, Group};

const POLL_RESULTS: [&str; 3] = ["success", "partial", "failure"];

/// The result of one attempt to deliver a mail to one recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(crate) enum Notification {
    Sent,
    Retry,
    Refused,
}

impl Notification {
    pub(crate) const ALL: [Self; 3] = [Self::Sent, Self::Retry, Self::Refused];
}

own_metrics! {
    build_info: Gauge = "hostwatch_build_info", ["version", "commit"],
        "Version and commit of this binary, always 1.";
    web_info: Gauge = "hostwatch_web_info", ["external_url"],
        "Where people reach the status page, as web.external_url says, without a slash at the end, always 1, absent where it says nothing.";
    collector_success: Gauge = "hostwatch_collector_success", ["account", "collector"],
        "Whether the collector's last poll succeeded (0 or 1), 0 until the first ended: it is there for every collector that is on.";
    collector_complete: Gauge = "hostwatch_collector_complete", ["account", "collector"],
        "Whether the collector's last poll succeeded and showed every row (0 or 1), absent before the first ended.";
    collector_duration: Gauge = "hostwatch_collector_duration_seconds", ["account", "collector"],
        "How long the collector's last poll took, in seconds.";
    collector_last_success: Gauge = "hostwatch_collector_last_success_timestamp_seconds", ["account", "collector"],
        "When the collector's last successful poll ended, in seconds since the Unix epoch: the age of what is served where polls fail.";
    collector_polls: Counter = "hostwatch_collector_polls_total", ["account", "collector", "result"],
        "Polls that ended, by result: success, partial (rows are missing or unreadable) or failure; for sites, one container's listing that fails is a failure.";
    api_requests: Counter = "hostwatch_api_requests_total", ["account", "group", "code"],
        "Requests to the provider, by endpoint group and HTTP status code, or what happened in its place.";
    api_duration: Histogram = "hostwatch_api_request_duration_seconds", ["account", "group"],
        "How long requests to the provider took, in seconds.";
    api_throttled: Counter = "hostwatch_api_throttled_seconds_total", ["account", "group"],
        "Time that requests waited for the call budget, in seconds.";
    reports_inconsistent: Counter = "hostwatch_reports_inconsistent_total", ["account"],
        "Expected-balance reports whose charges and balances do not add up; they are shown as reported.";
    records_rejected: Counter = "hostwatch_records_rejected_total", ["account", "collector"],
        "Records of the provider that could not be decoded.";
    unknown_values: Counter = "hostwatch_unknown_values_total", ["account", "field"],
        "Values of the provider that its documentation does not list, or of another type than it says, by field.";
    incidents: Gauge = "hostwatch_incidents", ["account", "kind", "severity", "state"],
        "Open incidents, by kind, severity and state.";
    notifications: Counter = "hostwatch_notifications_total", ["result"],
        "Attempts to deliver a mail to one recipient, by result: sent, retry (mail or connection failed for now) or refused (the server refuses the recipient or the mail).";
    outbox_messages: Gauge = "hostwatch_outbox_messages", ["state"],
        "Recipients for whom mail waits (queued), mails on their way (sending), recipients for whom the server refuses the address, the mail or us (held).";
    outbox_oldest: Gauge = "hostwatch_outbox_oldest_timestamp_seconds", [],
        "When the oldest news that has to leave was first owed, in seconds since the Unix epoch; absent where nothing is owed. News that waits for max_per_hour does not count.";
    store_usable: Gauge = "hostwatch_store_usable", [],
        "Whether the store's file takes incidents and mails; 0 while they go on in memory.";
    heartbeat_configured: Gauge = "hostwatch_heartbeat_configured", [],
        "Whether heartbeat.url is set (0 or 1).";
    heartbeat_at: Gauge = "hostwatch_heartbeat_last_success_timestamp_seconds", [],
        "When heartbeat.url was last pinged, absent before the first time.";
    reload_ok: Gauge = "hostwatch_config_last_reload_successful", [],
        "Whether the last attempt to load the configuration succeeded (0 or 1).";
    reload_at: Gauge = "hostwatch_config_last_reload_success_timestamp_seconds", [],
        "When the configuration was last loaded, in seconds since the Unix epoch.";
}

const fn process(name: &'static str, kind: Type, about: &'static str) -> Family {
    vectors::family(kind, name, &[], about)
}

/// The prometheus crate's collector reads these, under exactly these names.
pub(super) const PROCESS: &[Family] = &[
    process("process_cpu_seconds_total", Type::Counter, "Total user and system CPU time spent in seconds."),
    process("process_open_fds", Type::Gauge, "Number of open file descriptors."),
    process("process_max_fds", Type::Gauge, "Maximum number of open file descriptors."),
    process("process_virtual_memory_bytes", Type::Gauge, "Virtual memory size in bytes."),
    process("process_resident_memory_bytes", Type::Gauge, "Resident memory size in bytes."),
    process(
        "process_start_time_seconds",
        Type::Gauge,
        "Start time of the process since unix epoch in seconds.",
    ),
    process("process_threads", Type::Gauge, "Number of OS threads in the process."),
];

/// The daemon's own metrics. All methods may be called from anywhere at any time.
#[derive(Debug)]
pub(crate) struct Own {
    /// The registry of the process metrics only.
    registry: Registry,
    /// Held while several series change together, and while a page is made, so that no page shows half an
    /// update.
    whole: Mutex<()>,
    vectors: Vectors,
}

impl Own {
    /// The metrics of a daemon of this version and commit. Counters without an account begin at 0.
    pub(crate) fn new(version: &str, commit: &str) -> Self {
        let vectors = Vectors::new();
        vectors.build_info.set(&[version, commit], 1.0);
        for result in Notification::ALL {
            vectors.notifications.begin(&[result.into_str()]);
        }
        Self { registry: Registry::new(), whole: Mutex::default(), vectors }
    }

    /// Adds the `process_*` metrics of this process, which each page reads from `/proc/self`.
    pub(crate) fn with_process(self) -> Self {
        #[cfg(target_os = "linux")]
        {
            let process = prometheus::process_collector::ProcessCollector::for_self();
            self.registry.register(Box::new(process)).expect("nothing else is in the registry");
        }
        self
    }

    /// Begins the counters of an account at 0, for the collectors that are on and their groups, and drops the
    /// series of those that are off. Success begins at 0: the alert rules learn from it which accounts are
    /// watched.
    pub(crate) fn account(&self, account: &AccountName, collectors: &BTreeSet<Collector>) {
        let _whole = self.whole.lock();
        let account = account.as_str();
        for off in Collector::ALL.iter().filter(|collector| !collectors.contains(collector)) {
            self.forget(account, Some(("collector", off.as_str())));
        }
        for collector in collectors.iter().map(|collector| collector.as_str()) {
            for result in POLL_RESULTS {
                self.vectors.collector_polls.begin(&[account, collector, result]);
            }
            self.vectors.collector_success.begin(&[account, collector]);
            self.vectors.records_rejected.begin(&[account, collector]);
        }
        if collectors.contains(&Collector::ExpectedBalance) {
            self.vectors.reports_inconsistent.begin(&[account]);
        }
        let groups: BTreeSet<Group> = collectors.iter().map(|collector| collector.group()).collect();
        for group in groups.into_iter().map(Group::as_str) {
            self.vectors.api_requests.begin(&[account, group, "200"]);
            self.vectors.api_duration.begin(&[account, group]);
            self.vectors.api_throttled.begin(&[account, group]);
        }
    }

    /// Drops all series of an account.
    pub(crate) fn remove_account(&self, account: &AccountName) {
        let _whole = self.whole.lock();
        self.forget(account.as_str(), None);
    }

    /// Counts a request to the provider. `code` is the HTTP status, or a word if no answer came.
    pub(crate) fn request(&self, account: &AccountName, group: Group, code: &str, took: Duration) {
        let (account, group) = (account.as_str(), group.as_str());
        self.vectors.api_requests.add(&[account, group, code], 1.0);
        self.vectors.api_duration.add(&[account, group], took.as_secs_f64());
    }

    /// Adds the time that a request waited for the call budget.
    pub(crate) fn throttled(&self, account: &AccountName, group: Group, waited: Duration) {
        self.vectors.api_throttled.add(&[account.as_str(), group.as_str()], waited.as_secs_f64());
    }

    /// Counts records that could not be decoded.
    pub(crate) fn rejected(&self, account: &AccountName, collector: Collector, records: u64) {
        self.vectors.records_rejected.add(&[account.as_str(), collector.as_str()], records as f64);
    }

    /// Counts a report that does not add up.
    pub(crate) fn inconsistent(&self, account: &AccountName) {
        self.vectors.reports_inconsistent.add(&[account.as_str()], 1.0);
    }

    /// Sets the configured address of the page.
    pub(crate) fn external_url(&self, url: Option<&str>) {
        let _whole = self.whole.lock();
        self.vectors.web_info.reset();
        if let Some(url) = url {
            self.vectors.web_info.set(&[url.trim_end_matches('/')], 1.0);
        }
    }

    /// Counts values that the interface does not list, or that are of another type. With a count of 0 the
    /// series only begins.
    pub(crate) fn unknown_values(&self, account: &AccountName, field: &str, count: u64) {
        self.vectors.unknown_values.add(&[account.as_str(), field], count as f64);
    }

    /// Notes the end of a poll; `status` is the collector's state after it.
    pub(crate) fn collector(&self, account: &AccountName, collector: Collector, status: &CollectorStatus) {
        let _whole = self.whole.lock();
        let labels = [account.as_str(), collector.as_str()];
        self.vectors.collector_success.set(&labels, f64::from(status.success));
        self.vectors.collector_complete.set(&labels, f64::from(status.complete));
        self.vectors.collector_duration.set(&labels, status.duration.as_secs_f64());
        if let Some(at) = status.last_success {
            self.vectors.collector_last_success.set(&labels, seconds(at));
        }
        let result = match (status.success, status.complete) {
            (true, true) => "success",
            (true, false) => "partial",
            (false, _) => "failure",
        };
        self.vectors.collector_polls.add(&[labels[0], labels[1], result], 1.0);
    }

    /// Replaces the counts of open incidents of one account, by account, kind, severity and state.
    pub(crate) fn incidents(&self, account: &str, counts: &BTreeMap<[&str; 4], u64>) {
        let _whole = self.whole.lock();
        let incidents = &self.vectors.incidents;
        incidents.forget(account, None);
        for (labels, &count) in counts {
            incidents.set(labels, count as f64);
        }
    }

    /// Counts a delivery to one recipient.
    pub(crate) fn notification(&self, result: Notification) {
        self.vectors.notifications.add(&[result.into_str()], 1.0);
    }

    /// Replaces the numbers of debts and of mails on their way.
    pub(crate) fn outbox(&self, outbox: &OutboxSummary) {
        let _whole = self.whole.lock();
        let OutboxSummary { owed, in_flight, held, oldest, .. } = *outbox;
        for (state, count) in [("queued", owed - held), ("sending", in_flight), ("held", held)] {
            self.vectors.outbox_messages.set(&[state], count as f64);
        }
        self.vectors.outbox_oldest.reset();
        if let Some(oldest) = oldest {
            self.vectors.outbox_oldest.set(&[], seconds(oldest));
        }
    }

    /// Whether the store's file can be written.
    pub(crate) fn store_usable(&self, usable: bool) {
        self.vectors.store_usable.set(&[], f64::from(usable));
    }

    /// Sets whether a heartbeat is configured. Without one, the time of the last success is dropped.
    pub(crate) fn heartbeat_configured(&self, configured: bool) {
        let _whole = self.whole.lock();
        self.vectors.heartbeat_configured.set(&[], f64::from(configured));
        if !configured {
            self.vectors.heartbeat_at.reset();
        }
    }

    /// Notes that a heartbeat succeeded.
    pub(crate) fn heartbeat(&self, at: DateTime<Utc>) {
        self.vectors.heartbeat_at.set(&[], seconds(at));
    }

    /// Notes whether the configuration was loaded or refused. The first load counts, too.
    pub(crate) fn reload(&self, ok: bool, at: DateTime<Utc>) {
        let _whole = self.whole.lock();
        self.vectors.reload_ok.set(&[], f64::from(ok));
        if ok {
            self.vectors.reload_at.set(&[], seconds(at));
        }
    }

    /// The current metrics: text 0.0.4, or OpenMetrics 1.0.0 with its `# EOF`.
    pub(crate) fn encode(&self, openmetrics: bool) -> Vec<u8> {
        let mut text = Vec::with_capacity(16 * 1024);
        {
            let _whole = self.whole.lock();
            let mut vectors = self.vectors.all();
            vectors.sort_by_key(|vector| vector.family.name);
            for vector in vectors {
                vector.write(openmetrics, &mut text);
            }
        }
        for gathered in self.registry.gather() {
            let Some(row) = PROCESS.iter().find(|row| row.name == gathered.name()) else { continue };
            text.extend_from_slice(row.header(openmetrics).as_bytes());
            for one in gathered.get_metric() {
                // A counter's value as a gauge is 0, and so is a gauge's as a counter.
                let value = one.get_counter().get_value() + one.get_gauge().get_value();
                let _ = writeln!(text, "{} {value}", row.name);
            }
        }
        if openmetrics {
            text.extend_from_slice(b"# EOF\n");
        }
        text
    }

    fn forget(&self, account: &str, of: Option<(&str, &str)>) {
        self.vectors.all().iter().for_each(|vector| vector.forget(account, of));
    }
}

fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp() as f64
}
