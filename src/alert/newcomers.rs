//! Who became a recipient while something was open, and was mailed nothing of it: told how it stands. Pure.

use super::decide::StepDraft;
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind};
use super::reason::Cause;

impl StepDraft<'_> {
    /// Tells these recipients of an incident; to all others nothing changes.
    pub(super) fn tell_newcomers(&mut self, key: &Key, to: &[String]) {
        let Some(incident) = self.get(key).filter(|incident| is_told(incident)) else { return };
        // What this step tells all of them is enough.
        if self.tells(key) || self.silenced(incident).is_some() {
            return;
        }
        if let Some(event) = stands_at(incident) {
            let incident = incident.clone();
            self.tell_only(&incident, Cause::NewRecipient, event, to.to_vec());
        }
    }
}

/// Others were mailed of it, and it goes on.
fn is_told(incident: &Incident) -> bool {
    incident.phase == Phase::Firing
        && incident.announced
        && incident.folded_into.is_none()
        && !incident.told_unwatched
}

/// The event of the mail that says how it stands.
fn stands_at(incident: &Incident) -> Option<Event> {
    if incident.flapping {
        return Some(Event::Flapping);
    }
    if incident.key.kind != Kind::Disconnect {
        return Some(Event::Opened);
    }
    let ladder = incident.ladder.as_ref()?;
    ladder.rung.map(Event::Rung).or_else(|| ladder.used_up_told.then_some(Event::BalanceUsedUp))
}
