//! What a mail says beside what it tells: that an earlier one had to be given up, that the store was damaged.
//! Each note goes to those whom it concerns and to nobody else.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lettre::message::Mailbox;

use crate::alert::Notice;
use crate::store::{GivenUp, Outgoing};

/// Sentences about the store, each with the addresses that were not told it yet.
#[derive(Debug, Default)]
pub(super) struct StoreNotes(Vec<(String, BTreeSet<String>)>);

impl StoreNotes {
    /// Every recipient is to be told, once, that a damaged store was set aside.
    pub(super) fn damaged<'a>(&mut self, aside: &Path, recipients: impl IntoIterator<Item = &'a str>) {
        let text = format!(
            "The store of incidents and mails was damaged. It was set aside as {}, and a new one begun: what was queued in it may never have been sent.",
            aside.display()
        );
        self.0.push((text, recipients.into_iter().map(address).collect()));
    }

    /// A notice as one mail for all its recipients, or as several where not all of them are to be told the same notes.
    pub(super) fn split<'a>(&self, notice: &'a Notice) -> Vec<(Cow<'a, Notice>, Vec<String>)> {
        let mut by_notes: BTreeMap<Vec<&String>, Vec<String>> = BTreeMap::new();
        for to in &notice.to {
            let untold = self.0.iter().filter(|(_, untold)| untold.contains(&address(to)));
            by_notes.entry(untold.map(|(text, _)| text).collect()).or_default().push(to.clone());
        }
        let whole = by_notes.len() == 1;
        let mails = by_notes.into_iter().map(|(notes, to)| {
            let part =
                if whole { Cow::Borrowed(notice) } else { Cow::Owned(Notice { to, ..notice.clone() }) };
            (part, notes.into_iter().cloned().collect())
        });
        mails.collect()
    }

    /// These mails, with the notes due to their recipients, were committed.
    pub(super) fn told(&mut self, mails: &[Outgoing]) {
        for (_, untold) in &mut self.0 {
            untold.retain(|address| !mails.iter().any(|mail| mail.recipients.contains(address)));
        }
        self.0.retain(|(_, untold)| !untold.is_empty());
    }
}

/// Does it concern those who get this notice that the mail was given up? It does where both are about one account,
/// and where all of them were to get that mail too.
pub(super) fn concerns(given_up: &GivenUp, notice: &Notice) -> bool {
    notice.accounts.iter().any(|account| given_up.accounts.contains(account))
        || notice.to.iter().all(|to| given_up.recipients.contains(&address(to)))
}

/// The bare address of a recipient as configured.
fn address(to: &str) -> String {
    to.parse::<Mailbox>().map_or_else(|_| to.to_owned(), |mailbox| mailbox.email.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Form;
    use crate::store::Lane;

    fn notice(to: &[&str], account: &str) -> Notice {
        let accounts = vec![account.parse().unwrap()];
        Notice {
            form: Form::Opened,
            items: Vec::new(),
            to: to.iter().map(ToString::to_string).collect(),
            accounts,
        }
    }

    fn mail(to: &[&str]) -> Outgoing {
        Outgoing {
            message_id: "1".into(),
            sender: "hw@example.com".into(),
            recipients: to.iter().map(ToString::to_string).collect(),
            subject: String::new(),
            lane: Lane::Normal,
            event_keys: Vec::new(),
            told: Vec::new(),
            raw: Vec::new(),
        }
    }

    #[test]
    fn each_recipient_is_told_of_the_store_once() {
        let (ann, bob) = ("Ann <ann@example.com>", "bob@example.com");
        let mut notes = StoreNotes::default();
        let both = notice(&[ann, bob], "main");
        let parts = |notes: &StoreNotes| -> Vec<(String, usize)> {
            notes.split(&both).into_iter().map(|(part, lines)| (part.to.join(" "), lines.len())).collect()
        };
        let one = |count| vec![(format!("{ann} {bob}"), count)];
        assert_eq!(parts(&notes), one(0));
        notes.damaged(Path::new("/hw.db.damaged"), [ann, bob]);
        assert_eq!(parts(&notes), one(1));
        notes.told(&[mail(&["ann@example.com"])]);
        assert_eq!(parts(&notes), [(ann.to_owned(), 0), (bob.to_owned(), 1)]);
        notes.told(&[mail(&["bob@example.com"])]);
        assert_eq!(parts(&notes), one(0));
    }

    #[test]
    fn a_mail_given_up_concerns_its_accounts_and_its_recipients() {
        let given_up = GivenUp {
            envelope: 1,
            recipient: "ann@example.com".into(),
            error: "550".into(),
            recipients: ["ann@example.com".to_owned(), "bob@example.com".to_owned()].into(),
            accounts: ["main".parse().unwrap()].into(),
        };
        let table: [(&[&str], &str, bool); 4] = [
            (&["carl@example.com"], "main", true),
            (&["Bob <bob@example.com>"], "other", true),
            (&["bob@example.com", "carl@example.com"], "other", false),
            (&["carl@example.com"], "other", false),
        ];
        for (to, account, want) in table {
            assert_eq!(concerns(&given_up, &notice(to, account)), want, "{to:?} {account}");
        }
    }
}
