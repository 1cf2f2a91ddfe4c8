//! The facts of an account that its cut-off depends on. Pure.

use super::reader::Reader;
use crate::model::forecast::Disconnect;
use crate::model::{AccountState, PayBy, Profile, Report};

/// An account that pays, and the reader of the words about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payer<'a> {
    /// The last report that could be read.
    pub report: Option<&'a Report>,
    pub currency: &'a str,
    pub lead_days: u32,
    pub reader: Reader,
}

impl<'a> Payer<'a> {
    pub(crate) fn of(state: &'a AccountState, reader: Reader) -> Self {
        Self::new(&state.profile, state.billing.last_known().map(|(report, _)| report), reader)
    }

    pub(crate) fn new(profile: &'a Profile, report: Option<&'a Report>, reader: Reader) -> Self {
        let reader = reader.within(profile.zone());
        Self { report, currency: &profile.currency, lead_days: profile.lead_days, reader }
    }

    /// The day to pay by for this cut-off.
    pub(crate) fn by(&self, disconnect: Disconnect) -> Option<PayBy> {
        PayBy::of(disconnect, self.lead_days, self.reader.zone, self.reader.now)
    }
}
