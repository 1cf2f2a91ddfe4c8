//! The documents of Prometheus's HTTP service discovery, with every site and every VM, made on request.
//! Prometheus stops probing targets that a document lacks. So there is no document before each listing was read
//! completely once; from then on it has the known targets, of any age.

use std::sync::Arc;

use serde::Serialize;

use super::page::{Compressor, Page};
use super::target_groups::TargetGroup;
use crate::model::{AccountState, Collector, Snapshot};

/// The sort of targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetKind {
    Sites,
    Vms,
}

/// The document of all accounts, or of one. `Err` holds the reason why there is none yet; `None` if there is no
/// such account.
pub(crate) fn document(
    snapshot: &Snapshot,
    kind: TargetKind,
    account: Option<&str>,
) -> Option<Result<Page, String>> {
    let Some(name) = account else { return Some(whole(snapshot, kind)) };
    let state = snapshot.accounts.get(&name.parse().ok()?)?;
    Some(match kind.is_read(state) {
        true => kind.unread(state).map_or_else(|| Ok(kind.written([&**state])), Err),
        false => Err("nothing of it is read for this account".to_owned()),
    })
}

/// The document of all accounts that read such listings.
fn whole(snapshot: &Snapshot, kind: TargetKind) -> Result<Page, String> {
    let states = snapshot.accounts.values().map(|state| &**state);
    let read: Vec<&AccountState> = states.filter(|state| kind.is_read(state)).collect();
    if read.is_empty() {
        let what = if kind == TargetKind::Sites { "sites" } else { "VMs" };
        return Err(format!("no account has its {what} read"));
    }
    read.iter().find_map(|state| kind.unread(state)).map_or_else(|| Ok(kind.written(read)), Err)
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
        let account = &state.profile.name;
        let what = match self {
            Self::Vms => (!state.vms.was_complete).then(|| "VMs".to_owned()),
            Self::Sites if !state.containers.was_complete => Some("containers".to_owned()),
            Self::Sites => {
                let was_read = |id| state.sites.get(id).is_some_and(|sites| sites.was_complete);
                let unread = state.containers.rows.iter().find(|container| !was_read(&container.id));
                return unread.map(|container| {
                    format!(
                        "the sites of container {} of account {account} were not read whole yet",
                        container.id
                    )
                });
            }
        };
        what.map(|what| format!("the {what} of account {account} were not read whole yet"))
    }

    fn written<'a>(self, states: impl IntoIterator<Item = &'a AccountState>) -> Page {
        let mut text = b"[".to_vec();
        for state in states {
            let account = &state.profile.name;
            match self {
                Self::Sites => {
                    for site in state.sites.values().flat_map(|listing| listing.rows.iter()) {
                        write(&TargetGroup::of_site(account, site), &mut text);
                    }
                }
                Self::Vms => {
                    for vm in state.vms.rows.iter() {
                        write(&TargetGroup::of_vm(account, vm), &mut text);
                    }
                }
            }
        }
        text.extend_from_slice(b"\n]\n");
        Page::of(vec![Arc::new(vec![Compressor::new().compress(&text)])])
    }
}

fn write(group: &impl Serialize, text: &mut Vec<u8>) {
    text.extend_from_slice(if text.len() == 1 { b"\n" } else { b",\n" });
    serde_json::to_writer(text, group).expect("texts and numbers have a form in JSON");
}
