//! The rows of a store of release 0.2 (version 7) that are still needed, read as they were written.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::Value;

use super::super::StoreError;
use super::super::rows::Columns as _;
use crate::alert::{CalendarEntry, Event, Key, Kind, Severity, Target};

/// All needed rows.
pub(super) struct OldStore {
    pub incidents: BTreeMap<Key, OldIncident>,
    /// One a recipient, in the order in which they were made.
    pub mails: Vec<OldMail>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OldPhase {
    Watching,
    Pending,
    Firing,
    Recovering,
    Resolved,
    Unwatched,
}

impl OldPhase {
    pub(super) const fn is_open(self) -> bool {
        matches!(self, Self::Firing | Self::Recovering)
    }
}

#[derive(Clone, Deserialize)]
pub(super) struct OldIncident {
    pub key: Key,
    /// Counts suspicions, not openings.
    pub episode: u32,
    #[serde(default)]
    pub arming: u32,
    pub phase: OldPhase,
    pub severity: Severity,
    pub subject: String,
    pub problem: String,
    pub detail: String,
    #[serde(default)]
    reason: Value,
    pub since: DateTime<Utc>,
    pub held_since: DateTime<Utc>,
    pub held: String,
    pub last_observed: DateTime<Utc>,
    pub last_change: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    pub streak: u32,
    /// It was known at the first start.
    #[serde(default)]
    pub pre_existing: bool,
    /// The incident whose mail covers this one.
    #[serde(default)]
    pub folded_into: Option<Key>,
    #[serde(default)]
    pub last_mailed: Option<DateTime<Utc>>,
    #[serde(default)]
    pub threads: BTreeMap<String, String>,
    #[serde(default)]
    pub changes: Vec<DateTime<Utc>>,
    #[serde(default)]
    pub flapping: bool,
    #[serde(default)]
    pub ladder: Option<Value>,
    #[serde(default)]
    pub calendar: Option<CalendarEntry>,
    /// A follow-up mail of its cause listed it.
    #[serde(default)]
    pub followed_up: bool,
    /// The time at which its row was written.
    #[serde(skip)]
    pub updated_at: String,
}

impl OldIncident {
    /// The reason for its last change, as this release reads it.
    pub(super) fn cause(&self) -> Option<crate::alert::Cause> {
        serde_json::from_value(self.reason.get("cause")?.clone()).ok()
    }

    pub(super) fn ladder(&self) -> OldLadder {
        let ladder = self.ladder.clone().map(serde_json::from_value);
        ladder.and_then(Result::ok).unwrap_or_default()
    }
}

/// The mails about a cut-off.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OldLadder {
    pub rung: Option<u32>,
    pub told: Option<DateTime<Utc>>,
    pub told_before: Option<DateTime<Utc>>,
    pub paid: bool,
    pub used_up_told: bool,
    pub overdue: Option<OldOverdue>,
    pub mailed: OldMailed,
}

#[derive(Deserialize)]
pub(super) struct OldOverdue {
    pub told_at: DateTime<Utc>,
    #[serde(default)]
    pub deletions: Vec<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OldMailed {
    pub rungs: BTreeMap<u32, DateTime<Utc>>,
    pub extended: Option<DateTime<Utc>>,
    pub paid: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    pub earlier: Vec<(DateTime<Utc>, DateTime<Utc>)>,
}

/// The state of a mail to one recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Arrived,
    /// It was being sent, or its reply was lost and it is sent again: its bytes count.
    OnItsWay,
    /// Its reply was lost, and it is not sent again.
    Perhaps,
    Waits,
    Refused,
    /// Somebody dropped it by hand.
    Dropped,
}

pub(super) struct OldMail {
    pub id: String,
    /// A bare address, or the name of a webhook.
    pub to: String,
    pub fate: Fate,
    pub made_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub sender: String,
    pub subject: String,
    pub lane: OldLane,
    /// The bytes of a mail on its way.
    pub raw: Vec<u8>,
    pub items: Vec<OldItem>,
    pub is_first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OldLane {
    Disconnect,
    Normal,
    Digest,
}

/// A line of a mail, about one incident.
#[derive(Clone)]
pub(super) struct OldItem {
    pub key: Key,
    pub event: Event,
    pub episode: u32,
    /// The beginning of that episode, if the mail still has it.
    pub since: Option<DateTime<Utc>>,
}

/// A recipient as the notification log names it: a bare address with its domain in lower case.
pub(super) fn recipient(mailbox: &str) -> String {
    let bare = mailbox.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>')).unwrap_or(mailbox);
    match bare.rsplit_once('@') {
        Some((local, domain)) => format!("{local}@{}", domain.to_lowercase()),
        None => bare.to_owned(),
    }
}

/// Whether the incident is about one collector. All collectors of an account are one incident now.
pub(super) fn is_of_collector(key: &Key) -> bool {
    key.kind == Kind::CollectorFailing && key.resource != Target::Account
}

pub(super) fn read(connection: &Connection) -> Result<OldStore, StoreError> {
    let mut mails = mails(connection)?;
    mails.extend(held(connection)?);
    Ok(OldStore { incidents: incidents(connection)?, mails })
}

fn incidents(connection: &Connection) -> Result<BTreeMap<Key, OldIncident>, StoreError> {
    let mut statement = connection.prepare("SELECT body, updated_at FROM incidents")?;
    let rows = statement.query_and_then([], |row| {
        let incident: OldIncident = row.json(0)?;
        Ok((incident.key.clone(), OldIncident { updated_at: row.text(1)?, ..incident }))
    })?;
    rows.collect()
}

/// The error of a mail that was dropped by hand.
const DROPPED: &str = "dropped by hand";

/// Reads the mails. A mail that was given up counts as arrived once a mail that names it arrived. A withdrawn
/// mail told nobody anything.
const MAILS: &str = "
SELECT m.message_id, e.recipient, e.perhaps, e.state, e.ended_at, m.created_at, m.sender, m.subject, m.lane, m.told,
  CASE WHEN e.state IN ('queued', 'sending') THEN m.raw ELSE x'' END, m.notice,
  (SELECT json_group_object(n.incident, n.episode) FROM news n WHERE n.message_id = m.message_id),
  EXISTS (SELECT 1 FROM told t WHERE t.message_id = m.message_id AND t.event_key = 'started'),
  e.error IS ?1,
  EXISTS (SELECT 1 FROM named d JOIN envelopes s ON s.message_id = d.named_in AND s.recipient = e.recipient
    WHERE d.message_id = e.message_id AND d.recipient = e.recipient AND s.state IN ('sent', 'sending'))
FROM envelopes e JOIN messages m USING (message_id) WHERE e.state <> 'withdrawn' OR e.perhaps OR e.error IS ?1 ORDER BY e.id";

fn mails(connection: &Connection) -> Result<Vec<OldMail>, StoreError> {
    let mut statement = connection.prepare(MAILS)?;
    let rows = statement.query_and_then([DROPPED], |row| {
        let (perhaps, is_dropped, is_named): (bool, bool, bool) = (row.get(2)?, row.get(14)?, row.get(15)?);
        let fate = match row.text(3)?.as_str() {
            "sent" => Fate::Arrived,
            "sending" => Fate::OnItsWay,
            "queued" if perhaps => Fate::OnItsWay,
            "queued" => Fate::Waits,
            "dead" if is_named => Fate::Arrived,
            "withdrawn" if is_dropped => Fate::Dropped,
            _ if perhaps => Fate::Perhaps,
            _ => Fate::Refused,
        };
        let lane = match row.get(8)? {
            0 => OldLane::Disconnect,
            2 => OldLane::Digest,
            _ => OldLane::Normal,
        };
        let notice: Option<String> = row.get(11)?;
        let notice: Value = serde_json::from_str(notice.as_deref().unwrap_or("{}"))?;
        let episodes: BTreeMap<String, u32> = row.json(12)?;
        let told: Vec<(Key, String)> = row.json(9)?;
        let told = told.into_iter().map(|(key, text)| Ok((key, event(&text)?)));
        let told = told.collect::<Result<Vec<_>, StoreError>>()?;
        let item = |(key, event): (Key, Option<Event>)| {
            let episode = episodes.get(&key.to_string()).copied().unwrap_or_default();
            let since = since(&notice, &key);
            Some(OldItem { key, event: event?, episode, since })
        };
        Ok(OldMail {
            id: row.text(0)?,
            to: recipient(&row.text(1)?),
            fate,
            made_at: row.moment(5)?,
            ended_at: row.moment_if_any(4)?,
            sender: row.text(6)?,
            subject: row.text(7)?,
            lane,
            raw: row.get(10)?,
            items: if lane == OldLane::Digest {
                Vec::new()
            } else {
                told.into_iter().filter_map(item).collect()
            },
            is_first: row.get::<_, bool>(13)? || notice.pointer("/form/Started").is_some(),
        })
    })?;
    rows.collect()
}

/// An event of release 0.2. This release sends no mail of what else follows from an incident, and a flapping one is
/// open.
fn event(text: &str) -> Result<Option<Event>, StoreError> {
    match text {
        "flapping" => Ok(Some(Event::Opened)),
        text if text.starts_with("covered:") => Ok(None),
        text => text.parse().map(Some).map_err(|_| StoreError::Content(format!("{text:?} is no event"))),
    }
}

/// The beginning of the episode in a waiting mail.
fn since(notice: &Value, key: &Key) -> Option<DateTime<Utc>> {
    let key = key.to_string();
    let items = notice.get("items")?.as_array()?;
    let item = items.iter().find(|item| item.get("key").and_then(Value::as_str) == Some(key.as_str()))?;
    item.get("since")?.as_str()?.parse().ok()
}

#[derive(Deserialize)]
struct HeldItem {
    key: Key,
    event: String,
    episode: u32,
    since: DateTime<Utc>,
}

/// Events that the hourly limit holds back, as mails that wait.
fn held(connection: &Connection) -> Result<Vec<OldMail>, StoreError> {
    let mut statement = connection.prepare("SELECT held_at, recipients, items FROM held ORDER BY id")?;
    let rows = statement.query_and_then([], |row| {
        let (at, to, items): (_, Vec<String>, Vec<HeldItem>) = (row.moment(0)?, row.json(1)?, row.json(2)?);
        let item = |HeldItem { key, event: text, episode, since }| {
            Ok(event(&text)?.map(|event| OldItem { key, event, episode, since: Some(since) }))
        };
        let items: Vec<OldItem> =
            items.into_iter().filter_map(|one| item(one).transpose()).collect::<Result<_, StoreError>>()?;
        let mails = to.iter().map(move |to| OldMail {
            id: String::new(),
            to: recipient(to),
            fate: Fate::Waits,
            made_at: at,
            ended_at: None,
            sender: String::new(),
            subject: String::new(),
            lane: OldLane::Normal,
            raw: Vec::new(),
            items: items.clone(),
            is_first: false,
        });
        Ok::<Vec<OldMail>, StoreError>(mails.collect())
    })?;
    Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}
