//! Billing as the provider reports it (interface 2.8, 2.9). What follows from it is in `forecast`.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
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
    /// A date was given.
    At(DateTime<Utc>),
    /// Null: by the interface, later than the report's date. By itself no good news.
    Null,
    /// Missing or not a date: nothing is known.
    Unknown,
}

/// An expected-balance report (interface 2.8).
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Report {
    /// The date that was asked for.
    pub date: Option<DateTime<Utc>>,
    pub edd: Edd,
    /// The provider's own error message. A report with one counts as a failed poll.
    pub error: Option<Box<str>>,
    /// As of `date`.
    pub expected_balance: Option<Money>,
    /// In the order of time.
    pub moments: Moments,
    /// The orders that the moments name, each once, by id.
    pub orders: Vec<Arc<Order>>,
    /// Moments that could not be decoded: the report is then no proof that all is well.
    pub moments_rejected: u64,
}

impl Report {
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
    /// One for all orders of a report that have the same.
    pub tariff: Option<Arc<Tariff>>,
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
    pub description: Option<Box<str>>,
    pub price: Option<Money>,
    pub quantity: Option<Decimal>,
    pub total: Money,
    /// The path of the charge; unique to it.
    pub resource_uri: Option<Box<str>>,
}
