//! What can be wrong with files, keys, types and layers, and the exact line that says so.
#![allow(clippy::unwrap_used)]

use super::config_support;

use std::path::Path;

use crate::config::{self, Environment};
use config_support::{BASE, EMAIL, complaints, in_account, one_line_each};

#[test]
fn the_base_is_fine() {
    assert_eq!(complaints(&[("x.toml", BASE)], &[]), Vec::<String>::new());
    assert_eq!(complaints(&[("x.toml", &format!("{BASE}{EMAIL}"))], &[]), Vec::<String>::new());
}

#[test]
fn files() {
    assert_eq!(
        complaints(&[], &[]),
        ["x.toml: cannot be read: No such file or directory; name the file with --config.file"]
    );
    assert_eq!(
        complaints(&[("x.toml/inside", "")], &[]),
        ["x.toml: cannot be read: Is a directory; name the file with --config.file"]
    );
    one_line_each(&[
        ("", "x.toml: accounts: none; add a table such as [accounts.main] with an address and credentials"),
        (
            "[accounts]",
            "x.toml: accounts: none; add a table such as [accounts.main] with an address and credentials",
        ),
        ("\n\nvms = ", "x.toml: line 3, column 7: not valid TOML: something is missing here"),
        (
            "[store]\npath = \"a\"\npath = \"b\"",
            "x.toml: line 3, column 1: not valid TOML: duplicate key `path` in table `store`",
        ),
    ]);
    let broken = complaints(&[("x.toml", "[accounts.main]\nvm_api_key = \"hunter2\nx = 1\n")], &[]);
    assert_eq!(broken.len(), 1);
    assert!(broken[0].starts_with("x.toml: line 2, column 22: not valid TOML: "), "{broken:?}");
    assert!(!broken[0].contains("hunter2"), "{broken:?}");
}

#[test]
fn unknown_keys_name_the_nearest() {
    in_account(&[
        ("base_ulr = 'x'", "x.toml: accounts.main.base_ulr: unknown key; did you mean 'base_url'?"),
        ("Currency = 'x'", "x.toml: accounts.main.Currency: unknown key; did you mean 'currency'?"),
        ("[schedul]\nvms = ''", "x.toml: schedul: unknown key; did you mean 'schedule'?"),
        ("[schedule]\nvmx = ''", "x.toml: schedule.vmx: unknown key; did you mean 'vms'?"),
        ("[schedule]\nsites = ''", "x.toml: schedule.sites: unknown key; did you mean 'digest'?"),
        ("[defaults]\ntimezone = ''", "x.toml: defaults.timezone: unknown key; did you mean 'time_zone'?"),
        (
            "[store]\nsmtp_url = ''",
            "x.toml: store.smtp_url: unknown key in this place; it belongs to 'email.smtp_url'",
        ),
        (
            "[accounts.main.schedule]\nvm = ''",
            "x.toml: accounts.main.schedule.vm: unknown key; did you mean 'vms'?",
        ),
        (
            "[accounts.main.schedule]\ndigest = ''",
            "x.toml: accounts.main.schedule.digest: unknown key in this place; it belongs to 'schedule.digest'",
        ),
        (
            "[alerts.rules.vm_eror]\nenabled = true",
            "x.toml: alerts.rules.vm_eror: unknown kind of incident; did you mean 'vm_error'?",
        ),
        (
            "[alerts.rules.vm_error]\nenable = true",
            "x.toml: alerts.rules.vm_error.enable: unknown key; did you mean 'enabled'?",
        ),
        (
            "[alerts.remind_every]\nfatal = '1d'",
            "x.toml: alerts.remind_every.fatal: unknown key; did you mean 'critical'?",
        ),
        (
            "[accounts.main.container_states]\nENABLED = '0'",
            "x.toml: accounts.main.container_states.ENABLED: a container state's code is a whole number, such as 0 = \"ENABLED\"",
        ),
        (
            "[accounts.\"a b\"]\ncurrency = ''",
            "x.toml: accounts.a b: an account's name is made of letters, digits, '_' and '-'; rename it",
        ),
        ("[\"new\\nline\"]\nx = 1", "x.toml: new\\nline: unknown key; did you mean 'billing'?"),
    ]);
}

#[test]
fn wrong_types_say_what_is_expected_and_never_the_value() {
    in_account(&[
        (
            "base_url = 'https://h'\nhosting_token = 12345",
            "x.toml: accounts.main.hosting_token: needs quotes: hosting_token = \"text\"",
        ),
        (
            "allow_http = 'yes'",
            "x.toml: accounts.main.allow_http: is text, expected true or false, such as true",
        ),
        ("to = 'ops@example.com'", "x.toml: accounts.main.to: needs brackets: to = [\"a\", \"b\"]"),
        (
            "to = [1]",
            "x.toml: accounts.main.to: is a list of something else, expected list of texts, such as [\"a\", \"b\"]",
        ),
        ("currency = {}", "x.toml: accounts.main.currency: is a table, expected text, such as \"text\""),
        (
            "container_states = 'x'",
            "x.toml: accounts.main.container_states: is text, expected a table: [accounts.main.container_states]",
        ),
        (
            "[limits]\nhosting_per_minute = -1",
            "x.toml: limits.hosting_per_minute: is another number, expected whole number, such as 7",
        ),
        (
            "[limits]\nhosting_per_minute = 1.5",
            "x.toml: limits.hosting_per_minute: is another number, expected whole number, such as 7",
        ),
        (
            "[limits]\nhosting_per_minute = 9999999999",
            "x.toml: limits.hosting_per_minute: is another number, expected whole number, such as 7",
        ),
        (
            "[alerts]\ndisconnect_days = ['x']",
            "x.toml: alerts.disconnect_days: is a list of something else, expected list of whole numbers, such as [14, 7]",
        ),
        ("[alerts]\nstuck_after = 30", "x.toml: alerts.stuck_after: needs quotes: stuck_after = \"30m\""),
        (
            "[alerts]\nremind_every = '1d'",
            "x.toml: alerts.remind_every: is text, expected a table: [alerts.remind_every]",
        ),
        (
            "[store]\npath = 2026-01-01",
            "x.toml: store.path: is a table, expected file, such as \"path/to/file\"",
        ),
    ]);
    one_line_each(&[
        (
            "schedule = 5\n[accounts.main]\npanel_url = 'https://p'\nvm_api_key = 'k'",
            "x.toml: schedule: is another number, expected a table: [schedule]",
        ),
        (
            "email = 5\n[accounts.main]\npanel_url = 'https://p'\nvm_api_key = 'k'",
            "x.toml: email: is another number, expected a table: [email]",
        ),
        ("accounts = 5", "x.toml: accounts: is another number, expected a table: [accounts]"),
    ]);
}

#[test]
fn accounts_d() {
    let other = "[accounts.shop]\npanel_url = 'https://p'\nvm_api_key = 'k'\n";
    let with = |text: &str| {
        complaints(&[("x.toml", BASE), ("accounts.d/a.toml", other), ("accounts.d/b.toml", text)], &[])
    };
    assert_eq!(with(""), Vec::<String>::new());
    assert_eq!(
        with(other),
        ["accounts.d/b.toml: accounts.shop: this account is in accounts.d/a.toml too; keep one of them"]
    );
    assert_eq!(
        with(BASE),
        ["accounts.d/b.toml: accounts.main: this account is in x.toml too; keep one of them"]
    );
    assert_eq!(
        with("[store]\npath = 'x'"),
        [
            "accounts.d/b.toml: store: only [accounts.NAME] tables belong in accounts.d; move it to the main file"
        ]
    );
    assert_eq!(
        with("[accounts.b]"),
        [
            "accounts.d/b.toml: accounts.b: nothing to watch: no credentials; set hosting_token, vm_api_key, or billing_username with billing_password (or …_file)"
        ]
    );
    assert_eq!(
        with("[accounts.b"),
        ["accounts.d/b.toml: line 1, column 12: not valid TOML: invalid table header; expected `.`, `]`"]
    );
    assert_eq!(with("[accounts.b]\nvm_api_key = 'k'\npanel_url = 'https://p'\ntime_zone = 'x/y'\n").len(), 1);
}

#[test]
fn environment() {
    let row = |name: &str, value: &str, want: &[&str]| {
        assert_eq!(complaints(&[("x.toml", BASE)], &[(name, value)]), want, "{name}");
    };
    row(
        "HOSTWATCH_STORE__PATHS",
        "x",
        &["HOSTWATCH_STORE__PATHS: store.paths: unknown key; did you mean 'path'?"],
    );
    row(
        "HOSTWATCH_ACCOUNTS__MAIN__TIME_ZONE",
        "Mars",
        &[
            "HOSTWATCH_ACCOUNTS__MAIN__TIME_ZONE: accounts.main.time_zone: no time zone 'Mars'; did you mean \"Jamaica\"?",
        ],
    );
    row(
        "HOSTWATCH_LIMITS__HOSTING_PER_MINUTE",
        "many",
        &[
            "HOSTWATCH_LIMITS__HOSTING_PER_MINUTE: limits.hosting_per_minute: expected whole number, such as 7",
        ],
    );
    row(
        "HOSTWATCH_ACCOUNTS__MAIN__ALLOW_HTTP",
        "yes",
        &[
            "HOSTWATCH_ACCOUNTS__MAIN__ALLOW_HTTP: accounts.main.allow_http: expected true or false, such as true",
        ],
    );
    row(
        "HOSTWATCH_ALERTS__DISCONNECT_DAYS",
        "14,x",
        &[
            "HOSTWATCH_ALERTS__DISCONNECT_DAYS: alerts.disconnect_days: expected list of whole numbers, such as [14, 7]",
        ],
    );
    row(
        "HOSTWATCH_ACCOUNTS__MAIN__TO",
        "[\"a@example.com\"",
        &["HOSTWATCH_ACCOUNTS__MAIN__TO: accounts.main.to: expected list of texts, such as [\"a\", \"b\"]"],
    );
    row(
        "HOSTWATCH_ACCOUNTS__SHOP__CURRENCY",
        "EUR",
        &[
            "HOSTWATCH_ACCOUNTS__SHOP__CURRENCY: accounts.shop: nothing to watch: no credentials; set hosting_token, vm_api_key, or billing_username with billing_password (or …_file)",
        ],
    );
}

#[test]
fn everything_wrong_is_told_at_once_and_a_shared_cause_once() {
    let text = r#"
[accounts.a]
panel_url = "http://panel.example.com"
vm_api_key = "k"
[accounts.b]
hosting_token_file = "none"
base_url = "https://h"
surprise = 1
[schedule]
vms = "every minute"
[alerts.rules.nothing]
enabled = true
"#;
    let mut got = complaints(&[("x.toml", text), ("accounts.d/c.toml", "[accounts.c]\ntime_zone = 1")], &[]);
    got.iter_mut().for_each(|line| *line = line.splitn(3, ": ").take(2).collect::<Vec<_>>().join(": "));
    assert_eq!(
        got,
        [
            "x.toml: accounts.b.surprise",
            "accounts.d/c.toml: accounts.c.time_zone",
            "x.toml: alerts.rules.nothing",
            "x.toml: accounts.a.panel_url",
            "x.toml: schedule.vms",
            "x.toml: accounts.b.hosting_token_file",
            "accounts.d/c.toml: accounts.c",
        ]
    );
}

#[test]
fn a_file_that_is_not_there_is_not_looked_for_elsewhere() {
    let errors = config::load(Some(Path::new("Cargo.toml.none")), &Environment::default()).unwrap_err();
    assert_eq!(errors.0.len(), 1);
}
