//! The balance to come as a picture for mails: a step line without lettering. What it shows is said in
//! words around it and in its alternative text. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::body::Figure;
use super::png::{Canvas, Colour};
use crate::model::{Money, Report, forecast, pay_by};
use crate::view::words;

/// Shown at half this size, so that it is sharp on dense screens.
const WIDTH: usize = 1200;
const HEIGHT: usize = 360;
const EDGE: usize = 16;
const LINE: usize = 4;

/// Indices into the palette; 0 is the paper.
const LATE: u8 = 1;
const DARK: u8 = 2;
const GRID: u8 = 3;
const ZERO: u8 = 4;
const BALANCE: u8 = 5;
const CUT: u8 = 6;
const PALETTE: [Colour; 7] = [
    [0xff, 0xff, 0xff],
    [0xfd, 0xe9, 0xbf],
    [0xf9, 0xd3, 0xd3],
    [0xe3, 0xe7, 0xeb],
    [0x56, 0x60, 0x6b],
    [0x0b, 0x5c, 0xad],
    [0xa6, 0x1b, 0x1b],
];

/// What is drawn.
pub(super) struct Chart<'a> {
    pub report: &'a Report,
    /// When the report was read: the left end.
    pub from: DateTime<Utc>,
    pub disconnect: Option<DateTime<Utc>>,
    pub lead_days: u32,
    pub zone: Tz,
    pub currency: &'a str,
}

impl Chart<'_> {
    /// The picture with its words; `None` where the report has no balance or covers no time.
    pub(super) fn figure(&self) -> Option<Figure> {
        let now = forecast::balance_now(self.report)?;
        let end = self.report.date.or_else(|| self.report.moments.last().map(|moment| moment.at))?;
        if end <= self.from {
            return None;
        }
        let balances = || std::iter::once(now).chain(self.report.moments.iter().map(|moment| moment.balance));
        let (highest, lowest) = (balances().max()?, balances().min()?);
        let last = self.report.moments.last().map_or(now, |moment| moment.balance);
        let frame = Frame::new(self.from, end, lowest.min(Money::ZERO), highest.max(Money::ZERO));
        let money = |money| words::amount(money, self.currency);
        let mut alt = format!("Balance to come: {} now, {}", money(now), money(last));
        alt.push_str(&format!(" expected on {}", words::iso_day(end, self.zone)));
        let mut legend = vec![("#0b5cad", "balance".to_owned()), ("#56606b", "zero".to_owned())];
        if let Some(at) = self.disconnect.filter(|&at| at <= end) {
            let day = words::iso_day(at, self.zone);
            alt.push_str(&format!("; disconnect on {day}"));
            legend.push(("#a61b1b", format!("disconnect {day}")));
            if self.lead_days > 0 {
                legend.push(("#fde9bf", "too late to pay".to_owned()));
            }
        }
        alt.push('.');
        Some(Figure {
            png: self.draw(&frame, now),
            alt,
            above: (format!("highest {}", money(highest)), format!("lowest {}", money(lowest))),
            below: (words::iso_day(self.from, self.zone), words::iso_day(end, self.zone)),
            legend,
        })
    }

    fn draw(&self, frame: &Frame, now: Money) -> Vec<u8> {
        let mut canvas = Canvas::new(WIDTH, HEIGHT, &PALETTE);
        if let Some(at) = self.disconnect.filter(|&at| at <= frame.end) {
            let cut = frame.x(at);
            let late = pay_by::too_late_from(at, self.lead_days, self.zone).map_or(cut, |late| frame.x(late));
            canvas.fill(late, 0, cut - late, HEIGHT, LATE);
            canvas.fill(cut, 0, WIDTH, HEIGHT, DARK);
        }
        for quarter in 0..=4 {
            let y = EDGE + quarter * (HEIGHT - 2 * EDGE) / 4;
            canvas.fill(0, y, WIDTH, 1, GRID);
        }
        canvas.fill(0, frame.y(Money::ZERO) - 1, WIDTH, 3, ZERO);
        self.steps(frame, now, &mut canvas);
        if let Some(at) = self.disconnect.filter(|&at| at <= frame.end) {
            canvas.fill(frame.x(at).saturating_sub(2), 0, LINE, HEIGHT, CUT);
        }
        canvas.png()
    }

    fn steps(&self, frame: &Frame, now: Money, canvas: &mut Canvas) {
        let half = LINE / 2;
        let (mut x, mut y) = (0, frame.y(now));
        for moment in self.report.moments.iter() {
            let (to_x, to_y) = (frame.x(moment.at), frame.y(moment.balance));
            canvas.fill(x, y - half, to_x.saturating_sub(x) + half, LINE, BALANCE);
            let (top, bottom) = (y.min(to_y), y.max(to_y));
            canvas.fill(to_x.saturating_sub(half), top - half, LINE, bottom - top + LINE, BALANCE);
            (x, y) = (to_x, to_y);
        }
        canvas.fill(x, y - half, WIDTH, LINE, BALANCE);
    }
}

/// Where a moment and a balance stand in the picture.
struct Frame {
    from: DateTime<Utc>,
    end: DateTime<Utc>,
    low: f64,
    high: f64,
}

impl Frame {
    fn new(from: DateTime<Utc>, end: DateTime<Utc>, low: Money, high: Money) -> Self {
        Self { from, end, low: low.to_f64(), high: high.to_f64() }
    }

    fn x(&self, at: DateTime<Utc>) -> usize {
        let span = (self.end - self.from).num_seconds().max(1) as f64;
        let part = (at - self.from).num_seconds() as f64 / span;
        (part.clamp(0.0, 1.0) * WIDTH as f64) as usize
    }

    /// From the top; `EDGE` away from both ends.
    fn y(&self, balance: Money) -> usize {
        let span = self.high - self.low;
        let part = if span > 0.0 { (balance.to_f64() - self.low) / span } else { 0.0 };
        let room = (HEIGHT - 2 * EDGE) as f64;
        EDGE + (room - part.clamp(0.0, 1.0) * room).round() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{report, t};

    fn chart<'a>(report: &'a Report, disconnect: Option<&str>) -> Chart<'a> {
        Chart {
            report,
            from: t("2026-03-01T12:00:00"),
            disconnect: disconnect.map(t),
            lead_days: 3,
            zone: Tz::UTC,
            currency: "RUB",
        }
    }

    #[test]
    fn the_words_say_what_the_picture_shows() {
        let report = report("250", "10", 90, Edd::Null);
        let figure = chart(&report, Some("2026-03-26T11:00:00")).figure().unwrap();
        assert_eq!(
            figure.alt,
            "Balance to come: 250.00 RUB now, -650.00 RUB expected on 2026-05-30; disconnect on 2026-03-26."
        );
        assert_eq!(figure.above, ("highest 250.00 RUB".to_owned(), "lowest -650.00 RUB".to_owned()));
        assert!(figure.png.len() < 20_000, "{} bytes", figure.png.len());
    }

    #[test]
    fn odd_reports_are_drawn_or_left_out_but_never_break() {
        let flat = report("0", "0", 5, Edd::Null);
        assert!(chart(&flat, Some("2020-01-01")).figure().is_some());
        assert!(chart(&flat, Some("2036-01-01")).figure().is_some());
        let none = report("5", "1", 0, Edd::Null);
        assert!(chart(&none, None).figure().is_none(), "no time is covered");
        let huge = report("79228162514264337593543950335", "1e28", 30, Edd::Null);
        assert!(chart(&huge, None).figure().is_some());
    }
}
