//! Replies of SMTP servers in the one form that `lettre` reads. It takes RFC 5321 by the letter, servers do not:
//! codes such as 571, a code without text, lines without a code inside of a reply, bare line feeds. What cannot
//! be understood is passed on as it came, and `lettre` calls it unreadable. Pure.

/// The longest reply kept until its last line is there.
const MOST_REPLY: usize = 64 * 1024;

/// Takes bytes as they arrive, gives whole replies.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// The line that has begun.
    line: Vec<u8>,
    /// The lines of the reply that has begun, and how long they are together.
    lines: Vec<Line>,
    octets_kept: usize,
    /// Whole replies as `lettre` reads them.
    ready: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    code: [u8; 3],
    text: Vec<u8>,
}

impl Replies {
    /// Takes what was read. False where a reply is longer than any.
    #[must_use]
    pub(super) fn take_in(&mut self, octets: &[u8]) -> bool {
        for &octet in octets {
            if octet == b'\n' {
                let mut line = std::mem::take(&mut self.line);
                line.pop_if(|last| *last == b'\r');
                self.end_line(&line);
            } else {
                self.line.push(octet);
            }
        }
        self.octets_kept + self.line.len() <= MOST_REPLY
    }

    /// The stream is over: what has begun goes on as it is.
    pub(super) fn end(&mut self) {
        self.give_up();
        self.ready.append(&mut self.line);
    }

    /// What is ready to be read; the caller takes from its front.
    pub(super) fn ready(&mut self) -> &mut Vec<u8> {
        &mut self.ready
    }

    fn end_line(&mut self, octets: &[u8]) {
        match (Line::read(octets), self.lines.last().map(|line| line.code)) {
            (Some((line, last)), before) => {
                let strays = before.is_some_and(|code| code[0] != line.code[0]);
                self.hold(line);
                if strays {
                    // Success and failure in one reply: nobody can say which is meant.
                    self.give_up();
                } else if last {
                    self.give_out();
                }
            }
            // Some servers wrap a long text without repeating the code.
            (None, Some(code)) => self.hold(Line { code, text: octets.to_vec() }),
            (None, None) => {
                self.ready.extend_from_slice(octets);
                self.ready.extend_from_slice(b"\r\n");
            }
        }
    }

    fn hold(&mut self, line: Line) {
        self.octets_kept += line.text.len() + 6;
        self.lines.push(line);
    }

    /// The lines as one reply, with the code of the last.
    fn give_out(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        self.octets_kept = 0;
        let Some(code) = lines.last().map(|line| line.code) else { return };
        let (known, mark) = known(code);
        let last = lines.len() - 1;
        for (index, line) in lines.iter().enumerate() {
            self.ready.extend_from_slice(&known);
            self.ready.push(if index == last { b' ' } else { b'-' });
            self.ready.extend_from_slice(&line.text);
            if index == last {
                self.ready.extend_from_slice(mark.as_bytes());
            }
            self.ready.extend_from_slice(b"\r\n");
        }
    }

    /// The lines as they came; from their codes `lettre` sees that they are no reply.
    fn give_up(&mut self) {
        self.octets_kept = 0;
        let last = self.lines.len().saturating_sub(1);
        for (index, line) in self.lines.drain(..).enumerate() {
            self.ready.extend_from_slice(&line.code);
            self.ready.push(if index == last && index > 0 { b' ' } else { b'-' });
            self.ready.extend_from_slice(&line.text);
            self.ready.extend_from_slice(b"\r\n");
        }
    }
}

impl Line {
    /// A line that begins with a code, and whether it ends its reply.
    fn read(octets: &[u8]) -> Option<(Self, bool)> {
        let (&code, rest) = octets.split_first_chunk::<3>()?;
        if !(b'2'..=b'5').contains(&code[0]) || !code.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let (more, text) = match rest.split_first() {
            None => (false, rest),
            Some((b'-', text)) => (true, text),
            Some((b' ' | b'\t', text)) => (false, text),
            Some((b'0'..=b'9', _)) => return None,
            Some(_) => (false, rest),
        };
        Some((Self { code, text: text.to_vec() }, !more))
    }
}

/// The code as `lettre` knows it, its second digit at most 5, and a mark that keeps the one that came.
fn known(code: [u8; 3]) -> ([u8; 3], String) {
    if code[1] <= b'5' {
        return (code, String::new());
    }
    ([code[0], b'5', code[2]], format!(" [{}]", String::from_utf8_lossy(&code)))
}

/// A reply's code and text as the server sent them; undoes `known`.
pub(super) fn as_sent(code: &str, text: &str) -> String {
    if let Some((text, mark)) = text.strip_suffix(']').and_then(|rest| rest.rsplit_once('['))
        && let (&[a, _, c], &[x, y, z]) = (code.as_bytes(), mark.as_bytes())
        && (a, c) == (x, z)
        && (b'6'..=b'9').contains(&y)
    {
        return format!("{mark} {}", text.trim_end());
    }
    format!("{code} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(octets: &[u8]) -> String {
        let mut replies = Replies::default();
        for octet in octets {
            assert!(replies.take_in(&[*octet]));
        }
        replies.end();
        String::from_utf8(std::mem::take(replies.ready())).unwrap()
    }

    #[test]
    fn replies_as_servers_write_them_become_those_of_the_rfc() {
        let table = [
            ("250 ok\r\n", "250 ok\r\n"),
            ("250\r\n", "250 \r\n"),
            ("250\n", "250 \r\n"),
            ("250\tok\r\n", "250 ok\r\n"),
            ("250ok\r\n", "250 ok\r\n"),
            ("571 5.7.1 not you\r\n", "551 5.7.1 not you [571]\r\n"),
            ("469-busy\r\n469\r\n", "459-busy\r\n459  [469]\r\n"),
            ("250-a\r\n250-\r\n250 SIZE\r\n", "250-a\r\n250-\r\n250 SIZE\r\n"),
            ("250-a\r\n250\r\n", "250-a\r\n250 \r\n"),
            ("250-a\n250 b\n", "250-a\r\n250 b\r\n"),
            (
                "550-no\r\nbecause of this\r\n\r\n550 that\r\n",
                "550-no\r\n550-because of this\r\n550-\r\n550 that\r\n",
            ),
            ("550-5.1.1 no\r\n554 at all\r\n", "554-5.1.1 no\r\n554 at all\r\n"),
            ("250 one\r\n354 two\r\n", "250 one\r\n354 two\r\n"),
            // Left as they are.
            ("250-one\r\n550 other\r\n", "250-one\r\n550 other\r\n"),
            ("HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"),
            ("999 what\r\n", "999 what\r\n"),
            ("2500 what\r\n", "2500 what\r\n"),
            ("25\r\n", "25\r\n"),
            ("250-and then nothing\r\n25", "250-and then nothing\r\n25"),
            ("250 no end", "250 no end"),
        ];
        for (sent, want) in table {
            assert_eq!(mended(sent.as_bytes()), want, "{sent:?}");
        }
    }

    #[test]
    fn nothing_is_given_before_it_is_whole_and_an_endless_reply_is_refused() {
        let mut replies = Replies::default();
        assert!(replies.take_in(b"250-a\r\n250 b\r"));
        assert!(replies.ready().is_empty());
        assert!(replies.take_in(b"\n354 "));
        assert_eq!(replies.ready(), b"250-a\r\n250 b\r\n");
        let lines = b"250-more\r\n".repeat(MOST_REPLY / 8);
        assert!(!Replies::default().take_in(&lines));
    }

    #[test]
    fn people_read_the_code_that_the_server_sent() {
        assert_eq!(as_sent("551", "5.7.1 not you [571]"), "571 5.7.1 not you");
        assert_eq!(as_sent("459", "busy  [469]"), "469 busy");
        for honest in ["see [1]", "[571]x", "[572]", "[551]", ""] {
            assert_eq!(as_sent("551", honest), format!("551 {honest}"));
        }
    }
}
