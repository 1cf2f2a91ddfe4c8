//! Why something was decided: kept by type and values, told as one sentence.

use std::fmt;

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::key::Key;
use crate::model::forecast::Doubt;

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

/// What happened; the sentence stands beside each.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    // A state lasts, or not yet long enough.
    #[strum(to_string = "seen wrong")]
    SeenWrong,
    #[strum(to_string = "seen wrong {polls} times in a row")]
    SeenWrongInARow { polls: u32 },
    #[strum(to_string = "seen wrong {seen} of {polls} times")]
    Confirming { seen: u32, polls: u32 },
    #[strum(to_string = "unchanged for {minutes} min")]
    Unchanged { minutes: u64 },
    #[strum(to_string = "no mail yet: it has to last for {minutes} min")]
    Holding { minutes: u64 },
    #[strum(to_string = "went away before it was confirmed: no mail")]
    Unconfirmed,
    // It goes on.
    #[strum(to_string = "wrong again before it had recovered")]
    WrongAgain,
    #[strum(to_string = "kept open: {detail}, which is no recovery")]
    NoRecovery { detail: String },
    #[strum(to_string = "still wrong when its silence ended")]
    SilenceEnded,
    #[strum(to_string = "still wrong after its cause ended")]
    CoverEnded,
    #[strum(to_string = "reminder {count} of {most}: still open")]
    Reminder { count: u32, most: u32 },
    #[strum(to_string = "{changes} changes within an hour")]
    Flapping { changes: usize },
    #[strum(to_string = "stable for half an hour after changing again and again")]
    Stable,
    // It ends.
    #[strum(to_string = "seen right {seen} of {polls} times")]
    Recovering { seen: u32, polls: u32 },
    #[strum(to_string = "seen right often enough")]
    SeenRight,
    #[strum(to_string = "no longer listed")]
    NoLongerListed,
    #[strum(to_string = "its rule is switched off: no mail")]
    RuleOff,
    #[strum(to_string = "its account is no longer watched: no mail")]
    AccountGone,
    // The first start, the hourly limit.
    #[strum(to_string = "known at the first start: listed in the first-start mail")]
    KnownAtStart,
    #[strum(to_string = "kept for the summary: the hourly limit of mails is reached")]
    HourlyLimit,
    // The balance and the date of the disconnect.
    #[strum(to_string = "kept open: {0}")]
    Doubt(Doubt),
    #[strum(to_string = "kept open: no further report could be read")]
    NoFurtherReport,
    #[strum(to_string = "{seen} of {polls} reports without a disconnect date")]
    WithoutDate { seen: u32, polls: u32 },
    #[strum(to_string = "no disconnect is expected any more")]
    NoDisconnect,
    #[strum(to_string = "the balance is used up")]
    UsedUp,
    #[strum(to_string = "the disconnect date has passed")]
    DatePassed,
    #[strum(to_string = "the {days}-day rung is crossed")]
    Rung { days: u32 },
    #[strum(to_string = "the date moved {by_days} days nearer and crossed the {days}-day rung")]
    Jumped { by_days: i64, days: u32 },
    #[strum(to_string = "the date moved back to {to}")]
    MovedBack { to: NaiveDate },
    #[strum(to_string = "the date moved nearer, to {to}")]
    MovedNearer { to: NaiveDate },
    #[strum(to_string = "the balance is below what was foreseen")]
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
    /// The mail of that incident tells of this one too.
    #[strum(to_string = "no mail: folded into {0}, which speaks for it")]
    Folded(Key),
    #[strum(to_string = "no mail: {0} speaks for it")]
    StillFolded(Key),
    #[strum(to_string = "no mail: {0} spoke for it")]
    WasFolded(Key),
    #[strum(to_string = "no mail: it changes again and again")]
    Flapping,
    #[strum(to_string = "waits for the first-start mail")]
    FirstStart,
    #[strum(to_string = "no mail: the disconnect mail of the same report carries it")]
    SameReport,
}

/// By which silence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Silenced {
    pub pattern: String,
    pub until: DateTime<Utc>,
}

/// A moment in the account's zone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct AsOf {
    pub at: DateTime<Utc>,
    pub zone: Tz,
}

impl Reason {
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
            let at = at.with_timezone(zone).format("%Y-%m-%d %H:%M %Z");
            write!(f, " (as of {at}; no newer report could be read)")?;
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
        write!(f, "silenced by '{}' until {}", self.pattern, self.until.format("%Y-%m-%d %H:%M UTC"))
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
        let silenced = Silenced { pattern: "web-*".to_owned(), until: at };
        let zone = chrono_tz::Europe::Moscow;
        let table: [(Reason, &str, &str); 7] = [
            (Cause::SeenWrong.into(), "seen wrong", r#"{"cause":"seen_wrong"}"#),
            (
                Typed::from(Cause::Rung { days: 7 }).resting_on(Some(AsOf { at, zone })).into(),
                "the 7-day rung is crossed (as of 2024-10-04 03:00 MSK; no newer report could be read)",
                r#"{"cause":{"rung":{"days":7}},"as_of":{"at":"2024-10-04T00:00:00Z","zone":"Europe/Moscow"}}"#,
            ),
            (
                Withheld::Folded(root.clone()).into(),
                "no mail: folded into main/container_disabled/10, which speaks for it",
                r#"{"withheld":{"folded":"main/container_disabled/10"}}"#,
            ),
            (
                Typed::from(Cause::SeenRight).withheld(Withheld::WasFolded(root)).into(),
                "seen right often enough; no mail: main/container_disabled/10 spoke for it",
                r#"{"cause":"seen_right","withheld":{"was_folded":"main/container_disabled/10"}}"#,
            ),
            (
                Withheld::SilencedAtStart(silenced).into(),
                "not in the first-start mail: silenced by 'web-*' until 2024-10-04 00:00 UTC",
                r#"{"withheld":{"silenced_at_start":{"pattern":"web-*","until":"2024-10-04T00:00:00Z"}}}"#,
            ),
            (
                Cause::Doubt(Doubt::TooShort).into(),
                "kept open: the report ends before the disconnect date known so far",
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
