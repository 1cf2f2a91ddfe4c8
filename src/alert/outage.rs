//! Collectors that fail together: the first whose time has come tells of all of them, in one mail. Pure.

use super::decide::StepDraft;
use super::incident::{Incident, Phase};
use super::key::{Key, Target};
use super::kind::{Kind, Severity};
use super::reason::Withheld;
use super::rules;
use super::settings::AlertSettings;
use crate::model::freshness::state_collectors;
use crate::model::{AccountState, Collector, CollectorStatus};

impl StepDraft<'_> {
    /// Makes the incident of one collector speak of all that failed at their last try.
    pub(super) fn gather_failing(
        &mut self,
        incident: &mut Incident,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        let fails = |status: &CollectorStatus| status.failure.is_some();
        let failing = |collector: &Collector| state.collectors.get(collector).is_some_and(fails);
        let mut seeing = state_collectors(&state.profile).peekable();
        if seeing.peek().is_some() && seeing.all(|collector| failing(&collector)) {
            incident.subject = "Provider API".to_owned();
            incident.problem = "does not answer: nothing is watched".to_owned();
            let own = settings.rules.get(&Kind::CollectorFailing).and_then(|rule| rule.severity);
            incident.severity = own.unwrap_or(Severity::Critical);
        }
        let mut names = Vec::new();
        for (&collector, _) in state.collectors.iter().filter(|(_, status)| fails(status)) {
            if self.fails_with(collector, incident, state) {
                names.push(collector.as_str());
            }
        }
        if !names.is_empty() {
            let all = format!("{}; not read either: {}", incident.detail, names.join(", "));
            incident.detail = rules::clean(&all, 400);
        }
    }

    /// What ends is one incident of several collectors: those of them that still fail are named.
    pub(super) fn name_still_failing(&self, incident: &mut Incident) {
        let failing = self.keys().into_iter().filter(|key| key.kind == Kind::CollectorFailing);
        let failing = failing.filter_map(|key| self.get(&key));
        let covered =
            failing.filter(|one| one.phase.is_open() && one.folded_into.as_ref() == Some(&incident.key));
        let names: Vec<String> = covered.map(|one| one.key.resource.to_string()).collect();
        if !names.is_empty() {
            incident.detail = format!("{}; not read yet: {}", incident.detail, names.join(", "));
        }
    }

    /// Another collector's incident, of which nobody was told, becomes part of this one.
    fn fails_with(&mut self, collector: Collector, incident: &Incident, state: &AccountState) -> bool {
        let key = Key::new(&state.profile.name, Kind::CollectorFailing, collector);
        let Some(mut other) = self.get(&key).filter(|_| key != incident.key).cloned() else { return false };
        let untold = !other.announced || other.folded_into.is_some();
        if other.phase == Phase::Pending {
            other.enter(Phase::Firing, self.now);
        } else if other.phase != Phase::Firing || !untold {
            return false;
        }
        other.folded_into = Some(incident.key.clone());
        other.announced = true;
        self.keep(other, Withheld::Folded(incident.key.clone()));
        true
    }
}

/// The incident of another collector that covers this one: the one it was told with, or one of its group that fails
/// for the same reason.
pub(super) fn cause(draft: &StepDraft<'_>, incident: &Incident, state: &AccountState) -> Option<Key> {
    let is_open = |key: &&Key| draft.get(key).is_some_and(|other| other.phase.is_open());
    if let Some(told_with) = incident.folded_into.as_ref().filter(is_open) {
        return Some(told_with.clone());
    }
    let Target::Collector(collector) = incident.key.resource else { return None };
    let why = reason(state, collector)?;
    let mut others = draft.of_kind(state, Kind::CollectorFailing).filter(|other| {
        other.phase.is_open() && other.announced && other.folded_into.is_none() && other.key != incident.key
    });
    let same = others.find(|other| {
        let Target::Collector(other) = other.key.resource else { return false };
        other.group() == collector.group() && reason(state, other).is_some_and(|other| other == why)
    });
    same.map(|other| other.key.clone())
}

/// Why its last poll failed, without what was asked for and without numbers, which differ from poll to poll.
fn reason(state: &AccountState, collector: Collector) -> Option<String> {
    let message = &state.collectors.get(&collector)?.failure.as_ref()?.message;
    let why = message.split_once("): ").map_or(message.as_str(), |(_, why)| why);
    Some(why.replace(|c: char| c.is_ascii_digit(), ""))
}
