//! One incident: everything the engine has to remember of it, in a form the store can keep.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::calendar::CalendarEntry;
use super::key::Key;
use super::kind::Severity;
use super::ladder::Ladder;
use super::reason::Reason;

/// For so long what was taken out of the configuration goes on as it was once it is back.
pub(super) const COMES_BACK_WITHIN: Duration = Duration::days(1);

/// No clock that shows less is right: a moment from before this release.
fn release() -> DateTime<Utc> {
    DateTime::from_timestamp(1_793_491_200, 0).unwrap_or_default()
}

/// Where an incident stands in its life.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Debug,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Known, and not wrong: holds a disconnect date that has crossed no rung yet.
    Watching,
    /// Seen wrong, not yet confirmed.
    Pending,
    Firing,
    /// Seen right again, not yet often enough.
    Recovering,
    Resolved,
    /// Nothing looks at it any more.
    Unwatched,
}

impl Phase {
    /// The word in metrics, commands and pages.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Firing, or not yet recovered.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Firing | Self::Recovering)
    }
}

/// From when to when.
pub(super) type Span = (DateTime<Utc>, DateTime<Utc>);

/// What else the mail says of an incident that waits for a look at another.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Waits {
    /// From when to when nobody watched, where the change fell into that time.
    pub unwatched: Option<Span>,
}

/// An incident as the store keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Incident {
    pub key: Key,
    /// Counts up at each opening, from 1; 0 before the first.
    pub episode: u32,
    /// Counts up when rungs are armed again within an episode.
    #[serde(default)]
    pub arming: u32,
    pub phase: Phase,
    pub severity: Severity,
    /// The resource in words: `VM db-1`. Constant over the incident: subjects are made of it.
    pub subject: String,
    /// What is wrong, constant over the incident: `in error`.
    pub problem: String,
    /// The state as last observed, in words.
    pub detail: String,
    /// That state, where it is neither the wrong one nor right: a VM in error that is blocked by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_on: Option<String>,
    /// Of the last decision.
    pub reason: Reason,
    /// First bad observation of this episode.
    pub since: DateTime<Utc>,
    /// What `hold` counts from: the first observation of the present passing state.
    pub held_since: DateTime<Utc>,
    pub held: String,
    pub last_observed: DateTime<Utc>,
    pub last_change: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    /// Observations in a row that speak for the next phase.
    pub streak: u32,
    /// People know of this episode: a mail of its opening was queued, or another mail lists it.
    pub announced: bool,
    /// Known at the very first start: no reminders.
    pub pre_existing: bool,
    /// The incident whose mail covers this one.
    pub folded_into: Option<Key>,
    pub reminders: u32,
    pub last_mailed: Option<DateTime<Utc>>,
    /// When this episode was first mailed as critical.
    #[serde(default)]
    pub critical_mailed: Option<DateTime<Utc>>,
    /// This episode was mailed to those that it is escalated to.
    #[serde(default)]
    pub escalated: bool,
    /// Message-ID of the mail that opened this episode, by recipient.
    pub threads: BTreeMap<String, String>,
    /// Openings and closings within the last hour.
    pub changes: Vec<DateTime<Utc>>,
    /// Told as changing again and again. It is open, one episode, until its end is told: firing while it is wrong; while
    /// it is right recovering, with `resolved_at`, which is its end if that lasts.
    pub flapping: bool,
    /// Of `disconnect` alone.
    pub ladder: Option<Ladder>,
    /// The same as calendars have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarEntry>,
    /// The last that people heard is that nothing looks at it any more; since then something does again.
    #[serde(default)]
    pub told_unwatched: bool,
    /// Nothing was seen of it since.
    #[serde(default)]
    pub unseen_since_back: bool,
    /// Mails about what else follows from it, and the last of them.
    #[serde(default)]
    pub covered: u32,
    #[serde(default)]
    pub covered_at: Option<DateTime<Utc>>,
    /// Of a container: the sites in it that the mail of its beginning had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites_told: Option<BTreeSet<u64>>,
    /// It is told once what may explain it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Such a mail about what covers it lists it.
    #[serde(default)]
    pub followed_up: bool,
    /// Since when nothing watches it, and how it stood then: it goes on where something does again in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_unwatched: Option<(DateTime<Utc>, Box<Incident>)>,
}

impl Incident {
    /// An incident that nothing is known of yet.
    pub(crate) fn new(key: Key, severity: Severity, now: DateTime<Utc>) -> Self {
        Self {
            key,
            episode: 0,
            arming: 0,
            phase: Phase::Watching,
            severity,
            subject: String::new(),
            problem: String::new(),
            detail: String::new(),
            moved_on: None,
            reason: Reason::default(),
            since: now,
            held_since: now,
            held: String::new(),
            last_observed: now,
            last_change: now,
            resolved_at: None,
            streak: 0,
            announced: false,
            pre_existing: false,
            folded_into: None,
            reminders: 0,
            last_mailed: None,
            critical_mailed: None,
            escalated: false,
            threads: BTreeMap::new(),
            changes: Vec::new(),
            flapping: false,
            ladder: None,
            calendar: None,
            told_unwatched: false,
            unseen_since_back: false,
            covered: 0,
            covered_at: None,
            waits: None,
            followed_up: false,
            sites_told: None,
            before_unwatched: None,
        }
    }

    /// The resource's name, as its subject has it behind the noun.
    pub(crate) fn name(&self) -> &str {
        self.subject.split_once(' ').map_or(self.subject.as_str(), |(_, name)| name)
    }

    /// The words of its subject line: `VM db-1 in error`.
    pub(crate) fn words(&self) -> String {
        words(&self.subject, &self.problem)
    }

    /// What is wrong as last seen: `in error`, or `not OK (now blocked, was in error)`.
    pub(crate) fn problem_now(&self) -> String {
        match &self.moved_on {
            _ if self.flapping => keeps_failing(&self.problem).to_owned(),
            Some(state) if self.phase == Phase::Firing => {
                format!("not OK (now {state}, was {})", self.problem)
            }
            Some(_) | None => self.problem.clone(),
        }
    }

    /// The same with its name.
    pub(crate) fn words_now(&self) -> String {
        words(&self.subject, &self.problem_now())
    }

    /// Starts the next episode, pending until confirmed.
    pub(crate) fn begin_episode(&mut self, now: DateTime<Utc>) {
        self.phase = Phase::Pending;
        self.episode += 1;
        self.arming = 0;
        self.since = now;
        self.streak = 0;
        self.announced = false;
        self.pre_existing = false;
        self.folded_into = None;
        self.reminders = 0;
        self.critical_mailed = None;
        self.escalated = false;
        self.told_unwatched = false;
        self.unseen_since_back = false;
        self.before_unwatched = None;
        self.covered = 0;
        self.covered_at = None;
        self.sites_told = None;
        self.followed_up = false;
        self.resolved_at = None;
        self.moved_on = None;
        self.waits = None;
        self.threads.clear();
    }

    /// Was anything noted of it that lies ahead of `now`? Then the clock was set back meanwhile.
    pub(crate) fn is_ahead(&self, now: DateTime<Utc>) -> bool {
        let times = [&self.since, &self.held_since, &self.last_change];
        times
            .into_iter()
            .chain(&self.last_mailed)
            .chain(&self.critical_mailed)
            .chain(&self.covered_at)
            .chain(&self.changes)
            .any(|&at| at > now)
    }

    /// Was anything noted of it by a clock that was wrong for sure, and is no longer?
    pub(crate) fn is_of_no_time(&self, now: DateTime<Utc>) -> bool {
        let times = [self.since, self.held_since, self.last_change];
        now >= release() && times.into_iter().chain(self.last_mailed).any(|at| at < release())
    }

    /// Lets what lies ahead, and what has no date, count from `now`; else what waits on it would wait longer by as
    /// much as the clock was set back.
    pub(crate) fn pull_back(&mut self, now: DateTime<Utc>) {
        let (first, undated) = (release(), now >= release());
        let right = |at: &mut DateTime<Utc>| {
            *at = if undated && *at < first { now } else { (*at).min(now) };
        };
        let times = [&mut self.since, &mut self.held_since, &mut self.last_change];
        let others = self.last_mailed.iter_mut().chain(&mut self.critical_mailed).chain(&mut self.covered_at);
        times.into_iter().chain(others).chain(&mut self.changes).for_each(right);
        self.resolved_at = self.resolved_at.map(|at| if undated && at < first { now } else { at });
        if let Some(ladder) = &mut self.ladder {
            ladder.change_times(right);
        }
    }

    /// Takes over the date that the ladder has now: of a disconnect alone.
    pub(super) fn enter_in_calendar(&mut self, now: DateTime<Utc>) {
        let date = self.ladder.as_ref().and_then(|ladder| ladder.disconnect().at());
        let pay_by = self.ladder.as_ref().and_then(|ladder| ladder.pay_by).filter(|_| date.is_some());
        self.calendar = CalendarEntry::follow(self.calendar, date, pay_by, now);
    }

    /// Moves to another phase.
    pub(crate) fn enter(&mut self, phase: Phase, now: DateTime<Utc>) {
        self.phase = phase;
        self.last_change = now;
        self.streak = 0;
        self.resolved_at = matches!(phase, Phase::Resolved | Phase::Unwatched).then_some(now);
    }

    /// Right for now, of what keeps changing: open until it has been so for long.
    pub(super) fn enter_settling(&mut self, now: DateTime<Utc>) {
        self.enter(Phase::Recovering, now);
        self.resolved_at = Some(now);
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.flapping && self.phase == Phase::Recovering && self.resolved_at.is_some()
    }

    /// Open, and wrong as far as is known: what else is wrong may follow from it.
    pub(crate) fn explains(&self) -> bool {
        self.phase.is_open() && !self.is_settling()
    }

    /// Its changes count anew: else the next might be the fourth again, told twice for one episode.
    pub(super) fn stop_flapping(&mut self) {
        self.changes.clear();
        if self.phase.is_open() {
            self.resolved_at = None;
        }
        self.flapping = false;
    }

    /// Stores of older releases have what keeps changing as over each time that it is right.
    pub(super) fn flaps_openly(mut self) -> Self {
        if self.flapping && !self.phase.is_open() {
            self.phase = Phase::Recovering;
            self.streak = 0;
            self.resolved_at = Some(self.resolved_at.unwrap_or(self.last_change));
        }
        if self.flapping {
            self.announced = true;
            self.folded_into = None;
        }
        self
    }
}

/// What keeps changing, without its name.
pub(crate) fn keeps_failing(problem: &str) -> &'static str {
    if problem.is_empty() { "again and again" } else { "keeps failing" }
}

/// `VM db-1 in error`; where nothing is to be added, the subject alone.
pub(super) fn words(subject: &str, problem: &str) -> String {
    if problem.is_empty() { subject.to_owned() } else { format!("{subject} {problem}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Kind;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn incident() -> Incident {
        let mut incident =
            Incident::new(Key::new(&"main".parse().unwrap(), Kind::VmError, 7), Severity::Critical, now());
        (incident.subject, incident.problem) = ("VM db 1".to_owned(), "in error".to_owned());
        incident
    }

    #[test]
    fn phases_have_words_and_two_of_them_are_open() {
        let of = |phase: Phase| (phase.as_str(), phase.is_open());
        let want = [
            ("watching", false),
            ("pending", false),
            ("firing", true),
            ("recovering", true),
            ("resolved", false),
            ("unwatched", false),
        ];
        let all: Vec<_> = <Phase as strum::VariantArray>::VARIANTS.iter().copied().map(of).collect();
        assert_eq!(all, want);
    }

    #[test]
    fn a_name_is_what_follows_the_noun() {
        let mut incident = incident();
        assert_eq!((incident.name(), incident.words().as_str()), ("db 1", "VM db 1 in error"));
        incident.subject = "alone".to_owned();
        assert_eq!(incident.name(), "alone");
    }

    #[test]
    fn whatever_lies_ahead_of_a_clock_that_was_set_back_counts_from_now() {
        let ahead: [fn(&mut Incident, DateTime<Utc>); 5] = [
            |incident, at| incident.since = at,
            |incident, at| incident.held_since = at,
            |incident, at| incident.last_change = at,
            |incident, at| incident.last_mailed = Some(at),
            |incident, at| incident.changes.push(at),
        ];
        assert!(!incident().is_ahead(now()));
        for set in ahead {
            let (mut early, mut late, mut right) = (incident(), incident(), incident());
            set(&mut early, now() - Duration::seconds(1));
            set(&mut late, now() + Duration::seconds(1));
            set(&mut right, now());
            assert!(late.is_ahead(now()) && !right.is_ahead(now()) && !early.is_ahead(now()));
            late.pull_back(now());
            assert_eq!(late, right);
            let before = early.clone();
            early.pull_back(now());
            assert_eq!(early, before);
        }
    }

    #[test]
    fn an_episode_starts_clean_and_ends_with_a_time() {
        let mut incident = incident();
        incident.begin_episode(now());
        incident.announced = true;
        incident.reminders = 2;
        incident.streak = 3;
        incident.threads.insert("ann".into(), "thread".into());
        let later = now() + Duration::hours(1);
        incident.enter(Phase::Firing, later);
        assert_eq!((incident.resolved_at, incident.streak, incident.last_change), (None, 0, later));
        incident.enter(Phase::Resolved, later);
        assert_eq!(incident.resolved_at, Some(later));
        incident.begin_episode(later);
        assert_eq!((incident.episode, incident.phase, incident.since), (2, Phase::Pending, later));
        assert_eq!((incident.announced, incident.reminders, incident.resolved_at), (false, 0, None));
        assert!(incident.threads.is_empty());
    }
}
