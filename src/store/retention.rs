//! What is kept for how long. The store of years stays small; nothing that is still needed goes.

use chrono::{DateTime, Duration, Utc};

use super::rows::stamp;
use super::{Store, StoreError};

/// Mails that were sent, dropped or given up, but for those about what is still open: whoever heard of it hears its
/// end. And reasons.
const KEEP_DAYS: i64 = 90;
/// Incidents that are over, with the record of what was mailed of them.
const KEEP_INCIDENTS_DAYS: i64 = 400;

impl Store {
    /// Forgets what is past keeping; how many rows.
    pub(crate) fn prune(&mut self, now: DateTime<Utc>) -> Result<usize, StoreError> {
        let before = stamp(now - Duration::days(KEEP_DAYS));
        let transaction = self.connection.transaction()?;
        let mut gone = transaction.execute(
            "DELETE FROM envelopes WHERE message_id IN (
               SELECT m.message_id FROM messages m WHERE m.created_at < ?1 AND NOT EXISTS (
                 SELECT 1 FROM envelopes e WHERE e.message_id = m.message_id
                 AND (e.state IN ('queued', 'sending') OR (e.state = 'dead' AND e.reported = 0 AND NOT EXISTS (
                   SELECT 1 FROM named d WHERE d.message_id = e.message_id AND d.recipient = e.recipient))))
               AND NOT EXISTS (
                 SELECT 1 FROM news n JOIN incidents i ON i.key = n.incident AND i.phase IN ('firing', 'recovering')
                 WHERE n.message_id = m.message_id))",
            [&before],
        )?;
        gone += transaction.execute(
            "DELETE FROM messages WHERE created_at < ?1 AND NOT EXISTS (
               SELECT 1 FROM envelopes e WHERE e.message_id = messages.message_id)",
            [&before],
        )?;
        gone += transaction
            .execute("DELETE FROM news WHERE message_id NOT IN (SELECT message_id FROM messages)", [])?;
        // The last reason of each incident stays: it is why things are as they are.
        gone += transaction.execute(
            "DELETE FROM decisions WHERE decided_at < ?1
               AND id NOT IN (SELECT max(id) FROM decisions GROUP BY key)",
            [&before],
        )?;
        gone += transaction.execute("DELETE FROM silences WHERE until < ?1", [&before])?;
        gone += transaction.execute("DELETE FROM tallies WHERE day < ?1", [&before])?;
        let long_ago = stamp(now - Duration::days(KEEP_INCIDENTS_DAYS));
        let over = "SELECT key FROM incidents WHERE phase IN ('resolved', 'unwatched') AND updated_at < ?1";
        // Episodes count anew once an incident is forgotten: so must what was mailed of them.
        for sql in [
            format!("DELETE FROM told WHERE substr(event_key, 1, instr(event_key, '#') - 1) IN ({over})"),
            format!("DELETE FROM decisions WHERE key IN ({over})"),
            format!("DELETE FROM episodes WHERE ended_at < ?1 OR key IN ({over})"),
            "DELETE FROM gaps WHERE until < ?1".to_owned(),
            format!("DELETE FROM acks WHERE key IN ({over})"),
            "DELETE FROM incidents WHERE phase IN ('resolved', 'unwatched') AND updated_at < ?1".to_owned(),
        ] {
            gone += transaction.execute(&sql, [&long_ago])?;
        }
        gone += transaction.execute("DELETE FROM reports WHERE read_at < ?1", [&long_ago])?;
        transaction.commit()?;
        Ok(gone)
    }
}
