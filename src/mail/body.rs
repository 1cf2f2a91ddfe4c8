//! What a mail says, as data that is rendered twice: as text here, as HTML by the template. Both parts
//! come from the same structure, so that each is complete in itself. Pure.

use crate::alert::Severity;
use crate::view::Link;

const WIDTH: usize = 78;

/// A mail's content. Every text in it is one line; escaping is the template's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Body {
    pub tone: Tone,
    /// The first line: what, when, how much to pay by when.
    pub lead: String,
    /// Where to go from here, below the first line.
    pub links: Vec<Link>,
    /// What has to be known before anything else is read.
    pub notes: Vec<String>,
    pub sections: Vec<Section>,
    pub foot: Vec<String>,
}

/// The colour of the first line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Tone {
    Critical,
    Warning,
    #[default]
    Info,
    Good,
}

/// One part below a heading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Section {
    pub title: String,
    /// Label and value.
    pub rows: Vec<(String, String)>,
    pub lines: Vec<String>,
    pub list: Vec<String>,
    pub table: Option<Table>,
    /// Lines below all that.
    pub below: Vec<String>,
    /// HTML only: what it shows is in words elsewhere.
    pub figure: Option<Figure>,
}

/// Cells by row; the first column names the row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A picture without lettering, and the words around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Figure {
    pub png: Vec<u8>,
    pub alt: String,
    /// What it measures, and in what.
    pub title: String,
    /// Beside the picture, the highest first, in rows of one height.
    pub ticks: Vec<String>,
    /// Below its left end, its middle and its right end.
    pub days: [String; 3],
    pub legend: Vec<Legend>,
}

/// What a colour means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Legend {
    pub colour: &'static str,
    pub meaning: String,
}

impl Table {
    /// Too wide for a telephone: there each row becomes a block.
    pub(super) fn is_wide(&self) -> bool {
        const MOST_CHARS: usize = 50;
        let widest = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let chars: usize = (0..self.head.len()).filter_map(widest).sum();
        self.has_many_columns() || chars > MOST_CHARS
    }

    /// More columns than letters of the usual size leave room for.
    pub(super) fn has_many_columns(&self) -> bool {
        self.head.len() > 4
    }
}

impl From<Severity> for Tone {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Info => Self::Info,
            Severity::Warning => Self::Warning,
            Severity::Critical => Self::Critical,
        }
    }
}

impl Section {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    pub(super) fn row(&mut self, label: &str, value: impl Into<String>) {
        self.rows.push((label.to_owned(), value.into()));
    }

    /// Nothing below the heading.
    pub(super) fn is_empty(&self) -> bool {
        self.says_nothing() && self.figure.is_none()
    }

    /// Nothing but a picture.
    fn says_nothing(&self) -> bool {
        self.rows.is_empty()
            && self.lines.is_empty()
            && self.list.is_empty()
            && self.table.is_none()
            && self.below.is_empty()
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
            // A command line that is broken in two cannot be copied.
            match line.split_once(": ").filter(|(_, command)| command.starts_with("hostwatch ")) {
                Some((label, command)) if line.chars().count() > WIDTH => {
                    out.push_str(&format!("{label}:\n{command}\n"));
                }
                Some(_) | None => wrap(line, "", "", &mut out),
            }
        }
        out
    }

    /// The same without who sent it.
    pub(super) fn content(&self) -> String {
        let mut out = String::new();
        // Not wrapped: previews show only the first line.
        out.push_str(&self.lead);
        out.push('\n');
        if !(self.links.is_empty() && self.notes.is_empty()) {
            out.push('\n');
        }
        let widest = self.links.iter().map(|link| link.word.chars().count()).max().unwrap_or(0);
        for Link { word, url } in &self.links {
            let fill = " ".repeat(widest - word.chars().count());
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
    if section.says_nothing() {
        return;
    }
    out.push('\n');
    wrap(&section.title, "", "", out);
    let widest = section.rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    for (label, value) in &section.rows {
        let fill = " ".repeat(widest - label.chars().count());
        let first = format!("  {label}:{fill} ");
        wrap(value, &first, &" ".repeat(widest + 4), out);
    }
    for line in &section.lines {
        wrap(line, "  ", "  ", out);
    }
    for item in &section.list {
        wrap(item, "  - ", "    ", out);
    }
    if let Some(table) = &section.table {
        table_text(table, out);
    }
    for line in &section.below {
        wrap(line, "  ", "  ", out);
    }
}

fn table_text(table: &Table, out: &mut String) {
    let rows = || std::iter::once(&table.head).chain(&table.rows);
    let width = |column: usize| {
        rows().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    if widths.iter().sum::<usize>() + 2 * widths.len() > WIDTH {
        for row in &table.rows {
            row_text(&table.head, row, out);
        }
        return;
    }
    for row in rows() {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            line.push(' ');
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.chars().count() + 1));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// A row of a table that is too wide for lines: its name, then what there is to say.
fn row_text(head: &[String], row: &[String], out: &mut String) {
    let Some((name, cells)) = row.split_first() else { return };
    let cells = head.iter().skip(1).zip(cells).map(|(label, cell)| format!("{label}: {cell}"));
    wrap(name, "  ", "  ", out);
    wrap(&cells.collect::<Vec<_>>().join("; "), "    ", "    ", out);
}

/// Writes `text` in lines of at most [`WIDTH`] characters; a longer word stays whole.
fn wrap(text: &str, first: &str, rest: &str, out: &mut String) {
    let mut line = first.to_owned();
    let mut length = first.chars().count();
    let mut empty = true;
    for word in text.split(' ') {
        let word_length = word.chars().count();
        if !empty && length + 1 + word_length > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = rest.to_owned();
            length = rest.chars().count();
            empty = true;
        }
        if !empty {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += word_length;
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_too_wide_for_lines_become_blocks() {
        let cells = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
        let table = Table {
            head: cells("Account|VMs|Sites"),
            rows: vec![
                cells("main|40 (38 active, 1 error, 1 stopped)|3 Active"),
                cells("shop|none|104 (100 Active, 3 Stopped, 1 Error)"),
            ],
        };
        let mut out = String::new();
        table_text(&table, &mut out);
        insta::assert_snapshot!(out, @r"
          main
            VMs: 40 (38 active, 1 error, 1 stopped); Sites: 3 Active
          shop
            VMs: none; Sites: 104 (100 Active, 3 Stopped, 1 Error)
        ");
    }

    #[test]
    fn text_is_wrapped_under_its_label_and_tables_line_up() {
        let mut section = Section::new("What");
        section.row("Seen", "word ".repeat(20).trim());
        section.row("What to do", "nothing");
        section.list.push("one".into());
        section.table = Some(Table {
            head: vec!["For".into(), "Pay".into()],
            rows: vec![vec!["7 days".into(), "45 RUB".into()], vec!["90 days".into(), "0".into()]],
        });
        let body =
            Body { tone: Tone::Info, lead: "Lead.".into(), sections: vec![section], ..Body::default() };
        insta::assert_snapshot!(body.text(), @r"
        Lead.

        What
          Seen:       word word word word word word word word word word word word word
                      word word word word word word word
          What to do: nothing
          - one
          For      Pay
          7 days   45 RUB
          90 days  0

        --
        ");
    }
}
