//! The documents of Prometheus's HTTP service discovery, every site and every VM: made once a change of a listing,
//! kept compressed, served as they are. Whoever reads one stops probing what is not in it, so there is none before
//! each listing was read whole once; from then on it holds what is known, however old.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::given::Completed;
use super::page::{Chunk, Compressor, Page};
use super::target_groups::TargetGroup;
use crate::model::{AccountName, AccountState, Collector, Site, Vm};

/// What is to be probed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetKind {
    Sites,
    Vms,
}

/// A document, or why there is none yet.
pub(crate) type Document = Result<Page, Arc<str>>;

/// What every document is made of, at one moment. Immutable.
#[derive(Debug)]
pub(crate) struct Targets {
    accounts: BTreeMap<AccountName, Arc<AccountTargets>>,
    marks: Marks,
}

/// The sites and the VMs of an account.
#[derive(Clone, Default, Debug)]
struct AccountTargets {
    sites: Half<Site>,
    vms: Half<Vm>,
}

impl Targets {
    /// The document of all accounts, or of the one of this name; `None` where there is no such account.
    pub(crate) fn document(&self, kind: TargetKind, account: Option<&str>) -> Option<Document> {
        match account {
            None => {
                let all = self.accounts.values();
                Some(match kind {
                    TargetKind::Sites => whole(&self.marks, all.map(|one| &one.sites), "sites"),
                    TargetKind::Vms => whole(&self.marks, all.map(|one| &one.vms), "VMs"),
                })
            }
            Some(account) => {
                let AccountTargets { sites, vms } = &**self.accounts.get(&account.parse().ok()?)?;
                Some(match kind {
                    TargetKind::Sites => sites.document(&self.marks),
                    TargetKind::Vms => vms.document(&self.marks),
                })
            }
        }
    }
}

/// VMs whose groups are compressed together.
const PIECE: usize = 1000;

/// Keeps the target groups of every listing as compressed text.
#[derive(Debug)]
pub(super) struct TargetWriter {
    accounts: BTreeMap<AccountName, Arc<AccountTargets>>,
    marks: Marks,
    scratch: Vec<u8>,
    /// Since the documents were last made.
    changed: bool,
}

impl TargetWriter {
    pub(super) fn new(compressor: &mut Compressor) -> Self {
        let mut mark = |text: &str| compressor.compress(text.as_bytes());
        let marks = Marks { open: mark("[\n"), comma: mark(",\n"), close: mark("\n]\n") };
        Self { accounts: BTreeMap::new(), marks, scratch: Vec::new(), changed: true }
    }

    /// Takes in an account as it is known now.
    pub(super) fn refresh(
        &mut self,
        state: &AccountState,
        completed: &Completed,
        compressor: &mut Compressor,
    ) {
        let Self { accounts, scratch, changed, .. } = self;
        let name = &state.profile.name;
        let known = accounts.entry(name.clone()).or_insert_with(|| {
            *changed = true;
            Arc::default()
        });
        let listings = state.sites.iter().map(|(container, listing)| (container.get(), &listing.rows));
        let sites = known.sites.refreshed(listings, sites_readiness(state, completed), |_, rows| {
            text_of(rows.iter().map(|site| TargetGroup::of_site(name, site)), scratch, compressor)
        });
        // Not all in one piece: of 20,000 it would be of megabytes.
        let rows = &state.vms.rows;
        let pieces = (0..rows.len().div_ceil(PIECE).max(1)).map(|piece| (piece as u64, rows));
        let vms = known.vms.refreshed(pieces, vms_readiness(state, completed), |piece, rows| {
            let rows = rows.iter().skip(piece as usize * PIECE).take(PIECE);
            text_of(rows.map(|vm| TargetGroup::of_vm(name, vm)), scratch, compressor)
        });
        *changed |= sites.is_some() || vms.is_some();
        if let Some(sites) = sites {
            Arc::make_mut(known).sites = sites;
        }
        if let Some(vms) = vms {
            Arc::make_mut(known).vms = vms;
        }
    }

    pub(super) fn remove(&mut self, account: &AccountName) {
        self.changed |= self.accounts.remove(account).is_some();
    }

    /// What the documents are made of, where it changed since it was last asked for.
    pub(super) fn documents(&mut self) -> Option<Targets> {
        std::mem::take(&mut self.changed)
            .then(|| Targets { accounts: self.accounts.clone(), marks: self.marks.clone() })
    }
}

/// What stands between the groups.
#[derive(Clone, Debug)]
struct Marks {
    open: Chunk,
    comma: Chunk,
    close: Chunk,
}

/// The sites or the VMs of an account, listing by listing.
#[derive(Debug)]
struct Half<T> {
    /// By key. The rows are kept, so that their address is not another's; no text where there are none.
    listings: Box<[Known<T>]>,
    readiness: Readiness,
}

/// A listing's key, its rows, and their text.
type Known<T> = (u64, Arc<Vec<T>>, Option<Chunk>);

impl<T> Default for Half<T> {
    fn default() -> Self {
        Self { listings: Box::default(), readiness: Readiness::Off }
    }
}

impl<T> Clone for Half<T> {
    fn clone(&self) -> Self {
        Self { listings: self.listings.clone(), readiness: self.readiness.clone() }
    }
}

/// Where the collector is off.
const NOT_READ: &str = "nothing of it is read for this account";

/// Is all of it known?
#[derive(Clone, PartialEq, Eq, Debug)]
enum Readiness {
    /// Nobody reads it.
    Off,
    /// What was not read whole yet.
    Unread(Arc<str>),
    Read,
}

impl<T> Half<T> {
    /// As it is now, by key, if anything changed.
    fn refreshed<'a>(
        &self,
        now: impl Iterator<Item = (u64, &'a Arc<Vec<T>>)> + Clone,
        readiness: Readiness,
        mut write: impl FnMut(u64, &[T]) -> Option<Chunk>,
    ) -> Option<Self>
    where
        T: 'a,
    {
        let is_known = |(key, rows): (u64, &Arc<Vec<T>>), known: &Known<T>| {
            key == known.0 && Arc::ptr_eq(rows, &known.1)
        };
        let mut known = self.listings.iter();
        let same = now.clone().all(|one| known.next().is_some_and(|known| is_known(one, known)));
        if same && known.next().is_none() && self.readiness == readiness {
            return None;
        }
        let listings = now.map(|(key, rows)| {
            let place = self.listings.binary_search_by_key(&key, |known| known.0).ok();
            let same = place.map(|place| &self.listings[place]).filter(|known| is_known((key, rows), known));
            same.cloned().unwrap_or_else(|| (key, Arc::clone(rows), write(key, rows)))
        });
        Some(Self { listings: listings.collect(), readiness })
    }

    fn texts(&self) -> impl Iterator<Item = &Chunk> {
        self.listings.iter().filter_map(|(_, _, text)| text.as_ref())
    }

    fn document(&self, marks: &Marks) -> Document {
        match &self.readiness {
            Readiness::Off => Err(NOT_READ.into()),
            Readiness::Unread(what) => Err(Arc::clone(what)),
            Readiness::Read => Ok(joined(marks, self.texts())),
        }
    }
}

/// Of all accounts that have it read.
fn whole<'a, T: 'a>(
    marks: &Marks,
    accounts: impl Iterator<Item = &'a Half<T>> + Clone,
    what: &str,
) -> Document {
    let mut read = accounts.filter(|half| half.readiness != Readiness::Off).peekable();
    if read.peek().is_none() {
        return Err(format!("no account has its {what} read").into());
    }
    match read.clone().find(|half| half.readiness != Readiness::Read) {
        Some(unread) => unread.document(marks),
        None => Ok(joined(marks, read.flat_map(Half::texts))),
    }
}

fn joined<'a>(marks: &Marks, texts: impl Iterator<Item = &'a Chunk>) -> Page {
    let mut chunks = vec![marks.open.clone()];
    for text in texts {
        if chunks.len() > 1 {
            chunks.push(marks.comma.clone());
        }
        chunks.push(text.clone());
    }
    chunks.push(marks.close.clone());
    Page::of(vec![Arc::new(chunks)])
}

/// The groups of a listing with commas between them.
fn text_of(
    groups: impl Iterator<Item = impl Serialize>,
    scratch: &mut Vec<u8>,
    compressor: &mut Compressor,
) -> Option<Chunk> {
    scratch.clear();
    for group in groups {
        if !scratch.is_empty() {
            scratch.extend_from_slice(b",\n");
        }
        serde_json::to_writer(&mut *scratch, &group).expect("texts and numbers have a form in JSON");
    }
    (!scratch.is_empty()).then(|| compressor.compress(scratch))
}

/// A container whose sites were never read whole may have any.
fn sites_readiness(state: &AccountState, completed: &Completed) -> Readiness {
    let account = &state.profile.name;
    let on = |collector| state.profile.collectors.contains(&collector);
    if !(on(Collector::Sites) && on(Collector::Containers)) {
        return Readiness::Off;
    }
    if !completed.listings.contains(&Collector::Containers) {
        let what = format!("the containers of account {account} were not read whole yet");
        return Readiness::Unread(what.into());
    }
    let unread = state.containers.rows.iter().find(|container| !completed.sites.contains(&container.id));
    unread.map_or(Readiness::Read, |container| {
        let what =
            format!("the sites of container {} of account {account} were not read whole yet", container.id);
        Readiness::Unread(what.into())
    })
}

fn vms_readiness(state: &AccountState, completed: &Completed) -> Readiness {
    if !state.profile.collectors.contains(&Collector::Vms) {
        Readiness::Off
    } else if completed.listings.contains(&Collector::Vms) {
        Readiness::Read
    } else {
        let what = format!("the VMs of account {} were not read whole yet", state.profile.name);
        Readiness::Unread(what.into())
    }
}
