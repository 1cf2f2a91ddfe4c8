//! One step of the engine: the life of each incident it touches. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::engine::{Unsent, Watcher};
use super::incident::{Incident, Phase};
use super::kind::{Event, Key, Kind};
use super::notice::Item;
use super::root_cause;
use super::rules::{Finding, Verdict};
use super::settings::Settings;
use super::silence::Overlays;
use crate::model::AccountState;

/// Four changes within an hour are told once, and once more when it has been quiet for half an hour.
const FLAPPING_CHANGES: usize = 4;
const FLAPPING_WINDOW_MINUTES: i64 = 60;
const FLAPPING_QUIET_MINUTES: i64 = 30;
/// After these the digest speaks of it.
const REMINDERS: u32 = 3;

/// What a step has touched so far.
pub(super) struct Step<'a> {
    incidents: &'a BTreeMap<Key, Incident>,
    unsent: &'a Unsent,
    overlays: &'a Overlays,
    started: bool,
    pub(super) now: DateTime<Utc>,
    /// Set while what is observed may have changed while nobody watched.
    pub(super) unwatched: Option<(DateTime<Utc>, DateTime<Utc>)>,
    parts: Parts,
}

/// What comes out of a step.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) changed: BTreeMap<Key, Incident>,
    pub(super) items: Vec<Item>,
    pub(super) withdraw: Vec<String>,
    pub(super) decisions: Vec<(Key, String)>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        incidents: &'a BTreeMap<Key, Incident>,
        unsent: &'a Unsent,
        overlays: &'a Overlays,
        started: bool,
        now: DateTime<Utc>,
    ) -> Self {
        Self { incidents, unsent, overlays, started, now, unwatched: None, parts: Parts::default() }
    }

    /// Puts right what was noted before the clock was set back.
    pub(super) fn heed_clock(&mut self) {
        let now = self.now;
        for incident in self.incidents.values().filter(|incident| incident.is_ahead(now)) {
            let mut incident = incident.clone();
            incident.pull_back(now);
            self.put(incident);
        }
    }

    /// Why no mail of this incident goes out now, where somebody silenced it.
    pub(super) fn silenced(&self, incident: &Incident) -> Option<String> {
        let silence = self.overlays.silence(incident, self.now)?;
        Some(format!(
            "silenced by '{}' until {}",
            silence.pattern,
            silence.until.format("%Y-%m-%d %H:%M UTC")
        ))
    }

    /// The incident as this step has it.
    pub(super) fn get(&self, key: &Key) -> Option<&Incident> {
        self.parts.changed.get(key).or_else(|| self.incidents.get(key))
    }

    pub(super) fn put(&mut self, incident: Incident) {
        self.parts.changed.insert(incident.key.clone(), incident);
    }

    pub(super) fn keys(&self) -> BTreeSet<Key> {
        self.incidents.keys().chain(self.parts.changed.keys()).cloned().collect()
    }

    /// Incidents of one kind of an account as this step has them.
    pub(super) fn of_kind(&self, state: &AccountState, kind: Kind) -> impl Iterator<Item = &Incident> {
        let first = Key { account: state.profile.name.clone(), kind, resource: String::new() };
        let is_it = move |key: &Key| key.kind == kind && key.account == first.account;
        let start = Key { account: state.profile.name.clone(), kind, resource: String::new() };
        let is_too = is_it.clone();
        let old = self.incidents.range(start.clone()..).take_while(move |(key, _)| is_it(key));
        let old = old.filter(|(key, _)| !self.parts.changed.contains_key(key));
        let new = self.parts.changed.range(start..).take_while(move |(key, _)| is_too(key));
        old.chain(new).map(|(_, incident)| incident)
    }

    /// Ends, without a mail, what is no longer watched; `why` is its reason.
    pub(super) fn retire(&mut self, key: &Key, why: &str) {
        let Some(mut incident) = self.get(key).cloned() else { return };
        if !matches!(incident.phase, Phase::Watching | Phase::Resolved) {
            incident.enter(Phase::Resolved, self.now);
        }
        incident.flapping = false;
        incident.folded_into = None;
        incident.ladder = None;
        incident.reason = why.to_owned();
        self.decide(incident);
    }

    /// The first-start mail is out.
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// This step already tells of the account's disconnect.
    pub(super) fn tells_disconnect(&self, state: &AccountState) -> bool {
        let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
        self.parts.items.iter().any(|item| item.key == key)
    }

    pub(super) fn into_parts(mut self) -> Parts {
        self.withdraw_ended();
        let incidents = self.incidents;
        // That it was seen once more as it is known is no change worth a commit.
        let same = |old: &Incident, new: &Incident| {
            let last_observed = new.last_observed;
            *new == Incident { last_observed, ..old.clone() }
        };
        self.parts.changed.retain(|key, incident| !incidents.get(key).is_some_and(|old| same(old, incident)));
        self.parts
    }

    /// Takes in one finding.
    pub(super) fn finding(&mut self, finding: Finding, state: &AccountState, settings: &Settings) {
        let Finding { key, verdict, subject, problem, detail } = finding;
        let old = self.get(&key).cloned();
        match verdict {
            Verdict::Bad { hold, held } => {
                let severity = settings.severity(key.kind);
                let mut incident = old.unwrap_or_else(|| Incident::new(key, severity, self.now));
                if !incident.phase.is_open() && incident.phase != Phase::Pending {
                    incident.begin_episode(self.now);
                    incident.severity = severity;
                    incident.subject = subject;
                    incident.problem = problem;
                    incident.held_since = self.now;
                }
                if incident.held != held {
                    incident.held = held;
                    incident.held_since = self.now;
                }
                incident.detail = detail;
                self.bad(incident, hold, state, settings);
            }
            Verdict::Good | Verdict::Gone => {
                let Some(mut incident) = old else { return };
                incident.detail = detail;
                self.good(incident, verdict == Verdict::Gone, settings);
            }
            Verdict::Frozen => {
                let Some(mut incident) = old else { return };
                if incident.phase.is_open() && incident.detail != detail {
                    incident.reason = format!("kept open: {detail}, which is no recovery");
                    incident.detail = detail;
                    self.decide(incident);
                }
            }
        }
    }

    /// An incident that only time keeps pending.
    pub(super) fn held_long_enough(&mut self, key: &Key, state: &AccountState, watcher: &Watcher) {
        let Some(incident) = self.get(key).cloned() else { return };
        if incident.phase == Phase::Pending && watcher.settings.enabled(key.kind) {
            let hold = watcher.settings.collector_failing_after;
            self.confirm(incident, hold, state, &watcher.settings);
        }
    }

    /// Reminders, and the end of flapping.
    pub(super) fn time_passed(&mut self, key: &Key, state: &AccountState, settings: &Settings) {
        let Some(mut incident) = self.get(key).cloned() else { return };
        if incident.flapping {
            let settled = matches!(incident.phase, Phase::Firing | Phase::Resolved);
            if settled && self.now - incident.last_change >= Duration::minutes(FLAPPING_QUIET_MINUTES) {
                incident.flapping = false;
                // Or the next change might be the fourth again, told twice for one episode.
                incident.changes.clear();
                incident.reason = "stable for half an hour after changing again and again".to_owned();
                if let Some(root) = &incident.folded_into {
                    incident.reason.push_str(&format!("; no mail: {root} speaks for it"));
                    self.decide(incident);
                    return;
                }
                let event = if incident.phase.is_open() { Event::Opened } else { Event::Resolved };
                self.tell(incident, event);
            }
            return;
        }
        if incident.phase == Phase::Firing
            && !incident.announced
            && self.started
            && self.silenced(&incident).is_none()
        {
            if let Some(root) = root_cause::of(self, key, state, settings) {
                incident.reason = format!("no mail: folded into {root}, which speaks for it");
                incident.folded_into = Some(root);
                incident.announced = true;
                self.decide(incident);
                return;
            }
            incident.reason = "still wrong when its silence ended".to_owned();
            self.tell(incident, Event::Opened);
            return;
        }
        let due = settings.remind_every.get(&incident.severity).copied();
        let Some(due) = due.and_then(|due| Duration::from_std(due).ok()) else { return };
        let quiet = incident.key.kind == Kind::Disconnect
            || incident.phase != Phase::Firing
            || incident.pre_existing
            || self.overlays.is_acknowledged(&incident)
            || self.silenced(&incident).is_some()
            || incident.folded_into.is_some()
            || incident.reminders >= REMINDERS;
        if quiet || incident.last_mailed.is_none_or(|last| self.now - last < due) {
            return;
        }
        incident.reminders += 1;
        incident.reason = format!("reminder {} of {REMINDERS}: still open", incident.reminders);
        let event = Event::Reminder(incident.reminders);
        self.tell(incident, event);
    }

    /// Tells an event of an incident, and keeps both. What is silenced is kept without being told; an
    /// opening is then told at the silence's end, if it is still wrong.
    pub(super) fn tell(&mut self, mut incident: Incident, event: Event) {
        if let Some(why) = self.silenced(&incident) {
            if event == Event::Opened {
                // Also where a mail that spoke for it is over: now nobody does.
                incident.announced = false;
            }
            incident.reason = format!("{}; no mail: {why}", incident.reason);
            self.decide(incident);
            return;
        }
        if matches!(event, Event::Opened | Event::Flapping) {
            incident.announced = true;
        }
        incident.last_mailed = Some(self.now);
        let mut item = Item::new(&incident, event, self.now);
        item.unwatched = self.unwatched;
        self.parts.items.push(item);
        self.decide(incident);
    }

    /// Keeps an incident and the reason of the decision about it.
    pub(super) fn decide(&mut self, incident: Incident) {
        self.parts.decisions.push((incident.key.clone(), incident.reason.clone()));
        self.put(incident);
    }

    /// Keeps an incident; its reason is a decision where it is a new one.
    pub(super) fn keep(&mut self, incident: Incident) {
        if self.get(&incident.key).is_some_and(|old| old.reason == incident.reason) {
            self.put(incident);
        } else {
            self.decide(incident);
        }
    }

    /// Unsent rungs of this incident, withdrawn for a newer one.
    pub(super) fn withdraw_older(&mut self, incident: &mut Incident) {
        let rung = |(key, event): &(Key, Event)| {
            *key == incident.key && matches!(event, Event::Rung(_) | Event::Extended(_))
        };
        let older = self.unsent.iter().filter(|(_, told)| !told.is_empty() && told.iter().all(rung));
        let older: Vec<String> = older.map(|(id, _)| id.clone()).collect();
        incident.threads.retain(|_, id| !older.contains(id));
        self.parts.withdraw.extend(older);
    }

    fn bad(
        &mut self,
        mut incident: Incident,
        hold: std::time::Duration,
        state: &AccountState,
        settings: &Settings,
    ) {
        incident.last_observed = self.now;
        match incident.phase {
            Phase::Pending => {
                incident.streak += 1;
                self.confirm(incident, hold, state, settings);
            }
            Phase::Recovering => {
                incident.phase = Phase::Firing;
                incident.streak = 0;
                incident.reason = "wrong again before it had recovered".to_owned();
                self.decide(incident);
            }
            Phase::Firing => {
                let untold = !incident.announced && self.started && !incident.flapping;
                if incident.folded_into.is_none() && (!untold || self.silenced(&incident).is_some()) {
                    self.put(incident);
                    return;
                }
                if let Some(root) = root_cause::of(self, &incident.key, state, settings) {
                    // One cause may end while another goes on.
                    incident.reason = format!("no mail: folded into {root}, which speaks for it");
                    incident.folded_into = Some(root);
                    incident.announced = true;
                    incident.streak = 0;
                    self.keep(incident);
                    return;
                }
                if incident.folded_into.is_none() {
                    incident.reason = "still wrong when its silence ended".to_owned();
                    self.tell(incident, Event::Opened);
                    return;
                }
                // The mail that spoke for it is over, and it is still wrong.
                incident.streak += 1;
                if incident.streak >= settings.recover_polls {
                    incident.folded_into = None;
                    incident.streak = 0;
                    incident.reason = "still wrong after its cause ended".to_owned();
                    if !self.started {
                        incident.announced = false;
                        incident.reason.push_str("; waits for the first-start mail");
                        self.decide(incident);
                    } else if incident.flapping {
                        incident.reason.push_str("; no mail: it changes again and again");
                        self.decide(incident);
                    } else {
                        self.tell(incident, Event::Opened);
                    }
                } else {
                    self.put(incident);
                }
            }
            Phase::Watching | Phase::Resolved => self.put(incident),
        }
    }

    fn confirm(
        &mut self,
        mut incident: Incident,
        hold: std::time::Duration,
        state: &AccountState,
        settings: &Settings,
    ) {
        let held = (self.now - incident.held_since).to_std().unwrap_or_default();
        let polls = settings.confirm_polls.max(1);
        if incident.streak < polls || held < hold {
            incident.reason = if incident.streak < polls {
                format!("seen wrong {} of {polls} times", incident.streak)
            } else {
                format!("no mail yet: it has to last for {} min", hold.as_secs() / 60)
            };
            self.keep(incident);
            return;
        }
        incident.enter(Phase::Firing, self.now);
        self.count_change(&mut incident);
        incident.reason = match settings.confirm_polls {
            0 | 1 => "seen wrong".to_owned(),
            polls => format!("seen wrong {polls} times in a row"),
        };
        if !hold.is_zero() {
            incident.reason = format!("unchanged for {} min", held.as_secs() / 60);
        }
        if let Some(root) = root_cause::of(self, &incident.key, state, settings) {
            incident.reason = format!("no mail: folded into {root}, which speaks for it");
            incident.folded_into = Some(root);
            incident.announced = true;
            self.decide(incident);
        } else if !self.started {
            incident.reason = "waits for the first-start mail".to_owned();
            self.decide(incident);
        } else if incident.flapping {
            incident.reason = "no mail: it changes again and again".to_owned();
            self.decide(incident);
        } else if incident.changes.len() >= FLAPPING_CHANGES && self.silenced(&incident).is_none() {
            incident.flapping = true;
            incident.reason = format!("{} changes within an hour", incident.changes.len());
            self.tell(incident, Event::Flapping);
        } else {
            self.tell(incident, Event::Opened);
        }
    }

    fn good(&mut self, mut incident: Incident, gone: bool, settings: &Settings) {
        match incident.phase {
            Phase::Pending => {
                incident.enter(Phase::Resolved, self.now);
                incident.reason = "went away before it was confirmed: no mail".to_owned();
                self.decide(incident);
            }
            // Several listings read at once may each say so, as of a resource that is gone: one observation.
            Phase::Recovering if incident.last_observed == self.now => {}
            Phase::Firing | Phase::Recovering => {
                incident.last_observed = self.now;
                if incident.phase == Phase::Firing {
                    incident.phase = Phase::Recovering;
                    incident.streak = 0;
                }
                incident.streak += 1;
                if incident.streak >= settings.recover_polls.max(1) {
                    self.close(incident, gone);
                } else {
                    incident.reason =
                        format!("seen right {} of {} times", incident.streak, settings.recover_polls);
                    self.decide(incident);
                }
            }
            Phase::Watching | Phase::Resolved => {}
        }
    }

    /// Ends an episode.
    pub(super) fn close(&mut self, mut incident: Incident, gone: bool) {
        incident.enter(Phase::Resolved, self.now);
        self.count_change(&mut incident);
        let how = if gone { "no longer listed" } else { "seen right often enough" };
        incident.reason = how.to_owned();
        let root = incident.folded_into.take();
        if let Some(root) = root {
            incident.reason = format!("{how}; no mail: {root} spoke for it");
            self.decide(incident);
        } else if incident.flapping {
            incident.reason = format!("{how}; no mail: it changes again and again");
            self.decide(incident);
        } else if !incident.announced {
            self.tell(incident, Event::WasDown);
        } else if incident.changes.len() >= FLAPPING_CHANGES
            && incident.key.kind != Kind::Disconnect
            && self.silenced(&incident).is_none()
        {
            incident.flapping = true;
            incident.reason = format!("{} changes within an hour", incident.changes.len());
            self.tell(incident, Event::Flapping);
        } else {
            let event = if gone { Event::Removed } else { Event::Resolved };
            self.tell(incident, event);
        }
    }

    fn count_change(&self, incident: &mut Incident) {
        let since = self.now - Duration::minutes(FLAPPING_WINDOW_MINUTES);
        incident.changes.retain(|&at| at > since);
        incident.changes.push(self.now);
    }

    /// An incident that ends before its first mail went out is told once, as having been: the unsent
    /// mail is withdrawn if everything it tells of has ended now.
    fn withdraw_ended(&mut self) {
        let ended = |item: &Item| matches!(item.event, Event::Resolved | Event::Removed);
        let closing: BTreeSet<Key> =
            self.parts.items.iter().filter(|item| ended(item)).map(|item| item.key.clone()).collect();
        let opening = |(_, event): &(Key, Event)| {
            matches!(event, Event::Opened | Event::Rung(_) | Event::Extended(_) | Event::Reminder(_))
        };
        let whole = self.unsent.iter().filter(|(_, told)| {
            !told.is_empty() && told.iter().all(opening) && told.iter().all(|(key, _)| closing.contains(key))
        });
        let ids: BTreeSet<String> = whole.map(|(id, _)| id.clone()).collect();
        for item in self.parts.items.iter_mut().filter(|item| ended(item)) {
            if item.threads.values().any(|id| ids.contains(id)) {
                item.event = Event::WasDown;
                item.threads.clear();
            }
        }
        self.parts.withdraw.extend(ids);
    }
}
