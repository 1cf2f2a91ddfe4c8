//! The life of an incident: what findings and time make of its phase, and what is decided then. Pure.

use std::time;

use chrono::Duration;

use super::covered;
use super::decide::{Decision, StepDraft};
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind};
use super::next::{FLAPPING_QUIET, REMINDERS, reminder_at};
use super::reason::{Cause, Typed, Withheld};
use super::remembered::CHANGES_COUNT;
use super::root_cause;
use super::rules::{self, Finding, SITES_STOPPED, Verdict};
use super::settings::AlertSettings;
use crate::model::AccountState;

/// Four changes within `CHANGES_COUNT` are told once, and once more when it has been quiet for `FLAPPING_QUIET`.
const FLAPPING_CHANGES: usize = 4;
/// What began to recover is not told of as wrong, unless nothing more was seen of it for so long.
const UNDECIDED_MINUTES: i64 = 5;

impl StepDraft<'_> {
    /// Takes in one finding.
    pub(super) fn finding(&mut self, finding: Finding, state: &AccountState, settings: &AlertSettings) {
        let Finding { key, verdict, subject, detail } = finding;
        let mut old = self.get(&key).cloned();
        if let Some(seen) = old.as_mut().filter(|old| old.unseen_since_back) {
            seen.unseen_since_back = false;
            self.put(seen.clone());
        }
        match (verdict, old) {
            (Verdict::Bad { hold, held }, old) => {
                let severity = settings.severity(key.kind);
                let mut incident = old.unwrap_or_else(|| self.begin(key, severity));
                if !incident.phase.is_open() && incident.phase != Phase::Pending {
                    incident.begin_episode(self.now);
                    incident.severity = severity;
                    incident.subject = subject;
                    incident.problem = problem(incident.key.kind, &held).to_owned();
                    incident.held_since = self.now;
                }
                if incident.held != held {
                    incident.held = held;
                    incident.held_since = self.now;
                }
                incident.detail = detail;
                incident.moved_on = None;
                incident.last_observed = self.now;
                self.bad(incident, hold, state, settings);
            }
            (
                verdict @ (Verdict::Good | Verdict::Gone { .. } | Verdict::Unwatched(_)),
                Some(mut incident),
            ) => {
                incident.detail = detail;
                incident.moved_on = None;
                self.good(incident, verdict, state, settings);
            }
            (Verdict::Frozen, Some(mut incident)) => {
                let moved_on = rules::state_in(&detail).map(str::to_owned);
                let is_new = incident.detail != detail || incident.moved_on != moved_on;
                if incident.phase.is_open() && is_new {
                    // Good polls count in a row, and whoever was told is reminded.
                    if moved_on.is_some() && incident.phase == Phase::Recovering && !incident.flapping {
                        (incident.phase, incident.streak) = (Phase::Firing, 0);
                    }
                    incident.moved_on = moved_on;
                    incident.detail.clone_from(&detail);
                    self.note(incident, Cause::NoRecovery { detail });
                }
            }
            (Verdict::Good | Verdict::Gone { .. } | Verdict::Unwatched(_) | Verdict::Frozen, None) => {}
        }
    }

    /// Confirms an incident that only time keeps pending.
    pub(super) fn held_long_enough(&mut self, key: &Key, state: &AccountState, settings: &AlertSettings) {
        let Some(incident) = self.get(key).cloned() else { return };
        if incident.phase == Phase::Pending && settings.enabled(key.kind) {
            self.confirm(incident, settings.collector_failing_after, state, settings);
        }
    }

    /// Reminders, an escalation, the end of flapping, the end of a silence.
    pub(super) fn time_passed(&mut self, key: &Key, state: &AccountState, settings: &AlertSettings) {
        let Some(mut incident) = self.get(key).filter(|one| !one.unseen_since_back).cloned() else { return };
        if incident.flapping {
            match self.escalates(&incident, settings) {
                Some(why) => self.escalate(incident, why),
                None => self.settle(incident),
            }
            return;
        }
        if incident.folded_into.is_some() {
            // A collector has to be tried again first.
            if key.kind != Kind::CollectorFailing {
                self.still_covered(incident, state, settings);
            }
            return;
        }
        // One good look, and then none that says anything: it may be wrong still. The clock may have been set back.
        let waits = incident.phase == Phase::Recovering
            && (self.now - incident.last_observed).abs() >= Duration::minutes(UNDECIDED_MINUTES);
        let untold = (incident.phase == Phase::Firing || waits) && !incident.announced && self.started;
        if untold && !self.is_kept_silent(&incident) {
            self.tell_untold(incident, state, settings);
        } else if self.is_back_otherwise(&incident) {
            self.tell_unless_covered(incident, Cause::WatchedAgain, state, settings);
        } else if self.is_read_again(&incident, state, settings) {
            self.close(incident, false);
        } else if self.is_read_in_part(&incident, state) {
            self.name_failing(&mut incident, state, settings);
            // Not the mail of its beginning once more.
            incident.arming += 1;
            self.decide(incident, Cause::ReadInPart, Decision::Tell(Event::Opened));
        } else if let Some(why) = self.escalates(&incident, settings) {
            self.escalate(incident, why);
        } else if self.reminder_is_due(&incident, settings) {
            incident.reminders += 1;
            let count = incident.reminders;
            let cause = Cause::Reminder { count, most: REMINDERS };
            self.decide(incident, cause, Decision::Tell(Event::Reminder(count)));
        }
    }

    /// Told as no longer watched, and back in another state that is no recovery.
    fn is_back_otherwise(&self, incident: &Incident) -> bool {
        let is_otherwise = incident.phase == Phase::Firing && incident.moved_on.is_some();
        is_otherwise && incident.told_unwatched && self.started
    }

    /// Of what is not seen now: no cause that is over covers it any more.
    pub(super) fn unseen_goes_on(&mut self, key: &Key) {
        let Some(incident) = self.get(key).filter(|incident| incident.phase == Phase::Firing).cloned() else {
            return;
        };
        let is_over = |root: &Key| self.get(root).is_none_or(|root| !root.explains());
        if let Some(root) = incident.folded_into.clone().filter(is_over) {
            self.keep(incident, Withheld::CoverOver(root));
        }
    }

    /// Ends flapping, once it has been quiet.
    fn settle(&mut self, mut incident: Incident) {
        let is_right = incident.is_settling() && incident.streak == 0 && incident.moved_on.is_none();
        let is_wrong = incident.phase == Phase::Firing && self.silenced(&incident).is_none();
        if !(is_right || is_wrong) || self.now - incident.last_change < FLAPPING_QUIET {
            return;
        }
        let event = if is_right {
            incident.phase = Phase::Resolved;
            if incident.key.kind == Kind::CollectorFailing {
                self.name_still_failing(&mut incident);
            }
            Event::Resolved
        } else {
            incident.since = incident.held_since.min(incident.last_change);
            // Not the mail of its beginning once more.
            incident.arming += 1;
            Event::Opened
        };
        incident.stop_flapping();
        self.decide(incident, Cause::Stable, Decision::Tell(event));
    }

    fn reminder_is_due(&self, incident: &Incident, settings: &AlertSettings) -> bool {
        reminder_at(incident, settings).is_some_and(|at| self.now >= at)
            && !self.muted.is_acknowledged(incident, self.now)
            && self.silenced(incident).is_none()
    }

    fn bad(
        &mut self,
        mut incident: Incident,
        hold: time::Duration,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        match incident.phase {
            Phase::Pending => {
                incident.streak += 1;
                self.confirm(incident, hold, state, settings);
            }
            // Once more it has to be confirmed.
            Phase::Recovering if incident.is_settling() => {
                if incident.streak == 0 {
                    incident.held_since = self.now;
                }
                incident.streak += 1;
                self.confirm(incident, hold, state, settings);
            }
            Phase::Recovering => {
                incident.phase = Phase::Firing;
                incident.streak = 0;
                self.note(incident, Cause::WrongAgain);
            }
            Phase::Firing => self.still_bad(incident, state, settings),
            Phase::Watching | Phase::Resolved | Phase::Unwatched => self.put(incident),
        }
    }

    fn still_bad(&mut self, incident: Incident, state: &AccountState, settings: &AlertSettings) {
        if incident.folded_into.is_some() {
            self.still_covered(incident, state, settings);
            return;
        }
        let untold = self.started && !incident.flapping && (!incident.announced || incident.told_unwatched);
        if !untold || self.is_kept_silent(&incident) {
            self.put(incident);
            return;
        }
        if incident.told_unwatched {
            self.tell_unless_covered(incident, Cause::WatchedAgain, state, settings);
        } else {
            self.tell_untold(incident, state, settings);
        }
    }

    /// The first mail of an episode: that it keeps changing, where it does. Of a collector it is the mail of all that fail.
    pub(super) fn tell_beginning(
        &mut self,
        mut incident: Incident,
        cause: Cause,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        if incident.key.kind == Kind::CollectorFailing {
            self.gather_failing(&mut incident, state, settings);
        }
        incident.sites_told = covered::sites_of(&incident.key, state);
        let event = if self.begins_to_flap(&incident) { Event::Flapping } else { Event::Opened };
        self.decide(incident, cause, Decision::Tell(event));
    }

    /// Of what another mail covers: one cause may end while another goes on; where none is left it is told at once.
    fn still_covered(&mut self, mut incident: Incident, state: &AccountState, settings: &AlertSettings) {
        if incident.phase != Phase::Firing {
            return;
        }
        let goes_on = |root: &Key| self.get(root).is_some_and(Incident::explains);
        if !incident.is_listed(state) && incident.folded_into.as_ref().is_some_and(goes_on) {
            return;
        }
        if let Some(root) = root_cause::of(self, &incident, state, settings) {
            self.decide(incident, Cause::CoverEnded, Decision::FoldInto(root));
            return;
        }
        incident.folded_into = None;
        incident.announced &= self.started;
        if !self.started {
            self.decide(incident, Cause::CoverEnded, Decision::Withhold(Withheld::FirstStart));
        } else {
            self.tell_beginning(incident, Cause::CoverEnded, state, settings);
        }
    }

    fn confirm(
        &mut self,
        mut incident: Incident,
        hold: time::Duration,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        let held = (self.now - incident.held_since).to_std().unwrap_or_default();
        let polls = settings.to_confirm();
        if incident.streak < polls {
            let seen = incident.streak;
            self.keep(incident, Cause::Confirming { seen, polls });
            return;
        }
        if held < hold {
            self.keep(incident, Cause::Holding { minutes: (hold.as_secs() / 60).into() });
            return;
        }
        self.unseen = self.unseen_since(incident.streak);
        incident.enter(Phase::Firing, self.now);
        self.count_change(&mut incident);
        let cause = match polls {
            _ if !hold.is_zero() => Cause::Unchanged { minutes: (held.as_secs() / 60).into() },
            1 => Cause::SeenWrong,
            polls => Cause::SeenWrongInARow { polls },
        };
        if incident.flapping {
            // Who was told of it is told of it further, whatever explains it by now.
            self.note(incident, Withheld::Flapping);
        } else if let Some(root) = root_cause::of(self, &incident, state, settings) {
            self.decide(incident, cause, Decision::FoldInto(root));
        } else if !self.started {
            self.note(incident, Withheld::FirstStart);
        } else if root_cause::is_awaited(&incident, state, self.now) {
            self.wait_for_a_look(incident);
        } else {
            self.tell_beginning(incident, cause, state, settings);
        }
    }

    /// Seen right, gone, or no longer shown.
    fn good(
        &mut self,
        mut incident: Incident,
        verdict: Verdict,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        let gone = if let Verdict::Gone { listings } = verdict { Some(listings) } else { None };
        match incident.phase {
            Phase::Pending => {
                incident.enter(Phase::Resolved, self.now);
                self.note(incident, Cause::Unconfirmed);
            }
            // Several listings read at once may each say so, as of a resource that is gone: one observation.
            Phase::Recovering if incident.last_observed == self.now => {}
            Phase::Recovering if incident.is_settling() && verdict == Verdict::Good => {
                incident.last_observed = self.now;
                let was_doubted = std::mem::take(&mut incident.streak) > 0;
                if was_doubted {
                    self.note(incident, Withheld::Flapping);
                } else {
                    self.put(incident);
                }
            }
            Phase::Firing | Phase::Recovering => {
                incident.last_observed = self.now;
                // What is counted while it settles are doubts.
                if incident.phase == Phase::Firing || incident.is_settling() {
                    (incident.phase, incident.resolved_at) = (Phase::Recovering, None);
                    incident.streak = 0;
                }
                incident.streak += gone.unwrap_or(1);
                let (seen, polls) = (incident.streak, settings.recover_polls);
                if seen < settings.to_recover() {
                    self.note(incident, Cause::Recovering { seen, polls });
                } else if let Verdict::Unwatched(why) = verdict {
                    let key = incident.key.clone();
                    self.put(incident);
                    self.retire(&key, why);
                } else if self.ends_later(&incident, state) {
                    self.keep(incident, Withheld::OthersNotTried);
                } else {
                    self.close(incident, gone.is_some());
                }
            }
            Phase::Watching | Phase::Resolved | Phase::Unwatched => {}
        }
    }

    /// Ends an episode.
    pub(super) fn close(&mut self, mut incident: Incident, gone: bool) {
        if incident.flapping && !gone {
            incident.enter_settling(self.now);
            self.note(incident, Withheld::Flapping);
            return;
        }
        incident.flapping = false;
        self.unseen = self.unseen_since(incident.streak);
        let good = Cause::OkInARow { polls: incident.streak.into() };
        incident.enter(Phase::Resolved, self.now);
        self.count_change(&mut incident);
        let cause = if gone { Cause::NoLongerListed } else { good };
        if incident.key.kind == Kind::CollectorFailing {
            self.name_still_failing(&mut incident);
        }
        let decision = if self.ends_all_that_failed(&mut incident) {
            Decision::Tell(Event::Resolved)
        } else if let Some(root) = incident.folded_into.take() {
            Decision::Withhold(Withheld::WasFolded(root))
        } else if !gone && incident.key.kind != Kind::Disconnect && self.begins_to_flap(&incident) {
            incident.enter_settling(self.now);
            Decision::Tell(Event::Flapping)
        } else if !incident.announced {
            Decision::Tell(Event::WasDown)
        } else if gone {
            Decision::Tell(Event::Removed)
        } else {
            Decision::Tell(Event::Resolved)
        };
        self.decide(incident, Typed::from(cause), decision);
    }

    fn begins_to_flap(&self, incident: &Incident) -> bool {
        let since = self.now - CHANGES_COUNT;
        let changes = incident.changes.iter().filter(|&&at| at > since).count();
        let is_quiet = self.now - incident.last_change >= FLAPPING_QUIET;
        self.started && changes >= FLAPPING_CHANGES && !is_quiet && self.silenced(incident).is_none()
    }

    fn count_change(&self, incident: &mut Incident) {
        let since = self.now - CHANGES_COUNT;
        incident.changes.retain(|&at| at > since);
        incident.changes.push(self.now);
    }
}

/// What is wrong, in the words of a subject line.
fn problem(kind: Kind, held: &str) -> &'static str {
    if kind == Kind::ContainerDisabled && held == SITES_STOPPED {
        "stopped for non-payment"
    } else {
        kind.problem()
    }
}
