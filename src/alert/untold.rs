//! What is wrong and nobody was told of yet: why not, and how it is told once that is over. Pure.

use chrono::{DateTime, Duration, Utc};

use super::decide::{Decision, StepDraft};
use super::incident::{Incident, Phase, Waits};
use super::key::Key;
use super::kind::Kind;
use super::reason::{Cause, Reason, Withheld};
use super::root_cause;
use super::settings::AlertSettings;
use crate::model::AccountState;

/// Who refused it may take it later: it is told anew an hour after it was given up, then after twice as long, at last
/// once a day.
const FIRST_AGAIN: Duration = Duration::hours(1);
const LAST_AGAIN: Duration = Duration::days(1);

/// Is it time to tell somebody anew of what was given up at each of these moments?
pub(crate) fn tries_again(given_up: &[DateTime<Utc>], now: DateTime<Utc>) -> bool {
    let Some(&last) = given_up.iter().max() else { return true };
    let doubled = u32::try_from(given_up.len() - 1).ok().and_then(|again| 2_i32.checked_pow(again));
    let wait = doubled
        .and_then(|times| FIRST_AGAIN.checked_mul(times))
        .map_or(LAST_AGAIN, |wait| wait.min(LAST_AGAIN));
    // The clock may have been set back.
    (now - last).abs() >= wait
}

impl StepDraft<'_> {
    /// Forgets that mails were made of an incident none of which arrived: it is to be told as it is now.
    pub(super) fn untell(&mut self, key: &Key) {
        // What another mail covers is told by that; what is untold already waits for its reason.
        let is_told = |incident: &&Incident| {
            incident.phase.is_open() && incident.announced && incident.folded_into.is_none()
        };
        let Some(mut incident) = self.get(key).filter(is_told).cloned() else { return };
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
            None if root_cause::is_awaited(&incident, state, self.now) => self.wait_for_a_look(incident),
            None => self.tell_beginning(incident, cause, state, settings),
        }
    }

    /// Of states without a name that waited for the sites in them: told, or covered, as soon as these were read.
    pub(super) fn sites_were_read(&mut self, state: &AccountState, settings: &AlertSettings) {
        let waits = |one: &&Incident| one.phase == Phase::Firing && !one.announced && one.waits.is_some();
        let waiting: Vec<Incident> = self.of_kind(state, Kind::UnknownState).filter(waits).cloned().collect();
        for incident in waiting {
            self.tell_untold(incident, state, settings);
        }
    }

    /// What may explain it may be out of date: the mail about that would come after this one.
    pub(super) fn wait_for_a_look(&mut self, mut incident: Incident) {
        let unwatched = self.unseen.take();
        incident.waits.get_or_insert(Waits { unwatched });
        self.keep(incident, Withheld::NotLooked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_is_tried_again_ever_more_seldom_and_never_not_at_all() {
        let now = DateTime::UNIX_EPOCH + Duration::days(20_000);
        let is_due = |times: usize, after: Duration| tries_again(&vec![now; times], now + after);
        assert!(tries_again(&[], now), "another recipient");
        let table = [(1, 60), (2, 120), (3, 240), (5, 960), (6, 1440), (33, 1440), (1000, 1440)];
        for (times, minutes) in table {
            assert!(!is_due(times, Duration::minutes(minutes) - Duration::seconds(1)), "{times}");
            assert!(is_due(times, Duration::minutes(minutes)), "{times}");
        }
        let older = [now - Duration::days(3), now];
        assert!(!tries_again(&older, now + Duration::hours(1)), "counted from the last");
        assert!(is_due(1, -Duration::days(2)), "a clock that was set back holds nothing up");
    }
}
