//! How long rows are kept. A store stays small for years, and rows that are still needed stay.

use chrono::{DateTime, Duration, Utc};

use super::rows::stamp;
use super::{Store, StoreError};

/// Sent mails and reasons.
const KEEP_DAYS: i64 = 90;
/// Ended incidents and their history.
pub(crate) const KEEP_INCIDENTS: Duration = Duration::days(400);

impl Store {
    /// Deletes old rows. Returns their number.
    pub(crate) fn prune(&mut self, now: DateTime<Utc>) -> Result<usize, StoreError> {
        let before = stamp(now - Duration::days(KEEP_DAYS));
        let transaction = self.connection.transaction()?;
        let mut gone = transaction.execute("DELETE FROM sent WHERE sent_at < ?1", [&before])?;
        gone += transaction.execute(
            "DELETE FROM decisions WHERE decided_at < ?1
               AND id NOT IN (SELECT max(id) FROM decisions GROUP BY key)",
            [&before],
        )?;
        gone += transaction.execute("DELETE FROM silences WHERE until < ?1", [&before])?;
        gone += transaction.execute("DELETE FROM chat_messages WHERE created_at < ?1", [&before])?;
        let long_ago = stamp(now - KEEP_INCIDENTS);
        // The engine forgets incidents that ended this long ago, and the store forgets with it.
        let forgotten = "key NOT IN (SELECT key FROM incidents)";
        for (sql, before) in [
            (format!("DELETE FROM decisions WHERE decided_at < ?1 AND {forgotten}"), &before),
            ("DELETE FROM episodes WHERE ended_at < ?1".to_owned(), &long_ago),
            (format!("DELETE FROM acks WHERE created_at < ?1 AND {forgotten}"), &before),
        ] {
            gone += transaction.execute(&sql, [before])?;
        }
        gone += transaction.execute("DELETE FROM reports WHERE read_at < ?1", [&long_ago])?;
        transaction.commit()?;
        Ok(gone)
    }
}
