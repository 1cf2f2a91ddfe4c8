//! The balance to come as a chart of block characters, for a terminal of any width. Pure.
//!
//! Each column is a span of time and shows the least balance within it; above the zero line what is
//! left, below it what is missing.

use chrono::{DateTime, Utc};

use super::layout::{Emphasis, Layout};
use super::{text, words};
use crate::model::PayBy;
use crate::model::money;
use crate::view::chart::Chart;

/// Eighths of a character, from below.
const UP: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const ROWS: usize = 8;
const NARROW_ROWS: usize = 6;
const NARROW: usize = 60;
/// Wider is no clearer.
const MOST_COLUMNS: usize = 90;
const INDENT: usize = 2;

/// Draws it; `pay_by` is the day for the legend.
pub(super) fn draw(chart: &Chart, pay_by: Option<PayBy>, from_today: bool, layout: &mut Layout) {
    let (low, high) = chart.range();
    let margin = [high, low, 0.0].map(|value| text::width(&short(value))).into_iter().max().unwrap_or(1);
    let columns = layout.width().saturating_sub(INDENT + margin + 2).clamp(1, MOST_COLUMNS);
    let column = |part: f64| ((part * columns as f64) as usize).min(columns - 1);
    let values = least(chart, columns, column);
    let scale = Scale::new(high, low, if layout.width() < NARROW { NARROW_ROWS } else { ROWS });
    let marks = chart.marks.map(|marks| (column(chart.x(marks.late)), column(chart.x(marks.cut_off))));
    let (late, cut) = marks.unwrap_or((columns, columns));
    let tone = |column: usize| match column {
        column if column >= cut => Emphasis::Bad,
        column if column >= late => Emphasis::Warn,
        _ => Emphasis::Good,
    };
    let mut line = |label: &str, axis: &str, cells: Vec<(String, Emphasis)>| {
        let mut spans = vec![(format!("{}{axis}", text::pad(label, margin + 1, true)), Emphasis::Faint)];
        spans.extend(joined(cells));
        layout.drawn(INDENT, &spans);
    };
    for row in (0..scale.above).rev() {
        let cells = values.iter().enumerate();
        let cells = cells.map(|(column, &value)| (scale.up(value, row).to_owned(), tone(column)));
        let label = if row + 1 == scale.above { short(high) } else { String::new() };
        line(&label, "│", cells.collect());
    }
    let each = |cell: &dyn Fn(usize) -> (&'static str, Emphasis)| {
        (0..columns).map(cell).map(|(mark, tone)| (mark.to_owned(), tone)).collect::<Vec<_>>()
    };
    line("0", "┼", each(&|column| if column == cut { ("┼", Emphasis::Bad) } else { ("─", Emphasis::Faint) }));
    for row in 0..scale.below {
        let cells = values.iter().map(|&value| (scale.down(value, row).to_owned(), Emphasis::Bad));
        let label = if row + 1 == scale.below { short(low) } else { String::new() };
        line(&label, "│", cells.collect());
    }
    if marks.is_some() {
        let arrows = each(&|column| match column {
            column if column == cut => ("▲", Emphasis::Bad),
            column if column == late => ("△", Emphasis::Warn),
            _ => (" ", Emphasis::Plain),
        });
        line("", " ", arrows);
    }
    line("", " ", vec![(days(chart, from_today, columns), Emphasis::Faint)]);
    if let Some(marks) = chart.marks {
        // A day that is over has no place in it.
        let date = pay_by.filter(|by| !by.is_at_once()).and_then(PayBy::date);
        let pay_by =
            date.map(|date| format!("△ pay by {} · ", words::subject_day(date, chart.zone, chart.from)));
        let legend = format!("{}▲ cut-off {}", pay_by.unwrap_or_default(), short_day(chart, marks.cut_off));
        layout.text(INDENT + margin + 2, legend, Emphasis::Faint);
    }
}

/// The days at both ends, as far as there is room.
fn days(chart: &Chart, from_today: bool, columns: usize) -> String {
    let today = if from_today { " today" } else { "" };
    let first = format!("{}{today}", short_day(chart, chart.from));
    let last = short_day(chart, chart.end);
    match columns.saturating_sub(text::width(&first) + text::width(&last)) {
        0 => text::cut(&first, columns),
        fill => format!("{first}{}{last}", " ".repeat(fill)),
    }
}

fn short_day(chart: &Chart, at: DateTime<Utc>) -> String {
    words::day_of(at, chart.zone, chart.from)
}

/// The least balance within each column.
fn least(chart: &Chart, columns: usize, column: impl Fn(f64) -> usize) -> Vec<f64> {
    let mut within: Vec<Option<(f64, f64)>> = vec![None; columns];
    for &(x, balance) in chart.steps.iter().skip(1) {
        let balance = balance.to_f64();
        let least = within[column(x)].map_or(balance, |(least, _)| least.min(balance));
        within[column(x)] = Some((least, balance));
    }
    let mut current = chart.ends().0.to_f64();
    let shown = within.into_iter().map(|within| {
        let (least, last) = within.unwrap_or((current, current));
        current = last;
        least
    });
    shown.collect()
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
fn joined(cells: Vec<(String, Emphasis)>) -> Vec<(String, Emphasis)> {
    let mut out: Vec<(String, Emphasis)> = Vec::new();
    for (text, tone) in cells {
        match out.last_mut() {
            Some((last, same)) if *same == tone => last.push_str(&text),
            _ => out.push((text, tone)),
        }
    }
    out
}

/// `226`, `−1 200`: as a label of the axis.
fn short(value: f64) -> String {
    let size = value.abs();
    money::apart(&match size {
        size if size >= 1e13 => format!("{value:.0e}"),
        size if size >= 1e10 => format!("{:.0}G", value / 1e9),
        size if size >= 1e7 => format!("{:.1}M", value / 1e6),
        size if size >= 1e5 => format!("{:.0}k", value / 1e3),
        size if size >= 10.0 || size == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{report, t};
    use crate::model::{Edd, Report, forecast};
    use crate::terminal::Style;
    use crate::view::chart::tests::chart;

    fn drawn(report: &Report, width: usize) -> String {
        let cut_off = forecast::first_unpaid(report);
        let mut layout = Layout::new(Style { width, colour: false });
        let chart = chart(report, cut_off).unwrap();
        let pay_by = cut_off.and_then(|at| PayBy::before(at, 3, chart.zone, chart.from));
        draw(&chart, pay_by, true, &mut layout);
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
        assert!(text.contains("△ pay by Mon 23 Mar · ▲ cut-off Thu 26 Mar"), "{text}");
        let late = drawn(&report("15", "10", 50, Edd::Null), 60);
        assert!(late.contains("\n") && !late.contains("△ pay by") && late.contains("▲ cut-off"), "{late}");
        assert!(lines[0].trim_start().starts_with("250│") && text.contains("\u{2212}250│"), "{text}");
    }

    #[test]
    fn odd_reports_make_no_odd_drawing() {
        let mut none = report("5", "1", 0, Edd::Null);
        none.date = Some(t("2026-06-01"));
        assert!(drawn(&none, 80).contains("5.00│█"), "without charges nothing changes");
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
