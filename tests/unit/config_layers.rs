//! What a configuration comes to: layers over each other, secrets from everywhere, accounts with their own
//! tables, what the layers are handed; and that no secret shows.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::alert::{Kind, Severity};
use crate::config::{self, Environment, Settings};
use crate::mail::Security;
use crate::metrics::StateSeries;
use crate::model::{Collector, Group};
use secrecy::ExposeSecret;

const BASE: &str = "[accounts.main]\npanel_url = 'https://panel.example.com'\nvm_api_key = 'key'\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new(main: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.with("x.toml", main)
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

fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

fn vm_key(settings: &Settings, account: usize) -> String {
    settings.accounts[account].api.vm_api_key.as_ref().unwrap().expose_secret().to_owned()
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
        ["a@example.com", "B <b@example.com>"]
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
        ("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", "key"),
    ]);
    let settings = config::load(None, &env).unwrap();
    assert_eq!(settings.accounts[0].name().as_str(), "main");
    let errors = config::load(None, &Environment::default()).unwrap_err().to_string();
    assert!(errors.starts_with("environment: accounts: none;"), "{errors}");
}

#[test]
fn a_variable_without_levels_is_warned_of() {
    let settings = Place::new(BASE).load(&[("HOSTWATCH_STORE_PATH", "x")]);
    let want = "HOSTWATCH_STORE_PATH: is not used: levels of a key are separated by '__', such as HOSTWATCH_STORE__PATH";
    assert_eq!(settings.warnings, [want]);
}

#[test]
fn accounts_override_what_they_share_key_by_key() {
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
    assert_eq!((a.api.limits.vm_list_per_minute, a.api.limits.vm_other_per_minute), (100, 30));
    assert_eq!((b.api.limits.vm_list_per_minute, b.api.limits.vm_other_per_minute), (100, 10));
    assert_eq!(a.schedules[&Collector::Vms].to_string(), "*/5 * * * *");
    assert_eq!(b.schedules[&Collector::Vms].to_string(), "0 * * * *");
    assert!(a.schedules.contains_key(&Collector::Ips) && !b.schedules.contains_key(&Collector::Ips));
    assert_eq!((a.horizon_days, b.horizon_days), (90, 60));
    assert_eq!((a.alert.confirm_polls, a.alert.recover_polls), (2, 2));
    assert_eq!((b.alert.confirm_polls, b.alert.recover_polls), (2, 4));
    assert_eq!(
        (a.alert.severity(Kind::VmError), b.alert.severity(Kind::VmError)),
        (Severity::Warning, Severity::Info)
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
fn accounts_come_from_a_directory_too() {
    let shop = BASE.replace("main", "shop");
    let place = Place::new(BASE)
        .with("accounts.d/10-shop.toml", &shop)
        .with("accounts.d/.hidden.toml", "nonsense")
        .with("accounts.d/README", "nonsense")
        .with("accounts.d/20-none.toml", "");
    let settings = place.load(&[("HOSTWATCH_ACCOUNTS__SHOP__CURRENCY", "EUR")]);
    let names: Vec<&str> = settings.accounts.iter().map(|account| account.name().as_str()).collect();
    assert_eq!(names, ["main", "shop"]);
    assert_eq!(settings.accounts[1].profile.currency, "EUR");
}

#[test]
fn groups_without_credentials_are_off() {
    let text = "[accounts.main]\nbase_url = 'https://h'\npanel_url = 'https://p'\nhosting_token = 't'\n";
    let settings = Place::new(text).load(&[]);
    let account = &settings.accounts[0];
    assert_eq!(Group::ALL.map(|group| account.has(group)), [true, false, false]);
    let on = [Collector::Containers, Collector::Sites, Collector::Databases, Collector::CronJobs];
    assert_eq!(account.profile.collectors, on.into());
    assert!(!account.schedules.contains_key(&Collector::Sites), "sites follow their containers");
    let hosting = account.api.hosting.as_ref().unwrap();
    assert_eq!((hosting.scheme.as_str(), hosting.token.expose_secret()), ("Bearer", "t"));
    let text = format!("{text}hosting_auth_scheme = ''\n[schedule]\ncontainers = ''");
    let settings = Place::new(&text).load(&[]);
    let account = &settings.accounts[0];
    assert_eq!(account.api.hosting.as_ref().unwrap().scheme, "", "none is a choice");
    assert_eq!(account.profile.collectors, [Collector::Databases, Collector::CronJobs].into());
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
    let settings = place.load_with_credentials();
    assert_eq!(vm_key(&settings, 0), "from credential");
    assert_eq!(settings.secret_files, [place.path().join("credentials/main.vm_api_key")]);
}

#[test]
fn the_nearest_secret_wins() {
    let shared = "[defaults]\npanel_url = 'https://p'\nvm_api_key = 'shared'\n";
    // An account's file over the shared key.
    let place = Place::new(&format!("{shared}[accounts.main]\nvm_api_key_file = 's'")).with("s", "own");
    assert_eq!(vm_key(&place.load(&[]), 0), "own");
    // The environment over a file's `…_file`.
    assert_eq!(vm_key(&place.load(&[("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", "env")]), 0), "env");
    // A credential over what is shared, and one's own over it, with a warning.
    let place = Place::new(&format!("{shared}[accounts.main]\n[accounts.other]\nvm_api_key = 'own'\n"))
        .with("credentials/main.vm_api_key", "credential")
        .with("credentials/other.vm_api_key", "credential");
    let settings = place.load_with_credentials();
    assert_eq!((vm_key(&settings, 0).as_str(), vm_key(&settings, 1).as_str()), ("credential", "own"));
    let [warning] = settings.warnings.as_slice() else { panic!("{:?}", settings.warnings) };
    assert!(warning.contains("accounts.other.vm_api_key: set, so the systemd credential "), "{warning}");
}

#[test]
fn mail_settings() {
    let place = Place::new(&format!(
        "{BASE}[email]\nsmtp_url = 'smtp://u%40x@mail.example.com'\npassword_file = 'p'\nca_file = 'ca.pem'\n\
         from = 'hostwatch <h@example.com>'\nto = ['ops@example.com', 'b@example.com']\nmax_per_hour = 5"
    ))
    .with("p", "pass\n")
    .with("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    let settings = place.load(&[]);
    let email = settings.email.as_ref().unwrap();
    let server = &email.server;
    assert_eq!(
        (server.host.as_str(), server.port, server.security),
        ("mail.example.com", 587, Security::StartTls)
    );
    assert_eq!(server.username.as_deref(), Some("u@x"));
    assert_eq!(server.password.as_ref().unwrap().expose_secret(), "pass");
    assert_eq!(server.ca_file, Some(place.path().join("ca.pem")));
    assert_eq!((email.from.to_string().as_str(), settings.max_per_hour), ("hostwatch <h@example.com>", 5));
    let to: Vec<String> = settings.accounts[0].to.iter().map(ToString::to_string).collect();
    assert_eq!(to, ["ops@example.com", "b@example.com"]);
    assert!(Place::new(BASE).load(&[]).email.is_none(), "exporter only");
    // Recipients without [email] are no error: nothing is mailed.
    Place::new(&format!("{BASE}to = ['ops@example.com']")).load(&[]);
    // The password as a credential.
    let place = Place::new(&format!(
        "{BASE}[email]\nsmtp_url = 'smtps://u@mail.example.com'\nfrom = 'h@example.com'\nto = ['o@example.com']"
    ))
    .with("credentials/smtp.password", "credential");
    let server = place.load_with_credentials().email.unwrap().server;
    assert_eq!(server.password.unwrap().expose_secret(), "credential");
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
fn staleness_is_ten_gaps_or_fifteen_minutes_or_what_is_set() {
    let account = "[accounts.main]\nbase_url = 'https://h'\npanel_url = 'https://p'\nhosting_token = 't'\nvm_api_key = 'k'\n";
    let lines = "[schedule]\nvms = '* * * * *'\ncontainers = '*/2 * * * *'\nips = '0 9 * * 1-5'";
    let settings = Place::new(&format!("{account}{lines}")).load(&[]);
    let stale_after = &settings.accounts[0].profile.stale_after;
    assert_eq!(stale_after[&Collector::Vms], minutes(15));
    assert_eq!(stale_after[&Collector::Containers], minutes(20));
    assert_eq!(stale_after[&Collector::Sites], minutes(20), "sites follow their containers");
    assert_eq!(stale_after[&Collector::Ips], minutes(30 * 24 * 60), "over the weekend");
    assert!(!stale_after.contains_key(&Collector::ExpectedBalance));
    let settings =
        Place::new(&format!("{account}{lines}\n[metrics]\nstale_after = '2h'\nstate_series = 'current'"))
            .load(&[]);
    assert!(settings.accounts[0].profile.stale_after.values().all(|&after| after == minutes(120)));
    assert_eq!(settings.metrics.state_series, StateSeries::Current);
    assert_eq!(settings.warnings.len(), 3, "{:?}", settings.warnings);
    assert!(
        settings
            .warnings
            .iter()
            .all(|line| line.contains("metrics.stale_after: 7200 s is shorter than the "))
    );
}

#[test]
fn metrics_are_chosen_by_name_and_pattern() {
    let account = "[accounts.main]\npanel_url = 'https://p'\nvm_api_key = 'k'\n";
    let lines = "[metrics]\nallow = ['hosting_*', 'process_open_fds']\nmax_series_per_collector = 5000\n[metrics.families]\n";
    let place = Place::new(&format!("{account}{lines}"));
    let metrics = place.load(&[("HOSTWATCH_METRICS__DENY", "*_info,hosting_vm_ips")]).metrics;
    assert_eq!(metrics.max_series_per_collector, 5000);
    let shown = |name: &str| !metrics.selection.hides(name);
    assert!(shown("hosting_vm_disks") && shown("process_open_fds") && shown("hosting_sites"));
    assert!(!shown("hosting_vm_ips") && !shown("process_max_fds") && !shown("hosting_site_info"));
    let defaults = Place::new(account).load(&[]).metrics;
    assert_eq!(defaults, crate::metrics::MetricsSettings::default());
}

#[test]
fn what_is_allowed_and_odd_is_warned_of() {
    let lines = "[schedule]\nvms = '*/10 * * * * *'\n[accounts.main.container_states]\n0 = 'ENABLD'";
    let place = Place::new(&format!("{BASE}{lines}"));
    let file = place.path().join("x.toml").display().to_string();
    let want = [
        format!(
            "{file}: accounts.main.container_states.0: 'ENABLD' is no state that hostwatch knows; did you mean \"ENABLED\"?"
        ),
        format!(
            "{file}: schedule.vms: ticks 10 s apart; the provider recommends polling no more often than every 30 s"
        ),
    ];
    assert_eq!(place.load(&[]).warnings, want);
    let half_a_minute = Place::new(&format!("{BASE}[schedule]\nvms = '*/30 * * * * *'")).load(&[]);
    assert_eq!(half_a_minute.warnings, Vec::<String>::new());
}

#[test]
fn alert_settings() {
    let lines = r#"
        [alerts]
        stuck_after = "8h"
        collector_failing_after = "90s"
        remind_every = { critical = "12h", warning = "", info = "1d12h" }
        [alerts.rules.vm_error]
        to = ["Ops  <ops@example.com>"]
        [alerts.rules.site_error]
        enabled = false
        "#;
    let settings = Place::new(&format!("{BASE}{lines}")).load(&[]);
    let alert = &settings.accounts[0].alert;
    assert_eq!(
        (alert.stuck_after, alert.stuck_after_backup),
        (minutes(480), minutes(480)),
        "a backup no less"
    );
    assert_eq!(alert.collector_failing_after, Duration::from_secs(90));
    let remind = [(Severity::Critical, minutes(720)), (Severity::Info, minutes(2160))];
    assert_eq!(alert.remind_every, remind.into(), "empty is never");
    assert_eq!(alert.rules[&Kind::VmError].to, ["Ops <ops@example.com>"]);
    assert!(!alert.enabled(Kind::SiteError) && alert.enabled(Kind::VmError));
}

#[test]
fn the_digest_and_the_heartbeat() {
    let settings =
        Place::new(&format!("{BASE}[heartbeat]\nurl = 'https://hc.example.com/uuid?x=1'")).load(&[]);
    assert_eq!(settings.digest.unwrap().to_string(), "0 9 * * MON");
    assert_eq!(settings.heartbeat_url.unwrap().expose_secret(), "https://hc.example.com/uuid?x=1");
    let settings = Place::new(&format!("{BASE}[schedule]\ndigest = ''")).load(&[]);
    assert!(settings.digest.is_none() && settings.heartbeat_url.is_none());
}

#[test]
fn units_of_memory_are_powers_of_1024() {
    for (unit, bytes) in [
        ("B", 1),
        ("KB", 1024),
        ("KiB", 1024),
        ("MB", 1_048_576),
        ("MiB", 1_048_576),
        ("GB", 1 << 30),
        ("GiB", 1 << 30),
    ] {
        let settings = Place::new(&format!("{BASE}vm_memory_unit = '{unit}'")).load(&[]);
        assert_eq!(settings.accounts[0].profile.vm_memory_unit_bytes, Some(bytes), "{unit}");
    }
    assert_eq!(Place::new(BASE).load(&[]).accounts[0].profile.vm_memory_unit_bytes, None);
}

#[test]
fn no_secret_shows() {
    let secret = "hunter2";
    let text = format!(
        "[accounts.main]\nbase_url = 'https://h'\npanel_url = 'https://p'\nhosting_token = '{secret}'\n\
         vm_api_key_file = 's'\nbilling_username = 'u'\nbilling_password = '{secret}'\ntime_zone = 'UTC'\n\
         [email]\nsmtp_url = 'smtps://u@h'\npassword = '{secret}'\nfrom = 'h@example.com'\nto = ['o@example.com']\n\
         [heartbeat]\nurl = 'https://hc.example.com/{secret}'\n"
    );
    let place = Place::new(&text).with("s", secret);
    let env = Environment::from([("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", secret)]);
    assert!(!format!("{env:?}").contains(secret), "{env:?}");
    let settings = place.load(&[]);
    let shown = format!("{settings:?} {settings:#?}");
    assert!(shown.contains("main") && !shown.contains(secret), "{shown}");
    // The same secrets beside every kind of mistake.
    let mistakes = [
        ("'https://h'", "'nonsense'"),
        ("'https://p'", "'https://u:hunter2@p'"),
        ("hosting_token = ", "hosting_tokn = "),
        ("hosting_token = 'hunter2'", "hosting_token = ['hunter2']"),
        ("hosting_token = 'hunter2'", "hosting_token = 'hunter2"),
        ("hosting_token = 'hunter2'", "hosting_token = \"hunter2\\n\""),
        ("hosting_token = 'hunter2'", "hosting_token = { value = 'hunter2' }"),
        ("vm_api_key_file", "vm_api_key = 'hunter2'\nvm_api_key_file"),
        ("smtps://u@h", "smtps://u:hunter2@h"),
        ("smtps://u@h", "hunter2"),
        ("https://hc.example.com/", "ftp://"),
        ("time_zone = 'UTC'", ""),
    ];
    for (from, to) in mistakes {
        let place = Place::new(&text.replace(from, to)).with("s", secret);
        let errors = config::load(Some(&place.path().join("x.toml")), &Environment::default()).unwrap_err();
        let shown = format!("{errors} {errors:?}");
        assert!(!shown.contains(secret), "{to}: {shown}");
    }
}

#[test]
fn five_hundred_accounts_load_in_moments() {
    let mut text = "[defaults]\npanel_url = 'https://p'\n".to_owned();
    for n in 0..500 {
        text.push_str(&format!("[accounts.a{n}]\nvm_api_key = 'k{n}'\n"));
    }
    let started = std::time::Instant::now();
    let settings = Place::new(&text).load(&[]);
    assert_eq!(settings.accounts.len(), 500);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
