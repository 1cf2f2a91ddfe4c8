//! Reads an expected-balance report (interface 2.8, 4.8) as a stream. Charge moments are decoded while the body
//! arrives, and each order is kept once, so the body is never in memory as a whole.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::model::{ChargeMoment, Edd, Moments, Money, Order, OrderId, Report, Tariff};

use super::address::Endpoint;
use super::client::Client;
use super::error::{ApiError, ErrorKind};
use super::said::web_page;
use super::wire::{
    DecodeContext, Diagnostics, Field, Mended, MomentRow, OrderRecord, Reader, Record, Stamp, edd,
    error_text, is_none, is_none_json,
};

/// The number of pieces of the body that may wait to be decoded.
const WAITING: usize = 8;
/// The longest member or charge moment. Each is held whole while it is decoded.
const LONGEST_PART_BYTES: u64 = 1 << 20;

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
    let (sender, receiver) = mpsc::channel(WAITING);
    let most = Most { moments: timing.report_moments, order_bytes: timing.listing_bytes };
    let context = Arc::clone(&client.shared.context);
    let decoder = tokio::task::spawn_blocking(move || {
        let pieces = Pieces { receiver, piece: Bytes::new() };
        let mut notes = Diagnostics::default();
        let report = decode(pieces, &context, most, &mut notes);
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
    let report = report.map(|report| Report { error: report.error.map(|text| client.hide(text)), ..report });
    let report = broken.map_or(report, Err).map_err(|kind| endpoint.error(kind))?;
    Ok(ReportRead { report, problems: notes.problems })
}

/// The body as a reader for the decoder's thread.
struct Pieces {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let size = buffer.len().min(self.piece.len());
        buffer[..size].copy_from_slice(&self.piece.split_to(size));
        Ok(size)
    }
}

/// A reader that fails if a part of the report is too long.
struct Metered<'a, R> {
    body: R,
    /// The number of bytes since the last part ended.
    since: &'a Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > LONGEST_PART_BYTES {
            return Err(io::Error::other("a part of it does not end"));
        }
        let size = self.body.read(buffer)?;
        self.since.set(self.since.get() + size as u64);
        Ok(size)
    }
}

/// Decodes a report within these limits.
pub(crate) fn decode(
    body: impl Read,
    context: &DecodeContext,
    most: Most,
    notes: &mut Diagnostics,
) -> Result<Report, ErrorKind> {
    let since = Cell::new(0);
    let mut body = BufReader::with_capacity(64 << 10, Mended::new(Metered { body, since: &since }));
    // A failure is found again by the decoder.
    let page = body.fill_buf().ok().and_then(web_page);
    let mut reader = ReportReader { context, notes, most, since: &since, parts: ReportParts::default() };
    let mut json = serde_json::Deserializer::from_reader(body);
    let read = json.deserialize_any(&mut reader).and_then(|()| json.end());
    let parts = reader.parts;
    if let Some(kind) = parts.too_large {
        return Err(kind);
    }
    match read {
        Ok(()) => parts.finish(context, notes),
        Err(error) if error.is_io() && since.get() > LONGEST_PART_BYTES => {
            let what = format!("a part of it has more than {LONGEST_PART_BYTES} bytes");
            Err(ErrorKind::WrongShape(what))
        }
        // The shape is checked before the syntax: `[]` and `"…"` are JSON too. The error's own words may quote
        // the body.
        Err(error) if error.is_data() => Err(ErrorKind::WrongShape(format!(
            "no object with a list of charge moments, line {} column {}",
            error.line(),
            error.column()
        ))),
        Err(error) => Err(ErrorKind::NotJson(page.unwrap_or_else(|| format!(": {error}")))),
    }
}

/// Reads a report part by part.
struct ReportReader<'a> {
    context: &'a DecodeContext,
    notes: &'a mut Diagnostics,
    most: Most,
    /// Set to 0 at the end of each part.
    since: &'a Cell<u64>,
    parts: ReportParts,
}

/// A report as far as it was read.
#[derive(Default)]
struct ReportParts {
    too_large: Option<ErrorKind>,
    date: Field<Stamp>,
    edd: Field<Stamp>,
    error: Option<Box<str>>,
    expected_balance: Option<Box<RawValue>>,
    has_moments: bool,
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
    fn take_moment(&mut self, raw: &RawValue) {
        let row = serde_json::from_str::<Field<MomentRow<'_>>>(raw.get()).unwrap_or_default();
        let index = self.parts.moments.len() + self.parts.rejected as usize;
        let mut reader =
            Reader { context: self.context, notes: self.notes, list: Some(("charge_moments", index)) };
        let Field::Value(row) = row else {
            let _ = reader.refuse::<()>("moment", "no object");
            return self.parts.reject(None);
        };
        let Ok(moment) = row.moment(&mut reader) else {
            return self.parts.reject(row.at(self.context));
        };
        self.parts.pass(moment.at);
        let order = self.order(row.order, index);
        self.parts.moments.push(ChargeMoment { order, ..moment });
    }

    /// The index of an order. It is decoded only if its id is new.
    fn order(&mut self, raw: Option<&RawValue>, index: usize) -> Option<u32> {
        let mut reader =
            Reader { context: self.context, notes: self.notes, list: Some(("charge_moments", index)) };
        let Some(raw) = raw else { return reader.odd("moment.order", "missing or null") };
        if let Some(&place) = OrderRecord::id_in(raw.get()).and_then(|id| self.parts.places.get(&id)) {
            return Some(place);
        }
        let Ok(Field::Value(row)) = serde_json::from_str::<Field<OrderRecord>>(raw.get()) else {
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
            if !matches!(edd, Edd::At(_)) {
                return Err(ErrorKind::WrongShape("$.charge_moments is no list".into()));
            }
            let _ = reader.refuse::<()>("report.charge_moments", "no list");
            (self.rejected, self.whole_until) = (1, Some(DateTime::<Utc>::MIN_UTC));
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

/// The report's own object, member by member. Of members with the same name the last one counts.
impl<'de> Visitor<'de> for &mut ReportReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a report")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.since.set(0);
            match name.as_str() {
                "date" => self.parts.date = map.next_value()?,
                "edd" => self.parts.edd = map.next_value()?,
                "error" => self.parts.error = error_text(&map.next_value::<Box<RawValue>>()?),
                "expected_balance" => self.parts.expected_balance = map.next_value()?,
                "charge_moments" => map.next_value_seed(MomentList(self))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The list of charge moments.
struct MomentList<'p, 'a>(&'p mut ReportReader<'a>);

impl<'de> DeserializeSeed<'de> for MomentList<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MomentList<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of charge moments")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.parts.has_moments = true;
        Ok(())
    }
    fn visit_bool<E>(self, is_some: bool) -> Result<(), E> {
        self.0.parts.has_moments = !is_some;
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.parts.has_moments = is_none(text);
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.parts.has_moments = true;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            self.0.parts.has_moments = false;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self(reader) = self;
        reader.parts.has_moments = true;
        while let Some(raw) = list.next_element::<Box<RawValue>>()? {
            reader.since.set(0);
            let (most, parts) = (reader.most, &mut reader.parts);
            let moments = parts.moments.len() as u64 + parts.rejected;
            parts.too_large = if moments >= most.moments {
                Some(ErrorKind::TooLarge { limit: most.moments, unit: "charge moments" })
            } else if parts.order_bytes > most.order_bytes {
                Some(ErrorKind::TooLarge { limit: most.order_bytes, unit: "bytes of orders" })
            } else {
                None
            };
            if parts.too_large.is_some() {
                return Err(serde::de::Error::custom("too much"));
            }
            reader.take_moment(&raw);
        }
        Ok(())
    }
}
