//! What the contract says of the disconnect's mails, written once more and more simply: from what each report showed
//! to the events that have to be told, in their order.

use std::collections::BTreeSet;

use chrono::{Duration, NaiveDate};

use super::history::Moment;

/// With `lead_days` = 3 the rung of 4 days is always one.
const RUNGS: [i64; 5] = [14, 7, 4, 3, 1];

/// An event that has to be told, and when the report was shown and seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    pub event: String,
    pub from: Moment,
    pub to: Moment,
}

/// What was told so far, and what was last seen. All of it happens within a day.
#[derive(Clone, Default, Debug)]
pub struct Ladder {
    open: bool,
    rung: Option<i64>,
    edd: Option<Moment>,
    /// How long the balance lasts, and lasted at most.
    lasts: Option<u32>,
    longest: Option<u32>,
    /// Told, and not to be told twice in a day.
    rungs: BTreeSet<i64>,
    paid: BTreeSet<Moment>,
    earlier: BTreeSet<Moment>,
    extended: bool,
}

impl Ladder {
    /// A report that names no date was seen as often as it has to be.
    pub fn clear(&mut self) -> Option<String> {
        let was_open = std::mem::take(self).open;
        was_open.then(|| "resolved".to_owned())
    }

    /// The balance is used up, and the account is cut off.
    pub fn used_up(&mut self, now: Moment) -> Option<String> {
        self.open = true;
        (self.edd, self.lasts) = (Some(now), Some(0));
        (self.rung.replace(0) != Some(0)).then(|| "rung:0".to_owned())
    }

    /// A report that names a date; the money lasts so many days.
    pub fn date(&mut self, edd: Moment, lasts: u32, now: Moment) -> Option<String> {
        if self.longest.is_none_or(|longest| lasts > longest) {
            self.longest = Some(lasts);
            self.rungs.clear();
            self.earlier.clear();
            self.extended = false;
        }
        let before = self.edd.replace(edd);
        let rose = self.lasts.replace(lasts).is_some_and(|before| lasts > before);
        let left = edd - now;
        let tightest =
            |margin: i64| RUNGS.into_iter().filter(|&rung| left <= Duration::days(rung + margin)).min();
        let date: NaiveDate = edd.date_naive();
        if self.open && rose && before.is_some_and(|before| edd > before) && self.paid.insert(edd) {
            self.rung = tightest(0);
            return Some(format!("paid:{date}"));
        }
        let back = self.rung.is_some_and(|told| told == 0 || left > Duration::days(told + 1));
        if back && !self.extended {
            (self.extended, self.rung) = (true, tightest(1));
            return Some(format!("extended:{date}"));
        }
        let current = tightest(0)?;
        if self.rung.is_none_or(|told| current < told) {
            return self.rungs.insert(current).then(|| {
                (self.open, self.rung) = (true, Some(current));
                format!("rung:{current}")
            });
        }
        let fell = before.is_some_and(|before| before - edd > Duration::days(3));
        let news = fell && self.earlier.iter().all(|&told| told > edd);
        news.then(|| {
            self.earlier.insert(edd);
            format!("extended:{date}")
        })
    }
}
