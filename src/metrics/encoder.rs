//! Keeps the provider's facts as compressed chunks, one for each family and part of an account, and
//! makes anew only those whose rows changed. Pure: state and time in, bytes out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::family::Family;
use super::page::{Chunk, Page, Squeezer};
use super::parts::{self, Part, Source};
use super::text::Lines;
use super::{Settings, billing, container, inventory, site, vm};
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
        let mut changed = false;
        for (part, source) in parts::sources(state, which, &account.completed, now) {
            if account.sources.get(&part) == Some(&source) {
                continue;
            }
            let mut sink = Sink {
                account: name.as_str(),
                scratch: &mut self.scratch,
                squeezer: &mut self.squeezer,
                chunks: Vec::new(),
            };
            encode(part, state, &account.completed, &self.settings, now, &mut sink);
            let fresh = sink.chunks;
            changed |= place(&mut self.chunks, &mut self.squeezer, (name, part), fresh);
            account.sources.insert(part, source);
        }
        changed
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

/// Takes the families of one part and compresses each.
pub(super) struct Sink<'a> {
    account: &'a str,
    scratch: &'a mut Vec<u8>,
    squeezer: &'a mut Squeezer,
    chunks: Vec<(&'static Family, Chunk)>,
}

impl Sink<'_> {
    /// Writes one family; without a line it does not appear at all.
    pub(super) fn family(&mut self, family: &'static Family, write: impl FnOnce(&mut Lines<'_>)) {
        self.scratch.clear();
        write(&mut Lines::new(self.scratch, family, self.account));
        if !self.scratch.is_empty() {
            self.chunks.push((family, self.squeezer.squeeze(self.scratch)));
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
