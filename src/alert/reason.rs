//! Why something was decided: stored as type and values, shown as one sentence.

use std::fmt;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::key::Key;
use crate::model::forecast::Doubt;
use crate::model::when;
use forms::{Day, Days, InARow, Minutes};

mod forms;

/// Why something was decided; its `Display` is the sentence that people read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Reason {
    Typed(Typed),
    /// The sentence of an older store.
    Text(String),
    /// Of a newer release: shown as it is.
    Unknown(serde_json::Value),
}

impl Reason {
    /// A silence held back the mail.
    pub(super) fn is_silenced(&self) -> bool {
        matches!(self, Self::Typed(Typed { withheld: Some(Withheld::Silenced(_)), .. }))
    }
}

/// What happened, and why no mail says so, where none does.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Typed {
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    /// When the report was read that this rests on, where no newer one could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<AsOf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<Withheld>,
}

/// What happened, with its sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    // A state lasts, or not yet long enough.
    #[strum(to_string = "first seen in this poll")]
    SeenWrong,
    #[strum(to_string = "confirmed by {polls} polls")]
    SeenWrongInARow { polls: u32 },
    #[strum(to_string = "{seen} of {polls} bad polls")]
    Confirming { seen: u32, polls: u32 },
    #[strum(to_string = "unchanged for {minutes}")]
    Unchanged { minutes: Minutes },
    #[strum(to_string = "no mail yet: it has to last for {minutes}")]
    Holding { minutes: Minutes },
    #[strum(to_string = "went away before it was confirmed: no mail")]
    Unconfirmed,
    // It goes on.
    #[strum(to_string = "failed again before it had recovered")]
    WrongAgain,
    #[strum(to_string = "still open: {detail}, which is no recovery")]
    NoRecovery { detail: String },
    #[strum(to_string = "still open when its silence ended")]
    SilenceEnded,
    #[strum(to_string = "no mail about it arrived anywhere")]
    NotDelivered,
    #[strum(to_string = "still open after its cause ended")]
    CoverEnded,
    #[strum(to_string = "nothing that was looked at since explains it")]
    Unexplained,
    #[strum(to_string = "some of what failed with it is read again")]
    ReadInPart,
    #[strum(to_string = "{count} more offline since the last mail about it")]
    CoversMore { count: usize },
    #[strum(to_string = "still open; the mail that began it was not for you")]
    NewRecipient,
    #[strum(to_string = "reminder {count} of {most}: still open")]
    Reminder { count: u32, most: u32 },
    #[strum(to_string = "escalated to {to}: nobody acknowledged it within {after}")]
    Escalated { to: String, after: String },
    #[strum(to_string = "escalated to {to}: the last day on which a payment arrives in time has come")]
    EscalatedAtOnce { to: String },
    #[strum(to_string = "{changes} changes within an hour")]
    Flapping { changes: usize },
    #[strum(to_string = "stable for half an hour after many changes")]
    Stable,
    // It ends.
    #[strum(to_string = "{seen} of {polls} good polls")]
    Recovering { seen: u32, polls: u32 },
    #[strum(to_string = "OK in {polls}")]
    OkInARow { polls: InARow },
    /// Of a store from before polls were counted here.
    #[strum(to_string = "OK again")]
    SeenRight,
    #[strum(to_string = "no longer listed")]
    NoLongerListed,
    // Nothing looks at it any more.
    #[strum(to_string = "its rule is switched off")]
    RuleOff,
    #[strum(to_string = "its account is no longer in the configuration")]
    AccountGone,
    #[strum(to_string = "what reads it is switched off or has no credentials")]
    CollectorOff,
    #[strum(to_string = "its rule leaves this name out")]
    LeftOut,
    #[strum(to_string = "the number of its state has no name in container_states any more")]
    CodeUnnamed,
    #[strum(to_string = "the report does not have it any more")]
    LeftReport,
    #[strum(to_string = "the provider lists it again")]
    ListedAgain,
    #[strum(to_string = "still open, and watched again")]
    WatchedAgain,
    // The first start, the hourly limit.
    #[strum(to_string = "already so at the first start")]
    KnownAtStart,
    #[strum(to_string = "will be in the summary mail: the hourly limit of mails is reached")]
    HourlyLimit,
    // The balance and the date of the cut-off.
    #[strum(to_string = "still open: {0}")]
    Doubt(Doubt),
    #[strum(to_string = "still open: no further report could be read")]
    NoFurtherReport,
    #[strum(to_string = "{seen} of {polls} good reports without a cut-off")]
    WithoutDate { seen: u32, polls: u32 },
    #[strum(to_string = "no cut-off is expected any more")]
    NoDisconnect,
    #[strum(to_string = "the balance is used up")]
    UsedUp,
    #[strum(to_string = "the cut-off date has passed")]
    DatePassed,
    #[strum(to_string = "less than {days} left")]
    Rung { days: Days },
    #[strum(to_string = "cut-off is {by_days} earlier than before, now less than {days} away")]
    Jumped { by_days: Days, days: Days },
    #[strum(to_string = "cut-off postponed to {to}")]
    MovedBack { to: Day },
    #[strum(to_string = "cut-off is earlier than before, now {to}")]
    MovedNearer { to: Day },
    #[strum(to_string = "a payment arrived, cut-off now {to}")]
    Paid { to: Day },
    #[strum(to_string = "payments take longer than before: less than {days} left")]
    PaymentsTakeLonger { days: Days },
    #[strum(to_string = "still overdue")]
    StillOverdue,
    // Read long after, too: pages show it until the next one.
    #[strum(to_string = "{days} before the data are deleted")]
    DeletionIn { days: Days },
    #[strum(to_string = "the day on which the data are deleted")]
    DeletionDay,
    #[strum(to_string = "the balance is lower than forecast")]
    BalanceDrop,
}

/// Why no mail goes out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Withheld {
    #[strum(to_string = "no mail: {0}")]
    Silenced(Silenced),
    #[strum(to_string = "not in the first-start mail: {0}")]
    SilencedAtStart(Silenced),
    /// The mail of that incident covers this one.
    #[strum(to_string = "no mail: covered by {0}")]
    Folded(Key),
    /// Of a store from before what keeps changing had mails of its own throughout.
    #[strum(to_string = "no mail: still covered by {0}")]
    StillFolded(Key),
    #[strum(to_string = "no mail: was covered by {0}")]
    WasFolded(Key),
    /// It is not known whether it lasts.
    #[strum(to_string = "no mail yet: {0}, which covered it, is over, and its state cannot be read")]
    CoverOver(Key),
    #[strum(to_string = "no mail yet: what may explain it is looked at first")]
    NotLooked,
    #[strum(to_string = "no mail yet: what failed with it is tried first")]
    OthersNotTried,
    #[strum(to_string = "no mail: it keeps changing")]
    Flapping,
    #[strum(to_string = "will be in the first-start mail")]
    FirstStart,
    #[strum(to_string = "no mail: it is in the mail about the cut-off")]
    SameReport,
    #[strum(to_string = "no mail: a drop at least as low was told within a day")]
    ToldToday,
}

/// By which silence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Silenced {
    pub pattern: String,
    pub until: DateTime<Utc>,
    /// The account's; an older store has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Tz>,
}

/// A moment in the account's zone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct AsOf {
    pub at: DateTime<Utc>,
    pub zone: Tz,
}

impl Cause {
    /// Of what is no longer watched: may it be watched again as it was? What was gone and is listed again is another story.
    pub(super) fn may_come_back(&self) -> bool {
        *self != Self::ListedAgain
    }

    /// Nothing reads it, so what is known of it grows old.
    pub(super) fn is_not_read(&self) -> bool {
        matches!(self, Self::AccountGone | Self::CollectorOff)
    }
}

impl Reason {
    /// How often it changed within an hour, where that is why.
    pub(crate) fn changes_in_an_hour(&self) -> Option<usize> {
        match self {
            Self::Typed(Typed { cause: Some(Cause::Flapping { changes }), .. }) => Some(*changes),
            Self::Typed(_) | Self::Text(_) | Self::Unknown(_) => None,
        }
    }

    /// What kept changing is stable.
    pub(crate) fn is_stable(&self) -> bool {
        matches!(self, Self::Typed(Typed { cause: Some(Cause::Stable), .. }))
    }

    /// As a text that `of_stored` reads back.
    pub(crate) fn stored(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Typed(_) | Self::Unknown(_) => {
                serde_json::to_string(self).unwrap_or_else(|_| self.to_string())
            }
        }
    }

    /// A sentence that is no JSON stays one.
    pub(crate) fn of_stored(text: &str) -> Self {
        let typed = Some(text).filter(|text| text.starts_with('{'));
        typed.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| Self::Text(text.to_owned()))
    }
}

impl Typed {
    /// The same, resting on a report that may be old.
    pub(crate) fn resting_on(self, as_of: Option<AsOf>) -> Self {
        Self { as_of, ..self }
    }

    /// The same, with why no mail says so.
    pub(crate) fn withheld(self, why: Withheld) -> Self {
        Self { withheld: Some(why), ..self }
    }
}

impl Default for Reason {
    fn default() -> Self {
        Self::Typed(Typed::default())
    }
}

impl From<Cause> for Typed {
    fn from(cause: Cause) -> Self {
        Self { cause: Some(cause), ..Self::default() }
    }
}

impl From<Withheld> for Typed {
    fn from(why: Withheld) -> Self {
        Self::default().withheld(why)
    }
}

impl From<Typed> for Reason {
    fn from(reason: Typed) -> Self {
        Self::Typed(reason)
    }
}

impl From<Cause> for Reason {
    fn from(cause: Cause) -> Self {
        Self::Typed(cause.into())
    }
}

impl From<Withheld> for Reason {
    fn from(why: Withheld) -> Self {
        Self::Typed(why.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(typed) => typed.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Unknown(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cause) = &self.cause {
            cause.fmt(f)?;
        }
        if let Some(AsOf { at, zone }) = &self.as_of {
            write!(f, " (as of {}; no newer report confirms it)", when::kept_moment(*at, *zone))?;
        }
        match &self.withheld {
            Some(why) if self.cause.is_some() => write!(f, "; {why}"),
            Some(why) => why.fmt(f),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Silenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = when::kept_moment(self.until, self.zone.unwrap_or(Tz::UTC));
        write!(f, "silenced by '{}' until {until}", self.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Kind;

    #[test]
    fn a_reason_is_kept_by_type_and_values_and_reads_as_a_sentence() {
        let at = DateTime::UNIX_EPOCH + chrono::Duration::days(20_000);
        let root = Key::new(&"main".parse().unwrap(), Kind::ContainerDisabled, 10);
        let zone = chrono_tz::Europe::Moscow;
        let silenced = |zone| Silenced { pattern: "web-*".to_owned(), until: at, zone };
        let table: [(Reason, &str, &str); 8] = [
            (Cause::SeenWrong.into(), "first seen in this poll", r#"{"cause":"seen_wrong"}"#),
            (
                Typed::from(Cause::Rung { days: 7.into() }).resting_on(Some(AsOf { at, zone })).into(),
                "less than 7 days left (as of Fri 4 Oct 03:00 MSK; no newer report confirms it)",
                r#"{"cause":{"rung":{"days":7}},"as_of":{"at":"2024-10-04T00:00:00Z","zone":"Europe/Moscow"}}"#,
            ),
            (
                Withheld::Folded(root.clone()).into(),
                "no mail: covered by main/container_disabled/10",
                r#"{"withheld":{"folded":"main/container_disabled/10"}}"#,
            ),
            (
                Typed::from(Cause::OkInARow { polls: 2.into() }).withheld(Withheld::WasFolded(root)).into(),
                "OK in 2 polls in a row; no mail: was covered by main/container_disabled/10",
                r#"{"cause":{"ok_in_a_row":{"polls":2}},"withheld":{"was_folded":"main/container_disabled/10"}}"#,
            ),
            (
                Withheld::Silenced(silenced(Some(zone))).into(),
                "no mail: silenced by 'web-*' until Fri 4 Oct 03:00 MSK",
                r#"{"withheld":{"silenced":{"pattern":"web-*","until":"2024-10-04T00:00:00Z","zone":"Europe/Moscow"}}}"#,
            ),
            // Of an older store.
            (
                Withheld::SilencedAtStart(silenced(None)).into(),
                "not in the first-start mail: silenced by 'web-*' until Fri 4 Oct 00:00 UTC",
                r#"{"withheld":{"silenced_at_start":{"pattern":"web-*","until":"2024-10-04T00:00:00Z"}}}"#,
            ),
            (
                Cause::Doubt(Doubt::TooShort).into(),
                "still open: the report ends before the cut-off date known so far",
                r#"{"cause":{"doubt":"too_short"}}"#,
            ),
            (Reason::default(), "", "{}"),
        ];
        for (reason, sentence, json) in table {
            assert_eq!((reason.to_string().as_str(), reason.stored().as_str()), (sentence, json));
            assert_eq!(Reason::of_stored(json), reason);
        }
    }

    #[test]
    fn what_another_release_wrote_is_shown_as_it_is() {
        let newer = r#"{"cause":{"eclipse":{"minutes":7}}}"#;
        for text in ["the 9-day rung is crossed", "{ no JSON", newer] {
            let reason = Reason::of_stored(text);
            assert_eq!((reason.to_string().as_str(), reason.stored().as_str()), (text, text));
            // In the body of an incident too.
            let body = serde_json::to_string(&reason).unwrap();
            assert_eq!(serde_json::from_str::<Reason>(&body).unwrap(), reason);
        }
    }
}
