//! The forecast balance as a picture for mails and page: a step line without text and with a transparent
//! background, in colours for light and dark. The labels are HTML beside it. Pure.

use super::chart::{Chart, Scale};
use super::png::{Canvas, Rgba};
use super::reader::Reader;
use super::words;
use crate::model::say;

/// A picture without text, and the words around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Figure {
    pub png: Vec<u8>,
    pub alt: String,
    /// The measured value and its unit.
    pub title: String,
    /// The labels beside the picture, the highest first, in rows of one height.
    pub ticks: Vec<String>,
    /// The labels below its left end, its middle and its right end.
    pub days: [String; 3],
    pub legend: Vec<Legend>,
}

/// The meaning of a colour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Legend {
    pub colour: &'static str,
    pub meaning: String,
}

/// Mails show the picture at half this size, so that it is sharp on dense screens; the page stretches it to its width.
const WIDTH: usize = 1200;
const HEIGHT: usize = 360;
const LINE: usize = 4;

/// Indices into the palette; 0 is no colour at all.
const OFF: u8 = 1;
const GRID: u8 = 2;
const ZERO: u8 = 3;
const BALANCE: u8 = 4;
const CUT: u8 = 5;
const PALETTE: [Rgba; 6] = [
    [0xff, 0xff, 0xff, 0x00],
    [0xd6, 0x45, 0x45, 0x40],
    [0x7a, 0x83, 0x8d, 0x59],
    [0x7a, 0x83, 0x8d, 0xff],
    [0x2f, 0x86, 0xd6, 0xff],
    [0xd6, 0x45, 0x45, 0xff],
];

/// The picture with its words.
pub(crate) fn figure(chart: &Chart, currency: &str, reader: Reader) -> Figure {
    let (language, day) = (reader.language, |at| reader.short_day_of(at));
    let scale = chart.scale();
    let mut legend =
        vec![Legend { colour: "#2f86d6", meaning: language.pick("balance", "баланс").to_owned() }];
    if let Some(cut_off) = chart.cut_off {
        let cut_off = day(cut_off);
        let meaning = say!(language, "cut-off {cut_off}", "отключение {cut_off}");
        legend.push(Legend { colour: "#d64545", meaning });
    }
    let unit =
        if currency.is_empty() { String::new() } else { format!(", {}", words::unit(currency, language)) };
    let middle = chart.from + (chart.end - chart.from) / 2;
    let mut ticks: Vec<String> = scale.ticks().into_iter().map(|(_, text)| text).collect();
    ticks.reverse();
    Figure {
        png: draw(chart, &scale),
        alt: chart.summary(currency, reader),
        title: say!(language, "Balance{unit}", "Баланс{unit}"),
        ticks,
        days: [day(chart.from), day(middle), day(chart.end)],
        legend,
    }
}

fn draw(chart: &Chart, scale: &Scale) -> Vec<u8> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, &PALETTE);
    let cut = chart.cut_off.map(|at| across(chart.x(at)));
    if let Some(cut) = cut {
        canvas.fill(cut, 0, WIDTH, HEIGHT, OFF);
    }
    for (value, _) in scale.ticks() {
        let (height, colour) = if value == 0.0 { (3, ZERO) } else { (2, GRID) };
        canvas.fill(0, down(scale, value) - 1, WIDTH, height, colour);
    }
    steps(chart, scale, &mut canvas);
    if let Some(cut) = cut {
        canvas.fill(cut.saturating_sub(2), 0, LINE, HEIGHT, CUT);
    }
    canvas.png()
}

fn steps(chart: &Chart, scale: &Scale, canvas: &mut Canvas) {
    let half = LINE / 2;
    let mut steps = chart.steps.iter().map(|&(x, balance)| (across(x), down(scale, balance.to_f64())));
    let Some((mut x, mut y)) = steps.next() else { return };
    for (to_x, to_y) in steps {
        canvas.fill(x, y - half, to_x.saturating_sub(x) + half, LINE, BALANCE);
        let (top, bottom) = (y.min(to_y), y.max(to_y));
        canvas.fill(to_x.saturating_sub(half), top - half, LINE, bottom - top + LINE, BALANCE);
        (x, y) = (to_x, to_y);
    }
    canvas.fill(x, y - half, WIDTH, LINE, BALANCE);
}

fn across(part: f64) -> usize {
    (part * WIDTH as f64) as usize
}

/// The distance of a balance from the top. Each line of the scale is in the middle of a row, so that labels in
/// rows of one height are beside their lines.
fn down(scale: &Scale, balance: f64) -> usize {
    let rows = f64::from(scale.lines());
    let row = HEIGHT as f64 / rows;
    (row / 2.0 + (1.0 - scale.part(balance)) * (rows - 1.0) * row).round() as usize
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::forecast::tests::{report, t};
    use crate::model::{Edd, Language};
    use crate::view::chart::tests::chart;

    fn reader() -> Reader {
        Reader::english(chrono_tz::Tz::UTC, t("2026-03-01T12:00:00"))
    }

    /// The colours of the lines: zero, balance and cut-off.
    pub(crate) fn lines() -> [String; 3] {
        [ZERO, BALANCE, CUT].map(|index| {
            let [red, green, blue, _] = PALETTE[usize::from(index)];
            format!("#{red:02x}{green:02x}{blue:02x}")
        })
    }

    #[test]
    fn the_words_say_what_the_picture_shows_and_the_axes_what_it_measures() {
        let report = report("250", "10", 90, Edd::Null);
        let chart = chart(&report, Some(t("2026-03-26T11:00:00"))).unwrap();
        let figure = figure(&chart, "RUB", reader());
        assert_eq!(
            figure.alt.replace('\u{a0}', " "),
            "Balance: 250.00 RUB now, \u{2212}650.00 RUB expected on 30 May; cut-off 26 Mar."
        );
        assert_eq!(figure.title, "Balance, RUB");
        let russian = Reader { language: Language::Ru, ..reader() };
        assert_eq!(super::figure(&chart, "RUB", russian).title, "Баланс, ₽");
        assert_eq!(figure.ticks, ["500", "0", "\u{2212}500", "\u{2212}1\u{202f}000"]);
        assert_eq!(figure.days, ["1 Mar", "15 Apr", "30 May"]);
        assert!(figure.png.len() < 20_000, "{} bytes", figure.png.len());
        let scale = chart.scale();
        assert_eq!(usize::try_from(scale.lines()), Ok(figure.ticks.len()));
        assert_eq!([500.0, 0.0, -1000.0].map(|value| down(&scale, value)), [45, 135, 315]);
    }

    #[test]
    fn odd_reports_never_break() {
        let huge = report("79228162514264337593543950335", "1e28", 30, Edd::Null);
        for report in [report("0", "0", 5, Edd::Null), huge] {
            for cut_off in [None, Some(t("2020-01-01")), Some(t("2036-01-01"))] {
                figure(&chart(&report, cut_off).unwrap(), "RUB", reader());
            }
        }
    }
}
