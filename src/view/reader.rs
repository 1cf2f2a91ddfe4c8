//! Days, moments and spans as one reader sees them: in a language, in a zone, at a time. Pure.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use chrono_tz::Tz;

use super::words::{self, is_one_minute};
use crate::model::forecast::Disconnect;
use crate::model::{AccountState, Language, say, when, zone_of};

/// The reader of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub language: Language,
    /// The zone of all moments: UTC in a text about no account.
    pub zone: Tz,
    pub now: DateTime<Utc>,
}

impl Reader {
    pub(crate) const fn new(language: Language, now: DateTime<Utc>) -> Self {
        Self { language, zone: Tz::UTC, now }
    }

    /// The reader of a command's output.
    pub(crate) const fn english(zone: Tz, now: DateTime<Utc>) -> Self {
        Self { language: Language::En, zone, now }
    }

    /// The same reader, of words about this account.
    pub(crate) fn of(self, account: Option<&AccountState>) -> Self {
        self.within(zone_of(account))
    }

    pub(crate) const fn within(self, zone: Tz) -> Self {
        Self { zone, ..self }
    }

    pub(crate) fn date(self, at: DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.zone).date_naive()
    }

    /// `Wed 4 Mar`; with the year when it is not this one.
    pub(crate) fn day(self, date: NaiveDate) -> String {
        format!("{} {}", when::weekday(date, self.language), self.short_day(date))
    }

    /// `on Wed 4 Mar`, `в ср 4 мар`.
    pub(crate) fn on_day(self, date: NaiveDate) -> String {
        format!("{} {}", when::preposition(date, self.language), self.day(date))
    }

    /// `4 Mar`.
    pub(crate) fn short_day(self, date: NaiveDate) -> String {
        let this_year = self.date(self.now).year() == date.year();
        let year = if this_year { String::new() } else { format!(" {}", date.year()) };
        format!("{} {}{year}", date.day(), when::month(date, self.language))
    }

    /// `Wed 4 Mar`: the day of a moment.
    pub(crate) fn day_of(self, at: DateTime<Utc>) -> String {
        self.day(self.date(at))
    }

    /// `4 Mar`: the short day of a moment.
    pub(crate) fn short_day_of(self, at: DateTime<Utc>) -> String {
        self.short_day(self.date(at))
    }

    /// `Tue 24 Nov 07:15 MSK`.
    pub(crate) fn moment(self, at: DateTime<Utc>) -> String {
        format!("{} {}", self.day_of(at), when::time(at, self.zone, self.language))
    }

    /// `since Tue 24 Nov 07:15 MSK`, `со вт 24 ноя 07:15 МСК`.
    pub(crate) fn since(self, at: DateTime<Utc>) -> String {
        format!("{} {}", when::since_word(self.date(at), self.language), self.moment(at))
    }

    /// `23 min`: the time since then.
    pub(crate) fn age(self, since: DateTime<Utc>) -> String {
        words::lasted(self.now - since, self.language)
    }

    /// `5 min ago`, `in 2 d 5 h`.
    pub(crate) fn distance(self, at: DateTime<Utc>) -> String {
        if (self.now - at).num_seconds() >= 0 {
            let lasted = self.age(at);
            say!(self.language, "{lasted} ago", "{lasted} назад")
        } else {
            let left = words::lasted(at - self.now, self.language);
            say!(self.language, "in {left}", "через {left}")
        }
    }

    /// `14:10-15:00`, with the day if it is not today, with both days if it passed midnight. Within a minute
    /// only that minute.
    pub(crate) fn span(self, from: DateTime<Utc>, to: DateTime<Utc>) -> String {
        let named = |at| format!("{} {}", self.day_of(at), self.time(at));
        let until = if is_one_minute(from, to) { String::new() } else { format!("-{}", self.time(to)) };
        match [from, to, self.now].map(|at| self.date(at)) {
            [first, last, today] if first == today && last == today => format!("{}{until}", self.time(from)),
            [first, last, _] if first == last => format!("{}{until}", named(from)),
            _ => format!("{} - {}", named(from), named(to)),
        }
    }

    /// `Sun 1 Mar 14:10-15:00 MSK`, with the second day if it passed midnight. Within a minute only that minute.
    pub(crate) fn period(self, from: DateTime<Utc>, to: DateTime<Utc>) -> String {
        if is_one_minute(from, to) {
            return self.moment(from);
        }
        let start = format!("{} {}", self.day_of(from), self.time(from));
        if self.date(from) == self.date(to) {
            format!("{start}-{}", when::time(to, self.zone, self.language))
        } else {
            format!("{start} - {}", self.moment(to))
        }
    }

    fn time(self, at: DateTime<Utc>) -> String {
        at.with_timezone(&self.zone).format("%H:%M").to_string()
    }

    /// The cut-off in a column: its day, if there is one.
    pub(crate) fn cut_off(self, disconnect: Disconnect) -> String {
        match disconnect {
            Disconnect::At { at, .. } => self.day_of(at),
            Disconnect::Now => self.language.pick("now", "сейчас").to_owned(),
            Disconnect::NotExpected => self.language.pick("not expected", "не ожидается").to_owned(),
            Disconnect::Unknown => words::not_known(self.language).to_owned(),
        }
    }

    /// The same outside of a column, with a label if the charges gave the day.
    pub(crate) fn cut_off_labelled(self, disconnect: Disconnect) -> String {
        let is_computed = matches!(disconnect, Disconnect::At { computed: true, .. });
        let label =
            if is_computed { self.language.pick(" (computed)", " (по расчёту)") } else { "" };
        self.cut_off(disconnect) + label
    }

    /// The cut-off in full, and what belongs beside it: `Tue 24 Nov 07:15 MSK`, `in 2 d 5 h`. The report reaches
    /// `until` then.
    pub(crate) fn cut_off_in_full(
        self,
        disconnect: Disconnect,
        until: Option<DateTime<Utc>>,
    ) -> (String, String) {
        let pick = |en, ru| self.language.pick(en, ru).to_owned();
        let day = self.cut_off(disconnect);
        match (disconnect, until) {
            (Disconnect::At { at, computed }, _) => {
                let label = pick(", computed from the charges", ", по начислениям");
                (self.moment(at), self.distance(at) + if computed { &label } else { "" })
            }
            (Disconnect::Now, _) => (day, pick("the balance is used up", "деньги на балансе закончились")),
            (Disconnect::NotExpected, Some(end)) => {
                let before = self.day_of(end);
                let no_sooner = say!(self.language, "{day} before {before}", "{day} до {before}");
                (no_sooner, pick("the end of the report", "конец отчёта"))
            }
            (Disconnect::NotExpected, None) => {
                (day, pick("the end of the report is not known", "конец отчёта неизвестен"))
            }
            (Disconnect::Unknown, _) => (day, pick("the report does not say", "в отчёте нет даты")),
        }
    }

    /// `Data deleted Tue 1 Dec 12:00 MSK, in 5 d`: for an account that is cut off.
    pub(crate) fn deletion(self, at: DateTime<Utc>) -> String {
        let (day, distance) = (self.moment(at), self.distance(at));
        if at > self.now {
            say!(self.language, "Data deleted {day}, {distance}", "Данные будут удалены {day}, {distance}")
        } else {
            say!(
                self.language,
                "Data were to be deleted {day}, {distance}",
                "Срок удаления данных: {day}, {distance}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::t;

    #[test]
    fn times() {
        let now = t("2026-03-01T22:30:00");
        let (utc, moscow) = (Reader::english(Tz::UTC, now), Reader::english(Tz::Europe__Moscow, now));
        assert_eq!(moscow.moment(now), "Mon 2 Mar 01:30 MSK");
        assert_eq!(utc.moment(t("2027-01-01T00:00:00")), "Fri 1 Jan 2027 00:00 UTC");
        assert_eq!(utc.period(t("2026-03-01T12:00:00"), now), "Sun 1 Mar 12:00-22:30 UTC");
        let soon = t("2026-03-01T22:30:59");
        assert_eq!(utc.period(now, soon), "Sun 1 Mar 22:30 UTC");
        assert_eq!(utc.period(now, soon + chrono::Duration::seconds(1)), "Sun 1 Mar 22:30-22:31 UTC");
        let later = Reader { now: t("2026-03-05T12:00:00"), ..utc };
        assert_eq!([utc, later].map(|one| one.span(now, soon)), ["22:30", "Sun 1 Mar 22:30"]);
        let midnight = "Sun 1 Mar 15:00 - Mon 2 Mar 01:30 MSK";
        assert_eq!(moscow.period(t("2026-03-01T12:00:00"), now), midnight);
        let table = [
            (-3, "in < 1 min"),
            (0, "< 1 min ago"),
            (119, "1 min ago"),
            (7260, "2 h 1 min ago"),
            (176_400, "2 d 1 h ago"),
        ];
        for (seconds, want) in table {
            assert_eq!(utc.distance(now - chrono::Duration::seconds(seconds)), want);
        }
        assert_eq!(utc.distance(now + chrono::Duration::days(3)), "in 3 d");
    }

    #[test]
    fn russian_days_have_their_prepositions_months_and_zone() {
        let utc = Reader::new(Language::Ru, "2026-03-01T12:00:00Z".parse().unwrap());
        let moscow = utc.within(Tz::Europe__Moscow);
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        assert_eq!(moscow.moment(at("2026-11-24T04:15:00Z")), "вт 24 ноя 07:15 МСК");
        assert_eq!(utc.moment(at("2027-05-05T00:00:00Z")), "ср 5 мая 2027 00:00 UTC");
        let on = |text: &str| moscow.on_day(at(text).date_naive());
        assert_eq!([on("2026-03-03T00:00:00Z"), on("2026-03-04T00:00:00Z")], ["во вт 3 мар", "в ср 4 мар"]);
    }
}
