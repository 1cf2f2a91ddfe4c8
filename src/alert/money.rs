//! The mails about a cut-off: the thresholds before it, the daily mails after it, and dates that move.

use chrono::{DateTime, Days, Duration, TimeZone as _, Utc};

use super::case::{Case, Due, Evidence, Role, Why, nothing};
use super::cut_off::CutOff;
use super::days::days_until;
use super::incident::Phase;
use super::kind::{Event, Severity};
use super::notified::{Money, Told};
use super::reason::Cause;

/// A mail of the same kind goes once in this time, unless the balance rose above its highest value of that
/// time.
const ONCE_IN: Duration = Duration::hours(24);
/// A rung is left behind once the date is a day beyond it.
const REARM_MARGIN: i64 = 1;
/// After the cut-off: a mail a day for a week, then every third day.
const DAILY: i64 = 7;
const EVERY: i64 = 3;
const LAST: i64 = 37;
/// The days before the deletion that are mailed, the tightest first.
const DELETION: [u32; 4] = [0, 1, 3, 7];

/// The event that is owed of an open incident of a cut-off.
pub(super) fn due(case: &Case<'_>, told: &Told) -> Due {
    let Some(cut_off) = case.cut_off else { return nothing(Why::Fine) };
    if let Evidence::Awaited(until) = case.evidence {
        return Due::Nothing(Why::NotRead, Some(until));
    }
    // If a cut-off returns before its end was mailed, it is the same one to this recipient.
    let knows = told.is_open();
    let money = &told.money;
    let is_off = cut_off.is_overdue(case.now) && money.rung == Some(0);
    let due = match is_off {
        _ if !knows && matches!(case.role, Role::Escalation { .. }) => escalation(case, cut_off),
        // A report shows a payment; the next one decides.
        _ if case.incident.phase == Phase::Recovering => nothing(Why::Recovering),
        true => deletion(case, cut_off, money)
            .unwrap_or_else(|| overdue(case, cut_off, told).or_later(next_deletion(case, cut_off, money))),
        false => ahead(case, cut_off, told, money, knows),
    };
    match (due, case.silenced) {
        // No silence stops a deletion, whether or not the mail about the cut-off itself left before the silence.
        (Due::Tell(..), Some(until)) => {
            deletion(case, cut_off, money).unwrap_or(Due::Nothing(Why::Silenced, Some(until)))
        }
        (Due::Nothing(_, Some(next)), Some(until)) if !is_off && next < until => {
            Due::Nothing(Why::Silenced, Some(until))
        }
        (due, _) => due,
    }
}

fn escalation(case: &Case<'_>, cut_off: &CutOff) -> Due {
    if cut_off.is_near(case.settings, case.now) && case.incident.phase == Phase::Firing {
        let is_ahead = cut_off.used_up && !cut_off.is_overdue(case.now);
        let why = if is_ahead { Cause::UsedUp } else { cut_off.stage(case.settings, case.now) };
        return Due::Tell(Event::Escalated, why);
    }
    Due::Nothing(Why::Escalation, cut_off.crosses(case.settings.lead_days + 1, case.settings))
}

/// The events of a date that is ahead or has just passed.
fn ahead(case: &Case<'_>, cut_off: &CutOff, told: &Told, money: &Money, knows: bool) -> Due {
    let Case { settings, now, .. } = *case;
    let rung = cut_off.rung(settings, now);
    if rung == Some(0) {
        return Due::Tell(Event::Rung(0), cut_off.stage(settings, now));
    }
    // The same kind within a day waits; it is owed afterwards if it still holds.
    let mut waits: Option<DateTime<Utc>> = None;
    let mut is_free = |last: Option<DateTime<Utc>>| {
        let until = told_until(cut_off, last, now);
        waits = waits.into_iter().chain(until).min();
        until.is_none()
    };
    if let Some(date) = cut_off.date() {
        let day = date.with_timezone(&settings.zone).date_naive();
        let is_later = money.date.is_none_or(|before| date > before) || money.rung == Some(0);
        let is_paid = cut_off.paid_at.is_some_and(|at| at > told.at) && is_later;
        if knows && is_paid && is_free(money.paid_at) {
            return Due::Tell(Event::Paid(day), Cause::Paid { to: day });
        }
        let moved_back = money.rung.is_some_and(|told| is_behind(cut_off, told, case));
        if knows && moved_back && !is_paid && is_free(money.extended_at) {
            return Due::Tell(Event::Extended(day), Cause::MovedBack { to: day });
        }
    }
    if let Some(rung) = rung.filter(|&rung| money.rung.is_none_or(|told| rung < told)) {
        let guard = money.tightest.filter(|(tightest, _)| rung >= *tightest).map(|(_, at)| at);
        if cut_off.date().is_some() && is_free(guard) {
            return Due::Tell(Event::Rung(rung), cut_off.stage(settings, now));
        }
    }
    // A rung of the same report says it too.
    if cut_off.used_up && !money.used_up {
        return Due::Tell(Event::BalanceUsedUp, Cause::UsedUp);
    }
    let next = settings.disconnect_days.iter().copied().chain([0]);
    let next = next.filter(|&rung| money.rung.is_none_or(|told| rung < told));
    let next = next.filter_map(|rung| cut_off.crosses(rung, settings)).filter(|at| *at > now).min();
    match waits {
        Some(at) => Due::Nothing(Why::ToldToday, Some(at)),
        None => Due::Nothing(Why::Told, next),
    }
}

/// The end of the day after a mail, in which no other of its kind leaves unless the balance rose above its highest.
fn told_until(cut_off: &CutOff, last: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let holds = |at: &DateTime<Utc>| now - *at < ONCE_IN && cut_off.rose_at.is_none_or(|rose| rose <= *at);
    last.filter(holds).map(|at| at + ONCE_IN)
}

/// The moment from which the end of a cut-off may be told, while that is ahead. The end of an overdue account never
/// waits.
pub(super) fn ends_at(case: &Case<'_>, told: &Told) -> Option<DateTime<Utc>> {
    let resolved_at = told.money.resolved_at.filter(|_| told.money.rung != Some(0));
    told_until(case.cut_off?, resolved_at, case.now)
}

/// Whether the date is more than a day beyond a rung that was told.
fn is_behind(cut_off: &CutOff, rung: u32, case: &Case<'_>) -> bool {
    let crosses = cut_off.crosses(rung, case.settings);
    rung == 0 || crosses.is_some_and(|at| at - case.now > Duration::days(REARM_MARGIN))
}

/// The event of a deletion that comes near.
fn deletion(case: &Case<'_>, cut_off: &CutOff, money: &Money) -> Option<Due> {
    let at = cut_off.deletion(case.settings, case.now)?;
    // The mail about the cut-off itself names the day; it may have been silenced.
    let from = money.tightest.map(|(_, at)| at).max(cut_off.date());
    let comes = |left: u32| at - Duration::days(i64::from(left));
    let left = DELETION.into_iter().find(|&left| has_come(comes(left), case))?;
    let is_new = from.is_none_or(|from| comes(left) > from) && money.deletion.is_none_or(|told| left < told);
    // A mail that a sleep or a failure delayed names the days that are left now.
    let why = match days_until(at, case.now, case.settings.zone) {
        days @ 1.. => Cause::DeletionIn { days },
        _ => Cause::DeletionDay,
    };
    is_new.then_some(Due::Tell(Event::Deletion(left), why))
}

/// The moment of the next mail about the deletion.
fn next_deletion(case: &Case<'_>, cut_off: &CutOff, money: &Money) -> Option<DateTime<Utc>> {
    let at = cut_off.deletion(case.settings, case.now)?;
    let left = DELETION.into_iter().filter(|left| money.deletion.is_none_or(|told| *left < told));
    left.map(|left| at - Duration::days(i64::from(left))).filter(|at| *at > case.now).min()
}

/// Whether the moment of a day's mail has come. A machine that woke today may be asleep again at that time of day.
fn has_come(at: DateTime<Utc>, case: &Case<'_>) -> bool {
    let is_today = |at: DateTime<Utc>| days_until(at, case.now, case.settings.zone) == 0;
    at <= case.now || (is_today(case.horizon) && is_today(at))
}

/// The account stays off: one mail a day, in the account's time zone.
fn overdue(case: &Case<'_>, cut_off: &CutOff, told: &Told) -> Due {
    let Case { settings, now, .. } = *case;
    let Some((_, told_at)) = told.money.tightest else { return nothing(Why::Told) };
    let from = cut_off.date().unwrap_or(told_at);
    let zone = settings.zone;
    let moment = |day: i64| {
        let local = from.with_timezone(&zone).naive_local();
        let local = local.checked_add_days(Days::new(u64::try_from(day).unwrap_or(0)));
        let at = local.and_then(|local| zone.from_local_datetime(&local).earliest());
        at.map_or(from + Duration::days(day), |at| at.to_utc())
    };
    let last = cut_off.deletion(settings, now).map_or(LAST, |at| LAST.min((at - from).num_days()));
    let gives_way = |day: i64| {
        let deletion = i64::from(settings.deletion_days);
        deletion > 0
            && cut_off.date().is_some()
            && DELETION.iter().any(|&left| day + i64::from(left) == deletion)
    };
    let is_on = |day: &i64| (*day <= DAILY || (day - DAILY) % EVERY == 0) && !gives_way(*day);
    let date = |at: DateTime<Utc>| at.with_timezone(&zone).date_naive();
    let (today, told_on) = (date(now), date(told.at));
    let is_told = |day: &i64| date(moment(*day)) <= told_on;
    let next = |after: DateTime<Utc>| (1..=last).filter(is_on).map(moment).find(|at| *at > after);
    if case.is_acknowledged {
        return nothing(Why::Acknowledged);
    }
    let missed = (1..=last).rev().filter(is_on).find(|&day| has_come(moment(day), case));
    match missed.filter(|day| !is_told(day)) {
        Some(_) if today > told_on => Due::Tell(Event::Overdue(today), Cause::StillOverdue),
        Some(_) | None => Due::Nothing(Why::Told, next(now)),
    }
}

/// The recipient's knowledge of the cut-off after a mail about `event`.
#[allow(clippy::wildcard_enum_match_arm)] // the others say nothing of the date
pub(super) fn told_after(
    case: &Case<'_>,
    event: &Event,
    message_id: &str,
    is_beginning: bool,
    told: &mut Told,
) {
    let (Some(cut_off), now) = (case.cut_off, case.now) else { return };
    let rung = cut_off.rung(case.settings, now);
    let money = &mut told.money;
    match event {
        Event::Rung(rung) => {
            let is_last = |rung: u32| rung <= case.settings.lead_days + 1;
            if is_last(*rung) && money.rung.is_none_or(|told| !is_last(told)) {
                // From the last safe day on, mails are a thread of their own.
                told.thread = Some(message_id.to_owned());
            }
            money.rung = Some(*rung);
            money.used_up |= cut_off.used_up;
        }
        Event::Escalated => {
            money.rung = rung;
            money.used_up |= cut_off.used_up;
        }
        Event::BalanceUsedUp => money.used_up = true,
        Event::Paid(_) | Event::Extended(_) => {
            let moved_at =
                if matches!(event, Event::Paid(_)) { &mut money.paid_at } else { &mut money.extended_at };
            *moved_at = Some(now);
            // If the clock was set back, a date can be earlier than before and still farther away.
            let is_farther = money.rung.is_some_and(|told| rung.is_none_or(|rung| rung > told));
            if !is_beginning && (cut_off.date() > money.date || is_farther) {
                // The rung that the date is on needs no mail of its own. A rung that the date left is armed
                // again.
                money.rung = rung;
                (money.deletion, money.used_up) = (None, cut_off.used_up && money.used_up);
            }
        }
        Event::Deletion(left) => money.deletion = Some(*left),
        _ => {}
    }
    if let (Event::Rung(_) | Event::Escalated, Some(rung)) = (event, money.rung) {
        // A mail that a rise of the balance allowed counts from now on.
        let has_risen = |at: DateTime<Utc>| cut_off.rose_at.is_some_and(|rose| rose > at);
        let is_tighter = money
            .tightest
            .is_none_or(|(tightest, at)| rung <= tightest || now - at >= ONCE_IN || has_risen(at));
        money.tightest = if is_tighter { Some((rung, now)) } else { money.tightest };
    }
    money.date = cut_off.date();
    told.severity = Some(match event {
        Event::Paid(_) | Event::Extended(_) => cut_off.severity_of_move(case.settings, now),
        _ => cut_off.severity(case.settings, now).max(Severity::Info),
    });
}
