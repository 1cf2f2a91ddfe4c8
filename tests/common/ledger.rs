//! Checks the mail server's log: no event is lost, none comes twice. Repeated mails have the same bytes.

use std::collections::BTreeMap;

use super::{SmtpServer, read};

/// The mails of one recipient.
#[derive(Debug, Default)]
pub struct Ledger {
    /// By Message-ID: the events (`incident event`), and the number of copies.
    mails: BTreeMap<String, (Vec<String>, usize)>,
}

impl Ledger {
    /// The mails that the server took for this recipient.
    ///
    /// # Panics
    /// If two copies of a mail differ.
    pub fn of(smtp: &SmtpServer, recipient: &str) -> Self {
        let mut ledger = Self::default();
        let mut bytes: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for mail in smtp.seen().accepted().into_iter().filter(|mail| mail.to == [recipient]) {
            let received = read(&mail.raw);
            let first = bytes.entry(received.message_id.clone()).or_insert_with(|| mail.raw.clone());
            assert!(*first == mail.raw, "two mails {} that differ", received.message_id);
            ledger.mails.entry(received.message_id).or_insert((received.pairs, 0)).1 += 1;
        }
        ledger
    }

    /// The number of copies beyond the first of each mail.
    pub fn repeats(&self) -> usize {
        self.mails.values().map(|(_, copies)| copies - 1).sum()
    }

    /// All events, each as often as different mails have it, sorted.
    pub fn events(&self) -> Vec<&str> {
        let mut events: Vec<&str> =
            self.mails.values().flat_map(|(pairs, _)| pairs).map(String::as_str).collect();
        events.sort_unstable();
        events
    }
}
