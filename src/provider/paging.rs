//! Reads a listing to its end, in both manners of paging, and judges whether all rows were shown.
//!
//! Rows may shift between pages during a reading. The signs are a row that comes twice, more or fewer rows than
//! `count`, or a `count` that changes. Then the listing is read again once. If the second reading is no better,
//! the rows of both are returned as incomplete: they are observations, but a missing row proves nothing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use reqwest::Url;

use crate::model::{Charge, Container, Counted, Group, Ip, Resource, Site, Stated as _, Vm};

use super::address::Endpoint;
use super::client::Client;
use super::error::{ApiError, ErrorKind};
use super::wire::{self, Diagnostics, MOST_ROWS, NextPage, PAGE_ROWS, Record, WirePage};

/// Bodies of this size are decoded outside of the runtime's threads.
const LARGE_BYTES: usize = 256 << 10;

/// A listing that was read to its end.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Listed<T> {
    /// Each id once, with its worst row, of equally bad ones with the last.
    pub rows: Vec<T>,
    /// Whether these and the unreadable ones are all rows: every id was read, none came twice, and their number is
    /// `count`, or it is larger in two readings alike. Without a `count` the listing must end properly: with a null
    /// `next`, or an extra page without new rows.
    pub shows_all: bool,
    /// The number of rows in the last reading that could not be decoded.
    pub rejected: u64,
    /// The ids of those of them that have one.
    pub unreadable: BTreeSet<u64>,
    /// The first few problems.
    pub problems: Vec<String>,
    /// The error of a later page. The rows are those of the pages before it.
    pub failure: Option<ApiError>,
}

impl<T> Listed<T> {
    /// Whether every row was read.
    pub(crate) fn is_whole(&self) -> bool {
        self.shows_all && self.unreadable.is_empty()
    }
}

/// A row with an identity, which shows that it came twice.
pub(super) trait Identified {
    type Key: Eq + Hash;
    fn key(&self) -> Self::Key;
    /// Whether its state is worse than that of another row.
    fn is_worse_than(&self, _: &Self) -> bool {
        false
    }
    /// Whether another row may have the same key.
    fn may_have_twins(&self) -> bool {
        false
    }
}

macro_rules! identified {
    ($($row:ty $(: $health:ident)?),*) => {$(
        impl Identified for $row {
            type Key = <Self as Resource>::Id;
            fn key(&self) -> Self::Key {
                self.id()
            }
            $(fn is_worse_than(&self, other: &Self) -> bool {
                self.$health() < other.$health()
            })?
        }
    )*};
}
identified!(Vm: health, Container: health, Site: health, Ip, Counted);

/// A charge without an address is identified by all its fields, and may have an equal twin.
impl Identified for Charge {
    type Key = String;

    fn key(&self) -> String {
        self.resource_uri.as_ref().map_or_else(|| format!("{self:?}"), ToString::to_string)
    }

    fn may_have_twins(&self) -> bool {
        self.resource_uri.is_none()
    }
}

/// Reads a whole listing.
pub(super) async fn read<R: Record<Model: Identified>>(
    client: &Client,
    endpoint: &Endpoint,
    parent: R::Parent,
) -> Result<Listed<R::Model>, ApiError> {
    let mut first = Reading::make::<R>(Pages::new(client, endpoint), parent).await;
    if let Some(error) = first.failure.take_if(|_| first.rows.is_empty()) {
        return Err(error);
    }
    if first.failure.is_some() || first.is_steady() {
        return Ok(first.judged());
    }
    let mut second = Reading::make::<R>(Pages::new(client, endpoint), parent).await;
    if let Some(error) = second.failure.take() {
        // The first reading had all its pages, so the listing is incomplete and has not failed.
        let mut listed = first.judged_with(second);
        listed.problems.push(format!("read again in vain: {error}"));
        return Ok(listed);
    }
    // A count that two equal readings exceed counts something else than rows.
    if second.exceeds_count_like(&first) {
        second.counts.clear();
    }
    Ok(if second.is_steady() { second.judged() } else { second.judged_with(first) })
}

/// All pages of a listing, read once.
struct Reading<'a, T: Identified> {
    pages: Pages<'a>,
    rows: Vec<T>,
    places: HashMap<T::Key, usize>,
    duplicates: u64,
    rejected: u64,
    unreadable: BTreeSet<u64>,
    /// The count of each page that has one, and the number of its rows.
    counts: Vec<(u64, u64)>,
    failure: Option<ApiError>,
}

/// The number of all rows by the pages, if they tell it. `Err` if rows came or went during the reading.
type RowTotal = Result<Option<u64>, &'static str>;

impl<'a, T: Identified + Send + 'static> Reading<'a, T> {
    async fn make<R: Record<Model = T>>(pages: Pages<'a>, parent: R::Parent) -> Self {
        let mut reading = Self {
            pages,
            rows: Vec::new(),
            places: HashMap::new(),
            duplicates: 0,
            rejected: 0,
            unreadable: BTreeSet::new(),
            counts: Vec::new(),
            failure: None,
        };
        reading.failure = reading.read::<R>(parent).await.err();
        reading
    }

    async fn read<R: Record<Model = T>>(&mut self, parent: R::Parent) -> Result<(), ApiError> {
        while let Some(page) = self.pages.next::<R>(parent).await? {
            self.rejected += page.rejected;
            self.unreadable.extend(&page.unreadable);
            if self.pages.was_extra && self.has_all(&page) {
                self.pages.ended = true;
                break;
            }
            self.counts.extend(page.count.map(|count| (count, page.shown())));
            // Most listings are one page, and waiting rows should hold no spare room.
            self.rows.reserve(page.rows.len());
            let names_next = matches!(page.next, NextPage::At(_));
            page.rows.into_iter().for_each(|row| self.take(row));
            // A server that ignores the query shows the same rows on ever more pages.
            if names_next && self.duplicates > self.rows.len() as u64 {
                return Err(self.pages.circle());
            }
        }
        Ok(())
    }

    fn take(&mut self, row: T) {
        match self.places.get(&row.key()) {
            Some(&place) if !row.may_have_twins() => {
                self.duplicates += 1;
                if !self.rows[place].is_worse_than(&row) {
                    self.rows[place] = row;
                }
            }
            _ => {
                self.places.insert(row.key(), self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// Whether each row of the page was on an earlier one.
    fn has_all(&self, page: &WirePage<T>) -> bool {
        page.rows.iter().all(|row| self.places.contains_key(&row.key()))
    }

    fn shown(&self) -> u64 {
        self.rows.len() as u64 + self.rejected
    }

    /// The count of a single page may be that of all rows, although it is also its own.
    fn total(&self) -> RowTotal {
        match &*self.counts {
            [] => Ok(None),
            [(count, _)] => Ok(Some(*count)),
            all if all.iter().all(|(count, rows)| count == rows) => Ok(None),
            [(count, _), rest @ ..] if rest.iter().all(|(other, _)| other == count) => Ok(Some(*count)),
            _ => Err("the count changed between the pages"),
        }
    }

    /// Whether there is no sign of missed rows.
    fn is_steady(&self) -> bool {
        let agrees = |total: Option<u64>| total.is_none_or(|count| count == self.shown());
        self.duplicates == 0 && self.total().is_ok_and(agrees)
    }

    /// Whether both readings have the same rows, and more of them than the count that both have.
    fn exceeds_count_like(&self, other: &Self) -> bool {
        let is_less = matches!(self.total(), Ok(Some(count)) if count < self.shown());
        let has = |row: &T| self.places.contains_key(&row.key());
        is_less
            && self.total() == other.total()
            && self.rows.len() == other.rows.len()
            && other.rows.iter().all(has)
    }

    fn judged(mut self) -> Listed<T> {
        let proven =
            self.failure.is_none() && self.total().is_ok_and(|count| count.is_some() || self.pages.ended);
        let shows_all = proven && self.is_steady() && self.rejected == self.unreadable.len() as u64;
        if self.failure.is_none() && !(proven && self.is_steady()) {
            let doubt = doubt(self.shown(), self.rejected, self.duplicates, self.total());
            self.pages.notes.problems.insert(0, doubt);
        }
        let (problems, failure) = (self.pages.notes.problems, self.failure);
        let (rejected, unreadable) = (self.rejected, self.unreadable);
        Listed { rows: self.rows, shows_all, rejected, unreadable, problems, failure }
    }

    /// Adds the rows that only another reading has.
    fn judged_with(mut self, other: Self) -> Listed<T> {
        let known = std::mem::take(&mut self.places);
        let mut listed = self.judged();
        listed.rows.extend(other.rows.into_iter().filter(|row| !known.contains_key(&row.key())));
        listed.shows_all = false;
        listed
    }
}

/// The reason why a listing may lack rows.
fn doubt(shown: u64, rejected: u64, duplicates: u64, total: RowTotal) -> String {
    let rows = |many: u64| if many == 1 { "1 row".to_owned() } else { format!("{many} rows") };
    let mut said = match total {
        Ok(Some(count)) if shown < count => format!("{shown} of {} came", rows(count)),
        Ok(Some(count)) if shown > count => format!("{} came, the count is {count}", rows(shown)),
        Ok(Some(_)) => format!("{} came", rows(shown)),
        Ok(None) => format!("{} came, no count of all rows is given", rows(shown)),
        Err(why) => format!("{} came, {why}", rows(shown)),
    };
    for (many, what) in [(rejected, "of them unreadable"), (duplicates, "came twice")] {
        if many > 0 {
            said += &format!(", {many} {what}");
        }
    }
    said
}

/// Walks the pages of a listing.
struct Pages<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    next: Option<Url>,
    asked: HashSet<Url>,
    /// The number of rows on the pages so far.
    offset: u64,
    /// The length of the pages so far.
    bytes: u64,
    /// Nothing says that the next page exists, or that the last one did.
    is_extra: bool,
    was_extra: bool,
    /// Whether the paging ended properly.
    ended: bool,
    notes: Diagnostics,
}

impl<'a> Pages<'a> {
    fn new(client: &'a Client, endpoint: &'a Endpoint) -> Self {
        let first = match endpoint.collector.group() {
            Group::Hosting => at_offset(&endpoint.url, 0),
            Group::Vm | Group::Billing => endpoint.url.clone(),
        };
        Self {
            client,
            endpoint,
            next: Some(first),
            asked: HashSet::new(),
            offset: 0,
            bytes: 0,
            is_extra: false,
            was_extra: false,
            ended: false,
            notes: Diagnostics::default(),
        }
    }

    /// The next page, or `None` after the last.
    async fn next<R: Record>(&mut self, parent: R::Parent) -> Result<Option<WirePage<R::Model>>, ApiError> {
        let Some(url) = self.next.take() else { return Ok(None) };
        let (pages, timing) = (self.asked.len() as u64, &self.client.shared.hosts.timing);
        if !self.asked.insert(url.clone()) {
            return Err(self.circle());
        }
        self.within(pages + 1, timing.pages, "pages")?;
        self.was_extra = self.is_extra;
        let body = match self.client.fetch(self.endpoint, url).await {
            Err(error) if self.was_extra && matches!(error.kind, ErrorKind::Status(400 | 404, _)) => {
                self.ended = true;
                return Ok(None);
            }
            body => body?,
        };
        self.bytes += body.len() as u64;
        self.within(self.bytes, timing.listing_bytes, "bytes of records")?;
        let page = self.decode::<R>(body, parent).await?;
        self.within(self.offset + page.shown(), MOST_ROWS as u64, "rows")?;
        self.advance(&page);
        Ok(Some(page))
    }

    fn circle(&self) -> ApiError {
        self.endpoint.error(ErrorKind::NextLoop(self.asked.len() as u64))
    }

    fn within(&self, size: u64, limit: u64, unit: &'static str) -> Result<(), ApiError> {
        ErrorKind::within(size, limit, unit).map_err(|kind| self.endpoint.error(kind))
    }

    async fn decode<R: Record>(
        &mut self,
        body: Vec<u8>,
        parent: R::Parent,
    ) -> Result<WirePage<R::Model>, ApiError> {
        let (group, context) = (self.endpoint.collector.group(), Arc::clone(&self.client.shared.context));
        let is_large = body.len() >= LARGE_BYTES;
        // Large pages of all accounts are decoded one at a time, since decoding takes many times the size of
        // the text.
        let _turn = if is_large { Some(self.client.shared.hosts.decoding.lock().await) } else { None };
        let mut notes = std::mem::take(&mut self.notes);
        let work = move || {
            let page = wire::page::<R>(&body, group, parent, &context, &mut notes);
            (page, notes)
        };
        let (page, notes) = if is_large {
            tokio::task::spawn_blocking(work).await.expect("decoding neither panics nor is aborted")
        } else {
            work()
        };
        self.notes = notes;
        self.client.take_notes(&mut self.notes);
        page.map_err(|kind| self.endpoint.error(kind))
    }

    fn advance<T>(&mut self, page: &WirePage<T>) {
        let (rows, is_hosting) = (page.shown(), self.endpoint.collector.group() == Group::Hosting);
        self.offset += rows;
        // A count of this page alone says nothing of all.
        let count = page.count.filter(|&count| count >= self.offset || count != rows);
        let counts_more = count.is_some_and(|count| count > self.offset);
        let may_go_on = counts_more || count.is_none() || (count == Some(rows) && self.is_full(rows));
        self.is_extra = false;
        match &page.next {
            // Behind a proxy the rest of the address is often another one, and credentials go nowhere else.
            NextPage::At(query) => self.next = Some(with_query(&self.endpoint.url, query)),
            NextPage::End if !(is_hosting && counts_more) => self.ended = true,
            NextPage::End | NextPage::Unsaid if rows > 0 && may_go_on => {
                self.is_extra = !counts_more;
                self.next = Some(match self.endpoint.collector.group() {
                    Group::Vm => with_query(&self.endpoint.url, &format!("page={}", self.asked.len() + 1)),
                    Group::Hosting | Group::Billing => at_offset(&self.endpoint.url, self.offset),
                });
            }
            NextPage::End | NextPage::Unsaid => self.ended = rows == 0,
        }
    }

    /// Whether a page with so many rows may be followed by another. Pages that are shorter than was asked for have
    /// a round number of rows. Of listings inside a container that is not tried: there may be a thousand.
    fn is_full(&self, rows: u64) -> bool {
        rows >= PAGE_ROWS as u64
            || (rows > 0 && rows.is_multiple_of(10) && !self.endpoint.collector.row().may_be_missing)
    }
}

fn with_query(url: &Url, query: &str) -> Url {
    let mut url = url.clone();
    url.set_query(Some(query));
    url
}

fn at_offset(url: &Url, offset: u64) -> Url {
    with_query(url, &format!("offset={offset}&limit={PAGE_ROWS}"))
}
