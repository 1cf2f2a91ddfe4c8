//! Upgrades a store of release 0.2 (version 7) to the notification log (version 8). An open incident stays open
//! with its episode. Recipients that were told of a beginning are noted as such. A waiting mail becomes debts.
//! A mail that was being sent, or whose reply was lost, keeps its bytes. So no event is told twice, and every
//! beginning that was told gets its end.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use self::notified::Notifications;
use self::old::{OldMail, OldStore};
use self::truth::Written;
use super::log::{self, Rendered};
use super::rows::{meta, stamp};
use super::{StoreError, chats, schema};
use crate::alert::{Changes, Incident, Kind, Title};

mod collectors;
mod incident;
mod money;
mod notified;
mod old;
mod telling;
mod told;
mod truth;

/// Sent mails stay. The rest of the outbox became the notification log. Incidents are written again.
const REPLACE: &str = "
INSERT INTO sent (message_id, recipient, subject, told, created_at, sent_at)
  SELECT m.message_id, e.recipient, m.subject, (SELECT json_group_array(n.incident || '#' || n.episode || '#')
    FROM news n WHERE n.message_id = m.message_id), m.created_at, e.ended_at
  FROM envelopes e JOIN messages m USING (message_id) WHERE e.state = 'sent' AND e.ended_at IS NOT NULL ORDER BY e.id;
DELETE FROM incidents;
DELETE FROM episodes WHERE ended_at IS NULL AND key LIKE '%/unknown_state/%';
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
    let old = old::read(&transaction)?;
    let incidents = truth::incidents(&old);
    let cut_offs = truth::cut_offs(&old, now)?;
    let is_started = meta(&transaction, "started")?.is_some();
    let (log, mails) = Notifications::new(&old, &incidents, now).log(is_started);
    transaction.execute_batch(log::TABLES)?;
    transaction.execute_batch(chats::TABLE)?;
    transaction.execute_batch(REPLACE)?;
    write_incidents(&transaction, incidents.values())?;
    join_collectors(&transaction, &old, incidents.values())?;
    let addressees = log.addressees.iter().map(|(to, one)| (to.as_str(), Some(one)));
    let changes = Changes {
        incidents: Vec::new(),
        cut_offs: cut_offs.iter().map(|(account, one)| (account, Some(one))).collect(),
        known: Vec::new(),
        entries: log.entries.iter().map(|((key, to), one)| (key, to.as_str(), Some(one))).collect(),
        flights: log.flights.iter().map(|((to, lane), one)| (to.as_str(), *lane, Some(one))).collect(),
        addressees: addressees.collect(),
        arrived: &[],
        is_started,
    };
    let mails: Vec<Rendered> = mails.into_iter().map(rendered).collect();
    log::write(&transaction, &changes, &mails, now)?;
    transaction.pragma_update(None, "user_version", schema::NEWEST)?;
    transaction.commit()?;
    Ok(())
}

fn rendered(mail: &OldMail) -> Rendered {
    Rendered {
        message_id: mail.id.clone(),
        sender: mail.sender.clone(),
        subject: mail.subject.clone(),
        raw: mail.raw.clone(),
    }
}

/// Writes the incidents. Their history and reasons stay as they are.
fn write_incidents<'a>(
    transaction: &Transaction<'_>,
    incidents: impl Iterator<Item = &'a Written>,
) -> Result<(), StoreError> {
    let mut put = transaction.prepare(
        "INSERT INTO incidents (key, phase, severity, updated_at, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (incident, updated_at) in incidents {
        let Incident { key, phase, severity, .. } = incident;
        let body = serde_json::to_string(incident)?;
        put.execute(params![key.to_string(), phase.as_str(), severity.as_str(), updated_at, body])?;
    }
    Ok(())
}

/// Joins the open episodes of failing collectors in the history. An acknowledgement of one counts for the
/// joined one.
fn join_collectors<'a>(
    transaction: &Transaction<'_>,
    old: &OldStore,
    incidents: impl Iterator<Item = &'a Written>,
) -> Result<(), StoreError> {
    let of_collectors = incidents.map(|(one, _)| one).filter(|one| one.key.kind == Kind::CollectorFailing);
    for incident in of_collectors.filter(|one| one.phase.is_open()) {
        let (now, severity) = (incident.key.to_string(), incident.severity.as_str());
        for one in collectors::of_account(old, &incident.key.account) {
            let (before, episode) = (one.key.to_string(), one.episode);
            transaction.execute("DELETE FROM episodes WHERE key = ?1 AND ended_at IS NULL", [&before])?;
            transaction.execute(
                "INSERT OR IGNORE INTO acks (key, episode, created_at, comment)
                 SELECT ?1, ?2, created_at, comment FROM acks WHERE key = ?3 AND episode = ?4",
                params![now, incident.episode, before, episode],
            )?;
            transaction.execute("DELETE FROM acks WHERE key = ?1", [&before])?;
        }
        let title = Title { subject: incident.subject.clone(), wrong: incident.wrong() };
        transaction.execute(
            "INSERT OR REPLACE INTO episodes (key, episode, since, ended_at, severity, title)
             VALUES (?1, ?2, ?3, NULL, ?4, ?5)",
            params![now, incident.episode, stamp(incident.since), severity, title.stored()],
        )?;
    }
    Ok(())
}
