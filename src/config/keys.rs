//! Every configuration key: where it stands, its type, its default, what it is for. Unknown keys are told
//! from it, environment values typed by it, docs/configuration.md generated from it. Reads nothing itself.

use std::sync::LazyLock;

use figment::Provider;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};

use crate::alert;
use crate::model::AccountName;

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    /// Where it stands; `<name>`, `<kind>` and `<code>` for what the user names.
    pub path: &'static str,
    pub kind: Type,
    /// As TOML; empty where there is none.
    pub default: &'static str,
    #[cfg_attr(not(test), allow(dead_code, reason = "for docs/configuration.md, which a test writes"))]
    pub help: &'static str,
}

/// What a value is. Those from `Text` to `File` are strings in TOML.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Text,
    Secret,
    Url,
    Cron,
    Duration,
    File,
    Switch,
    Count,
    Texts,
    Counts,
}

impl Type {
    /// For people: in errors and in the reference.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Secret => "secret",
            Self::Url => "URL",
            Self::Cron => "cron expression",
            Self::Duration => "duration",
            Self::File => "file",
            Self::Switch => "true or false",
            Self::Count => "whole number",
            Self::Texts => "list of texts",
            Self::Counts => "list of whole numbers",
        }
    }

    /// An example, as TOML.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Text | Self::Secret => "\"text\"",
            Self::Url => "\"https://panel.example.com\"",
            Self::Cron => "\"*/5 * * * *\"",
            Self::Duration => "\"30m\"",
            Self::File => "\"path/to/file\"",
            Self::Switch => "true",
            Self::Count => "7",
            Self::Texts => "[\"a\", \"b\"]",
            Self::Counts => "[14, 7]",
        }
    }

    /// What an error says should be there.
    pub(super) fn expected(self) -> String {
        format!("{}, such as {}", self.as_str(), self.example())
    }

    /// Is a string in TOML.
    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Secret | Self::Url | Self::Cron | Self::Duration | Self::File)
    }

    /// Is this a value of the type?
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Switch => value.to_bool().is_some(),
            Self::Count => value.deserialize::<u32>().is_ok(),
            Self::Texts => value.deserialize::<Vec<String>>().is_ok(),
            Self::Counts => value.deserialize::<Vec<u32>>().is_ok(),
            Self::Text | Self::Secret | Self::Url | Self::Cron | Self::Duration | Self::File => {
                value.as_str().is_some()
            }
        }
    }
}

/// Tables that an account, or `[defaults]`, may carry to override them key by key.
const OWN_TABLES: [&str; 4] = ["schedule.", "limits.", "billing.", "alerts."];

impl Key {
    #[cfg(test)]
    /// The default as a value; `None` where there is none.
    pub(crate) fn default_value(&self) -> Option<Value> {
        (!self.default.is_empty()).then(|| toml_value(self.default)).flatten()
    }
}

/// One value written as TOML.
pub(super) fn toml_value(text: &str) -> Option<Value> {
    let data = Toml::string(&format!("value = {text}\n")).data().ok()?;
    let mut table: Dict = data.into_values().next()?;
    if table.len() == 1 { table.remove("value") } else { None }
}

/// The row of a key as it stands in a file.
pub(super) fn find(path: &[String]) -> Option<&'static Key> {
    PATTERNS
        .iter()
        .find(|pattern| pattern.segments.len() == path.len() && pattern.covers(path))
        .map(|p| p.key)
}

/// Is this a table of the configuration?
pub(super) fn is_table(path: &[String]) -> bool {
    PATTERNS.iter().any(|pattern| pattern.segments.len() > path.len() && pattern.covers(path))
}

/// What may stand in this table, placeholders included.
pub(super) fn names_in(table: &[String]) -> Vec<&'static str> {
    let fitting = PATTERNS.iter().filter(|p| p.segments.len() > table.len() && p.covers(table));
    let mut names: Vec<&'static str> = fitting.map(|pattern| pattern.segments[table.len()]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Full paths of the keys with this last name, for "it belongs in …".
pub(super) fn homes_of(name: &str) -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.path).filter(move |path| path.rsplit('.').next() == Some(name))
}

/// Where a key may stand.
struct Pattern {
    segments: Vec<&'static str>,
    key: &'static Key,
}

impl Pattern {
    fn covers(&self, path: &[String]) -> bool {
        covers(&self.segments, path)
    }
}

fn per_account(path: &str) -> bool {
    OWN_TABLES.iter().any(|table| path.starts_with(table)) && path != "schedule.digest"
}

/// Everywhere that a key of the table may stand: where it says, and where an account or `[defaults]` has it.
fn places(path: &'static str) -> Vec<Vec<&'static str>> {
    let segments: Vec<&'static str> = path.split('.').collect();
    let mut places = Vec::new();
    if let ["accounts", "<name>", rest @ ..] = segments.as_slice() {
        places.push([&["defaults"], rest].concat());
    }
    if per_account(path) {
        places.push([&["defaults"], segments.as_slice()].concat());
        places.push([&["accounts", "<name>"], segments.as_slice()].concat());
    }
    places.push(segments);
    places
}

/// As far as both go.
fn covers(place: &[&str], path: &[String]) -> bool {
    place.iter().zip(path).all(|(segment, name)| match *segment {
        "<name>" => name.parse::<AccountName>().is_ok(),
        "<kind>" => name.parse::<alert::Kind>().is_ok(),
        "<code>" => name.parse::<i64>().is_ok(),
        exact => exact == name,
    })
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    KEYS.iter()
        .flat_map(|key| places(key.path).into_iter().map(move |segments| Pattern { segments, key }))
        .collect()
});

const fn key(path: &'static str, kind: Type, default: &'static str, help: &'static str) -> Key {
    Key { path, kind, default, help }
}

/// The table, in the order of the reference.
pub(crate) const KEYS: &[Key] = &[
    key(
        "accounts.<name>.base_url",
        Type::Url,
        "",
        "Address of the hosting endpoints (containers, sites, databases, cron jobs). Plain http only to a \
         loopback address, unless `allow_http`.",
    ),
    key("accounts.<name>.panel_url", Type::Url, "", "Address of the VM and billing endpoints."),
    key(
        "accounts.<name>.hosting_token",
        Type::Secret,
        "",
        "Access token of the hosting endpoints. Without it they are not polled.",
    ),
    key("accounts.<name>.hosting_token_file", Type::File, "", "File that holds `hosting_token`."),
    key(
        "accounts.<name>.hosting_auth_scheme",
        Type::Text,
        "\"Bearer\"",
        "Word before the token in the Authorization header; `\"\"` for none. The provider's interface does not \
         say which it is.",
    ),
    key(
        "accounts.<name>.vm_api_key",
        Type::Secret,
        "",
        "API key of the VM endpoints. Without it they are not polled.",
    ),
    key("accounts.<name>.vm_api_key_file", Type::File, "", "File that holds `vm_api_key`."),
    key(
        "accounts.<name>.billing_username",
        Type::Text,
        "",
        "User of the billing endpoints. Without user and password they are not polled.",
    ),
    key("accounts.<name>.billing_password", Type::Secret, "", "Password of the billing endpoints."),
    key("accounts.<name>.billing_password_file", Type::File, "", "File that holds `billing_password`."),
    key(
        "accounts.<name>.time_zone",
        Type::Text,
        "",
        "IANA name of the zone of datetimes that come without an offset, of schedules, of dates in mails. \
         Required where billing is polled: a wrong guess would move the day of disconnection.",
    ),
    key("accounts.<name>.currency", Type::Text, "\"\"", "Shown beside amounts."),
    key(
        "accounts.<name>.container_states.<code>",
        Type::Text,
        "",
        "Name of a container's numeric state: `ENABLED`, `DISABLED_BY_SERVICE`, `DISABLED_BY_ADMIN` or \
         `DISABLED_BY_QUOTA`. The provider's interface does not give the codes; one without a name is shown as \
         the number it is, and no container counts as disabled by it.",
    ),
    key(
        "accounts.<name>.vm_memory_unit",
        Type::Text,
        "\"\"",
        "Unit of a VM's memory: `B`, `KB`, `MB`, `GB` or `KiB`, `MiB`, `GiB`, all in steps of 1,024 (so \
         that MB is 1,048,576 bytes, as for containers). The provider's interface does not say; \
         `hosting_vm_memory_bytes` is absent until it is set.",
    ),
    key(
        "accounts.<name>.to",
        Type::Texts,
        "[]",
        "Recipients of this account's mails, instead of `email.to`.",
    ),
    key(
        "accounts.<name>.allow_http",
        Type::Switch,
        "false",
        "Allow plain http to addresses other than loopback. Credentials then travel unprotected.",
    ),
    key("schedule.vms", Type::Cron, "\"* * * * *\"", "When VMs are polled."),
    key(
        "schedule.containers",
        Type::Cron,
        "\"*/2 * * * *\"",
        "When containers are polled, each followed by its sites.",
    ),
    key(
        "schedule.expected_balance",
        Type::Cron,
        "\"*/10 * * * *\"",
        "When the expected-balance report is polled, from which forecasts and disconnect mails come.",
    ),
    key("schedule.charges", Type::Cron, "\"7 6 * * *\"", "When past charges are polled."),
    key("schedule.databases", Type::Cron, "\"17 3 * * *\"", "When the databases of each site are counted."),
    key("schedule.cron_jobs", Type::Cron, "\"47 3 * * *\"", "When the cron jobs of each site are counted."),
    key("schedule.ips", Type::Cron, "\"*/30 * * * *\"", "When IP addresses are polled."),
    key("schedule.ssh_keys", Type::Cron, "\"\"", "When SSH keys are polled. Deprecated at the provider."),
    key("schedule.digest", Type::Cron, "\"0 9 * * MON\"", "When the digest is mailed."),
    key("limits.vm_list_per_minute", Type::Count, "200", "Calls of the VM list in any 60 s."),
    key("limits.vm_other_per_minute", Type::Count, "60", "Other calls of the VM endpoints in any 60 s."),
    key("limits.hosting_per_minute", Type::Count, "300", "Calls of the hosting endpoints in any 60 s."),
    key("limits.billing_per_minute", Type::Count, "30", "Calls of the billing endpoints in any 60 s."),
    key(
        "billing.horizon_days",
        Type::Count,
        "90",
        "How many days the forecast looks ahead: at most 730, and at least the top rung of the ladder plus 7.",
    ),
    key("billing.lead_days", Type::Count, "3", "How many days a payment takes to arrive."),
    key(
        "alerts.disconnect_days",
        Type::Counts,
        "[14, 7, 3, 1]",
        "Rungs of the disconnect ladder, in days before the account is cut off. `lead_days` + 1, the last day \
         on which a payment still arrives, is always one of them.",
    ),
    key("alerts.confirm_polls", Type::Count, "1", "Bad polls in a row before an incident opens."),
    key("alerts.recover_polls", Type::Count, "2", "Good polls in a row before an incident closes."),
    key(
        "alerts.stuck_after",
        Type::Duration,
        "\"30m\"",
        "How long a VM or site may stay in a passing state. Backuping and Restoring may take at least 6 h.",
    ),
    key(
        "alerts.collector_failing_after",
        Type::Duration,
        "\"15m\"",
        "How long a collector may fail before that is an incident.",
    ),
    key(
        "alerts.remind_every.critical",
        Type::Duration,
        "\"1d\"",
        "How often an open critical incident is mailed again, three times at most; `\"\"` for never.",
    ),
    key("alerts.remind_every.warning", Type::Duration, "\"3d\"", "The same for warnings."),
    key("alerts.remind_every.info", Type::Duration, "\"\"", "The same for the rest."),
    key(
        "alerts.rules.<kind>.enabled",
        Type::Switch,
        "",
        "Whether this kind of incident is watched. By default all are but `vm_stopped` and `resource_gone`.",
    ),
    key(
        "alerts.rules.<kind>.severity",
        Type::Text,
        "",
        "`critical`, `warning` or `info`, instead of the kind's own. `disconnect` takes its rung's.",
    ),
    key(
        "alerts.rules.<kind>.only",
        Type::Texts,
        "[]",
        "Limits the kind to resources whose name matches one of these patterns (`*` any run of characters, \
         `?` one).",
    ),
    key("alerts.rules.<kind>.except", Type::Texts, "[]", "Patterns of names that the kind leaves out."),
    key("alerts.rules.<kind>.to", Type::Texts, "[]", "Recipients of the kind, instead of the account's."),
    key(
        "email.smtp_url",
        Type::Url,
        "",
        "`smtps://user@host:465` for TLS from the first byte, `smtp://user@host:587` for STARTTLS, which is \
         then required; `smtp://127.0.0.1:25`, to a loopback address and without a user, is plain. Characters \
         of the user that a URL minds are percent-encoded (`@` as `%40`).",
    ),
    key("email.password", Type::Secret, "", "Password of the user in `smtp_url`."),
    key("email.password_file", Type::File, "", "File that holds `password`."),
    key("email.ca_file", Type::File, "", "PEM file of a private CA to trust beside the system's."),
    key("email.from", Type::Text, "", "Sender, such as `\"hostwatch <hostwatch@example.com>\"`."),
    key("email.to", Type::Texts, "[]", "Recipients for every account that names none of its own."),
    key(
        "email.max_per_hour",
        Type::Count,
        "60",
        "Mails an hour; what exceeds it is folded into one summary. Disconnect mails are not counted.",
    ),
    key(
        "heartbeat.url",
        Type::Url,
        "\"\"",
        "Pinged while polls, store and delivery are healthy: a dead man's switch that somebody else watches.",
    ),
    key(
        "store.path",
        Type::File,
        "\"hostwatch.db\"",
        "The SQLite file of incidents and unsent mails. When relative it is under `$STATE_DIRECTORY` where that \
         is set, as systemd does, else in the working directory.",
    ),
    key(
        "metrics.state_series",
        Type::Text,
        "\"all\"",
        "`all`: a series for each known state, 1 for the current one; `current`: that one only, advised from \
         some 2,000 sites.",
    ),
    key(
        "metrics.allow",
        Type::Texts,
        "[]",
        "Patterns (`*` any run of characters, `?` one) of the metrics that are written; `[]` for all. They hold \
         for hostwatch's own metrics too: without `hostwatch_*` the shipped alert rules see nothing.",
    ),
    key(
        "metrics.deny",
        Type::Texts,
        "[]",
        "Patterns of metrics that are not written, although `allow` has them.",
    ),
    key(
        "metrics.max_series_per_collector",
        Type::Count,
        "0",
        "Most series that an account's collector may have, at least 100; `0` for no limit. Past it whole \
         resources are left out, those with the highest ids first; `hostwatch_series_dropped` tells how many \
         series.",
    ),
    key(
        "metrics.stale_after",
        Type::Duration,
        "\"\"",
        "How long a collector's last good listing is served while polls fail. `\"\"`: ten of the longest gap \
         between its ticks, at least 15 min.",
    ),
];
