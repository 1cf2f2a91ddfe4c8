//! Decides which of three clocks is right: the wall clock, which people and programs set; the steady clock,
//! which only runs; or the provider's, by the dates of its answers. Pure: their readings are arguments.
//!
//! A provider's date decides if it differs from the wall clock by more than an hour. A date that falls behind
//! the steady clock comes from a stored or frozen answer and does not count. A date that has jumped, in either
//! direction, is believed once it has run on for a while.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

/// A difference from here on is reported.
const DIFFER: TimeDelta = TimeDelta::minutes(5);
/// From this difference on the provider's clock decides. A wall clock that jumps by more was set.
const DECIDES: TimeDelta = TimeDelta::hours(1);
/// A wall clock that was set is not followed for this long, unless the provider confirms it.
const UNSURE: TimeDelta = TimeDelta::minutes(2);
/// The time that a jumped date has to run on.
const PROVES_ITSELF: TimeDelta = TimeDelta::minutes(5);
/// The longest time that answers are under way or stored.
const UNSTEADY: TimeDelta = TimeDelta::minutes(2);

/// The knowledge about the clocks.
#[derive(Debug)]
pub(super) struct Belief {
    /// The difference between wall clock and steady clock, as last believed.
    wall_ahead: TimeDelta,
    /// The correction that is added to the wall clock.
    correction: TimeDelta,
    /// The time, by the steady clock, at which the wall clock was found to be set.
    set_at: Option<TimeDelta>,
    hosts: BTreeMap<String, Host>,
    /// A moment that has surely passed.
    lived_until: Option<DateTime<Utc>>,
}

/// The dates of one host.
#[derive(Debug, Default)]
struct Host {
    /// The greatest difference between its dates and the steady clock.
    ahead: Option<TimeDelta>,
    /// A date that has jumped: the time by the steady clock, and the difference.
    jumped: Option<(TimeDelta, TimeDelta)>,
    /// The difference between the wall clock and this host's dates.
    difference: Option<TimeDelta>,
}

impl Belief {
    /// No host has answered yet.
    pub(super) fn new(wall: DateTime<Utc>, steady: TimeDelta) -> Self {
        Self {
            wall_ahead: since_epoch(wall) - steady,
            correction: TimeDelta::zero(),
            set_at: None,
            hosts: BTreeMap::new(),
            lived_until: None,
        }
    }

    /// Sets a moment that has surely passed. Earlier dates are not believed at once.
    pub(super) fn has_lived_until(&mut self, moment: DateTime<Utc>) {
        self.lived_until = Some(moment);
    }

    /// The time. A wall clock that was set is followed once the provider confirms it, or after a while.
    pub(super) fn now(&mut self, wall: DateTime<Utc>, steady: TimeDelta) -> DateTime<Utc> {
        let wall_ahead = since_epoch(wall) - steady;
        if (wall_ahead - self.wall_ahead).abs() <= DECIDES {
            (self.wall_ahead, self.set_at) = (wall_ahead, None);
        } else if steady - *self.set_at.get_or_insert(steady) >= UNSURE {
            *self = Self { hosts: std::mem::take(&mut self.hosts), ..Self::new(wall, steady) };
            self.forget_differences();
        }
        let now = self.wall_ahead + self.correction + steady;
        DateTime::UNIX_EPOCH.checked_add_signed(now).unwrap_or(wall)
    }

    /// Takes in the date of an answer of this host.
    pub(super) fn heard(&mut self, host: &str, date: DateTime<Utc>, wall: DateTime<Utc>, steady: TimeDelta) {
        let ours = self.now(wall, steady);
        let agrees = [ours, wall].into_iter().any(|clock| (date - clock).abs() <= DIFFER);
        let is_past = self.lived_until.is_some_and(|moment| date < moment - DECIDES);
        let known = self.hosts.entry(host.to_owned()).or_default();
        if !known.believes(since_epoch(date) - steady, agrees, is_past, steady) {
            return;
        }
        let wall_ahead = since_epoch(wall) - steady;
        if (wall_ahead - self.wall_ahead).abs() > DIFFER {
            self.forget_differences();
        }
        let ahead = self.wall_ahead + self.correction;
        (self.wall_ahead, self.set_at) = (wall_ahead, None);
        if let Some(known) = self.hosts.get_mut(host) {
            known.difference = Some(wall - date);
        }
        let difference = self.difference().unwrap_or_default();
        if difference.abs() <= DECIDES {
            self.correction = TimeDelta::zero();
            return;
        }
        // Dates are in whole seconds, and answers are under way for a while: a date is late rather than early. A time
        // that fell back with each answer would repeat the ticks of schedules.
        let falls_back = ahead - (wall_ahead - difference);
        let is_late = !self.correction.is_zero() && (TimeDelta::zero()..=UNSTEADY).contains(&falls_back);
        self.correction = if is_late { ahead - wall_ahead } else { -difference };
    }

    /// The difference between the wall clock and the provider's, if they differ. Of several providers the one
    /// with the least difference counts.
    fn difference(&self) -> Option<TimeDelta> {
        let differences = self.hosts.values().filter_map(|host| host.difference);
        differences.min_by_key(TimeDelta::abs).filter(|difference| difference.abs() > DIFFER)
    }

    /// The difference in whole minutes. True if the provider's clock decides.
    pub(super) fn difference_to_say(&self) -> Option<(TimeDelta, bool)> {
        let minutes = self.difference()?.num_minutes();
        Some((TimeDelta::minutes(minutes), !self.correction.is_zero()))
    }

    /// Whether the time is certain. Either the provider answered, or it was waited for and the wall clock is
    /// not before a moment that has passed. And the wall clock was not set since.
    pub(super) fn is_sure(&self, steady: TimeDelta) -> bool {
        let heard = self.hosts.values().any(|host| host.ahead.is_some());
        let now = DateTime::UNIX_EPOCH.checked_add_signed(self.wall_ahead + steady);
        let is_past = self.lived_until.is_some_and(|moment| now < Some(moment - DECIDES));
        !self.is_doubted() && (heard || (steady >= UNSURE && !is_past))
    }

    /// Whether the wall clock was set, no provider confirmed it, and it is not followed yet.
    pub(super) fn is_doubted(&self) -> bool {
        self.set_at.is_some()
    }

    fn forget_differences(&mut self) {
        for host in self.hosts.values_mut() {
            host.difference = None;
        }
    }
}

impl Host {
    /// Whether a date with this difference to the steady clock is the time. `agrees`: with one of our clocks.
    /// `is_past`: the daemon's time is already beyond it.
    fn believes(&mut self, ahead: TimeDelta, agrees: bool, is_past: bool, steady: TimeDelta) -> bool {
        let runs_on = match self.ahead {
            Some(before) => (ahead - before).abs() <= DIFFER,
            None => !is_past,
        };
        if runs_on || agrees {
            self.ahead = self.ahead.max(Some(ahead));
            self.jumped = None;
            return true;
        }
        match self.jumped {
            Some((since, before)) if (ahead - before).abs() <= UNSTEADY => {
                let proved = steady - since >= PROVES_ITSELF;
                if proved {
                    (self.ahead, self.jumped) = (Some(ahead), None);
                }
                proved
            }
            _ => {
                self.jumped = Some((steady, ahead));
                false
            }
        }
    }
}

fn since_epoch(moment: DateTime<Utc>) -> TimeDelta {
    moment - DateTime::UNIX_EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap() + TimeDelta::minutes(minutes)
    }

    const DAY: i64 = 24 * 60;

    /// All in minutes: the shift of the wall clock by then, the time on the steady clock, the date in an answer
    /// (if one comes), and the expected time.
    type Step = (i64, i64, Option<i64>, i64);

    fn lives(name: &str, steps: &[Step]) -> Belief {
        let mut belief = Belief::new(at(steps[0].0), TimeDelta::zero());
        for &(set, steady, date, want) in steps {
            let (wall, ran) = (at(set + steady), TimeDelta::minutes(steady));
            if let Some(date) = date {
                belief.heard("a.example", at(date), wall, ran);
            }
            assert_eq!(belief.now(wall, ran), at(want), "{name}, after {steady} min");
        }
        belief
    }

    #[test]
    fn the_right_clock_is_found() {
        let table: &[(&str, &[Step])] = &[
            ("nobody is heard", &[(0, 0, None, 0), (0, 9, None, 9)]),
            ("they agree", &[(0, 0, Some(1), 0), (0, 10, Some(10), 10)]),
            ("less than an hour apart", &[(50, 0, Some(0), 50)]),
            ("wrong from the start", &[(10 * DAY, 0, Some(0), 0), (10 * DAY, 60, Some(60), 60)]),
            ("behind from the start", &[(-10 * DAY, 0, Some(0), 0)]),
            (
                "set ahead: held until heard",
                &[(0, 0, Some(0), 0), (DAY, 1, None, 1), (DAY, 1, Some(1), 1), (DAY, 9, None, 9)],
            ),
            (
                "set ahead, nobody heard",
                &[(0, 0, None, 0), (DAY, 1, None, 1), (DAY, 2, None, 2), (DAY, 3, None, DAY + 3)],
            ),
            (
                "set, and put right",
                &[(0, 0, Some(0), 0), (DAY, 1, Some(1), 1), (0, 2, None, 2), (0, 3, Some(3), 3)],
            ),
            (
                "slept: the steady clock stood",
                &[(0, 0, Some(0), 0), (DAY, 1, None, 1), (DAY, 1, Some(DAY + 1), DAY + 1)],
            ),
            (
                "the date stands still",
                &[
                    (0, 0, Some(0), 0),
                    (0, 4 * DAY, Some(0), 4 * DAY),
                    (0, 4 * DAY + 4, Some(0), 4 * DAY + 4),
                    (0, 4 * DAY + 9, Some(0), 4 * DAY + 9),
                ],
            ),
            ("one date of 2100", &[(0, 0, Some(0), 0), (0, 1, Some(70 * 365 * DAY), 1), (0, 2, Some(2), 2)]),
            (
                "a date that jumped and runs on",
                &[
                    (0, 0, Some(0), 0),
                    (0, 1, Some(DAY + 1), 1),
                    (0, 4, Some(DAY + 4), 4),
                    (0, 6, Some(DAY + 6), DAY + 6),
                ],
            ),
        ];
        for (name, steps) in table {
            lives(name, steps);
        }
    }

    #[test]
    fn a_date_from_the_past_is_not_believed() {
        for (lived_until, want) in [(30, -DAY), (DAY, 0)] {
            let mut belief = Belief::new(at(0), TimeDelta::zero());
            belief.has_lived_until(at(lived_until - DAY));
            belief.heard("a.example", at(-DAY), at(0), TimeDelta::zero());
            assert_eq!(belief.now(at(0), TimeDelta::zero()), at(want), "{lived_until}");
        }
    }

    #[test]
    fn a_clock_before_the_last_known_time_is_never_sure_by_itself() {
        for (lived_until, want) in [(30, true), (DAY, false)] {
            let mut belief = Belief::new(at(0), TimeDelta::zero());
            belief.has_lived_until(at(lived_until));
            assert_eq!(belief.is_sure(UNSURE), want, "{lived_until}");
            belief.heard("a.example", at(lived_until), at(0), UNSURE);
            assert!(belief.is_sure(UNSURE));
        }
    }

    #[test]
    fn of_several_providers_one_that_agrees_is_enough() {
        let mut belief = Belief::new(at(0), TimeDelta::zero());
        belief.heard("a.example", at(-DAY), at(0), TimeDelta::zero());
        assert_eq!(belief.now(at(0), TimeDelta::zero()), at(-DAY));
        belief.heard("b.example", at(0), at(0), TimeDelta::zero());
        assert_eq!(belief.now(at(0), TimeDelta::zero()), at(0));
        assert_eq!(belief.difference_to_say(), None);
    }

    #[test]
    fn dates_in_whole_seconds_never_set_the_time_back() {
        let steady = |millis| TimeDelta::milliseconds(millis);
        let mut belief = Belief::new(at(-DAY), steady(0));
        let mut before = DateTime::UNIX_EPOCH;
        for millis in (0..20_000).step_by(300) {
            let (wall, whole) = (at(-DAY) + steady(millis), at(0) + TimeDelta::seconds(millis / 1000));
            belief.heard("a.example", whole, wall, steady(millis));
            let now = belief.now(wall, steady(millis));
            assert!(now > before, "{now} after {before}");
            before = now;
        }
        assert!((before - at(0) - steady(19_800)).abs() <= TimeDelta::seconds(1), "{before}");
        // A provider that was far ahead is followed back.
        let (wall, ran) = (at(-DAY) + steady(20_000), steady(20_000));
        belief.heard("a.example", at(-4), wall, ran);
        assert_eq!(belief.now(wall, ran), at(-4));
    }

    #[test]
    fn a_difference_is_named() {
        let table = [(4, None), (20, Some(false)), (-95, Some(true)), (10 * DAY, Some(true))];
        for (set, want) in table {
            let mut belief = Belief::new(at(set), TimeDelta::zero());
            assert!(!belief.is_sure(TimeDelta::zero()) && belief.is_sure(UNSURE));
            belief.heard("a.example", at(0), at(set), TimeDelta::zero());
            assert!(belief.is_sure(TimeDelta::zero()));
            let want = want.map(|decides| (TimeDelta::minutes(set), decides));
            assert_eq!(belief.difference_to_say(), want);
            belief.now(at(set + 2 * DAY), TimeDelta::zero());
            assert!(!belief.is_sure(UNSURE), "it was set since");
        }
    }
}
