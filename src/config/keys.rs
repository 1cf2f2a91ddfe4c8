//! Every configuration key: its place, type and default. Unknown keys are found with this table, and variables get
//! their types from it. docs/configuration.md has the meanings; a test holds it against this table.

use std::sync::LazyLock;

use figment::Provider;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};

use super::recipient::Written;
use crate::alert;
use crate::model::AccountName;

/// One key.
#[derive(Debug)]
pub(crate) struct KeyRow {
    /// The path, with `<name>`, `<webhook>`, `<chat>`, `<kind>` and `<code>` in place of names that the user
    /// chooses.
    pub path: &'static str,
    pub kind: ValueType,
    /// The default as TOML; empty if there is none.
    pub default: &'static str,
}

/// The type of a value. The types from `Text` to `File` are strings in TOML.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueType {
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
    /// A number, or `@name`.
    Chat,
    Recipients,
}

impl ValueType {
    /// The name for people, in errors and in docs/configuration.md, and an example as TOML.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "\"text\""),
            Self::Secret => ("secret", "\"text\""),
            Self::Url => ("URL", "\"https://panel.example.com\""),
            Self::Cron => ("cron expression", "\"*/5 * * * *\""),
            Self::Duration => ("duration", "\"30m\""),
            Self::File => ("file", "\"path/to/file\""),
            Self::Switch => ("true or false", "true"),
            Self::Count => ("whole number", "7"),
            Self::Recipients => ("list of recipients", "[\"ann@example.com\"]"),
            Self::Texts => ("list of texts", "[\"a\", \"b\"]"),
            Self::Counts => ("list of whole numbers", "[14, 7]"),
            Self::Chat => ("chat", "-1001234567890 or \"@name\""),
        }
    }

    /// The expected value, for errors.
    pub(super) fn expected(self) -> String {
        let (name, example) = self.words();
        format!("{name}, such as {example}")
    }

    /// Whether the type is a string in TOML.
    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Secret | Self::Url | Self::Cron | Self::Duration | Self::File)
    }

    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Texts | Self::Counts | Self::Recipients)
    }

    /// Whether a value is of the type.
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Switch => value.to_bool().is_some(),
            Self::Count => value.deserialize::<u32>().is_ok(),
            Self::Texts => value.deserialize::<Vec<String>>().is_ok(),
            Self::Counts => value.deserialize::<Vec<u32>>().is_ok(),
            Self::Chat => value.as_str().is_some() || value.deserialize::<i64>().is_ok(),
            Self::Recipients => value.deserialize::<Vec<Written>>().is_ok(),
            Self::Text | Self::Secret | Self::Url | Self::Cron | Self::Duration | Self::File => {
                value.as_str().is_some()
            }
        }
    }
}

/// Tables that an account or `[defaults]` may have, to override them key by key.
const OWN_TABLES: [&str; 4] = ["schedule.", "limits.", "billing.", "alerts."];

/// One value written as TOML.
pub(super) fn toml_value(text: &str) -> Option<Value> {
    let data = Toml::string(&format!("value = {text}\n")).data().ok()?;
    let mut table: Dict = data.into_values().next()?;
    if table.len() == 1 { table.remove("value") } else { None }
}

/// The row of a key as written in a file.
pub(super) fn find(path: &[String]) -> Option<&'static KeyRow> {
    PATTERNS
        .iter()
        .find(|pattern| pattern.segments.len() == path.len() && pattern.covers(path))
        .map(|p| p.key)
}

/// Whether this is a table of the configuration.
pub(super) fn is_table(path: &[String]) -> bool {
    PATTERNS.iter().any(|pattern| pattern.segments.len() > path.len() && pattern.covers(path))
}

/// The names that this table may hold, including placeholders.
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

/// A place in which a key is allowed.
struct Pattern {
    segments: Vec<&'static str>,
    key: &'static KeyRow,
}

impl Pattern {
    /// Whether place and path agree, as far as both go.
    fn covers(&self, path: &[String]) -> bool {
        self.segments.iter().zip(path).all(|(segment, name)| match *segment {
            "<name>" | "<webhook>" | "<chat>" => name.parse::<AccountName>().is_ok(),
            "<kind>" => name.parse::<alert::Kind>().is_ok(),
            "<code>" => name.parse::<i64>().is_ok(),
            exact => exact == name,
        })
    }
}

fn per_account(path: &str) -> bool {
    OWN_TABLES.iter().any(|table| path.starts_with(table)) && path != "schedule.digest"
}

/// All places in which a key is allowed: its own, and those in an account or `[defaults]`.
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

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    KEYS.iter()
        .flat_map(|key| places(key.path).into_iter().map(move |segments| Pattern { segments, key }))
        .collect()
});

macro_rules! keys {
    ($($path:literal $kind:ident $default:literal)*) => {
        &[$(KeyRow { path: $path, kind: ValueType::$kind, default: $default }),*]
    };
}

/// The table, in the order of docs/configuration.md, which has the meanings: path, type, default.
pub(crate) const KEYS: &[KeyRow] = keys! {
    "accounts.<name>.base_url" Url ""
    "accounts.<name>.panel_url" Url ""
    "accounts.<name>.hosting_token" Secret ""
    "accounts.<name>.hosting_token_file" File ""
    "accounts.<name>.hosting_token_url" Url ""
    "accounts.<name>.hosting_api_key" Secret ""
    "accounts.<name>.hosting_api_key_file" File ""
    "accounts.<name>.hosting_token_fields" Texts "[\"api_key\", \"token\"]"
    "accounts.<name>.hosting_auth_scheme" Text "\"Bearer\""
    "accounts.<name>.vm_api_key" Secret ""
    "accounts.<name>.vm_api_key_file" File ""
    "accounts.<name>.billing_username" Text ""
    "accounts.<name>.billing_password" Secret ""
    "accounts.<name>.billing_password_file" File ""
    "accounts.<name>.time_zone" Text ""
    "accounts.<name>.language" Text "\"en\""
    "accounts.<name>.currency" Text "\"\""
    "accounts.<name>.container_states.<code>" Text ""
    "accounts.<name>.vm_memory_unit" Text "\"\""
    "accounts.<name>.to" Recipients "[]"
    "accounts.<name>.panel_link" Url "\"\""
    "accounts.<name>.pay_link" Url "\"\""
    "accounts.<name>.pay_note" Text "\"\""
    "accounts.<name>.proxy" Url "\"\""
    "accounts.<name>.ca_file" File ""
    "accounts.<name>.allow_http" Switch "false"
    "schedule.vms" Cron "\"* * * * *\""
    "schedule.containers" Cron "\"*/2 * * * *\""
    "schedule.expected_balance" Cron "\"*/10 * * * *\""
    "schedule.charges" Cron "\"7 6 * * *\""
    "schedule.databases" Cron "\"17 3 * * *\""
    "schedule.cron_jobs" Cron "\"47 3 * * *\""
    "schedule.ips" Cron "\"*/30 * * * *\""
    "schedule.ssh_keys" Cron "\"\""
    "schedule.digest" Cron "\"0 9 * * MON\""
    "limits.vm_list_per_minute" Count "200"
    "limits.vm_other_per_minute" Count "60"
    "limits.hosting_per_minute" Count "300"
    "limits.billing_per_minute" Count "30"
    "billing.horizon_days" Count "90"
    "billing.lead_days" Count "3"
    "billing.deletion_days" Count "0"
    "alerts.disconnect_days" Counts "[14, 7, 3, 1]"
    "alerts.confirm_polls" Count "1"
    "alerts.recover_polls" Count "2"
    "alerts.stuck_after" Duration "\"30m\""
    "alerts.collector_failing_after" Duration "\"15m\""
    "alerts.escalate_after" Duration "\"12h\""
    "alerts.escalate_to" Recipients "[]"
    "alerts.remind_every.critical" Duration "\"1d\""
    "alerts.remind_every.warning" Duration "\"3d\""
    "alerts.remind_every.info" Duration "\"\""
    "alerts.rules.<kind>.enabled" Switch ""
    "alerts.rules.<kind>.severity" Text ""
    "alerts.rules.<kind>.only" Texts "[]"
    "alerts.rules.<kind>.except" Texts "[]"
    "alerts.rules.<kind>.to" Recipients "[]"
    "email.smtp_url" Url ""
    "email.password" Secret ""
    "email.password_file" File ""
    "email.ca_file" File ""
    "email.helo_name" Text ""
    "email.from" Text ""
    "email.to" Recipients "[]"
    "email.max_per_hour" Count "60"
    "webhooks.<webhook>.url" Secret ""
    "webhooks.<webhook>.url_file" File ""
    "webhooks.<webhook>.headers_file" File ""
    "webhooks.<webhook>.allow_http" Switch "false"
    "webhooks.<webhook>.ca_file" File ""
    "webhooks.<webhook>.proxy" Url "\"\""
    "telegram.<chat>.token" Secret ""
    "telegram.<chat>.token_file" File ""
    "telegram.<chat>.chat_id" Chat ""
    "telegram.<chat>.thread_id" Count ""
    "telegram.<chat>.api_url" Url "\"https://api.telegram.org\""
    "telegram.<chat>.ca_file" File ""
    "telegram.<chat>.proxy" Url "\"\""
    "telegram.<chat>.buttons" Switch "true"
    "web.external_url" Url "\"\""
    "web.allowed_hosts" Texts "[]"
    "heartbeat.url" Url "\"\""
    "heartbeat.ca_file" File ""
    "heartbeat.proxy" Url "\"\""
    "store.path" File "\"hostwatch.db\""
    "metrics.state_series" Text "\"all\""
    "metrics.stale_after" Duration "\"\""
};
