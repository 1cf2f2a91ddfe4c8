//! Bugs planted between the engine and its log, in the driver only. The exploration finds every one.

use super::life::{Broken, Handed, Life};
use super::ops::BOB;
use crate::alert::{Attempt, Facts, Form, Log, Muted};
use crate::model::Snapshot;
use chrono::{DateTime, Duration, Utc};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plant {
    /// A deferred mail counts as delivered.
    RefusalIsDelivery,
    /// A mail whose reply was lost counts as refused.
    LostIsRefusal,
    /// After a kill, mails that were being sent count as delivered.
    FlightsForgotten,
    /// The log is written after the server got a mail, not before.
    LogAfterServer,
    /// One recipient's ends are made and never sent.
    EndsDropped,
    /// Only present recipients are served, so that former ones never hear an end.
    RemovedForgotten,
    /// Mails are made as if nothing were silenced.
    SilenceIgnored,
    /// The bytes of a mail with a lost reply are sent once more, even if they are no longer true.
    StaleBytes,
}

/// The age of the bytes that `StaleBytes` sends.
const STALE_AFTER: Duration = Duration::minutes(45);

impl Plant {
    pub const ALL: [Self; 8] = [
        Self::RefusalIsDelivery,
        Self::LostIsRefusal,
        Self::FlightsForgotten,
        Self::LogAfterServer,
        Self::EndsDropped,
        Self::RemovedForgotten,
        Self::SilenceIgnored,
        Self::StaleBytes,
    ];
}

impl Life {
    /// Does the planted bug skip this recipient?
    pub fn skips(&self, to: &str) -> bool {
        self.plant == Some(Plant::RemovedForgotten) && !self.to.iter().any(|one| one == to)
    }

    /// The silences and acknowledgements that the planted bug knows.
    pub fn known_muted(&self) -> Muted {
        let is_deaf = self.plant == Some(Plant::SilenceIgnored);
        let silences = if is_deaf { Vec::new() } else { self.muted.silences.clone() };
        Muted { acks: self.muted.acks.clone(), silences }
    }

    /// Is this mail made and then forgotten?
    pub fn drops(&self, mail: &Handed) -> bool {
        let notice = &mail.notice;
        self.plant == Some(Plant::EndsDropped) && notice.form == Form::Closed && notice.to == BOB
    }

    /// The result of an attempt that the planted bug reports.
    pub fn heard(&mut self, mail: &Handed, attempt: Attempt) -> Attempt {
        match (self.plant, attempt) {
            (Some(Plant::RefusalIsDelivery), Attempt::Deferred) => Attempt::Sent,
            (Some(Plant::LostIsRefusal), Attempt::ReplyLost) => Attempt::Deferred,
            (Some(Plant::StaleBytes), Attempt::ReplyLost) => {
                self.stale.push((self.now, mail.clone()));
                attempt
            }
            _ => attempt,
        }
    }

    /// The content of the store after a kill; `before` is the log before the mail was claimed.
    pub fn killed(&mut self, mail: &Handed, before: Option<Log>, snapshot: &Snapshot) {
        match (self.plant, before) {
            (Some(Plant::LogAfterServer), Some(before)) => self.log = before,
            (Some(Plant::FlightsForgotten), _) => {
                let Self { engine, log, muted, now, .. } = self;
                let facts = Facts::new(engine, snapshot, muted, 60, *now);
                log.settle(&mail.notice.to, mail.lane, &mail.id, Attempt::Sent, &facts);
            }
            _ => {}
        }
    }

    /// Sends the mails that the planted bug kept.
    pub fn resend(&mut self) -> Result<(), Broken> {
        let is_due = |at: DateTime<Utc>| self.now - at >= STALE_AFTER;
        let (due, kept): (Vec<_>, Vec<_>) = self.stale.drain(..).partition(|(at, _)| is_due(*at));
        self.stale = kept;
        for (_, mail) in due {
            self.attempt(&Handed { is_repeated: true, ..mail })?;
        }
        Ok(())
    }
}
