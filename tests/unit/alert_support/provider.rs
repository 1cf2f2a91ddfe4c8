//! The answers of the provider, and how each of them is read.

use std::collections::BTreeMap;

use super::{World, bill, container, roubles, site, vm};
use crate::model::*;
use chrono::{DateTime, Utc};

/// The present state of everything, as a reading shows it.
pub(super) struct Provider {
    pub vms: BTreeMap<u64, String>,
    pub containers: BTreeMap<u64, String>,
    /// A tenth of a site's number is its container's.
    pub sites: BTreeMap<u64, String>,
    pub bill: Bill,
    /// The report that a test gave instead.
    pub given: Option<Report>,
    /// The state of order 71, where there is one.
    pub order: Option<OrderState>,
    pub failing: BTreeMap<Collector, FailureKind>,
}

/// The provider's answer about money.
#[derive(Clone)]
pub(super) struct Bill {
    /// When the account had so many kopecks, if it is charged 10.00 every 24 hours since.
    pub from: Option<DateTime<Utc>>,
    pub kopecks: i64,
    pub edd: Edd,
    pub has_charges: bool,
}

/// Enough for longer than a story lasts.
pub(super) const PAID: Bill = Bill { from: None, kopecks: 500_000, edd: Edd::Null, has_charges: true };

pub(super) const ALL: [Collector; 4] =
    [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance];

impl Bill {
    fn report(&self, now: DateTime<Utc>, order: Option<&OrderState>) -> Report {
        let mut report = bill(self.from.unwrap_or(now), now, self.kopecks, self.edd);
        if !self.has_charges {
            report.moments = crate::model::Moments::default();
            report.expected_balance = Some(roubles(self.kopecks));
        }
        report.orders.extend(order.map(|state| {
            let state = state.clone();
            Order { id: 71.into(), state, comment: Some("shop".into()), tariff: None }.into()
        }));
        report
    }
}

impl Provider {
    /// Everything is well.
    pub fn healthy() -> Self {
        let all = |of: &[(u64, &str)]| of.iter().map(|&(id, state)| (id, state.to_owned())).collect();
        Self {
            vms: all(&[(1, "active"), (2, "active")]),
            containers: all(&[(10, "ENABLED"), (11, "ENABLED")]),
            sites: all(&[(100, "Active"), (101, "Active"), (110, "Active")]),
            bill: PAID,
            given: None,
            order: None,
            failing: BTreeMap::new(),
        }
    }

    /// A listing, without one of its rows if that is hidden.
    fn listed<T>(all: &BTreeMap<u64, String>, hidden: Option<u64>, row: impl Fn(u64, &str) -> T) -> Rows<T> {
        let shown = all.iter().filter(|(id, _)| Some(**id) != hidden);
        Rows::new(shown.map(|(&id, state)| row(id, state)).collect(), hidden.is_none())
    }

    pub fn vms(&self, hidden: Option<u64>) -> Read {
        Read::Vms(Self::listed(&self.vms, hidden, vm))
    }

    pub fn containers(&self, hidden: Option<u64>) -> Read {
        Read::Containers(Self::listed(&self.containers, hidden, container))
    }

    pub fn sites(&self, home: u64, hidden: Option<u64>) -> Read {
        let mut listed = Self::listed(&self.sites, hidden, |id, state| site(id, id / 10, state));
        listed.rows.retain(|row| row.container == home.into());
        Read::Sites(ContainerId::new(home), listed)
    }
}

impl World {
    /// Polls a collector once.
    pub(super) fn poll(&mut self, collector: Collector) {
        if let Some(how) = self.provider.failing.get(&collector) {
            self.fail(collector, *how);
            return;
        }
        if collector == Collector::Vms {
            self.read(collector, self.provider.vms(None));
        } else if collector == Collector::Containers {
            self.read(collector, self.provider.containers(None));
        } else if collector == Collector::Sites {
            for home in self.provider.containers.keys().copied().collect::<Vec<_>>() {
                self.read(collector, self.provider.sites(home, None));
            }
            self.end(collector, None);
        } else {
            let Provider { bill, given, order, .. } = &self.provider;
            let report = given.clone().unwrap_or_else(|| bill.report(self.now, order.as_ref()));
            self.read(collector, Read::ExpectedBalance(report));
        }
    }

    /// Polls every collector once.
    pub fn look(&mut self) {
        ALL.into_iter().for_each(|collector| self.poll(collector));
    }
}
