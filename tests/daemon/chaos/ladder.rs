//! The contract's rules for the mails about a cut-off, written a second time and more simply. They lead from
//! the facts in reports, and the mails to one recipient, to the event that is due. All of it happens within an
//! hour.

use std::collections::HashSet;

use chrono::{Days, Duration, NaiveTime, TimeDelta};

use super::book::Told;
use super::history::{History, Moment};

/// The default days that a payment takes.
const LEAD: i64 = 3;
/// The days that the balance lasts where no cut-off is ahead.
const PLENTY: u32 = 200;
/// The rung of `LEAD` + 1 days always exists.
const RUNGS: [i64; 5] = [14, 7, LEAD + 1, 3, 1];
/// The time from the moment at which an event is due to the writing of its mail after another mail delayed it.
const SLACK: TimeDelta = TimeDelta::seconds(2);

/// The moment at which a date comes within a rung. The rung of `LEAD` + 1 days begins with the last safe day if
/// that is earlier. That is the last day that ends `LEAD` times 24 hours before the cut-off. All accounts are
/// in UTC.
fn crossed(rung: i64, edd: Moment) -> Moment {
    let at = edd - Duration::days(rung);
    let pay_by = (edd - Duration::days(LEAD)).date_naive() - Days::new(1);
    if rung == LEAD + 1 { at.min(pay_by.and_time(NaiveTime::MIN).and_utc()) } else { at }
}

/// The facts in reports from a moment on, and the time at which the daemon had surely read one.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    pub what: What,
    pub from: Moment,
    pub to: Moment,
}

#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A date; the balance lasts for this number of days.
    Date { edd: Moment, lasts: u32 },
    /// No date, often enough to count.
    Clear,
    /// The balance is used up, and the account is cut off.
    UsedUp,
}

/// The belief, and the knowledge of one recipient.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct State {
    edd: Option<Moment>,
    is_off: bool,
    is_open: bool,
    /// The longest time that the balance lasted; `None` before the first report.
    longest: Option<u32>,
    /// Since the recipient's last mail a payment moved the date, or an episode began.
    paid: bool,
    missed: bool,
    /// The recipient knows that it is open; the date and the rung of its last mail, and its other mails in these
    /// 24 hours.
    knows: bool,
    date: Option<Moment>,
    rung: Option<i64>,
    tightest: Option<i64>,
    told_extended: bool,
    told_paid: bool,
    told_resolved: bool,
}

impl State {
    /// Processes a report. There are two ways if it may or may not show a payment, since a start forgets
    /// earlier reports.
    fn sees(&self, Fact { what, from, .. }: Fact, is_restarted: bool) -> Vec<Self> {
        let mut next = self.clone();
        next.missed |= self.is_open && !self.knows;
        let lasts = match what {
            What::Clear => PLENTY,
            What::UsedUp => 0,
            What::Date { lasts, .. } => lasts,
        };
        let rose = self.longest.is_some_and(|longest| lasts > longest);
        next.longest = self.longest.max(Some(lasts));
        if rose {
            next.tightest = None;
            (next.told_extended, next.told_paid, next.told_resolved) = (false, false, false);
        }
        match what {
            What::Clear => {
                (next.edd, next.is_off, next.is_open) = (None, false, false);
                next.paid = false;
            }
            What::UsedUp => (next.is_off, next.is_open) = (true, true),
            What::Date { edd, .. } => {
                if self.is_open && self.edd.is_some_and(|before| edd > before) {
                    let paid = Self { edd: Some(edd), paid: true, ..next.clone() };
                    return match (rose, is_restarted) {
                        (true, _) => vec![paid],
                        (false, true) => vec![next, paid],
                        // A later date counts once it has held for an hour.
                        (false, false) => vec![next],
                    };
                }
                next.edd = Some(edd);
                next.is_open |= next.current(from).is_some();
            }
        }
        vec![next]
    }

    /// Its account was taken out of the configuration: what is watched has no earlier reports then.
    fn anew(&self) -> Self {
        Self { longest: None, edd: None, is_off: false, is_open: false, ..self.clone() }
    }

    fn current(&self, now: Moment) -> Option<i64> {
        let within = |edd: Moment| RUNGS.into_iter().filter(|&rung| now >= crossed(rung, edd)).min();
        if self.is_off { Some(0) } else { self.edd.and_then(within) }
    }

    fn due(&self, now: Moment) -> Option<String> {
        if !self.is_open {
            // The end of a cut-off that was ahead is mailed once in 24 hours.
            let waits = self.told_resolved && self.rung != Some(0);
            let over =
                if self.knows { (!waits).then_some("resolved") } else { self.missed.then_some("was-down") };
            return over.map(str::to_owned);
        }
        let current = self.current(now);
        let is_tighter = |current: i64| self.rung.is_none_or(|told| current < told);
        if current == Some(0) {
            return is_tighter(0).then(|| "rung:0".to_owned());
        }
        let edd = self.edd?;
        let date = edd.date_naive();
        // After a watch that began anew a payment may move the date to one that is no later than the recipient's.
        let is_later = self.rung == Some(0) || self.date.is_none_or(|before| edd > before);
        if self.knows && self.paid && is_later {
            return (!self.told_paid).then(|| format!("paid:{date}"));
        }
        let is_behind =
            |told: i64| if told == 0 { true } else { now < crossed(told, edd) - Duration::days(1) };
        if self.knows && self.rung.is_some_and(is_behind) {
            return (!self.told_extended).then(|| format!("extended:{date}"));
        }
        let current = current?;
        if is_tighter(current) {
            let is_free = self.tightest.is_none_or(|tightest| current < tightest);
            return is_free.then(|| format!("rung:{current}"));
        }
        None
    }

    fn told(&self, event: &str, now: Moment) -> Self {
        let date = self.edd.filter(|_| !self.is_off);
        let mut next = Self { paid: false, missed: false, knows: true, date, ..self.clone() };
        match event.split_once(':') {
            Some(("rung", rung)) => {
                next.rung = rung.parse().ok();
                next.tightest = self.tightest.into_iter().chain(next.rung).min();
            }
            Some(("paid", _)) => (next.told_paid, next.rung) = (true, self.current(now)),
            Some(_) => (next.told_extended, next.rung) = (true, self.current(now)),
            // Its end, or the end of watching.
            None => {
                (next.knows, next.date, next.rung, next.tightest) = (false, None, None, None);
                (next.told_extended, next.told_paid) = (false, false);
                next.told_resolved = event == "resolved";
            }
        }
        next
    }
}

/// Searches for a way from the facts to the mails.
pub struct Search<'a> {
    pub facts: &'a [Fact],
    pub told: &'a [Told],
    /// Mails that the daemon may think to have arrived.
    pub perhaps: &'a [Told],
    pub history: &'a History,
    /// Whether a mail may have arrived without the daemon's knowledge.
    pub is_doubtful: &'a dyn Fn(&Told) -> bool,
    /// The highest number of mails that a way explained, the fact at which it ended, and the event that was due
    /// there.
    pub best: (usize, usize, Option<String>),
    failed: HashSet<(usize, usize, State)>,
}

impl<'a> Search<'a> {
    pub fn new(
        facts: &'a [Fact],
        told: &'a [Told],
        perhaps: &'a [Told],
        history: &'a History,
        is_doubtful: &'a dyn Fn(&Told) -> bool,
    ) -> Self {
        Self { facts, told, perhaps, history, is_doubtful, best: (0, 0, None), failed: HashSet::new() }
    }

    /// Whether every mail was due, and every due event was mailed.
    pub fn succeeds(&mut self) -> bool {
        self.goes_on(0, 0, &State { longest: Some(PLENTY), ..State::default() })
    }

    /// Continues before the fact `at` and the mail `next`.
    fn goes_on(&mut self, at: usize, next: usize, state: &State) -> bool {
        let Some(fact) = self.facts.get(at) else { return next == self.told.len() };
        let kills = &self.history.kills;
        let is_restarted = kills.iter().any(|(killed, _)| *killed <= fact.to);
        let since = at.checked_sub(1).map_or(Moment::MIN_UTC, |before| self.facts[before].from);
        let mut states = vec![state.clone()];
        if self.history.away.iter().any(|away| (since..fact.to).contains(away)) {
            states.push(state.anew());
        }
        let next_states: Vec<State> =
            states.iter().flat_map(|state| state.sees(*fact, is_restarted)).collect();
        next_states.iter().any(|state| self.holds(at, next, state))
    }

    /// Continues while the fact `at` holds.
    fn holds(&mut self, at: usize, next: usize, state: &State) -> bool {
        if !self.failed.insert((at, next, state.clone())) {
            return false;
        }
        let (fact, history) = (self.facts[at], self.history);
        let until = self.facts.get(at + 1).map_or(Moment::MAX_UTC, |fact| fact.to);
        let due = state.due(fact.from);
        if next > self.best.0 {
            self.best = (next, at, due.clone());
        }
        if let Some(told) = self.told.get(next).filter(|told| told.until() > fact.from) {
            let is_while = until == Moment::MAX_UTC || told.date <= until + SLACK;
            let was_away = history.away.iter().any(|from| told.until() > *from);
            let is_late = told.date > fact.to + SLACK;
            let may_be_late = was_away || history.troubled(fact.from, told.until());
            let before = next.checked_sub(1).map(|before| &self.told[before]);
            let is_again = before.is_some_and(|one| one.event == told.event && (self.is_doubtful)(one));
            if is_while && (is_again && self.holds(at, next + 1, state)) {
                return true;
            }
            // An end that waits for its day is told when the account leaves the configuration.
            let is_over = told.event == "resolved" && !state.is_open;
            let is_end = (told.event == "unwatched" || is_over) && was_away && state.knows;
            let is_it = |due: &String| *due == told.event && (!is_late || may_be_late);
            let event = if is_end { Some(&told.event) } else { due.as_ref().filter(|due| is_it(due)) };
            if let Some(event) = event.filter(|_| is_while)
                && self.holds(at, next + 1, &state.told(event, fact.from))
            {
                return true;
            }
        }
        let mut away = history.away.iter().filter(|from| (fact.from..until).contains(from));
        let is_away = away.clone().next().is_some();
        let is_after = |from: &Moment| self.told.get(next).is_none_or(|told| told.until() > *from);
        // The fact may be read once more when its account is watched again.
        if away.any(is_after)
            && state.anew().sees(fact, false).iter().any(|again| self.holds(at, next, again))
        {
            return true;
        }
        let Some(due) = due else { return self.goes_on(at + 1, next, state) };
        // The last fact is mailed, whatever the obstacles.
        let is_last = at + 1 == self.facts.len();
        let is_within = |one: &Told| one.until() > fact.from && one.date <= until;
        let is_perhaps_told = history.doubted(fact.from, until)
            || self.perhaps.iter().any(|one| one.event == due && is_within(one));
        let is_replaced = is_away || history.troubled(fact.from, until);
        (is_perhaps_told && self.goes_on(at + 1, next, &state.told(&due, fact.from)))
            || (is_replaced && !is_last && self.goes_on(at + 1, next, state))
    }
}
