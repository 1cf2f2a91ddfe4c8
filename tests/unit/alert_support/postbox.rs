//! An outbox in memory: takes what is to be told as the pipeline and the store do, and knows what arrived.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{
    Back, Delivery, Event, Form, Heard, Incident, Key, Mailbox, Notice, Stage, Waiting, dispatch, remainder,
};

/// A mail to one recipient.
#[derive(Clone, Debug)]
pub struct Mail {
    pub id: String,
    pub to: String,
    pub notice: Notice,
    pub state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Waits(Stage),
    Arrived,
    Refused,
    Withdrawn,
}

#[derive(Clone, Default, Debug)]
pub struct Postbox {
    /// Oldest first.
    pub mails: Vec<Mail>,
}

impl Postbox {
    /// Takes what one step tells. Returns the mails that were made, with their ids.
    pub fn take(&mut self, notices: Vec<Notice>, goes_on: &BTreeSet<Key>) -> Vec<(String, Notice)> {
        let mailbox = self.mailbox(&notices);
        let dispatch = dispatch(notices, goes_on, &mailbox);
        for (id, to) in &dispatch.withdraw {
            let mail = self.mails.iter_mut().find(|mail| mail.id == *id && mail.to == *to).unwrap();
            assert!(
                matches!(mail.state, State::Waits(Stage::NotArrived | Stage::PerhapsArrived)),
                "{mail:?}"
            );
            mail.state = State::Withdrawn;
        }
        let remade = dispatch.remake.iter().filter_map(|remake| {
            let made = self.mails.iter().find(|mail| mail.id == remake.message_id).unwrap();
            remainder(made.notice.clone(), remake)
        });
        let new: Vec<Notice> = remade.chain(dispatch.notices).collect();
        new.into_iter().map(|notice| (self.queue(&notice), notice)).collect()
    }

    /// Who heard what of those that are watched again.
    pub fn delivery(&self, coming_back: Vec<(Key, u32)>) -> Delivery {
        let heard = |(key, episode): (Key, u32)| {
            let about = |mail: &&Mail| {
                mail.notice.items.iter().any(|one| one.key == key && one.episode == episode)
                    && !matches!(mail.state, State::Withdrawn | State::Refused)
            };
            let (gone, others): (Vec<&Mail>, Vec<&Mail>) =
                self.mails.iter().filter(about).partition(|mail| matches!(mail.notice.form, Form::Unwatched));
            let left = |mail: &&Mail| mail.state != State::Waits(Stage::NotArrived);
            let back = Back { heard: !others.is_empty(), heard_unwatched: gone.iter().any(left) };
            (key, back)
        };
        Delivery { back: coming_back.into_iter().map(heard).collect(), ..Delivery::default() }
    }

    fn queue(&mut self, notice: &Notice) -> String {
        let id = format!("mail-{}", self.mails.len());
        for to in &notice.to {
            let state = State::Waits(Stage::NotArrived);
            self.mails.push(Mail { id: id.clone(), to: to.clone(), notice: notice.clone(), state });
        }
        id
    }

    fn mailbox(&self, notices: &[Notice]) -> Mailbox {
        let mut mailbox = Mailbox::default();
        for mail in &self.mails {
            if let State::Waits(stage) = mail.state {
                mailbox.waiting.push(Waiting {
                    message_id: mail.id.clone(),
                    to: mail.to.clone(),
                    stage,
                    can_be_remade: true,
                    is_digest: matches!(mail.notice.form, Form::Digest(_)),
                    is_unwatched: matches!(mail.notice.form, Form::Unwatched),
                    is_first: matches!(mail.notice.form, Form::Started(_)),
                    incidents: keys(&mail.notice),
                });
            }
        }
        for item in notices.iter().flat_map(|notice| &notice.items) {
            let mut heard: BTreeMap<String, Heard> = BTreeMap::new();
            let mut before: BTreeMap<String, Option<Heard>> = BTreeMap::new();
            for mail in &self.mails {
                let about = |one: &&crate::alert::Item| one.key == item.key && one.episode == item.episode;
                let earlier = |one: &&crate::alert::Item| one.key == item.key && one.episode < item.episode;
                let now = match mail.state {
                    State::Withdrawn => continue,
                    State::Refused => Heard::Refused,
                    State::Waits(Stage::NotArrived) => Heard::NotYet,
                    State::Waits(_) | State::Arrived => Heard::Reached,
                };
                if mail.notice.items.iter().any(|one| about(&one)) {
                    let known = heard.entry(mail.to.clone()).or_insert(now);
                    *known = (*known).max(now);
                }
                if let Some(one) = mail.notice.items.iter().find(|one| earlier(one)) {
                    before.insert(mail.to.clone(), (!one.event.is_end()).then_some(now));
                }
            }
            // The end of an earlier episode gave way to this one.
            for (to, now) in before {
                if let Some(now) = now.filter(|now| *now > Heard::Refused) {
                    let known = heard.entry(to).or_insert(now);
                    *known = (*known).max(now);
                }
            }
            mailbox.heard.insert((item.key.clone(), item.episode), heard);
        }
        mailbox
    }

    /// One attempt each, in order. `fate` says what becomes of a mail; whatever waits holds back what comes after it
    /// about the same incident.
    pub fn attempt(&mut self, mut fate: impl FnMut(&Mail) -> State) {
        for index in 0..self.mails.len() {
            let State::Waits(_) = self.mails[index].state else { continue };
            let mine = keys(&self.mails[index].notice);
            let older = &self.mails[..index];
            let held = older.iter().any(|mail| {
                mail.to == self.mails[index].to
                    && matches!(mail.state, State::Waits(_))
                    && !mine.is_disjoint(&keys(&mail.notice))
            });
            if !held {
                let perhaps = self.mails[index].state == State::Waits(Stage::PerhapsArrived);
                let fate = fate(&self.mails[index]);
                let waits_on = perhaps && matches!(fate, State::Waits(_));
                self.mails[index].state = if waits_on { State::Waits(Stage::PerhapsArrived) } else { fate };
            }
        }
    }

    /// Everything that waits arrives.
    pub fn deliver(&mut self) {
        self.attempt(|_| State::Arrived);
    }

    /// What a recipient reads: incident and event, in the order of arrival.
    pub fn read_by(&self, to: &str) -> Vec<(Key, Event)> {
        let arrived = self.mails.iter().filter(|mail| mail.to == to && mail.state == State::Arrived);
        arrived
            .flat_map(|mail| &mail.notice.items)
            .map(|item| (item.key.clone(), item.event.clone()))
            .collect()
    }

    pub fn is_withdrawn(&self, id: &str) -> bool {
        let mut mails = self.mails.iter().filter(|mail| mail.id == id).peekable();
        mails.peek().is_some() && mails.all(|mail| mail.state == State::Withdrawn)
    }
}

fn keys(notice: &Notice) -> BTreeSet<Key> {
    notice.items.iter().map(|item| item.key.clone()).collect()
}

/// As the mail writer: what opens a thread.
pub fn threads((id, notice): &(String, Notice)) -> Vec<(Key, String, String)> {
    let answers = matches!(
        notice.form,
        Form::Closed | Form::Reminder | Form::Covered | Form::Unwatched | Form::Digest(_)
    );
    let begins = |item: &&crate::alert::Item| !answers || item.event == Event::Escalated;
    let pairs =
        notice.items.iter().filter(begins).flat_map(|item| notice.to.iter().map(move |to| (item, to)));
    pairs
        .filter(|(item, to)| !item.threads.contains_key(*to))
        .map(|(item, to)| (item.key.clone(), to.clone(), id.clone()))
        .collect()
}

/// The threads that withdrawn mails had begun are gone.
pub fn forget_threads(incidents: &mut [Incident], postbox: &Postbox) {
    for incident in incidents {
        incident.threads.retain(|_, id| !postbox.is_withdrawn(id));
    }
}
