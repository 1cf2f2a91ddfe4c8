//! The documents of Prometheus's HTTP service discovery, with every site and every VM, made on request.
//! Prometheus stops probing targets that a document lacks. So there is no document before each listing was read
//! completely once; from then on it has the known targets, of any age.

use std::sync::Arc;

use serde::Serializer as _;

use super::page::{Compressor, Page};
use super::target_groups::TargetGroup;
use crate::model::{AccountState, Collector, Snapshot};

/// The sort of targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetKind {
    Sites,
    Vms,
}

/// The document of the accounts that read such listings, or of one of them. `Err` holds the reason why there is
/// none yet.
pub(crate) fn document(snapshot: &Snapshot, kind: TargetKind, account: Option<&str>) -> Result<Page, String> {
    let states = snapshot.accounts.values().map(|state| &**state);
    let asked = states.filter(|state| account.is_none_or(|name| state.profile.name.as_str() == name));
    let read: Vec<&AccountState> = asked.filter(|state| kind.is_read(state)).collect();
    if read.is_empty() {
        let what = if kind == TargetKind::Sites { "sites" } else { "VMs" };
        return Err(match account {
            Some(_) => "nothing of it is read for this account".to_owned(),
            None => format!("no account has its {what} read"),
        });
    }
    read.iter().find_map(|state| kind.unread(state)).map_or_else(|| Ok(kind.written(&read)), Err)
}

impl TargetKind {
    /// Whether the collectors that list such targets are on.
    fn is_read(self, state: &AccountState) -> bool {
        let needed: &[Collector] = match self {
            Self::Sites => &[Collector::Sites, Collector::Containers],
            Self::Vms => &[Collector::Vms],
        };
        needed.iter().all(|collector| state.profile.collectors.contains(collector))
    }

    /// The listing that was never read completely. A container whose sites were never read may have any.
    fn unread(self, state: &AccountState) -> Option<String> {
        let what = match self {
            Self::Vms => (!state.vms.was_complete).then(|| "VMs".to_owned()),
            Self::Sites if !state.containers.was_complete => Some("containers".to_owned()),
            Self::Sites => {
                let was_read = |id| state.sites.get(id).is_some_and(|sites| sites.was_complete);
                let unread = state.containers.rows.iter().find(|container| !was_read(&container.id));
                unread.map(|container| format!("sites of container {}", container.id))
            }
        };
        what.map(|what| format!("the {what} of account {} were not read whole yet", state.profile.name))
    }

    fn written(self, states: &[&AccountState]) -> Page {
        let mut text = Vec::new();
        let json = &mut serde_json::Serializer::new(&mut text);
        let written = match self {
            Self::Sites => json.collect_seq(states.iter().flat_map(|state| {
                let sites = state.sites.values().flat_map(|listing| listing.rows.iter());
                sites.map(|site| TargetGroup::of_site(&state.profile.name, site))
            })),
            Self::Vms => json.collect_seq(states.iter().flat_map(|state| {
                state.vms.rows.iter().map(|vm| TargetGroup::of_vm(&state.profile.name, vm))
            })),
        };
        written.expect("texts and numbers have a form in JSON");
        text.push(b'\n');
        Page::of(vec![Arc::new(vec![Compressor::new().compress(&text)])])
    }
}
