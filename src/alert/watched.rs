//! Whether an incident is still watched: by the configuration, and by the names in it.

use std::collections::BTreeSet;

use super::finding::Value;
use super::incident::Incident;
use super::key::Key;
use super::kind::Kind;
use super::reason::Cause;
use super::settings::{AlertSettings, Watcher};
use crate::model::{AccountState, Collector, ContainerState};

/// The reason why nothing watches an incident any more; `None` while something does.
pub(super) fn why_not(
    incident: &Incident,
    watcher: Option<&Watcher>,
    state: Option<&AccountState>,
) -> Option<Cause> {
    let Some(watcher) = watcher else { return Some(Cause::AccountGone) };
    let state = state?;
    let (key, settings) = (&incident.key, &watcher.settings);
    if !is_read(key, &state.profile.collectors) {
        Some(Cause::CollectorOff)
    } else if !settings.watches(key) {
        Some(Cause::RuleOff)
    } else if named(incident, state).is_some_and(|name| !settings.covers(key.kind, &name)) {
        Some(Cause::LeftOut)
    } else if lost_its_name(incident, state, settings) {
        Some(Cause::CodeUnnamed)
    } else {
        None
    }
}

/// Whether a collector that shows the incident is on, if any shows it.
pub(super) fn is_read(key: &Key, on: &BTreeSet<Collector>) -> bool {
    key.shown_by().next().is_none() || key.shown_by().any(|collector| on.contains(&collector))
}

/// The name that the patterns `only` and `except` apply to.
fn named(incident: &Incident, state: &AccountState) -> Option<String> {
    let (kind, id) = (incident.key.kind, incident.key.id()?);
    let listed = match kind.sort() {
        Some(sort) => state.resource(sort, id).and_then(|seen| seen.name),
        None if kind == Kind::OrderSuspended => None,
        None => return None,
    };
    Some(listed.unwrap_or(incident.name()).to_owned())
}

/// The container's state had a name by its number, and the configuration has that name no more.
fn lost_its_name(incident: &Incident, state: &AccountState, settings: &AlertSettings) -> bool {
    let Value::State(held) = &incident.value else { return false };
    let id = incident.key.id().filter(|_| incident.key.kind == Kind::ContainerDisabled);
    let unnamed = |id: u64| state.containers.get(id.into()).is_some_and(|one| !one.state.is_known());
    let was_named = ContainerState::KNOWN.iter().any(|known| known.as_str() == held);
    id.is_some_and(unnamed) && was_named && !settings.container_states.contains(held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Target;
    use crate::model::{Group, Sort};

    #[test]
    fn an_incident_is_read_by_the_collector_that_sees_its_kind() {
        let account = "main".parse().unwrap();
        let key = |kind, resource: Target| Key::new(&account, kind, resource);
        let table = [
            (key(Kind::VmError, 7.into()), vec![Collector::Vms]),
            (key(Kind::SiteBlocked, 7.into()), vec![Collector::Sites]),
            (key(Kind::ContainerDisabled, 7.into()), vec![Collector::Containers]),
            (key(Kind::OrderSuspended, 7.into()), vec![Collector::ExpectedBalance]),
            (key(Kind::Disconnect, Target::Account), vec![Collector::ExpectedBalance]),
            (key(Kind::BillingReport, Target::Account), vec![Collector::ExpectedBalance]),
            (key(Kind::UnknownState, Target::All(Sort::Vm)), vec![Collector::Vms]),
            (key(Kind::ResourceGone, Target::Of(Sort::Site, 7)), vec![Collector::Sites]),
            (
                key(Kind::CredentialsRejected, Group::Vm.into()),
                vec![Collector::Vms, Collector::Ips, Collector::SshKeys],
            ),
        ];
        for (key, by) in table {
            for collector in Collector::ALL {
                assert_eq!(
                    is_read(&key, &[collector].into()),
                    by.contains(&collector),
                    "{key} {collector:?}"
                );
            }
        }
    }
}
