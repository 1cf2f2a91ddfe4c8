//! Keeps the metrics of the provider's data as compressed chunks, one for each family and part of an account,
//! and encodes only parts whose rows changed. Pure: state and time in, bytes out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::bundles::Bundles;
use super::family::{Family, Write};
use super::given::Given;
use super::page::{Compressor, Page};
use super::parts::{self, PagePart, Source};
use super::settings::StateSeries;
use super::table::families;
use super::text::Lines;
use crate::model::{AccountIncidents, AccountName, AccountState, Collector};

/// The buffer that is kept between two refreshes. The largest text has megabytes, which the next reading needs
/// more.
const KEPT: usize = 64 << 10;

/// The metrics of the provider's data of all accounts as exposition text, compressed.
///
/// The format wants all lines of a family together. So a page goes family by family, and in each of them
/// account by account.
#[derive(Debug)]
pub(crate) struct Encoder {
    state_series: StateSeries,
    accounts: BTreeMap<AccountName, Account>,
    families: BTreeMap<&'static str, Bundles>,
    compressor: Compressor,
    scratch: Vec<u8>,
}

/// The encoded state of an account, and its sources.
#[derive(Debug, Default)]
struct Account {
    /// The sources of parts with any text. Small accounts have none for most parts, and encoding an empty part
    /// is fast.
    sources: HashMap<PagePart, Source>,
    incidents: Arc<AccountIncidents>,
}

impl Encoder {
    /// An encoder without accounts.
    pub(crate) fn new(state_series: StateSeries) -> Self {
        Self {
            state_series,
            accounts: BTreeMap::new(),
            families: BTreeMap::new(),
            compressor: Compressor::new(),
            scratch: Vec::new(),
        }
    }

    /// Updates an account with the readings of the `which` collectors at the time `now`, and drops parts that
    /// are stale by then. Only parts whose rows changed are encoded again. Returns whether the page changed.
    ///
    /// Call it with all collectors from time to time, so that stale families are dropped while polls fail.
    pub(crate) fn refresh(&mut self, state: &AccountState, which: &[Collector], now: DateTime<Utc>) -> bool {
        let Self { state_series, accounts, families, compressor, scratch } = self;
        let name = &state.profile.name;
        let account = accounts.entry(name.clone()).or_default();
        let Account { sources, incidents } = account;
        let given = Given { state, incidents, state_series: *state_series, shard: 0, now };
        let mut changed = false;
        for (part, source) in parts::sources(&given, which) {
            if sources.get(&part) == Some(&source) {
                continue;
            }
            let mut is_shown = false;
            let given = Given { shard: part.shard.into(), ..given };
            for (family, write) in of(part) {
                scratch.clear();
                write(&given, &mut Lines::new(scratch, family.name, family.labels, name.as_str()));
                is_shown |= !scratch.is_empty();
                let bundles = families
                    .entry(family.name)
                    .or_insert_with(|| Bundles::new(compressor.compress(family.header(false).as_bytes())));
                changed |= bundles.put((name, part), scratch, compressor);
            }
            if is_shown {
                sources.insert(part, source);
            } else {
                sources.remove(&part);
            }
        }
        scratch.clear();
        scratch.shrink_to(KEPT);
        changed
    }

    /// Replaces the incidents of an account, which the next refresh encodes. Returns whether they differ.
    pub(crate) fn set_incidents(&mut self, account: &AccountName, incidents: AccountIncidents) -> bool {
        let known = &mut self.accounts.entry(account.clone()).or_default().incidents;
        let is_other = **known != incidents;
        if is_other {
            *known = Arc::new(incidents);
        }
        is_other
    }

    /// Replaces the configuration. The next refresh of each account encodes all of it again.
    pub(crate) fn configure(&mut self, state_series: StateSeries) {
        if self.state_series == state_series {
            return;
        }
        self.state_series = state_series;
        for account in self.accounts.values_mut() {
            account.sources.clear();
        }
    }

    /// Removes an account; the next page lacks its series.
    pub(crate) fn remove(&mut self, account: &AccountName) {
        self.accounts.remove(account);
        for family in self.families.values_mut() {
            family.remove(account, &mut self.compressor);
        }
    }

    /// The current page, with the families that have samples.
    pub(crate) fn page(&self) -> Page {
        let shown = self.families.values().filter(|family| !family.is_empty());
        Page::of(shown.map(Bundles::chunks).collect())
    }
}

/// The families with samples in a part, and the functions that write them.
fn of(part: PagePart) -> impl Iterator<Item = (&'static Family, Write)> {
    families().filter_map(move |family| {
        let (section, write) = family.facts?;
        (section == part.section).then_some((family, write))
    })
}
