//! What a mail adds to its subject matter: that an earlier one had to be given up, that the store was damaged.
//! Each note goes to those whom it concerns and to nobody else.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lettre::message::Mailbox;

use crate::alert::Notice;
use crate::store::{GivenUp, Named, Outgoing};

/// Sentences about the store, each with the addresses that did not get it yet.
#[derive(Debug, Default)]
pub(super) struct StoreNotes(Vec<(String, BTreeSet<String>)>);

impl StoreNotes {
    /// Every recipient is to read, once, that a damaged store was set aside.
    pub(super) fn damaged<'a>(&mut self, aside: &Path, recipients: impl IntoIterator<Item = &'a str>) {
        let text = format!(
            "The store of incidents and mails was damaged. It was set aside as {}, and a new one begun: what was queued in it may never have been sent.",
            aside.display()
        );
        self.0.push((text, recipients.into_iter().map(address).collect()));
    }

    /// What one recipient is still to be told of the store.
    fn for_recipient(&self, to: &str) -> Vec<String> {
        let untold = self.0.iter().filter(|(_, untold)| untold.contains(&address(to)));
        untold.map(|(text, _)| text.clone()).collect()
    }

    /// These mails, with the notes due to their recipients, were committed.
    pub(super) fn told(&mut self, mails: &[Outgoing]) {
        for (_, untold) in &mut self.0 {
            untold.retain(|address| !mails.iter().any(|mail| mail.recipients.contains(address)));
        }
        self.0.retain(|(_, untold)| !untold.is_empty());
    }
}

/// One mail of a notice, with what else it says.
pub(super) struct Noted<'a> {
    pub(super) notice: Cow<'a, Notice>,
    pub(super) notes: Vec<String>,
    /// The given-up mails that it names, by their place.
    pub(super) names: Vec<usize>,
}

/// A notice as one mail for all its recipients, or as several where not all of them are to read the same notes.
pub(super) fn noted<'a>(
    notice: &'a Notice,
    store_notes: &StoreNotes,
    given_up: &[GivenUp],
) -> Vec<Noted<'a>> {
    let mut by_notes: BTreeMap<(Vec<String>, Vec<usize>), Vec<String>> = BTreeMap::new();
    for to in &notice.to {
        let concerning = given_up.iter().enumerate().filter(|(_, mail)| concerns(mail, to, notice));
        let named = concerning.map(|(index, _)| index).collect();
        by_notes.entry((store_notes.for_recipient(to), named)).or_default().push(to.clone());
    }
    let whole = by_notes.len() == 1;
    let mails = by_notes.into_iter().map(|((mut notes, names), to)| {
        notes.extend(names.iter().map(|&index| {
            let mail = &given_up[index];
            format!("A mail to {} had to be given up: {} ({})", mail.recipient, mail.subject, mail.error)
        }));
        let notice = if whole { Cow::Borrowed(notice) } else { Cow::Owned(Notice { to, ..notice.clone() }) };
        Noted { notice, notes, names }
    });
    mails.collect()
}

/// Is this recipient still to be told that the mail was given up? Whoever it was for is; somebody else of its account
/// where nobody was.
fn concerns(given_up: &GivenUp, to: &str, notice: &Notice) -> bool {
    let to = address(to);
    if given_up.recipients.contains(&to) {
        return !given_up.told.contains(&to);
    }
    given_up.told.is_empty() && notice.accounts.iter().any(|account| given_up.accounts.contains(account))
}

/// Takes in that this mail names them.
pub(super) fn names(given_up: &mut [GivenUp], named: &[usize], mail: &Outgoing) -> Vec<Named> {
    let mut names = Vec::new();
    for &index in named {
        let one = &mut given_up[index];
        one.told.extend(mail.recipients.iter().cloned());
        let (message_id, recipient) = (one.message_id.clone(), one.recipient.clone());
        names.push(Named { message_id, recipient, named_in: mail.message_id.clone() });
    }
    names
}

/// The bare address of a recipient as configured.
pub(super) fn address(to: &str) -> String {
    to.parse::<Mailbox>().map_or_else(|_| to.to_owned(), |mailbox| mailbox.email.to_string())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

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
            notice: notice(to, "main"),
            raw: Vec::new(),
            created_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn each_recipient_is_told_of_the_store_once() {
        let (ann, bob) = ("Ann <ann@example.com>", "bob@example.com");
        let mut notes = StoreNotes::default();
        let both = notice(&[ann, bob], "main");
        let parts = |notes: &StoreNotes| -> Vec<(String, usize)> {
            let mails = noted(&both, notes, &[]).into_iter();
            mails.map(|mail| (mail.notice.to.join(" "), mail.notes.len())).collect()
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

    fn given_up(told: &[&str]) -> GivenUp {
        GivenUp {
            message_id: "1".into(),
            recipient: "ann@example.com".into(),
            subject: "[CRITICAL] VM web-1 in error".into(),
            error: "550".into(),
            recipients: ["ann@example.com".to_owned(), "bob@example.com".to_owned()].into(),
            told: told.iter().map(ToString::to_string).collect(),
            accounts: ["main".parse().unwrap()].into(),
        }
    }

    #[test]
    fn a_mail_given_up_concerns_those_it_was_for_or_else_its_account() {
        let table: [(&[&str], &str, &str, bool); 7] = [
            (&[], "carl@example.com", "main", true),
            (&["bob@example.com"], "carl@example.com", "main", false),
            (&[], "carl@example.com", "other", false),
            (&[], "Bob <bob@example.com>", "other", true),
            (&["bob@example.com"], "bob@example.com", "main", false),
            // Whoever did not get it is told once something arrives there.
            (&["bob@example.com"], "ann@example.com", "main", true),
            (&["ann@example.com", "bob@example.com"], "ann@example.com", "main", false),
        ];
        for (told, to, account, want) in table {
            assert_eq!(
                concerns(&given_up(told), to, &notice(&[to], account)),
                want,
                "{told:?} {to} {account}"
            );
        }
    }

    #[test]
    fn it_is_named_once_a_recipient_with_its_subject() {
        let (both, ann) =
            (notice(&["bob@example.com", "carl@example.com"], "main"), notice(&["ann@example.com"], "main"));
        let mut given_up = [given_up(&[])];
        let parts = noted(&both, &StoreNotes::default(), &given_up);
        assert_eq!(parts.len(), 1);
        assert!(parts[0].notes[0].contains("[CRITICAL] VM web-1 in error"), "{:?}", parts[0].notes);
        let sent = mail(&["bob@example.com", "carl@example.com"]);
        assert_eq!(names(&mut given_up, &[0], &sent).len(), 1);
        assert!(noted(&both, &StoreNotes::default(), &given_up)[0].notes.is_empty());
        assert_eq!(noted(&ann, &StoreNotes::default(), &given_up)[0].notes.len(), 1);
    }
}
