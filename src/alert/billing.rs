//! Findings of a report: the incident of a cut-off follows the believed date; a drop of the balance is an incident of its own.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};

use super::cut_off::Observation;
use super::engine::Engine;
use super::finding::Value;
use super::incident::{Incident, Phase, Reading};
use super::key::Key;
use super::kind::Kind;
use super::reason::Cause;
use super::rules;
use super::settings::AlertSettings;
use super::subject::{Detail, Subject};
use crate::model::changes::{self, Dearer};
use crate::model::forecast::{self, Doubt};
use crate::model::sanitize;
use crate::model::{AccountState, Collector, Money, Report};

/// The same rise of an order's cost is told again after this time.
const DEARER_ONCE_IN: Duration = Duration::days(30);

impl Engine {
    /// A good report: the cut-off, and a drop of the balance.
    pub(super) fn report(&mut self, state: &AccountState, reading: &Reading, settings: &AlertSettings) {
        let account = &state.profile.name;
        let Some((report, at)) = state.billing.latest() else { return };
        let payment = self.payment(state, report, at);
        let key = Key::account_wide(account, Kind::Disconnect);
        let stands = self.incidents.get(&key).map_or((Phase::Resolved, 0), Incident::stand);
        let is_open = stands.0.is_open();
        let cut_off = self.cut_offs.all.entry(account.clone()).or_default();
        let bare_since = state.billing.bare_since;
        let observation = Observation { report, payment, is_open, bare_since, at };
        let proof = cut_off.take(&observation);
        let seen = cut_off.clear;
        self.changed.entry(key.clone()).or_insert(stands);
        self.cut_offs.unsaved.insert(account.clone());
        if is_open {
            self.change(&key, |incident| weigh_proof(incident, proof, seen, reading, settings));
        }
        if seen >= settings.recover_polls {
            self.cut_offs.change(account, |cut_off| cut_off.forget_date(reading.at));
        }
        self.cut_off_by_time(state, settings, reading.at);
        if settings.enabled(Kind::BalanceDrop) {
            self.balance_drop(state, reading, settings);
        }
        if settings.enabled(Kind::OrderCost) {
            self.dearer_orders(state, reading, settings);
        }
    }

    /// The amount by which the balance of a good report is above what the last good one foresaw for now. After a start
    /// the stored report is that one. A report without charges is good once such reports prove something.
    fn payment(&mut self, state: &AccountState, report: &Arc<Report>, at: DateTime<Utc>) -> Option<Money> {
        let (account, billing) = (&state.profile.name, &state.billing);
        let is_sure = self.cut_offs.get(account).is_some_and(|one| one.is_bare(at));
        let is_good =
            |one: &Report, is_sure: bool| one.moments_rejected == 0 && (is_sure || !forecast::is_bare(one));
        let stored = if billing.doubted.is_some() { &billing.report } else { &billing.previous };
        // The first report since the start may be no good one, and takes the stored one's place. A debt needs no charges.
        let owes = |one: &Report| forecast::balance_now(one).is_some_and(|balance| !balance.is_positive());
        if let Some(stored) = stored.as_ref().filter(|one| is_good(one, is_sure || owes(one))) {
            self.good_reports.entry(account.clone()).or_insert_with(|| Arc::clone(stored));
        }
        let balance = forecast::balance_now(report).filter(|_| is_good(report, is_sure))?;
        let last = self.good_reports.insert(account.clone(), Arc::clone(report))?;
        let paid = balance - forecast::highest_foreseen(&last, report, at)?;
        Some(paid).filter(|paid| paid.is_positive())
    }

    /// A cut-off also opens, worsens or ends as time passes, going by the last believed date.
    pub(super) fn cut_off_by_time(
        &mut self,
        state: &AccountState,
        settings: &AlertSettings,
        now: DateTime<Utc>,
    ) {
        let account = &state.profile.name;
        let key = Key::account_wide(account, Kind::Disconnect);
        if !settings.enabled(Kind::Disconnect) {
            return;
        }
        if !state.profile.collectors.contains(&Collector::ExpectedBalance) {
            // Nothing reads the date any more.
            self.cut_offs.change(account, |cut_off| cut_off.forget_date(now));
        }
        self.cut_offs.change(account, |cut_off| cut_off.enter_in_calendar(settings, now));
        let Some(cut_off) = self.cut_offs.get(account).cloned() else { return };
        let fails = state.collectors.get(&Collector::ExpectedBalance).is_some_and(|status| !status.success);
        // The last report named no date; one report alone is no proof. After a start or a sleep the next report
        // may name another date than the one that came near meanwhile.
        let is_taken_back = cut_off.clear > 0 && !fails;
        let is_doubted = is_taken_back || self.causes(state, now).awaits_report().is_some();
        if cut_off.is_due(settings, now) && !is_doubted {
            self.entry(&key, now);
        }
        self.change(&key, |incident| {
            incident.subject = Subject::Account;
            if !incident.phase.is_open() && cut_off.is_due(settings, now) && !is_doubted {
                let why = cut_off.stage(settings, now);
                incident.run_since = now;
                incident.severity = cut_off.severity(settings, now);
                incident.open(why, now);
            }
            if incident.phase == Phase::Recovering && fails {
                (incident.phase, incident.why) = (Phase::Firing, Cause::NoFurtherReport);
            }
            if incident.phase.is_open() {
                incident.severity = cut_off.severity(settings, now);
            }
            let is_stage = matches!(
                incident.why,
                Cause::Rung { .. }
                    | Cause::LastSafeDay
                    | Cause::UsedUp
                    | Cause::DatePassed
                    | Cause::MovedBack { .. }
            );
            if incident.phase == Phase::Firing && is_stage {
                incident.why = cut_off.stage(settings, now);
            }
        });
    }

    /// A balance drop: the balance is below what the report before foresaw, by a fifth and by more than the
    /// cost of three days.
    fn balance_drop(&mut self, state: &AccountState, reading: &Reading, settings: &AlertSettings) {
        let billing = &state.billing;
        let (Some(report), Some(previous), Some(at)) = (&billing.report, &billing.previous, billing.read_at)
        else {
            return;
        };
        // If the first charge of a report is missing, its balance looks lower than it is.
        if report.moments_rejected > 0 || billing.doubted.is_some() {
            return;
        }
        let foreseen = forecast::foreseen_balance(previous, at);
        let (Some(balance), Some(foreseen)) = (forecast::balance_now(report), foreseen) else { return };
        // A charge that falls due within a day may be made early; that is no drop.
        let is_early =
            forecast::foreseen_balance(previous, at + Duration::days(1)).is_some_and(|soon| balance >= soon);
        let missing = foreseen - balance;
        let fifth = foreseen.over(rust_decimal::Decimal::from(5)).unwrap_or_default();
        let three_days = forecast::cost_per_day(previous, at).unwrap_or_default().times(3.into());
        let least = fifth.max(three_days);
        if is_early || !foreseen.is_positive() || missing <= least {
            return;
        }
        let key = Key::account_wide(&state.profile.name, Kind::BalanceDrop);
        self.entry(&key, reading.at);
        self.change(&key, |incident| {
            // A balance that alternates between two values counts as one drop a day, whatever is charged meanwhile. A
            // balance that is as much lower again is a new drop.
            let is_same = matches!(incident.value, Value::Balance(before) if balance >= before - least);
            if incident.episode > 0 && is_same && reading.at - incident.since < Duration::hours(24) {
                return;
            }
            let currency = currency_of(state);
            incident.subject = Subject::Drop { missing, currency: currency.clone() };
            incident.detail = Detail::Balance { foreseen, actual: balance, currency };
            incident.value = Value::Balance(balance);
            incident.come_and_go(Cause::BalanceDrop, reading, settings);
        });
    }

    /// Orders that became dearer, each an incident that is over as it begins.
    fn dearer_orders(&mut self, state: &AccountState, reading: &Reading, settings: &AlertSettings) {
        let billing = &state.billing;
        let (Some(report), Some(previous), None) = (&billing.report, &billing.previous, &billing.doubted)
        else {
            return;
        };
        for Dearer { order, from, to } in changes::dearer(previous, report, reading.at) {
            let name = rules::order_name(order);
            if !settings.covers(Kind::OrderCost, &name) {
                continue;
            }
            let key = Key::new(&state.profile.name, Kind::OrderCost, order.id.get());
            self.entry(&key, reading.at);
            self.change(&key, |incident| {
                // Prices of two servers that answer in turn are one rise.
                let is_told =
                    matches!(incident.value, Value::Cost(before) if !changes::is_dearer(before, to));
                if incident.episode > 0 && is_told && reading.at - incident.since < DEARER_ONCE_IN {
                    return;
                }
                let currency = currency_of(state);
                incident.subject = Subject::Dearer { name, from, to, currency: currency.clone() };
                incident.detail = Detail::CostPerDay { from, to, currency };
                incident.value = Value::Cost(to);
                incident.come_and_go(Cause::Dearer, reading, settings);
            });
        }
    }
}

/// The account's currency for a subject, or nothing.
fn currency_of(state: &AccountState) -> String {
    sanitize::seen_line(&state.profile.currency, 12).unwrap_or_default()
}

/// A report moves the incident of a cut-off towards its end, or reopens it.
fn weigh_proof(
    incident: &mut Incident,
    proof: Result<(), Doubt>,
    seen: u32,
    reading: &Reading,
    settings: &AlertSettings,
) {
    incident.read_at = reading.at;
    let polls = settings.recover_polls;
    match proof {
        Ok(()) if seen >= polls => {
            incident.end(Phase::Resolved, reading.at, Cause::OkInARow { polls });
        }
        Ok(()) => {
            (incident.phase, incident.run_since) = (Phase::Recovering, reading.at);
            incident.why = Cause::WithoutDate { seen, polls };
        }
        Err(doubt) => {
            if incident.phase == Phase::Recovering {
                incident.why = Cause::Doubt(doubt);
            }
            incident.phase = Phase::Firing;
        }
    }
}
