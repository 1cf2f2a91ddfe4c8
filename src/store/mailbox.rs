//! What the outbox knows that decisions rest on: which mails wait, how far each came, and who heard of what.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use rusqlite::{Row, params};

use super::requests::DROPPED;
use super::rows::{Columns as _, stamp};

use super::{Store, StoreError};
use crate::alert::{Back, Event, Heard, Key, Notice, Stage, Waiting};

/// What a mail was made of, and since when it waits.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub notice: Notice,
    pub created_at: DateTime<Utc>,
}

/// What a mail takes the place of.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Overtaking {
    /// For these of its recipients, as bare addresses.
    pub to: BTreeSet<String>,
    /// Message-IDs.
    pub older: BTreeSet<String>,
}

/// A recipient to whom the last news of an incident did not get.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub key: Key,
    /// A bare address.
    pub to: String,
    /// The last mail about it.
    pub message_id: String,
    /// When that one was given up, and those right before it.
    pub given_up: Vec<DateTime<Utc>>,
    /// Another mail got through to the recipient since.
    pub reached: bool,
}

/// By incident and recipient all mails that were not withdrawn, of such with one that was given up: of open incidents,
/// and of others lately.
const REFUSED: &str = "
WITH pairs AS (
  SELECT DISTINCT n.incident, n.episode, e.recipient
  FROM envelopes e JOIN news n USING (message_id)
    JOIN incidents i ON i.key = n.incident AND n.episode = json_extract(i.body, '$.episode')
  WHERE e.state = 'dead' AND NOT e.perhaps AND (e.ended_at > ?1 OR i.phase IN ('firing', 'recovering')))
SELECT p.incident, p.recipient, e.message_id, iif(e.state = 'dead' AND NOT e.perhaps, e.ended_at, NULL),
  EXISTS (SELECT 1 FROM envelopes s WHERE s.recipient = e.recipient AND s.state = 'sent' AND s.ended_at > e.ended_at)
FROM pairs p JOIN news n ON n.incident = p.incident AND n.episode = p.episode
  JOIN envelopes e ON e.message_id = n.message_id AND e.recipient = p.recipient
WHERE e.state <> 'withdrawn' ORDER BY e.id";

impl Store {
    /// Mails that wait, one a recipient, oldest first. Recipients are bare addresses.
    pub(crate) fn waiting(&self) -> Result<Vec<Waiting>, StoreError> {
        let sql = "SELECT e.message_id, e.recipient, e.state, e.perhaps, m.notice IS NOT NULL,
               json_type(m.notice, '$.form.Digest') IS NOT NULL, json_extract(m.notice, '$.form') IS 'Unwatched',
               json_type(m.notice, '$.form.Started') IS NOT NULL,
               (SELECT json_group_array(n.incident) FROM news n WHERE n.message_id = e.message_id)
             FROM envelopes e JOIN messages m USING (message_id)
             WHERE e.state IN ('queued', 'sending') ORDER BY e.id";
        self.all(sql, [], |row| {
            let stage = match (row.text(2)?.as_str(), row.get(3)?) {
                ("sending", _) => Stage::BeingSent,
                (_, true) => Stage::PerhapsArrived,
                (_, false) => Stage::NotArrived,
            };
            Ok(Waiting {
                message_id: row.get(0)?,
                to: row.get(1)?,
                stage,
                can_be_remade: row.get(4)?,
                is_digest: row.get(5)?,
                is_unwatched: row.get(6)?,
                is_first: row.get(7)?,
                incidents: row.json(8)?,
            })
        })
    }

    /// Mails that wait, and were decided while older ones about their incidents were on their way that surely did not arrive.
    /// What one step decided stands side by side.
    pub(crate) fn overtaking(&self) -> Result<BTreeMap<String, Overtaking>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT DISTINCT e.message_id, e.recipient, b.message_id
             FROM envelopes e JOIN messages m USING (message_id) JOIN news n USING (message_id)
               JOIN news o ON o.incident = n.incident
               JOIN envelopes b ON b.message_id = o.message_id AND b.recipient = e.recipient
               JOIN messages older ON older.message_id = b.message_id
             WHERE e.state = 'queued' AND NOT e.perhaps AND m.notice IS NOT NULL
               AND b.id < e.id AND older.created_at < m.created_at
               AND (b.state = 'queued' AND NOT b.perhaps OR b.state = 'dead' AND o.episode = n.episode)",
        )?;
        let mut rows = statement.query([])?;
        let mut overtaking: BTreeMap<String, Overtaking> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let one = overtaking.entry(row.get(0)?).or_default();
            one.to.insert(row.get(1)?);
            one.older.insert(row.get(2)?);
        }
        Ok(overtaking)
    }

    /// Who was mailed about an episode of an incident, and whether any of it may have arrived, or was named in a mail that did
    /// as given up; of an earlier one whose end gave way to this one, too. Recipients are bare addresses.
    pub(crate) fn heard(&self, incident: &Key, episode: u32) -> Result<BTreeMap<String, Heard>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT e.recipient, CASE WHEN e.state IN ('sent', 'sending') OR e.perhaps THEN 2
                 WHEN EXISTS (SELECT 1 FROM named d JOIN envelopes s ON s.message_id = d.named_in
                   WHERE d.message_id = e.message_id AND d.recipient = e.recipient AND s.recipient = e.recipient
                     AND s.state IN ('sent', 'sending')) THEN 2
                 WHEN e.state = 'queued' OR e.expired THEN 1 ELSE 0 END, n.episode, (
                 SELECT json_extract(t.value, '$[1]') FROM json_each(m.told) t
                 WHERE json_extract(t.value, '$[0]') = ?1)
             FROM news n JOIN envelopes e USING (message_id) JOIN messages m USING (message_id)
             WHERE n.incident = ?1 AND n.episode <= ?2 AND (e.state <> 'withdrawn' OR e.perhaps OR e.error = ?3) ORDER BY e.id",
        )?;
        let mut told: BTreeMap<String, Vec<(Heard, u32, Option<String>)>> = BTreeMap::new();
        let mut rows = statement.query(params![incident.to_string(), episode, DROPPED])?;
        while let Some(row) = rows.next()? {
            let heard = match row.get(1)? {
                2 => Heard::Reached,
                1 => Heard::NotYet,
                _ => Heard::Refused,
            };
            told.entry(row.get(0)?).or_default().push((heard, row.get(2)?, row.get(3)?));
        }
        let heard = |told: Vec<(Heard, u32, Option<String>)>| {
            let (now, before): (Vec<_>, Vec<_>) = told.into_iter().partition(|(_, of, _)| *of == episode);
            let goes_on = |event: Option<&str>| {
                event.is_some_and(|text| text.parse().is_ok_and(|event: Event| !event.is_end()))
            };
            let before = before
                .last()
                .filter(|(heard, _, event)| *heard > Heard::Refused && goes_on(event.as_deref()));
            now.iter().chain(before).map(|(heard, ..)| *heard).max()
        };
        Ok(told.into_iter().filter_map(|(to, told)| Some((to, heard(told)?))).collect())
    }

    /// Whom mails about the present episode of each open incident were made for, as bare addresses.
    pub(crate) fn addressed(&self) -> Result<BTreeMap<Key, BTreeSet<String>>, StoreError> {
        let sql = "SELECT DISTINCT n.incident, e.recipient
             FROM incidents i CROSS JOIN news n ON n.incident = i.key AND n.episode = json_extract(i.body, '$.episode')
               JOIN envelopes e USING (message_id)
             WHERE i.phase IN ('firing', 'recovering')";
        let mut addressed: BTreeMap<Key, BTreeSet<String>> = BTreeMap::new();
        for (key, to) in self.all::<_, Vec<_>>(sql, [], |row| Ok((row.parsed(0)?, row.text(1)?)))? {
            addressed.entry(key).or_default().insert(to);
        }
        Ok(addressed)
    }

    /// Recipients whose last mails about an incident, as it is or as it ended since then, were given up.
    pub(crate) fn refused(&self, since: DateTime<Utc>) -> Result<Vec<Refused>, StoreError> {
        let read = |row: &Row<'_>| {
            let given_up = row.moment_if_any(3)?.into_iter().collect();
            let (key, to, message_id) = (row.parsed(0)?, row.text(1)?, row.text(2)?);
            Ok(Refused { key, to, message_id, given_up, reached: row.get(4)? })
        };
        let mut last: BTreeMap<(Key, String), Refused> = BTreeMap::new();
        for mut mail in self.all::<_, Vec<Refused>>(REFUSED, [stamp(since)], read)? {
            let before = last.remove(&(mail.key.clone(), mail.to.clone()));
            if !mail.given_up.is_empty() {
                mail.given_up.extend(before.map(|before| before.given_up).unwrap_or_default());
                last.insert((mail.key.clone(), mail.to.clone()), mail);
            }
        }
        Ok(last.into_values().collect())
    }

    /// Who heard what of an incident that is watched again, in its present episode.
    pub(crate) fn heard_back(&self, incident: &Key, episode: u32) -> Result<Back, StoreError> {
        let left = "e.state IN ('sent', 'sending') OR e.perhaps";
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT coalesce(max(NOT u AND (e.state = 'queued' OR e.expired OR {left})), 0), coalesce(max(u AND ({left})), 0)
             FROM (SELECT n.message_id, EXISTS (SELECT 1 FROM json_each(m.told) t
                 WHERE json_extract(t.value, '$[0]') = ?1 AND json_extract(t.value, '$[1]') = ?3) AS u
               FROM news n JOIN messages m USING (message_id) WHERE n.incident = ?1 AND n.episode = ?2)
               JOIN envelopes e USING (message_id)
             WHERE e.state <> 'withdrawn' OR e.perhaps",
        ))?;
        let unwatched = Event::Unwatched.to_string();
        let back = statement.query_row(params![incident.to_string(), episode, unwatched], |row| {
            Ok(Back { heard: row.get(0)?, heard_unwatched: row.get(1)? })
        })?;
        Ok(back)
    }

    /// What a mail was made of; `None` for one of an older release.
    pub(crate) fn made(&self, message_id: &str) -> Result<Option<Made>, StoreError> {
        let sql = "SELECT notice, created_at FROM messages WHERE message_id = ?1 AND notice IS NOT NULL";
        let mut found: Vec<Made> =
            self.all(sql, [message_id], |row| Ok(Made { notice: row.json(0)?, created_at: row.moment(1)? }))?;
        Ok(found.pop())
    }
}
