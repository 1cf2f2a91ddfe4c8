//! The question "what does this recipient have to hear of this incident?" as a value, and its answers: an event
//! that is owed, or the reason why none is.

use std::fmt;

use chrono::{DateTime, Utc};

use super::cut_off::CutOff;
use super::incident::Incident;
use super::key::Key;
use super::kind::Event;
use super::notified::Notified;
use super::reason::Cause;
use super::settings::AlertSettings;

/// One incident and one recipient.
pub(crate) struct Case<'a> {
    pub incident: &'a Incident,
    /// The cut-off, if the incident is about one.
    pub cut_off: Option<&'a CutOff>,
    pub entry: &'a Notified,
    pub role: Role,
    /// The recipient got the first mail, or none is owed to it.
    pub started: bool,
    pub evidence: Evidence,
    /// The mail about the cause goes to this recipient too, or went there.
    pub cause_reaches: bool,
    /// The end of the silence that the incident is under.
    pub silenced: Option<DateTime<Utc>>,
    pub is_acknowledged: bool,
    /// Of a momentary incident: a mail about the account's cut-off is owed, and will say it.
    pub cut_off_says: bool,
    /// The last start, or the last time that the machine woke.
    pub horizon: DateTime<Utc>,
    pub settings: &'a AlertSettings,
    pub now: DateTime<Utc>,
}

/// The relation of a recipient to an incident.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    To,
    /// The recipient is in `escalate_to` alone. `since`: when another recipient was told that the incident is
    /// critical, except by the first mail.
    Escalation {
        since: Option<DateTime<Utc>>,
    },
    /// The recipient left the configuration.
    Left,
}

/// Whether the readings that the incident rests on count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Evidence {
    Sound,
    /// A reading is awaited, until then at most.
    Awaited(DateTime<Utc>),
    /// The collector that sees it fails.
    Unread,
}

/// The event that is owed, or the reason why none is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Due {
    Tell(Event, Cause),
    Nothing(Why, Option<DateTime<Utc>>),
}

impl Due {
    /// The same answer, unless something else may be owed sooner.
    pub(super) fn or_later(self, at: Option<DateTime<Utc>>) -> Self {
        match self {
            Self::Nothing(why, until) => Self::Nothing(why, until.into_iter().chain(at).min()),
            Self::Tell(..) => self,
        }
    }
}

/// The reason why nothing is owed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// The resource is fine.
    Fine,
    /// The incident is not confirmed.
    Pending,
    /// The resource was seen right again, but not often enough.
    Recovering,
    /// The first mail will list it.
    FirstMail,
    NotRead,
    Unread,
    Silenced,
    Explained(Key),
    /// The recipient knows.
    Told,
    /// Somebody acknowledged the incident.
    Acknowledged,
    /// Other recipients are told of the beginning first.
    Escalation,
    /// The recipient left the configuration.
    Left,
    /// Somebody dropped the mail by hand.
    Dropped,
    /// A mail of the same kind went out within a day.
    ToldToday,
    /// The mail about the cut-off, which is owed, will say it.
    SameReport,
    /// The end could not be mailed for a week.
    Lapsed,
}

impl Why {
    /// Whether what was owed stays owed: nothing was sent meanwhile, and the incident is not over.
    pub(crate) const fn is_a_wait(&self) -> bool {
        matches!(
            self,
            Self::FirstMail
                | Self::Recovering
                | Self::NotRead
                | Self::Unread
                | Self::Silenced
                | Self::ToldToday
                | Self::SameReport
                | Self::Lapsed
        )
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fine => "it is not wrong",
            Self::Pending => "it is not confirmed yet",
            Self::Recovering => "it was seen right again, not often enough yet",
            Self::FirstMail => "the first mail will list it",
            Self::NotRead => "it or its cause is read first",
            Self::Unread => "it cannot be read now",
            Self::Silenced => "it is silenced",
            Self::Explained(key) => return write!(f, "the mail about {key} covers it"),
            Self::Told => "this recipient knows",
            Self::Acknowledged => "it is acknowledged",
            Self::Escalation => "others are told first",
            Self::Left => "this is no recipient",
            Self::Dropped => "somebody dropped it by hand",
            Self::ToldToday => "a mail of this kind went out within a day",
            Self::SameReport => "the mail about the cut-off will say it",
            Self::Lapsed => "its end could not be told for a week",
        })
    }
}

pub(crate) const fn nothing(why: Why) -> Due {
    Due::Nothing(why, None)
}
