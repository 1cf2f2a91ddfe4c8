//! The incident engine: observations and time in, changed incidents and notices out. Pure: `step`
//! changes nothing; what it returns is taken in by `commit` once the store holds it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::decide::Step;
use super::incident::Incident;
use super::key::Key;
use super::kind::Kind;
use super::notice::{self, Notice, Unsent};
use super::reason::{Cause, Reason};
use super::rules::{self, Finding};
use super::settings::Watcher;
use super::silence::Overlays;
use crate::model::freshness::attempted;
use crate::model::{AccountName, AccountState, Collector, CollectorStatus, FailureKind, Observed, Snapshot};

/// What the engine is told.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Readings of one account that were applied to the snapshot together, and the end of the poll if
    /// it ended.
    Poll { account: AccountName, observed: Vec<Observed>, ended: Option<Collector> },
    /// A minute went by.
    Tick,
}

/// What a step decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub incidents: Vec<Incident>,
    pub notices: Vec<Notice>,
    /// Message-IDs of unsent mails that a newer one replaces.
    pub withdraw: Vec<String>,
    /// Why something was decided, by incident.
    pub decisions: Vec<(Key, Reason)>,
    /// The first-start mail was decided by this step.
    pub started: bool,
    seen: Vec<(AccountName, String)>,
}

impl Outcome {
    /// Nothing to keep and nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.incidents.is_empty() && self.notices.is_empty() && self.withdraw.is_empty() && !self.started
    }
}

/// All incidents, and what the daemon remembers of its own past.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(super) watchers: BTreeMap<AccountName, Watcher>,
    incidents: BTreeMap<Key, Incident>,
    overlays: Overlays,
    /// The first-start mail is out, or was never due.
    started: bool,
    /// From when to when nobody watched, before this start.
    unwatched: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// How often each listing was seen since the start.
    seen: BTreeMap<(AccountName, String), u32>,
}

impl Engine {
    /// An engine that goes on from what the store holds. `watched_until` is when the daemon last
    /// looked, `None` for a store that has never been used.
    pub(crate) fn new(
        watchers: BTreeMap<AccountName, Watcher>,
        incidents: Vec<Incident>,
        started: bool,
        watched_until: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Self {
        let incidents = incidents.into_iter().map(|incident| (incident.key.clone(), incident)).collect();
        let unwatched = watched_until.filter(|&until| until < now).map(|until| (until, now));
        Self { watchers, incidents, overlays: Overlays::default(), started, unwatched, seen: BTreeMap::new() }
    }

    /// Every incident ever, by key.
    pub(crate) fn incidents(&self) -> &BTreeMap<Key, Incident> {
        &self.incidents
    }

    /// Incidents of the accounts that are watched now.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &Incident> {
        self.incidents.values().filter(|incident| self.watchers.contains_key(&incident.key.account))
    }

    /// Replaces what accounts are judged by; incidents stay.
    pub(crate) fn set_watchers(&mut self, watchers: BTreeMap<AccountName, Watcher>) {
        self.watchers = watchers;
    }

    /// Everybody who may hear of an incident.
    pub(crate) fn everybody(&self) -> BTreeSet<&str> {
        let named = self.watchers.values().flat_map(|watcher| {
            watcher.to.iter().chain(watcher.settings.rules.values().flat_map(|rule| &rule.to))
        });
        named.map(String::as_str).collect()
    }

    /// Replaces what people decided about incidents.
    pub(crate) fn set_overlays(&mut self, overlays: Overlays) {
        self.overlays = overlays;
    }

    /// What people decided about incidents.
    pub(crate) fn overlays(&self) -> &Overlays {
        &self.overlays
    }

    /// The first-start mail is out, or was never due.
    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// Decides. The snapshot already holds what `input` speaks of.
    pub(crate) fn step(
        &self,
        input: &Input,
        snapshot: &Snapshot,
        unsent: &Unsent,
        now: DateTime<Utc>,
    ) -> Outcome {
        let mut step = Step::new(&self.incidents, unsent, &self.overlays, self.started, now);
        step.heed_clock();
        let mut seen = Vec::new();
        match input {
            Input::Poll { account, observed, ended } => {
                if let (Some(watcher), Some(state)) =
                    (self.watchers.get(account), snapshot.accounts.get(account))
                {
                    for one in observed {
                        let listing = listing_name(one);
                        step.unwatched = self.unwatched_for(account, &listing, watcher);
                        seen.push((account.clone(), listing));
                        self.observe(&mut step, state, one, watcher);
                    }
                    step.unwatched = None;
                    if let Some(collector) = ended {
                        let findings = rules::judge_collector(state, *collector, &watcher.settings);
                        self.take(&mut step, state, findings, watcher);
                    }
                }
            }
            Input::Tick => self.tick(&mut step, snapshot),
        }
        self.finish(step, snapshot, seen, now)
    }

    /// Takes in what `step` decided, now that it is kept. `threads` are the Message-IDs of opening
    /// mails: incident, recipient, id.
    pub(crate) fn commit(&mut self, outcome: Outcome, threads: Vec<(Key, String, String)>) {
        for incident in outcome.incidents {
            self.incidents.insert(incident.key.clone(), incident);
        }
        self.add_threads(threads);
        self.started |= outcome.started;
        for listing in outcome.seen {
            *self.seen.entry(listing).or_default() += 1;
        }
    }

    /// Takes in the Message-IDs of opening mails: incident, recipient, id.
    pub(crate) fn add_threads(&mut self, threads: Vec<(Key, String, String)>) {
        for (key, to, id) in threads {
            if let Some(incident) = self.incidents.get_mut(&key) {
                incident.threads.insert(to, id);
            }
        }
    }

    fn observe(&self, step: &mut Step<'_>, state: &AccountState, observed: &Observed, watcher: &Watcher) {
        if matches!(observed, Observed::Report) {
            // The ladder first: what follows from being overdue folds into its mail.
            step.report(state, &watcher.settings);
        }
        let findings = rules::judge(state, observed, &self.incidents, &watcher.settings);
        self.take(step, state, findings, watcher);
    }

    fn take(&self, step: &mut Step<'_>, state: &AccountState, findings: Vec<Finding>, watcher: &Watcher) {
        for finding in findings {
            if watcher.settings.enabled(finding.key.kind) {
                step.finding(finding, state, &watcher.settings);
            }
        }
    }

    fn tick(&self, step: &mut Step<'_>, snapshot: &Snapshot) {
        for incident in self.incidents.values() {
            let watched = self.watchers.contains_key(&incident.key.account);
            if watched && incident.before_unwatched.is_some() {
                step.resume(&incident.key);
            } else if !watched && !incident.is_forgotten() {
                step.unwatch(&incident.key);
            }
        }
        for (account, watcher) in &self.watchers {
            let Some(state) = snapshot.accounts.get(account) else { continue };
            // What is known from before this start may be long past: first look, then speak.
            let billing = state.collectors.get(&Collector::ExpectedBalance);
            if billing.is_some_and(|status| status.polls > 0) {
                step.ladder_tick(state, &watcher.settings);
            }
            if !attempted(state) {
                continue;
            }
            let fails = |status: &CollectorStatus| {
                let kind = status.failure.as_ref().map(|failure| failure.kind);
                matches!(kind, Some(FailureKind::Other | FailureKind::NotFound))
            };
            for (&collector, _) in state.collectors.iter().filter(|(_, status)| fails(status)) {
                // A collector that runs once a day must not need a day to be noticed.
                let key = Key::new(account, Kind::CollectorFailing, collector);
                step.held_long_enough(&key, state, &watcher.settings);
            }
        }
        self.tick_open(step, snapshot);
    }

    /// What time alone brings to incidents that are open.
    fn tick_open(&self, step: &mut Step<'_>, snapshot: &Snapshot) {
        for incident in self.incidents.values().filter(|one| one.phase.is_open() || one.flapping) {
            let key = &incident.key;
            let (Some(watcher), Some(state)) =
                (self.watchers.get(&key.account), snapshot.accounts.get(&key.account))
            else {
                continue;
            };
            if !watcher.settings.enabled(key.kind) {
                step.retire(key, Cause::RuleOff);
                continue;
            }
            // While its collector fails nobody knows whether it lasts; what there is to tell waits.
            let status = key.kind.seen_by().and_then(|collector| state.collectors.get(&collector));
            if attempted(state) && status.is_none_or(|status| status.success) {
                step.time_passed(key, state, &watcher.settings);
            }
        }
    }

    fn finish(
        &self,
        mut step: Step<'_>,
        snapshot: &Snapshot,
        seen: Vec<(AccountName, String)>,
        now: DateTime<Utc>,
    ) -> Outcome {
        let started = !self.started && self.all_attempted(snapshot);
        let mut first = if started { self.first_start(&mut step, snapshot, now) } else { Vec::new() };
        let parts = step.into_parts();
        let mut notices = notice::group(&parts.items, |key| self.recipients(key));
        first.append(&mut notices);
        Outcome {
            incidents: parts.changed.into_values().collect(),
            notices: first,
            withdraw: parts.withdraw,
            decisions: parts.decisions,
            started,
            seen,
        }
    }

    /// Recipients of an account where no rule names others.
    pub(super) fn recipients_of(&self, account: &AccountName) -> &[String] {
        self.watchers.get(account).map_or(&[], |watcher| &watcher.to)
    }

    pub(super) fn recipients(&self, key: &Key) -> &[String] {
        self.watchers.get(&key.account).map_or(&[], |watcher| watcher.recipients(key.kind))
    }

    /// Was each collector that sees states tried once, in every account?
    fn all_attempted(&self, snapshot: &Snapshot) -> bool {
        let tried = |account| snapshot.accounts.get(account).is_some_and(|state| attempted(state));
        self.watchers.keys().all(tried)
    }

    fn unwatched_for(
        &self,
        account: &AccountName,
        listing: &str,
        watcher: &Watcher,
    ) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let seen = self.seen.get(&(account.clone(), listing.to_owned())).copied().unwrap_or(0);
        self.unwatched.filter(|_| seen < watcher.settings.recover_polls.max(watcher.settings.confirm_polls))
    }
}

fn listing_name(observed: &Observed) -> String {
    match observed {
        Observed::Vms(_) => "vms".to_owned(),
        Observed::Containers(_) => "containers".to_owned(),
        Observed::Sites(container, _) => format!("sites {container}"),
        Observed::Report => "report".to_owned(),
        Observed::Other => "other".to_owned(),
    }
}
