//! Questions in a terminal, one a line. Secrets stay invisible. Other modules check the answers.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use anyhow::{Context as _, Result, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::commands::output::print;

const STOPPED: &str = "stopped; nothing was written";

/// A terminal with a person at it.
#[derive(Clone, Copy)]
pub(super) struct Asker(());

impl Asker {
    /// `None` if nobody is there to answer.
    pub(super) fn new() -> Option<Self> {
        (std::io::stdin().is_terminal() && std::io::stdout().is_terminal()).then_some(Self(()))
    }

    /// Reads a line and trims it. Empty if only Enter was typed.
    pub(super) fn line(self, question: &str) -> Result<String> {
        print(&format!("{question}: "))?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).context("reading the answer")? == 0 {
            print("\n")?;
            bail!(STOPPED);
        }
        Ok(line.trim().to_owned())
    }

    /// Reads a line without showing it.
    pub(super) fn secret(self, question: &str) -> Result<String> {
        // Hidden before the question appears, so that no key is shown in between.
        let _hidden = Hidden::begin().context("hiding what is typed")?;
        print(&format!("{question} (not shown): "))?;
        let mut typed = Vec::new();
        let mut byte = [0];
        let stdin = std::io::stdin();
        loop {
            let end = stdin.lock().read(&mut byte).context("reading the answer")? == 0;
            match byte[0] {
                b'\n' | b'\r' if !end => break,
                // Ctrl-C and Ctrl-D come as characters while the input is hidden.
                3 | 4 => {
                    print("\n")?;
                    bail!(STOPPED);
                }
                8 | 127 if !end => {
                    // A letter may have several bytes.
                    while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
                }
                _ if end => bail!(STOPPED),
                other => typed.push(other),
            }
        }
        print("\n")?;
        Ok(String::from_utf8(typed).context("the answer is not text")?.trim().to_owned())
    }

    pub(super) fn confirm(self, question: &str, by_default: bool) -> Result<bool> {
        let choice = if by_default { "[Y/n]" } else { "[y/N]" };
        loop {
            match self.line(&format!("{question} {choice}"))?.to_ascii_lowercase().as_str() {
                "" => return Ok(by_default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => print("  Answer y or n.\n")?,
            }
        }
    }
}

/// While this lives, the terminal shows no input and passes each key on.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> rustix::io::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
