//! The readings of this world: the provider's answer to each poll.

use super::truth::{Observation, Resource, name};
use crate::model::{ChargeMoment, Collector, ContainerId, Edd, Profile, Read, Report, Rows};
use crate::unit::alert_support::{container, roubles, site, vm};
use chrono::{DateTime, Duration, Utc};

/// The present bill of the provider.
#[derive(Clone, Debug)]
pub struct Bill {
    /// The time of its last change.
    pub since: DateTime<Utc>,
    /// The date of the cut-off.
    pub date: Option<DateTime<Utc>>,
    /// The balance in kopecks.
    pub balance: i64,
    pub is_paid: bool,
    /// The number of payments so far.
    pub payments: i64,
}

/// How the bill changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Turn {
    /// A cut-off is less than two weeks ahead.
    Near,
    /// The cut-off is less than three days ahead.
    Nearer,
    /// A payment moves the cut-off beyond all rungs.
    Paid,
    /// The account is cut off.
    Off,
    /// It is paid for longer than the exploration lasts.
    Clear,
}

const NEAR: Duration = Duration::hours(6 * 24 + 12);
const NEARER: Duration = Duration::hours(2 * 24 + 12);
const FAR: Duration = Duration::hours(20 * 24 + 12);

impl Bill {
    pub fn clear(now: DateTime<Utc>) -> Self {
        Self { since: now, date: None, balance: 500_000, is_paid: false, payments: 0 }
    }

    /// The bill after this change, if the change makes sense. `believed` is the date that is known so far.
    pub fn turn(&self, turn: Turn, believed: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Option<Self> {
        let is_sooner = |date: DateTime<Utc>| believed.is_none_or(|known| date < known);
        let new = |date: DateTime<Utc>, balance| Self {
            since: now,
            date: Some(date),
            balance,
            is_paid: false,
            payments: self.payments,
        };
        match turn {
            Turn::Near => Some(new(now + NEAR, 2_550)).filter(|_| is_sooner(now + NEAR)),
            Turn::Nearer => Some(new(now + NEARER, 1_550)).filter(|_| is_sooner(now + NEARER)),
            Turn::Off => {
                let date = now - Duration::hours(1);
                Some(new(date, -500)).filter(|_| is_sooner(date))
            }
            Turn::Paid => {
                let payments = self.payments + 1;
                let paid = Self { payments, is_paid: true, ..new(now + FAR, 900_000 + 100_000 * payments) };
                Some(paid).filter(|_| believed.is_some_and(|known| known < now + FAR - Duration::days(2)))
            }
            Turn::Clear => {
                Some(Self { payments: self.payments, ..Self::clear(now) }).filter(|_| self.date.is_some())
            }
        }
    }

    fn report(&self) -> Report {
        let charge = |at: DateTime<Utc>, amount: i64, balance: i64| ChargeMoment {
            at,
            amount: roubles(amount),
            balance: roubles(balance),
            positive: Some(balance > 0),
            order: None,
        };
        let moments = match self.date {
            Some(date) => {
                vec![charge(date, self.balance.abs() + 450, self.balance - self.balance.abs() - 450)]
            }
            None => vec![charge(self.since + Duration::days(60), 1_000, self.balance - 1_000)],
        };
        Report {
            date: Some(self.since + Duration::days(90)),
            edd: self.date.map_or(Edd::Null, Edd::At),
            error: None,
            expected_balance: moments.last().map(|last| last.balance),
            moments: moments.into(),
            orders: Vec::new(),
            made: None,
            moments_rejected: 0,
            whole_until: None,
        }
    }

    pub fn read(&self) -> Read {
        Read::ExpectedBalance(self.report())
    }
}

impl Resource {
    pub fn collector(self) -> Collector {
        match self {
            Self::Vm => Collector::Vms,
            Self::Container => Collector::Containers,
            Self::Site => Collector::Sites,
        }
    }

    /// The listing, or nothing if the poll failed. Beside each row that changes stands one that is well.
    pub fn listing(self, observation: Observation) -> Option<Read> {
        let complete = observation != Observation::Hidden;
        let state = |bad: &'static str, good: &'static str| match observation {
            Observation::Bad => Some(bad),
            Observation::Good => Some(good),
            Observation::Hidden | Observation::Missing | Observation::Fails => None,
        };
        if observation == Observation::Fails {
            return None;
        }
        Some(match self {
            Self::Vm => {
                let rows = state("error", "active").map(|state| vm(1, state));
                Read::Vms(Rows::new(rows.into_iter().chain([vm(2, "active")]).collect(), complete))
            }
            Self::Container => {
                let rows = state("DISABLED_BY_QUOTA", "ENABLED").map(|state| container(10, state));
                let rows = rows.into_iter().chain([container(11, "ENABLED")]).collect();
                Read::Containers(Rows::new(rows, complete))
            }
            Self::Site => {
                let rows = state("Error", "Active").map(|state| site(100, 10, state));
                let rows = rows.into_iter().chain([site(101, 10, "Active")]).collect();
                Read::Sites(ContainerId::new(10), Rows::new(rows, complete))
            }
        })
    }
}

pub fn profile() -> Profile {
    let collectors =
        [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance].into();
    Profile {
        collectors,
        time_zone: Some(chrono_tz::UTC),
        stale_after: Default::default(),
        ..crate::unit::account::profile(name().as_str())
    }
}
