//! Lines, pairs and tables laid out for a width, with or without colours. Pure.

use super::text;

/// What the text is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// In columns.
    pub width: usize,
    pub colour: bool,
}

/// Narrower than this nothing can be laid out, wider than that no line can be read.
const WIDTHS: (usize, usize) = (20, 120);
/// A column that may be cut is not cut shorter than this; the row is broken into lines instead.
const LEAST_FLEXIBLE: usize = 10;

/// How a piece of text is meant; always beside a word or sign that says the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tone {
    Plain,
    Strong,
    Good,
    Warn,
    Bad,
    Faint,
}

impl Tone {
    /// Parameters of "select graphic rendition" (ECMA-48); the colours are the terminal's own.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Good => Some("32"),
            Self::Warn => Some("33"),
            Self::Bad => Some("1;31"),
            Self::Faint => Some("2"),
        }
    }
}

/// A piece of text that a terminal can do no more than show.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self::toned(text, Tone::Plain)
    }

    pub(super) fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: text::plain(text.as_ref()), tone }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Empty for none.
    pub(super) head: &'static str,
    pub(super) right: bool,
    /// Is cut where the table is too wide; one column of a table.
    pub(super) flexible: bool,
}

impl Column {
    pub(super) const fn left(head: &'static str) -> Self {
        Self { head, right: false, flexible: false }
    }

    pub(super) const fn right(head: &'static str) -> Self {
        Self { head, right: true, flexible: false }
    }

    pub(super) const fn flexible(head: &'static str) -> Self {
        Self { head, right: false, flexible: true }
    }
}

/// Text as it grows. No line is wider than the style says, or ends in a space.
#[derive(Debug)]
pub(super) struct Layout {
    style: Style,
    out: String,
}

impl Layout {
    pub(super) fn new(style: Style) -> Self {
        let width = style.width.clamp(WIDTHS.0, WIDTHS.1);
        Self { style: Style { width, ..style }, out: String::new() }
    }

    pub(super) fn width(&self) -> usize {
        self.style.width
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// The title of what follows, after an empty line.
    pub(super) fn heading(&mut self, text: impl AsRef<str>) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.text(0, text, Tone::Strong);
    }

    /// A paragraph.
    pub(super) fn text(&mut self, indent: usize, text: impl AsRef<str>, tone: Tone) {
        let cell = Cell::toned(text, tone);
        for line in text::wrap(&cell.text, self.style.width - indent) {
            self.push(&" ".repeat(indent), &[(line, tone)]);
        }
    }

    /// A paragraph behind a sign that stands out.
    pub(super) fn item(&mut self, indent: usize, sign: &str, sign_tone: Tone, text: impl AsRef<str>) {
        let cell = Cell::new(text);
        let inner = indent + text::width(sign) + 1;
        for (index, line) in text::wrap(&cell.text, self.style.width - inner).into_iter().enumerate() {
            if index == 0 {
                let sign = (format!("{sign} "), sign_tone);
                self.push(&" ".repeat(indent), &[sign, (line, Tone::Plain)]);
            } else {
                self.push(&" ".repeat(inner), &[(line, Tone::Plain)]);
            }
        }
    }

    /// Labels and what they stand for, in two columns; a value goes on below itself.
    pub(super) fn pairs(&mut self, pairs: &[(&str, Cell)]) {
        let labels = pairs.iter().map(|(label, _)| text::width(label)).max().unwrap_or(0);
        let room = self.style.width.saturating_sub(2 + labels + 2);
        for (label, value) in pairs {
            if room < LEAST_FLEXIBLE {
                if !label.is_empty() {
                    self.text(2, label, Tone::Faint);
                }
                self.text(4, &value.text, value.tone);
                continue;
            }
            for (index, line) in text::wrap(&value.text, room).into_iter().enumerate() {
                let label = if index == 0 { *label } else { "" };
                let label = (text::pad(label, labels + 2, false), Tone::Faint);
                self.push("  ", &[label, (line, value.tone)]);
            }
        }
    }

    /// Rows in columns; where even the flexible column cannot make room, each row becomes lines.
    pub(super) fn table(&mut self, indent: usize, columns: &[Column], rows: &[Vec<Cell>]) {
        let widest = |index: usize| {
            let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| text::width(&cell.text));
            cells.max().unwrap_or(0).max(text::width(columns[index].head))
        };
        let mut widths: Vec<usize> = (0..columns.len()).map(widest).collect();
        let gaps = 2 * columns.len().saturating_sub(1);
        let whole: usize = indent + gaps + widths.iter().sum::<usize>();
        if let Some(over) = whole.checked_sub(self.style.width + 1).map(|over| over + 1) {
            let flexible = columns.iter().position(|column| column.flexible);
            let room = flexible.and_then(|index| widths[index].checked_sub(over));
            match flexible.zip(room) {
                Some((index, room)) if room >= LEAST_FLEXIBLE => widths[index] = room,
                _ => return self.stacked(indent, columns, rows),
            }
        }
        if columns.iter().any(|column| !column.head.is_empty()) {
            let heads: Vec<Cell> =
                columns.iter().map(|column| Cell::toned(column.head, Tone::Faint)).collect();
            self.row(indent, columns, &widths, &heads);
        }
        for row in rows {
            self.row(indent, columns, &widths, row);
        }
    }

    fn row(&mut self, indent: usize, columns: &[Column], widths: &[usize], row: &[Cell]) {
        let mut spans = Vec::new();
        for (index, cell) in row.iter().enumerate() {
            let (Some(column), Some(&width)) = (columns.get(index), widths.get(index)) else { break };
            let cut = text::cut(&cell.text, width);
            let fill = " ".repeat(width.saturating_sub(text::width(&cut)));
            let gap = if index + 1 == row.len() { "" } else { "  " };
            if column.right {
                spans.extend([(fill, Tone::Plain), (cut, cell.tone), (gap.to_owned(), Tone::Plain)]);
            } else {
                spans.extend([(cut, cell.tone), (format!("{fill}{gap}"), Tone::Plain)]);
            }
        }
        self.push(&" ".repeat(indent), &spans);
    }

    /// What a row is about leads, behind its sign if it has one; the others follow, each with its head.
    fn stacked(&mut self, indent: usize, columns: &[Column], rows: &[Vec<Cell>]) {
        // A column without a head that comes first holds signs.
        let signs = columns.first().is_some_and(|column| column.head.is_empty()) && columns.len() > 1;
        let lead = usize::from(signs);
        for row in rows {
            let room = self.style.width - indent;
            let sign = row.first().filter(|_| signs);
            let first = row.get(lead).map_or("", |cell| cell.text.as_str());
            let tone = row.get(lead).map_or(Tone::Plain, |cell| cell.tone);
            match sign {
                Some(sign) => {
                    let spans = [
                        (format!("{} ", sign.text), sign.tone),
                        (text::cut(first, room.saturating_sub(2)), tone),
                    ];
                    self.push(&" ".repeat(indent), &spans);
                }
                None => self.push(&" ".repeat(indent), &[(text::cut(first, room), tone)]),
            }
            let rest = row.iter().zip(columns).enumerate().filter(|(index, (cell, _))| {
                *index != lead && !cell.text.is_empty() && !(sign.is_some() && *index == 0)
            });
            let rest: Vec<String> = rest
                .map(|(_, (cell, column))| match column.head {
                    "" => cell.text.clone(),
                    head => format!("{head}: {}", cell.text),
                })
                .collect();
            if !rest.is_empty() {
                self.text(indent + 4, rest.join(" · "), Tone::Plain);
            }
        }
    }

    /// Rows of a word, what it is about, and paragraphs on it: the first says how it is, the next what to do.
    pub(super) fn findings(&mut self, rows: &[(&str, Tone, &str, Vec<&str>)]) {
        // As wide as the widest, so that sections line up.
        let words = rows.iter().map(|row| text::width(row.0)).max().unwrap_or(0).max(4);
        let names: Vec<String> = rows.iter().map(|row| text::plain(row.2)).collect();
        let widest = names.iter().map(|name| text::width(name)).max().unwrap_or(0);
        let lead = 2 + words + 2 + widest + 2;
        // Half a line for the paragraphs, or they go below.
        let beside = lead <= self.style.width / 2;
        for ((word, tone, _, paragraphs), name) in rows.iter().zip(names) {
            let word = (text::pad(word, words + 2, false), *tone);
            let indent = if beside { lead } else { 6 };
            let lines = paragraphs.iter().enumerate().flat_map(|(index, paragraph)| {
                let arrow = if index == 0 { "" } else { "→ " };
                text::wrap(&format!("{arrow}{}", text::plain(paragraph)), self.style.width - indent)
            });
            let mut lines = lines.collect::<Vec<_>>().into_iter();
            let first = if beside { lines.next().unwrap_or_default() } else { String::new() };
            let width = if beside { widest + 2 } else { 0 };
            let name = text::cut(&name, self.style.width - 2 - words - 2);
            self.push("  ", &[word, (text::pad(&name, width, false), Tone::Plain), (first, Tone::Plain)]);
            for line in lines {
                self.push(&" ".repeat(indent), &[(line, Tone::Plain)]);
            }
        }
    }

    /// One line as it is: signs and digits of our own, already laid out.
    pub(super) fn drawn(&mut self, indent: usize, spans: &[(String, Tone)]) {
        self.push(&" ".repeat(indent), spans);
    }

    fn push(&mut self, indent: &str, spans: &[(String, Tone)]) {
        let mut line = String::from(indent);
        // Spaces at the end of a line are of no use, also not painted ones.
        let last = spans.iter().rposition(|(text, _)| !text.trim_end().is_empty());
        for (index, (text, tone)) in spans.iter().enumerate() {
            if last.is_none_or(|last| index > last) {
                break;
            }
            let text = if Some(index) == last { text.trim_end() } else { text.as_str() };
            match tone.code().filter(|_| self.style.colour && !text.trim().is_empty()) {
                Some(code) => line.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m")),
                None => line.push_str(text),
            }
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: usize) -> Layout {
        Layout::new(Style { width, colour: false })
    }

    const COLUMNS: [Column; 3] = [Column::left(""), Column::flexible("Name"), Column::right("A day")];

    fn rows() -> Vec<Vec<Cell>> {
        let row = |sign, name, cost| vec![Cell::new(sign), Cell::new(name), Cell::new(cost)];
        vec![row("✓", "a name of some length", "1.00 RUB"), row("✕", "名前", "100.00 RUB")]
    }

    #[test]
    fn columns_line_up_and_the_flexible_one_gives_way() {
        let mut wide = layout(80);
        wide.table(2, &COLUMNS, &rows());
        assert_eq!(
            wide.finish(),
            "     Name                        A day\n  ✓  a name of some length    1.00 RUB\n  ✕  名前                   100.00 RUB\n"
        );
        let mut narrow = layout(30);
        narrow.table(2, &COLUMNS, &rows());
        assert_eq!(
            narrow.finish(),
            "     Name                A day\n  ✓  a name of so…    1.00 RUB\n  ✕  名前           100.00 RUB\n"
        );
        let mut small = layout(24);
        small.table(2, &COLUMNS, &rows());
        assert_eq!(
            small.finish(),
            "  ✓ a name of some leng…\n      A day: 1.00 RUB\n  ✕ 名前\n      A day: 100.00 RUB\n"
        );
    }

    #[test]
    fn colours_surround_text_and_no_space_ends_a_line() {
        let mut layout = Layout::new(Style { width: 40, colour: true });
        layout.pairs(&[("Pay", Cell::toned("45 \u{1b}[5m RUB ", Tone::Bad)), ("Note", Cell::new(""))]);
        assert_eq!(
            layout.finish(),
            "  \u{1b}[2mPay   \u{1b}[0m\u{1b}[1;31m45 [5m RUB\u{1b}[0m\n  \u{1b}[2mNote\u{1b}[0m\n"
        );
    }
}
