//! What the contract says of the disconnect's mails, written once more and more simply: from what each report showed
//! to the events that have to be told, in their order.

use chrono::{Duration, NaiveDate};

use crate::history::Moment;

/// With `lead_days` = 3 the rung of 4 days is always one.
const RUNGS: [i64; 5] = [14, 7, 4, 3, 1];

/// An event that has to be told, and when the report was shown and seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    pub event: String,
    pub from: Moment,
    pub to: Moment,
}

/// What was told so far.
#[derive(Clone, Default, Debug)]
pub struct Ladder {
    open: bool,
    rung: Option<i64>,
    told: Option<Moment>,
}

impl Ladder {
    /// A report that names no date was seen as often as it has to be.
    pub fn clear(&mut self) -> Option<String> {
        let was_open = std::mem::take(self).open;
        was_open.then(|| "resolved".to_owned())
    }

    /// The balance is used up.
    pub fn used_up(&mut self) -> Option<String> {
        self.open = true;
        (self.rung.replace(0) != Some(0)).then(|| "rung:0".to_owned())
    }

    /// A report that names a date.
    pub fn date(&mut self, edd: Moment, now: Moment) -> Option<String> {
        let left = edd - now;
        let tightest =
            |margin: i64| RUNGS.into_iter().filter(|&rung| left <= Duration::days(rung + margin)).min();
        let current = tightest(0);
        let crossed = current.filter(|&rung| self.rung.is_none_or(|told| rung < told));
        if let Some(rung) = crossed {
            (self.open, self.rung, self.told) = (true, Some(rung), Some(edd));
            return Some(format!("rung:{rung}"));
        }
        let rung = self.rung?;
        let later = left > Duration::days(rung + 1);
        let earlier = self.told.is_some_and(|told| told - edd > Duration::days(3)) && current.is_some();
        if later {
            self.rung = tightest(1);
        }
        if later || earlier {
            self.told = Some(edd);
            let date: NaiveDate = edd.date_naive();
            return Some(format!("extended:{date}"));
        }
        None
    }
}
