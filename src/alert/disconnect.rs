//! The disconnect incident: reports and time move the ladder; only reports that prove it close it.

use chrono::Duration;

use super::decide::{Decision, Step};
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind, Severity};
use super::ladder::{Ladder, Move, rung_severity};
use super::reason::{AsOf, Cause, Typed, Withheld};
use super::rules;
use super::settings::Settings;
use crate::model::forecast::{self, Disconnect};
use crate::model::{AccountState, Collector};

impl Step<'_> {
    /// A good report was read.
    pub(super) fn report(&mut self, state: &AccountState, settings: &Settings) {
        let billing = &state.billing;
        let (Some(report), Some(read_at)) = (&billing.report, billing.read_at) else { return };
        let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
        let mut incident = self.get(&key).cloned().unwrap_or_else(|| self.new_disconnect(key, state));
        let mut ladder = incident.ladder.take().unwrap_or_default();
        let seen = forecast::disconnect(report);
        match seen {
            Disconnect::At { at, computed } => {
                ladder = Ladder { edd: Some(at), computed, read_at: Some(read_at), ..ladder };
                ladder.used_up = forecast::is_used_up(report).unwrap_or(ladder.used_up);
            }
            Disconnect::Now => {
                ladder = Ladder { used_up: true, read_at: Some(read_at), ..ladder };
            }
            Disconnect::NotExpected | Disconnect::Unknown => {}
        }
        let known = ladder.edd;
        incident.ladder = Some(ladder);
        incident.last_observed = self.now;
        match forecast::all_clear(report, known) {
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
                incident.detail = detail(incident.ladder.as_ref(), state);
                if settings.enabled(Kind::Disconnect) {
                    self.climb(incident, state, settings);
                }
            }
        }
        if settings.enabled(Kind::BalanceDrop) {
            self.balance_drop(state, settings);
        }
    }

    /// Time moves the ladder too, from the last known date.
    pub(super) fn ladder_tick(&mut self, state: &AccountState, settings: &Settings) {
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
        // One that was resolved has no ladder, or has a new one that crossed no rung yet.
        if incident.phase != Phase::Recovering {
            self.climb(incident, state, settings);
        }
    }

    fn new_disconnect(&self, key: Key, state: &AccountState) -> Incident {
        let mut incident = Incident::new(key, Severity::Warning, self.now);
        incident.subject = format!("Account {}", state.profile.name);
        incident.problem = "will be disconnected for non-payment".to_owned();
        incident
    }

    fn all_clear(&mut self, mut incident: Incident, settings: &Settings) {
        let (needed, polls) = (settings.to_recover(), settings.recover_polls);
        if incident.phase.is_open() {
            incident.phase = Phase::Recovering;
            incident.streak += 1;
            if incident.streak >= needed {
                incident.ladder = None;
                incident.detail = "no disconnect is expected".to_owned();
                self.close(incident, false);
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

    fn climb(&mut self, mut incident: Incident, state: &AccountState, settings: &Settings) {
        let Some(ladder) = incident.ladder.clone() else { return };
        let moved = ladder.decide(&settings.disconnect_days, self.now);
        if moved == Move::Stay {
            let reason = incident.reason.clone();
            self.keep(incident, reason);
            return;
        }
        if let Some(silenced) = self.silenced(&incident) {
            // The ladder stays where it was told last: at the silence's end the rung then due is told.
            incident.detail = detail(incident.ladder.as_ref(), state);
            self.note(incident, Withheld::Silenced(silenced));
            return;
        }
        let date = ladder.edd.map(|edd| edd.with_timezone(&state.profile.zone()).date_naive());
        match (moved, date) {
            (Move::Rung(rung), _) => self.cross(incident, ladder, rung, state, settings),
            (Move::Later { rearmed }, Some(to)) => {
                // Armed again: its rungs may be told once more, as events of a new episode.
                incident.episode += 1;
                incident.severity = ladder.severity(settings.lead_days, self.now);
                let ladder = Ladder { rung: rearmed, ..ladder };
                self.tell_ladder(incident, ladder, Cause::MovedBack { to }, Event::Extended(to), state);
            }
            (Move::Earlier, Some(to)) => {
                incident.severity = ladder.severity(settings.lead_days, self.now);
                self.tell_ladder(incident, ladder, Cause::MovedNearer { to }, Event::Extended(to), state);
            }
            (Move::Stay | Move::Later { .. } | Move::Earlier, _) => {}
        }
    }

    /// A rung is crossed: a mail.
    fn cross(
        &mut self,
        mut incident: Incident,
        mut ladder: Ladder,
        rung: u32,
        state: &AccountState,
        settings: &Settings,
    ) {
        if !incident.phase.is_open() {
            incident.begin_episode(self.now);
            incident.enter(Phase::Firing, self.now);
        }
        let last_days = settings.lead_days + 1;
        if rung <= last_days && ladder.rung.is_none_or(|told| told > last_days) {
            // From the last day on which a payment still arrives, a thread of its own.
            incident.threads.clear();
        }
        let nearer = ladder.told.zip(ladder.edd).map(|(told, edd)| told - edd);
        let cause = match (rung, nearer) {
            (0, _) if ladder.used_up => Cause::UsedUp,
            (0, _) => Cause::DatePassed,
            (days, Some(by)) if by > Duration::days(3) => Cause::Jumped { by_days: by.num_days(), days },
            (days, _) => Cause::Rung { days },
        };
        ladder.rung = Some(rung);
        let fixed = settings.rules.get(&Kind::Disconnect).and_then(|rule| rule.severity);
        incident.severity = fixed.unwrap_or_else(|| rung_severity(rung, settings.lead_days));
        incident.announced = true;
        incident.pre_existing = !self.started;
        self.tell_ladder(incident, ladder, cause, Event::Rung(rung), state);
    }

    /// A mail about the date.
    fn tell_ladder(
        &mut self,
        mut incident: Incident,
        mut ladder: Ladder,
        cause: Cause,
        event: Event,
        state: &AccountState,
    ) {
        let reason = Typed::from(cause).resting_on(as_of(state, &ladder));
        ladder.told = ladder.edd;
        incident.detail = detail(Some(&ladder), state);
        incident.ladder = Some(ladder);
        self.withdraw_older(&mut incident);
        self.decide(incident, reason, Decision::Tell(event));
    }

    /// The balance is further below what the last report foresaw than three days cost, and by a fifth.
    fn balance_drop(&mut self, state: &AccountState, settings: &Settings) {
        let billing = &state.billing;
        let (Some(report), Some(previous), Some(at)) = (&billing.report, &billing.previous, billing.read_at)
        else {
            return;
        };
        // Without the first charge the balance looks lower than it is.
        if report.moments_rejected > 0 {
            return;
        }
        // A charge that falls due within a day may come early; that is no drop.
        let soon = forecast::foreseen_balance(previous, at + Duration::days(1));
        let foreseen =
            forecast::foreseen_balance(previous, at).map(|then| soon.map_or(then, |soon| soon.min(then)));
        let (Some(now), Some(foreseen)) = (forecast::balance_now(report), foreseen) else { return };
        let missing = foreseen - now;
        let fifth = foreseen.over(rust_decimal::Decimal::from(5)).unwrap_or_default();
        let three_days = forecast::cost_per_day(previous, at).unwrap_or_default().times(3.into());
        if !foreseen.is_positive() || missing <= fifth || missing <= three_days {
            return;
        }
        let key = Key::account_wide(&state.profile.name, Kind::BalanceDrop);
        let mut incident = self
            .get(&key)
            .cloned()
            .unwrap_or_else(|| Incident::new(key, settings.severity(Kind::BalanceDrop), self.now));
        incident.begin_episode(self.now);
        incident.enter(Phase::Resolved, self.now);
        incident.announced = true;
        incident.subject = format!("Balance of account {}", state.profile.name);
        incident.problem = "dropped".to_owned();
        let unit = &state.profile.currency;
        incident.detail =
            format!("{now} {unit} where the last report foresaw {foreseen} {unit}").replace("  ", " ");
        if self.tells_disconnect(state) {
            self.note(incident, Withheld::SameReport);
        } else {
            self.decide(incident, Cause::BalanceDrop, Decision::Tell(Event::Opened));
        }
    }
}

/// When the report was read that the ladder rests on, where no newer one could be.
fn as_of(state: &AccountState, ladder: &Ladder) -> Option<AsOf> {
    let failed = state.collectors.get(&Collector::ExpectedBalance).is_none_or(|status| !status.success);
    let stale = state.billing.read_at != ladder.read_at || failed;
    ladder.read_at.filter(|_| stale).map(|at| AsOf { at, zone: state.profile.zone() })
}

fn detail(ladder: Option<&Ladder>, state: &AccountState) -> String {
    let Some(ladder) = ladder else { return "no disconnect is expected".to_owned() };
    let date = ladder.edd.map(|edd| {
        let local = edd.with_timezone(&state.profile.zone());
        let computed = if ladder.computed { " (computed)" } else { "" };
        format!("{}{computed}", local.format("%Y-%m-%d %H:%M %Z"))
    });
    let text = match (ladder.used_up, date) {
        (true, Some(date)) => format!("the balance is used up; disconnect {date}"),
        (true, None) => "the balance is used up".to_owned(),
        (false, Some(date)) => format!("disconnect {date}"),
        (false, None) => "no date is known".to_owned(),
    };
    // Which of the two is right nobody here can say; that they differ somebody should know.
    let by_charges = state.billing.report.as_ref().and_then(|report| {
        forecast::edd_disagreement(report).filter(|&by| by > Duration::days(1))?;
        forecast::first_unpaid(report)
    });
    let doubt = by_charges.map_or_else(String::new, |at| {
        let local = at.with_timezone(&state.profile.zone());
        format!("; by its own charges {}", local.format("%Y-%m-%d %H:%M %Z"))
    });
    rules::clean(&format!("{text}{doubt}"), 200)
}
