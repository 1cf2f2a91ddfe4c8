//! The notification log as rows: the entries of all recipients, the bytes of mails on their way, the standing
//! of each recipient, and sent mails. One transaction writes all changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::rows::{Columns as _, meta, meta_moment, set_meta, write_rows};
use super::{Store, StoreError, chats, reports, sent, truth};
use crate::alert::{CutOff, Digest, Engine, Incident, Key, Lane, Log};
use crate::failpoint;
pub(crate) use crate::model::mails::Rendered;
use crate::model::{AccountName, LastReport};

/// The tables of the notification log, which replace the outbox of version 7.
pub(super) const TABLES: &str = "
CREATE TABLE cut_offs (account TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
-- What one recipient was told of one incident, as JSON.
CREATE TABLE notification_log (
  key TEXT NOT NULL, recipient TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key, recipient)
) STRICT;
-- Mails that were handed to a server, or are about to be; `body` says what was told before them.
CREATE TABLE in_flight (
  recipient TEXT NOT NULL, lane TEXT NOT NULL, message_id TEXT NOT NULL, sender TEXT NOT NULL, subject TEXT NOT NULL,
  body TEXT NOT NULL, raw BLOB NOT NULL, PRIMARY KEY (recipient, lane)
) STRICT;
-- How mails to a recipient go: holds, pauses, the last hour's mails, the first mail.
CREATE TABLE standings (recipient TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
-- `told`: the event keys of its items, as JSON.
CREATE TABLE sent (
  message_id TEXT NOT NULL, recipient TEXT NOT NULL, subject TEXT NOT NULL, told TEXT NOT NULL,
  created_at TEXT NOT NULL, sent_at TEXT NOT NULL, PRIMARY KEY (message_id, recipient)
) STRICT;
CREATE INDEX sent_by_time ON sent (sent_at);
";

/// The prefix, among the store's single values, of the end of an account's last digest, and these values.
const DIGESTED: &str = "digested_until/";
const DIGESTS: &str = "SELECT substr(key, length(?1) + 1), value FROM meta WHERE key LIKE ?1 || '%'";

/// The bytes of mails on their way, by recipient and lane.
pub(crate) type Flying = BTreeMap<(String, Lane), Arc<Rendered>>;

/// The state that a start finds.
#[derive(Debug)]
pub(crate) struct Restored {
    pub incidents: BTreeMap<Key, Incident>,
    pub cut_offs: BTreeMap<AccountName, CutOff>,
    pub log: Log,
    /// The last time that the daemon watched; `None` for a store that was never used.
    pub watched_until: Option<DateTime<Utc>>,
    /// The end of the last digest of release 0.2, which noted it for all accounts together, otherwise the first start.
    pub digests_from: Option<DateTime<Utc>>,
    /// The end of each account's last digest.
    pub digests: BTreeMap<AccountName, DateTime<Utc>>,
}

impl Store {
    /// Writes all changes in one transaction, and that the daemon watched until now. Each mail that is on its way
    /// from now on needs its bytes in `mails`. `reports` were read since the last call.
    ///
    /// # Errors
    /// If the store cannot be written, or a mail has no bytes. Then nothing is written.
    pub(crate) fn save(
        &mut self,
        engine: &Engine,
        log: &Log,
        mails: &Flying,
        reports: &[(AccountName, LastReport)],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        // A transaction that reads first could not wait for a command that writes meanwhile.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        write(&transaction, engine, log, mails, now)?;
        reports::write(&transaction, reports)?;
        if log.is_started() && meta(&transaction, "started")?.is_none() {
            set_meta(&transaction, "started", &now.to_rfc3339())?;
        }
        set_meta(&transaction, "watched_until", &now.to_rfc3339())?;
        failpoint::reach("committing");
        Ok(transaction.commit()?)
    }

    /// Everything that the daemon continues from.
    pub(crate) fn restore(&self) -> Result<Restored, StoreError> {
        let entries = self.all("SELECT key, recipient, body FROM notification_log", [], |row| {
            Ok(((row.parsed(0)?, row.text(1)?), row.json(2)?))
        })?;
        let flights = self.all("SELECT recipient, lane, body FROM in_flight", [], |row| {
            Ok(((row.text(0)?, row.parsed(1)?), row.json(2)?))
        })?;
        let addressees =
            self.all("SELECT recipient, body FROM standings", [], |row| Ok((row.text(0)?, row.json(1)?)))?;
        let started = meta_moment(&self.connection, "started")?;
        Ok(Restored {
            incidents: self
                .all("SELECT key, body FROM incidents", [], |row| Ok((row.parsed(0)?, row.json(1)?)))?,
            cut_offs: self
                .all("SELECT account, body FROM cut_offs", [], |row| Ok((row.parsed(0)?, row.json(1)?)))?,
            log: Log::of(entries, flights, addressees, started.is_some()),
            watched_until: meta_moment(&self.connection, "watched_until")?,
            digests_from: meta_moment(&self.connection, "digested_until")?.or(started),
            digests: self.all(DIGESTS, [DIGESTED], |row| Ok((row.parsed(0)?, row.moment(1)?)))?,
        })
    }

    /// The bytes of the mail to a recipient that is on its way.
    pub(crate) fn rendered(&self, to: &str, lane: Lane) -> Result<Option<Rendered>, StoreError> {
        let lane: &str = lane.into();
        let sql = "SELECT message_id, sender, subject, raw FROM in_flight WHERE recipient = ?1 AND lane = ?2";
        let read = |row: &rusqlite::Row<'_>| {
            let (message_id, sender, subject, raw) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(Rendered { message_id, sender, subject, raw })
        };
        Ok(self.connection.query_row(sql, [to, lane], read).optional()?)
    }
}

/// Writes what changed since the last commit.
fn write(
    transaction: &Transaction<'_>,
    engine: &Engine,
    log: &Log,
    mails: &Flying,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    truth::write(transaction, engine, now)?;
    let entries = log.entries.unsaved().map(|((key, to), entry)| ([key.to_string(), to.clone()], entry));
    write_rows(transaction, "notification_log", ["key", "recipient"], entries)?;
    // A mail that arrived moves from one table to the other.
    sent::write(transaction, &log.tidings.arrived)?;
    write_flights(transaction, log, mails, now)?;
    let addressees = log.addressees.unsaved().map(|(to, one)| ([to.clone()], one));
    write_rows(transaction, "standings", ["recipient"], addressees)?;
    let mut digests = log.addressees.unsaved().filter_map(|(_, one)| one?.digest.as_ref());
    Ok(digests.try_for_each(|digest| set_digested(transaction, digest))?)
}

fn write_flights(
    transaction: &Transaction<'_>,
    log: &Log,
    mails: &Flying,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO in_flight (recipient, lane, message_id, sender, subject, body, raw)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut change = transaction.prepare_cached(
        "UPDATE in_flight SET body = ?4 WHERE recipient = ?1 AND lane = ?2 AND message_id = ?3",
    )?;
    let mut forget =
        transaction.prepare_cached("DELETE FROM in_flight WHERE recipient = ?1 AND lane = ?2")?;
    for (place @ (to, lane), flight) in log.flights.unsaved() {
        let lane: &str = lane.into();
        let Some(flight) = flight else {
            forget.execute([to.as_str(), lane])?;
            continue;
        };
        let (id, body) = (&flight.id, serde_json::to_string(flight)?);
        match mails.get(place).filter(|mail| mail.message_id == *id).map(|mail| &**mail) {
            Some(Rendered { sender, subject, raw, .. }) => {
                put.execute(params![to, lane, id, sender, subject, body, raw])?;
                chats::begin(transaction, to, lane, flight, raw, now)?;
            }
            None if change.execute(params![to, lane, id, body])? == 0 => {
                return Err(StoreError::NoBytes { message_id: id.clone(), recipient: to.clone() });
            }
            None => {}
        }
    }
    Ok(())
}

/// Notes that the next digest of these accounts begins at the end of this one.
fn set_digested(transaction: &Transaction<'_>, digest: &Digest) -> rusqlite::Result<()> {
    let until = digest.to.to_rfc3339();
    let mut keys = digest.accounts.iter().map(|account| format!("{DIGESTED}{account}"));
    keys.try_for_each(|key| set_meta(transaction, &key, &until))
}
