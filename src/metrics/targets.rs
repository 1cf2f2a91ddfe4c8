//! The documents of Prometheus's HTTP service discovery, every site and every VM: made once a change of a listing,
//! kept compressed, served as they are. Whoever reads one stops probing what is not in it, so there is none before
//! each listing was read whole once; from then on it holds what is known, however old.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::given::Completed;
use super::page::{Chunk, Compressor, Page};
use super::target_groups::{SiteGroup, VmGroup};
use crate::model::{AccountName, AccountState, Collector, Site, Vm};

/// What is to be probed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetKind {
    Sites,
    Vms,
}

/// A document, or why there is none yet.
pub(crate) type Document = Result<Page, Arc<str>>;

/// Every document at one moment. Immutable.
#[derive(Debug)]
pub(crate) struct Targets {
    sites: Documents,
    vms: Documents,
}

#[derive(Debug)]
struct Documents {
    all: Document,
    accounts: BTreeMap<AccountName, Document>,
}

impl Targets {
    /// The document of all accounts, or of the one of this name; `None` where there is no such account.
    pub(crate) fn document(&self, kind: TargetKind, account: Option<&str>) -> Option<&Document> {
        let documents = match kind {
            TargetKind::Sites => &self.sites,
            TargetKind::Vms => &self.vms,
        };
        match account {
            None => Some(&documents.all),
            Some(account) => documents.accounts.get(&account.parse().ok()?),
        }
    }
}

/// Keeps the target groups of every listing as compressed text.
#[derive(Debug)]
pub(super) struct TargetWriter {
    accounts: BTreeMap<AccountName, (Half<Site>, Half<Vm>)>,
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
        let Self { accounts, marks, scratch, changed } = self;
        let name = &state.profile.name;
        let (sites, vms) = accounts.entry(name.clone()).or_insert_with(|| {
            *changed = true;
            <_>::default()
        });
        let listings = state.sites.iter().map(|(container, listing)| (container.get(), &listing.rows));
        *changed |= sites.refresh(listings, sites_readiness(state, completed), marks, |rows| {
            text_of(rows.iter().map(|site| SiteGroup::of(name, site)), scratch, compressor)
        });
        let listing = std::iter::once((0, &state.vms.rows));
        *changed |= vms.refresh(listing, vms_readiness(state, completed), marks, |rows| {
            text_of(rows.iter().map(|vm| VmGroup::of(name, vm)), scratch, compressor)
        });
    }

    pub(super) fn remove(&mut self, account: &AccountName) {
        self.changed |= self.accounts.remove(account).is_some();
    }

    /// The documents, where they changed since they were last made.
    pub(super) fn documents(&mut self) -> Option<Targets> {
        std::mem::take(&mut self.changed).then(|| Targets {
            sites: documents(
                &self.marks,
                self.accounts.iter().map(|(name, (sites, _))| (name, sites)),
                "sites",
            ),
            vms: documents(&self.marks, self.accounts.iter().map(|(name, (_, vms))| (name, vms)), "VMs"),
        })
    }
}

/// What stands between the groups.
#[derive(Debug)]
struct Marks {
    open: Chunk,
    comma: Chunk,
    close: Chunk,
}

/// The sites or the VMs of an account, listing by listing.
#[derive(Debug)]
struct Half<T> {
    /// The rows are kept, so that their address is not another's; no text where there are none.
    listings: BTreeMap<u64, (Arc<Vec<T>>, Option<Chunk>)>,
    readiness: Readiness,
    document: Document,
}

impl<T> Default for Half<T> {
    fn default() -> Self {
        Self { listings: BTreeMap::new(), readiness: Readiness::Off, document: Err(NOT_READ.into()) }
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
    /// True if anything changed.
    fn refresh<'a>(
        &mut self,
        now: impl Iterator<Item = (u64, &'a Arc<Vec<T>>)>,
        readiness: Readiness,
        marks: &Marks,
        mut write: impl FnMut(&[T]) -> Option<Chunk>,
    ) -> bool
    where
        T: 'a,
    {
        let mut old = std::mem::take(&mut self.listings);
        let before = old.len();
        let mut changed = self.readiness != readiness;
        for (key, rows) in now {
            let same = old.remove(&key).filter(|(known, _)| Arc::ptr_eq(known, rows));
            changed |= same.is_none();
            self.listings.insert(key, same.unwrap_or_else(|| (Arc::clone(rows), write(rows))));
        }
        changed |= self.listings.len() != before;
        self.readiness = readiness;
        if changed {
            self.document = match &self.readiness {
                Readiness::Off => Err(NOT_READ.into()),
                Readiness::Unread(what) => Err(Arc::clone(what)),
                Readiness::Read => Ok(join(marks, self.texts())),
            };
        }
        changed
    }

    fn texts(&self) -> impl Iterator<Item = &Chunk> {
        self.listings.values().filter_map(|(_, text)| text.as_ref())
    }
}

fn documents<'a, T: 'a>(
    marks: &Marks,
    accounts: impl Iterator<Item = (&'a AccountName, &'a Half<T>)> + Clone,
    what: &str,
) -> Documents {
    let read: Vec<&Half<T>> =
        accounts.clone().map(|(_, half)| half).filter(|half| half.readiness != Readiness::Off).collect();
    let all = match (read.as_slice(), read.iter().find(|half| half.readiness != Readiness::Read)) {
        ([], _) => Err(format!("no account has its {what} read").into()),
        ([one], _) => one.document.clone(),
        (_, Some(unread)) => unread.document.clone(),
        (several, None) => Ok(join(marks, several.iter().flat_map(|half| half.texts()))),
    };
    let accounts = accounts.map(|(name, half)| (name.clone(), half.document.clone()));
    Documents { all, accounts: accounts.collect() }
}

fn join<'a>(marks: &'a Marks, texts: impl Iterator<Item = &'a Chunk>) -> Page {
    let mut chunks = vec![&marks.open];
    for text in texts {
        if chunks.len() > 1 {
            chunks.push(&marks.comma);
        }
        chunks.push(text);
    }
    chunks.push(&marks.close);
    Page::join(chunks.into_iter())
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
