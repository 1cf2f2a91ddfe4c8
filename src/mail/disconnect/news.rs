//! The sentence of a mail about a cut-off, for its subject and its first line. It is about a threshold, a
//! payment, a used-up balance, an account that is still off, or data that are about to be deleted. Pure.

use chrono::{DateTime, Utc};

use super::DisconnectMail;
use crate::alert::{Event, days_until};
use crate::mail::parts;
use crate::model::{forecast, say};
use crate::view::{CutOff, words};

impl<'a> DisconnectMail<'a> {
    /// The subject without severity and account: what, when, how much, by which day.
    pub(super) fn words(&self) -> String {
        let language = self.context.language;
        if self.item.event == Event::WasDown {
            let (times, until) = (parts::times(self.item, language), parts::until(self.item));
            let span = self.payer.reader.span(self.item.began, until);
            let now = self.no_cut_off();
            say!(language, "payment was due{times} {span}; {now}", "нужна была оплата{times}, {span}; {now}")
        } else if self.item.event.is_end() {
            self.no_cut_off()
        } else {
            self.news(&self.cut_off())
        }
    }

    fn cut_off(&self) -> CutOff<'a> {
        CutOff::of(self.cut_off.disconnect(), self.payer)
    }

    /// The news about a cut-off that is ahead or past.
    fn news(&self, cut_off: &CutOff<'_>) -> String {
        let language = self.context.language;
        let ahead = self.cut_off.date().filter(|&date| date > self.context.now);
        let before = self.item.before.money.date;
        match (&self.item.event, ahead) {
            (Event::Paid(_), Some(at)) => {
                let same = || {
                    let day = cut_off.on(at);
                    cut_off.with_amount(&match before {
                        Some(_) => {
                            say!(
                                language,
                                "paid, cut-off still {day}",
                                "оплачено, но отключение по-прежнему {day}"
                            )
                        }
                        None => say!(language, "paid, cut-off {day}", "оплачено, отключение {day}"),
                    })
                };
                cut_off.moved(before).unwrap_or_else(same)
            }
            (Event::Extended(_), Some(_)) => cut_off.moved(before).unwrap_or_else(|| cut_off.sentence()),
            (Event::Deletion(_), _) if let Some(at) = self.item.deleted_at => {
                cut_off.with_amount(&self.deleted(cut_off, at))
            }
            _ => cut_off.sentence(),
        }
    }

    /// `data deleted Wed 4 Mar, in 3 days`. The count agrees with the day's name: days of the calendar, from the
    /// time of the mail, which may have been held back since its event.
    fn deleted(&self, cut_off: &CutOff<'_>, at: DateTime<Utc>) -> String {
        let language = self.context.language;
        let day = cut_off.on(at);
        let reader = self.payer.reader;
        match usize::try_from(days_until(at, reader.now, reader.zone)) {
            Ok(0) => language.pick("data deleted today", "данные удалят сегодня").to_owned(),
            Ok(days) => {
                let days = language.count(days, words::DAYS);
                say!(language, "data deleted {day}, in {days}", "данные удалят {day}, через {days}")
            }
            Err(_) => say!(language, "data were to be deleted {day}", "данные должны были удалить {day}"),
        }
    }

    /// `no cut-off before 21 Feb 2027`: the end of the report.
    pub(super) fn no_cut_off(&self) -> String {
        let language = self.context.language;
        let until = self.report.and_then(|(report, _)| report.date);
        until.map_or_else(
            || language.pick("no cut-off expected", "отключение не ожидается").to_owned(),
            |end| {
                let day = self.payer.reader.short_day_of(end);
                say!(language, "no cut-off before {day}", "до {day} отключения не будет")
            },
        )
    }

    /// The first line: the subject's sentence, with the parts that a subject has no room for.
    pub(super) fn lead(&self) -> String {
        let language = self.context.language;
        let account = &self.item.key.account;
        let whose = say!(language, "account {account}", "аккаунт {account}");
        if !self.item.event.is_end() {
            let (cut_off, item) = (self.cut_off(), self.item);
            // The news about the deletion is that day itself.
            let is_aside = self.is_overdue() && !matches!(item.event, Event::Deletion(_));
            let deleted = item.deleted_at.filter(|_| is_aside);
            let deleted = deleted.map_or_else(String::new, |at| format!(", {}", self.deleted(&cut_off, at)));
            let full = cut_off.in_full(deleted + &self.doubts());
            return format!("{} ({whose}).", words::capital(&self.news(&full)));
        }
        let until = parts::until(self.item);
        let balance = self.report.and_then(|(report, _)| forecast::balance_now(report));
        let balance = balance.map_or_else(String::new, |money| {
            let money = self.money(money);
            say!(language, "balance {money}, ", "баланс {money}, ")
        });
        let now = words::capital(&self.no_cut_off());
        let now = format!("{now}: {balance}{} ({whose}).", self.moment(until));
        if self.item.event != Event::WasDown {
            return now;
        }
        let (began, times) = (self.item.began, parts::times(self.item, language));
        let lasted = words::lasted(until - began, language);
        let period = self.payer.reader.period(began, until);
        say!(
            language,
            "Already over: a payment was due{times} {period}, {lasted}. {now}",
            "Уже позади: оплата была нужна{times}, {period}, {lasted}. {now}"
        )
    }

    /// ` (computed; as of Sun 1 Mar 12:00 MSK)`: the doubts about the date.
    fn doubts(&self) -> String {
        let language = self.context.language;
        let mut doubts = Vec::new();
        if self.cut_off.computed && self.cut_off.edd.is_some() {
            doubts.push(language.pick("computed", "по расчёту").to_owned());
        }
        doubts.extend(self.by_the_charges().map(|at| {
            let at = self.moment(at);
            say!(language, "by its charges {at}", "по начислениям {at}")
        }));
        doubts.extend(self.item.as_of.filter(|_| !self.is_unread()).map(|at| {
            let at = self.moment(at);
            say!(language, "as of {at}", "по данным на {at}")
        }));
        if doubts.is_empty() { String::new() } else { format!(" ({})", doubts.join("; ")) }
    }
}
