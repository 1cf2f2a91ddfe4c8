//! Keeps the provider's facts as compressed chunks, one for each family and part of an account, and
//! encodes again only those whose rows changed. Pure: state and time in, bytes out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Utc};

use super::bundles::Bundles;
use super::family::Family;
use super::given::{Completed, Given};
use super::page::{Compressor, Page};
use super::parts::{self, PagePart, Source};
use super::series_limit::{Limit, SeriesCount};
use super::settings::{MetricsSettings, Selection};
use super::table::families;
use super::targets::{TargetWriter, Targets};
use super::text::{Lines, To};
use crate::model::{AccountName, AccountState, Collector};

/// Room for text that is kept from one refresh to the next. The largest text is of megabytes, and what is read next has
/// use for them.
const KEPT: usize = 64 << 10;

/// The provider's facts of every account as exposition text, compressed.
///
/// In the format all lines of a family stand together, so a page is family by family, and in each of
/// them account by account.
#[derive(Debug)]
pub(crate) struct Encoder {
    settings: MetricsSettings,
    accounts: BTreeMap<AccountName, Account>,
    families: BTreeMap<&'static str, Bundles>,
    targets: TargetWriter,
    compressor: Compressor,
    scratch: Vec<u8>,
}

/// What was encoded of an account, and from what.
#[derive(Debug, Default)]
struct Account {
    /// Of the parts that have any text: of a small account most have none, and are made of nothing soon enough.
    sources: HashMap<PagePart, Source>,
    completed: Completed,
    /// Where there is a cap.
    counts: HashMap<PagePart, SeriesCount>,
    limits: BTreeMap<Collector, Limit>,
}

impl Encoder {
    /// An encoder that knows no account.
    pub(crate) fn new(settings: MetricsSettings) -> Self {
        let mut compressor = Compressor::new();
        Self {
            settings,
            accounts: BTreeMap::new(),
            families: BTreeMap::new(),
            targets: TargetWriter::new(&mut compressor),
            compressor,
            scratch: Vec::new(),
        }
    }

    /// Updates an account with what `which` collectors read, at the time `now`, and drops what is
    /// stale by then. Only parts whose rows changed since they were last encoded are encoded again.
    /// True if the page changed.
    ///
    /// Call it with all collectors from time to time, so that stale families are dropped while polls fail.
    pub(crate) fn refresh(&mut self, state: &AccountState, which: &[Collector], now: DateTime<Utc>) -> bool {
        let Self { settings, accounts, families, targets, compressor, scratch } = self;
        let name = &state.profile.name;
        let account = accounts.entry(name.clone()).or_default();
        account.completed.note(state);
        targets.refresh(state, &account.completed, compressor);
        let Account { sources, completed, counts, limits } = account;
        let given = Given { state, completed, state_series: settings.state_series, shard: 0, now };
        let fed = parts::sources(&given, which);
        let mut recut = BTreeSet::new();
        if settings.max_series_per_collector > 0 {
            for (part, _) in fed.iter().filter(|(part, source)| sources.get(part) != Some(source)) {
                counts.insert(*part, count(*part, &given, &settings.selection));
            }
            recut = cut(counts, limits, settings.max_series_per_collector);
        }
        let mut changed = false;
        for (part, source) in fed {
            let collector = part.section.collector();
            if sources.get(&part) == Some(&source) && !collector.is_some_and(|one| recut.contains(&one)) {
                continue;
            }
            let limit = collector.and_then(|one| limits.get(&one).copied()).unwrap_or_default();
            let mut is_shown = false;
            for family in of(part) {
                scratch.clear();
                if !settings.selection.hides(family.name) {
                    write(family, part, &given, To::Text(scratch, limit));
                }
                is_shown |= !scratch.is_empty();
                changed |= place(families, compressor, (name, part), family, scratch);
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

    /// Replaces the configuration; the next refresh of each account encodes all of it again.
    pub(crate) fn configure(&mut self, settings: MetricsSettings) {
        if self.settings == settings {
            return;
        }
        self.settings = settings;
        for account in self.accounts.values_mut() {
            account.sources.clear();
            account.counts.clear();
            account.limits.clear();
        }
    }

    /// Series of each collector that the cap leaves out; without one, none are.
    pub(crate) fn dropped(&self, account: &AccountName) -> BTreeMap<Collector, u64> {
        let limits = self.accounts.get(account).map(|account| account.limits.iter());
        limits.into_iter().flatten().map(|(&collector, limit)| (collector, limit.dropped)).collect()
    }

    /// Removes an account; the next page has none of its series.
    pub(crate) fn remove(&mut self, account: &AccountName) {
        self.accounts.remove(account);
        self.targets.remove(account);
        for family in self.families.values_mut() {
            family.remove(account, &mut self.compressor);
        }
        self.families.retain(|_, family| !family.is_empty());
    }

    /// Knows of accounts of which nothing was read yet: until it was, there is no list of all targets.
    pub(crate) fn expect<'a>(&mut self, states: impl Iterator<Item = &'a AccountState>) {
        for state in states {
            self.targets.refresh(state, &Completed::default(), &mut self.compressor);
        }
    }

    /// What is to be probed, where that changed since it was last asked for.
    pub(crate) fn new_targets(&mut self) -> Option<Targets> {
        self.targets.documents()
    }

    /// The current page.
    pub(crate) fn page(&self) -> Page {
        Page::of(self.families.values().map(Bundles::chunks).collect())
    }
}

/// The families of which a part has samples.
fn of(part: PagePart) -> impl Iterator<Item = &'static Family> {
    families().filter(move |family| family.facts.is_some_and(|(section, _)| section == part.section))
}

fn write(family: &'static Family, part: PagePart, given: &Given<'_>, to: To<'_>) {
    if let Some((_, write)) = family.facts {
        let mut lines = Lines::new(to, family.name, family.labels, given.state.profile.name.as_str());
        write(&Given { shard: part.shard.into(), ..*given }, &mut lines);
    }
}

fn count(part: PagePart, given: &Given<'_>, selection: &Selection) -> SeriesCount {
    let mut count = SeriesCount::default();
    for family in of(part).filter(|family| !selection.hides(family.name)) {
        write(family, part, given, To::SeriesCount(&mut count));
    }
    count
}

/// Applies the series limit to every collector; returns those whose cut-off id changed.
fn cut(
    counts: &HashMap<PagePart, SeriesCount>,
    limits: &mut BTreeMap<Collector, Limit>,
    cap: u64,
) -> BTreeSet<Collector> {
    let mut recut = BTreeSet::new();
    for collector in Collector::ALL {
        let counts = counts.iter().filter(|(part, _)| part.section.collector() == Some(collector));
        let limit = Limit::of(counts.map(|(_, count)| count), cap);
        let old = limits.insert(collector, limit).unwrap_or_default();
        if old.below != limit.below {
            recut.insert(collector);
        }
    }
    recut
}

/// Replaces a part's text of one family; removed where the new one is empty.
fn place(
    families: &mut BTreeMap<&'static str, Bundles>,
    compressor: &mut Compressor,
    part: (&AccountName, PagePart),
    family: &'static Family,
    text: &[u8],
) -> bool {
    if text.is_empty() {
        let Some(bundles) = families.get_mut(family.name) else { return false };
        let gone = bundles.put(part, text, compressor);
        if bundles.is_empty() {
            families.remove(family.name);
        }
        return gone;
    }
    let bundles = families
        .entry(family.name)
        .or_insert_with(|| Bundles::new(compressor.compress(family.header().as_bytes())));
    bundles.put(part, text, compressor)
}
