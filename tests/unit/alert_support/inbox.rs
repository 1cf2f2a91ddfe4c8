//! The outside of the world: the mails that recipients received, and the rows that page and commands show.

use super::world::{World, name};
use super::{Mail, Told, start};
use crate::alert::{CalendarEntry, Key, Kind};
use crate::model::Language;
use crate::view::{About, Alerting, IncidentRow, Query, Reader, Status};

impl World {
    /// `key event` of everything that "ops" received since the last call, in order. A first mail without items
    /// is `main/started`.
    pub fn take_events(&mut self) -> Vec<String> {
        self.take_of("ops")
    }

    pub fn take_of(&mut self, to: &str) -> Vec<String> {
        let events = self.events_of(to);
        self.taken.insert(to.to_owned(), self.received.len());
        events
    }

    /// The same for the cut-off only, without its key.
    pub fn take_ladder(&mut self) -> Vec<String> {
        let mut events = self.take_events();
        events.retain(|event| event.contains("/disconnect/"));
        events.iter().map(|event| event.replace("main/disconnect/account ", "")).collect()
    }

    /// All events; the mails stay in the inbox.
    pub fn events(&self) -> Vec<String> {
        self.events_of("ops")
    }

    pub fn events_of(&self, to: &str) -> Vec<String> {
        let events = |mail: &Mail| -> Vec<String> {
            if mail.items.is_empty() {
                return vec!["main/started".to_owned()];
            }
            mail.items.iter().map(|told| format!("{} {}", told.key, told.event)).collect()
        };
        self.mails_of(to).into_iter().flat_map(events).collect()
    }

    /// The mails that "ops" received since the last call.
    pub fn mails(&self) -> Vec<&Mail> {
        self.mails_of("ops")
    }

    pub fn mails_of(&self, to: &str) -> Vec<&Mail> {
        let taken = self.taken.get(to).copied().unwrap_or(0);
        let left = self.received.iter().skip(taken).map(|received| &received.mail);
        left.filter(|mail| mail.to == to).collect()
    }

    /// All incidents in these mails.
    pub fn told(&self) -> Vec<&Told> {
        self.mails().into_iter().flat_map(|mail| &mail.items).collect()
    }

    /// Takes all mails out of all inboxes.
    pub fn forget(&mut self) {
        let all = self.received.len();
        let recipients: Vec<String> = self.received.iter().map(|one| one.mail.to.clone()).collect();
        self.taken.extend(recipients.into_iter().map(|to| (to, all)));
    }

    /// The last mail that "ops" received.
    pub fn last(&self) -> &Mail {
        let mut mails = self.received.iter().rev().map(|received| &received.mail);
        mails.find(|mail| mail.to == "ops").unwrap()
    }

    /// The first incident in that mail.
    pub fn last_told(&self) -> &Told {
        self.last().items.first().unwrap()
    }

    pub fn key(&self, kind: Kind, resource: &str) -> Key {
        Key::new(&name(), kind, resource)
    }

    /// The account's cut-off as the calendar shows it.
    pub fn calendar(&self) -> Option<CalendarEntry> {
        self.system.calendar(&name())
    }

    /// The row that page and commands show for an incident.
    pub fn row(&self, kind: Kind, resource: &str) -> Option<IncidentRow> {
        let key = self.key(kind, resource);
        self.system.rows(self.now).into_iter().find(|row| row.key == key)
    }

    /// Do page and commands show it as open?
    pub fn is_open(&self, kind: Kind, resource: &str) -> bool {
        self.row(kind, resource).is_some_and(|row| row.is_open())
    }

    /// The incident that page and commands name as the cause of another.
    pub fn cause(&self, kind: Kind, resource: &str) -> Option<String> {
        self.row(kind, resource)?.caused_by.map(|cause| cause.to_string())
    }

    /// The state of everything, as page and commands show it.
    pub fn status(&self) -> Status {
        let incidents = self.system.rows(self.now).into_iter().collect();
        let calendar = self.calendar().map(|entry| (name(), entry)).into_iter().collect();
        let alerting = Alerting { incidents, calendar, ..Alerting::default() };
        let about = About { version: "0", commit: "", started_at: start() };
        let reader = Reader::new(Language::En, self.now);
        Status::new(&self.snapshot(), &alerting, &about, &Query::default(), reader)
    }
}
