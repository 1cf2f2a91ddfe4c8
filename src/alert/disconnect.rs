//! The disconnect incident: reports and time move the ladder; only reports that prove it close it.

use chrono::Duration;

use super::incident::{Incident, Phase};
use super::kind::{Event, Key, Kind};
use super::ladder::{Ladder, Move, rung_severity};
use super::lifecycle::Step;
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
                    incident.reason = format!("kept open: {doubt}");
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
            incident.reason = "kept open: no further report could be read".to_owned();
        }
        // One that was resolved has no ladder, or has a new one that crossed no rung yet.
        if incident.phase != Phase::Recovering {
            self.climb(incident, state, settings);
        }
    }

    fn new_disconnect(&self, key: Key, state: &AccountState) -> Incident {
        let mut incident = Incident::new(key, super::kind::Severity::Warning, self.now);
        incident.subject = format!("Account {}", state.profile.name);
        incident.problem = "will be disconnected for non-payment".to_owned();
        incident
    }

    fn all_clear(&mut self, mut incident: Incident, settings: &Settings) {
        if incident.phase.is_open() {
            incident.phase = Phase::Recovering;
            incident.streak += 1;
            if incident.streak >= settings.recover_polls.max(1) {
                incident.ladder = None;
                incident.detail = "no disconnect is expected".to_owned();
                self.close(incident, false);
                return;
            }
            incident.reason = format!(
                "{} of {} reports without a disconnect date",
                incident.streak, settings.recover_polls
            );
            self.decide(incident);
        } else if incident.ladder.as_ref().is_some_and(|ladder| ladder.edd.is_some() || ladder.used_up) {
            // A date that crossed no rung is gone as quietly as it came, once as many reports say so.
            incident.streak += 1;
            if incident.streak >= settings.recover_polls.max(1) {
                incident.ladder = None;
                incident.streak = 0;
                incident.reason = "no disconnect is expected any more".to_owned();
            }
            self.put(incident);
        }
    }

    fn climb(&mut self, mut incident: Incident, state: &AccountState, settings: &Settings) {
        let Some(mut ladder) = incident.ladder.clone() else { return };
        let moved = ladder.decide(&settings.disconnect_days, self.now);
        let told = ladder.told;
        let edd = ladder.edd;
        ladder.told = edd;
        let as_of = as_of(state, &ladder);
        if let Some(why) = self.silenced(&incident).filter(|_| moved != Move::Stay) {
            // The ladder stays where it was told last: at the silence's end the rung then due is told.
            incident.detail = detail(incident.ladder.as_ref(), state);
            incident.reason = format!("no mail: {why}");
            self.decide(incident);
            return;
        }
        match moved {
            Move::Stay => self.keep(incident),
            Move::Rung(rung) => {
                if !incident.phase.is_open() {
                    incident.begin_episode(self.now);
                    incident.enter(Phase::Firing, self.now);
                }
                let last_days = settings.lead_days + 1;
                if rung <= last_days && ladder.rung.is_none_or(|told| told > last_days) {
                    // From the last day on which a payment still arrives, a thread of its own.
                    incident.threads.clear();
                }
                ladder.rung = Some(rung);
                incident.severity = settings
                    .rules
                    .get(&Kind::Disconnect)
                    .and_then(|rule| rule.severity)
                    .unwrap_or_else(|| rung_severity(rung, settings.lead_days));
                incident.reason = match (rung, told, edd) {
                    (0, _, _) if ladder.used_up => "the balance is used up".to_owned(),
                    (0, _, _) => "the disconnect date has passed".to_owned(),
                    (_, Some(told), Some(edd)) if told - edd > Duration::days(3) => {
                        format!(
                            "the date moved {} days nearer and crossed the {rung}-day rung",
                            (told - edd).num_days()
                        )
                    }
                    _ => format!("the {rung}-day rung is crossed"),
                };
                incident.reason.push_str(&as_of);
                incident.announced = true;
                incident.pre_existing = !self.is_started();
                incident.ladder = Some(ladder);
                incident.detail = detail(incident.ladder.as_ref(), state);
                self.withdraw_older(&mut incident);
                self.tell(incident, Event::Rung(rung));
            }
            Move::Later { .. } | Move::Earlier => {
                let Some(date) = edd.map(|edd| edd.with_timezone(&state.profile.zone()).date_naive()) else {
                    return;
                };
                if let Move::Later { rearmed } = moved {
                    // Armed again: its rungs may be told once more, as events of a new episode.
                    ladder.rung = rearmed;
                    incident.episode += 1;
                    incident.reason = format!("the date moved back to {date}");
                } else {
                    incident.reason = format!("the date moved nearer, to {date}");
                }
                incident.reason.push_str(&as_of);
                incident.severity = ladder.severity(settings.lead_days, self.now);
                incident.ladder = Some(ladder);
                incident.detail = detail(incident.ladder.as_ref(), state);
                self.withdraw_older(&mut incident);
                self.tell(incident, Event::Extended(date));
            }
        }
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
            incident.reason = "no mail: the disconnect mail of the same report carries it".to_owned();
            self.decide(incident);
        } else {
            incident.reason = "the balance is below what was foreseen".to_owned();
            self.tell(incident, Event::Opened);
        }
    }
}

fn as_of(state: &AccountState, ladder: &Ladder) -> String {
    let failed = state.collectors.get(&Collector::ExpectedBalance).is_none_or(|status| !status.success);
    let stale = state.billing.read_at != ladder.read_at || failed;
    match ladder.read_at {
        Some(at) if stale => {
            let at = at.with_timezone(&state.profile.zone());
            format!(" (as of {}; no newer report could be read)", at.format("%Y-%m-%d %H:%M %Z"))
        }
        _ => String::new(),
    }
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
