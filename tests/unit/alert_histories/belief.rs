//! Two bounds for each incident that an outsider concludes from readings only: it may be wrong, and it may be
//! over.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{Key, Kind};
use crate::model::Collector;
use chrono::{DateTime, Duration, Utc};

use super::evidence::{Evidence, Sign};

/// Four changes within an hour are flapping; one of them may have been missed here.
const FLAPPING: usize = 3;
const QUIET: Duration = Duration::minutes(31);
const FAILING_AFTER: Duration = Duration::minutes(15);

/// Everything concluded so far.
pub struct Belief {
    confirm: u32,
    recover: u32,
    all: BTreeMap<Key, Maybe>,
    /// Collectors whose polls fail, with the earliest and the latest possible beginning.
    failing: BTreeMap<Collector, (DateTime<Utc>, Option<DateTime<Utc>>)>,
    /// Collectors that were seen to fail, and were not seen to work since.
    surely_failing: BTreeSet<Collector>,
    /// One of them has failed for long, and some still fail.
    is_blind: bool,
    now: DateTime<Utc>,
}

/// One incident.
#[derive(Clone, Debug)]
pub struct Maybe {
    /// Readings in a row: the greatest and the least possible number.
    bad: (u32, u32),
    good: (u32, u32),
    bad_since: DateTime<Utc>,
    /// The time since which it was seen right often enough, without a failed poll or a sleep.
    good_since: DateTime<Utc>,
    /// A poll failed, or a start or a sleep came, since the last reading: only time between readings is good.
    was_blind: bool,
    pub may_be_open: bool,
    pub may_be_over: bool,
    /// The last time at which it may have been over; now if it still may be.
    over_until: Option<DateTime<Utc>>,
    /// The same for open.
    open_until: Option<DateTime<Utc>>,
    /// The same for open without a silence.
    pub heard_until: Option<DateTime<Utc>>,
    /// The time since which a mail about its beginning may be due: it may be open, and was not silenced then.
    pub owed_since: Option<DateTime<Utc>>,
    /// It began under a silence, and an earlier episode was open without one: the end of the earlier one and
    /// the beginning of this one.
    pub settles: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// The time since which it may be over without interruption.
    pub over_since: DateTime<Utc>,
    looked_bad: bool,
    /// The times at which readings changed from right to wrong or back.
    turns: Vec<DateTime<Utc>>,
    may_flap: bool,
}

impl Maybe {
    fn new(now: DateTime<Utc>) -> Self {
        Self {
            bad: (0, 0),
            good: (0, 0),
            bad_since: now,
            good_since: now,
            was_blind: false,
            may_be_open: false,
            may_be_over: true,
            over_until: Some(now),
            open_until: None,
            heard_until: None,
            owed_since: None,
            settles: None,
            over_since: now,
            looked_bad: false,
            turns: Vec::new(),
            may_flap: false,
        }
    }

    fn take(&mut self, sign: Sign, now: DateTime<Utc>) {
        let was_bad = self.bad.0 > 0;
        match sign {
            Sign::Bad => (self.bad, self.good) = ((self.bad.0 + 1, self.bad.1 + 1), (0, 0)),
            Sign::Good => (self.good, self.bad) = ((self.good.0 + 1, self.good.1 + 1), (0, 0)),
            Sign::PerhapsBad => (self.bad, self.good.1) = ((self.bad.0 + 1, 0), 0),
            Sign::Perhaps => (self.good, self.bad.1) = ((self.good.0 + 1, 0), 0),
            Sign::GoneTwice => (self.good, self.bad.1) = ((self.good.0 + 2, 0), 0),
            Sign::Other => (self.good.1, self.bad.1) = (0, 0),
        }
        if !was_bad && self.bad.0 > 0 {
            self.bad_since = now;
        }
        let looks_bad = match sign {
            Sign::Bad | Sign::PerhapsBad => true,
            Sign::Good | Sign::Perhaps | Sign::GoneTwice => false,
            Sign::Other => self.looked_bad,
        };
        if std::mem::replace(&mut self.looked_bad, looks_bad) != looks_bad {
            self.turns.retain(|&turn| now - turn < Duration::hours(1));
            self.turns.push(now);
            self.may_flap |= self.turns.len() >= FLAPPING;
        }
    }

    fn set_over(&mut self, may: bool, now: DateTime<Utc>) {
        if may && !self.may_be_over {
            self.over_since = now;
        }
        self.may_be_over = may;
    }

    /// May it have been over at any time since then?
    pub fn may_have_been_over_since(&self, at: DateTime<Utc>) -> bool {
        self.over_until.is_some_and(|until| until >= at)
    }

    fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        [&mut self.bad_since, &mut self.good_since, &mut self.over_since]
            .into_iter()
            .chain(&mut self.over_until)
            .chain(&mut self.open_until)
            .chain(&mut self.heard_until)
            .chain(&mut self.owed_since)
            .chain(self.settles.iter_mut().flat_map(|(until, began)| [until, began]))
            .chain(&mut self.turns)
    }
}

impl Belief {
    pub fn new(confirm: u32, recover: u32, now: DateTime<Utc>) -> Self {
        let (all, failing, surely_failing) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { confirm, recover, all, failing, surely_failing, is_blind: false, now }
    }

    pub fn of(&self, key: &Key) -> Maybe {
        self.all.get(key).cloned().unwrap_or_else(|| Maybe::new(self.now))
    }

    /// Did anything exist since then that may be its cause?
    pub fn may_have_been_explained_since(&self, key: &Key, at: DateTime<Utc>) -> bool {
        let causes = self
            .all
            .iter()
            .filter(|(one, _)| matches!(one.kind, Kind::ContainerDisabled | Kind::Disconnect) && *one != key);
        causes.filter_map(|(_, one)| one.open_until).any(|until| until >= at)
    }

    /// Takes a reading, or only the time. `is_silenced`: its mails are held back now. `is_off`: no rule watches
    /// it.
    pub fn take(
        &mut self,
        evidence: &Evidence,
        is_silenced: impl Fn(&Key) -> bool,
        is_off: impl Fn(&Key) -> bool,
        now: DateTime<Utc>,
    ) {
        self.now = now;
        // A report is read for other reasons too.
        let is_seen = |key: &Key| key.kind == Kind::Disconnect || !is_off(key);
        for (key, &sign) in evidence.iter().filter(|(key, _)| is_seen(key)) {
            if key.kind == Kind::CollectorFailing {
                self.collector(key, sign, now);
                continue;
            }
            // A single report is enough for a cut-off.
            let confirm = if key.kind == Kind::Disconnect { 1 } else { self.confirm };
            let recover = self.recover;
            let one = self.all.entry(key.clone()).or_insert_with(|| Maybe::new(now));
            one.take(sign, now);
            let lasts = now - one.bad_since >= hold(key.kind);
            if one.bad.0 >= confirm && lasts {
                if !one.may_be_open && !is_silenced(key) {
                    one.owed_since.get_or_insert(one.bad_since);
                } else if !one.may_be_open {
                    one.settles = one.heard_until.map(|until| (until, one.bad_since));
                }
                one.may_be_open = true;
            }
            if one.bad.1 >= confirm && is_certain(key.kind) {
                one.set_over(false, now);
            }
            if one.good.0 >= recover {
                one.set_over(true, now);
            }
            if std::mem::take(&mut one.was_blind) || one.good.1 == recover {
                one.good_since = now;
            }
            if one.good.1 >= recover && (!one.may_flap || now - one.good_since >= QUIET) {
                (one.may_be_open, one.may_flap) = (false, false);
            }
        }
        self.collectors(now);
        for (key, one) in &mut self.all {
            if one.may_be_open {
                one.open_until = Some(now);
            } else {
                (one.owed_since, one.settles) = (None, None);
            }
            if one.may_be_open && !is_silenced(key) {
                one.heard_until = Some(now);
                one.owed_since.get_or_insert(now);
            }
            if one.may_be_over {
                one.over_until = Some(now);
            }
        }
    }

    fn collector(&mut self, key: &Key, sign: Sign, now: DateTime<Utc>) {
        let name = key.resource.to_string();
        let collector = Collector::ALL.iter().copied().find(|one| one.as_str() == name).unwrap();
        if matches!(sign, Sign::Bad | Sign::PerhapsBad) {
            let its = self.all.iter_mut().filter(|(key, _)| key.kind.seen_by() == Some(collector));
            its.for_each(|(_, one)| one.was_blind = true);
        }
        match sign {
            Sign::Bad => {
                let (_, since) = self.failing.entry(collector).or_insert((now, None));
                self.is_blind |= now - *since.get_or_insert(now) >= FAILING_AFTER;
                self.surely_failing.insert(collector);
            }
            Sign::PerhapsBad => self.failing.entry(collector).or_insert((now, None)).1 = None,
            Sign::Good | Sign::Perhaps | Sign::GoneTwice => {
                self.failing.remove(&collector);
                self.surely_failing.remove(&collector);
            }
            Sign::Other => {}
        }
        self.is_blind &= !self.surely_failing.is_empty();
    }

    /// One incident stands for all failing collectors.
    fn collectors(&mut self, now: DateTime<Utc>) {
        let key = Key::account_wide(&super::name(), Kind::CollectorFailing);
        let one = self.all.entry(key).or_insert_with(|| Maybe::new(now));
        let lasts = self.failing.values().any(|(since, _)| now - *since >= FAILING_AFTER);
        one.may_be_open |= lasts;
        one.set_over(!self.is_blind, now);
    }

    /// Something of these kinds is no longer watched.
    pub fn retire(&mut self, is_off: impl Fn(&Key) -> bool, now: DateTime<Utc>) {
        for (_, one) in self.all.iter_mut().filter(|(key, _)| is_off(key)) {
            one.set_over(true, now);
            (one.over_until, one.bad.1, one.good.1) = (Some(now), 0, 0);
        }
    }

    /// The clock was set: no remembered time may be in the future.
    pub fn wakes(&mut self, now: DateTime<Utc>) {
        self.all.values_mut().for_each(|one| one.was_blind = true);
        let of_all = self.all.values_mut().flat_map(Maybe::moments);
        // The duration of a failure is counted from the first reading after it.
        self.failing.values_mut().for_each(|(_, since)| *since = None);
        let of_failing = self.failing.values_mut().map(|(since, _)| since);
        of_all.chain(of_failing).filter(|at| **at > now).for_each(|at| *at = now);
    }
}

/// The time for which it has to last.
fn hold(kind: Kind) -> Duration {
    match kind {
        Kind::VmStuck | Kind::SiteStuck => Duration::minutes(30),
        Kind::VmStopped => Duration::minutes(10),
        _ => Duration::zero(),
    }
}

/// It opens as soon as it was seen wrong often enough, independent of other readings.
fn is_certain(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::VmError | Kind::VmBlocked | Kind::SiteError | Kind::SiteBlocked | Kind::OrderSuspended
    )
}
