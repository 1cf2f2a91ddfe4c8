//! The life of an incident: what findings and time make of its phase, and what is decided then. Pure.

use std::time;

use chrono::Duration;

use super::decide::{Decision, Step};
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind};
use super::reason::{Cause, Typed, Withheld};
use super::root_cause;
use super::rules::{Finding, Verdict};
use super::settings::Settings;
use crate::model::AccountState;

/// Four changes within an hour are told once, and once more when it has been quiet for half an hour.
const FLAPPING_CHANGES: usize = 4;
const FLAPPING_WINDOW_MINUTES: i64 = 60;
const FLAPPING_QUIET_MINUTES: i64 = 30;
/// After these the digest speaks of it.
const REMINDERS: u32 = 3;

impl Step<'_> {
    /// Ends, without a mail, what is no longer watched; `why` is its reason.
    pub(super) fn retire(&mut self, key: &Key, why: Cause) {
        let Some(incident) = self.get(key).cloned() else { return };
        let ended = self.ended(incident);
        self.note(ended, why);
    }

    /// The same, of an account that is not watched any more.
    pub(super) fn unwatch(&mut self, key: &Key) {
        let Some(before) = self.get(key).cloned() else { return };
        let mut ended = self.ended(before.clone());
        ended.before_unwatched = Some((self.now, Box::new(before)));
        self.note(ended, Cause::AccountGone);
    }

    /// Of an account that is watched again: within a day its incidents go on, later they begin anew.
    pub(super) fn resume(&mut self, key: &Key) {
        let Some(mut incident) = self.get(key).cloned() else { return };
        let Some((since, before)) = incident.before_unwatched.take() else { return };
        self.put(if self.now - since <= Duration::days(1) { *before } else { incident });
    }

    fn ended(&self, mut incident: Incident) -> Incident {
        if !matches!(incident.phase, Phase::Watching | Phase::Resolved) {
            incident.enter(Phase::Resolved, self.now);
        }
        incident.flapping = false;
        incident.folded_into = None;
        incident.ladder = None;
        incident
    }

    /// Takes in one finding.
    pub(super) fn finding(&mut self, finding: Finding, state: &AccountState, settings: &Settings) {
        let Finding { key, verdict, subject, detail } = finding;
        let old = self.get(&key).cloned();
        match (verdict, old) {
            (Verdict::Bad { hold, held }, old) => {
                let severity = settings.severity(key.kind);
                let mut incident = old.unwrap_or_else(|| Incident::new(key, severity, self.now));
                if !incident.phase.is_open() && incident.phase != Phase::Pending {
                    incident.begin_episode(self.now);
                    incident.severity = severity;
                    incident.subject = subject;
                    incident.problem = incident.key.kind.problem().to_owned();
                    incident.held_since = self.now;
                }
                if incident.held != held {
                    incident.held = held;
                    incident.held_since = self.now;
                }
                incident.detail = detail;
                incident.last_observed = self.now;
                self.bad(incident, hold, state, settings);
            }
            (verdict @ (Verdict::Good | Verdict::Gone), Some(mut incident)) => {
                incident.detail = detail;
                self.good(incident, verdict == Verdict::Gone, settings);
            }
            (Verdict::Frozen, Some(mut incident)) => {
                if incident.phase.is_open() && incident.detail != detail {
                    incident.detail.clone_from(&detail);
                    self.note(incident, Cause::NoRecovery { detail });
                }
            }
            (Verdict::Good | Verdict::Gone | Verdict::Frozen, None) => {}
        }
    }

    /// Confirms an incident that only time keeps pending.
    pub(super) fn held_long_enough(&mut self, key: &Key, state: &AccountState, settings: &Settings) {
        let Some(incident) = self.get(key).cloned() else { return };
        if incident.phase == Phase::Pending && settings.enabled(key.kind) {
            self.confirm(incident, settings.collector_failing_after, state, settings);
        }
    }

    /// Reminders, the end of flapping, the end of a silence.
    pub(super) fn time_passed(&mut self, key: &Key, state: &AccountState, settings: &Settings) {
        let Some(mut incident) = self.get(key).cloned() else { return };
        if incident.flapping {
            self.settle(incident);
            return;
        }
        let untold = incident.phase == Phase::Firing && !incident.announced && self.started;
        if untold && self.silenced(&incident).is_none() {
            let decision = match root_cause::of(self, key, state, settings) {
                Some(root) => Decision::FoldInto(root),
                None => Decision::Tell(Event::Opened),
            };
            self.decide(incident, Cause::SilenceEnded, decision);
        } else if self.reminder_is_due(&incident, settings) {
            incident.reminders += 1;
            let count = incident.reminders;
            let cause = Cause::Reminder { count, most: REMINDERS };
            self.decide(incident, cause, Decision::Tell(Event::Reminder(count)));
        }
    }

    /// Ends flapping, once it has been quiet.
    fn settle(&mut self, mut incident: Incident) {
        let settled = matches!(incident.phase, Phase::Firing | Phase::Resolved);
        if !settled || self.now - incident.last_change < Duration::minutes(FLAPPING_QUIET_MINUTES) {
            return;
        }
        incident.flapping = false;
        // Or the next change might be the fourth again, told twice for one episode.
        incident.changes.clear();
        let decision = match &incident.folded_into {
            Some(root) => Decision::Withhold(Withheld::StillFolded(root.clone())),
            None if incident.phase.is_open() => Decision::Tell(Event::Opened),
            None => Decision::Tell(Event::Resolved),
        };
        self.decide(incident, Cause::Stable, decision);
    }

    fn reminder_is_due(&self, incident: &Incident, settings: &Settings) -> bool {
        let every = settings.remind_every.get(&incident.severity);
        let Some(every) = every.and_then(|&every| Duration::from_std(every).ok()) else { return false };
        incident.key.kind != Kind::Disconnect
            && incident.phase == Phase::Firing
            && !incident.pre_existing
            && incident.folded_into.is_none()
            && incident.reminders < REMINDERS
            && incident.last_mailed.is_some_and(|last| self.now - last >= every)
            && !self.overlays.is_acknowledged(incident)
            && self.silenced(incident).is_none()
    }

    fn bad(
        &mut self,
        mut incident: Incident,
        hold: time::Duration,
        state: &AccountState,
        settings: &Settings,
    ) {
        match incident.phase {
            Phase::Pending => {
                incident.streak += 1;
                self.confirm(incident, hold, state, settings);
            }
            Phase::Recovering => {
                incident.phase = Phase::Firing;
                incident.streak = 0;
                self.note(incident, Cause::WrongAgain);
            }
            Phase::Firing => self.still_bad(incident, state, settings),
            Phase::Watching | Phase::Resolved => self.put(incident),
        }
    }

    fn still_bad(&mut self, mut incident: Incident, state: &AccountState, settings: &Settings) {
        let folded = incident.folded_into.is_some();
        let untold = !incident.announced && self.started && !incident.flapping;
        if !folded && (!untold || self.silenced(&incident).is_some()) {
            self.put(incident);
        } else if let Some(root) = root_cause::of(self, &incident.key, state, settings) {
            // One cause may end while another goes on.
            incident.streak = 0;
            self.decide(incident, Cause::CoverEnded, Decision::FoldInto(root));
        } else if !folded {
            self.decide(incident, Cause::SilenceEnded, Decision::Tell(Event::Opened));
        } else {
            self.cause_ended(incident, settings);
        }
    }

    /// The incident whose mail told of this one is over, and this one is still wrong.
    fn cause_ended(&mut self, mut incident: Incident, settings: &Settings) {
        incident.streak += 1;
        if incident.streak < settings.recover_polls {
            self.put(incident);
            return;
        }
        incident.folded_into = None;
        incident.streak = 0;
        incident.announced &= self.started;
        let decision = if !self.started {
            Decision::Withhold(Withheld::FirstStart)
        } else if incident.flapping {
            Decision::Withhold(Withheld::Flapping)
        } else {
            Decision::Tell(Event::Opened)
        };
        self.decide(incident, Cause::CoverEnded, decision);
    }

    fn confirm(
        &mut self,
        mut incident: Incident,
        hold: time::Duration,
        state: &AccountState,
        settings: &Settings,
    ) {
        let held = (self.now - incident.held_since).to_std().unwrap_or_default();
        let polls = settings.to_confirm();
        if incident.streak < polls {
            let seen = incident.streak;
            self.keep(incident, Cause::Confirming { seen, polls });
            return;
        }
        if held < hold {
            self.keep(incident, Cause::Holding { minutes: hold.as_secs() / 60 });
            return;
        }
        incident.enter(Phase::Firing, self.now);
        self.count_change(&mut incident);
        let cause = match polls {
            _ if !hold.is_zero() => Cause::Unchanged { minutes: held.as_secs() / 60 },
            1 => Cause::SeenWrong,
            polls => Cause::SeenWrongInARow { polls },
        };
        if let Some(root) = root_cause::of(self, &incident.key, state, settings) {
            self.decide(incident, cause, Decision::FoldInto(root));
        } else if !self.started {
            self.note(incident, Withheld::FirstStart);
        } else if incident.flapping {
            self.note(incident, Withheld::Flapping);
        } else {
            let event = if self.begins_to_flap(&incident) { Event::Flapping } else { Event::Opened };
            self.decide(incident, cause, Decision::Tell(event));
        }
    }

    fn good(&mut self, mut incident: Incident, gone: bool, settings: &Settings) {
        match incident.phase {
            Phase::Pending => {
                incident.enter(Phase::Resolved, self.now);
                self.note(incident, Cause::Unconfirmed);
            }
            // Several listings read at once may each say so, as of a resource that is gone: one observation.
            Phase::Recovering if incident.last_observed == self.now => {}
            Phase::Firing | Phase::Recovering => {
                incident.last_observed = self.now;
                if incident.phase == Phase::Firing {
                    incident.phase = Phase::Recovering;
                    incident.streak = 0;
                }
                incident.streak += 1;
                let (seen, polls) = (incident.streak, settings.recover_polls);
                if seen >= settings.to_recover() {
                    self.close(incident, gone);
                } else {
                    self.note(incident, Cause::Recovering { seen, polls });
                }
            }
            Phase::Watching | Phase::Resolved => {}
        }
    }

    /// Ends an episode.
    pub(super) fn close(&mut self, mut incident: Incident, gone: bool) {
        incident.enter(Phase::Resolved, self.now);
        self.count_change(&mut incident);
        let cause = if gone { Cause::NoLongerListed } else { Cause::SeenRight };
        let decision = if let Some(root) = incident.folded_into.take() {
            Decision::Withhold(Withheld::WasFolded(root))
        } else if incident.flapping {
            Decision::Withhold(Withheld::Flapping)
        } else if !incident.announced {
            Decision::Tell(Event::WasDown)
        } else if incident.key.kind != Kind::Disconnect && self.begins_to_flap(&incident) {
            Decision::Tell(Event::Flapping)
        } else if gone {
            Decision::Tell(Event::Removed)
        } else {
            Decision::Tell(Event::Resolved)
        };
        self.decide(incident, Typed::from(cause), decision);
    }

    fn begins_to_flap(&self, incident: &Incident) -> bool {
        incident.changes.len() >= FLAPPING_CHANGES && self.silenced(incident).is_none()
    }

    fn count_change(&self, incident: &mut Incident) {
        let since = self.now - Duration::minutes(FLAPPING_WINDOW_MINUTES);
        incident.changes.retain(|&at| at > since);
        incident.changes.push(self.now);
    }
}
