//! The engine takes readings and time, and keeps the incidents. It knows neither recipients nor mails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};

use super::case::Evidence;
use super::causes::Causes;
use super::cut_off::CutOff;
use super::finding::{Finding, Value, Verdict};
use super::incident::{Incident, Phase, Reading};
use super::key::{Key, Target};
use super::kind::Kind;
use super::noting::{Noting, pull_back};
use super::reason::Cause;
use super::rules;
use super::settings::{AlertSettings, Watcher};
use super::watched;
use crate::model::account::EMPTY_FOR;
use crate::model::forecast::Disconnect;
use crate::model::freshness::attempted;
use crate::model::{AccountName, AccountState, Believed, Collector, Observed, Report, Snapshot, Sort};

/// Phase and episode.
pub(crate) type Stand = (Phase, u32);

/// Everything that is known to be wrong, or was.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    watchers: BTreeMap<AccountName, Watcher>,
    /// All incidents, by key.
    pub(crate) incidents: Noting<Key, Incident>,
    pub(crate) cut_offs: Noting<AccountName, CutOff>,
    /// The last good report of each account since the start.
    pub(super) good_reports: BTreeMap<AccountName, Arc<Report>>,
    /// The last start, or the last time that the machine woke.
    pub(super) horizon: DateTime<Utc>,
    /// Changed incidents that were not yet compared with the notification log, each as it stood before.
    pub(super) changed: BTreeMap<Key, Stand>,
}

impl Engine {
    /// Continues from the contents of the store. Accounts that are no longer watched are forgotten.
    pub(crate) fn new(
        watchers: BTreeMap<AccountName, Watcher>,
        incidents: BTreeMap<Key, Incident>,
        cut_offs: BTreeMap<AccountName, CutOff>,
        now: DateTime<Utc>,
    ) -> Self {
        let mut engine = Self {
            watchers: BTreeMap::new(),
            incidents: Noting::of(incidents),
            cut_offs: Noting::of(cut_offs),
            good_reports: BTreeMap::new(),
            horizon: now,
            changed: BTreeMap::new(),
        };
        engine.set_watchers(watchers);
        engine
    }

    /// The belief in an account's cut-off, until it is over.
    pub(crate) fn believed(&self, account: &AccountName) -> Believed {
        let incident = self.incidents.get(&Key::account_wide(account, Kind::Disconnect));
        let is_open = incident.is_some_and(|one| one.phase.is_open());
        let Some(cut_off) = self.cut_offs.get(account) else { return Believed::default() };
        let known = Some(cut_off.disconnect()).filter(|&known| is_open && known != Disconnect::Unknown);
        let was_read = cut_off.read_at.is_some() || known.is_some();
        Believed { cut_off: known, bare_since: cut_off.bare_since, was_read }
    }

    pub(crate) fn watchers(&self) -> &BTreeMap<AccountName, Watcher> {
        &self.watchers
    }

    /// Incidents of one account, by key.
    pub(crate) fn incidents_of<'a>(&'a self, account: &'a AccountName) -> impl Iterator<Item = &'a Incident> {
        let from_first = self.incidents.range(Key::first_of(account)..);
        from_first.take_while(move |(key, _)| key.account == *account).map(|(_, one)| one)
    }

    /// The collectors whose next readings decide incidents that are not confirmed yet, or not over yet, or show what
    /// explains them.
    pub(crate) fn awaited(&self, state: &AccountState, now: DateTime<Utc>) -> BTreeSet<Collector> {
        let causes = self.causes(state, now);
        let decided_by = |one: &Incident| -> Vec<Collector> {
            match (&one.value, one.phase) {
                (Value::Failing(all), Phase::Pending | Phase::Recovering) => all.keys().copied().collect(),
                (_, Phase::Pending | Phase::Recovering) => one.key.shown_by().collect(),
                _ => causes.awaits_report_on(one).map(|_| Collector::ExpectedBalance).into_iter().collect(),
            }
        };
        self.incidents_of(&state.profile.name).flat_map(decided_by).collect()
    }

    /// Forgets incidents that ended before a moment. If one opens again, its episode is 1.
    pub(crate) fn forget_before(&mut self, long_ago: DateTime<Utc>) {
        let is_old = |one: &Incident| !one.is_seen_wrong() && one.ended.unwrap_or(one.read_at) < long_ago;
        let old: BTreeMap<Key, Stand> = self
            .incidents
            .values()
            .filter(|one| is_old(one))
            .map(|one| (one.key.clone(), one.stand()))
            .collect();
        old.keys().for_each(|key| drop(self.incidents.remove(key)));
        self.changed.extend(old);
    }

    /// Replaces the settings by which accounts are judged. The engine forgets the cut-offs of other accounts.
    pub(crate) fn set_watchers(&mut self, watchers: BTreeMap<AccountName, Watcher>) {
        self.watchers = watchers;
        self.cut_offs.remove_all(|account| !self.watchers.contains_key(account));
        self.take_severities();
    }

    /// Gives incidents that are open, or not confirmed yet, the severity that their rule has now.
    fn take_severities(&mut self) {
        let settings = |key: &Key| Some(self.watchers.get(&key.account)?.settings.clone());
        // Cut-offs, their reports and failing collectors have a severity by their stage.
        let staged = [Kind::Disconnect, Kind::BillingReport, Kind::CollectorFailing];
        let follows = |key: &Key| !staged.contains(&key.kind);
        let on = self.incidents.values().filter(|one| one.is_seen_wrong() && follows(&one.key));
        let severities = on
            .filter_map(|one| Some((one.key.clone(), settings(&one.key)?.severity_of(&one.key, &one.value))));
        for (key, severity) in severities.collect::<Vec<_>>() {
            self.change(&key, |incident| incident.severity = severity);
        }
    }

    /// The machine slept, or its clock was set: earlier readings prove nothing until the next one.
    pub(crate) fn wake(&mut self, now: DateTime<Utc>) {
        self.horizon = now;
    }

    /// The time is certain from now on: past moments from a clock that was ahead are set to now.
    pub(crate) fn is_sure_of(&mut self, now: DateTime<Utc>) {
        self.horizon = self.horizon.min(now);
        self.incidents.change_all(|_| true, |one| pull_back(one.moments(), now));
        self.cut_offs.change_all(|_| true, |one| pull_back(one.moments(), now));
    }

    /// Incidents that changed since the last call, each as it stood then.
    pub(crate) fn take_changed(&mut self) -> BTreeMap<Key, Stand> {
        std::mem::take(&mut self.changed)
    }

    /// Whether each collector that sees states has tried every account once.
    pub(crate) fn all_attempted(&self, snapshot: &Snapshot) -> bool {
        let tried = |account| snapshot.accounts.get(account).is_some_and(|state| attempted(state));
        self.watchers.keys().all(tried)
    }

    /// Takes in readings of one account that are already in the snapshot, and the end of a poll.
    pub(crate) fn poll(
        &mut self,
        account: &AccountName,
        observed: &[Observed],
        ended: Option<Collector>,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) {
        let (Some(watcher), Some(state)) = (self.watchers.get(account), snapshot.accounts.get(account))
        else {
            return;
        };
        let settings = watcher.settings.clone();
        let horizon = self.horizon;
        let reading = |collector: Collector| {
            let status = state.collectors.get(&collector);
            // In the middle of a poll the last one is the one before it.
            let failed = status.filter(|status| !status.success && ended != Some(collector));
            let failed = failed.map_or_else(|| status?.failed_before, |status| status.began);
            Reading { at: now, horizon, blind_at: failed.map_or(horizon, |at| at.max(horizon)) }
        };
        for one in observed {
            let reading = reading(one.collector());
            if matches!(one, Observed::Report) {
                self.report(state, &reading, &settings);
            }
            let is_started = now - self.horizon >= EMPTY_FOR;
            for finding in rules::judge(state, one, &self.incidents, &settings, is_started) {
                self.take(finding, &reading, &settings);
            }
        }
        if let Some(collector) = ended {
            let reading = reading(collector);
            for finding in rules::judge_collector(state, collector, &settings, now) {
                if finding.key.kind == Kind::CollectorFailing {
                    self.collector(collector, finding, state, &settings, now);
                } else {
                    self.take(finding, &reading, &settings);
                }
            }
        }
        self.time_of(state, &settings, now);
    }

    /// Takes in the time: states that have lasted long enough, incidents that nothing watches, and causes.
    pub(crate) fn tick(&mut self, snapshot: &Snapshot, now: DateTime<Utc>) {
        self.retire(snapshot, now);
        let watchers = self.watchers.clone();
        for (account, watcher) in &watchers {
            if let Some(state) = snapshot.accounts.get(account) {
                self.time_of(state, &watcher.settings, now);
            }
        }
    }

    fn time_of(&mut self, state: &AccountState, settings: &AlertSettings, now: DateTime<Utc>) {
        self.failing_for_long(state, settings, now);
        self.gone_for_a_day(state, now);
        self.cut_off_by_time(state, settings, now);
        self.weigh_report(state, settings, now);
        self.explain(state, now);
        self.note_known(state);
    }

    /// Ends the incidents of listings that were empty for a day. A person who emptied them on purpose knows.
    fn gone_for_a_day(&mut self, state: &AccountState, now: DateTime<Utc>) {
        for sort in Sort::ALL {
            self.change(&Key::new(&state.profile.name, Kind::ResourceGone, Target::All(sort)), |incident| {
                if incident.phase.is_open() && now - incident.since >= Duration::days(1) {
                    incident.end(Phase::Removed, now, Cause::GoneForADay);
                }
            });
        }
    }

    /// Changes one incident. The change is noted if more than the time of the last reading is new.
    pub(super) fn change(&mut self, key: &Key, change: impl FnOnce(&mut Incident)) {
        let Some(incident) = self.incidents.all.get_mut(key) else { return };
        let (before, stood) = (incident.clone(), incident.stand());
        change(incident);
        if incident.phase == Phase::Resolved && incident.episode == 0 {
            self.incidents.all.remove(key);
        } else if *incident == (Incident { read_at: incident.read_at, ..before }) {
            return;
        }
        self.changed.entry(key.clone()).or_insert(stood);
        self.incidents.unsaved.insert(key.clone());
    }

    pub(super) fn entry(&mut self, key: &Key, now: DateTime<Utc>) {
        let new = || Incident::new(key.clone(), now);
        self.incidents.all.entry(key.clone()).or_insert_with(new);
    }

    fn take(&mut self, finding: Finding, reading: &Reading, settings: &AlertSettings) {
        let key = finding.key.clone();
        if !settings.watches(&key) {
            return;
        }
        if matches!(finding.verdict, Verdict::Bad { .. }) {
            self.entry(&key, reading.at);
        }
        self.change(&key, |incident| incident.take(finding, reading, settings));
    }

    pub(super) fn causes<'a>(&'a self, state: &'a AccountState, now: DateTime<Utc>) -> Causes<'a> {
        let cut_off = self.cut_offs.get(&state.profile.name);
        Causes { incidents: &self.incidents, cut_off, state, horizon: self.horizon, now }
    }

    /// Notes the cause of each incident. Causes come first, since a site has the cause of its container. An
    /// incident stands alone only once it was read as wrong, and while no reading is awaited that may explain it.
    fn explain(&mut self, state: &AccountState, now: DateTime<Utc>) {
        let of_account = self.incidents_of(&state.profile.name);
        let causes = self.causes(state, now);
        let open = of_account.filter(|one| one.phase.is_open());
        let changed = |one: &Incident| {
            let cause = causes.now(one);
            let is_awaited = || causes.evidence(one) != Evidence::Sound;
            let is_alone = cause.is_none() && one.cause.is_none() && one.phase == Phase::Firing;
            let stands_alone = one.stood_alone || (is_alone && !is_awaited());
            (one.cause != cause || one.stood_alone != stands_alone)
                .then(|| (one.key.clone(), cause, stands_alone))
        };
        let now_explained: Vec<(Key, Option<Key>, bool)> = open.filter_map(changed).collect();
        for (key, cause, stands_alone) in now_explained {
            self.change(&key, |incident| {
                incident.stood_alone = stands_alone;
                if incident.cause != cause {
                    // The cause is over: the incident is told once a later reading shows it.
                    incident.trusted_from = if cause.is_none() { Some(now) } else { None };
                    incident.cause = cause;
                }
            });
        }
    }

    /// Ends incidents that nothing watches any more.
    fn retire(&mut self, snapshot: &Snapshot, now: DateTime<Utc>) {
        let why_not = |one: &Incident| {
            let account = &one.key.account;
            let state = snapshot.accounts.get(account).map(AsRef::as_ref);
            watched::why_not(one, self.watchers.get(account), state)
        };
        let ended: Vec<(Key, Cause)> = self
            .incidents
            .values()
            .filter(|one| one.is_seen_wrong())
            .filter_map(|one| Some((one.key.clone(), why_not(one)?)))
            .collect();
        for (key, why) in ended {
            self.change(&key, |incident| incident.retire(why, now));
            if key.kind == Kind::Disconnect
                && let Some(watcher) = self.watchers.get(&key.account)
            {
                // Calendars remove the entry.
                self.cut_offs.change(&key.account, |cut_off| {
                    cut_off.forget_date(now);
                    cut_off.enter_in_calendar(&watcher.settings, now);
                });
            }
        }
    }
}
