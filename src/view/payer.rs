//! The facts of an account that its cut-off depends on. Pure.

use chrono::{DateTime, Duration, Utc};

use super::reader::Reader;
use crate::model::forecast::Disconnect;
use crate::model::{AccountState, Money, PayBy, Profile, Report};

/// An account that pays, and the reader of the words about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payer<'a> {
    /// The last report that could be read.
    pub report: Option<&'a Report>,
    /// The time of that report, if no other came for a day.
    pub unread_since: Option<DateTime<Utc>>,
    pub currency: &'a str,
    pub lead_days: u32,
    pub reader: Reader,
}

impl<'a> Payer<'a> {
    pub(crate) fn of(state: &'a AccountState, reader: Reader) -> Self {
        let (report, read_at) = state.billing.last_known().unzip();
        let unread_since = read_at.filter(|at| reader.now - *at >= Duration::days(1));
        Self { unread_since, ..Self::new(&state.profile, report, reader) }
    }

    pub(crate) fn new(profile: &'a Profile, report: Option<&'a Report>, reader: Reader) -> Self {
        let reader = reader.within(profile.zone());
        Self { report, unread_since: None, currency: &profile.currency, lead_days: profile.lead_days, reader }
    }

    /// The time of the last report, if this cut-off is past and no report confirmed it for a day. Nobody knows then
    /// whether the account is off.
    pub(crate) fn not_readable_since(&self, disconnect: Disconnect) -> Option<DateTime<Utc>> {
        self.unread_since.filter(|_| disconnect.at().is_some_and(|at| at <= self.reader.now))
    }

    /// Whether a payment that is made today may come too late, or nothing is left.
    pub(crate) fn is_near(&self, disconnect: Disconnect, balance: Option<Money>) -> bool {
        let is_used_up = balance.is_some_and(|balance| !balance.is_positive());
        disconnect.is_near(is_used_up, self.lead_days, self.reader.zone, self.reader.now)
    }

    /// The day to pay by for this cut-off.
    pub(crate) fn by(&self, disconnect: Disconnect) -> Option<PayBy> {
        PayBy::of(disconnect, self.lead_days, self.reader.zone, self.reader.now)
    }
}
