//! A telling: one incident in one mail of release 0.2, and whether its recipient knows of it.

use chrono::{DateTime, Utc};

use super::old::{Fate, OldIncident, OldItem, OldMail};
use crate::alert::Owed;

/// One incident in one mail to one recipient.
#[derive(Clone)]
pub(super) struct Telling<'a> {
    pub mail: &'a OldMail,
    pub item: &'a OldItem,
    pub fate: Fate,
}

impl Telling<'_> {
    /// Whether the recipient knows of it, assuming that every mail that may have arrived did.
    pub(super) const fn is_told(&self) -> bool {
        matches!(self.fate, Fate::Arrived | Fate::OnItsWay | Fate::Perhaps | Fate::Dropped)
    }

    /// The time at which the mail left.
    pub(super) fn at(&self) -> DateTime<Utc> {
        self.mail.ended_at.filter(|_| self.fate == Fate::Arrived).unwrap_or(self.mail.made_at)
    }

    pub(super) fn owed(&self, incident: &OldIncident) -> Owed {
        Owed {
            since: self.mail.made_at,
            episode: self.item.episode,
            began: self.item.since.unwrap_or(incident.since),
            event: Some(self.item.event.clone()),
            event_since: self.mail.made_at,
        }
    }
}
