//! `[alerts]` and the account's part of `[billing]`, as the settings of the alert layer.

use std::collections::BTreeMap;
use std::time::Duration;

use super::recipient::Written;
use super::values;
use super::view::View;
use crate::alert::{AlertSettings, Kind, Rule, Severity};
use crate::mail::{Way, address};
use crate::model::nearest::nearest;
use crate::model::{self, Language};

/// The provider gives no report further away (interface 8).
const MAX_HORIZON_DAYS: u32 = 730;
/// The days that the horizon must cover beyond the highest threshold, so that a date is known before its first
/// mail is due.
const BEYOND_TOP_RUNG_DAYS: u32 = 7;

/// Thresholds, confirmation, reminders and rules of one account.
pub(super) fn settings(view: &View<'_>) -> AlertSettings {
    let defaults = AlertSettings::defaults();
    let lead_days = view.bounded("billing.lead_days", 0..=60);
    let duration = |key: &str| {
        if !view.is_set(key) {
            view.error(key, "is empty; give a duration such as \"30m\", or remove the key");
        }
        view.parsed(key, model::duration).unwrap_or_default()
    };
    let stuck_after = duration("alerts.stuck_after");
    let collector_failing_after = duration("alerts.collector_failing_after");
    let escalate_after = duration("alerts.escalate_after");
    AlertSettings {
        disconnect_days: ladder(view, lead_days),
        lead_days,
        deletion_days: view.bounded("billing.deletion_days", 0..=3650),
        confirm_polls: view.bounded("alerts.confirm_polls", 1..=1000),
        recover_polls: view.bounded("alerts.recover_polls", 1..=1000),
        stuck_after,
        collector_failing_after,
        escalate_after,
        escalate_to: recipients(view, "alerts.escalate_to"),
        remind_every: reminders(view),
        rules: rules(view),
        ..defaults
    }
}

/// The horizon of the forecast, checked against the thresholds.
pub(super) fn horizon_days(view: &View<'_>, ladder: &[u32]) -> u32 {
    let days = view.bounded("billing.horizon_days", 1..=MAX_HORIZON_DAYS);
    let needed = ladder.first().copied().unwrap_or(0) + BEYOND_TOP_RUNG_DAYS;
    let known_good = view.get("billing.horizon_days").is_some_and(|days: u32| days <= MAX_HORIZON_DAYS);
    if known_good && days < needed {
        // The error names the key that the user wrote, since the default horizon is not wrong.
        let written = ["billing.horizon_days", "alerts.disconnect_days", "billing.lead_days"]
            .into_iter()
            .find(|key| view.leaf(key).is_some_and(|leaf| leaf.origin.is_some()));
        let message = format!(
            "warnings start {} days ahead, so set billing.horizon_days to at least {needed}; it is {days}",
            needed - BEYOND_TOP_RUNG_DAYS
        );
        view.error(written.unwrap_or("billing.horizon_days"), message);
    }
    days
}

fn ladder(view: &View<'_>, lead_days: u32) -> Vec<u32> {
    let key = "alerts.disconnect_days";
    let mut rungs: Vec<u32> = view.get(key).unwrap_or_default();
    let highest = MAX_HORIZON_DAYS - BEYOND_TOP_RUNG_DAYS;
    if rungs.iter().any(|&rung| rung == 0 || rung > highest) {
        view.error(key, format!("each rung is 1 to {highest} days; overdue is always a rung"));
        rungs.retain(|rung| (1..=highest).contains(rung));
    }
    let given = rungs.len();
    rungs.sort_unstable_by(|a, b| b.cmp(a));
    rungs.dedup();
    if rungs.len() < given {
        view.error(key, "names a rung twice; remove one");
    }
    rungs.push(lead_days + 1);
    rungs.sort_unstable_by(|a, b| b.cmp(a));
    rungs.dedup();
    rungs
}

fn reminders(view: &View<'_>) -> BTreeMap<Severity, Duration> {
    let every = Severity::ALL.iter().filter_map(|&severity| {
        let key = format!("alerts.remind_every.{severity}");
        Some((severity, view.parsed(&key, model::duration)?))
    });
    every.collect()
}

fn rules(view: &View<'_>) -> BTreeMap<Kind, Rule> {
    let mut rules = BTreeMap::new();
    for name in view.names_below("alerts.rules") {
        let Ok(kind) = name.parse::<Kind>() else { continue };
        let key = |last: &str| format!("alerts.rules.{name}.{last}");
        let texts = |last: &str| view.get(&key(last)).unwrap_or_default();
        let severity = view.parsed(&key("severity"), severity);
        if kind == Kind::Disconnect && severity.is_some() {
            view.error(&key("severity"), "a disconnect mail takes its rung's severity; remove it");
        }
        let unfit = ["only", "except"].map(key).into_iter().filter(|_| kind == Kind::Disconnect);
        for names in unfit.filter(|names| view.is_set(names)) {
            view.warn(&names, "has no effect: a cut-off is about the whole account; remove it");
        }
        let to = recipients(view, &key("to"));
        let rule = Rule {
            enabled: view.get(&key("enabled")),
            severity,
            only: texts("only"),
            except: texts("except"),
            to,
        };
        rules.insert(kind, rule);
    }
    rules
}

fn severity(text: &str) -> Result<Severity, String> {
    text.parse().map_err(|_| format!("'{text}' is no severity; use critical, warning or info"))
}

/// The languages of recipients that name one. An address has one language in an account, in all of its lists:
/// the account's, where none is named.
pub(super) fn languages(view: &View<'_>, of_account: Language) -> BTreeMap<String, Language> {
    let to = if view.get::<Vec<Written>>("to").is_some_and(|to| !to.is_empty()) { "to" } else { "email.to" };
    let of_rules = view.names_below("alerts.rules").into_iter().map(|kind| format!("alerts.rules.{kind}.to"));
    let mut named: BTreeMap<String, Option<Language>> = BTreeMap::new();
    for key in [to.to_owned(), "alerts.escalate_to".to_owned()].into_iter().chain(of_rules) {
        for written in view.get::<Vec<Written>>(&key).unwrap_or_default() {
            let said = written.address();
            let Ok(recipient) = recipient(said, view) else { continue };
            let language = match written.language().map(values::language).transpose() {
                Ok(language) => language,
                Err(message) => {
                    view.error(&key, message);
                    continue;
                }
            };
            let known = named.entry(recipient).or_insert(language);
            if known.unwrap_or(of_account) != language.unwrap_or(of_account) {
                let message = format!("{said} has two languages in this account; name the same everywhere");
                view.error(&key, message);
            }
            *known = known.or(language);
        }
    }
    named.into_iter().filter_map(|(to, language)| Some((to, language?))).collect()
}

/// A list of bare mail addresses, webhooks and Telegram chats.
pub(super) fn recipients(view: &View<'_>, key: &str) -> Vec<String> {
    let mut recipients = Vec::new();
    for written in view.get::<Vec<Written>>(key).unwrap_or_default() {
        match recipient(written.address(), view) {
            Ok(recipient) => recipients.push(recipient),
            Err(message) => view.error(key, message),
        }
    }
    recipients
}

fn recipient(text: &str, view: &View<'_>) -> Result<String, String> {
    // The address is not shown, since it may be as secret as a password.
    if text.contains("://") {
        return Err(
            "holds a web address; write it as url into [webhooks.NAME], and \"webhook:NAME\" here".into()
        );
    }
    let Way::Named(service, name) = Way::to(text) else {
        return Ok(address(values::mailbox(text)?.email.as_ref()));
    };
    let (table, keys) = service.table();
    let known = view.names_below(table);
    if known.contains(&name) {
        return Ok(text.to_owned());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(match known.is_empty() {
        true => format!("there is no table [{table}.{name}]; add it, with {keys}"),
        false => format!(
            "there is no table [{table}.{name}]; did you mean \"{}{}\"?",
            service.prefix(),
            nearest(&name, &known)
        ),
    })
}
