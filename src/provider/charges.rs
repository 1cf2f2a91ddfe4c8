//! Reading the list of charges (interface 4.8): all pages once, then only while there is news.
//!
//! The list is never assumed to be sorted, so what is new is not known by its place: pages are
//! read until as many new charges were found as the provider's total has grown by.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono::NaiveDate;

use crate::model::Charge;

use super::address::Endpoint;
use super::client::Client;
use super::error::ApiError;
use super::paging::{Pages, RowTotal, doubt};
use super::wire::ChargeRow;

/// The charges of an account, as far back as was asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ChargesRead {
    /// Newest first; charges of one day in the order in which they came.
    pub rows: Vec<Charge>,
    /// Every charge since `keep_from` is among them.
    pub complete: bool,
    /// This reading was complete or an earlier one was: what is missing is news.
    pub seen_whole: bool,
    /// Rows that could not be decoded, in this reading.
    pub rejected: u64,
    pub problems: Vec<String>,
    /// How many charges the provider counted, old ones included; `None` where it gave no number.
    pub total: Option<u64>,
}

/// Reads what is new since `known`, or everything.
pub(super) async fn read(
    client: &Client,
    endpoint: &Endpoint,
    known: Option<&ChargesRead>,
    keep_from: NaiveDate,
) -> Result<ChargesRead, ApiError> {
    if let Some(known) = known.filter(|known| known.complete)
        && let Some(read) = read_news(client, endpoint, known, keep_from).await?
    {
        return Ok(read);
    }
    let (first, steady) = read_all(client, endpoint, keep_from).await?;
    let mut read = if steady {
        first
    } else {
        // Rows shifted between the pages: once more, and if that fails the first must do.
        match read_all(client, endpoint, keep_from).await {
            Ok((mut second, steady)) => {
                if !steady {
                    second.add(&first, keep_from);
                }
                second
            }
            Err(_) => first,
        }
    };
    read.seen_whole = read.complete;
    if let Some(known) = known.filter(|_| !read.complete) {
        read.add(known, keep_from);
        read.seen_whole = known.seen_whole;
    }
    Ok(read)
}

impl ChargesRead {
    /// Takes in what only another reading saw: charges do not go away.
    fn add(&mut self, other: &Self, keep_from: NaiveDate) {
        let (mut had, mut seen) = (SeenCharges::default(), SeenCharges::default());
        for charge in &self.rows {
            had.add(charge);
        }
        for charge in other.rows.iter().filter(|charge| charge.event_date >= keep_from) {
            if seen.add(charge) > had.count(charge) {
                self.rows.push(charge.clone());
            }
        }
        newest_first(&mut self.rows);
    }
}

/// All pages; whether nothing shifted between them.
async fn read_all(
    client: &Client,
    endpoint: &Endpoint,
    keep_from: NaiveDate,
) -> Result<(ChargesRead, bool), ApiError> {
    let mut pages = Pages::new(client, endpoint);
    let mut read = ChargesRead::default();
    let mut seen = SeenCharges::default();
    let (mut shown, mut duplicates) = (0u64, 0u64);
    while let Some(page) = pages.next::<ChargeRow>(()).await? {
        read.rejected += page.rejected;
        shown += page.rejected;
        for charge in page.rows {
            // Without an address of its own a charge may well have a twin.
            if seen.add(&charge) > 1 && charge.resource_uri.is_some() {
                duplicates += 1;
                continue;
            }
            shown += 1;
            if charge.event_date >= keep_from {
                read.rows.push(charge);
            }
        }
    }
    let steady = duplicates == 0 && pages.count.agrees(shown);
    read.total = total(pages.count);
    read.complete = steady && read.rejected == 0 && (read.total.is_some() || pages.ended);
    read.problems = pages.notes.problems;
    if !steady {
        let rejected = read.rejected;
        read.problems.insert(0, doubt(shown, rejected, duplicates, pages.count));
    }
    newest_first(&mut read.rows);
    Ok((read, steady))
}

/// Pages while they bring news; `None` where everything has to be read.
async fn read_news(
    client: &Client,
    endpoint: &Endpoint,
    known: &ChargesRead,
    keep_from: NaiveDate,
) -> Result<Option<ChargesRead>, ApiError> {
    let Some(known_total) = known.total else { return Ok(None) };
    let mut had = SeenCharges::default();
    for charge in &known.rows {
        had.add(charge);
    }
    let mut pages = Pages::new(client, endpoint);
    let mut seen = SeenCharges::default();
    let mut read = ChargesRead { rows: known.rows.clone(), ..ChargesRead::default() };
    let mut found = 0u64;
    while let Some(page) = pages.next::<ChargeRow>(()).await? {
        let Some(grown) = total(pages.count).and_then(|total| total.checked_sub(known_total)) else {
            return Ok(None);
        };
        if page.rejected > 0 {
            return Ok(None);
        }
        let before = found;
        for charge in page.rows {
            let times = seen.add(&charge);
            if charge.event_date >= keep_from && times > had.count(&charge) {
                if times > 1 && charge.resource_uri.is_some() {
                    continue;
                }
                found += 1;
                read.rows.push(charge);
            }
        }
        if found == grown || (found > grown && found == before) {
            read.rows.retain(|charge| charge.event_date >= keep_from);
            newest_first(&mut read.rows);
            (read.complete, read.seen_whole) = (true, true);
            read.total = total(pages.count);
            read.problems = pages.notes.problems;
            return Ok(Some(read));
        }
    }
    // More were promised than came: some are older than `keep_from`, or the pages shifted.
    Ok(None)
}

fn total(total: RowTotal) -> Option<u64> {
    match total {
        RowTotal::Is(total) => Some(total),
        RowTotal::Unsaid | RowTotal::Changed => None,
    }
}

fn newest_first(charges: &mut [Charge]) {
    charges.sort_by_key(|charge| Reverse(charge.event_date));
}

/// How often each charge was seen; one without an address of its own is known by all its fields.
#[derive(Default)]
struct SeenCharges(HashMap<String, u32>);

impl SeenCharges {
    fn add(&mut self, charge: &Charge) -> u32 {
        let times = self.0.entry(key(charge)).or_default();
        *times += 1;
        *times
    }

    fn count(&self, charge: &Charge) -> u32 {
        self.0.get(&key(charge)).copied().unwrap_or(0)
    }
}

fn key(charge: &Charge) -> String {
    match &charge.resource_uri {
        Some(uri) => uri.to_string(),
        None => format!("{charge:?}"),
    }
}
