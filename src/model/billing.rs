//! Billing as the provider reports it (interface 2.8, 2.9). `forecast` draws the conclusions.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use super::charge_moment::ChargeMoment;
use super::ids::OrderId;
use super::moments::Moments;
use super::money::Money;
use super::states::OrderState;

/// The expected disconnect date of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Edd {
    /// A date.
    At(DateTime<Utc>),
    /// Null: by the interface, later than the report's date. This alone proves nothing.
    Null,
    /// Missing, or no date: unknown.
    Unknown,
}

/// An expected-balance report (interface 2.8). The store keeps it without its error and its orders.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The date that was asked for.
    pub date: Option<DateTime<Utc>>,
    pub edd: Edd,
    /// The provider's own error message. A report with one counts as a failed poll.
    #[serde(skip)]
    pub error: Option<Box<str>>,
    /// The balance at `date`.
    pub expected_balance: Option<Money>,
    /// The moments ahead of the reading, sorted by time.
    #[serde(rename = "charges", with = "super::last_report::stored")]
    pub moments: Moments,
    /// The time of the first charge that was made by the reading, and the balance after the last one.
    pub made: Option<(DateTime<Utc>, Money)>,
    /// The orders of the moments, each once, by id.
    #[serde(skip)]
    pub orders: Vec<Arc<Order>>,
    /// The number of moments that could not be decoded. With any, the report is no proof that all is well.
    pub moments_rejected: u64,
    /// From this moment on charges may be missing, or one is not known, since one could not be decoded.
    pub whole_until: Option<DateTime<Utc>>,
}

impl Report {
    /// The report as it is at `now`: charges that fell due are made, and cut nothing off any more.
    pub(crate) fn at(self, now: DateTime<Utc>) -> Self {
        let count = self.moments.until(now);
        let Some((first, last)) = self.moments.first().zip(self.moments.get(count.wrapping_sub(1))) else {
            return self;
        };
        let since = self.made.map_or(first.at, |(since, _)| since);
        let made = self.is_whole_until(now).then_some((since, last.balance));
        Self { moments: self.moments.iter_from(count).collect(), made, ..self }
    }

    /// Whether all charges up to `at` could be decoded.
    pub(crate) fn is_whole_until(&self, at: DateTime<Utc>) -> bool {
        self.whole_until.is_none_or(|until| at < until)
    }

    /// The order that a moment charges.
    pub(crate) fn order_of(&self, moment: &ChargeMoment) -> Option<&Arc<Order>> {
        self.orders.get(moment.order? as usize)
    }
}

/// A billing order (interface 2.8).
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Order {
    pub id: OrderId,
    pub state: OrderState,
    pub comment: Option<Box<str>>,
    /// Orders with the same tariff share it.
    pub tariff: Option<Arc<Tariff>>,
}

impl Order {
    /// The name of its tariff, or the short name.
    pub(crate) fn tariff_name(&self) -> Option<&str> {
        let tariff = self.tariff.as_ref()?;
        tariff.name.as_deref().or(tariff.short_name.as_deref())
    }
}

/// The tariff of an order (interface 2.8).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Tariff {
    /// `hosting`, `dedicated` or null.
    pub generic_type: Option<Box<str>>,
    pub name: Option<Box<str>>,
    pub short_name: Option<Box<str>>,
}

/// A past charge (interface 2.9).
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Charge {
    pub event_date: NaiveDate,
    pub total: Money,
    /// The path of the charge, which is unique.
    pub resource_uri: Option<Box<str>>,
}
