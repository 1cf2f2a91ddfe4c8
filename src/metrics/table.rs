//! The table of all metric families: one row to add one. The encoder and the registry take names,
//! types and help texts from here, and so does the reference.

use super::family::{Family, Type};
use crate::model::Collector;

macro_rules! families {
    ($($id:ident = $name:literal, $kind:ident, [$($label:literal),*], $collector:expr, $about:literal;)*) => {
        $(pub(crate) static $id: Family = Family {
            name: $name,
            kind: Type::$kind,
            about: $about,
            labels: &[$($label),*],
            collector: $collector,
            outlives_stale_after: outlives($name),
        };)*

        /// Every family, in the order of the reference.
        pub static FAMILIES: &[&Family] = &[$(&$id),*];
    };
}

const VMS: Option<Collector> = Some(Collector::Vms);
const CONTAINERS: Option<Collector> = Some(Collector::Containers);
const SITES: Option<Collector> = Some(Collector::Sites);
const BALANCE: Option<Collector> = Some(Collector::ExpectedBalance);
const OWN: Option<Collector> = None;

/// Only when an account is cut off: an old date is worth more than none.
const fn outlives(name: &str) -> bool {
    let (name, prefix) = (name.as_bytes(), b"hosting_billing_disconnect_");
    let mut at = 0;
    while at < prefix.len() {
        if at == name.len() || name[at] != prefix[at] {
            return false;
        }
        at += 1;
    }
    true
}

families! {
    ACCOUNT_INFO = "hosting_account_info", Gauge, ["account", "currency", "time_zone"], OWN,
        "Currency and time zone of the account as configured, always 1.";

    VM_INFO = "hosting_vm_info", Gauge, ["account", "vm", "vm_id", "name", "tariff"], VMS,
        "Descriptions of the VM with this numeric id, always 1.";
    VM_STATE = "hosting_vm_state", Gauge, ["account", "vm", "state"], VMS,
        "State of the VM, 1 on the current one.";
    VM_CPUS = "hosting_vm_cpus", Gauge, ["account", "vm"], VMS,
        "CPUs of the VM.";
    VM_MEMORY = "hosting_vm_memory_bytes", Gauge, ["account", "vm"], VMS,
        "Memory of the VM in bytes, absent until vm_memory_unit is configured.";
    VM_MONITORING = "hosting_vm_monitoring_enabled", Gauge, ["account", "vm"], VMS,
        "Whether the provider's monitoring service is on for the VM (0 or 1).";
    VM_DISKS = "hosting_vm_disks", Gauge, ["account", "vm"], VMS,
        "Disks attached to the VM.";
    VM_IPS = "hosting_vm_ips", Gauge, ["account", "vm"], VMS,
        "IP addresses of the VM.";
    VMS_COUNT = "hosting_vms", Gauge, ["account", "state"], VMS,
        "VMs by state, once the listing was read completely.";

    CONTAINER_INFO = "hosting_container_info", Gauge, ["account", "container", "login", "name", "server"], CONTAINERS,
        "Descriptions of the container with this id, always 1.";
    CONTAINER_STATE = "hosting_container_state", Gauge, ["account", "container", "state"], CONTAINERS,
        "State of the container, 1 on the current one.";
    CONTAINER_MEMORY = "hosting_container_memory_limit_bytes", Gauge, ["account", "container"], CONTAINERS,
        "Memory limit of the container in bytes (the provider's MB taken as 1048576).";
    CONTAINER_DISK = "hosting_container_disk_quota_bytes", Gauge, ["account", "container"], CONTAINERS,
        "Disk quota of the container in bytes (the provider's MB taken as 1048576).";
    CONTAINER_IN_TRANSFER = "hosting_container_in_transfer", Gauge, ["account", "container"], CONTAINERS,
        "Whether the container is being transferred to another account (0 or 1).";
    CONTAINER_CREATED = "hosting_container_created_timestamp_seconds", Gauge, ["account", "container"], CONTAINERS,
        "When the container was created, in seconds since the Unix epoch.";
    CONTAINER_UPDATED = "hosting_container_updated_timestamp_seconds", Gauge, ["account", "container"], CONTAINERS,
        "When the container was changed last, in seconds since the Unix epoch.";
    CONTAINERS_COUNT = "hosting_containers", Gauge, ["account", "state"], CONTAINERS,
        "Containers by state, once the listing was read completely.";

    SITE_INFO = "hosting_site_info", Gauge, ["account", "site", "name", "container", "engine", "engine_version"], SITES,
        "Descriptions of the site with this id, always 1.";
    SITE_STATE = "hosting_site_state", Gauge, ["account", "site", "state"], SITES,
        "State of the site, 1 on the current one.";
    SITE_WORKERS = "hosting_site_workers", Gauge, ["account", "site"], SITES,
        "Workers of the site.";
    SITE_FORCE_HTTPS = "hosting_site_force_https", Gauge, ["account", "site"], SITES,
        "Whether the site redirects to HTTPS (0 or 1); effective only with a certificate.";
    SITE_CERTIFICATE = "hosting_site_certificate", Gauge, ["account", "site"], SITES,
        "Whether the site has a TLS certificate (0 or 1).";
    SITE_CREATED = "hosting_site_created_timestamp_seconds", Gauge, ["account", "site"], SITES,
        "When the site was created, in seconds since the Unix epoch.";
    SITE_UPDATED = "hosting_site_updated_timestamp_seconds", Gauge, ["account", "site"], SITES,
        "When the site was changed last, in seconds since the Unix epoch.";
    SITES_COUNT = "hosting_sites", Gauge, ["account", "state"], SITES,
        "Sites by state, once those of every known container were read completely.";

    DATABASES = "hosting_databases", Gauge, ["account", "site"], Some(Collector::Databases),
        "Databases of the site.";
    CRON_JOBS = "hosting_cron_jobs", Gauge, ["account", "site"], Some(Collector::CronJobs),
        "Cron jobs of the site.";
    IP_INFO = "hosting_ip_info", Gauge, ["account", "ip", "address", "vm"], Some(Collector::Ips),
        "The IP record with this id: its address and the numeric id of its VM, always 1.";
    SSH_KEYS = "hosting_ssh_keys", Gauge, ["account"], Some(Collector::SshKeys),
        "SSH keys of the account, once the listing was read completely.";

    BILLING_BALANCE = "hosting_billing_balance", Gauge, ["account"], BALANCE,
        "Balance now, in the account's currency.";
    BILLING_EXPECTED_BALANCE = "hosting_billing_expected_balance", Gauge, ["account"], BALANCE,
        "Balance expected at the end of the report, in the account's currency.";
    BILLING_HORIZON = "hosting_billing_horizon_timestamp_seconds", Gauge, ["account"], BALANCE,
        "End of the expected-balance report, in seconds since the Unix epoch.";
    BILLING_DISCONNECT_EXPECTED = "hosting_billing_disconnect_expected", Gauge, ["account"], BALANCE,
        "Whether the account is or will be cut off for non-payment before the end of the report (0 or 1), absent where the report does not tell.";
    BILLING_DISCONNECT = "hosting_billing_disconnect_timestamp_seconds", Gauge, ["account"], BALANCE,
        "When the account is expected to be cut off for non-payment, in seconds since the Unix epoch, absent when none is expected.";
    BILLING_DISCONNECT_COMPUTED = "hosting_billing_disconnect_computed_timestamp_seconds", Gauge, ["account"], BALANCE,
        "When by its charges the balance is used up, in seconds since the Unix epoch, absent when it is not; the report's own date may differ.";
    BILLING_FORECAST = "hosting_billing_forecast_balance", Gauge, ["account", "days"], BALANCE,
        "Balance after the last charge within so many days, in the account's currency.";
    BILLING_TOP_UP = "hosting_billing_top_up_required", Gauge, ["account", "days"], BALANCE,
        "Least payment that keeps the balance above 0 through every charge within so many days, in the account's currency.";
    BILLING_NEXT_CHARGE = "hosting_billing_next_charge_timestamp_seconds", Gauge, ["account"], BALANCE,
        "When the next charge is due, in seconds since the Unix epoch.";
    BILLING_NEXT_CHARGE_AMOUNT = "hosting_billing_next_charge_amount", Gauge, ["account"], BALANCE,
        "All that is charged at the moment of the next charge, in the account's currency.";
    BILLING_ORDER_INFO = "hosting_billing_order_info", Gauge, ["account", "order", "comment", "tariff", "generic_type", "state"], BALANCE,
        "Descriptions of the billing order with this id, always 1.";
    BILLING_ORDER_CHARGES = "hosting_billing_order_charges_amount", Gauge, ["account", "order"], BALANCE,
        "Sum of the order's charges up to the end of the report, in the account's currency.";
    BILLING_ORDERS = "hosting_billing_orders", Gauge, ["account", "state"], BALANCE,
        "Billing orders with charges ahead, by state.";
    BILLING_CHARGED = "hosting_billing_charged_amount", Gauge, ["account"], Some(Collector::Charges),
        "Sum of what was charged in the last 30 days, in the account's currency.";

    BUILD_INFO = "hostwatch_build_info", Gauge, ["version", "commit"], OWN,
        "Version and commit of this binary, always 1.";
    COLLECTOR_SUCCESS = "hostwatch_collector_success", Gauge, ["account", "collector"], OWN,
        "Whether the collector's last poll succeeded (0 or 1), absent before the first ended.";
    COLLECTOR_COMPLETE = "hostwatch_collector_complete", Gauge, ["account", "collector"], OWN,
        "Whether the collector's last poll succeeded and showed every row (0 or 1), absent before the first ended.";
    COLLECTOR_DURATION = "hostwatch_collector_duration_seconds", Gauge, ["account", "collector"], OWN,
        "How long the collector's last poll took, in seconds.";
    COLLECTOR_LAST_SUCCESS = "hostwatch_collector_last_success_timestamp_seconds", Gauge, ["account", "collector"], OWN,
        "When the collector's last successful poll ended, in seconds since the Unix epoch: the age of what is served where polls fail.";
    COLLECTOR_POLLS = "hostwatch_collector_polls_total", Counter, ["account", "collector", "result"], OWN,
        "Polls that ended, by result: success, partial (some rows could not be had) or failure.";
    API_REQUESTS = "hostwatch_api_requests_total", Counter, ["account", "group", "code"], OWN,
        "Requests to the provider, by endpoint group and HTTP status code, or what happened in its place.";
    API_DURATION = "hostwatch_api_request_duration_seconds", Histogram, ["account", "group"], OWN,
        "How long requests to the provider took, in seconds.";
    API_THROTTLED = "hostwatch_api_throttled_seconds_total", Counter, ["account", "group"], OWN,
        "Time that requests waited for the call budget, in seconds.";
    REPORTS_INCONSISTENT = "hostwatch_reports_inconsistent_total", Counter, ["account"], OWN,
        "Expected-balance reports whose charges and balances do not add up; they are shown as reported.";
    SERIES_DROPPED = "hostwatch_series_dropped", Gauge, ["account", "collector"], OWN,
        "Series of the collector that max_series_per_collector leaves out, whole resources at a time, highest ids first.";
    RECORDS_REJECTED = "hostwatch_records_rejected_total", Counter, ["account", "collector"], OWN,
        "Records of the provider that could not be decoded.";
    UNKNOWN_VALUES = "hostwatch_unknown_values_total", Counter, ["account", "field"], OWN,
        "Values of the provider that its documentation does not list, or of another type than it says, by field.";
    INCIDENTS = "hostwatch_incidents", Gauge, ["account", "kind", "severity", "state"], OWN,
        "Incidents that are not over, by kind, severity and state.";
    NOTIFICATIONS = "hostwatch_notifications_total", Counter, ["result"], OWN,
        "Attempts to deliver a mail to one recipient, by result: sent, retry or dead.";
    OUTBOX_MESSAGES = "hostwatch_outbox_messages", Gauge, ["state"], OWN,
        "Mails in the outbox, one a recipient, by state.";
    OUTBOX_OLDEST = "hostwatch_outbox_oldest_timestamp_seconds", Gauge, [], OWN,
        "When the oldest mail that waits was queued, in seconds since the Unix epoch, absent when none waits.";
    STORE_USABLE = "hostwatch_store_usable", Gauge, [], OWN,
        "Whether the store's file takes incidents and mails; 0 while they go on in memory.";
    LOOP_LAST_RUN = "hostwatch_loop_last_run_timestamp_seconds", Gauge, ["loop"], OWN,
        "When a loop of the daemon last turned: pipeline, sender, collectors (the account that waited longest).";
    HEARTBEAT_AT = "hostwatch_heartbeat_last_success_timestamp_seconds", Gauge, [], OWN,
        "When heartbeat.url was last pinged, absent before the first time.";
    RELOAD_OK = "hostwatch_config_last_reload_successful", Gauge, [], OWN,
        "Whether the last attempt to load the configuration succeeded (0 or 1).";
    RELOAD_AT = "hostwatch_config_last_reload_success_timestamp_seconds", Gauge, [], OWN,
        "When the configuration was last loaded, in seconds since the Unix epoch.";

    PROCESS_CPU = "process_cpu_seconds_total", Counter, [], OWN,
        "Total user and system CPU time spent in seconds.";
    PROCESS_OPEN_FDS = "process_open_fds", Gauge, [], OWN,
        "Number of open file descriptors.";
    PROCESS_MAX_FDS = "process_max_fds", Gauge, [], OWN,
        "Maximum number of open file descriptors.";
    PROCESS_VIRTUAL = "process_virtual_memory_bytes", Gauge, [], OWN,
        "Virtual memory size in bytes.";
    PROCESS_RESIDENT = "process_resident_memory_bytes", Gauge, [], OWN,
        "Resident memory size in bytes.";
    PROCESS_START = "process_start_time_seconds", Gauge, [], OWN,
        "Start time of the process since unix epoch in seconds.";
    PROCESS_THREADS = "process_threads", Gauge, [], OWN,
        "Number of OS threads in the process.";
}
