//! Thirty days of a resource as bars in SVG, one bar a day. All colours come from classes, and all text is our own. Pure.

use std::fmt::Write as _;

use super::cards;
use crate::view::history::{Bar, Day};

/// The width of a day with the gap to the next one; the line is eight wide.
const DAY: usize = 10;
const HEIGHT: f64 = 20.0;
/// The least height of a part, so that a minute is still visible.
const LEAST: f64 = 3.0;

/// The bars as an `<svg>` element: one line of each colour, of many days.
pub(super) fn svg(bar: &Bar) -> String {
    let width = DAY * bar.days.len();
    let mut out = format!(
        "<svg class=\"bar\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
        bar.summary
    );
    for class in ["blank", "well", "missed", "off", "unknown", "bad"] {
        let lines: String =
            bar.days.iter().enumerate().filter_map(|(place, day)| line(day, place, class)).collect();
        if !lines.is_empty() {
            let _ = write!(out, "<path class=\"{class}\" d=\"{lines}\"/>");
        }
    }
    out.push_str("</svg>");
    out
}

/// The line of one day in this colour; `None` where it has none of it.
fn line(day: &Day, place: usize, class: &str) -> Option<String> {
    let height = |part: f64| if part > 0.0 { (part * HEIGHT).max(LEAST) } else { 0.0 };
    let missed = height(day.missed);
    let (from, to) = match (day.worst, class) {
        (_, "blank") => (HEIGHT, 0.0),
        (None, "well") => (HEIGHT, HEIGHT - height(day.watched).min(HEIGHT - missed)),
        (None, "missed") => (missed, 0.0),
        (Some(severity), class) if class == cards::severity(Some(severity)) => (HEIGHT, 0.0),
        _ => return None,
    };
    let x = place * DAY + DAY / 2;
    (from - to > 0.05).then(|| format!("M{x} {from:.0}V{to:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Severity;

    #[test]
    fn a_day_is_green_as_far_as_it_was_watched_and_red_where_something_was_wrong() {
        let day = |worst, watched, missed| Day { worst, watched, missed };
        let days = vec![
            day(None, 0.0, 0.0),
            day(None, 1.0, 0.0),
            day(None, 0.999, 0.001),
            day(None, 0.0, 1.0),
            day(Some(Severity::Warning), 0.5, 0.5),
            day(Some(Severity::Critical), 1.0, 0.0),
        ];
        let drawn = svg(&Bar { days, first_day: String::new(), summary: "Six days".into() });
        for part in [
            "viewBox=\"0 0 60 20\"",
            "aria-label=\"Six days\"",
            "<path class=\"blank\" d=\"M5 20V0M15 20V0M25 20V0M35 20V0M45 20V0M55 20V0\"/>",
            "<path class=\"well\" d=\"M15 20V0M25 20V3\"/>",
            "<path class=\"missed\" d=\"M25 3V0M35 20V0\"/>",
            "<path class=\"unknown\" d=\"M45 20V0\"/><path class=\"bad\" d=\"M55 20V0\"/></svg>",
        ] {
            assert!(drawn.contains(part), "{part} in {drawn}");
        }
    }
}
