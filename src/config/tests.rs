//! Renamed keys, with names that no release ever had.
#![allow(clippy::unwrap_used)]

use super::renamed::{RENAMED, Renamed, Renames};
use super::*;

/// What a release would hold that renamed these.
const OLD: Renames = Renames(&[
    Renamed { old: "schedule.machines", new: "schedule.vms", unknown_from: "0.9" },
    Renamed { old: "accounts.<name>.zone", new: "accounts.<name>.time_zone", unknown_from: "0.9" },
    Renamed { old: "alerts.rules.<kind>.level", new: "alerts.rules.<kind>.severity", unknown_from: "0.8" },
    Renamed { old: "outbox.file", new: "store.path", unknown_from: "0.9" },
]);

const BASE: &str = "[accounts.main]\npanel_url = 'https://panel.example.com'\nvm_api_key = 'key'\n";

fn load(files: &[(&str, &str)], env: &[(&str, &str)]) -> Result<Settings, String> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let place = format!("{}/", directory.path().display());
    match load_renaming(Some(&directory.path().join("x.toml")), &env, OLD) {
        Ok(mut settings) => {
            for warning in &mut settings.warnings {
                *warning = warning.replace(&place, "");
            }
            Ok(settings)
        }
        Err(errors) => Err(errors.to_string().replace(&place, "")),
    }
}

#[test]
fn an_old_name_is_understood_in_every_place_and_warned_of() {
    let main = format!(
        "{BASE}zone = 'Europe/Moscow'\n[accounts.main.schedule]\nmachines = '2 * * * *'\n\
         [defaults]\nzone = 'UTC'\n[schedule]\nmachines = '1 * * * *'\n\
         [alerts.rules.vm_error]\nlevel = 'info'\n[outbox]\nfile = 'old.db'\n"
    );
    let extra = "[accounts.shop]\npanel_url = 'https://panel.example.com'\nvm_api_key = 'key'\nzone = 'Europe/Paris'\n";
    let settings = load(&[("x.toml", &main), ("accounts.d/shop.toml", extra)], &[]).unwrap();
    let [own, shared] = settings.accounts.as_slice() else { panic!("{settings:?}") };
    let tick = |account: &Account| account.schedules[&Collector::Vms].to_string();
    assert_eq!((tick(own), tick(shared)), ("2 * * * *".to_owned(), "1 * * * *".to_owned()));
    assert_eq!(own.profile.time_zone, Some(chrono_tz::Europe::Moscow));
    assert_eq!(shared.profile.time_zone, Some(chrono_tz::Europe::Paris));
    assert_eq!(own.alert.severity(alert::Kind::VmError), alert::Severity::Info);
    assert_eq!(settings.store_path, PathBuf::from("old.db"));
    let said = |old: &str, new: &str, version: &str| {
        format!(
            "x.toml: {old}: is called '{new}' now; rename it: hostwatch {version} will not know it any more"
        )
    };
    assert_eq!(
        settings.warnings,
        [
            said("accounts.main.schedule.machines", "accounts.main.schedule.vms", "0.9"),
            said("accounts.main.zone", "accounts.main.time_zone", "0.9"),
            said("alerts.rules.vm_error.level", "alerts.rules.vm_error.severity", "0.8"),
            said("defaults.zone", "defaults.time_zone", "0.9"),
            said("outbox.file", "store.path", "0.9"),
            said("schedule.machines", "schedule.vms", "0.9"),
            said("accounts.shop.zone", "accounts.shop.time_zone", "0.9")
                .replace("x.toml", "accounts.d/shop.toml"),
        ]
    );
}

#[test]
fn a_variable_with_an_old_name_goes_over_files() {
    let main = format!("{BASE}[schedule]\nvms = '1 * * * *'\n");
    let settings = load(&[("x.toml", &main)], &[("HOSTWATCH_SCHEDULE__MACHINES", "3 * * * *")]).unwrap();
    assert_eq!(settings.accounts[0].schedules[&Collector::Vms].to_string(), "3 * * * *");
    assert_eq!(
        settings.warnings,
        [
            "HOSTWATCH_SCHEDULE__MACHINES: schedule.machines: is called 'schedule.vms' now; rename it: hostwatch 0.9 \
          will not know it any more"
        ]
    );
}

#[test]
fn both_names_are_one_too_many() {
    let main = format!("{BASE}[schedule]\nvms = '1 * * * *'\nmachines = '2 * * * *'\n");
    let said = load(&[("x.toml", &main)], &[]).unwrap_err();
    assert!(
        said.starts_with("x.toml: schedule.machines: given beside 'schedule.vms', its name now;"),
        "{said}"
    );
}

#[test]
fn an_error_in_a_renamed_key_names_the_file() {
    let main = format!("{BASE}[schedule]\nmachines = 'whenever'\n");
    let said = load(&[("x.toml", &main)], &[]).unwrap_err();
    assert!(said.starts_with("x.toml: schedule.vms: "), "{said}");
}

/// What the next release must not forget: names whose time is over go, and no row names a key that is not there.
#[test]
fn the_rows_are_in_order() {
    let version = |text: &str| -> Vec<u32> { text.split('.').map(|part| part.parse().unwrap()).collect() };
    let now = version(env!("CARGO_PKG_VERSION"));
    for row in RENAMED {
        let known = |path: &str| keys::KEYS.iter().any(|key| key.path == path);
        assert!(known(row.new) && !known(row.old), "{row:?}");
        let placeholders = |path: &str| path.matches('<').count();
        assert_eq!(placeholders(row.old), placeholders(row.new), "{row:?}");
        assert_eq!(keys::places(row.old).len(), keys::places(row.new).len(), "{row:?}");
        assert!(version(row.unknown_from) > now[..2].to_vec(), "its time is over: remove {row:?}");
    }
}
