//! Every mistake in a configuration, with the lines that are said about it, as a golden. Each of them is refused.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::config_support::{BASE, EMAIL, complaints};

/// Whole files.
const FILES: &[&str] = &[
    "",
    "\n\nvms = ",
    "[store]\npath = \"a\"\npath = \"b\"",
    "email = 5\n[accounts.main]\npanel_url = 'https://p'\nvm_api_key = 'k'",
    "accounts = 5",
    "[accounts.main]",
    "[accounts.main]\nbase_url = 'https://h'",
    "[accounts.main]\nhosting_token = 't'",
    "[accounts.main]\nvm_api_key = 'k'",
    "[accounts.main]\nbilling_username = 'u'\nbilling_password = 'p'\ntime_zone = 'UTC'",
    "[accounts.main]\nvm_api_key = \"hunter2\nx = 1\n",
    "[accounts.main]\npanel_url = 'https://h'\nhosting_api_key = 'k'\nhosting_token_url = 'https://h/token/'",
];

/// Lines in the account of a valid file, and tables below it.
const IN_ACCOUNT: &[&str] = &[
    "Currency = 'x'",
    "[schedule]\nsites = ''",
    "[defaults]\ntimezone = ''",
    "[store]\nsmtp_url = ''",
    "[accounts.main.schedule]\ndigest = ''",
    "[alerts.rules.vm_eror]\nenabled = true",
    "[alerts.remind_every]\nfatal = '1d'",
    "[accounts.main.container_states]\nENABLED = '0'",
    "[accounts.\"a b\"]\ncurrency = ''",
    "[\"new\\nline\"]\nx = 1",
    "base_url = 'https://h'\nhosting_token = 12345",
    "allow_http = 'yes'",
    "to = 'ops@example.com'",
    "to = [1]",
    "currency = {}",
    "container_states = 'x'",
    "[limits]\nhosting_per_minute = -1",
    "[limits]\nhosting_per_minute = 9999999999",
    "[alerts]\ndisconnect_days = ['x']",
    "[alerts]\ndisconnect_days = 7",
    "[web]\nallowed_hosts = ['*']\nexternal_url = 'https://watch.example.com/?a=b'",
    "[alerts]\nstuck_after = 30",
    "[alerts]\nremind_every = '1d'",
    "[store]\npath = 2026-01-01",
    "billing_username = 'u'",
    "billing_password = 'p'",
    "billing_username = 'u:v'\nbilling_password = 'p'\ntime_zone = 'UTC'",
    "billing_username = 'u'\nbilling_password = 'p'",
    "time_zone = 'Europe/Moskow'",
    "vm_memory_unit = 'TB'",
    "currency = \"a\\nb\"",
    "hosting_auth_scheme = 'Bearer '",
    "pay_link = 'pay.example.com'",
    "panel_link = 'https://{kind}.example.com/{id}'",
    "panel_link = 'https://panel.example.com/{type}/{id}'",
    "pay_note = \"a\\nb\"",
    "to = ['ops']",
    "[accounts.main.container_states]\n1 = 'ENABLED'\n01 = 'ENABLED'",
    "[schedule]\nvms = '* * * *'",
    "[accounts.main.schedule]\nvms = '61 * * * *'",
    "[limits]\nvm_list_per_minute = 0",
    "[billing]\nhorizon_days = 731",
    "[billing]\nhorizon_days = 20",
    "[alerts]\ndisconnect_days = [90]",
    "[accounts.main.alerts]\ndisconnect_days = [90]",
    "[billing]\nlead_days = 61",
    "[alerts]\ndisconnect_days = [7, 0]",
    "[alerts]\ndisconnect_days = [7, 3, 7]",
    "[alerts]\nconfirm_polls = 0",
    "[alerts]\nstuck_after = '30 min'",
    "[alerts]\nstuck_after = ''",
    "[alerts]\ncollector_failing_after = '0s'",
    "[alerts]\nremind_every = { critical = '9999999999999999999d' }",
    "[alerts.rules.vm_error]\nseverity = 'crit'",
    "[alerts.rules.disconnect]\nseverity = 'info'",
    "[alerts.rules.vm_error]\nto = ['nobody']",
    "[metrics]\nstate_series = 'some'",
    "[metrics]\nstale_after = 'x'",
    "[store]\npath = ''",
    "[heartbeat]\nurl = 'hc-ping.com/x'",
    "hosting_token = ['hunter2']",
    "hosting_token = { value = 'hunter2' }",
    "vm_api_key_file = 'x'\nhosting_token = 'hunter2",
    "language = 'de'",
    "[telegram.ops]\ntoken = '1:hunter2'\nchat_id = 0",
    "[telegram.ops]\ntoken = '1:hunter2'\nchat_id = '0'",
    "to = [{ address = 'b@example.com', speech = 'ru' }]",
    "to = ['a@example.com', { adress = 'b@example.com' }]",
    "alerts.escalate_to = [{ address = 'b@example.com', lang = 'ru' }]",
    "to = [{ language = 'ru' }]",
    "to = ['a@example.com', { address = 'a@example.com', language = 'ru' }]",
    "to = [{ address = 'a@example.com', language = 'ru' }, 'Ann <a@example.com>']",
    "language = 'ru'\nto = ['a@example.com']\nalerts.escalate_to = [{ address = 'a@example.com', language = 'en' }]",
    "to = ['a@example.com', { address = 'b@example.com', language = 'ru' }]\nalerts.escalate_to = [{ address = 'b@example.com', language = 'en' }]",
    "to = ['telegram:opps']\n[telegram.ops]\ntoken = '1:hunter2'\nchat_id = 1",
    "[telegram.ops]\nchat_id = 1",
    "[telegram.ops]\ntoken = 'hunter2'\nchat_id = 1",
    "[telegram.ops]\ntoken = '1:'\nchat_id = 1",
    "[telegram.ops]\ntoken = ':hunter2'\nchat_id = 1",
    "[telegram.ops]\ntoken = 'bot1:hunter2'\nchat_id = 1",
    "[telegram.ops]\ntoken = '1:hunter2 x'\nchat_id = 1",
    "[telegram.ops]\ntoken = '1:hunter2'",
    "[telegram.ops]\ntoken = '1:hunter2'\nchat_id = 1\napi_url = 'http://telegram.example.com'",
    "[telegram.ops]\ntoken = '1:hunter2'\nchat_id = 1\nproxy = 'ftp://u:hunter2@h'",
    "[webhooks.team]",
    "[webhooks.team]\nurl = 'http://h/hunter2'",
    "[webhooks.team]\nurl = 'ftp://h/hunter2'",
    "[webhooks.team]\nurl = 'hunter2'",
    "to = ['webhook:tema']\n[webhooks.team]\nurl = 'https://h/hunter2'",
    "to = ['webhook:team', 'ops@example.com']\n[webhooks.team]\nurl = 'https://h/hunter2'",
];

/// Addresses of an account.
const ADDRESSES: &[&str] = &[
    "http://panel.example.com",
    "http://localhost.example.com",
    "panel.example.com",
    "https://",
    "ftp://panel.example.com",
    "https://user:hunter2@panel.example.com",
    "https://panel.example.com/?x=1",
    "https://panel.example.com/#x",
];

/// A part of a valid `[email]`, and its replacement.
const MAIL: &[(&str, &str)] = &[
    (SERVER, "smtps://u:hunter2@mail.example.com"),
    (SERVER, "smtps://u@mail.example.com"),
    (SERVER, "mail.example.com"),
    (SERVER, ""),
    (SERVER, "smtps://"),
    (SERVER, "h:465"),
    (SERVER, "smtps://h/path"),
    (SERVER, "smtps://h?tls=no"),
    (SERVER, "smtps://h:0"),
    (SERVER, "smtps://h:99999"),
    (SERVER, "smtps://u%zz@h"),
    (SERVER, "smtps://u%0d%0aRCPT@h"),
    ("hostwatch <h@example.com>", ""),
    ("hostwatch <h@example.com>", "hostwatch"),
    ("to = [\"ops@example.com\"]", ""),
    // An address that may contain a secret is not repeated.
    ("to = [\"ops@example.com\"]", "to = ['https://chat.example.com/hunter2']"),
    ("to = [\"ops@example.com\"]", "to = ['webhook:https://chat.example.com/hunter2']"),
    ("to = ", "password = 'hunter2'\nto = "),
    ("to = ", "max_per_hour = 0\nto = "),
    ("to = ", "ca_file = 'ca.pem'\nto = "),
    ("to = ", "ca_file = 'x.toml'\nto = "),
];
const SERVER: &str = "smtps://mail.example.com";

/// How an account names its key, and the content of the file `secret`.
const SECRETS: &[(&str, &str)] = &[
    ("vm_api_key = ''", ""),
    ("vm_api_key = \"hunter2\\nx\"", ""),
    ("vm_api_key_file = 'none'", ""),
    ("vm_api_key_file = '.'", ""),
    ("vm_api_key_file = ''", ""),
    ("vm_api_key_file = 'secret'", ""),
    ("vm_api_key_file = 'secret'", "\n"),
    ("vm_api_key_file = 'secret'", "hunter2\nhunter3\n"),
    ("vm_api_key_file = 'secret'\nvm_api_key = 'x'", "hunter2"),
];

/// Settings of a token that is given or bought.
const TOKENS: &[&str] = &[
    "hosting_token_url = 'https://h/token/'",
    "hosting_api_key = 'hunter2'",
    "hosting_token_url = 'https://h/token/'\nhosting_api_key = 'hunter2'\nhosting_token = 't'",
    "hosting_token_url = 'http://h/token/'\nhosting_api_key = 'hunter2'\nallow_http = true",
    "hosting_token_url = 'https://h/?key=hunter2'\nhosting_api_key = 'k'",
    "hosting_token_url = 'https://h/token/'\nhosting_api_key = 'k'\nhosting_token_fields = ['key']",
];

const VARIABLES: &[(&str, &str)] = &[
    ("HOSTWATCH_STORE__PATHS", "x"),
    ("HOSTWATCH_ACCOUNTS__MAIN__TIME_ZONE", "Mars"),
    ("HOSTWATCH_LIMITS__HOSTING_PER_MINUTE", "many"),
    ("HOSTWATCH_ACCOUNTS__MAIN__ALLOW_HTTP", "yes"),
    ("HOSTWATCH_ALERTS__DISCONNECT_DAYS", "14,x"),
    ("HOSTWATCH_ACCOUNTS__MAIN__TO", "[\"a@example.com\""),
    ("HOSTWATCH_ACCOUNTS__SHOP__CURRENCY", "EUR"),
];

/// Several mistakes, and one cause of several.
const MANY: &str = "
[accounts.a]
panel_url = \"http://panel.example.com\"
vm_api_key = \"k\"
[accounts.b]
hosting_token_file = \"none\"
base_url = \"https://h\"
surprise = 1
[schedule]
vms = \"every minute\"
[alerts.rules.nothing]
enabled = true
[accounts.c]
time_zone = 1
";

/// The mistake, and the message about it.
#[derive(Default)]
struct Said(String);

impl Said {
    fn put(&mut self, what: &str, files: &[(&str, &str)], env: &[(&str, &str)]) {
        let said = complaints(files, env);
        assert!(!said.is_empty(), "nothing is said: {what}");
        assert!(!said.concat().contains("hunter"), "a secret is said: {said:?}");
        writeln!(self.0, "== {}\n{}\n", what.trim(), said.join("\n")).unwrap();
    }

    fn file(&mut self, what: &str, text: &str) {
        self.put(what, &[("x.toml", text)], &[]);
    }
}

#[test]
fn every_mistake_is_told() {
    let mut said = Said::default();
    said.put("no file", &[], &[]);
    said.put("a directory", &[("x.toml/inside", "")], &[]);
    FILES.iter().for_each(|text| said.file(text, text));
    IN_ACCOUNT.iter().for_each(|lines| said.file(lines, &format!("{BASE}{lines}")));
    for url in ADDRESSES {
        said.file(url, &BASE.replace("https://panel.example.com", url));
    }
    for (from, to) in MAIL {
        said.file(&format!("{from} -> {to}"), &format!("{BASE}{}", EMAIL.replace(from, to)));
    }
    said.file("an empty table is a table", &format!("{BASE}[email]"));
    let rule =
        "[webhooks.team]\nurl = 'https://h/hook'\n[alerts.rules]\nvm_error = { to = ['webhook:team'] }";
    said.file(rule, &format!("{BASE}{rule}"));
    let account = "[accounts.main]\npanel_url = 'https://p'\n";
    for (lines, secret) in SECRETS {
        let what = format!("{lines}, {secret:?}");
        said.put(&what, &[("x.toml", &format!("{account}{lines}")), ("secret", secret)], &[]);
    }
    let (named, long) = (format!("{account}vm_api_key_file = 'secret'"), "x".repeat(65_537));
    said.put("a secret of 64 KiB and a byte", &[("x.toml", &named), ("secret", &long)], &[]);
    let (authorities, bad) = (
        format!("{BASE}ca_file = 'ca.pem'"),
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    let former = ("accounts.d/shop.toml", "");
    said.put("accounts in a directory", &[("x.toml", BASE), former], &[]);
    said.put("a bad certificate", &[("x.toml", &authorities), ("ca.pem", bad)], &[]);
    TOKENS.iter().for_each(|lines| said.file(lines, &format!("{BASE}base_url = 'https://h'\n{lines}")));
    for (name, value) in VARIABLES {
        said.put(&format!("{name}={value}"), &[("x.toml", BASE)], &[(name, value)]);
    }
    said.file(MANY, MANY);
    insta::assert_snapshot!("mistakes", said.0);
}

/// Files beside those that are refused.
#[test]
fn files_without_a_mistake_are_fine() {
    let bought = "hosting_token_url = 'http://127.0.0.1:1/token/'\nhosting_api_key = 'k'\n";
    let bought = format!("{BASE}base_url = 'https://h'\n{bought}");
    let urls =
        ["https://h/", "https://h/prefix", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"];
    let reached = urls.map(|url| BASE.replace("https://panel.example.com", url));
    let others = [
        BASE.to_owned(),
        format!("{BASE}{EMAIL}"),
        format!("{BASE}to = ['webhook:team']\n[webhooks.team]\nurl = 'https://user:hunter2@h/'"),
        BASE.replace("https:", "http:") + "allow_http = true",
        format!("{bought}hosting_token_fields = ['key', 'access']"),
        bought,
    ];
    for text in reached.iter().chain(&others) {
        assert_eq!(complaints(&[("x.toml", text)], &[]), Vec::<String>::new(), "{text}");
    }
}
