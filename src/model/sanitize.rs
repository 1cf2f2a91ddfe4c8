//! Text of others made harmless: THE set of characters that nobody sees or that turn the line, for mails, page, JSON
//! and terminal alike. Pure. Widths on a terminal are the terminal's own.

/// Takes no room and says nothing, or turns the direction of writing: it goes.
pub(crate) fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        && !is_joining(c)
}

/// Joiners and variation selectors: of an emoji, or of a letter in scripts that need them. They stay, but on a
/// terminal: terminals differ in how wide they make what these join.
pub(crate) fn is_joining(c: char) -> bool {
    matches!(c,
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Ends a line or commands a terminal: becomes a space.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// One line of at most `most` characters, `…` for what is cut off, words one space apart; `(no name)` where nothing
/// is left.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    // Enough for what is cut off to be seen to be there, and no more of a text of any length.
    let seen = text.chars().filter(|&c| !is_unseen(c)).take(most.saturating_mul(4));
    let plain: String = seen.map(|c| if is_control(c) { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out: String = line.chars().take(most).collect();
    if line.chars().nth(most).is_some() {
        out.push('…');
    }
    if out.is_empty() { "(no name)".to_owned() } else { out }
}

/// A whole document, its line breaks kept: escapes of HTML don't reach these, and a page may be read in a terminal.
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
    fn names_lose_what_is_not_seen_and_what_turns_the_line() {
        for (text, want) in [
            ("a\r\nBcc: x@example.org", "a Bcc: x@example.org"),
            ("evil\u{202e}gpj.exe", "evilgpj.exe"),
            ("a \u{202e} b\u{2028}", "a b"),
            ("\u{200f}\u{feff}", "(no name)"),
            ("\u{7}bell\t tab", "bell tab"),
            ("имя", "имя"),
            ("\u{1f469}\u{200d}\u{1f467}", "\u{1f469}\u{200d}\u{1f467}"),
        ] {
            assert_eq!(one_line(text, 40), want, "{text:?}");
        }
        assert_eq!(one_line("abcdef", 3), "abc…");
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
