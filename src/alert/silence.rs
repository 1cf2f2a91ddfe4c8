//! People's decisions about incidents: acknowledgements and silences. They change which mails go out, and not
//! what is wrong. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::cut_off::CutOff;
use super::incident::Incident;
use super::key::Key;
use super::kind::Kind;
use super::settings::AlertSettings;
use crate::model::pattern::matches_pattern;

/// All decisions of people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Muted {
    pub acks: BTreeMap<Key, Ack>,
    pub silences: Vec<Silence>,
}

/// Somebody works on this episode: there are no reminders, but its end is mailed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub episode: u32,
    pub at: DateTime<Utc>,
    pub comment: String,
}

/// Holds back mails about matching incidents until a time. Incidents that are still wrong then are mailed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub id: i64,
    /// With a slash it is a pattern of keys; without, a pattern of names, or a resource's id.
    pub pattern: String,
    pub at: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub comment: String,
}

/// People's decisions about one incident.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decided {
    pub acknowledged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<DateTime<Utc>>,
    /// The end of the silence that it is under.
    pub silenced_until: Option<DateTime<Utc>>,
    /// The comment of the acknowledgement or the silence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Decided {
    /// Whether the incident is acknowledged or silenced.
    pub(crate) fn is_looked_after(&self) -> bool {
        self.acknowledged || self.silenced_until.is_some()
    }
}

/// An acknowledgement of an overdue account ends after this time.
const OVERDUE_ACK: Duration = Duration::days(3);

impl Silence {
    /// Whether it matches this incident. A cut-off matches only if the pattern names that kind: a silence of
    /// everything during maintenance must not hide the date.
    pub(crate) fn covers(&self, key: &Key, name: &str) -> bool {
        if key.kind == Kind::Disconnect && self.pattern.split('/').nth(1) != Some(Kind::Disconnect.as_str()) {
            return false;
        }
        if self.pattern.contains('/') {
            return matches_pattern(&self.pattern, &key.to_string());
        }
        matches_pattern(&self.pattern, name) || matches_pattern(&self.pattern, &key.resource.to_string())
    }

    /// Whether it is still on.
    pub(crate) fn is_on(&self, now: DateTime<Utc>) -> bool {
        now < self.until
    }
}

impl Muted {
    /// The silence that covers an incident now; of several the one that lasts longest.
    pub(crate) fn silence(&self, incident: &Incident, now: DateTime<Utc>) -> Option<&Silence> {
        let on = self.silences.iter().filter(|silence| silence.is_on(now));
        on.filter(|silence| silence.covers(&incident.key, incident.name()))
            .max_by_key(|silence| silence.until)
    }

    /// The acknowledgement of this episode, unless it has ended. For a cut-off it ends at the next rung, for an
    /// overdue account after three days.
    pub(crate) fn ack(
        &self,
        incident: &Incident,
        cut_off: Option<(&CutOff, &AlertSettings)>,
        now: DateTime<Utc>,
    ) -> Option<&Ack> {
        let has_ended = |ack: &Ack| {
            cut_off.is_some_and(|(cut_off, settings)| {
                let (then, now_on) = (cut_off.rung(settings, ack.at), cut_off.rung(settings, now));
                let is_tighter = now_on.is_some_and(|rung| then.is_none_or(|then| rung < then));
                is_tighter || (now_on == Some(0) && now - ack.at >= OVERDUE_ACK)
            })
        };
        self.acks.get(&incident.key).filter(|ack| ack.episode == incident.episode && !has_ended(ack))
    }

    /// People's decisions about an incident.
    pub(crate) fn decided(&self, incident: &Incident, ack: Option<&Ack>, now: DateTime<Utc>) -> Decided {
        let silence = self.silence(incident, now);
        let note = ack.map(|ack| &ack.comment).or(silence.map(|silence| &silence.comment));
        Decided {
            acknowledged: ack.is_some(),
            acknowledged_at: ack.map(|ack| ack.at),
            silenced_until: silence.map(|silence| silence.until),
            note: note.filter(|note| !note.is_empty()).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silence(pattern: &str) -> Silence {
        let at = DateTime::UNIX_EPOCH;
        let until = at + chrono::Duration::hours(2);
        Silence { id: 1, pattern: pattern.to_owned(), at, until, comment: String::new() }
    }

    #[test]
    fn patterns_cover_keys_names_and_ids() {
        let table = [
            ("*", "vm_error", true),
            ("*/*/*", "vm_error", true),
            ("main/vm_*/7", "vm_error", true),
            ("other/*", "vm_error", false),
            ("db-?", "vm_error", true),
            ("7", "vm_error", true),
            ("8", "vm_error", false),
            ("*", "disconnect", false),
            ("main/*", "disconnect", false),
            ("main/disconnect/*", "disconnect", true),
            ("*/disconnect/*", "disconnect", true),
        ];
        for (pattern, kind, want) in table {
            let kind: Kind = kind.parse().unwrap();
            let key = Key::new(&"main".parse().unwrap(), kind, 7);
            assert_eq!(silence(pattern).covers(&key, "db-1"), want, "{pattern} {kind}");
        }
    }
}
