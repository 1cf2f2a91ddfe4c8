//! The balance to come as a step chart in SVG. Pure; one function of a report, for page and mail.
//! All colours come from classes, so that the style around it decides.

use std::fmt::Write as _;

use chrono::{DateTime, Datelike as _, Duration, Utc};
use chrono_tz::Tz;

use crate::model::{Report, forecast, pay_by};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 30.0;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chart<'a> {
    pub report: &'a Report,
    /// When the report was read: the left end.
    pub from: DateTime<Utc>,
    pub today: DateTime<Utc>,
    /// When the account is cut off.
    pub disconnect: Option<DateTime<Utc>>,
    /// How long a payment takes to arrive, in days: the band before the cut-off.
    pub lead_days: u32,
    pub zone: Tz,
}

impl Chart<'_> {
    /// The chart as an `<svg>` element; `None` where the report has no balance or covers no time.
    ///
    /// Holds nothing that the provider wrote but numbers and dates.
    pub(crate) fn svg(&self) -> Option<String> {
        let points = self.points()?;
        let end = self.end()?;
        let (low, high) = points
            .iter()
            .fold((0.0_f64, 0.0_f64), |(low, high), point| (low.min(point.1), high.max(point.1)));
        let step = nice_step((high - low) / 4.0);
        let (low, high) = ((low / step).floor() * step, ((high / step).ceil() * step).max(step));
        let frame = Frame { from: self.from, end, low, high };
        let mut out = String::with_capacity(8 * 1024);
        let _ = write!(
            out,
            r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
            self.summary(&points, end)
        );
        self.bands(&frame, &mut out);
        axes(&frame, step, self.zone, &mut out);
        steps(&frame, &points, &mut out);
        self.marks(&frame, &mut out);
        out.push_str("</svg>");
        Some(out)
    }

    fn end(&self) -> Option<DateTime<Utc>> {
        let end = self.report.date.or_else(|| self.report.moments.last().map(|moment| moment.at))?;
        (end > self.from).then_some(end)
    }

    /// Balance from each moment on; the first is the balance now.
    fn points(&self) -> Option<Vec<(DateTime<Utc>, f64)>> {
        let now = forecast::balance_now(self.report)?;
        let mut points = vec![(self.from, now.to_f64())];
        points.extend(
            self.report.moments.iter().map(|moment| (moment.at.max(self.from), moment.balance.to_f64())),
        );
        Some(points)
    }

    fn summary(&self, points: &[(DateTime<Utc>, f64)], end: DateTime<Utc>) -> String {
        let first = points.first().map_or(0.0, |point| point.1);
        let last = points.last().map_or(0.0, |point| point.1);
        let mut text =
            format!("Balance: {first:.2} now, {last:.2} expected on {}.", short_day(end, self.zone));
        if let Some(at) = self.disconnect {
            let _ = write!(text, " Cut off on {}.", short_day(at, self.zone));
        }
        text
    }

    /// Behind everything: the days in which a payment comes too late, and those after the cut-off.
    fn bands(&self, frame: &Frame, out: &mut String) {
        let Some(at) = self.disconnect.filter(|&at| at <= frame.end) else { return };
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
        let late = pay_by::too_late_from(at, self.lead_days, self.zone).unwrap_or(at);
        band("late", frame.x(late), frame.x(at));
        band("dark", frame.x(at), WIDTH - RIGHT);
    }

    /// Before everything: today, the last day to pay, the cut-off; each with its word.
    fn marks(&self, frame: &Frame, out: &mut String) {
        let mut mark = |class: &str, at: DateTime<Utc>, row: f64, word: &str, before: bool| {
            if at < frame.from || at > frame.end {
                return;
            }
            let x = frame.x(at);
            let before = before || x > WIDTH * 0.7;
            let (anchor, label) = if before { ("end", x - 4.0) } else { ("start", x + 4.0) };
            let (top, bottom) = (row + 4.0, HEIGHT - BOTTOM);
            let _ = write!(
                out,
                r#"<line class="{class}" x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}"/><text class="{class}" x="{label:.1}" y="{row}" text-anchor="{anchor}">{word}</text>"#
            );
        };
        let near = |at: &DateTime<Utc>| (0.0..45.0).contains(&(frame.x(*at) - frame.x(self.today)));
        // The line of a near cut-off would cross the word.
        mark("today", self.today, 32.0, "today", self.disconnect.as_ref().is_some_and(near));
        if let Some(at) = self.disconnect {
            let day = short_day(at, self.zone);
            mark("cut", at, 16.0, &format!("cut off {day}"), false);
        }
    }
}

/// Where a moment and a balance stand in the drawing.
struct Frame {
    from: DateTime<Utc>,
    end: DateTime<Utc>,
    low: f64,
    high: f64,
}

impl Frame {
    fn x(&self, at: DateTime<Utc>) -> f64 {
        let span = (self.end - self.from).num_seconds().max(1) as f64;
        let part = (at - self.from).num_seconds() as f64 / span;
        LEFT + part.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, balance: f64) -> f64 {
        let part = (balance - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    }
}

fn axes(frame: &Frame, step: f64, zone: Tz, out: &mut String) {
    let count = ((frame.high - frame.low) / step).round() as i32;
    for index in 0..=count {
        let value = frame.low + f64::from(index) * step;
        let y = frame.y(value);
        let class = if value.abs() < step / 2.0 { "zero" } else { "grid" };
        let (right, text) = (WIDTH - RIGHT, tick(value, step));
        let _ = write!(
            out,
            r#"<line class="{class}" x1="{LEFT}" y1="{y:.1}" x2="{right}" y2="{y:.1}"/><text class="axis" x="{}" y="{:.1}" text-anchor="end">{text}</text>"#,
            LEFT - 6.0,
            y + 4.0
        );
    }
    let days = (frame.end - frame.from).num_days().max(1);
    let every = [1_u32, 2, 7, 14, 30, 60, 90, 180].into_iter().find(|&every| days / i64::from(every) <= 6);
    let every = every.unwrap_or(365);
    for day in (0..=days).step_by(every as usize) {
        let at = frame.from + Duration::days(day);
        let (x, y) = (frame.x(at), HEIGHT - BOTTOM + 18.0);
        let anchor = if x > WIDTH - RIGHT - 20.0 { "end" } else { "middle" };
        let text = short_day(at, zone);
        let _ = write!(out, r#"<text class="axis" x="{x:.1}" y="{y}" text-anchor="{anchor}">{text}</text>"#);
    }
}

/// The line itself; of the moments that fall on one half of a pixel only the last is drawn.
fn steps(frame: &Frame, points: &[(DateTime<Utc>, f64)], out: &mut String) {
    let _ = write!(out, r#"<path class="line" d="M{LEFT:.1} {:.1}"#, frame.y(points[0].1));
    let mut rest = points[1..].iter().peekable();
    while let Some(&(at, balance)) = rest.next() {
        let x = frame.x(at);
        let column = |x: f64| (x * 2.0).floor() as i64;
        if rest.peek().is_some_and(|next| column(frame.x(next.0)) == column(x)) {
            continue;
        }
        let _ = write!(out, "H{x:.1}V{:.1}", frame.y(balance));
    }
    let _ = write!(out, r#"H{:.1}"/>"#, WIDTH - RIGHT);
}

/// The least of 1, 2, 5 times a power of ten that is no less.
fn nice_step(least: f64) -> f64 {
    if !(least.is_finite() && least > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= least)
        .unwrap_or(10.0 * power)
}

fn tick(value: f64, step: f64) -> String {
    // Never "-0", nor "0k".
    if value.abs() < step / 2.0 {
        return "0".to_owned();
    }
    let (size, unit) = match step {
        step if step >= 1e9 => (1e9, "G"),
        step if step >= 1e6 => (1e6, "M"),
        step if step >= 10_000.0 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = if step / size < 0.1 {
        2
    } else if step / size < 1.0 {
        1
    } else {
        0
    };
    format!("{:.digits$}{unit}", value / size)
}

fn short_day(at: DateTime<Utc>, zone: Tz) -> String {
    let at = at.with_timezone(&zone);
    format!("{} {}", at.day(), at.format("%b"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{report, t};

    fn chart(report: &Report) -> Chart<'_> {
        let from = t("2026-03-01T12:00:00");
        let disconnect = forecast::first_unpaid(report);
        Chart { report, from, today: from, disconnect, lead_days: 3, zone: Tz::UTC }
    }

    #[test]
    fn a_falling_balance_crosses_zero_at_the_cut_off() {
        let report = report("250", "10", 90, Edd::Null);
        let svg = chart(&report).svg().unwrap();
        assert!(
            svg.contains(
                "aria-label=\"Balance: 250.00 now, -650.00 expected on 30 May. Cut off on 26 Mar.\""
            ),
            "{svg}"
        );
        for part in ["class=\"zero\"", ">today<", ">cut off 26 Mar<", "class=\"late\"", "class=\"dark\""] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("V").count(), 90, "one step a charge");
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("style="), "{svg}");
    }

    #[test]
    fn odd_reports_make_no_odd_drawing() {
        let flat = report("0", "0", 5, Edd::Null);
        assert!(!chart(&flat).svg().unwrap().contains("NaN"));
        let mut none = report("5", "1", 0, Edd::Null);
        assert!(chart(&none).svg().is_none(), "no time is covered");
        none.date = Some(t("2026-06-01"));
        none.expected_balance = None;
        assert!(chart(&none).svg().is_none(), "no balance is known");
        let long = report("1e9", "1", 20_000, Edd::Null);
        let svg = chart(&long).svg().unwrap();
        assert!(svg.len() < 40_000, "{} bytes: charges closer than a pixel are one step", svg.len());
        assert!(svg.matches('V').count() > 500, "and the line still falls step by step");
    }

    #[test]
    fn ticks_are_round() {
        for (least, want) in
            [(0.0, 1.0), (0.3, 0.5), (1.0, 1.0), (130.0, 200.0), (6.0, 10.0), (f64::NAN, 1.0)]
        {
            assert!((nice_step(least) - want).abs() < 1e-9, "{least}");
        }
        assert_eq!(tick(-0.0, 5.0), "0");
        assert_eq!(tick(1e-9, 50_000.0), "0");
        assert_eq!(tick(-250_000.0, 50_000.0), "-250k");
        assert_eq!(tick(0.5, 0.5), "0.5");
    }
}
