//! The mail server's log held to the promise: nothing lost, nothing twice, and what came again is the same to
//! the byte.

use std::collections::BTreeMap;

use super::{SmtpServer, read};

/// What one recipient has, mail by mail.
#[derive(Debug, Default)]
pub struct Ledger {
    /// By Message-ID: what it tells (`incident event`), and how many copies came.
    mails: BTreeMap<String, (Vec<String>, usize)>,
}

impl Ledger {
    /// What the server took for this recipient.
    ///
    /// # Panics
    /// Where two copies of one mail differ.
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

    /// Copies of mails beyond the first.
    pub fn repeats(&self) -> usize {
        self.mails.values().map(|(_, copies)| copies - 1).sum()
    }

    /// Everything told, each as often as different mails tell it, sorted.
    pub fn events(&self) -> Vec<&str> {
        let mut events: Vec<&str> =
            self.mails.values().flat_map(|(pairs, _)| pairs).map(String::as_str).collect();
        events.sort_unstable();
        events
    }
}
