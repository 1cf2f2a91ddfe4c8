//! Every configuration key: its place, type, default and meaning. Unknown keys are found with this table,
//! variables get their types from it, and docs/configuration.md is generated from it.

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
    #[cfg_attr(not(test), allow(dead_code, reason = "for docs/configuration.md, which a test writes"))]
    pub help: &'static str,
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
    /// The name for people, in errors and in the reference, and an example as TOML.
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
    ($($path:literal $kind:ident $default:literal $help:literal)*) => {
        &[$(KeyRow { path: $path, kind: ValueType::$kind, default: $default, help: $help }),*]
    };
}

/// The table, in the order of the reference: path, type, default, meaning.
pub(crate) const KEYS: &[KeyRow] = keys! {
    "accounts.<name>.base_url" Url ""
        "Address of the hosting endpoints (containers, sites, databases, cron jobs). Plain http only to a \
         loopback address, unless `allow_http`."
    "accounts.<name>.panel_url" Url "" "Address of the VM and billing endpoints."
    "accounts.<name>.hosting_token" Secret ""
        "Access token of the hosting endpoints. Without it they are skipped."
    "accounts.<name>.hosting_token_file" File "" "File that holds `hosting_token`."
    "accounts.<name>.hosting_token_url" Url ""
        "Address (https, or http to loopback) that sells a hosting token which expires. One POST of a form with \
         `hosting_api_key` buys it, and again before a JWT's `exp` and after a 401, at most once a minute. The token is \
         stored nowhere."
    "accounts.<name>.hosting_api_key" Secret "" "Key that fetches the hosting token, instead of `hosting_token`."
    "accounts.<name>.hosting_api_key_file" File "" "File that holds `hosting_api_key`."
    "accounts.<name>.hosting_token_fields" Texts "[\"api_key\", \"token\"]"
        "The form field that carries the key, and the field of the JSON answer that holds the token. The provider's \
         interface does not say."
    "accounts.<name>.hosting_auth_scheme" Text "\"Bearer\""
        "Word before the token in the Authorization header; `\"\"` for none. The provider's interface does not \
         say which it is."
    "accounts.<name>.vm_api_key" Secret "" "API key of the VM endpoints. Without it they are skipped."
    "accounts.<name>.vm_api_key_file" File "" "File that holds `vm_api_key`."
    "accounts.<name>.billing_username" Text ""
        "User of the billing endpoints. Without user and password they are skipped."
    "accounts.<name>.billing_password" Secret "" "Password of the billing endpoints."
    "accounts.<name>.billing_password_file" File "" "File that holds `billing_password`."
    "accounts.<name>.time_zone" Text ""
        "IANA name of the zone of datetimes that come without an offset, of schedules, of dates in mails. \
         Required where billing is polled: a wrong guess would move the day of the cut-off."
    "accounts.<name>.language" Text "\"en\""
        "Of mails, webhook texts and the page: `en` or `ru`. The page takes the browser's language first, and `?lang=` before that. \
         Commands, logs, metrics and JSON are English."
    "accounts.<name>.currency" Text "\"\"" "Shown beside amounts."
    "accounts.<name>.container_states.<code>" Text ""
        "Name of a container's numeric state: `ENABLED`, `DISABLED_BY_SERVICE`, `DISABLED_BY_ADMIN` or \
         `DISABLED_BY_QUOTA`. The provider's interface does not give the codes; one without a name is shown as \
         the number it is, and no container counts as disabled by it."
    "accounts.<name>.vm_memory_unit" Text "\"\""
        "Unit of a VM's memory: `B`, `KB`, `MB`, `GB` or `KiB`, `MiB`, `GiB`, all in steps of 1,024 (so \
         that MB is 1,048,576 bytes, as for containers). The provider's interface does not say; \
         `hosting_vm_memory_bytes` is absent until it is set."
    "accounts.<name>.to" Recipients "[]" "Recipients of this account's mails, instead of `email.to`: mail addresses, `webhook:NAME` or `telegram:NAME`; \
         `{ address = \"ann@example.com\", language = \"ru\" }` for one in another language than the account's. The same in every list of recipients."
    "accounts.<name>.panel_link" Url "\"\""
        "Where a person opens the provider's panel, for mails and the page. `{kind}` (`vm`, `container`, `site`, `order`) and \
         `{id}` are filled in; what is about no resource leads to the address before the part that holds the first of them."
    "accounts.<name>.pay_link" Url "\"\"" "Where a person pays, for mails about the cut-off and the page."
    "accounts.<name>.pay_note" Text "\"\""
        "A line of your own in every mail about money and beside the balance on the page, such as who pays, or the number of \
         the contract."
    "accounts.<name>.proxy" Url "\"\""
        "Proxy by which this account's provider is reached: `\"socks5h://127.0.0.1:1080\"` or `\"http://proxy.example.com:3128\"`."
    "accounts.<name>.ca_file" File "" "PEM file of a private CA to trust beside the system's."
    "accounts.<name>.allow_http" Switch "false"
        "Allow plain http to addresses other than loopback. Credentials then travel unprotected."
    "schedule.vms" Cron "\"* * * * *\"" "When VMs are polled."
    "schedule.containers" Cron "\"*/2 * * * *\"" "When containers are polled, each followed by its sites. Databases and cron jobs need it."
    "schedule.expected_balance" Cron "\"*/10 * * * *\""
        "When the expected-balance report is polled, from which forecasts and mails about the cut-off come."
    "schedule.charges" Cron "\"7 6 * * *\"" "When past charges are polled."
    "schedule.databases" Cron "\"17 3 * * *\"" "When the databases of each site are counted."
    "schedule.cron_jobs" Cron "\"47 3 * * *\"" "When the cron jobs of each site are counted."
    "schedule.ips" Cron "\"*/30 * * * *\"" "When IP addresses are polled."
    "schedule.ssh_keys" Cron "\"\"" "When SSH keys are polled. Deprecated at the provider."
    "schedule.digest" Cron "\"0 9 * * MON\"" "When the digest is mailed."
    "limits.vm_list_per_minute" Count "200" "Calls of the VM list in any 60 s."
    "limits.vm_other_per_minute" Count "60" "Other calls of the VM endpoints in any 60 s."
    "limits.hosting_per_minute" Count "300" "Calls of the hosting endpoints in any 60 s."
    "limits.billing_per_minute" Count "30" "Calls of the billing endpoints in any 60 s."
    "billing.horizon_days" Count "90"
        "How many days the forecast looks ahead: at most 730, and at least the largest of `disconnect_days` plus 7."
    "billing.lead_days" Count "3" "How many days a payment takes to arrive."
    "billing.deletion_days" Count "0"
        "How many days after the cut-off the provider deletes the data: mails after the cut-off name the day, and 7, 3, 1 and 0 days \
         before it one goes out. 0: not known."
    "alerts.disconnect_days" Counts "[14, 7, 3, 1]"
        "On how many days before the cut-off a mail goes out. `lead_days` + 1 is always one of them: that mail goes out \
         as the last day begins on which a payment still arrives."
    "alerts.confirm_polls" Count "1" "Bad polls in a row before an incident opens."
    "alerts.recover_polls" Count "2" "Good polls in a row before an incident closes."
    "alerts.stuck_after" Duration "\"30m\""
        "How long a VM or site may stay in a passing state. Backuping and Restoring may take at least 6 h."
    "alerts.collector_failing_after" Duration "\"15m\""
        "How long a collector may fail before that is an incident."
    "alerts.escalate_after" Duration "\"12h\""
        "How long after its first mail a critical incident may be open and not acknowledged before it is mailed to \
         `escalate_to`, once. Not what is silenced, covered by another, or known from the first start."
    "alerts.escalate_to" Recipients "[]"
        "Recipients who are mailed then, and hear how it goes on. A cut-off is mailed to them at once from the last day on which \
         a payment arrives in time, acknowledged or not."
    "alerts.remind_every.critical" Duration "\"1d\""
        "How often an open critical incident is mailed again, three times at most; `\"\"` for never."
    "alerts.remind_every.warning" Duration "\"3d\"" "The same for warnings."
    "alerts.remind_every.info" Duration "\"\"" "The same for the rest."
    "alerts.rules.<kind>.enabled" Switch ""
        "Whether this kind of incident is watched. By default all are but `resource_gone`. That all VMs or all containers are gone is watched unless this is false."
    "alerts.rules.<kind>.severity" Text ""
        "`critical`, `warning` or `info`, instead of the kind's own. `disconnect` takes that of the days left."
    "alerts.rules.<kind>.only" Texts "[]"
        "Limits the kind to resources whose name matches one of these patterns (`*` any run of characters, \
         `?` one)."
    "alerts.rules.<kind>.except" Texts "[]" "Patterns of names that the kind leaves out."
    "alerts.rules.<kind>.to" Recipients "[]" "Recipients of the kind, instead of the account's."
    "email.smtp_url" Url ""
        "`smtps://user@host:465` for TLS from the first byte, `smtp://user@host:587` for STARTTLS, which is \
         then required; `smtp://127.0.0.1:25`, to a loopback address and without a user, is plain. Characters \
         of the user that a URL minds are percent-encoded (`@` as `%40`)."
    "email.password" Secret "" "Password of the user in `smtp_url`."
    "email.password_file" File "" "File that holds `password`."
    "email.ca_file" File "" "PEM file of a private CA to trust beside the system's."
    "email.helo_name" Text ""
        "The name with which hostwatch greets the mail server. By default this machine's full name, else its address in brackets."
    "email.from" Text "" "Sender, such as `\"hostwatch <hostwatch@example.com>\"`."
    "email.to" Recipients "[]" "Recipients for every account that names none of its own."
    "email.max_per_hour" Count "60"
        "Mails to one recipient in an hour; what is owed beyond them comes as one summary. Mails about a cut-off are not \
         counted."
    "webhooks.<webhook>.url" Secret ""
        "Where to post, such as `\"https://chat.example.com/hook?token=…\"`. A secret: it is in no log, page or error."
    "webhooks.<webhook>.url_file" File "" "File that holds `url`."
    "webhooks.<webhook>.headers_file" File ""
        "File with headers of each post, a line `Name: value` each, such as an `Authorization` with a token."
    "webhooks.<webhook>.allow_http" Switch "false"
        "Allow plain http to addresses other than loopback. The address and all mails then travel unprotected."
    "webhooks.<webhook>.ca_file" File "" "PEM file of a private CA to trust beside the system's."
    "webhooks.<webhook>.proxy" Url "\"\""
        "Proxy by which this webhook alone is reached: `\"socks5h://127.0.0.1:1080\"` or `\"http://proxy.example.com:3128\"`."
    "telegram.<chat>.token" Secret ""
        "Token of the bot, from @BotFather. A secret: it is in no log, page or error."
    "telegram.<chat>.token_file" File "" "File that holds `token`."
    "telegram.<chat>.chat_id" Chat ""
        "The chat that the bot writes to: its number (`-1001234567890` of a group), or `\"@name\"` of a public group or channel."
    "telegram.<chat>.thread_id" Count "" "The topic within a group that has topics."
    "telegram.<chat>.api_url" Url "\"https://api.telegram.org\""
        "Where the Bot API is: another address where a server of your own stands in for it. Plain http only to a loopback address."
    "telegram.<chat>.ca_file" File "" "PEM file of a private CA to trust beside the system's."
    "telegram.<chat>.proxy" Url "\"\""
        "Proxy by which Telegram is reached, where it is filtered: `\"socks5h://127.0.0.1:1080\"` or `\"http://proxy.example.com:3128\"`."
    "telegram.<chat>.buttons" Switch "true"
        "Whether a problem has the buttons `Seen`, which acknowledges it, and `Silent for 4 h`. The daemon asks Telegram what was \
         pressed; no port is opened."
    "web.external_url" Url "\"\""
        "How people reach the page, where that is not the address it listens on, such as \
         `\"https://watch.example.com/\"` of a reverse proxy. Its host passes as a name of this server, and its page may \
         ask for a reload."
    "web.allowed_hosts" Texts "[]"
        "Further names under which the page and the metrics may be asked for, without port. IP addresses, \
         `localhost`, this machine's name and the host of `external_url` always may, and so may clients that \
         authenticate. Any other name is answered with 421, and a malformed one with 400, so that no page on \
         the web can read this one (DNS rebinding)."
    "heartbeat.url" Url "\"\""
        "Pinged while polls, store and delivery are healthy: a dead man's switch that somebody else watches."
    "heartbeat.ca_file" File "" "PEM file of a private CA to trust beside the system's."
    "heartbeat.proxy" Url "\"\"" "Proxy by which the heartbeat alone goes."
    "store.path" File "\"hostwatch.db\""
        "The SQLite file of incidents and of what was mailed. When relative it is under `$STATE_DIRECTORY` where that \
         is set, as systemd does, else beside the configuration file."
    "metrics.state_series" Text "\"all\""
        "`all`: a series for each known state, 1 for the current one; `current`: that one only, advised from \
         some 2,000 sites."
    "metrics.stale_after" Duration "\"\""
        "How long a collector's last good listing is served while polls fail. `\"\"`: ten of the longest gap \
         between its ticks, at least 15 min."
};
