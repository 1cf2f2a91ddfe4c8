//! Reads the list of charges (interface 4.8): all pages, each time. The list may have any order.

use std::cmp::Reverse;

use chrono::NaiveDate;

use crate::model::Charge;

use super::address::Endpoint;
use super::client::Client;
use super::error::ApiError;
use super::paging::{self, Identified, Listed, add_missing};
use super::wire::ChargeRow;

/// The charges of an account, as far back as they were asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ChargesRead {
    /// The newest first. Charges of one day stay in the order in which they came.
    pub rows: Vec<Charge>,
    /// Whether every charge since `keep_from` is included.
    pub complete: bool,
    /// Whether this reading was complete or an earlier one was. A missing charge is then a new one.
    pub seen_whole: bool,
    /// The number of rows of this reading that could not be decoded.
    pub rejected: u64,
    pub problems: Vec<String>,
    /// The error of a later page.
    pub failure: Option<ApiError>,
}

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

/// Reads the charges since `keep_from`. An incomplete reading is added to `known`, since charges never vanish.
pub(super) async fn read(
    client: &Client,
    endpoint: &Endpoint,
    known: Option<&ChargesRead>,
    keep_from: NaiveDate,
) -> Result<ChargesRead, ApiError> {
    let Listed { mut rows, complete, rejected, problems, failure } =
        paging::read::<ChargeRow>(client, endpoint, ()).await?;
    let known = known.filter(|_| !complete);
    if let Some(known) = known {
        add_missing(&mut rows, known.rows.iter().cloned());
    }
    rows.retain(|charge| charge.event_date >= keep_from);
    // The sort is stable.
    rows.sort_by_key(|charge| Reverse(charge.event_date));
    let seen_whole = complete || known.is_some_and(|known| known.seen_whole);
    Ok(ChargesRead { rows, complete, seen_whole, rejected, problems, failure })
}
