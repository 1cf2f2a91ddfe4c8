//! Whether an incident is still watched, by the configuration and by what its names say there; and what becomes of one
//! that is not. Pure.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::decide::StepDraft;
use super::incident::{COMES_BACK_WITHIN, Incident, Phase};
use super::key::{Key, Sort, Target};
use super::kind::{Event, Kind};
use super::reason::Cause;
use super::settings::{AlertSettings, Watcher};
use crate::model::{AccountState, Collector, ContainerState};

/// What arrived, or may have or still will, of the mails about an incident that is watched again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Back {
    /// Somebody was mailed of it.
    pub heard: bool,
    /// Somebody was mailed that nothing looks at it any more; one that surely did not leave is none.
    pub heard_unwatched: bool,
}

impl Default for Back {
    fn default() -> Self {
        Self { heard: true, heard_unwatched: true }
    }
}

/// Why nothing looks at an incident any more; `None` while something does.
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
    } else if !settings.enabled(key.kind) {
        Some(Cause::RuleOff)
    } else if named(incident, state).is_some_and(|name| !settings.covers(key.kind, &name)) {
        Some(Cause::LeftOut)
    } else if lost_its_name(incident, state, settings) {
        Some(Cause::CodeUnnamed)
    } else if has_left_report(incident, state) {
        Some(Cause::LeftReport)
    } else {
        None
    }
}

/// Is the collector on that sees it?
fn is_read(key: &Key, on: &BTreeSet<Collector>) -> bool {
    match (key.kind, &key.resource) {
        (Kind::CollectorFailing, Target::Collector(collector)) => on.contains(collector),
        (Kind::CredentialsRejected, Target::Group(group)) => on.iter().any(|one| one.group() == *group),
        (Kind::UnknownState | Kind::ResourceGone, Target::Of(sort, _)) => on.contains(&sort.seen_by()),
        (Kind::BillingReport, _) => on.contains(&Collector::ExpectedBalance),
        (kind, _) => kind.seen_by().is_none_or(|collector| on.contains(&collector)),
    }
}

/// The name that `only` and `except` speak of.
fn named(incident: &Incident, state: &AccountState) -> Option<String> {
    let (kind, id) = (incident.key.kind, incident.key.id()?);
    let listed = match kind.sort() {
        Some(Sort::Vm) => state.vms.get(id.into()).and_then(|vm| vm.name.as_deref()),
        Some(Sort::Container) => state.containers.get(id.into()).and_then(|one| one.name.as_deref()),
        Some(Sort::Site) => state.site(id.into()).and_then(|site| site.name.as_deref()),
        None if kind == Kind::OrderSuspended => None,
        None => return None,
    };
    Some(listed.unwrap_or(incident.name()).to_owned())
}

/// A container's state was known by the name of its number, which the configuration has no more.
fn lost_its_name(incident: &Incident, state: &AccountState, settings: &AlertSettings) -> bool {
    let Some(id) = incident.key.id().filter(|_| incident.key.kind == Kind::ContainerDisabled) else {
        return false;
    };
    let unnamed = state.containers.get(id.into()).is_some_and(|container| !container.state.is_known());
    let was_named = ContainerState::KNOWN.iter().any(|known| known.as_str() == incident.held);
    unnamed && was_named && !settings.container_states.contains(&incident.held)
}

/// An order that was left out by as many reports as it takes is watched again once one has it.
fn has_left_report(incident: &Incident, state: &AccountState) -> bool {
    let id = incident.key.id().filter(|_| incident.key.kind == Kind::OrderSuspended);
    let report = state.billing.report.as_deref().filter(|_| incident.phase == Phase::Unwatched);
    id.zip(report).is_some_and(|(id, report)| report.orders.iter().all(|order| order.id.get() != id))
}

impl Incident {
    /// Is what it is about among what is known? After a start a listing that is short may leave it out.
    pub(super) fn is_listed(&self, state: &AccountState) -> bool {
        let sight = self.key.kind.seen_by().zip(self.key.id());
        sight.is_none_or(|(collector, id)| state.lists(collector, id))
    }
}

impl StepDraft<'_> {
    /// Ends what nothing looks at any more. Who was told of it is told of that, and never that it is over.
    pub(super) fn retire(&mut self, key: &Key, why: Cause) {
        let Some(mut before) = self.get(key).cloned() else { return };
        let told = before.phase.is_open()
            && before.announced
            && before.folded_into.is_none()
            && !before.told_unwatched;
        before.told_unwatched |= told;
        before.stop_flapping();
        let mut ended = before.clone();
        ended.enter(Phase::Unwatched, self.now);
        ended.folded_into = None;
        ended.ladder = None;
        // That it is looked at again is no change of what it is about.
        ended.changes.clear();
        if why.may_come_back() {
            ended.before_unwatched = Some((self.now, Box::new(before.clone())));
        }
        if told {
            // As it stood: a mail about money says whether it was overdue.
            self.tell_as(&before, ended, why, Event::Unwatched);
        } else {
            self.note(ended, why);
        }
    }

    /// Of what is watched again: within a day it goes on, later it begins anew. Who was told that nothing looks at it is
    /// told how it is once it was looked at; who was told nothing is told as of any other. Since when nothing watched it,
    /// where it goes on.
    pub(super) fn resume(&mut self, key: &Key, back: Back) -> Option<DateTime<Utc>> {
        let mut incident = self.get(key).cloned()?;
        let (since, before) = incident.before_unwatched.take()?;
        if self.now - since > COMES_BACK_WITHIN {
            self.put(incident);
            return None;
        }
        let mut before = *before;
        before.calendar = incident.calendar;
        // What was seen then says nothing of now.
        (before.moved_on, before.streak) = (None, 0);
        if before.phase == Phase::Recovering {
            before.phase = Phase::Firing;
        }
        before.unseen_since_back = key.kind.seen_by().is_some() && key.id().is_some();
        let was_retired_aloud = before.told_unwatched;
        before.told_unwatched &= back.heard_unwatched;
        if before.told_unwatched {
            before.arming += 1;
            if let Some(ladder) = &mut before.ladder {
                ladder.untell();
            }
        }
        self.put(before);
        self.note_beside(key, Cause::WatchedAgain);
        if was_retired_aloud && !back.heard_unwatched {
            if back.heard {
                self.goes_on(key);
            } else {
                self.untell(key);
            }
        }
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Severity;
    use crate::model::Group;

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
            (key(Kind::CollectorFailing, Collector::Ips.into()), vec![Collector::Ips]),
            (key(Kind::UnknownState, Target::of(Sort::Vm, "odd")), vec![Collector::Vms]),
            (key(Kind::ResourceGone, Target::of(Sort::Site, "7")), vec![Collector::Sites]),
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

    #[test]
    fn an_account_that_is_not_there_watches_nothing() {
        let key = Key::account_wide(&"main".parse().unwrap(), Kind::Disconnect);
        let incident = Incident::new(key, Severity::Warning, DateTime::UNIX_EPOCH);
        assert_eq!(why_not(&incident, None, None), Some(Cause::AccountGone));
    }
}
