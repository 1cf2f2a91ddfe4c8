//! Collectors that fail: one incident an account, whose value is the set of these collectors.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::engine::Engine;
use super::finding::{Failing, Finding, Value, Verdict};
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Kind, Severity};
use super::reason::Cause;
use super::rules;
use super::settings::AlertSettings;
use super::subject::{Detail, Subject};
use crate::model::freshness::{AWAITED_FOR, state_collectors};
use crate::model::{AccountState, Collector, CollectorStatus, FailureKind};

impl Engine {
    /// Takes in the finding about one collector. All failing collectors of an account are one incident.
    pub(super) fn collector(
        &mut self,
        collector: Collector,
        finding: Finding,
        state: &AccountState,
        settings: &AlertSettings,
        now: DateTime<Utc>,
    ) {
        let key = Key::account_wide(&state.profile.name, Kind::CollectorFailing);
        let is_bad = matches!(finding.verdict, Verdict::Bad { .. });
        let is_known = |value: &Value| matches!(value, Value::Failing(all) if all.contains_key(&collector));
        if is_bad && !settings.enabled(key.kind) {
            return;
        }
        if is_bad {
            self.entry(&key, now);
        } else if !self.incidents.get(&key).is_some_and(|one| is_known(&one.value)) {
            return;
        }
        let horizon = self.horizon;
        self.change(&key, |incident| {
            if !matches!(incident.value, Value::Failing(_)) {
                incident.value = Value::Failing(BTreeMap::new());
            }
            let Value::Failing(all) = &mut incident.value else { return };
            match finding.verdict {
                Verdict::Bad { .. } => {
                    let failing = all.entry(collector).or_insert(Failing {
                        since: now,
                        read_at: now,
                        good: 0,
                        lasts: false,
                    });
                    // Both ends of a time of incomplete readings are readings, so a sleep between them counts.
                    let fails = rules::failure_of(state, collector).is_some();
                    let counts_anew = fails && failing.read_at < horizon && !incident.phase.is_open();
                    failing.since = if counts_anew || failing.good > 0 { now } else { failing.since };
                    (failing.read_at, failing.good) = (now, 0);
                    if !incident.phase.is_open() {
                        incident.phase = Phase::Pending;
                    }
                    incident.detail = finding.detail;
                }
                Verdict::Good => {
                    let Some(failing) = all.get_mut(&collector) else { return };
                    incident.detail = finding.detail;
                    (failing.read_at, failing.good) = (now, failing.good + 1);
                    if failing.good >= settings.recover_polls {
                        all.remove(&collector);
                    }
                }
                Verdict::Frozen | Verdict::Other | Verdict::Gone { .. } | Verdict::Unwatched(_) => {}
            }
            incident.read_at = now;
        });
    }

    /// Opens the incident of a collector that has failed for long, so that one that runs once a day is noticed
    /// before its next poll.
    pub(super) fn failing_for_long(
        &mut self,
        state: &AccountState,
        settings: &AlertSettings,
        now: DateTime<Utc>,
    ) {
        let key = Key::account_wide(&state.profile.name, Kind::CollectorFailing);
        if !settings.enabled(key.kind) {
            return;
        }
        let horizon = self.horizon;
        let is_near = self.is_near(state, settings, now);
        self.change(&key, |incident| {
            let is_open = incident.phase.is_open();
            let Value::Failing(all) = &mut incident.value else { return };
            let before = all.len();
            all.retain(|collector, _| state.profile.collectors.contains(collector));
            let is_off = all.is_empty() && before > 0;
            let fails = |collector: Collector| rules::failure_of(state, collector).is_some();
            let lasts = |(collector, one): (&Collector, &Failing)| {
                // A reading in part is proved by another one, a failure also by time.
                let until = if fails(*collector) { now } else { one.read_at };
                let held = (until - one.since).to_std().unwrap_or_default();
                let hold = rules::told_after(state, *collector, settings, now);
                one.read_at >= horizon && one.good == 0 && hold.is_some_and(|hold| held >= hold)
            };
            let failing = |collector: Collector| {
                fails(collector) && all.get(&collector).is_some_and(|one| one.good == 0)
            };
            let seeing = || state_collectors(&state.profile);
            let of_states = || seeing().filter(|one| *one != Collector::ExpectedBalance);
            let is_blind =
                if of_states().next().is_some() { of_states().all(failing) } else { seeing().all(failing) };
            let is_silent = |one| rules::failure_of(state, one) == Some(FailureKind::Other);
            let is_dead = seeing().all(failing) && seeing().all(is_silent);
            let is_critical = is_blind || (is_near && failing(Collector::ExpectedBalance));
            let lasting: BTreeSet<Collector> =
                all.iter().filter(|one| lasts(*one)).map(|(one, _)| *one).collect();
            all.iter_mut().for_each(|(collector, one)| one.lasts = lasting.contains(collector));
            let opens = !is_open && !lasting.is_empty();
            let is_failing = all.values().any(|one| one.good == 0);
            let since = all.values().map(|one| one.since).min();
            // Nobody knows which of them fail until they were tried again.
            let is_tried = |one: &Failing| one.good > 0 || one.read_at >= horizon;
            if is_failing && (now >= horizon + AWAITED_FOR || all.values().all(is_tried)) {
                name_failing(incident, state, settings, is_critical, is_dead);
            }
            match incident.phase {
                _ if opens => {
                    let held = since.map_or(Duration::zero(), |since| now - since);
                    incident.run_since = since.unwrap_or(now);
                    let minutes = u64::try_from(held.num_minutes()).unwrap_or(0);
                    incident.open(Cause::Unchanged { minutes }, now);
                }
                Phase::Firing | Phase::Recovering if is_off => incident.retire(Cause::CollectorOff, now),
                Phase::Firing | Phase::Recovering if since.is_none() => {
                    let polls = settings.recover_polls;
                    incident.end(Phase::Resolved, now, Cause::OkInARow { polls });
                }
                Phase::Firing | Phase::Recovering => {
                    incident.phase = if is_failing { Phase::Firing } else { Phase::Recovering };
                }
                Phase::Unwatched => {}
                Phase::Resolved | Phase::Removed | Phase::Pending => {
                    incident.phase = if is_failing { Phase::Pending } else { Phase::Resolved };
                }
            }
        });
    }

    /// The last known cut-off of an account is near.
    fn is_near(&self, state: &AccountState, settings: &AlertSettings, now: DateTime<Utc>) -> bool {
        self.cut_offs.get(&state.profile.name).is_some_and(|cut_off| cut_off.is_near(settings, now))
    }

    /// A missing report is critical while the last known cut-off is near.
    pub(super) fn weigh_report(
        &mut self,
        state: &AccountState,
        settings: &AlertSettings,
        now: DateTime<Utc>,
    ) {
        let kind = Kind::BillingReport;
        let severity = settings.severity_at(kind, self.is_near(state, settings, now));
        self.change(&Key::account_wide(&state.profile.name, kind), |incident| {
            if incident.phase.is_open() {
                incident.severity = severity;
            }
        });
    }
}

/// Names the failing collectors in the incident.
fn name_failing(
    incident: &mut Incident,
    state: &AccountState,
    settings: &AlertSettings,
    is_critical: bool,
    is_dead: bool,
) {
    let Value::Failing(all) = &incident.value else { return };
    let collectors: Vec<Collector> =
        all.iter().filter(|(_, one)| one.good == 0).map(|(&one, _)| one).collect();
    incident.subject = if is_dead {
        Subject::Silent
    } else if collectors.is_empty() {
        return;
    } else {
        Subject::Unread { collectors }
    };
    // One failed poll beside a collector that fails for long may be the last one: it gets worse for good.
    let all_last = all.values().all(|one| one.lasts || one.good > 0);
    let may_rise = !incident.phase.is_open() || incident.severity == Severity::Critical || all_last;
    incident.severity = settings.severity_at(Kind::CollectorFailing, is_critical && may_rise);
    let statuses = all.keys().filter_map(|one| state.collectors.get(one));
    let said = |status: &CollectorStatus| {
        let failure = status.failure.as_ref().map(|failure| failure.message.clone());
        failure.or_else(|| status.problem.clone())
    };
    if let Some(said) = statuses.filter_map(said).next_back() {
        incident.detail = Detail::Text(rules::clean(&said, 300));
    }
}
