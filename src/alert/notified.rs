//! An entry of the notification log: what one recipient was told of one incident. The entry does not know what
//! is true.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::kind::{Event, Severity};
use crate::failpoint;

/// The entry of one recipient and one incident.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Notified {
    /// The recipient's knowledge. A mail that may have arrived counts.
    pub told: Told,
    /// The recipient's knowledge if the mail did not arrive whose reply was lost and which the server refuses now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_lost: Option<Told>,
    /// The event that is owed, or was owed and could not leave.
    pub owed: Option<Owed>,
    /// The hold after the newest mail was refused because of its contents.
    pub refused: Option<Hold>,
    /// The episode of which the recipient is to hear nothing more.
    pub dropped: Option<u32>,
}

/// The last event that a recipient was told, and the facts that decide the next one.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    pub what: What,
    pub episode: u32,
    pub at: DateTime<Utc>,
    /// The Message-ID of the mail that began the thread.
    pub thread: Option<String>,
    /// The time at which the beginning of this episode was told.
    pub began: DateTime<Utc>,
    /// The first mail told of it, or counted it and left it to a post of its own, so there are no reminders.
    pub by_first_mail: bool,
    pub severity: Option<Severity>,
    pub reminders: u32,
    /// The collectors that could not be read, or the unknown states.
    pub set: BTreeSet<String>,
    pub money: Money,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) enum What {
    #[default]
    Nothing,
    Wrong,
    /// It was listed in the mail about its cause.
    Listed(Key),
    Over,
}

/// The events of a cut-off that a recipient was told in the present arming, each with its time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Money {
    /// The tightest rung in days; 0 is overdue.
    pub rung: Option<u32>,
    pub used_up: bool,
    /// The date that the last mail named.
    pub date: Option<DateTime<Utc>>,
    /// The tightest rung of the last 24 hours in all armings, and the time at which it was told.
    pub tightest: Option<(u32, DateTime<Utc>)>,
    pub extended_at: Option<DateTime<Utc>>,
    pub paid_at: Option<DateTime<Utc>>,
    /// The time of the last mail that said it is over.
    pub resolved_at: Option<DateTime<Utc>>,
    /// The lowest number of days before the deletion that was told.
    pub deletion: Option<u32>,
}

impl Money {
    /// The times of mails that go once a day: they count for the next episode too.
    pub(super) fn after_the_end(&self) -> Self {
        let Self { tightest, extended_at, paid_at, .. } = *self;
        Self { tightest, extended_at, paid_at, ..Self::default() }
    }
}

/// A debt: its time, and the episode that began meanwhile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Owed {
    /// The time at which anything was first owed, even if another event is owed by now.
    pub since: DateTime<Utc>,
    /// The first episode that was not told, and its beginning.
    pub episode: u32,
    pub began: DateTime<Utc>,
    /// The event that is owed now; `event_since` is the time of this event.
    pub event: Option<Event>,
    pub event_since: DateTime<Utc>,
}

impl Owed {
    /// Whether the end of what the recipient was told is owed. It leaves no episode untold.
    pub(super) fn is_an_end(&self) -> bool {
        self.event.as_ref().is_some_and(|event| event.is_end() && *event != Event::WasDown)
    }
}

/// Pauses after temporary failures.
const PAUSES: [Duration; 5] = [
    Duration::seconds(30),
    Duration::minutes(2),
    Duration::minutes(5),
    Duration::minutes(15),
    Duration::minutes(30),
];

/// The pause after this number of temporary failures in a row, at least one.
pub(crate) fn pause(times: u32) -> Duration {
    failpoint::hasten(PAUSES[(times as usize).clamp(1, PAUSES.len()) - 1])
}

/// A pause, which grows with each failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Hold {
    pub since: DateTime<Utc>,
    pub times: u32,
}

impl Hold {
    /// The pause after `before`, which ended at `until`. News that was tried within that pause makes it no longer.
    pub(crate) fn after(before: Option<Self>, now: DateTime<Utc>, until: fn(&Self) -> DateTime<Utc>) -> Self {
        let times = before.map_or(0, |before| before.times.saturating_add(u32::from(until(&before) <= now)));
        Self { since: now, times: times.max(1) }
    }

    /// The pause after the contents were refused. There is none before the light form.
    pub(super) fn after_light(before: Option<Self>, now: DateTime<Utc>) -> Self {
        before.map_or(Self { since: now, times: 0 }, |before| Self::after(Some(before), now, Self::until))
    }

    /// The end of a pause after a temporary failure.
    pub(super) fn soon(&self) -> DateTime<Utc> {
        self.since + pause(self.times)
    }

    /// The end of a pause of 1, 2, 4 … 24 hours after a refusal.
    pub(crate) fn until(&self) -> DateTime<Utc> {
        let hours = match self.times {
            0 => 0,
            times @ 1..=5 => 1 << (times - 1),
            _ => 24,
        };
        self.since + failpoint::hasten(Duration::hours(hours))
    }
}

impl Told {
    /// Whether the beginning of this episode was told, and its end was not.
    pub(crate) fn knows(&self, episode: u32) -> bool {
        self.episode == episode && self.is_open()
    }

    /// Whether the last event that was told says that it is wrong.
    pub(crate) fn is_open(&self) -> bool {
        self.what == What::Wrong
    }

    fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let Self { at, began, money, .. } = self;
        let Money { tightest, extended_at, paid_at, resolved_at, .. } = money;
        let tightest = tightest.iter_mut().map(|(_, at)| at);
        [at, began].into_iter().chain(tightest).chain(extended_at).chain(paid_at).chain(resolved_at)
    }
}

impl Notified {
    /// The recipient's certain knowledge.
    pub(super) fn surely(&self) -> &Told {
        self.if_lost.as_ref().unwrap_or(&self.told)
    }

    /// The entry of a recipient that may know of this mail, and is told again all the same. `before` is the entry
    /// without the mail.
    pub(super) fn owed_again(&self, before: Self) -> Self {
        Self { told: self.told.clone(), if_lost: Some(before.if_lost.unwrap_or(before.told)), ..before }
    }

    /// All past moments. The caller corrects those that lie ahead of the clock.
    pub(crate) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let Self { told, if_lost, owed, refused, dropped: _ } = self;
        let owed = owed.iter_mut().flat_map(|owed| [&mut owed.since, &mut owed.began, &mut owed.event_since]);
        let refused = refused.iter_mut().map(|refused| &mut refused.since);
        let told = [told].into_iter().chain(if_lost).flat_map(Told::moments);
        told.chain(owed).chain(refused)
    }
}
