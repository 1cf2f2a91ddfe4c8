//! A mail catcher for `demo` and tests. It accepts any mail over SMTP, shows it over HTTP, and delivers none.
//! The mails are in memory only.

mod smtp;
mod view;
mod web;

use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::watch;

/// The number of kept mails; older ones are dropped.
const MOST_MAILS: usize = 1000;

/// A mail as it was accepted.
#[derive(Debug, Clone)]
pub struct Caught {
    /// its number, from 1
    pub number: usize,
    pub from: String,
    pub to: Vec<String>,
    pub subject: String,
    pub raw: Arc<[u8]>,
}

/// The mail catcher.
#[derive(Debug)]
pub struct Mailbox {
    mails: Mutex<Vec<Caught>>,
    newest: watch::Sender<Option<Caught>>,
}

impl Default for Mailbox {
    fn default() -> Mailbox {
        Mailbox { mails: Mutex::default(), newest: watch::Sender::new(None) }
    }
}

impl Mailbox {
    /// An empty mailbox, which its two servers share.
    pub fn new() -> Arc<Mailbox> {
        Arc::new(Mailbox::default())
    }

    /// The number of mails that were ever caught.
    pub fn count(&self) -> usize {
        self.mails.lock().last().map_or(0, |m| m.number)
    }

    /// The mails that are still kept, the oldest first.
    pub fn caught(&self) -> Vec<Caught> {
        self.mails.lock().clone()
    }

    /// A mail by its number.
    pub fn mail(&self, number: usize) -> Option<Caught> {
        self.mails.lock().iter().find(|m| m.number == number).cloned()
    }

    /// Reports each mail as it is caught. If mails come faster than the receiver reads, only the newest is
    /// reported. Their numbers show the gap, and `caught` has them all.
    pub fn subscribe(&self) -> watch::Receiver<Option<Caught>> {
        self.newest.subscribe()
    }

    fn keep(&self, from: String, to: Vec<String>, raw: Vec<u8>) {
        let subject = view::subject(&raw);
        let caught = {
            let mut mails = self.mails.lock();
            let number = mails.last().map_or(0, |m| m.number) + 1;
            let caught = Caught { number, from, to, subject, raw: raw.into() };
            mails.push(caught.clone());
            if mails.len() > MOST_MAILS {
                mails.remove(0);
            }
            caught
        };
        self.newest.send_replace(Some(caught));
    }
}
