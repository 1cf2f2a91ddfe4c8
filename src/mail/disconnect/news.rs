//! The sentence of a mail about a cut-off, its subject and its first line: a rung, a payment, a used-up balance, that
//! the account is still off, that its data are about to be deleted. Pure.

use chrono::{DateTime, Utc};

use super::DisconnectMail;
use super::pay::ByCharges;
use crate::alert::{Event, Item, days_left};
use crate::mail::context::Context;
use crate::mail::subject;
use crate::model::forecast;
use crate::view::{CutOff, words};

/// The subject: what, when, how much, by which day.
pub(in crate::mail) fn subject(item: &Item, context: &Context<'_>) -> String {
    let mail = DisconnectMail::of(item, context);
    let words = match mail.unheard() {
        Some(was) if was.overdue => {
            let span = words::from_to(was.at, item.at, mail.payer.zone, mail.now);
            format!("Was overdue {span}; {}", mail.no_cut_off().replacen('N', "n", 1))
        }
        Some(was) => {
            let day = words::day_of(was.at, mail.payer.zone, mail.now);
            format!("Cut-off was due {day}; {}", mail.no_cut_off().replacen('N', "n", 1))
        }
        None if item.event.is_end() => mail.no_cut_off(),
        None => mail.news(&mail.cut_off()),
    };
    subject::line(subject::bracket(item), &words, std::slice::from_ref(&item.key.account))
}

/// A cut-off that is over: when it was due, or since when the account was overdue.
struct Was {
    at: DateTime<Utc>,
    overdue: bool,
}

impl<'a> DisconnectMail<'a> {
    /// Of one that ends in this mail, to somebody who never heard of it: what there was.
    fn unheard(&self) -> Option<Was> {
        if self.item.event != Event::WasDown {
            return None;
        }
        let overdue = self.ladder.rung == Some(0);
        let date = self.ladder.edd.filter(|_| !self.ladder.gone);
        let at = date.or_else(|| overdue.then_some(self.item.since))?;
        Some(Was { at, overdue })
    }

    fn cut_off(&self) -> CutOff<'a> {
        CutOff::of(self.ladder.disconnect(), self.payer, self.now)
            .telling(self.item.event == Event::BalanceUsedUp)
    }

    /// What is new of a cut-off that is ahead, or has come.
    fn news(&self, cut_off: &CutOff<'_>) -> String {
        let ahead = self.ladder.edd.filter(|&edd| !self.ladder.gone && edd > self.now);
        match (&self.item.event, ahead) {
            (Event::Paid(_), Some(at)) => {
                let before = self.ladder.told_before;
                let still = before.map_or("", |_| "still ");
                let same = || cut_off.with_amount(&format!("Paid, cut-off {still}{}", cut_off.day(at)));
                cut_off.moved(before).unwrap_or_else(same)
            }
            (Event::Extended(_), Some(_)) => {
                cut_off.moved(self.ladder.told_before).unwrap_or_else(|| cut_off.sentence())
            }
            (Event::Deletion(days), _) => match (days, self.ladder.deleted_at) {
                (_, Some(at)) => cut_off.with_amount(&self.deleted(cut_off, at)),
                (0, None) => cut_off.with_amount("Data deleted today"),
                (_, None) => cut_off.sentence(),
            },
            _ => cut_off.sentence(),
        }
    }

    /// `Data deleted Wed 4 Mar, in 3 days`, counted from the mail: it may have been held back, and say less than its event.
    fn deleted(&self, cut_off: &CutOff<'_>, at: DateTime<Utc>) -> String {
        let day = cut_off.day(at);
        let date = |at: DateTime<Utc>| at.with_timezone(&self.payer.zone).date_naive();
        match days_left(at, self.now) {
            _ if date(at) == date(self.now) => "Data deleted today".to_owned(),
            0 => format!("Data were to be deleted {day}"),
            days => format!("Data deleted {day}, in {}", words::count(days as usize, "day", "days")),
        }
    }

    /// `No cut-off before 21 Feb 2027`: as far as the report reaches.
    fn no_cut_off(&self) -> String {
        let until = self.report.and_then(|(report, _)| report.date);
        until.map_or_else(
            || "No cut-off expected".to_owned(),
            |end| format!("No cut-off before {}", words::short_day_of(end, self.payer.zone, self.now)),
        )
    }

    /// The first line: the subject's sentence with what there was no room for.
    pub(super) fn lead(&self) -> String {
        let account = &self.item.key.account;
        if self.item.event.is_end() {
            let was = self.unheard().map(|was| {
                if !was.overdue {
                    return format!("Already over: a cut-off was due {}. ", self.moment(was.at));
                }
                let (at, lasted) = (self.item.at, words::lasted(self.item.at - was.at));
                let period = words::period(was.at, at, self.payer.zone, self.now);
                format!("Already over: the account was overdue {period}, {lasted}. ")
            });
            let balance = self.report.and_then(|(report, _)| forecast::balance_now(report));
            let balance =
                balance.map_or_else(String::new, |money| format!("balance {}, ", self.money(money)));
            return format!(
                "{}{}: {balance}{} (account {account}).",
                was.unwrap_or_default(),
                self.no_cut_off(),
                self.moment(self.item.at)
            );
        }
        let aside = format!("{}{}", self.deletion(), self.doubts());
        format!("{} (account {account}).", self.news(&self.cut_off().in_full(aside)))
    }

    /// ` (computed; as of Sun 1 Mar 12:00 MSK)`: what is doubtful about the date.
    fn doubts(&self) -> String {
        let mut doubts = Vec::new();
        if self.ladder.used_up && !self.is_overdue() && self.item.event != Event::BalanceUsedUp {
            doubts.push("the balance is used up".to_owned());
        }
        if self.ladder.computed && self.ladder.edd.is_some() {
            doubts.push("computed".to_owned());
        }
        if let Some(ByCharges::UsedUp(at)) = self.by_the_charges() {
            doubts.push(format!("by its charges {}", self.moment(at)));
        }
        doubts.extend(self.as_of().map(|at| format!("as of {}", self.moment(at))));
        if doubts.is_empty() { String::new() } else { format!(" ({})", doubts.join("; ")) }
    }

    /// `, data deleted Tue 1 Dec`: nothing where that is not known or the news itself.
    fn deletion(&self) -> String {
        let known = self.ladder.deleted_at.filter(|_| !matches!(self.item.event, Event::Deletion(_)));
        known.filter(|_| self.is_overdue()).map_or_else(String::new, |at| {
            let day = words::day_of(at, self.payer.zone, self.now);
            let verb = if at < self.now { "were to be deleted" } else { "are deleted" };
            format!(", data {verb} {day}")
        })
    }
}
