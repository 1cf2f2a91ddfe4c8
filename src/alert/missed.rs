//! Who missed the last news of an incident: a recipient who is new, or one whose mail was refused for good. Told how it
//! stands. Pure.

use super::decide::StepDraft;
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind};
use super::ladder::Ladder;
use super::notice::Item;
use super::reason::Cause;

/// News that did not reach these recipients, while others know it, or older news did.
#[derive(Clone, Debug)]
pub(crate) struct Missed {
    pub key: Key,
    pub to: Vec<String>,
    /// What was refused; of recipients who are new there is nothing.
    pub refused: Option<Item>,
}

impl StepDraft<'_> {
    /// Tells these recipients; to all others nothing changes.
    pub(super) fn tell_missed(&mut self, missed: &Missed) {
        // What this step tells all of them is enough.
        if self.tells(&missed.key) {
            return;
        }
        let incident = self.get(&missed.key).cloned();
        let is_answered = |incident: &Incident, refused: &Item| {
            matches!(refused.event, Event::Reminder(_) | Event::Escalated)
                && incident.key.kind != Kind::Disconnect
                && self.muted.is_acknowledged(incident, self.now)
        };
        let item = match (incident, &missed.refused) {
            (Some(incident), Some(refused)) if is_answered(&incident, refused) => None,
            (Some(incident), _) if self.silenced(&incident).is_some() && incident.phase.is_open() => None,
            (incident, Some(end)) if end.event.is_end() => {
                Some(end.clone()).filter(|_| incident.is_none_or(|incident| !incident.phase.is_open()))
            }
            (Some(incident), refused) if is_told(&incident) => self.as_it_stands(&incident, refused.as_ref()),
            _ => None,
        };
        if let Some(item) = item {
            self.tell_only(item, missed.to.clone());
        }
    }

    /// What was refused, as of now.
    fn as_it_stands(&self, incident: &Incident, refused: Option<&Item>) -> Option<Item> {
        let refused = refused.filter(|item| item.episode == incident.episode);
        let event = refused.map(|item| item.event.clone()).filter(|event| *event != Event::Started);
        let mut item = Item::new(incident, event.or_else(|| stands_at(incident))?, self.now);
        item.reason = match refused {
            Some(refused) => {
                item.covers.clone_from(&refused.covers);
                item.arming = refused.arming;
                refused.reason.clone()
            }
            None => Cause::NewRecipient.into(),
        };
        item.threads.clear();
        Some(item)
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
    let Ladder { rung, used_up_told, .. } = incident.ladder.as_ref()?;
    rung.map(Event::Rung).or_else(|| used_up_told.then_some(Event::BalanceUsedUp))
}
