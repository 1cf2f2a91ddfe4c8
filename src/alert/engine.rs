//! The incident engine: observations and time in, changed incidents and notices out. Pure: `step`
//! changes nothing; what it returns is taken in by `commit` once the store holds it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::decide::StepDraft;
use super::escalation;
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind};
use super::ladder::Ladder;
use super::missed::Missed;
use super::notice::{self, Item, Notice};
use super::reason::{Cause, Reason};
use super::remembered::Remembered;
use super::rules::{self, Finding};
use super::settings::Watcher;
use super::silence::Muted;
use super::turns::{Turned, Turns};
use super::watched::{self, Back};
use crate::model::forecast::Disconnect;
use crate::model::freshness::{all_looked, attempted, has_looked};
use crate::model::{AccountName, AccountState, Collector, Observed, Snapshot, Told};

/// What the engine is told.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Readings of one account that were applied to the snapshot together, and the end of the poll if
    /// it ended.
    Poll { account: AccountName, observed: Vec<Observed>, ended: Option<Collector> },
    /// A minute went by; with what the outbox knows by then.
    Tick(Delivery),
}

/// What became of mails, as far as decisions that time alone makes rest on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Every mail about the present episode of these was given up, and by now somebody can be reached.
    pub unheard: Vec<Key>,
    /// Who heard what of those that are watched again.
    pub back: BTreeMap<Key, Back>,
    pub missed: Vec<Missed>,
}

/// What a step decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub incidents: Vec<Incident>,
    turned: Turned,
    pub notices: Vec<Notice>,
    /// Why something was decided, by incident.
    pub decisions: Vec<(Key, Reason)>,
    /// The first-start mail was decided by this step.
    pub started: bool,
    /// These are watched again before a mail that they no longer are could leave: it is not to leave any more.
    pub goes_on: BTreeSet<Key>,
    seen: Vec<(AccountName, String)>,
}

impl Outcome {
    /// Nothing to keep and nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.incidents.is_empty() && self.notices.is_empty() && !self.started
    }

    /// What changed that is for no write to the store.
    pub(crate) fn turned(&self) -> Vec<Key> {
        self.turned.in_memory.iter().map(|incident| incident.key.clone()).collect()
    }
}

/// All incidents, and what the daemon remembers of its own past.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(super) watchers: BTreeMap<AccountName, Watcher>,
    remembered: Remembered,
    muted: Muted,
    /// The first-start mail is out, or was never due.
    started: bool,
    /// From when to when nobody watched, before this start, where there was such a time.
    unwatched: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Since the start the clock has not been before what the daemon lived through, or somebody confirmed it.
    knows_time: bool,
    /// How often each listing was seen since the start.
    seen: BTreeMap<(AccountName, String), u32>,
    turns: Turns,
}

impl Engine {
    /// An engine that goes on from what the store holds. `watched_until` is when the daemon last
    /// looked, `None` for a store that has never been used.
    pub(crate) fn new(
        watchers: BTreeMap<AccountName, Watcher>,
        remembered: Remembered,
        started: bool,
        watched_until: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Self {
        let unwatched = watched_until.map(|until| (until, now));
        Self {
            watchers,
            remembered,
            muted: Muted::default(),
            started,
            unwatched,
            knows_time: watched_until.is_none_or(|until| until <= now),
            seen: BTreeMap::new(),
            turns: Turns::default(),
        }
    }

    /// Incidents by key: what goes on, and of what is over the latest.
    pub(crate) fn incidents(&self) -> &BTreeMap<Key, Incident> {
        self.remembered.incidents()
    }

    /// Incidents of the accounts that are watched now.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &Incident> {
        self.incidents().values().filter(|incident| self.watchers.contains_key(&incident.key.account))
    }

    /// Those of one account.
    pub(crate) fn watched_of(&self, account: &AccountName) -> impl Iterator<Item = &Incident> {
        let is_watched = self.watchers.contains_key(account);
        self.remembered.of_account(account).filter(move |_| is_watched)
    }

    /// What people were mailed of an account's cut-off, until it is over.
    pub(crate) fn told_of_cut_off(&self, account: &AccountName) -> Told {
        let incident = self.incidents().get(&Key::account_wide(account, Kind::Disconnect));
        let ladder = incident.filter(|one| one.phase.is_open()).and_then(|one| one.ladder.as_ref());
        let cut_off = ladder.map(Ladder::disconnect).filter(|&known| known != Disconnect::Unknown);
        Told { cut_off, bare_since: ladder.and_then(|ladder| ladder.bare_since) }
    }

    /// Does anything look at this incident, whose beginning was decided on within the hour?
    pub(crate) fn is_watched(&self, key: &Key) -> bool {
        self.incidents().get(key).is_some_and(|incident| incident.phase != Phase::Unwatched)
    }

    /// The daemon watches since this moment: at the start nobody knew what time it was.
    pub(crate) fn watches_since(&mut self, now: DateTime<Utc>) {
        self.unwatched = self.unwatched.map(|(from, _)| (from, now));
        self.knows_time = true;
    }

    /// The machine slept until now, or its clock was set: a failure of which nobody was told has to last from here on.
    pub(crate) fn wakes(&mut self, now: DateTime<Utc>) {
        let waits = |one: &&Incident| one.key.kind == Kind::CollectorFailing && one.phase == Phase::Pending;
        let waiting: Vec<Incident> = self.incidents().values().filter(waits).cloned().collect();
        for incident in waiting {
            self.remembered.put(Incident { since: now, held_since: now, ..incident });
        }
    }

    /// Replaces what accounts are judged by; incidents stay.
    pub(crate) fn set_watchers(&mut self, watchers: BTreeMap<AccountName, Watcher>) {
        self.watchers = watchers;
    }

    /// Everybody who may hear of an incident.
    pub(crate) fn everybody(&self) -> BTreeSet<&str> {
        let named = self.watchers.values().flat_map(|watcher| {
            let settings = &watcher.settings;
            let of_rules = settings.rules.values().flat_map(|rule| &rule.to);
            watcher.to.iter().chain(of_rules).chain(&settings.escalate_to)
        });
        named.map(String::as_str).collect()
    }

    /// Replaces what people decided about incidents.
    pub(crate) fn set_muted(&mut self, muted: Muted) {
        self.muted = muted;
    }

    /// What people decided about incidents.
    pub(crate) fn muted(&self) -> &Muted {
        &self.muted
    }

    /// The first-start mail is out, or was never due.
    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// Decides. The snapshot already holds what `input` speaks of.
    pub(crate) fn step(&self, input: &Input, snapshot: &Snapshot, now: DateTime<Utc>) -> Outcome {
        let mut draft = StepDraft::new(&self.remembered, &self.muted, &self.watchers, self.started, now);
        if self.knows_time {
            draft.heed_clock(match input {
                Input::Poll { account, .. } => Some(account),
                Input::Tick(_) => None,
            });
        }
        let mut seen = Vec::new();
        match input {
            Input::Poll { account, observed, ended } => {
                if let (Some(watcher), Some(state)) =
                    (self.watchers.get(account), snapshot.accounts.get(account))
                {
                    for one in observed {
                        let listing = listing_name(one);
                        draft.unwatched = self.unwatched.filter(|(from, to)| from < to);
                        draft.looks = self.looks(account, &listing) + 1;
                        seen.push((account.clone(), listing));
                        self.observe(&mut draft, state, one, watcher);
                    }
                    draft.unwatched = None;
                    if let Some(collector) = ended {
                        let findings = rules::judge_collector(state, *collector, &watcher.settings, now);
                        self.take(&mut draft, state, findings, watcher);
                    }
                }
            }
            Input::Tick(delivery) => {
                // Where it cannot be told anew yet, a mail that waits may arrive before.
                for key in delivery.unheard.iter().filter(|key| can_be_told(key, snapshot)) {
                    draft.untell(key);
                }
                self.tick(&mut draft, snapshot, delivery);
            }
        }
        self.finish(draft, snapshot, seen, now)
    }

    /// Takes in what `step` decided, now that it is kept. `threads` are the Message-IDs of opening
    /// mails: incident, recipient, id.
    pub(crate) fn commit(&mut self, outcome: Outcome, threads: Vec<(Key, String, String)>) {
        self.turns.commit(&outcome.incidents, &outcome.turned);
        let now = outcome.turned.at;
        for incident in outcome.incidents.into_iter().chain(outcome.turned.in_memory) {
            self.remembered.put(incident);
        }
        self.add_threads(threads);
        self.remembered.forget(now, |key| self.turns.has_unwritten(key));
        self.started |= outcome.started;
        for listing in outcome.seen {
            *self.seen.entry(listing).or_default() += 1;
        }
    }

    /// A waiting mail, to be sent anew once these incidents are as a step decided: of a cut-off it says what is known by then.
    pub(crate) fn as_known(&self, mut mail: Notice, decided: &[Incident]) -> Notice {
        for item in mail.items.iter_mut().filter(|item| item.key.kind == Kind::Disconnect) {
            let decided = decided.iter().find(|one| one.key == item.key);
            let known = decided.or_else(|| self.incidents().get(&item.key));
            if let Some(open) = known.filter(|one| one.phase.is_open() && !item.event.is_end()) {
                item.ladder.clone_from(&open.ladder);
            }
        }
        mail
    }

    /// Takes in incidents that were kept with other threads, and otherwise as they were.
    pub(crate) fn renew(&mut self, incidents: Vec<Incident>) {
        for incident in incidents {
            self.remembered.put(incident);
        }
    }

    /// Takes in the Message-IDs of opening mails: incident, recipient, id.
    pub(crate) fn add_threads(&mut self, threads: Vec<(Key, String, String)>) {
        for (key, to, id) in threads {
            if let Some(incident) = self.remembered.get_mut(&key) {
                incident.threads.insert(to, id);
            }
        }
    }

    fn observe(
        &self,
        draft: &mut StepDraft<'_>,
        state: &AccountState,
        observed: &Observed,
        watcher: &Watcher,
    ) {
        if matches!(observed, Observed::Report) {
            // The ladder first: what follows from being overdue folds into its mail.
            draft.unseen = draft.unseen_since(1);
            draft.report(state, &watcher.settings);
            draft.unseen = None;
        }
        let findings = rules::judge(state, observed, self.incidents(), &watcher.settings);
        self.take(draft, state, findings, watcher);
        if matches!(observed, Observed::Sites(..)) {
            draft.sites_were_read(state, &watcher.settings);
        }
    }

    fn take(
        &self,
        draft: &mut StepDraft<'_>,
        state: &AccountState,
        findings: Vec<Finding>,
        watcher: &Watcher,
    ) {
        for finding in findings {
            if watcher.settings.enabled(finding.key.kind) {
                draft.finding(finding, state, &watcher.settings);
            }
        }
    }

    fn tick(&self, draft: &mut StepDraft<'_>, snapshot: &Snapshot, delivery: &Delivery) {
        self.retire(draft, snapshot, &delivery.back);
        for (account, watcher) in &self.watchers {
            let Some(state) = snapshot.accounts.get(account) else { continue };
            // What is known from before a start or a sleep may be out of date: look first, then speak.
            if has_looked(state, Collector::ExpectedBalance) {
                draft.ladder_tick(state, &watcher.settings);
            }
            if !all_looked(state) {
                continue;
            }
            let fails = |collector: &Collector| rules::is_failing(state, *collector, draft.now);
            let failing: Vec<Collector> = state.collectors.keys().copied().filter(fails).collect();
            for collector in failing {
                // A collector that runs once a day must not need a day to be noticed.
                let key = Key::new(account, Kind::CollectorFailing, collector);
                draft.held_long_enough(&key, state, &watcher.settings);
            }
        }
        self.tick_open(draft, snapshot);
        for account in self.watchers.keys() {
            if let Some(state) = snapshot.accounts.get(account).filter(|state| all_looked(state)) {
                draft.follow_up(state);
            }
        }
        for missed in &delivery.missed {
            if self.started && can_be_told(&missed.key, snapshot) {
                draft.tell_missed(missed);
            }
        }
    }

    /// Ends what nothing looks at any more, and goes on with what is back.
    fn retire(&self, draft: &mut StepDraft<'_>, snapshot: &Snapshot, back: &BTreeMap<Key, Back>) {
        for incident in self.incidents().values() {
            let key = &incident.key;
            if incident.is_forgotten() && incident.before_unwatched.is_none() {
                continue;
            }
            match self.why_not(incident, snapshot) {
                // A date that crossed no rung is forgotten only with what reads it.
                Some(why) if !incident.is_forgotten() => {
                    if why.is_not_read() || incident.phase != Phase::Watching {
                        draft.retire(key, why);
                    }
                }
                None if incident.before_unwatched.is_some() => {
                    let since = draft.resume(key, back.get(key).copied().unwrap_or_default());
                    self.look_at_date(draft, snapshot, key, since);
                }
                Some(_) | None => {}
            }
        }
    }

    /// Of a cut-off that goes on, after nothing watched it since then: reports may have come meanwhile.
    fn look_at_date(
        &self,
        draft: &mut StepDraft<'_>,
        snapshot: &Snapshot,
        key: &Key,
        since: Option<DateTime<Utc>>,
    ) {
        let both = self.watchers.get(&key.account).zip(snapshot.accounts.get(&key.account));
        let Some((watcher, state)) = both.filter(|_| key.kind == Kind::Disconnect) else { return };
        if state.billing.latest().zip(since).is_some_and(|((_, read_at), since)| read_at > since) {
            draft.weigh_report(state, &watcher.settings);
        }
    }

    /// Those that are watched again since the last step: key and episode.
    pub(crate) fn coming_back(&self, snapshot: &Snapshot) -> Vec<(Key, u32)> {
        let retired = self.incidents().values().filter(|incident| incident.before_unwatched.is_some());
        let back = retired.filter(|incident| self.why_not(incident, snapshot).is_none());
        back.map(|incident| (incident.key.clone(), incident.episode)).collect()
    }

    fn why_not(&self, incident: &Incident, snapshot: &Snapshot) -> Option<Cause> {
        let account = &incident.key.account;
        let state = snapshot.accounts.get(account).map(AsRef::as_ref);
        watched::why_not(incident, self.watchers.get(account), state)
    }

    /// Changes of open incidents that are due to time alone.
    fn tick_open(&self, draft: &mut StepDraft<'_>, snapshot: &Snapshot) {
        for incident in self.incidents().values().filter(|one| one.phase.is_open()) {
            let key = &incident.key;
            let (Some(watcher), Some(state)) =
                (self.watchers.get(&key.account), snapshot.accounts.get(&key.account))
            else {
                continue;
            };
            if draft.get(key).is_some_and(Incident::is_forgotten) {
                continue;
            }
            if may_speak(key, state) {
                draft.time_passed(key, state, &watcher.settings);
            } else if all_looked(state) {
                draft.unseen_goes_on(key);
            }
        }
    }

    fn finish(
        &self,
        mut draft: StepDraft<'_>,
        snapshot: &Snapshot,
        seen: Vec<(AccountName, String)>,
        now: DateTime<Utc>,
    ) -> Outcome {
        let started = !self.started && self.all_attempted(snapshot);
        let mut first = if started { self.first_start(&mut draft, snapshot, now) } else { Vec::new() };
        let parts = draft.into_parts();
        let (unwatched, items): (Vec<Item>, Vec<Item>) =
            parts.items.into_iter().partition(|item| item.event == Event::Unwatched);
        let (changed, goes_on) = (&parts.changed, parts.goes_on);
        let addressed = |item: Item| {
            let incident = changed.get(&item.key).or_else(|| self.incidents().get(&item.key));
            let to = self.addressees(&item, incident);
            (item, to)
        };
        let news: Vec<(Item, Cow<'_, [String]>)> = items.into_iter().map(addressed).collect();
        let mut notices = notice::group(&news);
        // Who was told of these is asked of the outbox: no configuration may name them any more.
        notices.extend(unwatched.into_iter().map(|item| Notice::alone(item, Vec::new())));
        first.append(&mut notices);
        first.extend(notice::group(&parts.items_for));
        let told: BTreeSet<&Key> = news.iter().map(|(item, _)| &item.key).collect();
        let (incidents, turned) = self.turns.split(parts.changed.into_values(), self.incidents(), &told, now);
        let mut decisions = parts.decisions;
        let in_memory: BTreeSet<&Key> = turned.in_memory.iter().map(|incident| &incident.key).collect();
        decisions.retain(|(key, _)| !in_memory.contains(key));
        Outcome { incidents, turned, notices: first, decisions, started, goes_on, seen }
    }

    /// Recipients of an account where no rule names others.
    pub(super) fn recipients_of(&self, account: &AccountName) -> &[String] {
        self.watchers.get(account).map_or(&[], |watcher| &watcher.to)
    }

    /// The same, with those that it was escalated to.
    pub(crate) fn recipients_by_now(&self, key: &Key) -> Cow<'_, [String]> {
        let Some(watcher) = self.watchers.get(&key.account) else { return Cow::Borrowed(&[]) };
        let incident = self.incidents().get(key);
        escalation::addressees(watcher, incident, watcher.recipients(key.kind), &Event::Opened)
    }

    /// Who is told of an incident.
    pub(crate) fn recipients(&self, key: &Key) -> &[String] {
        self.watchers.get(&key.account).map_or(&[], |watcher| watcher.recipients(key.kind))
    }

    /// Who is told of this event.
    fn addressees(&self, item: &Item, incident: Option<&Incident>) -> Cow<'_, [String]> {
        let Some(watcher) = self.watchers.get(&item.key.account) else { return Cow::Borrowed(&[]) };
        escalation::addressees(watcher, incident, watcher.recipients(item.key.kind), &item.event)
    }

    /// Was each collector that sees states tried once, in every account?
    fn all_attempted(&self, snapshot: &Snapshot) -> bool {
        let tried = |account| snapshot.accounts.get(account).is_some_and(|state| attempted(state));
        self.watchers.keys().all(tried)
    }

    /// How often a listing was seen since the start.
    fn looks(&self, account: &AccountName, listing: &str) -> u32 {
        self.seen.get(&(account.clone(), listing.to_owned())).copied().unwrap_or(0)
    }
}

/// Has everything been looked at? And while its collector fails it is not known whether it lasts; mails about it wait.
fn may_speak(key: &Key, state: &AccountState) -> bool {
    all_looked(state) && key.kind.seen_by().is_none_or(|collector| state.is_seen(collector, key.id()))
}

/// The same. A cut-off's date goes on while no report can be read.
fn can_be_told(key: &Key, snapshot: &Snapshot) -> bool {
    let Some(state) = snapshot.accounts.get(&key.account) else { return false };
    if key.kind == Kind::Disconnect {
        return has_looked(state, Collector::ExpectedBalance);
    }
    may_speak(key, state)
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
