//! The balance to come as a chart of block characters, for a terminal of any width. Pure.
//!
//! Each column is a span of time and shows the least balance within it; above the zero line what is
//! left, below it what is missing.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::layout::{Layout, Tone};
use super::{text, words};
use crate::model::{PayBy, Report, forecast, pay_by};

/// Eighths of a character, from below.
const UP: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const ROWS: usize = 8;
const NARROW_ROWS: usize = 6;
const NARROW: usize = 60;
/// Wider is no clearer.
const MOST_COLUMNS: usize = 90;
const INDENT: usize = 2;

/// What is drawn.
pub(super) struct Chart<'a> {
    pub(super) report: &'a Report,
    /// The left end: today.
    pub(super) from: DateTime<Utc>,
    pub(super) disconnect: Option<DateTime<Utc>>,
    pub(super) lead_days: u32,
    pub(super) zone: Tz,
}

impl Chart<'_> {
    /// Draws it; nothing where the report has no balance or covers no time.
    pub(super) fn draw(&self, layout: &mut Layout) {
        let Some(end) = self.end() else { return };
        let Some(now) = forecast::balance_now(self.report).map(|balance| balance.to_f64()) else { return };
        let mut labels: Vec<String> = Vec::new();
        // The labels' width depends on the scale, and the scale on the least balance alone.
        let (high, low) = self.extremes(now);
        labels.extend([high, low, 0.0].map(short));
        let margin = labels.iter().map(|label| text::width(label)).max().unwrap_or(1);
        let columns = layout.width().saturating_sub(INDENT + margin + 2).clamp(1, MOST_COLUMNS);
        let values = self.columns(now, end, columns);
        let scale = Scale::new(high, low, if layout.width() < NARROW { NARROW_ROWS } else { ROWS });
        let at = |moment: DateTime<Utc>| self.column(moment, end, columns);
        let late = self.disconnect.and_then(|cut| pay_by::too_late_from(cut, self.lead_days, self.zone));
        let late = late.map_or(columns, at);
        let cut = self.disconnect.map_or(columns, at);
        let tone = |column: usize| match column {
            column if column >= cut => Tone::Bad,
            column if column >= late => Tone::Warn,
            _ => Tone::Good,
        };
        let mut line = |label: &str, axis: &str, cells: Vec<(String, Tone)>| {
            let mut spans = vec![(format!("{}{axis}", text::pad(label, margin + 1, true)), Tone::Faint)];
            spans.extend(joined(cells));
            layout.drawn(INDENT, &spans);
        };
        for row in (0..scale.above).rev() {
            let cells = values.iter().enumerate();
            let cells = cells.map(|(column, &value)| (scale.up(value, row).to_owned(), tone(column)));
            let label = if row + 1 == scale.above { short(high) } else { String::new() };
            line(&label, "│", cells.collect());
        }
        let zero = (0..columns).map(|column| {
            let mark = if column == cut { "┼" } else { "─" };
            (mark.to_owned(), if column == cut { Tone::Bad } else { Tone::Faint })
        });
        line("0", "┼", zero.collect());
        for row in 0..scale.below {
            let cells = values.iter().map(|&value| (scale.down(value, row).to_owned(), Tone::Bad));
            let label = if row + 1 == scale.below { short(low) } else { String::new() };
            line(&label, "│", cells.collect());
        }
        self.marks(&mut line, columns, late, cut);
        let (first, last) = (self.short_day(self.from), self.short_day(end));
        let first = format!("{first} today");
        let fill = columns.saturating_sub(text::width(&first) + text::width(&last));
        if fill > 0 {
            line("", " ", vec![(format!("{first}{}{last}", " ".repeat(fill)), Tone::Faint)]);
        } else {
            line("", " ", vec![(text::cut(&first, columns), Tone::Faint)]);
        }
        self.legend(layout, margin);
    }

    /// Arrows below the columns of the last day to pay and of the cut-off.
    fn marks(
        &self,
        line: &mut impl FnMut(&str, &str, Vec<(String, Tone)>),
        columns: usize,
        late: usize,
        cut: usize,
    ) {
        let mark = |column: usize| match column {
            column if column == cut => ("▲", Tone::Bad),
            column if column == late => ("△", Tone::Warn),
            _ => (" ", Tone::Plain),
        };
        let cells = (0..columns).map(mark).map(|(mark, tone)| (mark.to_owned(), tone));
        if late < columns || cut < columns {
            line("", " ", cells.collect());
        }
    }

    fn legend(&self, layout: &mut Layout, margin: usize) {
        let end = self.end().unwrap_or(self.from);
        let within = |at: &DateTime<Utc>| *at >= self.from && *at <= end;
        let pay_by = self.disconnect.filter(|at| within(at)).and_then(|at| {
            let date = PayBy::before(at, self.lead_days, self.zone, self.from)?.date()?;
            Some(format!("△ pay by {}", words::short_weekday(date, self.zone, self.from)))
        });
        let cut_off = self.disconnect.filter(within).map(|at| format!("▲ cut off {}", self.short_day(at)));
        let legend: Vec<String> = pay_by.into_iter().chain(cut_off).collect();
        if !legend.is_empty() {
            layout.text(INDENT + margin + 2, legend.join(" · "), Tone::Faint);
        }
    }

    fn short_day(&self, at: DateTime<Utc>) -> String {
        words::short_weekday(at.with_timezone(&self.zone).date_naive(), self.zone, self.from)
    }

    fn end(&self) -> Option<DateTime<Utc>> {
        let end = self.report.date.or_else(|| self.report.moments.last().map(|moment| moment.at))?;
        (end > self.from).then_some(end)
    }

    fn extremes(&self, now: f64) -> (f64, f64) {
        let balances = self.report.moments.iter().map(|moment| moment.balance.to_f64());
        balances
            .fold((now.max(0.0), now.min(0.0)), |(high, low), balance| (high.max(balance), low.min(balance)))
    }

    /// Which column a moment falls into; past the end, the number of columns.
    fn column(&self, at: DateTime<Utc>, end: DateTime<Utc>, columns: usize) -> usize {
        if at > end {
            return columns;
        }
        let span = (end - self.from).num_seconds().max(1) as f64;
        let part = (at - self.from).num_seconds().max(0) as f64 / span;
        ((part * columns as f64) as usize).min(columns - 1)
    }

    /// The least balance within each column.
    fn columns(&self, now: f64, end: DateTime<Utc>, columns: usize) -> Vec<f64> {
        let mut least: Vec<Option<f64>> = vec![None; columns];
        let mut after: Vec<Option<f64>> = vec![None; columns];
        for moment in self.report.moments.iter() {
            let Some(column) = Some(self.column(moment.at, end, columns)).filter(|&at| at < columns) else {
                continue;
            };
            let balance = moment.balance.to_f64();
            least[column] = Some(least[column].map_or(balance, |least: f64| least.min(balance)));
            after[column] = Some(balance);
        }
        let mut current = now;
        let shown = least.into_iter().zip(after).map(|(least, after)| {
            let shown = least.unwrap_or(current);
            current = after.unwrap_or(current);
            shown
        });
        shown.collect()
    }
}

/// How much a row of characters stands for.
struct Scale {
    above: usize,
    below: usize,
    per_row: f64,
}

impl Scale {
    fn new(high: f64, low: f64, rows: usize) -> Self {
        let span = high - low;
        if span <= 0.0 {
            return Self { above: 1, below: 0, per_row: 1.0 };
        }
        let above = ((high / span * rows as f64).round() as usize).clamp(usize::from(high > 0.0), rows);
        let below = (rows - above).max(usize::from(low < 0.0));
        let of = |value: f64, rows: usize| if rows == 0 { 0.0 } else { value / rows as f64 };
        Self { above, below, per_row: of(high, above).max(of(-low, below)) }
    }

    /// The character of a balance in a row above zero, from 0.
    fn up(&self, value: f64, row: usize) -> &'static str {
        if value <= 0.0 {
            return UP[0];
        }
        // What is left is seen, however little it is.
        let eighths = (value / self.per_row * 8.0).round().max(1.0) as usize;
        UP[eighths.saturating_sub(row * 8).min(8)]
    }

    /// The same below zero; from above there are fewer parts of a character.
    fn down(&self, value: f64, row: usize) -> &'static str {
        if value >= 0.0 {
            return " ";
        }
        let eighths = (-value / self.per_row * 8.0).round().max(1.0) as usize;
        match eighths.saturating_sub(row * 8) {
            0 => " ",
            1..=2 => "▔",
            3..=6 => "▀",
            _ => "█",
        }
    }
}

/// Neighbours of one tone as one piece.
fn joined(cells: Vec<(String, Tone)>) -> Vec<(String, Tone)> {
    let mut out: Vec<(String, Tone)> = Vec::new();
    for (text, tone) in cells {
        match out.last_mut() {
            Some((last, same)) if *same == tone => last.push_str(&text),
            _ => out.push((text, tone)),
        }
    }
    out
}

/// `226`, `-1.2k`: as a label of the axis.
fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        size if size >= 1e13 => format!("{value:.0e}"),
        size if size >= 1e10 => format!("{:.0}G", value / 1e9),
        size if size >= 1e7 => format!("{:.1}M", value / 1e6),
        size if size >= 1e5 => format!("{:.0}k", value / 1e3),
        size if size >= 10.0 || size == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{report, t};
    use crate::terminal::Style;

    fn drawn(report: &Report, width: usize) -> String {
        let from = t("2026-03-01T12:00:00");
        let disconnect = forecast::first_unpaid(report);
        let mut layout = Layout::new(Style { width, colour: false });
        Chart { report, from, disconnect, lead_days: 3, zone: Tz::UTC }.draw(&mut layout);
        layout.finish()
    }

    #[test]
    fn a_falling_balance_crosses_the_zero_line_where_the_account_is_cut_off() {
        let text = drawn(&report("250", "10", 50, Edd::Null), 60);
        let lines: Vec<&str> = text.lines().collect();
        let zero = lines.iter().position(|line| line.contains("0┼")).unwrap();
        let cut = lines[zero].chars().skip_while(|&c| c != '┼').skip(1).position(|c| c == '┼').unwrap();
        let cell = |row: usize, column: usize| {
            lines[row].split_once(['│', '┼']).unwrap().1.chars().nth(column).unwrap_or(' ')
        };
        assert_eq!((cell(zero - 1, cut - 1) != ' ', cell(zero - 1, cut)), (true, ' '), "{text}");
        assert_eq!((cell(zero + 1, cut), cell(zero + 1, cut + 2) != ' '), (' ', true), "{text}");
        assert!(text.contains("△ pay by Mon 23 March · ▲ cut off Thu 26 March"), "{text}");
        assert!(lines[0].trim_start().starts_with("250│") && text.contains("-250│"), "{text}");
    }

    #[test]
    fn odd_reports_make_no_odd_drawing() {
        let mut none = report("5", "1", 0, Edd::Null);
        assert_eq!(drawn(&none, 80), "", "no time is covered");
        none.date = Some(t("2026-06-01"));
        assert!(drawn(&none, 80).contains("5.00│█"), "without charges nothing changes");
        none.expected_balance = None;
        assert_eq!(drawn(&none, 80), "", "no balance is known");
        for (balance, per_day) in [("0", "0"), ("-5", "1"), ("0.01", "0.001"), ("1e27", "1e25")] {
            for width in [0, 20, 40, 80, 400] {
                let text = drawn(&report(balance, per_day, 90, Edd::Null), width);
                assert!(!text.contains("NaN") && !text.contains("inf") && !text.is_empty(), "{text}");
                let widest = text.lines().map(super::text::width).max().unwrap();
                assert!(widest <= width.clamp(20, 120), "{widest} of {width}:\n{text}");
            }
        }
    }
}
