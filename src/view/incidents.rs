//! Incidents and mails as people see them: the selection, the order and the words. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::forms::{self, Clause, Tense};
use super::reader::Reader;
use super::{reasons, sentence, words};
use crate::alert::{self, Cause, Decided, Detail, Incident, Key, Kind, Log, Phase, Severity, Subject};
use crate::model::forecast::Disconnect;
use crate::model::mails::OutboxSummary;
use crate::model::{AccountName, Language, say};

const STOPPED_KNOWN_AFTER: Duration = Duration::hours(24);
/// An incident that is over is shown for seven days; at most 20 of them are shown.
const SHOWN_FOR: Duration = Duration::days(7);
const SHOWN: usize = 20;

/// One incident.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentRow {
    pub key: Key,
    pub account: AccountName,
    pub kind: Kind,
    pub severity: Severity,
    #[serde(rename = "state")]
    pub phase: Phase,
    /// The title for people.
    pub title: String,
    pub resource_name: String,
    pub since: DateTime<Utc>,
    pub last_change: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    /// The reason for its state.
    pub reason: String,
    #[serde(flatten)]
    pub decided: Decided,
    /// The incident that explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<Key>,
    /// The values from which its title and reason are made.
    #[serde(skip)]
    pub subject: Subject,
    #[serde(skip)]
    pub clause: Clause,
    #[serde(skip)]
    pub detail: Detail,
    #[serde(skip)]
    pub why: Option<Cause>,
    /// The date, if it is a cut-off.
    #[serde(skip)]
    pub cut_off: Option<Disconnect>,
    /// The time at which the data are deleted, if the account is cut off and the time is known.
    #[serde(skip)]
    pub deleted_at: Option<DateTime<Utc>>,
}

/// The open incident of an account's cut-off.
pub(super) fn disconnect_of<'a>(
    account: &AccountName,
    rows: impl IntoIterator<Item = &'a IncidentRow>,
) -> Option<&'a IncidentRow> {
    let is_its =
        |row: &&IncidentRow| row.account == *account && row.kind == Kind::Disconnect && row.is_open();
    rows.into_iter().find(is_its)
}

/// Open incidents that no other explains, by key. Lists show the explained ones together with these.
pub(super) fn roots<'a>(rows: &[&'a IncidentRow]) -> BTreeMap<&'a Key, &'a IncidentRow> {
    let roots = rows.iter().filter(|row| row.is_open() && row.caused_by.is_none());
    roots.map(|row| (&row.key, *row)).collect()
}

impl IncidentRow {
    /// The incident in `roots` that explains this one.
    pub(super) fn root<'a>(&self, roots: &BTreeMap<&'a Key, &'a Self>) -> Option<&'a Self> {
        roots.get(self.caused_by.as_ref()?).copied()
    }

    /// The row of an incident. It is `None` for incidents that nothing watches, that ended long ago, or that
    /// ended before anybody was told.
    pub(crate) fn of(incident: &Incident, log: &Log, facts: &alert::Facts<'_>) -> Option<Self> {
        let Incident { key, phase, severity, ended, .. } = incident;
        let is_recent = || ended.is_some_and(|at| facts.now - at < SHOWN_FOR) && log.was_told(key);
        let (phase, is_over) = match phase {
            Phase::Pending | Phase::Firing | Phase::Recovering => (*phase, false),
            // Both look the same to people.
            Phase::Resolved | Phase::Removed if is_recent() => (Phase::Resolved, true),
            Phase::Resolved | Phase::Removed | Phase::Unwatched => return None,
        };
        let cut_off = facts.cut_off(key);
        let clause = match cut_off {
            Some(cut_off) => Clause::new(cut_off.wrong(facts.now), Tense::Is),
            None => Clause::open(incident),
        };
        let subject = incident.subject.clone();
        let said = forms::one(&subject, key, std::slice::from_ref(&clause), Language::En);
        let resolved_at = ended.filter(|_| is_over);
        let since = if phase == Phase::Pending { incident.run_since } else { incident.since };
        Some(Self {
            key: key.clone(),
            account: key.account.clone(),
            kind: key.kind,
            severity: *severity,
            phase,
            title: words::capital(&said),
            resource_name: words::capital(&forms::name(&subject, key, Language::En)),
            since,
            last_change: incident.changes.iter().copied().chain(resolved_at).fold(since, DateTime::max),
            resolved_at,
            reason: reason(incident, facts),
            decided: facts.muted.decided(incident, facts.ack(incident), facts.now),
            caused_by: incident.cause.clone(),
            subject,
            clause,
            detail: incident.detail.clone(),
            why: Some(incident.reason()),
            cut_off: cut_off.map(alert::CutOff::disconnect),
            deleted_at: facts.deleted_at(key),
        })
    }

    /// Whether the incident is open: firing, or not recovered yet.
    pub(crate) fn is_open(&self) -> bool {
        self.phase.is_open()
    }

    /// `VM web-1 in error`, in this language.
    pub(crate) fn title_in(&self, language: Language) -> String {
        match language {
            Language::En => self.title.clone(),
            Language::Ru => {
                let clauses = std::slice::from_ref(&self.clause);
                words::capital(&forms::one(&self.subject, &self.key, clauses, language))
            }
        }
    }

    /// Its name with its noun, in this language.
    pub(crate) fn name_in(&self, language: Language) -> String {
        words::capital(&forms::name(&self.subject, &self.key, language))
    }

    /// The observation and the reason for this state, in this language.
    pub(crate) fn reason_in(&self, language: Language) -> String {
        match (language, &self.why) {
            (Language::Ru, Some(why)) => {
                let seen = reasons::detail(&self.detail, language);
                let why = Some(why).filter(|why| !says(why, &self.detail));
                because(&seen, why, self.caused_by.as_ref(), language)
            }
            (Language::En | Language::Ru, _) => self.reason.clone(),
        }
    }

    /// The order of all lists of incidents. First come the problems that need somebody, with each near cut-off;
    /// then acknowledged and silenced ones; then unconfirmed ones. In each group critical stands before
    /// warning, and cut-offs come first among equals, the soonest first.
    pub(crate) fn order(&self, now: DateTime<Utc>) -> impl Ord + use<'_> {
        let is_money = self.kind == Kind::Disconnect;
        let soonest = is_money.then(|| soonest(self.cut_off));
        let urgency = sentence::urgency(self.severity, is_money);
        (self.rank(now), urgency, soonest, Reverse(self.since), &self.key)
    }

    /// The group in that order.
    pub(super) fn rank(&self, now: DateTime<Utc>) -> u8 {
        let is_near = self.kind == Kind::Disconnect && self.severity == Severity::Critical;
        match self.is_open() {
            true if is_near || self.needs_you(now) => 0,
            true => 1,
            false => 2,
        }
    }

    /// Whether somebody has to act.
    pub(crate) fn needs_you(&self, now: DateTime<Utc>) -> bool {
        self.is_open()
            && !self.decided.is_looked_after()
            && is_problem(self.kind, self.severity, now - self.since)
    }
}

/// Whether an open incident of this age is a problem if nobody looks after it. A stopped VM counts for one day only: it
/// may be meant to be off.
pub(crate) fn is_problem(kind: Kind, severity: Severity, age: Duration) -> bool {
    severity != Severity::Info && (kind != Kind::VmStopped || age < STOPPED_KNOWN_AFTER)
}

/// The last observation, or the day of the cut-off; the reason for the state if it adds something, and the cause.
fn reason(incident: &Incident, facts: &alert::Facts<'_>) -> String {
    let why = incident.reason();
    let known = facts.cut_off(&incident.key).zip(facts.watcher(&incident.key.account));
    let seen = match known {
        Some((cut_off, watcher)) => {
            let reader = Reader::english(watcher.settings.zone, facts.now);
            format!("cut-off {}", reader.cut_off_labelled(cut_off.disconnect()))
        }
        None => reasons::detail(&incident.detail, Language::En),
    };
    let why = Some(&why).filter(|why| !says(why, &incident.detail));
    because(&seen, why, incident.cause.as_ref(), Language::En)
}

fn because(seen: &str, why: Option<&Cause>, cause: Option<&Key>, language: Language) -> String {
    let why = why.map_or_else(String::new, |why| format!("; {}", reasons::cause(why, language)));
    let cause = cause.map(|key| say!(language, " (covered by {key})", " (следствие {key})"));
    format!("{seen}{why}{}", cause.unwrap_or_default())
}

/// Whether the observation shows as much as the reason.
fn says(why: &Cause, detail: &Detail) -> bool {
    matches!((why, detail), (Cause::NoLongerListed, Detail::NotListed))
}

/// The order of cut-offs.
pub(crate) fn soonest(cut_off: Option<Disconnect>) -> impl Ord {
    let at = cut_off.and_then(|cut_off| cut_off.at());
    (cut_off != Some(Disconnect::Now), at.is_none(), at)
}

/// Open incidents, and those that closed lately.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IncidentList {
    /// The worst first; acknowledged and silenced ones are at the end.
    pub open: Vec<IncidentRow>,
    /// The latest first.
    pub recent: Vec<IncidentRow>,
}

impl IncidentList {
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a IncidentRow>, now: DateTime<Utc>) -> Self {
        let (mut recent, mut open): (Vec<_>, Vec<_>) =
            rows.cloned().partition(|row| row.phase == Phase::Resolved);
        open.sort_by(|a, b| a.order(now).cmp(&b.order(now)));
        recent.sort_by_key(|row| Reverse(row.resolved_at.unwrap_or(row.last_change)));
        recent.truncate(SHOWN);
        Self { open, recent }
    }
}

/// The state of mail delivery.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Mails {
    /// Absent if no mails are configured.
    pub outbox: Option<OutboxSummary>,
    /// The last time that a mail server took a mail.
    pub last_mail_at: Option<DateTime<Utc>>,
    /// The watched VM on which the daemon itself runs, in words. If it is off, so is the daemon.
    pub lives_on: Option<String>,
    /// No service outside watches this daemon: `heartbeat.url` is empty.
    #[serde(default)]
    pub without_heartbeat: bool,
    /// The answer that holds mails back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_error: Option<ServerError>,
}

/// The answer of a mail server, or the reason why none came.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ServerError {
    pub error: String,
    /// The server refuses the login for good, or nothing is at its address: a person has to act.
    pub refused: bool,
    /// The server takes no mail at all.
    #[serde(skip)]
    pub is_of_server: bool,
}
