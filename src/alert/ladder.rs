//! What is remembered of an account's cut-off between reports: the date, where it stood, what was mailed of it and
//! when. Reports are weighed here; what is to be mailed is decided in `ladder_moves`. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, NaiveDate, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::kind::Severity;
use super::overdue::{Overdue, days};
use super::settings::AlertSettings;
use crate::model::forecast::{BARE, Disconnect};
use crate::model::freshness::is_fresh;
use crate::model::{AccountState, Collector, Money};

/// What the ladder remembers between reports. Older stores lack most of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Ladder {
    /// When the account is cut off, as last known; kept through failed polls.
    pub edd: Option<DateTime<Utc>>,
    /// The last day on which a payment arrives before it.
    pub pay_by: Option<NaiveDate>,
    /// The first moment without money left, where the report gave no date.
    pub computed: bool,
    /// The last report found the balance used up.
    pub used_up: bool,
    /// And it named no date, nor any charge to come: cut off already.
    pub gone: bool,
    /// When the report was read that `edd` and `used_up` come from.
    pub read_at: Option<DateTime<Utc>>,
    /// The tightest rung mailed, in days; 0 is overdue.
    pub rung: Option<u32>,
    /// The date that the last mail gave, and the one that the mail before gave.
    pub told: Option<DateTime<Utc>>,
    pub told_before: Option<DateTime<Utc>>,
    /// When the data are deleted, where the account is cut off and that is known.
    pub deleted_at: Option<DateTime<Utc>>,
    /// Of the last report with charges.
    pub balance: Option<Money>,
    /// Of the last of these that named a date.
    pub dated_balance: Option<Money>,
    /// The highest balance of the last 24 hours, and when it was seen.
    pub highest: Option<(DateTime<Utc>, Money)>,
    /// It rose above its highest since the last report with a date.
    pub rose_above: bool,
    /// A later date that has not held for an hour.
    pub later: Option<LaterDate>,
    /// Where the date stood before it came nearer at a jump, until that is mailed.
    pub fell_from: Option<DateTime<Utc>>,
    /// A payment was seen that no mail told of.
    pub paid: bool,
    /// Since when reports have been without a single charge.
    pub bare_since: Option<DateTime<Utc>>,
    /// `lead_days` as the last mail had it.
    pub lead_days: Option<u32>,
    /// That the balance is used up was mailed.
    pub used_up_told: bool,
    pub overdue: Option<Overdue>,
    pub mailed: Mailed,
    /// The account's zone when a report last named a date.
    pub zone: Option<Tz>,
}

/// When the mails of the last day went out: an account that alternates between two dates is mailed once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Mailed {
    /// By rung, 0 for overdue.
    pub rungs: BTreeMap<u32, DateTime<Utc>>,
    pub extended: Option<DateTime<Utc>>,
    pub used_up: Option<DateTime<Utc>>,
    /// Dates to which payments moved the cut-off, and when that was mailed.
    pub paid: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    /// The same of dates that came nearer.
    pub earlier: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    /// The cut-off that was last mailed as past.
    pub cut_off: Option<DateTime<Utc>>,
    /// The last mail of a rung: whoever acknowledged before is asked again.
    pub last_rung: Option<DateTime<Utc>>,
}

/// A date that moved away, and that nothing explains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LaterDate {
    since: DateTime<Utc>,
    /// Of those seen since then.
    earliest: DateTime<Utc>,
    last: DateTime<Utc>,
}

/// What one report says, as far as the ladder is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub disconnect: Disconnect,
    pub balance: Option<Money>,
    pub used_up: Option<bool>,
    /// It has no charge at all.
    pub bare: bool,
}

/// A date that comes nearer by more than this is mailed even between two rungs.
const JUMP: Duration = Duration::days(3);
/// A later date counts once it has held so long, where no payment explains it.
const HOLD: Duration = Duration::hours(1);
/// A date that is no farther ahead may be that of the next charge.
const NEXT_CHARGE: Duration = Duration::days(1);
/// Two zones are at most so far apart.
const ZONES_APART: Duration = Duration::hours(26);
/// The same thing is not mailed twice within this, unless the balance rose above its highest of that time.
pub(super) const ONCE_IN: Duration = Duration::hours(24);
/// An acknowledgement of an overdue account ends after this.
const OVERDUE_ACK: Duration = Duration::days(3);

impl Ladder {
    /// Past its date, or nothing left on the account and no date known.
    pub(crate) fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        self.gone || self.edd.map_or(self.used_up, |edd| edd <= now)
    }

    /// When the account is cut off, as last known.
    pub(crate) fn disconnect(&self) -> Disconnect {
        match self.edd.filter(|_| !self.gone) {
            Some(at) => Disconnect::At { at, computed: self.computed },
            None if self.gone || self.used_up => Disconnect::Now,
            None => Disconnect::Unknown,
        }
    }

    /// The rung that the date is on at `now`: the tightest of `rungs` (days) that holds it.
    pub(crate) fn current_rung(&self, rungs: &[u32], now: DateTime<Utc>) -> Option<u32> {
        if self.is_overdue(now) {
            return Some(0);
        }
        let left = self.edd? - now;
        rungs.iter().copied().filter(|&rung| left <= days(rung)).min()
    }

    /// From the last day on which a payment still arrives.
    pub(super) fn is_near(&self, lead_days: u32, now: DateTime<Utc>) -> bool {
        self.near_from(lead_days, now).is_some_and(|at| at <= now)
    }

    /// When that day begins, or began.
    pub(super) fn near_from(&self, lead_days: u32, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let begins = self.edd.map(|edd| edd - days(lead_days + 1));
        if self.is_overdue(now) { Some(begins.map_or(now, |at| at.min(now))) } else { begins }
    }

    /// How bad it is at `now`, whatever was mailed: as the step that the date is on, and no problem above the first.
    pub(crate) fn standing(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Severity {
        self.by_rung(settings, now).unwrap_or(Severity::Info)
    }

    fn by_rung(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Option<Severity> {
        if self.is_near(settings.lead_days, now) || self.used_up {
            return Some(Severity::Critical);
        }
        let rung = self.current_rung(&settings.disconnect_days, now)?;
        Some(rung_severity(rung, settings.lead_days))
    }

    /// The severity of a mail about a date that moved: that of the rung that it is on; beyond all, info at thirty days or
    /// more.
    pub(super) fn severity(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Severity {
        self.by_rung(settings, now).unwrap_or_else(|| match self.edd.map(|edd| edd - now) {
            Some(left) if left >= days(30) => Severity::Info,
            _ => Severity::Warning,
        })
    }

    /// When the report was read that the date comes from, where nothing newer confirms it.
    pub(crate) fn as_of(&self, state: &AccountState, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let collector = Collector::ExpectedBalance;
        let failed = state.collectors.get(&collector).is_none_or(|status| !status.success);
        let old = state.billing.latest().map(|(_, at)| at) != self.read_at;
        let stale = !is_fresh(&state.profile, collector, self.read_at, now);
        self.read_at.filter(|_| failed || old || stale)
    }

    /// No report named the date: it is that of the first charge that leaves nothing.
    fn stands_in(&self) -> bool {
        self.computed && !self.gone
    }

    /// The last date that a report named, whether it counts yet or not.
    pub(super) fn last_named(&self) -> Option<DateTime<Utc>> {
        self.later.map(|later| later.last).or(self.edd)
    }

    /// Reports without a charge say nothing good yet.
    pub(super) fn doubts_bare(&self, now: DateTime<Utc>) -> bool {
        self.bare_since.is_some_and(|since| now - since < BARE)
    }

    /// Whether what somebody acknowledged then has come nearer since, or stands for too long.
    pub(super) fn ends_ack(&self, at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        self.mailed.last_rung.is_some_and(|rung| rung > at)
            || (self.is_overdue(now) && now >= Self::overdue_ack_ends(at))
    }

    /// When an acknowledgement of an overdue account ends.
    pub(super) fn overdue_ack_ends(at: DateTime<Utc>) -> DateTime<Utc> {
        at + OVERDUE_ACK
    }

    /// Takes over what an older release noted: what it mailed is not mailed again.
    pub(super) fn adopt(&mut self, settings: &AlertSettings, now: DateTime<Utc>) {
        if self.rung.is_none() {
            return;
        }
        self.lead_days.get_or_insert(settings.lead_days);
        if self.rung != Some(0) || self.overdue.is_some() {
            return;
        }
        if self.is_overdue(now) {
            self.overdue = Some(Overdue::told(self.edd.filter(|_| !self.gone), self.balance, now));
        } else if self.used_up {
            // It called a used-up balance overdue, whatever the date.
            self.used_up_told = true;
            self.rung = self.current_rung(&settings.disconnect_days, now);
        }
    }

    /// Takes in whether a report that was read at `now` has no charge.
    pub(super) fn note_bare(&mut self, is_bare: bool, now: DateTime<Utc>) {
        self.bare_since = if is_bare { self.bare_since.or(Some(now)) } else { None };
    }

    /// Dates without an offset are of the account's zone. Where the configuration names another by now, the past cut-off that a
    /// report names is the one known, put right.
    pub(super) fn heed_zone(&mut self, sight: &Sight, zone: Tz, now: DateTime<Utc>) {
        let Disconnect::At { at, computed: false } = sight.disconnect else { return };
        let is_other = self.zone.replace(zone).is_some_and(|before| before != zone);
        let Some(known) = self.edd.filter(|_| is_other && self.is_overdue(now)) else { return };
        if at > now || (at - known).abs() > ZONES_APART {
            return;
        }
        let told = [&mut self.edd, &mut self.told, &mut self.mailed.cut_off];
        let of_overdue = self.overdue.iter_mut().map(|overdue| &mut overdue.cut_off);
        told.into_iter().chain(of_overdue).filter(|one| **one == Some(known)).for_each(|one| *one = Some(at));
        self.deleted_at = self.deleted_at.map(|deleted| deleted + (at - known));
    }

    /// Takes in the rest of a report that was read at `now`. `is_open`: people were mailed of the date.
    pub(super) fn weigh(
        &mut self,
        sight: &Sight,
        is_open: bool,
        settings: &AlertSettings,
        now: DateTime<Utc>,
    ) {
        let rose = self.take_balance(sight, now);
        match sight.disconnect {
            // Cut off and not paid: the next charge is no date of its own, whoever computes it. What a report names takes
            // the place of what only stood in for it.
            Disconnect::At { at, computed }
                if is_open
                    && self.is_overdue(now)
                    && !is_paid(sight)
                    && (computed || (!rose && !self.stands_in() && at - now <= NEXT_CHARGE)) =>
            {
                self.read_at = Some(now);
                self.used_up = sight.used_up.unwrap_or(self.used_up);
            }
            Disconnect::At { at, computed } => {
                self.gone = false;
                self.read_at = Some(now);
                let used_up = sight.used_up.filter(|_| !sight.bare).unwrap_or(self.used_up);
                self.take_date((at, computed), rose, is_open, now);
                self.paid |= self.used_up_told && !used_up && rose;
                self.used_up_told &= used_up;
                self.used_up = used_up;
            }
            Disconnect::Now => {
                // A date that has passed says since when, and when the data are deleted.
                let since = self.edd.filter(|&edd| edd <= now && !self.gone);
                (self.used_up, self.gone) = (true, since.is_none());
                self.read_at = Some(now);
            }
            Disconnect::NotExpected | Disconnect::Unknown => {}
        }
        // Far away, a jump is no news, and is not that of the rung to come.
        if self.current_rung(&settings.disconnect_days, now).is_none() {
            self.fell_from = None;
        }
    }

    /// Whether the balance rose since the last report that named a date or that it is past: one between may have shown
    /// the payment. Above its highest of a day it is no alternation: what was mailed may be mailed again.
    fn take_balance(&mut self, sight: &Sight, now: DateTime<Utc>) -> bool {
        // One report without a date is no proof: the date before it stays, and so does what was mailed of it.
        let is_dated = matches!(sight.disconnect, Disconnect::At { .. } | Disconnect::Now);
        let last = self.balance;
        if let Some(balance) = sight.balance.filter(|_| !self.doubts_bare(now)) {
            self.balance = Some(balance);
            let (at, highest) = self.highest.unwrap_or((now, balance));
            if balance > highest || now - at >= ONCE_IN || self.highest.is_none() {
                self.rose_above |= balance > highest;
                self.highest = Some((now, balance));
            }
            if is_dated && std::mem::take(&mut self.rose_above) {
                self.mailed.rungs.clear();
                self.mailed.extended = None;
                self.mailed.used_up = None;
                self.mailed.earlier.clear();
            }
        }
        if !is_dated {
            return false;
        }
        let before = std::mem::replace(&mut self.dated_balance, self.balance).or(last);
        before.zip(self.balance).is_some_and(|(before, now)| now > before)
    }

    /// A date that moves away counts at once where the balance rose with it, else once it held.
    fn take_date(&mut self, date: (DateTime<Utc>, bool), rose: bool, is_open: bool, now: DateTime<Utc>) {
        let (at, computed) = date;
        let known = self.edd.filter(|&known| is_open && at > known);
        let Some(known) = known else {
            // As far as known so far, nearer, or nobody was mailed of it.
            let fell = self.edd.filter(|&known| known - at > JUMP);
            self.fell_from = fell.or(self.fell_from).filter(|&from| from - at > JUMP);
            self.paid &= self.told.is_none_or(|told| at > told);
            (self.edd, self.computed, self.later) = (Some(at), computed, None);
            return;
        };
        if rose {
            self.paid |= at > now && !was_within_a_day(&self.mailed.paid, |paid| paid == at, now);
            (self.edd, self.computed, self.later) = (Some(at), computed, None);
        } else if !self.doubts_bare(now) {
            let (since, earliest) =
                self.later.map_or((now, at), |later| (later.since.min(now), later.earliest.min(at)));
            if now - since < HOLD {
                self.later = Some(LaterDate { since, earliest, last: at });
                return;
            }
            self.later = (at > earliest).then_some(LaterDate { since: now, earliest: at, last: at });
            (self.edd, self.computed) = (Some(earliest), computed);
        }
        if let Some(edd) = self.edd.filter(|&edd| edd > known) {
            self.fell_from = self.fell_from.filter(|&from| from - edd > JUMP);
        }
    }

    /// Changes every moment that a clock of ours gave.
    pub(super) fn change_times(&mut self, change: impl Fn(&mut DateTime<Utc>)) {
        let Self { highest, later, bare_since, overdue, mailed, .. } = self;
        let pairs =
            highest.iter_mut().map(|(at, _)| at).chain(later.iter_mut().map(|later| &mut later.since));
        let told = mailed.paid.iter_mut().chain(&mut mailed.earlier).map(|(_, at)| at);
        let mailed =
            mailed.rungs.values_mut().chain(&mut mailed.extended).chain(&mut mailed.used_up).chain(told);
        let overdue = overdue.iter_mut().flat_map(|one| [&mut one.told_at, &mut one.mailed_at]);
        pairs.chain(bare_since).chain(mailed).chain(overdue).for_each(change);
    }
}

/// The severity of a rung.
pub(super) fn rung_severity(rung: u32, lead_days: u32) -> Severity {
    if rung <= lead_days + 1 {
        Severity::Critical
    } else if rung >= 30 {
        Severity::Info
    } else {
        Severity::Warning
    }
}

/// Is there anything on the account?
fn is_paid(sight: &Sight) -> bool {
    sight.balance.is_some_and(|balance| balance.is_positive())
}

/// Was one of these dates mailed within a day?
pub(super) fn was_within_a_day(
    mailed: &[(DateTime<Utc>, DateTime<Utc>)],
    is_it: impl Fn(DateTime<Utc>) -> bool,
    now: DateTime<Utc>,
) -> bool {
    mailed.iter().any(|&(date, at)| is_it(date) && now - at < ONCE_IN)
}
