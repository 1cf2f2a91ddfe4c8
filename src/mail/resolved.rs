//! How the end of an incident is said: what the thing is now, never more than is known. Pure.

use crate::alert::{Item, Kind, Sort};
use crate::model::{AccountState, ContainerId, ContainerState, SiteId, SiteState, VmId, VmState};

/// `VM web-1`, `active again`.
#[allow(clippy::wildcard_enum_match_arm)] // resources, which are told above, and what has no end
pub(super) fn words(item: &Item, state: Option<&AccountState>) -> (String, String) {
    let of = |words: &str| (item.subject.clone(), words.to_owned());
    let no_longer = || (item.subject.clone(), format!("no longer {}", item.problem));
    if item.key.kind.sort().is_some() {
        return state.and_then(|state| is_now(item, state)).map_or_else(no_longer, of);
    }
    match item.key.kind {
        Kind::CollectorFailing => match item.subject.strip_prefix("Cannot ") {
            Some(read) => (format!("Can {read} again"), String::new()),
            None => of("answers again"),
        },
        Kind::UnknownState => of("no longer seen"),
        Kind::ResourceGone => of("listed again"),
        Kind::CredentialsRejected => of("accepted again"),
        Kind::BillingReport => of("available again"),
        _ => no_longer(),
    }
}

/// `VM web-1`, `was in error`; `Could not read VMs`.
pub(super) fn past(item: &Item) -> (String, String) {
    match item.subject.strip_prefix("Cannot ") {
        Some(read) if item.problem.is_empty() => (format!("Could not {read}"), String::new()),
        _ if item.reason.is_stable() && !item.problem.is_empty() => {
            (item.subject.clone(), "kept failing".to_owned())
        }
        _ if item.problem.is_empty() => (item.subject.clone(), "was seen".to_owned()),
        _ => match item.problem.strip_prefix("does not ") {
            Some(problem) => {
                let problem = problem.replace("nothing is watched", "nothing was watched");
                (item.subject.clone(), format!("did not {problem}"))
            }
            None if item.key.kind == Kind::CredentialsRejected => {
                (item.subject.clone(), format!("were {}", item.problem))
            }
            None => (item.subject.clone(), format!("was {}", item.problem)),
        },
    }
}

/// Where it is as it should be.
fn is_now(item: &Item, state: &AccountState) -> Option<&'static str> {
    let id = item.key.id()?;
    match item.key.kind.sort()? {
        Sort::Vm => (state.vms.get(VmId::new(id))?.state == VmState::Active).then_some("active again"),
        Sort::Site => (state.site(SiteId::new(id))?.state == SiteState::Active).then_some("active again"),
        Sort::Container => {
            let enabled = state.containers.get(ContainerId::new(id))?.state == ContainerState::Enabled;
            // That its sites were stopped is not about its own state.
            (enabled && item.problem == Kind::ContainerDisabled.problem()).then_some("enabled again")
        }
    }
}
