//! docs/configuration.md from the table of keys: the place of each key and its meaning. A test keeps the file
//! equal to this text.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::keys::{KEYS, KeyRow};
use crate::alert::Kind;

/// The whole page, as Markdown.
pub(crate) fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut table = "";
    for key in KEYS {
        let (parent, name) = split(key);
        if parent != table {
            table = parent;
            let _ = write!(page, "\n## `[{table}]`\n\n{}", about(table));
            page.push_str("| key | type | default | meaning |\n|---|---|---|---|\n");
        }
        let default = if key.default.is_empty() { "–".to_owned() } else { format!("`{}`", key.default) };
        let _ = writeln!(page, "| `{name}` | {} | {default} | {} |", key.kind.words().0, key.help);
    }
    page
}

/// The table under which a key is described, and its name there: `remind_every.critical` stays with `[alerts]`.
fn split(key: &KeyRow) -> (&'static str, &'static str) {
    for table in ["accounts.<name>", "alerts.rules.<kind>", "webhooks.<webhook>", "telegram.<chat>"] {
        if let Some(name) = key.path.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')) {
            return (table, name);
        }
    }
    key.path.split_once('.').unwrap_or(("", key.path))
}

fn about(table: &str) -> Cow<'static, str> {
    Cow::Borrowed(match table {
        "accounts.<name>" => {
            "One table for each account; its name, of letters, digits, `_` and `-`, is the `account` label of \
             every metric. `[defaults]` takes the same keys, for all accounts that don't set them. An endpoint \
             group without credentials is skipped; an account needs at least one.\n\n"
        }
        "schedule" => {
            "Cron expressions as in crontab(5), in the account's time zone (UTC where it has none): five fields, \
             or six with seconds first. Weekdays are 0 to 7 or names; `@hourly` and the like work; `\"off\"` or `\"\"` switches it off. Where \
             day of month and day of week are both restricted, a day that matches either will do. On days when \
             the clock changes, an expression whose minute or hour starts with `*` goes on by elapsed time; any \
             other runs once. Every collector also polls once at start, and each account has a fixed offset \
             within the tick, taken from its name. Less than 30 s between ticks is warned of.\n\n"
        }
        "limits" => "Calls in any 60 s, of each account.\n\n",
        "billing" => "How the forecast is asked for.\n\n",
        "alerts" => "When an incident opens, closes and is mailed again.\n\n",
        "alerts.rules.<kind>" => {
            let kinds = Kind::NAMES.join("`, `");
            return Cow::Owned(format!(
                "One table for each kind of incident that is to be treated otherwise: `{kinds}`.\n\n"
            ));
        }
        "email" => {
            "Without this table, and without a webhook or Telegram chat among the recipients, hostwatch is an exporter only: nothing \
             is rendered, and the store keeps incidents for the metrics. `max_per_hour` counts what goes to Telegram too, with \
             this table or without.\n\n"
        }
        "webhooks.<webhook>" => {
            "One table for each webhook, which a recipient names as `webhook:NAME`: it is posted what others are mailed, \
             as JSON in Alertmanager's format. [webhooks.md](webhooks.md) has recipes. Adding or removing one takes a \
             restart.\n\n"
        }
        "telegram.<chat>" => {
            "One table for each Telegram chat, which a recipient names as `telegram:NAME`. [telegram.md](telegram.md) says how \
             to get a token and a chat's number. Adding or removing one takes a restart.\n\n"
        }
        _ => "",
    })
}

const INTRODUCTION: &str = r#"# Configuration

Which keys does hostwatch have, and where are they written?

<!-- Generated from the table in src/config/keys.rs; `UPDATE_DOCS=1 cargo test --lib config_reference` writes it anew. -->

hostwatch reads, each layer over the one before:

1. the defaults below;
2. the TOML file that `--config.file` (or `HOSTWATCH_CONFIG_FILE`) names;
3. environment variables such as `HOSTWATCH_STORE__PATH` or `HOSTWATCH_ACCOUNTS__MAIN__TIME_ZONE`: the key with `__`
   between its levels. `HOSTWATCH_` is in capitals; after it case does
   not matter, and `_` stands for the `-` of the name of an account in the files. An account that no file names has its
   name in small letters. Lists are separated by commas, or written as in TOML.

`hostwatch check-config` lists everything that is wrong at once, a line each with file, key and remedy. An unknown
key is an error. [config/hostwatch.toml](../config/hostwatch.toml) is an
example to begin with.

**Several accounts.** `[defaults]` holds the keys that they share. `[schedule]` (but for `digest`), `[limits]`, `[billing]`
and `[alerts]` hold for all. `[defaults]` or an account can carry tables of the same names, such as
`[accounts.main.schedule]`, which override them key by key.

**Secrets** are keys of the type secret, `password` of `[email]` and `url` of a webhook. Each can be written in place, or
into a file that the key with `_file` names, or into a credential: a file called `<account>.<key>`, `smtp.password`,
`webhook.NAME.url` or `telegram.NAME.token`. Credentials are read from systemd's `$CREDENTIALS_DIRECTORY` or, where that is not
set, from `credentials/` beside the configuration. A newline at the end is trimmed. A secret that is given in two of these
places is an error, unless both hold the same. One in `[defaults]` counts for accounts without one of their own.

**Paths** of files are relative to the directory of the main configuration file.

**Durations** are numbers with a unit, `s`, `m`, `h` or `d`: `"90s"`, `"30m"`, `"1d12h"`.
"#;
