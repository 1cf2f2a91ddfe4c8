//! THE decision: the event of one incident that one recipient has to hear now, or why there is none, and until
//! when.
//!
//! It compares the present state (the incident, the cut-off) with the recipient's entry in the log. For a
//! cut-off `money` decides.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};

use super::case::{Case, Due, Evidence, Role, Why, nothing};
use super::finding::{Failing, Value};
use super::incident::{LAPSE, Phase};
use super::kind::{Event, Kind, Severity};
use super::money;
use super::notified::{Money, Owed, Told, What};
use super::reason::Cause;
use crate::model::Collector;
use crate::model::freshness::sees_states;

/// The number of reminders; later the digest lists the incident.
const REMINDERS: u32 = 3;
const DAY: Duration = Duration::days(1);

/// Compares the incident with what the recipient was told, and returns the event that is owed. `log` decides
/// whether a mail may leave now.
pub(crate) fn due(case: &Case<'_>) -> Due {
    if case.entry.dropped == Some(case.incident.episode) {
        return nothing(Why::Dropped);
    }
    compared(case, known(case))
}

/// The recipient's knowledge that the decision rests on. A mail that may have arrived counts if there is news; until then
/// it is owed for as long as it says something true.
pub(super) fn known<'a>(case: &Case<'a>) -> &'a Told {
    let told = &case.entry.told;
    let Some(before) = &case.entry.if_lost else { return told };
    match compared(case, told) {
        Due::Tell(event, _) if is_news(&event) => told,
        Due::Tell(..) | Due::Nothing(..) => match compared(case, before) {
            // An event that waits for a reading is owed all the same.
            Due::Tell(..) | Due::Nothing(Why::SameReport | Why::NotRead | Why::Unread, _) => before,
            Due::Nothing(..) => told,
        },
    }
}

fn compared(case: &Case<'_>, told: &Told) -> Due {
    let incident = case.incident;
    if incident.key.kind.is_momentary() {
        momentary(case, told)
    } else if incident.phase.is_open() {
        open(case, told)
    } else {
        match (over(case, told), case.evidence) {
            (Due::Tell(..), Evidence::Awaited(until)) => Due::Nothing(Why::NotRead, Some(until)),
            (due, _) => due,
        }
    }
}

/// Reminders and the daily mail of an account that is off are no news.
pub(super) fn is_news(event: &Event) -> bool {
    !matches!(event, Event::Reminder(_) | Event::Overdue(_))
}

/// The end is mailed to recipients that were told of the beginning, and to nobody else.
fn over(case: &Case<'_>, told: &Told) -> Due {
    let incident = case.incident;
    let (owed, episode) = (case.entry.owed.as_ref(), incident.episode);
    let ended = |owed: &Owed| incident.ended.map_or(owed.since, |ended| ended.max(owed.since));
    let lapsed = owed.is_some_and(|owed| case.now - ended(owed) > LAPSE);
    if told.is_open() {
        let event = match incident.phase {
            Phase::Removed => Event::Removed,
            Phase::Unwatched => Event::Unwatched,
            Phase::Pending | Phase::Resolved | Phase::Firing | Phase::Recovering => Event::Resolved,
        };
        return if incident.why == Cause::GoneForADay {
            nothing(Why::Told)
        } else if lapsed {
            nothing(Why::Lapsed)
        } else if let Some(at) = money::ends_at(case, told).filter(|_| event == Event::Resolved) {
            Due::Nothing(Why::ToldToday, Some(at))
        } else {
            Due::Tell(event, incident.why.clone())
        };
    }
    let is_missed =
        told.episode < episode && owed.is_some_and(|owed| owed.episode <= episode && !owed.is_an_end());
    if is_missed && case.role == Role::To && incident.phase != Phase::Unwatched {
        if !case.started {
            return nothing(Why::FirstMail);
        }
        return if lapsed { nothing(Why::Lapsed) } else { Due::Tell(Event::WasDown, incident.why.clone()) };
    }
    nothing(if incident.phase == Phase::Pending { Why::Pending } else { Why::Fine })
}

/// A dearer order or a drop of the balance is over as soon as it is seen. It is mailed once, to the recipients of that
/// time.
fn momentary(case: &Case<'_>, told: &Told) -> Due {
    let incident = case.incident;
    let is_new = incident.since == case.now || case.entry.owed.is_some();
    if told.episode == incident.episode || !is_new || case.role != Role::To {
        nothing(Why::Told)
    } else if case.silenced.is_some() {
        Due::Nothing(Why::Silenced, case.silenced)
    } else if case.cut_off_says {
        nothing(Why::SameReport)
    } else if !case.started {
        nothing(Why::FirstMail)
    } else if incident.key.kind == Kind::OrderCost {
        let day = incident.since.with_timezone(&case.settings.zone).date_naive();
        Due::Tell(Event::Dearer(day), incident.why.clone())
    } else {
        Due::Tell(Event::Opened, incident.why.clone())
    }
}

fn open(case: &Case<'_>, told: &Told) -> Due {
    let incident = case.incident;
    if case.role == Role::Left {
        return nothing(Why::Left);
    }
    if incident.key.kind == Kind::Disconnect {
        return money::due(case, told);
    }
    if case.silenced.is_some() {
        return Due::Nothing(Why::Silenced, case.silenced);
    }
    if !case.started {
        return nothing(Why::FirstMail);
    }
    match case.evidence {
        Evidence::Sound => {}
        Evidence::Awaited(until) => return Due::Nothing(Why::NotRead, Some(until)),
        Evidence::Unread => return nothing(Why::Unread),
    }
    if let Some(cause) = incident.cause.as_ref().filter(|_| case.cause_reaches) {
        return nothing(Why::Explained(cause.clone()));
    }
    if !told.knows(incident.episode) {
        return beginning(case, told);
    }
    if incident.phase == Phase::Recovering {
        return nothing(Why::Recovering);
    }
    match worse_at(case, told) {
        Some(at) if at <= case.now => Due::Tell(Event::Worse, Cause::MoreThanTold),
        at => reminder(case, told).or_later(at),
    }
}

fn beginning(case: &Case<'_>, told: &Told) -> Due {
    let incident = case.incident;
    if let Role::Escalation { since } = case.role {
        if let Some(cause) = &incident.cause {
            return nothing(Why::Explained(cause.clone()));
        }
        if case.is_acknowledged {
            return nothing(Why::Acknowledged);
        }
        let is_open_to = incident.severity == Severity::Critical;
        let after = Duration::from_std(case.settings.escalate_after).unwrap_or(Duration::MAX);
        let at = since.filter(|_| is_open_to).and_then(|since| since.checked_add_signed(after));
        return match at {
            Some(at) if at <= case.now => {
                let (to, after) = (case.settings.escalate_to.join(", "), case.settings.escalate_after);
                Due::Tell(Event::Escalated, Cause::Escalated { to, after: after.as_secs() / 60 })
            }
            at => Due::Nothing(Why::Escalation, at),
        };
    }
    if incident.phase == Phase::Recovering {
        return nothing(Why::Recovering);
    }
    if told.what == What::Nothing && told.by_first_mail && incident.since <= told.at {
        return Due::Tell(Event::Started, Cause::KnownAtStart);
    }
    let why = if incident.trusted_from.is_some() { Cause::CoverEnded } else { incident.reason() };
    Due::Tell(Event::Opened, why)
}

/// The time at which it is told that more is wrong than this recipient knows: another collector that shows states or the
/// balance, a higher severity, or another unknown state. Each is told at most once a day.
fn worse_at(case: &Case<'_>, told: &Told) -> Option<DateTime<Utc>> {
    let incident = case.incident;
    match &incident.value {
        Value::Failing(all) => {
            let joins = |(&collector, one): (&Collector, &Failing)| {
                sees_states(collector) && one.lasts && !told.set.contains(collector.as_str())
            };
            let is_worse = told.severity.is_some_and(|known| known < incident.severity);
            (is_worse || all.iter().any(joins)).then_some(case.now)
        }
        Value::States(states) => (!told.set.is_superset(states)).then(|| told.at + DAY),
        Value::None | Value::State(_) | Value::SitesStopped | Value::Balance(_) | Value::Cost(_) => None,
    }
}

/// The parts of a value, as the notification log keeps them: failing collectors, unknown states.
pub(crate) fn set(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Failing(all) => {
            let failing = all.iter().filter(|(_, one)| one.good == 0);
            failing.map(|(collector, _)| collector.as_str().to_owned()).collect()
        }
        Value::States(states) => states.clone(),
        Value::None | Value::State(_) | Value::SitesStopped | Value::Balance(_) | Value::Cost(_) => {
            BTreeSet::new()
        }
    }
}

/// The time of the next reminder for recipients in `to` that know as much, unless somebody acknowledges the incident.
pub(super) fn next_reminder(case: &Case<'_>, told: &Told) -> Option<DateTime<Utc>> {
    let incident = case.incident;
    let reminds = told.is_open()
        && !case.is_acknowledged
        && !incident.key.is_told_once()
        && !told.by_first_mail
        && told.reminders < REMINDERS;
    let every = case.settings.remind_every.get(&incident.severity).filter(|_| reminds)?;
    told.at.checked_add_signed(Duration::from_std(*every).ok()?)
}

fn reminder(case: &Case<'_>, told: &Told) -> Due {
    match next_reminder(case, told).filter(|_| case.role == Role::To) {
        _ if case.is_acknowledged => nothing(Why::Acknowledged),
        Some(at) if at <= case.now => {
            let count = told.reminders + 1;
            Due::Tell(Event::Reminder(count), Cause::Reminder { count, most: REMINDERS })
        }
        at => Due::Nothing(Why::Told, at),
    }
}

/// The recipient's knowledge after a mail about `event`.
#[allow(clippy::wildcard_enum_match_arm)] // the others all say that it is wrong
pub(super) fn told_after(case: &Case<'_>, before: &Told, event: &Event, message_id: &str) -> Told {
    let incident = case.incident;
    // The clock may have been set back since the report that the mail is about; the report counts all the same.
    let now =
        case.cut_off.and_then(|cut_off| cut_off.read_at).map_or(case.now, |read_at| read_at.max(case.now));
    let mut told = before.clone();
    let goes_on = told.is_open() && incident.key.kind == Kind::Disconnect;
    let is_same = told.episode == incident.episode || goes_on;
    if event.is_end() {
        (told.what, told.episode, told.at) = (What::Over, incident.episode, now);
        // A cut-off that is watched again begins anew.
        told.money = if *event == Event::Unwatched { Money::default() } else { told.money.after_the_end() };
        told.money.resolved_at = (*event == Event::Resolved).then_some(now);
        return told;
    }
    let is_beginning = !(is_same && told.is_open());
    match event {
        Event::Reminder(count) => (told.reminders, told.at) = (*count, now),
        _ => (told.what, told.at) = (What::Wrong, now),
    }
    if is_beginning {
        // Others are told this long after it was first owed.
        told.began = case.entry.owed.as_ref().map_or(now, |owed| owed.since);
        told.reminders = 0;
        told.by_first_mail = false;
        told.thread = Some(message_id.to_owned());
    }
    told.by_first_mail |= *event == Event::Started;
    told.episode = incident.episode;
    // The same collector or severity is told once a day.
    let goes_on = !is_beginning && now - before.at < DAY;
    let is_of_collectors = matches!(incident.value, Value::Failing(_));
    let worst = before.severity.filter(|_| goes_on && is_of_collectors);
    told.severity = worst.max(Some(incident.severity));
    told.set = set(&incident.value);
    told.set.extend(before.set.iter().filter(|_| goes_on).cloned());
    if incident.key.kind == Kind::Disconnect {
        money::told_after(case, event, message_id, is_beginning, &mut told);
    }
    told
}
