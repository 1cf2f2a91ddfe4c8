//! Lays out lines, pairs and tables for a width, with or without colours. Pure.

use super::text;

/// The medium of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Style {
    /// In columns.
    pub width: usize,
    pub colour: bool,
}

/// The least width in which a table fits, and the greatest in which a line is readable.
const WIDTHS: (usize, usize) = (20, 120);
/// A flexible column is not cut shorter than this. The row is broken into lines instead.
const LEAST_FLEXIBLE: usize = 10;

/// The emphasis of a piece of text. A word or sign beside it always says the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Emphasis {
    Plain,
    Strong,
    Good,
    Warn,
    Bad,
    Faint,
}

impl Emphasis {
    /// Parameters of "select graphic rendition" (ECMA-48). The colours are the terminal's own.
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

/// A text without control characters, and its emphasis.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    tone: Emphasis,
}

impl Cell {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self::toned(text, Emphasis::Plain)
    }

    pub(super) fn toned(text: impl AsRef<str>, tone: Emphasis) -> Self {
        Self { text: text::plain(text.as_ref()), tone }
    }
}

/// A piece of a line.
pub(super) type Span = (String, Emphasis);

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Empty for none.
    pub(super) head: &'static str,
    pub(super) right: bool,
    /// Whether it is cut if the table is too wide; one column of a table.
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

/// The text so far. No line is wider than the style allows, or ends in a space.
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

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Writes a title after an empty line.
    pub(super) fn heading(&mut self, text: impl AsRef<str>) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.text(0, text, Emphasis::Strong);
    }

    /// Writes a paragraph.
    pub(super) fn text(&mut self, indent: usize, text: impl AsRef<str>, tone: Emphasis) {
        self.hanging(&[spaces(indent)], indent, &Cell::toned(text, tone));
    }

    /// Writes a paragraph behind an emphasised sign.
    pub(super) fn item(&mut self, indent: usize, sign: &str, sign_tone: Emphasis, text: impl AsRef<str>) {
        let lead = [spaces(indent), (format!("{sign} "), sign_tone)];
        self.hanging(&lead, indent + text::width(sign) + 1, &Cell::new(text));
    }

    /// Writes a paragraph behind a beginning; further lines are indented by `columns`.
    fn hanging(&mut self, lead: &[Span], columns: usize, cell: &Cell) {
        for (index, line) in text::wrap(&cell.text, self.style.width - columns).into_iter().enumerate() {
            let mut spans = if index == 0 { lead.to_vec() } else { vec![spaces(columns)] };
            spans.push((line, cell.tone));
            self.drawn(0, &spans);
        }
    }

    /// Writes labels and values in two columns.
    pub(super) fn pairs(&mut self, pairs: &[(&str, Cell)]) {
        let rows = pairs.iter().map(|(label, value)| (text::plain(label), Emphasis::Faint, value.clone()));
        self.labelled(&rows.collect::<Vec<_>>());
    }

    /// The same with emphasised labels. A long value goes on below itself. Values below an empty label belong to the
    /// last label. If the labels take more than half of a line, the values stand below them.
    pub(super) fn labelled(&mut self, rows: &[(String, Emphasis, Cell)]) {
        let labels = rows.iter().map(|(label, ..)| text::width(label)).max().unwrap_or(0);
        let columns = 2 + labels + 2;
        for (label, tone, value) in rows {
            if columns <= self.style.width / 2 {
                let lead = [spaces(2), (text::pad(label, labels + 2, false), *tone)];
                self.hanging(&lead, columns, value);
                continue;
            }
            if !label.is_empty() {
                self.text(2, label, *tone);
            }
            self.hanging(&[spaces(4)], 4, value);
        }
    }

    /// Writes rows in columns. If even the flexible column leaves too little room, each row becomes lines.
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
                columns.iter().map(|column| Cell::toned(column.head, Emphasis::Faint)).collect();
            self.row(indent, columns, &widths, &heads);
        }
        for row in rows {
            self.row(indent, columns, &widths, row);
        }
    }

    fn row(&mut self, indent: usize, columns: &[Column], widths: &[usize], row: &[Cell]) {
        let mut spans = Vec::new();
        for ((cell, column), &width) in row.iter().zip(columns).zip(widths) {
            let cut = text::cut(&cell.text, width);
            let fill = width.saturating_sub(text::width(&cut));
            let (before, after) = if column.right { (fill, 2) } else { (0, fill + 2) };
            spans.extend([spaces(before), (cut, cell.tone), spaces(after)]);
        }
        self.drawn(indent, &spans);
    }

    /// Writes each row as lines: its name first, behind its sign if it has one, then the other cells with their
    /// heads.
    fn stacked(&mut self, indent: usize, columns: &[Column], rows: &[Vec<Cell>]) {
        // A first column without a head holds signs.
        let lead =
            usize::from(columns.len() > 1 && columns.first().is_some_and(|column| column.head.is_empty()));
        for row in rows {
            let mut spans: Vec<Span> =
                row.iter().take(lead).map(|sign| (format!("{} ", sign.text), sign.tone)).collect();
            let room = self.style.width - indent - 2 * lead;
            spans.extend(row.get(lead).map(|cell| (text::cut(&cell.text, room), cell.tone)));
            self.drawn(indent, &spans);
            let rest = row.iter().zip(columns).skip(lead + 1).filter(|(cell, _)| !cell.text.is_empty());
            let rest = rest.map(|(cell, column)| match column.head {
                "" => cell.text.clone(),
                head => format!("{head}: {}", cell.text),
            });
            let rest: Vec<String> = rest.collect();
            if !rest.is_empty() {
                self.text(indent + 4, rest.join(" · "), Emphasis::Plain);
            }
        }
    }

    /// Writes one line as it is: our own signs and digits, already laid out.
    pub(super) fn drawn(&mut self, indent: usize, spans: &[Span]) {
        self.out.push_str(&" ".repeat(indent));
        // Spaces at the end of a line are useless, even painted ones.
        let last = spans.iter().rposition(|(text, _)| !text.trim_end().is_empty());
        for (index, (text, tone)) in spans.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
            let text = if Some(index) == last { text.trim_end() } else { text.as_str() };
            match tone.code().filter(|_| self.style.colour && !text.trim().is_empty()) {
                Some(code) => self.out.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m")),
                None => self.out.push_str(text),
            }
        }
        let end = self.out.trim_end_matches(' ').len();
        self.out.truncate(end);
        self.out.push('\n');
    }
}

fn spaces(count: usize) -> Span {
    (" ".repeat(count), Emphasis::Plain)
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
}
