//! The question "what does this recipient have to hear of this incident?" as a value, and its answers: an event
//! that is owed, or the reason why none is.

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
#[derive(Clone, PartialEq, Eq, Debug, strum::Display)]
pub(crate) enum Why {
    /// The resource is fine.
    #[strum(to_string = "it is not wrong")]
    Fine,
    /// The incident is not confirmed.
    #[strum(to_string = "it is not confirmed yet")]
    Pending,
    /// The resource was seen right again, but not often enough.
    #[strum(to_string = "it was seen right again, not often enough yet")]
    Recovering,
    /// The first mail will list it.
    #[strum(to_string = "the first mail will list it")]
    FirstMail,
    #[strum(to_string = "it or its cause is read first")]
    NotRead,
    #[strum(to_string = "it cannot be read now")]
    Unread,
    #[strum(to_string = "it is silenced")]
    Silenced,
    #[strum(to_string = "the mail about {0} covers it")]
    Explained(Key),
    /// The recipient knows.
    #[strum(to_string = "this recipient knows")]
    Told,
    /// Somebody acknowledged the incident.
    #[strum(to_string = "it is acknowledged")]
    Acknowledged,
    /// Other recipients are told of the beginning first.
    #[strum(to_string = "others are told first")]
    Escalation,
    /// The recipient left the configuration.
    #[strum(to_string = "this is no recipient")]
    Left,
    /// Somebody dropped the mail by hand.
    #[strum(to_string = "somebody dropped it by hand")]
    Dropped,
    /// A mail of the same kind went out within a day.
    #[strum(to_string = "a mail of this kind went out within a day")]
    ToldToday,
    /// The mail about the cut-off, which is owed, will say it.
    #[strum(to_string = "the mail about the cut-off will say it")]
    SameReport,
    /// The end could not be mailed for a week.
    #[strum(to_string = "its end could not be told for a week")]
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

pub(crate) const fn nothing(why: Why) -> Due {
    Due::Nothing(why, None)
}
