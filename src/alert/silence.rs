//! What people decided about incidents: acknowledged, silenced. Neither changes what is wrong; they
//! change what is mailed. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::incident::Incident;
use super::key::Key;
use super::kind::Kind;
use super::reason::{Silenced, words_of};
use crate::model::pattern::matches_pattern;

/// Everything people decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Muted {
    pub acks: BTreeMap<Key, Ack>,
    pub silences: Vec<Silence>,
}

/// Somebody works on this episode: no reminders, but its end is mailed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub episode: u32,
    pub at: DateTime<Utc>,
    pub comment: String,
}

/// No mail about what matches, until then; what is still wrong at its end is mailed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub id: i64,
    /// With a slash: a pattern of keys. Without: of names, or a resource's id.
    pub pattern: String,
    pub at: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub comment: String,
}

impl Silence {
    /// Does it match this incident? A disconnect only where the pattern names that kind: a
    /// silence of everything during maintenance must not hide the date.
    pub(crate) fn covers(&self, key: &Key, name: &str) -> bool {
        if key.kind == Kind::Disconnect && self.pattern.split('/').nth(1) != Some(Kind::Disconnect.as_str()) {
            return false;
        }
        if self.pattern.contains('/') {
            return matches_pattern(&self.pattern, &key.to_string());
        }
        matches_pattern(&self.pattern, name) || matches_pattern(&self.pattern, &key.resource.to_string())
    }

    /// Is it still on?
    pub(crate) fn is_on(&self, now: DateTime<Utc>) -> bool {
        now < self.until
    }

    fn words(&self, zone: Tz) -> String {
        let until = words_of(self.until, zone);
        if self.comment.is_empty() {
            format!("silenced until {until}")
        } else {
            format!("silenced until {until} ({})", self.comment)
        }
    }
}

impl Muted {
    /// The silence that covers an incident now; of several the one that lasts longest.
    pub(crate) fn silence(&self, incident: &Incident, now: DateTime<Utc>) -> Option<&Silence> {
        let on = self.silences.iter().filter(|silence| silence.is_on(now));
        on.filter(|silence| silence.covers(&incident.key, incident.name()))
            .max_by_key(|silence| silence.until)
    }

    /// Why no mail of an incident goes out now, where somebody silenced it; `zone` is that of its account.
    pub(crate) fn silenced(&self, incident: &Incident, zone: Tz, now: DateTime<Utc>) -> Option<Silenced> {
        let Silence { pattern, until, .. } = self.silence(incident, now)?;
        Some(Silenced { pattern: pattern.clone(), until: *until, zone: Some(zone) })
    }

    /// Is this episode acknowledged?
    pub(crate) fn is_acknowledged(&self, incident: &Incident, now: DateTime<Utc>) -> bool {
        self.ack(incident, now).is_some()
    }

    /// One line of what was decided about an incident, for people.
    pub(crate) fn words(&self, incident: &Incident, zone: Tz, now: DateTime<Utc>) -> Option<String> {
        let ack = self.ack(incident, now).map(|ack| match ack.comment.as_str() {
            "" => "acknowledged".to_owned(),
            comment => format!("acknowledged ({comment})"),
        });
        let silence = self.silence(incident, now).map(|silence| silence.words(zone));
        let parts: Vec<String> = ack.into_iter().chain(silence).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// When somebody acknowledged this episode, and with which note.
    pub(crate) fn acknowledgement(&self, incident: &Incident, now: DateTime<Utc>) -> Option<&Ack> {
        self.ack(incident, now)
    }

    /// Of a disconnect it ends with the next rung, of an overdue account after some days.
    fn ack(&self, incident: &Incident, now: DateTime<Utc>) -> Option<&Ack> {
        let ended = |ack: &Ack| incident.ladder.as_ref().is_some_and(|ladder| ladder.ends_ack(ack.at, now));
        self.acks.get(&incident.key).filter(|ack| ack.episode == incident.episode && !ended(ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Severity;

    fn silence(pattern: &str) -> Silence {
        let at = DateTime::UNIX_EPOCH;
        let until = at + chrono::Duration::hours(2);
        Silence { id: 1, pattern: pattern.to_owned(), at, until, comment: String::new() }
    }

    #[test]
    fn what_a_pattern_covers() {
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

    #[test]
    fn an_ack_is_of_one_episode_and_a_silence_of_its_time() {
        let now = DateTime::UNIX_EPOCH;
        let key = Key::new(&"main".parse().unwrap(), Kind::VmError, 7);
        let mut incident = Incident::new(key.clone(), Severity::Critical, now);
        incident.subject = "VM db-1".to_owned();
        incident.episode = 2;
        let ack = Ack { episode: 2, at: now, comment: "Ann is on it".to_owned() };
        let muted = Muted { acks: BTreeMap::from([(key, ack)]), silences: vec![silence("db-1")] };
        assert!(muted.is_acknowledged(&incident, now));
        assert_eq!(
            muted.words(&incident, Tz::Europe__Moscow, now).unwrap(),
            "acknowledged (Ann is on it); silenced until Thu 1 Jan 05:00 MSK"
        );
        incident.episode = 3;
        assert!(!muted.is_acknowledged(&incident, now));
        assert_eq!(muted.words(&incident, Tz::UTC, now + chrono::Duration::hours(2)), None);
    }
}
