//! Keeps the provider's facts as compressed chunks, one for each family and part of an account, and
//! makes anew only those whose rows changed. Pure: state and time in, bytes out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::family::Family;
use super::page::{Chunk, Page, Squeezer};
use super::parts::{self, Part, Source};
use super::series_limit::{Count, Limit};
use super::text::Lines;
use super::{Hidden, Settings, billing, container, inventory, site, vm};
use crate::model::{AccountName, AccountState, Collector, ContainerId, Listing};

/// The provider's facts of every account as exposition text, compressed.
///
/// In the format all lines of a family stand together, so a page is family by family, and in each of
/// them account by account.
#[derive(Debug)]
pub struct Encoder {
    settings: Settings,
    accounts: BTreeMap<AccountName, Account>,
    chunks: BTreeMap<&'static str, OneFamily>,
    squeezer: Squeezer,
    scratch: Vec<u8>,
}

/// What was encoded of an account, and from what.
#[derive(Debug, Default)]
struct Account {
    sources: HashMap<Part, Source>,
    completed: Completed,
    /// Where there is a cap.
    counts: HashMap<Part, Count>,
    limits: BTreeMap<Collector, Limit>,
}

/// Which listings were ever read completely: counts before that would be too small.
#[derive(Debug, Default)]
pub(super) struct Completed {
    pub(super) listings: BTreeSet<Collector>,
    pub(super) sites: BTreeSet<ContainerId>,
}

#[derive(Debug)]
struct OneFamily {
    header: Chunk,
    parts: BTreeMap<(AccountName, Part), Chunk>,
}

impl Encoder {
    /// An encoder that knows no account.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            accounts: BTreeMap::new(),
            chunks: BTreeMap::new(),
            squeezer: Squeezer::new(),
            scratch: Vec::new(),
        }
    }

    /// Takes in what `which` collectors read of an account, at the time `now`, and lets go of what is
    /// stale by then. Only parts whose rows changed since they were last encoded are encoded again.
    /// True if the page changed.
    ///
    /// Call it with all collectors now and then, so that stale families vanish while polls fail.
    pub fn refresh(&mut self, state: &AccountState, which: &[Collector], now: DateTime<Utc>) -> bool {
        let name = &state.profile.name;
        let account = self.accounts.entry(name.clone()).or_default();
        account.completed.note(state);
        let sources = parts::sources(state, which, &account.completed, now);
        let mut recut = BTreeSet::new();
        if self.settings.max_series_per_collector > 0 {
            for &(part, ref source) in &sources {
                if account.sources.get(&part) == Some(source) {
                    continue;
                }
                let mut count = Count::default();
                let mut sink = Sink::new(name, &self.settings, Work::Count(&mut count, &mut self.scratch));
                encode(part, state, &account.completed, &self.settings, now, &mut sink);
                account.counts.insert(part, count);
            }
            recut = account.cut(self.settings.max_series_per_collector);
        }
        let mut changed = false;
        for (part, source) in sources {
            let recut = part.collector().is_some_and(|collector| recut.contains(&collector));
            if !recut && account.sources.get(&part) == Some(&source) {
                continue;
            }
            let mut fresh = Vec::new();
            let write = Work::Write(&mut self.scratch, &mut self.squeezer, &mut fresh);
            let limit = part.collector().and_then(|collector| account.limits.get(&collector).copied());
            let mut sink = Sink::new(name, &self.settings, write).within(limit.unwrap_or_default());
            encode(part, state, &account.completed, &self.settings, now, &mut sink);
            changed |= place(&mut self.chunks, &mut self.squeezer, (name, part), fresh);
            account.sources.insert(part, source);
        }
        changed
    }

    /// Goes on with a changed configuration; the next refresh of each account makes its parts anew.
    pub fn configure(&mut self, settings: Settings) {
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
    pub fn dropped(&self, account: &AccountName) -> BTreeMap<Collector, u64> {
        let limits = self.accounts.get(account).map(|account| account.limits.iter());
        limits.into_iter().flatten().map(|(&collector, limit)| (collector, limit.dropped)).collect()
    }

    /// Forgets an account; its series are gone from the next page.
    pub fn remove(&mut self, account: &AccountName) {
        self.accounts.remove(account);
        for family in self.chunks.values_mut() {
            family.parts.retain(|(name, _), _| name != account);
        }
        self.chunks.retain(|_, family| !family.parts.is_empty());
    }

    /// The page as it stands; joined at each call, so ask for it once a round of refreshes.
    pub fn page(&self) -> Arc<Page> {
        let families = self.chunks.values();
        Arc::new(Page::join(
            families.flat_map(|family| std::iter::once(&family.header).chain(family.parts.values())),
        ))
    }
}

impl Account {
    /// Fits every collector under the cap; those whose resources are cut elsewhere than before.
    fn cut(&mut self, cap: u64) -> BTreeSet<Collector> {
        let mut recut = BTreeSet::new();
        for collector in Collector::ALL {
            let counts = self.counts.iter().filter(|(part, _)| part.collector() == Some(collector));
            let limit = Limit::of(counts.map(|(_, count)| count), cap);
            let old = self.limits.insert(collector, limit).unwrap_or_default();
            if old.below != limit.below {
                recut.insert(collector);
            }
        }
        recut
    }
}

/// Puts the chunks of one part in the place of its old ones.
fn place(
    chunks: &mut BTreeMap<&'static str, OneFamily>,
    squeezer: &mut Squeezer,
    (account, part): (&AccountName, Part),
    fresh: Vec<(&'static Family, Chunk)>,
) -> bool {
    let key = (account.clone(), part);
    let mut changed = false;
    for (name, family) in chunks.iter_mut() {
        if !fresh.iter().any(|(fresh, _)| fresh.name == *name) {
            changed |= family.parts.remove(&key).is_some();
        }
    }
    for (family, chunk) in fresh {
        let header = |squeezer: &mut Squeezer| squeezer.squeeze(family.header().as_bytes());
        let all = chunks
            .entry(family.name)
            .or_insert_with(|| OneFamily { header: header(squeezer), parts: BTreeMap::new() });
        let same = all.parts.get(&key).is_some_and(|old| old.same_text(&chunk));
        if !same {
            all.parts.insert(key.clone(), chunk);
            changed = true;
        }
    }
    chunks.retain(|_, family| !family.parts.is_empty());
    changed
}

/// Takes the families of one part: writes and compresses each, or counts its series.
pub(super) struct Sink<'a> {
    account: &'a str,
    hidden: &'a Hidden,
    limit: Limit,
    work: Work<'a>,
}

/// What a sink does.
enum Work<'a> {
    /// With a buffer for the text, into these chunks.
    Write(&'a mut Vec<u8>, &'a mut Squeezer, &'a mut Vec<(&'static Family, Chunk)>),
    /// With a buffer that stays empty.
    Count(&'a mut Count, &'a mut Vec<u8>),
}

impl<'a> Sink<'a> {
    fn new(account: &'a AccountName, settings: &'a Settings, work: Work<'a>) -> Self {
        Self { account: account.as_str(), hidden: &settings.hidden, limit: Limit::default(), work }
    }

    fn within(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    /// Writes one family; without a line it does not appear at all.
    pub(super) fn family(&mut self, family: &'static Family, write: impl FnOnce(&mut Lines<'_>)) {
        if self.hidden.has(family.name) {
            return;
        }
        match &mut self.work {
            Work::Write(text, squeezer, chunks) => {
                text.clear();
                write(&mut Lines::new(text, family, self.account).within(self.limit));
                if !text.is_empty() {
                    chunks.push((family, squeezer.squeeze(text)));
                }
            }
            Work::Count(count, unused) => {
                write(&mut Lines::new(unused, family, self.account).counting(count));
            }
        }
    }
}

impl Completed {
    /// Remembers what is complete now.
    fn note(&mut self, state: &AccountState) {
        let mut note = |collector, complete| {
            if complete {
                self.listings.insert(collector);
            }
        };
        note(Collector::Vms, state.vms.complete);
        note(Collector::Containers, state.containers.complete);
        note(Collector::SshKeys, state.ssh_keys.complete);
        self.sites.retain(|container| state.sites.contains_key(container));
        let complete = |listing: &Listing<_>| listing.complete;
        self.sites.extend(state.sites.iter().filter(|(_, sites)| complete(sites)).map(|(&id, _)| id));
    }
}

fn encode(
    part: Part,
    state: &AccountState,
    completed: &Completed,
    settings: &Settings,
    now: DateTime<Utc>,
    sink: &mut Sink<'_>,
) {
    match part {
        Part::Account => inventory::account(state, sink),
        Part::Vms => vm::encode(state, completed, settings, now, sink),
        Part::Containers => container::encode(state, completed, settings, now, sink),
        Part::Sites(shard) => site::encode(state, shard, settings, now, sink),
        Part::SiteCounts => site::counts(state, completed, now, sink),
        Part::Databases(shard) => inventory::databases(state, shard, now, sink),
        Part::CronJobs(shard) => inventory::cron_jobs(state, shard, now, sink),
        Part::Ips => inventory::ips(state, now, sink),
        Part::SshKeys => inventory::ssh_keys(state, completed, now, sink),
        Part::Balance => billing::balance(state, now, sink),
        Part::Disconnect => billing::disconnect(state, sink),
        Part::Charges => billing::charged(state, now, sink),
    }
}
