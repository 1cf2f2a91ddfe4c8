//! Why an incident was or was not mailed: the decisions, the mails, and a conclusion that names for each
//! recipient what is owed, or why nothing is. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::outbox::is_undelivered;
use super::{Reader, forms, reasons, words};
use crate::alert::{Debts, Due, Event, Incident, Key, Watcher};
use crate::model::Language;
use crate::model::mails::SentMail;
use crate::view::IncidentRow;

/// The number of mails in the conclusion; it names the latest ones.
const MOST_MAILS: usize = 5;

/// The answer of `hostwatch why`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WhyRecord {
    pub generated_at: DateTime<Utc>,
    pub time_zone: Tz,
    pub key: Key,
    /// Absent if nothing of this key was ever wrong.
    pub incident: Option<IncidentRow>,
    /// The title, also of an incident that ended long ago.
    pub title: String,
    /// Oldest first.
    pub decisions: Vec<DecisionRecord>,
    /// Mails about it, the oldest first.
    pub mails: Vec<SentMail>,
    /// The mails with recipient, time and subject, and the event that is owed to each recipient.
    pub conclusion: Vec<String>,
}

/// One decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DecisionRecord {
    pub at: DateTime<Utc>,
    pub reason: String,
}

/// The facts of a conclusion.
pub(crate) struct Facts<'a> {
    pub key: &'a Key,
    pub incident: Option<&'a Incident>,
    /// The row that is shown; `None` if the incident ended long ago.
    pub row: Option<IncidentRow>,
    pub decisions: Vec<DecisionRecord>,
    pub mails: Vec<SentMail>,
    /// The event owed to each recipient, or the reason why none is.
    pub answers: Vec<(String, Due)>,
    /// The debts to each recipient.
    pub debts: &'a [Debts],
    pub watcher: Option<&'a Watcher>,
    pub zone: Tz,
    pub now: DateTime<Utc>,
}

impl Facts<'_> {
    fn moment(&self, at: DateTime<Utc>) -> String {
        Reader::english(self.zone, self.now).moment(at)
    }
}

impl WhyRecord {
    pub(crate) fn of(facts: Facts<'_>) -> Self {
        let conclusion =
            mailed(&facts).into_iter().chain(configured(&facts)).chain(answers(&facts)).collect();
        let words =
            |incident: &Incident| words::capital(&forms::listed(incident, &Event::Resolved, Language::En));
        let title = facts.row.as_ref().map(|row| row.title.clone()).or(facts.incident.map(words));
        Self {
            generated_at: facts.now,
            time_zone: facts.zone,
            key: facts.key.clone(),
            incident: facts.row,
            title: title.unwrap_or_default(),
            decisions: facts.decisions,
            mails: facts.mails,
            conclusion,
        }
    }
}

/// `Mailed to ops@example.com Tue 24 Nov 07:15 MSK: "[CRITICAL] VM web-1 in error (main)"`
fn mailed(facts: &Facts<'_>) -> Vec<String> {
    if facts.mails.is_empty() {
        // A mail whose reply was lost may have arrived.
        let may_have = |debt| on_its_way(debt, facts.key).is_some() || unsure_since(debt, facts).is_some();
        let flies = facts.debts.iter().any(may_have);
        return if flies { Vec::new() } else { vec!["No mail about it was sent.".to_owned()] };
    }
    let left = facts.mails.len().saturating_sub(MOST_MAILS);
    let earlier = (left > 0).then(|| format!("{} before these.", words::count(left, "mail", "mails")));
    let line = |mail: &SentMail| {
        let when = facts.moment(mail.sent_at);
        format!("Mailed to {} {when}: \"{}\"", mail.recipient, mail.subject)
    };
    earlier.into_iter().chain(facts.mails.iter().skip(left).map(line)).collect()
}

/// The settings that decide about this incident in any case.
fn configured(facts: &Facts<'_>) -> Option<String> {
    let kind = facts.key.kind;
    let words = match facts.watcher {
        None => format!("No more mails: account {} is not in the configuration.", facts.key.account),
        Some(watcher) if !watcher.settings.watches(facts.key) => {
            format!("No mails: the rule is off; alerts.rules.{kind}.enabled = true switches it on.")
        }
        Some(watcher) if watcher.recipients(kind).is_empty() => {
            "No mails: nobody is named in email.to, the account's to, or the rule's to.".to_owned()
        }
        Some(_) if facts.incident.is_none() => {
            "Nothing of this key was ever wrong; it is watched, and mailed once it is.".to_owned()
        }
        Some(_) => return None,
    };
    Some(words)
}

/// One sentence for all recipients with the same answer, and one for each whose mail waits.
fn answers(facts: &Facts<'_>) -> Vec<String> {
    let mut found: Vec<(&Due, Vec<&str>)> = Vec::new();
    let mut waiting = Vec::new();
    for (to, due) in &facts.answers {
        let debt = facts.debts.iter().find(|debt| debt.recipient == *to);
        let flying = debt.and_then(|debt| on_its_way(debt, facts.key));
        if let Some(since) = flying {
            let since = facts.moment(since);
            waiting.push(format!("A mail to {to} is on its way since {since}."));
        }
        waiting.extend(
            debt.filter(|_| flying.is_some() || matches!(due, Due::Tell(..)))
                .and_then(|debt| held_up(debt, facts)),
        );
        if let Some(at) = debt.and_then(|debt| unsure_since(debt, facts)) {
            let at = facts.moment(at);
            waiting.push(format!("The mail to {to} of {at} may not have arrived: no reply to it came."));
        }
        if flying.is_some() && matches!(due, Due::Nothing(..)) {
            continue;
        }
        match found.iter_mut().find(|(other, _)| *other == due) {
            Some((_, all)) => all.push(to),
            None => found.push((due, vec![to])),
        }
    }
    found.into_iter().map(|(due, to)| answer(due, &to.join(", "), facts)).chain(waiting).collect()
}

/// Since when a mail about an incident is on its way.
fn on_its_way(debt: &Debts, key: &Key) -> Option<DateTime<Utc>> {
    debt.in_flight.iter().find(|mail| mail.keys.contains(key)).map(|mail| mail.since)
}

/// The time of a mail without a reply, if it can have told of the incident.
fn unsure_since(debt: &Debts, facts: &Facts<'_>) -> Option<DateTime<Utc>> {
    debt.unsure_since.filter(|at| facts.incident.is_some_and(|incident| incident.since <= *at))
}

/// `The last try to reach ann@example.com failed (452 full); the next one is at Thu 1 Jan 05:00 MSK.`
fn held_up(debt: &Debts, facts: &Facts<'_>) -> Option<String> {
    let to = &debt.recipient;
    let what = match &debt.error {
        Some(error) => format!("The last try to reach {to} failed ({error})"),
        None if !is_undelivered(debt, facts.key) => format!("email.max_per_hour holds back mails to {to}"),
        None => return None,
    };
    let next = debt.next_try.map(|at| facts.moment(at));
    let next = next.map_or_else(String::new, |at| format!("; the next one is at {at}"));
    Some(format!("{what}{next}."))
}

fn answer(due: &Due, to: &str, facts: &Facts<'_>) -> String {
    match due {
        Due::Tell(event, cause) => {
            format!("A mail is owed to {to} now ({event}): {}.", reasons::cause(cause, Language::En))
        }
        Due::Nothing(why, Some(until)) => {
            let until = facts.moment(*until);
            format!("Nothing is owed to {to} until {until}: {why}.")
        }
        Due::Nothing(why, None) => format!("Nothing is owed to {to}: {why}."),
    }
}
