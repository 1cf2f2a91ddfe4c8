//! The observer's own knowledge of the true state, from readings only. It asks the engine nothing.

use std::collections::BTreeMap;

use super::readings::Bill;
use crate::alert::{Key, Kind};
use crate::model::AccountName;
use chrono::{DateTime, Days, Duration, NaiveTime, Utc};

/// The number of good readings in a row that end an incident.
const TO_RECOVER: u32 = 2;
/// The rungs of the default ladder, in days. One of them is the last safe day.
const RUNGS: [u32; 5] = [1, 3, LAST_SAFE, 7, 14];
const LAST_SAFE: u32 = 4;

/// The observation of a resource in one reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Observation {
    Bad,
    Good,
    /// The listing is incomplete, and the row is not in it.
    Hidden,
    /// The listing is complete, and the row is not in it.
    Missing,
    /// The poll failed.
    Fails,
}

/// The three resources of this world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Resource {
    /// An ordinary incident: a VM in error.
    Vm,
    /// A cause: a container that is switched off for its quota.
    Container,
    /// A consequence of the container's state: a site in error.
    Site,
}

impl Resource {
    pub const ALL: [Self; 3] = [Self::Vm, Self::Container, Self::Site];

    pub fn key(self) -> Key {
        match self {
            Self::Vm => Key::new(&name(), Kind::VmError, "1"),
            Self::Container => Key::new(&name(), Kind::ContainerDisabled, "10"),
            Self::Site => Key::new(&name(), Kind::SiteError, "100"),
        }
    }
}

pub fn name() -> AccountName {
    "main".parse().unwrap()
}

/// The facts about one resource that readings prove.
#[derive(Clone, Debug, Default)]
pub struct Thing {
    pub open: bool,
    pub episode: u32,
    /// Good readings in a row while the incident is open.
    pub good: u32,
    /// A listing since the start contained it.
    is_listed: bool,
    /// Complete listings in a row without it, since one contained it.
    missing: u32,
    /// The last poll of its collector succeeded, after the last start.
    pub is_read: bool,
    /// The time at which it was last over.
    pub over_at: Option<DateTime<Utc>>,
    /// For some time in the present or last episode, it was not silenced.
    pub was_audible: bool,
}

/// The facts about the cut-off that reports and time prove.
#[derive(Clone, Debug, Default)]
pub struct CutOffTruth {
    pub date: Option<DateTime<Utc>>,
    pub open: bool,
    /// Reports in a row without a date.
    pub clear: u32,
    /// The last poll failed, and one report that lacks a date proves nothing yet.
    pub fails: bool,
    pub paid: bool,
    pub over_at: Option<DateTime<Utc>>,
}

/// The whole truth.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    pub things: BTreeMap<Resource, Thing>,
    pub cut_off: CutOffTruth,
}

impl Thing {
    pub fn read(&mut self, observation: Observation, now: DateTime<Utc>) {
        self.is_read = observation != Observation::Fails;
        match observation {
            Observation::Bad | Observation::Good => (self.is_listed, self.missing) = (true, 0),
            // One complete listing may miss a row that moves from one page to another.
            Observation::Missing => self.missing += 1,
            Observation::Hidden | Observation::Fails => {}
        }
        match observation {
            Observation::Bad if self.open => self.good = 0,
            Observation::Bad => {
                (self.open, self.episode, self.good) = (true, self.episode + 1, 0);
                self.was_audible = false;
            }
            Observation::Good => self.good += u32::from(self.open),
            Observation::Missing if !self.is_listed => self.good += u32::from(self.open),
            Observation::Missing if self.missing >= TO_RECOVER => {
                self.good += if self.open { TO_RECOVER } else { 0 };
                self.is_listed = false;
            }
            Observation::Missing | Observation::Hidden | Observation::Fails => {}
        }
        if self.good >= TO_RECOVER {
            (self.open, self.good, self.over_at) = (false, 0, Some(now));
        }
    }
}

impl CutOffTruth {
    /// Every later date of this world comes with a payment, so that each report is believed at once.
    pub fn read(&mut self, bill: &Bill, now: DateTime<Utc>) {
        self.fails = false;
        if let Some(date) = bill.date {
            self.paid |= bill.is_paid && self.date.is_some_and(|before| date > before);
            (self.date, self.clear) = (Some(date), 0);
        } else {
            self.clear += 1;
            if self.clear >= TO_RECOVER {
                self.over_at = if self.open { Some(now) } else { self.over_at };
                (self.open, self.date, self.paid) = (false, None, false);
            }
        }
        self.time(now);
    }

    pub fn time(&mut self, now: DateTime<Utc>) {
        self.open |= self.rung(now).is_some() && !self.is_clearing();
    }

    /// The last report has no date, and a single one proves nothing.
    pub fn is_clearing(&self) -> bool {
        self.clear > 0 && !self.fails
    }

    pub fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        self.date.is_some_and(|date| date <= now)
    }

    /// The tightest rung that is crossed; 0 stands for overdue.
    pub fn rung(&self, now: DateTime<Utc>) -> Option<u32> {
        let date = self.date?;
        if date <= now {
            return Some(0);
        }
        RUNGS.into_iter().find(|&rung| crossing(date, rung) <= now)
    }
}

/// The time at which a rung is crossed. The last safe day begins at midnight.
pub fn crossing(date: DateTime<Utc>, rung: u32) -> DateTime<Utc> {
    let before = date - Duration::days(i64::from(rung));
    if rung != LAST_SAFE {
        return before;
    }
    let arrives = (date - Duration::days(3)).date_naive();
    let day = arrives.checked_sub_days(Days::new(1)).unwrap();
    before.min(day.and_time(NaiveTime::MIN).and_utc())
}

impl Truth {
    pub fn of(&self, key: &Key) -> Option<&Thing> {
        let resource = Resource::ALL.into_iter().find(|one| one.key() == *key)?;
        self.things.get(&resource)
    }

    pub fn is_open(&self, key: &Key) -> bool {
        if key.kind == Kind::Disconnect {
            self.cut_off.open
        } else {
            self.of(key).is_some_and(|one| one.open)
        }
    }

    pub fn over_at(&self, key: &Key) -> Option<DateTime<Utc>> {
        if key.kind == Kind::Disconnect { self.cut_off.over_at } else { self.of(key)?.over_at }
    }

    /// A container that is off is the cause of its sites' incidents.
    pub fn is_explained(&self, key: &Key) -> bool {
        *key == Resource::Site.key() && self.is_open(&Resource::Container.key())
    }

    /// The same, if a listing since the start showed the site's container.
    pub fn is_surely_explained(&self, key: &Key) -> bool {
        self.is_explained(key) && self.of(key).is_some_and(|one| one.is_listed)
    }

    /// Time passes, with or without a silence.
    pub fn time(&mut self, is_silenced: bool, now: DateTime<Utc>) {
        for thing in self.things.values_mut().filter(|one| one.open) {
            thing.was_audible |= !is_silenced;
        }
        self.cut_off.time(now);
    }

    /// After a start: nothing was read yet.
    pub fn restart(&mut self) {
        for thing in self.things.values_mut() {
            (thing.is_read, thing.is_listed, thing.missing) = (false, false, 0);
        }
    }
}
