//! The disconnect incident: reports and time move the ladder; only reports that prove it close it.

use chrono::{DateTime, Duration, NaiveDate, Utc};
use chrono_tz::Tz;

use super::decide::{Decision, StepDraft};
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind, Severity};
use super::ladder::{Ladder, ONCE_IN, Sight, rung_severity};
use super::ladder_moves::{Judge, Move};
use super::overdue::{Again, days_left};
use super::reason::{AsOf, Cause, Typed, Withheld};
use super::rules;
use super::settings::AlertSettings;
use crate::model::forecast::{self, Disconnect, Doubt};
use crate::model::pay_by::last_day;
use crate::model::{AccountState, Collector, Money, when};

impl StepDraft<'_> {
    /// A good report was read.
    pub(super) fn report(&mut self, state: &AccountState, settings: &AlertSettings) {
        self.weigh_report(state, settings);
        if settings.enabled(Kind::BalanceDrop) {
            self.balance_drop(state, settings);
        }
    }

    /// What it says of the cut-off.
    pub(super) fn weigh_report(&mut self, state: &AccountState, settings: &AlertSettings) {
        let Some((report, read_at)) = state.billing.latest() else { return };
        let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
        let mut incident = self.get(&key).cloned().unwrap_or_else(|| self.new_disconnect(key, state));
        if incident.phase == Phase::Unwatched && !settings.enabled(Kind::Disconnect) {
            return;
        }
        let mut ladder = incident.ladder.take().unwrap_or_default();
        ladder.note_bare(forecast::is_bare(report), read_at);
        let seen = forecast::disconnect_after(report, ladder.edd, ladder.doubts_bare(read_at));
        let sight = Sight {
            disconnect: seen,
            balance: forecast::balance_now(report),
            used_up: forecast::is_used_up(report),
            bare: forecast::is_bare(report),
        };
        ladder.adopt(settings, self.now);
        ladder.heed_zone(&sight, state.profile.zone(), read_at);
        ladder.weigh(&sight, incident.phase.is_open(), settings, read_at);
        let doubts_bare = ladder.doubts_bare(read_at);
        let known = ladder.last_named();
        incident.ladder = Some(ladder);
        incident.last_observed = self.now;
        let clear = forecast::all_clear(report, known);
        match clear.and(if doubts_bare { Err(Doubt::NoCharges) } else { Ok(()) }) {
            Ok(()) => self.all_clear(incident, settings),
            Err(doubt) => {
                let no_date = matches!(seen, Disconnect::NotExpected | Disconnect::Unknown);
                if (no_date && incident.phase.is_open()) || incident.phase == Phase::Recovering {
                    incident.reason = Cause::Doubt(doubt).into();
                }
                incident.streak = 0;
                if incident.phase == Phase::Recovering {
                    incident.phase = Phase::Firing;
                }
                incident.detail = detail(incident.ladder.as_ref(), state, self.now);
                if settings.enabled(Kind::Disconnect) {
                    self.climb(incident, state, settings);
                }
            }
        }
    }

    /// Time moves the ladder too, from the last known date.
    pub(super) fn ladder_tick(&mut self, state: &AccountState, settings: &AlertSettings) {
        let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
        if !settings.enabled(Kind::Disconnect) {
            return;
        }
        let failing = state.collectors.get(&Collector::ExpectedBalance).is_some_and(|status| !status.success);
        let Some(mut incident) = self.get(&key).cloned() else { return };
        // One report that looked well is no proof; while no other comes, time goes on.
        if incident.phase == Phase::Recovering && failing {
            incident.phase = Phase::Firing;
            incident.streak = 0;
            incident.reason = Cause::NoFurtherReport.into();
        }
        // Nobody was mailed of this date, and the last report knows of none.
        let taken_back = !incident.phase.is_open() && incident.streak > 0 && !failing;
        // One that was resolved has no ladder, or has a new one that crossed no rung yet.
        if incident.phase != Phase::Recovering && !taken_back {
            self.climb(incident, state, settings);
        }
    }

    fn new_disconnect(&self, key: Key, state: &AccountState) -> Incident {
        let mut incident = self.begin(key, Severity::Warning);
        incident.subject = format!("Account {}", state.profile.name);
        incident.problem = problem(false).to_owned();
        incident
    }

    fn all_clear(&mut self, mut incident: Incident, settings: &AlertSettings) {
        let (needed, polls) = (settings.to_recover(), settings.recover_polls);
        if incident.phase.is_open() {
            incident.phase = Phase::Recovering;
            incident.streak += 1;
            if incident.streak >= needed {
                let (key, was) = (incident.key.clone(), incident.ladder.take());
                incident.detail = "no cut-off is expected".to_owned();
                self.close(incident, false);
                self.add_ladder(&key, was);
                return;
            }
            let seen = incident.streak;
            self.note(incident, Cause::WithoutDate { seen, polls });
        } else if incident.ladder.as_ref().is_some_and(|ladder| ladder.edd.is_some() || ladder.used_up) {
            // A date that crossed no rung is gone as quietly as it came, once as many reports say so.
            incident.streak += 1;
            if incident.streak >= needed {
                incident.ladder = None;
                incident.streak = 0;
                incident.reason = Cause::NoDisconnect.into();
            }
            self.put(incident);
        }
    }

    /// Mails what the date, the balance or the time since the cut-off make due.
    fn climb(&mut self, mut incident: Incident, state: &AccountState, settings: &AlertSettings) {
        let Some(ladder) = &mut incident.ladder else { return };
        ladder.adopt(settings, self.now);
        let zone = state.profile.zone();
        ladder.pay_by = ladder.edd.and_then(|edd| last_day(edd, settings.lead_days, zone));
        incident.problem = problem(ladder.is_overdue(self.now)).to_owned();
        if incident.phase.is_open() {
            incident.severity = ladder.standing(settings, self.now);
        }
        let judge = Judge {
            settings,
            zone,
            is_open: incident.phase.is_open(),
            acknowledged: self.muted.is_acknowledged(&incident, self.now),
            now: self.now,
        };
        let moves = incident.ladder.as_ref().map(|ladder| ladder.decide(&judge)).unwrap_or_default();
        if moves.is_empty() {
            let reason = incident.reason.clone();
            self.keep(incident, reason);
            return;
        }
        if let Some(silenced) = self.silenced(&incident) {
            // The ladder stays where it was told last: at the silence's end the rung then due is told.
            incident.detail = detail(incident.ladder.as_ref(), state, self.now);
            self.note(incident, Withheld::Silenced(silenced));
            return;
        }
        for moved in moves {
            incident = self.tell_move(incident, moved, &judge, state);
        }
    }

    /// A mail about the cut-off.
    fn tell_move(
        &mut self,
        mut incident: Incident,
        moved: Move,
        judge: &Judge<'_>,
        state: &AccountState,
    ) -> Incident {
        let Some(mut ladder) = incident.ladder.take() else { return incident };
        let lead_days = judge.settings.lead_days;
        let standing = ladder.standing(judge.settings, self.now);
        if !incident.phase.is_open() {
            incident.begin_episode(self.now);
            incident.enter(Phase::Firing, self.now);
            incident.pre_existing = !self.started;
        }
        let last = |rung: u32| rung <= lead_days + 1;
        if matches!(moved, Move::Rung(rung) if last(rung)) && ladder.rung.is_none_or(|told| !last(told))
            || matches!(moved, Move::LastSafeDay(_))
        {
            // From the last day on which a payment still arrives, a thread of its own.
            incident.threads.clear();
        }
        let as_of = ladder.as_of(state, self.now).map(|at| AsOf { at, zone: judge.zone });
        let reason = Typed::from(cause(moved, &ladder, judge)).resting_on(as_of);
        let event = event(moved, &ladder, judge);
        if ladder.took(moved, judge) {
            incident.arming += 1;
        }
        incident.severity = match moved {
            Move::Rung(rung) | Move::LastSafeDay(rung) => rung_severity(rung, lead_days),
            Move::CutOff | Move::Again(_) | Move::UsedUp => Severity::Critical,
            Move::Paid | Move::Later | Move::Earlier => ladder.severity(judge.settings, self.now),
        };
        incident.announced = true;
        incident.detail = detail(Some(&ladder), state, self.now);
        incident.ladder = Some(ladder);
        let escalates = self.escalates_at_once(&incident, judge.settings);
        incident.escalated |= escalates.is_some();
        let key = incident.key.clone();
        self.decide(incident.clone(), reason, Decision::Tell(event));
        if let Some(why) = escalates {
            self.note_beside(&key, why);
        }
        // What was mailed says only what was mailed.
        let mut told = self.get(&key).cloned().unwrap_or(incident);
        told.severity = standing;
        self.put(told.clone());
        told
    }

    /// The balance is further below what the last report foresaw than three days cost, and by a fifth.
    fn balance_drop(&mut self, state: &AccountState, settings: &AlertSettings) {
        let billing = &state.billing;
        let (Some(report), Some(previous), Some(at)) = (&billing.report, &billing.previous, billing.read_at)
        else {
            return;
        };
        // Without the first charge the balance looks lower than it is.
        if report.moments_rejected > 0 || billing.doubted.is_some() {
            return;
        }
        let foreseen = forecast::foreseen_balance(previous, at);
        let (Some(now), Some(foreseen)) = (forecast::balance_now(report), foreseen) else { return };
        // A charge that falls due within a day may come early; that is no drop.
        if forecast::foreseen_balance(previous, at + Duration::days(1)).is_some_and(|soon| now >= soon) {
            return;
        }
        let missing = foreseen - now;
        let fifth = foreseen.over(rust_decimal::Decimal::from(5)).unwrap_or_default();
        let three_days = forecast::cost_per_day(previous, at).unwrap_or_default().times(3.into());
        if !foreseen.is_positive() || missing <= fifth || missing <= three_days {
            return;
        }
        let key = Key::account_wide(&state.profile.name, Kind::BalanceDrop);
        let mut incident =
            self.get(&key).cloned().unwrap_or_else(|| self.begin(key, settings.severity(Kind::BalanceDrop)));
        // A balance that alternates between two drops once a day; one that is lower than told is news.
        let told_today = incident.last_mailed.is_some_and(|at| self.now - at < ONCE_IN)
            && incident.held.parse::<Money>().is_ok_and(|told| now >= told);
        incident.begin_episode(self.now);
        incident.enter(Phase::Resolved, self.now);
        incident.announced = true;
        incident.subject = "Balance".to_owned();
        incident.problem = drop_words(missing, &state.profile.currency);
        let (unit, forecast, actual) = (unit(&state.profile.currency), foreseen.spaced(), now.spaced());
        incident.detail = format!("forecast {forecast}{unit}, actual {actual}{unit}");
        if self.tells(&Key::account_wide(&state.profile.name, Kind::Disconnect)) {
            self.note(incident, Withheld::SameReport);
        } else if told_today {
            self.note(incident, Withheld::ToldToday);
        } else {
            incident.held = now.to_string();
            self.decide(incident, Cause::BalanceDrop, Decision::Tell(Event::Opened));
        }
    }
}

/// `dropped 900 RUB more than expected`.
fn drop_words(missing: Money, currency: &str) -> String {
    format!("dropped {}{} more than expected", missing.ceil_units(), unit(currency))
}

/// What follows an amount.
fn unit(currency: &str) -> String {
    if currency.is_empty() { String::new() } else { format!(" {}", rules::clean(currency, 12)) }
}

/// What is wrong with the account, behind its name.
const fn problem(is_overdue: bool) -> &'static str {
    if is_overdue { "is cut off for non-payment" } else { "will be cut off for non-payment" }
}

/// What a mail says of this.
fn event(moved: Move, ladder: &Ladder, judge: &Judge<'_>) -> Event {
    let to = day(ladder.edd.unwrap_or(judge.now), judge.zone);
    match moved {
        Move::Rung(rung) | Move::LastSafeDay(rung) => Event::Rung(rung),
        Move::CutOff => Event::Rung(0),
        Move::Again(Again::Overdue(date)) => Event::Overdue(date),
        Move::Again(Again::Deletion(left)) => Event::Deletion(left),
        Move::UsedUp => Event::BalanceUsedUp,
        Move::Paid => Event::Paid(to),
        Move::Later | Move::Earlier => Event::Extended(to),
    }
}

fn cause(moved: Move, ladder: &Ladder, judge: &Judge<'_>) -> Cause {
    let to = day(ladder.edd.unwrap_or(judge.now), judge.zone).into();
    let span = |days: u32| i64::from(days).into();
    let fell = ladder.fell_from.zip(ladder.edd).map(|(from, edd)| (from - edd).num_days());
    match (moved, fell) {
        (Move::Rung(days), Some(by_days)) => Cause::Jumped { by_days: by_days.into(), days: span(days) },
        (Move::Rung(days), None) => Cause::Rung { days: span(days) },
        (Move::LastSafeDay(days), _) => Cause::PaymentsTakeLonger { days: span(days) },
        (Move::CutOff, _) if ladder.gone || ladder.edd.is_none() => Cause::UsedUp,
        (Move::CutOff, _) => Cause::DatePassed,
        (Move::Again(Again::Overdue(_)), _) => Cause::StillOverdue,
        (Move::Again(Again::Deletion(days)), _) => {
            // One that a silence or a failure held back comes later than its event says.
            let at = ladder.deletion(judge.settings, judge.now);
            match at.map_or(days, |at| days_left(at, judge.now)) {
                0 => Cause::DeletionDay,
                days => Cause::DeletionIn { days: span(days) },
            }
        }
        (Move::UsedUp, _) => Cause::UsedUp,
        (Move::Paid, _) => Cause::Paid { to },
        (Move::Later, _) => Cause::MovedBack { to },
        (Move::Earlier, _) => Cause::MovedNearer { to },
    }
}

fn day(at: DateTime<Utc>, zone: Tz) -> NaiveDate {
    at.with_timezone(&zone).date_naive()
}

fn detail(ladder: Option<&Ladder>, state: &AccountState, now: DateTime<Utc>) -> String {
    let Some(ladder) = ladder else { return "no cut-off is expected".to_owned() };
    let zone = state.profile.zone();
    let date = ladder.edd.map(|edd| {
        let computed = if ladder.computed { " (computed)" } else { "" };
        format!("{}{computed}", when::moment(edd, zone, now))
    });
    let text = match (ladder.used_up, date) {
        (true, Some(date)) => format!("the balance is used up; cut-off {date}"),
        (true, None) => "the balance is used up".to_owned(),
        (false, Some(date)) => format!("cut-off {date}"),
        (false, None) => "no date is known".to_owned(),
    };
    // Which of the two is right nobody here can say; that they differ somebody should know. Of an account that is off it is
    // the next charge.
    let ahead = state.billing.report.as_deref().filter(|_| !ladder.is_overdue(now));
    let by_charges = ahead.and_then(forecast::date_by_charges);
    let doubt = by_charges
        .map_or_else(String::new, |at| format!("; by its own charges {}", when::moment(at, zone, now)));
    let deleted = ladder.deleted_at.map_or_else(String::new, |at| {
        let verb = if at < now { "were to be" } else { "are" };
        format!("; data {verb} deleted on {}", when::day(day(at, zone), zone, now))
    });
    rules::clean(&format!("{text}{deleted}{doubt}"), 200)
}
