//! Collectors that fail together: the first whose time has come tells of all of them, in one mail. Pure.

use chrono::Duration;

use super::decide::StepDraft;
use super::incident::{Incident, Phase};
use super::key::{Key, Target};
use super::kind::{Kind, Severity};
use super::reason::Withheld;
use super::rules;
use super::settings::AlertSettings;
use crate::model::freshness::state_collectors;
use crate::model::{AccountState, Collector, CollectorStatus};

/// What the incident of one collector is called where nothing that shows states can be read.
const PROVIDER: &str = "Provider API";
/// Collectors seldom recover all at once: what is not tried within this is told of as it was.
const TRIED_WITHIN: Duration = Duration::minutes(30);
/// Most are tried so soon after the first that is read again: one end tells of them all.
const END_TOGETHER: Duration = Duration::minutes(3);

impl StepDraft<'_> {
    /// Makes the incident of one collector speak of all that failed at their last try.
    pub(super) fn gather_failing(
        &mut self,
        incident: &mut Incident,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        for (&collector, _) in state.collectors.iter().filter(|(_, status)| fails(status)) {
            self.fold_failing(collector, incident, state);
        }
        self.name_failing(incident, state, settings);
    }

    /// Words the incident of one collector as of all that were told with it and fail now.
    pub(super) fn name_failing(
        &self,
        incident: &mut Incident,
        state: &AccountState,
        settings: &AlertSettings,
    ) {
        let Target::Collector(own) = incident.key.resource else { return };
        let failing = |collector: Collector| state.collectors.get(&collector).is_some_and(fails);
        let mut seeing = state_collectors(&state.profile).peekable();
        if seeing.peek().is_some() && seeing.all(failing) {
            incident.subject = PROVIDER.to_owned();
            incident.problem = "does not answer: nothing is watched".to_owned();
            let rule = settings.rules.get(&Kind::CollectorFailing).and_then(|rule| rule.severity);
            incident.severity = rule.unwrap_or(Severity::Critical);
        } else {
            incident.subject = rules::cannot_read(own);
            incident.problem = Kind::CollectorFailing.problem().to_owned();
            incident.severity = settings.severity(Kind::CollectorFailing);
        }
        let names: Vec<String> = self.covered_by(&incident.key, Phase::Firing).map(name).collect();
        if !names.is_empty() {
            let all = format!("{}; not read either: {}", incident.detail, names.join(", "));
            incident.detail = rules::clean(&all, 400);
        }
    }

    /// People were told that the provider does not answer, and some of it is read again while the rest failed since.
    pub(super) fn is_read_in_part(&self, incident: &Incident, state: &AccountState) -> bool {
        let is_told = incident.key.kind == Kind::CollectorFailing && incident.subject == PROVIDER;
        if !is_told || incident.phase != Phase::Firing || self.silenced(incident).is_some() {
            return false;
        }
        let seeing =
            || state_collectors(&state.profile).filter_map(|one| Some((one, state.collectors.get(&one)?)));
        let read = seeing().filter(|(collector, _)| !self.is_told_unread(*collector, state));
        let Some(since) = read.filter_map(|(_, status)| status.good_since).min() else { return false };
        let tried = |(_, status): (_, &CollectorStatus)| !fails(status) || status.began >= Some(since);
        seeing().all(tried) || self.now - since >= TRIED_WITHIN
    }

    /// Is it read again, while what was told with it is still to be tried?
    pub(super) fn ends_later(&self, incident: &Incident, state: &AccountState) -> bool {
        let Target::Collector(own) = incident.key.resource else { return false };
        let Some(since) = state.collectors.get(&own).and_then(|status| status.good_since) else {
            return false;
        };
        let is_untried = |status: &CollectorStatus| fails(status) && status.began < Some(since);
        let mut others = self.covered_by(&incident.key, Phase::Firing);
        incident.key.kind == Kind::CollectorFailing
            && !incident.flapping
            && self.now - since < END_TOGETHER
            && others.any(|one| {
                let Target::Collector(other) = one.key.resource else { return false };
                state.collectors.get(&other).is_some_and(is_untried)
            })
    }

    /// Is it read again, and waited for the others?
    pub(super) fn is_read_again(
        &self,
        incident: &Incident,
        state: &AccountState,
        settings: &AlertSettings,
    ) -> bool {
        incident.key.kind == Kind::CollectorFailing
            && incident.phase == Phase::Recovering
            && incident.streak >= settings.to_recover()
            && !self.ends_later(incident, state)
    }

    /// Does an incident say that this collector, or its whole group, cannot be read, or not yet?
    fn is_told_unread(&self, collector: Collector, state: &AccountState) -> bool {
        let account = &state.profile.name;
        let own = Key::new(account, Kind::CollectorFailing, collector);
        let of_group = Key::new(account, Kind::CredentialsRejected, collector.group());
        let is_open = |key: &Key| self.get(key).is_some_and(|one| one.phase.is_open());
        is_open(&own) || is_open(&of_group)
    }

    /// What ends is one incident of several collectors: those of them that still fail are named.
    pub(super) fn name_still_failing(&mut self, incident: &mut Incident) {
        let covered: Vec<Incident> = self.covered_by(&incident.key, Phase::Firing).cloned().collect();
        let names: Vec<String> = covered.iter().map(name).collect();
        if !names.is_empty() {
            incident.detail = format!("{}; not read yet: {}", incident.detail, names.join(", "));
        }
        for one in covered {
            self.put(Incident { followed_up: true, ..one });
        }
    }

    /// Is this the last of those that an end named as not read yet? None of the others is told by itself.
    pub(super) fn ends_all_that_failed(&self, incident: &mut Incident) -> bool {
        let Some(root) = incident.folded_into.clone().filter(|_| incident.key.kind == Kind::CollectorFailing)
        else {
            return false;
        };
        let is_over = self.get(&root).is_none_or(|root| !root.phase.is_open());
        let is_named = |one: &Incident| one.followed_up && one.key != incident.key;
        let mut others =
            self.covered_by(&root, Phase::Firing).chain(self.covered_by(&root, Phase::Recovering));
        let is_last = incident.followed_up && is_over && !others.any(is_named);
        if is_last {
            incident.folded_into = None;
            incident.detail = format!("{}; all that failed with it is read again", incident.detail);
        }
        is_last
    }

    /// Collectors' incidents in this phase of which that one's mail tells.
    fn covered_by<'a>(&'a self, root: &'a Key, phase: Phase) -> impl Iterator<Item = &'a Incident> {
        let keys = Collector::ALL.map(|collector| Key::new(&root.account, Kind::CollectorFailing, collector));
        let failing = keys.into_iter().filter_map(|key| self.get(&key));
        failing.filter(move |one| one.phase == phase && one.folded_into.as_ref() == Some(root))
    }

    /// Another collector's incident, of which nobody was told, becomes part of this one.
    fn fold_failing(&mut self, collector: Collector, incident: &Incident, state: &AccountState) {
        let key = Key::new(&state.profile.name, Kind::CollectorFailing, collector);
        let Some(mut other) = self.get(&key).filter(|_| key != incident.key).cloned() else { return };
        let untold = !other.announced || other.folded_into.is_some();
        if other.phase == Phase::Pending {
            other.enter(Phase::Firing, self.now);
        } else if other.phase != Phase::Firing || !untold {
            return;
        }
        other.folded_into = Some(incident.key.clone());
        other.announced = true;
        self.keep(other, Withheld::Folded(incident.key.clone()));
    }
}

fn fails(status: &CollectorStatus) -> bool {
    status.failure.is_some()
}

fn name(incident: &Incident) -> String {
    if let Target::Collector(collector) = &incident.key.resource {
        collector.words().to_owned()
    } else {
        incident.key.resource.to_string()
    }
}

/// The incident of another collector that covers this one: the one it was told with, or one of its group that fails
/// for the same reason.
pub(super) fn cause(draft: &StepDraft<'_>, incident: &Incident, state: &AccountState) -> Option<Key> {
    let is_open = |key: &&Key| draft.get(key).is_some_and(Incident::explains);
    if let Some(told_with) = incident.folded_into.as_ref().filter(is_open) {
        return Some(told_with.clone());
    }
    let Target::Collector(collector) = incident.key.resource else { return None };
    let why = reason(state, collector)?;
    let mut others = draft.of_kind(state, Kind::CollectorFailing).filter(|other| {
        other.explains() && other.announced && other.folded_into.is_none() && other.key != incident.key
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
