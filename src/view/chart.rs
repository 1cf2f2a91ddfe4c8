//! The forecast balance as a line: its points and their places. `figure` paints it for mails and the page. Pure.

use chrono::{DateTime, Duration, Utc};

use super::reader::Reader;
use super::words;
use crate::model::money::{self, Money};
use crate::model::{Language, Report, forecast, say};

/// The shortest span of a chart.
const LEAST_ZOOM: Duration = Duration::days(7);

/// A chart. Widths are parts of the whole, 0 to 1.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// The left end: the time of the report.
    pub from: DateTime<Utc>,
    /// The right end.
    pub end: DateTime<Utc>,
    /// The place from which on the account has a balance; the first is the balance now.
    pub steps: Vec<(f64, Money)>,
    /// `None` if no cut-off falls into the span. A past one is at the left end.
    pub cut_off: Option<DateTime<Utc>>,
}

impl Chart {
    /// The chart of a report; `None` if the report has no balance or covers no time. It shows twice the time left until
    /// the cut-off, since a person has to act in that time, and at least a week; without a cut-off ahead the whole
    /// report.
    pub(crate) fn new(
        report: &Report,
        from: DateTime<Utc>,
        cut_off: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let balance = forecast::balance_now(report)?;
        let whole = forecast::end(report).filter(|&end| end > from)?;
        let cut_off = cut_off.filter(|&at| at <= whole);
        let left = cut_off.map(|at| at - now).filter(|left| *left > Duration::zero());
        let end = left.map_or(whole, |left| (now + (left * 2).max(LEAST_ZOOM)).min(whole));
        let mut chart = Self { from, end, steps: vec![(0.0, balance)], cut_off };
        for moment in report.moments.iter().filter(|moment| moment.at <= end) {
            chart.steps.push((chart.x(moment.at), moment.balance));
        }
        Some(chart)
    }

    /// The place of a moment. Moments outside of the span are at its ends.
    pub(crate) fn x(&self, at: DateTime<Utc>) -> f64 {
        let span = (self.end - self.from).num_seconds().max(1) as f64;
        ((at - self.from).num_seconds() as f64 / span).clamp(0.0, 1.0)
    }

    /// The lowest and the highest balance that need room. Zero is always included.
    pub(crate) fn range(&self) -> (f64, f64) {
        let balances = || self.steps.iter().map(|(_, balance)| *balance);
        let lowest = balances().fold(Money::ZERO, Money::min);
        (lowest.to_f64(), balances().fold(Money::ZERO, Money::max).to_f64())
    }

    /// The scale of the balance: round numbers, zero among them.
    pub(crate) fn scale(&self) -> Scale {
        let (low, high) = self.range();
        let step = nice_step((high - low) / 4.0);
        Scale { low: (low / step).floor() * step, high: ((high / step).ceil() * step).max(step), step }
    }

    /// The chart in words.
    pub(crate) fn summary(&self, currency: &str, reader: Reader) -> String {
        let (language, (first, last)) = (reader.language, self.ends());
        let (first, last) =
            (words::spaced_amount(first, currency, language), words::spaced_amount(last, currency, language));
        let end = reader.short_day_of(self.end);
        let cut_off = self.cut_off.map_or_else(String::new, |at| {
            let day = reader.short_day_of(at);
            say!(language, "; cut-off {day}", "; отключение {day}")
        });
        say!(
            language,
            "Balance: {first} now, {last} expected on {end}{cut_off}.",
            "Баланс: сейчас {first}, к {end} ожидается {last}{cut_off}."
        )
    }

    /// The balance now and at the end of the chart.
    pub(crate) fn ends(&self) -> (Money, Money) {
        let at = |step: Option<&(f64, Money)>| step.map_or(Money::ZERO, |step| step.1);
        (at(self.steps.first()), at(self.steps.last()))
    }
}

/// The axis of the balance, from one round number to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub low: f64,
    pub high: f64,
    step: f64,
}

impl Scale {
    /// The height of a balance above the lower end, 0 to 1.
    pub(crate) fn part(&self, balance: f64) -> f64 {
        ((balance - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// The number of its lines.
    pub(crate) fn lines(&self) -> i32 {
        ((self.high - self.low) / self.step).round() as i32 + 1
    }

    /// The lines of the scale with their labels, the lowest first.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let values = (0..self.lines()).map(|index| self.low + f64::from(index) * self.step);
        let label = |value: f64| match value.abs() < self.step / 2.0 {
            true => (0.0, "0".to_owned()),
            false => (value, tick(value, self.step)),
        };
        values.map(label).collect()
    }
}

/// The lowest of 1, 2, 5 times a power of ten that is at least `least`.
fn nice_step(least: f64) -> f64 {
    if !(least.is_finite() && least > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].into_iter().map(|factor| factor * power);
    steps.into_iter().find(|&step| step >= least).unwrap_or(10.0 * power)
}

fn tick(value: f64, step: f64) -> String {
    let (size, unit) = match step {
        step if step >= 1e9 => (1e9, "G"),
        step if step >= 1e6 => (1e6, "M"),
        step if step >= 10_000.0 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = if step / size < 0.1 { 2 } else { usize::from(step / size < 1.0) };
    format!("{}{unit}", money::apart(&format!("{:.digits$}", value / size), Language::En))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{money, report, t};

    /// A chart of the whole report from 1 March 2026 on, as after the cut-off.
    pub(crate) fn chart(report: &Report, cut_off: Option<DateTime<Utc>>) -> Option<Chart> {
        let from = t("2026-03-01T12:00:00");
        Chart::new(report, from, cut_off, cut_off.unwrap_or(from))
    }

    #[test]
    fn the_chart_lies_between_now_and_the_reports_end() {
        let mut falling = report("250", "10", 90, Edd::Null);
        let drawn = chart(&falling, Some(t("2026-03-26T11:00:00"))).unwrap();
        assert_eq!((drawn.steps.len(), drawn.ends()), (91, (money("250"), money("-650"))));
        assert_eq!(drawn.range(), (-650.0, 250.0));
        let past = chart(&falling, Some(t("2026-02-20T11:00:00"))).unwrap();
        assert_eq!(past.cut_off.map(|at| past.x(at)), Some(0.0));
        assert!(chart(&falling, Some(t("2027-03-26T11:00:00"))).unwrap().cut_off.is_none());
        falling.date = Some(t("2026-03-11T12:00:00"));
        assert_eq!(chart(&falling, None).unwrap().ends().1, money("150"), "nothing beyond the end");
    }

    #[test]
    fn twice_the_time_left_is_shown_and_no_less_than_a_week() {
        let falling = report("250", "10", 90, Edd::Null);
        let now = t("2026-03-01T12:00:00");
        let of = |cut_off| Chart::new(&falling, now, cut_off, now).unwrap();
        let zoomed = of(Some(t("2026-03-21T12:00:00")));
        assert_eq!((zoomed.end, zoomed.ends()), (t("2026-04-10T12:00:00"), (money("250"), money("-150"))));
        assert_eq!((zoomed.range().0, zoomed.x(t("2026-03-21T12:00:00"))), (-150.0, 0.5));
        assert!((zoomed.steps[1].0 - zoomed.x(t("2026-03-02T11:00:00"))).abs() < 1e-6);
        assert_eq!(of(Some(t("2026-03-03T12:00:00"))).end, t("2026-03-08T12:00:00"));
        for unchanged in [None, Some(t("2026-05-20T12:00:00")), Some(t("2026-02-20T12:00:00"))] {
            assert_eq!(of(unchanged).end, t("2026-05-30T12:00:00"), "{unchanged:?}");
        }
    }

    #[test]
    fn ticks_are_round() {
        for (least, want) in
            [(0.0, 1.0), (0.3, 0.5), (1.0, 1.0), (130.0, 200.0), (6.0, 10.0), (f64::NAN, 1.0)]
        {
            assert!((nice_step(least) - want).abs() < 1e-9, "{least}");
        }
        assert_eq!(tick(-250_000.0, 50_000.0), "\u{2212}250k");
        assert_eq!(tick(0.5, 0.5), "0.5");
        let scale = chart(&report("250", "10", 90, Edd::Null), None).unwrap().scale();
        let ticks: Vec<String> = scale.ticks().into_iter().map(|(_, text)| text).collect();
        assert_eq!(ticks, ["\u{2212}1\u{202f}000", "\u{2212}500", "0", "500"]);
        assert!((scale.part(250.0) - 1250.0 / 1500.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_balance_or_time_nothing_is_drawn() {
        let mut none = report("5", "1", 0, Edd::Null);
        assert!(chart(&none, None).is_none(), "no time is covered");
        none.date = Some(t("2026-06-01"));
        assert_eq!(chart(&none, None).unwrap().ends(), (money("5"), money("5")));
        none.expected_balance = None;
        assert!(chart(&none, None).is_none(), "no balance is known");
    }
}
