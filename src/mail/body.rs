//! The contents of a mail as data that is rendered twice: as text here, as HTML by the template. Both parts
//! come from the same structure, so each is complete in itself. Pure.

use textwrap::{Options, WordSplitter};
use unicode_width::UnicodeWidthStr as _;

use crate::alert::Severity;
use crate::model::Language;
use crate::view::Link;
use crate::view::figure::Figure;

pub(super) const WIDTH: usize = 78;

/// The contents of a mail. Each text is one line; the template escapes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Body {
    /// The colour of the first line.
    pub tone: Bracket,
    /// The first line: what, when, how much to pay by when.
    pub lead: String,
    /// Links, below the first line.
    pub links: Vec<Link>,
    /// Lines to be read before everything else.
    pub notes: Vec<String>,
    pub sections: Vec<Section>,
    /// Lines at the end: commands, the sender.
    pub foot: Vec<String>,
    pub language: Language,
}

/// The result of a mail: the word in brackets of its subject, and the colour of its first line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Bracket {
    Of(Severity),
    Resolved,
    Test,
    #[default]
    Digest,
}

/// One part below a heading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Section {
    pub title: String,
    /// Label and value.
    pub rows: Vec<(String, String)>,
    pub list: Vec<String>,
    pub table: Option<Table>,
    /// Lines below the rows, the list and the table.
    pub lines: Vec<String>,
    /// HTML only, since other parts say in words what it shows.
    pub figure: Option<Figure>,
}

/// Cells by row; the first column names the row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether the table is too wide for a telephone; then each row becomes a block.
    pub(super) fn is_wide(&self) -> bool {
        const MOST_COLUMNS: usize = 50;
        let widest =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
        let columns: usize = (0..self.head.len()).filter_map(widest).sum();
        self.has_many_columns() || columns > MOST_COLUMNS
    }

    /// Whether the table has more columns than fit at the usual font size.
    pub(super) fn has_many_columns(&self) -> bool {
        self.head.len() > 4
    }
}

impl Section {
    /// The whole section in a line, for a chat: `Accounts. main – Balance: 75.00 RUB, Pay by: Fri 20 Mar`.
    pub(super) fn in_a_line(&self) -> String {
        let pair = |(label, value): (&String, &String)| format!("{label}: {value}");
        let rows = self.rows.iter().map(|(label, value)| pair((label, value)));
        let of_table = self.table.iter().flat_map(|table| table.rows.iter().map(|row| (&table.head, row)));
        let of_table = of_table.map(|(head, row)| {
            let cells: Vec<String> = head.iter().zip(row).skip(1).map(pair).collect();
            format!("{} – {}", row.first().map_or("", String::as_str), cells.join(", "))
        });
        let (list, lines) = (self.list.iter().cloned(), self.lines.iter().cloned());
        let all = rows.chain(list).chain(of_table).chain(lines);
        let all: Vec<String> = all.map(|text| text.trim_end_matches('.').to_owned()).collect();
        format!("{}. {}", self.title, all.join("; "))
    }

    pub(super) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    pub(super) fn row(&mut self, label: &str, value: impl Into<String>) {
        self.rows.push((label.to_owned(), value.into()));
    }

    /// Whether there is nothing below the heading. A picture only shows what other parts say.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.list.is_empty() && self.table.is_none() && self.lines.is_empty()
    }
}

impl Body {
    pub(super) fn figure(&self) -> Option<&Figure> {
        self.sections.iter().find_map(|section| section.figure.as_ref())
    }

    /// The text part; lines end with `\n`.
    pub(super) fn text(&self) -> String {
        let mut out = self.content();
        out.push_str("\n--\n");
        for line in &self.foot {
            wrap(line, "", "", &mut out);
        }
        out
    }

    /// The text part without the lines about the sender.
    pub(super) fn content(&self) -> String {
        let mut out = String::new();
        // The first line is not wrapped, since previews show only one line.
        out.push_str(&self.lead);
        out.push('\n');
        if !(self.links.is_empty() && self.notes.is_empty()) {
            out.push('\n');
        }
        let widest = self.links.iter().map(|link| width(link.word)).max().unwrap_or(0);
        for Link { word, url } in &self.links {
            let fill = " ".repeat(widest - width(word));
            out.push_str(&format!("{word}:{fill} {url}\n"));
        }
        for note in &self.notes {
            wrap(note, "", "", &mut out);
        }
        for section in &self.sections {
            section_text(section, &mut out);
        }
        out
    }
}

fn section_text(section: &Section, out: &mut String) {
    if section.is_empty() {
        return;
    }
    out.push('\n');
    wrap(&section.title, "", "", out);
    let widest = section.rows.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    for (label, value) in &section.rows {
        let fill = " ".repeat(widest - width(label));
        let first = format!("  {label}:{fill} ");
        wrap(value, &first, &" ".repeat(widest + 4), out);
    }
    for item in &section.list {
        wrap(item, "  - ", "    ", out);
    }
    if let Some(table) = &section.table {
        table_text(table, out);
    }
    for line in &section.lines {
        wrap(line, "  ", "  ", out);
    }
}

fn table_text(table: &Table, out: &mut String) {
    let rows = || std::iter::once(&table.head).chain(&table.rows);
    let widest =
        |column: usize| rows().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.head.len()).map(widest).collect();
    if widths.iter().sum::<usize>() + 2 * widths.len() > WIDTH {
        for row in &table.rows {
            row_text(&table.head, row, out);
        }
        return;
    }
    for row in rows() {
        let mut line = String::from(" ");
        for (cell, widest) in row.iter().zip(&widths) {
            line.push(' ');
            line.push_str(cell);
            line.push_str(&" ".repeat(widest - width(cell) + 1));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// A row of a table that is too wide: its name, then its values.
fn row_text(head: &[String], row: &[String], out: &mut String) {
    let Some((name, cells)) = row.split_first() else { return };
    let cells = head.iter().skip(1).zip(cells).map(|(label, cell)| format!("{label}: {cell}"));
    wrap(name, "  ", "  ", out);
    wrap(&cells.collect::<Vec<_>>().join("; "), "    ", "    ", out);
}

/// The number of columns that a text takes. A Chinese or Japanese letter takes two.
fn width(text: &str) -> usize {
    text.width()
}

/// Writes `text` in lines of at most [`WIDTH`] columns; a longer word stays whole.
fn wrap(text: &str, first: &str, rest: &str, out: &mut String) {
    let options = Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    for line in textwrap::wrap(text, options) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_script() {
        let table = Table {
            head: vec!["VM".into(), "State".into()],
            rows: vec![vec!["名前サーバ".into(), "error".into()], vec!["web-1".into(), "active".into()]],
        };
        let mut section = Section { table: Some(table), ..Section::new("What") };
        section.row("名前", "one");
        section.row("Where", "two");
        section.lines.push("名前 ".repeat(18).trim().to_owned());
        let body = Body { sections: vec![section], ..Body::default() };
        insta::assert_snapshot!(body.content(), @r"
        What
          名前:  one
          Where: two
          VM          State
          名前サーバ  error
          web-1       active
          名前 名前 名前 名前 名前 名前 名前 名前 名前 名前 名前 名前 名前 名前 名前
          名前 名前 名前
        ");
    }
}
