//! What can be wrong with the values of keys, and the exact line that says so.
#![allow(clippy::unwrap_used)]

use super::config_support;

use config_support::{BASE, EMAIL, complaints, in_account, one_line_each};

#[test]
fn accounts() {
    let nothing = "nothing to watch: no credentials; set hosting_token, vm_api_key, or billing_username with \
                   billing_password (or …_file)";
    one_line_each(&[
        ("[accounts.main]", &format!("x.toml: accounts.main: {nothing}")),
        ("[accounts.main]\nbase_url = 'https://h'", &format!("x.toml: accounts.main: {nothing}")),
        (
            "[accounts.main]\nhosting_token = 't'",
            "x.toml: accounts.main.base_url: missing beside hosting_token; set the address these credentials are for",
        ),
        (
            "[accounts.main]\nvm_api_key = 'k'",
            "x.toml: accounts.main.panel_url: missing beside vm_api_key; set the address these credentials are for",
        ),
        (
            "[accounts.main]\nbilling_username = 'u'\nbilling_password = 'p'\ntime_zone = 'UTC'",
            "x.toml: accounts.main.panel_url: missing beside billing_username; set the address these credentials are for",
        ),
    ]);
    in_account(&[
        (
            "billing_username = 'u'",
            "x.toml: accounts.main.billing_password: missing beside billing_username; set it, or billing_password_file",
        ),
        (
            "billing_password = 'p'",
            "x.toml: accounts.main.billing_username: missing beside billing_password; set it",
        ),
        (
            "billing_username = 'u:v'\nbilling_password = 'p'\ntime_zone = 'UTC'",
            "x.toml: accounts.main.billing_username: must not hold ':', which ends the user of basic authentication",
        ),
        (
            "billing_username = 'u'\nbilling_password = 'p'",
            "x.toml: accounts.main.time_zone: missing; billing is polled, and its dates have no offset: set it to an IANA name such as \"Europe/Moscow\"",
        ),
        (
            "time_zone = 'Europe/Moskow'",
            "x.toml: accounts.main.time_zone: no time zone 'Europe/Moskow'; did you mean \"Europe/Moscow\"?",
        ),
        (
            "vm_memory_unit = 'TB'",
            "x.toml: accounts.main.vm_memory_unit: no unit 'TB'; allowed are B, KB, KiB, MB, MiB, GB and GiB",
        ),
        (
            "currency = \"a\\nb\"",
            "x.toml: accounts.main.currency: holds a line break or another control character; remove it",
        ),
        (
            "hosting_auth_scheme = 'Bearer '",
            "x.toml: accounts.main.hosting_auth_scheme: is no word of an Authorization header; such as \"Bearer\", or \"\" for none",
        ),
        (
            "pay_link = 'pay.example.com'",
            "x.toml: accounts.main.pay_link: has no https:// in front; such as \"https://panel.example.com\"",
        ),
        (
            "panel_link = 'https://{kind}.example.com/{id}'",
            "x.toml: accounts.main.panel_link: must have {kind} and {id} behind the host",
        ),
        (
            "panel_link = 'https://panel.example.com/{type}/{id}'",
            "x.toml: accounts.main.panel_link: knows no other names in braces than {kind} and {id}",
        ),
        (
            "pay_note = \"a\\nb\"",
            "x.toml: accounts.main.pay_note: holds a line break or another control character; remove it",
        ),
        (
            "to = ['ops']",
            "x.toml: accounts.main.to: 'ops' is no mail address; such as \"Ops <ops@example.com>\"",
        ),
        (
            "[accounts.main.container_states]\n1 = 'ENABLED'\n01 = 'ENABLED'",
            "x.toml: accounts.main.container_states.1: names a code twice; remove one",
        ),
    ]);
}

#[test]
fn addresses() {
    let row = |url: &str, why: &str| {
        let text = format!("[accounts.main]\nvm_api_key = 'k'\npanel_url = '{url}'");
        let got = complaints(&[("x.toml", &text)], &[]);
        let want =
            if why.is_empty() { vec![] } else { vec![format!("x.toml: accounts.main.panel_url: {why}")] };
        assert_eq!(got, want, "{url}");
    };
    let http = "plain http would show the credentials to the network; use https://, or set allow_http";
    row("https://panel.example.com/", "");
    row("https://panel.example.com/prefix", "");
    row("http://127.0.0.1:10246", "");
    row("http://[::1]:10246", "");
    row("http://localhost:10246", "");
    row("http://panel.example.com", http);
    row("http://10.0.0.1", http);
    row("http://localhost.example.com", http);
    row("panel.example.com", "has no https:// in front; such as \"https://panel.example.com\"");
    row("https://", "is no URL (empty host); such as \"https://panel.example.com\"");
    row("ftp://panel.example.com", "must start with https:// or http://");
    row(
        "https://user:hunter2@panel.example.com",
        "must not name a user or password; they have keys of their own",
    );
    row("https://panel.example.com/?x=1", "must end before '?' and '#'; give the address alone");
    row("https://panel.example.com/#x", "must end before '?' and '#'; give the address alone");
    let allowed =
        "[accounts.main]\nvm_api_key = 'k'\npanel_url = 'http://panel.example.com'\nallow_http = true";
    assert_eq!(complaints(&[("x.toml", allowed)], &[]), Vec::<String>::new());
}

#[test]
fn schedules_limits_and_alerts() {
    in_account(&[
        (
            "[schedule]\nvms = '* * * *'",
            "x.toml: schedule.vms: '* * * *' has 4 fields; allowed are five (minute, hour, day of month, month, day of week) or six (seconds first), such as '*/5 * * * *'",
        ),
        (
            "[schedule]\ncharges = '0 0 30 2 *'",
            "x.toml: schedule.charges: '0 0 30 2 *' never comes: no such day in these months; such as '0 9 28 2 *'",
        ),
        (
            "[schedule]\ndigest = '0 9 * * 8'",
            "x.toml: schedule.digest: day of week '8': '8' is out of range; allowed are 0 to 7 or sun to sat, '*', ranges, lists and steps, such as 'mon-fri'",
        ),
        (
            "[accounts.main.schedule]\nvms = '61 * * * *'",
            "x.toml: accounts.main.schedule.vms: minute '61': '61' is out of range; allowed are 0 to 59, '*', ranges, lists and steps, such as '*/15'",
        ),
        (
            "[defaults.schedule]\nvms = 'x x x x x'",
            "x.toml: defaults.schedule.vms: minute 'x': 'x' is out of range; allowed are 0 to 59, '*', ranges, lists and steps, such as '*/15'",
        ),
        (
            "[limits]\nvm_list_per_minute = 0",
            "x.toml: limits.vm_list_per_minute: 0 is out of range; allowed are 1 to 10000000",
        ),
        (
            "[billing]\nhorizon_days = 731",
            "x.toml: billing.horizon_days: 731 is out of range; allowed are 1 to 730",
        ),
        (
            "[billing]\nhorizon_days = 20",
            "x.toml: billing.horizon_days: the horizon of 20 days is too short for the ladder; set billing.horizon_days to 21 or more, the top rung plus 7",
        ),
        (
            "[alerts]\ndisconnect_days = [90]",
            "x.toml: alerts.disconnect_days: the horizon of 90 days is too short for the ladder; set billing.horizon_days to 97 or more, the top rung plus 7",
        ),
        (
            "[accounts.main.alerts]\ndisconnect_days = [90]",
            "x.toml: accounts.main.alerts.disconnect_days: the horizon of 90 days is too short for the ladder; set billing.horizon_days to 97 or more, the top rung plus 7",
        ),
        ("[billing]\nlead_days = 61", "x.toml: billing.lead_days: 61 is out of range; allowed are 0 to 60"),
        (
            "[alerts]\ndisconnect_days = [7, 0]",
            "x.toml: alerts.disconnect_days: each rung is 1 to 723 days; overdue is always a rung",
        ),
        (
            "[alerts]\ndisconnect_days = [7, 3, 7]",
            "x.toml: alerts.disconnect_days: names a rung twice; remove one",
        ),
        (
            "[alerts]\nconfirm_polls = 0",
            "x.toml: alerts.confirm_polls: 0 is out of range; allowed are 1 to 1000",
        ),
        (
            "[alerts]\nrecover_polls = 0",
            "x.toml: alerts.recover_polls: 0 is out of range; allowed are 1 to 1000",
        ),
        (
            "[alerts]\nstuck_after = '30 min'",
            "x.toml: alerts.stuck_after: '30 min' is no duration; such as \"90s\", \"30m\", \"6h\" or \"1d\"",
        ),
        (
            "[alerts]\nstuck_after = '1M'",
            "x.toml: alerts.stuck_after: '1M' is no duration; such as \"90s\", \"30m\", \"6h\" or \"1d\"",
        ),
        (
            "[alerts]\nstuck_after = '90000ms'",
            "x.toml: alerts.stuck_after: '90000ms' is no duration; such as \"90s\", \"30m\", \"6h\" or \"1d\"",
        ),
        (
            "[alerts]\nstuck_after = ''",
            "x.toml: alerts.stuck_after: is empty; give a duration such as \"30m\", or remove the key",
        ),
        (
            "[alerts]\ncollector_failing_after = '0s'",
            "x.toml: alerts.collector_failing_after: '0s' is out of range; allowed are 1s to 3660d",
        ),
        (
            "[alerts]\nremind_every = { critical = '9999999999999999999d' }",
            "x.toml: alerts.remind_every.critical: '9999999999999999999d' is no duration; such as \"90s\", \"30m\", \"6h\" or \"1d\"",
        ),
        (
            "[alerts.rules.vm_error]\nseverity = 'crit'",
            "x.toml: alerts.rules.vm_error.severity: 'crit' is no severity; use critical, warning or info",
        ),
        (
            "[alerts.rules.disconnect]\nseverity = 'info'",
            "x.toml: alerts.rules.disconnect.severity: a disconnect mail takes its rung's severity; remove it",
        ),
        (
            "[alerts.rules.vm_error]\nto = ['nobody']",
            "x.toml: alerts.rules.vm_error.to: 'nobody' is no mail address; such as \"Ops <ops@example.com>\"",
        ),
        (
            "[metrics.families]\nhosting_vm_disks = false",
            "x.toml: metrics.families: there are no switches of single metrics any more; name those to leave out in \
             'metrics.deny', or all that are wanted in 'metrics.allow'",
        ),
        (
            "[metrics]\nallow = ['hosting_*', 'hostwach_*']",
            "x.toml: metrics.allow: 'hostwach_*' matches no metric; did you mean 'hostwatch_web_info'?",
        ),
        (
            "[metrics]\ndeny = ['hosting_vm_inf']",
            "x.toml: metrics.deny: 'hosting_vm_inf' matches no metric; did you mean 'hosting_vm_info'?",
        ),
        (
            "[metrics]\nmax_series_per_collector = 50",
            "x.toml: metrics.max_series_per_collector: 50 is out of range; allowed are 0 for no limit, and 100 or more",
        ),
        (
            "[metrics]\nstate_series = 'some'",
            "x.toml: metrics.state_series: no choice 'some'; allowed are \"all\" and \"current\"",
        ),
        (
            "[metrics]\nstale_after = 'x'",
            "x.toml: metrics.stale_after: 'x' is no duration; such as \"90s\", \"30m\", \"6h\" or \"1d\"",
        ),
        ("[store]\npath = ''", "x.toml: store.path: is empty; name a file such as \"hostwatch.db\""),
        (
            "[heartbeat]\nurl = 'hc-ping.com/x'",
            "x.toml: heartbeat.url: has no https:// in front; such as \"https://panel.example.com\"",
        ),
    ]);
}

#[test]
fn email() {
    let with = |from: &str, to: &str| format!("{BASE}{}", EMAIL.replace(from, to));
    let row = |from: &str, to: &str, want: &[&str]| {
        assert_eq!(complaints(&[("x.toml", &with(from, to))], &[]), want, "{to}");
    };
    let url = "smtps://mail.example.com";
    row(
        url,
        "smtps://u:hunter2@mail.example.com",
        &[
            "x.toml: email.smtp_url: must not hold a password; put it into a file that email.password_file names",
        ],
    );
    row(
        url,
        "smtps://u@mail.example.com",
        &[
            "x.toml: email.password: missing beside the user in email.smtp_url; set it, email.password_file, or the systemd credential smtp.password",
        ],
    );
    row(
        "to = ",
        "password = 'p'\nto = ",
        &[
            "x.toml: email.smtp_url: names no user for email.password; write smtps://user@host, or remove the password",
        ],
    );
    row(
        url,
        "mail.example.com",
        &["x.toml: email.smtp_url: has no smtps:// in front; such as \"smtps://user@smtp.example.com:465\""],
    );
    row(url, "", &["x.toml: email.smtp_url: missing; set it, such as \"smtps://user@smtp.example.com:465\""]);
    row(
        "hostwatch <h@example.com>",
        "",
        &["x.toml: email.from: missing; set it, such as \"hostwatch <hostwatch@example.com>\""],
    );
    row(
        "hostwatch <h@example.com>",
        "hostwatch",
        &["x.toml: email.from: 'hostwatch' is no mail address; such as \"Ops <ops@example.com>\""],
    );
    row(
        "to = [\"ops@example.com\"]",
        "",
        &["x.toml: accounts.main.to: nobody would get this account's mails; set email.to, or this"],
    );
    row(
        "to = ",
        "max_per_hour = 0\nto = ",
        &["x.toml: email.max_per_hour: 0 is out of range; allowed are 1 to 100000"],
    );
    row(
        "to = ",
        "ca_file = 'ca.pem'\nto = ",
        &[
            "x.toml: email.ca_file: ca.pem cannot be read: No such file or directory; name a PEM file that hostwatch may read",
        ],
    );
    row(
        "to = ",
        "ca_file = 'x.toml'\nto = ",
        &[
            "x.toml: email.ca_file: x.toml holds no certificate in PEM form; name a PEM file that hostwatch may read",
        ],
    );
    let hook = "[webhooks.team]\nurl = 'https://chat.example.com/hook'\n";
    let rule = format!("{BASE}{hook}[alerts.rules]\nvm_error = {{ to = ['webhook:team'] }}\n");
    assert_eq!(
        complaints(&[("x.toml", &rule)], &[]),
        [
            "x.toml: accounts.main.to: nobody would hear of this account's cut-off; name a webhook, such as [\"webhook:NAME\"]"
        ]
    );
    // An address that may be as good as a password is not repeated.
    for written in ["https://chat.example.com/TOKEN", "webhook:https://chat.example.com/TOKEN"] {
        row(
            "to = [\"ops@example.com\"]",
            &format!("to = ['{written}']"),
            &[
                "x.toml: email.to: holds a web address; write it as url into [webhooks.NAME], and \"webhook:NAME\" here",
            ],
        );
    }
    assert_eq!(
        complaints(&[("x.toml", &format!("{BASE}[email]"))], &[]),
        [
            "x.toml: email.smtp_url: missing; set it, such as \"smtps://user@smtp.example.com:465\"",
            "x.toml: email.from: missing; set it, such as \"hostwatch <hostwatch@example.com>\"",
            "x.toml: accounts.main.to: nobody would get this account's mails; set email.to, or this",
        ],
        "an empty table is a table"
    );
}

#[test]
fn secrets() {
    const REMEDY: &str = "the secret must be its only content and readable by hostwatch";
    let account = "[accounts.main]\npanel_url = 'https://p'\n";
    let row = |lines: &str, secret: &str, want: &str| {
        let files = [("x.toml", format!("{account}{lines}")), ("secret", secret.to_owned())];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(complaints(&files, &[]), [want.replace("{REMEDY}", REMEDY)], "{lines}");
    };
    row(
        "vm_api_key = ''",
        "",
        "x.toml: accounts.main.vm_api_key: is empty; give the secret, or remove the key",
    );
    row(
        "vm_api_key = \"hunter2\\nx\"",
        "",
        "x.toml: accounts.main.vm_api_key: holds a line break or another control character; give the secret, or remove the key",
    );
    row(
        "vm_api_key_file = 'none'",
        "",
        "x.toml: accounts.main.vm_api_key_file: none cannot be read: No such file or directory; {REMEDY}",
    );
    row(
        "vm_api_key_file = '.'",
        "",
        "x.toml: accounts.main.vm_api_key_file: . cannot be read: Is a directory; {REMEDY}",
    );
    row(
        "vm_api_key_file = ''",
        "",
        "x.toml: accounts.main.vm_api_key_file: is empty; name a file, or remove the key",
    );
    row("vm_api_key_file = 'secret'", "", "x.toml: accounts.main.vm_api_key_file: secret is empty; {REMEDY}");
    row(
        "vm_api_key_file = 'secret'",
        "\n",
        "x.toml: accounts.main.vm_api_key_file: secret is empty; {REMEDY}",
    );
    row(
        "vm_api_key_file = 'secret'",
        "hunter2\nhunter3\n",
        "x.toml: accounts.main.vm_api_key_file: secret holds a line break or another control character; {REMEDY}",
    );
    row(
        "vm_api_key_file = 'secret'",
        &"x".repeat(65_537),
        "x.toml: accounts.main.vm_api_key_file: secret is larger than 64 KiB; {REMEDY}",
    );
    row(
        "vm_api_key_file = 'secret'\nvm_api_key = 'x'",
        "x",
        "x.toml: accounts.main.vm_api_key: given beside vm_api_key_file; keep one of them",
    );
}
