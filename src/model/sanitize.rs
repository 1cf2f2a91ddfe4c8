//! Makes foreign text harmless: THE set of characters that are invisible or turn the direction of writing, for
//! mails, page, JSON and terminal. Pure. Terminals measure widths themselves.

/// Whether a character is removed: it is invisible, or it turns the direction of writing.
pub(crate) fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        && !is_joining(c)
}

/// Whether a character joins others: joiners and variation selectors, which emoji and some scripts need. They
/// stay, except on terminals, which differ in the width of joined characters.
pub(crate) fn is_joining(c: char) -> bool {
    matches!(c,
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a character becomes a space: it ends a line or controls a terminal.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// One line of at most `most` characters, with `…` for a cut-off rest and single spaces between words; `(no
/// name)` if nothing is left.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    seen_line(text, most).unwrap_or_else(|| "(no name)".to_owned())
}

/// The same line; `None` if nothing is left.
pub(crate) fn seen_line(text: &str, most: usize) -> Option<String> {
    // The limit is enough to notice a cut-off rest, in a text of any length.
    let seen = text.chars().filter(|&c| !is_unseen(c)).take(most.saturating_mul(4));
    let plain: String = seen.map(|c| if is_control(c) { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out: String = line.chars().take(most).collect();
    if line.chars().nth(most).is_some() {
        out.push('…');
    }
    (!out.is_empty()).then_some(out)
}

/// A whole document with its line breaks. HTML's escapes do not affect these characters, and a page may be read
/// in a terminal.
pub(crate) fn document(text: String) -> String {
    let is_control = |c: char| c != '\n' && is_control(c);
    if !text.contains(|c| is_control(c) || is_unseen(c)) {
        return text;
    }
    text.chars().filter(|&c| !is_unseen(c)).map(|c| if is_control(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_invisible_characters_and_changes_of_direction() {
        for (text, want) in [
            ("a\r\nBcc: x@example.org", "a Bcc: x@example.org"),
            ("evil\u{202e}gpj.exe", "evilgpj.exe"),
            ("a \u{202e} b\u{2028}", "a b"),
            ("\u{200f}\u{feff}", "(no name)"),
            ("\u{7}bell\t tab", "bell tab"),
            ("a\u{2028}b\u{202e}c\u{2066}d\u{2069}e", "a bcde"),
            ("a\u{2027}\u{202f}\u{2065}\u{206a}", "a\u{2027}"),
            ("", "(no name)"),
            ("имя", "имя"),
            ("\u{1f469}\u{200d}\u{1f467}", "\u{1f469}\u{200d}\u{1f467}"),
        ] {
            assert_eq!(one_line(text, 40), want, "{text:?}");
        }
        assert_eq!((one_line("abc", 3).as_str(), one_line("abcd", 3).as_str()), ("abc", "abc…"));
    }

    #[test]
    fn a_document_keeps_its_lines() {
        let table = [
            ("1\u{202f}234.50\u{a0}RUB\n<p>имя", "1\u{202f}234.50\u{a0}RUB\n<p>имя"),
            ("evil\u{202e}gpj.exe\u{2066}\u{feff}\u{e0041}", "evilgpj.exe"),
            ("a\0\r\n\u{1b}[31m\u{9b}\u{2028}b", "a  \n [31m  b"),
        ];
        for (text, want) in table {
            assert_eq!(document(text.to_owned()), want);
        }
    }
}
