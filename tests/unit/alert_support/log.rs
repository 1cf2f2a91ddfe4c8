//! Questions to the log that only tests ask.

use crate::alert::{Key, Log, Owed};

impl Log {
    /// Everything that is owed: recipient, incident, event and time.
    pub(crate) fn owed(&self) -> impl Iterator<Item = (&str, &Key, &Owed)> {
        self.entries.iter().filter_map(|((key, to), one)| Some((to.as_str(), key, one.owed.as_ref()?)))
    }

    /// The mails that have no result yet: recipient and incident.
    pub(crate) fn on_their_way(&self) -> impl Iterator<Item = (&str, &Key)> {
        let flights = self.flights.iter();
        flights.flat_map(|((to, _), flight)| flight.undo.keys().map(move |key| (to.as_str(), key)))
    }
}
