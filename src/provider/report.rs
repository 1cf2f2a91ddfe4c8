//! Reads an expected-balance report (interface 2.8, 4.8) as a stream. Charge moments are decoded while the body
//! arrives, and each order is kept once, so the body is never in memory as a whole.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::model::time::Stamp;
use crate::model::{ChargeMoment, Edd, Moments, Money, Order, OrderId, Report, Tariff};

use super::address::Endpoint;
use super::client::Client;
use super::error::{ApiError, ErrorKind};
use super::wire::{
    DecodeContext, Diagnostics, Field, MomentRow, OrderRecord, Parts, Reader, Record, edd, error_text,
    is_none_json, once, tolerant,
};

/// The number of pieces of the body that may wait to be decoded.
const WAITING: usize = 8;

/// The limits of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub moments: u64,
    /// The JSON of its orders.
    pub order_bytes: u64,
}

/// A report that was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ReportRead {
    pub report: Report,
    /// The first few problems.
    pub problems: Vec<String>,
}

/// Reads one report.
pub(super) async fn read(client: &Client, endpoint: &Endpoint) -> Result<ReportRead, ApiError> {
    let timing = &client.shared.hosts.timing;
    let mut body = client.open(endpoint, endpoint.url.clone(), timing.report_bytes).await?;
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let most = Most { moments: timing.report_moments, order_bytes: timing.listing_bytes };
    let context = Arc::clone(&client.shared.context);
    let decoder = tokio::task::spawn_blocking(move || {
        let mut notes = Diagnostics::default();
        let report = decode(std::iter::from_fn(|| receiver.blocking_recv()), &context, most, &mut notes);
        (report, notes)
    });
    let mut broken = None;
    loop {
        let piece = match body.chunk().await {
            Ok(Some(piece)) => Ok(piece),
            Ok(None) => break,
            Err(kind) => {
                broken = Some(kind);
                Err(io::Error::other("the body ended early"))
            }
        };
        let is_last = piece.is_err();
        // If the decoder has stopped reading, its result is final.
        if sender.send(piece).await.is_err() || is_last {
            break;
        }
    }
    drop(sender);
    drop(body);
    let (report, mut notes) = decoder.await.expect("decoding neither panics nor is aborted");
    client.take_notes(&mut notes);
    let report = report.map(|report| Report { error: report.error.map(|text| client.hide(&text)), ..report });
    let report = broken.map_or(report, Err).map_err(|kind| endpoint.error(kind))?;
    Ok(ReportRead { report, problems: notes.problems })
}

/// Decodes a report, whose body comes in pieces, within these limits.
pub(crate) fn decode(
    mut body: impl Iterator<Item = io::Result<Bytes>>,
    context: &DecodeContext,
    most: Most,
    notes: &mut Diagnostics,
) -> Result<Report, ErrorKind> {
    let mut reader = ReportReader { context, notes, most, parts: ReportParts::default() };
    reader.take_object(&mut Parts::new(&mut body))?;
    reader.parts.finish(context, reader.notes)
}

/// Reads a report part by part.
struct ReportReader<'a> {
    context: &'a DecodeContext,
    notes: &'a mut Diagnostics,
    most: Most,
    parts: ReportParts,
}

/// A report as far as it was read.
#[derive(Default)]
struct ReportParts {
    date: Field<Stamp>,
    edd: Field<Stamp>,
    error: Option<Box<str>>,
    expected_balance: Option<Box<RawValue>>,
    has_moments: bool,
    /// Null is no list where a cut-off is ahead, and an empty one elsewhere.
    is_null: bool,
    moments: Moments,
    rejected: u64,
    /// The last moment before the first that was rejected.
    whole_until: Option<DateTime<Utc>>,
    /// The latest moment so far.
    newest: Option<DateTime<Utc>>,
    is_unsorted: bool,
    orders: Vec<Arc<Order>>,
    order_bytes: u64,
    places: HashMap<OrderId, u32>,
    /// Ten thousand orders share a handful of tariffs.
    tariffs: HashSet<Arc<Tariff>>,
}

impl ReportReader<'_> {
    /// Reads the report's own object, member by member. Of members with the same name the last one counts.
    fn take_object(&mut self, json: &mut Parts<'_>) -> Result<(), ErrorKind> {
        if !json.take(b'{')? {
            json.value()?;
            return Err(ErrorKind::WrongShape("it is no object".into()));
        }
        json.each(b'}', |json| {
            let name = json.name()?;
            if name == "charge_moments" {
                self.parts.forget_moments();
                if json.take(b'[')? {
                    self.parts.has_moments = true;
                    return json.each(b']', |json| self.take_moment(json.value()?));
                }
            }
            self.parts.take_member(&name, json.value()?);
            Ok(())
        })?;
        json.end()
    }

    fn take_moment(&mut self, json: &str) -> Result<(), ErrorKind> {
        let index = self.parts.moments.len() + self.parts.rejected as usize;
        ErrorKind::within(index as u64 + 1, self.most.moments, "charge moments")?;
        ErrorKind::within(self.parts.order_bytes, self.most.order_bytes, "bytes of orders")?;
        let kept;
        let row = match serde_json::from_str::<Field<MomentRow<'_>>>(json) {
            Ok(row) => row,
            Err(_) => {
                kept = once(json).unwrap_or_default();
                serde_json::from_str(&kept).unwrap_or_default()
            }
        };
        let mut reader =
            Reader { context: self.context, notes: self.notes, list: Some(("charge_moments", index)) };
        if let Field::Value(row) = row {
            match row.moment(&mut reader) {
                Ok(moment) => {
                    self.parts.pass(moment.at);
                    let order = self.order(row.order, index);
                    self.parts.moments.push(ChargeMoment { order, ..moment });
                }
                Err(_) => self.parts.reject(row.at(self.context)),
            }
        } else {
            self.notes.refusal(|| format!("$.charge_moments[{index}]"), "no object");
            self.parts.reject(None);
        }
        Ok(())
    }

    /// The index of an order. It is decoded only if its id is new.
    fn order(&mut self, raw: Option<&RawValue>, index: usize) -> Option<u32> {
        let mut reader =
            Reader { context: self.context, notes: self.notes, list: Some(("charge_moments", index)) };
        let Some(raw) = raw else { return reader.odd("moment.order", "missing or null") };
        if let Some(&place) = OrderRecord::id_in(raw.get()).and_then(|id| self.parts.places.get(&id)) {
            return Some(place);
        }
        let Ok(Field::Value(row)) = tolerant::<Field<OrderRecord>>(raw.get().as_bytes()) else {
            return reader.odd("moment.order", "no object");
        };
        let Ok(mut order) = row.into_model((), &mut reader) else {
            return reader.odd("moment.order", "without an id or a state");
        };
        let place = *self.parts.places.entry(order.id).or_insert(self.parts.orders.len() as u32);
        if place as usize == self.parts.orders.len() {
            self.parts.order_bytes += raw.get().len() as u64;
            order.tariff = order.tariff.map(|tariff| self.parts.shared(tariff));
            self.parts.orders.push(Arc::new(order));
        }
        Some(place)
    }
}

impl ReportParts {
    /// Takes any member but a list of charge moments. A field accepts any JSON.
    fn take_member(&mut self, name: &str, json: &str) {
        let Ok(raw) = serde_json::from_str::<&RawValue>(json) else { return };
        match name {
            "date" => self.date = serde_json::from_str(json).unwrap_or_default(),
            "edd" => self.edd = serde_json::from_str(json).unwrap_or_default(),
            "error" => self.error = error_text(raw),
            "expected_balance" => self.expected_balance = Some(raw.to_owned()),
            "charge_moments" => self.is_null = is_none_json(raw),
            _ => {}
        }
    }

    fn forget_moments(&mut self) {
        let Self { date, edd, error, expected_balance, .. } = std::mem::take(self);
        *self = Self { date, edd, error, expected_balance, ..Self::default() };
    }

    fn finish(mut self, context: &DecodeContext, notes: &mut Diagnostics) -> Result<Report, ErrorKind> {
        let mut reader = Reader { context, notes, list: None };
        let is_error = self.error.is_some();
        let date = match is_error {
            true => reader.maybe_moment("report.date", self.date),
            false => reader.moment("report.date", self.date),
        };
        let edd = match is_error && self.edd == Field::Missing {
            true => Edd::Unknown,
            false => edd(self.edd, &mut reader),
        };
        // A report with an error needs nothing else. Any other report needs a list of moments, or a date.
        if !self.has_moments && !is_error {
            if matches!(edd, Edd::At(_)) {
                let _ = reader.refuse::<()>("report.charge_moments", "no list");
                (self.rejected, self.whole_until) = (1, Some(DateTime::<Utc>::MIN_UTC));
            } else if !self.is_null {
                return Err(ErrorKind::WrongShape("$.charge_moments is no list".into()));
            }
        }
        // The sort is stable: charges of one moment keep the provider's order, in which the balances add up.
        self.moments.sort();
        if self.moments.first().is_some_and(|first| first.amount == ChargeMoment::UNPRICED) {
            // Nor is the balance before it known.
            self.whole_until = Some(DateTime::<Utc>::MIN_UTC);
        }
        let orders = by_id(self.orders, &mut self.moments);
        let last = self.moments.last().filter(|_| self.rejected == 0).map(|last| last.balance);
        // A missing balance is that after the last charge. An unreadable one stays unknown.
        let expected_balance = match self.expected_balance.filter(|raw| !is_none_json(raw)) {
            Some(raw) => reader.decimal("report.expected_balance", Some(&raw)).map(Money::new),
            None => last,
        };
        Ok(Report {
            date,
            edd,
            error: self.error,
            expected_balance,
            moments: self.moments,
            orders,
            made: None,
            moments_rejected: self.rejected,
            // If the list is not sorted, the first charge may be among those left out.
            whole_until: self
                .whole_until
                .map(|at| if self.is_unsorted { DateTime::<Utc>::MIN_UTC } else { at }),
        })
    }

    /// Notes a moment that is left out, and its time if that can be read.
    fn reject(&mut self, at: Option<DateTime<Utc>>) {
        self.rejected += 1;
        self.whole_until.get_or_insert(self.newest.unwrap_or(DateTime::<Utc>::MIN_UTC));
        at.into_iter().for_each(|at| self.pass(at));
    }

    fn pass(&mut self, at: DateTime<Utc>) {
        self.is_unsorted |= self.newest > Some(at);
        self.newest = self.newest.max(Some(at));
    }

    /// The equal tariff that is kept already, or this one.
    fn shared(&mut self, tariff: Arc<Tariff>) -> Arc<Tariff> {
        self.tariffs.insert(Arc::clone(&tariff));
        self.tariffs.get(&tariff).map_or(tariff, Arc::clone)
    }
}

/// Sorts the orders by their ids, and corrects the indexes in the moments.
fn by_id(orders: Vec<Arc<Order>>, moments: &mut Moments) -> Vec<Arc<Order>> {
    let mut sorted: Vec<(usize, Arc<Order>)> = orders.into_iter().enumerate().collect();
    sorted.sort_by_key(|(_, order)| order.id);
    let mut new_places = vec![0; sorted.len()];
    for (new, (old, _)) in (0u32..).zip(&sorted) {
        new_places[*old] = new;
    }
    moments.move_orders(&new_places);
    sorted.into_iter().map(|(_, order)| order).collect()
}
