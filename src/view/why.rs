//! Why an incident was or was not mailed: what was decided, which mails went out, and, as a conclusion, what comes next.
//! Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::words::{self, sentence_moment};
use crate::alert::{Escalation, Incident, Key, Muted, Next, Watcher};
use crate::model::mails::{MailRecord, MailState};
use crate::view::IncidentRow;

/// Mails that the conclusion names, the latest of them.
const MOST_MAILS: usize = 5;

/// `hostwatch why`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WhyRecord {
    pub generated_at: DateTime<Utc>,
    pub time_zone: String,
    pub key: Key,
    /// Absent where nothing of this key was ever wrong.
    pub incident: Option<IncidentRow>,
    /// What it is about, also of one that is long over.
    pub title: String,
    /// Oldest first.
    pub decisions: Vec<DecisionRecord>,
    /// Those about the present or last episode, oldest first.
    pub mails: Vec<MailRecord>,
    /// Who was mailed when with which subject, and what comes next.
    pub conclusion: Vec<String>,
}

/// What was decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DecisionRecord {
    pub at: DateTime<Utc>,
    pub reason: String,
}

/// What a conclusion is made from.
pub(crate) struct Facts<'a> {
    pub key: &'a Key,
    pub incident: Option<&'a Incident>,
    pub decisions: Vec<DecisionRecord>,
    pub mails: Vec<MailRecord>,
    pub muted: &'a Muted,
    pub watcher: Option<&'a Watcher>,
    pub zone: Tz,
    pub now: DateTime<Utc>,
}

impl WhyRecord {
    pub(crate) fn of(facts: Facts<'_>) -> Self {
        let conclusion = mailed(&facts).into_iter().chain([next(&facts)]).chain(escalation(&facts)).collect();
        let row = facts.incident.and_then(|incident| IncidentRow::of(incident, facts.muted, facts.now));
        let title = facts.incident.map(Incident::words).unwrap_or_default();
        Self {
            generated_at: facts.now,
            time_zone: facts.zone.name().to_owned(),
            key: facts.key.clone(),
            incident: row,
            title,
            decisions: facts.decisions,
            mails: facts.mails,
            conclusion,
        }
    }

    /// The zone of its dates.
    pub(crate) fn zone(&self) -> Tz {
        words::zone_named(&self.time_zone)
    }
}

/// `Mailed to ops@example.com Tue 24 Nov 07:15 MSK: "[CRITICAL] VM web-1 in error (main)"`
fn mailed(facts: &Facts<'_>) -> Vec<String> {
    let counted: Vec<&MailRecord> =
        facts.mails.iter().filter(|mail| mail.state != MailState::Withdrawn).collect();
    if counted.is_empty() {
        let listed = facts.incident.is_some_and(|incident| incident.announced);
        return vec![match listed {
            true => "No mail of its own: another mail lists it.".to_owned(),
            false => "No mail about it was sent.".to_owned(),
        }];
    }
    let left = counted.len().saturating_sub(MOST_MAILS);
    let earlier = (left > 0).then(|| format!("{left} earlier mails are not named here."));
    let lines = counted.into_iter().skip(left).map(|mail| mail_words(mail, facts));
    earlier.into_iter().chain(lines).collect()
}

fn mail_words(mail: &MailRecord, facts: &Facts<'_>) -> String {
    let MailRecord { recipient, subject, .. } = mail;
    let when = |at| sentence_moment(at, facts.zone, facts.now);
    let said = mail.error.as_ref().map(|error| format!("; last answer: {error}")).unwrap_or_default();
    let created = when(mail.created_at);
    match mail.state {
        MailState::Sent => {
            format!("Mailed to {recipient} {}: \"{subject}\"", when(mail.ended_at.unwrap_or(mail.created_at)))
        }
        MailState::Dead => format!("Given up, for {recipient}, of {created}: \"{subject}\"{said}"),
        MailState::Queued | MailState::Sending | MailState::Withdrawn => {
            format!("Waiting for {recipient} since {created}: \"{subject}\"{said}")
        }
    }
}

fn next(facts: &Facts<'_>) -> String {
    let kind = facts.key.kind;
    let next = match facts.incident {
        Some(incident) => Next::of(incident, facts.watcher, facts.muted, facts.zone, facts.now),
        None => match Next::of_kind(kind, facts.watcher) {
            Some(next) => next,
            None => {
                return "Nothing of this key was ever wrong; it is watched, and mailed once it is."
                    .to_owned();
            }
        },
    };
    let when = |at| sentence_moment(at, facts.zone, facts.now);
    match next {
        Next::AccountGone => {
            format!("No more mails: account {} is not in the configuration.", facts.key.account)
        }
        Next::RuleOff => {
            format!("No mails: the rule is off; alerts.rules.{kind}.enabled = true switches it on.")
        }
        Next::Nobody => {
            "No mails: nobody is named in email.to, the account's to, or the rule's to.".to_owned()
        }
        Next::Unwatched => "No more mails: nothing watches it any more.".to_owned(),
        Next::Over => "It is over: no more mails, unless it begins again.".to_owned(),
        Next::Confirmation(1) => "Next: a mail, once it has lasted long enough.".to_owned(),
        Next::Confirmation(polls) => format!("Next: a mail, once {polls} polls in a row confirm it."),
        Next::Covered(cause) => {
            format!("Next: what is mailed about its cause speaks of it too: hostwatch why {cause}")
        }
        Next::Silenced { until, then } => {
            let due = match then {
                Some(at) if at == until => "if it is still open then, a mail then".to_owned(),
                Some(at) => format!("the next mail, if it is still open, {}", when(at)),
                None => "no reminders after that; a mail when it is over".to_owned(),
            };
            format!("Next: silenced until {}; {due}.", when(until))
        }
        Next::Acknowledged => "Next: no reminders, as it is acknowledged; a mail when it is over.".to_owned(),
        Next::Reminder(at) => {
            format!("Next: a reminder {}, if it is still open; a mail when it is over.", when(at))
        }
        Next::Stable(at) => {
            format!("Next: a mail once it has stayed as it is for half an hour, not before {}.", when(at))
        }
        Next::Rung(0, at) => format!("Next: a mail at the cut-off, {}, unless somebody pays.", when(at)),
        Next::Rung(days, at) => {
            let days = super::words::count(days as usize, "day", "days");
            format!("Next: a mail {}, {days} before the cut-off, unless somebody pays.", when(at))
        }
        Next::Overdue(at) => format!("Next: a mail {}, if the account is still cut off.", when(at)),
        Next::End => "Next: no reminders; a mail when it is over.".to_owned(),
    }
}

/// `Escalation Tue 24 Nov 19:15 MSK to boss@example.com, unless somebody acknowledges it before.`
fn escalation(facts: &Facts<'_>) -> Option<String> {
    let settings = facts.watcher.map(|watcher| &watcher.settings).filter(|s| s.enabled(facts.key.kind))?;
    let due = Escalation::of(facts.incident?, settings, facts.muted, facts.now)?;
    let when = sentence_moment(due.at.max(facts.now), facts.zone, facts.now);
    let to = settings.escalate_to.join(", ");
    let unless = match due.ack_prevents {
        true => ", unless somebody acknowledges it before",
        false => ": the last safe day, unless somebody pays; an acknowledgement does not stop it",
    };
    Some(format!("Escalation {when} to {to}{unless}."))
}
