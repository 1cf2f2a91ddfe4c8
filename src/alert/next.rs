//! What is mailed next about an incident, if nothing changes meanwhile: for people who ask. Decides nothing; the rules
//! are those by which it is decided. Pure.

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;

use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Kind, Severity};
use super::ladder::Ladder;
use super::overdue::{ReminderPlan, days};
use super::settings::{AlertSettings, Watcher};
use super::silence::{Ack, Muted};

/// What kept changing is stable after so long.
pub(super) const FLAPPING_QUIET: Duration = Duration::minutes(30);
/// After these the digest speaks of it.
pub(super) const REMINDERS: u32 = 3;

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The configuration does not have its account.
    AccountGone,
    /// Its rule is switched off.
    RuleOff,
    /// Nobody is named who is mailed.
    Nobody,
    /// Nothing looks at it any more.
    Unwatched,
    /// It is over.
    Over,
    /// It has to be seen so often in a row first.
    Confirmation(u32),
    /// That incident's mails speak of it.
    Covered(Key),
    /// What is due after its end; `None` where nothing is.
    Silenced {
        until: DateTime<Utc>,
        then: Option<DateTime<Utc>>,
    },
    Acknowledged,
    Reminder(DateTime<Utc>),
    /// It keeps changing: not before then, and then only if it stays as it is.
    Stable(DateTime<Utc>),
    /// The step so many days before the cut-off.
    Rung(u32, DateTime<Utc>),
    /// The account is still cut off, or its data are about to be deleted.
    Overdue(DateTime<Utc>),
    /// Nothing is known to be due.
    End,
}

/// The mail to those in `escalate_to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Escalation {
    pub at: DateTime<Utc>,
    /// Somebody who acknowledges the incident before then prevents it. Not where the last day comes on which a payment
    /// arrives in time.
    pub ack_prevents: bool,
}

impl Escalation {
    /// When an incident is escalated, if nothing changes meanwhile; not in the future where it is due. Once an episode.
    pub(crate) fn of(
        incident: &Incident,
        settings: &AlertSettings,
        muted: &Muted,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let lasts = incident.phase == Phase::Firing
            && incident.announced
            && incident.folded_into.is_none()
            && !incident.told_unwatched;
        if !lasts || muted.silence(incident, now).is_some() || !is_open_to(incident, settings) {
            return None;
        }
        let at_once = Self::at_once(incident, settings, now);
        if at_once.is_some_and(|due| due.at <= now) {
            return at_once;
        }
        let ignored = incident.severity == Severity::Critical
            && !incident.pre_existing
            && !muted.is_acknowledged(incident, now);
        // Older stores have only the last mail.
        let mailed = incident.critical_mailed.or(incident.last_mailed).filter(|_| ignored);
        let after = Duration::from_std(settings.escalate_after).unwrap_or(Duration::MAX);
        let waited = mailed.and_then(|at| at.checked_add_signed(after));
        let waited = waited.map(|at| Self { at, ack_prevents: true });
        at_once.into_iter().chain(waited).min_by_key(|escalation| escalation.at)
    }

    /// The same of a cut-off: from the last safe day on, acknowledged or not.
    pub(super) fn at_once(incident: &Incident, settings: &AlertSettings, now: DateTime<Utc>) -> Option<Self> {
        let ladder = incident.ladder.as_ref().filter(|_| is_open_to(incident, settings))?;
        Some(Self { at: ladder.near_from(settings.lead_days, now)?, ack_prevents: false })
    }
}

/// It was not escalated yet, and there is somebody to whom it could be.
fn is_open_to(incident: &Incident, settings: &AlertSettings) -> bool {
    !incident.escalated && !settings.escalate_to.is_empty()
}

impl Next {
    /// What follows for an incident of these settings.
    pub(crate) fn of(
        incident: &Incident,
        watcher: Option<&Watcher>,
        muted: &Muted,
        zone: Tz,
        now: DateTime<Utc>,
    ) -> Self {
        let kind = incident.key.kind;
        if let Some(out) = Self::of_kind(kind, watcher) {
            return out;
        }
        let settings = watcher.map(|watcher| watcher.settings.as_ref());
        match incident.phase {
            Phase::Resolved => return Self::Over,
            Phase::Unwatched => return Self::Unwatched,
            Phase::Pending => {
                return Self::Confirmation(settings.map_or(1, |settings| settings.to_confirm()));
            }
            Phase::Watching | Phase::Firing | Phase::Recovering => {}
        }
        if let Some(cause) = &incident.folded_into {
            return Self::Covered(cause.clone());
        }
        let due = Self::unless_silenced(incident, settings, muted, zone, now);
        let Some(silence) = muted.silence(incident, now) else { return due };
        let until = silence.until;
        // What it held back is told at its end; what was told before goes on as it would have.
        let is_held_back = !incident.announced || incident.reason.is_silenced();
        let then = if is_held_back { Some(until) } else { due.at().map(|at| at.max(until)) };
        Self::Silenced { until, then }
    }

    fn unless_silenced(
        incident: &Incident,
        settings: Option<&AlertSettings>,
        muted: &Muted,
        zone: Tz,
        now: DateTime<Utc>,
    ) -> Self {
        if incident.flapping {
            return Self::Stable((incident.last_change + FLAPPING_QUIET).max(now));
        }
        if let (Some(ladder), Some(settings)) = (&incident.ladder, settings) {
            return of_ladder(ladder, settings, zone, muted.acknowledgement(incident, now), now)
                .unwrap_or(Self::End);
        }
        if muted.is_acknowledged(incident, now) {
            return Self::Acknowledged;
        }
        let reminder = settings.and_then(|settings| reminder_at(incident, settings));
        reminder.map_or(Self::End, |at| Self::Reminder(at.max(now)))
    }

    /// When the next mail is due, where a time is known.
    const fn at(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::Reminder(at) | Self::Stable(at) | Self::Rung(_, at) | Self::Overdue(at) => Some(*at),
            Self::Silenced { then, .. } => *then,
            Self::AccountGone
            | Self::RuleOff
            | Self::Nobody
            | Self::Unwatched
            | Self::Over
            | Self::Confirmation(_)
            | Self::Covered(_)
            | Self::Acknowledged
            | Self::End => None,
        }
    }

    /// What the configuration says of a kind, whatever happens.
    pub(crate) fn of_kind(kind: Kind, watcher: Option<&Watcher>) -> Option<Self> {
        match watcher {
            None => Some(Self::AccountGone),
            Some(watcher) if !watcher.settings.enabled(kind) => Some(Self::RuleOff),
            Some(watcher) if watcher.recipients(kind).is_empty() => Some(Self::Nobody),
            Some(_) => None,
        }
    }
}

fn of_ladder(
    ladder: &Ladder,
    settings: &AlertSettings,
    zone: Tz,
    acknowledged: Option<&Ack>,
    now: DateTime<Utc>,
) -> Option<Next> {
    if let Some(overdue) = ladder.overdue.as_ref().filter(|_| ladder.is_overdue(now)) {
        let plan = ReminderPlan {
            deletion_days: settings.deletion_days,
            zone,
            acknowledged: acknowledged.is_some(),
        };
        let until = acknowledged.map(|ack| Ladder::overdue_ack_ends(ack.at));
        let cut_off = ladder.edd.filter(|_| !ladder.gone);
        return overdue.next_due(cut_off, plan, until, now).map(Next::Overdue);
    }
    let edd = ladder.edd?;
    let steps = settings.disconnect_days.iter().copied().chain([0]).map(|rung| (rung, edd - days(rung)));
    steps.filter(|(_, at)| *at > now).min_by_key(|(_, at)| *at).map(|(rung, at)| Next::Rung(rung, at))
}

/// When an open incident is reminded of, unless somebody decided otherwise meanwhile.
pub(super) fn reminder_at(incident: &Incident, settings: &AlertSettings) -> Option<DateTime<Utc>> {
    let every = Duration::from_std(*settings.remind_every.get(&incident.severity)?).ok()?;
    // That a VM is stopped is told once: it may well be meant to be.
    let reminds = !matches!(incident.key.kind, Kind::Disconnect | Kind::VmStopped)
        && incident.phase == Phase::Firing
        && incident.announced
        && !incident.flapping
        && !incident.pre_existing
        && incident.folded_into.is_none()
        && !incident.told_unwatched
        && incident.reminders < REMINDERS;
    incident.last_mailed.filter(|_| reminds)?.checked_add_signed(every)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{Ack, Severity, Silence};

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn open(kind: Kind) -> Incident {
        let mut incident =
            Incident::new(Key::new(&"main".parse().unwrap(), kind, 7), Severity::Critical, now());
        (incident.phase, incident.announced) = (Phase::Firing, true);
        incident.last_mailed = Some(now() - Duration::hours(3));
        incident
    }

    fn watcher() -> Watcher {
        Watcher { settings: AlertSettings::defaults().into(), to: vec!["ops@example.com".to_owned()] }
    }

    fn next(change: impl Fn(&mut Incident, &mut Watcher, &mut Muted)) -> Next {
        let (mut incident, mut watcher, mut muted) = (open(Kind::VmError), watcher(), Muted::default());
        change(&mut incident, &mut watcher, &mut muted);
        Next::of(&incident, Some(&watcher), &muted, Tz::UTC, now())
    }

    #[test]
    fn what_follows_is_what_the_rules_say() {
        let at = now() + Duration::hours(21);
        assert_eq!(next(|_, _, _| ()), Next::Reminder(at));
        assert_eq!(next(|incident, _, _| incident.reminders = REMINDERS), Next::End);
        assert_eq!(next(|incident, _, _| incident.pre_existing = true), Next::End);
        assert_eq!(next(|incident, _, _| incident.phase = Phase::Pending), Next::Confirmation(1));
        assert_eq!(next(|incident, _, _| incident.phase = Phase::Resolved), Next::Over);
        let flaps = |minutes| {
            next(move |incident, _, _| {
                incident.flapping = true;
                incident.last_change = now() - Duration::minutes(minutes);
            })
        };
        assert_eq!(flaps(10), Next::Stable(now() + Duration::minutes(20)));
        assert_eq!(flaps(40), Next::Stable(now()));
        // No reminder of what nobody was told of.
        assert_eq!(next(|incident, _, _| incident.announced = false), Next::End);
        assert_eq!(next(|_, watcher, _| watcher.to.clear()), Next::Nobody);
        let cause = open(Kind::ContainerDisabled).key;
        assert_eq!(
            next(|incident, _, _| incident.folded_into = Some(cause.clone())),
            Next::Covered(cause.clone())
        );
        let ack = |incident: &mut Incident, _: &mut Watcher, muted: &mut Muted| {
            muted.acks.insert(incident.key.clone(), Ack { episode: 0, at: now(), comment: String::new() });
        };
        assert_eq!(next(ack), Next::Acknowledged);
        let silenced = |until: DateTime<Utc>, change: fn(&mut Incident)| {
            next(move |incident, _, muted| {
                change(incident);
                let (pattern, comment) = ("main/*".to_owned(), String::new());
                muted.silences.push(Silence { id: 1, pattern, at: now(), until, comment });
            })
        };
        let (soon, late) = (at - Duration::hours(1), at + Duration::hours(1));
        assert_eq!(silenced(soon, |_| ()), Next::Silenced { until: soon, then: Some(at) });
        assert_eq!(silenced(late, |_| ()), Next::Silenced { until: late, then: Some(late) });
        let untold = silenced(soon, |incident| incident.announced = false);
        assert_eq!(untold, Next::Silenced { until: soon, then: Some(soon) });
        let last = silenced(soon, |incident| incident.reminders = REMINDERS);
        assert_eq!(last, Next::Silenced { until: soon, then: None });
        assert_eq!(Next::of_kind(Kind::ResourceGone, Some(&watcher())), Some(Next::RuleOff));
        assert_eq!(Next::of_kind(Kind::VmError, None), Some(Next::AccountGone));
    }

    #[test]
    fn an_escalation_comes_after_its_time_or_with_the_last_safe_day() {
        let mut settings = AlertSettings::defaults();
        let mut incident = open(Kind::VmError);
        incident.announced = true;
        let mut muted = Muted::default();
        let of = |incident: &Incident, settings: &AlertSettings, muted: &Muted| {
            Escalation::of(incident, settings, muted, now())
        };
        assert_eq!(of(&incident, &settings, &muted), None, "nobody is named");
        settings.escalate_to = vec!["boss@example.com".to_owned()];
        let at = now() + Duration::hours(9);
        assert_eq!(of(&incident, &settings, &muted), Some(Escalation { at, ack_prevents: true }));
        let key = incident.key.clone();
        muted.acks.insert(key, Ack { episode: 0, at: now(), comment: String::new() });
        assert_eq!(of(&incident, &settings, &muted), None, "acknowledged");
        let edd = now() + Duration::hours(5 * 24);
        incident.ladder = Some(Ladder { edd: Some(edd), rung: Some(7), ..Ladder::default() });
        let at = edd - Duration::days(4);
        assert_eq!(of(&incident, &settings, &muted), Some(Escalation { at, ack_prevents: false }));
        incident.escalated = true;
        assert_eq!(of(&incident, &settings, &muted), None, "once an episode");
    }

    #[test]
    fn of_a_cut_off_the_next_step_is_named() {
        let mut incident = open(Kind::Disconnect);
        let of =
            |incident: &Incident| Next::of(incident, Some(&watcher()), &Muted::default(), Tz::UTC, now());
        let edd = now() + Duration::hours(5 * 24);
        incident.ladder = Some(Ladder { edd: Some(edd), rung: Some(7), ..Ladder::default() });
        assert_eq!(of(&incident), Next::Rung(4, edd - Duration::days(4)));
        let edd = now() + Duration::hours(5);
        incident.ladder = Some(Ladder { edd: Some(edd), rung: Some(1), ..Ladder::default() });
        assert_eq!(of(&incident), Next::Rung(0, edd));
    }
}
