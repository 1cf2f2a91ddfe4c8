//! The settings that result from a configuration: layers over each other, secrets from everywhere, accounts
//! with their own tables, and the parts for the layers of the program. No message may show a secret.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::alert::{Kind, Severity};
use crate::config::{self, AccountSettings, Environment, Settings};
use crate::model::Collector;
use secrecy::ExposeSecret;

const BASE: &str = "[accounts.main]\npanel_url = 'https://panel.example.com'\nvm_api_key = 'key'\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new(main: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap()).with("x.toml", main);
        place.set_mode("x.toml", 0o600);
        place
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn with(self, name: &str, text: &str) -> Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn load(&self, env: &[(&str, &str)]) -> Settings {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        config::load(Some(&self.path().join("x.toml")), &env).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn load_with_credentials(&self) -> Settings {
        self.load(&[("CREDENTIALS_DIRECTORY", self.path().join("credentials").to_str().unwrap())])
    }
}

fn vm_key(settings: &Settings, account: usize) -> String {
    settings.accounts[account].api.vm_api_key.as_ref().unwrap().expose_secret().to_owned()
}

#[test]
fn a_secret_in_a_file_that_all_can_read_is_warned_of() {
    let place = Place::new(BASE);
    assert!(place.load(&[]).warnings.is_empty());
    place.set_mode("x.toml", 0o644);
    let warnings = place.load(&[]).warnings;
    assert!(warnings[0].contains("vm_api_key: is a secret in a file that every user"), "{warnings:?}");
    // One that the environment gives is in no file.
    assert_eq!(place.load(&[("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", "k")]).warnings, [""; 0]);
}

#[test]
fn environment_goes_over_files_and_files_over_defaults() {
    let place =
        Place::new(&format!("{BASE}currency = 'EUR'\n[billing]\nlead_days = 5\n[store]\npath = 'file.db'"));
    let settings = place.load(&[("HOSTWATCH_STORE__PATH", "env.db"), ("UNRELATED", "x")]);
    assert!(settings.store_path.ends_with("env.db"), "{:?}", settings.store_path);
    assert_eq!(settings.accounts[0].alert.lead_days, 5);
    assert_eq!(settings.accounts[0].alert.recover_polls, 2);
    let settings =
        place.load(&[("HOSTWATCH_BILLING__LEAD_DAYS", "6"), ("HOSTWATCH_ACCOUNTS__MAIN__CURRENCY", "007")]);
    assert_eq!(settings.accounts[0].alert.lead_days, 6);
    assert_eq!(settings.accounts[0].profile.currency, "007", "text stays the text it is");
}

#[test]
fn variables_are_typed_by_their_key() {
    let place = Place::new(&BASE.replace("main", "Shop-2"));
    let account = "HOSTWATCH_ACCOUNTS__SHOP_2__";
    let name = |key: &str| format!("{account}{key}");
    let names = [
        name("VM_API_KEY"),
        name("TO"),
        name("CONTAINER_STATES__0"),
        name("SCHEDULE__VMS"),
        name("ALLOW_HTTP"),
    ];
    let settings = place.load(&[
        (&names[0], "00123"),
        (&names[1], "a@example.com, B <b@example.com>"),
        (&names[2], "ENABLED"),
        (&names[3], "0 * * * *"),
        (&names[4], "true"),
        ("HOSTWATCH_ALERTS__DISCONNECT_DAYS", "[20, 5]"),
        ("HOSTWATCH_ALERTS__RULES__VM_STOPPED__ENABLED", "true"),
        ("HOSTWATCH_ALERTS__RULES__VM_STOPPED__ONLY", "web-*,db-*"),
        ("HOSTWATCH_CONFIG_FILE", "taken by the command line"),
    ]);
    let [account] = settings.accounts.as_slice() else { panic!("{settings:?}") };
    assert_eq!(account.name().as_str(), "Shop-2");
    assert_eq!(vm_key(&settings, 0), "00123");
    assert_eq!(
        account.to.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["a@example.com", "b@example.com"]
    );
    assert_eq!(account.api.container_states[&0], "ENABLED");
    assert_eq!(account.schedules[&Collector::Vms].to_string(), "0 * * * *");
    assert_eq!(account.alert.disconnect_days, [20, 5, 4]);
    assert!(account.alert.enabled(Kind::VmStopped) && account.alert.covers(Kind::VmStopped, "db-1"));
    assert!(!account.alert.covers(Kind::VmStopped, "mail"));
    assert_eq!(settings.warnings, Vec::<String>::new());
}

#[test]
fn the_environment_alone_will_do() {
    let env = Environment::from([
        ("HOSTWATCH_ACCOUNTS__MAIN__PANEL_URL", "https://panel.example.com"),
        ("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", "hunter2"),
    ]);
    assert!(!format!("{env:?}").contains("hunter2"), "{env:?}");
    let settings = config::load(None, &env).unwrap();
    assert_eq!(settings.accounts[0].name().as_str(), "main");
    let errors = config::load(None, &Environment::default()).unwrap_err().to_string();
    assert!(errors.starts_with("environment: accounts: none;"), "{errors}");
}

#[test]
fn a_way_that_no_recipient_names_is_warned_of() {
    let ways = "[webhooks.team]\nurl = 'https://h/'\n[telegram.ops]\ntoken = '1:x'\nchat_id = 1\n";
    for (named, want) in [
        ("", ["webhooks.team", "telegram.ops"].as_slice()),
        ("to = ['telegram:ops']\n", &["webhooks.team"]),
        ("to = ['telegram:ops']\nalerts.escalate_to = ['webhook:team']\n", &[]),
    ] {
        let warnings = Place::new(&format!("{BASE}{named}{ways}")).load(&[]).warnings;
        assert_eq!(warnings.len(), want.len(), "{warnings:?}");
        for (warning, table) in warnings.iter().zip(want) {
            assert!(warning.contains(&format!("{table}: is not used: no recipient is")), "{warning}");
        }
    }
}

#[test]
fn a_variable_without_levels_is_warned_of() {
    let settings = Place::new(BASE).load(&[("HOSTWATCH_STORE_PATH", "x")]);
    let want = "HOSTWATCH_STORE_PATH: is not used: levels of a key are separated by '__', such as HOSTWATCH_STORE__PATH";
    assert_eq!(settings.warnings, [want]);
}

/// A reload replaces the collectors of an account that would be polled in another way.
#[test]
fn collectors_follow_the_settings_that_they_use() {
    let account = |alerts: &str| {
        let mut settings = Place::new(&format!("{BASE}[alerts]\n{alerts}")).load(&[]);
        settings.accounts.remove(0)
    };
    let usual = account("");
    for (alerts, is_same) in [
        ("confirm_polls = 2", true),
        ("collector_failing_after = '3m'", false),
        ("disconnect_days = [30, 1]", false),
    ] {
        assert_eq!(usual.is_polled_like(&account(alerts)), is_same, "{alerts}");
    }
}

#[test]
fn accounts_override_shared_settings_key_by_key() {
    let place = Place::new(
        r#"
        [defaults]
        panel_url = "https://panel.example.com"
        vm_api_key = "shared"
        time_zone = "Europe/Moscow"
        to = ["all@example.com"]
        container_states = { 0 = "ENABLED", 1 = "DISABLED_BY_ADMIN" }
        [defaults.limits]
        vm_other_per_minute = 30
        [limits]
        vm_list_per_minute = 100
        vm_other_per_minute = 50
        [schedule]
        vms = "*/5 * * * *"
        [alerts]
        confirm_polls = 2
        [alerts.rules.vm_error]
        severity = "warning"
        except = ["test-*"]
        [accounts.a]
        [accounts.b]
        vm_api_key = "own"
        to = ["b@example.com"]
        container_states = { 1 = "DISABLED_BY_QUOTA" }
        [accounts.b.schedule]
        vms = "0 * * * *"
        ips = ""
        [accounts.b.limits]
        vm_other_per_minute = 10
        [accounts.b.billing]
        horizon_days = 60
        [accounts.b.alerts]
        recover_polls = 4
        rules = { vm_error = { severity = "info" } }
        "#,
    );
    let settings = place.load(&[]);
    let [a, b] = settings.accounts.as_slice() else { panic!("{settings:?}") };
    assert_eq!((vm_key(&settings, 0).as_str(), vm_key(&settings, 1).as_str()), ("shared", "own"));
    assert_eq!(a.api.limits[..2], [100, 30]);
    assert_eq!(b.api.limits[..2], [100, 10]);
    assert_eq!(a.schedules[&Collector::Vms].to_string(), "*/5 * * * *");
    assert_eq!(b.schedules[&Collector::Vms].to_string(), "0 * * * *");
    assert!(a.schedules.contains_key(&Collector::Ips) && !b.schedules.contains_key(&Collector::Ips));
    assert_eq!((a.horizon_days, b.horizon_days), (90, 60));
    assert_eq!((a.alert.confirm_polls, a.alert.recover_polls), (2, 2));
    assert_eq!((b.alert.confirm_polls, b.alert.recover_polls), (2, 4));
    assert_eq!(
        [&a, &b].map(|one| one.alert.severity_at(Kind::VmError, false)),
        [Severity::Warning, Severity::Info]
    );
    assert!(!b.alert.covers(Kind::VmError, "test-1"), "other keys of the rule stay");
    assert_eq!(
        (a.to[0].to_string(), b.to[0].to_string()),
        ("all@example.com".into(), "b@example.com".into())
    );
    assert_eq!(
        (a.api.container_states[&1].as_str(), b.api.container_states[&1].as_str()),
        ("DISABLED_BY_ADMIN", "DISABLED_BY_QUOTA")
    );
    assert_eq!(b.api.container_states[&0], "ENABLED");
    assert_eq!(a.profile.zone(), chrono_tz::Europe::Moscow);
}

#[test]
fn a_secret_comes_from_a_file_or_a_credential() {
    let account = "[accounts.main]\npanel_url = 'https://p'\n";
    let place =
        Place::new(&format!("{account}vm_api_key_file = 'deep/secret'")).with("deep/secret", "from file\r\n");
    let settings = place.load(&[]);
    assert_eq!(vm_key(&settings, 0), "from file");
    assert_eq!(settings.secret_files, [place.path().join("deep/secret")]);
    let place = Place::new(account).with("credentials/main.vm_api_key", "from credential\n");
    let named = format!("{account}vm_api_key_file = 'credentials/main.vm_api_key'");
    let named = Place::new(&named).with("credentials/main.vm_api_key", "from credential\n");
    for place in [place, named] {
        let settings = place.load_with_credentials();
        assert_eq!(vm_key(&settings, 0), "from credential");
        assert_eq!(settings.secret_files, [place.path().join("credentials/main.vm_api_key")]);
    }
    let renamed = Place::new(&format!("{account}vm_api_key_file = 'credentials/panel.key'"))
        .with("credentials/panel.key", "x")
        .with("credentials/other.key", "x");
    let warnings = renamed.load_with_credentials().warnings.join("\n");
    assert!(
        warnings.contains("other.key: nobody reads this file") && !warnings.contains("panel.key: nobody"),
        "{warnings}"
    );
}

#[test]
fn the_end_of_a_line_is_no_part_of_a_secret() {
    let place = Place::new(&BASE.replace("'key'", "\"key\\n\"")).with("credentials/main.vm_api_key", "key\n");
    assert_eq!(vm_key(&place.load(&[]), 0), "key");
    assert_eq!(vm_key(&place.load(&[("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", "key\r\n")]), 0), "key");
    assert_eq!(vm_key(&place.load_with_credentials(), 0), "key", "a copy is no second place");
}

#[test]
fn a_secret_of_its_own_replaces_a_shared_one() {
    let shared = "[defaults]\npanel_url = 'https://p'\nvm_api_key = 'shared'\n";
    let accounts = "[accounts.a]\nvm_api_key_file = 's'\n[accounts.b]\n[accounts.c]\n";
    let place = Place::new(&format!("{shared}{accounts}"))
        .with("s", "own")
        .with("credentials/b.vm_api_key", "credential");
    let settings = place.load_with_credentials();
    assert_eq!([0, 1, 2].map(|account| vm_key(&settings, account)), ["own", "credential", "shared"]);
}

#[test]
fn the_store_is_under_the_state_directory_or_beside_the_file_when_relative() {
    let table = [
        ("", "", "PLACE/hostwatch.db"),
        ("[store]\npath = 'x/y.db'", "", "PLACE/x/y.db"),
        ("", "/var/lib/hostwatch", "/var/lib/hostwatch/hostwatch.db"),
        ("", "/var/lib/a:/var/lib/b", "/var/lib/a/hostwatch.db"),
        ("[store]\npath = 'x/y.db'", "/var/lib/hostwatch", "/var/lib/hostwatch/x/y.db"),
        ("[store]\npath = '/srv/y.db'", "/var/lib/hostwatch", "/srv/y.db"),
    ];
    for (lines, state, want) in table {
        let place = Place::new(&format!("{BASE}{lines}"));
        let settings = place.load(&[("STATE_DIRECTORY", state)]);
        let beside = place.path().display().to_string();
        assert_eq!(settings.store_path, PathBuf::from(want.replace("PLACE", &beside)));
    }
}

/// Lines in the account of the base, and tables below it.
const CHANGES: [&str; 25] = [
    "base_url = 'https://h'\nhosting_token = 't'",
    "base_url = 'https://h'\nhosting_token = 't'\nhosting_auth_scheme = ''\n[schedule]\ncontainers = ''",
    "time_zone = 'Europe/Moscow'\nbilling_username = 'u'\nbilling_password = 'p'",
    "time_zone = 'UTC'\nbilling_username = 'u'\nbilling_password = 'p'\n[alerts.rules.disconnect]\nenabled = false\nexcept = ['*']",
    "[alerts.rules.disconnect]\nenabled = false",
    "to = ['ops@example.com']",
    "vm_memory_unit = 'B'",
    "vm_memory_unit = 'KB'",
    "vm_memory_unit = 'KiB'",
    "vm_memory_unit = 'MB'",
    "vm_memory_unit = 'MiB'",
    "vm_memory_unit = 'GB'",
    "vm_memory_unit = 'GiB'",
    "[accounts.main.container_states]\n0 = 'ENABLD'",
    "[alerts]\nstuck_after = '8h'\ncollector_failing_after = '90s'",
    "[alerts.remind_every]\ncritical = '12h'\nwarning = ''\ninfo = '1d12h'",
    "[alerts.rules]\nvm_error = { to = ['Ops  <ops@example.com>'] }\nsite_error = { enabled = false }",
    "[schedule]\nvms = '* * * * *'\nips = '0 9 * * 1-5'",
    "[schedule]\nvms = '*/2 * * * *'\n[metrics]\nstale_after = '2h'\nstate_series = 'current'",
    "[schedule]\nvms = '*/10 * * * * *'",
    "[schedule]\nvms = '*/30 * * * * *'",
    "[schedule]\ndigest = ''",
    "[heartbeat]\nurl = 'https://hc.example.com/uuid?x=1'",
    "[defaults]\nproxy = 'socks5h://u:hunter2@127.0.0.1:1080'",
    "[email]\nsmtp_url = 'smtp://u%40x@mail.example.com'\npassword_file = 'p'\n\
     from = 'hostwatch <h@example.com>'\nto = ['ops@example.com', 'b@example.com']\nmax_per_hour = 5",
];

/// The settings that a change of the base takes away and adds, with its warnings.
#[test]
fn each_change_does_what_it_did() {
    let settings = |lines: &str| -> Vec<String> {
        let place = Place::new(&format!("{BASE}{lines}")).with("p", "pass\n");
        let all = place.load(&[]);
        let of_account = &all.accounts[0];
        let AccountSettings { profile, api, alert, to, schedules, .. } = of_account;
        let times = schedules.iter().map(|(collector, schedule)| format!("{collector:?} at {schedule}"));
        let times = times.chain(all.digest.iter().map(|schedule| format!("digest at {schedule}")));
        let times = times.collect::<Vec<_>>().join("\n");
        let mails = (
            all.mails,
            &all.email,
            all.max_per_hour,
            &all.heartbeat_url,
            &all.heartbeat_via,
            &all.secret_files,
        );
        let rest = (mails, &all.state_series, &all.warnings);
        let shown = format!("{times}\n{profile:#?}\n{api:#?}\n{alert:#?}\n{to:#?}\n{rest:#?}");
        let shown = shown.replace(&place.path().display().to_string(), "PLACE");
        shown.lines().map(|line| line.trim().to_owned()).collect()
    };
    let base = settings("");
    let mut all = String::new();
    for lines in CHANGES {
        let mut left = base.clone();
        let added = settings(lines).into_iter().filter(|line| {
            let place = left.iter().position(|known| known == line);
            place.map(|place| left.remove(place)).is_none()
        });
        let added: Vec<String> = added.collect();
        all += &format!("== {lines}\n- {}\n+ {}\n\n", left.join(" "), added.join(" "));
    }
    insta::assert_snapshot!("settings", all);
}

#[test]
fn ladders_are_sorted_and_hold_the_last_day_to_pay() {
    let table: [(&str, u32, &[u32]); 4] = [
        ("[14, 7, 3, 1]", 3, &[14, 7, 4, 3, 1]),
        ("[1, 30]", 0, &[30, 1]),
        ("[]", 3, &[4]),
        ("[4, 10]", 3, &[10, 4]),
    ];
    for (days, lead, want) in table {
        let text = format!("{BASE}[alerts]\ndisconnect_days = {days}\n[billing]\nlead_days = {lead}");
        assert_eq!(Place::new(&text).load(&[]).accounts[0].alert.disconnect_days, want);
    }
}

#[test]
fn a_variable_means_the_webhook_of_the_file_however_its_name_is_written() {
    let place =
        Place::new(&format!("{BASE}to = ['webhook:On-Call']\n[webhooks.On-Call]\nallow_http = true\n"));
    let webhooks = place.load(&[("HOSTWATCH_WEBHOOKS__ON_CALL__URL", "http://hook.example.com/")]).webhooks;
    assert_eq!(webhooks.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["On-Call"]);
}

/// The processor time of this thread, independent of other load; `None` if the kernel does not count it.
fn on_cpu_nanoseconds() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

#[test]
fn ten_times_the_accounts_do_not_load_a_hundred_times_as_long() {
    let load = |accounts: usize| {
        let mut text = "[defaults]\npanel_url = 'https://p'\n".to_owned();
        for n in 0..accounts {
            text.push_str(&format!("[accounts.a{n}]\nvm_api_key = 'k{n}'\n"));
        }
        let place = Place::new(&text);
        let before = on_cpu_nanoseconds();
        assert_eq!(place.load(&[]).accounts.len(), accounts);
        Some(on_cpu_nanoseconds()? - before?)
    };
    load(1);
    let (Some(few), Some(many)) = (load(50), load(500)) else { return };
    assert!(many < 40 * few, "{many} ns for 500 accounts, {few} ns for 50");
}
