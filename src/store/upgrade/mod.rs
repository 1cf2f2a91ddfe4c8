//! Upgrades a store of release 0.2 (version 7) to the notification log (version 8). An open incident stays open
//! with its episode. Recipients that were told of a beginning are noted as such. A mail that may not have arrived
//! becomes debts. So nothing that surely arrived is told twice, and every beginning that was told gets its end.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, TransactionBehavior};

use super::rows::write_rows;
use super::{StoreError, chats, log, schema};

mod incident;
mod old;
mod told;
mod truth;

/// Sent mails stay. The rest of the outbox became the notification log. Incidents are written again.
const REPLACE: &str = "
INSERT INTO sent (message_id, recipient, subject, told, created_at, sent_at)
  SELECT m.message_id, e.recipient, m.subject, (SELECT json_group_array(n.incident || '#' || n.episode || '#')
    FROM news n WHERE n.message_id = m.message_id), m.created_at, e.ended_at
  FROM envelopes e JOIN messages m USING (message_id) WHERE e.state = 'sent' AND e.ended_at IS NOT NULL ORDER BY e.id;
DROP TABLE incidents;
CREATE TABLE incidents (key TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
DELETE FROM episodes WHERE ended_at IS NULL AND (key LIKE '%/unknown_state/%' OR key LIKE '%/collector_failing/%');
-- Nothing but why no mail went out; and reasons that no longer have a sentence.
DELETE FROM decisions WHERE reason LIKE '{%' AND (json_extract(reason, '$.cause') IS NULL OR json_extract(reason, '$.cause')
  IN ('hourly_limit', 'new_recipient', 'not_delivered', 'silence_ended', 'unexplained')
  OR json_type(reason, '$.cause.escalated') IS NOT NULL OR json_type(reason, '$.cause.covers_more') IS NOT NULL);
DROP TABLE envelopes; DROP TABLE news; DROP TABLE named; DROP TABLE told; DROP TABLE held; DROP TABLE messages;
DROP TABLE gaps; DROP TABLE tallies;
";

/// Upgrades a store of version 7 in one transaction.
pub(super) fn upgrade(connection: &mut Connection, now: DateTime<Utc>) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let old = old::incidents(&transaction)?;
    let incidents = truth::incidents(&old);
    let cut_offs = truth::cut_offs(&old, now)?;
    let entries = told::entries(&transaction, &old, &incidents, now)?;
    transaction.execute_batch(log::TABLES)?;
    transaction.execute_batch(chats::TABLE)?;
    transaction.execute_batch(REPLACE)?;
    // Their history and reasons stay as they are.
    let incidents = incidents.iter().map(|(key, one)| ([key.to_string()], Some(one)));
    write_rows(&transaction, "incidents", ["key"], incidents)?;
    let cut_offs = cut_offs.iter().map(|(account, one)| ([account.to_string()], Some(one)));
    write_rows(&transaction, "cut_offs", ["account"], cut_offs)?;
    let entries = entries.iter().map(|((key, to), one)| ([key.to_string(), to.clone()], Some(one)));
    write_rows(&transaction, "notification_log", ["key", "recipient"], entries)?;
    transaction.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", schema::NEWEST)?;
    transaction.commit()?;
    Ok(())
}
