//! Which mails go out, given what waits: newer news of an incident takes the place of older news that surely did not
//! arrive, and the end of an incident goes to whoever heard of its beginning. Pure; what arrived the store knows.

use std::collections::{BTreeMap, BTreeSet};

use super::key::Key;
use super::kind::Event;
use super::notice::{self, Form, Item, Notice};

/// A mail that waits for one recipient.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waiting {
    pub message_id: String,
    pub to: String,
    pub stage: Stage,
    /// What it is made of is known, so that it can be made anew for a part of its incidents.
    pub can_be_remade: bool,
    /// It says how things stood on its day, and keeps its place: what is newer comes after it.
    pub is_digest: bool,
    /// It says that nothing looks at its incidents any more.
    pub is_unwatched: bool,
    /// It counts what needs somebody: whatever that recipient is told of changes it.
    pub is_first: bool,
    pub incidents: BTreeSet<Key>,
}

/// How far a waiting mail came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Never tried, or refused at every attempt.
    NotArrived,
    /// The reply to the whole of it was lost.
    PerhapsArrived,
    BeingSent,
}

/// What became of the mails to one recipient about one episode: the best of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Heard {
    /// All were refused for good.
    Refused,
    /// None arrived yet, or was given up.
    NotYet,
    /// One arrived, or may have.
    Reached,
}

/// What the store knows that the engine cannot. Recipients are as configured, where they still are.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mailbox {
    /// Oldest first.
    pub waiting: Vec<Waiting>,
    /// Who was mailed about an episode.
    pub heard: BTreeMap<(Key, u32), BTreeMap<String, Heard>>,
}

/// What goes out, and what does not any more.
#[derive(Debug, Default)]
pub(crate) struct Dispatch {
    pub notices: Vec<Notice>,
    /// Message-ID and recipient of mails that something newer replaces.
    pub withdraw: BTreeSet<(String, String)>,
    /// What of these is made anew, without the incidents that the newer mails speak of.
    pub remake: Vec<Remake>,
}

/// A waiting mail that is to be made anew for a part of its incidents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Remake {
    pub message_id: String,
    pub to: Vec<String>,
    pub without: BTreeSet<Key>,
}

/// Fits what one step has to tell to what waits. Of what goes on no mail is to say any more that nothing looks at it.
pub(crate) fn dispatch(notices: Vec<Notice>, goes_on: &BTreeSet<Key>, mailbox: &Mailbox) -> Dispatch {
    let mut dispatch = Dispatch::default();
    // Overviews speak of all and replace nothing.
    let (news, whole): (Vec<Notice>, Vec<Notice>) =
        notices.into_iter().partition(|notice| !notice.form.is_overview());
    let news = addressed(news, mailbox);
    dispatch.withdraw_older(&news, goes_on, mailbox);
    let mut worded: Vec<(Item, Vec<String>)> = Vec::new();
    for (item, to) in news {
        let mut by_event: BTreeMap<Event, Vec<String>> = BTreeMap::new();
        for recipient in to {
            if let Some(event) = dispatch.event_for(&item, &recipient, mailbox) {
                by_event.entry(event).or_default().push(recipient);
            }
        }
        for (event, to) in by_event {
            worded.push((dispatch.worded(&item, event), to));
        }
    }
    dispatch.notices = whole;
    dispatch.notices.extend(notice::group(&worded));
    dispatch
}

/// Each item once, with all who are to hear of it. The end goes to those who were mailed of this episode, whoever the
/// recipients are by now.
fn addressed(notices: Vec<Notice>, mailbox: &Mailbox) -> Vec<(Item, Vec<String>)> {
    let mut news: Vec<(Item, Vec<String>)> = Vec::new();
    for notice in notices {
        for item in notice.items {
            match news.iter_mut().find(|(known, _)| known.key == item.key && known.event == item.event) {
                Some((_, to)) => to.extend(notice.to.iter().cloned()),
                None => news.push((item, notice.to.clone())),
            }
        }
    }
    for (item, to) in &mut news {
        to.sort();
        to.dedup();
        let heard = mailbox.heard.get(&(item.key.clone(), item.episode));
        if item.event == Event::Unwatched {
            // Whoever was not told of it has nothing to hear.
            to.clear();
        }
        let Some(heard) = heard.filter(|_| item.event.is_end()) else { continue };
        let mailed: Vec<String> =
            heard.iter().filter(|(_, heard)| **heard > Heard::Refused).map(|(to, _)| to.clone()).collect();
        if !mailed.is_empty() {
            *to = mailed;
        }
    }
    news
}

impl Dispatch {
    /// Withdraws what waits and is outdated by these news. A mail that may have arrived goes only where nothing is
    /// left of it: it is either one mail, byte for byte, or none.
    fn withdraw_older(&mut self, news: &[(Item, Vec<String>)], goes_on: &BTreeSet<Key>, mailbox: &Mailbox) {
        let mut told_now: BTreeMap<&str, BTreeSet<&Key>> = BTreeMap::new();
        for (item, to) in news {
            for recipient in to {
                told_now.entry(recipient).or_default().insert(&item.key);
            }
        }
        for (index, mail) in mailbox.waiting.iter().enumerate() {
            let told = told_now.get(mail.to.as_str());
            let is_outdated = |key: &&Key| {
                told.is_some_and(|told| told.contains(key)) || (mail.is_unwatched && goes_on.contains(key))
            };
            let mut without: BTreeSet<Key> = mail.incidents.iter().filter(is_outdated).cloned().collect();
            let counts_anew = mail.is_first && told.is_some();
            if (without.is_empty() && !counts_anew) || mail.stage == Stage::BeingSent || mail.is_digest {
                continue;
            }
            let whole = !mail.is_first && without.len() == mail.incidents.len();
            if !whole && (mail.stage == Stage::PerhapsArrived || !mail.can_be_remade) {
                continue;
            }
            self.withdraw.insert((mail.message_id.clone(), mail.to.clone()));
            // What a later mail tells already is not to come after it.
            let later = mailbox.waiting[index + 1..].iter().filter(|later| later.to == mail.to);
            for later in later {
                without.extend(mail.incidents.intersection(&later.incidents).cloned());
            }
            if !mail.can_be_remade {
                continue;
            }
            let (message_id, to) = (mail.message_id.clone(), mail.to.clone());
            match self.remake.iter_mut().find(|one| one.message_id == message_id && one.without == without) {
                Some(same) => same.to.push(to),
                None => self.remake.push(Remake { message_id, to: vec![to], without }),
            }
        }
    }

    /// What a recipient is told, who may have heard nothing of this episode yet; `None` where it is no news to them.
    fn event_for(&self, item: &Item, to: &str, mailbox: &Mailbox) -> Option<Event> {
        let heard = mailbox.heard.get(&(item.key.clone(), item.episode)).and_then(|heard| heard.get(to));
        let waits = |mail: &Waiting| {
            let withdrawn = self.withdraw.contains(&(mail.message_id.clone(), mail.to.clone()));
            !withdrawn && mail.to == to && mail.incidents.contains(&item.key)
        };
        let hears_more =
            heard.is_none_or(|&heard| heard == Heard::Reached) || mailbox.waiting.iter().any(waits);
        if hears_more || item.event == Event::WasDown {
            Some(item.event.clone())
        } else if matches!(item.event, Event::Resolved | Event::Removed) {
            Some(Event::WasDown)
        } else if matches!(item.event, Event::Reminder(_)) {
            Some(Event::Opened)
        } else {
            Some(item.event.clone()).filter(|event| !event.is_end())
        }
    }

    /// The item as it is told, in the threads that are left.
    fn worded(&self, item: &Item, event: Event) -> Item {
        let mut item = item.clone();
        item.threads.retain(|to, id| !self.withdraw.contains(&(id.clone(), to.clone())));
        if event == Event::WasDown {
            item.threads.clear();
        }
        Item { event, ..item }
    }
}

/// What is left of a mail, in no thread that is gone; `None` where nothing is. What a first-start mail counts is as of then.
pub(crate) fn remainder(mail: Notice, remake: &Remake) -> Option<Notice> {
    let Notice { form, mut items, mut accounts, .. } = mail;
    items.retain(|item| !remake.without.contains(&item.key));
    for item in &mut items {
        item.threads.retain(|_, id| *id != remake.message_id);
    }
    match &form {
        Form::Started(_) => {}
        Form::Digest(_) => return None,
        Form::Opened
        | Form::Closed
        | Form::Disconnect
        | Form::Reminder
        | Form::Covered
        | Form::Unwatched
        | Form::Overflow(_) => {
            if items.is_empty() {
                return None;
            }
            accounts = items.iter().map(|item| item.key.account.clone()).collect();
            accounts.sort();
            accounts.dedup();
        }
    }
    Some(Notice { form, items, to: remake.to.clone(), accounts })
}
