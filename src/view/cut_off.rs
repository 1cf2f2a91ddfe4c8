//! The one sentence about a cut-off: when, how much, by which day. Subject, headline, title, terminal and the
//! first line of a mail show the same sentence. Pure.

use chrono::{DateTime, Duration, NaiveDate, Utc};

use super::billing::{self, Due, ToPay};
use super::payer::Payer;
use super::reader::Reader;
use super::words;
use crate::model::forecast::{self, Disconnect};
use crate::model::pay_by::friday_before;
use crate::model::{Language, Money, PayBy, say, when};

const DAY: Duration = Duration::days(1);

/// The facts of the sentence.
#[derive(Clone, Debug)]
pub(crate) struct CutOff<'a> {
    disconnect: Disconnect,
    to_pay: ToPay,
    by: Option<PayBy>,
    /// The balance is used up.
    used_up: bool,
    payer: Payer<'a>,
    /// The words behind the date in a first line. A subject has room neither for these words nor for the time
    /// of day.
    aside: Option<String>,
}

impl<'a> CutOff<'a> {
    /// The sentence about a date that is known now.
    pub(crate) fn of(disconnect: Disconnect, payer: Payer<'a>) -> Self {
        Self {
            disconnect,
            to_pay: ToPay::of(payer.report, payer.reader.now),
            by: payer.by(disconnect),
            used_up: payer.report.and_then(forecast::is_used_up) == Some(true),
            payer,
            aside: None,
        }
    }

    /// The same for a mail's first line: with the time of day, `aside` behind the date, and the lowest amount
    /// that helps.
    pub(crate) fn in_full(self, aside: String) -> Self {
        Self { aside: Some(aside), ..self }
    }

    /// `cut-off Sat 28 Nov: pay 6488 RUB by Wed 25 Nov`, `balance used up, cut-off …`, `OVERDUE since Tue 24
    /// Nov: …`; inside of a sentence.
    pub(crate) fn sentence(&self) -> String {
        let reader @ Reader { language, now, .. } = self.payer.reader;
        let what = match self.disconnect {
            Disconnect::At { at, .. } if let Some(since) = self.payer.not_readable_since(self.disconnect) => {
                let (day, since) = (self.on(at), self.since(since));
                say!(
                    language,
                    "cut-off was due {day}, not readable {since}",
                    "отключение ожидалось {day}, данных нет {since}"
                )
            }
            Disconnect::At { at, .. } if at <= now => {
                let lasts = Some(at).filter(|at| now - *at >= DAY && self.says_the_same_amount());
                let lasts = lasts.map(|at| reader.age(at));
                let lasts =
                    lasts.map_or_else(String::new, |span| say!(language, ", for {span}", ", уже {span}"));
                let day = self.since(at);
                say!(language, "OVERDUE {day}{lasts}", "ПРОСРОЧЕНО {day}{lasts}")
            }
            Disconnect::Now => language
                .pick("OVERDUE, balance used up", "ПРОСРОЧЕНО, деньги на балансе закончились")
                .to_owned(),
            Disconnect::At { at, .. } => {
                let left = self.says_the_same_amount().then(|| reader.distance(at));
                let left = left.map_or_else(String::new, |left| format!(", {left}"));
                let day = self.on(at);
                if self.used_up {
                    say!(
                        language,
                        "balance used up, cut-off {day}{left}",
                        "деньги закончились, отключение {day}{left}"
                    )
                } else {
                    say!(language, "cut-off {day}{left}", "отключение {day}{left}")
                }
            }
            Disconnect::NotExpected | Disconnect::Unknown => {
                language.pick("cut-off, date not known", "отключение, дата неизвестна").to_owned()
            }
        };
        self.with_amount(&what)
    }

    /// Whether the amount was the same a day ago. Then the time that is left tells two mails about one date
    /// apart.
    fn says_the_same_amount(&self) -> bool {
        self.to_pay == ToPay::of(self.payer.report, self.payer.reader.now - DAY)
    }

    /// `cut-off now Tue 24 Mar, was 4 Mar: …`; `None` if both are the same day.
    pub(crate) fn moved(&self, before: Option<DateTime<Utc>>) -> Option<String> {
        let (at, before, reader) = (self.disconnect.at()?, before?, self.payer.reader);
        let (day, was) = (self.on(at), reader.short_day_of(before));
        let what =
            say!(reader.language, "cut-off now {day}, was {was}", "отключение теперь {day}, было {was}");
        (reader.date(before) != reader.date(at)).then(|| self.with_amount(&what))
    }

    /// Any words with the amount to pay: `…: pay 75 RUB by Sat 21 Mar`.
    pub(crate) fn with_amount(&self, what: &str) -> String {
        let language = self.payer.reader.language;
        let by = by(self.by, self.payer.reader);
        let is_unread = self.payer.not_readable_since(self.disconnect).is_some();
        match (&self.aside, self.to_pay) {
            (None, _) if is_unread => what.to_owned(),
            (Some(aside), _) if is_unread => {
                say!(
                    language,
                    "{what}{aside}; the account may be cut off: look in the panel",
                    "{what}{aside}; аккаунт, возможно, отключён: проверьте в панели"
                )
            }
            (Some(aside), to_pay) => format!("{what}{aside}{}", self.amount_in_full(to_pay, &by)),
            (None, ToPay::Amount(amount, _)) => {
                let amount = words::to_pay(amount, self.payer.currency, language);
                say!(language, "{what}: pay {amount} {by}", "{what}: оплатите {amount} {by}")
            }
            (None, ToPay::NotKnown | ToPay::Later { .. }) => {
                say!(language, "{what}: pay {by}", "{what}: оплатите {by}")
            }
            (None, ToPay::Nothing) => what.to_owned(),
        }
    }

    /// `: pay 275 RUB today for 30 days, at least 45 RUB for 7`.
    fn amount_in_full(&self, to_pay: ToPay, by: &str) -> String {
        let language = self.payer.reader.language;
        let money = |money: Money| words::spaced_to_pay(money, self.payer.currency, language);
        let for_days = |days: u32| language.count(days as usize, words::DAYS);
        match (to_pay, self.payer.report) {
            (ToPay::Amount(amount, days), Some(report)) => {
                let least =
                    Due::first(&Due::of(report, self.payer.reader.now)).filter(|(least, _)| *least < days);
                let least = least.map_or_else(String::new, |(days, amount)| {
                    let (amount, span) = (money(amount), for_days(days));
                    say!(language, ", at least {amount} for {days}", "; минимум — {amount} на {span}")
                });
                let (amount, days) = (money(amount), for_days(days));
                say!(
                    language,
                    ": pay {amount} {by} for {days}{least}",
                    ": оплатите {amount} {by} (хватит на {days}{least})"
                )
            }
            (ToPay::Later { free, amount, days }, _) => {
                let (amount, days, free_days) = (money(amount), for_days(days), for_days(free));
                say!(
                    language,
                    ": pay {amount} {by} for {days}, nothing for {free}",
                    ": оплатите {amount} {by} (хватит на {days}; на {free_days} денег и так достаточно)"
                )
            }
            (ToPay::Nothing, _) => language
                .pick("; by its report nothing needs to be paid yet", "; по отчёту платить пока не нужно")
                .to_owned(),
            (ToPay::NotKnown, Some(report)) => {
                let why = billing::unknown_amounts(report, language).unwrap_or_else(|| {
                    let short = "отчёт охватывает слишком короткий срок";
                    language.pick("the report ends too early", short).to_owned()
                });
                say!(
                    language,
                    ": pay {by}; the amount is not known, since {why}",
                    ": оплатите {by}; сумма неизвестна — {why}"
                )
            }
            (ToPay::NotKnown | ToPay::Amount(..), None) => {
                say!(
                    language,
                    ": pay {by}; how much is not known, no report could be read yet",
                    ": оплатите {by}; сумма неизвестна — отчёт получить не удалось"
                )
            }
        }
    }

    /// `Tue 24 Nov`; with the time of day in full.
    fn day(&self, at: DateTime<Utc>) -> String {
        match self.aside {
            Some(_) => self.payer.reader.moment(at),
            None => self.payer.reader.day_of(at),
        }
    }

    /// The same day with its preposition: `Tue 24 Nov`, `во вт 24 ноя`.
    pub(crate) fn on(&self, at: DateTime<Utc>) -> String {
        let (day, reader) = (self.day(at), self.payer.reader);
        match reader.language {
            Language::En => day,
            Language::Ru => format!("{} {day}", when::preposition(reader.date(at), reader.language)),
        }
    }

    /// The same day as a beginning: `since Tue 24 Nov`, `со вт 24 ноя`.
    fn since(&self, at: DateTime<Utc>) -> String {
        let reader = self.payer.reader;
        format!("{} {}", when::since_word(reader.date(at), reader.language), self.day(at))
    }
}

/// `by Wed 25 Nov`, `today`, `now`: behind an amount to pay.
pub(crate) fn by(by: Option<PayBy>, reader: Reader) -> String {
    let day = day_to_pay(by.unwrap_or(PayBy::Now), reader);
    match by {
        Some(PayBy::On(_)) => say!(reader.language, "by {day}", "до {day} включительно"),
        _ => day,
    }
}

/// The day to pay by, and how it was computed; `None` without a day.
pub(crate) fn by_in_full(by: PayBy, lead_days: u32, reader: Reader) -> Option<String> {
    let language = reader.language;
    let takes = payment_takes(lead_days, language);
    let weekend = |date| {
        weekend_advice(date, reader).map_or_else(String::new, |advice| {
            say!(language, " That is a weekend: {advice}.", " Это выходной: {advice}.")
        })
    };
    match by {
        PayBy::Now => None,
        // A payment that arrives at once is not too late.
        PayBy::Missed(_) if lead_days == 0 => None,
        PayBy::Missed(_) => {
            let days = language.count(lead_days as usize, words::DAYS);
            Some(say!(
                language,
                "Payments take {days} to arrive. Pay now by a method that arrives at once.",
                "Платёж идёт {days}. Оплатите сейчас способом, при котором деньги доходят сразу."
            ))
        }
        PayBy::Today(date) => {
            let weekend = weekend(date);
            Some(say!(
                language,
                "Today is the last safe day: {takes}.{weekend}",
                "Сегодня последний надёжный день: {takes}.{weekend}"
            ))
        }
        PayBy::On(date) => {
            let (day, weekend) = (reader.day(date), weekend(date));
            Some(say!(
                language,
                "{day} is the last safe day: {takes}.{weekend}",
                "Последний надёжный день — {day}: {takes}.{weekend}"
            ))
        }
    }
}

/// `a payment takes 3 days`: the reason for the day to pay by.
fn payment_takes(lead_days: u32, language: Language) -> String {
    match lead_days {
        0 => language.pick("a payment arrives at once", "платёж доходит сразу").to_owned(),
        days => {
            let days = language.count(days as usize, words::DAYS);
            say!(language, "a payment takes {days}", "платёж идёт {days}")
        }
    }
}

/// `better by Fri 27 Mar`: the day to pay by is on a weekend, and a payment may be held until Monday.
fn weekend_advice(date: NaiveDate, reader: Reader) -> Option<String> {
    let friday = friday_before(date)?;
    let day = reader.day(friday);
    Some(if friday >= reader.date(reader.now) {
        say!(reader.language, "better by {day}", "лучше до {day} включительно")
    } else {
        reader.language.pick("banks may be slower", "банки могут проводить платежи дольше").to_owned()
    })
}

/// `Wed 25 Nov`, `today`, `now`: for a column of days.
pub(crate) fn day_to_pay(by: PayBy, reader: Reader) -> String {
    match by {
        PayBy::On(date) => reader.day(date),
        PayBy::Today(_) => reader.language.pick("today", "сегодня").to_owned(),
        PayBy::Now | PayBy::Missed(_) => reader.language.pick("now", "сейчас").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{report, t};

    /// One charge of 300 a month: the amount to pay is the same on many days.
    #[test]
    fn no_two_days_have_the_same_sentence() {
        let at = t("2026-03-20T12:00:00");
        let mut monthly = report("250", "300", 3, Edd::At(at));
        let moments = ["2026-03-20T12:00:00", "2026-04-20T12:00:00", "2026-05-20T12:00:00"].into_iter();
        monthly.moments = monthly
            .moments
            .iter()
            .zip(moments)
            .map(|(mut moment, at)| {
                moment.at = t(at);
                moment
            })
            .collect();
        monthly.date = Some(t("2026-06-01T12:00:00"));
        let said = |report, day: &str, language| {
            let reader = Reader::new(language, t(day));
            let payer =
                Payer { report: Some(report), unread_since: None, currency: "RUB", lead_days: 3, reader };
            CutOff::of(Disconnect::At { at, computed: false }, payer).sentence()
        };
        let on = |day: &str| said(&monthly, day, Language::En);
        assert_eq!(on("2026-03-06T12:00:00"), "cut-off Fri 20 Mar, in 14 d: pay 51 RUB by Mon 16 Mar");
        assert_eq!(on("2026-03-13T12:00:00"), "cut-off Fri 20 Mar, in 7 d: pay 51 RUB by Mon 16 Mar");
        assert_eq!(on("2026-03-18T12:00:00"), "cut-off Fri 20 Mar, in 2 d: pay 51 RUB now");
        assert_eq!(on("2026-03-19T12:00:00"), "cut-off Fri 20 Mar, in 1 d: pay 51 RUB now");
        assert_eq!(on("2026-03-23T12:00:00"), "OVERDUE since Fri 20 Mar, for 3 d: pay 351 RUB now");
        let ru = |day: &str| said(&monthly, day, Language::Ru);
        assert_eq!(
            ru("2026-03-06T12:00:00"),
            "отключение в пт 20 мар, через 14 д: оплатите 51 ₽ до пн 16 мар включительно"
        );
        assert_eq!(ru("2026-03-23T12:00:00"), "ПРОСРОЧЕНО с пт 20 мар, уже 3 д: оплатите 351 ₽ сейчас");
        // An amount that grows each day tells the days apart.
        let daily = report("250", "10", 90, Edd::At(at));
        let sentence = said(&daily, "2026-03-18T12:00:00", Language::En);
        assert!(sentence.starts_with("cut-off Fri 20 Mar: pay "), "{sentence}");
    }

    #[test]
    fn weekends_are_said() {
        let now = t("2026-03-25T12:00:00");
        let words = |edd| {
            let by = PayBy::before(t(edd), 3, Tz::UTC, now).unwrap();
            by_in_full(by, 3, Reader::english(Tz::UTC, now)).unwrap()
        };
        let safe = "is the last safe day: a payment takes 3 days.";
        assert_eq!(words("2026-03-31T12:00:00"), format!("Fri 27 Mar {safe}"));
        let better = "That is a weekend: better by Fri 27 Mar.";
        assert_eq!(words("2026-04-01T12:00:00"), format!("Sat 28 Mar {safe} {better}"));
        assert_eq!(words("2026-04-02T12:00:00"), format!("Sun 29 Mar {safe} {better}"));
    }
}
