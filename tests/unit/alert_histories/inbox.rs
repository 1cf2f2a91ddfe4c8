//! The events of each incident that each recipient was told, certainly or perhaps, and the mails that they
//! read.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{Event, Key};
use chrono::{DateTime, Utc};

use super::alert_support::Mail;

#[derive(Default)]
pub struct Inbox {
    all: BTreeMap<(String, Key), Vec<Heard>>,
    /// Keys in the order in which they were last told as wrong.
    pub wrong: Vec<Key>,
    /// Consequences in mails about a cause: recipient, words, the cause.
    listed: BTreeSet<(String, String, Key)>,
}

/// One event of one incident, as told to one recipient.
#[derive(Clone, Debug)]
pub struct Heard {
    pub at: DateTime<Utc>,
    /// The same by the clock of that time.
    pub said_at: DateTime<Utc>,
    pub event: Event,
    id: String,
    /// The server took the mail.
    pub is_sure: bool,
    /// The recipient got the mail, independent of the server's answer.
    arrived: bool,
    /// It was listed in the mail about its cause.
    is_listed: bool,
}

/// The state of one incident for one recipient.
#[derive(Clone, Debug)]
pub struct Run {
    pub to: String,
    /// Perhaps the recipient knows that it is wrong; `may_not_know`: perhaps not.
    pub may_know: bool,
    pub may_not_know: bool,
    /// No reply was lost since its beginning was told.
    pub is_certain: bool,
    pub began: DateTime<Utc>,
    pub by_first_mail: bool,
    /// The time of the last mail about it.
    pub last: DateTime<Utc>,
    pub reminders: u32,
    /// The same for a mail since then about a later episode that flaps. The mails do not say which it was.
    pub other_reminders: u32,
}

impl Inbox {
    pub fn take(&mut self, at: DateTime<Utc>, mail: &Mail, is_sure: bool, arrived: bool) {
        for item in &mail.items {
            let all = self.all.entry((mail.to.clone(), item.key.clone())).or_default();
            match all.iter_mut().find(|heard| heard.id == mail.id) {
                Some(heard) => (heard.is_sure, heard.arrived) = (is_sure, heard.arrived || arrived),
                None => all.push(Heard {
                    at,
                    said_at: at,
                    event: item.event.clone(),
                    id: mail.id.clone(),
                    is_sure,
                    arrived,
                    is_listed: false,
                }),
            }
            self.wrong.retain(|key| *key != item.key);
            if !item.event.is_end() {
                self.wrong.push(item.key.clone());
            }
            for words in &item.covers {
                self.list(at, mail, words, &item.key, arrived);
            }
        }
    }

    fn list(&mut self, at: DateTime<Utc>, mail: &Mail, words: &str, cause: &Key, arrived: bool) {
        if arrived {
            self.listed.insert((mail.to.clone(), name_in(words), cause.clone()));
        }
        let mine =
            self.all.iter_mut().filter(|((to, key), _)| *to == mail.to && words_of(key) == name_in(words));
        for (_, all) in mine {
            let id = mail.id.clone();
            let event = Event::Opened;
            all.push(Heard { at, said_at: at, event, id, is_sure: false, arrived, is_listed: true });
        }
    }

    pub fn of(&self, to: &str, key: &Key) -> &[Heard] {
        self.all.get(&(to.to_owned(), key.clone())).map_or(&[], Vec::as_slice)
    }

    /// Whether the last mail about it may not have arrived: no reply to it came.
    pub fn is_unsure(&self, to: &str, key: &Key) -> bool {
        self.of(to, key).last().is_some_and(|heard| !heard.arrived)
    }

    pub fn last(&self, to: &str, key: &Key) -> Option<&Heard> {
        self.of(to, key).iter().rfind(|heard| !heard.is_listed)
    }

    pub fn run(&self, to: &str, key: &Key) -> Run {
        let new = Run {
            to: to.to_owned(),
            may_know: false,
            may_not_know: true,
            is_certain: true,
            began: DateTime::UNIX_EPOCH,
            by_first_mail: false,
            last: DateTime::UNIX_EPOCH,
            reminders: 0,
            other_reminders: 0,
        };
        let mut run = new.clone();
        for heard in self.of(to, key) {
            if heard.is_listed {
                (run.may_not_know, run.is_certain) = (true, false);
                continue;
            }
            if heard.event.is_end() {
                let was_known = run.may_know && !heard.is_sure;
                run = Run { may_know: was_known, is_certain: heard.is_sure, began: run.began, ..new.clone() };
                continue;
            }
            let begins = !run.may_know || matches!(heard.event, Event::Opened | Event::Started);
            if begins {
                // A later episode that replaces the end of an earlier one is news too.
                run = Run { began: heard.at, ..new.clone() };
                run.by_first_mail = heard.event == Event::Started;
            }
            run.is_certain &= heard.is_sure;
            run.may_know = true;
            run.may_not_know &= !heard.is_sure;
            match heard.event {
                Event::Reminder(count) => {
                    (run.reminders, run.other_reminders, run.last) = (count, count, heard.at);
                }
                _ => run.last = heard.at,
            }
        }
        run
    }

    /// The last mail about it in this recipient's inbox says that it is wrong.
    pub fn reads_as_wrong(&self, to: &str, key: &Key) -> bool {
        self.last_read(to, key).is_some_and(|heard| !heard.event.is_end())
    }

    fn last_read(&self, to: &str, key: &Key) -> Option<&Heard> {
        self.of(to, key).iter().rfind(|heard| heard.arrived && !heard.is_listed)
    }

    /// The last event of each incident in each inbox, unless the mail about its cause says more.
    pub fn last_words(&self) -> impl Iterator<Item = (&str, &Key, &Heard)> {
        let last =
            |all: &[Heard]| all.iter().rfind(|heard| heard.arrived).is_some_and(|heard| !heard.is_listed);
        let all = self.all.iter().filter(move |(_, all)| last(all)).map(|((to, key), _)| (to, key));
        all.filter_map(|(to, key)| Some((to.as_str(), key, self.last_read(to, key)?)))
    }

    /// It was listed in a mail about something that the recipient knows as wrong.
    pub fn is_listed(&self, to: &str, key: &Key) -> bool {
        let name = words_of(key);
        self.listed
            .iter()
            .any(|(one, words, cause)| one == to && *words == name && self.reads_as_wrong(to, cause))
    }

    /// No mail is due to this recipient any more.
    pub fn forget(&mut self, to: &str) {
        self.all.retain(|(one, _), _| one != to);
    }

    /// The clock was set: no remembered time may be in the future.
    pub fn wakes(&mut self, now: DateTime<Utc>) {
        let moments = self.all.values_mut().flatten().map(|heard| &mut heard.at);
        moments.filter(|at| **at > now).for_each(|at| *at = now);
    }
}

/// `VM vm-1` of `VM vm-1 in error`.
fn name_in(words: &str) -> String {
    words.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// The resource in the words of a mail.
fn words_of(key: &Key) -> String {
    let id = key.id().unwrap_or(0);
    match key.kind.sort().map(crate::model::Sort::as_str) {
        Some("vm") => format!("VM vm-{id}"),
        Some("site") => format!("Site site-{id}"),
        Some(_) => format!("Container cont-{id}"),
        None => key.to_string(),
    }
}
