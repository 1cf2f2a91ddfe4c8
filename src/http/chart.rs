//! The forecast balance as a step chart in SVG, for the page. All colours come from classes of the page's
//! style. Pure.

use std::fmt::Write as _;

use chrono::{DateTime, Duration, Utc};

use crate::model::say;
use crate::view::chart::{Chart, Marks, Scale};
use crate::view::{Reader, words};

const LEFT: f64 = 66.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 30.0;
/// The width of a label with the space to the next one: of a day, and of a day that may have its year.
const LABEL: f64 = 62.0;
const LONG_LABEL: f64 = 100.0;
/// The width of the words at the cut-off.
const WORDS: f64 = 140.0;

/// The size of a drawing. Text has the same size in every drawing.
struct Size {
    class: &'static str,
    width: f64,
    height: f64,
}

const WIDE: Size = Size { class: "chart", width: 1056.0, height: 260.0 };
const NARROW: Size = Size { class: "chart narrow", width: 366.0, height: 220.0 };

/// The chart for a desktop and for a phone; the style shows one of them.
pub(crate) fn svg(chart: &Chart, currency: &str, reader: Reader) -> String {
    drawn(chart, &WIDE, currency, reader) + &drawn(chart, &NARROW, currency, reader)
}

/// One `<svg>` element. Of the provider's data it holds only numbers and dates.
fn drawn(chart: &Chart, size: &Size, currency: &str, reader: Reader) -> String {
    let frame = Frame { chart, scale: chart.scale(), size, reader };
    let mut out = String::with_capacity(8 * 1024);
    let label = chart.summary("", reader);
    let Size { class, width, height } = size;
    let _ = write!(
        out,
        r#"<svg class="{class}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">"#
    );
    frame.bands(&mut out);
    frame.axes(currency, &mut out);
    frame.steps(&mut out);
    frame.marks(&mut out);
    out.push_str("</svg>");
    out
}

/// The places of moments and balances in the drawing.
struct Frame<'a> {
    chart: &'a Chart,
    scale: Scale,
    size: &'a Size,
    reader: Reader,
}

impl Frame<'_> {
    fn x(&self, at: DateTime<Utc>) -> f64 {
        self.across(self.chart.x(at))
    }

    fn across(&self, part: f64) -> f64 {
        LEFT + part * (self.right() - LEFT)
    }

    fn right(&self) -> f64 {
        self.size.width - RIGHT
    }

    fn bottom(&self) -> f64 {
        self.size.height - BOTTOM
    }

    fn y(&self, balance: f64) -> f64 {
        self.bottom() - self.scale.part(balance) * (self.bottom() - TOP)
    }

    /// The background: the days on which a payment comes too late, and the days after the cut-off.
    fn bands(&self, out: &mut String) {
        let Some(Marks { late, cut_off }) = self.chart.marks else { return };
        let mut band = |class: &str, from: f64, to: f64| {
            if to > from {
                let (top, height) = (TOP, self.bottom() - TOP);
                let width = to - from;
                let _ = write!(
                    out,
                    r#"<rect class="{class}" x="{from:.1}" y="{top}" width="{width:.1}" height="{height}"/>"#
                );
            }
        };
        band("late", self.x(late), self.x(cut_off));
        band("dark", self.x(cut_off), self.right());
    }

    /// The foreground: today and the cut-off, each with its word.
    fn marks(&self, out: &mut String) {
        let Reader { language, now: today, .. } = self.reader;
        let mut mark = |class: &str, x: f64, row: f64, word: &str, before: bool| {
            let before = before || x > self.right() - WORDS;
            let (anchor, label) = if before { ("end", x - 4.0) } else { ("start", x + 4.0) };
            let (top, bottom) = (row + 4.0, self.bottom());
            let _ = write!(
                out,
                r#"<line class="{class}" x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}"/><text class="{class}" x="{label:.1}" y="{row}" text-anchor="{anchor}">{word}</text>"#
            );
        };
        let cut_off = self.chart.marks.map(|marks| marks.cut_off);
        if (self.chart.from..=self.chart.end).contains(&today) {
            let x = self.x(today);
            // The line of a near cut-off would cross the word.
            let near = cut_off.is_some_and(|at| (0.0..45.0).contains(&(self.x(at) - x)));
            mark("today", x, 32.0, language.pick("today", "сегодня"), near);
        }
        if let Some(at) = cut_off {
            let day = self.reader.short_day_of(at);
            let word = say!(language, "cut-off {day}", "отключение {day}");
            mark("cut", self.x(at), 16.0, &word, false);
        }
    }

    fn axes(&self, currency: &str, out: &mut String) {
        for (value, text) in self.scale.ticks() {
            let y = self.y(value);
            let class = if value == 0.0 { "zero" } else { "grid" };
            let right = self.right();
            let _ = write!(
                out,
                r#"<line class="{class}" x1="{LEFT}" y1="{y:.1}" x2="{right}" y2="{y:.1}"/><text class="axis" x="{}" y="{:.1}" text-anchor="end">{text}</text>"#,
                LEFT - 6.0,
                y + 4.0
            );
        }
        let unit = words::unit(currency, self.reader.language).replace(['<', '>', '&', '"', '\''], "");
        let (x, y) = (LEFT - 6.0, TOP - 16.0);
        let _ = write!(out, r#"<text class="axis" x="{x}" y="{y}" text-anchor="end">{unit}</text>"#);
        let days = (self.chart.end - self.chart.from).num_days().max(1);
        // The year is shown once, where it begins, and only if the chart is longer than a year.
        let is_long = days > 366;
        let label = if is_long { LONG_LABEL } else { LABEL };
        let has_room = |every: &i64| self.x(self.chart.from + Duration::days(*every)) - LEFT >= label;
        let every = [1, 2, 7, 14, 30, 60, 90, 180].into_iter().find(has_room).unwrap_or(365);
        let mut before = self.reader.now;
        for day in (0..=days).step_by(usize::try_from(every).unwrap_or(1)) {
            let at = self.chart.from + Duration::days(day);
            let (x, y) = (self.x(at), self.bottom() + 18.0);
            let anchor = if is_long && x > self.right() - RIGHT { "end" } else { "middle" };
            let text = Reader { now: if is_long { before } else { at }, ..self.reader }.short_day_of(at);
            before = at;
            let _ =
                write!(out, r#"<text class="axis" x="{x:.1}" y="{y}" text-anchor="{anchor}">{text}</text>"#);
        }
    }

    /// The line itself. Of the moments on one half of a pixel, only the last is drawn.
    fn steps(&self, out: &mut String) {
        let mut steps =
            self.chart.steps.iter().map(|(x, balance)| (self.across(*x), balance.to_f64())).peekable();
        let now = steps.next().map_or(0.0, |step| step.1);
        let _ = write!(out, r#"<path class="line" d="M{LEFT:.1} {:.1}"#, self.y(now));
        let column = |x: f64| (x * 2.0).floor() as i64;
        while let Some((x, balance)) = steps.next() {
            if steps.peek().is_none_or(|next| column(next.0) != column(x)) {
                let _ = write!(out, "H{x:.1}V{:.1}", self.y(balance));
            }
        }
        let _ = write!(out, r#"H{:.1}"/>"#, self.right());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{report, t};
    use crate::model::{Edd, Report, forecast};
    use crate::view::chart::tests::chart;

    fn wide(chart: &Chart, today: DateTime<Utc>) -> String {
        drawn(chart, &WIDE, "RUB", Reader::english(chrono_tz::Tz::UTC, today))
    }

    fn of(report: &Report) -> Option<String> {
        let chart = chart(report, forecast::first_unpaid(report))?;
        Some(wide(&chart, chart.from))
    }

    #[test]
    fn a_falling_balance_crosses_zero_at_the_cut_off() {
        let report = report("250", "10", 90, Edd::Null);
        let svg = of(&report).unwrap();
        assert!(
            svg.contains(
                "aria-label=\"Balance: 250.00 now, \u{2212}650.00 expected on 30 May; cut-off 26 Mar.\""
            ),
            "{svg}"
        );
        for part in ["class=\"zero\"", ">today<", ">cut-off 26 Mar<", "class=\"late\"", "class=\"dark\""] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("V").count(), 90, "one step a charge");
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("style="), "{svg}");
    }

    /// A phone showed `24 Nov8 Dec`.
    #[test]
    fn labels_of_days_keep_out_of_each_others_way() {
        let labels = |charges, size: &Size| -> Vec<(f64, String)> {
            let chart = chart(&report("250", "10", charges, Edd::Null), None).unwrap();
            let svg =
                drawn(&chart, size, "RUB", Reader::english(chrono_tz::Tz::UTC, t("2026-03-01T12:00:00")));
            let axis = svg.split("<text class=\"axis\" x=\"").skip(1).filter(|text| {
                text.contains("text-anchor=\"middle\"")
                    || text.contains(&format!("y=\"{}\"", size.height - BOTTOM + 18.0))
            });
            let label = |text: &str| {
                let (x, rest) = text.split_once('"').unwrap();
                (x.parse().unwrap(), rest.split(['>', '<']).nth(1).unwrap().to_owned())
            };
            axis.map(label).collect()
        };
        for (charges, size, least) in [
            (7, &NARROW, LABEL),
            (13, &NARROW, LABEL),
            (90, &NARROW, LABEL),
            (90, &WIDE, LABEL),
            (364, &NARROW, LABEL),
            (500, &NARROW, LONG_LABEL),
            (500, &WIDE, LONG_LABEL),
        ] {
            let found = labels(charges, size);
            assert!(found.len() > 1, "{charges}: {found:?}");
            assert!(found.windows(2).all(|two| two[1].0 - two[0].0 >= least), "{charges}: {found:?}");
        }
        let with_year = |(_, text): &&(f64, String)| text.ends_with(" 2027");
        assert_eq!(labels(500, &WIDE).iter().filter(with_year).count(), 1, "the year stands where it begins");
        assert_eq!(labels(90, &NARROW)[1].1, "31 Mar");
    }

    #[test]
    fn odd_reports_make_no_odd_drawing() {
        assert!(!of(&report("0", "0", 5, Edd::Null)).unwrap().contains("NaN"));
        let svg = of(&report("1e9", "1", 20_000, Edd::Null)).unwrap();
        assert!(svg.len() < 40_000, "{} bytes: charges closer than a pixel are one step", svg.len());
        assert!(svg.matches('V').count() > 500, "and the line still falls step by step");
        let over = chart(&report("5", "1", 9, Edd::Null), Some(t("2026-02-20"))).unwrap();
        assert!(wide(&over, over.from).contains(">cut-off 20 Feb<"), "a past cut-off stands at the left end");
    }
}
