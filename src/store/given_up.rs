//! Mails that were given up, and who was told of it. A note counts once a mail that carries it arrived.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::outbox::{Expired, Queue, queue_of};
use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::alert::{Event, Key};
use crate::model::AccountName;

/// A mail to one recipient that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub message_id: String,
    pub recipient: String,
    pub subject: String,
    pub error: String,
    /// Everybody whom the mail was for.
    pub recipients: BTreeSet<String>,
    /// Who was told of it, or will be by a mail that waits.
    pub told: BTreeSet<String>,
    /// The accounts that it was about.
    pub accounts: BTreeSet<AccountName>,
}

impl Store {
    /// Mails that were given up and of which somebody whom they were for was not told yet, oldest first. A mail that is
    /// about to be `withdrawn`, by Message-ID and recipient, tells nobody.
    pub(crate) fn given_up(
        &self,
        withdrawn: &BTreeSet<(String, String)>,
    ) -> Result<Vec<GivenUp>, StoreError> {
        let sql = "SELECT e.message_id, e.recipient, m.subject, coalesce(e.error, ''), m.told,
               coalesce(json_extract(m.notice, '$.accounts'), '[]'),
               (SELECT json_group_array(recipient) FROM envelopes o WHERE o.message_id = e.message_id),
               (SELECT json_group_array(json_array(t.message_id, t.recipient)) FROM named d JOIN envelopes t ON t.message_id = d.named_in
                WHERE d.message_id = e.message_id AND d.recipient = e.recipient
                  AND t.state IN ('queued', 'sending', 'sent'))
             FROM envelopes e JOIN messages m USING (message_id)
                          WHERE e.state = 'dead' AND e.reported = 0 ORDER BY e.id";
        let mut given_up: Vec<GivenUp> = self.all(sql, [], |row| {
            let told_of: Vec<(Key, Event)> = row.json(4)?;
            let accounts: BTreeSet<AccountName> = row.json(5)?;
            let named_in: BTreeSet<(String, String)> = row.json(7)?;
            Ok(GivenUp {
                message_id: row.get(0)?,
                recipient: row.get(1)?,
                subject: row.get(2)?,
                error: row.get(3)?,
                recipients: row.json(6)?,
                told: named_in.difference(withdrawn).map(|(_, to)| to.clone()).collect(),
                accounts: told_of.into_iter().map(|(key, _)| key.account).chain(accounts).collect(),
            })
        })?;
        given_up.retain(|one| !one.recipients.is_subset(&one.told));
        Ok(given_up)
    }

    /// Gives up what waits for webhooks that are no longer in the configuration, and mails where no server is: nothing
    /// carries them.
    pub(crate) fn give_up_others(
        &mut self,
        served: &BTreeSet<Queue>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Expired>, StoreError> {
        let known: Vec<String> = served.iter().map(Queue::parameter).collect();
        let known = serde_json::to_string(&known)?;
        let queue = queue_of();
        let sql = format!(
            "UPDATE envelopes SET state = 'dead', ended_at = ?1, error = CASE {queue} WHEN '' THEN ?2 ELSE ?3 END
             WHERE state = 'queued' AND {queue} NOT IN (SELECT value FROM json_each(?4))
             RETURNING message_id, recipient, error,
                              (SELECT subject FROM messages m WHERE m.message_id = envelopes.message_id)"
        );
        let no_server = "no [email] is in the configuration any more";
        let no_webhook = "no webhook of this name is in the configuration any more";
        self.expired(&sql, params![stamp(now), no_server, no_webhook, known])
    }

    /// Open incidents of which no mail arrived, with those to whom one waits, or for whom it was given up and nothing was
    /// sent since. Recipients are bare addresses.
    pub(crate) fn unheard(&self) -> Result<Vec<(Key, Recipients)>, StoreError> {
        let any = "SELECT EXISTS (SELECT 1 FROM envelopes WHERE state IN ('dead', 'queued'))";
        if !self.connection.query_row(any, [], |row| row.get::<_, bool>(0))? {
            return Ok(Vec::new());
        }
        self.all(UNHEARD, [], |row| {
            let tries: Vec<(String, Option<DateTime<Utc>>)> = row.json(1)?;
            let mut unreached = BTreeMap::<String, Unreached>::new();
            for (recipient, ended_at) in tries {
                let one = unreached.entry(recipient).or_default();
                match ended_at {
                    Some(at) => one.given_up.push(at),
                    None => one.waits = true,
                }
            }
            Ok((row.parsed(0)?, unreached))
        })
    }
}

/// By bare address.
type Recipients = BTreeMap<String, Unreached>;

/// A recipient whom no mail about an incident reached.
#[derive(Debug, Default)]
pub(crate) struct Unreached {
    pub waits: bool,
    /// When each mail was given up.
    pub given_up: Vec<DateTime<Utc>>,
}

/// Open incidents of which no mail can have arrived, with those recipients to whom one waits or nothing was sent since.
pub(super) const UNHEARD: &str = "
SELECT n.incident, json_group_array(json_array(e.recipient, iif(e.state = 'dead', e.ended_at, NULL))) FILTER (WHERE e.state = 'queued' OR NOT EXISTS (
  SELECT 1 FROM envelopes s WHERE s.recipient = e.recipient AND s.state = 'sent' AND s.ended_at > e.ended_at))
FROM incidents i CROSS JOIN news n ON n.incident = i.key AND n.episode = json_extract(i.body, '$.episode')
  JOIN envelopes e USING (message_id)
WHERE i.phase IN ('firing', 'recovering') AND (e.state <> 'withdrawn' OR e.perhaps)
GROUP BY n.incident HAVING min(e.state IN ('dead', 'queued') AND NOT e.perhaps) = 1";

/// Notes which mail names which others.
pub(super) fn name(transaction: &Transaction<'_>, named: &[Named]) -> Result<(), StoreError> {
    for Named { message_id, recipient, named_in } in named {
        transaction.execute(
            "INSERT OR IGNORE INTO named (message_id, recipient, named_in) VALUES (?1, ?2, ?3)",
            params![message_id, recipient, named_in],
        )?;
    }
    Ok(())
}

/// That a mail says of another that it was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub message_id: String,
    pub recipient: String,
    pub named_in: String,
}
