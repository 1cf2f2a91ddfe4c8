//! The party that a refusal concerns: an address, a mail, or us. The first rule that fits decides; an enhanced status
//! (RFC 3463) counts before words. Pure but for the memory of the last hour.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long an accepted recipient proves that the server takes mail from us.
const PROVES_FOR: Duration = Duration::from_secs(3600);

/// The party that a refusal of one mail concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blame {
    /// 4xx: this mail, for a while.
    Later,
    /// The server takes no mail for this address.
    Address,
    /// The server does not take this mail.
    Mail,
    /// The server takes no mail from us. Before the recipient each refusal says that. It is also the answer in doubt: it
    /// costs five minutes and no mail, since the contents are then tried in their light form.
    Server,
}

/// The stage of a conversation at which a mail failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Name look-up, TCP, TLS, greeting, EHLO.
    Connection,
    Login,
    Sender,
    Recipient,
    /// From DATA to the reply to the dot.
    Content,
}

/// Facts from other mails that tell a refusal of one mail apart from a refusal of all.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Past {
    /// The server took another recipient within the last hour.
    pub takes_others: bool,
    /// The server took another mail since it first refused the contents of this recipient's.
    pub took_since: bool,
}

/// Words for the address that a mail comes from.
const OF_SENDER: [&str; 6] = ["sender", "mail from", "from address", "return path", "return-path", "bounce"];

/// Judges a refusal of a mail from `from` by its code, enhanced status and words: `550 5.1.1 User unknown`.
pub(super) fn blame(stage: Stage, said: &str, from: &str, past: Past) -> Blame {
    let code = said.get(..3).unwrap_or_default();
    let words = said.to_lowercase();
    let speaks_of_sender = speaks_of_sender(&words) || words.contains(&from.to_lowercase());
    if code.starts_with('4') {
        return Blame::Later;
    }
    match (stage, enhanced(said)) {
        (_, Some((1, 7 | 8))) => Blame::Server,
        (_, Some((1, 0))) if speaks_of_sender => Blame::Server,
        (Stage::Recipient, Some((1 | 2, _))) => Blame::Address,
        (Stage::Recipient, None)
            if matches!(code, "550" | "551" | "553") && past.takes_others && !speaks_of_sender =>
        {
            Blame::Address
        }
        (Stage::Content, Some((2, 3) | (3, 4) | (6, _))) => Blame::Mail,
        (Stage::Content, _) if code == "552" || past.took_since => Blame::Mail,
        _ => Blame::Server,
    }
}

/// Whether words in small letters are about the address that a mail comes from.
pub(super) fn speaks_of_sender(words: &str) -> bool {
    OF_SENDER.iter().any(|word| words.contains(word))
}

/// Subject and detail of the enhanced status behind the code: `(1, 1)` of `550 5.1.1 …`.
pub(super) fn enhanced(said: &str) -> Option<(u16, u16)> {
    let mut parts = said.get(4..)?.split_whitespace().next()?.splitn(3, '.');
    let class = parts.next().filter(|class| *class == said.get(..1).unwrap_or_default());
    let (subject, detail) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    class.map(|_| (subject, detail))
}

/// Recipients that the server took, and those whose mail it refused, since the transport was made.
#[derive(Default, Debug)]
pub(super) struct History {
    taken: BTreeMap<String, Instant>,
    refused: BTreeMap<String, Instant>,
}

impl History {
    pub(super) fn of(&self, to: &str) -> Past {
        let mut others = self.taken.iter().filter(|(other, _)| *other != to).map(|(_, at)| *at);
        let refused = self.refused.get(to);
        Past {
            takes_others: others.any(|at| at.elapsed() < PROVES_FOR),
            took_since: refused.is_some_and(|since| self.taken.values().any(|at| at > since)),
        }
    }

    pub(super) fn note_taken(&mut self, to: &str) {
        self.taken.insert(to.to_owned(), Instant::now());
        self.refused.remove(to);
    }

    pub(super) fn note_refused(&mut self, to: &str) {
        self.refused.entry(to.to_owned()).or_insert_with(Instant::now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides() {
        use Blame::{Address, Later, Mail, Server};
        use Stage::{Content, Recipient};
        // Stage, reply; alone, after another recipient was taken, after another mail was taken.
        let table = [
            (Recipient, "451 4.7.1 greylisted", [Later; 3]),
            (Recipient, "454 4.7.1 relay access denied", [Later; 3]),
            (Recipient, "553 5.7.1 Sender address rejected: not owned by user app", [Server; 3]),
            (Recipient, "554 5.7.1 Client host [192.0.2.9] blocked using bl.example.net", [Server; 3]),
            (Recipient, "504 5.5.2 helo rejected", [Server; 3]),
            (Recipient, "550 5.1.8 Sender address rejected: domain not found", [Server; 3]),
            (Recipient, "550 5.1.7 bad sender", [Server; 3]),
            (Recipient, "550 5.1.0 Sender denied", [Server; 3]),
            (Recipient, "550 5.1.0 <Watch@example.com>: rejected", [Server; 3]),
            (Recipient, "550 5.1.0 MAIL FROM has no MX", [Server; 3]),
            (Recipient, "550 bounce address invalid", [Server; 3]),
            (Recipient, "550 5.1.0 Address rejected", [Address; 3]),
            (Recipient, "550 5.1.1 User unknown", [Address; 3]),
            (Recipient, "552 5.2.2 mailbox full", [Address; 3]),
            (Recipient, "550 5.2.1 mailbox disabled", [Address; 3]),
            (Recipient, "550 no such user", [Server, Address, Server]),
            (Recipient, "551 not local", [Server, Address, Server]),
            (Recipient, "550 sender rejected", [Server; 3]),
            (Recipient, "550", [Server, Address, Server]),
            (Recipient, "571 no", [Server; 3]),
            (Content, "451 4.3.0 later", [Later; 3]),
            (Content, "550 5.4.5 Daily user sending limit exceeded", [Server, Server, Mail]),
            (Content, "554 5.7.1 spam", [Server, Server, Mail]),
            (Content, "554 try again later", [Server, Server, Mail]),
            (Content, "552 5.3.4 too large", [Mail; 3]),
            (Content, "552 too large", [Mail; 3]),
            (Content, "550 5.2.3 too long", [Mail; 3]),
            (Content, "554 5.6.0 bad content", [Mail; 3]),
            (Content, "550 5.1.8 sender's domain", [Server; 3]),
        ];
        for (stage, said, want) in table {
            let others = Past { takes_others: true, took_since: false };
            let since = Past { takes_others: false, took_since: true };
            let is =
                [Past::default(), others, since].map(|past| blame(stage, said, "watch@example.com", past));
            assert_eq!(is, want, "{stage:?} {said}");
        }
    }

    #[test]
    fn an_enhanced_status_is_of_the_class_of_its_code() {
        let table = [
            ("550 5.1.1 no", Some((1, 1))),
            ("550 5.1.1", Some((1, 1))),
            ("550 4.1.1 no", None),
            ("550 5.1 no", None),
            ("550 no 5.1.1", None),
            ("550", None),
            ("", None),
        ];
        for (said, want) in table {
            assert_eq!(enhanced(said), want, "{said}");
        }
    }

    #[test]
    fn others_that_were_taken_are_remembered() {
        let mut history = History::default();
        history.note_refused("a@example.com");
        assert!(!history.of("a@example.com").took_since);
        history.note_taken("b@example.com");
        let past = history.of("a@example.com");
        assert!(past.takes_others && past.took_since);
        assert!(!history.of("b@example.com").takes_others);
        history.note_taken("a@example.com");
        assert!(!history.of("a@example.com").took_since);
    }
}
