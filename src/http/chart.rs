//! The balance to come as a step chart in SVG, for the page. All colours come from classes, so that the style around it
//! decides. Pure.

use std::fmt::Write as _;

use chrono::{DateTime, Duration, Utc};

use crate::model::sanitize;
use crate::view::chart::{Chart, Marks, Scale};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 30.0;

/// The chart as an `<svg>` element. Holds nothing that the provider wrote but numbers and dates.
pub(crate) fn svg(chart: &Chart, currency: &str, today: DateTime<Utc>) -> String {
    let frame = Frame { chart, scale: chart.scale() };
    let mut out = String::with_capacity(8 * 1024);
    let label = chart.summary("", today);
    let _ =
        write!(out, r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">"#);
    frame.bands(&mut out);
    frame.axes(currency, today, &mut out);
    frame.steps(&mut out);
    frame.marks(today, &mut out);
    out.push_str("</svg>");
    out
}

/// Where a moment and a balance stand in the drawing.
struct Frame<'a> {
    chart: &'a Chart,
    scale: Scale,
}

impl Frame<'_> {
    fn x(&self, at: DateTime<Utc>) -> f64 {
        across(self.chart.x(at))
    }

    fn y(&self, balance: f64) -> f64 {
        HEIGHT - BOTTOM - self.scale.part(balance) * (HEIGHT - TOP - BOTTOM)
    }

    /// Behind everything: the days in which a payment comes too late, and those after the cut-off.
    fn bands(&self, out: &mut String) {
        let Some(Marks { late, cut_off }) = self.chart.marks else { return };
        let mut band = |class: &str, from: f64, to: f64| {
            if to > from {
                let (top, height) = (TOP, HEIGHT - TOP - BOTTOM);
                let width = to - from;
                let _ = write!(
                    out,
                    r#"<rect class="{class}" x="{from:.1}" y="{top}" width="{width:.1}" height="{height}"/>"#
                );
            }
        };
        band("late", self.x(late), self.x(cut_off));
        band("dark", self.x(cut_off), WIDTH - RIGHT);
    }

    /// Before everything: today and the cut-off, each with its word.
    fn marks(&self, today: DateTime<Utc>, out: &mut String) {
        let mut mark = |class: &str, x: f64, row: f64, word: &str, before: bool| {
            let before = before || x > WIDTH * 0.7;
            let (anchor, label) = if before { ("end", x - 4.0) } else { ("start", x + 4.0) };
            let (top, bottom) = (row + 4.0, HEIGHT - BOTTOM);
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
            mark("today", x, 32.0, "today", near);
        }
        if let Some(at) = cut_off {
            mark("cut", self.x(at), 16.0, &format!("cut-off {}", self.chart.day(at, today)), false);
        }
    }

    fn axes(&self, currency: &str, today: DateTime<Utc>, out: &mut String) {
        for (value, text) in self.scale.ticks() {
            let y = self.y(value);
            let class = if value == 0.0 { "zero" } else { "grid" };
            let right = WIDTH - RIGHT;
            let _ = write!(
                out,
                r#"<line class="{class}" x1="{LEFT}" y1="{y:.1}" x2="{right}" y2="{y:.1}"/><text class="axis" x="{}" y="{:.1}" text-anchor="end">{text}</text>"#,
                LEFT - 6.0,
                y + 4.0
            );
        }
        let unit = sanitize::one_line(currency, 12).replace(['<', '>', '&', '"', '\''], "");
        let (x, y) = (LEFT - 6.0, TOP - 16.0);
        let _ = write!(out, r#"<text class="axis" x="{x}" y="{y}" text-anchor="end">{unit}</text>"#);
        let days = (self.chart.end - self.chart.from).num_days().max(1);
        let every = [1_u32, 2, 7, 14, 30, 60, 90, 180].into_iter();
        let every = every.into_iter().find(|&every| days / i64::from(every) <= 6).unwrap_or(365);
        // The year stands once, where it begins, and only where the chart is longer than one: with it a label is too
        // wide for its place on a phone.
        let is_long = days > 366;
        let mut before = today;
        for day in (0..=days).step_by(every as usize) {
            let at = self.chart.from + Duration::days(day);
            let (x, y) = (self.x(at), HEIGHT - BOTTOM + 18.0);
            // The first one leaves its corner to the axis of the balance.
            let anchor = match x {
                x if x > WIDTH - RIGHT - 36.0 => "end",
                _ if day == 0 => "start",
                _ => "middle",
            };
            let text = self.chart.day(at, if is_long { before } else { at });
            before = at;
            let _ =
                write!(out, r#"<text class="axis" x="{x:.1}" y="{y}" text-anchor="{anchor}">{text}</text>"#);
        }
    }

    /// The line itself; of the moments that fall on one half of a pixel only the last is drawn.
    fn steps(&self, out: &mut String) {
        let mut steps = self.chart.steps.iter().map(|(x, balance)| (across(*x), balance.to_f64())).peekable();
        let now = steps.next().map_or(0.0, |step| step.1);
        let _ = write!(out, r#"<path class="line" d="M{LEFT:.1} {:.1}"#, self.y(now));
        let column = |x: f64| (x * 2.0).floor() as i64;
        while let Some((x, balance)) = steps.next() {
            if steps.peek().is_none_or(|next| column(next.0) != column(x)) {
                let _ = write!(out, "H{x:.1}V{:.1}", self.y(balance));
            }
        }
        let _ = write!(out, r#"H{:.1}"/>"#, WIDTH - RIGHT);
    }
}

fn across(part: f64) -> f64 {
    LEFT + part * (WIDTH - LEFT - RIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{report, t};
    use crate::model::{Edd, Report, forecast};
    use crate::view::chart::tests::chart;

    fn drawn(report: &Report) -> Option<String> {
        let chart = chart(report, forecast::first_unpaid(report))?;
        Some(svg(&chart, "RUB", chart.from))
    }

    #[test]
    fn a_falling_balance_crosses_zero_at_the_cut_off() {
        let report = report("250", "10", 90, Edd::Null);
        let svg = drawn(&report).unwrap();
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

    /// On a phone a label with its year covers the next, and the first one that of the balance.
    #[test]
    fn labels_of_days_keep_out_of_each_others_way() {
        let chart = chart(&report("250", "10", 90, Edd::Null), None).unwrap();
        let next_year = svg(&chart, "RUB", t("2025-12-31"));
        assert!(
            next_year.contains("text-anchor=\"start\">1 Mar<") && next_year.contains(">15 Mar<"),
            "{next_year}"
        );
        let long = super::tests::chart(&report("250", "10", 500, Edd::Null), None).unwrap();
        assert!(svg(&long, "RUB", long.from).contains(" 2027<"), "the year stands where it begins");
    }

    #[test]
    fn odd_reports_make_no_odd_drawing() {
        assert!(!drawn(&report("0", "0", 5, Edd::Null)).unwrap().contains("NaN"));
        let svg = drawn(&report("1e9", "1", 20_000, Edd::Null)).unwrap();
        assert!(svg.len() < 40_000, "{} bytes: charges closer than a pixel are one step", svg.len());
        assert!(svg.matches('V').count() > 500, "and the line still falls step by step");
        let over = chart(&report("5", "1", 9, Edd::Null), Some(t("2026-02-20"))).unwrap();
        assert!(
            super::svg(&over, "RUB", over.from).contains(">cut-off 20 Feb<"),
            "a past cut-off stands at the left end"
        );
    }
}
