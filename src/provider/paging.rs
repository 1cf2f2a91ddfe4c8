//! Reading a listing to its end, in both manners of paging, and judging whether it was shown whole.
//!
//! Rows may shift between pages while they are read. A reading that shows it (a row twice, rows more
//! or fewer than `count`, a `count` that changes) is made again once; if the second is no better, the
//! rows of both are handed over as incomplete: observations all the same, but no proof of absence.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Url;

use crate::model::{Group, Resource};

use super::address::{Endpoint, shown};
use super::client::Client;
use super::error::{ApiError, ErrorKind};
use super::wire::{self, Diagnostics, NextPage, RowOf, WirePage};

/// Rows asked for at once, the most that the interface allows (8).
const LIMIT: u64 = 100;
/// Bodies from here on are decoded off the runtime's threads.
const LARGE_BYTES: usize = 256 << 10;

/// A listing that was read to its end.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Listed<T> {
    /// Each id once, as last seen.
    pub rows: Vec<T>,
    /// These are all there are: every row was decoded, none came twice, and they are as many as
    /// `count` says. Without a `count` the listing must be non-empty and end as it should (a null
    /// `next`, a page not full).
    pub complete: bool,
    /// Rows that could not be decoded, in the last reading.
    pub rejected: u64,
    /// The first few oddities.
    pub problems: Vec<String>,
}

/// Reads a listing whole.
pub(super) async fn read<R>(
    client: &Client,
    endpoint: &Endpoint,
    parent: R::Parent,
) -> Result<Listed<R::Model>, ApiError>
where
    R: RowOf<Model: Resource>,
{
    let first = Reading::make::<R>(client, endpoint, parent).await?;
    if first.is_steady() {
        return Ok(first.judged());
    }
    match Reading::make::<R>(client, endpoint, parent).await {
        Ok(second) if second.is_steady() => Ok(second.judged()),
        Ok(second) => Ok(second.judged_with(first)),
        // The first reading had all its pages; that the second failed leaves it incomplete.
        Err(error) => {
            let mut listed = first.judged();
            listed.problems.push(format!("$: read again in vain: {error}"));
            Ok(listed)
        }
    }
}

/// All pages of a listing, once.
struct Reading<T: Resource> {
    rows: Vec<T>,
    places: HashMap<T::Id, usize>,
    duplicates: u64,
    rejected: u64,
    count: RowTotal,
    ended: bool,
    notes: Diagnostics,
}

impl<T: Resource + Send + 'static> Reading<T> {
    async fn make<R: RowOf<Model = T>>(
        client: &Client,
        endpoint: &Endpoint,
        parent: R::Parent,
    ) -> Result<Self, ApiError> {
        let mut reading = Self {
            rows: Vec::new(),
            places: HashMap::new(),
            duplicates: 0,
            rejected: 0,
            count: RowTotal::default(),
            ended: false,
            notes: Diagnostics::default(),
        };
        let mut pages = Pages::new(client, endpoint);
        while let Some(page) = pages.next::<R>(parent).await? {
            reading.rejected += page.rejected;
            for row in page.rows {
                reading.take(row);
            }
        }
        (reading.count, reading.ended, reading.notes) = (pages.count, pages.ended, pages.notes);
        Ok(reading)
    }

    fn take(&mut self, row: T) {
        match self.places.get(&row.id()) {
            Some(&place) => {
                self.duplicates += 1;
                self.rows[place] = row;
            }
            None => {
                self.places.insert(row.id(), self.rows.len());
                self.rows.push(row);
            }
        }
    }

    fn shown(&self) -> u64 {
        self.rows.len() as u64 + self.rejected
    }

    /// There is no sign of missed rows.
    fn is_steady(&self) -> bool {
        self.duplicates == 0 && self.count.agrees(self.shown())
    }

    fn judged(mut self) -> Listed<T> {
        let proven = match self.count {
            RowTotal::Is(_) => true,
            RowTotal::Unsaid => self.ended && !self.rows.is_empty(),
            RowTotal::Changed => false,
        };
        let complete = proven && self.is_steady() && self.rejected == 0;
        if !(proven && self.is_steady()) {
            let doubt = doubt(self.shown(), self.rejected, self.duplicates, self.count);
            self.notes.problems.insert(0, doubt);
        }
        let Diagnostics { problems, .. } = self.notes;
        Listed { rows: self.rows, complete, rejected: self.rejected, problems }
    }

    /// With the rows that only an earlier reading saw.
    fn judged_with(self, earlier: Self) -> Listed<T> {
        let seen: HashSet<T::Id> = self.places.keys().copied().collect();
        let mut listed = self.judged();
        listed.rows.extend(earlier.rows.into_iter().filter(|row| !seen.contains(&row.id())));
        listed.complete = false;
        listed
    }
}

/// How many rows there are by the pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum RowTotal {
    #[default]
    Unsaid,
    Is(u64),
    /// Not the same on each page: rows came or went meanwhile.
    Changed,
}

impl RowTotal {
    fn add(&mut self, count: Option<u64>) {
        *self = match (*self, count) {
            (total, None) => total,
            (Self::Unsaid, Some(count)) => Self::Is(count),
            (Self::Is(known), Some(count)) if known == count => self.to_owned(),
            (Self::Is(_) | Self::Changed, Some(_)) => Self::Changed,
        };
    }

    pub(super) fn agrees(self, shown: u64) -> bool {
        match self {
            Self::Unsaid => true,
            Self::Is(count) => count == shown,
            Self::Changed => false,
        }
    }

    fn described(self) -> String {
        match self {
            Self::Unsaid => "no count is given".into(),
            Self::Is(count) => format!("the count is {count}"),
            Self::Changed => "the count changed between the pages".into(),
        }
    }
}

/// Why a listing may not be whole.
pub(super) fn doubt(shown: u64, rejected: u64, duplicates: u64, count: RowTotal) -> String {
    let count = count.described();
    format!("$: {shown} rows, {rejected} of them undecodable, and {duplicates} came twice; {count}")
}

/// Walks the pages of a listing.
pub(super) struct Pages<'a> {
    client: &'a Client,
    endpoint: &'a Endpoint,
    next: Option<Url>,
    asked: HashSet<Url>,
    /// Bytes of memory that the records of the poll take.
    kept: Arc<AtomicU64>,
    /// Rows passed so far.
    offset: u64,
    /// By the pages so far.
    pub count: RowTotal,
    /// The paging ended as it should.
    pub ended: bool,
    pub notes: Diagnostics,
}

impl<'a> Pages<'a> {
    pub(super) fn new(client: &'a Client, endpoint: &'a Endpoint) -> Self {
        let first = match endpoint.operation.group() {
            Group::Hosting => at_offset(&endpoint.url, 0),
            Group::Vm | Group::Billing => endpoint.url.clone(),
        };
        Self {
            client,
            endpoint,
            next: Some(first),
            asked: HashSet::new(),
            kept: client.kept(),
            offset: 0,
            count: RowTotal::default(),
            ended: false,
            notes: Diagnostics::default(),
        }
    }

    /// The next page, or `None` after the last.
    pub(super) async fn next<R: RowOf>(
        &mut self,
        parent: R::Parent,
    ) -> Result<Option<WirePage<R::Model>>, ApiError> {
        let Some(url) = self.next.take() else { return Ok(None) };
        let most = self.client.shared.timing.pages;
        if self.asked.len() >= most as usize {
            return Err(self.endpoint.error(ErrorKind::TooManyPages(most)));
        }
        let body = self.client.fetch(self.endpoint, url.clone()).await?;
        let page = self.decode::<R>(body, parent).await?;
        let limit = self.client.shared.timing.kept_bytes;
        if self.kept.fetch_add(page.bytes, Ordering::Relaxed).saturating_add(page.bytes) > limit {
            return Err(self.endpoint.error(ErrorKind::TooLarge { limit, unit: "bytes of records" }));
        }
        self.asked.insert(url.clone());
        self.count.add(page.count);
        self.advance(&url, &page)?;
        Ok(Some(page))
    }

    async fn decode<R: RowOf>(
        &mut self,
        body: Vec<u8>,
        parent: R::Parent,
    ) -> Result<WirePage<R::Model>, ApiError> {
        let (group, context) = (self.endpoint.operation.group(), Arc::clone(&self.client.shared.context));
        let is_large = body.len() >= LARGE_BYTES;
        // One at a time, of all accounts: while it is decoded, a page takes many times its text.
        let _permit = if is_large { Some(self.client.shared.hosts.decoding_permit().await) } else { None };
        let work = move || {
            let mut notes = Diagnostics::default();
            let page = wire::page::<R>(&body, group, parent, &context, &mut notes);
            (page, notes)
        };
        let (page, notes) = if is_large {
            tokio::task::spawn_blocking(work).await.expect("decoding neither panics nor is aborted")
        } else {
            work()
        };
        self.client.report_odd_fields(&notes);
        self.notes.add(notes);
        page.map_err(|kind| self.endpoint.error(kind))
    }

    fn advance<T>(&mut self, url: &Url, page: &WirePage<T>) -> Result<(), ApiError> {
        let rows = page.rows.len() as u64 + page.rejected;
        self.offset += rows;
        match (self.endpoint.operation.group(), &page.next) {
            (Group::Hosting, _) => {
                let more = match page.count {
                    Some(count) => self.offset < count && rows > 0,
                    None => rows >= LIMIT,
                };
                self.ended = rows < LIMIT;
                self.next = more.then(|| at_offset(&self.endpoint.url, self.offset));
            }
            (Group::Vm | Group::Billing, NextPage::End) => self.ended = true,
            (Group::Vm | Group::Billing, NextPage::Unsaid) => {}
            (Group::Vm | Group::Billing, NextPage::At(text)) => self.next = Some(self.follow(url, text)?),
        }
        Ok(())
    }

    /// The address of the next page: on the configured origin and path, and not seen before. The
    /// credentials would go wherever it points.
    fn follow(&self, page: &Url, text: &str) -> Result<Url, ApiError> {
        let home = &self.endpoint.url;
        let foreign =
            |next: String| self.endpoint.error(ErrorKind::ForeignNext { next, expected: home.to_string() });
        let mut next = page.join(text.trim()).map_err(|_| foreign("an address that can't be read".into()))?;
        next.set_fragment(None);
        if next.origin() != home.origin() || next.path() != home.path() {
            return Err(foreign(shown(&next)));
        }
        // A user in it would become credentials of its own.
        let _ = next.set_username("");
        let _ = next.set_password(None);
        if self.asked.contains(&next) {
            return Err(self.endpoint.error(ErrorKind::NextLoop(self.asked.len() as u32)));
        }
        Ok(next)
    }
}

fn at_offset(url: &Url, offset: u64) -> Url {
    let mut url = url.clone();
    url.set_query(Some(&format!("offset={offset}&limit={LIMIT}")));
    url
}
