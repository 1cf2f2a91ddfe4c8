//! Charges, and the pieces of an expected-balance report (interface 2.8, 2.9). `report` puts the report
//! together and never holds it whole.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde_json::value::RawValue;

use crate::model::time::Stamp;
use crate::model::{Charge, ChargeMoment, Edd, Money, Order, OrderId, OrderState, Tariff};

use super::decimal::decimal;
use super::diagnostics::{DecodeContext, Reader, Record, Rejected, row};
use super::field::{Field, Wire, in_words, is_none, is_none_json};
use super::lenient::{NO_NUMBER, tolerant};

/// No account was cut off before this year.
const FIRST_YEAR: i32 = 2010;
/// In some languages the last possible moment means that there is none.
const NO_YEAR: i32 = 9999;

/// A charge (2.9).
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ChargeRow {
    event_date: Field<Box<str>>,
    /// As it came. Its text counts, in quotes or without.
    total: Option<Box<RawValue>>,
    resource_uri: Field<Box<str>>,
}

impl Record for ChargeRow {
    type Model = Charge;
    type Parent = ();

    fn into_model(self, (): (), reader: &mut Reader<'_>) -> Result<Charge, Rejected> {
        let event_date = reader.require("charge.event_date", self.event_date)?;
        let Some(event_date) = date(&event_date) else {
            return reader.refuse("charge.event_date", "no date");
        };
        let total = exact(self.total.as_deref()).or_else(|what| reader.refuse("charge.total", what))?;
        Ok(Charge {
            event_date,
            total: Money::new(total),
            resource_uri: reader.take("charge.resource_uri", self.resource_uri),
        })
    }
}

/// `YYYY-MM-DD`, alone or at the start of a datetime.
fn date(text: &str) -> Option<NaiveDate> {
    let text = text.trim();
    match text.as_bytes().get(10) {
        None | Some(b'T' | b' ') => NaiveDate::parse_from_str(text.get(..10)?, "%Y-%m-%d").ok(),
        Some(_) => None,
    }
}

/// A charge moment. Its order stays text and is decoded once an order. There may be a million moments, so
/// fields are borrowed if possible.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct MomentRow<'a> {
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    #[serde(borrow)]
    balance: Option<&'a RawValue>,
    moment: Field<Stamp>,
    positive: Field<bool>,
    #[serde(borrow)]
    pub order: Option<&'a RawValue>,
}

impl<'de> Wire<'de> for MomentRow<'de> {
    fn object<A: MapAccess<'de>>(object: A) -> Result<Field<Self>, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(object)).map(Field::Value)
    }
}

impl MomentRow<'_> {
    /// The time and the balance are required: a moment that lacks one proves nothing. The balances of its neighbours
    /// tell an amount that cannot be read.
    pub(crate) fn moment(&self, reader: &mut Reader<'_>) -> Result<ChargeMoment, Rejected> {
        let stamp = reader.require("moment.moment", self.moment.clone())?;
        let Some(at) = stamp.at(reader.context.zone) else {
            return reader.refuse("moment.moment", "a datetime without offset, and no time_zone is set");
        };
        let balance = exact(self.balance).or_else(|what| reader.refuse("moment.balance", what))?;
        let amount = reader.decimal("moment.amount", self.amount).map_or(ChargeMoment::UNPRICED, Money::new);
        let positive = reader.take("moment.positive", self.positive.clone());
        Ok(ChargeMoment { at, amount, balance: Money::new(balance), positive, order: None })
    }

    /// The time alone, if it can be read.
    pub(crate) fn at(&self, context: &DecodeContext) -> Option<DateTime<Utc>> {
        let Field::Value(stamp) = &self.moment else { return None };
        stamp.at(context.zone)
    }
}

/// An order's id alone, to find out whether the order is known.
#[derive(Deserialize, Default)]
#[serde(default)]
struct IdOnly {
    id: Field<u64>,
}

/// A billing order (2.8).
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct OrderRecord {
    id: Field<u64>,
    comment: Field<Box<str>>,
    state: Field<Box<str>>,
    tariff: Field<TariffRow>,
}

impl OrderRecord {
    /// The id in an order's text, if it can be found without decoding the rest.
    pub(crate) fn id_in(text: &str) -> Option<OrderId> {
        let order = tolerant::<Field<IdOnly>>(text.as_bytes()).ok()?.value().ok()?;
        order.id.value().ok().map(OrderId::new)
    }
}

impl Record for OrderRecord {
    type Model = Order;
    type Parent = ();

    fn into_model(self, (): (), reader: &mut Reader<'_>) -> Result<Order, Rejected> {
        let id = OrderId::new(reader.require("order.id", self.id)?);
        let state = OrderState::from(&*reader.state("order.state", self.state)?);
        if !state.is_known() {
            reader.unknown("order.state");
        }
        Ok(Order {
            id,
            state,
            comment: reader.take("order.comment", self.comment),
            tariff: reader
                .take("order.tariff", self.tariff)
                .map(|tariff| Arc::new(tariff.into_model(reader))),
        })
    }
}

/// A tariff (2.8).
#[derive(Deserialize, Default)]
#[serde(default)]
struct TariffRow {
    generic_type: Field<Box<str>>,
    name: Field<Box<str>>,
    short_name: Field<Box<str>>,
}

impl TariffRow {
    fn into_model(self, reader: &mut Reader<'_>) -> Tariff {
        Tariff {
            generic_type: reader.maybe("tariff.generic_type", self.generic_type).filter(|it| !is_none(it)),
            name: reader.take("tariff.name", self.name),
            short_name: reader.take("tariff.short_name", self.short_name),
        }
    }
}

row!(ChargeRow, IdOnly, OrderRecord, TariffRow);

/// The expected date of the cut-off. None has a meaning; any other value that is no date is odd.
pub(crate) fn edd(field: Field<Stamp>, reader: &mut Reader<'_>) -> Edd {
    if matches!(field, Field::Null) {
        return Edd::Null;
    }
    match reader.moment("report.edd", field) {
        None => Edd::Unknown,
        Some(at) if at.year() >= NO_YEAR => Edd::Null,
        Some(at) if at.year() < FIRST_YEAR => {
            reader.odd("report.edd", format_args!("{at} is long past")).unwrap_or(Edd::Unknown)
        }
        Some(at) => Edd::At(at),
    }
}

/// A report's `error`: `None` if it means none or is 0. Any other value that is no string is shown as it came, since
/// it is an error too.
pub(crate) fn error_text(raw: &RawValue) -> Option<Box<str>> {
    /// A longer text would only fill the log.
    const LONGEST: usize = 2_000;
    if is_none_json(raw) || decimal(raw).is_some_and(|number| number.is_zero()) {
        return None;
    }
    let text =
        serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().replace(NO_NUMBER, "NaN"));
    Some(text.trim().chars().take(LONGEST).collect::<String>().into())
}

/// The decimal, or the words for the value in its place.
fn exact(raw: Option<&RawValue>) -> Result<Decimal, Cow<'static, str>> {
    let raw = raw.ok_or("missing or null")?;
    decimal(raw).ok_or_else(|| format!("{} is no decimal", in_words(raw)).into())
}

impl Reader<'_> {
    /// A decimal that should be there.
    pub(crate) fn decimal(&mut self, name: &'static str, raw: Option<&RawValue>) -> Option<Decimal> {
        exact(raw).map_or_else(|what| self.odd(name, what), Some)
    }
}
