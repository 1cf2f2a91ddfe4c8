//! What is wrong and nobody was told of yet: why not, and how it is told once that is over. Pure.

use super::decide::{Decision, StepDraft};
use super::incident::{Incident, Waits};
use super::key::Key;
use super::reason::{Cause, Reason, Withheld};
use super::root_cause;
use super::settings::AlertSettings;
use crate::model::AccountState;

impl StepDraft<'_> {
    /// Forgets that mails were made of an incident none of which arrived: it is to be told as it is now.
    pub(super) fn untell(&mut self, key: &Key) {
        let Some(mut incident) = self.get(key).filter(|incident| incident.phase.is_open()).cloned() else {
            return;
        };
        incident.announced = false;
        incident.stop_flapping();
        // Whoever was sent it, and could not take it, is to see that this is another.
        incident.arming += 1;
        incident.pre_existing = false;
        incident.reminders = 0;
        (incident.critical_mailed, incident.escalated) = (None, false);
        incident.threads.clear();
        if let Some(ladder) = &mut incident.ladder {
            ladder.untell();
        }
        self.note(incident, Cause::NotDelivered);
    }

    /// Silenced, and that was noted.
    pub(super) fn is_kept_silent(&self, incident: &Incident) -> bool {
        incident.waits.is_none() && self.silenced(incident).is_some()
    }

    /// Tells what nobody was told yet, once what kept it back is over.
    pub(super) fn tell_untold(&mut self, incident: Incident, state: &AccountState, settings: &AlertSettings) {
        let cause = if incident.waits.is_some() {
            Cause::Unexplained
        } else if incident.reason == Reason::from(Cause::NotDelivered) {
            Cause::NotDelivered
        } else {
            Cause::SilenceEnded
        };
        self.unseen = incident.waits.as_ref().and_then(|waits| waits.unwatched);
        self.tell_unless_covered(incident, cause, state, settings);
        self.unseen = None;
    }

    pub(super) fn tell_unless_covered(
        &mut self,
        incident: Incident,
        cause: Cause,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        match root_cause::of(self, &incident, state, settings) {
            Some(root) => self.decide(incident, cause, Decision::FoldInto(root)),
            None if root_cause::is_awaited(&incident, state) => self.wait_for_a_look(incident),
            None => self.tell_beginning(incident, cause, state, settings),
        }
    }

    /// What may explain it may be out of date: the mail about that would come after this one.
    pub(super) fn wait_for_a_look(&mut self, mut incident: Incident) {
        let unwatched = self.unseen.take();
        incident.waits.get_or_insert(Waits { unwatched });
        self.keep(incident, Withheld::NotLooked);
    }
}
