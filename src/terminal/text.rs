//! Makes foreign text harmless, and measures, cuts and wraps text of any script by the columns that it takes on
//! a terminal. Pure.

use std::borrow::Cow;

use textwrap::{Options, WordSplitter};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::model::sanitize::{is_control, is_joining, is_unseen};

/// Longer texts are cut before any other step.
const MOST_CHARS: usize = 4000;
/// The number of marks on one letter; no script needs more.
const MOST_MARKS: usize = 3;

/// One line on which a terminal does not act. Control characters (escape sequences begin with one) and line
/// breaks become spaces. Invisible characters, and marks that turn the direction of writing, are removed.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut marks = 0;
    let mut gap = false;
    for c in text.chars().take(MOST_CHARS).filter(|&c| !is_unseen(c) && !is_joining(c)) {
        if is_control(c) || c.is_whitespace() {
            gap = !out.is_empty();
            continue;
        }
        let mark = c.width() == Some(0);
        marks = if mark { marks + 1 } else { 0 };
        if marks > MOST_MARKS || (mark && (gap || out.is_empty())) {
            continue;
        }
        if std::mem::take(&mut gap) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// The same JSON, with escapes for the characters that a terminal would act on.
pub(crate) fn harmless_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let layout = matches!(c, '\n' | '\r' | '\t');
        if (is_control(c) && !layout) || is_unseen(c) || is_joining(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A name as `plain`, or a placeholder if nothing is left of it.
pub(crate) fn name(text: &str) -> String {
    let name = plain(text);
    if name.is_empty() { "(no name)".to_owned() } else { name }
}

/// The number of columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `most` columns, with `…` for a cut-off rest.
pub(super) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(start, c)| start + c.len_utf8());
    let end = ends.take_while(|&end| width(&text[..end]) < most).last().unwrap_or(0);
    if most == 0 { String::new() } else { format!("{}…", text[..end].trim_end()) }
}

/// Lines of at most `most` columns, broken between words, or within a word that is longer than a line.
pub(super) fn wrap(text: &str, most: usize) -> Vec<String> {
    let options = Options::new(most.max(1)).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

/// A text of several lines, none of them wider than a terminal. Continued lines keep the indentation of their
/// line.
pub(crate) fn in_columns(text: &str) -> String {
    let wrapped = text.split('\n').flat_map(|line| {
        let indent = line.len() - line.trim_start().len();
        let hang = " ".repeat(if indent == 0 { 0 } else { indent + 2 });
        let options = Options::new(80).word_splitter(WordSplitter::NoHyphenation).subsequent_indent(&hang);
        textwrap::wrap(line, options).into_iter().map(Cow::into_owned).collect::<Vec<_>>()
    });
    wrapped.collect::<Vec<_>>().join("\n")
}

/// The text, filled up with spaces to this many columns.
pub(super) fn pad(text: &str, columns: usize, right: bool) -> String {
    let fill = " ".repeat(columns.saturating_sub(width(text)));
    if right { format!("{fill}{text}") } else { format!("{text}{fill}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_line_goes_on_below_itself() {
        let words = "word ".repeat(20);
        let text = in_columns(&format!("main\n  polls: {words}\n{words}\n"));
        let lines: Vec<&str> = text.split('\n').collect();
        assert!(lines.iter().all(|line| width(line) <= 80), "{text}");
        assert_eq!((lines[0], lines.len(), lines[5]), ("main", 6, ""), "{text}");
        assert!(lines[2].starts_with("    word") && lines[4].starts_with("word"), "{text}");
    }

    #[test]
    fn control_characters_are_removed() {
        let table = [
            ("plain", "plain"),
            ("имя 名前", "имя 名前"),
            ("red\u{1b}[31m?", "red [31m?"),
            ("title\u{1b}]0;x\u{7}", "title ]0;x"),
            ("c1\u{9b}31m", "c1 31m"),
            ("two\r\nlines\tand  gaps ", "two lines and gaps"),
            ("evil\u{202e}gpj.exe", "evilgpj.exe"),
            ("zero\u{200b}\u{2066}width\u{e0041}", "zerowidth"),
            ("\u{200f}\u{feff}\u{1b}", ""),
            ("a\u{301}\u{301}\u{301}\u{301}\u{301}b", "a\u{301}\u{301}\u{301}b"),
            ("\u{301}x", "x"),
            ("line\u{2028}break\u{85}next", "line break next"),
        ];
        for (text, want) in table {
            assert_eq!(plain(text), want, "{text:?}");
        }
        assert_eq!(name("\u{7}"), "(no name)");
    }

    #[test]
    fn columns_not_characters_are_counted() {
        let table = [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "abcd…"),
            ("名前名前", 8, "名前名前"),
            ("名前名前", 7, "名前名…"),
            ("名前名前", 6, "名前…"),
            ("ab cd", 4, "ab…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ];
        for (text, most, want) in table {
            assert_eq!(cut(text, most), want, "{text} {most}");
        }
        assert_eq!(pad("名", 4, false), "名  ");
        assert_eq!(pad("12", 4, true), "  12");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(wrap("a longwordindeed b", 5), ["a", "longw", "ordin", "deed", "b"]);
        assert_eq!(wrap("", 5), [""]);
    }

    proptest! {
        #[test]
        fn no_line_exceeds_the_width_and_no_control_character_stays(text in any::<String>(), most in 1_usize..60) {
            let harmless = plain(&text);
            prop_assert!(harmless.chars().all(|c| !c.is_control() && !is_unseen(c)), "{harmless:?}");
            prop_assert!(width(&cut(&harmless, most)) <= most);
            // A single character may need two columns.
            prop_assert!(wrap(&harmless, most).iter().all(|line| width(line) <= most.max(2)));
        }
    }
}
