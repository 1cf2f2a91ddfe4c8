//! What one mail is to say, and to whom: items grouped by recipient. Pure; the wording is up to `mail`.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use super::calendar::CalendarEntry;
use super::incident::Incident;
use super::key::Key;
use super::kind::{Event, Kind, Severity};
use super::ladder::Ladder;
use super::reason::Reason;
use crate::model::AccountName;

/// One mail to be written.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Notice {
    pub form: Form,
    /// Worst first; empty only in a first-start mail or a digest with nothing wrong.
    pub items: Vec<Item>,
    /// Mailboxes as configured; each gets an envelope of its own.
    pub to: Vec<String>,
    /// Accounts that it is about, in order.
    pub accounts: Vec<AccountName>,
}

/// What sort of mail it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Form {
    /// Something opened, or is wrong again and again.
    Opened,
    /// Something ended.
    Closed,
    /// The disconnect ladder; always alone.
    Disconnect,
    /// The first start.
    Started(Started),
    /// Still so: for those who know, or whom it is escalated to.
    Reminder,
    /// What follows from an incident and was not yet in a mail about it.
    Covered,
    /// Nothing looks at these any more: all that one reload or report ends.
    Unwatched,
    /// What the hourly limit held back.
    Overflow(Overflow),
    /// How everything is, once a week.
    Digest(Digest),
}

impl Notice {
    /// A notice of one item.
    pub(super) fn alone(item: Item, to: Vec<String>) -> Self {
        Self { form: item.form(), accounts: vec![item.key.account.clone()], items: vec![item], to }
    }
}

impl Form {
    /// It speaks of everything at its time, not of what one step brought.
    pub(crate) fn is_overview(&self) -> bool {
        matches!(self, Self::Started(_) | Self::Overflow(_) | Self::Digest(_) | Self::Covered)
    }
}

/// What the mail about the hourly limit says beside its items: everything that was held back, each with
/// its own event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Overflow {
    pub max_per_hour: u32,
    /// When the limit was reached.
    pub since: DateTime<Utc>,
}

/// What the digest says beside its items: the open incidents and those that ended since `from`, each
/// with the event `digest:DATE`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Digest {
    /// Its day in the account's zone: the date of its events.
    pub date: NaiveDate,
    /// The week that it covers.
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    pub accounts: Vec<DigestAccount>,
    /// Within the week.
    pub mails_sent: u64,
    /// Given up within the week.
    pub mails_dead: u64,
    /// Waiting now.
    pub mails_queued: u64,
}

/// How reading one account went within the week.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct DigestAccount {
    pub name: AccountName,
    /// All of them, the failed ones too.
    pub polls: u64,
    pub polls_failed: u64,
}

/// What the first-start mail says beside its items.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Started {
    pub resources: usize,
    /// How many things need someone, listed or not, the disconnect among them.
    pub needs: usize,
    /// A disconnect mail goes out beside this one.
    pub disconnect: bool,
    /// The worst severity of these.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// An account is cut off already, or about to be.
    #[serde(default)]
    pub overdue: bool,
    /// Of what needs someone: what began since, and has mails of its own.
    #[serde(default)]
    pub since: usize,
    /// `account: collector: why`, of what could not be read.
    pub unread: Vec<String>,
}

/// One incident in a mail. The store keeps it while the hourly limit holds it back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    pub key: Key,
    pub episode: u32,
    #[serde(default)]
    pub arming: u32,
    pub event: Event,
    pub severity: Severity,
    pub subject: String,
    pub problem: String,
    pub detail: String,
    pub reason: Reason,
    pub since: DateTime<Utc>,
    pub at: DateTime<Utc>,
    /// From when to when nobody watched, where the change fell into that time.
    pub unwatched: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Message-IDs of the mail that opened it, by recipient.
    pub threads: BTreeMap<String, String>,
    pub ladder: Option<Ladder>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarEntry>,
    /// When it was over, where it is and the event does not say so: in a digest.
    #[serde(default)]
    pub ended: Option<DateTime<Utc>>,
    /// What else follows from it, in words: in a mail about that.
    #[serde(default)]
    pub covers: Vec<String>,
    /// Why no mail of it is sent, in a few words: `acknowledged`, `silenced until 2026-03-02 14:00 UTC`.
    #[serde(default)]
    pub muted: Option<String>,
}

impl Item {
    /// The item of an incident in its present state.
    pub(crate) fn new(incident: &Incident, event: Event, at: DateTime<Utc>) -> Self {
        let says_what = event.is_end() || event == Event::Flapping;
        Self {
            key: incident.key.clone(),
            episode: incident.episode,
            arming: incident.arming,
            severity: incident.severity,
            subject: incident.subject.clone(),
            problem: if says_what { incident.problem.clone() } else { incident.problem_now() },
            event,
            detail: incident.detail.clone(),
            reason: incident.reason.clone(),
            since: incident.since,
            at,
            unwatched: None,
            threads: incident.threads.clone(),
            ladder: incident.ladder.clone(),
            calendar: incident.calendar,
            ended: None,
            covers: Vec::new(),
            muted: None,
        }
    }

    /// Unique over the life of a store: incident, episode, arming, event.
    pub(crate) fn event_key(&self) -> String {
        match self.arming {
            0 => format!("{}#{}#{}", self.key, self.episode, self.event),
            arming => format!("{}#{}.{arming}#{}", self.key, self.episode, self.event),
        }
    }

    /// The resource's name, as its subject has it behind the noun.
    pub(crate) fn name(&self) -> &str {
        self.subject.split_once(' ').map_or(self.subject.as_str(), |(_, name)| name)
    }

    /// The words of its subject line.
    pub(crate) fn words(&self) -> String {
        super::incident::words(&self.subject, &self.problem)
    }

    fn form(&self) -> Form {
        if self.event == Event::Unwatched {
            Form::Unwatched
        } else if matches!(self.event, Event::Covered(_)) {
            Form::Covered
        } else if self.key.kind == Kind::Disconnect {
            Form::Disconnect
        } else if matches!(self.event, Event::Reminder(_) | Event::Escalated) {
            Form::Reminder
        } else if self.event.is_end() {
            Form::Closed
        } else {
            Form::Opened
        }
    }
}

/// Groups what one step has to say into as few mails as possible: one of each form per recipient, a
/// disconnect mail by itself. Recipients with the same items share a mail.
pub(super) fn group<T: AsRef<[String]>>(news: &[(Item, T)]) -> Vec<Notice> {
    let mut mails: Vec<(Form, Vec<usize>, Vec<String>)> = Vec::new();
    for form in [Form::Disconnect, Form::Opened, Form::Covered, Form::Reminder, Form::Closed, Form::Unwatched]
    {
        let mut by_recipient: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, (_, recipients)) in news.iter().enumerate().filter(|(_, (item, _))| item.form() == form) {
            for to in recipients.as_ref() {
                by_recipient.entry(to).or_default().push(index);
            }
        }
        for (to, indices) in by_recipient {
            let stands_alone =
                |index: &usize| form != Form::Unwatched && news[*index].0.key.kind == Kind::Disconnect;
            let (alone, together): (Vec<usize>, Vec<usize>) = indices.into_iter().partition(stands_alone);
            let together = Some(together).filter(|together| !together.is_empty());
            for indices in alone.into_iter().map(|index| vec![index]).chain(together) {
                let same = mails.iter_mut().find(|(f, i, _)| *f == form && *i == indices);
                match same {
                    Some((_, _, tos)) => tos.push(to.to_owned()),
                    None => mails.push((form.clone(), indices, vec![to.to_owned()])),
                }
            }
        }
    }
    let notices = mails.into_iter().map(|(form, indices, to)| {
        let mut picked: Vec<Item> = indices.into_iter().map(|index| news[index].0.clone()).collect();
        worst_first(&mut picked);
        let mut accounts: Vec<AccountName> = picked.iter().map(|item| item.key.account.clone()).collect();
        accounts.sort();
        accounts.dedup();
        Notice { form, items: picked, to, accounts }
    });
    notices.collect()
}

/// The order of items in a mail.
pub(super) fn worst_first(items: &mut [Item]) {
    items.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.key.cmp(&b.key)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(account: &str, kind: Kind, id: u64, event: Event) -> Item {
        let key = Key::new(&account.parse().unwrap(), kind, id);
        let mut incident = Incident::new(key, kind.default_severity(), DateTime::UNIX_EPOCH);
        incident.episode = 3;
        (incident.subject, incident.problem) = (format!("VM {id}"), "in error".to_owned());
        Item::new(&incident, event, DateTime::UNIX_EPOCH)
    }

    #[test]
    fn an_item_has_a_key_of_its_event_and_words() {
        let item = item("main", Kind::VmError, 7, Event::Reminder(2));
        assert_eq!(item.event_key(), "main/vm_error/7#3#reminder:2");
        assert_eq!(item.words(), "VM 7 in error");
    }

    #[test]
    fn one_mail_of_each_form_a_recipient_and_a_disconnect_by_itself() {
        let (ann, both) = (["ann".to_owned()], ["ann".to_owned(), "bob".to_owned()]);
        let items = [
            item("b", Kind::VmStuck, 1, Event::Opened),
            item("b", Kind::VmError, 2, Event::Flapping),
            item("a", Kind::VmError, 3, Event::Opened),
            item("a", Kind::VmError, 4, Event::Resolved),
            item("a", Kind::VmError, 5, Event::Removed),
            item("a", Kind::VmBlocked, 6, Event::WasDown),
            item("a", Kind::VmError, 7, Event::Reminder(1)),
            item("a", Kind::Disconnect, 8, Event::Rung(3)),
            item("b", Kind::Disconnect, 9, Event::Resolved),
        ];
        let of_a_alone = |key: &Key| matches!(key.id(), Some(3 | 8));
        let news = items.map(|item| {
            let to: &[String] = if of_a_alone(&item.key) { &ann } else { &both };
            (item, to)
        });
        let notices = group(&news);
        let told: Vec<(Form, String, String, String)> = notices
            .into_iter()
            .map(|notice| {
                let items: Vec<String> =
                    notice.items.iter().map(|item| item.key.resource.to_string()).collect();
                let accounts: Vec<String> = notice.accounts.iter().map(ToString::to_string).collect();
                (notice.form, items.join(" "), notice.to.join(" "), accounts.join(" "))
            })
            .collect();
        let mail = |form, items: &str, to: &str, accounts: &str| {
            (form, items.to_owned(), to.to_owned(), accounts.to_owned())
        };
        let want = [
            mail(Form::Disconnect, "8", "ann", "a"),
            mail(Form::Disconnect, "9", "ann bob", "b"),
            // Critical before warning, then by key.
            mail(Form::Opened, "3 2 1", "ann", "a b"),
            mail(Form::Opened, "2 1", "bob", "b"),
            mail(Form::Reminder, "7", "ann bob", "a"),
            mail(Form::Closed, "4 5 6", "ann bob", "a"),
        ];
        assert_eq!(told, want);
    }
}
