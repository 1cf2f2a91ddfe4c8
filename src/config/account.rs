//! One account: its endpoints and credentials, schedules, limits, alerts and recipients.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::AccountSettings;
use super::alerts;
use super::hosting;
use super::recipient::Written;
use super::secrets::Secret;
use super::values;
use super::via;
use super::view::View;
use crate::alert::Kind;
use crate::model::nearest::nearest;
use crate::model::{self, AccountName, Collector, ContainerState, Group, Guide, Profile};
use crate::provider::cron::{BadSchedule, Schedule};
use crate::provider::{self, BillingCredentials, CallLimit};

/// Closer ticks are a warning, since the provider recommends no more (interface 8).
const MIN_TICK: Duration = Duration::from_secs(30);
const MIN_STALE_AFTER: Duration = Duration::from_secs(15 * 60);
const STALE_AFTER_TICKS: u32 = 10;

/// Reads one account. `shared_to` is `email.to`; `None` without `[email]`.
pub(super) fn read(name: AccountName, view: &View<'_>, shared_to: Option<&[String]>) -> AccountSettings {
    let api = endpoints(name.clone(), view);
    let schedules = schedules(view, &api);
    let mut collectors: BTreeSet<Collector> = schedules.keys().copied().collect();
    if collectors.contains(&Collector::Containers) {
        collectors.insert(Collector::Sites);
    }
    let mut alert = alerts::settings(view);
    alert.container_states = api.container_states.values().cloned().collect();
    let profile = Profile {
        name,
        currency: view.parsed("currency", values::one_line).unwrap_or_default(),
        time_zone: api.time_zone,
        lead_days: alert.lead_days,
        tightest_rung: alert.disconnect_days.last().copied().unwrap_or_default(),
        vm_memory_unit_bytes: view.parsed("vm_memory_unit", values::memory_unit),
        stale_after: stale_after(view, &collectors, &schedules),
        collectors,
        guide: guide(view),
        language: view.parsed("language", values::language).unwrap_or_default(),
    };
    alert.zone = profile.zone();
    if profile.collectors.contains(&Collector::ExpectedBalance) && !alert.enabled(Kind::Disconnect) {
        let message = "is off: nobody is told before the account is cut off; remove it";
        view.warn("alerts.rules.disconnect.enabled", message);
    }
    let horizon_days = alerts::horizon_days(view, &alert.disconnect_days);
    let to = recipients(view, shared_to);
    let languages = alerts::languages(view, profile.language);
    AccountSettings {
        profile: Arc::new(profile),
        api,
        alert: Arc::new(alert),
        to,
        languages,
        schedules: Arc::new(schedules),
        horizon_days,
    }
}

/// The owner's links and notes, which people see.
fn guide(view: &View<'_>) -> Guide {
    let written = |url: Url| String::from(url);
    Guide {
        panel_link: view.parsed("panel_link", values::panel_link),
        pay_link: view.parsed("pay_link", values::web_address).map(written),
        pay_note: view.parsed("pay_note", values::one_line),
    }
}

fn endpoints(account: AccountName, view: &View<'_>) -> provider::ProviderSettings {
    let hosting = hosting::read(&account, view);
    let secret = |key: &str| view.secret(key, &format!("{account}.{key}"));
    let (api_key, password) = (secret("vm_api_key"), secret("billing_password"));
    let username = username(view, &password);
    let billing_on = !password.is_absent() && view.is_set("billing_username");
    let billing_named = !password.is_absent() || view.is_set("billing_username");
    if hosting.given_by.is_none() && api_key.is_absent() && !billing_named {
        let message = "nothing to watch: no credentials; set hosting_token, vm_api_key, or billing_username with \
                       billing_password (or …_file)";
        view.findings.error(&view.source, &view.place, message);
    }
    let given_by = hosting.given_by;
    let base_url = address(view, "base_url", &[(given_by.unwrap_or_default(), given_by.is_some())]);
    let needs = [("vm_api_key", !api_key.is_absent()), ("billing_username", billing_on)];
    let panel_url = address(view, "panel_url", &needs);
    let time_zone = view.parsed("time_zone", values::time_zone);
    if billing_on && !view.is_set("time_zone") {
        let message = "missing; billing is polled, and its dates have no offset: set it to an IANA name such as \
                       \"Europe/Moscow\"";
        view.error("time_zone", message);
    }
    provider::ProviderSettings {
        base_url,
        panel_url,
        hosting: hosting.credentials,
        vm_api_key: api_key.given(),
        billing: username
            .zip(password.given())
            .map(|(username, password)| BillingCredentials { username, password }),
        container_states: container_states(view),
        time_zone,
        limits: CallLimit::ALL.map(|limit| view.bounded(&format!("limits.{}", limit.key()), 1..=10_000_000)),
        via: via::read(view, ""),
        account,
    }
}

fn username(view: &View<'_>, password: &Secret) -> Option<String> {
    if password.is_absent() && view.is_set("billing_username") {
        let message = "missing beside billing_username; set it, or billing_password_file";
        view.error("billing_password", message);
    }
    if !password.is_absent() && !view.is_set("billing_username") {
        view.error("billing_username", "missing beside billing_password; set it");
    }
    view.parsed("billing_username", |text| {
        if text.contains(':') {
            return Err("must not hold ':', which ends the user of basic authentication".to_owned());
        }
        values::one_line(text)
    })
}

/// An address. It must be set if one of the credentials for it is.
fn address(view: &View<'_>, key: &str, needs: &[(&str, bool)]) -> Option<Url> {
    if !view.is_set(key) {
        if let Some((credential, _)) = needs.iter().find(|(_, given)| *given) {
            let message = format!("missing beside {credential}; set the address these credentials are for");
            view.error(key, message);
        }
        return None;
    }
    let allow_http = view.get("allow_http").unwrap_or(false);
    view.parsed(key, |text| values::endpoint(text, "the credentials", Some(allow_http)))
}

fn container_states(view: &View<'_>) -> BTreeMap<i64, String> {
    let mut states = BTreeMap::new();
    for code in view.names_below("container_states") {
        let key = format!("container_states.{code}");
        let Some(name) = view.parsed(&key, values::one_line) else { continue };
        if !ContainerState::from(name.as_str()).is_known() {
            let known: Vec<&str> = ContainerState::KNOWN.iter().map(ContainerState::as_str).collect();
            let near = nearest(&name, &known);
            let message = format!("'{name}' is no state that hostwatch knows; did you mean \"{near}\"?");
            view.warn(&key, message);
        }
        if let Ok(number) = code.parse::<i64>()
            && states.insert(number, name).is_some()
        {
            view.error(&key, "names a code twice; remove one");
        }
    }
    states
}

/// A schedule; `None` for the word that switches it off.
pub(super) fn schedule_or_off(text: &str) -> Result<Option<Schedule>, BadSchedule> {
    if text.trim() == "off" { Ok(None) } else { text.parse().map(Some) }
}

/// The schedules of collectors with credentials. The schedules of the others are checked, too.
fn schedules(view: &View<'_>, api: &provider::ProviderSettings) -> BTreeMap<Collector, Schedule> {
    let mut schedules = BTreeMap::new();
    for collector in Collector::ALL {
        let key = format!("schedule.{}", collector.as_str());
        let Some(schedule) = view.parsed(&key, schedule_or_off).flatten() else { continue };
        let gap = schedule.shortest_gap();
        if gap < MIN_TICK {
            let message = format!(
                "ticks {} s apart; the provider recommends polling no more often than every {} s",
                gap.as_secs(),
                MIN_TICK.as_secs()
            );
            view.warn(&key, message);
        }
        if api.has(collector.group()) {
            schedules.insert(collector, schedule);
        }
    }
    if api.has(Group::Hosting) && !schedules.contains_key(&Collector::Containers) {
        view.warn("schedule.containers", "is off, and so are databases and cron_jobs of their sites");
        schedules.retain(|collector, _| collector.group() != Group::Hosting);
    }
    schedules
}

fn stale_after(
    view: &View<'_>,
    collectors: &BTreeSet<Collector>,
    schedules: &BTreeMap<Collector, Schedule>,
) -> BTreeMap<Collector, Duration> {
    let set = view.parsed("metrics.stale_after", model::duration);
    let mut all = BTreeMap::new();
    for &collector in collectors {
        let clock = collector.follows().unwrap_or(collector);
        let Some(gap) = schedules.get(&clock).map(Schedule::longest_gap) else { continue };
        if let Some(set) = set.filter(|&set| set < gap) {
            let message = format!(
                "{} s is shorter than the {} s between polls of {}, whose metrics will vanish in between",
                set.as_secs(),
                gap.as_secs(),
                clock.as_str()
            );
            view.warn("metrics.stale_after", message);
        }
        all.insert(collector, set.unwrap_or_else(|| (gap * STALE_AFTER_TICKS).max(MIN_STALE_AFTER)));
    }
    all
}

fn recipients(view: &View<'_>, shared: Option<&[String]>) -> Vec<String> {
    let own = alerts::recipients(view, "to");
    let Some(shared) = shared else { return own };
    // Errors in recipients that are named are reported elsewhere.
    let names = |key| view.is_set(key) && view.get::<Vec<Written>>(key).is_none_or(|to| !to.is_empty());
    if own.is_empty() && shared.is_empty() && !names("to") && !names("email.to") {
        view.error("to", "nobody would get this account's mails; set email.to, or this");
    }
    if own.is_empty() { shared.to_vec() } else { own }
}

/// The groups and recipients of an account.
impl AccountSettings {
    /// The account's name.
    pub(crate) fn name(&self) -> &AccountName {
        &self.profile.name
    }

    /// All recipients of the account.
    pub(crate) fn everybody(&self) -> impl Iterator<Item = String> {
        let alert = &self.alert;
        let of_rules = alert.rules.values().flat_map(|rule| &rule.to);
        self.to.iter().chain(of_rules).chain(&alert.escalate_to).cloned()
    }

    /// Whether this group is polled.
    pub(crate) fn has(&self, group: Group) -> bool {
        self.api.has(group)
    }
}
