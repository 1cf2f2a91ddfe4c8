//! The meaning of an attempt to send: for the mail, and for everything else that goes to the same server. Pure:
//! the time is an argument.

use std::time::Duration as Span;

use chrono::{DateTime, Duration, Utc};

use crate::alert::{Attempt, pause};
use crate::failpoint;
use crate::mail::smtp::{Blame, End, SendError, Stage};

/// The pause after the server refused us. No attempt is made sooner, whatever is owed.
const REFUSED_HOLD: Duration = Duration::minutes(5);
/// The longest pause that a server may ask for.
const BUSY_AT_MOST: Duration = Duration::days(1);

/// The reason why a mail was not sent, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{error}")]
pub(crate) struct SendFailure {
    pub(crate) fault: Fault,
    pub(crate) error: String,
}

/// The source of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// There is no connection: the next mail would fail, too.
    Away,
    /// The server refuses us: the next mail would fail, too.
    Refuses,
    /// As before, and a person has to act: it refuses the login or the token, or nothing is at its address.
    Login,
    /// The server wants no mail during this time.
    Busy(Span),
    /// The failure of this one mail.
    Of(Attempt),
    /// No attempt was made.
    Untried,
    /// The group became a supergroup with this number.
    Moved(i64),
    /// Another program reads the bot's updates.
    Conflict,
}

impl Fault {
    /// Whether the server refuses us with every mail.
    fn refuses_us(self) -> bool {
        matches!(self, Self::Refuses | Self::Login)
    }
}

impl SendFailure {
    /// Whether the next mail would fail, too.
    pub(super) fn is_of_server(&self) -> bool {
        matches!(self.fault, Fault::Away | Fault::Refuses | Fault::Login | Fault::Busy(_))
    }

    /// Whether the server refuses the recipient or the mail for good.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.fault, Fault::Of(Attempt::RecipientRefused | Attempt::MailRefused))
    }

    /// The failure as the notification log takes it in.
    pub(super) fn attempt(&self) -> Attempt {
        match self.fault {
            Fault::Away | Fault::Refuses | Fault::Login | Fault::Busy(_) | Fault::Untried => Attempt::Away,
            Fault::Moved(_) | Fault::Conflict => Attempt::Deferred,
            Fault::Of(attempt) => attempt,
        }
    }
}

impl From<SendError> for SendFailure {
    fn from(error: SendError) -> Self {
        let fault = match (error.end, error.stage) {
            (End::ReplyLost, _) => Fault::Of(Attempt::ReplyLost),
            (End::Broken, Stage::Sender | Stage::Recipient | Stage::Content) => Fault::Of(Attempt::Deferred),
            (End::Refused(blame), Stage::Recipient | Stage::Content) => Fault::Of(match blame {
                Blame::Later => Attempt::Deferred,
                Blame::Address => Attempt::RecipientRefused,
                Blame::Mail => Attempt::MailRefused,
                Blame::Server if error.stage == Stage::Content => Attempt::InDoubt,
                Blame::Server => Attempt::Held,
            }),
            (End::Broken | End::Refused(Blame::Later), _) => Fault::Away,
            (End::Refused(_), Stage::Login) => Fault::Login,
            (End::Refused(_), _) => Fault::Refuses,
        };
        Self { fault, error: error.to_string() }
    }
}

/// A server that cannot be used. No mail is handed to it until the hold ends, and then one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ServerHold {
    failures: u32,
    since: DateTime<Utc>,
    until: DateTime<Utc>,
    why: Fault,
    /// The answer of the server, or the reason why none came.
    pub(super) error: String,
}

impl ServerHold {
    /// The hold after a failure; `before` is the hold before it. Mails to several recipients fail together, which is one
    /// failure of the server.
    pub(super) fn after(before: Option<&Self>, failure: &SendFailure, now: DateTime<Utc>) -> Self {
        let failures = before.map_or(0, |hold| hold.failures - u32::from(hold.is_on(now))) + 1;
        let pause = if failure.fault.refuses_us() {
            failpoint::hasten(REFUSED_HOLD)
        } else if let Fault::Busy(wait) = failure.fault
            && !wait.is_zero()
        {
            Duration::from_std(wait).unwrap_or(BUSY_AT_MOST).min(BUSY_AT_MOST)
        } else {
            // A server that asks for a pause of length zero is tried again like an unreachable one.
            pause(failures)
        };
        Self { failures, since: now, until: now + pause, why: failure.fault, error: failure.error.clone() }
    }

    /// Whether the hold is on. A hold that began ahead of the clock ended when the clock was set.
    pub(super) fn is_on(&self, now: DateTime<Utc>) -> bool {
        now < self.until && now >= self.since
    }

    /// The end of the hold, if it is on.
    pub(super) fn ends(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.is_on(now).then_some(self.until)
    }

    /// Whether the server refuses us.
    pub(super) fn is_refusal(&self) -> bool {
        self.why.refuses_us()
    }

    /// Whether the hold lasts until a person corrects a login, a token or an address.
    pub(super) fn is_of_login(&self) -> bool {
        self.why == Fault::Login
    }

    /// Ends the hold. A pause that the server asked for stays.
    pub(super) fn end(&mut self) {
        if !matches!(self.why, Fault::Busy(_)) {
            (self.failures, self.until) = (0, self.since);
        }
    }

    /// Ends the hold half a minute after the last attempt, since something new is owed. A refusal, or a pause
    /// that the server asked for, stays.
    pub(super) fn shorten(&mut self) {
        if self.why == Fault::Away {
            self.until = self.until.min(self.since + pause(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn failure(stage: Stage, end: End) -> SendFailure {
        SendError { stage, end, reason: "no".to_owned() }.into()
    }

    #[test]
    fn a_failure_is_of_the_server_of_the_recipient_or_of_the_mail() {
        use Stage::{Connection, Content, Login, Recipient, Sender};
        for stage in [Connection, Login, Sender, Recipient, Content] {
            let is_early = matches!(stage, Connection | Login | Sender);
            let of_one = |attempt| if is_early { Attempt::Away } else { attempt };
            let broken = if matches!(stage, Connection | Login) { Attempt::Away } else { Attempt::Deferred };
            let in_doubt = if stage == Content { Attempt::InDoubt } else { Attempt::Held };
            for (end, want) in [
                (End::ReplyLost, Attempt::ReplyLost),
                (End::Broken, broken),
                (End::Refused(Blame::Later), of_one(Attempt::Deferred)),
                (End::Refused(Blame::Address), of_one(Attempt::RecipientRefused)),
                (End::Refused(Blame::Mail), of_one(Attempt::MailRefused)),
                (End::Refused(Blame::Server), of_one(in_doubt)),
            ] {
                let failure = failure(stage, end);
                assert_eq!(failure.attempt(), want, "{stage:?} {end:?}");
                assert_eq!(failure.is_of_server(), want == Attempt::Away, "{stage:?} {end:?}");
            }
        }
    }

    #[test]
    fn a_server_that_cannot_be_used_is_asked_less_and_less_often() {
        let failure = failure(Stage::Connection, End::Broken);
        let (mut hold, mut at): (Option<ServerHold>, _) = (None, now());
        for seconds in [30, 120, 300, 900, 1800, 1800] {
            // Each of six recipients waits for a mail.
            for _ in 0..6 {
                hold = Some(ServerHold::after(hold.as_ref(), &failure, at));
            }
            assert_eq!(hold.as_ref().unwrap().ends(at), Some(at + Duration::seconds(seconds)));
            at += Duration::seconds(seconds);
        }
        let mut hold = ServerHold::after(hold.as_ref(), &failure, at);
        hold.shorten();
        assert_eq!(hold.ends(at), Some(at + Duration::seconds(30)));
        assert!(!hold.is_on(at - Duration::hours(1)), "the clock was set back");
    }

    #[test]
    fn a_server_that_refuses_us_is_tried_every_five_minutes_and_a_login_is_for_a_person() {
        for permanent in [false, true] {
            let blame = if permanent { Blame::Server } else { Blame::Later };
            for stage in [Stage::Connection, Stage::Login, Stage::Sender] {
                let failure = failure(stage, End::Refused(blame));
                let mut hold = None;
                for _ in 0..6 {
                    hold = Some(ServerHold::after(hold.as_ref(), &failure, now()));
                }
                let mut hold = hold.unwrap();
                assert_eq!(hold.is_refusal(), permanent);
                let is_of_login = permanent && stage == Stage::Login;
                assert_eq!(hold.is_of_login(), is_of_login);
                hold.shorten();
                assert_eq!(hold.is_on(now() + Duration::seconds(299)), permanent);
                assert!(!hold.is_on(now() + Duration::seconds(300)));
                hold.end();
                assert!(!hold.is_on(now()), "somebody asked for an attempt");
            }
        }
    }

    #[test]
    fn a_server_that_asks_for_a_pause_has_it() {
        let busy =
            |seconds| SendFailure { fault: Fault::Busy(Span::from_secs(seconds)), error: "busy".to_owned() };
        for (asked, held) in [(7, 7), (100, 100), (0, 30), (1_000_000, 86_400)] {
            let mut hold = ServerHold::after(None, &busy(asked), now());
            hold.shorten();
            hold.end();
            assert!(hold.is_on(now() + Duration::seconds(held - 1)), "{asked}");
            assert!(!hold.is_on(now() + Duration::seconds(held)), "{asked}");
        }
    }
}
