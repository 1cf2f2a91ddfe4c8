//! `[alerts]` and the account's part of `[billing]` as the alert layer takes them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::findings::Findings;
use super::values;
use super::view::View;
use crate::alert::{AlertSettings, Kind, Rule, Severity};
use crate::mail::{Recipient, webhook_name};
use crate::model::nearest::nearest;

/// The provider gives no report further away (interface 8).
const MAX_HORIZON_DAYS: u32 = 730;
/// What the horizon must show beyond the top rung, so that a date is seen before it is due for a mail.
const BEYOND_TOP_RUNG_DAYS: u32 = 7;

/// Ladder, confirmation, reminders and rules of one account.
pub(super) fn settings(view: &View<'_>, findings: &mut Findings) -> AlertSettings {
    let defaults = AlertSettings::defaults();
    let lead_days = view.bounded("billing.lead_days", 0..=60, findings);
    let mut duration = |key: &str| {
        if !view.is_set(key) {
            view.error(key, findings, "is empty; give a duration such as \"30m\", or remove the key");
        }
        view.parsed(key, findings, values::duration).unwrap_or_default()
    };
    let stuck_after = duration("alerts.stuck_after");
    let collector_failing_after = duration("alerts.collector_failing_after");
    let escalate_after = duration("alerts.escalate_after");
    AlertSettings {
        disconnect_days: ladder(view, lead_days, findings),
        lead_days,
        deletion_days: view.bounded("billing.deletion_days", 0..=3650, findings),
        confirm_polls: view.bounded("alerts.confirm_polls", 1..=1000, findings),
        recover_polls: view.bounded("alerts.recover_polls", 1..=1000, findings),
        stuck_after,
        stuck_after_backup: defaults.stuck_after_backup.max(stuck_after),
        collector_failing_after,
        escalate_after,
        escalate_to: written(&recipients(view, "alerts.escalate_to", findings)),
        remind_every: reminders(view, findings),
        rules: rules(view, findings),
        ..defaults
    }
}

/// How far the forecast looks, against the ladder.
pub(super) fn horizon_days(view: &View<'_>, ladder: &[u32], findings: &mut Findings) -> u32 {
    let days = view.bounded("billing.horizon_days", 1..=MAX_HORIZON_DAYS, findings);
    let needed = ladder.first().copied().unwrap_or(0) + BEYOND_TOP_RUNG_DAYS;
    let known_good = view.get("billing.horizon_days").is_some_and(|days: u32| days <= MAX_HORIZON_DAYS);
    if known_good && days < needed {
        // Reported at the key that the user wrote: the default horizon is not what is wrong.
        let written = ["billing.horizon_days", "alerts.disconnect_days", "billing.lead_days"]
            .into_iter()
            .find(|key| view.leaf(key).is_some_and(|leaf| leaf.origin.is_some()));
        let message = format!(
            "the horizon of {days} days is too short for the ladder; set billing.horizon_days to {needed} or \
             more, the top rung plus {BEYOND_TOP_RUNG_DAYS}"
        );
        view.error(written.unwrap_or("billing.horizon_days"), findings, message);
    }
    days
}

fn ladder(view: &View<'_>, lead_days: u32, findings: &mut Findings) -> Vec<u32> {
    let key = "alerts.disconnect_days";
    let mut rungs: Vec<u32> = view.get(key).unwrap_or_default();
    let highest = MAX_HORIZON_DAYS - BEYOND_TOP_RUNG_DAYS;
    if rungs.iter().any(|&rung| rung == 0 || rung > highest) {
        view.error(key, findings, format!("each rung is 1 to {highest} days; overdue is always a rung"));
        rungs.retain(|rung| (1..=highest).contains(rung));
    }
    let given = rungs.len();
    rungs.sort_unstable_by(|a, b| b.cmp(a));
    rungs.dedup();
    if rungs.len() < given {
        view.error(key, findings, "names a rung twice; remove one");
    }
    rungs.push(lead_days + 1);
    rungs.sort_unstable_by(|a, b| b.cmp(a));
    rungs.dedup();
    rungs
}

fn reminders(view: &View<'_>, findings: &mut Findings) -> BTreeMap<Severity, Duration> {
    let every = Severity::ALL.iter().filter_map(|&severity| {
        let key = format!("alerts.remind_every.{severity}");
        Some((severity, view.parsed(&key, findings, values::duration)?))
    });
    every.collect()
}

fn rules(view: &View<'_>, findings: &mut Findings) -> BTreeMap<Kind, Rule> {
    let mut rules = BTreeMap::new();
    for name in view.names_below("alerts.rules") {
        let Ok(kind) = name.parse::<Kind>() else { continue };
        let key = |last: &str| format!("alerts.rules.{name}.{last}");
        let texts = |last: &str| view.get(&key(last)).unwrap_or_default();
        let severity = view.parsed(&key("severity"), findings, severity);
        if kind == Kind::Disconnect && severity.is_some() {
            view.error(&key("severity"), findings, "a disconnect mail takes its rung's severity; remove it");
        }
        let to = written(&recipients(view, &key("to"), findings));
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

/// Recipients as the engine knows them.
fn written(recipients: &[Recipient]) -> Vec<String> {
    recipients.iter().map(ToString::to_string).collect()
}

/// A list of mail addresses and of webhooks.
pub(super) fn recipients(view: &View<'_>, key: &str, findings: &mut Findings) -> Vec<Recipient> {
    let mut recipients = Vec::new();
    for text in view.get::<Vec<String>>(key).unwrap_or_default() {
        match recipient(&text, view) {
            Ok(recipient) => recipients.push(recipient),
            Err(message) => view.error(key, findings, message),
        }
    }
    recipients
}

fn recipient(text: &str, view: &View<'_>) -> Result<Recipient, String> {
    // Not shown: it is as good as a password.
    if text.contains("://") {
        return Err(
            "holds a web address; write it as url into [webhooks.NAME], and \"webhook:NAME\" here".into()
        );
    }
    let Some(name) = webhook_name(text) else { return values::mailbox(text).map(Recipient::Mail) };
    let known = view.names_below("webhooks");
    if known.contains(name) {
        return Ok(Recipient::Webhook(name.to_owned()));
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(match known.is_empty() {
        true => format!("there is no table [webhooks.{name}]; add it, with url or url_file"),
        false => format!(
            "there is no table [webhooks.{name}]; did you mean \"webhook:{}\"?",
            nearest(name, &known)
        ),
    })
}
