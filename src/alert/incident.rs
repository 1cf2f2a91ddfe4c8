//! One incident: all that readings and time prove about one thing that can be wrong. Incidents do not know who
//! was told of them.
//!
//! `Incident::take` is the table phase × verdict. An episode begins when an incident opens and ends when it is over.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::finding::{Finding, Value, Verdict};
use super::key::Key;
use super::kind::{Kind, Severity};
use super::reason::Cause;
use super::settings::AlertSettings;
use super::subject::{Detail, Subject, Wrong};

/// The phase of an incident.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(crate) enum Phase {
    /// Seen wrong, but not confirmed yet. The episode before, if there was one, is over.
    Pending,
    Firing,
    /// Seen right again, but not often enough yet.
    Recovering,
    /// Over: seen right again.
    Resolved,
    /// Over: the resource is gone.
    #[strum(serialize = "resolved")]
    Removed,
    /// Nothing watches it any more, so nobody knows whether it is over.
    Unwatched,
}

impl Phase {
    /// The word for it in metrics, commands and pages.
    pub(crate) const fn as_str(self) -> &'static str {
        self.into_str()
    }

    /// Whether the incident is open: firing, or not recovered yet.
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::Firing | Self::Recovering)
    }
}

/// One thing that can be wrong, as the store keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Incident {
    pub key: Key,
    /// The number of openings.
    pub episode: u32,
    pub phase: Phase,
    pub severity: Severity,
    pub subject: Subject,
    pub value: Value,
    /// The observation of the last reading.
    pub detail: Detail,
    /// The first bad reading of this episode.
    pub since: DateTime<Utc>,
    /// The first reading of the present run: of bad ones while pending, of good ones while recovering.
    pub run_since: DateTime<Utc>,
    /// The last reading that showed its state.
    pub read_at: DateTime<Utc>,
    /// The number of readings in the present run. Of an incident that nothing watched: 1 once a reading showed it
    /// right.
    pub streak: u32,
    /// Openings and ends within an hour. The fourth makes the incident flap; then they are kept until it is
    /// over.
    pub changes: Vec<DateTime<Utc>>,
    /// The incident that explains this one.
    pub cause: Option<Key>,
    /// At some moment of the last episode no cause explained it. From then on metrics show it.
    #[serde(default)]
    pub stood_alone: bool,
    /// The end of its cause. Older readings are no proof.
    pub trusted_from: Option<DateTime<Utc>>,
    /// The reason for its last change.
    pub why: Cause,
    /// The end of its last episode.
    pub ended: Option<DateTime<Utc>>,
}

/// The facts about one reading that incidents depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub at: DateTime<Utc>,
    /// The last start or wake. Durations are counted from the first reading after it.
    pub horizon: DateTime<Utc>,
    /// The last start, wake or beginning of a failed poll of its collector.
    pub blind_at: DateTime<Utc>,
}

/// An end that could not be mailed for this long lapses.
pub(super) const LAPSE: Duration = Duration::days(7);
/// This number of changes within an hour is flapping.
const FLAPPING_CHANGES: usize = 4;
const CHANGES_COUNT: Duration = Duration::hours(1);
/// A flapping incident is over after this time without a bad reading.
pub(crate) const FLAPPING_QUIET: Duration = Duration::minutes(30);

impl Incident {
    /// An incident that never opened.
    pub(crate) fn new(key: Key, at: DateTime<Utc>) -> Self {
        Self {
            episode: 0,
            phase: Phase::Resolved,
            severity: key.kind.default_severity(),
            key,
            subject: Subject::default(),
            value: Value::None,
            detail: Detail::default(),
            since: at,
            run_since: at,
            read_at: at,
            streak: 0,
            changes: Vec::new(),
            cause: None,
            stood_alone: false,
            trusted_from: None,
            why: Cause::SeenWrong,
            ended: None,
        }
    }

    /// Phase and episode.
    pub(crate) fn stand(&self) -> (Phase, u32) {
        (self.phase, self.episode)
    }

    /// The name that the patterns of rules are compared with.
    pub(crate) fn name(&self) -> &str {
        if self.subject == Subject::Account { self.key.account.as_str() } else { self.subject.name() }
    }

    /// How it is wrong.
    pub(crate) fn wrong(&self) -> Wrong {
        match (self.key.kind, &self.value) {
            (Kind::ContainerDisabled, Value::SitesStopped) => Wrong::StoppedForNonPayment,
            (kind, _) => Wrong::of(kind),
        }
    }

    /// The present state, if it is neither the wrong one nor right: a VM in error that is blocked by now.
    pub(crate) fn moved_on(&self) -> Option<&str> {
        match (self.phase, &self.detail) {
            (Phase::Firing, Detail::State { state, now: true }) => Some(state),
            _ => None,
        }
    }

    /// The reason for its last change. If a later poll than the first one showed it too, it was so before.
    pub(crate) fn reason(&self) -> Cause {
        let is_older = self.why == Cause::SeenWrong && self.since < self.read_at;
        if is_older { Cause::SeenBefore } else { self.why.clone() }
    }

    /// Whether it opened and ended again and again. It is then over only after half an hour without a bad
    /// reading.
    pub(crate) fn is_flapping(&self) -> bool {
        self.phase.is_open() && self.changes.len() >= FLAPPING_CHANGES
    }

    /// Whether it is open, or not confirmed yet.
    pub(crate) fn is_seen_wrong(&self) -> bool {
        self.phase.is_open() || self.phase == Phase::Pending
    }

    /// Whether a reading may change it. That includes an incident that nothing watched, until a reading shows it right:
    /// it may be watched again.
    pub(crate) fn goes_on(&self) -> bool {
        self.is_seen_wrong() || (self.phase == Phase::Unwatched && self.streak == 0)
    }

    /// Whether the container's sites keep it open, and not the container's own state.
    pub(crate) fn is_held_by_sites(&self) -> bool {
        self.value == Value::SitesStopped
    }

    /// Whether it is open and the last reading does not contradict that.
    pub(crate) fn explains(&self) -> bool {
        self.phase == Phase::Firing || (self.phase == Phase::Recovering && !self.is_flapping())
    }

    /// Takes in the finding of a reading, which is only made if the reading showed the resource.
    pub(crate) fn take(&mut self, finding: Finding, reading: &Reading, settings: &AlertSettings) {
        // Each listing of a reading may lack the resource; together they count as one observation.
        if self.phase == Phase::Recovering && self.read_at == reading.at {
            return;
        }
        // Both ends of a time without a date or without any row are readings, so a sleep between them counts.
        let ends_count = self.key.kind == Kind::BillingReport || self.key.is_of_empty_listing();
        let is_held = !ends_count && matches!(finding.verdict, Verdict::Bad { hold, .. } if !hold.is_zero());
        if self.phase == Phase::Pending && is_held && self.read_at < reading.horizon {
            self.run_since = reading.at;
        }
        if finding.verdict != Verdict::Frozen {
            // Only time between readings counts for the half hour of good ones.
            if self.phase == Phase::Recovering && self.read_at <= reading.blind_at {
                self.run_since += reading.at - self.read_at;
            }
            (self.read_at, self.detail) = (reading.at, finding.detail);
        }
        self.step(finding.verdict, finding.subject, reading, settings);
    }

    /// The transitions: phase × verdict.
    fn step(&mut self, verdict: Verdict, subject: Subject, reading: &Reading, settings: &AlertSettings) {
        use Phase::{Firing, Pending, Recovering, Removed, Resolved, Unwatched};
        let is_same = matches!(&verdict, Verdict::Bad { value, .. } if *value == self.value);
        if let Verdict::Bad { value, .. } = &verdict {
            if !is_same || !self.is_seen_wrong() {
                self.severity = settings.severity_of(&self.key, value);
            }
            (self.subject, self.value) = (subject, value.clone());
        }
        match (self.phase, verdict) {
            (_, Verdict::Frozen)
            | (Firing, Verdict::Bad { .. })
            | (Resolved | Removed, Verdict::Good | Verdict::Gone { .. })
            | (Resolved | Removed | Unwatched, Verdict::Other | Verdict::Unwatched(_)) => {}
            // It is over as it was told. The next bad reading is the first one.
            (Unwatched, Verdict::Good | Verdict::Gone { .. }) => self.streak = 1,
            // It was confirmed before, and no reading showed it right since. Somebody may still wait for the end.
            (Unwatched, Verdict::Bad { .. })
                if self.streak == 0 && self.ended.is_some_and(|ended| reading.at - ended < LAPSE) =>
            {
                self.run_since = reading.at;
                self.open(Cause::WatchedAgain, reading.at);
            }
            (Resolved | Removed | Unwatched, Verdict::Bad { hold, .. }) => {
                (self.phase, self.run_since, self.streak) = (Pending, reading.at, 1);
                self.confirm(hold, reading.at, settings);
            }
            (Pending, Verdict::Bad { hold, .. }) => {
                if !is_same {
                    self.run_since = reading.at;
                }
                self.streak += 1;
                self.confirm(hold, reading.at, settings);
            }
            (Recovering, Verdict::Bad { .. }) => {
                (self.phase, self.streak, self.why) = (Firing, 0, Cause::WrongAgain);
            }
            (Pending, Verdict::Good | Verdict::Gone { .. } | Verdict::Unwatched(_) | Verdict::Other) => {
                (self.phase, self.why) = (Resolved, Cause::Unconfirmed);
            }
            (Firing | Recovering, Verdict::Other) => {
                (self.phase, self.streak) = (Firing, 0);
                self.why = Cause::NoRecovery { detail: self.detail.clone() };
            }
            (Firing | Recovering, Verdict::Good) => {
                let why = Cause::OkInARow { polls: settings.recover_polls };
                self.recover(1, Resolved, why, reading, settings);
            }
            (Firing | Recovering, Verdict::Gone { listings }) => {
                self.recover(listings, Removed, Cause::NoLongerListed, reading, settings);
            }
            (Firing | Recovering, Verdict::Unwatched(why)) => {
                self.recover(1, Unwatched, why, reading, settings);
            }
        }
    }

    /// Nothing watches it any more.
    pub(crate) fn retire(&mut self, why: Cause, at: DateTime<Utc>) {
        if self.phase.is_open() {
            self.changes.clear();
            self.end(Phase::Unwatched, at, why);
        } else if self.phase == Phase::Pending {
            (self.phase, self.why) = (Phase::Resolved, why);
        }
    }

    /// Opens the next episode.
    pub(crate) fn open(&mut self, why: Cause, at: DateTime<Utc>) {
        self.episode += 1;
        self.stood_alone = false;
        (self.phase, self.why) = (Phase::Firing, why);
        (self.since, self.streak) = (self.run_since, 0);
        (self.ended, self.cause, self.trusted_from) = (None, None, None);
        self.count_change(at);
    }

    /// Ends the episode, unless this change makes the incident flap.
    pub(crate) fn end(&mut self, phase: Phase, at: DateTime<Utc>, why: Cause) {
        (self.phase, self.why, self.ended) = (phase, why, Some(at));
        (self.streak, self.cause, self.trusted_from) = (0, None, None);
    }

    /// Opens the next episode, which is over as soon as it begins.
    pub(crate) fn come_and_go(&mut self, why: Cause, reading: &Reading, settings: &AlertSettings) {
        self.severity = settings.severity_of(&self.key, &self.value);
        self.run_since = reading.at;
        self.open(why.clone(), reading.at);
        self.end(Phase::Resolved, reading.at, why);
    }

    fn confirm(&mut self, hold: std::time::Duration, at: DateTime<Utc>, settings: &AlertSettings) {
        let (polls, seen) = (settings.confirm_polls, self.streak);
        let held = (at - self.run_since).to_std().unwrap_or_default();
        let minutes = |time: std::time::Duration| time.as_secs() / 60;
        if seen < polls {
            self.why = Cause::Confirming { seen, polls };
        } else if held < hold {
            self.why = Cause::Holding { minutes: minutes(hold) };
        } else {
            let why = match polls {
                _ if !hold.is_zero() => Cause::Unchanged { minutes: minutes(held) },
                1 => Cause::SeenWrong,
                polls => Cause::SeenWrongInARow { polls },
            };
            self.open(why, at);
        }
    }

    /// Takes in one more reading that shows it right. A flapping incident recovers by time.
    fn recover(&mut self, polls: u32, phase: Phase, why: Cause, reading: &Reading, settings: &AlertSettings) {
        if self.phase == Phase::Firing {
            (self.phase, self.run_since, self.streak) = (Phase::Recovering, reading.at, 0);
        }
        let needed = settings.recover_polls;
        // It counts as right since the first of the readings that suffice.
        if self.streak < needed && self.streak + polls >= needed {
            self.run_since = reading.at;
        }
        self.streak += polls;
        let is_gone = phase == Phase::Removed;
        if self.streak < needed {
            self.why = Cause::Recovering { seen: self.streak, polls: needed };
        } else if self.is_flapping() && !is_gone {
            if reading.at - self.run_since >= FLAPPING_QUIET {
                self.changes.clear();
                self.end(phase, self.run_since, Cause::Stable);
            } else {
                self.why = Cause::Flapping { changes: self.changes.len() };
            }
        } else {
            self.count_change(reading.at);
            if is_gone || !self.is_flapping() {
                self.end(phase, reading.at, why);
            }
        }
    }

    fn count_change(&mut self, at: DateTime<Utc>) {
        // Cut-offs and failing collectors are never called flapping: their changes are mailed one by one, or
        // wait by themselves.
        if matches!(self.key.kind, Kind::Disconnect | Kind::CollectorFailing) {
            return;
        }
        self.changes.retain(|&change| at - change < CHANGES_COUNT);
        self.changes.push(at);
        if self.changes.len() >= FLAPPING_CHANGES {
            self.why = Cause::Flapping { changes: self.changes.len() };
        }
    }

    /// All past moments. The caller corrects those that lie ahead of the clock.
    pub(crate) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let failing = if let Value::Failing(all) = &mut self.value { Some(all) } else { None };
        let of_collectors = failing.into_iter().flatten();
        let of_collectors = of_collectors.flat_map(|(_, one)| [&mut one.since, &mut one.read_at]);
        [&mut self.since, &mut self.run_since, &mut self.read_at]
            .into_iter()
            .chain(&mut self.changes)
            .chain(&mut self.trusted_from)
            .chain(&mut self.ended)
            .chain(of_collectors)
    }
}
